//! The content of a message: the template of the trigger, otherwise the texts of the survey and the link.

use jiff::Timestamp;
use punctual_model::{
    Audience, ChannelKey, NewNotification, NotificationId,
    survey::{SurveyTrigger, latest_send},
};
use punctual_store::survey_instances::InstanceRow;
use punctual_templates::InlineTemplate;
use serde_json::{Value, json};

use super::{SurveyLink, Version, words};
use crate::inline::{self, Texts};

/// The message of this number. Its id follows from its work row.
pub(super) fn message(
    instance: &InstanceRow,
    version: &Version,
    trigger: &SurveyTrigger,
    ordinal: i64,
    due_at: Timestamp,
    link: &SurveyLink,
) -> NewNotification {
    let schema = &version.schema;
    let locale = schema.locale(instance.recipient_locale.as_deref());
    let url = link.to(&instance.public_id);
    let title = one_line(schema.text(&schema.title, Some(&locale)));
    let own = if ordinal == 1 { &schema.invitation } else { &schema.reminder };
    let own = own.as_ref().or(schema.invitation.as_ref()).map(|text| schema.text(text, Some(&locale)));
    let words = words::of(&locale);
    let invitation = own.and_then(|text| version.messages.get(text)).cloned();
    let usual = || InlineTemplate::literal(if ordinal == 1 { words.invitation } else { words.reminder });
    let body = invitation.unwrap_or_else(usual).followed_by(&format!("\n\n{url}\n"));
    let audience = Audience::Targets(vec![instance.recipient_address.clone()]);
    let id = NotificationId(Default::default());
    let mut new = NewNotification::new(id, audience, String::new(), String::new());
    let candidate: Value = serde_json::from_str(&instance.metadata).unwrap_or_default();
    new.channel = instance.channel.parse::<ChannelKey>().ok();
    new.business_unit = instance.business_unit.clone();
    new.not_after = Some(latest_send(trigger, due_at));
    trigger.handling.give(&mut new);
    new.locale = Some(instance.recipient_locale.clone().unwrap_or(locale));
    new.type_data = Some(json!({
        "publicId": instance.public_id, "surveyUrl": url, "attemptNumber": ordinal,
        "candidateMetadata": candidate,
    }));
    let context = || {
        json!({
            "publicId": instance.public_id, "surveyUrl": url, "ordinal": ordinal, "isReminder": ordinal > 1,
            "title": title, "candidate": candidate,
            "recipient": { "address": instance.recipient_address, "customerRef": instance.customer_ref },
        })
    };
    let subject = InlineTemplate::literal(title.as_str());
    match &trigger.template {
        Some(template) => {
            (new.subject, new.body) = (title.clone(), body.as_str().to_owned());
            new.template = Some(template.clone());
            new.context = Some(context());
        }
        None => inline::give(&mut new, &Texts { subject: &subject, body: &body, html: None }, context),
    }
    new
}

/// A subject is one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

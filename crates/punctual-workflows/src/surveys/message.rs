//! What a message says: a stored template where the trigger names one, else the survey's own words and the link.

use jiff::Timestamp;
use punctual_model::{
    Audience, ChannelKey, NewNotification, NotificationId,
    survey::{SurveyTrigger, latest_send},
};
use punctual_store::survey_instances::InstanceRow;
use serde_json::{Value, json};

use super::{SurveyLink, Version, words};

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
    let invitation = own.unwrap_or(if ordinal == 1 { words.invitation } else { words.reminder });
    let audience = Audience::Targets(vec![instance.recipient_address.clone()]);
    let mut new = NewNotification::new(
        NotificationId(Default::default()),
        audience,
        title.clone(),
        format!("{invitation}\n\n{url}\n"),
    );
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
    if let Some(template) = &trigger.template {
        new.template = Some(template.clone());
        new.context = Some(json!({
            "publicId": instance.public_id, "surveyUrl": url, "ordinal": ordinal, "isReminder": ordinal > 1,
            "title": title, "candidate": candidate,
            "recipient": { "address": instance.recipient_address, "customerRef": instance.customer_ref },
        }));
    }
    new
}

/// A subject is one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

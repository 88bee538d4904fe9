//! The delivery of a reminder: channel, quiet hours, template and its variables. Read when the row is due, so changes do not
//! touch planned rows.

use jiff::{Timestamp, civil::Date};
use punctual_model::{
    Audience, ChannelKey, Fault, KeyParts, NewNotification, NotificationId, WorkKey,
    delivery_policy::{Handling, Span},
    local_time,
};
use punctual_templates::InlineTemplate;
use serde_json::{Map, Value, json};

use super::{
    providers::{Case, DeliveryPolicy, Providers},
    setting::sentence,
};
use crate::inline::{self, Saved, Texts};

/// The type of a reminder's notifications, for filters and figures.
pub const NOTIFICATION_KIND: &str = "reminder";

/// What a reminder is about, taken from its key.
#[derive(Clone, Debug, PartialEq)]
pub struct Occurrence {
    pub key: WorkKey,
    pub due_at: Timestamp,
    /// The date that it reminds of, and how many days before it.
    pub target_date: Option<Date>,
    pub offset_days: Option<i64>,
}

impl Occurrence {
    /// `about` is the local date that it reminds of, where that is known; else the key has a date.
    pub fn of(key: &WorkKey, due_at: Timestamp, about: Option<Date>) -> Self {
        let (target_date, offset_days) = match key.parts() {
            KeyParts::ReminderDate { target_date, offset_days, .. } => (Some(target_date), Some(offset_days)),
            KeyParts::ReminderOccurrence { occurrence, .. } => (Some(occurrence), None),
            _ => (None, None),
        };
        Self { key: key.clone(), due_at, target_date: about.or(target_date), offset_days }
    }
}

/// The texts that a definition brings itself, read once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnTexts {
    subject: Option<InlineTemplate>,
    body: Option<InlineTemplate>,
    html: Option<InlineTemplate>,
}

/// The texts of a delivery.
const TEXTS: [&str; 3] = ["subject", "body", "html"];

impl OwnTexts {
    /// Those of a stored definition.
    pub fn stored(definition: &Value) -> Self {
        let [subject, body, html] = TEXTS
            .map(|name| text_of(definition, name).map(|text| InlineTemplate::stored(text, inline::REMINDER)));
        Self { subject, body, html }
    }
}

fn text_of<'d>(definition: &'d Value, name: &str) -> Option<&'d str> {
    definition.get("delivery")?.get(name)?.as_str()
}

/// What is wrong with the texts of a definition that somebody saves instead of another.
pub fn text_faults(definition: &Value, before: Option<&Value>) -> Vec<Fault> {
    let texts = TEXTS.into_iter().filter_map(|name| {
        Some(Saved {
            pointer: format!("/delivery/{name}"),
            text: text_of(definition, name)?,
            before: before.and_then(|before| text_of(before, name)),
        })
    });
    inline::faults(texts, inline::REMINDER)
}

/// What is wrong with the delivery of a definition.
pub fn check(providers: &Providers, definition: &Value) -> Vec<Fault> {
    let delivery = definition.get("delivery").unwrap_or(&Value::Null);
    let mut faults = Vec::new();
    if let Some(policy) = delivery.get("policy").and_then(Value::as_str)
        && providers.policies.get(policy).is_none()
    {
        let known: Vec<&str> = providers.policies.keys().collect();
        let detail = format!("There is no such policy; known are `{}`.", known.join("`, `"));
        faults.push(Fault::new("/delivery/policy", "out_of_range", detail));
    }
    let quiet = delivery.get("quietHours").filter(|quiet| !quiet.is_null());
    for name in ["from", "to"] {
        let Some(quiet) = quiet else { break };
        match quiet.get(name).and_then(Value::as_str).map(local_time::parse_time) {
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                faults.push(Fault::new(
                    format!("/delivery/quietHours/{name}"),
                    error.code(),
                    sentence(&error),
                ));
            }
            None => {
                let detail = format!("`{name}` is missing; it takes a time of day such as `22:00`.");
                faults.push(Fault::new(format!("/delivery/quietHours/{name}"), "missing_field", detail));
            }
        }
    }
    faults
}

/// The policy that a definition names; the standard one where it names none.
pub fn named<'a>(providers: &'a Providers, definition: &Value) -> Option<&'a dyn DeliveryPolicy> {
    let name = definition.pointer("/delivery/policy").and_then(Value::as_str).unwrap_or("standard");
    providers.policies.get(name).map(|policy| &**policy)
}

/// Sends over the channel of the setting, outside its quiet hours.
pub struct Standard;

impl DeliveryPolicy for Standard {
    fn name(&self) -> &'static str {
        "standard"
    }

    fn waits_until(&self, case: &Case<'_>, at: Timestamp) -> Option<Timestamp> {
        let quiet = case.setting.definition.pointer("/delivery/quietHours")?;
        let time = |name: &str| {
            quiet.get(name).and_then(Value::as_str).and_then(|text| local_time::parse_time(text).ok())
        };
        Span { from: time("from")?, to: time("to")? }.quiet_until(at, &case.zone.zone)
    }

    fn message(&self, case: &Case<'_>, occurrence: &Occurrence, audience: Audience) -> NewNotification {
        let (setting, source) = (case.setting, case.source);
        let delivery = setting.definition.get("delivery").unwrap_or(&Value::Null);
        let text = |name: &str| delivery.get(name).and_then(Value::as_str).map(str::to_owned);
        let template = text("template");
        let is_list = matches!(audience, Audience::List(_));
        let channel: Option<ChannelKey> = text("channel").and_then(|key| key.parse().ok());
        // A list has its own channel; addresses alone have none.
        let channel = channel.or_else(|| if is_list { None } else { "email:default".parse().ok() });
        let id = NotificationId(Default::default());
        let mut new = NewNotification::new(id, audience, String::new(), String::new());
        new.kind = NOTIFICATION_KIND.to_owned();
        new.channel = channel;
        match template {
            Some(_) => new.context = Some(context(case, occurrence)),
            None => {
                let own = &setting.texts;
                let name = || InlineTemplate::literal(setting.name.as_str());
                let subject = own.subject.clone().unwrap_or_else(name);
                let body = own.body.clone();
                let body = body.unwrap_or_else(|| InlineTemplate::literal(plain(case, occurrence)));
                let texts = Texts { subject: &subject, body: &body, html: own.html.as_ref() };
                inline::give(&mut new, &texts, || context(case, occurrence));
            }
        }
        new.template = template;
        new.locale = text("localeField")
            .and_then(|pointer| source.state.pointer(&pointer)?.as_str().map(str::to_owned))
            .or_else(|| text("locale"));
        new.business_unit = source.row.business_unit.clone();
        Handling::of(delivery).give(&mut new);
        new
    }
}

/// What a template sees: the fields of the source's state, and what the reminder is about.
pub fn context(case: &Case<'_>, occurrence: &Occurrence) -> Value {
    let (setting, source) = (case.setting, case.source);
    let mut context = source.state.as_object().cloned().unwrap_or_else(Map::new);
    let row = &source.row;
    context.insert("state".into(), source.state.clone());
    context.insert(
        "source".into(),
        json!({ "type": row.source_type, "id": row.source_id, "businessUnit": row.business_unit }),
    );
    context.insert(
        "setting".into(),
        json!({ "id": setting.id, "name": setting.name, "triggerKey": setting.trigger_key }),
    );
    context.insert(
        "reminder".into(),
        json!({
            "dueAt": occurrence.due_at.to_string(),
            "localDate": case.zone.date(occurrence.due_at).to_string(),
            "timeZone": case.zone.name,
            "targetDate": occurrence.target_date.map(|date| date.to_string()),
            "offsetDays": occurrence.offset_days,
        }),
    );
    Value::Object(context)
}

/// A body for settings without a template.
fn plain(case: &Case<'_>, occurrence: &Occurrence) -> String {
    let row = &case.source.row;
    let mut text = format!("{}: {} {}", case.setting.name, row.source_type, row.source_id);
    if let Some(date) = occurrence.target_date {
        text.push_str(&format!(", {date}"));
    }
    text.push_str(".\n");
    text
}

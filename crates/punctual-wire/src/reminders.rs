//! `/api/v1/reminder-settings`: what people are reminded of, and how.
//!
//! Shapes are checked here. Whether a filter, a duration, a time of day or a pointer makes sense is for the workflow to say,
//! by the same pointers.

mod answers;
mod queries;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

pub use answers::{
    Forecast, ForecastDay, ForecastItem, Reconciliation, ReconciliationRun, ReminderPlan, ReminderSetting,
    RunRequest, Why, WhyStep,
};
pub use queries::{Edge, ForecastQuery, WhyQuery};

use crate::{
    batch::Item,
    fields::Fields,
    handling::Handling,
    limits::{BODY_MAX, SETTINGS_MAX, TARGETS_MAX},
    problem::Code,
};

/// How many offsets one setting may have.
const OFFSETS_MAX: usize = 50;
/// The furthest a reminder may lie from its date: ten years.
const OFFSET_DAYS_MAX: i64 = 3_650;

/// A setting to be made.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReminderSettingRequest {
    #[schema(example = "First aid")]
    pub name: String,
    /// Only sources of this business unit; all of them by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub business_unit: Option<String>,
    #[schema(example = "document")]
    pub source_type: String,
    /// A key that stays when the setting's own name changes: it is part of every key.
    #[schema(example = "first-aid-expiry")]
    pub trigger_key: String,
    /// `dateBased`, `recurring` or `threshold`; a program that embeds Punctual may know more.
    #[schema(example = "dateBased")]
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<DateRule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recurring: Option<RecurringRule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<ThresholdRule>,
    /// What a trigger of the embedding program reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub custom: Option<Value>,
    /// Only sources for which it is true: tests on `state.FIELD`, `businessUnit`, `type` or `id`, combined with `all`,
    /// `any` and `not`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub filter: Option<Value>,
    /// One of `{"addresses": […]}`, `{"list": "ops"}`, `{"field": "/email"}` and
    /// `{"lookup": {"sourceType": "person", "idField": "/ownerId", "field": "/email"}}`.
    #[schema(value_type = Object)]
    pub recipients: Value,
    pub delivery: Delivery,
    /// Whether to also send one message at once when a matching source is added.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false, default = false)]
    pub immediate: bool,
    /// How late it may be sent, such as `1d`; by default until the end of its local day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_lateness: Option<String>,
    #[schema(required = false, default = true)]
    pub active: bool,
}

/// So many days before, or after, a date of the source.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DateRule {
    /// A JSON pointer into the source's state: a date, or an instant whose local date counts.
    #[schema(example = "/expiresOn")]
    pub field: String,
    /// Days before the date; negative ones are after it.
    pub offsets_days: Vec<i64>,
    /// The local time of day in the business unit's zone; by default `09:00`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_time: Option<String>,
}

/// Every year or month after a date of the source. An anniversary of 29 February is on 28 February in other years.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecurringRule {
    #[schema(example = "/hiredOn")]
    pub field: String,
    /// `year` or `month`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<String>,
    /// Days before each occurrence; negative ones are after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset_days: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_time: Option<String>,
}

/// A measure of the source that reaches a value.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThresholdRule {
    /// `{"field": "/booked"}`, `{"share": ["/booked", "/capacity"]}`, or `{"count": {"sourceType": "booking",
    /// "parentField": "/classId", "where": {…}}}`; `sum` takes a `field` beside these.
    #[schema(value_type = Object)]
    pub metric: Value,
    /// `>=`, `>`, `<=` or `<`.
    #[schema(example = ">=")]
    pub op: String,
    #[schema(value_type = f64)]
    pub value: Value,
    /// `OncePerSource`, `OncePerThreshold`, `OncePerDay` or `FalseToTrue`.
    #[schema(example = "FalseToTrue")]
    pub firing_policy: String,
    /// A name that keeps reminders of one kind apart; by default `all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

/// How it leaves. Read when a reminder is due, so changes here touch no planned row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    /// By default that of the list, or `email:default`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "email:default")]
    pub channel: Option<String>,
    /// It sees the fields of the source's state, and `state`, `source`, `setting` and `reminder`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Without a template; by default the setting's name. It sees what a template sees: `{{ state.number }}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// As `subject`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The body once more, for those who read HTML. Values are escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// A JSON pointer to the language in the source's state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locale_field: Option<String>,
    /// What is due within them waits for their end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quiet_hours: Option<QuietHours>,
    #[serde(flatten)]
    pub handling: Handling,
    /// The delivery policy of an embedding program; by default `standard`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
}

/// Local times of day; `from` may be later than `to`, over midnight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QuietHours {
    #[schema(example = "22:00")]
    pub from: String,
    #[schema(example = "07:00")]
    pub to: String,
}

/// The parts that belong to the kinds that ship.
pub const PARTS: &[(&str, &str)] =
    &[("dateBased", "date"), ("recurring", "recurring"), ("threshold", "threshold")];

impl ReminderSettingRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        fields.read_elsewhere("version");
        let kind = fields.required_name("kind");
        for &(of, part) in PARTS {
            if of == kind {
                fields.require(part, || format!("the {part} of a setting of kind `{kind}`"));
            } else if fields.has(part) && !kind.is_empty() {
                let detail = format!("`{part}` is for settings of kind `{of}`; this one is `{kind}`.");
                fields.refuse(part, Code::FieldConflict, detail);
            }
        }
        fields.require("delivery", || "an object such as `{\"channel\": \"email:default\"}`".into());
        let request = Self {
            name: fields.required_name("name"),
            business_unit: fields.optional_name("businessUnit"),
            source_type: fields.required_name("sourceType"),
            trigger_key: fields.required_name("triggerKey"),
            kind,
            date: fields.nested("date", DateRule::read),
            recurring: fields.nested("recurring", RecurringRule::read),
            threshold: fields.nested("threshold", ThresholdRule::read),
            custom: fields.object("custom", SETTINGS_MAX),
            filter: fields.object("filter", SETTINGS_MAX),
            recipients: recipients(&mut fields),
            delivery: fields.nested("delivery", Delivery::read).unwrap_or_default(),
            immediate: fields.bool("immediate", false),
            max_lateness: fields.optional_text("maxLateness", 1..=32),
            active: fields.bool("active", true),
        };
        fields.finish().map(|()| request)
    }
}

/// Any one way to name recipients; addresses are checked as the channel has them.
fn recipients(fields: &mut Fields<'_>) -> Value {
    let whole = fields.required_object("recipients", 64 * 1024);
    let channel = fields.get("delivery").and_then(|delivery| delivery.get("channel")).and_then(Value::as_str);
    let kind = channel.map_or("email", |key| key.split(':').next().unwrap_or(key)).to_owned();
    // What else is in it is for the provider of the recipients.
    fields.nested_open("recipients", |inner| {
        inner.optional_addresses("addresses", 1..=TARGETS_MAX, Some(&kind));
    });
    whole
}

impl DateRule {
    fn read(fields: &mut Fields<'_>) -> Self {
        Self {
            field: fields.required_text("field", 1..=512),
            offsets_days: offsets(fields),
            send_time: fields.optional_text("sendTime", 1..=16),
        }
    }
}

fn offsets(fields: &mut Fields<'_>) -> Vec<i64> {
    let at = fields.pointer_to("offsetsDays");
    let items = fields.required_array("offsetsDays", 1..=OFFSETS_MAX);
    let mut offsets: Vec<i64> = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let number = item.as_i64().filter(|days| (-OFFSET_DAYS_MAX..=OFFSET_DAYS_MAX).contains(days));
        let fault = match number {
            Some(days) if offsets.contains(&days) => {
                Some((Code::FieldConflict, "The same offset is given twice.".to_owned()))
            }
            Some(days) => {
                offsets.push(days);
                None
            }
            None => {
                let detail = format!("Expected whole days from -{OFFSET_DAYS_MAX} to {OFFSET_DAYS_MAX}.");
                let code = if item.is_number() { Code::OutOfRange } else { Code::WrongType };
                Some((code, detail))
            }
        };
        if let Some((code, detail)) = fault {
            fields.push(crate::FieldError::new(format!("{at}/{index}"), code, detail));
        }
    }
    offsets
}

impl RecurringRule {
    fn read(fields: &mut Fields<'_>) -> Self {
        let every = fields.optional_choice("every", &[("year", "year"), ("month", "month")]);
        Self {
            field: fields.required_text("field", 1..=512),
            every: every.map(str::to_owned),
            offset_days: fields.optional_int("offsetDays", -OFFSET_DAYS_MAX..=OFFSET_DAYS_MAX),
            send_time: fields.optional_text("sendTime", 1..=16),
        }
    }
}

impl ThresholdRule {
    fn read(fields: &mut Fields<'_>) -> Self {
        let ops = [">=", ">", "<=", "<"].map(|op| (op, op));
        let policies =
            ["OncePerSource", "OncePerThreshold", "OncePerDay", "FalseToTrue"].map(|name| (name, name));
        fields.require("value", || "a number".into());
        let value = fields.get("value").cloned().unwrap_or_default();
        if !value.is_null() && !value.is_number() {
            fields.refuse("value", Code::WrongType, "`value` takes a number.");
        }
        Self {
            metric: fields.required_object("metric", SETTINGS_MAX),
            op: fields.required_choice("op", &ops).to_owned(),
            value,
            firing_policy: fields.required_choice("firingPolicy", &policies).to_owned(),
            scope: fields.optional_name("scope"),
        }
    }
}

impl Delivery {
    fn read(fields: &mut Fields<'_>) -> Self {
        let quiet_hours = fields.nested("quietHours", |inner| QuietHours {
            from: inner.required_text("from", 1..=16),
            to: inner.required_text("to", 1..=16),
        });
        Self {
            channel: fields.optional_channel("channel"),
            template: fields.optional_name("template"),
            subject: fields.optional_subject("subject"),
            body: fields.optional_text("body", 0..=BODY_MAX),
            html: fields.optional_text("html", 0..=BODY_MAX),
            locale: fields.optional_locale("locale"),
            locale_field: fields.optional_text("localeField", 1..=512),
            quiet_hours,
            handling: Handling::read(fields),
            policy: fields.optional_name("policy"),
        }
    }
}

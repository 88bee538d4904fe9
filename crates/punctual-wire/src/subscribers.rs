//! `/api/v1/subscribers` and `/api/v1/outbox-events`: who gets the events, and the state of each delivery.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{batch::Item, channels::RetrySettings, fields::Fields, limits::SETTINGS_MAX, problem::Code};

/// The longest name of an event or topic.
const EVENT_MAX: usize = 200;

/// A subscriber to be defined.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubscriberRequest {
    #[schema(example = "webhook")]
    pub adapter: String,
    /// What the adapter needs; a secret may be given as `env:NAME`.
    #[schema(value_type = Object, required = false)]
    pub settings: Value,
    /// The types of events it subscribes to: `response-completed` (the default), `instance-sent`, `instance-opened`,
    /// `instance-expired`, `schedule.arrived`, or topics of schedules; a topic that ends in `*` matches all topics with that
    /// prefix.
    #[schema(example = json!(["response-completed", "operations.*"]), required = false)]
    pub events: Vec<String>,
    /// Only events that match this filter. It can test the answers and the fields of the payload; for an arrival, `topic` and
    /// the payload of the schedule, such as `payload.month`.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetrySettings>,
    /// Switched off it gets nothing new; what is queued is still delivered.
    #[schema(required = false)]
    pub active: bool,
}

impl SubscriberRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request = Self {
            adapter: fields.required_name("adapter"),
            settings: fields
                .object("settings", SETTINGS_MAX)
                .unwrap_or_else(|| Value::Object(Default::default())),
            events: fields
                .optional_texts("events", 1..=20, 1..=EVENT_MAX)
                .unwrap_or_else(|| vec!["response-completed".to_owned()]),
            filter: fields.object("filter", SETTINGS_MAX),
            retry: fields.nested("retry", RetrySettings::read),
            active: fields.bool("active", true),
        };
        for event in &request.events {
            // A star means the rest, so it is at the end.
            let name = event.strip_suffix('*').unwrap_or(event);
            if name.contains('*') || name.chars().any(|one| one.is_control() || one.is_whitespace()) {
                let detail =
                    "An event is a word such as `response-completed`, or a topic such as `invoices.*`.";
                fields.refuse("events", Code::OutOfRange, detail);
            }
        }
        fields.finish().map(|()| request)
    }
}

/// A subscriber as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subscriber {
    #[schema(example = "webhook:bi-ingest")]
    pub key: String,
    pub adapter: String,
    /// The settings without the secrets.
    #[schema(value_type = Object)]
    pub settings: Value,
    /// The secrets that are set.
    pub secrets_set: Vec<String>,
    pub events: Vec<String>,
    #[schema(value_type = Option<Object>)]
    pub filter: Option<Value>,
    #[schema(value_type = Object)]
    pub retry: Value,
    pub active: bool,
    pub version: i64,
    pub updated_at: Timestamp,
}

/// What a retry of all failed deliveries came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RetriedDeliveries {
    /// Deliveries queued again, at most 10,000 per request.
    pub retried: i64,
    /// Deliveries of the subscriber that are still parked: ask again.
    pub remaining: i64,
}

/// Something that happened, and its deliveries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutboxEvent {
    pub id: i64,
    #[schema(example = "response-completed")]
    pub event_type: String,
    /// `pending`, `dispatched` or `failed`: it follows from the deliveries.
    pub status: String,
    /// The instance and its survey, if the event belongs to one.
    pub instance_public_id: Option<String>,
    pub survey_id: Option<i64>,
    /// The work row that arrived, if the event is about one.
    #[schema(example = "schedule:close-2030-04")]
    pub work_key: Option<String>,
    pub created_at: Timestamp,
    pub deliveries: Vec<OutboxDelivery>,
    #[schema(value_type = Object)]
    pub payload: Value,
}

/// The state of an event for one subscriber.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutboxDelivery {
    pub subscriber: String,
    /// That of its notification: `pending`, `retrying`, `delivered`, `parked` or `discarded`.
    pub status: String,
    pub attempts: i64,
    pub last_error: Option<String>,
    pub delivered_at: Option<Timestamp>,
    pub notification_id: String,
}

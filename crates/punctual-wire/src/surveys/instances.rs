//! Instances: every link that was ever offered, and how its messages went.

use jiff::Timestamp;
use punctual_model::survey::InstanceStatus;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::{
    fields::{Fields, query_object},
    page::PageQuery,
    problem::FieldError,
};

/// One link that was offered to somebody.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Instance {
    pub id: i64,
    pub public_id: String,
    pub survey_id: i64,
    /// The version it is pinned to.
    pub survey_version_id: i64,
    /// `pending`, `sent`, `opened`, `completed` or `expired`.
    #[schema(example = "sent")]
    pub status: String,
    /// Why it expired, where it did.
    pub reason_code: Option<String>,
    pub business_unit: Option<String>,
    pub triggered_at: Timestamp,
    #[schema(example = "event:service-visit-closed")]
    pub triggered_by: String,
    pub trigger_id: String,
    pub customer_ref: Option<String>,
    /// The event as it came.
    #[schema(value_type = Object)]
    pub metadata: Value,
    pub channel: String,
    pub recipient_address: String,
    pub recipient_locale: Option<String>,
    pub next_send_at: Option<Timestamp>,
    pub last_sent_at: Option<Timestamp>,
    pub reminders_remaining: i64,
    /// Every attempt, oldest first.
    pub delivery_log: Vec<DeliveryLogEntry>,
    pub unique_hash: Option<String>,
    pub opened_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
}

/// One attempt for one message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryLogEntry {
    /// Which attempt of all, from 1.
    pub attempt: i64,
    /// Which message of the schedule, from 1: a failed attempt uses up none.
    pub ordinal: i64,
    pub sent_at: Timestamp,
    /// `delivered`, `failed`, `uncertain`, `underway`, or the reason why there was no attempt, such as `no-channel`.
    pub status: String,
    /// The provider's id of the message.
    pub message_id: Option<String>,
    pub error: Option<String>,
}

/// Which instances are wanted.
#[derive(Clone, Debug, PartialEq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct InstanceQuery {
    /// Only in this state.
    #[param(example = "sent", value_type = Option<String>)]
    pub status: Option<InstanceStatus>,
    /// Only of this trigger.
    #[param(rename = "triggerId")]
    pub trigger_id: Option<String>,
    /// Only of this customer.
    #[param(rename = "customerRef")]
    pub customer_ref: Option<String>,
    #[param(inline, ignore)]
    pub page: PageQuery,
}

impl InstanceQuery {
    pub fn read(parameters: impl IntoIterator<Item = (String, String)>) -> Result<Self, Vec<FieldError>> {
        let object = query_object(parameters);
        let mut fields = Fields::query(&object);
        let states = InstanceStatus::ALL.map(|status| (status.as_str(), status));
        let query = Self {
            status: fields.optional_choice("status", &states),
            trigger_id: fields.optional_name("triggerId"),
            customer_ref: fields.optional_name("customerRef"),
            page: PageQuery::read(&mut fields),
        };
        fields.finish().map(|()| query)
    }
}

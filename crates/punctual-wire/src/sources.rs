//! `/api/v1/sources`: the last known state of the things that reminders and surveys are about.

pub mod table;

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    batch::{Item, read_items_field},
    fields::Fields,
    limits::{SOURCES_BATCH_MAX, STATE_MAX},
    problem::{Code, Problem},
    work::WorkCounts,
};

/// The state of one source.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub business_unit: Option<String>,
    /// False if it is no longer active.
    #[schema(required = false, default = true)]
    pub active: bool,
    /// At most 64 KiB.
    #[schema(value_type = Object, required = false)]
    pub state: Value,
    /// The producer's sequence number of the change, as a number or as text: a change older than the stored one is ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<SequenceShape>)]
    pub sequence: Option<i64>,
    /// When it became so, for producers without a sequence; by default now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occurred_at: Option<Timestamp>,
}

/// A whole number, or one written as text as CloudEvents has it.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = Sequence)]
pub enum SequenceShape {
    Number(u64),
    Text(String),
}

/// A source in a bulk request.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamedSourceRequest {
    #[serde(rename = "type")]
    #[schema(example = "document")]
    pub kind: String,
    pub id: String,
    #[serde(flatten)]
    pub source: SourceRequest,
}

impl SourceRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request = Self::read_fields(&mut fields);
        fields.finish().map(|()| request)
    }

    /// Reads the `data` of an event, in which producers have fields of their own.
    pub fn read_data(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::open(value, pointer);
        let request = Self::read_fields(&mut fields);
        fields.finish().map(|()| request)
    }

    fn read_fields(fields: &mut Fields<'_>) -> Self {
        Self {
            business_unit: fields.optional_name("businessUnit"),
            active: fields.bool("active", true),
            state: state(fields),
            sequence: fields.optional_sequence("sequence"),
            occurred_at: fields.optional_past_instant("occurredAt"),
        }
    }
}

/// Left out it is empty. `null` is a mistake of the producer, and no way to say that all of it is gone.
fn state(fields: &mut Fields<'_>) -> Value {
    if fields.is_null("state") {
        fields.refuse(
            "state",
            Code::WrongType,
            "`state` takes an object; it is null. Leave it out, or send `{}`.",
        );
    }
    fields.object("state", STATE_MAX).unwrap_or_else(|| Value::Object(Default::default()))
}

impl NamedSourceRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request = Self {
            kind: fields.required_name("type"),
            id: fields.required_name("id"),
            source: SourceRequest::read_fields(&mut fields),
        };
        fields.finish().map(|()| request)
    }

    /// Reads `{"items": […]}` with at most [`SOURCES_BATCH_MAX`] items.
    pub fn read_body(value: &Value) -> Result<Vec<Item<Self>>, Problem> {
        read_items_field(value, SOURCES_BATCH_MAX, Self::read)
    }
}

/// A source as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    #[serde(rename = "type")]
    pub kind: String,
    pub id: String,
    pub business_unit: Option<String>,
    pub active: bool,
    #[schema(value_type = Object)]
    pub state: Value,
    pub sequence: Option<i64>,
    pub occurred_at: Timestamp,
    pub version: i64,
    pub updated_at: Timestamp,
    /// What the change did to due work; only in the answer to a change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkCounts>,
    /// `accepted`, or `stale` when something newer was known; only in the answer to a change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Cow<'static, str>>,
}

/// The outcome of one source of a bulk request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SourceOutcome {
    pub index: usize,
    /// `accepted`, `stale` (older than what is known) or `rejected`.
    #[schema(example = "accepted")]
    pub outcome: Cow<'static, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkCounts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<Problem>>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_source_is_read_and_written_alike() {
        let body = json!({"businessUnit": "nz", "active": false, "state": {"expiresOn": "2026-05-14"}, "sequence": 7});
        assert_eq!(serde_json::to_value(SourceRequest::read(&body, "").unwrap()).unwrap(), body);
        let bare = SourceRequest::read(&json!({}), "").unwrap();
        assert_eq!((bare.active, bare.state), (true, json!({})));
    }

    #[test]
    fn a_bulk_names_each_bad_item() {
        let body = json!({"items": [{"type": "document", "id": "42"}, {"type": "document", "state": 1}]});
        let items = NamedSourceRequest::read_body(&body).unwrap();
        assert_eq!(items[0].as_ref().unwrap().id, "42");
        let faults = items[1].as_ref().unwrap_err();
        let pointers: Vec<_> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
        assert_eq!(pointers, ["/items/1/id", "/items/1/state"]);
        let many = json!({"items": vec![0; 10_001]});
        assert_eq!(NamedSourceRequest::read_body(&many).unwrap_err().code.as_str(), "batch_too_large");
    }
}

//! `/api/v1/events`: what happened elsewhere, as CloudEvents in JSON, one or a batch.

pub mod modes;

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    batch::{Item, OneOrMany},
    fields::Fields,
    limits::{BATCH_MAX, EVENT_DATA_MAX, KEY_MAX},
    problem::{Code, Problem},
    sources::SequenceShape,
    work::WorkCounts,
};

/// The media types of a single event and of a batch.
pub const CONTENT_TYPES: [&str; 3] =
    ["application/json", "application/cloudevents+json", "application/cloudevents-batch+json"];

/// One event. Other attributes are allowed and ignored.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct EventRequest {
    #[schema(example = "1.0")]
    pub specversion: String,
    /// Unique for its `source`.
    pub id: String,
    /// Where it comes from, as a URI reference.
    #[schema(example = "/crm")]
    pub source: String,
    #[serde(rename = "type")]
    #[schema(example = "source.changed")]
    pub kind: String,
    /// Its subject, such as `document/42`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The producer's sequence number; it orders the events of one subject, otherwise `time` does. CloudEvents defines it as
    /// text; a number is accepted too.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    #[schema(value_type = Option<SequenceShape>, example = "7")]
    pub sequence: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Timestamp>,
    /// At most 64 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl EventRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::open(value, pointer);
        let request = Self {
            specversion: fields.required_text("specversion", 1..=16),
            id: fields.required_text("id", 1..=KEY_MAX),
            source: fields.required_text("source", 1..=KEY_MAX),
            kind: fields.required_text("type", 1..=KEY_MAX),
            subject: fields.optional_text("subject", 1..=KEY_MAX),
            sequence: fields.optional_sequence("sequence"),
            time: fields.optional_past_instant("time"),
            data: fields.json("data", EVENT_DATA_MAX),
        };
        if !request.specversion.is_empty() && request.specversion != "1.0" {
            fields.refuse("specversion", Code::OutOfRange, "`specversion` takes `1.0`.");
        }
        fields.finish().map(|()| request)
    }

    /// Reads a body: one event, or an array of at most [`BATCH_MAX`].
    pub fn read_body(value: &Value) -> Result<OneOrMany<Self>, Problem> {
        OneOrMany::read(value, BATCH_MAX, Self::read)
    }
}

fn as_text<S: Serializer>(sequence: &Option<i64>, serializer: S) -> Result<S::Ok, S::Error> {
    sequence.map(|number| number.to_string()).serialize(serializer)
}

/// The outcome of one event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EventOutcome {
    pub index: usize,
    /// `accepted`, `stale` (older than what is known) or `rejected`.
    #[schema(example = "accepted")]
    pub outcome: Cow<'static, str>,
    /// What it did to due work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkCounts>,
    /// 1 when nothing listens to its type.
    #[serde(default)]
    pub unmatched: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<Problem>>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_read() {
        let body = json!({"specversion": "1.0", "id": "1", "source": "/crm", "type": "source.changed",
                          "subject": "document/42", "sequence": "7", "time": "2026-05-14T05:12:34Z",
                          "datacontenttype": "application/json", "data": {"active": true}});
        let OneOrMany::One(event) = EventRequest::read_body(&body).unwrap() else { panic!() };
        assert_eq!(
            (event.kind.as_str(), event.sequence, event.data),
            ("source.changed", Some(7), Some(json!({"active": true})))
        );
        let number = json!({"specversion": "1.0", "id": "1", "source": "/crm", "type": "x", "sequence": 8});
        let event = EventRequest::read(&number, "").unwrap();
        assert_eq!(serde_json::to_value(event).unwrap()["sequence"], "8");
    }

    #[test]
    fn each_fault_names_its_attribute() {
        #[track_caller]
        fn check(body: Value, expected: &[(&str, &str)]) {
            let faults = EventRequest::read(&body, "/3").unwrap_err();
            let found: Vec<_> =
                faults.iter().map(|fault| (fault.pointer.as_str(), fault.code.as_str())).collect();
            assert_eq!(found, expected, "{body}");
        }
        let missing =
            ["/3/specversion", "/3/id", "/3/source", "/3/type"].map(|pointer| (pointer, "missing_field"));
        check(json!({}), &missing);
        let with = |name: &str, value: Value| {
            let mut body = json!({"specversion": "1.0", "id": "1", "source": "/crm", "type": "x"});
            body[name] = value;
            body
        };
        check(with("specversion", json!("0.3")), &[("/3/specversion", "out_of_range")]);
        check(with("id", json!(1)), &[("/3/id", "wrong_type")]);
        check(with("sequence", json!("seven")), &[("/3/sequence", "wrong_type")]);
        check(with("sequence", json!(-1)), &[("/3/sequence", "wrong_type")]);
        check(with("time", json!("2026-05-14T05:12:34")), &[("/3/time", "time_no_offset")]);
        check(with("data", json!("x".repeat(EVENT_DATA_MAX))), &[("/3/data", "out_of_range")]);
    }

    #[test]
    fn a_batch_is_bounded() {
        let many = Value::Array(vec![json!({}); 1_001]);
        assert_eq!(EventRequest::read_body(&many).unwrap_err().code.as_str(), "batch_too_large");
    }
}

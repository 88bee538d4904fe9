//! `/api/v1/schedules`: a topic that is published at a given instant, with a small payload.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{batch::Item, fields::Fields, limits::PAYLOAD_MAX, work::Work};

/// A schedule to be made.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleRequest {
    /// Who gets it when it is due.
    #[schema(example = "invoices.close")]
    pub topic: String,
    pub run_at: Timestamp,
    /// At most 8 KiB, handed to the listener.
    #[schema(value_type = Object, required = false)]
    pub payload: Value,
    /// The time zone in which it was planned, for display; `UTC` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "Europe/Berlin")]
    pub time_zone: Option<String>,
    /// Its identity: the same key again moves the same schedule. Made by the server when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub business_unit: Option<String>,
    /// Reactivates a cancelled schedule with this key; without it, the cancelled schedule is returned.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub revive: bool,
}

impl ScheduleRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request = Self {
            topic: fields.required_name("topic"),
            run_at: fields.instant("runAt"),
            payload: fields
                .object("payload", PAYLOAD_MAX)
                .unwrap_or_else(|| Value::Object(Default::default())),
            time_zone: fields.optional_zone("timeZone"),
            key: fields.optional_key("key"),
            business_unit: fields.optional_name("businessUnit"),
            revive: fields.bool("revive", false),
        };
        fields.finish().map(|()| request)
    }
}

/// A new moment for a schedule.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScheduleChange {
    pub run_at: Timestamp,
}

impl ScheduleChange {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let change = Self { run_at: fields.instant("runAt") };
        fields.finish().map(|()| change)
    }
}

/// A stored schedule: its work row and its content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Schedule {
    #[serde(flatten)]
    pub work: Work,
    /// Its id as a GUID, which the routes of schedules take as well.
    #[serde(default)]
    #[schema(example = "73636865-6475-8000-8000-000000000007")]
    pub schedule_id: String,
    pub topic: String,
    pub run_at: Timestamp,
    #[schema(value_type = Object)]
    pub payload: Value,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schedule_is_read() {
        let body = json!({"topic": "t", "runAt": "2026-05-14T09:00:00+02:00", "payload": {"n": 1}, "key": "nightly"});
        let request = ScheduleRequest::read(&body, "").unwrap();
        assert_eq!(request.run_at.to_string(), "2026-05-14T07:00:00Z");
        assert_eq!((request.payload, request.key.as_deref()), (json!({"n": 1}), Some("nightly")));
        let bare =
            ScheduleRequest::read(&json!({"topic": "t", "runAt": "2026-05-14T09:00:00Z"}), "").unwrap();
        assert_eq!((bare.payload, bare.key), (json!({}), None));
    }

    #[test]
    fn each_fault_names_its_field() {
        #[track_caller]
        fn check<T: std::fmt::Debug>(read: Item<T>, expected: &[(&str, &str)]) {
            let faults = read.unwrap_err();
            let found: Vec<_> =
                faults.iter().map(|fault| (fault.pointer.as_str(), fault.code.as_str())).collect();
            assert_eq!(found, expected);
        }
        check(
            ScheduleRequest::read(&json!({}), ""),
            &[("/topic", "missing_field"), ("/runAt", "missing_field")],
        );
        let body = json!({"topic": "t", "runAt": "2026-02-30T00:00:00Z", "payload": {"x": "x".repeat(9_000)}, "key": "\n"});
        let expected = [("/runAt", "date_invalid"), ("/payload", "out_of_range"), ("/key", "key_invalid")];
        check(ScheduleRequest::read(&body, ""), &expected);
        check(
            ScheduleChange::read(&json!({"runAt": "2026-05-14T09:00:00"}), ""),
            &[("/runAt", "time_no_offset")],
        );
        let body = json!({"runAt": "2026-05-14T09:00:00Z", "topic": "u"});
        check(ScheduleChange::read(&body, ""), &[("/topic", "unknown_field")]);
    }
}

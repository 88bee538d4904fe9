//! `/api/v1/work`: what becomes due, and what became of it.

use std::borrow::Cow;

use jiff::Timestamp;
use punctual_model::WorkStatus;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::{
    fields::{Fields, query_object},
    page::PageQuery,
    problem::FieldError,
    timeline::TimelineEntry,
};

/// A work row as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Work {
    pub id: i64,
    /// What it is about, for people.
    #[serde(default)]
    #[schema(example = "First aid certificate, document 103: 7 days before 14 May")]
    pub title: String,
    /// Its business identity.
    #[schema(example = "schedule:nightly")]
    pub key: String,
    /// The workflow it belongs to: `reminder`, `schedule`, `message`, …
    pub kind: String,
    /// `dateBased`, `threshold`, `recurring`, `scheduledRun`, `manualRun` or `at`.
    pub trigger: Cow<'static, str>,
    pub business_unit: Option<String>,
    pub source_type: Option<String>,
    pub source_id: Option<String>,
    pub due_at: Timestamp,
    /// The local date that it is for, if it has one.
    #[schema(example = "2026-05-14")]
    pub local_date: Option<String>,
    pub time_zone: Option<String>,
    /// `pending`, `processing`, `completed`, `failed`, `deactivated` or `cancelled`.
    #[schema(example = "pending")]
    pub status: Cow<'static, str>,
    /// A person must look: nothing runs until it is released.
    pub on_hold: bool,
    /// Why it is where it is.
    pub reason_code: Option<String>,
    /// Failed attempts since it was planned, released or brought back; its retries are counted from there.
    pub retry_count: i64,
    /// Failed attempts before it was last released or brought back.
    #[serde(default)]
    pub earlier_attempts: i64,
    /// Why it had ended or was held before it was last released or brought back.
    #[serde(default)]
    pub earlier_reason_code: Option<String>,
    /// When it is retried, after a failure.
    pub next_retry_at: Option<Timestamp>,
    /// The digest of its input, in hexadecimal.
    pub input_hash: String,
    /// Its results, such as `{"notifications": ["id"]}`. It names the first 20; if there are more, `count` has their number,
    /// and `GET /api/v1/notifications?work=` lists all.
    #[schema(value_type = Option<Object>)]
    pub result: Option<Value>,
    pub version: i64,
    /// The row that this one repeats.
    pub retry_of: Option<i64>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// What ensuring it did: `created`, `updated`, `unchanged`, `reactivated`, `completed` or `inProgress`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Cow<'static, str>>,
}

/// The history of one work row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkTrace {
    pub id: i64,
    /// What it is about, for people.
    #[serde(default)]
    pub title: String,
    pub key: String,
    /// Oldest first.
    pub items: Vec<TimelineEntry>,
    /// What the workflow recorded when it decided, if anything.
    #[schema(value_type = Option<Object>)]
    pub trace: Option<Value>,
}

/// How many work rows a change touched, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkCounts {
    pub created: u64,
    pub updated: u64,
    pub deactivated: u64,
    pub unchanged: u64,
}

/// An operator's word with an action on a work row or notification: `{"reason": "…"}`, all optional.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct ActionRequest {
    /// Kept in the audit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The version that the operator saw; if it has changed, the request is refused with `stale_version`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
}

impl ActionRequest {
    pub fn read(value: &Value, pointer: &str) -> Result<Self, Vec<FieldError>> {
        let mut fields = Fields::new(value, pointer);
        let request = Self {
            reason: fields.optional_text("reason", 1..=1_000),
            version: fields.optional_int("version", 0..=i64::MAX),
        };
        fields.finish().map(|()| request)
    }
}

/// Why something is done to many rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct ReasonRequest {
    /// Kept in the audit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl ReasonRequest {
    pub fn read(value: &Value, pointer: &str) -> Result<Self, Vec<FieldError>> {
        let mut fields = Fields::new(value, pointer);
        let request = Self { reason: fields.optional_text("reason", 1..=1_000) };
        fields.finish().map(|()| request)
    }
}

/// Which work is listed; what is left out does not limit.
#[derive(Clone, Debug, PartialEq, IntoParams)]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
pub struct WorkQuery {
    #[param(example = "pending", value_type = Option<String>)]
    pub status: Option<WorkStatus>,
    pub kind: Option<String>,
    /// Only what is, or is not, on hold.
    pub hold: Option<bool>,
    pub source_type: Option<String>,
    pub source_id: Option<String>,
    /// Due at or after this instant.
    pub from: Option<Timestamp>,
    /// Due before this instant.
    pub to: Option<Timestamp>,
    #[param(inline, ignore)]
    pub page: PageQuery,
}

impl WorkQuery {
    pub fn read(parameters: impl IntoIterator<Item = (String, String)>) -> Result<Self, Vec<FieldError>> {
        let object = query_object(parameters);
        let mut fields = Fields::query(&object);
        let query = Self {
            status: fields
                .optional_choice("status", &WorkStatus::ALL.map(|status| (status.as_str(), status))),
            kind: fields.optional_name("kind"),
            hold: fields.optional_bool("hold"),
            source_type: fields.optional_name("sourceType"),
            source_id: fields.optional_name("sourceId"),
            from: fields.optional_instant("from"),
            to: fields.optional_instant("to"),
            page: PageQuery::read(&mut fields),
        };
        fields.finish().map(|()| query)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn work_is_answered_as_documented() {
        let json = json!({
            "id": 7, "title": "Expiry, document 42: 7 days before 14 May", "key": "reminder:1:document:42:expiry:2026-05-14:7", "kind": "reminder", "trigger": "dateBased",
            "businessUnit": "nz", "sourceType": "document", "sourceId": "42", "dueAt": "2026-05-07T21:00:00Z",
            "localDate": "2026-05-08", "timeZone": "Pacific/Auckland", "status": "pending", "onHold": false,
            "reasonCode": null, "retryCount": 0, "earlierAttempts": 2, "earlierReasonCode": "cancelled", "nextRetryAt": null, "inputHash": "ab12",
            "result": {"notifications": ["x"]}, "version": 3, "retryOf": null,
            "createdAt": "2026-05-01T00:00:00Z", "updatedAt": "2026-05-01T00:00:00Z", "outcome": "created"
        });
        let work: Work = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(&work).unwrap(), json);
        let listed = serde_json::to_value(Work { outcome: None, ..work }).unwrap();
        assert!(listed.get("outcome").is_none());
    }

    #[test]
    fn work_is_asked_for_by_query() {
        let parameters = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
        };
        let query = WorkQuery::read(parameters(&[("hold", "true"), ("sourceType", "document")])).unwrap();
        assert_eq!(
            (query.hold, query.source_type.as_deref(), query.status),
            (Some(true), Some("document"), None)
        );
        let faults = WorkQuery::read(parameters(&[("hold", "maybe"), ("cursor", "x")])).unwrap_err();
        let codes: Vec<_> = faults.iter().map(|fault| fault.code.as_str()).collect();
        assert_eq!(codes, ["wrong_type", "cursor_invalid"]);
    }

    #[test]
    fn an_action_may_say_why() {
        assert_eq!(ActionRequest::read(&json!({}), ""), Ok(ActionRequest::default()));
        let request = ActionRequest::read(&json!({"reason": "checked", "version": 4}), "").unwrap();
        assert_eq!(request, ActionRequest { reason: Some("checked".into()), version: Some(4) });
        assert!(ActionRequest::read(&json!({"version": "4"}), "").is_err());
    }
}

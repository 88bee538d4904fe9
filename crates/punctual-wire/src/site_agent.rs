//! The local API of a site agent: what scripts send, and what they get back.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{batch::Item, fields::Fields, limits::BODY_MAX};

/// A notification as a script hands it in: `POST /notify`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NotifyRequest {
    /// A GUID of the script's own, so that it can repeat a call that was not answered; made by the agent when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub list: String,
    pub subject: String,
    pub body: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
}

impl NotifyRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let request = Self {
            id: fields.optional_guid("id"),
            list: fields.required_name("list"),
            subject: fields.required_subject("subject"),
            body: fields.required_text("body", 0..=BODY_MAX),
            instance: fields.optional_name("instance"),
            script: fields.optional_name("script"),
        };
        // A misspelt `instance` would be lost in silence.
        fields.finish().map(|()| request)
    }
}

/// The answer to `POST /notify`: the row is on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Notified {
    pub id: String,
}

/// The answer to `GET /notify/{id}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NotifyStatus {
    pub id: String,
    /// `forwarding` while the site has it, then central's word: `pending`, `retrying`, `delivered`, `parked`,
    /// `withdrawn`, `discarded`. `refused` if central never took it, `unknown` if nobody knows it.
    pub status: Cow<'static, str>,
    pub retry_count: i64,
    pub last_error: Option<String>,
    /// Why it is parked, as central says: whether its retries are exhausted, or it never could be delivered.
    #[serde(default)]
    pub reason_code: Option<String>,
    pub enqueued_at: Option<Timestamp>,
    pub delivered_at: Option<Timestamp>,
    /// Central could not be asked; the rest is what was last known.
    pub central_unreachable: bool,
}

impl NotifyStatus {
    pub fn unknown(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            status: Cow::Borrowed("unknown"),
            retry_count: 0,
            last_error: None,
            reason_code: None,
            enqueued_at: None,
            delivered_at: None,
            central_unreachable: false,
        }
    }

    /// Whether nothing more will happen to it unless a person acts.
    pub fn is_final(&self) -> bool {
        // tidy-allow: a word of the agent's API, which has some of its own
        matches!(&*self.status, "delivered" | "parked" | "withdrawn" | "discarded" | "refused")
    }
}

/// How the agent is doing: `GET /healthz`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentHealth {
    /// `ok`, or `central-unreachable` while rows wait for it.
    pub status: Cow<'static, str>,
    pub version: Cow<'static, str>,
    /// The site, once central has said whose token this is.
    pub site: Option<String>,
    /// Rows that wait.
    pub backlog: i64,
    /// What they and the refused ones take.
    pub backlog_bytes: i64,
    pub oldest_buffered_age_seconds: Option<i64>,
    pub refused: i64,
    /// Why the last attempt to forward failed; null when it did not.
    pub last_failure: Option<String>,
    pub last_contact_at: Option<Timestamp>,
    /// Whether new notifications are taken.
    pub accepting: bool,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_notification_is_read_and_each_fault_named() {
        let body = json!({"list": "ops", "subject": "S", "body": "", "instance": "pump-3"});
        assert_eq!(serde_json::to_value(NotifyRequest::read(&body, "").unwrap()).unwrap(), body);
        let faults =
            NotifyRequest::read(&json!({"subject": "a\nb", "body": 1, "instanse": "x"}), "").unwrap_err();
        let found: Vec<_> =
            faults.iter().map(|fault| (fault.pointer.as_str(), fault.code.as_str())).collect();
        let expected = [
            ("/list", "missing_field"),
            ("/subject", "subject_invalid"),
            ("/body", "wrong_type"),
            ("/instanse", "unknown_field"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_status_is_answered_as_documented() {
        let status = serde_json::to_value(NotifyStatus::unknown("x")).unwrap();
        let expected = json!({"id": "x", "status": "unknown", "retryCount": 0, "lastError": null, "reasonCode": null, "enqueuedAt": null,
                              "deliveredAt": null, "centralUnreachable": false});
        assert_eq!(status, expected);
    }
}

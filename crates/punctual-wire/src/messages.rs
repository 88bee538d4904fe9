//! `/api/v1/messages`: one message to given people at a given time.

use std::{borrow::Cow, collections::BTreeMap};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    attachments::Attachment,
    batch::Item,
    content::Content,
    fields::Fields,
    handling::Handling,
    problem::{Code, FieldError},
};

/// A message to be sent later.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageRequest {
    /// Its identity, of at most 128 bytes; made by the server when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub send_at: Timestamp,
    /// Reactivates a cancelled message with this id; without it, the cancelled message is returned.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub revive: bool,
    #[serde(flatten)]
    pub content: Content,
    #[serde(flatten)]
    pub handling: Handling,
}

impl MessageRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        Self::of(Fields::new(value, pointer))
    }

    fn of(mut fields: Fields<'_>) -> Item<Self> {
        let request = Self {
            id: fields.optional_name("id"),
            send_at: fields.instant("sendAt"),
            revive: fields.bool("revive", false),
            content: Content::read(&mut fields, None),
            handling: Handling::read(&mut fields),
        };
        fields.finish().map(|()| request)
    }
}

/// The answer to an accepted message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageAccepted {
    pub id: String,
    pub work_id: i64,
    /// The status of its work row.
    #[schema(example = "pending")]
    pub status: Cow<'static, str>,
    /// The stored row: a finished one keeps its time.
    pub send_at: Timestamp,
    /// `created`, `updated`, `unchanged`, `reactivated`, `completed`, `inProgress` or `cancelled`.
    pub outcome: Cow<'static, str>,
    /// Warnings about accepted values that do not work yet, such as a channel that does not exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<FieldError>,
}

/// What is to be different about a message that is pending: any of its fields but `id` and `businessUnit`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_at: Option<Timestamp>,
    #[serde(flatten)]
    pub content: Content,
    #[serde(flatten)]
    pub handling: Handling,
}

impl MessageChange {
    /// What stays as it is.
    pub const WITHOUT: &'static [&'static str] = &["id", "businessUnit", "revive"];

    /// The message as it would be afterwards: the change laid over what is stored, both in the shape of a request. A field
    /// that is null is taken away.
    pub fn over(mut stored: Value, change: &Value) -> Result<MessageRequest, Vec<FieldError>> {
        let fields = change.as_object().into_iter().flatten();
        for (name, value) in fields {
            if Self::WITHOUT.contains(&name.as_str()) {
                let detail = format!("`{name}` cannot be changed.");
                return Err(vec![FieldError::new(format!("/{name}"), Code::UnknownField, detail)]);
            }
            stored[name.as_str()] = value.clone();
        }
        // A change that is no object is read as it is, and refused.
        let changed = Fields::new(if change.is_object() { &stored } else { change }, "");
        MessageRequest::of(changed.without(Self::WITHOUT))
    }
}

/// A message as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    pub id: String,
    pub work_id: i64,
    /// The status of its work row.
    #[schema(example = "completed")]
    pub status: Cow<'static, str>,
    pub on_hold: bool,
    pub reason_code: Option<String>,
    pub send_at: Timestamp,
    pub channel: Option<String>,
    pub list: Option<String>,
    pub targets: Option<Vec<String>>,
    pub subject: String,
    pub body: String,
    pub html: Option<String>,
    pub template: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub context: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub type_data: Option<Value>,
    /// Files that go along.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub attachments: Vec<Attachment>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(required = false)]
    pub headers: BTreeMap<String, String>,
    pub locale: Option<String>,
    pub business_unit: Option<String>,
    #[serde(flatten)]
    pub handling: Handling,
    /// The notifications that it became.
    pub notifications: Vec<String>,
    pub created_at: Timestamp,
    /// Warnings about accepted values that do not work yet, such as a channel that does not exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<FieldError>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_is_read_and_written_alike() {
        let body = json!({"id": "m-1", "sendAt": "2026-05-14T07:00:00Z", "targets": ["x"], "channel": "memory:default",
                          "subject": "S", "body": "B", "topic": "news", "priority": "high", "failover": ["email:b"]});
        let request = MessageRequest::read(&body, "").unwrap();
        assert_eq!(serde_json::to_value(request).unwrap(), body);
    }

    #[test]
    fn a_change_takes_and_names_all_but_what_stays() {
        let stored = json!({"sendAt": "2026-05-14T07:00:00Z", "targets": ["x"], "channel": "memory:default",
                            "subject": "S", "body": "B"});
        let changed = MessageChange::over(stored.clone(), &json!({"subject": "T"})).unwrap();
        assert_eq!((changed.id, changed.content.subject.as_str()), (None, "T"));
        for name in MessageChange::WITHOUT {
            let faults = MessageChange::over(stored.clone(), &json!({ *name: "x" })).unwrap_err();
            assert_eq!(faults[0].pointer, format!("/{name}"));
            let faults = MessageChange::over(stored.clone(), &json!({"certainlyNotKnown": 1})).unwrap_err();
            assert!(!faults[0].detail.contains(&format!("`{name}`")), "{}", faults[0].detail);
        }
    }

    #[test]
    fn all_faults_are_named() {
        let faults = MessageRequest::read(
            &json!({"id": "", "sendAt": "2026-05-14", "list": "ops", "priority": "now"}),
            "",
        )
        .unwrap_err();
        let found: Vec<_> =
            faults.iter().map(|fault| (fault.pointer.as_str(), fault.code.as_str())).collect();
        let expected = [
            ("/id", "key_invalid"),
            ("/sendAt", "time_no_offset"),
            ("/subject", "missing_field"),
            ("/body", "missing_field"),
            ("/priority", "out_of_range"),
        ];
        assert_eq!(found, expected);
    }
}

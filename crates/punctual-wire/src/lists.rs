//! `/api/v1/lists`: named sets of targets, resolved when a message is delivered.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    batch::Item,
    fields::Fields,
    limits::LIST_TARGETS_MAX,
    problem::{Code, FieldError},
};

/// A list to be defined.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListRequest {
    /// What kind of address its targets are; it is sent over the channel `type:default` unless it names another.
    #[serde(rename = "type")]
    #[schema(example = "email")]
    pub kind: String,
    /// At most 10,000 addresses; a list may be empty.
    pub targets: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub business_unit: Option<String>,
}

impl ListRequest {
    pub fn read(value: &Value, pointer: &str) -> Item<Self> {
        let mut fields = Fields::new(value, pointer);
        let kind = fields.required_text("type", 1..=64);
        let channel_of_kind = format!("{kind}:default");
        if !kind.is_empty() && crate::names::channel_fault(&channel_of_kind, &String::new).is_some() {
            let detail = "`type` takes lower-case letters, digits, `-`, `_` or `.`, such as `email`.";
            fields.refuse("type", Code::OutOfRange, detail);
        }
        fields.require("targets", || format!("an array of at most {LIST_TARGETS_MAX} addresses"));
        let request = Self {
            targets: fields
                .optional_addresses("targets", 0..=LIST_TARGETS_MAX, Some(&kind))
                .unwrap_or_default(),
            kind,
            channel: fields.optional_channel("channel"),
            business_unit: fields.optional_name("businessUnit"),
        };
        fields.finish().map(|()| request)
    }
}

/// A list as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct List {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub channel: String,
    pub targets: Vec<String>,
    pub business_unit: Option<String>,
    pub updated_at: Timestamp,
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
    fn a_list_is_read_and_written_alike() {
        for body in [
            json!({"type": "email", "targets": ["a@example.org", "b@example.org"], "channel": "email:bulk"}),
            json!({"type": "sms", "targets": ["+49301234567"]}),
        ] {
            assert_eq!(serde_json::to_value(ListRequest::read(&body, "").unwrap()).unwrap(), body);
        }
    }

    #[test]
    fn each_fault_names_its_field() {
        #[track_caller]
        fn check(body: Value, expected: &[(&str, &str)]) {
            let faults = ListRequest::read(&body, "").unwrap_err();
            let found: Vec<_> =
                faults.iter().map(|fault| (fault.pointer.as_str(), fault.code.as_str())).collect();
            assert_eq!(found, expected, "{body}");
        }
        check(json!({}), &[("/type", "missing_field"), ("/targets", "missing_field")]);
        check(json!({"type": "E-Mail", "targets": []}), &[("/type", "out_of_range")]);
        check(
            json!({"type": "email", "targets": ["a@b.example", "b"]}),
            &[("/targets/1", "address_invalid")],
        );
        check(json!({"type": "sms", "targets": ["+4930123456", "1"]}), &[("/targets/1", "phone_invalid")]);
        check(
            json!({"type": "slack", "targets": ["https://x.example/"]}),
            &[("/targets/0", "address_invalid")],
        );
        check(json!({"type": "memory", "targets": vec!["1"; 10_001]}), &[("/targets", "out_of_range")]);
        check(json!({"type": "memory", "targets": ["1"], "target": []}), &[("/target", "unknown_field")]);
    }
}

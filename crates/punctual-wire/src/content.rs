//! Content and recipients of a message: the fields shared by notifications and messages.

use std::collections::BTreeMap;

use punctual_model::ChannelKey;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    attachments::{AttachmentRequest, read_headers, read_reply_to},
    fields::Fields,
    limits::{BODY_MAX, CONTEXT_MAX, TARGETS_MAX},
};

/// Audience and text of a message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Content {
    /// The name of a list, resolved when the message is delivered; or else `targets`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// 1 to 1,000 addresses; or else `list`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub targets: Vec<String>,
    /// The channel's key; by default that of the list or of the type.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "email:default")]
    pub channel: Option<String>,
    /// One line of at most 998 bytes; not needed with a template.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    pub subject: String,
    /// At most 256 KiB; not needed with a template.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schema(required = false)]
    pub body: String,
    /// The body once more, for those who read HTML.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// The name of a template that makes subject and body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// What the template sees. Without a template, `subject`, `body` and `html` are templates that see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub context: Option<Value>,
    /// Fields that only this type of channel understands; kept and returned as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub type_data: Option<Value>,
    /// The template's variant; `ar-IQ` falls back to `ar`, then to the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub business_unit: Option<String>,
    /// At most 20 files: 10 MiB together inline, 25 MiB with blobs. Refused where the channel cannot send files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub attachments: Vec<AttachmentRequest>,
    /// Where answers to the mail go, instead of to the sender of the channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "desk@example.com")]
    pub reply_to: Option<String>,
    /// Headers of the mail: `X-…`, `In-Reply-To`, `References`, `List-Id` and `Auto-Submitted`, each one line of ASCII.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(required = false, example = json!({"X-Ticket": "42"}))]
    pub headers: BTreeMap<String, String>,
}

impl Content {
    /// Reads the content from the fields of a request of this type, if it has one. Addresses are checked against the channel
    /// that will be used, whether it is named or not.
    pub fn read(fields: &mut Fields<'_>, kind: Option<&str>) -> Self {
        fields.one_of("list", "targets");
        let list = fields.optional_name("list");
        let channel = fields.optional_channel("channel");
        let used = channel.as_deref().and_then(|key| key.parse().ok());
        let used: ChannelKey = used.unwrap_or_else(|| ChannelKey::for_targets(kind.unwrap_or_default()));
        let targets =
            fields.optional_addresses("targets", 1..=TARGETS_MAX, Some(used.kind())).unwrap_or_default();
        let template = fields.optional_name("template");
        let (subject, body) = if template.is_some() {
            let subject = fields.optional_subject("subject").unwrap_or_default();
            (subject, fields.optional_text("body", 0..=BODY_MAX).unwrap_or_default())
        } else {
            (fields.required_subject("subject"), fields.required_text("body", 0..=BODY_MAX))
        };
        Self {
            list,
            targets,
            channel,
            subject,
            body,
            html: fields.optional_text("html", 0..=BODY_MAX),
            template,
            context: fields.object("context", CONTEXT_MAX),
            type_data: fields.object("typeData", CONTEXT_MAX),
            locale: fields.optional_locale("locale"),
            business_unit: fields.optional_name("businessUnit"),
            attachments: AttachmentRequest::read_all(fields),
            reply_to: read_reply_to(fields),
            headers: read_headers(fields),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::FieldError;

    fn read(value: &Value) -> Result<Content, Vec<FieldError>> {
        let mut fields = Fields::new(value, "");
        let content = Content::read(&mut fields, None);
        fields.finish().map(|()| content)
    }

    #[test]
    fn content_is_read_and_written_alike() {
        for body in [
            json!({"list": "ops", "subject": "S", "body": "B"}),
            json!({"targets": ["a@b.example"], "channel": "email:default", "template": "t", "context": {"n": 1},
                   "typeData": {"pack": {"id": 7}}, "locale": "ar-IQ", "businessUnit": "nz"}),
            json!({"targets": ["x@y.example"], "subject": "S", "body": "B", "html": "<p>B</p>"}),
            json!({"targets": ["x"], "channel": "memory:default", "subject": "S", "body": "B"}),
            json!({"targets": ["x@y.example"], "subject": "S", "body": "B", "replyTo": "z@y.example",
                   "headers": {"X-Ticket": "7"}, "attachments": [{"name": "a.pdf", "blob": "b"},
                   {"name": "b.csv", "contentType": "text/csv", "content": "YSxi"}]}),
        ] {
            assert_eq!(serde_json::to_value(read(&body).unwrap()).unwrap(), body);
        }
    }

    #[test]
    fn each_fault_names_its_field() {
        #[track_caller]
        fn check(body: Value, expected: &[(&str, &str)]) {
            let faults = read(&body).unwrap_err();
            let found: Vec<_> =
                faults.iter().map(|fault| (fault.pointer.as_str(), fault.code.as_str())).collect();
            assert_eq!(found, expected, "{body}");
        }
        check(
            json!({}),
            &[("/list", "missing_field"), ("/subject", "missing_field"), ("/body", "missing_field")],
        );
        let with = |name: &str, value: Value| {
            let mut body = json!({"targets": ["x@y.example"], "subject": "S", "body": "B"});
            body[name] = value;
            body
        };
        check(with("list", json!("ops")), &[("/targets", "field_conflict")]);
        check(with("targets", json!([])), &[("/targets", "out_of_range")]);
        check(with("targets", json!(vec!["a"; 1_001])), &[("/targets", "out_of_range")]);
        check(with("targets", json!(["a@b.example", "b\r\nBcc: c"])), &[("/targets/1", "address_invalid")]);
        // Without a channel it goes over mail.
        check(
            with("targets", json!(["a@b.example", "+4915112345678"])),
            &[("/targets/1", "address_invalid")],
        );
        check(with("subject", json!("a\nb")), &[("/subject", "subject_invalid")]);
        check(with("subject", json!("s".repeat(999))), &[("/subject", "out_of_range")]);
        check(with("body", json!("b".repeat(BODY_MAX + 1))), &[("/body", "out_of_range")]);
        check(with("context", json!([])), &[("/context", "wrong_type")]);
        check(with("context", json!({"x": "x".repeat(CONTEXT_MAX)})), &[("/context", "out_of_range")]);
        check(with("channel", json!("email")), &[("/channel", "key_invalid")]);
        check(with("locale", json!("?")), &[("/locale", "key_invalid")]);
        let mail =
            json!({"targets": ["a@b.example", "ops"], "channel": "email:x", "subject": "S", "body": ""});
        check(mail, &[("/targets/1", "address_invalid")]);
    }
}

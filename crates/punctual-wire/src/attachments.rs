//! Files and headers that go along with a message, and uploads of files.

use std::{collections::BTreeMap, fmt};

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use punctual_model::{
    FileRef,
    attachment::{FILES_MAX, INLINE_BYTES_MAX, check_file_name, check_media_type},
    envelope::{HEADERS_MAX, HeaderFault, canonical_header, check_header},
};
use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;

use crate::{
    address,
    fields::Fields,
    problem::{Code, FieldError},
    strict::join,
};

/// A file that goes along: its content here, or a blob that was uploaded before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttachmentRequest {
    /// One line of at most 200 bytes, without slashes.
    #[schema(example = "invoice-42.pdf")]
    pub name: String,
    /// The media type: documents, pictures, text and archives. A blob has the one it was uploaded with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "application/pdf")]
    pub content_type: Option<String>,
    /// In base64, at most 10 MiB of all files together; or else `blob`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = Byte)]
    pub content: Option<Bytes>,
    /// The id of an uploaded blob; or else `content`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
}

/// Bytes that are written as base64.
#[derive(Clone, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({})", self.0.len())
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl AttachmentRequest {
    /// The files of a message, each with its own faults.
    pub fn read_all(fields: &mut Fields<'_>) -> Vec<Self> {
        let items = fields.array("attachments", 0..=FILES_MAX).unwrap_or_default();
        let pointer = fields.pointer_to("attachments");
        let mut files = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let mut file = Fields::new(item, join(&pointer, &index.to_string()));
            let read = Self::read(&mut file);
            files.extend(fields.accept(file.finish().map(|()| read)));
        }
        let inline: usize =
            files.iter().filter_map(|file| file.content.as_ref()).map(|one| one.0.len()).sum();
        if inline > INLINE_BYTES_MAX {
            let detail = format!(
                "The files have {inline} bytes together, {INLINE_BYTES_MAX} are taken inline; upload larger ones to `/api/v1/blobs`."
            );
            fields.refuse("attachments", Code::OutOfRange, detail);
        }
        files
    }

    fn read(fields: &mut Fields<'_>) -> Self {
        let name = fields.required_text("name", 1..=200);
        if !name.is_empty()
            && let Err(fault) = check_file_name(&name)
        {
            fields.refuse("name", Code::AttachmentInvalid, format!("{fault}."));
        }
        fields.one_of("content", "blob");
        let content_type = fields.optional_text("contentType", 1..=200);
        if let Some(Err(fault)) = content_type.as_deref().map(check_media_type) {
            fields.refuse("contentType", Code::AttachmentInvalid, format!("{fault}."));
        }
        let content = fields.optional_text("content", 0..=INLINE_BYTES_MAX.div_ceil(3) * 4);
        if content.is_some() {
            fields.require("contentType", || "a media type such as `application/pdf`".to_owned());
        }
        let decoded = content.map(|text| STANDARD.decode(text));
        if matches!(decoded, Some(Err(_))) {
            fields.refuse("content", Code::AttachmentInvalid, "`content` is not base64.");
        }
        let content = decoded.and_then(Result::ok).map(Bytes);
        Self { name, content_type, content, blob: fields.optional_name("blob") }
    }
}

/// Where answers to a mail go, if the message says so.
pub fn read_reply_to(fields: &mut Fields<'_>) -> Option<String> {
    let reply_to = fields.optional_text("replyTo", 1..=320)?;
    match address::fault(Some("email"), &reply_to, || fields.pointer_to("replyTo")) {
        Some(fault) => {
            fields.push(fault);
            None
        }
        None => Some(reply_to),
    }
}

/// The headers of a mail; of two spellings of one header the last counts.
pub fn read_headers(fields: &mut Fields<'_>) -> BTreeMap<String, String> {
    let entries = fields.entries("headers", 0..=HEADERS_MAX);
    let pointer = fields.pointer_to("headers");
    let mut headers = BTreeMap::new();
    for (name, value) in entries.into_iter().flatten() {
        let Some(text) = value.as_str() else {
            let detail = "The value of a header is text.";
            fields.push(FieldError::new(join(&pointer, name), Code::WrongType, detail));
            continue;
        };
        match check_header(name, text) {
            Ok(()) => drop(headers.insert(canonical_header(name), text.to_owned())),
            Err(fault) => {
                let code = match fault {
                    HeaderFault::NotAllowed => Code::HeaderNotAllowed,
                    HeaderFault::Value => Code::HeaderInvalid,
                };
                fields.push(FieldError::new(join(&pointer, name), code, format!("{fault}.")));
            }
        }
    }
    headers
}

/// A file that goes along with a message that is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    pub name: String,
    pub content_type: String,
    /// In bytes, where a caller brought it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,
    /// The blob of its content, where a caller brought it; it stays as long as the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
}

impl From<FileRef> for Attachment {
    fn from(file: FileRef) -> Self {
        Self {
            blob: file.upload().map(str::to_owned),
            name: file.file_name,
            content_type: file.media_type,
            size: file.bytes,
        }
    }
}

/// A file that was uploaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Blob {
    /// What an attachment names as `blob`.
    pub id: String,
    pub content_type: String,
    /// In bytes.
    pub size: i64,
    /// SHA-256 of the content, in hex.
    pub digest: String,
    pub business_unit: Option<String>,
    /// When it is removed unless a message uses it.
    pub expires_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn check(body: Value, expected: &[(&str, &str)]) {
        let mut fields = Fields::new(&body, "");
        AttachmentRequest::read_all(&mut fields);
        read_reply_to(&mut fields);
        read_headers(&mut fields);
        let faults = fields.finish().err().unwrap_or_default();
        let found: Vec<_> =
            faults.iter().map(|fault| (fault.pointer.as_str(), fault.code.as_str())).collect();
        assert_eq!(found, expected, "{body}");
    }

    #[test]
    fn t09_each_fault_of_files_and_headers_names_its_field() {
        let file = |name: &str, kind: &str, content: &str| json!({"attachments": [{"name": name, "contentType": kind, "content": content}]});
        check(file("a.pdf", "application/pdf", "AAAA"), &[]);
        check(json!({"attachments": [{"name": "a.pdf", "blob": "b1"}]}), &[]);
        check(file("../a.pdf", "application/pdf", ""), &[("/attachments/0/name", "attachment_invalid")]);
        check(file("a\r\nb", "application/pdf", ""), &[("/attachments/0/name", "attachment_invalid")]);
        check(
            file("a.exe", "application/x-msdownload", ""),
            &[("/attachments/0/contentType", "attachment_invalid")],
        );
        check(file("a.csv", "text/csv", "%%"), &[("/attachments/0/content", "attachment_invalid")]);
        check(
            json!({"attachments": [{"name": "a", "content": "AA==", "blob": "b"}]}),
            &[("/attachments/0/blob", "field_conflict"), ("/attachments/0/contentType", "missing_field")],
        );
        check(json!({"attachments": [{"name": "a"}]}), &[("/attachments/0/content", "missing_field")]);
        check(
            json!({"attachments": vec![json!({"name": "a", "blob": "b"}); 21]}),
            &[("/attachments", "out_of_range")],
        );
        check(json!({"replyTo": "desk@b.example", "headers": {"x-ticket": "7"}}), &[]);
        check(json!({"replyTo": "a@b.example\r\nBcc: x"}), &[("/replyTo", "address_invalid")]);
        check(json!({"headers": {"Bcc": "x@y.example"}}), &[("/headers/Bcc", "header_not_allowed")]);
        check(json!({"headers": {"X-A": "a\r\nBcc: x"}}), &[("/headers/X-A", "header_invalid")]);
        check(json!({"headers": {"X-A": 1}}), &[("/headers/X-A", "wrong_type")]);
    }

    #[test]
    fn files_of_more_than_ten_mebibytes_are_uploaded_first() {
        let half = "A".repeat((6 << 20) / 3 * 4);
        let file = json!({"name": "a.csv", "contentType": "text/csv", "content": half});
        check(json!({"attachments": [file]}), &[]);
        check(json!({"attachments": [file, file]}), &[("/attachments", "out_of_range")]);
    }
}

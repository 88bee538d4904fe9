//! The modes in which CloudEvents are carried: structured and batched, where the body is JSON and has everything, and
//! binary, where the attributes are beside the body and the body is the data alone.

use serde_json::{Map, Value};

use crate::{
    problem::{Code, Problem},
    strict,
};

/// The attribute that every event has: where it stands beside the body, the mode is binary.
pub const SPECVERSION: &str = "specversion";

/// Whether a content type says that the body has the attributes.
pub fn is_structured(content_type: Option<&str>) -> bool {
    content_type.is_some_and(|text| text.to_ascii_lowercase().starts_with("application/cloudevents"))
}

/// The event or batch of events that a message carries, in the shape of the structured mode.
pub fn read(
    attributes: Vec<(String, String)>,
    content_type: Option<&str>,
    content: &[u8],
) -> Result<Value, Problem> {
    let is_binary = attributes.iter().any(|(name, _)| name == SPECVERSION);
    if !is_structured(content_type) && is_binary {
        let attributes = attributes.into_iter().map(|(name, text)| (name, text.into())).collect();
        return binary(attributes, content_type, content);
    }
    match essence(content_type).as_str() {
        "" | "application/json" | "application/cloudevents+json" | "application/cloudevents-batch+json" => {
            strict::read(content)
        }
        _ => Err(Problem::content_type(content_type, &super::CONTENT_TYPES)),
    }
}

/// An event in binary mode.
pub fn binary(
    mut attributes: Map<String, Value>,
    content_type: Option<&str>,
    content: &[u8],
) -> Result<Value, Problem> {
    // The body is the data, and nothing else is.
    attributes.remove("data");
    if let Some(data) = data(content_type, content)? {
        attributes.insert("data".to_owned(), data);
    }
    Ok(Value::Object(attributes))
}

fn essence(content_type: Option<&str>) -> String {
    content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The data by its content type: JSON as it is, text as a text, nothing where there is no body.
fn data(content_type: Option<&str>, content: &[u8]) -> Result<Option<Value>, Problem> {
    if content.is_empty() {
        return Ok(None);
    }
    let essence = essence(content_type);
    if essence == "application/json" || essence == "text/json" || essence.ends_with("+json") {
        return strict::read(content).map(Some);
    }
    if essence.starts_with("text/") {
        let text = std::str::from_utf8(content).ok().filter(|text| !text.contains('\0'));
        let detail = "The body is not UTF-8, or has the character NUL.";
        let text = text.ok_or_else(|| Problem::new(Code::TextInvalid, detail))?;
        return Ok(Some(text.into()));
    }
    Err(Problem::content_type(content_type, &["application/json", "text/plain"]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn data_goes_by_its_content_type() {
        let read = |kind: Option<&str>, body: &'static str| data(kind, body.as_bytes());
        assert_eq!(
            read(Some("application/json; charset=utf-8"), "{\"a\":1}").unwrap(),
            Some(json!({"a": 1}))
        );
        assert_eq!(read(Some("application/geo+json"), "[]").unwrap(), Some(json!([])));
        assert_eq!(read(Some("text/plain"), "hello").unwrap(), Some(json!("hello")));
        assert_eq!(read(None, "").unwrap(), None);
        assert_eq!(read(Some("application/json"), "{").unwrap_err().status, 400);
        assert_eq!(read(Some("image/png"), "x").unwrap_err().status, 415);
        assert_eq!(read(None, "x").unwrap_err().status, 415);
    }

    #[test]
    fn a_message_is_read_in_the_mode_that_it_has() {
        let attributes =
            || vec![("specversion".to_owned(), "1.0".to_owned()), ("id".to_owned(), "7".to_owned())];
        let whole = json!({"specversion": "1.0", "id": "7"});
        let text = whole.to_string();
        let body = text.as_bytes();
        assert_eq!(read(attributes(), None, b"").unwrap(), whole);
        let data = json!({"specversion": "1.0", "id": "7", "data": {"a": 1}});
        assert_eq!(read(attributes(), Some("application/json"), b"{\"a\":1}").unwrap(), data);
        for kind in [None, Some("application/json"), Some("application/cloudevents+json; charset=utf-8")] {
            assert_eq!(read(Vec::new(), kind, body).unwrap(), whole, "{kind:?}");
        }
        // What the content type says wins over attributes that stand beside it.
        assert_eq!(read(attributes(), Some("application/cloudevents+json"), b"[]").unwrap(), json!([]));
        assert_eq!(read(Vec::new(), Some("application/cloudevents-batch+json"), b"[]").unwrap(), json!([]));
        assert_eq!(read(Vec::new(), Some("application/cloudevents+avro"), b"x").unwrap_err().status, 415);
        assert_eq!(read(Vec::new(), Some("text/plain"), b"x").unwrap_err().status, 415);
    }
}

//! The three ways in which HTTP carries CloudEvents: structured and batched, where the body is JSON and has everything; and
//! binary, where the attributes are headers `ce-…` and the body is the data alone.

use axum::{
    extract::{FromRequest, Request},
    http::{HeaderMap, header},
};
use bytes::Bytes;
use punctual_wire::{Code, FieldError, Problem, events::modes};
use serde_json::{Map, Value};

use crate::{
    Shared,
    answer::Failure,
    body::{Events, Json, bounded},
};

const PREFIX: &str = "ce-";

/// One event or a batch, in the shape of the structured mode.
pub struct EventBody {
    pub value: Value,
    /// What distinguishes one request from another.
    pub bytes: Bytes,
}

impl FromRequest<Shared> for EventBody {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &Shared) -> Result<Self, Failure> {
        if !is_binary(request.headers()) {
            let body = Json::<Events>::from_request(request, app).await?;
            return Ok(Self { value: body.value, bytes: body.bytes });
        }
        let (parts, body) = request.into_parts();
        let event = attributes(&parts.headers)?;
        let content_type = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content = bounded(&parts.headers, body, app.options.body_limit, app.options.body_time).await?;
        let value = modes::binary(event, content_type, &content)?;
        Ok(Self { bytes: value.to_string().into(), value })
    }
}

/// A request with attributes in its headers is binary, unless its content type says that the body has them.
fn is_binary(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    !modes::is_structured(content_type) && headers.contains_key("ce-specversion")
}

/// The attributes of an event: text in which what is not visible ASCII is percent-encoded UTF-8.
fn attributes(headers: &HeaderMap) -> Result<Map<String, Value>, Problem> {
    let mut event = Map::new();
    for (name, value) in headers {
        let Some(attribute) = name.as_str().strip_prefix(PREFIX) else { continue };
        let text = value.to_str().ok().and_then(decoded);
        let refused = |detail| FieldError::new(format!("/{name}"), Code::TextInvalid, detail);
        let text = text
            .ok_or_else(|| refused("The header is not percent-encoded UTF-8, or has the character NUL."))?;
        if event.insert(attribute.to_owned(), text.into()).is_some() {
            return Err(refused("The header is there twice.").into());
        }
    }
    Ok(event)
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (high, low) = (char::from(rest.next()?).to_digit(16)?, char::from(rest.next()?).to_digit(16)?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_percent_decoded() {
        for (text, expected) in [
            ("plain", Some("plain")),
            ("Euro%20%E2%82%AC", Some("Euro €")),
            ("100%25", Some("100%")),
            ("%", None),
            ("%e", None),
            ("%zz", None),
            ("%FF", None),
            ("%00", None),
        ] {
            assert_eq!(decoded(text).as_deref(), expected, "{text}");
        }
    }
}

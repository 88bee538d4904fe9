//! Every request and every answer of these tests against the OpenAPI document.
//!
//! The client of all tests calls [`check`], so each story that the tests tell also shows that the document is true: an answer
//! has a status and a shape that the document has, and a request that was accepted is one that the document allows. A field
//! that a reader takes and the document lacks is found this way too.

use std::sync::LazyLock;

use serde_json::{Map, Value};

static DOCUMENT: LazyLock<Value> = LazyLock::new(punctual_api::document);

/// What was asked and what came back.
pub struct Exchange<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub request_type: Option<&'a str>,
    pub request: &'a [u8],
    pub status: u16,
    pub response_type: Option<&'a str>,
    pub response: &'a Value,
}

/// What the server adds to a definition and takes back without a word, so that what was read can be sent again. Whoever
/// writes one has no reason to send them.
const TAKEN_BACK: [&str; 7] = ["guid", "id", "nextRunAt", "timeZone", "createdAt", "updatedAt", "warnings"];

/// Panics where the document says otherwise. Routes that are not in the document are left alone.
pub fn check(exchange: &Exchange<'_>) {
    let Some(operation) = operation(exchange.method, exchange.path) else { return };
    let faults = faults(operation, exchange);
    assert!(
        faults.is_empty(),
        "{} {} {}: the document says otherwise: {faults:#?}\nrequest {}\nresponse {}",
        exchange.method,
        exchange.path,
        exchange.status,
        String::from_utf8_lossy(exchange.request),
        exchange.response
    );
}

fn faults(operation: &Value, exchange: &Exchange<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    let responses = &operation["responses"];
    let is_success = exchange.status < 400;
    let described = match &responses[exchange.status.to_string()] {
        Value::Null if is_success => return vec!["the status is not described".to_owned()],
        Value::Null => &responses["default"],
        described => described,
    };
    let content = &described["content"];
    match exchange.response_type.map(essence) {
        Some(kind) if exchange.method != "HEAD" => match content
            .get(kind)
            .map_or(&content["*/*"]["schema"], |content| &content["schema"])
        {
            Value::Null => faults.push(format!("responses of type {kind} are not described")),
            schema if kind.ends_with("problem+json") => {
                validate(schema, exchange.response, "problem", &mut faults)
            }
            schema if kind.ends_with("json") => validate(schema, exchange.response, "response", &mut faults),
            _ => {}
        },
        _ => {}
    }
    // An item of a batch may be wrong by itself.
    let response = exchange.response.to_string();
    let has_rejected = ["\"error\":{", "\"outcome\":\"rejected\""].iter().any(|mark| response.contains(mark));
    if is_success && !has_rejected && !exchange.request.trim_ascii().is_empty() {
        let kind = exchange.request_type.map_or("application/json", essence);
        let schema = &operation["requestBody"]["content"][kind]["schema"];
        let body = serde_json::from_slice::<Value>(exchange.request);
        if let (false, Ok(body)) = (schema.is_null(), body) {
            validate(schema, &body, "request", &mut faults);
        }
    }
    faults
}

fn essence(kind: &str) -> &str {
    kind.split(';').next().unwrap_or_default().trim()
}

/// The operation that a path leads to; one with the most fixed segments counts.
fn operation(method: &str, path: &str) -> Option<&'static Value> {
    let path: Vec<&str> = path.split('?').next()?.split('/').collect();
    let fits = |template: &str| {
        let template: Vec<&str> = template.split('/').collect();
        let fits = template.len() == path.len()
            && template
                .iter()
                .zip(&path)
                .all(|(part, given)| part == given || part.starts_with('{') && !given.is_empty());
        fits.then(|| template.iter().filter(|part| !part.starts_with('{')).count())
    };
    let paths = DOCUMENT["paths"].as_object()?.iter();
    let (_, item) =
        paths.filter_map(|(template, item)| Some((fits(template)?, item))).max_by_key(|(fixed, _)| *fixed)?;
    let method = if method == "HEAD" { "GET" } else { method };
    item.get(method.to_lowercase())
}

/// What of JSON Schema the document uses.
pub fn validate(schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
    let Some(schema) = schema.as_object() else { return };
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let name = name.rsplit('/').next().unwrap_or_default();
        validate(&DOCUMENT["components"]["schemas"][name], value, at, faults);
    }
    if let Some(choices) = schema.get("oneOf").and_then(Value::as_array) {
        let fitting = choices.iter().filter(|choice| fits(choice, value)).count();
        if fitting != 1 {
            faults.push(format!("{at}: {fitting} of {} choices fit {value}", choices.len()));
        }
    }
    if let Some(choices) = schema.get("enum").and_then(Value::as_array)
        && !choices.contains(value)
    {
        faults.push(format!("{at}: {value} is none of the values"));
    }
    if !has_type(schema.get("type"), value) {
        faults.push(format!("{at}: {value} is no {}", schema["type"]));
        return;
    }
    match value {
        Value::Object(object) => validate_object(schema, object, at, faults),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                validate(schema.get("items").unwrap_or(&Value::Null), item, &format!("{at}/{index}"), faults);
            }
            in_range(schema, ["minItems", "maxItems"], items.len() as f64, at, faults);
        }
        Value::String(text) => {
            in_range(schema, ["minLength", "maxLength"], text.chars().count() as f64, at, faults);
            let is_instant = || text.parse::<jiff::Timestamp>().is_ok();
            if schema.get("format").is_some_and(|format| format == "date-time") && !is_instant() {
                faults.push(format!("{at}: {text} is no instant"));
            }
        }
        Value::Number(number) => {
            in_range(schema, ["minimum", "maximum"], number.as_f64().unwrap_or_default(), at, faults);
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn validate_object(
    schema: &Map<String, Value>,
    object: &Map<String, Value>,
    at: &str,
    faults: &mut Vec<String>,
) {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if !object.contains_key(name) {
            faults.push(format!("{at}: {name} is missing"));
        }
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, value) in object {
        let at = format!("{at}/{name}");
        match (properties.and_then(|properties| properties.get(name)), schema.get("additionalProperties")) {
            (Some(schema), _) | (None, Some(schema @ Value::Object(_))) => {
                validate(schema, value, &at, faults)
            }
            (None, Some(Value::Bool(false))) if TAKEN_BACK.contains(&name.as_str()) => {}
            (None, Some(Value::Bool(false))) => faults.push(format!("{at} is not described")),
            // Responses are open for clients, so that fields can be added; the document has them all nevertheless. Problems
            // carry members of their own.
            (None, None) if properties.is_some() && at.starts_with("response/") && !at.contains("/error") => {
                faults.push(format!("{at} is not described"));
            }
            (None, _) => {}
        }
    }
}

fn fits(schema: &Value, value: &Value) -> bool {
    let mut faults = Vec::new();
    validate(schema, value, "", &mut faults);
    faults.is_empty()
}

fn has_type(types: Option<&Value>, value: &Value) -> bool {
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    match types {
        None => true,
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(is),
        Some(name) => name.as_str().is_some_and(is),
    }
}

fn in_range(schema: &Map<String, Value>, bounds: [&str; 2], found: f64, at: &str, faults: &mut Vec<String>) {
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    let [low, high] = bounds;
    if bound(low).is_some_and(|low| found < low) || bound(high).is_some_and(|high| found > high) {
        faults.push(format!("{at}: {found} is not within {low} and {high}"));
    }
}

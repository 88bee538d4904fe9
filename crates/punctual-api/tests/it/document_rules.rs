//! What holds for the whole OpenAPI document, whatever route is added.

use std::collections::BTreeSet;

use axum::http::Method;
use punctual_testkit::{TestBed, on_both};
use serde_json::{Map, Value, json};

use crate::client::Client;

on_both! {
    a_schema_has_exactly_the_fields_that_the_reader_takes;
    the_idempotency_key_is_described_where_it_is_read;
    a_field_that_may_be_null_is_taken_as_absent;
}

fn document() -> Value {
    punctual_api::document()
}

/// Every operation: its method, its path and itself.
fn operations(document: &Value) -> impl Iterator<Item = (String, String, &Value)> {
    document["paths"].as_object().unwrap().iter().flat_map(|(path, item)| {
        item.as_object().unwrap().iter().map(move |(method, one)| (method.clone(), path.clone(), one))
    })
}

#[test]
fn every_response_says_what_it_is() {
    let document = document();
    for (method, path, operation) in operations(&document) {
        let responses = operation["responses"].as_object().unwrap();
        assert!(responses.keys().any(|status| status.starts_with('2')), "{method} {path} never succeeds");
        for (status, response) in responses {
            let text = response["description"].as_str().unwrap_or_default();
            assert!(!text.is_empty(), "{method} {path} {status} has no description");
        }
    }
}

#[test]
fn names_of_operations_are_readable() {
    let document = document();
    for (method, path, operation) in operations(&document) {
        let id = operation["operationId"].as_str().unwrap();
        let is_name = id.starts_with(|letter: char| letter.is_ascii_lowercase())
            && id.chars().all(|letter| letter.is_ascii_alphanumeric());
        assert!(is_name, "{method} {path}: {id}");
        let verb = id.split(|letter: char| letter.is_uppercase()).next().unwrap();
        assert!(!["post", "patch"].contains(&verb), "{method} {path}: {id} says how, not what");
        assert_eq!(operation["tags"].as_array().unwrap().len(), 1, "{method} {path}");
    }
    let known: BTreeSet<&str> =
        document["tags"].as_array().unwrap().iter().filter_map(|tag| tag["name"].as_str()).collect();
    for (method, path, operation) in operations(&document) {
        assert!(known.contains(operation["tags"][0].as_str().unwrap()), "{method} {path} has an unknown tag");
    }
}

#[test]
fn request_objects_are_closed_and_responses_open() {
    let document = document();
    let (mut closed, mut open) = (0, 0);
    for (method, path, operation) in operations(&document) {
        let what = format!("{method} {path}");
        for (kind, content) in operation["requestBody"]["content"].as_object().into_iter().flatten() {
            walk(&document, &content["schema"], &mut Vec::new(), &mut |name, schema| {
                let is_closed = schema["additionalProperties"] == json!(false);
                let is_foreign =
                    ["EventRequest", "SiteHandOver", "SiteItem", "SiteReport", "SiteEvent"].contains(&name);
                assert_eq!(is_closed, !is_foreign, "{what} takes {name} as {kind}");
                closed += usize::from(is_closed);
            });
            assert_ne!(content["schema"]["type"], "object", "{what} takes any object");
        }
        walk(&document, &operation["responses"], &mut Vec::new(), &mut |name, schema| {
            assert_ne!(schema["additionalProperties"], json!(false), "{what} returns {name}");
            open += 1;
        });
    }
    assert!(closed > 80 && open > 150, "{closed} {open}");
}

#[test]
fn no_body_may_be_null_and_nothing_is_described_twice() {
    let document = document();
    for (method, path, operation) in operations(&document) {
        for content in operation["requestBody"]["content"].as_object().into_iter().flat_map(Map::values) {
            let choices = content["schema"]["oneOf"].as_array().cloned().unwrap_or_default();
            assert!(choices.iter().all(|choice| choice["type"] != "null"), "{method} {path}");
        }
    }
    let text = document.to_string();
    assert!(!text.contains("allOf"), "a flattened part was left");
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        assert!(!name.contains('_'), "{name} is no name for people");
        assert!(text.contains(&format!("schemas/{name}\"")), "nothing refers to {name}");
    }
}

/// Every object with fields of its own that a schema reaches, with the name it is known by.
fn walk<'d>(
    document: &'d Value,
    value: &'d Value,
    seen: &mut Vec<&'d str>,
    each: &mut impl FnMut(&str, &'d Value),
) {
    match value {
        Value::Object(object) => {
            if let Some(name) = object.get("$ref").and_then(|name| name.as_str()?.rsplit('/').next())
                && !seen.contains(&name)
            {
                seen.push(name);
                walk(document, &document["components"]["schemas"][name], seen, each);
            }
            if object.get("properties").is_some_and(Value::is_object) && object.contains_key("type") {
                each(seen.last().copied().unwrap_or_default(), value);
            }
            for (keyword, part) in object {
                if keyword != "example" {
                    walk(document, part, seen, each);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| walk(document, value, seen, each)),
        _ => {}
    }
}

/// Routes whose bodies nobody closes, and those that look for what they are about before they read.
const LEFT_OUT: [&str; 10] = [
    "post /api/v1/events",
    "post /api/v1/sites/{site}/notifications",
    "put /api/v1/reminder-settings/{id}",
    "patch /api/v1/reminder-settings/{id}",
    "post /api/v1/reminder-settings/{id}/plan",
    "put /api/v1/report-subscriptions/{guid}",
    "patch /api/v1/report-subscriptions/{guid}",
    "post /api/v1/surveys/{id}/campaigns",
    "post /api/v1/report-runs/{key}/ownership",
    "patch /api/v1/report-runs/{key}/ownership",
];

/// A body with every field that the schema has, and one more in each object. The reader must know all but the one, wherever it
/// looks, and what it says it knows must be in the schema.
async fn a_schema_has_exactly_the_fields_that_the_reader_takes(bed: TestBed) {
    let client = Client::new(&bed).await;
    let document = document();
    let mut compared = 0;
    let mut faults = Vec::new();
    for (method, path, operation) in operations(&document) {
        let what = format!("{method} {path}");
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        if schema.is_null() || LEFT_OUT.contains(&what.as_str()) {
            continue;
        }
        let mut known = Vec::new();
        let body = with_a_stranger(&document, schema, "", &mut known);
        let method: Method = method.to_uppercase().parse().unwrap();
        let reply = client.call(method, &filled(&path), Some(body)).await;
        let errors = reply.body["errors"].as_array().cloned().unwrap_or_default();
        let unknown = errors.iter().filter(|error| error["code"] == "unknown_field");
        for error in unknown {
            let pointer = error["pointer"].as_str().unwrap();
            let Some((_, names)) = known.iter().find(|(at, _)| format!("{at}/{STRANGER}") == pointer) else {
                // What a rule says depends on its `type`, and the example has one of three.
                if !["/at", "/dayOffset", "/timeZone"]
                    .iter()
                    .any(|end| pointer.ends_with(&format!("/rule{end}")))
                {
                    faults.push(format!("{what}: {pointer} is described and not taken"));
                }
                continue;
            };
            // "… is not known here; known are `a`, `b`."
            let detail = error["detail"].as_str().unwrap();
            let said: Vec<&str> = detail.split('`').skip(3).step_by(2).collect();
            for name in said.iter().filter(|name| !names.contains(&(**name).to_owned())) {
                faults.push(format!("{what}: {pointer}: {name} is taken and not described"));
            }
            compared += 1;
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(compared > 40, "only {compared} objects were compared");
}

/// A path with something in every place.
fn filled(path: &str) -> String {
    let filled = path.split('/').map(|part| match part {
        "{scope}" => "business-unit",
        "{key}" => "memory:other",
        part if part.starts_with('{') => "1",
        part => part,
    });
    filled.collect::<Vec<_>>().join("/")
}

const STRANGER: &str = "q0q0q0q0";

/// A value of the schema in which every object has one field more; `known` gets the place and the fields of each.
fn with_a_stranger(
    document: &Value,
    schema: &Value,
    at: &str,
    known: &mut Vec<(String, Vec<String>)>,
) -> Value {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        return with_a_stranger(document, &document["components"]["schemas"][name], at, known);
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        let choice = choices.iter().find(|one| one["type"] != "null" && one["type"] != "boolean");
        let value = with_a_stranger(document, choice.unwrap_or(&choices[0]), at, known);
        // A reader that takes one of several forms knows the fields of all.
        if let Some((_, names)) = known.iter_mut().find(|(place, _)| place == at) {
            let of_all = choices.iter().filter_map(|one| one["properties"].as_object());
            names.extend(of_all.flat_map(Map::keys).cloned());
        }
        return value;
    }
    if let Some(example) = schema.get("example").or_else(|| schema["enum"].get(0)) {
        return example.clone();
    }
    let types = &schema["type"];
    match types.as_str().or_else(|| types[0].as_str()).unwrap_or("string") {
        "object" => {
            let Some(properties) = schema["properties"].as_object() else { return json!({}) };
            known.push((at.to_owned(), properties.keys().cloned().collect()));
            let fields = properties.iter().map(|(name, schema)| {
                (name.clone(), with_a_stranger(document, schema, &format!("{at}/{name}"), known))
            });
            let mut object: Map<String, Value> = fields.collect();
            object.insert(STRANGER.to_owned(), json!(1));
            Value::Object(object)
        }
        "array" => json!([with_a_stranger(document, &schema["items"], &format!("{at}/0"), known)]),
        "integer" | "number" => json!(1),
        "boolean" => json!(true),
        _ if schema["format"] == "date-time" => json!("2030-05-14T07:00:00Z"),
        _ => json!("x"),
    }
}

/// A key that is malformed is refused where the document has the header, and goes unread elsewhere.
async fn the_idempotency_key_is_described_where_it_is_read(bed: TestBed) {
    let client = Client::new(&bed).await;
    let document = document();
    let mut faults = Vec::new();
    for (method, path, operation) in operations(&document).filter(|(method, ..)| method == "post") {
        let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
        let is_described = parameters.iter().any(|one| one["name"] == "Idempotency-Key");
        let headers = [("idempotency-key", "a key"), ("content-type", "application/json")];
        let reply = client.send(Method::POST, &filled(&path), &headers, "{}").await;
        let is_read = reply.body["errors"][0]["pointer"] == "/Idempotency-Key";
        if is_read != is_described {
            faults.push(format!("{method} {path}: described {is_described}, read {is_read}"));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

/// `null` is described where it counts as absent, and only there.
async fn a_field_that_may_be_null_is_taken_as_absent(bed: TestBed) {
    let client = Client::new(&bed).await;
    let document = document();
    let mut faults = Vec::new();
    for (method, path, operation) in operations(&document) {
        let what = format!("{method} {path}");
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        if schema.is_null() || LEFT_OUT.contains(&what.as_str()) || path.contains("sandbox") {
            continue;
        }
        let schema = one_of_many(&document, schema);
        let nulls = schema["properties"].as_object().into_iter().flatten();
        let nulls = nulls.filter(|(_, part)| part.to_string().contains("null")).map(|(name, _)| name.clone());
        let body: Map<String, Value> = nulls.map(|name| (name, Value::Null)).collect();
        let method: Method = method.to_uppercase().parse().unwrap();
        let reply = client.call(method, &filled(&path), Some(body.clone().into())).await;
        let errors = reply.body["errors"].as_array().cloned().unwrap_or_default();
        for error in errors.iter().filter(|error| error["code"] != "missing_field") {
            let pointer = error["pointer"].as_str().unwrap_or_default();
            if body.contains_key(pointer.trim_start_matches('/')) {
                faults.push(format!("{what}: {pointer}: {}", error["detail"]));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

/// The schema of an object, also where an array of them is taken too.
fn one_of_many<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    let schema = schema["oneOf"].get(0).unwrap_or(schema);
    match schema["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
        Some(name) => &document["components"]["schemas"][name],
        None => schema,
    }
}

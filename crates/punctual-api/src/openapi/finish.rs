//! Completes the descriptions of the handlers to the served document.
//!
//! The macros describe each type separately. This module applies the common rules to every route: flattened parts become
//! fields, generic pages refer to their item type, request objects are closed, operations get names, and every response has a
//! description.

use std::collections::{BTreeMap, BTreeSet};

use punctual_wire::limits::BATCH_MAX;
use serde_json::{Map, Value, json};

use super::{adapters, changes, closed, operation_ids::operation_id};

pub const SCHEMAS: &str = "#/components/schemas/";

const METHODS: [&str; 5] = ["get", "put", "post", "delete", "patch"];

/// The document as it is served, made of what the macros say.
pub fn finished(mut document: Value) -> Value {
    document["servers"] = json!([{"url": "/", "description": "The server that this document comes from"}]);
    merge_flattened(&mut document);
    refer_to_equals(&mut document);
    name_generics(&mut document);
    changes::describe_changes(&mut document);
    adapters::describe_settings(&mut document);
    for_each_operation(&mut document, |method, path, operation| {
        complete_responses(operation);
        complete_request(operation);
        operation["operationId"] = operation_id(method, path, is_page(operation)).into();
        // Said, so that nobody takes it for forgotten.
        if operation["security"].is_null() {
            operation["security"] = json!([]);
        }
    });
    closed::close_requests(&mut document);
    drop_unused(&mut document);
    document
}

/// Every operation with its method and path.
pub fn for_each_operation(document: &mut Value, mut each: impl FnMut(&str, &str, &mut Value)) {
    for (path, item) in document["paths"].as_object_mut().into_iter().flatten() {
        for method in METHODS {
            if let Some(operation) = item.get_mut(method) {
                each(method, path, operation);
            }
        }
    }
}

pub fn schemas(document: &Value) -> BTreeMap<String, Value> {
    let schemas = document["components"]["schemas"].as_object().cloned();
    schemas.unwrap_or_default().into_iter().collect()
}

/// This schema and all within it, the inner ones first.
pub fn for_each_schema(value: &mut Value, each: &mut impl FnMut(&mut Map<String, Value>)) {
    let Value::Object(schema) = value else { return };
    for (keyword, part) in schema.iter_mut() {
        match keyword.as_str() {
            "properties" => {
                for part in part.as_object_mut().into_iter().flat_map(Map::values_mut) {
                    for_each_schema(part, each);
                }
            }
            "items" | "additionalProperties" | "propertyNames" | "not" => for_each_schema(part, each),
            "allOf" | "oneOf" | "anyOf" | "prefixItems" => {
                part.as_array_mut().into_iter().flatten().for_each(|part| for_each_schema(part, each));
            }
            _ => {}
        }
    }
    each(schema);
}

/// The name that a schema refers to.
pub fn reference(schema: &Map<String, Value>) -> Option<String> {
    Some(schema.get("$ref")?.as_str()?.strip_prefix(SCHEMAS)?.to_owned())
}

/// Every name that is referred to within.
pub fn references(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            names.extend(reference(object));
            object.values().for_each(|value| references(value, names));
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, names)),
        _ => {}
    }
}

/// The macros write out what a generic type holds; it refers to the schema of that name instead.
fn refer_to_equals(document: &mut Value) {
    let named: BTreeMap<String, String> = schemas(document)
        .into_iter()
        .filter(|(_, schema)| ["properties", "allOf", "oneOf"].iter().any(|word| schema.get(word).is_some()))
        .map(|(name, schema)| (schema.to_string(), name))
        .collect();
    let refer = |own: &str, schema: &mut Value| {
        for_each_schema(schema, &mut |part| {
            let found = named.get(&Value::Object(part.clone()).to_string());
            if let Some(name) = found.filter(|name| *name != own) {
                *part = Map::from_iter([("$ref".to_owned(), format!("{SCHEMAS}{name}").into())]);
            }
        });
    };
    for (own, schema) in document["components"]["schemas"].as_object_mut().into_iter().flatten() {
        refer(own, schema);
    }
    for_each_operation(document, |_, _, operation| for_each_body(operation, |schema| refer("", schema)));
}

/// The schema of every body of an operation, in requests and responses.
fn for_each_body(operation: &mut Value, mut each: impl FnMut(&mut Value)) {
    let mut of_content = |holder: &mut Value| {
        for content in holder["content"].as_object_mut().into_iter().flat_map(Map::values_mut) {
            each(&mut content["schema"]);
        }
    };
    if let Some(body) = operation.get_mut("requestBody") {
        of_content(body);
    }
    for response in operation["responses"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        if response.get("content").is_some() {
            of_content(response);
        }
    }
}

/// A part that is flattened is described as `allOf`, which no closed object can be: its fields become those of the whole.
fn merge_flattened(document: &mut Value) {
    let before = schemas(document);
    let mut merge = |schema: &mut Value| {
        for_each_schema(schema, &mut |schema| {
            if schema.contains_key("allOf") {
                *schema = merged(schema, &before);
            }
        });
    };
    document["components"]["schemas"]
        .as_object_mut()
        .into_iter()
        .flat_map(Map::values_mut)
        .for_each(&mut merge);
    for_each_operation(document, |_, _, operation| for_each_body(operation, &mut merge));
}

fn merged(schema: &Map<String, Value>, named: &BTreeMap<String, Value>) -> Map<String, Value> {
    let Some(parts) = schema.get("allOf").and_then(Value::as_array) else { return schema.clone() };
    let (mut properties, mut required) = (Map::new(), BTreeSet::new());
    let mut whole: Map<String, Value> = schema
        .iter()
        .filter(|(keyword, _)| *keyword != "allOf")
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    for part in parts.iter().filter_map(Value::as_object) {
        let part = reference(part).and_then(|name| named.get(&name)?.as_object()).unwrap_or(part);
        let part = merged(part, named);
        properties.extend(part.get("properties").and_then(Value::as_object).cloned().unwrap_or_default());
        let names = part.get("required").and_then(Value::as_array);
        required.extend(names.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned));
    }
    whole.insert("type".to_owned(), "object".into());
    whole.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        whole.insert("required".to_owned(), required.into_iter().collect::<Vec<_>>().into());
    }
    whole
}

/// `Page_Notification` as `NotificationPage`.
fn name_generics(document: &mut Value) {
    let Some(schemas) = document["components"]["schemas"].as_object_mut() else { return };
    let renamed = std::mem::take(schemas).into_iter().map(|(name, schema)| (readable(&name), schema));
    *schemas = renamed.collect();
    rename_references(document);
}

fn rename_references(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if let Some(name) = reference(object) {
                object.insert("$ref".to_owned(), format!("{SCHEMAS}{}", readable(&name)).into());
            }
            object.values_mut().for_each(rename_references);
        }
        Value::Array(values) => values.iter_mut().for_each(rename_references),
        _ => {}
    }
}

fn readable(name: &str) -> String {
    match name.split_once('_') {
        Some((generic, "BatchItem")) => generic.to_owned() + "Result",
        Some((generic, of)) => of.to_owned() + generic,
        None => name.to_owned(),
    }
}

/// Whether what comes back is a page.
fn is_page(operation: &Value) -> bool {
    let schema = &operation["responses"]["200"]["content"]["application/json"]["schema"];
    schema["$ref"].as_str().is_some_and(|name| name.ends_with("Page"))
}

fn complete_responses(operation: &mut Value) {
    for (status, response) in operation["responses"].as_object_mut().into_iter().flatten() {
        let said = response["description"].as_str().is_some_and(|text| !text.is_empty());
        if !said {
            // tidy-allow: a status of HTTP, a key of the document
            response["description"] = match status.as_str() {
                "201" => "What was created",
                "202" => "Accepted; it is carried out later",
                "204" => "Done; there is nothing to return",
                _ => "What was asked for",
            }
            .into();
        }
        let contents = response.get_mut("content").and_then(Value::as_object_mut);
        for (kind, content) in contents.into_iter().flatten() {
            complete_bytes(kind, content);
        }
    }
}

/// The macros know bytes as an array of numbers.
fn complete_bytes(kind: &str, content: &mut Value) {
    if !kind.contains("json") && content["schema"]["type"] == "array" {
        content["schema"] = json!({"type": "string", "format": "binary"});
    }
}

/// A body that may be left out is described as one that may be `null`, which none may be. One that is an array has the bound of
/// all batches.
fn complete_request(operation: &mut Value) {
    let Some(body) = operation.get_mut("requestBody") else { return };
    for (kind, content) in body["content"].as_object_mut().into_iter().flatten() {
        complete_bytes(kind, content);
        if content["schema"]["type"] == "array" {
            content["schema"]["maxItems"] = BATCH_MAX.into();
        }
        let Some(choices) = content["schema"].get_mut("oneOf").and_then(Value::as_array_mut) else {
            continue;
        };
        for choice in choices.iter_mut().filter(|choice| choice["type"] == "array") {
            choice["maxItems"] = BATCH_MAX.into();
        }
        let bodies: Vec<Value> = choices.iter().filter(|choice| choice["type"] != "null").cloned().collect();
        if let [only] = &bodies[..] {
            content["schema"] = only.clone();
        }
    }
}

/// What was merged or has two forms may have left schemas that nothing refers to.
fn drop_unused(document: &mut Value) {
    loop {
        let mut used = BTreeSet::new();
        references(&document["paths"], &mut used);
        references(&document["components"], &mut used);
        let Some(schemas) = document["components"]["schemas"].as_object_mut() else { return };
        let before = schemas.len();
        schemas.retain(|name, _| used.contains(name));
        if schemas.len() == before {
            return;
        }
    }
}

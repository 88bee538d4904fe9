//! Request objects are closed and responses stay open.
//!
//! Every object in a request accepts only the fields of its reader, like the reader itself (`punctual_wire::Fields`). This
//! applies to all request schemas automatically. A schema shared by requests and responses has two forms: the closed one gets
//! the suffix `Input`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::changes::make_nullable;
use super::finish::{SCHEMAS, for_each_operation, for_each_schema, reference, references};

/// What others put fields of their own into: their readers are open.
const OPEN: [&str; 5] = ["EventRequest", "SiteHandOver", "SiteItem", "SiteReport", "SiteEvent"];

/// Fields where `null` would say something else than absent: an empty state of a source.
const NEVER_NULL: [&str; 1] = ["state"];

pub fn close_requests(document: &mut Value) {
    let schemas: BTreeMap<String, Value> = super::finish::schemas(document);
    let (mut of_requests, mut of_responses) = (BTreeSet::new(), BTreeSet::new());
    for_each_operation(document, |_, _, operation| {
        references(&operation["requestBody"], &mut of_requests);
        references(&operation["responses"], &mut of_responses);
    });
    let of_requests = reachable(&schemas, of_requests);
    let of_responses = reachable(&schemas, of_responses);
    let changing = changed_by_closing(&schemas, &of_requests);
    let name_of = |name: &str| match changing.contains(name) && of_responses.contains(name) {
        true => format!("{name}Input"),
        false => name.to_owned(),
    };
    let renamed = |value: &mut Value| {
        for_each_schema(value, &mut |schema| {
            if let Some(name) = reference(schema) {
                schema.insert("$ref".to_owned(), format!("{SCHEMAS}{}", name_of(&name)).into());
            }
        });
    };
    for name in &changing {
        let mut closed = schemas[name].clone();
        close(&mut closed, OPEN.contains(&name.as_str()));
        renamed(&mut closed);
        document["components"]["schemas"][name_of(name)] = closed;
    }
    for_each_operation(document, |_, _, operation| {
        if let Some(body) = operation.get_mut("requestBody") {
            for content in body["content"].as_object_mut().into_iter().flat_map(Map::values_mut) {
                renamed(&mut content["schema"]);
            }
        }
    });
}

/// Closes each object with fields of its own. One without is data that is kept as it is.
fn close(schema: &mut Value, is_open: bool) {
    for_each_schema(schema, &mut |schema| {
        if is_closable(schema) {
            allow_null(schema);
            if !is_open {
                schema.insert("additionalProperties".to_owned(), json!(false));
            }
        }
    });
}

/// The reader takes `null` as absent, so every field that may be absent may be null.
fn allow_null(schema: &mut Map<String, Value>) {
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    for (name, part) in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        if !required.contains(&name.as_str().into()) && !NEVER_NULL.contains(&name.as_str()) {
            make_nullable(part);
        }
    }
}

fn is_closable(schema: &Map<String, Value>) -> bool {
    schema.contains_key("properties") && !schema.contains_key("additionalProperties")
}

/// The schemas among these that are others once they are closed: themselves, or something that they refer to.
fn changed_by_closing(schemas: &BTreeMap<String, Value>, among: &BTreeSet<String>) -> BTreeSet<String> {
    let mut changed: BTreeSet<String> = among
        .iter()
        .filter(|name| {
            let mut closed = schemas[*name].clone();
            close(&mut closed, OPEN.contains(&name.as_str()));
            closed != schemas[*name]
        })
        .cloned()
        .collect();
    loop {
        let refers = |name: &&String| {
            let mut to = BTreeSet::new();
            references(&schemas[*name], &mut to);
            !changed.contains(*name) && to.iter().any(|name| changed.contains(name))
        };
        let more: Vec<String> = among.iter().filter(refers).cloned().collect();
        if more.is_empty() {
            return changed;
        }
        changed.extend(more);
    }
}

fn reachable(schemas: &BTreeMap<String, Value>, from: BTreeSet<String>) -> BTreeSet<String> {
    let mut found = from.clone();
    let mut next: Vec<String> = from.into_iter().collect();
    while let Some(name) = next.pop() {
        let mut to = BTreeSet::new();
        if let Some(schema) = schemas.get(&name) {
            references(schema, &mut to);
        }
        next.extend(to.difference(&found).cloned());
        found.extend(to);
    }
    found
}

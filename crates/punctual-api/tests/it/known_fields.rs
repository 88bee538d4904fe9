//! A refusal of an unknown name lists what is known there: exactly what the document says of that place. The places come from the
//! document, so that a new route is among them by itself.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::Method;
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::Client,
    closed_requests::{Step, there, with_unknown},
    matrix::everything_of_de,
    sites::site,
};

on_both! {
    a_refused_field_names_exactly_the_fields_of_the_document;
    a_refused_parameter_names_exactly_the_parameters_of_the_document;
}

/// What the objects at the end of a way may have: one set for each shape that the document allows there.
type Shapes = BTreeMap<Vec<Step>, BTreeSet<BTreeSet<String>>>;

fn shapes(document: &Value, schema: &Value, way: &[Step], found: &mut Shapes) {
    if way.len() > 3 {
        return;
    }
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
        return shapes(document, &document["components"]["schemas"][name], way, found);
    }
    for variant in ["oneOf", "anyOf", "allOf"].iter().filter_map(|word| schema[*word].as_array()).flatten() {
        shapes(document, variant, way, found);
    }
    let further = |step: Step| -> Vec<Step> { way.iter().cloned().chain([step]).collect() };
    if schema["items"].is_object() {
        shapes(document, &schema["items"], &further(Step::Item), found);
    }
    let properties = schema["properties"].as_object();
    if schema["additionalProperties"] == false {
        let names = properties.into_iter().flat_map(|all| all.keys().cloned()).collect();
        found.entry(way.to_vec()).or_default().insert(names);
    }
    for (name, property) in properties.into_iter().flatten() {
        shapes(document, property, &further(Step::Field(name.clone())), found);
    }
}

/// The names that a refusal of the unknown field lists, if it is refused.
fn listed(reply: &Value) -> Option<BTreeSet<String>> {
    match reply {
        Value::Array(items) => items.iter().find_map(listed),
        Value::Object(fields) => {
            let is_it = reply["code"] == "unknown_field"
                && reply["pointer"].as_str().is_some_and(|at| at.ends_with("/certainlyNotKnown"));
            let detail = reply["detail"].as_str().filter(|_| is_it);
            detail.map(names).or_else(|| fields.values().find_map(listed))
        }
        _ => None,
    }
}

/// The names in backticks behind `known are`.
fn names(detail: &str) -> BTreeSet<String> {
    let known = detail.split_once("known are ").map(|(_, known)| known);
    known.into_iter().flat_map(|known| known.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

/// Whether the document has these fields there: one shape, all shapes of a place that is distinguished by which field it has, or, where
/// a `type` decides, those of the type.
fn is_described(known: &BTreeSet<String>, shapes: &BTreeSet<BTreeSet<String>>) -> bool {
    let all: BTreeSet<String> = shapes.iter().flatten().cloned().collect();
    let is_of_a_type = shapes.len() == 1 && known.contains("type") && known.is_subset(&all);
    shapes.contains(known) || *known == all || is_of_a_type
}

/// Some places are refused for another fault first; so many at least are refused for the name.
const LOOKED_AT: usize = 120;

async fn a_refused_field_names_exactly_the_fields_of_the_document(bed: TestBed) {
    let client = Client::new(&bed).await;
    let places = everything_of_de(&bed, &client).await;
    let plant = site(&client, "plant-nz").await;
    let document = serde_json::to_value(punctual_api::document()).unwrap();
    let (mut wrong, mut looked_at) = (Vec::new(), 0);
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let content = &operation["requestBody"]["content"]["application/json"];
            let mut found = Shapes::new();
            shapes(&document, &content["schema"], &[], &mut found);
            let caller = if path == "/api/v1/sites/{site}/notifications" { &plant } else { &client };
            for (way, shapes) in found {
                let example = if way.is_empty() { json!({}) } else { content["example"].clone() };
                let (body, _) = with_unknown(example, &way);
                let target: Method = method.to_uppercase().parse().unwrap();
                let reply = caller.call(target, &there(path, &places), Some(body)).await;
                let Some(known) = listed(&reply.body) else { continue };
                looked_at += 1;
                if !is_described(&known, &shapes) {
                    wrong.push(format!(
                        "{method} {path} {way:?}: named {known:?}\n  of {shapes:?}\n  in {}",
                        reply.text
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {looked_at}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(looked_at >= LOOKED_AT, "{looked_at}");
    bed.leaves_open("only the response matters");
}

async fn a_refused_parameter_names_exactly_the_parameters_of_the_document(bed: TestBed) {
    let client = Client::new(&bed).await;
    let document = serde_json::to_value(punctual_api::document()).unwrap();
    let mut looked_at = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        // Providers choose what their calls end in.
        for (method, operation) in item.as_object().unwrap().iter().filter(|_| !path.contains("/callbacks/"))
        {
            let target: Method = method.to_uppercase().parse().unwrap();
            let path = path.replace("{scope}", "business-unit");
            let uri = format!("{}?certainlyNotKnown=1", there(&path, &BTreeMap::new()));
            let reply = client.call(target, &uri, None).await;
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let of_query = parameters.filter(|parameter| parameter["in"] == "query");
            let wanted: BTreeSet<String> =
                of_query.map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect();
            assert_eq!(listed(&reply.body), Some(wanted), "{method} {path}: {}", reply.text);
            looked_at += 1;
        }
    }
    assert!(looked_at > 100, "{looked_at}");
}

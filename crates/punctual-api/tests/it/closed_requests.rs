//! Names that a route does not know are refused, in bodies and in queries. The routes come from the document, so that a new one
//! is among them by itself.

use std::collections::BTreeSet;

use axum::http::Method;
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::{Client, Reply},
    matrix::{Places, everything_of_de},
    sites::site,
};

on_both! {
    a_parameter_that_no_route_knows_is_refused_on_every_route;
    a_field_that_no_object_of_a_body_knows_is_refused_on_every_route;
    a_misspelt_name_gets_the_nearest_that_is_known;
    what_others_put_their_own_fields_into_stays_open;
    dates_far_away_are_refused_and_nothing_panics;
}

/// Each operation of the document: method, path with every segment filled in, and the operation.
fn operations() -> Vec<(Method, String, Value)> {
    let document = serde_json::to_value(punctual_api::document()).unwrap();
    let mut all = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let path: Vec<&str> = path
                .split('/')
                .map(|part| match part {
                    "{scope}" => "business-unit",
                    "{key}" => "memory:other",
                    part if part.starts_with('{') => "1",
                    part => part,
                })
                .collect();
            let method = method.to_uppercase().parse().unwrap();
            all.push((method, path.join("/"), operation.clone()));
        }
    }
    assert!(all.len() > 100);
    all
}

async fn a_parameter_that_no_route_knows_is_refused_on_every_route(bed: TestBed) {
    let client = Client::new(&bed).await;
    for (method, path, _) in operations() {
        // Providers choose what their calls end in.
        if path.starts_with("/api/v1/callbacks/") {
            continue;
        }
        let reply = client.call(method.clone(), &format!("{path}?certainlyNotKnown=1"), None).await;
        assert_eq!(reply.status, 422, "{method} {path}: {}", reply.text);
        assert_eq!(reply.body["errors"][0]["pointer"], "/certainlyNotKnown", "{method} {path}");
        assert_eq!(reply.body["errors"][0]["code"], "unknown_field", "{method} {path}");
    }
    // The addresses that other systems know take what the described ones take.
    let known = "/report-subscriptions/1/automation-runs";
    client.get(&format!("{known}?stauts=1")).await.refused(422, "unknown_field");
}

/// The one route whose whole body is others': attributes of events.
const OPEN: [&str; 1] = ["post /api/v1/events"];
/// What holds fields of others, wherever it is.
const OTHERS: [&str; 6] = ["state", "payload", "typeData", "context", "data", "answers"];

/// A step from a body to an object inside it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    Field(String),
    Item,
}

/// Every object of a request that the document calls closed, by the way to it.
fn closed_objects(document: &Value, schema: &Value, way: &[Step], found: &mut BTreeSet<Vec<Step>>) {
    // Conditions are made of conditions; three levels of anything are enough.
    if way.len() > 5 {
        return;
    }
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
        return closed_objects(document, &document["components"]["schemas"][name], way, found);
    }
    for variant in ["oneOf", "anyOf", "allOf"].iter().filter_map(|word| schema[*word].as_array()).flatten() {
        closed_objects(document, variant, way, found);
    }
    if schema["items"].is_object() {
        let way: Vec<Step> = way.iter().cloned().chain([Step::Item]).collect();
        closed_objects(document, &schema["items"], &way, found);
    }
    if schema["additionalProperties"] == false {
        found.insert(way.to_vec());
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if !OTHERS.contains(&name.as_str()) {
            let way: Vec<Step> = way.iter().cloned().chain([Step::Field(name.clone())]).collect();
            closed_objects(document, property, &way, found);
        }
    }
}

/// The body with a field that nobody knows in the object at the end of this way; what is missing on the way is made.
pub fn with_unknown(mut body: Value, way: &[Step]) -> Value {
    let mut at = &mut body;
    for step in way {
        at = match step {
            Step::Field(name) => {
                if !at.is_object() {
                    *at = json!({});
                }
                &mut at[name.as_str()]
            }
            Step::Item => {
                if at.as_array().is_none_or(Vec::is_empty) {
                    *at = json!([{}]);
                }
                &mut at[0]
            }
        };
    }
    if !at.is_object() {
        *at = json!({});
    }
    at["certainlyNotKnown"] = json!(1);
    body
}

/// The routes come from the document, and what they are about is there: a route that looks first has something to find.
async fn a_field_that_no_object_of_a_body_knows_is_refused_on_every_route(bed: TestBed) {
    let client = Client::new(&bed).await;
    let places = everything_of_de(&bed, &client).await;
    let plant = site(&client, "plant-nz").await;
    let document = serde_json::to_value(punctual_api::document()).unwrap();
    let (mut open, mut taken, mut refused_for_it, mut refused_before) =
        (Vec::new(), Vec::new(), 0, Vec::new());
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let what = format!("{method} {path}");
            let content = &operation["requestBody"]["content"]["application/json"];
            if content.is_null() {
                continue;
            }
            let mut objects = BTreeSet::new();
            closed_objects(&document, &content["schema"], &[], &mut objects);
            if !objects.contains(&Vec::new()) {
                open.push(what.clone());
            }
            let caller = if path == "/api/v1/sites/{site}/notifications" { &plant } else { &client };
            let target = there(path, &places);
            for way in objects {
                let example = if way.is_empty() { json!({}) } else { content["example"].clone() };
                let body = with_unknown(example, &way);
                let method: Method = method.to_uppercase().parse().unwrap();
                let reply = caller.call(method, &target, Some(body.clone())).await;
                let said = format!("{what} {way:?}: {} {} for {body}", reply.status, reply.text);
                match names_unknown(&reply) {
                    true => refused_for_it += 1,
                    // Where the document has no example that is right in all else, another fault is named first.
                    false if (400..500).contains(&reply.status) => refused_before.push(said),
                    false => taken.push(said),
                }
            }
        }
    }
    assert_eq!(open, OPEN, "of these routes the body itself is open");
    assert!(taken.is_empty(), "{}:\n{}", taken.len(), taken.join("\n"));
    assert!(
        refused_for_it >= 140,
        "{refused_for_it}; refused for another fault: {}",
        refused_before.join("\n")
    );
    bed.leaves_open("only what is stored matters");
}

/// The path of something that is there, where the matrix has one.
pub fn there(path: &str, places: &Places) -> String {
    let segments: Vec<&str> = path.split('/').collect();
    let filled = segments.iter().enumerate().map(|(at, segment)| {
        let before = at.checked_sub(1).map_or("", |at| segments[at]);
        match places.get(format!("{before}/{segment}").as_str()) {
            Some((one, _)) => one.clone(),
            None if *segment == "{key}" => "memory:other".to_owned(),
            None if segment.starts_with('{') => "1".to_owned(),
            None => (*segment).to_owned(),
        }
    });
    filled.collect::<Vec<_>>().join("/")
}

/// Whether an answer, or one item of it, says that the field is not known, and where.
fn names_unknown(reply: &Reply) -> bool {
    fn within(value: &Value) -> bool {
        let names = |error: &Value| {
            let pointer = error["pointer"].as_str().unwrap_or_default();
            error["code"] == "unknown_field" && pointer.ends_with("/certainlyNotKnown")
        };
        match value {
            Value::Array(items) => items.iter().any(within),
            Value::Object(fields) => names(value) || fields.values().any(within),
            _ => false,
        }
    }
    within(&reply.body)
}

async fn a_misspelt_name_gets_the_nearest_that_is_known(bed: TestBed) {
    let client = Client::new(&bed).await;
    let message = |name: &str, value: Value| {
        let mut body = json!({"targets": ["x"], "channel": "memory:default", "subject": "S", "body": "B"});
        body[name] = value;
        body
    };
    for (name, nearest) in [("chanel", "channel"), ("Priority", "priority"), ("busnessUnit", "businessUnit")]
    {
        let body = client.post("/api/v1/notifications", message(name, json!("x"))).await;
        let body = body.refused(422, "unknown_field");
        assert_eq!(body["errors"][0]["pointer"], format!("/{name}"));
        let detail = body["errors"][0]["detail"].as_str().unwrap();
        assert!(detail.contains(&format!("did you mean `{nearest}`")), "{detail}");
    }
    let mut later = message("recipients", json!([]));
    later["sendAt"] = json!("2030-05-14T07:00:00Z");
    client.post("/api/v1/messages", later).await.refused(422, "unknown_field");
    // In a batch only the item at fault is refused.
    let batch = json!([message("topic", json!("t")), message("chanel", json!("memory:default"))]);
    let items = client.post("/api/v1/notifications", batch).await.expect(200);
    assert_eq!(items["items"][0]["outcome"], "created");
    assert_eq!(items["items"][1]["error"]["code"], "unknown_field");
    let body = client.get("/api/v1/notifications?stauts=parked").await.refused(422, "unknown_field");
    assert!(body["detail"].as_str().unwrap().contains("did you mean `status`"), "{body}");
    assert_eq!(bed.notifications().await.len(), 1);
    bed.leaves_open("only what is stored matters");
}

async fn what_others_put_their_own_fields_into_stays_open(bed: TestBed) {
    let client = Client::new(&bed).await;
    let event = json!({"specversion": "1.0", "id": "1", "source": "/s", "type": "source.changed",
                       "subject": "document/42", "sequence": "1", "traceparent": "00-1",
                       "data": {"active": true, "state": {"anything": {"at": "all"}}}});
    let headers = [("content-type", "application/cloudevents+json")];
    let reply = client.send(Method::POST, "/api/v1/events", &headers, event.to_string()).await;
    assert_eq!(reply.expect(200)["items"][0]["outcome"], "accepted");
    let source = json!({"active": true, "state": {"anything": 1}});
    client.put("/api/v1/sources/document/43", source).await.expect(200);
    client.put("/api/v1/sources/document/43", json!({"stat": {}})).await.refused(422, "unknown_field");
}

async fn dates_far_away_are_refused_and_nothing_panics(bed: TestBed) {
    let client = Client::new(&bed).await;
    for far in ["9999-12-31", "0001-01-01", "2201-01-01", "1899-12-31"] {
        for edge in ["from", "to"] {
            let path = format!("/api/v1/forecast?{edge}={far}");
            let body = client.get(&path).await.refused(422, "date_out_of_range");
            assert_eq!(body["errors"][0]["pointer"], format!("/{edge}"));
        }
        let path = format!("/api/v1/why?sourceType=document&sourceId=1&date={far}");
        client.get(&path).await.refused(422, "date_out_of_range");
    }
    client.get("/api/v1/forecast?to=9999-12-31T00:00:00Z").await.refused(422, "date_out_of_range");
    client.get("/api/v1/notifications?from=9999-12-31T23:59:59Z").await.refused(422, "date_out_of_range");
    for edge in ["1900-01-01", "2200-12-31"] {
        let path = format!("/api/v1/forecast?from={edge}&to={edge}");
        client.get(&path).await.expect(200);
    }
    let message = json!({"targets": ["x"], "channel": "memory:default", "subject": "S", "body": "B",
                         "sendAt": "9999-12-31T23:59:59Z"});
    client.post("/api/v1/messages", message).await.refused(422, "date_out_of_range");
}

//! Names that a route does not know are refused, in bodies and in queries. The routes come from the document, so that a new one
//! is among them by itself.

use std::collections::BTreeSet;

use axum::http::Method;
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::{Client, Reply},
    consumers::with_every_adapter,
    matrix::{Places, everything_of_de},
    reminders::{first_aid, put_source, setting},
    sites::site,
    surveys::{csi_gr, ingest, visit},
};

on_both! {
    a_parameter_that_no_route_knows_is_refused_on_every_route;
    a_field_that_no_object_of_a_body_knows_is_refused_on_every_route with with_every_adapter;
    a_field_that_no_part_of_a_definition_knows_is_refused;
    a_definition_with_an_unknown_part_of_before_is_changed_all_the_same;
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

/// The routes whose whole body is open: attributes of events, and what a site agent of another version hands over.
const OPEN: [&str; 2] = ["post /api/v1/events", "post /api/v1/sites/{site}/notifications"];
/// What holds fields of others, wherever it is.
const OTHERS: [&str; 6] = ["state", "payload", "typeData", "context", "data", "answers"];

/// A step from a body to an object inside it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    Field(String),
    Item,
    /// Under a name of the caller's choice.
    Any,
}

/// A closed object of a request: the way to it, and the adapter whose settings it is among.
type Place = (Vec<Step>, Option<String>);

/// Every object of a request that the document calls closed.
fn closed_objects(document: &Value, schema: &Value, (way, adapter): &Place, found: &mut BTreeSet<Place>) {
    // Conditions are made of conditions; three levels of anything are enough.
    if way.len() > 5 {
        return;
    }
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
        let place = &(way.clone(), adapter.clone());
        return closed_objects(document, &document["components"]["schemas"][name], place, found);
    }
    let adapter = schema["x-adapter"].as_str().map(str::to_owned).or_else(|| adapter.clone());
    for variant in ["oneOf", "anyOf", "allOf"].iter().filter_map(|word| schema[*word].as_array()).flatten() {
        closed_objects(document, variant, &(way.clone(), adapter.clone()), found);
    }
    if schema["additionalProperties"] == false {
        found.insert((way.clone(), adapter.clone()));
    }
    let mut within = |step: Step, part: &Value| {
        let way = way.iter().cloned().chain([step]).collect();
        closed_objects(document, part, &(way, adapter.clone()), found);
    };
    if schema["items"].is_object() {
        within(Step::Item, &schema["items"]);
    }
    if schema["additionalProperties"].is_object() {
        within(Step::Any, &schema["additionalProperties"]);
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if !OTHERS.contains(&name.as_str()) {
            within(Step::Field(name.clone()), property);
        }
    }
}

/// The body with a field that nobody knows in the object at the end of this way, and the pointer to that field. What is missing
/// on the way is made.
pub fn with_unknown(mut body: Value, way: &[Step]) -> (Value, String) {
    let (mut at, mut pointer) = (&mut body, String::new());
    for step in way {
        let name = match step {
            Step::Field(name) => name.clone(),
            Step::Any => {
                let known = at.as_object().and_then(|object| object.keys().next().cloned());
                known.unwrap_or_else(|| name_within(&pointer).to_owned())
            }
            Step::Item => "0".to_owned(),
        };
        pointer = format!("{pointer}/{name}");
        at = match step {
            // A body may be one or many.
            Step::Item if at.is_object() => {
                *at = json!([at.take()]);
                &mut at[0]
            }
            Step::Item => {
                if at.as_array().is_none_or(Vec::is_empty) {
                    *at = json!([{}]);
                }
                &mut at[0]
            }
            _ => {
                if !at.is_object() {
                    *at = json!({});
                }
                &mut at[name.as_str()]
            }
        };
    }
    if !at.is_object() {
        *at = json!({});
    }
    at["certainlyNotKnown"] = json!(1);
    (body, format!("{pointer}/certainlyNotKnown"))
}

/// A name that is right among the things at this pointer.
fn name_within(pointer: &str) -> &'static str {
    match pointer.rsplit('/').next() {
        Some("channels" | "subscribers" | "consumers") => "email:default",
        Some("delivery-policy") => "default",
        Some("report-subscriptions" | "reminder-settings") => "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071",
        _ => "en",
    }
}

/// What the document says to start from: the example of the route, with the settings of the adapter in question.
fn example(document: &Value, content: &Value, (way, adapter): &Place) -> Value {
    let mut body = content["example"].clone();
    if let Some(adapter) = adapter {
        let settings = way.iter().position(|step| *step == Step::Field("settings".into())).unwrap();
        let holder = way[..settings].iter().fold(&mut body, |at, step| match step {
            Step::Field(name) => &mut at[name.as_str()],
            _ => &mut at["email:default"],
        });
        let consumes =
            way.contains(&Step::Field("consumers".into())) || content["schema"]["$ref"] == CONSUMER;
        let of_adapter = |(name, schema): &(&String, &Value)| {
            schema["x-adapter"] == *adapter && name.ends_with("ConsumerSettings") == consumes
        };
        let mut schemas = document["components"]["schemas"].as_object().unwrap().iter();
        let (_, schema) = schemas.find(of_adapter).unwrap();
        holder["adapter"] = json!(adapter);
        holder["settings"] = schema["example"].clone();
    }
    body
}

const CONSUMER: &str = "#/components/schemas/ConsumerRequest";

/// The routes come from the document, and what they are about is there: a route that looks first has something to find. Each
/// refusal names the field by its place, whatever else is missing.
async fn a_field_that_no_object_of_a_body_knows_is_refused_on_every_route(bed: TestBed) {
    let client = Client::new(&bed).await;
    let places = everything_of_de(&bed, &client).await;
    let plant = site(&client, "plant-nz").await;
    let asked = ingest(&client, json!([visit("40956")])).await;
    let link = asked["items"][0]["instances"][0]["publicId"].as_str().unwrap();
    let document = serde_json::to_value(punctual_api::document()).unwrap();
    let (mut open, mut unnamed, mut tried) = (Vec::new(), Vec::new(), 0);
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let what = format!("{method} {path}");
            let content = &operation["requestBody"]["content"]["application/json"];
            if content.is_null() {
                continue;
            }
            let mut objects = BTreeSet::new();
            closed_objects(&document, &content["schema"], &(Vec::new(), None), &mut objects);
            if !objects.contains(&(Vec::new(), None)) {
                open.push(what.clone());
            }
            let caller = if path == "/api/v1/sites/{site}/notifications" { &plant } else { &client };
            let target = there(&path.replace("{publicId}", link), &places);
            for place in objects {
                let (body, pointer) = with_unknown(example(&document, content, &place), &place.0);
                let method: Method = method.to_uppercase().parse().unwrap();
                let reply = caller.call(method, &target, Some(body.clone())).await;
                tried += 1;
                if !names_unknown(&reply, &pointer) {
                    unnamed.push(format!("{what} {pointer}: {} {} for {body}", reply.status, reply.text));
                }
            }
        }
    }
    assert_eq!(open, OPEN, "of these routes the body itself is open");
    assert!(unnamed.is_empty(), "{} of {tried}:\n{}", unnamed.len(), unnamed.join("\n"));
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

/// Whether an answer, or one item of it, says that the field at this pointer is not known.
fn names_unknown(reply: &Reply, pointer: &str) -> bool {
    fn within(value: &Value, pointer: &str) -> bool {
        match value {
            Value::Array(items) => items.iter().any(|item| within(item, pointer)),
            Value::Object(fields) => {
                (value["code"] == "unknown_field" && value["pointer"] == *pointer)
                    || fields.values().any(|field| within(field, pointer))
            }
            _ => false,
        }
    }
    within(&reply.body, pointer)
}

/// Parts of definitions that providers read, which the document describes in words alone.
async fn a_field_that_no_part_of_a_definition_knows_is_refused(bed: TestBed) {
    let client = Client::new(&bed).await;
    let threshold = |metric: Value| {
        first_aid(|body| {
            body["kind"] = json!("threshold");
            body["date"] = json!(null);
            body["threshold"] =
                json!({ "metric": metric, "op": ">=", "value": 9, "firingPolicy": "FalseToTrue" });
        })
    };
    let counted = json!({ "sourceType": "booking", "parentField": "/classId", "where": { "questionId": "state.a", "op": "exists" } });
    let sum = json!({ "sum": { "sourceType": "order", "parentField": "/c", "field": "/amount" } });
    let subscription = |source: Value| {
        json!({ "name": "W", "cadence": { "cron": "0 8 * * MON", "timeZone": "UTC" }, "recipients": { "addresses": ["a@b.example"] }, "channel": "email:default",
            "report": { "source": source, "chart": { "kind": "bar", "x": "a", "y": ["b"] }, "columns": [{ "name": "a" }] } })
    };
    let looked_up = first_aid(|body| {
        body["recipients"] =
            json!({ "lookup": { "sourceType": "person", "idField": "/ownerId", "field": "/email" } });
    });
    let (reminders, reports) = ("/api/v1/reminder-settings", "/api/v1/report-subscriptions");
    let cases = [
        (reminders, threshold(json!({ "field": "/a" })), "/threshold/metric"),
        (reminders, threshold(json!({ "count": counted })), "/threshold/metric"),
        (reminders, threshold(json!({ "count": counted })), "/threshold/metric/count"),
        (reminders, threshold(json!({ "count": counted })), "/threshold/metric/count/where"),
        (reminders, threshold(sum.clone()), "/threshold/metric/sum"),
        (reminders, threshold(json!({ "share": [sum, "/limit"] })), "/threshold/metric/share/0/sum"),
        (reminders, looked_up, "/recipients/lookup"),
        (reminders, first_aid(|_| {}), "/filter"),
        (reports, subscription(json!({ "builtin": "delivery-kpis" })), "/report/source"),
        (reports, subscription(json!({ "builtin": "survey-results", "survey": 1 })), "/report/source"),
        (reports, subscription(json!({ "builtin": "delivery-kpis" })), "/report/chart"),
        (reports, subscription(json!({ "builtin": "delivery-kpis" })), "/report/columns/0"),
    ];
    for (path, mut body, at) in cases {
        client.post(path, body.clone()).await.expect(201);
        body.pointer_mut(at).unwrap()["certainlyNotKnown"] = json!(1);
        let refused = client.post(path, body).await;
        let pointer = format!("{at}/certainlyNotKnown");
        assert!(refused.status == 422 && names_unknown(&refused, &pointer), "{pointer}: {}", refused.text);
    }
    let text = subscription(json!({ "builtin": "survey-results", "survey": "1" }));
    client.post(reports, text).await.refused(422, "wrong_type");
    // A survey is checked when it is published.
    let mut schema = csi_gr();
    schema["triggers"][0]["subscribers"] = json!([{ "key": "webhook:bi" }]);
    for at in [
        "",
        "/questions/0",
        "/questions/1/options/0",
        "/triggers/0",
        "/triggers/0/schedule",
        "/triggers/0/subscribers/0",
    ] {
        let mut schema = schema.clone();
        schema.pointer_mut(at).unwrap()["certainlyNotKnown"] = json!(1);
        let made = client.post("/api/v1/surveys", json!({ "name": "S", "schema": schema })).await.expect(201);
        let refused = client.post(&format!("/api/v1/surveys/{}/publish", made["id"]), json!({})).await;
        let pointer = format!("/schema{at}/certainlyNotKnown");
        assert!(refused.status == 422 && names_unknown(&refused, &pointer), "{pointer}: {}", refused.text);
    }
    bed.leaves_open("what was defined is not due");
}

/// What an earlier version took stays in force, and is no reason to refuse another change.
async fn a_definition_with_an_unknown_part_of_before_is_changed_all_the_same(bed: TestBed) {
    let client = Client::new(&bed).await;
    let id = setting(
        &client,
        first_aid(|body| {
            body["kind"] = json!("threshold");
            body["date"] = json!(null);
            body["filter"] = json!(null);
            body["threshold"] =
                json!({ "metric": { "field": "/a" }, "op": ">=", "value": 9, "firingPolicy": "FalseToTrue" });
        }),
    )
    .await;
    // tidy-allow: a row of an earlier version
    let table = "UPDATE reminder_settings SET definition = replace(definition, '{\"field\":\"/a\"}', '{\"field\":\"/a\",\"were\":1}')";
    bed.behind_the_store(table, table).await;
    let path = format!("/api/v1/reminder-settings/{id}");
    let shown = client.get(&path).await.expect(200);
    assert_eq!(shown["threshold"]["metric"]["were"], 1, "{shown}");
    client.patch(&path, json!({ "name": "Other" })).await.expect(200);
    put_source(
        &client,
        "document/1",
        json!({ "businessUnit": "nz", "state": { "kind": "first-aid", "a": 9 } }),
    )
    .await;
    bed.tick().await;
    assert_eq!(bed.sent().len(), 1, "it is in force");
    let mut threshold = shown["threshold"].clone();
    threshold["metric"]["field"] = json!("/b");
    client.patch(&path, json!({ "threshold": threshold })).await.refused(422, "unknown_field");
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
                       "data": {"active": true, "state": {"anything": {"at": "all"}}, "changedBy": "crm"}});
    let headers = [("content-type", "application/cloudevents+json")];
    let reply = client.send(Method::POST, "/api/v1/events", &headers, event.to_string()).await;
    assert_eq!(reply.expect(200)["items"][0]["outcome"], "accepted");
    // The data of an event for surveys too, but for what is the recipient.
    let visit = |recipient: Value| {
        let data = json!({"payload": {"wip": "1"}, "recipient": recipient, "traceId": 7});
        json!({"specversion": "1.0", "id": "2", "source": "/s", "type": "visit-closed", "data": data})
    };
    let reply = client
        .send(Method::POST, "/api/v1/events", &headers, visit(json!({"address": "a@b.example"})).to_string())
        .await;
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

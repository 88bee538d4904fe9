//! Names that a route does not know are refused, in bodies and in queries. The routes come from the document, so that a new one
//! is among them by itself.

use axum::http::Method;
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::client::{Client, Reply};

on_both! {
    a_parameter_that_no_route_knows_is_refused_on_every_route;
    a_field_that_no_body_knows_is_refused_on_every_route;
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

/// Routes where others put fields of their own, and routes that say first that what they are about is not there: their
/// bodies are read by the same closed readers.
const LEFT_OUT: [&str; 15] = [
    "POST /api/v1/events",
    "POST /api/v1/sites/1/notifications",
    "PATCH /api/v1/messages/1",
    "PATCH /api/v1/reminder-settings/1",
    "PUT /api/v1/reminder-settings/1",
    "POST /api/v1/reminder-settings/1/plan",
    "PATCH /api/v1/report-runs/memory:other/ownership",
    "POST /api/v1/report-runs/memory:other/ownership",
    "PATCH /api/v1/report-subscriptions/1",
    "PUT /api/v1/report-subscriptions/1",
    "POST /api/v1/report-subscriptions/1/transfer",
    "POST /api/v1/report-subscriptions/1/pause",
    "POST /api/v1/report-subscriptions/1/resume",
    "POST /api/v1/surveys/1/campaigns",
    "POST /api/v1/surveys/1/instances/1/resend",
];

async fn a_field_that_no_body_knows_is_refused_on_every_route(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut open = Vec::new();
    for (method, path, operation) in operations() {
        let what = format!("{method} {path}");
        let content = &operation["requestBody"]["content"]["application/json"];
        if content.is_null() || LEFT_OUT.contains(&what.as_str()) {
            continue;
        }
        let reply = client.call(method, &path, Some(json!({"certainlyNotKnown": 1}))).await;
        if !names_unknown(&reply) {
            open.push(format!("{what}: {} {}", reply.status, reply.text));
        }
    }
    assert!(open.is_empty(), "{open:#?}");
}

fn names_unknown(reply: &Reply) -> bool {
    let errors = reply.body["errors"].as_array().cloned().unwrap_or_default();
    errors.iter().any(|error| error["code"] == "unknown_field" && error["pointer"] == "/certainlyNotKnown")
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

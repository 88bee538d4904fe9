//! The same request again does nothing again, whatever happened to the first answer.

use axum::http::Method;
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::client::{Client, Reply};

on_both! {
    the_same_request_gets_the_same_answer;
    another_body_with_the_same_key_is_refused;
    a_lost_answer_does_not_double_the_effect;
    a_key_that_cannot_be_one_is_refused;
    a_secret_is_not_kept_for_a_repeat;
}

async fn post(client: &Client, path: &str, key: &str, body: &Value) -> Reply {
    let headers = [("content-type", "application/json"), ("idempotency-key", key)];
    client.send(Method::POST, path, &headers, body.to_string()).await
}

fn message() -> Value {
    json!({ "targets": ["x"], "channel": "memory:default", "subject": "S", "body": "B" })
}

async fn the_same_request_gets_the_same_answer(bed: TestBed) {
    let client = Client::new(&bed).await;
    let first = post(&client, "/api/v1/notifications", "one", &message()).await;
    client.advance("1m").await;
    let again = post(&client, "/api/v1/notifications", "one", &message()).await;
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!(first.text, again.text);
    assert_eq!(again.headers["content-type"], "application/json");
    let other = client.new_key(&["ingest"], None).await;
    let theirs = post(&other, "/api/v1/notifications", "one", &message()).await.expect(201);
    assert_ne!(theirs["id"], first.body["id"]);
    client.advance("1m").await;
    assert_eq!(bed.sent().len(), 2);

    let many = json!([message(), message(), { "subject": 1 }]);
    let first = post(&client, "/api/v1/notifications", "many", &many).await;
    let again = post(&client, "/api/v1/notifications", "many", &many).await;
    assert_eq!((first.status, first.text), (200, again.text));
    client.advance("1m").await;
    assert_eq!(bed.sent().len(), 4);
}

async fn another_body_with_the_same_key_is_refused(bed: TestBed) {
    let client = Client::new(&bed).await;
    post(&client, "/api/v1/notifications", "k", &message()).await.expect(201);
    let mut other = message();
    other["subject"] = json!("T");
    post(&client, "/api/v1/notifications", "k", &other).await.refused(409, "idempotency_mismatch");
    post(&client, "/api/v1/schedules", "k", &message()).await.refused(422, "missing_field");
    let schedule = json!({ "topic": "t", "runAt": "2026-05-14T06:00:00Z" });
    post(&client, "/api/v1/schedules", "k", &schedule).await.refused(409, "idempotency_mismatch");
    client.advance("1m").await;
    assert_eq!(bed.sent().len(), 1);
}

async fn a_lost_answer_does_not_double_the_effect(bed: TestBed) {
    let client = Client::new(&bed).await;
    let schedule = json!({ "topic": "t", "runAt": "2026-05-14T06:00:00Z" });
    let later = json!({ "sendAt": "2026-05-14T06:00:00Z", "targets": ["y"], "channel": "memory:default",
        "subject": "S", "body": "B" });
    for (path, body) in
        [("/api/v1/notifications", message()), ("/api/v1/schedules", schedule), ("/api/v1/messages", later)]
    {
        // As if the server had died after the effect and before it kept the answer.
        bed.faults.fail("idempotency.remember", false, 1);
        let first = post(&client, path, path, &body).await.expect(201);
        let again = post(&client, path, path, &body).await.expect(200);
        assert_eq!(first["id"], again["id"], "{path}");
        let third = post(&client, path, path, &body).await.expect(200);
        assert_eq!(again, third);
    }
    client.advance("2h").await;
    let mut sent = bed.sent_to();
    sent.sort();
    assert_eq!(sent, ["x", "y"]);
    let schedules = client.get("/api/v1/schedules").await.expect(200);
    assert_eq!(schedules["items"].as_array().unwrap().len(), 1);
}

async fn a_key_that_cannot_be_one_is_refused(bed: TestBed) {
    let client = Client::new(&bed).await;
    let long = "k".repeat(256);
    for key in ["", "with blank", &long] {
        post(&client, "/api/v1/notifications", key, &message()).await.refused(422, "key_invalid");
    }
    assert!(bed.notifications().await.is_empty());
    post(&client, "/api/v1/notifications", &"k".repeat(255), &message()).await.expect(201);
    // What was refused is not kept: the client may mend it and send it again under the same key.
    post(&client, "/api/v1/notifications", "mended", &json!({ "subject": "S" }))
        .await
        .refused(422, "missing_field");
    post(&client, "/api/v1/notifications", "mended", &message()).await.expect(201);
    client.advance("1m").await;
}

async fn a_secret_is_not_kept_for_a_repeat(bed: TestBed) {
    let client = Client::new(&bed).await;
    let body = json!({ "name": "k", "scopes": ["read"] });
    let first = post(&client, "/api/v1/keys", "k", &body).await.expect(201);
    let again = post(&client, "/api/v1/keys", "k", &body).await.expect(201);
    assert_eq!(first["id"], again["id"]);
    assert!(first["key"].is_string() && again["key"].is_null());
    let keys = client.get("/api/v1/keys").await.expect(200);
    assert_eq!(keys["items"].as_array().unwrap().len(), 2);
}

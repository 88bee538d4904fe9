//! Keys: one refusal for all that is wrong with them, and an end that is felt everywhere within seconds.

use axum::http::Method;
use jiff::{SignedDuration, Timestamp};
use punctual_engine::keys::{KeyRefused, ensure_admin_key, is_well_formed};
use punctual_model::Clock;
use punctual_store::api_keys;
use punctual_testkit::{TestBed, on_both, signal};
use serde_json::json;

use crate::client::{ADMIN, Client};

on_both! {
    whatever_is_wrong_with_a_key_the_answer_is_the_same;
    a_key_is_shown_once_and_stored_as_a_hash;
    a_revoked_key_is_refused_everywhere_within_five_seconds;
    the_last_use_is_written_once_a_minute;
    an_operator_s_key_is_taken_as_it_is;
    t01_guessing_at_an_operator_s_key_is_slow;
}

async fn whatever_is_wrong_with_a_key_the_answer_is_the_same(bed: TestBed) {
    let client = Client::new(&bed).await;
    let soon = client.wall.now() + SignedDuration::from_secs(60);
    let expiring = json!({ "name": "brief", "scopes": ["read"], "expiresAt": soon.to_string() });
    let expiring = client.post("/api/v1/keys", expiring).await.expect(201);
    let expired = client.with_key(expiring["key"].as_str().unwrap());
    expired.get("/api/v1/work").await.expect(200);
    let revoked =
        client.post("/api/v1/keys", json!({ "name": "gone", "scopes": ["read"] })).await.expect(201);
    client.delete(&format!("/api/v1/keys/{}", revoked["id"].as_str().unwrap())).await.expect(204);
    client.wall.set(soon);

    let revoked = client.with_key(revoked["key"].as_str().unwrap());
    let missing = Client { key: None, ..client.clone() };
    let wrong = client.with_key("punctual_api_live_none_none");
    let empty = client.with_key("");
    let mut bodies = Vec::new();
    for client in [&expired, &revoked, &missing, &wrong, &empty] {
        let reply = client.get("/api/v1/work").await;
        assert_eq!(reply.headers["www-authenticate"], "Bearer");
        let mut body = reply.refused(401, "auth_failed");
        body["requestId"] = json!(null);
        bodies.push(body);
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    for header in ["Basic abc", "Bearer", ADMIN] {
        let headers = [("authorization", header)];
        missing.send(Method::GET, "/api/v1/work", &headers, "").await.refused(401, "auth_failed");
    }
    let lower = format!("bearer {ADMIN}");
    let headers = [("authorization", lower.as_str())];
    missing.send(Method::GET, "/api/v1/work", &headers, "").await.expect(200);
}

async fn a_key_is_shown_once_and_stored_as_a_hash(bed: TestBed) {
    let client = Client::new(&bed).await;
    let made = client.post("/api/v1/keys", json!({ "name": "billing", "scopes": ["read", "ingest"] })).await;
    let made = made.expect(201);
    let text = made["key"].as_str().unwrap();
    assert!(is_well_formed(text) && text.starts_with("punctual_api_sandbox_"), "{text}");
    assert_eq!(made["scopes"], json!(["ingest", "read"]));
    let listed = client.get("/api/v1/keys").await;
    assert!(!listed.text.contains(text));
    let listed = listed.expect(200);
    let names: Vec<_> =
        listed["items"].as_array().unwrap().iter().map(|key| key["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["billing", "operator"]);
    let rows = api_keys::all(&mut bed.read().await.conn()).await.unwrap();
    assert!(rows.iter().all(|row| row.secret_hash.len() == 64 && !format!("{row:?}").contains(text)));
}

async fn a_revoked_key_is_refused_everywhere_within_five_seconds(bed: TestBed) {
    let one = Client::new(&bed).await;
    let two = Client::on_node(&bed.node("b").await, one.wall.clone(), |_| {}).await;
    let made = one.post("/api/v1/keys", json!({ "name": "k", "scopes": ["read"] })).await.expect(201);
    let (id, key) = (made["id"].as_str().unwrap(), made["key"].as_str().unwrap());
    one.with_key(key).get("/api/v1/work").await.expect(200);
    two.with_key(key).get("/api/v1/work").await.expect(200);
    one.delete(&format!("/api/v1/keys/{id}")).await.expect(204);
    one.delete(&format!("/api/v1/keys/{id}")).await.refused(404, "not_found");
    one.with_key(key).get("/api/v1/work").await.refused(401, "auth_failed");
    one.wall.set(one.wall.now() + SignedDuration::from_secs(5));
    two.with_key(key).get("/api/v1/work").await.refused(401, "auth_failed");
    assert_eq!(bed.audit("key", id).await, ["create", "revoke"]);
}

async fn the_last_use_is_written_once_a_minute(bed: TestBed) {
    let client = Client::new(&bed).await;
    let last_use = async || {
        let rows = api_keys::all(&mut bed.read().await.conn()).await.unwrap();
        rows[0].last_used_at
    };
    let used = async |seconds: i64| {
        client.wall.set(client.wall.now() + SignedDuration::from_secs(seconds));
        client.get("/api/v1/work").await.expect(200);
        client.wall.now()
    };
    let first = used(0).await;
    let written = async |at: Timestamp| {
        while last_use().await != Some(at) {
            tokio::task::yield_now().await;
        }
    };
    signal("the first use", written(first)).await;
    used(6).await;
    used(6).await;
    assert_eq!(last_use().await, Some(first));
    let later = used(60).await;
    signal("the later use", written(later)).await;
}

async fn an_operator_s_key_is_taken_as_it_is(bed: TestBed) {
    let client = Client::new(&bed).await;
    let now = client.wall.now();
    assert!(matches!(ensure_admin_key(&bed.store, now, "short").await, Err(KeyRefused::TooShort(5))));
    assert!(matches!(
        ensure_admin_key(&bed.store, now, "with a blank in it").await,
        Err(KeyRefused::NotVisible)
    ));
    ensure_admin_key(&bed.store, now, ADMIN).await.unwrap();
    let keys = client.get("/api/v1/keys").await.expect(200);
    assert_eq!(keys["items"].as_array().unwrap().len(), 1);
    let id = keys["items"][0]["id"].as_str().unwrap().to_owned();
    client.delete(&format!("/api/v1/keys/{id}")).await.expect(204);
    client.get("/api/v1/keys").await.refused(401, "auth_failed");
    assert!(matches!(ensure_admin_key(&bed.store, now, ADMIN).await, Err(KeyRefused::Revoked)));
}

async fn t01_guessing_at_an_operator_s_key_is_slow(bed: TestBed) {
    let client = Client::new(&bed).await;
    let made = client.new_key(&["read"], None).await;
    for n in 0..200 {
        client.with_key(&format!("guess-{n}")).get("/api/v1/work").await.refused(401, "auth_failed");
    }
    let reply = client.with_key("one-more-guess").get("/api/v1/work").await;
    assert_eq!(reply.headers["retry-after"], "601");
    reply.refused(429, "rate_limited");
    // Keys that Punctual made cannot be guessed, and what was good a moment ago goes on.
    made.get("/api/v1/work").await.expect(200);
    client.get("/api/v1/work").await.expect(200);
    client.wall.set(client.wall.now() + SignedDuration::from_secs(60));
    client.get("/api/v1/work").await.refused(429, "rate_limited");
    client.wall.set(client.wall.now() + SignedDuration::from_secs(540));
    client.get("/api/v1/work").await.expect(200);
}

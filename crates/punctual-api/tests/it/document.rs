//! The OpenAPI document and its page, health, readiness and metrics.

use std::path::Path;

use axum::http::Method;
use punctual_testkit::{Database, TestBed, on_both};
use serde_json::{Value, json};

use crate::client::Client;

on_both! {
    the_document_is_served_as_it_is_checked_in;
    the_page_loads_nothing_from_elsewhere;
    an_address_with_a_slash_at_its_end_leads_to_the_one_without;
    health_needs_no_key;
    figures_are_open_on_this_machine_only;
    every_answer_has_the_common_headers;
}

/// The copy that people read and clients are generated from.
const CHECKED_IN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");

#[test]
fn the_checked_in_document_is_up_to_date() {
    let mut now = serde_json::to_string_pretty(&punctual_api::document()).unwrap();
    now.push('\n');
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::create_dir_all(Path::new(CHECKED_IN).parent().unwrap()).unwrap();
        std::fs::write(CHECKED_IN, &now).unwrap();
    }
    let before = std::fs::read_to_string(CHECKED_IN).unwrap_or_default();
    assert!(
        before == now,
        "docs/openapi.json is out of date; write it with `INSTA_UPDATE=always cargo test -p punctual-api checked_in`"
    );
}

#[test]
fn every_operation_is_described() {
    let document = serde_json::to_value(punctual_api::document()).unwrap();
    let mut ids = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let what = format!("{method} {path}");
            assert!(
                operation["summary"].as_str().is_some_and(|text| !text.is_empty()),
                "{what} has no summary"
            );
            assert!(operation["tags"][0].is_string(), "{what} has no tag");
            assert!(operation["responses"]["default"].is_object(), "{what} does not say how it fails");
            ids.push(operation["operationId"].as_str().unwrap().to_owned());
        }
    }
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count, "two operations have the same id");
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let text = document.to_string();
    for reference in text.split("#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(schemas.contains_key(name), "{name} is referred to and not there");
    }
}

async fn the_document_is_served_as_it_is_checked_in(bed: TestBed) {
    let client = Client { key: None, ..Client::new(&bed).await };
    let served = client.get("/openapi.json").await;
    assert_eq!(served.headers["content-type"], "application/json");
    assert_eq!(served.body, serde_json::to_value(punctual_api::document()).unwrap());
}

async fn the_page_loads_nothing_from_elsewhere(bed: TestBed) {
    let client = Client { key: None, ..Client::new(&bed).await };
    for (path, kind) in
        [("/docs", "text/html"), ("/docs/page.css", "text/css"), ("/docs/page.js", "text/javascript")]
    {
        let reply = client.get(path).await;
        assert_eq!(reply.status, 200);
        assert!(reply.headers["content-type"].to_str().unwrap().starts_with(kind));
        let policy = reply.headers["content-security-policy"].to_str().unwrap();
        assert!(
            policy.starts_with("default-src 'none'")
                && !policy.contains("unsafe")
                && !policy.contains("http")
        );
        assert!(!reply.text.is_empty());
        for elsewhere in ["http://", "https://", "//cdn", "@import", "innerHTML", "style=\"", "onclick="] {
            let text = reply.text.replace("http://www.w3.org/2000/svg", "");
            assert!(!text.contains(elsewhere), "{path} has {elsewhere}");
        }
    }
}

async fn an_address_with_a_slash_at_its_end_leads_to_the_one_without(bed: TestBed) {
    let client = Client::new(&bed).await;
    for (path, target) in [
        ("/docs/", "/docs"),
        ("/api/v1/work/?limit=3", "/api/v1/work?limit=3"),
        ("/api/v1/work//", "/api/v1/work"),
    ] {
        let reply = client.get(path).await;
        assert_eq!(reply.status, 308, "{path}");
        assert_eq!(reply.headers["location"], target);
    }
    let reply = client.post("/api/v1/notifications/", json!({})).await;
    assert_eq!((reply.status, &reply.headers["location"]), (308, &"/api/v1/notifications".parse().unwrap()));
    // What a browser would take for another host is no address of ours.
    client.get("//example.org/").await.refused(404, "not_found");
    client.get("///").await.refused(404, "not_found");
}

async fn health_needs_no_key(bed: TestBed) {
    let client = Client { key: None, ..Client::new(&bed).await };
    assert_eq!(client.get("/healthz").await.expect(200)["status"], "ok");
    let ready = client.get("/readyz").await.expect(200);
    let database = if bed.database() == Database::Sqlite { "sqlite" } else { "postgres" };
    assert_eq!((&ready["status"], &ready["database"]), (&json!("ready"), &json!(database)));
    assert!(ready["durability"].as_object().unwrap().len() >= 2, "{ready}");
    bed.faults.fail("facts.get", false, 1);
    let refused = client.get("/readyz").await.refused(503, "storage_unavailable");
    assert_eq!(refused["detail"], "Not ready: the database could not be read.");
    client.get("/readyz").await.expect(200);
    // Reads work where writes do not: a read-only server, a full disk.
    bed.faults.fail("facts.put", false, 1);
    let refused = client.get("/readyz?write").await.refused(503, "storage_unavailable");
    assert_eq!(refused["detail"], "Not ready: the database takes no writes.");
    client.get("/readyz?write").await.expect(200);
}

async fn figures_are_open_on_this_machine_only(bed: TestBed) {
    let client = Client::new(&bed).await;
    let none = Client { key: None, ..client.clone() };
    none.get("/metrics").await.refused(401, "auth_failed");
    client.new_key(&["ingest"], None).await.get("/metrics").await.refused(403, "scope_missing");
    let open = Client { key: None, ..Client::with(&bed, |state| state.options.open_metrics = true).await };
    let body = json!({ "targets": ["x"], "channel": "memory:default", "subject": "S", "body": "B" });
    client.post("/api/v1/notifications", body).await.expect(201);
    for client in [&open, &client.new_key(&["read"], None).await] {
        let reply = client.get("/metrics").await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        assert!(reply.text.contains("punctual_rows{state=\"notifications_queued\"} 1"), "{}", reply.text);
        assert!(reply.text.contains("punctual_notifications_accepted_total 1"), "{}", reply.text);
    }
    client.advance("1s").await;
}

async fn every_answer_has_the_common_headers(bed: TestBed) {
    let client = Client::new(&bed).await;
    let paths = ["/api/v1/work", "/api/v1/work/1", "/nowhere", "/healthz", "/docs", "/openapi.json"];
    let mut ids = Vec::new();
    for path in paths {
        let reply = client.get(path).await;
        assert_eq!(reply.headers["cache-control"], "no-store", "{path}");
        assert_eq!(reply.headers["x-content-type-options"], "nosniff", "{path}");
        ids.push(reply.headers["x-request-id"].to_str().unwrap().to_owned());
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), paths.len());
    let own = [("x-request-id", "trace-7")];
    let reply = client.send(Method::GET, "/nowhere", &own, "").await;
    assert_eq!(reply.refused(404, "not_found")["requestId"], "trace-7");
    let odd = [("x-request-id", "a b\tc")];
    let reply = client.send(Method::GET, "/nowhere", &odd, "").await;
    assert_ne!(reply.refused(404, "not_found")["requestId"], Value::from("a b\tc"));
}

//! Consumers over the API: defined like channels, with their secrets kept, and with how they are.

use std::{net::SocketAddr, sync::Arc};

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use punctual_channels::{
    AmqpAdapter, Captured, Guard, NatsAdapter, Trust, WebhookAdapter, adapters, consumer_adapters,
    guard::Lookup,
};
use punctual_store::{
    Lane,
    consumers::{self, HealthRow},
};
use punctual_testkit::{TestBed, TestBedBuilder, on_both};
use serde_json::{Value, json};

use crate::client::Client;

on_both! {
    a_consumer_is_defined_looked_at_and_removed with with_brokers;
    what_is_wrong_with_a_consumer_is_named with with_brokers;
    t07_a_broker_that_would_be_refused_is_refused_when_it_is_saved with with_a_broker_inside;
    t12_a_consumer_s_secret_is_sealed_kept_and_never_shown with with_brokers;
    only_callers_without_a_limit_see_and_change_consumers with with_brokers;
    a_consumer_that_is_disconnected_for_long_needs_attention with with_brokers;
}

pub fn with_brokers(bed: TestBedBuilder) -> TestBedBuilder {
    let (guard, trust) = (Guard::new("127.0.0.0/8".parse().unwrap()), Trust::platform());
    bed.consumers(consumer_adapters(&guard, &trust))
        .adapter(NatsAdapter::new(guard.clone(), trust.clone()))
        .adapter(AmqpAdapter::new(guard, trust))
}

/// Every name leads to this machine.
struct Loopback;

impl Lookup for Loopback {
    fn lookup(&self, _host: String, port: u16) -> BoxFuture<'static, std::io::Result<Vec<SocketAddr>>> {
        Box::pin(std::future::ready(Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))])))
    }
}

/// Every adapter that ships, and names that can be looked up without a network.
pub fn with_every_adapter(bed: TestBedBuilder) -> TestBedBuilder {
    let guard = Guard::with_lookup("127.0.0.0/8".parse().unwrap(), Arc::new(Loopback));
    let trust = Trust::platform();
    let mut all = adapters(&guard, &trust, &Captured::new());
    // The bed has its own, which it looks into.
    all.retain(|adapter| adapter.name() != "memory");
    bed.consumers(consumer_adapters(&guard, &trust)).adapters(all)
}

/// A name that leads into a network that is not allowed.
struct Inside;

impl Lookup for Inside {
    fn lookup(&self, _host: String, port: u16) -> BoxFuture<'static, std::io::Result<Vec<SocketAddr>>> {
        Box::pin(std::future::ready(Ok(vec![SocketAddr::from(([10, 1, 2, 3], port))])))
    }
}

fn with_a_broker_inside(bed: TestBedBuilder) -> TestBedBuilder {
    let (guard, trust) = (Guard::with_lookup(Default::default(), Arc::new(Inside)), Trust::platform());
    bed.consumers(consumer_adapters(&guard, &trust))
        .adapter(NatsAdapter::new(guard.clone(), trust.clone()))
        .adapter(WebhookAdapter::new(guard, trust))
}

async fn t07_a_broker_that_would_be_refused_is_refused_when_it_is_saved(bed: TestBed) {
    let client = Client::new(&bed).await;
    let refused = client.put(ORDERS, orders()).await.expect(422);
    let error = &refused["errors"][0];
    assert_eq!((&error["pointer"], &error["code"]), (&json!("/settings/url"), &json!("url_forbidden")));
    let detail = error["detail"].as_str().unwrap();
    assert!(detail.contains("--outgoing-allow") && !detail.contains("10.1.2.3"), "{error}");
    let subscriber = json!({ "adapter": "webhook", "events": ["response-completed"],
        "settings": { "url": "https://inside.example/in", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" } });
    let refused = client.put("/api/v1/subscribers/webhook:in", subscriber.clone()).await.expect(422);
    assert_eq!(refused["errors"][0]["pointer"], "/settings/url", "{refused}");
    // An import says the same, with its plan alone too.
    let import = json!({ "plan": true, "definitions": {
        "consumers": { "nats:orders": orders() }, "subscribers": { "webhook:in": subscriber } } });
    let refused = client.post("/api/v1/definitions", import).await.expect(422);
    let pointers: Vec<&Value> =
        refused["errors"].as_array().unwrap().iter().map(|error| &error["pointer"]).collect();
    assert_eq!(pointers.len(), 2, "{refused}");
    assert_eq!(client.get("/api/v1/consumers").await.expect(200)["items"], json!([]), "nothing was stored");
}

const ORDERS: &str = "/api/v1/consumers/nats:orders";

pub fn orders() -> Value {
    json!({ "adapter": "nats", "settings": { "url": "tls://nats.example.com", "stream": "ORDERS",
        "deadLetterSubject": "orders.refused" } })
}

async fn a_consumer_is_defined_looked_at_and_removed(bed: TestBed) {
    let client = Client::new(&bed).await;
    let made = client.put(ORDERS, orders()).await.expect(200);
    assert_eq!(
        (&made["key"], &made["version"], &made["active"]),
        (&json!("nats:orders"), &json!(1), &json!(true))
    );
    assert_eq!(made["health"]["state"], "notRunning", "nothing runs in a test: {made}");
    let mut off = orders();
    off["active"] = json!(false);
    let changed = client.put(ORDERS, off).await.expect(200);
    assert_eq!((&changed["version"], &changed["health"]["state"]), (&json!(2), &json!("off")));
    let listed = client.get("/api/v1/consumers").await.expect(200);
    assert_eq!(listed["items"], json!([client.get(ORDERS).await.expect(200)]));
    client.delete(ORDERS).await.expect(204);
    client.get(ORDERS).await.expect(404);
    client.delete(ORDERS).await.expect(404);
    assert_eq!(bed.audit("consumer", "nats:orders").await, ["put", "put", "delete"]);
}

async fn what_is_wrong_with_a_consumer_is_named(bed: TestBed) {
    let client = Client::new(&bed).await;
    let refused = async |adapter: &str, settings: Value| -> Vec<(String, String)> {
        let body = json!({ "adapter": adapter, "settings": settings });
        let problem = client.put("/api/v1/consumers/x:y", body).await.expect(422);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let errors = problem["errors"].as_array().unwrap().iter();
        errors.map(|error| (text(&error["pointer"]), text(&error["code"]))).collect()
    };
    let one = |pointer: &str, code: &str| (pointer.to_owned(), code.to_owned());
    let missing = |name: &str| one(&format!("/settings/{name}"), "missing_field");
    assert_eq!(refused("smtp", json!({})).await, [one("/adapter", "out_of_range")]);
    assert_eq!(refused("nats", json!({})).await, ["url", "stream", "deadLetterSubject"].map(missing));
    assert_eq!(refused("amqp", json!({})).await, ["url", "queue", "deadLetterQueue"].map(missing));
    assert_eq!(refused("amqp1", json!({})).await, ["url", "address", "deadLetterAddress"].map(missing));
    let nats = |name: &str, value: Value| {
        let mut settings = orders()["settings"].clone();
        settings[name] = value;
        settings
    };
    for (name, value, code) in [
        ("strem", json!("x"), "unknown_field"),
        ("stream", json!("a.b"), "out_of_range"),
        ("subject", json!("a..b"), "out_of_range"),
        ("deadLetterSubject", json!("orders.*"), "out_of_range"),
        ("batch", json!(0), "out_of_range"),
        ("batch", json!(1_001), "out_of_range"),
        ("url", json!("tls://10.0.0.1"), "url_forbidden"),
        ("url", json!("https://nats.example.com"), "url_scheme"),
    ] {
        let found = refused("nats", nats(name, value.clone())).await;
        assert_eq!(found, [one(&format!("/settings/{name}"), code)], "{name} {value}");
    }
    let same = json!({ "url": "amqps://rabbit.example.com", "queue": "q", "deadLetterQueue": "q" });
    assert_eq!(refused("amqp", same).await, [one("/settings/deadLetterQueue", "out_of_range")]);
    let mut body = orders();
    body["businessUnit"] = json!("nowhere");
    assert_eq!(client.put(ORDERS, body).await.expect(422)["errors"][0]["code"], "unit_unknown");
    client.put("/api/v1/consumers/orders", orders()).await.expect(422);
    assert_eq!(client.get("/api/v1/consumers").await.expect(200)["items"], json!([]), "nothing was stored");
}

async fn t12_a_consumer_s_secret_is_sealed_kept_and_never_shown(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut body = orders();
    (body["settings"]["username"], body["settings"]["password"]) = (json!("punctual"), json!("nats-secret"));
    let made = client.put(ORDERS, body.clone()).await;
    assert!(!made.text.contains("nats-secret"), "{}", made.text);
    assert_eq!(made.expect(200)["secretsSet"], json!(["password"]));
    let stored = async || {
        let mut reader = bed.store.read().await.unwrap();
        consumers::get(&mut reader.conn(), "nats:orders").await.unwrap().unwrap().settings
    };
    let sealed = stored().await;
    assert!(!sealed.contains("nats-secret"), "{sealed}");
    // What is left out stays, and not at another place.
    body["settings"].as_object_mut().unwrap().remove("password");
    assert_eq!(client.put(ORDERS, body.clone()).await.expect(200)["secretsSet"], json!(["password"]));
    body["settings"]["url"] = json!("tls://elsewhere.example.com");
    let refused = client.put(ORDERS, body).await.expect(422);
    assert_eq!(refused["errors"][0]["code"], "secret_required", "{refused}");
    // A new master key seals it anew.
    let before = stored().await;
    client.post("/api/v1/secrets/rekey", json!({})).await.expect(200);
    assert!(stored().await.contains("sealed") || stored().await == before, "it stays sealed");
}

async fn only_callers_without_a_limit_see_and_change_consumers(bed: TestBed) {
    let client = Client::new(&bed).await;
    client
        .put("/api/v1/business-units/nz", json!({ "name": "NZ", "timeZone": "Pacific/Auckland" }))
        .await
        .expect(200);
    let mut body = orders();
    body["businessUnit"] = json!("nz");
    assert_eq!(client.put(ORDERS, body.clone()).await.expect(200)["businessUnit"], "nz");
    let nz = client.new_key(&["admin"], Some(&["nz"])).await;
    for refused in [
        nz.get(ORDERS).await,
        nz.get("/api/v1/consumers").await,
        nz.put(ORDERS, body).await,
        nz.delete(ORDERS).await,
    ] {
        refused.expect(403);
    }
    let reader = client.new_key(&["read"], None).await;
    reader.get(ORDERS).await.expect(200);
    reader.delete(ORDERS).await.expect(403);
}

async fn a_consumer_that_is_disconnected_for_long_needs_attention(bed: TestBed) {
    let client = Client::new(&bed).await;
    client.put(ORDERS, orders()).await.expect(200);
    let report = async |state: &str, node: &str, since: Timestamp| {
        let row = HealthRow {
            consumer: "nats:orders".into(),
            node: node.into(),
            state: punctual_model::ConsumerLink::parse(state).unwrap(),
            since,
            last_message_at: None,
            lag: Some(7),
            last_error: (state == "disconnected").then(|| "no answer".to_owned()),
            last_error_at: (state == "disconnected").then_some(since),
            accepted: 2,
            duplicates: 1,
            refused: 1,
            reported_at: bed.now(),
        };
        let mut tx = bed.store.begin(Lane::Intake).await.unwrap();
        consumers::report(&mut tx.conn(), &[row]).await.unwrap();
        tx.commit().await.unwrap();
    };
    let waiting = async || client.get("/api/v1/attention").await.expect(200);
    let since = bed.now();
    report("disconnected", "a", since).await;
    assert_eq!(waiting().await["items"], json!([]), "brokers are restarted");
    bed.wait(6 * 60);
    report("disconnected", "a", since).await;
    let found = waiting().await;
    let item = &found["items"][0];
    assert_eq!(
        (&item["kind"], &item["id"], &found["counts"]["consumer"]),
        (&json!("consumer"), &json!("nats:orders"), &json!(1))
    );
    assert!(item["reason"].as_str().unwrap().ends_with("no answer"), "{item}");
    report("connected", "b", bed.now()).await;
    assert_eq!(waiting().await["items"], json!([]), "one node is enough");
    let health = client.get(ORDERS).await.expect(200)["health"].clone();
    let counts =
        ["accepted", "duplicates", "refused", "nodes", "lag"].map(|name| health[name].as_i64().unwrap());
    assert_eq!(counts, [6, 3, 3, 1, 7], "the counts of all reports are added up: {health}");
    bed.wait(60 * 60);
    let found = waiting().await;
    assert!(found["items"][0]["reason"].as_str().unwrap().starts_with("No node runs it"), "{found}");
}

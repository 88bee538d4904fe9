//! AMQP 0.9.1, against a real RabbitMQ.

use std::sync::Arc;

use lapin::{
    BasicProperties, Connection, ConnectionProperties, ExchangeKind,
    options::{BasicGetOptions, ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions},
    types::{AMQPValue, FieldTable},
};
use punctual_channels::Trust;
use punctual_model::{Channel, SendOutcome};
use punctual_testkit::Way;
use serde_json::{Value, json};

use super::{
    adapter, assert_delivered, assert_passing, assert_permanent, assert_transient, behind_proxy, check,
    event, guard_to_here, open, send, server, tls_front::tls_front, unique,
};
use crate::{open_guard, test_trust};

pub(super) fn here() -> String {
    server("PUNCTUAL_TEST_RABBITMQ")
}

fn settings(url: &str, target: Value) -> Value {
    let mut settings =
        json!({ "url": url, "username": "punctual", "password": "rabbit-secret", "timeoutSeconds": 5 });
    settings.as_object_mut().unwrap().extend(target.as_object().unwrap().clone());
    settings
}

/// One who looks after queues, and reads them.
pub(super) struct Admin {
    channel: lapin::Channel,
    _connection: Connection,
}

impl Admin {
    pub(super) async fn new(vhost: &str) -> Self {
        let url = here().replace("amqp://", "amqp://punctual:rabbit-secret@");
        let url = format!("{url}/{vhost}");
        let connection = Connection::connect(&url, ConnectionProperties::default()).await.unwrap();
        let channel = connection.create_channel().await.unwrap();
        Self { channel, _connection: connection }
    }

    pub(super) async fn queue(&self, name: &str, more: &[(&str, AMQPValue)]) -> String {
        let name = unique(name);
        let options = QueueDeclareOptions { auto_delete: false, exclusive: true, ..Default::default() };
        let mut arguments = FieldTable::default();
        for (name, value) in more {
            arguments.insert((*name).into(), value.clone());
        }
        self.channel.queue_declare(name.as_str().into(), options, arguments).await.unwrap();
        name
    }

    pub(super) async fn exchange(&self, name: &str, queue: &str, key: &str) -> String {
        let name = unique(name);
        let options = ExchangeDeclareOptions { auto_delete: true, ..Default::default() };
        let exchange = name.as_str();
        self.channel
            .exchange_declare(exchange.into(), ExchangeKind::Topic, options, FieldTable::default())
            .await
            .unwrap();
        let (options, none) = (QueueBindOptions::default(), FieldTable::default());
        self.channel.queue_bind(queue.into(), exchange.into(), key.into(), options, none).await.unwrap();
        name
    }

    /// The next message of a queue.
    pub(super) async fn next(&self, queue: &str) -> Option<(BasicProperties, Vec<u8>)> {
        let options = BasicGetOptions { no_ack: true };
        let found = self.channel.basic_get(queue.into(), options).await.unwrap()?;
        Some((found.delivery.properties, found.delivery.data))
    }

    /// The ids of all messages of a queue.
    pub(super) async fn ids(&self, queue: &str) -> Vec<String> {
        let mut ids = Vec::new();
        while let Some((properties, _)) = self.next(queue).await {
            ids.push(properties.message_id().as_ref().unwrap().to_string());
        }
        ids
    }
}

async fn opened(name: &str) -> (Admin, String, Arc<dyn Channel>) {
    let admin = Admin::new("%2f").await;
    let queue = admin.queue(name, &[]).await;
    let channel = open("amqp", &settings(&here(), json!({ "queue": queue })));
    (admin, queue, channel)
}

#[tokio::test]
async fn a_message_is_delivered_when_the_broker_confirms_it() {
    let (admin, queue, channel) = opened("answers").await;
    let outcome = send(&channel, event("instance-1")).await;
    assert_eq!(outcome, SendOutcome::Delivered { provider_id: "instance-1".into() });
    let (properties, body) = admin.next(&queue).await.unwrap();
    assert_eq!(properties.message_id().as_ref().unwrap().as_str(), "instance-1");
    assert_eq!(properties.content_type().as_ref().unwrap().as_str(), "application/json");
    assert_eq!(*properties.delivery_mode(), Some(2), "it survives a restart of the broker");
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), event("instance-1").type_data.unwrap());
    assert!(admin.next(&queue).await.is_none());
}

#[tokio::test]
async fn a_hundred_at_once_are_distinguished_by_route() {
    let admin = Admin::new("%2f").await;
    let queue = admin.queue("many", &[]).await;
    let exchange = admin.exchange("many", &queue, "surveys.#").await;
    let routed =
        open("amqp", &settings(&here(), json!({ "exchange": exchange, "routingKey": "surveys.answers" })));
    let lost = open("amqp", &settings(&here(), json!({ "exchange": exchange, "routingKey": "elsewhere" })));
    let ids: Vec<String> = (0..100).map(|n| format!("instance-{n:03}")).collect();
    let sends = ids.iter().map(|id| send(&routed, event(id)));
    let losses = ids.iter().map(|id| send(&lost, event(id)));
    let (sent, lost) =
        tokio::join!(futures_util::future::join_all(sends), futures_util::future::join_all(losses));
    sent.iter().for_each(assert_delivered);
    for outcome in &lost {
        assert_transient(outcome, "no queue takes this message");
    }
    let mut arrived = admin.ids(&queue).await;
    arrived.sort();
    assert_eq!(arrived, ids);
}

#[tokio::test]
async fn what_the_broker_refuses_is_final_or_not() {
    let admin = Admin::new("%2f").await;
    let missing = unique("missing");
    // The exchange that every broker has returns what it cannot route.
    let nowhere = open("amqp", &settings(&here(), json!({ "queue": missing })));
    assert_transient(&send(&nowhere, event("x")).await, "no queue takes this message");
    let unknown = open("amqp", &settings(&here(), json!({ "exchange": missing, "routingKey": "x" })));
    for _ in 0..2 {
        assert_permanent(&send(&unknown, event("x")).await, "exchange-unknown");
    }
    let full = [
        ("x-max-length", AMQPValue::LongInt(1)),
        ("x-overflow", AMQPValue::LongString("reject-publish".into())),
    ];
    let full = admin.queue("full", &full).await;
    let channel = open("amqp", &settings(&here(), json!({ "queue": full })));
    assert_delivered(&send(&channel, event("first")).await);
    assert_transient(&send(&channel, event("second")).await, "rejected this message");
    admin.next(&full).await.unwrap();
    assert_delivered(&send(&channel, event("second")).await);
}

#[tokio::test]
async fn whoever_is_not_let_in_gets_a_reason() {
    let (admin, queue, _) = opened("login").await;
    let exchange = admin.exchange("login", &queue, "#").await;
    let with = |user: &str, password: &str| {
        let mut settings = settings(&here(), json!({ "exchange": exchange, "routingKey": "x" }));
        settings["username"] = json!(user);
        settings["password"] = json!(password);
        open("amqp", &settings)
    };
    assert_permanent(&send(&with("punctual", "wrong-secret"), event("x")).await, "credentials-refused");
    assert_permanent(&send(&with("narrow", "narrow-secret"), event("x")).await, "credentials-refused");
    let vhost = settings(&format!("{}/nowhere", here()), json!({ "queue": queue }));
    assert_permanent(&send(&open("amqp", &vhost), event("x")).await, "settings-invalid");
    assert!(admin.next(&queue).await.is_none());
}

#[tokio::test]
async fn the_virtual_host_stands_in_the_url() {
    let admin = Admin::new("orders").await;
    let queue = admin.queue("vhost", &[]).await;
    let channel = open("amqp", &settings(&format!("{}/orders", here()), json!({ "queue": queue })));
    assert_delivered(&send(&channel, event("x")).await);
    assert_eq!(admin.ids(&queue).await, ["x"]);
}

#[tokio::test]
async fn a_connection_that_breaks_is_made_again() {
    let (admin, queue, _) = opened("cut").await;
    let (url, proxy) = behind_proxy(&here()).await;
    let channel = open("amqp", &settings(&url, json!({ "queue": queue })));
    assert_delivered(&send(&channel, event("before")).await);
    proxy.set(Way::Cut);
    for _ in 0..3 {
        assert_passing(&send(&channel, event("meanwhile")).await);
    }
    proxy.set(Way::Pass);
    assert_delivered(&send(&channel, event("after")).await);
    assert_eq!(admin.ids(&queue).await, ["before", "after"]);
}

#[tokio::test]
async fn a_broker_that_hangs_blocks_nobody_and_a_repeat_has_the_same_id() {
    let (admin, queue, _) = opened("hang").await;
    let (url, proxy) = behind_proxy(&here()).await;
    let mut settings = settings(&url, json!({ "queue": queue }));
    settings["timeoutSeconds"] = json!(1);
    let channel = open("amqp", &settings);
    assert_delivered(&send(&channel, event("before")).await);
    proxy.set(Way::HoldReplies);
    let outcome = send(&channel, event("held")).await;
    assert!(matches!(outcome, SendOutcome::Uncertain { .. }), "{outcome:?}");
    // A new connection does not come about, and nothing was handed over.
    assert_transient(&send(&channel, event("later")).await, "");
    proxy.set(Way::Pass);
    assert_delivered(&send(&channel, event("held")).await);
    assert_eq!(admin.ids(&queue).await, ["before", "held", "held"]);
}

#[tokio::test]
async fn over_tls_the_certificate_must_be_accepted() {
    let (admin, queue, _) = opened("tls").await;
    let port = tls_front(here().strip_prefix("amqp://").unwrap()).await;
    let secure = settings(&format!("amqps://localhost:{port}"), json!({ "queue": queue }));
    assert_delivered(&send(&open("amqp", &secure), event("x")).await);
    let unknown = adapter("amqp", &open_guard(), &Trust::platform()).open(&secure).unwrap();
    assert_transient(&send(&unknown, event("y")).await, "certificate is not accepted");
    let elsewhere = settings(&format!("amqps://elsewhere.example:{port}"), json!({ "queue": queue }));
    let other = adapter("amqp", &guard_to_here("127.0.0.0/8"), &test_trust()).open(&elsewhere).unwrap();
    assert_transient(&send(&other, event("y")).await, "certificate is not accepted");
    assert_eq!(admin.ids(&queue).await, ["x"]);
}

#[tokio::test]
async fn t07_a_name_that_leads_inside_is_not_connected_to() {
    for (name, target) in [("amqp", json!({ "queue": "q" })), ("amqp1", json!({ "address": "q" }))] {
        let inside = adapter(name, &guard_to_here(""), &test_trust());
        let channel = inside.open(&settings("amqps://rabbit.example", target)).unwrap();
        assert_permanent(&send(&channel, event("x")).await, "url-forbidden");
    }
}

#[test]
fn settings_are_checked_when_they_are_saved() {
    let good = json!({
        "url": "amqps://rabbit.example.com/orders", "username": "u", "password": "env:RABBIT", "queue": "answers",
    });
    check("amqp", &good, &[]);
    for (field, value, expected) in [
        ("url", json!("amqp://rabbit.example.com"), ("/url", "url_scheme")),
        ("url", json!("amqps://rabbit.example.com:443"), ("/url", "url_port")),
        ("url", json!("amqps://u:secret@rabbit.example.com"), ("/url", "url_userinfo")),
        ("url", json!("amqps://192.168.1.1"), ("/url", "url_forbidden")),
        ("url", json!("amqps://rabbit.example.com/a/b"), ("/url", "url_invalid")),
        ("password", Value::Null, ("/password", "missing_field")),
        ("exchange", json!("surveys"), ("/queue", "out_of_range")),
        ("queue", Value::Null, ("/exchange", "missing_field")),
        ("queue", json!("q".repeat(256)), ("/queue", "out_of_range")),
        ("persistent", json!("yes"), ("/persistent", "wrong_type")),
        ("subject", json!("s"), ("/subject", "unknown_field")),
    ] {
        let mut settings = good.clone();
        settings[field] = value;
        if field == "queue" && expected.0 == "/queue" {
            // The name is refused, and then there is no place left.
            check("amqp", &settings, &[expected, ("/exchange", "missing_field")]);
        } else {
            check("amqp", &settings, &[expected]);
        }
    }
}

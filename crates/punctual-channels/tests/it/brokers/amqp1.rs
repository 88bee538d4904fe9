//! AMQP 1.0, against RabbitMQ's plugin for it.

use lapin::types::AMQPValue;
use punctual_channels::Trust;
use punctual_model::SendOutcome;
use punctual_testkit::Way;
use serde_json::{Value, json};

use super::{
    adapter,
    amqp::{Admin, here},
    assert_delivered, assert_passing, assert_permanent, assert_transient, behind_proxy, check, event, open,
    send,
    tls_front::tls_front,
    unique,
};
use crate::open_guard;

/// RabbitMQ's address of a queue that is there.
fn settings(url: &str, queue: &str) -> Value {
    json!({
        "url": url, "username": "punctual", "password": "rabbit-secret", "timeoutSeconds": 5,
        "address": format!("/amq/queue/{queue}"),
    })
}

#[tokio::test]
async fn a_message_is_delivered_when_the_broker_accepts_it() {
    let admin = Admin::new("%2f").await;
    let queue = admin.queue("answers1", &[]).await;
    let channel = open("amqp1", &settings(&here(), &queue));
    let outcome = send(&channel, event("instance-1")).await;
    assert_eq!(outcome, SendOutcome::Delivered { provider_id: "instance-1".into() });
    let (properties, body) = admin.next(&queue).await.unwrap();
    assert_eq!(properties.message_id().as_ref().unwrap().as_str(), "instance-1");
    assert_eq!(properties.content_type().as_ref().unwrap().as_str(), "application/json");
    assert_eq!(*properties.delivery_mode(), Some(2));
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), event("instance-1").type_data.unwrap());

    let sends: Vec<String> = (0..100).map(|n| format!("many-{n:03}")).collect();
    let outcomes = futures_util::future::join_all(sends.iter().map(|id| send(&channel, event(id)))).await;
    outcomes.iter().for_each(assert_delivered);
    let mut arrived = admin.ids(&queue).await;
    arrived.sort();
    assert_eq!(arrived, sends);
}

#[tokio::test]
async fn what_the_broker_refuses_is_final_or_not() {
    let admin = Admin::new("%2f").await;
    // An address that RabbitMQ makes when it is asked for.
    let mut made = settings(&here(), "");
    let name = unique("made1");
    made["address"] = json!(format!("/queue/{name}"));
    assert_delivered(&send(&open("amqp1", &made), event("made")).await);
    assert_eq!(admin.ids(&name).await, ["made"]);
    made["address"] = json!("/nonsense/of/mine");
    assert_permanent(&send(&open("amqp1", &made), event("x")).await, "rejected-by-receiver");

    let queue = admin.queue("bound1", &[]).await;
    let exchange = admin.exchange("routes1", &queue, "surveys.#").await;
    made["address"] = json!(format!("/exchange/{exchange}/surveys.answers"));
    assert_delivered(&send(&open("amqp1", &made), event("routed")).await);
    assert_eq!(admin.ids(&queue).await, ["routed"]);

    let full = [
        ("x-max-length", AMQPValue::LongInt(1)),
        ("x-overflow", AMQPValue::LongString("reject-publish".into())),
    ];
    let full = admin.queue("full1", &full).await;
    let channel = open("amqp1", &settings(&here(), &full));
    assert_delivered(&send(&channel, event("first")).await);
    let refused = send(&channel, event("second")).await;
    assert!(!matches!(refused, SendOutcome::Delivered { .. }), "{refused:?}");
}

#[tokio::test]
async fn whoever_is_not_let_in_gets_a_reason() {
    let admin = Admin::new("%2f").await;
    let queue = admin.queue("login1", &[]).await;
    let mut wrong = settings(&here(), &queue);
    wrong["password"] = json!("wrong-secret");
    assert_permanent(&send(&open("amqp1", &wrong), event("x")).await, "credentials-refused");
    wrong["username"] = json!("narrow");
    wrong["password"] = json!("narrow-secret");
    // RabbitMQ ends its own session for it and says nothing: no yes, at any rate.
    assert_passing(&send(&open("amqp1", &wrong), event("x")).await);
    assert!(admin.next(&queue).await.is_none());
}

#[tokio::test]
async fn a_virtual_host_is_named_in_the_settings() {
    let admin = Admin::new("orders").await;
    let queue = admin.queue("vhost1", &[]).await;
    let mut settings = settings(&here(), &queue);
    settings["virtualHost"] = json!("orders");
    assert_delivered(&send(&open("amqp1", &settings), event("x")).await);
    assert_eq!(admin.ids(&queue).await, ["x"]);
}

#[tokio::test]
async fn a_connection_that_breaks_is_made_again() {
    let admin = Admin::new("%2f").await;
    let queue = admin.queue("cut1", &[]).await;
    let (url, proxy) = behind_proxy(&here()).await;
    let channel = open("amqp1", &settings(&url, &queue));
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
    let admin = Admin::new("%2f").await;
    let queue = admin.queue("hang1", &[]).await;
    let (url, proxy) = behind_proxy(&here()).await;
    let mut settings = settings(&url, &queue);
    settings["timeoutSeconds"] = json!(1);
    let channel = open("amqp1", &settings);
    assert_delivered(&send(&channel, event("before")).await);
    proxy.set(Way::HoldReplies);
    let outcome = send(&channel, event("held")).await;
    assert!(matches!(outcome, SendOutcome::Uncertain { .. }), "{outcome:?}");
    assert_transient(&send(&channel, event("later")).await, "");
    proxy.set(Way::Pass);
    assert_delivered(&send(&channel, event("held")).await);
    assert_eq!(admin.ids(&queue).await, ["before", "held", "held"]);
}

#[tokio::test]
async fn over_tls_the_certificate_must_be_accepted() {
    let admin = Admin::new("%2f").await;
    let queue = admin.queue("tls1", &[]).await;
    let port = tls_front(here().strip_prefix("amqp://").unwrap()).await;
    let secure = settings(&format!("amqps://localhost:{port}"), &queue);
    assert_delivered(&send(&open("amqp1", &secure), event("x")).await);
    let unknown = adapter("amqp1", &open_guard(), &Trust::platform()).open(&secure).unwrap();
    assert_transient(&send(&unknown, event("y")).await, "certificate is not accepted");
    assert_eq!(admin.ids(&queue).await, ["x"]);
}

#[test]
fn settings_are_checked_when_they_are_saved() {
    let good = json!({ "url": "amqps://bus.servicebus.windows.net", "address": "survey-answers" });
    check("amqp1", &good, &[]);
    for (field, value, expected) in [
        ("url", json!("amqp://bus.servicebus.windows.net"), ("/url", "url_scheme")),
        ("url", json!("amqps://bus.servicebus.windows.net/queue"), ("/url", "url_invalid")),
        ("url", json!("amqps://169.254.169.254"), ("/url", "url_forbidden")),
        ("username", json!("policy"), ("/password", "missing_field")),
        ("address", json!(""), ("/address", "missing_field")),
        ("queue", json!("q"), ("/queue", "unknown_field")),
    ] {
        let mut settings = good.clone();
        settings[field] = value;
        check("amqp1", &settings, &[expected]);
    }
}

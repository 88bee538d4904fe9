//! A stream or queue of a real broker, with a place for its dead letters: what producers and those who look after dead letters do.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use futures_util::StreamExt;
use lapin::{
    BasicProperties, Connection, ConnectionProperties,
    options::{BasicGetOptions, BasicPublishOptions, QueueDeclareOptions},
    types::{AMQPValue, FieldTable},
};
use serde_json::{Value, json};

use super::amqp1::Amqp1;

/// A message that was refused.
#[derive(Clone, Debug)]
pub struct Letter {
    pub code: String,
    pub detail: String,
    pub body: String,
}

pub struct Bus {
    name: String,
    url: String,
    wire: Wire,
}

enum Wire {
    Nats(async_nats::Client),
    /// The channel, its connection, and whether the consumer speaks AMQP 1.0.
    Amqp {
        channel: lapin::Channel,
        _connection: Box<Connection>,
        is_one: bool,
    },
}

/// Where a broker is; nothing is skipped where there is none.
fn broker(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} is not set: run the tests with `cargo xtask test`"))
}

/// A name that no other test has.
fn unique(name: &str) -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("{name}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

impl Bus {
    /// A stream with its dead letters beside, and a durable consumer that gets back soon what was not acknowledged.
    pub async fn nats(name: &str) -> Self {
        let (name, url) = (unique(name), broker("PUNCTUAL_TEST_NATS"));
        let options =
            async_nats::ConnectOptions::with_user_and_password("punctual".into(), "nats-secret".into());
        let client = options.connect(&url).await.unwrap();
        for stream in [name.clone(), format!("{name}-refused")] {
            let config = json!({ "name": stream, "subjects": [stream], "storage": "memory" });
            ask(&client, &format!("STREAM.CREATE.{stream}"), config).await;
        }
        let config =
            json!({ "durable_name": "punctual", "ack_policy": "explicit", "ack_wait": 1_000_000_000u64 });
        let wanted = json!({ "stream_name": name, "config": config });
        ask(&client, &format!("CONSUMER.DURABLE.CREATE.{name}.punctual"), wanted).await;
        Self { name, url, wire: Wire::Nats(client) }
    }

    pub async fn amqp(name: &str) -> Self {
        Self::rabbitmq(name, false).await
    }

    pub async fn amqp1(name: &str) -> Self {
        Self::rabbitmq(name, true).await
    }

    async fn rabbitmq(name: &str, is_one: bool) -> Self {
        let (name, url) = (unique(name), broker("PUNCTUAL_TEST_RABBITMQ"));
        let address = format!("{}/%2f", url.replace("amqp://", "amqp://punctual:rabbit-secret@"));
        let connection = Connection::connect(&address, ConnectionProperties::default()).await.unwrap();
        let channel = connection.create_channel().await.unwrap();
        let bus = Self { wire: Wire::Amqp { channel, _connection: Box::new(connection), is_one }, url, name };
        bus.make_queue(&bus.name).await;
        bus.make_queue(&format!("{}-refused", bus.name)).await;
        bus
    }

    pub async fn make_queue(&self, name: &str) {
        let Wire::Amqp { channel, .. } = &self.wire else { panic!("NATS has no queues") };
        let options = QueueDeclareOptions { exclusive: false, auto_delete: false, ..Default::default() };
        let mut arguments = FieldTable::default();
        // It goes by itself when nobody has used it for a while.
        arguments.insert("x-expires".into(), AMQPValue::LongInt(600_000));
        channel.queue_declare(name.into(), options, arguments).await.unwrap();
    }

    pub fn adapter(&self) -> &'static str {
        match self.wire {
            Wire::Nats(_) => "nats",
            Wire::Amqp { is_one: false, .. } => "amqp",
            Wire::Amqp { is_one: true, .. } => "amqp1",
        }
    }

    pub fn key(&self) -> String {
        format!("{}:{}", self.adapter(), self.name)
    }

    /// The settings of a consumer with small batches, so that there are several.
    pub fn settings(&self) -> Value {
        let (name, url) = (&self.name, &self.url);
        match self.wire {
            Wire::Nats(_) => {
                json!({ "url": url, "stream": name, "deadLetterSubject": format!("{name}-refused"),
                "batch": 7, "username": "punctual", "password": "nats-secret" })
            }
            Wire::Amqp { is_one: false, .. } => json!({ "url": url, "queue": name,
                "deadLetterQueue": format!("{name}-refused"), "batch": 7, "username": "punctual", "password": "rabbit-secret" }),
            Wire::Amqp { is_one: true, .. } => json!({ "url": url, "address": format!("/amq/queue/{name}"),
                "deadLetterAddress": format!("/amq/queue/{name}-refused"), "batch": 7, "username": "punctual",
                "password": "rabbit-secret" }),
        }
    }

    pub async fn structured(&self, event: &Value) {
        self.publish(Some("application/cloudevents+json; charset=utf-8"), &[], event.to_string()).await;
    }

    pub async fn batch(&self, events: &Value) {
        self.publish(Some("application/cloudevents-batch+json"), &[], events.to_string()).await;
    }

    pub async fn text(&self, text: &str) {
        self.publish(Some("text/plain"), &[], text.to_owned()).await;
    }

    /// The attributes in headers, and the data as the body.
    pub async fn binary(&self, event: &Value) {
        let prefix = if matches!(self.wire, Wire::Nats(_)) { "ce-" } else { "cloudEvents:" };
        let attributes = event.as_object().unwrap().iter().filter(|(name, _)| *name != "data");
        let headers: Vec<(String, String)> = attributes
            .map(|(name, value)| (format!("{prefix}{name}"), value.as_str().unwrap().to_owned()))
            .collect();
        self.publish(Some("application/json"), &headers, event["data"].to_string()).await;
    }

    async fn publish(&self, content_type: Option<&str>, headers: &[(String, String)], body: String) {
        match &self.wire {
            Wire::Nats(client) => {
                let mut own = async_nats::HeaderMap::new();
                headers.iter().for_each(|(name, value)| own.insert(name.as_str(), value.as_str()));
                content_type.into_iter().for_each(|kind| own.insert("Content-Type", kind));
                let stored = client.request_with_headers(self.name.clone(), own, body.into()).await.unwrap();
                assert!(!String::from_utf8_lossy(&stored.payload).contains("error"), "{stored:?}");
            }
            Wire::Amqp { is_one: true, .. } => {
                let mut own = Amqp1::open(&self.url).await;
                own.send(&format!("/amq/queue/{}", self.name), content_type, headers, body).await;
            }
            Wire::Amqp { channel, .. } => {
                let mut table = FieldTable::default();
                for (name, value) in headers {
                    table.insert(name.as_str().into(), AMQPValue::LongString(value.as_str().into()));
                }
                let mut properties = BasicProperties::default().with_headers(table).with_delivery_mode(2);
                if let Some(kind) = content_type {
                    properties = properties.with_content_type(kind.into());
                }
                let (exchange, key) = ("".into(), self.name.as_str().into());
                let options = BasicPublishOptions::default();
                channel.basic_publish(exchange, key, options, body.as_bytes(), properties).await.unwrap();
            }
        }
    }

    /// The dead letters, once there are so many; a moment later there are still no more.
    pub async fn dead_letters(&self, count: usize) -> Vec<Letter> {
        let letters = match &self.wire {
            Wire::Nats(client) => self.letters_of_stream(client, count).await,
            Wire::Amqp { is_one: true, .. } => {
                let mut own = Amqp1::open(&self.url).await;
                own.letters(&format!("/amq/queue/{}-refused", self.name), count).await
            }
            Wire::Amqp { channel, .. } => self.letters_of_queue(channel, count).await,
        };
        assert_eq!(letters.len(), count, "{letters:?}");
        letters
    }

    async fn letters_of_stream(&self, client: &async_nats::Client, count: usize) -> Vec<Letter> {
        let stream = format!("{}-refused", self.name);
        let inbox = client.new_inbox();
        let mut messages = client.subscribe(inbox.clone()).await.unwrap();
        let config = json!({ "deliver_subject": inbox, "ack_policy": "none", "deliver_policy": "all" });
        let wanted = json!({ "stream_name": stream, "config": config });
        ask(client, &format!("CONSUMER.CREATE.{stream}"), wanted).await;
        let mut letters = Vec::new();
        loop {
            let patience = Duration::from_secs(if letters.len() < count { 60 } else { 1 });
            let Ok(Some(message)) = tokio::time::timeout(patience, messages.next()).await else { break };
            let headers = message.headers.unwrap();
            let header = |name: &str| headers.get(name).unwrap().as_str().to_owned();
            let body = String::from_utf8(message.payload.to_vec()).unwrap();
            letters.push(Letter { code: header("punctual-code"), detail: header("punctual-detail"), body });
        }
        letters
    }

    async fn letters_of_queue(&self, channel: &lapin::Channel, count: usize) -> Vec<Letter> {
        let queue = format!("{}-refused", self.name);
        let mut letters = Vec::new();
        let mut rest = 600;
        while rest > 0 {
            let options = BasicGetOptions { no_ack: true };
            let Some(found) = channel.basic_get(queue.as_str().into(), options).await.unwrap() else {
                rest = if letters.len() < count { rest - 1 } else { rest.min(5) - 1 };
                // tidy-allow: a real broker on real time
                pause().await;
                continue;
            };
            let headers = found.delivery.properties.headers().clone().unwrap();
            let header = |name: &str| match &headers.inner()[name] {
                AMQPValue::LongString(text) => text.to_string(),
                other => panic!("{other:?}"),
            };
            let body = String::from_utf8(found.delivery.data.clone()).unwrap();
            letters.push(Letter { code: header("punctual-code"), detail: header("punctual-detail"), body });
        }
        letters
    }

    /// Whether everything was acknowledged.
    pub async fn is_empty(&self) -> bool {
        match &self.wire {
            Wire::Nats(client) => {
                let info = ask(client, &format!("CONSUMER.INFO.{}.punctual", self.name), json!({})).await;
                (&info["num_ack_pending"], &info["num_pending"]) == (&json!(0), &json!(0))
            }
            Wire::Amqp { channel, .. } => {
                let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
                let queue = channel.queue_declare(self.name.as_str().into(), passive, FieldTable::default());
                queue.await.unwrap().message_count() == 0
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a real broker on real time; there is no clock to set")]
async fn pause() {
    // tidy-allow: a real broker on real time
    tokio::time::sleep(Duration::from_millis(100)).await;
}

async fn ask(client: &async_nats::Client, what: &str, body: Value) -> Value {
    let answer = client.request(format!("$JS.API.{what}"), body.to_string().into()).await.unwrap();
    let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
    assert!(answer.get("error").is_none(), "{what}: {answer}");
    answer
}

//! Which of the brokers this build can speak to: each has a cargo feature of its own.

use std::sync::Arc;

use punctual_model::{AboutAdapter, Adapter, Setting, adapter_settings::Section};

use crate::{guard::Guard, provider::TIMEOUT, trust::Trust};

const USERNAME: Setting =
    Setting::text("username", "User name", "an account of the broker").section(Section::SignIn);
const PASSWORD: Setting =
    Setting::text("password", "Password", "the account's password").secret().section(Section::SignIn);

pub(crate) static NATS: AboutAdapter = AboutAdapter {
    title: "NATS JetStream",
    purpose: "publishes messages to a subject",
    types: &["nats"],
    settings: &[
        Setting::url("url", "URL", "the server, such as tls://nats.example.com").required(),
        Setting::text("subject", "Subject", "where to publish, such as surveys.answers").required(),
        Setting::text("stream", "Stream", "the stream that must take the message"),
        USERNAME,
        PASSWORD,
        Setting::text("token", "Token", "a token, in place of a user name").secret().section(Section::SignIn),
        Setting::text("nkeySeed", "NKey seed", "a user's seed, which starts with `SU`")
            .secret()
            .section(Section::SignIn),
        Setting::lines("credentials", "Credentials", "what a `.creds` file has, such as `file:nats.creds`")
            .secret()
            .section(Section::SignIn),
        TIMEOUT,
    ],
};

pub(crate) static AMQP: AboutAdapter = AboutAdapter {
    title: "AMQP 0.9.1",
    purpose: "publishes messages to RabbitMQ",
    types: &["amqp"],
    settings: &[
        Setting::url("url", "URL", "the broker, such as amqps://rabbit.example.com/vhost").required(),
        Setting::text("exchange", "Exchange", "where messages go, with a routing key"),
        Setting::text("routingKey", "Routing key", "the key for the exchange"),
        Setting::text("queue", "Queue", "a queue, in place of an exchange"),
        USERNAME,
        PASSWORD,
        Setting::flag("persistent", "Persistent", "whether messages survive a restart of the broker")
            .usually("true")
            .section(Section::Advanced),
        TIMEOUT,
    ],
};

pub(crate) static AMQP1: AboutAdapter = AboutAdapter {
    title: "AMQP 1.0",
    purpose: "sends messages to Azure Service Bus, ActiveMQ and others",
    types: &["amqp1"],
    settings: &[
        Setting::url("url", "URL", "the broker, such as amqps://bus.servicebus.windows.net").required(),
        Setting::text("address", "Address", "a queue, topic or other node, such as survey-answers")
            .required(),
        USERNAME,
        PASSWORD,
        Setting::text("virtualHost", "Virtual host", "the virtual host, as RabbitMQ has them")
            .section(Section::Advanced),
        TIMEOUT,
    ],
};

/// The adapters of brokers; in place of one that was left out is one that says so.
pub(crate) fn adapters(guard: &Guard, trust: &Trust) -> Vec<Arc<dyn Adapter>> {
    vec![nats(guard, trust), amqp(guard, trust), amqp1(guard, trust)]
}

#[cfg(feature = "nats")]
fn nats(guard: &Guard, trust: &Trust) -> Arc<dyn Adapter> {
    Arc::new(crate::NatsAdapter::new(guard.clone(), trust.clone()))
}

#[cfg(not(feature = "nats"))]
fn nats(_: &Guard, _: &Trust) -> Arc<dyn Adapter> {
    Arc::new(crate::DisabledAdapter::new("nats", "nats", &NATS))
}

#[cfg(feature = "amqp")]
fn amqp(guard: &Guard, trust: &Trust) -> Arc<dyn Adapter> {
    Arc::new(crate::AmqpAdapter::new(guard.clone(), trust.clone()))
}

#[cfg(not(feature = "amqp"))]
fn amqp(_: &Guard, _: &Trust) -> Arc<dyn Adapter> {
    Arc::new(crate::DisabledAdapter::new("amqp", "amqp", &AMQP))
}

#[cfg(feature = "amqp1")]
fn amqp1(guard: &Guard, trust: &Trust) -> Arc<dyn Adapter> {
    Arc::new(crate::Amqp1Adapter::new(guard.clone(), trust.clone()))
}

#[cfg(not(feature = "amqp1"))]
fn amqp1(_: &Guard, _: &Trust) -> Arc<dyn Adapter> {
    Arc::new(crate::DisabledAdapter::new("amqp1", "amqp1", &AMQP1))
}

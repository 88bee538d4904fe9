//! The brokers that this build supports: each has its own cargo feature.

pub(crate) mod consumers;

use std::sync::Arc;

use punctual_model::{AboutAdapter, Adapter, ConsumerAdapter, Setting, adapter_settings::Section};

use crate::{guard::Guard, provider::TIMEOUT, trust::Trust};

pub(crate) const USERNAME: Setting =
    Setting::text("username", "User name", "an account of the broker").section(Section::SignIn);
pub(crate) const PASSWORD: Setting =
    Setting::text("password", "Password", "the account's password").secret().section(Section::SignIn);

pub(crate) const TOKEN: Setting =
    Setting::text("token", "Token", "a token, in place of a user name").secret().section(Section::SignIn);
pub(crate) const NKEY_SEED: Setting =
    Setting::text("nkeySeed", "NKey seed", "a user's seed, which starts with `SU`")
        .secret()
        .section(Section::SignIn);
pub(crate) const CREDENTIALS: Setting =
    Setting::lines("credentials", "Credentials", "what a `.creds` file has, such as `file:nats.creds`")
        .secret()
        .section(Section::SignIn);

pub(crate) static NATS: AboutAdapter = AboutAdapter {
    title: "NATS JetStream",
    purpose: "publishes messages to a subject",
    types: &["nats"],
    example: r#"{"url":"tls://nats.example.com","subject":"surveys.answers"}"#,
    settings: &[
        Setting::url("url", "URL", "the server, such as tls://nats.example.com").required(),
        Setting::text("subject", "Subject", "where to publish, such as surveys.answers").required(),
        Setting::text("stream", "Stream", "the stream that must take the message"),
        USERNAME,
        PASSWORD,
        TOKEN,
        NKEY_SEED,
        CREDENTIALS,
        TIMEOUT,
    ],
};

pub(crate) static AMQP: AboutAdapter = AboutAdapter {
    title: "AMQP 0.9.1",
    purpose: "publishes messages to RabbitMQ",
    types: &["amqp"],
    example: r#"{"url":"amqps://rabbit.example.com","queue":"survey-answers"}"#,
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
    example: r#"{"url":"amqps://bus.example.com","address":"survey-answers"}"#,
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

/// The same for consumers.
pub(crate) fn consumer_adapters(guard: &Guard, trust: &Trust) -> Vec<Arc<dyn ConsumerAdapter>> {
    vec![nats_consumer(guard, trust), amqp_consumer(guard, trust), amqp1_consumer(guard, trust)]
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

#[cfg(feature = "nats")]
fn nats_consumer(guard: &Guard, trust: &Trust) -> Arc<dyn ConsumerAdapter> {
    Arc::new(crate::consume::nats::NatsConsumer::new(guard.clone(), trust.clone()))
}

#[cfg(not(feature = "nats"))]
fn nats_consumer(_: &Guard, _: &Trust) -> Arc<dyn ConsumerAdapter> {
    Arc::new(crate::disabled_consumer::DisabledConsumer::new("nats", &consumers::NATS))
}

#[cfg(feature = "amqp")]
fn amqp_consumer(guard: &Guard, trust: &Trust) -> Arc<dyn ConsumerAdapter> {
    Arc::new(crate::consume::amqp::AmqpConsumer::new(guard.clone(), trust.clone()))
}

#[cfg(not(feature = "amqp"))]
fn amqp_consumer(_: &Guard, _: &Trust) -> Arc<dyn ConsumerAdapter> {
    Arc::new(crate::disabled_consumer::DisabledConsumer::new("amqp", &consumers::AMQP))
}

#[cfg(feature = "amqp1")]
fn amqp1_consumer(guard: &Guard, trust: &Trust) -> Arc<dyn ConsumerAdapter> {
    Arc::new(crate::consume::amqp1::Amqp1Consumer::new(guard.clone(), trust.clone()))
}

#[cfg(not(feature = "amqp1"))]
fn amqp1_consumer(_: &Guard, _: &Trust) -> Arc<dyn ConsumerAdapter> {
    Arc::new(crate::disabled_consumer::DisabledConsumer::new("amqp1", &consumers::AMQP1))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Captured;

    /// Secrets of consumers are sealed again and found by what is known of the channels' adapters.
    #[test]
    fn a_consumer_has_the_secrets_of_the_channel_with_its_adapter() {
        let (guard, trust) = (Guard::new(Default::default()), Trust::platform());
        let channels = crate::adapters(&guard, &trust, &Arc::clone(&Captured::new()));
        for consumer in consumer_adapters(&guard, &trust) {
            let channel = channels.iter().find(|one| one.name() == consumer.name()).expect("the same broker");
            assert_eq!(channel.secret_fields(), consumer.secret_fields(), "{}", consumer.name());
        }
    }
}

//! Which of the brokers this build can speak to: each has a cargo feature of its own.

use std::sync::Arc;

use punctual_model::{Adapter, ConsumerAdapter};

use crate::{guard::Guard, trust::Trust};

pub(crate) const NATS_SECRETS: &[&str] = &["password", "token", "nkeySeed", "credentials"];
pub(crate) const AMQP_SECRETS: &[&str] = &["password"];

/// The adapters of brokers; in place of one that was left out is one that says so.
pub(crate) fn adapters(guard: &Guard, trust: &Trust) -> Vec<Arc<dyn Adapter>> {
    vec![nats(guard, trust), amqp(guard, trust), amqp1(guard, trust)]
}

/// The same for consumers.
pub(crate) fn consumers(guard: &Guard, trust: &Trust) -> Vec<Arc<dyn ConsumerAdapter>> {
    vec![nats_consumer(guard, trust), amqp_consumer(guard, trust), amqp1_consumer(guard, trust)]
}

#[cfg(feature = "nats")]
fn nats(guard: &Guard, trust: &Trust) -> Arc<dyn Adapter> {
    Arc::new(crate::NatsAdapter::new(guard.clone(), trust.clone()))
}

#[cfg(not(feature = "nats"))]
fn nats(_: &Guard, _: &Trust) -> Arc<dyn Adapter> {
    Arc::new(crate::DisabledAdapter::new("nats", "nats", NATS_SECRETS))
}

#[cfg(feature = "amqp")]
fn amqp(guard: &Guard, trust: &Trust) -> Arc<dyn Adapter> {
    Arc::new(crate::AmqpAdapter::new(guard.clone(), trust.clone()))
}

#[cfg(not(feature = "amqp"))]
fn amqp(_: &Guard, _: &Trust) -> Arc<dyn Adapter> {
    Arc::new(crate::DisabledAdapter::new("amqp", "amqp", AMQP_SECRETS))
}

#[cfg(feature = "amqp1")]
fn amqp1(guard: &Guard, trust: &Trust) -> Arc<dyn Adapter> {
    Arc::new(crate::Amqp1Adapter::new(guard.clone(), trust.clone()))
}

#[cfg(not(feature = "amqp1"))]
fn amqp1(_: &Guard, _: &Trust) -> Arc<dyn Adapter> {
    Arc::new(crate::DisabledAdapter::new("amqp1", "amqp1", AMQP_SECRETS))
}

#[cfg(feature = "nats")]
fn nats_consumer(guard: &Guard, trust: &Trust) -> Arc<dyn ConsumerAdapter> {
    Arc::new(crate::consume::nats::NatsConsumer::new(guard.clone(), trust.clone()))
}

#[cfg(not(feature = "nats"))]
fn nats_consumer(_: &Guard, _: &Trust) -> Arc<dyn ConsumerAdapter> {
    Arc::new(crate::disabled_consumer::DisabledConsumer::new("nats", NATS_SECRETS))
}

#[cfg(feature = "amqp")]
fn amqp_consumer(guard: &Guard, trust: &Trust) -> Arc<dyn ConsumerAdapter> {
    Arc::new(crate::consume::amqp::AmqpConsumer::new(guard.clone(), trust.clone()))
}

#[cfg(not(feature = "amqp"))]
fn amqp_consumer(_: &Guard, _: &Trust) -> Arc<dyn ConsumerAdapter> {
    Arc::new(crate::disabled_consumer::DisabledConsumer::new("amqp", AMQP_SECRETS))
}

#[cfg(feature = "amqp1")]
fn amqp1_consumer(guard: &Guard, trust: &Trust) -> Arc<dyn ConsumerAdapter> {
    Arc::new(crate::consume::amqp1::Amqp1Consumer::new(guard.clone(), trust.clone()))
}

#[cfg(not(feature = "amqp1"))]
fn amqp1_consumer(_: &Guard, _: &Trust) -> Arc<dyn ConsumerAdapter> {
    Arc::new(crate::disabled_consumer::DisabledConsumer::new("amqp1", AMQP_SECRETS))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Captured;

    /// Secrets of consumers are sealed anew and found by what is known of the channels' adapters.
    #[test]
    fn a_consumer_has_the_secrets_of_the_channel_with_its_adapter() {
        let (guard, trust) = (Guard::new(Default::default()), Trust::platform());
        let channels = crate::adapters(&guard, &trust, &Arc::clone(&Captured::new()));
        for consumer in consumers(&guard, &trust) {
            let channel = channels.iter().find(|one| one.name() == consumer.name()).expect("the same broker");
            assert_eq!(channel.secret_fields(), consumer.secret_fields(), "{}", consumer.name());
        }
    }
}

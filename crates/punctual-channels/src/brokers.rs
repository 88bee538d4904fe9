//! Which of the brokers this build can speak to: each has a cargo feature of its own.

use std::sync::Arc;

use punctual_model::Adapter;

use crate::{guard::Guard, trust::Trust};

pub(crate) const NATS_SECRETS: &[&str] = &["password", "token", "nkeySeed", "credentials"];
pub(crate) const AMQP_SECRETS: &[&str] = &["password"];

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

//! Channels: one adapter for each kind, and the guard that checks every outgoing call.
//!
//! An adapter checks a channel's settings when they are saved and opens a [`Channel`] from them. A channel holds its
//! own connections, knows no database and no clock (the time of an attempt is passed in with the message), and returns
//! a [`SendOutcome`] that says whether to retry. Retries, leases and limits are the engine's.
//!
//! Where to look: `smtp` for mail, `webhook` for HTTP, one file for each provider (`twilio`, `slack`, …) and `provider`
//! for what they share, `http` for the one way out over HTTP, `nats`, `amqp` and `amqp1` for message brokers and `broker`
//! for what these share (each comes with a cargo feature of its name), `captured` for what stays in memory (the memory
//! channel and the sandbox), `callback` for what providers report later, `oidc` for the
//! single sign-on of people, `guard` for the addresses that must not be reached,
//! `connect` for the connections themselves, `reach` for whether a destination answers, `trust` for certificates.
//!
//! [`Channel`]: punctual_model::Channel
//! [`SendOutcome`]: punctual_model::SendOutcome

#[cfg(feature = "amqp")]
pub mod amqp;
#[cfg(feature = "amqp1")]
pub mod amqp1;
#[cfg(any(feature = "nats", feature = "amqp", feature = "amqp1"))]
mod broker;
mod brokers;
pub mod callback;
pub mod captured;
mod connect;
#[cfg(any(feature = "nats", feature = "amqp", feature = "amqp1"))]
pub mod consume;
pub mod disabled_adapter;
mod disabled_consumer;
pub mod guard;
pub mod http;
pub mod in_process;
pub mod memory;
#[cfg(feature = "nats")]
pub mod nats;
pub mod oidc;
pub mod provider;
pub mod reach;
mod room;
pub mod sendgrid;
pub mod settings;
mod short_text;
pub mod slack;
pub mod sms_gateway;
pub mod smtp;
pub mod teams;
mod text;
pub mod trust;
pub mod twilio;
pub mod webhook;
pub mod whatsapp;

use std::sync::Arc;

use punctual_model::{AboutAdapter, Adapter, ConsumerAdapter};

#[cfg(feature = "amqp")]
pub use amqp::AmqpAdapter;
#[cfg(feature = "amqp1")]
pub use amqp1::Amqp1Adapter;
pub use captured::{Captured, CapturedChannel, Misbehaviour, Sent};
pub use disabled_adapter::DisabledAdapter;
pub use disabled_consumer::DisabledConsumer;
pub use guard::{AllowList, Guard};
pub use in_process::{Handler, InProcessAdapter};
pub use memory::MemoryAdapter;
#[cfg(feature = "nats")]
pub use nats::NatsAdapter;
pub use sendgrid::SendGridAdapter;
pub use slack::SlackAdapter;
pub use sms_gateway::SmsGatewayAdapter;
pub use smtp::SmtpAdapter;
pub use teams::TeamsAdapter;
pub use trust::Trust;
pub use twilio::TwilioAdapter;
pub use webhook::WebhookAdapter;
pub use whatsapp::{Dialog360Adapter, InfobipAdapter, WhatsAppCloudAdapter};

/// Every adapter there is. `memory` keeps what the memory channels are given.
pub fn adapters(guard: &Guard, trust: &Trust, memory: &Arc<Captured>) -> Vec<Arc<dyn Adapter>> {
    let brokers = brokers::adapters(guard, trust);
    let (guard, trust) = (|| guard.clone(), || trust.clone());
    let mut adapters: Vec<Arc<dyn Adapter>> = vec![
        Arc::new(MemoryAdapter::new(Arc::clone(memory))),
        Arc::new(InProcessAdapter::default()),
        Arc::new(SmtpAdapter::new(guard(), trust())),
        Arc::new(WebhookAdapter::new(guard(), trust())),
        Arc::new(SendGridAdapter::new(guard(), trust())),
        Arc::new(SlackAdapter::new(guard(), trust())),
        Arc::new(SmsGatewayAdapter::new(guard(), trust())),
        Arc::new(TeamsAdapter::new(guard(), trust())),
        Arc::new(TwilioAdapter::new(guard(), trust())),
        Arc::new(Dialog360Adapter::new(guard(), trust())),
        Arc::new(InfobipAdapter::new(guard(), trust())),
        Arc::new(WhatsAppCloudAdapter::new(guard(), trust())),
    ];
    adapters.extend(brokers);
    adapters
}

/// Every kind of broker that events can be taken from.
pub fn consumer_adapters(guard: &Guard, trust: &Trust) -> Vec<Arc<dyn ConsumerAdapter>> {
    brokers::consumer_adapters(guard, trust)
}

/// What each adapter of consumers says about itself, by its name, whether this build includes it or not.
pub fn described_consumers() -> Vec<(&'static str, &'static AboutAdapter)> {
    use brokers::consumers::{AMQP, AMQP1, NATS};
    vec![("amqp", &AMQP), ("amqp1", &AMQP1), ("nats", &NATS)]
}

/// What each adapter says about itself, by its name, whether this build includes it or not.
pub fn described() -> Vec<(&'static str, &'static AboutAdapter)> {
    fn of<P: provider::Provider>() -> (&'static str, &'static AboutAdapter) {
        (P::NAME, P::ABOUT)
    }
    let mut all: Vec<(&'static str, &'static AboutAdapter)> = vec![
        ("amqp", &brokers::AMQP),
        ("amqp1", &brokers::AMQP1),
        ("in-process", &in_process::ABOUT),
        ("memory", &memory::ABOUT),
        ("nats", &brokers::NATS),
        ("smtp", &smtp::ABOUT),
        ("webhook", &webhook::ABOUT),
        of::<sendgrid::SendGrid>(),
        of::<slack::Slack>(),
        of::<sms_gateway::SmsGateway>(),
        of::<teams::Teams>(),
        of::<twilio::Twilio>(),
        of::<whatsapp::Dialog360>(),
        of::<whatsapp::Infobip>(),
        of::<whatsapp::WhatsAppCloud>(),
    ];
    all.sort_by_key(|(name, _)| *name);
    all
}

/// A message for tests of what is made from one.
#[cfg(test)]
fn test_message() -> punctual_model::Outgoing {
    punctual_model::Outgoing {
        notification: "00000000-0000-0000-0000-000000000007".parse().unwrap(),
        channel: punctual_model::ChannelKey::memory(),
        address: "ops".to_owned(),
        attempt: 1,
        message_id: "msg-7".to_owned(),
        kind: "message".to_owned(),
        subject: "Subject".to_owned(),
        body: "Body".to_owned(),
        html: None,
        type_data: None,
        locale: None,
        context: None,
        attachments: Vec::new(),
        envelope: punctual_model::Envelope::default(),
        unsubscribe: None,
        at: "2026-11-03T08:30:00Z".parse().unwrap(),
    }
}

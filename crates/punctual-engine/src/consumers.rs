//! Consumers: receive events from streams and queues of message brokers.
//!
//! Consumers are defined like channels. Each worker node runs every active consumer; the broker delivers each message to one of
//! them. A batch of messages passes the same intake as a request and is acknowledged after the commit. Redelivered events are
//! recognised by source and id; refused ones go to the dead letters with a reason.

mod health;
mod run;
mod take;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use punctual_model::{
    AboutAdapter, Adapter, Channel, Consumer, ConsumerAdapter, DeadLetter, DuplicateKey, Received, Registry,
    SettingsFault,
};
use punctual_store::consumers::ConsumerRow;
use serde_json::Value;
use tokio::sync::Notify;

pub use health::{ConsumerHealth, ConsumerState};
pub use take::TakenOnce;

use crate::{Actor, CommandError, Engine, EngineError, channels::consumer_as_channel};

/// The outcome of the events of one message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageTaken {
    pub accepted: u64,
    /// Those that were taken before.
    pub duplicates: u64,
    pub refused: Vec<DeadLetter>,
}

/// Reads the events of messages and has them taken. What events mean is for workflows, so that theirs is handed in.
pub trait EventIntake: Send + Sync {
    /// Takes the events of these messages, in their order; returns the outcome of each message. An error is one of the
    /// database, and nothing is lost if the same messages come again.
    fn take<'a>(
        &'a self,
        by: &'a Actor,
        messages: &'a [Received],
    ) -> BoxFuture<'a, Result<Vec<MessageTaken>, EngineError>>;
}

/// The kinds of brokers that events can be taken from, and the wake-up of this node's consumers.
pub struct Consumers {
    adapters: Registry<Arc<dyn ConsumerAdapter>>,
    /// A definition was written here.
    written: Notify,
}

impl Consumers {
    pub(crate) fn new(adapters: Vec<Arc<dyn ConsumerAdapter>>) -> Result<Self, DuplicateKey> {
        let mut registry = Registry::new("adapters of consumers");
        for adapter in adapters {
            registry.add(adapter.name(), adapter)?;
        }
        Ok(Self { adapters: registry, written: Notify::new() })
    }

    pub fn adapter(&self, name: &str) -> Option<&Arc<dyn ConsumerAdapter>> {
        self.adapters.get(name)
    }

    /// Every adapter that this build has, by name.
    pub fn usable_adapters(&self) -> impl Iterator<Item = &Arc<dyn ConsumerAdapter>> {
        let all = self.adapters.keys().filter_map(|name| self.adapters.get(name));
        all.filter(|adapter| adapter.disabled_reason().is_none())
    }

    /// The next look at the table is now.
    pub fn invalidate(&self) {
        self.written.notify_one();
    }
}

impl Engine {
    /// The adapter of this name, if this build has it.
    pub(crate) fn usable_consumer_adapter(
        &self,
        name: &str,
    ) -> Result<&Arc<dyn ConsumerAdapter>, CommandError> {
        let refused = |detail: String| CommandError::invalid("/adapter", "out_of_range", detail);
        let adapter = self.consumers.adapters.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.consumers.adapters.keys().collect();
            refused(format!("There is no such adapter; there are `{}`.", known.join("`, `")))
        })?;
        match adapter.disabled_reason() {
            Some(why) => Err(refused(format!("There is no such adapter here: {why}."))),
            None => Ok(adapter),
        }
    }

    /// Opens a consumer with its secrets as they are now; why it cannot be where it cannot.
    fn open_consumer(&self, row: &ConsumerRow) -> Result<Arc<dyn Consumer>, String> {
        let adapter = self.usable_consumer_adapter(&row.adapter);
        let adapter = adapter.map_err(|_| format!("there is no adapter `{}` here", row.adapter))?;
        let mut settings: Value = serde_json::from_str(&row.settings).map_err(|error| error.to_string())?;
        self.channels
            .fill_in(&consumer_as_channel(row), &adapter.secret_fields(), &mut settings)
            .map_err(|broken| broken.why)?;
        adapter.open(&settings).map_err(|fault| fault.to_string())
    }
}

/// The settings of a consumer, in the form in which channel settings are completed, checked and sealed. Nothing is sent over
/// it.
pub(crate) struct ReceivingAdapter<'a>(pub &'a dyn ConsumerAdapter);

impl Adapter for ReceivingAdapter<'_> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn check(&self, settings: &Value) -> Vec<SettingsFault> {
        self.0.check(settings)
    }

    fn check_destination<'a>(&'a self, settings: &'a Value) -> BoxFuture<'a, Vec<SettingsFault>> {
        self.0.check_destination(settings)
    }

    fn open(&self, _settings: &Value) -> Result<Arc<dyn Channel>, SettingsFault> {
        let detail = "a consumer takes events and sends nothing".to_owned();
        Err(SettingsFault { pointer: String::new(), code: "out_of_range", detail })
    }

    fn about(&self) -> &'static AboutAdapter {
        self.0.about()
    }

    fn destination_fields(&self) -> &'static [&'static str] {
        self.0.destination_fields()
    }

    fn check_address(&self, _address: &str) -> Result<(), String> {
        Err("a consumer has no addresses".to_owned())
    }
}

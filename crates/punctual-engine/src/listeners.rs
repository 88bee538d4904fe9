//! In-process listeners: called when a schedule arrives on a topic.

use std::sync::Arc;

use punctual_model::{Arrival, DuplicateKey, Registry};

/// Called at least once for each arrival; the arrival's id is the same every time. It must return quickly: longer work
/// belongs into a work row of its own.
pub trait Listener: Send + Sync {
    /// An error queues the row again under its retry policy.
    fn arrived(&self, arrival: &Arrival) -> Result<(), String>;
}

impl<F: Fn(&Arrival) -> Result<(), String> + Send + Sync> Listener for F {
    fn arrived(&self, arrival: &Arrival) -> Result<(), String> {
        self(arrival)
    }
}

/// One listener a topic; a topic that ends in `*` takes every topic with that beginning.
#[derive(Clone)]
pub struct Listeners(Registry<Arc<dyn Listener>>);

impl Default for Listeners {
    fn default() -> Self {
        Self(Registry::new("listeners"))
    }
}

impl Listeners {
    pub fn add(&mut self, topic: &str, listener: Arc<dyn Listener>) -> Result<(), DuplicateKey> {
        self.0.add(topic, listener)
    }

    /// Calls every listener of the topic. A topic without listeners is no error.
    pub(crate) fn publish(&self, arrival: &Arrival) -> Result<(), String> {
        for (topic, listener) in self.0.iter() {
            let matches = match topic.strip_suffix('*') {
                Some(beginning) => arrival.topic.starts_with(beginning),
                None => arrival.topic == topic,
            };
            if matches {
                listener.arrived(arrival)?;
            }
        }
        Ok(())
    }
}

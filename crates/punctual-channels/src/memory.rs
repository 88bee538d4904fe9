//! The memory channel: keeps messages in memory, for trials and tests.

use std::sync::Arc;

use punctual_model::{AboutAdapter, Adapter, Channel, SettingsFault};

use crate::{
    captured::{Captured, CapturedChannel},
    settings::{Reader, first},
};

pub(crate) const ABOUT: AboutAdapter = AboutAdapter {
    title: "Memory",
    purpose: "keeps messages in this process, for trying things out",
    types: &["memory"],
    example: "{}",
    settings: &[],
};

/// The adapter `memory`; all its channels share one store.
#[derive(Clone, Debug)]
pub struct MemoryAdapter(Arc<Captured>);

impl MemoryAdapter {
    pub fn new(store: Arc<Captured>) -> Self {
        Self(store)
    }

    /// What its channels were given.
    pub fn captured(&self) -> &Arc<Captured> {
        &self.0
    }
}

impl Adapter for MemoryAdapter {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn about(&self) -> &'static AboutAdapter {
        &ABOUT
    }

    fn check(&self, settings: &serde_json::Value) -> Vec<SettingsFault> {
        // A channel without settings is the usual case.
        if settings.is_null() {
            return Vec::new();
        }
        Reader::new(settings, &ABOUT).finish(Some(())).err().unwrap_or_default()
    }

    fn open(&self, settings: &serde_json::Value) -> Result<Arc<dyn Channel>, SettingsFault> {
        match self.check(settings) {
            faults if faults.is_empty() => Ok(Arc::new(CapturedChannel::new(Arc::clone(&self.0)))),
            faults => Err(first(faults)),
        }
    }

    fn check_address(&self, address: &str) -> Result<(), String> {
        if address.is_empty() || address.chars().any(char::is_control) {
            return Err("an address is a text of one line".to_owned());
        }
        Ok(())
    }
}

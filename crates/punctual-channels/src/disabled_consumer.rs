//! Consumers of brokers that this build does not include.

use std::sync::Arc;

use punctual_model::{AboutAdapter, Consumer, ConsumerAdapter, SettingsFault};
use serde_json::Value;

/// An adapter that is not part of this build: saving a consumer with it is refused with the feature that adds it.
pub struct DisabledConsumer {
    name: &'static str,
    about: &'static AboutAdapter,
}

impl DisabledConsumer {
    pub fn new(name: &'static str, about: &'static AboutAdapter) -> Self {
        Self { name, about }
    }

    fn why(&self) -> String {
        let name = self.name;
        format!("this build has no adapter `{name}`: it comes with `cargo build --release --features {name}`")
    }

    fn fault(&self) -> SettingsFault {
        SettingsFault { pointer: String::new(), code: "out_of_range", detail: self.why() }
    }
}

impl ConsumerAdapter for DisabledConsumer {
    fn name(&self) -> &'static str {
        self.name
    }

    fn disabled_reason(&self) -> Option<String> {
        Some(self.why())
    }

    fn check(&self, _settings: &Value) -> Vec<SettingsFault> {
        vec![self.fault()]
    }

    fn open(&self, _settings: &Value) -> Result<Arc<dyn Consumer>, SettingsFault> {
        Err(self.fault())
    }

    fn about(&self) -> &'static AboutAdapter {
        self.about
    }
}

//! Adapters that this build does not include: saving a channel with one is refused with the feature that adds it.

use std::sync::Arc;

use punctual_model::{AboutAdapter, Adapter, Channel, SettingsFault};
use serde_json::Value;

/// An adapter that is not part of this build.
pub struct DisabledAdapter {
    name: &'static str,
    /// The cargo feature that adds it.
    feature: &'static str,
    /// Its settings: the secrets among those that another build saved stay hidden here too.
    about: &'static AboutAdapter,
}

impl DisabledAdapter {
    pub fn new(name: &'static str, feature: &'static str, about: &'static AboutAdapter) -> Self {
        Self { name, feature, about }
    }

    fn why(&self) -> String {
        let Self { name, feature, .. } = self;
        format!(
            "this build has no adapter `{name}`: it comes with `cargo build --release --features {feature}`"
        )
    }

    fn fault(&self) -> SettingsFault {
        SettingsFault { pointer: String::new(), code: "out_of_range", detail: self.why() }
    }
}

impl Adapter for DisabledAdapter {
    fn name(&self) -> &'static str {
        self.name
    }

    fn disabled_reason(&self) -> Option<String> {
        Some(self.why())
    }

    fn check(&self, _settings: &Value) -> Vec<SettingsFault> {
        vec![self.fault()]
    }

    fn open(&self, _settings: &Value) -> Result<Arc<dyn Channel>, SettingsFault> {
        Err(self.fault())
    }

    fn about(&self) -> &'static AboutAdapter {
        self.about
    }

    fn check_address(&self, _address: &str) -> Result<(), String> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disabled_adapter_says_which_build_has_it() {
        let adapter = DisabledAdapter::new("nats", "nats", &crate::brokers::AMQP1);
        let fault = adapter.check(&serde_json::json!({})).remove(0);
        assert!(fault.detail.contains("--features nats"), "{fault}");
        assert!(adapter.open(&serde_json::json!({})).is_err());
        assert!(adapter.disabled_reason().is_some());
        assert_eq!(adapter.secret_fields(), ["password"]);
    }
}

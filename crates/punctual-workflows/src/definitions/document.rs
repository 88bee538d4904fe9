//! One exported definition, and the list of its secrets that are not exported.

use std::collections::BTreeMap;

use punctual_engine::{Engine, settings::stored_secret};
use punctual_model::{Secret, SecretReference};
use punctual_store::channels::ChannelRow;
use punctual_wire::definitions::DefinitionKind;
use serde_json::{Map, Value};

/// Definitions by kind and id.
pub type Bundle = BTreeMap<DefinitionKind, BTreeMap<String, Document>>;

/// A definition. Two are equal where their secrets are too, though these are never shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    value: Value,
    /// The sealed secrets among its settings, opened.
    secrets: BTreeMap<String, Secret>,
}

impl Document {
    /// A field that is absent is left out.
    pub(super) fn new(value: Value) -> Self {
        Self::with_secrets(value, BTreeMap::new())
    }

    pub(super) fn with_secrets(mut value: Value, secrets: BTreeMap<String, Secret>) -> Self {
        if let Some(fields) = value.as_object_mut() {
            fields.retain(|_, field| !field.is_null());
        }
        Self { value, secrets }
    }

    /// What may be shown.
    pub fn value(&self) -> &Value {
        &self.value
    }

    pub fn into_value(self) -> Value {
        self.value
    }

    pub(super) fn secrets(&self) -> &BTreeMap<String, Secret> {
        &self.secrets
    }
}

/// The settings of a channel as they are shown, and the secrets that are sealed in them. References stay.
pub(super) fn shown_settings(engine: &Engine, row: &ChannelRow) -> (Value, BTreeMap<String, Secret>) {
    let mut settings: Map<String, Value> = serde_json::from_str(&row.settings).unwrap_or_default();
    let opened = engine.channels.opened_settings(row);
    let adapter = engine.channels.adapter(&row.adapter);
    let mut secrets = BTreeMap::new();
    for (name, value) in &mut settings {
        // Without its adapter nobody knows which settings are secret, so that none is shown.
        let is_secret = adapter.is_none_or(|adapter| adapter.secret_fields().contains(&name.as_str()));
        if !is_secret || value.as_str().is_some_and(SecretReference::is_meant) {
            continue;
        }
        let text = opened.get(name).map(|open| open.as_str().map_or_else(|| open.to_string(), str::to_owned));
        secrets.insert(name.clone(), Secret::new(text.unwrap_or_default()));
        *value = stored_secret();
    }
    (Value::Object(settings), secrets)
}

//! One definition as it is exported, and beside it the secrets that are not.

use std::collections::BTreeMap;

use punctual_engine::{CommandError, Engine};
use punctual_model::{Fault, Secret, SecretReference};
use punctual_store::channels::ChannelRow;
use punctual_wire::definitions::DefinitionKind;
use serde_json::{Map, Value, json};

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

/// What stands for a secret that is set and not shown.
pub(super) fn set() -> Value {
    json!({ "set": true })
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
        *value = set();
    }
    (Value::Object(settings), secrets)
}

/// The settings as the command takes them: what is marked as set is left out, so that it is kept. A mark for what is not
/// there is a fault.
pub(super) fn given_settings(mut settings: Value, before: Option<&Document>) -> Result<Value, CommandError> {
    let mut faults = Vec::new();
    if let Some(fields) = settings.as_object_mut() {
        fields.retain(|name, value| {
            if *value != set() {
                return true;
            }
            if !before.is_some_and(|before| before.secrets.contains_key(name)) {
                let detail = format!(
                    "The server has no `{name}` of this definition; give it, or a reference such as `env:NAME` or `file:NAME`."
                );
                faults.push(Fault::new(format!("/settings/{name}"), "secret_required", detail));
            }
            false
        });
    }
    if faults.is_empty() { Ok(settings) } else { Err(CommandError::Invalid(faults)) }
}

//! Stores the settings of channels, subscribers and consumers; no other code writes them.
//!
//! A secret that is left out, or marked as stored, is kept, unless its destination changed. A reference must be one that this
//! node can resolve. The adapter checks the settings, and secrets are sealed.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{Adapter, SecretReference, SettingsFault};
use punctual_store::{Conn, StoreError, channels::ChannelRow};
use serde_json::{Map, Value, json};

use crate::{
    Engine, SecretsError,
    kept_secret::{GivenForElsewhere, GivenSecret},
};

/// The placeholder for a stored secret; sending it back keeps the secret.
pub fn stored_secret() -> Value {
    json!({ "set": true })
}

/// What somebody wants to store.
pub struct NewSettings<'a> {
    /// The channel, or the subscriber as the channel over which it gets events.
    pub channel: &'a str,
    pub adapter: &'a dyn Adapter,
    pub settings: Value,
    /// What is stored now.
    pub before: Option<&'a ChannelRow>,
}

/// Why settings were not stored.
#[derive(Debug, thiserror::Error)]
pub enum SettingsRefused {
    #[error("the settings have faults")]
    Faults(Vec<SettingsFault>),
    #[error(transparent)]
    Secrets(#[from] SecretsError),
}

impl From<StoreError> for SettingsRefused {
    fn from(error: StoreError) -> Self {
        Self::Secrets(error.into())
    }
}

impl Engine {
    /// The settings as they are stored: completed, checked and sealed.
    #[boxed]
    pub async fn settings_to_store(
        &self,
        conn: &mut Conn<'_>,
        now: Timestamp,
        new: NewSettings<'_>,
    ) -> Result<String, SettingsRefused> {
        let NewSettings { channel, adapter, settings, before } = new;
        let old = before.map(|before| self.channels.opened_settings(before));
        let same_adapter = before.is_some_and(|before| before.adapter == adapter.name());
        let settings = with_kept_secrets(settings, old.as_ref(), same_adapter, adapter)
            .map_err(SettingsRefused::Faults)?;
        let mut faults = self.reference_faults(adapter, &settings);
        faults.extend(adapter.check(&settings));
        if !faults.is_empty() {
            return Err(SettingsRefused::Faults(faults));
        }
        let settings = settings.as_object().cloned().unwrap_or_default();
        let settings = self.seal_settings(conn, now, channel, adapter, settings).await?;
        Ok(Value::Object(settings).to_string())
    }

    /// Every secret that is meant as a reference and is none that this node can look up.
    fn reference_faults(&self, adapter: &dyn Adapter, settings: &Value) -> Vec<SettingsFault> {
        let mut faults = Vec::new();
        for field in adapter.secret_fields() {
            let text = settings.get(field).and_then(Value::as_str);
            let detail = match text.and_then(SecretReference::parse) {
                None => continue,
                Some(Err(fault)) => format!("{fault}."),
                Some(Ok(reference)) => match self.channels.refusal(&reference) {
                    None => continue,
                    Some(refusal) => refusal,
                },
            };
            faults.push(SettingsFault { pointer: format!("/{field}"), code: "secret_reference", detail });
        }
        faults
    }
}

/// The settings with the secrets that were left out; null takes one away. A fault for each that would be sent to
/// another place than it was given for.
fn with_kept_secrets(
    mut settings: Value,
    old: Option<&Map<String, Value>>,
    same_adapter: bool,
    adapter: &dyn Adapter,
) -> Result<Value, Vec<SettingsFault>> {
    let Some(fields) = settings.as_object_mut() else { return Ok(settings) };
    let secrets = adapter.secret_fields();
    let is_moved = !same_adapter || old.is_some_and(|old| is_moved(fields, old, adapter));
    let mut faults = Vec::new();
    for secret in secrets {
        let stored = old.and_then(|old| old.get(secret)).cloned();
        let given = match fields.remove(secret) {
            None => GivenSecret::LeftOut,
            Some(Value::Null) => GivenSecret::TakenAway,
            Some(Value::Object(mark)) => {
                faults.extend(mark_faults(secret, &mark, stored.is_some()));
                GivenSecret::LeftOut
            }
            Some(given) => GivenSecret::Given(given),
        };
        match given.over(stored, is_moved) {
            Ok(None) => {}
            Ok(Some(secret_to_store)) => drop(fields.insert(secret.to_owned(), secret_to_store)),
            Err(GivenForElsewhere) => faults.push(SettingsFault {
                pointer: format!("/{secret}"),
                code: "secret_required",
                detail: format!(
                    "The channel sends to another place than before, so `{secret}` must be given again; null takes it away."
                ),
            }),
        }
    }
    if faults.is_empty() { Ok(settings) } else { Err(faults) }
}

/// What is wrong with an object in place of a secret: it is the mark of one that is stored, or nothing.
fn mark_faults(secret: &str, mark: &Map<String, Value>, is_stored: bool) -> Vec<SettingsFault> {
    let fault = |pointer: String, code: &'static str, detail: String| SettingsFault { pointer, code, detail };
    let mut faults: Vec<SettingsFault> = mark
        .keys()
        .filter(|name| *name != "set")
        .map(|name| {
            let detail =
                format!("`{name}` is not known here; a secret that is stored is `{{\"set\": true}}`.");
            fault(
                format!("/{secret}/{}", name.replace('~', "~0").replace('/', "~1")),
                "unknown_field",
                detail,
            )
        })
        .collect();
    if mark.get("set") != Some(&Value::Bool(true)) {
        let detail =
            format!("`{secret}` takes text, null, or `{{\"set\": true}}` for the one that is stored.");
        faults.push(fault(format!("/{secret}"), "wrong_type", detail));
    } else if !is_stored {
        let detail = format!(
            "The server has no `{secret}` of this definition; give it, or a reference such as `env:NAME` or `file:NAME`."
        );
        faults.push(fault(format!("/{secret}"), "secret_required", detail));
    }
    faults
}

/// The settings without marks of what is stored, for who looks at them before it is known what is.
pub(crate) fn unmarked(settings: &Value, adapter: &dyn Adapter) -> Value {
    let mut settings = settings.clone();
    if let Some(fields) = settings.as_object_mut() {
        let secrets = adapter.secret_fields();
        fields.retain(|name, value| !(value.is_object() && secrets.contains(&name.as_str())));
    }
    settings
}

/// Whether a setting that decides where secrets go is another one now.
fn is_moved(new: &Map<String, Value>, old: &Map<String, Value>, adapter: &dyn Adapter) -> bool {
    let secrets = adapter.secret_fields();
    adapter.destination_fields().iter().any(|field| {
        let (new, old) = (new.get(*field), old.get(*field));
        match new {
            // A secret address that is left out or marked is kept.
            None | Some(Value::Object(_)) if secrets.contains(field) => false,
            _ => new.filter(|value| !value.is_null()) != old.filter(|value| !value.is_null()),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use punctual_model::Channel;
    use serde_json::json;

    use super::*;

    /// An adapter whose address is a secret itself, beside a token.
    struct Secretive;

    impl Adapter for Secretive {
        fn name(&self) -> &'static str {
            "secretive"
        }
        fn check(&self, _settings: &Value) -> Vec<SettingsFault> {
            Vec::new()
        }
        fn open(&self, _settings: &Value) -> Result<Arc<dyn Channel>, SettingsFault> {
            Err(SettingsFault { pointer: String::new(), code: "out_of_range", detail: String::new() })
        }
        fn secret_fields(&self) -> Vec<&'static str> {
            vec!["url", "token"]
        }
        fn check_address(&self, _address: &str) -> Result<(), String> {
            Ok(())
        }
    }

    fn kept(given: Value, old: Value, same_adapter: bool) -> Result<Value, Vec<String>> {
        let old = old.as_object().cloned();
        with_kept_secrets(given, old.as_ref(), same_adapter, &Secretive)
            .map_err(|faults| faults.into_iter().map(|fault| fault.pointer).collect())
    }

    #[test]
    fn t12_a_mark_keeps_what_is_stored_and_nothing_else() {
        let old = json!({"url": "u", "token": "t", "port": 1});
        let refused = |pointers: &[&str]| Err(pointers.iter().map(|one| (*one).to_owned()).collect());
        let cases = [
            (json!({"port": 1, "token": {"set": true}}), Ok(json!({"port": 1, "url": "u", "token": "t"}))),
            (
                json!({"port": 1, "url": {"set": true}, "token": {"set": true}}),
                Ok(json!({"port": 1, "url": "u", "token": "t"})),
            ),
            (json!({"port": 2, "url": null, "token": {"set": true}}), refused(&["/token"])),
            (json!({"port": 1, "token": {"set": false}}), refused(&["/token"])),
            (json!({"port": 1, "token": {"set": true, "o/t": 1}}), refused(&["/token/o~1t"])),
        ];
        for (given, expected) in cases {
            assert_eq!(kept(given.clone(), old.clone(), true), expected, "{given}");
        }
        assert_eq!(kept(json!({"token": {"set": true}}), json!({}), true), refused(&["/token"]));
    }

    #[test]
    fn t12_a_kept_secret_goes_nowhere_else() {
        let old = json!({"url": "u", "token": "t", "port": 1, "from": "a"});
        let refused = |pointers: &[&str]| Err(pointers.iter().map(|one| (*one).to_owned()).collect());
        let cases = [
            (json!({"port": 1}), true, Ok(json!({"port": 1, "url": "u", "token": "t"}))),
            (json!({"port": 1, "from": "b", "url": null}), true, refused(&["/token"])),
            (json!({"port": 2}), true, refused(&["/url", "/token"])),
            (json!({}), true, refused(&["/url", "/token"])),
            (json!({"port": 1, "host": "h"}), true, refused(&["/url", "/token"])),
            (json!({"port": 1, "url": "other"}), true, refused(&["/token"])),
            (json!({"port": 1, "url": "u"}), true, Ok(json!({"port": 1, "url": "u", "token": "t"}))),
            (json!({"port": 1, "url": "o", "token": null}), true, Ok(json!({"port": 1, "url": "o"}))),
            (
                json!({"port": 2, "url": "u", "token": "t"}),
                true,
                Ok(json!({"port": 2, "url": "u", "token": "t"})),
            ),
            (json!({"port": 1}), false, refused(&["/url", "/token"])),
        ];
        for (given, same_adapter, expected) in cases {
            assert_eq!(kept(given.clone(), old.clone(), same_adapter), expected, "{given}");
        }
    }
}

//! Secrets of channels in the database: sealed when they are written, opened when a channel is, sealed again on request.
//!
//! Which master key is in use is recorded in the database, by its id: a node that does not have it must not start, and a
//! new key is used only when a person says so, after every node has it.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{Adapter, AuditAction, SecretReference};
use punctual_store::{
    Conn, Lane, Store, StoreError, Tx,
    audit::{self, ChainRow},
    channels::{self, ChannelRow},
    consumers::{self, ConsumerRow},
    facts,
    subscribers::{self, SubscriberRow},
};
use serde_json::{Map, Value};

use crate::{
    Actor, Engine,
    audit_chain::LOST_KEY,
    channels::{defined, reseal},
    keys::OPERATOR,
    vault::{Place, Vault, VaultError, sealed_with},
};

/// The fact with the id of the master key in use.
const FACT: &str = "master-key";

/// Why secrets cannot be handled.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    #[error("the store failed")]
    Store(#[from] StoreError),
    #[error(transparent)]
    Vault(#[from] VaultError),
    #[error(
        "this database uses the master key `{needed}`, and this node has {have} (from {place}); every \
         node needs the same key: give it with --master-key-file or PUNCTUAL_MASTER_KEY"
    )]
    OtherKey { needed: String, have: String, place: String },
    #[error(
        "other nodes may use this database: put a new key in front of the present one on every node, then ask again \
         without a new one"
    )]
    SeveralNodes,
}

/// What was sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    pub key_id: String,
    /// How many channels were written.
    pub channels: usize,
}

impl Engine {
    /// At start: makes sure that this node has the key in use, and seals what an earlier version left open.
    #[boxed]
    pub async fn adopt_master_key(&self, now: Timestamp) -> Result<Sealed, SecretsError> {
        let mut reader = self.store.read().await?;
        let mut needed: Vec<String> = facts::get(&mut reader.conn(), FACT).await?.into_iter().collect();
        let rows = defined(&mut reader.conn()).await?;
        drop(reader);
        let is_adopted = !needed.is_empty();
        needed.extend(rows.iter().flat_map(sealed_ids));
        if let Some(missing) = needed.iter().find(|id| !self.vault.has(id)) {
            return Err(self.other_key(missing.clone()));
        }
        let is_open = |row: &ChannelRow| {
            let adapter = self.channels.adapter(&row.adapter);
            adapter.is_some_and(|adapter| has_open_secret(row, adapter.as_ref()))
        };
        if let (true, Some(key_id)) = (is_adopted && !rows.iter().any(is_open), needed.first()) {
            return Ok(Sealed { key_id: key_id.clone(), channels: 0 });
        }
        // What was stored in the clear must not stay behind in the file or in its log.
        self.store.overwrite_deleted(true).await?;
        let sealed = self.seal_open(now).await;
        self.store.overwrite_deleted(false).await?;
        let sealed = sealed?;
        if sealed.channels > 0 {
            self.store.shrink_log().await?;
        }
        Ok(sealed)
    }

    async fn seal_open(&self, now: Timestamp) -> Result<Sealed, SecretsError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        let key_id = self.key_in_use(&mut tx.conn(), now).await?;
        if !self.vault.has(&key_id) {
            return Err(self.other_key(key_id));
        }
        let channels = self.seal_all(&mut tx, &key_id, |text| sealed_with(text).is_none()).await?;
        tx.commit().await?;
        Ok(Sealed { key_id, channels })
    }

    /// Seals everything with the first key there is; with `new_key` one is made first.
    #[boxed]
    pub async fn rekey(&self, by: &Actor, new_key: bool) -> Result<Sealed, SecretsError> {
        if new_key && !self.store.is_single_process() {
            return Err(SecretsError::SeveralNodes);
        }
        if new_key {
            self.vault.add_key()?;
        } else {
            self.vault.reload()?;
        }
        let key_id = self.vault.key_ids().into_iter().next().ok_or(VaultError::NoKey)?;
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        facts::put(&mut tx.conn(), now, FACT, &key_id).await?;
        let channels = self.seal_all(&mut tx, &key_id, |text| sealed_with(text) != Some(&key_id)).await?;
        by.audit(&mut tx, now, AuditAction::Rekey, "master-key", &key_id, None).await?;
        tx.commit().await?;
        Ok(Sealed { key_id, channels })
    }

    /// The settings of a channel with their secrets sealed; references stay what they are.
    pub(crate) async fn seal_settings(
        &self,
        conn: &mut Conn<'_>,
        now: Timestamp,
        channel: &str,
        adapter: &dyn Adapter,
        mut settings: Map<String, Value>,
    ) -> Result<Map<String, Value>, SecretsError> {
        let key_id = self.key_in_use(conn, now).await?;
        for (place, value) in secrets_of(channel, adapter, &mut settings) {
            if let Some(text) = value.as_str().filter(|text| !SecretReference::is_meant(text)) {
                *value = self.vault.seal(&key_id, place, text)?.into();
            }
        }
        Ok(settings)
    }

    /// The key to seal with: what the database says; the first key there is where it says nothing yet.
    async fn key_in_use(&self, conn: &mut Conn<'_>, now: Timestamp) -> Result<String, SecretsError> {
        if let Some(key_id) = facts::get(conn, FACT).await? {
            return Ok(key_id);
        }
        let first = self.vault.key_ids().into_iter().next().ok_or(VaultError::NoKey)?;
        // Of two nodes that start on an empty database one comes first, and the other reads what it wrote.
        facts::keep(conn, now, FACT, &first).await?;
        Ok(facts::get(conn, FACT).await?.unwrap_or(first))
    }

    /// Seals what `is_old` says of every channel. A definition that is changed meanwhile is sealed by that change.
    async fn seal_all(
        &self,
        tx: &mut Tx,
        key_id: &str,
        is_old: impl Fn(&str) -> bool,
    ) -> Result<usize, SecretsError> {
        let mut written = 0;
        for row in defined(&mut tx.conn()).await? {
            let Some(adapter) = self.channels.adapter(&row.adapter) else { continue };
            let mut settings: Map<String, Value> = serde_json::from_str(&row.settings).unwrap_or_default();
            let mut is_changed = false;
            for (place, value) in secrets_of(&row.key, adapter.as_ref(), &mut settings) {
                let Some(text) =
                    value.as_str().filter(|text| !SecretReference::is_meant(text) && is_old(text))
                else {
                    continue;
                };
                let open = match sealed_with(text) {
                    Some(_) => self.vault.open_sealed(place, text)?.expose().to_owned(),
                    None => text.to_owned(),
                };
                *value = self.vault.seal(key_id, place, &open)?.into();
                is_changed = true;
            }
            if is_changed {
                let settings = Value::Object(settings).to_string();
                written += usize::from(reseal(&mut tx.conn(), &row, &settings).await?);
            }
        }
        Ok(written)
    }

    fn other_key(&self, needed: String) -> SecretsError {
        let have = self.vault.key_ids().iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ");
        SecretsError::OtherKey { needed, have, place: self.vault.place() }
    }
}

/// The id of the master key that this database's secrets are sealed with, if there is one yet.
#[boxed]
pub async fn key_in_use(conn: &mut Conn<'_>) -> Result<Option<String>, StoreError> {
    facts::get(conn, FACT).await
}

/// The master key is lost: takes every sealed secret out of the database, so that the next start can make a new key.
/// Without `confirm` it only says which.
#[boxed]
pub async fn forget_sealed(
    store: &Store,
    now: Timestamp,
    confirm: bool,
) -> Result<Vec<(String, Vec<String>)>, StoreError> {
    let mut tx = store.begin(Lane::Intake).await?;
    let mut forgotten = Vec::new();
    for row in channels::all(&mut tx.conn()).await? {
        // A new version: nodes that still have it open must see that it cannot send any more.
        if let Some((settings, fields)) = without_sealed(&row.settings) {
            channels::put(&mut tx.conn(), now, &ChannelRow { settings, ..row.clone() }).await?;
            forgotten.push((row.key, fields));
        }
    }
    for row in subscribers::all(&mut tx.conn()).await? {
        if let Some((settings, fields)) = without_sealed(&row.settings) {
            subscribers::put(&mut tx.conn(), now, &SubscriberRow { settings, ..row.clone() }).await?;
            forgotten.push((row.key, fields));
        }
    }
    for row in consumers::all(&mut tx.conn()).await? {
        if let Some((settings, fields)) = without_sealed(&row.settings) {
            consumers::put(&mut tx.conn(), now, &ConsumerRow { settings, ..row.clone() }).await?;
            forgotten.push((row.key, fields));
        }
    }
    facts::forget(&mut tx.conn(), FACT).await?;
    if confirm {
        // Nobody can check the signature of the chain any more: the next node signs it again, with this entry in it.
        let chain = audit::lock_chain(&mut tx.conn()).await?;
        audit::move_chain(&mut tx.conn(), &ChainRow { signature: String::new(), ..chain }).await?;
        let (kind, id) = LOST_KEY;
        Actor::named(OPERATOR).audit(&mut tx, now, AuditAction::ForgetSecrets, kind, id, None).await?;
        tx.commit().await?;
    }
    Ok(forgotten)
}

/// Settings without what is sealed in them, and what that was; `None` where there is none.
fn without_sealed(settings: &str) -> Option<(String, Vec<String>)> {
    let mut settings: Map<String, Value> = serde_json::from_str(settings).unwrap_or_default();
    let is_sealed = |value: &Value| value.as_str().and_then(sealed_with).is_some();
    let fields: Vec<String> =
        settings.iter().filter(|(_, value)| is_sealed(value)).map(|(name, _)| name.clone()).collect();
    settings.retain(|_, value| !is_sealed(value));
    (!fields.is_empty()).then(|| (Value::Object(settings).to_string(), fields))
}

/// The secret settings that are there, with their places.
fn secrets_of<'s>(
    channel: &'s str,
    adapter: &dyn Adapter,
    settings: &'s mut Map<String, Value>,
) -> Vec<(Place<'s>, &'s mut Value)> {
    let names = adapter.secret_fields();
    settings
        .iter_mut()
        .filter(|(name, _)| names.contains(&name.as_str()))
        .map(|(name, value)| (Place { kind: "channel", id: channel, field: name }, value))
        .collect()
}

/// Whether a secret is in the database in clear text.
fn has_open_secret(row: &ChannelRow, adapter: &dyn Adapter) -> bool {
    let mut settings: Map<String, Value> = serde_json::from_str(&row.settings).unwrap_or_default();
    let secrets = secrets_of(&row.key, adapter, &mut settings);
    let is_open = |text: &str| !SecretReference::is_meant(text) && sealed_with(text).is_none();
    secrets.iter().any(|(_, value)| value.as_str().is_some_and(is_open))
}

/// The keys that a channel's settings need, whatever its adapter.
fn sealed_ids(row: &ChannelRow) -> Vec<String> {
    let settings: Map<String, Value> = serde_json::from_str(&row.settings).unwrap_or_default();
    settings.values().filter_map(Value::as_str).filter_map(sealed_with).map(str::to_owned).collect()
}

/// Opens the sealed ones among these settings in place; the field and why where one cannot be.
pub(crate) fn open_settings(
    vault: &Vault,
    channel: &str,
    fields: &[&str],
    settings: &mut Value,
) -> Result<(), (String, VaultError)> {
    for field in fields {
        let Some(value) = settings.get_mut(*field) else { continue };
        let Some(text) = value.as_str().filter(|text| sealed_with(text).is_some()) else { continue };
        let place = Place { kind: "channel", id: channel, field };
        let open = vault.open_sealed(place, text).map_err(|error| ((*field).to_owned(), error))?;
        *value = open.expose().into();
    }
    Ok(())
}

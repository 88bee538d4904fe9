//! Commands for channels. Secrets are completed, checked and sealed when stored, and never returned.

use jiff::Timestamp;
use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use punctual_boxed::boxed;
use punctual_model::{
    Adapter, AuditAction, ChannelKey,
    delivery_policy::{Breaker, ChannelPolicy},
};
use punctual_store::{
    Lane, Stage, Tx,
    channels::{self, ChannelRow},
    delivery_policy::circuits,
    notifications,
};
use serde_json::{Map, Value};

use super::{Actor, CommandError, Seen};
use crate::{
    Engine,
    channels::{FRESH_FOR, SUBSCRIBERS},
    settings::{NewSettings, SettingsRefused, unmarked},
};

/// What a signing secret has, in bytes.
const SECRET_BYTES: usize = 32;
/// How long the destination of a channel is looked up when it is saved.
const LOOK_UP_TIME: Duration = Duration::from_secs(3);

/// A channel as somebody wants it.
#[derive(Clone, Debug)]
pub struct NewChannel {
    pub key: String,
    pub adapter: String,
    pub settings: Value,
    /// Its retry policy, as JSON; by default that of the adapter.
    pub retry: Option<Value>,
    pub at_most_once: bool,
    /// What it keeps to, as it is stored.
    pub policy: Value,
}

impl Engine {
    /// The adapter of this name, if this build has it.
    pub fn usable_adapter(&self, name: &str) -> Result<&Arc<dyn Adapter>, CommandError> {
        let refused = |detail: String| CommandError::invalid("/adapter", "out_of_range", detail);
        let adapter = self.channels.adapter(name).ok_or_else(|| {
            let known = self.channels.adapter_names().join("`, `");
            refused(format!("There is no such adapter; there are `{known}`."))
        })?;
        match adapter.disabled_reason() {
            Some(why) => Err(refused(format!("There is no such adapter here: {why}."))),
            None => Ok(adapter),
        }
    }

    /// Makes a channel, or puts another version in its place. A secret that is left out keeps its value.
    #[boxed]
    pub async fn save_channel(&self, by: &Actor, new: NewChannel) -> Result<ChannelRow, CommandError> {
        self.replace_channel(by, Seen::Anything, new).await
    }

    /// The same, for somebody who has seen what they replace.
    #[boxed]
    pub async fn replace_channel(
        &self,
        by: &Actor,
        seen: Seen,
        new: NewChannel,
    ) -> Result<ChannelRow, CommandError> {
        check_key(&new.key)?;
        self.check_channel(&new.adapter, &new.settings).await?;
        let mut tx = self.store.begin(Lane::Intake).await?;
        let (stored, has_other_hours) = self.save_channel_in(&mut tx, by, seen, new).await?;
        tx.commit().await?;
        self.channels.invalidate();
        self.policy.invalidate();
        if has_other_hours {
            self.channel_hours_changed(&stored.key).await?;
        }
        Ok(stored)
    }

    /// Lets the messages that wait for the earlier hours of a channel be decided by its present ones, in batches of their own.
    /// What is left out, because the node stops here, waits as it did.
    #[boxed]
    pub async fn channel_hours_changed(&self, key: &str) -> Result<(), CommandError> {
        let mut place = None;
        loop {
            let mut tx = self.store.begin(Lane::Intake).await?;
            // Not before every node knows the present hours.
            let at = self.clock.now() + FRESH_FOR;
            place = notifications::end_waits(&mut tx, at, key, place, self.config.batch).await?;
            tx.commit().await?;
            if place.is_none() {
                return Ok(());
            }
        }
    }

    /// The same in a transaction of the caller's, who has called [`Self::check_channel`] before it began and lets the
    /// channels be read again after the commit. Returns whether it had other hours before; the caller then calls
    /// [`Self::channel_hours_changed`] after the commit.
    #[boxed]
    pub async fn save_channel_in(
        &self,
        tx: &mut Tx,
        by: &Actor,
        seen: Seen,
        new: NewChannel,
    ) -> Result<(ChannelRow, bool), CommandError> {
        check_key(&new.key)?;
        let adapter = self.usable_adapter(&new.adapter)?;
        let now = self.clock.now();
        let before = channels::get(&mut tx.conn(), &new.key).await?;
        seen.check(before.as_ref().map(|before| before.version), &new.key)?;
        let settings = NewSettings {
            channel: &new.key,
            adapter: adapter.as_ref(),
            settings: new.settings,
            before: before.as_ref(),
        };
        let settings = self.settings_to_store(&mut tx.conn(), now, settings).await?;
        let row = ChannelRow {
            settings,
            retry: new.retry.map_or_else(|| "{}".to_owned(), |retry| retry.to_string()),
            at_most_once: new.at_most_once,
            policy: new.policy.to_string(),
            adapter: new.adapter,
            key: new.key,
            version: 0,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        channels::put(&mut tx.conn(), now, &row).await?;
        by.audit(tx, now, AuditAction::Put, "channel", &row.key, None).await?;
        let stored = channels::get(&mut tx.conn(), &row.key).await?.unwrap_or(row);
        seen.check_written(stored.version)?;
        // What waits for a slot or a circuit of the version before may go now: when every node knows this one.
        tx.raise(Stage::Delivery, now + FRESH_FOR);
        let goes_elsewhere = before
            .as_ref()
            .is_some_and(|before| (&before.adapter, &before.settings) != (&stored.adapter, &stored.settings));
        if goes_elsewhere || has_no_circuit(&stored.policy) {
            circuits::close_all(&mut tx.conn(), &stored.key).await?;
        }
        let has_other_hours = before.is_some_and(|before| hours(&before.policy) != hours(&stored.policy));
        Ok((stored, has_other_hours))
    }

    /// Refuses settings whose destination would never be called.
    #[boxed]
    pub async fn check_channel(&self, adapter: &str, settings: &Value) -> Result<(), CommandError> {
        let adapter = self.usable_adapter(adapter)?;
        self.check_destination(adapter.as_ref(), settings).await
    }

    /// Refuses a destination that would never be called. Looking it up takes time, so that no transaction is open.
    pub(super) async fn check_destination(
        &self,
        adapter: &dyn Adapter,
        settings: &Value,
    ) -> Result<(), CommandError> {
        if self.channels.captures() {
            return Ok(());
        }
        let settings = unmarked(settings, adapter);
        let looking = tokio::time::timeout(LOOK_UP_TIME, adapter.check_destination(&settings)).await;
        let faults = looking.unwrap_or_default();
        if faults.is_empty() { Ok(()) } else { Err(SettingsRefused::Faults(faults).into()) }
    }

    #[boxed]
    pub async fn delete_channel(&self, by: &Actor, key: &str) -> Result<(), CommandError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        self.delete_channel_in(&mut tx, by, key).await?;
        tx.commit().await?;
        self.channels.invalidate();
        self.policy.invalidate();
        Ok(())
    }

    #[boxed]
    pub async fn delete_channel_in(&self, tx: &mut Tx, by: &Actor, key: &str) -> Result<(), CommandError> {
        if key == ChannelKey::memory().as_str() {
            let state = "always there".to_owned();
            return Err(CommandError::NotAllowed { action: "delete", state, allowed: &["put"] });
        }
        if !channels::delete(&mut tx.conn(), key).await? {
            return Err(CommandError::not_found("channel", key));
        }
        circuits::close_all(&mut tx.conn(), key).await?;
        Ok(by.audit(tx, self.clock.now(), AuditAction::Delete, "channel", key, None).await?)
    }

    /// Gives a webhook a new signing secret, which is returned and shown once. The present one becomes the previous one,
    /// so that both signatures are sent.
    #[boxed]
    pub async fn rotate_channel_secret(
        &self,
        by: &Actor,
        key: &str,
    ) -> Result<(ChannelRow, String), CommandError> {
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        let row = channels::get(&mut tx.conn(), key).await?;
        let row = row.ok_or_else(|| CommandError::not_found("channel", key))?;
        let adapter = self.channels.adapter(&row.adapter).filter(|adapter| adapter.name() == "webhook");
        let Some(adapter) = adapter else {
            let state = "not a webhook".to_owned();
            return Err(CommandError::NotAllowed { action: "rotate-secret", state, allowed: &["put"] });
        };
        let mut bytes = [0; SECRET_BYTES];
        self.random.bytes(&mut bytes);
        let secret = format!("whsec_{}", STANDARD.encode(bytes));
        let settings = Value::Object(rotated(self.channels.opened_settings(&row), &secret));
        let new = NewSettings { channel: key, adapter: adapter.as_ref(), settings, before: Some(&row) };
        let settings = self.settings_to_store(&mut tx.conn(), now, new).await?;
        let row = ChannelRow { settings, ..row };
        channels::put(&mut tx.conn(), now, &row).await?;
        by.audit(&mut tx, now, AuditAction::RotateSecret, "channel", key, None).await?;
        let stored = channels::get(&mut tx.conn(), key).await?.unwrap_or(row);
        tx.commit().await?;
        self.channels.invalidate();
        Ok((stored, secret))
    }
}

fn has_no_circuit(policy: &str) -> bool {
    let circuit = ChannelPolicy::read(policy).circuit;
    circuit.is_some_and(|circuit| circuit.breaker() == Breaker::OFF)
}

/// When a channel sends, of its stored policy.
fn hours(policy: &str) -> [Value; 3] {
    let policy: Value = serde_json::from_str(policy).unwrap_or_default();
    ["quietHours", "sendWindow", "timeZone"].map(|name| policy[name].clone())
}

/// Keys of subscribers are not those of channels.
fn check_key(key: &str) -> Result<(), CommandError> {
    if key.starts_with(SUBSCRIBERS) {
        let detail = format!(
            "Keys that begin with `{SUBSCRIBERS}` are those of subscribers; see `/api/v1/subscribers`."
        );
        return Err(CommandError::invalid("/key", "key_invalid", detail));
    }
    Ok(())
}

fn rotated(mut settings: Map<String, Value>, secret: &str) -> Map<String, Value> {
    if let Some(present) = settings.insert("secret".to_owned(), secret.into()) {
        settings.insert("previousSecret".to_owned(), present);
    }
    settings
}

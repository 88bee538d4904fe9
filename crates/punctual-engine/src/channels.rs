//! The channels that are configured, opened and kept open, with their permits and retry policies.
//!
//! Definitions live in the database and are read again at most once a second, so that a change made on any node is
//! used on every node; an open channel is replaced only when its definition changed.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{
    Adapter, Channel, ChannelKey, DuplicateKey, Registry, RetryPolicy, manners::ChannelManners,
};
use punctual_store::{Conn, StoreError, channels, subscribers};

use crate::{
    arrivals::Hears,
    config::later,
    delivery::Permits,
    secrets::open_settings,
    vault::{Vault, is_reference},
};

/// How long a definition may be used without looking at the table again.
const FRESH_FOR: Duration = Duration::from_secs(1);

/// A channel that is ready to send.
pub struct Opened {
    pub key: ChannelKey,
    pub channel: Arc<dyn Channel>,
    pub retry: RetryPolicy,
    /// An attempt with no certain end is parked for a person instead of being repeated.
    pub at_most_once: bool,
    /// What it keeps to.
    pub manners: ChannelManners,
    pub(crate) permits: Arc<Permits>,
    adapter: String,
    /// Version and time of the definition: one that was removed and made again counts from 1 anew.
    written: (i64, i64),
}

impl Opened {
    /// The adapter that opened it.
    pub(crate) fn adapter(&self) -> &str {
        &self.adapter
    }
}

/// What the channels of subscribers begin with; no other channel does.
pub const SUBSCRIBERS: &str = "event.";

/// The channel over which a subscriber is told: its key under a name that no other channel has.
pub fn subscriber_channel(key: &str) -> String {
    format!("{SUBSCRIBERS}{key}")
}

/// A subscriber as the channel over which it is told.
pub fn as_channel(row: subscribers::SubscriberRow) -> channels::ChannelRow {
    channels::ChannelRow {
        key: subscriber_channel(&row.key),
        adapter: row.adapter,
        settings: row.settings,
        retry: row.retry,
        at_most_once: false,
        manners: "{}".into(),
        version: row.version,
        updated_at: row.updated_at,
    }
}

/// Every definition there is: channels, and subscribers as the channels over which they are told.
pub(crate) async fn defined(conn: &mut Conn<'_>) -> Result<Vec<channels::ChannelRow>, StoreError> {
    let mut rows = channels::all(conn).await?;
    rows.extend(subscribers::all(conn).await?.into_iter().map(as_channel));
    Ok(rows)
}

/// Writes the same settings sealed anew, to where they came from.
pub(crate) async fn reseal(
    conn: &mut Conn<'_>,
    row: &channels::ChannelRow,
    settings: &str,
) -> Result<bool, StoreError> {
    match row.key.strip_prefix(SUBSCRIBERS) {
        Some(key) => subscribers::reseal(conn, key, row.version, settings).await,
        None => channels::reseal(conn, row, settings).await,
    }
}

pub struct Channels {
    adapters: Registry<Arc<dyn Adapter>>,
    /// In the sandbox every channel is opened by this one instead of its own.
    capture: Option<Arc<dyn Adapter>>,
    secrets: OnceLock<Secrets>,
    vault: Arc<Vault>,
    state: Mutex<State>,
}

/// What a reference such as `env:SMTP_PASSWORD` or `file:/run/secrets/smtp` stands for, where it is set.
pub type Secrets = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

#[derive(Default)]
struct State {
    read_at: Option<Timestamp>,
    opened: HashMap<String, Arc<Opened>>,
    /// Why a configured channel could not be opened.
    broken: HashMap<String, String>,
    /// Subscribers that hear of arrivals.
    hears: Arc<Vec<Hears>>,
}

impl Channels {
    pub fn new(
        adapters: Vec<Arc<dyn Adapter>>,
        capture: Option<Arc<dyn Adapter>>,
        vault: Arc<Vault>,
    ) -> Result<Self, DuplicateKey> {
        let mut registry = Registry::new("adapters");
        for adapter in adapters {
            registry.add(adapter.name(), adapter)?;
        }
        Ok(Self { adapters: registry, capture, secrets: OnceLock::new(), vault, state: Mutex::default() })
    }

    /// Gives the function that looks up secrets which settings only refer to; the first one stays.
    pub fn resolve_secrets_with(&self, secrets: Secrets) {
        let _ = self.secrets.set(secrets);
    }

    pub fn adapter(&self, name: &str) -> Option<&Arc<dyn Adapter>> {
        self.adapters.get(name)
    }

    pub fn adapter_names(&self) -> Vec<&str> {
        self.adapters.keys().collect()
    }

    /// The open channel of this key, as of the last look at the table.
    pub fn get(&self, key: &str) -> Option<Arc<Opened>> {
        self.lock().opened.get(key).cloned()
    }

    /// Whether this text can be an address of the channel; `None` where there is no such channel to ask.
    pub fn check_address(&self, key: &str, address: &str) -> Option<Result<(), String>> {
        let adapter = self.lock().opened.get(key)?.adapter.clone();
        Some(self.adapters.get(&adapter)?.check_address(address))
    }

    /// Why a configured channel cannot send.
    pub fn broken(&self, key: &str) -> Option<String> {
        self.lock().broken.get(key).cloned()
    }

    /// Every configured channel that cannot send, with why, in order.
    pub fn all_broken(&self) -> Vec<(String, String)> {
        let mut broken: Vec<_> =
            self.lock().broken.iter().map(|(key, why)| (key.clone(), why.clone())).collect();
        broken.sort_unstable();
        broken
    }

    /// The keys that can send, in order.
    pub fn keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = self.lock().opened.keys().cloned().collect();
        keys.sort_unstable();
        keys
    }

    /// The next look reads the table again: a definition was just written here.
    pub fn invalidate(&self) {
        self.lock().read_at = None;
    }

    /// Whether the definitions should be read again.
    pub fn is_stale(&self, now: Timestamp) -> bool {
        self.lock().read_at.is_none_or(|read| later(read, FRESH_FOR) <= now || read > now)
    }

    /// Reads the definitions and opens what is new or changed.
    #[boxed]
    pub async fn refresh(&self, conn: &mut Conn<'_>, now: Timestamp) -> Result<(), StoreError> {
        let subscribers = subscribers::all(conn).await?;
        let hears = Arc::new(subscribers.iter().filter_map(Hears::of).collect());
        let mut rows = channels::all(conn).await?;
        rows.extend(subscribers.into_iter().map(as_channel));
        for key in self.built_in().iter().copied() {
            if rows.iter().all(|row| row.key != key) {
                rows.push(channels::ChannelRow {
                    key: key.into(),
                    adapter: "memory".into(),
                    settings: "{}".into(),
                    retry: "{}".into(),
                    at_most_once: false,
                    manners: "{}".into(),
                    version: 0,
                    updated_at: 0,
                });
            }
        }
        let before = self.lock().opened.clone();
        let (mut opened, mut broken) = (HashMap::new(), HashMap::new());
        for row in rows {
            let same = before.get(&row.key).filter(|old| old.written == (row.version, row.updated_at));
            match same.map_or_else(|| self.open(&row).map(Arc::new), |old| Ok(old.clone())) {
                Ok(channel) => drop(opened.insert(row.key, channel)),
                Err(fault) => drop(broken.insert(row.key, fault)),
            }
        }
        let mut state = self.lock();
        *state = State { read_at: Some(now), opened, broken, hears };
        Ok(())
    }

    /// Subscribers that hear of arrivals, as of the last look at the table.
    pub(crate) fn hears(&self) -> Arc<Vec<Hears>> {
        self.lock().hears.clone()
    }

    /// Channels that exist without a definition. The sandbox has mail too, for it is captured anyway.
    pub fn built_in(&self) -> &'static [&'static str] {
        if self.capture.is_some() { &["memory:default", "email:default"] } else { &["memory:default"] }
    }

    fn open(&self, row: &channels::ChannelRow) -> Result<Opened, String> {
        let key: ChannelKey = row.key.parse().map_err(|fault| format!("{fault}"))?;
        // What goes to the inbox stays here anyway.
        let capture = self.capture.as_ref().filter(|_| row.adapter != crate::inbox::INBOX);
        let adapter = match capture {
            Some(capture) => capture,
            None => self.adapters.get(&row.adapter).ok_or_else(|| format!("no adapter `{}`", row.adapter))?,
        };
        let mut settings: serde_json::Value =
            serde_json::from_str(&row.settings).map_err(|e| e.to_string())?;
        if capture.is_some() {
            settings = serde_json::json!({});
        } else {
            self.fill_in(&row.key, adapter.secret_fields(), &mut settings)?;
        }
        let channel = adapter.open(&settings).map_err(|fault| fault.to_string())?;
        let retry: serde_json::Value = serde_json::from_str(&row.retry).map_err(|e| e.to_string())?;
        let retry = RetryPolicy::from_json(&retry).unwrap_or_default();
        let permits = Permits::new(channel.permits());
        Ok(Opened {
            key,
            channel,
            retry,
            at_most_once: row.at_most_once,
            manners: ChannelManners::read(&row.manners),
            permits,
            adapter: row.adapter.clone(),
            written: (row.version, row.updated_at),
        })
    }

    /// The stored settings with their secrets opened, as far as they can be: what cannot is left out.
    pub fn opened_settings(&self, row: &channels::ChannelRow) -> serde_json::Map<String, serde_json::Value> {
        let mut settings: serde_json::Value = serde_json::from_str(&row.settings).unwrap_or_default();
        let fields = self.adapter(&row.adapter).map_or(&[][..], |adapter| adapter.secret_fields());
        for field in fields {
            if open_settings(&self.vault, &row.key, std::slice::from_ref(field), &mut settings).is_err()
                && let Some(settings) = settings.as_object_mut()
            {
                settings.remove(*field);
            }
        }
        settings.as_object().cloned().unwrap_or_default()
    }

    /// Puts the secrets in place of what is sealed or refers to them.
    fn fill_in(
        &self,
        channel: &str,
        fields: &[&str],
        settings: &mut serde_json::Value,
    ) -> Result<(), String> {
        // What refers to a secret is looked for first: a secret may itself begin like a reference.
        for field in fields {
            let Some(value) = settings.get_mut(*field) else { continue };
            let Some(reference) = value.as_str().filter(|text| is_reference(text)) else { continue };
            let found = self.secrets.get().and_then(|secrets| secrets(reference));
            *value = found
                .ok_or_else(|| format!("the secret `{field}` is not set: nothing at `{reference}`"))?
                .into();
        }
        open_settings(&self.vault, channel, fields, settings)
            .map_err(|(field, error)| format!("the secret `{field}` cannot be opened: {error}"))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! The channels that are configured, opened and kept open, with their permits and retry policies.
//!
//! Definitions are in the database and are read at most once a second, so every node uses changes made on any node. An open
//! channel is replaced only when its definition changed.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{
    Adapter, Channel, ChannelKey, DuplicateKey, ReasonCode, Registry, RetryPolicy, Secret, SecretReference,
    delivery_policy::{Breaker, ChannelPolicy, CircuitSetting},
};
use punctual_store::{Conn, StoreError, channels, consumers, subscribers};

use crate::{
    Engine,
    config::later,
    delivery::{Permits, Shares},
    references::{NO_SECRETS_DIR, SecretSource},
    secrets::open_settings,
    subscribers::{KnownSubscribers, Subscriber},
    vault::Vault,
};

/// How long a definition may be used without looking at the table again.
pub(crate) const FRESH_FOR: Duration = Duration::from_secs(1);

/// A channel that is ready to send.
pub struct Opened {
    pub key: ChannelKey,
    pub channel: Arc<dyn Channel>,
    pub retry: RetryPolicy,
    /// An attempt with no certain end is parked for a person instead of being repeated.
    pub at_most_once: bool,
    /// Its limits and hours.
    pub policy: ChannelPolicy,
    /// Calls that may be under way at once from this node.
    pub(crate) concurrency: usize,
    pub(crate) permits: Arc<Permits>,
    adapter: String,
    written: Written,
}

/// Version and time of a definition: one that was removed and made again counts from 1 again.
pub(crate) type Written = (i64, Timestamp);

pub(crate) fn written(row: &channels::ChannelRow) -> Written {
    (row.version, row.updated_at)
}

/// Why a configured channel could not be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// What its messages are parked with: `secret-missing` or `no-channel`.
    pub reason: ReasonCode,
    pub why: String,
}

impl From<String> for Broken {
    fn from(why: String) -> Self {
        Self { reason: ReasonCode::NoChannel, why }
    }
}

impl Opened {
    /// When its circuits open; `usual` where it says nothing about that.
    pub(crate) fn breaker(&self, usual: Breaker) -> Breaker {
        self.policy.circuit.map_or(usual, CircuitSetting::breaker)
    }

    /// Which version of its definition this is.
    pub(crate) fn written(&self) -> Written {
        self.written
    }

    /// The adapter that opened it.
    pub(crate) fn adapter(&self) -> &str {
        &self.adapter
    }
}

impl Engine {
    /// Those of these channels that nobody has defined. The definitions are read again, at once for all of them, where one seems
    /// unknown, because it may have been made on another node a moment ago, and where they were not read lately: a node that
    /// only serves requests does not do so by itself. Otherwise, which is usual, nothing is read.
    #[boxed]
    pub async fn unknown_channels(&self, keys: Vec<String>) -> Result<HashSet<String>, StoreError> {
        let is_here = |key: &str| self.channels.get(key).is_some() || self.channels.broken(key).is_some();
        let unknown = |keys: Vec<String>| keys.into_iter().filter(|key| !is_here(key)).collect();
        let now = self.clock.now();
        if keys.iter().all(|key| is_here(key)) && !self.channels.is_stale(now) {
            return Ok(HashSet::new());
        }
        let mut reader = self.store.read_for_people().await?;
        self.channels.refresh(&mut reader.conn(), now).await?;
        Ok(unknown(keys))
    }
}

/// What the channels of subscribers begin with; no other channel does.
pub const SUBSCRIBERS: &str = "event.";

/// The channel of a subscriber: its key under a name that no other channel has.
pub fn subscriber_channel(key: &str) -> String {
    format!("{SUBSCRIBERS}{key}")
}

/// What stands before the key of a consumer where it is among channels. No channel's key has a slash.
pub(crate) const CONSUMERS: &str = "consumer/";

/// A consumer in the shape of a channel, for its secrets alone: it is never opened as one.
pub fn consumer_as_channel(row: &consumers::ConsumerRow) -> channels::ChannelRow {
    channels::ChannelRow {
        key: format!("{CONSUMERS}{}", row.key),
        adapter: row.adapter.clone(),
        settings: row.settings.clone(),
        retry: "{}".into(),
        at_most_once: false,
        policy: "{}".into(),
        version: row.version,
        updated_at: row.updated_at,
    }
}

/// How failed sends over a channel are repeated: as its definition says, else as is usual for its kind.
pub fn retry_of(row: &channels::ChannelRow) -> RetryPolicy {
    match serde_json::from_str(&row.retry) {
        Ok(serde_json::Value::Object(written)) if !written.is_empty() => {
            RetryPolicy::from_json(&written.into()).unwrap_or_else(|_| RetryPolicy::of_channel(&row.key))
        }
        _ => RetryPolicy::of_channel(&row.key),
    }
}

/// A subscriber as the channel over which it gets events.
pub fn as_channel(row: subscribers::SubscriberRow) -> channels::ChannelRow {
    channels::ChannelRow {
        key: subscriber_channel(&row.key),
        adapter: row.adapter,
        settings: row.settings,
        retry: row.retry,
        at_most_once: false,
        policy: "{}".into(),
        version: row.version,
        updated_at: row.updated_at,
    }
}

/// Every definition with secrets: channels, and subscribers and consumers in the shape of channels.
pub(crate) async fn defined(conn: &mut Conn<'_>) -> Result<Vec<channels::ChannelRow>, StoreError> {
    let mut rows = channels::all(conn).await?;
    rows.extend(subscribers::all(conn).await?.into_iter().map(as_channel));
    rows.extend(consumers::all(conn).await?.iter().map(consumer_as_channel));
    Ok(rows)
}

/// Writes the same settings sealed again, to where they came from.
pub(crate) async fn reseal(
    conn: &mut Conn<'_>,
    row: &channels::ChannelRow,
    settings: &str,
) -> Result<bool, StoreError> {
    if let Some(key) = row.key.strip_prefix(CONSUMERS) {
        return consumers::reseal(conn, key, row.version, settings).await;
    }
    match row.key.strip_prefix(SUBSCRIBERS) {
        Some(key) => subscribers::reseal(conn, key, row.version, settings).await,
        None => channels::reseal(conn, row, settings).await,
    }
}

pub struct Channels {
    adapters: Registry<Arc<dyn Adapter>>,
    /// In the sandbox every channel is opened by this one instead of its own.
    capture: Option<Arc<dyn Adapter>>,
    secrets: OnceLock<Arc<dyn SecretSource>>,
    /// Definitions whose references an earlier version wrote and that still work in this run.
    old_references: OnceLock<HashSet<(String, Written)>>,
    vault: Arc<Vault>,
    pub(crate) subscribers: KnownSubscribers,
    /// What business units with a share may have of every channel.
    pub(crate) shares: Arc<Shares>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    read_at: Option<Timestamp>,
    /// Counts definitions written here: a read that began before the last of them is out of date.
    written_here: u64,
    opened: HashMap<String, Arc<Opened>>,
    broken: HashMap<String, Broken>,
    subscribers: Arc<Vec<Arc<Subscriber>>>,
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
        Ok(Self {
            adapters: registry,
            capture,
            secrets: OnceLock::new(),
            old_references: OnceLock::new(),
            vault,
            subscribers: KnownSubscribers::default(),
            shares: Arc::default(),
            state: Mutex::default(),
        })
    }

    /// Gives what looks up secrets that settings only refer to; the first one stays.
    pub fn resolve_secrets_with(&self, secrets: Arc<dyn SecretSource>) {
        let _ = self.secrets.set(secrets);
    }

    /// These definitions, as they are written now, may refer to secrets as an earlier version did.
    pub(crate) fn allow_old_references(&self, definitions: HashSet<(String, Written)>) {
        let _ = self.old_references.set(definitions);
    }

    /// Why such a reference cannot be used on this node.
    pub(crate) fn refusal(&self, reference: &SecretReference) -> Option<String> {
        match self.secrets.get() {
            Some(secrets) => secrets.refusal(reference),
            None => reference.file_name().map(|_| NO_SECRETS_DIR.to_owned()),
        }
    }

    pub(crate) fn look_up(&self, reference: &SecretReference) -> Option<Secret> {
        self.secrets.get()?.look_up(reference)
    }

    pub(crate) fn look_up_old(&self, text: &str) -> Option<Secret> {
        self.secrets.get()?.look_up_old(text)
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

    /// Whether this is still the open channel of its key: not where it was saved or removed since.
    pub(crate) fn is_current(&self, key: &str, opened: &Arc<Opened>) -> bool {
        self.lock().opened.get(key).is_some_and(|current| Arc::ptr_eq(current, opened))
    }

    /// Whether this text can be an address of the channel; `None` where there is no such channel to ask.
    pub fn check_address(&self, key: &str, address: &str) -> Option<Result<(), String>> {
        let adapter = self.lock().opened.get(key)?.adapter.clone();
        Some(self.adapters.get(&adapter)?.check_address(address))
    }

    /// Whether files go along over the channel; `None` where there is no such channel to ask.
    pub fn carries_files(&self, key: &str) -> Option<bool> {
        self.lock().opened.get(key).map(|opened| opened.channel.carries_files())
    }

    /// Why a configured channel cannot send.
    pub fn broken(&self, key: &str) -> Option<Broken> {
        self.lock().broken.get(key).cloned()
    }

    /// Every configured channel that cannot send, with why, in order.
    pub fn all_broken(&self) -> Vec<(String, String)> {
        let mut broken: Vec<_> =
            self.lock().broken.iter().map(|(key, broken)| (key.clone(), broken.why.clone())).collect();
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
        let mut state = self.lock();
        state.read_at = None;
        state.written_here += 1;
    }

    /// Whether the definitions should be read again.
    pub fn is_stale(&self, now: Timestamp) -> bool {
        self.lock().read_at.is_none_or(|read| later(read, FRESH_FOR) <= now || read > now)
    }

    /// Reads the definitions and opens what is new or changed.
    #[boxed]
    pub async fn refresh(&self, conn: &mut Conn<'_>, now: Timestamp) -> Result<(), StoreError> {
        let written_here = self.lock().written_here;
        let subscriber_rows = subscribers::all(conn).await?;
        let subscribers = Arc::new(self.subscribers.read(&subscriber_rows));
        let mut rows = channels::all(conn).await?;
        rows.extend(subscriber_rows.into_iter().map(as_channel));
        for key in self.built_in().iter().copied() {
            if rows.iter().all(|row| row.key != key) {
                rows.push(channels::ChannelRow {
                    key: key.into(),
                    adapter: "memory".into(),
                    settings: "{}".into(),
                    retry: "{}".into(),
                    at_most_once: false,
                    policy: "{}".into(),
                    version: 0,
                    updated_at: Timestamp::UNIX_EPOCH,
                });
            }
        }
        let before = self.lock().opened.clone();
        let (mut opened, mut broken) = (HashMap::new(), HashMap::new());
        for row in rows {
            let same = before.get(&row.key).filter(|old| old.written == written(&row));
            match same.map_or_else(|| self.open(&row).map(Arc::new), |old| Ok(old.clone())) {
                Ok(channel) => drop(opened.insert(row.key, channel)),
                Err(fault) => drop(broken.insert(row.key, fault)),
            }
        }
        let mut state = self.lock();
        let read_at = (state.written_here == written_here).then_some(now);
        *state = State { read_at, written_here: state.written_here, opened, broken, subscribers };
        Ok(())
    }

    /// Returns the subscribers, as of the last read of the table.
    pub(crate) fn last_subscribers(&self) -> Arc<Vec<Arc<Subscriber>>> {
        self.lock().subscribers.clone()
    }

    /// Whether nothing leaves this process, whatever a channel says.
    pub(crate) fn captures(&self) -> bool {
        self.capture.is_some()
    }

    /// Channels that exist without a definition. The sandbox has mail too, for it is captured anyway.
    pub fn built_in(&self) -> &'static [&'static str] {
        if self.capture.is_some() { &["memory:default", "email:default"] } else { &["memory:default"] }
    }

    /// Whether somebody has defined this channel, or it needs no definition.
    #[boxed]
    pub async fn is_known(&self, conn: &mut Conn<'_>, key: &str) -> Result<bool, StoreError> {
        Ok(self.built_in().contains(&key) || channels::get(conn, key).await?.is_some())
    }

    fn open(&self, row: &channels::ChannelRow) -> Result<Opened, Broken> {
        let key: ChannelKey = row.key.parse().map_err(|fault| Broken::from(format!("{fault}")))?;
        // What goes to the inbox stays here anyway.
        let capture = self.capture.as_ref().filter(|_| row.adapter != crate::inbox::INBOX);
        let adapter = match capture {
            Some(capture) => capture,
            None => self.adapters.get(&row.adapter).ok_or_else(|| format!("no adapter `{}`", row.adapter))?,
        };
        let mut settings: serde_json::Value =
            serde_json::from_str(&row.settings).map_err(|error| error.to_string())?;
        if capture.is_some() {
            settings = serde_json::json!({});
        } else {
            self.fill_in(row, &adapter.secret_fields(), &mut settings)?;
        }
        let channel = adapter.open(&settings).map_err(|fault| fault.to_string())?;
        let policy = ChannelPolicy::read(&row.policy);
        let concurrency = policy.concurrency.unwrap_or_else(|| channel.permits());
        Ok(Opened {
            key,
            channel,
            retry: retry_of(row),
            at_most_once: row.at_most_once,
            policy,
            concurrency,
            permits: Permits::new(concurrency, self.shares.clone()),
            adapter: row.adapter.clone(),
            written: written(row),
        })
    }

    /// The stored settings with their secrets opened, as far as they can be: what cannot is left out.
    pub fn opened_settings(&self, row: &channels::ChannelRow) -> serde_json::Map<String, serde_json::Value> {
        let mut settings: serde_json::Value = serde_json::from_str(&row.settings).unwrap_or_default();
        let fields = self.adapter(&row.adapter).map(|adapter| adapter.secret_fields()).unwrap_or_default();
        for field in fields {
            if open_settings(&self.vault, &row.key, std::slice::from_ref(&field), &mut settings).is_err()
                && let Some(settings) = settings.as_object_mut()
            {
                settings.remove(field);
            }
        }
        settings.as_object().cloned().unwrap_or_default()
    }

    /// Puts the secrets in place of what is sealed or refers to them.
    pub(crate) fn fill_in(
        &self,
        row: &channels::ChannelRow,
        fields: &[&str],
        settings: &mut serde_json::Value,
    ) -> Result<(), Broken> {
        let is_old = |old: &HashSet<_>| old.contains(&(row.key.clone(), written(row)));
        let old_ones_work = self.old_references.get().is_some_and(is_old);
        // What refers to a secret is looked for first: a secret may itself begin like a reference.
        for field in fields {
            let Some(value) = settings.get_mut(*field) else { continue };
            let Some(text) = value.as_str() else { continue };
            let (found, fault) = match SecretReference::parse(text) {
                None => continue,
                Some(Ok(reference)) => (self.look_up(&reference), None),
                Some(Err(fault)) => (None, Some(fault)),
            };
            let found = found.or_else(|| self.look_up_old(text).filter(|_| old_ones_work));
            let missing = || Broken {
                reason: ReasonCode::SecretMissing,
                why: match fault {
                    Some(fault) => format!("the secret `{field}` cannot be `{text}`: {fault}"),
                    None => format!("the secret `{field}` is not set: nothing at `{text}`"),
                },
            };
            *value = found.ok_or_else(missing)?.expose().into();
        }
        open_settings(&self.vault, &row.key, fields, settings)
            .map_err(|(field, error)| format!("the secret `{field}` cannot be opened: {error}").into())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

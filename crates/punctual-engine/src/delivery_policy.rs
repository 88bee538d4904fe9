//! This node's cache of the delivery policy: the policy of the installation, the circuits that are open, and until when
//! each channel has no free slot under its limits.
//!
//! The database has the truth; the cache only saves queries. It is read again every second, and a node whose cache is
//! still empty queries. The decisions are in `delivery/policy`.

pub mod blocked_channels;
pub mod channel_state;
pub mod digests;
pub mod links;
pub mod preferences;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use punctual_model::{
    SendOutcome,
    delivery_policy::{Breaker, CircuitState, DeliveryPolicy, Urgency},
};
use punctual_store::{
    Conn, StoreError,
    delivery_policy::{
        StandingRow,
        circuits::{CircuitKey, HOSTS_KEPT},
        standing,
    },
};

use crate::{
    channels::{SUBSCRIBERS, Written},
    config::later,
};

/// How long what was read may be used.
const FRESH_FOR: Duration = Duration::from_secs(1);

/// A circuit that is open or half open.
#[derive(Clone, Debug, PartialEq)]
pub struct Circuit {
    /// How many times in a row it has opened.
    pub open_count: i64,
    pub opened_at: Timestamp,
    /// When it becomes half open.
    pub open_until: Timestamp,
    pub last_error: String,
}

/// What this node has read of the delivery policy.
#[derive(Default)]
pub struct PolicyCache {
    state: Mutex<State>,
    /// The address that links to people's pages begin with.
    pub(crate) address: OnceLock<String>,
}

#[derive(Default)]
struct State {
    read_at: Option<Timestamp>,
    /// Counts what was written here: a read that began before the last of it is out of date.
    written_here: u64,
    settings: Arc<DeliveryPolicy>,
    has_preferences: bool,
    circuits: HashMap<CircuitKey, Circuit>,
    full: HashMap<String, Full>,
    /// Transient failures in a row.
    failures: HashMap<CircuitKey, u32>,
}

/// Until when a channel has no free slot, for each class of messages, under the limits of one version of it. Another version
/// may have other limits, on whichever node it was saved.
struct Full {
    written: Written,
    until: HashMap<Urgency, Timestamp>,
}

/// What the results of calls mean for their circuit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum ProbeResult {
    /// The circuit stays as it is.
    #[default]
    Unchanged,
    /// A probe succeeded: the circuit closes.
    Works,
    /// A probe failed, or calls failed often enough in a row: the circuit opens. This is the last error.
    Fails(String),
}

impl PolicyCache {
    pub(crate) fn is_stale(&self, now: Timestamp) -> bool {
        self.lock().read_at.is_none_or(|read| later(read, FRESH_FOR) <= now || read > now)
    }

    /// The next use reads the tables again.
    pub fn invalidate(&self) {
        let mut state = self.lock();
        state.read_at = None;
        state.written_here += 1;
    }

    pub(crate) async fn refresh(&self, conn: &mut Conn<'_>, now: Timestamp) -> Result<(), StoreError> {
        let written_here = self.lock().written_here;
        let rows = standing(conn).await?;
        let (mut settings, mut has_preferences, mut circuits) =
            (DeliveryPolicy::default(), false, HashMap::new());
        for row in rows {
            match row.what.as_str() {
                "settings" => settings = DeliveryPolicy::read(&row.text),
                "preferences" => has_preferences = true,
                _ => drop(circuits.insert(row.circuit_key(), Circuit::of(row))),
            }
        }
        let mut state = self.lock();
        if state.written_here != written_here {
            state.read_at = None;
            return Ok(());
        }
        state.read_at = Some(now);
        state.settings = Arc::new(settings);
        state.has_preferences = has_preferences;
        state.circuits = circuits;
        Ok(())
    }

    pub fn settings(&self) -> Arc<DeliveryPolicy> {
        self.lock().settings.clone()
    }

    /// Whether every message must be checked; true while the cache is empty.
    pub(crate) fn concerns_everyone(&self) -> bool {
        let state = self.lock();
        state.has_preferences || state.settings.daily_cap.is_some() || state.read_at.is_none()
    }

    pub(crate) fn circuit(&self, key: &CircuitKey) -> Option<Circuit> {
        self.lock().circuits.get(key).cloned()
    }

    /// Returns the circuits that are open or half open, in order.
    pub fn circuits(&self) -> Vec<(CircuitKey, Circuit)> {
        let mut all: Vec<_> =
            self.lock().circuits.iter().map(|(key, one)| (key.clone(), one.clone())).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }

    /// Whether a circuit of this channel, or of a host of it, is open or half open.
    pub(crate) fn has_open_circuit(&self, channel: &str) -> bool {
        self.lock().circuits.keys().any(|key| key.channel == channel)
    }

    /// The hosts of a channel whose circuits are open or half open.
    pub(crate) fn open_hosts(&self, channel: &str) -> HashMap<String, Circuit> {
        let state = self.lock();
        let of_channel = state.circuits.iter().filter(|(key, _)| key.channel == channel);
        of_channel.filter_map(|(key, circuit)| Some((key.host.clone()?, circuit.clone()))).collect()
    }

    /// The earliest time at which a message that is ready then can be claimed from this version of its channel.
    pub(crate) fn claimable_at(
        &self,
        channel: &str,
        written: Option<Written>,
        priority: i64,
        ready_at: i64,
    ) -> i64 {
        let state = self.lock();
        let circuit = state.circuits.get(&CircuitKey::of_channel(channel));
        let open_until = circuit.map_or(i64::MIN, |circuit| circuit.open_until.as_microsecond());
        let full = state.full.get(channel).filter(|full| Some(full.written) == written);
        let full = full.and_then(|full| full.until.get(&Urgency::of(priority)));
        ready_at.max(open_until).max(full.map_or(i64::MIN, |until| until.as_microsecond()))
    }

    /// There is no free slot for this class before then, as this version of the channel has it.
    pub(crate) fn full_until(&self, channel: &str, written: Written, urgency: Urgency, until: Timestamp) {
        let none = || Full { written, until: HashMap::new() };
        let mut state = self.lock();
        let full = state.full.entry(channel.to_owned()).or_insert_with(none);
        if full.written != written {
            *full = none();
        }
        full.until.insert(urgency, until);
    }

    /// A send has ended: there may be a free slot.
    pub(crate) fn ask_again(&self, channel: &str) {
        self.lock().full.remove(channel);
    }

    /// Counts the results of calls and returns what they mean for their circuit, which opens after `limit` failures in a
    /// row. Subscribers have no circuit: one that does not answer shows it after its own attempts.
    pub(crate) fn probe_result<'o>(
        &self,
        key: &CircuitKey,
        outcomes: impl Iterator<Item = &'o SendOutcome>,
        limit: u32,
        now: Timestamp,
    ) -> ProbeResult {
        if key.channel.starts_with(SUBSCRIBERS) || limit == Breaker::OFF.failures {
            return ProbeResult::Unchanged;
        }
        let mut state = self.lock();
        let (mut failures, mut works) = (state.failures.get(key).copied().unwrap_or(0), false);
        let mut last_error = None;
        for outcome in outcomes {
            match outcome {
                SendOutcome::Delivered { .. } | SendOutcome::Permanent { .. } => {
                    (failures, works) = (0, true)
                }
                SendOutcome::Transient { error, .. } | SendOutcome::Uncertain { error } => {
                    failures = failures.saturating_add(1);
                    last_error = Some(error.clone());
                }
            }
        }
        if failures > 0 {
            // A host that is forgotten here is counted anew.
            let others = state.failures.len().saturating_sub(HOSTS_KEPT);
            let forgotten: Vec<CircuitKey> =
                state.failures.keys().filter(|known| known.host.is_some()).take(others).cloned().collect();
            state.failures.retain(|known, _| !forgotten.contains(known));
            state.failures.insert(key.clone(), failures);
        } else {
            state.failures.remove(key);
        }
        let circuit = state.circuits.get(key);
        match (last_error, circuit) {
            (None, Some(_)) if works => ProbeResult::Works,
            // Calls that were under way when the circuit opened are ignored.
            (Some(_), Some(circuit)) if circuit.open_until > now => ProbeResult::Unchanged,
            (Some(error), Some(_)) if !works => ProbeResult::Fails(error),
            (Some(error), None) if failures >= limit => ProbeResult::Fails(error),
            _ => ProbeResult::Unchanged,
        }
    }

    pub(crate) fn open_circuit(&self, key: &CircuitKey, circuit: Circuit) {
        let mut state = self.lock();
        state.written_here += 1;
        state.circuits.insert(key.clone(), circuit);
    }

    pub(crate) fn close_circuit(&self, key: &CircuitKey) {
        let mut state = self.lock();
        state.written_here += 1;
        state.circuits.remove(key);
        state.full.remove(&key.channel);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Circuit {
    /// Returns the state at this moment.
    pub fn state(&self, now: Timestamp) -> CircuitState {
        if self.open_until > now { CircuitState::Open } else { CircuitState::HalfOpen }
    }

    pub(crate) fn of(row: StandingRow) -> Self {
        Self {
            open_count: row.open_count,
            opened_at: row.opened_at,
            open_until: row.open_until,
            last_error: row.text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed() -> SendOutcome {
        SendOutcome::Transient { error: "451 later".into(), retry_after: None }
    }

    fn delivered() -> SendOutcome {
        SendOutcome::Delivered { provider_id: "x".into() }
    }

    #[test]
    fn only_failures_without_a_success_between_them_open_a_circuit() {
        let (policy, now) = (PolicyCache::default(), Timestamp::UNIX_EPOCH);
        let key = CircuitKey::of_channel("sms:a");
        let result = |outcomes: &[SendOutcome]| policy.probe_result(&key, outcomes.iter(), 3, now);
        assert_eq!(result(&[failed(), failed()]), ProbeResult::Unchanged);
        assert_eq!(result(&[delivered()]), ProbeResult::Unchanged);
        assert_eq!(result(&[failed(), failed()]), ProbeResult::Unchanged);
        assert_eq!(result(&[failed()]), ProbeResult::Fails("451 later".into()));
        let circuit =
            |until| Circuit { open_count: 1, opened_at: now, open_until: until, last_error: String::new() };
        policy.open_circuit(&key, circuit(later(now, FRESH_FOR)));
        assert_eq!(result(&[failed()]), ProbeResult::Unchanged, "it was under way");
        policy.open_circuit(&key, circuit(now));
        assert_eq!(result(&[failed()]), ProbeResult::Fails("451 later".into()), "the probe failed too");
        assert_eq!(result(&[delivered()]), ProbeResult::Works);
        let event = [failed(), failed(), failed(), failed()];
        let subscriber = CircuitKey::of_channel("event.webhook:a");
        assert_eq!(policy.probe_result(&subscriber, event.iter(), 3, now), ProbeResult::Unchanged);
        assert_eq!(
            policy.probe_result(&key, event.iter(), Breaker::OFF.failures, now),
            ProbeResult::Unchanged
        );
    }

    #[test]
    fn failures_of_many_hosts_are_counted_for_as_many_as_are_kept() {
        let (policy, now) = (PolicyCache::default(), Timestamp::UNIX_EPOCH);
        for n in 0..3 * HOSTS_KEPT {
            let key = CircuitKey { channel: "webhook:a".into(), host: Some(format!("{n}.example")) };
            assert_eq!(policy.probe_result(&key, [failed()].iter(), 3, now), ProbeResult::Unchanged);
        }
        assert!(policy.lock().failures.len() <= HOSTS_KEPT + 1);
    }

    #[test]
    fn a_class_without_slots_holds_back_no_other() {
        let (policy, now) = (PolicyCache::default(), Timestamp::UNIX_EPOCH);
        let written: Written = (1, now);
        let at = |channel: &str, version: i64, priority| {
            policy.claimable_at(channel, Some((version, now)), priority, 5)
        };
        policy.full_until("sms:a", written, Urgency::Campaign, later(now, Duration::from_secs(60)));
        assert_eq!(at("sms:a", 1, 8), 60_000_000);
        assert_eq!((at("sms:a", 1, 0), at("sms:b", 1, 8)), (5, 5));
        assert_eq!(at("sms:a", 2, 8), 5, "another version has other limits");
        policy.ask_again("sms:a");
        assert_eq!(at("sms:a", 1, 8), 5);
    }
}

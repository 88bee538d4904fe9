//! Opens the circuit of a channel that fails, or of one host that targets name themselves, and closes it after a probe
//! that succeeds.

use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;
use punctual_model::{NotificationStatus, ReasonCode, SendOutcome, Targets};
use punctual_store::{
    Stage, StoreError, Tx,
    delivery_policy::circuits::{self, CircuitKey},
    notifications::{Delivery, NotificationRow},
};

use super::deferred;
use crate::{
    Engine, Opened,
    config::later,
    delivery::{plan::Plan, send::Answer},
    delivery_policy::{Circuit, ProbeResult},
};

/// What the answers of one window mean for the circuits that they concern; those that stay as they are are left out.
pub(in crate::delivery) type ProbeResults = Vec<(CircuitKey, ProbeResult)>;

/// A circuit that was opened by a commit, to be remembered after it.
pub(in crate::delivery) type OpenedCircuits = Vec<(CircuitKey, Circuit)>;

impl Engine {
    /// Returns what these answers mean for the circuits that they concern.
    pub(in crate::delivery) fn probe_results<'o>(
        &self,
        opened: &Opened,
        answers: impl Iterator<Item = &'o Answer>,
        now: Timestamp,
    ) -> ProbeResults {
        let mut by_host: BTreeMap<Option<String>, Vec<&SendOutcome>> = BTreeMap::new();
        for answer in answers {
            by_host.entry(opened.channel.host_of(&answer.target)).or_default().push(&answer.outcome);
        }
        let failures = opened.breaker(self.config.breaker).failures;
        let results = by_host.into_iter().map(|(host, outcomes)| {
            let key = CircuitKey { channel: opened.key.to_string(), host };
            let result = self.policy.probe_result(&key, outcomes.into_iter(), failures, now);
            (key, result)
        });
        results.filter(|(_, result)| *result != ProbeResult::Unchanged).collect()
    }

    /// Opens or closes circuits in the transaction that records the results. Returns those that were opened.
    pub(in crate::delivery) async fn write_circuits(
        &self,
        tx: &mut Tx,
        opened: &Opened,
        results: &ProbeResults,
        now: Timestamp,
    ) -> Result<OpenedCircuits, StoreError> {
        let breaker = opened.breaker(self.config.breaker);
        let mut all = Vec::new();
        for (key, result) in results {
            match result {
                ProbeResult::Unchanged => {}
                ProbeResult::Works => {
                    circuits::close(&mut tx.conn(), key).await?;
                    tx.raise(Stage::Delivery, now);
                }
                ProbeResult::Fails(error) => {
                    let before = self.policy.circuit(key);
                    let open_count = before.as_ref().map_or(1, |before| before.open_count + 1);
                    let until = later(now, breaker.duration(open_count));
                    let error: String = error.chars().take(500).collect();
                    if before.is_some() {
                        circuits::reopen(&mut tx.conn(), key, open_count, until, &error).await?;
                    } else {
                        circuits::open(&mut tx.conn(), now, key, until, &error).await?;
                    }
                    tx.raise(Stage::Delivery, until);
                    let opened_at = before.map_or(now, |before| before.opened_at);
                    let circuit = Circuit { open_count, opened_at, open_until: until, last_error: error };
                    all.push((key.clone(), circuit));
                }
            }
        }
        Ok(all)
    }

    /// Updates the cache and the metric after the commit.
    pub(in crate::delivery) fn remember_circuits(&self, results: &ProbeResults, opened: OpenedCircuits) {
        for (key, _) in results.iter().filter(|(_, result)| *result == ProbeResult::Works) {
            let (channel, host) = (key.channel.as_str(), key.host.as_deref());
            tracing::info!(channel.key = channel, host, "circuit closed: calls succeed again");
            if host.is_none() {
                self.metrics.circuit_open(channel, false);
            }
            self.policy.close_circuit(key);
        }
        for (key, circuit) in opened {
            let (channel, host) = (key.channel.as_str(), key.host.as_deref());
            tracing::warn!(channel.key = channel, host, until = %circuit.open_until, error = circuit.last_error, "circuit open: calls fail");
            if host.is_none() {
                self.metrics.circuit_open(channel, true);
            }
            self.policy.open_circuit(&key, circuit);
        }
    }

    /// Leaves targets at hosts whose circuit is open for later: they wait for the next probe. Of a host that is half open
    /// one target goes, as the probe. Where no circuit of a host is open, nothing is read.
    pub(in crate::delivery) async fn leave_open_hosts(
        &self,
        tx: &mut Tx,
        opened: Option<&Opened>,
        plans: Vec<Plan>,
        now: Timestamp,
    ) -> Result<Vec<Plan>, StoreError> {
        let Some(opened) = opened else { return Ok(plans) };
        let open = self.policy.open_hosts(opened.key.as_str());
        if open.is_empty() {
            return Ok(plans);
        }
        // A probe ends within one call; then the circuit is closed or open again.
        let after_probe = later(now, opened.channel.timeout());
        let mut asked = HashSet::new();
        let mut left = Vec::with_capacity(plans.len());
        for plan in plans {
            let Plan::Send(mut item) = plan else {
                left.push(plan);
                continue;
            };
            let mut go = Targets::default();
            let mut until: Option<Timestamp> = None;
            for target in std::mem::take(&mut item.targets) {
                let host = opened.channel.host_of(&target);
                let Some((host, circuit)) = host.and_then(|host| open.get_key_value(&host)) else {
                    go.add(target);
                    continue;
                };
                let next = if circuit.open_until > now {
                    circuit.open_until
                } else if asked.insert(host) && self.may_probe(tx, opened, host, now).await? {
                    go.add(target);
                    continue;
                } else {
                    after_probe
                };
                until = Some(until.map_or(next, |first| first.min(next)));
            }
            item.targets = go;
            left.push(match until {
                None => Plan::Send(item),
                Some(until) if item.targets.is_empty() => {
                    let delivery = deferred(&item.row, until, ReasonCode::CircuitOpen);
                    Plan::Settle(item.row, delivery)
                }
                Some(until) => {
                    item.waits(until, ReasonCode::CircuitOpen);
                    Plan::Send(item)
                }
            });
        }
        Ok(left)
    }

    async fn may_probe(
        &self,
        tx: &mut Tx,
        opened: &Opened,
        host: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let key = CircuitKey { channel: opened.key.to_string(), host: Some(host.to_owned()) };
        circuits::probe(&mut tx.conn(), now, &key, later(now, self.lease_for(Some(opened)))).await
    }

    /// A failed probe of a channel does not use up the message's attempts.
    pub(in crate::delivery) fn not_counted(
        &self,
        row: &NotificationRow,
        delivery: Delivery,
        now: Timestamp,
    ) -> Delivery {
        let failed = delivery.status == NotificationStatus::Retrying
            || delivery.reason == Some(ReasonCode::RetriesExhausted);
        if !failed {
            return delivery;
        }
        Delivery { last_error: delivery.last_error, ..deferred(row, now, ReasonCode::CircuitOpen) }
    }
}

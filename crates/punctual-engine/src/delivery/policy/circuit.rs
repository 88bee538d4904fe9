//! Opens the circuit of a channel that fails, and closes it after a probe that succeeds.

use jiff::Timestamp;
use punctual_model::{ReasonCode, SendOutcome};
use punctual_store::{
    Stage, StoreError, Tx,
    delivery_policy::circuits,
    notifications::{ClaimedNotification, Delivery},
};

use super::deferred;
use crate::{
    Engine,
    config::later,
    delivery_policy::{Circuit, ProbeResult},
};

impl Engine {
    /// Returns what these results mean for the circuit of their channel.
    pub(in crate::delivery) fn probe_result<'o>(
        &self,
        channel: &str,
        outcomes: impl Iterator<Item = &'o SendOutcome>,
        now: Timestamp,
    ) -> ProbeResult {
        self.policy.probe_result(channel, outcomes, self.config.breaker.failures, now)
    }

    /// Opens or closes the circuit in the transaction that records the results. Returns the circuit if it was opened.
    pub(in crate::delivery) async fn write_circuit(
        &self,
        tx: &mut Tx,
        channel: &str,
        result: &ProbeResult,
        now: Timestamp,
    ) -> Result<Option<Circuit>, StoreError> {
        match result {
            ProbeResult::Unchanged => Ok(None),
            ProbeResult::Works => {
                circuits::close(&mut tx.conn(), channel).await?;
                tx.raise(Stage::Delivery, now);
                Ok(None)
            }
            ProbeResult::Fails(error) => {
                let before = self.policy.circuit(channel);
                let open_count = before.as_ref().map_or(1, |before| before.open_count + 1);
                let until = later(now, self.config.breaker.duration(open_count));
                let error: String = error.chars().take(500).collect();
                if before.is_some() {
                    circuits::reopen(&mut tx.conn(), channel, open_count, until, &error).await?;
                } else {
                    circuits::open(&mut tx.conn(), now, channel, until, &error).await?;
                }
                tx.raise(Stage::Delivery, until);
                let opened_at = before.map_or(now, |before| before.opened_at);
                Ok(Some(Circuit { open_count, opened_at, open_until: until, last_error: error }))
            }
        }
    }

    /// Updates the cache and the metric after the commit.
    pub(in crate::delivery) fn remember_circuit(
        &self,
        channel: &str,
        result: &ProbeResult,
        circuit: Option<Circuit>,
    ) {
        match (result, circuit) {
            (ProbeResult::Works, _) => {
                tracing::info!(channel.key = channel, "circuit closed: the channel works again");
                self.metrics.circuit_open(channel, false);
                self.policy.close_circuit(channel);
            }
            (ProbeResult::Fails(error), Some(circuit)) => {
                tracing::warn!(channel.key = channel, until = %circuit.open_until, error, "circuit open: the channel fails");
                self.metrics.circuit_open(channel, true);
                self.policy.open_circuit(channel, circuit);
            }
            _ => {}
        }
    }

    /// A failed probe does not use up the message's attempts.
    pub(in crate::delivery) fn not_counted(
        &self,
        row: &ClaimedNotification,
        delivery: Delivery,
        now: Timestamp,
    ) -> Delivery {
        let failed = delivery.status == "retrying"
            || delivery
                .reason
                .as_deref()
                .is_some_and(|reason| reason == ReasonCode::RetriesExhausted.as_str());
        if !failed {
            return delivery;
        }
        Delivery { last_error: delivery.last_error, ..deferred(row, now, ReasonCode::CircuitOpen) }
    }
}

//! A channel that does not work rests, and one message tries whether it works again.

use jiff::Timestamp;
use punctual_model::{SendOutcome, delivery_policy::reasons};
use punctual_store::{
    Stage, StoreError, Tx,
    delivery_policy::circuits,
    notifications::{ClaimedNotification, Delivery},
};

use super::deferred;
use crate::{
    Engine,
    config::later,
    delivery_policy::{Circuit, Heard},
};

impl Engine {
    /// What these answers mean for their channel.
    pub(in crate::delivery) fn hear<'o>(
        &self,
        channel: &str,
        outcomes: impl Iterator<Item = &'o SendOutcome>,
        now: Timestamp,
    ) -> Heard {
        self.policy.hear(channel, outcomes, self.config.breaker.after, now)
    }

    /// Writes that a channel rests or works, with the record of what it answered. Returns when its rest ends.
    pub(in crate::delivery) async fn write_rest(
        &self,
        tx: &mut Tx,
        channel: &str,
        heard: &Heard,
        now: Timestamp,
    ) -> Result<Option<Circuit>, StoreError> {
        match heard {
            Heard::Nothing => Ok(None),
            Heard::Works => {
                circuits::close(&mut tx.conn(), channel).await?;
                tx.raise(Stage::Delivery, now);
                Ok(None)
            }
            Heard::Fails(error) => {
                let before = self.policy.circuit(channel);
                let rests = before.as_ref().map_or(1, |before| before.rests + 1);
                let until = later(now, self.config.breaker.rest(rests));
                let error: String = error.chars().take(500).collect();
                if before.is_some() {
                    circuits::rest(&mut tx.conn(), channel, rests, until, &error).await?;
                } else {
                    circuits::open(&mut tx.conn(), now, channel, until, &error).await?;
                }
                tx.raise(Stage::Delivery, until);
                let opened_at = before.map_or(now, |before| before.opened_at);
                Ok(Some(Circuit { rests, opened_at, rests_until: until, last_error: error }))
            }
        }
    }

    /// Remembers what was written.
    pub(in crate::delivery) fn remember_rest(&self, channel: &str, heard: &Heard, circuit: Option<Circuit>) {
        match (heard, circuit) {
            (Heard::Works, _) => {
                tracing::info!(channel.key = channel, "the channel works again");
                self.metrics.channel_rests(channel, false);
                self.policy.works(channel);
            }
            (Heard::Fails(error), Some(circuit)) => {
                tracing::warn!(channel.key = channel, until = %circuit.rests_until, error, "the channel rests");
                self.metrics.channel_rests(channel, true);
                self.policy.rests(channel, circuit);
            }
            _ => {}
        }
    }

    /// The message that tried pays for nobody: its own tries are not counted while the channel rests.
    pub(in crate::delivery) fn spared(
        &self,
        row: &ClaimedNotification,
        delivery: Delivery,
        now: Timestamp,
    ) -> Delivery {
        let failed = delivery.status == "retrying"
            || delivery.reason.as_deref().is_some_and(|reason| reason == "retries-exhausted");
        if !failed {
            return delivery;
        }
        Delivery { last_error: delivery.last_error, ..deferred(row, now, reasons::CHANNEL_RESTING) }
    }
}

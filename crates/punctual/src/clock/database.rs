//! Following the database's clock, so that all nodes judge by one.

use std::{sync::Arc, time::Duration};

use jiff::SignedDuration;
use punctual_model::{Clock, Reference, Sample};
use punctual_store::{Lane, Store, StoreError, database_clock, facts};

use super::SystemClock;

/// How often the database's clock is read, at most.
const EVERY: Duration = Duration::from_secs(5);
/// So many looks fit into a lease: half of one may pass without an answer.
const LOOKS_A_LEASE: u32 = 12;
/// Looks at the start; the best of them counts.
const AT_THE_START: usize = 3;
/// A machine's clock that is off by more is worth a line in the log.
const WORTH_SAYING: SignedDuration = SignedDuration::from_secs(1);
/// What a single node's clock has shown, so that it never shows less after a restart.
const HIGH_WATER: &str = "clock.high-water";

/// Keeps a clock to its reference: the database's, or on a single node its own and what the last run has shown.
pub struct Keeper {
    clock: Arc<SystemClock>,
    store: Store,
    every: Duration,
    own_is_off: bool,
}

impl Keeper {
    /// Sets the clock; for the start, before anything depends on the time.
    pub async fn start(clock: &Arc<SystemClock>, store: &Store, lease: Duration) -> Result<Self, StoreError> {
        let every = EVERY.min(lease / LOOKS_A_LEASE);
        let mut keeper = Self { clock: clock.clone(), store: store.clone(), every, own_is_off: false };
        if store.is_single_process() {
            let mut reader = store.read().await?;
            if let Some(mark) = facts::mark(&mut reader.conn(), HIGH_WATER).await? {
                clock.not_before(mark);
            }
        } else {
            clock.follow(Reference::Database, keeper.sample().await?);
            for _ in 1..AT_THE_START {
                clock.sampled(keeper.sample().await?);
            }
        }
        keeper.say_how_it_is();
        Ok(keeper)
    }

    /// Looks again and again, until the process ends.
    pub async fn run(mut self) {
        loop {
            let next = self.clock.now() + self.every;
            self.clock.sleep_until(next).await;
            if let Err(error) = self.look().await {
                tracing::debug!(%error, "the clock could not be checked");
            }
            self.say_how_it_is();
        }
    }

    async fn look(&self) -> Result<(), StoreError> {
        if self.store.is_single_process() {
            let mut tx = self.store.begin(Lane::Intake).await?;
            facts::advance(&mut tx.conn(), HIGH_WATER, self.clock.now()).await?;
            return tx.commit().await;
        }
        self.clock.sampled(self.sample().await?);
        Ok(())
    }

    async fn sample(&self) -> Result<Sample, StoreError> {
        let mut reader = self.store.probe().await?;
        let sent = self.clock.monotonic();
        let theirs = database_clock::now(&mut reader.conn()).await?;
        Ok(Sample { sent, theirs, received: self.clock.monotonic() })
    }

    /// Says once when the machine's own clock turns out to be wrong, and once when it is right again.
    fn say_how_it_is(&mut self) {
        let off = self.clock.own_offset();
        let is_off = off.abs() > WORTH_SAYING;
        if is_off && !self.own_is_off {
            tracing::warn!(
                offset_ms = off.as_millis(),
                "the clock of this machine differs from the time of the database, which the node goes by"
            );
        } else if !is_off && self.own_is_off {
            tracing::info!(
                offset_ms = off.as_millis(),
                "the clock of this machine and the time of the database agree again"
            );
        }
        self.own_is_off = is_off;
    }
}

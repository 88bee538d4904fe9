//! Runs all ready rows for the sandbox, the tick route and tests: the same code as the loops, without waiting.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::ManualClock;
use tokio::sync::OwnedSemaphorePermit;

use crate::{DeliveryReport, DueReport, Engine, EngineError, SweepReport};

/// What one pass over all stages did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassReport {
    pub due: DueReport,
    pub deliveries: DeliveryReport,
    pub sweep: SweepReport,
}

/// What moving the clock did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdvanceReport {
    /// Instants at which something was ready.
    pub steps: usize,
    pub done: PassReport,
}

/// Passes at one instant: far more than any chain of effects needs, so that an endless chain of settings ends.
const PASSES: usize = 10_000;

impl Engine {
    /// One bounded pass over every stage.
    #[boxed]
    pub async fn pass(&self, now: Timestamp, limit: i64) -> Result<PassReport, EngineError> {
        let sweep = self.sweep_tick(now).await?;
        let due = self.due_tick(now, limit).await?;
        let deliveries = self.delivery_tick(now, limit).await?;
        Ok(PassReport { due, deliveries, sweep })
    }

    /// Passes until nothing is ready at `now` any more.
    #[boxed]
    pub async fn run_ready(&self, now: Timestamp) -> Result<PassReport, EngineError> {
        let mut all = PassReport::default();
        for _ in 0..PASSES {
            let one = self.pass(now, self.config.batch).await?;
            if one == PassReport::default() {
                break;
            }
            all.due.add(&one.due);
            all.deliveries.add(&one.deliveries);
            all.sweep.work += one.sweep.work;
            all.sweep.notifications += one.sweep.notifications;
        }
        Ok(all)
    }

    /// The earliest instant at which anything is ready.
    #[boxed]
    pub async fn next_ready(&self) -> Result<Option<Timestamp>, EngineError> {
        let work = self.earliest_work().await?.first().map(|(_, at)| *at);
        let deliveries = self.earliest_deliveries().await?.first().map(|(_, at)| *at);
        let earliest = work.into_iter().chain(deliveries).min();
        Ok(earliest.and_then(|at| Timestamp::from_microsecond(at).ok()))
    }

    /// Puts a manual clock to `now`, wherever it was, and runs what is ready then.
    #[boxed]
    pub async fn jump(&self, clock: &ManualClock, now: Timestamp) -> Result<PassReport, EngineError> {
        let _paused = self.pause_long_running().await;
        clock.set(now);
        self.run_ready(now).await
    }

    /// Where loops run beside the driver, as in the demo, what they are preparing would lose its lease to a clock that
    /// moves by hours: it is waited for first.
    async fn pause_long_running(&self) -> Option<OwnedSemaphorePermit> {
        self.running()?.pause_long_running().await
    }

    /// Moves a manual clock to `until`, stopping at every instant on the way at which something is ready.
    #[boxed]
    pub async fn advance(&self, clock: &ManualClock, until: Timestamp) -> Result<AdvanceReport, EngineError> {
        let _paused = self.pause_long_running().await;
        let mut report = AdvanceReport::default();
        let mut last = None;
        while let Some(next) = self.next_ready().await?.filter(|next| *next <= until) {
            // The same instant twice means that something ready was not taken: do not wait for it.
            if last == Some(next) {
                break;
            }
            last = Some(next);
            let now = next.max(punctual_model::Clock::now(clock));
            clock.set(now);
            let done = self.run_ready(now).await?;
            report.steps += 1;
            report.done.due.add(&done.due);
            report.done.deliveries.add(&done.deliveries);
        }
        clock.set(until);
        let done = self.run_ready(until).await?;
        report.done.due.add(&done.due);
        report.done.deliveries.add(&done.deliveries);
        Ok(report)
    }
}

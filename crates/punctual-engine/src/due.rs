//! The due stage: claims ready rows, lets the workflow decide on current state, and writes the decision and its effects in one
//! transaction.

mod claim;
mod listen;
mod recover;
mod settle;
mod trace;
mod work_on;

use std::collections::BTreeMap;

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_store::{After, StoreError, work};

use crate::{Claimed, Engine, EngineError, Registration, confine::guarded, delivery::HandOver};

pub(crate) use punctual_model::chain;
pub(crate) use recover::Deciding;

/// What one tick of the due stage did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DueReport {
    pub claimed: usize,
    pub completed: usize,
    pub deactivated: usize,
    pub failed: usize,
    pub held: usize,
    pub retried: usize,
    pub deferred: usize,
    pub notifications: usize,
    /// Claims that another worker had taken over in the meantime.
    pub lost: usize,
    /// What decisions noted, by word.
    pub noted: BTreeMap<&'static str, usize>,
}

impl DueReport {
    pub fn add(&mut self, other: &Self) {
        self.claimed += other.claimed;
        self.completed += other.completed;
        self.deactivated += other.deactivated;
        self.failed += other.failed;
        self.held += other.held;
        self.retried += other.retried;
        self.deferred += other.deferred;
        self.notifications += other.notifications;
        self.lost += other.lost;
        for (word, count) in &other.noted {
            *self.noted.entry(word).or_default() += count;
        }
    }
}

/// Claimed rows of one workflow.
pub(crate) struct Batch {
    pub(crate) workflow: Registration,
    pub(crate) rows: Vec<Claimed>,
}

impl Engine {
    /// One bounded pass: at most `limit` ready rows of every kind, worked one kind after the other.
    #[boxed]
    pub async fn due_tick(&self, now: Timestamp, limit: i64) -> Result<DueReport, EngineError> {
        let mut report = DueReport::default();
        let mut fault = None;
        for kind in self.ready_kinds(now).await? {
            let is_long = self.workflows.get(&kind).is_some_and(|workflow| workflow.is_long_running());
            let mut left = limit;
            loop {
                let (done, hand_over) = match self.work_due(&kind, now, left, false).await {
                    // One kind must not keep the others from their turn.
                    Err(error) if !error.is_unavailable() => {
                        fault = Some(error);
                        break;
                    }
                    done => done?,
                };
                debug_assert!(hand_over.is_empty(), "a tick leaves sending to the delivery stage");
                report.add(&done);
                let claimed = i64::try_from(done.claimed).unwrap_or(i64::MAX);
                // Long-running rows are claimed one by one; what failed is queued again for a later time. Of the others, a batch
                // that is not full was the last.
                let is_last = if is_long { claimed == 0 } else { claimed < left.min(self.config.batch) };
                left -= claimed;
                if is_last || left <= 0 {
                    break;
                }
            }
        }
        fault.map_or(Ok(report), Err)
    }

    /// The kinds that have a row ready at `by`, each with the earliest first.
    pub(crate) async fn ready_kinds(&self, by: Timestamp) -> Result<Vec<String>, StoreError> {
        let earliest = self.earliest_work().await?;
        let ready = earliest.into_iter().filter(|(_, at)| *at <= by.as_microsecond());
        Ok(ready.map(|(kind, _)| kind).collect())
    }

    /// The kinds of what people wait for, without housekeeping.
    pub fn kinds_of_interest(&self) -> Vec<String> {
        let workflows = self.workflows.iter().filter(|(_, workflow)| !workflow.is_housekeeping());
        workflows.map(|(kind, _)| kind.to_owned()).collect()
    }

    /// When the next row of each known kind is ready, soonest first.
    pub(crate) async fn earliest_work(&self) -> Result<Vec<(String, i64)>, StoreError> {
        let marks = self.work_marks.all();
        let after = |kind: &str| marks.get(kind).copied().unwrap_or(After::BEGINNING);
        let kinds: Vec<_> = self.workflows.keys().map(|kind| (kind, after(kind))).collect();
        let mut reader = self.store.read().await?;
        let mut earliest = work::earliest(&mut reader.conn(), &kinds).await?;
        earliest.sort_by_key(|(_, at)| *at);
        Ok(earliest)
    }

    /// Works up to `limit` rows of one kind that are due. Deciding takes no time, so they are locked, decided and settled
    /// in one transaction; long-running ones, and a set that fails, are claimed first.
    pub(crate) async fn work_due(
        &self,
        kind: &str,
        now: Timestamp,
        limit: i64,
        sends_itself: bool,
    ) -> Result<(DueReport, HandOver), EngineError> {
        let Some(workflow) = self.workflows.get(kind) else { return Ok(Default::default()) };
        self.check_clock()?;
        if !workflow.is_long_running() && !self.store.without_skip_locked() {
            let limit = limit.min(self.config.batch);
            match guarded(self.lock_and_settle(workflow, now, limit, sends_itself)).await {
                Ok(done) => return Ok(done),
                // Nothing was written. Claimed first, the others are done and the row at fault is found.
                Err(error) => {
                    tracing::warn!(work.kind = kind, error = %chain(&error), "a batch failed; its rows are claimed first and retried")
                }
            }
        }
        match self.claim(kind, now, now, limit).await? {
            Some(batch) => self.work_on(batch, now, sends_itself).await,
            None => Ok(Default::default()),
        }
    }

    async fn lock_and_settle(
        &self,
        workflow: &Registration,
        now: Timestamp,
        limit: i64,
        sends_itself: bool,
    ) -> Result<(DueReport, HandOver), EngineError> {
        self.with_noted(workflow, now, limit, async |tx, rows| {
            self.metrics.claimed(rows.len());
            self.record_lateness(&rows, now);
            self.decide_and_settle(tx, workflow, &rows, now, sends_itself).await
        })
        .await
    }

    fn record_lateness(&self, rows: &[Claimed], now: Timestamp) {
        for row in rows {
            self.metrics.lateness(now.as_microsecond() - row.ready_at.as_microsecond());
        }
    }
}

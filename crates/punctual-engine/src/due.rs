//! The due stage: claim what is ready, let its workflow decide on fresh state, and write the decision with all that
//! belongs to it in one transaction.

mod decide;
mod settle;
mod trace;

use std::{collections::BTreeMap, panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{Arrival, Decided, Decision, Effect, ReasonCode};
use punctual_store::{Lane, StoreError, Tx, work};

use crate::{Claimed, Engine, EngineError, Workflow, config::later, confine::guarded, delivery::HandOver};
use decide::decide_all;
use settle::SettledBatch;

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
    pub(crate) workflow: Arc<dyn Workflow>,
    pub(crate) rows: Vec<Claimed>,
}

/// Why a batch could not be decided, or its decision not be written.
enum Failed {
    Panicked,
    Store(EngineError),
}

impl Failed {
    fn text(&self) -> String {
        match self {
            Self::Panicked => "the workflow panicked".into(),
            Self::Store(error) => chain(error),
        }
    }
}

impl<E: Into<EngineError>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self::Store(error.into())
    }
}

impl Engine {
    /// One bounded pass: at most `limit` ready rows of every kind, worked one kind after the other.
    #[boxed]
    pub async fn due_tick(&self, now: Timestamp, limit: i64) -> Result<DueReport, EngineError> {
        let mut report = DueReport::default();
        for kind in self.ready_kinds(now).await? {
            let is_long = self.workflows.get(&kind).is_some_and(|workflow| workflow.is_long_running());
            let mut left = limit;
            loop {
                let (done, hand_over) = self.work_due(&kind, now, left, false).await?;
                debug_assert!(hand_over.is_empty(), "a tick leaves sending to the delivery stage");
                report.add(&done);
                left -= i64::try_from(done.claimed).unwrap_or(i64::MAX);
                // Long-running rows are claimed one by one; what failed is queued again for a later time.
                if !is_long || done.claimed == 0 || left <= 0 {
                    break;
                }
            }
        }
        Ok(report)
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
        let kinds: Vec<&str> = self.workflows.keys().collect();
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
        if !workflow.is_long_running() && !self.store.without_skip_locked() {
            match self.lock_and_settle(workflow, now, limit.min(self.config.batch), sends_itself).await {
                Ok(done) => return Ok(done),
                // Nothing was written. Claimed row by row, the others are done and the spoiler is found.
                Err(failed) => {
                    tracing::warn!(work.kind = kind, error = %failed.text(), "a batch failed and is claimed instead")
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
        workflow: &Arc<dyn Workflow>,
        now: Timestamp,
        limit: i64,
        sends_itself: bool,
    ) -> Result<(DueReport, HandOver), Failed> {
        let mut tx = self.store.begin(Lane::Settle).await?;
        let rows = work::lock_due(&mut tx, workflow.kind(), now, limit).await?;
        if rows.is_empty() {
            return Ok(Default::default());
        }
        let batch = Batch { workflow: workflow.clone(), rows };
        self.metrics.claimed(batch.rows.len());
        self.record_lateness(&batch, now);
        self.decide_and_settle(tx, &batch, &serde_json::Value::Null, now, sends_itself).await
    }

    /// Claims rows of one kind that are ready at `ready_by`; one row only where the kind is long-running.
    pub(crate) async fn claim(
        &self,
        kind: &str,
        now: Timestamp,
        ready_by: Timestamp,
        limit: i64,
    ) -> Result<Option<Batch>, EngineError> {
        let Some(workflow) = self.workflows.get(kind) else { return Ok(None) };
        let limit = if workflow.is_long_running() { 1 } else { limit.min(self.config.batch) };
        let mut tx = self.store.begin(Lane::Claim).await?;
        let rows = work::claim(&mut tx, kind, ready_by, later(now, self.config.lease), limit).await?;
        if rows.is_empty() {
            return Ok(None);
        }
        tx.commit().await?;
        self.metrics.claimed(rows.len());
        Ok(Some(Batch { workflow: workflow.clone(), rows }))
    }

    /// Decides and settles a claimed batch. With `sends_itself`, notifications for which this node has free permits
    /// are inserted already claimed and handed back for sending.
    pub(crate) async fn work_on(
        &self,
        batch: Batch,
        now: Timestamp,
        sends_itself: bool,
    ) -> Result<(DueReport, HandOver), EngineError> {
        if batch.workflow.is_long_running() {
            return self.work_on_long(batch, now).await;
        }
        self.record_lateness(&batch, now);
        if let Some(alone) = batch.workflow.decides_alone() {
            // Listeners first: the arrival of a row that was claimed ahead is published at `due_at`, not a BEGIN later.
            let decided = self.publish(decide_all(alone, &batch.rows, &serde_json::Value::Null, now));
            return self.settle_decided(batch, decided, now, sends_itself).await;
        }
        let failed = match self.load_and_settle(&batch, &serde_json::Value::Null, now, sends_itself).await {
            Err(failed) => failed,
            Ok(done) => return Ok(done),
        };
        // One row may have spoiled the batch, and a hiccup may have passed: each on its own shows which.
        tracing::warn!(work.kind = batch.workflow.kind(), error = %failed.text(), "a batch failed and is split");
        let (mut report, mut hand_over) = (DueReport::default(), HandOver::default());
        for row in batch.rows {
            let alone = Batch { workflow: batch.workflow.clone(), rows: vec![row] };
            match self.load_and_settle(&alone, &serde_json::Value::Null, now, sends_itself).await {
                Ok((done, sends)) => {
                    report.add(&done);
                    hand_over.append(sends);
                }
                Err(failed) => report.add(&self.put_back_alone(&alone, now, failed).await?),
            }
        }
        Ok((report, hand_over))
    }

    /// Settles rows whose arrivals are published already; where the set fails because of a row, each row by itself.
    async fn settle_decided(
        &self,
        batch: Batch,
        decided: Vec<Decided>,
        now: Timestamp,
        sends_itself: bool,
    ) -> Result<(DueReport, HandOver), EngineError> {
        match guarded(self.settle_work(&batch, decided.clone(), now, sends_itself)).await {
            Err(error) if !error.is_unavailable() => {
                tracing::warn!(work.kind = batch.workflow.kind(), error = %chain(&error), "a batch failed and is split");
            }
            done => return done,
        }
        let (mut report, mut hand_over) = (DueReport::default(), HandOver::default());
        for (row, decided) in batch.rows.into_iter().zip(decided) {
            let alone = Batch { workflow: batch.workflow.clone(), rows: vec![row] };
            match guarded(self.settle_work(&alone, vec![decided], now, sends_itself)).await {
                Ok((done, sends)) => {
                    report.add(&done);
                    hand_over.append(sends);
                }
                Err(error) => report.add(&self.put_back_alone(&alone, now, error.into()).await?),
            }
        }
        Ok((report, hand_over))
    }

    async fn load_and_settle(
        &self,
        batch: &Batch,
        prepared: &serde_json::Value,
        now: Timestamp,
        sends_itself: bool,
    ) -> Result<(DueReport, HandOver), Failed> {
        let tx = self.store.begin(Lane::Settle).await?;
        self.decide_and_settle(tx, batch, prepared, now, sends_itself).await
    }

    async fn decide_and_settle(
        &self,
        mut tx: Tx,
        batch: &Batch,
        prepared: &serde_json::Value,
        now: Timestamp,
        sends_itself: bool,
    ) -> Result<(DueReport, HandOver), Failed> {
        match self.decide_in(&mut tx, batch, prepared, now, sends_itself).await {
            Ok(settled) => {
                tx.commit().await?;
                Ok(self.settled(batch, settled).await)
            }
            Err(failed) => {
                // The retry must find the rows free.
                tx.rollback().await;
                Err(failed)
            }
        }
    }

    async fn decide_in(
        &self,
        tx: &mut Tx,
        batch: &Batch,
        prepared: &serde_json::Value,
        now: Timestamp,
        sends_itself: bool,
    ) -> Result<SettledBatch, Failed> {
        if batch.workflow.is_long_running() {
            for row in &batch.rows {
                batch.workflow.take(tx, now, row, prepared).await?;
            }
        }
        let decided = if let Some(alone) = batch.workflow.decides_alone() {
            decide_all(alone, &batch.rows, prepared, now)
        } else {
            let loaded =
                AssertUnwindSafe(batch.workflow.load(&mut tx.conn(), &batch.rows)).catch_unwind().await;
            let loaded = loaded.map_err(|_| Failed::Panicked)??;
            decide_all(&*loaded, &batch.rows, prepared, now)
        };
        let decided = self.publish(decided);
        Ok(self.settle_work_in(tx, batch, decided, now, sends_itself).await?)
    }

    /// A long-running row is prepared with its lease renewed meanwhile, and then decided like any other.
    async fn work_on_long(&self, batch: Batch, now: Timestamp) -> Result<(DueReport, HandOver), EngineError> {
        self.record_lateness(&batch, now);
        let held: Vec<(i64, i64)> = batch.rows.iter().map(|row| (row.id, row.version)).collect();
        let Some(row) = batch.rows.first() else { return Ok(Default::default()) };
        let prepare = AssertUnwindSafe(batch.workflow.prepare(self, row)).catch_unwind();
        // Both go on at once: a preparation that is writing and a renewal that waits for it must not wait for each other.
        let prepared = tokio::select! {
            prepared = prepare => prepared,
            lost = self.renew_until_lost(&held) => {
                lost?;
                return Ok((DueReport { claimed: 1, lost: 1, ..Default::default() }, HandOver::default()));
            }
        };
        let now = now.max(self.clock.now());
        let outcome = match prepared {
            Ok(Ok(prepared)) => self.load_and_settle(&batch, &prepared, now, false).await,
            Ok(Err(reason)) => {
                let decided = vec![Decision::Retry(reason).into()];
                self.settle_work(&batch, decided, now, false).await.map_err(Failed::from)
            }
            Err(_) => Err(Failed::Panicked),
        };
        match outcome {
            Ok(done) => Ok(done),
            Err(failed) => Ok((self.put_back(&batch, now, failed).await?, HandOver::default())),
        }
    }

    /// Renews leases in time, for as long as they are held.
    async fn renew_until_lost(&self, held: &[(i64, i64)]) -> Result<(), EngineError> {
        loop {
            self.clock.sleep_until(later(self.clock.now(), self.config.renew_every)).await;
            let mut tx = self.store.begin(Lane::Settle).await?;
            let until = later(self.clock.now(), self.config.lease);
            let still = work::renew(&mut tx.conn(), until, held).await?;
            tx.commit().await?;
            if still.is_empty() {
                return Ok(());
            }
        }
    }

    /// Queues a batch again under its retry policy where its decision could not be made or written, or puts it on hold
    /// where the workflow panicked.
    async fn put_back(
        &self,
        batch: &Batch,
        now: Timestamp,
        failed: Failed,
    ) -> Result<DueReport, EngineError> {
        let failed_text = failed.text();
        tracing::warn!(
            work.kind = batch.workflow.kind(),
            error = failed_text,
            "a batch could not be decided"
        );
        let decision = match failed {
            Failed::Panicked => Decision::Hold(ReasonCode::Panic),
            Failed::Store(_) => Decision::Retry(ReasonCode::DecisionFailed),
        };
        let why = serde_json::json!({ "error": failed_text });
        let decided =
            batch.rows.iter().map(|_| Decided::from(decision.clone()).with_trace(why.clone())).collect();
        let (report, _) = self.settle_work(batch, decided, now, false).await?;
        Ok(report)
    }

    /// The same for one row that fails alone. One that cannot even be put back is left to the sweep, and its neighbours go
    /// on.
    async fn put_back_alone(
        &self,
        alone: &Batch,
        now: Timestamp,
        failed: Failed,
    ) -> Result<DueReport, EngineError> {
        self.metrics.row_isolated();
        match guarded(self.put_back(alone, now, failed)).await {
            Err(error) if !error.is_unavailable() => {
                tracing::error!(work.kind = alone.workflow.kind(), error = %chain(&error), "a work row cannot be put back");
                Ok(DueReport::default())
            }
            done => done,
        }
    }

    /// Publishes arrivals to listeners before the rows are completed: at least once, never silently lost.
    fn publish(&self, mut decided: Vec<Decided>) -> Vec<Decided> {
        for one in &mut decided {
            let decision = match &one.decision {
                Decision::Publish(arrival) => Some(arrival),
                _ => None,
            };
            let beside = one.effects.iter().filter_map(|effect| match effect {
                Effect::Publish(arrival) => Some(arrival),
                _ => None,
            });
            if let Some(instead) =
                decision.into_iter().chain(beside).find_map(|arrival| self.publish_one(arrival))
            {
                *one = instead.into();
            }
        }
        decided
    }

    /// Publishes one arrival to its listeners; returns the decision to take instead where one refuses or panics.
    fn publish_one(&self, arrival: &Arrival) -> Option<Decision> {
        let listeners = AssertUnwindSafe(&self.listeners);
        match std::panic::catch_unwind(|| listeners.publish(arrival)) {
            Ok(Ok(())) => None,
            Ok(Err(fault)) => {
                tracing::warn!(topic = arrival.topic, fault, "a listener refused an arrival");
                Some(Decision::Retry(ReasonCode::ListenerFailed))
            }
            Err(_) => Some(Decision::Hold(ReasonCode::Panic)),
        }
    }

    fn record_lateness(&self, batch: &Batch, now: Timestamp) {
        for row in &batch.rows {
            self.metrics.lateness(now.as_microsecond() - row.ready_at);
        }
    }
}

/// An error with its causes, on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

//! Handles rows that a process was deciding when it died. Lock and decision are one transaction, so a crash inside it would not
//! be counted. The ids of a batch are therefore committed first; after an unclean stop, only those rows are claimed and
//! processed one by one. A row that kills the process is then counted, and ends on hold.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_store::{
    After, Lane, Stage, StoreError, Tx,
    batches::{self, BatchRow},
    work::{self, WorkHead},
};

use super::Batch;
use crate::{Claimed, Engine, EngineError, Registration, config::earlier, confine::guarded, marks::Start};

/// The batches that this node is deciding.
#[derive(Default)]
pub(crate) struct Deciding {
    used: Mutex<BTreeSet<i64>>,
}

/// The place of one batch among those of its node, for as long as it is decided.
struct Slot<'d> {
    of: &'d Deciding,
    number: i64,
}

impl Deciding {
    fn slot(&self) -> Slot<'_> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let number = (0..).find(|number| !used.contains(number)).unwrap_or(i64::MAX);
        used.insert(number);
        Slot { of: self, number }
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.of.used.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}

impl Engine {
    /// Locks rows that are due, after their ids are on disk, and has them decided in the transaction that holds the lock.
    pub(super) async fn with_noted<R: Default>(
        &self,
        workflow: &Registration,
        now: Timestamp,
        limit: i64,
        decide: impl AsyncFnOnce(Tx, Vec<Claimed>) -> Result<R, EngineError>,
    ) -> Result<R, EngineError> {
        let slot = self.deciding.slot();
        let mut tx = self.store.begin(Lane::Settle).await?;
        let start = self.start_of_claim(workflow.kind());
        let rows = match self.lock_and_note(&mut tx, workflow, now, limit, start, slot.number).await {
            Ok(rows) => rows,
            Err(error) => {
                // The next claim of these rows must find them unlocked.
                tx.rollback().await;
                return Err(error.into());
            }
        };
        let Some(last) = rows.last().map(Claimed::place) else { return Ok(R::default()) };
        let decided = decide(tx, rows).await;
        match &decided {
            Ok(_) if !self.store.is_single_process() => {
                self.work_marks.advance(&workflow.kind().to_owned(), start, last, now);
            }
            Ok(_) => {}
            // Its rows are as they were.
            Err(_) => self.work_marks.forget(|kind| kind == workflow.kind()),
        }
        decided
    }

    async fn lock_and_note(
        &self,
        tx: &mut Tx,
        workflow: &Registration,
        now: Timestamp,
        limit: i64,
        start: Start,
        slot: i64,
    ) -> Result<Vec<Claimed>, StoreError> {
        let mut rows = work::lock_due(tx, workflow.kind(), now, limit, start.after).await?;
        if rows.is_empty() && start.after != After::BEGINNING {
            self.work_marks.forget(|kind| kind == workflow.kind());
            rows = work::lock_due(tx, workflow.kind(), now, limit, After::BEGINNING).await?;
        }
        if !rows.is_empty() {
            let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
            batches::begin(&self.store, now, &self.config.node, slot, &ids).await?;
        }
        Ok(rows)
    }

    /// Where a claim starts. SQLite removes the entries of settled rows at once and has no marks.
    fn start_of_claim(&self, kind: &str) -> Start {
        self.work_marks.start(&kind.to_owned(), self.store.wake().take_written(Stage::Work))
    }

    /// At a start: works what this node was deciding when it died, or any node where one process owns the database.
    #[boxed]
    pub async fn recover_batches(&self, now: Timestamp) -> Result<usize, EngineError> {
        let left = batches::all(&self.store).await?;
        let is_single = self.store.is_single_process();
        let own = left.into_iter().filter(|batch| is_single || batch.node == self.config.node).collect();
        self.recover(own, now).await
    }

    /// In the sweep: works what nodes were deciding that are gone for longer than a lease.
    pub(crate) async fn recover_abandoned(&self, now: Timestamp) -> Result<usize, EngineError> {
        if self.store.is_single_process() {
            return Ok(0);
        }
        let left = batches::abandoned(&self.store, earlier(now, self.config.lease)).await?;
        let others = left.into_iter().filter(|batch| batch.node != self.config.node).collect();
        self.recover(others, now).await
    }

    async fn recover(&self, left: Vec<BatchRow>, now: Timestamp) -> Result<usize, EngineError> {
        let mut worked = 0;
        for batch in left {
            let rows = {
                let mut reader = self.store.read().await?;
                work::ready_of(&mut reader.conn(), now, batch.ids()?).await?
            };
            if !rows.is_empty() {
                tracing::warn!(
                    node = batch.node,
                    rows = rows.len(),
                    "a process stopped while it processed this batch; its rows are processed one by one"
                );
            }
            for row in &rows {
                worked += self.work_alone(row, now).await?;
            }
            batches::end(&self.store, &batch).await?;
        }
        Ok(worked)
    }

    /// Claims one row, so that it is counted if it kills the process, and works it.
    async fn work_alone(&self, row: &WorkHead, now: Timestamp) -> Result<usize, EngineError> {
        let rows = match guarded(self.claim_these(std::slice::from_ref(row), now)).await {
            Err(error) if !error.is_unavailable() => {
                self.hold_unclaimable(row, now, &error).await?;
                return Ok(0);
            }
            rows => rows?,
        };
        let Some(row) = rows.first() else { return Ok(0) };
        let Some(workflow) = self.workflows.get(&row.kind) else {
            let mut tx = self.store.begin(Lane::Settle).await?;
            work::release(&mut tx.conn(), now, &[(row.id, row.version)]).await?;
            tx.commit().await?;
            return Ok(0);
        };
        self.work_on(Batch { workflow: workflow.clone(), rows }, now, false).await?;
        Ok(1)
    }
}

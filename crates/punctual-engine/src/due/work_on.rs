//! Decides and settles claimed or locked rows. A set that fails because of one row is split until that row is alone; it is
//! released with a reason, and the others continue.

use futures_util::FutureExt;
use jiff::Timestamp;
use punctual_model::{Decided, Decision, ReasonCode};
use punctual_store::{Lane, Tx, work};

use super::{Batch, DueReport, chain, settle::SettledBatch};
use crate::{
    Claimed, Engine, EngineError, Registration,
    config::later,
    confine::{Pieces, guarded},
    delivery::HandOver,
    registration::{DecidedBatch, Deciding, decide_all},
};

impl Engine {
    /// Decides and settles a claimed batch. With `sends_itself`, notifications for which this node has free permits
    /// are inserted already claimed and handed back for sending.
    pub(crate) async fn work_on(
        &self,
        batch: Batch,
        now: Timestamp,
        sends_itself: bool,
    ) -> Result<(DueReport, HandOver), EngineError> {
        let Batch { workflow, rows } = batch;
        self.record_lateness(&rows, now);
        let alone = match &workflow.deciding {
            Deciding::Prepared(_) => return self.work_on_long(&workflow, &rows, now).await,
            Deciding::Loaded(_) => None,
            // Listeners first: the arrival of a row that was claimed ahead is published at `due_at`, not a BEGIN later.
            Deciding::Alone(alone) => {
                let mut batch = DecidedBatch::from(decide_all(&**alone, &rows, now));
                self.publish(&rows, &mut batch);
                Some(batch.decided)
            }
        };
        let places: Vec<usize> = (0..rows.len()).collect();
        let mut pieces = Pieces::of(&places);
        let mut outage = None;
        while let Some(piece) = pieces.next() {
            let range = piece[0]..piece[0] + piece.len();
            let part = &rows[range.clone()];
            let work = async || match &alone {
                Some(decided) => {
                    let decided = decided[range.clone()].to_vec().into();
                    self.settle_work(&workflow, part, decided, now, sends_itself).await
                }
                None => self.load_and_settle(&workflow, part, now, sends_itself).await,
            };
            let mut result = guarded(work()).await;
            if result.as_ref().is_err_and(EngineError::is_unavailable) {
                // A deadlock or a lost connection may be over already.
                result = guarded(work()).await;
            }
            if let Err(error) = pieces.worked(piece, result) {
                outage = Some((range.start, error));
                break;
            }
        }
        let (mut report, mut hand_over) = (DueReport::default(), HandOver::default());
        for (done, sends) in pieces.done {
            report.add(&done);
            hand_over.append(sends);
        }
        let mut fault = None;
        for (place, error) in pieces.failed {
            match self.put_back_alone(&workflow, &rows[*place], now, error).await {
                Ok(done) => report.add(&done),
                Err(error) => fault = Some(error),
            }
        }
        // Pieces are worked in order: an outage leaves this row and all that follow.
        if let Some((from, error)) = outage {
            let left = &rows[from..];
            if error.is_of_the_server() {
                self.give_up_claims(left, now).await;
                fault = Some(error);
            } else {
                match self.put_back(&workflow, left, now, &error).await {
                    Ok(done) => report.add(&done),
                    Err(error) => fault = Some(error),
                }
            }
        }
        match fault {
            // What is claimed for sending is sent, whatever came after it.
            Some(error) if hand_over.is_empty() => Err(error),
            _ => Ok((report, hand_over)),
        }
    }

    async fn load_and_settle(
        &self,
        workflow: &Registration,
        rows: &[Claimed],
        now: Timestamp,
        sends_itself: bool,
    ) -> Result<(DueReport, HandOver), EngineError> {
        let tx = self.store.begin(Lane::Settle).await?;
        self.decide_and_settle(tx, workflow, rows, now, sends_itself).await
    }

    pub(super) async fn decide_and_settle(
        &self,
        mut tx: Tx,
        workflow: &Registration,
        rows: &[Claimed],
        now: Timestamp,
        sends_itself: bool,
    ) -> Result<(DueReport, HandOver), EngineError> {
        let settled = guarded(async {
            let decided = match &workflow.deciding {
                Deciding::Loaded(loading) => loading.decide(&mut tx.conn(), rows, now).await?,
                Deciding::Alone(alone) => decide_all(&**alone, rows, now).into(),
                Deciding::Prepared(_) => unreachable!("long-running rows are prepared first"),
            };
            self.publish_and_settle(&mut tx, workflow, rows, decided, now, sends_itself).await
        });
        let settled = settled.await;
        self.end(tx, workflow, settled).await
    }

    async fn publish_and_settle(
        &self,
        tx: &mut Tx,
        workflow: &Registration,
        rows: &[Claimed],
        mut decided: DecidedBatch,
        now: Timestamp,
        sends_itself: bool,
    ) -> Result<SettledBatch, EngineError> {
        self.publish(rows, &mut decided);
        self.settle_work_in(tx, workflow, rows, decided, now, sends_itself).await
    }

    /// Commits what was settled, or gives the rows back.
    pub(super) async fn end(
        &self,
        tx: Tx,
        workflow: &Registration,
        settled: Result<SettledBatch, EngineError>,
    ) -> Result<(DueReport, HandOver), EngineError> {
        match settled {
            Ok(settled) => {
                tx.commit().await?;
                Ok(self.settled(workflow, settled).await)
            }
            Err(error) => {
                // The retry must find the rows free.
                tx.rollback().await;
                Err(error)
            }
        }
    }

    /// A long-running row is prepared with its lease renewed meanwhile, and then decided like any other.
    async fn work_on_long(
        &self,
        workflow: &Registration,
        rows: &[Claimed],
        now: Timestamp,
    ) -> Result<(DueReport, HandOver), EngineError> {
        let (Some(row), Deciding::Prepared(preparing)) = (rows.first(), &workflow.deciding) else {
            return Ok(Default::default());
        };
        let held = [(row.id, row.version)];
        // Both continue at once: a preparation that is writing and a renewal that waits for it must not wait for each other.
        let prepared = tokio::select! {
            prepared = guarded(preparing.prepare(self, row).map(Ok)) => prepared,
            lost = self.renew_until_lost(&held) => {
                lost?;
                return Ok((DueReport { claimed: 1, lost: 1, ..Default::default() }, HandOver::default()));
            }
        };
        let now = now.max(self.clock.now());
        let outcome = match prepared {
            Ok(Ok(prepared)) => {
                let mut tx = self.store.begin(Lane::Settle).await?;
                let settled = guarded(async {
                    let decided = prepared.decide(&mut tx, row, now).await?;
                    self.publish_and_settle(&mut tx, workflow, rows, decided, now, false).await
                });
                let settled = settled.await;
                self.end(tx, workflow, settled).await
            }
            Ok(Err(reason)) => {
                let decided = vec![Decision::Retry(reason).into()];
                self.settle_work(workflow, rows, decided.into(), now, false).await
            }
            Err(error) => Err(error),
        };
        match outcome {
            Ok(done) => Ok(done),
            Err(error) => Ok((self.put_back(workflow, rows, now, &error).await?, HandOver::default())),
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

    /// Gives rows back as they were, because the database was gone while they were decided: they are claimed again as soon as it
    /// is back, and no attempt is counted. Where it is still gone, their leases run out.
    async fn give_up_claims(&self, rows: &[Claimed], now: Timestamp) {
        let held: Vec<(i64, i64)> = rows.iter().map(|row| (row.id, row.version)).collect();
        let released = async {
            let mut tx = self.store.begin(Lane::Settle).await?;
            work::release(&mut tx.conn(), now, &held).await?;
            tx.commit().await
        };
        if let Err(error) = released.await {
            tracing::warn!(rows = rows.len(), error = %chain(&error), "claimed rows could not be released; they are taken over when their leases expire");
        }
    }

    /// Queues rows again under their retry policy where the decision could not be made or written, or puts them on hold
    /// where the workflow panicked.
    async fn put_back(
        &self,
        workflow: &Registration,
        rows: &[Claimed],
        now: Timestamp,
        error: &EngineError,
    ) -> Result<DueReport, EngineError> {
        let text = match error {
            EngineError::Panicked(message) => format!("the workflow panicked: {message}"),
            other => chain(other),
        };
        tracing::warn!(
            work.kind = workflow.kind(),
            rows = rows.len(),
            error = text,
            "rows could not be decided"
        );
        let decision = match error {
            EngineError::Panicked(_) => Decision::Hold(ReasonCode::Panic),
            _ => Decision::Retry(ReasonCode::DecisionFailed),
        };
        let decided = Decided::from(decision).with_trace(serde_json::json!({ "error": text }));
        let decided = vec![decided; rows.len()];
        let (report, _) = self.settle_work(workflow, rows, decided.into(), now, false).await?;
        Ok(report)
    }

    /// The same for one row that fails alone. One that cannot even be put back is left to the sweep, and its neighbours
    /// continue.
    async fn put_back_alone(
        &self,
        workflow: &Registration,
        row: &Claimed,
        now: Timestamp,
        error: EngineError,
    ) -> Result<DueReport, EngineError> {
        self.metrics.row_isolated();
        match guarded(self.put_back(workflow, std::slice::from_ref(row), now, &error)).await {
            Err(error) if !error.is_unavailable() => {
                tracing::error!(work.kind = workflow.kind(), work.key = row.key, error = %chain(&error), "a work row could not be queued again");
                Ok(DueReport::default())
            }
            done => done,
        }
    }
}

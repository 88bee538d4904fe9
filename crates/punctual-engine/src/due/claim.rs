//! Claiming rows ahead of their decision, with a lease. A claim that fails because of a row is split until that row is
//! alone and on hold; the others are claimed.

use jiff::Timestamp;
use punctual_model::{AuditAction, ReasonCode, WorkEvent, WorkStatus};
use punctual_store::{
    Lane, StoreError, Tx, audit,
    work::{self, Settlement, WorkHead},
};

use super::{Batch, chain};
use crate::{
    Claimed, Engine, EngineError, Registration,
    config::later,
    confine::{Pieces, guarded},
};

impl Engine {
    /// Claims rows of one kind that are ready at `ready_by`; one row only where the kind is long-running.
    pub(crate) async fn claim(
        &self,
        kind: &str,
        now: Timestamp,
        ready_by: Timestamp,
        limit: i64,
    ) -> Result<Option<Batch>, EngineError> {
        let Some(workflow) = self.workflows.get(kind) else { return Ok(None) };
        self.check_clock()?;
        let limit = if workflow.is_long_running() { 1 } else { limit.min(self.config.batch) };
        let rows = match guarded(self.claim_ready(kind, now, ready_by, limit)).await {
            Err(error) if !error.is_unavailable() => {
                tracing::warn!(work.kind = kind, error = %chain(&error), "a claim failed and is split");
                self.claim_work_in_pieces(workflow, now, ready_by, limit).await?
            }
            rows => rows?,
        };
        if rows.is_empty() {
            return Ok(None);
        }
        self.metrics.claimed(rows.len());
        Ok(Some(Batch { workflow: workflow.clone(), rows }))
    }

    async fn claim_ready(
        &self,
        kind: &str,
        now: Timestamp,
        ready_by: Timestamp,
        limit: i64,
    ) -> Result<Vec<Claimed>, EngineError> {
        let mut tx = self.store.begin(Lane::Claim).await?;
        let rows = work::claim(&mut tx, kind, ready_by, later(now, self.config.lease), limit).await?;
        if !rows.is_empty() {
            tx.commit().await?;
        }
        Ok(rows)
    }

    async fn claim_work_in_pieces(
        &self,
        workflow: &Registration,
        now: Timestamp,
        ready_by: Timestamp,
        limit: i64,
    ) -> Result<Vec<Claimed>, EngineError> {
        let ready = {
            let mut reader = self.store.read().await?;
            // More than the limit: where it is one, the row at fault is the first.
            work::ready_heads(&mut reader.conn(), workflow.kind(), ready_by, self.config.batch).await?
        };
        let (mut claimed, mut fault) = (Vec::new(), None);
        for part in ready.chunks(usize::try_from(limit).unwrap_or(1).max(1)) {
            let mut pieces = Pieces::of(part);
            while let Some(piece) = pieces.next() {
                if let Err(outage) = pieces.worked(piece, guarded(self.claim_these(piece, now)).await) {
                    fault = Some(outage);
                    break;
                }
            }
            claimed.extend(pieces.done.into_iter().flatten());
            for (row, error) in pieces.failed {
                fault = fault.or(self.hold_unclaimable(row, now, &error).await.err());
            }
            if !claimed.is_empty() || fault.as_ref().is_some_and(EngineError::is_unavailable) {
                break;
            }
        }
        // What was claimed is worked, whatever else failed.
        match fault {
            Some(error) if claimed.is_empty() => Err(error),
            _ => Ok(claimed),
        }
    }

    pub(super) async fn claim_these(
        &self,
        rows: &[WorkHead],
        now: Timestamp,
    ) -> Result<Vec<Claimed>, EngineError> {
        let mut tx = self.store.begin(Lane::Claim).await?;
        let claimed = work::claim_these(&mut tx.conn(), later(now, self.config.lease), rows).await?;
        tx.commit().await?;
        Ok(claimed)
    }

    /// Puts a row on hold that cannot be claimed or read, so that a person can look and the others continue.
    pub(super) async fn hold_unclaimable(
        &self,
        head: &WorkHead,
        now: Timestamp,
        error: &EngineError,
    ) -> Result<(), EngineError> {
        let error = chain(error);
        tracing::error!(work.id = head.id, error, "a work row is put on hold: it cannot be claimed");
        self.metrics.row_isolated();
        guarded(self.hold_head(head, &error, now)).await
    }

    async fn hold_head(&self, head: &WorkHead, error: &str, now: Timestamp) -> Result<(), EngineError> {
        let mut tx = self.store.begin(Lane::Settle).await?;
        match hold_in(&mut tx, head, error, now).await {
            Ok(()) => Ok(tx.commit().await?),
            Err(error) => {
                // The next claim must find the row free.
                tx.rollback().await;
                Err(error.into())
            }
        }
    }
}

async fn hold_in(tx: &mut Tx, head: &WorkHead, error: &str, now: Timestamp) -> Result<(), StoreError> {
    let held =
        Settlement { reason: Some(ReasonCode::ClaimFailed), on_hold: true, ..head.after(WorkEvent::Requeue) };
    if work::settle(&mut tx.conn(), now, std::slice::from_ref(&held)).await?.is_empty() {
        return Ok(());
    }
    // Whose it is cannot be read.
    let entry = audit::Entry {
        from: Some(WorkStatus::Pending.as_str().into()),
        to: Some(held.status.as_str().into()),
        version: Some(held.token + 1),
        reason: held.reason.map(Into::into),
        data: Some(serde_json::json!({ "error": error }).to_string()),
        ..audit::Entry::new(AuditAction::Hold, "work", head.id, None)
    };
    audit::append(&mut tx.conn(), now, &[entry]).await
}

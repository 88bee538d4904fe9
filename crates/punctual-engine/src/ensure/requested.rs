//! Rows that callers of the API ask for, each under a key of its own.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{AuditAction, Cause, NewWork, WorkStatus};
use punctual_store::{Lane, StoreError, Tx, audit};

use super::{EnsureOutcome, Ensured, ensure_in};
use crate::{Actor, Engine, EngineError};

/// A row that a caller asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Requested {
    pub work: NewWork,
    /// One that was cancelled is wanted again.
    pub revive: bool,
}

impl Engine {
    /// Ensures what a caller asks for, in one transaction. What is refused changes nothing.
    #[boxed]
    pub async fn ensure_requested(
        &self,
        by: &Actor,
        rows: Vec<Requested>,
    ) -> Result<Vec<Ensured>, EngineError> {
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        let ensured = ensure_requested_in(&mut tx, now, by, rows).await?;
        tx.commit().await?;
        Ok(ensured)
    }
}

/// The same in a transaction that the caller commits. Answers come in the order of what was asked.
#[boxed]
pub async fn ensure_requested_in(
    tx: &mut Tx,
    now: Timestamp,
    by: &Actor,
    rows: Vec<Requested>,
) -> Result<Vec<Ensured>, StoreError> {
    let places: Vec<bool> = rows.iter().map(|row| row.revive).collect();
    let (revive, plain): (Vec<Requested>, Vec<Requested>) = rows.into_iter().partition(|row| row.revive);
    let works = |rows: Vec<Requested>| rows.into_iter().map(|row| row.work).collect::<Vec<_>>();
    let (revive, plain) = (works(revive), works(plain));
    let kept = ensure_in(tx, now, &plain, Cause::Request { revive: false }).await?;
    for (one, row) in kept.iter().zip(&plain).filter(|_| by.is_by_hand()) {
        let action = match one.outcome {
            EnsureOutcome::Created | EnsureOutcome::Reactivated => AuditAction::Create,
            EnsureOutcome::Updated => AuditAction::Change,
            _ => continue,
        };
        by.audit(tx, now, action, "work", &one.id.to_string(), row.business_unit.as_deref()).await?;
    }
    let mut kept = kept.into_iter();
    let back = ensure_in(tx, now, &revive, Cause::Request { revive: true }).await?;
    for (one, row) in back.iter().zip(&revive).filter(|(one, _)| one.outcome == EnsureOutcome::Revived) {
        let entry = audit::Entry {
            from: Some(WorkStatus::Cancelled.as_str().to_owned()),
            to: Some(WorkStatus::Pending.as_str().to_owned()),
            ..audit::Entry::new(AuditAction::Revive, "work", one.id, row.business_unit.as_deref())
        };
        by.audit_entry(tx, now, entry).await?;
    }
    let mut back = back.into_iter();
    let answer = |revive: bool| if revive { back.next() } else { kept.next() };
    let answers: Option<Vec<Ensured>> = places.into_iter().map(answer).collect();
    answers.ok_or(StoreError::Stored("a row that was just ensured"))
}

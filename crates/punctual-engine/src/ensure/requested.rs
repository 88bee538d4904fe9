//! Ensures rows that API callers request, each with its own key.

use std::collections::HashSet;

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{AuditAction, Cause, NewWork, WorkStatus};
use punctual_store::{Lane, StoreError, Tx, audit, work};

use super::{EnsureOutcome, Ensured, ensure_in};
use crate::{Actor, Engine, EngineError, QuotaReached, quotas::Short};

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
        self.refresh_quotas(now).await?;
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
    let refused = over_quota(tx, &rows, now).await?;
    let places: Vec<(bool, Option<QuotaReached>)> =
        rows.iter().map(|row| row.revive).zip(refused.iter().cloned()).collect();
    let allowed = rows.into_iter().zip(&refused).filter(|(_, reached)| reached.is_none());
    let rows: Vec<Requested> = allowed.map(|(row, _)| row).collect();
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
    let answer = |(revive, reached): (bool, Option<QuotaReached>)| match reached {
        Some(reached) => Some(Ensured { id: 0, outcome: EnsureOutcome::OverQuota(reached), result: None }),
        None if revive => back.next(),
        None => kept.next(),
    };
    let answers: Option<Vec<Ensured>> = places.into_iter().map(answer).collect();
    answers.ok_or(StoreError::Stored("a row that was just ensured"))
}

/// What the quotas of business units refuse. A key that is known is answered as usual.
async fn over_quota(
    tx: &mut Tx,
    rows: &[Requested],
    now: Timestamp,
) -> Result<Vec<Option<QuotaReached>>, StoreError> {
    let units = rows.iter().map(|row| row.work.business_unit.as_deref());
    let Some(short) = Short::read(tx, units, now).await? else { return Ok(vec![None; rows.len()]) };
    let doubtful = rows.iter().filter(|row| short.concerns(row.work.business_unit.as_deref()));
    let mut keys: Vec<String> = doubtful.map(|row| row.work.key.to_string()).collect();
    keys.sort_unstable();
    keys.dedup();
    let existing = work::lock_existing(&mut tx.conn(), keys).await?;
    let known: HashSet<&str> = existing.iter().map(|row| row.key.as_str()).collect();
    let rows = rows.iter().map(|row| (row.work.business_unit.as_deref(), row.work.key.as_str()));
    Ok(short.choose(rows, &known))
}

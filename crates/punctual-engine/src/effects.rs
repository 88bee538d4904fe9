//! Writes the effects of decisions in the same transaction, in sets and in a fixed order.

use std::collections::BTreeMap;

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{AuditAction, Cause, Effect, NewWork, NotificationStatus, ReasonCode, WorkStatus};
use punctual_store::{StoreError, Tx, audit, notifications, work};

use crate::{
    Engine,
    delivery_policy::digests::leave_out,
    ensure::{EnsureOutcome, ensure_in},
    events::Touched,
    registration::OwnRows,
};

impl Engine {
    /// Writes what decisions of one workflow want beside them: its own rows first, then it deactivates and withdraws, then
    /// it ensures, and last it publishes to subscribers. Returns what that did to work rows.
    pub(crate) async fn write_beside(
        &self,
        tx: &mut Tx,
        now: Timestamp,
        own: Option<Box<dyn OwnRows>>,
        effects: Vec<Effect>,
    ) -> Result<Touched, StoreError> {
        if let Some(own) = &own {
            own.put(&mut tx.conn(), now).await?;
        }
        let touched = write_effects(tx, now, effects).await?;
        if let Some(own) = &own {
            own.publish(self, tx, now).await?;
        }
        Ok(touched)
    }
}

async fn write_effects(tx: &mut Tx, now: Timestamp, effects: Vec<Effect>) -> Result<Touched, StoreError> {
    let mut touched = Touched::default();
    if effects.is_empty() {
        return Ok(touched);
    }
    let mut gone: BTreeMap<ReasonCode, Vec<String>> = BTreeMap::new();
    let mut withdrawn: BTreeMap<ReasonCode, Vec<String>> = BTreeMap::new();
    let mut wanted: Vec<NewWork> = Vec::new();
    for effect in effects {
        match effect {
            Effect::Ensure(row) => wanted.push(*row),
            Effect::Deactivate { keys, reason } => {
                let keys = keys.into_iter().map(|key| key.as_str().to_owned());
                gone.entry(reason).or_default().extend(keys);
            }
            Effect::Withdraw { origin, reason } => {
                withdrawn.entry(reason).or_default().push(origin.as_str().to_owned());
            }
            // Published to listeners before the commit, and to subscribers with it, when the batch is settled.
            Effect::Publish(_) => {}
            Effect::Noted(_) => {}
        }
    }
    for (reason, keys) in gone {
        touched.deactivated += deactivate(tx, now, reason, keys).await? as u64;
    }
    for (reason, origins) in withdrawn {
        withdraw(tx, now, reason, origins).await?;
    }
    if !wanted.is_empty() {
        for ensured in ensure_in(tx, now, &wanted, Cause::Machine).await? {
            match ensured.outcome {
                EnsureOutcome::Created => touched.created += 1,
                EnsureOutcome::Updated | EnsureOutcome::Reactivated => touched.updated += 1,
                _ => touched.unchanged += 1,
            }
        }
    }
    Ok(touched)
}

/// Ends rows that are no longer wanted, with an audit entry for each.
#[boxed]
pub async fn deactivate(
    tx: &mut Tx,
    now: Timestamp,
    reason: ReasonCode,
    mut keys: Vec<String>,
) -> Result<usize, StoreError> {
    keys.sort_unstable();
    keys.dedup();
    let changed = work::deactivate(&mut tx.conn(), now, reason.as_str(), keys).await?;
    let entries: Vec<audit::Entry> = changed
        .iter()
        .map(|row| audit::Entry {
            from: Some(WorkStatus::Pending.as_str().into()),
            to: Some(WorkStatus::Deactivated.as_str().into()),
            version: Some(row.version),
            reason: Some(reason.into()),
            ..audit::Entry::new(AuditAction::Deactivate, "work", row.id, row.business_unit.as_deref())
        })
        .collect();
    audit::append(&mut tx.conn(), now, &entries).await?;
    Ok(changed.len())
}

/// Withdraws what these work rows have queued, and takes it out of digests, also of those that are queued; what was already
/// claimed is recorded as too late. The rows no longer wait for what was withdrawn, and `settled` of their workflows is not
/// called: the caller knows.
#[boxed]
pub async fn withdraw(
    tx: &mut Tx,
    now: Timestamp,
    reason: ReasonCode,
    origins: Vec<String>,
) -> Result<usize, StoreError> {
    let (digests, shorter) = leave_out(tx, now, reason, origins.clone()).await?;
    let mut touched = notifications::withdraw_by_work(&mut tx.conn(), now, reason, origins).await?;
    touched.extend(digests);
    let mut entries: Vec<audit::Entry> = touched
        .iter()
        .map(|row| {
            let action = if row.in_time { AuditAction::Withdraw } else { AuditAction::WithdrawTooLate };
            audit::Entry {
                to: row.in_time.then(|| NotificationStatus::Withdrawn.as_str().to_owned()),
                version: Some(row.version),
                reason: Some(reason.into()),
                ..audit::Entry::new(action, "notification", row.id, row.business_unit.as_deref())
            }
        })
        .collect();
    entries.extend(shorter.iter().map(|row| audit::Entry {
        reason: Some(reason.into()),
        ..audit::Entry::new(AuditAction::Change, "notification", row.id, row.business_unit.as_deref())
    }));
    audit::append(&mut tx.conn(), now, &entries).await?;
    let waiting: Vec<i64> = touched.iter().filter_map(|row| row.waiting_work).map(|work| work.0).collect();
    if !waiting.is_empty() {
        work::count_down(&mut tx.conn(), waiting).await?;
    }
    Ok(touched.iter().filter(|row| row.in_time).count())
}

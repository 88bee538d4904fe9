//! Retries all messages that are parked for one cause, after its repair.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{AuditAction, NotificationStatus, Reach};
use punctual_store::{
    Lane, Stage, StoreError, Tx,
    attention::causes::{self, Cause, CauseCount, ParkedRow},
    audit,
    notifications::Retried,
    work,
};

use super::{Actor, CommandError};
use crate::{Engine, EngineError, attention::COUNTED};

/// Rows of one transaction.
const BATCH: i64 = 500;
/// Distinct causes; an installation has a handful.
const CAUSES: i64 = 100;

/// What a retry of one cause would change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CausePlan {
    /// Newest first, up to [`COUNTED`].
    pub rows: Vec<ParkedRow>,
    /// The newest of them: what is parked later is not part of the plan.
    pub up_to: i64,
}

impl Engine {
    /// Why messages are parked, the most frequent cause first.
    #[boxed]
    pub async fn parked_causes(&self, reach: &Reach) -> Result<Vec<CauseCount>, EngineError> {
        let mut reader = self.store.read_for_people().await?;
        Ok(causes::counts(&mut reader.conn(), reach, COUNTED, CAUSES).await?)
    }

    /// The messages that are parked for a cause.
    #[boxed]
    pub async fn plan_retry_of_cause(&self, reach: &Reach, cause: &Cause) -> Result<CausePlan, EngineError> {
        let mut reader = self.store.read_for_people().await?;
        let rows = causes::of(&mut reader.conn(), reach, cause, COUNTED).await?;
        let up_to = rows.first().map_or(0, |row| row.seq);
        Ok(CausePlan { rows, up_to })
    }

    /// Retries what is parked for a cause, oldest first, in batches that each commit. Every one is in the audit, with the reason
    /// that was given. Returns how many; those that changed since the plan are left alone.
    #[boxed]
    pub async fn retry_cause(&self, by: &Actor, cause: &Cause, up_to: i64) -> Result<usize, CommandError> {
        let (now, reach) = (self.clock.now(), by.reach());
        let (mut retried, mut after) = (0, 0);
        // By number and never back: what is parked again at once waits for the next command.
        loop {
            let mut tx = self.store.begin(Lane::Intake).await?;
            let rows = causes::retry(&mut tx.conn(), now, &reach, cause, (after, up_to), BATCH).await?;
            let Some(last) = rows.iter().map(|row| row.seq).max() else { break };
            after = last;
            retried += rows.len();
            follow_retry(&mut tx, by, now, &rows).await?;
            let noted = rows.iter().filter_map(|row| {
                let reason = by.reason()?.to_owned();
                Some(audit::Entry { reason: Some(reason), ..entry(by, AuditAction::Note, row) })
            });
            audit::append(&mut tx.conn(), now, &noted.collect::<Vec<_>>()).await?;
            tx.commit().await?;
        }
        Ok(retried)
    }
}

/// What follows for parked messages that are pending again: work waits for them, and each is in the audit.
pub(super) async fn follow_retry(
    tx: &mut Tx,
    by: &Actor,
    now: Timestamp,
    rows: &[Retried],
) -> Result<(), StoreError> {
    let waiting = rows.iter().filter_map(|row| row.waiting_work).map(|work| work.0).collect();
    work::count_up(&mut tx.conn(), waiting).await?;
    let acted = rows.iter().map(|row| audit::Entry {
        from: Some(NotificationStatus::Parked.as_str().into()),
        to: Some(NotificationStatus::Pending.as_str().into()),
        version: Some(row.version),
        ..entry(by, AuditAction::Retry, row)
    });
    audit::append(&mut tx.conn(), now, &acted.collect::<Vec<_>>()).await?;
    tx.raise(Stage::Delivery, now);
    Ok(())
}

fn entry(by: &Actor, action: AuditAction, row: &Retried) -> audit::Entry {
    audit::Entry {
        actor: by.name().to_owned(),
        ..audit::Entry::new(action, "notification", row.id, row.business_unit.as_deref())
    }
}

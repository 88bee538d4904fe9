//! What a workflow wants done about a settled message is committed with it. Where that cannot be, it is recorded as owed with
//! the settling, and the sweep does it: one row of work at a time, again and again, with growing pauses.
//!
//! Until then the row of work waits for the message as if it were open, so nothing is counted or called twice.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use punctual_model::{AuditAction, NotificationId, NotificationStatus, Reach, WorkId};
use punctual_store::{
    Lane, StoreError, Tx, audit,
    owed::{self, NewOwed, OwedRow},
    work,
};

use crate::{Engine, EngineError, config::later, confine::guarded, due::chain};

/// A message that has settled, with the row of work that waits for it.
pub(crate) type Reported = (WorkId, NotificationId, NotificationStatus);

/// What one pass takes.
const AT_ONCE: i64 = 200;
/// The pause after the first failure; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_secs(30);
const LONGEST_PAUSE: Duration = Duration::from_secs(60 * 60);
/// From so many failed attempts of the sweep on, a person should look.
pub(crate) const KEEPS_FAILING: i64 = 3;

impl Engine {
    /// Records what could not be done with the settling, in the same transaction.
    pub(super) async fn owe(
        &self,
        tx: &mut Tx,
        reported: &[Reported],
        error: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if reported.is_empty() {
            return Ok(());
        }
        let new = |(work, id, status): &Reported| NewOwed {
            work_id: work.0,
            notification_id: id.to_string(),
            status: *status,
        };
        let rows: Vec<NewOwed> = reported.iter().map(new).collect();
        tracing::error!(
            rows = rows.len(),
            error,
            "the follow-up of settled messages failed; the sweep retries it"
        );
        owed::owe(&mut tx.conn(), now, later(now, FIRST_PAUSE), error, &rows).await
    }

    /// Does what is owed and due. Returns how much of it is done; what fails again waits for its next time.
    pub(crate) async fn work_owed(&self, now: Timestamp) -> Result<usize, EngineError> {
        let due = {
            let mut reader = self.store.read().await?;
            owed::due(&mut reader.conn(), now, AT_ONCE).await?
        };
        // A row of work is called once for all of its messages.
        let mut by_work: BTreeMap<i64, Vec<OwedRow>> = BTreeMap::new();
        for row in due {
            by_work.entry(row.work_id).or_default().push(row);
        }
        let mut done = 0;
        for (work, rows) in by_work {
            match guarded(self.do_owed(&rows, now)).await {
                Ok(count) => done += count,
                Err(error) if error.is_unavailable() => return Err(error),
                Err(error) => {
                    let text = chain(&error);
                    tracing::error!(
                        work.id = work,
                        error = text,
                        "the follow-up of settled messages failed again"
                    );
                    if let Err(error) = guarded(self.put_off_owed(&rows, &text, now)).await {
                        tracing::error!(work.id = work, error = %chain(&error), "the follow-up of settled messages could not be rescheduled");
                    }
                }
            }
        }
        Ok(done)
    }

    async fn do_owed(&self, rows: &[OwedRow], now: Timestamp) -> Result<usize, EngineError> {
        let mut tx = self.store.begin(Lane::Settle).await?;
        match self.do_owed_in(&mut tx, rows, now).await {
            Ok(done) => {
                tx.commit().await?;
                Ok(done)
            }
            Err(error) => {
                // Whoever puts it off must find it free.
                tx.rollback().await;
                Err(error)
            }
        }
    }

    async fn do_owed_in(&self, tx: &mut Tx, rows: &[OwedRow], now: Timestamp) -> Result<usize, EngineError> {
        // What another node has done meanwhile is gone, and its row was locked until it was.
        let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
        let taken = owed::take(&mut tx.conn(), &ids).await?;
        let rows: Vec<&OwedRow> = rows.iter().filter(|row| taken.contains(&row.id)).collect();
        if rows.is_empty() {
            return Ok(0);
        }
        let mut settled = Vec::with_capacity(rows.len());
        for row in &rows {
            let id = row.notification_id.parse().map_err(|_| StoreError::Stored("owed.notification_id"))?;
            let status = if row.arrived {
                NotificationStatus::Delivered
            } else {
                row.status.known().ok_or(StoreError::Stored("owed.status"))?
            };
            settled.push((WorkId(row.work_id), id, status));
        }
        let panicked = self.follow_settled(tx, settled, now).await?;
        if let Some((_, message)) = panicked.into_iter().next() {
            return Err(EngineError::Panicked(message));
        }
        let work = rows[0].work_id;
        let unit =
            work::by_id(&mut tx.conn(), &Reach::Everything, work).await?.and_then(|row| row.business_unit);
        let entry = audit::Entry::new(AuditAction::SettledLate, "work", work, unit.as_deref());
        audit::append(&mut tx.conn(), now, &[entry]).await?;
        Ok(rows.len())
    }

    async fn put_off_owed(&self, rows: &[OwedRow], error: &str, now: Timestamp) -> Result<(), EngineError> {
        let attempts = rows.iter().map(|row| row.attempts).max().unwrap_or(0);
        let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
        let mut tx = self.store.begin(Lane::Settle).await?;
        owed::put_off(&mut tx.conn(), later(now, pause_after(attempts + 1)), error, &ids).await?;
        Ok(tx.commit().await?)
    }
}

/// How long the next attempt waits after so many that failed.
fn pause_after(attempts: i64) -> Duration {
    let doublings = u32::try_from(attempts).unwrap_or(u32::MAX).min(16);
    FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(doublings)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_an_hour() {
        let pauses: Vec<u64> = (0..9).map(|n| pause_after(n).as_secs()).collect();
        assert_eq!(pauses, [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]);
        assert_eq!(pause_after(i64::MAX), LONGEST_PAUSE);
    }
}

//! Messages of a restored database that were due or under way: parked, so that none is sent again by itself.

use jiff::Timestamp;
use punctual_model::ReasonCode;
use punctual_store::{
    Lane, attempts,
    notifications::{Delivery, NotificationRow},
    restored,
};

use super::{parked, settle::Outcomes};
use crate::{Engine, EngineError};

/// Rows of one transaction.
const BATCH: i64 = 200;
/// What the message says about itself.
const UNKNOWN: &str = "the database was restored; whether this was sent after the backup is not known";

impl Engine {
    /// Parks every message that was due by a moment, and every one that a node was sending. Returns how many.
    pub(crate) async fn park_restored(&self, by: Timestamp, now: Timestamp) -> Result<usize, EngineError> {
        let mut done = 0;
        loop {
            let mut tx = self.store.begin(Lane::Settle).await?;
            let rows = restored::claimed_notifications(&mut tx.conn(), by, BATCH).await?;
            if rows.is_empty() {
                break;
            }
            let seqs = rows.iter().map(|row| row.seq).collect();
            attempts::mark_uncertain(&mut tx.conn(), now, seqs).await?;
            done += self.park_these(tx, &rows, now).await?;
        }
        let mut after = i64::MIN;
        loop {
            let mut tx = self.store.begin(Lane::Settle).await?;
            let rows = restored::due_notifications(&mut tx.conn(), by, after, BATCH).await?;
            let Some(last) = rows.last() else { return Ok(done) };
            after = last.seq;
            done += self.park_these(tx, &rows, now).await?;
        }
    }

    /// A message that cannot be parked keeps the node from starting: it would be sent.
    async fn park_these(
        &self,
        mut tx: punctual_store::Tx,
        rows: &[NotificationRow],
        now: Timestamp,
    ) -> Result<usize, EngineError> {
        let deliveries: Vec<Delivery> =
            rows.iter().map(|row| parked(row, ReasonCode::Restored, UNKNOWN.to_owned())).collect();
        let settled: Vec<(&NotificationRow, &Delivery)> = rows.iter().zip(&deliveries).collect();
        let outcomes = Outcomes { rows: &settled, ..Outcomes::default() };
        let report = self.settle_deliveries_in(&mut tx, &outcomes, now).await?.report;
        tx.commit().await?;
        Ok(report.parked)
    }
}

//! Maintains the buffer: logs rows that wait long, deletes rows acknowledged a week ago, and restores the reserved space.

use jiff::Timestamp;
use punctual_model::durations;
use punctual_store::{
    Lane, StoreError,
    site_buffer::{events, outgoing},
};

use crate::{Agent, config::earlier, event_log::Kind};

/// Rows forgotten in one transaction.
const AT_ONCE: i64 = 1_000;

/// What one look found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchReport {
    pub waiting: i64,
    /// Rows that wait longer than they should.
    pub long_buffered: i64,
    /// Ids that were forgotten.
    pub forgotten: u64,
    /// Refused rows that were removed after their time.
    pub refused_removed: u64,
}

impl Agent {
    pub async fn watch_tick(&self, now: Timestamp) -> Result<WatchReport, StoreError> {
        self.take_room_again().await;
        let mut reader = self.store.read().await?;
        let long_before = earlier(now, self.config.long_buffered_after);
        let backlog = outgoing::backlog(&mut reader.conn(), long_before).await?;
        drop(reader);
        if backlog.long > 0 {
            let since = backlog.oldest_at.map(events::instant).unwrap_or(now);
            let detail = format!(
                "Rows wait for longer than {}; the oldest since {since}",
                durations::format(self.config.long_buffered_after)
            );
            self.log.stands(now, Kind::LongBuffered, backlog.long, &detail).await;
        } else {
            self.log.is_over(Kind::LongBuffered).await;
        }
        let mut report =
            WatchReport { waiting: backlog.waiting, long_buffered: backlog.long, ..WatchReport::default() };
        report.forgotten = self.forget_handed_over(earlier(now, self.config.keep_ids)).await?;
        report.refused_removed = self.forget_refused(now, backlog.refused).await?;
        let mut tx = self.store.begin(Lane::Intake).await?;
        events::trim(&mut tx.conn(), self.config.events_kept).await?;
        tx.commit().await?;
        Ok(report)
    }

    /// Takes the space that was given up on a full disk, where there is room for it again.
    pub(crate) async fn take_room_again(&self) {
        if !self.reserve.is_held() {
            // Whatever kept the disk full may be gone, and the log may have grown into the space that was given up.
            let _ = self.store.shrink_log().await;
            self.reserve.restore();
        }
    }

    async fn forget_handed_over(&self, before: Timestamp) -> Result<u64, StoreError> {
        let mut forgotten = 0;
        loop {
            let mut tx = self.store.begin(Lane::Intake).await?;
            let gone = outgoing::forget_handed_over(&mut tx.conn(), before, AT_ONCE).await?;
            tx.commit().await?;
            forgotten += gone;
            if gone == 0 {
                return Ok(forgotten);
            }
        }
    }

    /// Refused rows have a long time in which somebody may look at them; that they go is logged.
    async fn forget_refused(&self, now: Timestamp, refused: i64) -> Result<u64, StoreError> {
        if refused == 0 {
            return Ok(0);
        }
        let before = earlier(now, self.config.keep_refused);
        let mut tx = self.store.begin(Lane::Intake).await?;
        let bytes_before = outgoing::backlog(&mut tx.conn(), before).await?.refused_bytes;
        let gone = outgoing::forget_refused(&mut tx.conn(), before, AT_ONCE).await?;
        let bytes_after = outgoing::backlog(&mut tx.conn(), before).await?.refused_bytes;
        tx.commit().await?;
        if gone > 0 {
            let count = i64::try_from(gone).unwrap_or(i64::MAX);
            self.level.refused(-count);
            self.level.give_back(count, bytes_before - bytes_after);
            let kept = durations::format(self.config.keep_refused);
            let detail = format!("Refused rows were removed after {kept}");
            self.log.once(now, Kind::Refused, count, &detail).await;
        }
        Ok(gone)
    }
}

//! What became of claimed notifications, written with the token of the claim.

use jiff::Timestamp;
use punctual_boxed::{SetRow, boxed};
use punctual_model::{ChannelKey, NotificationEvent, NotificationStatus, ReasonCode};

use super::{NotificationHead, NotificationRow};
use crate::db::{Conn, Result, Sql, args, sql, with_rows};

/// What became of one claimed notification, ready to be written.
#[derive(Clone, Debug, PartialEq, SetRow)]
pub struct Delivery {
    pub seq: i64,
    pub token: i64,
    pub status: NotificationStatus,
    pub retry_count: i64,
    pub last_error: Option<String>,
    pub reason: Option<ReasonCode>,
    /// When it is tried again, where it is.
    pub retry_at: Option<Timestamp>,
    /// Set where it must leave over another channel than it was queued for.
    pub channel: Option<ChannelKey>,
    /// What kind of message it is then.
    pub kind: Option<String>,
    /// It no longer goes where its list says.
    pub leaves_list: bool,
}

impl Delivery {
    /// What an event makes of a claimed row: the one way to a new status. A row that the event cannot happen to keeps the
    /// status it has.
    fn after(
        event: NotificationEvent,
        seq: i64,
        token: i64,
        status: NotificationStatus,
        retry_count: i64,
    ) -> Self {
        let status = status.after(event).unwrap_or(status);
        Self {
            seq,
            token,
            status,
            retry_count,
            last_error: None,
            reason: None,
            retry_at: None,
            channel: None,
            kind: None,
            leaves_list: false,
        }
    }
}

impl NotificationRow {
    /// Another channel for this row, and the kind of message that it is then: a kind that was only the channel's type
    /// follows the channel.
    pub fn moved_to(&self, channel: &ChannelKey, delivery: Delivery) -> Delivery {
        let kind = (self.kind == self.channel.kind()).then(|| channel.kind().to_owned());
        Delivery { channel: Some(channel.clone()), kind, ..delivery }
    }

    /// What an event makes of this row, which the caller has claimed.
    pub fn after(&self, event: NotificationEvent) -> Delivery {
        Delivery::after(event, self.seq, self.version, self.status, self.retry_count)
    }
}

impl NotificationHead {
    /// What an event makes of this row.
    pub fn after(&self, event: NotificationEvent) -> Delivery {
        Delivery::after(event, self.seq, self.version, self.status, self.retry_count)
    }
}

/// What settling writes, here and with what else a window of calls writes.
pub(super) const SETTLE_ROWS: &str = "UPDATE notifications
     SET status = {.status}, lease_expires_at = NULL, retry_count = {.retry_count},
         last_error = COALESCE({.last_error}, notifications.last_error), reason_code = {.reason},
         ready_at = COALESCE({.retry_at}, notifications.ready_at),
         channel = COALESCE({.channel}, notifications.channel), kind = COALESCE({.kind}, notifications.kind),
         follows_list = CASE WHEN {.leaves_list} THEN FALSE ELSE notifications.follows_list END,
         delivered_at = CASE WHEN {.status} = 'delivered' THEN $1 ELSE NULL END,
         finished_at = CASE WHEN {.status} IN ('pending', 'retrying') THEN NULL ELSE $1 END,
         version = notifications.version + 1
     {from rows}
     WHERE notifications.seq = {.seq} AND notifications.version = {.token}
     {postgres RETURNING notifications.seq AS id}";

pub(super) const SETTLE: Sql = sql!("notifications.settle", each Delivery, after 1, SETTLE_ROWS);

/// Writes outcomes. Returns the ids whose tokens were still valid; the other rows have moved on and are not changed.
#[boxed]
pub async fn settle(conn: &mut Conn<'_>, now: Timestamp, rows: &[&Delivery]) -> Result<Vec<i64>> {
    conn.change(&SETTLE, with_rows(args![now], rows), |row| rows[row].seq).await
}

crate::db::statements![SETTLE];

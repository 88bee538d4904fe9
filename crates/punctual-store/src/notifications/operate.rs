//! What people and workflows do to notifications: retry, discard, withdraw.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::{NotificationId, ReasonCode, WorkId};

use super::NotificationRow;
use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Record)]
struct Version {
    version: i64,
}

const RETRY: Sql = sql!(
    "notifications.retry",
    "UPDATE notifications
     SET status = 'pending', retry_count = 0, ready_at = $1, reason_code = NULL, finished_at = NULL,
         not_after = NULL, version = version + 1
     WHERE seq = $2 AND status = 'parked'
     RETURNING version",
);

/// A parked notification is queued again, its count and next attempt reset, however late it is; `None` if it is not parked.
#[boxed]
pub async fn retry(conn: &mut Conn<'_>, now: Timestamp, seq: i64) -> Result<Option<i64>> {
    let row: Option<Version> = conn.fetch_optional(&RETRY, args![now, seq]).await?;
    Ok(row.map(|row| row.version))
}

/// A parked notification that is queued again.
#[derive(Clone, Debug, Record)]
pub struct Retried {
    pub seq: i64,
    pub id: NotificationId,
    pub version: i64,
    pub business_unit: Option<String>,
    /// The row that waits for it once more, where one does.
    pub waiting_work: Option<WorkId>,
}

// Relies on notifications_parked. One that somebody else is acting on is left to them.
const RETRY_OF_CHANNEL: Sql = sql!(
    "notifications.retry_of_channel",
    "WITH parked AS MATERIALIZED (
         SELECT seq FROM notifications
         WHERE status = 'parked' AND channel = $2 AND seq > $3
         ORDER BY seq LIMIT $4{postgres  FOR UPDATE SKIP LOCKED})
     UPDATE notifications
     SET status = 'pending', retry_count = 0, ready_at = $1, reason_code = NULL, finished_at = NULL,
         not_after = NULL, version = notifications.version + 1
     FROM parked
     WHERE notifications.seq = parked.seq AND notifications.status = 'parked'
     RETURNING notifications.seq, notifications.id, notifications.version, notifications.business_unit,
         CASE WHEN notifications.reports_back THEN notifications.work_id END AS waiting_work",
);

/// The next parked notifications of a channel after a number are queued again.
#[boxed]
pub async fn retry_of_channel(
    conn: &mut Conn<'_>,
    now: Timestamp,
    channel: &str,
    after: i64,
    limit: i64,
) -> Result<Vec<Retried>> {
    conn.fetch_all(&RETRY_OF_CHANNEL, args![now, channel, after, limit]).await
}

/// How many notifications of a channel are parked.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct ParkedCount {
    pub channel: String,
    pub parked: i64,
}

// Relies on notifications_parked.
const PARKED_OF_CHANNELS: Sql = sql!(
    "notifications.parked_of_channels",
    "SELECT channel, COUNT(*) AS parked FROM notifications
     WHERE status = 'parked' AND channel IN ({texts $1})
     GROUP BY channel",
);

#[boxed]
pub async fn parked_of_channels(conn: &mut Conn<'_>, channels: Vec<String>) -> Result<Vec<ParkedCount>> {
    if channels.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&PARKED_OF_CHANNELS, args![channels]).await
}

const DISCARD: Sql = sql!(
    "notifications.discard",
    "UPDATE notifications
     SET status = 'discarded', finished_at = $1, version = version + 1
     WHERE seq = $2 AND status = 'parked'
     RETURNING version",
);

/// A person gives a parked notification up; the row stays. `None` if it is not parked.
#[boxed]
pub async fn discard(conn: &mut Conn<'_>, now: Timestamp, seq: i64) -> Result<Option<i64>> {
    let row: Option<Version> = conn.fetch_optional(&DISCARD, args![now, seq]).await?;
    Ok(row.map(|row| row.version))
}

/// A notification that was asked to be withdrawn.
#[derive(Clone, Debug, Record)]
pub struct Withdrawn {
    pub id: NotificationId,
    pub version: i64,
    /// The row that waits for it, where one does: a parked one is waited for no longer.
    pub waiting_work: Option<WorkId>,
    /// False where a node had already claimed it: too late, and recorded as such.
    pub in_time: bool,
    pub business_unit: Option<String>,
}

// Relies on notifications_by_work: SQLite takes an index over some rows only where the statement repeats its condition.
const OF_WORK: &str = "work_id IN (SELECT work_id FROM work_keys
         WHERE key {sqlite IN (SELECT value FROM json_each($3))}{postgres = ANY($3)})";
const IS_LIVE: &str =
    "(status = 'pending' OR status = 'retrying' OR status = 'parked') AND status <> 'parked'";
// Why it was given up stays: why it was withdrawn is then in the audit.
const WITHDRAW_PARKED: Sql = sql!(
    "notifications.withdraw_parked",
    "UPDATE notifications
     SET status = 'withdrawn', reason_code = COALESCE(reason_code, $2), finished_at = $1, version = version + 1
     WHERE ", OF_WORK, " AND status = 'parked' AND lease_expires_at IS NULL
     RETURNING id, version, CAST(NULL AS BIGINT) AS waiting_work, TRUE AS in_time, business_unit",
);
const WITHDRAW: Sql = sql!(
    "notifications.withdraw_by_work",
    "UPDATE notifications
     SET status = 'withdrawn', reason_code = $2, finished_at = $1, version = version + 1
     WHERE ",
    OF_WORK,
    " AND ",
    IS_LIVE,
    " AND lease_expires_at IS NULL
     RETURNING id, version, CASE WHEN reports_back THEN work_id END AS waiting_work, TRUE AS in_time, business_unit",
);
const TOO_LATE: Sql = sql!(
    "notifications.withdrawn_too_late",
    "SELECT id, version, CAST(NULL AS BIGINT) AS waiting_work, FALSE AS in_time, business_unit FROM notifications
     WHERE work_id IN (SELECT work_id FROM work_keys
         WHERE key {sqlite IN (SELECT value FROM json_each($1))}{postgres = ANY($1)})
       AND ",
    IS_LIVE,
    " AND lease_expires_at IS NOT NULL",
);

/// Withdraws what these work rows have queued; what is already being sent is returned as too late.
#[boxed]
pub async fn withdraw_by_work(
    conn: &mut Conn<'_>,
    now: Timestamp,
    reason: ReasonCode,
    work_keys: Vec<String>,
) -> Result<Vec<Withdrawn>> {
    // Parked ones first: one that a person retries in between is found live by the second statement.
    let mut rows: Vec<Withdrawn> =
        conn.fetch_all(&WITHDRAW_PARKED, args![now, reason.as_str(), work_keys.clone()]).await?;
    rows.extend(
        conn.fetch_all::<Withdrawn>(&WITHDRAW, args![now, reason.as_str(), work_keys.clone()]).await?,
    );
    rows.extend(conn.fetch_all::<Withdrawn>(&TOO_LATE, args![work_keys]).await?);
    Ok(rows)
}

// Relies on notifications_by_work.
const WAITING_OF_WORK: Sql = sql!(
    "notifications.waiting_of_work", as NotificationRow,
    "SELECT {columns} FROM notifications
     WHERE work_id IS NOT NULL AND work_id IN ({ints $1})
       AND (status = 'pending' OR status = 'retrying' OR status = 'parked') AND lease_expires_at IS NULL
     ORDER BY seq{postgres  FOR UPDATE}",
);

/// What these work rows have queued and nobody is sending, held until the transaction ends.
#[boxed]
pub async fn waiting_of_work(conn: &mut Conn<'_>, work_ids: Vec<i64>) -> Result<Vec<NotificationRow>> {
    conn.fetch_all(&WAITING_OF_WORK, args![work_ids]).await
}

/// Another content for a notification that waits.
#[derive(Clone, Debug, SetRow)]
pub struct Rewritten {
    pub wanted: i64,
    pub subject: String,
    pub body: String,
    pub context: String,
}

const REWRITE: Sql = sql!(
    "notifications.rewrite", each Rewritten, after 0,
    "UPDATE notifications
     SET subject = {.subject}, body = {.body}, context = {.context}, version = notifications.version + 1
     {from rows}
     WHERE notifications.seq = {.wanted} AND notifications.lease_expires_at IS NULL",
);

/// Writes another content into notifications that are held by this transaction.
#[boxed]
pub async fn rewrite(conn: &mut Conn<'_>, rows: &[Rewritten]) -> Result<u64> {
    if rows.is_empty() {
        return Ok(0);
    }
    conn.execute(&REWRITE, with_rows(args![], rows)).await
}

crate::db::statements![
    RETRY,
    RETRY_OF_CHANNEL,
    PARKED_OF_CHANNELS,
    DISCARD,
    WITHDRAW_PARKED,
    WITHDRAW,
    TOO_LATE,
    WAITING_OF_WORK,
    REWRITE
];

//! Claims per channel, and what happens to those whose node is gone.

use std::{collections::HashMap, ops::RangeInclusive};

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::{ChannelKey, NotificationId, NotificationStatus, WorkId};

use super::NotificationRow;
use crate::{
    Tx,
    db::{Conn, Result, Sql, args, sql, with_rows},
    ready::After,
};

// Relies on notifications_ready: one probe a priority, because a walk over all of them would pass every row that is not
// ready yet.
const FROM_THE_BEGINNING: &str = "WITH due AS MATERIALIZED (
        SELECT ready.ready_seq, ready.token FROM generate_series($6::bigint, $5) AS p(level), LATERAL (
            SELECT seq AS ready_seq, version AS token FROM notifications
            WHERE status IN ('pending', 'retrying') AND lease_expires_at IS NULL AND channel = $1
              AND priority = p.level AND ready_at <= $2
            ORDER BY ready_at, seq
            LIMIT $4";
// The same behind a place for each, because rows that were claimed leave entries in the index that a walk passes for as long
// as somebody holds a snapshot.
const BEHIND_PLACES: &str = "WITH due AS MATERIALIZED (
        SELECT ready.ready_seq, ready.token
        FROM unnest($5::bigint[], $6::bigint[], $7::bigint[]) AS p(level, after_at, after_seq), LATERAL (
            SELECT seq AS ready_seq, version AS token FROM notifications
            WHERE status IN ('pending', 'retrying') AND lease_expires_at IS NULL AND channel = $1
              AND priority = p.level AND ready_at <= $2 AND (ready_at, seq) > (p.after_at, p.after_seq)
            ORDER BY ready_at, seq
            LIMIT $4";
const CLAIM_DUE: &str = ") AS ready
        LIMIT $4)
    UPDATE notifications
    SET lease_expires_at = $3, attempts = attempts + 1, last_attempt_at = $2, version = version + 1
    FROM due
    WHERE seq = due.ready_seq AND version = due.token
    RETURNING {columns}";
const CLAIM: Sql = sql!(
    "notifications.claim", as NotificationRow,
    FROM_THE_BEGINNING, " FOR UPDATE SKIP LOCKED", CLAIM_DUE,
);
const CLAIM_WITHOUT_SKIP: Sql =
    sql!("notifications.claim", as NotificationRow, FROM_THE_BEGINNING, CLAIM_DUE);
const CLAIM_BEHIND: Sql = sql!(
    "notifications.claim_behind", as NotificationRow,
    BEHIND_PLACES, " FOR UPDATE SKIP LOCKED", CLAIM_DUE,
);
// SQLite reads the set and then takes it: one transaction at a time writes, so nothing can come in between. The list of
// priorities lets it jump from one to the next inside the index instead of walking over rows that are not ready yet; the
// bound beside it is not for the index.
const READY: Sql = sql!(
    "notifications.ready", as NotificationRow,
    "SELECT {columns} FROM notifications
     WHERE status IN ('pending', 'retrying') AND lease_expires_at IS NULL AND channel = $1
       AND priority IN (CAST($5 AS BIGINT), $5 + 1, $5 + 2, $5 + 3, $5 + 4, $5 + 5, $5 + 6, $5 + 7, $5 + 8, $5 + 9)
       AND +priority <= $4 AND ready_at <= $2
     ORDER BY priority, ready_at, seq
     LIMIT $3",
);

/// A row that was read, by number and version.
#[derive(Record, SetRow)]
struct Held {
    seq: i64,
    token: i64,
}

const TAKE: Sql = sql!(
    "notifications.take", each Held, after 2,
    "UPDATE notifications
     SET lease_expires_at = $2, attempts = attempts + 1, last_attempt_at = $1, version = version + 1
     {from rows}
     WHERE notifications.seq = {.seq} AND version = {.token}",
);

/// Claims rows that this transaction has just read, on SQLite; returns them as the claim leaves them.
async fn take(
    conn: &mut Conn<'_>,
    mut rows: Vec<NotificationRow>,
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<Vec<NotificationRow>> {
    if !rows.is_empty() {
        let held: Vec<Held> = rows.iter().map(|row| Held { seq: row.seq, token: row.version }).collect();
        conn.execute(&TAKE, with_rows(args![now, lease_until], &held)).await?;
    }
    for row in &mut rows {
        row.attempts += 1;
        row.lease_expires_at = Some(lease_until);
        row.last_attempt_at = Some(now);
        row.version += 1;
    }
    Ok(rows)
}

/// Where the claims of each level start, the most urgent first; there are as many as are claimed.
pub type Starts = [After];

/// Every priority, from the beginning.
const EVERY_PRIORITY: [After; 10] = [After::BEGINNING; 10];

/// Claims up to `limit` ready notifications of one channel, most urgent first.
#[boxed]
pub async fn claim(
    tx: &mut Tx,
    channel: &str,
    now: Timestamp,
    lease_until: Timestamp,
    limit: i64,
) -> Result<Vec<NotificationRow>> {
    claim_behind(tx, channel, 0, &EVERY_PRIORITY, now, lease_until, limit).await
}

/// The same, of the levels alone that have a start, each behind it: the first start is that of level `first`. SQLite removes
/// the entries of claimed rows at once and looks at no place.
#[boxed]
pub async fn claim_behind(
    tx: &mut Tx,
    channel: &str,
    first: i64,
    starts: &Starts,
    now: Timestamp,
    lease_until: Timestamp,
    limit: i64,
) -> Result<Vec<NotificationRow>> {
    let is_careless = tx.without_skip_locked();
    let mut conn = tx.conn();
    let levels: Vec<i64> = (first..).take(starts.len()).collect();
    let last = levels.last().copied().unwrap_or(first - 1);
    let mut rows: Vec<NotificationRow> = if conn.is_sqlite() {
        let rows = conn.fetch_all(&READY, args![channel, now, limit, last, first]).await?;
        take(&mut conn, rows, now, lease_until).await?
    } else if is_careless || starts.iter().all(|start| *start == After::BEGINNING) {
        let sql = if is_careless { &CLAIM_WITHOUT_SKIP } else { &CLAIM };
        conn.fetch_all(sql, args![channel, now, lease_until, limit, last, first]).await?
    } else {
        let places: Vec<i64> = starts.iter().map(|start| start.ready_at).collect();
        let seqs: Vec<i64> = starts.iter().map(|start| start.id).collect();
        conn.fetch_all(&CLAIM_BEHIND, args![channel, now, lease_until, limit, levels, places, seqs]).await?
    };
    rows.sort_by_key(|row| row.seq);
    Ok(rows)
}

impl NotificationRow {
    /// Its place among those of its channel and priority.
    pub fn place(&self) -> After {
        After { ready_at: self.ready_at.as_microsecond(), id: self.seq }
    }
}

/// What identifies a notification and its work, without anything of its content.
#[derive(Clone, Debug, Record)]
pub struct NotificationHead {
    pub seq: i64,
    pub id: NotificationId,
    pub channel: ChannelKey,
    pub status: NotificationStatus,
    pub ready_at: Timestamp,
    pub retry_count: i64,
    pub attempts: i64,
    pub work_id: Option<WorkId>,
    pub reports_back: bool,
    pub business_unit: Option<String>,
    pub version: i64,
}

// Relies on notifications_ready.
const READY_HEADS: Sql = sql!(
    "notifications.ready_heads", as NotificationHead,
    "SELECT {columns} FROM notifications
     WHERE status IN ('pending', 'retrying') AND lease_expires_at IS NULL AND channel = $1
       AND priority IN ({sqlite SELECT value + $5 FROM json_each('[0,1,2,3,4,5,6,7,8,9]') WHERE value + $5 <= $4}{postgres SELECT generate_series($5::bigint, $4)})
       AND ready_at <= $2
     ORDER BY priority, ready_at, seq
     LIMIT $3",
);

/// The rows that a claim of this channel would take, without their content: for finding the one that a claim fails on.
#[boxed]
pub async fn ready_heads(
    conn: &mut Conn<'_>,
    channel: &str,
    levels: RangeInclusive<i64>,
    now: Timestamp,
    limit: i64,
) -> Result<Vec<NotificationHead>> {
    conn.fetch_all(&READY_HEADS, args![channel, now, limit, *levels.end(), *levels.start()]).await
}

// As with the claim above, SQLite reads the rows and then takes them.
const READ_THESE: Sql = sql!(
    "notifications.read_these", as NotificationRow,
    "SELECT {columns} FROM notifications
     WHERE seq IN ({ints $1}) AND lease_expires_at IS NULL
     ORDER BY seq",
);
const CLAIM_THESE: Sql = sql!(
    "notifications.claim_these", as NotificationRow, each Held, after 2,
    "UPDATE notifications
     SET lease_expires_at = $2, attempts = attempts + 1, last_attempt_at = $1, version = version + 1
     {from rows}
     WHERE notifications.seq = {.seq} AND version = {.token} AND lease_expires_at IS NULL
     RETURNING {columns notifications}",
);

/// Claims these rows, as far as they are still as they were read.
#[boxed]
pub async fn claim_these(
    tx: &mut Tx,
    heads: &[NotificationHead],
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<Vec<NotificationRow>> {
    let mut conn = tx.conn();
    let mut rows: Vec<NotificationRow> = if conn.is_sqlite() {
        let seqs: Vec<i64> = heads.iter().map(|head| head.seq).collect();
        let mut rows: Vec<NotificationRow> = conn.fetch_all(&READ_THESE, args![seqs]).await?;
        rows.retain(|row| heads.iter().any(|head| (head.seq, head.version) == (row.seq, row.version)));
        take(&mut conn, rows, now, lease_until).await?
    } else {
        let held: Vec<Held> = heads.iter().map(|head| Held { seq: head.seq, token: head.version }).collect();
        conn.fetch_all(&CLAIM_THESE, with_rows(args![now, lease_until], &held)).await?
    };
    rows.sort_by_key(|row| row.seq);
    Ok(rows)
}

// Relies on notifications_leased.
const EXPIRED: Sql = sql!(
    "notifications.expired", as NotificationHead,
    "SELECT {columns} FROM notifications
     WHERE lease_expires_at IS NOT NULL AND lease_expires_at <= $1
     ORDER BY lease_expires_at
     LIMIT $2",
);

/// The oldest claims whose node did not settle them in time. Nothing is locked: whoever changes one names the version
/// that was read.
#[boxed]
pub async fn expired(conn: &mut Conn<'_>, now: Timestamp, limit: i64) -> Result<Vec<NotificationHead>> {
    conn.fetch_all(&EXPIRED, args![now, limit]).await
}

const RELEASE_LEASES: Sql = sql!(
    "notifications.release_leases",
    "UPDATE notifications SET lease_expires_at = $1 WHERE lease_expires_at > $1",
);

/// Ends every lease now, so that the sweep takes the rows: only where no other process can hold one.
#[boxed]
pub async fn release_leases(conn: &mut Conn<'_>, now: Timestamp) -> Result<u64> {
    conn.execute(&RELEASE_LEASES, args![now]).await
}

const RENEW: Sql = sql!(
    "notifications.renew", each Held, after 1,
    "UPDATE notifications SET lease_expires_at = $1
     {from rows}
     WHERE notifications.seq = {.seq} AND notifications.version = {.token}
     {postgres RETURNING notifications.seq AS id}",
);

/// Extends leases that are still held; returns their ids.
#[boxed]
pub async fn renew(conn: &mut Conn<'_>, lease_until: Timestamp, held: &[(i64, i64)]) -> Result<Vec<i64>> {
    let rows: Vec<Held> = held.iter().map(|&(seq, token)| Held { seq, token }).collect();
    conn.change(&RENEW, with_rows(args![lease_until], &rows), |row| held[row].0).await
}

// Nothing is written: each row that a renewal writes is a new version of all of it, and an entry in each of its indexes.
pub(super) const HOLD: Sql = sql!(
    "notifications.hold", as Held,
    "SELECT seq, version AS token FROM notifications WHERE seq IN ({ints $1}) ORDER BY seq{postgres  FOR NO KEY UPDATE}",
);

/// Locks claims until the transaction ends, and returns the ids of those that are still held: whoever takes a row over
/// comes before, or finds what this transaction writes of it.
#[boxed]
pub async fn hold(tx: &mut Tx, held: &[(i64, i64)]) -> Result<Vec<i64>> {
    let tokens: HashMap<i64, i64> = held.iter().copied().collect();
    let seqs: Vec<i64> = held.iter().map(|(seq, _)| *seq).collect();
    let rows: Vec<Held> = tx.conn().fetch_all(&HOLD, args![seqs]).await?;
    let is_held = |row: &Held| tokens.get(&row.seq) == Some(&row.token);
    Ok(rows.into_iter().filter(is_held).map(|row| row.seq).collect())
}

crate::db::statements![
    CLAIM,
    CLAIM_WITHOUT_SKIP,
    CLAIM_BEHIND,
    READY,
    READY_HEADS,
    READ_THESE,
    CLAIM_THESE,
    TAKE,
    EXPIRED,
    RELEASE_LEASES,
    RENEW,
    HOLD
];

//! What people and workflows do to notifications: retry, discard, withdraw.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};
use punctual_model::{NotificationId, ReasonCode, WorkId};

use crate::db::{Conn, Result, Sql, args, sql};

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
     RETURNING id, version, CAST(NULL AS BIGINT) AS waiting_work, TRUE AS in_time",
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
     RETURNING id, version, CASE WHEN reports_back THEN work_id END AS waiting_work, TRUE AS in_time",
);
const TOO_LATE: Sql = sql!(
    "notifications.withdrawn_too_late",
    "SELECT id, version, CAST(NULL AS BIGINT) AS waiting_work, FALSE AS in_time FROM notifications
     WHERE work_id IN (SELECT work_id FROM work_keys
         WHERE key {sqlite IN (SELECT value FROM json_each($1))}{postgres = ANY($1)})
       AND ",
    IS_LIVE,
    " AND lease_expires_at IS NOT NULL",
);

// What is held for a digest has left its row: the row's coordinates name it.
const DROP_DIGESTS: Sql = sql!(
    "digest_items.drop_by_work",
    "DELETE FROM digest_items WHERE notification_id IN (
         SELECT n.value FROM work AS w, {sqlite json_each(w.result, '$.notifications') AS n}
             {postgres json_array_elements_text(CAST(w.result AS JSON) -> 'notifications') AS n(value)}
         WHERE w.result IS NOT NULL AND w.id IN (SELECT work_id FROM work_keys
             WHERE key {sqlite IN (SELECT value FROM json_each($1))}{postgres = ANY($1)}))",
);

/// Withdraws what these work rows have queued, and what of theirs is held for a digest; what is already being sent is returned as
/// too late.
#[boxed]
pub async fn withdraw_by_work(
    conn: &mut Conn<'_>,
    now: Timestamp,
    reason: ReasonCode,
    work_keys: Vec<String>,
) -> Result<Vec<Withdrawn>> {
    conn.execute(&DROP_DIGESTS, args![work_keys.clone()]).await?;
    // Parked ones first: one that a person retries in between is found live by the second statement.
    let mut rows: Vec<Withdrawn> =
        conn.fetch_all(&WITHDRAW_PARKED, args![now, reason.as_str(), work_keys.clone()]).await?;
    rows.extend(
        conn.fetch_all::<Withdrawn>(&WITHDRAW, args![now, reason.as_str(), work_keys.clone()]).await?,
    );
    rows.extend(conn.fetch_all::<Withdrawn>(&TOO_LATE, args![work_keys]).await?);
    Ok(rows)
}

crate::db::statements![RETRY, DISCARD, WITHDRAW_PARKED, WITHDRAW, DROP_DIGESTS, TOO_LATE];

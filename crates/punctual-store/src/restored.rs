//! Rows that a restored database must not send by itself: those due or under way since the backup. It is unknown whether they
//! were sent, so they wait for an operator with the reason `restored`.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::{
    db::{Conn, Result, Sql, args, sql},
    notifications::{NotificationRow, Retried},
    work::{Changed, STARTS_AGAIN},
};

// Relies on work_ready. `updated_at` is the moment of the hold.
const HOLD_DUE: Sql = sql!(
    "work.hold_restored_due", as Changed,
    "WITH due AS MATERIALIZED (
         SELECT id FROM work
         WHERE status = 'pending' AND NOT on_hold AND kind = $2 AND ready_at <= $3 AND created_at <= $3
         ORDER BY ready_at, id
         LIMIT $4{postgres  FOR UPDATE})
     UPDATE work
     SET on_hold = TRUE, reason_code = 'restored', version = work.version + 1, updated_at = $1
     FROM due
     WHERE work.id = due.id
     RETURNING {columns work}",
);
// Relies on work_leased. The node that had claimed it is not one of this database.
const HOLD_CLAIMED: Sql = sql!(
    "work.hold_restored_claimed", as Changed,
    "WITH claimed AS MATERIALIZED (
         SELECT id FROM work
         WHERE status = 'processing' AND created_at <= $2
         ORDER BY lease_expires_at
         LIMIT $3{postgres  FOR UPDATE})
     UPDATE work
     SET status = 'pending', on_hold = TRUE, lease_expires_at = NULL, reason_code = 'restored',
         version = work.version + 1, updated_at = $1
     FROM claimed
     WHERE work.id = claimed.id
     RETURNING {columns work}",
);

/// Puts rows of a kind on hold that were due by a moment and made before it.
#[boxed]
pub async fn hold_due_work(
    conn: &mut Conn<'_>,
    now: Timestamp,
    kind: &str,
    by: Timestamp,
    limit: i64,
) -> Result<Vec<Changed>> {
    conn.fetch_all(&HOLD_DUE, args![now, kind, by, limit]).await
}

/// Puts rows on hold that a node was working on, whatever their kind.
#[boxed]
pub async fn hold_claimed_work(
    conn: &mut Conn<'_>,
    now: Timestamp,
    by: Timestamp,
    limit: i64,
) -> Result<Vec<Changed>> {
    conn.fetch_all(&HOLD_CLAIMED, args![now, by, limit]).await
}

// Relies on notifications_leased.
const CLAIMED: Sql = sql!(
    "notifications.restored_claimed", as NotificationRow,
    "SELECT {columns} FROM notifications
     WHERE lease_expires_at IS NOT NULL AND (status = 'pending' OR status = 'retrying') AND created_at <= $1
     ORDER BY lease_expires_at
     LIMIT $2{postgres  FOR UPDATE}",
);
// A walk over all rows in the order of arrival, once after a restore.
const DUE: Sql = sql!(
    "notifications.restored_due", as NotificationRow,
    "SELECT {columns} FROM notifications
     WHERE seq > $2 AND (status = 'pending' OR status = 'retrying') AND lease_expires_at IS NULL AND ready_at <= $1
       AND created_at <= $1
     ORDER BY seq
     LIMIT $3{postgres  FOR UPDATE}",
);

/// Messages that a node was sending.
#[boxed]
pub async fn claimed_notifications(
    conn: &mut Conn<'_>,
    by: Timestamp,
    limit: i64,
) -> Result<Vec<NotificationRow>> {
    conn.fetch_all(&CLAIMED, args![by, limit]).await
}

/// Messages that were due by a moment and made before it, after a number.
#[boxed]
pub async fn due_notifications(
    conn: &mut Conn<'_>,
    by: Timestamp,
    after: i64,
    limit: i64,
) -> Result<Vec<NotificationRow>> {
    conn.fetch_all(&DUE, args![by, after, limit]).await
}

/// What is owed to workflows waits until then, the end of the calendar, while a person has not decided.
const HELD_UNTIL: i64 = 253_402_207_200_000_000;

const HOLD_OWED: Sql = sql!(
    "owed.hold_restored",
    "UPDATE owed SET next_at = $2, last_error = 'restored' WHERE owed_since <= $1 AND next_at < $2",
);

/// Puts off what was owed to workflows by a moment: what follows from it may have been sent.
#[boxed]
pub async fn hold_owed(conn: &mut Conn<'_>, by: Timestamp) -> Result<u64> {
    conn.execute(&HOLD_OWED, args![by, HELD_UNTIL]).await
}

const RELEASE_OWED: Sql = sql!(
    "owed.release_restored",
    "UPDATE owed SET next_at = $1 WHERE next_at >= $2 AND last_error = 'restored'",
);

/// Has what was owed done after all.
#[boxed]
pub async fn release_owed(conn: &mut Conn<'_>, now: Timestamp) -> Result<u64> {
    conn.execute(&RELEASE_OWED, args![now, HELD_UNTIL]).await
}

const DISCARD_OWED: Sql =
    sql!("owed.discard_restored", "DELETE FROM owed WHERE next_at >= $1 AND last_error = 'restored'");

/// Gives up what was owed.
#[boxed]
pub async fn discard_owed(conn: &mut Conn<'_>) -> Result<u64> {
    conn.execute(&DISCARD_OWED, args![HELD_UNTIL]).await
}

/// What still waits for a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Record)]
pub struct Left {
    pub work: i64,
    pub notifications: i64,
    /// What workflows were not called for before the backup.
    pub owed: i64,
}

// Relies on work_held and notifications_parked.
const LEFT: Sql = sql!(
    "restored.left",
    "SELECT
        (SELECT COUNT(*) FROM (SELECT 1 AS one FROM work {sqlite INDEXED BY work_held}
            WHERE on_hold AND reason_code = 'restored' LIMIT $1) AS w) AS work,
        (SELECT COUNT(*) FROM (SELECT 1 AS one FROM notifications {sqlite INDEXED BY notifications_parked}
            WHERE status = 'parked' AND reason_code = 'restored' LIMIT $1) AS n) AS notifications,
        (SELECT COUNT(*) FROM (SELECT 1 AS one FROM owed
            WHERE next_at >= $2 AND last_error = 'restored' LIMIT $1) AS o) AS owed",
);

/// How much waits, each counted up to the bound.
#[boxed]
pub async fn left(conn: &mut Conn<'_>, bound: i64) -> Result<Left> {
    conn.fetch_one(&LEFT, args![bound, HELD_UNTIL]).await
}

// Relies on work_held.
const SOME_WORK: &str = "WITH held AS MATERIALIZED (
         SELECT id FROM work {sqlite INDEXED BY work_held}
         WHERE on_hold AND reason_code = 'restored' AND id > $2
         ORDER BY id
         LIMIT $3{postgres  FOR UPDATE})
     UPDATE work ";
const RELEASE_WORK: Sql = sql!(
    "work.release_restored", as Changed,
    SOME_WORK,
    "SET on_hold = FALSE, ", STARTS_AGAIN, ",
         ready_at = CASE WHEN work.due_at > $1 THEN work.due_at ELSE $1 END,
         version = work.version + 1, updated_at = $1
     FROM held
     WHERE work.id = held.id
     RETURNING {columns work}",
);
/// Lets some of the held rows continue, after a number.
#[boxed]
pub async fn release_work(
    conn: &mut Conn<'_>,
    now: Timestamp,
    after: i64,
    limit: i64,
) -> Result<Vec<Changed>> {
    conn.fetch_all(&RELEASE_WORK, args![now, after, limit]).await
}

#[derive(Record)]
struct Held {
    id: i64,
}

// Relies on work_held.
const HELD_WORK: Sql = sql!(
    "work.held_restored",
    "SELECT id FROM work {sqlite INDEXED BY work_held}
     WHERE on_hold AND reason_code = 'restored' AND id > $1
     ORDER BY id
     LIMIT $2",
);

/// Held rows by their numbers, after one.
#[boxed]
pub async fn held_work(conn: &mut Conn<'_>, after: i64, limit: i64) -> Result<Vec<i64>> {
    let rows: Vec<Held> = conn.fetch_all(&HELD_WORK, args![after, limit]).await?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}

// Relies on notifications_parked.
const SOME_NOTIFICATIONS: &str = "WITH parked AS MATERIALIZED (
         SELECT seq FROM notifications {sqlite INDEXED BY notifications_parked}
         WHERE status = 'parked' AND reason_code = 'restored' AND seq > $2
         ORDER BY seq
         LIMIT $3{postgres  FOR UPDATE})
     UPDATE notifications ";
const THESE: &str = " FROM parked
     WHERE notifications.seq = parked.seq AND notifications.status = 'parked'
     RETURNING notifications.seq, notifications.id, notifications.version, notifications.business_unit,
         CASE WHEN notifications.reports_back THEN notifications.work_id END AS waiting_work";
const RETRY: Sql = sql!(
    "notifications.retry_restored", as Retried,
    SOME_NOTIFICATIONS,
    "SET status = 'pending', retry_count = 0, ready_at = $1, reason_code = NULL, finished_at = NULL,
         not_after = NULL, version = notifications.version + 1",
    THESE,
);
const DISCARD: Sql = sql!(
    "notifications.discard_restored", as Retried,
    SOME_NOTIFICATIONS,
    "SET status = 'discarded', finished_at = $1, version = notifications.version + 1",
    THESE,
);

/// Queues some of the parked messages again, after a number.
#[boxed]
pub async fn retry_notifications(
    conn: &mut Conn<'_>,
    now: Timestamp,
    after: i64,
    limit: i64,
) -> Result<Vec<Retried>> {
    conn.fetch_all(&RETRY, args![now, after, limit]).await
}

/// Gives some of the parked messages up, after a number.
#[boxed]
pub async fn discard_notifications(
    conn: &mut Conn<'_>,
    now: Timestamp,
    after: i64,
    limit: i64,
) -> Result<Vec<Retried>> {
    conn.fetch_all(&DISCARD, args![now, after, limit]).await
}

crate::db::statements![
    HOLD_DUE,
    HOLD_CLAIMED,
    HOLD_OWED,
    RELEASE_OWED,
    DISCARD_OWED,
    CLAIMED,
    DUE,
    LEFT,
    RELEASE_WORK,
    HELD_WORK,
    RETRY,
    DISCARD
];

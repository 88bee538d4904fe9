//! Actions on rows that are not being processed: cancel, release, retry, deactivate, count.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args, sql};

/// A row that an action changed.
#[derive(Clone, Debug, Record)]
pub struct Changed {
    pub id: i64,
    pub key: String,
    pub business_unit: Option<String>,
    pub version: i64,
}

// Relies on work_by_key, which is an index of `work_keys` on PostgreSQL. Locked in the order of `work.lock_existing`.
const DEACTIVATE: Sql = sql!(
    "work.deactivate", as Changed,
    "WITH old AS MATERIALIZED (
        SELECT w.id, w.version
        FROM {sqlite work AS w WHERE w.key IN (SELECT value FROM json_each($3))}{postgres work_keys AS k
        JOIN work AS w ON w.id = k.work_id WHERE k.key = ANY($3)}
          AND (w.status = 'pending' OR w.status = 'failed')
        {postgres ORDER BY k.key
        FOR UPDATE OF w})
     UPDATE work
     SET status = 'deactivated', reason_code = CASE WHEN work.on_hold THEN work.reason_code ELSE $2 END,
         version = work.version + 1, updated_at = $1
     FROM old
     WHERE work.id = old.id AND work.version = old.version
     RETURNING {columns work}",
);

/// Ends rows that are no longer wanted; rows being worked on are left to their own fresh decision. A hold stays, with its
/// reason: if the row comes back, it still waits for a person.
#[boxed]
pub async fn deactivate(
    conn: &mut Conn<'_>,
    now: Timestamp,
    reason: &str,
    keys: Vec<String>,
) -> Result<Vec<Changed>> {
    conn.fetch_all(&DEACTIVATE, args![now, reason, keys]).await
}

const CANCEL: Sql = sql!(
    "work.cancel",
    "UPDATE work
     SET status = 'cancelled', cancelled_by_person = $3, on_hold = FALSE, reason_code = 'cancelled',
         version = version + 1, updated_at = $1
     WHERE id = $2 AND status IN ('pending', 'failed')
     RETURNING id, key, business_unit, version",
);

/// Stops one row. Nothing is changed when it is already being worked on or ended.
#[boxed]
pub async fn cancel(
    conn: &mut Conn<'_>,
    now: Timestamp,
    id: i64,
    by_person: bool,
) -> Result<Option<Changed>> {
    conn.fetch_optional(&CANCEL, args![now, id, by_person]).await
}

/// What every statement writes that lets a row continue from the start: all attempts are before it again, nothing is said of
/// how it had ended or why it was held, and both stay readable beside it.
pub(crate) const STARTS_AGAIN: &str = "earlier_attempts = work.earlier_attempts + work.retry_count,
         earlier_reason = COALESCE(work.reason_code, work.earlier_reason),
         reason_code = NULL, retry_count = 0, next_retry_at = NULL";

const RELEASE_HOLD: Sql = sql!(
    "work.release_hold",
    "UPDATE work
     SET on_hold = FALSE, ",
    STARTS_AGAIN,
    ",
         ready_at = CASE WHEN due_at > $1 THEN due_at ELSE $1 END, version = version + 1, updated_at = $1
     WHERE id = $2 AND on_hold
     RETURNING id, key, business_unit, version",
);

/// Lets a held row continue; one that was pending is ready at once.
#[boxed]
pub async fn release_hold(conn: &mut Conn<'_>, now: Timestamp, id: i64) -> Result<Option<Changed>> {
    conn.fetch_optional(&RELEASE_HOLD, args![now, id]).await
}

const RETRY: Sql = sql!(
    "work.retry",
    "UPDATE work
     SET status = 'pending', on_hold = FALSE, ",
    STARTS_AGAIN,
    ", ready_at = $1,
         cancelled_by_person = FALSE, version = version + 1, updated_at = $1
     WHERE id = $2 AND status IN ('failed', 'deactivated', 'cancelled') AND input <> '{\"purged\":true}'
     RETURNING id, key, business_unit, version",
);

/// Brings back a row that ended without completing, ready at once. One that lost its input with time cannot.
#[boxed]
pub async fn retry(conn: &mut Conn<'_>, now: Timestamp, id: i64) -> Result<Option<Changed>> {
    conn.fetch_optional(&RETRY, args![now, id]).await
}

const HASTEN: Sql = sql!(
    "work.hasten",
    "UPDATE work SET next_retry_at = NULL, ready_at = $1, version = version + 1, updated_at = $1
     WHERE id = $2 AND status = 'pending' AND NOT on_hold AND ready_at > $1 AND due_at <= $1",
);

/// Makes a row that waits for its next attempt ready now; its failures stay counted.
#[boxed]
pub async fn hasten(conn: &mut Conn<'_>, now: Timestamp, id: i64) -> Result<bool> {
    Ok(conn.execute(&HASTEN, args![now, id]).await? > 0)
}

const SET_TRACE: Sql = sql!("work.set_trace", "UPDATE work SET trace_blob = $2 WHERE id = $1");

/// Remembers where the deep trace of a row lies.
#[boxed]
pub async fn set_trace(conn: &mut Conn<'_>, id: i64, blob: &str) -> Result<u64> {
    conn.execute(&SET_TRACE, args![id, blob]).await
}

/// A row one of whose notifications has settled.
#[derive(Clone, Debug, Record)]
pub struct OpenCount {
    pub id: i64,
    pub key: String,
    pub kind: String,
    pub business_unit: Option<String>,
    pub open_notifications: i64,
}

const COUNT_DOWN: Sql = sql!(
    "work.count_down", as OpenCount,
    "UPDATE work SET open_notifications = work.open_notifications - r.settled
     FROM (SELECT id, COUNT(*) AS settled
           FROM {sqlite (SELECT value AS id FROM json_each($1)) AS w}{postgres UNNEST($1::bigint[]) AS w(id)}
           GROUP BY id) AS r
     WHERE work.id = r.id
     RETURNING {columns work}",
);

/// Counts settled notifications off their rows (an id stands once for each); zero means all have settled.
#[boxed]
pub async fn count_down(conn: &mut Conn<'_>, ids: Vec<i64>) -> Result<Vec<OpenCount>> {
    conn.fetch_all(&COUNT_DOWN, args![ids]).await
}

const COUNT_UP: Sql = sql!(
    "work.count_up",
    "UPDATE work SET open_notifications = work.open_notifications + r.open
     FROM (SELECT id, COUNT(*) AS open
           FROM {sqlite (SELECT value AS id FROM json_each($1)) AS w}{postgres UNNEST($1::bigint[]) AS w(id)}
           GROUP BY id) AS r
     WHERE work.id = r.id",
);

/// The reverse: a notification is open again, or its row does not know yet that it has settled.
#[boxed]
pub async fn count_up(conn: &mut Conn<'_>, ids: Vec<i64>) -> Result<u64> {
    conn.execute(&COUNT_UP, args![ids]).await
}

crate::db::statements![DEACTIVATE, CANCEL, RELEASE_HOLD, RETRY, HASTEN, SET_TRACE, COUNT_DOWN, COUNT_UP];

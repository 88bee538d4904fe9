//! What people and workflows do to notifications: retry, discard, withdraw.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

#[derive(Record)]
struct Version {
    version: i64,
}

const RETRY: Sql = Sql::same(
    "notifications.retry",
    "UPDATE notifications
     SET status = 'pending', retry_count = 0, ready_at = $1, reason_code = NULL, finished_at = NULL,
         version = version + 1
     WHERE seq = $2 AND status = 'parked'
     RETURNING version",
);

/// A parked notification goes back in line, its count and next attempt reset; `None` if it is not parked.
#[boxed]
pub async fn retry(conn: &mut Conn<'_>, now: Timestamp, seq: i64) -> Result<Option<i64>> {
    let row: Option<Version> = conn.fetch_optional(&RETRY, args![now, seq]).await?;
    Ok(row.map(|row| row.version))
}

const DISCARD: Sql = Sql::same(
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
    pub id: String,
    pub version: i64,
    /// The row that waits for it, where one does: a parked one is waited for no longer.
    pub waiting_work: Option<i64>,
    /// False where a node had already claimed it: too late, and recorded as such.
    pub in_time: bool,
}

// Relies on notifications_by_work: SQLite takes an index over some rows only where the statement repeats its condition.
macro_rules! withdraw {
    ($states:literal, $reason:literal, $waiting:literal, $works:literal) => {
        concat!(
            "
    UPDATE notifications
    SET status = 'withdrawn', reason_code = ",
            $reason,
            ", finished_at = $1, version = version + 1
    WHERE work_id IN (",
            $works,
            ") AND ",
            $states,
            " AND lease_expires_at IS NULL
    RETURNING id, version, ",
            $waiting,
            " AS waiting_work, TRUE AS in_time"
        )
    };
}
// Why it was given up stays: why it was withdrawn then stands in the audit.
const WITHDRAW_PARKED: Sql = Sql::each(
    "notifications.withdraw_parked",
    withdraw!(
        "status = 'parked'",
        "COALESCE(reason_code, $2)",
        "CAST(NULL AS BIGINT)",
        "SELECT work_id FROM work_keys WHERE key IN (SELECT value FROM json_each($3))"
    ),
    withdraw!(
        "status = 'parked'",
        "COALESCE(reason_code, $2)",
        "CAST(NULL AS BIGINT)",
        "SELECT work_id FROM work_keys WHERE key = ANY($3)"
    ),
);
const WITHDRAW: Sql = Sql::each(
    "notifications.withdraw_by_work",
    withdraw!(
        "(status = 'pending' OR status = 'retrying' OR status = 'parked') AND status <> 'parked'",
        "$2",
        "CASE WHEN reports_back THEN work_id END",
        "SELECT work_id FROM work_keys WHERE key IN (SELECT value FROM json_each($3))"
    ),
    withdraw!(
        "(status = 'pending' OR status = 'retrying' OR status = 'parked') AND status <> 'parked'",
        "$2",
        "CASE WHEN reports_back THEN work_id END",
        "SELECT work_id FROM work_keys WHERE key = ANY($3)"
    ),
);
macro_rules! too_late {
    ($works:literal) => {
        concat!(
            "
    SELECT id, version, CAST(NULL AS BIGINT) AS waiting_work, FALSE AS in_time FROM notifications
    WHERE work_id IN (",
            $works,
            ") AND (status = 'pending' OR status = 'retrying' OR status = 'parked') AND status <> 'parked'
      AND lease_expires_at IS NOT NULL"
        )
    };
}
const TOO_LATE: Sql = Sql::each(
    "notifications.withdrawn_too_late",
    too_late!("SELECT work_id FROM work_keys WHERE key IN (SELECT value FROM json_each($1))"),
    too_late!("SELECT work_id FROM work_keys WHERE key = ANY($1)"),
);

/// Withdraws what these work rows have queued; what is already being sent is answered as too late.
#[boxed]
pub async fn withdraw_by_work(
    conn: &mut Conn<'_>,
    now: Timestamp,
    reason: &str,
    work_keys: Vec<String>,
) -> Result<Vec<Withdrawn>> {
    // Parked ones first: one that a person retries in between is found live by the second statement.
    let mut rows: Vec<Withdrawn> =
        conn.fetch_all(&WITHDRAW_PARKED, args![now, reason, work_keys.clone()]).await?;
    rows.extend(conn.fetch_all::<Withdrawn>(&WITHDRAW, args![now, reason, work_keys.clone()]).await?);
    rows.extend(conn.fetch_all::<Withdrawn>(&TOO_LATE, args![work_keys]).await?);
    Ok(rows)
}

crate::db::statements![RETRY, DISCARD, WITHDRAW_PARKED, WITHDRAW, TOO_LATE];

//! The statements behind `ensure` for rows that are there: lock and read them, change what differs.
//!
//! Which of these a row needs is decided by the engine, on plain values.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};
use punctual_model::NewWork;

use crate::db::{Conn, Result, Sql, args};

/// What `ensure` needs to know about a row that is already there.
#[derive(Debug, Clone, Record)]
pub struct Existing {
    pub id: i64,
    pub key: String,
    pub status: String,
    pub on_hold: bool,
    pub cancelled_by_person: bool,
    pub due_at: i64,
    pub local_date: Option<String>,
    pub time_zone: Option<String>,
    pub input_hash: String,
    pub result: Option<String>,
    pub version: i64,
}

macro_rules! existing {
    ($from:literal) => {
        concat!(
            "SELECT w.id, w.key, w.status, w.on_hold, w.cancelled_by_person, w.due_at, w.local_date, w.time_zone,
         w.input_hash, w.result, w.version
     FROM ",
            $from
        )
    };
}
// Relies on work_by_key.
const LOCK_EXISTING: Sql = Sql::rows(
    "work.lock_existing",
    existing!("work AS w WHERE w.key = $1"),
    existing!(
        "work_keys AS k JOIN work AS w ON w.id = k.work_id
     WHERE k.key = ANY($1)
     ORDER BY k.key
     FOR UPDATE OF w"
    ),
);

/// Reads and locks the rows of these keys, in key order, so that two callers cannot deadlock.
#[boxed]
pub async fn lock_existing(conn: &mut Conn<'_>, mut keys: Vec<String>) -> Result<Vec<Existing>> {
    keys.sort_unstable();
    keys.dedup();
    conn.fetch_all(&LOCK_EXISTING, args![keys]).await
}

macro_rules! reschedule {
    ($due_at:literal, $local_date:literal, $time_zone:literal, $which:literal) => {
        concat!(
            "
    UPDATE work
    SET due_at = ",
            $due_at,
            ", ready_at = ",
            $due_at,
            ", local_date = ",
            $local_date,
            ", time_zone = ",
            $time_zone,
            ",
        status = 'pending', retry_count = 0, next_retry_at = NULL, cancelled_by_person = FALSE,
        on_hold = FALSE, version = work.version + 1, updated_at = $1
    ",
            $which
        )
    };
}
const RESCHEDULE: Sql = Sql::rows(
    "work.reschedule",
    reschedule!("$4", "$5", "$6", "WHERE id = $2 AND version = $3"),
    reschedule!(
        "r.due_at",
        "r.local_date",
        "r.time_zone",
        "FROM UNNEST($2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[])
        AS r(id, version, due_at, local_date, time_zone)
    WHERE work.id = r.id AND work.version = r.version"
    ),
);

/// Moves pending rows to their new due time, and brings ended ones back; diagnostics and coordinates stay.
#[boxed]
pub async fn reschedule(conn: &mut Conn<'_>, now: Timestamp, rows: &[(&Existing, &NewWork)]) -> Result<u64> {
    macro_rules! column {
        (|$old:pat_param, $new:pat_param| $value:expr) => {
            rows.iter().map(|($old, $new)| $value).collect::<Vec<_>>()
        };
    }
    conn.execute(
        &RESCHEDULE,
        args![
            now,
            column!(|old, _| old.id),
            column!(|old, _| old.version),
            column!(|_, new| new.due_at),
            column!(|_, new| new.local.as_ref().map(|(date, _)| date.as_str())),
            column!(|_, new| new.local.as_ref().map(|(_, zone)| zone.as_str())),
        ],
    )
    .await
}

macro_rules! conflict {
    ($rows:literal) => {
        concat!(
            "
    UPDATE work
    SET on_hold = TRUE, reason_code = 'input-conflict', version = version + 1, updated_at = $1
    WHERE status <> 'completed' AND status <> 'processing' AND id IN (",
            $rows,
            ")"
        )
    };
}
const CONFLICT: Sql = Sql::each(
    "work.put_on_hold_as_conflict",
    conflict!("SELECT value FROM json_each($2)"),
    conflict!("SELECT UNNEST($2::bigint[])"),
);

/// Someone asked for the same key with another input: nothing is overwritten, a person must look.
#[boxed]
pub async fn put_on_hold_as_conflict(conn: &mut Conn<'_>, now: Timestamp, ids: Vec<i64>) -> Result<u64> {
    conn.execute(&CONFLICT, args![now, ids]).await
}

crate::db::statements![LOCK_EXISTING, RESCHEDULE, CONFLICT];

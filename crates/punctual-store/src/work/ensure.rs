//! The statements behind `ensure`: insert what is absent, lock and read what is there, change what differs.
//!
//! Which of these a row needs is decided by the engine, on plain values.

use jiff::Timestamp;
use punctual_model::NewWork;
use serde::Deserialize;
use sqlx::FromRow;

use crate::db::{Conn, Result, Sql, args};

/// A row that did not exist before.
#[derive(Debug, FromRow, Deserialize)]
pub struct Inserted {
    pub id: i64,
    pub key: String,
}

macro_rules! insert_absent {
    ($values:literal) => {
        concat!(
            "
    INSERT INTO work (key, kind, trigger_type, business_unit, source_type, source_id, setting_id, due_at,
                      ready_at, local_date, time_zone, input_hash, input, status, created_at, updated_at)
    ",
            $values
        )
    };
}
const INSERT_ABSENT: Sql = Sql::rows(
    "work.insert_absent",
    insert_absent!("VALUES ($2, $3, $4, $5, $6, $7, $8, $9, $9, $10, $11, $12, $13, 'pending', $1, $1)
    ON CONFLICT (key) DO NOTHING"),
    insert_absent!("SELECT r.key, r.kind, r.trigger_type, r.business_unit, r.source_type, r.source_id, r.setting_id,
           r.due_at, r.due_at, r.local_date, r.time_zone, r.input_hash, r.input, 'pending', $1, $1
    FROM UNNEST($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[],
            $10::text[], $11::text[], $12::text[], $13::text[])
        AS r(key, kind, trigger_type, business_unit, source_type, source_id, setting_id, due_at,
             local_date, time_zone, input_hash, input)
    ON CONFLICT (key) DO NOTHING
    RETURNING id, key"),
);

/// Inserts the rows whose key is free. Keys must be unique within the set and in order, or two callers deadlock.
pub async fn insert_absent(conn: &mut Conn<'_>, now: Timestamp, rows: &[&NewWork]) -> Result<Vec<Inserted>> {
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            rows.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    let bound = args![
        now,
        column!(|w| w.key.as_str()),
        column!(|w| w.kind),
        column!(|w| w.trigger.as_str()),
        column!(|w| w.business_unit.as_deref()),
        column!(|w| w.source.as_ref().map(|(kind, _)| kind.as_str())),
        column!(|w| w.source.as_ref().map(|(_, id)| id.as_str())),
        column!(|w| w.setting_id.as_deref()),
        column!(|w| w.due_at),
        column!(|w| w.local.as_ref().map(|(date, _)| date.as_str())),
        column!(|w| w.local.as_ref().map(|(_, zone)| zone.as_str())),
        column!(|w| w.input_hash.to_string()),
        column!(|w| w.input.as_str()),
    ];
    let record = |row: usize, id| Inserted { id, key: rows[row].key.as_str().to_owned() };
    conn.insert(&INSERT_ABSENT, bound, record).await
}

/// What `ensure` needs to know about a row that is already there.
#[derive(Debug, Clone, FromRow, Deserialize)]
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

const LOCK_EXISTING: Sql = Sql::rows(
    "work.lock_existing",
    "SELECT id, key, status, on_hold, cancelled_by_person, due_at, local_date, time_zone, input_hash, result, version
     FROM work
     WHERE key = $1",
    "SELECT id, key, status, on_hold, cancelled_by_person, due_at, local_date, time_zone, input_hash, result, version
     FROM work
     WHERE key = ANY($1)
     ORDER BY key
     FOR UPDATE",
);

/// Reads and locks the rows of these keys, in key order, so that two callers cannot deadlock.
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
pub async fn put_on_hold_as_conflict(conn: &mut Conn<'_>, now: Timestamp, ids: Vec<i64>) -> Result<u64> {
    conn.execute(&CONFLICT, args![now, ids]).await
}

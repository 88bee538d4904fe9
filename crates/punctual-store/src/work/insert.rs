//! Inserts new rows: a key is inserted once, and only the transaction that inserted it creates the row.
//!
//! On PostgreSQL the key is taken in `work_keys`, on SQLite in the index of keys.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::{InputHash, NewWork};

use super::{Changed, WorkRow};
use crate::db::{Conn, Result, Sql, args, sql, with_rows};

/// A row that did not exist before.
#[derive(Debug, Record)]
pub struct Inserted {
    pub id: i64,
    pub key: String,
}

/// A new row, as the set has it.
#[derive(SetRow)]
struct NewRow<'a> {
    key: &'a str,
    kind: &'a str,
    trigger_type: &'a str,
    business_unit: Option<&'a str>,
    source_type: Option<&'a str>,
    source_id: Option<&'a str>,
    setting_id: Option<&'a str>,
    due_at: Timestamp,
    local_date: Option<&'a str>,
    time_zone: Option<&'a str>,
    input_hash: InputHash,
    input: &'a str,
}

impl<'a> NewRow<'a> {
    fn of(new: &'a NewWork) -> Self {
        Self {
            key: new.key.as_str(),
            kind: new.kind,
            trigger_type: new.trigger.as_str(),
            business_unit: new.business_unit.as_deref(),
            source_type: new.source.as_ref().map(|(kind, _)| kind.as_str()),
            source_id: new.source.as_ref().map(|(_, id)| id.as_str()),
            setting_id: new.setting_id.as_deref(),
            due_at: new.due_at,
            local_date: new.local.as_ref().map(|(date, _)| date.as_str()),
            time_zone: new.local.as_ref().map(|(_, zone)| zone.as_str()),
            input_hash: new.input_hash,
            input: new.input.as_str(),
        }
    }
}

// On PostgreSQL the key is taken first. That numbers are above 0 says nothing but that there are fewer of them than rows:
// PostgreSQL then keeps the numbers for the join, and not the rows.
const TAKE_KEYS: &str = "{postgres WITH taken AS (
         INSERT INTO work_keys (key, work_id) SELECT k.key, nextval('work_id_seq') FROM UNNEST($3::text[]) AS k(key)
         ON CONFLICT (key) DO NOTHING
         RETURNING key, work_id)
     }INSERT INTO work ({postgres id, }{names}, ready_at, reason_code, created_at, updated_at, status)
     {sqlite VALUES (}{postgres SELECT taken.work_id, }{*}, {.due_at}, $2, $1, $1, ";
const WHERE_FREE: &str = "{sqlite )
     ON CONFLICT (key) DO NOTHING}{postgres
     }{from rows}{postgres
     JOIN taken ON taken.key = r.key AND taken.work_id > 0
     RETURNING id, key}";
const INSERT_ABSENT: Sql =
    sql!("work.insert_absent", each NewRow<'_>, after 2, TAKE_KEYS, "'pending'", WHERE_FREE);
const INSERT_ENDED: Sql =
    sql!("work.insert_ended", each NewRow<'_>, after 2, TAKE_KEYS, "'deactivated'", WHERE_FREE);
const INSERT_FAILED: Sql =
    sql!("work.insert_failed", each NewRow<'_>, after 2, TAKE_KEYS, "'failed'", WHERE_FREE);

/// Inserts the rows whose key is free. Keys must be unique within the set and in order, or two callers deadlock.
#[boxed]
pub async fn insert_absent(conn: &mut Conn<'_>, now: Timestamp, rows: &[&NewWork]) -> Result<Vec<Inserted>> {
    insert(conn, &INSERT_ABSENT, now, None, rows).await
}

/// Writes down rows that are over as they are made, with the reason; those that exist stay as they are. Keys are unique
/// within the set and in order.
#[boxed]
pub async fn insert_ended(
    conn: &mut Conn<'_>,
    now: Timestamp,
    reason: &str,
    rows: &[&NewWork],
) -> Result<Vec<Inserted>> {
    insert(conn, &INSERT_ENDED, now, Some(reason), rows).await
}

/// Writes down rows that cannot be worked on, as failed, with the reason. Keys are unique within the set and in order.
#[boxed]
pub async fn insert_failed(
    conn: &mut Conn<'_>,
    now: Timestamp,
    reason: &str,
    rows: &[&NewWork],
) -> Result<Vec<Inserted>> {
    insert(conn, &INSERT_FAILED, now, Some(reason), rows).await
}

async fn insert(
    conn: &mut Conn<'_>,
    sql: &Sql,
    now: Timestamp,
    reason: Option<&str>,
    rows: &[&NewWork],
) -> Result<Vec<Inserted>> {
    let new: Vec<NewRow<'_>> = rows.iter().map(|new| NewRow::of(new)).collect();
    let record = |row: usize, id| Inserted { id, key: rows[row].key.as_str().to_owned() };
    conn.insert(sql, with_rows(args![now, reason], &new), record).await
}

const INSERT_RETRY: Sql = sql!(
    "work.insert_retry",
    "{postgres WITH taken AS (
         INSERT INTO work_keys (key, work_id) SELECT $3, nextval('work_id_seq') FROM work
         WHERE id = $2 AND input <> '{\"purged\":true}'
         ON CONFLICT (key) DO NOTHING
         RETURNING work_id)
     }INSERT INTO work ({postgres id, }key, kind, trigger_type, business_unit, source_type, source_id, setting_id,
         due_at, ready_at, local_date, time_zone, input_hash, input, status, retry_of, created_at, updated_at)
     SELECT {postgres taken.work_id, }$3, kind, trigger_type, business_unit, source_type, source_id, setting_id,
         $1, $1, local_date, time_zone, input_hash, input, 'pending', id, $1, $1
     FROM work{postgres , taken} WHERE id = $2 AND input <> '{\"purged\":true}'
     {sqlite ON CONFLICT (key) DO NOTHING
     }RETURNING id, key, business_unit, version",
);

// A new version and nothing else: whoever saw the one before did not see that the row was repeated.
const REPEATED: Sql =
    sql!("work.repeated", "UPDATE work SET version = version + 1 WHERE id = $1 AND version = $2");

/// A second send of a completed row: a new row under a support-retry key, linked to the old one. The old one gets a new version,
/// so that a form that is sent twice repeats it once; nothing is done where it has another one already.
#[boxed]
pub async fn insert_retry(
    conn: &mut Conn<'_>,
    now: Timestamp,
    of: &WorkRow,
    key: &str,
) -> Result<Option<Changed>> {
    if conn.execute(&REPEATED, args![of.id, of.version]).await? == 0 {
        return Ok(None);
    }
    conn.fetch_optional(&INSERT_RETRY, args![now, of.id, key]).await
}

crate::db::statements![INSERT_ABSENT, INSERT_ENDED, INSERT_FAILED, INSERT_RETRY, REPEATED];

//! New rows: a key is taken once, and whoever takes it makes the row.
//!
//! On PostgreSQL the key is taken in `work_keys`, on SQLite in the index of keys.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};
use punctual_model::NewWork;

use super::{Changed, WorkRow};
use crate::db::{Conn, Result, Sql, args};

/// A row that did not exist before.
#[derive(Debug, Record)]
pub struct Inserted {
    pub id: i64,
    pub key: String,
}

macro_rules! columns {
    () => {
        "key, kind, trigger_type, business_unit, source_type, source_id, setting_id, due_at, ready_at,
        local_date, time_zone, input_hash, input, status, reason_code, created_at, updated_at"
    };
}

macro_rules! insert_on_sqlite {
    ($status:literal) => {
        concat!(
            "INSERT INTO work (",
            columns!(),
            ")
     VALUES ($3, $4, $5, $6, $7, $8, $9, $10, $10, $11, $12, $13, $14, '",
            $status,
            "', $2, $1, $1)
     ON CONFLICT (key) DO NOTHING"
        )
    };
}
// That numbers are above 0 says nothing but that there are fewer of them than rows: PostgreSQL then keeps the numbers for
// the join, and not the rows.
macro_rules! insert_on_postgres {
    ($status:literal) => {
        concat!(
            "WITH taken AS (
         INSERT INTO work_keys (key, work_id) SELECT k.key, nextval('work_id_seq') FROM UNNEST($3::text[]) AS k(key)
         ON CONFLICT (key) DO NOTHING
         RETURNING key, work_id)
     INSERT INTO work (id, ",
            columns!(),
            ")
     SELECT taken.work_id, r.key, r.kind, r.trigger_type, r.business_unit, r.source_type, r.source_id, r.setting_id,
            r.due_at, r.due_at, r.local_date, r.time_zone, r.input_hash, r.input, '",
            $status,
            "', $2, $1, $1
     FROM UNNEST($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
             $10::bigint[], $11::text[], $12::text[], $13::text[], $14::text[])
         AS r(key, kind, trigger_type, business_unit, source_type, source_id, setting_id, due_at,
              local_date, time_zone, input_hash, input)
     JOIN taken ON taken.key = r.key AND taken.work_id > 0
     RETURNING id, key"
        )
    };
}
const INSERT_ABSENT: Sql =
    Sql::rows("work.insert_absent", insert_on_sqlite!("pending"), insert_on_postgres!("pending"));
const INSERT_ENDED: Sql =
    Sql::rows("work.insert_ended", insert_on_sqlite!("deactivated"), insert_on_postgres!("deactivated"));

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

async fn insert(
    conn: &mut Conn<'_>,
    sql: &Sql,
    now: Timestamp,
    reason: Option<&str>,
    rows: &[&NewWork],
) -> Result<Vec<Inserted>> {
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            rows.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    let bound = args![
        now,
        reason,
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
    conn.insert(sql, bound, record).await
}

macro_rules! retry_columns {
    () => {
        "key, kind, trigger_type, business_unit, source_type, source_id, setting_id, due_at, ready_at,
        local_date, time_zone, input_hash, input, status, retry_of, created_at, updated_at"
    };
}
macro_rules! of_retried {
    () => {
        "$3, kind, trigger_type, business_unit, source_type, source_id, setting_id, $1, $1,
        local_date, time_zone, input_hash, input, 'pending', id, $1, $1"
    };
}
const INSERT_RETRY: Sql = Sql::each(
    "work.insert_retry",
    concat!(
        "INSERT INTO work (",
        retry_columns!(),
        ") SELECT ",
        of_retried!(),
        " FROM work WHERE id = $2
     ON CONFLICT (key) DO NOTHING
     RETURNING id, key, version"
    ),
    concat!(
        "WITH taken AS (
         INSERT INTO work_keys (key, work_id) SELECT $3, nextval('work_id_seq') FROM work WHERE id = $2
         ON CONFLICT (key) DO NOTHING
         RETURNING work_id)
     INSERT INTO work (id, ",
        retry_columns!(),
        ") SELECT taken.work_id, ",
        of_retried!(),
        " FROM work, taken WHERE id = $2
     RETURNING id, key, version"
    ),
);

/// A second send of a completed row: a new row under a support-retry key, linked to the old one.
#[boxed]
pub async fn insert_retry(
    conn: &mut Conn<'_>,
    now: Timestamp,
    of: &WorkRow,
    key: &str,
) -> Result<Option<Changed>> {
    conn.fetch_optional(&INSERT_RETRY, args![now, of.id, key]).await
}

crate::db::statements![INSERT_ABSENT, INSERT_ENDED, INSERT_RETRY];

//! Queries on work rows for people: a single row, rows that need attention, and counts by status.

use punctual_boxed::{Record, boxed};
use punctual_model::Reach;

use super::WorkRow;
use crate::db::{Conn, Result, Sql, args, sql};

const BY_ID: Sql =
    sql!("work.by_id", as WorkRow, "SELECT {columns} FROM work WHERE id = $1 AND {reach $2 business_unit}");

/// The row of this id, if it is within reach.
#[boxed]
pub async fn by_id(conn: &mut Conn<'_>, reach: &Reach, id: i64) -> Result<Option<WorkRow>> {
    conn.fetch_optional(&BY_ID, args![id, reach]).await
}

const BY_KEY: Sql = sql!(
    "work.by_key", as WorkRow,
    "SELECT {columns} FROM work WHERE id = (SELECT work_id FROM work_keys WHERE key = $1) AND {reach $2 business_unit}",
);

/// The row of this key, if it is within reach.
#[boxed]
pub async fn by_key(conn: &mut Conn<'_>, reach: &Reach, key: &str) -> Result<Option<WorkRow>> {
    conn.fetch_optional(&BY_KEY, args![key, reach]).await
}

const BY_KEYS: Sql = sql!(
    "work.by_keys", as WorkRow,
    "SELECT {columns} FROM work
     WHERE id IN (SELECT work_id FROM work_keys WHERE key IN ({texts $1})) AND {reach $2 business_unit}
     ORDER BY key",
);

/// The rows of these keys that are within reach, in key order.
#[boxed]
pub async fn by_keys(conn: &mut Conn<'_>, reach: &Reach, keys: Vec<String>) -> Result<Vec<WorkRow>> {
    conn.fetch_all(&BY_KEYS, args![keys, reach]).await
}

const RETRIES_OF: Sql = sql!("work.retries_of", as WorkRow, "SELECT {columns} FROM work WHERE retry_of = $1 AND {reach $2 business_unit} ORDER BY id");

/// The support retries of a row that are within reach, oldest first.
#[boxed]
pub async fn retries_of(conn: &mut Conn<'_>, reach: &Reach, id: i64) -> Result<Vec<WorkRow>> {
    conn.fetch_all(&RETRIES_OF, args![id, reach]).await
}

#[derive(Record)]
struct Key {
    key: String,
}

// Relies on work_retries.
const RETRY_KEYS: Sql = sql!(
    "work.retry_keys", as Key,
    "SELECT key FROM work
     WHERE retry_of IS NOT NULL AND retry_of IN (SELECT work_id FROM work_keys WHERE key IN ({texts $1}))
     ORDER BY id",
);

/// The keys of the support retries of these rows, and of theirs in turn.
#[boxed]
pub async fn retry_keys(conn: &mut Conn<'_>, of: Vec<String>) -> Result<Vec<String>> {
    let (mut all, mut of) = (Vec::new(), of);
    while !of.is_empty() {
        let found: Vec<Key> = conn.fetch_all(&RETRY_KEYS, args![of]).await?;
        of = found.into_iter().map(|row| row.key).collect();
        all.extend(of.iter().cloned());
    }
    Ok(all)
}

// One look at each index over live rows: what failed, what is held, and what waits for another attempt.
const TROUBLED: Sql = sql!(
    "work.troubled", as WorkRow,
    "SELECT {columns} FROM work WHERE id IN (
         SELECT id FROM (SELECT id FROM work {sqlite INDEXED BY work_failed}
                         WHERE status = 'failed' AND kind = $1 AND ($2 IS NULL OR source_id = $2) AND id < $3
                           AND {reach $5 business_unit}
                         ORDER BY id DESC LIMIT $4) AS failed
         UNION SELECT id FROM (SELECT id FROM work {sqlite INDEXED BY work_held}
                               WHERE on_hold AND kind = $1 AND ($2 IS NULL OR source_id = $2) AND id < $3
                                 AND {reach $5 business_unit}
                               ORDER BY id DESC LIMIT $4) AS held
         UNION SELECT id FROM (SELECT id FROM work {sqlite INDEXED BY work_ready}
                               WHERE status = 'pending' AND NOT on_hold AND kind = $1 AND retry_count > 0
                                 AND ($2 IS NULL OR source_id = $2) AND id < $3 AND {reach $5 business_unit}
                               ORDER BY id DESC LIMIT $4) AS retried)
     ORDER BY id DESC
     LIMIT $4",
);

/// Rows of one kind that have failed, are held or wait for another attempt, newest first; of one source where it is given.
#[boxed]
pub async fn troubled(
    conn: &mut Conn<'_>,
    reach: &Reach,
    kind: &str,
    source_id: Option<&str>,
    before: Option<i64>,
    limit: i64,
) -> Result<Vec<WorkRow>> {
    let bound = args![kind, source_id, before.unwrap_or(i64::MAX), limit, reach];
    conn.fetch_all(&TROUBLED, bound).await
}

/// How many rows wait, are ready, are held and are being worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Record)]
pub struct Counts {
    pub pending: i64,
    pub ready: i64,
    pub held: i64,
    pub processing: i64,
}

// By kind, because work_ready begins with it: what is ready is then the beginning of each part, and not found by reading
// everything that is planned.
const COUNTS: Sql = sql!(
    "work.counts",
    "SELECT
        (SELECT COUNT(*) FROM (SELECT 1 FROM work WHERE status = 'pending' AND NOT on_hold LIMIT $2) AS w) AS pending,
        (SELECT CAST(COALESCE(SUM(of_kind), 0) AS BIGINT) FROM (
            SELECT (SELECT COUNT(*) FROM (
                SELECT 1 FROM work
                WHERE status = 'pending' AND NOT on_hold AND kind = k.kind AND ready_at <= $1
                LIMIT $2) AS w) AS of_kind
            FROM {sqlite (SELECT value AS kind FROM json_each($3)) AS k}{postgres UNNEST($3::text[]) AS k(kind)}) AS r) AS ready,
        (SELECT COUNT(*) FROM (SELECT 1 FROM work WHERE on_hold AND status <> 'deactivated' LIMIT $2) AS w) AS held,
        (SELECT COUNT(*) FROM (SELECT 1 FROM work WHERE status = 'processing' LIMIT $2) AS w) AS processing",
);

/// The figures over these kinds; of what there is more than `at_most`, about that many are counted.
#[boxed]
pub async fn counts(conn: &mut Conn<'_>, now: i64, kinds: Vec<String>, at_most: i64) -> Result<Counts> {
    conn.fetch_one(&COUNTS, args![now, at_most, kinds]).await
}

#[derive(Record)]
struct Busy {
    busy: bool,
}

const BUSY: Sql = sql!(
    "work.is_busy",
    "SELECT EXISTS (SELECT 1 FROM work WHERE status = 'processing')
         OR EXISTS (SELECT 1 FROM work WHERE status = 'pending' AND NOT on_hold
                    AND kind {sqlite IN (SELECT value FROM json_each($2))}{postgres = ANY($2)} AND ready_at <= $1) AS busy",
);

/// Whether a row of these kinds is ready or any row is being worked on. A probe, not a count.
#[boxed]
pub async fn is_busy(conn: &mut Conn<'_>, now: i64, kinds: Vec<String>) -> Result<bool> {
    let row: Busy = conn.fetch_one(&BUSY, args![now, kinds]).await?;
    Ok(row.busy)
}

crate::db::statements![BY_ID, BY_KEY, BY_KEYS, RETRIES_OF, RETRY_KEYS, TROUBLED, COUNTS, BUSY];

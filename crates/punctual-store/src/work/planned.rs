//! Planned work: the rows of sources, rows that end when they are created, and future rows for the calendar.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::{Reach, WorkStatus};
use serde::{Deserialize, Serialize};

use super::WorkRow;
use crate::db::{Conn, Result, Sql, args, sql, with_rows};

/// What a workflow needs to know about a row of one of its sources.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct OfSource {
    pub id: i64,
    pub key: String,
    pub source_type: String,
    pub source_id: String,
    pub setting_id: Option<String>,
    pub status: WorkStatus,
    pub on_hold: bool,
    pub business_unit: Option<String>,
    pub due_at: Timestamp,
    pub local_date: Option<String>,
    pub time_zone: Option<String>,
    pub input_hash: String,
    pub reason_code: Option<String>,
}

#[derive(SetRow)]
struct Source<'a> {
    source_type: &'a str,
    source_id: &'a str,
}

// Relies on work_by_source.
const OF_SOURCES: Sql = sql!(
    "work.of_sources", as OfSource, each Source<'_>, after 1,
    "SELECT {columns w} FROM work AS w {join rows}
     WHERE w.kind = $1 AND w.source_type = {.source_type} AND w.source_id = {.source_id} AND w.retry_of IS NULL",
);

/// The rows of one kind that belong to these sources, whatever their state; support retries are left out.
#[boxed]
pub async fn of_sources(conn: &mut Conn<'_>, kind: &str, sources: &[(&str, &str)]) -> Result<Vec<OfSource>> {
    if sources.is_empty() {
        return Ok(Vec::new());
    }
    let mut sources = sources.to_vec();
    sources.sort_unstable();
    sources.dedup();
    let sources: Vec<Source<'_>> =
        sources.into_iter().map(|(source_type, source_id)| Source { source_type, source_id }).collect();
    conn.fetch_all(&OF_SOURCES, with_rows(args![kind], &sources)).await
}

/// A row that goes to another business unit with its source, and the hash that it has there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, SetRow)]
pub struct Transfer {
    pub key: String,
    pub business_unit: Option<String>,
    pub input_hash: String,
}

/// A row that was transferred.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct Transferred {
    pub id: i64,
    pub business_unit: Option<String>,
    pub status: WorkStatus,
    pub version: i64,
}

const TRANSFER: Sql = sql!(
    "work.transfer", as Transferred, each Transfer, after 1,
    "UPDATE work
     SET business_unit = {.business_unit}, input_hash = {.input_hash}, version = work.version + 1, updated_at = $1
     {from rows}{postgres  JOIN work_keys AS k ON k.key = r.key}
     WHERE {sqlite work.key = {.key}}{postgres work.id = k.work_id}
       AND work.status <> 'completed' AND work.status <> 'processing'
     RETURNING {columns work}",
);

/// Moves rows to another business unit. What was sent, or is being worked on, stays where it is.
#[boxed]
pub async fn transfer(conn: &mut Conn<'_>, now: Timestamp, rows: &[Transfer]) -> Result<Vec<Transferred>> {
    let mut rows = rows.to_vec();
    rows.sort_by(|a, b| a.key.cmp(&b.key));
    rows.dedup_by(|a, b| a.key == b.key);
    conn.fetch_all(&TRANSFER, with_rows(args![now], &rows)).await
}

const AHEAD: Sql = sql!(
    "work.ahead", as WorkRow,
    "SELECT {columns} FROM work {sqlite INDEXED BY work_ready}
     WHERE status = 'pending' AND NOT on_hold AND kind = $1 AND ready_at >= $2 AND ready_at < $3
       AND (ready_at, id) > ($4, $5) AND {reach $7 business_unit}
     ORDER BY ready_at, id
     LIMIT $6",
);

/// What of one kind within reach is ready between two instants, soonest first, after a place.
#[boxed]
pub async fn ahead(
    conn: &mut Conn<'_>,
    reach: &Reach,
    kind: &str,
    from: i64,
    to: i64,
    after: (i64, i64),
    limit: i64,
) -> Result<Vec<WorkRow>> {
    conn.fetch_all(&AHEAD, args![kind, from, to, after.0, after.1, limit, reach]).await
}

const REPEATING: Sql = sql!(
    "work.repeating", as WorkRow,
    "SELECT {columns} FROM work {sqlite INDEXED BY work_ready}
     WHERE status = 'pending' AND NOT on_hold AND kind = $1 AND trigger_type = 'recurring' AND ready_at < $2
       AND (ready_at, id) > ($3, $4) AND {reach $6 business_unit}
     ORDER BY ready_at, id
     LIMIT $5",
);

/// What of one kind within reach is ready before an instant and will come again after it, soonest first, after a place.
#[boxed]
pub async fn repeating(
    conn: &mut Conn<'_>,
    reach: &Reach,
    kind: &str,
    before: i64,
    after: (i64, i64),
    limit: i64,
) -> Result<Vec<WorkRow>> {
    conn.fetch_all(&REPEATING, args![kind, before, after.0, after.1, limit, reach]).await
}

const OF_SOURCE: Sql = sql!(
    "work.of_source", as WorkRow,
    "SELECT {columns} FROM work WHERE source_type = $1 AND source_id = $2 AND {reach $4 business_unit}
     ORDER BY due_at, id LIMIT $3",
);

/// Every row of one source that is within reach, in order of time: for people who ask why.
#[boxed]
pub async fn of_source(
    conn: &mut Conn<'_>,
    reach: &Reach,
    source_type: &str,
    source_id: &str,
    limit: i64,
) -> Result<Vec<WorkRow>> {
    conn.fetch_all(&OF_SOURCE, args![source_type, source_id, limit, reach]).await
}

crate::db::statements![OF_SOURCES, TRANSFER, AHEAD, REPEATING, OF_SOURCE];

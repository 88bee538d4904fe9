//! What is planned: the rows of sources, rows that end as they are made, and what lies ahead on the calendar.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};
use serde::{Deserialize, Serialize};

use super::{WorkRow, work_columns};
use crate::db::{Conn, Result, Sql, args};

/// What a workflow needs to know about a row of one of its sources.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct OfSource {
    pub id: i64,
    pub key: String,
    pub source_type: String,
    pub source_id: String,
    pub setting_id: Option<String>,
    pub status: String,
    pub on_hold: bool,
    pub business_unit: Option<String>,
    pub due_at: i64,
    pub local_date: Option<String>,
    pub time_zone: Option<String>,
    pub input_hash: String,
    pub reason_code: Option<String>,
}

macro_rules! of_sources {
    ($which:literal) => {
        concat!(
            "SELECT w.id, w.key, w.source_type, w.source_id, w.setting_id, w.status, w.on_hold, w.business_unit, w.due_at,
         w.local_date, w.time_zone, w.input_hash, w.reason_code
     FROM work AS w ",
            $which
        )
    };
}
// Relies on work_by_source.
const OF_SOURCES: Sql = Sql::rows(
    "work.of_sources",
    of_sources!("WHERE w.kind = $1 AND w.source_type = $2 AND w.source_id = $3 AND w.retry_of IS NULL"),
    of_sources!(
        "JOIN UNNEST($2::text[], $3::text[]) AS r(source_type, source_id)
         ON w.source_type = r.source_type AND w.source_id = r.source_id
     WHERE w.kind = $1 AND w.retry_of IS NULL"
    ),
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
    let (types, ids): (Vec<&str>, Vec<&str>) = sources.into_iter().unzip();
    conn.fetch_all(&OF_SOURCES, args![kind, types, ids]).await
}

/// A row that goes to another business unit with its source, and the hash that it has there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    pub status: String,
    pub version: i64,
}

macro_rules! transfer {
    ($unit:literal, $hash:literal, $from:literal, $which:literal) => {
        concat!(
            "
    UPDATE work
    SET business_unit = ",
            $unit,
            ", input_hash = ",
            $hash,
            ", version = work.version + 1, updated_at = $1
    ",
            $from,
            "
    WHERE ",
            $which,
            " AND work.status <> 'completed' AND work.status <> 'processing'
    RETURNING work.id, work.business_unit, work.status, work.version"
        )
    };
}
const TRANSFER: Sql = Sql::rows(
    "work.transfer",
    transfer!("$3", "$4", "", "work.key = $2"),
    transfer!(
        "r.business_unit",
        "r.input_hash",
        "FROM UNNEST($2::text[], $3::text[], $4::text[]) AS r(key, business_unit, input_hash)
         JOIN work_keys AS k ON k.key = r.key",
        "work.id = k.work_id"
    ),
);

/// Moves rows to another business unit. What was sent, or is being worked on, stays where it is.
#[boxed]
pub async fn transfer(conn: &mut Conn<'_>, now: Timestamp, rows: &[Transfer]) -> Result<Vec<Transferred>> {
    let mut rows: Vec<&Transfer> = rows.iter().collect();
    rows.sort_by(|a, b| a.key.cmp(&b.key));
    rows.dedup_by(|a, b| a.key == b.key);
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            rows.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    let bound = args![
        now,
        column!(|row| row.key.as_str()),
        column!(|row| row.business_unit.as_deref()),
        column!(|row| row.input_hash.as_str()),
    ];
    conn.fetch_all(&TRANSFER, bound).await
}

macro_rules! ahead {
    ($hint:literal) => {
        concat!(
            "SELECT ",
            work_columns!(),
            " FROM work ",
            $hint,
            "
     WHERE status = 'pending' AND NOT on_hold AND kind = $1 AND ready_at >= $2 AND ready_at < $3
       AND (ready_at, id) > ($4, $5)
     ORDER BY ready_at, id
     LIMIT $6"
        )
    };
}
const AHEAD: Sql = Sql::each("work.ahead", ahead!("INDEXED BY work_ready"), ahead!(""));

/// What of one kind is ready between two instants, soonest first, after a place.
#[boxed]
pub async fn ahead(
    conn: &mut Conn<'_>,
    kind: &str,
    from: i64,
    to: i64,
    after: (i64, i64),
    limit: i64,
) -> Result<Vec<WorkRow>> {
    conn.fetch_all(&AHEAD, args![kind, from, to, after.0, after.1, limit]).await
}

const OF_SOURCE: Sql = Sql::same(
    "work.of_source",
    concat!(
        "SELECT ",
        work_columns!(),
        " FROM work WHERE source_type = $1 AND source_id = $2 ORDER BY due_at, id LIMIT $3"
    ),
);

/// Every row of one source, in order of time: for people who ask why.
#[boxed]
pub async fn of_source(
    conn: &mut Conn<'_>,
    source_type: &str,
    source_id: &str,
    limit: i64,
) -> Result<Vec<WorkRow>> {
    conn.fetch_all(&OF_SOURCE, args![source_type, source_id, limit]).await
}

crate::db::statements![OF_SOURCES, TRANSFER, AHEAD, OF_SOURCE];

//! The site's event log. An event that goes on is one entry whose count and last time move.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use super::NO_POSTGRES;
use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct EventRow {
    pub seq: i64,
    pub id: String,
    pub category: String,
    pub kind: String,
    pub began_at: i64,
    pub last_at: i64,
    pub count: i64,
    pub detail: String,
}

macro_rules! columns {
    () => {
        "seq, id, category, kind, began_at, last_at, count, detail"
    };
}

const PUT: Sql = Sql::same(
    "events.put",
    "INSERT INTO events (id, category, kind, began_at, last_at, count, detail) VALUES ($2, $3, $4, $5, $1, $6, $7)
     ON CONFLICT (id) DO UPDATE SET last_at = EXCLUDED.last_at, count = EXCLUDED.count, detail = EXCLUDED.detail",
);

/// Writes an entry, or what is new about one that is there. `seq` is not read.
#[boxed]
pub async fn put(conn: &mut Conn<'_>, event: &EventRow) -> Result<()> {
    let e = event;
    let bound = args![e.last_at, &e.id, &e.category, &e.kind, e.began_at, e.count, &e.detail];
    conn.execute(&PUT, bound).await?;
    Ok(())
}

const LATEST: Sql =
    Sql::same("events.latest", concat!("SELECT ", columns!(), " FROM events ORDER BY seq DESC LIMIT $1"));

/// The latest entries, newest first.
#[boxed]
pub async fn latest(conn: &mut Conn<'_>, limit: i64) -> Result<Vec<EventRow>> {
    conn.fetch_all(&LATEST, args![limit]).await
}

const UNREPORTED: Sql = Sql::same(
    "events.unreported",
    concat!(
        "SELECT ",
        columns!(),
        " FROM events WHERE reported_at IS NULL OR reported_at < last_at ORDER BY seq LIMIT $1"
    ),
);

/// What central has not been told yet, oldest first.
#[boxed]
pub async fn unreported(conn: &mut Conn<'_>, limit: i64) -> Result<Vec<EventRow>> {
    conn.fetch_all(&UNREPORTED, args![limit]).await
}

const REPORTED: Sql =
    Sql::rows("events.reported", "UPDATE events SET reported_at = $2 WHERE id = $1", NO_POSTGRES);

/// Central has been told of these entries as they stood then.
#[boxed]
pub async fn reported(conn: &mut Conn<'_>, told: &[EventRow]) -> Result<()> {
    let ids: Vec<String> = told.iter().map(|event| event.id.clone()).collect();
    let until: Vec<i64> = told.iter().map(|event| event.last_at).collect();
    conn.execute(&REPORTED, args![ids, until]).await?;
    Ok(())
}

const TRIM: Sql = Sql::same(
    "events.trim",
    "DELETE FROM events WHERE seq <= (SELECT seq FROM events ORDER BY seq DESC LIMIT 1 OFFSET $1)",
);

/// Keeps the latest `keep` entries.
#[boxed]
pub async fn trim(conn: &mut Conn<'_>, keep: i64) -> Result<u64> {
    conn.execute(&TRIM, args![keep]).await
}

/// An instant as it stands in an entry.
pub fn instant(micros: i64) -> Timestamp {
    Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX)
}

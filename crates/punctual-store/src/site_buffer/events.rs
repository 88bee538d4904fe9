//! The site's event log. An ongoing condition is one entry with a count and a last time.

use std::slice;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, PartialEq, Record, SetRow)]
pub struct EventRow {
    #[column(skip)]
    pub seq: i64,
    pub id: String,
    pub category: String,
    pub kind: String,
    pub began_at: i64,
    pub last_at: i64,
    pub count: i64,
    pub detail: String,
}

const PUT: Sql = sql!(
    "events.put", each EventRow, after 0,
    "INSERT INTO events ({names}) {values {*}}
     ON CONFLICT (id) DO UPDATE SET last_at = EXCLUDED.last_at, count = EXCLUDED.count, detail = EXCLUDED.detail",
);

/// Writes an entry, or what is new about one that is there. `seq` is not read.
#[boxed]
pub async fn put(conn: &mut Conn<'_>, event: &EventRow) -> Result<()> {
    conn.execute(&PUT, with_rows(args![], slice::from_ref(event))).await?;
    Ok(())
}

const LATEST: Sql =
    sql!("events.latest", as EventRow, "SELECT {columns} FROM events ORDER BY seq DESC LIMIT $1");

/// The latest entries, newest first.
#[boxed]
pub async fn latest(conn: &mut Conn<'_>, limit: i64) -> Result<Vec<EventRow>> {
    conn.fetch_all(&LATEST, args![limit]).await
}

const UNREPORTED: Sql = sql!(
    "events.unreported", as EventRow,
    "SELECT {columns} FROM events WHERE reported_at IS NULL OR reported_at < last_at ORDER BY seq LIMIT $1",
);

/// What was not reported to central yet, oldest first.
#[boxed]
pub async fn unreported(conn: &mut Conn<'_>, limit: i64) -> Result<Vec<EventRow>> {
    conn.fetch_all(&UNREPORTED, args![limit]).await
}

const REPORTED: Sql = sql!(
    "events.reported", each EventRow, after 0,
    "UPDATE events SET reported_at = {.last_at} WHERE id = {.id}",
);

/// These entries were reported to central, as they are here.
#[boxed]
pub async fn reported(conn: &mut Conn<'_>, reported: &[EventRow]) -> Result<()> {
    conn.execute(&REPORTED, with_rows(args![], reported)).await?;
    Ok(())
}

const TRIM: Sql = sql!(
    "events.trim",
    "DELETE FROM events WHERE seq <= (SELECT seq FROM events ORDER BY seq DESC LIMIT 1 OFFSET $1)",
);

/// Keeps the latest `keep` entries.
#[boxed]
pub async fn trim(conn: &mut Conn<'_>, keep: i64) -> Result<u64> {
    conn.execute(&TRIM, args![keep]).await
}

/// The instant of an entry.
pub fn instant(micros: i64) -> Timestamp {
    Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX)
}

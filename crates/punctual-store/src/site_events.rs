//! What sites reported about forwarding that failed and rows that waited long. Each site has a bounded number of entries.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, PartialEq, Record, SetRow)]
pub struct SiteEventRow {
    #[column(skip)]
    pub seq: i64,
    #[column(skip)]
    pub site: String,
    pub id: String,
    pub category: String,
    pub kind: String,
    pub began_at: Timestamp,
    pub last_at: Timestamp,
    pub count: i64,
    pub detail: String,
}

const PUT: Sql = sql!(
    "site_events.put", each SiteEventRow, after 2,
    "INSERT INTO site_events (site, {names}, received_at) {values $2, {*}, $1}
     ON CONFLICT (site, id) DO UPDATE
     SET last_at = EXCLUDED.last_at, count = EXCLUDED.count, detail = EXCLUDED.detail, received_at = $1
     WHERE site_events.last_at < EXCLUDED.last_at",
);
const TRIM: Sql = sql!(
    "site_events.trim",
    "DELETE FROM site_events WHERE site = $1 AND seq <= (
        SELECT seq FROM site_events WHERE site = $1 ORDER BY seq DESC LIMIT 1 OFFSET $2)",
);

/// Keeps new entries of a site and what changed about known ones; the latest `keep` stay. Ids are unique in the set.
#[boxed]
pub async fn put(
    conn: &mut Conn<'_>,
    now: Timestamp,
    site: &str,
    events: &[SiteEventRow],
    keep: i64,
) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    conn.execute(&PUT, with_rows(args![now, site], events)).await?;
    conn.execute(&TRIM, args![site, keep]).await?;
    Ok(())
}

const PAGE: Sql = sql!(
    "site_events.page", as SiteEventRow,
    "SELECT {columns} FROM site_events
     WHERE site = $1 AND ($2 IS NULL OR seq < $2)
     ORDER BY seq DESC
     LIMIT $3",
);

/// The entries of a site, newest first.
#[boxed]
pub async fn page(
    conn: &mut Conn<'_>,
    site: &str,
    before: Option<i64>,
    limit: i64,
) -> Result<Vec<SiteEventRow>> {
    conn.fetch_all(&PAGE, args![site, before, limit]).await
}

crate::db::statements![PUT, TRIM, PAGE];

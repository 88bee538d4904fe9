//! What sites said about forwarding that failed and rows that waited long. Each site has a bounded number of entries.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct SiteEventRow {
    pub seq: i64,
    pub site: String,
    pub id: String,
    pub category: String,
    pub kind: String,
    pub began_at: i64,
    pub last_at: i64,
    pub count: i64,
    pub detail: String,
}

macro_rules! put { ($values:literal) => { concat!("
    INSERT INTO site_events (site, id, category, kind, began_at, last_at, count, detail, received_at)
    ", $values, "
    ON CONFLICT (site, id) DO UPDATE
    SET last_at = EXCLUDED.last_at, count = EXCLUDED.count, detail = EXCLUDED.detail, received_at = EXCLUDED.received_at
    WHERE site_events.last_at < EXCLUDED.last_at") } }
const PUT: Sql = Sql::rows(
    "site_events.put",
    put!("VALUES ($2, $3, $4, $5, $6, $7, $8, $9, $1)"),
    put!(
        "SELECT $2, r.id, r.category, r.kind, r.began_at, r.last_at, r.count, r.detail, $1
    FROM UNNEST($3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::text[])
        AS r(id, category, kind, began_at, last_at, count, detail)"
    ),
);
const TRIM: Sql = Sql::same(
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
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            events.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    let bound = args![
        now,
        site,
        column!(|e| e.id.as_str()),
        column!(|e| e.category.as_str()),
        column!(|e| e.kind.as_str()),
        column!(|e| e.began_at),
        column!(|e| e.last_at),
        column!(|e| e.count),
        column!(|e| e.detail.as_str()),
    ];
    conn.execute(&PUT, bound).await?;
    conn.execute(&TRIM, args![site, keep]).await?;
    Ok(())
}

const PAGE: Sql = Sql::same(
    "site_events.page",
    "SELECT seq, site, id, category, kind, began_at, last_at, count, detail FROM site_events
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

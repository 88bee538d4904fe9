//! The sites that forward notifications, and what each reported at its last contact.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args, sql};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct SiteRow {
    pub id: String,
    pub created_at: i64,
    pub revoked_at: Option<i64>,
    pub last_contact_at: Option<i64>,
    pub version: Option<String>,
    pub backlog: Option<i64>,
    pub oldest_buffered_age_seconds: Option<i64>,
    pub refused: Option<i64>,
    pub clock_offset_ms: Option<i64>,
    pub business_unit: Option<String>,
}

const INSERT: Sql = sql!(
    "sites.insert",
    "INSERT INTO sites (id, business_unit, created_at) VALUES ($2, $3, $1) ON CONFLICT (id) DO NOTHING",
);

/// A new site; false if there is one of that id.
#[boxed]
pub async fn insert(
    conn: &mut Conn<'_>,
    now: Timestamp,
    id: &str,
    business_unit: Option<&str>,
) -> Result<bool> {
    Ok(conn.execute(&INSERT, args![now, id, business_unit]).await? > 0)
}

const GET: Sql = sql!("sites.get", as SiteRow, "SELECT {columns} FROM sites WHERE id = $1");

#[boxed]
pub async fn get(conn: &mut Conn<'_>, id: &str) -> Result<Option<SiteRow>> {
    conn.fetch_optional(&GET, args![id]).await
}

const PAGE: Sql =
    sql!("sites.page", as SiteRow, "SELECT {columns} FROM sites WHERE id > $1 ORDER BY id LIMIT $2");

/// Sites by id, after this one.
#[boxed]
pub async fn page(conn: &mut Conn<'_>, after: &str, limit: i64) -> Result<Vec<SiteRow>> {
    conn.fetch_all(&PAGE, args![after, limit]).await
}

const SET_UNIT: Sql = sql!("sites.set_unit", "UPDATE sites SET business_unit = $2 WHERE id = $1");

/// Says whose a site is from now on; false if there is no such site.
#[boxed]
pub async fn set_unit(conn: &mut Conn<'_>, id: &str, business_unit: Option<&str>) -> Result<bool> {
    Ok(conn.execute(&SET_UNIT, args![id, business_unit]).await? > 0)
}

const SET_REVOKED: Sql = sql!("sites.set_revoked", "UPDATE sites SET revoked_at = $2 WHERE id = $1");

/// Says since when the site has no token, or that it has one again; false if there is no such site.
#[boxed]
pub async fn set_revoked(conn: &mut Conn<'_>, id: &str, at: Option<Timestamp>) -> Result<bool> {
    Ok(conn.execute(&SET_REVOKED, args![id, at]).await? > 0)
}

/// What a site reports about itself.
#[derive(Clone, Debug, Default)]
pub struct Contact {
    pub version: Option<String>,
    pub backlog: i64,
    pub oldest_buffered_age_seconds: Option<i64>,
    pub refused: i64,
    pub clock_offset_ms: Option<i64>,
}

const SET_CONTACT: Sql = sql!(
    "sites.set_contact",
    "UPDATE sites SET last_contact_at = $2, version = COALESCE($3, version), backlog = $4,
         oldest_buffered_age_seconds = $5, refused = $6, clock_offset_ms = COALESCE($7, clock_offset_ms)
     WHERE id = $1",
);

/// Keeps what a site reported at this contact.
#[boxed]
pub async fn set_contact(conn: &mut Conn<'_>, now: Timestamp, id: &str, contact: &Contact) -> Result<()> {
    let c = contact;
    let bound = args![
        id,
        now,
        c.version.clone(),
        c.backlog,
        c.oldest_buffered_age_seconds,
        c.refused,
        c.clock_offset_ms
    ];
    conn.execute(&SET_CONTACT, bound).await?;
    Ok(())
}

const TOUCH: Sql = sql!("sites.touch", "UPDATE sites SET last_contact_at = $2 WHERE id = $1");

/// A contact without a report.
#[boxed]
pub async fn touch(conn: &mut Conn<'_>, now: Timestamp, id: &str) -> Result<()> {
    conn.execute(&TOUCH, args![id, now]).await?;
    Ok(())
}

crate::db::statements![INSERT, GET, PAGE, SET_UNIT, SET_REVOKED, SET_CONTACT, TOUCH];

//! Business units: who owns data, and in which time zone they live.

use std::slice;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::Reach;

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, Default, PartialEq, Record, SetRow)]
pub struct BusinessUnitRow {
    pub id: String,
    pub name: String,
    pub time_zone: String,
    /// How many rows it may be given on its own day.
    pub rows_per_day: Option<i64>,
    /// The per cent of a channel's calls that it may have under way.
    pub channel_share: Option<i64>,
    /// Where its messages wait; once it had a share, permanently.
    pub lane: Option<i64>,
    #[column(skip)]
    pub updated_at: Timestamp,
}

const PUT: Sql = sql!(
    "business_units.put", each BusinessUnitRow, after 1,
    "INSERT INTO business_units ({names}, updated_at) {values {*}, $1}
     ON CONFLICT (id) DO UPDATE SET {replaced}, updated_at = $1",
);

#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, unit: &BusinessUnitRow) -> Result<()> {
    conn.execute(&PUT, with_rows(args![now], slice::from_ref(unit))).await?;
    Ok(())
}

const BY_IDS: Sql = sql!(
    "business_units.by_ids", as BusinessUnitRow,
    "SELECT {columns} FROM business_units WHERE id IN ({texts $1})",
);

#[boxed]
pub async fn by_ids(conn: &mut Conn<'_>, ids: Vec<String>) -> Result<Vec<BusinessUnitRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&BY_IDS, args![ids]).await
}

const GET: Sql = sql!(
    "business_units.get", as BusinessUnitRow,
    "SELECT {columns} FROM business_units WHERE id = $1 AND {reach $2 id}",
);

/// The unit of this id, if it is within reach.
#[boxed]
pub async fn get(conn: &mut Conn<'_>, reach: &Reach, id: &str) -> Result<Option<BusinessUnitRow>> {
    conn.fetch_optional(&GET, args![id, reach]).await
}

const LOCK: Sql = sql!(
    "business_units.lock", as BusinessUnitRow,
    "SELECT {columns} FROM business_units WHERE id = $1{postgres  FOR UPDATE}",
);

/// A unit that is about to be replaced: nobody else writes it until the transaction ends.
#[boxed]
pub async fn lock(conn: &mut Conn<'_>, id: &str) -> Result<Option<BusinessUnitRow>> {
    conn.fetch_optional(&LOCK, args![id]).await
}

const PAGE: Sql = sql!(
    "business_units.page", as BusinessUnitRow,
    "SELECT {columns} FROM business_units WHERE id > $1 AND {reach $3 id} ORDER BY id LIMIT $2",
);

/// The next ones after this place that are within reach.
#[boxed]
pub async fn page(
    conn: &mut Conn<'_>,
    reach: &Reach,
    after: &str,
    limit: i64,
) -> Result<Vec<BusinessUnitRow>> {
    conn.fetch_all(&PAGE, args![after, limit, reach]).await
}

// Relies on business_units_with_quota.
const WITH_QUOTA: Sql = sql!(
    "business_units.with_quota", as BusinessUnitRow,
    "SELECT {columns} FROM business_units WHERE (rows_per_day IS NOT NULL OR lane IS NOT NULL) AND {reach $1 id} ORDER BY id",
);

/// The units within reach that have a quota, or whose messages wait in their own lane.
#[boxed]
pub async fn with_quota(conn: &mut Conn<'_>, reach: &Reach) -> Result<Vec<BusinessUnitRow>> {
    conn.fetch_all(&WITH_QUOTA, args![reach]).await
}

const DELETE: Sql = sql!("business_units.delete", "DELETE FROM business_units WHERE id = $1");

#[boxed]
pub async fn delete(conn: &mut Conn<'_>, id: &str) -> Result<bool> {
    Ok(conn.execute(&DELETE, args![id]).await? > 0)
}

crate::db::statements![PUT, BY_IDS, GET, LOCK, PAGE, WITH_QUOTA, DELETE];

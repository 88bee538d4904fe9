//! Business units: who owns data, and in which time zone they live.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct BusinessUnitRow {
    pub id: String,
    pub name: String,
    pub time_zone: String,
    pub updated_at: i64,
}

const PUT: Sql = Sql::same(
    "business_units.put",
    "INSERT INTO business_units (id, name, time_zone, updated_at) VALUES ($2, $3, $4, $1)
     ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name, time_zone = EXCLUDED.time_zone,
         updated_at = EXCLUDED.updated_at",
);

#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, unit: &BusinessUnitRow) -> Result<()> {
    conn.execute(&PUT, args![now, &unit.id, &unit.name, &unit.time_zone]).await?;
    Ok(())
}

macro_rules! by_ids {
    ($ids:literal) => {
        concat!(
            "
    SELECT id, name, time_zone, updated_at FROM business_units WHERE id IN (",
            $ids,
            ")"
        )
    };
}
const BY_IDS: Sql = Sql::each(
    "business_units.by_ids",
    by_ids!("SELECT value FROM json_each($1)"),
    by_ids!("SELECT UNNEST($1::text[])"),
);

#[boxed]
pub async fn by_ids(conn: &mut Conn<'_>, ids: Vec<String>) -> Result<Vec<BusinessUnitRow>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&BY_IDS, args![ids]).await
}

const PAGE: Sql = Sql::same(
    "business_units.page",
    "SELECT id, name, time_zone, updated_at FROM business_units WHERE id > $1 ORDER BY id LIMIT $2",
);

#[boxed]
pub async fn page(conn: &mut Conn<'_>, after: &str, limit: i64) -> Result<Vec<BusinessUnitRow>> {
    conn.fetch_all(&PAGE, args![after, limit]).await
}

const DELETE: Sql = Sql::same("business_units.delete", "DELETE FROM business_units WHERE id = $1");

#[boxed]
pub async fn delete(conn: &mut Conn<'_>, id: &str) -> Result<bool> {
    Ok(conn.execute(&DELETE, args![id]).await? > 0)
}

crate::db::statements![PUT, BY_IDS, PAGE, DELETE];

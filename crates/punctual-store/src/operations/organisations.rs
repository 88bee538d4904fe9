//! What the events and tasks of one organisation have in common: its zone, and the rules that new ones get.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct OrganisationRow {
    pub id: String,
    pub name: String,
    pub time_zone: Option<String>,
    /// `HH:MM`, the local time at which an all-day date counts.
    pub all_day_at: Option<String>,
    /// A JSON array of rules with their channels; nothing for the ordinary two.
    pub rules: Option<String>,
    pub business_unit: Option<String>,
    pub updated_at: i64,
}

const PUT: Sql = Sql::same(
    "operations_organisations.put",
    "INSERT INTO operations_organisations (id, name, time_zone, all_day_at, rules, business_unit, updated_at)
     VALUES ($2, $3, $4, $5, $6, $7, $1)
     ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name, time_zone = EXCLUDED.time_zone,
         all_day_at = EXCLUDED.all_day_at, rules = EXCLUDED.rules, business_unit = EXCLUDED.business_unit,
         updated_at = EXCLUDED.updated_at",
);

#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, organisation: &OrganisationRow) -> Result<()> {
    let o = organisation.clone();
    let args = args![now, o.id, o.name, o.time_zone, o.all_day_at, o.rules, o.business_unit];
    conn.execute(&PUT, args).await?;
    Ok(())
}

macro_rules! by_ids {
    ($which:literal) => {
        concat!(
            "
    SELECT id, name, time_zone, all_day_at, rules, business_unit, updated_at
    FROM operations_organisations WHERE id = ",
            $which
        )
    };
}
const BY_IDS: Sql = Sql::rows("operations_organisations.by_ids", by_ids!("$1"), by_ids!("ANY($1)"));

#[boxed]
pub async fn by_ids(conn: &mut Conn<'_>, mut ids: Vec<String>) -> Result<Vec<OrganisationRow>> {
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&BY_IDS, args![ids]).await
}

const PAGE: Sql = Sql::same(
    "operations_organisations.page",
    "SELECT id, name, time_zone, all_day_at, rules, business_unit, updated_at
     FROM operations_organisations WHERE id > $1 ORDER BY id LIMIT $2",
);

#[boxed]
pub async fn page(conn: &mut Conn<'_>, after: &str, limit: i64) -> Result<Vec<OrganisationRow>> {
    conn.fetch_all(&PAGE, args![after, limit]).await
}

const DELETE: Sql =
    Sql::same("operations_organisations.delete", "DELETE FROM operations_organisations WHERE id = $1");

#[boxed]
pub async fn delete(conn: &mut Conn<'_>, id: &str) -> Result<bool> {
    Ok(conn.execute(&DELETE, args![id]).await? > 0)
}

crate::db::statements![PUT, BY_IDS, PAGE, DELETE];

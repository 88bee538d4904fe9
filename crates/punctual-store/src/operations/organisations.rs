//! What the events and tasks of one organisation have in common: its zone, and the rules that new ones get.

use std::slice;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::Reach;

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, PartialEq, Record, SetRow)]
pub struct OrganisationRow {
    pub id: String,
    pub name: String,
    pub time_zone: Option<String>,
    /// `HH:MM`, the local time at which an all-day date counts.
    pub all_day_at: Option<String>,
    /// A JSON array of rules with their channels; nothing for the ordinary two.
    pub rules: Option<String>,
    pub business_unit: Option<String>,
    #[column(skip)]
    pub updated_at: i64,
}

const PUT: Sql = sql!(
    "operations_organisations.put", each OrganisationRow, after 1,
    "INSERT INTO operations_organisations ({names}, updated_at) {values {*}, $1}
     ON CONFLICT (id) DO UPDATE SET {replaced}, updated_at = $1",
);

#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, organisation: &OrganisationRow) -> Result<()> {
    conn.execute(&PUT, with_rows(args![now], slice::from_ref(organisation))).await?;
    Ok(())
}

const BY_IDS: Sql = sql!(
    "operations_organisations.by_ids", as OrganisationRow,
    "SELECT {columns}
     FROM operations_organisations WHERE id = {any $1}",
);

#[boxed]
pub async fn by_ids(conn: &mut Conn<'_>, mut ids: Vec<String>) -> Result<Vec<OrganisationRow>> {
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&BY_IDS, args![ids]).await
}

const PAGE: Sql = sql!(
    "operations_organisations.page", as OrganisationRow,
    "SELECT {columns}
     FROM operations_organisations WHERE id > $1 AND {shared $3 business_unit} ORDER BY id LIMIT $2",
);

/// The next ones after this place that are within reach. A page is full or the last: what is out of reach is not read.
#[boxed]
pub async fn page(
    conn: &mut Conn<'_>,
    reach: &Reach,
    after: &str,
    limit: i64,
) -> Result<Vec<OrganisationRow>> {
    conn.fetch_all(&PAGE, args![after, limit, reach]).await
}

const DELETE: Sql =
    sql!("operations_organisations.delete", "DELETE FROM operations_organisations WHERE id = $1");

#[boxed]
pub async fn delete(conn: &mut Conn<'_>, id: &str) -> Result<bool> {
    Ok(conn.execute(&DELETE, args![id]).await? > 0)
}

crate::db::statements![PUT, BY_IDS, PAGE, DELETE];

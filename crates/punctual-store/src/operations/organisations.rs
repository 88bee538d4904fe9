//! Organisations: the time zone and the default rules of their events and tasks.

use std::slice;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::Reach;

use crate::{
    db::{Conn, Result, Sql, args, sql, with_rows},
    named::{Named, Owned, distinct},
};

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
    pub updated_at: Timestamp,
}

const PUT: Sql = sql!(
    "operations_organisations.put", each OrganisationRow, after 2,
    "INSERT INTO operations_organisations ({names}, updated_at) {values {*}, $1}
     ON CONFLICT (id) DO UPDATE SET {replaced}, updated_at = $1 WHERE {reach $2 operations_organisations.business_unit}",
);

/// Writes it, unless its id is taken by one out of reach: false then. The statement decides, so that two who take the same
/// id at once cannot overwrite each other.
#[boxed]
pub async fn put(
    conn: &mut Conn<'_>,
    now: Timestamp,
    reach: &Reach,
    organisation: &OrganisationRow,
) -> Result<bool> {
    Ok(conn.execute(&PUT, with_rows(args![now, reach], slice::from_ref(organisation))).await? > 0)
}

impl Owned for OrganisationRow {
    fn business_unit(&self) -> Option<&str> {
        self.business_unit.as_deref()
    }
}

const GET: Sql = sql!(
    "operations_organisations.get", as OrganisationRow,
    "SELECT {columns}
     FROM operations_organisations WHERE id = $1 AND {shared $2 business_unit}",
);

/// The organisation of this id, if it is within reach.
#[boxed]
pub async fn get(conn: &mut Conn<'_>, reach: &Reach, id: &str) -> Result<Option<OrganisationRow>> {
    conn.fetch_optional(&GET, args![id, reach]).await
}

const BY_IDS: Sql = sql!(
    "operations_organisations.by_ids", as OrganisationRow,
    "SELECT {columns}
     FROM operations_organisations WHERE id = {any $1}",
);

/// Reads the organisations that events and tasks name, one statement for all.
#[boxed]
pub async fn named(conn: &mut Conn<'_>, ids: Vec<String>) -> Result<Named<OrganisationRow>> {
    if ids.is_empty() {
        return Ok(Named::default());
    }
    let rows = conn.fetch_all(&BY_IDS, args![distinct(ids)]).await?;
    Ok(Named::new(rows, |row: &OrganisationRow| Some(row.id.clone())))
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

crate::db::statements![PUT, GET, BY_IDS, PAGE, DELETE];

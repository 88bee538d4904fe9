//! Lists: named, typed sets of targets, resolved when a notification is delivered.

use std::slice;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::Reach;

use crate::{
    db::{Conn, Result, Sql, args, sql, with_rows},
    named::{Named, Owned, distinct},
};

#[derive(Clone, Debug, PartialEq, Record, SetRow)]
pub struct ListRow {
    pub name: String,
    pub kind: String,
    pub channel: String,
    /// A JSON array of texts.
    pub targets: String,
    pub business_unit: Option<String>,
    #[column(skip)]
    pub updated_at: Timestamp,
}

const PUT: Sql = sql!(
    "lists.put", each ListRow, after 2,
    "INSERT INTO lists ({names}, updated_at) {values {*}, $1}
     ON CONFLICT (name) DO UPDATE SET {replaced}, updated_at = $1 WHERE {reach $2 lists.business_unit}",
);

/// Writes it, unless its name is taken by one out of reach: false then. The statement decides, so that two who take the same
/// name at once cannot overwrite each other.
#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, reach: &Reach, list: &ListRow) -> Result<bool> {
    Ok(conn.execute(&PUT, with_rows(args![now, reach], slice::from_ref(list))).await? > 0)
}

const GET: Sql = sql!(
    "lists.get", as ListRow,
    "SELECT {columns} FROM lists WHERE name = $1 AND {shared $2 business_unit}",
);

/// The list of this name, if it is within reach.
#[boxed]
pub async fn get(conn: &mut Conn<'_>, reach: &Reach, name: &str) -> Result<Option<ListRow>> {
    conn.fetch_optional(&GET, args![name, reach]).await
}

const LOCK: Sql = sql!(
    "lists.lock", as ListRow,
    "SELECT {columns} FROM lists WHERE name = $1 AND {shared $2 business_unit}{postgres  FOR UPDATE}",
);

/// A list within reach that is about to be replaced: nobody else writes it until the transaction ends.
#[boxed]
pub async fn lock(conn: &mut Conn<'_>, reach: &Reach, name: &str) -> Result<Option<ListRow>> {
    conn.fetch_optional(&LOCK, args![name, reach]).await
}

const BY_NAMES: Sql =
    sql!("lists.by_names", as ListRow, "SELECT {columns} FROM lists WHERE name IN ({texts $1})");

impl Owned for ListRow {
    fn business_unit(&self) -> Option<&str> {
        self.business_unit.as_deref()
    }
}

/// Reads the lists that messages and reports name, one statement for all.
#[boxed]
pub async fn named(conn: &mut Conn<'_>, names: Vec<String>) -> Result<Named<ListRow>> {
    if names.is_empty() {
        return Ok(Named::default());
    }
    let rows = conn.fetch_all(&BY_NAMES, args![distinct(names)]).await?;
    Ok(Named::new(rows, |row: &ListRow| Some(row.name.clone())))
}

const PAGE: Sql = sql!("lists.page", as ListRow, "SELECT {columns} FROM lists WHERE name > $1 AND {shared $3 business_unit} ORDER BY name LIMIT $2");

/// The next ones after this place that are within reach. A page is full or the last: what is out of reach is not read.
#[boxed]
pub async fn page(conn: &mut Conn<'_>, reach: &Reach, after: &str, limit: i64) -> Result<Vec<ListRow>> {
    conn.fetch_all(&PAGE, args![after, limit, reach]).await
}

const DELETE: Sql = sql!("lists.delete", "DELETE FROM lists WHERE name = $1");

#[boxed]
pub async fn delete(conn: &mut Conn<'_>, name: &str) -> Result<bool> {
    Ok(conn.execute(&DELETE, args![name]).await? > 0)
}

crate::db::statements![PUT, GET, LOCK, BY_NAMES, PAGE, DELETE];

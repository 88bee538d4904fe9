//! People who may be notified of events and tasks.

use std::{collections::HashMap, slice};

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::Reach;

use crate::{
    db::{Conn, Result, Sql, args, sql, with_rows},
    named::{Named, Owned, distinct},
};

#[derive(Clone, Debug, PartialEq, Record, SetRow)]
pub struct PersonRow {
    pub id: String,
    pub name: String,
    pub email: Option<String>,
    pub time_zone: Option<String>,
    pub locale: Option<String>,
    /// A JSON array of texts, in the order of preference.
    pub channels: String,
    /// A JSON object: type of channel to address.
    pub addresses: String,
    pub business_unit: Option<String>,
    #[column(skip)]
    pub updated_at: Timestamp,
}

const PUT: Sql = sql!(
    "operations_people.put", each PersonRow, after 2,
    "INSERT INTO operations_people ({names}, updated_at) {values {*}, $1}
     ON CONFLICT (id) DO UPDATE SET {replaced}, updated_at = $1 WHERE {reach $2 operations_people.business_unit}",
);

/// Writes it, unless its id is taken by one out of reach: false then. The statement decides, so that two who take the same
/// id at once cannot overwrite each other.
#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, reach: &Reach, person: &PersonRow) -> Result<bool> {
    Ok(conn.execute(&PUT, with_rows(args![now, reach], slice::from_ref(person))).await? > 0)
}

impl Owned for PersonRow {
    fn business_unit(&self) -> Option<&str> {
        self.business_unit.as_deref()
    }
}

const GET: Sql = sql!(
    "operations_people.get", as PersonRow,
    "SELECT {columns}
     FROM operations_people WHERE id = $1 AND {shared $2 business_unit}",
);

/// The person of this id, if they are within reach.
#[boxed]
pub async fn get(conn: &mut Conn<'_>, reach: &Reach, id: &str) -> Result<Option<PersonRow>> {
    conn.fetch_optional(&GET, args![id, reach]).await
}

const BY_IDS: Sql = sql!(
    "operations_people.by_ids", as PersonRow,
    "SELECT {columns}
     FROM operations_people WHERE id = {any $1}",
);

/// Reads the people that events and tasks name, one statement for all.
#[boxed]
pub async fn named(conn: &mut Conn<'_>, ids: Vec<String>) -> Result<Named<PersonRow>> {
    if ids.is_empty() {
        return Ok(Named::default());
    }
    let rows = conn.fetch_all(&BY_IDS, args![distinct(ids)]).await?;
    Ok(Named::new(rows, |row: &PersonRow| Some(row.id.clone())))
}

#[derive(Record)]
struct PersonName {
    id: String,
    name: String,
}

const NAMES: Sql = sql!(
    "operations_people.names", as PersonName,
    "SELECT {columns} FROM operations_people WHERE id = {any $1} AND {shared $2 business_unit}",
);

/// The names of those of these people that are within reach, for titles of what is about them.
#[boxed]
pub async fn names(conn: &mut Conn<'_>, reach: &Reach, ids: Vec<String>) -> Result<HashMap<String, String>> {
    let rows: Vec<PersonName> = conn.fetch_all(&NAMES, args![distinct(ids), reach]).await?;
    Ok(rows.into_iter().map(|row| (row.id, row.name)).collect())
}

const BY_EMAILS: Sql = sql!(
    "operations_people.by_emails", as PersonRow,
    "SELECT {columns}
     FROM operations_people WHERE email IS NOT NULL AND {folded email} IN ({texts $1}) ORDER BY id",
);

/// Those behind these addresses, which are in lower case: for imports, which are rare enough to read all people.
#[boxed]
pub async fn by_emails(conn: &mut Conn<'_>, addresses: Vec<String>) -> Result<Named<PersonRow>> {
    if addresses.is_empty() {
        return Ok(Named::default());
    }
    let rows = conn.fetch_all(&BY_EMAILS, args![distinct(addresses)]).await?;
    Ok(Named::new(rows, |row: &PersonRow| row.email.as_deref().map(str::to_lowercase)))
}

// Relies on operations_people_by_email.
const AT_EMAILS: Sql = sql!(
    "operations_people.at_emails", as PersonRow,
    "SELECT {columns}
     FROM operations_people WHERE email IS NOT NULL AND email = {any $1} ORDER BY id",
);

/// Those with exactly these addresses: it runs for every message, so it uses the index.
#[boxed]
pub async fn at_emails(conn: &mut Conn<'_>, addresses: Vec<String>) -> Result<Named<PersonRow>> {
    if addresses.is_empty() {
        return Ok(Named::default());
    }
    let rows = conn.fetch_all(&AT_EMAILS, args![distinct(addresses)]).await?;
    Ok(Named::new(rows, |row: &PersonRow| row.email.clone()))
}

const PAGE: Sql = sql!(
    "operations_people.page", as PersonRow,
    "SELECT {columns}
     FROM operations_people WHERE id > $1 AND {shared $3 business_unit} ORDER BY id LIMIT $2",
);

/// The next ones after this place that are within reach. A page is full or the last: what is out of reach is not read.
#[boxed]
pub async fn page(conn: &mut Conn<'_>, reach: &Reach, after: &str, limit: i64) -> Result<Vec<PersonRow>> {
    conn.fetch_all(&PAGE, args![after, limit, reach]).await
}

const DELETE: Sql = sql!("operations_people.delete", "DELETE FROM operations_people WHERE id = $1");

#[boxed]
pub async fn delete(conn: &mut Conn<'_>, id: &str) -> Result<bool> {
    Ok(conn.execute(&DELETE, args![id]).await? > 0)
}

crate::db::statements![PUT, GET, BY_IDS, NAMES, BY_EMAILS, AT_EMAILS, PAGE, DELETE];

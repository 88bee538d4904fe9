//! People who may be told about events and tasks.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, PartialEq, Record)]
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
    pub updated_at: i64,
}

const PUT: Sql = Sql::same(
    "operations_people.put",
    "INSERT INTO operations_people (id, name, email, time_zone, locale, channels, addresses, business_unit, updated_at)
     VALUES ($2, $3, $4, $5, $6, $7, $8, $9, $1)
     ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name, email = EXCLUDED.email, time_zone = EXCLUDED.time_zone,
         locale = EXCLUDED.locale, channels = EXCLUDED.channels, addresses = EXCLUDED.addresses,
         business_unit = EXCLUDED.business_unit, updated_at = EXCLUDED.updated_at",
);

#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, person: &PersonRow) -> Result<()> {
    let p = person.clone();
    let args =
        args![now, p.id, p.name, p.email, p.time_zone, p.locale, p.channels, p.addresses, p.business_unit];
    conn.execute(&PUT, args).await?;
    Ok(())
}

macro_rules! by_ids {
    ($which:literal) => {
        concat!(
            "
    SELECT id, name, email, time_zone, locale, channels, addresses, business_unit, updated_at
    FROM operations_people WHERE id = ",
            $which
        )
    };
}
const BY_IDS: Sql = Sql::rows("operations_people.by_ids", by_ids!("$1"), by_ids!("ANY($1)"));

#[boxed]
pub async fn by_ids(conn: &mut Conn<'_>, mut ids: Vec<String>) -> Result<Vec<PersonRow>> {
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&BY_IDS, args![ids]).await
}

macro_rules! by_emails {
    ($which:literal) => {
        concat!(
            "
    SELECT id, name, email, time_zone, locale, channels, addresses, business_unit, updated_at
    FROM operations_people WHERE email IS NOT NULL AND LOWER(email) IN (",
            $which,
            ") ORDER BY id"
        )
    };
}
const BY_EMAILS: Sql = Sql::each(
    "operations_people.by_emails",
    by_emails!("SELECT value FROM json_each($1)"),
    by_emails!("SELECT UNNEST($1::text[])"),
);

/// Those behind these addresses, which are in lower case: for imports, which are rare enough to look at everybody.
#[boxed]
pub async fn by_emails(conn: &mut Conn<'_>, mut addresses: Vec<String>) -> Result<Vec<PersonRow>> {
    addresses.sort_unstable();
    addresses.dedup();
    if addresses.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&BY_EMAILS, args![addresses]).await
}

macro_rules! at_emails {
    ($which:literal) => {
        concat!(
            "
    SELECT id, name, email, time_zone, locale, channels, addresses, business_unit, updated_at
    FROM operations_people WHERE email IS NOT NULL AND email = ",
            $which
        )
    };
}
// Relies on operations_people_by_email.
const AT_EMAILS: Sql = Sql::rows("operations_people.at_emails", at_emails!("$1"), at_emails!("ANY($1)"));

/// Those with these addresses, letter by letter: for every message, so it must find them without looking at everybody.
#[boxed]
pub async fn at_emails(conn: &mut Conn<'_>, addresses: Vec<String>) -> Result<Vec<PersonRow>> {
    if addresses.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&AT_EMAILS, args![addresses]).await
}

const PAGE: Sql = Sql::same(
    "operations_people.page",
    "SELECT id, name, email, time_zone, locale, channels, addresses, business_unit, updated_at
     FROM operations_people WHERE id > $1 ORDER BY id LIMIT $2",
);

#[boxed]
pub async fn page(conn: &mut Conn<'_>, after: &str, limit: i64) -> Result<Vec<PersonRow>> {
    conn.fetch_all(&PAGE, args![after, limit]).await
}

const DELETE: Sql = Sql::same("operations_people.delete", "DELETE FROM operations_people WHERE id = $1");

#[boxed]
pub async fn delete(conn: &mut Conn<'_>, id: &str) -> Result<bool> {
    Ok(conn.execute(&DELETE, args![id]).await? > 0)
}

crate::db::statements![PUT, BY_IDS, BY_EMAILS, AT_EMAILS, PAGE, DELETE];

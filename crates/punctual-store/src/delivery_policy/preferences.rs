//! Preferences: what people want, found by any of their addresses.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct PreferenceRow {
    pub person: String,
    /// As the model writes it.
    pub definition: String,
    pub version: i64,
    pub updated_at: Timestamp,
}

/// The preferences of a person, with the address they were found by.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct WantedAt {
    pub address: String,
    pub person: String,
    pub definition: String,
}

const BY_ADDRESSES: Sql = sql!(
    "preferences.by_addresses",
    "SELECT a.address, p.person, p.definition
     FROM preference_addresses a JOIN preferences p ON p.person = a.person WHERE a.address = {any $1}",
);

/// The preferences of the people behind these addresses, which are in lower case, each once.
#[boxed]
pub async fn by_addresses(conn: &mut Conn<'_>, addresses: Vec<String>) -> Result<Vec<WantedAt>> {
    if addresses.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&BY_ADDRESSES, args![addresses]).await
}

const MAKE: Sql = sql!(
    "preferences.make",
    "INSERT INTO preferences (person, definition, version, updated_at) VALUES ($2, '{}', 0, $1)
     ON CONFLICT (person) DO NOTHING",
);
const LOCK: Sql = sql!(
    "preferences.lock", as PreferenceRow,
    "SELECT {columns} FROM preferences WHERE person = $1{postgres  FOR UPDATE}",
);
const GET: Sql =
    sql!("preferences.get", as PreferenceRow, "SELECT {columns} FROM preferences WHERE person = $1");

/// The row of a person, made where it is missing and locked until the transaction ends.
#[boxed]
pub async fn lock(conn: &mut Conn<'_>, now: Timestamp, person: &str) -> Result<PreferenceRow> {
    conn.execute(&MAKE, args![now, person]).await?;
    conn.fetch_one(&LOCK, args![person]).await
}

#[boxed]
pub async fn get(conn: &mut Conn<'_>, person: &str) -> Result<Option<PreferenceRow>> {
    conn.fetch_optional(&GET, args![person]).await
}

#[derive(Record)]
struct Owner {
    person: String,
}

const OWNER: Sql =
    sql!("preference_addresses.owner", "SELECT person FROM preference_addresses WHERE address = $1");

/// The person behind an address, which is in lower case.
#[boxed]
pub async fn owner(conn: &mut Conn<'_>, address: &str) -> Result<Option<String>> {
    let row: Option<Owner> = conn.fetch_optional(&OWNER, args![address]).await?;
    Ok(row.map(|row| row.person))
}

const PUT: Sql = sql!(
    "preferences.put",
    "UPDATE preferences SET definition = $3, version = version + 1, updated_at = $1 WHERE person = $2",
);
const FORGET_ADDRESSES: Sql =
    sql!("preference_addresses.forget", "DELETE FROM preference_addresses WHERE person = $1");

#[derive(SetRow)]
struct Address<'a> {
    address: &'a str,
}

// An address belongs to the person who gave it last.
const KEEP_ADDRESSES: Sql = sql!(
    "preference_addresses.keep", each Address<'_>, after 1,
    "INSERT INTO preference_addresses ({names}, person) {values {*}, $1}{postgres  ORDER BY r.address}
     ON CONFLICT (address) DO UPDATE SET person = EXCLUDED.person",
);

/// Writes the preferences of a person. The row is locked; the addresses are in lower case, each once.
#[boxed]
pub async fn put(
    conn: &mut Conn<'_>,
    now: Timestamp,
    person: &str,
    definition: &str,
    addresses: Vec<String>,
) -> Result<()> {
    conn.execute(&PUT, args![now, person, definition]).await?;
    conn.execute(&FORGET_ADDRESSES, args![person]).await?;
    if !addresses.is_empty() {
        let addresses: Vec<Address<'_>> = addresses.iter().map(|address| Address { address }).collect();
        conn.execute(&KEEP_ADDRESSES, with_rows(args![person], &addresses)).await?;
    }
    Ok(())
}

const PAGE: Sql = sql!(
    "preferences.page", as PreferenceRow,
    "SELECT {columns} FROM preferences WHERE person > $1 ORDER BY person LIMIT $2",
);

#[boxed]
pub async fn page(conn: &mut Conn<'_>, after: &str, limit: i64) -> Result<Vec<PreferenceRow>> {
    conn.fetch_all(&PAGE, args![after, limit]).await
}

const DELETE: Sql = sql!("preferences.delete", "DELETE FROM preferences WHERE person = $1");

#[boxed]
pub async fn delete(conn: &mut Conn<'_>, person: &str) -> Result<bool> {
    conn.execute(&FORGET_ADDRESSES, args![person]).await?;
    Ok(conn.execute(&DELETE, args![person]).await? > 0)
}

crate::db::statements![
    BY_ADDRESSES,
    MAKE,
    LOCK,
    GET,
    OWNER,
    PUT,
    FORGET_ADDRESSES,
    KEEP_ADDRESSES,
    PAGE,
    DELETE
];

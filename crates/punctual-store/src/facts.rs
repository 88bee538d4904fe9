//! Facts about the installation, by name: when the last purge ran and what it removed, and the like.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::{
    StoreError,
    db::{Conn, Result, Sql, args, sql},
};

#[derive(Record)]
struct Fact {
    value: String,
}

const GET: Sql = sql!("facts.get", "SELECT value FROM facts WHERE name = $1");

#[boxed]
pub async fn get(conn: &mut Conn<'_>, name: &str) -> Result<Option<String>> {
    let fact: Option<Fact> = conn.fetch_optional(&GET, args![name]).await?;
    Ok(fact.map(|fact| fact.value))
}

const PUT: Sql = sql!(
    "facts.put",
    "INSERT INTO facts (name, value, updated_at) VALUES ($2, $3, $1)
     ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value, updated_at = EXCLUDED.updated_at",
);

#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, name: &str, value: &str) -> Result<()> {
    conn.execute(&PUT, args![now, name, value]).await?;
    Ok(())
}

const KEEP: Sql = sql!(
    "facts.keep",
    "INSERT INTO facts (name, value, updated_at) VALUES ($2, $3, $1) ON CONFLICT (name) DO NOTHING",
);

/// The same where the fact is not known yet: of two that come at once, one stays.
#[boxed]
pub async fn keep(conn: &mut Conn<'_>, now: Timestamp, name: &str, value: &str) -> Result<()> {
    conn.execute(&KEEP, args![now, name, value]).await?;
    Ok(())
}

const COUNT_UP: Sql = sql!(
    "facts.count_up",
    "INSERT INTO facts (name, value, updated_at) VALUES ($2, '1', $1)
     ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(facts.value AS BIGINT) + 1 AS TEXT), updated_at = $1
     RETURNING value",
);

/// The next number of this name: each is given once.
#[boxed]
pub async fn count_up(conn: &mut Conn<'_>, now: Timestamp, name: &str) -> Result<i64> {
    let fact: Option<Fact> = conn.fetch_optional(&COUNT_UP, args![now, name]).await?;
    let number = fact.and_then(|fact| fact.value.parse().ok());
    number.ok_or(StoreError::Stored("a number that was just given"))
}

// The row's own time is the mark, so that the database can compare it.
const ADVANCE: Sql = sql!(
    "facts.advance",
    "INSERT INTO facts (name, value, updated_at) VALUES ($2, '', $1)
     ON CONFLICT (name) DO UPDATE SET updated_at = EXCLUDED.updated_at WHERE facts.updated_at < EXCLUDED.updated_at",
);

/// Moves a mark forward; it never goes back.
#[boxed]
pub async fn advance(conn: &mut Conn<'_>, name: &str, to: Timestamp) -> Result<()> {
    conn.execute(&ADVANCE, args![to, name]).await?;
    Ok(())
}

#[derive(Record)]
struct Mark {
    updated_at: Timestamp,
}

const MARK: Sql = sql!("facts.mark", "SELECT updated_at FROM facts WHERE name = $1");

/// Where a mark is.
#[boxed]
pub async fn mark(conn: &mut Conn<'_>, name: &str) -> Result<Option<Timestamp>> {
    let mark: Option<Mark> = conn.fetch_optional(&MARK, args![name]).await?;
    Ok(mark.map(|mark| mark.updated_at))
}

/// A fact with its name.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct NamedFact {
    pub name: String,
    pub value: String,
}

// Reads the table: facts are few.
const WITH_PREFIX: Sql = sql!(
    "facts.with_prefix", as NamedFact,
    "SELECT {columns} FROM facts WHERE SUBSTR(name, 1, LENGTH(CAST($1 AS TEXT))) = $1 ORDER BY name",
);

/// All facts whose names begin like this.
#[boxed]
pub async fn with_prefix(conn: &mut Conn<'_>, prefix: &str) -> Result<Vec<NamedFact>> {
    conn.fetch_all(&WITH_PREFIX, args![prefix]).await
}

const FORGET: Sql = sql!("facts.forget", "DELETE FROM facts WHERE name = $1");

#[boxed]
pub async fn forget(conn: &mut Conn<'_>, name: &str) -> Result<()> {
    conn.execute(&FORGET, args![name]).await?;
    Ok(())
}

crate::db::statements![GET, PUT, KEEP, COUNT_UP, ADVANCE, MARK, WITH_PREFIX, FORGET];

//! Subscribers of events, by key.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct SubscriberRow {
    pub key: String,
    pub adapter: String,
    pub settings: String,
    /// A JSON array of event types.
    pub events: String,
    /// A filter over the payload, where there is one.
    pub filter: Option<String>,
    pub retry: String,
    pub active: bool,
    pub version: i64,
    pub updated_at: i64,
}

const ALL: Sql = Sql::same(
    "subscribers.all",
    "SELECT key, adapter, settings, events, filter, retry, active, version, updated_at FROM subscribers ORDER BY key",
);

/// Every subscriber, by key. There are few.
#[boxed]
pub async fn all(conn: &mut Conn<'_>) -> Result<Vec<SubscriberRow>> {
    conn.fetch_all(&ALL, args![]).await
}

const GET: Sql = Sql::same(
    "subscribers.get",
    "SELECT key, adapter, settings, events, filter, retry, active, version, updated_at FROM subscribers WHERE key = $1",
);

#[boxed]
pub async fn get(conn: &mut Conn<'_>, key: &str) -> Result<Option<SubscriberRow>> {
    conn.fetch_optional(&GET, args![key]).await
}

const PUT: Sql = Sql::same(
    "subscribers.put",
    "INSERT INTO subscribers (key, adapter, settings, events, filter, retry, active, updated_at)
     VALUES ($2, $3, $4, $5, $6, $7, $8, $1)
     ON CONFLICT (key) DO UPDATE
     SET adapter = EXCLUDED.adapter, settings = EXCLUDED.settings, events = EXCLUDED.events, filter = EXCLUDED.filter,
         retry = EXCLUDED.retry, active = EXCLUDED.active, version = subscribers.version + 1,
         updated_at = EXCLUDED.updated_at",
);

#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, row: &SubscriberRow) -> Result<()> {
    let r = row.clone();
    let bound = args![now, r.key, r.adapter, r.settings, r.events, r.filter, r.retry, r.active];
    conn.execute(&PUT, bound).await?;
    Ok(())
}

const RESEAL: Sql =
    Sql::same("subscribers.reseal", "UPDATE subscribers SET settings = $3 WHERE key = $1 AND version = $2");

/// Writes the same settings sealed anew. It is no new version: what is open stays open.
#[boxed]
pub async fn reseal(conn: &mut Conn<'_>, key: &str, version: i64, settings: &str) -> Result<bool> {
    Ok(conn.execute(&RESEAL, args![key, version, settings]).await? > 0)
}

const DELETE: Sql = Sql::same("subscribers.delete", "DELETE FROM subscribers WHERE key = $1");

#[boxed]
pub async fn delete(conn: &mut Conn<'_>, key: &str) -> Result<bool> {
    Ok(conn.execute(&DELETE, args![key]).await? > 0)
}

crate::db::statements![ALL, GET, PUT, RESEAL, DELETE];

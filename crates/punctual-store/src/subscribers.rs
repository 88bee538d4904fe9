//! Subscribers of events, by key.

use std::slice;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, PartialEq, Record, SetRow)]
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
    #[column(skip)]
    pub version: i64,
    #[column(skip)]
    pub updated_at: Timestamp,
}

const ALL: Sql = sql!("subscribers.all", as SubscriberRow, "SELECT {columns} FROM subscribers ORDER BY key");

/// Every subscriber, by key. There are few.
#[boxed]
pub async fn all(conn: &mut Conn<'_>) -> Result<Vec<SubscriberRow>> {
    conn.fetch_all(&ALL, args![]).await
}

const GET: Sql =
    sql!("subscribers.get", as SubscriberRow, "SELECT {columns} FROM subscribers WHERE key = $1");

#[boxed]
pub async fn get(conn: &mut Conn<'_>, key: &str) -> Result<Option<SubscriberRow>> {
    conn.fetch_optional(&GET, args![key]).await
}

const PUT: Sql = sql!(
    "subscribers.put", each SubscriberRow, after 1,
    "INSERT INTO subscribers ({names}, updated_at) {values {*}, $1}
     ON CONFLICT (key) DO UPDATE SET {replaced}, version = subscribers.version + 1, updated_at = $1",
);

#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, row: &SubscriberRow) -> Result<()> {
    conn.execute(&PUT, with_rows(args![now], slice::from_ref(row))).await?;
    Ok(())
}

const RESEAL: Sql =
    sql!("subscribers.reseal", "UPDATE subscribers SET settings = $3 WHERE key = $1 AND version = $2");

/// Writes the same settings sealed again. It is no new version: what is open stays open.
#[boxed]
pub async fn reseal(conn: &mut Conn<'_>, key: &str, version: i64, settings: &str) -> Result<bool> {
    Ok(conn.execute(&RESEAL, args![key, version, settings]).await? > 0)
}

const DELETE: Sql = sql!("subscribers.delete", "DELETE FROM subscribers WHERE key = $1");

#[boxed]
pub async fn delete(conn: &mut Conn<'_>, key: &str) -> Result<bool> {
    Ok(conn.execute(&DELETE, args![key]).await? > 0)
}

crate::db::statements![ALL, GET, PUT, RESEAL, DELETE];

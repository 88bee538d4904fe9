//! Channels: a stable key bound to an adapter and its settings.

use std::slice;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, PartialEq, Record, SetRow)]
pub struct ChannelRow {
    pub key: String,
    pub adapter: String,
    /// A JSON object; secrets are in it, sealed, and never leave through the API.
    pub settings: String,
    /// The retry policy as JSON.
    pub retry: String,
    pub at_most_once: bool,
    /// Limits and hours, as JSON.
    pub policy: String,
    #[column(skip)]
    pub version: i64,
    #[column(skip)]
    pub updated_at: Timestamp,
}

const PUT: Sql = sql!(
    "channels.put", each ChannelRow, after 1,
    "INSERT INTO channels ({names}, updated_at) {values {*}, $1}
     ON CONFLICT (key) DO UPDATE SET {replaced}, version = channels.version + 1, updated_at = $1",
);

#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, channel: &ChannelRow) -> Result<()> {
    conn.execute(&PUT, with_rows(args![now], slice::from_ref(channel))).await?;
    Ok(())
}

const GET: Sql = sql!("channels.get", as ChannelRow, "SELECT {columns} FROM channels WHERE key = $1");

#[boxed]
pub async fn get(conn: &mut Conn<'_>, key: &str) -> Result<Option<ChannelRow>> {
    conn.fetch_optional(&GET, args![key]).await
}

const ALL: Sql = sql!("channels.all", as ChannelRow, "SELECT {columns} FROM channels ORDER BY key");

/// Every channel; there are few.
#[boxed]
pub async fn all(conn: &mut Conn<'_>) -> Result<Vec<ChannelRow>> {
    conn.fetch_all(&ALL, args![]).await
}

const RESEAL: Sql =
    sql!("channels.reseal", "UPDATE channels SET settings = $3 WHERE key = $1 AND version = $2");

/// Writes the same settings sealed again. It is no new version: what is open stays open.
#[boxed]
pub async fn reseal(conn: &mut Conn<'_>, channel: &ChannelRow, settings: &str) -> Result<bool> {
    Ok(conn.execute(&RESEAL, args![&channel.key, channel.version, settings]).await? > 0)
}

const DELETE: Sql = sql!("channels.delete", "DELETE FROM channels WHERE key = $1");

#[boxed]
pub async fn delete(conn: &mut Conn<'_>, key: &str) -> Result<bool> {
    Ok(conn.execute(&DELETE, args![key]).await? > 0)
}

crate::db::statements![PUT, GET, ALL, RESEAL, DELETE];

//! Channels: a stable key bound to an adapter and its settings.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct ChannelRow {
    pub key: String,
    pub adapter: String,
    /// A JSON object; secrets are in it, sealed, and never leave through the API.
    pub settings: String,
    /// The retry policy as JSON.
    pub retry: String,
    pub at_most_once: bool,
    /// Limits and hours, as JSON; the column's stored name is `manners`.
    pub policy: String,
    pub version: i64,
    pub updated_at: i64,
}

const PUT: Sql = Sql::same(
    "channels.put",
    "INSERT INTO channels (key, adapter, settings, retry, at_most_once, manners, updated_at)
     VALUES ($2, $3, $4, $5, $6, $7, $1)
     ON CONFLICT (key) DO UPDATE SET adapter = EXCLUDED.adapter, settings = EXCLUDED.settings, retry = EXCLUDED.retry,
         at_most_once = EXCLUDED.at_most_once, manners = EXCLUDED.manners, version = channels.version + 1, updated_at = EXCLUDED.updated_at",
);

#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, channel: &ChannelRow) -> Result<()> {
    let c = channel;
    conn.execute(&PUT, args![now, &c.key, &c.adapter, &c.settings, &c.retry, c.at_most_once, &c.policy])
        .await?;
    Ok(())
}

const GET: Sql = Sql::same(
    "channels.get",
    "SELECT key, adapter, settings, retry, at_most_once, manners AS policy, version, updated_at FROM channels WHERE key = $1",
);

#[boxed]
pub async fn get(conn: &mut Conn<'_>, key: &str) -> Result<Option<ChannelRow>> {
    conn.fetch_optional(&GET, args![key]).await
}

const ALL: Sql = Sql::same(
    "channels.all",
    "SELECT key, adapter, settings, retry, at_most_once, manners AS policy, version, updated_at FROM channels ORDER BY key",
);

/// Every channel; there are few.
#[boxed]
pub async fn all(conn: &mut Conn<'_>) -> Result<Vec<ChannelRow>> {
    conn.fetch_all(&ALL, args![]).await
}

const RESEAL: Sql =
    Sql::same("channels.reseal", "UPDATE channels SET settings = $3 WHERE key = $1 AND version = $2");

/// Writes the same settings sealed anew. It is no new version: what is open stays open.
#[boxed]
pub async fn reseal(conn: &mut Conn<'_>, channel: &ChannelRow, settings: &str) -> Result<bool> {
    Ok(conn.execute(&RESEAL, args![&channel.key, channel.version, settings]).await? > 0)
}

const DELETE: Sql = Sql::same("channels.delete", "DELETE FROM channels WHERE key = $1");

#[boxed]
pub async fn delete(conn: &mut Conn<'_>, key: &str) -> Result<bool> {
    Ok(conn.execute(&DELETE, args![key]).await? > 0)
}

crate::db::statements![PUT, GET, ALL, RESEAL, DELETE];

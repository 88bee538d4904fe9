//! Consumers, by key: where events are taken from, and how each is on the nodes that run it.

use std::slice;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::ConsumerLink;

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, PartialEq, Record, SetRow)]
pub struct ConsumerRow {
    pub key: String,
    pub adapter: String,
    pub settings: String,
    /// The unit that its events belong to, where they are limited to one.
    pub business_unit: Option<String>,
    pub active: bool,
    #[column(skip)]
    pub version: i64,
    #[column(skip)]
    pub updated_at: Timestamp,
}

const ALL: Sql = sql!("consumers.all", as ConsumerRow, "SELECT {columns} FROM consumers ORDER BY key");

/// Every consumer, by key. There are few.
#[boxed]
pub async fn all(conn: &mut Conn<'_>) -> Result<Vec<ConsumerRow>> {
    conn.fetch_all(&ALL, args![]).await
}

const GET: Sql = sql!("consumers.get", as ConsumerRow, "SELECT {columns} FROM consumers WHERE key = $1");

#[boxed]
pub async fn get(conn: &mut Conn<'_>, key: &str) -> Result<Option<ConsumerRow>> {
    conn.fetch_optional(&GET, args![key]).await
}

const PUT: Sql = sql!(
    "consumers.put", each ConsumerRow, after 1,
    "INSERT INTO consumers ({names}, updated_at) {values {*}, $1}
     ON CONFLICT (key) DO UPDATE SET {replaced}, version = consumers.version + 1, updated_at = $1",
);

#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, row: &ConsumerRow) -> Result<()> {
    conn.execute(&PUT, with_rows(args![now], slice::from_ref(row))).await?;
    Ok(())
}

const RESEAL: Sql =
    sql!("consumers.reseal", "UPDATE consumers SET settings = $3 WHERE key = $1 AND version = $2");

/// Writes the same settings sealed again. It is no new version: what is open stays open.
#[boxed]
pub async fn reseal(conn: &mut Conn<'_>, key: &str, version: i64, settings: &str) -> Result<bool> {
    Ok(conn.execute(&RESEAL, args![key, version, settings]).await? > 0)
}

const DELETE: Sql = sql!("consumers.delete", "DELETE FROM consumers WHERE key = $1");
const DELETE_HEALTH: Sql = sql!("consumer_health.delete", "DELETE FROM consumer_health WHERE consumer = $1");

/// Removes a consumer and what nodes have reported of it.
#[boxed]
pub async fn delete(conn: &mut Conn<'_>, key: &str) -> Result<bool> {
    conn.execute(&DELETE_HEALTH, args![key]).await?;
    Ok(conn.execute(&DELETE, args![key]).await? > 0)
}

/// How a consumer is on one node.
#[derive(Clone, Debug, PartialEq, Eq, Record, SetRow)]
pub struct HealthRow {
    pub consumer: String,
    pub node: String,
    pub state: ConsumerLink,
    /// Since when it is in this state.
    pub since: Timestamp,
    pub last_message_at: Option<Timestamp>,
    /// Messages that wait at the broker, if it reports them.
    pub lag: Option<i64>,
    pub last_error: Option<String>,
    pub last_error_at: Option<Timestamp>,
    /// Events that were taken; when it is reported, those since the last report.
    pub accepted: i64,
    pub duplicates: i64,
    pub refused: i64,
    pub reported_at: Timestamp,
}

// A node that starts again knows neither the last message nor the last error, so that what was known stays. What a
// consumer that was removed in between still reports is not kept.
const REPORT: Sql = sql!(
    "consumer_health.report", each HealthRow, after 0,
    "INSERT INTO consumer_health ({names})
     {sqlite SELECT {*} WHERE EXISTS (SELECT 1 FROM consumers c WHERE c.key = {.consumer})}
     {postgres {values {*}} WHERE EXISTS (SELECT 1 FROM consumers c WHERE c.key = r.consumer)}
     ON CONFLICT (consumer, node) DO UPDATE
     SET state = EXCLUDED.state, since = EXCLUDED.since, lag = EXCLUDED.lag, reported_at = EXCLUDED.reported_at,
         last_message_at = COALESCE(EXCLUDED.last_message_at, consumer_health.last_message_at),
         last_error = COALESCE(EXCLUDED.last_error, consumer_health.last_error),
         last_error_at = COALESCE(EXCLUDED.last_error_at, consumer_health.last_error_at),
         accepted = consumer_health.accepted + EXCLUDED.accepted,
         duplicates = consumer_health.duplicates + EXCLUDED.duplicates,
         refused = consumer_health.refused + EXCLUDED.refused",
);

/// Writes how consumers are on a node; the counts are added to those before.
#[boxed]
pub async fn report(conn: &mut Conn<'_>, rows: &[HealthRow]) -> Result<()> {
    conn.execute(&REPORT, with_rows(args![], rows)).await?;
    Ok(())
}

const HEALTH: Sql = sql!(
    "consumer_health.all", as HealthRow,
    "SELECT {columns} FROM consumer_health ORDER BY consumer, node",
);

/// How every consumer is, on each node that has reported it.
#[boxed]
pub async fn health(conn: &mut Conn<'_>) -> Result<Vec<HealthRow>> {
    conn.fetch_all(&HEALTH, args![]).await
}

const FORGET_HEALTH: Sql =
    sql!("consumer_health.forget", "DELETE FROM consumer_health WHERE reported_at < $1");

/// Forgets what nodes reported before this moment: they are gone permanently.
#[boxed]
pub async fn forget_health(conn: &mut Conn<'_>, before: Timestamp) -> Result<u64> {
    conn.execute(&FORGET_HEALTH, args![before]).await
}

crate::db::statements![ALL, GET, PUT, RESEAL, DELETE, DELETE_HEALTH, REPORT, HEALTH, FORGET_HEALTH];

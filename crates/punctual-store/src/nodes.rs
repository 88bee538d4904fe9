//! The nodes of this installation, as each last reported itself.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};
use punctual_model::Reach;

use crate::{
    attention::WaitingRow,
    db::{Conn, Result, Sql, args, sql},
};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct NodeRow {
    pub node: String,
    pub version: String,
    /// `all`, `api` or `worker`.
    pub role: String,
    /// The newest step of the schema that it knows.
    pub schema_version: i64,
    /// How far its machine's clock is ahead of the time that it goes by.
    pub clock_offset_ms: i64,
    pub held_work: i64,
    pub held_notifications: i64,
    pub started_at: Timestamp,
    pub last_seen_at: Timestamp,
}

const REPORT: Sql = sql!(
    "nodes.report",
    "INSERT INTO nodes (node, version, role, schema_version, clock_offset_ms, held_work, held_notifications, started_at,
         last_seen_at)
     VALUES ($2, $3, $4, $5, $6, $7, $8, $9, $1)
     ON CONFLICT (node) DO UPDATE SET version = EXCLUDED.version, role = EXCLUDED.role,
         schema_version = EXCLUDED.schema_version, clock_offset_ms = EXCLUDED.clock_offset_ms,
         held_work = EXCLUDED.held_work, held_notifications = EXCLUDED.held_notifications,
         started_at = EXCLUDED.started_at, last_seen_at = EXCLUDED.last_seen_at",
);

/// Writes what a node says about itself.
#[boxed]
pub async fn report(conn: &mut Conn<'_>, row: &NodeRow) -> Result<()> {
    let NodeRow {
        node, version, role, schema_version, clock_offset_ms, held_work, held_notifications, ..
    } = row;
    let args = args![
        row.last_seen_at,
        node,
        version,
        role,
        *schema_version,
        *clock_offset_ms,
        *held_work,
        *held_notifications,
        row.started_at
    ];
    conn.execute(&REPORT, args).await?;
    Ok(())
}

const ALL: Sql = sql!("nodes.all", as NodeRow, "SELECT {columns} FROM nodes ORDER BY node");

/// Every node, by name. There are few.
#[boxed]
pub async fn all(conn: &mut Conn<'_>) -> Result<Vec<NodeRow>> {
    conn.fetch_all(&ALL, args![]).await
}

const LEAVE: Sql = sql!("nodes.leave", "DELETE FROM nodes WHERE node = $1");

/// A node that stops in order is no longer one.
#[boxed]
pub async fn leave(conn: &mut Conn<'_>, node: &str) -> Result<()> {
    conn.execute(&LEAVE, args![node]).await?;
    Ok(())
}

const FORGET: Sql = sql!("nodes.forget", "DELETE FROM nodes WHERE last_seen_at < $1");

/// Forgets nodes that were last seen before this moment.
#[boxed]
pub async fn forget(conn: &mut Conn<'_>, before: Timestamp) -> Result<()> {
    conn.execute(&FORGET, args![before]).await?;
    Ok(())
}

const LOCKED_WORK: &str = "FROM work {sqlite INDEXED BY work_leased}
     WHERE status = 'processing' AND lease_expires_at < $2 AND {reach $1 business_unit}";
const LOCKED_NOTIFICATIONS: &str = "FROM notifications {sqlite INDEXED BY notifications_leased}
     WHERE lease_expires_at IS NOT NULL AND lease_expires_at < $2 AND {reach $1 business_unit}";

const WORK: Sql = sql!(
    "work.locked",
    "SELECT CAST(id AS TEXT) AS id, kind, key AS title, 'lease-expired' AS reason, CAST(NULL AS TEXT) AS answer,
         lease_expires_at AS since ",
    LOCKED_WORK,
    " ORDER BY lease_expires_at LIMIT $3",
);
const NOTIFICATIONS: Sql = sql!(
    "notifications.locked",
    "SELECT id, kind, subject AS title, 'lease-expired' AS reason, CAST(NULL AS TEXT) AS answer,
         lease_expires_at AS since ",
    LOCKED_NOTIFICATIONS,
    " ORDER BY lease_expires_at LIMIT $3",
);

/// Work whose claim ran out before this moment and that nobody took over, the longest first.
#[boxed]
pub async fn locked_work(
    conn: &mut Conn<'_>,
    reach: &Reach,
    before: Timestamp,
    limit: i64,
) -> Result<Vec<WaitingRow>> {
    conn.fetch_all(&WORK, args![reach, before, limit]).await
}

/// The same of notifications.
#[boxed]
pub async fn locked_notifications(
    conn: &mut Conn<'_>,
    reach: &Reach,
    before: Timestamp,
    limit: i64,
) -> Result<Vec<WaitingRow>> {
    conn.fetch_all(&NOTIFICATIONS, args![reach, before, limit]).await
}

#[derive(Record)]
struct Count {
    count: i64,
}

const COUNT: Sql = sql!(
    "nodes.count_locked",
    "SELECT
        (SELECT COUNT(*) FROM (SELECT 1 AS one ",
    LOCKED_WORK,
    " LIMIT $3) AS w) + (SELECT COUNT(*) FROM (SELECT 1 AS one ",
    LOCKED_NOTIFICATIONS,
    " LIMIT $3) AS n) AS count",
);

/// How many there are of both, each counted up to the bound.
#[boxed]
pub async fn count_locked(conn: &mut Conn<'_>, reach: &Reach, before: Timestamp, bound: i64) -> Result<i64> {
    let row: Count = conn.fetch_one(&COUNT, args![reach, before, bound]).await?;
    Ok(row.count)
}

crate::db::statements![REPORT, ALL, LEAVE, FORGET, WORK, NOTIFICATIONS, COUNT];

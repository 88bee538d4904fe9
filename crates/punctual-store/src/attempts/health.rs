//! How channels did lately, from the newest attempts: bounded, however many there are.

use jiff::{SignedDuration, Timestamp};
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args, sql};

/// How far back it goes.
pub const HEALTH_WINDOW: SignedDuration = SignedDuration::from_hours(1);
/// How many attempts are read: what a page can afford to read.
pub const HEALTH_ATTEMPTS: i64 = 5_000;

/// What the attempts of one channel came to.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct HealthRow {
    pub channel: String,
    pub attempts: i64,
    pub delivered: i64,
    /// How long all of them took.
    pub took_us: i64,
    /// When the last one that failed ended.
    pub failed_at: Option<Timestamp>,
    pub last_error: Option<String>,
}

// The newest notifications come first in the primary key, read backwards.
const HEALTH: Sql = sql!(
    "attempts.health",
    "WITH newest AS (
         SELECT channel, started_at, finished_at, outcome, answer FROM attempts
         ORDER BY notification_seq DESC
         LIMIT $2
     ), counted AS (
         SELECT channel,
             COUNT(*) AS attempts,
             CAST(SUM(CASE WHEN outcome = 'delivered' THEN 1 ELSE 0 END) AS BIGINT) AS delivered,
             CAST(SUM(finished_at - started_at) AS BIGINT) AS took_us,
             MAX(CASE WHEN outcome <> 'delivered' THEN finished_at END) AS failed_at
         FROM newest
         WHERE started_at >= $1 AND outcome IS NOT NULL
         GROUP BY channel
     )
     SELECT c.channel, c.attempts, c.delivered, c.took_us, c.failed_at,
         (SELECT MAX(n.answer) FROM newest n
          WHERE n.channel = c.channel AND n.finished_at = c.failed_at AND n.outcome <> 'delivered') AS last_error
     FROM counted c
     ORDER BY c.channel",
);

/// The health of each channel in the last hour, by its newest attempts.
#[boxed]
pub async fn health(conn: &mut Conn<'_>, now: Timestamp) -> Result<Vec<HealthRow>> {
    let since = now.saturating_sub(HEALTH_WINDOW).unwrap_or(Timestamp::MIN);
    conn.fetch_all(&HEALTH, args![since, HEALTH_ATTEMPTS]).await
}

crate::db::statements![HEALTH];

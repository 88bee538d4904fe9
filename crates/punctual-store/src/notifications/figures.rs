//! What ended when, for the charts: one bounded look per interval.

use punctual_boxed::{Record, boxed};
use punctual_model::NotificationStatus;

use crate::db::{Conn, Result, Sql, args, sql};

/// How one notification ended. `late` is the time from its moment (due, else accepted) to its delivery.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct Ending {
    pub status: NotificationStatus,
    pub channel: String,
    pub reason_code: Option<String>,
    pub late: Option<i64>,
}

const ENDED_IN: Sql = sql!(
    "notifications.ended_in",
    "SELECT ended.status, ended.channel, ended.reason_code, ended.delivered_at - COALESCE(w.due_at, ended.created_at) AS late
     FROM (SELECT status, channel, reason_code, delivered_at, created_at, work_id FROM notifications
           WHERE finished_at >= $1 AND finished_at < $2 AND kind <> 'event'
           ORDER BY finished_at DESC LIMIT $3) AS ended
     LEFT JOIN work w ON w.id = ended.work_id",
);

/// What ended in an interval, the latest ones, at most so many.
#[boxed]
pub async fn ended_in(conn: &mut Conn<'_>, from: i64, to: i64, limit: i64) -> Result<Vec<Ending>> {
    conn.fetch_all(&ENDED_IN, args![from, to, limit]).await
}

#[derive(Record)]
struct Count {
    count: i64,
}

const COUNT_ENDED: Sql = sql!(
    "notifications.count_ended",
    "SELECT COUNT(*) AS count FROM (SELECT 1 AS one FROM notifications WHERE finished_at >= $1 AND finished_at < $2 LIMIT $3) AS ended",
);

/// How many ended in an interval, counted up to a bound; from the index alone.
#[boxed]
pub async fn count_ended(conn: &mut Conn<'_>, from: i64, to: i64, bound: i64) -> Result<i64> {
    let row: Count = conn.fetch_one(&COUNT_ENDED, args![from, to, bound]).await?;
    Ok(row.count)
}

/// How many wait that were accepted since each of four moments, the latest first, and how many in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Record)]
pub struct QueueAges {
    pub first: i64,
    pub second: i64,
    pub third: i64,
    pub fourth: i64,
    pub total: i64,
}

// Over the index of what is still to be sent.
const QUEUE_AGES: Sql = sql!(
    "notifications.queue_ages", as QueueAges,
    "SELECT COUNT(CASE WHEN created_at >= $1 THEN 1 END) AS first,
         COUNT(CASE WHEN created_at >= $2 THEN 1 END) AS second,
         COUNT(CASE WHEN created_at >= $3 THEN 1 END) AS third,
         COUNT(CASE WHEN created_at >= $4 THEN 1 END) AS fourth,
         COUNT(*) AS total
     FROM notifications {sqlite INDEXED BY notifications_live}
     WHERE status IN ('pending', 'retrying') AND kind <> 'event'",
);

/// The age of what waits, by these moments, the latest first.
#[boxed]
pub async fn queue_ages(conn: &mut Conn<'_>, since: [i64; 4]) -> Result<QueueAges> {
    let [first, second, third, fourth] = since;
    conn.fetch_one(&QUEUE_AGES, args![first, second, third, fourth]).await
}

#[derive(Record)]
struct Latest {
    at: Option<i64>,
}

const LAST_DELIVERED: Sql = sql!(
    "notifications.last_delivered",
    "SELECT (SELECT finished_at FROM (SELECT finished_at, status FROM notifications WHERE finished_at IS NOT NULL
             ORDER BY finished_at DESC LIMIT 1000) AS latest
             WHERE status = 'delivered' ORDER BY finished_at DESC LIMIT 1) AS at",
);

/// When something was last delivered, as far as the last thousand endings tell.
#[boxed]
pub async fn last_delivered(conn: &mut Conn<'_>) -> Result<Option<i64>> {
    let row: Latest = conn.fetch_one(&LAST_DELIVERED, args![]).await?;
    Ok(row.at)
}

/// What one site sent over one channel in an interval.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct SiteChannelFigures {
    pub source_site: Option<String>,
    pub channel: String,
    pub delivered: i64,
    pub parked: i64,
    pub discarded: i64,
    pub withdrawn: i64,
    /// How many were tried more than once.
    pub retried: i64,
    pub uncertain: i64,
    /// From accepted to delivered, microseconds.
    pub mean_wait: Option<i64>,
}

// Relies on notifications_finished.
const BY_SITE_AND_CHANNEL: Sql = sql!(
    "notifications.by_site_and_channel",
    "SELECT source_site, channel,
         COUNT(CASE WHEN status = 'delivered' THEN 1 END) AS delivered,
         COUNT(CASE WHEN status = 'parked' THEN 1 END) AS parked,
         COUNT(CASE WHEN status = 'discarded' THEN 1 END) AS discarded,
         COUNT(CASE WHEN status = 'withdrawn' THEN 1 END) AS withdrawn,
         COUNT(CASE WHEN attempts > 1 THEN 1 END) AS retried,
         COUNT(CASE WHEN uncertain > 0 THEN 1 END) AS uncertain,
         CAST(AVG(CASE WHEN status = 'delivered' THEN delivered_at - created_at END) AS BIGINT) AS mean_wait
     FROM notifications
     WHERE finished_at IS NOT NULL AND finished_at >= $1 AND finished_at < $2 AND kind <> 'event'
       AND ($3 IS NULL OR business_unit = $3)
     GROUP BY source_site, channel
     ORDER BY source_site, channel
     LIMIT $4",
);

/// What ended in an interval, by site and channel; of one business unit where it is given.
#[boxed]
pub async fn by_site_and_channel(
    conn: &mut Conn<'_>,
    from: i64,
    to: i64,
    business_unit: Option<&str>,
    limit: i64,
) -> Result<Vec<SiteChannelFigures>> {
    conn.fetch_all(&BY_SITE_AND_CHANNEL, args![from, to, business_unit, limit]).await
}

crate::db::statements![ENDED_IN, COUNT_ENDED, QUEUE_AGES, LAST_DELIVERED, BY_SITE_AND_CHANNEL];

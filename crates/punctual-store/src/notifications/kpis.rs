//! The figures of the outbox, computed from the table when somebody asks: exact, and cheap because live and
//! parked rows have indexes of their own and terminal rows are reached by when they ended.

use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args, sql};

/// The moment that figures are for.
#[derive(Clone, Copy, Debug, Default)]
pub struct AsOf<'a> {
    pub now: i64,
    /// What is older is stuck, unless it waits.
    pub stuck_before: i64,
    /// Delivered counts from here.
    pub since: i64,
    /// The channels that hold their messages back; see [`super::Stuck`].
    pub held_back: Option<&'a str>,
}

#[derive(Clone, Debug, PartialEq, Record)]
pub struct Kpis {
    pub queue_depth: i64,
    pub stuck: i64,
    pub waiting: i64,
    pub parked: i64,
    pub delivered: i64,
    pub uncertain: i64,
    pub oldest_created_at: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Record)]
pub struct SiteKpis {
    pub site: String,
    pub queue_depth: i64,
    pub stuck: i64,
    pub waiting: i64,
    pub parked: i64,
    pub delivered: i64,
    pub oldest_created_at: Option<i64>,
}

// Deliveries to subscribers are notifications too, of kind `event`; they are not part of the outbox. What waits is read once for all
// of its figures.
const KPIS: Sql = sql!(
    "notifications.kpis",
            "SELECT live.queue_depth, live.stuck, live.waiting,
        (SELECT COUNT(*) FROM notifications
         WHERE status = 'parked' AND kind <> 'event' AND ($3 IS NULL OR source_site = $3)) AS parked,
        (SELECT COUNT(*) FROM notifications
         WHERE finished_at >= $2 AND status = 'delivered' AND kind <> 'event' AND ($3 IS NULL OR source_site = $3)) AS delivered,
        (SELECT COUNT(*) FROM notifications
         WHERE uncertain > 0 AND kind <> 'event' AND ($3 IS NULL OR source_site = $3)) AS uncertain,
        live.oldest_created_at
     FROM (
        SELECT COUNT(*) AS queue_depth,
            CAST(COALESCE(SUM(CASE WHEN ",
            stuck!("$1", "$5"),
            " THEN 1 ELSE 0 END), 0) AS BIGINT) AS stuck,
            CAST(COALESCE(SUM(CASE WHEN ",
            waiting!("$4", "$5"),
            " THEN 1 ELSE 0 END), 0) AS BIGINT) AS waiting,
            MIN(created_at) AS oldest_created_at
        FROM notifications {sqlite INDEXED BY notifications_live}
        WHERE status IN ('pending', 'retrying') AND kind <> 'event' AND ($3 IS NULL OR source_site = $3)) AS live",
);

/// The figures of everything, or of one site.
#[boxed]
pub async fn kpis(conn: &mut Conn<'_>, as_of: AsOf<'_>, site: Option<&str>) -> Result<Kpis> {
    let AsOf { now, stuck_before, since, held_back } = as_of;
    conn.fetch_one(&KPIS, args![stuck_before, since, site, now, held_back]).await
}

#[derive(Record)]
struct Count {
    count: i64,
}

// Over the index of parked rows, of which there are few.
const FAILED_EVENTS: Sql = sql!(
    "notifications.failed_events",
    "SELECT COUNT(*) AS count FROM notifications WHERE status = 'parked' AND kind = 'event'",
);

/// Deliveries to subscribers that were given up and wait for a person.
#[boxed]
pub async fn failed_events(conn: &mut Conn<'_>) -> Result<i64> {
    let Count { count } = conn.fetch_one(&FAILED_EVENTS, args![]).await?;
    Ok(count)
}

// SQLite takes "a site is named" for a reason to read all rows that have one, so the statement says which rows to start from.
const SITE_KPIS: Sql = sql!(
    "notifications.site_kpis",
            "
     SELECT source_site AS site,
        CAST(SUM(CASE WHEN status IN ('pending', 'retrying') THEN 1 ELSE 0 END) AS BIGINT) AS queue_depth,
        CAST(SUM(CASE WHEN status IN ('pending', 'retrying') AND ",
            stuck!("$1", "$4"),
            " THEN 1 ELSE 0 END) AS BIGINT) AS stuck,
        CAST(SUM(CASE WHEN status IN ('pending', 'retrying') AND ",
            waiting!("$3", "$4"),
            " THEN 1 ELSE 0 END) AS BIGINT) AS waiting,
        CAST(SUM(CASE WHEN status = 'parked' THEN 1 ELSE 0 END) AS BIGINT) AS parked,
        CAST(SUM(CASE WHEN status = 'delivered' THEN 1 ELSE 0 END) AS BIGINT) AS delivered,
        MIN(CASE WHEN status IN ('pending', 'retrying') THEN created_at END) AS oldest_created_at
     FROM (
        SELECT source_site, status, created_at, ready_at, reason_code, priority, channel FROM notifications {sqlite INDEXED BY notifications_live}
        WHERE status IN ('pending', 'retrying') AND kind <> 'event' AND source_site IS NOT NULL
        UNION ALL
        SELECT source_site, status, created_at, ready_at, reason_code, priority, channel FROM notifications {sqlite INDEXED BY notifications_parked}
        WHERE status = 'parked' AND kind <> 'event' AND source_site IS NOT NULL
        UNION ALL
        SELECT source_site, status, created_at, ready_at, reason_code, priority, channel FROM notifications {sqlite INDEXED BY notifications_finished}
        WHERE finished_at >= $2 AND status = 'delivered' AND kind <> 'event' AND source_site IS NOT NULL
     ) AS rows_of_sites
     GROUP BY source_site
     ORDER BY source_site",
);

/// The same figures for each site that has live, parked or recently delivered notifications.
#[boxed]
pub async fn site_kpis(conn: &mut Conn<'_>, as_of: AsOf<'_>) -> Result<Vec<SiteKpis>> {
    let AsOf { now, stuck_before, since, held_back } = as_of;
    conn.fetch_all(&SITE_KPIS, args![stuck_before, since, now, held_back]).await
}

/// What was delivered in one second, for one site or without any.
#[derive(Clone, Debug, PartialEq, Eq, Record)]
pub struct DeliveredIn {
    /// Seconds since 1970.
    pub second: i64,
    pub site: Option<String>,
    pub delivered: i64,
}

const DELIVERED_IN: Sql = sql!(
    "notifications.delivered_in", as DeliveredIn,
    "SELECT finished_at / 1000000 AS second, source_site AS site, COUNT(*) AS delivered
     FROM notifications {sqlite INDEXED BY notifications_finished}
     WHERE finished_at >= $1 AND finished_at < $2 AND status = 'delivered' AND kind <> 'event'
     GROUP BY finished_at / 1000000, source_site",
);

/// How much was delivered from one moment until before another, second by second.
#[boxed]
pub async fn delivered_in(conn: &mut Conn<'_>, from: i64, until: i64) -> Result<Vec<DeliveredIn>> {
    conn.fetch_all(&DELIVERED_IN, args![from, until]).await
}

crate::db::statements![KPIS, FAILED_EVENTS, SITE_KPIS, DELIVERED_IN];

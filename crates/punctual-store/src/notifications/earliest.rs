//! When the next notification of each lane, a channel and a priority, is ready.

use punctual_boxed::{Record, boxed};

use crate::{
    db::{Conn, Result, Sql, args, sql},
    ready::After,
};

/// When the next notification of one channel and priority is ready.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Record)]
pub struct Earliest {
    pub channel: String,
    pub priority: i64,
    pub ready_at: i64,
}

/// Where the claims of one channel and priority start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneStart {
    pub channel: String,
    pub priority: i64,
    pub after: After,
}

// Loose walks over notifications_ready: one probe for each channel that has live rows, not one for each row. First every channel,
// from the beginning.
const EVERY_CHANNEL: &str = "WITH RECURSIVE used(channel) AS (
        SELECT (SELECT channel FROM notifications
                WHERE status IN ('pending', 'retrying') AND lease_expires_at IS NULL
                ORDER BY channel LIMIT 1)
        UNION ALL
        SELECT (SELECT n.channel FROM notifications n
                WHERE n.status IN ('pending', 'retrying') AND n.lease_expires_at IS NULL AND n.channel > used.channel
                ORDER BY n.channel LIMIT 1)
        FROM used WHERE used.channel IS NOT NULL
    )";
// The same on PostgreSQL where channels have places to start at: others are looked for between those, so that no walk passes
// the entries that their claimed rows have left. The order of names is the database's.
const CHANNELS_BETWEEN: &str = "WITH RECURSIVE starts AS MATERIALIZED (
        SELECT channel, priority, after_at, after_seq
        FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) AS s(channel, priority, after_at, after_seq)
    ), known AS MATERIALIZED (
        SELECT DISTINCT channel FROM starts
    ), gaps(low, high) AS (
        SELECT COALESCE(lag(channel) OVER (ORDER BY channel), ''), channel FROM known
    ), amid(channel, high) AS (
        SELECT (SELECT n.channel FROM notifications n
                WHERE n.status IN ('pending', 'retrying') AND n.lease_expires_at IS NULL
                  AND n.channel > gaps.low AND n.channel < gaps.high
                ORDER BY n.channel LIMIT 1), gaps.high
        FROM gaps
        UNION ALL
        SELECT (SELECT n.channel FROM notifications n
                WHERE n.status IN ('pending', 'retrying') AND n.lease_expires_at IS NULL
                  AND n.channel > amid.channel AND n.channel < amid.high
                ORDER BY n.channel LIMIT 1), amid.high
        FROM amid WHERE amid.channel IS NOT NULL
    ), beyond(channel) AS (
        SELECT (SELECT n.channel FROM notifications n
                WHERE n.status IN ('pending', 'retrying') AND n.lease_expires_at IS NULL
                  AND n.channel > COALESCE((SELECT max(channel) FROM known), '')
                ORDER BY n.channel LIMIT 1)
        UNION ALL
        SELECT (SELECT n.channel FROM notifications n
                WHERE n.status IN ('pending', 'retrying') AND n.lease_expires_at IS NULL AND n.channel > beyond.channel
                ORDER BY n.channel LIMIT 1)
        FROM beyond WHERE beyond.channel IS NOT NULL
    ), used(channel) AS (
        SELECT channel FROM amid UNION ALL SELECT channel FROM beyond UNION ALL SELECT channel FROM known
    )";
// Lanes of business units are found in the same way, so that no row of one is left behind, whatever became of its unit: one probe
// more for each channel where there are none.
const LANES: &str = ", lanes(channel, priority) AS (
        SELECT used.channel, (SELECT n.priority FROM notifications n
                WHERE n.status IN ('pending', 'retrying') AND n.lease_expires_at IS NULL
                  AND n.channel = used.channel AND n.priority > 9
                ORDER BY n.priority LIMIT 1)
        FROM used WHERE used.channel IS NOT NULL
        UNION ALL
        SELECT lanes.channel, (SELECT n.priority FROM notifications n
                WHERE n.status IN ('pending', 'retrying') AND n.lease_expires_at IS NULL
                  AND n.channel = lanes.channel AND n.priority > lanes.priority
                ORDER BY n.priority LIMIT 1)
        FROM lanes WHERE lanes.priority IS NOT NULL
    ), levels(channel, priority) AS (
        SELECT used.channel, p.priority FROM used CROSS JOIN
            {sqlite (SELECT value AS priority FROM json_each('[0,1,2,3,4,5,6,7,8,9]')) AS p}{postgres generate_series(0::bigint, 9) AS p(priority)}
        WHERE used.channel IS NOT NULL
        UNION ALL
        SELECT channel, priority FROM lanes WHERE priority IS NOT NULL
    )";
const EARLIEST: Sql = sql!(
    "notifications.earliest", as Earliest,
    EVERY_CHANNEL,
    LANES,
    " SELECT {columns} FROM (
        SELECT l.channel AS channel, l.priority AS priority,
            (SELECT ready_at FROM notifications n
             WHERE n.status IN ('pending', 'retrying') AND n.lease_expires_at IS NULL
               AND n.channel = l.channel AND n.priority = l.priority
             ORDER BY ready_at LIMIT 1) AS ready_at
        FROM levels l) AS firsts
    WHERE ready_at IS NOT NULL",
);
const EARLIEST_BEHIND: Sql = sql!(
    "notifications.earliest_behind", as Earliest,
    CHANNELS_BETWEEN,
    LANES,
    " SELECT {columns} FROM (
        SELECT l.channel AS channel, l.priority AS priority,
            (SELECT n.ready_at FROM notifications n
             WHERE n.status IN ('pending', 'retrying') AND n.lease_expires_at IS NULL
               AND n.channel = l.channel AND n.priority = l.priority
               AND (n.ready_at, n.seq) > (COALESCE(starts.after_at, '-9223372036854775808'::bigint),
                                          COALESCE(starts.after_seq, '-9223372036854775808'::bigint))
             ORDER BY n.ready_at, n.seq LIMIT 1) AS ready_at
        FROM levels l
        LEFT JOIN starts ON starts.channel = l.channel AND starts.priority = l.priority) AS firsts
    WHERE ready_at IS NOT NULL",
);

/// When the next notification of each channel and priority is ready, behind where its claims start; what has none is left out.
#[boxed]
pub async fn earliest(conn: &mut Conn<'_>, starts: &[LaneStart]) -> Result<Vec<Earliest>> {
    if conn.is_sqlite() || starts.is_empty() {
        return conn.fetch_all(&EARLIEST, args![]).await;
    }
    let channels: Vec<String> = starts.iter().map(|start| start.channel.clone()).collect();
    let priorities: Vec<i64> = starts.iter().map(|start| start.priority).collect();
    let places: Vec<i64> = starts.iter().map(|start| start.after.ready_at).collect();
    let seqs: Vec<i64> = starts.iter().map(|start| start.after.id).collect();
    conn.fetch_all(&EARLIEST_BEHIND, args![channels, priorities, places, seqs]).await
}

crate::db::statements![EARLIEST, EARLIEST_BEHIND];

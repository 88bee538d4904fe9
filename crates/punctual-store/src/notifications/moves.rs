//! Messages that wait move with their list, when that gets another channel, and into the lane of their business unit, when
//! that gets a share of its own. Those that wait for the hours of a channel are ready again when it gets other hours.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::{ChannelKey, delivery_policy::LEVELS};

use crate::{
    Stage, Tx,
    db::{Conn, Result, Sql, args, sql, with_rows},
};

/// A list that has moved from one channel to another.
#[derive(Clone, Debug)]
pub struct ListMove {
    pub list: String,
    /// The business unit of the list; messages of all units follow one without.
    pub business_unit: Option<String>,
    pub from: ChannelKey,
    pub to: ChannelKey,
}

/// The place after which the next batch begins.
pub type Place = (i64, Timestamp, i64);

#[derive(Record, SetRow)]
struct Follower {
    seq: i64,
    version: i64,
    #[column(skip)]
    priority: i64,
    #[column(skip)]
    ready_at: Timestamp,
}

// Relies on notifications_ready: every live row of the channel is passed once.
const FOLLOWERS: Sql = sql!(
    "notifications.followers", as Follower,
    "SELECT {columns} FROM notifications
     WHERE status IN ('pending', 'retrying') AND lease_expires_at IS NULL AND channel = $1
       AND (priority, ready_at, seq) > ($2, $3, $4)
       AND list_name = $5 AND follows_list AND (CAST($6 AS TEXT) IS NULL OR business_unit = $6)
     ORDER BY priority, ready_at, seq LIMIT $7",
);
// What the channel of before made it wait for is none of the next one's concern, which decides for itself.
const MOVE: Sql = sql!(
    "notifications.move", each Follower, after 4,
    "UPDATE notifications
     SET channel = $1, kind = CASE WHEN kind = $2 THEN $3 ELSE kind END, version = notifications.version + 1,
         ready_at = CASE WHEN reason_code IN ('quiet-hours', 'send-window', 'circuit-open') AND notifications.ready_at > $4
                         THEN $4 ELSE notifications.ready_at END,
         reason_code = CASE WHEN reason_code IN ('quiet-hours', 'send-window', 'circuit-open') THEN NULL ELSE reason_code END
     {from rows}
     WHERE notifications.seq = {.seq} AND notifications.version = {.version} AND lease_expires_at IS NULL",
);

/// Moves the next messages after `place`, at most `limit`; returns the place where to go on, or nothing where all have
/// moved. One that is being claimed meanwhile is left alone: the claim looks at its list itself.
#[boxed]
pub async fn move_with_list(
    tx: &mut Tx,
    now: Timestamp,
    moved: &ListMove,
    place: Option<Place>,
    limit: i64,
) -> Result<Option<Place>> {
    let (priority, ready_at, seq) = place.unwrap_or((-1, Timestamp::MIN, 0));
    let (list, unit) = (&moved.list, moved.business_unit.as_deref());
    let (from, to) = (&moved.from, &moved.to);
    let all = args![from, priority, ready_at, seq, list, unit, limit];
    let rows: Vec<Follower> = tx.conn().fetch_all(&FOLLOWERS, all).await?;
    let Some(last) = rows.last() else { return Ok(None) };
    let next = (last.priority, last.ready_at, last.seq);
    tx.conn().execute(&MOVE, with_rows(args![to, from.kind(), to.kind(), now], &rows)).await?;
    if let Some(first) = rows.iter().map(|row| row.ready_at).min() {
        tx.raise(Stage::Delivery, first.min(now));
    }
    Ok(Some(next))
}

// Relies on notifications_ready, as above.
const WAITING_FOR_HOURS: Sql = sql!(
    "notifications.waiting_for_hours", as Follower,
    "SELECT {columns} FROM notifications
     WHERE status IN ('pending', 'retrying') AND lease_expires_at IS NULL AND channel = $1
       AND (priority, ready_at, seq) > ($2, $3, $4) AND ready_at > $5 AND reason_code IN ('quiet-hours', 'send-window')
     ORDER BY priority, ready_at, seq LIMIT $6",
);
const END_WAIT: Sql = sql!(
    "notifications.end_wait", each Follower, after 1,
    "UPDATE notifications SET ready_at = $1, reason_code = NULL, version = notifications.version + 1
     {from rows}
     WHERE notifications.seq = {.seq} AND notifications.version = {.version} AND lease_expires_at IS NULL",
);

/// Makes the next messages ready at `at` that wait for the hours of a channel, at most `limit`, so that its present hours are
/// applied; returns the place where to go on, or nothing where none is left.
#[boxed]
pub async fn end_waits(
    tx: &mut Tx,
    at: Timestamp,
    channel: &str,
    place: Option<Place>,
    limit: i64,
) -> Result<Option<Place>> {
    let (priority, ready_at, seq) = place.unwrap_or((-1, Timestamp::MIN, 0));
    let all = args![channel, priority, ready_at, seq, at, limit];
    let rows: Vec<Follower> = tx.conn().fetch_all(&WAITING_FOR_HOURS, all).await?;
    let Some(last) = rows.last() else { return Ok(None) };
    let next = (last.priority, last.ready_at, last.seq);
    tx.conn().execute(&END_WAIT, with_rows(args![at], &rows)).await?;
    tx.raise(Stage::Delivery, at);
    Ok(Some(next))
}

// Relies on notifications_ready, as above. Urgent messages, below 4, stay in everybody's lane.
const OF_UNIT: Sql = sql!(
    "notifications.of_unit", as Follower,
    "SELECT {columns} FROM notifications
     WHERE status IN ('pending', 'retrying') AND lease_expires_at IS NULL AND channel = $1
       AND priority BETWEEN 4 AND 9 AND (priority, ready_at, seq) > ($2, $3, $4) AND business_unit = $5
     ORDER BY priority, ready_at, seq LIMIT $6",
);
const JOIN_LANE: Sql = sql!(
    "notifications.join_lane", each Follower, after 1,
    "UPDATE notifications SET priority = $1 + notifications.priority, version = notifications.version + 1
     {from rows}
     WHERE notifications.seq = {.seq} AND notifications.version = {.version} AND lease_expires_at IS NULL",
);

/// Puts the next messages of a unit that wait for a channel into its lane, at most `limit`; returns the place where to go on,
/// or nothing where all are in it.
#[boxed]
pub async fn join_lane(
    tx: &mut Tx,
    channel: &str,
    unit: &str,
    lane: i64,
    place: Option<Place>,
    limit: i64,
) -> Result<Option<Place>> {
    let (priority, ready_at, seq) = place.unwrap_or((-1, Timestamp::MIN, 0));
    let all = args![channel, priority, ready_at, seq, unit, limit];
    let rows: Vec<Follower> = tx.conn().fetch_all(&OF_UNIT, all).await?;
    let Some(last) = rows.last() else { return Ok(None) };
    let next = (last.priority, last.ready_at, last.seq);
    tx.conn().execute(&JOIN_LANE, with_rows(args![lane * LEVELS], &rows)).await?;
    if let Some(first) = rows.iter().map(|row| row.ready_at).min() {
        tx.raise(Stage::Delivery, first);
    }
    Ok(Some(next))
}

#[derive(Record)]
struct Count {
    rows: i64,
}

// Relies on notifications_ready, a range of it for each channel.
const WAITING: Sql = sql!(
    "notifications.waiting_in_lane", as Count,
    "SELECT COUNT(*) AS rows FROM (
         SELECT seq FROM notifications
         WHERE status IN ('pending', 'retrying') AND lease_expires_at IS NULL AND channel IN ({texts $1})
           AND priority >= $2 AND priority < $3 AND ready_at <= $4
         LIMIT $5) AS waiting",
);

/// How many messages in the lane of a unit are due and wait for a call of one of these channels, up to `limit`.
#[boxed]
pub async fn waiting_in_lane(
    conn: &mut Conn<'_>,
    channels: &[String],
    lane: i64,
    now: Timestamp,
    limit: i64,
) -> Result<i64> {
    if channels.is_empty() {
        return Ok(0);
    }
    let all = args![channels.to_vec(), lane * LEVELS, (lane + 1) * LEVELS, now, limit];
    let count: Count = conn.fetch_one(&WAITING, all).await?;
    Ok(count.rows)
}

crate::db::statements![FOLLOWERS, MOVE, WAITING_FOR_HOURS, END_WAIT, OF_UNIT, JOIN_LANE, WAITING];

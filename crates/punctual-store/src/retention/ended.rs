//! Removes old rows other than messages and work: events, records of runs, deleted sources, surveys, tombstones.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args, sql};

#[derive(Record)]
struct Number {
    id: i64,
}

// In the order of their making; one of whose messages is still there stays. The offset keeps PostgreSQL from joining the whole
// of both tables.
const OLD_EVENTS: Sql = sql!(
    "retention.old_events",
    "SELECT e.id FROM outbox_events AS e
     WHERE e.id > $1 AND e.created_at < $2
       AND NOT EXISTS (SELECT 1 FROM outbox_deliveries AS d JOIN notifications AS n ON n.id = d.notification_id
                       WHERE d.event_id = e.id LIMIT 1 OFFSET 0)
     ORDER BY e.id LIMIT $3",
);

/// Events after a number that were published before this, and whose messages are gone.
#[boxed]
pub async fn old_events(conn: &mut Conn<'_>, after: i64, before: Timestamp, limit: i64) -> Result<Vec<i64>> {
    let rows: Vec<Number> = conn.fetch_all(&OLD_EVENTS, args![after, before, limit]).await?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}

const DELETE_DELIVERIES: Sql =
    sql!("retention.delete_deliveries", "DELETE FROM outbox_deliveries WHERE event_id IN ({ints $1})");
const DELETE_EVENTS: Sql =
    sql!("retention.delete_events", "DELETE FROM outbox_events WHERE id IN ({ints $1})");

/// Removes events and to whom they went.
#[boxed]
pub async fn delete_events(conn: &mut Conn<'_>, ids: Vec<i64>) -> Result<u64> {
    conn.execute(&DELETE_DELIVERIES, args![ids.clone()]).await?;
    conn.execute(&DELETE_EVENTS, args![ids]).await
}

// Relies on run_records_by_due.
const DELETE_RECORDS: Sql = sql!(
    "retention.delete_records",
    "DELETE FROM run_records WHERE {sqlite key IN (SELECT r.key}{postgres ctid = ANY(ARRAY(SELECT r.ctid}
         FROM run_records AS r
         WHERE r.workflow = $1 AND r.due_at < $2 AND r.decided_at < $2 AND NOT r.has_files
         ORDER BY r.due_at LIMIT $3){postgres )}",
);

/// Removes some records of runs of a workflow that were decided before this and have no files.
#[boxed]
pub async fn delete_records(
    conn: &mut Conn<'_>,
    workflow: &str,
    before: Timestamp,
    limit: i64,
) -> Result<u64> {
    conn.execute(&DELETE_RECORDS, args![workflow, before, limit]).await
}

/// A place in the order of a table that is walked.
#[derive(Clone, Debug, Default, PartialEq, Record)]
pub struct Place {
    pub at: i64,
    pub first: String,
    pub second: String,
}

// Relies on sources_changed. A source that changes again moves to the end.
const WALK_SOURCES: Sql = sql!(
    "retention.walk_sources", as Place,
    "SELECT updated_at AS at, source_type AS first, source_id AS second FROM sources
     WHERE (updated_at, source_type, source_id) > ($1, $2, $3) AND updated_at < $4
     ORDER BY updated_at, source_type, source_id LIMIT $5",
);
const STRIP_SOURCES: Sql = sql!(
    "retention.strip_sources",
    "UPDATE sources SET state = '{}', version = version + 1
     WHERE (updated_at, source_type, source_id) > ($1, $2, $3) AND (updated_at, source_type, source_id) <= ($4, $5, $6)
       AND deleted AND state <> '{}'",
);

/// Takes the states from those of the next sources after a place that are deleted; returns the last place, or nothing at
/// the end.
#[boxed]
pub async fn strip_sources(
    conn: &mut Conn<'_>,
    after: &Place,
    before: Timestamp,
    limit: i64,
) -> Result<Option<(Place, u64)>> {
    let Place { at, first, second } = after;
    let walked: Vec<Place> = conn.fetch_all(&WALK_SOURCES, args![*at, first, second, before, limit]).await?;
    let Some(last) = walked.into_iter().last() else { return Ok(None) };
    let bound = args![*at, first, second, last.at, last.first.clone(), last.second.clone()];
    let stripped = conn.execute(&STRIP_SOURCES, bound).await?;
    Ok(Some((last, stripped)))
}

/// An instance of a survey as the purge looks at it.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct EndedInstance {
    pub id: i64,
    pub public_id: String,
    pub triggered_at: Timestamp,
    /// Whether it has ended before the moment that was asked for and still names somebody.
    pub is_over: bool,
}

const INSTANCES: Sql = sql!(
    "retention.walk_instances", as EndedInstance,
    "SELECT id, public_id, triggered_at,
         (finished_at IS NOT NULL AND finished_at < $2 AND recipient_address <> '') AS is_over
     FROM survey_instances WHERE id > $1 AND id <= $4 ORDER BY id LIMIT $3",
);

/// The next instances after a number, up to another.
#[boxed]
pub async fn ended_instances(
    conn: &mut Conn<'_>,
    after: i64,
    up_to: i64,
    ended_before: Timestamp,
    limit: i64,
) -> Result<Vec<EndedInstance>> {
    conn.fetch_all(&INSTANCES, args![after, ended_before, limit, up_to]).await
}

/// A tombstone as the purge looks at it.
#[derive(Record)]
struct Tombstone {
    id: String,
    is_old: bool,
}

const OLD_TOMBSTONES: Sql = sql!(
    "retention.walk_tombstones", as Tombstone,
    "SELECT id, (purged_at < $2) AS is_old FROM tombstones WHERE id > $1 ORDER BY id LIMIT $3",
);

/// Of the next tombstones after an id those that are older than this, and the last id; nothing at the end.
#[boxed]
pub async fn old_tombstones(
    conn: &mut Conn<'_>,
    after: &str,
    before: Timestamp,
    limit: i64,
) -> Result<Option<(Vec<String>, String)>> {
    let rows: Vec<Tombstone> = conn.fetch_all(&OLD_TOMBSTONES, args![after, before, limit]).await?;
    let Some(last) = rows.last().map(|row| row.id.clone()) else { return Ok(None) };
    Ok(Some((rows.into_iter().filter(|row| row.is_old).map(|row| row.id).collect(), last)))
}

const DELETE_TOMBSTONES: Sql =
    sql!("retention.delete_tombstones", "DELETE FROM tombstones WHERE id IN ({texts $1})");

#[boxed]
pub async fn delete_tombstones(conn: &mut Conn<'_>, ids: Vec<String>) -> Result<u64> {
    conn.execute(&DELETE_TOMBSTONES, args![ids]).await
}

// There are few of both.
const PLANS: Sql =
    sql!("retention.plans", "DELETE FROM erasures WHERE status = 'planned' AND created_at < $1",);
const SUPPRESSIONS: Sql = sql!(
    "retention.suppressions",
    "DELETE FROM suppressions WHERE expires_at IS NOT NULL AND expires_at < $1",
);

/// Removes plans of erasures that were made before this and not carried out.
#[boxed]
pub async fn planned_erasures(conn: &mut Conn<'_>, before: Timestamp) -> Result<u64> {
    conn.execute(&PLANS, args![before]).await
}

/// Removes suppressions that ended before this.
#[boxed]
pub async fn expired_suppressions(conn: &mut Conn<'_>, before: Timestamp) -> Result<u64> {
    conn.execute(&SUPPRESSIONS, args![before]).await
}

crate::db::statements![
    OLD_EVENTS,
    DELETE_DELIVERIES,
    DELETE_EVENTS,
    DELETE_RECORDS,
    WALK_SOURCES,
    STRIP_SOURCES,
    INSTANCES,
    OLD_TOMBSTONES,
    DELETE_TOMBSTONES,
    PLANS,
    SUPPRESSIONS
];

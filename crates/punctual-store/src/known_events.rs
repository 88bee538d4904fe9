//! Events accepted from brokers, for deduplication: a broker redelivers a message if it has not seen the acknowledgement. Two
//! events are the same if source and id are the same, within the business unit of the sender.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

/// What distinguishes one event from another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Record, SetRow)]
pub struct EventName {
    pub source: String,
    pub event_id: String,
}

const REMEMBER: Sql = sql!(
    "known_events.remember", as EventName, each EventName, after 2,
    "INSERT INTO known_events (scope, {names}, received_at)
     {values $2, {*}, $1}
     ON CONFLICT (scope, source, event_id) DO NOTHING
     RETURNING {columns}",
);

/// Writes down distinct events, in order; returns those that were not known. Whoever comes second with one waits for the
/// transaction of the first.
#[boxed]
pub async fn remember(
    conn: &mut Conn<'_>,
    now: Timestamp,
    scope: &str,
    events: &[EventName],
) -> Result<Vec<EventName>> {
    conn.fetch_all(&REMEMBER, with_rows(args![now, scope], events)).await
}

const UNDO: Sql = sql!(
    "known_events.undo", each EventName, after 1,
    "DELETE FROM known_events {using rows}
     WHERE scope = $1 AND known_events.source = {.source} AND known_events.event_id = {.event_id}",
);

/// Takes back what was written down of events that were refused after all.
#[boxed]
pub async fn undo(conn: &mut Conn<'_>, scope: &str, events: &[EventName]) -> Result<u64> {
    conn.execute(&UNDO, with_rows(args![scope], events)).await
}

crate::db::statements![REMEMBER, UNDO];

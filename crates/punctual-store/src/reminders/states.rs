//! Threshold states: whether a metric of a source meets its threshold, written with the source.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use serde::{Deserialize, Serialize};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Record, SetRow)]
pub struct StateRow {
    pub setting_id: String,
    pub source_id: String,
    pub metric: String,
    pub scope: String,
    pub met: bool,
    /// How often it has gone from not met to met.
    pub crossing: i64,
    pub fired: bool,
    /// The value that was last seen, for people.
    pub value: Option<String>,
}

#[derive(SetRow)]
struct Pair<'a> {
    setting_id: &'a str,
    source_id: &'a str,
}

const OF: Sql = sql!(
    "reminder_states.of", as StateRow, each Pair<'_>, after 0,
    "SELECT {columns s} FROM reminder_states AS s {join rows}
     WHERE s.setting_id = {.setting_id} AND s.source_id = {.source_id}",
);

/// The states of these pairs of setting and source.
#[boxed]
pub async fn of(conn: &mut Conn<'_>, pairs: &[(&str, &str)]) -> Result<Vec<StateRow>> {
    let mut pairs: Vec<(&str, &str)> = pairs.to_vec();
    pairs.sort_unstable();
    pairs.dedup();
    let pairs: Vec<Pair<'_>> =
        pairs.into_iter().map(|(setting_id, source_id)| Pair { setting_id, source_id }).collect();
    conn.fetch_all(&OF, with_rows(args![], &pairs)).await
}

const PUT: Sql = sql!(
    "reminder_states.put", each StateRow, after 1,
    "INSERT INTO reminder_states ({names}, updated_at) {values {*}, $1}
     ON CONFLICT (setting_id, source_id, metric, scope) DO UPDATE SET {replaced 4}, updated_at = $1",
);

/// Writes states, each at most once in the set.
#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, rows: &[StateRow]) -> Result<u64> {
    if rows.is_empty() {
        return Ok(0);
    }
    let mut rows: Vec<&StateRow> = rows.iter().collect();
    rows.sort_by(|a, b| (&a.setting_id, &a.source_id).cmp(&(&b.setting_id, &b.source_id)));
    conn.execute(&PUT, with_rows(args![now], &rows)).await
}

#[derive(SetRow)]
struct Fired<'a> {
    setting_id: &'a str,
    source_id: &'a str,
    metric: &'a str,
    scope: &'a str,
}

const FIRE: Sql = sql!(
    "reminder_states.fire", each Fired<'_>, after 1,
    "UPDATE reminder_states SET fired = TRUE, updated_at = $1
     {from rows}
     WHERE reminder_states.setting_id = {.setting_id} AND reminder_states.source_id = {.source_id}
       AND reminder_states.metric = {.metric} AND reminder_states.scope = {.scope}",
);

/// Remembers that a reminder was sent: `(setting, source, metric, scope)`.
#[boxed]
pub async fn fire(
    conn: &mut Conn<'_>,
    now: Timestamp,
    fired: &[(String, String, String, String)],
) -> Result<u64> {
    let fired: Vec<Fired<'_>> = fired
        .iter()
        .map(|(setting_id, source_id, metric, scope)| Fired { setting_id, source_id, metric, scope })
        .collect();
    conn.execute(&FIRE, with_rows(args![now], &fired)).await
}

const MET: Sql = sql!(
    "reminder_states.met", as StateRow,
    "SELECT {columns}
     FROM reminder_states
     WHERE setting_id = $1 AND source_id > $2 AND met
     ORDER BY source_id
     LIMIT $3",
);

/// The sources of a setting whose measure meets its threshold, by id: for days without events.
#[boxed]
pub async fn met(conn: &mut Conn<'_>, setting_id: &str, after: &str, limit: i64) -> Result<Vec<StateRow>> {
    conn.fetch_all(&MET, args![setting_id, after, limit]).await
}

crate::db::statements![OF, PUT, FIRE, MET];

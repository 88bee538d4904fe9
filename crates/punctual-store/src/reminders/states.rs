//! Where a measure of a source stands to its threshold, written with the source.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};
use serde::{Deserialize, Serialize};

use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Record)]
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

macro_rules! of {
    ($which:literal) => {
        concat!(
            "SELECT s.setting_id, s.source_id, s.metric, s.scope, s.met, s.crossing, s.fired, s.value
     FROM reminder_states AS s ",
            $which
        )
    };
}
const OF: Sql = Sql::rows(
    "reminder_states.of",
    of!("WHERE s.setting_id = $1 AND s.source_id = $2"),
    of!("JOIN UNNEST($1::text[], $2::text[]) AS r(setting_id, source_id)
         ON s.setting_id = r.setting_id AND s.source_id = r.source_id"),
);

/// The states of these pairs of setting and source.
#[boxed]
pub async fn of(conn: &mut Conn<'_>, pairs: &[(&str, &str)]) -> Result<Vec<StateRow>> {
    let mut pairs = pairs.to_vec();
    pairs.sort_unstable();
    pairs.dedup();
    let (settings, sources): (Vec<&str>, Vec<&str>) = pairs.into_iter().unzip();
    conn.fetch_all(&OF, args![settings, sources]).await
}

macro_rules! put {
    ($values:literal) => {
        concat!(
            "
    INSERT INTO reminder_states (setting_id, source_id, metric, scope, met, crossing, fired, value, updated_at)
    ",
            $values,
            "
    ON CONFLICT (setting_id, source_id, metric, scope) DO UPDATE
    SET met = EXCLUDED.met, crossing = EXCLUDED.crossing, fired = EXCLUDED.fired, value = EXCLUDED.value,
        updated_at = EXCLUDED.updated_at"
        )
    };
}
const PUT: Sql = Sql::rows(
    "reminder_states.put",
    put!("VALUES ($2, $3, $4, $5, $6, $7, $8, $9, $1)"),
    put!("SELECT r.setting_id, r.source_id, r.metric, r.scope, r.met, r.crossing, r.fired, r.value, $1
    FROM UNNEST($2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::bigint[], $8::boolean[], $9::text[])
        AS r(setting_id, source_id, metric, scope, met, crossing, fired, value)"),
);

/// Writes states, each at most once in the set.
#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, rows: &[StateRow]) -> Result<u64> {
    if rows.is_empty() {
        return Ok(0);
    }
    let mut rows: Vec<&StateRow> = rows.iter().collect();
    rows.sort_by(|a, b| (&a.setting_id, &a.source_id).cmp(&(&b.setting_id, &b.source_id)));
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            rows.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    let bound = args![
        now,
        column!(|s| s.setting_id.as_str()),
        column!(|s| s.source_id.as_str()),
        column!(|s| s.metric.as_str()),
        column!(|s| s.scope.as_str()),
        column!(|s| s.met),
        column!(|s| s.crossing),
        column!(|s| s.fired),
        column!(|s| s.value.as_deref()),
    ];
    conn.execute(&PUT, bound).await
}

const FIRE: Sql = Sql::rows(
    "reminder_states.fire",
    "UPDATE reminder_states SET fired = TRUE, updated_at = $1
     WHERE setting_id = $2 AND source_id = $3 AND metric = $4 AND scope = $5",
    "UPDATE reminder_states SET fired = TRUE, updated_at = $1
     FROM UNNEST($2::text[], $3::text[], $4::text[], $5::text[]) AS r(setting_id, source_id, metric, scope)
     WHERE reminder_states.setting_id = r.setting_id AND reminder_states.source_id = r.source_id
       AND reminder_states.metric = r.metric AND reminder_states.scope = r.scope",
);

/// Remembers that a reminder went out: `(setting, source, metric, scope)`.
#[boxed]
pub async fn fire(
    conn: &mut Conn<'_>,
    now: Timestamp,
    fired: &[(String, String, String, String)],
) -> Result<u64> {
    macro_rules! column {
        ($n:tt) => {
            fired.iter().map(|row| row.$n.as_str()).collect::<Vec<_>>()
        };
    }
    conn.execute(&FIRE, args![now, column!(0), column!(1), column!(2), column!(3)]).await
}

const MET: Sql = Sql::same(
    "reminder_states.met",
    "SELECT setting_id, source_id, metric, scope, met, crossing, fired, value
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

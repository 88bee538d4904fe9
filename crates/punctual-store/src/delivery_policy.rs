//! The tables of the delivery policy: limiters, circuits, preferences, daily counts and digests.

pub mod circuits;
pub mod days;
pub mod digests;
pub mod limiters;
pub mod preferences;

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args, sql};
use circuits::CircuitKey;

/// The fact that holds the delivery policy of the installation.
pub const SETTINGS: &str = "delivery-policy";

/// One row of what a node must know before it claims; most installations have none.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct StandingRow {
    /// `settings`, `preferences` or `circuit`.
    pub what: String,
    pub key: String,
    /// The host of a circuit; empty where it is the channel's own.
    pub host: String,
    pub text: String,
    /// How many times in a row the circuit has opened.
    pub open_count: i64,
    pub opened_at: Timestamp,
    pub open_until: Timestamp,
    pub probe_until: Option<Timestamp>,
}

impl StandingRow {
    /// Whose circuit this row is.
    pub fn circuit_key(&self) -> CircuitKey {
        CircuitKey::stored(self.key.clone(), self.host.clone())
    }
}

// One statement for all of it, because every node runs it every second.
const STANDING: Sql = sql!(
    "delivery_policy.standing",
    "SELECT 'settings' AS what, name AS key, '' AS host, value AS text, 0 AS open_count, 0 AS opened_at, 0 AS open_until,
         CAST(NULL AS BIGINT) AS probe_until
     FROM facts WHERE name = 'delivery-policy'
     UNION ALL
     SELECT 'preferences', '', '', '', 0, 0, 0, CAST(NULL AS BIGINT) WHERE EXISTS (SELECT 1 FROM preferences)
     UNION ALL
     SELECT 'circuit', channel, host, last_error, open_count, opened_at, open_until, probe_until
     FROM circuits",
);

/// Returns the delivery policy, whether there are preferences, and the circuits.
#[boxed]
pub async fn standing(conn: &mut Conn<'_>) -> Result<Vec<StandingRow>> {
    conn.fetch_all(&STANDING, args![]).await
}

crate::db::statements![STANDING; circuits, days, digests, limiters, preferences];

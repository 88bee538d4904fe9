//! Circuits that are open or half open. A channel, or a host of it, whose circuit is closed has no row.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args, sql};

/// Circuits of hosts that are kept at most; those that opened longest ago go first.
pub const HOSTS_KEPT: usize = 1_000;

/// Whose circuit it is: a channel's, or that of one host that targets of a channel name themselves.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CircuitKey {
    pub channel: String,
    pub host: Option<String>,
}

impl CircuitKey {
    pub fn of_channel(channel: &str) -> Self {
        Self { channel: channel.to_owned(), host: None }
    }

    pub(crate) fn stored(channel: String, host: String) -> Self {
        Self { channel, host: Some(host).filter(|host| !host.is_empty()) }
    }

    fn host(&self) -> &str {
        self.host.as_deref().unwrap_or_default()
    }
}

const OPEN: Sql = sql!(
    "circuits.open",
    "INSERT INTO circuits (channel, host, open_count, opened_at, open_until, last_error)
     VALUES ($2, $3, 1, $1, $4, $5) ON CONFLICT (channel, host) DO NOTHING",
);

const TRIM: Sql = sql!(
    "circuits.trim",
    "DELETE FROM circuits WHERE (channel, host) IN (
         SELECT channel, host FROM circuits WHERE host <> '' ORDER BY open_until DESC, channel, host
         {sqlite LIMIT -1} OFFSET $1)",
);

/// Opens a closed circuit; an open one is not changed.
#[boxed]
pub async fn open(
    conn: &mut Conn<'_>,
    now: Timestamp,
    key: &CircuitKey,
    until: Timestamp,
    error: &str,
) -> Result<bool> {
    let opened = conn.execute(&OPEN, args![now, &key.channel, key.host(), until, error]).await? > 0;
    if opened && key.host.is_some() {
        conn.execute(&TRIM, args![i64::try_from(HOSTS_KEPT).unwrap_or(i64::MAX)]).await?;
    }
    Ok(opened)
}

const PROBE: Sql = sql!(
    "circuits.probe",
    "UPDATE circuits SET probe_until = $4
     WHERE channel = $2 AND host = $3 AND open_until <= $1 AND (probe_until IS NULL OR probe_until <= $1)",
);

/// Returns whether the caller, and no other node, may probe with one message.
#[boxed]
pub async fn probe(conn: &mut Conn<'_>, now: Timestamp, key: &CircuitKey, until: Timestamp) -> Result<bool> {
    Ok(conn.execute(&PROBE, args![now, &key.channel, key.host(), until]).await? > 0)
}

const REOPEN: Sql = sql!(
    "circuits.reopen",
    "UPDATE circuits SET open_count = $3, open_until = $4, probe_until = NULL, last_error = $5
     WHERE channel = $1 AND host = $2",
);

/// Opens the circuit again after a failed probe.
#[boxed]
pub async fn reopen(
    conn: &mut Conn<'_>,
    key: &CircuitKey,
    open_count: i64,
    until: Timestamp,
    error: &str,
) -> Result<bool> {
    Ok(conn.execute(&REOPEN, args![&key.channel, key.host(), open_count, until, error]).await? > 0)
}

const CLOSE: Sql = sql!("circuits.close", "DELETE FROM circuits WHERE channel = $1 AND host = $2");

/// Closes the circuit.
#[boxed]
pub async fn close(conn: &mut Conn<'_>, key: &CircuitKey) -> Result<bool> {
    Ok(conn.execute(&CLOSE, args![&key.channel, key.host()]).await? > 0)
}

const CLOSE_ALL: Sql = sql!("circuits.close_all", "DELETE FROM circuits WHERE channel = $1");

/// Closes the circuit of a channel and those of its hosts: it goes, has none from now on, or goes elsewhere.
#[boxed]
pub async fn close_all(conn: &mut Conn<'_>, channel: &str) -> Result<u64> {
    conn.execute(&CLOSE_ALL, args![channel]).await
}

#[derive(Record)]
struct Count {
    count: i64,
}

const COUNT: Sql = sql!("circuits.count", "SELECT COUNT(*) AS count FROM circuits");

/// How many are open or half open.
#[boxed]
pub async fn count(conn: &mut Conn<'_>) -> Result<i64> {
    let row: Count = conn.fetch_one(&COUNT, args![]).await?;
    Ok(row.count)
}

crate::db::statements![OPEN, TRIM, PROBE, REOPEN, CLOSE, CLOSE_ALL, COUNT];

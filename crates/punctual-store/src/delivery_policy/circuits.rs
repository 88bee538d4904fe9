//! Circuits that are open or half open. A channel whose circuit is closed has no row.
//!
//! Stored names: the column `rests` is the open count, `rests_until` is when the circuit becomes half open.

use jiff::Timestamp;
use punctual_boxed::boxed;

use crate::db::{Conn, Result, Sql, args, sql};

const OPEN: Sql = sql!(
    "circuits.open",
    "INSERT INTO circuits (channel, rests, opened_at, rests_until, last_error) VALUES ($2, 1, $1, $3, $4)
     ON CONFLICT (channel) DO NOTHING",
);

/// Opens a closed circuit; an open one is not changed.
#[boxed]
pub async fn open(
    conn: &mut Conn<'_>,
    now: Timestamp,
    channel: &str,
    until: Timestamp,
    error: &str,
) -> Result<bool> {
    Ok(conn.execute(&OPEN, args![now, channel, until, error]).await? > 0)
}

const PROBE: Sql = sql!(
    "circuits.probe",
    "UPDATE circuits SET probe_until = $3
     WHERE channel = $2 AND rests_until <= $1 AND (probe_until IS NULL OR probe_until <= $1)",
);

/// Returns whether the caller, and no other node, may probe the channel with one message.
#[boxed]
pub async fn probe(conn: &mut Conn<'_>, now: Timestamp, channel: &str, until: Timestamp) -> Result<bool> {
    Ok(conn.execute(&PROBE, args![now, channel, until]).await? > 0)
}

const REOPEN: Sql = sql!(
    "circuits.rest",
    "UPDATE circuits SET rests = $2, rests_until = $3, probe_until = NULL, last_error = $4 WHERE channel = $1",
);

/// Opens the circuit again after a failed probe.
#[boxed]
pub async fn reopen(
    conn: &mut Conn<'_>,
    channel: &str,
    open_count: i64,
    until: Timestamp,
    error: &str,
) -> Result<bool> {
    Ok(conn.execute(&REOPEN, args![channel, open_count, until, error]).await? > 0)
}

const CLOSE: Sql = sql!("circuits.close", "DELETE FROM circuits WHERE channel = $1");

/// Closes the circuit.
#[boxed]
pub async fn close(conn: &mut Conn<'_>, channel: &str) -> Result<bool> {
    Ok(conn.execute(&CLOSE, args![channel]).await? > 0)
}

crate::db::statements![OPEN, PROBE, REOPEN, CLOSE];

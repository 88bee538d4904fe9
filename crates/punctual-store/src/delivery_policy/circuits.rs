//! Circuits: channels that rest because they did not work. A channel that works has no row.

use jiff::Timestamp;
use punctual_boxed::boxed;

use crate::db::{Conn, Result, Sql, args};

const OPEN: Sql = Sql::same(
    "circuits.open",
    "INSERT INTO circuits (channel, rests, opened_at, rests_until, last_error) VALUES ($2, 1, $1, $3, $4)
     ON CONFLICT (channel) DO NOTHING",
);

/// A channel that worked until now rests; nothing is changed where it rests already.
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

const PROBE: Sql = Sql::same(
    "circuits.probe",
    "UPDATE circuits SET probe_until = $3
     WHERE channel = $2 AND rests_until <= $1 AND (probe_until IS NULL OR probe_until <= $1)",
);

/// Whether the caller, and nobody else, may try with one message whether the channel works again.
#[boxed]
pub async fn probe(conn: &mut Conn<'_>, now: Timestamp, channel: &str, until: Timestamp) -> Result<bool> {
    Ok(conn.execute(&PROBE, args![now, channel, until]).await? > 0)
}

const REST: Sql = Sql::same(
    "circuits.rest",
    "UPDATE circuits SET rests = $2, rests_until = $3, probe_until = NULL, last_error = $4 WHERE channel = $1",
);

/// The channel still does not work: the rest of this number begins.
#[boxed]
pub async fn rest(
    conn: &mut Conn<'_>,
    channel: &str,
    rests: i64,
    until: Timestamp,
    error: &str,
) -> Result<bool> {
    Ok(conn.execute(&REST, args![channel, rests, until, error]).await? > 0)
}

const CLOSE: Sql = Sql::same("circuits.close", "DELETE FROM circuits WHERE channel = $1");

/// The channel works.
#[boxed]
pub async fn close(conn: &mut Conn<'_>, channel: &str) -> Result<bool> {
    Ok(conn.execute(&CLOSE, args![channel]).await? > 0)
}

crate::db::statements![OPEN, PROBE, REST, CLOSE];

//! The database's clock. Nodes that share a database follow it; this is the one statement that asks for the time.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

#[derive(Record)]
struct Now {
    now: i64,
}

// A SQLite file has no clock and only one node.
const NOW: Sql = Sql::each(
    "database_clock.now",
    "SELECT 0 AS now",
    "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT) AS now",
);

/// What time the database has, to the microsecond.
#[boxed]
pub async fn now(conn: &mut Conn<'_>) -> Result<Timestamp> {
    let row: Now = conn.fetch_one(&NOW, args![]).await?;
    Ok(Timestamp::from_microsecond(row.now).unwrap_or_default())
}

crate::db::statements![NOW];

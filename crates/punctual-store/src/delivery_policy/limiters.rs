//! Limiters: the slots that sends have taken. A limiter is locked before it is changed, so limits hold across nodes.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, PartialEq, Record, SetRow)]
pub struct LimiterRow {
    pub key: String,
    /// As the model writes it.
    pub state: String,
}

#[derive(SetRow)]
struct NewLimiter<'a> {
    key: &'a str,
}

const LOCK: Sql = sql!(
    "limiters.lock", as LimiterRow,
    "SELECT {columns} FROM limiters WHERE key IN ({texts $1}) ORDER BY key{postgres  FOR UPDATE}",
);
const READ: Sql = sql!(
    "limiters.read", as LimiterRow,
    "SELECT {columns} FROM limiters WHERE key IN ({texts $1}) ORDER BY key",
);
const MAKE: Sql = sql!(
    "limiters.make", each NewLimiter<'_>, after 1,
    "INSERT INTO limiters ({names}, state, updated_at) {values {*}, '[]', $1}{postgres  ORDER BY r.key}
     ON CONFLICT (key) DO NOTHING",
);

/// The limiters of these keys, made where they are missing, and locked in their order until the transaction ends.
#[boxed]
pub async fn lock(conn: &mut Conn<'_>, now: Timestamp, keys: Vec<String>) -> Result<Vec<LimiterRow>> {
    let rows: Vec<LimiterRow> = conn.fetch_all(&LOCK, args![keys.clone()]).await?;
    if rows.len() == keys.len() {
        return Ok(rows);
    }
    let new: Vec<NewLimiter<'_>> = keys.iter().map(|key| NewLimiter { key }).collect();
    conn.execute(&MAKE, with_rows(args![now], &new)).await?;
    conn.fetch_all(&LOCK, args![keys]).await
}

/// The limiters of these keys, not locked.
#[boxed]
pub async fn read(conn: &mut Conn<'_>, keys: Vec<String>) -> Result<Vec<LimiterRow>> {
    conn.fetch_all(&READ, args![keys]).await
}

const PUT: Sql = sql!(
    "limiters.put", each LimiterRow, after 1,
    "UPDATE limiters SET state = {.state}, updated_at = $1 {from rows} WHERE limiters.key = {.key}",
);

/// Writes limiters that this transaction has locked.
#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, rows: &[LimiterRow]) -> Result<()> {
    conn.execute(&PUT, with_rows(args![now], rows)).await?;
    Ok(())
}

crate::db::statements![LOCK, READ, MAKE, PUT];

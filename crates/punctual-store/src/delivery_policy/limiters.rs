//! Limiters: the slots that sends have taken. A limiter is locked before it is changed, so limits hold across nodes.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct LimiterRow {
    pub key: String,
    /// As the model writes it.
    pub state: String,
}

macro_rules! locked {
    ($keys:literal, $lock:literal) => {
        concat!(
            "
    SELECT key, state FROM limiters WHERE key IN (",
            $keys,
            ") ORDER BY key",
            $lock
        )
    };
}
const LOCK: Sql = Sql::each(
    "limiters.lock",
    locked!("SELECT value FROM json_each($1)", ""),
    locked!("SELECT UNNEST($1::text[])", " FOR UPDATE"),
);
const READ: Sql = Sql::each(
    "limiters.read",
    locked!("SELECT value FROM json_each($1)", ""),
    locked!("SELECT UNNEST($1::text[])", ""),
);
const MAKE: Sql = Sql::rows(
    "limiters.make",
    "INSERT INTO limiters (key, state, updated_at) VALUES ($2, '[]', $1) ON CONFLICT (key) DO NOTHING",
    "INSERT INTO limiters (key, state, updated_at) SELECT r.key, '[]', $1 FROM UNNEST($2::text[]) AS r(key) ORDER BY r.key
     ON CONFLICT (key) DO NOTHING",
);

/// The limiters of these keys, made where they are missing, and locked in their order until the transaction ends.
#[boxed]
pub async fn lock(conn: &mut Conn<'_>, now: Timestamp, keys: Vec<String>) -> Result<Vec<LimiterRow>> {
    let rows: Vec<LimiterRow> = conn.fetch_all(&LOCK, args![keys.clone()]).await?;
    if rows.len() == keys.len() {
        return Ok(rows);
    }
    conn.execute(&MAKE, args![now, keys.clone()]).await?;
    conn.fetch_all(&LOCK, args![keys]).await
}

/// The limiters of these keys as they stand, for those who only look.
#[boxed]
pub async fn read(conn: &mut Conn<'_>, keys: Vec<String>) -> Result<Vec<LimiterRow>> {
    conn.fetch_all(&READ, args![keys]).await
}

const PUT: Sql = Sql::rows(
    "limiters.put",
    "UPDATE limiters SET state = $3, updated_at = $1 WHERE key = $2",
    "UPDATE limiters SET state = r.state, updated_at = $1
     FROM UNNEST($2::text[], $3::text[]) AS r(key, state) WHERE limiters.key = r.key",
);

/// Writes limiters that this transaction has locked.
#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, rows: &[LimiterRow]) -> Result<()> {
    let keys: Vec<&str> = rows.iter().map(|row| row.key.as_str()).collect();
    let states: Vec<&str> = rows.iter().map(|row| row.state.as_str()).collect();
    conn.execute(&PUT, args![now, keys, states]).await?;
    Ok(())
}

crate::db::statements![LOCK, READ, MAKE, PUT];

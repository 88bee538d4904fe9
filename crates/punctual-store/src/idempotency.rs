//! Answers already given to requests that carried an idempotency key.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args, sql};

/// The answer that a key got before.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct Answered {
    pub digest: String,
    pub status: i64,
    pub body: String,
}

const FIND: Sql = sql!(
    "idempotency.find", as Answered,
    "SELECT {columns} FROM idempotency_keys WHERE owner = $1 AND key = $2",
);

#[boxed]
pub async fn find(conn: &mut Conn<'_>, owner: &str, key: &str) -> Result<Option<Answered>> {
    conn.fetch_optional(&FIND, args![owner, key]).await
}

const REMEMBER: Sql = sql!(
    "idempotency.remember",
    "INSERT INTO idempotency_keys (owner, key, digest, status, body, created_at) VALUES ($2, $3, $4, $5, $6, $1)
     ON CONFLICT (owner, key) DO NOTHING",
);

/// Keeps an answer; the first one stays.
#[boxed]
pub async fn remember(
    conn: &mut Conn<'_>,
    now: Timestamp,
    owner: &str,
    key: &str,
    answer: &Answered,
) -> Result<()> {
    let Answered { digest, status, body } = answer;
    conn.execute(&REMEMBER, args![now, owner, key, digest, *status, body]).await?;
    Ok(())
}

crate::db::statements![FIND, REMEMBER];

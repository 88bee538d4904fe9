//! Who is signed in to the console, and the links that sign in once. Only hashes of secrets are stored.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args, sql};

/// A session with its key, as both are now.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct SessionRow {
    pub key_id: String,
    pub last_used_at: i64,
    pub expires_at: i64,
    pub key_name: String,
    /// Scopes separated by spaces.
    pub scopes: String,
    /// A JSON array of business units, where the key is limited to some.
    pub business_units: Option<String>,
    pub key_expires_at: Option<i64>,
    pub key_revoked_at: Option<i64>,
}

const INSERT: Sql = sql!(
    "sessions.insert",
    "INSERT INTO sessions (hash, key_id, created_at, last_used_at, expires_at) VALUES ($2, $3, $1, $1, $4)",
);

/// Keeps a new session.
#[boxed]
pub async fn insert(
    conn: &mut Conn<'_>,
    now: Timestamp,
    hash: &str,
    key_id: &str,
    expires_at: Timestamp,
) -> Result<()> {
    conn.execute(&INSERT, args![now, hash, key_id, expires_at]).await?;
    Ok(())
}

const BY_HASH: Sql = sql!(
    "sessions.by_hash",
    "SELECT s.key_id, s.last_used_at, s.expires_at, k.name AS key_name, k.scopes, k.business_units,
            k.expires_at AS key_expires_at, k.revoked_at AS key_revoked_at
     FROM sessions s JOIN api_keys k ON k.id = s.key_id
     WHERE s.hash = $1",
);

#[boxed]
pub async fn by_hash(conn: &mut Conn<'_>, hash: &str) -> Result<Option<SessionRow>> {
    conn.fetch_optional(&BY_HASH, args![hash]).await
}

const TOUCH: Sql = sql!("sessions.touch", "UPDATE sessions SET last_used_at = $1 WHERE hash = $2");

/// Remembers, coarsely, when a session was last used.
#[boxed]
pub async fn touch(conn: &mut Conn<'_>, now: Timestamp, hash: &str) -> Result<()> {
    conn.execute(&TOUCH, args![now, hash]).await?;
    Ok(())
}

const DELETE: Sql = sql!("sessions.delete", "DELETE FROM sessions WHERE hash = $1");

/// Ends a session.
#[boxed]
pub async fn delete(conn: &mut Conn<'_>, hash: &str) -> Result<()> {
    conn.execute(&DELETE, args![hash]).await?;
    Ok(())
}

const FORGET: Sql = sql!(
    "sessions.forget",
    "DELETE
     FROM sessions
     WHERE hash IN (SELECT hash
     FROM sessions
     WHERE expires_at <= $1
     ORDER BY expires_at LIMIT 500)",
);
const FORGET_LINKS: Sql = sql!("sign_in_links.forget", "DELETE FROM sign_in_links WHERE expires_at <= $1");

/// Removes what has run out.
#[boxed]
pub async fn forget(conn: &mut Conn<'_>, now: Timestamp) -> Result<()> {
    conn.execute(&FORGET, args![now]).await?;
    conn.execute(&FORGET_LINKS, args![now]).await?;
    Ok(())
}

const INSERT_LINK: Sql = sql!(
    "sign_in_links.insert",
    "INSERT INTO sign_in_links (hash, key_id, created_at, expires_at) VALUES ($2, $3, $1, $4)",
);

/// Keeps a link that signs in as this key, once, until it runs out.
#[boxed]
pub async fn insert_link(
    conn: &mut Conn<'_>,
    now: Timestamp,
    hash: &str,
    key_id: &str,
    expires_at: Timestamp,
) -> Result<()> {
    conn.execute(&INSERT_LINK, args![now, hash, key_id, expires_at]).await?;
    Ok(())
}

#[derive(Record)]
struct Link {
    key_id: String,
}

const TAKE_LINK: Sql = sql!(
    "sign_in_links.take",
    "DELETE FROM sign_in_links WHERE hash = $2 AND expires_at > $1 RETURNING key_id",
);

/// Uses a link up; the key it signs in as, or `None` where there is no such link (any more).
#[boxed]
pub async fn take_link(conn: &mut Conn<'_>, now: Timestamp, hash: &str) -> Result<Option<String>> {
    let link: Option<Link> = conn.fetch_optional(&TAKE_LINK, args![now, hash]).await?;
    Ok(link.map(|link| link.key_id))
}

crate::db::statements![INSERT, BY_HASH, TOUCH, DELETE, FORGET, FORGET_LINKS, INSERT_LINK, TAKE_LINK];

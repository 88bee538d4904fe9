//! Console sessions and one-time sign-in links. Only hashes of secrets are stored.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args, sql};

/// Whose a session is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    Key(String),
    User(String),
}

impl Owner {
    /// The two columns, of which one is filled in.
    fn columns(&self) -> (Option<&str>, Option<&str>) {
        match self {
            Self::Key(id) => (Some(id), None),
            Self::User(id) => (None, Some(id)),
        }
    }
}

/// A session with its key or its person, as both are now.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct SessionRow {
    pub last_used_at: Timestamp,
    pub expires_at: Timestamp,
    pub key_id: Option<String>,
    pub key_name: Option<String>,
    /// Scopes separated by spaces.
    pub key_scopes: Option<String>,
    /// A JSON array of business units, where the key is limited to some.
    pub key_units: Option<String>,
    pub key_expires_at: Option<Timestamp>,
    pub key_revoked_at: Option<Timestamp>,
    pub user_id: Option<String>,
    pub email: Option<String>,
    pub user_name: Option<String>,
    pub role: Option<String>,
    /// The same for the person.
    pub user_units: Option<String>,
    pub active: Option<bool>,
}

const INSERT: Sql = sql!(
    "sessions.insert",
    "INSERT INTO sessions (hash, key_id, user_id, device, created_at, last_used_at, expires_at)
     VALUES ($2, $3, $4, $5, $1, $1, $6)",
);

/// Keeps a new session.
#[boxed]
pub async fn insert(
    conn: &mut Conn<'_>,
    now: Timestamp,
    hash: &str,
    owner: &Owner,
    device: Option<&str>,
    expires_at: Timestamp,
) -> Result<()> {
    let (key, user) = owner.columns();
    conn.execute(&INSERT, args![now, hash, key, user, device, expires_at]).await?;
    Ok(())
}

const BY_HASH: Sql = sql!(
    "sessions.by_hash",
    "SELECT s.last_used_at, s.expires_at, k.id AS key_id, k.name AS key_name, k.scopes AS key_scopes,
            k.business_units AS key_units, k.expires_at AS key_expires_at, k.revoked_at AS key_revoked_at,
            u.id AS user_id, u.email, u.name AS user_name, u.role, u.business_units AS user_units, u.active
     FROM sessions s
     LEFT JOIN api_keys k ON k.id = s.key_id
     LEFT JOIN users u ON u.id = s.user_id
     WHERE s.hash = $1",
);

#[boxed]
pub async fn by_hash(conn: &mut Conn<'_>, hash: &str) -> Result<Option<SessionRow>> {
    conn.fetch_optional(&BY_HASH, args![hash]).await
}

/// A session as its owner sees it.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct OpenSession {
    pub hash: String,
    pub device: Option<String>,
    pub created_at: Timestamp,
    pub last_used_at: Timestamp,
    pub expires_at: Timestamp,
}

const OF_OWNER: Sql = sql!(
    "sessions.of_owner", as OpenSession,
    "SELECT {columns} FROM sessions
     WHERE (key_id = $2 OR user_id = $3) AND expires_at > $1
     ORDER BY last_used_at DESC, hash LIMIT $4",
);

/// The sessions of a key or a person, the last used one first.
#[boxed]
pub async fn of_owner(
    conn: &mut Conn<'_>,
    now: Timestamp,
    owner: &Owner,
    limit: i64,
) -> Result<Vec<OpenSession>> {
    let (key, user) = owner.columns();
    conn.fetch_all(&OF_OWNER, args![now, key, user, limit]).await
}

const DELETE_ONE_OF: Sql =
    sql!("sessions.delete_one_of", "DELETE FROM sessions WHERE hash = $3 AND (key_id = $1 OR user_id = $2)",);

/// Ends one session of this owner; false if it does not exist.
#[boxed]
pub async fn delete_one_of(conn: &mut Conn<'_>, owner: &Owner, hash: &str) -> Result<bool> {
    let (key, user) = owner.columns();
    Ok(conn.execute(&DELETE_ONE_OF, args![key, user, hash]).await? > 0)
}

const DELETE_ALL_OF: Sql = sql!(
    "sessions.delete_all_of",
    "DELETE FROM sessions WHERE (key_id = $1 OR user_id = $2) AND hash <> $3",
);

/// Ends every session of this owner but the one with this hash, and returns how many that were.
#[boxed]
pub async fn delete_all_of(conn: &mut Conn<'_>, owner: &Owner, but: &str) -> Result<u64> {
    let (key, user) = owner.columns();
    conn.execute(&DELETE_ALL_OF, args![key, user, but]).await
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

crate::db::statements![
    INSERT,
    BY_HASH,
    OF_OWNER,
    DELETE_ONE_OF,
    DELETE_ALL_OF,
    TOUCH,
    DELETE,
    FORGET,
    FORGET_LINKS,
    INSERT_LINK,
    TAKE_LINK
];

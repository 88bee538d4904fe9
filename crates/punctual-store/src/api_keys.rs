//! API keys: who may do what. Only the hash of a secret is stored.

use std::slice;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, PartialEq, Record, SetRow)]
pub struct ApiKeyRow {
    pub id: String,
    pub name: String,
    pub secret_hash: String,
    /// Scopes separated by spaces.
    pub scopes: String,
    /// A JSON array of business units, where the key is limited to some.
    pub business_units: Option<String>,
    #[column(skip)]
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    #[column(skip)]
    pub revoked_at: Option<Timestamp>,
    #[column(skip)]
    pub last_used_at: Option<Timestamp>,
    /// The site whose token it is.
    pub site: Option<String>,
}

const INSERT: Sql = sql!(
    "api_keys.insert", each ApiKeyRow, after 1,
    "INSERT INTO api_keys ({names}, created_at) {values {*}, $1} ON CONFLICT DO NOTHING",
);

/// Keeps a new key; false if its id or secret is already there.
#[boxed]
pub async fn insert(conn: &mut Conn<'_>, now: Timestamp, key: &ApiKeyRow) -> Result<bool> {
    Ok(conn.execute(&INSERT, with_rows(args![now], slice::from_ref(key))).await? > 0)
}

const BY_HASH: Sql =
    sql!("api_keys.by_hash", as ApiKeyRow, "SELECT {columns} FROM api_keys WHERE secret_hash = $1");

#[boxed]
pub async fn by_hash(conn: &mut Conn<'_>, secret_hash: &str) -> Result<Option<ApiKeyRow>> {
    conn.fetch_optional(&BY_HASH, args![secret_hash]).await
}

const ALL: Sql = sql!("api_keys.all", as ApiKeyRow, "SELECT {columns} FROM api_keys ORDER BY created_at, id");

#[boxed]
pub async fn all(conn: &mut Conn<'_>) -> Result<Vec<ApiKeyRow>> {
    conn.fetch_all(&ALL, args![]).await
}

const REVOKE: Sql =
    sql!("api_keys.revoke", "UPDATE api_keys SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL");

/// Ends a key; false if there is none of that id that is still good.
#[boxed]
pub async fn revoke(conn: &mut Conn<'_>, now: Timestamp, id: &str) -> Result<bool> {
    Ok(conn.execute(&REVOKE, args![now, id]).await? > 0)
}

const END_OF_SITE: Sql = sql!(
    "api_keys.end_of_site",
    "UPDATE api_keys SET expires_at = $1
     WHERE site = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1)",
);

/// From this instant on no token that the site has now is taken.
#[boxed]
pub async fn end_of_site(conn: &mut Conn<'_>, at: Timestamp, site: &str) -> Result<()> {
    conn.execute(&END_OF_SITE, args![at, site]).await?;
    Ok(())
}

const REVOKE_OF_SITE: Sql = sql!(
    "api_keys.revoke_of_site",
    "UPDATE api_keys SET revoked_at = $1 WHERE site = $2 AND revoked_at IS NULL",
);

/// Ends every token of a site at once.
#[boxed]
pub async fn revoke_of_site(conn: &mut Conn<'_>, now: Timestamp, site: &str) -> Result<()> {
    conn.execute(&REVOKE_OF_SITE, args![now, site]).await?;
    Ok(())
}

const TOUCH: Sql = sql!("api_keys.touch", "UPDATE api_keys SET last_used_at = $1 WHERE id = $2");

/// Remembers, coarsely, when a key was last used.
#[boxed]
pub async fn touch(conn: &mut Conn<'_>, now: Timestamp, id: &str) -> Result<()> {
    conn.execute(&TOUCH, args![now, id]).await?;
    Ok(())
}

const BY_ID: Sql = sql!("api_keys.by_id", as ApiKeyRow, "SELECT {columns} FROM api_keys WHERE id = $1");

#[boxed]
pub async fn by_id(conn: &mut Conn<'_>, id: &str) -> Result<Option<ApiKeyRow>> {
    conn.fetch_optional(&BY_ID, args![id]).await
}

crate::db::statements![INSERT, BY_HASH, ALL, REVOKE, END_OF_SITE, REVOKE_OF_SITE, TOUCH, BY_ID];

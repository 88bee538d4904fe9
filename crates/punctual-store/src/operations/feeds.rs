//! Secret links to calendars. The secret itself is never stored, only its SHA-256.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct FeedRow {
    /// `organisation` or `person`.
    pub owner_type: String,
    pub owner_id: String,
    pub secret_hash: String,
    pub business_unit: Option<String>,
    pub created_at: i64,
}

const PUT: Sql = Sql::same(
    "operations_feeds.put",
    "INSERT INTO operations_feeds (owner_type, owner_id, secret_hash, business_unit, created_at)
     VALUES ($2, $3, $4, $5, $1)
     ON CONFLICT (owner_type, owner_id) DO UPDATE SET secret_hash = EXCLUDED.secret_hash,
         business_unit = EXCLUDED.business_unit, created_at = EXCLUDED.created_at",
);

/// Makes the link of an owner; one that was there before stops working.
#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, feed: &FeedRow) -> Result<()> {
    let f = feed.clone();
    conn.execute(&PUT, args![now, f.owner_type, f.owner_id, f.secret_hash, f.business_unit]).await?;
    Ok(())
}

const BY_HASH: Sql = Sql::same(
    "operations_feeds.by_hash",
    "SELECT owner_type, owner_id, secret_hash, business_unit, created_at
     FROM operations_feeds WHERE secret_hash = $1",
);

#[boxed]
pub async fn by_hash(conn: &mut Conn<'_>, secret_hash: &str) -> Result<Option<FeedRow>> {
    conn.fetch_optional(&BY_HASH, args![secret_hash]).await
}

const OF: Sql = Sql::same(
    "operations_feeds.of",
    "SELECT owner_type, owner_id, secret_hash, business_unit, created_at
     FROM operations_feeds WHERE owner_type = $1 AND owner_id = $2",
);

#[boxed]
pub async fn of(conn: &mut Conn<'_>, owner_type: &str, owner_id: &str) -> Result<Option<FeedRow>> {
    conn.fetch_optional(&OF, args![owner_type, owner_id]).await
}

const DELETE: Sql = Sql::same(
    "operations_feeds.delete",
    "DELETE FROM operations_feeds WHERE owner_type = $1 AND owner_id = $2",
);

#[boxed]
pub async fn delete(conn: &mut Conn<'_>, owner_type: &str, owner_id: &str) -> Result<bool> {
    Ok(conn.execute(&DELETE, args![owner_type, owner_id]).await? > 0)
}

crate::db::statements![PUT, BY_HASH, OF, DELETE];

//! Secret links to calendars. The secret itself is never stored, only its SHA-256.

use std::slice;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, PartialEq, Record, SetRow)]
pub struct FeedRow {
    /// `organisation` or `person`.
    pub owner_type: String,
    pub owner_id: String,
    pub secret_hash: String,
    pub business_unit: Option<String>,
    #[column(skip)]
    pub created_at: Timestamp,
}

const PUT: Sql = sql!(
    "operations_feeds.put", each FeedRow, after 1,
    "INSERT INTO operations_feeds ({names}, created_at) {values {*}, $1}
     ON CONFLICT (owner_type, owner_id) DO UPDATE SET {replaced 2}, created_at = $1",
);

/// Makes the link of an owner; one that was there before stops working.
#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, feed: &FeedRow) -> Result<()> {
    conn.execute(&PUT, with_rows(args![now], slice::from_ref(feed))).await?;
    Ok(())
}

const BY_HASH: Sql = sql!(
    "operations_feeds.by_hash", as FeedRow,
    "SELECT {columns}
     FROM operations_feeds WHERE secret_hash = $1",
);

#[boxed]
pub async fn by_hash(conn: &mut Conn<'_>, secret_hash: &str) -> Result<Option<FeedRow>> {
    conn.fetch_optional(&BY_HASH, args![secret_hash]).await
}

const OF: Sql = sql!(
    "operations_feeds.of", as FeedRow,
    "SELECT {columns}
     FROM operations_feeds WHERE owner_type = $1 AND owner_id = $2",
);

#[boxed]
pub async fn of(conn: &mut Conn<'_>, owner_type: &str, owner_id: &str) -> Result<Option<FeedRow>> {
    conn.fetch_optional(&OF, args![owner_type, owner_id]).await
}

const DELETE: Sql =
    sql!("operations_feeds.delete", "DELETE FROM operations_feeds WHERE owner_type = $1 AND owner_id = $2");

#[boxed]
pub async fn delete(conn: &mut Conn<'_>, owner_type: &str, owner_id: &str) -> Result<bool> {
    Ok(conn.execute(&DELETE, args![owner_type, owner_id]).await? > 0)
}

crate::db::statements![PUT, BY_HASH, OF, DELETE];

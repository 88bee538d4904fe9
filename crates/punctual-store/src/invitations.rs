//! One-time links to set a password. Only the hash of a link is stored.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args, sql};

const REPLACED: Sql = sql!("invitations.replaced", "DELETE FROM invitations WHERE user_id = $1");
const INSERT: Sql = sql!(
    "invitations.insert",
    "INSERT INTO invitations (hash, user_id, created_at, expires_at) VALUES ($2, $3, $1, $4)",
);

/// Keeps a link for this person until it runs out. An earlier one of theirs ends.
#[boxed]
pub async fn put(
    conn: &mut Conn<'_>,
    now: Timestamp,
    hash: &str,
    user_id: &str,
    expires_at: Timestamp,
) -> Result<()> {
    delete_of(conn, user_id).await?;
    conn.execute(&INSERT, args![now, hash, user_id, expires_at]).await?;
    Ok(())
}

/// Ends every link of this person.
#[boxed]
pub async fn delete_of(conn: &mut Conn<'_>, user_id: &str) -> Result<()> {
    conn.execute(&REPLACED, args![user_id]).await?;
    Ok(())
}

#[derive(Record)]
struct Invited {
    user_id: String,
}

const FIND: Sql =
    sql!("invitations.find", "SELECT user_id FROM invitations WHERE hash = $2 AND expires_at > $1");

/// Whose link this is, without using it up.
#[boxed]
pub async fn find(conn: &mut Conn<'_>, now: Timestamp, hash: &str) -> Result<Option<String>> {
    let found: Option<Invited> = conn.fetch_optional(&FIND, args![now, hash]).await?;
    Ok(found.map(|found| found.user_id))
}

const TAKE: Sql =
    sql!("invitations.take", "DELETE FROM invitations WHERE hash = $2 AND expires_at > $1 RETURNING user_id");

/// Uses a link up; whose it was, or `None` where there is no such link (any more).
#[boxed]
pub async fn take(conn: &mut Conn<'_>, now: Timestamp, hash: &str) -> Result<Option<String>> {
    let found: Option<Invited> = conn.fetch_optional(&TAKE, args![now, hash]).await?;
    Ok(found.map(|found| found.user_id))
}

const FORGET: Sql = sql!("invitations.forget", "DELETE FROM invitations WHERE expires_at <= $1");

/// Removes what has run out.
#[boxed]
pub async fn forget(conn: &mut Conn<'_>, now: Timestamp) -> Result<()> {
    conn.execute(&FORGET, args![now]).await?;
    Ok(())
}

crate::db::statements![REPLACED, INSERT, FIND, TAKE, FORGET];

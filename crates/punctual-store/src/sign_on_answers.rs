//! Used responses of the single sign-on: each signs in only once.

use jiff::Timestamp;
use punctual_boxed::boxed;

use crate::db::{Conn, Result, Sql, args, sql};

const FORGET: Sql = sql!("sign_on_answers.forget", "DELETE FROM sign_on_answers WHERE expires_at <= $1");
const USE: Sql = sql!(
    "sign_on_answers.use",
    "INSERT INTO sign_on_answers (hash, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING",
);

/// Marks an answer as used until it is no longer good in any case; false if it was used before. What has run out is
/// removed.
#[boxed]
pub async fn use_once(
    conn: &mut Conn<'_>,
    now: Timestamp,
    hash: &str,
    expires_at: Timestamp,
) -> Result<bool> {
    forget(conn, now).await?;
    Ok(conn.execute(&USE, args![hash, expires_at]).await? > 0)
}

/// Removes what has run out.
#[boxed]
pub async fn forget(conn: &mut Conn<'_>, now: Timestamp) -> Result<()> {
    conn.execute(&FORGET, args![now]).await?;
    Ok(())
}

crate::db::statements![FORGET, USE];

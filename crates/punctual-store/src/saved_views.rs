//! Saved filters of the console's lists; each is visible only to its owner.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::{
    db::{Conn, Result, Sql, args, sql},
    sessions::Owner,
};

/// A list as somebody wants to see it again.
#[derive(Clone, Debug, PartialEq, Eq, Record)]
pub struct SavedViewRow {
    pub name: String,
    /// The parameters of its address: a JSON array of pairs.
    pub pairs: String,
}

const PUT: Sql = sql!(
    "saved_views.put",
    "INSERT INTO saved_views (owner, page, name, pairs, saved_at) VALUES ($2, $3, $4, $5, $1)
     ON CONFLICT (owner, page, name) DO UPDATE SET pairs = EXCLUDED.pairs, saved_at = EXCLUDED.saved_at",
);

/// Keeps a view, in place of another of its name.
#[boxed]
pub async fn put(
    conn: &mut Conn<'_>,
    now: Timestamp,
    owner: &Owner,
    page: &str,
    row: &SavedViewRow,
) -> Result<()> {
    conn.execute(&PUT, args![now, column(owner), page, row.name.clone(), row.pairs.clone()]).await?;
    Ok(())
}

const OF: Sql = sql!(
    "saved_views.of", as SavedViewRow,
    "SELECT {columns} FROM saved_views WHERE owner = $1 AND page = $2 ORDER BY name LIMIT $3",
);

/// The views of a page that its viewer has saved, by name.
#[boxed]
pub async fn of(conn: &mut Conn<'_>, owner: &Owner, page: &str, limit: i64) -> Result<Vec<SavedViewRow>> {
    conn.fetch_all(&OF, args![column(owner), page, limit]).await
}

const DELETE: Sql =
    sql!("saved_views.delete", "DELETE FROM saved_views WHERE owner = $1 AND page = $2 AND name = $3",);

/// Removes a view; false if it does not exist.
#[boxed]
pub async fn delete(conn: &mut Conn<'_>, owner: &Owner, page: &str, name: &str) -> Result<bool> {
    Ok(conn.execute(&DELETE, args![column(owner), page, name]).await? > 0)
}

const FORGET: Sql = sql!("saved_views.forget", "DELETE FROM saved_views WHERE owner = $1");

/// Removes everything that somebody has saved.
#[boxed]
pub async fn forget(conn: &mut Conn<'_>, owner: &Owner) -> Result<()> {
    conn.execute(&FORGET, args![column(owner)]).await?;
    Ok(())
}

/// Keys and people may have the same id.
fn column(owner: &Owner) -> String {
    match owner {
        Owner::Key(name) => format!("key:{name}"),
        Owner::User(id) => format!("user:{id}"),
    }
}

crate::db::statements![PUT, OF, DELETE, FORGET];

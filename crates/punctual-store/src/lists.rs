//! Lists: named, typed sets of targets, kept centrally and resolved when a notification is delivered.

use jiff::Timestamp;
use punctual_boxed::boxed;
use serde::Deserialize;
use sqlx::FromRow;

use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, PartialEq, FromRow, Deserialize)]
pub struct ListRow {
    pub name: String,
    pub kind: String,
    pub channel: String,
    /// A JSON array of texts.
    pub targets: String,
    pub business_unit: Option<String>,
    pub updated_at: i64,
}

const PUT: Sql = Sql::same(
    "lists.put",
    "INSERT INTO lists (name, kind, channel, targets, business_unit, updated_at) VALUES ($2, $3, $4, $5, $6, $1)
     ON CONFLICT (name) DO UPDATE SET kind = EXCLUDED.kind, channel = EXCLUDED.channel, targets = EXCLUDED.targets,
         business_unit = EXCLUDED.business_unit, updated_at = EXCLUDED.updated_at",
);

#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, list: &ListRow) -> Result<()> {
    let l = list;
    conn.execute(&PUT, args![now, &l.name, &l.kind, &l.channel, &l.targets, l.business_unit.clone()]).await?;
    Ok(())
}

macro_rules! by_names {
    ($names:literal) => {
        concat!(
            "
    SELECT name, kind, channel, targets, business_unit, updated_at FROM lists WHERE name IN (",
            $names,
            ")"
        )
    };
}
const BY_NAMES: Sql = Sql::each(
    "lists.by_names",
    by_names!("SELECT value FROM json_each($1)"),
    by_names!("SELECT UNNEST($1::text[])"),
);

#[boxed]
pub async fn by_names(conn: &mut Conn<'_>, names: Vec<String>) -> Result<Vec<ListRow>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&BY_NAMES, args![names]).await
}

const PAGE: Sql = Sql::same(
    "lists.page",
    "SELECT name, kind, channel, targets, business_unit, updated_at FROM lists
     WHERE name > $1 ORDER BY name LIMIT $2",
);

#[boxed]
pub async fn page(conn: &mut Conn<'_>, after: &str, limit: i64) -> Result<Vec<ListRow>> {
    conn.fetch_all(&PAGE, args![after, limit]).await
}

const DELETE: Sql = Sql::same("lists.delete", "DELETE FROM lists WHERE name = $1");

#[boxed]
pub async fn delete(conn: &mut Conn<'_>, name: &str) -> Result<bool> {
    Ok(conn.execute(&DELETE, args![name]).await? > 0)
}

crate::db::statements![PUT, BY_NAMES, PAGE, DELETE];

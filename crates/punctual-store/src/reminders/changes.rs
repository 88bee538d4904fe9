//! How far a change over many sources has got.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};
use serde::{Deserialize, Serialize};

use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Record)]
pub struct ChangeRow {
    /// The key of its work row.
    pub key: String,
    pub after_type: String,
    pub after_id: String,
    pub created: i64,
    pub updated: i64,
    pub deactivated: i64,
}

const GET: Sql = Sql::same(
    "reminder_changes.get",
    "SELECT key, after_type, after_id, created, updated, deactivated FROM reminder_changes WHERE key = $1",
);

#[boxed]
pub async fn get(conn: &mut Conn<'_>, key: &str) -> Result<Option<ChangeRow>> {
    conn.fetch_optional(&GET, args![key]).await
}

const PUT: Sql = Sql::same(
    "reminder_changes.put",
    "INSERT INTO reminder_changes (key, after_type, after_id, created, updated, deactivated, updated_at)
     VALUES ($2, $3, $4, $5, $6, $7, $1)
     ON CONFLICT (key) DO UPDATE
     SET after_type = EXCLUDED.after_type, after_id = EXCLUDED.after_id, created = EXCLUDED.created,
         updated = EXCLUDED.updated, deactivated = EXCLUDED.deactivated, updated_at = EXCLUDED.updated_at",
);

#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, row: &ChangeRow) -> Result<()> {
    let bound =
        args![now, &row.key, &row.after_type, &row.after_id, row.created, row.updated, row.deactivated];
    conn.execute(&PUT, bound).await?;
    Ok(())
}

crate::db::statements![GET, PUT];

//! The progress of changes that affect many sources.

use std::slice;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use serde::{Deserialize, Serialize};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Record, SetRow)]
pub struct ChangeRow {
    /// The key of its work row.
    pub key: String,
    pub after_type: String,
    pub after_id: String,
    pub created: i64,
    pub updated: i64,
    pub deactivated: i64,
}

const GET: Sql =
    sql!("reminder_changes.get", as ChangeRow, "SELECT {columns} FROM reminder_changes WHERE key = $1");

#[boxed]
pub async fn get(conn: &mut Conn<'_>, key: &str) -> Result<Option<ChangeRow>> {
    conn.fetch_optional(&GET, args![key]).await
}

const PUT: Sql = sql!(
    "reminder_changes.put", each ChangeRow, after 1,
    "INSERT INTO reminder_changes ({names}, updated_at) {values {*}, $1}
     ON CONFLICT (key) DO UPDATE SET {replaced}, updated_at = $1",
);

#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, row: &ChangeRow) -> Result<()> {
    conn.execute(&PUT, with_rows(args![now], slice::from_ref(row))).await?;
    Ok(())
}

crate::db::statements![GET, PUT];

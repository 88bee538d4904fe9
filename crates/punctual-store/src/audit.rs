//! The audit: what people did, and every hold, release, park, withdrawal, deactivation and conflict.
//!
//! Routine steps are proved by work, notification and attempt rows and are not repeated here.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

/// One entry to write.
#[derive(Clone, Debug, Default, SetRow)]
pub struct Entry {
    pub actor: String,
    pub action: &'static str,
    pub subject_kind: &'static str,
    pub subject_id: String,
    #[column("from_status")]
    pub from: Option<String>,
    #[column("to_status")]
    pub to: Option<String>,
    pub version: Option<i64>,
    pub reason: Option<String>,
    /// Small JSON with what else matters.
    pub data: Option<String>,
}

/// One entry as it is stored.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct AuditRow {
    pub id: i64,
    pub at: i64,
    pub actor: String,
    pub action: String,
    pub subject_kind: String,
    pub subject_id: String,
    pub from_status: Option<String>,
    pub to_status: Option<String>,
    pub version: Option<i64>,
    pub reason: Option<String>,
    pub data: Option<String>,
}

const APPEND: Sql =
    sql!("audit.append", each Entry, after 1, "INSERT INTO audit (at, {names}) {values $1, {*}}");

/// Writes entries in the transaction of what they record.
#[boxed]
pub async fn append(conn: &mut Conn<'_>, now: Timestamp, entries: &[Entry]) -> Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    conn.execute(&APPEND, with_rows(args![now], entries)).await?;
    Ok(())
}

const OF: Sql = sql!(
    "audit.of", as AuditRow,
    "SELECT {columns}
     FROM audit WHERE subject_kind = $1 AND subject_id = $2
     ORDER BY id",
);

/// What is written about one subject, oldest first.
#[boxed]
pub async fn of(conn: &mut Conn<'_>, subject_kind: &str, subject_id: &str) -> Result<Vec<AuditRow>> {
    conn.fetch_all(&OF, args![subject_kind, subject_id]).await
}

crate::db::statements![APPEND, OF];

//! The audit: what people did, and every hold, release, park, withdrawal, deactivation and conflict.
//!
//! Routine steps are proved by work, notification and attempt rows and are not repeated here.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

/// One entry to write.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    pub actor: String,
    pub action: &'static str,
    pub subject_kind: &'static str,
    pub subject_id: String,
    pub from: Option<String>,
    pub to: Option<String>,
    pub version: Option<i64>,
    pub reason: Option<String>,
    /// Small JSON with what else matters.
    pub data: Option<String>,
}

/// One entry as it stands.
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

macro_rules! append {
    ($values:literal) => {
        concat!(
            "
    INSERT INTO audit (at, actor, action, subject_kind, subject_id, from_status, to_status, version, reason, data)
    ",
            $values
        )
    };
}
const APPEND: Sql = Sql::rows(
    "audit.append",
    append!("VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"),
    append!(
        "SELECT $1, r.actor, r.action, r.subject_kind, r.subject_id, r.from_status, r.to_status, r.version, r.reason,
        r.data
    FROM UNNEST($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[],
            $10::text[])
        AS r(actor, action, subject_kind, subject_id, from_status, to_status, version, reason, data)"
    ),
);

/// Writes entries in the transaction of what they tell.
#[boxed]
pub async fn append(conn: &mut Conn<'_>, now: Timestamp, entries: &[Entry]) -> Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            entries.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    conn.execute(
        &APPEND,
        args![
            now,
            column!(|e| e.actor.as_str()),
            column!(|e| e.action),
            column!(|e| e.subject_kind),
            column!(|e| e.subject_id.as_str()),
            column!(|e| e.from.as_deref()),
            column!(|e| e.to.as_deref()),
            column!(|e| e.version),
            column!(|e| e.reason.as_deref()),
            column!(|e| e.data.as_deref()),
        ],
    )
    .await?;
    Ok(())
}

const OF: Sql = Sql::same(
    "audit.of",
    "SELECT id, at, actor, action, subject_kind, subject_id, from_status, to_status, version, reason, data
     FROM audit WHERE subject_kind = $1 AND subject_id = $2
     ORDER BY id",
);

/// What is written about one subject, oldest first.
#[boxed]
pub async fn of(conn: &mut Conn<'_>, subject_kind: &str, subject_id: &str) -> Result<Vec<AuditRow>> {
    conn.fetch_all(&OF, args![subject_kind, subject_id]).await
}

crate::db::statements![APPEND, OF];

//! The audit: what people and keys did, and every hold, release, park, withdrawal, deactivation and conflict.
//!
//! Routine steps are proved by work, notification and attempt rows and are not repeated here. Entries are only ever added:
//! triggers of both databases refuse every change but an erasure of payloads and the removal of what a checkpoint covers.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::{AuditAction, Reach};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

mod page;
mod seals;
mod warnings;

pub use page::{AuditFilter, AuditSubject, ListedEntry, page, stretch};
pub use seals::{
    ChainRow, Link, SealRow, chain, entries_after, erase, insert_seals, last_id, lock_chain,
    lock_chain_if_free, move_chain, open_writers, remove_up_to, seals_after, unerased_of,
};

/// One entry to write. What it says was done, about what and in which business unit is always given: [`Entry::new`].
#[derive(Clone, Debug, SetRow)]
pub struct Entry {
    pub actor: String,
    pub action: AuditAction,
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
    /// The business unit of the subject; without one the entry is the installation's.
    pub business_unit: Option<String>,
}

impl Entry {
    /// What the engine did; commands put the name of the caller in its place.
    pub fn new(
        action: AuditAction,
        subject_kind: &'static str,
        subject_id: impl ToString,
        business_unit: Option<&str>,
    ) -> Self {
        Self {
            actor: "engine".to_owned(),
            action,
            subject_kind,
            subject_id: subject_id.to_string(),
            from: None,
            to: None,
            version: None,
            reason: None,
            data: None,
            business_unit: business_unit.map(str::to_owned),
        }
    }
}

/// One entry as it is stored.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct AuditRow {
    pub id: i64,
    pub at: Timestamp,
    pub actor: String,
    pub action: String,
    pub subject_kind: String,
    pub subject_id: String,
    pub from_status: Option<String>,
    pub to_status: Option<String>,
    pub version: Option<i64>,
    pub reason: Option<String>,
    pub data: Option<String>,
    pub business_unit: Option<String>,
}

const APPEND: Sql =
    sql!("audit.append", each Entry, after 1, "INSERT INTO audit (at, {names}) {values $1, {*}}");

/// Writes entries in the transaction of what they record, and a warning for each that a person should know of.
#[boxed]
pub async fn append(conn: &mut Conn<'_>, now: Timestamp, entries: &[Entry]) -> Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    warnings::write(entries);
    conn.execute(&APPEND, with_rows(args![now], entries)).await?;
    Ok(())
}

const OF: Sql = sql!(
    "audit.of", as AuditRow,
    "SELECT {columns}
     FROM audit WHERE subject_kind = $1 AND subject_id = $2 AND {shared $3 business_unit}
     ORDER BY id",
);

/// What is written about one subject that is within reach, oldest first. What was done to it while it belonged to another business
/// unit stays with that unit.
#[boxed]
pub async fn of(
    conn: &mut Conn<'_>,
    reach: &Reach,
    subject_kind: &str,
    subject_id: &str,
) -> Result<Vec<AuditRow>> {
    conn.fetch_all(&OF, args![subject_kind, subject_id, reach]).await
}

crate::db::statements![APPEND, OF; page, seals];

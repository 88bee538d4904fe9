//! The progress of each provider's reconciliation, and the result of its last run.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args, sql};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct ReconciliationRow {
    pub provider: String,
    /// Sources that changed before it have been checked.
    pub watermark: Timestamp,
    pub last_run_at: Timestamp,
    /// What the last run did, as JSON.
    pub report: String,
}

const ALL: Sql = sql!(
    "reconciliations.all", as ReconciliationRow,
    "SELECT {columns} FROM reconciliations ORDER BY provider",
);

#[boxed]
pub async fn all(conn: &mut Conn<'_>) -> Result<Vec<ReconciliationRow>> {
    conn.fetch_all(&ALL, args![]).await
}

const PUT: Sql = sql!(
    "reconciliations.put",
    "INSERT INTO reconciliations (provider, watermark, last_run_at, report) VALUES ($2, $3, $1, $4)
     ON CONFLICT (provider) DO UPDATE
     SET watermark = EXCLUDED.watermark, last_run_at = EXCLUDED.last_run_at, report = EXCLUDED.report",
);

#[boxed]
pub async fn put(
    conn: &mut Conn<'_>,
    now: Timestamp,
    provider: &str,
    watermark: Timestamp,
    report: &str,
) -> Result<()> {
    conn.execute(&PUT, args![now, provider, watermark, report]).await?;
    Ok(())
}

crate::db::statements![ALL, PUT];

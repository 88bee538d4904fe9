//! The outcome of each run and its rollout stage, for the comparison with an old scheduler, for metrics and for display. No
//! decision depends on it.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::RunOutcome;

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, PartialEq, Record, SetRow)]
pub struct RecordRow {
    pub key: String,
    pub workflow: String,
    pub subject_id: String,
    pub business_unit: Option<String>,
    pub stage: Option<i64>,
    pub due_at: Timestamp,
    #[column(skip)]
    pub decided_at: Timestamp,
    pub outcome: RunOutcome,
    pub reason: Option<String>,
    #[column(skip)]
    pub attempts: i64,
    pub conflicts: i64,
    /// Details from the workflow: a JSON object.
    pub details: String,
    /// There are files of it that were not removed yet.
    pub has_files: bool,
    /// When its files were removed.
    #[column(skip)]
    pub files_purged_at: Option<Timestamp>,
}

const PUT: Sql = sql!(
    "run_records.put", each RecordRow, after 1,
    "INSERT INTO run_records ({names}, decided_at, attempts) {values {*}, $1, 1}
     ON CONFLICT (key) DO UPDATE
     SET stage = EXCLUDED.stage, decided_at = $1, outcome = EXCLUDED.outcome, reason = EXCLUDED.reason,
         attempts = run_records.attempts + 1, conflicts = run_records.conflicts + EXCLUDED.conflicts,
         details = EXCLUDED.details, has_files = EXCLUDED.has_files, files_purged_at = NULL",
);

/// Records how runs were decided; a run that was decided before counts one more attempt.
#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, rows: &[RecordRow]) -> Result<u64> {
    if rows.is_empty() {
        return Ok(0);
    }
    conn.execute(&PUT, with_rows(args![now], rows)).await
}

const BY_KEYS: Sql =
    sql!("run_records.by_keys", as RecordRow, "SELECT {columns} FROM run_records WHERE key = {any $1}");

#[boxed]
pub async fn by_keys(conn: &mut Conn<'_>, mut keys: Vec<String>) -> Result<Vec<RecordRow>> {
    keys.sort_unstable();
    keys.dedup();
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&BY_KEYS, args![keys]).await
}

const EXPECTED: Sql = sql!(
    "run_records.expected", as RecordRow,
    "SELECT {columns} FROM run_records
     WHERE workflow = $1 AND due_at >= $2 AND due_at < $3 AND outcome = 'shadow' AND subject_id IN ({texts $5})
     ORDER BY due_at, key
     LIMIT $4",
);

/// The runs that were expected in an interval and left to the old scheduler, in order of time.
#[boxed]
pub async fn expected(
    conn: &mut Conn<'_>,
    workflow: &str,
    from: Timestamp,
    to: Timestamp,
    subjects: Vec<String>,
    limit: i64,
) -> Result<Vec<RecordRow>> {
    conn.fetch_all(&EXPECTED, args![workflow, from, to, limit, subjects]).await
}

/// The figures of one stage.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct StageFigures {
    pub stage: Option<i64>,
    pub runs: i64,
    pub delivered: i64,
    pub shadow: i64,
    pub skipped: i64,
    pub failed: i64,
    pub retrying: i64,
    pub conflicts: i64,
    /// From due to decided, over what was delivered; microseconds.
    pub mean_latency: Option<i64>,
    pub longest_latency: Option<i64>,
}

const FIGURES: Sql = sql!(
    "run_records.figures",
    "SELECT stage, COUNT(*) AS runs,
         COUNT(CASE WHEN outcome = 'delivered' THEN 1 END) AS delivered,
         COUNT(CASE WHEN outcome = 'shadow' THEN 1 END) AS shadow,
         COUNT(CASE WHEN outcome = 'skipped' THEN 1 END) AS skipped,
         COUNT(CASE WHEN outcome = 'failed' THEN 1 END) AS failed,
         COUNT(CASE WHEN outcome = 'retrying' THEN 1 END) AS retrying,
         CAST(SUM(conflicts) AS BIGINT) AS conflicts,
         CAST(AVG(CASE WHEN outcome = 'delivered' THEN decided_at - due_at END) AS BIGINT) AS mean_latency,
         MAX(CASE WHEN outcome = 'delivered' THEN decided_at - due_at END) AS longest_latency
     FROM run_records
     WHERE workflow = $1 AND due_at >= $2 AND due_at < $3 AND subject_id IN ({texts $4})
     GROUP BY stage
     ORDER BY stage",
);

/// Counts by stage over the runs that were due in an interval.
#[boxed]
pub async fn figures(
    conn: &mut Conn<'_>,
    workflow: &str,
    from: Timestamp,
    to: Timestamp,
    subjects: Vec<String>,
) -> Result<Vec<StageFigures>> {
    conn.fetch_all(&FIGURES, args![workflow, from, to, subjects]).await
}

/// A record whose files may go.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct OldFiles {
    pub key: String,
    pub decided_at: Timestamp,
    pub details: String,
}

// Relies on run_records_with_files. A run that is in progress again, or whose messages are not settled, keeps its files.
const WITH_OLD_FILES: Sql = sql!(
    "run_records.with_old_files", as OldFiles,
    "SELECT {columns r}
     FROM run_records AS r LEFT JOIN work_keys AS k ON k.key = r.key LEFT JOIN work AS w ON w.id = k.work_id
     WHERE r.has_files AND r.workflow = $1 AND r.decided_at < $2
       AND (w.id IS NULL OR (w.status <> 'pending' AND w.status <> 'processing' AND w.open_notifications = 0))
     ORDER BY r.decided_at
     LIMIT $3",
);

/// Runs that were decided before a moment and still have their files, the oldest first.
#[boxed]
pub async fn with_old_files(
    conn: &mut Conn<'_>,
    workflow: &str,
    decided_before: Timestamp,
    limit: i64,
) -> Result<Vec<OldFiles>> {
    conn.fetch_all(&WITH_OLD_FILES, args![workflow, decided_before, limit]).await
}

#[derive(SetRow)]
struct Purged<'a> {
    key: &'a str,
    decided_at: Timestamp,
}

const FILES_PURGED: Sql = sql!(
    "run_records.files_purged", each Purged<'_>, after 1,
    "UPDATE run_records SET has_files = FALSE, files_purged_at = $1
     {from rows}
     WHERE run_records.key = {.key} AND run_records.decided_at = {.decided_at} AND run_records.has_files",
);

/// The files of these runs are gone: `(key, decided at)`. One that was decided again since then has new ones.
#[boxed]
pub async fn files_purged(conn: &mut Conn<'_>, now: Timestamp, runs: &[(String, Timestamp)]) -> Result<u64> {
    if runs.is_empty() {
        return Ok(0);
    }
    let purged: Vec<Purged<'_>> =
        runs.iter().map(|(key, decided_at)| Purged { key, decided_at: *decided_at }).collect();
    conn.execute(&FILES_PURGED, with_rows(args![now], &purged)).await
}

crate::db::statements![PUT, BY_KEYS, EXPECTED, FIGURES, WITH_OLD_FILES, FILES_PURGED];

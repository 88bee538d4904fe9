//! What became of each run, and under which stage of a rollout: for comparison with an old scheduler, for figures, and
//! for people who look at a run. Nothing here decides anything.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct RecordRow {
    pub key: String,
    pub path: String,
    pub subject_id: String,
    pub business_unit: Option<String>,
    pub stage: Option<i64>,
    pub due_at: i64,
    pub decided_at: i64,
    /// `delivered`, `shadow`, `skipped`, `retrying`, `failed` or `conflict`.
    pub outcome: String,
    pub reason: Option<String>,
    pub tries: i64,
    pub conflicts: i64,
    /// Details from the workflow: a JSON object.
    pub details: String,
    /// There are files of it that were not removed yet.
    pub has_files: bool,
    /// When its files were removed.
    pub files_purged_at: Option<i64>,
}

macro_rules! columns {
    () => {
        "key, path, subject_id, business_unit, stage, due_at, decided_at, outcome, reason, tries, conflicts, details, \
         has_files, files_purged_at"
    };
}

macro_rules! put {
    ($values:literal) => {
        concat!(
            "
    INSERT INTO run_records (key, path, subject_id, business_unit, stage, due_at, decided_at, outcome, reason, tries,
        conflicts, details, has_files)
    ",
            $values,
            "
    ON CONFLICT (key) DO UPDATE
    SET stage = EXCLUDED.stage, decided_at = EXCLUDED.decided_at, outcome = EXCLUDED.outcome, reason = EXCLUDED.reason,
        tries = run_records.tries + 1, conflicts = run_records.conflicts + EXCLUDED.conflicts,
        details = EXCLUDED.details, has_files = EXCLUDED.has_files, files_purged_at = NULL"
        )
    };
}
const PUT: Sql = Sql::rows(
    "run_records.put",
    put!("VALUES ($2, $3, $4, $5, $6, $7, $1, $8, $9, 1, $10, $11, $12)"),
    put!("SELECT r.key, r.path, r.subject_id, r.business_unit, r.stage, r.due_at, $1, r.outcome, r.reason, 1, r.conflicts, r.details, r.has_files
    FROM UNNEST($2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::text[], $9::text[],
            $10::bigint[], $11::text[], $12::boolean[])
        AS r(key, path, subject_id, business_unit, stage, due_at, outcome, reason, conflicts, details, has_files)"),
);

/// Writes down how runs were decided, once more where they were before.
#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, rows: &[RecordRow]) -> Result<u64> {
    if rows.is_empty() {
        return Ok(0);
    }
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            rows.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    let bound = args![
        now,
        column!(|r| r.key.as_str()),
        column!(|r| r.path.as_str()),
        column!(|r| r.subject_id.as_str()),
        column!(|r| r.business_unit.as_deref()),
        column!(|r| r.stage),
        column!(|r| r.due_at),
        column!(|r| r.outcome.as_str()),
        column!(|r| r.reason.as_deref()),
        column!(|r| r.conflicts),
        column!(|r| r.details.as_str()),
        column!(|r| r.has_files),
    ];
    conn.execute(&PUT, bound).await
}

macro_rules! by_keys {
    ($which:literal) => {
        concat!("SELECT ", columns!(), " FROM run_records WHERE key = ", $which)
    };
}
const BY_KEYS: Sql = Sql::rows("run_records.by_keys", by_keys!("$1"), by_keys!("ANY($1)"));

#[boxed]
pub async fn by_keys(conn: &mut Conn<'_>, mut keys: Vec<String>) -> Result<Vec<RecordRow>> {
    keys.sort_unstable();
    keys.dedup();
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&BY_KEYS, args![keys]).await
}

macro_rules! expected {
    ($subjects:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM run_records
     WHERE path = $1 AND due_at >= $2 AND due_at < $3 AND outcome = 'shadow' AND subject_id IN (",
            $subjects,
            ")
     ORDER BY due_at, key
     LIMIT $4"
        )
    };
}
const EXPECTED: Sql = Sql::each(
    "run_records.expected",
    expected!("SELECT value FROM json_each($5)"),
    expected!("SELECT UNNEST($5::text[])"),
);

/// The runs that were expected in an interval and left to the old scheduler, in order of time.
#[boxed]
pub async fn expected(
    conn: &mut Conn<'_>,
    path: &str,
    from: i64,
    to: i64,
    subjects: Vec<String>,
    limit: i64,
) -> Result<Vec<RecordRow>> {
    conn.fetch_all(&EXPECTED, args![path, from, to, limit, subjects]).await
}

/// What one stage came to.
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

macro_rules! figures {
    ($subjects:literal) => {
        concat!(
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
     WHERE path = $1 AND due_at >= $2 AND due_at < $3 AND subject_id IN (",
            $subjects,
            ")
     GROUP BY stage
     ORDER BY stage"
        )
    };
}
const FIGURES: Sql = Sql::each(
    "run_records.figures",
    figures!("SELECT value FROM json_each($4)"),
    figures!("SELECT UNNEST($4::text[])"),
);

/// Counts by stage over the runs that were due in an interval.
#[boxed]
pub async fn figures(
    conn: &mut Conn<'_>,
    path: &str,
    from: i64,
    to: i64,
    subjects: Vec<String>,
) -> Result<Vec<StageFigures>> {
    conn.fetch_all(&FIGURES, args![path, from, to, subjects]).await
}

/// A record whose files may go.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct OldFiles {
    pub key: String,
    pub decided_at: i64,
    pub details: String,
}

// Relies on run_records_with_files. A run that is under way again, or whose messages are not settled, keeps its files.
const WITH_OLD_FILES: Sql = Sql::same(
    "run_records.with_old_files",
    "SELECT r.key, r.decided_at, r.details
     FROM run_records AS r LEFT JOIN work_keys AS k ON k.key = r.key LEFT JOIN work AS w ON w.id = k.work_id
     WHERE r.has_files AND r.path = $1 AND r.decided_at < $2
       AND (w.id IS NULL OR (w.status <> 'pending' AND w.status <> 'processing' AND w.open_notifications = 0))
     ORDER BY r.decided_at
     LIMIT $3",
);

/// Runs that were decided before a moment and still have their files, the oldest first.
#[boxed]
pub async fn with_old_files(
    conn: &mut Conn<'_>,
    path: &str,
    decided_before: Timestamp,
    limit: i64,
) -> Result<Vec<OldFiles>> {
    conn.fetch_all(&WITH_OLD_FILES, args![path, decided_before, limit]).await
}

const FILES_PURGED: Sql = Sql::rows(
    "run_records.files_purged",
    "UPDATE run_records SET has_files = FALSE, files_purged_at = $1 WHERE key = $2 AND decided_at = $3 AND has_files",
    "UPDATE run_records SET has_files = FALSE, files_purged_at = $1
     FROM UNNEST($2::text[], $3::bigint[]) AS r(key, decided_at)
     WHERE run_records.key = r.key AND run_records.decided_at = r.decided_at AND run_records.has_files",
);

/// The files of these runs are gone: `(key, decided at)`. One that was decided again since then has new ones.
#[boxed]
pub async fn files_purged(conn: &mut Conn<'_>, now: Timestamp, runs: &[(String, i64)]) -> Result<u64> {
    if runs.is_empty() {
        return Ok(0);
    }
    let (keys, decided): (Vec<String>, Vec<i64>) = runs.iter().cloned().unzip();
    conn.execute(&FILES_PURGED, args![now, keys, decided]).await
}

crate::db::statements![PUT, BY_KEYS, EXPECTED, FIGURES, WITH_OLD_FILES, FILES_PURGED];

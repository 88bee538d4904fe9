//! Rows that need attention, over all tables, and a marker that changes with any of these lists.

pub mod causes;

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};
use punctual_model::Reach;

use crate::db::{Conn, Result, Sql, args, sql};

/// One thing that needs attention.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct WaitingRow {
    pub id: String,
    /// The kind of the row: a workflow for work, a type for notifications.
    pub kind: String,
    pub title: String,
    pub reason: Option<String>,
    /// The last answer of the other side, where there is one.
    pub answer: Option<String>,
    pub since: Timestamp,
}

const HELD: Sql = sql!(
    "work.waiting",
    "SELECT CAST(id AS TEXT) AS id, kind, key AS title, reason_code AS reason, CAST(NULL AS TEXT) AS answer,
         updated_at AS since
     FROM work {sqlite INDEXED BY work_held}
     WHERE on_hold AND status <> 'deactivated' AND kind <> 'report-subscription' AND {reach $1 business_unit}
     ORDER BY id DESC LIMIT $2",
);

/// Why work is stopped: its kind and the code of the reason, and how many rows are.
#[derive(Clone, Debug, PartialEq, Eq, Record)]
pub struct StoppedCount {
    pub kind: String,
    pub reason: String,
    pub count: i64,
}

const STOPPED_END: &str = " AND {reach $1 business_unit} ORDER BY id DESC LIMIT $2) AS w
     GROUP BY kind, reason ORDER BY count DESC, kind, reason LIMIT $3";

const HELD_CAUSES: Sql = sql!(
    "work.held_causes", as StoppedCount,
    "SELECT kind, reason, COUNT(*) AS count FROM (
         SELECT kind, COALESCE(reason_code, '') AS reason FROM work {sqlite INDEXED BY work_held}
         WHERE on_hold AND status <> 'deactivated' AND kind <> 'report-subscription'",
    STOPPED_END,
);
const FAILED_CAUSES: Sql = sql!(
    "work.failed_causes", as StoppedCount,
    "SELECT kind, reason, COUNT(*) AS count FROM (
         SELECT kind, COALESCE(reason_code, '') AS reason FROM work {sqlite INDEXED BY work_failed}
         WHERE status = 'failed' AND kind <> 'report-subscription' AND kind <> 'reconcile-external'",
    STOPPED_END,
);

/// The causes for which most work is on hold, counted over so many rows; without runs of reports.
#[boxed]
pub async fn held_causes(
    conn: &mut Conn<'_>,
    reach: &Reach,
    bound: i64,
    limit: i64,
) -> Result<Vec<StoppedCount>> {
    conn.fetch_all(&HELD_CAUSES, args![reach, bound, limit]).await
}

/// The causes for which most work has failed for good, counted over so many rows; of what [`failed`] lists.
#[boxed]
pub async fn failed_causes(
    conn: &mut Conn<'_>,
    reach: &Reach,
    bound: i64,
    limit: i64,
) -> Result<Vec<StoppedCount>> {
    conn.fetch_all(&FAILED_CAUSES, args![reach, bound, limit]).await
}

/// Work on hold, newest first, without what has ended meanwhile; runs of reports are in [`crate::report_troubles`].
#[boxed]
pub async fn held(conn: &mut Conn<'_>, reach: &Reach, limit: i64) -> Result<Vec<WaitingRow>> {
    conn.fetch_all(&HELD, args![reach, limit]).await
}

// Relies on work_failed, which has few rows. Runs of reports are in `report_troubles`; a look at another system's database
// that failed is followed by the next one, and is among the reconciliations.
const FAILED_WORK: &str = "FROM work {sqlite INDEXED BY work_failed}
     WHERE status = 'failed' AND kind <> 'report-subscription' AND kind <> 'reconcile-external'
       AND {reach $1 business_unit}";

const FAILED: Sql = sql!(
    "work.failed_for_good",
    "SELECT CAST(id AS TEXT) AS id, kind, key AS title, reason_code AS reason, CAST(NULL AS TEXT) AS answer,
         updated_at AS since ",
    FAILED_WORK,
    " ORDER BY id DESC LIMIT $2",
);
const COUNT_FAILED: Sql = sql!(
    "work.count_failed_for_good",
    "SELECT COUNT(*) AS count FROM (SELECT 1 AS one ",
    FAILED_WORK,
    " LIMIT $2) AS f",
);

/// Work that failed permanently, newest first.
#[boxed]
pub async fn failed(conn: &mut Conn<'_>, reach: &Reach, limit: i64) -> Result<Vec<WaitingRow>> {
    conn.fetch_all(&FAILED, args![reach, limit]).await
}

#[boxed]
pub async fn count_failed(conn: &mut Conn<'_>, reach: &Reach, bound: i64) -> Result<i64> {
    let row: Count = conn.fetch_one(&COUNT_FAILED, args![reach, bound]).await?;
    Ok(row.count)
}

// Relies on work_ready: each provider has one look that is planned.
const OVERDUE_LOOKS: Sql = sql!(
    "work.overdue_looks",
    "SELECT CAST(id AS TEXT) AS id, kind, key AS title, COALESCE(reason_code, 'reconciliation-overdue') AS reason,
         CAST(NULL AS TEXT) AS answer, due_at AS since
     FROM work
     WHERE status = 'pending' AND NOT on_hold AND kind IN ('reconcile', 'reconcile-external')
       AND (ready_at < $1 OR retry_count > 0)
     ORDER BY id",
);
// Relies on work_failed.
const FAILED_LOOKS: Sql = sql!(
    "work.failed_looks",
    "SELECT CAST(id AS TEXT) AS id, kind, key AS title, reason_code AS reason, CAST(NULL AS TEXT) AS answer,
         updated_at AS since
     FROM work {sqlite INDEXED BY work_failed}
     WHERE status = 'failed' AND kind = 'reconcile-external'
     ORDER BY id DESC LIMIT 500",
);

/// Looks of reconciliations that should have begun before this moment, or that are retried.
#[boxed]
pub async fn overdue_looks(conn: &mut Conn<'_>, before: Timestamp) -> Result<Vec<WaitingRow>> {
    conn.fetch_all(&OVERDUE_LOOKS, args![before]).await
}

/// The latest looks at other systems' databases that failed, newest first.
#[boxed]
pub async fn failed_looks(conn: &mut Conn<'_>) -> Result<Vec<WaitingRow>> {
    conn.fetch_all(&FAILED_LOOKS, args![]).await
}

// A site that has a token and has not called; one that never called counts from its creation. There are few sites.
const SILENT_SITES: &str =
    "FROM sites WHERE revoked_at IS NULL AND COALESCE(last_contact_at, created_at) < $1";

const SILENT: Sql = sql!(
    "sites.silent",
    "SELECT id, 'site' AS kind, id AS title,
         CASE WHEN last_contact_at IS NULL THEN 'site-never-called' ELSE 'site-silent' END AS reason,
         CAST(NULL AS TEXT) AS answer, COALESCE(last_contact_at, created_at) AS since ",
    SILENT_SITES,
    " ORDER BY since LIMIT $2",
);
const COUNT_SILENT: Sql = sql!("sites.count_silent", "SELECT COUNT(*) AS count ", SILENT_SITES);

/// Sites that last called before this moment, the longest silent first.
#[boxed]
pub async fn silent_sites(conn: &mut Conn<'_>, since: Timestamp, limit: i64) -> Result<Vec<WaitingRow>> {
    conn.fetch_all(&SILENT, args![since, limit]).await
}

const FAILED_RULES: &str = "FROM operations_rules AS r {sqlite INDEXED BY operations_rules_failed}
         LEFT JOIN operations_subjects AS s ON s.id = r.subject_id
     WHERE r.sync_status = 'failed' AND {reach $1 r.business_unit}";

const OUT_OF_STEP: Sql = sql!(
    "operations_rules.waiting",
    "SELECT r.id, r.subject_type || 's/' || r.subject_id AS kind, COALESCE(s.title, r.id) AS title,
         'sync-failed' AS reason, r.sync_error AS answer, r.updated_at AS since ",
    FAILED_RULES,
    " ORDER BY r.id DESC LIMIT $2",
);
const COUNT_OUT_OF_STEP: Sql = sql!(
    "operations_rules.count_waiting",
    "SELECT COUNT(*) AS count FROM (SELECT 1 AS one ",
    FAILED_RULES,
    " LIMIT $2) AS o",
);

/// Rules that could not be scheduled, newest first; the kind of a row is where its event or task is found.
#[boxed]
pub async fn out_of_step(conn: &mut Conn<'_>, reach: &Reach, limit: i64) -> Result<Vec<WaitingRow>> {
    conn.fetch_all(&OUT_OF_STEP, args![reach, limit]).await
}

#[boxed]
pub async fn count_out_of_step(conn: &mut Conn<'_>, reach: &Reach, bound: i64) -> Result<i64> {
    let row: Count = conn.fetch_one(&COUNT_OUT_OF_STEP, args![reach, bound]).await?;
    Ok(row.count)
}

#[derive(Record)]
struct Count {
    count: i64,
}

#[boxed]
pub async fn count_silent_sites(conn: &mut Conn<'_>, since: Timestamp) -> Result<i64> {
    let row: Count = conn.fetch_one(&COUNT_SILENT, args![since]).await?;
    Ok(row.count)
}

/// How much waits, each counted up to the bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Record)]
pub struct WaitingCounts {
    pub held: i64,
    pub parked: i64,
    pub events: i64,
}

const PARKED_NOTIFICATIONS: &str = "SELECT COUNT(*) FROM (
            SELECT 1 AS one FROM notifications {sqlite INDEXED BY notifications_parked}
            WHERE status = 'parked' AND {reach $1 business_unit} AND kind ";

const COUNTS: Sql = sql!(
    "attention.counts",
    "SELECT
        (SELECT COUNT(*) FROM (
            SELECT 1 AS one FROM work {sqlite INDEXED BY work_held}
            WHERE on_hold AND status <> 'deactivated' AND kind <> 'report-subscription' AND {reach $1 business_unit} LIMIT $2) AS h) AS held,
        (",
    PARKED_NOTIFICATIONS,
    "<> 'event' LIMIT $2) AS p) AS parked,
        (",
    PARKED_NOTIFICATIONS,
    "= 'event' LIMIT $2) AS e) AS events",
);

#[boxed]
pub async fn counts(conn: &mut Conn<'_>, reach: &Reach, bound: i64) -> Result<WaitingCounts> {
    conn.fetch_one(&COUNTS, args![reach, bound]).await
}

/// A mark that changes when something arrives, ends, is attempted, is held or is acted upon. A change among thousands of
/// waiting rows may go unseen; lists are also read again slowly.
#[derive(Clone, Debug, Default, PartialEq, Eq, Record)]
pub struct Mark {
    pub arrived: Option<i64>,
    pub ended: Option<i64>,
    pub acted: Option<i64>,
    pub planned: Option<i64>,
    pub live: Option<i64>,
    pub parked: Option<i64>,
    pub held: Option<i64>,
    pub reported: Option<i64>,
    pub inbox: Option<i64>,
}

const MARK: Sql = sql!(
    "attention.mark",
    "SELECT
        (SELECT MAX(seq) FROM notifications) AS arrived,
        (SELECT MAX(finished_at) FROM notifications WHERE finished_at IS NOT NULL) AS ended,
        (SELECT MAX(id) FROM audit) AS acted,
        (SELECT MAX(id) FROM work) AS planned,
        (SELECT CAST(SUM(version) AS BIGINT) FROM (SELECT version FROM notifications
            WHERE status IN ('pending', 'retrying') AND kind <> 'event' ORDER BY created_at LIMIT 200) AS l) AS live,
        (SELECT CAST(SUM(version) AS BIGINT) FROM (SELECT version FROM notifications
            WHERE status = 'parked' ORDER BY seq DESC LIMIT 200) AS p) AS parked,
        (SELECT CAST(SUM(version) AS BIGINT) FROM (SELECT version FROM work
            WHERE on_hold ORDER BY id DESC LIMIT 200) AS h) AS held,
        (SELECT MAX(received_at) FROM receipts WHERE received_at IS NOT NULL) AS reported,
        (SELECT MAX(seq) FROM inbox) AS inbox",
);

#[boxed]
pub async fn mark(conn: &mut Conn<'_>) -> Result<Mark> {
    conn.fetch_one(&MARK, args![]).await
}

crate::db::statements![
    HELD,
    HELD_CAUSES,
    FAILED_CAUSES,
    FAILED,
    COUNT_FAILED,
    OVERDUE_LOOKS,
    FAILED_LOOKS,
    SILENT,
    COUNT_SILENT,
    OUT_OF_STEP,
    COUNT_OUT_OF_STEP,
    COUNTS,
    MARK;
    causes
];

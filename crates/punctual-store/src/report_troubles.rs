//! Report subscriptions that need attention: failed runs, held runs, and subscriptions without an owner or recipients.

use punctual_boxed::{Record, boxed};
use punctual_model::Reach;

use crate::{
    attention::WaitingRow,
    db::{Conn, Result, Sql, args, sql},
};

// Relies on work_failed, which has few rows, and on work_by_setting. A failed run needs no attention once a later one of
// its subscription was delivered.
const FAILED_RUNS: &str = "FROM work AS w {sqlite INDEXED BY work_failed}
         JOIN report_subscriptions AS s ON s.guid = w.setting_id AND NOT s.deleted
     WHERE w.status = 'failed' AND w.kind = 'report-subscription'
       AND NOT EXISTS (SELECT 1 FROM work AS later WHERE later.setting_id IS NOT NULL AND later.setting_id = w.setting_id
           AND later.kind = 'report-subscription' AND later.status = 'completed' AND later.due_at > w.due_at)
       AND {reach $1 w.business_unit}";

// Relies on work_held.
const HELD_RUNS: &str = "FROM work AS w {sqlite INDEXED BY work_held}
         LEFT JOIN report_subscriptions AS s ON s.guid = w.setting_id
     WHERE w.on_hold AND w.kind = 'report-subscription' AND {reach $1 w.business_unit}";

// Reads all subscriptions: they are few beside what they make.
const WITHOUT_PEOPLE: &str = "FROM report_subscriptions AS s
         LEFT JOIN operations_people AS p ON p.id = s.owner
         LEFT JOIN lists AS l ON l.name = s.list_name
     WHERE NOT s.deleted AND NOT s.paused
       AND ((s.owner IS NOT NULL AND p.id IS NULL)
           OR (s.list_name IS NOT NULL AND (l.name IS NULL OR l.targets = '[]')))
       AND {shared $1 s.business_unit}";

const RUNS: &str = "SELECT w.key AS id, COALESCE(s.guid, '') AS kind, w.key AS title,
         w.reason_code AS reason, CAST(NULL AS TEXT) AS answer, w.updated_at AS since ";

const FAILED: Sql = sql!("report_runs.failed", RUNS, FAILED_RUNS, " ORDER BY w.id DESC LIMIT $2");

const HELD: Sql = sql!("report_runs.held", RUNS, HELD_RUNS, " ORDER BY w.id DESC LIMIT $2");

const ORPHANED: Sql = sql!(
    "report_subscriptions.orphaned",
    "SELECT s.guid AS id, s.guid AS kind, s.name AS title,
         CASE WHEN s.owner IS NOT NULL AND p.id IS NULL THEN 'owner-gone' ELSE 'recipients-gone' END AS reason,
         CAST(NULL AS TEXT) AS answer, s.updated_at AS since ",
    WITHOUT_PEOPLE,
    " ORDER BY s.guid LIMIT $2",
);

const COUNTS: Sql = sql!(
    "report_runs.count_troubles",
    "SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one ",
    FAILED_RUNS,
    " LIMIT $2) AS c) AS failed, (SELECT COUNT(*) FROM (SELECT 1 AS one ",
    HELD_RUNS,
    " LIMIT $2) AS c) AS held, (SELECT COUNT(*) FROM (SELECT 1 AS one ",
    WITHOUT_PEOPLE,
    " LIMIT $2) AS c) AS orphaned",
);

/// Runs that have failed and after which none was delivered, newest first. The kind of a row is its subscription.
#[boxed]
pub async fn failed(conn: &mut Conn<'_>, reach: &Reach, limit: i64) -> Result<Vec<WaitingRow>> {
    conn.fetch_all(&FAILED, args![reach, limit]).await
}

/// Runs that are held, newest first. The kind of a row is its subscription.
#[boxed]
pub async fn held(conn: &mut Conn<'_>, reach: &Reach, limit: i64) -> Result<Vec<WaitingRow>> {
    conn.fetch_all(&HELD, args![reach, limit]).await
}

/// Subscriptions that run and whose owner is no longer among the people, or whose list is gone or empty.
#[boxed]
pub async fn orphaned(conn: &mut Conn<'_>, reach: &Reach, limit: i64) -> Result<Vec<WaitingRow>> {
    conn.fetch_all(&ORPHANED, args![reach, limit]).await
}

/// How much of each there is, counted up to the bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Record)]
pub struct TroubleCounts {
    pub failed: i64,
    pub held: i64,
    pub orphaned: i64,
}

#[boxed]
pub async fn counts(conn: &mut Conn<'_>, reach: &Reach, bound: i64) -> Result<TroubleCounts> {
    conn.fetch_one(&COUNTS, args![reach, bound]).await
}

crate::db::statements![FAILED, HELD, ORPHANED, COUNTS];

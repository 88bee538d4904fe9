//! What of report subscriptions waits for a person: runs that failed, runs that are held, and subscriptions that nobody
//! answers for or that reach nobody.

use punctual_boxed::{Record, boxed};

use crate::{
    attention::WaitingRow,
    db::{Conn, Result, Sql, args},
};

// Relies on work_failed, which has few rows, and on work_by_setting. A run that failed needs nobody any more once a later
// one of its subscription has gone out.
macro_rules! failed {
    ($hint:literal, $units:literal) => {
        concat!(
            "FROM work AS w ",
            $hint,
            " JOIN report_subscriptions AS s ON s.guid = w.setting_id AND NOT s.deleted
     WHERE w.status = 'failed' AND w.kind = 'report-subscription'
       AND NOT EXISTS (SELECT 1 FROM work AS later WHERE later.setting_id IS NOT NULL AND later.setting_id = w.setting_id
           AND later.kind = 'report-subscription' AND later.status = 'completed' AND later.due_at > w.due_at)
       AND (NOT $1 OR w.business_unit IS NULL OR w.business_unit IN (",
            $units,
            "))"
        )
    };
}
// Relies on work_held.
macro_rules! held {
    ($hint:literal, $units:literal) => {
        concat!(
            "FROM work AS w ",
            $hint,
            " LEFT JOIN report_subscriptions AS s ON s.guid = w.setting_id
     WHERE w.on_hold AND w.kind = 'report-subscription'
       AND (NOT $1 OR w.business_unit IS NULL OR w.business_unit IN (",
            $units,
            "))"
        )
    };
}
// Subscriptions are few beside what they make; one look at all of them.
macro_rules! orphaned {
    ($units:literal) => {
        concat!(
            "FROM report_subscriptions AS s
         LEFT JOIN operations_people AS p ON p.id = s.owner
         LEFT JOIN lists AS l ON l.name = s.list_name
     WHERE NOT s.deleted AND NOT s.paused
       AND ((s.owner IS NOT NULL AND p.id IS NULL)
           OR (s.list_name IS NOT NULL AND (l.name IS NULL OR l.targets = '[]')))
       AND (NOT $1 OR s.business_unit IS NULL OR s.business_unit IN (",
            $units,
            "))"
        )
    };
}

macro_rules! runs {
    ($from:expr) => {
        concat!(
            "SELECT w.key AS id, COALESCE(s.guid, '') AS kind, COALESCE(s.name, w.key) AS title, w.reason_code AS reason,
         CAST(NULL AS TEXT) AS answer, w.updated_at AS since ",
            $from,
            " ORDER BY w.id DESC LIMIT $2"
        )
    };
}
macro_rules! subscriptions {
    ($from:expr) => {
        concat!(
            "SELECT s.guid AS id, s.guid AS kind, s.name AS title,
         CASE WHEN s.owner IS NOT NULL AND p.id IS NULL THEN 'owner-gone' ELSE 'recipients-gone' END AS reason,
         CAST(NULL AS TEXT) AS answer, s.updated_at AS since ",
            $from,
            " ORDER BY s.guid LIMIT $2"
        )
    };
}
macro_rules! counted {
    ($from:expr) => {
        concat!("(SELECT COUNT(*) FROM (SELECT 1 AS one ", $from, " LIMIT $2) AS c)")
    };
}

const FAILED: Sql = Sql::each(
    "report_runs.failed",
    runs!(failed!("INDEXED BY work_failed", "SELECT value FROM json_each($3)")),
    runs!(failed!("", "SELECT UNNEST($3::text[])")),
);
const HELD: Sql = Sql::each(
    "report_runs.held",
    runs!(held!("INDEXED BY work_held", "SELECT value FROM json_each($3)")),
    runs!(held!("", "SELECT UNNEST($3::text[])")),
);
const ORPHANED: Sql = Sql::each(
    "report_subscriptions.orphaned",
    subscriptions!(orphaned!("SELECT value FROM json_each($3)")),
    subscriptions!(orphaned!("SELECT UNNEST($3::text[])")),
);
macro_rules! counts {
    ($failed:literal, $held:literal, $units:literal) => {
        concat!(
            "SELECT ",
            counted!(failed!($failed, $units)),
            " AS failed, ",
            counted!(held!($held, $units)),
            " AS held, ",
            counted!(orphaned!($units)),
            " AS orphaned"
        )
    };
}
const COUNTS: Sql = Sql::each(
    "report_runs.count_troubles",
    counts!("INDEXED BY work_failed", "INDEXED BY work_held", "SELECT value FROM json_each($3)"),
    counts!("", "", "SELECT UNNEST($3::text[])"),
);

/// Runs that have failed and after which none went out, newest first. The kind of a row is its subscription.
#[boxed]
pub async fn failed(conn: &mut Conn<'_>, units: Option<&[String]>, limit: i64) -> Result<Vec<WaitingRow>> {
    conn.fetch_all(&FAILED, args![units.is_some(), limit, units.unwrap_or_default().to_vec()]).await
}

/// Runs that are held, newest first. The kind of a row is its subscription.
#[boxed]
pub async fn held(conn: &mut Conn<'_>, units: Option<&[String]>, limit: i64) -> Result<Vec<WaitingRow>> {
    conn.fetch_all(&HELD, args![units.is_some(), limit, units.unwrap_or_default().to_vec()]).await
}

/// Subscriptions that run and whose owner is no longer among the people, or whose list is gone or empty.
#[boxed]
pub async fn orphaned(conn: &mut Conn<'_>, units: Option<&[String]>, limit: i64) -> Result<Vec<WaitingRow>> {
    conn.fetch_all(&ORPHANED, args![units.is_some(), limit, units.unwrap_or_default().to_vec()]).await
}

/// How much of each there is, counted up to the bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Record)]
pub struct TroubleCounts {
    pub failed: i64,
    pub held: i64,
    pub orphaned: i64,
}

#[boxed]
pub async fn counts(conn: &mut Conn<'_>, units: Option<&[String]>, bound: i64) -> Result<TroubleCounts> {
    conn.fetch_one(&COUNTS, args![units.is_some(), bound, units.unwrap_or_default().to_vec()]).await
}

crate::db::statements![FAILED, HELD, ORPHANED, COUNTS];

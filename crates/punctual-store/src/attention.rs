//! What waits for a person, over all tables that can hold such a thing; and a mark that changes when any list does.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

/// One thing that waits for a person.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct WaitingRow {
    pub id: String,
    /// The kind of the row: a workflow for work, a type for notifications.
    pub kind: String,
    pub title: String,
    pub reason: Option<String>,
    /// What the other side answered last, where there is one.
    pub answer: Option<String>,
    pub since: i64,
}

macro_rules! held { ($hint:literal, $units:literal) => { concat!("
    SELECT CAST(id AS TEXT) AS id, kind, key AS title, reason_code AS reason, CAST(NULL AS TEXT) AS answer, updated_at AS since
    FROM work ", $hint, "
    WHERE on_hold AND kind <> 'report-subscription' AND (NOT $1 OR business_unit IS NULL OR business_unit IN (", $units, "))
    ORDER BY id DESC LIMIT $2") } }
const HELD: Sql = Sql::each(
    "work.waiting",
    held!("INDEXED BY work_held", "SELECT value FROM json_each($3)"),
    held!("", "SELECT UNNEST($3::text[])"),
);

macro_rules! parked { ($hint:literal, $units:literal) => { concat!("
    SELECT id, kind, subject AS title, reason_code AS reason, last_error AS answer, COALESCE(finished_at, created_at) AS since
    FROM notifications ", $hint, "
    WHERE status = 'parked' AND (NOT $1 OR business_unit IS NULL OR business_unit IN (", $units, "))
    ORDER BY seq DESC LIMIT $2") } }
const PARKED: Sql = Sql::each(
    "notifications.waiting",
    parked!("INDEXED BY notifications_parked", "SELECT value FROM json_each($3)"),
    parked!("", "SELECT UNNEST($3::text[])"),
);

/// Work on hold, newest first; runs of reports are in [`crate::report_troubles`].
#[boxed]
pub async fn held(conn: &mut Conn<'_>, units: Option<&[String]>, limit: i64) -> Result<Vec<WaitingRow>> {
    conn.fetch_all(&HELD, args![units.is_some(), limit, units.unwrap_or_default().to_vec()]).await
}

/// Parked notifications, deliveries to subscribers among them, newest first.
#[boxed]
pub async fn parked(conn: &mut Conn<'_>, units: Option<&[String]>, limit: i64) -> Result<Vec<WaitingRow>> {
    conn.fetch_all(&PARKED, args![units.is_some(), limit, units.unwrap_or_default().to_vec()]).await
}

// A site that has a token and was not heard from; one that never called counts from when it was made. There are few sites.
macro_rules! silent {
    () => {
        "FROM sites WHERE revoked_at IS NULL AND COALESCE(last_contact_at, created_at) < $1"
    };
}
const SILENT: Sql = Sql::same(
    "sites.silent",
    concat!(
        "SELECT id, 'site' AS kind, id AS title,
             CASE WHEN last_contact_at IS NULL THEN 'site-never-called' ELSE 'site-silent' END AS reason,
             CAST(NULL AS TEXT) AS answer, COALESCE(last_contact_at, created_at) AS since ",
        silent!(),
        " ORDER BY since LIMIT $2"
    ),
);
const COUNT_SILENT: Sql = Sql::same("sites.count_silent", concat!("SELECT COUNT(*) AS count ", silent!()));

/// Sites that were last heard from before this moment, the longest silent first.
#[boxed]
pub async fn silent_sites(conn: &mut Conn<'_>, since: Timestamp, limit: i64) -> Result<Vec<WaitingRow>> {
    conn.fetch_all(&SILENT, args![since, limit]).await
}

macro_rules! out_of_step {
    ($hint:literal, $units:literal) => {
        concat!(
            "FROM operations_rules AS r ",
            $hint,
            " LEFT JOIN operations_subjects AS s ON s.id = r.subject_id
     WHERE r.sync_status = 'failed'
         AND (NOT $1 OR r.business_unit IS NULL OR r.business_unit IN (",
            $units,
            "))"
        )
    };
}
macro_rules! list_out_of_step {
    ($hint:literal, $units:literal) => {
        concat!(
            "SELECT r.id, r.subject_type || 's/' || r.subject_id AS kind, COALESCE(s.title, r.id) AS title,
             'sync-failed' AS reason, r.sync_error AS answer, r.updated_at AS since ",
            out_of_step!($hint, $units),
            " ORDER BY r.id DESC LIMIT $2"
        )
    };
}
macro_rules! count_out_of_step {
    ($hint:literal, $units:literal) => {
        concat!(
            "SELECT COUNT(*) AS count FROM (SELECT 1 AS one ",
            out_of_step!($hint, $units),
            " LIMIT $2) AS o"
        )
    };
}
const OUT_OF_STEP: Sql = Sql::each(
    "operations_rules.waiting",
    list_out_of_step!("INDEXED BY operations_rules_failed", "SELECT value FROM json_each($3)"),
    list_out_of_step!("", "SELECT UNNEST($3::text[])"),
);
const COUNT_OUT_OF_STEP: Sql = Sql::each(
    "operations_rules.count_waiting",
    count_out_of_step!("INDEXED BY operations_rules_failed", "SELECT value FROM json_each($3)"),
    count_out_of_step!("", "SELECT UNNEST($3::text[])"),
);

/// Rules that could not be scheduled, newest first; the kind of a row is where its event or task is found.
#[boxed]
pub async fn out_of_step(
    conn: &mut Conn<'_>,
    units: Option<&[String]>,
    limit: i64,
) -> Result<Vec<WaitingRow>> {
    conn.fetch_all(&OUT_OF_STEP, args![units.is_some(), limit, units.unwrap_or_default().to_vec()]).await
}

#[boxed]
pub async fn count_out_of_step(conn: &mut Conn<'_>, units: Option<&[String]>, bound: i64) -> Result<i64> {
    let args = args![units.is_some(), bound, units.unwrap_or_default().to_vec()];
    let row: Count = conn.fetch_one(&COUNT_OUT_OF_STEP, args).await?;
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

macro_rules! counts {
    ($work:literal, $notifications:literal, $units:literal) => {
        concat!(
            "
    SELECT
        (SELECT COUNT(*) FROM (SELECT 1 AS one FROM work ",
            $work,
            " WHERE on_hold AND kind <> 'report-subscription'
            AND (NOT $1 OR business_unit IS NULL OR business_unit IN (",
            $units,
            ")) LIMIT $2) AS h) AS held,
        (SELECT COUNT(*) FROM (SELECT 1 AS one FROM notifications ",
            $notifications,
            " WHERE status = 'parked' AND kind <> 'event'
            AND (NOT $1 OR business_unit IS NULL OR business_unit IN (",
            $units,
            ")) LIMIT $2) AS p) AS parked,
        (SELECT COUNT(*) FROM (SELECT 1 AS one FROM notifications ",
            $notifications,
            " WHERE status = 'parked' AND kind = 'event'
            AND (NOT $1 OR business_unit IS NULL OR business_unit IN (",
            $units,
            ")) LIMIT $2) AS e) AS events"
        )
    };
}
const COUNTS: Sql = Sql::each(
    "attention.counts",
    counts!("INDEXED BY work_held", "INDEXED BY notifications_parked", "SELECT value FROM json_each($3)"),
    counts!("", "", "SELECT UNNEST($3::text[])"),
);

#[boxed]
pub async fn counts(conn: &mut Conn<'_>, units: Option<&[String]>, bound: i64) -> Result<WaitingCounts> {
    conn.fetch_one(&COUNTS, args![units.is_some(), bound, units.unwrap_or_default().to_vec()]).await
}

/// A mark that changes when something arrives, ends, is tried, is held or is acted upon. A change among thousands of
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
    pub told: Option<i64>,
    pub inbox: Option<i64>,
}

const MARK: Sql = Sql::same(
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
        (SELECT MAX(received_at) FROM receipts WHERE received_at IS NOT NULL) AS told,
        (SELECT MAX(seq) FROM inbox) AS inbox",
);

#[boxed]
pub async fn mark(conn: &mut Conn<'_>) -> Result<Mark> {
    conn.fetch_one(&MARK, args![]).await
}

crate::db::statements![HELD, PARKED, SILENT, COUNT_SILENT, OUT_OF_STEP, COUNT_OUT_OF_STEP, COUNTS, MARK];

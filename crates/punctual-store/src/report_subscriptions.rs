//! Report subscriptions: a JSON definition, and the columns to find them. A deleted one stays readable, because its runs stay.

use std::slice;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::{Reach, WorkStatus};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, PartialEq, Record, SetRow)]
pub struct SubscriptionRow {
    pub guid: String,
    pub name: String,
    pub business_unit: Option<String>,
    pub owner: Option<String>,
    pub list_name: Option<String>,
    pub paused: bool,
    #[column(skip)]
    pub deleted: bool,
    /// The whole definition as JSON.
    pub definition: String,
    #[column(skip)]
    pub version: i64,
    #[column(skip)]
    pub created_at: Timestamp,
    #[column(skip)]
    pub updated_at: Timestamp,
    /// The zone of its business unit, as it is now.
    #[column(skip)]
    pub unit_time_zone: Option<String>,
}

const READ: &str =
    "SELECT s.guid, s.name, s.business_unit, s.owner, s.list_name, s.paused, s.deleted, s.definition,
         s.version, s.created_at, s.updated_at, u.time_zone AS unit_time_zone
     FROM report_subscriptions AS s LEFT JOIN business_units AS u ON u.id = s.business_unit ";

const INSERT: Sql = sql!(
    "report_subscriptions.insert", each SubscriptionRow, after 1,
    "INSERT INTO report_subscriptions ({names}, created_at, updated_at) {values {*}, $1, $1}
     ON CONFLICT (guid) DO NOTHING",
);

/// A new subscription; false when its guid is taken.
#[boxed]
pub async fn insert(conn: &mut Conn<'_>, now: Timestamp, row: &SubscriptionRow) -> Result<bool> {
    Ok(conn.execute(&INSERT, with_rows(args![now], slice::from_ref(row))).await? > 0)
}

const UPDATE: Sql = sql!(
    "report_subscriptions.update",
    "UPDATE report_subscriptions
     SET name = $4, business_unit = $5, owner = $6, list_name = $7, paused = $8, deleted = $9, definition = $10,
         version = version + 1, updated_at = $1
     WHERE guid = $2 AND version = $3 AND NOT deleted",
);

/// Writes a changed subscription over the version that was read; false when there is a newer one.
#[boxed]
pub async fn update(conn: &mut Conn<'_>, now: Timestamp, row: &SubscriptionRow) -> Result<bool> {
    let bound = args![
        now,
        &row.guid,
        row.version,
        &row.name,
        row.business_unit.as_deref(),
        row.owner.as_deref(),
        row.list_name.as_deref(),
        row.paused,
        row.deleted,
        &row.definition,
    ];
    Ok(conn.execute(&UPDATE, bound).await? > 0)
}

const BY_GUIDS: Sql =
    sql!("report_subscriptions.by_guids", READ, "WHERE s.guid = {any $1} AND {shared $2 s.business_unit}");

/// Those of these subscriptions that are within reach, deleted ones too: history still names them.
#[boxed]
pub async fn by_guids(
    conn: &mut Conn<'_>,
    reach: &Reach,
    mut guids: Vec<String>,
) -> Result<Vec<SubscriptionRow>> {
    guids.sort_unstable();
    guids.dedup();
    if guids.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&BY_GUIDS, args![guids, reach]).await
}

const LOCK: Sql = sql!(
    "report_subscriptions.lock",
    READ,
    "WHERE s.guid = $1 AND NOT s.deleted AND {shared $2 s.business_unit}{postgres  FOR UPDATE OF s}",
);

/// The subscription, if it is within reach, locked until the transaction ends: its next run is planned by one caller after the other.
#[boxed]
pub async fn lock(conn: &mut Conn<'_>, reach: &Reach, guid: &str) -> Result<Option<SubscriptionRow>> {
    conn.fetch_optional(&LOCK, args![guid, reach]).await
}

const PAGE: Sql = sql!(
    "report_subscriptions.page",
    READ,
    "WHERE s.guid > $1 AND NOT s.deleted AND {shared $3 s.business_unit} ORDER BY s.guid LIMIT $2",
);

/// The next ones after this place that are within reach. A page is full or the last: what is out of reach is not read.
#[boxed]
pub async fn page(
    conn: &mut Conn<'_>,
    reach: &Reach,
    after: &str,
    limit: i64,
) -> Result<Vec<SubscriptionRow>> {
    conn.fetch_all(&PAGE, args![after, limit, reach]).await
}

#[derive(Record)]
struct Guid {
    guid: String,
}

// Relies on report_subscriptions_by_update and business_units_by_update.
const CHANGED: Sql = sql!(
    "report_subscriptions.changed", as Guid,
    "SELECT {columns} FROM (
         SELECT s.guid FROM report_subscriptions AS s WHERE s.updated_at >= $1
         UNION
         SELECT s.guid FROM business_units AS u JOIN report_subscriptions AS s ON s.business_unit = u.id
         WHERE s.business_unit IS NOT NULL AND u.updated_at >= $1) AS changed
     WHERE guid > $2 ORDER BY guid LIMIT $3",
);

/// The subscriptions that were written since a moment, or whose business unit was; by guid.
#[boxed]
pub async fn changed(conn: &mut Conn<'_>, since: Timestamp, after: &str, limit: i64) -> Result<Vec<String>> {
    let rows: Vec<Guid> = conn.fetch_all(&CHANGED, args![since, after, limit]).await?;
    Ok(rows.into_iter().map(|row| row.guid).collect())
}

/// An entry of the audit, by its number.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct Touched {
    pub entry: i64,
    pub at: Timestamp,
    pub subject_kind: String,
    pub subject_id: String,
}

const TOUCHED: Sql = sql!(
    "report_subscriptions.touched",
    "SELECT id AS entry, at, subject_kind, subject_id FROM audit WHERE id > $1 ORDER BY id LIMIT $2",
);

/// The next entries of the audit after one of them: what something was done to.
#[boxed]
pub async fn touched(conn: &mut Conn<'_>, after: i64, limit: i64) -> Result<Vec<Touched>> {
    conn.fetch_all(&TOUCHED, args![after, limit]).await
}

const OF_RUNS: Sql = sql!(
    "report_subscriptions.of_runs",
    "SELECT setting_id AS guid FROM work
     WHERE id IN ({ints $1}) AND kind = 'report-subscription' AND setting_id IS NOT NULL",
);

/// The subscriptions that these work rows are runs of; rows of other kinds have none.
#[boxed]
pub async fn of_runs(conn: &mut Conn<'_>, work_ids: Vec<i64>) -> Result<Vec<String>> {
    if work_ids.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<Guid> = conn.fetch_all(&OF_RUNS, args![work_ids]).await?;
    Ok(rows.into_iter().map(|row| row.guid).collect())
}

#[derive(Record)]
struct Latest {
    id: Option<i64>,
}

const LATEST_ENTRY: Sql =
    sql!("report_subscriptions.latest_entry", as Latest, "SELECT MAX(id) AS id FROM audit");

/// The number of the latest entry of the audit.
#[boxed]
pub async fn latest_entry(conn: &mut Conn<'_>) -> Result<i64> {
    let latest: Latest = conn.fetch_one(&LATEST_ENTRY, args![]).await?;
    Ok(latest.id.unwrap_or(0))
}

const OF_UNIT: Sql = sql!(
    "report_subscriptions.of_unit",
    READ,
    "WHERE s.business_unit IS NOT NULL AND s.business_unit = $1 AND s.guid > $2
     ORDER BY s.guid LIMIT $3",
);

/// The subscriptions of one business unit, by guid; deleted ones too, because their runs are still compared.
#[boxed]
pub async fn of_unit(
    conn: &mut Conn<'_>,
    unit: &str,
    after: &str,
    limit: i64,
) -> Result<Vec<SubscriptionRow>> {
    conn.fetch_all(&OF_UNIT, args![unit, after, limit]).await
}

/// A subscription without an owner or without recipients.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct Orphan {
    pub guid: String,
    pub name: String,
    pub business_unit: Option<String>,
    pub owner: Option<String>,
    pub list_name: Option<String>,
    pub owner_gone: bool,
    pub recipients_gone: bool,
}

const ORPHANS: Sql = sql!(
    "report_subscriptions.orphans", as Orphan,
    "SELECT {columns} FROM (
         SELECT s.guid, s.name, s.business_unit, s.owner, s.list_name,
             (s.owner IS NOT NULL AND p.id IS NULL) AS owner_gone,
             (s.list_name IS NOT NULL AND (l.name IS NULL OR l.targets = '[]')) AS recipients_gone
         FROM report_subscriptions AS s
         LEFT JOIN operations_people AS p
             ON p.id = s.owner AND (p.business_unit IS NULL OR p.business_unit = s.business_unit)
         LEFT JOIN lists AS l
             ON l.name = s.list_name AND (l.business_unit IS NULL OR l.business_unit = s.business_unit)
         WHERE NOT s.deleted AND s.guid > $1 AND {shared $3 s.business_unit}) AS found
     WHERE owner_gone OR recipients_gone
     ORDER BY guid
     LIMIT $2",
);

/// Subscriptions within reach whose owner is no longer among the people of their unit, or whose list is gone or empty.
#[boxed]
pub async fn orphans(conn: &mut Conn<'_>, reach: &Reach, after: &str, limit: i64) -> Result<Vec<Orphan>> {
    conn.fetch_all(&ORPHANS, args![after, limit, reach]).await
}

/// A work row of a subscription that is not over.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct LiveRun {
    pub id: i64,
    pub key: String,
    pub setting_id: String,
    pub trigger_type: String,
    pub status: WorkStatus,
    pub on_hold: bool,
    pub due_at: Timestamp,
    pub time_zone: Option<String>,
    pub retry_count: i64,
}

// Relies on work_by_setting.
const LIVE_RUNS: Sql = sql!(
    "report_subscriptions.live_runs", as LiveRun,
    "SELECT {columns w}
     FROM work AS w
     WHERE w.setting_id IS NOT NULL AND w.setting_id = {any $1} AND w.kind = 'report-subscription'
       AND (w.status = 'pending' OR w.status = 'processing' OR w.status = 'failed')
     ORDER BY w.due_at, w.id",
);

/// Runs of these subscriptions that are pending, in progress or failed.
#[boxed]
pub async fn live_runs(conn: &mut Conn<'_>, guids: Vec<String>) -> Result<Vec<LiveRun>> {
    if guids.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&LIVE_RUNS, args![guids]).await
}

// Relies on work_by_setting.
const MOVE_RUNS: Sql = sql!(
    "report_subscriptions.move_runs",
    "UPDATE work
     SET business_unit = $3, version = version + 1, updated_at = $1
     WHERE setting_id IS NOT NULL AND setting_id = $2 AND kind = 'report-subscription' AND status = 'pending'
       AND COALESCE(business_unit, '') <> COALESCE($3, '')",
);

/// Gives the runs of a subscription that wait to its present business unit.
#[boxed]
pub async fn move_runs(conn: &mut Conn<'_>, now: Timestamp, guid: &str, unit: Option<&str>) -> Result<u64> {
    conn.execute(&MOVE_RUNS, args![now, guid, unit]).await
}

/// A run that was made, and the zone that it was planned in.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct Reported {
    pub key: String,
    pub time_zone: Option<String>,
}

// Relies on work_by_setting.
const LAST_REPORTED: Sql = sql!(
    "report_subscriptions.last_reported", as Reported,
    "SELECT {columns} FROM work
     WHERE setting_id IS NOT NULL AND setting_id = $1 AND kind = 'report-subscription' AND status = 'completed'
       AND trigger_type = 'scheduled_run'
     ORDER BY due_at DESC, id DESC LIMIT 1",
);

/// The latest planned run of a subscription that was made.
#[boxed]
pub async fn last_reported(conn: &mut Conn<'_>, guid: &str) -> Result<Option<Reported>> {
    conn.fetch_optional(&LAST_REPORTED, args![guid]).await
}

crate::db::statements![
    INSERT,
    UPDATE,
    BY_GUIDS,
    LOCK,
    PAGE,
    CHANGED,
    TOUCHED,
    OF_RUNS,
    LATEST_ENTRY,
    OF_UNIT,
    ORPHANS,
    LIVE_RUNS,
    MOVE_RUNS,
    LAST_REPORTED
];

//! The rules of events and tasks, with their scheduling state. A deleted rule stays readable.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::{Anchor, Reach, SyncStatus, WorkStatus};

use crate::{
    db::{Conn, Result, Sql, args, sql, with_rows},
    walk::{IN_ORDER, Stretch, with_surplus},
};

#[derive(Clone, Debug, PartialEq, Record, SetRow)]
pub struct RuleRow {
    pub id: String,
    pub subject_type: String,
    pub subject_id: String,
    pub business_unit: Option<String>,
    /// At which end of its subject it is.
    pub kind: Anchor,
    pub rule_type: String,
    /// The rule itself, a JSON object.
    pub rule: String,
    /// A JSON array of texts.
    pub channels: String,
    /// Topic, priority and order of channels: a JSON object.
    pub handling: Option<String>,
    /// What its messages say, where it says it itself: a JSON object of texts.
    pub texts: Option<String>,
    #[column(skip)]
    pub schedule_id: Option<i64>,
    #[column(skip)]
    pub occurrence: Option<String>,
    #[column(skip)]
    pub run_at: Option<Timestamp>,
    pub dated_at: Timestamp,
    pub sync_status: SyncStatus,
    #[column(skip)]
    pub sync_error: Option<String>,
    #[column(skip)]
    pub sync_attempts: i64,
    pub sync_due_at: Option<Timestamp>,
    pub active: bool,
    pub deleted_at: Option<Timestamp>,
    #[column(skip)]
    pub last_sent_at: Option<Timestamp>,
    #[column(skip)]
    pub last_sent_occurrence: Option<String>,
    #[column(skip)]
    pub version: i64,
    #[column(skip)]
    pub created_at: Timestamp,
    #[column(skip)]
    pub updated_at: Timestamp,
}

// The subject and the business unit of a rule do not change.
const PUT: Sql = sql!(
    "operations_rules.put", each RuleRow, after 1,
    "INSERT INTO operations_rules ({names}, created_at, updated_at) {values {*}, $1, $1}
     ON CONFLICT (id) DO UPDATE
     SET {replaced 4}, version = operations_rules.version + 1, updated_at = $1,
         sync_error = CASE WHEN EXCLUDED.sync_status = 'failed' THEN operations_rules.sync_error END",
);

/// Writes new rules and changed ones, in id order; what was scheduled and sent stays as it is.
#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, rows: &[RuleRow]) -> Result<u64> {
    if rows.is_empty() {
        return Ok(0);
    }
    let mut rows: Vec<&RuleRow> = rows.iter().collect();
    rows.sort_by(|a, b| a.id.cmp(&b.id));
    conn.execute(&PUT, with_rows(args![now], &rows)).await
}

const BY_IDS: Sql = sql!(
    "operations_rules.by_ids", as RuleRow,
    "SELECT {columns r} FROM operations_rules AS r WHERE r.id = {any $1} AND {reach $2 r.business_unit}",
);
const LOCK: Sql = sql!(
    "operations_rules.lock", as RuleRow,
    "SELECT {columns r} FROM operations_rules AS r
     WHERE r.id = {any $1} AND {reach $2 r.business_unit}{postgres  ORDER BY r.id FOR UPDATE}",
);

/// Those of these that are within reach; deleted ones too.
#[boxed]
pub async fn by_ids(conn: &mut Conn<'_>, reach: &Reach, ids: Vec<String>) -> Result<Vec<RuleRow>> {
    some(conn, &BY_IDS, reach, ids).await
}

/// The same, held until the transaction ends, in id order.
#[boxed]
pub async fn lock(conn: &mut Conn<'_>, reach: &Reach, ids: Vec<String>) -> Result<Vec<RuleRow>> {
    some(conn, &LOCK, reach, ids).await
}

async fn some(conn: &mut Conn<'_>, sql: &Sql, reach: &Reach, mut ids: Vec<String>) -> Result<Vec<RuleRow>> {
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(sql, args![ids, reach]).await
}

const OF_SUBJECTS: Sql = sql!(
    "operations_rules.of_subjects", as RuleRow,
    "SELECT {columns r}
     FROM operations_rules AS r
     WHERE r.deleted_at IS NULL AND r.subject_id = {any $1} AND {reach $2 r.business_unit}
     ORDER BY r.id",
);
const LOCK_OF_SUBJECT: Sql = sql!(
    "operations_rules.lock_of_subject", as RuleRow,
    "SELECT {columns r}
     FROM operations_rules AS r
     WHERE r.deleted_at IS NULL AND r.subject_id = $1
     ORDER BY r.id{postgres  FOR UPDATE}",
);

/// The rules of these subjects that are within reach and not deleted.
#[boxed]
pub async fn of_subjects(conn: &mut Conn<'_>, reach: &Reach, subjects: Vec<String>) -> Result<Vec<RuleRow>> {
    some(conn, &OF_SUBJECTS, reach, subjects).await
}

/// The rules of one subject that are not deleted, held until the transaction ends.
#[boxed]
pub async fn lock_of_subject(conn: &mut Conn<'_>, subject: &str) -> Result<Vec<RuleRow>> {
    conn.fetch_all(&LOCK_OF_SUBJECT, args![subject]).await
}

const PAGE: Sql = sql!(
    "operations_rules.page", as RuleRow,
    "SELECT {columns r}
     FROM operations_rules AS r
     WHERE r.deleted_at IS NULL AND r.id > $1 AND {reach $3 r.business_unit}
     ORDER BY r.id LIMIT $2",
);

// Relies on the primary key: a caller who sees few of them would walk over all of the others'.
const PAGE_TO: Sql = sql!(
    "operations_rules.page_to", as RuleRow,
    "SELECT {columns r}
     FROM operations_rules AS r
     WHERE r.deleted_at IS NULL AND r.id > $1 AND r.id <= $4 AND {reach $3 r.business_unit}
     ORDER BY r.id LIMIT $2",
);
// The last one that one page looks at.
const HORIZON: Sql = sql!(
    "operations_rules.page_horizon", as RuleId,
    "SELECT {columns} FROM operations_rules WHERE id > $1 ORDER BY id LIMIT 1 OFFSET $2",
);

#[derive(Record)]
struct RuleId {
    id: String,
}

/// The next ones after this place that are within reach. For a caller of few it may be short, or empty, and still continue.
#[boxed]
pub async fn stretch(
    conn: &mut Conn<'_>,
    reach: &Reach,
    after: &str,
    limit: i64,
) -> Result<Stretch<RuleRow, String>> {
    let horizon: Option<RuleId> = match reach.units() {
        Some(_) => conn.fetch_optional(&HORIZON, args![after, IN_ORDER - 1]).await?,
        None => None,
    };
    let horizon = horizon.map(|row| row.id);
    let mut bound = args![after, with_surplus(limit), reach];
    let sql = match &horizon {
        Some(last) => {
            bound.extend(args![last]);
            &PAGE_TO
        }
        None => &PAGE,
    };
    let rows = conn.fetch_all(sql, bound).await?;
    Ok(Stretch::cut(rows, limit, |row: &RuleRow| row.id.clone(), horizon))
}

/// Those of the first page.
#[boxed]
pub async fn page(conn: &mut Conn<'_>, reach: &Reach, after: &str, limit: i64) -> Result<Vec<RuleRow>> {
    Ok(stretch(conn, reach, after, limit).await?.rows)
}

/// A rule that is scheduled, and for when.
#[derive(Clone, Debug, PartialEq, SetRow)]
pub struct Synced {
    pub id: String,
    pub schedule_id: Option<i64>,
    pub occurrence: Option<String>,
    pub run_at: Option<Timestamp>,
}

const MARK_SYNCED: Sql = sql!(
    "operations_rules.mark_synced", each Synced, after 1,
    "UPDATE operations_rules
     SET sync_status = 'synced', sync_error = NULL, sync_attempts = 0, sync_due_at = NULL,
         schedule_id = {.schedule_id}, occurrence = {.occurrence}, run_at = {.run_at},
         version = operations_rules.version + 1, updated_at = $1
     {from rows} WHERE operations_rules.id = {.id}",
);

/// Records what is scheduled now, for rules that are locked.
#[boxed]
pub async fn mark_synced(conn: &mut Conn<'_>, now: Timestamp, rows: &[Synced]) -> Result<u64> {
    if rows.is_empty() {
        return Ok(0);
    }
    conn.execute(&MARK_SYNCED, with_rows(args![now], rows)).await
}

const MARK_FAILED: Sql = sql!(
    "operations_rules.mark_failed",
    "UPDATE operations_rules
     SET sync_status = 'failed', schedule_id = NULL, sync_error = $3, sync_attempts = sync_attempts + 1, sync_due_at = $4,
         version = version + 1, updated_at = $1
     WHERE id = $2 AND sync_status <> 'synced'",
);

/// Records why a rule could not be scheduled; one that somebody else has synced meanwhile stays synced.
#[boxed]
pub async fn mark_failed(
    conn: &mut Conn<'_>,
    now: Timestamp,
    id: &str,
    error: &str,
    again_at: Timestamp,
) -> Result<bool> {
    Ok(conn.execute(&MARK_FAILED, args![now, id, error, again_at]).await? > 0)
}

const MARK_PENDING: Sql = sql!(
    "operations_rules.mark_pending",
    "UPDATE operations_rules
     SET sync_status = 'pending', sync_error = NULL, sync_due_at = $1, version = version + 1, updated_at = $1
     WHERE id = $2",
);
const MARK_PENDING_OF: Sql = sql!(
    "operations_rules.mark_pending_of",
    "UPDATE operations_rules
     SET sync_status = 'pending', sync_error = NULL, sync_due_at = $1, dated_at = $1, version = version + 1,
         updated_at = $1
     WHERE deleted_at IS NULL AND subject_id IN (
         SELECT id FROM operations_subjects WHERE organisation = $2 AND deleted_at IS NULL)",
);

/// The reconciler takes this rule next.
#[boxed]
pub async fn mark_pending(conn: &mut Conn<'_>, now: Timestamp, id: &str) -> Result<bool> {
    Ok(conn.execute(&MARK_PENDING, args![now, id]).await? > 0)
}

/// The reconciler takes every rule of an organisation: its zone or hours have changed.
#[boxed]
pub async fn mark_pending_of(conn: &mut Conn<'_>, now: Timestamp, organisation: &str) -> Result<u64> {
    conn.execute(&MARK_PENDING_OF, args![now, organisation]).await
}

#[derive(Record)]
struct Id {
    id: String,
}

// Relies on operations_rules_to_sync, which holds only what is not synced.
const TO_SYNC: Sql = sql!(
    "operations_rules.to_sync",
    "SELECT id FROM operations_rules
     WHERE sync_due_at IS NOT NULL AND sync_due_at <= $1
     ORDER BY sync_due_at, id LIMIT $2",
);

/// Rules that are not synced and whose next attempt is due.
#[boxed]
pub async fn to_sync(conn: &mut Conn<'_>, now: Timestamp, limit: i64) -> Result<Vec<String>> {
    let ids: Vec<Id> = conn.fetch_all(&TO_SYNC, args![now, limit]).await?;
    Ok(ids.into_iter().map(|row| row.id).collect())
}

#[derive(SetRow)]
struct Sent<'a> {
    id: &'a str,
    occurrence: &'a str,
}

const MARK_SENT: Sql = sql!(
    "operations_rules.mark_sent", each Sent<'_>, after 1,
    "UPDATE operations_rules
     SET last_sent_at = $1, last_sent_occurrence = {.occurrence}, updated_at = $1
     {from rows} WHERE operations_rules.id = {.id}",
);

/// Records that these occurrences reached somebody: `(rule, occurrence)`.
#[boxed]
pub async fn mark_sent(conn: &mut Conn<'_>, now: Timestamp, rows: &[(String, String)]) -> Result<u64> {
    let sent: Vec<Sent<'_>> = rows.iter().map(|(id, occurrence)| Sent { id, occurrence }).collect();
    conn.execute(&MARK_SENT, with_rows(args![now], &sent)).await
}

/// A work row of a rule that is not over: waiting, being worked on, or with messages on their way.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct LiveWork {
    pub id: i64,
    pub key: String,
    pub setting_id: String,
    pub status: WorkStatus,
}

// Relies on work_by_setting and notifications_by_work.
const LIVE_WORK: Sql = sql!(
    "operations_rules.live_work", as LiveWork,
    "SELECT {columns w} FROM work AS w
     WHERE w.setting_id = {any $1} AND w.kind = 'operations'
         AND (w.status IN ('pending', 'processing', 'failed') OR w.open_notifications > 0 OR EXISTS (
             SELECT 1 FROM notifications AS n
             WHERE n.work_id = w.id AND n.status IN ('pending', 'retrying', 'parked')))",
);

/// Work of these rules that is not over.
#[boxed]
pub async fn live_work(conn: &mut Conn<'_>, ids: Vec<String>) -> Result<Vec<LiveWork>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&LIVE_WORK, args![ids]).await
}

/// A waiting work row with the rule it belongs to, where there is one.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct Expected {
    pub id: i64,
    pub key: String,
    pub rule_id: Option<String>,
    pub schedule_id: Option<i64>,
    pub sync_status: Option<SyncStatus>,
    pub deleted_at: Option<Timestamp>,
    pub active: Option<bool>,
}

// The next pending rows, over work_ready; each with one look-up of its rule.
const EXPECTED: Sql = sql!(
    "operations_rules.expected",
    "SELECT w.id, w.key, r.id AS rule_id, r.schedule_id, r.sync_status, r.deleted_at, r.active
     FROM (SELECT id, key, setting_id, ready_at FROM work
           WHERE status = 'pending' AND NOT on_hold AND kind = 'operations' AND ready_at > $1
           ORDER BY ready_at, id LIMIT $2) AS w
     LEFT JOIN operations_rules AS r ON r.id = w.setting_id
     ORDER BY w.ready_at, w.id",
);

/// The next work rows of rules, to check whether their rules still want them. Rows that are due already are checked when
/// they are decided.
#[boxed]
pub async fn expected(conn: &mut Conn<'_>, now: Timestamp, limit: i64) -> Result<Vec<Expected>> {
    conn.fetch_all(&EXPECTED, args![now, limit]).await
}

crate::db::statements![
    PUT,
    BY_IDS,
    LOCK,
    OF_SUBJECTS,
    LOCK_OF_SUBJECT,
    PAGE,
    PAGE_TO,
    HORIZON,
    MARK_SYNCED,
    MARK_FAILED,
    MARK_PENDING,
    MARK_PENDING_OF,
    TO_SYNC,
    MARK_SENT,
    LIVE_WORK,
    EXPECTED
];

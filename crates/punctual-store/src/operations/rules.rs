//! The rules that announce events and tasks, and how far each is scheduled. One that is deleted stays readable.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct RuleRow {
    pub id: String,
    pub subject_type: String,
    pub subject_id: String,
    /// `start` or `end`.
    pub kind: String,
    pub rule_type: String,
    /// The rule itself, a JSON object.
    pub rule: String,
    /// A JSON array of texts.
    pub channels: String,
    /// Topic, priority and order of channels: a JSON object.
    pub handling: Option<String>,
    pub schedule_id: Option<i64>,
    pub occurrence: Option<String>,
    pub run_at: Option<i64>,
    pub dated_at: i64,
    /// `pending`, `synced` or `failed`.
    pub sync_status: String,
    pub sync_error: Option<String>,
    pub sync_tries: i64,
    pub sync_due_at: Option<i64>,
    pub active: bool,
    pub deleted_at: Option<i64>,
    pub last_sent_at: Option<i64>,
    pub last_sent_occurrence: Option<String>,
    pub business_unit: Option<String>,
    pub version: i64,
    pub created_at: i64,
    pub updated_at: i64,
}

macro_rules! columns {
    () => {
        "r.id, r.subject_type, r.subject_id, r.kind, r.rule_type, r.rule, r.channels, r.handling, r.schedule_id, r.occurrence, \
         r.run_at, r.dated_at, r.sync_status, r.sync_error, r.sync_tries, r.sync_due_at, r.active, r.deleted_at, \
         r.last_sent_at, r.last_sent_occurrence, r.business_unit, r.version, r.created_at, r.updated_at"
    };
}

macro_rules! put {
    ($values:literal) => {
        concat!(
            "
    INSERT INTO operations_rules (id, subject_type, subject_id, kind, rule_type, rule, channels, dated_at, sync_status,
        sync_due_at, active, deleted_at, business_unit, handling, created_at, updated_at)
    ",
            $values,
            "
    ON CONFLICT (id) DO UPDATE
    SET rule_type = EXCLUDED.rule_type, rule = EXCLUDED.rule, kind = EXCLUDED.kind, channels = EXCLUDED.channels,
        handling = EXCLUDED.handling, dated_at = EXCLUDED.dated_at, sync_status = EXCLUDED.sync_status,
        sync_error = CASE WHEN EXCLUDED.sync_status = 'failed' THEN operations_rules.sync_error END,
        sync_due_at = EXCLUDED.sync_due_at, active = EXCLUDED.active, deleted_at = EXCLUDED.deleted_at,
        version = operations_rules.version + 1, updated_at = EXCLUDED.updated_at"
        )
    };
}
const PUT: Sql = Sql::rows(
    "operations_rules.put",
    put!("VALUES ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $1, $1)"),
    put!(
        "SELECT r.id, r.subject_type, r.subject_id, r.kind, r.rule_type, r.rule, r.channels, r.dated_at, r.sync_status,
        r.sync_due_at, r.active, r.deleted_at, r.business_unit, r.handling, $1, $1
    FROM UNNEST($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[],
            $10::text[], $11::bigint[], $12::boolean[], $13::bigint[], $14::text[], $15::text[])
        AS r(id, subject_type, subject_id, kind, rule_type, rule, channels, dated_at, sync_status, sync_due_at, active,
            deleted_at, business_unit, handling)"
    ),
);

/// Writes new rules and changed ones, in id order; what was scheduled and sent stays as it is.
#[boxed]
pub async fn put(conn: &mut Conn<'_>, now: Timestamp, rows: &[RuleRow]) -> Result<u64> {
    if rows.is_empty() {
        return Ok(0);
    }
    let mut rows: Vec<&RuleRow> = rows.iter().collect();
    rows.sort_by(|a, b| a.id.cmp(&b.id));
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            rows.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    let args = args![
        now,
        column!(|r| r.id.as_str()),
        column!(|r| r.subject_type.as_str()),
        column!(|r| r.subject_id.as_str()),
        column!(|r| r.kind.as_str()),
        column!(|r| r.rule_type.as_str()),
        column!(|r| r.rule.as_str()),
        column!(|r| r.channels.as_str()),
        column!(|r| r.dated_at),
        column!(|r| r.sync_status.as_str()),
        column!(|r| r.sync_due_at),
        column!(|r| r.active),
        column!(|r| r.deleted_at),
        column!(|r| r.business_unit.as_deref()),
        column!(|r| r.handling.as_deref()),
    ];
    conn.execute(&PUT, args).await
}

macro_rules! by_ids {
    ($which:literal) => {
        concat!("SELECT ", columns!(), " FROM operations_rules AS r WHERE r.id = ", $which)
    };
}
const BY_IDS: Sql = Sql::rows("operations_rules.by_ids", by_ids!("$1"), by_ids!("ANY($1)"));
const LOCK: Sql =
    Sql::rows("operations_rules.lock", by_ids!("$1"), by_ids!("ANY($1) ORDER BY r.id FOR UPDATE"));

/// Deleted ones too.
#[boxed]
pub async fn by_ids(conn: &mut Conn<'_>, ids: Vec<String>) -> Result<Vec<RuleRow>> {
    some(conn, &BY_IDS, ids).await
}

/// Held until the transaction ends, in id order; deleted ones too.
#[boxed]
pub async fn lock(conn: &mut Conn<'_>, ids: Vec<String>) -> Result<Vec<RuleRow>> {
    some(conn, &LOCK, ids).await
}

async fn some(conn: &mut Conn<'_>, sql: &Sql, mut ids: Vec<String>) -> Result<Vec<RuleRow>> {
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(sql, args![ids]).await
}

macro_rules! of_subjects {
    ($which:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM operations_rules AS r WHERE r.deleted_at IS NULL AND r.subject_id = ",
            $which
        )
    };
}
const OF_SUBJECTS: Sql = Sql::rows(
    "operations_rules.of_subjects",
    of_subjects!("$1 ORDER BY r.id"),
    of_subjects!("ANY($1) ORDER BY r.id"),
);
const LOCK_OF_SUBJECT: Sql = Sql::each(
    "operations_rules.lock_of_subject",
    of_subjects!("$1 ORDER BY r.id"),
    of_subjects!("$1 ORDER BY r.id FOR UPDATE"),
);

/// The rules of these subjects that are not deleted.
#[boxed]
pub async fn of_subjects(conn: &mut Conn<'_>, subjects: Vec<String>) -> Result<Vec<RuleRow>> {
    some(conn, &OF_SUBJECTS, subjects).await
}

/// The rules of one subject that are not deleted, held until the transaction ends.
#[boxed]
pub async fn lock_of_subject(conn: &mut Conn<'_>, subject: &str) -> Result<Vec<RuleRow>> {
    conn.fetch_all(&LOCK_OF_SUBJECT, args![subject]).await
}

const PAGE: Sql = Sql::same(
    "operations_rules.page",
    concat!(
        "SELECT ",
        columns!(),
        " FROM operations_rules AS r WHERE r.deleted_at IS NULL AND r.id > $1 ORDER BY r.id LIMIT $2"
    ),
);

#[boxed]
pub async fn page(conn: &mut Conn<'_>, after: &str, limit: i64) -> Result<Vec<RuleRow>> {
    conn.fetch_all(&PAGE, args![after, limit]).await
}

/// A rule whose schedule is as it should be.
#[derive(Clone, Debug, PartialEq)]
pub struct Synced {
    pub id: String,
    pub schedule_id: Option<i64>,
    pub occurrence: Option<String>,
    pub run_at: Option<i64>,
}

macro_rules! mark_synced {
    ($from:literal, $id:literal, $values:literal) => {
        concat!(
            "
    UPDATE operations_rules
    SET sync_status = 'synced', sync_error = NULL, sync_tries = 0, sync_due_at = NULL,
        version = operations_rules.version + 1, updated_at = $1, ",
            $values,
            $from,
            "
    WHERE operations_rules.id = ",
            $id
        )
    };
}
const MARK_SYNCED: Sql = Sql::rows(
    "operations_rules.mark_synced",
    mark_synced!("", "$2", "schedule_id = $3, occurrence = $4, run_at = $5"),
    mark_synced!(
        "
    FROM UNNEST($2::text[], $3::bigint[], $4::text[], $5::bigint[]) AS r(id, schedule_id, occurrence, run_at)",
        "r.id",
        "schedule_id = r.schedule_id, occurrence = r.occurrence, run_at = r.run_at"
    ),
);

/// Writes down what is scheduled now, for rules that are locked.
#[boxed]
pub async fn mark_synced(conn: &mut Conn<'_>, now: Timestamp, rows: &[Synced]) -> Result<u64> {
    if rows.is_empty() {
        return Ok(0);
    }
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            rows.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    let args = args![
        now,
        column!(|r| r.id.as_str()),
        column!(|r| r.schedule_id),
        column!(|r| r.occurrence.as_deref()),
        column!(|r| r.run_at),
    ];
    conn.execute(&MARK_SYNCED, args).await
}

const MARK_FAILED: Sql = Sql::same(
    "operations_rules.mark_failed",
    "UPDATE operations_rules
     SET sync_status = 'failed', schedule_id = NULL, sync_error = $3, sync_tries = sync_tries + 1, sync_due_at = $4,
         version = version + 1, updated_at = $1
     WHERE id = $2 AND sync_status <> 'synced'",
);

/// Writes down why a rule could not be scheduled; one that somebody else has brought into step stays so.
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

macro_rules! mark_pending {
    ($dated:literal, $which:literal) => {
        concat!(
            "UPDATE operations_rules
     SET sync_status = 'pending', sync_error = NULL, sync_due_at = $1, ",
            $dated,
            "version = version + 1, updated_at = $1
     WHERE ",
            $which
        )
    };
}
const MARK_PENDING: Sql = Sql::same("operations_rules.mark_pending", mark_pending!("", "id = $2"));
const MARK_PENDING_OF: Sql = Sql::same(
    "operations_rules.mark_pending_of",
    mark_pending!(
        "dated_at = $1, ",
        "deleted_at IS NULL AND subject_id IN (
         SELECT id FROM operations_subjects WHERE organisation = $2 AND deleted_at IS NULL)"
    ),
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

// Relies on operations_rules_to_sync, which holds only what is out of step.
const TO_SYNC: Sql = Sql::same(
    "operations_rules.to_sync",
    "SELECT id FROM operations_rules
     WHERE sync_due_at IS NOT NULL AND sync_due_at <= $1
     ORDER BY sync_due_at, id LIMIT $2",
);

/// Rules that have been out of step for long enough.
#[boxed]
pub async fn to_sync(conn: &mut Conn<'_>, now: Timestamp, limit: i64) -> Result<Vec<String>> {
    let ids: Vec<Id> = conn.fetch_all(&TO_SYNC, args![now, limit]).await?;
    Ok(ids.into_iter().map(|row| row.id).collect())
}

const MARK_SENT: Sql = Sql::rows(
    "operations_rules.mark_sent",
    "UPDATE operations_rules SET last_sent_at = $1, last_sent_occurrence = $3, updated_at = $1 WHERE id = $2",
    "UPDATE operations_rules
     SET last_sent_at = $1, last_sent_occurrence = r.occurrence, updated_at = $1
     FROM UNNEST($2::text[], $3::text[]) AS r(id, occurrence) WHERE operations_rules.id = r.id",
);

/// Writes down that these occurrences reached somebody: `(rule, occurrence)`.
#[boxed]
pub async fn mark_sent(conn: &mut Conn<'_>, now: Timestamp, rows: &[(String, String)]) -> Result<u64> {
    let (ids, occurrences): (Vec<String>, Vec<String>) = rows.iter().cloned().unzip();
    conn.execute(&MARK_SENT, args![now, ids, occurrences]).await
}

/// A work row of a rule that is not over: waiting, being worked on, or with messages on their way.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct LiveWork {
    pub id: i64,
    pub key: String,
    pub setting_id: String,
    pub status: String,
}

macro_rules! live_work {
    ($which:literal) => {
        concat!(
            "SELECT w.id, w.key, w.setting_id, w.status FROM work AS w
     WHERE w.setting_id = ",
            $which,
            " AND w.kind = 'operations'
         AND (w.status IN ('pending', 'processing', 'failed') OR w.open_notifications > 0 OR EXISTS (
             SELECT 1 FROM notifications AS n
             WHERE n.work_id = w.id AND n.status IN ('pending', 'retrying', 'parked')))"
        )
    };
}
// Relies on work_by_setting and notifications_by_work.
const LIVE_WORK: Sql = Sql::rows("operations_rules.live_work", live_work!("$1"), live_work!("ANY($1)"));

/// What of these rules is not over.
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
    pub sync_status: Option<String>,
    pub deleted_at: Option<i64>,
    pub active: Option<bool>,
}

// The soonest of those that wait, over work_ready; each with one look-up of its rule.
const EXPECTED: Sql = Sql::same(
    "operations_rules.expected",
    "SELECT w.id, w.key, r.id AS rule_id, r.schedule_id, r.sync_status, r.deleted_at, r.active
     FROM (SELECT id, key, setting_id, ready_at FROM work
           WHERE status = 'pending' AND NOT on_hold AND kind = 'operations' AND ready_at > $1
           ORDER BY ready_at, id LIMIT $2) AS w
     LEFT JOIN operations_rules AS r ON r.id = w.setting_id
     ORDER BY w.ready_at, w.id",
);

/// The work rows of rules that come next, to see whether their rules still want them. What is due already is decided, and
/// that decision looks for itself.
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
    MARK_SYNCED,
    MARK_FAILED,
    MARK_PENDING,
    MARK_PENDING_OF,
    TO_SYNC,
    MARK_SENT,
    LIVE_WORK,
    EXPECTED
];

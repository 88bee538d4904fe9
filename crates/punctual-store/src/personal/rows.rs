//! Work, messages, surveys, events, sources and audit entries that are about a person.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::{Reach, WorkStatus, survey::InstanceStatus};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

/// A row of work that may name a person.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct FoundWork {
    pub id: i64,
    pub key: String,
    pub kind: String,
    pub status: WorkStatus,
    pub input: String,
    pub trace_blob: Option<String>,
    pub business_unit: Option<String>,
}

const WORK: Sql = sql!(
    "personal.found_work", as FoundWork,
    "SELECT {columns} FROM work WHERE id IN ({ints $1}) AND {reach $2 business_unit} ORDER BY id",
);

/// Those of these rows that are within reach.
#[boxed]
pub async fn found_work(conn: &mut Conn<'_>, reach: &Reach, ids: Vec<i64>) -> Result<Vec<FoundWork>> {
    conn.fetch_all(&WORK, args![ids, reach]).await
}

#[derive(SetRow)]
struct NewText<'a> {
    wanted: i64,
    text: &'a str,
}

// A row that is being decided keeps its input: the next run finds it.
const BLANK_WORK: Sql = sql!(
    "personal.blank_work", each NewText<'_>, after 0,
    "UPDATE work SET input = {.text}, trace_blob = NULL {from rows}
     WHERE work.id = {.wanted} AND work.status <> 'processing'",
);

/// Writes inputs without the person, and takes the traces away.
#[boxed]
pub async fn blank_work(conn: &mut Conn<'_>, inputs: &[(i64, String)]) -> Result<u64> {
    let rows: Vec<NewText<'_>> =
        inputs.iter().map(|(wanted, text)| NewText { wanted: *wanted, text }).collect();
    conn.execute(&BLANK_WORK, with_rows(args![], &rows)).await
}

const OF_SOURCES: Sql = sql!(
    "personal.traced_of_source", as FoundWork,
    "SELECT {columns} FROM work
     WHERE source_type = $1 AND source_id = $2 AND trace_blob IS NOT NULL AND {reach $3 business_unit} ORDER BY id",
);

/// Work about a source whose trace may tell what its state said.
#[boxed]
pub async fn traced_of_source(
    conn: &mut Conn<'_>,
    reach: &Reach,
    source_type: &str,
    source_id: &str,
) -> Result<Vec<FoundWork>> {
    conn.fetch_all(&OF_SOURCES, args![source_type, source_id, reach]).await
}

// The key of a digest names the person. Nobody asks for it again once its day is over.
const RENAME_DIGESTS: Sql = sql!(
    "personal.rename_digests",
    "UPDATE work SET key = 'digest:erased:' || CAST(id AS TEXT)
     WHERE id IN ({ints $1}) AND kind = 'digest' AND status <> 'processing'",
);
const RENAME_KEYS: Sql = sql!(
    "personal.rename_keys",
    "{sqlite UPDATE work SET key = key WHERE FALSE AND key IN (SELECT value FROM json_each($1))}{postgres UPDATE work_keys AS k SET key = w.key
     FROM work AS w WHERE k.key = ANY($1) AND w.id = k.work_id AND w.key <> k.key}",
);

/// Takes the person out of the keys of these digests.
#[boxed]
pub async fn rename_digests(conn: &mut Conn<'_>, ids: Vec<i64>, keys: Vec<String>) -> Result<()> {
    conn.execute(&RENAME_DIGESTS, args![ids]).await?;
    if !conn.is_sqlite() {
        conn.execute(&RENAME_KEYS, args![keys]).await?;
    }
    Ok(())
}

#[derive(SetRow)]
struct Shorter<'a> {
    wanted: &'a str,
    targets: &'a str,
}

const BLANK_MESSAGES: Sql = sql!(
    "personal.blank_messages",
    "UPDATE messages
     SET targets = '[]', subject = '', body = '', html = NULL, context = NULL, type_data = NULL, attachments = NULL,
         envelope = NULL
     WHERE id IN ({texts $1})",
);
const SHORTEN_MESSAGES: Sql = sql!(
    "personal.shorten_messages", each Shorter<'_>, after 0,
    "UPDATE messages SET targets = {.targets} {from rows} WHERE messages.id = {.wanted}",
);

/// Takes the text out of messages to the person alone, and the person out of those to several.
#[boxed]
pub async fn blank_messages(
    conn: &mut Conn<'_>,
    blank: Vec<String>,
    shorter: &[(String, String)],
) -> Result<()> {
    if !blank.is_empty() {
        conn.execute(&BLANK_MESSAGES, args![blank]).await?;
    }
    if !shorter.is_empty() {
        let rows: Vec<Shorter<'_>> =
            shorter.iter().map(|(wanted, targets)| Shorter { wanted, targets }).collect();
        conn.execute(&SHORTEN_MESSAGES, with_rows(args![], &rows)).await?;
    }
    Ok(())
}

/// A survey that was offered to a person.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct FoundInstance {
    pub id: i64,
    pub public_id: String,
    pub survey_id: i64,
    pub status: InstanceStatus,
    pub recipient_address: String,
    pub customer_ref: Option<String>,
    pub metadata: String,
    pub triggered_at: Timestamp,
    pub business_unit: Option<String>,
}

const INSTANCES: Sql = sql!(
    "personal.found_instances", as FoundInstance,
    "SELECT {columns} FROM survey_instances WHERE id IN ({ints $1}) AND {reach $2 business_unit} ORDER BY id",
);

/// Those of these instances that are within reach.
#[boxed]
pub async fn found_instances(
    conn: &mut Conn<'_>,
    reach: &Reach,
    ids: Vec<i64>,
) -> Result<Vec<FoundInstance>> {
    conn.fetch_all(&INSTANCES, args![ids, reach]).await
}

// One that may still be answered ends with it: whatever is planned for it finds it deleted.
const BLANK_INSTANCES: Sql = sql!(
    "personal.blank_instances",
    "UPDATE survey_instances
     SET recipient_address = '', customer_ref = NULL, metadata = '{}',
         deleted = (deleted OR status = 'pending' OR status = 'sent' OR status = 'opened')
     WHERE id IN ({ints $1})",
);

#[boxed]
pub async fn blank_instances(conn: &mut Conn<'_>, ids: Vec<i64>) -> Result<u64> {
    conn.execute(&BLANK_INSTANCES, args![ids]).await
}

/// An answer to a survey.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct FoundResponse {
    pub id: i64,
    pub instance_id: i64,
    pub answers: String,
    pub completed_at: Timestamp,
}

const RESPONSES: Sql = sql!(
    "personal.responses", as FoundResponse,
    "SELECT {columns} FROM survey_responses WHERE instance_id IN ({ints $1}) ORDER BY id",
);

/// The answers of these instances.
#[boxed]
pub async fn responses_of(conn: &mut Conn<'_>, instances: Vec<i64>) -> Result<Vec<FoundResponse>> {
    conn.fetch_all(&RESPONSES, args![instances]).await
}

#[derive(Record)]
struct Sends {
    result: String,
}

// Relies on work_by_key: keys are compared byte by byte, and `;` is the letter after `:`.
const SENDS: Sql = sql!(
    "personal.sends",
    "SELECT result FROM work
     WHERE {sqlite key >= $1 AND key < $2}{postgres id = ANY(ARRAY(SELECT work_id FROM work_keys WHERE key >= $1 AND key < $2))}
       AND result IS NOT NULL",
);

/// The ids of the messages that an instance sent, also of those that were purged.
#[boxed]
pub async fn sends_of(conn: &mut Conn<'_>, public_id: &str) -> Result<Vec<String>> {
    let beginning = format!("survey:{public_id}:send");
    let rows: Vec<Sends> =
        conn.fetch_all(&SENDS, args![format!("{beginning}:"), format!("{beginning};")]).await?;
    let ids = |row: Sends| -> Vec<String> {
        let result: serde_json::Value = serde_json::from_str(&row.result).unwrap_or_default();
        let named = result["notifications"].as_array().into_iter().flatten();
        named.filter_map(|id| id.as_str().map(str::to_owned)).collect()
    };
    Ok(rows.into_iter().flat_map(ids).collect())
}

const BLANK_RESPONSES: Sql = sql!(
    "personal.blank_responses",
    "UPDATE survey_responses SET answers = '{}', agent_id = NULL WHERE id IN ({ints $1})",
);
const DELETE_ANSWERS: Sql =
    sql!("personal.delete_answers", "DELETE FROM survey_answers WHERE response_id IN ({ints $1})");

/// Empties answers; that there was one stays.
#[boxed]
pub async fn blank_responses(conn: &mut Conn<'_>, ids: Vec<i64>) -> Result<u64> {
    conn.execute(&DELETE_ANSWERS, args![ids.clone()]).await?;
    conn.execute(&BLANK_RESPONSES, args![ids]).await
}

#[derive(Record)]
struct Number {
    id: i64,
}

const EVENTS: Sql = sql!(
    "personal.events",
    "SELECT id FROM outbox_events WHERE instance_public_id IN ({texts $1}) ORDER BY id",
);

/// Events that were published about these instances.
#[boxed]
pub async fn events_of(conn: &mut Conn<'_>, public_ids: Vec<String>) -> Result<Vec<i64>> {
    let rows: Vec<Number> = conn.fetch_all(&EVENTS, args![public_ids]).await?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}

const WORK_EVENTS: Sql =
    sql!("personal.work_events", "SELECT id FROM outbox_events WHERE work_key IN ({texts $1}) ORDER BY id");

/// Events that were published about these rows of work.
#[boxed]
pub async fn events_of_work(conn: &mut Conn<'_>, keys: Vec<String>) -> Result<Vec<i64>> {
    let rows: Vec<Number> = conn.fetch_all(&WORK_EVENTS, args![keys]).await?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}

const EVENT_NOTIFICATIONS: Sql = sql!(
    "personal.event_notifications",
    "SELECT n.seq AS id FROM outbox_deliveries AS d JOIN notifications AS n ON n.id = d.notification_id
     WHERE d.event_id IN ({ints $1})",
);

/// The messages that carry these events to subscribers.
#[boxed]
pub async fn event_notifications(conn: &mut Conn<'_>, events: Vec<i64>) -> Result<Vec<i64>> {
    let rows: Vec<Number> = conn.fetch_all(&EVENT_NOTIFICATIONS, args![events]).await?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}

/// An event as it was published.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct FoundEvent {
    pub event_type: String,
    pub payload: String,
    pub created_at: Timestamp,
}

const PUBLISHED: Sql = sql!(
    "personal.published", as FoundEvent,
    "SELECT {columns} FROM outbox_events WHERE id IN ({ints $1}) ORDER BY id",
);

/// What these events said.
#[boxed]
pub async fn published(conn: &mut Conn<'_>, ids: Vec<i64>) -> Result<Vec<FoundEvent>> {
    conn.fetch_all(&PUBLISHED, args![ids]).await
}

const BLANK_EVENTS: Sql =
    sql!("personal.blank_events", "UPDATE outbox_events SET payload = '{}' WHERE id IN ({ints $1})");
const BLANK_EVENT_TEXTS: Sql = sql!(
    "personal.blank_event_texts",
    "UPDATE notifications SET body = '{}', context = NULL,
         type_data = CASE WHEN type_data IS NULL THEN NULL ELSE '{}' END, version = version + 1
     WHERE seq IN ({ints $1}) AND lease_expires_at IS NULL",
);

/// Empties events and the messages that carry them.
#[boxed]
pub async fn blank_events(conn: &mut Conn<'_>, events: Vec<i64>, messages: Vec<i64>) -> Result<u64> {
    conn.execute(&BLANK_EVENT_TEXTS, args![messages]).await?;
    conn.execute(&BLANK_EVENTS, args![events]).await
}

/// A source whose state may name a person.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct FoundSource {
    pub source_type: String,
    pub source_id: String,
    pub state: String,
    pub business_unit: Option<String>,
}

// Relies on sources_changed.
const SOURCES: Sql = sql!(
    "personal.found_sources", as FoundSource,
    "SELECT {columns} FROM sources WHERE updated_at IN ({ints $1}) AND {reach $2 business_unit}
     ORDER BY source_type, source_id",
);

/// Sources that were last changed at these moments and are within reach.
#[boxed]
pub async fn found_sources(
    conn: &mut Conn<'_>,
    reach: &Reach,
    moments: Vec<i64>,
) -> Result<Vec<FoundSource>> {
    conn.fetch_all(&SOURCES, args![moments, reach]).await
}

const REWRITE_SOURCE: Sql = sql!(
    "personal.rewrite_source",
    "UPDATE sources SET state = $3, version = version + 1 WHERE source_type = $1 AND source_id = $2",
);

/// Writes the state of a source without the person. The moment of its last change stays.
#[boxed]
pub async fn rewrite_source(
    conn: &mut Conn<'_>,
    source_type: &str,
    source_id: &str,
    state: &str,
) -> Result<()> {
    conn.execute(&REWRITE_SOURCE, args![source_type, source_id, state]).await?;
    Ok(())
}

#[derive(Record)]
struct Count {
    count: i64,
}

const AUDIT_ENTRIES: Sql = sql!(
    "personal.audit_entries",
    "SELECT COUNT(*) AS count FROM audit
     WHERE subject_kind = $1 AND subject_id IN ({texts $2}) AND ($3 OR reason IS NOT NULL OR data IS NOT NULL)",
);

/// How many entries about these subjects have something to erase; with `with_subject` the id of the subject counts, too.
#[boxed]
pub async fn audit_entries(
    conn: &mut Conn<'_>,
    subject_kind: &str,
    subject_ids: Vec<String>,
    with_subject: bool,
) -> Result<i64> {
    let row: Count = conn.fetch_one(&AUDIT_ENTRIES, args![subject_kind, subject_ids, with_subject]).await?;
    Ok(row.count)
}

/// What the audit says about a subject.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct FoundEntry {
    pub at: Timestamp,
    pub action: String,
    pub subject_kind: String,
    pub subject_id: String,
    pub reason: Option<String>,
    pub data: Option<String>,
}

const ENTRIES: Sql = sql!(
    "personal.entries", as FoundEntry,
    "SELECT {columns} FROM audit
     WHERE subject_kind = $1 AND subject_id IN ({texts $2}) AND ($3 OR reason IS NOT NULL OR data IS NOT NULL)
     ORDER BY id LIMIT $4",
);

/// Entries about these subjects that an erasure would empty, the oldest first.
#[boxed]
pub async fn entries(
    conn: &mut Conn<'_>,
    subject_kind: &str,
    subject_ids: Vec<String>,
    with_subject: bool,
    limit: i64,
) -> Result<Vec<FoundEntry>> {
    conn.fetch_all(&ENTRIES, args![subject_kind, subject_ids, with_subject, limit]).await
}

const UNERASED: Sql = sql!(
    "personal.unerased",
    "SELECT id FROM audit
     WHERE subject_kind = $1 AND subject_id IN ({texts $2}) AND ($3 OR reason IS NOT NULL OR data IS NOT NULL)
     ORDER BY id LIMIT $4",
);

/// Such entries by number, the oldest first.
#[boxed]
pub async fn unerased_among(
    conn: &mut Conn<'_>,
    subject_kind: &str,
    subject_ids: Vec<String>,
    with_subject: bool,
    limit: i64,
) -> Result<Vec<i64>> {
    let bound = args![subject_kind, subject_ids, with_subject, limit];
    let rows: Vec<Number> = conn.fetch_all(&UNERASED, bound).await?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}

crate::db::statements![
    WORK,
    BLANK_WORK,
    OF_SOURCES,
    RENAME_DIGESTS,
    RENAME_KEYS,
    BLANK_MESSAGES,
    SHORTEN_MESSAGES,
    INSTANCES,
    BLANK_INSTANCES,
    RESPONSES,
    SENDS,
    BLANK_RESPONSES,
    DELETE_ANSWERS,
    EVENTS,
    WORK_EVENTS,
    EVENT_NOTIFICATIONS,
    PUBLISHED,
    BLANK_EVENTS,
    BLANK_EVENT_TEXTS,
    SOURCES,
    REWRITE_SOURCE,
    AUDIT_ENTRIES,
    ENTRIES,
    UNERASED
];

//! Erases messages to a person: addresses and texts are removed; the row, its key and its outcome stay.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::{NotificationStatus, Reach};
use serde_json::Value;

use crate::{
    db::{Conn, Result, Sql, args, sql, with_rows},
    notifications::{Withdrawn, contains_pattern},
    uploads,
};

/// A notification that may name a person.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct FoundNotification {
    pub seq: i64,
    pub id: String,
    pub status: NotificationStatus,
    /// A JSON array of texts.
    pub targets: Option<String>,
    pub last_error: Option<String>,
    pub lease_expires_at: Option<Timestamp>,
    pub work_id: Option<i64>,
    pub business_unit: Option<String>,
}

const FOUND: Sql = sql!(
    "personal.found_notifications", as FoundNotification,
    "SELECT {columns} FROM notifications WHERE seq IN ({ints $1}) AND {reach $2 business_unit} ORDER BY seq",
);

/// Those of these notifications that are within reach.
#[boxed]
pub async fn found_notifications(
    conn: &mut Conn<'_>,
    reach: &Reach,
    seqs: Vec<i64>,
) -> Result<Vec<FoundNotification>> {
    conn.fetch_all(&FOUND, args![seqs, reach]).await
}

// One of the addresses `$2`, a JSON array of texts in comparable form and in lower case: SQLite takes one set a statement.
// Phone numbers are written in many ways.
const THEIRS: &str = "(TRIM({folded target}) IN ({sqlite SELECT value FROM json_each($2)}{postgres SELECT JSONB_ARRAY_ELEMENTS_TEXT(CAST($2 AS JSONB))})
     OR (target LIKE '+%' AND REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(REPLACE(
         target, ' ', ''), '\u{a0}', ''), '-', ''), '.', ''), '(', ''), ')', ''), '/', '') IN ({sqlite SELECT value FROM json_each($2)}{postgres SELECT JSONB_ARRAY_ELEMENTS_TEXT(CAST($2 AS JSONB))})))";
const OF_THESE: &str = "notification_seq IN ({ints $1}) AND ";

/// Texts as one value.
pub(super) fn as_json<T: AsRef<str>>(texts: &[T]) -> String {
    Value::from(texts.iter().map(AsRef::as_ref).collect::<Vec<&str>>()).to_string()
}

/// That a notification was sent, or not sent, to an address.
#[derive(Clone, Debug, PartialEq, Eq, Record)]
pub struct Received {
    pub seq: i64,
    pub target: String,
    /// How many attempts there were.
    pub attempts: i64,
}

const RECEIVED: Sql = sql!(
    "personal.received",
    "SELECT notification_seq AS seq, target, COUNT(*) AS attempts FROM attempts WHERE ",
    OF_THESE,
    THEIRS,
    " GROUP BY notification_seq, target ORDER BY notification_seq, target",
);
const SKIPPED: Sql = sql!(
    "personal.skipped",
    "SELECT notification_seq AS seq, target, CAST(0 AS BIGINT) AS attempts FROM skipped_targets WHERE ",
    OF_THESE,
    THEIRS,
    " ORDER BY notification_seq, target",
);

/// Which of these notifications went to these addresses, in lower case, or left them out.
#[boxed]
pub async fn received(conn: &mut Conn<'_>, seqs: Vec<i64>, addresses: Vec<String>) -> Result<Vec<Received>> {
    let mut rows: Vec<Received> = conn.fetch_all(&RECEIVED, args![seqs.clone(), as_json(&addresses)]).await?;
    rows.extend(conn.fetch_all::<Received>(&SKIPPED, args![seqs, as_json(&addresses)]).await?);
    Ok(rows)
}

#[derive(Record)]
struct Number {
    seq: i64,
}

// Relies on notifications_live: what is under way and has been attempted is not in the index yet.
const LIVE: Sql = sql!(
    "personal.live_attempted",
    "SELECT seq FROM notifications {sqlite INDEXED BY notifications_live}
     WHERE status IN ('pending', 'retrying') AND kind <> 'event' AND attempts > 0",
);

/// Messages under way that were attempted.
#[boxed]
pub async fn live_attempted(conn: &mut Conn<'_>) -> Result<Vec<i64>> {
    let rows: Vec<Number> = conn.fetch_all(&LIVE, args![]).await?;
    Ok(rows.into_iter().map(|row| row.seq).collect())
}

/// A notification that goes to others too: without the person.
#[derive(Clone, Debug, SetRow)]
pub struct Rewrite {
    pub wanted: i64,
    pub targets: Option<String>,
    pub last_error: Option<String>,
}

const SHORTEN: Sql = sql!(
    "personal.shorten", each Rewrite, after 0,
    "UPDATE notifications SET targets = {.targets}, last_error = {.last_error}, version = notifications.version + 1
     {from rows}
     WHERE notifications.seq = {.wanted} AND notifications.lease_expires_at IS NULL",
);
const BLANK: Sql = sql!(
    "personal.blank_notifications",
    "UPDATE notifications
     SET targets = CASE WHEN targets IS NULL THEN NULL ELSE '[]' END, subject = '', body = '', html = NULL, context = NULL,
         type_data = NULL, attachments = NULL, envelope = NULL, last_error = NULL, version = version + 1
     WHERE seq IN ({ints $1}) AND lease_expires_at IS NULL",
);

/// Takes a person out of messages to several, and the text out of those to them alone. What a node is sending stays.
#[boxed]
pub async fn rewrite_notifications(conn: &mut Conn<'_>, shorter: &[Rewrite], blank: &[i64]) -> Result<()> {
    if !shorter.is_empty() {
        conn.execute(&SHORTEN, with_rows(args![], shorter)).await?;
    }
    if !blank.is_empty() {
        conn.execute(&BLANK, args![blank.to_vec()]).await?;
    }
    Ok(())
}

const WITHDRAW_PARKED: Sql = sql!(
    "personal.withdraw_parked", as Withdrawn,
    "UPDATE notifications SET status = 'withdrawn', reason_code = 'erased', finished_at = $1, version = version + 1
     WHERE seq IN ({ints $2}) AND status = 'parked' AND lease_expires_at IS NULL
     RETURNING id, version, CAST(NULL AS BIGINT) AS waiting_work, TRUE AS in_time, business_unit",
);
const WITHDRAW: Sql = sql!(
    "personal.withdraw", as Withdrawn,
    "UPDATE notifications SET status = 'withdrawn', reason_code = 'erased', finished_at = $1, version = version + 1
     WHERE seq IN ({ints $2}) AND (status = 'pending' OR status = 'retrying') AND lease_expires_at IS NULL
     RETURNING id, version, CASE WHEN reports_back THEN work_id END AS waiting_work, TRUE AS in_time, business_unit",
);

/// Ends those of these messages that may still be sent: nobody is left to send them to.
#[boxed]
pub async fn withdraw_erased(conn: &mut Conn<'_>, now: Timestamp, seqs: &[i64]) -> Result<Vec<Withdrawn>> {
    let mut rows: Vec<Withdrawn> = conn.fetch_all(&WITHDRAW_PARKED, args![now, seqs.to_vec()]).await?;
    rows.extend(conn.fetch_all::<Withdrawn>(&WITHDRAW, args![now, seqs.to_vec()]).await?);
    Ok(rows)
}

/// Ends the use of files by messages that have no text any more; returns those that nobody else uses, and that nobody can
/// use from now on.
#[boxed]
pub async fn release_files(conn: &mut Conn<'_>, now: Timestamp, seqs: Vec<i64>) -> Result<Vec<String>> {
    let released = uploads::release_notifications(conn, seqs).await?;
    uploads::doom_now(conn, now, released).await
}

/// The same of messages that wait, by the keys of their work.
#[boxed]
pub async fn release_message_files(
    conn: &mut Conn<'_>,
    now: Timestamp,
    keys: &[String],
) -> Result<Vec<String>> {
    let mut released = Vec::new();
    for key in keys {
        released.extend(uploads::release_message(conn, key).await?);
    }
    uploads::doom_now(conn, now, released).await
}

const ERASE_ATTEMPTS: Sql = sql!(
    "personal.erase_attempts",
    "UPDATE attempts SET target = $3, answer = NULL WHERE ",
    OF_THESE,
    THEIRS,
);
const ERASE_SKIPPED: Sql = sql!(
    "personal.erase_skipped",
    "UPDATE skipped_targets SET target = $3, detail = NULL WHERE ",
    OF_THESE,
    THEIRS,
);
const ERASE_RECEIPTS: Sql = sql!(
    "personal.erase_receipts",
    "UPDATE receipts SET target = $3, detail = NULL WHERE notification_seq IS NOT NULL AND ",
    OF_THESE,
    THEIRS,
);

/// Puts a word instead of an address, which is in lower case, in the attempts of these notifications.
#[boxed]
pub async fn erase_attempts(conn: &mut Conn<'_>, seqs: &[i64], address: &str, word: &str) -> Result<u64> {
    conn.execute(&ERASE_ATTEMPTS, args![seqs.to_vec(), as_json(&[address]), word]).await
}

/// The same where it was left out.
#[boxed]
pub async fn erase_skipped(conn: &mut Conn<'_>, seqs: &[i64], address: &str, word: &str) -> Result<u64> {
    conn.execute(&ERASE_SKIPPED, args![seqs.to_vec(), as_json(&[address]), word]).await
}

/// The same in what providers reported.
#[boxed]
pub async fn erase_receipts(conn: &mut Conn<'_>, seqs: &[i64], address: &str, word: &str) -> Result<u64> {
    conn.execute(&ERASE_RECEIPTS, args![seqs.to_vec(), as_json(&[address]), word]).await
}

const ERASE_SURVEY_ATTEMPTS: Sql = sql!(
    "personal.erase_survey_attempts",
    "UPDATE survey_attempts SET answer = NULL WHERE notification_id IN ({texts $1})",
);

/// Empties what providers answered about messages of surveys that were purged.
#[boxed]
pub async fn erase_survey_attempts(conn: &mut Conn<'_>, notification_ids: Vec<String>) -> Result<u64> {
    conn.execute(&ERASE_SURVEY_ATTEMPTS, args![notification_ids]).await
}

// There are few of each, and one that quotes a provider may name whom it was about.
const ERASE_CIRCUITS: Sql =
    sql!("personal.erase_circuits", "UPDATE circuits SET last_error = '' WHERE {contains $1 last_error}");
const ERASE_OWED: Sql =
    sql!("personal.erase_owed", "UPDATE owed SET last_error = NULL WHERE {contains $1 last_error}");

const ERASE_VIEWS: Sql =
    sql!("personal.erase_views", "DELETE FROM saved_views WHERE {contains $1 pairs} OR {contains $1 name}",);

/// Empties what circuits and owed results say about an address, and removes the saved views that search for it.
#[boxed]
pub async fn erase_errors(conn: &mut Conn<'_>, address: &str) -> Result<()> {
    let pattern = contains_pattern(address);
    conn.execute(&ERASE_CIRCUITS, args![pattern.clone()]).await?;
    conn.execute(&ERASE_OWED, args![pattern.clone()]).await?;
    conn.execute(&ERASE_VIEWS, args![pattern]).await?;
    Ok(())
}

const ERASE_DIGESTS: Sql =
    sql!("personal.erase_digests", "DELETE FROM digest_items WHERE person IN ({texts $1}) OR ", THEIRS,);

/// Removes what is held back for a person, by name or address. It reads the table, which holds a day or two.
#[boxed]
pub async fn erase_digests(conn: &mut Conn<'_>, people: Vec<String>, addresses: Vec<String>) -> Result<u64> {
    conn.execute(&ERASE_DIGESTS, args![people, as_json(&addresses)]).await
}

crate::db::statements![
    FOUND,
    RECEIVED,
    SKIPPED,
    LIVE,
    SHORTEN,
    BLANK,
    WITHDRAW_PARKED,
    WITHDRAW,
    ERASE_ATTEMPTS,
    ERASE_SKIPPED,
    ERASE_RECEIPTS,
    ERASE_SURVEY_ATTEMPTS,
    ERASE_CIRCUITS,
    ERASE_OWED,
    ERASE_VIEWS,
    ERASE_DIGESTS
];

//! Parked notifications by their cause, and all of one cause together.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};
use punctual_model::Reach;

use crate::{
    db::{Conn, Result, Sql, args, sql},
    notifications::Retried,
};

/// Why notifications are parked: a reason code, and what it is about: a list, a template or a channel.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Record)]
pub struct Cause {
    pub reason: String,
    pub about: String,
}

/// A parked notification, with what is at fault.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct ParkedRow {
    pub seq: i64,
    pub id: String,
    pub kind: String,
    pub title: String,
    pub reason: String,
    pub about: String,
    /// The last answer of the other side, where there is one.
    pub answer: Option<String>,
    pub since: Timestamp,
}

/// A cause, and how many are parked for it.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct CauseCount {
    pub reason: String,
    pub about: String,
    pub count: i64,
    /// When the last one was parked.
    pub since: Timestamp,
}

// A message with a template has no stored subject.
const PARKED_ROW: &str =
    "SELECT seq, id, kind, COALESCE(NULLIF(subject, ''), 'From template ' || template, '') AS title,
         COALESCE(reason_code, '') AS reason, ";
/// What a parked notification's cause is about; lists that open a cause go by it too.
pub(crate) const ABOUT: &str = "CASE WHEN reason_code = 'list-unknown' THEN COALESCE(list_name, '')
         WHEN reason_code LIKE 'template-%' THEN COALESCE(template, '') ELSE channel END";
const PARKED_END: &str = " AS about, last_error AS answer, COALESCE(finished_at, created_at) AS since
     FROM notifications {sqlite INDEXED BY notifications_parked} WHERE status = 'parked' ";

const PARKED: Sql = sql!(
    "notifications.waiting", as ParkedRow,
    PARKED_ROW, ABOUT, PARKED_END, "AND {reach $1 business_unit} ORDER BY seq DESC LIMIT $2",
);

/// Parked notifications, deliveries to subscribers among them, newest first.
#[boxed]
pub async fn parked(conn: &mut Conn<'_>, reach: &Reach, limit: i64) -> Result<Vec<ParkedRow>> {
    conn.fetch_all(&PARKED, args![reach, limit]).await
}

const COUNTS: Sql = sql!(
    "notifications.causes", as CauseCount,
    "SELECT reason, about, COUNT(*) AS count, MAX(since) AS since FROM (
         SELECT COALESCE(reason_code, '') AS reason, ", ABOUT, " AS about, kind, business_unit,
             COALESCE(finished_at, created_at) AS since
         FROM notifications {sqlite INDEXED BY notifications_parked}
         WHERE status = 'parked' ORDER BY seq DESC LIMIT $2) AS p
     WHERE kind <> 'event' AND {reach $1 p.business_unit}
     GROUP BY reason, about ORDER BY count DESC, reason, about LIMIT $3",
);

/// The causes for which most are parked, counted over so many rows.
#[boxed]
pub async fn counts(conn: &mut Conn<'_>, reach: &Reach, bound: i64, limit: i64) -> Result<Vec<CauseCount>> {
    conn.fetch_all(&COUNTS, args![reach, bound, limit]).await
}

const OF_CAUSE: &str = "AND kind <> 'event' AND COALESCE(reason_code, '') = $2 AND ";

const OF: Sql = sql!(
    "notifications.of_cause", as ParkedRow,
    PARKED_ROW, ABOUT, PARKED_END, OF_CAUSE, ABOUT,
    " = $3 AND {reach $1 business_unit} ORDER BY seq DESC LIMIT $4",
);

/// What is parked for one cause, newest first.
#[boxed]
pub async fn of(conn: &mut Conn<'_>, reach: &Reach, cause: &Cause, limit: i64) -> Result<Vec<ParkedRow>> {
    conn.fetch_all(&OF, args![reach, &cause.reason, &cause.about, limit]).await
}

// One that somebody else is acting on is left to them.
const RETRY: Sql = sql!(
    "notifications.retry_of_cause", as Retried,
    "WITH parked AS MATERIALIZED (
         SELECT seq FROM notifications {sqlite INDEXED BY notifications_parked}
         WHERE status = 'parked' ", OF_CAUSE, ABOUT,
    " = $3 AND seq > $4 AND seq <= $5 AND {reach $1 business_unit}
         ORDER BY seq LIMIT $7{postgres  FOR UPDATE SKIP LOCKED})
     UPDATE notifications
     SET status = 'pending', retry_count = 0, ready_at = $6, reason_code = NULL, finished_at = NULL,
         not_after = NULL, version = notifications.version + 1
     FROM parked
     WHERE notifications.seq = parked.seq AND notifications.status = 'parked'
     RETURNING notifications.seq, notifications.id, notifications.version, notifications.business_unit,
         CASE WHEN notifications.reports_back THEN notifications.work_id END AS waiting_work",
);

/// The next of those parked for one cause, after a number and up to another, are queued again.
#[boxed]
pub async fn retry(
    conn: &mut Conn<'_>,
    now: Timestamp,
    reach: &Reach,
    cause: &Cause,
    (after, up_to): (i64, i64),
    limit: i64,
) -> Result<Vec<Retried>> {
    let bound = args![reach, &cause.reason, &cause.about, after, up_to, now, limit];
    conn.fetch_all(&RETRY, bound).await
}

crate::db::statements![PARKED, COUNTS, OF, RETRY];

//! Checks a whole database: dangling references, wrong counters and required blobs. Each check reads a table in key order, in
//! windows.

use punctual_boxed::{Record, boxed};
use punctual_model::{FileRef, Json};

use crate::db::{Conn, Result, Sql, args, sql};

/// Rows of one window.
const WINDOW: i64 = 10_000;

/// What a window of a walk came to.
#[derive(Record)]
struct Window {
    walked: i64,
    last: Option<i64>,
    wrong: i64,
}

// The parts of a walk: `at` is the place in the order of the walk, `ref` what it points at.
const COUNTED: &str = "SELECT COUNT(*) AS walked, MAX(f.at) AS last, COUNT(*) FILTER (WHERE ";
const OF_NOTIFICATIONS: &str = "n.seq IS NULL) AS wrong FROM (SELECT notification_seq AS at FROM ";
const TO_NOTIFICATIONS: &str = " LIMIT $2) AS f LEFT JOIN notifications AS n ON n.seq = f.at";
const TO_WORK: &str = " LIMIT $2) AS f LEFT JOIN work AS w ON w.id = f.ref";
const OF_WORK: &str = "f.ref IS NOT NULL AND w.id IS NULL) AS wrong FROM (SELECT ";

const ATTEMPTS: Sql = sql!(
    "verify.attempts",
    COUNTED,
    OF_NOTIFICATIONS,
    "attempts WHERE notification_seq > $1 ORDER BY notification_seq",
    TO_NOTIFICATIONS,
);
const SKIPPED: Sql = sql!(
    "verify.skipped_targets",
    COUNTED,
    OF_NOTIFICATIONS,
    "skipped_targets WHERE notification_seq > $1 ORDER BY notification_seq",
    TO_NOTIFICATIONS,
);
const RECEIPTS: Sql = sql!(
    "verify.receipts",
    COUNTED,
    OF_NOTIFICATIONS,
    "receipts WHERE notification_seq IS NOT NULL AND notification_seq > $1 ORDER BY notification_seq",
    TO_NOTIFICATIONS,
);
const NOTIFICATIONS: Sql = sql!(
    "verify.notifications",
    COUNTED,
    OF_WORK,
    "seq AS at, work_id AS ref FROM notifications WHERE seq > $1 ORDER BY seq",
    TO_WORK,
);
const QUEUED: Sql = sql!(
    "verify.work_notifications",
    COUNTED,
    OF_WORK,
    "work_id AS at, work_id AS ref FROM work_notifications WHERE work_id > $1 ORDER BY work_id",
    TO_WORK,
);
const OWED: Sql = sql!(
    "verify.owed",
    COUNTED,
    OF_WORK,
    "id AS at, work_id AS ref FROM owed WHERE id > $1 ORDER BY id",
    TO_WORK,
);
const RESPONSES: Sql = sql!(
    "verify.survey_responses",
    COUNTED,
    "i.id IS NULL) AS wrong
     FROM (SELECT instance_id AS at FROM survey_responses WHERE instance_id > $1 ORDER BY instance_id LIMIT $2) AS f
     LEFT JOIN survey_instances AS i ON i.id = f.at",
);
const ANSWERS: Sql = sql!(
    "verify.survey_answers",
    COUNTED,
    "r.id IS NULL) AS wrong
     FROM (SELECT response_id AS at FROM survey_answers WHERE response_id > $1 ORDER BY response_id LIMIT $2) AS f
     LEFT JOIN survey_responses AS r ON r.id = f.at",
);
const DELIVERIES: Sql = sql!(
    "verify.outbox_deliveries",
    COUNTED,
    "e.id IS NULL) AS wrong
     FROM (SELECT event_id AS at FROM outbox_deliveries WHERE event_id > $1 ORDER BY event_id LIMIT $2) AS f
     LEFT JOIN outbox_events AS e ON e.id = f.at",
);
// Relies on notifications_by_work and digest_items_by_work. What is held for a digest is open until the digest settles,
// and only the digest's row says so; such rows are left out.
const OPEN: Sql = sql!(
    "verify.open_notifications",
    COUNTED,
    "f.open <> f.counted AND NOT EXISTS (SELECT 1 FROM digest_items AS d WHERE d.work_id IS NOT NULL AND d.work_id = f.at)) AS wrong
     FROM (SELECT w.id AS at, w.open_notifications AS open,
             (SELECT COUNT(*) FROM notifications AS n
              WHERE n.work_id IS NOT NULL AND n.work_id = w.id AND n.reports_back
                AND (n.status = 'pending' OR n.status = 'retrying' OR n.status = 'parked') AND n.status <> 'parked')
             + (SELECT COUNT(*) FROM owed AS o WHERE o.work_id = w.id) AS counted
           FROM work AS w WHERE w.id > $1 ORDER BY w.id LIMIT $2) AS f",
);

/// A question with a number for an answer.
pub struct Check {
    /// The table, or the column that counts.
    pub name: &'static str,
    /// What is wrong with a row that is found, in words: `point at no message`.
    pub fault: &'static str,
    sql: &'static Sql,
}

/// Every question. A row is wrong where it points at one that is not there, or counts something else than there is.
pub const CHECKS: &[Check] = &[
    Check { name: "attempts", fault: "belong to no message", sql: &ATTEMPTS },
    Check { name: "skipped_targets", fault: "belong to no message", sql: &SKIPPED },
    Check { name: "receipts", fault: "belong to no message", sql: &RECEIPTS },
    Check { name: "notifications", fault: "belong to no work row", sql: &NOTIFICATIONS },
    Check { name: "work_notifications", fault: "belong to no work row", sql: &QUEUED },
    Check { name: "owed", fault: "belong to no work row", sql: &OWED },
    Check { name: "survey_responses", fault: "belong to no survey instance", sql: &RESPONSES },
    Check { name: "survey_answers", fault: "belong to no response", sql: &ANSWERS },
    Check { name: "outbox_deliveries", fault: "belong to no event", sql: &DELIVERIES },
    Check { name: "work.open_notifications", fault: "count another number of open messages", sql: &OPEN },
];

/// How many rows are wrong.
#[boxed]
pub async fn count_wrong(conn: &mut Conn<'_>, check: &Check) -> Result<i64> {
    let (mut after, mut wrong) = (i64::MIN, 0);
    loop {
        let window: Window = conn.fetch_one(check.sql, args![after, WINDOW]).await?;
        wrong += window.wrong;
        match window.last {
            Some(last) if window.walked == WINDOW => after = last,
            _ => return Ok(wrong),
        }
    }
}

/// A blob that a row needs.
#[derive(Clone, Debug, PartialEq, Eq, Record)]
struct Named {
    at: i64,
    name: String,
}

#[derive(Record)]
struct Upload {
    id: String,
}

#[derive(Record)]
struct Files {
    at: i64,
    files: Json<Vec<FileRef>>,
}

const TRACES: Sql = sql!(
    "verify.traces", as Named,
    "SELECT id AS at, trace_blob AS name FROM work
     WHERE id > $1 AND trace_blob IS NOT NULL
     ORDER BY id
     LIMIT $2",
);
const UPLOADS: Sql = sql!(
    "verify.uploads", as Upload,
    "SELECT id FROM uploads WHERE id > $1 AND stored AND removed_at IS NULL ORDER BY id LIMIT $2",
);
// Files of what was sent long ago may be gone; what is to be sent needs its own.
const ATTACHED: Sql = sql!(
    "verify.attached", as Files,
    "SELECT seq AS at, attachments AS files FROM notifications
     WHERE seq > $1 AND attachments IS NOT NULL AND (status = 'pending' OR status = 'retrying' OR status = 'parked')
     ORDER BY seq
     LIMIT $2",
);

/// Where a walk over the blobs that rows need has got to.
#[derive(Clone, Debug, Default)]
pub enum Place {
    #[default]
    Start,
    Traces(i64),
    Uploads(String),
    Attached(i64),
    End,
}

/// The next names of blobs that rows need, and where to continue. The end is a place, not an empty part.
#[boxed]
pub async fn needed_blobs(conn: &mut Conn<'_>, place: Place) -> Result<(Vec<String>, Place)> {
    Ok(match place {
        Place::Start => (Vec::new(), Place::Traces(i64::MIN)),
        Place::Traces(after) => {
            let rows: Vec<Named> = conn.fetch_all(&TRACES, args![after, WINDOW]).await?;
            let next = rows.last().map_or(Place::Uploads(String::new()), |row| Place::Traces(row.at));
            (rows.into_iter().map(|row| row.name).collect(), next)
        }
        Place::Uploads(after) => {
            let rows: Vec<Upload> = conn.fetch_all(&UPLOADS, args![after, WINDOW]).await?;
            let next = rows.last().map_or(Place::Attached(i64::MIN), |row| Place::Uploads(row.id.clone()));
            (rows.iter().map(|row| FileRef::upload_blob(&row.id)).collect(), next)
        }
        Place::Attached(after) => {
            let rows: Vec<Files> = conn.fetch_all(&ATTACHED, args![after, WINDOW]).await?;
            let next = rows.last().map_or(Place::End, |row| Place::Attached(row.at));
            let files = rows.iter().filter_map(|row| row.files.read().ok()).flatten();
            (files.map(|file| file.blob).collect(), next)
        }
        Place::End => (Vec::new(), Place::End),
    })
}

/// How many rows the largest tables have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Record, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    pub work: i64,
    pub notifications: i64,
    pub attempts: i64,
    pub sources: i64,
    pub audit: i64,
}

const COUNTS: Sql = sql!(
    "verify.counts", as Counts,
    "SELECT (SELECT COUNT(*) FROM work) AS work, (SELECT COUNT(*) FROM notifications) AS notifications,
        (SELECT COUNT(*) FROM attempts) AS attempts, (SELECT COUNT(*) FROM sources) AS sources,
        (SELECT COUNT(*) FROM audit) AS audit",
);

/// Reads the tables whole: for a database that nobody works on, such as a copy.
#[boxed]
pub async fn counts(conn: &mut Conn<'_>) -> Result<Counts> {
    conn.fetch_one(&COUNTS, args![]).await
}

crate::db::statements![
    ATTEMPTS,
    SKIPPED,
    RECEIPTS,
    NOTIFICATIONS,
    QUEUED,
    OWED,
    RESPONSES,
    ANSWERS,
    DELIVERIES,
    OPEN,
    TRACES,
    UPLOADS,
    ATTACHED,
    COUNTS
];

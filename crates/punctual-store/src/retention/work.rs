//! Removes input and trace of finished work and keeps its key. There is no index on finished rows, because every row of the
//! pipeline would have to update it. Rows are read in order of their numbers, which is the order of creation.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args, sql};

/// What stands instead of an input that was removed.
pub const PURGED_INPUT: &str = "{\"purged\":true}";

/// A row of work as the purge looks at it.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct EndedWork {
    pub id: i64,
    pub kind: String,
    pub input: String,
    pub trace_blob: Option<String>,
    pub created_at: Timestamp,
    /// Whether it has ended before the moment that was asked for, and nothing of it is open.
    pub is_over: bool,
}

const WALK: Sql = sql!(
    "retention.walk_work", as EndedWork,
    "SELECT id, kind, input, trace_blob, created_at,
         (status <> 'pending' AND status <> 'processing' AND NOT on_hold AND open_notifications = 0
             AND updated_at < $2) AS is_over
     FROM work WHERE id > $1 AND id <= $4 ORDER BY id LIMIT $3",
);

/// The next rows after a number, up to another.
#[boxed]
pub async fn ended_work(
    conn: &mut Conn<'_>,
    after: i64,
    up_to: i64,
    ended_before: Timestamp,
    limit: i64,
) -> Result<Vec<EndedWork>> {
    conn.fetch_all(&WALK, args![after, ended_before, limit, up_to]).await
}

// A row that a person or an event has brought back meanwhile keeps what it has.
const STRIP: Sql = sql!(
    "retention.strip_work",
    "UPDATE work SET input = $3, trace_blob = NULL, trace = NULL
     WHERE id IN ({ints $1}) AND status <> 'pending' AND status <> 'processing' AND NOT on_hold
       AND open_notifications = 0 AND updated_at < $2",
);

/// Takes input and trace from these rows.
#[boxed]
pub async fn strip_work(conn: &mut Conn<'_>, ids: Vec<i64>, ended_before: Timestamp) -> Result<u64> {
    conn.execute(&STRIP, args![ids, ended_before, PURGED_INPUT]).await
}

const STRIP_MESSAGES: Sql = sql!(
    "retention.strip_messages",
    "UPDATE messages
     SET targets = CASE WHEN targets IS NULL THEN NULL ELSE '[]' END, subject = '', body = '', html = NULL, context = NULL,
         type_data = NULL, attachments = NULL, envelope = NULL
     WHERE id IN ({texts $1})",
);

/// Takes recipients and texts from these messages, whose work is over.
#[boxed]
pub async fn strip_messages(conn: &mut Conn<'_>, ids: Vec<String>) -> Result<u64> {
    conn.execute(&STRIP_MESSAGES, args![ids]).await
}

crate::db::statements![WALK, STRIP, STRIP_MESSAGES];

//! What happens to instances.

use jiff::Timestamp;
use punctual_boxed::boxed;
use serde::{Deserialize, Serialize};

use crate::db::{Conn, Result, Sql, args};

/// The state of an instance after a message settled or its time was over. Made by the workflow; its row is locked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    pub public_id: String,
    pub status: String,
    pub reason: Option<String>,
    pub next_send_at: Option<i64>,
    pub last_sent_at: Option<i64>,
    pub sends: i64,
    pub reminders_remaining: i64,
    pub finished_at: Option<i64>,
}

const SETTLE: Sql = Sql::rows(
    "survey_instances.settle",
    "UPDATE survey_instances
     SET status = $2, reason_code = $3, next_send_at = $4, last_sent_at = $5, sends = $6, reminders_remaining = $7,
         finished_at = $8
     WHERE public_id = $1",
    "UPDATE survey_instances
     SET status = r.status, reason_code = r.reason, next_send_at = r.next_send_at, last_sent_at = r.last_sent_at,
         sends = r.sends, reminders_remaining = r.reminders, finished_at = r.finished_at
     FROM UNNEST($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
         AS r(public_id, status, reason, next_send_at, last_sent_at, sends, reminders, finished_at)
     WHERE survey_instances.public_id = r.public_id",
);

/// Writes how instances stand.
#[boxed]
pub async fn settle(conn: &mut Conn<'_>, changes: &[Change]) -> Result<u64> {
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            changes.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    let bound = args![
        column!(|c| c.public_id.as_str()),
        column!(|c| c.status.as_str()),
        column!(|c| c.reason.as_deref()),
        column!(|c| c.next_send_at),
        column!(|c| c.last_sent_at),
        column!(|c| c.sends),
        column!(|c| c.reminders_remaining),
        column!(|c| c.finished_at),
    ];
    conn.execute(&SETTLE, bound).await
}

const OPEN: Sql = Sql::same(
    "survey_instances.open",
    "UPDATE survey_instances
     SET status = 'opened', opened_at = $1
     WHERE public_id = $2 AND status IN ('pending', 'sent') AND NOT deleted",
);

/// The page was shown to a person. Returns whether that was new.
#[boxed]
pub async fn open(conn: &mut Conn<'_>, now: Timestamp, public_id: &str) -> Result<bool> {
    Ok(conn.execute(&OPEN, args![now, public_id]).await? > 0)
}

const COMPLETE: Sql = Sql::same(
    "survey_instances.complete",
    "UPDATE survey_instances
     SET status = 'completed', next_send_at = NULL, finished_at = $1
     WHERE id = $2 AND status IN ('pending', 'sent', 'opened') AND NOT deleted",
);

/// It was answered: nothing more is sent. Returns whether it still was to be.
#[boxed]
pub async fn complete(conn: &mut Conn<'_>, now: Timestamp, id: i64) -> Result<bool> {
    Ok(conn.execute(&COMPLETE, args![now, id]).await? > 0)
}

const DELETE: Sql = Sql::same(
    "survey_instances.delete",
    "UPDATE survey_instances SET deleted = TRUE, next_send_at = NULL WHERE id = $1 AND NOT deleted",
);

/// Takes a link back. The row stays; its hash is free for another instance.
#[boxed]
pub async fn delete(conn: &mut Conn<'_>, id: i64) -> Result<bool> {
    Ok(conn.execute(&DELETE, args![id]).await? > 0)
}

crate::db::statements![SETTLE, OPEN, COMPLETE, DELETE];

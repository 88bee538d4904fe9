//! Updates of instances.

use jiff::Timestamp;
use punctual_boxed::{SetRow, boxed};
use punctual_model::survey::InstanceStatus;
use serde::{Deserialize, Serialize};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

/// The state of an instance after a message settled or its time was over. Made by the workflow; its row is locked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, SetRow)]
pub struct Change {
    pub public_id: String,
    pub status: InstanceStatus,
    #[column("reason_code")]
    pub reason: Option<String>,
    pub next_send_at: Option<Timestamp>,
    pub last_sent_at: Option<Timestamp>,
    pub sends: i64,
    pub reminders_remaining: i64,
    pub finished_at: Option<Timestamp>,
}

const SETTLE: Sql = sql!(
    "survey_instances.settle", each Change, after 0,
    "UPDATE survey_instances
     SET status = {.status}, reason_code = {.reason_code}, next_send_at = {.next_send_at},
         last_sent_at = {.last_sent_at}, sends = {.sends}, reminders_remaining = {.reminders_remaining},
         finished_at = {.finished_at}
     {from rows} WHERE survey_instances.public_id = {.public_id}",
);

/// Writes the states of instances.
#[boxed]
pub async fn settle(conn: &mut Conn<'_>, changes: &[Change]) -> Result<u64> {
    conn.execute(&SETTLE, with_rows(args![], changes)).await
}

const OPEN: Sql = sql!(
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

const COMPLETE: Sql = sql!(
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

const DELETE: Sql = sql!(
    "survey_instances.delete",
    "UPDATE survey_instances SET deleted = TRUE, next_send_at = NULL WHERE id = $1 AND NOT deleted",
);

/// Takes a link back. The row stays; its hash is free for another instance.
#[boxed]
pub async fn delete(conn: &mut Conn<'_>, id: i64) -> Result<bool> {
    Ok(conn.execute(&DELETE, args![id]).await? > 0)
}

crate::db::statements![SETTLE, OPEN, COMPLETE, DELETE];

//! Pending follow-ups: the work row could not be updated when its message settled. The sweep retries them, one work row at a
//! time.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::{NotificationStatus, Reach};

use crate::{
    attention::WaitingRow,
    db::{Conn, Result, Sql, Unchecked, args, sql, with_rows},
};

/// A message that has settled and whose workflow was not called yet.
#[derive(Clone, Debug, PartialEq, SetRow)]
pub struct NewOwed {
    pub work_id: i64,
    pub notification_id: String,
    /// What it settled as.
    pub status: NotificationStatus,
}

const OWE: Sql = sql!(
    "owed.owe", each NewOwed, after 3,
    "INSERT INTO owed ({names}, attempts, owed_since, next_at, last_error) {values {*}, 0, $1, $2, $3}",
);

/// Records what is owed, with why it was not done at once.
#[boxed]
pub async fn owe(
    conn: &mut Conn<'_>,
    now: Timestamp,
    next_at: Timestamp,
    error: &str,
    rows: &[NewOwed],
) -> Result<()> {
    conn.execute(&OWE, with_rows(args![now, next_at, error], rows)).await?;
    Ok(())
}

/// Something owed whose time has come. Its id and status are read where they are used, so that a bad one is its own fault
/// alone.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct OwedRow {
    pub id: i64,
    pub work_id: i64,
    pub notification_id: String,
    pub status: Unchecked<NotificationStatus>,
    pub attempts: i64,
    /// Whether it has arrived, then or when a person sent it again.
    pub arrived: bool,
}

const DUE: Sql = sql!(
    "owed.due",
    "SELECT id, work_id, notification_id, status, attempts,
         EXISTS (SELECT 1 FROM notifications AS n WHERE n.id = owed.notification_id AND n.status = 'delivered') AS arrived
     FROM owed WHERE next_at <= $1 ORDER BY next_at, id LIMIT $2",
);

/// What is to be done now, the oldest first.
#[boxed]
pub async fn due(conn: &mut Conn<'_>, now: Timestamp, limit: i64) -> Result<Vec<OwedRow>> {
    conn.fetch_all(&DUE, args![now, limit]).await
}

#[derive(SetRow)]
struct Id {
    id: i64,
}

const TAKE: Sql = sql!(
    "owed.take", each Id, after 0,
    "DELETE FROM owed {using rows} WHERE owed.id = {.id} {postgres RETURNING owed.id}",
);

/// Takes rows out, in the transaction that does what is owed; returns those that were still there.
#[boxed]
pub async fn take(conn: &mut Conn<'_>, ids: &[i64]) -> Result<Vec<i64>> {
    let rows: Vec<Id> = ids.iter().map(|&id| Id { id }).collect();
    conn.change(&TAKE, with_rows(args![], &rows), |row| ids[row]).await
}

const PUT_OFF: Sql = sql!(
    "owed.put_off", each Id, after 2,
    "UPDATE owed SET attempts = owed.attempts + 1, next_at = $1, last_error = $2 {from rows} WHERE owed.id = {.id}",
);

/// Counts an attempt that failed.
#[boxed]
pub async fn put_off(conn: &mut Conn<'_>, next_at: Timestamp, error: &str, ids: &[i64]) -> Result<()> {
    let rows: Vec<Id> = ids.iter().map(|&id| Id { id }).collect();
    conn.execute(&PUT_OFF, with_rows(args![next_at, error], &rows)).await?;
    Ok(())
}

// There are few: what is owed is done within seconds unless something is broken.
const FAILING: &str = "FROM owed AS o LEFT JOIN work AS w ON w.id = o.work_id
     WHERE o.attempts >= $2 AND {reach $1 w.business_unit}";

const WAITING: Sql = sql!(
    "owed.waiting",
    "SELECT CAST(o.work_id AS TEXT) AS id, COALESCE(w.kind, '') AS kind, COALESCE(w.key, CAST(o.work_id AS TEXT)) AS title,
         'follow-up-failed' AS reason, o.last_error AS answer, o.owed_since AS since ",
    FAILING,
    " ORDER BY o.id DESC LIMIT $3",
);

/// What has failed so many times, newest first: the rows of work.
#[boxed]
pub async fn waiting(
    conn: &mut Conn<'_>,
    reach: &Reach,
    attempts: i64,
    limit: i64,
) -> Result<Vec<WaitingRow>> {
    conn.fetch_all(&WAITING, args![reach, attempts, limit]).await
}

#[derive(Record)]
struct Count {
    count: i64,
}

// By the key of each row: a join would read all work.
const COUNT: Sql = sql!(
    "owed.count_waiting",
    "SELECT COUNT(*) AS count FROM (
         SELECT 1 AS one FROM (
             SELECT (SELECT w.business_unit FROM work AS w WHERE w.id = o.work_id) AS business_unit
             FROM owed AS o WHERE o.attempts >= $2) AS f
         WHERE {reach $1 f.business_unit} LIMIT $3) AS c",
);

/// How much that is, counted up to the bound.
#[boxed]
pub async fn count_waiting(conn: &mut Conn<'_>, reach: &Reach, attempts: i64, bound: i64) -> Result<i64> {
    let row: Count = conn.fetch_one(&COUNT, args![reach, attempts, bound]).await?;
    Ok(row.count)
}

crate::db::statements![OWE, DUE, TAKE, PUT_OFF, WAITING, COUNT];

//! Claim, renew, settle and release, and the recovery of expired leases.
//!
//! The version makes claims safe, the lock makes them fast: every write after a claim checks the version that the claim
//! produced, and changes nothing if the row has changed since. The status is not compared: it adds no safety, and PostgreSQL
//! would use a nested loop over the index of leases.

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::{ReasonCode, WorkEvent, WorkStatus};

use crate::{
    StoreError, Tx,
    db::{Conn, Result, Sql, args, sql, with_rows},
    ready::After,
};

/// A claimed row: everything a workflow needs to decide, and the token for every later write.
#[derive(Clone, Debug, Record)]
pub struct Claimed {
    pub id: i64,
    pub key: String,
    pub kind: String,
    pub trigger_type: String,
    pub business_unit: Option<String>,
    pub source_type: Option<String>,
    pub source_id: Option<String>,
    pub setting_id: Option<String>,
    pub due_at: Timestamp,
    pub ready_at: Timestamp,
    pub retry_count: i64,
    pub input_hash: String,
    pub input: String,
    /// The version as the claim or the lock left it: the token.
    pub version: i64,
}

// Relies on work_ready, which holds live rows only.
const DUE: &str = "
        WHERE status = 'pending' AND NOT on_hold AND kind = $1 AND ready_at <= $2
        ORDER BY ready_at, id";
const CLAIM_DUE: &str = ")
    UPDATE work
    SET status = 'processing', lease_expires_at = $3, version = work.version + 1
    FROM due
    WHERE work.id = due.id AND work.version = due.version
    RETURNING {columns work}";
const CLAIM: Sql = sql!(
    "work.claim", as Claimed,
    "WITH due AS MATERIALIZED (SELECT id, version FROM work", DUE, " LIMIT $4 FOR UPDATE SKIP LOCKED", CLAIM_DUE,
);
const CLAIM_WITHOUT_SKIP: Sql = sql!(
    "work.claim", as Claimed,
    "WITH due AS MATERIALIZED (SELECT id, version FROM work", DUE, " LIMIT $4", CLAIM_DUE,
);
// SQLite reads the set and then takes it: one transaction at a time writes, so nothing can come in between.
const READY: Sql = sql!("work.ready", as Claimed, "SELECT {columns} FROM work", DUE, " LIMIT $3");
const TAKE: Sql = sql!(
    "work.take", each Held, after 1,
    "UPDATE work SET status = 'processing', lease_expires_at = $1, version = version + 1
     {from rows}
     WHERE work.id = {.id} AND version = {.token}",
);

/// A row that was read, by id and version.
#[derive(SetRow)]
struct Held {
    id: i64,
    token: i64,
}

fn held(rows: &[(i64, i64)]) -> Vec<Held> {
    rows.iter().map(|&(id, token)| Held { id, token }).collect()
}

/// Claims up to `limit` rows of one kind that are ready at `ready_by`, until the lease runs out.
#[boxed]
pub async fn claim(
    tx: &mut Tx,
    kind: &str,
    ready_by: Timestamp,
    lease_until: Timestamp,
    limit: i64,
) -> Result<Vec<Claimed>> {
    let sql = if tx.without_skip_locked() { &CLAIM_WITHOUT_SKIP } else { &CLAIM };
    let mut conn = tx.conn();
    if conn.is_sqlite() {
        let mut rows: Vec<Claimed> = conn.fetch_all(&READY, args![kind, ready_by, limit]).await?;
        if !rows.is_empty() {
            let read: Vec<Held> = rows.iter().map(|row| Held { id: row.id, token: row.version }).collect();
            conn.execute(&TAKE, with_rows(args![lease_until], &read)).await?;
        }
        rows.iter_mut().for_each(|row| row.version += 1);
        return Ok(rows);
    }
    let mut rows: Vec<Claimed> = conn.fetch_all(sql, args![kind, ready_by, lease_until, limit]).await?;
    rows.sort_by_key(|row| (row.ready_at, row.id));
    Ok(rows)
}

/// A row that is ready, by its numbers alone: whatever its texts are, they can be read.
#[derive(Clone, Copy, Debug, PartialEq, Record)]
pub struct WorkHead {
    pub id: i64,
    pub version: i64,
    pub retry_count: i64,
}

impl WorkHead {
    /// What an event makes of a row that is not claimed: this version is the token.
    pub fn after(&self, event: WorkEvent) -> Settlement {
        Settlement::after(event, self.id, self.version, self.retry_count)
    }
}

const READY_HEADS: Sql =
    sql!("work.ready_heads", as WorkHead, "SELECT {columns} FROM work", DUE, " LIMIT $3");

/// Up to `limit` rows of one kind that are ready at `ready_by`, not locked: a claim of one checks the version that was read.
#[boxed]
pub async fn ready_heads(
    conn: &mut Conn<'_>,
    kind: &str,
    ready_by: Timestamp,
    limit: i64,
) -> Result<Vec<WorkHead>> {
    conn.fetch_all(&READY_HEADS, args![kind, ready_by, limit]).await
}

const READY_OF: Sql = sql!(
    "work.ready_of", as WorkHead,
    "SELECT {columns} FROM work
     WHERE id IN ({ints $2}) AND status = 'pending' AND NOT on_hold AND ready_at <= $1
     ORDER BY ready_at, id",
);

/// Those of these rows that are ready, not locked.
#[boxed]
pub async fn ready_of(conn: &mut Conn<'_>, ready_by: Timestamp, ids: Vec<i64>) -> Result<Vec<WorkHead>> {
    conn.fetch_all(&READY_OF, args![ready_by, ids]).await
}

const CLAIM_THESE: Sql = sql!(
    "work.claim_these", each Held, after 1,
    "UPDATE work SET status = 'processing', lease_expires_at = $1, version = version + 1
     {from rows}
     WHERE work.id = {.id} AND version = {.token}
     {postgres RETURNING work.id}",
);

const TAKEN: Sql = sql!(
    "work.taken", as Claimed,
    "SELECT {columns} FROM work WHERE id IN ({ints $1}) ORDER BY ready_at, id",
);

/// Claims these rows, as far as they are still as they were read, and reads them.
#[boxed]
pub async fn claim_these(
    conn: &mut Conn<'_>,
    lease_until: Timestamp,
    rows: &[WorkHead],
) -> Result<Vec<Claimed>> {
    let read: Vec<Held> = rows.iter().map(|row| Held { id: row.id, token: row.version }).collect();
    let taken = conn.change(&CLAIM_THESE, with_rows(args![lease_until], &read), |row| rows[row].id).await?;
    if taken.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&TAKEN, args![taken]).await
}

impl Claimed {
    /// Its place in the order in which rows are ready.
    pub fn place(&self) -> After {
        After { ready_at: self.ready_at.as_microsecond(), id: self.id }
    }
}

// Relies on work_ready.
const LOCK_DUE: Sql = sql!(
    "work.lock_due", as Claimed,
    "SELECT {columns} FROM work
     WHERE status = 'pending' AND NOT on_hold AND kind = $1 AND ready_at <= $2 AND (ready_at, id) > ($4, $5)
     ORDER BY ready_at, id
     LIMIT $3 {postgres FOR UPDATE SKIP LOCKED}",
);

/// Reads and locks up to `limit` ready rows behind a place for a transaction that settles them itself: the lock is the
/// claim, and whatever ends the transaction ends it. Saves a write and a commit a row; for work that is decided at once.
#[boxed]
pub async fn lock_due(
    tx: &mut Tx,
    kind: &str,
    ready_by: Timestamp,
    limit: i64,
    after: After,
) -> Result<Vec<Claimed>> {
    tx.conn().fetch_all(&LOCK_DUE, args![kind, ready_by, limit, after.ready_at, after.id]).await
}

const RENEW: Sql = sql!(
    "work.renew", each Held, after 1,
    "UPDATE work SET lease_expires_at = $1
     {from rows}
     WHERE work.id = {.id} AND work.version = {.token}
     {postgres RETURNING work.id}",
);

/// Extends leases that are still held; returns which are. The token stays the same.
#[boxed]
pub async fn renew(conn: &mut Conn<'_>, lease_until: Timestamp, rows: &[(i64, i64)]) -> Result<Vec<i64>> {
    conn.change(&RENEW, with_rows(args![lease_until], &held(rows)), |row| rows[row].0).await
}

const RELEASE: Sql = sql!(
    "work.release", each Held, after 1,
    "UPDATE work
     SET status = 'pending', lease_expires_at = NULL, version = work.version + 1, updated_at = $1
     {from rows}
     WHERE work.id = {.id} AND work.version = {.token}",
);

/// Gives claimed rows back untouched, as a node does that is about to stop.
#[boxed]
pub async fn release(conn: &mut Conn<'_>, now: Timestamp, rows: &[(i64, i64)]) -> Result<u64> {
    conn.execute(&RELEASE, with_rows(args![now], &held(rows))).await
}

/// The outcome of one claimed row, ready to be written.
#[derive(Clone, Debug, PartialEq, SetRow)]
pub struct Settlement {
    pub id: i64,
    pub token: i64,
    pub status: WorkStatus,
    pub reason: Option<ReasonCode>,
    pub on_hold: bool,
    pub retry_count: i64,
    /// When it is ready again, where it is queued again.
    pub retry_at: Option<Timestamp>,
    /// Small JSON with the downstream coordinates.
    pub result: Option<String>,
    pub open_notifications: i64,
}

impl Settlement {
    /// What an event makes of a row that the caller has claimed: the one way to a new status. A row that the event cannot
    /// happen to stays claimed until its lease ends.
    pub fn after(event: WorkEvent, id: i64, token: i64, retry_count: i64) -> Self {
        Self {
            id,
            token,
            status: WorkStatus::Processing.after(event).unwrap_or(WorkStatus::Processing),
            reason: None,
            on_hold: false,
            retry_count,
            retry_at: None,
            result: None,
            open_notifications: 0,
        }
    }
}

impl Claimed {
    /// What an event makes of this row.
    pub fn after(&self, event: WorkEvent) -> Settlement {
        Settlement::after(event, self.id, self.version, self.retry_count)
    }
}

const SETTLE: Sql = sql!(
    "work.settle", each Settlement, after 1,
    "UPDATE work
     SET status = {.status}, lease_expires_at = NULL, version = work.version + 1, updated_at = $1,
         reason_code = {.reason}, on_hold = {.on_hold}, retry_count = {.retry_count},
         ready_at = COALESCE({.retry_at}, work.ready_at), next_retry_at = {.retry_at},
         result = COALESCE({.result}, work.result), open_notifications = {.open_notifications}
     {from rows}
     WHERE work.id = {.id} AND work.version = {.token}
     {postgres RETURNING work.id}",
);

/// Writes outcomes. Returns the ids whose tokens were still valid; the other rows have moved on and are not changed.
#[boxed]
pub async fn settle(conn: &mut Conn<'_>, now: Timestamp, rows: &[Settlement]) -> Result<Vec<i64>> {
    conn.change(&SETTLE, with_rows(args![now], rows), |row| rows[row].id).await
}

/// The earliest instant at which a row of a kind is ready.
#[derive(Record)]
struct Ready {
    kind: String,
    ready_at: Timestamp,
}

const EARLIEST: Sql = sql!(
    "work.earliest",
    "SELECT k.kind AS kind,
        (SELECT ready_at FROM work WHERE status = 'pending' AND NOT on_hold AND kind = k.kind
         ORDER BY ready_at LIMIT 1) AS ready_at
     FROM {sqlite (SELECT value AS kind FROM json_each($1)) AS k}{postgres UNNEST($1::text[]) AS k(kind)}
     WHERE EXISTS (SELECT 1 FROM work WHERE status = 'pending' AND NOT on_hold AND kind = k.kind)",
);

const EARLIEST_AFTER: Sql = sql!(
    "work.earliest_after", as Ready,
    "SELECT {columns} FROM (
        SELECT k.kind AS kind,
            (SELECT ready_at FROM work
             WHERE status = 'pending' AND NOT on_hold AND kind = k.kind AND (ready_at, id) > (k.ready_at, k.id)
             ORDER BY ready_at, id LIMIT 1) AS ready_at
        FROM {sqlite (SELECT value ->> 0 AS kind, value ->> 1 AS ready_at, value ->> 2 AS id FROM json_each($1)) AS k}{postgres (SELECT value ->> 0 AS kind, (value ->> 1)::bigint AS ready_at, (value ->> 2)::bigint AS id FROM json_array_elements($1::json) AS value) AS k}
     ) AS firsts
     WHERE ready_at IS NOT NULL",
);

/// When the next row of each of these kinds is ready; kinds with none are left out. One index probe a kind, for a kind with a
/// place behind it, and from the beginning where nothing is there.
#[boxed]
pub async fn earliest(conn: &mut Conn<'_>, kinds: &[(&str, After)]) -> Result<Vec<(String, i64)>> {
    let (begun, mut whole): (Vec<_>, Vec<_>) =
        kinds.iter().partition(|(_, after)| *after != After::BEGINNING);
    let mut found: Vec<Ready> = Vec::new();
    if !begun.is_empty() {
        let places: Vec<_> = begun.iter().map(|(kind, after)| (kind, after.ready_at, after.id)).collect();
        let places = serde_json::to_string(&places).map_err(|_| StoreError::Stored("work.ready_at"))?;
        found = conn.fetch_all(&EARLIEST_AFTER, args![places]).await?;
        whole.extend(begun.into_iter().filter(|(kind, _)| found.iter().all(|row| row.kind != *kind)));
    }
    if !whole.is_empty() {
        let kinds: Vec<String> = whole.iter().map(|(kind, _)| (*kind).to_owned()).collect();
        found.extend(conn.fetch_all::<Ready>(&EARLIEST, args![kinds]).await?);
    }
    Ok(found.into_iter().map(|row| (row.kind, row.ready_at.as_microsecond())).collect())
}

/// A claim whose lease has run out.
#[derive(Clone, Debug, Record)]
pub struct Expired {
    pub id: i64,
    pub key: String,
    pub kind: String,
    pub retry_count: i64,
    pub business_unit: Option<String>,
    pub version: i64,
}

// Relies on work_leased.
const EXPIRED: Sql = sql!(
    "work.expired",
    as Expired,
    "SELECT {columns} FROM work
     WHERE status = 'processing' AND lease_expires_at <= $1
     ORDER BY lease_expires_at
     LIMIT $2",
);

/// The oldest expired claims. Nothing is locked: a change of one checks the version that was read.
#[boxed]
pub async fn expired(conn: &mut Conn<'_>, now: Timestamp, limit: i64) -> Result<Vec<Expired>> {
    conn.fetch_all(&EXPIRED, args![now, limit]).await
}

const RELEASE_LEASES: Sql = sql!(
    "work.release_leases",
    "UPDATE work SET lease_expires_at = $1 WHERE status = 'processing' AND lease_expires_at > $1",
);

/// Ends every lease now, so that the sweep takes the rows: only where no other process can hold one.
#[boxed]
pub async fn release_leases(conn: &mut Conn<'_>, now: Timestamp) -> Result<u64> {
    conn.execute(&RELEASE_LEASES, args![now]).await
}

crate::db::statements![
    CLAIM,
    CLAIM_WITHOUT_SKIP,
    READY,
    READY_HEADS,
    READY_OF,
    TAKE,
    CLAIM_THESE,
    TAKEN,
    LOCK_DUE,
    RENEW,
    RELEASE,
    SETTLE,
    EARLIEST,
    EARLIEST_AFTER,
    EXPIRED,
    RELEASE_LEASES
];

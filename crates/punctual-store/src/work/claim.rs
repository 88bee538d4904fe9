//! Claim, renew, settle, and what happens to claims whose worker is gone.
//!
//! The version makes it safe, the lock makes it fast: every write after a claim carries the version that the
//! claim produced, and changes nothing when the row has moved on. The status is not compared beside the version: it
//! adds nothing, and tempts PostgreSQL to join over the index of leases, row against row.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::{
    Tx,
    db::{Conn, Result, Sql, args},
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
    pub due_at: i64,
    pub ready_at: i64,
    pub retry_count: i64,
    pub input_hash: String,
    pub input: String,
    /// The version as the claim or the lock left it: the token.
    pub version: i64,
}

macro_rules! claim {
    ($lock:literal) => {
        concat!(
            "
    WITH due AS MATERIALIZED (
        SELECT id, version FROM work
        WHERE status = 'pending' AND NOT on_hold AND kind = $1 AND ready_at <= $2
        ORDER BY ready_at, id
        LIMIT $4",
            $lock,
            ")
    UPDATE work
    SET status = 'processing', lease_expires_at = $3, version = work.version + 1
    FROM due
    WHERE work.id = due.id AND work.version = due.version
    RETURNING work.id, work.key, work.kind, work.trigger_type, work.business_unit, work.source_type,
        work.source_id, work.setting_id, work.due_at, work.ready_at, work.retry_count, work.input_hash,
        work.input, work.version"
        )
    };
}
// Relies on work_ready, which holds live rows only.
const CLAIM: Sql = Sql::same("work.claim", claim!(" FOR UPDATE SKIP LOCKED"));
const CLAIM_WITHOUT_SKIP: Sql = Sql::same("work.claim", claim!(""));
// SQLite reads the set and then takes it: one transaction at a time writes, so nothing can come in between.
const READY: Sql = Sql::same(
    "work.ready",
    "SELECT id, key, kind, trigger_type, business_unit, source_type, source_id, setting_id, due_at, ready_at,
         retry_count, input_hash, input, version + 1 AS version
     FROM work
     WHERE status = 'pending' AND NOT on_hold AND kind = $1 AND ready_at <= $2
     ORDER BY ready_at, id
     LIMIT $3",
);
const TAKE: Sql = Sql::rows(
    "work.take",
    "UPDATE work SET status = 'processing', lease_expires_at = $1, version = version + 1 WHERE id = $2",
    "UPDATE work SET status = 'processing', lease_expires_at = $1, version = version + 1 WHERE id = ANY($2)",
);

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
        let rows: Vec<Claimed> = conn.fetch_all(&READY, args![kind, ready_by, limit]).await?;
        if !rows.is_empty() {
            let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
            conn.execute(&TAKE, args![lease_until, ids]).await?;
        }
        return Ok(rows);
    }
    let mut rows: Vec<Claimed> = conn.fetch_all(sql, args![kind, ready_by, lease_until, limit]).await?;
    rows.sort_by_key(|row| (row.ready_at, row.id));
    Ok(rows)
}

macro_rules! locked {
    ($lock:literal) => {
        concat!(
            "
    SELECT id, key, kind, trigger_type, business_unit, source_type, source_id, setting_id, due_at, ready_at,
        retry_count, input_hash, input, version
    FROM work
    WHERE status = 'pending' AND NOT on_hold AND kind = $1 AND ready_at <= $2
    ORDER BY ready_at, id
    LIMIT $3",
            $lock
        )
    };
}
// Relies on work_ready.
const LOCK_DUE: Sql = Sql::each("work.lock_due", locked!(""), locked!(" FOR UPDATE SKIP LOCKED"));

/// Reads and locks up to `limit` ready rows for a transaction that settles them itself: the lock is the claim, and
/// whatever ends the transaction ends it. Saves a write and a commit a row; for work that is decided at once.
#[boxed]
pub async fn lock_due(tx: &mut Tx, kind: &str, ready_by: Timestamp, limit: i64) -> Result<Vec<Claimed>> {
    tx.conn().fetch_all(&LOCK_DUE, args![kind, ready_by, limit]).await
}

const RENEW: Sql = Sql::rows(
    "work.renew",
    "UPDATE work SET lease_expires_at = $1 WHERE id = $2 AND version = $3",
    "UPDATE work SET lease_expires_at = $1
     FROM UNNEST($2::bigint[], $3::bigint[]) AS r(id, token)
     WHERE work.id = r.id AND work.version = r.token
     RETURNING work.id",
);

/// Extends leases that are still held; returns which are. The token stays the same.
#[boxed]
pub async fn renew(conn: &mut Conn<'_>, lease_until: Timestamp, held: &[(i64, i64)]) -> Result<Vec<i64>> {
    let (ids, tokens): (Vec<i64>, Vec<i64>) = held.iter().copied().unzip();
    conn.change(&RENEW, args![lease_until, ids, tokens], |row| held[row].0).await
}

macro_rules! release {
    ($which:literal) => {
        concat!(
            "
    UPDATE work
    SET status = 'pending', lease_expires_at = NULL, version = work.version + 1, updated_at = $1
    ",
            $which
        )
    };
}
const RELEASE: Sql = Sql::rows(
    "work.release",
    release!("WHERE id = $2 AND version = $3"),
    release!(
        "FROM UNNEST($2::bigint[], $3::bigint[]) AS r(id, token)
    WHERE work.id = r.id AND work.version = r.token"
    ),
);

/// Gives claimed rows back untouched, as a node does that is about to stop.
#[boxed]
pub async fn release(conn: &mut Conn<'_>, now: Timestamp, held: &[(i64, i64)]) -> Result<u64> {
    let (ids, tokens): (Vec<i64>, Vec<i64>) = held.iter().copied().unzip();
    conn.execute(&RELEASE, args![now, ids, tokens]).await
}

/// What became of one claimed row, ready to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Settlement {
    pub id: i64,
    pub token: i64,
    pub status: &'static str,
    pub reason: Option<String>,
    pub on_hold: bool,
    pub retry_count: i64,
    /// When it is ready again, where it goes back in line.
    pub retry_at: Option<Timestamp>,
    /// Small JSON with the downstream coordinates.
    pub result: Option<String>,
    pub open_notifications: i64,
}

const SETTLE: Sql = Sql::rows(
    "work.settle",
    "UPDATE work
     SET status = $4, lease_expires_at = NULL, version = version + 1, updated_at = $1, reason_code = $5, on_hold = $6,
         retry_count = $7, ready_at = COALESCE($8, ready_at), next_retry_at = $8, result = COALESCE($9, result),
         open_notifications = $10
     WHERE id = $2 AND version = $3",
    "UPDATE work
     SET status = r.status, lease_expires_at = NULL, version = work.version + 1, updated_at = $1,
         reason_code = r.reason, on_hold = r.on_hold, retry_count = r.retry_count,
         ready_at = COALESCE(r.retry_at, work.ready_at), next_retry_at = r.retry_at,
         result = COALESCE(r.result, work.result), open_notifications = r.open_notifications
     FROM UNNEST($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::boolean[], $7::bigint[], $8::bigint[],
             $9::text[], $10::bigint[])
         AS r(id, token, status, reason, on_hold, retry_count, retry_at, result, open_notifications)
     WHERE work.id = r.id AND work.version = r.token
     RETURNING work.id",
);

/// Writes outcomes. Returns the ids whose tokens were still valid; the other rows have moved on and are not changed.
#[boxed]
pub async fn settle(conn: &mut Conn<'_>, now: Timestamp, rows: &[Settlement]) -> Result<Vec<i64>> {
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            rows.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    let bound = args![
        now,
        column!(|s| s.id),
        column!(|s| s.token),
        column!(|s| s.status),
        column!(|s| s.reason.as_deref()),
        column!(|s| s.on_hold),
        column!(|s| s.retry_count),
        column!(|s| s.retry_at),
        column!(|s| s.result.as_deref()),
        column!(|s| s.open_notifications),
    ];
    conn.change(&SETTLE, bound, |row| rows[row].id).await
}

/// The earliest instant at which a row of a kind is ready.
#[derive(Record)]
struct Ready {
    kind: String,
    ready_at: i64,
}

macro_rules! earliest { ($kinds:literal) => { concat!("
    SELECT k.kind AS kind,
        (SELECT ready_at FROM work WHERE status = 'pending' AND NOT on_hold AND kind = k.kind ORDER BY ready_at LIMIT 1) AS ready_at
    FROM ", $kinds, "
    WHERE EXISTS (SELECT 1 FROM work WHERE status = 'pending' AND NOT on_hold AND kind = k.kind)") } }
const EARLIEST: Sql = Sql::each(
    "work.earliest",
    earliest!("(SELECT value AS kind FROM json_each($1)) AS k"),
    earliest!("UNNEST($1::text[]) AS k(kind)"),
);

/// When the next row of each of these kinds is ready; kinds with none are left out. One index probe a kind.
#[boxed]
pub async fn earliest(conn: &mut Conn<'_>, kinds: &[&str]) -> Result<Vec<(String, i64)>> {
    let kinds: Vec<String> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    let rows: Vec<Ready> = conn.fetch_all(&EARLIEST, args![kinds]).await?;
    Ok(rows.into_iter().map(|row| (row.kind, row.ready_at)).collect())
}

/// A claim whose lease has run out.
#[derive(Clone, Debug, Record)]
pub struct Expired {
    pub id: i64,
    pub key: String,
    pub kind: String,
    pub retry_count: i64,
    pub version: i64,
}

// Relies on work_leased.
const EXPIRED: Sql = Sql::same(
    "work.expired",
    "SELECT id, key, kind, retry_count, version FROM work
     WHERE status = 'processing' AND lease_expires_at <= $1
     ORDER BY lease_expires_at
     LIMIT $2",
);

/// The oldest expired claims. Nothing is locked: whoever changes one names the version that was read.
#[boxed]
pub async fn expired(conn: &mut Conn<'_>, now: Timestamp, limit: i64) -> Result<Vec<Expired>> {
    conn.fetch_all(&EXPIRED, args![now, limit]).await
}

const RELEASE_LEASES: Sql = Sql::same(
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
    TAKE,
    LOCK_DUE,
    RENEW,
    RELEASE,
    SETTLE,
    EARLIEST,
    EXPIRED,
    RELEASE_LEASES
];

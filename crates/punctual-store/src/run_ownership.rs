//! The owner of each run. One row per key: the first writer owns the run, and the database decides who was first. A cancelled
//! ownership can be taken again.

use std::slice;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::OwnershipStatus;

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct OwnershipRow {
    pub key: String,
    pub workflow: String,
    pub subject_id: String,
    /// `old_scheduler` or `automation_scheduler`.
    pub owner: String,
    pub owner_version: String,
    pub status: OwnershipStatus,
    /// Where the output of the run is kept: a JSON object.
    pub coordinates: Option<String>,
    pub version: i64,
    pub taken_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A run that somebody wants to own.
#[derive(Clone, Debug, SetRow)]
pub struct Take<'a> {
    pub key: &'a str,
    pub workflow: &'a str,
    pub subject_id: &'a str,
    pub owner: &'a str,
    pub owner_version: &'a str,
}

const TAKE: Sql = sql!(
    "run_ownership.take", each Take<'_>, after 1,
    "INSERT INTO run_ownership ({names}, status, taken_at, updated_at) {values {*}, 'owned', $1, $1}
     ON CONFLICT (key) DO NOTHING",
);

/// Takes a run that nobody had before, and returns who has it, held until the transaction ends: every caller gets the same
/// row. One that is cancelled may be taken over ([`take_over`]).
#[boxed]
pub async fn take(conn: &mut Conn<'_>, now: Timestamp, take: &Take<'_>) -> Result<OwnershipRow> {
    conn.execute(&TAKE, with_rows(args![now], slice::from_ref(take))).await?;
    conn.fetch_one(&HOLD, args![take.key]).await
}

const HOLD: Sql = sql!(
    "run_ownership.hold", as OwnershipRow,
    "SELECT {columns} FROM run_ownership WHERE key = $1{postgres  FOR UPDATE}",
);
const TAKE_OVER: Sql = sql!(
    "run_ownership.take_over", as OwnershipRow,
    "UPDATE run_ownership
     SET owner = $3, owner_version = $4, status = 'owned', coordinates = NULL, version = version + 1, taken_at = $1,
         updated_at = $1
     WHERE key = $2 AND status <> 'delivery_created'
     RETURNING {columns}",
);

/// Gives a run that is held by this transaction, and not delivered, to another owner or to a newer version of the same.
#[boxed]
pub async fn take_over(conn: &mut Conn<'_>, now: Timestamp, take: &Take<'_>) -> Result<OwnershipRow> {
    conn.fetch_one(&TAKE_OVER, args![now, take.key, take.owner, take.owner_version]).await
}

const GET: Sql =
    sql!("run_ownership.get", as OwnershipRow, "SELECT {columns} FROM run_ownership WHERE key = $1");

#[boxed]
pub async fn get(conn: &mut Conn<'_>, key: &str) -> Result<Option<OwnershipRow>> {
    conn.fetch_optional(&GET, args![key]).await
}

const LOCK: Sql = sql!(
    "run_ownership.lock", as OwnershipRow,
    "SELECT {columns} FROM run_ownership WHERE key = {any $1}{postgres  ORDER BY key FOR UPDATE}",
);
const BY_KEYS: Sql = sql!(
    "run_ownership.by_keys", as OwnershipRow,
    "SELECT {columns} FROM run_ownership WHERE key = {any $1}",
);

/// These rows, held until the transaction ends: a delivery and a roll back cannot miss each other.
#[boxed]
pub async fn lock(conn: &mut Conn<'_>, mut keys: Vec<String>) -> Result<Vec<OwnershipRow>> {
    keys.sort_unstable();
    keys.dedup();
    conn.fetch_all(&LOCK, args![keys]).await
}

#[boxed]
pub async fn by_keys(conn: &mut Conn<'_>, mut keys: Vec<String>) -> Result<Vec<OwnershipRow>> {
    keys.sort_unstable();
    keys.dedup();
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    conn.fetch_all(&BY_KEYS, args![keys]).await
}

const REPORT: Sql = sql!(
    "run_ownership.report", as OwnershipRow,
    "UPDATE run_ownership
     SET status = $4, coordinates = COALESCE($5, coordinates), version = version + 1, updated_at = $1
     WHERE key = $2 AND owner = $3 AND (status = 'owned' OR status = $4)
     RETURNING {columns}",
);

/// Records what an owner reports about its run; nothing where it does not own it, or no longer.
#[boxed]
pub async fn report(
    conn: &mut Conn<'_>,
    now: Timestamp,
    key: &str,
    owner: &str,
    status: OwnershipStatus,
    coordinates: Option<&str>,
) -> Result<Option<OwnershipRow>> {
    conn.fetch_optional(&REPORT, args![now, key, owner, status, coordinates]).await
}

#[derive(SetRow)]
struct Delivered<'a> {
    key: &'a str,
    coordinates: &'a str,
}

const DELIVERED: Sql = sql!(
    "run_ownership.delivered", each Delivered<'_>, after 2,
    "UPDATE run_ownership
     SET status = 'delivery_created', coordinates = {.coordinates}, version = run_ownership.version + 1, updated_at = $1
     {from rows}
     WHERE run_ownership.key = {.key} AND run_ownership.owner = $2 AND run_ownership.status = 'owned'",
);

/// The deliveries of these runs are queued, in this very transaction: `(key, coordinates)`.
#[boxed]
pub async fn delivered(
    conn: &mut Conn<'_>,
    now: Timestamp,
    owner: &str,
    rows: &[(String, String)],
) -> Result<u64> {
    let rows: Vec<Delivered<'_>> =
        rows.iter().map(|(key, coordinates)| Delivered { key, coordinates }).collect();
    conn.execute(&DELIVERED, with_rows(args![now, owner], &rows)).await
}

#[derive(Record)]
struct Key {
    key: String,
}

const GIVE_BACK: Sql = sql!(
    "run_ownership.give_back",
    "UPDATE run_ownership
     SET status = 'cancelled', version = version + 1, updated_at = $1
     WHERE workflow = $2 AND owner = $3 AND status = 'owned' AND key IN ({texts $4})
     RETURNING key",
);
const OWNED: Sql = sql!(
    "run_ownership.owned", as Key,
    "SELECT {columns} FROM run_ownership
     WHERE workflow = $1 AND owner = $2 AND status = 'owned' AND subject_id IN ({texts $3})",
);

/// The keys of what this owner has taken and not delivered.
#[boxed]
pub async fn owned(
    conn: &mut Conn<'_>,
    workflow: &str,
    owner: &str,
    subjects: Vec<String>,
) -> Result<Vec<String>> {
    let keys: Vec<Key> = conn.fetch_all(&OWNED, args![workflow, owner, subjects]).await?;
    Ok(keys.into_iter().map(|row| row.key).collect())
}

/// Frees those of these keys that this owner has taken and not delivered; returns them. What was delivered stays so.
#[boxed]
pub async fn give_back(
    conn: &mut Conn<'_>,
    now: Timestamp,
    workflow: &str,
    owner: &str,
    keys: Vec<String>,
) -> Result<Vec<String>> {
    let keys: Vec<Key> = conn.fetch_all(&GIVE_BACK, args![now, workflow, owner, keys]).await?;
    Ok(keys.into_iter().map(|row| row.key).collect())
}

const TAKEN: Sql = sql!(
    "run_ownership.taken", as OwnershipRow,
    "SELECT {columns} FROM run_ownership
     WHERE workflow = $1 AND owner = $2 AND taken_at >= $3 AND taken_at < $4 AND subject_id IN ({texts $6})
     ORDER BY taken_at, key
     LIMIT $5",
);

/// The runs that an owner took in an interval, in order of time.
#[boxed]
pub async fn taken(
    conn: &mut Conn<'_>,
    workflow: &str,
    owner: &str,
    from: Timestamp,
    to: Timestamp,
    subjects: Vec<String>,
    limit: i64,
) -> Result<Vec<OwnershipRow>> {
    conn.fetch_all(&TAKEN, args![workflow, owner, from, to, limit, subjects]).await
}

crate::db::statements![TAKE, HOLD, TAKE_OVER, GET, LOCK, BY_KEYS, REPORT, DELIVERED, GIVE_BACK, OWNED, TAKEN];

//! Who makes the delivery of a run. One row a key: whoever writes it first owns the run, and the database decides who
//! that was. What was cancelled is free again.

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct OwnershipRow {
    pub key: String,
    pub path: String,
    pub subject_id: String,
    /// `old_scheduler` or `automation_scheduler`.
    pub owner: String,
    pub owner_version: String,
    /// `owned`, `delivery_created` or `cancelled`.
    pub status: String,
    /// Where what was made for the run lies: a JSON object.
    pub coordinates: Option<String>,
    pub version: i64,
    pub taken_at: i64,
    pub updated_at: i64,
}

macro_rules! columns {
    () => {
        "key, path, subject_id, owner, owner_version, status, coordinates, version, taken_at, updated_at"
    };
}

/// A run that somebody wants to own.
#[derive(Clone, Debug)]
pub struct Take<'a> {
    pub key: &'a str,
    pub path: &'a str,
    pub subject_id: &'a str,
    pub owner: &'a str,
    pub owner_version: &'a str,
}

const TAKE: Sql = Sql::same(
    "run_ownership.take",
    "INSERT INTO run_ownership (key, path, subject_id, owner, owner_version, status, taken_at, updated_at)
     VALUES ($2, $3, $4, $5, $6, 'owned', $1, $1)
     ON CONFLICT (key) DO UPDATE
     SET owner = EXCLUDED.owner, owner_version = EXCLUDED.owner_version, status = 'owned', coordinates = NULL,
         version = run_ownership.version + 1, taken_at = EXCLUDED.taken_at, updated_at = EXCLUDED.updated_at
     WHERE run_ownership.status = 'cancelled'",
);

/// Takes a run that is free, and returns who owns it afterwards: the same row to whoever asks.
#[boxed]
pub async fn take(conn: &mut Conn<'_>, now: Timestamp, take: &Take<'_>) -> Result<OwnershipRow> {
    let bound = args![now, take.key, take.path, take.subject_id, take.owner, take.owner_version];
    conn.execute(&TAKE, bound).await?;
    conn.fetch_one(&GET, args![take.key]).await
}

const GET: Sql =
    Sql::same("run_ownership.get", concat!("SELECT ", columns!(), " FROM run_ownership WHERE key = $1"));

#[boxed]
pub async fn get(conn: &mut Conn<'_>, key: &str) -> Result<Option<OwnershipRow>> {
    conn.fetch_optional(&GET, args![key]).await
}

macro_rules! of_keys {
    ($which:literal) => {
        concat!("SELECT ", columns!(), " FROM run_ownership WHERE key = ", $which)
    };
}
const LOCK: Sql =
    Sql::rows("run_ownership.lock", of_keys!("$1"), of_keys!("ANY($1) ORDER BY key FOR UPDATE"));
const BY_KEYS: Sql = Sql::rows("run_ownership.by_keys", of_keys!("$1"), of_keys!("ANY($1)"));

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

const REPORT: Sql = Sql::same(
    "run_ownership.report",
    concat!(
        "UPDATE run_ownership
     SET status = $4, coordinates = COALESCE($5, coordinates), version = version + 1, updated_at = $1
     WHERE key = $2 AND owner = $3 AND (status = 'owned' OR status = $4)
     RETURNING ",
        columns!()
    ),
);

/// What an owner has to say about its run; nothing where it does not own it, or where that is over.
#[boxed]
pub async fn report(
    conn: &mut Conn<'_>,
    now: Timestamp,
    key: &str,
    owner: &str,
    status: &str,
    coordinates: Option<&str>,
) -> Result<Option<OwnershipRow>> {
    conn.fetch_optional(&REPORT, args![now, key, owner, status, coordinates]).await
}

const DELIVERED: Sql = Sql::rows(
    "run_ownership.delivered",
    "UPDATE run_ownership
     SET status = 'delivery_created', coordinates = $4, version = version + 1, updated_at = $1
     WHERE key = $3 AND owner = $2 AND status = 'owned'",
    "UPDATE run_ownership
     SET status = 'delivery_created', coordinates = r.coordinates, version = run_ownership.version + 1, updated_at = $1
     FROM UNNEST($3::text[], $4::text[]) AS r(key, coordinates)
     WHERE run_ownership.key = r.key AND run_ownership.owner = $2 AND run_ownership.status = 'owned'",
);

/// The deliveries of these runs are queued, in this very transaction: `(key, coordinates)`.
#[boxed]
pub async fn delivered(
    conn: &mut Conn<'_>,
    now: Timestamp,
    owner: &str,
    rows: &[(String, String)],
) -> Result<u64> {
    let (keys, coordinates): (Vec<String>, Vec<String>) = rows.iter().cloned().unzip();
    conn.execute(&DELIVERED, args![now, owner, keys, coordinates]).await
}

#[derive(Record)]
struct Key {
    key: String,
}

macro_rules! give_back {
    ($subjects:literal) => {
        concat!(
            "UPDATE run_ownership
     SET status = 'cancelled', version = version + 1, updated_at = $1
     WHERE path = $2 AND owner = $3 AND status = 'owned' AND subject_id IN (",
            $subjects,
            ")
     RETURNING key"
        )
    };
}
const GIVE_BACK: Sql = Sql::each(
    "run_ownership.give_back",
    give_back!("SELECT value FROM json_each($4)"),
    give_back!("SELECT UNNEST($4::text[])"),
);

/// Frees what this owner has taken and not delivered; returns the keys. What was delivered stays so.
#[boxed]
pub async fn give_back(
    conn: &mut Conn<'_>,
    now: Timestamp,
    path: &str,
    owner: &str,
    subjects: Vec<String>,
) -> Result<Vec<String>> {
    let keys: Vec<Key> = conn.fetch_all(&GIVE_BACK, args![now, path, owner, subjects]).await?;
    Ok(keys.into_iter().map(|row| row.key).collect())
}

macro_rules! taken {
    ($subjects:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM run_ownership
     WHERE path = $1 AND owner = $2 AND taken_at >= $3 AND taken_at < $4 AND subject_id IN (",
            $subjects,
            ")
     ORDER BY taken_at, key
     LIMIT $5"
        )
    };
}
const TAKEN: Sql = Sql::each(
    "run_ownership.taken",
    taken!("SELECT value FROM json_each($6)"),
    taken!("SELECT UNNEST($6::text[])"),
);

/// The runs that an owner took in an interval, in order of time.
#[boxed]
pub async fn taken(
    conn: &mut Conn<'_>,
    path: &str,
    owner: &str,
    from: i64,
    to: i64,
    subjects: Vec<String>,
    limit: i64,
) -> Result<Vec<OwnershipRow>> {
    conn.fetch_all(&TAKEN, args![path, owner, from, to, limit, subjects]).await
}

crate::db::statements![TAKE, GET, LOCK, BY_KEYS, REPORT, DELIVERED, GIVE_BACK, TAKEN];

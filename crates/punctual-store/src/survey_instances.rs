//! Instances: every link that was ever sent to a person, and its state.

mod change;
mod query;

use jiff::Timestamp;
use punctual_boxed::{Record, SetRow, boxed};
use punctual_model::{Reach, survey::InstanceStatus};

pub use change::{Change, complete, delete, open, settle};
pub use query::{
    Answered, InstanceFilter, StatusCount, Walked, counts, list, nth_before, open_after, page, walk,
};

use crate::db::{Conn, Result, Sql, args, sql, with_rows};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct InstanceRow {
    pub id: i64,
    pub public_id: String,
    pub survey_id: i64,
    pub version_id: i64,
    pub trigger_id: String,
    pub triggered_by: String,
    pub triggered_at: Timestamp,
    pub status: InstanceStatus,
    pub reason_code: Option<String>,
    pub business_unit: Option<String>,
    pub customer_ref: Option<String>,
    /// The event as it came, a JSON object.
    pub metadata: String,
    pub channel: String,
    pub recipient_address: String,
    pub recipient_locale: Option<String>,
    pub next_send_at: Option<Timestamp>,
    pub last_sent_at: Option<Timestamp>,
    pub sends: i64,
    pub reminders_remaining: i64,
    pub unique_hash: Option<String>,
    pub deleted: bool,
    pub opened_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
}

/// An instance that an event wants.
#[derive(Clone, Debug, SetRow)]
pub struct NewInstance {
    pub public_id: String,
    pub survey_id: i64,
    pub version_id: i64,
    pub trigger_id: String,
    pub triggered_by: String,
    pub triggered_at: Timestamp,
    pub business_unit: Option<String>,
    pub customer_ref: Option<String>,
    pub metadata: String,
    pub channel: String,
    pub recipient_address: String,
    pub recipient_locale: Option<String>,
    pub next_send_at: Timestamp,
    pub reminders_remaining: i64,
    pub unique_hash: String,
}

/// An instance that was not there before.
#[derive(Clone, Debug, Record)]
pub struct InsertedInstance {
    pub public_id: String,
}

const INSERT_ABSENT: Sql = sql!(
    "survey_instances.insert_absent", each NewInstance, after 0,
    "INSERT INTO survey_instances ({names}, status) {values {*}, 'pending'}
     ON CONFLICT (unique_hash) WHERE unique_hash IS NOT NULL AND NOT deleted DO NOTHING
     {postgres RETURNING public_id}",
);

/// Inserts the instances whose hash is free; returns which. Hashes are unique within the set and in order, or two callers
/// deadlock.
#[boxed]
pub async fn insert_absent(conn: &mut Conn<'_>, rows: &[&NewInstance]) -> Result<Vec<InsertedInstance>> {
    let record = |row: usize, _| InsertedInstance { public_id: rows[row].public_id.clone() };
    conn.insert(&INSERT_ABSENT, with_rows(args![], rows), record).await
}

/// The instance that has a hash.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct Holder {
    pub unique_hash: String,
    pub public_id: String,
    pub business_unit: Option<String>,
}

const BY_HASHES: Sql = sql!(
    "survey_instances.by_hashes", as Holder,
    "SELECT {columns} FROM survey_instances
     WHERE unique_hash IS NOT NULL AND NOT deleted AND unique_hash = {any $1}",
);

/// The instances that have these hashes; over the index of hashes.
#[boxed]
pub async fn by_hashes(conn: &mut Conn<'_>, hashes: Vec<String>) -> Result<Vec<Holder>> {
    conn.fetch_all(&BY_HASHES, args![hashes]).await
}

const BY_PUBLIC_ID: Sql = sql!(
    "survey_instances.by_public_id", as InstanceRow,
    "SELECT {columns i} FROM survey_instances i WHERE i.public_id = $1 AND {reach $2 i.business_unit}",
);

/// The instance of this id, if it is within reach.
#[boxed]
pub async fn by_public_id(
    conn: &mut Conn<'_>,
    reach: &Reach,
    public_id: &str,
) -> Result<Option<InstanceRow>> {
    conn.fetch_optional(&BY_PUBLIC_ID, args![public_id, reach]).await
}

/// What a link asks about, and whom.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct Asked {
    pub public_id: String,
    pub survey: String,
    pub recipient_address: String,
}

const ASKED: Sql = sql!(
    "survey_instances.asked", as Asked,
    "SELECT i.public_id, s.name AS survey, i.recipient_address
     FROM survey_instances i JOIN surveys s ON s.id = i.survey_id
     WHERE i.public_id = {any $1} AND {reach $2 i.business_unit} AND {shared $2 s.business_unit}",
);

/// The surveys behind those of these links that are within reach, for titles.
#[boxed]
pub async fn asked(conn: &mut Conn<'_>, reach: &Reach, public_ids: Vec<String>) -> Result<Vec<Asked>> {
    conn.fetch_all(&ASKED, args![public_ids, reach]).await
}

const LOCK: Sql = sql!(
    "survey_instances.lock", as InstanceRow,
    "SELECT {columns i}
     FROM survey_instances i
     WHERE i.public_id = {any $1}{postgres 
     ORDER BY i.id FOR UPDATE}",
);

/// Instances, held until the transaction ends, in order of their ids: what is decided on them stays true. Work rows are
/// locked before their instances, everywhere.
#[boxed]
pub async fn lock(conn: &mut Conn<'_>, mut public_ids: Vec<String>) -> Result<Vec<InstanceRow>> {
    public_ids.sort_unstable();
    public_ids.dedup();
    conn.fetch_all(&LOCK, args![public_ids]).await
}

crate::db::statements![INSERT_ABSENT, BY_HASHES, BY_PUBLIC_ID, ASKED, LOCK; change, query];

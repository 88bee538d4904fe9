//! Instances: every link that was ever offered to somebody, and what became of it.

mod change;
mod query;

use jiff::Timestamp;
use punctual_boxed::{Record, boxed};

pub use change::{Change, complete, delete, open, settle};
pub use query::{InstanceFilter, StatusCount, Walked, counts, list, walk};

use crate::db::{Conn, Result, Sql, args};

#[derive(Clone, Debug, PartialEq, Record)]
pub struct InstanceRow {
    pub id: i64,
    pub public_id: String,
    pub survey_id: i64,
    pub version_id: i64,
    pub trigger_id: String,
    pub triggered_by: String,
    pub triggered_at: i64,
    pub status: String,
    pub reason_code: Option<String>,
    pub business_unit: Option<String>,
    pub customer_ref: Option<String>,
    /// The event as it came, a JSON object.
    pub metadata: String,
    pub channel: String,
    pub recipient_address: String,
    pub recipient_locale: Option<String>,
    pub next_send_at: Option<i64>,
    pub last_sent_at: Option<i64>,
    pub sends: i64,
    pub reminders_remaining: i64,
    pub unique_hash: Option<String>,
    pub deleted: bool,
    pub opened_at: Option<i64>,
    pub finished_at: Option<i64>,
}

macro_rules! instance_columns {
    () => {
        "i.id, i.public_id, i.survey_id, i.version_id, i.trigger_id, i.triggered_by, i.triggered_at, i.status, \
         i.reason_code, i.business_unit, i.customer_ref, i.metadata, i.channel, i.recipient_address, \
         i.recipient_locale, i.next_send_at, i.last_sent_at, i.sends, i.reminders_remaining, i.unique_hash, \
         i.deleted, i.opened_at, i.finished_at"
    };
}
pub(crate) use instance_columns;

/// An instance that an event wants.
#[derive(Clone, Debug)]
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

macro_rules! insert_absent { ($values:literal) => { concat!("
    INSERT INTO survey_instances (public_id, survey_id, version_id, trigger_id, triggered_by, triggered_at, business_unit,
        customer_ref, metadata, channel, recipient_address, recipient_locale, next_send_at, reminders_remaining,
        unique_hash, status)
    ", $values, "
    ON CONFLICT (unique_hash) WHERE unique_hash IS NOT NULL AND NOT deleted DO NOTHING") } }
const INSERT_ABSENT: Sql = Sql::rows(
    "survey_instances.insert_absent",
    insert_absent!("VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 'pending')"),
    concat!(
        insert_absent!("SELECT r.public_id, r.survey_id, r.version_id, r.trigger_id, r.triggered_by, r.triggered_at,
        r.business_unit, r.customer_ref, r.metadata, r.channel, r.address, r.locale, r.next_send_at, r.reminders,
        r.unique_hash, 'pending'
    FROM UNNEST($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[],
            $9::text[], $10::text[], $11::text[], $12::text[], $13::bigint[], $14::bigint[], $15::text[])
        AS r(public_id, survey_id, version_id, trigger_id, triggered_by, triggered_at, business_unit, customer_ref,
             metadata, channel, address, locale, next_send_at, reminders, unique_hash)"),
        "
    RETURNING public_id"
    ),
);

/// Inserts the instances whose hash is free; returns which. Hashes are unique within the set and in order, or two callers
/// deadlock.
#[boxed]
pub async fn insert_absent(conn: &mut Conn<'_>, rows: &[&NewInstance]) -> Result<Vec<InsertedInstance>> {
    macro_rules! column {
        (|$row:ident| $value:expr) => {
            rows.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    let bound = args![
        column!(|i| i.public_id.as_str()),
        column!(|i| i.survey_id),
        column!(|i| i.version_id),
        column!(|i| i.trigger_id.as_str()),
        column!(|i| i.triggered_by.as_str()),
        column!(|i| i.triggered_at),
        column!(|i| i.business_unit.as_deref()),
        column!(|i| i.customer_ref.as_deref()),
        column!(|i| i.metadata.as_str()),
        column!(|i| i.channel.as_str()),
        column!(|i| i.recipient_address.as_str()),
        column!(|i| i.recipient_locale.as_deref()),
        column!(|i| i.next_send_at),
        column!(|i| i.reminders_remaining),
        column!(|i| i.unique_hash.as_str()),
    ];
    let record = |row: usize, _| InsertedInstance { public_id: rows[row].public_id.clone() };
    conn.insert(&INSERT_ABSENT, bound, record).await
}

/// The instance that has a hash.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct Holder {
    pub unique_hash: String,
    pub public_id: String,
}

macro_rules! by_hashes {
    ($which:literal) => {
        concat!(
            "SELECT unique_hash, public_id FROM survey_instances
             WHERE unique_hash IS NOT NULL AND NOT deleted AND unique_hash = ",
            $which
        )
    };
}
const BY_HASHES: Sql = Sql::rows("survey_instances.by_hashes", by_hashes!("$1"), by_hashes!("ANY($1)"));

/// Who has these hashes; over the index of hashes.
#[boxed]
pub async fn by_hashes(conn: &mut Conn<'_>, hashes: Vec<String>) -> Result<Vec<Holder>> {
    conn.fetch_all(&BY_HASHES, args![hashes]).await
}

const BY_PUBLIC_ID: Sql = Sql::same(
    "survey_instances.by_public_id",
    concat!("SELECT ", instance_columns!(), " FROM survey_instances i WHERE i.public_id = $1"),
);

#[boxed]
pub async fn by_public_id(conn: &mut Conn<'_>, public_id: &str) -> Result<Option<InstanceRow>> {
    conn.fetch_optional(&BY_PUBLIC_ID, args![public_id]).await
}

macro_rules! lock {
    ($which:literal) => {
        concat!(
            "
    SELECT ",
            instance_columns!(),
            " FROM survey_instances i WHERE i.public_id = ",
            $which
        )
    };
}
const LOCK: Sql =
    Sql::rows("survey_instances.lock", lock!("$1"), concat!(lock!("ANY($1)"), " ORDER BY i.id FOR UPDATE"));

/// Instances, held until the transaction ends, in order of their ids: what is decided on them stays true. Work rows are
/// locked before their instances, everywhere.
#[boxed]
pub async fn lock(conn: &mut Conn<'_>, mut public_ids: Vec<String>) -> Result<Vec<InstanceRow>> {
    public_ids.sort_unstable();
    public_ids.dedup();
    conn.fetch_all(&LOCK, args![public_ids]).await
}

crate::db::statements![INSERT_ABSENT, BY_HASHES, BY_PUBLIC_ID, LOCK; change, query];

//! Work rows: what is due. Ensured, claimed, settled, swept; never deleted.

mod browse;
mod claim;
mod ensure;
mod insert;
mod operate;
mod page;
mod planned;
mod query;
mod queued;
mod traces;

use jiff::Timestamp;
use punctual_boxed::Record;
use punctual_model::{InputHash, Trigger, WorkKey, WorkStatus};

pub use browse::{ComingPlace, ListedWork, Stopped, WorkList, browse, coming};
pub use claim::{
    Claimed, Expired, Settlement, WorkHead, claim, claim_these, earliest, expired, lock_due, ready_heads,
    ready_of, release, release_leases, renew, settle,
};
pub use ensure::{Existing, change_input, lock_existing, put_on_hold_as_conflict, reactivate, reschedule};
pub use insert::{Inserted, insert_absent, insert_ended, insert_failed, insert_retry};
pub use operate::{
    Changed, OpenCount, cancel, count_down, count_up, deactivate, hasten, release_hold, retry, set_trace,
};
pub use page::{WorkFilter, list, page};
pub use planned::{OfSource, Transfer, Transferred, ahead, of_source, of_sources, repeating, transfer};
pub use query::{Counts, by_id, by_key, by_keys, counts, is_busy, retries_of, retry_keys, troubled};

pub(crate) use operate::STARTS_AGAIN;
pub(crate) use queued::forget_queued;
pub use queued::{NAMED, QueuedRow, coordinates, first_queued, keep_queued, queued};
pub use traces::{Asked, AskedFor, note_traces, traces};

use crate::StoreError;

/// A work row as people see it.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct WorkRow {
    pub id: i64,
    pub key: String,
    pub kind: String,
    pub trigger_type: String,
    pub business_unit: Option<String>,
    pub source_type: Option<String>,
    pub source_id: Option<String>,
    pub setting_id: Option<String>,
    pub due_at: Timestamp,
    pub local_date: Option<String>,
    pub time_zone: Option<String>,
    pub status: WorkStatus,
    pub on_hold: bool,
    pub ready_at: Timestamp,
    pub lease_expires_at: Option<Timestamp>,
    /// Failed attempts since it was planned, released or brought back.
    pub retry_count: i64,
    /// Failed attempts before that.
    pub earlier_attempts: i64,
    pub next_retry_at: Option<Timestamp>,
    pub reason_code: Option<String>,
    /// Why it had ended or was held the time before.
    pub earlier_reason: Option<String>,
    pub input_hash: String,
    pub input: String,
    pub result: Option<String>,
    pub trace_blob: Option<String>,
    pub open_notifications: i64,
    pub retry_of: Option<i64>,
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl WorkRow {
    /// Whether its status is one of these.
    pub fn is(&self, any: &[WorkStatus]) -> bool {
        any.contains(&self.status)
    }
    pub fn trigger(&self) -> Result<Trigger, StoreError> {
        Trigger::parse(&self.trigger_type).ok_or(StoreError::Stored("work.trigger_type"))
    }
    pub fn key(&self) -> Result<WorkKey, StoreError> {
        WorkKey::parse(&self.key).map_err(|_| StoreError::Stored("work.key"))
    }
    pub fn input_hash(&self) -> Result<InputHash, StoreError> {
        InputHash::parse_hex(&self.input_hash).map_err(|_| StoreError::Stored("work.input_hash"))
    }
}

crate::db::statements![; browse, claim, ensure, insert, operate, page, planned, query, queued, traces];

//! Notifications: what to send. Inserted once by id, claimed per channel, settled, parked, purged.

use punctual_boxed::Record;
#[macro_use]
mod waiting;

mod bisect;
mod browse;
mod claim;
mod figures;
mod insert;
mod kpis;
mod operate;
mod purge;
mod query;

use punctual_model::NotificationStatus;

pub use browse::{Browse, Browsed, ListedNotification, Next, Place, browse};
pub use claim::{
    ClaimedNotification, Delivery, Earliest, NotificationHead, claim, claim_these, claim_up_to, earliest,
    expired, ready_heads, release_leases, renew, settle,
};
pub use figures::{Ending, SiteChannelFigures, by_site_and_channel, count_ended, ended_in, last_delivered};
pub use insert::{InsertedNotification, PresentState, Queued, insert_absent, present};
pub use kpis::{AsOf, Kpis, SiteKpis, failed_events, kpis, site_kpis};
pub use operate::{Withdrawn, discard, retry, withdraw_by_work};
pub use purge::{PurgeSize, Purged, purge, purge_size};
pub(crate) use query::contains_pattern;
pub use query::{NotificationFilter, by_id, by_ids, is_busy, list};
pub use waiting::{Stuck, WAITS, is_stuck};

use crate::StoreError;

/// A notification as people see it.
#[derive(Clone, Debug, PartialEq, Record)]
pub struct NotificationRow {
    pub seq: i64,
    pub id: String,
    pub kind: String,
    pub channel: String,
    pub list_name: Option<String>,
    pub targets: Option<String>,
    pub subject: String,
    pub body: String,
    pub html: Option<String>,
    pub template: Option<String>,
    pub locale: Option<String>,
    pub context: Option<String>,
    pub type_data: Option<String>,
    pub status: String,
    pub priority: i64,
    pub ready_at: i64,
    pub lease_expires_at: Option<i64>,
    pub retry_count: i64,
    pub tries: i64,
    pub last_error: Option<String>,
    pub reason_code: Option<String>,
    pub business_unit: Option<String>,
    pub source_site: Option<String>,
    pub source_instance: Option<String>,
    pub source_script: Option<String>,
    pub work_id: Option<i64>,
    pub reports_back: bool,
    pub uncertain: i64,
    pub site_enqueued_at: Option<i64>,
    pub created_at: i64,
    pub last_attempt_at: Option<i64>,
    pub delivered_at: Option<i64>,
    pub finished_at: Option<i64>,
    pub topic: Option<String>,
    /// The channels that are tried after its own, a JSON array.
    pub failover: Option<String>,
    pub version: i64,
}

impl NotificationRow {
    pub fn status(&self) -> Result<NotificationStatus, StoreError> {
        NotificationStatus::parse(&self.status).ok_or(StoreError::Stored("notifications.status"))
    }
}

crate::db::statements![; bisect, browse, claim, figures, insert, kpis, operate, purge, query];

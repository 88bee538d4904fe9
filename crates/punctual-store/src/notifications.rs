//! Notifications: what to send. Inserted once by id, claimed per channel, settled, parked, purged.

use punctual_boxed::{Record, SetRow};
#[macro_use]
mod waiting;

mod bisect;
mod browse;
mod claim;
mod earliest;
mod figures;
mod insert;
mod kpis;
mod moves;
mod operate;
mod page;
mod purge;
mod query;
mod settle;
mod window;

use jiff::Timestamp;
use punctual_model::{
    Audience, ChannelKey, Envelope, FileRef, InputHash, Json, NewNotification, NotificationId,
    NotificationStatus, WorkId,
};
use serde_json::Value;

pub use browse::{
    Browse, Browsed, ListedNotification, NO_REASON, Next, Place, Recipients, browse, recipients,
};
pub use claim::{
    NotificationHead, Starts, claim, claim_behind, claim_these, expired, hold, ready_heads, release_leases,
    renew,
};
pub use earliest::{Earliest, LaneStart, earliest};
pub use figures::{
    Ending, QueueAges, SiteChannelFigures, by_site_and_channel, count_ended, ended_in, last_delivered,
    queue_ages,
};
pub use insert::{InsertedNotification, Insertion, PresentState, insert_absent, insert_prepared, present};
pub use kpis::{AsOf, DeliveredIn, Kpis, SiteKpis, delivered_in, failed_events, kpis, site_kpis};
pub use moves::{ListMove, Place as LanePlace, end_waits, join_lane, move_with_list, waiting_in_lane};
pub use operate::{
    ParkedCount, Retried, Rewritten, Withdrawn, discard, parked_of_channels, retry, retry_of_channel,
    rewrite, waiting_of_work, withdraw_by_work,
};
pub use page::{NotificationFilter, list, page};
pub use purge::{PurgeSize, Purged, bury, purge, purge_size, purged_of_site, remove_buried, writers};
pub(crate) use query::contains_pattern;
pub use query::{by_id, by_ids, is_busy, of_site};
pub use settle::{Delivery, settle};
pub use waiting::{Stuck, WAITS, is_stuck};
pub use window::{Window, Written, write_window};

/// A notification: what is read, what is claimed and what is inserted are the same row.
#[derive(Clone, Debug, PartialEq, Record, SetRow)]
pub struct NotificationRow {
    /// Given by the database: its place in the order of arrival.
    #[column(skip)]
    pub seq: i64,
    pub id: NotificationId,
    /// Distinguishes a repeat from other content under the same id.
    pub digest: InputHash,
    /// What kind of message it is, for filters and figures.
    pub kind: String,
    pub channel: ChannelKey,
    pub list_name: Option<String>,
    /// Whether its channel is the one of its list, and moves with it.
    pub follows_list: bool,
    pub targets: Option<Json<Vec<String>>>,
    pub subject: String,
    pub body: String,
    pub html: Option<String>,
    pub template: Option<String>,
    pub locale: Option<String>,
    pub context: Option<Json<Value>>,
    pub type_data: Option<Json<Value>>,
    pub attachments: Option<Json<Vec<FileRef>>>,
    pub status: NotificationStatus,
    pub priority: i64,
    pub ready_at: Timestamp,
    pub lease_expires_at: Option<Timestamp>,
    #[column(skip)]
    pub retry_count: i64,
    /// Which attempt it is at, counted over operators' retries too.
    pub attempts: i64,
    #[column(skip)]
    pub last_error: Option<String>,
    #[column(skip)]
    pub reason_code: Option<String>,
    pub business_unit: Option<String>,
    pub source_site: Option<String>,
    pub source_instance: Option<String>,
    pub source_script: Option<String>,
    pub work_id: Option<WorkId>,
    /// Whether its work row counts the notifications that are still open.
    pub reports_back: bool,
    #[column(skip)]
    pub uncertain: i64,
    pub site_enqueued_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub last_attempt_at: Option<Timestamp>,
    #[column(skip)]
    pub delivered_at: Option<Timestamp>,
    #[column(skip)]
    pub finished_at: Option<Timestamp>,
    pub topic: Option<String>,
    /// The channels that are used one after another where its own fails.
    pub failover: Option<Json<Vec<ChannelKey>>>,
    /// After this instant it is not sent any more.
    pub not_after: Option<Timestamp>,
    /// Where answers go, headers of the mail, the trace.
    pub envelope: Option<Json<Envelope>>,
    /// The client whose keys may look at it, where they may only send.
    pub client: Option<String>,
    #[column(skip)]
    pub version: i64,
}

impl NotificationRow {
    /// The row that a new notification becomes, to be sent over this channel.
    pub fn new(new: NewNotification, channel: ChannelKey, now: Timestamp) -> Self {
        let digest = new.content_digest();
        let kind = if new.kind.is_empty() { channel.kind().to_owned() } else { new.kind };
        let follows_list = new.channel.is_none() && matches!(new.audience, Audience::List(_));
        let (list_name, targets) = match new.audience {
            Audience::List(name) => (Some(name), None),
            Audience::Targets(targets) => (None, Some(Json::of(&targets))),
        };
        Self {
            seq: 0,
            id: new.id,
            digest,
            kind,
            channel,
            list_name,
            follows_list,
            targets,
            subject: new.subject,
            body: new.body,
            html: new.html,
            template: new.template,
            locale: new.locale,
            context: new.context.as_ref().map(Json::of),
            type_data: new.type_data.as_ref().map(Json::of),
            attachments: (!new.attachments.is_empty()).then(|| Json::of(&new.attachments)),
            status: NotificationStatus::Pending,
            priority: new.priority,
            ready_at: new.not_before.map_or(now, |at| at.max(now)),
            lease_expires_at: None,
            retry_count: 0,
            attempts: 0,
            last_error: None,
            reason_code: None,
            business_unit: new.business_unit,
            source_site: new.source.site,
            source_instance: new.source.instance,
            source_script: new.source.script,
            work_id: None,
            reports_back: false,
            uncertain: 0,
            site_enqueued_at: new.site_enqueued_at,
            created_at: now,
            last_attempt_at: None,
            delivered_at: None,
            finished_at: None,
            topic: new.topic,
            failover: (!new.failover.is_empty()).then(|| Json::of(&new.failover)),
            not_after: new.not_after,
            envelope: (!new.envelope.is_empty()).then(|| Json::of(&new.envelope)),
            client: new.client,
            version: 1,
        }
    }

    /// Claims it for the node that inserts it: it is sent by that node, without a claim of its own.
    pub fn claim(&mut self, until: Timestamp) {
        self.lease_expires_at = Some(until);
        self.attempts = 1;
        self.last_attempt_at = Some(self.created_at);
    }
}

crate::db::statements![; bisect, browse, claim, earliest, figures, insert, kpis, moves, operate, page, purge, query, settle, window];

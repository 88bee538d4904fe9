//! The delivery stage: claim per channel, resolve targets, write the intents, send, record each answer, settle.
//!
//! No transaction is open and no connection is held while something is being sent, so a hanging server delays no
//! intake, status or figure. Each channel has its own permits, so it delays no other channel either.
//!
//! The unit of delivery is the target: an intent on disk means that its call is about to start, and an answer is recorded
//! when it comes. A message to many is sent in windows of as many calls as the channel has permits for.

mod claim;
mod conclude;
mod files;
mod owed;
mod own;
mod permits;
mod plan;
mod policy;
mod record;
mod render;
mod restored;
mod send;
mod sent;
mod settle;
mod suppressed;
mod watched;

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{ChannelKey, NotificationEvent, ReasonCode, Span, Targets, TraceParent};
use punctual_store::{
    StoreError, attempts,
    notifications::{self, Delivery, LaneStart, NotificationRow},
};
use tokio_util::sync::CancellationToken;

pub(crate) use claim::Open;
pub(crate) use owed::KEEPS_FAILING;
pub(crate) use own::HandOver;
pub(crate) use permits::{Class, Permit, Permits, Shares};
use policy::Reservation;
pub(crate) use send::Until;
pub use sent::{Basis, SentContent};

use crate::{Engine, EngineError, Opened, intake::UNROUTED};

/// What one tick of the delivery stage did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveryReport {
    pub claimed: usize,
    pub delivered: usize,
    pub retrying: usize,
    pub parked: usize,
    pub rerouted: usize,
    /// Those that wait for an hour or a slot.
    pub deferred: usize,
    /// Those that nobody wants, or that are in a digest.
    pub withdrawn: usize,
    /// Claims that another node had taken over in the meantime.
    pub lost: usize,
    /// The events that were handed to a subscriber, and those that a subscriber did not take, by what they are about.
    pub events: BTreeSet<String>,
    pub failed_events: BTreeSet<String>,
}

impl DeliveryReport {
    pub fn add(&mut self, other: &Self) {
        self.claimed += other.claimed;
        self.delivered += other.delivered;
        self.retrying += other.retrying;
        self.parked += other.parked;
        self.rerouted += other.rerouted;
        self.deferred += other.deferred;
        self.withdrawn += other.withdrawn;
        self.lost += other.lost;
        self.events.extend(other.events.iter().cloned());
        self.failed_events.extend(other.failed_events.iter().cloned());
    }
}

/// Claimed notifications, with the intents of their first window of calls on disk.
pub(crate) struct Sending {
    pub(crate) channel: Arc<Opened>,
    pub(crate) items: Vec<ToSend>,
    /// What is to be kept when it has ended.
    pub(crate) reservation: Reservation,
    /// For the calls whose intents are on disk.
    pub(crate) permits: Permit,
    /// When the claim was asked for: its lease is trusted from then on.
    pub(crate) claimed_at: Timestamp,
    /// The span of the claim, where it is recorded.
    pub(crate) batch: Option<TraceParent>,
    /// Dropped when every message is begun, for whoever waits to claim more.
    pub(crate) backlog: Option<Backlog>,
}

/// Messages of a batch of which no call has started; over when it is dropped. A message to many is none of them once it is
/// begun, so that it holds up no other.
#[derive(Default)]
pub(crate) struct Backlog(CancellationToken);

impl Drop for Backlog {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Sending {
    /// What whoever claims more waits for; nothing where every message is begun at once.
    pub(crate) fn backlog(&mut self) -> Option<CancellationToken> {
        let has_one = self.items.iter().any(|item| item.intended == 0);
        has_one.then(|| self.backlog.insert(Backlog::default()).0.clone())
    }
}

/// One claimed notification and the targets that have not said yes yet.
pub(crate) struct ToSend {
    pub(crate) row: NotificationRow,
    pub(crate) targets: Targets,
    /// How many of its targets, from the first on, have an intent on disk.
    pub(crate) intended: usize,
    /// Set where a target of this notification has failed for good before.
    pub(crate) failed_before: Option<String>,
    /// When its other targets are next, and why they wait.
    pub(crate) later: Option<(Timestamp, ReasonCode)>,
    /// The channels that are used one after another where this one fails.
    pub(crate) failover: Vec<ChannelKey>,
    /// Why somebody was left out here whom another channel may reach.
    pub(crate) left_out: Option<String>,
    /// The span of this attempt.
    pub(crate) trace: Span,
}

impl ToSend {
    pub(crate) fn new(row: NotificationRow, targets: Targets) -> Self {
        Self {
            row,
            targets,
            intended: 0,
            failed_before: None,
            later: None,
            failover: Vec::new(),
            left_out: None,
            trace: Span::none(),
        }
    }

    /// Others of its targets wait until then; the earliest counts.
    pub(crate) fn waits(&mut self, until: Timestamp, reason: ReasonCode) {
        self.later = Some(self.later.map_or((until, reason), |first| first.min((until, reason))));
    }

    fn intent(&self, target: &str) -> attempts::Intent {
        intent(&self.row, target)
    }
}

fn intent(row: &NotificationRow, target: &str) -> attempts::Intent {
    attempts::Intent {
        seq: row.seq,
        target: target.to_owned(),
        n: row.attempts,
        channel: row.channel.to_string(),
    }
}

/// Chooses the calls of the first window, at most `calls`: one target of each message in turn, so that a message to many
/// does not hold back the others. Returns their intents.
fn first_window(items: &mut [ToSend], mut calls: usize) -> Vec<attempts::Intent> {
    let mut intents = Vec::with_capacity(calls.min(items.len()));
    loop {
        let before = intents.len();
        for item in items.iter_mut() {
            if calls > 0
                && let Some(target) = item.targets.get(item.intended)
            {
                intents.push(item.intent(target));
                item.intended += 1;
                calls -= 1;
            }
        }
        if intents.len() == before {
            return intents;
        }
    }
}

/// The kind of a notification that publishes an event to a subscriber.
pub const EVENT: &str = "event";

/// The id under which a receiver of an event drops repeats: what the event is about, whoever it goes to.
pub(crate) fn event_id(row: &NotificationRow) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct About {
        #[serde(rename = "messageId")]
        message_id: String,
    }
    let context = row.context.as_ref().filter(|_| row.kind == EVENT)?;
    serde_json::from_str::<About>(context.as_str()).ok().map(|about| about.message_id)
}

impl Engine {
    /// One bounded pass over every channel that has something ready; ends when all of it has settled. A channel that
    /// fails does not keep the others from their turn.
    #[boxed]
    pub async fn delivery_tick(&self, now: Timestamp, limit: i64) -> Result<DeliveryReport, EngineError> {
        self.refresh_channels(now).await?;
        let mut report = DeliveryReport::default();
        let mut failed = None;
        for (key, class) in self.ready_lanes(now).await? {
            match self.deliver_channel(&key, now, limit, class).await {
                Ok(done) => report.add(&done),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(report), Err)
    }

    /// Claims and sends what is ready in one lane of a channel; in everybody's with permits of all classes, for nothing else
    /// runs beside it.
    async fn deliver_channel(
        &self,
        key: &str,
        now: Timestamp,
        limit: i64,
        class: Class,
    ) -> Result<DeliveryReport, EngineError> {
        let asks = if class == Class::Normal { Class::Urgent } else { class };
        let (open, limit) = match self.channel_for(key, now).await? {
            Some(channel) => {
                let mut permits = channel.permits.clone().wait(asks).await;
                permits.append(channel.permits.take_free(asks, usize::MAX));
                // A lane takes what it can send at once, as a node does.
                let most = i64::try_from(permits.count()).unwrap_or(limit);
                let limit = if class == Class::Normal { limit } else { limit.min(most) };
                (Some(Open { channel, permits }), limit)
            }
            None => (None, limit),
        };
        let (mut report, sendings) = self.claim_deliveries(key, now, limit, class, open).await?;
        for sending in sendings {
            report.add(&self.send_all(sending, Until::Limited).await?);
        }
        Ok(report)
    }

    /// The channels, and the lanes of each, that have a notification ready at `by`, soonest first.
    async fn ready_lanes(&self, by: Timestamp) -> Result<Vec<(String, Class)>, StoreError> {
        let mut ready: HashMap<(String, Class), i64> = HashMap::new();
        for (channel, class, at) in self.earliest_by_class().await? {
            let class = if class == Class::Urgent { Class::Normal } else { class };
            if at <= by.as_microsecond() {
                ready.entry((channel, class)).and_modify(|first| *first = at.min(*first)).or_insert(at);
            }
        }
        let mut ready: Vec<(i64, String, i64, Class)> = ready
            .into_iter()
            .map(|((channel, class), at)| (at, channel, *class.levels(0).start(), class))
            .collect();
        ready.sort_by(|a, b| (a.0, &a.1, a.2).cmp(&(b.0, &b.1, b.2)));
        Ok(ready.into_iter().map(|(_, channel, _, class)| (channel, class)).collect())
    }

    /// When the next notification of each channel can be claimed, soonest first.
    pub(crate) async fn earliest_deliveries(&self) -> Result<Vec<(String, i64)>, StoreError> {
        let mut earliest: HashMap<String, i64> = HashMap::new();
        for (channel, _, at) in self.earliest_by_class().await? {
            earliest.entry(channel).and_modify(|first| *first = at.min(*first)).or_insert(at);
        }
        let mut earliest: Vec<(String, i64)> = earliest.into_iter().collect();
        earliest.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
        Ok(earliest)
    }

    /// The same for each class of messages, in no order.
    pub(crate) async fn earliest_by_class(&self) -> Result<Vec<(String, Class, i64)>, StoreError> {
        let mut reader = self.store.read().await?;
        let marks = self.delivery_marks.all().into_iter();
        let starts: Vec<LaneStart> =
            marks.map(|((channel, priority), after)| LaneStart { channel, priority, after }).collect();
        let rows = notifications::earliest(&mut reader.conn(), &starts).await?;
        let earliest = rows.into_iter().map(|row| {
            let written = self.channels.get(&row.channel).map(|opened| opened.written());
            let at = self.policy.claimable_at(&row.channel, written, row.priority, row.ready_at);
            (row.channel, Class::of(row.priority), at)
        });
        Ok(earliest.collect())
    }

    /// Reads what is defined and what holds, where that was not done lately: for pages.
    #[boxed]
    pub async fn look_again(&self) -> Result<(), EngineError> {
        Ok(self.refresh_channels(self.clock.now()).await?)
    }

    pub(crate) async fn refresh_channels(&self, now: Timestamp) -> Result<(), StoreError> {
        // First: a channel that is open for the first time must not send past the list.
        self.refresh_suppressions(now).await?;
        self.refresh_quotas(now).await?;
        if self.channels.is_stale(now) {
            let mut reader = self.store.read().await?;
            self.channels.refresh(&mut reader.conn(), now).await?;
        }
        if self.policy.is_stale(now) {
            let mut reader = self.store.read().await?;
            self.policy.refresh(&mut reader.conn(), now).await?;
        }
        Ok(())
    }

    /// The channel of ready messages. One that is not known here may have been made on another node a moment ago, so the
    /// definitions are read again before its messages are parked.
    pub(crate) async fn channel_for(
        &self,
        key: &str,
        now: Timestamp,
    ) -> Result<Option<Arc<Opened>>, StoreError> {
        let known = self.channels.get(key);
        if known.is_some() || key == UNROUTED {
            return Ok(known);
        }
        let mut reader = self.store.read().await?;
        self.channels.refresh(&mut reader.conn(), now).await?;
        Ok(self.channels.get(key))
    }

    /// A lease outlives one call of the channel with a margin; longer sends are renewed.
    pub(crate) fn lease_for(&self, opened: Option<&Opened>) -> std::time::Duration {
        let call = opened.map_or(std::time::Duration::ZERO, |opened| opened.channel.timeout());
        self.config.lease.max(call + self.config.renew_every)
    }
}

/// A delivery that is parked, with its reason and the text people see.
pub(crate) fn parked(row: &NotificationRow, reason: ReasonCode, error: String) -> Delivery {
    Delivery { reason: Some(reason), last_error: Some(error), ..row.after(NotificationEvent::Park) }
}

//! The delivery stage: claim per channel, resolve targets, write the intent, send, settle.
//!
//! No transaction is open and no connection is held while something is being sent, so a hanging server delays no
//! intake, status or figure. Each channel has its own permits, so it delays no other channel either.

mod conclude;
mod files;
mod manners;
mod own;
mod plan;
mod render;
mod send;
mod settle;
mod suppressed;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_store::{
    Lane, StoreError, Tx, attempts,
    notifications::{self, ClaimedNotification, Delivery},
};
use tokio::sync::OwnedSemaphorePermit;

use manners::{Promise, failover};
pub(crate) use own::HandOver;
use plan::{Plan, plan};
use settle::Outcomes;

use crate::{Engine, EngineError, Opened, config::later, intake::UNROUTED};

/// What one tick of the delivery stage did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveryReport {
    pub claimed: usize,
    pub delivered: usize,
    pub retrying: usize,
    pub parked: usize,
    pub rerouted: usize,
    /// Those that wait for an hour or a place.
    pub deferred: usize,
    /// Those that nobody wants, or that are told in a digest.
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

/// Notifications whose intents are on disk: what is to be sent now.
pub(crate) struct Sending {
    pub(crate) channel: Arc<Opened>,
    pub(crate) items: Vec<ToSend>,
    /// What is to be kept when it has ended.
    pub(crate) promise: Promise,
    /// Held until everything here has been sent.
    pub(crate) _permits: Option<OwnedSemaphorePermit>,
}

/// One claimed notification and the targets that have not said yes yet.
pub(crate) struct ToSend {
    pub(crate) row: ClaimedNotification,
    pub(crate) targets: Vec<String>,
    /// Set where a target of this notification has failed for good before.
    pub(crate) failed_before: Option<String>,
    /// When its other targets are next, and why they wait.
    pub(crate) later: Option<(Timestamp, &'static str)>,
    /// The channels that are tried one after another where this one fails.
    pub(crate) failover: Vec<String>,
    /// Why somebody was left out here whom another channel may reach.
    pub(crate) left_out: Option<String>,
}

impl ToSend {
    pub(crate) fn new(row: ClaimedNotification, targets: Vec<String>) -> Self {
        Self { row, targets, failed_before: None, later: None, failover: Vec::new(), left_out: None }
    }

    /// Others of its targets wait until then; the earliest counts.
    pub(crate) fn waits(&mut self, until: Timestamp, reason: &'static str) {
        self.later = Some(self.later.map_or((until, reason), |first| first.min((until, reason))));
    }
}

/// The kind of a notification that tells a subscriber of an event.
pub const EVENT: &str = "event";

/// The id under which a receiver of an event drops repeats: what the event is about, whoever it goes to.
pub(crate) fn event_id(row: &ClaimedNotification) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct About {
        #[serde(rename = "messageId")]
        message_id: String,
    }
    let context = row.context.as_deref().filter(|_| row.kind == EVENT)?;
    serde_json::from_str::<About>(context).ok().map(|about| about.message_id)
}

impl Engine {
    /// One bounded pass over every channel that has something ready; ends when all of it has settled.
    #[boxed]
    pub async fn delivery_tick(&self, now: Timestamp, limit: i64) -> Result<DeliveryReport, EngineError> {
        self.refresh_channels(now).await?;
        let mut report = DeliveryReport::default();
        for key in self.ready_channels(now).await? {
            let (done, sending) = self.claim_deliveries(&key, now, limit, None).await?;
            report.add(&done);
            if let Some(sending) = sending {
                report.add(&self.send_all(sending, now).await?);
            }
        }
        Ok(report)
    }

    /// The channels that have a notification ready at `by`, soonest first.
    async fn ready_channels(&self, by: Timestamp) -> Result<Vec<String>, StoreError> {
        let ready =
            self.earliest_deliveries().await?.into_iter().filter(|(_, at)| *at <= by.as_microsecond());
        Ok(ready.map(|(channel, _)| channel).collect())
    }

    pub(crate) async fn earliest_deliveries(&self) -> Result<Vec<(String, i64)>, StoreError> {
        let mut reader = self.store.read().await?;
        let mut earliest: HashMap<String, i64> = HashMap::new();
        for row in notifications::earliest(&mut reader.conn()).await? {
            let at = self.manners.claimable_at(&row.channel, row.priority, row.ready_at);
            earliest.entry(row.channel).and_modify(|first| *first = at.min(*first)).or_insert(at);
        }
        let mut earliest: Vec<(String, i64)> = earliest.into_iter().collect();
        earliest.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
        Ok(earliest)
    }

    /// Reads what is defined and what holds, where that was not done lately: for pages.
    #[boxed]
    pub async fn look_again(&self) -> Result<(), EngineError> {
        Ok(self.refresh_channels(self.clock.now()).await?)
    }

    pub(crate) async fn refresh_channels(&self, now: Timestamp) -> Result<(), StoreError> {
        // First: a channel that is open for the first time must not send past the list.
        self.refresh_suppressions(now).await?;
        if self.channels.is_stale(now) {
            let mut reader = self.store.read().await?;
            self.channels.refresh(&mut reader.conn(), now).await?;
        }
        if self.manners.is_stale(now) {
            let mut reader = self.store.read().await?;
            self.manners.refresh(&mut reader.conn(), now).await?;
        }
        Ok(())
    }

    /// Claims ready notifications of one channel, plans them, and writes the intents with the claim. What needs no
    /// sending (no channel, no recipients, everyone already has it) is settled at once.
    pub(crate) async fn claim_deliveries(
        &self,
        key: &str,
        now: Timestamp,
        limit: i64,
        permits: Option<OwnedSemaphorePermit>,
    ) -> Result<(DeliveryReport, Option<Sending>), EngineError> {
        let opened = self.channels.get(key);
        let lease_until = later(now, self.lease_for(opened.as_deref()));
        let mut tx = self.store.begin(Lane::Intake).await?;
        let limit = limit.min(self.config.batch);
        let Some(terms) = self.terms(&mut tx, opened.as_deref(), key, now, limit).await? else {
            return Ok(Default::default());
        };
        let (up_to, limit) = (terms.up_to, terms.limit);
        let rows = notifications::claim_up_to(&mut tx, key, up_to, now, lease_until, limit).await?;
        if rows.is_empty() {
            return Ok(Default::default());
        }
        let mut report = DeliveryReport { claimed: rows.len(), ..Default::default() };
        let planned = self.plan_in(&mut tx, opened.as_deref(), key, rows, now).await?;
        let (mut items, mut settled) = (Vec::new(), Vec::new());
        for one in planned {
            match one {
                Plan::Send(to_send) => items.push(to_send),
                Plan::Settle(row, delivery) => {
                    let delivery = failover::go_on(&row, &failover::order_of(&row), delivery, now);
                    settled.push((row, delivery));
                }
            }
        }
        let (promise, given_back) =
            self.take_places(&mut tx, terms, opened.as_deref(), &mut items, now).await?;
        settled.extend(given_back);
        self.intend(&mut tx, &items, now).await?;
        let unsent = Outcomes { rows: &settled, tries: &[], in_doubt: &HashSet::new(), again: false };
        report.add(&self.settle_deliveries_in(&mut tx, &unsent, now).await?);
        tx.commit().await?;
        self.metrics.claimed(report.claimed);
        let sending = match opened {
            Some(channel) if !items.is_empty() => {
                Some(Sending { channel, items, promise, _permits: permits })
            }
            _ => None,
        };
        Ok((report, sending))
    }

    async fn plan_in(
        &self,
        tx: &mut Tx,
        opened: Option<&Opened>,
        key: &str,
        rows: Vec<ClaimedNotification>,
        now: Timestamp,
    ) -> Result<Vec<Plan>, StoreError> {
        let lists = plan::lists_of(tx, &rows).await?;
        let again: Vec<i64> = rows.iter().filter(|row| row.tries > 1).map(|row| row.seq).collect();
        let earlier = if again.is_empty() { Vec::new() } else { attempts::of(&mut tx.conn(), again).await? };
        let ledger = plan::Ledger::new(earlier);
        let broken = if opened.is_none() && key != UNROUTED { self.channels.broken(key) } else { None };
        let plans = rows
            .into_iter()
            .map(|row| plan(row, opened.is_some(), broken.as_ref(), &lists, &ledger, now))
            .collect();
        // The list last: an order of channels may have led to another address.
        let plans = self.mind(tx, opened, plans, &ledger, now).await?;
        self.leave_out_suppressed(tx, plans, &ledger, now).await
    }

    async fn intend(&self, tx: &mut Tx, items: &[ToSend], now: Timestamp) -> Result<(), StoreError> {
        let intents: Vec<attempts::Intent> = items
            .iter()
            .flat_map(|item| {
                item.targets.iter().map(|target| attempts::Intent {
                    seq: item.row.seq,
                    target: target.clone(),
                    n: item.row.tries,
                    channel: item.row.channel.clone(),
                })
            })
            .collect();
        if !intents.is_empty() {
            attempts::intend(&mut tx.conn(), now, &self.config.node, &intents).await?;
        }
        Ok(())
    }

    /// A lease outlives one call of the channel with a margin; longer sends are renewed.
    pub(crate) fn lease_for(&self, opened: Option<&Opened>) -> std::time::Duration {
        let call = opened.map_or(std::time::Duration::ZERO, |opened| opened.channel.timeout());
        self.config.lease.max(call + self.config.renew_every)
    }
}

/// A delivery that is parked, with its reason and the text people see.
pub(crate) fn parked(row: &ClaimedNotification, reason: &str, error: String) -> Delivery {
    Delivery {
        seq: row.seq,
        token: row.version,
        status: "parked",
        retry_count: row.retry_count,
        last_error: Some(error),
        reason: Some(reason.to_owned()),
        retry_at: None,
        channel: None,
    }
}

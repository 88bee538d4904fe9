//! The channels that hold messages back at this moment: their circuit is open, or their limits are used up.
//!
//! Rows that wait for their channel are not updated, so lists and counts query the blocked channels here.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{
    NotificationStatus, ReasonCode,
    delivery_policy::{Limiter, Rate, Urgency},
};
use punctual_store::{
    StoreError,
    delivery_policy::{circuits::CircuitKey, limiters, standing},
    notifications::{ListedNotification, NotificationRow, Stuck, WAITS, is_stuck},
};

use super::Circuit;
use crate::{Engine, EngineError, config::earlier};

/// A limit that was used up this recently is used up by what waits for it: slots are taken as soon as they are free. It
/// is twice the slow poll, so that a node which missed its wake-up has polled again.
const LATELY: Duration = Duration::from_secs(60);

/// Why a channel holds messages back, and until when at least.
type Why = (ReasonCode, Timestamp);

/// The limiters that a send over a channel counts in, each with its rates.
type Limits = Vec<(String, Vec<Rate>)>;

/// The channels that hold messages back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockedChannels {
    /// By intention: their limits are used up, for these classes.
    channels: BTreeMap<String, Vec<(Urgency, Why)>>,
    /// Because something is broken: their circuit is open, for every class.
    broken: BTreeMap<String, Why>,
    now: Timestamp,
    stuck_before: Timestamp,
}

impl BlockedChannels {
    /// Why a channel holds back messages of this priority.
    pub fn why(&self, channel: &str, priority: i64) -> Option<Why> {
        self.broken.get(channel).copied().or_else(|| self.by_intention(channel, priority))
    }

    fn by_intention(&self, channel: &str, priority: i64) -> Option<Why> {
        let urgency = Urgency::of(priority);
        self.channels.get(channel)?.iter().find(|(class, _)| *class == urgency).map(|(_, why)| *why)
    }

    /// What counts as stuck at this moment, as statements take it.
    pub fn stuck(&self) -> Stuck {
        Stuck { before: self.stuck_before.as_microsecond(), held_back: self.to_json() }
    }

    /// The first priority that each channel holds back by intention; nothing where none does.
    pub fn to_json(&self) -> Option<String> {
        let first = |classes: &[(Urgency, Why)]| classes.iter().map(|(class, _)| class.lowest()).min();
        let all: BTreeMap<&str, i64> = self
            .channels
            .iter()
            .filter_map(|(channel, classes)| Some((channel.as_str(), first(classes)?)))
            .collect();
        if all.is_empty() { None } else { serde_json::to_string(&all).ok() }
    }

    /// Why a row waits and until when: what it says itself, or what its channel says while it is ready.
    pub fn waits(&self, row: &impl Waits) -> Option<(ReasonCode, Timestamp)> {
        let row = row.waiting_row();
        if !row.status.is_live() || row.is_leased {
            return None;
        }
        if row.ready_at > self.now {
            let reason: ReasonCode = row.reason?.parse().ok()?;
            let waits = reason == ReasonCode::CircuitOpen || WAITS.contains(&reason.as_str());
            return waits.then_some((reason, row.ready_at));
        }
        self.why(row.channel, row.priority)
    }

    /// Whether a row should have gone long ago.
    pub fn is_stuck(&self, row: &impl Waits) -> bool {
        let row = row.waiting_row();
        row.status.is_live()
            && is_stuck(
                self.stuck_before,
                row.status,
                row.created_at,
                row.ready_at,
                row.reason,
                self.by_intention(row.channel, row.priority).is_some(),
            )
    }
}

/// What decides whether a row waits.
pub struct WaitingRow<'a> {
    status: NotificationStatus,
    channel: &'a str,
    priority: i64,
    created_at: Timestamp,
    ready_at: Timestamp,
    is_leased: bool,
    reason: Option<&'a str>,
}

/// A row that may wait.
pub trait Waits {
    fn waiting_row(&self) -> WaitingRow<'_>;
}

macro_rules! waits {
    ($row:ty) => {
        impl Waits for $row {
            fn waiting_row(&self) -> WaitingRow<'_> {
                WaitingRow {
                    status: self.status,
                    channel: &self.channel,
                    priority: self.priority,
                    created_at: self.created_at,
                    ready_at: self.ready_at,
                    is_leased: self.lease_expires_at.is_some(),
                    reason: self.reason_code.as_deref(),
                }
            }
        }
    };
}
waits!(NotificationRow);
waits!(ListedNotification);

impl Engine {
    /// What holds messages back now. Where no channel has limits and no circuit is open, one small statement.
    #[boxed]
    pub async fn blocked_channels(&self) -> Result<BlockedChannels, EngineError> {
        let now = self.clock.now();
        self.refresh_channels(now).await?;
        let mut held = BlockedChannels {
            channels: self.full(now).await?,
            broken: BTreeMap::new(),
            now,
            stuck_before: earlier(now, self.config.stuck_after),
        };
        let mut reader = self.store.read().await?;
        for row in standing(&mut reader.conn()).await?.into_iter().filter(|row| row.what == "circuit") {
            let CircuitKey { channel, host: None } = row.circuit_key() else { continue };
            held.broken.insert(channel, (ReasonCode::CircuitOpen, Circuit::of(row).open_until));
        }
        Ok(held)
    }

    /// The channels whose limits are used up, or were lately.
    async fn full(&self, now: Timestamp) -> Result<BTreeMap<String, Vec<(Urgency, Why)>>, StoreError> {
        let limits: Vec<(String, Limits)> = self
            .channels
            .keys()
            .into_iter()
            .filter_map(|key| {
                let limiters = self.channels.get(&key)?.policy.limiters(&key);
                (!limiters.is_empty()).then_some((key, limiters))
            })
            .collect();
        if limits.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut keys: Vec<String> =
            limits.iter().flat_map(|(_, limiters)| limiters.iter().map(|(key, _)| key.clone())).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut reader = self.store.read().await?;
        let rows = limiters::read(&mut reader.conn(), keys).await?;
        let states: HashMap<String, Limiter> =
            rows.into_iter().map(|row| (row.key, Limiter::read(&row.state))).collect();
        let full = |limiters: &[(String, Vec<Rate>)]| {
            let classes = Urgency::ALL.into_iter().filter_map(|class| {
                let until = limiters
                    .iter()
                    .filter_map(|(key, rates)| full_until(states.get(key)?, rates, class, now))
                    .max()?;
                Some((class, (ReasonCode::RateLimited, until)))
            });
            classes.collect::<Vec<_>>()
        };
        let all = limits.into_iter().map(|(key, limiters)| (key, full(&limiters)));
        Ok(all.filter(|(_, classes)| !classes.is_empty()).collect())
    }
}

/// When a class may go again under a limiter; nothing where it may, and could lately.
fn full_until(limiter: &Limiter, rates: &[Rate], class: Urgency, now: Timestamp) -> Option<Timestamp> {
    let was_full = |at: Timestamp| limiter.free(rates, class, at) == 0;
    let (next, _) = limiter.next(rates, class, now);
    (was_full(now) || was_full(earlier(now, LATELY))).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::later;

    fn at(seconds: u64) -> Timestamp {
        later(Timestamp::UNIX_EPOCH, Duration::from_secs(10_000 + seconds))
    }

    #[test]
    fn a_limit_counts_as_used_up_for_a_minute_after_its_last_slot_was_freed() {
        let rates = [Rate { max: 2, per: Duration::from_secs(1) }];
        let mut limiter = Limiter::default().at(&rates, at(0));
        limiter.take(2, at(5));
        limiter.finish(2, at(5), at(0));
        let full = |seconds| full_until(&limiter, &rates, Urgency::Ordinary, at(seconds)).is_some();
        assert!(full(0) && full(30) && full(59), "slots are taken as soon as they are free");
        assert!(!full(70), "nothing takes them: what waits here is stuck");
        assert!(full_until(&Limiter::default(), &rates, Urgency::Ordinary, at(0)).is_none());
    }

    #[test]
    fn a_class_that_is_held_back_leaves_the_more_urgent_alone() {
        let why = (ReasonCode::RateLimited, at(9));
        let channels = [("sms:a".to_owned(), vec![(Urgency::Campaign, why)])];
        let held = BlockedChannels {
            channels: channels.into(),
            broken: BTreeMap::from([("sms:c".to_owned(), (ReasonCode::CircuitOpen, at(5)))]),
            now: at(0),
            stuck_before: at(0),
        };
        assert_eq!(held.to_json().as_deref(), Some(r#"{"sms:a":8}"#));
        assert_eq!(
            (held.why("sms:a", 8), held.why("sms:a", 5), held.why("sms:b", 8)),
            (Some(why), None, None)
        );
        assert_eq!(
            held.why("sms:c", 0),
            Some((ReasonCode::CircuitOpen, at(5))),
            "an open circuit lets nothing pass"
        );
        assert_eq!(BlockedChannels::default().to_json(), None);
    }
}

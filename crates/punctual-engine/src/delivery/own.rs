//! A node that has just decided or been asked to send something may send it itself: the notification is inserted
//! already claimed, with its intents, which saves a claim and a commit.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use punctual_model::{ChannelKey, NotificationId, Targets};
use punctual_store::{
    StoreError, Tx, attempts,
    notifications::{InsertedNotification, NotificationRow},
};

use super::{Class, Open, Reservation, Sending, ToSend, first_window};
use crate::{Engine, Opened, channels::SUBSCRIBERS, config::later};

/// What a committed decision leaves to be sent by this node.
#[derive(Default)]
pub(crate) struct HandOver(Vec<Sending>);

impl HandOver {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    pub(crate) fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }
    pub(crate) fn into_sendings(self) -> Vec<Sending> {
        self.0
    }
}

impl Engine {
    /// Marks as claimed what this node can send now: explicit targets, an open channel, a free permit. A message to many
    /// needs one permit to begin with.
    pub(crate) fn reserve(&self, queued: &mut [NotificationRow], now: Timestamp) -> Vec<Open> {
        let mut wanted: HashMap<ChannelKey, (Class, usize)> = HashMap::new();
        for item in queued.iter().filter(|item| self.keeps(item, now)) {
            let (class, calls) = wanted.entry(item.channel.clone()).or_insert((Class::Urgent, 0));
            // Permits that are kept for urgent messages are for them alone.
            if Class::of(item.priority) == Class::Normal {
                *class = Class::Normal;
            }
            *calls += targets_of(item).len();
        }
        let mut reserved = Vec::new();
        for (key, (class, calls)) in wanted {
            let Some(channel) = self.channels.get(key.as_str()).filter(|channel| self.sends_freely(channel))
            else {
                continue;
            };
            let permits = channel.permits.take_free(class, calls);
            if permits.count() == 0 {
                continue;
            }
            let until = later(now, self.lease_for(Some(&channel)));
            let own = queued.iter_mut().filter(|item| item.channel == key && self.keeps(item, now));
            for item in own.take(permits.count()) {
                item.claim(until);
            }
            reserved.push(Open { channel, permits });
        }
        // Of an id that comes twice only the first is inserted, and only that may be sent.
        let mut seen = HashSet::with_capacity(queued.len());
        for item in queued.iter_mut().filter(|item| !seen.insert(item.id)) {
            item.unclaim();
        }
        reserved
    }

    /// What may be on the suppression list is left to the ordinary claim, which asks the table.
    fn keeps(&self, item: &NotificationRow, now: Timestamp) -> bool {
        sendable(item, now)
            && self.suppressions.doubtful(item.channel.as_str(), targets_of(item).iter()).is_empty()
    }

    /// Whether this channel sends without any check: no limits, no hours, no open circuit, no preferences.
    fn sends_freely(&self, channel: &Opened) -> bool {
        let key = channel.key.as_str();
        let has_policy = channel.policy.has_hours() || !channel.policy.limiters(key).is_empty();
        !has_policy
            && !self.policy.has_open_circuit(key)
            && (key.starts_with(SUBSCRIBERS) || !self.policy.concerns_everyone())
    }

    /// Writes the intents of what was inserted already claimed, and makes it ready for sending.
    pub(crate) async fn intend_own(
        &self,
        tx: &mut Tx,
        queued: Vec<NotificationRow>,
        inserted: Vec<InsertedNotification>,
        reserved: Vec<Open>,
        now: Timestamp,
    ) -> Result<HandOver, StoreError> {
        if reserved.is_empty() {
            return Ok(HandOver::default());
        }
        let seqs: HashMap<NotificationId, i64> = inserted.into_iter().map(|row| (row.id, row.seq)).collect();
        let mut items: HashMap<ChannelKey, Vec<ToSend>> = HashMap::new();
        for mut row in queued.into_iter().filter(|item| item.lease_expires_at.is_some()) {
            // An id that was already there is being sent, or was, by whoever inserted it.
            let Some(seq) = seqs.get(&row.id).copied() else { continue };
            row.seq = seq;
            let targets = targets_of(&row);
            items.entry(row.channel.clone()).or_default().push(ToSend::new(row, targets));
        }
        let (mut sendings, mut intents) = (Vec::new(), Vec::new());
        for Open { channel, mut permits } in reserved {
            let Some(mut items) = items.remove(&channel.key) else { continue };
            let window = first_window(&mut items, permits.count());
            let permits = permits.split(window.len());
            intents.extend(window);
            let reservation = Reservation::default();
            sendings.push(Sending { channel, items, reservation, permits, claimed_at: now, batch: None });
        }
        if !intents.is_empty() {
            attempts::intend(&mut tx.conn(), now, &self.config.node, &intents).await?;
        }
        Ok(HandOver(sendings))
    }
}

fn sendable(item: &NotificationRow, now: Timestamp) -> bool {
    let is_plain = item.topic.is_none() && item.failover.is_none();
    is_plain && item.ready_at <= now && !targets_of(item).is_empty()
}

/// The addresses that a row names itself.
fn targets_of(row: &NotificationRow) -> Targets {
    let named = row.targets.as_ref().and_then(|targets| targets.read().ok());
    named.unwrap_or_default().into_iter().collect()
}

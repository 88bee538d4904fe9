//! A node that has just decided or been asked to send something may send it itself: the notification is inserted
//! already claimed, with its intents, which saves a claim and a commit.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use jiff::Timestamp;
use punctual_model::{ChannelKey, NotificationId, Targets, delivery_policy::LEVELS};
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
    /// needs one permit to begin with. Of an id that comes twice only the first is inserted, and only that may be sent.
    pub(crate) fn reserve(&self, queued: &mut [NotificationRow], now: Timestamp) -> Vec<Open> {
        let mut wanted: HashMap<ChannelKey, Option<Wanted>> = HashMap::new();
        let mut seen = HashSet::with_capacity(queued.len());
        for (place, item) in queued.iter().enumerate() {
            if !seen.insert(item.id) || !is_plain(item, now) {
                continue;
            }
            if !wanted.contains_key(&item.channel) {
                wanted.insert(item.channel.clone(), self.wanted(&item.channel));
            }
            if let Some(Some(wanted)) = wanted.get_mut(&item.channel)
                && let calls @ 1.. = self.calls_without_doubt(item)
            {
                wanted.add(place, item, calls);
            }
        }
        let mut reserved = Vec::new();
        for Wanted { channel, class, calls, places } in wanted.into_values().flatten() {
            let permits = channel.permits.take_free(class, calls);
            if permits.count() == 0 {
                continue;
            }
            let until = later(now, self.lease_for(Some(&channel)));
            for place in places.into_iter().take(permits.count()) {
                queued[place].claim(until);
            }
            reserved.push(Open { channel, permits });
        }
        reserved
    }

    fn wanted(&self, key: &ChannelKey) -> Option<Wanted> {
        let channel = self.channels.get(key.as_str()).filter(|channel| self.sends_freely(channel))?;
        Some(Wanted { channel, class: Class::Urgent, calls: 0, places: Vec::new() })
    }

    /// How many calls a message needs. None where one of its addresses may be on the suppression list: it is left to the
    /// ordinary claim, which asks the table.
    fn calls_without_doubt(&self, item: &NotificationRow) -> usize {
        let targets = targets_of(item);
        match self.suppressions.doubtful(item.channel.as_str(), targets.iter()).is_empty() {
            true => targets.len(),
            false => 0,
        }
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
            sendings.push(Sending {
                channel,
                items,
                reservation,
                permits,
                claimed_at: now,
                batch: None,
                backlog: None,
            });
        }
        if !intents.is_empty() {
            attempts::intend(&mut tx.conn(), now, &self.config.node, &intents).await?;
        }
        Ok(HandOver(sendings))
    }
}

/// What this node could send of one channel, by its place among the queued.
struct Wanted {
    channel: Arc<Opened>,
    class: Class,
    calls: usize,
    places: Vec<usize>,
}

impl Wanted {
    fn add(&mut self, place: usize, item: &NotificationRow, calls: usize) {
        // Permits that are kept for urgent messages are for them alone.
        if Class::of(item.priority) == Class::Normal {
            self.class = Class::Normal;
        }
        self.calls += calls;
        self.places.push(place);
    }
}

/// A message in the lane of its business unit waits for its turn there.
fn is_plain(item: &NotificationRow, now: Timestamp) -> bool {
    item.topic.is_none() && item.failover.is_none() && item.ready_at <= now && item.priority < LEVELS
}

/// The addresses that a row names itself.
fn targets_of(row: &NotificationRow) -> Targets {
    let named = row.targets.as_ref().and_then(|targets| targets.read().ok());
    named.unwrap_or_default().into_iter().collect()
}

//! The claim budget of a channel: whether its circuit lets a message pass, and how many slots its limits have free.

use std::{collections::HashMap, time::Duration};

use jiff::Timestamp;
use punctual_model::{
    ReasonCode,
    delivery_policy::{Breaker, Limiter, Rate, Urgency},
};
use punctual_store::{
    StoreError, Tx,
    delivery_policy::{
        circuits::{self, CircuitKey},
        limiters::{self, LimiterRow},
    },
    notifications::{Delivery, NotificationRow},
};

use super::deferred;
use crate::{Engine, Opened, config::later, delivery::ToSend};

/// How soon to ask again when the time of the next free slot is not known because sends are under way.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// How much may be claimed.
pub(in crate::delivery) struct ClaimBudget {
    pub(in crate::delivery) limit: i64,
    /// The least urgent priority.
    pub(in crate::delivery) up_to: i64,
    /// One message probes whether the channel works again.
    probe: bool,
    slots: Option<Slots>,
}

/// The locked limiters of a channel, with their free slots.
struct Slots {
    limiters: Vec<(String, Vec<Rate>, Limiter)>,
    urgency: Urgency,
    free: i64,
}

/// What a batch holds while it is being sent; it is given back when the sends have ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reservation {
    /// The limiters whose slots it has taken, and when its sends must have ended.
    held: Option<(Vec<String>, Timestamp)>,
    pub(in crate::delivery) probe: bool,
}

impl Reservation {
    /// Until when calls may start: after that, their slots may have been given to others.
    pub(in crate::delivery) fn until(&self) -> Option<Timestamp> {
        self.held.as_ref().map(|(_, until)| *until)
    }
}

impl Engine {
    /// Returns the budget for a claim of this channel; `None` where nothing may be claimed now. A channel without limits
    /// whose circuit is closed costs no statement.
    pub(in crate::delivery) async fn claim_budget(
        &self,
        tx: &mut Tx,
        opened: Option<&Opened>,
        key: &str,
        now: Timestamp,
        limit: i64,
    ) -> Result<Option<ClaimBudget>, StoreError> {
        let mut budget = ClaimBudget { limit, up_to: Urgency::Campaign.highest(), probe: false, slots: None };
        let Some(opened) = opened else { return Ok(Some(budget)) };
        let circuit_key = CircuitKey::of_channel(key);
        let open = self.policy.circuit(&circuit_key);
        if let Some(circuit) = open.filter(|_| opened.breaker(self.config.breaker) != Breaker::OFF) {
            let until = later(now, self.lease_for(Some(opened)));
            if circuit.open_until > now || !circuits::probe(&mut tx.conn(), now, &circuit_key, until).await? {
                let again = circuit.open_until.max(later(now, ASK_AGAIN));
                let full = |urgency: &Urgency| self.policy.full_until(key, opened.written(), *urgency, again);
                Urgency::ALL.iter().for_each(full);
                return Ok(None);
            }
            budget.probe = true;
            budget.limit = 1;
        }
        let rates: HashMap<String, Vec<Rate>> = opened.policy.limiters(key).into_iter().collect();
        if rates.is_empty() {
            return Ok(Some(budget));
        }
        let mut keys: Vec<String> = rates.keys().cloned().collect();
        keys.sort_unstable();
        let rows = limiters::lock(&mut tx.conn(), now, keys).await?;
        let limiters: Vec<(String, Vec<Rate>, Limiter)> = rows
            .into_iter()
            .filter_map(|row| {
                let rates = rates.get(&row.key)?.clone();
                let limiter = Limiter::read(&row.state).at(&rates, now);
                Some((row.key, rates, limiter))
            })
            .collect();
        for urgency in Urgency::ALL {
            let free = limiters.iter().map(|(_, rates, limiter)| limiter.free(rates, urgency, now)).min();
            match free {
                Some(free) if free > 0 => {
                    budget.limit = budget.limit.min(free);
                    budget.up_to = urgency.highest();
                    budget.slots = Some(Slots { limiters, urgency, free });
                    return Ok(Some(budget));
                }
                _ => {
                    let next = next_slot(&limiters, urgency, now);
                    self.policy.full_until(key, opened.written(), urgency, next);
                }
            }
        }
        Ok(None)
    }

    /// Takes slots for what is about to be sent. Messages without a free slot are returned, with their reason.
    pub(in crate::delivery) async fn take_slots(
        &self,
        tx: &mut Tx,
        budget: ClaimBudget,
        opened: &Opened,
        items: &mut Vec<ToSend>,
        now: Timestamp,
    ) -> Result<(Reservation, Vec<(NotificationRow, Delivery)>), StoreError> {
        let reservation = Reservation { held: None, probe: budget.probe };
        let Some(mut slots) = budget.slots else { return Ok((reservation, Vec::new())) };
        let wanted = |items: &[ToSend]| items.iter().map(|item| item.targets.len()).sum::<usize>();
        let given_back = cut(items, slots.free, later(now, ASK_AGAIN));
        let count = wanted(items);
        if count == 0 {
            return Ok((reservation, given_back));
        }
        // As many waves as the channel takes at once, each as long as the engine lets a call last.
        let waves = u32::try_from(count / opened.concurrency.max(1)).unwrap_or(u32::MAX).saturating_add(1);
        let longest = opened.channel.timeout().saturating_mul(2).saturating_mul(waves);
        let until = later(now, self.lease_for(Some(opened)).saturating_add(longest));
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let mut rows = Vec::new();
        for (key, _, limiter) in &mut slots.limiters {
            limiter.take(count, until);
            rows.push(LimiterRow { key: key.clone(), state: limiter.written() });
        }
        limiters::put(&mut tx.conn(), now, &rows).await?;
        if slots.free == count {
            self.policy.full_until(
                opened.key.as_str(),
                opened.written(),
                slots.urgency,
                next_slot(&slots.limiters, slots.urgency, now),
            );
        }
        let keys = rows.into_iter().map(|row| row.key).collect();
        Ok((Reservation { held: Some((keys, until)), ..reservation }, given_back))
    }

    /// Frees the slots of sends that have ended, at the moments they ended. It runs first in its transaction, as in the
    /// claim, so that both take their locks in one order.
    pub(in crate::delivery) async fn free_slots(
        &self,
        tx: &mut Tx,
        reservation: &Reservation,
        ended: &[Timestamp],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let Some((keys, until)) = reservation.held.as_ref().filter(|_| !ended.is_empty()) else {
            return Ok(());
        };
        let mut rows = limiters::lock(&mut tx.conn(), now, keys.clone()).await?;
        for row in &mut rows {
            let mut limiter = Limiter::read(&row.state);
            ended.iter().for_each(|at| limiter.finish(1, *until, *at));
            row.state = limiter.written();
        }
        limiters::put(&mut tx.conn(), now, &rows).await
    }
}

/// When the next message of a class may be sent, or when to ask again.
fn next_slot(limiters: &[(String, Vec<Rate>, Limiter)], urgency: Urgency, now: Timestamp) -> Timestamp {
    let all = limiters.iter().map(|(_, rates, limiter)| limiter.next(rates, urgency, now));
    let (latest, may_be_sooner) = all.max().unwrap_or((now, false));
    if may_be_sooner { latest.min(later(now, ASK_AGAIN)) } else { latest }
}

/// Keeps as many sends as there are free slots, the most urgent first: a message to many is sent to some of them now and
/// to the others later.
fn cut(items: &mut Vec<ToSend>, free: i64, again: Timestamp) -> Vec<(NotificationRow, Delivery)> {
    items.sort_by_key(|item| (item.row.priority, item.row.seq));
    let mut left = usize::try_from(free).unwrap_or(usize::MAX);
    let mut given_back = Vec::new();
    let all = std::mem::take(items);
    for mut item in all {
        if left == 0 {
            let delivery = deferred(&item.row, again, ReasonCode::RateLimited);
            given_back.push((item.row, delivery));
            continue;
        }
        if item.targets.len() > left {
            item.targets.truncate(left);
            item.waits(again, ReasonCode::RateLimited);
        }
        left -= item.targets.len();
        items.push(item);
    }
    given_back
}

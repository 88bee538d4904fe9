//! Under which terms a channel is claimed: whether it rests, and how many places its limits have left.

use std::{collections::HashMap, time::Duration};

use jiff::Timestamp;
use punctual_model::manners::{Limiter, Rate, Urgency, reasons};
use punctual_store::{
    StoreError, Tx,
    manners::{
        circuits,
        limiters::{self, LimiterRow},
    },
    notifications::{ClaimedNotification, Delivery},
};

use super::deferred;
use crate::{Engine, Opened, config::later, delivery::ToSend};

/// How soon it is asked again where it cannot be known when there is a place: something is under way.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// How much may be claimed.
pub(in crate::delivery) struct Terms {
    pub(in crate::delivery) limit: i64,
    /// The least urgent priority.
    pub(in crate::delivery) up_to: i64,
    /// One message tries whether the channel works again.
    probe: bool,
    places: Option<Places>,
}

/// The locked limiters of a channel, with what they have left.
struct Places {
    limiters: Vec<(String, Vec<Rate>, Limiter)>,
    urgency: Urgency,
    free: i64,
}

/// What a batch that is being sent has to keep when it has ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Promise {
    /// The limiters whose places it has taken, and when it must have ended.
    held: Option<(Vec<String>, Timestamp)>,
    pub(in crate::delivery) probe: bool,
}

impl Promise {
    /// Until when calls may start: later the places that they were counted for may have been given to others.
    pub(in crate::delivery) fn until(&self) -> Option<Timestamp> {
        self.held.as_ref().map(|(_, until)| *until)
    }
}

impl Engine {
    /// The terms for a claim of this channel; nothing where there is nothing to be had now. A channel without limits that
    /// works costs no statement.
    pub(in crate::delivery) async fn terms(
        &self,
        tx: &mut Tx,
        opened: Option<&Opened>,
        key: &str,
        now: Timestamp,
        limit: i64,
    ) -> Result<Option<Terms>, StoreError> {
        let mut terms = Terms { limit, up_to: Urgency::Campaign.highest(), probe: false, places: None };
        let Some(opened) = opened else { return Ok(Some(terms)) };
        if let Some(circuit) = self.manners.circuit(key) {
            let until = later(now, self.lease_for(Some(opened)));
            if circuit.rests_until > now || !circuits::probe(&mut tx.conn(), now, key, until).await? {
                let again = circuit.rests_until.max(later(now, ASK_AGAIN));
                Urgency::ALL.iter().for_each(|urgency| self.manners.full_until(key, *urgency, again));
                return Ok(None);
            }
            terms.probe = true;
            terms.limit = 1;
        }
        let rates: HashMap<String, Vec<Rate>> = opened.manners.limiters(key).into_iter().collect();
        if rates.is_empty() {
            return Ok(Some(terms));
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
                    terms.limit = terms.limit.min(free);
                    terms.up_to = urgency.highest();
                    terms.places = Some(Places { limiters, urgency, free });
                    return Ok(Some(terms));
                }
                _ => self.manners.full_until(key, urgency, next_place(&limiters, urgency, now)),
            }
        }
        Ok(None)
    }

    /// Takes the places for what is about to be sent. What finds none is given back, with its reason.
    pub(in crate::delivery) async fn take_places(
        &self,
        tx: &mut Tx,
        terms: Terms,
        opened: &Opened,
        items: &mut Vec<ToSend>,
        now: Timestamp,
    ) -> Result<(Promise, Vec<(ClaimedNotification, Delivery)>), StoreError> {
        let promise = Promise { held: None, probe: terms.probe };
        let Some(mut places) = terms.places else { return Ok((promise, Vec::new())) };
        let wanted = |items: &[ToSend]| items.iter().map(|item| item.targets.len()).sum::<usize>();
        let given_back = cut(items, places.free, later(now, ASK_AGAIN));
        let count = wanted(items);
        if count == 0 {
            return Ok((promise, given_back));
        }
        // As many waves as the channel takes at once, each as long as the engine lets a call last.
        let waves =
            u32::try_from(count / opened.channel.permits().max(1)).unwrap_or(u32::MAX).saturating_add(1);
        let longest = opened.channel.timeout().saturating_mul(2).saturating_mul(waves);
        let until = later(now, self.lease_for(Some(opened)).saturating_add(longest));
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let mut rows = Vec::new();
        for (key, _, limiter) in &mut places.limiters {
            limiter.take(count, until);
            rows.push(LimiterRow { key: key.clone(), state: limiter.written() });
        }
        limiters::put(&mut tx.conn(), now, &rows).await?;
        if places.free == count {
            self.manners.full_until(
                opened.key.as_str(),
                places.urgency,
                next_place(&places.limiters, places.urgency, now),
            );
        }
        let keys = rows.into_iter().map(|row| row.key).collect();
        Ok((Promise { held: Some((keys, until)), ..promise }, given_back))
    }

    /// Gives places back that sends have ended with, at the moments they ended. It is done first in its transaction, as
    /// the claim does it, so that the two wait for each other in one order.
    pub(in crate::delivery) async fn free_places(
        &self,
        tx: &mut Tx,
        promise: &Promise,
        ended: &[Timestamp],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let Some((keys, until)) = promise.held.as_ref().filter(|_| !ended.is_empty()) else { return Ok(()) };
        let mut rows = limiters::lock(&mut tx.conn(), now, keys.clone()).await?;
        for row in &mut rows {
            let mut limiter = Limiter::read(&row.state);
            ended.iter().for_each(|at| limiter.finish(1, *until, *at));
            row.state = limiter.written();
        }
        limiters::put(&mut tx.conn(), now, &rows).await
    }
}

/// When the next of a class may go, or when it is worth asking again.
fn next_place(limiters: &[(String, Vec<Rate>, Limiter)], urgency: Urgency, now: Timestamp) -> Timestamp {
    let all = limiters.iter().map(|(_, rates, limiter)| limiter.next(rates, urgency, now));
    let (latest, may_be_sooner) = all.max().unwrap_or((now, false));
    if may_be_sooner { latest.min(later(now, ASK_AGAIN)) } else { latest }
}

/// Keeps as many sends as there are places, the most urgent first: a message to many goes to some of them now and to the
/// others later.
fn cut(items: &mut Vec<ToSend>, free: i64, again: Timestamp) -> Vec<(ClaimedNotification, Delivery)> {
    items.sort_by_key(|item| (item.row.priority, item.row.seq));
    let mut left = usize::try_from(free).unwrap_or(usize::MAX);
    let mut given_back = Vec::new();
    let all = std::mem::take(items);
    for mut item in all {
        if left == 0 {
            let delivery = deferred(&item.row, again, reasons::RATE_LIMITED);
            given_back.push((item.row, delivery));
            continue;
        }
        if item.targets.len() > left {
            item.targets.truncate(left);
            item.waits(again, reasons::RATE_LIMITED);
        }
        left -= item.targets.len();
        items.push(item);
    }
    given_back
}

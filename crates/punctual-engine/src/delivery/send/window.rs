//! What one commit writes: the answers that have come in, what has ended, and the intents of the calls that start next.

use std::collections::BTreeMap;

use jiff::Timestamp;
use punctual_store::notifications::Delivery;

use super::{Sender, underway::Underway};
use crate::{
    delivery::{
        conclude::conclude,
        policy::{failover, postponed},
        record::{Part, Window},
    },
    traced::attempt_ended,
};

impl Sender<'_> {
    /// What is to be written now: answers, ends, and the intents of the next calls.
    pub(super) fn next_window(&mut self) -> Option<Window> {
        let now = self.engine.clock.now();
        let mut parts: BTreeMap<i64, Part> = BTreeMap::new();
        if self.may_start() {
            self.choose_next_calls(&mut parts, now);
        }
        let mut ended = Vec::new();
        let touched = std::mem::take(&mut self.touched);
        for seq in touched {
            let Some(one) = self.items.get_mut(&seq) else { continue };
            let part = parts.entry(seq).or_insert_with(|| Part::new(one.item.clone()));
            part.speaks_of_channel = one.given.is_none();
            part.answers = std::mem::take(&mut one.fresh);
            part.withdraw = std::mem::take(&mut one.unstarted);
            ended.extend(part.answers.iter().map(|answer| answer.at));
            if one.has_ended(self.halted) {
                if let Some(one) = self.items.remove(&seq) {
                    part.delivery = Some(self.conclude(one, now));
                }
                self.queue.remove(seq);
            }
        }
        parts.retain(|_, part| !part.is_empty());
        if parts.is_empty() {
            return None;
        }
        let answers = parts.values().filter(|part| part.speaks_of_channel).flat_map(|part| &part.answers);
        let probe_results = self.engine.probe_results(&self.channel, answers, now);
        Some(Window { parts: parts.into_values().collect(), probe_results, ended, made_at: now })
    }

    /// One target of each notification in turn, for as many calls as there are permits. A notification whose next target is
    /// at a host that fails is handed back, so that it waits for the host's next probe.
    fn choose_next_calls(&mut self, parts: &mut BTreeMap<i64, Part>, now: Timestamp) {
        let open_hosts = match self.queue.class() {
            Some(_) => self.engine.policy.open_hosts(self.channel.key.as_str()),
            None => return,
        };
        let fails = |target: &str| {
            let host = (!open_hosts.is_empty()).then(|| self.channel.channel.host_of(target)).flatten();
            host.and_then(|host| open_hosts.get(&host)).is_some_and(|circuit| circuit.open_until > now)
        };
        let mut calls = self.permits.count();
        while calls > 0 {
            let Some(seq) = self.queue.pop() else { return };
            let Some(one) = self.items.get_mut(&seq) else { continue };
            let Some(target) = one.item.targets.get(one.intended) else { continue };
            if fails(target) {
                one.is_over = true;
                self.touched.insert(seq);
                continue;
            }
            calls -= 1;
            let part = parts.entry(seq).or_insert_with(|| Part::new(one.item.clone()));
            part.intend.push(target.clone());
            one.intended += 1;
            one.being_intended += 1;
            self.queue.push(one);
        }
    }

    fn conclude(&self, one: Underway, now: Timestamp) -> Delivery {
        let (engine, channel) = (self.engine, &self.channel);
        let Underway { item, tally, given, started, answered, trace, .. } = one;
        let unfinished = started < item.targets.len();
        let mut delivery = match given {
            Some(delivery) => delivery,
            None if answered == 0 && unfinished && tally.is_empty() => postponed(&item.row, now),
            None => conclude(&item, tally, unfinished, &channel.retry, channel.at_most_once, now, || {
                engine.random.unit()
            }),
        };
        if self.reservation.probe {
            delivery = engine.not_counted(&item.row, delivery, now);
        }
        let delivery = failover::for_left_out(&item, delivery);
        let delivery = failover::go_on(&item.row, &item.failover, delivery, now);
        attempt_ended(trace, &delivery);
        delivery
    }
}

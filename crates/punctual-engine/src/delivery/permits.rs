//! Permits for calls: how many calls of one channel are under way on this node, and who gets the next free permit.
//!
//! A call takes one permit when it starts and gives it back when it ends, whatever else its message still waits for. A
//! share of the permits is kept for urgent messages, and an urgent message that waits gets the next free permit. So a
//! message to ten thousand delays an alarm by one call at most.
//!
//! A business unit with a share has at most so much of the permits for its messages that are not urgent. What it may not
//! have stays free for others, so that it delays them by nothing, however much of it waits.

use std::{
    collections::{HashMap, VecDeque},
    ops::RangeInclusive,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};

use punctual_model::{
    Priority,
    delivery_policy::{LEVELS, Urgency},
};
use tokio::sync::oneshot;

/// Channels with at least this many permits keep some of them for urgent messages.
const SHARED_FROM: usize = 4;
/// One permit in so many is kept, at least one.
const KEPT_ONE_IN: usize = 10;

/// Who asks for a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Class {
    /// Alarms and messages of high priority.
    Urgent,
    Normal,
    /// Messages of the business unit with this lane that are not urgent.
    Shared(i64),
}

impl Class {
    pub(crate) fn of(level: i64) -> Self {
        if level >= LEVELS {
            return Self::Shared(level / LEVELS);
        }
        match Priority::of(level) {
            Priority::Alarm | Priority::High => Self::Urgent,
            Priority::Normal | Priority::Campaign => Self::Normal,
        }
    }

    /// The levels that a claim for this class takes, where it may take no less urgent priority than `up_to`.
    pub(crate) fn levels(self, up_to: i64) -> RangeInclusive<i64> {
        match self {
            Self::Urgent => 0..=up_to.min(Priority::High.number()),
            Self::Normal => 0..=up_to.min(Urgency::Campaign.highest()),
            Self::Shared(lane) => lane * LEVELS..=lane * LEVELS + up_to.min(Urgency::Campaign.highest()),
        }
    }

    fn lane(self) -> Option<i64> {
        match self {
            Self::Urgent | Self::Normal => None,
            Self::Shared(lane) => Some(lane),
        }
    }
}

/// The shares of lanes, in per cent, the same for all channels. A lane without one has no limit.
#[derive(Default)]
pub(crate) struct Shares(RwLock<HashMap<i64, i64>>);

impl Shares {
    pub(crate) fn set(&self, shares: HashMap<i64, i64>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = shares;
    }

    /// How much of `total` a class may have: at least one.
    pub(crate) fn of(&self, class: Class, total: usize) -> usize {
        let shares = self.0.read().unwrap_or_else(PoisonError::into_inner);
        match class.lane().and_then(|lane| shares.get(&lane)) {
            Some(share) => (total * usize::try_from(*share).unwrap_or(0) / 100).max(1),
            None => total,
        }
    }
}

/// The permits of one channel.
pub(crate) struct Permits {
    total: usize,
    /// What messages that are not urgent leave free.
    kept: usize,
    shares: Arc<Shares>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    free: usize,
    /// What each lane has taken.
    taken: HashMap<i64, usize>,
    urgent: VecDeque<oneshot::Sender<Permit>>,
    /// Where one is at its share, those behind it go first.
    others: VecDeque<(Class, oneshot::Sender<Permit>)>,
}

/// Permits for `count` calls; given back when dropped.
pub(crate) struct Permit {
    permits: Arc<Permits>,
    lane: Option<i64>,
    count: usize,
}

impl Permits {
    pub(crate) fn new(total: usize, shares: Arc<Shares>) -> Arc<Self> {
        let total = total.max(1);
        let kept = if total < SHARED_FROM { 0 } else { (total / KEPT_ONE_IN).max(1) };
        Arc::new(Self { total, kept, shares, state: Mutex::new(State { free: total, ..State::default() }) })
    }

    /// Takes up to `wanted` permits that are free now; there may be none.
    pub(crate) fn take_free(self: &Arc<Self>, class: Class, wanted: usize) -> Permit {
        let mut state = self.lock();
        let count = wanted.min(self.free_for(&state, class));
        state.take(class.lane(), count);
        Permit { permits: self.clone(), lane: class.lane(), count }
    }

    /// Waits for one permit. Whoever waits longest is first, urgent messages before all others.
    pub(crate) async fn wait(self: Arc<Self>, class: Class) -> Permit {
        let granted = {
            let mut state = self.lock();
            let (sender, receiver) = oneshot::channel();
            match class {
                Class::Urgent => state.urgent.push_back(sender),
                Class::Normal | Class::Shared(_) => state.others.push_back((class, sender)),
            }
            self.grant(&mut state);
            receiver
        };
        match granted.await {
            Ok(permit) => permit,
            // The queue lives as long as `self`, and a sender leaves it only by sending.
            Err(_) => Permit { permits: self, lane: None, count: 0 },
        }
    }

    /// How many permits this class may take now. Nobody who waits is passed over: whoever could have a permit has been given
    /// one, so that what is free and not kept can only be wanted by those at their share.
    fn free_for(&self, state: &State, class: Class) -> usize {
        if !state.urgent.is_empty() {
            return 0;
        }
        let free = match class {
            Class::Urgent => return state.free,
            Class::Normal | Class::Shared(_) => state.free.saturating_sub(self.kept),
        };
        free.min(self.left_of_share(state, class))
    }

    fn left_of_share(&self, state: &State, class: Class) -> usize {
        let taken = class.lane().and_then(|lane| state.taken.get(&lane)).copied().unwrap_or(0);
        self.shares.of(class, self.total).saturating_sub(taken)
    }

    /// Hands free permits to those who wait.
    fn grant(self: &Arc<Self>, state: &mut State) {
        while state.free > 0
            && let Some(next) = state.urgent.pop_front()
        {
            self.send(state, Class::Urgent, next);
        }
        while state.free > self.kept
            && let Some(at) = state.others.iter().position(|(class, _)| self.left_of_share(state, *class) > 0)
            && let Some((class, next)) = state.others.remove(at)
        {
            self.send(state, class, next);
        }
    }

    fn send(self: &Arc<Self>, state: &mut State, class: Class, waiting: oneshot::Sender<Permit>) {
        let lane = class.lane();
        state.take(lane, 1);
        if let Err(mut unwanted) = waiting.send(Permit { permits: self.clone(), lane, count: 1 }) {
            // Whoever waited is gone. Dropping the permit would lock the state again.
            unwanted.count = 0;
            state.give_back(lane, 1);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take(&mut self, lane: Option<i64>, count: usize) {
        self.free -= count;
        if let Some(lane) = lane.filter(|_| count > 0) {
            *self.taken.entry(lane).or_default() += count;
        }
    }

    fn give_back(&mut self, lane: Option<i64>, count: usize) {
        self.free += count;
        if let Some(lane) = lane
            && let Some(taken) = self.taken.get_mut(&lane)
        {
            *taken = taken.saturating_sub(count);
            if *taken == 0 {
                self.taken.remove(&lane);
            }
        }
    }
}

impl Permit {
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Permits for `count` calls, or for as many as there are.
    pub(crate) fn split(&mut self, count: usize) -> Permit {
        let count = count.min(self.count);
        self.count -= count;
        Permit { permits: self.permits.clone(), lane: self.lane, count }
    }

    pub(crate) fn append(&mut self, mut other: Permit) {
        let count = std::mem::take(&mut other.count);
        if other.lane != self.lane {
            // They are counted for whoever has them.
            let mut state = self.permits.lock();
            state.give_back(other.lane, count);
            state.take(self.lane, count);
        }
        self.count += count;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.count > 0 {
            let mut state = self.permits.lock();
            state.give_back(self.lane, self.count);
            self.permits.grant(&mut state);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn alone(total: usize) -> Arc<Permits> {
        Permits::new(total, Arc::default())
    }

    fn with_share(total: usize, share: i64) -> Arc<Permits> {
        let shares = Shares::default();
        shares.set(HashMap::from([(1, share)]));
        Permits::new(total, Arc::new(shares))
    }

    #[test]
    fn a_lane_has_its_share_and_what_it_may_not_have_stays_for_others() {
        let permits = with_share(10, 30);
        let flood = permits.take_free(Class::Shared(1), 1_000);
        assert_eq!(flood.count(), 3);
        let mut waiting = Box::pin(permits.clone().wait(Class::Shared(1)));
        assert!(waiting.as_mut().now_or_never().is_none(), "it is at its share");
        let others = permits.take_free(Class::Normal, 1_000);
        assert_eq!(others.count(), 6, "whoever waits for its share keeps nobody back");
        assert_eq!(permits.take_free(Class::Urgent, 1_000).count(), 1);
        let mut normal = Box::pin(permits.clone().wait(Class::Normal));
        assert!(normal.as_mut().now_or_never().is_none());
        drop(others);
        assert!(normal.as_mut().now_or_never().is_some(), "behind one that is at its share");
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(flood);
        assert!(waiting.as_mut().now_or_never().is_some());
    }

    #[test]
    fn the_smallest_share_is_one_call_and_a_lane_without_one_has_no_limit() {
        assert_eq!(with_share(3, 1).take_free(Class::Shared(1), 9).count(), 1);
        assert_eq!(with_share(10, 100).take_free(Class::Shared(1), 99).count(), 9, "one is kept");
        assert_eq!(with_share(10, 20).take_free(Class::Shared(2), 99).count(), 9);
    }

    #[test]
    fn permits_that_change_hands_are_counted_for_whoever_has_them() {
        let permits = with_share(10, 30);
        let mut normal = permits.take_free(Class::Normal, 1);
        normal.append(permits.take_free(Class::Shared(1), 3));
        assert_eq!(permits.take_free(Class::Shared(1), 9).count(), 3);
        drop(normal);
        assert_eq!(permits.take_free(Class::Urgent, 99).count(), 10);
        assert!(permits.lock().taken.is_empty());
    }

    #[test]
    fn a_share_is_kept_for_urgent_messages_where_there_are_enough() {
        for (total, normal, urgent) in
            [(1, 1, 1), (3, 3, 3), (4, 3, 4), (10, 9, 10), (16, 15, 16), (100, 90, 100)]
        {
            assert_eq!(alone(total).take_free(Class::Normal, 1000).count(), normal, "of {total}");
            assert_eq!(alone(total).take_free(Class::Urgent, 1000).count(), urgent, "of {total}");
        }
    }

    #[test]
    fn an_urgent_message_gets_the_next_free_permit_and_the_others_follow_in_their_order() {
        let permits = alone(1);
        let mut busy = permits.take_free(Class::Normal, 1);
        let mut first = Box::pin(permits.clone().wait(Class::Normal));
        let mut second = Box::pin(permits.clone().wait(Class::Normal));
        assert!(first.as_mut().now_or_never().is_none() && second.as_mut().now_or_never().is_none());
        let mut alarm = Box::pin(permits.clone().wait(Class::Urgent));
        assert!(alarm.as_mut().now_or_never().is_none());
        drop(busy.split(1));
        assert!(first.as_mut().now_or_never().is_none(), "the alarm is first");
        let granted = alarm.as_mut().now_or_never().expect("the permit that became free");
        assert_eq!(permits.take_free(Class::Normal, 1).count(), 0, "others wait");
        drop(granted);
        let granted = first.as_mut().now_or_never().expect("the first in line");
        assert!(second.as_mut().now_or_never().is_none());
        drop(granted);
        assert!(second.as_mut().now_or_never().is_some());
    }

    #[test]
    fn permits_of_whoever_went_away_are_not_lost() {
        let permits = alone(2);
        let busy = permits.take_free(Class::Normal, 2);
        let mut gone = Box::pin(permits.clone().wait(Class::Normal));
        assert!(gone.as_mut().now_or_never().is_none());
        let mut granted_and_gone = Box::pin(permits.clone().wait(Class::Normal));
        assert!(granted_and_gone.as_mut().now_or_never().is_none());
        drop(gone);
        drop(busy);
        drop(granted_and_gone);
        assert_eq!(permits.take_free(Class::Normal, 10).count(), 2);
    }

    #[test]
    fn permits_that_were_joined_are_given_back_together() {
        let permits = alone(10);
        let mut some = permits.take_free(Class::Normal, 2);
        some.append(permits.take_free(Class::Normal, 3));
        assert_eq!(some.count(), 5);
        drop(some);
        assert_eq!(permits.take_free(Class::Urgent, 100).count(), 10);
    }
}

//! Permits for calls: how many calls of one channel are under way on this node, and who gets the next free permit.
//!
//! A call takes one permit when it starts and gives it back when it ends, whatever else its message still waits for. A
//! share of the permits is kept for urgent messages, and an urgent message that waits gets the next free permit. So a
//! message to ten thousand delays an alarm by one call at most.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use punctual_model::{Priority, delivery_policy::Urgency};
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
}

impl Class {
    pub(crate) fn of(priority: i64) -> Self {
        match Priority::of(priority) {
            Priority::Alarm | Priority::High => Self::Urgent,
            Priority::Normal | Priority::Campaign => Self::Normal,
        }
    }

    /// The least urgent priority that a claim for this class takes.
    pub(crate) fn up_to(self) -> i64 {
        match self {
            Self::Urgent => Priority::High.number(),
            Self::Normal => Urgency::Campaign.highest(),
        }
    }
}

/// The permits of one channel.
pub(crate) struct Permits {
    /// What normal messages leave free.
    kept: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    free: usize,
    urgent: VecDeque<oneshot::Sender<Permit>>,
    normal: VecDeque<oneshot::Sender<Permit>>,
}

/// Permits for `count` calls; given back when dropped.
pub(crate) struct Permit {
    permits: Arc<Permits>,
    count: usize,
}

impl Permits {
    pub(crate) fn new(total: usize) -> Arc<Self> {
        let total = total.max(1);
        let kept = if total < SHARED_FROM { 0 } else { (total / KEPT_ONE_IN).max(1) };
        Arc::new(Self { kept, state: Mutex::new(State { free: total, ..State::default() }) })
    }

    /// Takes up to `wanted` permits that are free now; there may be none.
    pub(crate) fn take_free(self: &Arc<Self>, class: Class, wanted: usize) -> Permit {
        let mut state = self.lock();
        let count = wanted.min(self.free_for(&state, class));
        state.free -= count;
        Permit { permits: self.clone(), count }
    }

    /// Waits for one permit. Whoever waits longest is first, urgent messages before all others.
    pub(crate) async fn wait(self: Arc<Self>, class: Class) -> Permit {
        let granted = {
            let mut state = self.lock();
            let (sender, receiver) = oneshot::channel();
            match class {
                Class::Urgent => state.urgent.push_back(sender),
                Class::Normal => state.normal.push_back(sender),
            }
            self.grant(&mut state);
            receiver
        };
        match granted.await {
            Ok(permit) => permit,
            // The queue lives as long as `self`, and a sender leaves it only by sending.
            Err(_) => Permit { permits: self, count: 0 },
        }
    }

    fn free_for(&self, state: &State, class: Class) -> usize {
        match class {
            Class::Urgent if state.urgent.is_empty() => state.free,
            Class::Normal if state.urgent.is_empty() && state.normal.is_empty() => {
                state.free.saturating_sub(self.kept)
            }
            // Others have waited longer.
            Class::Urgent | Class::Normal => 0,
        }
    }

    /// Hands free permits to those who wait.
    fn grant(self: &Arc<Self>, state: &mut State) {
        while state.free > 0
            && let Some(next) = state.urgent.pop_front()
        {
            self.send(state, next);
        }
        while state.free > self.kept
            && let Some(next) = state.normal.pop_front()
        {
            self.send(state, next);
        }
    }

    fn send(self: &Arc<Self>, state: &mut State, waiting: oneshot::Sender<Permit>) {
        state.free -= 1;
        if let Err(mut unwanted) = waiting.send(Permit { permits: self.clone(), count: 1 }) {
            // Whoever waited is gone. Dropping the permit would lock the state again.
            unwanted.count = 0;
            state.free += 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
        Permit { permits: self.permits.clone(), count }
    }

    pub(crate) fn append(&mut self, mut other: Permit) {
        self.count += std::mem::take(&mut other.count);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.count > 0 {
            let mut state = self.permits.lock();
            state.free += self.count;
            self.permits.grant(&mut state);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_share_is_kept_for_urgent_messages_where_there_are_enough() {
        for (total, normal, urgent) in
            [(1, 1, 1), (3, 3, 3), (4, 3, 4), (10, 9, 10), (16, 15, 16), (100, 90, 100)]
        {
            assert_eq!(Permits::new(total).take_free(Class::Normal, 1000).count(), normal, "of {total}");
            assert_eq!(Permits::new(total).take_free(Class::Urgent, 1000).count(), urgent, "of {total}");
        }
    }

    #[test]
    fn an_urgent_message_gets_the_next_free_permit_and_the_others_follow_in_their_order() {
        let permits = Permits::new(1);
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
        let permits = Permits::new(2);
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
        let permits = Permits::new(10);
        let mut some = permits.take_free(Class::Normal, 2);
        some.append(permits.take_free(Class::Normal, 3));
        assert_eq!(some.count(), 5);
        drop(some);
        assert_eq!(permits.take_free(Class::Urgent, 100).count(), 10);
    }
}

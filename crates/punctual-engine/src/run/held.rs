//! The rows for which this node holds leases, so that a stopping node can release them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

type Leases = Vec<(i64, i64)>;

#[derive(Default)]
pub(crate) struct Held(Mutex<State>);

#[derive(Default)]
struct State {
    next: u64,
    work: HashMap<u64, Leases>,
    sends: HashMap<u64, Leases>,
}

/// Held while a batch is under way.
pub(crate) struct HoldsLeases {
    held: Arc<Held>,
    number: u64,
}

impl Held {
    pub(super) fn work(self: &Arc<Self>, leases: Leases) -> HoldsLeases {
        self.add(|state, number| drop(state.work.insert(number, leases)))
    }

    pub(super) fn sends(self: &Arc<Self>, leases: Leases) -> HoldsLeases {
        self.add(|state, number| drop(state.sends.insert(number, leases)))
    }

    /// Every `(id, token)` of work and of notifications that is under way.
    pub(super) fn all(&self) -> (Leases, Leases) {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (state.work.values().flatten().copied().collect(), state.sends.values().flatten().copied().collect())
    }

    /// How many rows of work and of notifications are under way.
    pub(crate) fn counts(&self) -> (i64, i64) {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = |leases: &HashMap<u64, Leases>| {
            i64::try_from(leases.values().map(Vec::len).sum::<usize>()).unwrap_or(i64::MAX)
        };
        (count(&state.work), count(&state.sends))
    }

    fn add(self: &Arc<Self>, insert: impl FnOnce(&mut State, u64)) -> HoldsLeases {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.next += 1;
        let number = state.next;
        insert(&mut state, number);
        HoldsLeases { held: self.clone(), number }
    }
}

impl Drop for HoldsLeases {
    fn drop(&mut self) {
        let mut state = self.held.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.work.remove(&self.number);
        state.sends.remove(&self.number);
    }
}

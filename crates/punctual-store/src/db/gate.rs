//! The queue in front of SQLite's single writer: settles before intake, and neither starves.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

/// How urgent a transaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Recording what has already happened; waiting here widens the duplicate window.
    Settle,
    /// Taking what is due.
    Claim,
    /// What callers hand in and change.
    Intake,
}

/// After this many urgent ones in a row, one of the others goes first.
const URGENT_IN_A_ROW: u32 = 8;

#[derive(Clone, Default)]
pub(super) struct Gate(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    taken: bool,
    urgent_in_a_row: u32,
    settles: VecDeque<oneshot::Sender<Permit>>,
    intake: VecDeque<oneshot::Sender<Permit>>,
}

/// The right to write; the next in line gets it when this is dropped.
pub(super) struct Permit {
    gate: Gate,
    /// Whether it still holds the right: one that was handed on does not give it back twice.
    holds: bool,
}

impl Gate {
    pub(super) async fn enter(&self, lane: Lane) -> Permit {
        let waiter = {
            let mut state = self.lock();
            if !state.taken {
                state.taken = true;
                return Permit { gate: self.clone(), holds: true };
            }
            let (sender, receiver) = oneshot::channel();
            match lane {
                Lane::Settle => state.settles.push_back(sender),
                Lane::Claim | Lane::Intake => state.intake.push_back(sender),
            }
            receiver
        };
        // The sender lives in the queue until it is used, so the channel cannot close on a waiter.
        waiter.await.unwrap_or_else(|_| Permit { gate: self.clone(), holds: false })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next(&mut self) -> Option<oneshot::Sender<Permit>> {
        let turn_of_others = self.urgent_in_a_row >= URGENT_IN_A_ROW && !self.intake.is_empty();
        if !turn_of_others && let Some(sender) = self.settles.pop_front() {
            self.urgent_in_a_row += 1;
            return Some(sender);
        }
        self.urgent_in_a_row = 0;
        self.intake.pop_front()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if !self.holds {
            return;
        }
        loop {
            let next = {
                let mut state = self.gate.lock();
                let next = state.next();
                if next.is_none() {
                    state.taken = false;
                }
                next
            };
            let Some(waiter) = next else { return };
            // A waiter that gave up returns the permit in the error; it must not run this again.
            match waiter.send(Permit { gate: self.gate.clone(), holds: true }) {
                Ok(()) => return,
                Err(mut unused) => unused.holds = false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn settles_go_first_and_intake_is_not_starved() {
        let gate = Gate::default();
        let held = gate.enter(Lane::Intake).await;
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for n in 0..12 {
            for lane in [Lane::Intake, Lane::Settle] {
                let (gate, order) = (gate.clone(), order.clone());
                tasks.push(tokio::spawn(async move {
                    let _permit = gate.enter(lane).await;
                    order.lock().unwrap().push((lane, n));
                }));
            }
        }
        tokio::task::yield_now().await;
        drop(held);
        for task in tasks {
            task.await.unwrap();
        }
        let order = order.lock().unwrap();
        let first: Vec<Lane> = order.iter().take(9).map(|(lane, _)| *lane).collect();
        assert_eq!(first[..8], [Lane::Settle; 8], "settles come first");
        assert_eq!(first[8], Lane::Intake, "after eight settles one of the others has its turn");
        assert_eq!(order.len(), 24);
    }

    #[tokio::test]
    async fn a_waiter_that_gives_up_does_not_block_the_gate() {
        let gate = Gate::default();
        let held = gate.enter(Lane::Settle).await;
        let waiting = tokio::spawn({
            let gate = gate.clone();
            async move { drop(gate.enter(Lane::Intake).await) }
        });
        tokio::task::yield_now().await;
        waiting.abort();
        let _ = waiting.await;
        drop(held);
        drop(gate.enter(Lane::Intake).await);
    }
}

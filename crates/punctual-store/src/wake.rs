//! Wake-ups: a loop sleeps until the earliest ready row it knows of, and is woken when an earlier one is written.
//!
//! Commits of this node wake in process; commits of nodes without workers use LISTEN/NOTIFY. Wake-ups only make processing
//! faster: every loop also polls, so nothing depends on them.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use punctual_boxed::boxed;
use tokio::sync::Notify;

/// The PostgreSQL channel on which nodes notify each other of ready rows.
pub(crate) const NOTIFY_CHANNEL: &str = "punctual_ready";

/// Which loop a row is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Work = 0,
    Delivery = 1,
}

#[derive(Clone, Default)]
pub struct Wake(Arc<[Signal; 2]>);

struct Signal {
    /// The earliest instant raised since the loop last looked, in microseconds.
    earliest: AtomicI64,
    /// The same since a claim last looked.
    written: AtomicI64,
    raised: Notify,
}

impl Default for Signal {
    fn default() -> Self {
        Self { earliest: AtomicI64::new(i64::MAX), written: AtomicI64::new(i64::MAX), raised: Notify::new() }
    }
}

impl Wake {
    /// Wakes the loop of `stage`: a row is ready at `at` (microseconds).
    pub fn raise(&self, stage: Stage, at: i64) {
        let signal = &self.0[stage as usize];
        signal.written.fetch_min(at, Ordering::AcqRel);
        if signal.earliest.fetch_min(at, Ordering::AcqRel) > at {
            signal.raised.notify_one();
        }
    }

    /// Waits for a wake-up.
    #[boxed]
    pub async fn wait(&self, stage: Stage) {
        self.0[stage as usize].raised.notified().await;
    }

    /// Returns the earliest instant raised since the last call, if any.
    pub fn take(&self, stage: Stage) -> Option<i64> {
        let at = self.0[stage as usize].earliest.swap(i64::MAX, Ordering::AcqRel);
        (at != i64::MAX).then_some(at)
    }

    /// The same for claims, which start behind what they have done: a row that was raised may lie before that.
    pub fn take_written(&self, stage: Stage) -> Option<i64> {
        let at = self.0[stage as usize].written.swap(i64::MAX, Ordering::AcqRel);
        (at != i64::MAX).then_some(at)
    }

    /// Wakes both loops: the wake-up of another node.
    pub fn raise_all(&self, payload: &str) {
        let at = payload.parse().unwrap_or(0);
        self.raise(Stage::Work, at);
        self.raise(Stage::Delivery, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_earliest_instant_is_kept_and_each_stage_has_its_own() {
        let wake = Wake::default();
        wake.raise(Stage::Work, 50);
        wake.raise(Stage::Work, 20);
        wake.raise(Stage::Work, 70);
        wake.wait(Stage::Work).await;
        assert_eq!(wake.take(Stage::Work), Some(20));
        assert_eq!(wake.take(Stage::Work), None);
        assert_eq!(wake.take_written(Stage::Work), Some(20), "claims look for themselves");
        assert_eq!(wake.take_written(Stage::Work), None);
        assert_eq!(wake.take(Stage::Delivery), None);
    }
}

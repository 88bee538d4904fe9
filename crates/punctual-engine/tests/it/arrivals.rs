//! What a receiver sees of limits: when messages came, and how many within one window.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use punctual_model::{Clock, Outgoing, SendOutcome};
use punctual_testkit::{Scripted, TestBed, channel::delivered};

/// When each message came, in microseconds, and for whom.
#[derive(Clone, Default)]
pub struct Arrivals(Arc<Mutex<Vec<(i64, String)>>>);

impl Arrivals {
    pub fn log(&self, at: i64, address: &str) {
        self.0.lock().unwrap().push((at, address.to_owned()));
    }

    pub fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    pub fn addresses(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().map(|(_, address)| address.clone()).collect()
    }

    pub fn clear(&self) {
        self.0.lock().unwrap().clear();
    }

    /// The most that came within any window of so many seconds.
    pub fn most_within(&self, seconds: i64) -> usize {
        let mut all: Vec<i64> = self.0.lock().unwrap().iter().map(|(at, _)| *at).collect();
        all.sort_unstable();
        let (mut window, mut most) = (VecDeque::new(), 0);
        for at in all {
            window.push_back(at);
            while window.front().is_some_and(|first| at - first >= seconds * 1_000_000) {
                window.pop_front();
            }
            most = most.max(window.len());
        }
        most
    }

    /// The seconds from the first to the last.
    pub fn took(&self) -> i64 {
        let all = self.0.lock().unwrap();
        let ends = (all.iter().map(|(at, _)| *at).min(), all.iter().map(|(at, _)| *at).max());
        ends.1.unwrap_or(0).saturating_sub(ends.0.unwrap_or(0)) / 1_000_000
    }
}

/// The bed with an adapter that notes what comes and takes all of it.
pub fn receiving(bed: &TestBed, name: &'static str) -> (TestBed, Arrivals) {
    receiving_with(bed, name, |_| delivered())
}

/// The same, with an answer to each; only what is taken counts as arrived.
pub fn receiving_with(
    bed: &TestBed,
    name: &'static str,
    answer: impl Fn(&Outgoing) -> SendOutcome + Send + Sync + 'static,
) -> (TestBed, Arrivals) {
    let arrivals = Arrivals::default();
    let (log, clock) = (arrivals.clone(), bed.clock.clone());
    let adapter = Scripted::new(name, move |message| {
        let outcome = answer(&message);
        if matches!(outcome, SendOutcome::Delivered { .. }) {
            log.log(clock.now().as_microsecond(), &message.address);
        }
        outcome
    });
    (bed.with(|bed| bed.adapter(adapter)), arrivals)
}

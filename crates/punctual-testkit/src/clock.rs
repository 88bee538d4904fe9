//! Time and randomness for tests: a random source that repeats, and the real time for tests of the loops.

use std::{sync::Mutex, time::Duration};

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use punctual_model::{Clock, Random};
use tokio::sync::watch;

/// The system's time: only for tests of what happens by itself, with the loops running.
#[derive(Clone, Copy, Debug, Default)]
pub struct WallClock;

impl Clock for WallClock {
    #[expect(clippy::disallowed_methods, reason = "this is a Clock")]
    fn now(&self) -> Timestamp {
        // The databases keep microseconds, and a row must not be ready a fraction of one too late.
        Timestamp::from_microsecond(Timestamp::now().as_microsecond()).unwrap_or(Timestamp::MAX)
    }

    #[expect(clippy::disallowed_methods, reason = "this is a Clock")]
    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
        let wait = self
            .now()
            .until(at)
            .ok()
            .and_then(|span| span.total(jiff::Unit::Millisecond).ok())
            .unwrap_or(0.0);
        let wait = Duration::from_secs_f64((wait / 1000.0).clamp(0.0, 86_400.0));
        Box::pin(tokio::time::sleep(wait))
    }
}

/// A task that sleeps longer has nothing to do: the loops of a node, but those of due work and delivery, wake more often.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// The system's time, and how many sleep at the moment because they have nothing to do.
#[derive(Clone, Debug, Default)]
pub struct WatchedClock(watch::Sender<usize>);

/// One that sleeps, until it is dropped.
struct Asleep(watch::Sender<usize>);

impl Drop for Asleep {
    fn drop(&mut self) {
        self.0.send_modify(|asleep| *asleep -= 1);
    }
}

impl WatchedClock {
    /// Waits until so many sleep.
    ///
    /// # Panics
    /// Never: the sender is held here.
    pub async fn until_idle(&self, count: usize) {
        let mut asleep = self.0.subscribe();
        let held = asleep.wait_for(|asleep| *asleep >= count).await;
        held.unwrap_or_else(|error| panic!("nobody counts: {error}"));
    }
}

impl Clock for WatchedClock {
    fn now(&self) -> Timestamp {
        WallClock.now()
    }

    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
        let sleep = WallClock.sleep_until(at);
        let is_idle = self.now().until(at).is_ok_and(|span| {
            span.total(jiff::Unit::Second).is_ok_and(|seconds| seconds > IDLE.as_secs_f64())
        });
        let counted = is_idle.then(|| self.0.clone());
        Box::pin(async move {
            let _asleep = counted.map(|count| {
                count.send_modify(|asleep| *asleep += 1);
                Asleep(count)
            });
            sleep.await;
        })
    }
}

/// SplitMix64: the same seed gives the same numbers.
#[derive(Debug)]
pub struct Seeded(Mutex<u64>);

impl Seeded {
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(seed))
    }

    /// The next 64 bits.
    pub fn next(&self) -> u64 {
        let mut state = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }
}

impl Random for Seeded {
    fn bytes(&self, into: &mut [u8]) {
        for chunk in into.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }
}

//! Time and randomness are injected: only the binary reads them from the system.

mod discipline;

use std::{sync::Mutex, task::Waker, time::Duration};

use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

pub use discipline::{Discipline, Doubt, Reference, Sample};

/// What gives the time, and wakes a waiter at an instant.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
    /// Ends when `now()` has reached `at`; at once if it already has.
    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()>;

    /// Why the time is not good enough to claim rows and to judge leases, where it may have been checked this long ago.
    fn doubt(&self, _checked_within: Duration) -> Option<Doubt> {
        None
    }

    /// How far the machine's own clock is ahead of this one.
    fn own_offset(&self) -> SignedDuration {
        SignedDuration::ZERO
    }
}

/// Where random bytes come from.
pub trait Random: Send + Sync {
    fn bytes(&self, into: &mut [u8]);

    /// A random id with no order in it, for links that must not be guessed.
    fn uuid(&self) -> Uuid {
        let mut bytes = [0; 16];
        self.bytes(&mut bytes);
        uuid::Builder::from_random_bytes(bytes).into_uuid()
    }

    /// An id ordered by time, kind to indexes.
    fn ordered_uuid(&self, now: Timestamp) -> Uuid {
        let mut bytes = [0; 10];
        self.bytes(&mut bytes);
        let millis = u64::try_from(now.as_millisecond()).unwrap_or(0);
        uuid::Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid()
    }

    /// A number in `0.0..1.0`, for jitter.
    fn unit(&self) -> f64 {
        let mut bytes = [0; 8];
        self.bytes(&mut bytes);
        (u64::from_le_bytes(bytes) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A clock that stops until it is moved: for the sandbox, simulations and tests.
pub struct ManualClock {
    state: std::sync::Arc<Mutex<ManualState>>,
}

struct ManualState {
    now: Timestamp,
    doubt: Option<Doubt>,
    waiting: Vec<(Timestamp, Waker)>,
}

impl ManualClock {
    pub fn new(now: Timestamp) -> Self {
        Self { state: std::sync::Arc::new(Mutex::new(ManualState { now, doubt: None, waiting: Vec::new() })) }
    }

    /// The earliest instant that somebody sleeps until: tests move the clock once a task is asleep, not before.
    pub fn next_wake(&self) -> Option<Timestamp> {
        lock(&self.state).waiting.iter().map(|(at, _)| *at).min()
    }

    /// Puts the time in doubt, or beyond it.
    pub fn set_doubt(&self, doubt: Option<Doubt>) {
        lock(&self.state).doubt = doubt;
    }

    /// Moves the clock, also backwards, and wakes the waiters whose time has come.
    pub fn set(&self, now: Timestamp) {
        let mut woken = Vec::new();
        {
            let mut state = lock(&self.state);
            state.now = now;
            state.waiting.retain(|(at, waker)| {
                let waits_on = *at > now;
                if !waits_on {
                    woken.push(waker.clone());
                }
                waits_on
            });
        }
        for waker in woken {
            waker.wake();
        }
    }
}

/// A poisoned clock still gives the time: no invariant spans the lock.
fn lock(state: &Mutex<ManualState>) -> std::sync::MutexGuard<'_, ManualState> {
    state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        lock(&self.state).now
    }

    fn doubt(&self, _checked_within: Duration) -> Option<Doubt> {
        lock(&self.state).doubt
    }

    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
        let state = self.state.clone();
        Box::pin(std::future::poll_fn(move |context| {
            let mut state = lock(&state);
            if state.now >= at {
                return std::task::Poll::Ready(());
            }
            state.waiting.push((at, context.waker().clone()));
            std::task::Poll::Pending
        }))
    }
}

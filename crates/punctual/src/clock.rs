//! The process's clock and its one timer thread: the only place that asks the system for the time.
//!
//! Time passes as on the machine's monotonic clock. What time it is says a reference (see [`Discipline`]): the machine's
//! own clock, which the timer thread reads each second, or the database's (`clock/database.rs`).
//!
//! tokio's own timer has a resolution of a millisecond and is late by one or two; a thread that waits on a condition
//! variable is late by some tens of microseconds.

pub mod database;
mod source;

use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use punctual_model::{Clock, Discipline, Doubt, Reference, Sample};

use source::Source;
pub use source::WrongBy;

/// How often the timer thread reads the machine's own clock.
const LOOK_EVERY: Duration = Duration::from_secs(1);

pub struct SystemClock(Arc<Core>);

struct Core {
    source: Source,
    time: Mutex<Discipline>,
    waiting: Mutex<BTreeMap<(Duration, u64), Waker>>,
    changed: Condvar,
    next_number: AtomicU64,
}

impl SystemClock {
    /// Starts the timer thread.
    pub fn start() -> std::io::Result<Arc<Self>> {
        Self::start_wrong_by(WrongBy::default())
    }

    /// The same on a machine whose clock is wrong by this much, for trials.
    pub fn start_wrong_by(wrong_by: WrongBy) -> std::io::Result<Arc<Self>> {
        let source = Source::new(wrong_by);
        let core = Arc::new(Core {
            time: Mutex::new(Discipline::new(Reference::Own, source.own_sample())),
            source,
            waiting: Mutex::default(),
            changed: Condvar::new(),
            next_number: AtomicU64::new(0),
        });
        let own = core.clone();
        std::thread::Builder::new().name("timer".into()).spawn(move || own.run())?;
        Ok(Arc::new(Self(core)))
    }

    /// The monotonic clock.
    fn monotonic(&self) -> Duration {
        self.0.source.monotonic()
    }

    /// Follows another reference from here on; for a start, before anybody has asked for the time.
    fn follow(&self, reference: Reference, first: Sample) {
        *lock(&self.0.time) = Discipline::new(reference, first);
        self.0.wake_all();
    }

    fn sampled(&self, sample: Sample) {
        self.0.sampled(sample);
    }

    /// The time is at least this from here on.
    pub fn not_before(&self, mark: Timestamp) {
        lock(&self.0.time).not_before(mark, self.monotonic());
        self.0.wake_all();
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn sleep_until(&self, at: Timestamp) -> futures_util::future::BoxFuture<'static, ()> {
        Box::pin(Sleep { core: self.0.clone(), at, waits: None })
    }

    fn doubt(&self, checked_within: Duration) -> Option<Doubt> {
        lock(&self.0.time).doubt(self.monotonic(), checked_within)
    }

    fn own_offset(&self) -> SignedDuration {
        self.0.source.own().duration_since(self.0.now())
    }
}

impl Core {
    fn now(&self) -> Timestamp {
        let time = lock(&self.time);
        // Read under the lock, so that who comes later gets a later time.
        time.now(self.source.monotonic())
    }

    fn sampled(&self, sample: Sample) {
        let changed = lock(&self.time).sampled(sample);
        if changed {
            self.wake_all();
        }
    }

    /// Reads the machine's own clock, where that is the reference.
    fn look(&self) {
        let is_own = lock(&self.time).reference() == Reference::Own;
        if is_own {
            self.sampled(self.source.own_sample());
        }
    }

    /// Everybody who waits finds out again how long.
    fn wake_all(&self) {
        let woken = std::mem::take(&mut *lock(&self.waiting));
        woken.into_values().for_each(Waker::wake);
    }

    fn run(&self) {
        let mut looks_at = self.source.monotonic() + LOOK_EVERY;
        let mut waiting = lock(&self.waiting);
        loop {
            let now = self.source.monotonic();
            let mut due = Vec::new();
            while let Some(entry) = waiting.first_entry().filter(|entry| entry.key().0 <= now) {
                due.push(entry.remove());
            }
            if !due.is_empty() || looks_at <= now {
                drop(waiting);
                due.into_iter().for_each(Waker::wake);
                if looks_at <= now {
                    self.look();
                    looks_at = now + LOOK_EVERY;
                }
                waiting = lock(&self.waiting);
                continue;
            }
            let next = waiting.first_key_value().map_or(looks_at, |((at, _), _)| looks_at.min(*at));
            waiting = match self.changed.wait_timeout(waiting, next.saturating_sub(now)) {
                Ok((waiting, _)) => waiting,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }
}

/// No invariant spans these locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Sleep {
    core: Arc<Core>,
    at: Timestamp,
    /// Its place among those that wait, once it does.
    waits: Option<(Duration, u64)>,
}

impl Future for Sleep {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let core = self.core.clone();
        let end = {
            let time = lock(&core.time);
            if time.now(core.source.monotonic()) >= self.at {
                return Poll::Ready(());
            }
            time.reaches(self.at)
        };
        let number = match self.waits {
            Some((_, number)) => number,
            None => core.next_number.fetch_add(1, Ordering::Relaxed),
        };
        let mut waiting = lock(&core.waiting);
        if let Some(before) = self.waits.replace((end, number)) {
            waiting.remove(&before);
        }
        waiting.insert((end, number), context.waker().clone());
        if waiting.first_key_value().is_some_and(|(first, _)| *first == (end, number)) {
            core.changed.notify_one();
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(place) = &self.waits {
            lock(&self.core.waiting).remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn sleepers_wake_in_order_and_dropped_ones_leave_nothing() {
        let clock = SystemClock::start().unwrap();
        let now = clock.now();
        let after = |millis: i64| now + SignedDuration::from_millis(millis);
        drop(clock.sleep_until(after(60_000)));
        let mut never = clock.sleep_until(after(60_000));
        assert!(futures_util::poll!(&mut never).is_pending());
        drop(never);
        let (mut late, soon) = (clock.sleep_until(after(60_000)), clock.sleep_until(after(5)));
        soon.await;
        assert!(clock.now() >= after(5));
        assert!(futures_util::poll!(&mut late).is_pending());
        drop(late);
        assert!(lock(&clock.0.waiting).is_empty());
    }

    #[tokio::test]
    async fn whoever_sleeps_when_the_reference_leaps_is_woken() {
        let clock = SystemClock::start().unwrap();
        let at = clock.now() + SignedDuration::from_secs(3_600);
        let sleeping = tokio::spawn(clock.sleep_until(at));
        tokio::task::yield_now().await;
        let now = clock.monotonic();
        clock.follow(Reference::Database, Sample { sent: now, received: now, theirs: at });
        tokio::time::timeout(Duration::from_secs(60), sleeping).await.unwrap().unwrap();
    }

    #[test]
    fn a_wrong_own_clock_is_known_once_a_right_one_is_followed() {
        let wrong_by = SignedDuration::from_secs(7_200);
        let clock = SystemClock::start_wrong_by(WrongBy::Constant(wrong_by)).unwrap();
        let right = SystemClock::start().unwrap();
        let now = clock.monotonic();
        clock.follow(Reference::Database, Sample { sent: now, received: now, theirs: right.now() });
        assert!(clock.now().duration_since(right.now()).abs() < SignedDuration::from_secs(60));
        assert!((clock.own_offset() - wrong_by).abs() < SignedDuration::from_secs(60));
    }
}

//! The system's clock and its one timer thread: the only place that asks the system for the time.
//!
//! tokio's own timer has a resolution of a millisecond and is late by one or two; a thread that waits on a condition
//! variable is late by some tens of microseconds.
#![expect(clippy::disallowed_methods, reason = "this is the Clock that everybody else takes the time from")]

use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use jiff::Timestamp;
use punctual_model::Clock;

pub struct SystemClock {
    /// The latest instant returned, in microseconds: the clock never goes backwards.
    told: AtomicI64,
    timer: Arc<Timer>,
}

struct Timer {
    waiting: Mutex<BTreeMap<(Instant, u64), Waker>>,
    changed: Condvar,
    next_number: AtomicU64,
}

impl SystemClock {
    /// Starts the timer thread.
    pub fn start() -> std::io::Result<Arc<Self>> {
        let timer = Arc::new(Timer {
            waiting: Mutex::default(),
            changed: Condvar::new(),
            next_number: AtomicU64::new(0),
        });
        let own = timer.clone();
        std::thread::Builder::new().name("timer".into()).spawn(move || own.run())?;
        Ok(Arc::new(Self { told: AtomicI64::new(i64::MIN), timer }))
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let now = Timestamp::now().as_microsecond();
        let before = self.told.fetch_max(now, Ordering::AcqRel);
        Timestamp::from_microsecond(now.max(before)).unwrap_or(Timestamp::MAX)
    }

    fn sleep_until(&self, at: Timestamp) -> futures_util::future::BoxFuture<'static, ()> {
        let micros = at.as_microsecond().saturating_sub(self.now().as_microsecond()).max(0);
        // A day is longer than anybody here sleeps without looking again.
        let wait = Duration::from_micros(u64::try_from(micros).unwrap_or(0)).min(Duration::from_secs(86_400));
        Box::pin(Sleep { timer: self.timer.clone(), deadline: Instant::now() + wait, number: None })
    }
}

impl Timer {
    fn run(&self) {
        let mut waiting = self.lock();
        loop {
            let now = Instant::now();
            let mut due = Vec::new();
            while let Some(entry) = waiting.first_entry().filter(|entry| entry.key().0 <= now) {
                due.push(entry.remove());
            }
            if !due.is_empty() {
                drop(waiting);
                due.into_iter().for_each(Waker::wake);
                waiting = self.lock();
                continue;
            }
            let next = waiting.first_key_value().map(|((at, _), _)| at.saturating_duration_since(now));
            waiting = match next {
                Some(wait) => match self.changed.wait_timeout(waiting, wait) {
                    Ok((waiting, _)) => waiting,
                    Err(poisoned) => poisoned.into_inner().0,
                },
                None => self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(Instant, u64), Waker>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Sleep {
    timer: Arc<Timer>,
    deadline: Instant,
    /// Its place among those that wait, once it does.
    number: Option<u64>,
}

impl Future for Sleep {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.deadline {
            return Poll::Ready(());
        }
        let number = match self.number {
            Some(number) => number,
            None => self.timer.next_number.fetch_add(1, Ordering::Relaxed),
        };
        self.number = Some(number);
        let key = (self.deadline, number);
        let mut waiting = self.timer.lock();
        waiting.insert(key, context.waker().clone());
        if waiting.first_key_value().is_some_and(|(first, _)| *first == key) {
            self.timer.changed.notify_one();
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.timer.lock().remove(&(self.deadline, number));
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
        let after = |millis: i64| now + jiff::SignedDuration::from_millis(millis);
        drop(clock.sleep_until(after(60_000)));
        let mut never = clock.sleep_until(after(60_000));
        assert!(futures_util::poll!(&mut never).is_pending());
        drop(never);
        let (mut late, soon) = (clock.sleep_until(after(60_000)), clock.sleep_until(after(5)));
        soon.await;
        assert!(clock.now() >= after(5));
        assert!(futures_util::poll!(&mut late).is_pending());
        drop(late);
        assert!(clock.timer.lock().is_empty());
    }
}

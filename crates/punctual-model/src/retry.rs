//! When a failed attempt is retried: one type for every workflow and channel.
//!
//! A policy only computes the delay; the engine counts failures and writes the next time. Delays count from now, so a failure
//! never moves a row to an earlier time.

mod json;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The steps of the ladder: a hiccup, a restart, an outage.
const LADDER: [Duration; 3] = [Duration::from_secs(5 * 60), Duration::from_secs(15 * 60), HOUR];

/// The longest wait that another side may ask for with `Retry-After`.
pub const RETRY_AFTER_CAP: Duration = DAY;

/// The most attempts after the first that a written policy may ask for.
pub const MAX_ATTEMPTS: u32 = 100;
/// The shortest and the longest interval of a written policy.
pub const INTERVALS: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(7 * 24 * 60 * 60);

/// The waits of mail: long enough to outlive greylisting and a relay that is down over a morning.
const MAIL_STEPS: [Duration; 5] = [
    MINUTE,
    Duration::from_secs(5 * 60),
    Duration::from_secs(15 * 60),
    HOUR,
    Duration::from_secs(4 * 60 * 60),
];

/// How failed attempts are repeated. `max` is the number of attempts after the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RetryPolicy {
    /// After 5 minutes, 15 minutes and 1 hour; then a person must check.
    Ladder,
    /// The ladder, then every 24 hours without end: for long-running handlers that are approved for it.
    Daily,
    /// Always after the same interval.
    Fixed { interval: Duration, max: u32 },
    /// After the first wait, then after the second, and so on to the last.
    Steps(Arc<[Duration]>),
    /// After `first`, then `factor` times as long each time, never longer than `cap`.
    ///
    /// Randomness takes up to `jitter_percent` off each delay, so that rows that failed together do not
    /// return together: the delay lies between `(100 − jitter_percent) %` and `100 %` of the computed one.
    Exponential { first: Duration, factor: u32, cap: Duration, max: u32, jitter_percent: u8 },
}

/// What comes after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextAttempt {
    At(Timestamp),
    /// The policy is used up; the caller holds or parks.
    GiveUp,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::Fixed { interval: MINUTE, max: 3 }
    }
}

impl RetryPolicy {
    /// The policy of a channel for which none was written.
    pub fn of_channel(key: &str) -> Self {
        match key.split(':').next() {
            Some("email") => Self::Steps(MAIL_STEPS.into()),
            _ => Self::default(),
        }
    }

    /// The next attempt after the failure of that number, 1 being the first.
    ///
    /// `unit_random` is a number in `0.0..1.0`. `retry_after` is what the other side asked for: it is
    /// honoured up to [`RETRY_AFTER_CAP`], never makes an attempt earlier than the policy's own, and never
    /// adds an attempt.
    pub fn next(
        &self,
        failures_so_far: u32,
        now: Timestamp,
        unit_random: f64,
        retry_after: Option<Duration>,
    ) -> NextAttempt {
        let Some(own) = self.delay(failures_so_far.max(1), unit_random) else {
            return NextAttempt::GiveUp;
        };
        let asked = retry_after.unwrap_or_default().min(RETRY_AFTER_CAP);
        NextAttempt::At(later(now, own.max(asked)))
    }

    /// How long to wait after the failure of that number; none when the policy is used up.
    fn delay(&self, failures: u32, unit_random: f64) -> Option<Duration> {
        let step = usize::try_from(failures - 1).unwrap_or(usize::MAX);
        match self {
            Self::Ladder => LADDER.get(step).copied(),
            Self::Daily => Some(LADDER.get(step).copied().unwrap_or(DAY)),
            Self::Fixed { interval, max } => (failures <= *max).then_some(*interval),
            Self::Steps(waits) => waits.get(step).copied(),
            Self::Exponential { first, factor, cap, max, jitter_percent } => (failures <= *max).then(|| {
                let full = grown(*first, *factor, failures - 1).min(*cap);
                shortened(full, *jitter_percent, unit_random)
            }),
        }
    }
}

/// `first × factor^times`, or the longest duration there is.
fn grown(first: Duration, factor: u32, times: u32) -> Duration {
    factor
        .checked_pow(times)
        .and_then(|growth| first.checked_mul(growth))
        .unwrap_or_else(|| if first.is_zero() { first } else { Duration::MAX })
}

/// Takes a random part of up to `percent` off.
fn shortened(full: Duration, percent: u8, unit_random: f64) -> Duration {
    // `clamp` keeps NaN, and a source of randomness that gives it must not undo the delay.
    let unit = if unit_random.is_nan() { 0.0 } else { unit_random.clamp(0.0, 1.0) };
    let share = f64::from(percent.min(100)) / 100.0 * unit;
    let off = Duration::try_from_secs_f64(full.as_secs_f64() * share).unwrap_or_default();
    full.saturating_sub(off)
}

/// The moment after that delay, or the last moment there is.
fn later(now: Timestamp, delay: Duration) -> Timestamp {
    SignedDuration::try_from(delay)
        .ok()
        .and_then(|delay| now.checked_add(delay).ok())
        .unwrap_or(Timestamp::MAX)
}

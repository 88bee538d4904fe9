//! Combines two clocks: the machine's monotonic clock measures elapsed time, and a reference clock provides the time of day.
//!
//! The reference is the database's clock on PostgreSQL and the machine's own clock on SQLite. Pure: samples in, time out.

use std::{collections::VecDeque, time::Duration};

use jiff::{SignedDuration, Timestamp};

/// Samples that are kept; the one with the smallest round trip is believed.
const KEPT: usize = 10;
/// Samples of one clock agree within this, beyond what their round trips leave open; else the reference was set.
const AGREE_WITHIN: i64 = 50_000;
/// Smaller corrections are not made, so that sleepers are not woken for them.
const SMALLEST: i64 = 100;
/// A correction runs the clock slower or faster by this part of the time that passes.
const SLEW: i64 = 2;
/// What lies further ahead is stepped to. Nothing is ever stepped back.
const STEP: i64 = 1_000_000;
/// The machine's own clock leaps when it gains more than this against the monotonic clock.
const LEAP: i64 = 10_000_000;
/// A leap is believed when it is still there after this long.
const SECOND_LOOK: Duration = Duration::from_secs(5);

/// One look at the reference. Instants of our own are on the monotonic clock, counted from any moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When the question was sent.
    pub sent: Duration,
    /// When the answer had come.
    pub received: Duration,
    /// What the reference said in between.
    pub theirs: Timestamp,
}

impl Sample {
    /// Reference less monotonic clock, in microseconds; true within half a round trip.
    fn offset(&self) -> i64 {
        self.theirs.as_microsecond() - micros(self.sent + self.round_trip() / 2)
    }

    fn round_trip(&self) -> Duration {
        self.received.saturating_sub(self.sent)
    }

    fn agrees_with(&self, other: &Self) -> bool {
        let open = micros((self.round_trip() + other.round_trip()) / 2);
        (self.offset() - other.offset()).abs() <= open + AGREE_WITHIN
    }
}

/// Whose clock is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The database's, which all nodes follow: believed as it is, and not done without.
    Database,
    /// The machine's own: a leap forward is believed at a second look.
    Own,
}

/// Why the time is not good enough to claim rows and to judge leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    #[error("the database's clock was last read {} s ago", age.as_secs())]
    NoSample { age: Duration },
    #[error("the database's clock was set back by {} s; a restart takes over its time at once", by.as_secs())]
    Ahead { by: Duration },
    #[error("this machine's clock leapt forward by {} s and is checked again", by.as_secs())]
    Leapt { by: Duration },
}

/// A leap of the machine's own clock that was seen once.
#[derive(Clone, Copy, Debug)]
struct Leap {
    offset: i64,
    first_seen: Duration,
}

/// The time, as the reference has it, that never goes backwards.
#[derive(Clone, Debug)]
pub struct Discipline {
    reference: Reference,
    samples: VecDeque<Sample>,
    /// Reference less monotonic clock, as far as it is known.
    offset: i64,
    /// What was shown at the last correction, and when that was on the monotonic clock.
    shown: i64,
    since: Duration,
    leap: Option<Leap>,
}

impl Discipline {
    pub fn new(reference: Reference, first: Sample) -> Self {
        let offset = first.offset();
        Self {
            reference,
            samples: VecDeque::from([first]),
            offset,
            shown: micros(first.received) + offset,
            since: first.received,
            leap: None,
        }
    }

    pub fn reference(&self) -> Reference {
        self.reference
    }

    /// The time at an instant of the monotonic clock: where the reference is, as far as slewing has got there.
    pub fn now(&self, at: Duration) -> Timestamp {
        timestamp(self.now_in_micros(at))
    }

    fn now_in_micros(&self, at: Duration) -> i64 {
        let passed = micros(at.saturating_sub(self.since));
        let (slow, fast) = (passed - passed / SLEW, passed + passed / SLEW);
        (micros(at) + self.offset).clamp(self.shown + slow, self.shown + fast)
    }

    /// When `now` reaches this time, on the monotonic clock, if nothing is corrected until then.
    pub fn reaches(&self, time: Timestamp) -> Duration {
        let left = time.as_microsecond().saturating_sub(self.shown);
        if left <= 0 {
            return self.since;
        }
        let straight = time.as_microsecond().saturating_sub(self.offset).saturating_sub(micros(self.since));
        let (fastest, slowest) = (left - left / (SLEW + 1), left.saturating_mul(SLEW));
        // Rounding never ends a wait too early.
        let passed = straight.max(fastest).min(slowest).max(0).saturating_add(1);
        self.since.saturating_add(Duration::from_micros(passed.unsigned_abs()))
    }

    /// Takes a look at the reference; returns whether the course of time changed for those who wait for an instant.
    pub fn sampled(&mut self, sample: Sample) -> bool {
        if self.is_leap(&sample) {
            return false;
        }
        // The reference was set: what it said before is no longer true.
        if self.samples.back().is_some_and(|last| !last.agrees_with(&sample)) {
            self.samples.clear();
        }
        self.samples.push_back(sample);
        if self.samples.len() > KEPT {
            self.samples.pop_front();
        }
        // The latest of those that are equally good.
        let best = self.samples.iter().rev().min_by_key(|sample| sample.round_trip());
        let offset = best.map_or(self.offset, Sample::offset);
        if (offset - self.offset).abs() < SMALLEST {
            return false;
        }
        self.shown = self.now_in_micros(sample.received);
        self.since = self.since.max(sample.received);
        self.offset = offset;
        let there = micros(self.since) + offset;
        if there - self.shown > STEP {
            self.shown = there;
        }
        true
    }

    /// Whether the machine's own clock leapt and that is not to be believed yet.
    fn is_leap(&mut self, sample: &Sample) -> bool {
        if self.reference == Reference::Database || sample.offset() - self.offset <= LEAP {
            self.leap = None;
            return false;
        }
        let offset = sample.offset();
        let same = self.leap.filter(|leap| (leap.offset - offset).abs() <= AGREE_WITHIN);
        let leap = same.unwrap_or(Leap { offset, first_seen: sample.received });
        let is_confirmed = sample.received.saturating_sub(leap.first_seen) >= SECOND_LOOK;
        self.leap = Some(leap).filter(|_| !is_confirmed);
        !is_confirmed
    }

    /// The time is at least this: what an earlier run of a single node has shown already.
    pub fn not_before(&mut self, mark: Timestamp, at: Duration) {
        let shown = self.now_in_micros(at).max(mark.as_microsecond());
        (self.shown, self.since) = (shown, self.since.max(at));
    }

    /// Why the time must not be relied on, where the newest sample may have this age.
    pub fn doubt(&self, at: Duration, oldest: Duration) -> Option<Doubt> {
        if let Some(leap) = self.leap {
            return Some(Doubt::Leapt { by: duration(leap.offset - self.offset) });
        }
        if self.reference == Reference::Own {
            return None;
        }
        let newest = self.samples.back().map_or(Duration::ZERO, |sample| sample.received);
        let age = at.saturating_sub(newest);
        if age > oldest {
            return Some(Doubt::NoSample { age });
        }
        let ahead = self.ahead(at);
        (ahead > SignedDuration::from_micros(STEP)).then(|| Doubt::Ahead { by: duration(micros_of(ahead)) })
    }

    /// How far the time shown is ahead of the reference: not at all, but for a reference that was set back.
    pub fn ahead(&self, at: Duration) -> SignedDuration {
        SignedDuration::from_micros(self.now_in_micros(at) - micros(at) - self.offset)
    }
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

fn micros_of(time: SignedDuration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

fn duration(micros: i64) -> Duration {
    Duration::from_micros(micros.unsigned_abs())
}

fn timestamp(micros: i64) -> Timestamp {
    Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;

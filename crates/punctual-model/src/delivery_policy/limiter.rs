//! Rate limits: at most `max` sends in any sliding window of length `per`, as counted by the receiver.
//!
//! A send occupies one of `max` slots from the time it is allowed until `per` after it has ended. Proof: all sends that arrive
//! within one window were allowed before the last of them arrived, and ended at most `per` before it. They all held slots at
//! that moment, so there are at most `max`. The proof does not depend on the duration of a send or on the sending node: the
//! slots are stored in the database, and the slot of a node that died is freed at the latest time at which its send can have
//! ended.
//!
//! Times are rounded up to 64 steps per window, so that the stored size of a limit hardly depends on `max`.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Urgency, written};

/// Steps into which a length is divided: what rounding up costs is less than one of them.
const STEPS: i64 = 64;
/// What is under way is rounded up to whole seconds: the end of a lease is no exact moment.
const HELD_STEP: i64 = 1_000_000;

/// At most `max` in any sliding window of that length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    pub max: i64,
    #[serde(with = "written")]
    pub per: Duration,
}

impl Rate {
    fn micros(&self) -> i64 {
        i64::try_from(self.per.as_micros()).unwrap_or(i64::MAX / 4).max(1)
    }
}

/// The slots that are taken, for one or more rates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Limiter {
    logs: Vec<Log>,
}

/// The slots of one window length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Log {
    per: i64,
    /// `(rounded end, count)` of sends that have ended.
    used: Vec<(i64, i64)>,
    /// `(when it must have ended, count)` of sends under way.
    held: Vec<(i64, i64)>,
}

impl Limiter {
    /// What was stored; a text that cannot be read starts again.
    pub fn read(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    pub fn written(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| "[]".to_owned())
    }

    /// Makes room for these rates and forgets what has lapsed.
    pub fn at(mut self, rates: &[Rate], now: Timestamp) -> Self {
        let now = now.as_microsecond();
        for log in &mut self.logs {
            let per = log.per;
            log.used.retain(|(end, count)| *count > 0 && end.saturating_add(per) > now);
            log.held.retain(|(until, count)| *count > 0 && until.saturating_add(per) > now);
        }
        let wanted: Vec<i64> = rates.iter().map(Rate::micros).collect();
        self.logs.retain(|log| wanted.contains(&log.per) || !log.used.is_empty() || !log.held.is_empty());
        for per in wanted {
            if self.logs.iter().all(|log| log.per != per) {
                self.logs.push(Log { per, used: Vec::new(), held: Vec::new() });
            }
        }
        self
    }

    /// How many more may go now, for a class of messages.
    pub fn free(&self, rates: &[Rate], urgency: Urgency, now: Timestamp) -> i64 {
        let free = rates
            .iter()
            .map(|rate| urgency.share(rate.max) - self.taken(rate.micros(), now.as_microsecond()));
        free.min().unwrap_or(i64::MAX).max(0)
    }

    /// Returns the slots that are taken under this rate.
    pub fn used(&self, rate: &Rate, now: Timestamp) -> i64 {
        self.taken(rate.micros(), now.as_microsecond())
    }

    fn taken(&self, per: i64, now: i64) -> i64 {
        self.log(per).map_or(0, |log| {
            log.entries().filter(|(from, _)| from.saturating_add(per) > now).map(|(_, n)| n).sum()
        })
    }

    /// When the next of a class may go, as far as is known; and whether it could be sooner because something is under way
    /// whose end is not known yet.
    pub fn next(&self, rates: &[Rate], urgency: Urgency, now: Timestamp) -> (Timestamp, bool) {
        let mut latest = (now.as_microsecond(), false);
        for rate in rates {
            let (per, share) = (rate.micros(), urgency.share(rate.max));
            let Some(log) = self.log(per) else { continue };
            let mut taken = self.taken(per, now.as_microsecond());
            let mut ends: Vec<(i64, i64, bool)> =
                log.used.iter().map(|(end, n)| (end + per, *n, false)).collect();
            ends.extend(log.held.iter().map(|(until, n)| (until + per, *n, true)));
            ends.sort_unstable();
            for (frees, count, is_held) in
                ends.into_iter().filter(|(frees, ..)| *frees > now.as_microsecond())
            {
                if taken < share {
                    break;
                }
                taken -= count;
                if taken < share && frees > latest.0 {
                    latest = (frees, is_held);
                }
            }
        }
        (Timestamp::from_microsecond(latest.0).unwrap_or(Timestamp::MAX), latest.1)
    }

    /// Takes slots for sends that must have ended at `until`.
    pub fn take(&mut self, count: i64, until: Timestamp) {
        for log in &mut self.logs {
            add(&mut log.held, rounded(until.as_microsecond(), HELD_STEP), count);
        }
    }

    /// Sends that were to end until `until` have ended at `at`.
    pub fn finish(&mut self, count: i64, until: Timestamp, at: Timestamp) {
        for log in &mut self.logs {
            let step = (log.per / STEPS).max(1);
            add(&mut log.held, rounded(until.as_microsecond(), HELD_STEP), -count);
            add(&mut log.used, rounded(at.as_microsecond(), step), count);
        }
    }

    fn log(&self, per: i64) -> Option<&Log> {
        self.logs.iter().find(|log| log.per == per)
    }
}

impl Log {
    fn entries(&self) -> impl Iterator<Item = (i64, i64)> {
        self.used.iter().chain(&self.held).copied()
    }
}

fn rounded(at: i64, step: i64) -> i64 {
    at.div_euclid(step).saturating_add(i64::from(at.rem_euclid(step) > 0)).saturating_mul(step)
}

fn add(entries: &mut Vec<(i64, i64)>, at: i64, count: i64) {
    match entries.iter_mut().find(|(there, _)| *there == at) {
        Some((_, there)) => *there = (*there + count).max(0),
        None if count > 0 => entries.push((at, count)),
        None => {}
    }
}

#[cfg(test)]
mod tests;

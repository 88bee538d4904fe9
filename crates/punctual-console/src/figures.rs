//! The figures behind the charts: how notifications ended in each interval of the last hours, and how late.
//!
//! Intervals that are over hardly change, so they are kept; only the newest are read each time. Of an interval with
//! very many endings the latest ones stand for all, and the figures say "about".

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use jiff::{SignedDuration, Timestamp};
use punctual_model::NotificationStatus;
use punctual_store::{
    StoreError,
    notifications::{Ending, count_ended, ended_in},
};

use crate::App;

pub const INTERVAL: SignedDuration = SignedDuration::from_mins(15);
pub const INTERVALS: i64 = 48;

/// Endings of one interval that are read at most.
const READ: usize = 400;
/// Endings of one interval that are counted at most.
const COUNTED: i64 = 100_000;
/// After this long an interval that is over is read again, because a person may have retried what was parked in it;
/// one that is long over seldom changes.
const FRESH_FOR: SignedDuration = SignedDuration::from_mins(10);
const OLD_FRESH_FOR: SignedDuration = SignedDuration::from_hours(6);
/// The latest intervals, which are read again sooner.
const LATEST: i64 = 8;

/// What ended in one interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    pub start: Timestamp,
    pub delivered: i64,
    pub parked: i64,
    /// Withdrawn or discarded.
    pub set_aside: i64,
    /// Estimated from the latest endings.
    pub is_about: bool,
    /// Lateness in microseconds: the middle, and what 95 and 99 of a hundred stay below.
    pub late: Option<[i64; 3]>,
}

impl Interval {
    pub fn total(&self) -> i64 {
        self.delivered + self.parked + self.set_aside
    }
}

/// Intervals that are over, with when they were read.
#[derive(Default)]
pub struct Kept(Mutex<BTreeMap<i64, (Timestamp, Interval)>>);

/// The last hours up to now, oldest first.
pub async fn intervals(app: &App, now: Timestamp) -> Result<Vec<Interval>, StoreError> {
    let length = i64::try_from(INTERVAL.as_micros()).unwrap_or(i64::MAX);
    let current = now.as_microsecond().div_euclid(length);
    let wall = app.wall.now();
    let first = current - INTERVALS + 1;
    let kept: BTreeMap<i64, Interval> = {
        let mut kept = app.figures.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|number, (read, _)| {
            let lasts = if *number > current - LATEST { FRESH_FOR } else { OLD_FRESH_FOR };
            *number >= first && wall.duration_since(*read) < lasts
        });
        kept.iter().map(|(number, (_, interval))| (*number, interval.clone())).collect()
    };
    let mut found = Vec::with_capacity(usize::try_from(INTERVALS).unwrap_or(0));
    let mut reader = app.engine.store.read_for_people().await?;
    for number in first..=current {
        if let Some(interval) = kept.get(&number) {
            found.push(interval.clone());
            continue;
        }
        let (from, to) = (number * length, (number + 1) * length);
        let limit = i64::try_from(READ).unwrap_or(i64::MAX) + 1;
        let endings = ended_in(&mut reader.conn(), from, to, limit).await?;
        let total = if endings.len() > READ {
            Some(count_ended(&mut reader.conn(), from, to, COUNTED).await?)
        } else {
            None
        };
        let interval = summed(Timestamp::from_microsecond(from).unwrap_or_default(), &endings, total);
        if number < current {
            let mut kept = app.figures.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.insert(number, (wall, interval.clone()));
        }
        found.push(interval);
    }
    Ok(found)
}

/// The figures of one interval; `total` where only some of the endings were read.
fn summed(start: Timestamp, endings: &[Ending], total: Option<i64>) -> Interval {
    let count = |status: NotificationStatus| endings.iter().filter(|ending| ending.status == status).count();
    let scaled = |count: usize| {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        match (total, i64::try_from(endings.len())) {
            (Some(total), Ok(read)) if read > 0 => count.saturating_mul(total) / read,
            _ => count,
        }
    };
    let mut late: Vec<i64> = endings
        .iter()
        .filter(|ending| ending.status == NotificationStatus::Delivered)
        .filter_map(|ending| ending.late)
        .map(|late| late.max(0))
        .collect();
    late.sort_unstable();
    let at = |share: usize| late.get((late.len() * share).div_ceil(100).saturating_sub(1)).copied();
    Interval {
        start,
        delivered: scaled(count(NotificationStatus::Delivered)),
        parked: scaled(count(NotificationStatus::Parked)),
        set_aside: scaled(count(NotificationStatus::Withdrawn) + count(NotificationStatus::Discarded)),
        is_about: total.is_some(),
        late: at(50).zip(at(95)).zip(at(99)).map(|((p50, p95), p99)| [p50, p95, p99]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_are_counted_and_their_lateness_ranked() {
        let ending = |status, late| Ending { status, late };
        let mut endings: Vec<_> = (1..=100).map(|n| ending(NotificationStatus::Delivered, Some(n))).collect();
        endings.push(ending(NotificationStatus::Parked, None));
        let start = Timestamp::UNIX_EPOCH;
        let exact = summed(start, &endings, None);
        assert_eq!((exact.delivered, exact.parked, exact.late), (100, 1, Some([50, 95, 99])));
        let about = summed(start, &endings, Some(10_100));
        assert_eq!((about.delivered, about.parked, about.is_about), (10_000, 100, true));
        assert_eq!(summed(start, &[], None).late, None);
    }
}

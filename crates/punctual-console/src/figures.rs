//! The figures behind the charts: how notifications ended in each interval of a range, over which channel and why, and how
//! late.
//!
//! Intervals that are over hardly change, so they are kept; only the newest are read each time. What is parked in one leaves it when somebody
//! retries or discards it: such an interval is read again after every act, so that its figures say what its rows are. Of an interval
//! with very many endings the latest ones stand for all, and the figures say "about".

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use jiff::{SignedDuration, Timestamp};
use punctual_model::NotificationStatus;
use punctual_store::{
    StoreError, audit,
    notifications::{Ending, count_ended, ended_in},
};

use crate::App;

/// How far back a chart goes, in how many intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    Hour,
    Day,
    Week,
    Month,
}

impl Range {
    pub const ALL: [Self; 4] = [Self::Hour, Self::Day, Self::Week, Self::Month];

    /// As the address has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "1h",
            Self::Day => "24h",
            Self::Week => "7d",
            Self::Month => "30d",
        }
    }

    /// The range of this name; a day where it is none.
    pub fn read(text: &str) -> Self {
        Self::ALL.into_iter().find(|range| range.as_str() == text).unwrap_or(Self::Day)
    }

    pub fn in_words(self) -> &'static str {
        match self {
            Self::Hour => "1 hour",
            Self::Day => "24 hours",
            Self::Week => "7 days",
            Self::Month => "30 days",
        }
    }

    /// The length of one interval.
    pub fn interval(self) -> SignedDuration {
        match self {
            Self::Hour => SignedDuration::from_mins(2),
            Self::Day => SignedDuration::from_mins(30),
            Self::Week => SignedDuration::from_hours(3),
            Self::Month => SignedDuration::from_hours(12),
        }
    }

    fn intervals(self) -> i64 {
        match self {
            Self::Hour => 30,
            Self::Day => 48,
            Self::Week => 56,
            Self::Month => 60,
        }
    }

    /// Endings of one interval that are counted at most, so that a range of long ones costs no more than one of short.
    fn counted(self) -> i64 {
        match self {
            Self::Hour | Self::Day => 100_000,
            Self::Week | Self::Month => 20_000,
        }
    }
}

/// Endings of one interval that are read at most.
const READ: usize = 400;
/// After this long an interval that is over is read again, because a person may have retried what was parked in it;
/// one that is long over seldom changes.
const FRESH_FOR: SignedDuration = SignedDuration::from_mins(10);
const OLD_FRESH_FOR: SignedDuration = SignedDuration::from_hours(6);
/// The latest intervals, which are read again sooner.
const LATEST: i64 = 8;
/// Intervals that are kept at most.
const KEPT: usize = 1_000;

/// How some of an interval's notifications ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub status: NotificationStatus,
    pub channel: String,
    pub cause: Option<String>,
}

/// What ended in one interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    pub start: Timestamp,
    pub end: Timestamp,
    /// How many ended, by how, over what and why.
    pub groups: Vec<(Group, i64)>,
    /// Estimated from the latest endings.
    pub is_about: bool,
    /// Lateness in microseconds: the middle, and what 95 and 99 of a hundred stay below.
    pub late: Option<[i64; 3]>,
}

impl Interval {
    pub fn total(&self) -> i64 {
        self.count(|_| true)
    }

    pub fn count(&self, is_of: impl Fn(&Group) -> bool) -> i64 {
        self.groups.iter().filter(|(group, _)| is_of(group)).map(|(_, count)| count).sum()
    }

    /// What of it went over one channel; how late is known of all channels together alone.
    #[must_use]
    pub fn over(&self, channel: &str) -> Self {
        let own = self.groups.iter().filter(|(group, _)| group.channel == channel);
        Self { groups: own.cloned().collect(), late: None, ..self.clone() }
    }

    pub fn delivered(&self) -> i64 {
        self.count(|group| group.status == NotificationStatus::Delivered)
    }

    /// Whether an act can take something out of it.
    fn may_change(&self) -> bool {
        self.groups.iter().any(|(group, _)| group.status == NotificationStatus::Parked)
    }
}

/// Intervals that are over, by length and number.
#[derive(Default)]
pub struct Kept(Mutex<BTreeMap<(i64, i64), Read>>);

/// An interval as it was read.
struct Read {
    at: Timestamp,
    /// The newest entry of the audit before it was read.
    acted: i64,
    interval: Interval,
}

/// The intervals of a range up to now, oldest first.
pub async fn intervals(app: &App, now: Timestamp, range: Range) -> Result<Vec<Interval>, StoreError> {
    let length = i64::try_from(range.interval().as_micros()).unwrap_or(i64::MAX);
    let current = now.as_microsecond().div_euclid(length);
    let wall = app.wall.now();
    let first = current - range.intervals() + 1;
    let mut reader = app.engine.store.read_for_people().await?;
    let acted = audit::last_id(&mut reader.conn()).await?;
    let kept: BTreeMap<i64, Interval> = {
        let mut kept = app.figures.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(of, number), read| {
            let lasts = if *of == length && *number > current - LATEST { FRESH_FOR } else { OLD_FRESH_FOR };
            (*of != length || *number >= first)
                && wall.duration_since(read.at) < lasts
                && (read.acted == acted || !read.interval.may_change())
        });
        let own = kept.range((length, first)..=(length, current));
        own.map(|((_, number), read)| (*number, read.interval.clone())).collect()
    };
    let mut found = Vec::with_capacity(usize::try_from(range.intervals()).unwrap_or(0));
    for number in first..=current {
        if let Some(interval) = kept.get(&number) {
            found.push(interval.clone());
            continue;
        }
        let (from, to) = (number * length, (number + 1) * length);
        let limit = i64::try_from(READ).unwrap_or(i64::MAX) + 1;
        let endings = ended_in(&mut reader.conn(), from, to, limit).await?;
        let total = if endings.len() > READ {
            Some(count_ended(&mut reader.conn(), from, to, range.counted()).await?)
        } else {
            None
        };
        let at = |micros: i64| Timestamp::from_microsecond(micros).unwrap_or_default();
        let interval = summed(at(from), at(to), &endings, total);
        if number < current {
            let mut kept = app.figures.0.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() < KEPT {
                kept.insert((length, number), Read { at: wall, acted, interval: interval.clone() });
            }
        }
        found.push(interval);
    }
    Ok(found)
}

/// The figures of one interval; `total` where only some of the endings were read.
fn summed(start: Timestamp, end: Timestamp, endings: &[Ending], total: Option<i64>) -> Interval {
    let mut groups: Vec<(Group, i64)> = Vec::new();
    for ending in endings {
        let of = Group {
            status: ending.status,
            channel: ending.channel.clone(),
            cause: ending.reason_code.clone(),
        };
        match groups.iter_mut().find(|(group, _)| *group == of) {
            Some((_, count)) => *count += 1,
            None => groups.push((of, 1)),
        }
    }
    if let (Some(total), Ok(read)) = (total, i64::try_from(endings.len())) {
        for (_, count) in &mut groups {
            *count = count.saturating_mul(total) / read.max(1);
        }
    }
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
        end,
        groups,
        is_about: total.is_some(),
        late: at(50).zip(at(95)).zip(at(99)).map(|((p50, p95), p99)| [p50, p95, p99]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_are_counted_and_their_lateness_ranked() {
        let ending = |status, late| Ending { status, late, channel: "email".into(), reason_code: None };
        let mut endings: Vec<_> = (1..=100).map(|n| ending(NotificationStatus::Delivered, Some(n))).collect();
        endings.push(ending(NotificationStatus::Parked, None));
        let start = Timestamp::UNIX_EPOCH;
        let exact = summed(start, start, &endings, None);
        assert_eq!((exact.delivered(), exact.total(), exact.late), (100, 101, Some([50, 95, 99])));
        let about = summed(start, start, &endings, Some(10_100));
        assert_eq!((about.delivered(), about.total(), about.is_about), (10_000, 10_100, true));
        assert_eq!(summed(start, start, &[], None).late, None);
    }

    #[test]
    fn a_range_is_read_from_its_own_name() {
        for range in Range::ALL {
            assert_eq!(Range::read(range.as_str()), range);
        }
        assert_eq!(Range::read("1 year"), Range::Day);
    }
}

//! The period of a run: the last complete day, week, month, quarter or year before it, or the time since the previous run.
//!
//! The key of a run contains the start of its period, so moving a report within a period creates no second run.

use jiff::{
    Span, Timestamp,
    civil::{Date, Weekday},
};

use super::cadence::{Cadence, Occurrence};
use crate::recurrence::week_start;

/// Occurrences that are checked to choose a period.
const SAMPLE: usize = 24;

/// Which stretch of time a run is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeriodRule {
    Day,
    Week(Weekday),
    Month,
    Quarter,
    Year,
    /// From the run before to this one.
    SinceLast,
}

/// From `start` to before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    pub start: Timestamp,
    pub end: Timestamp,
}

impl PeriodRule {
    pub fn parse(word: &str, first_day: Weekday) -> Option<Self> {
        Some(match word {
            "day" => Self::Day,
            "week" => Self::Week(first_day),
            "month" => Self::Month,
            "quarter" => Self::Quarter,
            "year" => Self::Year,
            "sinceLast" => Self::SinceLast,
            _ => return None,
        })
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week(_) => "week",
            Self::Month => "month",
            Self::Quarter => "quarter",
            Self::Year => "year",
            Self::SinceLast => "sinceLast",
        }
    }

    /// The longest calendar period in which the cadence fires at most once; since the last run, where there is none.
    pub fn fitting(cadence: &Cadence, from: Timestamp, first_day: Weekday) -> Self {
        if cadence.within_days {
            return Self::SinceLast;
        }
        let longest_first = [Self::Year, Self::Quarter, Self::Month, Self::Week(first_day), Self::Day];
        let fits = longest_first.into_iter().filter(|rule| rule.holds_one(cadence, from));
        // A weekly report is no yearly one because it happens to come once: each period must have its run.
        fits.into_iter().find(|rule| rule.misses_none(cadence, from)).unwrap_or(Self::SinceLast)
    }

    /// Whether no two runs of the cadence are about the same period.
    pub fn holds_one(self, cadence: &Cadence, from: Timestamp) -> bool {
        let starts: Vec<Timestamp> =
            cadence.after(from).take(SAMPLE).map(|one| self.of(cadence, one.at).start).collect();
        starts.windows(2).all(|pair| pair[0] != pair[1])
    }

    /// Whether runs follow each other so that every period has one; days may be left out, such as weekends.
    fn misses_none(self, cadence: &Cadence, from: Timestamp) -> bool {
        let periods: Vec<Period> =
            cadence.after(from).take(SAMPLE).map(|one| self.of(cadence, one.at)).collect();
        periods.len() < 2 || periods.windows(2).any(|pair| pair[0].end == pair[1].start)
    }

    /// What a run at this instant is about.
    pub fn of(self, cadence: &Cadence, at: Timestamp) -> Period {
        if self == Self::SinceLast {
            let earlier = at.checked_sub(jiff::SignedDuration::from_micros(1)).unwrap_or(at);
            let end = edge(cadence, cadence.date(at), at);
            let start = match cadence.latest_until(earlier) {
                Some(before) => edge(cadence, before.asked.date(), before.at),
                // The first run there ever is: a day back, for want of anything better.
                None => end.checked_sub(jiff::SignedDuration::from_hours(24)).unwrap_or(end),
            };
            return Period { start, end };
        }
        let end = self.first_day(cadence.date(at));
        let start = end.yesterday().map_or(end, |before| self.first_day(before));
        Period { start: cadence.midnight(start), end: cadence.midnight(end) }
    }

    /// What a run is about that was asked for now: the same as the last one of the cadence.
    pub fn of_now(self, cadence: &Cadence, now: Timestamp) -> Period {
        match self {
            Self::SinceLast => {
                let last = cadence.latest_until(now).map_or(now, |last| last.at);
                self.of(cadence, last)
            }
            _ => self.of(cadence, now),
        }
    }

    /// The period that starts at this instant, as a key has it.
    pub fn starting_at(self, cadence: &Cadence, start: Timestamp) -> Period {
        if self == Self::SinceLast {
            let after = if cadence.within_days { start } else { last_of_day(cadence, start) };
            let next: Option<Occurrence> = cadence.next_after(after);
            let end = next.map_or(start, |next| edge(cadence, next.asked.date(), next.at));
            return Period { start, end };
        }
        let first = cadence.date(start);
        let span = match self {
            Self::Day | Self::SinceLast => Span::new().days(1),
            Self::Week(_) => Span::new().days(7),
            Self::Month => Span::new().months(1),
            Self::Quarter => Span::new().months(3),
            Self::Year => Span::new().years(1),
        };
        let end = first.checked_add(span).map_or(first, |end| self.first_day(end));
        Period { start, end: cadence.midnight(end) }
    }

    /// The first day of the period that a date is in.
    fn first_day(self, date: Date) -> Date {
        match self {
            Self::Day | Self::SinceLast => date,
            Self::Week(first) => week_start(date, first),
            Self::Month => date.first_of_month(),
            Self::Quarter => {
                let month = (date.month() - 1) / 3 * 3 + 1;
                Date::new(date.year(), month, 1).unwrap_or(date)
            }
            Self::Year => date.first_of_year(),
        }
    }
}

/// Where one period ends and the next begins: at a local midnight, unless there are several a day.
fn edge(cadence: &Cadence, date: Date, at: Timestamp) -> Timestamp {
    if cadence.within_days { at } else { cadence.midnight(date) }
}

fn last_of_day(cadence: &Cadence, at: Timestamp) -> Timestamp {
    let next = cadence.date(at).tomorrow().map_or(at, |next| cadence.midnight(next));
    next.checked_sub(jiff::SignedDuration::from_micros(1)).unwrap_or(next)
}

#[cfg(test)]
mod tests {
    use super::{super::cadence::Written, *};

    fn cadence(pattern: &str) -> Cadence {
        let written = Written { cron: Some(pattern), time_zone: Some("Europe/Berlin"), ..Written::default() };
        Cadence::read(written, None).unwrap()
    }

    #[track_caller]
    fn check(pattern: &str, rule: PeriodRule, at: &str, start: &str, end: &str) {
        let cadence = cadence(pattern);
        let found = rule.of(&cadence, at.parse().unwrap());
        assert_eq!((found.start.to_string(), found.end.to_string()), (start.into(), end.into()));
        assert_eq!(rule.starting_at(&cadence, found.start), found, "it follows from the key alone");
    }

    #[test]
    fn a_run_is_about_the_last_complete_period() {
        let monday = "2026-05-18T06:00:00Z";
        let week = PeriodRule::Week(Weekday::Monday);
        check("0 8 * * MON", week, monday, "2026-05-10T22:00:00Z", "2026-05-17T22:00:00Z");
        check(
            "0 8 * * MON",
            PeriodRule::Week(Weekday::Sunday),
            monday,
            "2026-05-09T22:00:00Z",
            "2026-05-16T22:00:00Z",
        );
        check("0 8 * * MON", PeriodRule::Day, monday, "2026-05-16T22:00:00Z", "2026-05-17T22:00:00Z");
        check(
            "0 8 1 * *",
            PeriodRule::Month,
            "2026-05-01T06:00:00Z",
            "2026-03-31T22:00:00Z",
            "2026-04-30T22:00:00Z",
        );
        check(
            "0 8 1 * *",
            PeriodRule::Quarter,
            "2026-05-01T06:00:00Z",
            "2025-12-31T23:00:00Z",
            "2026-03-31T22:00:00Z",
        );
        check(
            "0 8 1 1 *",
            PeriodRule::Year,
            "2026-01-01T07:00:00Z",
            "2024-12-31T23:00:00Z",
            "2025-12-31T23:00:00Z",
        );
        check(
            "0 8 * * MON,THU",
            PeriodRule::SinceLast,
            monday,
            "2026-05-13T22:00:00Z",
            "2026-05-17T22:00:00Z",
        );
        check(
            "0 */6 * * *",
            PeriodRule::SinceLast,
            "2026-05-18T10:00:00Z",
            "2026-05-18T04:00:00Z",
            "2026-05-18T10:00:00Z",
        );
        // The week of the change has an hour less.
        check("0 8 * * MON", week, "2026-03-30T06:00:00Z", "2026-03-22T23:00:00Z", "2026-03-29T22:00:00Z");
    }

    #[test]
    fn the_period_that_fits_is_chosen() {
        let from: Timestamp = "2026-05-14T05:00:00Z".parse().unwrap();
        for (pattern, expected) in [
            ("0 8 * * MON", "week"),
            ("0 8 * * *", "day"),
            ("0 8 * * MON-FRI", "day"),
            ("0 8 1 * *", "month"),
            ("0 8 1 1,4,7,10 *", "quarter"),
            ("0 8 2 1 *", "year"),
            ("0 8 * * MON,THU", "sinceLast"),
            ("0 8,20 * * *", "sinceLast"),
        ] {
            let fitting = PeriodRule::fitting(&cadence(pattern), from, Weekday::Monday);
            assert_eq!(fitting.as_str(), expected, "{pattern}");
        }
        assert!(!PeriodRule::Month.holds_one(&cadence("0 8 * * MON"), from));
    }
}

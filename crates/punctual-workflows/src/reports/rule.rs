//! Recurrence rules: the part of RFC 5545 that says on which days, without its times.
//!
//! `FREQ` is DAILY, WEEKLY, MONTHLY or YEARLY, with `INTERVAL`, `BYDAY` (in months and years also as `1MO` or `-1FR`),
//! `BYMONTHDAY`, `BYMONTH`, for months `BYSETPOS`, `WKST` and `UNTIL`. Intervals count from the date the cadence starts on.

use jiff::civil::{Date, Weekday};
use punctual_model::{Fault, fault::shown};

/// From where intervals count when nothing is said: a Monday, the first of a week, long ago.
const ANCHOR: Date = Date::constant(2001, 1, 1);
/// Days that are checked for the next match: 29 February is at most eight years away.
const SEARCHED_DAYS: usize = 8 * 366;
const MOST_INTERVAL: i64 = 366;

/// On which days.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayRule {
    freq: Freq,
    interval: i64,
    by_day: Vec<(Option<i8>, Weekday)>,
    by_month_day: Vec<i8>,
    by_month: Vec<i8>,
    by_set_pos: Vec<i8>,
    week_start: Weekday,
    until: Option<Date>,
    starts: Option<Date>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Freq {
    Daily,
    Weekly,
    Monthly,
    Yearly,
}

const FREQUENCIES: [(&str, Freq); 4] =
    [("DAILY", Freq::Daily), ("WEEKLY", Freq::Weekly), ("MONTHLY", Freq::Monthly), ("YEARLY", Freq::Yearly)];

impl DayRule {
    /// Reads a rule such as `FREQ=WEEKLY;BYDAY=MO`; what is not supported is refused and never left out.
    pub fn read(text: &str, starts: Option<Date>) -> Result<Self, Fault> {
        let fault = |detail: String| Fault::new("/cadence/rrule", "schedule_invalid", detail);
        let mut rule = Self {
            freq: Freq::Daily,
            interval: 1,
            by_day: Vec::new(),
            by_month_day: Vec::new(),
            by_month: Vec::new(),
            by_set_pos: Vec::new(),
            week_start: Weekday::Monday,
            until: None,
            starts,
        };
        let mut has_freq = false;
        if text.len() > 500 {
            return Err(fault("A rule has at most 500 characters.".into()));
        }
        let text = text.trim().strip_prefix("RRULE:").unwrap_or(text.trim());
        for part in text.split(';').filter(|part| !part.is_empty()) {
            let (name, value) = part
                .split_once('=')
                .ok_or_else(|| fault(format!("`{}` is no part of a rule; write NAME=VALUE.", shown(part))))?;
            let wrong =
                |what: &str| fault(format!("`{}` is not possible; {name} takes {what}.", shown(value)));
            match name.to_ascii_uppercase().as_str() {
                "FREQ" => {
                    let found = FREQUENCIES.iter().find(|(word, _)| word.eq_ignore_ascii_case(value));
                    rule.freq = found.ok_or_else(|| wrong("DAILY, WEEKLY, MONTHLY or YEARLY"))?.1;
                    has_freq = true;
                }
                "INTERVAL" => {
                    let number = value.parse().ok().filter(|n| (1..=MOST_INTERVAL).contains(n));
                    rule.interval = number.ok_or_else(|| wrong("a whole number from 1 to 366"))?;
                }
                "BYDAY" => {
                    let days: Option<Vec<_>> = value.split(',').map(day).collect();
                    rule.by_day = days.ok_or_else(|| wrong("days such as MO,WE or -1FR"))?;
                }
                "BYMONTHDAY" => {
                    let days = numbers(value, 31, true);
                    rule.by_month_day = days.ok_or_else(|| wrong("days from 1 to 31, or from -31 to -1"))?;
                }
                "BYMONTH" => {
                    rule.by_month = numbers(value, 12, false).ok_or_else(|| wrong("months from 1 to 12"))?;
                }
                "BYSETPOS" => {
                    let places = numbers(value, 31, true);
                    rule.by_set_pos =
                        places.ok_or_else(|| wrong("places from 1 to 31, or from -31 to -1"))?;
                }
                "WKST" => rule.week_start = weekday(value).ok_or_else(|| wrong("a day such as MO or SU"))?,
                "UNTIL" => {
                    let date = value.get(..8).and_then(|text| Date::strptime("%Y%m%d", text).ok());
                    rule.until = Some(date.ok_or_else(|| wrong("a date such as 20271231"))?);
                }
                other => {
                    let detail = format!(
                        "`{}` is not supported; a rule has FREQ, INTERVAL, BYDAY, BYMONTHDAY, BYMONTH, BYSETPOS, WKST and UNTIL, \
                         and its time of day is `sendTime`.",
                        shown(other)
                    );
                    return Err(fault(detail));
                }
            }
        }
        if !has_freq {
            return Err(fault("A rule says how often: FREQ=WEEKLY.".into()));
        }
        if rule.by_day.iter().any(|(nth, _)| nth.is_some())
            && !matches!(rule.freq, Freq::Monthly | Freq::Yearly)
        {
            return Err(fault("A day such as 1MO is for FREQ=MONTHLY or FREQ=YEARLY.".into()));
        }
        if !rule.by_set_pos.is_empty() && rule.freq != Freq::Monthly {
            return Err(fault("BYSETPOS is for FREQ=MONTHLY.".into()));
        }
        let from = rule.starts.unwrap_or(ANCHOR).max(ANCHOR);
        if rule.first_from(from).is_none() {
            let detail = "The rule names no day; eight years were searched.";
            return Err(Fault::new("/cadence/rrule", "schedule_never", detail));
        }
        Ok(rule)
    }

    /// The first day of the rule on or after a date.
    pub fn first_from(&self, from: Date) -> Option<Date> {
        let mut date = self.starts.map_or(from, |starts| from.max(starts));
        for _ in 0..SEARCHED_DAYS {
            if self.until.is_some_and(|until| date > until) {
                return None;
            }
            if self.is_on(date) {
                return Some(date);
            }
            date = date.tomorrow().ok()?;
        }
        None
    }

    /// The last day of the rule on or before a date.
    pub fn last_until(&self, until: Date) -> Option<Date> {
        let mut date = self.until.map_or(until, |end| until.min(end));
        for _ in 0..SEARCHED_DAYS {
            if self.starts.is_some_and(|starts| date < starts) {
                return None;
            }
            if self.is_on(date) {
                return Some(date);
            }
            date = date.yesterday().ok()?;
        }
        None
    }

    fn is_on(&self, date: Date) -> bool {
        self.in_set(date) && self.is_at_place(date)
    }

    /// Whether a date of the set is at one of the places that are asked for, counted within its month.
    fn is_at_place(&self, date: Date) -> bool {
        if self.by_set_pos.is_empty() {
            return true;
        }
        let in_set = |day: &i8| Date::new(date.year(), date.month(), *day).is_ok_and(|day| self.in_set(day));
        let days: Vec<i8> = (1..=date.days_in_month()).filter(in_set).collect();
        let place = |n: i8| match n {
            1.. => days.get(usize::from(n.unsigned_abs()) - 1),
            _ => days.len().checked_sub(usize::from(n.unsigned_abs())).and_then(|at| days.get(at)),
        };
        self.by_set_pos.iter().any(|n| place(*n) == Some(&date.day()))
    }

    fn in_set(&self, date: Date) -> bool {
        self.in_interval(date)
            && (self.by_month.is_empty() || self.by_month.contains(&date.month()))
            && self.is_month_day(date)
            && self.is_week_day(date)
    }

    /// Which days a part that is left out means, follows from the date the rule starts on.
    fn is_month_day(&self, date: Date) -> bool {
        let start = self.starts.unwrap_or(ANCHOR);
        if self.by_month_day.is_empty() {
            let implied =
                self.by_day.is_empty() && (self.freq == Freq::Monthly || (self.freq == Freq::Yearly));
            return !implied
                || (date.day() == start.day()
                    && (self.freq == Freq::Monthly
                        || !self.by_month.is_empty()
                        || date.month() == start.month()));
        }
        let from_end = date.day() - date.days_in_month() - 1;
        self.by_month_day.iter().any(|day| *day == date.day() || *day == from_end)
    }

    fn is_week_day(&self, date: Date) -> bool {
        if self.by_day.is_empty() {
            let start = self.starts.unwrap_or(ANCHOR);
            return self.freq != Freq::Weekly || date.weekday() == start.weekday();
        }
        self.by_day
            .iter()
            .any(|(nth, weekday)| *weekday == date.weekday() && nth.is_none_or(|nth| self.is_nth(date, nth)))
    }

    /// Whether a date is the nth of its weekday, in its month or, for a yearly rule without months, in its year.
    fn is_nth(&self, date: Date, nth: i8) -> bool {
        let (day, days) = if self.freq == Freq::Yearly && self.by_month.is_empty() {
            (date.day_of_year(), date.days_in_year())
        } else {
            (i16::from(date.day()), i16::from(date.days_in_month()))
        };
        let from_start = (day - 1) / 7 + 1;
        let from_end = -((days - day) / 7 + 1);
        i16::from(nth) == from_start || i16::from(nth) == from_end
    }

    fn in_interval(&self, date: Date) -> bool {
        if self.interval == 1 {
            return true;
        }
        let start = self.starts.unwrap_or(ANCHOR);
        let months = |date: Date| i64::from(date.year()) * 12 + i64::from(date.month());
        let periods = match self.freq {
            Freq::Daily => days_between(start, date),
            Freq::Weekly => days_between(self.week_of(start), self.week_of(date)) / 7,
            Freq::Monthly => months(date) - months(start),
            Freq::Yearly => i64::from(date.year()) - i64::from(start.year()),
        };
        periods.rem_euclid(self.interval) == 0
    }

    fn week_of(&self, date: Date) -> Date {
        week_start(date, self.week_start)
    }
}

/// The first day of the week that a date lies in.
pub fn week_start(date: Date, first: Weekday) -> Date {
    let back = i64::from(date.weekday().since(first));
    date.checked_sub(jiff::Span::new().days(back)).unwrap_or(date)
}

fn days_between(from: Date, to: Date) -> i64 {
    to.duration_since(from).as_hours() / 24
}

/// `MO`, `1MO` or `-1FR`.
fn day(text: &str) -> Option<(Option<i8>, Weekday)> {
    let at = text.len().checked_sub(2)?;
    let (nth, name) = text.split_at_checked(at)?;
    let weekday = weekday(name)?;
    if nth.is_empty() {
        return Some((None, weekday));
    }
    let number: i8 = nth.parse().ok().filter(|n| *n != 0 && (-53..=53).contains(n))?;
    Some((Some(number), weekday))
}

/// A day by the first two or three letters of its English name.
pub fn weekday(text: &str) -> Option<Weekday> {
    const DAYS: [(&str, Weekday); 7] = [
        ("MON", Weekday::Monday),
        ("TUE", Weekday::Tuesday),
        ("WED", Weekday::Wednesday),
        ("THU", Weekday::Thursday),
        ("FRI", Weekday::Friday),
        ("SAT", Weekday::Saturday),
        ("SUN", Weekday::Sunday),
    ];
    let text = text.trim().to_ascii_uppercase();
    let found = DAYS.iter().find(|(name, _)| *name == text || name[..2] == text);
    found.map(|(_, weekday)| *weekday)
}

fn numbers(text: &str, most: i8, from_end: bool) -> Option<Vec<i8>> {
    let one = |part: &str| {
        let number: i8 = part.parse().ok()?;
        ((1..=most).contains(&number) || (from_end && (-most..=-1).contains(&number))).then_some(number)
    };
    text.split(',').map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rule: &str, starts: Option<&str>, from: &str, expected: &[&str]) {
        let starts = starts.map(|date| date.parse().unwrap());
        let rule = DayRule::read(rule, starts).unwrap();
        let mut found = Vec::new();
        let mut date: Date = from.parse().unwrap();
        while found.len() < expected.len() {
            let Some(next) = rule.first_from(date) else { break };
            found.push(next.to_string());
            date = next.tomorrow().unwrap();
        }
        assert_eq!(found, expected);
        for day in &found {
            assert_eq!(rule.last_until(day.parse().unwrap()).unwrap().to_string(), *day);
        }
    }

    #[test]
    fn days_are_those_of_the_standard() {
        check("FREQ=WEEKLY;BYDAY=MO,TH", None, "2026-05-14", &["2026-05-14", "2026-05-18", "2026-05-21"]);
        check(
            "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO",
            Some("2026-05-04"),
            "2026-05-05",
            &["2026-05-18", "2026-06-01"],
        );
        check("FREQ=MONTHLY;BYMONTHDAY=-1", None, "2026-01-15", &["2026-01-31", "2026-02-28", "2026-03-31"]);
        check(
            "FREQ=MONTHLY;BYMONTHDAY=28,29,30;BYSETPOS=-1",
            None,
            "2026-01-15",
            &["2026-01-30", "2026-02-28", "2026-03-30"],
        );
        check("FREQ=MONTHLY;BYMONTHDAY=28,29;BYSETPOS=-1", None, "2028-02-01", &["2028-02-29", "2028-03-29"]);
        check(
            "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1",
            None,
            "2026-08-01",
            &["2026-08-03", "2026-09-01"],
        );
        check("FREQ=MONTHLY;BYDAY=1MO", None, "2026-05-05", &["2026-06-01", "2026-07-06"]);
        check("FREQ=MONTHLY;BYDAY=-1FR", None, "2026-05-05", &["2026-05-29", "2026-06-26"]);
        check("FREQ=MONTHLY;INTERVAL=3;BYMONTHDAY=1", None, "2026-05-05", &["2026-07-01", "2026-10-01"]);
        check("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", None, "2026-05-05", &["2028-02-29", "2032-02-29"]);
        check("FREQ=DAILY;INTERVAL=10", Some("2026-05-01"), "2026-05-02", &["2026-05-11", "2026-05-21"]);
        check(
            "FREQ=DAILY;UNTIL=20260503",
            Some("2026-05-01"),
            "2026-04-01",
            &["2026-05-01", "2026-05-02", "2026-05-03"],
        );
        check("FREQ=MONTHLY", Some("2026-01-31"), "2026-01-01", &["2026-01-31", "2026-03-31"]);
        check("FREQ=YEARLY;BYDAY=20MO", None, "2026-01-01", &["2026-05-18", "2027-05-17"]);
    }

    #[test]
    fn what_is_not_supported_is_refused() {
        for (rule, code) in [
            ("FREQ=HOURLY", "schedule_invalid"),
            ("FREQ=DAILY;COUNT=3", "schedule_invalid"),
            ("FREQ=DAILY;BYHOUR=8", "schedule_invalid"),
            ("BYDAY=MO", "schedule_invalid"),
            ("FREQ=WEEKLY;BYDAY=1MO", "schedule_invalid"),
            ("FREQ=MONTHLY;BYMONTHDAY=32", "schedule_invalid"),
            ("FREQ=WEEKLY;BYDAY=MO,TU;BYSETPOS=1", "schedule_invalid"),
            ("FREQ=MONTHLY;BYDAY=MO;BYSETPOS=0", "schedule_invalid"),
            ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "schedule_never"),
            ("weekly", "schedule_invalid"),
        ] {
            assert_eq!(DayRule::read(rule, None).unwrap_err().code, code, "{rule}");
        }
    }
}

//! Rules of repetition (RRULE), as far as calendars use them: when something that repeats takes place, one date after the
//! other and never without end.

use jiff::{
    Timestamp, ToSpan,
    civil::{Date, Weekday},
};

use super::dates::{Dated, Moment};

/// Periods that are checked: more than a century of days.
const PERIODS_MAX: i64 = 40_000;
/// The longest step from one period to the next.
const INTERVAL_MAX: i64 = 1_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Every {
    Day,
    Week,
    Month,
    Year,
}

/// A rule that was read.
#[derive(Clone, Debug)]
pub struct Rule {
    every: Every,
    interval: i64,
    count: Option<usize>,
    until: Option<Moment>,
    months: Vec<i8>,
    month_days: Vec<i8>,
    /// Which of the weekdays in the month or year, from its end if negative; 0 means each.
    weekdays: Vec<(i16, Weekday)>,
    positions: Vec<i64>,
    week_begins: Weekday,
}

impl Rule {
    /// Reads `FREQ=WEEKLY;BYDAY=MO,WE;COUNT=10`; what it has that is not known here is named.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut rule = Self {
            every: Every::Day,
            interval: 1,
            count: None,
            until: None,
            months: Vec::new(),
            month_days: Vec::new(),
            weekdays: Vec::new(),
            positions: Vec::new(),
            week_begins: Weekday::Monday,
        };
        let mut every = None;
        for part in text.split(';').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let wrong = || format!("`{part}` of its rule cannot be read");
            match name.to_ascii_uppercase().as_str() {
                "FREQ" => {
                    every = Some(match value.to_ascii_uppercase().as_str() {
                        "DAILY" => Every::Day,
                        "WEEKLY" => Every::Week,
                        "MONTHLY" => Every::Month,
                        "YEARLY" => Every::Year,
                        _ => return Err(format!("it repeats more often than daily (`{part}`)")),
                    });
                }
                "INTERVAL" => {
                    let number: i64 = value.parse().map_err(|_| wrong())?;
                    rule.interval =
                        Some(number).filter(|n| (1..=INTERVAL_MAX).contains(n)).ok_or_else(wrong)?;
                }
                "COUNT" => rule.count = Some(value.parse().map_err(|_| wrong())?),
                "UNTIL" => rule.until = Some(Moment::parse(value).ok_or_else(wrong)?),
                "BYMONTH" => rule.months = numbers(value, 1..=12, false).ok_or_else(wrong)?,
                "BYMONTHDAY" => rule.month_days = numbers(value, 1..=31, true).ok_or_else(wrong)?,
                "BYSETPOS" => {
                    let found = numbers(value, 1..=126, true).ok_or_else(wrong)?;
                    rule.positions = found.into_iter().map(i64::from).collect();
                }
                "BYDAY" => {
                    let found: Option<Vec<_>> = value.split(',').map(weekday).collect();
                    rule.weekdays = found.ok_or_else(wrong)?;
                }
                "WKST" => rule.week_begins = weekday(value).ok_or_else(wrong)?.1,
                name if name.starts_with("X-") => {}
                _ => return Err(format!("its rule has `{name}`, which is not supported")),
            }
        }
        rule.every = every.ok_or("its rule does not say how often")?;
        Ok(rule)
    }

    /// The dates of what first takes place at `start`, in order, from an instant up to another and at most so many.
    pub fn dates(&self, start: &Dated, from: Timestamp, until: Timestamp, most: usize) -> Vec<Dated> {
        let first = start.date();
        let mut found: Vec<Dated> = Some(start.clone()).filter(|one| one.at() >= from).into_iter().collect();
        // Those that lie behind count too.
        let mut count = 1;
        for n in 0..PERIODS_MAX {
            let Some((begins, days)) = self.period(first, n) else { break };
            if start.on(begins).at() > until {
                break;
            }
            for day in days.into_iter().filter(|day| *day > first) {
                let one = start.on(day);
                let is_over = self.until.as_ref().is_some_and(|last| last.is_before(&one))
                    || self.count.is_some_and(|most| count >= most);
                if found.len() >= most || one.at() > until || is_over {
                    return found;
                }
                count += 1;
                if one.at() >= from {
                    found.push(one);
                }
            }
        }
        found
    }

    /// The first day of a period, and the days of the rule in it, in order.
    fn period(&self, first: Date, n: i64) -> Option<(Date, Vec<Date>)> {
        let steps = n.checked_mul(self.interval)?;
        let (begins, mut days) = match self.every {
            Every::Day => {
                let day = first.checked_add(steps.days()).ok()?;
                let wanted = self.has_month(day) && self.has_month_day(day) && self.has_weekday(day);
                (day, if wanted { vec![day] } else { Vec::new() })
            }
            Every::Week => {
                let since = i64::from(first.weekday().since(self.week_begins));
                let begins = first.checked_sub(since.days()).ok()?.checked_add((7 * steps).days()).ok()?;
                let days = begins.series(1.day()).take(7).filter(|day| self.has_month(*day));
                let days = days.filter(|day| match self.weekdays.is_empty() {
                    true => day.weekday() == first.weekday(),
                    false => self.has_weekday(*day),
                });
                (begins, days.collect())
            }
            Every::Month => {
                let begins = first.first_of_month().checked_add(steps.months()).ok()?;
                (begins, if self.has_month(begins) { self.in_month(begins, first) } else { Vec::new() })
            }
            Every::Year => {
                let begins = first.first_of_year().checked_add(steps.years()).ok()?;
                (begins, self.in_year(begins, first))
            }
        };
        days.sort_unstable();
        days.dedup();
        if !self.positions.is_empty() {
            let count = i64::try_from(days.len()).unwrap_or(i64::MAX);
            let is_wanted = |index: usize| {
                let place = i64::try_from(index).unwrap_or(i64::MAX);
                self.positions.iter().any(|wanted| *wanted == place + 1 || *wanted == place - count)
            };
            let kept = days.iter().enumerate().filter(|(index, _)| is_wanted(*index)).map(|(_, day)| *day);
            days = kept.collect();
        }
        Some((begins, days))
    }

    fn in_year(&self, begins: Date, first: Date) -> Vec<Date> {
        let months = |wanted: &dyn Fn(Date) -> bool| -> Vec<Date> {
            let all = begins.series(1.month()).take(12).filter(|month| wanted(*month));
            all.flat_map(|month| self.in_month(month, first)).collect()
        };
        if !self.months.is_empty() {
            return months(&|month| self.has_month(month));
        }
        if !self.month_days.is_empty() {
            return months(&|_| true);
        }
        if !self.weekdays.is_empty() {
            let days: Vec<Date> =
                begins.series(1.day()).take_while(|day| day.year() == begins.year()).collect();
            return self.nth(&days);
        }
        // 29 February takes place in the years that have one.
        Date::new(begins.year(), first.month(), first.day()).into_iter().collect()
    }

    fn in_month(&self, begins: Date, first: Date) -> Vec<Date> {
        let days: Vec<Date> =
            begins.series(1.day()).take_while(|day| day.month() == begins.month()).collect();
        if !self.month_days.is_empty() {
            let kept = days.into_iter().filter(|day| self.has_month_day(*day) && self.has_weekday(*day));
            return kept.collect();
        }
        if !self.weekdays.is_empty() {
            return self.nth(&days);
        }
        days.into_iter().filter(|day| day.day() == first.day()).collect()
    }

    /// The weekdays of the rule among these days, which are a whole month or year.
    fn nth(&self, days: &[Date]) -> Vec<Date> {
        let mut found = Vec::new();
        for (wanted, weekday) in &self.weekdays {
            let own: Vec<Date> = days.iter().copied().filter(|day| day.weekday() == *weekday).collect();
            let place = usize::from(wanted.unsigned_abs());
            match wanted {
                0 => found.extend(own),
                1.. => found.extend(own.get(place - 1)),
                _ => found.extend(own.len().checked_sub(place).and_then(|index| own.get(index))),
            }
        }
        found
    }

    fn has_month(&self, day: Date) -> bool {
        self.months.is_empty() || self.months.contains(&day.month())
    }

    fn has_month_day(&self, day: Date) -> bool {
        let from_end = day.day() - day.days_in_month() - 1;
        self.month_days.is_empty()
            || self.month_days.iter().any(|wanted| [day.day(), from_end].contains(wanted))
    }

    fn has_weekday(&self, day: Date) -> bool {
        self.weekdays.is_empty() || self.weekdays.iter().any(|(_, weekday)| *weekday == day.weekday())
    }
}

fn numbers(text: &str, range: std::ops::RangeInclusive<i8>, may_be_negative: bool) -> Option<Vec<i8>> {
    let number = |text: &str| -> Option<i8> {
        let number: i8 = text.trim().parse().ok()?;
        let size = if may_be_negative { number.checked_abs()? } else { number };
        range.contains(&size).then_some(number)
    };
    text.split(',').map(number).collect()
}

/// `MO`, `1MO` or `-1FR`.
fn weekday(text: &str) -> Option<(i16, Weekday)> {
    let text = text.trim();
    let (place, name) = text.split_at_checked(text.len().checked_sub(2)?)?;
    let weekday = match name.to_ascii_uppercase().as_str() {
        "MO" => Weekday::Monday,
        "TU" => Weekday::Tuesday,
        "WE" => Weekday::Wednesday,
        "TH" => Weekday::Thursday,
        "FR" => Weekday::Friday,
        "SA" => Weekday::Saturday,
        "SU" => Weekday::Sunday,
        _ => return None,
    };
    let place: i16 = if place.is_empty() { 0 } else { place.trim_start_matches('+').parse().ok()? };
    (-53..=53).contains(&place).then_some((place, weekday))
}

#[cfg(test)]
mod tests {
    use jiff::{civil::date, tz::TimeZone};
    use proptest::prelude::*;

    use super::*;

    fn days(rule: &str, first: Date, most: usize) -> Vec<String> {
        let until = "2035-01-01T00:00:00Z".parse().unwrap();
        let found = Rule::parse(rule).unwrap().dates(&Dated::Day(first), Timestamp::MIN, until, most);
        found.iter().map(|one| one.date().to_string()).collect()
    }

    #[track_caller]
    fn check(rule: &str, first: Date, expected: &[&str]) {
        assert_eq!(days(rule, first, expected.len().max(1)), expected, "{rule}");
    }

    #[test]
    fn rules_give_their_dates() {
        let may = date(2026, 5, 14);
        check("FREQ=DAILY;INTERVAL=2", may, &["2026-05-14", "2026-05-16", "2026-05-18"]);
        check("FREQ=WEEKLY", may, &["2026-05-14", "2026-05-21", "2026-05-28"]);
        check("FREQ=WEEKLY;BYDAY=MO,TH", may, &["2026-05-14", "2026-05-18", "2026-05-21", "2026-05-25"]);
        check("FREQ=MONTHLY;BYDAY=2TH", may, &["2026-05-14", "2026-06-11", "2026-07-09"]);
        check("FREQ=MONTHLY;BYDAY=-1FR", date(2026, 5, 29), &["2026-05-29", "2026-06-26", "2026-07-31"]);
        check("FREQ=MONTHLY", date(2026, 1, 31), &["2026-01-31", "2026-03-31", "2026-05-31"]);
        check("FREQ=MONTHLY;BYMONTHDAY=-1", date(2026, 1, 31), &["2026-01-31", "2026-02-28", "2026-03-31"]);
        let workday = "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1";
        check(workday, date(2026, 5, 29), &["2026-05-29", "2026-06-30", "2026-07-31"]);
        check("FREQ=YEARLY", date(2024, 2, 29), &["2024-02-29", "2028-02-29", "2032-02-29"]);
        check("FREQ=YEARLY;BYMONTH=11;BYDAY=4TH", date(2026, 11, 26), &["2026-11-26", "2027-11-25"]);
        check("FREQ=YEARLY;BYDAY=20MO", date(2026, 5, 18), &["2026-05-18", "2027-05-17"]);
        check(
            "FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR",
            date(2026, 2, 13),
            &["2026-02-13", "2026-03-13", "2026-11-13"],
        );
        check("FREQ=DAILY;BYMONTH=6;BYDAY=SA", date(2026, 6, 6), &["2026-06-06", "2026-06-13", "2026-06-20"]);
        // Every other week: where the week begins decides which Sunday is meant.
        let sunday = date(1997, 8, 5);
        check(
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=MO",
            sunday,
            &["1997-08-05", "1997-08-10", "1997-08-19", "1997-08-24"],
        );
        check(
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;WKST=SU",
            sunday,
            &["1997-08-05", "1997-08-17", "1997-08-19", "1997-08-31"],
        );
    }

    #[test]
    fn rules_end_by_count_by_date_and_by_how_far_is_looked() {
        let may = date(2026, 5, 14);
        assert_eq!(days("FREQ=DAILY;COUNT=3", may, 100).len(), 3);
        assert_eq!(days("FREQ=DAILY;UNTIL=20260516", may, 100).len(), 3);
        assert_eq!(days("FREQ=DAILY;UNTIL=20260516T000000Z", may, 100).len(), 3);
        assert_eq!(days("FREQ=DAILY", may, 100).len(), 100);
        assert_eq!(days("FREQ=YEARLY", may, 100).len(), 9);
        assert_eq!(
            days("FREQ=MONTHLY;BYMONTHDAY=31;BYMONTH=2", date(2026, 1, 31), 9).len(),
            1,
            "it never comes"
        );
    }

    #[test]
    fn times_stay_local_over_a_change_of_clocks() {
        let start = Dated::local("20261022T090000", TimeZone::get("Europe/Berlin").unwrap()).unwrap();
        let until = "2027-01-01T00:00:00Z".parse().unwrap();
        let rule = Rule::parse("FREQ=WEEKLY;COUNT=5").unwrap();
        let at = |from: Timestamp| -> Vec<String> {
            let found = rule.dates(&start, from, until, 2);
            found.iter().map(|one| one.at().to_string()).collect()
        };
        assert_eq!(at(Timestamp::MIN), ["2026-10-22T07:00:00Z", "2026-10-29T08:00:00Z"]);
        // What lies behind is left out, and counts.
        let later = "2026-11-15T00:00:00Z".parse().unwrap();
        assert_eq!(at(later), ["2026-11-19T08:00:00Z"]);
    }

    #[test]
    fn what_is_not_known_is_named() {
        for (rule, says) in [
            ("FREQ=HOURLY", "more often than daily"),
            ("FREQ=YEARLY;BYWEEKNO=20", "BYWEEKNO"),
            ("INTERVAL=2", "how often"),
            ("FREQ=DAILY;INTERVAL=0", "INTERVAL=0"),
            ("FREQ=WEEKLY;BYDAY=XX", "BYDAY=XX"),
        ] {
            let fault = Rule::parse(rule).unwrap_err();
            assert!(fault.contains(says), "{rule}: {fault}");
        }
    }

    proptest! {
        #[test]
        fn any_rule_ends_and_is_in_order(
            rule in "FREQ=(DAILY|WEEKLY|MONTHLY|YEARLY)(;INTERVAL=[1-9]{1,3})?(;BYMONTH=[1-9])?(;BYMONTHDAY=-?[1-9])?(;BYDAY=(-?[1-5])?(MO|FR|SU))?(;BYSETPOS=-?[1-3])?(;COUNT=[0-9]{1,2})?",
        ) {
            if let Ok(rule) = Rule::parse(&rule) {
                let until = "2028-01-01T00:00:00Z".parse().unwrap();
                let found = rule.dates(&Dated::Day(date(2026, 5, 14)), Timestamp::MIN, until, 50);
                let dates: Vec<Date> = found.iter().map(Dated::date).collect();
                prop_assert!(!dates.is_empty() && dates.len() <= 50);
                prop_assert!(dates.windows(2).all(|pair| pair[0] < pair[1]), "{dates:?}");
            }
        }
    }
}

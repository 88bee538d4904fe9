//! Recurrence rules (RRULE) in calendar files: yields dates in order, with a bound.

use jiff::Timestamp;

use super::dates::{Dated, Moment};
use crate::recurrence::{self, Unreadable};

/// Periods that are checked: more than a century of days.
const PERIODS_MAX: usize = 40_000;

/// A rule that was read.
#[derive(Clone, Debug)]
pub struct Rule {
    rule: recurrence::Rule,
    until: Option<Moment>,
}

impl Rule {
    /// Reads `FREQ=WEEKLY;BYDAY=MO,WE;COUNT=10`; what it has that is not known here is named. Parts of other programs (`X-`) are
    /// left out.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is_own = |part: &&str| !part.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("X-"));
        let wrong = |name: &str, value: &str| format!("`{name}={value}` of its rule cannot be read");
        let rule = recurrence::Rule::read(text.split(';').filter(is_own)).map_err(|why| match why {
            Unreadable::Value { name, value } if name.eq_ignore_ascii_case("FREQ") => {
                format!("it repeats more often than daily (`{name}={value}`)")
            }
            Unreadable::Value { name, value } => wrong(name, value),
            Unreadable::NoPair(part) => format!("`{part}` of its rule cannot be read"),
            Unreadable::Unknown(name) => format!("its rule has `{name}`, which is not supported"),
            Unreadable::NoFrequency => "its rule does not say how often".to_owned(),
        })?;
        let end = |text: &str| Moment::parse(text).ok_or_else(|| wrong("UNTIL", text));
        let until = rule.until.as_deref().map(end).transpose()?;
        Ok(Self { rule, until })
    }

    /// The dates of what first takes place at `start`, in order, from an instant up to another and at most so many.
    pub fn dates(&self, start: &Dated, from: Timestamp, until: Timestamp, most: usize) -> Vec<Dated> {
        let first = start.date();
        let mut found: Vec<Dated> = Some(start.clone()).filter(|one| one.at() >= from).into_iter().collect();
        // Those that lie behind count too.
        let mut count = 1;
        for period in self.rule.periods_from(first, first).take(PERIODS_MAX) {
            if start.on(period.begins).at() > until {
                break;
            }
            for day in period.days.into_iter().filter(|day| *day > first) {
                let one = start.on(day);
                let is_over = self.until.as_ref().is_some_and(|last| last.is_before(&one))
                    || self.rule.count.is_some_and(|most| count >= most);
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
}

#[cfg(test)]
mod tests {
    use jiff::{
        civil::{Date, date},
        tz::TimeZone,
    };
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

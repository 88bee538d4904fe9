//! Both uses of the rules against dates that another implementation names (python-dateutil, see `dates.txt`).

use jiff::{Timestamp, civil::Date};

use crate::{
    operations::calendar::{dates::Dated, repeat},
    reports::rule::DayRule,
};

/// A rule of the file: its text, the date that it starts on, and the dates of it.
struct Case {
    rule: &'static str,
    first: Date,
    dates: Vec<Date>,
}

/// The last date that the file looks at.
const LAST: Date = Date::constant(2034, 12, 31);
/// As many dates as it has of a rule at most.
const MOST: usize = 8;

fn cases() -> Vec<Case> {
    let date = |text: &str| Date::strptime("%Y%m%d", text).unwrap();
    let case = |line: &'static str| {
        let mut parts = line.split('|');
        let mut part = || parts.next().unwrap();
        let (rule, first, dates) = (part(), date(part()), part());
        Case { rule, first, dates: dates.split(',').filter(|text| !text.is_empty()).map(date).collect() }
    };
    include_str!("dates.txt").lines().filter(|line| !line.starts_with('#')).map(case).collect()
}

#[test]
fn a_cadence_names_the_dates_of_the_standard() {
    let mut compared = 0;
    for Case { rule, first, dates } in cases() {
        // A cadence has no count, positions within months alone, and refuses what names no day in eight years.
        let Ok(days) = DayRule::read(rule, Some(first)) else {
            let refused =
                rule.contains("COUNT") || (rule.contains("BYSETPOS") && !rule.contains("FREQ=MONTHLY"));
            assert!(refused || dates.is_empty(), "{rule} is refused");
            continue;
        };
        let mut found = Vec::new();
        let mut from = first;
        while let Some(day) = days.first_from(from).filter(|day| found.len() < MOST && *day <= LAST) {
            assert_eq!(days.last_until(day), Some(day), "{rule}");
            found.push(day);
            from = day.tomorrow().unwrap();
        }
        assert_eq!(found, dates, "{rule} from {first}");
        compared += 1;
    }
    assert!(compared > 180, "{compared}");
}

#[test]
fn a_series_of_a_calendar_has_the_dates_of_the_standard() {
    let last: Timestamp = LAST.to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp();
    let mut compared = 0;
    // Elsewhere the first date of a series is one of it, whatever the rule says, and counts.
    for Case { rule, first, dates } in
        cases().into_iter().filter(|case| case.dates.first() == Some(&case.first))
    {
        let read = repeat::Rule::parse(rule).unwrap();
        let found = read.dates(&Dated::Day(first), Timestamp::MIN, last, MOST);
        assert_eq!(found.iter().map(Dated::date).collect::<Vec<_>>(), dates, "{rule} from {first}");
        compared += 1;
    }
    assert!(compared > 60, "{compared}");
}

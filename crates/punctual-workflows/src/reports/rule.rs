//! The recurrence rules of cadences: the supported parts of a rule, and its dates.

use jiff::{ToSpan, civil::Date};
use punctual_model::{Fault, fault::shown};

use crate::recurrence::{Frequency, Rule, Unreadable};

/// From where intervals count when nothing is said: a Monday, the first of a week, long ago.
const ANCHOR: Date = Date::constant(2001, 1, 1);
/// Days that are checked for the next match: 29 February is at most eight years away.
const SEARCHED_DAYS: i64 = 8 * 366;
const MOST_INTERVAL: i64 = 366;
/// The most days that a month has, and so the most positions in one.
const MOST_POSITIONS: u8 = 31;

/// On which days.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayRule {
    rule: Rule,
    until: Option<Date>,
    starts: Option<Date>,
}

impl DayRule {
    /// Reads a rule such as `FREQ=WEEKLY;BYDAY=MO`; what is not supported is refused and never left out.
    pub fn read(text: &str, starts: Option<Date>) -> Result<Self, Fault> {
        if text.len() > 500 {
            return Err(fault("A rule has at most 500 characters.".into()));
        }
        let text = text.trim().strip_prefix("RRULE:").unwrap_or(text.trim());
        let rule = Rule::read(text.split(';')).map_err(refused)?;
        if rule.count.is_some() {
            return Err(refused(Unreadable::Unknown("COUNT")));
        }
        let parts = || text.split(';').filter_map(|part| part.split_once('='));
        let wrong = |wrong: &str| {
            let (name, value) =
                parts().find(|(name, _)| name.eq_ignore_ascii_case(wrong)).unwrap_or((wrong, ""));
            refused(Unreadable::Value { name, value })
        };
        if rule.interval > MOST_INTERVAL {
            return Err(wrong("INTERVAL"));
        }
        if rule.positions.iter().any(|position| position.unsigned_abs() > MOST_POSITIONS) {
            return Err(wrong("BYSETPOS"));
        }
        let has_nth = rule.weekdays.iter().any(|(nth, _)| nth.is_some());
        if has_nth && matches!(rule.frequency, Frequency::Daily | Frequency::Weekly) {
            return Err(fault("A day such as 1MO is for FREQ=MONTHLY or FREQ=YEARLY.".into()));
        }
        if !rule.positions.is_empty() && rule.frequency != Frequency::Monthly {
            return Err(fault("BYSETPOS is for FREQ=MONTHLY.".into()));
        }
        let date = |text: &str| Date::strptime("%Y%m%d", text.get(..8)?).ok();
        let until = rule.until.as_deref().map(|text| date(text).ok_or_else(|| wrong("UNTIL"))).transpose()?;
        let days = Self { rule, until, starts };
        if days.first_from(starts.unwrap_or(ANCHOR).max(ANCHOR)).is_none() {
            let detail = "The rule names no day; eight years were searched.";
            return Err(Fault::new("/cadence/rrule", "schedule_never", detail));
        }
        Ok(days)
    }

    /// The first day of the rule on or after a date.
    pub fn first_from(&self, from: Date) -> Option<Date> {
        let from = self.starts.map_or(from, |starts| from.max(starts));
        let searched = from.saturating_add((SEARCHED_DAYS - 1).days());
        let last = self.until.map_or(searched, |until| searched.min(until));
        let periods = self.rule.periods_from(self.first(), from).take_while(|period| period.begins <= last);
        periods.flat_map(|period| period.days).find(|day| *day >= from).filter(|day| *day <= last)
    }

    /// The last day of the rule on or before a date.
    pub fn last_until(&self, until: Date) -> Option<Date> {
        let until = self.until.map_or(until, |end| until.min(end));
        let searched = until.saturating_sub((SEARCHED_DAYS - 1).days());
        let earliest = self.starts.map_or(searched, |starts| searched.max(starts));
        // A period is a year at most.
        let begins = earliest.saturating_sub(1.year());
        let periods =
            self.rule.periods_until(self.first(), until).take_while(|period| period.begins >= begins);
        let mut days = periods.flat_map(|period| period.days.into_iter().rev());
        days.find(|day| *day <= until).filter(|day| *day >= earliest)
    }

    /// The date before which it does not fire.
    pub fn starts(&self) -> Option<Date> {
        self.starts
    }

    /// The date from which intervals count.
    fn first(&self) -> Date {
        self.starts.unwrap_or(ANCHOR)
    }
}

fn fault(detail: String) -> Fault {
    Fault::new("/cadence/rrule", "schedule_invalid", detail)
}

/// What would be right.
fn refused(why: Unreadable<'_>) -> Fault {
    let detail = match why {
        Unreadable::NoPair(part) => {
            format!("`{}` is no part of a rule; write NAME=VALUE.", shown(part))
        }
        Unreadable::Value { name, value } => match takes(name) {
            Some(takes) => format!("`{}` is not possible; {name} takes {takes}.", shown(value)),
            None => return refused(Unreadable::Unknown(name)),
        },
        Unreadable::Unknown(name) => format!(
            "`{}` is not supported; a rule has FREQ, INTERVAL, BYDAY, BYMONTHDAY, BYMONTH, BYSETPOS, WKST and UNTIL, \
             and its time of day is `sendTime`.",
            shown(&name.to_ascii_uppercase())
        ),
        Unreadable::NoFrequency => "A rule says how often: FREQ=WEEKLY.".into(),
    };
    fault(detail)
}

/// What the parts take that a cadence may have.
fn takes(name: &str) -> Option<&'static str> {
    Some(match name.to_ascii_uppercase().as_str() {
        "FREQ" => "DAILY, WEEKLY, MONTHLY or YEARLY",
        "INTERVAL" => "a whole number from 1 to 366",
        "BYDAY" => "days such as MO,WE or -1FR",
        "BYMONTHDAY" => "days from 1 to 31, or from -31 to -1",
        "BYMONTH" => "months from 1 to 12",
        "BYSETPOS" => "places from 1 to 31, or from -31 to -1",
        "WKST" => "a day such as MO or SU",
        "UNTIL" => "a date such as 20271231",
        _ => return None,
    })
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

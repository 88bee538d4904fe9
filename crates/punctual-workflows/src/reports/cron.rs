//! Cron patterns over local times: minute, hour, day of month, month, weekday.
//!
//! Values, names (`MON`, `JAN`), lists, ranges and steps; `L` is the last day of a month, `FRI#2` the second Friday and `FRIL`
//! the last. If both kinds of days are given, either matches, as in standard cron.

use jiff::civil::{Date, DateTime, Time};

/// Days that are checked for the next match: 29 February on a given weekday comes at least every forty years.
const SEARCHED_DAYS: usize = 41 * 366;

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// A pattern, as sets of what each field takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    last_day: bool,
    months: u64,
    weekdays: u64,
    /// Weekday and which of the month it is: 1 to 5, or 0 for the last.
    nth: Vec<(i8, i8)>,
    any_day: bool,
    any_weekday: bool,
}

impl Cron {
    /// Reads five fields; what is wrong is said in one sentence.
    pub fn read(text: &str) -> Result<Self, String> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields.as_slice() else {
            return Err("A pattern has five fields: minute, hour, day, month, weekday.".into());
        };
        let mut last_day = false;
        let mut plain_days = Vec::new();
        for part in days.split(',') {
            if part.eq_ignore_ascii_case("L") { last_day = true } else { plain_days.push(part) }
        }
        let (mut nth, mut plain_weekdays) = (Vec::new(), Vec::new());
        for part in weekdays.split(',') {
            match nth_weekday(part) {
                Some(found) => nth.push(found?),
                None => plain_weekdays.push(part),
            }
        }
        Ok(Self {
            minutes: set("minute", minutes, 0, 59, &[])?,
            hours: set("hour", hours, 0, 23, &[])?,
            days: if plain_days.is_empty() { 0 } else { set("day", &plain_days.join(","), 1, 31, &[])? },
            last_day,
            months: set("month", months, 1, 12, &MONTHS)?,
            weekdays: match plain_weekdays.is_empty() {
                true => 0,
                // 7 is Sunday too.
                false => {
                    let set = set("weekday", &plain_weekdays.join(","), 0, 7, &DAYS)?;
                    (set & 0x7f) | (set >> 7)
                }
            },
            nth,
            any_day: matches!(*days, "*" | "?"),
            any_weekday: matches!(*weekdays, "*" | "?"),
        })
    }

    /// The first time of the pattern after a local time.
    pub fn after(&self, local: DateTime) -> Option<DateTime> {
        let mut date = local.date();
        let mut from = (u32::from(local.hour().unsigned_abs()), u32::from(local.minute().unsigned_abs()) + 1);
        for _ in 0..SEARCHED_DAYS {
            if self.is_on(date)
                && let Some(time) = self.first_from(from)
            {
                return Some(date.to_datetime(time));
            }
            from = (0, 0);
            date = date.tomorrow().ok()?;
        }
        None
    }

    /// The last time of the pattern before a local time.
    pub fn before(&self, local: DateTime) -> Option<DateTime> {
        let mut date = local.date();
        let is_whole = local.second() == 0 && local.subsec_nanosecond() == 0;
        let minute = u32::from(local.minute().unsigned_abs()) + u32::from(!is_whole);
        let mut until = (u32::from(local.hour().unsigned_abs()), minute);
        for _ in 0..SEARCHED_DAYS {
            if self.is_on(date)
                && let Some(time) = self.last_before(until)
            {
                return Some(date.to_datetime(time));
            }
            until = (24, 0);
            date = date.yesterday().ok()?;
        }
        None
    }

    /// The first time of a day from an hour and minute on.
    fn first_from(&self, (hour, minute): (u32, u32)) -> Option<Time> {
        (hour..24).filter(|at| self.hours >> at & 1 == 1).find_map(|at| {
            let later = if at > hour {
                self.minutes
            } else {
                self.minutes.checked_shr(minute)?.checked_shl(minute)?
            };
            (later != 0).then(|| time_of(at, later.trailing_zeros()))
        })
    }

    /// The last time of a day before an hour and minute.
    fn last_before(&self, (hour, minute): (u32, u32)) -> Option<Time> {
        (0..=hour.min(23)).rev().filter(|at| self.hours >> at & 1 == 1).find_map(|at| {
            let earlier = if at < hour { self.minutes } else { self.minutes & ((1 << minute) - 1) };
            (earlier != 0).then(|| time_of(at, 63 - earlier.leading_zeros()))
        })
    }

    fn is_on(&self, date: Date) -> bool {
        if self.months >> date.month() & 1 == 0 {
            return false;
        }
        let day = self.days >> date.day() & 1 == 1 || (self.last_day && date.day() == date.days_in_month());
        let weekday = date.weekday().to_sunday_zero_offset();
        let is_nth = self.nth.iter().any(|(of, n)| {
            let which = (date.day() - 1) / 7 + 1;
            *of == weekday && if *n == 0 { date.day() + 7 > date.days_in_month() } else { *n == which }
        });
        let weekday = self.weekdays >> weekday & 1 == 1 || is_nth;
        if self.any_day || self.any_weekday { day && weekday } else { day || weekday }
    }
}

fn time_of(hour: u32, minute: u32) -> Time {
    let part = |number: u32| i8::try_from(number).unwrap_or(0);
    Time::new(part(hour), part(minute), 0, 0).unwrap_or(Time::midnight())
}

/// `FRI#2` or `FRIL`, where it is one of these.
fn nth_weekday(part: &str) -> Option<Result<(i8, i8), String>> {
    let upper = part.to_ascii_uppercase();
    let (name, number) = match upper.split_once('#') {
        Some((name, number)) => (name.to_owned(), number.parse().ok().filter(|n| (1..=5).contains(n))),
        None => (upper.strip_suffix('L').filter(|name| !name.is_empty())?.to_owned(), Some(0)),
    };
    let weekday = value(&name, 0, 7, &DAYS).and_then(|day| i8::try_from(day % 7).ok());
    Some(
        weekday
            .zip(number)
            .ok_or_else(|| format!("`{}` is no weekday of a month; write FRI#2 or FRIL.", cut(part))),
    )
}

/// The set that one field takes.
fn set(name: &str, field: &str, low: u32, high: u32, names: &[&str]) -> Result<u64, String> {
    let wrong = |part: &str| {
        format!("`{}` is no {name}; it takes {low} to {high}, lists, ranges and steps.", cut(part))
    };
    let mut set = 0;
    for part in field.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => {
                let step: u32 =
                    step.parse().ok().filter(|step| (1..=high).contains(step)).ok_or_else(|| wrong(part))?;
                (range, Some(step))
            }
            None => (part, None),
        };
        let (from, to) = if matches!(range, "*" | "?") {
            (low, if name == "weekday" { 6 } else { high })
        } else if let Some((from, to)) = range.split_once('-') {
            let bounds = value(from, low, high, names).zip(value(to, low, high, names));
            bounds.filter(|(from, to)| from <= to).ok_or_else(|| wrong(part))?
        } else {
            let one = value(range, low, high, names).ok_or_else(|| wrong(part))?;
            (one, if step.is_some() { high } else { one })
        };
        for number in (from..=to).step_by(step.unwrap_or(1) as usize) {
            set |= 1_u64 << number;
        }
    }
    Ok(set)
}

/// A number or a name of a field; names count from the field's lowest number.
fn value(text: &str, low: u32, high: u32, names: &[&str]) -> Option<u32> {
    if let Some(place) = names.iter().position(|name| name.eq_ignore_ascii_case(text)) {
        return u32::try_from(place).ok().map(|place| place + low);
    }
    let is_number = !text.is_empty() && text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| is_number && (low..=high).contains(number))
}

fn cut(text: &str) -> String {
    text.chars().take(20).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, from: &str, expected: &[&str]) {
        let cron = Cron::read(pattern).unwrap();
        let mut local: DateTime = from.parse().unwrap();
        let mut found = Vec::new();
        for _ in expected {
            let next = cron.after(local).unwrap();
            // There and back again.
            let later = next.checked_add(jiff::Span::new().seconds(1)).unwrap();
            assert_eq!(cron.before(later), Some(next), "{pattern}");
            assert!(cron.before(next).is_none_or(|before| before < next), "{pattern}");
            found.push(next.strftime("%Y-%m-%d %H:%M").to_string());
            local = next;
        }
        assert_eq!(found, expected, "{pattern}");
    }

    #[test]
    fn patterns_name_the_times_that_cron_names() {
        let from = "2026-05-14T05:00:00";
        check("0 8 * * MON", from, &["2026-05-18 08:00", "2026-05-25 08:00"]);
        check(
            "*/20 9-10 * * *",
            from,
            &["2026-05-14 09:00", "2026-05-14 09:20", "2026-05-14 09:40", "2026-05-14 10:00"],
        );
        check("0 0 1 1 *", from, &["2027-01-01 00:00", "2028-01-01 00:00"]);
        check("30 6 L * *", from, &["2026-05-31 06:30", "2026-06-30 06:30"]);
        check("0 8 * * FRI#2", from, &["2026-06-12 08:00", "2026-07-10 08:00"]);
        check("0 8 * * 5L", from, &["2026-05-29 08:00", "2026-06-26 08:00"]);
        check(
            "0 8 13 * FRI",
            from,
            &[
                "2026-05-15 08:00",
                "2026-05-22 08:00",
                "2026-05-29 08:00",
                "2026-06-05 08:00",
                "2026-06-12 08:00",
                "2026-06-13 08:00",
            ],
        );
        check("0 8 * * 7", from, &["2026-05-17 08:00"]);
        check("0 8 * * 1-5", from, &["2026-05-14 08:00", "2026-05-15 08:00", "2026-05-18 08:00"]);
        check("5/25 12 * FEB,aug sun", from, &["2026-08-02 12:05", "2026-08-02 12:30", "2026-08-02 12:55"]);
        check("0 0 29 2 *", from, &["2028-02-29 00:00", "2032-02-29 00:00"]);
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for pattern in [
            "",
            "* * * *",
            "* * * * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * 32 * *",
            "* * * 13 *",
            "* * * * 8",
            "5-1 * * * *",
            "*/0 * * * *",
            "a * * * *",
            "1,,2 * * * *",
            "-1 * * * *",
            "+1 * * * *",
            "* * * * MON#6",
            "* * * * #1",
            "0 8 o'clock * *",
            "* * LL * *",
        ] {
            assert!(Cron::read(pattern).is_err(), "{pattern}");
        }
        let never = Cron::read("0 0 31 2 *").unwrap();
        assert_eq!(never.after("2026-05-14T05:00:00".parse().unwrap()), None);
    }
}

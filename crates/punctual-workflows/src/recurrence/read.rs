//! Parses a rule. Errors are values, because cadences and calendar files have their own texts for them.

use jiff::civil::Weekday;

use super::{Frequency, Rule};

/// The longest step from one period to the next.
const INTERVAL_MAX: i64 = 1_000;

/// Why a text is no rule. Texts are parts of the one that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable<'t> {
    /// A part that is not `NAME=VALUE`.
    NoPair(&'t str),
    /// A part whose value is not possible.
    Value { name: &'t str, value: &'t str },
    /// A part that is not supported.
    Unknown(&'t str),
    /// No `FREQ`.
    NoFrequency,
}

impl Rule {
    /// Reads the parts of a rule; what is not supported is refused and never left out.
    pub fn read<'t>(parts: impl IntoIterator<Item = &'t str>) -> Result<Self, Unreadable<'t>> {
        let mut rule = Self {
            frequency: Frequency::Daily,
            interval: 1,
            count: None,
            until: None,
            months: Vec::new(),
            month_days: Vec::new(),
            weekdays: Vec::new(),
            positions: Vec::new(),
            week_begins: Weekday::Monday,
        };
        let mut frequency = None;
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').ok_or(Unreadable::NoPair(part))?;
            let read = match name.to_ascii_uppercase().as_str() {
                "FREQ" => read_frequency(value).map(|read| frequency = Some(read)),
                "INTERVAL" => {
                    let number = value.parse().ok().filter(|n| (1..=INTERVAL_MAX).contains(n));
                    number.map(|read| rule.interval = read)
                }
                "COUNT" => value.parse().ok().map(|read| rule.count = Some(read)),
                "UNTIL" => {
                    rule.until = Some(value.to_owned());
                    Some(())
                }
                "BYMONTH" => {
                    let months = numbers(value, 12).filter(|months| months.iter().all(|month| *month > 0));
                    months.map(|read| rule.months = read)
                }
                "BYMONTHDAY" => numbers(value, 31).map(|read| rule.month_days = read),
                "BYSETPOS" => numbers(value, 126).map(|read| rule.positions = read),
                "BYDAY" => {
                    value.split(',').map(nth_weekday).collect::<Option<_>>().map(|read| rule.weekdays = read)
                }
                "WKST" => weekday(value).map(|read| rule.week_begins = read),
                _ => return Err(Unreadable::Unknown(name)),
            };
            read.ok_or(Unreadable::Value { name, value })?;
        }
        rule.frequency = frequency.ok_or(Unreadable::NoFrequency)?;
        Ok(rule)
    }
}

fn read_frequency(text: &str) -> Option<Frequency> {
    Some(match text.to_ascii_uppercase().as_str() {
        "DAILY" => Frequency::Daily,
        "WEEKLY" => Frequency::Weekly,
        "MONTHLY" => Frequency::Monthly,
        "YEARLY" => Frequency::Yearly,
        _ => return None,
    })
}

/// Numbers from 1 to the largest, or counted from the end.
fn numbers(text: &str, largest: i8) -> Option<Vec<i8>> {
    let number =
        |text: &str| text.trim().parse().ok().filter(|n: &i8| (1..=largest).contains(&n.saturating_abs()));
    text.split(',').map(number).collect()
}

/// `MO`, `1MO` or `-1FR`.
fn nth_weekday(text: &str) -> Option<(Option<i8>, Weekday)> {
    let text = text.trim();
    let (nth, name) = text.split_at_checked(text.len().checked_sub(2)?)?;
    let nth = match nth {
        "" => None,
        nth => Some(numbers(nth, 53).filter(|numbers| numbers.len() == 1)?[0]),
    };
    Some((nth, weekday(name)?))
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

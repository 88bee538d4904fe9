//! Strict parsing of instants, dates and times of day in requests.
//!
//! Lenient parsing would guess wrong: a time without an offset is not an instant, and 30 February is not 2 March.

use std::ops::RangeInclusive;

use jiff::{
    Timestamp,
    civil::{Date, Time},
    tz::Offset,
};

use crate::fault::shown;

/// Why a text is no instant, date or time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstantError {
    #[error(
        "`{}` does not say its offset from UTC: end it with `Z` or an offset, such as `2026-05-14T09:00:00Z` or `2026-05-14T09:00:00+02:00`",
        shown(.0)
    )]
    NoOffset(String),
    #[error("`{}` has no date of the calendar: a date is `YYYY-MM-DD`, such as `2026-02-28`", shown(.0))]
    Date(String),
    #[error("`{}` is no time: {}", shown(.text), .expected)]
    Time { text: String, expected: &'static str },
}

/// The years of calendar dates. Real dates lie within them; a slip such as `0226`, or a `9999` that stands for *never*,
/// does not.
pub const DATE_YEARS: RangeInclusive<i16> = 1900..=2200;

const INSTANT: &str = "an instant is written as in RFC 3339, such as `2026-05-14T09:00:00Z`";
const TIME_OF_DAY: &str = "a time of day is `HH:MM` or `HH:MM:SS`, such as `09:00`";

impl InstantError {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoOffset(_) => "time_no_offset",
            Self::Date(_) => "date_invalid",
            Self::Time { .. } => "time_invalid",
        }
    }
}

/// Reads an instant as RFC 3339 has it. A leap second counts as the second before it, and digits
/// beyond nanoseconds are cut off.
pub fn parse_instant(text: &str) -> Result<Timestamp, InstantError> {
    let no_time = || InstantError::Time { text: text.to_owned(), expected: INSTANT };
    let (date, rest) = text.split_at_checked(10).ok_or_else(no_time)?;
    if !has_shape(date, "dddd-dd-dd") {
        return Err(no_time());
    }
    let date = calendar_date(date).ok_or_else(|| InstantError::Date(text.to_owned()))?;
    let rest = rest.strip_prefix(['T', 't', ' ']).ok_or_else(no_time)?;
    let (clock, rest) = rest.split_at_checked(8).ok_or_else(no_time)?;
    if !has_shape(clock, "dd:dd:dd") {
        return Err(no_time());
    }
    let (nanosecond, offset) = match rest.strip_prefix('.') {
        Some(fraction) => split_fraction(fraction).ok_or_else(no_time)?,
        None => (0, rest),
    };
    let second = two(&clock[6..]).map(|second| if second == 60 { 59 } else { second });
    let time = match (two(&clock[..2]), two(&clock[3..5]), second) {
        (Some(hour), Some(minute), Some(second)) => Time::new(hour, minute, second, nanosecond).ok(),
        _ => None,
    };
    let time = time.ok_or_else(no_time)?;
    if offset.is_empty() {
        return Err(InstantError::NoOffset(text.to_owned()));
    }
    let offset = parse_offset(offset).ok_or_else(no_time)?;
    offset.to_timestamp(date.to_datetime(time)).map_err(|_| InstantError::Date(text.to_owned()))
}

/// Reads a date, `YYYY-MM-DD`.
pub fn parse_date(text: &str) -> Result<Date, InstantError> {
    Some(text)
        .filter(|text| has_shape(text, "dddd-dd-dd"))
        .and_then(calendar_date)
        .ok_or_else(|| InstantError::Date(text.to_owned()))
}

/// Reads a time of day, `HH:MM` or `HH:MM:SS`.
pub fn parse_time(text: &str) -> Result<Time, InstantError> {
    let second = if has_shape(text, "dd:dd") {
        Some(0)
    } else if has_shape(text, "dd:dd:dd") {
        two(&text[6..])
    } else {
        None
    };
    second
        .and_then(|second| Time::new(two(&text[..2])?, two(&text[3..5])?, second, 0).ok())
        .ok_or_else(|| InstantError::Time { text: text.to_owned(), expected: TIME_OF_DAY })
}

/// Whether the text is ASCII of this shape, where `d` stands for a digit.
fn has_shape(text: &str, shape: &str) -> bool {
    text.len() == shape.len()
        && text.bytes().zip(shape.bytes()).all(|(byte, wanted)| match wanted {
            b'd' => byte.is_ascii_digit(),
            other => byte == other,
        })
}

fn two(digits: &str) -> Option<i8> {
    digits.parse().ok()
}

/// The date of a text that has the shape of one.
fn calendar_date(text: &str) -> Option<Date> {
    Date::new(text[..4].parse().ok()?, two(&text[5..7])?, two(&text[8..])?).ok()
}

/// The nanoseconds of a fraction, and what follows its digits.
fn split_fraction(text: &str) -> Option<(i32, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let kept = &digits[..digits.len().min(9)];
    if kept.is_empty() { None } else { Some((format!("{kept:0<9}").parse().ok()?, rest)) }
}

fn parse_offset(text: &str) -> Option<Offset> {
    if matches!(text, "Z" | "z") {
        return Some(Offset::UTC);
    }
    let (sign, hours_minutes) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    if !has_shape(hours_minutes, "dd:dd") {
        return None;
    }
    let (hours, minutes) = (two(&hours_minutes[..2])?, two(&hours_minutes[3..])?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    Offset::from_seconds(sign * (i32::from(hours) * 60 + i32::from(minutes)) * 60).ok()
}

//! Instants and dates as clients write them: RFC 3339, always with an offset.
//!
//! jiff parses more spellings than the API promises (spaces, zone names in brackets, missing minutes), so the
//! form is checked here and jiff decides which dates exist.

use jiff::{Timestamp, civil, tz::Offset};
use punctual_model::local_time::DATE_YEARS;

use crate::problem::{Code, FieldError, excerpt};

/// What an instant looks like, for error texts.
pub const EXAMPLE: &str = "2026-05-14T09:00:00+02:00";

/// Why a text is no instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAnInstant {
    /// It has no offset, or no time at all, so it could be any of some fifty instants.
    NoOffset,
    /// It is not of the form that RFC 3339 gives.
    Form,
    /// It has the form, but no such day or time exists.
    NotOnTheCalendar,
    /// It lies before anything that is kept here.
    TooEarly,
    /// It lies after anything that is planned here.
    TooLate,
}

/// Reads an instant such as `2026-05-14T09:00:00+02:00` or `2026-05-14T07:00:00.250Z`.
pub fn parse(text: &str) -> Result<Timestamp, NotAnInstant> {
    use NotAnInstant::{Form, NoOffset, NotOnTheCalendar, TooEarly, TooLate};

    let bytes = text.as_bytes();
    let (year, month, day) = parse_date_form(bytes.get(..10).unwrap_or(bytes)).ok_or(Form)?;
    let rest = &bytes[10..];
    let Some((b'T' | b't', rest)) = rest.split_first() else {
        return Err(if rest.is_empty() { NoOffset } else { Form });
    };
    let (hour, minute, rest) = parse_hour_minute(rest).ok_or(Form)?;
    let Some((b':', rest)) = rest.split_first() else {
        return Err(if rest.is_empty() { NoOffset } else { Form });
    };
    let (second, rest) = two_digits(rest).ok_or(Form)?;
    let (nanosecond, rest) = parse_fraction(rest).ok_or(Form)?;
    let offset = match rest {
        [] => return Err(NoOffset),
        [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), rest @ ..] => match parse_hour_minute(rest) {
            Some((hours @ 0..=23, minutes @ 0..=59, [])) => {
                let seconds = (i32::from(hours) * 60 + i32::from(minutes)) * 60;
                if *sign == b'-' { -seconds } else { seconds }
            }
            Some((_, _, [])) => return Err(NotOnTheCalendar),
            _ => return Err(Form),
        },
        _ => return Err(Form),
    };
    // A leap second counts as the one before it, as everywhere in POSIX time.
    let second = if second == 60 { 59 } else { second };
    let local = civil::DateTime::new(year, month, day, hour, minute, second, nanosecond);
    let local = local.map_err(|_| NotOnTheCalendar)?;
    // A local time at the end of the calendar exists, and its instant does not.
    let instant = Offset::from_seconds(offset).and_then(|offset| offset.to_timestamp(local));
    match instant.map_err(|_| if local.year() > 0 { TooLate } else { TooEarly })? {
        early if early < Timestamp::UNIX_EPOCH => Err(TooEarly),
        late if late >= END => Err(TooLate),
        instant => Ok(instant),
    }
}

/// The end of the year 2200: far enough from the last instant there is that nothing added to it overflows.
const END: Timestamp = Timestamp::constant(7_289_654_400, 0);

/// Reads a date such as `2026-05-14`.
pub fn parse_date(text: &str) -> Result<civil::Date, NotAnInstant> {
    let (year, month, day) = parse_date_form(text.as_bytes()).ok_or(NotAnInstant::Form)?;
    let date = civil::Date::new(year, month, day).map_err(|_| NotAnInstant::NotOnTheCalendar)?;
    match date.year() {
        early if early < *DATE_YEARS.start() => Err(NotAnInstant::TooEarly),
        late if late > *DATE_YEARS.end() => Err(NotAnInstant::TooLate),
        _ => Ok(date),
    }
}

impl NotAnInstant {
    pub fn code(self) -> Code {
        match self {
            Self::NoOffset => Code::TimeNoOffset,
            Self::Form | Self::NotOnTheCalendar => Code::DateInvalid,
            Self::TooEarly | Self::TooLate => Code::DateOutOfRange,
        }
    }

    /// The message for the client about `text`, which should look like `example`.
    pub fn at(self, pointer: impl Into<String>, text: &str, example: &str) -> FieldError {
        let text = excerpt(text);
        let detail = match self {
            Self::NoOffset => {
                format!("`{text}` has no offset, so its instant is not known; write `{example}`.")
            }
            Self::Form => format!("`{text}` is not written as RFC 3339 asks; write `{example}`."),
            Self::TooEarly | Self::TooLate => {
                format!(
                    "`{text}` is out of range, which is 1900 to 2200, or 1970 to 2200 for an instant; write `{example}`."
                )
            }
            Self::NotOnTheCalendar => format!("`{text}` does not exist on the calendar; write `{example}`."),
        };
        FieldError::new(pointer, self.code(), detail)
    }
}

/// `YYYY-MM-DD`, all of it.
fn parse_date_form(bytes: &[u8]) -> Option<(i16, i8, i8)> {
    let (century, rest) = two_digits(bytes)?;
    let (year, rest) = two_digits(rest)?;
    let (month, rest) = two_digits(rest.strip_prefix(b"-")?)?;
    let (day, rest) = two_digits(rest.strip_prefix(b"-")?)?;
    rest.is_empty().then_some((i16::from(century) * 100 + i16::from(year), month, day))
}

/// `HH:MM` and what follows.
fn parse_hour_minute(bytes: &[u8]) -> Option<(i8, i8, &[u8])> {
    let (hour, rest) = two_digits(bytes)?;
    let (minute, rest) = two_digits(rest.strip_prefix(b":")?)?;
    Some((hour, minute, rest))
}

/// Nanoseconds of `.123`, or none; digits beyond the ninth are dropped.
fn parse_fraction(bytes: &[u8]) -> Option<(i32, &[u8])> {
    let Some(bytes) = bytes.strip_prefix(b".") else { return Some((0, bytes)) };
    let count = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = bytes.split_at(count);
    let nanoseconds =
        (0..9).fold(0, |sum, i| sum * 10 + digits.get(i).map_or(0, |digit| i32::from(digit - b'0')));
    (count > 0).then_some((nanoseconds, rest))
}

fn two_digits(bytes: &[u8]) -> Option<(i8, &[u8])> {
    match bytes {
        [a @ b'0'..=b'9', b @ b'0'..=b'9', rest @ ..] => {
            Some(((a - b'0') as i8 * 10 + (b - b'0') as i8, rest))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn instants_are_read() {
        #[track_caller]
        fn check(text: &str, utc: &str) {
            assert_eq!(parse(text).unwrap().to_string(), utc, "{text}");
        }
        check("2026-05-14T09:00:00+02:00", "2026-05-14T07:00:00Z");
        check("2026-05-14t07:00:00z", "2026-05-14T07:00:00Z");
        check("2026-05-14T07:00:00-00:00", "2026-05-14T07:00:00Z");
        check("2026-05-14T07:00:00.25Z", "2026-05-14T07:00:00.25Z");
        check("2026-05-14T07:00:00.1234567899999Z", "2026-05-14T07:00:00.123456789Z");
        check("2024-02-29T23:59:60Z", "2024-02-29T23:59:59Z");
        check("2026-01-01T00:00:00+23:59", "2025-12-31T00:01:00Z");
    }

    #[test]
    fn what_is_no_instant_says_why() {
        #[track_caller]
        fn check(text: &str, code: Code) {
            let error = parse(text).unwrap_err();
            assert_eq!(error.code(), code, "{text}");
            assert!(error.at("/runAt", text, EXAMPLE).detail.contains(EXAMPLE));
        }
        check("2026-05-14T09:00:00", Code::TimeNoOffset);
        check("2026-05-14T09:00:00.5", Code::TimeNoOffset);
        check("2026-05-14T09:00", Code::TimeNoOffset);
        check("2026-05-14", Code::TimeNoOffset);
        check("2026-02-30T09:00:00Z", Code::DateInvalid);
        check("2025-02-29T09:00:00Z", Code::DateInvalid);
        check("2026-13-01T09:00:00Z", Code::DateInvalid);
        check("2026-05-14T24:00:00Z", Code::DateInvalid);
        check("2026-05-14T09:60:00Z", Code::DateInvalid);
        check("2026-05-14T09:00:61Z", Code::DateInvalid);
        check("2026-05-14T09:00:00+24:00", Code::DateInvalid);
        check("2026-05-14T09:00:00+02:60", Code::DateInvalid);
        check("2026-05-14T09:00:00+0200", Code::DateInvalid);
        check("2026-05-14T09:00:00.Z", Code::DateInvalid);
        check("2026-05-14 09:00:00Z", Code::DateInvalid);
        check("2026-05-14T09:00:00+02:00[Europe/Berlin]", Code::DateInvalid);
        check("2026-05-14T09:00:00Zulu", Code::DateInvalid);
        check("14.05.2026", Code::DateInvalid);
        check("tomorrow", Code::DateInvalid);
        check("", Code::DateInvalid);
        check("２０２６-05-14T09:00:00Z", Code::DateInvalid);
        for text in [
            "9999-12-31T23:59:59-23:59",
            "9999-12-31T23:59:59Z",
            "2201-01-01T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "0001-01-01T00:00:00Z",
        ] {
            check(text, Code::DateOutOfRange);
        }
        for text in ["1970-01-01T00:00:00Z", "2200-12-31T23:59:59.999999Z"] {
            assert!(parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn dates_are_read() {
        assert_eq!(parse_date("2026-05-14").unwrap().to_string(), "2026-05-14");
        for text in ["2026-02-30", "2026-5-14", "2026-05-14T00:00:00Z", ""] {
            assert_eq!(parse_date(text).unwrap_err().code(), Code::DateInvalid, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_without_a_panic(text in ".{0,40}") {
            let _ = (parse(&text), parse_date(&text));
        }

        #[test]
        fn what_jiff_writes_is_read_back(second in 0..7_289_654_400_i64, nanosecond in 0..1_000_000_000_i32) {
            let instant = Timestamp::new(second, nanosecond).unwrap();
            prop_assert_eq!(parse(&instant.to_string()).unwrap(), instant);
        }

        #[test]
        fn whatever_is_accepted_jiff_accepts_alike(text in "20[0-3][0-9]-[01][0-9]-[0-3][0-9][Tt][0-2][0-9]:[0-6][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-][0-2][0-9]:[0-6][0-9])") {
            match (parse(&text), text.parse::<Timestamp>()) {
                (Ok(ours), Ok(theirs)) => prop_assert_eq!(ours, theirs),
                (Ok(_), Err(error)) => return Err(TestCaseError::fail(error.to_string())),
                (Err(_), _) => {}
            }
        }
    }
}

//! Parses and formats durations: `15m`, `4h`, `2d`, `1d12h`.
//!
//! A day is always 24 hours; rules about the local calendar use dates instead. Months and years are not supported, because they
//! have no fixed length.

use std::time::Duration;

/// The longest duration: ten years of 365 days.
pub const MAX: Duration = Duration::from_secs(3650 * 24 * 60 * 60);

/// The units, in the order in which they are written, with their seconds.
const UNITS: [(char, u64); 4] = [('d', 24 * 60 * 60), ('h', 60 * 60), ('m', 60), ('s', 1)];

/// Why a text is no duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a duration is one or more whole numbers, each with a unit, in the order d, h, m, s, such as `15m`, `4h`, `2d` or `1d12h`; at most 3650d"
)]
pub struct DurationError;

impl DurationError {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        "duration_invalid"
    }
}

/// Reads a duration. Each unit appears at most once, the larger before the smaller; `0d` is one too.
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    let mut rest = text;
    let mut units = UNITS.iter();
    let mut total: u64 = 0;
    loop {
        let digits = rest.find(|character: char| !character.is_ascii_digit()).ok_or(DurationError)?;
        let (number, from_unit) = rest.split_at(digits);
        let mut characters = from_unit.chars();
        let unit = characters.next().ok_or(DurationError)?;
        // The iterator continues from where it is, which refuses a unit that is repeated or too late.
        let (_, seconds) = units.find(|(name, _)| *name == unit).ok_or(DurationError)?;
        let number: u64 = number.parse().map_err(|_| DurationError)?;
        total = number.checked_mul(*seconds).and_then(|part| total.checked_add(part)).ok_or(DurationError)?;
        rest = characters.as_str();
        if rest.is_empty() {
            break;
        }
    }
    Some(Duration::from_secs(total)).filter(|duration| *duration <= MAX).ok_or(DurationError)
}

/// Writes a duration in the largest units; what is less than a second is left out.
pub fn format(duration: Duration) -> String {
    let mut seconds = duration.as_secs();
    let mut text = String::new();
    for (name, size) in UNITS {
        if seconds >= size {
            text.push_str(&(seconds / size).to_string());
            text.push(name);
            seconds %= size;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_grammar_is_days_hours_minutes_and_seconds() {
        for (text, seconds) in [
            ("15m", 900),
            ("4h", 14_400),
            ("2d", 172_800),
            ("30s", 30),
            ("0d", 0),
            ("0s", 0),
            ("1d12h", 129_600),
            ("1d2h3m4s", 93_784),
            ("90m", 5_400),
            ("1d36h", 216_000),
            ("007s", 7),
            ("3650d", 315_360_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_the_grammar() {
        for text in [
            "",
            " ",
            "d",
            "5",
            "1 month",
            "1month",
            "-1d",
            "+1d",
            "1.5h",
            "1d ",
            " 1d",
            "1 d",
            "12h1d",
            "1h1h",
            "1D",
            "1w",
            "1y",
            "1ms",
            "3650d1s",
            "3651d",
            "99999999999999999999d",
            "18446744073709551615d",
            "１d",
            "1d\n",
            "PT1H",
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.code(), "duration_invalid", "{text:?}");
            assert!(error.to_string().contains("`1d12h`"));
        }
    }

    #[test]
    fn durations_are_written_in_the_largest_units() {
        for (seconds, text) in [(0, "0s"), (60, "1m"), (90, "1m30s"), (129_600, "1d12h"), (86_400, "1d")] {
            assert_eq!(format(Duration::from_secs(seconds)), text);
        }
        assert_eq!(format(Duration::from_millis(999)), "0s");
        assert_eq!(format(Duration::MAX), "213503982334601d7h15s");
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(seconds in 0..=MAX.as_secs()) {
            let duration = Duration::from_secs(seconds);
            prop_assert_eq!(parse(&format(duration)), Ok(duration));
        }

        #[test]
        fn no_text_panics_and_an_accepted_one_is_bounded(text in "[0-9dhms .-]{0,24}|\\PC{0,12}") {
            if let Ok(duration) = parse(&text) {
                prop_assert!(duration <= MAX);
                prop_assert_eq!(parse(&format(duration)), Ok(duration));
            }
        }
    }
}

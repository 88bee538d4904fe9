//! Numbers compared by their exact value: through an `f64` two long ids could become equal.

use std::cmp::Ordering;

/// A decimal number: `0.digits × 10^exponent`, without zeros at either end of the digits.
///
/// There is one way to write each value, so equal numbers have equal fields; zero has no digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    negative: bool,
    exponent: i64,
    digits: String,
}

/// Exponents end here; what is beyond is as good as infinite, and sums cannot overflow.
const LARGEST_EXPONENT: i64 = i64::MAX / 4;

impl Decimal {
    /// As it stands in the identity of a filter.
    pub(super) fn identity(&self) -> String {
        let Self { negative, exponent, digits } = self;
        format!("Decimal {{ negative: {negative}, exponent: {exponent}, digits: {digits:?} }}")
    }

    /// Reads a JSON number that is the whole text; anything else is none, such as `+1`, `007` or `1 `.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((_, "")) => return None,
            Some(parts) => parts,
            None => (mantissa, ""),
        };
        let digits_only = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits_only(whole) || !digits_only(fraction) {
            return None;
        }
        if whole.len() > 1 && whole.starts_with('0') {
            return None;
        }
        let all = format!("{whole}{fraction}");
        let significant = all.trim_start_matches('0');
        if significant.is_empty() {
            return Some(Self { negative: false, exponent: 0, digits: String::new() });
        }
        let leading_zeros = length(&all) - length(significant);
        Some(Self {
            negative,
            exponent: exponent + length(whole) - leading_zeros,
            digits: significant.trim_end_matches('0').to_owned(),
        })
    }

    fn sign(&self) -> i8 {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }
}

fn length(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(LARGEST_EXPONENT)
}

fn parse_exponent(text: &str) -> Option<i64> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => (1, text),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(sign * digits.parse().unwrap_or(LARGEST_EXPONENT).min(LARGEST_EXPONENT))
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        self.sign().cmp(&other.sign()).then_with(|| {
            let size = self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits));
            if self.negative { size.reverse() } else { size }
        })
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number(text: &str) -> Decimal {
        Decimal::parse(text).unwrap_or_else(|| panic!("{text} is a number"))
    }

    #[test]
    fn numbers_are_ordered_by_value_however_they_are_written() {
        let equal = [
            vec!["0", "-0", "0.0", "0e9"],
            vec!["1", "1.0", "1e0", "10E-1", "0.1e1"],
            vec!["-120", "-1.2e+2"],
        ];
        for same in equal {
            for pair in same.windows(2) {
                assert_eq!(number(pair[0]), number(pair[1]), "{pair:?}");
            }
        }
        let rising = [
            "-1e999999999999999999999",
            "-12",
            "-2",
            "-1.5",
            "-0.003",
            "0",
            "1e-400",
            "0.1",
            "0.12",
            "2",
            "9.99",
            "10",
            "9007199254740992",
            "9007199254740993",
            "12345678901234567890123456789012345678901",
            "1e400",
        ];
        for pair in rising.windows(2) {
            assert!(number(pair[0]) < number(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn only_json_numbers_are_numbers() {
        for text in [
            "", "-", "+1", "007", "1.", ".5", "1e", "1e+", "1 ", " 1", "inf", "NaN", "0x1", "1_0", "１",
            "1.e2", "--1",
        ] {
            assert_eq!(Decimal::parse(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn it_agrees_with_integers(a: i64, b: i64) {
            prop_assert_eq!(number(&a.to_string()).cmp(&number(&b.to_string())), a.cmp(&b));
        }

        #[test]
        fn it_agrees_with_floats(a in -1e9..1e9f64, b in -1e9..1e9f64) {
            prop_assert_eq!(number(&a.to_string()).cmp(&number(&b.to_string())), a.total_cmp(&b));
        }

        #[test]
        fn it_reads_every_json_number_and_no_text_panics(text in "-?[0-9]{1,6}(\\.[0-9]{1,4})?([eE][-+]?[0-9]{1,2})?|[-+0-9.eE]{0,24}|\\PC{0,12}") {
            let read = Decimal::parse(&text);
            if serde_json::from_str::<serde_json::Number>(&text).is_ok() && text.trim() == text {
                prop_assert!(read.is_some(), "{text:?} is a JSON number");
            }
        }
    }
}

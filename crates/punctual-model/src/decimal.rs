//! Exact decimal numbers. With `f64`, two long ids could compare equal, and a sum of prices would end in `.99999`.

use std::{cmp::Ordering, fmt};

/// `digits / 10^scale`, with all the digits that were written. Numbers are compared at any length; sums, and what else is
/// made of numbers, has at most 38 digits.
#[derive(Clone, Debug)]
pub struct Decimal {
    negative: bool,
    /// Without zeros before them; zero has none.
    digits: String,
    scale: i64,
}

/// The most digits behind the point of a cell.
const MOST_DECIMALS: u32 = 28;
/// Exponents of cells end here, and so does what is written without one.
const LARGEST_WRITTEN: u64 = 400;
/// All exponents end here; what is beyond is as good as infinite, and sums cannot overflow.
const LARGEST_EXPONENT: i64 = i64::MAX / 4;

impl Decimal {
    /// Reads `-12.50`, `+3`, `.5` or `1.2e3`, of any length.
    fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (text, 0),
        };
        let (negative, unsigned) = match mantissa.as_bytes().first()? {
            b'-' => (true, &mantissa[1..]),
            b'+' => (false, &mantissa[1..]),
            _ => (false, mantissa),
        };
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let leading = whole.bytes().chain(fraction.bytes()).take_while(|digit| *digit == b'0').count();
        let mut digits = String::with_capacity(whole.len() + fraction.len() - leading);
        digits.push_str(whole.get(leading..).unwrap_or_default());
        digits.push_str(fraction.get(leading.saturating_sub(whole.len())..).unwrap_or_default());
        if whole.len() + fraction.len() == 0 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let scale = i64::try_from(fraction.len()).unwrap_or(LARGEST_EXPONENT) - exponent;
        Some(Self { negative: negative && !digits.is_empty(), digits, scale })
    }

    /// Reads a JSON number that is the whole text; anything else is none, such as `+1`, `007` or `1 `.
    pub fn of_json(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let mantissa = unsigned.split(['e', 'E']).next()?;
        let mut bytes = mantissa.bytes();
        let is_json = match (bytes.next()?, bytes.next()) {
            (b'0', Some(second)) => second == b'.',
            (first, _) => first.is_ascii_digit(),
        };
        (is_json && !mantissa.ends_with('.')).then(|| Self::parse(text)).flatten()
    }

    /// Reads the number of a cell, which a total can add: `+1` and `007` are numbers too, more decimals than 28 are rounded,
    /// and what has more than 38 digits is none.
    pub fn of_cell(text: &str) -> Option<Self> {
        let read = Self::parse(text).filter(|read| read.scale.unsigned_abs() <= LARGEST_WRITTEN)?;
        let unscaled = read.unscaled()?;
        match read.scale {
            ..0 => Some(Self::new(read.at_scale(0)?, 0)),
            scale if scale > i64::from(MOST_DECIMALS) => Some(divided(unscaled, scale, MOST_DECIMALS)),
            _ => Some(read),
        }
    }

    /// The shortest decimal that means this float; none for what is not finite or too large.
    pub fn from_f64(value: f64) -> Option<Self> {
        value.is_finite().then(|| Self::of_cell(&format!("{value:e}"))).flatten()
    }

    fn new(unscaled: i128, scale: i64) -> Self {
        let digits = if unscaled == 0 { String::new() } else { unscaled.unsigned_abs().to_string() };
        Self { negative: unscaled < 0, digits, scale }
    }

    /// The nearest float: good for drawing and for spreadsheets, not for sums.
    pub fn to_f64(&self) -> f64 {
        // Through the text, so that 0.1 is the float that is written 0.1.
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// Exact; none where the sum has more than 38 digits.
    pub fn checked_add(&self, other: &Self) -> Option<Self> {
        let scale = self.scale.max(other.scale);
        Some(Self::new(self.at_scale(scale)?.checked_add(other.at_scale(scale)?)?, scale))
    }

    fn unscaled(&self) -> Option<i128> {
        let size: i128 = if self.digits.is_empty() { 0 } else { self.digits.parse().ok()? };
        Some(if self.negative { -size } else { size })
    }

    fn at_scale(&self, scale: i64) -> Option<i128> {
        let power = u32::try_from(scale - self.scale).ok()?;
        self.unscaled()?.checked_mul(10i128.checked_pow(power)?)
    }

    /// With exactly so many decimals; half goes away from zero.
    #[must_use]
    pub fn rounded(&self, decimals: u32) -> Self {
        let scale = i64::from(decimals);
        if self.scale <= scale {
            return self.at_scale(scale).map_or_else(|| self.clone(), |unscaled| Self::new(unscaled, scale));
        }
        self.unscaled().map_or_else(|| self.clone(), |unscaled| divided(unscaled, self.scale, decimals))
    }

    /// A hundred times as much, for shares.
    #[must_use]
    pub fn hundredfold(&self) -> Self {
        if self.scale < 2 {
            return self.at_scale(2).map_or_else(|| self.clone(), |unscaled| Self::new(unscaled, 0));
        }
        Self { scale: self.scale - 2, ..self.clone() }
    }

    /// How many digits are behind the point.
    pub fn decimals(&self) -> u32 {
        u32::try_from(self.scale).unwrap_or(0)
    }

    /// About how much memory it takes beside itself.
    pub(crate) fn length(&self) -> usize {
        self.digits.len()
    }

    /// As it is in the identity of a filter: equal numbers have one.
    pub(crate) fn identity(&self) -> String {
        let (exponent, digits) = self.size();
        format!("Decimal {{ negative: {}, exponent: {exponent}, digits: {digits:?} }}", self.negative)
    }

    /// `0.digits × 10^exponent` without its sign, in the one way to write each value.
    fn size(&self) -> (i64, &str) {
        let digits = self.digits.trim_end_matches('0');
        if digits.is_empty() {
            return (0, "");
        }
        (i64::try_from(self.digits.len()).unwrap_or(LARGEST_EXPONENT) - self.scale, digits)
    }

    fn sign(&self) -> i8 {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }
}

/// A number of this scale with fewer decimals.
fn divided(unscaled: i128, scale: i64, decimals: u32) -> Decimal {
    let scale_then = i64::from(decimals);
    let power = u32::try_from(scale - scale_then).ok().and_then(|power| 10i128.checked_pow(power));
    // Beyond 38 digits nothing is left of any number.
    let Some(divisor) = power else { return Decimal::new(0, scale_then) };
    let (quotient, rest) = (unscaled / divisor, unscaled % divisor);
    let up = if rest.abs() >= divisor - rest.abs() { unscaled.signum() } else { 0 };
    Decimal::new(quotient + up, scale_then)
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

impl From<i64> for Decimal {
    fn from(value: i64) -> Self {
        Self::new(i128::from(value), 0)
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        self.sign().cmp(&other.sign()).then_with(|| {
            let size = self.size().cmp(&other.size());
            if self.negative { size.reverse() } else { size }
        })
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Eq for Decimal {}

impl PartialEq for Decimal {
    /// By value: 1.50 is 1.5.
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl fmt::Display for Decimal {
    /// Plain digits with a point, all decimals it has.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { negative, digits, scale } = self;
        let sign = if *negative { "-" } else { "" };
        let decimals = match usize::try_from(*scale) {
            Ok(decimals) if *scale <= LARGEST_WRITTEN as i64 => decimals,
            _ => return write!(f, "{sign}{digits:0>1}e{}", -scale),
        };
        let digits = format!("{digits:0>width$}", width = decimals + 1);
        match digits.split_at(digits.len() - decimals) {
            (whole, "") => write!(f, "{sign}{whole}"),
            (whole, fraction) => write!(f, "{sign}{whole}.{fraction}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn json(text: &str) -> Decimal {
        Decimal::of_json(text).unwrap_or_else(|| panic!("{text} is a number"))
    }

    fn cell(text: &str) -> Decimal {
        Decimal::of_cell(text).unwrap_or_else(|| panic!("{text} is a number"))
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
                assert_eq!(json(pair[0]), json(pair[1]), "{pair:?}");
                assert_eq!(json(pair[0]).identity(), json(pair[1]).identity(), "{pair:?}");
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
            assert!(json(pair[0]) < json(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn only_json_numbers_are_numbers() {
        for text in [
            "", "-", "+1", "007", "1.", ".5", "1e", "1e+", "1 ", " 1", "inf", "NaN", "0x1", "1_0", "１",
            "1.e2", "--1", "00", "-01", "1.2.3", "0.", "e5", ".", "-.",
        ] {
            assert_eq!(Decimal::of_json(text), None, "{text:?}");
        }
    }

    #[test]
    fn numbers_of_cells_are_read_and_written_exactly() {
        for (given, written) in [
            ("12.50", "12.50"),
            ("-0.07", "-0.07"),
            ("+3", "3"),
            ("007", "7"),
            (".5", "0.5"),
            ("1.", "1"),
            ("-0.00", "0.00"),
            ("1.2e3", "1200"),
            ("1.25e-3", "0.00125"),
            ("99999999999999999999999999999999999999", "99999999999999999999999999999999999999"),
            ("0.12345678901234567890123456789", "0.1234567890123456789012345679"),
        ] {
            assert_eq!(cell(given).to_string(), written, "{given}");
        }
        for none in [
            "", "-", ".", "-.", "1e", "1e999", "NaN", "inf", "1,5", "1 ", "0x1", "１", "1e40", "--1", "1.2.3",
        ] {
            assert!(Decimal::of_cell(none).is_none(), "{none:?}");
        }
    }

    #[test]
    fn a_tenth_ten_times_is_one() {
        let tenth = Decimal::from_f64(0.1).unwrap();
        let sum = (0..10).try_fold(Decimal::from(0), |sum, _| sum.checked_add(&tenth)).unwrap();
        assert_eq!(sum, Decimal::from(1));
    }

    #[test]
    fn halves_go_away_from_zero() {
        for (given, decimals, rounded) in
            [("2.5", 0, "3"), ("-2.5", 0, "-3"), ("2.449", 1, "2.4"), ("7", 2, "7.00"), ("0.005", 2, "0.01")]
        {
            assert_eq!(cell(given).rounded(decimals).to_string(), rounded, "{given}");
        }
        assert_eq!(cell("0.256").hundredfold().to_string(), "25.6");
        assert_eq!(cell("0.5").hundredfold().to_string(), "50");
    }

    #[test]
    fn what_a_total_cannot_hold_is_none_and_never_a_panic() {
        let most = cell("170141183460469231731687303715884105727");
        assert!(most.checked_add(&Decimal::from(1)).is_none());
        assert!(most.checked_add(&cell("0.1")).is_none());
        assert_eq!(most.rounded(5).to_string(), most.to_string());
        assert!(Decimal::from_f64(f64::NAN).is_none() && Decimal::from_f64(1e300).is_none());
        assert_eq!(Decimal::from_f64(1e-300).unwrap(), Decimal::from(0));
        // A filter compares what no total can add.
        let beyond = [
            "1e999999999999999999999",
            "-1e-999999999999999999999",
            "1234567890123456789012345678901234567890",
        ];
        for long in beyond.map(json) {
            assert!(long.checked_add(&Decimal::from(1)).is_none());
            assert!(long.to_string().len() < 50 && !long.rounded(2).hundredfold().to_string().is_empty());
        }
    }

    proptest! {
        #[test]
        fn it_agrees_with_integers(a: i64, b: i64) {
            prop_assert_eq!(json(&a.to_string()).cmp(&json(&b.to_string())), a.cmp(&b));
            let sum = Decimal::from(a).checked_add(&cell(&b.to_string())).unwrap();
            prop_assert_eq!(sum.to_string(), (i128::from(a) + i128::from(b)).to_string());
        }

        #[test]
        fn it_agrees_with_floats(a in -1e9..1e9f64, b in -1e9..1e9f64) {
            prop_assert_eq!(json(&a.to_string()).cmp(&json(&b.to_string())), a.total_cmp(&b));
        }

        #[test]
        fn floats_survive_the_way_there_and_back(value in -1e12..1e12f64) {
            prop_assert_eq!(Decimal::from_f64(value).unwrap().to_f64(), value);
        }

        #[test]
        fn it_reads_every_json_number_and_no_text_panics(text in "-?[0-9]{1,6}(\\.[0-9]{1,4})?([eE][-+]?[0-9]{1,2})?|[-+0-9.eE]{0,60}|\\PC{0,20}") {
            let read = Decimal::of_json(&text);
            let is_number = serde_json::from_str::<serde_json::Number>(&text).is_ok() && text.trim() == text;
            prop_assert!(read.is_some() || !is_number, "{text:?} is a JSON number");
            if let Some(number) = Decimal::of_cell(&text) {
                prop_assert_eq!(Decimal::of_cell(&number.to_string()).unwrap(), number.clone());
                prop_assert!(!number.rounded(3).hundredfold().to_string().is_empty());
                prop_assert!(read.is_none_or(|read| read == number || number.decimals() == MOST_DECIMALS));
            }
        }
    }
}

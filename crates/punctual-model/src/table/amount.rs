//! Decimal numbers that add up exactly: a total over prices must not end in `.99999`.

use std::fmt;

/// The most digits behind the point.
const MOST_DECIMALS: u32 = 28;

/// An exact decimal number of up to 38 digits: `unscaled / 10^scale`.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    unscaled: i128,
    scale: u32,
}

impl Amount {
    /// Reads `-12.50` or `1.2e3`. More decimals than 28 are rounded; what is too large or no number is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (negative, digits) = match mantissa.as_bytes().first()? {
            b'-' => (true, &mantissa[1..]),
            b'+' => (false, &mantissa[1..]),
            _ => (false, mantissa),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() && fraction.is_empty() || exponent.abs() > 400 {
            return None;
        }
        let mut unscaled: i128 = 0;
        for digit in whole.bytes().chain(fraction.bytes()) {
            let digit = digit.is_ascii_digit().then(|| i128::from(digit - b'0'))?;
            unscaled = unscaled.checked_mul(10)?.checked_add(digit)?;
        }
        let scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
        let unscaled = if negative { -unscaled } else { unscaled };
        if scale < 0 {
            let factor = 10i128.checked_pow(scale.unsigned_abs())?;
            return Some(Self { unscaled: unscaled.checked_mul(factor)?, scale: 0 });
        }
        let whole = Self { unscaled, scale: scale.unsigned_abs() };
        Some(if whole.scale > MOST_DECIMALS { whole.rounded(MOST_DECIMALS) } else { whole })
    }

    /// The shortest decimal that means this float; none for what is not finite or too large.
    pub fn from_f64(value: f64) -> Option<Self> {
        value.is_finite().then(|| Self::parse(&format!("{value:e}"))).flatten()
    }

    /// The nearest float: good for drawing and for spreadsheets, not for sums.
    pub fn to_f64(self) -> f64 {
        // Through the text, so that 0.1 is the float that is written 0.1.
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// Exact; none where the sum has more than 38 digits.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let scale = self.scale.max(other.scale);
        let unscaled = self.at_scale(scale)?.checked_add(other.at_scale(scale)?)?;
        Some(Self { unscaled, scale })
    }

    fn at_scale(self, scale: u32) -> Option<i128> {
        self.unscaled.checked_mul(10i128.checked_pow(scale.checked_sub(self.scale)?)?)
    }

    /// With exactly so many decimals; half goes away from zero.
    #[must_use]
    pub fn rounded(self, decimals: u32) -> Self {
        if self.scale <= decimals {
            return self.at_scale(decimals).map_or(self, |unscaled| Self { unscaled, scale: decimals });
        }
        // Beyond 38 digits nothing is left of any number.
        let Some(divisor) = 10i128.checked_pow(self.scale - decimals) else {
            return Self { unscaled: 0, scale: decimals };
        };
        let (quotient, rest) = (self.unscaled / divisor, self.unscaled % divisor);
        let up = if rest.abs() >= divisor - rest.abs() { self.unscaled.signum() } else { 0 };
        Self { unscaled: quotient + up, scale: decimals }
    }

    /// A hundred times as much, for shares.
    #[must_use]
    pub fn hundredfold(self) -> Self {
        match self.scale {
            0 => self.unscaled.checked_mul(100).map_or(self, |unscaled| Self { unscaled, scale: 0 }),
            1 => self.unscaled.checked_mul(10).map_or(self, |unscaled| Self { unscaled, scale: 0 }),
            more => Self { unscaled: self.unscaled, scale: more - 2 },
        }
    }

    /// How many digits are behind the point.
    pub fn decimals(self) -> u32 {
        self.scale
    }

    /// The same value without zeros at its end.
    fn shortest(self) -> Self {
        let mut short = self;
        while short.scale > 0 && short.unscaled % 10 == 0 {
            short = Self { unscaled: short.unscaled / 10, scale: short.scale - 1 };
        }
        short
    }
}

impl From<i64> for Amount {
    fn from(value: i64) -> Self {
        Self { unscaled: i128::from(value), scale: 0 }
    }
}

impl PartialEq for Amount {
    /// By value: 1.50 is 1.5.
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (self.shortest(), other.shortest());
        (a.unscaled, a.scale) == (b.unscaled, b.scale)
    }
}

impl fmt::Display for Amount {
    /// Plain digits with a point, all decimals it has.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.unscaled < 0 { "-" } else { "" };
        let digits = self.unscaled.unsigned_abs().to_string();
        let decimals = self.scale as usize;
        if decimals == 0 {
            return write!(f, "{sign}{digits}");
        }
        let digits = format!("{digits:0>width$}", width = decimals + 1);
        let (whole, fraction) = digits.split_at(digits.len() - decimals);
        write!(f, "{sign}{whole}.{fraction}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn amount(text: &str) -> Amount {
        Amount::parse(text).unwrap_or_else(|| panic!("{text} is a number"))
    }

    #[test]
    fn numbers_are_read_and_written_exactly() {
        for (given, written) in [
            ("12.50", "12.50"),
            ("-0.07", "-0.07"),
            ("+3", "3"),
            (".5", "0.5"),
            ("1.2e3", "1200"),
            ("1.25e-3", "0.00125"),
            ("99999999999999999999999999999999999999", "99999999999999999999999999999999999999"),
            ("0.12345678901234567890123456789", "0.1234567890123456789012345679"),
        ] {
            assert_eq!(amount(given).to_string(), written, "{given}");
        }
        for none in ["", "-", ".", "1e", "1e999", "NaN", "inf", "1,5", "1 ", "0x1", "１", "1e40", "--1"] {
            assert!(Amount::parse(none).is_none(), "{none:?}");
        }
    }

    #[test]
    fn a_tenth_ten_times_is_one() {
        let tenth = Amount::from_f64(0.1).unwrap();
        let sum = (0..10).try_fold(Amount::from(0), |sum, _| sum.checked_add(tenth)).unwrap();
        assert_eq!(sum, Amount::from(1));
    }

    #[test]
    fn halves_go_away_from_zero() {
        for (given, decimals, rounded) in
            [("2.5", 0, "3"), ("-2.5", 0, "-3"), ("2.449", 1, "2.4"), ("7", 2, "7.00"), ("0.005", 2, "0.01")]
        {
            assert_eq!(amount(given).rounded(decimals).to_string(), rounded, "{given}");
        }
        assert_eq!(amount("0.256").hundredfold().to_string(), "25.6");
        assert_eq!(amount("0.5").hundredfold().to_string(), "50");
    }

    #[test]
    fn what_does_not_fit_is_none_and_never_a_panic() {
        let most = amount("170141183460469231731687303715884105727");
        assert!(most.checked_add(Amount::from(1)).is_none());
        assert!(most.checked_add(amount("0.1")).is_none());
        assert_eq!(most.rounded(5).to_string(), most.to_string());
        assert!(Amount::from_f64(f64::NAN).is_none() && Amount::from_f64(1e300).is_none());
        assert_eq!(Amount::from_f64(1e-300).unwrap(), Amount::from(0));
    }

    proptest! {
        #[test]
        fn floats_survive_the_way_there_and_back(value in -1e12..1e12f64) {
            prop_assert_eq!(Amount::from_f64(value).unwrap().to_f64(), value);
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in "[-+0-9.eE]{0,60}|\\PC{0,20}") {
            if let Some(amount) = Amount::parse(&text) {
                prop_assert_eq!(Amount::parse(&amount.to_string()).unwrap(), amount);
                prop_assert!(!amount.rounded(3).hundredfold().to_string().is_empty());
            }
        }
    }
}

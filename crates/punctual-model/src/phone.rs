//! Phone numbers in E.164 format: the country code and digits only.

/// What people put between the digits; it is left out.
const BETWEEN: &[char] = &[' ', '\u{a0}', '-', '.', '(', ')', '/'];

/// A phone number such as `+49301234567`. No country is ever assumed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Phone(String);

/// A text that is no phone number with its country's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no phone number with its country's code; write it as +49301234567")]
pub struct InvalidPhone;

impl Phone {
    /// Reads `+49 30 1234567` and its like: a plus sign, then 7 to 15 digits of which the first is not zero.
    pub fn parse(text: &str) -> Result<Self, InvalidPhone> {
        let rest = text.trim_matches(' ').strip_prefix('+').ok_or(InvalidPhone)?;
        let plain: String = rest.chars().filter(|c| !BETWEEN.contains(c)).collect();
        let is_number = (7..=15).contains(&plain.len())
            && plain.bytes().all(|b| b.is_ascii_digit())
            && !plain.starts_with('0');
        if is_number { Ok(Self(format!("+{plain}"))) } else { Err(InvalidPhone) }
    }

    /// With its plus sign.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Without it, as some providers want.
    pub fn digits(&self) -> &str {
        &self.0[1..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_its_country_and_7_to_15_digits() {
        for (text, expected) in [
            ("+49301234567", Some("+49301234567")),
            ("+49 30 123-4567", Some("+49301234567")),
            (" +1 (415) 555.2671 ", Some("+14155552671")),
            ("+6834001", Some("+6834001")),
            ("+123456789012345", Some("+123456789012345")),
            ("+1234567890123456", None),
            ("+123456", None),
            ("+0301234567", None),
            ("030 1234567", None),
            ("0049301234567", None),
            ("+", None),
            ("", None),
            ("++49301234567", None),
            ("+49301234567x5", None),
            ("+49\n301234567", None),
            ("+49\u{0663}01234567", None),
            ("+49301234567,+49301234568", None),
        ] {
            assert_eq!(Phone::parse(text).ok().as_ref().map(Phone::as_str), expected, "{text:?}");
        }
        assert_eq!(Phone::parse("+64 21 555 0199").unwrap().digits(), "64215550199");
    }
}

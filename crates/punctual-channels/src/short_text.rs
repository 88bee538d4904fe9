//! Shared code of SMS and WhatsApp: one short text to one phone.

use punctual_model::{Outgoing, Phone, ReasonCode, SendOutcome, Setting, adapter_settings::Section};

use crate::{http::permanent, settings::Reader};

/// The setting that says which parts of a message make up its text.
pub(crate) const TEXT: Setting = Setting::choice(
    "text",
    "Text",
    "the parts of a message that are sent",
    &[
        ("body", "the body, or the subject where it is empty"),
        ("subject", "the subject"),
        ("both", "subject and body"),
    ],
)
.section(Section::Content);

/// Which parts of a message make up its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// The body; the subject where it is empty.
    Body,
    Subject,
    Both,
}

impl Text {
    /// The setting `text`.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Self {
        let choices = [("body", Self::Body), ("subject", Self::Subject), ("both", Self::Both)];
        reader.choice("text", &choices).unwrap_or(Self::Body)
    }

    /// The text of a message, of at most so many characters.
    pub(crate) fn of(self, message: &Outgoing, most: usize) -> Result<String, SendOutcome> {
        let (subject, body) = (message.subject.trim(), message.body.trim());
        let text = match self {
            Self::Subject => subject.to_owned(),
            Self::Body if body.is_empty() => subject.to_owned(),
            Self::Body => body.to_owned(),
            Self::Both if subject.is_empty() || body.is_empty() => format!("{subject}{body}"),
            Self::Both => format!("{subject}\n{body}"),
        };
        let length = text.chars().count();
        if length == 0 {
            return Err(permanent(ReasonCode::ContentRefused, "there is no text to send"));
        }
        if length > most {
            let error = format!("the text has {length} characters of at most {most}");
            return Err(permanent(ReasonCode::MessageTooLarge, &error));
        }
        Ok(text)
    }
}

/// The number that a message goes to.
pub(crate) fn number(address: &str) -> Result<Phone, SendOutcome> {
    Phone::parse(address).map_err(|fault| permanent(ReasonCode::PhoneInvalid, &fault.to_string()))
}

pub(crate) fn check_number(address: &str) -> Result<(), String> {
    Phone::parse(address).map(drop).map_err(|fault| fault.to_string())
}

/// What people see as the sender of a text: a number, a short code, or a name of at most 11 letters and digits.
pub(crate) fn is_sender(text: &str) -> bool {
    let short_code = (3..=8).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    let name = (1..=11).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b' ')
        && text.bytes().any(|b| b.is_ascii_alphabetic());
    short_code || name || Phone::parse(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_is_a_number_a_short_code_or_a_name() {
        for good in ["+49301234567", "12345", "Punctual", "Shop 24", "123456A"] {
            assert!(is_sender(good), "{good}");
        }
        for bad in ["", "12", "123456789", "Far too long a name", "Büro", "a\nb", "+49"] {
            assert!(!is_sender(bad), "{bad:?}");
        }
    }
}

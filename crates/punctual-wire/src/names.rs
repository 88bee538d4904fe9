//! Names, keys, ids and tags: what form they have, wherever they are, in a field or in a path.

use jiff::tz;

use crate::{limits::SITE_ID_MAX, nearest::nearest, problem::FieldError};

/// Whether a part of an address, as it is sent, has the character NUL.
pub fn has_nul(part: &str) -> bool {
    part.contains("%00")
}

/// The fault of a name or key, wherever it is: in a field or in a path.
pub fn name_fault(text: &str, longest: usize, pointer: &dyn Fn() -> String) -> Option<FieldError> {
    if text.is_empty() {
        Some(FieldError::key_invalid(pointer(), "it is empty"))
    } else if text.len() > longest {
        Some(FieldError::key_invalid(
            pointer(),
            format_args!("it has {} bytes of at most {longest}", text.len()),
        ))
    } else if text.chars().any(char::is_control) {
        Some(FieldError::key_invalid(pointer(), "it has a control character"))
    } else if matches!(text, "." | "..") {
        // Every library that reads addresses takes these as a step, also when they are escaped: nothing could name it in a path.
        Some(FieldError::key_invalid(pointer(), "`.` and `..` cannot be in an address"))
    } else {
        None
    }
}

/// The fault of a channel's key, `type:name`.
pub fn channel_fault(text: &str, pointer: &dyn Fn() -> String) -> Option<FieldError> {
    let word = |part: &str| {
        (1..=64).contains(&part.len())
            && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b))
    };
    if text.split_once(':').is_some_and(|(kind, name)| word(kind) && word(name)) {
        return None;
    }
    let why = "a channel is `type:name`, both of 1 to 64 lower-case letters, digits, `-`, `_` or `.`, \
               such as `email:default`";
    Some(FieldError::key_invalid(pointer(), why))
}

/// The fault of a site's id, which appears in paths and file names.
pub fn site_fault(text: &str, pointer: &dyn Fn() -> String) -> Option<FieldError> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    let starts = text.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric);
    if starts && text.len() <= SITE_ID_MAX && text.bytes().all(plain) {
        return None;
    }
    let why = format!(
        "a site is 1 to {SITE_ID_MAX} letters, digits, `-`, `_` or `.`, beginning with a letter or digit, such as `plant-7`"
    );
    Some(FieldError::key_invalid(pointer(), why))
}

/// The fault of a language tag such as `en` or `ar-IQ`.
pub fn locale_fault(text: &str, pointer: &dyn Fn() -> String) -> Option<FieldError> {
    let mut parts = text.split('-');
    let language = parts.next().unwrap_or_default();
    let language_ok = (2..=8).contains(&language.len()) && language.bytes().all(|b| b.is_ascii_alphabetic());
    let rest_ok =
        parts.all(|part| (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric()));
    if language_ok && rest_ok && text.len() <= 35 {
        return None;
    }
    Some(FieldError::key_invalid(pointer(), "a locale is a language tag such as `en` or `ar-IQ`"))
}

/// A GUID in its usual spelling, from one with or without hyphens.
pub fn guid(text: &str) -> Option<String> {
    let hyphens_ok = match text.len() {
        32 => !text.contains('-'),
        36 => text.bytes().enumerate().all(|(i, byte)| (byte == b'-') == matches!(i, 8 | 13 | 18 | 23)),
        _ => false,
    };
    if !hyphens_ok || !text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut guid = text.to_ascii_lowercase();
    if guid.len() == 32 {
        [20, 16, 12, 8].into_iter().for_each(|at| guid.insert(at, '-'));
    }
    Some(guid)
}

/// Whether a text is valid in a header: no line breaks, no control characters but tab.
pub fn is_one_line(text: &str) -> bool {
    !text.chars().any(|c| (c.is_control() && c != '\t') || matches!(c, '\u{2028}' | '\u{2029}'))
}

/// Names the zones nearest to what was written, by whole name first, then by city: `Berlin` is `Europe/Berlin`.
pub fn zone_unknown(pointer: String, text: &str) -> FieldError {
    let names: Vec<String> = tz::db().available().map(|name| name.as_str().to_owned()).collect();
    let names = || names.iter().map(String::as_str);
    let mut near = nearest(text, names(), 3);
    if near.is_empty() {
        let city = |name: &'_ str| name.rsplit('/').next().unwrap_or_default().to_owned();
        let asked = city(text);
        near = names()
            .filter(|name| !nearest(&asked, std::iter::once(city(name).as_str()), 1).is_empty())
            .take(3)
            .collect();
    }
    FieldError::zone_unknown(pointer, text, &near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guid_has_one_spelling() {
        let usual = Some("0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071".to_owned());
        assert_eq!(guid("0197A3C4-5D6E-7F80-9A1B-2C3D4E5F6071"), usual);
        assert_eq!(guid("0197a3c45d6e7f809a1b2c3d4e5f6071"), usual);
        for bad in ["", "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f607g", "0197a3c45-d6e-7f80-9a1b-2c3d4e5f6071", "ä"]
        {
            assert_eq!(guid(bad), None, "{bad}");
        }
    }
}

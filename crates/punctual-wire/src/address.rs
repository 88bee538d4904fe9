//! Addresses of recipients, as far as their form can be judged without asking anyone.
//!
//! Every address is free of control characters, because some channel puts it into a header. Mail addresses and phone
//! numbers are checked further, and a room (Teams, Slack) is a name and never a URL, because that URL is a secret of
//! the channel. What a provider makes of an address is for the channel to find out.

use punctual_model::Phone;

use crate::{
    limits::{ADDRESS_MAX, MAIL_ADDRESS_MAX},
    problem::FieldError,
};

/// The fault of one address for a channel or list of type `kind`, if it has one.
pub fn fault(kind: Option<&str>, address: &str, pointer: impl FnOnce() -> String) -> Option<FieldError> {
    if let Some(why) = reason(address) {
        return Some(FieldError::address_invalid(pointer(), address, why));
    }
    let why = match kind {
        Some("email") => mail_reason(address)?,
        Some("sms" | "whatsapp") => {
            return Phone::parse(address)
                .err()
                .map(|_| FieldError::phone_invalid(pointer(), address, "none"));
        }
        Some("teams" | "slack") => room_reason(address)?,
        _ => return None,
    };
    Some(FieldError::address_invalid(pointer(), address, why))
}

/// An address as it is kept: of two spellings of one number only one gets the message.
pub fn normal(kind: Option<&str>, address: &str) -> String {
    match kind {
        Some("sms" | "whatsapp") => {
            Phone::parse(address).map_or_else(|_| address.to_owned(), |phone| phone.as_str().to_owned())
        }
        _ => address.to_owned(),
    }
}

fn room_reason(address: &str) -> Option<&'static str> {
    if address.contains("://") {
        Some(
            "the URL belongs into the channel's settings, where it is kept secret; a target is a name such as `ops`",
        )
    } else if address.len() > 200 {
        Some("a name has at most 200 bytes")
    } else {
        None
    }
}

fn reason(address: &str) -> Option<&'static str> {
    if address.trim().is_empty() {
        Some("it is empty")
    } else if address.chars().any(|c| c == '\n' || c == '\r') {
        Some("it has a line break")
    } else if address.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')) {
        Some("it has a control character")
    } else if address.len() > ADDRESS_MAX {
        Some("it is longer than 2,048 bytes")
    } else {
        None
    }
}

/// A plain `local@domain`. Quoted local parts, comments and display names are refused: hardly anyone has such an
/// address, and each of them is a way into a header.
fn mail_reason(address: &str) -> Option<&'static str> {
    let Some((local, domain)) = address.rsplit_once('@') else { return Some("it has no `@`") };
    let local_ok = (1..=64).contains(&local.len())
        && !local.starts_with('.')
        && !local.ends_with('.')
        && !local.contains("..")
        && local
            .chars()
            .all(|c| !c.is_ascii() || c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.".contains(c));
    if address.len() > MAIL_ADDRESS_MAX {
        Some("it is longer than 320 bytes")
    } else if !local_ok {
        Some("the part before the `@` is not valid")
    } else if !domain_ok(domain) {
        Some("the domain is not valid")
    } else {
        None
    }
}

fn domain_ok(domain: &str) -> bool {
    let label_ok = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| {
                if c.is_ascii() { c.is_ascii_alphanumeric() || c == '-' } else { c.is_alphanumeric() }
            })
    };
    let literal_ok = |literal: &str| {
        literal.parse::<std::net::Ipv4Addr>().is_ok()
            || literal.strip_prefix("IPv6:").is_some_and(|v6| v6.parse::<std::net::Ipv6Addr>().is_ok())
    };
    match domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(literal) => literal_ok(literal),
        None => domain.len() <= 255 && domain.split('.').all(label_ok),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(kind: &str, address: &str, expected: Option<&str>) {
        let fault = fault(Some(kind), address, || "/targets/0".into());
        match (&fault, expected) {
            (None, None) => {}
            (Some(fault), Some(expected)) => assert!(fault.detail.contains(expected), "{fault:?}"),
            _ => panic!("{address:?}: {fault:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn mail_addresses_are_plain() {
        for good in [
            "a@b.example",
            "a@localhost",
            "first.last+tag@sub.example.org",
            "o'brien@example.org",
            "jürgen@müller.example",
            "a@[192.0.2.1]",
            "a@[IPv6:2001:db8::1]",
        ] {
            check("email", good, None);
        }
        check("email", "ops", Some("no `@`"));
        check("email", "@b.example", Some("before the `@`"));
        check("email", ".a@b.example", Some("before the `@`"));
        check("email", "a..b@b.example", Some("before the `@`"));
        check("email", "a b@b.example", Some("before the `@`"));
        check("email", "a@b@c.example", Some("before the `@`"));
        check("email", "a,b@c.example", Some("before the `@`"));
        check("email", "\"a\"@b.example", Some("before the `@`"));
        check("email", "Ann <a@b.example>", Some("before the `@`"));
        check("email", "a@b..example", Some("domain"));
        check("email", "a@-b.example", Some("domain"));
        check("email", "a@b.example>", Some("domain"));
        check("email", "a@[::1]", Some("domain"));
        check("email", &format!("a@{}.example", "b".repeat(400)), Some("320"));
    }

    #[test]
    fn a_phone_number_has_its_country_and_is_kept_in_one_spelling() {
        for kind in ["sms", "whatsapp"] {
            check(kind, "+49 30 1234567", None);
            check(kind, "030 1234567", Some("write it as `+49301234567`"));
            check(kind, "ops", Some("no valid phone number"));
            let fault = fault(Some(kind), "12", || "/targets/0".into()).unwrap();
            assert_eq!((fault.code.as_str(), fault.pointer.as_str()), ("phone_invalid", "/targets/0"));
            assert_eq!(normal(Some(kind), "+49 (30) 123-4567"), "+49301234567");
        }
        assert_eq!(normal(Some("memory"), "+49 30"), "+49 30");
    }

    #[test]
    fn a_room_is_a_name_and_no_url() {
        for kind in ["teams", "slack"] {
            check(kind, "Ops #1", None);
            check(kind, "https://hooks.slack.com/services/T/B/x", Some("kept secret"));
            check(kind, &"x".repeat(201), Some("200"));
        }
    }

    #[test]
    fn other_addresses_need_only_be_printable() {
        check("webhook", "https://example.org/a?b=c", None);
        check("sms", " ", Some("empty"));
        check("sms", "1\r\n2", Some("line break"));
        check("sms", "1\u{7}2", Some("control character"));
        check("webhook", &"x".repeat(3_000), Some("2,048"));
    }

    proptest! {
        #[test]
        fn an_accepted_mail_address_cannot_break_a_header(address in "\\PC{0,6}[ -~\r\n\t]{0,12}@[ -~\r\n]{0,12}") {
            if fault(Some("email"), &address, String::new).is_none() {
                prop_assert!(!address.contains(['\r', '\n', ' ', '<', '>', ',', ';', ':', '"', '(', ')', '\\'])
                    || address.contains("@[IPv6:"));
            }
        }
    }
}

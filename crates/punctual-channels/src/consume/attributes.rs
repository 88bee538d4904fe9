//! Attributes of CloudEvents in the headers of a message, as the protocols' bindings name them.

/// What stands before the name of an attribute: NATS as HTTP has it, AMQP 1.0 with a colon, or with an underscore for clients that
/// cannot write one. AMQP 0.9.1 has no binding of its own; its producers use any of these.
const PREFIXES: [&str; 3] = ["ce-", "cloudEvents:", "cloudEvents_"];

/// The attribute that a header carries, if it carries one.
pub(super) fn attribute(header: &str) -> Option<String> {
    let prefixed = |prefix: &&str| {
        let (start, name) = header.split_at_checked(prefix.len())?;
        start.eq_ignore_ascii_case(prefix).then(|| name.to_ascii_lowercase())
    };
    PREFIXES.iter().find_map(prefixed).filter(|name| !name.is_empty())
}

/// The text of a header in which what is not visible ASCII is percent-encoded UTF-8; why not where it is none.
#[cfg(feature = "nats")]
pub(super) fn percent_decoded(header: &str, text: &str) -> Result<String, String> {
    let decoded = || {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.bytes();
        while let Some(byte) = rest.next() {
            if byte != b'%' {
                bytes.push(byte);
                continue;
            }
            let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
            bytes.push(digit(rest.next()?)? * 16 + digit(rest.next()?)?);
        }
        String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
    };
    let refused = || format!("The header `{header}` is not percent-encoded UTF-8, or has the character NUL.");
    decoded().ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_is_named_as_the_bindings_name_it() {
        for (header, expected) in [
            ("ce-id", Some("id")),
            ("CE-Type", Some("type")),
            ("cloudEvents:source", Some("source")),
            ("cloudEvents_specversion", Some("specversion")),
            ("ce-", None),
            ("content-type", None),
            ("cé-id", None),
            ("c", None),
        ] {
            assert_eq!(attribute(header).as_deref(), expected, "{header}");
        }
    }

    #[cfg(feature = "nats")]
    #[test]
    fn values_are_percent_decoded() {
        let decoded = |text| percent_decoded("ce-id", text).ok();
        assert_eq!(decoded("Euro%20%E2%82%AC").as_deref(), Some("Euro €"));
        for wrong in ["%", "%e", "%zz", "%FF", "%00"] {
            assert_eq!(decoded(wrong), None, "{wrong}");
        }
    }
}

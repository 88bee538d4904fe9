//! Text from the other side, made fit for an error message.

/// The longest piece of an answer that an error keeps.
const LONGEST: usize = 500;

/// One line without control characters, not too long.
pub(crate) fn tidy(text: &str) -> String {
    let mut line = String::new();
    for word in text.split(|c: char| c.is_control() || c.is_whitespace()).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > LONGEST {
            line.truncate(line.floor_char_boundary(LONGEST));
            line.push('…');
            break;
        }
    }
    line
}

/// Whether a text is valid in a header: one line and no control characters.
pub(crate) fn is_header_text(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() && c != '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_becomes_one_short_line() {
        assert_eq!(tidy(" 550\r\n  no\0such\tuser "), "550 no such user");
        assert_eq!(tidy(""), "");
        let long = tidy(&"é".repeat(10_000));
        assert!(long.len() <= LONGEST + 4 && long.ends_with('…'));
    }

    #[test]
    fn a_header_text_has_no_line_break() {
        assert!(is_header_text("Grüße \t!"));
        for bad in ["a\r", "a\nb", "\0", "\u{85}", "\u{7f}"] {
            assert!(!is_header_text(bad), "{bad:?}");
        }
    }
}

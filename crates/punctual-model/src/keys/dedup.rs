//! The deduplication text of a survey event, and its hash.
//!
//! It is `path=value` for each path of the recipe, in the recipe's order, joined by U+001F. A value could contain the
//! separator, so `\` and U+001F are escaped with a backslash; in paths, `=` is escaped too, because the first plain `=` ends
//! the path.

use sha2::{Digest, Sha256};

/// Between two slots: the unit separator.
const SEPARATOR: char = '\u{1f}';

/// Writes a value so that it cannot be taken for two slots.
pub fn escape_part(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    push_escaped(&mut text, value, &['\\', SEPARATOR]);
    text
}

/// The text for these pairs of path and value.
pub fn dedup_text<P: AsRef<str>, V: AsRef<str>>(pairs: &[(P, V)]) -> String {
    let bytes = pairs.iter().map(|(path, value)| path.as_ref().len() + value.as_ref().len() + 2).sum();
    let mut text = String::with_capacity(bytes);
    for (at, (path, value)) in pairs.iter().enumerate() {
        if at > 0 {
            text.push(SEPARATOR);
        }
        push_escaped(&mut text, path.as_ref(), &['\\', SEPARATOR, '=']);
        text.push('=');
        push_escaped(&mut text, value.as_ref(), &['\\', SEPARATOR]);
    }
    text
}

/// The SHA-256 of [`dedup_text`], as it is stored.
pub fn dedup_hash<P: AsRef<str>, V: AsRef<str>>(pairs: &[(P, V)]) -> [u8; 32] {
    Sha256::digest(dedup_text(pairs)).into()
}

fn push_escaped(text: &mut String, part: &str, special: &[char]) {
    let mut rest = part;
    while let Some(at) = rest.find(special) {
        let (plain, from) = rest.split_at(at);
        text.push_str(plain);
        text.push('\\');
        let mut characters = from.chars();
        text.extend(characters.next());
        rest = characters.as_str();
    }
    text.push_str(rest);
}

//! YAML for files that people read: texts of several lines as they are, everything else on one line, always the same bytes.
//!
//! It is read by a library. It is written here, because what is written must not change with a version of one, or every file
//! in a repository would.

use std::fmt::Write;

use serde_json::Value;

/// Words that some reader takes for something else than text.
const WORDS: [&str; 12] = ["true", "false", "yes", "no", "on", "off", "y", "n", "null", "none", "nan", "inf"];

/// What a file says.
pub fn read(text: &str) -> Result<Value, String> {
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())
}

/// A value as YAML, with a line break at the end.
pub fn write(value: &Value) -> String {
    let mut text = String::new();
    match value {
        Value::Object(fields) if !fields.is_empty() => object(&mut text, value, 0),
        Value::Array(items) if !items.is_empty() => array(&mut text, value, 0),
        other => {
            text.push_str(&scalar(other));
            text.push('\n');
        }
    }
    text
}

fn object(text: &mut String, value: &Value, depth: usize) {
    for (at, (name, value)) in value.as_object().into_iter().flatten().enumerate() {
        // The first field of an item is on the line of its dash.
        if at > 0 || !text.ends_with("- ") {
            indent(text, depth);
        }
        let name = if is_plain(name) && !name.contains(':') { name.clone() } else { quoted(name) };
        let _ = write!(text, "{name}:");
        after_colon(text, value, depth);
    }
}

fn after_colon(text: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            text.push('\n');
            object(text, value, depth + 1);
        }
        Value::Array(items) if !items.is_empty() => {
            text.push('\n');
            array(text, value, depth + 1);
        }
        Value::String(lines) if is_block(lines) => block(text, lines, depth + 1),
        other => {
            let _ = writeln!(text, " {}", scalar(other));
        }
    }
}

fn array(text: &mut String, value: &Value, depth: usize) {
    for value in value.as_array().into_iter().flatten() {
        indent(text, depth);
        text.push('-');
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                text.push(' ');
                object(text, value, depth + 1);
            }
            other => after_colon(text, other, depth),
        }
    }
}

fn block(text: &mut String, lines: &str, depth: usize) {
    text.push_str(if lines.ends_with('\n') { " |\n" } else { " |-\n" });
    for line in lines.lines() {
        if !line.is_empty() {
            indent(text, depth);
            text.push_str(line);
        }
        text.push('\n');
    }
}

fn indent(text: &mut String, depth: usize) {
    text.extend(std::iter::repeat_n("  ", depth));
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) if is_plain(text) => text.clone(),
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

/// As JSON, which is YAML too, with what a reader of YAML may not see as it is.
fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for letter in Value::from(text).to_string().chars() {
        match letter {
            '\u{7f}'..='\u{a0}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(letter));
            }
            letter => quoted.push(letter),
        }
    }
    quoted
}

/// Whether every reader takes it for this text without quotes.
fn is_plain(text: &str) -> bool {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || "_./@+-".contains(letter);
    let starts = text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '/');
    let ends = text.ends_with(is_word);
    let inside = text.split(' ').all(|word| {
        !word.is_empty()
            && !word.ends_with(':')
            && word.chars().all(|letter| is_word(letter) || letter == ':')
    });
    starts && ends && inside && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

/// Whether it can be a block of lines: with nothing at the ends of lines that nobody sees.
fn is_block(text: &str) -> bool {
    let is_seen = |letter: char| {
        letter == '\n' || !(letter.is_control() || "\u{2028}\u{2029}\u{feff}".contains(letter))
    };
    text.trim_end_matches('\n').contains('\n')
        && !text.ends_with("\n\n")
        && !text.starts_with([' ', '\n'])
        && text.chars().all(is_seen)
        && text.split('\n').all(|line| line.trim_end() == line)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_definition_is_written_for_people() {
        let value = json!({ "type": "email", "targets": ["a@example.org", "no"], "body": "Hi {{ name }},\n\n  two\n", "empty": [],
            "at": "08:00", "port": 25, "secret": "env:SMTP", "rules": [{ "rule": { "a": 1 }, "b": "x: y" }, [1, "1"]], "field": "/a" });
        let expected = "at: \"08:00\"\nbody: |\n  Hi {{ name }},\n\n    two\nempty: []\nfield: /a\nport: 25\nrules:\n  - b: \"x: y\"\n    rule:\n      a: 1\n  -\n    - 1\n    - \"1\"\nsecret: env:SMTP\ntargets:\n  - a@example.org\n  - \"no\"\ntype: email\n";
        assert_eq!(write(&value), expected);
        assert_eq!(read(expected).unwrap(), value);
    }

    #[test]
    fn whatever_is_written_is_read_as_it_was() {
        let texts = [
            "",
            " ",
            "a",
            "a ",
            " a",
            "true",
            "No",
            "~",
            "null",
            "1",
            "1e3",
            "0x1f",
            "-",
            "- a",
            "a: b",
            "a:",
            ":a",
            "a #b",
            "#",
            "&a",
            "*a",
            "!a",
            "%",
            "@a",
            "`",
            "'",
            "\"",
            "\\",
            "a\nb",
            "a\nb\n",
            "a\nb\n\n",
            "\na\nb",
            " a\nb",
            "a \nb",
            "a\n b",
            "a\tb\nc",
            "a\r\nb",
            "\n",
            "\u{85}",
            "\u{2028}x\ny",
            "\u{feff}",
            "\u{0}",
            "名前\nх",
            "08:00",
            "2026-01-01",
            "---",
            "...",
            "a\n---\nb",
            "? a",
            "| a",
            "> a",
            "[a]",
            "{a}",
            "<<",
            "=",
            ".inf",
            ".nan",
            "a,b",
            "é",
            "/",
            "//a",
            "1_000",
            "0o7",
            "+1",
            "😀\n😀",
        ];
        for text in texts {
            let nested = json!({ "a": text, "b": [text, { "c": text, "d": [[text]] }], (format!("k{text}")): { (text): 1 } });
            let written = write(&nested);
            assert_eq!(
                read(&written).unwrap_or_else(|error| panic!("{text:?}: {error}\n{written}")),
                nested,
                "{written}"
            );
        }
        for value in [
            json!({}),
            json!([]),
            json!({ "a": {} }),
            json!(1.5),
            json!({ "a": null, "b": true, "c": -1, "d": 1e300, "e": u64::MAX, "f": 1.0 }),
        ] {
            assert_eq!(read(&write(&value)).unwrap(), value);
        }
    }

    #[test]
    fn what_yaml_reads_in_silence_is_refused() {
        assert!(read("a: 1\na: 2\n").is_err(), "a field twice");
        assert!(read("a: [1\n").is_err());
        assert_eq!(read("country: no\non: yes\n").unwrap(), json!({ "country": "no", "on": "yes" }));
    }
}

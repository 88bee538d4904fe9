//! House words: terms of our own for which the field has a word. `docs/glossary.md` has the terms that are used.
//!
//! Comments, texts, names in code, pages and templates are checked, those of tests too. What stands in code marks is not, nor is a text of
//! one word: stored names and those of the API stay as they are.

use crate::source::Source;

/// A house word or phrase, and what is written instead.
const HOUSE: &[(&str, &str)] = &[
    ("manners", "delivery policy"),
    ("minded", "the policy was applied"),
    ("spared", "not counted"),
    ("resting", "the circuit is open"),
    ("told", "published, called, returned, distinguished"),
    ("tells", "publishes, calls, returns, distinguishes"),
    ("hears", "subscribes, is called"),
    ("tries", "attempts"),
    ("chance", "randomness"),
    ("occasion", "key"),
    ("made ready", "prepared"),
    ("kept apart", "isolated"),
    ("looked at", "checked, read, shown"),
    ("put right", "repaired"),
    ("goes out", "is sent"),
    ("go out", "are sent"),
    ("in line again", "queued again"),
    ("back in line", "queued again"),
    ("needs a person", "needs attention"),
    ("need a person", "need attention"),
    ("moving over", "migration"),
    ("path broke", "the workflow panicked"),
    ("channel broke", "the channel panicked"),
    ("let us not in", "refused the credentials"),
];

/// Words that are plain English in a sentence, and house words in a name.
const IN_NAMES: &[(&str, &str)] =
    &[("tell", "publish, report, put"), ("heard", "received, subscribed"), ("ear", "listener")];

/// Where a house word may stand, and why.
const ALLOWED: &[(&str, &str)] = &[
    ("CHANGELOG.md", "says what was renamed, and from what"),
    ("crates/punctual-store/tests/it/upgrade.rs", "writes rows as the first edition did, with its columns"),
    ("xtask/src/words.rs", "lists them"),
];

/// Names with a house word that stay, and why.
const ALLOWED_NAMES: &[(&str, &str)] = &[("ToldAnotherWay", "a reason code that is stored and in the API")];

/// A line and what to write there.
type Found = (usize, String);

/// What is found in a Rust file.
pub fn in_source(path: &str, source: &Source) -> Vec<Found> {
    if is_allowed(path) {
        return Vec::new();
    }
    let comments = source.comments.iter().map(|(line, text)| (*line, text.as_str()));
    // A text is said to somebody; a single word is a name.
    let said = source.literals.iter().filter(|literal| literal.text.contains(' '));
    let texts = said.map(|literal| (literal.line, literal.text.as_str()));
    let mut found: Vec<_> = comments.chain(texts).flat_map(|(line, text)| in_text(line, text)).collect();
    for (line, code) in source.code.lines().enumerate() {
        found.extend(in_names(code).into_iter().map(|says| (line + 1, says)));
    }
    found.sort();
    found
}

/// House words in the names of a line of code: `was_told`, `WhenTold`, `TRIES`.
fn in_names(code: &str) -> Vec<String> {
    let names = code.split(|c: char| !c.is_alphanumeric() && c != '_');
    let is_kept = |name: &str| ALLOWED_NAMES.iter().any(|(kept, _)| *kept == name);
    let mut found = Vec::new();
    for name in names.filter(|name| !name.is_empty() && !is_kept(name)) {
        let words = words_of(name);
        let is_in = |house: &str| words.iter().any(|word| word == house);
        for (house, instead) in HOUSE.iter().chain(IN_NAMES).filter(|(house, _)| is_in(house)) {
            found.push(format!("`{name}` has \"{house}\", a word of this house; say: {instead}"));
        }
    }
    found
}

/// The words of a name, in small letters.
fn words_of(name: &str) -> Vec<String> {
    let is_constant = !name.chars().any(char::is_lowercase);
    let mut words = vec![String::new()];
    for c in name.chars() {
        if c == '_' || !is_constant && c.is_uppercase() {
            words.push(String::new());
        }
        if c != '_' {
            words.last_mut().expect("there is one").extend(c.to_lowercase());
        }
    }
    words
}

/// What is found in a page of the documentation, or in a template of the console.
pub fn in_page(path: &str, text: &str) -> Vec<Found> {
    if is_allowed(path) {
        return Vec::new();
    }
    let is_template = path.ends_with(".html");
    let mut in_block = false;
    let mut found = Vec::new();
    for (line, text) in text.lines().enumerate() {
        let is_fence = !is_template && text.trim_start().starts_with("```");
        in_block ^= is_fence;
        if is_template {
            found.extend(in_text(line + 1, &without_tags(text)));
        } else if !in_block && !is_fence {
            found.extend(in_text(line + 1, text));
        }
    }
    found
}

fn is_allowed(path: &str) -> bool {
    ALLOWED.iter().any(|(place, _)| path.starts_with(place))
}

/// House words in these lines, outside code marks.
fn in_text(first: usize, text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let words: String = line.split('`').step_by(2).collect::<Vec<_>>().join(" ` ").to_lowercase();
        for (house, instead) in HOUSE.iter().filter(|(house, _)| has_phrase(&words, house)) {
            found.push((first + at, format!("\"{house}\" is a word of this house; say: {instead}")));
        }
    }
    found
}

/// Whether the phrase is in the line, not as a part of other words.
fn has_phrase(line: &str, phrase: &str) -> bool {
    let is_inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    line.match_indices(phrase).any(|(at, _)| {
        !is_inside(line[..at].chars().next_back()) && !is_inside(line[at + phrase.len()..].chars().next())
    })
}

/// The line of a template without its tags and expressions.
fn without_tags(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut depth = 0_usize;
    for c in line.chars() {
        match c {
            '<' | '{' => depth += 1,
            '>' | '}' => depth = depth.saturating_sub(1),
            c if depth == 0 => kept.push(c),
            _ => {}
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn lines(path: &str, text: &str, expected: &[usize]) {
        let found =
            if path.ends_with(".rs") { in_source(path, &Source::parse(text)) } else { in_page(path, text) };
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn house_words_are_found_in_comments_and_texts() {
        for path in ["crates/punctual-engine/src/due.rs", "crates/punctual-api/tests/it/a.rs"] {
            lines(path, "/// Who is told.\n// `told` and retold\nlet a = \"told\";", &[1]);
            lines(path, "let a = \"Somebody\n  was told\";", &[2]);
            lines(path, "fn a() {}\n#[cfg(test)]\nmod tests { /* told */ }", &[3]);
        }
        lines("crates/punctual-store/tests/it/upgrade.rs", "// told", &[]);
    }

    #[test]
    fn house_words_are_found_in_names() {
        let text = "fn a_caller_is_told() {}\nWhenTold;\nconst TRIES: u8;\nretold; entries; Toldo;\nToldAnotherWay;\nfn tell() {}";
        lines("crates/punctual-api/tests/it/a.rs", text, &[1, 2, 3, 6]);
        lines("crates/punctual-api/src/a.rs", text, &[1, 2, 3, 6]);
    }

    #[test]
    fn house_words_are_found_in_pages() {
        lines(
            "docs/a.md",
            "It Needs a person.\n```\ntold\n```\n`told-another-way`, told-another-way\nIt goes out.",
            &[1, 6],
        );
        lines(
            "crates/punctual-console/templates/a.html",
            "<p id=\"told\">{{ told }}</p>\n<p>Goes out</p>",
            &[2],
        );
        lines("CHANGELOG.md", "told", &[]);
    }
}

//! House words: terms of our own for which the field has a word. `docs/glossary.md` has the terms that are used.
//!
//! Comments, texts, pages and templates are checked. Names in code are not, nor is what stands in code marks: stored names and those of the
//! API stay as they are. Tests are left out.

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

/// Where a house word may stand, and why.
const ALLOWED: &[(&str, &str)] =
    &[("CHANGELOG.md", "says what was renamed, and from what"), ("xtask/src/words.rs", "lists them")];

/// A line and what to write there.
type Found = (usize, String);

/// What is found in a Rust file.
pub fn in_source(path: &str, source: &Source) -> Vec<Found> {
    if is_allowed(path) || path.contains("/tests/") || path.ends_with("tests.rs") {
        return Vec::new();
    }
    let tests_from = source.code.find("#[cfg(test)]").map_or(usize::MAX, |at| source.line_of(at));
    let comments = source.comments.iter().map(|(line, text)| (*line, text.as_str()));
    // A text is said to somebody; a single word is a name.
    let said = source.literals.iter().filter(|literal| literal.text.contains(' '));
    let texts = said.map(|literal| (literal.line, literal.text.as_str()));
    let both = comments.chain(texts).filter(|(line, _)| *line < tests_from);
    both.flat_map(|(line, text)| in_text(line, text)).collect()
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
        let source = "crates/punctual-engine/src/due.rs";
        lines(source, "/// Who is told.\nfn told() {}\n// `told` and retold\nlet a = \"told\";", &[1]);
        lines(source, "let a = \"Somebody\n  was told\";", &[2]);
        lines(source, "fn a() {}\n#[cfg(test)]\nmod tests { /* told */ }", &[]);
        lines("crates/punctual-api/tests/it/a.rs", "// told", &[]);
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

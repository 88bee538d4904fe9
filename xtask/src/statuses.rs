//! A status that is compared with a text, or a text in a record of the store: a spelling that does not exist compiles, and is never
//! true.

use crate::source::Source;

const SAYS: &str = "a status compared with a text; it has an enum";

/// Words of statuses that are written into an entry of the audit or a link as a text.
const SAYS_OF_WRITTEN: &str = "a status written as a text; it has an enum";

/// Where a status is a text: the store, which writes it, the judge of the trials, and providers of channels, whose words are theirs.
const TEXTS: [&str; 4] =
    ["crates/punctual-store/", "crates/punctual-testkit/", "crates/punctual-channels/", "xtask/"];

const SAYS_OF_RECORDS: &str = "a status or kind of a record as a text; it has an enum, or is among the open words of xtask/src/statuses.rs";

/// Where records are declared.
const RECORDS: &str = "crates/punctual-store/src/";

/// Modules in whose records a word is none of a closed set, and whose word it is.
const OPEN: &[(&str, &str, &str)] = &[
    ("attention", "kind", "of a row of work, a message or a list"),
    ("audit", "kind", "of every subject"),
    ("audit", "status", "of every subject"),
    ("doctor", "kind", "PostgreSQL's"),
    ("inbox", "kind", "the producer's type of event"),
    ("lists", "kind", "a type of channel, which its adapter brings along"),
    ("notifications", "kind", "what the producer calls its message; the type of a list"),
    ("personal", "kind", "of a row of work, and of the subject of an entry of the audit"),
    ("reminders", "kind", "a trigger, which its provider names"),
    ("report_subscriptions", "kind", "of the subject of an entry of the audit"),
    ("retention", "kind", "of a row of work"),
    ("search", "kind", "of anything that is found"),
    ("site_buffer", "kind", "of an event, which central may know by another release"),
    ("site_buffer", "status", "central's, which may be of a later release"),
    ("site_events", "kind", "a site's, which may be of another release"),
    ("survey_attempts", "status", "an outcome, or a reason code where there was no attempt"),
    ("work", "kind", "which its workflow names"),
];

/// Fields that hold a word with an enum.
const WORDS: [&str; 4] = ["status", "sync_status", "outcome", "state"];

/// Those of templates: the state of a step on a page is a class.
const WORDS_OF_PAGES: &[&str] = WORDS.split_at(3).0;

pub fn in_source(path: &str, source: &Source) -> Vec<(usize, &'static str)> {
    let is_test = path.contains("/tests/") || path.ends_with("tests.rs");
    if let (false, Some(file)) = (is_test, path.strip_prefix(RECORDS)) {
        return in_records(file, source);
    }
    if is_test || TEXTS.iter().any(|place| path.starts_with(place)) {
        return Vec::new();
    }
    let code = source.code.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found: Vec<_> = compared(code, &WORDS).map(|at| (source.line_of(at), SAYS)).collect();
    found.extend(written(code, source).map(|at| (source.line_of(at), SAYS_OF_WRITTEN)));
    found
}

/// Where an entry of the audit or the query of a link gets a status as a text.
fn written<'c>(code: &'c str, source: &'c Source) -> impl Iterator<Item = usize> + 'c {
    let entries = ["from: Some(\"", "to: Some(\""];
    let entries = entries.into_iter().flat_map(|before| code.match_indices(before).map(|(at, _)| at));
    let fields = source.literals.iter().filter(|literal| literal.text == "status").map(|literal| literal.at);
    entries.chain(fields.filter(|at| {
        let (before, after) = (code.get(..*at).unwrap_or_default(), code.get(*at..).unwrap_or_default());
        before.ends_with('(') && after.starts_with("\"\", \"")
    }))
}

pub fn in_page(path: &str, text: &str) -> Vec<(usize, &'static str)> {
    if !path.ends_with(".html") {
        return Vec::new();
    }
    compared(text, WORDS_OF_PAGES).map(|at| (1 + text[..at].matches('\n').count(), SAYS)).collect()
}

/// Fields of records that are texts and should be words.
fn in_records(file: &str, source: &Source) -> Vec<(usize, &'static str)> {
    let module = file.split(['/', '.']).next().unwrap_or_default();
    let is_text = |field: &str| {
        let (name, kind) = field.trim().trim_start_matches("pub ").split_once(": ").unwrap_or_default();
        let word = name.rsplit('_').next().unwrap_or_default();
        let is_open = OPEN.iter().any(|(open, about, _)| (*open, *about) == (module, word));
        matches!(word, "status" | "kind") && !is_open && (kind.contains("String") || kind.ends_with("str,"))
    };
    let (mut in_struct, mut found) = (false, Vec::new());
    for (at, line) in source.code.lines().enumerate() {
        in_struct = (in_struct || line.contains("struct ")) && !line.starts_with('}');
        if in_struct && is_text(line) {
            found.push((at + 1, SAYS_OF_RECORDS));
        }
    }
    found
}

/// Where one of these names is compared with a text.
fn compared<'c>(code: &'c str, words: &'c [&str]) -> impl Iterator<Item = usize> + 'c {
    let places = words.iter().flat_map(|word| code.match_indices(word).map(|(at, _)| (at, at + word.len())));
    let found = places.filter(|(at, end)| is_whole(code, *at, *end) && is_compared(code, *at, &code[*end..]));
    found.map(|(at, _)| at)
}

/// Whether a name is a whole one: `status`, and not `status_code` or `by_status`.
fn is_whole(code: &str, at: usize, end: usize) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    !is_part(code[..at].chars().next_back()) && !is_part(code[end..].chars().next())
}

/// Whether what follows a name compares it with a text: by an operator, in `matches!`, or as the arms of a `match`.
fn is_compared(code: &str, at: usize, after: &str) -> bool {
    let mut after = after;
    for text in [".as_str()", ".as_deref()", ".as_ref()"] {
        after = after.strip_prefix(text).unwrap_or(after);
    }
    let is_text = |rest: &str| rest.trim_start().trim_start_matches("Some(").starts_with('"');
    let operator = ["==", "!="].into_iter().find_map(|sign| after.trim_start().strip_prefix(sign));
    let before = code[..at].trim_end_matches(|c: char| c.is_alphanumeric() || "_.&*".contains(c));
    let in_arms = before.ends_with("matches!(") && after.strip_prefix(',').is_some_and(is_text);
    let in_match =
        before.trim_end().ends_with("match") && after.trim_start().strip_prefix('{').is_some_and(is_text);
    operator.is_some_and(is_text) || in_arms || in_match
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_no_status_as_a_text() {
        let text = "struct Row {\n    pub status: String,\n    sync_status: Option<String>,\n    status: WorkStatus,\n    kind: String,\n}\nfn f(\n    kind: &str,\n) {}";
        let lines = |path: &str| -> Vec<usize> {
            in_source(path, &Source::parse(text)).into_iter().map(|(line, _)| line).collect()
        };
        assert_eq!(lines("crates/punctual-store/src/owed.rs"), [2, 3, 5]);
        assert_eq!(lines("crates/punctual-store/src/work/claim.rs"), [2, 3]);
        assert_eq!(lines("crates/punctual-store/tests/it/owed.rs"), [0; 0]);
    }

    #[test]
    fn a_status_is_written_by_its_enum() {
        let lines = |text: &str| -> Vec<usize> {
            let found = in_source("crates/punctual-engine/src/a.rs", &Source::parse(text));
            found.into_iter().map(|(line, _)| line).collect()
        };
        assert_eq!(lines("let a = Entry {\n    from: Some(\"parked\".into()),\n    to: None,\n};"), [2]);
        assert_eq!(lines("links::query([(\"status\", \"parked\")])"), [1]);
        assert_eq!(lines("Entry { to: Some(status.as_str().into()), reason: Some(\"x\".into()) }"), [0; 0]);
    }

    #[test]
    fn a_template_compares_with_an_enum_too() {
        let text = "<p>\n{% if row.status == \"failed\" %}\n{% if row.status == WorkStatus::Failed %}\n{% if step.state == \"now\" %}";
        assert_eq!(in_page("crates/a/templates/row.html", text), [(2, SAYS)]);
        assert_eq!(in_page("docs/reports.md", text), []);
    }
}

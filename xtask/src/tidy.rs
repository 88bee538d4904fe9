//! Checks of the sources that no compiler lint makes.
//!
//! A line that must break one says why, on itself or just above: `// tidy-allow: the reason`.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::names::Names;
use crate::source::{Literal, Source};
use crate::{docs, reach, run, statuses, words};

const ALLOW: &str = "tidy-allow:";
/// Beyond this a file probably has two subjects.
const LONG_FILE: usize = 500;
/// The only places with SQL: the store, the making of databases for tests, the judge of the trials, the test of what somebody does
/// who has the database itself, and tests of what people ask of databases of their own.
const SQL_PLACES: [&str; 7] = [
    "crates/punctual-store/",
    "crates/punctual-testkit/src/history/stored.rs",
    "crates/punctual-testkit/src/postgres.rs",
    "crates/punctual-engine/tests/it/chores.rs",
    "crates/punctual-engine/tests/it/r25_audit.rs",
    "crates/punctual/tests/it/reports.rs",
    "crates/punctual-api/tests/it/reminder_external.rs",
];

/// Crates whose async functions are awaited in others.
const AWAITED: [&str; 3] =
    ["crates/punctual-store/src/", "crates/punctual-engine/src/", "crates/punctual-workflows/src/"];

/// The API and the console: they call commands, and write nothing themselves.
const FACES: [&str; 2] = ["crates/punctual-api/src/", "crates/punctual-console/src/"];

/// Where channels open connections, and the only file of their crate that may.
const CHANNELS: &str = "crates/punctual-channels/src/";
const CONNECT: &str = "crates/punctual-channels/src/connect.rs";

#[derive(Debug, PartialEq)]
struct Finding {
    path: String,
    line: usize,
    message: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Checks every Rust file of the workspace and the documentation; returns 1 when something was found.
pub fn run() -> Result<u8> {
    let root = run::root();
    let mut files = Vec::new();
    for folder in ["crates", "xtask"] {
        collect(&root.join(folder), "rs", &mut files)?;
    }
    files.sort();
    let (mut found, mut sources) = (0, Vec::with_capacity(files.len()));
    for file in &files {
        let text =
            std::fs::read_to_string(file).with_context(|| format!("could not read {}", file.display()))?;
        let path = file.strip_prefix(&root)?.to_string_lossy();
        for finding in check(&path, &text) {
            eprintln!("{finding}");
            found += 1;
        }
        let lines = text.lines().count();
        if path.contains("/src/") && lines > LONG_FILE {
            eprintln!("{path}: warning: {lines} lines; are there two subjects in it?");
        }
        let source = Source::parse(&text);
        for (line, says) in words::in_source(&path, &source) {
            eprintln!("{path}:{line}: {says}");
            found += 1;
        }
        sources.push((path.into_owned(), source));
    }
    for file in pages(&root)? {
        let text =
            std::fs::read_to_string(&file).with_context(|| format!("could not read {}", file.display()))?;
        let path = file.strip_prefix(&root)?.to_string_lossy();
        for (line, says) in words::in_page(&path, &text) {
            eprintln!("{path}:{line}: {says}");
            found += 1;
        }
        for (line, says) in statuses::in_page(&path, &text) {
            eprintln!("{path}:{line}: {says}");
            found += 1;
        }
    }
    for (path, line, says) in reach::check(&sources) {
        eprintln!("{path}:{line}: {says}");
        found += 1;
    }
    for finding in docs::check(&root, &Names::of(&sources))? {
        eprintln!("{finding}");
        found += 1;
    }
    eprintln!("tidy: {} files, {found} findings", files.len());
    Ok(u8::from(found > 0))
}

/// What people read: pages of the documentation and templates of the console.
fn pages(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in ["crates", "docs"] {
        collect(&root.join(folder), "md", &mut files)?;
        collect(&root.join(folder), "html", &mut files)?;
    }
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        files.push(root.join(name));
    }
    files.sort();
    Ok(files)
}

fn collect(folder: &Path, kind: &str, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| format!("could not read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            if !path.ends_with("target") {
                collect(&path, kind, files)?;
            }
        } else if path.extension().is_some_and(|extension| extension == kind) {
            files.push(path);
        }
    }
    Ok(())
}

fn check(path: &str, text: &str) -> Vec<Finding> {
    let source = Source::parse(text);
    let mut found = sql(path, &source);
    found.extend(unfinished(&source));
    found.extend(sleeps_in_tests(path, &source));
    found.extend(unboxed(path, &source));
    found.extend(connections(path, &source));
    found.extend(transactions(path, &source));
    found.extend(statuses::in_source(path, &source));
    let allowed = |line: usize| {
        source.comments.iter().any(|(at, text)| (*at == line || at + 1 == line) && text.contains(ALLOW))
    };
    found.retain(|(line, _)| !allowed(*line));
    found.sort_unstable();
    found.into_iter().map(|(line, message)| Finding { path: path.to_owned(), line, message }).collect()
}

type Found = Vec<(usize, &'static str)>;

fn sql(path: &str, source: &Source) -> Found {
    let elsewhere = !SQL_PLACES.iter().any(|place| path.starts_with(place));
    let judge = |literal: &Literal| {
        if is_formatted(&source.code[..literal.at]) && has_statement(&literal.text) {
            Some((literal.line, "SQL built by formatting; bind the values, join dialects with concat!"))
        } else if elsewhere && starts_statement(&literal.text) {
            Some((literal.line, "SQL outside punctual-store"))
        } else {
            None
        }
    };
    source.literals.iter().filter_map(judge).collect()
}

/// Whether a literal that follows this code is the pattern of a formatting macro.
fn is_formatted(before: &str) -> bool {
    let before = before.trim_end();
    let before = before.strip_suffix("concat!(").unwrap_or(before).trim_end();
    if before.ends_with("format!(") || before.ends_with("format_args!(") {
        return true;
    }
    // write!(target, "…")
    let call =
        before.strip_suffix(',').and_then(|args| args.rfind(['(', ';', '{']).map(|open| &args[..open]));
    call.is_some_and(|call| call.ends_with("write!") || call.ends_with("writeln!"))
}

/// Whether the text has a statement anywhere. Keywords are in capitals in all our SQL, and seldom in prose.
fn has_statement(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let mut next = words.next();
    while let Some(word) = next {
        next = words.next();
        // `DELETE /api/v1/lists` is not one, and `UPDATE` alone is a button.
        let is_start = match word {
            "SELECT" => next.is_some() || text.ends_with(' '),
            "INSERT" => matches!(next, Some("INTO" | "OR")),
            "UPDATE" => text.contains("SET"),
            "DELETE" => next == Some("FROM"),
            _ => false,
        };
        if is_start {
            return true;
        }
    }
    false
}

fn starts_statement(text: &str) -> bool {
    let start = text.trim_start_matches(['\\', 'n', ' ', '\n', '(']);
    match start.split_whitespace().next() {
        Some("SELECT" | "INSERT" | "UPDATE" | "DELETE" | "WITH") => has_statement(start),
        Some("CREATE" | "ALTER" | "DROP") => ["TABLE", "INDEX", "UNIQUE", "DATABASE", "VIEW", "TRIGGER"]
            .contains(&start.split_whitespace().nth(1).unwrap_or("")),
        _ => false,
    }
}

fn unfinished(source: &Source) -> Found {
    let marks = [
        ("todo!(", "unfinished"),
        ("unimplemented!(", "unfinished"),
        ("dbg!(", "left over from debugging"),
        ("#[ignore", "a test that never runs proves nothing; long trials are rigs"),
    ];
    let places =
        |(mark, message)| source.code.match_indices(mark).map(move |(at, _)| (source.line_of(at), message));
    marks.into_iter().flat_map(places).collect()
}

fn sleeps_in_tests(path: &str, source: &Source) -> Found {
    let tests = if path.contains("/tests/") { Some(0) } else { source.code.find("#[cfg(test)]") };
    let Some(start) = tests else { return Vec::new() };
    let calls = source.code[start..].match_indices("sleep(").map(|(at, _)| start + at);
    let whole_word = |at: &usize| !source.code[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    calls
        .filter(whole_word)
        .map(|at| (source.line_of(at), "a test that sleeps; set the clock and tick, or wait for a signal"))
        .collect()
}

/// Public async functions that every crate above would compile for itself. Generic ones are compiled there in any case.
fn unboxed(path: &str, source: &Source) -> Found {
    const START: &str = "pub async fn ";
    if !AWAITED.iter().any(|place| path.starts_with(place)) {
        return Vec::new();
    }
    let is_unboxed = |at: &usize| {
        let signature = source.code[*at + START.len()..].split('{').next().unwrap_or_default();
        let is_generic = signature.contains("impl ")
            || signature.find('<').is_some_and(|open| !signature[..open].contains('('));
        !is_generic && !source.code[..*at].trim_end().ends_with("#[boxed]")
    };
    let starts = source.code.match_indices(START).map(|(at, _)| at);
    starts
        .filter(is_unboxed)
        .map(|at| (source.line_of(at), "awaited in other crates; `#[boxed]` keeps it here"))
        .collect()
}

/// Transactions of the API and the console. Whoever may open one can forget its check, its version or its audit entry, so
/// neither opens one nor names what one is opened with.
fn transactions(path: &str, source: &Source) -> Found {
    if !FACES.iter().any(|face| path.starts_with(face)) {
        return Vec::new();
    }
    let marks = [".begin(", "Lane", "Tx", "audit::append"];
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let places = marks.into_iter().flat_map(|mark| {
        source.code.match_indices(mark).filter(move |(at, _)| {
            let (before, after) = (&source.code[..*at], &source.code[at + mark.len()..]);
            let starts = !mark.starts_with(char::is_alphanumeric) || !is_word(before.chars().next_back());
            let ends = !mark.ends_with(char::is_alphanumeric) || !is_word(after.chars().next());
            starts && ends
        })
    });
    places
        .map(|(at, _)| (source.line_of(at), "what changes data is a command of the engine or the workflows"))
        .collect()
}

/// Connections of channels that are opened past the one place which sets the options of their sockets.
fn connections(path: &str, source: &Source) -> Found {
    const OPENERS: [&str; 6] = [
        "TcpStream::connect",
        "TcpSocket::new",
        "connect_tokio1",
        "Client::builder(",
        "Client::new(",
        "ClientBuilder::new(",
    ];
    if !path.starts_with(CHANNELS) || path == CONNECT {
        return Vec::new();
    }
    let places = OPENERS.iter().flat_map(|opener| source.code.match_indices(opener));
    places
        .map(|(at, _)| (source.line_of(at), "a connection without TCP_NODELAY; open it in connect.rs"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_lines(path: &str, text: &str, lines: &[usize]) {
        let found: Vec<_> = check(path, text).iter().map(|finding| finding.line).collect();
        assert_eq!(found, lines, "{text}");
    }

    #[test]
    fn sql_built_by_formatting_is_found_even_in_the_store() {
        let store = "crates/punctual-store/src/work.rs";
        check_lines(store, "fn f() {\n    format!(\"SELECT id FROM work WHERE key = '{key}'\")\n}", &[2]);
        check_lines(store, "format!(\n    \"DELETE FROM {table}\"\n)", &[2]);
        check_lines(store, "write!(sql, \"UPDATE work SET {column} = $1\")", &[1]);
        check_lines(store, "format!(concat!(\"WITH due AS (\", \"SELECT id\"))", &[]);
        check_lines(store, "format!(concat!(\"WITH due AS (SELECT id\"))", &[1]);
        check_lines(store, "format!(r#\"EXPLAIN INSERT INTO {table}\"#)", &[1]);
    }

    #[test]
    fn sql_outside_the_store_is_found() {
        let engine = "crates/punctual-engine/src/due.rs";
        check_lines(engine, "let sql = \"SELECT id FROM work\";", &[1]);
        check_lines(engine, "let sql = \"\n    WITH due AS (SELECT 1)\";", &[1]);
        check_lines(engine, "let sql = \"CREATE TABLE work (id INTEGER)\";", &[1]);
        check_lines("crates/punctual-store/src/work.rs", "const A: &str = \"SELECT id FROM work\";", &[]);
    }

    #[test]
    fn words_that_only_look_like_sql_pass() {
        let api = "crates/punctual-api/src/lists.rs";
        check_lines(api, "format!(\"DELETE /api/v1/lists/{name}\")", &[]);
        check_lines(api, "\"UPDATE\"; \"SELECT\"; \"WITH\"; \"DELETE\"; \"CREATE a list\"", &[]);
        check_lines(api, "// format!(\"SELECT id FROM {table}\")", &[]);
    }

    #[test]
    fn unfinished_marks_are_found_in_code_alone() {
        check_lines("xtask/src/a.rs", "todo!()\ndbg!(1)\n#[ignore]\n#[ignore = \"slow\"]", &[1, 2, 3, 4]);
        check_lines("xtask/src/a.rs", "// todo!()\n\"dbg!(1)\"", &[]);
    }

    #[test]
    fn sleep_is_found_in_tests_alone() {
        let text = "fn wait() { sleep(1) }\n#[cfg(test)]\nmod tests { fn a() { tokio::time::sleep(1) } }";
        check_lines("crates/a/src/lib.rs", text, &[3]);
        check_lines("crates/a/tests/it/main.rs", "thread::sleep(second)\nclock.sleep_until(then)", &[1]);
    }

    #[test]
    fn what_other_crates_await_is_boxed() {
        let store = "crates/punctual-store/src/work.rs";
        check_lines(store, "pub async fn f(a: &A<'_>) -> B {\n}\n#[boxed]\npub async fn g() {}", &[1]);
        check_lines(
            store,
            "pub async fn f<T>(a: T) {}\npub async fn g(a: impl Fn()) {}\nasync fn h() {}",
            &[],
        );
        check_lines("crates/punctual-api/src/work.rs", "pub async fn f() {}", &[]);
    }

    #[test]
    fn the_api_and_the_console_open_no_transaction() {
        let text = "use punctual_store::{Lane, Tx};\nstore.begin(lane)\naudit::append(conn)\nlet Lanes = beginning(1);";
        for face in FACES {
            check_lines(&format!("{face}lists.rs"), text, &[1, 1, 2, 3]);
        }
        check_lines("crates/punctual-engine/src/commands/lists.rs", text, &[]);
        check_lines("crates/punctual-api/tests/it/units.rs", text, &[]);
    }

    #[test]
    fn a_status_is_not_compared_with_a_text() {
        let text = "row.status == \"pending\"\nmatches!(row.status.as_str(), \"a\" | \"b\")\nshown(row.status.as_str(), \"a\")\n\
            one.outcome != Some(\"a\")\nmatch row.state.as_str() {\n\"a\" => 1 }\nstatus_code == \"1\"\n#[cfg(test)]\nrow.status == \"a\"";
        check_lines("crates/punctual-engine/src/due.rs", text, &[1, 2, 4, 5]);
        check_lines("crates/punctual-store/src/work.rs", text, &[]);
        check_lines("crates/punctual-engine/tests/it/due.rs", text, &[]);
    }

    #[test]
    fn channels_open_connections_in_one_place() {
        let text = "use tokio::net::TcpStream;\nTcpStream::connect(a)\nAsyncSmtpConnection::connect_tokio1(a)\nreqwest::Client::builder()";
        check_lines("crates/punctual-channels/src/smtp/session.rs", text, &[2, 3, 4]);
        check_lines("crates/punctual-channels/src/connect.rs", text, &[]);
        check_lines("crates/punctual-client/src/lib.rs", text, &[]);
    }

    #[test]
    fn a_reason_on_or_above_the_line_allows_it() {
        check_lines("crates/a/src/lib.rs", "\"SELECT 1\" // tidy-allow: a user's query", &[]);
        check_lines("crates/a/src/lib.rs", "// tidy-allow: a user's query\n\"SELECT 1\"", &[]);
        check_lines("crates/a/src/lib.rs", "// tidy-allow: a user's query\n\n\"SELECT 1\"", &[3]);
    }

    #[test]
    fn a_finding_names_file_and_line() {
        let found = check("crates/a/src/lib.rs", "\n\ntodo!()");
        assert_eq!(found[0].to_string(), "crates/a/src/lib.rs:3: unfinished");
    }
}

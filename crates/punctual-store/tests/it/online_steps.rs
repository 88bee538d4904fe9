//! Steps of the schema are taken while nodes work: none reads or writes a large table whole, or locks it for long.
//!
//! From the step after 0046 on, that of the first kept fixture. What is allowed can be read from the text of a step: a new
//! table with its indexes, a column without a value to write, settings of a table, and anything with a table that is small.

use std::collections::BTreeSet;

/// The last step before this rule.
const BEFORE: &str = "0046";

/// Tables that are small whatever is sent: an index over one, or a change of all its rows, takes milliseconds.
const SMALL: &[&str] = &[
    "api_keys",
    "business_units",
    "channels",
    "circuits",
    "consumers",
    "facts",
    "lists",
    "nodes",
    "reminder_settings",
    "report_subscriptions",
    "sites",
    "subscribers",
    "survey_versions",
    "surveys",
    "templates",
    "users",
];

/// Steps that do something else, and why that is right.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("0050_folds_case", "makes a collation, which is of no table"),
    ("0055_import_units", "an index over what was imported from calendars alone, which people do by hand"),
    (
        "0085_people_changed",
        "an index over people of operations: records of people are saved again after a second for each million",
    ),
    (
        "0090_lasting_subjects",
        "an index over the few events and tasks that last longer than a day: others are saved again after a second for each million",
    ),
];

/// Steps that put a weaker rule in the place of another: what a node of the release before writes is still allowed, and
/// what it reads is still there.
const WEAKER: &[(&str, &str)] =
    &[("0055_import_units", "an identity may be there once in each unit, and not once in all of them")];

fn words(statement: &str) -> Vec<String> {
    let separated = statement.replace('(', " ( ").replace(',', " , ");
    separated.split_whitespace().map(str::to_uppercase).collect()
}

/// The statements of a step, without comments. A function's body would be cut; none is needed so far.
fn statements(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| line.split("--").next().unwrap_or_default());
    let text = lines.collect::<Vec<_>>().join("\n");
    text.split(';').map(str::trim).filter(|one| !one.is_empty()).map(str::to_owned).collect()
}

/// Why a statement must not run beside nodes that work, if it must not.
fn fault(statement: &str, made: &mut BTreeSet<String>) -> Option<String> {
    let words = words(statement);
    let at = |place: usize| words.get(place).map_or("", String::as_str);
    let after = |word: &str| words.iter().position(|one| one == word).and_then(|found| words.get(found + 1));
    let is_harmless = |table: &str, made: &BTreeSet<String>| {
        let table = table.to_lowercase();
        made.contains(&table) || SMALL.contains(&table.as_str())
    };
    match (at(0), at(1)) {
        ("CREATE", "TABLE") => {
            made.insert(at(2).to_lowercase());
            None
        }
        ("CREATE", "INDEX" | "UNIQUE") => {
            let table = after("ON").cloned().unwrap_or_default();
            (!is_harmless(&table, made)).then(|| format!("an index over {table} is built under a lock"))
        }
        ("ALTER", "TABLE") if is_harmless(at(2), made) => None,
        // Settings of storage are written to the catalogue alone.
        ("ALTER", "TABLE") if at(3) == "SET" && at(4) == "(" => None,
        ("ALTER", "TABLE") if at(3) == "ADD" && at(4) == "COLUMN" => {
            let has = |word: &str| words.iter().any(|one| one == word);
            let is_bad =
                has("CHECK") || has("REFERENCES") || has("UNIQUE") || (has("NOT") && !has("DEFAULT"));
            is_bad.then(|| format!("a column of {} that every row is checked or written for", at(2)))
        }
        ("INSERT", "INTO") if is_harmless(at(2), made) => None,
        ("UPDATE", table) if is_harmless(table, made) => None,
        _ => Some(format!("{} {} {} is not known to be harmless", at(0), at(1), at(2))),
    }
}

#[test]
fn every_step_can_be_taken_while_nodes_work() {
    for database in ["sqlite", "postgres"] {
        let folder = format!("{}/migrations/{database}", env!("CARGO_MANIFEST_DIR"));
        let mut files: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for file in files {
            let step = file.file_stem().unwrap().to_str().unwrap().to_owned();
            if step[..4] <= *BEFORE || EXCEPTIONS.iter().any(|(name, _)| *name == step) {
                continue;
            }
            let mut made = BTreeSet::new();
            for statement in statements(&std::fs::read_to_string(&file).unwrap()) {
                let found = fault(&statement, &mut made);
                assert_eq!(found, None, "{database}/{step}: {statement}");
            }
        }
    }
}

/// Whether a statement leaves everything as a node that does not know it expects it: it adds a table, an index, a column that
/// may be left out, or a setting of storage.
fn only_adds(statement: &str) -> bool {
    let words = words(statement);
    let at = |place: usize| words.get(place).map_or("", String::as_str);
    let has = |word: &str| words.iter().any(|one| one == word);
    match (at(0), at(1)) {
        ("CREATE", "TABLE" | "INDEX" | "COLLATION") => true,
        ("ALTER", "TABLE") if at(3) == "SET" && at(4) == "(" => true,
        ("ALTER", "TABLE") => at(3) == "ADD" && at(4) == "COLUMN" && (!has("NOT") || has("DEFAULT")),
        _ => false,
    }
}

#[test]
fn steps_that_nodes_of_the_release_before_do_not_know_only_add() {
    for database in ["sqlite", "postgres"] {
        let folder = format!("{}/migrations/{database}", env!("CARGO_MANIFEST_DIR"));
        for entry in std::fs::read_dir(folder).unwrap() {
            let file = entry.unwrap().path();
            let step = file.file_stem().unwrap().to_str().unwrap().to_owned();
            if step[..4].parse::<i64>().unwrap() <= punctual_store::schema::oldest_node() {
                continue;
            }
            if WEAKER.iter().any(|(name, _)| *name == step) {
                continue;
            }
            for statement in statements(&std::fs::read_to_string(&file).unwrap()) {
                assert!(
                    only_adds(&statement),
                    "{database}/{step}: a node that knows step {} does not expect this; raise OLDEST_NODE to it: {statement}",
                    punctual_store::schema::oldest_node()
                );
            }
        }
    }
    for (statement, adds) in [
        ("ALTER TABLE lists ADD COLUMN x TEXT", true),
        ("ALTER TABLE lists ADD COLUMN x TEXT NOT NULL", false),
        ("ALTER TABLE lists RENAME COLUMN kind TO type", false),
        ("ALTER TABLE lists ALTER COLUMN kind SET NOT NULL", false),
        ("CREATE UNIQUE INDEX lists_by_kind ON lists (kind)", false),
        ("UPDATE facts SET value = ''", false),
    ] {
        assert_eq!(only_adds(statement), adds, "{statement}");
    }
}

#[test]
fn what_would_stop_intake_is_found() {
    for (statement, is_bad) in [
        ("CREATE TABLE new (id BIGINT)", false),
        ("CREATE INDEX by_target ON attempts (target)", true),
        ("CREATE UNIQUE INDEX lists_by_kind ON lists (kind)", false),
        ("ALTER TABLE notifications ADD COLUMN x TEXT", false),
        ("ALTER TABLE notifications ADD COLUMN x BOOLEAN NOT NULL DEFAULT FALSE", false),
        ("ALTER TABLE notifications ADD COLUMN x BIGINT NOT NULL", true),
        ("ALTER TABLE notifications ADD COLUMN x TEXT CHECK (x IN ('a'))", true),
        ("ALTER TABLE notifications ALTER COLUMN status TYPE VARCHAR", true),
        ("ALTER TABLE work SET (fillfactor = 50)", false),
        ("ALTER TABLE lists ALTER COLUMN kind SET NOT NULL", false),
        ("UPDATE notifications SET x = 1", true),
        ("UPDATE facts SET value = ''", false),
        ("LOCK TABLE work IN ACCESS EXCLUSIVE MODE", true),
        ("DROP TABLE circuits", true),
    ] {
        assert_eq!(fault(statement, &mut BTreeSet::new()).is_some(), is_bad, "{statement}");
    }
    let mut made = BTreeSet::new();
    assert_eq!(fault("CREATE TABLE new (id BIGINT)", &mut made), None);
    assert_eq!(fault("CREATE INDEX new_by_id ON new (id)", &mut made), None);
    let text = "-- CREATE INDEX a ON attempts (target);\nCREATE TABLE b (id BIGINT); -- c\n";
    assert_eq!(statements(text), ["CREATE TABLE b (id BIGINT)"]);
}

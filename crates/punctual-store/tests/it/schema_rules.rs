//! The two schemas have the same rules: CHECKs, defaults, and the conditions of partial indexes.
//!
//! PostgreSQL reads both spellings: each rule of SQLite is made a rule of PostgreSQL's own table, and what PostgreSQL then
//! says about the two is compared.

use std::collections::{BTreeMap, BTreeSet};

use punctual_testkit::{Database, TestBed};
use sqlx::{AssertSqlSafe, Connection, PgConnection, raw_sql};

use crate::sqlite_file;

/// What SQLite says about its tables and indexes, as it was written.
#[derive(Default)]
struct Written {
    /// Table → the expressions of its CHECKs.
    checks: BTreeMap<String, Vec<String>>,
    /// Index → its table and its condition.
    conditions: BTreeMap<String, (String, String)>,
    /// (Table, column) → its default.
    defaults: BTreeMap<(String, String), String>,
}

fn of_sqlite(bed: &TestBed) -> Written {
    let conn = sqlite_file(bed);
    let mut written = Written::default();
    let mut statement = conn
        .prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
        .unwrap();
    let rows = statement.query_map([], |row| <(String, String, String, String)>::try_from(row)).unwrap();
    for (kind, name, table, text) in rows.map(Result::unwrap) {
        match kind.as_str() {
            "table" => {
                written.checks.insert(table.clone(), checks(&text));
                let mut columns = conn
                    .prepare(
                        "SELECT name, dflt_value FROM pragma_table_info($1) WHERE dflt_value IS NOT NULL",
                    )
                    .unwrap();
                let columns = columns.query_map([&table], |row| <(String, String)>::try_from(row)).unwrap();
                written.defaults.extend(
                    columns.map(Result::unwrap).map(|(column, value)| ((table.clone(), column), value)),
                );
            }
            "index" => {
                if let Some((_, condition)) = text.split_once(" WHERE ") {
                    written.conditions.insert(name, (table, condition.to_owned()));
                }
            }
            _ => {}
        }
    }
    written
}

/// The expressions of all CHECKs in the text of a table. That a boolean is 0 or 1 is a rule of SQLite alone.
fn checks(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, word) in text.match_indices("CHECK (") {
        let inner = &text[at + word.len()..];
        let mut depth = 1;
        let end = inner.find(|c| {
            depth += match c {
                '(' => 1,
                ')' => -1,
                _ => 0,
            };
            depth == 0
        });
        let expression = inner[..end.unwrap()].trim();
        if !expression.ends_with("IN (0, 1)") {
            found.push(expression.to_owned());
        }
    }
    found
}

async fn run(conn: &mut PgConnection, text: String) {
    raw_sql(AssertSqlSafe(text.clone()))
        .execute(conn)
        .await
        .unwrap_or_else(|error| panic!("{text}: {error}"));
}

/// The CHECKs of each table; those that were made here are named `probe…`.
async fn checks_on_postgres(
    conn: &mut PgConnection,
) -> BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)> {
    let rows: Vec<(String, String, String)> = sqlx::query_as(
        "SELECT t.relname::text, c.conname::text, pg_get_expr(c.conbin, c.conrelid)
         FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid WHERE c.contype = 'c'",
    )
    .fetch_all(conn)
    .await
    .unwrap();
    let mut tables: BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)> = BTreeMap::new();
    for (table, name, rule) in rows {
        let (own, probes) = tables.entry(table).or_default();
        if name.starts_with("probe") { probes } else { own }.insert(spelled_out(&rule));
    }
    tables
}

#[tokio::test]
async fn both_databases_check_the_same() {
    let sqlite = of_sqlite(&TestBed::on(Database::Sqlite).await);
    let bed = TestBed::on(Database::Postgres).await;
    let mut conn = PgConnection::connect(bed.url()).await.unwrap();
    let mut count = 0;
    for (table, rules) in &sqlite.checks {
        for rule in rules {
            count += 1;
            run(&mut conn, format!("ALTER TABLE {table} ADD CONSTRAINT probe{count} CHECK ({rule})")).await;
        }
    }
    assert!(count >= 10, "found {count} CHECKs");
    for (table, (own, probes)) in checks_on_postgres(&mut conn).await {
        assert_eq!(own, probes, "the CHECKs of {table}: PostgreSQL's, then SQLite's");
    }
}

#[tokio::test]
async fn both_databases_have_the_same_conditions_of_indexes() {
    let sqlite = of_sqlite(&TestBed::on(Database::Sqlite).await);
    let bed = TestBed::on(Database::Postgres).await;
    let mut conn = PgConnection::connect(bed.url()).await.unwrap();
    assert!(sqlite.conditions.len() >= 15, "found {}", sqlite.conditions.len());
    for (index, (table, condition)) in &sqlite.conditions {
        run(&mut conn, format!("CREATE INDEX probe_{index} ON {table} ((1)) WHERE {condition}")).await;
    }
    let rows: Vec<(String, String)> = sqlx::query_as(
        "SELECT i.relname::text, pg_get_expr(x.indpred, x.indrelid)
         FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
         JOIN pg_namespace n ON n.oid = i.relnamespace
         WHERE n.nspname = 'public' AND x.indpred IS NOT NULL",
    )
    .fetch_all(&mut conn)
    .await
    .unwrap();
    let all: BTreeMap<String, String> = rows.into_iter().collect();
    for index in sqlite.conditions.keys() {
        let [own, probe] = [index.clone(), format!("probe_{index}")].map(|name| spelled_out(&all[&name]));
        assert_eq!(own, probe, "the condition of {index}");
    }
}

#[tokio::test]
async fn both_databases_have_the_same_defaults() {
    let sqlite = of_sqlite(&TestBed::on(Database::Sqlite).await);
    let bed = TestBed::on(Database::Postgres).await;
    let mut conn = PgConnection::connect(bed.url()).await.unwrap();
    let rows: Vec<(String, String, String)> = sqlx::query_as(
        "SELECT table_name::text, column_name::text, column_default::text FROM information_schema.columns
         WHERE table_schema = 'public' AND column_default IS NOT NULL AND column_default NOT LIKE 'nextval(%'",
    )
    .fetch_all(&mut conn)
    .await
    .unwrap();
    let postgres: BTreeMap<(String, String), String> =
        rows.into_iter().map(|(table, column, value)| ((table, column), plain(&value))).collect();
    let sqlite: BTreeMap<_, _> =
        sqlite.defaults.into_iter().map(|(column, value)| (column, plain(&value))).collect();
    assert!(sqlite.len() >= 10, "found {}", sqlite.len());
    assert_eq!(sqlite, postgres);
}

/// A default without its type; booleans are numbers, as on SQLite.
fn plain(value: &str) -> String {
    match value.split("::").next().unwrap_or(value).to_lowercase().trim_matches('\'') {
        "false" => "0".to_owned(),
        "true" => "1".to_owned(),
        other => other.to_owned(),
    }
}

/// `a = ANY (ARRAY[…])` as `(a = …) OR (a = …)`: SQLite takes some indexes only where their condition is written so.
fn spelled_out(condition: &str) -> String {
    let Some((before, rest)) = condition.split_once(" = ANY (ARRAY[") else { return condition.to_owned() };
    let (values, after) = rest.split_once("])").unwrap();
    let (before, column) = before.rsplit_once('(').unwrap();
    let alternatives: Vec<String> = values.split(", ").map(|value| format!("({column} = {value})")).collect();
    format!("{before}({}{}", alternatives.join(" OR "), spelled_out(after))
}

#[test]
fn a_check_is_read_with_its_brackets() {
    let text = "CREATE TABLE t (a TEXT CHECK (a IN ('x', 'y')), b INTEGER CHECK (b IN (0, 1)), CHECK ((a IS NULL) = (b > 1)))";
    assert_eq!(checks(text), ["a IN ('x', 'y')", "(a IS NULL) = (b > 1)"]);
}

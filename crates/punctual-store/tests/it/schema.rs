//! The two schemas are one: the same tables, columns and indexes, in the same order of steps.

use std::collections::{BTreeMap, BTreeSet};

use punctual_testkit::{Database, TestBed};
use sqlx::{Connection, PgConnection};

use crate::sqlite_file;

#[derive(Debug, Default, PartialEq)]
struct Table {
    /// Name → (kind of value, may be null).
    columns: BTreeMap<String, (&'static str, bool)>,
    primary_key: BTreeSet<String>,
}

#[derive(Debug, PartialEq)]
struct Index {
    table: String,
    columns: Vec<String>,
    unique: bool,
    partial: bool,
}

type Schema = (BTreeMap<String, Table>, BTreeMap<String, Index>);

#[tokio::test]
async fn both_databases_have_the_same_tables_columns_and_indexes() {
    let sqlite = of_sqlite(&TestBed::on(Database::Sqlite).await);
    let mut postgres = of_postgres(&TestBed::on(Database::Postgres).await).await;
    // The one difference: on SQLite, keys stay with their rows.
    assert_eq!(postgres.0.remove("work_keys").unwrap().columns.len(), 2);
    let by_key = postgres.1.get_mut("work_by_key").unwrap();
    assert_eq!(std::mem::replace(&mut by_key.table, "work".to_owned()), "work_keys");
    assert!(sqlite.0.len() >= 15 && sqlite.1.len() >= 15, "found {} and {}", sqlite.0.len(), sqlite.1.len());
    assert_eq!(sqlite.0.keys().collect::<Vec<_>>(), postgres.0.keys().collect::<Vec<_>>());
    for (name, table) in &sqlite.0 {
        assert_eq!(table, &postgres.0[name], "table {name}");
    }
    assert_eq!(sqlite.1.keys().collect::<Vec<_>>(), postgres.1.keys().collect::<Vec<_>>());
    for (name, index) in &sqlite.1 {
        assert_eq!(index, &postgres.1[name], "index {name}");
    }
}

/// On PostgreSQL alone: SQLite has no vacuum of its own.
#[tokio::test]
async fn tables_that_change_all_the_time_are_vacuumed_early() {
    let bed = TestBed::on(Database::Postgres).await;
    let mut conn = PgConnection::connect(bed.url()).await.unwrap();
    for (table, setting) in [
        ("work", "autovacuum_vacuum_scale_factor=0.02"),
        ("notifications", "autovacuum_vacuum_scale_factor=0.02"),
        ("attempts", "autovacuum_vacuum_scale_factor=0.02"),
        ("audit", "autovacuum_vacuum_insert_scale_factor=0.05"),
        ("batches", "autovacuum_vacuum_threshold=1000"),
    ] {
        let options: Option<Vec<String>> = sqlx::query_scalar(
            "SELECT reloptions FROM pg_class WHERE oid = CAST(CAST($1 AS TEXT) AS regclass)",
        )
        .bind(table)
        .fetch_one(&mut conn)
        .await
        .unwrap();
        assert!(
            options.as_ref().is_some_and(|all| all.iter().any(|one| one == setting)),
            "{table}: {options:?}"
        );
    }
}

/// SQLite has no booleans of its own: an integer there may be a boolean here.
const BOOLEANS: [&str; 16] = [
    "rights_from_provider",
    "follows_list",
    "on_hold",
    "stored",
    "in_use",
    "cancelled_by_person",
    "reports_back",
    "at_most_once",
    "active",
    "deleted",
    "met",
    "fired",
    "is_all_day",
    "paused",
    "needs_person",
    "has_files",
];

fn of_sqlite(bed: &TestBed) -> Schema {
    let conn = sqlite_file(bed);
    /// Every row of an answer, as a tuple.
    macro_rules! all {
        ($text:literal, $of:expr, $row:ty) => {{
            let mut statement = conn.prepare($text).unwrap();
            let rows = statement.query_map($of, |row| <$row>::try_from(row)).unwrap();
            rows.map(Result::unwrap).collect::<Vec<_>>()
        }};
    }
    let (mut tables, mut indexes) = (BTreeMap::new(), BTreeMap::new());
    let names = all!(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
        [],
        (String,)
    );
    for (name,) in names {
        let mut table = Table::default();
        let columns = all!(
            "SELECT name, type, \"notnull\", pk FROM pragma_table_info($1)",
            [&name],
            (String, String, bool, i64)
        );
        for (column, kind, not_null, place_in_key) in columns {
            let in_key = place_in_key > 0;
            let kind = match kind.as_str() {
                "INTEGER" | "BIGINT" if BOOLEANS.contains(&column.as_str()) => "boolean",
                "INTEGER" | "BIGINT" => "integer",
                "TEXT" => "text",
                "BLOB" => "bytes",
                other => panic!("{name}.{column} is {other}"),
            };
            if in_key {
                table.primary_key.insert(column.clone());
            }
            // A rowid is never null, whatever the table says.
            table.columns.insert(column, (kind, !not_null && !in_key));
        }
        let of_table = all!(
            "SELECT name, \"unique\", partial FROM pragma_index_list($1) WHERE origin = 'c'",
            [&name],
            (String, bool, bool)
        );
        for (index, unique, partial) in of_table {
            // An expression has no name on either database; `schema_rules.rs` compares conditions.
            let columns = all!(
                "SELECT name FROM pragma_index_info($1) WHERE name IS NOT NULL ORDER BY seqno",
                [&index],
                (String,)
            );
            let columns = columns.into_iter().map(|(column,)| column).collect();
            indexes.insert(index, Index { table: name.clone(), columns, unique, partial });
        }
        tables.insert(name, table);
    }
    (tables, indexes)
}

async fn of_postgres(bed: &TestBed) -> Schema {
    let mut conn = PgConnection::connect(bed.url()).await.unwrap();
    let (mut tables, mut indexes) = (BTreeMap::<String, Table>::new(), BTreeMap::new());
    let columns: Vec<(String, String, String, bool)> = sqlx::query_as(
        "SELECT table_name::text, column_name::text, data_type::text, is_nullable = 'YES'
         FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
         WHERE table_schema = 'public' AND table_type = 'BASE TABLE'",
    )
    .fetch_all(&mut conn)
    .await
    .unwrap();
    for (table, column, kind, nullable) in columns {
        let kind = match kind.as_str() {
            "boolean" => "boolean",
            "bigint" => "integer",
            "text" => "text",
            "bytea" => "bytes",
            other => panic!("{table}.{column} is {other}"),
        };
        assert_eq!(kind == "boolean", BOOLEANS.contains(&column.as_str()), "{table}.{column}");
        tables.entry(table).or_default().columns.insert(column, (kind, nullable));
    }
    let found: Vec<(String, String, Vec<String>, bool, bool, bool)> = sqlx::query_as(
        "SELECT t.relname::text, i.relname::text,
                ARRAY(SELECT a.attname::text FROM UNNEST(x.indkey::smallint[]) WITH ORDINALITY AS k(attnum, n)
                      JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.attnum ORDER BY k.n),
                x.indisunique, x.indpred IS NOT NULL, x.indisprimary
         FROM pg_index x
         JOIN pg_class i ON i.oid = x.indexrelid
         JOIN pg_class t ON t.oid = x.indrelid
         JOIN pg_namespace n ON n.oid = t.relnamespace
         WHERE n.nspname = 'public'",
    )
    .fetch_all(&mut conn)
    .await
    .unwrap();
    for (table, index, columns, unique, partial, primary) in found {
        if primary {
            tables.entry(table).or_default().primary_key = columns.into_iter().collect();
        } else {
            indexes.insert(index, Index { table, columns, unique, partial });
        }
    }
    (tables, indexes)
}

/// The steps of both databases have the same file names.
#[test]
fn every_step_has_both_files() {
    let names = |database: &str| {
        let folder = format!("{}/migrations/{database}", env!("CARGO_MANIFEST_DIR"));
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<BTreeSet<_>>()
    };
    assert_eq!(names("sqlite"), names("postgres"));
}

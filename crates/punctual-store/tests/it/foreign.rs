//! Queries that users write, on databases that are not ours: what comes back, and what never happens.

use std::time::Duration;

use punctual_model::{
    Decimal, Secret,
    table::{Cell, Kind, Table},
};
use punctual_store::foreign::{ForeignDatabase, ForeignFault, ForeignQuery};
use punctual_testkit::{Database, TestBed, on_both};
use sqlx::{Connection, PgConnection};

use crate::sqlite_file;

on_both! {
    every_type_arrives_as_what_it_is;
    parameters_are_bound_by_name;
    a_query_that_writes_is_refused_and_writes_nothing;
    a_slow_query_is_stopped_and_may_pass;
    a_query_that_fails_says_why;
    a_table_without_rows_has_its_columns;
    a_million_rows_end_at_the_limit;
    a_table_that_is_too_large_in_memory_ends_there;
}

async fn prepare(bed: &TestBed, statements: &'static str) {
    match bed.database() {
        Database::Sqlite => sqlite_file(bed).execute_batch(statements).unwrap(),
        Database::Postgres => {
            let mut conn = PgConnection::connect(bed.url()).await.unwrap();
            sqlx::raw_sql(statements).execute(&mut conn).await.unwrap();
        }
    }
}

fn database(bed: &TestBed) -> ForeignDatabase {
    ForeignDatabase::parse(&Secret::new(bed.url())).unwrap()
}

async fn run(
    bed: &TestBed,
    sql: &str,
    params: Vec<(&str, Cell)>,
    seconds: u64,
    max_rows: usize,
) -> Result<Table, ForeignFault> {
    let database = database(bed);
    ForeignQuery { database: &database, sql, params, timeout: Duration::from_secs(seconds), max_rows }
        .run()
        .await
}

async fn rows(bed: &TestBed, sql: &str) -> Result<Table, ForeignFault> {
    run(bed, sql, Vec::new(), 20, 1_000).await
}

async fn every_type_arrives_as_what_it_is(bed: TestBed) {
    let sql = match bed.database() {
        Database::Postgres => {
            "SELECT 42::bigint AS n, 7::smallint AS small, 12.50::numeric(10,2) AS price, 0.1::float8 AS share, 'NaN'::numeric AS nan,
                    'Zürich' AS place, DATE '2026-11-03' AS day, TIMESTAMPTZ '2026-11-03 09:30:00.25+01' AS at,
                    TRUE AS yes, NULL::text AS none, ARRAY[1,2] AS list, '{\"a\": 1}'::jsonb AS json"
        }
        Database::Sqlite => {
            "SELECT 42 AS n, 7 AS small, 12.5 AS price, 0.1 AS share, 'NaN' AS nan, 'Zürich' AS place, '2026-11-03' AS day,
                    '2026-11-03T08:30:00.25Z' AS at, 1 AS yes, NULL AS none, '{1,2}' AS list, '{\"a\": 1}' AS json"
        }
    };
    let table = rows(&bed, sql).await.unwrap();
    let decimal = |text: &str| Cell::Decimal(Decimal::of_cell(text).unwrap());
    let yes = if bed.database() == Database::Postgres { Cell::Bool(true) } else { Cell::Integer(1) };
    let expected = [
        Cell::Integer(42),
        Cell::Integer(7),
        decimal("12.5"),
        decimal("0.1"),
        Cell::text("NaN"),
        Cell::text("Zürich"),
        Cell::Date("2026-11-03".parse().unwrap()),
        Cell::Instant("2026-11-03T08:30:00.25Z".parse().unwrap()),
        yes,
        Cell::Null,
        Cell::text("{1,2}"),
        Cell::text("{\"a\": 1}"),
    ];
    assert_eq!(table.rows, [expected]);
    assert!(!table.truncated);
    let kinds: Vec<Kind> = table.columns[..8].iter().map(|column| column.kind).collect();
    assert_eq!(kinds[..4], [Kind::Integer, Kind::Integer, Kind::Decimal, Kind::Decimal]);
    assert_eq!(kinds[5..], [Kind::Text, Kind::Date, Kind::Instant]);
    assert_eq!(table.columns[5].name, "place");
}

async fn parameters_are_bound_by_name(bed: TestBed) {
    let at = Cell::Instant("2026-11-01T00:00:00Z".parse().unwrap());
    let params = || {
        vec![("periodStart", at.clone()), ("businessUnit", Cell::text("o'brien; --")), ("none", Cell::Null)]
    };
    let sql = "SELECT :periodStart AS at, :businessUnit AS unit, ':none' AS quoted, :none AS none, :businessUnit AS again";
    let table = run(&bed, sql, params(), 20, 10).await.unwrap();
    let unit = Cell::text("o'brien; --");
    assert_eq!(table.rows, [[at.clone(), unit.clone(), Cell::text(":none"), Cell::Null, unit]]);
    let fault = run(&bed, "SELECT :periodEnd", params(), 20, 10).await.unwrap_err();
    assert_eq!((fault.code, fault.may_pass), ("query_parameter", false));
    assert!(fault.detail.contains(":periodEnd"), "{fault}");
}

async fn a_query_that_writes_is_refused_and_writes_nothing(bed: TestBed) {
    prepare(&bed, "CREATE TABLE mine (n INTEGER); INSERT INTO mine VALUES (1)").await;
    let common = [
        "INSERT INTO mine VALUES (2)",
        "DELETE FROM mine",
        "UPDATE mine SET n = 3",
        "DROP TABLE mine",
        "CREATE TABLE other (n INTEGER)",
        "SELECT 1; DELETE FROM mine",
        "SELECT n FROM mine; SELECT n FROM mine",
        "INSERT INTO mine VALUES (2) RETURNING n",
        "/* SELECT */ DELETE FROM mine",
        "",
    ];
    let own: &[&str] = match bed.database() {
        Database::Postgres => &[
            "WITH gone AS (DELETE FROM mine RETURNING n) SELECT n FROM gone",
            "SELECT n INTO other FROM mine",
            "SELECT n FROM mine FOR UPDATE",
            "SELECT set_config('transaction_read_only', 'off', TRUE), n FROM mine",
            "SELECT 1 INTO mine",
            "SELECT n FROM mine) TO PROGRAM 'touch /tmp/x'",
            "VALUES (1); COMMIT; DELETE FROM mine",
        ],
        Database::Sqlite => &[
            "WITH gone AS (SELECT 1) DELETE FROM mine",
            "ATTACH 'other.db' AS other",
            "VACUUM INTO 'other.db'",
            "PRAGMA user_version = 7",
            "SELECT writefile('other.db', 'x')",
            "SELECT load_extension('x')",
            "REINDEX",
        ],
    };
    for sql in common.iter().chain(own) {
        let fault = rows(&bed, sql).await.expect_err(sql);
        assert!(
            !fault.may_pass && matches!(fault.code, "query_not_read_only" | "query_failed"),
            "{sql}: {fault:?}"
        );
    }
    let table = rows(&bed, "SELECT n FROM mine").await.unwrap();
    assert_eq!(table.rows, [[Cell::Integer(1)]]);
}

async fn a_slow_query_is_stopped_and_may_pass(bed: TestBed) {
    let sql = match bed.database() {
        Database::Postgres => "SELECT pg_sleep(60)",
        Database::Sqlite => {
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
        }
    };
    let database = database(&bed);
    let query = ForeignQuery {
        database: &database,
        sql,
        params: Vec::new(),
        timeout: Duration::from_millis(300),
        max_rows: 10,
    };
    let outcome = punctual_testkit::signal("the query is stopped", query.run()).await;
    let fault = outcome.unwrap_err();
    assert_eq!((fault.code, fault.may_pass), ("query_timeout", true));
}

async fn a_query_that_fails_says_why(bed: TestBed) {
    let fault = rows(&bed, "SELECT n FROM nowhere").await.unwrap_err();
    assert_eq!((fault.code, fault.may_pass), ("query_failed", false));
    assert!(fault.detail.contains("nowhere"), "{fault}");
    assert!(rows(&bed, "SELECT FROM WHERE").await.is_err());
    if bed.database() == Database::Postgres {
        let divided = rows(&bed, "SELECT 1 / n FROM generate_series(0, 3) n").await.unwrap_err();
        assert!(divided.detail.contains("division by zero"), "{divided}");
    }
}

async fn a_table_without_rows_has_its_columns(bed: TestBed) {
    prepare(&bed, "CREATE TABLE mine (n INTEGER, name TEXT)").await;
    let table = rows(&bed, "SELECT n, name AS who FROM mine").await.unwrap();
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["n", "who"]);
    assert!(table.rows.is_empty() && !table.truncated);
}

async fn a_million_rows_end_at_the_limit(bed: TestBed) {
    let sql = match bed.database() {
        Database::Postgres => "SELECT n FROM generate_series(1, 1000000) AS n ORDER BY n",
        Database::Sqlite => {
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) SELECT i AS n FROM n"
        }
    };
    let table = run(&bed, sql, Vec::new(), 20, 1_000).await.unwrap();
    assert_eq!((table.rows.len(), table.truncated), (1_000, true));
    assert_eq!(table.rows[999], [Cell::Integer(1_000)]);
    let all = run(&bed, "SELECT 1 AS n UNION SELECT 2", Vec::new(), 20, 2).await.unwrap();
    assert_eq!((all.rows.len(), all.truncated), (2, false), "as many as allowed are not too many");
}

async fn a_table_that_is_too_large_in_memory_ends_there(bed: TestBed) {
    let sql = match bed.database() {
        Database::Postgres => "SELECT repeat('x', 10000000) AS text FROM generate_series(1, 20)",
        Database::Sqlite => {
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20) SELECT printf('%.*c', 10000000, 'x') AS text FROM n"
        }
    };
    let table = run(&bed, sql, Vec::new(), 60, 1_000).await.unwrap();
    assert!(table.truncated && table.rows.len() < 10, "{} rows", table.rows.len());
}

#[tokio::test]
async fn a_database_that_is_not_there_is_said_without_its_password() {
    let folder = tempfile::tempdir().unwrap();
    let missing = format!("sqlite:{}/s3cret.db", folder.path().display());
    std::fs::write(folder.path().join("s3cret.txt"), "this is no database, whatever it is called").unwrap();
    let no_database = format!("sqlite:{}/s3cret.txt", folder.path().display());
    for url in ["postgres://reader:s3cret@127.0.0.1:1/s3cret", missing.as_str(), no_database.as_str()] {
        let database = ForeignDatabase::parse(&Secret::new(url)).unwrap();
        let query = ForeignQuery {
            database: &database,
            sql: "SELECT 1 AS n FROM sqlite_schema",
            params: Vec::new(),
            timeout: Duration::from_secs(5),
            max_rows: 1,
        };
        let fault = query.run().await.unwrap_err();
        assert_eq!((fault.code, fault.may_pass), ("database_unreachable", true), "{url}");
        assert!(!fault.detail.contains("s3cret") && !format!("{database:?}").contains("s3cret"), "{fault}");
    }
    assert!(!folder.path().join("s3cret.db").exists(), "nothing is created by looking");
}

//! Databases that releases have left: each is opened, loses no row, and is right in itself. `cargo xtask fixture` makes them.

use std::collections::BTreeMap;

use punctual_model::{NotificationStatus, WorkStatus};
use punctual_store::{schema, verify};
use punctual_testkit::Database;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::upgrade::Old;

/// The texts that are kept for a database, by the last step of their schema.
pub(crate) fn texts(database: Database) -> BTreeMap<i64, String> {
    let ending = match database {
        Database::Sqlite => ".sqlite.sql",
        Database::Postgres => ".postgres.sql",
    };
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of_schema = |file: std::path::PathBuf| {
        let name = file.file_name()?.to_str()?;
        let step = name.strip_prefix("schema_")?.strip_suffix(ending)?.parse().ok()?;
        Some((step, std::fs::read_to_string(&file).unwrap()))
    };
    files.filter_map(of_schema).collect()
}

impl Old {
    /// The values of one column, as text.
    pub(crate) async fn values(&self, statement: &str) -> Vec<String> {
        match self {
            Self::Sqlite(folder) => {
                let conn = rusqlite::Connection::open(folder.path().join("old.db")).unwrap();
                let mut read = conn.prepare(statement).unwrap();
                let values = read.query_map([], |row| row.get(0)).unwrap();
                values.collect::<rusqlite::Result<_>>().unwrap()
            }
            Self::Postgres(_) => {
                let mut conn = PgConnection::connect(&self.url()).await.unwrap();
                let read = sqlx::query_scalar(AssertSqlSafe(statement.to_owned())).fetch_all(&mut conn).await;
                read.unwrap()
            }
        }
    }

    /// How many rows each table has.
    async fn counts(&self) -> BTreeMap<String, String> {
        let tables = match self {
            Self::Sqlite(_) => {
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
            }
            Self::Postgres(_) => {
                "SELECT CAST(table_name AS TEXT) FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1"
            }
        };
        let mut counts = BTreeMap::new();
        for table in self.values(tables).await {
            let count = "SELECT CAST(COUNT(*) AS TEXT) FROM <table>".replace("<table>", &table);
            let count = self.values(&count).await.remove(0);
            counts.insert(table, count);
        }
        counts
    }
}

macro_rules! on_both {
    ($($test:ident;)*) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $test() {
                super::$test(super::Database::Sqlite).await;
            })*
        }
        mod postgres {
            $(#[tokio::test]
            async fn $test() {
                super::$test(super::Database::Postgres).await;
            })*
        }
    };
}
on_both! {
    every_kept_database_is_opened_and_nothing_in_it_is_lost;
    the_newest_release_has_kept_a_database_with_rows_in_every_state;
}

async fn every_kept_database_is_opened_and_nothing_in_it_is_lost(database: Database) {
    for (step, text) in texts(database) {
        let old = Old::kept(database, &text).await;
        let mut before = old.counts().await;
        // Opening writes to these.
        before.retain(|table, _| !["schema_steps", "facts"].contains(&table.as_str()));
        let store = old.open().await;
        let mut reader = store.read().await.unwrap();
        for check in verify::CHECKS {
            let wrong = verify::count_wrong(&mut reader.conn(), check).await.unwrap();
            assert_eq!(wrong, 0, "of step {step}: {} {}", check.name, check.fault);
        }
        drop(reader);
        store.close().await;
        drop(store);
        let after = old.counts().await;
        for (table, rows) in &before {
            assert_eq!(after.get(table), Some(rows), "rows of {table} from step {step}");
        }
        let last = old.values("SELECT CAST(MAX(version) AS TEXT) FROM schema_steps").await;
        assert_eq!(last, [schema::known().to_string()]);
    }
}

/// Indexes that a step replaced by others of the same name, and why that takes moments.
const REPLACED: &[(&str, &str)] =
    &[("operations_subjects_by_uid", "events that were imported by hand alone")];

/// PostgreSQL alone: SQLite has no other nodes that would wait. A table or an index that is written anew has another file.
#[tokio::test]
async fn no_step_writes_a_table_anew() {
    for (step, text) in texts(Database::Postgres) {
        let old = Old::kept(Database::Postgres, &text).await;
        let files = "SELECT CAST(relname || '=' || relfilenode AS TEXT) FROM pg_class
             WHERE relnamespace = CAST('public' AS regnamespace) AND relkind IN ('r', 'i') ORDER BY 1";
        let before = old.values(files).await;
        old.open().await.close().await;
        let after = old.values(files).await;
        assert!(before.len() > 100, "{before:?}");
        let gone = before.iter().filter(|file| !after.contains(file));
        let gone: Vec<&String> = gone
            .filter(|file| !REPLACED.iter().any(|(name, _)| file.split('=').next() == Some(*name)))
            .collect();
        assert!(gone.is_empty(), "written anew or removed since step {step}: {gone:?}");
    }
}

async fn the_newest_release_has_kept_a_database_with_rows_in_every_state(database: Database) {
    let released = schema::released();
    assert!(released <= schema::known(), "a release has a step that is not there");
    let texts = texts(database);
    assert!(texts.keys().all(|step| *step <= released), "RELEASED is older than what is kept");
    let Some(text) = texts.get(&released) else {
        panic!("no database of step {released} is kept: `cargo xtask fixture` makes one");
    };
    let old = Old::kept(database, text).await;
    let work = old.values("SELECT DISTINCT status FROM work").await;
    for status in WorkStatus::ALL {
        assert!(work.iter().any(|found| found == status.as_str()), "no work is {}", status.as_str());
    }
    let notifications = old.values("SELECT DISTINCT status FROM notifications").await;
    for status in NotificationStatus::ALL {
        assert!(
            notifications.iter().any(|found| found == status.as_str()),
            "no message is {}",
            status.as_str()
        );
    }
    let counts = old.counts().await;
    for table in ["attempts", "audit_seals", "inbox", "lists", "outbox_events", "sources", "survey_answers"] {
        assert_ne!(counts[table], "0", "{table} is empty");
    }
}

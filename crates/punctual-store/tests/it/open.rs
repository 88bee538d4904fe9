//! What a store refuses when it is opened, and that it changes nothing then.

use punctual_store::{Lane, SqliteCopy, Store, StoreError, StoreOptions, facts};
use punctual_testkit::{Database, TestBed, on_both, postgres::TestDatabase};
use sqlx::{Connection, PgConnection};

use crate::sqlite_file;

on_both! {
    a_database_of_a_newer_program_is_refused;
    a_database_with_another_history_is_refused;
    the_durability_that_was_given_is_read_back;
    opening_again_changes_nothing;
}

/// SQLite on Unix alone: what is in a file, its owner reads.
#[cfg(unix)]
#[tokio::test]
async fn t12_files_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("data");
    let file = folder.join("punctual.db");
    let store = open(&format!("sqlite:{}", file.display())).await.unwrap();
    assert_eq!(mode(&folder), 0o700);
    for name in ["punctual.db", "punctual.db-wal", "punctual.db-shm", "punctual.db.lock"] {
        assert_eq!(mode(&folder.join(name)), 0o600, "{name}");
    }
    store.close().await;
    drop(store);
    // Those of an earlier version are closed when they are opened.
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    open(&format!("sqlite:{}", file.display())).await.unwrap().close().await;
    assert_eq!(mode(&file), 0o600);
    let blobs = punctual_store::blobs::Blobs::folder(&folder.join("blobs")).unwrap();
    blobs.put("a", b"x".to_vec()).await.unwrap();
    assert_eq!((mode(&folder.join("blobs")), mode(&folder.join("blobs/a"))), (0o700, 0o600));
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).unwrap();
    punctual_store::private_folder(&folder).unwrap();
    assert_eq!(mode(&folder), 0o700);
}

async fn open(url: &str) -> Result<Store, StoreError> {
    let now = punctual_testkit::START.parse().unwrap();
    Store::open(StoreOptions { accept_weak_durability: true, ..StoreOptions::new(url) }, now).await
}

/// Runs a statement behind the store's back.
async fn meddle(bed: &TestBed, statement: &'static str) {
    match bed.database() {
        Database::Sqlite => sqlite_file(bed).execute_batch(statement).unwrap(),
        Database::Postgres => {
            let mut conn = PgConnection::connect(bed.url()).await.unwrap();
            sqlx::raw_sql(statement).execute(&mut conn).await.unwrap();
        }
    }
}

/// A second store on the same rows: on SQLite on a copy of the file, for the bed owns its own.
async fn open_beside(bed: &TestBed) -> Result<Store, StoreError> {
    match bed.database() {
        Database::Postgres => open(bed.url()).await,
        Database::Sqlite => {
            let file = bed.url().strip_prefix("sqlite:").unwrap();
            let copy = format!("{file}.copy");
            sqlite_file(bed).execute("VACUUM INTO $1", [&copy]).unwrap();
            open(&format!("sqlite:{copy}")).await
        }
    }
}

async fn a_database_of_a_newer_program_is_refused(bed: TestBed) {
    meddle(&bed, "INSERT INTO schema_steps (version, name, applied_at) VALUES (99, '0099_future', 0)").await;
    meddle(&bed, "INSERT INTO facts (name, value, updated_at) VALUES ('schema.oldest-node', '99', 0) ON CONFLICT (name) DO UPDATE SET value = '99'").await;
    let Err(error) = open_beside(&bed).await else { panic!("it was opened") };
    assert!(matches!(error, StoreError::NewerSchema { found: 99, .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("99") && text.contains("nothing was changed"), "{text}");
}

async fn a_database_with_another_history_is_refused(bed: TestBed) {
    meddle(&bed, "UPDATE schema_steps SET name = '0001_other' WHERE version = 1").await;
    let Err(error) = open_beside(&bed).await else { panic!("it was opened") };
    assert!(matches!(error, StoreError::ChangedMigration(_)), "{error:?}");
}

async fn the_durability_that_was_given_is_read_back(bed: TestBed) {
    let durability = bed.store.durability();
    let settings: Vec<(&str, &str)> =
        durability.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    match bed.database() {
        Database::Sqlite => {
            assert_eq!(settings, [("journal_mode", "wal"), ("synchronous", "2")]);
            assert!(durability.survives_power_loss);
        }
        Database::Postgres => {
            assert!(settings.contains(&("synchronous_commit", "on")), "{settings:?}");
            let weak = settings.iter().any(|(_, value)| *value == "off");
            assert_eq!(durability.survives_power_loss, !weak);
            let now = bed.now();
            let opened = Store::open(StoreOptions::new(bed.url()), now).await;
            assert_eq!(opened.is_err(), weak, "a weak server is refused unless it was asked for by name");
        }
    }
    assert!(!durability.version.is_empty());
}

async fn opening_again_changes_nothing(bed: TestBed) {
    bed.accept_to(&["a@example.org"]).await;
    let again = open_beside(&bed).await.unwrap();
    let mut reader = again.read().await.unwrap();
    let filter = punctual_store::notifications::NotificationFilter { limit: 10, ..Default::default() };
    let rows =
        punctual_store::notifications::list(&mut reader.conn(), &punctual_model::Reach::Everything, &filter)
            .await
            .unwrap();
    assert_eq!(rows.len(), 1);
    drop(reader);
    again.close().await;
    bed.leaves_open("rows only");
}

/// SQLite alone: PostgreSQL is made for many.
#[tokio::test]
async fn a_second_process_on_the_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("deep/down/punctual.db").display());
    let first = open(&url).await.unwrap();
    let Err(error) = open(&url).await else { panic!("it was opened twice") };
    assert!(matches!(error, StoreError::Owned(_)), "{error:?}");
    first.close().await;
    drop(first);
    open(&url).await.unwrap();
}

/// SQLite alone: a damaged PostgreSQL says so itself.
#[tokio::test]
async fn a_damaged_file_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("punctual.db");
    let url = format!("sqlite:{}", file.display());
    std::fs::write(&file, "this is no database, and was never one, however long it may be".repeat(100))
        .unwrap();
    let before = std::fs::read(&file).unwrap();
    let Err(error) = open(&url).await else { panic!("it was opened") };
    assert!(matches!(error, StoreError::Damaged(..)), "{error:?}");
    assert!(error.to_string().contains("restore it from a backup"), "{error}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[tokio::test]
async fn an_address_of_another_kind_is_refused() {
    for url in ["", "mysql://localhost", "punctual.db", "postgres:localhost"] {
        assert!(matches!(open(url).await, Err(StoreError::Url)), "{url}");
    }
}

/// PostgreSQL alone: SQLite's file has one owner. Nodes that start at once migrate an empty database once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_start_together_migrate_once() {
    let database = TestDatabase::empty().await;
    let mut opening = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let url = database.url().to_owned();
        opening.spawn(async move {
            let store = open(&url).await.unwrap();
            store.close().await;
        });
    }
    opening.join_all().await;
    let mut conn = PgConnection::connect(database.url()).await.unwrap();
    let steps: i64 =
        sqlx::query_scalar("SELECT COUNT(*) FROM schema_steps").fetch_one(&mut conn).await.unwrap();
    let files =
        std::fs::read_dir(format!("{}/migrations/postgres", env!("CARGO_MANIFEST_DIR"))).unwrap().count();
    assert_eq!(steps, files as i64);
}

/// On SQLite alone: PostgreSQL's checkpoints are its own.
#[tokio::test]
async fn a_reader_that_stays_keeps_no_writer_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.db");
    let now = "2026-05-14T05:00:00Z".parse().unwrap();
    let store = Store::open(StoreOptions::new(format!("sqlite:{}", file.display())), now).await.unwrap();
    let reader = rusqlite::Connection::open(&file).unwrap();
    reader.execute_batch("BEGIN; SELECT COUNT(*) FROM facts").unwrap();
    let large = "x".repeat(1 << 20);
    // More than the log may hold before it is started over.
    for number in 0..72 {
        let mut tx = store.begin(Lane::Intake).await.unwrap();
        facts::put(&mut tx.conn(), now, &format!("f{number}"), &large).await.unwrap();
        tx.commit().await.unwrap();
    }
    let folded = tokio::time::timeout(std::time::Duration::from_secs(5), store.checkpoint()).await;
    folded.expect("it waits for the reader").unwrap();
    drop(reader);
    store.checkpoint().await.unwrap();
}

/// On SQLite alone: a copy of its file, in steps, while it is written.
#[tokio::test]
async fn a_copy_in_steps_is_of_one_moment_and_gives_the_logs_space_back() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.db");
    let now = "2026-05-14T05:00:00Z".parse().unwrap();
    let store = Store::open(StoreOptions::new(format!("sqlite:{}", file.display())), now).await.unwrap();
    let log = || std::fs::metadata(folder.path().join("p.db-wal")).unwrap().len();
    let large = "x".repeat(1 << 20);
    let write = async |name: &str| {
        let mut tx = store.begin(Lane::Intake).await.unwrap();
        facts::put(&mut tx.conn(), now, name, &large).await.unwrap();
        tx.commit().await.unwrap();
    };
    for number in 0..16 {
        write(&format!("before-{number}")).await;
    }
    let copied = folder.path().join("copy.db");
    let mut copy = SqliteCopy::start(&file, &copied);
    let first = copy.step().await.expect("it has several steps");
    let size_after_a_step = || std::fs::metadata(&copied).unwrap().len();
    assert!(size_after_a_step() <= 5 << 20, "a step copies 4 MiB: {}", size_after_a_step());
    // More than the log may keep once nobody needs it.
    for number in 0..140 {
        write(&format!("meanwhile-{number}")).await;
        if number % 20 == 0 {
            store.checkpoint().await.unwrap();
        }
    }
    let second = copy.step().await.expect("it has several steps");
    assert!(second.log_grew - first.log_grew > 120 << 20, "{first:?} {second:?}");
    assert!(size_after_a_step() <= 10 << 20, "nothing is copied before it is asked for");
    assert_eq!(copy.end().await.unwrap(), Vec::<String>::new());
    let names = |file| {
        let conn = rusqlite::Connection::open(file).unwrap();
        let count = "SELECT COUNT(*) FROM facts WHERE name LIKE $1 || '%'";
        ["before-", "meanwhile-"]
            .map(|name| conn.query_one(count, [name], |row| row.get::<_, i64>(0)).unwrap())
    };
    assert_eq!(names(&copied), [16, 0], "what was written meanwhile is not in it");

    // One that is dropped lets go of the log.
    let mut dropped = SqliteCopy::start(&file, &folder.path().join("dropped.db"));
    dropped.step().await.unwrap();
    drop(dropped);
    assert!(log() > 140 << 20);
    let mut rounds = 0;
    while log() > 128 << 20 {
        rounds += 1;
        assert!(rounds < 50, "the log keeps {} bytes", log());
        store.checkpoint().await.unwrap();
        write("afterwards").await;
    }
}

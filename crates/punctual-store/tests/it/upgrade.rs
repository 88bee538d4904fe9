//! A database of an earlier version is opened: its rows are there, under the names that they have now.
//!
//! Each test makes the schema of its version from that version's steps, not from the present one taken back.

use jiff::Timestamp;
use punctual_model::Reach;
use punctual_store::{
    Lane, Store, StoreError, StoreOptions, attempts, audit, channels,
    delivery_policy::{self, standing},
    facts, lists, nodes, notifications,
    reminders::children::{self, Parent},
    rollouts, run_ownership, run_records, schema, survey_attempts, work,
};
use punctual_testkit::{
    Database, new_work,
    postgres::{OpenTransaction, TestDatabase},
};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, postgres::PgConnectOptions};

use crate::kept;

/// A database whose last step was this one.
pub(crate) enum Old {
    Sqlite(tempfile::TempDir),
    Postgres(Box<TestDatabase>),
}

impl Old {
    async fn at(database: Database, last: i64) -> Self {
        let name = match database {
            Database::Sqlite => "sqlite",
            Database::Postgres => "postgres",
        };
        let folder = format!("{}/migrations/{name}", env!("CARGO_MANIFEST_DIR"));
        let mut files: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let old = match database {
            Database::Sqlite => Self::Sqlite(tempfile::tempdir().unwrap()),
            Database::Postgres => Self::Postgres(Box::new(TestDatabase::empty().await)),
        };
        old.run("CREATE TABLE schema_steps (version BIGINT PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)")
            .await;
        for file in files {
            let step = file.file_stem().unwrap().to_str().unwrap();
            let version: i64 = step[..4].parse().unwrap();
            if version <= last {
                old.run(&std::fs::read_to_string(&file).unwrap()).await;
                let record = "INSERT INTO schema_steps VALUES (<version>, '<step>', 0)";
                let record = record.replace("<version>", &version.to_string()).replace("<step>", step);
                old.run(&record).await;
            }
        }
        old
    }

    /// A database as the release that made it left it: the text of a dump, which no later change of a step touches.
    pub(crate) async fn kept(database: Database, text: &str) -> Self {
        let old = match database {
            Database::Sqlite => Self::Sqlite(tempfile::tempdir().unwrap()),
            Database::Postgres => Self::Postgres(Box::new(TestDatabase::empty().await)),
        };
        old.run(text).await;
        old
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::Sqlite(folder) => format!("sqlite:{}", folder.path().join("old.db").display()),
            Self::Postgres(database) => database.url().to_owned(),
        }
    }

    async fn run(&self, text: &str) {
        match self {
            Self::Sqlite(folder) => {
                let conn = rusqlite::Connection::open(folder.path().join("old.db")).unwrap();
                conn.execute_batch(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            }
            Self::Postgres(database) => {
                let mut conn = PgConnection::connect(database.url()).await.unwrap();
                let done = sqlx::raw_sql(AssertSqlSafe(text.to_owned())).execute(&mut conn).await;
                done.unwrap_or_else(|error| panic!("{text}: {error}"));
            }
        }
    }

    pub(crate) async fn open(&self) -> Store {
        self.try_open().await.unwrap()
    }

    async fn try_open(&self) -> Result<Store, StoreError> {
        let now = punctual_testkit::START.parse().unwrap();
        let options = StoreOptions { accept_weak_durability: true, ..StoreOptions::new(self.url()) };
        Store::open(options, now).await
    }
}

/// The id of a notification of these tests.
fn id(number: u32) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

const NOTIFICATION: &str =
    "INSERT INTO notifications (id, digest, kind, channel, targets, subject, body, status, ready_at, created_at, tries, reason_code)
     VALUES ('<id>', 'd', 'email', 'email:default', '[\"a@example.org\"]', 's', 'b', '<status>', 1, 1, 3, <reason>)";

fn notification(number: u32, status: &str, reason: &str) -> String {
    NOTIFICATION.replace("<id>", &id(number)).replace("<status>", status).replace("<reason>", reason)
}

async fn rows_from_before_circuits_had_their_name_are_rewritten(database: Database) {
    let old = Old::at(database, 14).await;
    for (number, reason) in [(1, "'channel-resting'"), (2, "'rate-limited'"), (3, "NULL")] {
        old.run(&notification(number, "retrying", reason)).await;
    }
    let store = old.open().await;
    let mut reader = store.read().await.unwrap();
    for (number, reason) in [(1, Some("circuit-open")), (2, Some("rate-limited")), (3, None)] {
        let row =
            notifications::by_id(&mut reader.conn(), &Reach::Everything, &id(number)).await.unwrap().unwrap();
        assert_eq!((row.reason_code.as_deref(), row.attempts), (reason, 3));
    }
    drop(reader);
    store.close().await;
}

async fn reason_codes_of_earlier_versions_are_rewritten(database: Database) {
    let old = Old::at(database, 15).await;
    old.run(&notification(1, "parked", "'address_invalid'")).await;
    old.run(&notification(2, "parked", "'url_scheme'")).await;
    old.run(
        "INSERT INTO work (key, kind, trigger_type, due_at, ready_at, status, input_hash, input, created_at, updated_at, reason_code)
         VALUES ('a', 'test', 'at', 1, 1, 'failed', 'h', '{}', 1, 1, 'template_unknown_variable');
         INSERT INTO survey_tries (notification_id, n, tried_at, status) VALUES ('n', 0, 0, 'phone_invalid');
         INSERT INTO run_records (key, path, subject_id, due_at, decided_at, outcome, reason, tries, conflicts, details)
         VALUES ('k', 'report-subscription', 's', 0, 0, 'failed', 'query_failed', 1, 0, '{}');
         INSERT INTO audit (at, actor, action, subject_kind, subject_id, reason) VALUES
         (1, 'engine', 'defer', 'notification', 'n', 'channel-resting'),
         (2, 'engine', 'park', 'notification', 'n', 'redirect_not_followed'),
         (3, 'key:ann', 'note', 'notification', 'n', 'see file_1'),
         (4, 'engine', 'late-result', 'notification', 'n', 'delivered')",
    )
    .await;
    let store = old.open().await;
    let mut reader = store.read().await.unwrap();
    for (number, reason) in [(1, "address-invalid"), (2, "url-invalid")] {
        let row =
            notifications::by_id(&mut reader.conn(), &Reach::Everything, &id(number)).await.unwrap().unwrap();
        assert_eq!(row.reason_code.as_deref(), Some(reason));
    }
    let row = work::by_id(&mut reader.conn(), &Reach::Everything, 1).await.unwrap().unwrap();
    assert_eq!(row.reason_code.as_deref(), Some("template-unknown-variable"));
    let kept = survey_attempts::of(&mut reader.conn(), vec!["n".into()]).await.unwrap();
    assert_eq!(kept[0].status, "phone-invalid");
    let record = run_records::by_keys(&mut reader.conn(), vec!["k".into()]).await.unwrap();
    assert_eq!(record[0].reason.as_deref(), Some("query-failed"));
    let audit =
        audit::of(&mut reader.conn(), &punctual_model::Reach::Everything, "notification", "n").await.unwrap();
    let read: Vec<_> = audit.iter().map(|row| (row.reason.as_deref(), row.data.as_deref())).collect();
    assert_eq!(
        read,
        [
            (Some("circuit-open"), None),
            (Some("redirect-not-followed"), None),
            (Some("see file_1"), None),
            (None, Some(r#"{"status":"delivered"}"#)),
        ]
    );
    drop(reader);
    store.close().await;
}

async fn columns_with_earlier_names_keep_what_they_hold(database: Database) {
    let old = Old::at(database, 16).await;
    old.run(
        "INSERT INTO channels (key, adapter, settings, retry, manners, updated_at)
         VALUES ('email:x', 'smtp', '{}', '{}', '{\"rates\":[]}', 1);
         INSERT INTO circuits (channel, rests, opened_at, rests_until, last_error) VALUES ('email:x', 2, 5, 9, 'refused');
         INSERT INTO facts (name, value, updated_at) VALUES ('manners', '{\"dailyCap\":3}', 1);
         INSERT INTO rollouts (path, scope, scope_id, stage, checklist, created_at, updated_at)
         VALUES ('report-subscription', 'subject', 's', 2, '{}', 1, 1);
         INSERT INTO run_ownership (key, path, subject_id, owner, owner_version, status, taken_at, updated_at)
         VALUES ('k', 'report-subscription', 's', 'automation_scheduler', '1', 'owned', 1, 1);
         INSERT INTO run_records (key, path, subject_id, due_at, decided_at, outcome, tries, conflicts, details)
         VALUES ('k', 'report-subscription', 's', 0, 0, 'delivered', 4, 0, '{}');
         INSERT INTO survey_tries (notification_id, n, tried_at, status) VALUES ('n', 1, 7, 'delivered')",
    )
    .await;
    let store = old.open().await;
    let mut reader = store.read().await.unwrap();
    let mut conn = reader.conn();
    let channel = channels::all(&mut conn).await.unwrap().remove(0);
    assert_eq!(channel.policy, r#"{"rates":[]}"#);
    let at = |micros| Timestamp::from_microsecond(micros).unwrap();
    let standing = standing(&mut conn).await.unwrap();
    let circuit = standing.iter().find(|row| row.what == "circuit").unwrap();
    assert_eq!((circuit.open_count, circuit.opened_at, circuit.open_until), (2, at(5), at(9)));
    let policy = facts::get(&mut conn, delivery_policy::SETTINGS).await.unwrap();
    assert_eq!(policy.as_deref(), Some(r#"{"dailyCap":3}"#));
    let rollout = rollouts::get(&mut conn, "report-subscription", "subject", "s").await.unwrap();
    assert_eq!(rollout.map(|row| row.stage), Some(2));
    let owned = run_ownership::by_keys(&mut conn, vec!["k".into()]).await.unwrap();
    assert_eq!(owned[0].workflow, "report-subscription");
    let record = run_records::by_keys(&mut conn, vec!["k".into()]).await.unwrap();
    assert_eq!((record[0].workflow.as_str(), record[0].attempts), ("report-subscription", 4));
    let kept = survey_attempts::of(&mut conn, vec!["n".into()]).await.unwrap();
    assert_eq!((kept[0].n, kept[0].attempted_at), (1, at(7)));
    drop(reader);
    store.close().await;
}

async fn counted_children_know_their_unit(database: Database) {
    let old = Old::at(database, 17).await;
    old.run(
        "INSERT INTO reminder_settings (id, name, source_type, child_type, kind, active, definition, created_at, updated_at)
         VALUES ('s', 's', 'class', 'booking', 'threshold', TRUE, '{}', 1, 1);
         INSERT INTO sources (source_type, source_id, business_unit, active, state, occurred_at, updated_at)
         VALUES ('booking', '1', 'de', TRUE, '{}', 1, 1), ('booking', '2', NULL, TRUE, '{}', 1, 1);
         INSERT INTO reminder_children (setting_id, child_id, parent_id, amount_millionths)
         VALUES ('s', '1', 'c', 5), ('s', '2', 'c', 6)",
    )
    .await;
    let store = old.open().await;
    let mut reader = store.read().await.unwrap();
    for (business_unit, total) in [(Some("de"), 11), (Some("nz"), 6)] {
        let parent = Parent { setting_id: "s", parent_id: "c", business_unit };
        assert_eq!(
            children::sums(&mut reader.conn(), vec![parent]).await.unwrap()[0].total_millionths,
            total
        );
    }
    drop(reader);
    store.close().await;
}

macro_rules! on_both_from_old {
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
on_both_from_old! {
    rows_from_before_circuits_had_their_name_are_rewritten;
    reason_codes_of_earlier_versions_are_rewritten;
    columns_with_earlier_names_keep_what_they_hold;
    counted_children_know_their_unit;
    a_newer_schema_is_used_for_as_long_as_it_serves_this_program;
    a_kept_database_is_opened_with_what_it_holds;
}

async fn a_kept_database_is_opened_with_what_it_holds(database: Database) {
    let old = Old::kept(database, &kept::texts(database)[&46]).await;
    let store = old.open().await;
    let mut reader = store.read().await.unwrap();
    let conn = &mut reader.conn();
    for (number, status) in [(1, "delivered"), (2, "pending")] {
        let row = notifications::by_id(conn, &Reach::Everything, &id(number)).await.unwrap().unwrap();
        assert_eq!((row.seq, row.status.as_str()), (i64::from(number), status));
    }
    assert_eq!(attempts::of(conn, vec![1]).await.unwrap()[0].target, "a@example.org");
    assert!(lists::get(conn, &Reach::Everything, "ops").await.unwrap().is_some());
    assert_eq!(audit::of(conn, &punctual_model::Reach::Everything, "list", "ops").await.unwrap().len(), 1);
    drop(reader);
    // What numbers rows goes on after those that are there.
    let mut tx = store.begin(Lane::Intake).await.unwrap();
    let now = punctual_testkit::START.parse().unwrap();
    let entry = audit::Entry::new(punctual_model::AuditAction::Put, "list", "new", None);
    audit::append(&mut tx.conn(), now, &[entry]).await.unwrap();
    assert_eq!(
        audit::of(&mut tx.conn(), &punctual_model::Reach::Everything, "list", "new").await.unwrap()[0].id,
        2
    );
    tx.commit().await.unwrap();
    store.close().await;
}

async fn a_newer_schema_is_used_for_as_long_as_it_serves_this_program(database: Database) {
    let db = Old::at(database, 0).await;
    db.open().await.close().await;
    db.run("INSERT INTO schema_steps VALUES (999, '0999_future', 0)").await;
    let store = db.open().await;
    let mut reader = store.read().await.unwrap();
    schema::check(&mut reader.conn()).await.unwrap();
    drop(reader);
    // The next release but one: a node that is running finds out, and none starts.
    let mut tx = store.begin(Lane::Settle).await.unwrap();
    facts::put(&mut tx.conn(), punctual_testkit::START.parse().unwrap(), "schema.oldest-node", "999")
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let mut reader = store.read().await.unwrap();
    let refused = schema::check(&mut reader.conn()).await.unwrap_err();
    assert!(matches!(refused, StoreError::ProgramTooOld { needed: 999, .. }), "{refused}");
    drop(reader);
    store.close().await;
    // The file belongs to whoever holds the store.
    drop(store);
    let refused = db.try_open().await.err().unwrap();
    assert!(matches!(refused, StoreError::NewerSchema { found: 999, .. }), "{refused}");
}

/// PostgreSQL alone: one process owns a SQLite file.
#[tokio::test]
async fn the_schema_is_not_changed_while_a_node_of_the_first_edition_runs() {
    let old = Old::at(Database::Postgres, 17).await;
    let options: PgConnectOptions = old.url().parse().unwrap();
    let node = options.application_name("punctual").connect().await.unwrap();
    let refused = old.try_open().await.err().unwrap();
    assert!(matches!(refused, StoreError::OldNodeLive), "{refused}");
    node.close().await.unwrap();
    // The server takes a moment to notice that a connection has ended.
    let opened = async {
        loop {
            match old.try_open().await {
                Err(StoreError::OldNodeLive) => {}
                opened => return opened.unwrap(),
            }
        }
    };
    let store = tokio::time::timeout(std::time::Duration::from_secs(30), opened).await.unwrap();
    assert_eq!(nodes::all(&mut store.read().await.unwrap().conn()).await.unwrap(), []);
}

/// PostgreSQL alone: one process owns a SQLite file. Whatever wants a table waits behind a step that waits for it.
#[tokio::test]
async fn a_step_does_not_wait_for_long_behind_an_open_transaction() {
    let text = kept::texts(Database::Postgres).remove(&46).expect("the first that is kept");
    let old = Old::kept(Database::Postgres, &text).await;
    let backup = OpenTransaction::begin(&old.url(), "a backup", "LOCK TABLE work IN ACCESS SHARE MODE").await;
    let Err(refused) = old.try_open().await else { panic!("it did not wait for the backup") };
    assert!(
        matches!(&refused, StoreError::MigrationBlocked(_, holder) if holder.starts_with("a backup, process ")),
        "{refused}"
    );
    let last = old.values("SELECT CAST(MAX(version) AS TEXT) FROM schema_steps").await;
    assert_eq!(last, ["46"], "nothing was changed");
    backup.end().await;
    old.open().await.close().await;
}

/// Waits until a step waits for the table that this session has, and then for one that the step has.
const WAIT_FOR_EACH_OTHER: &str = "
    DO $$ BEGIN
        WHILE NOT EXISTS (SELECT FROM pg_locks WHERE relation = 'inbox'::regclass AND NOT granted) LOOP
            PERFORM pg_sleep(0.01);
        END LOOP;
    END $$;
    LOCK TABLE work IN ACCESS SHARE MODE";

/// PostgreSQL alone, as above. It ends one of two sessions that wait for each other: the one that waited first.
#[tokio::test]
async fn a_step_gives_way_to_a_session_that_waits_for_it() {
    let text = kept::texts(Database::Postgres).remove(&46).expect("the first that is kept");
    let old = Old::kept(Database::Postgres, &text).await;
    let mut report =
        OpenTransaction::begin(&old.url(), "a report", "LOCK TABLE inbox IN ACCESS SHARE MODE").await;
    let (refused, ()) = tokio::join!(old.try_open(), report.run(WAIT_FOR_EACH_OTHER));
    assert!(matches!(refused, Err(StoreError::MigrationBlocked(..))), "{:?}", refused.err());
    report.end().await;
    old.open().await.close().await;
}

const WORK: &str =
    "INSERT INTO work (key, kind, trigger_type, due_at, ready_at, status, input_hash, input, created_at, updated_at)
     VALUES ('<key>', 'test', 'at', 1, 1, 'pending', 'h', '{}', 1, 1)";

/// PostgreSQL alone: SQLite keeps its index of keys.
#[tokio::test]
async fn rows_from_before_keys_had_a_table_are_found_by_their_keys() {
    let old = Old::at(Database::Postgres, 13).await;
    for key in ["a", "b"] {
        old.run(&WORK.replace("<key>", key)).await;
    }
    let store = old.open().await;
    let now = punctual_testkit::START.parse().unwrap();
    let mut tx = store.begin(Lane::Settle).await.unwrap();
    let again = new_work("test", "a", now);
    assert!(work::insert_absent(&mut tx.conn(), now, &[&again]).await.unwrap().is_empty());
    let found = work::by_key(&mut tx.conn(), &Reach::Everything, "b").await.unwrap();
    assert_eq!(found.map(|row| row.id), Some(2));
}

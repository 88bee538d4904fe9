//! The program on a database of an earlier release.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use punctual_testkit::postgres::{OpenTransaction, run_on};

use crate::server::{Place, binary};

/// What the first release with a kept database has left.
const RELEASED: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../punctual-store/tests/fixtures/schema_0046.postgres.sql"
));

/// PostgreSQL alone: a SQLite file has no other sessions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_waits_for_a_backup_and_says_so() {
    let place = Place::postgres().await;
    run_on(&place.database_url(), RELEASED).await;
    let backup =
        OpenTransaction::begin(&place.database_url(), "pg_dump", "LOCK TABLE work IN ACCESS SHARE MODE")
            .await;
    let mut command = Command::new(binary());
    command.arg("migrate").arg("--data-dir").arg(place.folder());
    command.args(["--database-url", &place.database_url()]).env_remove("PUNCTUAL_CONFIG");
    let mut upgrade = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(upgrade.stderr.take().unwrap()).lines();
    let first = lines.next().expect("a line").unwrap();
    assert!(first.contains("(the oldest: pg_dump, process "), "{first}");
    // Whoever works is not held up while the upgrade pauses.
    // tidy-allow: what any session may want
    // tidy-allow: another session of the server
    run_on(&place.database_url(), "SELECT COUNT(*) FROM work").await;
    backup.end().await;
    let said: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(upgrade.wait().unwrap().success(), "{said:?}");
    let server = place.start(&[]);
    assert_eq!(server.get("/api/v1/notifications/kpis").await.0, 200);
}

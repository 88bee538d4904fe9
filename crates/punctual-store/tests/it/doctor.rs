//! What a check-up sees of a database, and what it says that it cannot see.

use punctual_store::{Store, StoreOptions, doctor::hidden_sessions};
use punctual_testkit::postgres::{TestDatabase, run_on};
use sqlx::{Connection, PgConnection};

/// PostgreSQL alone: a SQLite file has no other sessions.
#[tokio::test]
async fn sessions_that_a_role_may_not_look_at_are_counted() {
    let database = TestDatabase::empty().await;
    let now = "2026-05-14T05:00:00Z".parse().unwrap();
    Store::open(StoreOptions::new(database.url()), now).await.unwrap().close().await;
    let _administrator = PgConnection::connect(database.url()).await.unwrap();
    let role = format!("plain_{}", std::process::id());
    let url = database.url();
    run_on(url, &format!("CREATE ROLE {role} LOGIN; GRANT pg_read_all_data TO {role}")).await;
    let (_, place) = database.url().split_once('@').expect("a role in the address");
    let beside = StoreOptions::beside(format!("postgres://{role}@{place}"));
    let store = Store::open(beside, now).await.unwrap();
    let hidden = async || hidden_sessions(&mut store.read().await.unwrap().conn()).await.unwrap();
    assert!(hidden().await >= 1, "that of the administrator");
    run_on(url, &format!("GRANT pg_read_all_stats TO {role}")).await;
    assert_eq!(hidden().await, 0);
    store.close().await;
    run_on(url, &format!("DROP ROLE {role}")).await;
}

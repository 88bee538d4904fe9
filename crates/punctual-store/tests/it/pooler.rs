//! Behind PgBouncer in transaction mode, which gives every transaction any of its sessions (on PostgreSQL alone: SQLite has
//! no server).

use std::time::Duration;

use punctual_model::Reach;
use punctual_store::{Deadlines, Lane, Stage, Store, StoreOptions, facts, lists};
use punctual_testkit::{Database, PgBouncer, TestBed, signal};
use sqlx::{Connection, PgConnection, Row};

async fn open(bed: &TestBed, pooler: &PgBouncer, change: impl FnOnce(&mut StoreOptions)) -> Store {
    let mut options =
        StoreOptions { accept_weak_durability: true, ..StoreOptions::new(pooler.url_of(bed.url())) };
    change(&mut options);
    Store::open(options, bed.now()).await.unwrap()
}

/// More clients than sessions, and statements of every client on every session.
#[tokio::test]
async fn transactions_and_reads_of_many_share_few_sessions() {
    let bed = TestBed::on(Database::Postgres).await;
    let pooler = PgBouncer::start(2).await;
    let store = open(&bed, &pooler, |_| {}).await;
    let work = |n: usize| {
        let (store, now) = (store.clone(), bed.now());
        async move {
            for step in 0..20 {
                let name = format!("pooler:{n}:{step}");
                let mut tx = store.begin([Lane::Intake, Lane::Settle][n % 2]).await.unwrap();
                facts::put(&mut tx.conn(), now, &name, "1").await.unwrap();
                lists::page(&mut tx.conn(), &Reach::Everything, "", 1).await.unwrap();
                tx.commit().await.unwrap();
                let mut reader = store.read().await.unwrap();
                assert_eq!(facts::get(&mut reader.conn(), &name).await.unwrap().as_deref(), Some("1"));
                facts::with_prefix(&mut reader.conn(), "pooler:").await.unwrap();
            }
        }
    };
    futures_util::future::join_all((0..6).map(work)).await;
    let mut reader = store.read().await.unwrap();
    assert_eq!(facts::with_prefix(&mut reader.conn(), "pooler:").await.unwrap().len(), 120);
}

#[tokio::test]
async fn limits_hold_for_each_transaction_and_leak_to_nobody() {
    let bed = TestBed::on(Database::Postgres).await;
    let pooler = PgBouncer::start(1).await;
    let short = Deadlines { idle_in_transaction: Duration::from_millis(300), ..Deadlines::default() };
    let store = open(&bed, &pooler, |options| options.deadlines = short).await;
    // The one session has had transactions with limits; whoever gets it next has the server's own settings.
    let mut stranger = PgConnection::connect_with(&pooler.plain(bed.url())).await.unwrap();
    for setting in ["SHOW statement_timeout", "SHOW lock_timeout", "SHOW idle_in_transaction_session_timeout"]
    {
        let row = sqlx::raw_sql(setting).fetch_one(&mut stranger).await.unwrap();
        assert_eq!(row.try_get::<String, _>(0).unwrap(), "0", "{setting}");
    }
    stranger.close().await.unwrap();
    let mut tx = store.begin(Lane::Intake).await.unwrap();
    facts::put(&mut tx.conn(), bed.now(), "pooler:held", "1").await.unwrap();
    // The server ends a transaction that waits: its lock is free again while this side still holds it.
    let another = PgBouncer::start(1).await;
    let other = open(&bed, &another, |_| {}).await;
    signal("the lock", async {
        let mut second = other.begin(Lane::Intake).await.unwrap();
        facts::put(&mut second.conn(), bed.now(), "pooler:held", "2").await.unwrap();
        second.commit().await.unwrap();
    })
    .await;
    assert!(tx.commit().await.is_err());
}

#[tokio::test]
async fn other_nodes_are_listened_to_over_an_address_of_its_own() {
    let bed = TestBed::on(Database::Postgres).await;
    let pooler = PgBouncer::start(2).await;
    let deaf = open(&bed, &pooler, |_| {}).await;
    assert!(!deaf.listens_to_others() && deaf.listener().await.unwrap().is_none());
    let listening = open(&bed, &pooler, |options| options.listen_url = Some(bed.url().to_owned())).await;
    let mut listener = listening.listener().await.unwrap().expect("a listener");
    let speaks = open(&bed, &pooler, |options| options.notifies_nodes = true).await;
    let mut tx = speaks.begin(Lane::Intake).await.unwrap();
    facts::put(&mut tx.conn(), bed.now(), "pooler:x", "1").await.unwrap();
    tx.raise(Stage::Work, bed.now());
    tx.commit().await.unwrap();
    let received = signal("the wake-up", listener.recv()).await.unwrap();
    assert_eq!(received, bed.now().as_microsecond().to_string());
}

/// A pooler that is configured to ignore what a session is opened with.
#[tokio::test]
async fn a_pooler_that_drops_settings_is_found_too() {
    let bed = TestBed::on(Database::Postgres).await;
    let pooler = PgBouncer::start_ignoring(2, "options, extra_float_digits").await;
    let store = open(&bed, &pooler, |_| {}).await;
    assert!(!store.listens_to_others(), "it is known to be a pooler");
    let mut tx = store.begin(Lane::Intake).await.unwrap();
    facts::put(&mut tx.conn(), bed.now(), "pooler:y", "1").await.unwrap();
    tx.commit().await.unwrap();
}

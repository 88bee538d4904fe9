//! A server that says nothing any more (on PostgreSQL alone: SQLite has no server), and connections that one purpose takes
//! from no other.

use std::time::{Duration, Instant};

use punctual_store::{Deadlines, Lane, Store, StoreError, StoreOptions, lists};
use punctual_testkit::{Database, Proxy, TestBed, Way, on_both};
use sqlx::{Connection, PgConnection};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const SHORT: Deadlines = Deadlines {
    statement: Duration::from_millis(400),
    read: Duration::from_millis(400),
    acquire: Duration::from_millis(400),
    connect: Duration::from_secs(4),
    ping: Duration::from_millis(200),
    idle_in_transaction: Duration::from_millis(300),
    plan: Duration::from_secs(5),
};

struct Behind {
    bed: TestBed,
    proxy: Proxy,
    store: Store,
}

/// A store whose connections go through a proxy.
async fn behind_a_proxy() -> Behind {
    let bed = TestBed::on(Database::Postgres).await;
    let (before, rest) = bed.url().split_once('@').unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let proxy = Proxy::start(host).await;
    let address = proxy.url.strip_prefix("http://").unwrap();
    let store = open(&format!("{before}@{address}/{path}"), &bed).await;
    Behind { bed, proxy, store }
}

async fn open(url: &str, bed: &TestBed) -> Store {
    let options = StoreOptions { accept_weak_durability: true, deadlines: SHORT, ..StoreOptions::new(url) };
    Store::open(options, bed.now()).await.unwrap()
}

async fn works(store: &Store) -> bool {
    match store.begin(Lane::Intake).await {
        Ok(mut tx) => {
            lists::page(&mut tx.conn(), &punctual_model::Reach::Everything, "", 1).await.is_ok()
                && tx.commit().await.is_ok()
        }
        Err(error) => {
            assert!(error.is_unavailable(), "{error:?}");
            false
        }
    }
}

#[tokio::test]
async fn a_silent_server_fails_its_callers_within_the_deadline() {
    let Behind { bed: _bed, proxy, store } = behind_a_proxy().await;
    assert!(works(&store).await);
    proxy.set(Way::HoldReplies);
    #[expect(clippy::disallowed_methods, reason = "a deadline in real time is what is tested")]
    let started = Instant::now();
    assert!(!works(&store).await);
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    proxy.set(Way::Pass);
    assert!(works(&store).await);
}

#[tokio::test]
async fn connections_that_fell_silent_are_replaced_after_the_first_failure() {
    let Behind { bed: _bed, proxy, store } = behind_a_proxy().await;
    let (one, two) = (store.begin(Lane::Intake).await.unwrap(), store.begin(Lane::Intake).await.unwrap());
    one.commit().await.unwrap();
    two.commit().await.unwrap();
    proxy.silence_established();
    assert!(!works(&store).await, "a connection that nobody knows to be silent");
    assert!(works(&store).await, "the other is checked before it is used");
    assert!(works(&store).await);
}

#[tokio::test]
async fn a_transaction_of_a_node_that_is_cut_off_is_ended_by_the_server() {
    let Behind { bed, proxy, store } = behind_a_proxy().await;
    let mut tx = store.begin(Lane::Intake).await.unwrap();
    lists::delete(&mut tx.conn(), "nobody").await.unwrap();
    proxy.silence_established();
    let mut watcher = PgConnection::connect(bed.url()).await.unwrap();
    let ended = async {
        loop {
            let open: i64 = sqlx::query_scalar(
                "SELECT COUNT(*) FROM pg_stat_activity
                 WHERE datname = current_database() AND application_name LIKE 'punctual/%' AND state LIKE 'idle in transaction%'",
            )
            .fetch_one(&mut watcher)
            .await
            .unwrap();
            if open == 0 {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), ended).await.expect("the transaction is still open");
    assert!(tx.commit().await.is_err());
}

on_both! {
    one_purpose_takes_no_connections_of_another;
}

async fn one_purpose_takes_no_connections_of_another(bed: TestBed) {
    let mut held = Vec::new();
    // As soon as one must wait, none is free.
    let free = async || tokio::time::timeout(Duration::from_millis(300), bed.store.read_for_people()).await;
    while let Ok(reader) = free().await {
        held.push(reader.unwrap());
        assert!(held.len() < 50, "there is no bound");
    }
    assert!(works(&bed.store).await, "requests that write have their own");
    assert!(bed.store.read().await.is_ok(), "and so has the engine");
    assert!(bed.store.probe().await.is_ok(), "and so have probes");
    drop(held);
    assert!(bed.store.read_for_people().await.is_ok());
}

#[tokio::test]
async fn of_several_hosts_the_one_that_answers_is_used() {
    let bed = TestBed::on(Database::Postgres).await;
    let (before, rest) = bed.url().split_once('@').unwrap();
    // Port 1 has no server.
    let store = open(&format!("{before}@127.0.0.1:1,{rest}"), &bed).await;
    assert!(works(&store).await);
}

/// One that refuses whatever a session is opened with cannot be used; the refusal says what to do instead.
#[tokio::test]
async fn a_pooler_that_takes_no_session_is_refused_with_a_sentence() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://u@{}/d?sslmode=disable", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 1024]).await;
            let fields = b"SFATAL\0C08P01\0Munsupported startup parameter: options\0\0";
            let length = u32::try_from(fields.len() + 4).unwrap().to_be_bytes();
            let _ = stream.write_all(&[b"E".as_slice(), &length, fields].concat()).await;
        }
    });
    let refused =
        Store::open(StoreOptions::new(url), punctual_testkit::START.parse().unwrap()).await.err().unwrap();
    assert!(matches!(refused, StoreError::Pooled), "{refused}");
    assert!(refused.to_string().contains("database_url"), "{refused}");
}

#[tokio::test]
async fn a_statement_that_was_given_up_leaves_no_half_used_connection() {
    let bed = TestBed::on(Database::Postgres).await;
    let store = open(bed.url(), &bed).await;
    for _ in 0..20 {
        let begun = store.begin(Lane::Intake);
        tokio::select! {
            biased;
            () = std::future::ready(()) => {}
            _ = begun => {}
        }
        let mut tx = store.begin(Lane::Intake).await.unwrap();
        // Polled once, then given up in the middle.
        futures_util::future::poll_immediate(lists::page(
            &mut tx.conn(),
            &punctual_model::Reach::Everything,
            "",
            1,
        ))
        .await;
        drop(tx);
    }
    assert!(works(&store).await);
}

//! SIGTERM: stop claiming, finish or give back, leave no lease to run out, and end in time whatever hangs.

use std::{
    io::Write,
    net::TcpStream,
    process::{Command, ExitStatus},
    time::{Duration, Instant},
};

use jiff::{SignedDuration, Timestamp};
use punctual_testkit::{Proxy, Way};
use serde_json::json;

use crate::{
    receiver::Receiver,
    server::{KEY, Place, Server},
};

fn terminate(server: &Server) {
    let sent = Command::new("kill").args(["-TERM", &server.child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Ends a server; returns how long that took.
#[expect(
    clippy::disallowed_methods,
    reason = "a real process on real time; how long it takes is what is tested"
)]
fn stop(server: &mut Server) -> (ExitStatus, Duration) {
    let started = Instant::now();
    terminate(server);
    let status = server.child.wait().unwrap();
    (status, started.elapsed())
}

async fn webhook(server: &Server, receiver: &Receiver) {
    let settings = json!({ "url": receiver.url, "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" });
    let retry = json!({ "policy": "fixed", "max": 20, "intervalSeconds": 1 });
    let channel = json!({ "adapter": "webhook", "settings": settings, "retry": retry });
    server.put("/api/v1/channels/webhook:test", &channel).await;
}

async fn send(server: &Server, count: usize) {
    let one = json!({ "targets": ["hook"], "channel": "webhook:test", "subject": "s", "body": "b" });
    let (status, answer) = server.post("/api/v1/notifications", &json!(vec![one; count])).await.unwrap();
    assert_eq!(status, 200, "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminated_server_ends_in_order_and_the_next_one_goes_on_at_once() {
    for place in [Place::sqlite(), Place::postgres().await] {
        let mut server = place.start(&[]);
        let items: Vec<_> = (0..200)
            .map(|n| json!({ "targets": [format!("u{n}@example.org")], "channel": "memory:default", "subject": "s", "body": "b" }))
            .collect();
        let (status, _) = server.post("/api/v1/notifications", &json!(items)).await.unwrap();
        assert_eq!(status, 200);
        assert!(stop(&mut server).0.success(), "a graceful stop is a success");
        let next = place.start(&[]);
        next.until("the rest to be delivered", async |server| {
            let (_, kpis) = server.get("/api/v1/notifications/kpis").await;
            (kpis["queueDepth"] == 0).then_some(())
        })
        .await;
        let (_, page) = next.get("/api/v1/notifications?status=delivered&limit=200").await;
        assert_eq!(page["items"].as_array().unwrap().len(), 200);
        assert!(
            page["items"].as_array().unwrap().iter().all(|row| row["uncertain"].as_u64().unwrap_or(0) == 0)
        );
        let (_, nodes) = next.get("/api/v1/nodes").await;
        assert_eq!(nodes["items"].as_array().unwrap().len(), 1, "the one that stopped has said so: {nodes}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_starts_after_the_signal_while_a_request_is_still_under_way() {
    for place in [Place::sqlite(), Place::postgres().await] {
        let receiver = Receiver::slow(Duration::from_millis(300)).await;
        let mut server = place.start(&[]);
        webhook(&server, &receiver).await;
        // A request whose body never ends: the server waits for it, and the loops must not.
        let mut open = TcpStream::connect(server.address.strip_prefix("http://").unwrap()).unwrap();
        let head = format!(
            "POST /api/v1/notifications HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {KEY}\r\n\
             Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
        );
        open.write_all(head.as_bytes()).unwrap();
        send(&server, 500).await;
        server.until("some calls", async |_| (receiver.accepted().len() > 20).then_some(())).await;
        #[expect(clippy::disallowed_methods, reason = "a real process on real time")]
        let signalled = Timestamp::now();
        let (status, took) = stop(&mut server);
        assert!(status.success() && took < Duration::from_secs(20), "{took:?}");
        let accepted = receiver.accepted();
        assert!(accepted.len() < 500, "everything was sent before the stop");
        let last = accepted.keys().map(|id| receiver.first_at(id)).max().unwrap();
        assert!(
            last < signalled + SignedDuration::from_millis(1_000),
            "a call started at {last}, after {signalled}"
        );
        assert!(accepted.values().all(|times| times.len() == 1));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_hangs_is_cut_and_recorded_as_uncertain_on_sqlite() {
    cut(Place::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_hangs_is_cut_and_recorded_as_uncertain_on_postgres() {
    cut(Place::postgres().await).await;
}

async fn cut(place: Place) {
    let receiver = Receiver::slow(Duration::from_secs(25)).await;
    let mut server = place.start(&[]);
    webhook(&server, &receiver).await;
    send(&server, 1).await;
    server.until("the call", async |_| (!receiver.accepted().is_empty()).then_some(())).await;
    let (status, took) = tokio::task::block_in_place(|| stop(&mut server));
    assert!(status.success() && took < Duration::from_secs(20), "{took:?}");
    // A node without workers shows what was recorded at the stop.
    let next = place.start(&["--role", "api"]);
    let (_, page) = next.get("/api/v1/notifications").await;
    assert_eq!(page["items"][0]["uncertain"], 1, "{page}");
}

/// PostgreSQL alone: SQLite has no server that goes silent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_ends_in_time_although_its_database_is_silent() {
    let place = Place::postgres().await;
    let url = place.database_url();
    let (before, rest) = url.split_once('@').unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let proxy = Proxy::start(host).await;
    let through = format!("{before}@{}/{path}", proxy.url.strip_prefix("http://").unwrap());
    let receiver = Receiver::slow(Duration::from_millis(200)).await;
    let mut server = place.start_on(&through);
    webhook(&server, &receiver).await;
    send(&server, 200).await;
    server.until("some calls", async |_| (receiver.accepted().len() > 5).then_some(())).await;
    proxy.set(Way::HoldReplies);
    let (status, took) = tokio::task::block_in_place(|| stop(&mut server));
    assert!(status.success() && took < Duration::from_secs(20), "{took:?}");
    proxy.set(Way::Cut);
    let next = place.start(&[]);
    next.until("the rest to be delivered", async |server| {
        let (_, kpis) = server.get("/api/v1/notifications/kpis").await;
        (kpis["queueDepth"] == 0).then_some(())
    })
    .await;
    let (_, page) = next.get("/api/v1/notifications?status=delivered&limit=200").await;
    let rows = page["items"].as_array().unwrap();
    assert_eq!(rows.len(), 200);
    let accepted = receiver.accepted();
    for row in rows {
        let uncertain = usize::try_from(row["uncertain"].as_u64().unwrap_or(0)).unwrap();
        assert!(accepted[row["id"].as_str().unwrap()].len() <= 1 + uncertain, "{row}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_has_become_too_old_stops_with_a_sentence() {
    let place = Place::postgres().await;
    let log = place.folder().join("log");
    let mut server = place.start_with_log(&[], &log);
    let store = punctual_store::Store::open(
        punctual_store::StoreOptions {
            accept_weak_durability: true,
            ..punctual_store::StoreOptions::new(place.database_url())
        },
        Timestamp::UNIX_EPOCH,
    );
    let store = store.await.unwrap();
    let mut tx = store.begin(punctual_store::Lane::Settle).await.unwrap();
    punctual_store::facts::put(&mut tx.conn(), Timestamp::UNIX_EPOCH, "schema.oldest-node", "999")
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let status = tokio::task::block_in_place(|| server.child.wait()).unwrap();
    assert!(!status.success());
    let text = std::fs::read_to_string(log).unwrap();
    assert!(text.contains("start the newer version"), "{text}");
}

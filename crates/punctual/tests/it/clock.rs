//! Machines whose clocks are wrong: nothing leaves early, nothing twice, and time never goes back.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::{
    receiver::Receiver,
    server::{Place, Server},
};

/// How far a node's time may be from the database's.
const BOUND: SignedDuration = SignedDuration::from_millis(50);
const MESSAGES: usize = 30;

#[expect(clippy::disallowed_methods, reason = "real processes on real time")]
fn now() -> Timestamp {
    Timestamp::now()
}

/// PostgreSQL alone: only there are several nodes, and a clock that they share.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r21_nodes_with_wrong_clocks_send_nothing_early_and_nothing_twice() {
    for wrong in [["0s", "2h", "-90s"], ["-2h", "90s", "2h"]] {
        together(&wrong).await;
    }
}

async fn created_at(server: &Server, made: &Value) -> Timestamp {
    let id = made["id"].as_str().unwrap();
    let (_, row) = server.get(&format!("/api/v1/notifications/{id}")).await;
    row["createdAt"].as_str().unwrap().parse().unwrap()
}

async fn together(wrong: &[&str]) {
    let place = Place::postgres().await;
    // Long enough that each node sweeps while the others' calls are under way.
    let receiver = Receiver::slow(std::time::Duration::from_millis(1_500)).await;
    let start = |by: &&str| place.start(&["--clock-wrong-by", by, "--node", &format!("wrong by {by}")]);
    let mut nodes = vec![start(&wrong[0])];
    let settings = json!({ "url": receiver.url, "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" });
    let channel = json!({ "adapter": "webhook", "settings": settings });
    nodes[0].put("/api/v1/channels/webhook:test", &channel).await;
    nodes.extend(wrong[1..].iter().map(start));
    let due = now() + SignedDuration::from_secs(4);
    for n in 0..MESSAGES {
        // Half of them at once, half at a moment; accepted by one node after the other.
        let mut body = json!({ "targets": ["hook"], "channel": "webhook:test", "subject": "s", "body": "b" });
        let path = if n % 2 == 0 {
            body["id"] = json!(format!("later-{n}"));
            body["sendAt"] = json!(due.to_string());
            "/api/v1/messages"
        } else {
            "/api/v1/notifications"
        };
        let before = now();
        let (status, made) = nodes[n % nodes.len()].post(path, &body).await.unwrap();
        assert!(status < 300, "{status} {made}");
        if n % 2 == 1 {
            let at = created_at(&nodes[0], &made).await;
            assert!(before - BOUND <= at && at <= now() + BOUND, "{wrong:?}: {at} and not {before}");
        }
    }
    let rows = nodes[0]
        .until("everything to be delivered", async |server| {
            let (_, page) = server.get("/api/v1/notifications?status=delivered&limit=200").await;
            let rows = page["items"].as_array().unwrap().clone();
            (rows.len() == MESSAGES).then_some(rows)
        })
        .await;
    let accepted = receiver.accepted();
    for row in &rows {
        assert_eq!(row["uncertain"].as_u64().unwrap_or(0), 0, "{wrong:?}: {row}");
        let id = row["id"].as_str().unwrap();
        assert_eq!(accepted[id].len(), 1, "{wrong:?}: {id} was sent more than once");
        if row["workId"] != Value::Null {
            let arrived = receiver.first_at(id);
            assert!(arrived >= due - BOUND, "{wrong:?}: {id} arrived at {arrived}, before {due}");
        }
    }
    let later = rows.iter().filter(|row| row["workId"] != Value::Null).count();
    assert_eq!(later, MESSAGES / 2);
    for node in &nodes {
        assert_eq!(node.get("/readyz").await.0, 200);
    }
}

/// SQLite alone: a single node goes by its own clock, and by what it has shown before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r21_a_clock_that_was_set_back_does_not_take_a_single_node_back() {
    let place = Place::sqlite();
    let mut last = Timestamp::MIN;
    for wrong in ["2h", "0s", "-2h", "2h"] {
        let server = place.start(&["--clock-wrong-by", wrong]);
        let body =
            json!({ "targets": ["a@example.org"], "channel": "memory:default", "subject": "s", "body": "b" });
        let (status, made) = server.post("/api/v1/notifications", &body).await.unwrap();
        assert_eq!(status, 201, "{made}");
        let at = created_at(&server, &made).await;
        assert!(at > last, "{wrong}: {at} after {last}");
        assert!(at >= now() - SignedDuration::from_secs(60), "{wrong}: the node is in the past");
        // The mark is written four times a second with this lease.
        last = server
            .until("the mark to be written", async |server| {
                let (_, made) = server.post("/api/v1/notifications", &body).await.unwrap();
                let now = created_at(server, &made).await;
                (now > at + SignedDuration::from_millis(500)).then_some(at)
            })
            .await;
        server.kill();
    }
}

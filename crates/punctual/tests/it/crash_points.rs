//! Every statement of the pipeline has a crash point before and one after it. The process is ended at each of them
//! once, and what was acknowledged is there afterwards. Which ones a message passes on its way is listed by the server itself.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};

use crate::server::{Place, Server};

/// Rounds of requests while the points are listed.
const LISTED_ROUNDS: usize = 20;
/// A point that is passed this often in them is passed again in the rounds of a crash; what a start alone passes is not.
const PASSES: usize = 3;
/// Fewer points mean that something is no longer listed.
const FEWEST: usize = 15;

/// The statements that a message passes on its way, as the server lists them.
pub async fn walked(place: &Place) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("points");
    let passed = || std::fs::read_to_string(&list).unwrap_or_default();
    let server = place.start(&["--crash-at", &format!("list:{}", list.display())]);
    prepare(&server).await;
    let before = passed().len();
    let mut acknowledged = Vec::new();
    for round in 0..LISTED_ROUNDS {
        assert!(walk(&server, &format!("listed-{round}"), &mut acknowledged).await);
    }
    let looks = settled(&server).await;
    let after = passed().len();
    is_settled(&server).await;
    let all = passed();
    server.kill();
    // What our own looks pass, no message does.
    let by_a_look = counted(&all[after..]);
    let by_looks = |name: &str| looks * by_a_look.get(name).copied().unwrap_or(0);
    let points: BTreeSet<String> = counted(&all[before..after])
        .into_iter()
        .filter(|(name, count)| count.saturating_sub(by_looks(name)) >= PASSES)
        .map(|(name, _)| name.to_owned())
        .collect();
    assert!(points.len() >= FEWEST, "{points:?}");
    assert!(points.contains("commit") && points.contains("batches.begin"), "{points:?}");
    points.into_iter().collect()
}

async fn prepare(server: &Server) {
    let retry = json!({ "policy": "fixed", "max": 50, "intervalSeconds": 1 });
    server
        .put(
            "/api/v1/channels/memory:default",
            &json!({ "adapter": "memory", "settings": {}, "retry": retry }),
        )
        .await;
    server.put("/api/v1/lists/ops", &json!({ "type": "memory", "targets": ["a@example.org"] })).await;
}

fn counted(names: &str) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for name in names.lines() {
        *counts.entry(name).or_default() += 1;
    }
    counts
}

/// Waits until nothing is queued; returns how often it looked.
async fn settled(server: &Server) -> usize {
    let looks = AtomicUsize::new(0);
    server
        .until("everything to settle", async |server| {
            looks.fetch_add(1, Ordering::Relaxed);
            is_settled(server).await.then_some(())
        })
        .await;
    looks.into_inner()
}

async fn is_settled(server: &Server) -> bool {
    let (_, kpis) = server.get("/api/v1/notifications/kpis").await;
    kpis["queueDepth"] == 0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r04_a_crash_at_any_point_loses_nothing_that_was_acknowledged() {
    let place = Place::sqlite();
    let points = walked(&place).await;
    let mut acknowledged = Vec::new();
    let (mut crashed, mut number) = (0, 0);
    for name in points {
        for side in ["before", "after"] {
            number += 1;
            // Passed a few times first, so that there is something acknowledged to lose.
            let point = format!("{side}:{name}:4");
            let Some(server) = place.try_start(&["--crash-at", &point]) else {
                crashed += 1;
                continue;
            };
            for round in 0..ROUNDS {
                if !walk(&server, &format!("{number}-{round}"), &mut acknowledged).await {
                    break;
                }
            }
            server.until_ended(&point).await;
            crashed += 1;
        }
    }
    assert_eq!(crashed, number);
    let server = place.start(&[]);
    settled(&server).await;
    for (path, status) in &acknowledged {
        let (code, row) = server.get(path).await;
        assert_eq!(code, 200, "{path} was acknowledged and is lost");
        // A row that was under way at two crashes waits on the ladder; it is there, counted, and has its reason.
        let waits = row["status"] == "pending" && row["retryCount"].as_u64() >= Some(2);
        assert!(row["status"] == *status || waits, "{path}: {row}");
    }
    assert!(acknowledged.len() > 20, "too few requests were acknowledged to say anything");
}

/// Requests are sent this often at most while a server waits for its crash point. What is claimed ahead is claimed together, so
/// that on a busy machine many rounds may pass one point once.
const ROUNDS: usize = 400;

/// A message, a schedule and a notification; false once the server is gone. What the server acknowledges before it ends is noted.
async fn walk(server: &Server, number: &str, acknowledged: &mut Vec<(String, &'static str)>) -> bool {
    let now = "2020-01-01T00:00:00Z";
    let requests = [
        (
            // To a list, which is read when it is claimed; what has targets is sent by the node that took it.
            "/api/v1/notifications",
            json!({ "list": "ops", "subject": "s", "body": "b" }),
        ),
        (
            "/api/v1/messages",
            json!({ "id": format!("m{number}"), "sendAt": in_ms(0), "targets": ["a@example.org"], "channel": "memory:default", "subject": "s", "body": "b" }),
        ),
        (
            "/api/v1/schedules",
            json!({ "key": format!("k{number}"), "topic": "t", "runAt": in_ms(50), "payload": { "since": now } }),
        ),
    ];
    for (path, body) in requests {
        let Some((status, answer)) = server.post(path, &body).await else { return false };
        assert!(status < 300, "{path}: {status} {answer}");
        let (place, status) = match path {
            "/api/v1/notifications" => (format!("{path}/{}", text(&answer, "id")), "delivered"),
            "/api/v1/messages" => {
                (format!("/api/v1/work/{}", answer["workId"]).replace('"', ""), "completed")
            }
            _ => (format!("/api/v1/work/{}", answer["id"]).replace('"', ""), "completed"),
        };
        acknowledged.push((place, status));
    }
    true
}

/// What is due already is locked and settled in one transaction; what is due soon is claimed ahead.
fn in_ms(ms: i64) -> String {
    #[expect(clippy::disallowed_methods, reason = "a real process on real time")]
    let now = jiff::Timestamp::now();
    (now + jiff::SignedDuration::from_millis(ms)).to_string()
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

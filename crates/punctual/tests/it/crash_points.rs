//! Every statement of the pipeline has a crash point before and one after it. The process is ended at each of them
//! once, and what was acknowledged is there afterwards.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::server::{Place, Server};

/// The list in the repository: a statement's name, and whether the walk below passes it (`walked`) or why not.
const LIST: &str = include_str!("crash_points.txt");

fn listed() -> BTreeMap<String, String> {
    LIST.lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .map(|line| {
            line.split_once(' ')
                .map_or((line.to_owned(), String::new()), |(n, why)| (n.to_owned(), why.trim().to_owned()))
        })
        .collect()
}

/// The statements that a message passes on its way.
pub fn walked() -> Vec<String> {
    listed().into_iter().filter(|(_, why)| why == "walked").map(|(name, _)| name).collect()
}

/// The names of all statements, read from the source.
fn named_in_code() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut folders =
        vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../punctual-store/src"))];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            // Its statements are examples.
            if path.with_extension("").ends_with("src/db/text") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let statements = ["sql!(", "Sql::same(", "Sql::each(", "Sql::rows("];
            for (at, opening) in statements.iter().flat_map(|opening| text.match_indices(opening)) {
                let name = text[at + opening.len()..].trim_start();
                if let Some(name) = name.strip_prefix('"').and_then(|rest| rest.split('"').next()) {
                    names.insert(name.to_owned());
                }
            }
        }
    }
    names.insert("commit".to_owned());
    names.insert("consumers.acknowledge".to_owned());
    names
}

#[test]
fn the_list_of_crash_points_is_that_of_the_code() {
    let (listed, coded) = (listed(), named_in_code());
    let missing: Vec<&String> = coded.iter().filter(|name| !listed.contains_key(*name)).collect();
    let gone: Vec<&String> = listed.keys().filter(|name| !coded.contains(*name)).collect();
    assert!(missing.is_empty() && gone.is_empty(), "crash_points.txt: missing {missing:?}, gone {gone:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r04_a_crash_at_any_point_loses_nothing_that_was_acknowledged() {
    let place = Place::sqlite();
    let server = place.start(&[]);
    let retry = json!({ "policy": "fixed", "max": 50, "intervalSeconds": 1 });
    server
        .put(
            "/api/v1/channels/memory:default",
            &json!({ "adapter": "memory", "settings": {}, "retry": retry }),
        )
        .await;
    server.put("/api/v1/lists/ops", &json!({ "type": "memory", "targets": ["a@example.org"] })).await;
    server.kill();
    let mut acknowledged = Vec::new();
    let (mut crashed, mut number) = (0, 0);
    for (name, why) in listed() {
        if why != "walked" {
            continue;
        }
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
    server
        .until("everything to settle", async |server| {
            let (_, kpis) = server.get("/api/v1/notifications/kpis").await;
            (kpis["queueDepth"] == 0).then_some(())
        })
        .await;
    for (path, status) in &acknowledged {
        let (code, row) = server.get(path).await;
        assert_eq!(code, 200, "{path} was acknowledged and is lost");
        // A row that was under way at two crashes waits on the ladder; it is there, counted, and has its reason.
        let waits = row["status"] == "pending" && row["retryCount"].as_u64() >= Some(2);
        assert!(row["status"] == *status || waits, "{path}: {row}");
    }
    assert!(acknowledged.len() > 20, "too few requests were acknowledged to say anything");
}

/// Requests are sent this often at most while a server waits for its crash point.
const ROUNDS: usize = 40;

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

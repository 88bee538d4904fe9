//! Surveys with the shipped binary: a file of events, links that lead to this server, and answers while it is killed.

use std::{
    collections::HashSet,
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

use crate::server::{KEY, Place, Server, binary, client};

/// New links, from events that nobody ingested before.
pub async fn links(server: &Server, round: u64) -> Vec<String> {
    let item = |n: usize| json!({ "payload": { "wip": format!("{round}-{n}"), "dealerId": "1" }, "recipient": { "address": "+964 770" } });
    let items: Vec<Value> = (0..LINKS).map(item).collect();
    let body = json!({ "eventKind": "visit", "items": items });
    let (_, reported) = server.post("/api/v1/surveys/triggers/ingest", &body).await.unwrap();
    let id = |item: &Value| item["instances"][0]["publicId"].as_str().unwrap().to_owned();
    reported["items"].as_array().unwrap().iter().map(id).collect()
}

pub async fn published(server: &Server) {
    let schema = json!({
        "title": { "en": "How was your visit?" },
        "questions": [{ "id": "rate", "type": "nps", "text": { "en": "Rate" }, "required": true }],
        "triggers": [{ "id": "visit", "eventKind": "visit", "dedupRecipe": ["templateId", "recipient.address", "candidate.dealerId", "candidate.wip"],
            "schedule": { "initialDelay": "0d", "reminders": ["1d"] }, "channel": "memory:default" }]
    });
    let (status, made) =
        server.post("/api/v1/surveys", &json!({ "name": "CSI", "schema": schema })).await.unwrap();
    assert_eq!((status, &made["id"]), (201, &json!(1)), "{made}");
    let (status, done) = server.post("/api/v1/surveys/1/publish", &json!({})).await.unwrap();
    assert_eq!(status, 200, "{done}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_events_is_handed_in_and_bad_lines_are_named() {
    let place = Place::sqlite();
    let server = place.start(&[]);
    published(&server).await;
    let file = place.folder().join("visits.csv");
    let text = "wip,dealerId,recipient.address,recipient.locale\r\n1,1,+964 770 1,ar\r\n2,1,\"a\n b\",en\r\n3,1\r\n4,1,+964 770 4,en\r\n1,1,+964 770 1,ar\r\n";
    std::fs::write(&file, text).unwrap();
    let ingest = || {
        let mut command = Command::new(binary());
        command.args(["surveys", "ingest"]).arg(&file);
        command.args(["--event-kind", "visit", "--json", "--server", &server.address, "--key", KEY]);
        let done = command.output().unwrap();
        let reported: Value = serde_json::from_slice(&done.stdout)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&done.stderr)));
        (done.status.success(), reported)
    };
    let (ok, reported) = ingest();
    assert!(!ok, "bad lines are a failure that scripts see");
    assert_eq!((&reported["created"], &reported["skipped"]), (&json!(2), &json!(1)), "{reported}");
    let lines: Vec<i64> =
        reported["failed"].as_array().unwrap().iter().map(|one| one["line"].as_i64().unwrap()).collect();
    assert_eq!(lines, [5, 3], "{reported}");
    let (_, again) = ingest();
    assert_eq!((&again["created"], &again["skipped"]), (&json!(0), &json!(3)), "{again}");
    // The message has a link to this very server, and the link leads to a page.
    let link = server
        .until("a message", async |server| {
            let (_, list) = server.get("/api/v1/notifications?limit=10").await;
            let id = list["items"].as_array()?.iter().find(|row| row["status"] == "delivered")?["id"]
                .as_str()?
                .to_owned();
            let (_, row) = server.get(&format!("/api/v1/notifications/{id}")).await;
            row["body"].as_str()?.split_whitespace().find(|word| word.starts_with("http")).map(str::to_owned)
        })
        .await;
    assert!(link.starts_with(&server.address), "{link}");
    let page = client().get(&link).send().await.unwrap();
    assert_eq!(page.status().as_u16(), 200);
    assert!(page.text().await.unwrap().contains("How was your visit?"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_kill_r16_an_answer_and_its_event_exist_together_on_sqlite() {
    storm(Place::sqlite(), 60).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_kill_r16_an_answer_and_its_event_exist_together_on_postgres() {
    storm(Place::postgres().await, 40).await;
}

/// Links that are made at once, for some rounds.
const LINKS: usize = 2_000;
/// A release is tested with five thousand kills.
const AT_RELEASE: u64 = 50;

/// Answers keep coming while the server is killed again and again: a hundred times on both databases together.
#[expect(clippy::disallowed_methods, reason = "a real process is killed at a real moment")]
async fn storm(place: Place, kills: u64) {
    let release = std::env::var("PUNCTUAL_RIG_SCALE").is_ok_and(|scale| scale == "release");
    let kills = if release { kills * AT_RELEASE } else { kills };
    let taken: Arc<Mutex<HashSet<String>>> = Arc::default();
    let unanswered = Arc::new(AtomicUsize::new(0));
    let mut ids: Arc<Vec<String>> = Arc::default();
    let next = Arc::new(AtomicUsize::new(0));
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    // One for all: making one reads the machine's certificates.
    let http = client();
    for round in 0..kills {
        let server = place.start(&[]);
        if round == 0 {
            published(&server).await;
            server.put("/api/v1/subscribers/memory:bi", &json!({ "adapter": "memory" })).await;
        }
        if next.load(Ordering::Relaxed) + LINKS / 4 > ids.len() {
            ids = Arc::new(links(&server, round).await);
            next.store(0, Ordering::Relaxed);
        }
        let stop = Arc::new(AtomicBool::new(false));
        let clients: Vec<_> = (0..4)
            .map(|_| {
                let (ids, next, stop, taken) = (ids.clone(), next.clone(), stop.clone(), taken.clone());
                let (http, address, unanswered) = (http.clone(), server.address.clone(), unanswered.clone());
                tokio::spawn(async move {
                    while let Some(id) = ids.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if stop.load(Ordering::Relaxed) {
                            return;
                        }
                        let body = json!({ "submissionId": id, "answers": { "rate": 9 } });
                        let url = format!("{address}/api/v1/public/surveys/{id}/responses");
                        match http.post(url).json(&body).send().await {
                            Ok(reply) if reply.status().is_success() => {
                                taken.lock().unwrap().insert(id.clone());
                            }
                            Ok(reply) => assert!(reply.status().as_u16() >= 500, "{}", reply.status()),
                            Err(_) => {
                                unanswered.fetch_add(1, Ordering::Relaxed);
                                return;
                            }
                        }
                    }
                })
            })
            .collect();
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        // In the middle of it: some are answered, and others are on their way.
        let before = taken.lock().unwrap().len();
        server
            .until("some answers", async |_| (taken.lock().unwrap().len() >= before + 4).then_some(()))
            .await;
        // tidy-allow: a real process on real time
        tokio::time::sleep(Duration::from_micros(seed % 60_000)).await;
        server.kill();
        stop.store(true, Ordering::Relaxed);
        for client in clients {
            client.await.unwrap();
        }
    }
    let in_flight = unanswered.load(Ordering::Relaxed) as u64;
    assert!(in_flight >= kills, "{kills} kills cut off {in_flight} answers: not one each");
    let server = place.start(&[]);
    let mut reported = HashSet::new();
    let mut cursor = String::new();
    loop {
        let (_, page) = server.get(&format!("/api/v1/outbox-events?limit=200{cursor}")).await;
        for event in page["items"].as_array().unwrap() {
            assert_eq!(event["deliveries"].as_array().unwrap().len(), 1, "{event}");
            assert!(
                reported.insert(event["instancePublicId"].as_str().unwrap().to_owned()),
                "published twice: {event}"
            );
        }
        let Some(next) = page["nextCursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    let (_, results) = server.get("/api/v1/surveys/1/results").await;
    assert_eq!(results["answered"], reported.len(), "every answer has its event, and every event its answer");
    assert_eq!(results["byStatus"]["completed"], reported.len());
    let taken = taken.lock().unwrap().clone();
    assert!(
        taken.len() > 200 && taken.is_subset(&reported),
        "{} acknowledged, {} published",
        taken.len(),
        reported.len()
    );
    // One that was acknowledged answers the same again.
    if let Some(id) = ids.iter().find(|id| taken.contains(*id)) {
        let body = json!({ "submissionId": id, "answers": { "rate": 1 } });
        let (status, again) =
            server.post(&format!("/api/v1/public/surveys/{id}/responses"), &body).await.unwrap();
        assert_eq!((status, &again["status"]), (200, &json!("completed")));
    }
}

//! SIGKILL at random moments under load: nothing acknowledged is lost, nothing is sent twice except marked uncertain.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    receiver::Receiver,
    server::{KEY, Place, Server, client},
};

/// What the clients were told.
#[derive(Default)]
struct Told {
    acknowledged: Mutex<HashSet<String>>,
    unanswered: Mutex<HashSet<String>>,
}

fn kills() -> u64 {
    let release = std::env::var("PUNCTUAL_RIG_SCALE").is_ok_and(|scale| scale == "release");
    if release { 500 } else { 50 }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_kill_r04_r11_nothing_acknowledged_is_lost_on_sqlite() {
    storm(Place::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_kill_r04_r11_nothing_acknowledged_is_lost_on_postgres() {
    storm(Place::postgres().await).await;
}

#[expect(clippy::disallowed_methods, reason = "a real process is killed at a real moment")]
async fn storm(place: Place) {
    let receiver = Receiver::start().await;
    let told = Arc::new(Told::default());
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let number = Arc::new(AtomicU64::new(0));
    // One for all rounds: making one reads the machine's certificates.
    let http = client();
    for round in 0..kills() {
        let server = place.start(&[]);
        if round == 0 {
            configure(&server, &receiver).await;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let clients: Vec<_> = (0..4)
            .map(|_| {
                let load = Load {
                    client: http.clone(),
                    address: server.address.clone(),
                    told: told.clone(),
                    number: number.clone(),
                    stop: stop.clone(),
                };
                tokio::spawn(load.run())
            })
            .collect();
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        // tidy-allow: a real process on real time
        tokio::time::sleep(Duration::from_millis(150 + seed % 350)).await;
        server.kill();
        stop.store(true, Ordering::Relaxed);
        for client in clients {
            client.await.unwrap();
        }
    }
    check(&place, &receiver, &told).await;
}

async fn configure(server: &Server, receiver: &Receiver) {
    let settings = json!({ "url": receiver.url, "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" });
    let retry = json!({ "policy": "fixed", "max": 20, "intervalSeconds": 1 });
    let channel = json!({ "adapter": "webhook", "settings": settings, "retry": retry });
    server.put("/api/v1/channels/webhook:test", &channel).await;
}

struct Load {
    client: reqwest::Client,
    address: String,
    told: Arc<Told>,
    number: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Load {
    async fn run(self) {
        while !self.stop.load(Ordering::Relaxed) {
            let n = self.number.fetch_add(1, Ordering::Relaxed);
            let id = format!("00000000-0000-4000-8000-{n:012x}");
            let body = json!({ "id": id, "targets": ["hook"], "channel": "webhook:test", "subject": "s", "body": "b" });
            let request = self
                .client
                .post(format!("{}/api/v1/notifications", self.address))
                .bearer_auth(KEY)
                .json(&body);
            match request.send().await {
                Ok(response) if response.status().is_success() => {
                    self.told.acknowledged.lock().unwrap().insert(id);
                }
                // 429 and the like are answers: not stored.
                Ok(response) if response.status().is_client_error() => {}
                _ => {
                    self.told.unanswered.lock().unwrap().insert(id);
                    return;
                }
            }
        }
    }
}

async fn check(place: &Place, receiver: &Receiver, told: &Told) {
    let server = place.start(&[]);
    let rows = server
        .until("everything to settle", async |server| {
            let rows = all(server).await;
            let live =
                rows.iter().filter(|row| matches!(text(row, "status"), "pending" | "retrying")).count();
            (live == 0).then_some(rows)
        })
        .await;
    let by_id: HashMap<&str, &Value> = rows.iter().map(|row| (text(row, "id"), row)).collect();
    let acknowledged = told.acknowledged.lock().unwrap();
    let unanswered = told.unanswered.lock().unwrap();
    assert!(acknowledged.len() > 100, "the load was too small to say anything: {}", acknowledged.len());
    for id in acknowledged.iter() {
        let row = by_id.get(id.as_str()).unwrap_or_else(|| panic!("acknowledged and lost: {id}"));
        assert_eq!(text(row, "status"), "delivered", "{row}");
    }
    for id in by_id.keys() {
        assert!(acknowledged.contains(*id) || unanswered.contains(*id), "nobody sent {id}");
    }
    let accepted = receiver.accepted();
    let mut repeated = 0;
    for (id, messages) in &accepted {
        let row = by_id.get(id.as_str()).unwrap_or_else(|| panic!("{id} was sent and is not stored"));
        let uncertain = row.get("uncertain").and_then(Value::as_u64).unwrap_or(0) as usize;
        assert!(
            messages.len() <= 1 + uncertain,
            "{id} was sent {} times, {uncertain} uncertain",
            messages.len()
        );
        assert!(messages.windows(2).all(|pair| pair[0] == pair[1]), "the message id changed: {messages:?}");
        repeated += messages.len() - 1;
    }
    for id in by_id.keys() {
        assert!(accepted.contains_key(*id), "{id} is delivered and was never received");
    }
    println!(
        "{} kills: {} acknowledged, {} unanswered, {} stored, {repeated} repeated, all of them marked",
        kills(),
        acknowledged.len(),
        unanswered.len(),
        rows.len()
    );
}

/// Every notification, page by page.
async fn all(server: &Server) -> Vec<Value> {
    let (mut rows, mut cursor) = (Vec::new(), String::new());
    loop {
        let (status, page) = server.get(&format!("/api/v1/notifications?limit=200{cursor}")).await;
        assert_eq!(status, 200, "{page}");
        rows.extend(page["items"].as_array().unwrap().iter().cloned());
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return rows,
        }
    }
}

fn text<'v>(row: &'v Value, name: &str) -> &'v str {
    row.get(name).and_then(Value::as_str).unwrap_or_default()
}

//! The clients of a trial: they ask for messages without end, each with a key of its own, and note what they were answered.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use punctual_testkit::history::judge::{Asked, Replies};
use serde_json::{Value, json};

use super::scene::pause;
use crate::server::{KEY, client};

const CLIENTS: usize = 4;
/// Between two requests of one client: enough to keep calls under way, and not so much that a trial is about its backlog.
const PACE_MS: u64 = 10;
/// How often, and after how long, a client that repeats asks again before it gives up: ten seconds in all.
const REPEATS: usize = 100;
const REPEAT_AFTER_MS: u64 = 100;

/// Clients at work.
pub struct Load {
    shared: Arc<Shared>,
    clients: Vec<tokio::task::JoinHandle<()>>,
}

struct Shared {
    /// Where servers listen now.
    addresses: Mutex<Vec<String>>,
    replies: Mutex<Replies>,
    next: AtomicU64,
    acknowledged: AtomicU64,
    stop: AtomicBool,
    many: usize,
    /// Whether the clients are scripts at a site.
    is_site: bool,
    /// Whether they repeat what failed, at the next server.
    repeats: bool,
    given_up: AtomicU64,
}

impl Load {
    /// Starts the clients; one message in eight goes to `many` targets, the others to one.
    pub fn start(addresses: Vec<String>, many: usize) -> Self {
        Self::of(addresses, many, false, false)
    }

    /// Starts clients that repeat what failed, under the same id.
    pub fn that_repeats(addresses: Vec<String>, many: usize) -> Self {
        Self::of(addresses, many, false, true)
    }

    /// How many requests failed whatever their client did.
    pub fn given_up(&self) -> u64 {
        self.shared.given_up.load(Ordering::Relaxed)
    }

    /// Starts clients of the agent of a site.
    pub fn at_site(agent: String) -> Self {
        Self::of(vec![agent], 1, true, false)
    }

    fn of(addresses: Vec<String>, many: usize, is_site: bool, repeats: bool) -> Self {
        let shared = Arc::new(Shared {
            addresses: Mutex::new(addresses),
            replies: Mutex::default(),
            next: AtomicU64::new(0),
            acknowledged: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            many,
            is_site,
            repeats,
            given_up: AtomicU64::new(0),
        });
        let clients = (0..CLIENTS).map(|number| tokio::spawn(ask(shared.clone(), number))).collect();
        Self { shared, clients }
    }

    /// Servers listen elsewhere from here on.
    pub fn lead_to(&self, addresses: Vec<String>) {
        *self.shared.addresses.lock().unwrap() = addresses;
    }

    /// How many requests were acknowledged so far.
    pub fn acknowledged(&self) -> u64 {
        self.shared.acknowledged.load(Ordering::Relaxed)
    }

    /// No client asks for anything from here on.
    pub fn pause(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// Asks for one message that is to leave so many seconds from now.
    pub async fn ask_for_later(&self, address: &str, seconds: i64) {
        let (key, targets) = ("later".to_owned(), vec!["hook-0".to_owned()]);
        let at = in_ms(seconds * 1_000);
        let body = json!({ "id": key, "sendAt": at, "targets": targets, "channel": "webhook:test",
            "subject": key, "body": "b" });
        let request = client().post(format!("{address}/api/v1/messages")).bearer_auth(KEY).json(&body);
        assert!(request.send().await.unwrap().status().is_success());
        let asked = Asked { key, targets, not_before: at.parse().ok() };
        self.shared.replies.lock().unwrap().acknowledged.push(asked);
    }

    /// Ends the clients; returns what they were answered.
    pub async fn stop(self) -> Replies {
        self.shared.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.await.unwrap();
        }
        std::mem::take(&mut *self.shared.replies.lock().unwrap())
    }
}

/// Each client has a server of its own, so that one that hangs holds up its own clients alone.
async fn ask(shared: Arc<Shared>, number: usize) {
    let client = client();
    while !shared.stop.load(Ordering::Relaxed) {
        let n = shared.next.fetch_add(1, Ordering::Relaxed);
        let count = if n.is_multiple_of(8) { shared.many } else { 1 };
        let targets: Vec<String> = (0..count).map(|target| format!("hook-{target}")).collect();
        let key = format!("key-{n:08}");
        let (path, body) = if shared.is_site { to_site(n, &key) } else { request(n, &key, &targets) };
        let not_before = body["sendAt"].as_str().and_then(|at| at.parse().ok());
        let send = |repeat: usize| {
            let addresses = shared.addresses.lock().unwrap();
            let address = &addresses[(number + repeat) % addresses.len()];
            let request = client.post(format!("{address}{path}")).bearer_auth(KEY).json(&body);
            request.timeout(Duration::from_secs(10)).send()
        };
        let mut answer = send(0).await.map(|answer| answer.status());
        let mut repeats = 0;
        while shared.repeats
            && repeats < REPEATS
            && !answer.as_ref().is_ok_and(|status| !status.is_server_error())
        {
            pause(REPEAT_AFTER_MS).await;
            repeats += 1;
            answer = send(repeats).await.map(|answer| answer.status());
        }
        let asked = Asked { key, targets, not_before };
        match answer {
            Ok(status) if status.is_success() => {
                shared.replies.lock().unwrap().acknowledged.push(asked);
                shared.acknowledged.fetch_add(1, Ordering::Relaxed);
                pause(PACE_MS).await;
            }
            // Answers that say: not stored.
            Ok(status) if status.is_client_error() => panic!("{path} was refused: {status}"),
            _ => {
                shared.given_up.fetch_add(u64::from(shared.repeats), Ordering::Relaxed);
                shared.replies.lock().unwrap().unanswered.push(asked);
                pause(PACE_MS * 2).await;
            }
        }
    }
}

/// Three in four are to be sent at once, one becomes due first.
fn request(n: u64, key: &str, targets: &[String]) -> (&'static str, Value) {
    let mut body = json!({ "targets": targets, "channel": "webhook:test", "subject": key, "body": "b" });
    if n % 4 == 1 {
        body["id"] = json!(format!("message-{n}"));
        body["sendAt"] = json!(in_ms(i64::try_from(n % 5).unwrap() * 50));
        return ("/api/v1/messages", body);
    }
    body["id"] = json!(format!("00000000-0000-4000-8000-{n:012x}"));
    ("/api/v1/notifications", body)
}

fn to_site(n: u64, key: &str) -> (&'static str, Value) {
    let id = format!("00000000-0000-4000-8000-{n:012x}");
    ("/notify", json!({ "id": id, "list": "ops", "subject": key, "body": "b" }))
}

#[expect(clippy::disallowed_methods, reason = "a real process on real time")]
fn in_ms(ms: i64) -> String {
    (jiff::Timestamp::now() + jiff::SignedDuration::from_millis(ms)).to_string()
}

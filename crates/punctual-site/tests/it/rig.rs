//! A central server on a bed, a proxy in front of it, and agents that stand still until they are ticked.

use std::{path::Path, time::Duration};

use punctual_api::{ApiState, serve};
use punctual_engine::keys::ensure_admin_key;
use punctual_model::{Random, Secret};
use punctual_site::{Agent, ForwardReport, SiteConfig};
use punctual_store::{
    api_keys,
    notifications::{NotificationFilter, NotificationRow, list},
};
use punctual_testkit::{Proxy, Seeded, TestBed, Way, signal};
use punctual_wire::site_agent::NotifyRequest;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub const ADMIN: &str = "an-operator-s-own-key";

pub struct Rig {
    pub bed: TestBed,
    pub proxy: Proxy,
    /// Where central listens, without the proxy.
    pub direct: String,
    pub token: String,
    pub folder: TempDir,
    _stop: tokio_util::sync::DropGuard,
}

impl Rig {
    pub async fn new(bed: &TestBed) -> Self {
        Self::with(bed, |_| {}).await
    }

    pub async fn with(bed: &TestBed, change: impl FnOnce(&mut ApiState)) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        ensure_admin_key(&bed.store, bed.now(), ADMIN).await.unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let stop = CancellationToken::new();
        let mut state = ApiState::new(bed.engine.clone(), bed.clock.clone());
        change(&mut state);
        tokio::spawn(serve(listener, punctual_api::router(state), stop.clone()));
        let proxy = Proxy::start(address.clone()).await;
        let mut rig = Self {
            bed: bed.clone(),
            proxy,
            direct: format!("http://{address}"),
            token: String::new(),
            folder: folder(),
            _stop: stop.drop_guard(),
        };
        rig.token = rig.make_site("plant-7").await;
        rig
    }

    pub async fn make_site(&self, id: &str) -> String {
        let (status, made) = self.call("POST", "/api/v1/sites", Some(json!({ "id": id }))).await;
        assert_eq!(status, 201, "{made}");
        made["token"].as_str().unwrap().to_owned()
    }

    /// Asks central as an operator, round the proxy.
    pub async fn call(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut request = client.request(method.parse().unwrap(), format!("{}{path}", self.direct));
        request = request.bearer_auth(ADMIN);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap_or(Value::Null))
    }

    pub fn config(&self) -> SiteConfig {
        self.config_in(self.folder.path())
    }

    pub fn config_in(&self, folder: &Path) -> SiteConfig {
        let mut config = SiteConfig::new(self.proxy.url.clone(), Secret::new(self.token.clone()), folder);
        config.request_time = Duration::from_secs(20);
        config.reserve_bytes = 64 << 10;
        config
    }

    pub async fn agent(&self) -> Agent {
        self.agent_with(self.config()).await
    }

    /// An agent on this folder. One that was dropped there gives the file up when its last task has ended.
    pub async fn agent_with(&self, config: SiteConfig) -> Agent {
        let opened = async {
            loop {
                let opened =
                    Agent::open(config.clone(), self.bed.clock.clone(), self.bed.random.clone()).await;
                match opened {
                    Err(punctual_store::StoreError::Owned(_)) => tokio::task::yield_now().await,
                    opened => return opened.unwrap(),
                }
            }
        };
        signal("the buffer to be free", opened).await
    }

    /// What central has from this site, oldest first.
    pub async fn stored(&self) -> Vec<NotificationRow> {
        let filter =
            NotificationFilter { site: Some("plant-7".into()), limit: 1_000_000, ..Default::default() };
        let mut rows = list(&mut self.bed.read().await.conn(), &punctual_model::Reach::Everything, &filter)
            .await
            .unwrap();
        rows.reverse();
        rows
    }

    /// Waits until central has written down that the keys were used, which it does beside the requests.
    pub async fn keys_are_noted(&self) {
        let noted = async || {
            let keys = api_keys::all(&mut self.bed.read().await.conn()).await.unwrap();
            keys.iter().all(|key| key.last_used_at.is_some())
        };
        while !noted().await {
            tokio::task::yield_now().await;
        }
    }

    /// The bodies that central has, in its order.
    pub async fn bodies(&self) -> Vec<String> {
        self.stored().await.into_iter().map(|row| row.body).collect()
    }
}

/// A folder in memory where there is such a place: what survives a power cut is tested elsewhere.
pub fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { TempDir::new_in(memory).unwrap() } else { TempDir::new().unwrap() }
}

pub fn message(list: &str, body: impl Into<String>) -> NotifyRequest {
    NotifyRequest { list: list.into(), subject: "S".into(), body: body.into(), ..NotifyRequest::default() }
}

/// Calls that share a commit.
const TOGETHER: usize = 500;

/// The bodies are `0..count`, each once and in order.
#[track_caller]
pub fn check_order(bodies: &[String], count: usize) {
    for (n, body) in bodies.iter().enumerate() {
        assert_eq!(*body, n.to_string(), "out of order, lost or doubled");
    }
    assert_eq!(bodies.len(), count);
}

/// Hands in bodies `0..count` one after the other; returns their ids.
pub async fn notify_many(agent: &Agent, list: &str, numbers: std::ops::Range<usize>) -> Vec<String> {
    let mut ids = Vec::new();
    let numbers: Vec<usize> = numbers.collect();
    for chunk in numbers.chunks(TOGETHER) {
        // Polled in order, so taken in order: the runtime must not stop one to be fair to others.
        let calls = chunk.iter().map(|number| agent.notify(message(list, number.to_string())));
        for taken in tokio::task::unconstrained(futures_util::future::join_all(calls)).await {
            ids.push(taken.unwrap());
        }
    }
    ids
}

/// Ticks until nothing waits; fails when something cannot be forwarded.
pub async fn drain(agent: &Agent) -> usize {
    let mut stored = 0;
    loop {
        let report = tick(agent).await;
        assert_eq!(report.failure, None);
        stored += report.stored + report.duplicates;
        if report.sent == 0 && report.next != punctual_site::Next::Now {
            return stored;
        }
    }
}

pub async fn tick(agent: &Agent) -> ForwardReport {
    agent.forward_tick(agent.clock.now()).await
}

/// A way for the next replies, at random.
pub fn any_way(random: &Seeded) -> Way {
    match random.below(10) {
        0 => Way::SwallowReplies,
        1 => Way::HalfReplies,
        2 => Way::Cut,
        3 => Way::HoldReplies,
        _ => Way::Pass,
    }
}

/// An id as agents make them.
pub fn some_id(bed: &TestBed) -> String {
    bed.random.ordered_uuid(bed.now()).hyphenated().to_string()
}

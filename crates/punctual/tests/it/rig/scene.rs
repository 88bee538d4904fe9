//! What every trial has: a receiver, clients, a database to read at the end, and the time that recovery took.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use punctual_testkit::{
    history::{judge::History, stored::Stored},
    rig::Outcome,
};
use serde_json::{Value, json};

use super::load::Load;
use crate::{
    receiver::Receiver,
    server::{Server, client},
};

/// As `server.rs` starts its servers. A call may start this long after its intent was written.
pub const LEASE: Duration = Duration::from_secs(3);
/// No recovery and no end takes longer, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(120);

pub struct Scene {
    pub receiver: Receiver,
    pub load: Load,
    stored: Stored,
    injected: BTreeMap<String, u64>,
    recovered_in: Vec<Duration>,
}

impl Scene {
    /// Configures the server and starts the clients.
    pub async fn open(server: &Server, stored: Stored, answers_after: Duration) -> Self {
        Self::with_many(server, stored, answers_after, 4).await
    }

    /// The same; one message in eight goes to this many targets.
    pub async fn with_many(server: &Server, stored: Stored, answers_after: Duration, many: usize) -> Self {
        let receiver = Receiver::slow(answers_after).await;
        configure(server, &receiver.url).await;
        Self::under(Load::start(vec![server.address.clone()], many), receiver, stored)
    }

    /// With a load and a receiver that are set up.
    pub fn under(load: Load, receiver: Receiver, stored: Stored) -> Self {
        Self { receiver, load, stored, injected: BTreeMap::new(), recovered_in: Vec::new() }
    }

    /// Notes a fault.
    pub fn injected(&mut self, kind: &str) {
        *self.injected.entry(kind.to_owned()).or_default() += 1;
    }

    /// The database is elsewhere from here on.
    pub fn moved(&mut self, stored: Stored) {
        self.stored = stored;
    }

    /// Waits until the agent of a site has handed everything over. The clients go on, so it is asked for a moment.
    pub async fn backlog_is_empty(&mut self, agent: &str) {
        self.load.pause();
        for _ in 0..6_000 {
            let health = client().get(format!("{agent}/healthz")).send().await;
            if let Ok(health) = health
                && let Ok(health) = health.json::<Value>().await
                && health["backlog"] == 0
            {
                return;
            }
            pause(20).await;
        }
        panic!("the buffer of the site is not empty");
    }

    pub fn faults(&self) -> u64 {
        self.injected.values().sum()
    }

    /// Whether a call was started after its lease, by what is stored and received by now.
    pub async fn late_so_far(&self) -> bool {
        let history = History {
            stored: self.stored.messages().await.unwrap(),
            received: self.receiver.calls(),
            call_within: Some(LEASE),
            ..History::default()
        };
        !history.judge().late.is_empty()
    }

    /// Waits until a request is acknowledged and a message is received again; notes the time since the fault ended.
    #[expect(clippy::disallowed_methods, reason = "real processes on real time; how long it takes is noted")]
    pub async fn recovered(&mut self, ended: Instant) {
        let (acknowledged, received) = (self.load.acknowledged(), self.receiver.count());
        let deadline = Instant::now() + PATIENCE;
        while self.load.acknowledged() == acknowledged || self.receiver.count() == received {
            assert!(Instant::now() < deadline, "no recovery after {:?}", self.injected);
            pause(5).await;
        }
        self.recovered_in.push(ended.elapsed());
    }

    /// Ends the clients, waits until nothing is under way, and judges.
    pub async fn judge(self) -> Outcome {
        self.judge_with(|_| {}).await
    }

    /// The same, with a look at the history before it is judged.
    #[expect(clippy::disallowed_methods, reason = "real processes on real time")]
    pub async fn judge_with(self, change: impl FnOnce(&mut History)) -> Outcome {
        let replies = self.load.stop().await;
        let stopped = Instant::now();
        let deadline = stopped + PATIENCE;
        while self.stored.live().await != Ok(0) && Instant::now() < deadline {
            pause(50).await;
        }
        let live = self.stored.live_rows().await.unwrap();
        let unsettled = live
            .into_iter()
            .map(|(what, status, reason)| format!("{what}, {status} {}", reason.unwrap_or_default()));
        let settled_in = stopped.elapsed();
        let mut history = History {
            replies,
            stored: self.stored.messages().await.unwrap(),
            received: self.receiver.calls(),
            injected: self.injected.clone(),
            unsettled: unsettled.collect(),
            call_within: Some(LEASE),
        };
        change(&mut history);
        Outcome {
            injected: self.injected,
            judgement: history.judge(),
            recovered_in: self.recovered_in,
            settled_in,
        }
    }
}

/// The channel of the trials, which retries each second. A lease outlives a call, so calls are short.
pub async fn configure(server: &Server, url: &str) {
    let settings =
        json!({ "url": url, "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "timeoutSeconds": 2 });
    let retry = json!({ "policy": "fixed", "max": 50, "intervalSeconds": 1 });
    let list = json!({ "type": "webhook", "channel": "webhook:test", "targets": ["hook-0"] });
    // Few enough calls at once that a trial can hold up all of them.
    let channel = json!({ "adapter": "webhook", "settings": settings, "retry": retry, "circuit": false, "concurrency": 16 });
    server.put("/api/v1/channels/webhook:test", &channel).await;
    server.put("/api/v1/lists/ops", &list).await;
}

#[expect(clippy::disallowed_methods, reason = "real processes on real time")]
pub async fn pause(millis: u64) {
    // tidy-allow: real processes on real time
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

#[expect(clippy::disallowed_methods, reason = "real processes on real time")]
pub fn now() -> Instant {
    Instant::now()
}

//! The agent and central killed at random moments under load: nothing that a script was answered is lost, nothing is
//! there twice, and each list is in order.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use punctual_testkit::{Proxy, Way, scale};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    server::{Place, Server, client},
    site::{Agent, make_site},
};

const SCRIPTS: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_sites_r14_r15_nothing_is_lost_or_doubled_on_sqlite() {
    storm(Place::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_sites_r14_r15_nothing_is_lost_or_doubled_on_postgres() {
    storm(Place::postgres().await).await;
}

/// What the scripts were answered.
#[derive(Default)]
struct Replies {
    acknowledged: Mutex<HashSet<String>>,
    /// No answer, or that it is not known: it may be there or not.
    unanswered: Mutex<HashSet<String>>,
}

struct Script {
    number: usize,
    client: reqwest::Client,
    /// Where the agent listens now.
    agent: Arc<Mutex<String>>,
    replies: Arc<Replies>,
    stop: Arc<AtomicBool>,
}

impl Script {
    async fn run(self) {
        let mut n = 0_u64;
        while !self.stop.load(Ordering::Relaxed) {
            n += 1;
            let id = format!("00000000-0000-4000-800{}-{n:012x}", self.number);
            let list = format!("list-{}", self.number);
            let body = json!({ "id": id, "list": list, "subject": "s", "body": n.to_string() });
            let url = format!("{}/notify", self.agent.lock().unwrap());
            match self.client.post(url).json(&body).send().await {
                Ok(answer) if answer.status().is_success() => {
                    self.replies.acknowledged.lock().unwrap().insert(id);
                }
                _ => {
                    self.replies.unanswered.lock().unwrap().insert(id);
                    pause(20).await;
                }
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "real processes on real time")]
pub async fn pause(millis: u64) {
    // tidy-allow: real processes on real time
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

async fn storm(place: Place) {
    let kills = scale(20, 500);
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    let mut server = place.start(&[]);
    for number in 0..SCRIPTS {
        let list = json!({ "type": "memory", "targets": ["someone"] });
        server.put(&format!("/api/v1/lists/list-{number}"), &list).await;
    }
    let token = make_site(&server, "plant-7").await;
    let proxy = Proxy::start(host(&server.address)).await;
    let folder = TempDir::new().unwrap();
    // Small batches, so that many are under way when something dies.
    let start = || Agent::start(folder.path(), &proxy.url, &token, &["--batch", "100"]);
    let mut agent = start();
    let address = Arc::new(Mutex::new(agent.address.clone()));
    let (replies, stop) = (Arc::new(Replies::default()), Arc::new(AtomicBool::new(false)));
    let scripts: Vec<_> = (0..SCRIPTS)
        .map(|number| {
            let script = Script {
                number,
                client: client(),
                agent: address.clone(),
                replies: replies.clone(),
                stop: stop.clone(),
            };
            tokio::spawn(script.run())
        })
        .collect();
    let (mut agents_killed, mut centrals_killed, mut cuts) = (0, 0, 0);
    while agents_killed < kills || centrals_killed < kills {
        pause(50 + random(250)).await;
        match random(3) {
            0 if agents_killed < kills => {
                agent.kill();
                agent = start();
                (*address.lock().unwrap()).clone_from(&agent.address);
                agents_killed += 1;
            }
            1 if centrals_killed < kills => {
                server.kill();
                server = place.start(&[]);
                proxy.lead_to(host(&server.address));
                centrals_killed += 1;
            }
            _ => {
                proxy.set(
                    [Way::Cut, Way::SwallowReplies, Way::HalfReplies][usize::try_from(random(3)).unwrap()],
                );
                pause(random(60)).await;
                proxy.set(Way::Pass);
                cuts += 1;
            }
        }
    }
    stop.store(true, Ordering::Relaxed);
    for script in scripts {
        script.await.unwrap();
    }
    let rows = settled(&server, &agent).await;
    check(&rows, &replies);
    println!(
        "{agents_killed} kills of the agent, {centrals_killed} of central, {cuts} cuts, {} replies spoiled: {} \
         acknowledged, {} unanswered, {} stored",
        proxy.spoiled(),
        replies.acknowledged.lock().unwrap().len(),
        replies.unanswered.lock().unwrap().len(),
        rows.len()
    );
}

fn host(url: &str) -> String {
    url.trim_start_matches("http://").to_owned()
}

/// Everything at central, oldest first, once nothing waits anywhere.
pub async fn settled(server: &Server, agent: &Agent) -> Vec<Value> {
    server
        .until("the buffer to be empty", async |_| {
            let health = client().get(format!("{}/healthz", agent.address)).send().await.ok()?;
            let health: Value = health.json().await.ok()?;
            (health["backlog"] == 0).then_some(())
        })
        .await;
    server
        .until("everything to be delivered", async |server| {
            let (_, kpis) = server.get("/api/v1/notifications/kpis").await;
            (kpis["queueDepth"] == 0).then_some(())
        })
        .await;
    let (mut rows, mut cursor) = (Vec::new(), String::new());
    loop {
        let (status, page) = server.get(&format!("/api/v1/notifications?limit=200{cursor}")).await;
        assert_eq!(status, 200, "{page}");
        rows.extend(page["items"].as_array().unwrap().iter().cloned());
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    rows.reverse();
    rows
}

fn check(rows: &[Value], replies: &Replies) {
    let (acknowledged, unanswered) =
        (replies.acknowledged.lock().unwrap(), replies.unanswered.lock().unwrap());
    assert!(acknowledged.len() > 100, "the load was too small to say anything: {}", acknowledged.len());
    let mut seen = HashSet::new();
    let mut last_of_list: HashMap<&str, &str> = HashMap::new();
    for row in rows {
        let (id, list) = (row["id"].as_str().unwrap(), row["list"].as_str().unwrap());
        assert!(seen.insert(id), "{id} is there twice");
        assert!(acknowledged.contains(id) || unanswered.contains(id), "nobody sent {id}");
        assert_eq!(row["status"], "delivered", "{row}");
        assert_eq!(row["source"]["site"], "plant-7", "{row}");
        // The ids of one script rise, and each script has a list of its own.
        let before = last_of_list.insert(list, id);
        assert!(before.is_none_or(|before| before < id), "{list}: {id} comes after {before:?}");
    }
    for id in acknowledged.iter() {
        assert!(seen.contains(id.as_str()), "acknowledged and lost: {id}");
    }
}

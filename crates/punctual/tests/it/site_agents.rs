//! Two agents of one site, each with its own buffer, killed at random moments: scripts go on with the other one, and nothing is
//! lost or doubled.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use punctual_testkit::scale;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    server::{Place, client},
    site::{Agent, make_site},
    site_kill::{pause, settled},
};

const SCRIPTS: usize = 4;
const NAMES: [&str; 2] = ["north", "south"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_sites_s4_77_two_agents_of_one_site_lose_and_double_nothing_on_sqlite() {
    storm(Place::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_sites_s4_77_two_agents_of_one_site_lose_and_double_nothing_on_postgres() {
    storm(Place::postgres().await).await;
}

/// Where the agents listen now.
type Addresses = Arc<Mutex<[String; 2]>>;

/// Hands each notification in until one of the agents says that it has it; then the next.
async fn script(
    number: usize,
    agents: Addresses,
    replies: Arc<Mutex<HashSet<String>>>,
    stop: Arc<AtomicBool>,
) {
    let client = client();
    let mut turn = number;
    for n in 1_u64.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let id = format!("00000000-0000-4000-800{number}-{n:012x}");
        let body = json!({ "id": id, "list": "ops", "subject": "s", "body": n.to_string() });
        loop {
            let url = format!("{}/notify", agents.lock().unwrap()[turn % 2]);
            match client.post(url).json(&body).send().await {
                Ok(answer) if answer.status().is_success() => break,
                // The other one gets the same id: it may have arrived, and is then there once all the same.
                _ => turn += 1,
            }
            pause(5).await;
        }
        replies.lock().unwrap().insert(id);
    }
}

async fn storm(place: Place) {
    let kills = scale(8, 300);
    let server = place.start(&[]);
    server.put("/api/v1/lists/ops", &json!({ "type": "memory", "targets": ["someone"] })).await;
    let token = make_site(&server, "plant-7").await;
    // One folder for both, as on one machine with one file of settings.
    let folder = TempDir::new().unwrap();
    let start = |name: &str| {
        Agent::start(folder.path(), &server.address, &token, &["--agent", name, "--batch", "50"])
    };
    let mut agents = NAMES.map(start);
    let addresses: Addresses = Arc::new(Mutex::new([agents[0].address.clone(), agents[1].address.clone()]));
    let (replies, stop) = (Arc::new(Mutex::new(HashSet::new())), Arc::new(AtomicBool::new(false)));
    let scripts: Vec<_> = (0..SCRIPTS)
        .map(|number| tokio::spawn(script(number, addresses.clone(), replies.clone(), stop.clone())))
        .collect();
    for kill in 0..kills {
        pause(150).await;
        let dies = usize::from(kill % 3 != 0);
        let fresh = {
            agents[dies].kill_now();
            pause(100).await;
            start(NAMES[dies])
        };
        (addresses.lock().unwrap()[dies]).clone_from(&fresh.address);
        agents[dies] = fresh;
    }
    stop.store(true, Ordering::Relaxed);
    for script in scripts {
        script.await.unwrap();
    }
    let mut rows = Vec::new();
    for agent in &agents {
        rows = settled(&server, agent).await;
    }
    let replies = replies.lock().unwrap().clone();
    assert!(replies.len() > 100, "the load was too small to say anything: {}", replies.len());
    let mut seen = HashSet::new();
    for row in &rows {
        let id = row["id"].as_str().unwrap();
        assert!(seen.insert(id.to_owned()), "{id} is there twice");
        assert_eq!(
            (&row["status"], &row["source"]["site"]),
            (&json!("delivered"), &json!("plant-7")),
            "{row}"
        );
    }
    assert!(replies.iter().all(|id| seen.contains(id)), "acknowledged and lost");
    assert_eq!(seen.len(), replies.len(), "nobody sent the others");
    let attempts: i64 = rows.iter().map(|row| row["targets"][0]["tries"].as_i64().unwrap_or(1)).sum();
    assert_eq!(attempts, i64::try_from(rows.len()).unwrap(), "each was sent once");
    let site = server
        .until("both agents to have reported", async |server| {
            let (_, site) = server.get("/api/v1/sites/plant-7").await;
            (site["agents"].as_array()?.len() == 2 && site["backlog"] == 0).then_some(site)
        })
        .await;
    let names: Vec<&Value> = site["agents"].as_array().unwrap().iter().map(|agent| &agent["name"]).collect();
    assert_eq!(names, NAMES, "{site}");
    for name in NAMES {
        assert!(folder.path().join(name).join("site.sqlite").exists(), "each has a buffer of its own");
    }
    println!("{kills} kills of one of two agents: {} acknowledged, {} stored", replies.len(), rows.len());
}

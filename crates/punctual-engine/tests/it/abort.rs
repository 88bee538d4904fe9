//! A row that kills the process. The test starts itself again as a child, which dies.

use std::{
    collections::BTreeMap,
    process::{Command, Stdio},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use punctual_engine::{
    Engine, EngineConfig, Listeners, Setup, Vault,
    vault::{FixedKeys, MasterKey},
};
use punctual_model::{Decision, ManualClock, Reach};
use punctual_store::{Lane, Store, StoreOptions, blobs::Blobs, work};
use punctual_testkit::{
    START, Seeded, TestWorkflow,
    history::judge::Judgement,
    new_work,
    postgres::TestDatabase,
    rig::{Outcome, Rig},
};

/// The database that a child works on, and what time it is there.
const URL: &str = "PUNCTUAL_TEST_ABORT_URL";
const NOW: &str = "PUNCTUAL_TEST_ABORT_NOW";
const ROWS: usize = 40;
const KILLER: &str = "k:17";
/// A claim may run out five times before a row is held, and each time the process dies in a set and then of the row alone.
const MOST_DEATHS: usize = 10;
/// A run after which the row waits does not die of it.
const RUNS: usize = 2 * MOST_DEATHS;

#[tokio::test]
async fn rig_abort_r10_a_row_that_kills_the_process_ends_on_hold_on_sqlite() {
    if is_child().await {
        return;
    }
    let mut rig = Rig::new("abort", "sqlite", 1, 200);
    while let Some(round) = rig.next_round() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("abort.db").display());
        let test = "abort::rig_abort_r10_a_row_that_kills_the_process_ends_on_hold_on_sqlite";
        rig.judged(round, &kill_until_held(&url, test).await);
    }
}

#[tokio::test]
async fn rig_abort_r10_a_row_that_kills_the_process_ends_on_hold_on_postgres() {
    if is_child().await {
        return;
    }
    let mut rig = Rig::new("abort", "postgres", 1, 200);
    while let Some(round) = rig.next_round() {
        let database = TestDatabase::empty().await;
        let test = "abort::rig_abort_r10_a_row_that_kills_the_process_ends_on_hold_on_postgres";
        rig.judged(round, &kill_until_held(database.url(), test).await);
    }
}

async fn open(url: &str, now: Timestamp) -> Store {
    let options = StoreOptions { accept_weak_durability: true, ..StoreOptions::new(url) };
    Store::open(options, now).await.unwrap()
}

fn start() -> Timestamp {
    START.parse().unwrap()
}

async fn store_rows(url: &str) {
    let store = open(url, start()).await;
    let mut tx = store.begin(Lane::Intake).await.unwrap();
    for n in 0..ROWS {
        let row = new_work("test", &format!("k:{n}"), start());
        work::insert_absent(&mut tx.conn(), start(), &[&row]).await.unwrap();
    }
    tx.commit().await.unwrap();
    store.close().await;
}

/// The row that kills, and how many of the others are done.
async fn look(url: &str, now: Timestamp) -> (work::WorkRow, usize) {
    let store = open(url, now).await;
    let mut reader = store.read().await.unwrap();
    let mut done = 0;
    for n in 0..ROWS {
        let row =
            work::by_key(&mut reader.conn(), &Reach::Everything, &format!("k:{n}")).await.unwrap().unwrap();
        done += usize::from(row.status.as_str() == "completed");
    }
    let killer = work::by_key(&mut reader.conn(), &Reach::Everything, KILLER).await.unwrap().unwrap();
    drop(reader);
    store.close().await;
    (killer, done)
}

async fn kill_until_held(url: &str, test: &str) -> Outcome {
    store_rows(url).await;
    let mut deaths = 0;
    for run in 0..RUNS {
        let now = start() + SignedDuration::from_hours(2 * i64::try_from(run).unwrap());
        let child = Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture"])
            .envs([(URL, url), (NOW, &now.to_string())])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        deaths += usize::from(!child.success());
        let (killer, done) = look(url, now).await;
        if run > 1 {
            assert_eq!(done, ROWS - 1, "its neighbours were worked after {deaths} deaths");
        }
        if killer.on_hold {
            assert_eq!(killer.reason_code.as_deref(), Some("lease-expired"));
            assert!((2..=MOST_DEATHS).contains(&deaths), "{deaths}");
            let lost = (done..ROWS - 1).map(|n| format!("row {n}")).collect();
            return Outcome {
                injected: BTreeMap::from([("process abort".to_owned(), deaths as u64)]),
                judgement: Judgement { acknowledged: ROWS, lost, ..Judgement::default() },
                ..Outcome::default()
            };
        }
    }
    panic!("{deaths} deaths and no end");
}

/// What a node does that starts, where this process is one: it dies of the row.
async fn is_child() -> bool {
    let (Ok(url), Ok(now)) = (std::env::var(URL), std::env::var(NOW)) else { return false };
    let now: Timestamp = now.parse().unwrap();
    let workflow = TestWorkflow::new("test", |row: &punctual_engine::Claimed, _| {
        if row.key == KILLER {
            std::process::abort();
        }
        Decision::Deliver(Vec::new())
    });
    let keys = FixedKeys { keys: vec![MasterKey::new(&Seeded::new(1))], place: "the test" };
    let engine = Engine::new(Setup {
        store: open(&url, now).await,
        blobs: Blobs::in_memory(),
        clock: Arc::new(ManualClock::new(now)),
        random: Arc::new(Seeded::new(1)),
        config: EngineConfig::default(),
        workflows: vec![workflow.into()],
        adapters: Vec::new(),
        consumer_adapters: Vec::new(),
        capture: None,
        listeners: Listeners::default(),
        vault: Arc::new(Vault::open(Arc::new(keys), Arc::new(Seeded::new(1))).unwrap()),
    })
    .unwrap();
    engine.release_leases(now).await.unwrap();
    engine.recover_batches(now).await.unwrap();
    engine.pass(now, 500).await.unwrap();
    engine.store.close().await;
    true
}

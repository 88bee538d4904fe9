//! An upgrade under load. On PostgreSQL nodes of the next release join one by one, the first of them changes the schema while
//! the others work, and the nodes of the release before are stopped; on SQLite one is stopped and the next started. No request
//! fails for good, and nothing is lost.
//!
//! `PUNCTUAL_RIG_PREVIOUS` names the binary of the release before; `cargo xtask rig upgrade` builds it. Without it the present
//! binary is on both sides, and the schema gets a step that it does not know, as a release after it would add: what is
//! tried then is that this binary can be upgraded, not that it upgrades what came before.

use std::{path::PathBuf, time::Duration};

use punctual_testkit::{
    history::stored::Stored,
    postgres::{migrate_on, run_on},
    rig::{Outcome, Random, Rig, Round},
};

use super::{
    cluster::signal,
    load::Load,
    scene::{Scene, configure, now, pause},
};
use crate::{
    receiver::Receiver,
    server::{Place, Server},
};

const NODES: usize = 2;
const ANSWERS_AFTER: Duration = Duration::from_millis(50);

/// What a later release may add while nodes work: see `online_steps.rs` of the store.
// tidy-allow: a step of a release to come, which no release has
const NEXT_STEP: &str = "
    ALTER TABLE notifications ADD COLUMN next_release TEXT;
    ALTER TABLE work ADD COLUMN next_release BIGINT;
    CREATE TABLE next_release (id BIGINT PRIMARY KEY, notes TEXT);
    INSERT INTO schema_steps (version, name, applied_at) VALUES (9999, '9999_next_release', 0)";
/// What none may do.
// tidy-allow: a step that no release has
const BAD_STEP: &str = "ALTER TABLE notifications RENAME COLUMN envelope TO envelope_2";

fn previous() -> Option<PathBuf> {
    std::env::var_os("PUNCTUAL_RIG_PREVIOUS").map(PathBuf::from)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_upgrade_no_request_fails_for_good_and_nothing_is_lost_on_postgres() {
    let mut rig = Rig::new("upgrade", "postgres", 1, 100);
    while let Some(round) = rig.next_round() {
        rig.judged(round, &upgrade(round).await);
    }
}

async fn upgrade(round: Round) -> Outcome {
    let mut random = Random::new(round.seed);
    let mut place = Place::postgres().await;
    let next = place.binary.clone();
    place.binary = previous().unwrap_or_else(|| next.clone());
    let mut nodes = start(&place, "before");
    let mut scene = open(&place, &nodes).await;
    pause(500 + random.below(1_000)).await;
    if previous().is_none() {
        let mut attempts = 1;
        while !migrate_on(&place.database_url(), NEXT_STEP).await {
            attempts += 1;
            assert!(attempts < 50, "the step does not get through");
            pause(100).await;
        }
        scene.injected("a step of the schema under load");
        scene.recovered(now()).await;
    }
    place.binary = next;
    for number in 0..NODES {
        let node = place.start(&["--node", &format!("after-{number}")]);
        scene.injected("a node of the next release joined");
        let leaving = nodes.remove(0);
        nodes.push(node);
        // A balancer takes a node out before it is stopped, or notices afterwards that it is gone.
        let is_taken_out = random.below(2) == 0;
        let known = nodes.iter().chain((!is_taken_out).then_some(&leaving));
        scene.load.lead_to(known.map(|node| node.address.clone()).collect());
        scene.recovered(now()).await;
        stop(leaving).await;
        scene.injected("a node of the release before stopped");
        scene.recovered(now()).await;
        scene.load.lead_to(addresses(&nodes));
        pause(200 + random.below(500)).await;
    }
    assert_eq!(scene.load.given_up(), 0, "requests that no repeat helped, seed {}", round.seed);
    scene.judge().await
}

/// One process owns a SQLite file: the node of the release before is stopped, and the next one changes the schema and starts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_upgrade_a_stop_and_a_start_lose_nothing_on_sqlite() {
    let mut rig = Rig::new("upgrade", "sqlite", 1, 50);
    while let Some(round) = rig.next_round() {
        rig.judged(round, &take_over(round).await);
    }
}

async fn take_over(round: Round) -> Outcome {
    let mut random = Random::new(round.seed);
    let mut place = Place::sqlite();
    let next = place.binary.clone();
    place.binary = previous().unwrap_or_else(|| next.clone());
    let mut nodes = vec![place.start(&["--node", "before"])];
    let mut scene = open(&place, &nodes).await;
    pause(500 + random.below(1_000)).await;
    place.binary = next;
    stop(nodes.remove(0)).await;
    nodes.push(place.start(&["--node", "after"]));
    scene.injected("a node of the next release took over");
    scene.load.lead_to(addresses(&nodes));
    scene.recovered(now()).await;
    pause(200 + random.below(500)).await;
    assert_eq!(scene.load.given_up(), 0, "requests that no repeat helped, seed {}", round.seed);
    scene.judge().await
}

fn start(place: &Place, name: &str) -> Vec<Server> {
    (0..NODES).map(|number| place.start(&["--node", &format!("{name}-{number}")])).collect()
}

fn addresses(nodes: &[Server]) -> Vec<String> {
    nodes.iter().map(|node| node.address.clone()).collect()
}

async fn open(place: &Place, nodes: &[Server]) -> Scene {
    let receiver = Receiver::slow(ANSWERS_AFTER).await;
    configure(&nodes[0], &receiver.url).await;
    // A node reads what others have defined each second.
    pause(1_200).await;
    Scene::under(Load::that_repeats(addresses(nodes), 4), receiver, Stored::at(place.database_url()))
}

/// As a service manager stops a node.
async fn stop(node: Server) {
    signal("TERM", &[node.child.id()]);
    node.until_ended("SIGTERM").await;
}

/// The guard is that steps only add. One that takes away what nodes use must be found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_upgrade_control_a_step_that_takes_something_away_is_found() {
    let place = Place::postgres().await;
    let nodes = start(&place, "before");
    let scene = open(&place, &nodes).await;
    run_on(&place.database_url(), BAD_STEP).await;
    for _ in 0..600 {
        if scene.load.given_up() > 0 {
            drop(scene.load.stop().await);
            return;
        }
        pause(100).await;
    }
    panic!("nodes went on without a column that they use");
}

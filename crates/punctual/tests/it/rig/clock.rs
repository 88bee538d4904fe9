//! Machines whose clocks are wrong, are set while they run, and stand still: nothing is lost, sent twice or sent early.

use std::{path::Path, time::Duration};

use punctual_testkit::{
    history::stored::Stored,
    rig::{Outcome, Random, Rig, Round},
};

use super::{
    cluster::signal,
    scene::{Scene, now, pause},
};
use crate::server::{Place, Server};

/// Where a clock is set to, in seconds from the right time.
const SETTINGS: [(&str, i64); 5] = [
    ("90 s ahead", 90),
    ("90 s behind", -90),
    ("2 h ahead", 7_200),
    ("2 h behind", -7_200),
    ("right again", 0),
];
const SUSPENDED: &str = "suspended";

/// SQLite goes by the machine's own clock, so what it is asked to send later may leave early by the right one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_clock_r21_a_clock_that_is_set_loses_nothing_on_sqlite() {
    let mut rig = Rig::new("clock", "sqlite", 3, 200);
    while let Some(round) = rig.next_round() {
        let place = Place::sqlite();
        let clock = place.folder().join("clock-0");
        let nodes = vec![start(&place, 0)];
        let mut scene =
            Scene::open(&nodes[0], Stored::at(place.database_url()), Duration::from_millis(20)).await;
        leaps(&mut scene, &nodes, &[&clock], round).await;
        let outcome = scene.judge_with(|history| {
            history.call_within = None;
            history.replies.acknowledged.iter_mut().for_each(|asked| asked.not_before = None);
        });
        rig.judged(round, &outcome.await);
    }
}

/// Three nodes with clocks of their own on one database, whose clock they all go by.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_clock_r21_nodes_with_wrong_clocks_send_nothing_early_or_twice_on_postgres() {
    let mut rig = Rig::new("clock", "postgres", 3, 200);
    while let Some(round) = rig.next_round() {
        rig.judged(round, &on_postgres(round).await);
    }
}

async fn on_postgres(round: Round) -> Outcome {
    let place = Place::postgres().await;
    let mut nodes = vec![start(&place, 0)];
    let mut scene = Scene::open(&nodes[0], Stored::at(place.database_url()), Duration::from_millis(50)).await;
    // Later than the channel: a node reads what others have defined each second only.
    nodes.extend((1..3).map(|number| start(&place, number)));
    let clocks: Vec<_> = (0..3).map(|number| place.folder().join(format!("clock-{number}"))).collect();
    let clocks: Vec<&Path> = clocks.iter().map(|clock| &**clock).collect();
    scene.load.lead_to(nodes.iter().map(|node| node.address.clone()).collect());
    leaps(&mut scene, &nodes, &clocks, round).await;
    scene.judge().await
}

fn start(place: &Place, number: usize) -> Server {
    let clock = format!("file:{}", place.folder().join(format!("clock-{number}")).display());
    place.start(&["--clock-wrong-by", &clock, "--node", &format!("node-{number}")])
}

/// Sets the clocks of nodes one after the other.
async fn leaps(scene: &mut Scene, nodes: &[Server], clocks: &[&Path], round: Round) {
    let mut random = Random::new(round.seed);
    while scene.faults() < 10.min(round.left) {
        let node = usize::try_from(random.below(nodes.len() as u64)).unwrap();
        let number = usize::try_from(random.below(SETTINGS.len() as u64 + 1)).unwrap();
        if let Some((kind, seconds)) = SETTINGS.get(number) {
            std::fs::write(clocks[node], seconds.to_string()).unwrap();
            scene.injected(kind);
        } else {
            let pids: Vec<u32> = nodes.iter().map(|node| node.child.id()).collect();
            signal("STOP", &pids);
            pause(1_000 + random.below(3_000)).await;
            signal("CONT", &pids);
            scene.injected(SUSPENDED);
        }
        let ended = now();
        // The machine's own clock is read each second.
        pause(1_100 + random.below(500)).await;
        scene.recovered(ended).await;
    }
}

/// The guard is that all nodes go by one clock. A message that left before its time must be found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_clock_control_a_node_that_goes_by_a_wrong_clock_is_found() {
    let place = Place::sqlite();
    std::fs::write(place.folder().join("clock-0"), "7200").unwrap();
    let server = start(&place, 0);
    let mut scene = Scene::open(&server, Stored::at(place.database_url()), Duration::ZERO).await;
    scene.recovered(now()).await;
    // For an hour from now; this node thinks that it is late already.
    scene.load.ask_for_later(&server.address, 3_600).await;
    let verdict = scene.judge().await.judgement;
    assert!(!verdict.early.is_empty(), "a message left an hour early and nobody noticed: {verdict:?}");
}

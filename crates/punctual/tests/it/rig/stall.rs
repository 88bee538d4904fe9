//! A node stopped for longer than its lease and continued: it starts no call that it has lost, and writes over nothing.

use std::time::Duration;

use punctual_testkit::{
    history::stored::Stored,
    rig::{Outcome, Random, Rig, Round},
};

use super::{
    cluster::signal,
    scene::{LEASE, Scene, now, pause},
};
use crate::server::{Place, Server};

const IN_A_ROUND: u64 = 8;
/// Enough that a node has calls under way and calls to start whenever it is stopped.
const TARGETS: usize = 40;
const ANSWERS_AFTER: Duration = Duration::from_millis(100);

/// SQLite has one node, which finds its own leases run out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_stall_r07_r08_no_call_starts_after_the_lease_on_sqlite() {
    let mut rig = Rig::new("stall", "sqlite", 1, 2_000);
    while let Some(round) = rig.next_round() {
        let place = Place::sqlite();
        rig.judged(round, &stalls(&place, 1, round).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_stall_r07_r08_no_call_starts_after_the_lease_on_postgres() {
    let mut rig = Rig::new("stall", "postgres", 1, 2_000);
    while let Some(round) = rig.next_round() {
        let place = Place::postgres().await;
        rig.judged(round, &stalls(&place, 2, round).await);
    }
}

async fn stalls(place: &Place, count: usize, round: Round) -> Outcome {
    let mut random = Random::new(round.seed);
    let mut nodes = vec![place.start(&["--node", "node-0"])];
    let mut scene = open(place, &nodes[0]).await;
    // Later than the channel: a node reads what others have defined each second only.
    nodes.extend((1..count).map(|number| place.start(&["--node", &format!("node-{number}")])));
    scene.load.lead_to(nodes.iter().map(|node| node.address.clone()).collect());
    while scene.faults() < IN_A_ROUND.min(round.left) {
        pause(300 + random.below(500)).await;
        let node = random.pick(&nodes).child.id();
        stall(node, LEASE + Duration::from_millis(200 + random.below(1_500))).await;
        scene.injected("SIGSTOP beyond the lease");
        scene.recovered(now()).await;
    }
    scene.judge().await
}

async fn open(place: &Place, node: &Server) -> Scene {
    Scene::with_many(node, Stored::at(place.database_url()), ANSWERS_AFTER, TARGETS).await
}

async fn stall(pid: u32, time: Duration) {
    signal("STOP", &[pid]);
    pause(u64::try_from(time.as_millis()).unwrap()).await;
    signal("CONT", &[pid]);
}

/// The guard is the lease. A node that trusts its claims for an hour goes on with them, and must be found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_stall_control_a_node_that_trusts_its_claims_too_long_is_found() {
    let place = Place::sqlite();
    let node = place.start_with_lease("1h");
    let mut scene = open(&place, &node).await;
    let mut is_found = false;
    for _ in 0..3 {
        pause(700).await;
        stall(node.child.id(), LEASE + Duration::from_secs(1)).await;
        scene.recovered(now()).await;
        is_found |= scene.late_so_far().await;
        if is_found {
            break;
        }
    }
    assert!(is_found, "calls were started {LEASE:?} after their intents and nobody noticed");
    drop(scene.load.stop().await);
}

//! The server killed at random moments, and ended at crash points, under load.

use std::time::Duration;

use punctual_testkit::{
    history::stored::Stored,
    rig::{Outcome, Random, Rig, Round},
};

use super::scene::{Scene, now, pause};
use crate::{
    crash_points::walked,
    server::{Place, Server},
};

/// So many in a round: its end waits for leases to run out, which takes as long as ten kills.
const IN_A_ROUND: u64 = 25;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_kill_r04_r11_nothing_acknowledged_is_lost_on_sqlite() {
    let mut rig = Rig::new("kill", "sqlite", 10, 10_000);
    let points = walked(&Place::sqlite()).await;
    while let Some(round) = rig.next_round() {
        rig.judged(round, &storm(Place::sqlite(), &points, round).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_kill_r04_r11_nothing_acknowledged_is_lost_on_postgres() {
    let mut rig = Rig::new("kill", "postgres", 10, 2_000);
    let points = walked(&Place::postgres().await).await;
    while let Some(round) = rig.next_round() {
        rig.judged(round, &storm(Place::postgres().await, &points, round).await);
    }
}

async fn storm(place: Place, points: &[String], round: Round) -> Outcome {
    let mut random = Random::new(round.seed);
    let mut server = place.start(&[]);
    let mut scene = Scene::open(&server, Stored::at(place.database_url()), Duration::from_millis(20)).await;
    while scene.faults() < IN_A_ROUND.min(round.left) {
        // Every other time at a named point; one that is not passed in time is a kill at a random moment.
        let kind = if random.below(2) == 0 {
            pause(50 + random.below(350)).await;
            server.kill();
            "SIGKILL"
        } else {
            server.kill();
            let side = if random.below(2) == 0 { "before" } else { "after" };
            let point = format!("{side}:{}:{}", random.pick(points), random.below(30));
            ended_at(&place, &scene, &point).await
        };
        scene.injected(kind);
        let ended = now();
        server = place.start(&[]);
        scene.load.lead_to(vec![server.address.clone()]);
        scene.recovered(ended).await;
    }
    scene.judge().await
}

/// Starts a server that ends itself at a point; returns whether it did.
async fn ended_at(place: &Place, scene: &Scene, point: &str) -> &'static str {
    // It may end before it listens.
    let Some(mut server) = place.try_start(&["--crash-at", point]) else { return "crash point" };
    scene.load.lead_to(vec![server.address.clone()]);
    for _ in 0..100 {
        if server.child.try_wait().unwrap().is_some() {
            return "crash point";
        }
        pause(10).await;
    }
    server.kill();
    "SIGKILL"
}

/// The guards are the intent before the call and the commit before the answer. Without them the judge must object.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_kill_control_lost_rows_and_lost_intents_are_found() {
    for place in [Place::sqlite(), Place::postgres().await] {
        let stored = Stored::at(place.database_url());
        let server = place.start(&[]);
        let scene = Scene::open(&server, stored.clone(), Duration::from_millis(300)).await;
        until_under_way(&scene, &server).await;
        server.kill();
        assert!(stored.forget_intents().await.unwrap() > 0, "no call was under way");
        assert_eq!(stored.forget_a_message().await, Ok(1));
        let server = place.start(&[]);
        scene.load.lead_to(vec![server.address.clone()]);
        let verdict = scene.judge().await.judgement;
        assert!(!verdict.lost.is_empty(), "a row was removed and nobody noticed: {verdict:?}");
        assert!(!verdict.unmarked.is_empty(), "a call was repeated without a mark and nobody noticed");
    }
}

async fn until_under_way(scene: &Scene, server: &Server) {
    server.until("some calls", async |_| (scene.receiver.count() > 20).then_some(())).await;
}

//! The disk is full under load: requests are refused with 503, nothing is stored in part, and work goes on by itself.

use std::time::Duration;

use punctual_testkit::{
    history::stored::{Stored, is_whole},
    rig::{Chance, Outcome, Rig, Round},
};

use super::{
    cluster::Cluster,
    load::Load,
    needs_root,
    scene::{Scene, configure, now, pause},
    volume::Volume,
};
use crate::{
    receiver::Receiver,
    server::Place,
    site::{Agent, make_site},
};

const IN_A_ROUND: u64 = 10;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_disk_r23_a_full_disk_refuses_and_recovers_on_sqlite() {
    if needs_root() {
        return;
    }
    let mut rig = Rig::new("disk", "sqlite", 2, 200);
    while let Some(round) = rig.next_round() {
        rig.judged(round, &on_sqlite(round).await);
    }
}

async fn on_sqlite(round: Round) -> Outcome {
    let mut chance = Chance::new(round.seed);
    let volume = Volume::limited(48);
    let mut place = Place::sqlite();
    place.data = Some(volume.path());
    let mut server = place.start(&[]);
    let mut scene = Scene::open(&server, Stored::at(place.database_url()), Duration::from_millis(20)).await;
    while scene.faults() < IN_A_ROUND.min(round.left) {
        pause(200 + chance.below(300)).await;
        volume.fill();
        pause(300 + chance.below(700)).await;
        // Reads and health go on.
        assert_eq!(server.get("/healthz").await.0, 200);
        volume.empty();
        scene.injected("disk full");
        if server.child.try_wait().unwrap().is_some() {
            server = place.start(&[]);
            scene.load.lead_to(vec![server.address.clone()]);
        }
        scene.recovered(now()).await;
    }
    let outcome = scene.judge().await;
    server.kill();
    assert!(is_whole(&place.folder().join("punctual.sqlite")), "the file is damaged");
    outcome
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_disk_r23_a_full_disk_refuses_and_recovers_on_postgres() {
    if needs_root() {
        return;
    }
    let mut rig = Rig::new("disk", "postgres", 1, 200);
    while let Some(round) = rig.next_round() {
        let mut chance = Chance::new(round.seed);
        let volume = Volume::limited(512);
        let mut cluster = Cluster::start_in(&volume.path(), "").await;
        let place = Place::sqlite();
        let server = place.try_start_on(&cluster.url(), &[]).unwrap();
        let stored = Stored::at(cluster.url());
        let mut scene = Scene::open(&server, stored, Duration::from_millis(20)).await;
        while scene.faults() < (IN_A_ROUND / 2).min(round.left) {
            pause(200 + chance.below(300)).await;
            volume.fill();
            pause(300 + chance.below(2_000)).await;
            volume.empty();
            scene.injected("disk full");
            // The server ends itself when it cannot write its log, and cannot start while there is no room.
            cluster.resume().await;
            scene.recovered(now()).await;
        }
        let outcome = scene.judge().await;
        drop(cluster);
        rig.judged(round, &outcome);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_disk_r15_r23_a_full_disk_at_a_site_refuses_and_recovers() {
    if needs_root() {
        return;
    }
    let mut rig = Rig::new("disk", "site", 2, 200);
    while let Some(round) = rig.next_round() {
        let mut chance = Chance::new(round.seed);
        let volume = Volume::limited(24);
        let place = Place::sqlite();
        let server = place.start(&[]);
        let receiver = Receiver::start().await;
        configure(&server, &receiver.url).await;
        let token = make_site(&server, "plant-7").await;
        let mut agent = Agent::start(&volume.path(), &server.address, &token, &[]);
        let load = Load::at_site(agent.address.clone());
        let mut scene = Scene::under(load, receiver, Stored::at(place.database_url()));
        while scene.faults() < IN_A_ROUND.min(round.left) {
            pause(200 + chance.below(300)).await;
            volume.fill();
            pause(300 + chance.below(500)).await;
            volume.empty();
            scene.injected("disk full at a site");
            if agent.child.try_wait().unwrap().is_some() {
                agent = Agent::start(&volume.path(), &server.address, &token, &[]);
                scene.load.lead_to(vec![agent.address.clone()]);
            }
            scene.recovered(now()).await;
        }
        scene.backlog_is_empty(&agent.address).await;
        rig.judged(round, &scene.judge().await);
    }
}

/// The guard is that a request is refused while there is no room. A client that took a refusal for a success must be found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_disk_control_a_refusal_taken_for_a_success_is_found() {
    if needs_root() {
        return;
    }
    let volume = Volume::limited(48);
    let mut place = Place::sqlite();
    place.data = Some(volume.path());
    let server = place.start(&[]);
    let mut scene = Scene::open(&server, Stored::at(place.database_url()), Duration::ZERO).await;
    scene.recovered(now()).await;
    volume.fill();
    pause(500).await;
    volume.empty();
    scene.recovered(now()).await;
    let outcome = scene.judge_with(|history| {
        assert!(!history.told.unanswered.is_empty(), "nothing was refused on a full disk");
        history.told.acknowledged.append(&mut history.told.unanswered);
    });
    let verdict = outcome.await.judgement;
    assert!(!verdict.lost.is_empty(), "what was refused is stored all the same: {verdict:?}");
}

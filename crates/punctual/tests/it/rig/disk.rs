//! The disk is full or fails under load: requests are refused with 503, nothing is stored in part, and work goes on by itself.

use std::time::Duration;

use punctual_testkit::{
    history::stored::{Stored, is_whole},
    rig::{Outcome, Random, Rig, Round},
};

use super::{
    cluster::{Cluster, Stop},
    failing_disk::FailingDisk,
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

/// A disk to which nothing can be written, in one of two ways.
struct Trouble {
    volume: Volume,
    disk: FailingDisk,
}

impl Trouble {
    fn with_room_for(megabytes: u32) -> Self {
        Self { volume: Volume::limited(megabytes), disk: FailingDisk::new() }
    }

    /// Full and failing by turns; for so long, and then it is right again. Returns what it was.
    async fn come(&self, turn: u64, millis: u64) -> &'static str {
        if turn.is_multiple_of(2) {
            self.volume.is_full_for(millis).await;
            return "disk full";
        }
        self.disk.fail();
        pause(millis).await;
        self.disk.mend();
        "disk error"
    }
}

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
    let mut random = Random::new(round.seed);
    let trouble = Trouble::with_room_for(48);
    let mut place = Place::sqlite();
    place.data = Some(trouble.volume.path());
    place.environment = trouble.disk.environment(&trouble.volume.path());
    let mut server = place.start(&[]);
    let mut scene = Scene::open(&server, Stored::at(place.database_url()), Duration::from_millis(20)).await;
    while scene.faults() < IN_A_ROUND.min(round.left) {
        pause(200 + random.below(300)).await;
        let comes = trouble.come(scene.faults(), 300 + random.below(700));
        // Reads and health go on meanwhile.
        let (what, (health, _)) = tokio::join!(comes, async {
            pause(250).await;
            server.get("/healthz").await
        });
        assert_eq!(health, 200);
        scene.injected(what);
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
    let mut rig = Rig::new("disk", "postgres", 2, 200);
    while let Some(round) = rig.next_round() {
        let mut random = Random::new(round.seed);
        let trouble = Trouble::with_room_for(512);
        let mut cluster = Cluster::start_in(&trouble.volume.path(), "").await;
        cluster.environment = trouble.disk.environment(&trouble.volume.path());
        cluster.stop(Stop::Fast);
        cluster.resume().await;
        let place = Place::sqlite();
        let server = place.try_start_on(&cluster.url(), &[]).unwrap();
        let stored = Stored::at(cluster.url());
        let mut scene = Scene::open(&server, stored, Duration::from_millis(20)).await;
        while scene.faults() < (IN_A_ROUND / 2).min(round.left) {
            pause(200 + random.below(300)).await;
            let what = trouble.come(scene.faults(), 300 + random.below(2_000)).await;
            scene.injected(what);
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
        let mut random = Random::new(round.seed);
        let trouble = Trouble::with_room_for(24);
        let (folder, environment) = (trouble.volume.path(), trouble.disk.environment(&trouble.volume.path()));
        let place = Place::sqlite();
        let server = place.start(&[]);
        let receiver = Receiver::start().await;
        configure(&server, &receiver.url).await;
        let token = make_site(&server, "plant-7").await;
        let start = || Agent::start_with(&environment, &folder, &server.address, &token, &[]);
        let mut agent = start();
        let load = Load::at_site(agent.address.clone());
        let mut scene = Scene::under(load, receiver, Stored::at(place.database_url()));
        while scene.faults() < IN_A_ROUND.min(round.left) {
            pause(200 + random.below(300)).await;
            let what = trouble.come(scene.faults(), 300 + random.below(500)).await;
            scene.injected(&format!("{what} at a site"));
            if agent.child.try_wait().unwrap().is_some() {
                agent = start();
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
        assert!(!history.replies.unanswered.is_empty(), "nothing was refused on a full disk");
        history.replies.acknowledged.append(&mut history.replies.unanswered);
    });
    let verdict = outcome.await.judgement;
    assert!(!verdict.lost.is_empty(), "what was refused is stored all the same: {verdict:?}");
}

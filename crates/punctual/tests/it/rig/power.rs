//! The power goes under load: what was acknowledged is on the disk.
//!
//! The data is on an ext4 image. The processes are killed, the image is copied as it is, without a sync, and the copy is
//! mounted in its place. A kill alone would not show a sync that is missing, because the page cache outlives a process.

use std::time::Duration;

use punctual_testkit::{
    history::stored::{Stored, count_rows, is_whole, write_rows},
    rig::{Outcome, Random, Rig, Round},
};

use super::{
    cluster::{Cluster, Stop},
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

const IN_A_ROUND: u64 = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_power_r05_what_was_acknowledged_is_on_the_disk_on_sqlite() {
    if needs_root() {
        return;
    }
    let mut rig = Rig::new("power", "sqlite", 3, 1_000);
    while let Some(round) = rig.next_round() {
        rig.judged(round, &on_sqlite(round).await);
    }
}

async fn on_sqlite(round: Round) -> Outcome {
    let mut random = Random::new(round.seed);
    let mut volume = Volume::image(128);
    let mut place = Place::sqlite();
    place.data = Some(volume.path());
    let mut server = place.start(&[]);
    let mut scene = Scene::open(&server, Stored::at(place.database_url()), Duration::from_millis(20)).await;
    while scene.faults() < IN_A_ROUND.min(round.left) {
        pause(200 + random.below(600)).await;
        server.kill();
        volume.cut();
        scene.injected("power cut");
        let ended = now();
        place.data = Some(volume.path());
        scene.moved(Stored::at(place.database_url()));
        server = place.start(&[]);
        scene.load.lead_to(vec![server.address.clone()]);
        scene.recovered(ended).await;
    }
    let outcome = scene.judge().await;
    server.kill();
    assert!(is_whole(&place.folder().join("punctual.sqlite")), "the file is damaged");
    outcome
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_power_r05_what_was_acknowledged_is_on_the_disk_on_postgres() {
    if needs_root() {
        return;
    }
    let mut rig = Rig::new("power", "postgres", 1, 200);
    while let Some(round) = rig.next_round() {
        rig.judged(round, &on_postgres(round).await);
    }
}

async fn on_postgres(round: Round) -> Outcome {
    let mut random = Random::new(round.seed);
    let mut volume = Volume::image(768);
    let mut cluster = Cluster::start_in(&volume.path(), "").await;
    // What initdb did not sync is not part of the trial.
    super::cluster::succeed(std::process::Command::new("sync").arg("-f").arg(volume.path()));
    let place = Place::sqlite();
    let mut server = place.start_on(&cluster.url());
    let mut scene = Scene::open(&server, Stored::at(cluster.url()), Duration::from_millis(20)).await;
    while scene.faults() < (IN_A_ROUND / 4).min(round.left) {
        pause(200 + random.below(600)).await;
        server.kill();
        cluster.stop(Stop::Kill);
        volume.cut();
        scene.injected("power cut");
        cluster.moved_to(&volume.path());
        let ended = now();
        cluster.resume().await;
        server = place.start_on(&cluster.url());
        scene.load.lead_to(vec![server.address.clone()]);
        scene.recovered(ended).await;
    }
    let outcome = scene.judge().await;
    drop(cluster);
    outcome
}

/// The buffer of a site; central is another machine that keeps its power.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_power_r05_r15_what_a_site_acknowledged_is_on_its_disk() {
    if needs_root() {
        return;
    }
    let mut rig = Rig::new("power", "site", 3, 1_000);
    while let Some(round) = rig.next_round() {
        let mut random = Random::new(round.seed);
        let mut volume = Volume::image(64);
        let place = Place::sqlite();
        let server = place.start(&[]);
        let receiver = Receiver::start().await;
        configure(&server, &receiver.url).await;
        let token = make_site(&server, "plant-7").await;
        let mut agent = Agent::start(&volume.path(), &server.address, &token, &[]);
        let load = Load::at_site(agent.address.clone());
        let mut scene = Scene::under(load, receiver, Stored::at(place.database_url()));
        while scene.faults() < IN_A_ROUND.min(round.left) {
            pause(100 + random.below(400)).await;
            agent.kill();
            volume.cut();
            scene.injected("power cut at a site");
            let ended = now();
            agent = Agent::start(&volume.path(), &server.address, &token, &[]);
            scene.load.lead_to(vec![agent.address.clone()]);
            scene.recovered(ended).await;
        }
        scene.backlog_is_empty(&agent.address).await;
        rig.judged(round, &scene.judge().await);
    }
}

/// The guard is the sync. A PostgreSQL that does not sync loses what it acknowledged or is damaged, and that must be found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_power_control_a_server_that_does_not_sync_is_found() {
    if needs_root() {
        return;
    }
    let mut volume = Volume::image(768);
    let mut cluster = Cluster::start_in(&volume.path(), "fsync = off").await;
    super::cluster::succeed(std::process::Command::new("sync").arg("-f").arg(volume.path()));
    let place = Place::sqlite();
    let server = place.try_start_on(&cluster.url(), &["--accept-weak-durability"]).unwrap();
    let mut scene = Scene::open(&server, Stored::at(cluster.url()), Duration::from_millis(20)).await;
    scene.recovered(now()).await;
    pause(300).await;
    server.kill();
    cluster.stop(Stop::Kill);
    volume.cut();
    cluster.moved_to(&volume.path());
    let asked: Vec<String> =
        scene.load.stop().await.acknowledged.into_iter().map(|asked| asked.key).collect();
    if !cluster.resumes().await {
        println!("the database is damaged");
        return;
    }
    // A table that is gone is an error, and as good a proof.
    let kept: Vec<String> = match Stored::at(cluster.url()).messages().await {
        Ok(messages) => messages.into_iter().map(|message| message.key).collect(),
        Err(error) => return println!("the database is damaged: {error}"),
    };
    let lost = asked.iter().filter(|key| !kept.contains(key)).count();
    println!("{lost} of {} acknowledged messages are lost", asked.len());
    assert!(lost > asked.len() / 2, "nothing was synced and {lost} of {} are lost", asked.len());
}

/// The same for SQLite with `synchronous = NORMAL`, by a writer of the trial's own: Punctual cannot be configured to use it.
#[test]
fn rig_power_control_a_sqlite_that_syncs_seldom_is_found() {
    if needs_root() {
        return;
    }
    for (synchronous, must_lose) in [("NORMAL", true), ("FULL", false)] {
        let mut volume = Volume::image(64);
        let file = |volume: &Volume| volume.path().join("rows.sqlite");
        let made =
            || super::cluster::succeed(std::process::Command::new("sync").arg("-f").arg(volume.path()));
        write_rows(&file(&volume), synchronous, 300, made);
        volume.cut();
        let kept = count_rows(&file(&volume));
        println!("synchronous = {synchronous}: {kept} of 300 rows are left");
        assert_eq!(kept < 300, must_lose, "{synchronous}: {kept} of 300 rows");
    }
}

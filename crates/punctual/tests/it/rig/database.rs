//! The database stopped, killed, cut off, frozen, slowed down, made read-only and left without room under load: it costs time,
//! not truth.
//!
//! PostgreSQL alone: SQLite is part of the process, and what happens to it is in the trials kill, power and disk.

use std::time::Duration;

use punctual_testkit::{
    history::stored::Stored,
    rig::{Outcome, Random, Rig, Round},
};

use super::{
    cluster::{Cluster, Stop},
    needs_root,
    scene::{Scene, now, pause},
    volume::Volume,
};
use crate::server::Place;

/// Every kind comes once in so many. The last needs a file system of its own, and so root.
const KINDS: [&str; 8] = [
    "fast stop",
    "immediate stop",
    "server SIGKILL",
    "backends killed",
    "read-only",
    "frozen",
    "slow",
    "full",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_database_r22_an_outage_costs_time_and_nothing_else() {
    let mut rig = Rig::new("database", "postgres", KINDS.len(), 4_000);
    while let Some(round) = rig.next_round() {
        rig.judged(round, &outages(round).await);
    }
}

async fn outages(round: Round) -> Outcome {
    let mut random = Random::new(round.seed);
    let volume = (!needs_root()).then(|| Volume::limited(512));
    let mut cluster = match &volume {
        Some(volume) => Cluster::start_in(&volume.path(), "").await,
        None => Cluster::start("").await,
    };
    let kinds = if volume.is_some() { &KINDS[..] } else { &KINDS[..KINDS.len() - 1] };
    let place = Place::sqlite();
    let server = place.try_start_on(&cluster.url(), &[]).unwrap();
    let mut scene = Scene::open(&server, Stored::at(cluster.url()), Duration::from_millis(20)).await;
    let first = usize::try_from(random.below(kinds.len() as u64)).unwrap();
    for kind in kinds.iter().cycle().skip(first).take(kinds.len()) {
        if scene.faults() >= round.left {
            break;
        }
        pause(200 + random.below(300)).await;
        disturb(&mut cluster, volume.as_ref(), kind, random.below(600)).await;
        scene.injected(kind);
        scene.recovered(now()).await;
    }
    let outcome = scene.judge().await;
    drop(cluster);
    outcome
}

/// Does this to the server for so many milliseconds, and puts it right again.
async fn disturb(cluster: &mut Cluster, volume: Option<&Volume>, kind: &str, millis: u64) {
    let stop = match kind {
        "fast stop" => Stop::Fast,
        "immediate stop" => Stop::Immediate,
        "server SIGKILL" => Stop::Kill,
        "backends killed" => {
            // tidy-allow: the server's administrator, not the product
            let all = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' \
                       AND pid <> pg_backend_pid()";
            cluster.say(all);
            return;
        }
        "read-only" => {
            for (value, wait) in [("on", millis), ("off", 0)] {
                cluster.say(&format!("ALTER SYSTEM SET default_transaction_read_only = {value}"));
                // tidy-allow: the server's administrator, not the product
                cluster.say("SELECT pg_reload_conf()");
                pause(wait).await;
            }
            return;
        }
        "full" => {
            if let Some(volume) = volume {
                volume.is_full_for(300 + millis).await;
            }
            // It ends itself when it cannot write its log.
            cluster.resume().await;
            return;
        }
        "slow" => {
            // It works for a tenth of the time.
            for _ in 0..10 + millis / 20 {
                cluster.freeze(true);
                pause(90).await;
                cluster.freeze(false);
                pause(10).await;
            }
            return;
        }
        _ => {
            cluster.freeze(true);
            pause(millis).await;
            cluster.freeze(false);
            return;
        }
    };
    tokio::task::block_in_place(|| cluster.stop(stop));
    pause(millis).await;
    cluster.resume().await;
}

/// The guard is that the server keeps what it has committed. One that comes back as it was earlier must be found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_database_control_a_server_that_forgets_is_found() {
    let mut cluster = Cluster::start("").await;
    let place = Place::sqlite();
    let server = place.try_start_on(&cluster.url(), &[]).unwrap();
    let mut scene = Scene::open(&server, Stored::at(cluster.url()), Duration::ZERO).await;
    let earlier = cluster.data().with_extension("earlier");
    cluster.stop(Stop::Fast);
    super::cluster::succeed(std::process::Command::new("cp").arg("-a").arg(cluster.data()).arg(&earlier));
    cluster.resume().await;
    scene.recovered(now()).await;
    cluster.stop(Stop::Fast);
    std::fs::remove_dir_all(cluster.data()).unwrap();
    std::fs::rename(&earlier, cluster.data()).unwrap();
    cluster.resume().await;
    scene.recovered(now()).await;
    let verdict = scene.judge().await.judgement;
    assert!(!verdict.lost.is_empty(), "acknowledged rows were taken away and nobody noticed: {verdict:?}");
}

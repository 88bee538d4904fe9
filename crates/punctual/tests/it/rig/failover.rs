//! The primary dies and its standby is promoted by hand: with a synchronous standby nothing acknowledged is lost.
//!
//! PostgreSQL alone: SQLite has no standby.

use std::time::Duration;

use punctual_testkit::{
    history::stored::Stored,
    rig::{Outcome, Random, Rig, Round},
};

use super::{
    cluster::{Cluster, Stop},
    scene::{Scene, now, pause},
};
use crate::server::Place;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_failover_r22_a_synchronous_standby_has_everything_acknowledged() {
    let mut rig = Rig::new("failover", "postgres", 1, 50);
    while let Some(round) = rig.next_round() {
        rig.judged(round, &fail_over(round, true).await);
    }
}

/// The guard is that a commit waits for the standby. One that does not follow and is promoted all the same must be found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_failover_control_a_standby_that_lags_is_found() {
    let verdict = fail_over(Round { seed: 1, left: 1 }, false).await.judgement;
    assert!(!verdict.lost.is_empty(), "the standby lacked rows and nobody noticed: {verdict:?}");
}

async fn fail_over(round: Round, is_synchronous: bool) -> Outcome {
    let mut random = Random::new(round.seed);
    let mut primary = Cluster::start("").await;
    let standby = primary.standby("two").await;
    if is_synchronous {
        primary.say("ALTER SYSTEM SET synchronous_standby_names = 'two'");
        // tidy-allow: the server's administrator, not the product
        primary.say("SELECT pg_reload_conf()");
        // tidy-allow: the server's administrator, not the product
        while primary.say("SELECT sync_state FROM pg_stat_replication") != "sync" {
            pause(20).await;
        }
    }
    let url = format!("postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres", primary.port, standby.port);
    let place = Place::sqlite();
    let server = place.try_start_on(&url, &[]).unwrap();
    let mut scene = Scene::open(&server, Stored::at(primary.url()), Duration::from_millis(20)).await;
    scene.recovered(now()).await;
    if !is_synchronous {
        standby.say("ALTER SYSTEM SET primary_conninfo = ''");
        // tidy-allow: the server's administrator, not the product
        standby.say("SELECT pg_reload_conf()");
        pause(300).await;
    }
    pause(300 + random.below(700)).await;
    primary.stop(Stop::Kill);
    scene.injected(if is_synchronous {
        "failover to a synchronous standby"
    } else {
        "failover to a lagging standby"
    });
    pause(random.below(300)).await;
    let ended = now();
    standby.promote();
    scene.moved(Stored::at(standby.url()));
    scene.recovered(ended).await;
    scene.judge().await
}

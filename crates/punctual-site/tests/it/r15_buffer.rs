//! R15: the buffer drops nothing in silence: not at a restart, not at its bound, not when a write fails.

use punctual_model::Clock;
use punctual_site::{Agent, NotifyError, SiteConfig};
use punctual_store::Faults;
use punctual_testkit::{TestBed, Way, on_both};

use crate::rig::{Rig, drain, folder, message, notify_many, tick};

on_both! {
    r15_what_was_answered_survives_a_restart;
    r15_a_full_buffer_says_so_and_takes_again_when_there_is_room;
    r15_a_write_that_fails_is_an_error_to_the_caller;
    r15_acknowledgements_that_cannot_be_written_are_asked_for_again;
    r15_the_content_goes_with_the_ack_and_the_id_after_a_week;
    a_second_agent_on_the_same_folder_is_refused;
}

async fn r15_what_was_answered_survives_a_restart(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let agent = rig.agent().await;
    let ids = notify_many(&agent, "ops", 0..100).await;
    // No close: as if the process had been killed. The lock goes with it.
    drop(agent);
    let agent = rig.agent().await;
    assert_eq!(agent.health().await.unwrap().backlog, 100);
    for id in &ids {
        assert_eq!(agent.status(id).await.unwrap().status, "forwarding");
    }
    assert_eq!(drain(&agent).await, 100);
    bed.leaves_open("nothing ticks central");
}

async fn r15_a_full_buffer_says_so_and_takes_again_when_there_is_room(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let agent = rig.agent_with(SiteConfig { max_rows: 10, ..rig.config() }).await;
    rig.proxy.set(Way::Cut);
    notify_many(&agent, "ops", 0..10).await;
    for _ in 0..3 {
        let refused = agent.notify(message("ops", "x")).await.unwrap_err();
        assert!(
            matches!(&refused, NotifyError::Full(why) if why.contains("10 rows of at most 10")),
            "{refused}"
        );
    }
    assert!(!agent.health().await.unwrap().accepting);
    rig.proxy.set(Way::Pass);
    assert_eq!(drain(&agent).await, 10);
    agent.notify(message("ops", "y")).await.unwrap();
    assert!(agent.health().await.unwrap().accepting);
    let small = folder();
    let agent = rig.agent_with(SiteConfig { max_bytes: 1_000, ..rig.config_in(small.path()) }).await;
    agent.notify(message("ops", "x".repeat(500))).await.unwrap();
    let refused = agent.notify(message("ops", "x".repeat(500))).await.unwrap_err();
    assert!(matches!(&refused, NotifyError::Full(why) if why.contains("bytes of at most 1000")), "{refused}");
    agent.notify(message("ops", "small")).await.unwrap();
    bed.leaves_open("nothing ticks central");
}

async fn r15_a_write_that_fails_is_an_error_to_the_caller(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let faults = Faults::default();
    let agent =
        Agent::open_with(rig.config(), bed.clock.clone(), bed.random.clone(), faults.clone()).await.unwrap();
    faults.fail("outgoing.insert", false, 1);
    assert!(matches!(agent.notify(message("ops", "a")).await, Err(NotifyError::Store(_))));
    assert_eq!(agent.health().await.unwrap().backlog, 0, "what was not stored takes no room");
    // Of a group that fails, each is retried on its own: only what fails again is refused.
    faults.fail("outgoing.insert", false, 2);
    let calls = (0..5).map(|n| agent.notify(message("ops", n.to_string())));
    let answers = futures_util::future::join_all(calls).await;
    let taken = answers.iter().filter(|answer| answer.is_ok()).count();
    assert!((3..=4).contains(&taken), "{taken} of 5, with two failures");
    assert_eq!(drain(&agent).await, taken);
    assert_eq!(rig.stored().await.len(), taken);
    bed.leaves_open("nothing ticks central");
}

async fn r15_acknowledgements_that_cannot_be_written_are_asked_for_again(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let faults = Faults::default();
    let agent =
        Agent::open_with(rig.config(), bed.clock.clone(), bed.random.clone(), faults.clone()).await.unwrap();
    tick(&agent).await;
    notify_many(&agent, "ops", 0..10).await;
    faults.fail("outgoing.hand_over", false, 1);
    let report = tick(&agent).await;
    assert_eq!(
        (report.stored, report.failure),
        (10, None),
        "the reserve was given up and the write tried again"
    );
    assert!(
        matches!(agent.notify(message("ops", "x")).await, Err(NotifyError::Full(_))),
        "no room until it is back"
    );
    agent.watch_tick(bed.clock.now()).await.unwrap();
    notify_many(&agent, "ops", 10..20).await;
    faults.fail("outgoing.hand_over", false, 2);
    assert!(tick(&agent).await.failure.is_some());
    assert_eq!(agent.health().await.unwrap().backlog, 10);
    let report = tick(&agent).await;
    assert_eq!((report.stored, report.duplicates), (0, 10));
    assert_eq!(rig.stored().await.len(), 20);
    bed.leaves_open("nothing ticks central");
}

async fn r15_the_content_goes_with_the_ack_and_the_id_after_a_week(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let agent = rig.agent().await;
    let secret = "a-word-that-stands-nowhere-else";
    let id = agent.notify(message("ops", secret)).await.unwrap();
    drain(&agent).await;
    rig.proxy.set(Way::Cut);
    let day = 24 * 3_600;
    bed.wait(6 * day);
    agent.watch_tick(bed.clock.now()).await.unwrap();
    let status = agent.status(&id).await.unwrap();
    assert_eq!((&*status.status, status.central_unreachable), ("pending", true));
    bed.wait(day + 60);
    assert_eq!(agent.watch_tick(bed.clock.now()).await.unwrap().forgotten, 1);
    let status = agent.status(&id).await.unwrap();
    assert_eq!((&*status.status, status.central_unreachable), ("unknown", true));
    rig.proxy.set(Way::Pass);
    assert_eq!(agent.status(&id).await.unwrap().status, "pending", "central still knows it");
    bed.leaves_open("nothing ticks central");
}

async fn a_second_agent_on_the_same_folder_is_refused(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let _agent = rig.agent().await;
    let second = Agent::open(rig.config(), bed.clock.clone(), bed.random.clone()).await;
    assert!(second.err().unwrap().to_string().contains("in use by another process"));
}

//! What central will never take: out of the way, kept, and seen.

use punctual_site::SiteConfig;
use punctual_store::{Lane, site_buffer::outgoing};
use punctual_testkit::{TestBed, on_both};

use crate::rig::{Rig, drain, message, notify_many, some_id, tick};

on_both! {
    a_refused_row_does_not_hold_back_those_behind_it;
    a_conflict_is_kept_and_shown;
    a_row_that_no_batch_can_carry_is_found_and_put_aside;
    a_token_that_is_no_longer_good_keeps_everything_waiting;
    a_buffer_is_never_forwarded_in_another_site_s_name;
}

/// A row that only an older agent would have let in.
async fn slip_in(agent: &punctual_site::Agent, id: &str, subject: &str, body: &str) {
    let row = outgoing::NewOutgoing {
        id: id.to_owned(),
        digest: "0123456789abcdef".into(),
        list: "ops".into(),
        instance: None,
        script: None,
        subject: subject.to_owned(),
        body: body.to_owned(),
        enqueued_at: agent.clock.now(),
        bytes: i64::try_from(body.len() + 200).unwrap(),
    };
    let mut tx = agent.store.begin(Lane::Intake).await.unwrap();
    outgoing::insert(&mut tx.conn(), &[row]).await.unwrap();
    tx.commit().await.unwrap();
}

async fn a_refused_row_does_not_hold_back_those_behind_it(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let agent = rig.agent().await;
    let bad = some_id(&bed);
    slip_in(&agent, &bad, "two\nlines", "b").await;
    notify_many(&agent, "ops", 0..5).await;
    let report = tick(&agent).await;
    assert_eq!((report.sent, report.stored, report.refused), (6, 5, 1));
    let status = agent.status(&bad).await.unwrap();
    assert_eq!(status.status, "refused");
    assert!(status.last_error.unwrap().starts_with("subject_invalid: "));
    let log = agent.log(5).await.unwrap();
    assert_eq!((log[0].kind.as_str(), log[0].count), ("refused", 1));
    assert!(log[0].detail.contains(&bad) && log[0].detail.contains("subject_invalid"), "{}", log[0].detail);
    assert_eq!(agent.health().await.unwrap().refused, 1);
    bed.wait(30);
    tick(&agent).await;
    let (_, site) = rig.call("GET", "/api/v1/sites/plant-7", None).await;
    assert_eq!((&site["refused"], &site["backlog"]), (&1.into(), &0.into()));
    let (_, events) = rig.call("GET", "/api/v1/sites/plant-7/events", None).await;
    assert_eq!(events["items"][0]["kind"], "refused");
    // Its time over, it goes, and that is logged too.
    bed.wait(31 * 24 * 3_600);
    assert_eq!(agent.watch_tick(agent.clock.now()).await.unwrap().refused_removed, 1);
    assert_eq!(agent.health().await.unwrap().refused, 0);
    assert!(agent.log(1).await.unwrap()[0].detail.contains("removed after 30d"));
    bed.leaves_open("nothing ticks central");
}

async fn a_conflict_is_kept_and_shown(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let agent = rig.agent().await;
    let id = bed.accept_one(bed.message("someone")).await;
    let request = punctual_wire::site_agent::NotifyRequest { id: Some(id.clone()), ..message("ops", "b") };
    agent.notify(request).await.unwrap();
    notify_many(&agent, "ops", 0..1).await;
    let report = tick(&agent).await;
    assert_eq!((report.stored, report.refused), (1, 1));
    let status = agent.status(&id).await.unwrap();
    assert_eq!(status.status, "refused");
    assert!(status.last_error.unwrap().starts_with("id_reused"));
    assert_eq!(bed.notification(&id).await.subject, "Hello", "nothing was overwritten");
    bed.leaves_open("nothing ticks central");
}

async fn a_row_that_no_batch_can_carry_is_found_and_put_aside(bed: TestBed) {
    let rig = Rig::with(&bed, |state| state.options.bulk_body_limit = 100_000).await;
    let agent = rig.agent_with(SiteConfig { batch_bytes: i64::MAX, ..rig.config() }).await;
    notify_many(&agent, "ops", 0..4).await;
    let huge = some_id(&bed);
    slip_in(&agent, &huge, "S", &"x".repeat(150_000)).await;
    notify_many(&agent, "ops", 4..8).await;
    drain(&agent).await;
    assert_eq!(agent.status(&huge).await.unwrap().status, "refused");
    let expected: Vec<String> = (0..8).map(|n| n.to_string()).collect();
    assert_eq!(rig.bodies().await, expected);
    bed.leaves_open("nothing ticks central");
}

async fn a_token_that_is_no_longer_good_keeps_everything_waiting(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let agent = rig.agent().await;
    tick(&agent).await;
    notify_many(&agent, "ops", 0..3).await;
    assert_eq!(rig.call("POST", "/api/v1/sites/plant-7/revoke", None).await.0, 200);
    let report = tick(&agent).await;
    assert!(report.failure.as_ref().unwrap().contains("auth_failed"), "{report:?}");
    assert_eq!(agent.health().await.unwrap().backlog, 3);
    let (status, made) = rig.call("POST", "/api/v1/sites/plant-7/rotate", None).await;
    assert_eq!(status, 200);
    agent.store.close().await;
    drop(agent);
    let mut config = rig.config();
    config.token = punctual_model::Secret::new(made["token"].as_str().unwrap());
    let agent = rig.agent_with(config).await;
    assert_eq!(drain(&agent).await, 3);
    bed.leaves_open("nothing ticks central");
}

async fn a_buffer_is_never_forwarded_in_another_site_s_name(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let agent = rig.agent().await;
    tick(&agent).await;
    notify_many(&agent, "ops", 0..3).await;
    agent.store.close().await;
    drop(agent);
    let mut config = rig.config();
    config.token = punctual_model::Secret::new(rig.make_site("plant-8").await);
    let agent = rig.agent_with(config).await;
    let failure = tick(&agent).await.failure.unwrap();
    assert!(failure.contains("site `plant-8`") && failure.contains("belongs to `plant-7`"), "{failure}");
    assert_eq!(agent.health().await.unwrap().backlog, 3);
    assert!(bed.notifications().await.is_empty());
}

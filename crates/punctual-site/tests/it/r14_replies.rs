//! R14: lost, late, doubled and misdirected acknowledgements lose nothing and double nothing.

use std::time::Duration;

use futures_util::future::join;
use punctual_site::{Agent, SiteConfig};
use punctual_testkit::{Seeded, TestBed, Way, on_both, scale};
use serde_json::{Value, json};

use crate::rig::{Rig, any_way, check_order, drain, folder, message, notify_many, some_id, tick};

on_both! {
    r14_a_lost_reply_is_a_resend_that_changes_nothing;
    r14_replies_spoiled_at_random_give_each_row_once;
    r14_a_store_that_fails_after_the_commit_doubles_nothing;
    r14_two_agents_with_the_same_rows_give_one_row_each;
    r14_an_id_of_another_site_or_with_another_body_is_a_conflict;
}

async fn r14_a_lost_reply_is_a_resend_that_changes_nothing(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let agent = rig.agent().await;
    tick(&agent).await;
    notify_many(&agent, "ops", 0..100).await;
    rig.proxy.set(Way::SwallowReplies);
    assert!(tick(&agent).await.failure.is_some());
    assert_eq!(rig.stored().await.len(), 100, "central has them, and the site does not know");
    assert_eq!(agent.health().await.unwrap().backlog, 100);
    rig.proxy.set(Way::Pass);
    let report = tick(&agent).await;
    assert_eq!((report.sent, report.stored, report.duplicates), (100, 0, 100));
    assert_eq!(rig.stored().await.len(), 100);
    bed.leaves_open("nothing ticks central");
}

async fn r14_replies_spoiled_at_random_give_each_row_once(bed: TestBed) {
    let rows = scale(20_000, 1_000_000);
    let rig = Rig::new(&bed).await;
    let mut config = SiteConfig { batch: 200, request_time: Duration::from_millis(400), ..rig.config() };
    config.max_rows = i64::MAX;
    let mut agent = rig.agent_with(config.clone()).await;
    let random = Seeded::new(14);
    let (mut handed_in, mut held) = (0, 0);
    while handed_in < rows || agent.health().await.unwrap().backlog > 0 {
        if handed_in < rows {
            let more = (100 + usize::try_from(random.below(400)).unwrap()).min(rows - handed_in);
            notify_many(&agent, "ops", handed_in..handed_in + more).await;
            handed_in += more;
        }
        let way = any_way(&random);
        // A held reply costs a real time-out, so there are only some.
        let way = if way == Way::HoldReplies && held >= scale(10, 200) { Way::SwallowReplies } else { way };
        held += usize::from(way == Way::HoldReplies);
        rig.proxy.set(way);
        tick(&agent).await;
        rig.proxy.set(Way::Pass);
        if random.below(20) == 0 {
            // As after a kill: what was prepared and what was known is gone, the file stays.
            agent.store.close().await;
            drop(agent);
            agent = rig.agent_with(config.clone()).await;
        }
    }
    assert!(rig.proxy.spoiled() > 20, "only {} replies were spoiled", rig.proxy.spoiled());
    check_order(&rig.bodies().await, rows);
    bed.leaves_open("nothing ticks central");
}

/// The commit happened, and central's own database connection says that it failed.
async fn r14_a_store_that_fails_after_the_commit_doubles_nothing(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let agent = rig.agent().await;
    tick(&agent).await;
    notify_many(&agent, "ops", 0..50).await;
    // So that the next commit is the one of the hand-over.
    rig.keys_are_noted().await;
    bed.faults.fail("commit", true, 1);
    let report = tick(&agent).await;
    assert!(report.failure.unwrap().contains("storage_unavailable"));
    assert_eq!(drain(&agent).await, 50);
    assert_eq!(rig.stored().await.len(), 50);
    bed.leaves_open("nothing ticks central");
}

/// A site restored from a backup beside the one that went on: both send the same rows at the same time.
async fn r14_two_agents_with_the_same_rows_give_one_row_each(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let agent = rig.agent().await;
    notify_many(&agent, "ops", 0..3_000).await;
    agent.store.checkpoint().await.unwrap();
    let copy = folder();
    for file in ["site.sqlite", "site.sqlite-wal"] {
        let from = rig.folder.path().join(file);
        if from.exists() {
            std::fs::copy(from, copy.path().join(file)).unwrap();
        }
    }
    let restored = rig.agent_with(rig.config_in(copy.path())).await;
    let both = async |agent: &Agent| drain(agent).await;
    let (one, two) = join(both(&agent), both(&restored)).await;
    assert_eq!((one, two), (3_000, 3_000), "each got the acknowledgement that all its rows are safe");
    check_order(&rig.bodies().await, 3_000);
    bed.leaves_open("nothing ticks central");
}

async fn r14_an_id_of_another_site_or_with_another_body_is_a_conflict(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let other = rig.make_site("plant-8").await;
    let hand_over = async |site: &str, token: &str, body: &str, id: &str| -> Value {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let item = json!({ "id": id, "list": "ops", "subject": "S", "body": body });
        let request = client.post(format!("{}/api/v1/sites/{site}/notifications", rig.direct));
        let answer = request.bearer_auth(token).json(&json!({ "items": [item] })).send().await.unwrap();
        answer.json::<Value>().await.unwrap()["items"][0].clone()
    };
    let id = some_id(&bed);
    assert_eq!(hand_over("plant-7", &rig.token, "b", &id).await["outcome"], "stored");
    assert_eq!(hand_over("plant-7", &rig.token, "b", &id).await["outcome"], "duplicate");
    for (site, token, body) in [("plant-7", &rig.token, "other"), ("plant-8", &other, "b")] {
        let ack = hand_over(site, token, body, &id).await;
        assert_eq!((&ack["outcome"], &ack["code"]), (&"conflict".into(), &"id_reused".into()), "{ack}");
    }
    assert_eq!(rig.bodies().await, ["b"]);
    assert_eq!(bed.audit("notification", &id).await, ["conflict:id-reused", "conflict:id-reused"]);
    // At the site itself: the same again is the same, another body is refused.
    let agent = rig.agent().await;
    let own = some_id(&bed);
    let request = |body: &str| punctual_wire::site_agent::NotifyRequest {
        id: Some(own.clone()),
        ..message("ops", body)
    };
    assert_eq!(agent.notify(request("b")).await.unwrap(), own);
    assert_eq!(agent.notify(request("b")).await.unwrap(), own);
    assert!(matches!(agent.notify(request("c")).await, Err(punctual_site::NotifyError::IdReused(_))));
    assert_eq!(drain(&agent).await, 1);
    bed.leaves_open("nothing ticks central");
}

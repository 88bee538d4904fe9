//! Forwarding as it should be: in order, in batches, cleared by acknowledgements, reported to central.

use punctual_model::Clock;
use punctual_site::Next;
use punctual_testkit::{TestBed, on_both};
use serde_json::Value;

use crate::rig::{Rig, check_order, drain, message, notify_many, tick};

on_both! {
    what_a_script_hands_in_arrives_with_its_source;
    rows_arrive_in_order_over_many_batches;
    large_rows_go_in_batches_that_central_takes;
    a_report_goes_out_when_nothing_waits;
    the_list_is_resolved_when_it_is_delivered;
}

async fn what_a_script_hands_in_arrives_with_its_source(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let agent = rig.agent().await;
    let mut request = message("ops", "1.8 bar");
    request.instance = Some("pump-3".into());
    request.script = Some("watch.sh".into());
    let id = agent.notify(request).await.unwrap();
    let report = tick(&agent).await;
    assert_eq!((report.sent, report.stored, report.next), (1, 1, Next::Now));
    let rows = rig.stored().await;
    let row = &rows[0];
    assert_eq!(
        (row.id.to_string(), row.body.as_str(), row.list_name.as_deref()),
        (id, "1.8 bar", Some("ops"))
    );
    assert_eq!(
        (row.source_instance.as_deref(), row.source_script.as_deref()),
        (Some("pump-3"), Some("watch.sh"))
    );
    assert_eq!(row.site_enqueued_at, Some(bed.now()));
    assert_eq!(tick(&agent).await.next, Next::WhenWoken(bed.after(30)));
    bed.leaves_open("the list is not defined and nothing ticks central");
}

async fn rows_arrive_in_order_over_many_batches(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let agent = rig.agent_with(punctual_site::SiteConfig { batch: 700, ..rig.config() }).await;
    for part in 0..4 {
        let list = if part % 2 == 0 { "ops" } else { "night" };
        notify_many(&agent, list, part * 500..(part + 1) * 500).await;
    }
    assert_eq!(drain(&agent).await, 2_000);
    check_order(&rig.bodies().await, 2_000);
    bed.leaves_open("nothing ticks central");
}

async fn large_rows_go_in_batches_that_central_takes(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let agent = rig.agent_with(punctual_site::SiteConfig { batch_bytes: 300_000, ..rig.config() }).await;
    for n in 0..6 {
        agent.notify(message("ops", format!("{n}{}", "é".repeat(100_000)))).await.unwrap();
    }
    let mut sizes = Vec::new();
    while let report @ punctual_site::ForwardReport { sent: 1.., .. } = tick(&agent).await {
        sizes.push(report.sent);
    }
    assert_eq!(sizes, [2, 2, 2]);
    assert_eq!(rig.stored().await.len(), 6);
    bed.leaves_open("nothing ticks central");
}

async fn a_report_goes_out_when_nothing_waits(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let agent = rig.agent().await;
    let report = tick(&agent).await;
    assert_eq!((report.sent, report.next), (0, Next::WhenWoken(bed.after(30))));
    let (_, site) = rig.call("GET", "/api/v1/sites/plant-7", None).await;
    assert_eq!(site["lastContactAt"], bed.clock.now().to_string());
    assert_eq!(site["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        (&site["backlog"], &site["clockOffsetMs"], &site["clockSuspect"]),
        (&0.into(), &0.into(), &false.into())
    );
    bed.wait(10);
    assert_eq!(tick(&agent).await.next, Next::WhenWoken(bed.after(20)), "not due yet");
    bed.wait(20);
    notify_many(&agent, "ops", 0..3).await;
    bed.wait(5);
    tick(&agent).await;
    let (_, site) = rig.call("GET", "/api/v1/sites/plant-7", None).await;
    assert_eq!(
        (&site["backlog"], &site["oldestBufferedAgeSeconds"]),
        (&0.into(), &Value::Null),
        "what central has acknowledged waits no longer"
    );
    let (_, sites) = rig.call("GET", "/api/v1/sites", None).await;
    assert_eq!(sites["items"].as_array().map(Vec::len), Some(1));
    assert_ne!(sites["items"][0]["token"], Value::String(rig.token.clone()));
    bed.leaves_open("nothing ticks central");
}

async fn the_list_is_resolved_when_it_is_delivered(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let agent = rig.agent().await;
    bed.list("ops", "memory:default", &["first"]).await;
    let id = agent.notify(message("ops", "b")).await.unwrap();
    tick(&agent).await;
    bed.list("ops", "memory:default", &["first", "second"]).await;
    bed.tick().await;
    assert_eq!(bed.sent_to(), ["first", "second"]);
    assert_eq!(agent.status(&id).await.unwrap().status, "delivered");
}

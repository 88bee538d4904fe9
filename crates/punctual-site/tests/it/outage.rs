//! Central away for long with much buffered: everything arrives, once, in order, and the event log has one line for it.

use punctual_model::Clock;
use punctual_site::Next;
use punctual_testkit::{TestBed, Way, on_both};

use crate::rig::{Rig, drain, notify_many, tick};

on_both! {
    r15_an_outage_with_a_large_backlog_ends_with_everything_there_once_and_in_order;
    failures_are_one_entry_and_reported_to_central;
    rows_that_wait_long_are_logged_once;
}

async fn r15_an_outage_with_a_large_backlog_ends_with_everything_there_once_and_in_order(bed: TestBed) {
    let rows = 100_000;
    let rig = Rig::new(&bed).await;
    let agent = rig.agent().await;
    rig.proxy.set(Way::Cut);
    for part in 0..10 {
        notify_many(
            &agent,
            if part % 2 == 0 { "ops" } else { "night" },
            part * rows / 10..(part + 1) * rows / 10,
        )
        .await;
        let report = tick(&agent).await;
        assert!(report.failure.is_some() && report.next == Next::At(bed.after(10)), "{report:?}");
        bed.wait(360);
    }
    let health = agent.health().await.unwrap();
    assert_eq!((health.backlog, &*health.status), (i64::try_from(rows).unwrap(), "central-unreachable"));
    rig.proxy.set(Way::Pass);
    assert_eq!(drain(&agent).await, rows);
    let stored = rig.stored().await;
    assert_eq!(stored.len(), rows);
    for list in ["ops", "night"] {
        let numbers: Vec<usize> = stored
            .iter()
            .filter(|row| row.list_name.as_deref() == Some(list))
            .map(|row| row.body.parse().unwrap())
            .collect();
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{list} is out of order");
        assert_eq!(numbers.len(), rows / 2);
    }
    let health = agent.health().await.unwrap();
    assert_eq!((health.backlog, health.backlog_bytes, &*health.status), (0, 0, "ok"));
    bed.leaves_open("nothing ticks central");
}

async fn failures_are_one_entry_and_reported_to_central(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let agent = rig.agent().await;
    notify_many(&agent, "ops", 0..1).await;
    rig.proxy.set(Way::Cut);
    for _ in 0..5 {
        assert!(tick(&agent).await.failure.is_some());
        bed.wait(10);
    }
    let log = agent.log(10).await.unwrap();
    let kinds: Vec<(&str, i64)> = log.iter().map(|event| (event.kind.as_str(), event.count)).collect();
    assert_eq!(kinds, [("forward-failed", 5)], "{log:?}");
    assert_eq!(log[0].last_at.duration_since(log[0].at).as_secs(), 40);
    assert!(!log[0].detail.contains(&rig.token), "the token is never written down");
    rig.proxy.set(Way::Pass);
    drain(&agent).await;
    let (_, events) = rig.call("GET", "/api/v1/sites/plant-7/events", None).await;
    let items = events["items"].as_array().unwrap();
    assert_eq!(items.len(), 1, "{events}");
    assert_eq!((&items[0]["kind"], &items[0]["count"]), (&"forward-failed".into(), &5.into()));
    assert_eq!(items[0]["category"], "notification");
    // The next outage is another event; success is none.
    bed.wait(60);
    rig.proxy.set(Way::Cut);
    assert!(tick(&agent).await.failure.is_some());
    assert_eq!(agent.log(10).await.unwrap().len(), 2);
    bed.leaves_open("nothing ticks central");
}

async fn rows_that_wait_long_are_logged_once(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let agent = rig.agent().await;
    rig.proxy.set(Way::Cut);
    notify_many(&agent, "ops", 0..3).await;
    let watch = async || agent.watch_tick(bed.clock.now()).await.unwrap();
    assert_eq!(watch().await.long_buffered, 0);
    assert!(agent.log(10).await.unwrap().is_empty());
    bed.wait(601);
    notify_many(&agent, "ops", 3..4).await;
    assert_eq!((watch().await.waiting, watch().await.long_buffered), (4, 3));
    bed.wait(10);
    watch().await;
    let log = agent.log(10).await.unwrap();
    assert_eq!(log.len(), 1, "{log:?}");
    assert_eq!((log[0].kind.as_str(), log[0].count), ("long-buffered", 3));
    rig.proxy.set(Way::Pass);
    drain(&agent).await;
    assert_eq!(watch().await.long_buffered, 0);
    bed.leaves_open("nothing ticks central");
}

//! Quotas of business units: a unit that floods neither takes the calls of others nor more rows than it may be given.

use std::time::Duration;

use jiff::Timestamp;
use punctual_engine::Accepted;
use punctual_model::{NewNotification, NotificationStatus, Priority, delivery_policy::LEVELS};
use punctual_store::{
    business_units::{self, BusinessUnitRow},
    quotas,
};
use punctual_testkit::{Gated, TestBed, TestBedBuilder, new_work, on_both};
use serde_json::json;

use crate::arrivals::receiving;

on_both! {
    a_unit_that_floods_does_not_delay_others;
    a_unit_that_floods_has_its_share_of_the_calls_under_way with real_time;
    messages_that_wait_already_get_into_the_lane_of_their_unit;
    a_share_holds_for_the_slots_of_a_limit_too;
    rows_are_counted_once_and_refused_when_the_day_s_are_used_up;
    nodes_together_give_a_unit_no_more_than_its_rows;
    nodes_that_have_just_counted_do_not_pass_the_quota;
    counts_are_added_up_and_nothing_is_lost;
    what_the_engine_makes_is_counted_and_never_refused;
}

fn real_time(bed: TestBedBuilder) -> TestBedBuilder {
    bed.wall_clock().config(|config| config.poll_every = Duration::from_secs(3600))
}

async fn unit(bed: &TestBed, id: &str, rows_per_day: Option<i64>, share: Option<i64>) {
    let row = BusinessUnitRow {
        id: id.to_owned(),
        name: id.to_owned(),
        time_zone: "Pacific/Auckland".into(),
        rows_per_day,
        channel_share: share,
        lane: share.map(|_| 7),
        updated_at: Timestamp::UNIX_EPOCH,
    };
    let mut tx = bed.begin().await;
    business_units::put(&mut tx.conn(), bed.now(), &row).await.unwrap();
    tx.commit().await.unwrap();
    bed.store.quotas().invalidate();
}

fn of_unit(bed: &TestBed, channel: &str, unit: &str, address: &str) -> NewNotification {
    let mut new = bed.message_over(channel, &[address]);
    new.business_unit = Some(unit.to_owned());
    new
}

async fn flood(bed: &TestBed, channel: &str, count: usize) {
    let rows = |n: usize| of_unit(bed, channel, "nz", &format!("flood-{n}@example.org"));
    for from in (0..count).step_by(1_000) {
        bed.accept((from..count.min(from + 1_000)).map(rows).collect()).await;
    }
}

fn created(answers: &[Accepted]) -> usize {
    answers.iter().filter(|answer| **answer == Accepted::Created).count()
}

async fn used(bed: &TestBed, date: &str) -> i64 {
    quotas::accepted(&mut bed.read().await.conn(), "nz", date).await.unwrap()
}

async fn a_unit_that_floods_does_not_delay_others(bed: TestBed) {
    let (bed, arrivals) = receiving(&bed, "mail");
    bed.channel_with_policy("mail:default", "mail", json!({ "concurrency": 10 })).await;
    for id in ["nz", "de"] {
        bed.has_unit(id).await;
    }
    unit(&bed, "nz", None, Some(20)).await;
    flood(&bed, "mail:default", 5_000).await;
    bed.wait(1);
    let late = (0..50).map(|n| of_unit(&bed, "mail:default", "de", &format!("de-{n}@example.org")));
    bed.accept(late.collect()).await;
    let mut alarm = of_unit(&bed, "mail:default", "nz", "alarm@example.org");
    alarm.priority = Priority::Alarm.number();
    bed.accept_one(alarm).await;
    let report = bed.engine.delivery_tick(bed.now(), 100).await.unwrap();
    let sent = arrivals.addresses();
    let of = |prefix: &str| sent.iter().filter(|address| address.starts_with(prefix)).count();
    assert_eq!((of("de-"), of("alarm")), (50, 1), "all of the others, though the flood is older");
    assert_eq!(of("flood-"), 2, "a fifth of ten calls");
    assert_eq!(report.delivered, 53);
    bed.engine.delivery_tick(bed.now(), 100).await.unwrap();
    assert_eq!(arrivals.count(), 55, "the flood goes on at its share");
    assert_eq!(bed.engine.waiting_in_lane(7).await.unwrap(), 4_996);
    bed.engine.sweep_tick(bed.now()).await.unwrap();
    let figure = "punctual_quota_messages_waiting{unit=\"nz\"} 4996";
    assert!(bed.engine.metrics.encode().contains(figure), "{}", bed.engine.metrics.encode());
    // Without its share it is nobody's lane, and goes on without a limit.
    unit(&bed, "nz", None, None).await;
    bed.wait(2);
    bed.engine.delivery_tick(bed.now(), 100).await.unwrap();
    assert!(arrivals.count() >= 64, "{}", arrivals.count());
    bed.engine.sweep_tick(bed.now()).await.unwrap();
    assert!(!bed.engine.metrics.encode().contains("quota_messages_waiting{"), "no share, no figure");
    bed.leaves_open("the rest of the flood");
}

async fn a_unit_that_floods_has_its_share_of_the_calls_under_way(bed: TestBed) {
    let (gate, adapter) = Gated::new("gated");
    let bed = bed.with(|bed| bed.adapter(adapter));
    bed.channel_with_policy("gated:default", "gated", json!({ "concurrency": 4 })).await;
    bed.has_unit("de").await;
    unit(&bed, "nz", None, Some(50)).await;
    let running = bed.engine.run();
    flood(&bed, "gated:default", 40).await;
    for _ in 0..2 {
        assert!(gate.arrived().await.address.starts_with("flood-"));
    }
    // Two calls of the flood hang, and no third starts; one of another unit does.
    bed.accept_one(of_unit(&bed, "gated:default", "de", "de@example.org")).await;
    assert_eq!(gate.arrived().await.address, "de@example.org");
    gate.let_go(41);
    for _ in 0..38 {
        assert!(gate.arrived().await.address.starts_with("flood-"));
    }
    running.stop().await;
}

async fn messages_that_wait_already_get_into_the_lane_of_their_unit(bed: TestBed) {
    let (bed, arrivals) = receiving(&bed, "mail");
    bed.channel_with_policy("mail:default", "mail", json!({ "concurrency": 10 })).await;
    unit(&bed, "nz", None, None).await;
    flood(&bed, "mail:default", 900).await;
    let mut high = of_unit(&bed, "mail:default", "nz", "high@example.org");
    high.priority = Priority::High.number();
    bed.accept_one(high).await;
    bed.accept_one(bed.message_over("mail:default", &["other@example.org"])).await;
    unit(&bed, "nz", None, Some(10)).await;
    bed.engine.join_lane("nz", 7).await.unwrap();
    let levels: Vec<i64> = bed.notifications().await.iter().map(|row| row.priority).collect();
    let normal = Priority::Normal.number();
    let count = |level: i64| levels.iter().filter(|one| **one == level).count();
    assert_eq!(count(7 * LEVELS + normal), 900);
    assert_eq!((count(Priority::High.number()), count(normal)), (1, 1), "nobody else's and nothing urgent");
    bed.wait(2);
    bed.engine.delivery_tick(bed.now(), 100).await.unwrap();
    let sent = arrivals.addresses();
    assert!(sent.contains(&"other@example.org".to_owned()) && sent.contains(&"high@example.org".to_owned()));
    assert_eq!(sent.len(), 3, "and one of the flood: {sent:?}");
    bed.leaves_open("the rest of the flood");
}

async fn a_share_holds_for_the_slots_of_a_limit_too(bed: TestBed) {
    let (bed, arrivals) = receiving(&bed, "mail");
    let limit = json!({ "concurrency": 100, "rates": [{ "max": 40, "per": "1d" }] });
    bed.channel_with_policy("mail:default", "mail", limit).await;
    unit(&bed, "nz", None, Some(50)).await;
    flood(&bed, "mail:default", 200).await;
    bed.engine.delivery_tick(bed.now(), 100).await.unwrap();
    // 32 of 40 are for ordinary messages and campaigns, and half of those free are its.
    assert_eq!(arrivals.count(), 16);
    bed.accept_one(bed.message_over("mail:default", &["other@example.org"])).await;
    bed.tick().await;
    assert!(arrivals.addresses().contains(&"other@example.org".to_owned()));
    bed.leaves_open("the rest of the flood");
}

async fn rows_are_counted_once_and_refused_when_the_day_s_are_used_up(bed: TestBed) {
    unit(&bed, "nz", Some(5), None).await;
    let new = |n: usize| of_unit(&bed, "email:default", "nz", &format!("{n}@example.org"));
    let rows: Vec<NewNotification> = (0..4).map(new).collect();
    assert_eq!(created(&bed.accept(rows.clone()).await), 4);
    // A repeat counts nothing, also beside new ones and when nothing is left.
    let repeats: Vec<NewNotification> = rows.iter().cloned().chain([new(4), new(5), new(6)]).collect();
    let answers = bed.accept(repeats.clone()).await;
    assert!(answers[..4].iter().all(|one| matches!(one, Accepted::Duplicate { .. })), "{answers:?}");
    assert_eq!(answers[4], Accepted::Created);
    let Accepted::OverQuota(reached) = &answers[5] else { panic!("{answers:?}") };
    // 05:00 UTC is 17:00 in Auckland.
    assert_eq!((reached.rows_per_day, reached.retry_after_seconds()), (5, 7 * 3_600));
    assert!(matches!(answers[6], Accepted::OverQuota(_)));
    assert_eq!(created(&bed.accept(vec![new(9)]).await), 0);
    let again = bed.accept(vec![rows[0].clone()]).await;
    assert_eq!(again, [Accepted::Duplicate { status: NotificationStatus::Pending }]);
    let mut other = rows[1].clone();
    other.subject = "another".into();
    assert_eq!(bed.accept(vec![other]).await, [Accepted::IdReused]);
    // Others are not concerned.
    bed.accept_one(bed.message("x@example.org")).await;
    assert_eq!((used(&bed, "2026-05-14").await, bed.notifications().await.len()), (5, 6));
    // The day of the unit ends at its midnight.
    bed.wait(7 * 3_600 - 1);
    assert_eq!(created(&bed.accept(vec![new(7)]).await), 0);
    bed.wait(1);
    assert_eq!(created(&bed.accept(vec![new(7), new(8)]).await), 2);
    assert_eq!((used(&bed, "2026-05-14").await, used(&bed, "2026-05-15").await), (5, 2));
    bed.tick().await;
}

async fn nodes_together_give_a_unit_no_more_than_its_rows(bed: TestBed) {
    unit(&bed, "nz", Some(100), None).await;
    let other = bed.node("b").await;
    let mut taken = 0;
    for round in 0..30 {
        for (name, node) in [("a", &bed), ("b", &other)] {
            let new =
                |n: usize| of_unit(&bed, "email:default", "nz", &format!("{name}{round}-{n}@example.org"));
            taken += created(&node.accept((0..3).map(new).collect()).await);
        }
    }
    assert_eq!(taken, 100, "of 180");
    assert_eq!((used(&bed, "2026-05-14").await, bed.notifications().await.len()), (100, 100));
    // At the same time they may pass it by what they are committing, and not by more.
    unit(&bed, "nz", Some(200), None).await;
    other.store.quotas().invalidate();
    let each = |node: TestBed, name: &'static str| async move {
        let mut taken = 0;
        for n in 0..100 {
            let new = of_unit(&node, "email:default", "nz", &format!("{name}-{n}@example.org"));
            taken += created(&node.accept(vec![new]).await);
        }
        taken
    };
    let (a, b) = tokio::join!(each(bed.clone(), "at-once-a"), each(other.clone(), "at-once-b"));
    assert!((100..=104).contains(&(a + b)), "{a} and {b}");
    assert_eq!(
        used(&bed, "2026-05-14").await,
        100 + i64::try_from(a + b).unwrap(),
        "the count is what is stored"
    );
    bed.tick().await;
}

/// Time stands still, so that no count gets old: a node asks again only because of what it has given itself.
async fn nodes_that_have_just_counted_do_not_pass_the_quota(bed: TestBed) {
    unit(&bed, "nz", Some(6_000), None).await;
    let nodes = [bed.clone(), bed.node("b").await, bed.node("c").await];
    let mut taken = 0;
    for round in 0..30 {
        for (number, node) in nodes.iter().enumerate() {
            let new =
                |n: usize| of_unit(&bed, "email:default", "nz", &format!("{number}-{round}-{n}@example.org"));
            taken += created(&node.accept((0..100).map(new).collect()).await);
        }
    }
    assert_eq!(taken, 6_000, "of 9,000");
    bed.leaves_open("what they accepted");
}

async fn counts_are_added_up_and_nothing_is_lost(bed: TestBed) {
    unit(&bed, "nz", Some(1_000), None).await;
    for n in 0..50 {
        bed.accept_one(of_unit(&bed, "email:default", "nz", &format!("{n}@example.org"))).await;
    }
    let many = quotas::unfolded(&mut bed.read().await.conn()).await.unwrap();
    assert_eq!(many.len(), 1);
    bed.engine.sweep_tick(bed.now()).await.unwrap();
    assert_eq!(quotas::unfolded(&mut bed.read().await.conn()).await.unwrap(), []);
    let days = quotas::days(&mut bed.read().await.conn(), vec!["nz".into()], "2026-05-01").await.unwrap();
    assert_eq!((days.len(), days[0].accepted, days[0].counted_at), (1, 50, bed.now().as_microsecond()));
    bed.tick().await;
    bed.wait(61 * 86_400);
    bed.engine.purge(bed.now()).await.unwrap();
    assert_eq!(used(&bed, "2026-05-14").await, 0, "and they go after sixty days");
}

async fn what_the_engine_makes_is_counted_and_never_refused(bed: TestBed) {
    unit(&bed, "nz", Some(3), None).await;
    bed.engine.look_at_quotas(bed.now()).await.unwrap();
    let work = |n: usize| {
        let mut new = new_work("unhandled", &format!("made:{n}"), bed.now());
        new.business_unit = Some("nz".into());
        new
    };
    let made: Vec<_> = (0..5).map(work).collect();
    bed.ensure(&made).await;
    bed.ensure(&made).await;
    assert_eq!(used(&bed, "2026-05-14").await, 5, "each once");
    assert_eq!(created(&bed.accept(vec![of_unit(&bed, "email:default", "nz", "x@example.org")]).await), 0);
    bed.tick().await;
    bed.leaves_open("work of a kind that nothing handles");
}

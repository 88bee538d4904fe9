//! R12: limits always hold, in every sliding window, as the receiver counts it: over nodes, restarts and backlogs.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use jiff::SignedDuration;
use punctual_model::{NewNotification, Priority, Random, ReasonCode, SendOutcome};
use punctual_testkit::{Seeded, TestBed, channel::delivered, on_both, scale};
use serde_json::json;

use crate::arrivals::{receiving, receiving_with};

on_both! {
    r12_a_backlog_leaves_as_fast_as_the_limit_allows_and_no_faster;
    r12_a_limit_holds_over_two_nodes;
    r12_a_limit_holds_over_a_restart;
    r12_channels_of_one_provider_share_its_limit;
    r12_random_loads_never_exceed_a_limit;
    a_message_to_many_goes_to_them_in_parts_and_to_each_once;
    a_campaign_leaves_slots_for_an_alarm;
    a_full_channel_holds_back_no_other_and_is_left_alone_until_there_is_a_slot;
    a_message_that_waits_for_its_channel_says_so;
    a_backlog_under_a_limit_waits_and_is_not_stuck;
    a_channel_without_limits_takes_no_slot;
}

fn many(bed: &TestBed, channel: &str, count: usize) -> Vec<NewNotification> {
    (0..count).map(|n| bed.message_over(channel, &[&format!("{n}@example.org")])).collect()
}

async fn r12_a_backlog_leaves_as_fast_as_the_limit_allows_and_no_faster(bed: TestBed) {
    let (bed, arrivals) = receiving(&bed, "slow");
    bed.channel_with_policy("slow:default", "slow", json!({ "rates": [{ "max": 20, "per": "10s" }] })).await;
    bed.accept(many(&bed, "slow:default", 200)).await;
    bed.run_for(600).await;
    assert_eq!(arrivals.count(), 200);
    assert!(arrivals.most_within(10) <= 20, "{}", arrivals.most_within(10));
    // A tenth of the slots stays for alarms, and rounding costs a little more.
    assert!((90..=130).contains(&arrivals.took()), "{} s", arrivals.took());
}

async fn r12_a_limit_holds_over_two_nodes(bed: TestBed) {
    let (bed, arrivals) = receiving(&bed, "slow");
    bed.channel_with_policy(
        "slow:default",
        "slow",
        json!({ "rates": [{ "max": 7, "per": "3s" }, { "max": 40, "per": "1m" }] }),
    )
    .await;
    bed.accept(many(&bed, "slow:default", 100)).await;
    let other = bed.node("b").await;
    for _ in 0..1_000 {
        let now = bed.now();
        let (one, two) = tokio::join!(bed.engine.delivery_tick(now, 50), other.engine.delivery_tick(now, 50));
        one.unwrap();
        two.unwrap();
        if arrivals.count() == 100 {
            break;
        }
        bed.clock.set(now + SignedDuration::from_millis(700));
    }
    assert_eq!(arrivals.count(), 100);
    assert!(arrivals.most_within(3) <= 7 && arrivals.most_within(60) <= 40);
}

async fn r12_a_limit_holds_over_a_restart(bed: TestBed) {
    let (bed, arrivals) = receiving(&bed, "slow");
    bed.channel_with_policy("slow:default", "slow", json!({ "rates": [{ "max": 5, "per": "1h" }] })).await;
    bed.accept(many(&bed, "slow:default", 12)).await;
    bed.tick().await;
    let sent = arrivals.count();
    assert!(sent > 0);
    for name in ["c", "d", "e"] {
        let restarted = bed.node(name).await;
        restarted.tick().await;
        assert_eq!(arrivals.count(), sent, "the slots are stored in the database");
    }
    bed.run_for(6 * 3600).await;
    assert_eq!(arrivals.count(), 12);
    assert!(arrivals.most_within(3600) <= 5);
}

async fn r12_channels_of_one_provider_share_its_limit(bed: TestBed) {
    let (bed, arrivals) = receiving(&bed, "slow");
    let policy = json!({ "provider": "acme", "providerRates": [{ "max": 10, "per": "10s" }] });
    for channel in ["slow:a", "slow:b"] {
        bed.channel_with_policy(channel, "slow", policy.clone()).await;
        bed.accept(many(&bed, channel, 30)).await;
    }
    bed.run_for(600).await;
    assert_eq!(arrivals.count(), 60);
    assert!(arrivals.most_within(10) <= 10, "{}", arrivals.most_within(10));
}

/// Loads, pauses, failures and restarts at random, on two nodes.
async fn r12_random_loads_never_exceed_a_limit(bed: TestBed) {
    let failing = Arc::new(AtomicU64::new(0));
    let fails = failing.clone();
    let (bed, arrivals) = receiving_with(&bed, "slow", move |_| {
        if fails.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok() {
            return SendOutcome::Transient { error: "busy".into(), retry_after: None };
        }
        delivered()
    });
    for seed in 0..scale(4, 200) {
        let random = Seeded::new(u64::try_from(seed).unwrap() + 100);
        let draw = |most: i64| (random.unit() * most as f64) as i64;
        let (max, seconds) = (1 + draw(15), 1 + draw(20));
        let channel = format!("slow:r{seed}");
        let rates = json!({ "rates": [{ "max": max, "per": format!("{seconds}s") }] });
        bed.channel_with_policy(&channel, "slow", rates).await;
        let mut nodes = [bed.node("x").await, bed.node("y").await];
        let before = arrivals.count();
        let mut handed_in = 0;
        for step in 0..60 {
            if step < 40 && draw(3) == 0 {
                let count = usize::try_from(1 + draw(12)).unwrap();
                handed_in += count;
                bed.accept(many(&bed, &channel, count)).await;
            }
            if draw(10) == 0 {
                failing.store(u64::try_from(draw(4)).unwrap(), Ordering::Relaxed);
            }
            let which = usize::from(draw(2) == 0);
            if draw(20) == 0 {
                nodes[which] = bed.node(&format!("n{step}")).await;
            }
            nodes[which].engine.delivery_tick(bed.now(), 50).await.unwrap();
            bed.clock.set(bed.now() + SignedDuration::from_millis(draw(3_000)));
        }
        failing.store(0, Ordering::Relaxed);
        bed.run_for(3 * 3600).await;
        assert_eq!(arrivals.count() - before, handed_in, "seed {seed}");
        let most = arrivals.most_within(seconds);
        assert!(most <= usize::try_from(max).unwrap(), "seed {seed}: {most} of {max} within {seconds} s");
        arrivals.clear();
    }
}

async fn a_message_to_many_goes_to_them_in_parts_and_to_each_once(bed: TestBed) {
    let (bed, arrivals) = receiving(&bed, "slow");
    bed.channel_with_policy("slow:default", "slow", json!({ "rates": [{ "max": 10, "per": "10s" }] })).await;
    let targets: Vec<String> = (0..35).map(|n| format!("{n}@example.org")).collect();
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    bed.list("all", "slow:default", &targets).await;
    let id = bed.accept_one(bed.message_to_list("all")).await;
    bed.tick().await;
    let row = bed.notification(&id).await;
    assert_eq!((row.status.as_str(), row.reason_code.as_deref()), ("pending", Some("rate-limited")));
    bed.run_for(300).await;
    let mut got = arrivals.addresses();
    assert_eq!(got.len(), 35);
    got.sort();
    got.dedup();
    assert_eq!(got.len(), 35, "each once");
    assert!(arrivals.most_within(10) <= 10);
    assert_eq!(bed.notification(&id).await.status.as_str(), "delivered");
    assert!(bed.audit("notification", &id).await.contains(&"defer:rate-limited".to_owned()));
}

async fn a_campaign_leaves_slots_for_an_alarm(bed: TestBed) {
    let (bed, arrivals) = receiving(&bed, "slow");
    bed.channel_with_policy("slow:default", "slow", json!({ "rates": [{ "max": 10, "per": "1d" }] })).await;
    let with = |priority: Priority, address: &str| {
        let mut new = bed.message_over("slow:default", &[address]);
        new.priority = priority.number();
        new
    };
    bed.accept((0..50).map(|n| with(Priority::Campaign, &format!("{n}@example.org"))).collect()).await;
    bed.tick().await;
    assert_eq!(arrivals.count(), 8, "two slots stay");
    bed.accept((0..5).map(|n| with(Priority::Normal, &format!("normal-{n}@example.org"))).collect()).await;
    bed.tick().await;
    assert_eq!(arrivals.count(), 9, "one for what is ordinary");
    bed.accept_one(with(Priority::Alarm, "alarm@example.org")).await;
    bed.tick().await;
    assert_eq!(arrivals.addresses().last().unwrap(), "alarm@example.org");
    assert_eq!(arrivals.count(), 10);
    bed.leaves_open("the campaign goes on for days");
}

async fn a_full_channel_holds_back_no_other_and_is_left_alone_until_there_is_a_slot(bed: TestBed) {
    let (bed, arrivals) = receiving(&bed, "slow");
    bed.channel_with_policy("slow:default", "slow", json!({ "rates": [{ "max": 2, "per": "1h" }] })).await;
    bed.accept(many(&bed, "slow:default", 10)).await;
    bed.tick().await;
    assert_eq!(arrivals.count(), 2);
    // What the loops sleep until: not now, and not in a moment.
    let next = bed.engine.next_ready().await.unwrap().unwrap();
    assert!(next >= bed.after(3600) && next <= bed.after(3700), "{next}");
    bed.accept_to(&["other@example.org"]).await;
    assert_eq!(bed.tick().await.deliveries.delivered, 1);
    assert_eq!(arrivals.count(), 2);
    bed.leaves_open("it would take hours");
}

async fn a_message_that_waits_for_its_channel_says_so(bed: TestBed) {
    let (bed, _) = receiving(&bed, "slow");
    bed.channel_with_policy("slow:default", "slow", json!({ "rates": [{ "max": 1, "per": "1h" }] })).await;
    bed.accept(many(&bed, "slow:default", 2)).await;
    bed.tick().await;
    let row = bed.notifications().await.into_iter().find(|row| row.status.as_str() == "pending").unwrap();
    let id = row.id.to_string();
    let (reason, until) = bed.engine.waits_for(&row).await.unwrap().unwrap();
    assert_eq!(reason, ReasonCode::RateLimited);
    assert!(until >= bed.after(3600));
    let timeline = bed.engine.timeline(&punctual_model::Reach::Everything, &id).await.unwrap();
    assert!(timeline.iter().any(|moment| moment.what == "waiting" && moment.detail.contains("rate-limited")));
    bed.run_for(2 * 3600).await;
    assert_eq!(bed.engine.waits_for(&bed.notification(&id).await).await.unwrap(), None);
}

/// A backlog that a limit makes is waiting as long as the limit works it off; what nothing works off is stuck.
async fn a_backlog_under_a_limit_waits_and_is_not_stuck(bed: TestBed) {
    let (bed, _) = receiving(&bed, "slow");
    bed.channel_with_policy("slow:default", "slow", json!({ "rates": [{ "max": 10, "per": "1m" }] })).await;
    bed.accept(many(&bed, "slow:default", 300)).await;
    let other = bed.accept_one(bed.message_over("nowhere:default", &["a@example.org"])).await;
    bed.run_for(900).await;
    let total = bed.engine.outbox_kpis(None).await.unwrap().total;
    assert!(total.waiting > 100, "{total:?}");
    assert_eq!((total.stuck, total.queue_depth), (0, total.waiting), "{total:?}");
    assert_eq!(bed.notification(&other).await.status.as_str(), "parked");
    // Every node is gone: the limit has free slots, and nobody takes them.
    bed.wait(900);
    let total = bed.engine.outbox_kpis(None).await.unwrap().total;
    assert_eq!((total.stuck, total.waiting), (total.queue_depth, 0), "{total:?}");
    bed.leaves_open("it would take half an hour");
}

async fn a_channel_without_limits_takes_no_slot(bed: TestBed) {
    bed.faults.fail("limiters.lock", false, u64::MAX);
    bed.faults.fail("preferences.by_addresses", false, u64::MAX);
    bed.faults.fail("sent_days.add", false, u64::MAX);
    bed.accept_to(&["a@example.org", "b@example.org"]).await;
    assert_eq!(bed.tick().await.deliveries.delivered, 2, "nothing is asked where nothing is set up");
}

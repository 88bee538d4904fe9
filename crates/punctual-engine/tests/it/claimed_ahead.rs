//! What is claimed before its call can start: it is handed back, as it was, where the call is not to be made any more.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use punctual_model::{NotificationStatus, SendOutcome};
use punctual_testkit::{Gated, Scripted, TestBed, TestBedBuilder, channel::delivered, on_both, signal};

on_both! {
    what_is_left_of_a_batch_is_handed_back_when_its_circuit_opens;
    what_is_left_for_a_host_that_fails_is_handed_back_and_others_are_called;
    what_is_left_goes_over_the_channel_as_it_was_saved_meanwhile with loops;
    large_messages_are_not_held_before_their_turn;
    many_messages_over_few_calls_each_arrive_once with loops;
}

/// Calls at once of the channels here.
const PERMITS: usize = 4;

fn loops(bed: TestBedBuilder) -> TestBedBuilder {
    bed.wall_clock().config(|config| config.poll_every = Duration::from_secs(3600))
}

/// A channel that fails wherever `fails` says so, with the count of those calls.
fn failing(fails: fn(&str) -> bool) -> (Scripted, Arc<AtomicUsize>) {
    let failed = Arc::new(AtomicUsize::new(0));
    let counted = failed.clone();
    let adapter = Scripted::new("failing", move |message| {
        if !fails(&message.address) {
            return delivered();
        }
        counted.fetch_add(1, Ordering::Relaxed);
        SendOutcome::Transient { error: "503 down".into(), retry_after: None }
    });
    (adapter.permits(PERMITS), failed)
}

async fn what_is_left_of_a_batch_is_handed_back_when_its_circuit_opens(bed: TestBed) {
    let (adapter, failed) = failing(|_| true);
    let bed = bed.with(|bed| bed.adapter(adapter));
    bed.channel("sms:default", "failing").await;
    bed.accept((0..100).map(|n| bed.message_over("sms:default", &[&format!("+{n}")])).collect()).await;
    bed.engine.delivery_tick(bed.now(), 100).await.unwrap();
    let failed = failed.load(Ordering::Relaxed);
    assert!((10..=10 + 2 * PERMITS).contains(&failed), "{failed} calls of 100");
    let rows = bed.notifications().await;
    let spent = rows.iter().filter(|row| row.retry_count > 0).count();
    assert_eq!(spent, failed, "the others have all of their attempts");
    assert!(rows.iter().all(|row| row.lease_expires_at.is_none()), "nothing is claimed any more");
    bed.leaves_open("the channel is down");
}

async fn what_is_left_for_a_host_that_fails_is_handed_back_and_others_are_called(bed: TestBed) {
    let (adapter, failed) = failing(|address| address.ends_with("@slow"));
    let bed = bed.with(|bed| bed.adapter(adapter.by_host()));
    bed.channel("webhook:default", "failing").await;
    let address = |n: usize| format!("{n}@{}", if n.is_multiple_of(2) { "slow" } else { "well" });
    bed.accept((0..200).map(|n| bed.message_over("webhook:default", &[&address(n)])).collect()).await;
    bed.engine.delivery_tick(bed.now(), 200).await.unwrap();
    let failed = failed.load(Ordering::Relaxed);
    assert!((10..=10 + 2 * PERMITS).contains(&failed), "{failed} calls of 100");
    let arrived = bed.notifications().await;
    let arrived = arrived.iter().filter(|row| row.status == NotificationStatus::Delivered).count();
    assert_eq!(arrived, 100, "all of the host that works");
    bed.leaves_open("one host is down");
}

async fn what_is_left_goes_over_the_channel_as_it_was_saved_meanwhile(bed: TestBed) {
    let (gate, adapter) = Gated::new("gated");
    let bed = bed.with(|bed| bed.adapter(adapter.permits(2)));
    bed.channel("email:default", "gated").await;
    let running = bed.engine.run();
    let targets: Vec<String> = (0..20).map(|n| format!("p{n}@example.org")).collect();
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    let list = bed.accept_one(bed.message_over("email:default", &targets)).await;
    gate.arrived().await;
    gate.arrived().await;
    bed.channel("email:default", "memory").await;
    // Its delivery shows that the node knows the new channel.
    let other = bed.accept_one(bed.message_over("email:default", &["other@example.org"])).await;
    delivered_are(&bed, &[other]).await;
    gate.let_go(20);
    delivered_are(&bed, &[list]).await;
    assert!(gate.nobody_else_arrived().await, "no call starts over the old one");
    assert_eq!(bed.sent_to().len(), 19);
    running.stop().await;
}

async fn large_messages_are_not_held_before_their_turn(bed: TestBed) {
    let (adapter, _) = failing(|_| false);
    let bed = bed.with(|bed| bed.adapter(adapter));
    bed.channel("email:default", "failing").await;
    let targets: Vec<String> = (0..101).map(|n| format!("p{n}@example.org")).collect();
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    bed.accept((0..10).map(|_| bed.message_over("email:default", &targets)).collect()).await;
    let done = bed.engine.delivery_tick(bed.now(), 100).await.unwrap();
    assert_eq!((done.claimed, done.delivered, done.retrying), (10, PERMITS, 10 - PERMITS));
    for _ in 0..2 {
        bed.engine.delivery_tick(bed.now(), 100).await.unwrap();
    }
    let rows = bed.notifications().await;
    assert!(rows.iter().all(|row| row.status == NotificationStatus::Delivered));
}

async fn many_messages_over_few_calls_each_arrive_once(bed: TestBed) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    // It gives way once, so that its calls are tasks of their own.
    let adapter = Scripted::future("counted", move |_| {
        let counted = counted.clone();
        async move {
            tokio::task::yield_now().await;
            counted.fetch_add(1, Ordering::Relaxed);
            delivered()
        }
    });
    let bed = bed.with(|bed| bed.adapter(adapter.permits(PERMITS)));
    bed.channel("sms:default", "counted").await;
    let new: Vec<_> = (0..600).map(|n| bed.message_over("sms:default", &[&format!("+{n}")])).collect();
    let ids: Vec<String> = new.iter().map(|new| new.id.to_string()).collect();
    bed.accept(new).await;
    let running = bed.engine.run();
    delivered_are(&bed, &ids).await;
    assert_eq!(count.load(Ordering::Relaxed), 600);
    running.stop().await;
}

async fn delivered_are(bed: &TestBed, ids: &[String]) {
    for id in ids {
        signal("the delivery", async {
            while bed.notification(id).await.status != NotificationStatus::Delivered {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

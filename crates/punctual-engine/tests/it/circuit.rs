//! Circuits: after failures in a row nothing is sent, one message probes the channel, and its attempts are not counted.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use punctual_model::{SendOutcome, delivery_policy::Breaker};
use punctual_testkit::{TestBed, TestBedBuilder, channel::delivered, on_both, scale};
use serde_json::json;

use crate::arrivals::{Arrivals, receiving_with};

on_both! {
    a_circuit_opens_after_failures_in_a_row_and_one_message_probes with breaker;
    an_open_circuit_is_known_to_every_node with breaker;
    only_one_node_probes_a_half_open_circuit with breaker;
    a_success_between_failures_keeps_a_circuit_closed with breaker;
    rig_outage_a_provider_that_is_down_for_an_hour_costs_time_and_nothing_else with breaker;
}

fn breaker(bed: TestBedBuilder) -> TestBedBuilder {
    bed.config(|config| config.breaker = Breaker::default())
}

/// A provider that can be switched off; every attempt is counted.
fn provider(bed: &TestBed) -> (TestBed, Arrivals, Arc<AtomicBool>, Arc<AtomicUsize>) {
    let (down, attempts) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let (is_down, attempted) = (down.clone(), attempts.clone());
    let (bed, arrivals) = receiving_with(bed, "sms", move |_| {
        attempted.fetch_add(1, Ordering::Relaxed);
        if is_down.load(Ordering::Relaxed) {
            return SendOutcome::Transient { error: "503 down for maintenance".into(), retry_after: None };
        }
        delivered()
    });
    (bed, arrivals, down, attempts)
}

async fn handed_in(bed: &TestBed, count: usize) {
    for chunk in (0..count).collect::<Vec<_>>().chunks(1_000) {
        let new = chunk.iter().map(|n| bed.message_over("sms:default", &[&format!("+{n}")])).collect();
        bed.accept(new).await;
    }
}

async fn a_circuit_opens_after_failures_in_a_row_and_one_message_probes(bed: TestBed) {
    let (bed, arrivals, down, attempts) = provider(&bed);
    bed.channel("sms:default", "sms").await;
    handed_in(&bed, 40).await;
    assert_eq!(bed.engine.delivery_tick(bed.now(), 20).await.unwrap().retrying, 20);
    assert_eq!(bed.engine.next_ready().await.unwrap(), Some(bed.after(30)), "all of them wait");
    // Open for 30 s, 1, 2 and 4 minutes, with one probe after each.
    for (open, attempted) in [(30, 21), (60, 22), (120, 23), (240, 24)] {
        bed.run_for(open - 1).await;
        assert_eq!(attempts.load(Ordering::Relaxed), attempted - 1);
        bed.run_for(1).await;
        assert_eq!(attempts.load(Ordering::Relaxed), attempted);
    }
    let circuit = bed.engine.policy.circuit("sms:default").unwrap();
    assert_eq!((circuit.open_count, circuit.last_error.as_str()), (5, "503 down for maintenance"));
    let spent = bed.notifications().await.iter().filter(|row| row.retry_count > 0).count();
    assert_eq!(spent, 20, "only attempts that were under way were counted");
    down.store(false, Ordering::Relaxed);
    bed.run_for(600).await;
    assert_eq!((arrivals.count(), bed.engine.policy.circuit("sms:default")), (40, None));
    assert!(bed.engine.metrics.encode().contains("channel_circuit_open{channel=\"sms:default\"} 0"));
}

async fn an_open_circuit_is_known_to_every_node(bed: TestBed) {
    let (bed, _, down, attempts) = provider(&bed);
    bed.channel("sms:default", "sms").await;
    handed_in(&bed, 30).await;
    bed.engine.delivery_tick(bed.now(), 15).await.unwrap();
    let other = bed.node("b").await;
    assert_eq!(other.engine.delivery_tick(bed.now(), 15).await.unwrap().claimed, 0);
    assert_eq!(attempts.load(Ordering::Relaxed), 15);
    let mut reader = bed.read().await;
    let state =
        other.engine.channel_state(&mut reader.conn(), "sms:default", &Default::default(), bed.now()).await;
    assert_eq!(state.unwrap().circuit.unwrap().open_until, bed.after(30));
    down.store(false, Ordering::Relaxed);
    drop(reader);
    other.run_for(600).await;
    bed.run_for(1).await;
}

async fn only_one_node_probes_a_half_open_circuit(bed: TestBed) {
    let (bed, _, down, attempts) = provider(&bed);
    bed.channel("sms:default", "sms").await;
    handed_in(&bed, 30).await;
    bed.engine.delivery_tick(bed.now(), 15).await.unwrap();
    let other = bed.node("b").await;
    bed.wait(30);
    let now = bed.now();
    let (one, two) = tokio::join!(bed.engine.delivery_tick(now, 15), other.engine.delivery_tick(now, 15));
    assert_eq!(one.unwrap().claimed + two.unwrap().claimed, 1);
    assert_eq!(attempts.load(Ordering::Relaxed), 16);
    down.store(false, Ordering::Relaxed);
    bed.run_for(600).await;
}

async fn a_success_between_failures_keeps_a_circuit_closed(bed: TestBed) {
    let count = Arc::new(AtomicUsize::new(0));
    let seen = count.clone();
    let (bed, _) = receiving_with(&bed, "sms", move |_| match seen.fetch_add(1, Ordering::Relaxed) % 5 {
        0 => delivered(),
        _ => SendOutcome::Transient { error: "greylisted".into(), retry_after: None },
    });
    bed.channel("sms:default", "sms").await;
    handed_in(&bed, 60).await;
    for _ in 0..6 {
        bed.engine.delivery_tick(bed.now(), 10).await.unwrap();
        assert_eq!(bed.engine.policy.circuit("sms:default"), None);
    }
    bed.leaves_open("most of them are retried");
}

/// A provider is down for an hour with many messages waiting, under a limit; others go on beside it.
async fn rig_outage_a_provider_that_is_down_for_an_hour_costs_time_and_nothing_else(bed: TestBed) {
    let (bed, arrivals, down, attempts) = provider(&bed);
    let (waiting, max) = (scale(1_000, 100_000), scale(100, 5_000));
    bed.channel_with_policy("sms:default", "sms", json!({ "rates": [{ "max": max, "per": "10s" }] })).await;
    handed_in(&bed, waiting).await;
    for minute in 0..60 {
        bed.accept_to(&[&format!("{minute}@example.org")]).await;
        let done = bed.run_for(60).await.done.deliveries;
        assert_eq!(done.delivered, 1, "minute {minute}: the other channel goes on");
    }
    let total = bed.engine.outbox_kpis(None).await.unwrap().total;
    assert!(total.stuck <= 20, "what waits for the channel is not stuck: {total:?}");
    assert!(total.waiting + 20 >= i64::try_from(waiting).unwrap(), "{total:?}");
    let during = attempts.load(Ordering::Relaxed);
    assert!(during <= max + 20, "{during} attempts in an hour");
    assert_eq!(arrivals.count(), 0);
    down.store(false, Ordering::Relaxed);
    let seconds = i64::try_from(waiting / max * 12 + 900).unwrap();
    bed.run_for(seconds).await;
    assert_eq!(arrivals.count(), waiting, "all of them are delivered");
    let most = arrivals.most_within(10);
    assert!(most <= max, "{most} of {max} within a window");
    let mut addresses = arrivals.addresses();
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!(addresses.len(), waiting, "and each once");
    let kpis = bed.engine.outbox_kpis(None).await.unwrap();
    assert_eq!(kpis.total.parked, 0);
}

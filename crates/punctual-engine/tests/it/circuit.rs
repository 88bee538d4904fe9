//! Circuits: after failures in a row nothing is sent, one message probes the channel, and its attempts are not counted.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use punctual_engine::{attention::Kind, delivery_policy::Circuit};
use punctual_model::{NotificationStatus, Reach, SendOutcome};
use punctual_store::delivery_policy::circuits::CircuitKey;
use punctual_testkit::{Scripted, TestBed, channel::delivered, on_both, scale};
use serde_json::json;

use crate::arrivals::{Arrivals, receiving_with};

on_both! {
    a_circuit_opens_after_failures_in_a_row_and_one_message_probes;
    an_open_circuit_is_known_to_every_node;
    only_one_node_probes_a_half_open_circuit;
    a_success_between_failures_keeps_a_circuit_closed;
    a_channel_says_when_its_circuit_opens_or_that_it_never_does;
    a_host_that_fails_holds_back_its_own_targets_alone;
    s4_80_what_waits_for_an_open_circuit_is_stuck_and_needs_attention;
    rig_outage_a_provider_that_is_down_for_an_hour_costs_time_and_nothing_else;
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

fn circuit(bed: &TestBed, channel: &str) -> Option<Circuit> {
    let own = CircuitKey::of_channel(channel);
    bed.engine.policy.circuits().into_iter().find(|(key, _)| *key == own).map(|(_, circuit)| circuit)
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
    let open = circuit(&bed, "sms:default").unwrap();
    assert_eq!((open.open_count, open.last_error.as_str()), (5, "503 down for maintenance"));
    let spent = bed.notifications().await.iter().filter(|row| row.retry_count > 0).count();
    assert_eq!(spent, 20, "only attempts that were under way were counted");
    down.store(false, Ordering::Relaxed);
    bed.run_for(600).await;
    assert_eq!((arrivals.count(), circuit(&bed, "sms:default")), (40, None));
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
        assert_eq!(circuit(&bed, "sms:default"), None);
    }
    bed.leaves_open("most of them are retried");
}

async fn a_channel_says_when_its_circuit_opens_or_that_it_never_does(bed: TestBed) {
    let (bed, _, _, attempts) = provider(&bed);
    let sooner = json!({ "circuit": { "failures": 3, "openFor": "10s", "maxOpenFor": "20s" } });
    bed.channel_with_policy("sms:default", "sms", sooner).await;
    handed_in(&bed, 4).await;
    bed.engine.delivery_tick(bed.now(), 3).await.unwrap();
    assert_eq!(circuit(&bed, "sms:default").unwrap().open_until, bed.after(10));
    for open in [10, 20, 20] {
        let before = attempts.load(Ordering::Relaxed);
        bed.run_for(open - 1).await;
        assert_eq!(attempts.load(Ordering::Relaxed), before, "nothing is sent while it is open");
        bed.run_for(1).await;
        assert_eq!(attempts.load(Ordering::Relaxed), before + 1);
    }
    bed.channel_with_policy("sms:default", "sms", json!({ "circuit": false })).await;
    let before = attempts.load(Ordering::Relaxed);
    bed.run_for(240).await;
    assert!(attempts.load(Ordering::Relaxed) >= before + 4, "all of them are attempted");
    assert!(bed.notifications().await.iter().all(|row| row.status == NotificationStatus::Parked));
}

/// Hosts of one channel: `slow` does not answer, `well` does.
async fn a_host_that_fails_holds_back_its_own_targets_alone(bed: TestBed) {
    let (down, attempts) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let (is_down, attempted) = (down.clone(), attempts.clone());
    let hooks = Scripted::new("hooks", move |message| {
        if message.address.ends_with("@slow") {
            attempted.fetch_add(1, Ordering::Relaxed);
            if is_down.load(Ordering::Relaxed) {
                return SendOutcome::Uncertain { error: "no answer within 15 s".into() };
            }
        }
        delivered()
    });
    let bed = bed.with(|bed| bed.adapter(hooks.by_host()));
    bed.channel("webhook:default", "hooks").await;
    let to_slow: Vec<_> =
        (0..30).map(|n| bed.message_over("webhook:default", &[&format!("{n}@slow")])).collect();
    bed.accept(to_slow).await;
    bed.engine.delivery_tick(bed.now(), 10).await.unwrap();
    assert_eq!(attempts.load(Ordering::Relaxed), 10, "then its circuit opens");
    assert_eq!(circuit(&bed, "webhook:default"), None, "and not that of the channel");
    let mixed = bed.message_over("webhook:default", &["a@well", "b@slow"]);
    bed.accept(vec![mixed.clone(), bed.message_over("webhook:default", &["c@well"])]).await;
    let done = bed.engine.delivery_tick(bed.now(), 100).await.unwrap();
    assert_eq!((done.delivered, attempts.load(Ordering::Relaxed)), (1, 10));
    let row = bed.notification(&mixed.id.to_string()).await;
    assert_eq!((row.ready_at, row.reason_code.as_deref()), (bed.after(30), Some("circuit-open")));
    assert_eq!(row.retry_count, 1, "one of its two targets has it");
    // One target probes; then all of them follow.
    bed.wait(30);
    bed.engine.delivery_tick(bed.now(), 100).await.unwrap();
    assert_eq!(attempts.load(Ordering::Relaxed), 11);
    let state = bed.engine.attention(&Reach::Everything, 10).await.unwrap();
    let circuits: Vec<_> = state.items.iter().filter(|item| item.kind == Kind::Circuit).collect();
    assert_eq!((circuits.len(), circuits[0].title.as_str()), (1, "slow over webhook:default"));
    assert!(
        circuits[0].reason.contains("2 times in a row")
            && circuits[0].reason.ends_with("no answer within 15 s")
    );
    down.store(false, Ordering::Relaxed);
    bed.run_for(1_200).await;
    let open =
        bed.notifications().await.into_iter().filter(|row| row.status != NotificationStatus::Delivered);
    assert_eq!(open.count(), 0);
    assert!(bed.engine.attention(&Reach::Everything, 10).await.unwrap().items.is_empty());
}

async fn s4_80_what_waits_for_an_open_circuit_is_stuck_and_needs_attention(bed: TestBed) {
    let (bed, _, _, _) = provider(&bed);
    bed.channel("sms:default", "sms").await;
    handed_in(&bed, 30).await;
    bed.run_for(80 * 60).await;
    let total = bed.engine.outbox_kpis(None).await.unwrap().total;
    assert_eq!((total.stuck + total.parked, total.waiting), (30, 0), "{total:?}");
    assert!(total.stuck >= 10, "{total:?}");
    let held = bed.engine.blocked_channels().await.unwrap();
    let rows = bed.notifications().await;
    let stuck = rows.iter().filter(|row| held.is_stuck(*row)).count();
    assert_eq!(i64::try_from(stuck).unwrap(), total.stuck, "one row and all of them say the same");
    let needs = bed.engine.attention(&Reach::Everything, 50).await.unwrap();
    let circuit = needs.items.iter().find(|item| item.kind == Kind::Circuit).unwrap();
    assert_eq!((circuit.title.as_str(), circuit.link.as_str()), ("sms:default", "/channels"));
    assert!(needs.counts.contains(&(Kind::Circuit, 1)));
    let limited = bed.engine.attention(&Reach::limited_to(Some(vec!["nz".to_owned()])), 50).await.unwrap();
    assert!(limited.items.iter().all(|item| item.kind != Kind::Circuit));
    bed.leaves_open("the provider is down");
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
    assert!(
        total.stuck + 20 >= i64::try_from(waiting).unwrap(),
        "what waits for a broken channel is stuck: {total:?}"
    );
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

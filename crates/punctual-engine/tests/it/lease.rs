//! Leases that run out: at once, then the ladder, then a person (S0.44 to S0.46).

use punctual_engine::SweepReport;
use punctual_model::{AttemptOutcome, Decision, RetryPolicy};
use punctual_store::{notifications, work};
use punctual_testkit::{TestBed, TestBedBuilder, TestWorkflow, new_work, on_both};
use serde_json::json;

on_both! {
    an_expired_lease_is_ready_at_once_and_then_climbs_the_ladder with daily_too;
    a_long_running_kind_that_is_approved_for_it_goes_on_daily with daily_too;
    r10_a_row_that_kills_its_worker_is_held_after_so_many_claims with daily_too;
    a_lease_that_has_not_run_out_is_left_alone with daily_too;
    a_sweep_takes_all_of_many_in_bounded_passes with daily_too;
    an_expired_send_is_uncertain_and_retried;
    a_send_that_never_ends_well_is_parked_in_the_end;
    at_most_once_parks_what_is_uncertain;
    leases_left_by_a_crash_are_released_at_start_up_where_one_process_owns_the_file;
}

fn daily_too(bed: TestBedBuilder) -> TestBedBuilder {
    let done = |_: &punctual_engine::Claimed, _| Decision::Deliver(Vec::new());
    bed.workflow(TestWorkflow::new("test", done))
        .workflow(TestWorkflow::new("daily", done).policy(RetryPolicy::Daily))
}

/// A worker that claims and dies.
async fn claim_and_die(bed: &TestBed, kind: &str) -> usize {
    let mut tx = bed.begin().await;
    let claimed = work::claim(&mut tx, kind, bed.now(), bed.after(60), 1000).await.unwrap();
    tx.commit().await.unwrap();
    claimed.len()
}

async fn expiries(bed: &TestBed, kind: &str, waits: &[i64]) {
    bed.ensure_one(new_work(if kind == "test" { "test" } else { "daily" }, "k:1", bed.now())).await;
    for (n, wait) in waits.iter().enumerate() {
        assert_eq!(claim_and_die(bed, kind).await, 1, "expiry {n}");
        bed.wait(60);
        assert_eq!(bed.engine.sweep_tick(bed.now()).await.unwrap().work, 1);
        let row = bed.work("k:1").await;
        assert_eq!((row.status.as_str(), row.on_hold), ("pending", false));
        assert_eq!(row.retry_count, n as i64 + 1, "an expired lease counts");
        assert_eq!(row.ready_at, bed.after(*wait), "expiry {n}");
        if *wait > 0 {
            bed.wait(wait - 1);
            assert_eq!(claim_and_die(bed, kind).await, 0, "not a second too soon");
            bed.wait(1);
        }
    }
}

async fn an_expired_lease_is_ready_at_once_and_then_climbs_the_ladder(bed: TestBed) {
    expiries(&bed, "test", &[0, 300, 900, 3600]).await;
    claim_and_die(&bed, "test").await;
    bed.wait(60);
    let swept = bed.engine.sweep_tick(bed.now()).await.unwrap();
    assert_eq!((swept.work, swept.held), (1, 1));
    let row = bed.work("k:1").await;
    assert_eq!((row.on_hold, row.reason_code.as_deref()), (true, Some("lease-expired")));
    assert_eq!(bed.audit("work", &row.id.to_string()).await, ["hold:lease-expired"]);
}

async fn a_long_running_kind_that_is_approved_for_it_goes_on_daily(bed: TestBed) {
    expiries(&bed, "daily", &[0, 300, 900, 3600, 86_400, 86_400, 86_400]).await;
    bed.tick().await;
    assert_eq!(bed.work("k:1").await.status.as_str(), "completed");
}

async fn r10_a_row_that_kills_its_worker_is_held_after_so_many_claims(bed: TestBed) {
    bed.ensure_one(new_work("test", "k:1", bed.now())).await;
    let mut claims = 0;
    for _ in 0..20 {
        claims += claim_and_die(&bed, "test").await;
        bed.wait(7200);
        bed.engine.sweep_tick(bed.now()).await.unwrap();
    }
    assert_eq!(claims, 5);
    assert!(bed.work("k:1").await.on_hold);
}

async fn a_lease_that_has_not_run_out_is_left_alone(bed: TestBed) {
    bed.ensure_one(new_work("test", "k:1", bed.now())).await;
    claim_and_die(&bed, "test").await;
    bed.wait(59);
    assert_eq!(bed.engine.sweep_tick(bed.now()).await.unwrap(), SweepReport::default());
    bed.wait(1);
    assert_eq!(bed.tick().await.due.completed, 1);
}

async fn a_sweep_takes_all_of_many_in_bounded_passes(bed: TestBed) {
    let rows: Vec<_> = (0..1200).map(|n| new_work("test", &format!("k:{n}"), bed.now())).collect();
    bed.ensure(&rows).await;
    assert_eq!(claim_and_die(&bed, "test").await + claim_and_die(&bed, "test").await, 1200);
    bed.wait(60);
    let mut passes = Vec::new();
    loop {
        match bed.engine.sweep_tick(bed.now()).await.unwrap().work {
            0 => break,
            swept => passes.push(swept),
        }
    }
    assert_eq!(passes, [500, 500, 200]);
    assert_eq!(bed.tick().await.due.completed, 1200);
}

/// A node that claims a send, writes its intent and dies.
async fn send_and_die(bed: &TestBed, channel: &str) -> usize {
    let mut tx = bed.begin().await;
    let claimed = notifications::claim(&mut tx, channel, bed.now(), bed.after(60), 100).await.unwrap();
    let intents: Vec<_> = claimed
        .iter()
        .map(|row| punctual_store::attempts::Intent {
            seq: row.seq,
            target: "a@example.org".into(),
            n: row.attempts,
            channel: channel.into(),
        })
        .collect();
    punctual_store::attempts::intend(&mut tx.conn(), bed.now(), "dead", &intents).await.unwrap();
    tx.commit().await.unwrap();
    claimed.len()
}

async fn an_expired_send_is_uncertain_and_retried(bed: TestBed) {
    let id = bed.accept_one(bed.message("a@example.org")).await;
    assert_eq!(send_and_die(&bed, "memory:default").await, 1);
    assert_eq!(bed.tick().await.deliveries.claimed, 0, "its lease keeps others away");
    bed.wait(60);
    let swept = bed.engine.sweep_tick(bed.now()).await.unwrap();
    assert_eq!((swept.notifications, swept.uncertain, swept.parked), (1, 1, 0));
    let row = bed.notification(&id).await;
    assert_eq!((row.status.as_str(), row.uncertain, row.retry_count), ("retrying", 1, 1));
    assert_eq!(bed.audit("notification", &id).await, ["uncertain:outcome-unknown"]);
    assert_eq!(bed.tick().await.deliveries.delivered, 1, "the first time at once");
    let outcomes: Vec<_> =
        bed.attempts(&id).await.into_iter().map(|try_| (try_.n, try_.outcome.unwrap())).collect();
    assert_eq!(outcomes, [(1, AttemptOutcome::Uncertain), (2, AttemptOutcome::Delivered)]);
    let kpis = bed.engine.outbox_kpis(None).await.unwrap().total;
    assert_eq!(kpis.uncertain, 1);
}

async fn a_send_that_never_ends_well_is_parked_in_the_end(bed: TestBed) {
    bed.channel_with("memory:fragile", "memory", json!({ "max": 2, "intervalSeconds": 60 }), false).await;
    let id = bed.accept_one(bed.message_over("memory:fragile", &["a@example.org"])).await;
    let mut sends = 0;
    for _ in 0..10 {
        sends += send_and_die(&bed, "memory:fragile").await;
        bed.wait(3600);
        bed.engine.sweep_tick(bed.now()).await.unwrap();
    }
    let row = bed.notification(&id).await;
    assert_eq!((sends, row.status.as_str(), row.uncertain), (3, "parked", 3));
    assert_eq!(bed.sent().len(), 0);
}

async fn at_most_once_parks_what_is_uncertain(bed: TestBed) {
    bed.channel_with("memory:once", "memory", json!({ "max": 3, "intervalSeconds": 60 }), true).await;
    let id = bed.accept_one(bed.message_over("memory:once", &["a@example.org"])).await;
    assert_eq!(send_and_die(&bed, "memory:once").await, 1);
    bed.wait(60);
    assert_eq!(bed.engine.sweep_tick(bed.now()).await.unwrap().parked, 1);
    let row = bed.notification(&id).await;
    assert_eq!((row.status.as_str(), row.reason_code.as_deref()), ("parked", Some("uncertain")));
    // The same where the channel itself says that it does not know.
    let lost = punctual_channels::Misbehaviour::LostReply;
    bed.captured.misbehave("memory:once".parse().unwrap(), lost, 1, "no answer");
    let id = bed.accept_one(bed.message_over("memory:once", &["b@example.org"])).await;
    assert_eq!(bed.tick().await.deliveries.parked, 1);
    let row = bed.notification(&id).await;
    assert_eq!(
        (row.status.as_str(), row.reason_code.as_deref(), row.uncertain),
        ("parked", Some("uncertain"), 1)
    );
    assert_eq!(bed.run_for(86_400).await.done.deliveries.claimed, 0, "never repeated by itself");
    assert_eq!(bed.sent_to(), ["b@example.org"]);
}

async fn leases_left_by_a_crash_are_released_at_start_up_where_one_process_owns_the_file(bed: TestBed) {
    bed.ensure_one(new_work("schedule", "schedule:1", bed.now())).await;
    bed.accept_one(bed.message("a@example.org")).await;
    claim_and_die(&bed, "schedule").await;
    send_and_die(&bed, "memory:default").await;
    bed.wait(1);
    bed.engine.release_leases(bed.now()).await.unwrap();
    let report = bed.tick().await;
    if bed.store.is_single_process() {
        assert_eq!((report.due.claimed, report.deliveries.delivered), (1, 1));
    } else {
        assert_eq!((report.due.claimed, report.deliveries.claimed), (0, 0), "another node may hold them");
        bed.wait(60);
        assert_eq!(bed.tick().await.deliveries.delivered, 1);
    }
    // A schedule without topic and payload cannot be read, so it is held.
    assert!(bed.work("schedule:1").await.on_hold);
}

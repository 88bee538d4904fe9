//! R11: the duplicate window is bounded, marked, and harmless to a receiver that looks at the id.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use jiff::SignedDuration;
use punctual_model::{AttemptOutcome, Clock, SendOutcome};
use punctual_store::attempts;
use punctual_testkit::{
    Database, Gated, Scripted, Seeded, TestBed, TestBedBuilder, channel::delivered, history::Receiver,
    on_both, run, scale, signal,
};
use serde_json::json;

on_both! {
    r11_lost_replies_double_exactly_what_they_must_and_every_one_is_marked;
    r11_a_store_that_executes_and_reports_failure_doubles_nothing_unmarked;
    r11_a_sender_that_dies_doubles_exactly_what_was_in_flight;
    r11_a_message_to_many_repeats_only_the_calls_under_way;
    r11_a_planned_stop_in_the_middle_of_a_message_to_many_repeats_nothing;
    r08_a_stalled_node_starts_no_call_after_its_lease_and_its_answers_are_kept;
    r08_a_call_that_was_chosen_in_time_and_starts_too_late_is_not_made;
    r11_answers_are_kept_over_an_outage_of_the_database with |bed| bed.wall_clock();
}

const CHANNEL: &str = "lossy:default";

/// A receiver that takes everything and loses the reply of so many in ten thousand.
fn lossy(bed: &TestBed, per_ten_thousand: u64) -> (TestBed, Arc<Receiver>, Arc<AtomicUsize>) {
    let (received, injected) = (Arc::new(Receiver::default()), Arc::new(AtomicUsize::new(0)));
    let random = Mutex::new(Seeded::new(11));
    let (log, lost) = (received.clone(), injected.clone());
    let adapter = Scripted::new("lossy", move |message| {
        log.log(&message);
        if random.lock().unwrap().below(10_000) < per_ten_thousand {
            lost.fetch_add(1, Ordering::Relaxed);
            return SendOutcome::Uncertain { error: "the reply was lost".into() };
        }
        delivered()
    });
    (bed.with(|bed| bed.adapter(adapter.permits(256))), received, injected)
}

async fn hand_in(bed: &TestBed, count: usize) -> Vec<String> {
    // Enough attempts that random failures alone never uses them up.
    bed.channel_with(CHANNEL, "lossy", json!({ "max": 20, "intervalSeconds": 60 }), false).await;
    let mut ids = Vec::with_capacity(count);
    for _ in 0..count.div_ceil(500) {
        let new: Vec<_> = (0..500).map(|_| bed.message_over(CHANNEL, &["a@example.org"])).collect();
        ids.extend(new.iter().map(|new| new.id.to_string()));
        bed.accept(new).await;
    }
    ids
}

async fn uncertain_marks(bed: &TestBed) -> usize {
    let filter =
        punctual_store::notifications::NotificationFilter { limit: 10_000_000, ..Default::default() };
    let mut reader = bed.read().await;
    let rows =
        punctual_store::notifications::list(&mut reader.conn(), &punctual_model::Reach::Everything, &filter)
            .await
            .unwrap();
    assert!(rows.iter().all(|row| row.status.as_str() == "delivered"));
    rows.iter().map(|row| row.uncertain as usize).sum()
}

fn sends(database: Database) -> usize {
    match database {
        Database::Sqlite => scale(12_000, 1_000_000),
        Database::Postgres => scale(8_000, 1_000_000),
    }
}

async fn r11_lost_replies_double_exactly_what_they_must_and_every_one_is_marked(bed: TestBed) {
    let (bed, received, injected) = lossy(&bed, 100);
    let ids = hand_in(&bed, sends(bed.database())).await;
    bed.tick().await;
    bed.run_for(86_400).await;
    let verdict = received.check(ids.iter().map(|id| (id.as_str(), "a@example.org")));
    let injected = injected.load(Ordering::Relaxed);
    println!("{injected} replies lost: {verdict:?}");
    assert!(injected > 50, "a run that injected nothing proves nothing");
    assert_eq!(verdict.lost, 0);
    assert_eq!(verdict.duplicates, injected);
    assert_eq!(verdict.duplicates_after_id_check, 0);
    assert_eq!(verdict.repeated_attempts, 0, "the intent of each send was written before it");
    assert_eq!(uncertain_marks(&bed).await, injected);
    assert_eq!(bed.engine.outbox_kpis(None).await.unwrap().total.uncertain > 0, injected > 0);
}

/// Faults at every statement between the provider's yes and the recorded result.
async fn r11_a_store_that_executes_and_reports_failure_doubles_nothing_unmarked(bed: TestBed) {
    let (bed, received, _) = lossy(&bed, 0);
    let ids = hand_in(&bed, sends(bed.database()) / 4).await;
    let statements =
        ["attempts.record", "notifications.settle", "commit", "notifications.claim", "attempts.intend"];
    let random = Seeded::new(7);
    let mut faults = 0;
    for round in 0..10_000 {
        if round < 40 {
            let statement = statements[random.below(5) as usize];
            bed.faults.fail(statement, random.below(3) > 0, 1 + random.below(2));
            faults += 1;
        }
        // A pass that fails is retried later, as the loop does.
        let _ = bed.engine.pass(bed.now(), 100).await;
        bed.wait(if round < 40 { 1 } else { 61 });
        if round > 40 && bed.engine.next_ready().await.unwrap().is_none() {
            break;
        }
    }
    bed.wait(3600);
    bed.tick().await;
    bed.run_for(86_400).await;
    let verdict = received.check(ids.iter().map(|id| (id.as_str(), "a@example.org")));
    let marks = uncertain_marks(&bed).await;
    println!("{faults} faults, {marks} marked uncertain: {verdict:?}");
    assert_eq!(faults, 40);
    assert_eq!(verdict.lost, 0);
    assert_eq!((verdict.duplicates_after_id_check, verdict.repeated_attempts), (0, 0));
    assert!(verdict.duplicates <= marks, "{} were sent twice and {marks} marked", verdict.duplicates);
}

/// The sender is gone between the provider's yes and its own record: what was in flight, and only that, is sent twice.
async fn r11_a_sender_that_dies_doubles_exactly_what_was_in_flight(bed: TestBed) {
    let (received, in_flight) = (Arc::new(Receiver::default()), Arc::new(AtomicUsize::new(0)));
    let dies = Arc::new(tokio::sync::Semaphore::new(0));
    let (log, flying, reached, random) = (received.clone(), in_flight.clone(), dies.clone(), Seeded::new(3));
    let adapter = Scripted::future("lossy", move |message| {
        log.log(&message);
        let stalls = message.attempt == 1 && random.below(20) == 0;
        if stalls {
            flying.fetch_add(1, Ordering::SeqCst);
            reached.add_permits(1);
        }
        async move {
            if stalls {
                std::future::pending::<()>().await;
            }
            delivered()
        }
    });
    let bed = bed.with(|bed| bed.adapter(adapter.permits(8).timeout(std::time::Duration::from_secs(60))));
    let ids = hand_in(&bed, scale(1_000, 20_000)).await;
    let mut deaths = 0;
    while bed.engine.next_ready().await.unwrap().is_some_and(|next| next <= bed.now()) {
        let (engine, now) = (bed.engine.clone(), bed.now());
        let sending = tokio::spawn(async move { engine.delivery_tick(now, 50).await.map(drop) });
        let ended = tokio::select! {
            stalled = dies.acquire() => {
                stalled.unwrap().forget();
                deaths += 1;
                sending.abort();
                sending.await.is_ok()
            }
            () = async { while !sending.is_finished() { tokio::task::yield_now().await } } => true,
        };
        if !ended {
            bed.wait(300);
            bed.engine.sweep_tick(bed.now()).await.unwrap();
        }
    }
    bed.wait(300);
    bed.tick().await;
    bed.run_for(86_400).await;
    let verdict = received.check(ids.iter().map(|id| (id.as_str(), "a@example.org")));
    assert!(deaths > 10, "{deaths} deaths prove little");
    assert!(in_flight.load(Ordering::SeqCst) >= deaths);
    assert_eq!(verdict.lost, 0);
    assert_eq!((verdict.duplicates_after_id_check, verdict.repeated_attempts), (0, 0));
    let marks = uncertain_marks(&bed).await;
    println!(
        "{deaths} deaths, {} in flight, {marks} marked uncertain: {verdict:?}",
        in_flight.load(Ordering::SeqCst)
    );
    assert!(verdict.duplicates <= marks, "{} were sent twice and {marks} marked", verdict.duplicates);
    assert!(verdict.duplicates >= deaths);
}

/// A receiver that takes everything, and stalls with the message that comes after so many others.
fn stalling(permits: usize, stalls_after: usize) -> (Scripted, Arc<Receiver>, Arc<tokio::sync::Semaphore>) {
    let (received, stalled) = (Arc::new(Receiver::default()), Arc::new(tokio::sync::Semaphore::new(0)));
    let (log, reached, calls) = (received.clone(), stalled.clone(), Arc::new(AtomicUsize::new(0)));
    let adapter = Scripted::future("lossy", move |message| {
        log.log(&message);
        let stalls = message.attempt == 1 && calls.fetch_add(1, Ordering::SeqCst) >= stalls_after;
        if stalls {
            reached.add_permits(1);
        }
        async move {
            if stalls {
                std::future::pending::<()>().await;
            }
            delivered()
        }
    });
    (adapter.permits(permits).timeout(std::time::Duration::from_secs(60)), received, stalled)
}

async fn to_many(bed: &TestBed, count: usize) -> (String, Vec<String>) {
    bed.channel_with(CHANNEL, "lossy", json!({ "max": 20, "intervalSeconds": 60 }), false).await;
    let targets: Vec<String> = (0..count).map(|n| format!("{n}@example.org")).collect();
    let named: Vec<&str> = targets.iter().map(String::as_str).collect();
    let id = bed.accept_one(bed.message_over(CHANNEL, &named)).await;
    (id, targets)
}

/// The sender of a message to many is gone in the middle: only calls that were under way are repeated, each is marked.
async fn r11_a_message_to_many_repeats_only_the_calls_under_way(bed: TestBed) {
    // One of the channel's permits is kept for urgent messages.
    const PERMITS: usize = 7;
    let (adapter, received, stalled) = stalling(PERMITS + 1, 96);
    let bed = bed.with(|bed| bed.adapter(adapter));
    let (id, targets) = to_many(&bed, 200).await;
    let (engine, now) = (bed.engine.clone(), bed.now());
    let sending = tokio::spawn(async move { engine.delivery_tick(now, 50).await.map(drop) });
    // All permits are with calls that never end; every answer before them is recorded.
    signal("the stalled calls", stalled.acquire_many(PERMITS as u32)).await.unwrap().forget();
    signal("the recorded answers", async {
        while bed.attempts(&id).await.iter().filter(|one| one.outcome.is_some()).count() < 96 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    sending.abort();
    assert!(sending.await.is_err());
    let open = bed.attempts(&id).await.iter().filter(|one| one.outcome.is_none()).count();
    assert_eq!(open, PERMITS, "an intent means that its call is about to start");
    bed.wait(300);
    let swept = bed.engine.sweep_tick(bed.now()).await.unwrap();
    assert_eq!((swept.notifications, swept.uncertain), (1, PERMITS));
    bed.tick().await;
    bed.run_for(86_400).await;
    let row = bed.notification(&id).await;
    assert_eq!((row.status.as_str(), row.uncertain), ("delivered", PERMITS as i64), "it counts targets");
    let verdict = received.check(targets.iter().map(|target| (id.as_str(), target.as_str())));
    assert_eq!((verdict.lost, verdict.duplicates), (0, PERMITS));
    assert_eq!((verdict.duplicates_after_id_check, verdict.repeated_attempts), (0, 0));
}

/// A planned stop in the middle: nothing is repeated, and what was not called is sent by whoever comes next.
async fn r11_a_planned_stop_in_the_middle_of_a_message_to_many_repeats_nothing(bed: TestBed) {
    let (gate, adapter) = Gated::new("lossy");
    let bed = bed.with(|bed| bed.adapter(adapter.permits(8)));
    let running = bed.engine.run();
    let (id, targets) = to_many(&bed, 100).await;
    let mut called = Vec::new();
    for _ in 0..7 {
        called.push(gate.arrived().await.address);
    }
    let stopping = tokio::spawn(running.stop());
    // The stop is asked for; what is under way ends, and nothing else begins.
    signal("the stop", async {
        while bed.engine.is_running() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    gate.let_go(1_000);
    signal("the end", stopping).await.unwrap();
    assert!(gate.nobody_else_arrived().await, "no call starts after a stop was asked for");
    let row = bed.notification(&id).await;
    assert_eq!((row.status.as_str(), row.uncertain, row.lease_expires_at), ("pending", 0, None));
    assert_eq!(bed.attempts(&id).await.len(), 7);
    let next = bed.node("b").await;
    next.tick().await;
    for _ in 0..93 {
        called.push(gate.arrived().await.address);
    }
    assert!(gate.nobody_else_arrived().await);
    called.sort_unstable();
    let mut targets = targets;
    targets.sort_unstable();
    assert_eq!(called, targets, "each once");
    assert_eq!(bed.notification(&id).await.status.as_str(), "delivered");
}

/// A node that stands still for longer than its lease starts no call afterwards, and its late answers are kept.
async fn r08_a_stalled_node_starts_no_call_after_its_lease_and_its_answers_are_kept(bed: TestBed) {
    let (gate, adapter) = Gated::new("lossy");
    let bed = bed.with(|bed| bed.adapter(adapter.permits(4)));
    let (id, _) = to_many(&bed, 12).await;
    // A future that nobody polls stands still as a stopped process does.
    let mut stalled = bed.engine.delivery_tick(bed.now(), 50);
    for _ in 0..4 {
        tokio::select! {
            _ = &mut stalled => panic!("it waits at the gate"),
            _ = gate.arrived() => {}
        }
    }
    // Longer than any lease: another node takes the message over and finishes it.
    bed.wait(3600);
    let other = bed.node("b").await;
    other.engine.sweep_tick(bed.now()).await.unwrap();
    gate.let_go(1_000);
    other.tick().await;
    let report = signal("the stalled node", stalled).await.unwrap();
    assert_eq!(report.lost, 1, "{report:?}");
    let mut calls = 0;
    while !gate.nobody_else_arrived().await {
        calls += 1;
    }
    assert_eq!(calls, 12, "those of the other node, and none after the stall");
    let row = bed.notification(&id).await;
    assert_eq!((row.status.as_str(), row.uncertain), ("delivered", 4));
    let audit = bed.audit("notification", &id).await;
    assert!(audit.iter().any(|entry| entry.starts_with("late-result")), "{audit:?}");
    let late = bed.attempts(&id).await.into_iter().filter(|one| one.node == "a");
    assert!(
        late.into_iter().all(|one| one.outcome.map(AttemptOutcome::as_str) == Some("delivered")),
        "the late answers are the truth"
    );
}

/// The lease is checked by each call in the moment it starts: those of a window are chosen together and start one after the other.
async fn r08_a_call_that_was_chosen_in_time_and_starts_too_late_is_not_made(bed: TestBed) {
    let (clock, called) = (bed.clock.clone(), Arc::new(Mutex::new(Vec::new())));
    let log = called.clone();
    let adapter = Scripted::new("lossy", move |message| {
        let mut log = log.lock().unwrap();
        log.push(message.address);
        // While it makes the third call, the process is stopped for longer than any lease.
        if log.len() == 3 {
            clock.set(clock.now() + SignedDuration::from_hours(1));
        }
        delivered()
    });
    let bed = bed.with(|bed| bed.adapter(adapter.permits(8)));
    let (id, mut targets) = to_many(&bed, 12).await;
    bed.engine.delivery_tick(bed.now(), 50).await.unwrap();
    assert_eq!(called.lock().unwrap().len(), 3, "eight calls were chosen");
    let open = bed.attempts(&id).await.into_iter().filter(|one| one.outcome.is_none()).count();
    assert_eq!(open, 0, "what was not called leaves no intent");
    bed.engine.sweep_tick(bed.now()).await.unwrap();
    bed.tick().await;
    let mut called = called.lock().unwrap().clone();
    called.sort_unstable();
    targets.sort_unstable();
    assert_eq!(called, targets, "each once");
    let row = bed.notification(&id).await;
    assert_eq!((row.status.as_str(), row.uncertain), ("delivered", 0));
}

/// On SQLite alone: there the next commit is known to be that of the intent. It is not acknowledged, and what follows takes
/// longer than a lease. The claim is renewed all the while, so that nobody else takes the message, and the call is
/// intended anew.
#[test]
fn r08_an_intent_is_good_for_one_lease_however_often_the_claim_is_renewed() {
    run(TestBedBuilder::new(Database::Sqlite), an_old_intent);
}

async fn an_old_intent(bed: TestBed) {
    let (gate, adapter) = Gated::new("lossy");
    let bed = bed.with(|bed| bed.adapter(adapter.permits(4)));
    let running = bed.engine.run();
    let (id, targets) = to_many(&bed, 6).await;
    let mut calls = Vec::new();
    for _ in 0..3 {
        calls.push(gate.arrived().await);
    }
    let leased_until = async || bed.notification(&id).await.lease_expires_at.unwrap().as_microsecond();
    let lease = leased_until().await - bed.now().as_microsecond();
    // Waits until the last renewal is no older than this.
    let renewed = async |age: i64| {
        signal("a renewal", async {
            while bed.now().as_microsecond() + lease - leased_until().await > age {
                tokio::task::yield_now().await;
            }
        })
        .await;
    };
    // With the answer of the first call the intent of the fourth is committed, and the commit seems to have failed. What
    // looks for it then fails until the end of the outage.
    bed.wait(1);
    bed.faults.fail("commit", true, 1);
    bed.faults.fail_every("attempts.of", false, 1);
    gate.let_go(1);
    // Read by a statement that does not fail meanwhile.
    let seq = bed.notification(&id).await.seq;
    let intents = async || {
        let mut reader = bed.engine.store.read().await.unwrap();
        attempts::latest(&mut reader.conn(), vec![seq], 10).await.unwrap().len()
    };
    signal("the fourth intent", async {
        while intents().await < 4 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    for _ in 0..=lease / 5_000_000 {
        bed.wait(5);
        renewed(30_000_000).await;
    }
    bed.faults.heal();
    gate.let_go(100);
    bed.wait(5);
    signal("the delivery", async {
        while bed.notification(&id).await.status.as_str() != "delivered" {
            tokio::task::yield_now().await;
        }
    })
    .await;
    running.stop().await;
    for _ in 3..targets.len() {
        calls.push(gate.arrived().await);
    }
    assert!(gate.nobody_else_arrived().await, "each once");
    let attempts = bed.attempts(&id).await;
    for call in calls {
        let started_at = call.at.as_microsecond();
        let own = attempts.iter().filter(|one| one.target == call.address).map(|one| one.started_at);
        let age = own
            .map(|intended_at| started_at - intended_at.as_microsecond())
            .filter(|age| *age >= 0)
            .min()
            .unwrap();
        assert!(age < lease, "{} was called {age} µs after its intent", call.address);
    }
}

/// Answers that cannot be written for a while are written in the end, and nothing is sent again.
async fn r11_answers_are_kept_over_an_outage_of_the_database(bed: TestBed) {
    let (adapter, received, _) = stalling(8, usize::MAX);
    let bed = bed.with(|bed| bed.adapter(adapter));
    let running = bed.engine.run();
    // Twice at once, and twice more after a pause.
    bed.faults.fail("attempts.record", false, 4);
    let (id, targets) = to_many(&bed, 30).await;
    signal("the delivery", async {
        while bed.notification(&id).await.status.as_str() != "delivered" {
            tokio::task::yield_now().await;
        }
    })
    .await;
    running.stop().await;
    let verdict = received.check(targets.iter().map(|target| (id.as_str(), target.as_str())));
    assert_eq!((verdict.lost, verdict.duplicates), (0, 0));
    assert_eq!(bed.notification(&id).await.uncertain, 0);
}

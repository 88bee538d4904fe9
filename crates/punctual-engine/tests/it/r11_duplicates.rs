//! R11: the duplicate window is bounded, marked, and harmless to a receiver that looks at the id.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use punctual_model::SendOutcome;
use punctual_testkit::{
    Bed, Database, Scripted, Seeded, channel::delivered, history::Receiver, on_both, scale,
};
use serde_json::json;

on_both! {
    r11_lost_replies_double_exactly_what_they_must_and_every_one_is_marked;
    r11_a_store_that_executes_and_reports_failure_doubles_nothing_unmarked;
    r11_a_sender_that_dies_doubles_exactly_what_was_in_flight;
}

const CHANNEL: &str = "lossy:default";

/// A receiver that takes everything and loses the reply of so many in ten thousand.
fn lossy(bed: &Bed, per_ten_thousand: u64) -> (Bed, Arc<Receiver>, Arc<AtomicUsize>) {
    let (received, injected) = (Arc::new(Receiver::default()), Arc::new(AtomicUsize::new(0)));
    let chance = Mutex::new(Seeded::new(11));
    let (log, lost) = (received.clone(), injected.clone());
    let adapter = Scripted::new("lossy", move |message| {
        log.log(&message);
        if chance.lock().unwrap().below(10_000) < per_ten_thousand {
            lost.fetch_add(1, Ordering::Relaxed);
            return SendOutcome::Uncertain { error: "the reply was lost".into() };
        }
        delivered()
    });
    (bed.with(|bed| bed.adapter(adapter.permits(256))), received, injected)
}

async fn hand_in(bed: &Bed, count: usize) -> Vec<String> {
    // Enough tries that chance alone never uses them up.
    bed.channel_with(CHANNEL, "lossy", json!({ "max": 20, "intervalSeconds": 60 }), false).await;
    let mut ids = Vec::with_capacity(count);
    for _ in 0..count.div_ceil(500) {
        let new: Vec<_> = (0..500).map(|_| bed.message_over(CHANNEL, &["a@example.org"])).collect();
        ids.extend(new.iter().map(|new| new.id.to_string()));
        bed.accept(new).await;
    }
    ids
}

async fn uncertain_marks(bed: &Bed) -> usize {
    let filter =
        punctual_store::notifications::NotificationFilter { limit: 10_000_000, ..Default::default() };
    let mut reader = bed.read().await;
    let rows = punctual_store::notifications::list(&mut reader.conn(), &filter).await.unwrap();
    assert!(rows.iter().all(|row| row.status == "delivered"));
    rows.iter().map(|row| row.uncertain as usize).sum()
}

fn sends(database: Database) -> usize {
    match database {
        Database::Sqlite => scale(12_000, 1_000_000),
        Database::Postgres => scale(8_000, 1_000_000),
    }
}

async fn r11_lost_replies_double_exactly_what_they_must_and_every_one_is_marked(bed: Bed) {
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
async fn r11_a_store_that_executes_and_reports_failure_doubles_nothing_unmarked(bed: Bed) {
    let (bed, received, _) = lossy(&bed, 0);
    let ids = hand_in(&bed, sends(bed.database()) / 4).await;
    let statements =
        ["attempts.record", "notifications.settle", "commit", "notifications.claim", "attempts.intend"];
    let chance = Seeded::new(7);
    let mut faults = 0;
    for round in 0..10_000 {
        if round < 40 {
            let statement = statements[chance.below(5) as usize];
            bed.faults.fail(statement, chance.below(3) > 0, 1 + chance.below(2));
            faults += 1;
        }
        // A pass that fails is tried again later, as the loop does.
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

/// The sender is gone between the provider's yes and its own record: what was in flight, and only that, goes out twice.
async fn r11_a_sender_that_dies_doubles_exactly_what_was_in_flight(bed: Bed) {
    let (received, in_flight) = (Arc::new(Receiver::default()), Arc::new(AtomicUsize::new(0)));
    let dies = Arc::new(tokio::sync::Semaphore::new(0));
    let (log, flying, reached, chance) = (received.clone(), in_flight.clone(), dies.clone(), Seeded::new(3));
    let adapter = Scripted::future("lossy", move |message| {
        log.log(&message);
        let stalls = message.attempt == 1 && chance.below(20) == 0;
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

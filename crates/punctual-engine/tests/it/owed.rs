//! What a workflow wants done about a settled message, and cannot be done with it, is owed and done by the sweep.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use punctual_channels::Misbehaviour;
use punctual_engine::{
    Actor,
    attention::Kind,
    restored::{AfterRestore, mark_restored},
};
use punctual_model::{Effect, Reach};
use punctual_testkit::{TestBed, TestWorkflow, new_work, on_both};

use crate::settled::following;

on_both! {
    what_the_database_refuses_is_owed_over_a_restart_and_done_when_it_can_be;
    what_keeps_failing_needs_attention_and_its_pauses_grow;
    a_workflow_that_panicked_is_asked_again;
    two_nodes_do_what_is_owed_once;
    a_message_that_cannot_be_prepared_is_parked_and_its_workflow_is_called_later;
    a_message_that_a_person_has_sent_again_is_reported_as_it_is_then;
    r03_what_was_owed_at_a_restore_waits_for_a_person;
    an_unknown_status_is_the_fault_of_its_row_alone;
}

/// Work `first:…` sends, and wants `second:…` in ten minutes.
fn chained(bed: &TestBed) -> (TestBed, TestWorkflow) {
    following(bed, |work, now| {
        let next = now + jiff::SignedDuration::from_secs(600);
        match work.key.strip_prefix("first:") {
            Some(rest) => {
                vec![Effect::Ensure(Box::new(new_work("follow", &format!("second:{rest}"), next)))]
            }
            None => Vec::new(),
        }
    })
}

async fn is_planned(bed: &TestBed, key: &str) -> bool {
    let mut reader = bed.read().await;
    punctual_store::work::by_key(&mut reader.conn(), &Reach::Everything, key).await.unwrap().is_some()
}

async fn owed(bed: &TestBed) -> (i64, Vec<String>) {
    let found = bed.engine.attention(&Reach::Everything, 10).await.unwrap();
    let count = found.counts.iter().find(|(kind, _)| *kind == Kind::Owed).map_or(0, |(_, count)| *count);
    let items = found.items.into_iter().filter(|item| item.kind == Kind::Owed);
    (count, items.map(|item| format!("{} {}: {}", item.title, item.link, item.reason)).collect())
}

async fn what_the_database_refuses_is_owed_over_a_restart_and_done_when_it_can_be(bed: TestBed) {
    let (bed, workflow) = chained(&bed);
    bed.refuse("work", "INSERT", "NEW.key = 'second:a'").await;
    bed.ensure(&[new_work("follow", "first:a", bed.now()), new_work("follow", "first:b", bed.now())]).await;
    assert_eq!(bed.tick().await.deliveries.delivered, 2);
    assert!(is_planned(&bed, "second:b").await, "a neighbour has its follow-up at once");
    assert!(!is_planned(&bed, "second:a").await);
    let first = bed.work("first:a").await;
    assert_eq!(first.open_notifications, 1, "its row waits until the workflow was called");
    bed.allow("work", "INSERT").await;

    // Another process on the same database.
    let bed = bed.with(|bed| bed);
    let calls = workflow.settled_calls().len();
    bed.wait(29);
    assert_eq!(bed.engine.sweep_tick(bed.now()).await.unwrap().owed, 0, "not yet");
    bed.wait(1);
    assert_eq!(bed.engine.sweep_tick(bed.now()).await.unwrap().owed, 1);
    assert_eq!(bed.work("first:a").await.open_notifications, 0);
    assert_eq!(bed.audit("work", &first.id.to_string()).await, ["settled-late"]);
    let reported: Vec<_> =
        workflow.settled_calls()[calls].outcomes.iter().map(|(_, status)| status.as_str()).collect();
    assert_eq!(reported, ["delivered"]);
    assert_eq!(bed.engine.sweep_tick(bed.now()).await.unwrap().owed, 0, "once");
    bed.run_for(600).await;
    let mut sent = bed.sent_to();
    sent.sort_unstable();
    assert_eq!(sent, ["a", "a", "b", "b"], "two messages each, and none of them twice");
}

async fn what_keeps_failing_needs_attention_and_its_pauses_grow(bed: TestBed) {
    let (bed, workflow) = chained(&bed);
    bed.refuse("work", "INSERT", "NEW.key = 'second:a'").await;
    bed.ensure_one(new_work("follow", "first:a", bed.now())).await;
    bed.tick().await;
    let calls = workflow.settled_calls().len();
    for pause in [30, 60, 120] {
        assert_eq!(owed(&bed).await.0, 0, "it may pass");
        bed.wait(pause - 1);
        bed.engine.sweep_tick(bed.now()).await.unwrap();
        bed.wait(1);
        bed.engine.sweep_tick(bed.now()).await.unwrap();
    }
    assert_eq!(workflow.settled_calls().len(), calls + 3, "one attempt after each pause");
    let (count, items) = owed(&bed).await;
    let id = bed.work("first:a").await.id;
    assert_eq!(count, 1);
    assert!(
        items[0].starts_with(&format!("Follow first:a /work/{id}: Its messages have settled")),
        "{items:?}"
    );
    assert!(items[0].contains("this row is refused"), "{items:?}");
    let limited = Reach::Units(vec!["nz".into()]);
    assert!(bed.engine.attention(&limited, 10).await.unwrap().items.is_empty(), "it has no unit");

    bed.allow("work", "INSERT").await;
    bed.wait(240);
    bed.engine.sweep_tick(bed.now()).await.unwrap();
    assert_eq!(owed(&bed).await.0, 0);
    assert!(is_planned(&bed, "second:a").await);
    assert_eq!(bed.sent().len(), 1);
    bed.leaves_open("what follows is not worked here");
}

async fn a_workflow_that_panicked_is_asked_again(bed: TestBed) {
    let broken = Arc::new(AtomicBool::new(true));
    let is_broken = broken.clone();
    let (bed, workflow) = following(&bed, move |_, _| {
        assert!(!is_broken.load(Ordering::Relaxed), "so the test wants it");
        Vec::new()
    });
    bed.ensure_one(new_work("follow", "k:a:b", bed.now())).await;
    bed.tick().await;
    let row = bed.work("k:a:b").await;
    assert_eq!((row.open_notifications, workflow.settled_calls().len()), (2, 1));
    bed.wait(30);
    bed.engine.sweep_tick(bed.now()).await.unwrap();
    assert_eq!(workflow.settled_calls().len(), 2);
    broken.store(false, Ordering::Relaxed);
    bed.wait(60);
    assert_eq!(bed.engine.sweep_tick(bed.now()).await.unwrap().owed, 2);
    let calls = workflow.settled_calls();
    assert_eq!((calls.len(), calls[2].outcomes.len()), (3, 2), "called with both at once, as the first time");
    assert_eq!(bed.work("k:a:b").await.open_notifications, 0);
    assert_eq!(bed.audit("work", &row.id.to_string()).await, ["settled-failed:panic", "settled-late"]);
    assert_eq!(bed.sent().len(), 2);
}

async fn two_nodes_do_what_is_owed_once(bed: TestBed) {
    let (bed, _) = chained(&bed);
    bed.refuse("work", "INSERT", "NEW.key LIKE 'second:%'").await;
    for n in 0..20 {
        bed.ensure_one(new_work("follow", &format!("first:{n}"), bed.now())).await;
    }
    bed.tick().await;
    bed.allow("work", "INSERT").await;
    let other = bed.node("b").await;
    bed.wait(30);
    let (one, two) = tokio::join!(bed.engine.sweep_tick(bed.now()), other.engine.sweep_tick(other.now()));
    assert_eq!(one.unwrap().owed + two.unwrap().owed, 20);
    for n in 0..20 {
        assert_eq!(bed.work(&format!("first:{n}")).await.open_notifications, 0);
    }
    bed.run_for(600).await;
    assert_eq!(bed.sent().len(), 40);
}

async fn a_message_that_cannot_be_prepared_is_parked_and_its_workflow_is_called_later(bed: TestBed) {
    let (bed, workflow) = chained(&bed);
    bed.refuse("attempts", "INSERT", "NEW.target = 'a'").await;
    bed.refuse("work", "INSERT", "NEW.key = 'second:a'").await;
    bed.ensure_one(new_work("follow", "first:a", bed.now())).await;
    assert_eq!(bed.tick().await.deliveries.parked, 1);
    assert_eq!(bed.work("first:a").await.open_notifications, 1);
    bed.allow("work", "INSERT").await;
    let calls = workflow.settled_calls().len();
    bed.wait(30);
    assert_eq!(bed.engine.sweep_tick(bed.now()).await.unwrap().owed, 1);
    assert_eq!(workflow.settled_calls()[calls].outcomes[0].1.as_str(), "parked");
    assert!(is_planned(&bed, "second:a").await);
    bed.leaves_open("what follows is not worked here");
}

async fn a_message_that_a_person_has_sent_again_is_reported_as_it_is_then(bed: TestBed) {
    let (bed, workflow) = chained(&bed);
    bed.refuse("work", "INSERT", "NEW.key = 'second:a'").await;
    bed.captured.misbehave("memory:default".parse().unwrap(), Misbehaviour::Permanent, 1, "no");
    bed.ensure_one(new_work("follow", "first:a", bed.now())).await;
    assert_eq!(bed.tick().await.deliveries.parked, 1);
    let id = bed.notifications().await[0].id.to_string();
    bed.engine.retry_notification(&Actor::named("ann"), &id, None).await.unwrap();
    assert_eq!(bed.work("first:a").await.open_notifications, 2, "for what is owed and for the retry");
    bed.tick().await;
    assert_eq!(bed.work("first:a").await.open_notifications, 1);
    bed.allow("work", "INSERT").await;
    let calls = workflow.settled_calls().len();
    bed.wait(30);
    bed.engine.sweep_tick(bed.now()).await.unwrap();
    let reported = workflow.settled_calls();
    assert_eq!(reported.len(), calls + 1, "once, when nothing is open any more");
    assert_eq!(reported[calls].outcomes[0].1.as_str(), "delivered");
    bed.leaves_open("what follows is not worked here");
}

/// What follows from a message that had settled before the backup may have been sent before the restore.
async fn r03_what_was_owed_at_a_restore_waits_for_a_person(bed: TestBed) {
    let (bed, _) = chained(&bed);
    bed.refuse("work", "INSERT", "NEW.key = 'second:a' OR NEW.key = 'second:b'").await;
    bed.ensure(&[new_work("follow", "first:a", bed.now())]).await;
    bed.tick().await;
    bed.allow("work", "INSERT").await;
    mark_restored(&bed.store, bed.now(), None).await.unwrap();
    let held = bed.engine.hold_restored(bed.now()).await.unwrap().unwrap();
    assert_eq!((held.work, held.notifications, held.owed), (0, 0, 1));
    bed.run_for(3_600).await;
    assert!(!is_planned(&bed, "second:a").await, "nothing follows by itself");
    let waiting = async || bed.engine.last_restore().await.unwrap().unwrap().1.owed;
    assert_eq!(waiting().await, 1);
    let done = bed.engine.settle_restored(&Actor::named("ann"), AfterRestore::Release).await.unwrap();
    assert_eq!((done.owed, waiting().await), (1, 0));
    bed.run_for(60).await;
    assert!(is_planned(&bed, "second:a").await);
    bed.run_for(3_600).await;

    bed.refuse("work", "INSERT", "NEW.key = 'second:b'").await;
    bed.ensure(&[new_work("follow", "first:b", bed.now())]).await;
    bed.tick().await;
    bed.allow("work", "INSERT").await;
    mark_restored(&bed.store, bed.now(), None).await.unwrap();
    bed.engine.hold_restored(bed.now()).await.unwrap().unwrap();
    let done = bed.engine.settle_restored(&Actor::named("ann"), AfterRestore::Discard).await.unwrap();
    assert_eq!((done.owed, waiting().await), (1, 0));
    bed.run_for(3_600).await;
    assert!(!is_planned(&bed, "second:b").await, "it was given up");
}

/// A status that this version does not know, as a later one might write it: the table has no CHECK.
async fn an_unknown_status_is_the_fault_of_its_row_alone(bed: TestBed) {
    let (bed, _) = chained(&bed);
    bed.captured.misbehave("memory:default".parse().unwrap(), Misbehaviour::Permanent, 2, "no");
    bed.refuse("work", "INSERT", "NEW.key LIKE 'second:%'").await;
    bed.ensure(&[new_work("follow", "first:a", bed.now()), new_work("follow", "first:b", bed.now())]).await;
    bed.tick().await;
    bed.allow("work", "INSERT").await;
    let bad = bed.work("first:a").await.id;
    // tidy-allow: a number of the test's own
    bed.run_sql(&format!("UPDATE owed SET status = 'bounced' WHERE work_id = {bad}")).await.unwrap();
    for pause in [30, 60, 120] {
        bed.wait(pause);
        bed.engine.sweep_tick(bed.now()).await.unwrap();
    }
    assert!(is_planned(&bed, "second:b").await, "its neighbour has its follow-up");
    assert!(!is_planned(&bed, "second:a").await);
    let (count, items) = owed(&bed).await;
    assert_eq!(count, 1);
    assert!(items[0].contains("owed.status"), "{items:?}");
    bed.leaves_open("what follows is not worked here");
}

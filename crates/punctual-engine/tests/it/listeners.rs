//! Schedules arrive on their topic: at least once, on time, and a listener that refuses is asked again.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use punctual_engine::{Actor, EngineError, EnsureOutcome};
use punctual_model::{Arrival, Cause};
use punctual_testkit::{TestBed, on_both};
use punctual_workflows::schedules;

on_both! {
    a_schedule_arrives_on_its_topic_at_its_moment;
    a_topic_may_end_in_a_star;
    a_topic_without_listeners_is_nobodys_fault;
    a_listener_that_refuses_is_asked_again_after_five_minutes;
    a_listener_that_panics_holds_the_row_and_harms_no_other;
    an_arrival_whose_commit_failed_is_published_again_under_the_same_id;
    a_schedule_is_moved_and_cancelled;
    a_schedule_that_has_arrived_is_not_moved;
}

/// What listeners received, and how often the stubborn one refused.
#[derive(Clone, Default)]
struct Ears {
    received: Arc<Mutex<Vec<Arrival>>>,
    asked: Arc<AtomicUsize>,
}

impl Ears {
    fn received(&self) -> Vec<(String, String)> {
        self.received.lock().unwrap().iter().map(|one| (one.id.clone(), one.topic.clone())).collect()
    }
}

fn listening(bed: TestBed) -> (TestBed, Ears) {
    let ears = Ears::default();
    let (received, asked) = (ears.received.clone(), ears.asked.clone());
    let hear = move |arrival: &Arrival| {
        received.lock().unwrap().push(arrival.clone());
        Ok(())
    };
    let stubborn = move |_: &Arrival| {
        if asked.fetch_add(1, Ordering::SeqCst) == 0 { Err("not now".to_owned()) } else { Ok(()) }
    };
    let panicking = |_: &Arrival| -> Result<(), String> { panic!("a listener that panics") };
    let bed = bed.with(|bed| {
        bed.listener("billing.*", hear.clone())
            .listener("backup", hear)
            .listener("stubborn", stubborn)
            .listener("panicking", panicking)
    });
    (bed, ears)
}

async fn a_schedule_arrives_on_its_topic_at_its_moment(bed: TestBed) {
    let (bed, ears) = listening(bed);
    bed.schedule("nightly", "backup", bed.after(60)).await;
    assert_eq!(bed.run_for(59).await.steps, 0);
    assert!(ears.received().is_empty());
    let advanced = bed.run_for(10).await;
    assert_eq!((advanced.steps, advanced.done.due.completed), (1, 1));
    let arrival = ears.received.lock().unwrap()[0].clone();
    assert_eq!((arrival.id.as_str(), arrival.topic.as_str()), ("schedule:nightly", "backup"));
    assert_eq!(arrival.payload, r#"{"key":"nightly"}"#);
    assert_eq!(arrival.due_at.to_string(), "2026-05-14T05:01:00Z");
}

async fn a_topic_may_end_in_a_star(bed: TestBed) {
    let (bed, ears) = listening(bed);
    for (key, topic) in [("a", "billing.run"), ("b", "billing."), ("c", "billing"), ("d", "backup.x")] {
        bed.schedule(key, topic, bed.now()).await;
    }
    bed.tick().await;
    let mut received = ears.received();
    received.sort();
    assert_eq!(
        received,
        [("schedule:a".into(), "billing.run".into()), ("schedule:b".into(), "billing.".into())]
    );
}

async fn a_topic_without_listeners_is_nobodys_fault(bed: TestBed) {
    bed.schedule("a", "nobody", bed.now()).await;
    assert_eq!(bed.tick().await.due.completed, 1);
}

async fn a_listener_that_refuses_is_asked_again_after_five_minutes(bed: TestBed) {
    let (bed, ears) = listening(bed);
    bed.schedule("a", "stubborn", bed.now()).await;
    assert_eq!(bed.tick().await.due.retried, 1);
    let row = bed.work("schedule:a").await;
    assert_eq!(row.reason_code.as_deref(), Some("listener-failed"));
    assert_eq!(row.ready_at, bed.after(300));
    assert_eq!(bed.run_for(300).await.done.due.completed, 1);
    assert_eq!(ears.asked.load(Ordering::SeqCst), 2);
}

async fn a_listener_that_panics_holds_the_row_and_harms_no_other(bed: TestBed) {
    let (bed, _ears) = listening(bed);
    bed.schedule("a", "panicking", bed.now()).await;
    bed.schedule("b", "backup", bed.now()).await;
    let report = bed.tick().await;
    assert_eq!((report.due.held, report.due.completed), (1, 1));
    assert_eq!(bed.work("schedule:a").await.reason_code.as_deref(), Some("panic"));
}

async fn an_arrival_whose_commit_failed_is_published_again_under_the_same_id(bed: TestBed) {
    let (bed, ears) = listening(bed);
    bed.schedule("a", "backup", bed.now()).await;
    // In the transaction that locked the row, which left no trace, twice after it was claimed, and when it is put back.
    bed.faults.fail("work.settle", true, 4);
    let failed = bed.engine.due_tick(bed.now(), 10).await;
    assert!(matches!(failed, Err(EngineError::Store(_))), "{failed:?}");
    assert_eq!(bed.work("schedule:a").await.status.as_str(), "processing");
    bed.wait(60);
    assert_eq!(bed.tick().await.due.completed, 1);
    let reported = ("schedule:a".to_owned(), "backup".to_owned());
    assert_eq!(ears.received(), [reported.clone(), reported.clone(), reported]);
}

async fn a_schedule_is_moved_and_cancelled(bed: TestBed) {
    let (bed, _ears) = listening(bed);
    let id = bed.schedule("a", "backup", bed.after(60)).await;
    let moved =
        schedules::reschedule(&bed.engine, &Actor::named("test"), id, bed.after(600)).await.unwrap().unwrap();
    assert_eq!((moved.id, moved.outcome), (id, EnsureOutcome::Updated));
    assert_eq!(bed.run_for(599).await.done.due.claimed, 0);
    bed.engine.cancel_work(&Actor::named("ann"), id, None).await.unwrap();
    assert_eq!(bed.run_for(600).await.done.due.claimed, 0);
    assert_eq!(bed.audit("work", &id.to_string()).await, ["change", "cancel"]);
    assert!(
        schedules::reschedule(&bed.engine, &Actor::named("test"), id + 1000, bed.now())
            .await
            .unwrap()
            .is_none()
    );
    let row = schedules::NewSchedule {
        key: "a".into(),
        topic: "backup".into(),
        run_at: bed.now(),
        time_zone: None,
        payload: serde_json::json!({ "key": "a" }),
        business_unit: punctual_engine::OwnUnit::default(),
    };
    let asked_again = bed.engine.ensure(&[row.into_work().unwrap()], Cause::Machine).await.unwrap();
    assert_eq!(asked_again[0].outcome, EnsureOutcome::LeftCancelled);
}

async fn a_schedule_that_has_arrived_is_not_moved(bed: TestBed) {
    let (bed, ears) = listening(bed);
    let id = bed.schedule("a", "backup", bed.now()).await;
    bed.tick().await;
    let refused = schedules::reschedule(&bed.engine, &Actor::named("test"), id, bed.after(60)).await;
    assert!(matches!(refused, Err(EngineError::StateNotAllowed { .. })), "{refused:?}");
    assert_eq!(ears.received().len(), 1);
}

/// Two listeners for one topic would be called in no order that anybody chose.
#[test]
fn a_second_listener_of_a_topic_is_refused() {
    let mut listeners = punctual_engine::Listeners::default();
    let hear = |_: &Arrival| Ok(());
    listeners.add("a", Arc::new(hear)).unwrap();
    assert!(listeners.add("a", Arc::new(hear)).is_err());
}

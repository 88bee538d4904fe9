//! A workflow that follows its deliveries is called once, when the last of a row's notifications has settled.

use std::sync::{Arc, Mutex};

use punctual_channels::Misbehaviour;
use punctual_engine::Actor;
use punctual_model::{Audience, Decision, Effect, NewNotification, NotificationId, ReasonCode};
use punctual_testkit::{TestBed, TestWorkflow, new_work, on_both};

on_both! {
    a_workflow_is_called_once_when_the_last_one_has_settled;
    what_it_asks_for_is_written_with_the_last_settle;
    one_message_wanted_twice_is_waited_for_once;
    a_parked_one_has_settled_and_a_retry_is_waited_for_again;
    a_withdrawn_one_has_settled_too;
    a_workflow_that_panics_when_settled_does_not_send_again;
    a_settle_that_failed_calls_again_and_writes_once;
}

/// Work of kind `follow` sends to each address in its key; `effects` says what follows.
pub fn following(
    bed: &TestBed,
    effects: impl Fn(&punctual_engine::SettledWork, jiff::Timestamp) -> Vec<Effect> + Send + Sync + 'static,
) -> (TestBed, TestWorkflow) {
    let workflow = TestWorkflow::new("follow", |row, _| {
        let to = row.key.split(':').skip(1).map(|address| {
            let audience = Audience::Targets(vec![address.to_owned()]);
            let mut new = NewNotification::new(NotificationId(Default::default()), audience, "Due", "Now");
            let channel = if address.starts_with("slow") { "memory:slow" } else { "memory:default" };
            new.channel = channel.parse().ok();
            new
        });
        Decision::Deliver(to.collect())
    })
    .settled(effects);
    (bed.with(|bed| bed.workflow(workflow.clone())), workflow)
}

async fn a_workflow_is_called_once_when_the_last_one_has_settled(bed: TestBed) {
    bed.channel("memory:slow", "memory").await;
    let (bed, workflow) = following(&bed, |_, _| Vec::new());
    bed.captured.misbehave("memory:slow".parse().unwrap(), Misbehaviour::Transient, 2, "busy");
    bed.ensure_one(new_work("follow", "k:a:b:slow", bed.now())).await;
    bed.tick().await;
    assert_eq!(bed.work("k:a:b:slow").await.open_notifications, 1);
    bed.run_for(60).await;
    assert!(workflow.settled_calls().is_empty(), "one is still open");
    bed.run_for(60).await;
    let calls = workflow.settled_calls();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].key, "k:a:b:slow");
    assert_eq!(
        calls[0].outcomes.iter().map(|(_, status)| status.as_str()).collect::<Vec<_>>(),
        ["delivered"]
    );
    assert_eq!(bed.work("k:a:b:slow").await.open_notifications, 0);
    bed.run_for(86_400).await;
    assert_eq!(workflow.settled_calls().len(), 1);
}

async fn what_it_asks_for_is_written_with_the_last_settle(bed: TestBed) {
    let (bed, workflow) = following(&bed, |work, now| {
        let next = now + jiff::SignedDuration::from_secs(600);
        if work.key.starts_with("first") {
            vec![Effect::Ensure(Box::new(new_work("follow", "second:b", next)))]
        } else {
            Vec::new()
        }
    });
    bed.ensure_one(new_work("follow", "first:a", bed.now())).await;
    bed.tick().await;
    assert_eq!(bed.work("second:b").await.due_at, bed.after(600));
    bed.run_for(600).await;
    assert_eq!(bed.sent_to(), ["a", "b"]);
    assert_eq!(workflow.settled_calls().len(), 2);
}

async fn one_message_wanted_twice_is_waited_for_once(bed: TestBed) {
    let (bed, workflow) = following(&bed, |_, _| Vec::new());
    bed.ensure_one(new_work("follow", "k:a:a", bed.now())).await;
    bed.tick().await;
    assert_eq!(bed.sent_to(), ["a"]);
    assert_eq!((workflow.settled_calls().len(), bed.work("k:a:a").await.open_notifications), (1, 0));
}

async fn a_parked_one_has_settled_and_a_retry_is_waited_for_again(bed: TestBed) {
    let (bed, workflow) = following(&bed, |_, _| Vec::new());
    bed.captured.misbehave("memory:default".parse().unwrap(), Misbehaviour::Permanent, 1, "no");
    bed.ensure_one(new_work("follow", "k:a", bed.now())).await;
    bed.tick().await;
    assert_eq!(workflow.settled_calls()[0].outcomes[0].1.as_str(), "parked");
    let id = bed.notifications().await[0].id.to_string();
    bed.engine.retry_notification(&Actor::named("ann"), &id, None).await.unwrap();
    assert_eq!(bed.work("k:a").await.open_notifications, 1);
    bed.tick().await;
    assert_eq!(workflow.settled_calls().len(), 2);
    let settled = &workflow.settled_calls()[1];
    let outcomes: Vec<_> =
        settled.outcomes.iter().map(|(id, status)| (id.to_string(), status.as_str())).collect();
    assert_eq!(outcomes, [(id, "delivered")]);
}

/// Of three, one is delivered, one is withdrawn while it waits, and the last one to settle calls the workflow.
async fn a_withdrawn_one_has_settled_too(bed: TestBed) {
    let (bed, workflow) = following(&bed, |_, _| Vec::new());
    bed.channel("memory:slow", "memory").await;
    bed.captured.misbehave("memory:slow".parse().unwrap(), Misbehaviour::Transient, 9, "busy");
    bed.ensure_one(new_work("follow", "k:a:slow1:slow2", bed.now())).await;
    bed.tick().await;
    assert_eq!(bed.work("k:a:slow1:slow2").await.open_notifications, 2);
    let mut tx = bed.begin().await;
    let keys = vec!["k:a:slow1:slow2".to_owned()];
    assert_eq!(
        punctual_engine::effects::withdraw(&mut tx, bed.now(), ReasonCode::Answered, keys).await.unwrap(),
        2
    );
    tx.commit().await.unwrap();
    assert_eq!(bed.work("k:a:slow1:slow2").await.open_notifications, 0, "nothing is waited for in vain");
    assert!(workflow.settled_calls().is_empty(), "whoever withdraws knows");
    let statuses: Vec<String> =
        bed.notifications().await.into_iter().map(|row| row.status.as_str().to_owned()).collect();
    assert_eq!(statuses, ["withdrawn", "withdrawn", "delivered"]);
}

async fn a_workflow_that_panics_when_settled_does_not_send_again(bed: TestBed) {
    let (bed, workflow) = following(&bed, |work, _| {
        assert!(!work.key.starts_with("bad"), "so the test wants it");
        Vec::new()
    });
    bed.ensure(&[new_work("follow", "bad:a", bed.now()), new_work("follow", "good:b", bed.now())]).await;
    let report = bed.tick().await;
    assert_eq!(report.deliveries.delivered, 2);
    assert_eq!(workflow.settled_calls().len(), 2);
    bed.run_for(86_400).await;
    assert_eq!(bed.sent().len(), 2, "nobody gets it twice because a workflow panicked");
    let id = bed.work("bad:a").await.id.to_string();
    assert_eq!(bed.audit("work", &id).await, ["settled-failed:panic"], "and it is not silent");
}

async fn a_settle_that_failed_calls_again_and_writes_once(bed: TestBed) {
    let count = Arc::new(Mutex::new(0));
    let inner = count.clone();
    let (bed, workflow) = following(&bed, move |_, now| {
        let mut count = inner.lock().unwrap();
        *count += 1;
        vec![Effect::Ensure(Box::new(new_work("follow", &format!("next-{count}:z"), now)))]
    });
    bed.ensure_one(new_work("follow", "k:a", bed.now())).await;
    bed.engine.due_tick(bed.now(), 10).await.unwrap();
    bed.faults.fail("work.insert_absent", true, 1);
    let report = bed.engine.delivery_tick(bed.now(), 10).await.unwrap();
    assert_eq!((report.delivered, report.lost), (1, 0));
    assert_eq!(
        workflow.settled_calls().len(),
        2,
        "once for the settle that failed, once for the one that did not"
    );
    assert_eq!(bed.work("k:a").await.open_notifications, 0);
    assert_eq!(bed.work("next-2:z").await.status.as_str(), "pending");
    assert_eq!(bed.sent().len(), 1);
    bed.leaves_open("what follows is not worked here");
}

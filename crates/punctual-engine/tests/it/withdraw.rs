//! Withdrawing by origin: in time it is never sent, too late it is written down (R13).

use punctual_engine::{Actor, effects};
use punctual_model::{
    Audience, Decided, Decision, Effect, NewNotification, NotificationId, ReasonCode, WorkKey,
};
use punctual_testkit::{Gated, TestBed, TestWorkflow, new_work, on_both, signal};

on_both! {
    what_is_withdrawn_in_time_is_never_sent;
    what_is_already_being_sent_is_recorded_as_too_late;
    a_parked_one_is_withdrawn_too;
    an_effect_withdraws_and_deactivates_with_the_decision;
    rows_that_are_no_longer_wanted_end_with_a_reason;
}

fn sending(bed: &TestBed) -> TestBed {
    let workflow = TestWorkflow::new("test", |row, _| {
        let audience = Audience::Targets(vec!["a@example.org".into()]);
        let mut new = NewNotification::new(NotificationId(Default::default()), audience, "Due", "Now");
        new.channel = row.key.split('/').nth(1).and_then(|channel| channel.parse().ok());
        Decision::Deliver(vec![new])
    });
    let stopping = TestWorkflow::new("stop", |row, _| {
        Decided::from(Decision::Deliver(Vec::new())).with_effects([
            Effect::Withdraw {
                origin: WorkKey::parse(row.key.trim_start_matches("stop/")).unwrap(),
                reason: ReasonCode::Answered,
            },
            Effect::Deactivate {
                keys: vec![WorkKey::parse("later/memory:default").unwrap()],
                reason: ReasonCode::Answered,
            },
        ])
    });
    bed.with(|bed| bed.workflow(workflow).workflow(stopping))
}

async fn withdraw(bed: &TestBed, key: &str) -> usize {
    let mut tx = bed.begin().await;
    let withdrawn =
        effects::withdraw(&mut tx, bed.now(), ReasonCode::Answered, vec![key.to_owned()]).await.unwrap();
    tx.commit().await.unwrap();
    withdrawn
}

async fn what_is_withdrawn_in_time_is_never_sent(bed: TestBed) {
    let bed = sending(&bed);
    bed.ensure_one(new_work("test", "k/memory:default", bed.now())).await;
    bed.engine.due_tick(bed.now(), 10).await.unwrap();
    assert_eq!(withdraw(&bed, "k/memory:default").await, 1);
    let row = bed.notifications().await.remove(0);
    assert_eq!((row.status.as_str(), row.reason_code.as_deref()), ("withdrawn", Some("answered")));
    assert_eq!(row.finished_at, Some(bed.now()));
    assert_eq!(bed.run_for(86_400).await.done.deliveries.claimed, 0);
    assert!(bed.sent().is_empty());
    assert_eq!(bed.audit("notification", &row.id.to_string()).await, ["withdraw:answered"]);
    assert_eq!(withdraw(&bed, "k/memory:default").await, 0, "once is enough");
    assert!(
        bed.engine.retry_notification(&Actor::named("ann"), &row.id.to_string(), None).await.is_err(),
        "nobody brings it back"
    );
}

async fn what_is_already_being_sent_is_recorded_as_too_late(bed: TestBed) {
    let (gate, adapter) = Gated::new("gated");
    let bed = sending(&bed.with(|bed| bed.adapter(adapter)));
    bed.channel("gated:default", "gated").await;
    bed.ensure_one(new_work("test", "k/gated:default", bed.now())).await;
    bed.engine.due_tick(bed.now(), 10).await.unwrap();
    let (engine, now) = (bed.engine.clone(), bed.now());
    let sending = tokio::spawn(async move { engine.delivery_tick(now, 10).await });
    gate.arrived().await;
    assert_eq!(withdraw(&bed, "k/gated:default").await, 0);
    gate.let_go(1);
    assert_eq!(signal("the send", sending).await.unwrap().unwrap().delivered, 1);
    let row = bed.notifications().await.remove(0);
    assert_eq!(row.status.as_str(), "delivered");
    assert_eq!(bed.audit("notification", &row.id.to_string()).await, ["withdraw-too-late:answered"]);
}

async fn a_parked_one_is_withdrawn_too(bed: TestBed) {
    let bed = sending(&bed);
    bed.ensure_one(new_work("test", "k/sms:nowhere", bed.now())).await;
    bed.tick().await;
    assert_eq!(withdraw(&bed, "k/sms:nowhere").await, 1);
    assert_eq!(bed.notifications().await[0].status.as_str(), "withdrawn");
}

async fn an_effect_withdraws_and_deactivates_with_the_decision(bed: TestBed) {
    let bed = sending(&bed);
    let mut waiting = new_work("test", "later/memory:default", bed.after(600));
    waiting.local = Some(("2026-05-14".into(), "Europe/Berlin".into()));
    bed.ensure(&[new_work("test", "k/memory:default", bed.now()), waiting]).await;
    bed.engine.due_tick(bed.now(), 10).await.unwrap();
    bed.ensure_one(new_work("stop", "stop/k/memory:default", bed.now())).await;
    bed.tick().await;
    assert_eq!(bed.notifications().await[0].status.as_str(), "withdrawn");
    let ended = bed.work("later/memory:default").await;
    assert_eq!((ended.status.as_str(), ended.reason_code.as_deref()), ("deactivated", Some("answered")));
    assert_eq!(bed.audit("work", &ended.id.to_string()).await, ["deactivate:answered"]);
    assert_eq!(bed.run_for(86_400).await.done.due.claimed, 0);
    assert!(bed.sent().is_empty());
}

async fn rows_that_are_no_longer_wanted_end_with_a_reason(bed: TestBed) {
    let bed = sending(&bed);
    bed.ensure(&[
        new_work("test", "a/memory:default", bed.now()),
        new_work("test", "b/memory:default", bed.now()),
    ])
    .await;
    let mut tx = bed.begin().await;
    let keys = ["b/memory:default", "a/memory:default", "a/memory:default", "c/memory:default"];
    let keys = keys.iter().map(|key| (*key).to_owned()).collect();
    assert_eq!(
        effects::deactivate(&mut tx, bed.now(), ReasonCode::ReminderSettingInactive, keys).await.unwrap(),
        2
    );
    tx.commit().await.unwrap();
    assert_eq!(bed.tick().await.due.claimed, 0);
}

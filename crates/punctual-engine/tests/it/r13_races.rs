//! R13: stop means stop. A stop that committed before the claim prevents the send; one that comes later is refused with the reason.

use std::sync::{Arc, Mutex};

use punctual_engine::Actor;
use punctual_model::{Audience, Decision, NewNotification, NotificationId, ReasonCode};
use punctual_testkit::{Scripted, TestBed, TestWorkflow, channel::delivered, new_work, on_both, scale};

on_both! {
    r13_a_cancel_that_won_is_never_followed_by_a_send;
    r13_a_withdrawal_that_won_is_never_followed_by_a_send;
}

fn sending(bed: &TestBed) -> (TestBed, Arc<Mutex<Vec<String>>>) {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let log = sent.clone();
    let workflow = TestWorkflow::new("test", |row, _| {
        let audience = Audience::Targets(vec![row.key.clone()]);
        let mut new = NewNotification::new(NotificationId(Default::default()), audience, "Due", "Now");
        new.channel = "logged:default".parse().ok();
        Decision::Deliver(vec![new])
    });
    let adapter = Scripted::new("logged", move |message| {
        log.lock().unwrap().push(message.address);
        delivered()
    });
    (bed.with(|bed| bed.workflow(workflow).adapter(adapter)), sent)
}

async fn r13_a_cancel_that_won_is_never_followed_by_a_send(bed: TestBed) {
    let (bed, sent) = sending(&bed);
    bed.channel("logged:default", "logged").await;
    let other = bed.node("b").await;
    let (mut won, mut late) = (0, 0);
    for round in 0..scale(15, 1_000) {
        let rows: Vec<_> = (0..20).map(|n| new_work("test", &format!("r{round}-{n}"), bed.now())).collect();
        let ids: Vec<(i64, String)> = bed
            .ensure(&rows)
            .await
            .iter()
            .map(|one| one.id)
            .zip(rows.iter().map(|row| row.key.as_str().to_owned()))
            .collect();
        let mut stopping = tokio::task::JoinSet::new();
        for (id, key) in ids {
            let engine = other.engine.clone();
            stopping.spawn(
                async move { (engine.cancel_work(&Actor::named("ann"), id, None).await.is_ok(), key) },
            );
        }
        // A few at a time, so that some cancels come before their claim and some after it.
        while bed.engine.due_tick(bed.now(), 3).await.unwrap().claimed > 0 {
            tokio::task::yield_now().await;
        }
        let stopped = stopping.join_all().await;
        bed.tick().await;
        let sent = sent.lock().unwrap().clone();
        for (cancelled, key) in stopped {
            assert_eq!(cancelled, !sent.contains(&key), "{key} was cancelled: {cancelled}");
            if cancelled { won += 1 } else { late += 1 }
        }
    }
    println!("{won} cancels came in time, {late} too late");
    assert!(won > 0, "no cancel came in time");
}

async fn r13_a_withdrawal_that_won_is_never_followed_by_a_send(bed: TestBed) {
    let (bed, sent) = sending(&bed);
    bed.channel("logged:default", "logged").await;
    let other = bed.node("b").await;
    let (mut won, mut late) = (0, 0);
    for round in 0..scale(15, 1_000) {
        let keys: Vec<String> = (0..20).map(|n| format!("r{round}-{n}")).collect();
        let rows: Vec<_> = keys.iter().map(|key| new_work("test", key, bed.now())).collect();
        bed.ensure(&rows).await;
        bed.engine.due_tick(bed.now(), 100).await.unwrap();
        let mut stopping = tokio::task::JoinSet::new();
        for key in keys {
            let bed = other.clone();
            stopping.spawn(async move {
                let mut tx = bed.begin().await;
                let origin = vec![key.clone()];
                let withdrawn =
                    punctual_engine::effects::withdraw(&mut tx, bed.now(), ReasonCode::Cancelled, origin)
                        .await
                        .unwrap();
                tx.commit().await.unwrap();
                (withdrawn == 1, key)
            });
        }
        while bed.engine.delivery_tick(bed.now(), 3).await.unwrap().claimed > 0 {
            tokio::task::yield_now().await;
        }
        let stopped = stopping.join_all().await;
        bed.tick().await;
        let sent = sent.lock().unwrap().clone();
        for (withdrawn, key) in stopped {
            assert_eq!(withdrawn, !sent.contains(&key), "{key} was withdrawn: {withdrawn}");
            if withdrawn {
                won += 1;
            } else {
                late += 1;
            }
        }
    }
    println!("{won} withdrawals came in time, {late} too late");
    assert!(won > 0, "no withdrawal came in time");
}

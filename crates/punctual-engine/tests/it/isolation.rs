//! A fault stays in its smallest unit: one target, one message, one channel.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use punctual_engine::Actor;
use punctual_model::{
    AttemptOutcome, Decision, NewNotification, Priority, ReasonCode, SendOutcome, delivery_policy::Preference,
};
use punctual_testkit::{
    Gated, Scripted, TestBed, TestBedBuilder, TestWorkflow, channel::delivered, new_work, on_both, signal,
};
use serde_json::json;

on_both! {
    people_who_share_an_address_over_the_next_channel_get_one_message_and_the_others_go_on;
    a_message_whose_intents_the_database_refuses_is_parked_and_its_neighbours_are_delivered;
    a_message_whose_result_the_database_refuses_is_recorded_alone_and_its_neighbours_are_settled;
    a_refused_answer_of_a_message_to_many_parks_it_and_no_target_is_called_twice;
    a_message_that_is_recorded_alone_loses_no_bounce_of_its_other_targets;
    a_message_that_cannot_be_swept_is_parked_and_the_others_are_taken_over;
    work_whose_completion_the_database_refuses_is_put_back_and_its_neighbours_are_done;
    work_that_cannot_be_claimed_is_held_and_its_neighbours_are_done;
    work_that_cannot_be_read_is_held_and_its_neighbours_are_done;
    long_running_work_that_cannot_be_claimed_is_held_and_the_next_is_done;
    work_that_nobody_may_touch_keeps_neither_its_kind_nor_another_from_its_turn;
    a_channel_that_fails_at_its_claim_keeps_no_other_from_sending with loops;
    an_alarm_leaves_while_a_list_has_all_other_permits with loops;
    an_alarm_takes_the_next_free_permit_where_there_are_few with loops;
    two_messages_to_many_share_a_channel with loops;
    a_changed_spelling_in_a_list_messages_nobody_twice;
}

/// The system's clock, and a poll so rare that only a wake-up can explain what happens.
fn loops(bed: TestBedBuilder) -> TestBedBuilder {
    bed.wall_clock().config(|config| {
        config.poll_every = Duration::from_secs(3600);
        config.grace = Duration::from_millis(200);
    })
}

fn refuses(name: &'static str) -> Scripted {
    Scripted::new(name, |_| SendOutcome::Permanent {
        reason: ReasonCode::MailboxUnavailable,
        error: "550 5.7.1 no".into(),
    })
}

async fn people_who_share_an_address_over_the_next_channel_get_one_message_and_the_others_go_on(
    bed: TestBed,
) {
    let bed = bed.with(|bed| bed.adapter(refuses("refusing")));
    bed.channel("email:broken", "refusing").await;
    bed.channel("sms:default", "memory").await;
    for (person, mail, number) in [
        ("ann", "ann@example.org", "+49 30 1234567"),
        ("bob", "bob@example.org", "+49301234567"),
        ("cy", "cy@example.org", "+49301234568"),
    ] {
        let wanted = json!({ "addresses": { "email": mail, "sms": number } });
        let wanted: Preference = serde_json::from_value(wanted).unwrap();
        bed.engine.change_preference(&Actor::named("test"), person, |kept| *kept = wanted).await.unwrap();
    }
    let targets = ["ann@example.org", "bob@example.org", "cy@example.org"];
    let mut new = bed.message_over("email:broken", &targets);
    new.failover = vec!["sms:default".parse().unwrap()];
    let shared = bed.accept_one(new).await;
    let others = bed.accept_to(&["x@example.org", "y@example.org"]).await;
    bed.tick().await;
    assert_eq!(bed.notification(&shared).await.status.as_str(), "delivered");
    let mut sent = bed.sent_to();
    sent.sort_unstable();
    assert_eq!(sent, ["+49 30 1234567", "+49301234568", "x@example.org", "y@example.org"]);
    for id in others {
        assert_eq!(bed.notification(&id).await.status.as_str(), "delivered");
    }
}

/// Twenty messages, and one among them to `poison@example.org`.
async fn with_one_poisoned(bed: &TestBed) -> (Vec<String>, String) {
    let mut good = Vec::new();
    for n in 0..10 {
        good.push(bed.accept_one(bed.message(&format!("{n}@example.org"))).await);
    }
    let bad = bed.accept_one(bed.message("poison@example.org")).await;
    for n in 10..20 {
        good.push(bed.accept_one(bed.message(&format!("{n}@example.org"))).await);
    }
    (good, bad)
}

async fn a_message_whose_intents_the_database_refuses_is_parked_and_its_neighbours_are_delivered(
    bed: TestBed,
) {
    bed.refuse("attempts", "INSERT", "NEW.target = 'poison@example.org'").await;
    let (good, bad) = with_one_poisoned(&bed).await;
    let report = bed.tick().await.deliveries;
    assert_eq!((report.delivered, report.parked), (20, 1));
    for id in good {
        let row = bed.notification(&id).await;
        assert_eq!((row.status.as_str(), row.attempts), ("delivered", 1));
    }
    let row = bed.notification(&bad).await;
    assert_eq!((row.status.as_str(), row.reason_code.as_deref()), ("parked", Some("delivery-failed")));
    assert!(row.last_error.unwrap().contains("this row is refused"), "people see why");
    assert_eq!(bed.audit("notification", &bad).await, ["park:delivery-failed"]);
    assert!(!bed.sent_to().contains(&"poison@example.org".to_owned()));
    assert!(bed.engine.metrics.encode().contains("punctual_rows_isolated_total 1"));
}

async fn a_message_whose_result_the_database_refuses_is_recorded_alone_and_its_neighbours_are_settled(
    bed: TestBed,
) {
    // What follows from an answer is refused, the answer itself is not: the address of a bounce.
    bed.refuse("suppressions", "INSERT", "NEW.address = 'poison@example.org'").await;
    let adapter = Scripted::new("bouncing", |message| {
        if message.address.starts_with("poison") {
            let error = "550 5.1.1 user unknown".into();
            return SendOutcome::Permanent { reason: ReasonCode::MailboxUnavailable, error };
        }
        delivered()
    });
    let bed = bed.with(|bed| bed.adapter(adapter));
    bed.channel("memory:default", "bouncing").await;
    let (good, bad) = with_one_poisoned(&bed).await;
    bed.tick().await;
    for id in good {
        let row = bed.notification(&id).await;
        assert_eq!((row.status.as_str(), row.attempts), ("delivered", 1), "settled, and not sent again");
    }
    let row = bed.notification(&bad).await;
    assert_eq!((row.status.as_str(), row.reason_code.as_deref()), ("parked", Some("mailbox-unavailable")));
    assert_eq!(
        bed.attempts(&bad).await[0].outcome.map(AttemptOutcome::as_str),
        Some("permanent"),
        "the answer is kept"
    );
    assert_eq!(bed.audit("notification", &bad).await, ["settled-failed:record-failed"]);
}

async fn a_message_that_is_recorded_alone_loses_no_bounce_of_its_other_targets(bed: TestBed) {
    bed.refuse("attempts", "UPDATE", "NEW.target = 'poison@example.org' AND NEW.outcome = 'permanent'").await;
    let adapter = Scripted::new("bouncing", |_| SendOutcome::Permanent {
        reason: ReasonCode::MailboxUnavailable,
        error: "550 5.1.1 user unknown".into(),
    });
    let bed = bed.with(|bed| bed.adapter(adapter));
    bed.channel("memory:default", "bouncing").await;
    bed.accept_one(bed.message_over("memory:default", &["poison@example.org", "gone@example.org"])).await;
    bed.tick().await;
    let next = bed.accept_one(bed.message("gone@example.org")).await;
    bed.tick().await;
    let row = bed.notification(&next).await;
    assert_eq!((row.status.as_str(), row.reason_code.as_deref()), ("parked", Some("suppressed")));
}

async fn a_refused_answer_of_a_message_to_many_parks_it_and_no_target_is_called_twice(bed: TestBed) {
    bed.refuse("attempts", "UPDATE", "NEW.target = '7@example.org' AND NEW.outcome = 'delivered'").await;
    let calls = Arc::new(Mutex::new(Vec::new()));
    let log = calls.clone();
    let adapter = Scripted::new("few", move |message| {
        log.lock().unwrap().push(message.address);
        delivered()
    });
    let bed = bed.with(|bed| bed.adapter(adapter.permits(4)));
    bed.channel("memory:default", "few").await;
    let targets: Vec<String> = (0..40).map(|n| format!("{n}@example.org")).collect();
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    bed.list("many", "memory:default", &targets).await;
    let id = bed.accept_one(bed.message_to_list("many")).await;
    let other = bed.accept_one(bed.message("x@example.org")).await;
    bed.tick().await;
    assert_eq!(bed.notification(&other).await.status.as_str(), "delivered");
    let row = bed.notification(&id).await;
    assert_eq!((row.status.as_str(), row.reason_code.as_deref()), ("parked", Some("record-failed")));
    let calls = calls.lock().unwrap().clone();
    let times = |target: &str| calls.iter().filter(|called| *called == target).count();
    assert!(targets.iter().all(|target| times(target) <= 1), "{calls:?}");
    assert_eq!((times("x@example.org"), times("7@example.org")), (1, 1));
    // Of all that were called only one answer is missing.
    let attempts = bed.attempts(&id).await;
    let missing: Vec<&str> =
        attempts.iter().filter(|one| one.outcome.is_none()).map(|one| one.target.as_str()).collect();
    assert_eq!(missing, ["7@example.org"]);
    assert_eq!(attempts.len() + 1, calls.len(), "an intent for each call, and one for the other message");
}

async fn a_message_that_cannot_be_swept_is_parked_and_the_others_are_taken_over(bed: TestBed) {
    let (good, bad) = with_one_poisoned(&bed).await;
    let seq = bed.notification(&bad).await.seq;
    let mut tx = bed.begin().await;
    let rows = punctual_store::notifications::claim(&mut tx, "memory:default", bed.now(), bed.after(60), 100);
    assert_eq!(rows.await.unwrap().len(), 21);
    tx.commit().await.unwrap();
    bed.refuse("notifications", "UPDATE", &format!("NEW.seq = {seq} AND NEW.status = 'retrying'")).await;
    bed.wait(61);
    let swept = bed.engine.sweep_tick(bed.now()).await.unwrap();
    assert_eq!((swept.notifications, swept.parked), (20, 1));
    bed.tick().await;
    for id in good {
        assert_eq!(bed.notification(&id).await.status.as_str(), "delivered");
    }
    assert_eq!(bed.audit("notification", &bad).await, ["park:sweep-failed"]);
}

/// Rows that are decided without reading anything, and rows whose workflow reads first.
async fn work_whose_completion_the_database_refuses_is_put_back_and_its_neighbours_are_done(bed: TestBed) {
    let bed = bed.with(|bed| bed.workflow(TestWorkflow::new("test", |_, _| Decision::Deliver(Vec::new()))));
    for n in 0..10 {
        bed.schedule(&n.to_string(), "t", bed.now()).await;
        bed.ensure_one(new_work("test", &format!("k:{n}"), bed.now())).await;
    }
    let refused = "NEW.status = 'completed' AND NEW.key IN ('schedule:4', 'k:4')";
    bed.refuse("work", "UPDATE", refused).await;
    let report = bed.tick().await.due;
    assert_eq!((report.completed, report.retried), (18, 2));
    for key in ["schedule:4", "k:4"] {
        let row = bed.work(key).await;
        assert_eq!((row.status.as_str(), row.reason_code.as_deref()), ("pending", Some("decision-failed")));
    }
    bed.leaves_open("what the database refuses is retried later");
}

/// The reason of a row that is on hold.
async fn held_for(bed: &TestBed, key: &str) -> Option<String> {
    let row = bed.work(key).await;
    row.reason_code.filter(|_| row.on_hold)
}

async fn work_that_cannot_be_claimed_is_held_and_its_neighbours_are_done(bed: TestBed) {
    let bed = bed.with(|bed| bed.workflow(TestWorkflow::new("test", |_, _| Decision::Deliver(Vec::new()))));
    for n in 0..10 {
        bed.schedule(&n.to_string(), "t", bed.now()).await;
        bed.ensure_one(new_work("test", &format!("k:{n}"), bed.now())).await;
    }
    let refused = "NEW.status IN ('processing', 'completed') AND NEW.key IN ('schedule:4', 'k:4')";
    bed.refuse("work", "UPDATE", refused).await;
    assert_eq!(bed.tick().await.due.completed, 18);
    for key in ["schedule:4", "k:4"] {
        assert_eq!(held_for(&bed, key).await.as_deref(), Some("claim-failed"));
        let id = bed.work(key).await.id.to_string();
        assert_eq!(bed.audit("work", &id).await, ["hold:claim-failed"]);
    }
    assert!(bed.engine.metrics.encode().contains("punctual_rows_isolated_total 2"));
    assert_eq!(bed.tick().await.due.claimed, 0, "they are not claimed again and again");
}

/// What a fault of the disk may leave: a text that is none on SQLite, a value that is missing on PostgreSQL.
async fn work_that_cannot_be_read_is_held_and_its_neighbours_are_done(bed: TestBed) {
    let bed = bed.with(|bed| bed.workflow(TestWorkflow::new("test", |_, _| Decision::Deliver(Vec::new()))));
    for n in 0..10 {
        bed.schedule(&n.to_string(), "t", bed.now()).await;
        bed.ensure_one(new_work("test", &format!("k:{n}"), bed.now())).await;
    }
    // tidy-allow: damage is done behind the store's back
    let sqlite = "UPDATE work SET input = CAST(X'ff' AS TEXT) WHERE key IN ('schedule:4', 'k:4')";
    // tidy-allow: damage is done behind the store's back
    let postgres = "ALTER TABLE work ALTER COLUMN input DROP NOT NULL; UPDATE work SET input = NULL WHERE key IN ('schedule:4', 'k:4')";
    bed.behind_the_store(sqlite, postgres).await;
    assert_eq!(bed.tick().await.due.completed, 18);
    assert!(bed.engine.metrics.encode().contains("punctual_rows_isolated_total 2"));
    assert_eq!(bed.tick().await.due.claimed, 0, "they are not claimed again and again");
    // tidy-allow: and so is the repair
    let repaired = "UPDATE work SET input = '{}' WHERE key IN ('schedule:4', 'k:4')";
    bed.behind_the_store(repaired, repaired).await;
    for key in ["schedule:4", "k:4"] {
        assert_eq!(held_for(&bed, key).await.as_deref(), Some("claim-failed"));
        let id = bed.work(key).await.id.to_string();
        assert_eq!(bed.audit("work", &id).await, ["hold:claim-failed"]);
    }
}

async fn long_running_work_that_cannot_be_claimed_is_held_and_the_next_is_done(bed: TestBed) {
    let long =
        TestWorkflow::new("long", |_, _| Decision::Deliver(Vec::new())).prepared_by(|_| async { Ok(()) });
    let bed = bed.with(|bed| bed.workflow(long));
    for key in ["bad:1", "good:1", "good:2"] {
        bed.ensure_one(new_work("long", key, bed.now())).await;
    }
    bed.refuse("work", "UPDATE", "NEW.status = 'processing' AND NEW.key = 'bad:1'").await;
    assert_eq!(bed.tick().await.due.completed, 2);
    assert_eq!(held_for(&bed, "bad:1").await.as_deref(), Some("claim-failed"));
}

async fn work_that_nobody_may_touch_keeps_neither_its_kind_nor_another_from_its_turn(bed: TestBed) {
    let done = |kind| TestWorkflow::new(kind, |_, _| Decision::Deliver(Vec::new()));
    let bed = bed.with(|bed| bed.workflow(done("first")).workflow(done("second")));
    for n in 0..10 {
        bed.ensure_one(new_work("first", &format!("k:{n}"), bed.now())).await;
    }
    bed.refuse("work", "UPDATE", "NEW.key = 'k:4'").await;
    assert_eq!(bed.engine.due_tick(bed.now(), 100).await.unwrap().completed, 9);
    bed.ensure_one(new_work("second", "other:1", bed.now())).await;
    let fault = bed.engine.due_tick(bed.now(), 100).await.unwrap_err();
    assert!(!fault.is_unavailable(), "{fault:?}");
    assert_eq!(bed.work("other:1").await.status.as_str(), "completed");
    assert_eq!(bed.work("k:4").await.status.as_str(), "pending");
    bed.leaves_open("a row that the database does not let anybody touch");
}

/// Waits until this notification has that status.
async fn becomes(bed: &TestBed, id: &str, status: &str) {
    signal("the status", async {
        while bed.notification(id).await.status.as_str() != status {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

async fn a_channel_that_fails_at_its_claim_keeps_no_other_from_sending(bed: TestBed) {
    bed.channel("memory:broken", "memory").await;
    // No row of this channel can be claimed or parked.
    bed.refuse("notifications", "UPDATE", "NEW.channel = 'memory:broken'").await;
    let stuck = bed.accept_one(bed.message_over("memory:broken", &["a@example.org"])).await;
    let running = bed.engine.run();
    for n in 0..3 {
        let id = bed.accept_one(bed.message(&format!("{n}@example.org"))).await;
        becomes(&bed, &id, "delivered").await;
    }
    assert_eq!(bed.notification(&stuck).await.status.as_str(), "pending");
    running.stop().await;
    bed.leaves_open("a row that the database does not let anybody touch");
}

fn to_many(bed: &TestBed, channel: &str, name: &str, count: usize) -> NewNotification {
    let targets: Vec<String> = (0..count).map(|n| format!("{name}{n}@example.org")).collect();
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    bed.message_over(channel, &targets)
}

fn alarm(bed: &TestBed, channel: &str) -> NewNotification {
    let mut new = bed.message_over(channel, &["alarm@example.org"]);
    new.priority = Priority::Alarm.number();
    new
}

async fn an_alarm_leaves_while_a_list_has_all_other_permits(bed: TestBed) {
    let (gate, adapter) = Gated::new("gated");
    let bed = bed.with(|bed| bed.adapter(adapter.permits(10)));
    bed.channel("gated:default", "gated").await;
    let running = bed.engine.run();
    let list = bed.accept_one(to_many(&bed, "gated:default", "p", 100)).await;
    for _ in 0..9 {
        assert!(gate.arrived().await.address.starts_with('p'));
    }
    let id = bed.accept_one(alarm(&bed, "gated:default")).await;
    assert_eq!(gate.arrived().await.address, "alarm@example.org", "no call has ended yet");
    gate.let_go(101);
    becomes(&bed, &id, "delivered").await;
    becomes(&bed, &list, "delivered").await;
    running.stop().await;
}

async fn an_alarm_takes_the_next_free_permit_where_there_are_few(bed: TestBed) {
    let (gate, adapter) = Gated::new("gated");
    let bed = bed.with(|bed| bed.adapter(adapter.permits(2)));
    bed.channel("gated:default", "gated").await;
    let running = bed.engine.run();
    let list = bed.accept_one(to_many(&bed, "gated:default", "p", 50)).await;
    gate.arrived().await;
    gate.arrived().await;
    let id = bed.accept_one(alarm(&bed, "gated:default")).await;
    // The alarm is claimed once it has a permit; until a call ends there is none.
    let mut before = 0;
    loop {
        gate.let_go(1);
        match gate.arrived().await.address.as_str() {
            "alarm@example.org" => break,
            _ => before += 1,
        }
    }
    // Until the delivery loop has seen it, the list goes on; the order of those who wait is proved with the permits.
    assert!(before <= 10, "{before} calls of the list were started before the alarm");
    gate.let_go(60);
    becomes(&bed, &id, "delivered").await;
    becomes(&bed, &list, "delivered").await;
    running.stop().await;
}

async fn two_messages_to_many_share_a_channel(bed: TestBed) {
    let (gate, adapter) = Gated::new("gated");
    let bed = bed.with(|bed| bed.adapter(adapter.permits(2)));
    bed.channel("gated:default", "gated").await;
    let running = bed.engine.run();
    let first = bed.accept_one(to_many(&bed, "gated:default", "p", 60)).await;
    gate.arrived().await;
    gate.arrived().await;
    let second = bed.accept_one(to_many(&bed, "gated:default", "q", 60)).await;
    let (mut of_first, mut of_second) = (0, 0);
    for _ in 0..40 {
        gate.let_go(1);
        match gate.arrived().await.address.starts_with('p') {
            true => of_first += 1,
            false => of_second += 1,
        }
    }
    assert!(of_second >= 10, "{of_first} calls for the first message, {of_second} for the second");
    gate.let_go(120);
    becomes(&bed, &first, "delivered").await;
    becomes(&bed, &second, "delivered").await;
    running.stop().await;
}

async fn a_changed_spelling_in_a_list_messages_nobody_twice(bed: TestBed) {
    let fails = Arc::new(AtomicUsize::new(1));
    let left = fails.clone();
    let adapter = Scripted::new("flaky", move |message| {
        let fails = message.address.starts_with("cy")
            && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
        if fails {
            SendOutcome::Transient { error: "451 later".into(), retry_after: None }
        } else {
            delivered()
        }
    });
    let calls = Arc::new(Mutex::new(Vec::new()));
    let log = calls.clone();
    let logged = Scripted::future("logged", move |message| {
        log.lock().unwrap().push(message.address.clone());
        let send = adapter.clone();
        async move { punctual_model::Channel::send(&send, message).await }
    });
    let bed = bed.with(|bed| bed.adapter(logged));
    bed.channel("email:logged", "logged").await;
    bed.list("team", "email:logged", &["Ann@Example.org", "cy@example.org"]).await;
    let id = bed.accept_one(bed.message_to_list("team")).await;
    bed.tick().await;
    bed.list("team", "email:logged", &["ann@example.org", "ANN@example.org", "cy@example.org"]).await;
    bed.run_for(120).await;
    assert_eq!(bed.notification(&id).await.status.as_str(), "delivered");
    // Two calls at once come in any order.
    let mut calls = calls.lock().unwrap().clone();
    calls.sort_unstable();
    assert_eq!(calls, ["Ann@Example.org", "cy@example.org", "cy@example.org"]);
}

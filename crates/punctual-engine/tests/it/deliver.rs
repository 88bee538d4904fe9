//! Delivery: who gets a message, what its answers mean, and what is retried.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use punctual_channels::Misbehaviour;
use punctual_engine::Actor;
use punctual_model::{AttemptOutcome, NotificationStatus, Outgoing, Reach, ReasonCode, SendOutcome};
use punctual_store::notifications;
use punctual_testkit::{Gated, Scripted, TestBed, channel::delivered, on_both, signal};
use serde_json::json;

on_both! {
    a_channel_made_on_another_node_a_moment_ago_parks_nothing;
    a_message_is_delivered_and_says_when_and_how;
    a_transient_failure_is_retried_after_the_interval_and_then_parked;
    a_permanent_failure_is_parked_at_once_with_its_reason;
    r12_exponential_backoff_stays_in_its_band;
    r12_a_wish_to_come_back_later_is_honoured_up_to_a_day;
    who_already_has_it_does_not_get_it_again;
    one_target_refused_for_good_does_not_keep_it_from_the_others;
    an_operators_retry_goes_to_those_who_refused_and_nobody_else;
    a_list_is_resolved_when_it_is_delivered;
    a_list_that_is_not_known_parks_the_message;
    a_list_that_is_made_in_time_is_used;
    a_list_without_anybody_parks_the_message;
    a_message_to_nobody_is_parked;
    a_channel_that_is_not_known_parks_the_message;
    a_channel_that_cannot_be_opened_says_why;
    a_list_that_moves_to_another_channel_takes_its_messages_along;
    an_address_written_twice_gets_it_once;
    the_more_urgent_goes_first;
    a_panicking_channel_parks_its_message_and_harms_no_other;
    a_channel_that_hangs_is_uncertain_and_holds_back_no_other;
    a_result_that_could_not_be_written_is_written_again;
    a_changed_channel_is_opened_again;
    r07_a_late_result_is_kept_and_changes_nothing;
    r07_a_late_yes_keeps_the_next_try_away;
    the_timeline_of_a_message_is_made_from_what_is_stored;
}

/// Puts a channel `name:default` over a scripted adapter.
async fn scripted(bed: &TestBed, adapter: Scripted) -> TestBed {
    let name = punctual_model::Adapter::name(&adapter);
    let bed = bed.with(|bed| bed.adapter(adapter));
    bed.channel(&format!("{name}:default"), name).await;
    bed
}

fn misbehave(bed: &TestBed, outcome: Misbehaviour, times: u64) {
    bed.captured.misbehave("memory:default".parse().unwrap(), outcome, times, "so the test wants it");
}

async fn a_message_is_delivered_and_says_when_and_how(bed: TestBed) {
    let id = bed.accept_one(bed.message("a@example.org")).await;
    bed.wait(5);
    let report = bed.tick().await.deliveries;
    assert_eq!((report.claimed, report.delivered), (1, 1));
    let row = bed.notification(&id).await;
    let now = bed.now();
    assert_eq!((row.status.as_str(), row.retry_count, row.attempts), ("delivered", 1, 1));
    assert_eq!((row.delivered_at, row.finished_at, row.last_attempt_at), (Some(now), Some(now), Some(now)));
    assert_eq!((row.lease_expires_at, row.last_error), (None, None));
    let attempt = &bed.attempts(&id).await[0];
    assert_eq!((attempt.target.as_str(), attempt.n, attempt.node.as_str()), ("a@example.org", 1, "a"));
    assert_eq!(
        (attempt.outcome.map(AttemptOutcome::as_str), attempt.provider_id.as_deref()),
        (Some("delivered"), Some("mem-1"))
    );
}

async fn a_transient_failure_is_retried_after_the_interval_and_then_parked(bed: TestBed) {
    let id = bed.accept_one(bed.message("a@example.org")).await;
    misbehave(&bed, Misbehaviour::Transient, 99);
    for made in 1..=3 {
        assert_eq!(bed.tick().await.deliveries.retrying, 1);
        let row = bed.notification(&id).await;
        assert_eq!((row.status.as_str(), row.retry_count), ("retrying", made));
        assert_eq!(row.ready_at, bed.after(60));
        assert_eq!(row.last_error.as_deref(), Some("so the test wants it"));
        bed.wait(59);
        assert_eq!(bed.tick().await.deliveries.claimed, 0);
        bed.wait(1);
    }
    assert_eq!(bed.tick().await.deliveries.parked, 1);
    let row = bed.notification(&id).await;
    assert_eq!((row.status.as_str(), row.reason_code.as_deref()), ("parked", Some("retries-exhausted")));
    assert_eq!(row.retry_count, 4, "the number of attempts made");
    assert_eq!(bed.audit("notification", &id).await, ["park:retries-exhausted"]);
    assert_eq!(bed.run_for(86_400).await.done.deliveries.claimed, 0);
}

async fn a_permanent_failure_is_parked_at_once_with_its_reason(bed: TestBed) {
    let id = bed.accept_one(bed.message("a@example.org")).await;
    misbehave(&bed, Misbehaviour::Permanent, 1);
    assert_eq!(bed.tick().await.deliveries.parked, 1);
    let row = bed.notification(&id).await;
    assert_eq!(row.reason_code.as_deref(), Some("rejected-by-receiver"));
    assert_eq!(row.last_error.as_deref(), Some("so the test wants it"));
    assert_eq!(bed.audit("notification", &id).await, ["park:rejected-by-receiver"]);
}

async fn r12_exponential_backoff_stays_in_its_band(bed: TestBed) {
    let retry = json!({ "policy": "exponential", "max": 5, "intervalSeconds": 60, "capSeconds": 300, "jitterPercent": 20 });
    // The circuit is as it ships: what fails again and again beside messages that arrive has its own retries.
    let adapter = Scripted::new("backoff", |message| match message.address.starts_with("well") {
        true => delivered(),
        false => SendOutcome::Transient { error: "busy".into(), retry_after: None },
    });
    let bed = bed.with(|bed| bed.adapter(adapter));
    bed.put_channel("backoff:default", "backoff", retry, false, json!({})).await;
    let arrives = async || {
        bed.accept_one(bed.message_over("backoff:default", &["well@example.org"])).await;
        assert_eq!(bed.engine.delivery_tick(bed.now(), 1).await.unwrap().delivered, 1);
    };
    let failing =
        (0..9).map(|n| bed.message_over("backoff:default", &[&format!("{n}@example.org")])).collect();
    bed.accept(failing).await;
    for full in [60, 120, 240, 300, 300] {
        assert_eq!(bed.engine.delivery_tick(bed.now(), 100).await.unwrap().retrying, 9);
        let (earliest, latest) = (bed.after(full * 8 / 10), bed.after(full));
        let rows = bed.notifications().await;
        let waiting = rows.iter().filter(|row| row.status == NotificationStatus::Retrying);
        let moments: Vec<_> = waiting.map(|row| row.ready_at).collect();
        assert_eq!(moments.len(), 9);
        for at in &moments {
            assert!((earliest..=latest).contains(at), "{full}: {at}");
        }
        assert!(moments.iter().max() > moments.iter().min(), "they do not all come back at once");
        arrives().await;
        bed.clock.set(latest);
    }
    assert_eq!(bed.engine.delivery_tick(bed.now(), 100).await.unwrap().parked, 9);
    assert!(bed.engine.policy.circuits().is_empty(), "the channel itself works");
}

async fn r12_a_wish_to_come_back_later_is_honoured_up_to_a_day(bed: TestBed) {
    let wishes = [(10, 60), (600, 600), (7 * 86_400, 86_400)];
    for (asked, waited) in wishes {
        let adapter = Scripted::new("polite", move |_| SendOutcome::Transient {
            error: "429".into(),
            retry_after: Some(Duration::from_secs(asked)),
        });
        let bed = scripted(&bed, adapter).await;
        let id = bed.accept_one(bed.message_over("polite:default", &["a@example.org"])).await;
        let report = bed.engine.delivery_tick(bed.now(), 10).await.unwrap();
        assert_eq!(report.retrying, 1);
        assert_eq!(bed.notification(&id).await.ready_at, bed.after(waited), "asked {asked}");
    }
    bed.leaves_open("they are retried later");
}

async fn who_already_has_it_does_not_get_it_again(bed: TestBed) {
    bed.list("team", "memory:default", &["a@example.org", "b@example.org", "c@example.org"]).await;
    let failing = Arc::new(Mutex::new(true));
    let sent = Arc::new(Mutex::new(Vec::new()));
    let (fails, log) = (failing.clone(), sent.clone());
    let bed = scripted(
        &bed,
        Scripted::new("partial", move |message: Outgoing| {
            log.lock().unwrap().push(message.address.clone());
            if message.address == "b@example.org" && *fails.lock().unwrap() {
                return SendOutcome::Transient { error: "busy".into(), retry_after: None };
            }
            delivered()
        }),
    )
    .await;
    bed.list("team", "partial:default", &["a@example.org", "b@example.org", "c@example.org"]).await;
    let id = bed.accept_one(bed.message_to_list("team")).await;
    assert_eq!(bed.tick().await.deliveries.retrying, 1);
    let row = bed.notification(&id).await;
    assert_eq!(row.last_error.as_deref(), Some("b@example.org: busy"));
    *failing.lock().unwrap() = false;
    assert_eq!(bed.run_for(60).await.done.deliveries.delivered, 1);
    let mut sent = sent.lock().unwrap().clone();
    sent[..3].sort();
    assert_eq!(sent, ["a@example.org", "b@example.org", "c@example.org", "b@example.org"]);
    assert_eq!(bed.attempts(&id).await.len(), 4);
}

/// A channel that refuses these addresses for good, until the test says otherwise.
async fn refusing(
    bed: &TestBed,
    refused: &'static [&'static str],
) -> (TestBed, Arc<Mutex<bool>>, Arc<Mutex<Vec<String>>>) {
    let (refuses, sent) = (Arc::new(Mutex::new(true)), Arc::new(Mutex::new(Vec::new())));
    let (inner, log) = (refuses.clone(), sent.clone());
    let adapter = Scripted::new("choosy", move |message: Outgoing| {
        log.lock().unwrap().push(message.address.clone());
        if *inner.lock().unwrap() && refused.contains(&message.address.as_str()) {
            return SendOutcome::Permanent { reason: ReasonCode::MailboxUnavailable, error: "550".into() };
        }
        delivered()
    });
    (scripted(bed, adapter).await, refuses, sent)
}

async fn one_target_refused_for_good_does_not_keep_it_from_the_others(bed: TestBed) {
    let (bed, _, sent) = refusing(&bed, &["b@example.org"]).await;
    let id = bed.accept_one(bed.message_over("choosy:default", &["a@example.org", "b@example.org"])).await;
    assert_eq!(bed.tick().await.deliveries.parked, 1);
    let row = bed.notification(&id).await;
    assert_eq!(
        (row.reason_code.as_deref(), row.last_error.as_deref()),
        (Some("mailbox-unavailable"), Some("b@example.org: 550"))
    );
    assert_eq!(sent.lock().unwrap().len(), 2);
    let outcomes: Vec<_> =
        bed.attempts(&id).await.into_iter().map(|one| (one.target, one.outcome.unwrap().as_str())).collect();
    assert_eq!(outcomes, [("a@example.org".into(), "delivered"), ("b@example.org".into(), "permanent")]);
}

async fn an_operators_retry_goes_to_those_who_refused_and_nobody_else(bed: TestBed) {
    let (bed, refuses, sent) = refusing(&bed, &["b@example.org"]).await;
    let id = bed.accept_one(bed.message_over("choosy:default", &["a@example.org", "b@example.org"])).await;
    bed.tick().await;
    *refuses.lock().unwrap() = false;
    let retried = bed.engine.retry_notification(&Actor::named("ann"), &id, None).await.unwrap();
    assert_eq!((retried.status.as_str(), retried.retry_count, retried.reason_code), ("pending", 0, None));
    assert_eq!(bed.tick().await.deliveries.delivered, 1);
    assert_eq!(sent.lock().unwrap()[2..], ["b@example.org"]);
    assert_eq!(
        bed.audit("notification", &id).await,
        ["park:mailbox-unavailable", "retry:mailbox-unavailable"]
    );
}

async fn a_list_is_resolved_when_it_is_delivered(bed: TestBed) {
    bed.list("ops", "memory:default", &["old@example.org"]).await;
    let id = bed.accept_one(bed.message_to_list("ops")).await;
    bed.list("ops", "memory:default", &["new@example.org", "second@example.org"]).await;
    assert_eq!(bed.tick().await.deliveries.delivered, 1);
    let mut sent = bed.sent_to();
    sent.sort();
    assert_eq!(sent, ["new@example.org", "second@example.org"]);
    assert_eq!(bed.attempts(&id).await.len(), 2);
}

async fn parked_because(bed: &TestBed, id: &str, reason: &str, error: &str) {
    assert_eq!(bed.tick().await.deliveries.parked, 1);
    let row = bed.notification(id).await;
    assert_eq!((row.status.as_str(), row.reason_code.as_deref()), ("parked", Some(reason)));
    assert_eq!(row.last_error.as_deref(), Some(error));
    assert_eq!(bed.audit("notification", id).await, [format!("park:{reason}")]);
    assert!(bed.attempts(id).await.is_empty());
    assert!(bed.sent().is_empty());
}

async fn a_list_that_is_not_known_parks_the_message(bed: TestBed) {
    let id = bed.accept_one(bed.message_to_list("nobody-made-it")).await;
    parked_because(&bed, &id, "list-unknown", "there is no list `nobody-made-it`").await;
}

async fn a_list_that_is_made_in_time_is_used(bed: TestBed) {
    let id = bed.accept_one(bed.message_to_list("late")).await;
    bed.list("late", "memory:default", &["a@example.org"]).await;
    assert_eq!(bed.tick().await.deliveries.delivered, 1);
    assert_eq!(bed.notification(&id).await.channel.as_str(), "memory:default");
}

async fn a_list_without_anybody_parks_the_message(bed: TestBed) {
    bed.list("empty", "memory:default", &[]).await;
    let id = bed.accept_one(bed.message_to_list("empty")).await;
    parked_because(&bed, &id, "no-recipients", "there is nobody to send it to").await;
}

async fn a_message_to_nobody_is_parked(bed: TestBed) {
    let id = bed.accept_one(bed.message_over("memory:default", &[])).await;
    parked_because(&bed, &id, "no-recipients", "there is nobody to send it to").await;
}

async fn a_channel_that_is_not_known_parks_the_message(bed: TestBed) {
    let id = bed.accept_one(bed.message_over("sms:nowhere", &["a@example.org"])).await;
    parked_because(&bed, &id, "no-channel", "there is no channel `sms:nowhere`").await;
    bed.channel("sms:nowhere", "memory").await;
    bed.engine.retry_notification(&Actor::named("ann"), &id, None).await.unwrap();
    assert_eq!(bed.tick().await.deliveries.delivered, 1, "once it is there, a retry is sent");
}

async fn a_channel_that_cannot_be_opened_says_why(bed: TestBed) {
    bed.channel("sms:odd", "carrier-pigeon").await;
    let id = bed.accept_one(bed.message_over("sms:odd", &["a@example.org"])).await;
    let error = "the channel `sms:odd` cannot be opened: no adapter `carrier-pigeon`";
    parked_because(&bed, &id, "no-channel", error).await;
}

async fn a_list_that_moves_to_another_channel_takes_its_messages_along(bed: TestBed) {
    bed.list("ops", "sms:gone", &["a@example.org"]).await;
    let id = bed.accept_one(bed.message_to_list("ops")).await;
    bed.list("ops", "memory:default", &["a@example.org"]).await;
    let report = bed.tick().await.deliveries;
    assert_eq!((report.rerouted, report.delivered), (1, 1));
    assert_eq!(bed.notification(&id).await.channel.as_str(), "memory:default");
}

async fn an_address_written_twice_gets_it_once(bed: TestBed) {
    bed.accept_one(bed.message_over("memory:default", &["a@example.org", "A@Example.org", "a@example.org"]))
        .await;
    assert_eq!(bed.tick().await.deliveries.delivered, 1);
    assert_eq!(bed.sent_to(), ["a@example.org"]);
}

async fn the_more_urgent_goes_first(bed: TestBed) {
    let mut items = Vec::new();
    for (address, priority) in
        [("ordinary@example.org", 5), ("late@example.org", 9), ("urgent@example.org", 0)]
    {
        let mut new = bed.message(address);
        new.priority = priority;
        items.push(new);
    }
    bed.accept(items).await;
    while bed.engine.delivery_tick(bed.now(), 1).await.unwrap().claimed > 0 {}
    assert_eq!(bed.sent_to(), ["urgent@example.org", "ordinary@example.org", "late@example.org"]);
}

async fn a_panicking_channel_parks_its_message_and_harms_no_other(bed: TestBed) {
    let bed = scripted(&bed, Scripted::panicking("panicking")).await;
    let id = bed.accept_one(bed.message_over("panicking:default", &["a@example.org"])).await;
    bed.accept_to(&["b@example.org"]).await;
    let report = bed.tick().await.deliveries;
    assert_eq!((report.parked, report.delivered), (1, 1));
    assert_eq!(bed.notification(&id).await.reason_code.as_deref(), Some("panic"));
}

async fn a_channel_that_hangs_is_uncertain_and_holds_back_no_other(bed: TestBed) {
    let bed = scripted(&bed, Scripted::hanging("hanging", Duration::from_millis(50))).await;
    let id = bed.accept_one(bed.message_over("hanging:default", &["a@example.org"])).await;
    bed.accept_to(&["b@example.org"]).await;
    let report = bed.tick().await.deliveries;
    assert_eq!((report.retrying, report.delivered), (1, 1));
    let row = bed.notification(&id).await;
    assert_eq!((row.status.as_str(), row.uncertain), ("retrying", 1));
    bed.leaves_open("it is retried later");
}

/// A store that fails once after the send must not cost a second send.
async fn a_result_that_could_not_be_written_is_written_again(bed: TestBed) {
    for (statement, executes) in
        [("attempts.record", false), ("notifications.settle", true), ("commit", false), ("commit", true)]
    {
        let before = bed.sent().len();
        let ids = bed.accept_to(&["a@example.org", "b@example.org"]).await;
        let now = bed.now();
        // The claim has a commit of its own, which must not be the one that fails.
        let (gate, adapter) = Gated::new("gated");
        let gated = scripted(&bed, adapter).await;
        let id = gated.accept_one(gated.message_over("gated:default", &["c@example.org"])).await;
        let engine = gated.engine.clone();
        let sending = tokio::spawn(async move { engine.delivery_tick(now, 10).await });
        gate.arrived().await;
        gated.faults.fail(statement, executes, 1);
        gate.let_go(1);
        let report = signal("the tick's end", sending).await.unwrap().unwrap();
        assert_eq!((report.delivered, report.lost), (3, 0), "{statement} {executes}");
        assert_eq!(bed.notification(&id).await.status.as_str(), "delivered");
        assert_eq!(bed.notification(&ids[0]).await.status.as_str(), "delivered");
        assert_eq!(bed.audit("notification", &id).await, [""; 0], "its own settle is no stranger's");
        assert_eq!(bed.sent().len(), before + 2);
    }
}

async fn a_changed_channel_is_opened_again(bed: TestBed) {
    bed.channel_with("memory:x", "memory", json!({ "max": 0, "intervalSeconds": 60 }), false).await;
    bed.engine.delivery_tick(bed.now(), 1).await.unwrap();
    // Removed and made again before anybody looked: the new one counts.
    let mut tx = bed.begin().await;
    punctual_store::channels::delete(&mut tx.conn(), "memory:x").await.unwrap();
    tx.commit().await.unwrap();
    bed.wait(1);
    bed.channel_with("memory:x", "memory", json!({ "max": 3, "intervalSeconds": 60 }), false).await;
    bed.captured.misbehave("memory:x".parse().unwrap(), Misbehaviour::Transient, 1, "busy");
    bed.accept_one(bed.message_over("memory:x", &["a@example.org"])).await;
    assert_eq!(bed.tick().await.deliveries.retrying, 1, "the new policy has attempts left");
    assert_eq!(bed.run_for(60).await.done.deliveries.delivered, 1);
}

/// A sender that stalls between the provider's yes and its own record, longer than its lease.
async fn r07_a_late_result_is_kept_and_changes_nothing(bed: TestBed) {
    let (gate, adapter) = Gated::new("gated");
    let bed = scripted(&bed, adapter).await;
    let id = bed.accept_one(bed.message_over("gated:default", &["a@example.org"])).await;
    let (engine, now) = (bed.engine.clone(), bed.now());
    let stalled = tokio::spawn(async move { engine.delivery_tick(now, 10).await });
    let first = gate.arrived().await;

    // The stalled node's clock stands still; another node sees the lease run out and sends again.
    let other = bed.node("b").await;
    let later = bed.after(3600);
    assert_eq!(other.engine.sweep_tick(later).await.unwrap().uncertain, 1);
    let engine = other.engine.clone();
    let second_attempt = tokio::spawn(async move { engine.delivery_tick(later, 10).await });
    let second = gate.arrived().await;
    assert_eq!(first.message_id, second.message_id, "a receiver that looks at the id is not troubled");
    assert_eq!((first.attempt, second.attempt), (1, 2));

    let before = bed.notification(&id).await;
    gate.let_go(1);
    let stalled = signal("the stalled sender's end", stalled).await.unwrap().unwrap();
    assert_eq!((stalled.lost, stalled.delivered), (1, 0));
    assert_eq!(bed.notification(&id).await, before, "the late result changed nothing");
    gate.let_go(1);
    let done = signal("the second sender's end", second_attempt).await.unwrap().unwrap();
    assert_eq!((done.delivered, done.lost), (1, 0));
    let row = bed.notification(&id).await;
    assert_eq!((row.status.as_str(), row.uncertain), ("delivered", 1));
    assert_eq!(bed.audit("notification", &id).await, ["uncertain:outcome-unknown", "late-result"]);
    let outcomes: Vec<_> =
        bed.attempts(&id).await.into_iter().map(|one| (one.n, one.outcome.unwrap().as_str())).collect();
    assert_eq!(outcomes, [(1, "delivered"), (2, "delivered")], "the late answer is the truth");
}

async fn r07_a_late_yes_keeps_the_next_try_away(bed: TestBed) {
    let (gate, adapter) = Gated::new("gated");
    let bed = scripted(&bed, adapter).await;
    let id = bed.accept_one(bed.message_over("gated:default", &["a@example.org"])).await;
    let (engine, now) = (bed.engine.clone(), bed.now());
    let stalled = tokio::spawn(async move { engine.delivery_tick(now, 10).await });
    gate.arrived().await;
    let later = bed.after(3600);
    assert_eq!(bed.engine.sweep_tick(later).await.unwrap().uncertain, 1);
    gate.let_go(1);
    signal("the stalled sender's end", stalled).await.unwrap().unwrap();
    bed.clock.set(later);
    assert_eq!(bed.tick().await.deliveries.delivered, 1, "nothing waits at the gate any more");
    let attempts = bed.attempts(&id).await;
    assert_eq!((attempts.len(), attempts[0].outcome.map(AttemptOutcome::as_str)), (1, Some("delivered")));
}

async fn the_timeline_of_a_message_is_made_from_what_is_stored(bed: TestBed) {
    let id = bed.accept_one(bed.message("a@example.org")).await;
    misbehave(&bed, Misbehaviour::Transient, 1);
    bed.run_for(60).await;
    let story: Vec<&str> = bed
        .engine
        .timeline(&punctual_model::Reach::Everything, &id)
        .await
        .unwrap()
        .iter()
        .map(|moment| moment.what)
        .collect();
    let expected =
        ["queued", "attemptStarted", "attemptEnded", "attemptStarted", "attemptEnded", "delivered"];
    assert_eq!(story, expected);
    let mut reader = bed.read().await;
    let by_ids = notifications::by_ids(&mut reader.conn(), &Reach::Everything, vec![id]).await.unwrap();
    assert_eq!(by_ids.len(), 1);
}

async fn a_channel_made_on_another_node_a_moment_ago_parks_nothing(bed: TestBed) {
    let other = bed.node("b").await;
    other.tick().await;
    // The clock stands still: as far as the other node knows, its definitions are fresh.
    bed.channel("memory:new", "memory").await;
    let id = bed.accept_one(bed.message_over("memory:new", &["a@example.org"])).await;
    let gone = bed.accept_one(bed.message_over("memory:none", &["b@example.org"])).await;
    other.tick().await;
    assert_eq!(bed.notification(&id).await.status.as_str(), "delivered");
    assert_eq!(bed.notification(&gone).await.reason_code.as_deref(), Some("no-channel"));
}

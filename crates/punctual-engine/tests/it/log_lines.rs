//! What will not go on by itself is one line in the log, with ids in the documented fields.
//!
//! Every test of the engine looks for these lines when it ends (`test_bed/warned.rs` of the testkit), so that each way into
//! such a state that any test goes is covered. Here are the shape of the lines, and every reason there is.

use punctual_engine::restored::mark_restored;
use punctual_model::{Decision, ReasonCode, SendOutcome};
use punctual_store::{attempts, notifications};
use punctual_testkit::{Scripted, TestBed, TestWorkflow, log, new_work, on_both};
use serde_json::{Value, json};

on_both! {
    every_hold_park_failure_and_uncertain_attempt_is_a_warning_with_its_id;
    whatever_the_reason_of_a_hold_a_park_or_a_failure_it_is_in_its_warning;
    a_sweep_and_a_restore_log_what_they_park_and_what_they_are_in_doubt_about;
}

const IN_DOUBT: &str = "an attempt may or may not have reached its target";

/// The one warning with this message about this id.
fn warning(message: &str, field: &str, id: &str) -> Value {
    let is_it = |line: &Value| line["message"] == message && line[field] == id;
    let mut found: Vec<Value> = log::warnings().into_iter().filter(is_it).collect();
    assert_eq!(found.len(), 1, "{message} with {field} {id}: {}", log::text());
    found.remove(0)
}

async fn every_hold_park_failure_and_uncertain_attempt_is_a_warning_with_its_id(bed: TestBed) {
    let bed = bed.with(|bed| {
        bed.workflow(TestWorkflow::new("test", |row, _| match row.key.as_str() {
            "k:hold" => Decision::Hold(ReasonCode::MessageMissing),
            _ => Decision::Fail(ReasonCode::DefinitionInvalid),
        }))
        .adapter(Scripted::new("silent", |_| SendOutcome::Uncertain { error: "no answer".into() }))
    });
    bed.channel("sms:default", "silent").await;
    let due = bed.now();
    bed.ensure(&[new_work("test", "k:hold", due), new_work("test", "k:fail", due)]).await;
    let parked = bed.accept_one(bed.message_over("teams:nowhere", &["x"])).await;
    let uncertain = bed.accept_one(bed.message_over("sms:default", &["x"])).await;
    bed.tick().await;
    let (held, failed) = (bed.work("k:hold").await, bed.work("k:fail").await);
    assert!(held.on_hold);
    let line = warning("on hold", "work.id", &held.id.to_string());
    assert_eq!(line["reason"], ReasonCode::MessageMissing.as_str());
    let line = warning("failed", "work.id", &failed.id.to_string());
    assert_eq!(line["reason"], ReasonCode::DefinitionInvalid.as_str());
    let line = warning("parked", "notification.id", &parked);
    assert_eq!(line["reason"], "no-channel");
    let line = warning(IN_DOUBT, "notification.id", &uncertain);
    assert_eq!((&line["channel.key"], &line["attempt"]), (&"sms:default".into(), &1.into()));
    assert_eq!((&line["targets"], &line["error"]), (&1.into(), &"no answer".into()));
    bed.leaves_open("an uncertain attempt is repeated later, and the row on hold waits for a person");
}

/// A new reason is in it by itself.
async fn whatever_the_reason_of_a_hold_a_park_or_a_failure_it_is_in_its_warning(bed: TestBed) {
    let reason = |text: &str| text.rsplit(':').next().unwrap().parse::<ReasonCode>().unwrap();
    let bed = bed.with(|bed| {
        bed.workflow(TestWorkflow::new("test", move |row, _| match row.key.as_str().split(':').nth(1) {
            Some("hold") => Decision::Hold(reason(&row.key)),
            _ => Decision::Fail(reason(&row.key)),
        }))
        .adapter(Scripted::new("refusing", move |message| SendOutcome::Permanent {
            reason: reason(&message.address),
            error: "no".into(),
        }))
    });
    bed.channel("sms:default", "refusing").await;
    let (mut works, mut messages) = (Vec::new(), Vec::new());
    for code in ReasonCode::all() {
        works.push(new_work("test", &format!("k:hold:{code}"), bed.now()));
        works.push(new_work("test", &format!("k:fail:{code}"), bed.now()));
        messages.push((*code, bed.message_over("sms:default", &[&format!("to:{code}")])));
    }
    bed.ensure(&works).await;
    bed.accept(messages.iter().map(|(_, message)| message.clone()).collect()).await;
    bed.tick().await;
    for (code, message) in messages {
        let held = bed.work(&format!("k:hold:{code}")).await.id.to_string();
        assert_eq!(warning("on hold", "work.id", &held)["reason"], code.as_str());
        let failed = bed.work(&format!("k:fail:{code}")).await.id.to_string();
        assert_eq!(warning("failed", "work.id", &failed)["reason"], code.as_str());
        let parked = warning("parked", "notification.id", &message.id.to_string());
        assert_eq!(parked["reason"], code.as_str());
    }
}

async fn a_sweep_and_a_restore_log_what_they_park_and_what_they_are_in_doubt_about(bed: TestBed) {
    bed.channel_with("memory:once", "memory", json!({ "max": 3, "intervalSeconds": 60 }), true).await;
    let swept = bed.accept_one(bed.message_over("memory:once", &["a@example.org"])).await;
    start_and_die(&bed, "memory:once").await;
    bed.wait(60);
    bed.engine.sweep_tick(bed.now()).await.unwrap();
    assert_eq!(warning("parked", "notification.id", &swept)["reason"], "outcome-unknown");
    warning(IN_DOUBT, "notification.id", &swept);

    let restored = bed.accept_one(bed.message("b@example.org")).await;
    start_and_die(&bed, "memory:default").await;
    mark_restored(&bed.store, bed.now(), None).await.unwrap();
    bed.engine.hold_restored(bed.now()).await.unwrap();
    assert_eq!(warning("parked", "notification.id", &restored)["reason"], "restored");
    assert_eq!(warning(IN_DOUBT, "notification.id", &restored)["channel.key"], "memory:default");
}

/// A node that claims messages, writes that their calls start, and dies.
async fn start_and_die(bed: &TestBed, channel: &str) {
    let mut tx = bed.begin().await;
    let claimed = notifications::claim(&mut tx, channel, bed.now(), bed.after(60), 100).await.unwrap();
    let intents: Vec<_> = claimed
        .iter()
        .map(|row| attempts::Intent {
            seq: row.seq,
            target: "a@example.org".into(),
            n: row.attempts,
            channel: channel.into(),
        })
        .collect();
    attempts::intend(&mut tx.conn(), bed.now(), "dead", &intents).await.unwrap();
    tx.commit().await.unwrap();
}

//! The five log events, with exactly their names and fields; they are a contract with whoever watches the log.

use std::{
    io::Write,
    sync::{Arc, Mutex},
};

use punctual_model::{ReasonCode, SendOutcome};
use punctual_testkit::{Scripted, TestBed, on_both};
use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;

use super::*;

on_both! {
    a_skip_is_logged_with_its_reason;
    a_message_that_arrived_is_logged_for_the_rule_and_for_each_recipient;
    a_message_that_failed_is_logged_for_the_rule_and_for_each_recipient;
    s3_69_every_attempt_is_logged_when_it_is_made_and_once;
    what_could_not_be_scheduled_is_logged_and_not_raised;
}

/// Keeps what is logged on this thread, beside what every test keeps.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        punctual_testkit::log::keep(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Kept {
    type Writer = Self;
    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Kept {
    fn start(&self) -> tracing::subscriber::DefaultGuard {
        let subscriber = tracing_subscriber::fmt().json().with_max_level(tracing::Level::INFO);
        tracing::subscriber::set_default(subscriber.with_writer(self.clone()).finish())
    }

    /// The events of this name: level and fields.
    fn events(&self, name: &str) -> Vec<(String, Value)> {
        let bytes = self.0.lock().unwrap().clone();
        let lines = String::from_utf8(bytes).unwrap();
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let named = lines.filter(|line| line["fields"]["message"] == name);
        named
            .map(|mut line| {
                let level = line["level"].as_str().unwrap().to_owned();
                let mut fields = line["fields"].take();
                fields.as_object_mut().unwrap().remove("message");
                (level, fields)
            })
            .collect()
    }
}

async fn a_skip_is_logged_with_its_reason(bed: TestBed) {
    let logged = Kept::default();
    put_person(&bed, "ann", None, &["email"], json!({})).await;
    let id = create(&bed, &event(&bed, Some(bed.after(60)), None)).await;
    let rule = only_rule(&bed, &id).await;
    let late = create(&bed, &event(&bed, Some(bed.after(-3_600)), None)).await;
    let old = only_rule(&bed, &late).await;
    {
        let _guard = logged.start();
        bed.run_for(60).await;
    }
    let fields = |rule: &RuleRow, reason: &str| {
        json!({ "reason": reason, "notificationRuleId": rule.id, "subjectType": "event",
            "subjectId": rule.subject_id, "kind": "start", "work.key": key_of(rule) })
    };
    let mut nobody = fields(&rule, "no-recipients");
    nobody["why"] = json!("none of its people has an address for the rule's channels");
    let expected = [("INFO".to_owned(), fields(&old, "anchor-in-past")), ("WARN".to_owned(), nobody)];
    assert_eq!(logged.events("notifications.operations.skipped"), expected);
}

async fn a_message_that_arrived_is_logged_for_the_rule_and_for_each_recipient(bed: TestBed) {
    let logged = Kept::default();
    person(&bed, "ann").await;
    person(&bed, "ben").await;
    let mut new = event(&bed, Some(bed.after(60)), None);
    new.people = vec!["ben".into()];
    let id = create(&bed, &new).await;
    let rule = only_rule(&bed, &id).await;
    {
        let _guard = logged.start();
        bed.run_for(60).await;
    }
    let sent = json!({ "recipientCount": 2, "notificationRuleId": rule.id, "subjectType": "event", "subjectId": id, "kind": "start" });
    assert_eq!(logged.events("notifications.operations.sent"), [("INFO".to_owned(), sent)]);
    let reported = |who: &str| {
        let fields =
            json!({ "templateKey": "operations.event.start", "recipient": format!("{who}@example.org") });
        ("INFO".to_owned(), fields)
    };
    assert_eq!(logged.events("notifications.sender.sent"), [reported("ann"), reported("ben")]);
    assert!(logged.events("notifications.operations.failed").is_empty());
}

async fn a_message_that_failed_is_logged_for_the_rule_and_for_each_recipient(bed: TestBed) {
    let bed = bed.with(|builder| {
        builder.adapter(Scripted::new("bad", |_| SendOutcome::Permanent {
            reason: ReasonCode::MailboxUnavailable,
            error: "550 no such mailbox".into(),
        }))
    });
    bed.channel("email:default", "bad").await;
    let logged = Kept::default();
    let id = starting_in(&bed, 60).await;
    let rule = only_rule(&bed, &id).await;
    {
        let _guard = logged.start();
        bed.run_for(60).await;
    }
    let failed = json!({ "errorName": "mailbox-unavailable", "errorMessage": "550 no such mailbox", "notificationRuleId": rule.id });
    assert_eq!(logged.events("notifications.operations.failed"), [("ERROR".to_owned(), failed)]);
    let failed = json!({ "templateKey": "operations.event.start", "recipient": "ann@example.org", "provider": "email:default" });
    assert_eq!(logged.events("notifications.sender.failed"), [("ERROR".to_owned(), failed)]);
    assert!(logged.events("notifications.operations.sent").is_empty());
}

async fn s3_69_every_attempt_is_logged_when_it_is_made_and_once(bed: TestBed) {
    let bed = bed.with(|builder| {
        let calls_of_ben = Arc::new(Mutex::new(0));
        builder.adapter(Scripted::new("flaky", move |message| {
            let mut calls = calls_of_ben.lock().unwrap();
            *calls += i32::from(message.address == "ben@example.org");
            match *calls {
                1 if message.address == "ben@example.org" => {
                    SendOutcome::Transient { error: "451 later".into(), retry_after: None }
                }
                2 if message.address == "ben@example.org" => SendOutcome::Permanent {
                    reason: ReasonCode::RejectedByRelay,
                    error: "554 refused".into(),
                },
                _ => SendOutcome::Delivered { provider_id: "1".into() },
            }
        }))
    });
    bed.channel("email:default", "flaky").await;
    person(&bed, "ann").await;
    person(&bed, "ben").await;
    let mut new = event(&bed, Some(bed.after(60)), None);
    new.people = vec!["ben".into()];
    let id = create(&bed, &new).await;
    let rule = only_rule(&bed, &id).await;
    let log = Kept::default();
    let counts = |log: &Kept| {
        ["operations.failed", "operations.sent", "sender.sent", "sender.failed"]
            .map(|name| log.events(&format!("notifications.{name}")).len())
    };
    {
        let _guard = log.start();
        bed.run_for(60).await;
    }
    // The first attempt: Ann has it, Ben has not. The message has not settled.
    assert_eq!(counts(&log), [1, 0, 1, 1]);
    let failed = |name: &str, message: &str| {
        let fields = json!({ "errorName": name, "errorMessage": message, "notificationRuleId": rule.id });
        ("ERROR".to_owned(), fields)
    };
    let first = failed("transient", "ben@example.org: 451 later");
    assert_eq!(log.events("notifications.operations.failed"), std::slice::from_ref(&first));
    {
        let _guard = log.start();
        bed.run_for(60).await;
    }
    // The second is to Ben alone, and the last: the message is parked, and Ann is not notified again.
    assert_eq!(counts(&log), [2, 1, 1, 2]);
    let second = failed("rejected-by-relay", "554 refused");
    assert_eq!(log.events("notifications.operations.failed"), [first, second]);
    let message = bed.notifications().await.remove(0);
    {
        let _guard = log.start();
        let by = punctual_engine::Actor::named("test");
        bed.engine.retry_notification(&by, &message.id.to_string(), None).await.unwrap();
        bed.run_for(60).await;
    }
    // A person's retry adds what it did, and repeats nothing.
    assert_eq!(counts(&log), [2, 2, 2, 2]);
    let sent = log.events("notifications.sender.sent");
    assert_eq!(sent[1].1["recipient"], "ben@example.org");
    assert_eq!(log.events("notifications.operations.sent")[1].1["recipientCount"], 2);
}

async fn what_could_not_be_scheduled_is_logged_and_not_raised(bed: TestBed) {
    let logged = Kept::default();
    person(&bed, "ann").await;
    bed.faults.fail_every("work.insert_absent", false, 1);
    let id = {
        let _guard = logged.start();
        create(&bed, &event(&bed, Some(bed.after(60)), None)).await
    };
    bed.faults.heal();
    let reported = logged.events("saved, but scheduling failed in part; it is retried");
    assert_eq!(reported.len(), 1);
    let errors = reported[0].1["scheduler_errors"].as_str().unwrap();
    assert!(
        errors.contains(&only_rule(&bed, &id).await.id) && errors.contains("work.insert_absent"),
        "{errors}"
    );
    bed.run_for(120).await;
    assert_eq!(bed.sent().len(), 1);
}

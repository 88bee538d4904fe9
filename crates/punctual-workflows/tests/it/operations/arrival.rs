//! The moment has come: the guards in their order, who is notified, over what, and in which words.

use std::sync::{Arc, Mutex};

use punctual_engine::Actor;
use punctual_model::{Arrival, InputHash, NewWork, ReasonCode, SendOutcome, Trigger, WorkKey};
use punctual_store::operations::rules::RuleRow;
use punctual_testkit::{Scripted, TestBed, on_both};
use serde_json::{Value, json};

use super::*;

on_both! {
    a_payload_that_cannot_be_read_is_skipped;
    a_rule_that_is_not_there_is_skipped;
    a_deleted_rule_that_is_still_scheduled_is_skipped;
    a_paused_rule_that_is_still_scheduled_is_skipped;
    an_occurrence_that_was_sent_is_skipped;
    a_subject_that_is_gone_is_skipped;
    an_event_without_recipients_is_skipped;
    an_old_date_that_is_still_scheduled_is_skipped;
    two_people_behind_one_address_are_notified_once;
    everybody_is_notified_in_their_own_zone_and_language;
    a_template_of_that_name_is_used;
    listeners_hear_of_the_arrival_on_its_topic;
    s3_68_an_arrival_is_published_whatever_the_delivery_decides;
    s3_18_a_rule_s_channel_key_is_the_channel_that_is_used;
    s3_18_a_rule_for_one_type_never_uses_another;
    who_is_not_reached_is_notified_over_their_next_channel;
    only_those_who_were_not_reached_are_notified_another_way;
    without_another_channel_the_message_waits_for_a_person;
    a_person_may_send_it_again_on_purpose;
}

/// A row of ours under any key, with any input.
fn row(bed: &TestBed, key: WorkKey, input: &Value) -> NewWork {
    NewWork {
        key,
        kind: "operations",
        trigger: Trigger::At,
        business_unit: None,
        source: None,
        setting_id: None,
        due_at: bed.now(),
        local: None,
        input_hash: InputHash::of(input),
        input: input.to_string(),
    }
}

fn input(subject: &str, rule: &str) -> Value {
    json!({ "topic": "operations.event.start", "payload": {
        "subjectType": "event", "subjectId": subject, "notificationRuleId": rule, "kind": "start" } })
}

#[track_caller]
fn is_skipped(work: &punctual_store::work::WorkRow, reason: &str) {
    assert_eq!((work.status.as_str(), work.reason_code.as_deref()), ("deactivated", Some(reason)));
}

async fn a_payload_that_cannot_be_read_is_skipped(bed: TestBed) {
    let mut with_data = input("s", "r");
    with_data["payload"]["title"] = json!("mutable data");
    let mut other_topic = input("s", "r");
    other_topic["topic"] = json!("operations.task.end");
    for (n, input) in
        [json!({}), json!({ "topic": "operations.event.start" }), with_data, other_topic].iter().enumerate()
    {
        let key = WorkKey::operations("r", &n.to_string()).unwrap();
        bed.ensure_one(row(&bed, key.clone(), input)).await;
        bed.tick().await;
        is_skipped(&bed.work(key.as_str()).await, "invalid-payload");
    }
}

async fn a_rule_that_is_not_there_is_skipped(bed: TestBed) {
    let key = WorkKey::operations("r", "20260514T050000Z").unwrap();
    bed.ensure_one(row(&bed, key.clone(), &input("s", "r"))).await;
    bed.tick().await;
    is_skipped(&bed.work(key.as_str()).await, "rule-missing");
}

async fn a_deleted_rule_that_is_still_scheduled_is_skipped(bed: TestBed) {
    let id = starting_in(&bed, 30).await;
    let rule = only_rule(&bed, &id).await;
    // Deleting is not held up by a schedule that cannot be stopped: what arrives is stopped here.
    bed.faults.fail_every("work.deactivate", false, 1);
    delete(&bed, &id).await;
    bed.run_for(30).await;
    bed.faults.heal();
    is_skipped(&bed.work(&key_of(&rule)).await, "rule-canceled");
    assert!(bed.sent().is_empty());
}

async fn a_paused_rule_that_is_still_scheduled_is_skipped(bed: TestBed) {
    let id = starting_in(&bed, 30).await;
    let rule = only_rule(&bed, &id).await;
    bed.faults.fail_every("work.deactivate", false, 1);
    let pause = commands::RuleChange { active: Some(false), ..Default::default() };
    commands::change_rule(&bed.engine, &Actor::named("test"), &rule.id, pause).await.unwrap();
    bed.run_for(30).await;
    bed.faults.heal();
    is_skipped(&bed.work(&key_of(&rule)).await, "rule-inactive");
}

async fn an_occurrence_that_was_sent_is_skipped(bed: TestBed) {
    let id = starting_in(&bed, 30).await;
    let rule = only_rule(&bed, &id).await;
    let mut tx = bed.begin().await;
    let sent = (rule.id.clone(), rule.occurrence.clone().unwrap());
    rules::mark_sent(&mut tx.conn(), bed.now(), &[sent]).await.unwrap();
    tx.commit().await.unwrap();
    bed.run_for(30).await;
    is_skipped(&bed.work(&key_of(&rule)).await, "already-delivered");
    assert!(bed.sent().is_empty());
}

async fn a_subject_that_is_gone_is_skipped(bed: TestBed) {
    let id = starting_in(&bed, 30).await;
    let there = only_rule(&bed, &id).await;
    let lost = RuleRow { id: "lost".into(), subject_id: "nowhere".into(), ..there };
    let mut tx = bed.begin().await;
    rules::put(&mut tx.conn(), bed.now(), &[lost]).await.unwrap();
    tx.commit().await.unwrap();
    let key = WorkKey::operations("lost", "20260514T050000Z").unwrap();
    bed.ensure_one(row(&bed, key.clone(), &input("nowhere", "lost"))).await;
    bed.engine.due_tick(bed.now(), 10).await.unwrap();
    is_skipped(&bed.work(key.as_str()).await, "subject-missing");
    delete(&bed, &id).await;
}

async fn an_event_without_recipients_is_skipped(bed: TestBed) {
    put_person(&bed, "ann", None, &["email"], json!({})).await;
    let mut new = event(&bed, Some(bed.after(30)), None);
    new.people = vec!["nobody-knows".into()];
    let id = create(&bed, &new).await;
    bed.run_for(30).await;
    is_skipped(&bed.work(&key_of(&only_rule(&bed, &id).await)).await, "no-recipients");
}

async fn an_old_date_that_is_still_scheduled_is_skipped(bed: TestBed) {
    let id = starting_in(&bed, 30).await;
    let rule = only_rule(&bed, &id).await;
    bed.faults.fail_every("operations_rules.mark_synced", false, 1);
    start_at(&bed, &id, Some(bed.after(3_600))).await;
    bed.run_for(30).await;
    is_skipped(&bed.work(&key_of(&rule)).await, "moved");
    bed.faults.heal();
    bed.run_for(3_600).await;
    assert_eq!(bed.sent().len(), 1, "the reconciler has moved it");
}

async fn two_people_behind_one_address_are_notified_once(bed: TestBed) {
    put_person(&bed, "ann", Some("Office@Example.org"), &["email"], json!({})).await;
    put_person(&bed, "ben", Some("office@example.ORG"), &["email"], json!({})).await;
    let mut new = event(&bed, Some(bed.after(30)), None);
    new.people = vec!["ben".into(), "ann".into()];
    create(&bed, &new).await;
    bed.run_for(30).await;
    assert_eq!(bed.sent_to(), ["Office@Example.org"]);
}

async fn everybody_is_notified_in_their_own_zone_and_language(bed: TestBed) {
    let in_zone = async |id: &str, zone: &str, locale: Option<&str>| {
        let row = PersonRow {
            id: id.into(),
            name: id.into(),
            email: Some(format!("{id}@example.org")),
            time_zone: Some(zone.into()),
            locale: locale.map(str::to_owned),
            channels: r#"["email"]"#.into(),
            addresses: "{}".into(),
            business_unit: None,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        let mut tx = bed.begin().await;
        people::put(&mut tx.conn(), bed.now(), &punctual_model::Reach::Everything, &row).await.unwrap();
        tx.commit().await.unwrap();
    };
    in_zone("ann", "Europe/Berlin", Some("de")).await;
    in_zone("ben", "Pacific/Auckland", None).await;
    let variants = json!({
        "en": { "subject": "{{ title }}", "body": "{{ whenLabel }}" },
        "de": { "subject": "{{ title }}", "body": "Beginn: {{ whenLabel }}" }
    });
    bed.template("operations.event.start", "en", variants).await;
    let mut new = event(&bed, Some(bed.after(3_600)), None);
    new.people = vec!["ben".into()];
    create(&bed, &new).await;
    bed.run_for(3_600).await;
    let mut reported: Vec<(String, String)> =
        bed.sent().iter().map(|sent| (sent.address.clone(), sent.body.clone())).collect();
    reported.sort();
    let expected = [
        ("ann@example.org", "Beginn: Thu 14 May 2026, 08:00 (Europe/Berlin)"),
        ("ben@example.org", "Thu 14 May 2026, 18:00 (Pacific/Auckland)"),
    ];
    assert_eq!(reported, expected.map(|(who, what)| (who.to_owned(), what.to_owned())));
}

async fn a_template_of_that_name_is_used(bed: TestBed) {
    let variants =
        json!({ "en": { "subject": "{{ kind }} {{ title }}", "body": "{{ subjectType }} {{ startsAt }}" } });
    bed.template("operations.event.start", "en", variants).await;
    starting_in(&bed, 60).await;
    bed.run_for(60).await;
    let sent = &bed.sent()[0];
    assert_eq!((sent.subject.as_str(), sent.body.as_str()), ("start Stand-up", "event 2026-05-14T05:01:00Z"));
}

async fn listeners_hear_of_the_arrival_on_its_topic(bed: TestBed) {
    let received: Arc<Mutex<Vec<Arrival>>> = Arc::default();
    let kept = received.clone();
    let bed = bed.with(|builder| {
        builder.listener("operations.event.*", move |arrival: &Arrival| {
            kept.lock().unwrap().push(arrival.clone());
            Ok(())
        })
    });
    let id = starting_in(&bed, 60).await;
    let rule = only_rule(&bed, &id).await;
    bed.run_for(60).await;
    let received = received.lock().unwrap();
    assert_eq!(received.len(), 1);
    assert_eq!(
        (received[0].id.as_str(), received[0].topic.as_str()),
        (key_of(&rule).as_str(), "operations.event.start")
    );
    let payload: Value = serde_json::from_str(&received[0].payload).unwrap();
    assert_eq!(payload["notificationRuleId"], rule.id);
    assert_eq!(bed.sent().len(), 1);
}

async fn s3_68_an_arrival_is_published_whatever_the_delivery_decides(bed: TestBed) {
    let received: Arc<Mutex<Vec<Arrival>>> = Arc::default();
    let kept = received.clone();
    let bed = bed.with(|builder| {
        builder.listener("operations.event.*", move |arrival: &Arrival| {
            kept.lock().unwrap().push(arrival.clone());
            Ok(())
        })
    });
    put_person(&bed, "ann", None, &["email"], json!({})).await;
    let id = create(&bed, &event(&bed, Some(bed.after(60)), None)).await;
    let rule = only_rule(&bed, &id).await;
    bed.run_for(60).await;
    is_skipped(&bed.work(&key_of(&rule)).await, "no-recipients");
    let arrived = || received.lock().unwrap().drain(..).map(|arrival| arrival.id).collect::<Vec<String>>();
    assert_eq!(arrived(), [key_of(&rule)], "nobody could be reached, and it arrived all the same");
    // A rule that was paused or sent before, and a message that its channel refuses: they arrived too.
    person(&bed, "ann").await;
    for skipped in ["rule-inactive", "already-delivered"] {
        let id = create(&bed, &event(&bed, Some(bed.after(60)), None)).await;
        let rule = only_rule(&bed, &id).await;
        if skipped == "rule-inactive" {
            bed.faults.fail_every("work.deactivate", false, 1);
            let pause = commands::RuleChange { active: Some(false), ..Default::default() };
            commands::change_rule(&bed.engine, &Actor::named("test"), &rule.id, pause).await.unwrap();
        } else {
            let mut tx = bed.begin().await;
            let sent = (rule.id.clone(), rule.occurrence.clone().unwrap());
            rules::mark_sent(&mut tx.conn(), bed.now(), &[sent]).await.unwrap();
            tx.commit().await.unwrap();
        }
        bed.run_for(60).await;
        bed.faults.heal();
        is_skipped(&bed.work(&key_of(&rule)).await, skipped);
        assert_eq!(arrived(), [key_of(&rule)], "{skipped}");
    }
    assert!(bed.sent().is_empty());
    let bed = with_bad_sms(bed).await;
    put_person(&bed, "ann", None, &["sms"], json!({ "sms": "+491" })).await;
    let rule = event_sent_over(&bed, &["sms"]).await;
    bed.run_for(60).await;
    assert_eq!(bed.notifications().await[0].status.as_str(), "parked");
    assert_eq!(arrived(), [key_of(&rule)], "once, although nothing was delivered");
}

async fn s3_18_a_rule_s_channel_key_is_the_channel_that_is_used(bed: TestBed) {
    bed.channel("email:ops", "memory").await;
    person(&bed, "ann").await;
    event_sent_over(&bed, &["email:ops"]).await;
    bed.run_for(60).await;
    let used: Vec<String> = bed.notifications().await.iter().map(|row| row.channel.to_string()).collect();
    assert_eq!(used, ["email:ops"]);
    assert_eq!(bed.sent_to(), ["ann@example.org"]);
}

async fn s3_18_a_rule_for_one_type_never_uses_another(bed: TestBed) {
    bed.channel("sms:default", "memory").await;
    // Ann has a number, and her choice is mail.
    put_person(&bed, "ann", Some("ann@example.org"), &["email"], json!({ "sms": "+491" })).await;
    let rule = event_sent_over(&bed, &["sms"]).await;
    bed.run_for(60).await;
    assert!(bed.sent().is_empty());
    is_skipped(&bed.work(&key_of(&rule)).await, "no-recipients");
}

/// A bed with a text-message channel that refuses everything for good.
async fn with_bad_sms(bed: TestBed) -> TestBed {
    let bed = bed.with(|builder| {
        builder.adapter(Scripted::new("bad", |_| SendOutcome::Permanent {
            reason: ReasonCode::RejectedByReceiver,
            error: "no such number".into(),
        }))
    });
    bed.channel("sms:default", "bad").await;
    bed
}

async fn who_is_not_reached_is_notified_over_their_next_channel(bed: TestBed) {
    let bed = with_bad_sms(bed).await;
    put_person(&bed, "ann", Some("ann@example.org"), &["sms", "email"], json!({ "sms": "+491" })).await;
    let rule = event_sent_over(&bed, &["sms", "email"]).await;
    bed.run_for(60).await;
    assert_eq!(bed.sent_to(), ["ann@example.org"]);
    let second = bed.work(&format!("{}~1", key_of(&rule))).await;
    assert_eq!(second.status.as_str(), "completed");
    let statuses: Vec<String> =
        bed.notifications().await.into_iter().map(|row| row.status.as_str().to_owned()).collect();
    assert!(statuses.contains(&"delivered".into()) && statuses.contains(&"withdrawn".into()), "{statuses:?}");
    assert!(super::rule(&bed, &rule.id).await.last_sent_at.is_some());
    // Nothing is left for a person to do.
    assert_eq!(bed.engine.attention(&punctual_model::Reach::Everything, 10).await.unwrap().total(), 0);
}

async fn only_those_who_were_not_reached_are_notified_another_way(bed: TestBed) {
    let bed = bed.with(|builder| {
        builder.adapter(Scripted::new("half", |message| match message.address.as_str() {
            "+491" => SendOutcome::Delivered { provider_id: "1".into() },
            _ => SendOutcome::Permanent {
                reason: ReasonCode::RecipientUnreachable,
                error: "no such number".into(),
            },
        }))
    });
    bed.channel("sms:default", "half").await;
    put_person(&bed, "ann", Some("ann@example.org"), &["sms", "email"], json!({ "sms": "+491" })).await;
    put_person(&bed, "ben", Some("ben@example.org"), &["sms", "email"], json!({ "sms": "+492" })).await;
    put_person(&bed, "cat", None, &["sms"], json!({ "sms": "+493" })).await;
    event_sent_over(&bed, &["sms", "email"]).await;
    bed.run_for(60).await;
    assert_eq!(bed.sent_to(), ["ben@example.org"]);
    // Cat has no other way: that is for a person.
    assert_eq!(bed.engine.attention(&punctual_model::Reach::Everything, 10).await.unwrap().total(), 1);
}

async fn without_another_channel_the_message_waits_for_a_person(bed: TestBed) {
    let bed = with_bad_sms(bed).await;
    put_person(&bed, "ann", None, &["sms"], json!({ "sms": "+491" })).await;
    let rule = event_sent_over(&bed, &["sms"]).await;
    bed.run_for(60).await;
    assert_eq!(bed.notifications().await[0].status.as_str(), "parked");
    assert_eq!(super::rule(&bed, &rule.id).await.last_sent_at, None);
}

async fn a_person_may_send_it_again_on_purpose(bed: TestBed) {
    let id = starting_in(&bed, 60).await;
    bed.run_for(60).await;
    let work = bed.work(&key_of(&only_rule(&bed, &id).await)).await;
    bed.engine.retry_work(&Actor::named("ann"), work.id, None).await.unwrap();
    bed.tick().await;
    assert_eq!(bed.sent().len(), 2);
}

/// An event of Ann, Ben and Cat whose one rule has these channels.
async fn event_sent_over(bed: &TestBed, channels: &[&str]) -> RuleRow {
    let rules = json!([{ "rule": { "type": "at_subject_date", "anchor": "start" }, "channels": channels }]);
    let own = OrganisationRow { rules: Some(rules.to_string()), ..organisation("choir") };
    put_organisation(bed, &own).await;
    let mut new = event(bed, Some(bed.after(60)), Some(bed.after(120)));
    new.organisation = Some("choir".into());
    new.people = vec!["ben".into(), "cat".into()];
    let id = create(bed, &new).await;
    only_rule(bed, &id).await
}

//! A list that gets another channel takes its waiting messages along, and nobody gets one twice.

use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use punctual_engine::{Actor, commands::NewList};
use punctual_model::{Reach, SendOutcome, delivery_policy::Preference};
use punctual_store::lists::{self, ListRow};
use punctual_testkit::{Scripted, TestBed, channel::delivered, on_both};
use serde_json::json;

on_both! {
    s4_22_what_waits_for_a_list_moves_with_it;
    a_message_that_did_not_come_along_is_handed_back_by_the_claim;
    a_channel_that_the_producer_named_stays;
    s4_25_a_message_that_was_queued_before_its_list_was_made_gets_its_type;
    one_that_went_on_to_its_next_channel_does_not_follow_the_list;
    whoever_has_it_does_not_get_it_at_another_address;
}

type Log = Arc<Mutex<Vec<(String, String)>>>;

/// Mail and text messages, each call noted as `(channel, address)`.
async fn both(bed: &TestBed, answer: fn(&str) -> SendOutcome) -> (TestBed, Log) {
    let log = Log::default();
    let seen = log.clone();
    let any = Scripted::new("any", move |message| {
        seen.lock().unwrap().push((message.channel.to_string(), message.address.clone()));
        answer(&message.address)
    });
    let bed = bed.with(|bed| bed.adapter(any));
    bed.channel("email:default", "any").await;
    bed.channel("sms:default", "any").await;
    (bed, log)
}

async fn save(bed: &TestBed, name: &str, kind: &str, targets: &[&str]) {
    let list = NewList {
        name: name.into(),
        kind: kind.into(),
        channel: None,
        targets: targets.iter().map(|target| (*target).into()).collect(),
        business_unit: None,
    };
    bed.engine.save_list(&Actor::named("test"), list).await.unwrap();
}

fn calls(log: &Log) -> Vec<String> {
    log.lock().unwrap().iter().map(|(channel, address)| format!("{channel} {address}")).collect()
}

async fn s4_22_what_waits_for_a_list_moves_with_it(bed: TestBed) {
    let (bed, log) = both(&bed, |_| delivered()).await;
    save(&bed, "ops", "email", &["ops@example.org"]).await;
    save(&bed, "others", "email", &["others@example.org"]).await;
    let to = |list: &str| bed.message_to_list(list);
    // More than one batch, in more than one priority.
    let waiting = (0..700).map(|n| {
        let mut new = to("ops");
        new.priority = n % 3;
        new.not_before = Some(bed.after(n % 7));
        new
    });
    bed.accept(waiting.collect()).await;
    bed.accept(vec![to("others")]).await;
    save(&bed, "ops", "sms", &["+64215550199"]).await;
    let rows = bed.notifications().await;
    let moved = rows.iter().filter(|row| row.channel.as_str() == "sms:default" && row.kind == "sms").count();
    assert_eq!((moved, rows.len()), (700, 701));
    bed.run_for(10).await;
    let mut calls = calls(&log);
    calls.sort();
    calls.dedup();
    assert_eq!(calls, ["email:default others@example.org", "sms:default +64215550199"]);
}

async fn a_message_that_did_not_come_along_is_handed_back_by_the_claim(bed: TestBed) {
    let (bed, log) = both(&bed, |_| delivered()).await;
    save(&bed, "ops", "email", &["ops@example.org"]).await;
    let id = bed.accept_one(bed.message_to_list("ops")).await;
    // As another node leaves it that stops before it has moved the messages.
    let moved = ListRow {
        name: "ops".into(),
        kind: "sms".into(),
        channel: "sms:default".into(),
        targets: json!(["+64215550199"]).to_string(),
        business_unit: None,
        updated_at: Timestamp::UNIX_EPOCH,
    };
    let mut tx = bed.begin().await;
    lists::put(&mut tx.conn(), bed.now(), &Reach::Everything, &moved).await.unwrap();
    tx.commit().await.unwrap();
    bed.run_for(1).await;
    assert_eq!(calls(&log), ["sms:default +64215550199"]);
    let row = bed.notification(&id).await;
    assert_eq!((row.status.as_str(), row.kind.as_str()), ("delivered", "sms"));
}

async fn a_channel_that_the_producer_named_stays(bed: TestBed) {
    let (bed, log) = both(&bed, |_| delivered()).await;
    save(&bed, "ops", "email", &["ops@example.org"]).await;
    let mut named = bed.message_to_list("ops");
    named.channel = Some("email:default".parse().unwrap());
    named.kind = "alert".into();
    let id = bed.accept_one(named).await;
    save(&bed, "ops", "sms", &["+64215550199"]).await;
    bed.run_for(1).await;
    assert_eq!(calls(&log), ["email:default +64215550199"], "the list says who, the producer says how");
    assert_eq!(bed.notification(&id).await.kind, "alert");
}

async fn s4_25_a_message_that_was_queued_before_its_list_was_made_gets_its_type(bed: TestBed) {
    let (bed, log) = both(&bed, |_| delivered()).await;
    let id = bed.accept_one(bed.message_to_list("ops")).await;
    save(&bed, "ops", "sms", &["+64215550199"]).await;
    assert_eq!(bed.notification(&id).await.kind, "sms");
    bed.run_for(1).await;
    assert_eq!(calls(&log), ["sms:default +64215550199"]);
}

async fn one_that_went_on_to_its_next_channel_does_not_follow_the_list(bed: TestBed) {
    let refused = |address: &str| match address {
        "ops@example.org" => SendOutcome::Permanent {
            reason: punctual_model::ReasonCode::MailboxUnavailable,
            error: "no".into(),
        },
        _ => SendOutcome::Transient { error: "busy".into(), retry_after: None },
    };
    let (bed, _) = both(&bed, refused).await;
    let wanted: Preference =
        serde_json::from_value(json!({ "addresses": { "email": "ops@example.org", "sms": "+64215550199" } }))
            .unwrap();
    bed.engine.change_preference(&Actor::named("test"), "ops", |kept| *kept = wanted).await.unwrap();
    save(&bed, "ops", "email", &["ops@example.org"]).await;
    let mut new = bed.message_to_list("ops");
    new.failover = vec!["email:default".parse().unwrap(), "sms:default".parse().unwrap()];
    let id = bed.accept_one(new).await;
    bed.run_for(1).await;
    save(&bed, "ops", "email", &["ops@example.org", "more@example.org"]).await;
    bed.run_for(1).await;
    let row = bed.notification(&id).await;
    assert_eq!((row.channel.as_str(), row.kind.as_str()), ("sms:default", "sms"));
    bed.leaves_open("it is retried");
}

async fn whoever_has_it_does_not_get_it_at_another_address(bed: TestBed) {
    let busy = |address: &str| match address {
        "bob@example.org" => SendOutcome::Transient { error: "greylisted".into(), retry_after: None },
        _ => delivered(),
    };
    let (bed, log) = both(&bed, busy).await;
    for (person, number) in [("ann", "+491"), ("bob", "+492")] {
        let addresses = json!({ "addresses": { "email": format!("{person}@example.org"), "sms": number } });
        let wanted: Preference = serde_json::from_value(addresses).unwrap();
        bed.engine.change_preference(&Actor::named("test"), person, |kept| *kept = wanted).await.unwrap();
    }
    save(&bed, "ops", "email", &["ann@example.org", "bob@example.org"]).await;
    let id = bed.accept_one(bed.message_to_list("ops")).await;
    bed.run_for(1).await;
    save(&bed, "ops", "sms", &["+491", "+492"]).await;
    bed.run_for(120).await;
    let mut calls = calls(&log);
    calls.sort();
    assert_eq!(calls, ["email:default ann@example.org", "email:default bob@example.org", "sms:default +492"]);
    assert_eq!(bed.notification(&id).await.status.as_str(), "delivered");
}

//! The delivery policy, applied just before a message is sent: hours, topics, channels, orders, and the daily cap.

use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use punctual_engine::Actor;
use punctual_engine::delivery_policy::links::Holder;
use punctual_model::{
    Audience, Decision, NewNotification, NotificationId, NotificationStatus, Priority, ReasonCode,
    SendOutcome, WorkId, delivery_policy::Preference,
};
use punctual_store::{
    Lane, business_units,
    business_units::BusinessUnitRow,
    delivery_policy::SETTINGS,
    facts,
    operations::people::{self, PersonRow},
};
use punctual_testkit::{Scripted, TestBed, TestWorkflow, channel::delivered, new_work, on_both};
use serde_json::{Value, json};

on_both! {
    quiet_hours_of_a_channel_move_a_message_to_their_end_where_its_recipient_lives;
    quiet_hours_of_a_person_hold_for_them_alone;
    the_zone_is_the_person_s_then_the_unit_s_then_the_channel_s;
    a_send_window_opens_where_its_recipient_lives;
    a_message_to_people_in_several_zones_reaches_each_once_in_their_day;
    an_alarm_knows_no_hours_and_no_cap;
    what_waits_for_an_hour_is_not_stuck;
    what_failed_and_waits_for_an_hour_is_not_stuck;
    r13_who_unsubscribed_before_the_claim_gets_nothing;
    a_topic_that_somebody_does_not_want_goes_to_the_others;
    a_channel_that_somebody_does_not_want_is_not_used;
    a_mail_of_a_topic_has_a_link_that_only_its_holder_can_have;
    a_workflow_is_called_when_its_message_was_not_wanted;
    the_language_of_a_person_is_used_where_a_message_says_none;
    the_next_channel_is_taken_where_one_refuses_and_the_timeline_shows_it;
    the_next_channel_is_taken_when_all_attempts_have_failed;
    the_next_channel_is_taken_after_three_failures_and_by_an_alarm_after_one;
    who_has_it_over_one_channel_does_not_get_it_over_the_next;
    a_person_s_own_order_of_channels_is_used_where_a_message_has_none;
    where_no_channel_gets_it_across_it_is_parked_once;
    s4_1_who_cannot_be_reached_is_not_lost_among_those_who_were;
    what_is_too_much_for_a_day_comes_as_one_digest_the_next_morning;
    t11_a_digest_has_what_one_business_unit_sent;
    a_cap_holds_over_two_nodes;
    a_second_attempt_is_not_a_second_message_of_the_day;
}

async fn wants(bed: &TestBed, person: &str, wanted: Value) {
    let wanted: Preference = serde_json::from_value(wanted).unwrap();
    bed.engine.change_preference(&Actor::named("test"), person, |kept| *kept = wanted).await.unwrap();
}

async fn everybody(bed: &TestBed, settings: Value) {
    let mut tx = bed.store.begin(Lane::Intake).await.unwrap();
    facts::put(&mut tx.conn(), bed.now(), SETTINGS, &settings.to_string()).await.unwrap();
    tx.commit().await.unwrap();
    bed.engine.policy.invalidate();
}

async fn quiet_nights(bed: &TestBed) {
    let policy = json!({ "quietHours": { "from": "22:00", "to": "07:00" }, "timeZone": "America/New_York" });
    bed.channel_with_policy("memory:night", "memory", policy).await;
}

/// When a message waits until, and why.
async fn waits(bed: &TestBed, id: &str) -> (String, Option<String>) {
    let row = bed.notification(id).await;
    assert_eq!((row.status.as_str(), row.retry_count, row.lease_expires_at), ("pending", 0, None));
    (row.ready_at.to_string(), row.reason_code)
}

// The bed's clock is at 05:00 UTC on 14 May 2026: 01:00 in New York, 07:00 in Berlin, 17:00 in Auckland.

async fn quiet_hours_of_a_channel_move_a_message_to_their_end_where_its_recipient_lives(bed: TestBed) {
    quiet_nights(&bed).await;
    let id = bed.accept_one(bed.message_over("memory:night", &["ann@example.org"])).await;
    bed.tick().await;
    assert_eq!(waits(&bed, &id).await, ("2026-05-14T11:00:00Z".to_owned(), Some("quiet-hours".to_owned())));
    assert_eq!(bed.audit("notification", &id).await, ["defer:quiet-hours"]);
    wants(&bed, "bob@example.org", json!({ "timeZone": "Europe/Berlin" })).await;
    bed.accept_one(bed.message_over("memory:night", &["Bob@Example.org"])).await;
    assert_eq!(bed.tick().await.deliveries.delivered, 1, "it is day in Berlin");
    bed.run_to("2026-05-14T10:59:59Z").await;
    assert_eq!(bed.sent_to(), ["Bob@Example.org"]);
    bed.run_for(1).await;
    assert_eq!(bed.sent_to(), ["Bob@Example.org", "ann@example.org"]);
    assert_eq!(bed.notification(&id).await.reason_code, None, "what held it back is over");
}

async fn quiet_hours_of_a_person_hold_for_them_alone(bed: TestBed) {
    wants(
        &bed,
        "ann",
        json!({ "timeZone": "Pacific/Auckland", "addresses": { "email": "ann@example.org" },
        "quietHours": { "from": "16:00", "to": "18:30" } }),
    )
    .await;
    let ids = bed.accept_to(&["ann@example.org", "bob@example.org"]).await;
    bed.tick().await;
    assert_eq!(bed.sent_to(), ["bob@example.org"]);
    assert_eq!(waits(&bed, &ids[0]).await.0, "2026-05-14T06:30:00Z");
    bed.run_for(2 * 3600).await;
    assert_eq!(bed.sent_to(), ["bob@example.org", "ann@example.org"]);
}

async fn the_zone_is_the_person_s_then_the_unit_s_then_the_channel_s(bed: TestBed) {
    quiet_nights(&bed).await;
    let mut tx = bed.begin().await;
    let unit = BusinessUnitRow {
        id: "uk".into(),
        name: "UK".into(),
        time_zone: "Europe/London".into(),
        ..BusinessUnitRow::default()
    };
    business_units::put(&mut tx.conn(), bed.now(), &unit).await.unwrap();
    let person = PersonRow {
        id: "p1".into(),
        name: "Kim".into(),
        email: Some("kim@example.org".into()),
        time_zone: Some("Asia/Tokyo".into()),
        locale: None,
        channels: "[]".into(),
        addresses: "{}".into(),
        business_unit: None,
        updated_at: Timestamp::UNIX_EPOCH,
    };
    people::put(&mut tx.conn(), bed.now(), &punctual_model::Reach::Everything, &person).await.unwrap();
    tx.commit().await.unwrap();
    let of_unit = |address: &str| {
        let mut new = bed.message_over("memory:night", &[address]);
        new.business_unit = Some("uk".into());
        new
    };
    let unit = bed.accept_one(of_unit("x@example.org")).await;
    let channel = bed.accept_one(bed.message_over("memory:night", &["x@example.org"])).await;
    bed.accept_one(of_unit("kim@example.org")).await;
    bed.tick().await;
    assert_eq!(bed.sent_to(), ["kim@example.org"], "it is afternoon in Tokyo");
    assert_eq!(waits(&bed, &unit).await.0, "2026-05-14T06:00:00Z");
    assert_eq!(waits(&bed, &channel).await.0, "2026-05-14T11:00:00Z");
    bed.run_for(86_400).await;
}

async fn a_send_window_opens_where_its_recipient_lives(bed: TestBed) {
    let policy = json!({ "sendWindow": { "days": ["sat"], "from": "09:00", "to": "12:00" }, "timeZone": "Europe/Berlin" });
    bed.channel_with_policy("memory:sat", "memory", policy).await;
    let id = bed.accept_one(bed.message_over("memory:sat", &["ann@example.org"])).await;
    bed.tick().await;
    assert_eq!(waits(&bed, &id).await, ("2026-05-16T07:00:00Z".to_owned(), Some("send-window".to_owned())));
    bed.run_to("2026-05-16T07:00:00Z").await;
    assert_eq!(bed.sent_to(), ["ann@example.org"]);
}

async fn a_message_to_people_in_several_zones_reaches_each_once_in_their_day(bed: TestBed) {
    quiet_nights(&bed).await;
    for (address, zone) in [
        ("ny@x.example", "America/New_York"),
        ("de@x.example", "Europe/Berlin"),
        ("la@x.example", "America/Los_Angeles"),
    ] {
        wants(&bed, address, json!({ "timeZone": zone })).await;
    }
    bed.list("all", "memory:night", &["ny@x.example", "de@x.example", "la@x.example"]).await;
    let id = bed.accept_one(bed.message_to_list("all")).await;
    bed.tick().await;
    assert_eq!(bed.sent_to(), ["de@x.example"]);
    let row = bed.notification(&id).await;
    assert_eq!((row.status.as_str(), row.reason_code.as_deref()), ("pending", Some("quiet-hours")));
    bed.run_to("2026-05-14T11:00:00Z").await;
    assert_eq!(bed.sent_to(), ["de@x.example", "ny@x.example"]);
    bed.run_to("2026-05-14T14:00:00Z").await;
    assert_eq!(bed.sent_to(), ["de@x.example", "ny@x.example", "la@x.example"]);
    assert_eq!(bed.notification(&id).await.status.as_str(), "delivered");
}

async fn an_alarm_knows_no_hours_and_no_cap(bed: TestBed) {
    quiet_nights(&bed).await;
    everybody(&bed, json!({ "dailyCap": 1 })).await;
    for _ in 0..3 {
        let mut new = bed.message_over("memory:night", &["ann@example.org"]);
        new.priority = Priority::Alarm.number();
        bed.accept_one(new).await;
    }
    assert_eq!(bed.tick().await.deliveries.delivered, 3);
}

async fn what_waits_for_an_hour_is_not_stuck(bed: TestBed) {
    quiet_nights(&bed).await;
    bed.accept_one(bed.message_over("memory:night", &["ann@example.org"])).await;
    bed.run_for(3 * 3600).await;
    let total = bed.engine.outbox_kpis(None).await.unwrap().total;
    assert_eq!((total.stuck, total.waiting), (0, 1));
    bed.run_for(86_400).await;
}

/// It has failed once before its hours began: it waits for their end, not for its next attempt.
async fn what_failed_and_waits_for_an_hour_is_not_stuck(bed: TestBed) {
    bed.wait(16 * 3600 + 59 * 60);
    let bed = bed.with(|bed| {
        bed.adapter(Scripted::new("later", |_| SendOutcome::Transient {
            error: "451 later".into(),
            retry_after: None,
        }))
    });
    let hours = json!({ "quietHours": { "from": "22:00", "to": "07:00" } });
    bed.channel_with_policy("later:default", "later", hours).await;
    let id = bed.accept_one(bed.message_over("later:default", &["ann@example.org"])).await;
    bed.run_for(3600).await;
    let row = bed.notification(&id).await;
    assert_eq!((row.status.as_str(), row.reason_code.as_deref()), ("retrying", Some("quiet-hours")));
    let total = bed.engine.outbox_kpis(None).await.unwrap().total;
    assert_eq!((total.stuck, total.waiting), (0, 1));
    bed.leaves_open("it waits for the morning");
}

fn about(bed: &TestBed, topic: &str, targets: &[&str]) -> NewNotification {
    let mut new = bed.message_over("memory:default", targets);
    new.topic = Some(topic.into());
    new
}

async fn r13_who_unsubscribed_before_the_claim_gets_nothing(bed: TestBed) {
    let id = bed.accept_one(about(&bed, "offers", &["ann@example.org"])).await;
    let other = bed.accept_one(about(&bed, "news", &["ann@example.org"])).await;
    // On another node, a moment ago: what a node remembers may not matter.
    bed.engine.delivery_tick(bed.now(), 0).await.unwrap();
    bed.node("b").await.engine.unsubscribe("Ann@example.org", Some("offers")).await.unwrap();
    bed.tick().await;
    let row = bed.notification(&id).await;
    assert_eq!((row.status.as_str(), row.reason_code.as_deref()), ("withdrawn", Some("unsubscribed")));
    assert!(bed.audit("notification", &id).await.contains(&"withdraw:unsubscribed".to_owned()));
    assert_eq!(bed.notification(&other).await.status.as_str(), "delivered");
    assert_eq!(bed.sent().len(), 1);
}

async fn a_topic_that_somebody_does_not_want_goes_to_the_others(bed: TestBed) {
    bed.engine.unsubscribe("b@example.org", Some("offers")).await.unwrap();
    let id =
        bed.accept_one(about(&bed, "offers", &["a@example.org", "b@example.org", "c@example.org"])).await;
    bed.tick().await;
    assert_eq!(bed.sent_to(), ["a@example.org", "c@example.org"]);
    assert_eq!(bed.notification(&id).await.status.as_str(), "delivered");
    assert_eq!(bed.audit("notification", &id).await, ["leave-out:unsubscribed"]);
}

async fn a_channel_that_somebody_does_not_want_is_not_used(bed: TestBed) {
    wants(&bed, "ann@example.org", json!({ "channels": ["email"] })).await;
    let over_memory = bed.accept_one(bed.message("ann@example.org")).await;
    let over_mail = bed.accept_one(bed.message_over("email:default", &["ann@example.org"])).await;
    bed.tick().await;
    let row = bed.notification(&over_memory).await;
    assert_eq!((row.status.as_str(), row.reason_code.as_deref()), ("withdrawn", Some("preference")));
    assert_eq!(bed.notification(&over_mail).await.status.as_str(), "delivered");
}

async fn a_mail_of_a_topic_has_a_link_that_only_its_holder_can_have(bed: TestBed) {
    bed.engine.policy.links_lead_to("https://punctual.example/");
    bed.accept_one(about(&bed, "offers", &["ann@example.org"])).await;
    bed.accept_one(bed.message("ann@example.org")).await;
    bed.accept_one(about(&bed, "offers", &["+49301234567"])).await;
    bed.tick().await;
    let links: Vec<Option<String>> = bed.sent().iter().map(|sent| sent.unsubscribe.clone()).collect();
    let [Some(link), None, None] = &links[..] else { panic!("{links:?}") };
    let token = link.strip_prefix("https://punctual.example/p/").unwrap();
    let holder = Holder { address: "ann@example.org".into(), topic: Some("offers".into()) };
    assert_eq!(bed.engine.preference_holder(token), Some(holder));
    assert_eq!(bed.engine.preference_holder(&token.to_uppercase()), None);
    assert_eq!(bed.engine.preference_holder(""), None);
}

async fn a_workflow_is_called_when_its_message_was_not_wanted(bed: TestBed) {
    let reported = Arc::new(Mutex::new(Vec::new()));
    let received = reported.clone();
    let workflow = TestWorkflow::new("test", |_, _| {
        let audience = Audience::Targets(vec!["ann@example.org".into()]);
        let mut new = NewNotification::new(NotificationId(Default::default()), audience, "Due", "Now");
        new.channel = "memory:default".parse().ok();
        new.topic = Some("offers".into());
        Decision::Deliver(vec![new])
    })
    .settled(move |work, _| {
        received.lock().unwrap().extend(work.outcomes.iter().map(|(_, status)| *status));
        Vec::new()
    });
    let bed = bed.with(|bed| bed.workflow(workflow));
    bed.engine.unsubscribe("ann@example.org", Some("offers")).await.unwrap();
    bed.ensure(&[new_work("test", "k", bed.now())]).await;
    bed.tick().await;
    assert_eq!(*reported.lock().unwrap(), [NotificationStatus::Withdrawn]);
}

async fn the_language_of_a_person_is_used_where_a_message_says_none(bed: TestBed) {
    let variants = json!({ "en": { "subject": "Hello", "body": "Hello" }, "de": { "subject": "Hallo", "body": "Hallo" } });
    bed.template("greeting", "en", variants).await;
    wants(&bed, "ann@example.org", json!({ "locale": "de" })).await;
    for locale in [None, Some("en")] {
        let mut new = bed.message("ann@example.org");
        new.template = Some("greeting".into());
        new.locale = locale.map(str::to_owned);
        bed.accept_one(new).await;
    }
    bed.tick().await;
    let mut subjects: Vec<String> = bed.sent().iter().map(|sent| sent.subject.clone()).collect();
    subjects.sort();
    assert_eq!(subjects, ["Hallo", "Hello"]);
}

type Log = Arc<Mutex<Vec<(String, String)>>>;

/// Three channels that answer as the test says, `whatsapp:default`, `sms:default` and `email:second`; what was tried is logged.
async fn three(
    bed: &TestBed,
    answer: impl Fn(&str, &str) -> SendOutcome + Send + Sync + Clone + 'static,
) -> (TestBed, Log) {
    let log = Log::default();
    let adapter = |name: &'static str| {
        let (log, answer) = (log.clone(), answer.clone());
        Scripted::new(name, move |message| {
            log.lock().unwrap().push((message.channel.to_string(), message.address.clone()));
            answer(message.channel.as_str(), &message.address)
        })
    };
    let post = adapter("post").takes(|address| address.contains('@'));
    let bed = bed.with(|bed| bed.adapter(adapter("wa")).adapter(adapter("text")).adapter(post));
    for (key, name) in [("whatsapp:default", "wa"), ("sms:default", "text"), ("email:second", "post")] {
        bed.channel_with(key, name, json!({ "max": 1, "intervalSeconds": 60 }), false).await;
    }
    for (person, number) in [("ann", "+491"), ("bob", "+492")] {
        let addresses =
            json!({ "whatsapp": number, "sms": number, "email": format!("{person}@example.org") });
        wants(&bed, person, json!({ "addresses": addresses })).await;
    }
    (bed, log)
}

fn refused() -> SendOutcome {
    SendOutcome::Permanent { reason: ReasonCode::RecipientUnreachable, error: "no account".into() }
}

fn in_order(bed: &TestBed, targets: &[&str]) -> NewNotification {
    let mut new = bed.message_over("whatsapp:default", targets);
    new.failover = ["sms:default", "email:second"].map(|key| key.parse().unwrap()).into();
    new
}

fn tried(log: &Log) -> Vec<String> {
    log.lock().unwrap().iter().map(|(channel, address)| format!("{channel} {address}")).collect()
}

async fn the_next_channel_is_taken_where_one_refuses_and_the_timeline_shows_it(bed: TestBed) {
    let (bed, log) =
        three(&bed, |channel, _| if channel.starts_with("email") { delivered() } else { refused() }).await;
    let id = bed.accept_one(in_order(&bed, &["+491"])).await;
    bed.tick().await;
    assert_eq!(tried(&log), ["whatsapp:default +491", "sms:default +491", "email:second ann@example.org"]);
    let row = bed.notification(&id).await;
    assert_eq!((row.status.as_str(), row.channel.as_str()), ("delivered", "email:second"));
    assert_eq!(bed.audit("notification", &id).await, ["fail-over:failed-over", "fail-over:failed-over"]);
    let story = bed.engine.timeline(&punctual_model::Reach::Everything, &id).await.unwrap();
    let moves: Vec<(String, String)> = story
        .iter()
        .filter(|moment| moment.data["action"] == "fail-over")
        .map(|moment| (moment.data["data"]["from"].to_string(), moment.data["data"]["to"].to_string()))
        .collect();
    assert_eq!(moves[0], ("\"whatsapp:default\"".to_owned(), "\"sms:default\"".to_owned()));
    bed.run_for(86_400).await;
    assert_eq!(tried(&log).len(), 3, "once each");
}

async fn the_next_channel_is_taken_when_all_attempts_have_failed(bed: TestBed) {
    let (bed, log) = three(&bed, |channel, _| match channel {
        "sms:default" => delivered(),
        _ => SendOutcome::Transient { error: "busy".into(), retry_after: None },
    })
    .await;
    let id = bed.accept_one(in_order(&bed, &["+491"])).await;
    bed.run_for(600).await;
    assert_eq!(tried(&log), ["whatsapp:default +491", "whatsapp:default +491", "sms:default +491"]);
    assert_eq!(bed.notification(&id).await.status.as_str(), "delivered");
}

/// A message has its own patience: the channel's policy would go on for hours.
async fn the_next_channel_is_taken_after_three_failures_and_by_an_alarm_after_one(bed: TestBed) {
    let (bed, log) = three(&bed, |channel, _| match channel {
        "sms:default" => delivered(),
        _ => SendOutcome::Transient { error: "greylisted".into(), retry_after: None },
    })
    .await;
    let patient = json!({ "policy": "steps", "afterSeconds": [60, 60, 3600, 3600] });
    bed.channel_with("whatsapp:default", "wa", patient, false).await;
    let mut alarm = in_order(&bed, &["+492"]);
    alarm.priority = 0;
    bed.accept_one(alarm).await;
    bed.run_for(1).await;
    assert_eq!(tried(&log), ["whatsapp:default +492", "sms:default +492"]);
    log.lock().unwrap().clear();
    bed.accept_one(in_order(&bed, &["+491"])).await;
    bed.run_for(300).await;
    let third = "whatsapp:default +491";
    assert_eq!(tried(&log), [third, third, third, "sms:default +491"]);
}

async fn who_has_it_over_one_channel_does_not_get_it_over_the_next(bed: TestBed) {
    let (bed, log) = three(&bed, |channel, address| match (channel, address) {
        ("whatsapp:default", "+491") => delivered(),
        ("email:second", _) => delivered(),
        _ => refused(),
    })
    .await;
    bed.list("both", "whatsapp:default", &["+491", "+492"]).await;
    let mut new = bed.message_to_list("both");
    new.failover = ["sms:default", "email:second"].map(|key| key.parse().unwrap()).into();
    let id = bed.accept_one(new).await;
    bed.run_for(600).await;
    let mut all = tried(&log);
    all.sort();
    let expected = [
        "email:second bob@example.org",
        "sms:default +492",
        "whatsapp:default +491",
        "whatsapp:default +492",
    ];
    assert_eq!(all, expected);
    assert_eq!(bed.notification(&id).await.status.as_str(), "delivered");
}

async fn a_person_s_own_order_of_channels_is_used_where_a_message_has_none(bed: TestBed) {
    let (bed, log) =
        three(&bed, |channel, _| if channel.starts_with("email") { delivered() } else { refused() }).await;
    let addresses = json!({ "whatsapp": "+493", "email": "cy@example.org" });
    wants(&bed, "cy", json!({ "addresses": addresses, "failover": ["whatsapp:default", "email:second"] }))
        .await;
    let id = bed.accept_one(bed.message_over("whatsapp:default", &["+493"])).await;
    bed.tick().await;
    assert_eq!(tried(&log), ["whatsapp:default +493", "email:second cy@example.org"]);
    assert_eq!(bed.notification(&id).await.status.as_str(), "delivered");
}

async fn where_no_channel_gets_it_across_it_is_parked_once(bed: TestBed) {
    let (bed, log) = three(&bed, |_, _| refused()).await;
    let id = bed.accept_one(in_order(&bed, &["+491"])).await;
    bed.run_for(600).await;
    let row = bed.notification(&id).await;
    assert_eq!((row.status.as_str(), row.reason_code.as_deref()), ("parked", Some("recipient-unreachable")));
    assert_eq!(tried(&log).len(), 3);
    let audit = bed.audit("notification", &id).await;
    assert_eq!(audit, ["fail-over:failed-over", "fail-over:failed-over", "park:recipient-unreachable"]);
}

async fn s4_1_who_cannot_be_reached_is_not_lost_among_those_who_were(bed: TestBed) {
    let (bed, log) = three(&bed, |channel, address| match (channel, address) {
        ("whatsapp:default", "+491") | ("email:second", _) => delivered(),
        _ => refused(),
    })
    .await;
    // Nothing is known of the third: their number is no address for mail, which is the last channel.
    let id = bed.accept_one(in_order(&bed, &["+491", "+492", "+499"])).await;
    bed.run_for(600).await;
    let mut all = tried(&log);
    all.sort();
    assert_eq!(
        all.iter().filter(|one| one.starts_with("email")).collect::<Vec<_>>(),
        ["email:second bob@example.org"]
    );
    let row = bed.notification(&id).await;
    assert_eq!((row.status.as_str(), row.channel.as_str()), ("parked", "email:second"));
    let error = row.last_error.unwrap();
    assert!(error.contains("+499") && !error.contains("+491"), "{error}");
    // Somebody who has it, and nobody else who can be reached.
    log.lock().unwrap().clear();
    let id = bed.accept_one(in_order(&bed, &["+491", "+499"])).await;
    bed.run_for(600).await;
    assert!(!tried(&log).iter().any(|one| one.starts_with("email")));
    let row = bed.notification(&id).await;
    assert_eq!((row.status.as_str(), row.reason_code.as_deref()), ("parked", Some("recipient-unreachable")));
    assert!(row.last_error.unwrap().contains("+499"));
}

async fn what_is_too_much_for_a_day_comes_as_one_digest_the_next_morning(bed: TestBed) {
    everybody(&bed, json!({ "dailyCap": 2, "digestAt": "07:30" })).await;
    wants(&bed, "ann", json!({ "timeZone": "Europe/Berlin", "addresses": { "email": "ann@example.org" } }))
        .await;
    let mut ids = Vec::new();
    for n in 0..5 {
        let mut new = bed.message("ann@example.org");
        new.subject = format!("Subject {n}");
        ids.push(bed.accept_one(new).await);
    }
    bed.accept_to(&["bob@example.org"]).await;
    bed.tick().await;
    assert_eq!(bed.sent().len(), 3, "two for Ann, one for Bob");
    let held: Vec<String> = {
        let mut held = Vec::new();
        for id in &ids {
            let row = bed.notification(id).await;
            if row.status.as_str() == "withdrawn" {
                assert_eq!(row.reason_code.as_deref(), Some("daily-cap"));
                held.push(row.subject);
            }
        }
        held
    };
    assert_eq!(held.len(), 3);
    let work = bed.work("digest:ann:2026-05-14").await;
    assert_eq!(work.due_at, "2026-05-15T05:30:00Z".parse::<jiff::Timestamp>().unwrap());
    bed.run_to("2026-05-15T05:29:59Z").await;
    assert_eq!(bed.sent().len(), 3);
    bed.run_for(1).await;
    let digest = bed.sent().last().unwrap().clone();
    assert_eq!((digest.address.as_str(), digest.kind.as_str()), ("ann@example.org", "digest"));
    assert!(held.iter().all(|subject| digest.body.contains(subject)), "{}", digest.body);
    let row = bed.notification(&digest.notification.to_string()).await;
    assert_eq!(row.work_id, Some(WorkId(work.id)), "it says where it comes from");
    // The next day counts anew.
    bed.accept_to(&["ann@example.org"]).await;
    assert_eq!(bed.tick().await.deliveries.delivered, 1);
}

/// Whoever sees the messages of a unit sees its digests: what another unit sent the same person is not in them.
async fn t11_a_digest_has_what_one_business_unit_sent(bed: TestBed) {
    everybody(&bed, json!({ "dailyCap": 1, "digestAt": "07:30" })).await;
    let mut held = Vec::new();
    for n in 0..7 {
        let mut new = bed.message("ann@example.org");
        new.business_unit = [Some("de"), Some("nz"), None][n % 3].map(str::to_owned);
        new.subject = format!("Said by {:?} {n}", new.business_unit);
        let unit = new.business_unit.clone();
        let id = bed.accept_one(new).await;
        bed.tick().await;
        let row = bed.notification(&id).await;
        if row.status.as_str() == "withdrawn" {
            held.push((unit, row.subject));
        }
    }
    assert_eq!((bed.sent().len(), held.len()), (1, 6));
    bed.run_for(2 * 86_400).await;
    let digests: Vec<_> = bed.sent().into_iter().skip(1).collect();
    let mut units = Vec::new();
    for digest in digests {
        let row = bed.notification(&digest.notification.to_string()).await;
        for (unit, subject) in &held {
            assert_eq!(
                digest.body.contains(subject),
                row.business_unit == *unit,
                "{subject}: {}",
                digest.body
            );
        }
        units.push(row.business_unit);
    }
    units.sort();
    assert_eq!(
        units,
        [None, Some("de".to_owned()), Some("nz".to_owned())],
        "each has one, and nothing is lost"
    );
}

async fn a_cap_holds_over_two_nodes(bed: TestBed) {
    everybody(&bed, json!({ "dailyCap": 3 })).await;
    let new = (0..20).map(|_| bed.message("ann@example.org")).collect();
    bed.accept(new).await;
    let other = bed.node("b").await;
    for _ in 0..20 {
        let now = bed.now();
        let (one, two) = tokio::join!(bed.engine.delivery_tick(now, 2), other.engine.delivery_tick(now, 2));
        one.unwrap();
        two.unwrap();
    }
    assert_eq!(bed.sent().len(), 3);
    bed.run_for(2 * 86_400).await;
    assert_eq!(bed.sent().len(), 4, "and one digest");
}

async fn a_second_attempt_is_not_a_second_message_of_the_day(bed: TestBed) {
    everybody(&bed, json!({ "dailyCap": 1 })).await;
    let memory = "memory:default".parse().unwrap();
    bed.captured.misbehave(memory, punctual_channels::Misbehaviour::Transient, 1, "busy");
    let id = bed.accept_one(bed.message("ann@example.org")).await;
    bed.run_for(120).await;
    assert_eq!(bed.notification(&id).await.status.as_str(), "delivered");
}

//! The suppression list: who is on it gets nothing, everybody else gets theirs, and sending finds out who belongs there.

use punctual_engine::Actor;
use punctual_model::{
    NewNotification, NotificationStatus, ReasonCode, SendOutcome, delivery_policy::Preference,
};
use punctual_store::{
    skipped_targets,
    suppressions::{self, SuppressionRow},
};
use punctual_testkit::{Scripted, TestBed, TestBedBuilder, channel::delivered, on_both, signal};
use serde_json::json;

on_both! {
    a_suppressed_target_is_left_out_and_the_others_get_it;
    a_message_for_nobody_else_is_parked_and_an_operator_s_retry_looks_again;
    whoever_got_it_before_counts;
    an_entry_that_is_over_counts_no_more;
    another_type_of_channel_is_another_matter;
    nothing_is_asked_while_nobody_can_be_on_the_list;
    what_another_node_suppressed_counts_within_a_second;
    a_node_that_sends_itself_looks_too with TestBedBuilder::wall_clock;
    a_refusal_of_the_mailbox_is_a_hard_bounce_and_one_of_the_relay_is_not;
    an_address_that_opted_out_at_the_provider_is_left_alone;
    who_waits_for_an_hour_is_not_parked_with_who_is_on_the_list;
    the_next_channel_is_taken_for_who_is_on_the_list;
    a_person_s_own_order_is_taken_where_they_are_on_the_list;
    the_next_channel_is_taken_for_those_alone_who_were_left_out;
    a_hard_bounce_goes_on_over_the_next_channel_and_does_not_come_back;
    where_every_channel_is_suppressed_it_is_parked_and_says_so;
}

async fn wants(bed: &TestBed, person: &str, wanted: serde_json::Value) {
    let wanted: Preference = serde_json::from_value(wanted).unwrap();
    bed.engine.change_preference(&Actor::named("test"), person, |kept| *kept = wanted).await.unwrap();
}

fn over(bed: &TestBed, targets: &[&str], order: &[&str]) -> NewNotification {
    let mut new = bed.message_over("email:default", targets);
    new.failover = order.iter().map(|key| key.parse().unwrap()).collect();
    new
}

async fn who_waits_for_an_hour_is_not_parked_with_who_is_on_the_list(bed: TestBed) {
    suppress(&bed, "email", "ann@example.org").await;
    wants(&bed, "bob@example.org", json!({ "quietHours": { "from": "04:00", "to": "06:00" } })).await;
    let id = bed.accept_one(bed.message_over("email:default", &["ann@example.org", "bob@example.org"])).await;
    bed.tick().await;
    let row = bed.notification(&id).await;
    assert_eq!((row.status.as_str(), row.reason_code.as_deref()), ("pending", Some("quiet-hours")));
    assert_eq!(row.ready_at, bed.after(3600));
    assert_eq!(skipped(&bed, &id).await, [("ann@example.org".to_owned(), "manual".to_owned())]);
    bed.run_for(3600).await;
    assert_eq!(
        (bed.sent_to(), bed.notification(&id).await.status.as_str()),
        (vec!["bob@example.org".to_owned()], "delivered")
    );
}

const ANN: &str = r#"{"addresses": {"email": "ann@example.org", "sms": "+49301234567"}}"#;

async fn the_next_channel_is_taken_for_who_is_on_the_list(bed: TestBed) {
    bed.channel("sms:default", "memory").await;
    wants(&bed, "ann", serde_json::from_str(ANN).unwrap()).await;
    suppress(&bed, "email", "ann@example.org").await;
    let id = bed.accept_one(over(&bed, &["ann@example.org"], &["email:default", "sms:default"])).await;
    bed.run_for(1).await;
    assert_eq!(bed.sent_to(), ["+49301234567"]);
    let row = bed.notification(&id).await;
    assert_eq!((row.status.as_str(), row.channel.as_str()), ("delivered", "sms:default"));
    assert_eq!(bed.audit("notification", &id).await, ["fail-over:failed-over"]);
    let story = bed.engine.timeline(&punctual_model::Reach::Everything, &id).await.unwrap();
    let why = |text: &str| text.contains("ann@example.org is on the suppression list");
    assert!(story.iter().any(|moment| why(&moment.data.to_string())), "{story:?}");
}

async fn a_person_s_own_order_is_taken_where_they_are_on_the_list(bed: TestBed) {
    bed.channel("sms:default", "memory").await;
    let mut own: serde_json::Value = serde_json::from_str(ANN).unwrap();
    own["failover"] = json!(["email:default", "sms:default"]);
    wants(&bed, "ann", own).await;
    suppress(&bed, "email", "ann@example.org").await;
    let id = bed.accept_one(bed.message_over("email:default", &["ann@example.org"])).await;
    bed.run_for(1).await;
    assert_eq!(
        (bed.sent_to(), bed.notification(&id).await.status.as_str()),
        (vec!["+49301234567".to_owned()], "delivered")
    );
}

async fn the_next_channel_is_taken_for_those_alone_who_were_left_out(bed: TestBed) {
    bed.channel("sms:default", "memory").await;
    wants(&bed, "ann", serde_json::from_str(ANN).unwrap()).await;
    wants(&bed, "bob", json!({ "addresses": { "email": "bob@example.org", "sms": "+49307654321" } })).await;
    suppress(&bed, "email", "ann@example.org").await;
    let both = ["bob@example.org", "ann@example.org"];
    let id = bed.accept_one(over(&bed, &both, &["email:default", "sms:default"])).await;
    bed.run_for(1).await;
    assert_eq!(bed.sent_to(), ["bob@example.org", "+49301234567"], "each once");
    assert_eq!(bed.notification(&id).await.status.as_str(), "delivered");
    assert_eq!(skipped(&bed, &id).await, [("ann@example.org".to_owned(), "manual".to_owned())]);
}

async fn a_hard_bounce_goes_on_over_the_next_channel_and_does_not_come_back(bed: TestBed) {
    let bed = scripted(&bed, |_| SendOutcome::Permanent {
        reason: ReasonCode::MailboxUnavailable,
        error: "550 5.1.1 no such user".into(),
    })
    .await;
    bed.channel("sms:default", "memory").await;
    wants(&bed, "ann", serde_json::from_str(ANN).unwrap()).await;
    let ordered = || {
        let mut new = over(&bed, &["ann@example.org"], &["email:s", "sms:default"]);
        new.channel = "email:s".parse().ok();
        new
    };
    let first = bed.accept_one(ordered()).await;
    bed.run_for(1).await;
    let second = bed.accept_one(ordered()).await;
    bed.run_for(1).await;
    assert_eq!(bed.sent_to(), ["+49301234567", "+49301234567"]);
    assert_eq!(bed.attempts(&first).await.len(), 2);
    assert_eq!(bed.attempts(&second).await.len(), 1, "the mailbox is not retried");
}

async fn where_every_channel_is_suppressed_it_is_parked_and_says_so(bed: TestBed) {
    bed.channel("sms:default", "memory").await;
    wants(&bed, "ann", serde_json::from_str(ANN).unwrap()).await;
    suppress(&bed, "email", "ann@example.org").await;
    suppress(&bed, "sms", "+49301234567").await;
    let id = bed.accept_one(over(&bed, &["ann@example.org"], &["email:default", "sms:default"])).await;
    bed.run_for(60).await;
    assert!(bed.sent().is_empty());
    let row = bed.notification(&id).await;
    assert_eq!((row.status.as_str(), row.reason_code.as_deref()), ("parked", Some("suppressed")));
    let error = row.last_error.unwrap();
    assert!(error.starts_with("+49301234567 is on the suppression list"), "{error}");
    assert!(error.ends_with("no channel is left of email:default → sms:default"), "{error}");
    assert_eq!(bed.audit("notification", &id).await, ["fail-over:failed-over", "park:suppressed"]);
}

async fn suppress(bed: &TestBed, kind: &str, address: &str) {
    let row = SuppressionRow {
        channel_type: kind.into(),
        address: address.into(),
        reason: "manual".into(),
        source: "key:test".into(),
        detail: None,
        since: bed.now(),
        expires_at: None,
    };
    bed.engine.suppress(&Actor::named("key:test"), &row).await.unwrap();
}

async fn skipped(bed: &TestBed, id: &str) -> Vec<(String, String)> {
    let seq = bed.notification(id).await.seq;
    let rows = skipped_targets::of(&mut bed.read().await.conn(), vec![seq]).await.unwrap();
    rows.into_iter().map(|row| (row.target, row.detail.unwrap_or_default())).collect()
}

async fn a_suppressed_target_is_left_out_and_the_others_get_it(bed: TestBed) {
    suppress(&bed, "email", "ann@example.org").await;
    bed.list("ops", "email:default", &["bob@example.org", "ANN@Example.org"]).await;
    let to_list = bed.accept_one(bed.message_to_list("ops")).await;
    let direct =
        bed.accept_one(bed.message_over("email:default", &["Ann@example.org", "eve@example.org"])).await;
    bed.tick().await;
    let mut sent = bed.sent_to();
    sent.sort();
    assert_eq!(sent, ["bob@example.org", "eve@example.org"]);
    for (id, target) in [(&to_list, "ANN@Example.org"), (&direct, "Ann@example.org")] {
        let row = bed.notification(id).await;
        assert_eq!((row.status.as_str(), row.reason_code), ("delivered", None));
        assert_eq!(bed.attempts(id).await.len(), 1, "no attempt was made for who was left out");
        assert_eq!(skipped(&bed, id).await, [(target.to_owned(), "manual".to_owned())]);
    }
    let story = bed.engine.timeline(&punctual_model::Reach::Everything, &direct).await.unwrap();
    let reported = story.iter().find(|moment| moment.what == "targetSkipped").unwrap();
    assert!(
        reported.detail.contains("Ann@example.org") && reported.detail.contains("a person put it there"),
        "{reported:?}"
    );
}

async fn a_message_for_nobody_else_is_parked_and_an_operator_s_retry_looks_again(bed: TestBed) {
    suppress(&bed, "email", "ann@example.org").await;
    let id = bed.accept_one(bed.message_over("email:default", &["ann@example.org"])).await;
    let report = bed.tick().await.deliveries;
    assert_eq!((report.parked, report.retrying, report.delivered), (1, 0, 0));
    let row = bed.notification(&id).await;
    assert_eq!((row.status.as_str(), row.reason_code.as_deref()), ("parked", Some("suppressed")));
    assert!(row.last_error.unwrap().starts_with("ann@example.org is on the suppression list"));
    assert_eq!(bed.audit("notification", &id).await, ["park:suppressed"]);
    bed.engine.retry_notification(&Actor::named("key:test"), &id, None).await.unwrap();
    bed.tick().await;
    assert_eq!(bed.notification(&id).await.status.as_str(), "parked", "it is on the list still");
    assert!(bed.engine.unsuppress(&Actor::named("key:test"), "email", "ann@example.org").await.unwrap());
    assert!(!bed.engine.unsuppress(&Actor::named("key:test"), "email", "ann@example.org").await.unwrap());
    bed.engine.retry_notification(&Actor::named("key:test"), &id, None).await.unwrap();
    bed.tick().await;
    assert_eq!(
        (bed.notification(&id).await.status.as_str(), bed.sent_to()),
        ("delivered", vec!["ann@example.org".to_owned()])
    );
    assert_eq!(bed.audit("address", "email:ann@example.org").await, ["suppress:manual", "unsuppress"]);
}

async fn whoever_got_it_before_counts(bed: TestBed) {
    let bed = scripted(&bed, |address| match address {
        "bob@example.org" => SendOutcome::Transient { error: "later".into(), retry_after: None },
        _ => delivered(),
    })
    .await;
    let both = bed.accept_one(bed.message_over("email:s", &["ann@example.org", "bob@example.org"])).await;
    let alone = bed.accept_one(bed.message_over("email:s", &["bob@example.org"])).await;
    bed.tick().await;
    assert_eq!(bed.notification(&both).await.status.as_str(), "retrying");
    suppress(&bed, "email", "bob@example.org").await;
    bed.run_for(60).await;
    assert_eq!(
        bed.notification(&both).await.status.as_str(),
        "delivered",
        "one has it, the other gets nothing"
    );
    assert_eq!(bed.notification(&alone).await.reason_code.as_deref(), Some("suppressed"));
}

async fn scripted(bed: &TestBed, answer: impl Fn(&str) -> SendOutcome + Send + Sync + 'static) -> TestBed {
    let bed = bed.with(|bed| bed.adapter(Scripted::new("scripted", move |message| answer(&message.address))));
    bed.channel("email:s", "scripted").await;
    bed
}

async fn an_entry_that_is_over_counts_no_more(bed: TestBed) {
    let row = SuppressionRow {
        channel_type: "email".into(),
        address: "ann@example.org".into(),
        reason: "manual".into(),
        source: "key:test".into(),
        detail: None,
        since: bed.now(),
        expires_at: Some(bed.after(60)),
    };
    bed.engine.suppress(&Actor::named("key:test"), &row).await.unwrap();
    let message = || bed.message_over("email:default", &["ann@example.org"]);
    let early = bed.accept_one(message()).await;
    bed.tick().await;
    bed.wait(60);
    let late = bed.accept_one(message()).await;
    bed.tick().await;
    let statuses = [bed.notification(&early).await.status, bed.notification(&late).await.status];
    assert_eq!(statuses, [NotificationStatus::Parked, NotificationStatus::Delivered]);
}

async fn another_type_of_channel_is_another_matter(bed: TestBed) {
    suppress(&bed, "sms", "+49301234567").await;
    bed.channel("sms:a", "memory").await;
    bed.channel("whatsapp:a", "memory").await;
    let sms = bed.accept_one(bed.message_over("sms:a", &["+49 30 1234567"])).await;
    let whatsapp = bed.accept_one(bed.message_over("whatsapp:a", &["+49301234567"])).await;
    bed.tick().await;
    let statuses = [bed.notification(&sms).await.status, bed.notification(&whatsapp).await.status];
    assert_eq!(statuses, [NotificationStatus::Parked, NotificationStatus::Delivered]);
}

async fn nothing_is_asked_while_nobody_can_be_on_the_list(bed: TestBed) {
    // The statement that asks would fail; it is not run for an empty list, nor for addresses that are not on it.
    bed.faults.fail("suppressions.among", false, 1_000);
    bed.accept_one(bed.message_over("email:default", &["ann@example.org"])).await;
    bed.tick().await;
    suppress(&bed, "email", "bob@example.org").await;
    bed.accept_one(bed.message_over("email:default", &["eve@example.org"])).await;
    bed.tick().await;
    assert_eq!(bed.sent_to(), ["ann@example.org", "eve@example.org"]);
    bed.faults.heal();
}

async fn what_another_node_suppressed_counts_within_a_second(bed: TestBed) {
    let other = bed.node("b").await;
    other.tick().await;
    suppress(&bed, "email", "ann@example.org").await;
    bed.wait(1);
    let id = bed.accept_one(bed.message_over("email:default", &["ann@example.org"])).await;
    other.tick().await;
    assert_eq!(bed.notification(&id).await.reason_code.as_deref(), Some("suppressed"));
    bed.engine.unsuppress(&Actor::named("key:test"), "email", "ann@example.org").await.unwrap();
    bed.wait(1);
    let id = bed.accept_one(bed.message_over("email:default", &["ann@example.org"])).await;
    other.tick().await;
    assert_eq!(bed.notification(&id).await.status.as_str(), "delivered");
}

async fn a_node_that_sends_itself_looks_too(bed: TestBed) {
    let running = bed.engine.run();
    let settled = async |id: &str| {
        signal("the end", async {
            loop {
                let row = bed.notification(id).await;
                if !matches!(row.status.as_str(), "pending" | "retrying") {
                    return row.status.as_str();
                }
                tokio::task::yield_now().await;
            }
        })
        .await
    };
    // The channel is known after the first.
    let first = bed.accept_one(bed.message_over("email:default", &["bob@example.org"])).await;
    assert_eq!(settled(&first).await, "delivered");
    suppress(&bed, "email", "ann@example.org").await;
    for _ in 0..5 {
        let left_out = bed.accept_one(bed.message_over("email:default", &["ann@example.org"])).await;
        let sent = bed.accept_one(bed.message_over("email:default", &["bob@example.org"])).await;
        assert_eq!([settled(&left_out).await, settled(&sent).await], ["parked", "delivered"]);
    }
    running.stop().await;
    assert!(bed.sent_to().iter().all(|address| address == "bob@example.org"));
}

async fn a_refusal_of_the_mailbox_is_a_hard_bounce_and_one_of_the_relay_is_not(bed: TestBed) {
    let refused = |error: &str| SendOutcome::Permanent {
        reason: ReasonCode::MailboxUnavailable,
        error: error.to_owned(),
    };
    let bed = scripted(&bed, move |address| match address {
        "gone@example.org" => refused("550 5.1.1 no such user"),
        "policy@example.org" => refused("550 5.7.1 relaying denied"),
        _ => delivered(),
    })
    .await;
    let to = async |address: &str| bed.accept_one(bed.message_over("email:s", &[address])).await;
    let first = to("gone@example.org").await;
    to("policy@example.org").await;
    bed.tick().await;
    let found =
        suppressions::get(&mut bed.read().await.conn(), "email", "gone@example.org").await.unwrap().unwrap();
    assert_eq!((found.reason.as_str(), found.source), ("hardBounce", format!("notification:{first}")));
    assert_eq!(found.detail.as_deref(), Some("550 5.1.1 no such user"));
    assert_eq!(suppressions::count(&mut bed.read().await.conn(), 10).await.unwrap(), 1);
    assert_eq!(bed.notification(&first).await.reason_code.as_deref(), Some("mailbox-unavailable"));
    assert_eq!(bed.audit("address", "email:gone@example.org").await, ["suppress:hardBounce"]);
    let again = to("Gone@example.org").await;
    bed.tick().await;
    let row = bed.notification(&again).await;
    assert_eq!((row.reason_code.as_deref(), row.retry_count), (Some("suppressed"), 0));
    assert!(bed.attempts(&again).await.is_empty());
}

async fn an_address_that_opted_out_at_the_provider_is_left_alone(bed: TestBed) {
    let bed = scripted(&bed, |_| SendOutcome::Permanent {
        reason: ReasonCode::RecipientOptedOut,
        error: "21610 unsubscribed".into(),
    })
    .await;
    bed.accept_one(bed.message_over("email:s", &["ann@example.org"])).await;
    bed.tick().await;
    let found = suppressions::get(&mut bed.read().await.conn(), "email", "ann@example.org").await.unwrap();
    assert_eq!(found.unwrap().reason, "unsubscribed");
}

//! Receipts: that a provider took a message and that it arrived are two facts, whoever comes first and however often.

use jiff::Timestamp;
use punctual_engine::{Actor, attention::Kind, receipts::Called};
use punctual_model::{AttemptOutcome, Callback, CallbackFault, SendOutcome};
use punctual_store::{
    receipts::{self, ReceiptRow},
    suppressions,
};
use punctual_testkit::{Scripted, TestBed, on_both};
use serde_json::{Value, json};

on_both! {
    that_it_was_taken_and_that_it_arrived_are_two_facts;
    the_same_again_and_the_wrong_way_round_change_nothing;
    a_message_that_comes_back_is_shown_and_its_address_suppressed;
    a_complaint_suppresses_and_a_failure_alone_does_not;
    a_receipt_for_nobody_is_counted_and_forgotten;
    a_receipt_that_was_quicker_finds_its_message;
    a_channel_without_callbacks_keeps_no_ids;
    receipts_go_with_their_notification;
}

/// A bed with `email:p`, whose provider gives each message an id made of its address and calls back.
async fn with_provider(bed: &TestBed) -> TestBed {
    let taken = |message: punctual_model::Outgoing| SendOutcome::Delivered {
        provider_id: format!("id-{}", message.address),
    };
    let bed = bed.with(|bed| {
        bed.adapter(Scripted::new("provider", taken).calls_back()).adapter(Scripted::new("silent", taken))
    });
    bed.channel("email:p", "provider").await;
    bed.channel("email:q", "silent").await;
    bed
}

async fn call(bed: &TestBed, channel: &str, signature: &str, body: &[u8]) -> Result<Called, CallbackFault> {
    let header = |name: &str| (name == "x-signature").then(|| signature.to_owned());
    let call = Callback {
        is_get: false,
        query: "",
        path_secret: None,
        header: &header,
        body,
        at: Timestamp::UNIX_EPOCH,
    };
    bed.engine.take_callback(channel, &call).await.unwrap()
}

async fn report(bed: &TestBed, items: Value) -> (usize, usize, usize) {
    match call(bed, "email:p", "good", items.to_string().as_bytes()).await {
        Ok(Called::Receipts { count: receipts, new, unknown }) => (receipts, new, unknown),
        other => panic!("{other:?}"),
    }
}

async fn known(bed: &TestBed, address: &str) -> Option<ReceiptRow> {
    receipts::get(&mut bed.read().await.conn(), "provider", &format!("id-{address}")).await.unwrap()
}

async fn sent(bed: &TestBed, address: &str) -> String {
    let id = bed.accept_one(bed.message_over("email:p", &[address])).await;
    bed.tick().await;
    id
}

async fn that_it_was_taken_and_that_it_arrived_are_two_facts(bed: TestBed) {
    let bed = with_provider(&bed).await;
    let id = sent(&bed, "ann@example.org").await;
    let row = known(&bed, "ann@example.org").await.unwrap();
    assert_eq!((row.rank, row.confirmed_at, row.received_at), (0, None, None), "taken, and no more");
    let attempt = &bed.attempts(&id).await[0];
    assert_eq!((attempt.outcome.map(AttemptOutcome::as_str), attempt.n), (Some("delivered"), 1));
    bed.wait(30);
    let at = "2026-05-14T05:00:10Z";
    assert_eq!(
        report(&bed, json!([{ "id": "id-ann@example.org", "state": "delivered", "at": at }])).await,
        (1, 1, 0)
    );
    let row = known(&bed, "ann@example.org").await.unwrap();
    assert_eq!(row.confirmed_at, Some(at.parse::<Timestamp>().unwrap()));
    assert_eq!(row.received_at, Some(bed.now()));
    let story: Vec<&str> = bed
        .engine
        .timeline(&punctual_model::Reach::Everything, &id)
        .await
        .unwrap()
        .iter()
        .map(|moment| moment.what)
        .collect();
    assert_eq!(story.last(), Some(&"confirmed"), "{story:?}");
    let kpis = bed.engine.outbox_kpis(None).await.unwrap();
    assert_eq!((kpis.receipts.confirmed, kpis.receipts.failed), (1, 0));
    for (channel, signature, body, fault) in [
        ("email:p", "bad", "[]", CallbackFault::Signature),
        ("email:q", "good", "[]", CallbackFault::NotTaken),
        ("email:none", "good", "[]", CallbackFault::NotTaken),
    ] {
        assert_eq!(call(&bed, channel, signature, body.as_bytes()).await, Err(fault), "{channel}");
    }
    assert!(matches!(call(&bed, "email:p", "good", b"<html>").await, Err(CallbackFault::Unreadable(_))));
    let metrics = bed.engine.metrics.encode();
    assert!(
        metrics.contains(r#"punctual_receipts_total{channel="email:p",outcome="delivered"} 1"#),
        "{metrics}"
    );
    assert!(
        metrics.contains(r#"punctual_receipts_total{channel="email:p",outcome="refused"} 2"#),
        "{metrics}"
    );
}

async fn the_same_again_and_the_wrong_way_round_change_nothing(bed: TestBed) {
    let bed = with_provider(&bed).await;
    sent(&bed, "ann@example.org").await;
    let state = |state: &str| json!({ "id": "id-ann@example.org", "state": state });
    assert_eq!(report(&bed, json!([state("delivered"), state("sent"), state("delivered")])).await, (3, 1, 0));
    let before = known(&bed, "ann@example.org").await;
    bed.wait(10);
    assert_eq!(report(&bed, json!([state("delivered")])).await, (1, 0, 0));
    assert_eq!(report(&bed, json!([state("sent"), state("accepted")])).await, (2, 0, 0));
    assert_eq!(known(&bed, "ann@example.org").await, before);
    assert_eq!(report(&bed, json!([state("read")])).await, (1, 1, 0));
    let after = known(&bed, "ann@example.org").await.unwrap();
    assert_eq!((after.rank, after.confirmed_at), (3, before.unwrap().confirmed_at));
}

async fn a_message_that_comes_back_is_shown_and_its_address_suppressed(bed: TestBed) {
    let bed = with_provider(&bed).await;
    let id = sent(&bed, "Ann@example.org").await;
    let bounce = json!([{ "id": "id-Ann@example.org", "state": "failed", "suppress": "hardBounce", "detail": "550 5.1.1\nno such user" }]);
    assert_eq!(report(&bed, bounce.clone()).await, (1, 1, 0));
    assert_eq!(report(&bed, bounce).await, (1, 0, 0));
    assert_eq!(bed.notification(&id).await.status.as_str(), "delivered", "it was taken; that stays");
    let listed =
        suppressions::get(&mut bed.read().await.conn(), "email", "ann@example.org").await.unwrap().unwrap();
    assert_eq!(
        (listed.reason.as_str(), listed.source.as_str()),
        ("hardBounce", "receipt:id-Ann@example.org")
    );
    assert_eq!(listed.detail.as_deref(), Some("550 5.1.1 no such user"));
    let attention = bed.engine.attention(&punctual_model::Reach::Everything, 10).await.unwrap();
    assert_eq!(attention.counts, [(Kind::Receipt, 1)]);
    let item = &attention.items[0];
    assert_eq!((item.id.as_str(), item.link.as_str()), (id.as_str(), &*format!("/notifications/{id}")));
    assert!(item.reason.contains("Ann@example.org: 550 5.1.1 no such user"), "{item:?}");
    let other = bed.engine.attention(&punctual_model::Reach::Units(vec!["nz".to_owned()]), 10).await.unwrap();
    assert!(other.items.is_empty(), "what belongs to no unit is the installation's");
    assert!(bed.engine.acknowledge(&Actor::named("key:test"), &id, None).await.unwrap());
    assert!(!bed.engine.acknowledge(&Actor::named("key:test"), &id, None).await.unwrap());
    assert_eq!(bed.engine.attention(&punctual_model::Reach::Everything, 10).await.unwrap().total(), 0);
    assert_eq!(bed.audit("notification", &id).await, ["acknowledge"]);
    let story: Vec<String> = bed
        .engine
        .timeline(&punctual_model::Reach::Everything, &id)
        .await
        .unwrap()
        .into_iter()
        .map(|moment| moment.detail)
        .collect();
    assert!(
        story.iter().any(|reported| reported.contains("did not arrive: 550 5.1.1 no such user")),
        "{story:?}"
    );
    let again = sent(&bed, "ann@example.org").await;
    assert_eq!(bed.notification(&again).await.reason_code.as_deref(), Some("suppressed"));
}

async fn a_complaint_suppresses_and_a_failure_alone_does_not(bed: TestBed) {
    let bed = with_provider(&bed).await;
    sent(&bed, "ann@example.org").await;
    sent(&bed, "bob@example.org").await;
    let reported = json!([
        { "id": "id-ann@example.org", "state": "complained", "suppress": "complaint" },
        { "id": "id-bob@example.org", "state": "failed", "detail": "full" },
    ]);
    assert_eq!(report(&bed, reported).await, (2, 2, 0));
    let mut reader = bed.read().await;
    let ann = suppressions::get(&mut reader.conn(), "email", "ann@example.org").await.unwrap();
    assert_eq!(ann.unwrap().reason, "complaint");
    assert_eq!(suppressions::get(&mut reader.conn(), "email", "bob@example.org").await.unwrap(), None);
    let attention = bed.engine.attention_counts(&punctual_model::Reach::Everything).await.unwrap();
    assert_eq!(attention, [(Kind::Receipt, 1)], "who complains has it; what did not arrive needs attention");
    // An unsubscription after it was read says nothing new of the message, and all of its reader.
    sent(&bed, "eve@example.org").await;
    report(&bed, json!([{ "id": "id-eve@example.org", "state": "read" }])).await;
    report(&bed, json!([{ "id": "id-eve@example.org", "state": "read", "suppress": "unsubscribed" }])).await;
    let eve = suppressions::get(&mut reader.conn(), "email", "eve@example.org").await.unwrap();
    assert_eq!(eve.unwrap().reason, "unsubscribed");
}

async fn a_receipt_for_nobody_is_counted_and_forgotten(bed: TestBed) {
    let bed = with_provider(&bed).await;
    let reported = json!([
        { "id": "id-x", "state": "failed", "suppress": "hardBounce" }, { "id": "", "state": "sent" }, { "id": "y".repeat(1_001), "state": "sent" },
    ]);
    assert_eq!(report(&bed, reported).await, (3, 0, 1));
    assert!(bed.engine.metrics.encode().contains("punctual_receipts_unknown_total 1"));
    assert_eq!(
        suppressions::count(&mut bed.read().await.conn(), 10).await.unwrap(),
        0,
        "it may be a stranger's"
    );
    assert_eq!(bed.engine.attention(&punctual_model::Reach::Everything, 10).await.unwrap().total(), 0);
    assert!(known(&bed, "x").await.is_some());
    bed.wait(25 * 60 * 60);
    bed.engine.purge(bed.now()).await.unwrap();
    assert!(known(&bed, "x").await.is_none());
}

async fn a_receipt_that_was_quicker_finds_its_message(bed: TestBed) {
    let bed = with_provider(&bed).await;
    let reported = json!([{ "id": "id-ann@example.org", "state": "failed", "suppress": "hardBounce", "detail": "no such user" }]);
    assert_eq!(report(&bed, reported).await, (1, 0, 1));
    let id = sent(&bed, "ann@example.org").await;
    let row = known(&bed, "ann@example.org").await.unwrap();
    assert_eq!((row.notification_seq, row.rank), (Some(bed.notification(&id).await.seq), 4));
    let listed = suppressions::get(&mut bed.read().await.conn(), "email", "ann@example.org").await.unwrap();
    assert_eq!(listed.unwrap().reason, "hardBounce");
    assert_eq!(bed.engine.attention(&punctual_model::Reach::Everything, 10).await.unwrap().total(), 1);
}

async fn a_channel_without_callbacks_keeps_no_ids(bed: TestBed) {
    let bed = with_provider(&bed).await;
    // The statement that keeps them would fail.
    bed.faults.fail("receipts.expect", false, 1_000);
    let id = bed.accept_one(bed.message_over("email:q", &["ann@example.org"])).await;
    bed.tick().await;
    assert_eq!(bed.notification(&id).await.status.as_str(), "delivered");
    bed.faults.heal();
}

async fn receipts_go_with_their_notification(bed: TestBed) {
    let bed = with_provider(&bed).await;
    sent(&bed, "ann@example.org").await;
    report(&bed, json!([{ "id": "id-ann@example.org", "state": "delivered" }])).await;
    bed.wait(366 * 24 * 60 * 60);
    assert_eq!(bed.engine.purge(bed.now()).await.unwrap().removed, 1);
    assert!(known(&bed, "ann@example.org").await.is_none());
}

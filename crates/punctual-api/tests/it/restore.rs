//! After a restore: what was due waits for a person, what becomes due later goes on, and both choices are carried out.

use punctual_engine::restored::mark_restored;
use punctual_testkit::{TestBed, on_both};
use serde_json::json;

use crate::client::Client;

on_both! {
    r03_what_was_due_at_a_restore_waits_for_a_person;
    what_is_given_up_after_a_restore_is_never_sent;
}

/// A message to be sent, one under way, and one of later.
async fn restored(bed: &TestBed, client: &Client) {
    bed.list("ops", "email:default", &["b@example.org"]).await;
    bed.accept_one(bed.message("a@example.org")).await;
    for (id, at) in [("now", bed.now()), ("later", bed.after(7_200))] {
        let message = json!({ "id": id, "sendAt": at.to_string(), "targets": ["m@example.org"],
            "channel": "email:default", "subject": id, "body": "b" });
        client.post("/api/v1/messages", message).await.expect(201);
    }
    mark_restored(&bed.store, bed.now(), Some(bed.now())).await.unwrap();
    bed.wait(3_600);
    let held = bed.engine.hold_restored(bed.now()).await.unwrap().unwrap();
    assert_eq!((held.work, held.notifications), (1, 1));
    assert_eq!(bed.engine.hold_restored(bed.now()).await.unwrap(), None, "once");
}

async fn r03_what_was_due_at_a_restore_waits_for_a_person(bed: TestBed) {
    let client = Client::new(&bed).await;
    assert_eq!(client.get("/api/v1/restore").await.expect(200), json!({ "last": null }));
    restored(&bed, &client).await;
    bed.tick().await;
    assert!(bed.sent().is_empty(), "nothing is sent by itself");
    let last = client.get("/api/v1/restore").await.expect(200)["last"].clone();
    assert_eq!(last["waiting"], json!({ "work": 1, "notifications": 1, "owed": 0 }));
    let attention = client.get("/api/v1/attention").await.expect(200);
    assert_eq!(attention["counts"]["restore"], 1);
    let entry = attention["items"].as_array().unwrap().iter().find(|item| item["kind"] == "restore").unwrap();
    assert!(entry["reason"].as_str().unwrap().starts_with("1 messages and 1 work rows were due"), "{entry}");

    let read = client.new_key(&["read", "operate"], None).await;
    read.post("/api/v1/restore/release", json!({})).await.refused(403, "scope_missing");
    client.post("/api/v1/restore/release", json!({ "all": true })).await.refused(422, "unknown_field");
    let done =
        client.post("/api/v1/restore/release", json!({ "reason": "asked the receivers" })).await.expect(200);
    let none = json!({ "work": 0, "notifications": 0, "owed": 0 });
    assert_eq!(done, json!({ "work": 1, "notifications": 1, "owed": 0, "remaining": none }));
    bed.run_for(10).await;
    let mut sent = bed.sent_to();
    sent.sort_unstable();
    assert_eq!(sent, ["a@example.org", "m@example.org"]);
    assert_eq!(client.get("/api/v1/attention").await.expect(200)["counts"]["restore"], 0);
    bed.run_for(3_700).await;
    assert_eq!(bed.sent().len(), 3, "what is due later goes on by itself");
}

async fn what_is_given_up_after_a_restore_is_never_sent(bed: TestBed) {
    let client = Client::new(&bed).await;
    restored(&bed, &client).await;
    let done = client.post("/api/v1/restore/discard", json!({})).await.expect(200);
    assert_eq!((&done["work"], &done["notifications"]), (&json!(1), &json!(1)));
    bed.run_for(10).await;
    assert!(bed.sent().is_empty());
    assert_eq!(bed.work("message:now").await.status.as_str(), "cancelled");
    bed.run_for(3_700).await;
    assert_eq!(bed.sent().len(), 1, "what is due later goes on by itself");
}

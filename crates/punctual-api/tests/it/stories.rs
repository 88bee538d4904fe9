//! From a request to what arrived, with the sandbox's clock.

use std::sync::{Arc, Mutex};

use axum::http::Method;
use punctual_model::Arrival;
use punctual_testkit::{Database, TestBed, TestBedBuilder, on_both, run};
use serde_json::{Value, json};

use crate::client::{Client, put_on_hold};

on_both! {
    a_message_is_sent_at_its_moment;
    a_notification_is_delivered_and_can_be_explained;
    a_channel_that_fails_is_tried_again_and_parked;
    the_same_id_is_one_notification;
    the_same_key_is_one_schedule;
    a_tick_says_what_it_did;
    work_is_released_repeated_and_cancelled;
    a_jump_runs_what_is_ready;
    a_purge_is_seen_and_done_by_hand;
    how_long_is_kept_is_planned_and_set;
    a_held_row_shows_how_it_was_decided;
}

#[test]
fn a_schedule_arrives_at_its_moment() {
    for database in [Database::Sqlite, Database::Postgres] {
        let received: Arc<Mutex<Vec<Arrival>>> = Arc::default();
        let shared = received.clone();
        let listener = move |arrival: &Arrival| {
            shared.lock().unwrap().push(arrival.clone());
            Ok(())
        };
        run(TestBedBuilder::new(database).listener("invoices.*", listener), |bed| {
            schedule_story(bed, received)
        });
    }
}

async fn schedule_story(bed: TestBed, received: Arc<Mutex<Vec<Arrival>>>) {
    let client = Client::new(&bed).await;
    let body = json!({ "topic": "invoices.close", "runAt": "2026-05-14T07:00:00+02:00", "payload": { "a": 1 }, "key": "nightly" });
    let made = client.post("/api/v1/schedules", body).await.expect(201);
    assert_eq!(
        (&made["key"], &made["kind"], &made["trigger"], &made["status"], &made["outcome"]),
        (&json!("schedule:nightly"), &json!("schedule"), &json!("at"), &json!("pending"), &json!("created")),
    );
    let path = format!("/api/v1/schedules/{}", made["id"]);
    let moved = client.patch(&path, json!({ "runAt": "2026-05-14T08:30:00Z" })).await.expect(200);
    assert_eq!((&moved["runAt"], &moved["outcome"]), (&json!("2026-05-14T08:30:00Z"), &json!("updated")));
    client.advance("3h").await;
    assert!(received.lock().unwrap().is_empty());
    client.advance("1h").await;
    let arrivals = received.lock().unwrap().clone();
    assert_eq!(arrivals.len(), 1);
    assert_eq!((arrivals[0].topic.as_str(), arrivals[0].payload.as_str()), ("invoices.close", "{\"a\":1}"));
    assert_eq!(arrivals[0].due_at.to_string(), "2026-05-14T08:30:00Z");
    let done = client.get(&path).await.expect(200);
    assert_eq!((&done["status"], &done["payload"]), (&json!("completed"), &json!({ "a": 1 })));
    client.patch(&path, json!({ "runAt": "2026-05-15T08:30:00Z" })).await.refused(409, "state_not_allowed");
    client.delete(&path).await.refused(409, "state_not_allowed");
}

async fn a_message_is_sent_at_its_moment(bed: TestBed) {
    let client = Client::new(&bed).await;
    let body = json!({ "id": "m-1", "sendAt": "2026-05-14T06:00:00Z", "targets": ["a@b.example"],
        "channel": "email:default", "subject": "S", "body": "B" });
    let made = client.post("/api/v1/messages", body.clone()).await.expect(201);
    assert_eq!((&made["id"], &made["status"]), (&json!("m-1"), &json!("pending")));
    client.post("/api/v1/messages", body.clone()).await.expect(200);
    client.advance("30m").await;
    assert!(bed.sent().is_empty());
    client.advance("30m").await;
    let sent = client.get("/api/v1/sandbox/sent").await.expect(200);
    let sent = &sent["items"][0];
    assert_eq!((&sent["address"], &sent["at"]), (&json!("a@b.example"), &json!("2026-05-14T06:00:00Z")));
    let message = client.get("/api/v1/messages/m-1").await.expect(200);
    assert_eq!(
        (&message["status"], &message["notifications"][0]),
        (&json!("completed"), &sent["notificationId"])
    );
    client.post("/api/v1/messages", body.clone()).await.expect(200);
    client.delete("/api/v1/messages/m-1").await.refused(409, "state_not_allowed");

    let mut other = body;
    other["id"] = json!("m-2");
    other["sendAt"] = json!("2026-05-15T06:00:00Z");
    client.post("/api/v1/messages", other).await.expect(201);
    client.delete("/api/v1/messages/m-2").await.expect(204);
    client.delete("/api/v1/messages/m-2").await.expect(204);
    assert_eq!(client.get("/api/v1/messages/m-2").await.expect(200)["status"], "cancelled");
    client.advance("2d").await;
    assert_eq!(bed.sent().len(), 1);
}

async fn a_notification_is_delivered_and_can_be_explained(bed: TestBed) {
    let client = Client::new(&bed).await;
    client
        .put("/api/v1/lists/ops", json!({ "type": "email", "targets": ["a@b.example", "c@d.example"] }))
        .await
        .expect(200);
    let body = json!({ "id": "0197A3C4-5D6E-7F80-9A1B-2C3D4E5F6071", "list": "ops", "subject": "S", "body": "B",
        "source": { "instance": "i", "script": "watch.sh" } });
    let made = client.post("/api/v1/notifications", body).await.expect(201);
    let id = "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071";
    assert_eq!(made, json!({ "id": id, "status": "pending" }));
    // Nothing runs by itself.
    assert!(bed.sent().is_empty());
    client.advance("1s").await;
    let mut shown = client.get(&format!("/api/v1/notifications/{id}")).await.expect(200);
    assert_eq!(shown["resolvedTargets"].as_array().unwrap().len(), 2);
    // Two sends at once end in any order.
    shown["resolvedTargets"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .for_each(|target| target["messageId"] = json!("mem-*"));
    insta::assert_json_snapshot!("delivered_notification", shown);
    let timeline = client.get(&format!("/api/v1/notifications/{id}/timeline")).await.expect(200);
    let reported: Vec<_> =
        timeline["items"].as_array().unwrap().iter().map(|item| item["what"].as_str().unwrap()).collect();
    assert_eq!(reported.first(), Some(&"queued"));
    assert_eq!(reported.last(), Some(&"delivered"));
    assert_eq!(reported.iter().filter(|what| **what == "attemptEnded").count(), 2);
    let path = format!("/api/v1/notifications/{id}/discard");
    let refused = client.call(Method::POST, &path, None).await.refused(409, "state_not_allowed");
    assert_eq!((&refused["state"], &refused["allowed"]), (&json!("delivered"), &json!([])));
}

async fn a_channel_that_fails_is_tried_again_and_parked(bed: TestBed) {
    let client = Client::new(&bed).await;
    let channel = json!({ "adapter": "memory", "retry": { "max": 1, "intervalSeconds": 60 } });
    client.put("/api/v1/channels/memory:poor", channel).await.expect(200);
    let misbehave = json!({ "outcome": "transient", "times": 2, "error": "451 later" });
    client.put("/api/v1/sandbox/channels/memory:poor", misbehave).await.expect(204);
    let body = json!({ "targets": ["x"], "channel": "memory:poor", "subject": "S", "body": "B" });
    let id = client.post("/api/v1/notifications", body).await.expect(201)["id"].clone();
    let path = format!("/api/v1/notifications/{}", id.as_str().unwrap());
    client.advance("1s").await;
    let shown = client.get(&path).await.expect(200);
    assert_eq!((&shown["status"], &shown["retryCount"]), (&json!("retrying"), &json!(1)));
    assert_eq!(shown["nextAttemptAt"], "2026-05-14T05:01:00Z");
    assert_eq!(shown["resolvedTargets"][0]["outcome"], "transient");
    client.advance("1h").await;
    let shown = client.get(&path).await.expect(200);
    assert_eq!((&shown["status"], &shown["retryCount"]), (&json!("parked"), &json!(2)));
    assert!(shown["lastError"].as_str().unwrap().contains("451 later"));
    let stale = client.post(&format!("{path}/retry"), json!({ "version": 1 })).await;
    stale.refused(409, "stale_version");
    let seen = json!({ "version": shown["version"], "reason": "the relay is back" });
    let again = client.post(&format!("{path}/retry"), seen).await.expect(200);
    assert_eq!((&again["status"], &again["retryCount"]), (&json!("pending"), &json!(0)));
    let reported = bed.audit("notification", id.as_str().unwrap()).await;
    assert_eq!(reported.last().map(String::as_str), Some("note:the relay is back"));
    let reply = client.call(Method::POST, "/api/v1/scheduler/tick", None).await.expect(200);
    assert_eq!(reply["deliveries"], json!({ "delivered": 1, "retrying": 0, "parked": 0 }));
    let shown = client.get(&path).await.expect(200);
    assert_eq!(
        (&shown["status"], &shown["resolvedTargets"][0]["outcome"]),
        (&json!("delivered"), &json!("delivered"))
    );

    let misbehave = json!({ "outcome": "permanent", "times": 1 });
    client.put("/api/v1/sandbox/channels/memory:poor", misbehave).await.expect(204);
    let body = json!({ "targets": ["y"], "channel": "memory:poor", "subject": "S", "body": "B" });
    let id = client.post("/api/v1/notifications", body).await.expect(201)["id"].clone();
    client.advance("1s").await;
    let path = format!("/api/v1/notifications/{}/discard", id.as_str().unwrap());
    assert_eq!(client.call(Method::POST, &path, None).await.expect(200)["status"], "discarded");
    assert_eq!(bed.sent_to(), ["x"]);
}

async fn the_same_id_is_one_notification(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut body = json!({ "id": "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071", "targets": ["x"], "channel": "memory:default",
        "subject": "S", "body": "B" });
    client.post("/api/v1/notifications", body.clone()).await.expect(201);
    assert_eq!(client.post("/api/v1/notifications", body.clone()).await.expect(200)["status"], "pending");
    client.advance("1s").await;
    assert_eq!(client.post("/api/v1/notifications", body.clone()).await.expect(200)["status"], "delivered");
    let both = client.post("/api/v1/notifications", json!([body, body])).await.expect(200);
    let outcomes: Vec<_> =
        both["items"].as_array().unwrap().iter().map(|item| item["outcome"].clone()).collect();
    assert_eq!(outcomes, ["unchanged", "unchanged"]);
    body["subject"] = json!("T");
    client.post("/api/v1/notifications", body.clone()).await.refused(409, "id_reused");
    let one = client.post("/api/v1/notifications", json!([body])).await.expect(200);
    assert_eq!(one["items"][0]["error"]["code"], "id_reused");
    assert_eq!(bed.sent().len(), 1);
}

async fn the_same_key_is_one_schedule(bed: TestBed) {
    let client = Client::new(&bed).await;
    let schedule =
        |at: &str, payload: Value| json!({ "topic": "t", "runAt": at, "payload": payload, "key": "k" });
    let first =
        client.post("/api/v1/schedules", schedule("2026-05-14T06:00:00Z", json!({}))).await.expect(201);
    let same =
        client.post("/api/v1/schedules", schedule("2026-05-14T06:00:00Z", json!({}))).await.expect(200);
    assert_eq!((&same["id"], &same["outcome"]), (&first["id"], &json!("unchanged")));
    let moved =
        client.post("/api/v1/schedules", schedule("2026-05-14T07:00:00Z", json!({}))).await.expect(200);
    assert_eq!((&moved["id"], &moved["outcome"]), (&first["id"], &json!("updated")));
    let conflict =
        client.post("/api/v1/schedules", schedule("2026-05-14T07:00:00Z", json!({ "a": 1 }))).await;
    conflict.refused(409, "id_reused");
    let path = format!("/api/v1/work/{}", first["id"]);
    assert_eq!(client.get(&path).await.expect(200)["onHold"], false, "a refused request changes nothing");
    put_on_hold(&bed, "schedule:k").await;
    assert_eq!(client.get(&path).await.expect(200)["onHold"], true);
    client.call(Method::POST, &format!("{path}/release"), None).await.expect(200);
    client.advance("3h").await;
    let done =
        client.post("/api/v1/schedules", schedule("2026-05-14T09:00:00Z", json!({}))).await.expect(200);
    assert_eq!((&done["outcome"], &done["status"]), (&json!("completed"), &json!("completed")));
    let trace = client.get(&format!("{path}/trace")).await.expect(200);
    let reported: Vec<_> =
        trace["items"].as_array().unwrap().iter().map(|item| item["what"].as_str().unwrap()).collect();
    assert_eq!(reported, ["created", "conflict", "release", "completed"]);
    let named: Vec<_> =
        trace["items"].as_array().unwrap().iter().map(|item| item["title"].as_str().unwrap()).collect();
    assert_eq!(named, ["Planned", "Put on hold", "Released", "Completed"]);
}

async fn a_tick_says_what_it_did(bed: TestBed) {
    let client = Client::new(&bed).await;
    let message = json!({ "sendAt": "2026-05-14T05:00:00Z", "targets": ["x"], "channel": "memory:default", "subject": "S", "body": "B" });
    client.post("/api/v1/messages", json!([message, message])).await.expect(200);
    assert!(bed.sent().is_empty());
    let tick = client.post("/api/v1/scheduler/tick", json!({ "batchSize": 1 })).await.expect(200);
    insta::assert_json_snapshot!("tick", tick);
    let tick = client.call(Method::POST, "/api/v1/scheduler/tick", None).await.expect(200);
    assert_eq!(tick["processed"], 1);
    assert_eq!(bed.sent().len(), 2);
}

async fn work_is_released_repeated_and_cancelled(bed: TestBed) {
    let client = Client::new(&bed).await;
    let body = json!({ "id": "m", "sendAt": "2026-05-14T05:00:00Z", "targets": ["x"], "channel": "memory:default",
        "subject": "S", "body": "B" });
    let id = client.post("/api/v1/messages", body).await.expect(201)["workId"].clone();
    let act = async |id: &Value, action: &str| {
        client.call(Method::POST, &format!("/api/v1/work/{id}/{action}"), None).await
    };
    let refused = act(&id, "release").await.refused(409, "state_not_allowed");
    assert_eq!((&refused["state"], &refused["allowed"]), (&json!("pending"), &json!(["cancel"])));
    assert_eq!(act(&id, "cancel").await.expect(200)["status"], "cancelled");
    act(&id, "cancel").await.refused(409, "state_not_allowed");
    assert_eq!(act(&id, "retry").await.expect(200)["status"], "pending");
    client.advance("1s").await;
    let again = act(&id, "retry").await.expect(200);
    assert_eq!((&again["retryOf"], &again["key"]), (&id, &json!("message:m:support-retry:1")));
    client.advance("1s").await;
    assert_eq!(bed.sent_to(), ["x", "x"]);
    let trace = client.get(&format!("/api/v1/work/{id}/trace")).await.expect(200);
    assert!(trace["items"].as_array().unwrap().iter().any(|item| item["what"] == "repeated"), "{trace}");
    // The timeline of what it sent names the work as the work does, and never by its key.
    let found = client.get("/api/v1/notifications").await.expect(200);
    let sent = found["items"][0]["id"].as_str().unwrap();
    let timeline = client.get(&format!("/api/v1/notifications/{sent}/timeline")).await.expect(200);
    let items = timeline["items"].as_array().unwrap();
    let titles: Vec<_> = items.iter().map(|item| item["title"].as_str().unwrap()).collect();
    let expected = [
        "Planned",
        "Due",
        "Retried",
        "Queued",
        "Attempt 1 to x is under way",
        "Attempt 1 to x: accepted",
        "Delivered",
    ];
    assert_eq!(titles, expected);
    let title = client
        .get(&format!("/api/v1/work/{}", items[0]["data"]["workId"].as_str().unwrap()))
        .await
        .expect(200);
    let title = title["title"].as_str().unwrap().to_owned();
    assert!(items[0]["detail"].as_str().unwrap().starts_with(&title), "{timeline}");
    let details: Vec<_> = items.iter().map(|item| item["detail"].as_str().unwrap()).collect();
    assert!(!details.join(" ").contains("message:m"), "{details:?}");
}

async fn a_jump_runs_what_is_ready(bed: TestBed) {
    let client = Client::new(&bed).await;
    let message = |at: &str| json!({ "sendAt": at, "targets": [at], "channel": "memory:default", "subject": "S", "body": "B" });
    let (early, late) = ("2026-05-14T06:00:00Z", "2026-05-14T07:00:00Z");
    client.post("/api/v1/messages", json!([message(early), message(late)])).await.expect(200);
    let moved =
        client.put("/api/v1/sandbox/clock", json!({ "now": "2026-05-14T08:00:00Z" })).await.expect(200);
    assert_eq!(moved, json!({ "now": "2026-05-14T08:00:00Z" }));
    assert_eq!(client.get("/api/v1/sandbox/clock").await.expect(200), moved);
    let mut sent = bed.sent_to();
    sent.sort();
    assert_eq!(sent, [early, late]);
    assert!(bed.sent().iter().all(|sent| sent.at.to_string() == "2026-05-14T08:00:00Z"));
}

async fn a_purge_is_seen_and_done_by_hand(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut never = client.get("/api/v1/retention").await.expect(200);
    let tables = never.as_object_mut().unwrap().remove("tables").unwrap();
    assert_eq!(
        never,
        json!({
            "keepForDays": 365, "keepFilesForDays": 365, "keepWorkForDays": 365, "keepSurveysForDays": null,
            "keepIdsForDays": null, "keepAuditForDays": null, "fixed": [], "lastRun": null,
        })
    );
    let attempts = tables.as_array().unwrap().iter().find(|one| one["table"] == "attempts").unwrap();
    assert_eq!(attempts["rule"], "Removed with its row of notifications");
    bed.accept_to(&["a@example.org"]).await;
    bed.tick().await;
    let early = client.post("/api/v1/retention/purge", json!({})).await.expect(200);
    assert_eq!((&early["removed"], &early["heldBack"]), (&json!(0), &Value::Null));
    bed.wait(366 * 86_400);
    client.post("/api/v1/retention/purge", json!({ "confirm": "yes" })).await.refused(422, "wrong_type");
    let done = client.post("/api/v1/retention/purge", json!({ "confirm": true })).await.expect(200);
    assert_eq!(done["removed"], 1);
    assert_eq!(client.get("/api/v1/retention").await.expect(200)["lastRun"], done);
    assert_eq!(bed.audit("retention", "notifications").await, ["purge", "purge-confirmed"]);
}

async fn how_long_is_kept_is_planned_and_set(bed: TestBed) {
    let client = Client::new(&bed).await;
    bed.accept_to(&["a@example.org"]).await;
    bed.tick().await;
    bed.wait(40 * 86_400);
    let wanted = json!({ "keepForDays": 30, "keepIdsForDays": 400 });
    let plan = client.post("/api/v1/retention/plan", wanted.clone()).await.expect(200);
    assert_eq!(
        plan["changes"],
        json!([
            { "setting": "keep_for", "fromDays": 365, "toDays": 30, "rows": 1, "isMore": false },
            { "setting": "keep_ids_for", "fromDays": null, "toDays": 400, "rows": 0, "isMore": false },
        ])
    );
    assert_eq!(client.get("/api/v1/retention").await.expect(200)["keepForDays"], 365);
    let set = client.put("/api/v1/retention", wanted).await.expect(200);
    assert_eq!((&set["keepForDays"], &set["keepIdsForDays"]), (&json!(30), &json!(400)));
    client.put("/api/v1/retention", json!({ "keepForDays": 0 })).await.refused(422, "out_of_range");
    client.put("/api/v1/retention", json!({ "keepFor": 30 })).await.refused(422, "unknown_field");
    assert_eq!(client.post("/api/v1/retention/purge", json!({})).await.expect(200)["removed"], 1);
    // What is left out is as it was before anybody set it.
    let reset = client.put("/api/v1/retention", json!({})).await.expect(200);
    assert_eq!((&reset["keepForDays"], &reset["keepIdsForDays"]), (&json!(365), &Value::Null));
    assert_eq!(bed.audit("retention", "settings").await, ["put", "put"]);
}

async fn a_held_row_shows_how_it_was_decided(bed: TestBed) {
    let client = Client::new(&bed).await;
    let row =
        punctual_testkit::new_work_with("message", "message:m", bed.now(), &json!({ "messageId": "no" }));
    let id = bed.ensure_one(row).await.id;
    bed.tick().await;
    let reported = client.get(&format!("/api/v1/work/{id}/trace")).await.expect(200);
    let trace = &reported["trace"];
    assert_eq!(
        (&trace["key"], &trace["input"], &trace["outcome"]),
        (
            &json!("message:m"),
            &json!({ "messageId": "no" }),
            &json!({ "status": "onHold", "reasonCode": "message-missing" })
        )
    );
}

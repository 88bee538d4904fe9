//! Arrivals of schedules, published to subscribers by topic: with the row or not at all, once, each on its own.

use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{client::Client, operations::with_ann};

on_both! {
    an_arrival_is_published_to_those_who_subscribe_to_its_topic;
    a_topic_without_subscribers_leaves_no_event;
    an_arrival_is_published_with_its_row_or_not_at_all;
    an_event_that_starts_is_sent_to_its_people_and_published_to_subscribers;
    a_rule_s_schedule_is_looked_at_and_changed_through_its_rule;
}

async fn subscribe(client: &Client, key: &str, events: &[&str], filter: Option<Value>) {
    let mut body = json!({ "adapter": "memory", "events": events });
    if let Some(filter) = filter {
        body["filter"] = filter;
    }
    client.put(&format!("/api/v1/subscribers/{key}"), body).await.expect(200);
}

async fn schedule(client: &Client, key: &str, topic: &str, payload: Value) {
    let body = json!({ "topic": topic, "runAt": "2026-05-14T06:00:00Z", "payload": payload, "key": key });
    client.post("/api/v1/schedules", body).await.expect(201);
}

async fn events(client: &Client) -> Vec<Value> {
    client.get("/api/v1/outbox-events").await.expect(200)["items"].as_array().unwrap().clone()
}

/// Who was notified, over the channels of subscribers.
fn notified(bed: &TestBed) -> Vec<String> {
    let channels = bed.sent().into_iter().map(|sent| sent.channel.to_string());
    let mut notified: Vec<String> =
        channels.filter_map(|key| key.strip_prefix("event.").map(str::to_owned)).collect();
    notified.sort();
    notified
}

async fn an_arrival_is_published_to_those_who_subscribe_to_its_topic(bed: TestBed) {
    let client = Client::new(&bed).await;
    subscribe(&client, "memory:all", &["schedule.arrived"], None).await;
    subscribe(&client, "memory:begins", &["invoices.*"], None).await;
    subscribe(&client, "memory:exact", &["response-completed", "invoices.close"], None).await;
    let april = json!({ "questionId": "payload.month", "op": "==", "value": "2026-04" });
    subscribe(&client, "memory:april", &["invoices.close"], Some(april.clone())).await;
    subscribe(&client, "memory:other", &["billing.*"], None).await;
    subscribe(&client, "memory:surveys", &["response-completed"], None).await;
    schedule(&client, "close", "invoices.close", json!({ "month": "2026-04" })).await;
    client.advance("59m").await;
    assert!(events(&client).await.is_empty() && notified(&bed).is_empty());
    client.advance("1m").await;
    assert_eq!(notified(&bed), ["memory:all", "memory:april", "memory:begins", "memory:exact"]);
    let event = &events(&client).await[0];
    let payload = json!({ "eventType": "schedule.arrived", "topic": "invoices.close", "key": "schedule:close",
        "dueAt": "2026-05-14T06:00:00Z", "businessUnit": null, "payload": { "month": "2026-04" } });
    assert_eq!((&event["payload"], &event["status"]), (&payload, &json!("dispatched")));
    assert_eq!(
        (&event["eventType"], &event["workKey"], &event["instancePublicId"], &event["surveyId"]),
        (&json!("schedule.arrived"), &json!("schedule:close"), &Value::Null, &Value::Null)
    );
    let sent = bed.sent();
    assert!(sent.iter().all(|one| one.type_data.as_ref() == Some(&payload)));
    assert!(sent.iter().all(|one| one.message_id == sent[0].message_id), "one arrival, one id");
    // May's is none of April's.
    schedule(&client, "close-may", "invoices.close", json!({ "month": "2026-05" })).await;
    client.advance("1m").await;
    assert_eq!(notified(&bed).iter().filter(|key| *key == "memory:april").count(), 1);
    assert_eq!(events(&client).await.len(), 2);
}

async fn a_topic_without_subscribers_leaves_no_event(bed: TestBed) {
    let client = Client::new(&bed).await;
    subscribe(&client, "memory:billing", &["billing.*"], None).await;
    schedule(&client, "a", "backup", json!({})).await;
    client.advance("1h").await;
    assert!(events(&client).await.is_empty());
    let work = client.get("/api/v1/work?kind=schedule").await.expect(200);
    assert_eq!(work["items"][0]["status"], "completed");
    for wrong in [json!(["moon-rises"]), json!(["a.*.b"]), json!(["two words."])] {
        let body = json!({ "adapter": "memory", "events": wrong });
        client.put("/api/v1/subscribers/memory:wrong", body).await.refused(422, "out_of_range");
    }
}

async fn an_arrival_is_published_with_its_row_or_not_at_all(bed: TestBed) {
    let client = Client::new(&bed).await;
    subscribe(&client, "memory:all", &["*"], None).await;
    for key in ["a", "b", "c"] {
        schedule(&client, key, "backup", json!({})).await;
    }
    client.advance("59m").await;
    // Locked and decided together they fail, and claimed too, twice: nothing of either is left.
    bed.faults.fail("outbox_deliveries.insert", true, 3);
    assert_eq!(bed.engine.due_tick(bed.after(60), 100).await.unwrap().retried, 3);
    assert!(events(&client).await.is_empty());
    let done = client.get("/api/v1/work?kind=schedule&status=completed").await.expect(200);
    assert_eq!(done["items"], json!([]));
    client.advance("10m").await;
    assert_eq!(notified(&bed).len(), 3);
    let events = events(&client).await;
    assert_eq!(events.len(), 3);
    assert!(events.iter().all(|event| event["status"] == "dispatched"));
}

async fn an_event_that_starts_is_sent_to_its_people_and_published_to_subscribers(bed: TestBed) {
    let client = with_ann(&bed).await;
    subscribe(&client, "memory:calendar", &["operations.event.start"], None).await;
    let body = json!({ "title": "Stand-up", "startDate": "2026-05-14T06:00:00Z", "endDate": "2026-05-14T06:15:00Z", "creator": "ann" });
    let made = client.post("/api/v1/operations/events", body).await.expect(201);
    client.advance("1h").await;
    client.advance("1h").await;
    assert_eq!(notified(&bed), ["memory:calendar"]);
    assert_eq!(bed.sent().len(), 3, "and Ann of the start and of the end");
    let rule = &made["rules"][0];
    let event = &events(&client).await[0];
    assert_eq!(
        event["payload"]["payload"],
        json!({ "subjectType": "event", "subjectId": made["id"], "notificationRuleId": rule["id"], "kind": "start" })
    );
}

async fn a_rule_s_schedule_is_looked_at_and_changed_through_its_rule(bed: TestBed) {
    let client = with_ann(&bed).await;
    let body = json!({ "title": "Stand-up", "startDate": "2026-05-14T06:00:00Z", "creator": "ann" });
    let made = client.post("/api/v1/operations/events", body).await.expect(201);
    let path = format!("/api/v1/schedules/{}", made["rules"][0]["scheduleId"].as_str().unwrap());
    let schedule = client.get(&path).await.expect(200);
    assert_eq!(schedule["scheduleId"], made["rules"][0]["scheduleId"]);
    assert_eq!(
        (&schedule["topic"], &schedule["runAt"], &schedule["payload"]["subjectId"]),
        (&json!("operations.event.start"), &json!("2026-05-14T06:00:00Z"), &made["id"])
    );
    let later = json!({ "runAt": "2026-05-14T07:00:00Z" });
    let refused = client.patch(&path, later).await.refused(409, "state_not_allowed");
    assert!(refused["detail"].as_str().unwrap().contains("/api/v1/operations/rules/"), "{refused}");
    client.delete(&path).await.refused(409, "state_not_allowed");
    client.advance("1h").await;
}

//! Topic, priority and order of channels on every workflow: what a definition says, its messages bring along.

use axum::http::Method;
use punctual_model::{ReasonCode, SendOutcome};
use punctual_testkit::{Scripted, TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::{Client, Reply},
    operations::with_ann,
    reminders::{document, first_aid, put_source, setting, unit},
    reports::{REPORT, subscribe, weekly},
    surveys::{csi_gr, instance, published, visit},
};

on_both! {
    a_later_message_brings_its_handling;
    a_reminder_brings_its_handling;
    a_survey_brings_the_handling_of_its_trigger;
    an_event_brings_the_handling_of_its_rule;
    an_organisation_gives_its_rules_their_handling;
    a_report_brings_its_handling;
    every_path_refuses_the_same;
    whoever_does_not_want_a_topic_is_left_alone_by_every_path;
    a_survey_goes_on_over_the_next_channel;
}

fn handling() -> Value {
    json!({ "topic": "news", "priority": "campaign", "failover": ["sms:default"] })
}

/// The definition with the handling among its fields.
fn handled(mut definition: Value, handling: &Value) -> Value {
    for (name, value) in handling.as_object().unwrap() {
        definition[name] = value.clone();
    }
    definition
}

/// What the only notification says of itself.
async fn brought(client: &Client) -> Value {
    let listed = client.get("/api/v1/notifications").await.expect(200);
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
    let only = &listed["items"][0];
    json!({ "topic": only["topic"], "priority": only["priority"], "failover": only["failover"] })
}

fn message(handling: &Value) -> Value {
    let body = json!({ "id": "m-1", "sendAt": "2026-05-14T06:00:00Z", "targets": ["ann@example.org"],
        "channel": "memory:default", "subject": "S", "body": "B" });
    handled(body, handling)
}

async fn a_later_message_brings_its_handling(bed: TestBed) {
    let client = Client::new(&bed).await;
    client.post("/api/v1/messages", message(&handling())).await.expect(201);
    let kept = client.get("/api/v1/messages/m-1").await.expect(200);
    for name in ["topic", "priority", "failover"] {
        assert_eq!(kept[name], handling()[name], "{name}");
    }
    client.post("/api/v1/messages", message(&handling())).await.expect(200);
    client.advance("1h").await;
    assert_eq!(brought(&client).await, handling());
    // It has gone: whoever asks again gets what became of it.
    client.post("/api/v1/messages", message(&handling())).await.expect(200);
    // The same id with another priority is another message.
    let other = json!({ "id": "m-2", "sendAt": "2026-05-14T09:00:00Z", "targets": ["a"], "channel": "memory:default",
        "subject": "S", "body": "B" });
    client.post("/api/v1/messages", other.clone()).await.expect(201);
    let urgent = handled(other, &json!({ "priority": "alarm" }));
    client.post("/api/v1/messages", urgent).await.refused(409, "id_reused");
    bed.leaves_open("the second message comes later");
}

async fn a_reminder_brings_its_handling(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    let body = first_aid(|body| {
        body["date"]["offsetsDays"] = json!([1]);
        body["delivery"] = handled(json!({ "channel": "memory:default" }), &handling());
    });
    setting(&client, body).await;
    put_source(&client, "document/1", document("2026-05-20")).await;
    client.advance("7d").await;
    assert_eq!(brought(&client).await, handling());
}

fn survey(handling: &Value) -> Value {
    let mut schema = csi_gr();
    schema["triggers"][0]["schedule"]["reminders"] = json!([]);
    schema["triggers"][0] = handled(schema["triggers"][0].clone(), handling);
    schema
}

async fn a_survey_brings_the_handling_of_its_trigger(bed: TestBed) {
    let client = Client::new(&bed).await;
    published(&client, survey(&handling())).await;
    instance(&client, visit("1")).await;
    bed.tick().await;
    assert_eq!(brought(&client).await, handling());
    bed.leaves_open("its link lives on");
}

fn event() -> Value {
    json!({ "title": "Stand-up", "startDate": "2026-05-14T06:00:00Z", "creator": "ann", "participants": [] })
}

async fn an_event_brings_the_handling_of_its_rule(bed: TestBed) {
    let client = with_ann(&bed).await;
    let made = client.post("/api/v1/operations/events", event()).await.expect(201);
    let first = format!("/api/v1/operations/rules/{}", made["rules"][0]["id"].as_str().unwrap());
    let rule = json!({ "subjectType": "event", "subjectId": made["id"],
        "rule": { "type": "relative", "anchor": "start", "offset": "-30m" } });
    let added = client.post("/api/v1/operations/rules", handled(rule, &handling())).await.expect(201);
    assert_eq!((&added["topic"], &added["failover"]), (&handling()["topic"], &handling()["failover"]));
    client.advance("40m").await;
    assert_eq!(brought(&client).await, handling());

    let changed = client.patch(&first, json!({ "priority": "high", "topic": "shifts" })).await.expect(200);
    assert_eq!((&changed["priority"], &changed["topic"]), (&json!("high"), &json!("shifts")));
    let changed = client.patch(&first, json!({ "topic": null, "active": true })).await.expect(200);
    assert_eq!((&changed["priority"], changed.get("topic")), (&json!("high"), None), "{changed}");
    client.advance("1h").await;
    let listed = client.get("/api/v1/notifications").await.expect(200);
    assert_eq!((&listed["items"][0]["priority"], listed["items"][0].get("topic")), (&json!("high"), None));
}

async fn an_organisation_gives_its_rules_their_handling(bed: TestBed) {
    let client = with_ann(&bed).await;
    let rule = handled(json!({ "rule": { "type": "at_subject_date", "anchor": "start" } }), &handling());
    let body = json!({ "name": "Choir", "rules": [rule] });
    let kept = client.put("/api/v1/operations/organisations/choir", body).await.expect(200);
    assert_eq!(kept["rules"][0]["topic"], "news", "{kept}");
    let of_choir = handled(event(), &json!({ "organisation": "choir" }));
    client.post("/api/v1/operations/events", of_choir).await.expect(201);
    client.advance("1h").await;
    assert_eq!(brought(&client).await, handling());
}

async fn a_report_brings_its_handling(bed: TestBed) {
    let client = crate::reports::client(&bed).await;
    let guid = subscribe(&client, handled(weekly(|_| {}), &handling())).await;
    let kept = client.get(&format!("{REPORT}/{guid}")).await.expect(200);
    assert_eq!((&kept["topic"], &kept["failover"]), (&handling()["topic"], &handling()["failover"]));
    bed.run_to("2026-05-18T06:00:00Z").await;
    assert_eq!(brought(&client).await, handling());
}

async fn every_path_refuses_the_same(bed: TestBed) {
    let client = with_ann(&bed).await;
    let odd = json!({ "topic": "", "priority": "urgent", "failover": ["sms:a", "sms:a", "sms"] });
    let expected = ["/topic", "/priority", "/failover/2", "/failover/1"];
    let check = async |method: Method, path: &str, body: Value, under: &str| {
        let refused = client.call(method, path, Some(body)).await;
        assert_eq!(refused.status, 422, "{path}: {}", refused.text);
        let mut found = Reply::pointers(&refused.body);
        let mut expected = expected.map(|pointer| format!("{under}{pointer}")).to_vec();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{path}");
    };
    let one = json!({ "targets": ["a"], "channel": "memory:default", "subject": "S", "body": "B" });
    check(Method::POST, "/api/v1/notifications", handled(one, &odd), "").await;
    check(Method::POST, "/api/v1/messages", message(&odd), "").await;
    let reminder = first_aid(|body| body["delivery"] = handled(json!({ "channel": "memory:default" }), &odd));
    check(Method::POST, "/api/v1/reminder-settings", reminder, "/delivery").await;
    check(Method::POST, REPORT, handled(weekly(|_| {}), &odd), "").await;
    let rule = json!({ "rule": { "type": "at_subject_date", "anchor": "start" } });
    let organisation = json!({ "name": "Choir", "rules": [handled(rule.clone(), &odd)] });
    check(Method::PUT, "/api/v1/operations/organisations/choir", organisation, "/rules/0").await;
    let of_event = handled(rule, &json!({ "subjectType": "event", "subjectId": "1" }));
    check(Method::POST, "/api/v1/operations/rules", handled(of_event, &odd), "").await;
    let body = json!({ "name": "S", "schema": survey(&odd) });
    let id = client.post("/api/v1/surveys", body).await.expect(201)["id"].clone();
    check(Method::POST, &format!("/api/v1/surveys/{id}/publish"), json!({}), "/schema/triggers/0").await;
}

async fn whoever_does_not_want_a_topic_is_left_alone_by_every_path(bed: TestBed) {
    let client = with_ann(&bed).await;
    let wants = json!({ "addresses": { "email": "ann@example.org", "sms": "+9647700000001" },
        "topics": { "news": { "subscribed": false } } });
    client.put("/api/v1/preferences/ann", wants).await.expect(200);
    let topic = json!({ "topic": "news" });
    client.post("/api/v1/messages", message(&topic)).await.expect(201);
    published(&client, survey(&topic)).await;
    instance(&client, visit("1")).await;
    let rule = handled(json!({ "rule": { "type": "at_subject_date", "anchor": "start" } }), &topic);
    let choir = json!({ "name": "Choir", "rules": [rule] });
    client.put("/api/v1/operations/organisations/choir", choir).await.expect(200);
    let of_choir = handled(event(), &json!({ "organisation": "choir" }));
    client.post("/api/v1/operations/events", of_choir).await.expect(201);
    let to_ann = weekly(|body| body["recipients"] = json!({ "addresses": ["ann@example.org"] }));
    subscribe(&client, handled(to_ann, &topic)).await;
    bed.leaves_open("the next run is planned, and the link lives on");
    bed.run_to("2026-05-18T06:00:00Z").await;
    let rows = bed.notifications().await;
    let ends: Vec<(&str, Option<&str>)> =
        rows.iter().map(|row| (row.status.as_str(), row.reason_code.as_deref())).collect();
    assert_eq!(ends, [("withdrawn", Some("unsubscribed")); 4]);
    assert!(bed.sent().is_empty());
}

async fn a_survey_goes_on_over_the_next_channel(bed: TestBed) {
    let bed = bed.with(|bed| {
        bed.adapter(Scripted::new("blocked", |_| SendOutcome::Permanent {
            reason: ReasonCode::RejectedByReceiver,
            error: "blocked".into(),
        }))
    });
    bed.channel("whatsapp:default", "blocked").await;
    let client = Client::new(&bed).await;
    let wants = json!({ "addresses": { "email": "k@example.org", "sms": "+9647700000001",
        "whatsapp": "+9647700000001" } });
    client.put("/api/v1/preferences/kadhem", wants).await.expect(200);
    let mut schema = survey(&json!({ "failover": ["whatsapp:default", "email:default"] }));
    schema["triggers"][0]["channel"] = json!("whatsapp:default");
    published(&client, schema).await;
    instance(&client, visit("1")).await;
    bed.run_for(60).await;
    assert_eq!(bed.sent_to(), ["k@example.org"]);
    bed.leaves_open("its link lives on");
}

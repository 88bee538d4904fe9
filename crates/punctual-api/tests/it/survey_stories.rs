//! The worked examples of surveys, step by step, by ticks and with the sandbox's clock.

use punctual_channels::Misbehaviour;
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::Client,
    surveys::{csi_gr, ingest, instance, published, visit},
};

on_both! {
    a_visit_is_asked_about_reminded_and_expires;
    a_sale_is_asked_about_on_days_60_65_75_and_90;
    without_reminders_there_is_one_message;
    a_failed_try_uses_up_no_reminder;
    an_unknown_channel_parks_and_an_operator_s_retry_resumes;
    an_unknown_channel_expires_from_the_event;
    a_message_that_is_far_too_late_is_not_sent;
    the_message_is_in_the_reader_s_language_with_the_link;
    a_template_sees_the_event;
    two_nodes_that_tick_at_once_send_once;
}

async fn row(client: &Client, survey: i64, public_id: &str) -> Value {
    client.get(&format!("/api/v1/surveys/{survey}/instances/{public_id}")).await.expect(200)
}

async fn tick(client: &Client) -> Value {
    client.post("/api/v1/scheduler/tick", json!({ "batchSize": 100 })).await.expect(200)
}

#[track_caller]
fn stands(row: &Value, status: &str, next: Value, last: Value, remaining: i64) {
    assert_eq!(
        (&row["status"], &row["nextSendAt"], &row["lastSentAt"], &row["remindersRemaining"]),
        (&json!(status), &next, &last, &json!(remaining)),
        "{row}"
    );
}

fn set(bed: &TestBed, instant: &str) {
    bed.clock.set(instant.parse().unwrap());
}

async fn a_visit_is_asked_about_reminded_and_expires(bed: TestBed) {
    let client = Client::new(&bed).await;
    let survey = published(&client, csi_gr()).await;
    set(&bed, "2026-05-14T05:12:34Z");
    let id = instance(&client, visit("40956")).await;
    stands(&row(&client, survey, &id).await, "pending", json!("2026-05-14T05:12:34Z"), json!(null), 1);

    set(&bed, "2026-05-14T05:13:00Z");
    let did = tick(&client).await;
    assert_eq!(
        (&did["processed"], &did["expired"], &did["deliveries"]["delivered"]),
        (&json!(1), &json!(0), &json!(1))
    );
    let sent = row(&client, survey, &id).await;
    stands(&sent, "sent", json!("2026-05-15T05:13:00Z"), json!("2026-05-14T05:13:00Z"), 0);
    let log = sent["deliveryLog"].as_array().unwrap();
    assert_eq!(log.len(), 1);
    let entry = &log[0];
    assert_eq!(
        (&entry["attempt"], &entry["ordinal"], &entry["sentAt"], &entry["status"]),
        (&json!(1), &json!(1), &json!("2026-05-14T05:13:00Z"), &json!("delivered"))
    );
    assert!(entry["messageId"].as_str().unwrap().starts_with("mem-"), "{entry}");

    set(&bed, "2026-05-14T05:18:00Z");
    assert_eq!(tick(&client).await["processed"], 0);
    stands(
        &row(&client, survey, &id).await,
        "sent",
        json!("2026-05-15T05:13:00Z"),
        json!("2026-05-14T05:13:00Z"),
        0,
    );

    set(&bed, "2026-05-15T05:13:00Z");
    assert_eq!(tick(&client).await["processed"], 1);
    let reminded = row(&client, survey, &id).await;
    stands(&reminded, "sent", json!(null), json!("2026-05-15T05:13:00Z"), 0);
    let numbers: Vec<(i64, i64)> = reminded["deliveryLog"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["attempt"].as_i64().unwrap(), entry["ordinal"].as_i64().unwrap()))
        .collect();
    assert_eq!(numbers, [(1, 1), (2, 2)]);
    assert_eq!(bed.sent().len(), 2);

    set(&bed, "2026-06-14T05:12:59Z");
    assert_eq!(tick(&client).await["expired"], 0);
    set(&bed, "2026-06-14T05:13:00Z");
    let did = tick(&client).await;
    assert_eq!((&did["processed"], &did["expired"]), (&json!(1), &json!(1)));
    let expired = row(&client, survey, &id).await;
    assert_eq!((&expired["status"], &expired["reasonCode"]), (&json!("expired"), &json!("not-answered")));
    let nobody = Client { key: None, ..client.clone() };
    nobody.get(&format!("/api/v1/public/surveys/{id}")).await.refused(404, "not_found");
    let body = json!({ "answers": { "rate": 7 } });
    nobody.post(&format!("/api/v1/public/surveys/{id}/responses"), body).await.refused(404, "not_found");
    assert_eq!(bed.sent().len(), 2);
}

async fn a_sale_is_asked_about_on_days_60_65_75_and_90(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut schema = csi_gr();
    schema["triggers"][0] = json!({
        "id": "voc-trigger", "enabled": true, "eventKind": "service-visit-closed",
        "dedupRecipe": ["templateId", "recipient.address", "candidate.dealerId", "candidate.salesInvoiceNumber"],
        "schedule": { "initialDelay": "60d", "reminders": ["5d", "10d", "15d"] }, "channel": "memory:default"
    });
    let survey = published(&client, schema).await;
    let sale = json!({ "payload": { "dealerId": "1", "salesInvoiceNumber": "77" },
        "recipient": { "address": "+964 770 000 0001", "locale": "ar" } });
    let id = instance(&client, sale).await;
    let start = bed.now();
    let mut seen = Vec::new();
    for day in 1..=95 {
        let before = row(&client, survey, &id).await;
        client.advance("1d").await;
        let sent = bed.sent().len();
        if sent > seen.len() {
            seen.push((day, before["remindersRemaining"].as_i64().unwrap()));
        }
    }
    assert_eq!(seen, [(60, 3), (65, 2), (75, 1), (90, 0)]);
    let days: Vec<i64> =
        bed.sent().iter().map(|sent| sent.at.duration_since(start).as_secs() / 86_400).collect();
    assert_eq!(days, [60, 65, 75, 90]);
    assert_eq!(row(&client, survey, &id).await["nextSendAt"], json!(null));
    client.advance("26d").await;
    assert_eq!(row(&client, survey, &id).await["status"], "expired");
}

async fn without_reminders_there_is_one_message(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut schema = csi_gr();
    schema["triggers"][0]["schedule"]["reminders"] = json!([]);
    schema["triggers"][0]["expiryGracePeriod"] = json!("2d");
    let survey = published(&client, schema).await;
    let id = instance(&client, visit("1")).await;
    tick(&client).await;
    stands(&row(&client, survey, &id).await, "sent", json!(null), json!("2026-05-14T05:00:00Z"), 0);
    client.advance("1d").await;
    assert_eq!((bed.sent().len(), &row(&client, survey, &id).await["status"]), (1, &json!("sent")));
    client.advance("1d").await;
    assert_eq!((bed.sent().len(), &row(&client, survey, &id).await["status"]), (1, &json!("expired")));
}

async fn a_failed_try_uses_up_no_reminder(bed: TestBed) {
    let client = Client::new(&bed).await;
    let survey = published(&client, csi_gr()).await;
    bed.captured.misbehave("memory:default".parse().unwrap(), Misbehaviour::Transient, 2, "451 later");
    let id = instance(&client, visit("1")).await;
    tick(&client).await;
    let failed = row(&client, survey, &id).await;
    // The message keeps its moment until it has arrived.
    stands(&failed, "pending", json!("2026-05-14T05:00:00Z"), json!(null), 1);
    assert_eq!(failed["deliveryLog"][0]["status"], "failed");
    assert_eq!(failed["deliveryLog"][0]["error"], "451 later");
    client.advance("2m").await;
    let sent = row(&client, survey, &id).await;
    stands(&sent, "sent", json!("2026-05-15T05:02:00Z"), json!("2026-05-14T05:02:00Z"), 0);
    let log: Vec<(i64, i64, &str)> = sent["deliveryLog"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| {
            (e["attempt"].as_i64().unwrap(), e["ordinal"].as_i64().unwrap(), e["status"].as_str().unwrap())
        })
        .collect();
    assert_eq!(log, [(1, 1, "failed"), (2, 1, "failed"), (3, 1, "delivered")]);
    client.advance("1d").await;
    assert_eq!(row(&client, survey, &id).await["deliveryLog"][3]["ordinal"], 2);
    bed.leaves_open("the end is planned");
}

async fn an_unknown_channel_parks_and_an_operator_s_retry_resumes(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut schema = csi_gr();
    schema["triggers"][0]["channel"] = json!("whatsapp:default");
    let survey = published(&client, schema).await;
    let id = instance(&client, visit("1")).await;
    assert_eq!(tick(&client).await["deliveries"]["parked"], 1);
    let parked = row(&client, survey, &id).await;
    stands(&parked, "pending", json!(null), json!(null), 1);
    assert_eq!(
        (&parked["deliveryLog"][0]["status"], &parked["deliveryLog"][1]),
        (&json!("no-channel"), &Value::Null)
    );
    assert_eq!(bed.work(&format!("survey:{id}:expire")).await.status.as_str(), "pending");
    let attention = client.get("/api/v1/attention").await.expect(200);
    assert_eq!(attention["items"][0]["kind"], "parked");
    bed.channel("whatsapp:default", "memory").await;
    let notification = attention["items"][0]["id"].as_str().unwrap();
    client.advance("3d").await;
    client.post(&format!("/api/v1/notifications/{notification}/retry"), json!({})).await.expect(200);
    tick(&client).await;
    let resumed = row(&client, survey, &id).await;
    stands(&resumed, "sent", json!("2026-05-18T05:00:00Z"), json!("2026-05-17T05:00:00Z"), 0);
    let expire = bed.work(&format!("survey:{id}:expire")).await;
    assert_eq!(
        (expire.status.as_str(), expire.reason_code.as_deref()),
        ("deactivated", Some("schedule-resumed"))
    );
    client.advance("1d").await;
    assert_eq!(bed.sent().len(), 2);
    client.advance("30d").await;
    assert_eq!(row(&client, survey, &id).await["status"], "expired");
}

async fn an_unknown_channel_expires_from_the_event(bed: TestBed) {
    let client = Client::new(&bed).await;
    let mut schema = csi_gr();
    schema["triggers"][0]["channel"] = json!("whatsapp:default");
    let survey = published(&client, schema).await;
    let id = instance(&client, visit("1")).await;
    client.advance("29d").await;
    assert_eq!(row(&client, survey, &id).await["status"], "pending");
    client.advance("1d").await;
    let expired = row(&client, survey, &id).await;
    assert_eq!((&expired["status"], &expired["reasonCode"]), (&json!("expired"), &json!("never-sent")));
    // What waited for a person would lead to a page that is gone.
    assert_eq!(bed.notifications().await[0].status.as_str(), "withdrawn");
}

async fn a_message_that_is_far_too_late_is_not_sent(bed: TestBed) {
    let client = Client::new(&bed).await;
    let survey = published(&client, csi_gr()).await;
    let late = instance(&client, visit("1")).await;
    // Nobody ticked for a week: the last moment at which it is still sent.
    bed.wait(7 * 86_400);
    tick(&client).await;
    assert_eq!((bed.sent().len(), &row(&client, survey, &late).await["status"]), (1, &json!("sent")));
    let later = instance(&client, visit("2")).await;
    bed.wait(7 * 86_400 + 1);
    let did = tick(&client).await;
    assert_eq!(
        (&did["expired"], &did["deliveries"]["delivered"]),
        (&json!(1), &json!(1)),
        "the reminder of the first is late, and is sent"
    );
    let expired = row(&client, survey, &later).await;
    assert_eq!((&expired["status"], &expired["reasonCode"]), (&json!("expired"), &json!("too-late")));
    assert_eq!(bed.sent().len(), 2);
    bed.leaves_open("the end of the first is planned");
}

async fn the_message_is_in_the_reader_s_language_with_the_link(bed: TestBed) {
    let client = Client::new(&bed).await;
    published(&client, csi_gr()).await;
    let mut english = visit("2");
    english["recipient"]["locale"] = json!("en-GB");
    let reported = ingest(&client, json!([visit("1"), english])).await;
    tick(&client).await;
    let ids: Vec<&str> =
        (0..2).map(|n| reported["items"][n]["instances"][0]["publicId"].as_str().unwrap()).collect();
    let sent = bed.sent();
    let of = |id: &str| sent.iter().find(|sent| sent.body.contains(id)).unwrap();
    assert_eq!(of(ids[0]).subject, "كيف كانت زيارتك؟");
    assert_eq!(of(ids[1]).subject, "How was your visit?");
    assert!(
        of(ids[1]).body.ends_with(&format!("\n\nhttp://127.0.0.1:8080/s/{}\n", ids[1])),
        "{:?}",
        of(ids[1])
    );
    bed.leaves_open("reminders are planned");
}

async fn a_template_sees_the_event(bed: TestBed) {
    let client = Client::new(&bed).await;
    let template = json!({ "defaultLocale": "en", "variants": { "en": {
        "subject": "{{ candidate.CustomerName }}, {{ title }}", "body": "{% if isReminder %}Again: {% endif %}{{ surveyUrl }}" } } });
    client.put("/api/v1/templates/csi", template).await.expect(200);
    let mut schema = csi_gr();
    schema["triggers"][0]["template"] = json!("csi");
    published(&client, schema).await;
    let mut item = visit("1");
    item["recipient"]["locale"] = json!("en");
    let id = instance(&client, item).await;
    client.advance("1d").await;
    let sent = bed.sent();
    assert_eq!(sent[0].subject, "Kadhem Owaid, How was your visit?");
    assert_eq!(sent[0].body, format!("http://127.0.0.1:8080/s/{id}"));
    assert_eq!(sent[1].body, format!("Again: http://127.0.0.1:8080/s/{id}"));
    bed.leaves_open("the end is planned");
}

async fn two_nodes_that_tick_at_once_send_once(bed: TestBed) {
    let client = Client::new(&bed).await;
    published(&client, csi_gr()).await;
    let node = bed.node("b").await;
    let other = Client::on_node(&node, client.wall.clone(), |_| {}).await;
    let items: Vec<Value> = (0..100).map(|n| visit(&n.to_string())).collect();
    ingest(&client, json!(items)).await;
    for _ in 0..3 {
        let (one, two) = tokio::join!(tick(&client), tick(&other));
        assert!(one["failed"] == 0 && two["failed"] == 0);
    }
    tick(&client).await;
    assert_eq!(bed.sent().len(), 100);
    bed.leaves_open("reminders are planned");
}

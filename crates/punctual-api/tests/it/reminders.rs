//! Reminders by date, end to end: a source is put, a row is planned, and on the right local morning it is sent or it
//! is written down why not.

use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::client::Client;

on_both! {
    a_document_is_reminded_of_on_the_right_local_mornings;
    an_event_replayed_or_out_of_order_changes_nothing;
    many_sources_at_once_are_planned_in_sets;
    an_anniversary_comes_every_year;
}

/// A setting for first-aid documents; `change` adjusts it.
pub fn first_aid(change: impl FnOnce(&mut Value)) -> Value {
    let mut body = json!({ "name": "First aid", "sourceType": "document", "triggerKey": "first-aid-expiry",
        "kind": "dateBased", "date": { "field": "/expiresOn", "offsetsDays": [30, 7, 1], "sendTime": "09:00" },
        "filter": { "questionId": "state.kind", "op": "==", "value": "first-aid" },
        "recipients": { "addresses": ["a@b.example"] }, "delivery": { "channel": "email:default" } });
    change(&mut body);
    body
}

pub async fn setting(client: &Client, body: Value) -> String {
    let made = client.post("/api/v1/reminder-settings", body).await.expect(201);
    made["id"].as_str().unwrap().to_owned()
}

pub async fn unit(client: &Client, id: &str, zone: &str) {
    let body = json!({ "name": id, "timeZone": zone });
    client.put(&format!("/api/v1/business-units/{id}"), body).await.expect(200);
}

pub fn document(expires_on: &str) -> Value {
    json!({ "businessUnit": "nz", "state": { "kind": "first-aid", "expiresOn": expires_on, "email": "own@b.example" } })
}

pub async fn put_source(client: &Client, place: &str, body: Value) -> Value {
    client.put(&format!("/api/v1/sources/{place}"), body).await.expect(200)["work"].clone()
}

/// `(status, reason)` of the rows of a source, by key.
pub async fn rows(client: &Client, query: &str) -> Vec<(String, String, String)> {
    let page = client.get(&format!("/api/v1/work?kind=reminder&limit=200{query}")).await.expect(200);
    let mut rows: Vec<_> = page["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
            (text("key"), text("status"), text("reasonCode"))
        })
        .collect();
    rows.sort();
    rows
}

pub fn sent_at(bed: &TestBed) -> Vec<String> {
    bed.sent().iter().map(|sent| sent.at.to_string()).collect()
}

async fn a_document_is_reminded_of_on_the_right_local_mornings(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    let id = setting(&client, first_aid(|_| {})).await;
    let work = put_source(&client, "document/42", document("2026-06-20")).await;
    assert_eq!(work, json!({ "created": 3, "updated": 0, "deactivated": 0, "unchanged": 0 }));
    let key = |offset: i64| format!("reminder:{id}:document:42:first-aid-expiry:2026-06-20:{offset}");
    let keys: Vec<String> = rows(&client, "").await.into_iter().map(|(key, ..)| key).collect();
    assert_eq!(keys, [key(1), key(30), key(7)]);
    let row = bed.work(&key(7)).await;
    assert_eq!(
        (row.local_date.as_deref(), row.time_zone.as_deref()),
        (Some("2026-06-13"), Some("Pacific/Auckland"))
    );
    assert!(bed.sent().is_empty(), "planning sends nothing");
    client.advance("40d").await;
    let mornings = ["2026-05-20T21:00:00Z", "2026-06-12T21:00:00Z", "2026-06-18T21:00:00Z"];
    assert_eq!(sent_at(&bed), mornings);
    let row = bed.work(&key(1)).await;
    assert_eq!((row.status.as_str(), row.business_unit.as_deref()), ("completed", Some("nz")));
    // The same state again sends nothing again.
    let work = put_source(&client, "document/42", document("2026-06-20")).await;
    assert_eq!(work, json!({ "created": 0, "updated": 0, "deactivated": 0, "unchanged": 3 }));
    client.advance("40d").await;
    assert_eq!(bed.sent().len(), 3);
}

async fn an_event_replayed_or_out_of_order_changes_nothing(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    setting(&client, first_aid(|_| {})).await;
    let event = |sequence: i64, date: &str| {
        json!({ "specversion": "1.0", "id": sequence.to_string(), "source": "/crm", "type": "source.changed",
            "subject": "document/42", "sequence": sequence.to_string(),
            "data": { "businessUnit": "nz", "active": true, "state": { "kind": "first-aid", "expiresOn": date } } })
    };
    let post =
        async |event: Value| client.post("/api/v1/events", event).await.expect(200)["items"][0].clone();
    let first = post(event(7, "2026-07-20")).await;
    assert_eq!(first["work"], json!({ "created": 3, "updated": 0, "deactivated": 0, "unchanged": 0 }));
    assert_eq!(post(event(6, "2026-09-20")).await["outcome"], "stale");
    assert_eq!(post(event(7, "2026-07-20")).await["outcome"], "stale");
    let both = client
        .post("/api/v1/events", json!([event(8, "2026-08-20"), event(9, "2026-07-20")]))
        .await
        .expect(200);
    assert_eq!(both["items"][1]["work"]["unchanged"], 3, "the last of a batch speaks for its source: {both}");
    client.advance("100d").await;
    assert_eq!(bed.sent().len(), 3);
}

async fn many_sources_at_once_are_planned_in_sets(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    setting(&client, first_aid(|_| {})).await;
    setting(&client, first_aid(|body| body["triggerKey"] = json!("other"))).await;
    let items = |date: &str| {
        let items: Vec<Value> = (0..1_200)
            .map(|n| {
                let mut item = document(date);
                item["type"] = json!("document");
                item["id"] = json!(n.to_string());
                item
            })
            .collect();
        json!({ "items": items })
    };
    let made = client.post("/api/v1/sources", items("2026-07-20")).await.expect(200);
    let created: u64 =
        made["items"].as_array().unwrap().iter().map(|item| item["work"]["created"].as_u64().unwrap()).sum();
    assert_eq!(created, 1_200 * 6);
    let again = client.post("/api/v1/sources", items("2026-07-20")).await.expect(200);
    let unchanged: u64 = again["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["work"]["unchanged"].as_u64().unwrap())
        .sum();
    assert_eq!(unchanged, 1_200 * 6);
    bed.leaves_open("what is planned for July");
}

async fn an_anniversary_comes_every_year(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    let id = setting(
        &client,
        first_aid(|body| {
            body["name"] = json!("Work anniversary");
            body["sourceType"] = json!("person");
            body["triggerKey"] = json!("years");
            body["kind"] = json!("recurring");
            body["date"] = json!(null);
            body["filter"] = json!(null);
            body["recurring"] = json!({ "field": "/hiredOn", "every": "year", "sendTime": "09:00" });
        }),
    )
    .await;
    let person = json!({ "businessUnit": "nz", "state": { "hiredOn": "2024-02-29" } });
    assert_eq!(put_source(&client, "person/7", person.clone()).await["created"], 1);
    let key = |date: &str| format!("reminder:{id}:person:7:years:recurring:{date}");
    assert_eq!(bed.work(&key("2027-02-28")).await.local_date.as_deref(), Some("2027-02-28"));
    let ahead = client.get("/api/v1/forecast?from=2027-01-01&to=2027-12-31").await.expect(200);
    assert_eq!(ahead["days"].as_array().unwrap().len(), 1);
    bed.run_to("2027-02-27T23:00:00Z").await;
    // An event on the very day, after it was sent, leaves the next one planned.
    let work = put_source(&client, "person/7", person.clone()).await;
    assert_eq!((&work["unchanged"], &work["deactivated"]), (&json!(2), &json!(0)), "{work}");
    client.advance("371d").await;
    assert_eq!(sent_at(&bed), ["2027-02-27T20:00:00Z", "2028-02-28T20:00:00Z"]);
    assert_eq!(bed.work(&key("2028-02-29")).await.status.as_str(), "completed");
    assert_eq!(bed.work(&key("2029-02-28")).await.status.as_str(), "pending");
    let mut left = person;
    left["active"] = json!(false);
    put_source(&client, "person/7", left).await;
    client.advance("400d").await;
    assert_eq!(bed.sent().len(), 2);
}

//! Quotas over the API: who sets them, what a caller gets when the rows of a day are used up, and where that is seen.

use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::client::Client;

on_both! {
    a_quota_is_set_and_shown_and_refuses_with_its_name;
    only_keys_without_a_limit_set_a_quota;
    a_quota_travels_with_the_definition_of_its_unit;
}

fn unit(quota: &Value) -> Value {
    json!({ "name": "NZ", "timeZone": "Pacific/Auckland", "quota": quota })
}

fn notification(n: usize) -> Value {
    json!({ "targets": [format!("{n}@example.org")], "channel": "memory:default", "subject": "S", "body": "B",
        "businessUnit": "nz" })
}

async fn a_quota_is_set_and_shown_and_refuses_with_its_name(bed: TestBed) {
    let client = Client::new(&bed).await;
    let quota = json!({ "rowsPerDay": 4, "channelShare": 25 });
    let put = client.put("/api/v1/business-units/nz", unit(&quota)).await.expect(200);
    assert_eq!((&put["quota"], &put["usage"]), (&quota, &Value::Null));
    for n in 0..2 {
        client.post("/api/v1/notifications", notification(n)).await.expect(201);
    }
    let message = |id: &str| {
        json!({ "id": id, "sendAt": "2026-05-14T06:00:00Z", "targets": ["m@example.org"],
            "channel": "memory:default", "subject": "S", "body": "B", "businessUnit": "nz" })
    };
    let schedule = |key: &str| json!({ "topic": "t", "runAt": "2026-05-14T06:00:00Z", "key": key, "businessUnit": "nz" });
    client.post("/api/v1/messages", message("one")).await.expect(201);
    client.post("/api/v1/schedules", schedule("one")).await.expect(201);
    let seen = client.get("/api/v1/business-units/nz").await.expect(200);
    assert_eq!(
        seen["usage"],
        json!({ "localDate": "2026-05-14", "rows": 4, "until": "2026-05-14T12:00:00Z" })
    );
    assert_eq!(seen["waiting"], 2, "nobody sends in this test yet");

    let refused = client.post("/api/v1/notifications", notification(9)).await;
    assert_eq!(refused.headers["retry-after"], "25200");
    let problem = refused.refused(429, "quota_exceeded");
    assert!(problem["detail"].as_str().unwrap().contains("`nz` may be given 4 rows a day"), "{problem}");
    client.post("/api/v1/messages", message("two")).await.refused(429, "quota_exceeded");
    client.post("/api/v1/schedules", schedule("two")).await.refused(429, "quota_exceeded");
    client.get("/api/v1/messages/two").await.refused(404, "not_found");
    // What is known is answered as ever, alone and in a batch.
    client.post("/api/v1/messages", message("one")).await.expect(200);
    client.post("/api/v1/schedules", schedule("one")).await.expect(200);
    for (path, batch) in [
        ("messages", json!([message("one"), message("three")])),
        ("schedules", json!([schedule("one"), schedule("three")])),
    ] {
        let items = client.post(&format!("/api/v1/{path}"), batch).await.expect(200)["items"].clone();
        assert_eq!((&items[0]["outcome"], &items[1]["outcome"]), (&json!("unchanged"), &json!("rejected")));
        assert_eq!(items[1]["error"]["code"], "quota_exceeded", "{items}");
    }
    let mut other = notification(1);
    other["businessUnit"] = Value::Null;
    let batch = json!([notification(10), other]);
    let items = client.post("/api/v1/notifications", batch).await.expect(200)["items"].clone();
    assert_eq!(
        (&items[0]["error"]["code"], &items[1]["outcome"]),
        (&json!("quota_exceeded"), &json!("created"))
    );

    let attention = client.get("/api/v1/attention").await.expect(200);
    assert_eq!(attention["counts"]["quota"], 1);
    let entry = attention["items"].as_array().unwrap().iter().find(|item| item["kind"] == "quota").unwrap();
    assert_eq!((&entry["id"], &entry["word"]), (&json!("nz"), &json!("used up")));
    let theirs = client.new_key(&["read"], Some(&["nz"])).await;
    assert_eq!(theirs.get("/api/v1/attention").await.expect(200)["counts"]["quota"], 1);
    bed.has_unit("de").await;
    let others = client.new_key(&["read"], Some(&["de"])).await;
    assert_eq!(others.get("/api/v1/attention").await.expect(200)["counts"]["quota"], 0);
    bed.engine.sweep_tick(bed.now()).await.unwrap();
    let figures = client.get("/metrics").await.text;
    assert!(figures.contains("punctual_quota_rows_left{unit=\"nz\"} 0"), "{figures}");
    assert!(figures.contains("punctual_quota_rows_refused{unit=\"nz\"} 6"), "{figures}");
    bed.run_for(7 * 3_600 + 1).await;
    assert_eq!(client.get("/api/v1/attention").await.expect(200)["counts"]["quota"], 0, "another day");
    client.post("/api/v1/notifications", notification(9)).await.expect(201);
    bed.run_for(5).await;
}

async fn only_keys_without_a_limit_set_a_quota(bed: TestBed) {
    let client = Client::new(&bed).await;
    let quota = json!({ "rowsPerDay": 100 });
    client.put("/api/v1/business-units/nz", unit(&quota)).await.expect(200);
    let ours = client.new_key(&["author", "read"], Some(&["nz"])).await;
    let plain = json!({ "name": "New Zealand", "timeZone": "Pacific/Auckland" });
    let saved = ours.put("/api/v1/business-units/nz", plain.clone()).await.expect(200);
    assert_eq!((&saved["name"], &saved["quota"]), (&json!("New Zealand"), &quota), "it stays");
    ours.put("/api/v1/business-units/nz", unit(&quota)).await.expect(200);
    for other in [json!({ "rowsPerDay": 101 }), json!({ "rowsPerDay": 100, "channelShare": 100 })] {
        ours.put("/api/v1/business-units/nz", unit(&other)).await.refused(403, "scope_missing");
    }
    for wrong in [json!({ "rowsPerDay": 0 }), json!({ "channelShare": 0.5 }), json!({ "rows": 1 })] {
        let refused = client.put("/api/v1/business-units/nz", unit(&wrong)).await;
        assert_eq!(refused.status, 422, "{wrong}");
    }
    let saved = client.put("/api/v1/business-units/nz", plain).await.expect(200);
    assert_eq!(saved["quota"], Value::Null, "whoever may, replaces all of it");
}

async fn a_quota_travels_with_the_definition_of_its_unit(bed: TestBed) {
    let client = Client::new(&bed).await;
    let quota = json!({ "rowsPerDay": 7, "channelShare": 30 });
    client.put("/api/v1/business-units/nz", unit(&quota)).await.expect(200);
    let document = client.get("/api/v1/definitions").await.body["definitions"].clone();
    assert!(document.to_string().contains(&quota.to_string()), "{document}");
    client.put("/api/v1/business-units/nz", unit(&Value::Null)).await.expect(200);
    let body = json!({ "plan": false, "prune": false, "definitions": document });
    client.post("/api/v1/definitions", body).await.expect(200);
    assert_eq!(client.get("/api/v1/business-units/nz").await.expect(200)["quota"], quota);
}

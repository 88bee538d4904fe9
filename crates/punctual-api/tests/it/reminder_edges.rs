//! Edges of reminders that callers see: keys that would be too long.

use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::Client,
    reminders::{first_aid, rows, setting, unit},
};

on_both! {
    s0_31_a_key_that_would_be_too_long_is_refused_or_seen;
}

/// A setting for a stock that is compared with a value.
fn stock(op: &str) -> Value {
    first_aid(|body| {
        body["sourceType"] = json!("shelf");
        body["triggerKey"] = json!("stock");
        body["kind"] = json!("threshold");
        body["date"] = json!(null);
        body["filter"] = json!(null);
        body["threshold"] = json!({ "metric": { "field": "/stock" }, "op": op, "value": 10, "firingPolicy": "OncePerThreshold" });
    })
}

async fn s0_31_a_key_that_would_be_too_long_is_refused_or_seen(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "UTC").await;
    // Too long for every source: refused where it is written, by the part that is the longest.
    let mut long = stock(">=");
    long["threshold"]["metric"] = json!({ "field": format!("/{}", "a".repeat(400)) });
    let problem = client.post("/api/v1/reminder-settings", long).await.refused(422, "key_invalid");
    assert_eq!(problem["errors"][0]["pointer"], "/threshold/metric");
    // Too long for one source: a failed row that says so, for every kind of trigger, also when a setting is made later.
    // A colon has three bytes in a key.
    let (kind, trigger) = ("k".repeat(100), "t".repeat(60));
    let path = format!("/api/v1/sources/{kind}/{}", "%3A".repeat(110));
    let state = json!({ "kind": "first-aid", "expiresOn": "2026-06-20", "stock": 12 });
    let source = json!({ "businessUnit": "nz", "state": state });
    client.put(&path, source.clone()).await.expect(200);
    let own = |mut body: Value| {
        body["sourceType"] = json!(kind);
        body["triggerKey"] = json!(trigger);
        body["filter"] = json!(null);
        body
    };
    setting(&client, own(first_aid(|body| body["date"]["offsetsDays"] = json!([7])))).await;
    setting(&client, own(stock(">="))).await;
    let yearly = |body: &mut Value| {
        body["kind"] = json!("recurring");
        body["date"] = json!(null);
        body["recurring"] = json!({ "field": "/expiresOn", "every": "year", "sendTime": "09:00" });
    };
    setting(&client, own(first_aid(yearly))).await;
    let failed = rows(&client, "&status=failed").await;
    assert_eq!(failed.len(), 3, "{failed:?}");
    assert!(failed.iter().all(|(.., reason)| reason == "key-too-long"), "{failed:?}");
    // Put again there is no second row; gone with its source.
    client.put(&path, source).await.expect(200);
    assert_eq!(rows(&client, "").await.len(), 3);
    client.delete(&path).await.expect(204);
    assert!(rows(&client, "&status=failed").await.is_empty());
}

//! Edges of reminders that callers see: keys that would be too long, dates beyond the calendar.

use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::Client,
    reminders::{first_aid, rows, setting, unit},
};

on_both! {
    s0_31_a_key_that_would_be_too_long_is_refused_or_seen;
    a_date_that_no_calendar_of_ours_has_plans_nothing_and_says_so;
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

async fn a_date_that_no_calendar_of_ours_has_plans_nothing_and_says_so(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    setting(&client, first_aid(|body| body["date"]["offsetsDays"] = json!([30, 1, -400]))).await;
    let yearly = |body: &mut Value| {
        body["triggerKey"] = json!("yearly");
        body["kind"] = json!("recurring");
        body["date"] = json!(null);
        body["recurring"] = json!({ "field": "/expiresOn", "every": "year", "sendTime": "09:00" });
    };
    setting(&client, first_aid(yearly)).await;
    let path = "/api/v1/sources/document/42";
    let expiring =
        |on: &str| json!({ "businessUnit": "nz", "state": { "kind": "first-aid", "expiresOn": on } });
    let beyond = [
        "0001-01-01",
        "0226-06-20",
        "1899-12-31",
        "2201-01-01",
        "9999-12-31",
        "9999-12-31T23:59:59Z",
        "0001-01-01T00:00:00Z",
        // In Auckland the year 2201 has begun.
        "2200-12-31T20:00:00Z",
    ];
    for on in beyond {
        let stored = client.put(path, expiring(on)).await.expect(200);
        assert_eq!(stored["work"]["created"], 0, "{on}");
        assert!(rows(&client, "").await.is_empty(), "{on}: {:?}", rows(&client, "").await);
        let why = client.get("/api/v1/why?sourceType=document&sourceId=42&date=2026-06-20").await.expect(200);
        let decisions = why["decisions"].as_array().unwrap();
        assert_eq!(decisions.len(), 2, "{on}: {why}");
        for decision in decisions {
            assert_eq!(
                (&decision["outcome"], &decision["reason"]),
                (&json!("notWanted"), &json!("date-out-of-range")),
                "{on}"
            );
        }
    }
    for on in ["2200-12-31", "1900-01-01", "2200-12-31T10:00:00Z"] {
        client.put(path, expiring(on)).await.expect(200);
        assert!(!rows(&client, "").await.is_empty(), "{on}");
    }
    // What was planned for a real date is taken back, with the reason.
    client.put(path, expiring("2028-06-20")).await.expect(200);
    client.put(path, expiring("9999-12-31")).await.expect(200);
    assert!(rows(&client, "&status=pending").await.is_empty());
    let taken_back = rows(&client, "&status=deactivated").await;
    assert!(
        taken_back
            .iter()
            .any(|(key, .., reason)| key.ends_with(":2028-06-20:30") && reason == "date-out-of-range"),
        "{taken_back:?}"
    );
}

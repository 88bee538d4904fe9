//! When reports come: over the days of a clock change, and what lies ahead.

use punctual_testkit::{TestBed, on_both};
use serde_json::json;

use crate::reports::{REPORT, client, subscribe, weekly};

on_both! {
    a_weekly_report_at_half_past_two_comes_once_on_both_days_of_the_change;
    the_forecast_has_what_is_planned_and_what_follows;
}

async fn a_weekly_report_at_half_past_two_comes_once_on_both_days_of_the_change(bed: TestBed) {
    let client = client(&bed).await;
    let guid = subscribe(&client, weekly(|body| body["cadence"]["cron"] = json!("30 2 * * SUN"))).await;
    bed.run_to("2026-10-20T00:00:00Z").await;
    let before = bed.sent().len();
    let ahead = client.get(&format!("{REPORT}/{guid}/upcoming?count=2")).await.expect(200);
    assert_eq!(
        (&ahead["items"][0]["local"], &ahead["items"][0]["adjusted"], &ahead["items"][1]["local"]),
        (&json!("2026-10-25T02:30:00+02:00"), &json!("overlap"), &json!("2026-11-01T02:30:00+01:00"))
    );
    bed.run_to("2026-10-31T00:00:00Z").await;
    assert_eq!(bed.sent().len(), before + 1, "once, although the time came twice");
    assert_eq!(bed.sent()[before].at.to_string(), "2026-10-25T00:30:00Z");
    bed.run_to("2027-03-25T00:00:00Z").await;
    let before = bed.sent().len();
    let ahead = client.get(&format!("{REPORT}/{guid}/upcoming?count=1")).await.expect(200);
    assert_eq!(
        (&ahead["items"][0]["local"], &ahead["items"][0]["adjusted"]),
        (&json!("2027-03-28T03:30:00+02:00"), &json!("gap"))
    );
    bed.run_to("2027-04-03T00:00:00Z").await;
    assert_eq!(bed.sent().len(), before + 1, "once, although the time did not come");
    assert_eq!(bed.sent()[before].at.to_string(), "2027-03-28T01:30:00Z");
}

async fn the_forecast_has_what_is_planned_and_what_follows(bed: TestBed) {
    let client = client(&bed).await;
    bed.list("ops", "email:default", &["a@b.example", "c@d.example"]).await;
    subscribe(&client, weekly(|body| body["recipients"] = json!({ "list": "ops" }))).await;
    let ahead = client.get("/api/v1/forecast?from=2026-05-14&to=2026-06-02").await.expect(200);
    let days: Vec<(&str, i64, &str)> = ahead["days"]
        .as_array()
        .unwrap()
        .iter()
        .map(|day| {
            let item = &day["items"][0];
            (
                day["localDate"].as_str().unwrap(),
                day["recipients"].as_i64().unwrap(),
                item["title"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("2026-05-18", 2, "Weekly deliveries: period from 11 May"),
        ("2026-05-25", 2, "Weekly deliveries: period from 18 May"),
        ("2026-06-01", 2, "Weekly deliveries: period from 25 May"),
    ];
    assert_eq!(days, expected, "{ahead}");
}

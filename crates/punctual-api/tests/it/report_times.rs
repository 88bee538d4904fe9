//! When reports come: over the days of a clock change, after days away, after a run that was cancelled, and what lies ahead.

use punctual_testkit::{TestBed, on_both};
use serde_json::json;

use crate::{
    client::Client,
    reports::{REPORT, client, runs, subscribe, weekly},
};

on_both! {
    a_weekly_report_at_half_past_two_comes_once_on_both_days_of_the_change;
    what_was_missed_is_left_out_with_skip;
    of_what_was_missed_only_the_latest_comes_with_last;
    what_was_missed_comes_in_order_with_all_up_to_a_bound;
    a_cancelled_run_does_not_end_the_chain;
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

/// A daily report, and a server that is away from noon on the 14th for some days: the clock moves and nothing runs.
async fn after_days_away(bed: &TestBed, catch_up: &str, until: &str) -> (Client, String) {
    let client = client(bed).await;
    let body = weekly(|body| {
        body["cadence"]["cron"] = json!("0 8 * * *");
        body["catchUp"] = json!(catch_up);
    });
    let guid = subscribe(&client, body).await;
    bed.run_to("2026-05-14T12:00:00Z").await;
    assert_eq!(bed.sent().len(), 1);
    bed.clock.set(until.parse().unwrap());
    bed.tick().await;
    (client, guid)
}

fn days(bed: &TestBed) -> Vec<String> {
    let subjects = bed
        .sent()
        .iter()
        .map(|sent| sent.subject.rsplit(": ").next().unwrap().to_owned())
        .collect::<Vec<_>>();
    subjects[1..].to_vec()
}

async fn what_was_missed_is_left_out_with_skip(bed: TestBed) {
    let (client, guid) = after_days_away(&bed, "skip", "2026-05-18T12:00:00Z").await;
    assert_eq!(days(&bed), [""; 0]);
    assert_eq!(runs(&client, &guid).await[1]["reasonCode"], "missed");
    assert_eq!(
        client.get(&format!("{REPORT}/{guid}")).await.expect(200)["nextRunAt"],
        "2026-05-19T06:00:00Z"
    );
    bed.run_to("2026-05-19T06:00:00Z").await;
    assert_eq!(days(&bed), ["2026-05-18"]);
}

async fn of_what_was_missed_only_the_latest_comes_with_last(bed: TestBed) {
    let (client, guid) = after_days_away(&bed, "last", "2026-05-18T12:00:00Z").await;
    assert_eq!(days(&bed), ["2026-05-17"]);
    assert_eq!(
        client.get(&format!("{REPORT}/{guid}")).await.expect(200)["nextRunAt"],
        "2026-05-19T06:00:00Z"
    );
    // One that is late alone is made.
    bed.clock.set("2026-05-19T20:00:00Z".parse().unwrap());
    bed.tick().await;
    assert_eq!(days(&bed), ["2026-05-17", "2026-05-18"]);
}

async fn what_was_missed_comes_in_order_with_all_up_to_a_bound(bed: TestBed) {
    let (_, _) = after_days_away(&bed, "all", "2026-05-18T12:00:00Z").await;
    assert_eq!(days(&bed), ["2026-05-14", "2026-05-15", "2026-05-16", "2026-05-17"]);
    bed.clock.set("2026-08-01T12:00:00Z".parse().unwrap());
    bed.tick().await;
    let made = days(&bed);
    assert_eq!(made.len(), 4 + punctual_workflows::reports::plan::CAUGHT_UP_AT_MOST);
    assert_eq!(made.last().map(String::as_str), Some("2026-07-31"));
    bed.run_to("2026-08-02T12:00:00Z").await;
    assert_eq!(days(&bed).last().map(String::as_str), Some("2026-08-01"));
}

async fn a_cancelled_run_does_not_end_the_chain(bed: TestBed) {
    let client = client(&bed).await;
    let guid = subscribe(&client, weekly(|_| {})).await;
    let id = runs(&client, &guid).await[0]["id"].clone();
    client.post(&format!("/api/v1/work/{id}/cancel"), json!({})).await.expect(200);
    bed.run_to("2026-05-20T00:00:00Z").await;
    assert_eq!(bed.sent().len(), 0, "a person has cancelled it");
    assert_eq!(
        client.get(&format!("{REPORT}/{guid}")).await.expect(200)["nextRunAt"],
        "2026-05-25T06:00:00Z"
    );
    bed.run_to("2026-05-25T06:00:00Z").await;
    assert_eq!(bed.sent().len(), 1);
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

//! What of reports needs attention is where people look for it: runs that failed or are held, and subscriptions that nobody
//! answers for or that reach nobody.

use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::Client,
    report_ownership::{failing, from_failing, old, ownership_of},
    reports::{REPORT, client, runs, subscribe, weekly, with_sources},
};

on_both! {
    a_run_that_failed_needs_a_person_until_a_later_one_has_gone_out;
    a_run_that_the_other_side_owns_is_held_where_reports_are;
    a_subscription_without_an_owner_or_recipients_needs_a_person_while_it_runs;
    who_has_one_business_unit_sees_its_reports_only;
}

/// What needs attention, of one kind.
async fn waiting(client: &Client, kind: &str) -> Vec<Value> {
    let found = client.get("/api/v1/attention").await.expect(200);
    let items: Vec<Value> =
        found["items"].as_array().unwrap().iter().filter(|item| item["kind"] == kind).cloned().collect();
    assert_eq!(found["counts"][kind], items.len(), "{found}");
    items
}

async fn a_run_that_failed_needs_a_person_until_a_later_one_has_gone_out(bed: TestBed) {
    let (bed, client) = with_sources(&bed, |sources| sources.with_builtin(failing(1, false))).await;
    let guid = subscribe(&client, from_failing()).await;
    bed.run_to("2026-05-18T06:00:00Z").await;
    let failed = waiting(&client, "runFailed").await;
    let key = format!("report-subscription:{guid}:scheduled:20260510T220000Z");
    let expected = json!([
        "Weekly deliveries: period from 11 May",
        "failed",
        key,
        format!("/reports/{guid}/runs/{key}")
    ]);
    let reported = |item: &Value| json!([item["title"], item["word"], item["id"], item["link"]]);
    assert_eq!(failed.iter().map(reported).collect::<Vec<_>>(), [expected]);
    bed.run_to("2026-05-24T00:00:00Z").await;
    assert_eq!(waiting(&client, "runFailed").await.len(), 1, "nothing has gone out since");
    bed.run_to("2026-05-25T07:00:00Z").await;
    assert_eq!((bed.sent().len(), waiting(&client, "runFailed").await.len()), (1, 0));
}

async fn a_run_that_the_other_side_owns_is_held_where_reports_are(bed: TestBed) {
    let client = client(&bed).await;
    let guid = subscribe(&client, weekly(|_| {})).await;
    let key = runs(&client, &guid).await[0]["key"].as_str().unwrap().to_owned();
    client.post(&ownership_of(&key), old()).await.expect(200);
    bed.run_to("2026-05-18T06:00:00Z").await;
    let held = waiting(&client, "runHeld").await;
    assert_eq!((held.len(), &held[0]["title"]), (1, &json!("Weekly deliveries: period from 11 May")));
    assert_eq!(held[0]["link"], format!("/reports/{guid}/runs/{key}"));
    assert!(waiting(&client, "hold").await.is_empty(), "it is counted once");
}

async fn a_subscription_without_an_owner_or_recipients_needs_a_person_while_it_runs(bed: TestBed) {
    let client = Client::new(&bed).await;
    client.put("/api/v1/lists/ops", json!({ "type": "email", "targets": ["a@b.example"] })).await.expect(200);
    let body = weekly(|body| {
        body["owner"] = json!("ada");
        body["recipients"] = json!({ "list": "ops" });
    });
    let guid = subscribe(&client, body).await;
    let orphans = waiting(&client, "orphan").await;
    let reported = json!([orphans[0]["id"], orphans[0]["reason"], orphans[0]["link"]]);
    assert_eq!(reported, json!([guid, "Its owner no longer exists", format!("/reports/{guid}")]));
    client.put("/api/v1/operations/people/ada", json!({ "name": "Ada" })).await.expect(200);
    assert!(waiting(&client, "orphan").await.is_empty());
    client.delete("/api/v1/lists/ops").await.expect(204);
    assert_eq!(waiting(&client, "orphan").await[0]["reason"], "Its list is gone or empty");
    client.post(&format!("{REPORT}/{guid}/pause"), json!({})).await.expect(200);
    assert!(waiting(&client, "orphan").await.is_empty(), "what is paused can wait");
}

async fn who_has_one_business_unit_sees_its_reports_only(bed: TestBed) {
    let client = client(&bed).await;
    for unit in [json!("nz"), json!("de")] {
        let body = weekly(|body| (body["businessUnit"], body["owner"]) = (unit, json!("gone")));
        let guid = subscribe(&client, body).await;
        let key = runs(&client, &guid).await[0]["key"].as_str().unwrap().to_owned();
        client.post(&ownership_of(&key), old()).await.expect(200);
    }
    bed.run_to("2026-05-18T06:00:00Z").await;
    assert_eq!((waiting(&client, "runHeld").await.len(), waiting(&client, "orphan").await.len()), (2, 2));
    let nz = client.new_key(&["read"], Some(&["nz"])).await;
    assert_eq!((waiting(&nz, "runHeld").await.len(), waiting(&nz, "orphan").await.len()), (1, 1));
}

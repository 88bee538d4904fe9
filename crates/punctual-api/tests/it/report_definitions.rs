//! Subscriptions as definitions: made, read, changed, refused, handed over, and for whom.

use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::{Client, Reply},
    reports::{REPORT, client, runs, subscribe, weekly},
};

on_both! {
    every_fault_of_a_subscription_names_its_field;
    a_cadence_that_has_ended_hinders_no_other_change;
    a_subscription_is_made_read_changed_and_removed;
    a_key_sees_and_changes_the_subscriptions_of_its_units_only;
    owners_and_recipients_that_are_gone_are_shown_and_handed_over;
}

async fn every_fault_of_a_subscription_names_its_field(bed: TestBed) {
    let client = Client::new(&bed).await;
    let check = async |pointer: &str, code: &str, change: &dyn Fn(&mut Value)| {
        let problem = client.post(REPORT, weekly(|body| change(body))).await.refused(422, code);
        assert_eq!(Reply::pointers(&problem), [pointer], "{problem}");
    };
    check("/cadence/cron", "schedule_invalid", &|body| body["cadence"]["cron"] = json!("8 o'clock")).await;
    check("/cadence/cron", "schedule_never", &|body| body["cadence"]["cron"] = json!("0 0 31 2 *")).await;
    check("/cadence/rrule", "schedule_invalid", &|body| {
        body["cadence"] = json!({ "rrule": "FREQ=HOURLY", "sendTime": "08:00" })
    })
    .await;
    check("/cadence/sendTime", "missing_field", &|body| body["cadence"] = json!({ "rrule": "FREQ=DAILY" }))
        .await;
    // One that ended, one that begins beyond any plan, and a year that is a slip.
    for (rule, starts, pointer, code) in [
        ("FREQ=DAILY;UNTIL=20200101", json!(null), "/cadence/rrule", "schedule_never"),
        ("FREQ=DAILY", json!("2190-01-01"), "/cadence/rrule", "schedule_never"),
        ("FREQ=DAILY", json!("9999-01-01"), "/cadence/startsOn", "date_out_of_range"),
        ("FREQ=DAILY", json!("0026-01-01"), "/cadence/startsOn", "date_out_of_range"),
    ] {
        check(pointer, code, &|body| {
            body["cadence"] = json!({ "rrule": rule, "sendTime": "08:00", "startsOn": starts })
        })
        .await;
    }
    check("/cadence/timeZone", "zone_unknown", &|body| body["cadence"]["timeZone"] = json!("Mars")).await;
    check("/period", "field_conflict", &|body| body["period"] = json!("month")).await;
    check("/catchUp", "out_of_range", &|body| body["catchUp"] = json!("some")).await;
    check("/recipients/list", "missing_field", &|body| body["recipients"] = json!({})).await;
    check("/report/source/builtin", "out_of_range", &|body| {
        body["report"]["source"]["builtin"] = json!("weather")
    })
    .await;
    assert_eq!(client.get(REPORT).await.expect(200)["items"], json!([]), "nothing is stored");
}

async fn a_cadence_that_has_ended_hinders_no_other_change(bed: TestBed) {
    let client = Client::new(&bed).await;
    let ends = json!({ "rrule": "FREQ=DAILY;UNTIL=20260520", "sendTime": "08:00", "timeZone": "UTC" });
    let made = client.post(REPORT, weekly(|body| body["cadence"] = ends.clone())).await.expect(201);
    assert!(made["nextRunAt"].is_string(), "{made}");
    client.advance("30d").await;
    let path = format!("{REPORT}/{}", made["guid"].as_str().unwrap());
    let ended = client.patch(&path, json!({ "name": "Ended" })).await.expect(200);
    assert_eq!((&ended["name"], &ended["nextRunAt"]), (&json!("Ended"), &json!(null)));
    let whole = client.put(&path, ended).await.expect(200);
    let later = json!({ "rrule": "FREQ=DAILY;UNTIL=20260521", "sendTime": "08:00", "timeZone": "UTC" });
    let problem = client.patch(&path, json!({ "cadence": later })).await.refused(422, "schedule_never");
    assert_eq!(Reply::pointers(&problem), ["/cadence/rrule"]);
    assert_eq!(client.get(&path).await.expect(200)["cadence"], whole["cadence"], "nothing is stored");
}

async fn a_subscription_is_made_read_changed_and_removed(bed: TestBed) {
    let client = client(&bed).await;
    let body = weekly(|body| body["channel"] = json!("email:later"));
    let made = client.post(REPORT, body.clone()).await.expect(201);
    assert_eq!(
        (&made["version"], &made["cadence"], &made["report"]),
        (&json!(1), &body["cadence"], &body["report"])
    );
    assert_eq!(made["warnings"][0]["code"], "channel_unknown");
    let path = format!("{REPORT}/{}", made["guid"].as_str().unwrap());
    let changed = client.patch(&path, json!({ "name": "Other", "version": 1 })).await.expect(200);
    assert_eq!((&changed["name"], &changed["version"]), (&json!("Other"), &json!(2)));
    client.patch(&path, json!({ "name": "Third", "version": 1 })).await.refused(409, "stale_version");
    // What was read can be written again, whole.
    let read = client.get(&path).await.expect(200);
    let whole = client.put(&path, read).await.expect(200);
    assert_eq!((&whole["name"], &whole["version"]), (&json!("Other"), &json!(3)));
    let own = format!("{REPORT}/0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071");
    client.put(&own, weekly(|_| {})).await.expect(200);
    client.put(&format!("{REPORT}/weekly"), weekly(|_| {})).await.refused(422, "key_invalid");
    assert_eq!(client.get(REPORT).await.expect(200)["items"].as_array().unwrap().len(), 2);
    client.delete(&path).await.expect(204);
    client.delete(&path).await.refused(404, "not_found");
    client.put(&path, weekly(|_| {})).await.refused(409, "id_reused");
}

async fn a_key_sees_and_changes_the_subscriptions_of_its_units_only(bed: TestBed) {
    let client = client(&bed).await;
    let every = ["author", "read", "operate", "ingest"];
    let own = client.new_key(&every, Some(&["nz"])).await;
    let other = client.new_key(&every, Some(&["de"])).await;
    let made = own.post(REPORT, weekly(|_| {})).await.expect(201);
    assert_eq!(made["businessUnit"], "nz");
    let guid = made["guid"].as_str().unwrap();
    let path = format!("{REPORT}/{guid}");
    let key = runs(&own, guid).await[0]["key"].as_str().unwrap().to_owned();
    let owned = format!("/api/v1/report-runs/{key}/ownership");
    let rollout = format!("/api/v1/rollouts/report-subscription/subscription/{guid}");
    for route in [
        path.clone(),
        format!("{path}/automation-runs"),
        format!("{path}/automation-runs/{key}"),
        format!("{path}/upcoming"),
        owned.clone(),
    ] {
        own.get(&route).await.expect(200);
        other.get(&route).await.refused(404, "not_found");
    }
    other.patch(&path, json!({ "name": "x" })).await.refused(404, "not_found");
    other.post(&format!("{path}/automation-runs"), json!({})).await.refused(404, "not_found");
    other
        .post(&owned, json!({ "owner": "oldScheduler", "ownerVersion": "1" }))
        .await
        .refused(404, "not_found");
    other.put(&rollout, json!({ "stage": 0 })).await.refused(404, "not_found");
    other.delete(&path).await.refused(404, "not_found");
    assert_eq!(other.get(REPORT).await.expect(200)["items"], json!([]));
    assert_eq!(other.get("/api/v1/report-runs/recent").await.expect(200)["items"], json!([]));
    own.put(&rollout, json!({ "stage": 0 })).await.expect(200);
    // One of everybody is read by all and changed without a limit.
    let all = client.post(REPORT, weekly(|_| {})).await.expect(201);
    let path = format!("{REPORT}/{}", all["guid"].as_str().unwrap());
    own.get(&path).await.expect(200);
    own.put(&path, weekly(|_| {})).await.refused(403, "scope_missing");
    own.patch(&path, json!({ "name": "x" })).await.refused(403, "scope_missing");
    own.post(&format!("{path}/pause"), json!({})).await.refused(403, "scope_missing");
    own.delete(&path).await.refused(403, "scope_missing");
    assert_eq!(client.get(&path).await.expect(200)["version"], all["version"]);
}

async fn owners_and_recipients_that_are_gone_are_shown_and_handed_over(bed: TestBed) {
    let client = client(&bed).await;
    let person = json!({ "name": "Ada", "email": "ada@b.example" });
    client.put("/api/v1/operations/people/ada", person).await.expect(200);
    client.put("/api/v1/lists/ops", json!({ "type": "email", "targets": ["a@b.example"] })).await.expect(200);
    let body = weekly(|body| {
        body["owner"] = json!("ada");
        body["recipients"] = json!({ "list": "ops" });
    });
    let guid = subscribe(&client, body).await;
    let orphans = async || client.get(&format!("{REPORT}/orphans")).await.expect(200)["items"].clone();
    assert_eq!(orphans().await, json!([]));
    client.delete("/api/v1/operations/people/ada").await.expect(204);
    assert_eq!(orphans().await[0]["reasons"], json!(["owner-gone"]));
    client.delete("/api/v1/lists/ops").await.expect(204);
    assert_eq!(orphans().await[0]["reasons"], json!(["owner-gone", "recipients-gone"]));
    let moved = client.post(&format!("{REPORT}/{guid}/transfer"), json!({ "owner": null })).await.expect(200);
    assert_eq!(moved["owner"], json!(null));
    assert_eq!(orphans().await[0]["reasons"], json!(["recipients-gone"]));
    assert_eq!(bed.audit("report-subscription", &guid).await, ["create", "transfer"]);
}

//! Report subscriptions as people use them: planned, made, delivered, moved, paused, and asked for.

use std::sync::Arc;

use punctual_api::ApiState;
use punctual_reports::Sources;
use punctual_testkit::{TestBed, on_both};
use punctual_workflows::reports::with_built_ins;
use serde_json::{Value, json};

use crate::client::Client;

on_both! {
    a_weekly_report_is_planned_made_and_delivered;
    only_the_next_run_is_planned_and_an_edit_plans_anew;
    a_run_now_is_one_run_under_its_id;
    pause_resume_and_delete_keep_what_was_made;
}

pub const REPORT: &str = "/api/v1/report-subscriptions";

/// A weekly report over what was delivered, with changes.
pub fn weekly(change: impl FnOnce(&mut Value)) -> Value {
    let mut body = json!({
        "name": "Weekly deliveries", "cadence": { "cron": "0 8 * * MON", "timeZone": "Europe/Berlin" },
        "report": { "source": { "builtin": "delivery-kpis" }, "format": ["html", "csv"] },
        "recipients": { "addresses": ["a@b.example"] }, "channel": "email:default",
    });
    change(&mut body);
    body
}

/// A client on a bed whose subscriptions always have a run ahead.
pub async fn client(bed: &TestBed) -> Client {
    bed.leaves_open("the next run is planned");
    Client::new(bed).await
}

/// A client whose reports come from these sources, and the bed that runs them.
pub async fn with_sources(bed: &TestBed, change: impl FnOnce(Sources) -> Sources) -> (TestBed, Client) {
    let sources = with_built_ins(change(Sources::default()));
    let workflows = punctual_workflows::all_with(
        Arc::new(punctual_workflows::reminders::Providers::built_in()),
        Default::default(),
        sources.clone(),
    );
    let bed = bed.with(|bed| bed.workflows(workflows));
    bed.leaves_open("the next run is planned");
    let client = Client::with(&bed, |state: &mut ApiState| state.reports = sources).await;
    (bed, client)
}

pub async fn subscribe(client: &Client, body: Value) -> String {
    client.post(REPORT, body).await.expect(201)["guid"].as_str().unwrap().to_owned()
}

pub async fn runs(client: &Client, guid: &str) -> Vec<Value> {
    let page = client.get(&format!("{REPORT}/{guid}/automation-runs")).await.expect(200);
    page["items"].as_array().unwrap().clone()
}

pub async fn run(client: &Client, guid: &str, key: &str) -> Value {
    client.get(&format!("{REPORT}/{guid}/automation-runs/{key}")).await.expect(200)
}

fn texts<'v>(rows: &'v [Value], field: &str) -> Vec<&'v str> {
    rows.iter().map(|row| row[field].as_str().unwrap_or_default()).collect()
}

async fn a_weekly_report_is_planned_made_and_delivered(bed: TestBed) {
    let client = client(&bed).await;
    let made = client.post(REPORT, weekly(|_| {})).await.expect(201);
    assert_eq!(made["nextRunAt"], "2026-05-18T06:00:00Z", "{made}");
    let guid = made["guid"].as_str().unwrap();
    let planned = runs(&client, guid).await;
    let key = format!("report-subscription:{guid}:scheduled:20260510T220000Z");
    assert_eq!((planned.len(), &planned[0]["key"]), (1, &json!(key)));
    assert_eq!(
        (&planned[0]["trigger"], &planned[0]["sourceType"], &planned[0]["sourceId"]),
        (&json!("scheduledRun"), &json!("report-subscription"), &json!(guid))
    );
    assert_eq!(
        (&planned[0]["localDate"], &planned[0]["timeZone"]),
        (&json!("2026-05-18"), &json!("Europe/Berlin"))
    );

    bed.run_to("2026-05-18T06:00:00Z").await;
    let sent = bed.sent();
    assert_eq!((sent.len(), sent[0].address.as_str()), (1, "a@b.example"));
    assert!(sent[0].subject.contains("2026-05-11 – 2026-05-17"), "{}", sent[0].subject);
    assert!(sent[0].html.is_some());
    assert!(sent[0].attachments.iter().any(|name| name.ends_with(".csv")), "{:?}", sent[0].attachments);

    let done = run(&client, guid, &key).await;
    assert_eq!((&done["status"], &done["runOutcome"]), (&json!("completed"), &json!("delivered")), "{done}");
    assert_eq!(
        (&done["ownership"]["owner"], &done["ownership"]["status"]),
        (&json!("automationScheduler"), &json!("deliveryCreated"))
    );
    assert_eq!(
        (&done["periodStart"], &done["periodEnd"]),
        (&json!("2026-05-10T22:00:00Z"), &json!("2026-05-17T22:00:00Z"))
    );
    assert_eq!(done["notifications"][0]["status"], "delivered");
    assert_eq!(done["coordinates"]["notifications"][0], done["notifications"][0]["id"]);
    let hash = done["storageRunKeyHash"].as_str().unwrap();
    let files = done["artefacts"].as_array().unwrap();
    assert!(!files.is_empty());
    for file in files {
        assert_eq!(file["blob"], format!("runs/{hash}/{}", file["name"].as_str().unwrap()));
        let reply = client.get(file["href"].as_str().unwrap()).await;
        assert_eq!(
            (reply.status, reply.headers["content-type"].to_str().unwrap()),
            (200, file["mediaType"].as_str().unwrap())
        );
        if file["mediaType"] == "text/csv" {
            assert_eq!(reply.text.len() as i64, file["bytes"].as_i64().unwrap());
        }
    }
    assert_eq!(
        client.get(&format!("{REPORT}/{guid}")).await.expect(200)["nextRunAt"],
        "2026-05-25T06:00:00Z"
    );
    // The support addresses are there without the prefix too.
    for end in [
        "",
        "/recent",
        "/failed",
        &format!("/{key}"),
        &format!("/{key}/ownership"),
        &format!("/{key}/coordinates"),
    ] {
        let with = client.get(&format!("{REPORT}/{guid}/automation-runs{end}")).await.expect(200);
        let without =
            client.get(&format!("/report-subscriptions/{guid}/automation-runs{end}")).await.expect(200);
        assert_eq!(with, without, "{end}");
    }
    bed.run_to("2026-06-02T00:00:00Z").await;
    assert_eq!(bed.sent().len(), 3, "it goes on");
}

async fn only_the_next_run_is_planned_and_an_edit_plans_anew(bed: TestBed) {
    let client = client(&bed).await;
    let guid = subscribe(&client, weekly(|_| {})).await;
    let path = format!("{REPORT}/{guid}");
    let moved = json!({ "cadence": { "rrule": "FREQ=MONTHLY;BYMONTHDAY=-1", "sendTime": "18:30", "timeZone": "Asia/Tokyo" } });
    let changed = client.patch(&path, moved).await.expect(200);
    assert_eq!(
        (&changed["nextRunAt"], &changed["timeZone"]),
        (&json!("2026-05-31T09:30:00Z"), &json!("Asia/Tokyo"))
    );
    let rows = runs(&client, &guid).await;
    assert_eq!(texts(&rows, "status"), ["pending", "deactivated"]);
    assert_eq!(rows[1]["reasonCode"], "no-longer-wanted");
    let back = client
        .patch(&path, json!({ "cadence": { "cron": "0 8 * * MON", "timeZone": "Europe/Berlin" } }))
        .await
        .expect(200);
    assert_eq!(back["nextRunAt"], "2026-05-18T06:00:00Z", "the row from before lives again");
    assert_eq!(runs(&client, &guid).await.len(), 2);
    // The zone is that of the business unit where the cadence has none.
    client
        .put("/api/v1/business-units/nz", json!({ "name": "NZ", "timeZone": "Pacific/Auckland" }))
        .await
        .expect(200);
    let body = weekly(|body| {
        body["businessUnit"] = json!("nz");
        body["cadence"] = json!({ "cron": "0 8 * * MON" });
    });
    let made = client.post(REPORT, body).await.expect(201);
    assert_eq!(
        (&made["timeZone"], &made["nextRunAt"]),
        (&json!("Pacific/Auckland"), &json!("2026-05-17T20:00:00Z"))
    );
}

async fn a_run_now_is_one_run_under_its_id(bed: TestBed) {
    let client = client(&bed).await;
    let guid = subscribe(&client, weekly(|_| {})).await;
    let path = format!("{REPORT}/{guid}/automation-runs");
    let own = "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071";
    let asked = client.post(&path, json!({ "manualRunGuid": own })).await.expect(202);
    assert_eq!(
        (&asked["key"], &asked["manualRunGuid"], &asked["status"]),
        (&json!(format!("report-subscription:{guid}:manual:{own}")), &json!(own), &json!("pending"))
    );
    let again = client.post(&path, json!({ "manualRunGuid": own.to_uppercase() })).await.expect(202);
    assert_eq!((&again["key"], &again["outcome"]), (&asked["key"], &json!("unchanged")));
    bed.tick().await;
    assert_eq!(bed.sent().len(), 1);
    assert!(
        bed.sent()[0].subject.contains("2026-05-04 – 2026-05-10"),
        "the last complete week: {}",
        bed.sent()[0].subject
    );
    let after = client.post(&path, json!({ "manualRunGuid": own })).await.expect(202);
    assert_eq!((&after["status"], &after["outcome"]), (&json!("completed"), &json!("completed")));
    bed.tick().await;
    assert_eq!(bed.sent().len(), 1, "the same id is the same run");
    // By its guid alone, and without one a new one is made.
    assert_eq!(run(&client, &guid, own).await["status"], "completed");
    let other = client.post(&path, json!({})).await.expect(202);
    assert_ne!(other["manualRunGuid"], json!(own));
    bed.tick().await;
    assert_eq!(bed.sent().len(), 2);
    client.post(&path, json!({ "manualRunGuid": "seven" })).await.refused(422, "key_invalid");
    client.get(&format!("{path}/nothing")).await.refused(404, "not_found");
    // Trying a delivered run again makes nothing a second time.
    let tried = client.post(&format!("{path}/{own}/retry"), json!({})).await.expect(200);
    assert_eq!(
        (&tried["status"], &tried["coordinates"]),
        (&json!("completed"), &run(&client, &guid, own).await["coordinates"])
    );
    bed.tick().await;
    assert_eq!(bed.sent().len(), 2);
}

async fn pause_resume_and_delete_keep_what_was_made(bed: TestBed) {
    let client = client(&bed).await;
    let guid = subscribe(&client, weekly(|_| {})).await;
    let path = format!("{REPORT}/{guid}");
    bed.run_to("2026-05-18T06:00:00Z").await;
    let paused = client.post(&format!("{path}/pause"), json!({})).await.expect(200);
    assert_eq!((&paused["paused"], &paused["nextRunAt"]), (&json!(true), &json!(null)));
    assert_eq!(runs(&client, &guid).await[0]["reasonCode"], "subscription-paused");
    client.post(&format!("{path}/automation-runs"), json!({})).await.refused(409, "state_not_allowed");
    bed.run_to("2026-06-02T00:00:00Z").await;
    assert_eq!(bed.sent().len(), 1);
    let resumed = client.post(&format!("{path}/resume"), json!({})).await.expect(200);
    assert_eq!(resumed["nextRunAt"], "2026-06-08T06:00:00Z");
    bed.run_to("2026-06-08T06:00:00Z").await;
    assert_eq!(bed.sent().len(), 2, "what fell into the pause is not made up for");
    client.delete(&path).await.expect(204);
    client.get(&path).await.refused(404, "not_found");
    bed.run_to("2026-06-30T00:00:00Z").await;
    assert_eq!(bed.sent().len(), 2);
    assert_eq!(runs(&client, &guid).await.iter().filter(|run| run["status"] == "completed").count(), 2);
    let reported = bed.audit("report-subscription", &guid).await;
    assert_eq!(reported, ["create", "pause", "resume", "delete"]);
    subscribe(&client, weekly(|_| {})).await;
}

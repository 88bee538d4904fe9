//! Report subscriptions as people use them: planned, made, delivered, moved, paused, missed, and asked for.

use std::sync::Arc;

use punctual_api::ApiState;
use punctual_paths::reports::with_built_ins;
use punctual_reports::Sources;
use punctual_testkit::{Bed, on_both};
use serde_json::{Value, json};

use crate::client::{Client, Reply};

on_both! {
    a_weekly_report_is_planned_made_and_delivered;
    moving_the_time_within_a_period_makes_no_second_run;
    only_the_next_run_is_planned_and_an_edit_plans_anew;
    a_run_now_is_one_run_under_its_id;
    pause_resume_and_delete_keep_what_was_made;
    recipients_and_channel_are_those_of_the_moment;
    every_fault_of_a_subscription_names_its_field;
    a_subscription_is_made_read_changed_and_removed;
    a_key_sees_and_changes_the_subscriptions_of_its_units_only;
    a_weekly_report_at_half_past_two_comes_once_on_both_days_of_the_change;
    what_was_missed_is_left_out_with_skip;
    of_what_was_missed_only_the_latest_comes_with_last;
    what_was_missed_comes_in_order_with_all_up_to_a_bound;
    a_cancelled_run_does_not_end_the_chain;
    owners_and_recipients_that_are_gone_are_shown_and_handed_over;
    a_report_goes_to_a_list_with_a_template;
    the_forecast_has_what_is_planned_and_what_follows;
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
pub async fn client(bed: &Bed) -> Client {
    bed.leaves_open("the next run is planned");
    Client::new(bed).await
}

/// A client whose reports come from these sources, and the bed that runs them.
pub async fn with_sources(bed: &Bed, change: impl FnOnce(Sources) -> Sources) -> (Bed, Client) {
    let sources = with_built_ins(change(Sources::default()));
    let paths = punctual_paths::all_with(
        Arc::new(punctual_paths::reminders::Providers::built_in()),
        Default::default(),
        sources.clone(),
    );
    let bed = bed.with(|bed| bed.paths(paths));
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

async fn a_weekly_report_is_planned_made_and_delivered(bed: Bed) {
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

async fn moving_the_time_within_a_period_makes_no_second_run(bed: Bed) {
    let client = client(&bed).await;
    let guid = subscribe(&client, weekly(|_| {})).await;
    bed.run_to("2026-05-18T07:00:00Z").await;
    assert_eq!(bed.sent().len(), 1);
    // Later on the same day, and then on another day of the same week.
    for cron in ["0 12 * * MON", "0 8 * * WED"] {
        let cadence = json!({ "cron": cron, "timeZone": "Europe/Berlin" });
        client.patch(&format!("{REPORT}/{guid}"), json!({ "cadence": cadence })).await.expect(200);
    }
    bed.run_to("2026-05-24T00:00:00Z").await;
    assert_eq!(bed.sent().len(), 1, "the week of the 11th was reported");
    bed.run_to("2026-05-27T06:00:00Z").await;
    assert_eq!(bed.sent().len(), 2);
    assert_eq!(runs(&client, &guid).await.iter().filter(|run| run["status"] == "completed").count(), 2);
}

async fn only_the_next_run_is_planned_and_an_edit_plans_anew(bed: Bed) {
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

async fn a_run_now_is_one_run_under_its_id(bed: Bed) {
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

async fn pause_resume_and_delete_keep_what_was_made(bed: Bed) {
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
    let told = bed.audit("report-subscription", &guid).await;
    assert_eq!(told, ["create", "pause", "resume", "delete"]);
    subscribe(&client, weekly(|_| {})).await;
}

async fn recipients_and_channel_are_those_of_the_moment(bed: Bed) {
    let client = client(&bed).await;
    let guid = subscribe(&client, weekly(|_| {})).await;
    let planned = runs(&client, &guid).await[0]["id"].clone();
    let change =
        json!({ "recipients": { "addresses": ["new"] }, "channel": "memory:default", "subject": "Figures" });
    client.patch(&format!("{REPORT}/{guid}"), change).await.expect(200);
    assert_eq!(runs(&client, &guid).await[0]["id"], planned, "the row is the same");
    bed.run_to("2026-05-18T06:00:00Z").await;
    let sent = bed.sent();
    assert_eq!(
        (sent[0].address.as_str(), sent[0].subject.as_str(), sent[0].channel.as_str()),
        ("new", "Figures", "memory:default")
    );
}

async fn every_fault_of_a_subscription_names_its_field(bed: Bed) {
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

async fn a_subscription_is_made_read_changed_and_removed(bed: Bed) {
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
    client.put(&path, weekly(|_| {})).await.refused(404, "not_found");
}

async fn a_key_sees_and_changes_the_subscriptions_of_its_units_only(bed: Bed) {
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
}

async fn a_weekly_report_at_half_past_two_comes_once_on_both_days_of_the_change(bed: Bed) {
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
async fn after_days_away(bed: &Bed, catch_up: &str, until: &str) -> (Client, String) {
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

fn days(bed: &Bed) -> Vec<String> {
    let subjects = bed
        .sent()
        .iter()
        .map(|sent| sent.subject.rsplit(": ").next().unwrap().to_owned())
        .collect::<Vec<_>>();
    subjects[1..].to_vec()
}

async fn what_was_missed_is_left_out_with_skip(bed: Bed) {
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

async fn of_what_was_missed_only_the_latest_comes_with_last(bed: Bed) {
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

async fn what_was_missed_comes_in_order_with_all_up_to_a_bound(bed: Bed) {
    let (_, _) = after_days_away(&bed, "all", "2026-05-18T12:00:00Z").await;
    assert_eq!(days(&bed), ["2026-05-14", "2026-05-15", "2026-05-16", "2026-05-17"]);
    bed.clock.set("2026-08-01T12:00:00Z".parse().unwrap());
    bed.tick().await;
    let made = days(&bed);
    assert_eq!(made.len(), 4 + punctual_paths::reports::plan::CAUGHT_UP_AT_MOST);
    assert_eq!(made.last().map(String::as_str), Some("2026-07-31"));
    bed.run_to("2026-08-02T12:00:00Z").await;
    assert_eq!(days(&bed).last().map(String::as_str), Some("2026-08-01"));
}

async fn a_cancelled_run_does_not_end_the_chain(bed: Bed) {
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

async fn owners_and_recipients_that_are_gone_are_shown_and_handed_over(bed: Bed) {
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

async fn a_report_goes_to_a_list_with_a_template(bed: Bed) {
    let client = client(&bed).await;
    bed.list("ops", "email:default", &["a@b.example", "c@d.example"]).await;
    bed.template("figures", "en", json!({ "en": { "subject": "{{ subscription.name }} / {{ period.label }}", "body": "{{ report.rows }} rows" } })).await;
    let body = weekly(|body| {
        body["recipients"] = json!({ "list": "ops" });
        body["channel"] = json!(null);
        body["template"] = json!("figures");
    });
    subscribe(&client, body).await;
    bed.run_to("2026-05-18T06:00:00Z").await;
    assert_eq!(bed.sent_to(), ["a@b.example", "c@d.example"]);
    assert_eq!(
        (bed.sent()[0].subject.as_str(), bed.sent()[0].body.as_str()),
        ("Weekly deliveries / 2026-05-11 – 2026-05-17", "0 rows")
    );
}

async fn the_forecast_has_what_is_planned_and_what_follows(bed: Bed) {
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
    let monday = |date: &'static str| (date, 2, "Weekly deliveries");
    assert_eq!(days, [monday("2026-05-18"), monday("2026-05-25"), monday("2026-06-01")], "{ahead}");
}

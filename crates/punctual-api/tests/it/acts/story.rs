//! One of everything that the API can do to what is stored, in an order in which each finds what it needs.

use punctual_engine::restored::mark_restored;
use punctual_store::receipts::{self, Expected, News};
use punctual_testkit::TestBed;
use serde_json::{Value, json};

use super::{Acts, Doer};
use crate::{
    client::put_on_hold,
    reminders::{first_aid, put_source},
    reports::{runs, weekly},
    surveys::{csi_gr, instance, visit},
};

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub async fn carry_out_all(acts: &mut Acts, bed: &TestBed, all: &Doer, nz: &Doer) {
    definitions(acts, all, nz).await;
    people(acts, all).await;
    rows(acts, bed, all, nz).await;
    operations(acts, nz).await;
    reminders(acts, all, nz).await;
    surveys(acts, bed, all, nz).await;
    reports(acts, nz).await;
    installation(acts, bed, all, nz).await;
}

async fn definitions(acts: &mut Acts, all: &Doer, nz: &Doer) {
    let of = |unit: &'static str| Doer { unit: Some(unit), ..all.clone() };
    let unit = json!({ "name": "X", "timeZone": "UTC" });
    acts.did(&of("xx"), "putBusinessUnit", &["xx"], unit).await;
    acts.did(&of("xx"), "deleteBusinessUnit", &["xx"], Value::Null).await;
    acts.did(all, "putChannel", &["sms:x"], json!({ "adapter": "memory" })).await;
    acts.did(all, "testChannel", &["sms:x"], json!({ "address": "+4915112345678" })).await;
    acts.did(all, "deleteChannel", &["sms:x"], Value::Null).await;
    let secret = format!("whsec_{}", "c2VjcmV0".repeat(4));
    let hook =
        json!({ "adapter": "webhook", "settings": { "url": "https://hooks.example/in", "secret": secret } });
    acts.did(all, "putChannel", &["webhook:x"], hook).await;
    acts.did(all, "rotateChannelSecret", &["webhook:x"], json!({})).await;
    let consumer = json!({ "adapter": "nats", "active": false,
        "settings": { "url": "nats://127.0.0.1:4222", "stream": "S", "deadLetterSubject": "dead" } });
    acts.did(all, "putConsumer", &["nats:x"], consumer).await;
    acts.did(all, "deleteConsumer", &["nats:x"], Value::Null).await;
    acts.did(nz, "putList", &["ops"], json!({ "type": "memory", "targets": ["a@example.org"] })).await;
    acts.did(nz, "deleteList", &["ops"], Value::Null).await;
    let document = json!({ "definitions": { "lists": { "shared": { "type": "memory", "targets": ["a@example.org"] } } } });
    acts.did(all, "importDefinitions", &[], document).await;
    acts.did(
        all,
        "putTemplate",
        &["t"],
        json!({ "defaultLocale": "en", "variants": { "en": { "subject": "S", "body": "B" } } }),
    )
    .await;
    acts.did(all, "deleteTemplate", &["t"], Value::Null).await;
    acts.did(all, "putDeliveryPolicy", &[], json!({})).await;
    acts.did(all, "putPreference", &["ann@example.org"], json!({ "timeZone": "UTC" })).await;
    acts.did(all, "createPreferenceLink", &["ann@example.org"], json!({})).await;
    acts.did(all, "deletePreference", &["ann@example.org"], Value::Null).await;
    acts.did(all, "putSuppression", &["email", "ann@example.org"], json!({})).await;
    acts.did(all, "deleteSuppression", &["email", "ann@example.org"], Value::Null).await;
}

async fn people(acts: &mut Acts, all: &Doer) {
    let key = acts.did(all, "createKey", &[], json!({ "name": "k", "scopes": ["read"] })).await;
    acts.did(all, "deleteKey", &[&text(&key["id"])], Value::Null).await;
    let user = json!({ "email": "eve@example.org", "name": "Eve", "role": "viewer" });
    let user = text(&acts.did(all, "createUser", &[], user).await["id"]);
    acts.did(all, "updateUser", &[&user], json!({ "role": "operator" })).await;
    acts.did(all, "createUserInvitation", &[&user], json!({})).await;
    acts.did(all, "deleteUser", &[&user], Value::Null).await;
    let address = json!({ "address": "eve@example.org" });
    acts.did(all, "exportPersonalData", &[], address).await;
    let erase = json!({ "address": "eve@example.org", "confirm": true });
    acts.did(all, "createErasure", &[], erase).await;
}

async fn rows(acts: &mut Acts, bed: &TestBed, all: &Doer, nz: &Doer) {
    let later = json!({ "id": "m-1", "sendAt": "2026-06-14T06:00:00Z", "targets": ["a"], "channel": "memory:default",
        "subject": "S", "body": "B" });
    nz.client.post("/api/v1/messages", later).await.expect(201);
    // The audit knows them by their row of work.
    acts.did(nz, "updateMessage", &["m-1"], json!({ "subject": "T" })).await;
    let work = text(&nz.client.get("/api/v1/messages/m-1").await.expect(200)["workId"]);
    acts.about = work.clone();
    acts.did(nz, "deleteMessage", &["m-1"], Value::Null).await;
    acts.did(nz, "retryWork", &[&work], json!({})).await;
    acts.did(nz, "cancelWork", &[&work], json!({})).await;
    let schedule = json!({ "topic": "t", "runAt": "2026-06-14T06:00:00Z", "key": "k-1" });
    let schedule = text(&nz.client.post("/api/v1/schedules", schedule).await.expect(201)["id"]);
    acts.did(nz, "updateSchedule", &[&schedule], json!({ "runAt": "2026-06-15T06:00:00Z" })).await;
    put_on_hold(bed, "schedule:k-1").await;
    acts.did(nz, "releaseWork", &[&schedule], json!({})).await;
    acts.did(nz, "deleteSchedule", &[&schedule], Value::Null).await;
    let lost = json!({ "targets": ["a@example.org"], "channel": "pager:none", "subject": "S", "body": "B" });
    let lost = text(&nz.client.post("/api/v1/notifications", lost).await.expect(201)["id"]);
    bed.tick().await;
    acts.did(nz, "retryNotification", &[&lost], json!({})).await;
    bed.tick().await;
    acts.did(nz, "discardNotification", &[&lost], json!({})).await;
    let returned =
        json!({ "targets": ["a@example.org"], "channel": "memory:default", "subject": "S", "body": "B" });
    let returned = text(&nz.client.post("/api/v1/notifications", returned).await.expect(201)["id"]);
    bed.tick().await;
    failed_after_all(bed, &returned).await;
    acts.did(nz, "acknowledgeNotification", &[&returned], json!({})).await;
    acts.did(all, "putRetention", &[], json!({ "keepForDays": 90 })).await;
    acts.did(all, "purge", &[], json!({})).await;
}

/// As if the provider had said later that the message did not arrive.
async fn failed_after_all(bed: &TestBed, id: &str) {
    let provider_id = "p-1".to_owned();
    let expected = Expected {
        provider_id: provider_id.clone(),
        channel: "memory:default".to_owned(),
        seq: bed.notification(id).await.seq,
        target: "a@example.org".to_owned(),
        attempt: 1,
    };
    let news = News {
        provider_id,
        rank: 9,
        confirmed_at: None,
        failed_at: Some(bed.now()),
        code: None,
        detail: Some("gone".to_owned()),
        suppress: None,
    };
    let mut tx = bed.begin().await;
    receipts::expect(&mut tx.conn(), "memory", &[expected]).await.unwrap();
    receipts::report(&mut tx.conn(), bed.now(), "memory", &[news]).await.unwrap();
    tx.commit().await.unwrap();
}

async fn operations(acts: &mut Acts, nz: &Doer) {
    let person =
        json!({ "name": "Ann", "email": "ann@example.org", "timeZone": "UTC", "channels": ["email"] });
    acts.did(nz, "putOperationsPerson", &["ann"], person).await;
    acts.did(nz, "putOperationsPerson", &["ben"], json!({ "name": "Ben" })).await;
    acts.did(nz, "putOperationsOrganisation", &["choir"], json!({ "name": "Choir" })).await;
    acts.did(nz, "createOperationsFeed", &[], json!({ "organisation": "choir" })).await;
    acts.did(nz, "deleteOperationsFeed", &["organisation", "choir"], Value::Null).await;
    let event = json!({ "title": "T", "startDate": "2026-06-14T06:00:00Z", "creator": "ann" });
    let event = text(&acts.did(nz, "createOperationsEvent", &[], event).await["id"]);
    acts.did(nz, "updateOperationsEvent", &[&event], json!({ "title": "U" })).await;
    let rule = json!({ "subjectType": "event", "subjectId": event,
        "rule": { "type": "relative", "anchor": "start", "offset": "-24h" } });
    let added = acts.did(nz, "createOperationsRule", &[], rule).await;
    let rule = text(&added["id"]);
    // The entry is about the event, which the answer names.
    acts.did(nz, "updateOperationsRule", &[&rule], json!({ "active": false })).await;
    acts.did(nz, "repairOperationsRule", &[&rule], json!({})).await;
    acts.about = event.clone();
    acts.did(nz, "deleteOperationsRule", &[&rule], Value::Null).await;
    acts.did(nz, "deleteOperationsEvent", &[&event], Value::Null).await;
    let task = json!({ "title": "T", "startedAt": "2026-06-14T06:00:00Z", "creator": "ann" });
    let task = text(&acts.did(nz, "createOperationsTask", &[], task).await["id"]);
    acts.did(nz, "updateOperationsTask", &[&task], json!({ "title": "U" })).await;
    acts.did(nz, "deleteOperationsTask", &[&task], Value::Null).await;
    let calendar = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:c-1\r\nDTSTART:20260801T060000Z\r\nSUMMARY:T\r\nORGANIZER:mailto:ann@example.org\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
    acts.did(nz, "importCalendar", &[], json!(calendar)).await;
    acts.did(nz, "deleteOperationsOrganisation", &["choir"], Value::Null).await;
    acts.did(nz, "deleteOperationsPerson", &["ben"], Value::Null).await;
}

async fn reminders(acts: &mut Acts, all: &Doer, nz: &Doer) {
    let state = json!({ "kind": "first-aid", "expiresOn": "2026-07-20" });
    put_source(&nz.client, "document/1", json!({ "state": state })).await;
    let setting = text(&acts.did(nz, "createReminderSetting", &[], first_aid(|_| {})).await["id"]);
    let changed = first_aid(|body| body["name"] = json!("Other"));
    acts.did(nz, "putReminderSetting", &[&setting], changed).await;
    acts.did(nz, "updateReminderSetting", &[&setting], json!({ "name": "Third" })).await;
    acts.did(all, "runReconciliation", &["dateBased"], json!({})).await;
    acts.did(nz, "deleteReminderSetting", &[&setting], Value::Null).await;
}

async fn surveys(acts: &mut Acts, bed: &TestBed, all: &Doer, nz: &Doer) {
    let subscriber = json!({ "adapter": "memory", "events": ["instance-sent"] });
    acts.did(all, "putSubscriber", &["memory:bi"], subscriber).await;
    let survey = json!({ "name": "S", "schema": csi_gr() });
    let survey = text(&acts.did(nz, "createSurvey", &[], survey).await["id"]);
    let schema = csi_gr();
    acts.did(nz, "putSurvey", &[&survey], json!({ "name": "T", "schema": schema })).await;
    acts.did(nz, "publishSurvey", &[&survey], json!({})).await;
    let campaign = json!({ "triggerId": "csi-gr-trigger", "items": [visit("1")] });
    acts.did(nz, "createSurveyCampaign", &[&survey], campaign).await;
    let asked = instance(&nz.client, visit("2")).await;
    acts.did(nz, "deleteSurveyInstance", &[&survey, &asked], Value::Null).await;
    let outcome = json!({ "outcome": "permanent", "times": 1 });
    acts.did(all, "putSandboxChannel", &["event.memory:bi"], outcome.clone()).await;
    bed.run_for(60).await;
    let events = nz.client.get("/api/v1/outbox-events").await.expect(200);
    let failed = events["items"].as_array().unwrap().iter().find(|event| event["status"] == "failed");
    let failed = failed.unwrap_or_else(|| panic!("{events}"))["id"].to_string();
    acts.did(nz, "retryOutboxEventDelivery", &[&failed, "memory:bi"], json!({})).await;
    acts.did(all, "putSandboxChannel", &["event.memory:bi"], outcome).await;
    bed.run_for(60).await;
    acts.did(all, "retrySubscriber", &["memory:bi"], json!({})).await;
    acts.did(all, "deleteSubscriber", &["memory:bi"], Value::Null).await;
}

async fn reports(acts: &mut Acts, nz: &Doer) {
    let body = weekly(|body| body["channel"] = json!("memory:default"));
    let guid = text(&acts.did(nz, "createReportSubscription", &[], body.clone()).await["guid"]);
    acts.did(nz, "putReportSubscription", &[&guid], body).await;
    acts.did(nz, "updateReportSubscription", &[&guid], json!({ "name": "Other" })).await;
    acts.did(nz, "pauseReportSubscription", &[&guid], json!({})).await;
    acts.did(nz, "resumeReportSubscription", &[&guid], json!({})).await;
    acts.did(nz, "transferReportSubscription", &[&guid], json!({ "owner": "ann" })).await;
    let run = runs(&nz.client, &guid).await[0]["key"].as_str().unwrap().to_owned();
    let old = json!({ "owner": "oldScheduler", "ownerVersion": "7" });
    nz.client
        .post(&format!("/api/v1/report-runs/{}/ownership", run.replace('/', "%2F")), old)
        .await
        .expect(200);
    acts.bed.run_for(8 * 86_400).await;
    acts.did(nz, "retryReportSubscriptionAutomationRun", &[&guid, &run], json!({})).await;
    acts.did(nz, "createReportSubscriptionAutomationRun", &[&guid], json!({})).await;
    let places = ["subscription", guid.as_str()];
    let stage = json!({ "stage": 1, "confirm": ["deliveryPath", "oldScheduler", "ownershipStorage"] });
    acts.did(nz, "putRolloutsReportSubscription", &places, stage).await;
    let stage = json!({ "stage": 2, "confirm": ["deliveryPath", "oldScheduler", "ownershipStorage"] });
    acts.did(nz, "putRolloutsReportSubscription", &places, stage).await;
    acts.did(nz, "rollbackRolloutsReportSubscription", &places, json!({})).await;
    let cutover = json!({ "stage": 4, "confirm": ["deliveryPath", "oldScheduler", "ownershipStorage"] });
    acts.did(nz, "putRolloutsReportSubscription", &places, cutover).await;
    acts.did(nz, "deleteRolloutsReportSubscription", &places, Value::Null).await;
    acts.did(nz, "deleteReportSubscription", &[&guid], Value::Null).await;
}

async fn installation(acts: &mut Acts, bed: &TestBed, all: &Doer, nz: &Doer) {
    let of_nz = Doer { unit: Some("nz"), ..all.clone() };
    acts.did(&of_nz, "createSite", &[], json!({ "id": "plant-7", "businessUnit": "nz" })).await;
    acts.did(all, "updateSite", &["plant-7"], json!({ "businessUnit": null })).await;
    acts.did(all, "rotateSiteToken", &["plant-7"], json!({})).await;
    acts.did(all, "revokeSite", &["plant-7"], json!({})).await;
    acts.did(all, "rekeySecrets", &[], json!({})).await;
    acts.did(all, "putSandboxClock", &[], json!({ "advance": "1m" })).await;
    for (act, id) in [("releaseRestore", "r-1"), ("discardRestore", "r-2")] {
        let due = json!({ "id": id, "sendAt": bed.now().to_string(), "targets": ["m@example.org"],
            "channel": "email:default", "subject": id, "body": "b" });
        nz.client.post("/api/v1/messages", due).await.expect(201);
        mark_restored(&bed.store, bed.now(), Some(bed.now())).await.unwrap();
        bed.wait(3_600);
        bed.engine.hold_restored(bed.now()).await.unwrap().unwrap();
        acts.did(all, act, &[], json!({ "reason": "asked" })).await;
    }
}

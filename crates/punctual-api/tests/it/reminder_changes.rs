//! Changed settings: what is planned is what is applied, identity decides what is replaced, and what was sent stays.

use punctual_store::{
    business_units::{self, BusinessUnitRow},
    reminders::changes,
};
use punctual_testkit::{TestBed, on_both};
use punctual_workflows::reminders::zones;
use serde_json::{Value, json};

use crate::{
    client::Client,
    reminders::{first_aid, put_source, rows, setting, unit},
};

on_both! {
    another_offset_replaces_rows_and_keeps_what_was_sent;
    another_send_time_moves_the_same_rows;
    another_template_leaves_every_row_as_it_is;
    a_setting_switched_off_takes_back_what_it_planned;
    a_setting_made_later_finds_the_sources_that_are_there;
    a_business_unit_that_changes_its_zone_takes_its_rows_along;
    a_change_over_many_sources_is_applied_in_batches;
    what_a_change_has_not_come_to_yet_is_not_sent_at_its_old_moment;
    an_hour_that_changes_on_the_day_leaves_the_next_occurrence_planned;
    r20_new_rules_of_a_zone_move_what_is_planned_and_never_what_was_sent;
}

fn document(expires_on: &str) -> Value {
    json!({ "businessUnit": "nz", "state": { "kind": "first-aid", "expiresOn": expires_on } })
}

/// Plans a change, makes it, and holds the one to the other.
async fn change(client: &Client, bed: &TestBed, id: &str, change: Value) -> Value {
    let path = format!("/api/v1/reminder-settings/{id}");
    let plan = client.post(&format!("{path}/plan"), change.clone()).await.expect(200);
    let made = client.patch(&path, change).await.expect(200);
    let key = format!("reminder-change:setting:{id}:{}", made["version"]);
    let done = changes::get(&mut bed.read().await.conn(), &key).await.unwrap().unwrap_or_default();
    let applied = (json!(done.created), json!(done.deactivated), json!(done.updated));
    assert_eq!(applied, (plan["create"].clone(), plan["deactivate"].clone(), plan["move"].clone()), "{plan}");
    plan
}

async fn planned(bed: &TestBed) -> Client {
    let client = Client::new(bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    client
}

async fn another_offset_replaces_rows_and_keeps_what_was_sent(bed: TestBed) {
    let client = planned(&bed).await;
    let id = setting(&client, first_aid(|_| {})).await;
    put_source(&client, "document/42", document("2026-06-20")).await;
    client.advance("10d").await;
    assert_eq!(bed.sent().len(), 1);
    let date = json!({ "field": "/expiresOn", "offsetsDays": [30, 14, 1, -3], "sendTime": "09:00" });
    let plan = change(&client, &bed, &id, json!({ "date": date })).await;
    let expected = json!({ "create": 2, "deactivate": 1, "move": 0, "gap": 0, "overlap": 0, "unchanged": 2 });
    assert_eq!(plan, expected);
    let found: Vec<(String, String)> =
        rows(&client, "").await.into_iter().map(|(key, status, _)| (key, status)).collect();
    let row = |offset: i64, status: &str| {
        (format!("reminder:{id}:document:42:first-aid-expiry:2026-06-20:{offset}"), status.to_owned())
    };
    let expected = [
        row(-3, "pending"),
        row(1, "pending"),
        row(14, "pending"),
        row(30, "completed"),
        row(7, "deactivated"),
    ];
    assert_eq!(found, expected);
    client.advance("60d").await;
    assert_eq!(bed.sent().len(), 4, "thirty days before, fourteen, one, and three after");
}

async fn another_send_time_moves_the_same_rows(bed: TestBed) {
    let client = planned(&bed).await;
    let id = setting(&client, first_aid(|_| {})).await;
    put_source(&client, "document/42", document("2026-06-20")).await;
    let key = format!("reminder:{id}:document:42:first-aid-expiry:2026-06-20:7");
    let before = bed.work(&key).await;
    let date = json!({ "field": "/expiresOn", "offsetsDays": [30, 7, 1], "sendTime": "18:30" });
    let plan = change(&client, &bed, &id, json!({ "date": date })).await;
    assert_eq!((&plan["move"], &plan["create"], &plan["deactivate"]), (&json!(3), &json!(0), &json!(0)));
    let after = bed.work(&key).await;
    assert_eq!((after.id, &after.input_hash, after.on_hold), (before.id, &before.input_hash, false));
    assert_eq!(after.due_at - before.due_at, (9 * 60 + 30) * 60 * 1_000_000);
    // The whole day is left: what was due at nine and is due at half past six is moved, not late.
    client.advance("40d").await;
    assert_eq!(bed.sent()[0].at.to_string(), "2026-05-21T06:30:00Z");
    assert_eq!(bed.sent().len(), 3);
}

async fn another_template_leaves_every_row_as_it_is(bed: TestBed) {
    let client = planned(&bed).await;
    let id = setting(&client, first_aid(|body| body["delivery"]["subject"] = json!("old"))).await;
    put_source(&client, "document/42", document("2026-06-20")).await;
    let keys: Vec<String> = rows(&client, "").await.into_iter().map(|(key, ..)| key).collect();
    let mut before = Vec::new();
    for key in &keys {
        before.push(bed.work(key).await);
    }
    client.advance("1h").await;
    let delivery = json!({ "channel": "email:default", "subject": "new" });
    let recipients = json!({ "addresses": ["c@d.example"] });
    let change = json!({ "delivery": delivery, "recipients": recipients, "name": "Renamed" });
    let plan = client.post(&format!("/api/v1/reminder-settings/{id}/plan"), change.clone()).await.expect(200);
    assert_eq!((&plan["unchanged"], &plan["create"], &plan["move"]), (&json!(3), &json!(0), &json!(0)));
    client.patch(&format!("/api/v1/reminder-settings/{id}"), change).await.expect(200);
    for (key, before) in keys.iter().zip(&before) {
        assert_eq!(&bed.work(key).await, before, "the row is the same to the last byte");
    }
    client.advance("10d").await;
    let sent = bed.sent();
    assert_eq!((sent[0].subject.as_str(), sent[0].address.as_str()), ("new", "c@d.example"));
    bed.leaves_open("two more of the three");
}

async fn a_setting_switched_off_takes_back_what_it_planned(bed: TestBed) {
    let client = planned(&bed).await;
    let id = setting(&client, first_aid(|_| {})).await;
    let stays = setting(&client, first_aid(|body| body["triggerKey"] = json!("stays"))).await;
    put_source(&client, "document/42", document("2026-06-20")).await;
    client.advance("10d").await;
    let plan = change(&client, &bed, &id, json!({ "active": false })).await;
    assert_eq!((&plan["deactivate"], &plan["create"]), (&json!(2), &json!(0)));
    let reasons: Vec<String> =
        rows(&client, "&status=deactivated").await.into_iter().map(|(.., why)| why).collect();
    assert_eq!(reasons, ["ReminderSettingInactive", "ReminderSettingInactive"]);
    assert_eq!(change(&client, &bed, &id, json!({ "active": true })).await["create"], 2);
    client.delete(&format!("/api/v1/reminder-settings/{id}")).await.expect(204);
    assert_eq!(rows(&client, "&status=pending").await.len(), 2, "those of the other setting");
    client.delete(&format!("/api/v1/reminder-settings/{stays}")).await.expect(204);
    assert_eq!(rows(&client, "&status=completed").await.len(), 2, "history stays");
    client.advance("60d").await;
    assert_eq!(bed.sent().len(), 2);
}

async fn a_setting_made_later_finds_the_sources_that_are_there(bed: TestBed) {
    let client = planned(&bed).await;
    put_source(&client, "document/1", document("2026-06-20")).await;
    put_source(&client, "document/2", document("2026-05-19")).await;
    let plan = client.post("/api/v1/reminder-settings/plan", first_aid(|_| {})).await.expect(200);
    assert_eq!(plan["create"], 4);
    setting(&client, first_aid(|_| {})).await;
    assert_eq!(rows(&client, "").await.len(), 4, "what was over before the setting was made leaves no rows");
    client.advance("60d").await;
    assert_eq!(bed.sent().len(), 4);
}

async fn a_business_unit_that_changes_its_zone_takes_its_rows_along(bed: TestBed) {
    let client = planned(&bed).await;
    let id = setting(&client, first_aid(|_| {})).await;
    put_source(&client, "document/42", document("2026-06-20")).await;
    put_source(
        &client,
        "document/43",
        json!({ "state": { "kind": "first-aid", "expiresOn": "2026-06-20" } }),
    )
    .await;
    unit(&client, "nz", "Europe/Berlin").await;
    let key = |source: i64| format!("reminder:{id}:document:{source}:first-aid-expiry:2026-06-20:7");
    let row = bed.work(&key(42)).await;
    assert_eq!(row.time_zone.as_deref(), Some("Europe/Berlin"));
    assert_eq!(bed.work(&key(43)).await.time_zone.as_deref(), Some("UTC"), "others stay where they are");
    client.advance("60d").await;
    let sent: Vec<String> = bed.sent().iter().map(|sent| sent.at.to_string()).collect();
    let mornings = [
        "2026-05-21T07:00:00Z",
        "2026-05-21T09:00:00Z",
        "2026-06-13T07:00:00Z",
        "2026-06-13T09:00:00Z",
        "2026-06-19T07:00:00Z",
        "2026-06-19T09:00:00Z",
    ];
    assert_eq!(sent, mornings);
}

/// More than whoever makes a change applies themselves.
async fn many(client: &Client) {
    let items: Vec<Value> = (0..1_900)
        .map(|n| {
            let mut item = document("2026-08-20");
            item["type"] = json!("document");
            item["id"] = json!(format!("{n:05}"));
            item
        })
        .collect();
    client.post("/api/v1/sources", json!({ "items": items })).await.expect(200);
}

async fn what_a_change_has_not_come_to_yet_is_not_sent_at_its_old_moment(bed: TestBed) {
    let client = planned(&bed).await;
    many(&client).await;
    let id = setting(&client, first_aid(|body| body["date"]["offsetsDays"] = json!([1]))).await;
    bed.run_to("2026-08-18T20:59:59Z").await;
    // The very moment has come when the hour is changed.
    bed.clock.set("2026-08-18T21:00:00Z".parse().unwrap());
    let date = json!({ "field": "/expiresOn", "offsetsDays": [1], "sendTime": "15:00" });
    client.patch(&format!("/api/v1/reminder-settings/{id}"), json!({ "date": date })).await.expect(200);
    bed.tick().await;
    assert_eq!(bed.sent().len(), 0);
    bed.run_to("2026-08-19T03:00:00Z").await;
    assert_eq!(bed.sent().len(), 1_900);
    assert!(bed.sent().iter().all(|sent| sent.at.to_string() == "2026-08-19T03:00:00Z"));
}

async fn an_hour_that_changes_on_the_day_leaves_the_next_occurrence_planned(bed: TestBed) {
    let client = planned(&bed).await;
    let monthly = |hour: &str| json!({ "field": "/expiresOn", "every": "month", "sendTime": hour });
    let body = first_aid(|body| {
        body["kind"] = json!("recurring");
        body["date"] = json!(null);
        body["recurring"] = monthly("09:00");
    });
    let id = setting(&client, body).await;
    put_source(&client, "document/42", document("2026-05-20")).await;
    bed.run_to("2026-06-20T00:00:00Z").await;
    assert_eq!(bed.sent().len(), 1, "at nine of the twentieth of June there");
    client
        .patch(&format!("/api/v1/reminder-settings/{id}"), json!({ "recurring": monthly("20:00") }))
        .await
        .expect(200);
    bed.run_to("2026-08-20T08:00:00Z").await;
    let moments: Vec<String> = bed.sent().iter().map(|sent| sent.at.to_string()).collect();
    assert_eq!(moments, ["2026-06-19T21:00:00Z", "2026-07-20T08:00:00Z", "2026-08-20T08:00:00Z"]);
    bed.leaves_open("the next occurrence");
}

async fn a_change_over_many_sources_is_applied_in_batches(bed: TestBed) {
    let client = planned(&bed).await;
    many(&client).await;
    let id = setting(&client, first_aid(|body| body["date"]["offsetsDays"] = json!([1]))).await;
    let key = format!("reminder-change:setting:{id}:1");
    assert_eq!(
        bed.work(&key).await.status.as_str(),
        "pending",
        "the first batches are in, the rest is due work"
    );
    let due = async || {
        let ahead = client.get("/api/v1/forecast?from=2026-08-01&to=2026-08-31").await.expect(200);
        ahead["days"][0]["count"].as_u64().unwrap_or(0)
    };
    assert_eq!(due().await, 1_500);
    client.advance("1s").await;
    assert_eq!(bed.work(&key).await.status.as_str(), "completed");
    assert_eq!(due().await, 1_900);
    // A later change takes the place of one that is still being applied.
    let path = format!("/api/v1/reminder-settings/{id}");
    let date = json!({ "field": "/expiresOn", "offsetsDays": [2], "sendTime": "09:00" });
    client.patch(&path, json!({ "date": date })).await.expect(200);
    client.patch(&path, json!({ "active": false })).await.expect(200);
    client.advance("1s").await;
    let key = format!("reminder-change:setting:{id}:2");
    assert_eq!(bed.work(&key).await.reason_code.as_deref(), Some("superseded"));
    assert_eq!(due().await, 0);
}

/// Another zone under the same name stands for a program that knows other rules for it.
async fn r20_new_rules_of_a_zone_move_what_is_planned_and_never_what_was_sent(bed: TestBed) {
    let client = planned(&bed).await;
    let id = setting(&client, first_aid(|_| {})).await;
    put_source(&client, "document/42", document("2026-06-20")).await;
    client.advance("10d").await;
    let key = |offset: i64| format!("reminder:{id}:document:42:first-aid-expiry:2026-06-20:{offset}");
    let (sent, before) = (bed.work(&key(30)).await, bed.work(&key(7)).await);
    let mut tx = bed.begin().await;
    let unit = BusinessUnitRow {
        id: "nz".into(),
        name: "nz".into(),
        time_zone: "Pacific/Chatham".into(),
        ..BusinessUnitRow::default()
    };
    business_units::put(&mut tx.conn(), bed.now(), &unit).await.unwrap();
    tx.commit().await.unwrap();
    // No start since the unit was made: what its rows were planned by was written with the unit.
    assert_eq!(zones::check(&bed.engine).await.unwrap(), ["nz"]);
    assert!(zones::check(&bed.engine).await.unwrap().is_empty(), "it is said once");
    bed.tick().await;
    assert_eq!(before.due_at - bed.work(&key(7)).await.due_at, 45 * 60 * 1_000_000, "45 minutes earlier");
    assert_eq!(bed.work(&key(30)).await, sent, "what was sent stays as it was");
    client.advance("40d").await;
    assert_eq!(bed.sent().len(), 3);
}

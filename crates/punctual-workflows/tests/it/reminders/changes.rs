//! Changed settings: what is planned is what is applied, identity decides what is replaced, and what was sent stays.

use jiff::SignedDuration;
use punctual_model::WorkStatus;
use punctual_store::{
    business_units::{self, BusinessUnitRow},
    reminders::changes,
};
use punctual_testkit::{TestBed, on_both};
use punctual_workflows::reminders::{evaluate::Plan, zones};
use serde_json::{Value, json};

use crate::author::{Author, Which, first_aid};

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
async fn change(author: &Author, id: &str, change: Value) -> Plan {
    let plan = author.plan(id, change.clone()).await;
    author.change(id, change).await;
    let key = format!("reminder-change:setting:{id}:{}", author.stored(id).await.version);
    let done = changes::get(&mut author.bed.read().await.conn(), &key).await.unwrap().unwrap_or_default();
    let planned = [plan.create, plan.deactivate, plan.moved].map(u64::cast_signed);
    assert_eq!([done.created, done.deactivated, done.updated], planned, "{plan:?}");
    plan
}

async fn another_offset_replaces_rows_and_keeps_what_was_sent(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    let id = author.setting(first_aid(|_| {})).await;
    author.report("document/42", document("2026-06-20")).await;
    author.advance("10d").await;
    assert_eq!(bed.sent().len(), 1);
    let date = json!({ "field": "/expiresOn", "offsetsDays": [30, 14, 1, -3], "sendTime": "09:00" });
    let plan = change(&author, &id, json!({ "date": date })).await;
    assert_eq!(plan, Plan { create: 2, deactivate: 1, unchanged: 2, ..Plan::default() });
    let found: Vec<(String, String)> =
        author.rows(Which::All).await.into_iter().map(|(key, status, _)| (key, status)).collect();
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
    author.advance("60d").await;
    assert_eq!(bed.sent().len(), 4, "thirty days before, fourteen, one, and three after");
}

async fn another_send_time_moves_the_same_rows(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    let id = author.setting(first_aid(|_| {})).await;
    author.report("document/42", document("2026-06-20")).await;
    let key = format!("reminder:{id}:document:42:first-aid-expiry:2026-06-20:7");
    let before = bed.work(&key).await;
    let date = json!({ "field": "/expiresOn", "offsetsDays": [30, 7, 1], "sendTime": "18:30" });
    let plan = change(&author, &id, json!({ "date": date })).await;
    assert_eq!((plan.moved, plan.create, plan.deactivate), (3, 0, 0));
    let after = bed.work(&key).await;
    assert_eq!((after.id, &after.input_hash, after.on_hold), (before.id, &before.input_hash, false));
    assert_eq!(after.due_at.duration_since(before.due_at), SignedDuration::from_mins(9 * 60 + 30));
    // The whole day is left: what was due at nine and is due at half past six is moved, not late.
    author.advance("40d").await;
    assert_eq!(bed.sent()[0].at.to_string(), "2026-05-21T06:30:00Z");
    assert_eq!(bed.sent().len(), 3);
}

async fn another_template_leaves_every_row_as_it_is(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    let id = author.setting(first_aid(|body| body["delivery"]["subject"] = json!("old"))).await;
    author.report("document/42", document("2026-06-20")).await;
    let keys: Vec<String> = author.keys().await;
    let mut before = Vec::new();
    for key in &keys {
        before.push(bed.work(key).await);
    }
    author.advance("1h").await;
    let delivery = json!({ "channel": "email:default", "subject": "new" });
    let recipients = json!({ "addresses": ["c@d.example"] });
    let change = json!({ "delivery": delivery, "recipients": recipients, "name": "Renamed" });
    let plan = author.plan(&id, change.clone()).await;
    assert_eq!((plan.unchanged, plan.create, plan.moved), (3, 0, 0));
    author.change(&id, change).await;
    for (key, before) in keys.iter().zip(&before) {
        assert_eq!(&bed.work(key).await, before, "the row is the same to the last byte");
    }
    author.advance("10d").await;
    let sent = bed.sent();
    assert_eq!((sent[0].subject.as_str(), sent[0].address.as_str()), ("new", "c@d.example"));
    bed.leaves_open("two more of the three");
}

async fn a_setting_switched_off_takes_back_what_it_planned(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    let id = author.setting(first_aid(|_| {})).await;
    let stays = author.setting(first_aid(|body| body["triggerKey"] = json!("stays"))).await;
    author.report("document/42", document("2026-06-20")).await;
    author.advance("10d").await;
    let plan = change(&author, &id, json!({ "active": false })).await;
    assert_eq!((plan.deactivate, plan.create), (2, 0));
    let reasons: Vec<String> =
        author.rows(Which::Status(WorkStatus::Deactivated)).await.into_iter().map(|(.., why)| why).collect();
    assert_eq!(reasons, ["ReminderSettingInactive", "ReminderSettingInactive"]);
    assert_eq!(change(&author, &id, json!({ "active": true })).await.create, 2);
    author.remove(&id).await;
    assert_eq!(author.rows(Which::Status(WorkStatus::Pending)).await.len(), 2, "those of the other setting");
    author.remove(&stays).await;
    assert_eq!(author.rows(Which::Status(WorkStatus::Completed)).await.len(), 2, "history stays");
    author.advance("60d").await;
    assert_eq!(bed.sent().len(), 2);
}

async fn a_setting_made_later_finds_the_sources_that_are_there(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    author.report("document/1", document("2026-06-20")).await;
    author.report("document/2", document("2026-05-19")).await;
    let plan = author.plan_new(first_aid(|_| {})).await;
    assert_eq!(plan.create, 4);
    author.setting(first_aid(|_| {})).await;
    assert_eq!(
        author.rows(Which::All).await.len(),
        4,
        "what was over before the setting was made leaves no rows"
    );
    author.advance("60d").await;
    assert_eq!(bed.sent().len(), 4);
}

async fn a_business_unit_that_changes_its_zone_takes_its_rows_along(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    let id = author.setting(first_aid(|_| {})).await;
    author.report("document/42", document("2026-06-20")).await;
    author
        .report("document/43", json!({ "state": { "kind": "first-aid", "expiresOn": "2026-06-20" } }))
        .await;
    author.unit("nz", "Europe/Berlin").await;
    let key = |source: i64| format!("reminder:{id}:document:{source}:first-aid-expiry:2026-06-20:7");
    let row = bed.work(&key(42)).await;
    assert_eq!(row.time_zone.as_deref(), Some("Europe/Berlin"));
    assert_eq!(bed.work(&key(43)).await.time_zone.as_deref(), Some("UTC"), "others stay where they are");
    author.advance("60d").await;
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
async fn many(author: &Author) {
    let source = |n: usize| (format!("document/{n:05}"), document("2026-08-20"));
    author.report_all(&(0..1_900).map(source).collect::<Vec<_>>()).await;
}

async fn what_a_change_has_not_come_to_yet_is_not_sent_at_its_old_moment(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    many(&author).await;
    let id = author.setting(first_aid(|body| body["date"]["offsetsDays"] = json!([1]))).await;
    bed.run_to("2026-08-18T20:59:59Z").await;
    // The very moment has come when the hour is changed.
    bed.clock.set("2026-08-18T21:00:00Z".parse().unwrap());
    let date = json!({ "field": "/expiresOn", "offsetsDays": [1], "sendTime": "15:00" });
    author.change(&id, json!({ "date": date })).await;
    bed.tick().await;
    assert_eq!(bed.sent().len(), 0);
    bed.run_to("2026-08-19T03:00:00Z").await;
    assert_eq!(bed.sent().len(), 1_900);
    assert!(bed.sent().iter().all(|sent| sent.at.to_string() == "2026-08-19T03:00:00Z"));
}

async fn an_hour_that_changes_on_the_day_leaves_the_next_occurrence_planned(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    let monthly = |hour: &str| json!({ "field": "/expiresOn", "every": "month", "sendTime": hour });
    let body = first_aid(|body| {
        body["kind"] = json!("recurring");
        body["date"] = json!(null);
        body["recurring"] = monthly("09:00");
    });
    let id = author.setting(body).await;
    author.report("document/42", document("2026-05-20")).await;
    bed.run_to("2026-06-20T00:00:00Z").await;
    assert_eq!(bed.sent().len(), 1, "at nine of the twentieth of June there");
    author.change(&id, json!({ "recurring": monthly("20:00") })).await;
    bed.run_to("2026-08-20T08:00:00Z").await;
    let moments: Vec<String> = bed.sent().iter().map(|sent| sent.at.to_string()).collect();
    assert_eq!(moments, ["2026-06-19T21:00:00Z", "2026-07-20T08:00:00Z", "2026-08-20T08:00:00Z"]);
    bed.leaves_open("the next occurrence");
}

async fn a_change_over_many_sources_is_applied_in_batches(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    many(&author).await;
    let id = author.setting(first_aid(|body| body["date"]["offsetsDays"] = json!([1]))).await;
    let key = format!("reminder-change:setting:{id}:1");
    assert_eq!(
        bed.work(&key).await.status.as_str(),
        "pending",
        "the first batches are in, the rest is due work"
    );
    let due = async || author.rows(Which::Status(WorkStatus::Pending)).await.len();
    assert_eq!(due().await, 1_500);
    author.advance("1s").await;
    assert_eq!(bed.work(&key).await.status.as_str(), "completed");
    assert_eq!(due().await, 1_900);
    // A later change takes the place of one that is still being applied.
    let date = json!({ "field": "/expiresOn", "offsetsDays": [2], "sendTime": "09:00" });
    author.change(&id, json!({ "date": date })).await;
    author.change(&id, json!({ "active": false })).await;
    author.advance("1s").await;
    let key = format!("reminder-change:setting:{id}:2");
    assert_eq!(bed.work(&key).await.reason_code.as_deref(), Some("superseded"));
    assert_eq!(due().await, 0);
}

/// Another zone under the same name stands for a program that knows other rules for it.
async fn r20_new_rules_of_a_zone_move_what_is_planned_and_never_what_was_sent(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    let id = author.setting(first_aid(|_| {})).await;
    author.report("document/42", document("2026-06-20")).await;
    author.advance("10d").await;
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
    let earlier = before.due_at.duration_since(bed.work(&key(7)).await.due_at);
    assert_eq!(earlier, SignedDuration::from_mins(45));
    assert_eq!(bed.work(&key(30)).await, sent, "what was sent stays as it was");
    author.advance("40d").await;
    assert_eq!(bed.sent().len(), 3);
}

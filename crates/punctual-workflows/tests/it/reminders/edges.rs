//! Edges of reminders: what was lost, sent twice or sent although a person had stopped it.

use jiff::Timestamp;
use punctual_engine::operate::WorkAction;
use punctual_model::Reach;
use punctual_store::{
    facts,
    reminders::settings::{self, SettingRow},
    work,
};
use punctual_testkit::{TestBed, new_work, on_both};
use punctual_workflows::reminders::evaluate::input_hash;
use serde_json::{Value, json};

use crate::author::{Author, Which, document, first_aid, sent_at};

on_both! {
    s0_83_a_hold_outlives_its_source_and_only_a_person_releases_it;
    s0_82_a_cancel_ends_one_occurrence_and_never_the_chain;
    a_chain_goes_on_beside_an_occurrence_that_is_held;
    s0_64_once_per_day_met_at_night_in_quiet_hours_is_sent_in_the_morning;
    s0_67_a_send_time_moved_before_now_on_the_day_sends_at_once;
    s0_26_a_date_given_as_an_instant_keeps_its_key_in_another_zone;
    a_row_under_the_key_of_an_earlier_version_is_neither_doubled_nor_lost;
    s0_63_a_threshold_whose_comparison_changed_fires_anew;
    s0_63_a_threshold_that_fired_before_the_upgrade_stays_quiet;
    s0_61_the_rules_of_a_zone_are_remembered_with_each_unit;
}

async fn held(bed: &TestBed, key: &str) -> i64 {
    bed.changes_rows_itself("the hold comes from the test");
    let row = bed.work(key).await;
    let mut tx = bed.begin().await;
    work::put_on_hold_as_conflict(&mut tx.conn(), bed.now(), vec![row.id]).await.unwrap();
    tx.commit().await.unwrap();
    row.id
}

fn inactive(mut body: Value) -> Value {
    body["active"] = json!(false);
    body
}

async fn s0_83_a_hold_outlives_its_source_and_only_a_person_releases_it(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    let id = author.setting(first_aid(|body| body["date"]["offsetsDays"] = json!([7]))).await;
    author.report("document/42", document("2026-06-20")).await;
    let key = format!("reminder:{id}:document:42:first-aid-expiry:2026-06-20:7");
    let row = held(&bed, &key).await;
    author.report("document/42", inactive(document("2026-06-20"))).await;
    let ended = bed.work(&key).await;
    assert_eq!((ended.status.as_str(), ended.on_hold), ("deactivated", true));
    let waiting = bed.engine.attention(&Reach::Everything, 10).await.unwrap();
    assert!(waiting.items.is_empty(), "a row that has ended waits for nobody");
    // The setting off and on, and the source deleted and back: still the same hold, with its reason.
    author.report("document/42", document("2026-06-20")).await;
    for active in [false, true] {
        author.change(&id, json!({ "active": active })).await;
        bed.tick().await;
    }
    author.report_gone("document/42").await;
    author.report("document/42", document("2026-06-20")).await;
    let back = bed.work(&key).await;
    assert_eq!(
        (back.status.as_str(), back.on_hold, back.reason_code.as_deref()),
        ("pending", true, Some("input-conflict"))
    );
    author.advance("28d").await;
    assert!(bed.sent().is_empty(), "held is held");
    author.advance("1d").await;
    author.act(WorkAction::Release, row).await;
    author.advance("1d").await;
    assert_eq!(bed.sent().len(), 1);
}

/// A setting for an anniversary that comes every month.
fn monthly(body: &mut Value) {
    body["sourceType"] = json!("person");
    body["triggerKey"] = json!("months");
    body["kind"] = json!("recurring");
    body["date"] = json!(null);
    body["filter"] = json!(null);
    body["recurring"] = json!({ "field": "/hiredOn", "every": "month", "sendTime": "09:00" });
}

async fn s0_82_a_cancel_ends_one_occurrence_and_never_the_chain(bed: TestBed) {
    let author = Author::new(&bed);
    author.unit("nz", "UTC").await;
    let id = author.setting(first_aid(monthly)).await;
    let person = json!({ "businessUnit": "nz", "state": { "hiredOn": "2026-01-20" } });
    author.report("person/7", person.clone()).await;
    let key = |date: &str| format!("reminder:{id}:person:7:months:recurring:{date}");
    for date in ["2026-05-20", "2026-06-20"] {
        let row = bed.work(&key(date)).await;
        author.act(WorkAction::Cancel, row.id).await;
        bed.tick().await;
        assert_eq!(bed.work(&key(date)).await.status.as_str(), "cancelled");
    }
    // What is put about the source meanwhile neither revives them nor takes the next one back.
    author.report("person/7", person).await;
    let found: Vec<(String, String)> =
        author.rows(Which::All).await.into_iter().map(|(key, status, _)| (key, status)).collect();
    let expected = [("2026-05-20", "cancelled"), ("2026-06-20", "cancelled"), ("2026-07-20", "pending")];
    assert_eq!(found, expected.map(|(date, status)| (key(date), status.to_owned())));
    // Another hour moves the one that is planned.
    let recurring = json!({ "field": "/hiredOn", "every": "month", "sendTime": "07:00" });
    author.change(&id, json!({ "recurring": recurring })).await;
    author.advance("100d").await;
    assert_eq!(sent_at(&bed), ["2026-07-20T07:00:00Z", "2026-08-20T07:00:00Z"]);
    bed.leaves_open("the next one");
}

async fn a_chain_goes_on_beside_an_occurrence_that_is_held(bed: TestBed) {
    let author = Author::new(&bed);
    author.unit("nz", "UTC").await;
    let id = author.setting(first_aid(monthly)).await;
    let person = json!({ "businessUnit": "nz", "state": { "hiredOn": "2026-01-20" } });
    author.report("person/7", person.clone()).await;
    let key = |date: &str| format!("reminder:{id}:person:7:months:recurring:{date}");
    held(&bed, &key("2026-05-20")).await;
    author.report("person/7", person).await;
    author.advance("40d").await;
    assert_eq!(sent_at(&bed), ["2026-06-20T09:00:00Z"]);
    assert_eq!(bed.work(&key("2026-05-20")).await.status.as_str(), "pending");
    bed.leaves_open("a held row, and the next one");
}

async fn s0_64_once_per_day_met_at_night_in_quiet_hours_is_sent_in_the_morning(bed: TestBed) {
    let author = Author::new(&bed);
    author.unit("nz", "UTC").await;
    let id = author.setting(first_aid(|body| {
        body["sourceType"] = json!("class");
        body["kind"] = json!("threshold");
        body["date"] = json!(null);
        body["filter"] = json!(null);
        body["delivery"]["quietHours"] = json!({ "from": "22:00", "to": "07:00" });
        body["threshold"] = json!({ "metric": { "field": "/booked" }, "op": ">=", "value": 9, "firingPolicy": "OncePerDay" });
    }))
    .await;
    let class = |booked: i64| json!({ "businessUnit": "nz", "state": { "booked": booked } });
    bed.run_to("2026-05-14T23:50:00Z").await;
    author.report("class/1", class(9)).await;
    bed.run_to("2026-05-15T00:10:00Z").await;
    author.report("class/1", class(10)).await;
    bed.run_to("2026-05-15T07:00:00Z").await;
    bed.tick().await;
    let key = |day: &str| {
        format!("reminder:{id}:class:1:first-aid-expiry:threshold:/booked:9:OncePerDay:all@{day}")
    };
    for day in ["2026-05-14", "2026-05-15"] {
        assert_eq!(bed.work(&key(day)).await.status.as_str(), "completed", "{day}");
    }
    assert_eq!(sent_at(&bed), ["2026-05-15T07:00:00Z", "2026-05-15T07:00:00Z"]);
}

async fn s0_67_a_send_time_moved_before_now_on_the_day_sends_at_once(bed: TestBed) {
    let author = Author::new(&bed);
    author.unit("nz", "UTC").await;
    let id = author
        .setting(first_aid(|body| {
            body["date"] = json!({ "field": "/expiresOn", "offsetsDays": [7], "sendTime": "15:00" });
            body["maxLateness"] = json!("1h");
        }))
        .await;
    author.report("document/42", document("2026-05-27")).await;
    bed.run_to("2026-05-20T11:00:00Z").await;
    let date = json!({ "field": "/expiresOn", "offsetsDays": [7], "sendTime": "08:00" });
    author.change(&id, json!({ "date": date })).await;
    // Put again before it is sent: the row stays.
    author.report("document/42", document("2026-05-27")).await;
    bed.tick().await;
    assert_eq!(sent_at(&bed), ["2026-05-20T11:00:00Z"]);
    // What a stopped server missed is late, however its hour is changed afterwards.
    author.report("document/43", document("2026-06-27")).await;
    bed.wait(40 * 86_400);
    let date = json!({ "field": "/expiresOn", "offsetsDays": [7], "sendTime": "07:00" });
    author.change(&id, json!({ "date": date })).await;
    bed.tick().await;
    assert_eq!(bed.sent().len(), 1);
}

async fn s0_26_a_date_given_as_an_instant_keeps_its_key_in_another_zone(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    let id = author
        .setting(first_aid(|body| {
            body["date"]["offsetsDays"] = json!([7, 1]);
            body["delivery"]["template"] = json!("ends");
        }))
        .await;
    let text = json!({ "subject": "x", "body": "ends {{ reminder.targetDate }}" });
    bed.template("ends", "en", json!({ "en": text })).await;
    author.report("document/42", document("2026-06-19T22:00:00Z")).await;
    // In Auckland that is 20 June.
    bed.run_to("2026-06-12T21:00:00Z").await;
    bed.tick().await;
    assert_eq!(sent_at(&bed), ["2026-06-12T21:00:00Z"]);
    assert_eq!(bed.sent()[0].body, "ends 2026-06-20");
    author.unit("nz", "America/New_York").await;
    author.advance("20d").await;
    // In New York it is 19 June: the second one a day earlier, and the first one not again.
    assert_eq!(sent_at(&bed), ["2026-06-12T21:00:00Z", "2026-06-18T13:00:00Z"]);
    assert_eq!(author.rows(Which::All).await.len(), 2);
    assert!(
        author.rows(Which::All).await.iter().all(|(key, ..)| key.starts_with(&format!("reminder:{id}:")))
    );
}

async fn a_row_under_the_key_of_an_earlier_version_is_neither_doubled_nor_lost(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    let id = author.setting(first_aid(|body| body["date"]["offsetsDays"] = json!([7]))).await;
    // As an earlier version planned it: by the local date of the instant.
    let key = format!("reminder:{id}:document:42:first-aid-expiry:2026-06-20:7");
    let at = "2026-06-12T21:00:00Z".parse().unwrap();
    let mut row = new_work("reminder", &key, at);
    row.source = Some(("document".into(), "42".into()));
    row.setting_id = Some(id.clone());
    row.business_unit = Some("nz".into());
    row.local = Some(("2026-06-13".into(), "Pacific/Auckland".into()));
    row.input_hash = input_hash(&row.key, Some("nz"));
    author.report("document/42", json!({ "businessUnit": "nz", "state": {} })).await;
    bed.ensure_one(row).await;
    assert_eq!(author.report("document/42", document("2026-06-19T22:00:00Z")).await[3], 1);
    author.advance("30d").await;
    assert_eq!(sent_at(&bed), ["2026-06-12T21:00:00Z"]);
    assert_eq!(author.report("document/42", document("2026-06-19T22:00:00Z")).await[3], 1);
    author.advance("30d").await;
    assert_eq!(bed.sent().len(), 1);
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

async fn shelf(author: &Author, stock: i64) {
    author.report("shelf/1", json!({ "state": { "stock": stock } })).await;
    author.advance("1m").await;
}

async fn s0_63_a_threshold_whose_comparison_changed_fires_anew(bed: TestBed) {
    let author = Author::new(&bed);
    let id = author.setting(stock(">=")).await;
    shelf(&author, 12).await;
    assert_eq!(bed.sent().len(), 1);
    let threshold = |op: &str| json!({ "threshold": stock(op)["threshold"] });
    author.change(&id, threshold("<=")).await;
    shelf(&author, 5).await;
    assert_eq!(bed.sent().len(), 2, "too little is not too much");
    // Back to what it was: that was sent once for this value.
    author.change(&id, threshold(">=")).await;
    shelf(&author, 12).await;
    assert_eq!(bed.sent().len(), 2);
    let mut keys: Vec<String> = author.keys().await;
    keys.sort();
    let key =
        |metric: &str| format!("reminder:{id}:shelf:1:stock:threshold:{metric}:10:OncePerThreshold:all");
    assert_eq!(keys, [key("/stock"), key("/stock<=")]);
}

async fn s0_63_a_threshold_that_fired_before_the_upgrade_stays_quiet(bed: TestBed) {
    let author = Author::new(&bed);
    // As the migration leaves a setting that was there: measured against what it compares now.
    let id = "0193f0a0-0000-7000-8000-000000000001";
    let definition = stock("<=");
    let row = SettingRow {
        id: id.into(),
        name: "Stock".into(),
        business_unit: None,
        source_type: "shelf".into(),
        child_type: None,
        kind: "threshold".into(),
        active: true,
        deleted: false,
        definition: definition.to_string(),
        key_base: Some(definition["threshold"].to_string()),
        version: 1,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
    };
    let mut tx = bed.begin().await;
    settings::insert(&mut tx.conn(), bed.now(), &row).await.unwrap();
    tx.commit().await.unwrap();
    shelf(&author, 5).await;
    let key =
        |metric: &str| format!("reminder:{id}:shelf:1:stock:threshold:{metric}:10:OncePerThreshold:all");
    assert_eq!(bed.work(&key("/stock")).await.status.as_str(), "completed");
    shelf(&author, 20).await;
    shelf(&author, 4).await;
    assert_eq!(bed.sent().len(), 1);
    let changed = json!({ "threshold": stock(">=")["threshold"] });
    author.change(id, changed).await;
    shelf(&author, 20).await;
    assert_eq!(bed.work(&key("/stock>=")).await.status.as_str(), "completed");
}

async fn s0_61_the_rules_of_a_zone_are_remembered_with_each_unit(bed: TestBed) {
    let author = Author::new(&bed);
    let rules = async || {
        let mut reader = bed.store.read().await.unwrap();
        facts::get(&mut reader.conn(), "reminders.zone.nz").await.unwrap()
    };
    // Made while the server runs: the next start has something to compare with.
    author.unit("nz", "Pacific/Auckland").await;
    let first = rules().await;
    assert!(first.is_some());
    author.unit("nz", "Europe/Berlin").await;
    assert_ne!(rules().await, first);
    bed.tick().await;
}

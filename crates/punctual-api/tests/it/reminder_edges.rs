//! Edges of reminders: what was lost, sent twice or sent although a person had stopped it.

use punctual_store::{
    facts,
    reminders::settings::{self, SettingRow},
    work,
};
use punctual_testkit::{TestBed, new_work, on_both};
use punctual_workflows::reminders::evaluate::input_hash;
use serde_json::{Value, json};

use crate::{
    client::Client,
    reminders::{document, first_aid, put_source, rows, sent_at, setting, unit},
};

on_both! {
    s0_81_no_input_of_a_reminder_reaches_into_another_unit;
    s0_83_a_hold_outlives_its_source_and_only_a_person_releases_it;
    s0_82_a_cancel_ends_one_occurrence_and_never_the_chain;
    a_chain_goes_on_beside_an_occurrence_that_is_held;
    s0_64_once_per_day_met_at_night_in_quiet_hours_is_sent_in_the_morning;
    s0_67_a_send_time_moved_before_now_on_the_day_sends_at_once;
    s0_26_a_date_given_as_an_instant_keeps_its_key_in_another_zone;
    a_row_under_the_key_of_an_earlier_version_is_neither_doubled_nor_lost;
    s0_63_a_threshold_whose_comparison_changed_fires_anew;
    s0_63_a_threshold_that_fired_before_the_upgrade_stays_quiet;
    s0_31_a_key_that_would_be_too_long_is_refused_or_seen;
    s0_61_the_rules_of_a_zone_are_remembered_with_each_unit;
}

/// The four inputs that a reminder has beside its own source, each once of another unit and once of its own.
async fn s0_81_no_input_of_a_reminder_reaches_into_another_unit(bed: TestBed) {
    let client = Client::new(&bed).await;
    for (name, zone) in [("nz", "UTC"), ("de", "UTC")] {
        unit(&client, name, zone).await;
    }
    let of_nz = |key: &str, change: &dyn Fn(&mut Value)| {
        first_aid(|body| {
            body["businessUnit"] = json!("nz");
            body["sourceType"] = json!(key);
            body["triggerKey"] = json!(key);
            body["filter"] = json!(null);
            body["date"]["offsetsDays"] = json!([1]);
            body["delivery"] = json!({ "channel": "memory:default" });
            change(body);
        })
    };
    let measured = |metric: Value| {
        move |body: &mut Value| {
            body["kind"] = json!("threshold");
            body["date"] = json!(null);
            body["recipients"] = json!({ "addresses": ["x"] });
            body["threshold"] =
                json!({ "metric": metric, "op": ">=", "value": 3, "firingPolicy": "FalseToTrue" });
        }
    };
    let children = json!({ "sourceType": "child", "parentField": "/parent" });
    let mut added = children.clone();
    added["field"] = json!("/amount");
    let by_list = |body: &mut Value| {
        body["recipients"] = json!({ "list": "ops" });
        body["delivery"] = json!({});
    };
    let by_lookup = |body: &mut Value| {
        body["recipients"] =
            json!({ "lookup": { "sourceType": "person", "idField": "/owner", "field": "/email" } });
    };
    setting(&client, of_nz("lookup", &by_lookup)).await;
    setting(&client, of_nz("list", &by_list)).await;
    setting(&client, of_nz("count", &measured(json!({ "count": children })))).await;
    setting(&client, of_nz("sum", &measured(json!({ "sum": added })))).await;
    // Whatever they name belongs to `de` at first.
    let has = async |unit: &str| {
        let list = json!({ "type": "memory", "targets": [format!("list-of-{unit}")], "businessUnit": unit });
        client
            .put(&format!("/api/v1/lists/ops{}", if unit == "de" { "" } else { "-own" }), list)
            .await
            .expect(200);
        let person = json!({ "businessUnit": unit, "state": { "email": format!("person-of-{unit}") } });
        put_source(&client, &format!("person/{unit}"), person).await;
        for n in 0..3 {
            let state = json!({ "parent": "1", "amount": 2 });
            put_source(
                &client,
                &format!("child/{unit}-{n}"),
                json!({ "businessUnit": unit, "state": state }),
            )
            .await;
        }
    };
    has("de").await;
    for source in ["lookup", "list", "count", "sum"] {
        let state = json!({ "expiresOn": "2026-05-20", "owner": "de" });
        put_source(&client, &format!("{source}/1"), json!({ "businessUnit": "nz", "state": state })).await;
    }
    client.advance("10d").await;
    assert!(bed.sent().is_empty(), "{:?}", bed.sent_to());
    // The same of its own unit is found.
    has("nz").await;
    let own_list = |body: &mut Value| {
        by_list(body);
        body["triggerKey"] = json!("own-list");
        body["recipients"] = json!({ "list": "ops-own" });
    };
    setting(&client, of_nz("list", &own_list)).await;
    for source in ["lookup", "list"] {
        let state = json!({ "expiresOn": "2026-06-20", "owner": "nz" });
        put_source(&client, &format!("{source}/2"), json!({ "businessUnit": "nz", "state": state })).await;
    }
    client.advance("40d").await;
    let mut reached = bed.sent_to();
    reached.sort();
    assert_eq!(reached, ["list-of-nz", "person-of-nz", "x", "x"]);
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
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    let id = setting(&client, first_aid(|body| body["date"]["offsetsDays"] = json!([7]))).await;
    put_source(&client, "document/42", document("2026-06-20")).await;
    let key = format!("reminder:{id}:document:42:first-aid-expiry:2026-06-20:7");
    let row = held(&bed, &key).await;
    put_source(&client, "document/42", inactive(document("2026-06-20"))).await;
    let ended = bed.work(&key).await;
    assert_eq!((ended.status.as_str(), ended.on_hold), ("deactivated", true));
    let waiting = client.get("/api/v1/attention").await.expect(200);
    assert_eq!(waiting["items"], json!([]), "a row that has ended waits for nobody");
    // The setting off and on, and the source deleted and back: still the same hold, with its reason.
    put_source(&client, "document/42", document("2026-06-20")).await;
    let path = format!("/api/v1/reminder-settings/{id}");
    for active in [false, true] {
        client.patch(&path, json!({ "active": active })).await.expect(200);
        bed.tick().await;
    }
    client.delete("/api/v1/sources/document/42").await.expect(204);
    put_source(&client, "document/42", document("2026-06-20")).await;
    let back = bed.work(&key).await;
    assert_eq!(
        (back.status.as_str(), back.on_hold, back.reason_code.as_deref()),
        ("pending", true, Some("input-conflict"))
    );
    client.advance("28d").await;
    assert!(bed.sent().is_empty(), "held is held");
    client.advance("1d").await;
    client.post(&format!("/api/v1/work/{row}/release"), json!({})).await.expect(200);
    client.advance("1d").await;
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
    let client = Client::new(&bed).await;
    unit(&client, "nz", "UTC").await;
    let id = setting(&client, first_aid(monthly)).await;
    let person = json!({ "businessUnit": "nz", "state": { "hiredOn": "2026-01-20" } });
    put_source(&client, "person/7", person.clone()).await;
    let key = |date: &str| format!("reminder:{id}:person:7:months:recurring:{date}");
    for date in ["2026-05-20", "2026-06-20"] {
        let row = bed.work(&key(date)).await;
        client.post(&format!("/api/v1/work/{}/cancel", row.id), json!({})).await.expect(200);
        bed.tick().await;
        assert_eq!(bed.work(&key(date)).await.status.as_str(), "cancelled");
    }
    // What is put about the source meanwhile neither revives them nor takes the next one back.
    put_source(&client, "person/7", person).await;
    let found: Vec<(String, String)> =
        rows(&client, "").await.into_iter().map(|(key, status, _)| (key, status)).collect();
    let expected = [("2026-05-20", "cancelled"), ("2026-06-20", "cancelled"), ("2026-07-20", "pending")];
    assert_eq!(found, expected.map(|(date, status)| (key(date), status.to_owned())));
    // Another hour moves the one that is planned.
    let recurring = json!({ "field": "/hiredOn", "every": "month", "sendTime": "07:00" });
    client
        .patch(&format!("/api/v1/reminder-settings/{id}"), json!({ "recurring": recurring }))
        .await
        .expect(200);
    client.advance("100d").await;
    assert_eq!(sent_at(&bed), ["2026-07-20T07:00:00Z", "2026-08-20T07:00:00Z"]);
    bed.leaves_open("the next one");
}

async fn a_chain_goes_on_beside_an_occurrence_that_is_held(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "UTC").await;
    let id = setting(&client, first_aid(monthly)).await;
    let person = json!({ "businessUnit": "nz", "state": { "hiredOn": "2026-01-20" } });
    put_source(&client, "person/7", person.clone()).await;
    let key = |date: &str| format!("reminder:{id}:person:7:months:recurring:{date}");
    held(&bed, &key("2026-05-20")).await;
    put_source(&client, "person/7", person).await;
    client.advance("40d").await;
    assert_eq!(sent_at(&bed), ["2026-06-20T09:00:00Z"]);
    assert_eq!(bed.work(&key("2026-05-20")).await.status.as_str(), "pending");
    bed.leaves_open("a held row, and the next one");
}

async fn s0_64_once_per_day_met_at_night_in_quiet_hours_is_sent_in_the_morning(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "UTC").await;
    let id = setting(&client, first_aid(|body| {
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
    put_source(&client, "class/1", class(9)).await;
    bed.run_to("2026-05-15T00:10:00Z").await;
    put_source(&client, "class/1", class(10)).await;
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
    let client = Client::new(&bed).await;
    unit(&client, "nz", "UTC").await;
    let id = setting(
        &client,
        first_aid(|body| {
            body["date"] = json!({ "field": "/expiresOn", "offsetsDays": [7], "sendTime": "15:00" });
            body["maxLateness"] = json!("1h");
        }),
    )
    .await;
    put_source(&client, "document/42", document("2026-05-27")).await;
    bed.run_to("2026-05-20T11:00:00Z").await;
    let date = json!({ "field": "/expiresOn", "offsetsDays": [7], "sendTime": "08:00" });
    client.patch(&format!("/api/v1/reminder-settings/{id}"), json!({ "date": date })).await.expect(200);
    // Put again before it is sent: the row stays.
    put_source(&client, "document/42", document("2026-05-27")).await;
    bed.tick().await;
    assert_eq!(sent_at(&bed), ["2026-05-20T11:00:00Z"]);
    // What a stopped server missed is late, however its hour is changed afterwards.
    put_source(&client, "document/43", document("2026-06-27")).await;
    bed.wait(40 * 86_400);
    let date = json!({ "field": "/expiresOn", "offsetsDays": [7], "sendTime": "07:00" });
    client.patch(&format!("/api/v1/reminder-settings/{id}"), json!({ "date": date })).await.expect(200);
    bed.tick().await;
    assert_eq!(bed.sent().len(), 1);
}

async fn s0_26_a_date_given_as_an_instant_keeps_its_key_in_another_zone(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    let id = setting(
        &client,
        first_aid(|body| {
            body["date"]["offsetsDays"] = json!([7, 1]);
            body["delivery"]["template"] = json!("ends");
        }),
    )
    .await;
    let text = json!({ "subject": "x", "body": "ends {{ reminder.targetDate }}" });
    let text = json!({ "defaultLocale": "en", "variants": { "en": text } });
    client.put("/api/v1/templates/ends", text).await.expect(200);
    put_source(&client, "document/42", document("2026-06-19T22:00:00Z")).await;
    // In Auckland that is 20 June.
    bed.run_to("2026-06-12T21:00:00Z").await;
    bed.tick().await;
    assert_eq!(sent_at(&bed), ["2026-06-12T21:00:00Z"]);
    assert_eq!(bed.sent()[0].body, "ends 2026-06-20");
    unit(&client, "nz", "America/New_York").await;
    client.advance("20d").await;
    // In New York it is 19 June: the second one a day earlier, and the first one not again.
    assert_eq!(sent_at(&bed), ["2026-06-12T21:00:00Z", "2026-06-18T13:00:00Z"]);
    assert_eq!(rows(&client, "").await.len(), 2);
    assert!(rows(&client, "").await.iter().all(|(key, ..)| key.starts_with(&format!("reminder:{id}:"))));
}

async fn a_row_under_the_key_of_an_earlier_version_is_neither_doubled_nor_lost(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    let id = setting(&client, first_aid(|body| body["date"]["offsetsDays"] = json!([7]))).await;
    // As an earlier version planned it: by the local date of the instant.
    let key = format!("reminder:{id}:document:42:first-aid-expiry:2026-06-20:7");
    let at = "2026-06-12T21:00:00Z".parse().unwrap();
    let mut row = new_work("reminder", &key, at);
    row.source = Some(("document".into(), "42".into()));
    row.setting_id = Some(id.clone());
    row.business_unit = Some("nz".into());
    row.local = Some(("2026-06-13".into(), "Pacific/Auckland".into()));
    row.input_hash = input_hash(&row.key, Some("nz"));
    put_source(&client, "document/42", json!({ "businessUnit": "nz", "state": {} })).await;
    bed.ensure_one(row).await;
    assert_eq!(put_source(&client, "document/42", document("2026-06-19T22:00:00Z")).await["unchanged"], 1);
    client.advance("30d").await;
    assert_eq!(sent_at(&bed), ["2026-06-12T21:00:00Z"]);
    assert_eq!(put_source(&client, "document/42", document("2026-06-19T22:00:00Z")).await["unchanged"], 1);
    client.advance("30d").await;
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

async fn shelf(client: &Client, stock: i64) {
    put_source(client, "shelf/1", json!({ "state": { "stock": stock } })).await;
    client.advance("1m").await;
}

async fn s0_63_a_threshold_whose_comparison_changed_fires_anew(bed: TestBed) {
    let client = Client::new(&bed).await;
    let id = setting(&client, stock(">=")).await;
    shelf(&client, 12).await;
    assert_eq!(bed.sent().len(), 1);
    let path = format!("/api/v1/reminder-settings/{id}");
    let threshold = |op: &str| json!({ "threshold": stock(op)["threshold"] });
    client.patch(&path, threshold("<=")).await.expect(200);
    shelf(&client, 5).await;
    assert_eq!(bed.sent().len(), 2, "too little is not too much");
    // Back to what it was: that was sent once for this value.
    client.patch(&path, threshold(">=")).await.expect(200);
    shelf(&client, 12).await;
    assert_eq!(bed.sent().len(), 2);
    let mut keys: Vec<String> = rows(&client, "").await.into_iter().map(|(key, ..)| key).collect();
    keys.sort();
    let key =
        |metric: &str| format!("reminder:{id}:shelf:1:stock:threshold:{metric}:10:OncePerThreshold:all");
    assert_eq!(keys, [key("/stock"), key("/stock<=")]);
}

async fn s0_63_a_threshold_that_fired_before_the_upgrade_stays_quiet(bed: TestBed) {
    let client = Client::new(&bed).await;
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
        created_at: 0,
        updated_at: 0,
    };
    let mut tx = bed.begin().await;
    settings::insert(&mut tx.conn(), bed.now(), &row).await.unwrap();
    tx.commit().await.unwrap();
    shelf(&client, 5).await;
    let key =
        |metric: &str| format!("reminder:{id}:shelf:1:stock:threshold:{metric}:10:OncePerThreshold:all");
    assert_eq!(bed.work(&key("/stock")).await.status.as_str(), "completed");
    shelf(&client, 20).await;
    shelf(&client, 4).await;
    assert_eq!(bed.sent().len(), 1);
    let changed = json!({ "threshold": stock(">=")["threshold"] });
    client.patch(&format!("/api/v1/reminder-settings/{id}"), changed).await.expect(200);
    shelf(&client, 20).await;
    assert_eq!(bed.work(&key("/stock>=")).await.status.as_str(), "completed");
}

async fn s0_31_a_key_that_would_be_too_long_is_refused_or_seen(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "UTC").await;
    // Too long for every source: refused where it is written, by the part that is the longest.
    let mut long = stock(">=");
    long["threshold"]["metric"] = json!({ "field": format!("/{}", "a".repeat(400)) });
    let problem = client.post("/api/v1/reminder-settings", long).await.refused(422, "key_invalid");
    assert_eq!(problem["errors"][0]["pointer"], "/threshold/metric");
    // Too long for one source: a failed row that says so, for every kind of trigger, also when a setting is made later.
    // A colon has three bytes in a key.
    let (kind, trigger) = ("k".repeat(100), "t".repeat(60));
    let path = format!("/api/v1/sources/{kind}/{}", "%3A".repeat(110));
    let state = json!({ "kind": "first-aid", "expiresOn": "2026-06-20", "stock": 12 });
    let source = json!({ "businessUnit": "nz", "state": state });
    client.put(&path, source.clone()).await.expect(200);
    let own = |mut body: Value| {
        body["sourceType"] = json!(kind);
        body["triggerKey"] = json!(trigger);
        body["filter"] = json!(null);
        body
    };
    setting(&client, own(first_aid(|body| body["date"]["offsetsDays"] = json!([7])))).await;
    setting(&client, own(stock(">="))).await;
    let yearly = |body: &mut Value| {
        body["kind"] = json!("recurring");
        body["date"] = json!(null);
        body["recurring"] = json!({ "field": "/expiresOn", "every": "year", "sendTime": "09:00" });
    };
    setting(&client, own(first_aid(yearly))).await;
    let failed = rows(&client, "&status=failed").await;
    assert_eq!(failed.len(), 3, "{failed:?}");
    assert!(failed.iter().all(|(.., reason)| reason == "key-too-long"), "{failed:?}");
    // Put again there is no second row; gone with its source.
    client.put(&path, source).await.expect(200);
    assert_eq!(rows(&client, "").await.len(), 3);
    client.delete(&path).await.expect(204);
    assert!(rows(&client, "&status=failed").await.is_empty());
}

async fn s0_61_the_rules_of_a_zone_are_remembered_with_each_unit(bed: TestBed) {
    let client = Client::new(&bed).await;
    let rules = async || {
        let mut reader = bed.store.read().await.unwrap();
        facts::get(&mut reader.conn(), "reminders.zone.nz").await.unwrap()
    };
    // Made while the server runs: the next start has something to compare with.
    unit(&client, "nz", "Pacific/Auckland").await;
    let first = rules().await;
    assert!(first.is_some());
    unit(&client, "nz", "Europe/Berlin").await;
    assert_ne!(rules().await, first);
    bed.tick().await;
}

//! A source that moves to another business unit takes along what is planned for it: the same rows, in another zone and for
//! other eyes. What was sent stays where it was sent from.

use punctual_store::work;
use punctual_testkit::{TestBed, new_work_with, on_both};
use serde_json::{Value, json};

use crate::{
    client::Client,
    reminders::{first_aid, put_source, rows, sent_at, setting, unit},
};

on_both! {
    what_is_planned_goes_along_and_what_was_sent_stays;
    a_setting_of_the_old_unit_lets_go_and_comes_back;
    a_row_that_was_held_meanwhile_goes_along_when_it_is_released;
    a_row_that_was_being_worked_on_goes_along_and_is_not_sent_twice;
    what_was_made_from_something_else_stays_a_conflict;
    t11_what_has_moved_is_neither_repeated_nor_named_in_the_old_unit;
}

fn document(unit: &str) -> Value {
    json!({ "businessUnit": unit, "state": { "kind": "first-aid", "expiresOn": "2026-07-20" } })
}

async fn with_units(bed: &TestBed) -> Client {
    let client = Client::new(bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    unit(&client, "de", "Europe/Berlin").await;
    client
}

fn key(setting: &str, offset: i64) -> String {
    format!("reminder:{setting}:document:42:first-aid-expiry:2026-07-20:{offset}")
}

async fn what_is_planned_goes_along_and_what_was_sent_stays(bed: TestBed) {
    let client = with_units(&bed).await;
    let id = setting(&client, first_aid(|_| {})).await;
    put_source(&client, "document/42", document("nz")).await;
    client.advance("40d").await;
    assert_eq!(sent_at(&bed), ["2026-06-19T21:00:00Z"]);
    let work = put_source(&client, "document/42", document("de")).await;
    assert_eq!(work, json!({ "created": 0, "updated": 2, "deactivated": 0, "unchanged": 1 }));
    let (sent, planned) = (bed.work(&key(&id, 30)).await, bed.work(&key(&id, 7)).await);
    assert_eq!((sent.status.as_str(), sent.business_unit.as_deref()), ("completed", Some("nz")));
    assert_eq!((planned.on_hold, planned.business_unit.as_deref()), (false, Some("de")));
    assert_eq!(planned.time_zone.as_deref(), Some("Europe/Berlin"));
    assert_eq!(bed.audit("work", &planned.id.to_string()).await, ["transfer:business-unit-changed"]);
    let ours = client.new_key(&["read"], Some(&["nz"])).await;
    let theirs = client.new_key(&["read"], Some(&["de"])).await;
    assert_eq!((rows(&ours, "").await.len(), rows(&theirs, "").await.len()), (1, 2));
    client.advance("40d").await;
    let mornings = ["2026-06-19T21:00:00Z", "2026-07-13T07:00:00Z", "2026-07-19T07:00:00Z"];
    assert_eq!(sent_at(&bed), mornings, "each once, and on German mornings from now on");
    // Put again, or taken back to where it came from: nothing is sent again.
    put_source(&client, "document/42", document("nz")).await;
    client.advance("40d").await;
    assert_eq!(bed.sent().len(), 3);
}

async fn a_setting_of_the_old_unit_lets_go_and_comes_back(bed: TestBed) {
    let client = with_units(&bed).await;
    let id = setting(&client, first_aid(|body| body["businessUnit"] = json!("nz"))).await;
    put_source(&client, "document/42", document("nz")).await;
    assert_eq!(put_source(&client, "document/42", document("de")).await["deactivated"], 3);
    let row = bed.work(&key(&id, 7)).await;
    assert_eq!(
        (row.status.as_str(), row.reason_code.as_deref(), row.business_unit.as_deref()),
        ("deactivated", Some("other-business-unit"), Some("nz"))
    );
    assert_eq!(put_source(&client, "document/42", document("nz")).await["updated"], 3);
    put_source(&client, "document/42", document("de")).await;
    client.advance("100d").await;
    assert!(bed.sent().is_empty());
}

async fn a_row_that_was_held_meanwhile_goes_along_when_it_is_released(bed: TestBed) {
    let client = with_units(&bed).await;
    let id = setting(&client, first_aid(|body| body["date"]["offsetsDays"] = json!([7]))).await;
    put_source(&client, "document/42", document("nz")).await;
    let row = bed.work(&key(&id, 7)).await;
    let mut tx = bed.begin().await;
    work::put_on_hold_as_conflict(&mut tx.conn(), bed.now(), vec![row.id]).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(put_source(&client, "document/42", document("de")).await["unchanged"], 1);
    client.advance("59d").await;
    client.post(&format!("/api/v1/work/{}/release", row.id), json!({})).await.expect(200);
    client.advance("3d").await;
    assert_eq!(sent_at(&bed), ["2026-07-13T07:00:00Z"]);
    let row = bed.work(&key(&id, 7)).await;
    assert_eq!((row.status.as_str(), row.business_unit.as_deref()), ("completed", Some("de")));
}

async fn a_row_that_was_being_worked_on_goes_along_and_is_not_sent_twice(bed: TestBed) {
    let client = with_units(&bed).await;
    let id = setting(&client, first_aid(|body| body["date"]["offsetsDays"] = json!([7]))).await;
    put_source(&client, "document/42", document("nz")).await;
    bed.run_to("2026-07-12T20:59:00Z").await;
    // A worker that claimed the row and is never heard of again.
    bed.clock.set("2026-07-12T21:00:00Z".parse().unwrap());
    let mut tx = bed.begin().await;
    let claimed = work::claim(&mut tx, "reminder", bed.now(), bed.after(60), 10).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(claimed.len(), 1);
    assert_eq!(put_source(&client, "document/42", document("de")).await["unchanged"], 1);
    // Its claim runs out, and whoever takes it next sees that the source has moved.
    client.advance("2m").await;
    assert!(bed.sent().is_empty());
    client.advance("2d").await;
    assert_eq!(sent_at(&bed), ["2026-07-13T07:00:00Z"]);
    assert_eq!(bed.work(&key(&id, 7)).await.business_unit.as_deref(), Some("de"));
}

async fn what_was_made_from_something_else_stays_a_conflict(bed: TestBed) {
    let client = with_units(&bed).await;
    let id = setting(&client, first_aid(|body| body["date"]["offsetsDays"] = json!([7]))).await;
    let mut other = new_work_with("reminder", &key(&id, 7), bed.after(60), &json!({ "by": "hand" }));
    other.source = Some(("document".into(), "42".into()));
    bed.ensure_one(other).await;
    put_source(&client, "document/42", document("nz")).await;
    // Put a second time, for at its first event a source has no rows that it could know of.
    put_source(&client, "document/42", document("nz")).await;
    let row = bed.work(&key(&id, 7)).await;
    assert_eq!((row.on_hold, row.reason_code.as_deref()), (true, Some("input-conflict")));
}

/// What was sent before stays the old unit's; what has become of the source since is not theirs to see, or to send.
async fn t11_what_has_moved_is_neither_repeated_nor_named_in_the_old_unit(bed: TestBed) {
    let client = with_units(&bed).await;
    setting(&client, first_aid(|_| {})).await;
    let place = "document/0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071";
    let called = |unit: &str, name: &str| {
        let mut body = document(unit);
        body["state"]["name"] = json!(name);
        body
    };
    put_source(&client, place, called("nz", "before")).await;
    client.advance("40d").await;
    assert_eq!(bed.sent().len(), 1);
    let nz = client.new_key(&["read", "operate"], Some(&["nz"])).await;
    let done =
        async |key: &Client| key.get("/api/v1/work?status=completed").await.expect(200)["items"][0].clone();
    assert_eq!(done(&nz).await["title"], "First aid, document before: 30 days before 20 Jul");
    put_source(&client, place, called("de", "salary-90000")).await;
    let row = done(&nz).await;
    assert_eq!(
        row["title"],
        "First aid, document 0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071: 30 days before 20 Jul"
    );
    assert_eq!(done(&client).await["title"], "First aid, document salary-90000: 30 days before 20 Jul");
    assert_eq!(nz.get("/api/v1/search?q=salary").await.expect(200)["items"], json!([]));
    let again = nz.post(&format!("/api/v1/work/{}/retry", row["id"]), json!({})).await.expect(200);
    client.advance("1m").await;
    assert_eq!(bed.sent().len(), 1, "nothing is sent for what another unit has now");
    let again = nz.get(&format!("/api/v1/work/{}", again["id"])).await.expect(200);
    assert_eq!(
        (&again["status"], &again["reasonCode"]),
        (&json!("deactivated"), &json!("SourceNoLongerValid"))
    );
    bed.leaves_open("the other two are to come");
}

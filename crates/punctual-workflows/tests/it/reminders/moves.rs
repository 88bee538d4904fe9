//! A source that moves to another business unit takes along what is planned for it: the same rows, in another zone and for
//! other eyes. What was sent stays where it was sent from.

use punctual_engine::operate::WorkAction;
use punctual_store::work;
use punctual_testkit::{TestBed, new_work_with, on_both};
use serde_json::{Value, json};

use crate::author::{Author, first_aid, sent_at};

on_both! {
    what_is_planned_goes_along_and_what_was_sent_stays;
    a_setting_of_the_old_unit_lets_go_and_comes_back;
    a_row_that_was_held_meanwhile_goes_along_when_it_is_released;
    a_row_that_was_being_worked_on_goes_along_and_is_not_sent_twice;
    what_was_made_from_something_else_stays_a_conflict;
}

fn document(unit: &str) -> Value {
    json!({ "businessUnit": unit, "state": { "kind": "first-aid", "expiresOn": "2026-07-20" } })
}

async fn with_units(bed: &TestBed) -> Author {
    let author = Author::in_auckland(bed).await;
    author.unit("de", "Europe/Berlin").await;
    author
}

fn key(setting: &str, offset: i64) -> String {
    format!("reminder:{setting}:document:42:first-aid-expiry:2026-07-20:{offset}")
}

async fn what_is_planned_goes_along_and_what_was_sent_stays(bed: TestBed) {
    let author = with_units(&bed).await;
    let id = author.setting(first_aid(|_| {})).await;
    author.report("document/42", document("nz")).await;
    author.advance("40d").await;
    assert_eq!(sent_at(&bed), ["2026-06-19T21:00:00Z"]);
    let work = author.report("document/42", document("de")).await;
    assert_eq!(work, [0, 2, 0, 1]);
    let (sent, planned) = (bed.work(&key(&id, 30)).await, bed.work(&key(&id, 7)).await);
    assert_eq!((sent.status.as_str(), sent.business_unit.as_deref()), ("completed", Some("nz")));
    assert_eq!((planned.on_hold, planned.business_unit.as_deref()), (false, Some("de")));
    assert_eq!(planned.time_zone.as_deref(), Some("Europe/Berlin"));
    assert_eq!(bed.audit("work", &planned.id.to_string()).await, ["transfer:business-unit-changed"]);
    assert_eq!((author.seen_in("nz").await, author.seen_in("de").await), (1, 2));
    author.advance("40d").await;
    let mornings = ["2026-06-19T21:00:00Z", "2026-07-13T07:00:00Z", "2026-07-19T07:00:00Z"];
    assert_eq!(sent_at(&bed), mornings, "each once, and on German mornings from now on");
    // Put again, or taken back to where it came from: nothing is sent again.
    author.report("document/42", document("nz")).await;
    author.advance("40d").await;
    assert_eq!(bed.sent().len(), 3);
}

async fn a_setting_of_the_old_unit_lets_go_and_comes_back(bed: TestBed) {
    let author = with_units(&bed).await;
    let id = author.setting(first_aid(|body| body["businessUnit"] = json!("nz"))).await;
    author.report("document/42", document("nz")).await;
    assert_eq!(author.report("document/42", document("de")).await[2], 3);
    let row = bed.work(&key(&id, 7)).await;
    assert_eq!(
        (row.status.as_str(), row.reason_code.as_deref(), row.business_unit.as_deref()),
        ("deactivated", Some("other-business-unit"), Some("nz"))
    );
    assert_eq!(author.report("document/42", document("nz")).await[1], 3);
    author.report("document/42", document("de")).await;
    author.advance("100d").await;
    assert!(bed.sent().is_empty());
}

async fn a_row_that_was_held_meanwhile_goes_along_when_it_is_released(bed: TestBed) {
    let author = with_units(&bed).await;
    let id = author.setting(first_aid(|body| body["date"]["offsetsDays"] = json!([7]))).await;
    author.report("document/42", document("nz")).await;
    let row = bed.work(&key(&id, 7)).await;
    let mut tx = bed.begin().await;
    work::put_on_hold_as_conflict(&mut tx.conn(), bed.now(), vec![row.id]).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(author.report("document/42", document("de")).await[3], 1);
    author.advance("59d").await;
    author.act(WorkAction::Release, row.id).await;
    author.advance("3d").await;
    assert_eq!(sent_at(&bed), ["2026-07-13T07:00:00Z"]);
    let row = bed.work(&key(&id, 7)).await;
    assert_eq!((row.status.as_str(), row.business_unit.as_deref()), ("completed", Some("de")));
}

async fn a_row_that_was_being_worked_on_goes_along_and_is_not_sent_twice(bed: TestBed) {
    let author = with_units(&bed).await;
    let id = author.setting(first_aid(|body| body["date"]["offsetsDays"] = json!([7]))).await;
    author.report("document/42", document("nz")).await;
    bed.run_to("2026-07-12T20:59:00Z").await;
    // A worker that claimed the row and is never heard of again.
    bed.clock.set("2026-07-12T21:00:00Z".parse().unwrap());
    let mut tx = bed.begin().await;
    let claimed = work::claim(&mut tx, "reminder", bed.now(), bed.after(60), 10).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(claimed.len(), 1);
    assert_eq!(author.report("document/42", document("de")).await[3], 1);
    // Its claim runs out, and whoever takes it next sees that the source has moved.
    author.advance("2m").await;
    assert!(bed.sent().is_empty());
    author.advance("2d").await;
    assert_eq!(sent_at(&bed), ["2026-07-13T07:00:00Z"]);
    assert_eq!(bed.work(&key(&id, 7)).await.business_unit.as_deref(), Some("de"));
}

async fn what_was_made_from_something_else_stays_a_conflict(bed: TestBed) {
    let author = with_units(&bed).await;
    let id = author.setting(first_aid(|body| body["date"]["offsetsDays"] = json!([7]))).await;
    let mut other = new_work_with("reminder", &key(&id, 7), bed.after(60), &json!({ "by": "hand" }));
    other.source = Some(("document".into(), "42".into()));
    bed.ensure_one(other).await;
    author.report("document/42", document("nz")).await;
    // Put a second time, for at its first event a source has no rows that it could know of.
    author.report("document/42", document("nz")).await;
    let row = bed.work(&key(&id, 7)).await;
    assert_eq!((row.on_hold, row.reason_code.as_deref()), (true, Some("input-conflict")));
}

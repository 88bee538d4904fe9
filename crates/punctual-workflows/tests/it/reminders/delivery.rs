//! A reminder at its moment: who gets it, what it says, and what no longer counts.

use punctual_model::{Reach, WorkStatus};
use punctual_store::{
    reminders::settings,
    sources::{self, SourceChange},
};
use punctual_testkit::{TestBed, on_both};
use serde_json::json;

use crate::author::{Author, Which, document, first_aid};

on_both! {
    what_is_no_longer_so_at_its_moment_is_an_outcome;
    recipients_are_found_when_it_is_due;
    a_template_sees_the_source_and_the_due_date;
}

/// The workflow got no event: the tables themselves were changed, as a missed event would leave them.
async fn what_is_no_longer_so_at_its_moment_is_an_outcome(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    let id = author.setting(first_aid(|_| {})).await;
    author.report("document/1", document("2026-06-01")).await;
    author.report("document/2", document("2026-06-10")).await;
    let mut tx = bed.begin().await;
    let silently = SourceChange {
        source_type: "document".into(),
        source_id: "1".into(),
        business_unit: Some("nz".into()),
        active: false,
        deleted: false,
        state: document("2026-06-01")["state"].to_string(),
        sequence: None,
        occurred_at: bed.now(),
    };
    sources::put(&mut tx.conn(), bed.now(), &punctual_model::Reach::Everything, &[silently]).await.unwrap();
    tx.commit().await.unwrap();
    author.advance("13d").await;
    let row = bed.work(&format!("reminder:{id}:document:1:first-aid-expiry:2026-06-01:7")).await;
    assert_eq!(
        (row.status.as_str(), row.reason_code.as_deref()),
        ("deactivated", Some("SourceNoLongerValid"))
    );
    assert_eq!((row.retry_count, row.on_hold), (0, false), "an outcome, not a failure");
    let mut tx = bed.begin().await;
    let mut row =
        settings::by_ids(&mut tx.conn(), &Reach::Everything, vec![id.clone()]).await.unwrap().remove(0);
    row.active = false;
    assert!(settings::update(&mut tx.conn(), bed.now(), &row).await.unwrap());
    tx.commit().await.unwrap();
    author.advance("30d").await;
    let row = bed.work(&format!("reminder:{id}:document:2:first-aid-expiry:2026-06-10:1")).await;
    assert_eq!(
        (row.status.as_str(), row.reason_code.as_deref()),
        ("deactivated", Some("ReminderSettingInactive"))
    );
    assert!(bed.sent().is_empty());
}

async fn recipients_are_found_when_it_is_due(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    let lookup = json!({ "lookup": { "sourceType": "person", "idField": "/ownerId", "field": "/email" } });
    for (name, recipients) in
        [("list", json!({ "list": "ops" })), ("field", json!({ "field": "/email" })), ("lookup", lookup)]
    {
        author
            .setting(first_aid(|body| {
                body["triggerKey"] = json!(name);
                body["date"]["offsetsDays"] = json!([1]);
                body["recipients"] = recipients;
                body["delivery"] = json!({});
            }))
            .await;
    }
    let mut document = document("2026-05-20");
    document["state"]["ownerId"] = json!(7);
    author.report("document/1", document.clone()).await;
    document["state"]["ownerId"] = json!("nobody");
    document["state"]["email"] = json!("");
    author.report("document/2", document).await;
    // All of it is defined after the rows were planned.
    bed.list("ops", "email:default", &["ops@b.example"]).await;
    author.report("person/7", json!({ "state": { "email": "owner@b.example" } })).await;
    author.advance("10d").await;
    let mut sent = bed.sent_to();
    sent.sort();
    assert_eq!(sent, ["ops@b.example", "ops@b.example", "own@b.example", "owner@b.example"]);
    let reasons: Vec<String> =
        author.rows(Which::Status(WorkStatus::Deactivated)).await.into_iter().map(|(.., why)| why).collect();
    assert_eq!(reasons, ["no-recipients", "no-recipients"]);
}

async fn a_template_sees_the_source_and_the_due_date(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    let body = "{{ state.kind }} of {{ source.id }} ends {{ reminder.targetDate }}, in {{ reminder.offsetDays }} day; {{ email }}; {{ setting.name }}";
    bed.template("expiry", "en", json!({ "en": { "subject": "{{ kind }}", "body": body } })).await;
    author
        .setting(first_aid(|body| {
            body["date"]["offsetsDays"] = json!([1]);
            body["delivery"]["template"] = json!("expiry");
        }))
        .await;
    author.report("document/42", document("2026-05-20")).await;
    author.advance("10d").await;
    let sent = bed.sent();
    assert_eq!(sent[0].subject, "first-aid");
    assert_eq!(sent[0].body, "first-aid of 42 ends 2026-05-20, in 1 day; own@b.example; First aid");
    assert_eq!(
        bed.notifications().await.iter().map(|row| row.kind.as_str()).collect::<Vec<_>>(),
        ["reminder"]
    );
}

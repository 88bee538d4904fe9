//! A reminder at its moment: who gets it, when they may be disturbed, what it says, and what no longer counts.

use punctual_model::Reach;
use punctual_store::{
    reminders::settings,
    sources::{self, SourceChange},
};
use punctual_testkit::{TestBed, on_both};
use serde_json::json;

use crate::{
    client::Client,
    reminders::{document, first_aid, put_source, rows, sent_at, setting, unit},
};

on_both! {
    what_is_no_longer_so_at_its_moment_is_an_outcome;
    recipients_are_found_when_it_is_due;
    quiet_hours_move_a_reminder_and_do_not_make_it_late;
    a_template_sees_the_source_and_the_due_date;
}

/// The workflow got no event: the tables themselves were changed, as a missed event would leave them.
async fn what_is_no_longer_so_at_its_moment_is_an_outcome(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    let id = setting(&client, first_aid(|_| {})).await;
    put_source(&client, "document/1", document("2026-06-01")).await;
    put_source(&client, "document/2", document("2026-06-10")).await;
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
    client.advance("13d").await;
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
    client.advance("30d").await;
    let row = bed.work(&format!("reminder:{id}:document:2:first-aid-expiry:2026-06-10:1")).await;
    assert_eq!(
        (row.status.as_str(), row.reason_code.as_deref()),
        ("deactivated", Some("ReminderSettingInactive"))
    );
    assert!(bed.sent().is_empty());
}

async fn recipients_are_found_when_it_is_due(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    let lookup = json!({ "lookup": { "sourceType": "person", "idField": "/ownerId", "field": "/email" } });
    for (name, recipients) in
        [("list", json!({ "list": "ops" })), ("field", json!({ "field": "/email" })), ("lookup", lookup)]
    {
        setting(
            &client,
            first_aid(|body| {
                body["triggerKey"] = json!(name);
                body["date"]["offsetsDays"] = json!([1]);
                body["recipients"] = recipients;
                body["delivery"] = json!({});
            }),
        )
        .await;
    }
    let mut document = document("2026-05-20");
    document["state"]["ownerId"] = json!(7);
    put_source(&client, "document/1", document.clone()).await;
    document["state"]["ownerId"] = json!("nobody");
    document["state"]["email"] = json!("");
    put_source(&client, "document/2", document).await;
    // All of it is defined after the rows were planned.
    client
        .put("/api/v1/lists/ops", json!({ "type": "email", "targets": ["ops@b.example"] }))
        .await
        .expect(200);
    put_source(&client, "person/7", json!({ "state": { "email": "owner@b.example" } })).await;
    client.advance("10d").await;
    let mut sent = bed.sent_to();
    sent.sort();
    assert_eq!(sent, ["ops@b.example", "ops@b.example", "own@b.example", "owner@b.example"]);
    let reasons: Vec<String> =
        rows(&client, "&status=deactivated").await.into_iter().map(|(.., why)| why).collect();
    assert_eq!(reasons, ["no-recipients", "no-recipients"]);
}

async fn quiet_hours_move_a_reminder_and_do_not_make_it_late(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    let id = setting(
        &client,
        first_aid(|body| {
            body["date"] = json!({ "field": "/expiresOn", "offsetsDays": [1], "sendTime": "22:30" });
            body["delivery"]["quietHours"] = json!({ "from": "22:00", "to": "07:00" });
        }),
    )
    .await;
    put_source(&client, "document/42", document("2026-05-20")).await;
    let ahead = client.get("/api/v1/forecast?from=2026-05-14&to=2026-05-30").await.expect(200);
    assert_eq!(ahead["days"][0]["localDate"], "2026-05-20", "{ahead}");
    assert_eq!(ahead["days"][0]["items"][0]["reason"], "quiet-hours");
    client.advance("6d").await;
    // 07:00 in Auckland, on the next local day.
    assert_eq!(sent_at(&bed), ["2026-05-19T19:00:00Z"]);
    assert_eq!(
        bed.work(&format!("reminder:{id}:document:42:first-aid-expiry:2026-05-20:1")).await.status.as_str(),
        "completed"
    );
}

async fn a_template_sees_the_source_and_the_due_date(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    let body = "{{ state.kind }} of {{ source.id }} ends {{ reminder.targetDate }}, in {{ reminder.offsetDays }} day; {{ email }}; {{ setting.name }}";
    let template =
        json!({ "defaultLocale": "en", "variants": { "en": { "subject": "{{ kind }}", "body": body } } });
    client.put("/api/v1/templates/expiry", template).await.expect(200);
    setting(
        &client,
        first_aid(|body| {
            body["date"]["offsetsDays"] = json!([1]);
            body["delivery"]["template"] = json!("expiry");
        }),
    )
    .await;
    put_source(&client, "document/42", document("2026-05-20")).await;
    client.advance("10d").await;
    let sent = bed.sent();
    assert_eq!(sent[0].subject, "first-aid");
    assert_eq!(sent[0].body, "first-aid of 42 ends 2026-05-20, in 1 day; own@b.example; First aid");
    let shown = client.get("/api/v1/notifications?type=reminder").await.expect(200);
    assert_eq!(shown["items"].as_array().unwrap().len(), 1, "reminders can be filtered");
}

//! What a report is made of and whom it goes to is what its subscription says when it is due; a period is reported once.

use punctual_model::{Reach, WorkStatus};
use punctual_store::report_subscriptions;
use punctual_testkit::{TestBed, on_both};
use punctual_workflows::reports::{
    built_in,
    draft::{Draft, merged},
};
use serde_json::{Value, json};

use super::{author, runs_of};

on_both! {
    moving_the_time_within_a_period_makes_no_second_run;
    recipients_and_channel_are_those_of_the_moment;
    a_report_goes_to_a_list_with_a_template;
}

/// A weekly report over what was delivered, with changes; returns its id.
async fn weekly(bed: &TestBed, change: impl FnOnce(&mut Value)) -> String {
    bed.leaves_open("the next run is planned");
    let mut definition = json!({
        "name": "Weekly deliveries", "cadence": { "cron": "0 8 * * MON", "timeZone": "Europe/Berlin" },
        "report": { "source": { "builtin": "delivery-kpis" }, "format": ["html", "csv"] },
        "recipients": { "addresses": ["a@b.example"] }, "channel": "email:default",
    });
    change(&mut definition);
    let guid = bed.engine.random.uuid().to_string();
    let draft = Draft::read(&bed.engine, &built_in(), &author(), guid.clone(), None, &definition).await;
    draft.unwrap().save(&bed.engine, &author()).await.unwrap();
    guid
}

/// Replaces some fields of a subscription.
async fn change(bed: &TestBed, guid: &str, change: Value) {
    let named = vec![guid.to_owned()];
    let mut reader = bed.read().await;
    let found = report_subscriptions::by_guids(&mut reader.conn(), &Reach::Everything, named).await;
    drop(reader);
    let before = found.unwrap().remove(0);
    let definition = merged(&before, &change).unwrap();
    let (by, guid) = (author(), guid.to_owned());
    let draft = Draft::read(&bed.engine, &built_in(), &by, guid, Some(before), &definition).await.unwrap();
    draft.save(&bed.engine, &by).await.unwrap();
}

async fn moving_the_time_within_a_period_makes_no_second_run(bed: TestBed) {
    let guid = weekly(&bed, |_| {}).await;
    bed.run_to("2026-05-18T07:00:00Z").await;
    assert_eq!(bed.sent().len(), 1);
    // Later on the same day, and then on another day of the same week.
    for cron in ["0 12 * * MON", "0 8 * * WED"] {
        let cadence = json!({ "cron": cron, "timeZone": "Europe/Berlin" });
        change(&bed, &guid, json!({ "cadence": cadence })).await;
    }
    bed.run_to("2026-05-24T00:00:00Z").await;
    assert_eq!(bed.sent().len(), 1, "the week of the 11th was reported");
    bed.run_to("2026-05-27T06:00:00Z").await;
    assert_eq!(bed.sent().len(), 2);
    let runs = runs_of(&bed, &guid).await;
    assert_eq!(runs.iter().filter(|run| run.status == WorkStatus::Completed).count(), 2);
}

async fn recipients_and_channel_are_those_of_the_moment(bed: TestBed) {
    let guid = weekly(&bed, |_| {}).await;
    let planned = runs_of(&bed, &guid).await[0].id;
    let other =
        json!({ "recipients": { "addresses": ["new"] }, "channel": "memory:default", "subject": "Figures" });
    change(&bed, &guid, other).await;
    assert_eq!(runs_of(&bed, &guid).await[0].id, planned, "the row is the same");
    bed.run_to("2026-05-18T06:00:00Z").await;
    let sent = bed.sent();
    assert_eq!(
        (sent[0].address.as_str(), sent[0].subject.as_str(), sent[0].channel.as_str()),
        ("new", "Figures", "memory:default")
    );
}

async fn a_report_goes_to_a_list_with_a_template(bed: TestBed) {
    bed.list("ops", "email:default", &["a@b.example", "c@d.example"]).await;
    bed.template("figures", "en", json!({ "en": { "subject": "{{ subscription.name }} / {{ period.label }}", "body": "{{ report.rows }} rows" } })).await;
    weekly(&bed, |body| {
        body["recipients"] = json!({ "list": "ops" });
        body["channel"] = json!(null);
        body["template"] = json!("figures");
    })
    .await;
    bed.run_to("2026-05-18T06:00:00Z").await;
    assert_eq!(bed.sent_to(), ["a@b.example", "c@d.example"]);
    assert_eq!(
        (bed.sent()[0].subject.as_str(), bed.sent()[0].body.as_str()),
        ("Weekly deliveries / 2026-05-11 – 2026-05-17", "0 rows")
    );
}

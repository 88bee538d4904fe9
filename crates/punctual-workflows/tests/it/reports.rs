//! When reports come after days away, and after a run that was cancelled.

mod changed;

use punctual_engine::{Actor, operate::WorkAction};
use punctual_model::{Reach, WorkStatus};
use punctual_store::work::WorkRow;
use punctual_testkit::{TestBed, on_both};
use punctual_workflows::reports::{built_in, draft::Draft, plan::CAUGHT_UP_AT_MOST, runs};
use serde_json::{Value, json};

on_both! {
    what_was_missed_is_left_out_with_skip;
    of_what_was_missed_only_the_latest_comes_with_last;
    what_was_missed_comes_in_order_with_all_up_to_a_bound;
    a_cancelled_run_does_not_end_the_chain;
}

/// Makes a subscription to what was delivered, and returns its id. Its next run is always planned.
async fn subscribe(bed: &TestBed, cron: &str, catch_up: Option<&str>) -> String {
    bed.leaves_open("the next run is planned");
    let mut definition = json!({
        "name": "Deliveries", "cadence": { "cron": cron, "timeZone": "Europe/Berlin" },
        "report": { "source": { "builtin": "delivery-kpis" }, "format": ["html", "csv"] },
        "recipients": { "addresses": ["a@b.example"] }, "channel": "email:default",
    });
    if let Some(word) = catch_up {
        definition["catchUp"] = Value::from(word);
    }
    let guid = bed.engine.random.uuid().to_string();
    let by = author();
    let draft = Draft::read(&bed.engine, &built_in(), &by, guid.clone(), None, &definition).await.unwrap();
    draft.save(&bed.engine, &by).await.unwrap();
    guid
}

fn author() -> Actor {
    Actor::key("author", None)
}

/// The runs of a subscription, newest first.
async fn runs_of(bed: &TestBed, guid: &str) -> Vec<WorkRow> {
    let mut reader = bed.read().await;
    runs::of(&mut reader.conn(), &Reach::Everything, guid, None, None, 100).await.unwrap().rows
}

async fn next_run_at(bed: &TestBed, guid: &str) -> String {
    let runs = runs_of(bed, guid).await;
    let next = runs.iter().find(|run| run.status == WorkStatus::Pending).unwrap();
    next.due_at.to_string()
}

/// A daily report, and a server that is away from noon on the 14th for some days: the clock moves and nothing runs.
async fn after_days_away(bed: &TestBed, catch_up: &str, until: &str) -> String {
    let guid = subscribe(bed, "0 8 * * *", Some(catch_up)).await;
    bed.run_to("2026-05-14T12:00:00Z").await;
    assert_eq!(bed.sent().len(), 1);
    bed.clock.set(until.parse().unwrap());
    bed.tick().await;
    guid
}

fn days(bed: &TestBed) -> Vec<String> {
    let day = |subject: &str| subject.rsplit(": ").next().unwrap().to_owned();
    bed.sent().iter().skip(1).map(|sent| day(&sent.subject)).collect()
}

async fn what_was_missed_is_left_out_with_skip(bed: TestBed) {
    let guid = after_days_away(&bed, "skip", "2026-05-18T12:00:00Z").await;
    assert_eq!(days(&bed), [""; 0]);
    assert_eq!(runs_of(&bed, &guid).await[1].reason_code.as_deref(), Some("missed"));
    assert_eq!(next_run_at(&bed, &guid).await, "2026-05-19T06:00:00Z");
    bed.run_to("2026-05-19T06:00:00Z").await;
    assert_eq!(days(&bed), ["2026-05-18"]);
}

async fn of_what_was_missed_only_the_latest_comes_with_last(bed: TestBed) {
    let guid = after_days_away(&bed, "last", "2026-05-18T12:00:00Z").await;
    assert_eq!(days(&bed), ["2026-05-17"]);
    assert_eq!(next_run_at(&bed, &guid).await, "2026-05-19T06:00:00Z");
    // One that is late alone is made.
    bed.clock.set("2026-05-19T20:00:00Z".parse().unwrap());
    bed.tick().await;
    assert_eq!(days(&bed), ["2026-05-17", "2026-05-18"]);
}

async fn what_was_missed_comes_in_order_with_all_up_to_a_bound(bed: TestBed) {
    after_days_away(&bed, "all", "2026-05-18T12:00:00Z").await;
    assert_eq!(days(&bed), ["2026-05-14", "2026-05-15", "2026-05-16", "2026-05-17"]);
    bed.clock.set("2026-08-01T12:00:00Z".parse().unwrap());
    bed.tick().await;
    let made = days(&bed);
    assert_eq!(made.len(), 4 + CAUGHT_UP_AT_MOST);
    assert_eq!(made.last().map(String::as_str), Some("2026-07-31"));
    bed.run_to("2026-08-02T12:00:00Z").await;
    assert_eq!(days(&bed).last().map(String::as_str), Some("2026-08-01"));
}

async fn a_cancelled_run_does_not_end_the_chain(bed: TestBed) {
    let guid = subscribe(&bed, "0 8 * * MON", None).await;
    let planned = runs_of(&bed, &guid).await[0].id;
    bed.engine.act_on_work(&author(), WorkAction::Cancel, planned, None).await.unwrap();
    bed.run_to("2026-05-20T00:00:00Z").await;
    assert_eq!(bed.sent().len(), 0, "a person has cancelled it");
    assert_eq!(next_run_at(&bed, &guid).await, "2026-05-25T06:00:00Z");
    bed.run_to("2026-05-25T06:00:00Z").await;
    assert_eq!(bed.sent().len(), 1);
}

//! Reconciliation: bounded, repeatable, with the same keys as events; and what happens on days without events.

use std::{collections::BTreeSet, sync::Arc};

use punctual_model::{Reach, WorkStatus};
use punctual_store::sources::{self, SourceChange};
use punctual_testkit::{TestBed, on_both};
use punctual_workflows::reminders::{Providers, providers::ScanBounds};
use serde_json::json;

use crate::author::{Author, Which, document, first_aid};

on_both! {
    what_an_event_missed_is_repaired_with_the_same_keys;
    s0_75_configured_bounds_are_kept_to;
    a_failed_batch_leaves_the_watermark_where_it_was;
    a_look_that_is_not_stored_is_not_audited;
    a_threshold_sent_once_a_day_is_sent_on_days_without_events;
}

/// The state is stored and no sink is called, as a node that died in between would leave it.
async fn silently(bed: &TestBed, unit: &str, id: &str, expires_on: &str) {
    let change = SourceChange {
        source_type: "document".into(),
        source_id: id.into(),
        business_unit: Some(unit.into()),
        active: true,
        deleted: false,
        state: json!({ "kind": "first-aid", "expiresOn": expires_on }).to_string(),
        sequence: None,
        occurred_at: bed.now(),
    };
    let mut tx = bed.begin().await;
    sources::put(&mut tx.conn(), bed.now(), &Reach::Everything, &[change]).await.unwrap();
    tx.commit().await.unwrap();
}

async fn what_an_event_missed_is_repaired_with_the_same_keys(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    author.setting(first_aid(|_| {})).await;
    author.report("document/1", document("2026-07-20")).await;
    let by_event = author.keys().await;
    silently(&bed, "nz", "2", "2026-07-20").await;
    silently(&bed, "nz", "1", "2026-08-20").await;
    let (sources, plan) = author.look_would_do("dateBased").await;
    assert_eq!((sources, plan.create, plan.deactivate), (2, 6, 3));
    assert_eq!(author.keys().await, by_event, "nothing is changed by asking what a look would do");
    author.look_now("dateBased").await;
    author.advance("2m").await;
    let repaired = author.rows(Which::Source("document", "2")).await;
    let repaired: Vec<String> = repaired.into_iter().map(|(key, ..)| key).collect();
    let expected: Vec<String> =
        by_event.iter().map(|key| key.replace(":document:1:", ":document:2:")).collect();
    assert_eq!(repaired, expected, "the same helper makes the same keys");
    assert_eq!(author.rows(Which::Status(WorkStatus::Deactivated)).await.len(), 3);
    // Nothing changed since: it reads nothing and does nothing.
    author.advance("5m").await;
    author.look_now("dateBased").await;
    author.advance("2m").await;
    let (sources, plan) = author.look_would_do("dateBased").await;
    assert_eq!((sources, plan.create), (0, 0));
    assert!(author.looked("dateBased").await.looked_until.is_some());
    bed.leaves_open("what is planned");
}

async fn s0_75_configured_bounds_are_kept_to(bed: TestBed) {
    let mut providers = Providers::built_in();
    let shipped = providers.bounds_of("dateBased").unwrap();
    let scan = ScanBounds {
        business_units: Some(vec!["nz".to_owned()]),
        window_days: Some(60),
        batch: Some(2),
        ..shipped
    };
    providers.scans.insert("dateBased".to_owned(), scan);
    let providers = Arc::new(providers);
    let workflows = punctual_workflows::all_with(providers.clone(), Default::default(), Default::default());
    let bed = bed.with(|bed| bed.workflows(workflows));
    let author = Author::with(&bed, providers);
    author.unit("nz", "Pacific/Auckland").await;
    author.setting(first_aid(|_| {})).await;
    for (id, date) in [("1", "2026-06-20"), ("2", "2026-06-21"), ("3", "2026-06-22"), ("4", "2027-06-20")] {
        silently(&bed, "nz", id, date).await;
    }
    silently(&bed, "de", "5", "2026-06-20").await;
    author.look_now("dateBased").await;
    author.advance("1m").await;
    let planned: BTreeSet<String> = author.keys().await.into_iter().collect();
    let about = |id: &str| planned.iter().filter(|key| key.contains(&format!(":document:{id}:"))).count();
    assert!(about("1") > 0 && about("3") > 0, "batches of two go on: {planned:?}");
    assert_eq!(about("4"), 0, "due beyond the window");
    assert_eq!(about("5"), 0, "of a unit that is not on the list");
    let own = author.looked("dateBased").await;
    assert_eq!((own.window_days, own.batch), (60, 2));
    bed.leaves_open("what is planned");
}

async fn a_failed_batch_leaves_the_watermark_where_it_was(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    author.setting(first_aid(|_| {})).await;
    silently(&bed, "nz", "1", "2026-07-20").await;
    author.look_now("dateBased").await;
    // The batch is written in one transaction with the watermark, and the store fails at its end: in the set, in the
    // claim of it, and with the row on its own.
    bed.faults.fail("reconciliations.put", true, 3);
    bed.tick().await;
    assert!(author.keys().await.is_empty(), "neither the rows nor the watermark are there");
    assert_eq!(author.looked("dateBased").await.looked_until, None);
    author.advance("10m").await;
    assert_eq!(author.keys().await.len(), 3, "the next try repeats without doubling");
    bed.leaves_open("what is planned");
}

/// The act and its entry in the audit are one transaction.
async fn a_look_that_is_not_stored_is_not_audited(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    bed.faults.fail("work.insert_absent", false, 1);
    assert!(author.try_to_look("dateBased").await.is_err());
    assert!(bed.audit("reconciliation", "dateBased").await.is_empty());
    author.look_now("dateBased").await;
    assert_eq!(bed.audit("reconciliation", "dateBased").await, ["run-now"]);
    bed.tick().await;
}

async fn a_threshold_sent_once_a_day_is_sent_on_days_without_events(bed: TestBed) {
    let author = Author::in_auckland(&bed).await;
    author
        .setting(first_aid(|body| {
            body["sourceType"] = json!("class");
            body["kind"] = json!("threshold");
            body["date"] = json!(null);
            body["filter"] = json!(null);
            body["threshold"] = json!({ "metric": { "field": "/booked" }, "op": ">=", "value": 9, "firingPolicy": "OncePerDay" });
        }))
        .await;
    author.report("class/full", json!({ "businessUnit": "nz", "state": { "booked": 9 } })).await;
    author.report("class/free", json!({ "businessUnit": "nz", "state": { "booked": 1 } })).await;
    author.advance("1m").await;
    assert_eq!(bed.sent().len(), 1);
    for day in 2..=4 {
        author.advance("24h").await;
        author.look_now("threshold").await;
        author.advance("1m").await;
        author.look_now("threshold").await;
        author.advance("1m").await;
        assert_eq!(bed.sent().len(), day, "once on each local day");
    }
}

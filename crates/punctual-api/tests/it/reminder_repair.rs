//! Reconciliation: bounded, repeatable, with the same keys as events; and what happens on days without events.

use std::{collections::BTreeSet, sync::Arc};

use punctual_api::ApiState;
use punctual_store::sources::{self, SourceChange};
use punctual_testkit::{TestBed, on_both};
use punctual_workflows::reminders::{Providers, providers::ScanBounds};
use serde_json::{Value, json};

use crate::{
    client::Client,
    reminders::{first_aid, put_source, rows, setting, unit},
};

on_both! {
    what_an_event_missed_is_repaired_with_the_same_keys;
    s0_75_configured_bounds_are_kept_to;
    a_failed_batch_leaves_the_watermark_where_it_was;
    a_threshold_sent_once_a_day_is_sent_on_days_without_events;
}

/// The state is stored and no sink is called, as a node that died in between would leave it.
async fn silently(bed: &TestBed, id: &str, expires_on: &str) {
    silently_of(bed, "nz", id, expires_on).await;
}

async fn silently_of(bed: &TestBed, unit: &str, id: &str, expires_on: &str) {
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
    sources::put(&mut tx.conn(), bed.now(), &punctual_model::Reach::Everything, &[change]).await.unwrap();
    tx.commit().await.unwrap();
}

async fn run(client: &Client, provider: &str, dry: bool) -> Value {
    let path = format!("/api/v1/reconciliations/{provider}/run");
    client.post(&path, json!({ "dryRun": dry })).await.expect(200)
}

async fn what_an_event_missed_is_repaired_with_the_same_keys(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    setting(&client, first_aid(|_| {})).await;
    put_source(
        &client,
        "document/1",
        json!({ "businessUnit": "nz", "state": { "kind": "first-aid", "expiresOn": "2026-07-20" } }),
    )
    .await;
    let by_event: Vec<String> = rows(&client, "").await.into_iter().map(|(key, ..)| key).collect();
    silently(&bed, "2", "2026-07-20").await;
    silently(&bed, "1", "2026-08-20").await;
    let dry = run(&client, "dateBased", true).await;
    assert_eq!(
        (&dry["sources"], &dry["create"], &dry["deactivate"]),
        (&json!(2), &json!(6), &json!(3)),
        "{dry}"
    );
    assert_eq!(rows(&client, "").await.len(), 3, "a dry run changes nothing");
    run(&client, "dateBased", false).await;
    client.advance("2m").await;
    let repaired: Vec<String> =
        rows(&client, "&sourceType=document&sourceId=2").await.into_iter().map(|(key, ..)| key).collect();
    let expected: Vec<String> =
        by_event.iter().map(|key| key.replace(":document:1:", ":document:2:")).collect();
    assert_eq!(repaired, expected, "the same helper makes the same keys");
    assert_eq!(rows(&client, "&status=deactivated").await.len(), 3);
    // Nothing changed since: it reads nothing and does nothing.
    client.advance("5m").await;
    run(&client, "dateBased", false).await;
    client.advance("2m").await;
    let again = run(&client, "dateBased", true).await;
    assert_eq!((&again["sources"], &again["create"]), (&json!(0), &json!(0)), "{again}");
    let listed = client.get("/api/v1/reconciliations").await.expect(200);
    let date_based = &listed["items"][0];
    assert_eq!(
        (&date_based["provider"], &date_based["windowDays"]),
        (&json!("dateBased"), &json!(400)),
        "{listed}"
    );
    assert!(date_based["lookedUntil"].is_string());
    client.post("/api/v1/reconciliations/none/run", json!({})).await.refused(404, "not_found");
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
    let engine = bed.engine.clone();
    let client = Client::with(&bed, |state| {
        let sandbox = state.sandbox.take();
        *state = ApiState { sandbox, ..ApiState::with_reminders(engine, state.wall.clone(), providers) };
    })
    .await;
    unit(&client, "nz", "Pacific/Auckland").await;
    setting(&client, first_aid(|_| {})).await;
    for (id, date) in [("1", "2026-06-20"), ("2", "2026-06-21"), ("3", "2026-06-22"), ("4", "2027-06-20")] {
        silently(&bed, id, date).await;
    }
    silently_of(&bed, "de", "5", "2026-06-20").await;
    run(&client, "dateBased", false).await;
    client.advance("1m").await;
    let planned: BTreeSet<String> = rows(&client, "").await.into_iter().map(|(key, ..)| key).collect();
    let about = |id: &str| planned.iter().filter(|key| key.contains(&format!(":document:{id}:"))).count();
    assert!(about("1") > 0 && about("3") > 0, "batches of two go on: {planned:?}");
    assert_eq!(about("4"), 0, "due beyond the window");
    assert_eq!(about("5"), 0, "of a unit that is not on the list");
    let listed = client.get("/api/v1/reconciliations").await.expect(200);
    let own = &listed["items"][0];
    assert_eq!((&own["windowDays"], &own["batch"]), (&json!(60), &json!(2)), "{listed}");
    bed.leaves_open("what is planned");
}

async fn a_failed_batch_leaves_the_watermark_where_it_was(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    setting(&client, first_aid(|_| {})).await;
    silently(&bed, "1", "2026-07-20").await;
    run(&client, "dateBased", false).await;
    // The batch is written in one transaction with the watermark, and the store fails at its end: in the set, in the
    // claim of it, and with the row on its own.
    bed.faults.fail("reconciliations.put", true, 3);
    bed.tick().await;
    assert!(rows(&client, "").await.is_empty(), "neither the rows nor the watermark are there");
    assert_eq!(
        client.get("/api/v1/reconciliations").await.expect(200)["items"][0]["lookedUntil"],
        Value::Null
    );
    client.advance("10m").await;
    assert_eq!(rows(&client, "").await.len(), 3, "the next try repeats without doubling");
    bed.leaves_open("what is planned");
}

async fn a_threshold_sent_once_a_day_is_sent_on_days_without_events(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    setting(&client, first_aid(|body| {
        body["sourceType"] = json!("class");
        body["kind"] = json!("threshold");
        body["date"] = json!(null);
        body["filter"] = json!(null);
        body["threshold"] = json!({ "metric": { "field": "/booked" }, "op": ">=", "value": 9, "firingPolicy": "OncePerDay" });
    }))
    .await;
    put_source(&client, "class/full", json!({ "businessUnit": "nz", "state": { "booked": 9 } })).await;
    put_source(&client, "class/free", json!({ "businessUnit": "nz", "state": { "booked": 1 } })).await;
    client.advance("1m").await;
    assert_eq!(bed.sent().len(), 1);
    for day in 2..=4 {
        client.advance("24h").await;
        run(&client, "threshold", false).await;
        client.advance("1m").await;
        run(&client, "threshold", false).await;
        client.advance("1m").await;
        assert_eq!(bed.sent().len(), day, "once on each local day");
    }
}

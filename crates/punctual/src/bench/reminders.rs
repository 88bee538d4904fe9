//! Events of sources taken in bulk under five settings of three offsets each, and a reconciliation that finds nothing to do.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use anyhow::{Context, Result};
use jiff::{SignedDuration, Timestamp};
use punctual_engine::OwnUnit;
use punctual_engine::{
    Engine, Event, EventSinks, Listeners,
    events::{EventTaken, IncomingEvent, SOURCE_CHANGED},
};
use punctual_model::Clock;
use punctual_store::{
    Lane,
    reminders::settings::{self, SettingRow},
    sources::SourceChange,
};
use punctual_workflows::reminders::{Providers, ReminderSink, reconcile};
use serde_json::json;

use super::{Bench, Measured};

/// Sources a transaction: what the bulk route takes at once.
const BATCH: usize = 500;
/// Callers at once: one works out its rows while the other's are written.
const CALLERS: usize = 2;
const SETTINGS: usize = 5;

pub(super) async fn measure(bench: &Bench, sources: usize) -> Result<Vec<Measured>> {
    let rig = bench.rig("reminders", Listeners::default()).await?;
    let providers = Arc::new(Providers::built_in());
    make_settings(&rig.engine).await?;
    let mut sinks = EventSinks::default();
    sinks.add(Arc::new(ReminderSink::new(providers.clone())));
    let batches: Vec<Vec<IncomingEvent>> =
        incoming_events(&rig.engine, sources).chunks(BATCH).map(<[IncomingEvent]>::to_vec).collect();
    let started = bench.clock.now();
    let ensured = take_all(&rig.engine, sinks, batches).await?;
    let took = bench.clock.now().duration_since(started).unsigned_abs();
    let ensured = usize::try_from(ensured)?;
    anyhow::ensure!(ensured == sources * SETTINGS * 3, "{ensured} rows were ensured for {sources} sources");
    let mut measured = vec![Measured::rate("reminders", ensured, took)];
    rig.settle_down().await?;
    // Everything is there and right: a whole look changes nothing.
    let started = bench.clock.now();
    let mut reader = rig.engine.store.read().await?;
    let now = rig.engine.clock.now();
    let looked = reconcile::dry_run(&mut reader.conn(), &providers, "dateBased", now).await?;
    drop(reader);
    let took = bench.clock.now().duration_since(started).unsigned_abs();
    let (report, plan) = looked.context("there is no such provider")?;
    anyhow::ensure!(plan.create + plan.moved + plan.deactivate == 0, "reconciliation found {plan:?}");
    measured.push(Measured::rate("reconcile", usize::try_from(report.sources)?, took));
    rig.remove().await?;
    Ok(measured)
}

/// Takes the events of so many sources under the settings; returns how many rows were ensured.
pub(super) async fn import(engine: &Engine, sources: usize) -> Result<u64> {
    make_settings(engine).await?;
    let mut sinks = EventSinks::default();
    sinks.add(Arc::new(ReminderSink::new(Arc::new(Providers::built_in()))));
    let batches = incoming_events(engine, sources).chunks(BATCH).map(<[IncomingEvent]>::to_vec).collect();
    take_all(engine, sinks, batches).await
}

async fn make_settings(engine: &Engine) -> Result<()> {
    let now = engine.clock.now();
    let mut tx = engine.store.begin(Lane::Intake).await?;
    for number in 0..SETTINGS {
        let definition = json!({ "name": format!("Setting {number}"), "sourceType": "document",
            "triggerKey": format!("expiry-{number}"), "kind": "dateBased", "active": true,
            "date": { "field": "/expiresOn", "offsetsDays": [30, 7, 1], "sendTime": "09:00" },
            "filter": { "questionId": "state.kind", "op": "==", "value": "first-aid" },
            "recipients": { "field": "/email" }, "delivery": { "channel": "memory:default" } });
        let row = SettingRow {
            id: format!("bench-{number}"),
            name: format!("Setting {number}"),
            business_unit: None,
            source_type: "document".into(),
            child_type: None,
            kind: "dateBased".into(),
            active: true,
            deleted: false,
            definition: definition.to_string(),
            key_base: None,
            version: 1,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        };
        settings::insert(&mut tx.conn(), now, &row).await?;
    }
    Ok(tx.commit().await?)
}

/// The events, made before the clock starts.
fn incoming_events(engine: &Engine, sources: usize) -> Vec<IncomingEvent> {
    let now = engine.clock.now();
    let one = |number: usize| {
        let days = i64::try_from(number % 300).unwrap_or(0) + 60;
        let day = (now + SignedDuration::from_hours(24 * days)).strftime("%Y-%m-%d").to_string();
        let state =
            json!({ "kind": "first-aid", "expiresOn": day, "email": format!("{number}@example.org") });
        let id = format!("{number:08}");
        let event = Event {
            id: id.clone(),
            source: "/bench".into(),
            kind: SOURCE_CHANGED.into(),
            subject: Some(format!("document/{id}")),
            sequence: None,
            time: now,
            data: serde_json::Value::Null,
            business_units: None,
        };
        let change = SourceChange {
            source_type: "document".into(),
            source_id: id,
            business_unit: None,
            active: true,
            deleted: false,
            state: state.to_string(),
            sequence: None,
            occurred_at: now,
        };
        IncomingEvent::of_source(event, OwnUnit::default(), change)
    };
    (0..sources).map(one).collect()
}

/// How many rows were ensured.
async fn take_all(engine: &Engine, sinks: EventSinks, batches: Vec<Vec<IncomingEvent>>) -> Result<u64> {
    let (batches, next, ensured) =
        (Arc::new(batches), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicU64::new(0)));
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let (engine, sinks) = (engine.clone(), sinks.clone());
            let (batches, next, ensured) = (batches.clone(), next.clone(), ensured.clone());
            tokio::spawn(async move {
                while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                    for taken in engine.take_events(&sinks, batch).await? {
                        if let EventTaken::Accepted { touched, .. } = taken {
                            ensured.fetch_add(touched.created, Ordering::Relaxed);
                        }
                    }
                }
                anyhow::Ok(())
            })
        })
        .collect();
    for caller in callers {
        caller.await??;
    }
    Ok(ensured.load(Ordering::Relaxed))
}

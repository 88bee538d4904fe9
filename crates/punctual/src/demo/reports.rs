//! Two reports over Punctual's own data: one that has moved over, and one that still shadows an old scheduler, which is
//! simulated here so that the cutover can be tested.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use jiff::{SignedDuration, Timestamp};
use punctual_engine::{Actor, Engine};
use punctual_model::{Clock, OwnershipStatus, ids::derive_uuid};
use punctual_reports::Sources;
use punctual_store::{Lane, StoreError, report_subscriptions, rollouts::over, run_ownership};
use punctual_workflows::{
    reports::{Draft, KIND, Subscription, rollouts},
    rollout::{CHECKLIST, Owner, Run, RunKind, Stage, Taken, stages::Scope, take},
};
use serde_json::{Value, json};

/// How often the simulated scheduler looks whether something is due.
const LOOKS_EVERY: SignedDuration = SignedDuration::from_secs(2);

pub async fn load(engine: &Engine, sources: &Sources) -> Result<()> {
    let demo = Actor::named("demo");
    for (name, definition) in [("weekly", weekly()), ("daily", daily())] {
        let draft = Draft::read(engine, sources, &demo, guid(name), None, &definition).await;
        let draft = draft.map_err(|problem| anyhow!("the sample report {name}: {problem}"))?;
        draft.save(engine, &demo).await.map_err(|problem| anyhow!("the sample report {name}: {problem}"))?;
    }
    let scope = Scope::Subject(guid("daily"));
    let confirmed = CHECKLIST.iter().map(|(name, _)| (*name).to_owned()).collect();
    let change = rollouts::change(&scope, Stage::Shadow, confirmed, &demo);
    rollouts::set(engine, &change).await?.map_err(|refused| anyhow!("the sample rollout: {refused:?}"))?;
    Ok(())
}

fn guid(name: &str) -> String {
    derive_uuid(&["demo", "report", name]).to_string()
}

fn weekly() -> Value {
    json!({ "name": "Deliveries of the week", "cadence": { "cron": "0 8 * * MON", "timeZone": "Europe/Berlin" },
        "report": { "source": { "builtin": "delivery-kpis" }, "format": ["html", "csv", "xlsx"],
            "totals": ["delivered", "parked"], "chart": { "kind": "bar", "x": "channel", "y": ["delivered", "parked"] } },
        "recipients": { "list": "management" }, "owner": "jonas", "catchUp": "last" })
}

fn daily() -> Value {
    json!({ "name": "Yesterday at a glance (migration)", "cadence": { "cron": "0 7 * * *", "timeZone": "Pacific/Auckland" },
        "report": { "source": { "builtin": "delivery-kpis" }, "format": ["html", "csv"] },
        "recipients": { "list": "ops" }, "owner": "aroha", "catchUp": "last" })
}

/// Runs the old scheduler beside the demo: it knows the subscriptions that are under a rollout, takes their latest run when
/// it may, and says that it has delivered.
pub fn start_old_scheduler(engine: Engine, wall: Arc<dyn Clock>) {
    tokio::spawn(async move {
        loop {
            wall.sleep_until(wall.now() + LOOKS_EVERY).await;
            if let Err(error) = old_scheduler_pass(&engine, engine.clock.now()).await {
                tracing::debug!(%error, "the simulated old scheduler failed");
            }
        }
    });
}

async fn old_scheduler_pass(engine: &Engine, now: Timestamp) -> Result<(), StoreError> {
    let mut reader = engine.store.read().await?;
    let rows =
        report_subscriptions::page(&mut reader.conn(), &punctual_model::Reach::Everything, "", 100).await?;
    let mut wanted = Vec::new();
    for row in rows.into_iter().filter(|row| !row.paused) {
        let unit = row.business_unit.as_deref();
        let moves = over(&mut reader.conn(), KIND, &row.guid, unit).await?.is_some();
        let Some(subscription) = Subscription::read(&row).ok().filter(|_| moves) else { continue };
        let latest = subscription.cadence.latest_until(now).filter(|one| one.at >= row.created_at);
        let Some(planned) = latest.and_then(|one| subscription.planned(one).ok()) else { continue };
        if run_ownership::get(&mut reader.conn(), planned.key.as_str()).await?.is_none() {
            wanted.push((row, planned));
        }
    }
    drop(reader);
    for (row, planned) in wanted {
        let run = Run {
            workflow: KIND,
            subject_id: &row.guid,
            business_unit: row.business_unit.as_deref(),
            key: planned.key.as_str(),
            kind: RunKind::Scheduled,
            manual_run: None,
        };
        let mut tx = engine.store.begin(Lane::Intake).await?;
        if let Taken::Own(_) = take(&mut tx, now, run, Owner::OldScheduler, "demo").await? {
            let (key, owner) = (planned.key.as_str(), Owner::OldScheduler.as_str());
            let coordinates = r#"{"job":"simulated"}"#;
            let conn = &mut tx.conn();
            run_ownership::report(conn, now, key, owner, OwnershipStatus::DeliveryCreated, Some(coordinates))
                .await?;
        }
        tx.commit().await?;
    }
    Ok(())
}

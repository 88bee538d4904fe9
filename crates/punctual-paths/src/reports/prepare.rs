//! The outside part of a run: taken, fetched, presented, kept. No transaction is open while a query runs, and nothing
//! is made before the run is taken.

use jiff::Timestamp;
use punctual_engine::{Claimed, Engine, EngineError};
use punctual_model::WorkKey;
use punctual_reports::{Asked, FetchFault, Look, Place, Presented, Sources, present};
use punctual_store::{Lane, report_subscriptions, rollouts};
use serde::{Deserialize, Serialize};

use super::{KIND, OWNER_VERSION, RunKey, blob_name, period::Period, plan, subscription::Subscription};
use crate::rollout::{Duty, Owner, Run, Stage, Taken, duty, take};

/// What came of preparing a run, for the decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "camelCase")]
pub enum Prepared {
    /// The subscription is gone, paused or cannot be read; the decision says which.
    Inactive,
    /// Its time is over.
    Missed,
    /// The stage leaves it to the old scheduler.
    NotOurs,
    /// The other side owns it.
    Conflict { owner: String, status: String },
    /// It was delivered before; its coordinates.
    Delivered { coordinates: Option<String> },
    /// It is ours, and there is no table.
    Fault { may_pass: bool, code: String, detail: String },
    /// It is ours, and made.
    Made(Made),
}

/// A report that is ready to go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Made {
    pub html: String,
    pub text: String,
    pub rows: usize,
    pub truncated: bool,
    pub artefacts: Vec<Artefact>,
    pub period_start: Timestamp,
    pub period_end: Timestamp,
    pub started_at: Timestamp,
}

/// A file of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artefact {
    pub name: String,
    pub blob: String,
    pub media_type: String,
    pub bytes: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_id: Option<String>,
    /// Whether it goes out with the message.
    pub sent: bool,
}

pub(super) async fn prepare(
    engine: &Engine,
    sources: &Sources,
    row: &Claimed,
) -> Result<Prepared, EngineError> {
    let Some(run) = RunKey::read(&row.key) else { return Ok(Prepared::Inactive) };
    let now = engine.clock.now();
    let mut reader = engine.store.read().await?;
    let stored = report_subscriptions::by_guids(&mut reader.conn(), vec![run.guid.clone()]).await?.pop();
    let unit = stored.as_ref().and_then(|stored| stored.business_unit.clone());
    let rollout = rollouts::over(&mut reader.conn(), KIND, &run.guid, unit.as_deref()).await?;
    drop(reader);
    let Some(subscription) = stored.and_then(|stored| Subscription::read(&stored).ok()) else {
        return Ok(Prepared::Inactive);
    };
    if !subscription.is_active() {
        return Ok(Prepared::Inactive);
    }
    let ready_at = super::decide::instant(row.ready_at);
    if plan::turn(&subscription, &row.key, ready_at, now, false).missed {
        return Ok(Prepared::Missed);
    }
    if duty(Stage::of(rollout.as_ref()), run.kind) != Duty::Make {
        return Ok(Prepared::NotOurs);
    }
    match own(engine, now, row, &run, unit.as_deref()).await? {
        Taken::Own(owned) if owned.status == "delivery_created" => {
            Ok(Prepared::Delivered { coordinates: owned.coordinates })
        }
        Taken::Own(_) => make(engine, sources, row, &subscription, now).await,
        Taken::Other(other) => Ok(Prepared::Conflict { owner: other.owner, status: other.status }),
        Taken::NotAllowed(_) => Ok(Prepared::NotOurs),
    }
}

/// Takes the run, and commits that before anything is made for it.
async fn own(
    engine: &Engine,
    now: Timestamp,
    row: &Claimed,
    run: &RunKey,
    unit: Option<&str>,
) -> Result<Taken, EngineError> {
    let wanted =
        Run { path: KIND, subject_id: &run.guid, business_unit: unit, key: &row.key, kind: run.kind };
    let mut tx = engine.store.begin(Lane::Settle).await?;
    let taken = take(&mut tx, now, wanted, Owner::AutomationScheduler, OWNER_VERSION).await?;
    tx.commit().await?;
    Ok(taken)
}

async fn make(
    engine: &Engine,
    sources: &Sources,
    row: &Claimed,
    subscription: &Subscription,
    started_at: Timestamp,
) -> Result<Prepared, EngineError> {
    let asked_at = super::decide::instant(row.due_at);
    let Some(period) = subscription.period_of(&row.key, asked_at) else { return Ok(Prepared::Inactive) };
    let (presented, truncated) = match report(engine, sources, subscription, period).await {
        Ok(done) => done,
        Err(FetchFault { may_pass, code, detail }) => {
            return Ok(Prepared::Fault { may_pass, code: code.to_owned(), detail });
        }
    };
    let Ok(key) = WorkKey::parse(&row.key) else { return Ok(Prepared::Inactive) };
    let hash = key.storage_hash();
    let mut artefacts = Vec::with_capacity(presented.files.len());
    for file in presented.files {
        let blob = blob_name(&hash, &file.name);
        artefacts.push(Artefact {
            bytes: file.bytes.len(),
            sent: file.place != Place::Kept,
            content_id: if file.place == Place::Inline { file.content_id } else { None },
            media_type: file.media_type.to_owned(),
            blob: blob.clone(),
            name: file.name,
        });
        engine.blobs.put(&blob, file.bytes).await?;
    }
    Ok(Prepared::Made(Made {
        html: presented.html,
        text: presented.text,
        rows: presented.rows,
        truncated,
        artefacts,
        period_start: period.start,
        period_end: period.end,
        started_at,
    }))
}

/// Fetches and presents a report about a period. Presenting a large table takes a while, so it has a thread of its own.
pub async fn report(
    engine: &Engine,
    sources: &Sources,
    subscription: &Subscription,
    period: Period,
) -> Result<(Presented, bool), FetchFault> {
    let zone = subscription.cadence.zone.clone();
    let asked = Asked {
        period_start: period.start,
        period_end: period.end,
        business_unit: subscription.business_unit.clone(),
        zone: zone.clone(),
        locale: subscription.locale.clone(),
    };
    let table = sources.fetch(&engine.store, &subscription.report, &asked).await?;
    let look = Look {
        title: subscription.name.clone(),
        period_start: period.start,
        period_end: period.end,
        zone,
        locale: subscription.locale.clone(),
    };
    let truncated = table.truncated;
    let definition = subscription.report.clone();
    let presented = tokio::task::spawn_blocking(move || present(&definition, &table, &look)).await;
    presented.map(|presented| (presented, truncated)).map_err(|_| FetchFault {
        may_pass: false,
        code: "report-unpresentable",
        detail: "the report could not be presented".to_owned(),
    })
}

//! The I/O of a run: take ownership, fetch, render, store. No transaction is open during a query, and nothing is generated
//! before the run is owned.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_engine::{Claimed, Engine, EngineError};
use punctual_model::{OwnershipStatus, Reach, ReasonCode, WorkKey, table::Table};
use punctual_reports::{Asked, FetchFault, Look, Place, Presented, Sources, present};
use punctual_store::{Lane, report_subscriptions, rollouts};
use serde::{Deserialize, Serialize};

use super::{
    KIND, OWNER_VERSION, RunKey, blob_name,
    period::Period,
    plan,
    readers::{Readers, Reading},
    subscription::Subscription,
};
use crate::rollout::{Duty, Owner, Run, Stage, Taken, duty, take};

/// What came of preparing a run, for the decision.
#[derive(Clone, Debug, PartialEq)]
pub enum Prepared {
    /// The subscription is gone, paused or cannot be read; the decision says which.
    Inactive,
    /// Its time is over.
    Missed,
    /// The stage leaves it to the old scheduler.
    NotOurs,
    /// The other side owns it.
    Conflict { owner: String, status: OwnershipStatus },
    /// It was delivered before; its coordinates.
    Delivered { coordinates: Option<String> },
    /// It is ours, and there is no table.
    Fault { may_pass: bool, reason: ReasonCode, code: String, detail: String },
    /// It is ours, and made.
    Made(Made),
}

/// A report that is ready to go.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// One for each way of reading that its readers have.
    pub presentations: Vec<Presentation>,
    pub rows: usize,
    pub truncated: bool,
    pub artefacts: Vec<Artefact>,
    pub period_start: Timestamp,
    pub period_end: Timestamp,
    pub started_at: Timestamp,
}

/// A report as it is written for those who read alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Presentation {
    pub reading: Reading,
    pub html: String,
    pub text: String,
}

impl Made {
    /// As it is written for this reading. Somebody who came since it was made gets it as the subscription has it, or as
    /// the first of the others does.
    pub fn presented_for(&self, reading: &Reading, own: &Reading) -> Option<&Presentation> {
        let of = |wanted: &Reading| self.presentations.iter().find(|one| one.reading == *wanted);
        of(reading).or_else(|| of(own)).or(self.presentations.first())
    }

    /// The files that are sent with a presentation.
    pub fn files_of(&self, presentation: &Presentation) -> impl Iterator<Item = &Artefact> {
        let reading = presentation.reading.clone();
        self.artefacts
            .iter()
            .filter(move |file| file.sent && file.reading.as_ref().is_none_or(|of| *of == reading))
    }
}

/// A file of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artefact {
    /// With the language and zone it is written in, where those are not the subscription's.
    pub name: String,
    pub blob: String,
    pub media_type: String,
    pub bytes: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_id: Option<String>,
    /// Whether it is sent with the message.
    pub sent: bool,
    /// What it is called in the message, where that is another name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_as: Option<String>,
    /// How those read for whom it is written; files of older runs do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<Reading>,
}

pub(super) async fn prepare(
    engine: &Engine,
    sources: &Sources,
    row: &Claimed,
) -> Result<Prepared, EngineError> {
    let Some(run) = RunKey::read(&row.key) else { return Ok(Prepared::Inactive) };
    let now = engine.clock.now();
    let mut reader = engine.store.read().await?;
    let stored =
        report_subscriptions::by_guids(&mut reader.conn(), &Reach::Everything, vec![run.guid.clone()])
            .await?
            .pop();
    let unit = stored.as_ref().and_then(|stored| stored.business_unit.clone());
    let rollout = rollouts::over(&mut reader.conn(), KIND, &run.guid, unit.as_deref()).await?;
    drop(reader);
    let Some(subscription) = stored.and_then(|stored| Subscription::read(&stored).ok()) else {
        return Ok(Prepared::Inactive);
    };
    if !subscription.is_active() {
        return Ok(Prepared::Inactive);
    }
    let ready_at = row.ready_at;
    if plan::turn(&subscription, &row.key, ready_at, now, false).missed {
        return Ok(Prepared::Missed);
    }
    if duty(Stage::of(rollout.as_ref()), run.kind_under(rollout.as_ref())) != Duty::Make {
        return Ok(Prepared::NotOurs);
    }
    match own(engine, now, row, &run, unit.as_deref()).await? {
        Taken::Own(owned) if owned.status == OwnershipStatus::DeliveryCreated => {
            Ok(Prepared::Delivered { coordinates: owned.coordinates })
        }
        Taken::Own(_) => make(engine, sources, row, &subscription, now).await,
        // A newer version of this side has it: this node is the one to be updated.
        Taken::Other(other) | Taken::Newer(other) => {
            Ok(Prepared::Conflict { owner: other.owner, status: other.status })
        }
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
    let wanted = Run {
        workflow: KIND,
        subject_id: &run.guid,
        business_unit: unit,
        key: &row.key,
        kind: run.kind,
        manual_run: run.manual_run.as_deref(),
    };
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
    let asked_at = row.due_at;
    let Some(period) = subscription.period_of(&row.key, asked_at) else { return Ok(Prepared::Inactive) };
    let faulty = |fault: FetchFault| {
        let reason = fault.reason();
        let FetchFault { may_pass, code, detail } = fault;
        Ok(Prepared::Fault { may_pass, reason, code: code.to_owned(), detail })
    };
    let table = match fetch(engine, sources, subscription, period).await {
        Ok(table) => Arc::new(table),
        Err(fault) => return faulty(fault),
    };
    let Ok(key) = WorkKey::parse(&row.key) else { return Ok(Prepared::Inactive) };
    let hash = key.storage_hash();
    let own = Reading::own(subscription);
    let mut reader = engine.store.read().await?;
    let readers = Readers::load(&mut reader.conn(), subscription).await?;
    drop(reader);
    let (mut presentations, mut artefacts) = (Vec::new(), Vec::new());
    for reading in readers.readings(own.clone()) {
        let presented = match presented(subscription, table.clone(), period, &reading).await {
            Ok(presented) => presented,
            Err(fault) => return faulty(fault),
        };
        let tag = (reading != own).then(|| reading.tag());
        for file in presented.files {
            let name = tag.as_deref().map_or_else(|| file.name.clone(), |tag| tagged(&file.name, tag));
            let blob = blob_name(&hash, &name);
            artefacts.push(Artefact {
                bytes: file.bytes.len(),
                sent: file.place != Place::Kept,
                content_id: if file.place == Place::Inline { file.content_id } else { None },
                media_type: file.media_type.to_owned(),
                blob: blob.clone(),
                sent_as: tag.is_some().then_some(file.name),
                reading: Some(reading.clone()),
                name,
            });
            engine.blobs.put(&blob, file.bytes).await?;
        }
        presentations.push(Presentation { reading, html: presented.html, text: presented.text });
    }
    Ok(Prepared::Made(Made {
        presentations,
        rows: table.rows.len(),
        truncated: table.truncated,
        artefacts,
        period_start: period.start,
        period_end: period.end,
        started_at,
    }))
}

/// `report-2026-11-02.csv` for those who read in another way: `report-2026-11-02.de.Europe-Berlin.csv`.
fn tagged(name: &str, tag: &str) -> String {
    match name.rsplit_once('.') {
        Some((stem, ending)) => format!("{stem}.{tag}.{ending}"),
        None => format!("{name}.{tag}"),
    }
}

/// Fetches and presents a report about a period, as the subscription has it: for a look at it.
#[boxed]
pub async fn report(
    engine: &Engine,
    sources: &Sources,
    subscription: &Subscription,
    period: Period,
) -> Result<Presented, FetchFault> {
    let table = fetch(engine, sources, subscription, period).await?;
    presented(subscription, Arc::new(table), period, &Reading::own(subscription)).await
}

async fn fetch(
    engine: &Engine,
    sources: &Sources,
    subscription: &Subscription,
    period: Period,
) -> Result<Table, FetchFault> {
    let asked = Asked {
        period_start: period.start,
        period_end: period.end,
        business_unit: subscription.business_unit.clone(),
        zone: subscription.cadence.zone.clone(),
        locale: subscription.locale.clone(),
    };
    sources.fetch(&engine.store, &subscription.report, &asked).await
}

/// Presenting a large table takes a while, so it has its own thread.
async fn presented(
    subscription: &Subscription,
    table: Arc<Table>,
    period: Period,
    reading: &Reading,
) -> Result<Presented, FetchFault> {
    let look = Look {
        title: subscription.name.clone(),
        period_start: period.start,
        period_end: period.end,
        period_zone: subscription.cadence.zone.clone(),
        zone: reading.zone(),
        locale: reading.locale.clone(),
    };
    let definition = subscription.report.clone();
    let presented = tokio::task::spawn_blocking(move || present(&definition, &table, &look)).await;
    presented.map_err(|_| FetchFault {
        may_pass: false,
        code: "report_unpresentable",
        detail: "the report could not be presented".to_owned(),
    })
}

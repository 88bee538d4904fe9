//! The ownership of runs, for an old scheduler that queries, takes and reports them.

use punctual_boxed::boxed;
use punctual_engine::{Actor, Engine};
use punctual_model::{AuditAction, OwnershipStatus};
use punctual_store::{
    Lane, StoreError, report_subscriptions,
    rollouts::{self, RolloutRow},
    run_ownership,
};

use super::{KIND, RunKey};
use crate::rollout::ownership::{Owner, OwnerVersion, OwnershipRow, Run, Taken, take as take_run};

/// A run by its key, with the business unit it belongs to.
pub struct NamedRun {
    pub run: RunKey,
    pub key: String,
    pub unit: Option<String>,
    /// Whether the subscription is one that is known here; an old scheduler may have others.
    pub is_known: bool,
}

/// The run that a key names; `None` for a text that is no key. A subscription that is out of reach is as unknown as one
/// that an old scheduler alone has.
#[boxed]
pub async fn named(engine: &Engine, by: &Actor, key: &str) -> Result<Option<NamedRun>, StoreError> {
    let Some(run) = RunKey::read(key) else { return Ok(None) };
    let mut reader = engine.store.read().await?;
    let row =
        report_subscriptions::by_guids(&mut reader.conn(), &by.reach(), vec![run.guid.clone()]).await?.pop();
    let is_known = row.is_some();
    Ok(Some(NamedRun { run, key: key.to_owned(), unit: row.and_then(|row| row.business_unit), is_known }))
}

/// Who has a run, if anybody, and the rollout it is under.
#[boxed]
pub async fn look(
    engine: &Engine,
    named: &NamedRun,
) -> Result<(Option<OwnershipRow>, Option<RolloutRow>), StoreError> {
    let mut reader = engine.store.read().await?;
    let row = run_ownership::get(&mut reader.conn(), &named.key).await?;
    let rollout = rollouts::over(&mut reader.conn(), KIND, &named.run.guid, named.unit.as_deref()).await?;
    Ok((row, rollout))
}

/// Takes a run for one side, before anything is made for it; returns what came of it and the rollout.
#[boxed]
pub async fn take(
    engine: &Engine,
    named: &NamedRun,
    owner: Owner,
    owner_version: &str,
) -> Result<(Taken, Option<RolloutRow>), StoreError> {
    let run = Run {
        workflow: KIND,
        subject_id: &named.run.guid,
        business_unit: named.unit.as_deref(),
        key: &named.key,
        kind: named.run.kind,
        manual_run: named.run.manual_run.as_deref(),
    };
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let taken = take_run(&mut tx, engine.clock.now(), run, owner, owner_version).await?;
    let rollout = rollouts::over(&mut tx.conn(), KIND, &named.run.guid, named.unit.as_deref()).await?;
    tx.commit().await?;
    Ok((taken, rollout))
}

/// What a side says about a run that it has taken.
#[derive(Clone, Debug)]
pub struct Report {
    pub owner: Owner,
    /// The version that reports, where it says so.
    pub owner_version: Option<String>,
    /// It made nothing and will not: the run is free again.
    pub is_cancelled: bool,
    /// Where to find what was made.
    pub coordinates: Option<String>,
}

/// What came of a report.
#[derive(Debug)]
pub enum Reported {
    Done(OwnershipRow, Option<RolloutRow>),
    /// Nobody has taken the run.
    NotTaken,
    /// It is the other side's, or in a state in which nothing is reported.
    Refused(OwnershipRow),
    /// A newer version of this side has it.
    Newer(OwnershipRow),
}

/// Keeps what a side reports on its run.
#[boxed]
pub async fn report(
    engine: &Engine,
    by: &Actor,
    named: &NamedRun,
    report: &Report,
) -> Result<Reported, StoreError> {
    let now = engine.clock.now();
    let status =
        if report.is_cancelled { OwnershipStatus::Cancelled } else { OwnershipStatus::DeliveryCreated };
    let (key, owner) = (named.key.as_str(), report.owner.as_str());
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let conn = &mut tx.conn();
    if let Some(version) = &report.owner_version {
        let held = run_ownership::lock(conn, vec![key.to_owned()]).await?.pop();
        let is_newer = |row: &OwnershipRow| {
            row.owner == owner && OwnerVersion::new(version).is_below(&OwnerVersion::new(&row.owner_version))
        };
        if let Some(row) = held.filter(is_newer) {
            return Ok(Reported::Newer(row));
        }
    }
    let row = run_ownership::report(conn, now, key, owner, status, report.coordinates.as_deref()).await?;
    let Some(row) = row else {
        return Ok(run_ownership::get(conn, key).await?.map_or(Reported::NotTaken, Reported::Refused));
    };
    let rollout = rollouts::over(conn, KIND, &named.run.guid, named.unit.as_deref()).await?;
    if report.is_cancelled {
        by.audit(&mut tx, now, AuditAction::Cancel, "run-ownership", key, named.unit.as_deref()).await?;
    }
    tx.commit().await?;
    Ok(Reported::Done(row, rollout))
}

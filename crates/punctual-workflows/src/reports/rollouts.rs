//! Rollouts of report subscriptions: the general stages, applied to subscriptions. The API and the console both use this
//! module.

use std::collections::HashSet;

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_engine::{Actor, CommandError, Engine};
use punctual_model::{AuditAction, OwnershipStatus, Reach, RunOutcome};
use punctual_store::{
    Lane, StoreError, report_subscriptions,
    rollouts::{self, RolloutRow},
    run_ownership,
    run_records::{self, StageFigures},
};

use super::{KIND, RunKey};
use crate::rollout::{
    Compared, Duty, Owner, RunKind, Stage, compare, duty,
    stages::{self, Change, Refused, Scope},
};

/// Runs that one comparison reads on each side.
const COMPARED: i64 = 2_000;
/// Subscriptions of a business unit that are checked.
const SUBJECTS: i64 = 10_000;

/// A change of a stage by this person.
pub fn change<'a>(scope: &'a Scope, stage: Stage, confirmed: Vec<String>, by: &'a Actor) -> Change<'a> {
    Change { workflow: KIND, scope, stage, confirmed, selected: None, kind_of, by }
}

/// A key that is none of ours is treated as a planned run, which every lower stage gives back.
fn kind_of(key: &str, rollout: Option<&RolloutRow>) -> RunKind {
    RunKey::read(key).map_or(RunKind::Scheduled, |run| run.kind_under(rollout))
}

/// The rollout of a scope, where there is one.
#[boxed]
pub async fn find(engine: &Engine, scope: &Scope) -> Result<Option<RolloutRow>, StoreError> {
    let (kind, id) = scope.parts();
    let mut reader = engine.store.read().await?;
    rollouts::get(&mut reader.conn(), KIND, kind, id).await
}

/// Whether a rollout of a subscription can be read and changed. One of a subscription that was deleted is there until it is
/// ended: its runs are compared, and the old scheduler may still ask. None begins for it.
#[boxed]
pub async fn is_there(engine: &Engine, scope: &Scope, is_deleted: bool) -> Result<bool, StoreError> {
    Ok(!is_deleted || find(engine, scope).await?.is_some())
}

/// The subscriptions that a rollout is about, deleted ones too: their runs are compared. One of a business unit that has its
/// own rollout goes by that.
#[boxed]
pub async fn subjects(engine: &Engine, scope: &Scope) -> Result<Vec<String>, StoreError> {
    let Scope::BusinessUnit(unit) = scope else { return Ok(vec![scope.parts().1.to_owned()]) };
    let mut reader = engine.store.read().await?;
    let conn = &mut reader.conn();
    let rows = report_subscriptions::of_unit(conn, unit, "", SUBJECTS).await?;
    let mut subjects = Vec::with_capacity(rows.len());
    for row in rows {
        if rollouts::get(conn, KIND, "subject", &row.guid).await?.is_none() {
            subjects.push(row.guid);
        }
    }
    Ok(subjects)
}

/// Sets a stage.
#[boxed]
pub async fn set(engine: &Engine, change: &Change<'_>) -> Result<Result<RolloutRow, Refused>, CommandError> {
    if let Scope::BusinessUnit(unit) = change.scope {
        engine.unit_for(change.by, Some(unit.clone()), "").await?;
    }
    let subjects = subjects(engine, change.scope).await?;
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let set = stages::set(&mut tx, engine.clock.now(), change, subjects).await?;
    if set.is_ok() {
        tx.commit().await?;
    }
    Ok(set)
}

/// Goes back; returns the keys that the old scheduler may take now.
#[boxed]
pub async fn roll_back(
    engine: &Engine,
    change: &Change<'_>,
) -> Result<(RolloutRow, Vec<String>), StoreError> {
    let subjects = subjects(engine, change.scope).await?;
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let back = stages::roll_back(&mut tx, engine.clock.now(), change, subjects).await?;
    tx.commit().await?;
    Ok(back)
}

/// What going back now would give back.
#[boxed]
pub async fn would_give_back(engine: &Engine, scope: &Scope) -> Result<Vec<String>, StoreError> {
    let subjects = subjects(engine, scope).await?;
    let owner = Owner::AutomationScheduler.as_str();
    let mut reader = engine.store.read().await?;
    let conn = &mut reader.conn();
    let taken =
        run_ownership::taken(conn, KIND, owner, Timestamp::MIN, Timestamp::MAX, subjects, COMPARED).await?;
    Ok(taken.into_iter().filter(|row| row.status == OwnershipStatus::Owned).map(|row| row.key).collect())
}

/// Why a rollout was not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotEnded {
    Missing,
    /// The old scheduler is not kept from all runs yet.
    TooEarly(i64),
}

/// Ends a rollout at the cutover: from then on there is no old scheduler, unless a subscription is still under the rollout of
/// its business unit. Then that one's stage counts, and what is the old scheduler's is given back.
#[boxed]
pub async fn end(engine: &Engine, by: &Actor, scope: &Scope) -> Result<Result<(), NotEnded>, StoreError> {
    let (kind, id) = scope.parts();
    let now = engine.clock.now();
    let subjects = subjects(engine, scope).await?;
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let Some(row) = rollouts::lock(&mut tx.conn(), KIND, kind, id).await? else {
        return Ok(Err(NotEnded::Missing));
    };
    if Stage::of(Some(&row)) != Some(Stage::Cutover) {
        return Ok(Err(NotEnded::TooEarly(row.stage)));
    }
    rollouts::delete(&mut tx.conn(), KIND, kind, id).await?;
    let known = report_subscriptions::by_guids(&mut tx.conn(), &Reach::Everything, subjects).await?;
    for one in known {
        let over = rollouts::over(&mut tx.conn(), KIND, &one.guid, one.business_unit.as_deref()).await?;
        if duty(Stage::of(over.as_ref()), RunKind::Scheduled) != Duty::Make {
            stages::hand_back(&mut tx, now, KIND, vec![one.guid], over.as_ref(), kind_of).await?;
        }
    }
    let unit = stages::unit_of(&mut tx, scope).await?;
    let subject = format!("{KIND}/{kind}/{id}");
    by.audit(&mut tx, now, AuditAction::Delete, "rollout", &subject, unit.as_deref()).await?;
    tx.commit().await?;
    Ok(Ok(()))
}

/// The runs that were expected from one moment until before another, against those that the old scheduler has taken. A run
/// belongs to the interval in which it was expected, whenever it was taken; one that was not expected, to that in which it was
/// taken. The last says that there is more than was checked.
#[boxed]
pub async fn comparison(
    engine: &Engine,
    scope: &Scope,
    from: Timestamp,
    to: Timestamp,
) -> Result<(Vec<Compared>, bool), StoreError> {
    let subjects = subjects(engine, scope).await?;
    let mut reader = engine.store.read().await?;
    let conn = &mut reader.conn();
    let expected = run_records::expected(conn, KIND, from, to, subjects.clone(), COMPARED).await?;
    let owner = Owner::OldScheduler.as_str();
    let mut found = run_ownership::taken(conn, KIND, owner, from, to, subjects, COMPARED).await?;
    let full = usize::try_from(COMPARED).unwrap_or(usize::MAX);
    let cut = expected.len() >= full || found.len() >= full;
    // What was taken on the other side of an edge: its partner is found by its key.
    let wanted: HashSet<&str> = expected.iter().map(|row| row.key.as_str()).collect();
    let seen: HashSet<&str> = found.iter().map(|row| row.key.as_str()).collect();
    let away: Vec<String> = wanted.difference(&seen).map(|key| (*key).to_owned()).collect();
    let extra: Vec<String> = seen.difference(&wanted).map(|key| (*key).to_owned()).collect();
    let away = run_ownership::by_keys(conn, away).await?;
    let elsewhere = run_records::by_keys(conn, extra).await?;
    let elsewhere: HashSet<String> =
        elsewhere.into_iter().filter(|row| row.outcome == RunOutcome::Shadow).map(|row| row.key).collect();
    found.retain(|row| !elsewhere.contains(&row.key));
    found.extend(away.into_iter().filter(|row| row.owner == owner));
    let expected: Vec<(String, Timestamp)> = expected.into_iter().map(|row| (row.key, row.due_at)).collect();
    let found: Vec<(String, Timestamp)> = found
        .into_iter()
        .filter(|row| row.status != OwnershipStatus::Cancelled)
        .map(|row| (row.key, row.taken_at))
        .collect();
    Ok((compare(&expected, &found), cut))
}

/// Conflicts, failures and latency by stage, over the runs that were due in an interval.
#[boxed]
pub async fn figures(
    engine: &Engine,
    scope: &Scope,
    from: Timestamp,
    to: Timestamp,
) -> Result<Vec<StageFigures>, StoreError> {
    let subjects = subjects(engine, scope).await?;
    let mut reader = engine.store.read().await?;
    run_records::figures(&mut reader.conn(), KIND, from, to, subjects).await
}

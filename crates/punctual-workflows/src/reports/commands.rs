//! Commands for subscriptions and runs. Each is one transaction, including the audit entry and the plan of the next run.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_engine::{Actor, CommandError, Engine, EnsureOutcome, Ensured, effects, ensure_in};
use punctual_model::{AuditAction, Cause, NotificationStatus, ReasonCode, WorkStatus};
use punctual_store::{
    Lane, Stage as WakeStage, StoreError, Tx, audit, notifications,
    report_subscriptions::{self, SubscriptionRow},
    rollouts,
    work::WorkRow,
};

use super::{
    KIND,
    plan::{self, manual_work},
    reconcile, runs,
    subscription::Subscription,
};
use crate::rollout::{Duty, RunKind, Stage, duty};

/// Why a run was not asked for.
#[derive(Debug, thiserror::Error)]
pub enum NotRun {
    #[error("at its stage this run is made by the old scheduler")]
    OldSchedulers(Stage),
    #[error(transparent)]
    Refused(#[from] CommandError),
}

impl From<StoreError> for NotRun {
    fn from(error: StoreError) -> Self {
        Self::Refused(error.into())
    }
}

fn missing(guid: &str) -> CommandError {
    CommandError::not_found("report subscription", guid)
}

/// Writes a subscription, new or over the version that was read, and plans its next run.
#[boxed]
pub async fn save(
    engine: &Engine,
    by: &Actor,
    row: &SubscriptionRow,
    is_new: bool,
) -> Result<SubscriptionRow, CommandError> {
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let stored = save_in(&mut tx, engine, by, row, is_new).await?;
    tx.commit().await?;
    Ok(stored)
}

/// The same in a transaction of the caller's.
#[boxed]
pub async fn save_in(
    tx: &mut Tx,
    engine: &Engine,
    by: &Actor,
    row: &SubscriptionRow,
    is_new: bool,
) -> Result<SubscriptionRow, CommandError> {
    let now = engine.clock.now();
    let written = match is_new {
        true => report_subscriptions::insert(&mut tx.conn(), now, row).await?,
        false => report_subscriptions::update(&mut tx.conn(), now, row).await?,
    };
    if !written {
        return Err(if is_new { CommandError::taken(&row.guid) } else { CommandError::Stale });
    }
    let stored = replanned(tx, now, by, &row.guid).await?;
    let action = if is_new { AuditAction::Create } else { AuditAction::Change };
    audited(tx, now, by, action, (&row.guid, row.business_unit.as_deref()), None).await?;
    Ok(stored)
}

/// Reads what was just written and plans the next run on it.
async fn replanned(
    tx: &mut Tx,
    now: Timestamp,
    by: &Actor,
    guid: &str,
) -> Result<SubscriptionRow, CommandError> {
    let stored =
        report_subscriptions::lock(&mut tx.conn(), &by.reach(), guid).await?.ok_or_else(|| missing(guid))?;
    let subscription = Subscription::read(&stored).map_err(CommandError::Invalid)?;
    plan::plan_next(tx, now, &subscription).await?;
    Ok(stored)
}

/// Plans the next runs of a business unit's subscriptions again, because its zone has changed: each in its own transaction.
/// Whatever stops this in between is made good by the walk over all subscriptions.
#[boxed]
pub async fn replan_unit(engine: &Engine, unit: &str) -> Result<(), StoreError> {
    let mut after = String::new();
    loop {
        let mut reader = engine.store.read().await?;
        let rows = report_subscriptions::of_unit(&mut reader.conn(), unit, &after, AT_ONCE).await?;
        drop(reader);
        let Some(last) = rows.last() else { return Ok(()) };
        after.clone_from(&last.guid);
        for row in rows.iter().filter(|row| !row.deleted && !row.paused) {
            reconcile::repair(engine, engine.clock.now(), &row.guid).await?;
        }
    }
}

/// Subscriptions of a unit that are read at once.
const AT_ONCE: i64 = 200;

/// A change that touches no field of the definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Pause,
    Resume,
    Transfer(Option<String>),
    Delete,
}

impl Change {
    fn action(&self) -> AuditAction {
        match self {
            Self::Pause => AuditAction::Pause,
            Self::Resume => AuditAction::Resume,
            Self::Transfer(_) => AuditAction::Transfer,
            Self::Delete => AuditAction::Delete,
        }
    }
}

/// Pauses, resumes, transfers or removes a subscription. What waits is ended by the first and the last; what was made
/// stays on record. `seen` is the version that was shown; with another one now nothing is done.
#[boxed]
pub async fn change(
    engine: &Engine,
    by: &Actor,
    guid: &str,
    change: &Change,
    seen: Option<i64>,
) -> Result<SubscriptionRow, CommandError> {
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let row = change_in(&mut tx, engine, by, guid, change, seen).await?;
    tx.commit().await?;
    Ok(row)
}

/// The same in a transaction of the caller's.
#[boxed]
pub async fn change_in(
    tx: &mut Tx,
    engine: &Engine,
    by: &Actor,
    guid: &str,
    change: &Change,
    seen: Option<i64>,
) -> Result<SubscriptionRow, CommandError> {
    let now = engine.clock.now();
    let mut row =
        report_subscriptions::lock(&mut tx.conn(), &by.reach(), guid).await?.ok_or_else(|| missing(guid))?;
    if seen.is_some_and(|seen| seen != row.version) {
        return Err(CommandError::Stale);
    }
    let before = row.owner.clone();
    match change {
        Change::Pause => row.paused = true,
        Change::Resume => row.paused = false,
        Change::Transfer(owner) => row.owner.clone_from(owner),
        Change::Delete => row.deleted = true,
    }
    if !report_subscriptions::update(&mut tx.conn(), now, &row).await? {
        return Err(CommandError::Stale);
    }
    row.version += 1;
    row.updated_at = now;
    match Subscription::read(&row) {
        Ok(subscription) => drop(plan::plan_next(tx, now, &subscription).await?),
        // One that cannot be read any more has nothing planned that would run; it can be stopped all the same.
        Err(faults) if *change == Change::Resume => return Err(CommandError::Invalid(faults)),
        Err(_) => {
            let live = report_subscriptions::live_runs(&mut tx.conn(), vec![guid.to_owned()]).await?;
            let keys = live
                .into_iter()
                .filter(|row| row.status != WorkStatus::Processing)
                .map(|row| row.key)
                .collect();
            effects::deactivate(tx, now, ReasonCode::DefinitionInvalid, keys).await?;
        }
    }
    let data = matches!(change, Change::Transfer(_))
        .then(|| serde_json::json!({ "from": before, "to": row.owner }).to_string());
    audited(tx, now, by, change.action(), (guid, row.business_unit.as_deref()), data).await?;
    Ok(row)
}

/// Asks for a run now, under the id that was made for it: the same id again is the same run.
#[boxed]
pub async fn run_now(
    engine: &Engine,
    by: &Actor,
    guid: &str,
    manual_run: &str,
) -> Result<(WorkRow, EnsureOutcome), NotRun> {
    let now = engine.clock.now();
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let row =
        report_subscriptions::lock(&mut tx.conn(), &by.reach(), guid).await?.ok_or_else(|| missing(guid))?;
    let subscription = Subscription::read(&row).map_err(CommandError::Invalid)?;
    if subscription.paused {
        let state = "paused".to_owned();
        return Err(CommandError::NotAllowed { action: "run", state, allowed: &["resume"] }.into());
    }
    let rollout = rollouts::hold_over(&mut tx.conn(), KIND, guid, row.business_unit.as_deref()).await?;
    if let Some(stage) = Stage::of(rollout.as_ref())
        && duty(Some(stage), RunKind::Manual.under(rollout.as_ref(), Some(manual_run))) != Duty::Make
    {
        return Err(NotRun::OldSchedulers(stage));
    }
    let wanted = manual_work(&subscription, manual_run, now).map_err(|_| {
        CommandError::invalid("/manualRunGuid", "key_invalid", "The id is too long for a key.")
    })?;
    // One that is there keeps its moment: what it reports on follows from when it was asked for.
    let known = punctual_store::work::by_key(&mut tx.conn(), &by.reach(), wanted.key.as_str()).await?;
    if let Some(known) = known {
        let outcome = match known.status {
            WorkStatus::Completed => Some(EnsureOutcome::Completed),
            WorkStatus::Processing => Some(EnsureOutcome::InProgress),
            WorkStatus::Pending => Some(EnsureOutcome::Unchanged),
            WorkStatus::Failed | WorkStatus::Deactivated | WorkStatus::Cancelled => None,
        };
        if let Some(outcome) = outcome {
            return Ok((known, outcome));
        }
    }
    let ensured = ensure_in(&mut tx, now, std::slice::from_ref(&wanted), Cause::Person).await?;
    let data = serde_json::json!({ "key": wanted.key.to_string() }).to_string();
    let about = (guid, row.business_unit.as_deref());
    audited(&mut tx, now, by, AuditAction::RunNow, about, Some(data)).await?;
    tx.raise(WakeStage::Work, now);
    tx.commit().await?;
    let Some(Ensured { id, outcome, .. }) = ensured.into_iter().next() else {
        return Err(missing(guid).into());
    };
    Ok((engine.work_row(&by.reach(), id).await.map_err(CommandError::from)?, outcome))
}

/// A retry of a run. One that is held or has ended without a delivery runs again under the same key and ownership;
/// of one that is delivered, only messages that are parked are retried. Nothing is ever made a second time.
#[boxed]
pub async fn retry(
    engine: &Engine,
    by: &Actor,
    run: &WorkRow,
    seen: Option<i64>,
) -> Result<WorkRow, CommandError> {
    if seen.is_some_and(|seen| seen != run.version) {
        return Err(CommandError::Stale);
    }
    if run.on_hold {
        return engine.release_work(by, run.id, seen).await;
    }
    match run.status {
        WorkStatus::Failed | WorkStatus::Deactivated | WorkStatus::Cancelled => {
            return engine.retry_work(by, run.id, seen).await;
        }
        WorkStatus::Completed => {
            let mut reader = engine.store.read().await?;
            let queued = runs::notifications_of(&mut reader.conn(), run).await?;
            let parked = notifications::by_ids(&mut reader.conn(), &by.reach(), queued).await?;
            drop(reader);
            for row in parked.into_iter().filter(|row| row.status == NotificationStatus::Parked) {
                engine.retry_notification(by, &row.id.to_string(), None).await?;
            }
        }
        // It waits for its next attempt: a person who asks has it retried now.
        WorkStatus::Pending if run.retry_count > 0 => {
            let now = engine.clock.now();
            let mut tx = engine.store.begin(Lane::Intake).await?;
            punctual_store::work::hasten(&mut tx.conn(), now, run.id).await?;
            audited(&mut tx, now, by, AuditAction::Retry, (&run.key, run.business_unit.as_deref()), None)
                .await?;
            tx.raise(WakeStage::Work, now);
            tx.commit().await?;
        }
        // It is due anyway, or under way.
        WorkStatus::Pending | WorkStatus::Processing => {}
    }
    Ok(engine.work_row(&by.reach(), run.id).await?)
}

async fn audited(
    tx: &mut Tx,
    now: Timestamp,
    by: &Actor,
    action: AuditAction,
    (guid, unit): (&str, Option<&str>),
    data: Option<String>,
) -> Result<(), StoreError> {
    let entry = audit::Entry { data, ..audit::Entry::new(action, "report-subscription", guid, unit) };
    by.audit_entry(tx, now, entry).await
}

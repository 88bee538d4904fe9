//! Sets a stage and rolls back. Each is one transaction, including the audit entry.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_engine::{Actor, effects};
use punctual_model::{AuditAction, Reach, ReasonCode};
use punctual_store::{
    StoreError, Tx, audit, report_subscriptions,
    rollouts::{self, RolloutRow},
    run_ownership,
};
use serde_json::{Map, Value, json};

use super::{CHECKLIST, Duty, Owner, RunKind, Stage, duty};

/// The scope of a rollout: one subject, or all subjects of a business unit without their own rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    Subject(String),
    BusinessUnit(String),
}

impl Scope {
    /// As it is stored.
    pub fn parts(&self) -> (&'static str, &str) {
        match self {
            Self::Subject(id) => ("subject", id),
            Self::BusinessUnit(id) => ("business_unit", id),
        }
    }
}

/// A stage that somebody sets.
#[derive(Clone, Debug)]
pub struct Change<'a> {
    pub workflow: &'a str,
    pub scope: &'a Scope,
    pub stage: Stage,
    /// What is confirmed with it, by name.
    pub confirmed: Vec<String>,
    /// The runs that are chosen, at stage 2; nothing chooses all that people ask for.
    pub selected: Option<Vec<String>>,
    /// What kind of run a key names.
    pub kind_of: KindOf,
    pub by: &'a Actor,
}

/// What kind of run a key names, under a rollout that may have a selection of runs.
pub type KindOf = fn(&str, Option<&RolloutRow>) -> RunKind;

/// Why a stage was not set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// These points of the checklist are open.
    Unconfirmed(Vec<&'static str>),
}

/// Sets a stage; whatever is past the design needs the whole checklist. What was taken here, is not delivered
/// and is the old scheduler's at that stage is given back.
#[boxed]
pub async fn set(
    tx: &mut Tx,
    now: Timestamp,
    change: &Change<'_>,
    subjects: Vec<String>,
) -> Result<Result<RolloutRow, Refused>, StoreError> {
    let (scope, id) = change.scope.parts();
    let before = rollouts::lock(&mut tx.conn(), change.workflow, scope, id).await?;
    let mut checklist = checklist(before.as_ref());
    for name in &change.confirmed {
        if !checklist.contains_key(name) {
            checklist.insert(name.clone(), json!({ "by": change.by.name(), "at": now }));
        }
    }
    let open: Vec<&str> =
        CHECKLIST.iter().map(|(name, _)| *name).filter(|name| !checklist.contains_key(*name)).collect();
    if change.stage > Stage::Design && !open.is_empty() {
        return Ok(Err(Refused::Unconfirmed(open)));
    }
    let row = write(tx, now, change, before.as_ref(), checklist, AuditAction::Stage).await?;
    hand_back(tx, now, change.workflow, subjects, Some(&row), change.kind_of).await?;
    Ok(Ok(row))
}

/// Frees for the old scheduler what was taken here, is not delivered and is not made here under this rollout, and ends its
/// rows; returns the keys. What is made here at its stage stays: nobody else would make it.
#[boxed]
pub async fn hand_back(
    tx: &mut Tx,
    now: Timestamp,
    workflow: &str,
    subjects: Vec<String>,
    rollout: Option<&RolloutRow>,
    kind_of: KindOf,
) -> Result<Vec<String>, StoreError> {
    let owner = Owner::AutomationScheduler.as_str();
    let mut given = run_ownership::owned(&mut tx.conn(), workflow, owner, subjects).await?;
    given.retain(|key| duty(Stage::of(rollout), kind_of(key, rollout)) != Duty::Make);
    if given.is_empty() {
        return Ok(Vec::new());
    }
    let mut freed = run_ownership::give_back(&mut tx.conn(), now, workflow, owner, given).await?;
    freed.sort_unstable();
    if !freed.is_empty() {
        // A row that is under way finds its ownership gone when it is decided.
        effects::deactivate(tx, now, ReasonCode::RolledBack, freed.clone()).await?;
    }
    Ok(freed)
}

/// Goes back to an earlier stage: what was taken here and not delivered is free for the old scheduler, and its rows are
/// ended. What was delivered stays delivered. Returns the keys that were given back.
#[boxed]
pub async fn roll_back(
    tx: &mut Tx,
    now: Timestamp,
    change: &Change<'_>,
    subjects: Vec<String>,
) -> Result<(RolloutRow, Vec<String>), StoreError> {
    let (scope, id) = change.scope.parts();
    let before = rollouts::lock(&mut tx.conn(), change.workflow, scope, id).await?;
    let checklist = checklist(before.as_ref());
    let row = write(tx, now, change, before.as_ref(), checklist, AuditAction::RollBack).await?;
    let freed = hand_back(tx, now, change.workflow, subjects, Some(&row), change.kind_of).await?;
    Ok((row, freed))
}

async fn write(
    tx: &mut Tx,
    now: Timestamp,
    change: &Change<'_>,
    before: Option<&RolloutRow>,
    checklist: Map<String, Value>,
    action: AuditAction,
) -> Result<RolloutRow, StoreError> {
    let (scope, id) = change.scope.parts();
    let row = RolloutRow {
        workflow: change.workflow.to_owned(),
        scope: scope.to_owned(),
        scope_id: id.to_owned(),
        stage: change.stage.number(),
        checklist: Value::Object(checklist).to_string(),
        selected_runs: match (change.stage, &change.selected) {
            (Stage::RunNow, Some(runs)) => Some(json!(runs).to_string()),
            _ => None,
        },
        version: before.map_or(1, |before| before.version + 1),
        created_at: before.map_or(now, |before| before.created_at),
        updated_at: now,
    };
    rollouts::put(&mut tx.conn(), now, &row).await?;
    let unit = unit_of(tx, change.scope).await?;
    let subject = format!("{}/{scope}/{id}", change.workflow);
    let entry = audit::Entry {
        from: before.map(|before| before.stage.to_string()),
        to: Some(row.stage.to_string()),
        version: Some(row.version),
        data: row.selected_runs.as_ref().map(|runs| format!("{{\"runs\":{runs}}}")),
        ..audit::Entry::new(action, "rollout", subject, unit.as_deref())
    };
    change.by.audit_entry(tx, now, entry).await?;
    Ok(row)
}

/// The business unit that a rollout is in.
pub(crate) async fn unit_of(tx: &mut Tx, scope: &Scope) -> Result<Option<String>, StoreError> {
    match scope {
        Scope::BusinessUnit(id) => Ok(Some(id.clone())),
        Scope::Subject(id) => {
            let found =
                report_subscriptions::by_guids(&mut tx.conn(), &Reach::Everything, vec![id.clone()]).await?;
            Ok(found.into_iter().next().and_then(|row| row.business_unit))
        }
    }
}

/// What has been confirmed so far.
pub fn checklist(row: Option<&RolloutRow>) -> Map<String, Value> {
    row.and_then(|row| serde_json::from_str(&row.checklist).ok()).unwrap_or_default()
}

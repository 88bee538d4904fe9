//! Updates schedules to match their rules: the second transaction of every edit, and the reconciler.
//!
//! Callers only name the rules. The schedule is computed from the locked rule and the stored subject, so that concurrent edits,
//! repeats and the reconciler reach the same result. The key of a row is derived from the rule and the time, so scheduling
//! twice creates one row.

use std::collections::{BTreeMap, HashMap};

use jiff::{SignedDuration, Timestamp};
use punctual_boxed::boxed;
use punctual_engine::{Engine, EngineError, EnsureOutcome, effects, ensure_in};
use punctual_model::{Cause, InputHash, KeyError, NewWork, Reach, ReasonCode, SyncStatus, Trigger, chain};
use punctual_store::{
    Lane, StoreError, Tx,
    operations::{
        organisations,
        rules::{self, Expected, LiveWork, RuleRow, Synced},
        subjects::{self, SubjectRow},
    },
};
use serde_json::json;

use super::{Input, KIND, Payload, SubjectType, Wanted, key, occurrence_of, organisation_of, topic, wanted};

/// Rules that one pass of the reconciler takes.
const RECONCILED_AT_ONCE: i64 = 100;
/// Work rows whose rules one pass checks: those that come next.
const LOOKED_AT: i64 = 200;
/// How long the reconciler leaves a rule alone that could not be scheduled.
const AGAIN_AFTER: SignedDuration = SignedDuration::from_mins(1);

/// A rule that could not be scheduled, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotSynced {
    pub rule_id: String,
    pub error: String,
}

/// Schedules what these rules want and stops what they do not. It never fails: a rule that cannot be scheduled is marked,
/// reported, and left to the reconciler, and does not keep the others from being scheduled.
#[boxed]
pub async fn sync(engine: &Engine, ids: &[String], cause: Cause) -> Vec<NotSynced> {
    if ids.is_empty() {
        return Vec::new();
    }
    let now = engine.clock.now();
    let Err(together) = sync_all(engine, now, ids, cause).await else { return Vec::new() };
    let mut failed = Vec::new();
    for id in ids {
        // Retry one by one to isolate the failing rule.
        let alone = match ids {
            [_] => Err(chain(&together)),
            _ => sync_all(engine, now, std::slice::from_ref(id), cause).await.map_err(|error| chain(&error)),
        };
        if let Err(error) = alone {
            mark_failed(engine, now, id, &error).await;
            failed.push(NotSynced { rule_id: id.clone(), error });
        }
    }
    failed
}

async fn sync_all(engine: &Engine, now: Timestamp, ids: &[String], cause: Cause) -> Result<(), StoreError> {
    let mut tx = engine.store.begin(Lane::Intake).await?;
    match sync_in(&mut tx, now, ids, cause).await {
        Ok(()) => tx.commit().await,
        Err(error) => {
            tx.rollback().await;
            Err(error)
        }
    }
}

/// A mark that cannot be written either leaves the rule pending, and the reconciler takes it all the same.
async fn mark_failed(engine: &Engine, now: Timestamp, id: &str, error: &str) {
    let marked = async {
        let mut tx = engine.store.begin(Lane::Intake).await?;
        rules::mark_failed(&mut tx.conn(), now, id, error, now + AGAIN_AFTER).await?;
        tx.commit().await
    };
    if let Err(error) = marked.await {
        tracing::debug!(rule.id = id, error = %chain(&error), "a rule that could not be scheduled could not be marked as such");
    }
}

/// What one rule needs.
struct Step<'a> {
    rule: &'a RuleRow,
    wanted: Option<Wanted>,
    work: Option<NewWork>,
}

async fn sync_in(tx: &mut Tx, now: Timestamp, ids: &[String], cause: Cause) -> Result<(), StoreError> {
    let rows = rules::lock(&mut tx.conn(), &Reach::Everything, ids.to_vec()).await?;
    let rows: Vec<RuleRow> = rows.into_iter().filter(|row| row.sync_status != SyncStatus::Synced).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let about = rows.iter().map(|row| row.subject_id.clone()).collect();
    let found = subjects::by_ids(&mut tx.conn(), &Reach::Everything, about).await?;
    let subjects: HashMap<String, SubjectRow> = found.into_iter().map(|row| (row.id.clone(), row)).collect();
    let named = subjects.values().filter_map(|subject| subject.organisation.clone()).collect();
    let organisations = organisations::named(&mut tx.conn(), named).await?;
    let live = rules::live_work(&mut tx.conn(), rows.iter().map(|row| row.id.clone()).collect()).await?;

    let mut steps = Vec::with_capacity(rows.len());
    for rule in &rows {
        let subject = subjects.get(&rule.subject_id);
        let organisation = subject.and_then(|subject| organisation_of(&organisations, subject));
        let wanted = wanted(subject, rule, organisation);
        let work = match &wanted {
            Some(wanted) if !is_over(rule, wanted, now) => {
                Some(work_of(rule, wanted).map_err(|_| StoreError::Stored("operations_rules.id"))?)
            }
            _ => None,
        };
        steps.push(Step { rule, wanted, work });
    }
    stop_others(tx, now, &steps, live).await?;
    let wanted: Vec<NewWork> = steps.iter().filter_map(|step| step.work.clone()).collect();
    let ensured = if wanted.is_empty() { Vec::new() } else { ensure_in(tx, now, &wanted, cause).await? };
    let mut ensured = ensured.into_iter();
    let mut synced = Vec::with_capacity(steps.len());
    for Step { rule, wanted, work } in steps {
        let schedule_id = match work.and_then(|_| ensured.next()) {
            Some(one) if matches!(one.outcome, EnsureOutcome::Conflict { .. }) => {
                return Err(StoreError::Stored("a work row under the key of a rule"));
            }
            Some(one) => Some(one.id),
            None => wanted.as_ref().and(rule.schedule_id),
        };
        synced.push(Synced {
            id: rule.id.clone(),
            schedule_id,
            run_at: wanted.as_ref().map(|wanted| wanted.run_at),
            occurrence: wanted.map(|wanted| wanted.occurrence),
        });
    }
    rules::mark_synced(&mut tx.conn(), now, &synced).await?;
    Ok(())
}

/// An occurrence that was scheduled before and whose moment has passed had its turn: it is not scheduled again, unless somebody
/// has set its date again since then.
fn is_over(rule: &RuleRow, wanted: &Wanted, now: Timestamp) -> bool {
    let is_same = rule.occurrence.as_deref() == Some(wanted.occurrence.as_str());
    is_same && wanted.run_at <= now && rule.dated_at <= wanted.run_at
}

/// Ends the rows of these rules that belong to another moment, and withdraws what they have queued.
async fn stop_others(
    tx: &mut Tx,
    now: Timestamp,
    steps: &[Step<'_>],
    live: Vec<LiveWork>,
) -> Result<(), StoreError> {
    let by_id: HashMap<&str, &Step<'_>> = steps.iter().map(|step| (step.rule.id.as_str(), step)).collect();
    let mut gone: BTreeMap<ReasonCode, Vec<String>> = BTreeMap::new();
    for row in live {
        let Some(step) = by_id.get(row.setting_id.as_str()) else { continue };
        let occurrence = occurrence_of(&row.key).map(|(occurrence, _, _)| occurrence);
        let reason = match &step.wanted {
            Some(wanted) if occurrence.as_deref() == Some(wanted.occurrence.as_str()) => continue,
            Some(_) => ReasonCode::Moved,
            None if step.rule.deleted_at.is_some() => ReasonCode::RuleCanceled,
            None if !step.rule.active => ReasonCode::RuleInactive,
            None => ReasonCode::SubjectMissing,
        };
        gone.entry(reason).or_default().push(row.key);
    }
    for (reason, keys) in gone {
        effects::deactivate(tx, now, reason, keys.clone()).await?;
        effects::withdraw(tx, now, reason, keys).await?;
    }
    Ok(())
}

fn work_of(rule: &RuleRow, wanted: &Wanted) -> Result<NewWork, KeyError> {
    let input = Input {
        topic: topic(&rule.subject_type, rule.kind.as_str()),
        payload: Payload {
            subject_type: SubjectType::parse(&rule.subject_type).unwrap_or(SubjectType::Event),
            subject_id: rule.subject_id.clone(),
            notification_rule_id: rule.id.clone(),
            kind: rule.kind,
        },
        fallback: None,
    };
    Ok(NewWork {
        key: key(&rule.id, &wanted.occurrence, 0)?,
        kind: KIND,
        trigger: Trigger::At,
        business_unit: rule.business_unit.clone(),
        source: Some((rule.subject_type.clone(), rule.subject_id.clone())),
        setting_id: Some(rule.id.clone()),
        due_at: wanted.run_at,
        local: wanted.local.clone(),
        input_hash: InputHash::of_fields(&[
            ("topic", input.topic.as_str().into()),
            ("payload", json!(input.payload)),
        ]),
        input: serde_json::to_string(&input).unwrap_or_default(),
    })
}

/// One bounded pass: rules that are out of step are scheduled, and rows that no rule points to are ended.
#[boxed]
pub async fn reconcile(engine: &Engine, now: Timestamp) -> Result<usize, EngineError> {
    let mut reader = engine.store.read().await?;
    let late = rules::to_sync(&mut reader.conn(), now, RECONCILED_AT_ONCE).await?;
    let expected = rules::expected(&mut reader.conn(), now, LOOKED_AT).await?;
    drop(reader);
    let failed = sync(engine, &late, Cause::Machine).await;
    for NotSynced { rule_id, error } in &failed {
        tracing::warn!(rule.id = rule_id, error, "a rule is still not in sync with its schedule");
    }
    let orphans: Vec<String> = expected.into_iter().filter(is_orphan).map(|row| row.key).collect();
    let mut ended = 0;
    if !orphans.is_empty() {
        let mut tx = engine.store.begin(Lane::Settle).await?;
        ended = effects::deactivate(&mut tx, now, ReasonCode::Orphaned, orphans.clone()).await?;
        effects::withdraw(&mut tx, now, ReasonCode::Orphaned, orphans).await?;
        tx.commit().await?;
    }
    Ok(late.len() - failed.len() + ended)
}

/// A row that waits although its rule is gone or points elsewhere. While a rule is out of step nothing can be said of its
/// rows, and another channel for the same occurrence is none that a rule points to.
fn is_orphan(row: &Expected) -> bool {
    if occurrence_of(&row.key).is_none_or(|(_, step, asked_again)| step > 0 || asked_again) {
        return false;
    }
    match row.sync_status {
        None => true,
        Some(SyncStatus::Synced) => {
            row.deleted_at.is_some() || row.active == Some(false) || row.schedule_id != Some(row.id)
        }
        Some(SyncStatus::Pending | SyncStatus::Failed) => false,
    }
}

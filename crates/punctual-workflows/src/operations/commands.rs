//! Commands for events, tasks and rules. Each writes its rows in one transaction; scheduling follows in a second one, whose
//! failure does not fail the command.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_engine::{Actor, CommandError, Engine, EngineError, OwnUnit};
use punctual_model::{
    AuditAction, Cause,
    delivery_policy::{Handling, HandlingChange},
};
use punctual_store::{
    Lane, StoreError, Tx,
    operations::{
        organisations,
        rules::{self, RuleRow},
        subjects::{self, SubjectRow},
    },
};
use punctual_wire::operations::texts::RuleTexts;

use super::{
    RuleSpec, SubjectType,
    edit::{self, State},
    organisation_of,
    rule::is_same_message,
    spec_of,
    sync::{NotSynced, sync},
    texts,
};
pub use edit::DefaultRule;

/// An event or task that is wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct NewSubject {
    pub id: String,
    pub subject_type: SubjectType,
    pub title: String,
    pub start_at: Option<Timestamp>,
    pub end_at: Option<Timestamp>,
    pub is_all_day: bool,
    pub creator: String,
    pub people: Vec<String>,
    pub organisation: Option<String>,
    pub time_zone: Option<String>,
    pub business_unit: OwnUnit,
    pub ical_uid: Option<String>,
    /// The identity of the series in another calendar that it is a date of.
    pub ical_series: Option<String>,
    pub location: Option<String>,
    pub description: Option<String>,
}

impl NewSubject {
    pub(super) fn row(&self) -> SubjectRow {
        SubjectRow {
            id: self.id.clone(),
            subject_type: self.subject_type.as_str().to_owned(),
            title: self.title.clone(),
            start_at: self.start_at,
            end_at: self.end_at,
            is_all_day: self.is_all_day,
            creator: self.creator.clone(),
            people: serde_json::Value::from(self.people.clone()).to_string(),
            organisation: self.organisation.clone(),
            time_zone: self.time_zone.clone(),
            business_unit: self.business_unit.clone().into_name(),
            ical_uid: self.ical_uid.clone(),
            ical_series: self.ical_series.clone(),
            location: self.location.clone(),
            description: self.description.clone(),
            deleted_at: None,
            version: 1,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
        }
    }
}

/// The outcome of a change: done, refused by the caller, or there is nothing of that id.
#[derive(Debug)]
pub enum Changed<T, E> {
    Done(T),
    Refused(E),
    NotFound,
}

/// Creates events and tasks with the rules they get; those already there stay as they are. Returns how many were new.
#[boxed]
pub async fn create(engine: &Engine, by: &Actor, new: &[NewSubject]) -> Result<usize, EngineError> {
    let now = engine.clock.now();
    let rows: Vec<SubjectRow> = new.iter().map(NewSubject::row).collect();
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let made = subjects::insert(&mut tx.conn(), now, &rows).await?;
    let rows: Vec<SubjectRow> = rows.into_iter().filter(|row| made.contains(&row.id)).collect();
    let named = rows.iter().filter_map(|row| row.organisation.clone()).collect();
    let organisations = organisations::named(&mut tx.conn(), named).await?;
    let mut touched = Vec::new();
    for subject in &rows {
        let organisation = organisation_of(&organisations, subject);
        touched.extend(edit::created(State { subject, organisation }, now, || new_id(engine)));
    }
    rules::put(&mut tx.conn(), now, &touched).await?;
    for row in &rows {
        audited(&mut tx, now, by, AuditAction::Create, row).await?;
    }
    tx.commit().await?;
    for row in &rows {
        schedule(engine, row, touched.iter().filter(|rule| rule.subject_id == row.id)).await;
    }
    Ok(rows.len())
}

/// Changes one; `change` makes the new state of the present one, or refuses.
pub async fn update<E>(
    engine: &Engine,
    by: &Actor,
    id: &str,
    change: impl FnOnce(&SubjectRow) -> Result<SubjectRow, E>,
) -> Result<Changed<SubjectRow, E>, EngineError> {
    let now = engine.clock.now();
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let Some(before) = subjects::lock(&mut tx.conn(), &by.reach(), id).await? else {
        return Ok(Changed::NotFound);
    };
    let after = match change(&before) {
        Ok(after) => after,
        Err(refused) => return Ok(Changed::Refused(refused)),
    };
    let named = [&before.organisation, &after.organisation].into_iter().flatten().cloned().collect();
    let organisations = organisations::named(&mut tx.conn(), named).await?;
    let own = rules::lock_of_subject(&mut tx.conn(), id).await?;
    let touched = edit::changed(
        State { subject: &before, organisation: organisation_of(&organisations, &before) },
        State { subject: &after, organisation: organisation_of(&organisations, &after) },
        own,
        now,
        || new_id(engine),
    );
    subjects::update(&mut tx.conn(), now, &after).await?;
    rules::put(&mut tx.conn(), now, &touched).await?;
    audited(&mut tx, now, by, AuditAction::Change, &after).await?;
    tx.commit().await?;
    schedule(engine, &after, touched.iter()).await;
    Ok(Changed::Done(after))
}

/// Deletes one with all its rules; what was scheduled stops, and what is queued is withdrawn.
pub async fn delete(
    engine: &Engine,
    by: &Actor,
    id: &str,
    may: impl FnOnce(&SubjectRow) -> bool,
) -> Result<bool, EngineError> {
    let now = engine.clock.now();
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let Some(row) = subjects::lock(&mut tx.conn(), &by.reach(), id).await?.filter(may) else {
        return Ok(false);
    };
    let own = rules::lock_of_subject(&mut tx.conn(), id).await?;
    let touched: Vec<RuleRow> = own.into_iter().map(|rule| edit::deleted(rule, now)).collect();
    subjects::delete(&mut tx.conn(), now, id).await?;
    rules::put(&mut tx.conn(), now, &touched).await?;
    audited(&mut tx, now, by, AuditAction::Delete, &row).await?;
    tx.commit().await?;
    schedule(engine, &row, touched.iter()).await;
    Ok(true)
}

/// Why a rule is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleRefused {
    /// The subject has no such date to go by.
    NoDate,
    /// There is one at this date already, or the same one; at most one a date.
    AlreadyThere(String),
    /// More rules than anybody needs.
    TooMany,
}

/// Rules that one event or task may have.
pub const RULES_MAX: usize = 20;

/// Adds a rule to an event or task.
pub async fn add_rule(
    engine: &Engine,
    by: &Actor,
    subject_id: &str,
    rule_id: String,
    wanted: &DefaultRule,
    may: impl FnOnce(&SubjectRow) -> bool,
) -> Result<Changed<RuleRow, RuleRefused>, EngineError> {
    let now = engine.clock.now();
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let subject = subjects::lock(&mut tx.conn(), &by.reach(), subject_id).await?.filter(may);
    let Some(subject) = subject else { return Ok(Changed::NotFound) };
    let own = rules::lock_of_subject(&mut tx.conn(), subject_id).await?;
    if let Some(again) = own.iter().find(|rule| rule.id == rule_id) {
        return Ok(Changed::Done(again.clone()));
    }
    if let Err(refused) = fits(&subject, &own, None, &wanted.rule, &wanted.channels) {
        return Ok(Changed::Refused(refused));
    }
    let row = edit::new_rule(rule_id, &subject, wanted, now);
    rules::put(&mut tx.conn(), now, std::slice::from_ref(&row)).await?;
    audited(&mut tx, now, by, AuditAction::AddRule, &subject).await?;
    tx.commit().await?;
    schedule(engine, &subject, std::iter::once(&row)).await;
    Ok(Changed::Done(rule(engine, by, &row.id).await?.unwrap_or(row)))
}

/// What is to be different about a rule.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleChange {
    pub rule: Option<RuleSpec>,
    pub channels: Option<Vec<String>>,
    pub active: Option<bool>,
    pub handling: HandlingChange,
    /// All texts in place of those that it has.
    pub message: Option<RuleTexts>,
}

/// Changes, pauses or resumes a rule.
#[boxed]
pub async fn change_rule(
    engine: &Engine,
    by: &Actor,
    id: &str,
    change: RuleChange,
) -> Result<Changed<RuleRow, RuleRefused>, EngineError> {
    let now = engine.clock.now();
    let mut tx = engine.store.begin(Lane::Intake).await?;
    // The subject first, as in every edit: two edits at once take their locks in one order.
    let known = rules::by_ids(&mut tx.conn(), &by.reach(), vec![id.to_owned()]).await?.pop();
    let Some(known) = known.filter(|row| row.deleted_at.is_none()) else {
        return Ok(Changed::NotFound);
    };
    let Some(subject) = subjects::lock(&mut tx.conn(), &by.reach(), &known.subject_id).await? else {
        return Ok(Changed::NotFound);
    };
    let own = rules::lock_of_subject(&mut tx.conn(), &subject.id).await?;
    let Some(before) = own.iter().find(|row| row.id == id) else { return Ok(Changed::NotFound) };
    let mut after = before.clone();
    if let Some(spec) = change.rule.clone().or_else(|| spec_of(before).filter(|_| change.channels.is_some()))
    {
        let channels = change.channels.clone().unwrap_or_else(|| texts(&before.channels));
        if let Err(refused) = fits(&subject, &own, Some(id), &spec, &channels) {
            return Ok(Changed::Refused(refused));
        }
    }
    if let Some(spec) = &change.rule {
        after.rule = spec.to_json();
        after.rule_type = spec.type_name().to_owned();
        after.kind = spec.anchor();
    }
    if let Some(channels) = change.channels {
        after.channels = serde_json::Value::from(channels).to_string();
    }
    after.handling = change.handling.of(Handling::read(before.handling.as_deref())).written();
    if let Some(message) = &change.message {
        after.texts = message.written();
    }
    after.active = change.active.unwrap_or(before.active);
    let moves = after.rule != before.rule || after.active != before.active;
    if moves {
        after = edit::pending(after, now);
    }
    rules::put(&mut tx.conn(), now, std::slice::from_ref(&after)).await?;
    audited(&mut tx, now, by, AuditAction::ChangeRule, &subject).await?;
    tx.commit().await?;
    if moves {
        schedule(engine, &subject, std::iter::once(&after)).await;
    }
    Ok(Changed::Done(rule(engine, by, id).await?.unwrap_or(after)))
}

/// Deletes a rule; it stays readable, and nothing more comes of it.
#[boxed]
pub async fn delete_rule(engine: &Engine, by: &Actor, id: &str) -> Result<(), CommandError> {
    let now = engine.clock.now();
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let known = rules::by_ids(&mut tx.conn(), &by.reach(), vec![id.to_owned()]).await?.pop();
    let Some(known) = known.filter(|row| row.deleted_at.is_none()) else {
        return Err(missing(id));
    };
    let Some(subject) = subjects::lock(&mut tx.conn(), &by.reach(), &known.subject_id).await? else {
        return Err(missing(id));
    };
    let own = rules::lock_of_subject(&mut tx.conn(), &subject.id).await?;
    let Some(row) = own.into_iter().find(|row| row.id == id) else { return Err(missing(id)) };
    let row = edit::deleted(row, now);
    rules::put(&mut tx.conn(), now, std::slice::from_ref(&row)).await?;
    audited(&mut tx, now, by, AuditAction::DeleteRule, &subject).await?;
    tx.commit().await?;
    schedule(engine, &subject, std::iter::once(&row)).await;
    Ok(())
}

/// Schedules a rule that is out of step again at once, because a person asked; returns it as it is then.
#[boxed]
pub async fn repair_rule(engine: &Engine, by: &Actor, id: &str) -> Result<RuleRow, CommandError> {
    let now = engine.clock.now();
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let known = rules::lock(&mut tx.conn(), &by.reach(), vec![id.to_owned()]).await?.pop();
    let known = known.ok_or_else(|| missing(id))?;
    rules::mark_pending(&mut tx.conn(), now, id).await?;
    let unit = known.business_unit.as_deref();
    by.audit(&mut tx, now, AuditAction::Retry, "rule", id, unit).await?;
    tx.commit().await?;
    sync(engine, &[id.to_owned()], Cause::Person).await;
    rule(engine, by, id).await?.ok_or_else(|| missing(id))
}

fn missing(id: &str) -> CommandError {
    CommandError::not_found("rule", id)
}

pub(super) fn fits(
    subject: &SubjectRow,
    own: &[RuleRow],
    except: Option<&str>,
    spec: &RuleSpec,
    channels: &[String],
) -> Result<(), RuleRefused> {
    if subject.date(spec.anchor()).is_none() {
        return Err(RuleRefused::NoDate);
    }
    let others = || own.iter().filter(|rule| Some(rule.id.as_str()) != except);
    let at_date = spec.type_name();
    let same = |rule: &&RuleRow| rule.rule_type == at_date && rule.kind == spec.anchor();
    if let (RuleSpec::AtSubjectDate { .. }, Some(there)) = (spec, others().find(same)) {
        return Err(RuleRefused::AlreadyThere(there.id.clone()));
    }
    // The same moment over the same channels is the same message once more.
    let same = |rule: &&RuleRow| {
        spec_of(rule).is_some_and(|own| is_same_message((&own, &texts(&rule.channels)), (spec, channels)))
    };
    if let Some(there) = others().find(same) {
        return Err(RuleRefused::AlreadyThere(there.id.clone()));
    }
    if others().count() >= RULES_MAX {
        return Err(RuleRefused::TooMany);
    }
    Ok(())
}

async fn rule(engine: &Engine, by: &Actor, id: &str) -> Result<Option<RuleRow>, EngineError> {
    let mut reader = engine.store.read().await?;
    Ok(rules::by_ids(&mut reader.conn(), &by.reach(), vec![id.to_owned()]).await?.pop())
}

/// The boundary: what went wrong with scheduling is logged, under `scheduler_errors`, and nowhere else.
pub(super) async fn schedule<'a>(
    engine: &Engine,
    subject: &SubjectRow,
    rules: impl Iterator<Item = &'a RuleRow>,
) {
    let ids: Vec<String> = rules.map(|rule| rule.id.clone()).collect();
    let failed = sync(engine, &ids, Cause::Person).await;
    if failed.is_empty() {
        return;
    }
    let reported: Vec<String> =
        failed.iter().map(|NotSynced { rule_id, error }| format!("{rule_id}: {error}")).collect();
    tracing::warn!(
        scheduler_errors = ?reported,
        subjectType = subject.subject_type,
        subjectId = subject.id,
        "saved, but scheduling failed in part; it is retried"
    );
}

pub(super) fn new_id(engine: &Engine) -> String {
    engine.random.ordered_uuid(engine.clock.now()).to_string()
}

pub(super) async fn audited(
    tx: &mut Tx,
    now: Timestamp,
    by: &Actor,
    action: AuditAction,
    subject: &SubjectRow,
) -> Result<(), StoreError> {
    let subject_kind = if subject.subject_type == "task" { "task" } else { "event" };
    by.audit(tx, now, action, subject_kind, &subject.id, subject.business_unit.as_deref()).await
}

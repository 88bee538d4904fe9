//! Saves an event or task together with its messages, in one transaction.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_engine::{Actor, CommandError, Engine, commands::Seen, keys::digest};
use punctual_model::{AuditAction, Fault};
use punctual_store::{
    Lane,
    operations::{
        organisations,
        rules::{self, RuleRow},
        subjects::{self, SubjectRow},
    },
};
use serde_json::json;

use super::{
    commands::{NewSubject, RuleRefused, audited, fits, new_id, schedule},
    edit::{self, DefaultRule, State},
    organisation_of,
    rule::moment,
    spec_of,
};

/// A message that an event or task is to have.
#[derive(Clone, Debug, PartialEq)]
pub struct WantedRule {
    /// The rule that it is; a new one without.
    pub id: Option<String>,
    pub active: bool,
    pub wanted: DefaultRule,
}

/// What an editor was opened on: another number as soon as the event or one of its messages says something else.
pub fn state_of(subject: &SubjectRow, own: &[RuleRow]) -> i64 {
    let said = own
        .iter()
        .map(|rule| json!([rule.id, rule.rule, rule.channels, rule.texts, rule.handling, rule.active]));
    let state = json!([subject.version, said.collect::<Vec<_>>()]);
    let mut first = [0; 8];
    first.copy_from_slice(&digest(state.to_string().as_bytes())[..8]);
    i64::from_be_bytes(first)
}

/// Saves one, new or known, with exactly these messages; without a list, a new one gets the usual messages and a known one keeps its own. Messages of a
/// known one that are not in the list are removed.
#[boxed]
pub async fn save(
    engine: &Engine,
    by: &Actor,
    seen: Seen,
    new: &NewSubject,
    wanted: Option<&[WantedRule]>,
) -> Result<SubjectRow, CommandError> {
    let now = engine.clock.now();
    let mut tx = engine.store.begin(Lane::Intake).await?;
    let before = subjects::lock(&mut tx.conn(), &by.reach(), &new.id).await?;
    let before = before.filter(|row| row.subject_type == new.subject_type.as_str());
    let own = match &before {
        Some(_) => rules::lock_of_subject(&mut tx.conn(), &new.id).await?,
        None => Vec::new(),
    };
    seen.check(before.as_ref().map(|row| state_of(row, &own)), &new.id)?;
    let after = match &before {
        Some(before) => changed(before, new),
        None => new.row(),
    };
    let named = before.iter().chain([&after]).filter_map(|row| row.organisation.clone()).collect();
    let organisations = organisations::named(&mut tx.conn(), named).await?;
    let state = |subject| State { subject, organisation: organisation_of(&organisations, subject) };
    let touched = match (&before, wanted) {
        (None, None) => edit::created(state(&after), now, || new_id(engine)),
        (Some(before), None) => edit::changed(state(before), state(&after), own, now, || new_id(engine)),
        (before, Some(wanted)) => {
            let before = before.as_ref().map(state);
            let mut ids: Vec<String> = wanted.iter().map(|_| new_id(engine)).collect();
            ids.sort_unstable();
            exactly(before, state(&after), own, wanted, now, ids)?
        }
    };
    match &before {
        Some(_) => {
            subjects::update(&mut tx.conn(), now, &after).await?;
        }
        None => {
            let made = subjects::insert(&mut tx.conn(), now, std::slice::from_ref(&after)).await?;
            CommandError::taken_unless(made.contains(&after.id), &after.id)?;
        }
    }
    rules::put(&mut tx.conn(), now, &touched).await?;
    let action = if before.is_some() { AuditAction::Change } else { AuditAction::Create };
    audited(&mut tx, now, by, action, &after).await?;
    tx.commit().await?;
    schedule(engine, &after, touched.iter()).await;
    Ok(after)
}

/// A known one with what is new about it; whose it is and where it came from stays.
fn changed(before: &SubjectRow, new: &NewSubject) -> SubjectRow {
    let new = new.row();
    SubjectRow {
        title: new.title,
        start_at: new.start_at,
        end_at: new.end_at,
        is_all_day: new.is_all_day,
        creator: new.creator,
        people: new.people,
        organisation: new.organisation,
        time_zone: new.time_zone,
        location: new.location,
        description: new.description,
        ..before.clone()
    }
}

/// The rules to write so that there are exactly those that are wanted.
fn exactly(
    before: Option<State<'_>>,
    after: State<'_>,
    own: Vec<RuleRow>,
    wanted: &[WantedRule],
    now: Timestamp,
    ids: Vec<String>,
) -> Result<Vec<RuleRow>, CommandError> {
    let (mut kept, mut touched, mut faults) = (Vec::<RuleRow>::new(), Vec::new(), Vec::new());
    for (index, (one, id)) in wanted.iter().zip(ids).enumerate() {
        let WantedRule { id: known, active, wanted } = one;
        if let Err(refused) = fits(after.subject, &kept, None, &wanted.rule, &wanted.channels) {
            faults.push(refused_at(index, &refused));
            continue;
        }
        let known = known.as_ref().and_then(|known| own.iter().find(|rule| rule.id == *known));
        let fresh = edit::new_rule(id, after.subject, wanted, now);
        let Some(known) = known else {
            let row = RuleRow { active: *active, ..fresh };
            kept.push(row.clone());
            touched.push(row);
            continue;
        };
        let RuleRow { kind, rule_type, rule, channels, handling, texts, .. } = fresh;
        let row =
            RuleRow { kind, rule_type, rule, channels, handling, texts, active: *active, ..known.clone() };
        let moment_of =
            |state: State<'_>, rule: &RuleRow| moment(state.subject, &spec_of(rule)?, state.organisation);
        let moves = row.active != known.active
            || before.and_then(|before| moment_of(before, known)) != moment_of(after, &row);
        kept.push(row.clone());
        if moves {
            touched.push(edit::pending(row, now));
        } else if row != *known {
            touched.push(row);
        }
    }
    if !faults.is_empty() {
        return Err(CommandError::Invalid(faults));
    }
    let gone = own.into_iter().filter(|rule| kept.iter().all(|one| one.id != rule.id));
    touched.extend(gone.map(|rule| edit::deleted(rule, now)));
    Ok(touched)
}

/// Why one of the messages is not taken, at its place.
fn refused_at(index: usize, refused: &RuleRefused) -> Fault {
    let at = |name: &str| format!("/rules/{index}{name}");
    match refused {
        RuleRefused::NoDate => Fault::new(
            at("/rule/anchor"),
            "state_not_allowed",
            "There is no such date; give it one, or choose the other.",
        ),
        RuleRefused::AlreadyThere(_) => Fault::new(
            at("/rule"),
            "state_not_allowed",
            "There is such a message already, at the same moment.",
        ),
        RuleRefused::TooMany => {
            let detail = format!("At most {} messages.", super::commands::RULES_MAX);
            Fault::new(at("/rule"), "state_not_allowed", detail)
        }
    }
}

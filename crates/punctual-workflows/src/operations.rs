//! Operations: events and tasks that notify participants of their start and end.
//!
//! A rule defines when to notify. Saving an event first writes it and its rules ([`commands`]). Scheduling is a second
//! transaction ([`sync`]); it may fail, because a reconciler finds every rule with an outdated schedule. When a rule is due,
//! [`arrival`] decides the message on the present event, rule and people.

pub mod arrival;
pub mod calendar;
pub mod commands;
pub mod directory;
mod edit;
pub mod feeds;
pub mod import;
mod log;
pub mod preview;
mod reach;
pub mod rule;
pub mod save;
mod settled;
pub mod sync;
mod titles;
pub mod words;
pub mod written;

use punctual_model::{KeyError, KeyParts, WorkKey};
use punctual_store::{
    Named,
    operations::{organisations::OrganisationRow, rules::RuleRow, subjects::SubjectRow},
};
use serde::{Deserialize, Serialize};

pub use arrival::Operations;
pub use punctual_model::Anchor;
pub use reach::{Reach, reach, why_nobody};
pub use rule::{RuleSpec, Wanted, wanted};

/// The kind of a rule's work rows.
pub const KIND: &str = "operations";

/// The channels of a rule that names none.
pub const DEFAULT_CHANNELS: &[&str] = &["email"];

/// What is announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SubjectType {
    Event,
    Task,
}

impl SubjectType {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Task => "task",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Event, Self::Task].into_iter().find(|one| one.as_str() == text)
    }
}

/// What a scheduled row carries: ids alone, so that it is right whatever has changed since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Payload {
    pub subject_type: SubjectType,
    pub subject_id: String,
    pub notification_rule_id: String,
    pub kind: Anchor,
}

/// The input of a work row: the topic, its payload, and which of a person's channels it is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Input {
    pub topic: String,
    pub payload: Payload,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Fallback>,
}

/// Those who could not be reached before, and the position of the channel that is used next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fallback {
    pub step: usize,
    pub people: Vec<String>,
}

/// The topic on which an arrival is published.
pub fn topic(subject_type: &str, kind: &str) -> String {
    format!("operations.{subject_type}.{kind}")
}

/// Between the occurrence and the place of a channel in the key of a second attempt over another one.
const STEP: char = '~';

/// The key of one occurrence; a later step is another channel for those whom the first one did not reach.
pub(crate) fn key(rule_id: &str, occurrence: &str, step: usize) -> Result<WorkKey, KeyError> {
    if step == 0 {
        return WorkKey::operations(rule_id, occurrence);
    }
    WorkKey::operations(rule_id, &format!("{occurrence}{STEP}{step}"))
}

/// The occurrence and step of a key, and whether a person asked for it to be sent again.
pub(crate) fn occurrence_of(key: &str) -> Option<(String, usize, bool)> {
    match WorkKey::parse(key).ok()?.parts() {
        KeyParts::Operations { occurrence, .. } => match occurrence.rsplit_once(STEP) {
            Some((of, step)) => Some((of.to_owned(), step.parse().ok()?, false)),
            None => Some((occurrence, 0, false)),
        },
        KeyParts::SupportRetry { of, .. } => {
            let (occurrence, step, _) = occurrence_of(of.as_str())?;
            Some((occurrence, step, true))
        }
        _ => None,
    }
}

/// The ids of the people of an event or task: its creator first, each once.
pub fn people_of(subject: &SubjectRow) -> Vec<String> {
    let mut people = vec![subject.creator.clone()];
    people.extend(texts(&subject.people));
    let mut seen = std::collections::HashSet::new();
    people.retain(|id| seen.insert(id.clone()));
    people
}

/// The organisation of an event or task, where it belongs to the same business unit or to none.
pub(crate) fn organisation_of<'a>(
    named: &'a Named<OrganisationRow>,
    subject: &SubjectRow,
) -> Option<&'a OrganisationRow> {
    named.get(subject.business_unit.as_deref(), subject.organisation.as_deref()?)
}

/// A stored JSON array of texts.
pub fn texts(json: &str) -> Vec<String> {
    serde_json::from_str(json).unwrap_or_default()
}

/// The rule inside a stored row.
pub fn spec_of(rule: &RuleRow) -> Option<RuleSpec> {
    serde_json::from_str(&rule.rule).ok()
}

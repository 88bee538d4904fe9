//! The effect of an edit on the rules of an event or task: pure, from the states before and after.

use jiff::{SignedDuration, Timestamp};
use punctual_model::SyncStatus;
use punctual_model::delivery_policy::Handling;
use punctual_store::operations::{organisations::OrganisationRow, rules::RuleRow, subjects::SubjectRow};
use punctual_wire::operations::texts::RuleTexts;
use serde::{Deserialize, Serialize};

use super::{
    Anchor, DEFAULT_CHANNELS, rule,
    rule::{RuleSpec, is_same_message},
    spec_of,
};

/// How long a rule may be out of sync before the reconciler schedules it; a save normally schedules it at once.
pub const PENDING_FOR: SignedDuration = SignedDuration::from_mins(1);

/// A rule that is wanted: over which channels, and how its messages are handled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DefaultRule {
    pub rule: RuleSpec,
    pub channels: Vec<String>,
    #[serde(flatten)]
    pub handling: Handling,
    /// What its messages say.
    #[serde(default, skip_serializing_if = "RuleTexts::is_empty")]
    pub message: RuleTexts,
}

impl DefaultRule {
    /// What makes it another message than others.
    pub fn what(&self) -> (&RuleSpec, &[String]) {
        (&self.rule, &self.channels)
    }
}

/// A subject with the organisation it belongs to.
#[derive(Clone, Copy)]
pub struct State<'a> {
    pub subject: &'a SubjectRow,
    pub organisation: Option<&'a OrganisationRow>,
}

impl State<'_> {
    fn moment(&self, spec: &RuleSpec) -> Option<rule::Wanted> {
        rule::moment(self.subject, spec, self.organisation)
    }

    /// What a new one gets: the organisation's own rules, or one at each date.
    pub fn defaults(&self) -> Vec<DefaultRule> {
        let own = self.organisation.and_then(|organisation| organisation.rules.as_deref());
        if let Some(own) = own.and_then(|text| serde_json::from_str::<Vec<DefaultRule>>(text).ok()) {
            // What was stored before doubles were refused is said once.
            let mut once: Vec<DefaultRule> = Vec::with_capacity(own.len());
            for one in own {
                if !once.iter().any(|known| is_same_message(known.what(), one.what())) {
                    once.push(one);
                }
            }
            return once;
        }
        let channels: Vec<String> = DEFAULT_CHANNELS.iter().map(|&word| word.to_owned()).collect();
        Anchor::ALL
            .iter()
            .map(|&anchor| DefaultRule {
                rule: RuleSpec::AtSubjectDate { anchor },
                channels: channels.clone(),
                handling: Handling::default(),
                message: RuleTexts::default(),
            })
            .collect()
    }
}

/// A new rule in its first state: pending, and scheduled nowhere.
pub fn new_rule(id: String, subject: &SubjectRow, wanted: &DefaultRule, now: Timestamp) -> RuleRow {
    let DefaultRule { rule: spec, channels, handling, message } = wanted;
    RuleRow {
        id,
        subject_type: subject.subject_type.clone(),
        subject_id: subject.id.clone(),
        kind: spec.anchor(),
        rule_type: spec.type_name().to_owned(),
        rule: spec.to_json(),
        channels: serde_json::Value::from(channels.clone()).to_string(),
        handling: handling.written(),
        texts: message.written(),
        schedule_id: None,
        occurrence: None,
        run_at: None,
        dated_at: now,
        sync_status: SyncStatus::Pending,
        sync_error: None,
        sync_attempts: 0,
        sync_due_at: Some(now + PENDING_FOR),
        active: true,
        deleted_at: None,
        last_sent_at: None,
        last_sent_occurrence: None,
        business_unit: subject.business_unit.clone(),
        version: 1,
        created_at: now,
        updated_at: now,
    }
}

/// The rule out of step again, because its moment has changed just now.
pub fn pending(mut row: RuleRow, now: Timestamp) -> RuleRow {
    row.dated_at = now;
    row.sync_status = SyncStatus::Pending;
    row.sync_error = None;
    row.sync_due_at = Some(now + PENDING_FOR);
    row
}

/// The rule deleted: it stays readable, and its schedule has to go.
pub fn deleted(row: RuleRow, now: Timestamp) -> RuleRow {
    RuleRow { active: false, deleted_at: Some(now), ..pending(row, now) }
}

/// The rules of a new subject: one for each default that has a date to go by.
pub fn created(state: State<'_>, now: Timestamp, id: impl FnMut() -> String) -> Vec<RuleRow> {
    let mut dated = state.defaults();
    dated.retain(|one| state.subject.date(one.rule.anchor()).is_some());
    made(state.subject, &dated, now, id)
}

/// New rules whose ids are in the order of the rules, although all are made in one moment.
fn made(
    subject: &SubjectRow,
    wanted: &[DefaultRule],
    now: Timestamp,
    mut id: impl FnMut() -> String,
) -> Vec<RuleRow> {
    let mut ids: Vec<String> = wanted.iter().map(|_| id()).collect();
    ids.sort_unstable();
    let rules = wanted.iter().zip(ids);
    rules.map(|(one, id)| new_rule(id, subject, one, now)).collect()
}

/// The rules that an edit touches, as they are to be written; rules whose moment stays are not among them.
pub fn changed(
    before: State<'_>,
    after: State<'_>,
    rules: Vec<RuleRow>,
    now: Timestamp,
    id: impl FnMut() -> String,
) -> Vec<RuleRow> {
    let mut added = after.defaults();
    added.retain(|one| {
        let anchor = one.rule.anchor();
        let is_new = before.subject.date(anchor).is_none() && after.subject.date(anchor).is_some();
        is_new && rules.iter().all(|rule| rule.kind != anchor)
    });
    let mut touched = made(after.subject, &added, now, id);
    for rule in rules {
        let Some(spec) = spec_of(&rule) else { continue };
        if after.subject.date(spec.anchor()).is_none() {
            touched.push(deleted(rule, now));
        } else if before.moment(&spec) != after.moment(&spec) {
            touched.push(pending(rule, now));
        }
    }
    touched
}

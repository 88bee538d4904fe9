//! The caller of a command: the name for the audit log, the business units it is limited to, and the given reason.

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_model::{AuditAction, Reach};
use punctual_store::{Lane, StoreError, Tx, audit};

use super::{CommandError, units::unit_unknown};
use crate::Engine;

/// What is kept of a reason.
const LONGEST_REASON: usize = 1_000;

/// The caller of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    name: String,
    /// The business units they are limited to.
    pub units: Option<Vec<String>>,
    reason: Option<String>,
    is_by_hand: bool,
}

impl Actor {
    /// Somebody without a limit, by the name that the audit gets.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), units: None, reason: None, is_by_hand: false }
    }

    /// The holder of a key; a session has the rights of its key and is the same in the audit.
    pub fn key(name: &str, units: Option<Vec<String>>) -> Self {
        Self { units, ..Self::named(format!("key:{name}")) }
    }

    /// A person with an account, by their email.
    pub fn person(email: &str, units: Option<Vec<String>>) -> Self {
        Self { units, ..Self::named(email) }
    }

    /// A consumer, whose events are limited to its business unit where it has one.
    pub fn consumer(key: &str, unit: Option<String>) -> Self {
        Self { units: unit.map(|unit| vec![unit]), ..Self::named(format!("consumer:{key}")) }
    }

    /// A person with the link to their own preferences.
    pub fn recipient() -> Self {
        Self::named("recipient")
    }

    /// The same, at the console: what a program does as a matter of routine, and the rows themselves prove, is an act when a
    /// person does it by hand.
    #[must_use]
    pub fn by_hand(self) -> Self {
        Self { is_by_hand: true, ..self }
    }

    pub(crate) fn is_by_hand(&self) -> bool {
        self.is_by_hand
    }

    /// The same, with the reason they gave for what they are about to do; an empty one is none.
    #[must_use]
    pub fn because(&self, reason: Option<&str>) -> Self {
        let reason = reason.filter(|reason| !reason.is_empty());
        Self { reason: reason.map(|text| text.chars().take(LONGEST_REASON).collect()), ..self.clone() }
    }

    /// The name in the audit.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The reason they gave.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Whose rows they reach.
    pub fn reach(&self) -> Reach {
        Reach::limited_to(self.units.clone())
    }

    /// Rows of their units, and those that belong to none.
    pub fn may_see(&self, unit: Option<&str>) -> bool {
        unit.is_none() || self.may_touch(unit)
    }

    /// Only rows of their units.
    pub fn may_touch(&self, unit: Option<&str>) -> bool {
        match &self.units {
            None => true,
            Some(units) => unit.is_some_and(|unit| units.iter().any(|own| own == unit)),
        }
    }

    /// Whether they may change a definition: those of their units. One that belongs to everybody is seen by all and
    /// changed by callers without a limit, and another unit's is not there.
    pub fn may_change(
        &self,
        unit: Option<&str>,
        missing: impl FnOnce() -> CommandError,
    ) -> Result<(), CommandError> {
        match (unit, &self.units) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err(CommandError::Shared),
            (Some(_), _) if self.may_touch(unit) => Ok(()),
            (Some(_), _) => Err(missing()),
        }
    }

    /// The business unit of something new: the one given, or the only one that they have. Whether there is such a unit
    /// [`super::Units`] knows.
    pub(super) fn unit_for(
        &self,
        given: Option<String>,
        pointer: &str,
    ) -> Result<Option<String>, CommandError> {
        match (&self.units, given) {
            (None, given) => Ok(given),
            (Some(units), Some(given)) if units.contains(&given) => Ok(Some(given)),
            (Some(_), Some(given)) => Err(unit_unknown(&format!("{pointer}/businessUnit"), &given)),
            (Some(units), None) => match units.as_slice() {
                [only] => Ok(Some(only.clone())),
                _ => {
                    let detail = "`businessUnit` is missing; the key is limited to several.";
                    Err(CommandError::invalid(format!("{pointer}/businessUnit"), "missing_field", detail))
                }
            },
        }
    }

    /// Writes down what they did to what and in which business unit, and why where they said so, in the transaction of the
    /// change.
    #[boxed]
    pub async fn audit(
        &self,
        tx: &mut Tx,
        now: Timestamp,
        action: AuditAction,
        subject_kind: &'static str,
        subject_id: &str,
        business_unit: Option<&str>,
    ) -> Result<(), StoreError> {
        let entry = audit::Entry::new(action, subject_kind, subject_id, business_unit);
        self.audit_entry(tx, now, entry).await
    }

    /// As [`Self::audit`], with what else the entry has; the actor is filled in.
    #[boxed]
    pub async fn audit_entry(
        &self,
        tx: &mut Tx,
        now: Timestamp,
        entry: audit::Entry,
    ) -> Result<(), StoreError> {
        // The entry's own reason is the row's code; what a person said is its own entry.
        let unit = entry.business_unit.as_deref();
        let note = self.reason.as_ref().map(|reason| audit::Entry {
            actor: self.name.clone(),
            reason: Some(reason.clone()),
            ..audit::Entry::new(AuditAction::Note, entry.subject_kind, &entry.subject_id, unit)
        });
        let mut entries = vec![audit::Entry { actor: self.name.clone(), ..entry }];
        entries.extend(note);
        audit::append(&mut tx.conn(), now, &entries).await
    }
}

impl Engine {
    /// Writes down an act that changes no row: what is done to the sandbox, a message sent to try a channel, a look that
    /// somebody asked for. `to` is what it was about beside the subject.
    #[boxed]
    pub async fn record_act(
        &self,
        by: &Actor,
        action: AuditAction,
        subject_kind: &'static str,
        subject_id: &str,
        to: Option<&str>,
    ) -> Result<(), StoreError> {
        let mut tx = self.store.begin(Lane::Intake).await?;
        let entry = audit::Entry {
            data: to.map(|to| serde_json::json!({ "to": to }).to_string()),
            ..audit::Entry::new(action, subject_kind, subject_id, None)
        };
        by.audit_entry(&mut tx, self.clock.now(), entry).await?;
        tx.commit().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limited_caller_changes_what_is_of_its_units_alone() {
        let limited = Actor::key("ann", Some(vec!["nz".to_owned()]));
        let missing = || CommandError::not_found("list", "ops");
        assert!(limited.may_change(Some("nz"), missing).is_ok());
        assert!(matches!(limited.may_change(Some("au"), missing), Err(CommandError::NotFound { .. })));
        assert!(matches!(limited.may_change(None, missing), Err(CommandError::Shared)));
        let everybody = Actor::key("ann", None);
        for unit in [None, Some("au")] {
            assert!(everybody.may_change(unit, missing).is_ok());
        }
        assert_eq!(limited.unit_for(None, "").unwrap().as_deref(), Some("nz"));
        assert!(limited.unit_for(Some("au".to_owned()), "").is_err());
    }

    #[test]
    fn an_empty_reason_is_none_and_a_long_one_is_cut() {
        let ann = Actor::named("ann");
        assert_eq!(ann.because(Some("")), ann);
        let long = ann.because(Some(&"x".repeat(2_000)));
        assert_eq!(long.reason.map(|reason| reason.len()), Some(LONGEST_REASON));
    }
}

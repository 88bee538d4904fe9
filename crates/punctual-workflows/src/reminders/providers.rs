//! The contracts of providers, and their registry. Workers look providers up by name; no switch needs to be extended. A program
//! that embeds Punctual adds its own:
//!
//! ```
//! use std::sync::Arc;
//! use punctual_workflows::reminders::providers::{Case, Parts, Providers, RecipientProvider};
//! use punctual_model::{Audience, ReasonCode};
//! use serde_json::Value;
//!
//! /// `"recipients": {"onCall": "plant-7"}`: whoever is on call there.
//! struct OnCall;
//! impl RecipientProvider for OnCall {
//!     fn name(&self) -> &'static str { "onCall" }
//!     fn resolve(&self, spec: &Value, _case: &Case<'_>, _parts: &Parts<'_>) -> Result<Audience, ReasonCode> {
//!         let plant = spec.as_str().ok_or(ReasonCode::NoRecipients)?;
//!         Ok(Audience::List(format!("on-call-{plant}")))
//!     }
//! }
//!
//! let mut providers = Providers::built_in();
//! providers.recipients.add("onCall", Arc::new(OnCall))?;
//! # Ok::<(), punctual_model::DuplicateKey>(())
//! ```

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};
use punctual_model::{Audience, Fault, KeyError, ReasonCode, Registry, Trigger, WorkKey};
use punctual_store::{reminders::states::StateRow, sources::SourceRow};
use serde_json::Value;

use super::{
    Setting,
    delivery::Standard,
    recipients::{Addresses, Field, List, Lookup},
    triggers,
};

/// A source with its state read.
#[derive(Clone, Debug)]
pub struct Source {
    pub row: SourceRow,
    pub state: Value,
}

impl Source {
    pub fn new(row: SourceRow) -> Self {
        let state = serde_json::from_str(&row.state).unwrap_or(Value::Null);
        Self { row, state }
    }

    /// Whether it counts.
    pub fn is_valid(&self) -> bool {
        self.row.active && !self.row.deleted
    }

    /// The value at a path of a filter (`state.kind`, `businessUnit`) or a JSON pointer into the state.
    pub fn at(&self, path: &str) -> Option<Value> {
        if path.starts_with('/') {
            return self.state.pointer(path).cloned();
        }
        let mut steps = path.split('.');
        let mut found = match steps.next()? {
            "state" => &self.state,
            "businessUnit" => return self.row.business_unit.clone().map(Value::from),
            "active" => return Some(Value::from(self.row.active)),
            "type" => return Some(Value::from(self.row.source_type.as_str())),
            "id" => return Some(Value::from(self.row.source_id.as_str())),
            _ => return None,
        };
        for step in steps {
            found = match found {
                Value::Object(fields) => fields.get(step)?,
                Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        Some(found.clone())
    }
}

/// A local clock: a zone and its name.
#[derive(Clone, Debug)]
pub struct Zone {
    pub name: String,
    pub zone: TimeZone,
}

impl Zone {
    /// The zone of that name; UTC where there is none, so that a reminder is never lost to a missing definition.
    pub fn named(name: Option<&str>) -> Self {
        let zone = name.and_then(|name| punctual_model::local_time::zone(name).ok());
        match (zone, name) {
            (Some(zone), Some(name)) => Self { name: name.to_owned(), zone },
            _ => Self { name: "UTC".to_owned(), zone: TimeZone::UTC },
        }
    }

    pub fn date(&self, at: Timestamp) -> Date {
        self.zone.to_datetime(at).date()
    }
}

/// One setting and one source, with all that a decision about them may look at.
pub struct Case<'a> {
    pub setting: &'a Setting,
    pub source: &'a Source,
    pub zone: &'a Zone,
    /// The state of its measures, for thresholds.
    pub states: &'a [StateRow],
    /// What its children come to, in millionths, where the setting counts some.
    pub children: Option<i64>,
    /// Whether an event of the source is evaluated, as opposed to its stored state.
    pub from_event: bool,
}

/// A row that a trigger wants.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub key: WorkKey,
    /// The key that earlier versions gave the same row, where it is another one: a row that has it keeps it.
    pub formerly: Option<WorkKey>,
    pub due_at: Timestamp,
    /// The local date that it is planned for.
    pub local_date: Date,
    /// The local date that it reminds of, where it is about one.
    pub about: Option<Date>,
    /// Due as soon as it is found out: a row that is there already keeps its moment.
    pub at_once: bool,
    /// Where it is not that of the setting.
    pub trigger: Option<Trigger>,
    /// The local time was in a gap or an overlap.
    pub adjusted: Option<punctual_model::local_time::Adjustment>,
    /// Why it cannot be sent: it becomes a failed row, so that somebody sees it.
    pub fault: Option<ReasonCode>,
}

/// The key of a reminder, or where it would be too long the place that says so. A key is too long for one source, by its
/// id; what would be too long for all of them is refused when the setting is saved.
pub fn placed(setting: &Setting, key: Result<WorkKey, KeyError>) -> Option<(WorkKey, Option<ReasonCode>)> {
    match key {
        Ok(key) => Some((key, None)),
        Err(KeyError::TooLong { digest, .. }) => {
            let place = WorkKey::reminder_too_long(&setting.id, &digest).ok()?;
            Some((place, Some(ReasonCode::KeyTooLong)))
        }
        // Parts are escaped when they are joined: a key of them is neither empty nor has it control characters.
        Err(KeyError::Empty | KeyError::Control { .. }) => None,
    }
}

impl Candidate {
    /// This candidate as the row of that key, if it is the same one.
    pub fn named(self, key: &WorkKey) -> Option<Self> {
        let is_same = self.key == *key || self.formerly.as_ref() == Some(key);
        is_same.then(|| Self { key: key.clone(), ..self })
    }
}

/// What a trigger wants of a case.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    pub candidates: Vec<Candidate>,
    /// Why there are none, or why rows that are not among them are no longer wanted.
    pub reason: Option<ReasonCode>,
    /// The state to be written, where it differs from the one that was given.
    pub state: Option<StateRow>,
    /// What was checked, for those who ask why.
    pub values: Vec<(&'static str, Value)>,
}

impl Wanted {
    pub fn nothing(reason: ReasonCode) -> Self {
        Self { reason: Some(reason), ..Self::default() }
    }
}

/// What a setting counts: children of one type under a field that names their parent.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    pub source_type: String,
    pub parent_field: String,
    pub filter: Option<punctual_model::Filter>,
    /// The field that is summed up; a count without one.
    pub sum: Option<String>,
}

/// What a provider's reconciliation is bounded by. One that lacks a bound is refused at start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanBounds {
    /// Only sources that count.
    pub active_only: bool,
    /// Only what changed since it last looked.
    pub changed_since: bool,
    /// Only rows that become due within so many days.
    pub window_days: Option<u32>,
    /// The business units it may read; an empty list means all, and must be given.
    pub business_units: Option<Vec<String>>,
    /// Sources in one batch.
    pub batch: Option<u32>,
    /// It continues where the last batch ended.
    pub cursor: bool,
}

impl ScanBounds {
    /// The bound that is missing, if one is.
    pub fn missing(&self) -> Option<&'static str> {
        let bounds = [
            (self.active_only, "a source filter (active only)"),
            (self.changed_since, "a changed-since watermark"),
            (self.window_days.is_some_and(|days| days > 0), "a due window"),
            (self.business_units.is_some(), "an allowlist of business units"),
            (self.batch.is_some_and(|rows| (1..=10_000).contains(&rows)), "a batch size"),
            (self.cursor, "a cursor"),
        ];
        bounds.into_iter().find(|(given, _)| !given).map(|(_, what)| what)
    }
}

/// A kind of trigger: what makes a reminder due.
pub trait TriggerProvider: Send + Sync {
    /// The `kind` of its settings.
    fn kind(&self) -> &'static str;
    fn trigger(&self) -> Trigger;
    /// Reads its part of a definition; every fault by its pointer in the whole. `base` is what [`Self::key_base`] returned
    /// when the setting was made.
    fn rule(&self, definition: &Value, base: Option<&Value>) -> Result<Arc<dyn TriggerRule>, Vec<Fault>>;
    /// What the keys of a new setting are measured against, where they depend on what is changed in it later.
    fn key_base(&self, _definition: &Value) -> Option<Value> {
        None
    }
    /// How its reconciliation is bounded.
    fn bounds(&self) -> ScanBounds;
}

/// The trigger of one setting, read. It plans and never resolves recipients.
pub trait TriggerRule: Send + Sync {
    /// Pure: what is wanted of this case, seen from `at`.
    fn wanted(&self, case: &Case<'_>, at: Timestamp) -> Wanted;

    /// The row of this key as it is wanted now, seen from the moment that it was planned for; the reason where it is not
    /// wanted any more.
    fn still_wants(
        &self,
        case: &Case<'_>,
        key: &WorkKey,
        due_at: Timestamp,
    ) -> Result<Candidate, ReasonCode> {
        let wanted = self.wanted(case, due_at);
        let own = wanted.candidates.into_iter().find_map(|candidate| candidate.named(key));
        own.ok_or(wanted.reason.unwrap_or(ReasonCode::NoLongerWanted))
    }

    /// What follows a row, such as the next anniversary: the first one that is due after `now`.
    fn next(&self, _case: &Case<'_>, _now: Timestamp) -> Option<Candidate> {
        None
    }

    /// The state that a reminder that is sent leaves behind.
    fn fired(&self, _case: &Case<'_>) -> Option<StateRow> {
        None
    }

    /// The sources that it counts.
    fn counted(&self) -> Option<&Counted> {
        None
    }

    /// What of a definition enters every key, by its pointer.
    fn key_fields(&self) -> Vec<(&'static str, &str)> {
        Vec::new()
    }

    /// It remembers the state of its measure.
    fn keeps_state(&self) -> bool {
        false
    }

    /// It has something to do on days without events.
    fn is_daily(&self) -> bool {
        false
    }

    /// All of this part as one text in a format that is written out and stays the same from release to release, never
    /// `Debug` text: equal texts mean that nothing moves when a setting is saved.
    fn identity(&self) -> String;
}

/// Says when rows of a case are no longer valid, whatever the trigger.
pub trait InvalidationProvider: Send + Sync {
    fn invalid(&self, case: &Case<'_>) -> Option<ReasonCode>;
}

/// Wants a message at once, beside what is planned.
pub trait ImmediateProvider: Send + Sync {
    /// Pure; asked with every event of a source that is valid for the setting.
    fn immediate(&self, case: &Case<'_>, now: Timestamp) -> Option<Candidate>;
    /// Whether a row of this key is one of its own: nothing but validity is asked of it again.
    fn is_own(&self, key: &WorkKey) -> bool;
}

/// What recipients are resolved from: sources that the case named beforehand.
pub struct Parts<'a> {
    sources: &'a HashMap<(String, String), Source>,
}

impl<'a> Parts<'a> {
    pub fn new(sources: &'a HashMap<(String, String), Source>) -> Self {
        Self { sources }
    }

    /// The source of this type and id that the case's source names, where it belongs to the same business unit. One of the
    /// installation, which has no unit, is for settings of the installation: the author of a unit's setting may not
    /// see it. Another unit's is not there.
    pub fn named_by(&self, case: &Case<'_>, named: &(String, String)) -> Option<&'a Source> {
        let found = |other: &&Source| match &other.row.business_unit {
            None => case.setting.business_unit.is_none(),
            unit => *unit == case.source.row.business_unit,
        };
        self.sources.get(named).filter(found)
    }
}

/// Whom a reminder is for, resolved when it is due.
pub trait RecipientProvider: Send + Sync {
    /// The field of `recipients` that it reads.
    fn name(&self) -> &'static str;
    /// What is wrong with its part of a definition, at `pointer`.
    fn check(&self, _spec: &Value, _pointer: &str) -> Vec<Fault> {
        Vec::new()
    }
    /// The fields of its part, where that is an object: others are refused when a setting is saved.
    fn fields(&self) -> Option<&'static [&'static str]> {
        None
    }
    /// The other source that it has to look at, by type and id.
    fn looks_at(&self, _spec: &Value, _source: &Source) -> Option<(String, String)> {
        None
    }
    fn resolve(&self, spec: &Value, case: &Case<'_>, parts: &Parts<'_>) -> Result<Audience, ReasonCode>;
}

/// How and when a reminder leaves, decided when it is due.
pub trait DeliveryPolicy: Send + Sync {
    fn name(&self) -> &'static str;
    /// Not now but at this instant, as for quiet hours.
    fn waits_until(&self, case: &Case<'_>, at: Timestamp) -> Option<Timestamp>;
    /// The message, for its audience.
    fn message(
        &self,
        case: &Case<'_>,
        occurrence: &super::delivery::Occurrence,
        audience: Audience,
    ) -> punctual_model::NewNotification;
}

/// All providers, by what each is for.
#[derive(Clone)]
pub struct Providers {
    pub triggers: Registry<Arc<dyn TriggerProvider>>,
    pub invalidations: Vec<Arc<dyn InvalidationProvider>>,
    pub immediate: Vec<Arc<dyn ImmediateProvider>>,
    pub recipients: Registry<Arc<dyn RecipientProvider>>,
    pub policies: Registry<Arc<dyn DeliveryPolicy>>,
    /// Other systems' databases that reconciliation reads too.
    pub externals: Vec<super::external::External>,
    /// How the reconciliation of a kind of trigger is bounded, where that is configured.
    pub scans: BTreeMap<String, ScanBounds>,
    /// How often reconciliation looks; at least a minute.
    pub reconcile_every: SignedDuration,
}

impl Providers {
    /// Those that ship: they work from settings over the fields of sources.
    pub fn built_in() -> Self {
        let mut providers = Self {
            triggers: Registry::new("trigger providers"),
            invalidations: vec![Arc::new(BuiltInInvalidation)],
            immediate: vec![Arc::new(super::immediate::FirstState)],
            recipients: Registry::new("recipient providers"),
            policies: Registry::new("delivery policies"),
            externals: Vec::new(),
            scans: BTreeMap::new(),
            reconcile_every: super::reconcile::EVERY,
        };
        for trigger in triggers::built_in() {
            // Names that ship differ from each other; the test below holds them to it.
            let _ = providers.triggers.add(trigger.kind(), trigger);
        }
        let recipients: [Arc<dyn RecipientProvider>; 4] =
            [Arc::new(Addresses), Arc::new(List), Arc::new(Field), Arc::new(Lookup)];
        for provider in recipients {
            let _ = providers.recipients.add(provider.name(), provider);
        }
        let _ = providers.policies.add(Standard.name(), Arc::new(Standard));
        providers
    }

    /// Whether a row is a message at once, and none that was planned.
    pub fn is_immediate(&self, key: &WorkKey) -> bool {
        self.immediate.iter().any(|provider| provider.is_own(key))
    }

    pub fn external(&self, name: &str) -> Option<&super::external::External> {
        self.externals.iter().find(|external| external.name == name)
    }

    /// How the reconciliation of a kind of trigger is bounded: as it is configured, else as the provider declares it.
    pub fn bounds_of(&self, kind: &str) -> Option<ScanBounds> {
        let declared = self.triggers.get(kind)?.bounds();
        Some(self.scans.get(kind).cloned().unwrap_or(declared))
    }

    /// Refuses a trigger whose reconciliation would not be bounded.
    pub fn check_bounds(&self) -> Result<(), UnboundedScan> {
        for kind in self.triggers.keys() {
            if let Some(missing) = self.bounds_of(kind).unwrap_or_default().missing() {
                return Err(UnboundedScan { provider: kind.to_owned(), missing });
            }
        }
        Ok(())
    }
}

impl Default for Providers {
    fn default() -> Self {
        Self::built_in()
    }
}

/// A provider whose reconciliation would look at too much.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the trigger provider `{provider}` does not declare {missing} for its reconciliation")]
pub struct UnboundedScan {
    pub provider: String,
    pub missing: &'static str,
}

/// What ends every reminder: a source or setting that no longer counts, another business unit, a filter.
struct BuiltInInvalidation;

impl InvalidationProvider for BuiltInInvalidation {
    fn invalid(&self, case: &Case<'_>) -> Option<ReasonCode> {
        let (setting, source) = (case.setting, case.source);
        if !setting.is_on() {
            return Some(ReasonCode::ReminderSettingInactive);
        }
        if !source.is_valid() || source.row.source_type != setting.source_type {
            return Some(ReasonCode::SourceNoLongerValid);
        }
        if setting.business_unit.is_some() && setting.business_unit != source.row.business_unit {
            return Some(ReasonCode::OtherBusinessUnit);
        }
        let matches = setting.filter.as_ref().is_none_or(|filter| setting.matches(filter, source));
        (!matches).then_some(ReasonCode::FilterFalse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_ships_is_registered_and_bounded() {
        let providers = Providers::built_in();
        assert_eq!(providers.triggers.keys().count(), triggers::built_in().len());
        assert_eq!(providers.recipients.keys().collect::<Vec<_>>(), ["addresses", "field", "list", "lookup"]);
        assert_eq!(providers.policies.keys().collect::<Vec<_>>(), ["standard"]);
        assert_eq!(providers.check_bounds(), Ok(()));
    }

    #[test]
    fn a_provider_without_one_of_the_six_bounds_is_refused() {
        let whole = ScanBounds {
            active_only: true,
            changed_since: true,
            window_days: Some(30),
            business_units: Some(Vec::new()),
            batch: Some(500),
            cursor: true,
        };
        assert_eq!(whole.missing(), None);
        let lacking = [
            ScanBounds { active_only: false, ..whole.clone() },
            ScanBounds { changed_since: false, ..whole.clone() },
            ScanBounds { window_days: None, ..whole.clone() },
            ScanBounds { business_units: None, ..whole.clone() },
            ScanBounds { batch: Some(0), ..whole.clone() },
            ScanBounds { cursor: false, ..whole },
        ];
        for bounds in lacking {
            assert!(bounds.missing().is_some(), "{bounds:?}");
        }
    }
}

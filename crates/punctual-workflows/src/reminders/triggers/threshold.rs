//! Thresholds: compares a metric of the source with a value whenever the source, or a source that it counts, changes.
//!
//! The state of a firing policy is one small row per setting, source, metric and scope, written with the source: whether the
//! threshold is met, how often it has been crossed, and whether a reminder was sent.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_model::{Fault, KeyParts, ReasonCode, Trigger, WorkKey};
use punctual_store::reminders::states::StateRow;
use serde_json::{Value, json};

use super::{bounds, key_base::KeyBase, metric::Metric, part};
use crate::reminders::providers::{
    Candidate, Case, Counted, ScanBounds, TriggerProvider, TriggerRule, Wanted, placed,
};

pub struct Threshold;

/// How often a threshold that stays met, or is met again, may fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Firing {
    /// Once for the source, whatever the value becomes.
    OncePerSource,
    /// Once for this value; another value is another reminder.
    OncePerThreshold,
    /// Once on each local day on which it is met.
    OncePerDay,
    /// Every time it goes from not met to met.
    FalseToTrue,
}

impl Firing {
    pub const ALL: [(&'static str, Self); 4] = [
        ("OncePerSource", Self::OncePerSource),
        ("OncePerThreshold", Self::OncePerThreshold),
        ("OncePerDay", Self::OncePerDay),
        ("FalseToTrue", Self::FalseToTrue),
    ];

    fn as_str(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, firing)| *firing == self).map_or("", |(name, _)| name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    AtLeast,
    Above,
    AtMost,
    Below,
}

impl Op {
    pub(super) const ALL: [(&'static str, Self); 4] =
        [(">=", Self::AtLeast), (">", Self::Above), ("<=", Self::AtMost), ("<", Self::Below)];

    fn word(self) -> &'static str {
        match self {
            Self::AtLeast => "AtLeast",
            Self::Above => "Above",
            Self::AtMost => "AtMost",
            Self::Below => "Below",
        }
    }

    fn is_met(self, value: f64, threshold: f64) -> bool {
        match self {
            Self::AtLeast => value >= threshold,
            Self::Above => value > threshold,
            Self::AtMost => value <= threshold,
            Self::Below => value < threshold,
        }
    }
}

/// `"threshold": {"metric": …, "op": ">=", "value": 0.9, "firingPolicy": "FalseToTrue", "scope": "all"}`.
#[derive(Clone, Debug)]
struct Crossing {
    metric: Metric,
    metric_key: String,
    op: Op,
    value: f64,
    firing: Firing,
    scope: String,
}

impl TriggerProvider for Threshold {
    fn kind(&self) -> &'static str {
        "threshold"
    }

    fn trigger(&self) -> Trigger {
        Trigger::Threshold
    }

    fn rule(&self, definition: &Value, base: Option<&Value>) -> Result<Arc<dyn TriggerRule>, Vec<Fault>> {
        let part = part(definition, "threshold")?;
        let mut faults = Vec::new();
        let metric =
            Metric::read(part.get("metric").unwrap_or(&Value::Null), "/threshold/metric", &mut faults);
        let word = |name: &str| part.get(name).and_then(Value::as_str).unwrap_or_default();
        let choose = |name: &str, words: &[&str]| {
            let detail = format!("`{name}` takes `{}`.", words.join("`, `"));
            Fault::new(format!("/threshold/{name}"), "out_of_range", detail)
        };
        let op = Op::ALL.into_iter().find(|(name, _)| *name == word("op")).map(|(_, op)| op);
        if op.is_none() {
            faults.push(choose("op", &Op::ALL.map(|(name, _)| name)));
        }
        let firing = Firing::ALL.into_iter().find(|(name, _)| *name == word("firingPolicy"));
        if firing.is_none() {
            faults.push(choose("firingPolicy", &Firing::ALL.map(|(name, _)| name)));
        }
        let value = part.get("value").and_then(Value::as_f64);
        if value.is_none() {
            faults.push(Fault::new("/threshold/value", "wrong_type", "`value` takes a number."));
        }
        let scope = Some(word("scope")).filter(|scope| !scope.is_empty()).unwrap_or("all").to_owned();
        match (metric, op, firing, value) {
            (Some(metric), Some(op), Some((_, firing)), Some(value)) if faults.is_empty() => {
                let metric_key = KeyBase::read(base, &metric).metric_key(&metric, op);
                Ok(Arc::new(Crossing { metric_key, metric, op, value, firing, scope }))
            }
            _ => Err(faults),
        }
    }

    /// Measured against `>=` and no filter; where children are found enters keys only once it is changed.
    fn key_base(&self, definition: &Value) -> Option<Value> {
        let metric = Metric::read(definition.pointer("/threshold/metric")?, "", &mut Vec::new())?;
        Some(KeyBase::read(None, &metric).written())
    }

    fn bounds(&self) -> ScanBounds {
        bounds()
    }
}

impl TriggerRule for Crossing {
    fn wanted(&self, case: &Case<'_>, at: Timestamp) -> Wanted {
        let value = self.metric.value(case);
        let mut wanted = Wanted {
            values: vec![
                ("metric", json!(self.metric_key)),
                ("value", json!(value)),
                ("threshold", json!(self.value)),
            ],
            ..Wanted::default()
        };
        let met = value.is_some_and(|value| self.op.is_met(value, self.value));
        let before =
            case.states.iter().find(|state| state.metric == self.metric_key && state.scope == self.scope);
        let was_met = before.is_some_and(|state| state.met);
        let fired = before.is_some_and(|state| state.fired);
        let mut crossing = before.map_or(0, |state| state.crossing);
        if met && !was_met {
            crossing += 1;
        }
        let value_text = value.map(|value| value.to_string());
        let changed = before
            .is_none_or(|state| (state.met, state.crossing, &state.value) != (met, crossing, &value_text));
        // Nothing to remember about what has never been met.
        if changed && (met || before.is_some()) {
            wanted.state = Some(self.state(case, met, crossing, fired, value_text));
        }
        if !met {
            let is_missing = value.is_none();
            wanted.reason =
                Some(if is_missing { ReasonCode::MetricMissing } else { ReasonCode::ThresholdNotMet });
            return wanted;
        }
        if self.firing == Firing::OncePerSource && fired {
            wanted.reason = Some(ReasonCode::ThresholdAlreadyFired);
            return wanted;
        }
        wanted.reason = Some(ReasonCode::NoLongerWanted);
        wanted.candidates.extend(self.candidate(case, crossing, at));
        wanted
    }

    fn still_wants(
        &self,
        case: &Case<'_>,
        key: &WorkKey,
        due_at: Timestamp,
    ) -> Result<Candidate, ReasonCode> {
        let met = self.metric.value(case).is_some_and(|value| self.op.is_met(value, self.value));
        if !met {
            return Err(ReasonCode::ThresholdNotMet);
        }
        // Day and crossing belong to the row's own firing; what must agree is what is measured, and how.
        match key.parts() {
            KeyParts::ReminderThreshold {
                metric_key,
                threshold_value,
                firing_policy,
                trigger_key,
                scope_key,
                ..
            } if metric_key == self.metric_key
                && threshold_value == self.value.to_string()
                && firing_policy == self.firing.as_str()
                && trigger_key == case.setting.trigger_key
                && self.is_own_scope(&scope_key) =>
            {
                Ok(at_once(case, due_at, key.clone(), None))
            }
            _ => Err(ReasonCode::NoLongerWanted),
        }
    }

    fn fired(&self, case: &Case<'_>) -> Option<StateRow> {
        Some(self.state(case, true, 0, true, None))
    }

    fn counted(&self) -> Option<&Counted> {
        self.metric.counted()
    }

    fn key_fields(&self) -> Vec<(&'static str, &str)> {
        vec![("/threshold/metric", &self.metric_key), ("/threshold/scope", &self.scope)]
    }

    fn keeps_state(&self) -> bool {
        true
    }

    fn is_daily(&self) -> bool {
        self.firing == Firing::OncePerDay
    }

    fn identity(&self) -> String {
        let Self { metric, metric_key, op, value, firing, scope } = self;
        let (metric, op, firing) = (metric.identity(), op.word(), firing.as_str());
        format!(
            "Crossing {{ metric: {metric}, metric_key: {metric_key:?}, op: {op}, value: {value:?}, firing: {firing}, scope: {scope:?} }}"
        )
    }
}

fn at_once(case: &Case<'_>, at: Timestamp, key: WorkKey, fault: Option<ReasonCode>) -> Candidate {
    Candidate {
        key,
        formerly: None,
        due_at: at,
        local_date: case.zone.date(at),
        about: None,
        at_once: true,
        trigger: None,
        adjusted: None,
        fault,
    }
}

impl Crossing {
    /// Whether a row's scope is that of the setting, on any day and at any crossing.
    fn is_own_scope(&self, scope_key: &str) -> bool {
        let rest = scope_key.strip_prefix(&self.scope);
        rest.is_some_and(|rest| match self.firing {
            Firing::OncePerSource | Firing::OncePerThreshold => rest.is_empty(),
            Firing::OncePerDay => rest.starts_with('@'),
            Firing::FalseToTrue => rest.starts_with('#'),
        })
    }

    fn candidate(&self, case: &Case<'_>, crossing: i64, at: Timestamp) -> Option<Candidate> {
        let local_date = case.zone.date(at);
        let scope_key = match self.firing {
            Firing::OncePerSource | Firing::OncePerThreshold => self.scope.clone(),
            Firing::OncePerDay => format!("{}@{local_date}", self.scope),
            Firing::FalseToTrue => format!("{}#{crossing}", self.scope),
        };
        let (setting, source) = (case.setting, &case.source.row);
        let key = WorkKey::reminder_threshold(
            &setting.id,
            &source.source_type,
            &source.source_id,
            &setting.trigger_key,
            &self.metric_key,
            &self.value.to_string(),
            self.firing.as_str(),
            &scope_key,
        );
        let (key, fault) = placed(setting, key)?;
        Some(at_once(case, at, key, fault))
    }

    fn state(
        &self,
        case: &Case<'_>,
        met: bool,
        crossing: i64,
        fired: bool,
        value: Option<String>,
    ) -> StateRow {
        StateRow {
            setting_id: case.setting.id.clone(),
            source_id: case.source.row.source_id.clone(),
            metric: self.metric_key.clone(),
            scope: self.scope.clone(),
            met,
            crossing,
            fired,
            value,
        }
    }
}

//! The base of threshold keys. The operator, the filter over children and the parent field are part of a key only if they
//! differ from the base of the setting. Keys and states of a setting therefore stay the same across versions, and a setting
//! with a changed comparison fires again.

use punctual_model::{Filter, InputHash};
use serde_json::{Value, json};

use super::{metric::Metric, threshold::Op};

/// The parts of a threshold that were left out of its keys when the setting was made.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KeyBase {
    op: Op,
    /// The digest of the filter.
    filter: Option<String>,
    parent_field: Option<String>,
}

impl KeyBase {
    /// Reads a stored base: one that was written with the setting, or the threshold as it was when there were none yet.
    /// Without one, `>=` and what is measured now.
    pub(super) fn read(base: Option<&Value>, present: &Metric) -> Self {
        let op = base.and_then(|base| base.get("op")).and_then(Value::as_str);
        let op = Op::ALL.into_iter().find(|(name, _)| Some(*name) == op).map_or(Op::AtLeast, |(_, op)| op);
        let text = |name: &str| base.and_then(|base| base.get(name)).and_then(Value::as_str);
        let metric = base.and_then(|base| base.get("metric"));
        match metric.and_then(|metric| Metric::read(metric, "", &mut Vec::new())) {
            Some(first) => Self { op, filter: filter_of(&first), parent_field: parent_of(&first) },
            None => Self {
                op,
                filter: text("where").map(str::to_owned),
                parent_field: text("parentField").map(str::to_owned).or_else(|| parent_of(present)),
            },
        }
    }

    pub(super) fn written(&self) -> Value {
        json!({ "op": word(self.op), "where": self.filter, "parentField": self.parent_field })
    }

    /// The name of a measure in keys and states.
    pub(super) fn metric_key(&self, metric: &Metric, op: Op) -> String {
        let mut key = metric.key();
        if op != self.op {
            key.push_str(word(op));
        }
        let filter = filter_of(metric);
        if filter != self.filter {
            key.push('?');
            key.push_str(filter.as_deref().unwrap_or("none"));
        }
        if let Some(parent) = parent_of(metric).filter(|parent| self.parent_field.as_ref() != Some(parent)) {
            key.push('^');
            key.push_str(&parent);
        }
        key
    }
}

fn word(op: Op) -> &'static str {
    Op::ALL.into_iter().find(|(_, known)| *known == op).map_or("", |(name, _)| name)
}

fn parent_of(metric: &Metric) -> Option<String> {
    metric.counted().map(|counted| counted.parent_field.clone())
}

fn filter_of(metric: &Metric) -> Option<String> {
    let filter = metric.counted()?.filter.as_ref().map(Filter::identity)?;
    Some(InputHash::of(&Value::from(filter)).to_string().chars().take(12).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(spec: &Value) -> Metric {
        Metric::read(spec, "", &mut Vec::new()).unwrap()
    }

    #[test]
    fn a_key_has_what_differs_from_its_base() {
        let plain = metric(&json!({ "field": "/stock" }));
        let new = KeyBase::read(None, &plain);
        assert_eq!(new.metric_key(&plain, Op::AtLeast), "/stock");
        assert_eq!(new.metric_key(&plain, Op::AtMost), "/stock<=");
        // As it was before there were bases: the operator that it had stays out of its keys.
        let old = KeyBase::read(Some(&json!({ "op": "<=", "metric": { "field": "/stock" } })), &plain);
        assert_eq!(old.metric_key(&plain, Op::AtMost), "/stock");
        assert_eq!(old.metric_key(&plain, Op::AtLeast), "/stock>=");
    }

    #[test]
    fn children_are_distinguished_by_filter_and_parent() {
        let count = |parent: &str, status: Option<&str>| {
            let filter =
                status.map(|status| json!({ "questionId": "state.status", "op": "==", "value": status }));
            json!({ "count": { "sourceType": "booking", "parentField": parent, "where": filter } })
        };
        let (plain, open) = (metric(&count("/class", None)), metric(&count("/class", Some("open"))));
        let base = KeyBase::read(None, &plain).written();
        let base = KeyBase::read(Some(&base), &plain);
        assert_eq!(base.metric_key(&plain, Op::AtLeast), "count(booking)");
        let keys = [
            base.metric_key(&open, Op::AtLeast),
            base.metric_key(&metric(&count("/class", Some("held"))), Op::AtLeast),
            base.metric_key(&metric(&count("/room", None)), Op::AtLeast),
        ];
        assert!(keys[0].starts_with("count(booking)?") && keys[0] != keys[1], "{keys:?}");
        assert_eq!(keys[2], "count(booking)^/room");
        // Made with a filter before there were bases.
        let old = json!({ "op": ">=", "metric": count("/class", Some("open")) });
        let old = KeyBase::read(Some(&old), &plain);
        assert_eq!(old.metric_key(&open, Op::AtLeast), "count(booking)");
        assert_eq!(old.metric_key(&plain, Op::AtLeast), "count(booking)?none");
    }
}

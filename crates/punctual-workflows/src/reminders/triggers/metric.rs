//! Metrics of a source: a field, a share of two terms, or a count or sum over its children.

use punctual_model::{Fault, Filter, object::Object};
use serde_json::Value;

use super::check_pointer;
use crate::reminders::providers::{Case, Counted};

/// One million stands for one, so that counts and amounts are added exactly.
pub const MILLION: i64 = 1_000_000;

/// How a measure is worked out.
#[derive(Clone, Debug, PartialEq)]
pub enum Metric {
    One(Term),
    Share(Term, Term),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    Field(String),
    Children(Counted),
}

impl Metric {
    /// Reads `{"field": …}`, `{"share": […, …]}`, `{"count": {…}}` or `{"sum": {…}}`.
    pub fn read(value: &Value, at: &str, faults: &mut Vec<Fault>) -> Option<Self> {
        if let Some(terms) = value.get("share") {
            let at = format!("{at}/share");
            let Some([first, second]) = terms.as_array().map(Vec::as_slice) else {
                let detail = "`share` takes two terms: what is there, and what there may be.";
                faults.push(Fault::new(at, "wrong_type", detail));
                return None;
            };
            let first = Term::read(first, &format!("{at}/0"), faults);
            let second = Term::read(second, &format!("{at}/1"), faults);
            if let (Some(Term::Children(_)), Some(Term::Children(_))) = (&first, &second) {
                let detail = "Only one of the two terms may be counted over other sources.";
                faults.push(Fault::new(format!("{at}/1"), "field_conflict", detail));
            }
            return Some(Self::Share(first?, second?));
        }
        Term::read(value, at, faults).map(Self::One)
    }

    /// Its name in keys: what is measured, never a value.
    pub fn key(&self) -> String {
        match self {
            Self::One(term) => term.key(),
            Self::Share(part, whole) => format!("share({},{})", part.key(), whole.key()),
        }
    }

    /// All of it as one text, for the identity of a trigger.
    pub(super) fn identity(&self) -> String {
        match self {
            Self::One(term) => format!("One({})", term.identity()),
            Self::Share(part, whole) => format!("Share({}, {})", part.identity(), whole.identity()),
        }
    }

    pub fn counted(&self) -> Option<&Counted> {
        let terms = match self {
            Self::One(term) => vec![term],
            Self::Share(part, whole) => vec![part, whole],
        };
        terms.into_iter().find_map(|term| match term {
            Term::Children(counted) => Some(counted),
            Term::Field(_) => None,
        })
    }

    /// The value of a case; none where a part is missing or the whole is nothing.
    pub fn value(&self, case: &Case<'_>) -> Option<f64> {
        match self {
            Self::One(term) => term.value(case),
            Self::Share(part, whole) => {
                let (part, whole) = (part.value(case)?, whole.value(case)?);
                (whole != 0.0).then(|| part / whole)
            }
        }
    }
}

impl Term {
    fn read(value: &Value, at: &str, faults: &mut Vec<Fault>) -> Option<Self> {
        if let Some(pointer) = value.as_str() {
            check_pointer(pointer, at, faults);
            return Some(Self::Field(pointer.to_owned()));
        }
        if let Some(pointer) = value.get("field") {
            check_pointer(pointer.as_str().unwrap_or_default(), &format!("{at}/field"), faults);
            return Some(Self::Field(pointer.as_str()?.to_owned()));
        }
        for (name, is_sum) in [("count", false), ("sum", true)] {
            if let Some(part) = value.get(name) {
                return counted(part, &format!("{at}/{name}"), is_sum, faults).map(Self::Children);
            }
        }
        let detail = "A metric is `{\"field\": \"/booked\"}`, `{\"share\": [\"/booked\", \"/capacity\"]}`, `{\"count\": {…}}` or `{\"sum\": {…}}`.";
        faults.push(Fault::new(at, "wrong_type", detail));
        None
    }

    fn key(&self) -> String {
        match self {
            Self::Field(pointer) => pointer.clone(),
            Self::Children(counted) => match &counted.sum {
                None => format!("count({})", counted.source_type),
                Some(field) => format!("sum({}{field})", counted.source_type),
            },
        }
    }

    fn identity(&self) -> String {
        match self {
            Self::Field(pointer) => format!("Field({pointer:?})"),
            Self::Children(Counted { source_type, parent_field, filter, sum }) => {
                let filter = filter.as_ref().map(Filter::identity);
                let sum = sum.as_ref().map(|field| format!("{field:?}"));
                let optional =
                    |text: Option<String>| text.map_or("None".to_owned(), |text| format!("Some({text})"));
                format!(
                    "Children(Counted {{ source_type: {source_type:?}, parent_field: {parent_field:?}, filter: {}, sum: {} }})",
                    optional(filter),
                    optional(sum)
                )
            }
        }
    }

    fn value(&self, case: &Case<'_>) -> Option<f64> {
        match self {
            Self::Field(pointer) => number(case.source.state.pointer(pointer)?),
            Self::Children(_) => Some(case.children.unwrap_or(0) as f64 / MILLION as f64),
        }
    }
}

fn counted(part: &Value, at: &str, is_sum: bool, faults: &mut Vec<Fault>) -> Option<Counted> {
    let before = faults.len();
    let source_type = part.get("sourceType").and_then(Value::as_str).unwrap_or_default();
    if source_type.is_empty() || source_type.len() > 128 {
        let detail = "`sourceType` is missing: the type of the sources that are counted, such as `booking`.";
        faults.push(Fault::new(format!("{at}/sourceType"), "missing_field", detail));
    }
    let parent_field = part.get("parentField").and_then(Value::as_str).unwrap_or_default();
    check_pointer(parent_field, &format!("{at}/parentField"), faults);
    let sum = is_sum.then(|| part.get("field").and_then(Value::as_str).unwrap_or_default());
    if let Some(field) = sum {
        check_pointer(field, &format!("{at}/field"), faults);
    }
    let filter = part.get("where").filter(|filter| !filter.is_null()).and_then(|filter| {
        Filter::parse(filter)
            .map_err(|found| {
                faults.extend(
                    found
                        .into_iter()
                        .map(|fault| Fault { pointer: format!("{at}/where{}", fault.pointer), ..fault }),
                );
            })
            .ok()
    });
    (faults.len() == before).then(|| Counted {
        source_type: source_type.to_owned(),
        parent_field: parent_field.to_owned(),
        filter,
        sum: sum.map(str::to_owned),
    })
}

/// Every field of a measure that [`Metric::read`] does not look at.
pub fn unknown_fields(value: &Value, at: &str, faults: &mut Vec<Fault>) {
    const COUNTED: [&str; 3] = ["sourceType", "parentField", "where"];
    const ADDED: [&str; 4] = ["sourceType", "parentField", "where", "field"];
    let Value::Object(fields) = value else { return };
    let Some(read) = ["share", "field", "count", "sum"].into_iter().find(|name| fields.contains_key(*name))
    else {
        return;
    };
    if let Some(mut object) = Object::new(value, at.to_owned(), faults) {
        object.only(&[read]);
    }
    let at = format!("{at}/{read}");
    match (read, &fields[read]) {
        ("share", Value::Array(terms)) => {
            for (n, term) in terms.iter().enumerate() {
                unknown_fields(term, &format!("{at}/{n}"), faults);
            }
        }
        ("count" | "sum", part) => {
            if let Some(mut object) = Object::new(part, at, faults) {
                object.only(if read == "sum" { &ADDED } else { &COUNTED });
            }
        }
        _ => {}
    }
}

/// A number, or a text that is one.
pub fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

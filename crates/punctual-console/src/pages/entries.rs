//! What is in the fields of a form that writes a definition, and how the two are brought together. Each editor says
//! which field is which part of its definition.

use std::collections::BTreeMap;

use punctual_engine::CommandError;
use punctual_wire::{FieldError, Problem};
use serde_json::{Map, Value};

use crate::{answer::Refusal, form::Fields, words};

/// What is in the fields, by their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entries(BTreeMap<String, String>);

impl Entries {
    pub fn read(fields: &Fields) -> Self {
        // Browsers end the lines of a text in their own way.
        let plain = |value: &str| value.trim().replace("\r\n", "\n");
        Self(fields.pairs().map(|(name, value)| (name.to_owned(), plain(value))).collect())
    }

    pub fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// A box that is ticked.
    pub fn is_on(&self, name: &str) -> bool {
        self.get(name) == "yes"
    }

    /// Every name that has a value.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// What was written one a line, or with commas between.
pub fn listed(text: &str) -> Vec<&str> {
    text.split(['\n', ',']).map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// The same the other way round.
pub fn joined(values: &[Value], between: &str) -> String {
    values.iter().map(written).collect::<Vec<_>>().join(between)
}

pub fn written(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A number; what is none goes on as it is, and is refused with its field.
pub fn number(text: &str) -> Value {
    match serde_json::from_str::<Value>(text) {
        Ok(value @ Value::Number(_)) => value,
        _ => text.into(),
    }
}

/// Sets the value under a pointer, with the objects on the way.
pub fn put(definition: &mut Value, pointer: &str, value: Value) {
    let mut at = definition;
    for name in pointer.split('/').skip(1) {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        at = &mut at[name];
    }
    *at = value;
}

/// The field that holds the part of a definition under a pointer, or what it is in.
pub fn holding(texts: &[(&'static str, &'static str)], pointer: &str) -> Option<&'static str> {
    let over = texts.iter().filter(|(_, of)| pointer == *of || pointer.starts_with(&format!("{of}/")));
    over.max_by_key(|(_, of)| of.len()).map(|(name, _)| *name)
}

/// What is wrong, by the field it is beside; the first of each. Under the empty name: what belongs to none.
pub fn by_field(faults: &[FieldError], field_of: impl Fn(&str) -> String) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for fault in faults {
        found.entry(field_of(&fault.pointer)).or_insert_with(|| words::said(&fault.pointer, &fault.detail));
    }
    found
}

/// The fields at fault; the problem itself where it names none.
pub fn faults(problem: Problem) -> Vec<FieldError> {
    if problem.errors.is_empty() {
        return vec![FieldError::new("", problem.code, problem.detail)];
    }
    problem.errors
}

/// Why a command did nothing, one line for each place that is at fault.
pub fn refused(error: CommandError) -> Vec<FieldError> {
    faults(Refusal::from(error).into_problem())
}

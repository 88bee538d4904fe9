//! Reads one object of a definition field by field, and reports each error with a JSON pointer.

use std::{ops::RangeInclusive, time::Duration};

use serde_json::{Map, Value};

use crate::{
    Fault, Filter, durations,
    fault::{pointer_step, shown},
    nearest::suggestion,
    survey::{Localised, localised},
};

/// An object under reading. Faults go to the list of the whole definition.
pub struct Object<'v, 'f> {
    fields: &'v Map<String, Value>,
    pointer: String,
    faults: &'f mut Vec<Fault>,
}

impl<'v, 'f> Object<'v, 'f> {
    pub fn new(value: &'v Value, pointer: String, faults: &'f mut Vec<Fault>) -> Option<Self> {
        match value {
            Value::Object(fields) => Some(Self { fields, pointer, faults }),
            _ => {
                faults.push(Fault::new(pointer, "wrong_type", "An object is expected here."));
                None
            }
        }
    }

    pub fn get(&self, name: &str) -> Option<&'v Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    pub fn at(&self, name: &str) -> String {
        format!("{}/{}", self.pointer, pointer_step(name))
    }

    pub fn refuse(&mut self, name: &str, code: &'static str, detail: impl Into<String>) {
        let pointer = self.at(name);
        self.faults.push(Fault::new(pointer, code, detail));
    }

    /// Refuses every field that is not among these.
    pub fn only(&mut self, known: &[&str]) {
        for name in self.fields.keys().filter(|name| !known.contains(&name.as_str())) {
            let detail = format!("`{}` is not known here: {}", shown(name), suggestion(name, known));
            let pointer = self.at(name);
            self.faults.push(Fault::new(pointer, "unknown_field", detail));
        }
    }

    /// What else the object holds, for a reader that is chosen by these fields.
    pub fn rest(&self, without: &[&str]) -> Map<String, Value> {
        let others = self.fields.iter().filter(|(name, _)| !without.contains(&name.as_str()));
        others.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Reports the field if it is absent.
    pub fn require(&mut self, name: &str, takes: &str) -> bool {
        let there = self.get(name).is_some();
        if !there {
            self.refuse(name, "missing_field", format!("`{name}` is missing; it takes {takes}."));
        }
        there
    }

    pub fn text(&mut self, name: &str, longest: usize) -> Option<&'v str> {
        match self.get(name)? {
            Value::String(text) if (1..=longest).contains(&text.len()) && !text.contains('\0') => Some(text),
            Value::String(_) => {
                self.refuse(name, "out_of_range", format!("`{name}` takes a text of 1 to {longest} bytes."));
                None
            }
            _ => {
                self.refuse(name, "wrong_type", format!("`{name}` takes a text."));
                None
            }
        }
    }

    pub fn required_text(&mut self, name: &str, longest: usize) -> Option<&'v str> {
        if self.require(name, "a text") { self.text(name, longest) } else { None }
    }

    pub fn localised(&mut self, name: &str, default: &str) -> Option<Localised> {
        let value = self.get(name)?;
        let pointer = self.at(name);
        localised(value, default, &pointer, self.faults)
    }

    pub fn required_localised(&mut self, name: &str, default: &str) -> Option<Localised> {
        if self.require(name, r#"texts by language, such as {"en": "…"}"#) {
            self.localised(name, default)
        } else {
            None
        }
    }

    pub fn bool(&mut self, name: &str, default: bool) -> bool {
        match self.get(name) {
            None => default,
            Some(Value::Bool(truth)) => *truth,
            Some(_) => {
                self.refuse(name, "wrong_type", format!("`{name}` takes `true` or `false`."));
                default
            }
        }
    }

    pub fn whole(&mut self, name: &str, range: RangeInclusive<i64>) -> Option<i64> {
        let value = self.get(name)?;
        let number = value.as_i64().filter(|number| range.contains(number));
        if number.is_none() {
            let detail = format!("`{name}` takes a whole number from {} to {}.", range.start(), range.end());
            self.refuse(name, if value.is_number() { "out_of_range" } else { "wrong_type" }, detail);
        }
        number
    }

    pub fn number(&mut self, name: &str) -> Option<f64> {
        let value = self.get(name)?;
        let number = value.as_f64();
        if number.is_none() {
            self.refuse(name, "wrong_type", format!("`{name}` takes a number."));
        }
        number
    }

    pub fn duration(&mut self, name: &str) -> Option<Duration> {
        let text = match self.get(name)? {
            Value::String(text) => text,
            _ => {
                self.refuse(name, "wrong_type", format!("`{name}` takes a duration as text, such as `2d`."));
                return None;
            }
        };
        let duration = durations::parse(text);
        if let Err(error) = &duration {
            self.refuse(name, error.code(), format!("`{}` is no duration: {error}.", shown(text)));
        }
        duration.ok()
    }

    pub fn filter(&mut self, name: &str) -> Option<Filter> {
        let value = self.get(name)?;
        match Filter::parse(value) {
            Ok(filter) => Some(filter),
            Err(faults) => {
                let pointer = self.at(name);
                self.faults.extend(
                    faults
                        .into_iter()
                        .map(|fault| Fault { pointer: format!("{pointer}{}", fault.pointer), ..fault }),
                );
                None
            }
        }
    }

    /// The items of an array, each with its pointer.
    pub fn array(
        &mut self,
        name: &str,
        count: RangeInclusive<usize>,
        required: bool,
    ) -> Vec<(String, &'v Value)> {
        if required && !self.require(name, "an array") {
            return Vec::new();
        }
        let items = match self.get(name) {
            None => return Vec::new(),
            Some(Value::Array(items)) => items,
            Some(_) => {
                self.refuse(name, "wrong_type", format!("`{name}` takes an array."));
                return Vec::new();
            }
        };
        if !count.contains(&items.len()) {
            let detail =
                format!("`{name}` takes {} to {} items; it has {}.", count.start(), count.end(), items.len());
            self.refuse(name, "out_of_range", detail);
            return Vec::new();
        }
        let pointer = self.at(name);
        items.iter().enumerate().map(|(index, item)| (format!("{pointer}/{index}"), item)).collect()
    }

    /// An object inside this one.
    pub fn inner(&mut self, name: &str) -> Option<Object<'v, '_>> {
        let value = self.get(name)?;
        let pointer = self.at(name);
        Object::new(value, pointer, self.faults)
    }

    pub fn faults(&mut self) -> &mut Vec<Fault> {
        self.faults
    }
}

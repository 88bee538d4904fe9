//! Typed reading of one JSON object, with a JSON pointer for everything that is wrong with it.
//!
//! A request is read field by field and finished once, so that a client gets all faults together:
//!
//! ```
//! # use punctual_wire::{Fields, FieldError};
//! # use serde_json::{json, Value};
//! fn read(value: &Value) -> Result<(String, Option<i64>), Vec<FieldError>> {
//!     let mut fields = Fields::new(value, "");
//!     let topic = fields.required_text("topic", 1..=128);
//!     let priority = fields.optional_int("priority", 0..=9);
//!     fields.finish()?;
//!     Ok((topic, priority))
//! }
//! let faults = read(&json!({"priority": 12})).unwrap_err();
//! assert_eq!(faults[0].detail, "`topic` is missing; it takes text of 1 to 128 bytes.");
//! assert_eq!(faults[1].pointer, "/priority");
//! ```
//!
//! An object is closed: a field that the reader did not ask for is a fault too ([`Fields::open`] is for the few that are
//! not). A faulty or missing field reads as an empty value, which `finish` keeps from ever being used. `null` counts as
//! absent everywhere.

mod parts;
mod scalars;
#[cfg(test)]
mod tests;
mod texts;

use std::{borrow::Cow, ops::RangeInclusive};

use serde_json::{Map, Value};

pub use self::parts::json_size;
use crate::{
    limits::FAULTS_MAX,
    nearest::nearest,
    problem::{Code, FieldError, excerpt},
    strict::join,
};

/// The reader of one object.
pub struct Fields<'v> {
    /// None when the value is no object; then that is the only fault reported.
    object: Option<&'v Map<String, Value>>,
    pointer: Cow<'v, str>,
    /// Values come from a query string, so numbers and booleans are written as text.
    from_query: bool,
    /// Fields that nobody asks for are let pass.
    open: bool,
    /// The fields asked for so far: all that a closed object may have.
    known: Vec<&'static str>,
    /// Fields that the reader asks for and that are not taken here.
    without: &'static [&'static str],
    faults: Vec<FieldError>,
}

impl<'v> Fields<'v> {
    /// Reads `value`, which is at `pointer` in its document (`""` for the whole).
    pub fn new(value: &'v Value, pointer: impl Into<Cow<'v, str>>) -> Self {
        let mut fields = Self {
            object: value.as_object(),
            pointer: pointer.into(),
            from_query: false,
            open: false,
            known: Vec::with_capacity(16),
            without: &[],
            faults: Vec::new(),
        };
        if fields.object.is_none() {
            let detail = format!("Expected an object, found {}.", kind_of(value));
            let pointer = fields.pointer.to_string();
            fields.push(FieldError::new(pointer, Code::WrongType, detail));
        }
        fields
    }

    /// Reads an object in which others may put fields of their own: attributes of a CloudEvent, and what a site agent of
    /// another version hands over.
    pub fn open(value: &'v Value, pointer: impl Into<Cow<'v, str>>) -> Self {
        Self { open: true, ..Self::new(value, pointer) }
    }

    /// Reads the parameters of a query string, given as an object of texts (see [`query_object`]). It is open because two
    /// readers may share one query; which parameters a route knows is checked for the whole route.
    pub fn query(value: &'v Value) -> Self {
        Self { from_query: true, ..Self::open(value, "") }
    }

    /// Leaves these out, for a request that takes all but some fields of another: whoever asks for one finds nothing, and it
    /// is neither accepted nor named among those that are.
    #[must_use]
    pub fn without(self, names: &'static [&'static str]) -> Self {
        Self { without: names, ..self }
    }

    /// Fields that are beside the object's own and are read by somebody else, such as the version that a client saw: they are
    /// known here, and named where others are refused.
    pub fn read_elsewhere(&mut self, name: &'static str) {
        self.get(name);
    }

    /// The pointer to one field.
    pub fn pointer_to(&self, name: &str) -> String {
        join(&self.pointer, name)
    }

    /// The field's value, whatever its type.
    pub fn get(&mut self, name: &'static str) -> Option<&'v Value> {
        if self.without.contains(&name) {
            return None;
        }
        if !self.known.contains(&name) {
            self.known.push(name);
        }
        self.object?.get(name).filter(|value| !value.is_null())
    }

    /// Whether the field is there and says `null`.
    pub fn is_null(&self, name: &str) -> bool {
        self.object.and_then(|object| object.get(name)).is_some_and(Value::is_null)
    }

    /// Whether the field is there.
    pub fn has(&mut self, name: &'static str) -> bool {
        self.get(name).is_some()
    }

    /// Reports the field if it is absent. `takes` completes the sentence "it takes …".
    pub fn require(&mut self, name: &'static str, takes: impl FnOnce() -> String) {
        if !self.has(name) && self.object.is_some() {
            self.refuse(name, Code::MissingField, format!("`{name}` is missing; it takes {}.", takes()));
        }
    }

    /// Reports a fault of one field.
    pub fn refuse(&mut self, name: &str, code: Code, detail: impl Into<String>) {
        self.push(FieldError::new(self.pointer_to(name), code, detail));
    }

    /// Reports a fault found elsewhere.
    pub fn push(&mut self, fault: FieldError) {
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(fault);
        }
    }

    /// Takes over the faults of a part that was read on its own.
    pub fn accept<T>(&mut self, part: Result<T, Vec<FieldError>>) -> Option<T> {
        part.map_err(|faults| faults.into_iter().for_each(|fault| self.push(fault))).ok()
    }

    /// Reports every field that nobody asked for: a misspelt one would be lost in silence.
    fn deny_unknown(&mut self) {
        let Some(object) = self.object.filter(|_| !self.open) else { return };
        for name in object.keys() {
            if self.known.contains(&name.as_str()) || self.faults.len() == FAULTS_MAX {
                continue;
            }
            self.push(unknown(self.pointer_to(name), name, &self.known));
        }
    }

    /// All faults, or none. Call it before using what was read.
    pub fn finish(mut self) -> Result<(), Vec<FieldError>> {
        self.deny_unknown();
        if self.faults.is_empty() { Ok(()) } else { Err(self.faults) }
    }
}

impl<'v> Fields<'v> {
    fn text(&mut self, name: &'static str) -> Option<&'v str> {
        let value = self.get(name)?;
        let Some(text) = value.as_str() else {
            self.wrong_type(name, "text", value);
            return None;
        };
        // A body has passed the strict reader; a query has not, and no database column takes NUL.
        if self.from_query && text.contains('\0') {
            self.refuse(name, Code::TextInvalid, format!("`{name}` has the character NUL."));
            return None;
        }
        Some(text)
    }

    fn checked(
        &mut self,
        name: &'static str,
        fault: impl FnOnce(&str, &dyn Fn() -> String) -> Option<FieldError>,
    ) -> Option<String> {
        let text = self.text(name)?;
        match fault(text, &|| self.pointer_to(name)) {
            Some(fault) => {
                self.push(fault);
                None
            }
            None => Some(text.to_owned()),
        }
    }

    fn length(&mut self, name: &str, text: &str, bytes: RangeInclusive<usize>) -> bool {
        let fits = bytes.contains(&text.len());
        if !fits {
            let detail = format!("`{name}` takes {}; it has {}.", text_of(&bytes), text.len());
            self.refuse(name, Code::OutOfRange, detail);
        }
        fits
    }

    fn count(&mut self, name: &str, found: usize, count: RangeInclusive<usize>) -> bool {
        let fits = count.contains(&found);
        if !fits {
            let detail = format!("`{name}` takes {} items; it has {found}.", span(&count));
            self.refuse(name, Code::OutOfRange, detail);
        }
        fits
    }

    fn wrong_type(&mut self, name: &str, takes: &str, found: &Value) {
        let detail = format!("`{name}` takes {takes}; it is {}.", kind_of(found));
        self.refuse(name, Code::WrongType, detail);
    }
}

/// The fault of a field or parameter that is not among those that are known.
pub fn unknown(pointer: String, name: &str, known: &[&str]) -> FieldError {
    let hint = match nearest(name, known.iter().copied(), 1)[..] {
        [known] => format!("did you mean `{known}`?"),
        _ if known.is_empty() => "no field is allowed here.".to_owned(),
        _ => format!("known are `{}`.", known.join("`, `")),
    };
    FieldError::new(pointer, Code::UnknownField, format!("`{}` is not known here; {hint}", excerpt(name)))
}

/// The parameters of a query string as an object of texts; the first of two with the same name counts.
pub fn query_object(parameters: impl IntoIterator<Item = (String, String)>) -> Value {
    let mut object = Map::new();
    for (name, value) in parameters {
        object.entry(name).or_insert(Value::String(value));
    }
    Value::Object(object)
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn text_of(bytes: &RangeInclusive<usize>) -> String {
    format!("text of {} bytes", span(bytes))
}

fn span(range: &RangeInclusive<usize>) -> String {
    match (range.start(), range.end()) {
        (0, end) => format!("at most {end}"),
        (start, end) => format!("{start} to {end}"),
    }
}

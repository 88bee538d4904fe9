//! Typed reading of one JSON object, with a JSON pointer for everything that is wrong with it.
//!
//! A request is read field by field and finished once, so that a client hears of all faults together:
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
//! A faulty or missing field reads as an empty value, which `finish` keeps from ever being used. `null` counts as
//! absent everywhere.

use std::{borrow::Cow, io, ops::RangeInclusive};

use jiff::{Timestamp, civil::Date, tz};
use serde_json::{Map, Value};

use crate::{
    instant,
    limits::{FAULTS_MAX, KEY_MAX, NAME_MAX, SUBJECT_MAX},
    names::{channel_fault, guid, is_one_line, locale_fault, name_fault, zone_unknown},
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
    /// The fields asked for so far: all that `deny_unknown` lets pass.
    known: Vec<&'static str>,
    faults: Vec<FieldError>,
}

impl<'v> Fields<'v> {
    /// Reads `value`, which stands at `pointer` in its document (`""` for the whole).
    pub fn new(value: &'v Value, pointer: impl Into<Cow<'v, str>>) -> Self {
        let mut fields = Self {
            object: value.as_object(),
            pointer: pointer.into(),
            from_query: false,
            known: Vec::with_capacity(16),
            faults: Vec::new(),
        };
        if fields.object.is_none() {
            let detail = format!("Expected an object, found {}.", kind_of(value));
            let pointer = fields.pointer.to_string();
            fields.push(FieldError::new(pointer, Code::WrongType, detail));
        }
        fields
    }

    /// Reads the parameters of a query string, given as an object of texts (see [`query_object`]).
    pub fn query(value: &'v Value) -> Self {
        Self { from_query: true, ..Self::new(value, "") }
    }

    /// The pointer to one field.
    pub fn pointer_to(&self, name: &str) -> String {
        join(&self.pointer, name)
    }

    /// The field's value, whatever its type.
    pub fn get(&mut self, name: &'static str) -> Option<&'v Value> {
        if !self.known.contains(&name) {
            self.known.push(name);
        }
        self.object?.get(name).filter(|value| !value.is_null())
    }

    /// Whether the field is there.
    pub fn has(&mut self, name: &'static str) -> bool {
        self.get(name).is_some()
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

    /// Reports every field that nobody asked for. For definitions, where a misspelt field would be lost in silence.
    pub fn deny_unknown(&mut self) {
        let Some(object) = self.object else { return };
        for name in object.keys() {
            if self.known.contains(&name.as_str()) {
                continue;
            }
            let hint = match nearest(name, self.known.iter().copied(), 1)[..] {
                [known] => format!("did you mean `{known}`?"),
                _ => format!("known are `{}`.", self.known.join("`, `")),
            };
            let detail = format!("`{}` is not known here; {hint}", excerpt(name));
            self.push(FieldError::new(self.pointer_to(name), Code::UnknownField, detail));
        }
    }

    /// All faults, or none. Call it before using what was read.
    pub fn finish(self) -> Result<(), Vec<FieldError>> {
        if self.faults.is_empty() { Ok(()) } else { Err(self.faults) }
    }
}

/// Texts.
impl<'v> Fields<'v> {
    pub fn required_text(&mut self, name: &'static str, bytes: RangeInclusive<usize>) -> String {
        self.need(name, || text_of(&bytes));
        self.optional_text(name, bytes).unwrap_or_default()
    }

    pub fn optional_text(&mut self, name: &'static str, bytes: RangeInclusive<usize>) -> Option<String> {
        let text = self.text(name)?;
        self.length(name, text, bytes).then(|| text.to_owned())
    }

    /// A line that can stand in a mail header: [`SUBJECT_MAX`] bytes, no line breaks, no control characters.
    pub fn required_subject(&mut self, name: &'static str) -> String {
        self.need(name, || text_of(&(1..=SUBJECT_MAX)));
        self.optional_subject(name).unwrap_or_default()
    }

    pub fn optional_subject(&mut self, name: &'static str) -> Option<String> {
        let text = self.text(name)?;
        if !is_one_line(text) {
            self.push(FieldError::subject_invalid(self.pointer_to(name)));
            return None;
        }
        self.length(name, text, 1..=SUBJECT_MAX).then(|| text.to_owned())
    }

    /// A name that people give: at most [`NAME_MAX`] bytes, no control characters.
    pub fn required_name(&mut self, name: &'static str) -> String {
        self.need(name, || text_of(&(1..=NAME_MAX)));
        self.optional_name(name).unwrap_or_default()
    }

    pub fn optional_name(&mut self, name: &'static str) -> Option<String> {
        self.checked(name, |text, pointer| name_fault(text, NAME_MAX, pointer))
    }

    /// A business key: at most [`KEY_MAX`] bytes, no control characters.
    pub fn optional_key(&mut self, name: &'static str) -> Option<String> {
        self.checked(name, |text, pointer| name_fault(text, KEY_MAX, pointer))
    }

    /// A GUID, in lower case with hyphens however it was written.
    pub fn optional_guid(&mut self, name: &'static str) -> Option<String> {
        let text = self.text(name)?;
        let guid = guid(text);
        if guid.is_none() {
            let why = "an id is a GUID such as `0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071`";
            self.push(FieldError::key_invalid(self.pointer_to(name), why));
        }
        guid
    }

    /// A channel's key, `type:name`.
    pub fn optional_channel(&mut self, name: &'static str) -> Option<String> {
        self.checked(name, channel_fault)
    }

    /// A language tag such as `ar-IQ`.
    pub fn optional_locale(&mut self, name: &'static str) -> Option<String> {
        self.checked(name, locale_fault)
    }

    /// A zone of the IANA database, spelled as the database spells it.
    pub fn required_zone(&mut self, name: &'static str) -> String {
        self.need(name, || "a time zone such as `Europe/Berlin`".into());
        self.optional_zone(name).unwrap_or_default()
    }

    pub fn optional_zone(&mut self, name: &'static str) -> Option<String> {
        let text = self.text(name)?;
        let zone = tz::TimeZone::get(text).ok().and_then(|zone| zone.iana_name().map(str::to_owned));
        if zone.is_none() {
            self.push(zone_unknown(self.pointer_to(name), text));
        }
        zone
    }

    /// One of a closed list of words.
    pub fn optional_choice<T: Clone>(&mut self, name: &'static str, choices: &[(&str, T)]) -> Option<T> {
        let text = self.text(name)?;
        let choice = choices.iter().find(|(word, _)| *word == text).map(|(_, choice)| choice.clone());
        if choice.is_none() {
            let detail = format!("`{}` is not possible; `{name}` takes {}.", excerpt(text), words(choices));
            self.refuse(name, Code::OutOfRange, detail);
        }
        choice
    }

    /// Like [`Fields::optional_choice`]; the first choice stands in for a missing one until `finish`.
    pub fn required_choice<T: Clone>(&mut self, name: &'static str, choices: &[(&str, T)]) -> T {
        self.need(name, || words(choices));
        self.optional_choice(name, choices).unwrap_or_else(|| choices[0].1.clone())
    }

    /// An array of texts, `count` of them, each of `bytes`.
    pub fn optional_texts(
        &mut self,
        name: &'static str,
        count: RangeInclusive<usize>,
        bytes: RangeInclusive<usize>,
    ) -> Option<Vec<String>> {
        let items = self.array(name, count)?;
        let mut texts = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match item.as_str() {
                Some(text) if bytes.contains(&text.len()) => texts.push(text.to_owned()),
                Some(text) => {
                    let detail = format!("Expected {}; it has {}.", text_of(&bytes), text.len());
                    self.refuse_item(name, index, Code::OutOfRange, detail);
                }
                None => {
                    let detail = format!("Expected text, found {}.", kind_of(item));
                    self.refuse_item(name, index, Code::WrongType, detail);
                }
            }
        }
        Some(texts)
    }

    pub fn required_texts(
        &mut self,
        name: &'static str,
        count: RangeInclusive<usize>,
        bytes: RangeInclusive<usize>,
    ) -> Vec<String> {
        self.need(name, || format!("an array of {} texts", span(&count)));
        self.optional_texts(name, count, bytes).unwrap_or_default()
    }
}

/// Numbers, booleans, instants.
impl<'v> Fields<'v> {
    pub fn required_int(&mut self, name: &'static str, range: RangeInclusive<i64>) -> i64 {
        self.need(name, || format!("a whole number from {} to {}", range.start(), range.end()));
        self.optional_int(name, range).unwrap_or_default()
    }

    pub fn optional_int(&mut self, name: &'static str, range: RangeInclusive<i64>) -> Option<i64> {
        let value = self.get(name)?;
        let Some(number) = whole_number(value, self.from_query) else {
            self.wrong_type(name, "a whole number", value);
            return None;
        };
        let number = i64::try_from(number).ok().filter(|number| range.contains(number));
        if number.is_none() {
            let detail = format!("`{name}` takes a whole number from {} to {}.", range.start(), range.end());
            self.refuse(name, Code::OutOfRange, detail);
        }
        number
    }

    pub fn bool(&mut self, name: &'static str, default: bool) -> bool {
        self.optional_bool(name).unwrap_or(default)
    }

    pub fn optional_bool(&mut self, name: &'static str) -> Option<bool> {
        let value = self.get(name)?;
        let truth = match value {
            Value::Bool(truth) => Some(*truth),
            Value::String(text) if self.from_query => text.parse().ok(),
            _ => None,
        };
        if truth.is_none() {
            self.wrong_type(name, "`true` or `false`", value);
        }
        truth
    }

    /// An instant with its offset, such as `2026-05-14T09:00:00+02:00`.
    pub fn instant(&mut self, name: &'static str) -> Timestamp {
        self.need(name, || format!("an instant such as `{}`", instant::EXAMPLE));
        self.optional_instant(name).unwrap_or_default()
    }

    pub fn optional_instant(&mut self, name: &'static str) -> Option<Timestamp> {
        let value = self.get(name)?;
        let Some(text) = value.as_str() else {
            self.wrong_type(name, &format!("an instant as text, such as `{}`", instant::EXAMPLE), value);
            return None;
        };
        instant::parse(text)
            .map_err(|error| self.push(error.at(self.pointer_to(name), text, instant::EXAMPLE)))
            .ok()
    }

    /// A date without time, such as `2026-05-14`.
    pub fn optional_date(&mut self, name: &'static str) -> Option<Date> {
        let text = self.text(name)?;
        instant::parse_date(text)
            .map_err(|error| self.push(error.at(self.pointer_to(name), text, "2026-05-14")))
            .ok()
    }
}

/// Objects and arrays.
impl<'v> Fields<'v> {
    /// Any JSON object, kept as it is, of at most `bytes` when written out.
    pub fn object(&mut self, name: &'static str, bytes: usize) -> Option<Value> {
        let value = self.get(name)?;
        if !value.is_object() {
            self.wrong_type(name, "an object", value);
            return None;
        }
        self.json(name, bytes)
    }

    pub fn required_object(&mut self, name: &'static str, bytes: usize) -> Value {
        self.need(name, || format!("an object of at most {bytes} bytes"));
        self.object(name, bytes).unwrap_or_default()
    }

    /// Any JSON value, kept as it is, of at most `bytes` when written out.
    pub fn json(&mut self, name: &'static str, bytes: usize) -> Option<Value> {
        let value = self.get(name)?;
        let size = json_size(value);
        if size > bytes {
            let detail = format!("`{name}` takes at most {bytes} bytes of JSON; it has {size}.");
            self.refuse(name, Code::OutOfRange, detail);
            return None;
        }
        Some(value.clone())
    }

    /// The fields of an object whose names are data, such as locales.
    pub fn entries(&mut self, name: &'static str, count: RangeInclusive<usize>) -> Option<&'v Map<String, Value>> {
        let value = self.get(name)?;
        let Some(entries) = value.as_object() else {
            self.wrong_type(name, "an object", value);
            return None;
        };
        self.count(name, entries.len(), count).then_some(entries)
    }

    pub fn required_entries(&mut self, name: &'static str, count: RangeInclusive<usize>) -> Option<&'v Map<String, Value>> {
        self.need(name, || format!("an object of {} entries", span(&count)));
        self.entries(name, count)
    }

    pub fn array(&mut self, name: &'static str, count: RangeInclusive<usize>) -> Option<&'v [Value]> {
        let value = self.get(name)?;
        let Some(items) = value.as_array() else {
            self.wrong_type(name, "an array", value);
            return None;
        };
        self.count(name, items.len(), count).then_some(items)
    }

    pub fn required_array(&mut self, name: &'static str, count: RangeInclusive<usize>) -> &'v [Value] {
        self.need(name, || format!("an array of {} items", span(&count)));
        self.array(name, count).unwrap_or_default()
    }

    /// An object with fields of its own, read by `read`.
    pub fn nested<T>(&mut self, name: &'static str, read: impl FnOnce(&mut Fields<'v>) -> T) -> Option<T> {
        let value = self.get(name)?;
        let mut inner = Fields::new(value, self.pointer_to(name));
        let part = read(&mut inner);
        let faults = inner.finish();
        self.accept(faults).map(|()| part)
    }

    /// Exactly one of two fields is to be given; says so where none or both are.
    pub fn one_of(&mut self, first: &'static str, second: &'static str) {
        let detail = |found| format!("Give either `{first}` or `{second}`; {found}.");
        match (self.has(first), self.has(second)) {
            (true, true) => self.refuse(second, Code::FieldConflict, detail("both were given")),
            (false, false) if self.object.is_some() => {
                self.refuse(first, Code::MissingField, detail("neither was given"));
            }
            _ => {}
        }
    }
}

impl<'v> Fields<'v> {
    /// Reports a required field that is absent.
    fn need(&mut self, name: &'static str, takes: impl FnOnce() -> String) {
        if !self.has(name) && self.object.is_some() {
            self.refuse(name, Code::MissingField, format!("`{name}` is missing; it takes {}.", takes()));
        }
    }

    fn text(&mut self, name: &'static str) -> Option<&'v str> {
        let value = self.get(name)?;
        if !value.is_string() {
            self.wrong_type(name, "text", value);
        }
        value.as_str()
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

    fn refuse_item(&mut self, name: &str, index: usize, code: Code, detail: String) {
        let pointer = format!("{}/{index}", self.pointer_to(name));
        self.push(FieldError::new(pointer, code, detail));
    }
}

/// The parameters of a query string as an object of texts; the first of two with the same name counts.
pub fn query_object(parameters: impl IntoIterator<Item = (String, String)>) -> Value {
    let mut object = Map::new();
    for (name, value) in parameters {
        object.entry(name).or_insert(Value::String(value));
    }
    Value::Object(object)
}

/// How many bytes the value has when written out, without writing it.
pub fn json_size(value: &Value) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // A tree without maps of odd keys always serialises, and counting cannot fail.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// A whole number in any of its spellings: `7`, `7.0`, and in a query `"7"`.
fn whole_number(value: &Value, from_query: bool) -> Option<i128> {
    /// Beyond it a float does not stand for one whole number.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => number
            .as_i64()
            .map(i128::from)
            .or_else(|| number.as_u64().map(i128::from))
            .or_else(|| number.as_f64().filter(|n| n.fract() == 0.0 && n.abs() <= EXACT).map(|n| n as i128)),
        Value::String(text) if from_query => text.parse().ok(),
        _ => None,
    }
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

fn words<T>(choices: &[(&str, T)]) -> String {
    let words: Vec<String> = choices.iter().map(|(word, _)| format!("`{word}`")).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Reads with `read` and expects exactly these faults, as `pointer code: part of the detail`.
    #[track_caller]
    fn check<T>(value: Value, read: impl FnOnce(&mut Fields<'_>) -> T, expected: &[&str]) {
        let mut fields = Fields::new(&value, "/items/0");
        read(&mut fields);
        let faults = fields.finish().err().unwrap_or_default();
        assert_eq!(faults.len(), expected.len(), "{faults:?}");
        for (fault, expected) in faults.iter().zip(expected) {
            let (place, detail) = expected.split_once(": ").unwrap();
            let pointer = fault.pointer.strip_prefix("/items/0").unwrap();
            assert_eq!(format!("{pointer} {}", fault.code), place);
            assert!(fault.detail.contains(detail), "{:?} lacks {detail:?}", fault.detail);
        }
    }

    #[test]
    fn a_missing_field_is_named_with_what_it_takes() {
        check(json!({}), |f| f.required_text("a", 1..=9), &["/a missing_field: `a` is missing; it takes text of 1 to 9 bytes."]);
        check(json!({"a": null}), |f| f.required_text("a", 0..=9), &["/a missing_field: text of at most 9 bytes"]);
        check(json!({}), |f| f.required_int("a", 1..=9), &["/a missing_field: a whole number from 1 to 9"]);
        check(json!({}), |f| f.instant("a"), &["/a missing_field: an instant such as `2026-05-14T09:00:00+02:00`"]);
        check(json!({}), |f| f.required_object("a", 10), &["/a missing_field: an object of at most 10 bytes"]);
        check(json!({}), |f| f.required_array("a", 1..=3).len(), &["/a missing_field: an array of 1 to 3 items"]);
        check(json!({}), |f| f.required_entries("a", 1..=3).is_some(), &["/a missing_field: 1 to 3 entries"]);
        check(json!({}), |f| f.required_texts("a", 1..=3, 1..=3), &["/a missing_field: an array of 1 to 3 texts"]);
        check(json!({}), |f| f.required_zone("a"), &["/a missing_field: `Europe/Berlin`"]);
        check(json!({}), |f| f.required_subject("a"), &["/a missing_field: text of 1 to 998"]);
        check(json!({}), |f| f.required_name("a"), &["/a missing_field: text of 1 to 128"]);
        check(json!({}), |f| f.required_choice("a", &[("x", 1), ("y", 2)]), &["/a missing_field: it takes `x`, `y`."]);
        check(json!({}), |f| f.one_of("a", "b"), &["/a missing_field: Give either `a` or `b`; neither was given."]);
    }

    #[test]
    fn an_absent_optional_field_is_no_fault() {
        check(json!({"a": null}), |f| assert_eq!(f.optional_text("a", 1..=9), None), &[]);
        check(json!({}), |f| assert!(f.bool("a", true) && !f.bool("b", false)), &[]);
        check(json!({}), |f| assert_eq!((f.optional_int("a", 1..=2), f.optional_instant("b")), (None, None)), &[]);
        check(json!({}), |f| assert_eq!((f.object("a", 9), f.nested("b", |_| ())), (None, None)), &[]);
    }

    #[test]
    fn a_wrong_type_is_named_with_what_was_found() {
        check(json!({"a": 1}), |f| f.required_text("a", 1..=9), &["/a wrong_type: `a` takes text; it is a number."]);
        check(json!({"a": []}), |f| f.optional_text("a", 1..=9), &["/a wrong_type: an array"]);
        check(json!({"a": "1"}), |f| f.optional_int("a", 1..=9), &["/a wrong_type: `a` takes a whole number; it is text."]);
        check(json!({"a": 1.5}), |f| f.optional_int("a", 1..=9), &["/a wrong_type: a whole number"]);
        check(json!({"a": "true"}), |f| f.optional_bool("a"), &["/a wrong_type: `true` or `false`; it is text."]);
        check(json!({"a": 17}), |f| f.instant("a"), &["/a wrong_type: an instant as text"]);
        check(json!({"a": []}), |f| f.object("a", 9), &["/a wrong_type: an object; it is an array."]);
        check(json!({"a": {}}), |f| f.array("a", 0..=9).is_some(), &["/a wrong_type: an array; it is an object."]);
        check(json!({"a": true}), |f| f.entries("a", 0..=9).is_some(), &["/a wrong_type: a boolean"]);
        check(json!({"a": 1}), |f| f.nested("a", |f| f.required_text("b", 1..=9)), &["/a wrong_type: Expected an object, found a number."]);
        check(json!({"a": ["x", 2]}), |f| f.optional_texts("a", 0..=9, 1..=9), &["/a/1 wrong_type: Expected text, found a number."]);
        check(json!([1]), |f| (f.required_text("a", 1..=9), f.one_of("b", "c")), &[" wrong_type: Expected an object, found an array."]);
    }

    #[test]
    fn a_value_out_of_range_is_named_with_the_range() {
        check(json!({"a": ""}), |f| f.required_text("a", 1..=9), &["/a out_of_range: text of 1 to 9 bytes; it has 0."]);
        check(json!({"a": "ääääää"}), |f| f.optional_text("a", 1..=9), &["/a out_of_range: it has 12."]);
        check(json!({"a": 10}), |f| f.optional_int("a", 1..=9), &["/a out_of_range: a whole number from 1 to 9."]);
        check(json!({"a": u64::MAX}), |f| f.optional_int("a", 0..=i64::MAX), &["/a out_of_range: whole number"]);
        check(json!({"a": "z"}), |f| f.optional_choice("a", &[("x", 1), ("y", 2)]), &["/a out_of_range: `z` is not possible; `a` takes `x`, `y`."]);
        check(json!({"a": {"b": "0123456789"}}), |f| f.object("a", 17), &["/a out_of_range: at most 17 bytes of JSON; it has 18."]);
        check(json!({"a": [1, 2]}), |f| f.array("a", 1..=1).is_some(), &["/a out_of_range: 1 to 1 items; it has 2."]);
        check(json!({"a": ["", "x"]}), |f| f.optional_texts("a", 0..=9, 1..=9), &["/a/0 out_of_range: it has 0."]);
        check(json!({"a": 7.0}), |f| assert_eq!(f.optional_int("a", 1..=9), Some(7)), &[]);
    }

    #[test]
    fn keys_names_and_subjects_have_their_own_codes() {
        check(json!({"a": "x\ny"}), |f| f.required_subject("a"), &["/a subject_invalid: one line"]);
        check(json!({"a": "x\u{2028}y"}), |f| f.optional_subject("a"), &["/a subject_invalid: one line"]);
        check(json!({"a": "x".repeat(999)}), |f| f.optional_subject("a"), &["/a out_of_range: it has 999."]);
        check(json!({"a": "k".repeat(513)}), |f| f.optional_key("a"), &["/a key_invalid: it has 513 bytes of at most 512."]);
        check(json!({"a": "k\u{1}"}), |f| f.optional_key("a"), &["/a key_invalid: control character"]);
        check(json!({"a": ""}), |f| f.optional_name("a"), &["/a key_invalid: it is empty"]);
        check(json!({"a": "Email"}), |f| f.optional_channel("a"), &["/a key_invalid: such as `email:default`"]);
        check(json!({"a": "a:b:c"}), |f| f.optional_channel("a"), &["/a key_invalid: `type:name`"]);
        check(json!({"a": "english!"}), |f| f.optional_locale("a"), &["/a key_invalid: such as `en` or `ar-IQ`"]);
        check(json!({"a": "123"}), |f| f.optional_guid("a"), &["/a key_invalid: an id is a GUID"]);
        check(json!({"a": "email:x", "b": "zh-Hant-TW"}), |f| (f.optional_channel("a"), f.optional_locale("b")), &[]);
    }

    #[test]
    fn instants_dates_and_zones_have_their_own_codes() {
        check(json!({"a": "2026-05-14T09:00:00"}), |f| f.instant("a"), &["/a time_no_offset: write `2026-05-14T09:00:00+02:00`"]);
        check(json!({"a": "2026-02-30T09:00:00Z"}), |f| f.instant("a"), &["/a date_invalid: does not exist on the calendar"]);
        check(json!({"a": "soon"}), |f| f.optional_instant("a"), &["/a date_invalid: RFC 3339"]);
        check(json!({"a": "2026-02-30"}), |f| f.optional_date("a"), &["/a date_invalid: write `2026-05-14`"]);
        check(json!({"a": "Europe/Berlim"}), |f| f.required_zone("a"), &["/a zone_unknown: did you mean `Europe/Berlin`"]);
        check(json!({"a": "Auckland"}), |f| f.required_zone("a"), &["/a zone_unknown: `Pacific/Auckland`"]);
        check(json!({"a": "Middle-earth"}), |f| f.optional_zone("a"), &["/a zone_unknown: IANA"]);
        check(json!({"a": "pacific/auckland"}), |f| assert_eq!(f.required_zone("a"), "Pacific/Auckland"), &[]);
        check(json!({"a": "UTC"}), |f| assert_eq!(f.required_zone("a"), "UTC"), &[]);
    }

    #[test]
    fn an_unknown_field_is_named_with_the_nearest_known() {
        let read = |f: &mut Fields<'_>| {
            f.required_text("topic", 1..=9);
            f.optional_instant("runAt");
            f.nested("retry", |f| {
                f.optional_int("intervalSeconds", 1..=9);
                f.deny_unknown();
            });
            f.deny_unknown();
        };
        check(json!({"topic": "t", "run_at": 1}), read, &["/run_at unknown_field: did you mean `runAt`?"]);
        check(json!({"topic": "t", "colour/s": 1}), read, &["/colour~1s unknown_field: known are `topic`, `runAt`, `retry`."]);
        check(json!({"topic": "t", "retry": {"interval_seconds": 1}}), read, &["/retry/interval_seconds unknown_field: `intervalSeconds`?"]);
        check(json!("x"), read, &[" wrong_type: Expected an object"]);
    }

    #[test]
    fn two_fields_can_exclude_each_other() {
        check(json!({"a": 1, "b": 2}), |f| f.one_of("a", "b"), &["/b field_conflict: both were given"]);
        check(json!({"a": 1, "b": null}), |f| f.one_of("a", "b"), &[]);
    }

    #[test]
    fn all_faults_of_an_object_are_collected_up_to_a_bound() {
        let read = |f: &mut Fields<'_>| {
            f.required_text("topic", 1..=9);
            f.instant("runAt");
            f.nested("retry", |f| f.required_int("max", 0..=9));
        };
        let expected = ["/topic missing_field: ", "/runAt date_invalid: ", "/retry/max out_of_range: "];
        check(json!({"runAt": "x", "retry": {"max": -1}}), read, &expected);

        let texts = json!({"a": vec![1; 1_000]});
        let mut fields = Fields::new(&texts, "");
        fields.optional_texts("a", 0..=1_000, 0..=1);
        assert_eq!(fields.finish().unwrap_err().len(), FAULTS_MAX);
    }

    #[test]
    fn a_query_writes_numbers_and_booleans_as_text() {
        let parameters = [("limit", "20"), ("stuck", "true"), ("q", "a"), ("q", "b"), ("n", "x")];
        let query = query_object(parameters.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let mut fields = Fields::query(&query);
        assert_eq!(fields.optional_int("limit", 1..=200), Some(20));
        assert_eq!(fields.optional_bool("stuck"), Some(true));
        assert_eq!(fields.optional_text("q", 1..=9).as_deref(), Some("a"));
        fields.optional_int("n", 1..=2);
        assert_eq!(fields.finish().unwrap_err()[0].pointer, "/n");
    }
}

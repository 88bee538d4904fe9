//! Forms that are described once: the description makes the HTML and reads what comes back as the request of the API.
//!
//! A field is a place in that request (a JSON pointer). What is typed becomes the request, the request is read by the same strict
//! reader that the API has, and a fault finds its field by its pointer. So a form has no rule of its own.

mod adapter;
mod field;
mod pages;
mod resource;

use serde_json::{Map, Value};

use punctual_wire::FieldError;

pub use self::{
    adapter::{retry_part, settings_parts, without_secrets},
    field::{Field, Kind},
    pages::{LARGE_FORM, again, index, routes, routes_of_one, shown, shown_once, typed_draft},
    resource::{Done, Listed, Listing, Notice, Once, Refused, Resource, Stored},
};
use crate::form::Fields;

/// A form in its parts.
#[derive(Default)]
pub struct Form {
    pub parts: Vec<Part>,
    /// Faults that belong to no field.
    pub loose: Vec<String>,
}

/// Fields that belong together.
#[derive(Default)]
pub struct Part {
    pub title: String,
    pub about: String,
    /// Closed until somebody opens it, or a fault is in it.
    pub folded: bool,
    pub fields: Vec<Field>,
}

impl Part {
    pub fn new(title: impl Into<String>, fields: Vec<Field>) -> Self {
        Self { title: title.into(), fields, ..Self::default() }
    }

    #[must_use]
    pub fn about(self, about: impl Into<String>) -> Self {
        Self { about: about.into(), ..self }
    }

    #[must_use]
    pub fn folded(self) -> Self {
        Self { folded: true, ..self }
    }

    /// Whether it is shown open.
    pub fn is_open(&self) -> bool {
        !self.folded || self.fields.iter().any(|field| field.fault.is_some() || field.is_filled())
    }
}

impl Form {
    pub fn of(parts: Vec<Part>) -> Self {
        Self { parts, loose: Vec::new() }
    }

    fn fields_mut(&mut self) -> impl Iterator<Item = &mut Field> {
        self.parts.iter_mut().flat_map(|part| part.fields.iter_mut())
    }

    pub fn fields(&self) -> impl Iterator<Item = &Field> {
        self.parts.iter().flat_map(|part| part.fields.iter())
    }

    /// Shows a request in the fields.
    #[must_use]
    pub fn showing(mut self, draft: &Value) -> Self {
        for field in self.fields_mut() {
            field.show(draft.pointer(&field.pointer));
        }
        self
    }

    /// Shows again what somebody typed, just as it was.
    #[must_use]
    pub fn typed(mut self, fields: &Fields) -> Self {
        for field in self.fields_mut() {
            field.keep(fields);
        }
        self
    }

    /// The request that was typed. What cannot be read goes in as the text it is, so that the reader says what is wrong.
    pub fn draft(&self, fields: &Fields) -> Value {
        let mut draft = Value::Object(Map::new());
        for field in self.fields() {
            if let Some(value) = field.read(fields) {
                put(&mut draft, &field.pointer, value);
            }
        }
        draft
    }

    /// Puts faults to their fields: the one at the fault's place, or around it.
    #[must_use]
    pub fn with_faults(mut self, faults: &[FieldError]) -> Self {
        for fault in faults {
            let holds = |field: &&mut Field| {
                let rest = fault.pointer.strip_prefix(field.pointer.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            match self.fields_mut().filter(holds).max_by_key(|field| field.pointer.len()) {
                Some(field) => field.refuse(&fault.detail),
                None => self.loose.push(fault.detail.clone()),
            }
        }
        let first = self.fields_mut().find(|field| field.fault.is_some());
        if let Some(first) = first {
            first.first_fault = true;
        }
        self
    }

    /// How many faults there are.
    pub fn faulty(&self) -> bool {
        !self.loose.is_empty() || self.fields().any(|field| field.fault.is_some())
    }

    /// What is another now than it was, by the names that people see: label, before, now.
    pub fn changes(&self, before: &Value, now: &Value) -> Vec<(String, String, String)> {
        let shown = |field: &Field, draft: &Value| match field.kind.write(draft.pointer(&field.pointer)) {
            text if text.is_empty() => "nothing".to_owned(),
            text => text,
        };
        let changed = self.fields().filter(|field| !field.is_secret()).filter_map(|field| {
            let (before, now) = (shown(field, before), shown(field, now));
            (before != now).then(|| (field.label.clone(), before, now))
        });
        changed.collect()
    }
}

/// Puts a value to its place; objects on the way are made. A place below something that is no object stays as it is.
fn put(draft: &mut Value, pointer: &str, value: Value) {
    let mut place = draft;
    for name in pointer.split('/').skip(1) {
        let Value::Object(fields) = place else { return };
        let name = name.replace("~1", "/").replace("~0", "~");
        place = fields.entry(name).or_insert_with(|| Value::Object(Map::new()));
    }
    if place.as_object().is_some_and(Map::is_empty) {
        *place = value;
    }
}

/// Takes a text out of a draft: what stands in the address and not in the body of the API's request.
pub fn take_text(draft: &mut Value, name: &str) -> String {
    let taken = draft.as_object_mut().and_then(|fields| fields.remove(name));
    taken.and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use punctual_wire::Code;
    use serde_json::json;

    use super::*;

    fn form() -> Form {
        Form::of(vec![Part::new(
            "Main",
            vec![
                Field::text("/name", "Name"),
                Field::new("/settings/port", "Port", Kind::Number),
                Field::new("/targets", "Targets", Kind::List),
                Field::new("/circuit", "Circuit", Kind::OrFalse("opens", "never opens")),
                Field::new("/circuit/failures", "Failures", Kind::Number),
                Field::new("/limits/rates", "Rates", Kind::Rates),
                Field::new("/active", "Active", Kind::Flag),
            ],
        )])
    }

    #[test]
    fn what_is_typed_becomes_the_request_and_comes_back() {
        let typed = Fields::read(
            b"%2Fname=ops&%2Fsettings%2Fport=25&%2Ftargets=a%40b%0D%0A%0D%0Ac&%2Flimits%2Frates=30+per+1m&%2Fcircuit%2Ffailures=5",
        );
        let draft = form().draft(&typed);
        let expected = json!({"name": "ops", "settings": {"port": 25}, "targets": ["a@b", "c"],
            "limits": {"rates": [{"max": 30, "per": "1m"}]}, "circuit": {"failures": 5}, "active": false});
        assert_eq!(draft, expected);
        let again = form().showing(&draft);
        let values: Vec<&str> = again.fields().map(|field| field.value.as_str()).collect();
        assert_eq!(values, ["ops", "25", "a@b\nc", "", "5", "30 per 1m", ""]);
    }

    #[test]
    fn a_switch_that_is_off_leaves_out_what_is_below_it() {
        let draft = form().draft(&Fields::read(b"%2Fcircuit=false&%2Fcircuit%2Ffailures=5"));
        assert_eq!(draft["circuit"], json!(false));
    }

    #[test]
    fn a_fault_finds_its_field_and_the_first_gets_the_focus() {
        let fault = |pointer: &str| FieldError::new(pointer, Code::OutOfRange, format!("wrong at {pointer}"));
        let form =
            form().with_faults(&[fault("/limits/rates/0/max"), fault("/settings/port"), fault("/zone")]);
        let found: Vec<(&str, bool)> = form
            .fields()
            .filter(|field| field.fault.is_some())
            .map(|field| (field.label.as_str(), field.first_fault))
            .collect();
        assert_eq!(found, [("Port", true), ("Rates", false)]);
        assert_eq!(form.loose, ["wrong at /zone"]);
        assert!(form.faulty());
    }

    #[test]
    fn what_changed_meanwhile_is_named_as_people_see_it() {
        let changes =
            form().changes(&json!({"name": "a", "targets": ["x"]}), &json!({"name": "a", "targets": []}));
        assert_eq!(changes, [("Targets".to_owned(), "x".to_owned(), "nothing".to_owned())]);
    }
}

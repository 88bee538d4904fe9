//! Forms that are described once: the description makes the HTML and reads what comes back as the request of the API.
//!
//! A field is a place in that request (a JSON pointer). What is typed becomes the request, the request is read by the same strict
//! reader that the API has, and a fault finds its field by its pointer. So a form has no rule of its own.

mod adapter;
mod field;
mod filter;
mod pages;
mod resource;
mod rows;

use punctual_engine::keys::digest;
use punctual_wire::FieldError;
use serde_json::{Map, Value};

pub use self::{
    adapter::{retry_part, settings_parts, without_named_secrets, without_secrets},
    field::{Field, Kind},
    filter::{Asks, filter_of_form, filter_part, filter_place, filter_to_form, meant},
    pages::{LARGE_FORM, again, index, routes, routes_of_one, shown, shown_once, typed_draft},
    resource::{Done, Listed, Listing, Notice, Once, Refused, Resource, Stored},
    rows::{Act, Rows, put},
};
use crate::{form::Fields, words};

/// A form in its parts.
#[derive(Default)]
pub struct Form {
    pub parts: Vec<Part>,
    /// Faults that belong to no field.
    pub loose: Vec<String>,
    /// What the faults come to; by default that nothing was saved.
    pub verdict: Option<&'static str>,
}

/// Fields that belong together.
#[derive(Default)]
pub struct Part {
    pub title: String,
    pub about: String,
    /// Closed until somebody opens it, or a fault is in it.
    pub folded: bool,
    pub fields: Vec<Field>,
    /// Lists below the fields.
    pub rows: Vec<Rows>,
    /// Parts below those.
    pub parts: Vec<Part>,
    /// Buttons of its own that change the form: word and label.
    pub acts: Vec<(&'static str, &'static str)>,
    /// Columns that the fields stand in, where they are not two.
    pub columns: usize,
    /// The field, and its values, for which there is such a part.
    pub only: String,
    pub off: bool,
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

    #[must_use]
    pub fn with_rows(mut self, rows: Rows) -> Self {
        self.rows.push(rows);
        self
    }

    #[must_use]
    pub fn with_part(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    #[must_use]
    pub fn act(mut self, word: &'static str, label: &'static str) -> Self {
        self.acts.push((word, label));
        self
    }

    #[must_use]
    pub fn only(self, only: impl Into<String>) -> Self {
        Self { only: only.into(), ..self }
    }

    /// Whether it is shown open.
    pub fn is_open(&self) -> bool {
        let mut fields = Vec::new();
        self.collect(&mut fields);
        !self.folded
            || fields
                .iter()
                .any(|field| field.fault.is_some() || field.focus || (!field.off && field.is_filled()))
    }

    fn collect<'p>(&'p self, into: &mut Vec<&'p Field>) {
        into.extend(&self.fields);
        self.rows.iter().flat_map(|rows| &rows.rows).for_each(|row| row.part.collect(into));
        self.parts.iter().for_each(|part| part.collect(into));
    }

    fn each_field(&mut self, on: &mut dyn FnMut(&mut Field)) {
        self.fields.iter_mut().for_each(&mut *on);
        for row in self.rows.iter_mut().flat_map(|rows| &mut rows.rows) {
            row.part.each_field(on);
        }
        for part in &mut self.parts {
            part.each_field(on);
        }
    }

    fn each_list(&self, on: &mut dyn FnMut(&Rows)) {
        for rows in self.rows.iter().filter(|rows| !rows.off) {
            on(rows);
            rows.rows.iter().for_each(|row| row.part.each_list(on));
        }
        self.parts.iter().filter(|part| !part.off).for_each(|part| part.each_list(on));
    }

    /// Notes what does not apply to what is in the form; what is inside of it does not either.
    fn settle(&mut self, draft: &Value, is_off: bool) {
        self.off = is_off || !holds(&self.only, draft);
        let is_off = self.off;
        for field in &mut self.fields {
            field.off = is_off || !holds(&field.only, draft);
        }
        for rows in &mut self.rows {
            rows.off = is_off || !holds(&rows.only, draft);
            let is_off = rows.off;
            rows.rows.iter_mut().for_each(|row| row.part.settle(draft, is_off));
        }
        self.parts.iter_mut().for_each(|part| part.settle(draft, is_off));
    }

    /// Gives the focus to the row at this place, or to the first field in it.
    fn focus(&mut self, pointer: &str, is_new: bool) {
        for rows in &mut self.rows {
            let list = rows.pointer.clone();
            for (index, row) in rows.rows.iter_mut().enumerate() {
                match format!("{list}/{index}") == pointer {
                    true if is_new => {
                        let mut is_first = true;
                        row.part.each_field(&mut |field| {
                            field.focus = std::mem::take(&mut is_first);
                        });
                    }
                    true => row.focus = true,
                    false => row.part.focus(pointer, is_new),
                }
            }
        }
        self.parts.iter_mut().for_each(|part| part.focus(pointer, is_new));
    }
}

/// Whether a field has one of the values that are asked for: `/type=rating|number`; without values, any.
fn holds(only: &str, draft: &Value) -> bool {
    if only.is_empty() {
        return true;
    }
    let (pointer, values) = only.split_once('=').map_or((only, None), |(name, values)| (name, Some(values)));
    let text = match draft.pointer(pointer) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    match values {
        Some(values) => values.split('|').any(|value| value == text),
        None => !text.is_empty(),
    }
}

impl Form {
    pub fn of(parts: Vec<Part>) -> Self {
        Self { parts, ..Self::default() }
    }

    fn each_field(&mut self, on: &mut dyn FnMut(&mut Field)) {
        self.parts.iter_mut().for_each(|part| part.each_field(on));
    }

    /// Every field, those of rows and inner parts included, in the order of the page.
    pub fn fields(&self) -> Vec<&Field> {
        let mut fields = Vec::new();
        self.parts.iter().for_each(|part| part.collect(&mut fields));
        fields
    }

    /// Shows a request in the fields.
    #[must_use]
    pub fn showing(mut self, draft: &Value) -> Self {
        self.each_field(&mut |field| field.show(draft.pointer(&field.pointer)));
        self.settled(draft)
    }

    /// Shows again what somebody typed, just as it was.
    #[must_use]
    pub fn typed(mut self, fields: &Fields) -> Self {
        self.each_field(&mut |field| field.keep(fields));
        self.settled(&rows::typed_tree(fields))
    }

    /// The same with texts at their places.
    #[must_use]
    pub fn showing_typed(mut self, tree: &Value) -> Self {
        self.each_field(&mut |field| field.show_typed(tree.pointer(&field.pointer)));
        self.settled(tree)
    }

    /// Notes which fields apply.
    #[must_use]
    pub fn settled(mut self, draft: &Value) -> Self {
        self.parts.iter_mut().for_each(|part| part.settle(draft, false));
        self
    }

    /// Gives the focus to a row, or to the first field of a new one.
    #[must_use]
    pub fn focused(mut self, pointer: &str, is_new: bool) -> Self {
        self.parts.iter_mut().for_each(|part| part.focus(pointer, is_new));
        self.each_field(&mut |field| field.focus |= field.pointer == pointer);
        self
    }

    /// The request that was typed. What cannot be read goes in as the text it is, so that the reader says what is wrong.
    pub fn draft(&self, fields: &Fields) -> Value {
        self.request(|field| field.read(fields))
    }

    /// The request that the fields show.
    pub fn shown(&self) -> Value {
        self.request(Field::shown)
    }

    fn request(&self, read: impl Fn(&Field) -> Option<Value>) -> Value {
        let mut draft = Value::Object(Map::new());
        for part in self.parts.iter().filter(|part| !part.off) {
            part.each_list(&mut |rows| {
                put(&mut draft, &rows.pointer, vec![Value::Object(Map::new()); rows.rows.len()].into());
            });
        }
        for field in self.fields().into_iter().filter(|field| !field.off) {
            if let Some(value) = read(field) {
                put(&mut draft, &field.pointer, value);
            }
        }
        draft
    }

    /// Puts faults to their fields: the one at the fault's place, or around it, or the first inside of it.
    #[must_use]
    pub fn with_faults(mut self, faults: &[FieldError]) -> Self {
        for fault in faults {
            let shown: Vec<&str> = self
                .fields()
                .into_iter()
                .filter(|field| !field.off)
                .map(|field| field.pointer.as_str())
                .collect();
            let around = shown.iter().filter(|at| is_below(&fault.pointer, at)).max_by_key(|at| at.len());
            let inside = || shown.iter().find(|at| is_below(at, &fault.pointer));
            match around.or_else(inside).map(|at| (*at).to_owned()) {
                Some(at) => {
                    let said = said(&self.fields(), fault, &at);
                    // The whole request in one field: its parts are named by their place.
                    let place = (at.is_empty() && !fault.pointer.is_empty()).then_some(&fault.pointer);
                    let mut is_first = true;
                    self.each_field(&mut |field| {
                        if field.pointer == at && !field.off && std::mem::take(&mut is_first) {
                            match place {
                                Some(place) => field.refuse(&format!("{place}: {said}")),
                                None => field.refuse(&said),
                            }
                        }
                    });
                }
                None => {
                    let said = said(&self.fields(), fault, "");
                    self.loose.push(said);
                }
            }
        }
        let mut is_first = true;
        self.each_field(&mut |field| {
            if field.fault.is_some() && std::mem::take(&mut is_first) {
                field.first_fault = true;
            }
        });
        self
    }

    /// How many faults there are.
    pub fn faulty(&self) -> bool {
        !self.loose.is_empty() || self.fields().iter().any(|field| field.fault.is_some())
    }

    /// What another form shows in place of this one, by the names that people see: label, before, now.
    pub fn changes(&self, now: &Form) -> Vec<(String, String, String)> {
        let shown = |field: &Field| match field.value.as_str() {
            "" => "nothing".to_owned(),
            _ => field.said(),
        };
        let (before, now) = (self.fields(), now.fields());
        let find = |fields: &[&Field], pointer: &str| {
            let found = fields.iter().find(|field| field.pointer == pointer);
            found.map_or_else(|| "nothing".to_owned(), |field| shown(field))
        };
        let added = now.iter().filter(|field| before.iter().all(|other| other.pointer != field.pointer));
        let mut changes = Vec::new();
        for field in before.iter().chain(added).filter(|field| !field.is_secret()) {
            let (was, is) = (find(&before, &field.pointer), find(&now, &field.pointer));
            if was != is {
                changes.push((field.label_in_full(), was, is));
            }
        }
        changes
    }
}

/// What is wrong, with the labels that people see in place of the request's own names; it stands at the field of this place.
fn said(fields: &[&Field], fault: &FieldError, at: &str) -> String {
    let own = fault.pointer.rsplit('/').next().unwrap_or_default();
    let label = fields.iter().find(|field| field.pointer == at).map(|field| field.label.clone());
    // The same check is behind keys, names and ids.
    let detail = match (fault.detail.strip_prefix("The key is not valid"), label) {
        (Some(": it is empty."), Some(label)) => format!("{label} is missing."),
        (Some(rest), Some(label)) => format!("{label} is not valid{rest}"),
        _ => fault.detail.replace("; null takes it away.", ", or removed."),
    };
    let shared = |pointer: &str| {
        let same = pointer.split('/').zip(fault.pointer.split('/')).take_while(|(one, other)| one == other);
        same.count()
    };
    words::spoken(&detail, |name| {
        let of_name = |field: &&&Field| field.pointer.split('/').any(|part| part == name);
        let own = fields.iter().find(|field| name == own && field.pointer == at);
        // Of several fields of a name the nearest is meant: the one of the same entry of a list.
        let near = || {
            let found = fields.iter().filter(of_name).filter(|field| !field.off);
            found.max_by_key(|field| {
                (shared(&field.pointer), std::cmp::Reverse(field.pointer.matches('/').count()))
            })
        };
        let field = own.or_else(near).filter(|field| !name.is_empty() && !field.label.is_empty());
        field.map(|field| field.label.clone())
    })
}

/// Whether a place is another one or inside of it.
fn is_below(pointer: &str, over: &str) -> bool {
    pointer.strip_prefix(over).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A version for what is stored without one: another number for other contents.
pub fn version_of(draft: &Value) -> i64 {
    let digest = digest(draft.to_string().as_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&digest[..8]);
    i64::from_be_bytes(bytes)
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
        let values: Vec<&str> = again.fields().into_iter().map(|field| field.value.as_str()).collect();
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
            .into_iter()
            .filter(|field| field.fault.is_some())
            .map(|field| (field.label.as_str(), field.first_fault))
            .collect();
        assert_eq!(found, [("Port", true), ("Rates", false)]);
        assert_eq!(form.loose, ["wrong at /zone"]);
        assert!(form.faulty());
    }

    #[test]
    fn what_changed_meanwhile_is_named_as_people_see_it() {
        let showing = |draft: Value| form().showing(&draft);
        let changes = showing(json!({"name": "a", "targets": ["x"]}))
            .changes(&showing(json!({"name": "a", "targets": []})));
        assert_eq!(changes, [("Targets".to_owned(), "x".to_owned(), "nothing".to_owned())]);
    }
}

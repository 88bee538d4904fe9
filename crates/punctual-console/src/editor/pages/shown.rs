//! A definition in its form: as fields where they can show all of it, else as JSON.

use punctual_wire::FieldError;
use serde_json::Value;

use crate::{
    App,
    answer::Refusal,
    editor::{Field, Form, Kind, Part, Resource, Stored, take_text},
    frame::Visit,
};

/// A form with what is in it, and how it is edited.
pub struct Shown {
    pub form: Form,
    pub as_json: bool,
    pub only_json: bool,
}

impl Shown {
    /// A request as fields where they can show all of it, unless JSON is asked for.
    pub async fn of<R: Resource>(
        app: &App,
        visit: &Visit,
        request: &Value,
        stored: Option<&Stored>,
        as_json: bool,
    ) -> Result<Self, Refusal> {
        let draft = R::to_form(request);
        let form = R::form(app, visit, &draft, stored).await?.showing(&draft);
        let only_json = !says(&pruned(&R::of_form(form.shown())), &pruned(&R::of_form(draft)));
        if as_json || only_json {
            let mut whole = request.clone();
            // What is stored keeps its name.
            if stored.is_some() {
                take_text(&mut whole, R::KEY.trim_start_matches('/'));
            }
            return Ok(Self { form: json_form().showing(&whole), as_json: true, only_json });
        }
        Ok(Self { form, as_json, only_json })
    }

    pub fn fields(form: Form) -> Self {
        Self { form, as_json: false, only_json: false }
    }
}

/// A request without what says nothing: fields that are empty, and blanks around texts.
fn pruned(value: &Value) -> Value {
    match value {
        Value::String(text) => text.trim().replace("\r\n", "\n").into(),
        Value::Array(items) => items.iter().map(pruned).collect(),
        Value::Object(fields) => {
            let says = |value: &Value| match value {
                Value::Null => false,
                Value::String(text) => !text.is_empty(),
                Value::Object(fields) => !fields.is_empty(),
                _ => true,
            };
            let fields = fields.iter().map(|(name, value)| (name.clone(), pruned(value)));
            Value::Object(fields.filter(|(_, value)| says(value)).collect())
        }
        other => other.clone(),
    }
}

/// Whether a request says all that another one does; beside it there may be what a form adds, such as a box that is not ticked.
fn says(shown: &Value, wanted: &Value) -> bool {
    match (shown, wanted) {
        (Value::Object(shown), Value::Object(wanted)) => {
            wanted.iter().all(|(name, value)| shown.get(name).is_some_and(|own| says(own, value)))
        }
        (Value::Array(shown), Value::Array(wanted)) => {
            shown.len() == wanted.len() && shown.iter().zip(wanted).all(|(own, value)| says(own, value))
        }
        _ => shown == wanted,
    }
}

/// The form of a request as text.
pub fn json_form() -> Form {
    let hint = "The request of the API, as it would be sent. Secrets are not shown; those that are left out stay as they are.";
    let field = Field::new("", "Definition", Kind::Json).hint(hint);
    Form::of(vec![Part::new("JSON", vec![field])])
}

/// Faults of a request at their fields.
pub fn placed<R: Resource>(form: Form, faults: &[FieldError], as_json: bool) -> Form {
    let place = |fault: &FieldError| {
        let pointer = if as_json { fault.pointer.clone() } else { R::place(&fault.pointer) };
        FieldError::new(pointer, fault.code, fault.detail.clone())
    };
    form.with_faults(&faults.iter().map(place).collect::<Vec<_>>())
}

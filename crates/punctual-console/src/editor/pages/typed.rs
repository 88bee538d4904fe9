//! What somebody typed into a form, as the request that it makes.

use punctual_wire::{FieldError, strict};
use serde_json::{Map, Value};

use super::{
    Opened, edit_page,
    shown::{Shown, json_form, placed},
};
use crate::{
    App,
    answer::{Page, Refusal},
    editor::{Form, Resource, Stored, field::WHOLE, rows::typed_tree},
    form::Fields,
    frame::Visit,
    pages::entries,
};

/// What somebody sent.
pub struct Typed {
    pub stored: Option<Stored>,
    /// The form for it, empty.
    pub form: Form,
    /// It as a request.
    pub request: Value,
    /// Why it is no request at all.
    pub faults: Vec<FieldError>,
    pub as_json: bool,
}

pub async fn typed<R: Resource>(app: &App, visit: &Visit, fields: &Fields) -> Result<Typed, Refusal> {
    let known = fields.text("known");
    let stored = if known.is_empty() { None } else { R::stored(app, visit, known).await? };
    if fields.text("as") == "json" {
        let read = strict::read(fields.text(WHOLE).as_bytes()).map_err(entries::faults);
        let (mut request, faults) = match read {
            Ok(request) => (request, Vec::new()),
            Err(faults) => (Value::Object(Map::new()), faults),
        };
        // What is stored keeps its name, whatever the text says.
        let name = R::KEY.trim_start_matches('/');
        if let (false, Some(request)) = (known.is_empty() || name.is_empty(), request.as_object_mut()) {
            request.insert(name.to_owned(), known.into());
        }
        return Ok(Typed { stored, form: json_form(), request, faults, as_json: true });
    }
    // A form depends on what is in it, such as the adapter, and how many rows there are.
    let tree = typed_tree(fields);
    let form = R::form(app, visit, &tree, stored.as_ref()).await?.settled(&tree);
    let request = R::of_form(form.draft(fields));
    Ok(Typed { stored, form, request, faults: Vec::new(), as_json: false })
}

/// What was typed, as a request.
pub async fn typed_draft<R: Resource>(app: &App, visit: &Visit, fields: &Fields) -> Result<Value, Refusal> {
    typed::<R>(app, visit, fields).await.map(|typed| typed.request)
}

/// The form again with what was typed, for what is shown beside it.
pub async fn again<R: Resource>(app: &App, visit: &Visit, fields: &Fields) -> Page {
    let Typed { stored, form, request, faults, as_json } = typed::<R>(app, visit, fields).await?;
    let form = placed::<R>(form.typed(fields), &faults, as_json);
    let shown = Shown { form, as_json, only_json: false };
    edit_page::<R>(app, visit, shown, stored.as_ref(), Opened::typed(fields, request)).await
}

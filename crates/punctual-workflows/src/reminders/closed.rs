//! Unknown fields in the parts of a definition that providers read: a misspelt `where` would count everything. They are refused
//! when a setting is saved; settings stored before are still read.

use punctual_model::{Fault, object::Object};
use serde_json::Value;

use super::{Providers, triggers::metric};

/// The parts whose readers are providers, each with what is not known in it.
type Part = (&'static str, fn(&Providers, &Value, &mut Vec<Fault>));
const PARTS: [Part; 2] = [("/threshold/metric", of_metric), ("/recipients", of_recipients)];

/// The unknown fields of a definition that replaces another. A part that stays as it is is not in the way of other changes.
pub fn unknown_fields(providers: &Providers, definition: &Value, before: Option<&Value>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (pointer, find) in PARTS {
        let Some(part) = definition.pointer(pointer) else { continue };
        if before.and_then(|before| before.pointer(pointer)) != Some(part) {
            find(providers, part, &mut faults);
        }
    }
    faults
}

fn of_metric(_: &Providers, part: &Value, faults: &mut Vec<Fault>) {
    metric::unknown_fields(part, "/threshold/metric", faults);
}

fn of_recipients(providers: &Providers, part: &Value, faults: &mut Vec<Fault>) {
    for (name, spec) in part.as_object().into_iter().flatten() {
        let known = providers.recipients.get(name).and_then(|provider| provider.fields());
        if let Some(known) = known
            && let Some(mut object) = Object::new(spec, format!("/recipients/{name}"), faults)
        {
            object.only(known);
        }
    }
}

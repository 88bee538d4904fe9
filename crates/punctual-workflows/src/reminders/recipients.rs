//! The recipients of a reminder, resolved when it is due: fixed addresses, a list, a field of the source, or a field of a
//! referenced source.

use punctual_model::{Audience, Fault, ReasonCode};
use serde_json::Value;

use super::{
    providers::{Case, Parts, Providers, RecipientProvider, Source},
    triggers::check_pointer,
};

const NOBODY: ReasonCode = ReasonCode::NoRecipients;

/// What is wrong with the recipients of a definition.
pub fn check(providers: &Providers, definition: &Value) -> Vec<Fault> {
    let Some(fields) = definition.get("recipients").and_then(Value::as_object) else {
        let detail = "`recipients` is missing; it takes `{\"addresses\": […]}`, `{\"list\": \"ops\"}`, `{\"field\": \"/email\"}` or `{\"lookup\": {…}}`.";
        return vec![Fault::new("/recipients", "missing_field", detail)];
    };
    let mut given = fields.iter().filter(|(_, value)| !value.is_null());
    let (Some((name, spec)), None) = (given.next(), given.next()) else {
        let known: Vec<&str> = providers.recipients.keys().collect();
        let detail = format!("`recipients` takes exactly one of `{}`.", known.join("`, `"));
        return vec![Fault::new("/recipients", "field_conflict", detail)];
    };
    match providers.recipients.get(name) {
        Some(provider) => {
            provider.check(spec, &format!("/recipients/{}", punctual_model::fault::pointer_step(name)))
        }
        None => {
            let known: Vec<&str> = providers.recipients.keys().collect();
            let detail = format!(
                "`{}` is not known here; known are `{}`.",
                punctual_model::fault::shown(name),
                known.join("`, `")
            );
            vec![Fault::new(
                format!("/recipients/{}", punctual_model::fault::pointer_step(name)),
                "unknown_field",
                detail,
            )]
        }
    }
}

/// The provider that a definition names, with its part.
pub fn named<'a>(
    providers: &'a Providers,
    definition: &'a Value,
) -> Option<(&'a dyn RecipientProvider, &'a Value)> {
    let fields = definition.get("recipients")?.as_object()?;
    let (name, spec) = fields.iter().find(|(_, value)| !value.is_null())?;
    Some((&**providers.recipients.get(name)?, spec))
}

/// `{"addresses": ["a@b.example"]}`.
pub struct Addresses;

impl RecipientProvider for Addresses {
    fn name(&self) -> &'static str {
        "addresses"
    }

    fn check(&self, spec: &Value, pointer: &str) -> Vec<Fault> {
        let texts = spec.as_array().filter(|items| items.iter().all(Value::is_string));
        if texts.is_some_and(|items| (1..=1_000).contains(&items.len())) {
            return Vec::new();
        }
        vec![Fault::new(pointer, "wrong_type", "`addresses` takes an array of 1 to 1000 texts.")]
    }

    fn resolve(&self, spec: &Value, _case: &Case<'_>, _parts: &Parts<'_>) -> Result<Audience, ReasonCode> {
        targets(spec)
    }
}

/// `{"list": "ops"}`: the list is resolved once more, when the message is delivered.
pub struct List;

impl RecipientProvider for List {
    fn name(&self) -> &'static str {
        "list"
    }

    fn check(&self, spec: &Value, pointer: &str) -> Vec<Fault> {
        match spec.as_str() {
            Some(name) if (1..=128).contains(&name.len()) => Vec::new(),
            _ => vec![Fault::new(pointer, "wrong_type", "`list` takes the name of a list.")],
        }
    }

    fn resolve(&self, spec: &Value, _case: &Case<'_>, _parts: &Parts<'_>) -> Result<Audience, ReasonCode> {
        spec.as_str().map(|name| Audience::List(name.to_owned())).ok_or(NOBODY)
    }
}

/// `{"field": "/email"}`: an address or an array of them in the source's state.
pub struct Field;

impl RecipientProvider for Field {
    fn name(&self) -> &'static str {
        "field"
    }

    fn check(&self, spec: &Value, pointer: &str) -> Vec<Fault> {
        let mut faults = Vec::new();
        check_pointer(spec.as_str().unwrap_or_default(), pointer, &mut faults);
        faults
    }

    fn resolve(&self, spec: &Value, case: &Case<'_>, _parts: &Parts<'_>) -> Result<Audience, ReasonCode> {
        let pointer = spec.as_str().unwrap_or_default();
        targets(case.source.state.pointer(pointer).ok_or(NOBODY)?)
    }
}

/// `{"lookup": {"sourceType": "person", "idField": "/ownerId", "field": "/email"}}`: a field of the source that a
/// field of this one names.
pub struct Lookup;

impl RecipientProvider for Lookup {
    fn name(&self) -> &'static str {
        "lookup"
    }

    fn check(&self, spec: &Value, pointer: &str) -> Vec<Fault> {
        let mut faults = Vec::new();
        let text = |name: &str| spec.get(name).and_then(Value::as_str).unwrap_or_default();
        if text("sourceType").is_empty() || text("sourceType").len() > 128 {
            let detail =
                "`sourceType` is missing: the type of the source that is looked up, such as `person`.";
            faults.push(Fault::new(format!("{pointer}/sourceType"), "missing_field", detail));
        }
        for name in ["idField", "field"] {
            check_pointer(text(name), &format!("{pointer}/{name}"), &mut faults);
        }
        faults
    }

    fn fields(&self) -> Option<&'static [&'static str]> {
        Some(&["sourceType", "idField", "field"])
    }

    fn looks_at(&self, spec: &Value, source: &Source) -> Option<(String, String)> {
        let id = source.state.pointer(spec.get("idField")?.as_str()?)?;
        let id = match id {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        Some((spec.get("sourceType")?.as_str()?.to_owned(), id))
    }

    fn resolve(&self, spec: &Value, case: &Case<'_>, parts: &Parts<'_>) -> Result<Audience, ReasonCode> {
        let named = self.looks_at(spec, case.source).ok_or(NOBODY)?;
        let other = parts.named_by(case, &named).filter(|other| other.is_valid()).ok_or(NOBODY)?;
        let pointer = spec.get("field").and_then(Value::as_str).unwrap_or_default();
        targets(other.state.pointer(pointer).ok_or(NOBODY)?)
    }
}

/// One address, or several; blanks do not count.
fn targets(value: &Value) -> Result<Audience, ReasonCode> {
    let items = match value {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut targets: Vec<String> = items
        .iter()
        .filter_map(Value::as_str)
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
        .collect();
    targets.sort_unstable();
    targets.dedup();
    if targets.is_empty() { Err(NOBODY) } else { Ok(Audience::Targets(targets)) }
}

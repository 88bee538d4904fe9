//! A message that takes its texts from a stored template: the fields for its variables, and the message as it would be sent.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;
use punctual_store::templates;
use punctual_templates::{RenderFailure, Rendered, Variant, pick, variables_of};
use punctual_wire::{Code, FieldError, content::Content};
use serde_json::{Value, json};

use crate::{
    App,
    answer::Refusal,
    editor::{Field, Kind, put},
    pages::settings::templates::{rendered, variant},
};

/// Where the form has the values of the variables.
const CONTEXT: &str = "/context";

/// A stored template.
pub struct Chosen {
    pub name: String,
    default: String,
    variants: BTreeMap<String, Variant>,
}

impl Chosen {
    /// The template of this name, if there is one.
    pub async fn named(app: &App, name: &str) -> Result<Option<Self>, Refusal> {
        if name.is_empty() {
            return Ok(None);
        }
        let mut reader = app.engine.store.read_for_people().await?;
        let row = templates::by_names(&mut reader.conn(), vec![name.to_owned()]).await?.pop();
        Ok(row.map(|row| {
            let stored: Value = serde_json::from_str(&row.variants).unwrap_or_default();
            let locales = stored.as_object().into_iter().flatten().map(|(locale, _)| locale.clone());
            let stored = json!({ "variants": stored });
            let variants = locales.map(|locale| (locale.clone(), variant(&stored, &locale))).collect();
            Self { name: row.name, default: row.default_locale, variants }
        }))
    }

    /// The template that a draft names.
    pub async fn of(app: &App, draft: &Value) -> Result<Option<Self>, Refusal> {
        Self::named(app, draft["template"].as_str().unwrap_or_default().trim()).await
    }

    fn variant(&self, locale: Option<&str>) -> Variant {
        pick(&self.variants, &self.default, locale).map(|(_, variant)| variant.clone()).unwrap_or_default()
    }

    /// The variables of all languages; of `document` and `document.name` the second.
    fn variables(&self) -> BTreeSet<String> {
        let all: BTreeSet<String> = self.variants.values().flat_map(variables_of).collect();
        let is_single = |name: &&String| {
            let inside = format!("{name}.");
            !name.contains("..") && !name.ends_with('.') && !all.iter().any(|one| one.starts_with(&inside))
        };
        all.iter().filter(is_single).cloned().collect()
    }

    /// What is asked for to fill it in.
    pub fn fields(&self) -> Vec<Field> {
        let mut languages = vec![(String::new(), format!("{}, the default", self.default))];
        let others = self.variants.keys().filter(|locale| **locale != self.default);
        languages.extend(others.map(|locale| (locale.clone(), locale.clone())));
        let mut fields = Vec::new();
        if languages.len() > 1 {
            fields.push(Field::new("/locale", "Language", Kind::Choice(languages)));
        }
        fields
            .extend(self.variables().iter().map(|name| Field::text(place_of(name), name).required().prose()));
        fields.into_iter().map(|field| field.only("/from=template")).collect()
    }

    /// What keeps it from being sent with these values, at the fields that have them.
    pub async fn faults(&self, content: &Content) -> Result<Vec<FieldError>, Refusal> {
        let context = content.context.clone().unwrap_or_else(|| json!({}));
        let shown = rendered(self.variant(content.locale.as_deref()), context.clone()).await?;
        let Err(fault) = shown else { return Ok(Vec::new()) };
        if matches!(fault.why, RenderFailure::UnknownVariable { .. }) {
            // One is named by the fault; people want to know all of them.
            let is_missing = |name: &&String| context.pointer(&place_of(name)[CONTEXT.len()..]).is_none();
            let missing = |name: &String| {
                FieldError::new(place_of(name), Code::MissingField, format!("{name} is missing."))
            };
            let faults: Vec<FieldError> = self.variables().iter().filter(is_missing).map(missing).collect();
            if !faults.is_empty() {
                return Ok(faults);
            }
        }
        let how = match fault.why {
            RenderFailure::SubjectInvalid => "",
            _ => " Give lists and objects as JSON.",
        };
        let code = Code::parse(fault.code()).unwrap_or(Code::OutOfRange);
        Ok(vec![FieldError::new("/template", code, format!("It cannot be filled in: {fault}.{how}"))])
    }
}

/// The place of a variable in the request: `/context/document/name`.
fn place_of(variable: &str) -> String {
    format!("{CONTEXT}/{}", variable.replace('.', "/"))
}

/// The message as it would be sent.
#[derive(Template)]
#[template(path = "outbox_message.html")]
struct MessagePart {
    template: String,
    shown: Result<Rendered, String>,
    /// Variables without a value, which are shown by name.
    open: Vec<String>,
}

/// What stands beside the form of a message from a template.
pub async fn beside(app: &App, draft: &Value) -> Result<String, Refusal> {
    let Some(chosen) = Chosen::of(app, draft).await? else { return Ok(String::new()) };
    let mut context = match &draft["context"] {
        Value::Null => json!({}),
        given => given.clone(),
    };
    let mut open = Vec::new();
    for name in chosen.variables() {
        let place = &place_of(&name)[CONTEXT.len()..];
        if context.pointer(place).is_none() {
            put(&mut context, place, format!("[{name}]").into());
            open.push(name);
        }
    }
    let shown = rendered(chosen.variant(draft["locale"].as_str()), context).await?;
    let shown = shown.map_err(|fault| format!("{fault}."));
    let part = MessagePart { template: chosen.name, shown, open };
    part.render().map_err(|error| Refusal::internal(&error))
}

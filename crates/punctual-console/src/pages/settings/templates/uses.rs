//! What a template asks for, and which definitions refer to it.

use std::collections::BTreeSet;

use punctual_store::{reminders::settings, report_subscriptions, surveys};
use punctual_templates::Variant;
use serde_json::{Map, Value};

use crate::{App, answer::Refusal, frame::Visit, links};

/// Definitions of each kind that are looked through.
const LOOKED_THROUGH: i64 = 500;

/// A definition that refers to a template.
pub struct Use {
    pub kind: &'static str,
    pub name: String,
    pub link: String,
}

/// The variables in the texts, as they are written: the first name of each `{{ … }}`.
pub fn variables(variant: &Variant) -> BTreeSet<String> {
    let texts = [Some(&variant.subject), Some(&variant.body), variant.html.as_ref()];
    let mut found = BTreeSet::new();
    for text in texts.into_iter().flatten() {
        for piece in text.split("{{").skip(1) {
            let inside = piece.split("}}").next().unwrap_or_default().trim_start_matches(['-', ' ']);
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            let name: String = inside.chars().take_while(|c| is_part(*c)).collect();
            if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                found.insert(name);
            }
        }
    }
    found
}

/// A context that gives each variable something to show.
pub fn sample(variables: &BTreeSet<String>) -> String {
    let mut context = Value::Object(Map::new());
    for variable in variables {
        let mut place = &mut context;
        for name in variable.split('.').filter(|name| !name.is_empty()) {
            if !place.is_object() {
                *place = Value::Object(Map::new());
            }
            place = &mut place[name];
        }
        if place.is_null() {
            *place = variable.rsplit('.').next().unwrap_or_default().into();
        }
    }
    serde_json::to_string_pretty(&context).unwrap_or_default()
}

/// Whether a definition names this template anywhere.
fn refers(definition: &Value, template: &str) -> bool {
    match definition {
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| (name == "template" && value == template) || refers(value, template)),
        Value::Array(items) => items.iter().any(|item| refers(item, template)),
        _ => false,
    }
}

/// The definitions within reach that refer to the template.
pub async fn uses(app: &App, visit: &Visit, template: &str) -> Result<Vec<Use>, Refusal> {
    let reach = visit.viewer.by.reach();
    let mut reader = app.engine.store.read_for_people().await?;
    let reminders = settings::page(&mut reader.conn(), &reach, "", LOOKED_THROUGH).await?;
    let reports = report_subscriptions::page(&mut reader.conn(), &reach, "", LOOKED_THROUGH).await?;
    let surveys = surveys::page(&mut reader.conn(), None, &reach, LOOKED_THROUGH).await?;
    drop(reader);
    let named = |text: &str| serde_json::from_str(text).is_ok_and(|definition| refers(&definition, template));
    let mut found = Vec::new();
    for row in reminders.into_iter().filter(|row| !row.deleted && named(&row.definition)) {
        let link = format!("/reminders/{}", links::encoded(&row.id));
        found.push(Use { kind: "Reminder", name: row.name, link });
    }
    for row in reports.into_iter().filter(|row| !row.deleted && named(&row.definition)) {
        found.push(Use { kind: "Report", name: row.name, link: format!("/reports/{}", row.guid) });
    }
    for row in surveys.into_iter().filter(|row| named(&row.draft)) {
        found.push(Use { kind: "Survey", name: row.name, link: format!("/surveys/{}", row.id) });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn variables_are_found_and_get_a_sample() {
        let variant = Variant {
            subject: "{{ document.name }} expires".to_owned(),
            body: "On {{date}}, {{- document.number | upper }} {{ 'text' }}".to_owned(),
            html: None,
        };
        let found = variables(&variant);
        assert_eq!(found.iter().collect::<Vec<_>>(), ["date", "document.name", "document.number"]);
        let context: Value = serde_json::from_str(&sample(&found)).unwrap();
        assert_eq!(context, json!({"date": "date", "document": {"name": "name", "number": "number"}}));
    }

    #[test]
    fn a_reference_is_found_wherever_it_is() {
        assert!(refers(&json!({"messages": [{"template": "due"}]}), "due"));
        assert!(!refers(&json!({"template": "due-soon", "name": "due"}), "due"));
    }
}

//! Which definitions refer to a list or a template: below its form.

use askama::Template;
use punctual_store::{reminders::settings, report_subscriptions, surveys};
use serde_json::Value;

use crate::{App, answer::Refusal, frame::Visit, links};

/// Definitions of each kind that are looked through.
const LOOKED_THROUGH: i64 = 500;

/// A definition that refers to it.
struct Use {
    kind: &'static str,
    name: String,
    link: String,
}

#[derive(Template)]
#[template(path = "settings_uses.html")]
struct UsesPart {
    acts: Vec<(String, &'static str)>,
    used: Vec<Use>,
}

/// The part as HTML: buttons that lead on, and what refers to the one of this name, by the field that does.
pub async fn part(
    app: &App,
    visit: &Visit,
    field: &str,
    name: &str,
    acts: Vec<(String, &'static str)>,
) -> Result<String, Refusal> {
    let part = UsesPart { acts, used: uses(app, visit, field, name).await? };
    part.render().map_err(|error| Refusal::internal(&error))
}

/// Whether a definition has this name in such a field anywhere.
fn refers(definition: &Value, field: &str, to: &str) -> bool {
    match definition {
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| (name == field && value == to) || refers(value, field, to))
        }
        Value::Array(items) => items.iter().any(|item| refers(item, field, to)),
        _ => false,
    }
}

/// The definitions within reach that refer to it.
async fn uses(app: &App, visit: &Visit, field: &str, name: &str) -> Result<Vec<Use>, Refusal> {
    let reach = visit.viewer.by.reach();
    let mut reader = app.engine.store.read_for_people().await?;
    let reminders = settings::page(&mut reader.conn(), &reach, "", LOOKED_THROUGH).await?;
    let reports = report_subscriptions::page(&mut reader.conn(), &reach, "", LOOKED_THROUGH).await?;
    let surveys = surveys::page(&mut reader.conn(), None, &reach, LOOKED_THROUGH).await?;
    drop(reader);
    let named =
        |text: &str| serde_json::from_str(text).is_ok_and(|definition| refers(&definition, field, name));
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
    fn a_reference_is_found_wherever_it_is() {
        assert!(refers(&json!({"messages": [{"template": "due"}]}), "template", "due"));
        assert!(refers(&json!({"recipients": {"list": "ops"}}), "list", "ops"));
        assert!(!refers(&json!({"template": "due-soon", "name": "due", "list": "due"}), "template", "due"));
    }
}

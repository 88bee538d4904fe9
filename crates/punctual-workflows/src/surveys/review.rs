//! The effect of publishing a draft.

use std::collections::BTreeSet;

use punctual_boxed::boxed;
use punctual_engine::Engine;
use punctual_model::{
    Fault,
    survey::{Schema, Warning},
};
use punctual_store::{
    StoreError,
    surveys::{self, SurveyRow},
};
use serde_json::Value;

use super::author::{changed_recipes, text_faults, warnings};

/// A draft beside what is published.
#[derive(Debug, Default)]
pub struct Review {
    /// What keeps it from being published, each with its pointer from the schema.
    pub faults: Vec<Fault>,
    pub warnings: Vec<Warning>,
    pub changes: Vec<Change>,
}

/// One difference, as people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub kind: ChangeKind,
    /// What it is about: `Question rate: How likely …?`.
    pub what: String,
    /// Which of its parts are different, where some are.
    pub parts: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    Added,
    Changed,
    Moved,
    Removed,
}

impl ChangeKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Moved => "moved",
            Self::Removed => "removed",
        }
    }
}

/// Looks a draft over as publishing would.
#[boxed]
pub async fn review(engine: &Engine, survey: &SurveyRow) -> Result<Review, StoreError> {
    let draft: Value = serde_json::from_str(&survey.draft).unwrap_or_default();
    let mut reader = engine.store.read_for_people().await?;
    let last = match survey.published_version {
        Some(number) => surveys::version(&mut reader.conn(), survey.id, number).await?,
        None => None,
    };
    let last_schema = last.map(|last| last.schema_json);
    let before: Value =
        last_schema.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let changes = changes(&before, &draft);
    let schema = match Schema::read(&draft) {
        Ok(schema) => schema,
        Err(faults) => return Ok(Review { faults, changes, ..Review::default() }),
    };
    let faults = text_faults(&draft, &schema, last_schema.as_deref().and_then(Schema::parse).as_ref());
    let mut warnings = warnings(&mut reader.conn(), engine, &schema).await?;
    warnings.extend(changed_recipes(&before, &draft));
    Ok(Review { faults, warnings, changes })
}

/// What is different in a schema that takes the place of another.
pub fn changes(before: &Value, now: &Value) -> Vec<Change> {
    let mut changes = Vec::new();
    for (name, what) in [
        ("title", "Title"),
        ("intro", "Introduction"),
        ("thanks", "Thanks"),
        ("invitation", "Invitation"),
        ("reminder", "Reminder"),
        ("organisation", "Organisation"),
        ("colour", "Colour"),
        ("defaultLocale", "Main language"),
        ("subscribers", "Who gets the answers"),
    ] {
        let (was, is) = (&before[name], &now[name]);
        let kind = match (was.is_null(), is.is_null()) {
            _ if was == is => continue,
            (true, _) => ChangeKind::Added,
            (_, true) => ChangeKind::Removed,
            _ => ChangeKind::Changed,
        };
        changes.push(Change { kind, what: what.to_owned(), parts: Vec::new() });
    }
    of_list(&mut changes, "Question", &before["questions"], &now["questions"]);
    of_list(&mut changes, "Trigger", &before["triggers"], &now["triggers"]);
    changes
}

/// Entries of a list, which are known by their ids.
fn of_list(changes: &mut Vec<Change>, word: &str, before: &Value, now: &Value) {
    let items = |list: &Value| list.as_array().cloned().unwrap_or_default();
    let (before, now) = (items(before), items(now));
    let place = |list: &[Value], id: &Value| list.iter().position(|one| one["id"] == *id);
    let named = |one: &Value| {
        let id = one["id"].as_str().unwrap_or_default();
        match first_text(one.get("text").or(one.get("eventKind")).unwrap_or(&Value::Null)) {
            "" => format!("{word} {id}"),
            text => format!("{word} {id}: {text}"),
        }
    };
    // Where somebody stands among those that are in both is their order.
    let kept: Vec<&Value> =
        before.iter().map(|one| &one["id"]).filter(|id| place(&now, id).is_some()).collect();
    let now_kept: Vec<&Value> =
        now.iter().map(|one| &one["id"]).filter(|id| place(&before, id).is_some()).collect();
    for one in &now {
        let Some(was) = place(&before, &one["id"]).map(|at| &before[at]) else {
            changes.push(Change { kind: ChangeKind::Added, what: named(one), parts: Vec::new() });
            continue;
        };
        if was != one {
            changes.push(Change { kind: ChangeKind::Changed, what: named(one), parts: parts(was, one) });
        }
        let rank = |list: &[&Value]| list.iter().position(|id| **id == one["id"]);
        if rank(&kept) != rank(&now_kept) {
            changes.push(Change { kind: ChangeKind::Moved, what: named(one), parts: Vec::new() });
        }
    }
    for one in before.iter().filter(|one| place(&now, &one["id"]).is_none()) {
        changes.push(Change { kind: ChangeKind::Removed, what: named(one), parts: Vec::new() });
    }
}

/// The fields that differ.
fn parts(was: &Value, is: &Value) -> Vec<String> {
    let names =
        |value: &Value| value.as_object().map(|fields| fields.keys().cloned().collect::<BTreeSet<_>>());
    let all = names(was).unwrap_or_default().into_iter().chain(names(is).unwrap_or_default());
    let all: BTreeSet<String> = all.collect();
    all.into_iter().filter(|name| was[name.as_str()] != is[name.as_str()]).collect()
}

fn first_text(text: &Value) -> &str {
    match text {
        Value::String(text) => text,
        Value::Object(texts) => {
            let first = texts.get("en").or_else(|| texts.values().next());
            first.and_then(Value::as_str).unwrap_or_default()
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_changes_is_named_by_question_and_trigger() {
        let question = |id: &str, text: &str| json!({ "id": id, "type": "nps", "text": { "en": text } });
        let before = json!({ "title": { "en": "A" }, "intro": "x",
            "questions": [question("a", "One?"), question("b", "Two?"), question("c", "Three?")],
            "triggers": [{ "id": "t", "eventKind": "visit", "dedupRecipe": ["templateId"] }] });
        let now = json!({ "title": { "en": "B" }, "colour": "#123456",
            "questions": [question("b", "Two?"), question("a", "Once?"), question("d", "Four?")],
            "triggers": [{ "id": "t", "eventKind": "visit", "dedupRecipe": ["recipient.address"] }] });
        let said: Vec<String> = changes(&before, &now)
            .into_iter()
            .map(|one| format!("{} {} {}", one.kind.as_str(), one.what, one.parts.join(",")))
            .collect();
        assert_eq!(
            said,
            [
                "changed Title ",
                "removed Introduction ",
                "added Colour ",
                "moved Question b: Two? ",
                "changed Question a: Once? text",
                "moved Question a: Once? ",
                "added Question d: Four? ",
                "removed Question c: Three? ",
                "changed Trigger t: visit dedupRecipe",
            ]
        );
        assert_eq!(changes(&now, &now), []);
        assert_eq!(changes(&Value::Null, &now).len(), 6, "all of it is new");
    }
}

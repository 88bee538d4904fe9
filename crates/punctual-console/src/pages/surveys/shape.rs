//! A survey as its request has it and as its form does. In the form every text is by language, filters are rows, and who gets
//! answers is a choice; ids that nobody gave are made from what they stand for.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::editor::{filter_of_form, filter_place, filter_to_form};

/// Texts of the survey itself.
pub const TEXTS: [&str; 6] = ["title", "intro", "thanks", "invitation", "reminder", "organisation"];

/// The language of texts that name none, as the schema's reader has it.
pub fn default_locale(schema: &Value) -> String {
    let given = schema["defaultLocale"].as_str().filter(|text| !text.trim().is_empty());
    let of_title = || {
        let texts = schema["title"].as_object()?;
        texts.get_key_value("en").or_else(|| texts.iter().next()).map(|(locale, _)| locale.as_str())
    };
    given.or_else(of_title).unwrap_or("en").to_owned()
}

/// Every language that a text of the survey has, the main one first.
pub fn locales(schema: &Value) -> Vec<String> {
    let mut found = BTreeSet::new();
    let mut take = |text: &Value| {
        found.extend(text.as_object().into_iter().flatten().map(|(locale, _)| locale.clone()));
    };
    TEXTS.iter().for_each(|name| take(&schema[*name]));
    for question in items(&schema["questions"]) {
        take(&question["text"]);
        take(&question["help"]);
        items(&question["options"]).iter().for_each(|option| take(&option["text"]));
    }
    let own = default_locale(schema);
    found.remove(&own);
    std::iter::once(own).chain(found).collect()
}

pub fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

fn items_mut<'v>(object: &'v mut Value, name: &str) -> impl Iterator<Item = &'v mut Value> + use<'v> {
    let list = object.as_object_mut().and_then(|fields| fields.get_mut(name));
    list.and_then(Value::as_array_mut).into_iter().flatten()
}

pub fn to_form(request: &Value) -> Value {
    let mut form = request.clone();
    let Some(schema) = form.get_mut("schema").filter(|schema| schema.is_object()) else { return form };
    let own = default_locale(schema);
    let by_language = |object: &mut Value, name: &str| {
        if let Some(text) = object.get(name).and_then(Value::as_str) {
            object[name] = json!({ own.as_str(): text });
        }
    };
    TEXTS.iter().for_each(|name| by_language(schema, name));
    routed(schema);
    items_mut(schema, "subscribers").for_each(|route| as_rows(route, "filter"));
    for question in items_mut(schema, "questions").filter(|one| one.is_object()) {
        by_language(question, "text");
        by_language(question, "help");
        as_rows(question, "showIf");
        as_rows(question, "skipIf");
        for option in items_mut(question, "options") {
            match option.as_str() {
                Some(text) => *option = json!({ "value": text }),
                None => by_language(option, "text"),
            }
        }
    }
    for trigger in items_mut(schema, "triggers").filter(|one| one.is_object()) {
        as_rows(trigger, "filter");
        routed(trigger);
        items_mut(trigger, "subscribers").for_each(|route| as_rows(route, "filter"));
        if trigger.get("enabled").is_none() {
            trigger["enabled"] = true.into();
        }
    }
    form
}

fn as_rows(object: &mut Value, name: &str) {
    if let Some(filter) = object.get(name) {
        object[name] = filter_to_form(filter);
    }
}

/// Whether only those get answers who are named is a choice of its own: nobody named is another thing than nothing said.
fn routed(object: &mut Value) {
    if object.get("subscribers").is_some() {
        object["routing"] = "only".into();
    }
}

pub fn of_form(mut form: Value) -> Value {
    if let Some(schema) = form.get_mut("schema").filter(|schema| schema.is_object()) {
        unrouted(schema);
        items_mut(schema, "subscribers").for_each(|route| as_filter(route, "filter"));
        let own = default_locale(schema);
        let mut ids = BTreeSet::new();
        for question in items_mut(schema, "questions").filter(|one| one.is_object()) {
            of_question(question, &own, &mut ids);
        }
        let mut ids = BTreeSet::new();
        for trigger in items_mut(schema, "triggers").filter(|one| one.is_object()) {
            as_filter(trigger, "filter");
            unrouted(trigger);
            items_mut(trigger, "subscribers").for_each(|route| as_filter(route, "filter"));
            let kind = trigger["eventKind"].as_str().unwrap_or("event").to_owned();
            named(trigger, &kind, "trigger", &mut ids);
            drop_empty(trigger, &["dedupRecipe", "failover"]);
            if let Some(recipe) = trigger.get_mut("dedupRecipe").and_then(Value::as_array_mut) {
                recipe.retain(|path| path.as_str().is_some_and(|path| !path.is_empty()));
            }
        }
    }
    form
}

fn of_question(question: &mut Value, own: &str, ids: &mut BTreeSet<String>) {
    as_filter(question, "showIf");
    as_filter(question, "skipIf");
    for name in ["required", "whole"] {
        if question.get(name) == Some(&Value::Bool(false)) {
            question.as_object_mut().map(|fields| fields.remove(name));
        }
    }
    let kind = question["type"].as_str().unwrap_or_default().to_owned();
    if matches!(kind.as_str(), "rating" | "nps" | "number") {
        for name in ["min", "max"] {
            let number = question[name].as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
            if let Some(number) = number.filter(Value::is_number) {
                question[name] = number;
            }
        }
    }
    for option in items_mut(question, "options").filter(|one| one.is_object()) {
        let said = option["text"][own].as_str().map(str::to_owned);
        if let (None, Some(said)) = (option.get("value"), said) {
            option["value"] = said.into();
        }
    }
    let text = question["text"][own].as_str().unwrap_or_default().to_owned();
    named(question, &text, "question", ids);
    // `question[name]` leaves nulls behind where nothing was.
    if let Some(fields) = question.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
}

/// Gives an entry an id where nobody did: from its words, and another one than those before it.
fn named(entry: &mut Value, words: &str, usual: &str, ids: &mut BTreeSet<String>) {
    let given = entry["id"].as_str().map(str::trim).filter(|id| !id.is_empty()).map(str::to_owned);
    let id = given.unwrap_or_else(|| {
        let slug: String = words
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' })
            .collect();
        let slug: Vec<&str> = slug.split('-').filter(|word| !word.is_empty()).take(4).collect();
        let mut base = slug.join("-");
        base.truncate(40);
        if base.is_empty() {
            base = usual.to_owned();
        }
        let mut id = base.clone();
        let mut number = 2;
        while ids.contains(&id) {
            id = format!("{base}-{number}");
            number += 1;
        }
        id
    });
    ids.insert(id.clone());
    if !entry.is_null() {
        entry["id"] = id.into();
    }
}

fn as_filter(object: &mut Value, name: &str) {
    let Some(fields) = object.as_object_mut() else { return };
    if let Some(filter) = fields.remove(name).and_then(|form| filter_of_form(&form)) {
        fields.insert(name.to_owned(), filter);
    }
}

fn unrouted(object: &mut Value) {
    let Some(fields) = object.as_object_mut() else { return };
    let routing = fields.remove("routing");
    if routing.as_ref().and_then(Value::as_str) == Some("only") {
        fields.entry("subscribers").or_insert_with(|| json!([]));
    } else {
        fields.remove("subscribers");
    }
}

fn drop_empty(object: &mut Value, names: &[&str]) {
    let Some(fields) = object.as_object_mut() else { return };
    fields.retain(|name, value: &mut Value| {
        !names.contains(&name.as_str()) || value.as_array().is_none_or(|items| !items.is_empty())
    });
}

/// Where the form has what is at this place of the request.
pub fn place(pointer: &str) -> String {
    let parts: Vec<&str> = pointer.split('/').skip(1).collect();
    let filter = match parts.as_slice() {
        ["schema", "questions", n, name @ ("showIf" | "skipIf"), ..] => {
            format!("/schema/questions/{n}/{name}")
        }
        ["schema", "triggers", n, "filter", ..] => format!("/schema/triggers/{n}/filter"),
        ["schema", "subscribers", n, "filter", ..] => format!("/schema/subscribers/{n}/filter"),
        ["schema", "triggers", n, "subscribers", m, "filter", ..] => {
            format!("/schema/triggers/{n}/subscribers/{m}/filter")
        }
        _ => return pointer.to_owned(),
    };
    filter_place(&filter, pointer).unwrap_or_else(|| pointer.to_owned())
}

/// Gives questions and triggers that have words an id, so that conditions can name them at once.
pub fn name_all(tree: &mut Value) {
    let Some(schema) = tree.get_mut("schema").filter(|schema| schema.is_object()) else { return };
    let own = default_locale(schema);
    for (list, usual) in [("questions", "question"), ("triggers", "trigger")] {
        let given = |one: &Value| one["id"].as_str().filter(|id| !id.is_empty()).map(str::to_owned);
        let mut ids: BTreeSet<String> = items(&schema[list]).iter().filter_map(given).collect();
        for entry in items_mut(schema, list).filter(|one| one.is_object()) {
            let words =
                entry["text"][own.as_str()].as_str().or(entry["eventKind"].as_str()).unwrap_or_default();
            let words = words.to_owned();
            if given(entry).is_none() && !words.trim().is_empty() {
                named(entry, &words, usual, &mut ids);
            }
        }
    }
}

/// What a new entry of a list begins with.
pub fn begin(tree: &mut Value, pointer: &str) {
    let usual = match pointer.rsplit_once('/').map(|(list, _)| list) {
        Some("/schema/triggers") => json!({ "enabled": "yes", "schedule": { "initialDelay": "0d" },
            "dedupRecipe": ["templateId", "recipient.address", "candidate."] }),
        Some("/schema/questions") => json!({ "type": "text" }),
        _ => return,
    };
    if let Some(place) = tree.pointer_mut(pointer) {
        *place = usual;
    }
}

/// A language that is added: its first field appears.
pub fn add_language(tree: &mut Value) -> Option<String> {
    let added = tree.as_object_mut()?.remove("addLocale")?;
    let added = added.as_str()?.trim().to_owned();
    let is_plain = |text: &str| {
        (2..=35).contains(&text.len())
            && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
    };
    if !is_plain(&added) {
        tree["addLocale"] = added.into();
        return Some("/addLocale".to_owned());
    }
    let schema = tree.as_object_mut()?.entry("schema").or_insert_with(|| Value::Object(Map::new()));
    let title = schema.as_object_mut()?.entry("title").or_insert_with(|| Value::Object(Map::new()));
    title.as_object_mut()?.entry(added.clone()).or_insert_with(|| "".into());
    Some(format!("/schema/title/{added}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_the_same_after_the_form() {
        let test = json!({ "questionId": "rate", "op": "<", "value": 9 });
        let request = json!({ "name": "CSI", "schema": {
            "title": { "en": "How was it?", "ar": "كيف؟" }, "subscribers": [],
            "questions": [
                { "id": "rate", "type": "nps", "text": { "en": "How likely?" }, "required": true },
                { "id": "what", "type": "multiChoice", "text": { "en": "What?" }, "showIf": test, "options": [{ "value": "a", "text": { "en": "A" } }] },
            ],
            "triggers": [{ "id": "t", "enabled": false, "eventKind": "visit", "filter": { "all": [
                { "questionId": "candidate.a", "op": "exists" }, { "questionId": "candidate.b", "op": "==", "value": "x" }] },
                "dedupRecipe": ["templateId"], "schedule": { "initialDelay": "0d" }, "channel": "memory:default" }],
        }});
        assert_eq!(of_form(to_form(&request)), request);
    }

    #[test]
    fn what_nobody_named_gets_an_id_from_its_words() {
        let form = json!({ "schema": { "defaultLocale": "en",
            "questions": [
                { "text": { "en": "How was the coffee today, really?" }, "type": "yesNo", "required": false },
                { "text": { "en": "How was the coffee?" }, "type": "singleChoice", "options": [{ "text": { "en": "Good" } }] },
                { "text": { "en": "كيف" }, "type": "rating", "min": "1", "max": "many" },
            ],
            "triggers": [{ "eventKind": "visit.closed", "dedupRecipe": ["", "templateId"] }] }});
        let request = of_form(form);
        let ids: Vec<&str> =
            items(&request["schema"]["questions"]).iter().map(|one| one["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["how-was-the-coffee", "how-was-the-coffee-2", "question"]);
        assert_eq!(request["schema"]["questions"][1]["options"][0]["value"], "Good");
        assert_eq!(request["schema"]["questions"][2]["min"], 1);
        assert_eq!(
            request["schema"]["questions"][2]["max"], "many",
            "what is no number is refused by its reader"
        );
        assert_eq!(request["schema"]["triggers"][0]["id"], "visit-closed");
        assert_eq!(request["schema"]["triggers"][0]["dedupRecipe"], json!(["templateId"]));
    }

    #[test]
    fn a_language_is_added_where_it_is_one() {
        let mut tree = json!({ "addLocale": "ar-IQ", "schema": { "title": { "en": "T" } } });
        assert_eq!(add_language(&mut tree).as_deref(), Some("/schema/title/ar-IQ"));
        assert_eq!(locales(&tree["schema"]), ["en", "ar-IQ"]);
        let mut tree = json!({ "addLocale": "a/b" });
        assert_eq!(add_language(&mut tree).as_deref(), Some("/addLocale"));
    }
}

//! An event or task as its form has it: one vocabulary for both, days and times in fields of their own, and a choice of the usual messages.

use serde_json::{Map, Value, json};

/// The words of an event for what a task calls otherwise.
const SAME: [(&str, &str); 3] =
    [("startDate", "startedAt"), ("endDate", "finishedAt"), ("participants", "relatedUsers")];

fn is_task(draft: &Value) -> bool {
    draft["type"] == "task"
}

/// The request as its form has it.
pub fn to_form(request: &Value) -> Value {
    let mut draft = request.clone();
    let is_task = is_task(&draft);
    let Some(fields) = draft.as_object_mut() else { return draft };
    for (name, other) in SAME.into_iter().filter(|_| is_task) {
        if let Some(value) = fields.remove(other) {
            fields.insert(name.to_owned(), value);
        }
    }
    let whole = fields.remove("isAllDay").is_some_and(|value| value == true);
    fields.insert("days".to_owned(), if whole { "yes" } else { "no" }.into());
    for name in ["startDate", "endDate"] {
        let Some(value) = fields.remove(name) else { continue };
        let own = if whole { "day" } else { "at" };
        fields.insert(name.to_owned(), json!({ own: value }));
    }
    let is_new = fields.get("id").is_none();
    let usual = fields.remove("usual").is_some() || !fields.contains_key("rules");
    let usual = is_new && usual;
    fields.insert("messages".to_owned(), if usual { "usual" } else { "own" }.into());
    draft
}

/// The same the other way round.
pub fn of_form(mut draft: Value) -> Value {
    let is_task = is_task(&draft);
    let Some(fields) = draft.as_object_mut() else { return draft };
    fields.remove("on");
    let whole = fields.remove("days").is_some_and(|value| value == "yes");
    for (name, other) in SAME {
        let word = if is_task { other } else { name };
        let value = match fields.remove(name) {
            Some(Value::Object(mut of)) => of.remove(if whole { "day" } else { "at" }),
            // Rows that nobody filled in are none.
            Some(Value::Array(people)) => {
                Some(people.into_iter().filter(|one| !one.as_object().is_some_and(Map::is_empty)).collect())
            }
            other => other,
        };
        if let Some(value) = value.filter(|value| !value.is_null()) {
            fields.insert(word.to_owned(), value);
        }
    }
    if !is_task {
        fields.insert("isAllDay".to_owned(), whole.into());
    }
    if fields.remove("messages").is_some_and(|value| value == "usual") {
        fields.remove("rules");
    }
    for rule in fields.get_mut("rules").and_then(Value::as_array_mut).into_iter().flatten() {
        tidy(rule);
    }
    draft
}

/// A rule has the fields of its type alone, and says that it is on only where it is not.
fn tidy(rule: &mut Value) {
    let Some(fields) = rule.as_object_mut() else { return };
    if fields.get("active") == Some(&Value::Bool(true)) {
        fields.remove("active");
    }
    if fields.get("message").and_then(Value::as_object).is_some_and(Map::is_empty) {
        fields.remove("message");
    }
}

/// Where the form has what is at this place of the request.
pub fn place(pointer: &str) -> String {
    let mut parts: Vec<&str> = pointer.split('/').collect();
    if let Some(first) = parts.get_mut(1)
        && let Some((name, _)) = SAME.into_iter().find(|(_, other)| first == other)
    {
        *first = name;
    }
    if parts.get(1) == Some(&"isAllDay") {
        return "/days".to_owned();
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_vocabularies_come_back_as_they_were() {
        let rules = json!([{ "id": "r", "rule": { "type": "relative", "anchor": "start", "offset": "-24h" }, "channels": ["email"] }]);
        for request in [
            json!({ "type": "event", "title": "Fair", "startDate": "2026-05-14T07:00:00Z", "isAllDay": false, "participants": ["ben"], "rules": rules }),
            json!({ "type": "event", "title": "Fair", "startDate": "2026-05-14", "endDate": "2026-05-15", "isAllDay": true, "rules": [] }),
            json!({ "type": "task", "title": "Clean", "finishedAt": "2026-05-14T07:00:00Z", "relatedUsers": [], "rules": rules }),
        ] {
            assert_eq!(of_form(to_form(&request)), request);
        }
        assert_eq!(place("/relatedUsers/3"), "/participants/3");
        assert_eq!(place("/startDate"), "/startDate");
        let usual = to_form(&json!({ "type": "event", "usual": true, "rules": rules }));
        assert_eq!(of_form(usual), json!({ "type": "event", "isAllDay": false }));
    }
}

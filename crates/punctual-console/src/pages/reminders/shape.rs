//! A reminder setting as its request has it and as its form does: whom it is for and what it measures are choices, filters are
//! rows, and only the part of its kind is there.

use serde_json::{Map, Value, json};

use super::triggers::TRIGGERS;
use crate::editor::{filter_of_form, filter_place, filter_to_form};

/// What stands for a type of source that is not in the list.
pub const OTHER: &str = "?";

pub fn to_form(request: &Value) -> Value {
    let mut form = request.clone();
    if let Some(recipients) = form.get_mut("recipients").and_then(Value::as_object_mut) {
        let how =
            ["addresses", "list", "field", "lookup"].into_iter().find(|how| recipients.contains_key(*how));
        if let Some(how) = how {
            recipients.insert("how".to_owned(), how.into());
        }
    }
    if let Some(metric) = form.pointer_mut("/threshold/metric") {
        *metric = metric_to_form(metric);
    }
    if let Some(filter) = form.get("filter") {
        form["filter"] = filter_to_form(filter);
    }
    form
}

fn metric_to_form(metric: &Value) -> Value {
    if let Some([one, other]) = metric["share"].as_array().map(Vec::as_slice) {
        if one.is_string() {
            return json!({ "how": "share", "field": one, "other": other });
        }
        // A count or sum by a field of the source.
        let mut form = metric_to_form(one);
        if let Some(how @ ("count" | "sum")) = form["how"].as_str() {
            form["how"] = format!("{how}Share").into();
            form["other"] = other.clone();
        }
        return form;
    }
    for how in ["count", "sum"] {
        if let Some(part) = metric.get(how).and_then(Value::as_object) {
            let mut form = part.clone();
            if let Some(filter) = part.get("where") {
                form.insert("where".to_owned(), filter_to_form(filter));
            }
            if let Some(field) = form.remove("field") {
                form.insert("sumField".to_owned(), field);
            }
            form.insert("how".to_owned(), how.into());
            return Value::Object(form);
        }
    }
    let mut form = metric.clone();
    if metric.get("field").is_some() {
        form["how"] = "field".into();
    }
    form
}

pub fn of_form(mut form: Value) -> Value {
    let Some(fields) = form.as_object_mut() else { return form };
    fields.remove("sample");
    let other = fields.remove("otherType");
    if fields.get("sourceType").and_then(Value::as_str) == Some(OTHER) {
        fields.insert("sourceType".to_owned(), other.unwrap_or_default());
    }
    let kind = fields.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    for other in TRIGGERS.iter().filter(|one| one.kind != kind) {
        fields.remove(other.part);
    }
    if fields.get("immediate") == Some(&Value::Bool(false)) {
        fields.remove("immediate");
    }
    let is_unnamed =
        fields.get("triggerKey").is_none_or(|key| key.as_str().is_none_or(|key| key.trim().is_empty()));
    if let (true, Some(name)) = (is_unnamed, fields.get("name").and_then(Value::as_str)) {
        let key = slug(name);
        fields.insert("triggerKey".to_owned(), key.into());
    }
    fields.entry("delivery").or_insert_with(|| Value::Object(Map::new()));
    if let Some(delivery) = fields.get_mut("delivery").and_then(Value::as_object_mut) {
        delivery.retain(|name, value| {
            name != "failover" || value.as_array().is_none_or(|items| !items.is_empty())
        });
    }
    if let Some(recipients) = fields.get_mut("recipients").and_then(Value::as_object_mut) {
        recipients.remove("how");
    }
    let filter = fields.remove("filter").and_then(|filter| filter_of_form(&filter));
    if let Some(filter) = filter {
        fields.insert("filter".to_owned(), filter);
    }
    if let Some(metric) = form.pointer_mut("/threshold/metric") {
        *metric = metric_of_form(metric.take());
    }
    form
}

fn metric_of_form(form: Value) -> Value {
    let Value::Object(mut form) = form else { return form };
    let how = form.remove("how").and_then(|how| how.as_str().map(str::to_owned)).unwrap_or_default();
    match how.as_str() {
        "share" => {
            json!({ "share": [form.get("field").cloned().unwrap_or("".into()), form.get("other").cloned().unwrap_or("".into())] })
        }
        "countShare" | "sumShare" => {
            let other = form.remove("other").unwrap_or("".into());
            form.insert("how".to_owned(), how.trim_end_matches("Share").into());
            json!({ "share": [metric_of_form(Value::Object(form)), other] })
        }
        "count" | "sum" => {
            let filter = form.remove("where").and_then(|filter| filter_of_form(&filter));
            if let Some(filter) = filter {
                form.insert("where".to_owned(), filter);
            }
            if let Some(field) = form.remove("sumField") {
                form.insert("field".to_owned(), field);
            }
            json!({ how: form })
        }
        _ => Value::Object(form),
    }
}

/// The key, from the name of the setting.
fn slug(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(
            |letter| {
                if letter.is_alphanumeric() { letter.to_lowercase().to_string() } else { "-".to_owned() }
            },
        )
        .collect();
    plain.split('-').filter(|word| !word.is_empty()).take(6).collect::<Vec<_>>().join("-")
}

/// Where the form has what is at this place of the request.
pub fn place(pointer: &str) -> String {
    let filter = |at: &str| filter_place(at, pointer);
    if let Some(place) = filter("/filter") {
        return place;
    }
    let parts: Vec<&str> = pointer.split('/').skip(1).collect();
    match parts.as_slice() {
        ["threshold", "metric", "share", "0", rest @ ..] if !rest.is_empty() => {
            let inner = rest.iter().map(|part| format!("/{part}")).collect::<String>();
            place(&format!("/threshold/metric{inner}"))
        }
        ["threshold", "metric", "share", "0"] => "/threshold/metric/field".to_owned(),
        ["threshold", "metric", "share", "1"] => "/threshold/metric/other".to_owned(),
        ["threshold", "metric", "count" | "sum", "where", rest @ ..] => {
            let inner = rest.iter().map(|part| format!("/{part}")).collect::<String>();
            let at = "/threshold/metric/where";
            filter_place(at, &format!("{at}{inner}")).unwrap_or_else(|| at.to_owned())
        }
        ["threshold", "metric", "sum", "field"] => "/threshold/metric/sumField".to_owned(),
        ["threshold", "metric", "count" | "sum", name] => format!("/threshold/metric/{name}"),
        ["recipients"] => "/recipients/how".to_owned(),
        _ => pointer.to_owned(),
    }
}

/// The single values of a state, by pointer, those that look like dates first.
pub fn leaves(state: &Value) -> Vec<(String, String)> {
    fn walk(at: &str, value: &Value, into: &mut Vec<(String, String)>) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let step = name.replace('~', "~0").replace('/', "~1");
                    walk(&format!("{at}/{step}"), value, into);
                }
            }
            Value::String(text) => into.push((at.to_owned(), text.clone())),
            Value::Number(number) => into.push((at.to_owned(), number.to_string())),
            Value::Bool(flag) => into.push((at.to_owned(), flag.to_string())),
            Value::Array(_) | Value::Null => {}
        }
    }
    let mut found = Vec::new();
    walk("", state, &mut found);
    found.truncate(200);
    found.sort_by_key(|(_, value)| !is_date(value));
    found
}

fn is_date(text: &str) -> bool {
    text.get(..10).is_some_and(|date| date.parse::<jiff::civil::Date>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(kind: &str, part: &str, rule: Value) -> Value {
        json!({ "name": "First aid", "sourceType": "document", "triggerKey": "first-aid", "kind": kind, part: rule,
            "recipients": { "field": "/email" }, "delivery": { "channel": "email:default" }, "active": true })
    }

    #[test]
    fn a_request_is_the_same_after_the_form() {
        let threshold = |metric: Value| {
            request(
                "threshold",
                "threshold",
                json!({ "metric": metric, "op": ">=", "value": 0.9, "firingPolicy": "OncePerDay" }),
            )
        };
        let paid = json!({ "questionId": "state.paid", "op": "==", "value": true });
        let mut filtered = request("dateBased", "date", json!({ "field": "/on", "offsetsDays": [30, -3] }));
        filtered["filter"] = json!({ "any": [paid, { "questionId": "state.x", "op": "exists" }] });
        for request in [
            request("recurring", "recurring", json!({ "field": "/on", "every": "month" })),
            threshold(json!({ "field": "/level" })),
            threshold(json!({ "share": ["/a", "/b"] })),
            threshold(json!({ "share": [{ "count": { "sourceType": "b", "parentField": "/p" } }, "/b"] })),
            threshold(
                json!({ "share": [{ "sum": { "sourceType": "b", "parentField": "/p", "field": "/x", "where": paid } }, "/b"] }),
            ),
            threshold(json!({ "count": { "sourceType": "b", "parentField": "/p", "where": paid } })),
            threshold(json!({ "sum": { "sourceType": "b", "parentField": "/p", "field": "/amount" } })),
            filtered,
        ] {
            assert_eq!(of_form(to_form(&request)), request);
        }
    }

    #[test]
    fn faults_find_their_fields_and_a_name_is_enough() {
        for (pointer, is) in [
            ("/filter/any/1/op", "/filter/tests/1/op"),
            ("/threshold/metric/share/1", "/threshold/metric/other"),
            ("/threshold/metric/share/0/sum/field", "/threshold/metric/sumField"),
            ("/threshold/metric/count/where/value", "/threshold/metric/where/tests/0/value"),
            ("/threshold/metric/sum/field", "/threshold/metric/sumField"),
            ("/date/sendTime", "/date/sendTime"),
        ] {
            assert_eq!(place(pointer), is);
        }
        let form = json!({ "name": "First aid: Zürich", "kind": "dateBased", "sourceType": "?", "otherType": "car", "threshold": {} });
        let request = of_form(form);
        assert_eq!(request["triggerKey"], "first-aid-zürich");
        assert_eq!((&request["sourceType"], request.get("threshold")), (&json!("car"), None));
    }

    #[test]
    fn fields_are_picked_from_a_state_dates_first() {
        let state =
            json!({ "kind": "x", "owner": { "e/mail": "a@b" }, "expiresOn": "2026-05-14", "tags": [1] });
        let found: Vec<String> = leaves(&state).into_iter().map(|(at, _)| at).collect();
        assert_eq!(found, ["/expiresOn", "/kind", "/owner/e~1mail"]);
    }
}

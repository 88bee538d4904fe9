//! Bodies that change some fields of what is stored: the fields of the whole, none of them required, each of them nullable.

use punctual_wire::messages::MessageChange;
use serde_json::{Map, Value, json};

use super::finish::{SCHEMAS, for_each_operation};

/// A body that is laid over what is stored, and read by the reader of the whole.
struct Change {
    of: &'static str,
    name: &'static str,
    at: &'static [(&'static str, &'static str)],
    /// What stays as it is.
    without: &'static [&'static str],
}

const CHANGES: [Change; 3] = [
    Change {
        of: "MessageRequest",
        name: "MessageChange",
        at: &[("patch", "/api/v1/messages/{id}")],
        without: MessageChange::WITHOUT,
    },
    Change {
        of: "ReminderSettingRequest",
        name: "ReminderSettingChange",
        at: &[("patch", "/api/v1/reminder-settings/{id}"), ("post", "/api/v1/reminder-settings/{id}/plan")],
        without: &[],
    },
    Change {
        of: "ReportSubscriptionRequest",
        name: "ReportSubscriptionChange",
        at: &[("patch", "/api/v1/report-subscriptions/{guid}")],
        without: &[],
    },
];

/// Definitions that are read with the version that their author saw.
const VERSIONED: [&str; 2] = ["ReminderSettingRequest", "ReportSubscriptionRequest"];

pub fn describe_changes(document: &mut Value) {
    for name in VERSIONED {
        document["components"]["schemas"][name]["properties"]["version"] = json!({
            "type": ["integer", "null"],
            "format": "int64",
            "description": "The version that is changed; where it is another by now, the request is refused with `stale_version`."
        });
    }
    for change in CHANGES {
        let mut schema = document["components"]["schemas"][change.of].clone();
        let Some(whole) = schema.as_object_mut() else { continue };
        whole.remove("required");
        whole.insert("description".to_owned(), "What is to be different; null takes a field away.".into());
        if let Some(properties) = whole.get_mut("properties").and_then(Value::as_object_mut) {
            properties.retain(|name, _| !change.without.contains(&name.as_str()));
            properties.values_mut().for_each(make_nullable);
        }
        document["components"]["schemas"][change.name] = schema;
        for_each_operation(document, |method, path, operation| {
            if change.at.contains(&(method, path)) {
                let reference = json!({"$ref": format!("{SCHEMAS}{}", change.name)});
                operation["requestBody"]["content"]["application/json"]["schema"] = reference;
            }
        });
    }
}

/// The same schema, and `null`.
pub fn make_nullable(schema: &mut Value) {
    let Some(keywords) = schema.as_object_mut() else { return };
    match keywords.get("type") {
        Some(Value::String(one)) => {
            let types = json!([one, "null"]);
            keywords.insert("type".to_owned(), types);
            if let Some(choices) = keywords.get_mut("enum").and_then(Value::as_array_mut) {
                choices.push(Value::Null);
            }
        }
        None if keywords.contains_key("$ref") => {
            // The macros put a description beside a reference.
            *schema = Map::from_iter([("oneOf".to_owned(), json!([schema.take(), {"type": "null"}]))]).into();
        }
        _ => {}
    }
}

//! The document with the ids of rows that are there: what is made from it then meets rows, and not 404 alone.

use serde_json::{Value, json};

use crate::server::Server;

/// The end of a path with an id, the list that has such ids, and the field that is the id. A list below others is read for the
/// first of those.
const ROWS: &[(&str, &str, &str)] = &[
    ("/business-units/{id}", "/api/v1/business-units", "id"),
    ("/channels/{key}", "/api/v1/channels", "key"),
    ("/lists/{name}", "/api/v1/lists", "name"),
    ("/templates/{name}", "/api/v1/templates", "name"),
    ("/subscribers/{key}", "/api/v1/subscribers", "key"),
    ("/deliveries/{subscriber}", "/api/v1/subscribers", "key"),
    ("/outbox-events/{id}", "/api/v1/outbox-events", "id"),
    ("/notifications/{id}", "/api/v1/notifications", "id"),
    ("/messages/{id}", "/api/v1/messages", "id"),
    ("/schedules/{id}", "/api/v1/schedules", "id"),
    ("/work/{id}", "/api/v1/work", "id"),
    ("/sources/{type}", "/api/v1/reminder-settings", "sourceType"),
    ("/sites/{site}", "/api/v1/sites", "id"),
    ("/reminder-settings/{id}", "/api/v1/reminder-settings", "id"),
    ("/operations/events/{id}", "/api/v1/operations/events", "id"),
    ("/operations/tasks/{id}", "/api/v1/operations/tasks", "id"),
    ("/operations/rules/{id}", "/api/v1/operations/rules", "id"),
    ("/operations/people/{id}", "/api/v1/operations/people", "id"),
    ("/preferences/{person}", "/api/v1/operations/people", "id"),
    ("/operations/organisations/{id}", "/api/v1/operations/organisations", "id"),
    ("/surveys/{id}", "/api/v1/surveys", "id"),
    ("/surveys/{publicId}", "/api/v1/surveys/{id}/instances", "publicId"),
    ("/SurveyInstances/{publicId}", "/api/v1/surveys/{id}/instances", "publicId"),
    ("/instances/{publicId}", "/api/v1/surveys/{id}/instances", "publicId"),
    ("/report-subscriptions/{guid}", "/api/v1/report-subscriptions", "guid"),
    ("/automation-runs/{run}", "/api/v1/report-subscriptions/{guid}/automation-runs", "key"),
    ("/report-runs/{key}", "/api/v1/report-subscriptions/{guid}/automation-runs", "key"),
];

/// Of each list.
const IDS_MAX: usize = 6;

/// Gives each of those parameters the ids that the server has.
pub async fn name_rows(document: &mut Value, server: &Server) {
    for (end, list, field) in ROWS {
        let ids = ids(server, list, field).await;
        assert!(!ids.is_empty(), "the samples have none of {list}");
        for (path, item) in document["paths"].as_object_mut().unwrap() {
            let Some(name) = named_in(path, end) else { continue };
            for operation in item.as_object_mut().unwrap().values_mut() {
                let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
                for parameter in parameters.into_iter().flatten() {
                    if parameter["in"] == "path" && parameter["name"] == name {
                        let kind = parameter["schema"]["type"].clone();
                        let ids: Vec<Value> = ids.iter().map(|id| of_type(id, &kind)).collect();
                        parameter["schema"] = json!({ "type": kind, "enum": ids });
                    }
                }
            }
        }
    }
}

/// An id as the parameter has it: a path may take a number or a GUID, and says that it takes a text.
fn of_type(id: &Value, kind: &Value) -> Value {
    match id {
        Value::Number(number) if kind == "string" => Value::String(number.to_string()),
        _ => id.clone(),
    }
}

/// The name of the parameter at this end of a part of the path.
fn named_in<'e>(path: &str, end: &'e str) -> Option<&'e str> {
    let is_there = path.split_inclusive('}').any(|part| part.ends_with(end));
    let (_, name) = end.split_once('{')?;
    is_there.then(|| name.trim_end_matches('}'))
}

async fn ids(server: &Server, list: &str, field: &str) -> Vec<Value> {
    let mut lists = vec![list.to_owned()];
    if let Some((above, below)) = list.split_once("/{") {
        let (name, rest) = below.split_once('}').unwrap();
        let above_ids = listed(server, above, name).await;
        let text = |id: &Value| id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        lists = above_ids.iter().map(|id| format!("{above}/{}{rest}", text(id))).collect();
    }
    let mut found = Vec::new();
    for list in lists {
        for id in listed(server, &list, field).await {
            if !found.contains(&id) && found.len() < IDS_MAX {
                found.push(id);
            }
        }
    }
    found
}

async fn listed(server: &Server, list: &str, field: &str) -> Vec<Value> {
    let (status, page) = server.get(list).await;
    assert_eq!(status, 200, "{list}: {page}");
    page["items"].as_array().unwrap().iter().map(|item| item[field].clone()).collect()
}

//! A business unit that does not exist is refused wherever a request names one, and another unit's name is answered as
//! one that does not exist.
//!
//! The operations come from the document: a new one whose request has a `businessUnit` fails the test until it is tried here.

use std::collections::{BTreeMap, BTreeSet};

use axum::http::Method;
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::{Client, Reply},
    consumers::{orders, with_brokers},
    reminders::first_aid,
    reports::weekly,
    surveys::csi_gr,
};

on_both! {
    t11_a_unit_that_does_not_exist_is_refused_everywhere with with_brokers;
    t11_a_unit_that_was_removed_stays_where_it_is;
}

const NONE: &str = "no-such";
/// The unit of a message is refused there as a field, whatever it says.
const FIXED: &str = "patch /api/v1/messages/{id}";

/// Where a request names a unit, by operation: its path, its body, and the pointer that a refusal has.
type Requests = BTreeMap<&'static str, (String, Value, &'static str)>;

/// A reminder setting, a survey, a report subscription and a person.
type Ids = (String, String, String, String);

/// What there is before, made by a caller of `nz`; the person by one for all units.
async fn something(client: &Client, nz: &Client) -> Ids {
    let setting = nz.post("/api/v1/reminder-settings", first_aid(|_| {})).await.expect(201);
    let survey = nz.post("/api/v1/surveys", json!({ "name": "S", "schema": csi_gr() })).await.expect(201);
    let report = nz.post("/api/v1/report-subscriptions", weekly(|_| {})).await.expect(201);
    let ann = json!({ "email": "ann@example.org", "name": "Ann", "role": "viewer" });
    let user = client.post("/api/v1/users", ann).await.expect(201);
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    (text(&setting["id"]), text(&survey["id"]), text(&report["guid"]), text(&user["id"]))
}

/// Every kind of request that names a unit, with this one.
fn requests(unit: &str, ids: &Ids) -> Requests {
    let (setting, survey, report, user) = ids;
    let with = |mut body: Value| {
        body["businessUnit"] = json!(unit);
        body
    };
    let content = json!({ "targets": ["x"], "channel": "memory:default", "subject": "S", "body": "B" });
    let at = "2026-07-14T06:00:00Z";
    let message =
        json!({ "sendAt": at, "targets": ["x"], "channel": "memory:default", "subject": "S", "body": "B" });
    let source = json!({ "type": "document", "id": "x", "state": {} });
    let cloud = json!({ "specversion": "1.0", "id": "e1", "source": "s", "type": "source.changed",
        "subject": "document/x", "data": { "state": {}, "businessUnit": unit } });
    let survey_body = json!({ "name": "T", "schema": csi_gr() });
    let event = json!({ "title": "T", "startDate": at, "creator": "ann" });
    let task = json!({ "title": "T", "startedAt": at, "creator": "ann" });
    let import = format!("/api/v1/operations/import?creator=ann&businessUnit={unit}");
    let forecast = format!("/api/v1/forecast?businessUnit={unit}");
    let rollout = format!("/api/v1/rollouts/report-subscription/business-unit/{unit}");
    let key = json!({ "name": "k", "scopes": ["read"], "businessUnits": [unit] });
    let person = json!({ "email": "x@example.org", "name": "X", "role": "viewer", "businessUnits": [unit] });
    let plain = "/businessUnit";
    let lists = json!({ "lists": { "x": with(json!({ "type": "memory", "targets": [] })) } });
    BTreeMap::from([
        (
            "post /api/v1/definitions",
            (
                "/api/v1/definitions".into(),
                json!({ "definitions": lists }),
                "/definitions/lists/x/businessUnit",
            ),
        ),
        (
            "put /api/v1/sources/{type}/{id}",
            ("/api/v1/sources/document/x".into(), with(json!({ "state": {} })), plain),
        ),
        (
            "post /api/v1/sources",
            ("/api/v1/sources".into(), json!({ "items": [with(source)] }), "/items/0/businessUnit"),
        ),
        ("put /api/v1/consumers/{key}", ("/api/v1/consumers/nats:orders".into(), with(orders()), plain)),
        ("post /api/v1/events", ("/api/v1/events".into(), json!([cloud]), "/0/data/businessUnit")),
        ("post /api/v1/notifications", ("/api/v1/notifications".into(), with(content), plain)),
        ("post /api/v1/messages", ("/api/v1/messages".into(), json!([with(message)]), "/0/businessUnit")),
        (
            "post /api/v1/schedules",
            ("/api/v1/schedules".into(), with(json!({ "topic": "t", "runAt": at })), plain),
        ),
        (
            "put /api/v1/lists/{name}",
            ("/api/v1/lists/x".into(), with(json!({ "type": "memory", "targets": ["x"] })), plain),
        ),
        (
            "post /api/v1/reminder-settings",
            ("/api/v1/reminder-settings".into(), with(first_aid(|_| {})), plain),
        ),
        (
            "post /api/v1/reminder-settings/plan",
            ("/api/v1/reminder-settings/plan".into(), with(first_aid(|_| {})), plain),
        ),
        (
            "put /api/v1/reminder-settings/{id}",
            (format!("/api/v1/reminder-settings/{setting}"), with(first_aid(|_| {})), plain),
        ),
        (
            "patch /api/v1/reminder-settings/{id}",
            (format!("/api/v1/reminder-settings/{setting}"), with(json!({})), plain),
        ),
        (
            "post /api/v1/reminder-settings/{id}/plan",
            (format!("/api/v1/reminder-settings/{setting}/plan"), with(json!({})), plain),
        ),
        ("post /api/v1/surveys", ("/api/v1/surveys".into(), with(survey_body.clone()), plain)),
        ("put /api/v1/surveys/{id}", (format!("/api/v1/surveys/{survey}"), with(survey_body), plain)),
        (
            "post /api/v1/report-subscriptions",
            ("/api/v1/report-subscriptions".into(), with(weekly(|_| {})), plain),
        ),
        (
            "put /api/v1/report-subscriptions/{guid}",
            (format!("/api/v1/report-subscriptions/{report}"), with(weekly(|_| {})), plain),
        ),
        (
            "patch /api/v1/report-subscriptions/{guid}",
            (format!("/api/v1/report-subscriptions/{report}"), with(json!({})), plain),
        ),
        ("put /api/v1/rollouts/report-subscription/{scope}/{id}", (rollout, json!({ "stage": 0 }), plain)),
        ("post /api/v1/operations/events", ("/api/v1/operations/events".into(), with(event), plain)),
        ("post /api/v1/operations/tasks", ("/api/v1/operations/tasks".into(), with(task), plain)),
        (
            "put /api/v1/operations/people/{id}",
            ("/api/v1/operations/people/x".into(), with(json!({ "name": "X" })), plain),
        ),
        (
            "put /api/v1/operations/organisations/{id}",
            ("/api/v1/operations/organisations/x".into(), with(json!({ "name": "X" })), plain),
        ),
        ("post /api/v1/operations/import", (import, Value::Null, plain)),
        ("get /api/v1/forecast", (forecast, Value::Null, plain)),
        ("post /api/v1/sites", ("/api/v1/sites".into(), with(json!({ "id": "x" })), plain)),
        ("patch /api/v1/sites/{site}", ("/api/v1/sites/plant".into(), with(json!({})), plain)),
        ("post /api/v1/keys", ("/api/v1/keys".into(), key, "/businessUnits")),
        ("post /api/v1/users", ("/api/v1/users".into(), person, "/businessUnits")),
        (
            "patch /api/v1/users/{id}",
            (format!("/api/v1/users/{user}"), json!({ "businessUnits": [unit] }), "/businessUnits"),
        ),
        ("post /api/v1/blobs", (format!("/api/v1/blobs?businessUnit={unit}"), Value::Null, plain)),
    ])
}

async fn sent(client: &Client, what: &str, path: &str, body: &Value) -> Reply {
    let method: Method = what.split(' ').next().unwrap().to_uppercase().parse().unwrap();
    if what.ends_with("/import") {
        let calendar = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n";
        return client.send(method, path, &[("content-type", "text/calendar")], calendar).await;
    }
    if what.ends_with("/blobs") {
        return client.send(method, path, &[("content-type", "text/plain")], "a file").await;
    }
    client.call(method, path, (!body.is_null()).then(|| body.clone())).await
}

/// The fault of a refusal: of the request, or of its one item.
fn fault(reply: &Reply) -> (String, String) {
    let problem = match reply.status {
        200 => {
            assert_eq!(reply.body["items"][0]["outcome"], "rejected", "{}", reply.text);
            &reply.body["items"][0]["error"]
        }
        422 => &reply.body,
        _ => panic!("{}", reply.text),
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&problem["errors"][0]["code"]), text(&problem["errors"][0]["pointer"]))
}

/// Whether somewhere in a schema there is a unit to be named.
fn names_a_unit(document: &Value, schema: &Value, seen: &mut BTreeSet<String>) -> bool {
    match schema {
        Value::Object(fields) => fields.iter().any(|(name, inside)| match (name.as_str(), inside) {
            ("businessUnit" | "businessUnits", _) => true,
            ("$ref", Value::String(reference)) => {
                let name = reference.rsplit('/').next().unwrap();
                seen.insert(name.to_owned())
                    && names_a_unit(document, &document["components"]["schemas"][name], seen)
            }
            ("example" | "examples" | "description", _) => false,
            _ => names_a_unit(document, inside, seen),
        }),
        Value::Array(all) => all.iter().any(|one| names_a_unit(document, one, seen)),
        _ => false,
    }
}

/// The operations whose request has a place for a unit.
fn operations() -> BTreeSet<String> {
    let document = serde_json::to_value(punctual_api::document()).unwrap();
    let mut found = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let mut seen = BTreeSet::new();
            let in_body = names_a_unit(&document, &operation["requestBody"]["content"], &mut seen);
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            if in_body || parameters.clone().any(|one| one["name"] == "businessUnit") {
                found.insert(format!("{method} {path}"));
            }
        }
    }
    found
}

async fn t11_a_unit_that_does_not_exist_is_refused_everywhere(bed: TestBed) {
    let client = Client::new(&bed).await;
    let nz = client.new_key(&["read", "author", "operate", "ingest"], Some(&["nz"])).await;
    let ids = something(&client, &nz).await;
    client.post("/api/v1/sites", json!({ "id": "plant" })).await.expect(201);
    let (unknown, others) = (requests(NONE, &ids), requests("de", &ids));
    let is_untried = |what: &String| !unknown.contains_key(what.as_str()) && what != FIXED;
    let untried: Vec<String> = operations().into_iter().filter(is_untried).collect();
    assert!(untried.is_empty(), "these take a unit and are not tried: {untried:?}");
    for (what, (path, body, pointer)) in &unknown {
        let reply = sent(&client, what, path, body).await;
        assert_eq!(fault(&reply), ("unit_unknown".to_owned(), (*pointer).to_owned()), "{what}");
        let is_for_all = ["/sites", "/keys", "/users", "/consumers", "/definitions"]
            .iter()
            .any(|part| what.contains(part));
        if is_for_all {
            continue;
        }
        // To a caller of one unit another is nothing.
        let reply = sent(&nz, what, path, body).await;
        assert_eq!(fault(&reply), ("unit_unknown".to_owned(), (*pointer).to_owned()), "{what} with a limit");
        let (path, body, _) = &others[what];
        let other = sent(&nz, what, path, body).await;
        let comparable = |reply: &Reply, unit: &str| {
            let mut body = reply.body.clone();
            body["requestId"] = Value::Null;
            (reply.status, body.to_string().replace(&format!("`{unit}`"), "`ID`"))
        };
        assert_eq!(comparable(&reply, NONE), comparable(&other, "de"), "{what}");
    }
    // Nothing was stored.
    for path in [
        "sources/document",
        "notifications",
        "messages",
        "schedules",
        "lists",
        "operations/events",
        "operations/tasks",
        "operations/people",
        "operations/organisations",
        "rollouts/report-subscription",
    ] {
        let page = client.get(&format!("/api/v1/{path}")).await.expect(200);
        assert_eq!(page["items"], json!([]), "{path}");
    }
    for path in [
        format!("reminder-settings/{}", ids.0),
        format!("surveys/{}", ids.1),
        format!("report-subscriptions/{}", ids.2),
    ] {
        let row = client.get(&format!("/api/v1/{path}")).await.expect(200);
        assert_eq!((&row["businessUnit"], &row["version"]), (&json!("nz"), &json!(1)), "{path}");
    }
    bed.leaves_open("the report's next run");
}

async fn t11_a_unit_that_was_removed_stays_where_it_is(bed: TestBed) {
    let client = Client::new(&bed).await;
    let list = json!({ "type": "memory", "targets": ["x"], "businessUnit": "nz" });
    client.put("/api/v1/lists/ops", list.clone()).await.expect(200);
    let setting =
        client.post("/api/v1/reminder-settings", first_aid(|body| body["businessUnit"] = json!("nz"))).await;
    let path = format!("/api/v1/reminder-settings/{}", setting.expect(201)["id"].as_str().unwrap());
    client.delete("/api/v1/business-units/nz").await.expect(204);
    // What is there can still be changed; nothing new gets the unit.
    client.put("/api/v1/lists/ops", list.clone()).await.expect(200);
    client.patch(&path, json!({ "active": false })).await.expect(200);
    client.put("/api/v1/lists/new", list).await.refused(422, "unit_unknown");
}

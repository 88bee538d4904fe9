//! The examples of the OpenAPI document work as they stand: each is sent, and accepted.

use axum::http::Method;
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{client::Client, consumers::with_brokers};

on_both! {
    every_example_of_a_request_is_accepted with with_brokers;
}

/// The operations with an example, in an order in which each finds what the ones before have made.
const ORDER: &[&str] = &[
    "putTemplate",
    "putDeliveryPolicy",
    "createKey",
    "putList",
    "importDefinitions",
    "createMessage",
    "updateMessage",
    "createNotification",
    "putOperationsPerson",
    "putOperationsOrganisation",
    "createOperationsEvent",
    "createOperationsFeed",
    "createOperationsRule",
    "createOperationsTask",
    "putPreference",
    "createReminderSetting",
    "updateReminderSetting",
    "planReminderSetting",
    "createReportSubscription",
    "updateReportSubscription",
    "transferReportSubscription",
    "purge",
    "putRolloutsReportSubscription",
    "putSandboxClock",
    "tickScheduler",
    "createSchedule",
    "createSite",
    "updateSite",
    "handOverNotifications",
    "putConsumer",
    "putSource",
    "putSubscriber",
    "putSuppression",
    "createSurvey",
    "createUser",
    "updateUser",
    "ingestSurveysTriggers",
    "createErasure",
    "exportPersonalData",
];

/// What needs more than the test bed has: a link that somebody was sent, the adapter for mail, a master key of the server's own.
const ELSEWHERE: &[&str] = &["respondToSurvey", "putChannel", "rekeySecrets"];

async fn every_example_of_a_request_is_accepted(bed: TestBed) {
    let client = Client::new(&bed).await;
    let document = punctual_api::document();
    client.has_unit("nz").await;
    for person in ["ann", "ben", "person-7"] {
        client
            .put(&format!("/api/v1/operations/people/{person}"), json!({ "name": person }))
            .await
            .expect(200);
    }
    let mut examples = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let example = &operation["requestBody"]["content"]["application/json"]["example"];
            if !example.is_null() {
                let id = operation["operationId"].as_str().unwrap().to_owned();
                examples.push((id, method.clone(), path.clone(), example.clone()));
            }
        }
    }
    let place = |id: &str| ORDER.iter().position(|known| *known == id);
    for (id, ..) in &examples {
        assert!(
            place(id).is_some() || ELSEWHERE.contains(&id.as_str()),
            "{id} has an example that is not sent"
        );
    }
    examples.sort_by_key(|(id, ..)| place(id));
    let mut made = json!({ "type": "document", "name": "ops", "site": "plant-7", "person": "ann", "channelType": "email",
        "address": "ann@example.org", "scope": "subscription" });
    let mut refused = Vec::new();
    for (id, method, path, mut example) in examples.into_iter().filter(|(id, ..)| place(id).is_some()) {
        if id == "createOperationsRule" {
            example["subjectId"] = made["event"].clone();
        }
        let caller = if id == "handOverNotifications" {
            client.with_key(made["token"].as_str().unwrap_or_default())
        } else {
            client.clone()
        };
        let method: Method = method.to_uppercase().parse().unwrap();
        let reply = caller.call(method, &filled(&path, &id, &made), Some(example)).await;
        if !(200..300).contains(&reply.status) {
            refused.push(format!("{id} {path}: {} {}", reply.status, reply.text));
            continue;
        }
        remember(&id, &reply.body, &mut made);
    }
    assert!(refused.is_empty(), "{refused:#?}");
    bed.leaves_open("the examples are sent, not carried out");
}

/// The path with what was made before in it.
fn filled(path: &str, id: &str, made: &Value) -> String {
    let filled = path.split('/').map(|part| {
        let Some(name) = part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) else { return part };
        match (name, id) {
            ("key", _) => "memory:crm",
            ("id", "putOperationsPerson") => "ann",
            ("id", "putOperationsOrganisation") => "choir",
            ("id", "updateUser") => made["user"].as_str().unwrap_or("x"),
            ("id", "updateMessage") => made["message"].as_str().unwrap_or("x"),
            ("id", "putRolloutsReportSubscription") => made["guid"].as_str().unwrap_or("x"),
            ("id", _) => made["setting"].as_str().unwrap_or("1"),
            (name, _) => made[name].as_str().unwrap_or("x"),
        }
    });
    filled.collect::<Vec<_>>().join("/")
}

/// Keeps what later examples are about.
fn remember(id: &str, body: &Value, made: &mut Value) {
    let (name, value) = match id {
        "createMessage" => ("message", &body["id"]),
        "createOperationsEvent" => ("event", &body["id"]),
        "createReminderSetting" => ("setting", &body["id"]),
        "createReportSubscription" => ("guid", &body["guid"]),
        "createSite" => ("token", &body["token"]),
        "createUser" => ("user", &body["id"]),
        _ => return,
    };
    made[name] = value.clone();
}

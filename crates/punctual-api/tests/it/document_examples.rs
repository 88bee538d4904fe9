//! The examples of the OpenAPI document work as they stand: each is sent, and accepted. So are the settings of every adapter.

use axum::http::Method;
use punctual_channels::{described, described_consumers};
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{client::Client, consumers::with_every_adapter};

on_both! {
    every_example_of_a_request_is_accepted with with_every_adapter;
    the_settings_of_every_adapter_are_accepted_as_the_document_shows_them with with_every_adapter;
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
    "updateOperationsRule",
    "createOperationsTask",
    "putPreference",
    "putChannel",
    "planNewReminderSetting",
    "createReminderSetting",
    "putReminderSetting",
    "updateReminderSetting",
    "planReminderSetting",
    "createReportSubscription",
    "putReportSubscription",
    "updateReportSubscription",
    "transferReportSubscription",
    "planRetention",
    "putRetention",
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
    "putSources",
    "putSubscriber",
    "putSuppression",
    "createSurvey",
    "createUser",
    "updateUser",
    "ingestSurveysTriggers",
    "respondToSurvey",
    "ingestSurveyTriggersAsKnown",
    "respondToSurveyInstance",
    "createSurveyCampaign",
    "createErasure",
    "exportPersonalData",
];

/// What needs more than the test bed has: a master key of the server's own.
const ELSEWHERE: &[&str] = &["rekeySecrets"];

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
        if id == "createSurvey" {
            let publish = format!("/api/v1/surveys/{}/publish", reply.body["id"]);
            client.post(&publish, json!({})).await.expect(200);
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
            ("key", "putChannel") => "email:default",
            ("key", _) => "memory:crm",
            ("id", "putOperationsPerson") => "ann",
            ("id", "putOperationsOrganisation") => "choir",
            ("id", "updateUser") => made["user"].as_str().unwrap_or("x"),
            ("id", "updateMessage") => made["message"].as_str().unwrap_or("x"),
            ("id", "updateOperationsRule") => made["rule"].as_str().unwrap_or("x"),
            ("id", "createSurveyCampaign") => made["survey"].as_str().unwrap_or("x"),
            ("id", "putRolloutsReportSubscription") => made["guid"].as_str().unwrap_or("x"),
            ("id", _) => made["setting"].as_str().unwrap_or("1"),
            (name, _) => made[name].as_str().unwrap_or("x"),
        }
    });
    filled.collect::<Vec<_>>().join("/")
}

/// Keeps what later examples are about.
fn remember(id: &str, body: &Value, made: &mut Value) {
    let number;
    let (name, value) = match id {
        "createSurvey" => {
            number = Value::from(body["id"].to_string());
            ("survey", &number)
        }
        "createOperationsRule" => ("rule", &body["id"]),
        "ingestSurveysTriggers" | "ingestSurveyTriggersAsKnown" => {
            ("publicId", &body["items"][0]["instances"][0]["publicId"])
        }
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

async fn the_settings_of_every_adapter_are_accepted_as_the_document_shows_them(bed: TestBed) {
    let client = Client::new(&bed).await;
    let document = serde_json::to_value(punctual_api::document()).unwrap();
    let sending = described()
        .into_iter()
        .map(|(name, about)| (name, about.types[0], "Settings", &["channels", "subscribers"][..]));
    let taking = described_consumers()
        .into_iter()
        .map(|(name, about)| (name, about.types[0], "ConsumerSettings", &["consumers"][..]));
    for (adapter, kind, suffix, places) in sending.chain(taking) {
        let schemas = document["components"]["schemas"].as_object().unwrap().iter();
        let mut own = schemas.filter(|(name, schema)| {
            schema["x-adapter"] == *adapter
                && name.ends_with("ConsumerSettings") == (suffix == "ConsumerSettings")
        });
        let settings = own.next().unwrap_or_else(|| panic!("{adapter}")).1["example"].clone();
        assert!(settings.is_object(), "{adapter} shows no settings");
        for place in places {
            let mut body = json!({ "adapter": adapter, "settings": settings });
            match *place {
                "subscribers" => body["events"] = json!(["response-completed"]),
                "consumers" => body["active"] = json!(false),
                _ => {}
            }
            let reply = client.put(&format!("/api/v1/{place}/{kind}:{adapter}"), body).await;
            assert_eq!(reply.status, 200, "{place} {adapter}: {}", reply.text);
        }
    }
}

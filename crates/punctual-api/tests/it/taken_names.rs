//! A name that another business unit has: wherever a caller chooses the name, there is one refusal for all kinds, and
//! everything else is answered as for a name that never was.
//!
//! The kinds come from the list of definitions and the routes from the document: a new one fails the test until it is
//! tried here.

use std::collections::BTreeSet;

use axum::http::Method;
use punctual_testkit::{TestBed, on_both};
use punctual_wire::definitions::DefinitionKind;
use serde_json::{Value, json};

use crate::{
    client::{Client, Reply},
    reminders::first_aid,
    reports::weekly,
    surveys::csi_gr,
};

on_both! {
    t11_a_name_that_another_unit_has_is_taken_and_nothing_else_is_shown_of_it;
    t11_what_belongs_to_everybody_is_refused_alike_whatever_its_name;
    t11_two_units_that_take_a_name_at_once_get_one_of_it;
}

/// Valid as the name of every kind.
const NAME: &str = "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071";
const NEVER: &str = "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6072";

/// Routes that put something under a name and are no definitions, with why they are not tried beside the sources.
const OTHER_PUTS: &[(&str, &str)] = &[
    ("/api/v1/preferences/{person}", "of a person, not of a unit"),
    ("/api/v1/retention", "of the installation"),
    ("/api/v1/rollouts/report-subscription/{scope}/{id}", "the name is that of a unit or a subscription"),
    ("/api/v1/sandbox/channels/{key}", "of the sandbox"),
    ("/api/v1/sandbox/clock", "of the sandbox"),
    ("/api/v1/suppressions/{channelType}/{address}", "of an address, not of a unit"),
];

/// A request that writes something under a name of the caller's choice.
struct Write {
    method: Method,
    path: String,
    body: Value,
    /// Where it is found afterwards.
    at: Option<String>,
}

/// Who chooses the names of a kind.
enum Names {
    /// Whoever writes it.
    Caller(Write),
    /// The server; a name that it did not give is unknown.
    Server(Value),
    /// Callers without a limit alone write this kind, with a body such as this.
    ForAll(Method, String, Value),
}

fn put(path: String, body: Value) -> Write {
    Write { method: Method::PUT, at: Some(path.clone()), path, body }
}

fn names(kind: DefinitionKind, name: &str) -> Names {
    let path = ["{name}", "{id}", "{guid}", "{key}", "{site}"]
        .iter()
        .fold(kind.route().to_owned(), |path, part| path.replace(part, name));
    let keyed = |body: Value| Names::ForAll(Method::PUT, path.replace(name, &format!("memory:{name}")), body);
    match kind {
        DefinitionKind::List => {
            Names::Caller(put(path, json!({ "type": "memory", "targets": ["secret-of-somebody"] })))
        }
        DefinitionKind::Organisation | DefinitionKind::Person => {
            Names::Caller(put(path, json!({ "name": "secret-of-somebody" })))
        }
        DefinitionKind::ReminderSetting => {
            Names::Caller(put(path, first_aid(|one| one["name"] = json!("secret-of-somebody"))))
        }
        DefinitionKind::ReportSubscription => {
            Names::Caller(put(path, weekly(|one| one["name"] = json!("secret-of-somebody"))))
        }
        DefinitionKind::Survey => Names::Server(json!({ "name": "secret-of-somebody", "schema": csi_gr() })),
        DefinitionKind::BusinessUnit => {
            Names::ForAll(Method::PUT, path, json!({ "name": "N", "timeZone": "UTC" }))
        }
        DefinitionKind::Template => {
            let variants = json!({ "en": { "subject": "S", "body": "B" } });
            Names::ForAll(Method::PUT, path, json!({ "defaultLocale": "en", "variants": variants }))
        }
        DefinitionKind::Channel => keyed(json!({ "adapter": "memory" })),
        DefinitionKind::Subscriber => keyed(json!({ "adapter": "memory", "events": ["operations.*"] })),
        DefinitionKind::Consumer => keyed(json!({ "adapter": "nats", "settings": {} })),
        DefinitionKind::DeliveryPolicy => Names::ForAll(Method::PUT, path, json!({ "dailyCap": 5 })),
        DefinitionKind::Site => Names::ForAll(Method::PATCH, path, json!({})),
    }
}

/// Rows of the business whose name the caller chooses.
fn rows(name: &str, at: &str) -> Vec<Write> {
    let content = json!({ "targets": ["secret-of-somebody"], "channel": "memory:default", "subject": "S", "body": "B" });
    let with = |more: Value| {
        let mut body = content.clone();
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let post = |path: &str, body: Value, at: Option<String>| Write {
        method: Method::POST,
        path: path.to_owned(),
        body,
        at,
    };
    let of = |path: &str| Some(format!("{path}/{name}"));
    let messages = "/api/v1/messages";
    let notifications = "/api/v1/notifications";
    vec![
        put(format!("/api/v1/sources/document/{name}"), json!({ "state": { "a": "secret-of-somebody" } })),
        post(messages, with(json!({ "id": name, "sendAt": at })), of(messages)),
        post(notifications, with(json!({ "id": name })), of(notifications)),
        post("/api/v1/schedules", json!({ "key": name, "topic": "t", "runAt": at }), None),
    ]
}

/// Everything whose name the caller chooses.
fn chosen(name: &str, at: &str) -> Vec<Write> {
    let definitions = DefinitionKind::ALL.iter().filter_map(|kind| match names(*kind, name) {
        Names::Caller(write) => Some(write),
        Names::Server(_) | Names::ForAll(..) => None,
    });
    definitions.chain(rows(name, at)).collect()
}

async fn written(client: &Client, write: &Write) -> Reply {
    client.call(write.method.clone(), &write.path, Some(write.body.clone())).await
}

/// An answer without what differs by nature.
fn reported(reply: &Reply) -> String {
    let mut body = reply.body.clone();
    body["requestId"] = Value::Null;
    let names = [NAME, NEVER].iter().fold(body.to_string(), |text, name| text.replace(name, "NAME"));
    // The name of a source is its type and its id, and a schedule's key has its kind before it.
    format!("{} {}", reply.status, names.replace("document/NAME", "NAME").replace("schedule:NAME", "NAME"))
}

async fn two_units(client: &Client) -> (Client, Client) {
    let scopes = ["author", "operate", "ingest", "read", "admin"];
    (client.new_key(&scopes, Some(&["de"])).await, client.new_key(&scopes, Some(&["nz"])).await)
}

async fn t11_a_name_that_another_unit_has_is_taken_and_nothing_else_is_shown_of_it(bed: TestBed) {
    bed.leaves_open("what another unit asks for stays as it is");
    let client = Client::new(&bed).await;
    let (de, nz) = two_units(&client).await;
    let at = bed.after(3_600).to_string();
    let (mut refusals, mut tried) = (BTreeSet::new(), BTreeSet::new());
    for (write, never) in chosen(NAME, &at).into_iter().zip(chosen(NEVER, &at)) {
        let what = &write.path;
        tried.insert(what.replace(NAME, "{}"));
        let made = written(&de, &write).await;
        assert!([200, 201].contains(&made.status), "{what}: {}", made.text);
        let before = match &write.at {
            Some(at) => Some(client.get(at).await.expect(200)),
            None => None,
        };
        let refused = written(&nz, &write).await;
        assert_eq!(refused.status, 409, "{what}: {}", refused.text);
        assert!(!refused.text.contains("secret"), "{what}: {}", refused.text);
        refusals.insert(reported(&refused));
        let (Some(at), Some(never)) = (&write.at, &never.at) else { continue };
        for method in [Method::GET, Method::DELETE] {
            let foreign = nz.call(method.clone(), at, None).await;
            let unknown = nz.call(method.clone(), never, None).await;
            assert_eq!(reported(&foreign), reported(&unknown), "{method} {what}");
        }
        assert_eq!(Some(client.get(at).await.expect(200)), before, "{what}: nothing was stored");
    }
    assert_eq!(refusals.len(), 1, "one text for all kinds: {refusals:#?}");
    // A name that was deleted and stays on record is refused in the same words.
    for kind in [DefinitionKind::ReminderSetting, DefinitionKind::ReportSubscription] {
        let Names::Caller(write) = names(kind, NEVER) else { panic!("{}", kind.name()) };
        written(&nz, &write).await.expect(200);
        nz.delete(&write.path).await.expect(204);
        let again = written(&nz, &write).await;
        assert!(refusals.contains(&reported(&again)), "{}: {}", kind.name(), again.text);
    }
    // A name of the server's that another unit has is one that was never given.
    let survey = de.post("/api/v1/surveys", json!({ "name": "S", "schema": csi_gr() })).await.expect(201);
    let Names::Server(body) = names(DefinitionKind::Survey, NAME) else { panic!("surveys have numbers") };
    let mut answers = BTreeSet::new();
    for id in [survey["id"].to_string(), "987654321".to_owned()] {
        let reply = nz.put(&format!("/api/v1/surveys/{id}"), body.clone()).await;
        assert_eq!(reply.status, 404, "{}", reply.text);
        answers.insert(reported(&reply).replace(&id, "NAME"));
    }
    assert_eq!(answers.len(), 1, "{answers:#?}");
    every_put_is_tried(&tried);
}

/// Every route that puts something under a name is a kind of definition, was tried, or is listed with why not.
fn every_put_is_tried(tried: &BTreeSet<String>) {
    let document = punctual_api::document();
    let definitions: BTreeSet<&str> = DefinitionKind::ALL.iter().map(|kind| kind.route()).collect();
    for (path, item) in document["paths"].as_object().unwrap() {
        if item.get("put").is_none() {
            continue;
        }
        let known = definitions.contains(path.as_str())
            || OTHER_PUTS.iter().any(|(other, _)| other == path)
            || tried.contains(&path.replace("{type}", "document").replace("{id}", "{}"));
        assert!(known, "{path} puts something under a name and is not tried");
    }
}

async fn t11_what_belongs_to_everybody_is_refused_alike_whatever_its_name(bed: TestBed) {
    let client = Client::new(&bed).await;
    let (_, nz) = two_units(&client).await;
    client.post("/api/v1/sites", json!({ "id": NAME, "businessUnit": "de" })).await.expect(201);
    for kind in DefinitionKind::ALL {
        let Names::ForAll(method, path, body) = names(*kind, NAME) else { continue };
        if method == Method::PUT && *kind != DefinitionKind::Consumer {
            client.put(&path, body.clone()).await.expect(200);
        }
        let there = nz.call(method.clone(), &path, Some(body.clone())).await;
        let never = nz.call(method, &path.replace(NAME, NEVER), Some(body)).await;
        // A unit itself is one that they may not name.
        let expected = if *kind == DefinitionKind::BusinessUnit { 404 } else { 403 };
        assert_eq!(there.status, expected, "{}: {}", kind.name(), there.text);
        assert_eq!(reported(&there), reported(&never), "{}", kind.name());
    }
}

async fn t11_two_units_that_take_a_name_at_once_get_one_of_it(bed: TestBed) {
    bed.leaves_open("only who got a name matters");
    let client = Client::new(&bed).await;
    let (de, nz) = two_units(&client).await;
    let at = bed.after(3_600).to_string();
    for write in chosen(NAME, &at) {
        let (one, other) = tokio::join!(written(&de, &write), written(&nz, &write));
        let mut statuses = [one.status, other.status];
        statuses.sort_unstable();
        assert!(statuses[0] < 300 && statuses[1] == 409, "{}: {} {}", write.path, one.text, other.text);
        let Some(at) = &write.at else { continue };
        let winner = if one.status < 300 { "de" } else { "nz" };
        assert_eq!(client.get(at).await.expect(200)["businessUnit"], winner, "{}", write.path);
    }
}

//! A person is put into every column that an erasure says to empty, through the product's own ways, and is nowhere after it:
//! neither in the database nor among the files. What an export hands out is what was there.

use std::collections::BTreeSet;

use axum::http::Method;
use punctual_engine::{Actor, commands::SavedView};
use punctual_model::{ReasonCode, SendOutcome};
use punctual_store::{
    Lane,
    personal::columns::{self, Holds},
    sessions::Owner,
    work,
};
use punctual_testkit::{Scripted, TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::Client,
    reminders::first_aid,
    reports::{REPORT, weekly},
    surveys::{csi_gr, instance, published, visit},
};

on_both! {
    a_person_who_is_everywhere_is_erased_everywhere;
}

/// What every text about the person contains.
const CANARY: &str = "kanarie7";
const ADDRESS: &str = "kanarie7@x.example";
const NAME: &str = "Kanarie7 Vogel";
/// Base64 of `Kanarie7 Vogel`.
const FILE: &str = "S2FuYXJpZTcgVm9nZWw=";
const DAY: i64 = 86_400;

/// A provider that answers with the address, fails as the subject wants, and calls back.
fn provider() -> Scripted {
    let answer = Scripted::new("provider", |message| {
        let error = format!("550 5.1.1 <{}> is not here", message.address);
        if message.subject.contains("refused") {
            SendOutcome::Permanent { reason: ReasonCode::AddressInvalid, error }
        } else if message.subject.contains("later")
            || message.attempt == 1 && message.subject.contains("visit")
        {
            SendOutcome::Transient { error, retry_after: None }
        } else {
            SendOutcome::Delivered { provider_id: format!("id-{}", message.message_id) }
        }
    });
    answer.calls_back()
}

fn message(change: impl FnOnce(&mut Value)) -> Value {
    let mut body = json!({ "targets": [ADDRESS], "channel": "email:p", "subject": format!("Hello {NAME}"),
        "body": format!("Dear {NAME}"), "html": format!("<p>{NAME}</p>"), "replyTo": ADDRESS,
        "typeData": { "who": NAME },
        "attachments": [{ "name": format!("{CANARY}.txt"), "contentType": "text/plain", "content": FILE }] });
    change(&mut body);
    body
}

/// The text is another's, too, and stays.
fn for_both() -> Value {
    json!({ "targets": ["bob@x.example", ADDRESS], "channel": "email:p", "subject": "For both", "body": "B" })
}

async fn send(bed: &TestBed, client: &Client, body: Value) -> String {
    let id = client.post("/api/v1/notifications", body).await.expect(201)["id"].as_str().unwrap().to_owned();
    bed.tick().await;
    id
}

/// A survey that was sent with an error, answered, and whose messages were purged.
async fn old_survey(bed: &TestBed, client: &Client) {
    let mut schema = csi_gr();
    schema["triggers"][0]["channel"] = json!("email:p");
    published(client, schema).await;
    asked(client, "1").await;
    bed.run_for(3_600).await;
    bed.wait(366 * DAY);
    bed.engine.purge(bed.now()).await.unwrap();
}

async fn asked(client: &Client, wip: &str) -> String {
    let mut item = visit(wip);
    item["payload"]["CustomerName"] = json!(NAME);
    item["recipient"] = json!({ "address": ADDRESS, "locale": "en", "customerRef": CANARY });
    instance(client, item).await
}

/// The person in every column that is said to be erased.
async fn everywhere(bed: &TestBed, client: &Client) {
    client
        .put("/api/v1/channels/email:p", json!({ "adapter": "provider", "settings": {} }))
        .await
        .expect(200);
    old_survey(bed, client).await;
    // Answers, and what subscribers get of them.
    client
        .put(
            "/api/v1/subscribers/memory:crm",
            json!({ "adapter": "memory", "events": ["response-completed", "desk.*"] }),
        )
        .await
        .expect(200);
    let link = asked(client, "2").await;
    bed.tick().await;
    let answers = json!({ "submissionId": "s-1", "agentId": CANARY,
        "answers": { "rate": 7, "has-a-complaint": "Yes", "complaint": format!("{NAME} waited") } });
    let nobody = Client { key: None, ..client.clone() };
    nobody.post(&format!("/SurveyInstances/{link}/responses"), answers).await.expect(200);
    bed.tick().await;
    definitions(bed, client).await;
    // Messages: alone, to several, to a list, over a template, refused, not yet delivered.
    let first = send(bed, client, message(|_| {})).await;
    send(bed, client, for_both()).await;
    send(bed, client, json!({ "list": "desk", "subject": "S", "body": "B" })).await;
    let with_context = |body: &mut Value| {
        body["context"] = json!({ "who": NAME });
        body["body"] = json!("Dear {{ who }}");
    };
    send(bed, client, message(with_context)).await;
    let refused = send(bed, client, message(|body| body["subject"] = json!(format!("refused {NAME}")))).await;
    let why = json!({ "reason": format!("{NAME} asked for it") });
    client.post(&format!("/api/v1/notifications/{refused}/discard"), why).await.expect(200);
    send(bed, client, message(|body| body["subject"] = json!(format!("later {NAME}")))).await;
    // What the provider says afterwards, and who is left out then.
    let seen = client.get(&format!("/api/v1/notifications/{first}")).await.expect(200);
    let id = seen["resolvedTargets"][0]["messageId"].as_str().unwrap();
    let call = json!([{ "id": id, "state": "failed", "suppress": "hardBounce", "detail": format!("{ADDRESS} is gone") }]);
    let headers = [("x-signature", "good"), ("content-type", "application/json")];
    nobody.send(Method::POST, "/api/v1/callbacks/email:p", &headers, call.to_string()).await.expect(200);
    send(bed, client, for_both()).await;
    for_later(bed, client).await;
    person_of_the_installation(bed, client).await;
}

async fn definitions(bed: &TestBed, client: &Client) {
    let list = json!({ "type": "email", "channel": "email:p", "targets": [ADDRESS, "bob@x.example"] });
    client.put("/api/v1/lists/desk", list).await.expect(200);
    let recipients = json!({ "addresses": [ADDRESS, "bob@x.example"] });
    let reminder = first_aid(|body| body["recipients"] = recipients.clone());
    client.post("/api/v1/reminder-settings", reminder).await.expect(201);
    client.post(REPORT, weekly(|body| body["recipients"] = recipients.clone())).await.expect(201);
    let state = json!({ "businessUnit": "nz", "state": { "kind": "other", "owner": { "email": ADDRESS } } });
    client.put("/api/v1/sources/document/42", state).await.expect(200);
    // A schedule whose payload names the person, with a subscriber of its topic and a trace of how it went.
    let schedule = json!({ "topic": "desk.call", "runAt": bed.after(60), "payload": { "call": ADDRESS }, "key": "call-1" });
    client.post("/api/v1/schedules", schedule).await.expect(201);
    bed.run_for(60).await;
    let row = bed.work("schedule:call-1").await;
    bed.engine.blobs.put("traces/call-1", format!("{NAME} could not be called").into_bytes()).await.unwrap();
    let mut tx = bed.store.begin(Lane::Settle).await.unwrap();
    work::set_trace(&mut tx.conn(), row.id, "traces/call-1").await.unwrap();
    tx.commit().await.unwrap();
}

/// Messages that wait, one of them cancelled with a reason; and one whose answer is kept for its idempotency key.
async fn for_later(bed: &TestBed, client: &Client) {
    for id in ["m-1", "m-2"] {
        let later = message(|body| {
            body["id"] = json!(id);
            body["sendAt"] = json!(bed.after(30 * DAY));
            body["channel"] = json!("memory:default");
            if id == "m-2" {
                body["context"] = json!({ "who": NAME });
            }
        });
        client.post("/api/v1/messages", later).await.expect(201);
    }
    let row = bed.work("message:m-2").await;
    let why = json!({ "reason": format!("{NAME} asked for it") });
    client.post(&format!("/api/v1/work/{}/cancel", row.id), why).await.expect(200);
    let once = [("content-type", "application/json"), ("idempotency-key", "once-1")];
    let body = message(|body| body["channel"] = json!("memory:default")).to_string();
    client.send(Method::POST, "/api/v1/notifications", &once, body).await.expect(201);
    bed.tick().await;
}

/// Preferences, inbox, counts, digests, people and accounts.
async fn person_of_the_installation(bed: &TestBed, client: &Client) {
    client
        .put("/api/v1/channels/inbox:default", json!({ "adapter": "inbox", "settings": {} }))
        .await
        .expect(200);
    send(
        bed,
        client,
        json!({ "targets": [ADDRESS], "channel": "inbox:default", "subject": NAME, "body": NAME }),
    )
    .await;
    let body =
        json!({ "name": NAME, "email": ADDRESS, "addresses": { "memory": ADDRESS }, "channels": ["email"] });
    client.put("/api/v1/operations/people/p-77", body).await.expect(200);
    let wanted = json!({ "dailyCap": 1, "addresses": { "memory": ADDRESS, "email": ADDRESS } });
    client.put(&format!("/api/v1/preferences/{ADDRESS}"), wanted).await.expect(200);
    for number in 0..3 {
        let body = json!({ "targets": [ADDRESS], "channel": "memory:default", "subject": format!("{NAME} {number}"), "body": NAME });
        send(bed, client, body).await;
    }
    let user = json!({ "email": ADDRESS, "name": NAME, "role": "viewer" });
    client.post("/api/v1/users", user).await.expect(201);
    // Somebody keeps a list of the console that searches for the person.
    let view =
        SavedView { name: format!("About {ADDRESS}"), pairs: vec![("q".to_owned(), ADDRESS.to_owned())] };
    let whose = Owner::User("somebody".to_owned());
    bed.engine.save_view(&Actor::named("somebody"), &whose, "/outbox", &view).await.unwrap();
}

fn holds(column: &str) -> Option<Holds> {
    column.split_once('.').and_then(|(table, column)| columns::holds(table, column))
}

/// Columns that no way of these tests fills: what their error texts would need cannot be had without a fault of the database,
/// and tokens of browsers and providers come with a sign-in.
const NOT_FILLED: [&str; 5] =
    ["owed.last_error", "sessions.device", "users.subject", "work.trace_blob", "circuits.last_error"];

async fn a_person_who_is_everywhere_is_erased_everywhere(bed: TestBed) {
    let bed = bed.with(|bed| bed.adapter(provider()));
    let client = Client::new(&bed).await;
    everywhere(&bed, &client).await;
    let before: BTreeSet<String> = bed.columns_with(CANARY).await.into_iter().collect();
    let wrong: Vec<_> = before.iter().filter(|column| holds(column) == Some(Holds::Nothing)).collect();
    assert!(wrong.is_empty(), "said to hold nothing about a person: {wrong:?}");
    let missing: Vec<String> = bed
        .text_columns()
        .await
        .into_iter()
        .filter(|(table, column)| columns::holds(table, column) == Some(Holds::Erased))
        .map(|(table, column)| format!("{table}.{column}"))
        .filter(|column| !before.contains(column) && !NOT_FILLED.contains(&column.as_str()))
        .collect();
    assert!(missing.is_empty(), "the person was never there: {missing:?}");
    assert_eq!(bed.blobs_with(CANARY).await.len(), 8, "{:?}", bed.blobs_with(CANARY).await);
    handed_out(&client).await;

    let confirmed = json!({ "address": ADDRESS, "confirm": true });
    let done = client.post("/api/v1/erasures", confirmed).await.expect(201);
    assert_eq!((&done["status"], &done["certificate"]["remaining"]), (&json!("done"), &json!([])), "{done}");
    let left: Vec<String> = bed.columns_with(CANARY).await;
    let (later, now): (Vec<_>, Vec<_>) =
        left.into_iter().partition(|column| holds(column) == Some(Holds::Expires));
    assert_eq!(now, Vec::<String>::new());
    assert_eq!(bed.blobs_with(CANARY).await, Vec::<String>::new());
    // Answers that are kept for a client that repeats itself go within a day.
    assert!(later.iter().all(|column| column == "idempotency_keys.body"), "{later:?}");
    bed.run_for(2 * DAY).await;
    bed.engine.purge(bed.now()).await.unwrap();
    assert_eq!(bed.columns_with(CANARY).await, Vec::<String>::new());
    assert!(bed.sent().iter().all(|sent| sent.at <= bed.after(-2 * DAY) || sent.address != ADDRESS));
    bed.leaves_open("reports and others' reminders are planned");
}

/// What was there is in the export, once for each kind.
async fn handed_out(client: &Client) {
    let document =
        client.post("/api/v1/personal-data/export", json!({ "address": ADDRESS })).await.expect(200);
    let data = document["data"].as_object().unwrap();
    for kind in [
        "notifications",
        "messages",
        "surveys",
        "answers",
        "sources",
        "work",
        "people",
        "preferences",
        "suppressions",
        "user",
        "inbox",
        "digests",
        "events",
        "receipts",
        "audit",
    ] {
        let text = data.get(kind).map(Value::to_string).unwrap_or_default().to_lowercase();
        assert!(text.contains(CANARY), "{kind}: {text}");
    }
    // Definitions are named, and changed by whoever keeps them.
    let named = data["definitions"].as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap());
    assert_eq!(named.collect::<Vec<_>>(), ["list", "reminder", "report"]);
}

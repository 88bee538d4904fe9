//! Every operation of the OpenAPI document, with every kind of key of one business unit, against what another unit has.
//!
//! The other unit has a word in each of its texts that nothing else has. No answer holds that word, and what is named by
//! its id is answered as an id that never was. A new route is in it by itself: one whose path the tables below do not
//! know fails the test. On PostgreSQL there is one connection for readers, so that a handler that takes a second one
//! while it holds the first fails here too. Pages of the console are in `console.rs`. Figures, log lines and messages that were
//! sent to others do not hold the word either.

mod console;

use std::collections::{BTreeMap, BTreeSet};

use axum::http::Method;
use punctual_model::Scope;
use punctual_testkit::{TestBed, TestBedBuilder, on_both};
use serde_json::{Value, json};

use crate::{
    client::{Client, Reply},
    reminders::{first_aid, put_source, setting},
    reports::{runs, weekly},
    sites::site,
    surveys::{csi_gr, ingest, visit},
};

on_both! {
    t11_no_answer_shows_one_unit_another with one_reader;
}

fn one_reader(bed: TestBedBuilder) -> TestBedBuilder {
    bed.connections(4)
}

/// In every text of the other unit, and nowhere else.
const WORD: &str = "zanzibar";

fn address() -> String {
    format!("{WORD}@de.example")
}

/// What stands for a placeholder of a path, by the segment before it: of the other unit, and of nobody.
pub type Places = BTreeMap<&'static str, (String, String)>;

/// Makes one of everything for `de`, and returns where it is.
pub async fn everything_of_de(bed: &TestBed, client: &Client) -> Places {
    let unit = json!({ "name": WORD, "timeZone": "Europe/Berlin" });
    client.put("/api/v1/business-units/de", unit).await.expect(200);
    let moving = Moving::of_nz(client).await;
    let de = client.new_key(&["operate", "author", "ingest", "read"], Some(&["de"])).await;
    let list = json!({ "type": "memory", "targets": [address()] });
    de.put("/api/v1/lists/de-list", list).await.expect(200);
    let person = json!({ "name": WORD, "email": address(), "timeZone": "Asia/Tokyo", "locale": "de" });
    de.put("/api/v1/operations/people/de-person", person).await.expect(200);
    de.put("/api/v1/operations/organisations/de-org", json!({ "name": WORD })).await.expect(200);
    de.post("/api/v1/operations/feeds", json!({ "organisation": "de-org" })).await.expect(201);
    let event = json!({ "title": WORD, "startDate": "2026-06-14T06:00:00Z", "creator": "de-person",
        "organisation": "de-org" });
    let event = de.post("/api/v1/operations/events", event).await.expect(201);
    let task = json!({ "title": WORD, "startedAt": "2026-06-14T06:00:00Z", "creator": "de-person" });
    let task = de.post("/api/v1/operations/tasks", task).await.expect(201);
    put_source(&de, "person/de-source", json!({ "state": { "email": address(), "classId": "nz-1" } })).await;
    let state =
        json!({ "kind": "first-aid", "expiresOn": "2026-07-20", "note": WORD, "ownerId": "de-source" });
    put_source(&de, "document/de-source", json!({ "state": state })).await;
    let reminder = setting(&de, first_aid(|body| body["name"] = json!(WORD))).await;
    let later = json!({ "id": "de-message", "sendAt": "2026-06-14T06:00:00Z", "list": "de-list", "subject": WORD, "body": WORD });
    de.post("/api/v1/messages", later).await.expect(201);
    let schedule = json!({ "topic": "t", "runAt": "2026-06-14T06:00:00Z", "key": "de-schedule", "payload": { "a": WORD } });
    let schedule = de.post("/api/v1/schedules", schedule).await.expect(201);
    let lost = json!({ "list": "de-list", "channel": "pager:none", "subject": WORD, "body": WORD });
    let notification = de.post("/api/v1/notifications", lost).await.expect(201);
    let subscriber = json!({ "adapter": "memory", "events": ["response-completed"] });
    client.put("/api/v1/subscribers/memory:bi", subscriber).await.expect(200);
    let mut schema = csi_gr();
    schema["title"]["en"] = json!(WORD);
    let survey = de.post("/api/v1/surveys", json!({ "name": WORD, "schema": schema })).await.expect(201);
    let survey = survey["id"].to_string();
    de.post(&format!("/api/v1/surveys/{survey}/publish"), json!({})).await.expect(200);
    let mut closed = visit("1");
    closed["payload"]["CustomerName"] = json!(WORD);
    let public_id = ingest(&de, json!([closed])).await["items"][0]["instances"][0]["publicId"].clone();
    let public_id = public_id.as_str().unwrap().to_owned();
    let answers = json!({ "answers": { "rate": 3, "has-a-complaint": "Yes", "complaint": WORD } });
    let path = format!("/api/v1/public/surveys/{public_id}/responses");
    client.post(&path, answers).await.expect(200);
    let report = weekly(|body| {
        body["name"] = json!(WORD);
        body["recipients"] = json!({ "list": "de-list" });
        body["channel"] = json!("memory:default");
    });
    let report = de.post("/api/v1/report-subscriptions", report).await.expect(201);
    let guid = report["guid"].as_str().unwrap().to_owned();
    let file = [("content-type", "text/plain")];
    let blob = de.send(Method::POST, "/api/v1/blobs", &file, WORD).await.expect(201);
    client.put("/api/v1/channels/inbox:default", json!({ "adapter": "inbox" })).await.expect(200);
    // Keys of these names are both units'.
    let people = ["for read", "for admin", "for read author operate ingest"];
    let leaks = json!({ "targets": people, "channel": "inbox:default", "subject": WORD, "body": WORD });
    de.post("/api/v1/notifications", leaks).await.expect(201);
    client.advance("8d").await;
    moving.to_de(client).await;
    let run = runs(&de, &guid).await;
    let run = run.iter().find(|run| run["status"] == "completed").unwrap_or_else(|| panic!("{run:?}"));
    let key = run["key"].as_str().unwrap().replace('/', "%2F");
    let artefacts = de.get(&format!("/api/v1/report-subscriptions/{guid}/automation-runs/{key}")).await;
    let artefact = artefacts.expect(200)["artefacts"][0]["name"].as_str().unwrap().to_owned();
    let rollout = format!("/api/v1/rollouts/report-subscription/subscription/{guid}");
    de.put(&rollout, json!({ "stage": 0 })).await.expect(200);
    de.put("/api/v1/rollouts/report-subscription/business-unit/de", json!({ "stage": 0 })).await.expect(200);
    let user = json!({ "email": address(), "name": WORD, "role": "admin", "businessUnits": ["de"] });
    let user = client.post("/api/v1/users", user).await.expect(201);
    let admin = client.new_key(&["admin"], Some(&["de"])).await;
    let erasure = admin.post("/api/v1/erasures", json!({ "address": "nobody@de.example" })).await.expect(201);
    let outbox = de.get("/api/v1/outbox-events").await.expect(200)["items"][0]["id"].to_string();
    bed.leaves_open("much of it is to come");

    let id = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let uuid = || "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071".to_owned();
    let none = || "no-such".to_owned();
    let number = || "999999999".to_owned();
    let both = |one: String, other: String| (one, other);
    let rule = id(&event["rules"][0]["id"]);
    let nobodys_run = key.replace(&guid, &uuid());
    BTreeMap::from([
        ("business-units/{id}", both("de".into(), none())),
        ("lists/{name}", both("de-list".into(), none())),
        ("messages/{id}", both("de-message".into(), none())),
        ("notifications/{id}", both(id(&notification["id"]), uuid())),
        ("events/{id}", both(id(&event["id"]), uuid())),
        ("tasks/{id}", both(id(&task["id"]), uuid())),
        ("rules/{id}", both(rule, uuid())),
        ("people/{id}", both("de-person".into(), none())),
        ("organisations/{id}", both("de-org".into(), none())),
        ("feeds/{ownerType}", both("organisation".into(), "organisation".into())),
        ("{ownerType}/{ownerId}", both("de-org".into(), none())),
        ("outbox-events/{id}", both(outbox, number())),
        ("deliveries/{subscriber}", both("memory:bi".into(), "memory:bi".into())),
        ("reminder-settings/{id}", both(reminder, uuid())),
        ("report-runs/{key}", both(key.clone(), nobodys_run.clone())),
        ("report-subscriptions/{guid}", both(guid.clone(), uuid())),
        ("automation-runs/{run}", both(key, nobodys_run)),
        ("artefacts/{name}", both(artefact.clone(), artefact)),
        ("report-subscription/{scope}", both("subscription".into(), "subscription".into())),
        ("{scope}/{id}", both(guid, uuid())),
        ("schedules/{id}", both(id(&schedule["id"]), number())),
        ("work/{id}", both(id(&schedule["id"]), number())),
        ("sources/{type}", both("document".into(), "no-such".into())),
        ("{type}/{id}", both("de-source".into(), none())),
        ("surveys/{id}", both(survey, number())),
        ("users/{id}", both(id(&user["id"]), uuid())),
        ("blobs/{id}", both(id(&blob["id"]), uuid())),
        ("erasures/{id}", both(id(&erasure["id"]), uuid())),
        ("instances/{publicId}", both(public_id, uuid())),
        // What is not a unit's: there is nothing to tell apart.
        ("channels/{key}", both("memory:default".into(), "memory:default".into())),
        ("templates/{name}", both(none(), none())),
        ("inbox/{id}", both("1".into(), "1".into())),
        ("sites/{site}", both("plant-nz".into(), "plant-nz".into())),
    ])
}

/// What was made in one unit and has moved to the other since: what is left of it in the first shows nothing of it.
struct Moving {
    setting: String,
    report: String,
}

/// A source whose id says nothing, so that it is called by what its state says.
const MOVED_SOURCE: &str = "document/0197a3c4-5d6e-7f80-9a1b-00000000face";

impl Moving {
    async fn of_nz(client: &Client) -> Self {
        let nz = client.new_key(&["operate", "author", "ingest", "read"], Some(&["nz"])).await;
        setting(client, first_aid(|body| body["triggerKey"] = json!("of-everybody"))).await;
        let setting = setting(&nz, first_aid(|body| body["triggerKey"] = json!("moving"))).await;
        let state = json!({ "kind": "first-aid", "expiresOn": "2026-06-20", "name": "before" });
        put_source(&nz, MOVED_SOURCE, json!({ "state": state })).await;
        let report = weekly(|body| {
            body["name"] = json!("before");
            body["channel"] = json!("memory:default");
        });
        let report = nz.post("/api/v1/report-subscriptions", report).await.expect(201);
        Self { setting, report: report["guid"].as_str().unwrap().to_owned() }
    }

    async fn to_de(&self, client: &Client) {
        let done = client.get("/api/v1/work?status=completed&limit=200").await.expect(200);
        let of_nz = done["items"].as_array().unwrap().iter().filter(|row| row["businessUnit"] == "nz");
        assert!(of_nz.count() >= 3, "{done}");
        let state = json!({ "kind": "first-aid", "expiresOn": "2026-06-21", "name": WORD });
        put_source(client, MOVED_SOURCE, json!({ "businessUnit": "de", "state": state })).await;
        let moved = json!({ "businessUnit": "de", "name": WORD });
        client.patch(&format!("/api/v1/reminder-settings/{}", self.setting), moved.clone()).await.expect(200);
        client.patch(&format!("/api/v1/report-subscriptions/{}", self.report), moved).await.expect(200);
    }
}

/// Bodies that name what the other unit has. An operation that is not here sends its documented example, or nothing.
fn bodies(places: &Places) -> BTreeMap<String, Vec<Value>> {
    let of = |name: &str| places[name].0.clone();
    let message = json!({ "list": "de-list", "subject": "S", "body": "B" });
    let at = "2026-07-14T06:00:00Z";
    let lookup = first_aid(|body| {
        body["recipients"] =
            json!({ "lookup": { "sourceType": "person", "idField": "/ownerId", "field": "/email" } });
    });
    let count = first_aid(|body| {
        body["sourceType"] = json!("class");
        body["kind"] = json!("threshold");
        body["date"] = json!(null);
        body["filter"] = json!(null);
        body["threshold"] = json!({ "metric": { "count": { "sourceType": "person", "parentField": "/classId" } },
            "op": ">=", "value": 1, "firingPolicy": "FalseToTrue", "scope": "all" });
    });
    let listed = first_aid(|body| body["recipients"] = json!({ "list": "de-list" }));
    let report = weekly(|body| {
        body["recipients"] = json!({ "list": "de-list" });
        body["owner"] = json!("de-person");
    });
    let subject = |start: &str, people: &str| json!({ "title": "T", start: at, "creator": "de-person", people: ["de-person"], "organisation": "de-org" });
    let cloud = json!({ "specversion": "1.0", "id": "e1", "source": "s", "type": "source.changed",
        "subject": "document/de-source", "data": { "state": {} } });
    let mut bodies: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut put = |what: &str, body: Value| bodies.entry(what.to_owned()).or_default().push(body);
    put("post /api/v1/notifications", message.clone());
    put(
        "post /api/v1/notifications",
        json!([{ "list": "de-list", "subject": "S", "body": "B", "businessUnit": "de" }]),
    );
    let mut with_file = message.clone();
    with_file["attachments"] = json!([{ "name": "a.txt", "blob": of("blobs/{id}") }]);
    put("post /api/v1/notifications", with_file.clone());
    (with_file["id"], with_file["sendAt"]) = (json!("nz-message"), json!(at));
    put("post /api/v1/messages", with_file);
    let closed = json!({ "eventKind": "service-visit-closed", "items": [visit("3")] });
    put("post /api/v1/surveys/triggers/ingest", closed.clone());
    put("post /api/Surveys/Triggers/ingest", closed);
    let mut later = message;
    (later["id"], later["sendAt"]) = (json!("nz-message"), json!(at));
    put("post /api/v1/messages", later.clone());
    later["id"] = json!("de-message");
    put("post /api/v1/messages", later);
    put("post /api/v1/schedules", json!({ "topic": "t", "runAt": at, "key": "de-schedule" }));
    put("post /api/v1/operations/events", subject("startDate", "participants"));
    put("post /api/v1/operations/tasks", subject("startedAt", "relatedUsers"));
    for (kind, place) in [("event", "events/{id}"), ("task", "tasks/{id}")] {
        let rule = json!({ "type": "relative", "anchor": "start", "offset": "-24h" });
        put(
            "post /api/v1/operations/rules",
            json!({ "subjectType": kind, "subjectId": of(place), "rule": rule }),
        );
    }
    put("post /api/v1/operations/feeds", json!({ "organisation": "de-org" }));
    put("post /api/v1/operations/feeds", json!({ "person": "de-person" }));
    for body in [lookup, count, listed] {
        for what in [
            "post /api/v1/reminder-settings",
            "post /api/v1/reminder-settings/plan",
            "put /api/v1/reminder-settings/{id}",
            "post /api/v1/reminder-settings/{id}/plan",
        ] {
            put(what, body.clone());
        }
    }
    put("post /api/v1/report-subscriptions", report.clone());
    put("put /api/v1/report-subscriptions/{guid}", report);
    put("post /api/v1/report-subscriptions/{guid}/transfer", json!({ "owner": "de-person" }));
    put("post /api/v1/report-runs/{key}/ownership", json!({ "owner": "oldScheduler", "ownerVersion": "1" }));
    put(
        "patch /api/v1/report-runs/{key}/ownership",
        json!({ "owner": "oldScheduler", "status": "cancelled" }),
    );
    put("post /api/v1/sources", json!({ "items": [{ "type": "document", "id": "de-source", "state": {} }] }));
    put("post /api/v1/events", cloud);
    put(
        "post /api/v1/surveys/{id}/campaigns",
        json!({ "triggerId": "csi-gr-trigger", "items": [visit("2")] }),
    );
    put("put /api/v1/surveys/{id}", json!({ "name": "x", "schema": csi_gr() }));
    put("post /api/v1/inbox/read", json!({}));
    for who in [json!({ "address": address() }), json!({ "person": "de-person" })] {
        put("post /api/v1/erasures", who.clone());
        put("post /api/v1/personal-data/export", who);
    }
    let items = json!([{ "id": "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6099", "list": "de-list", "subject": "S", "body": "B" }]);
    put("post /api/v1/sites/{site}/notifications", json!({ "items": items }));
    bodies
}

/// Queries that name what the other unit has, by operation.
fn queries(what: &str, places: &Places) -> Vec<String> {
    let of = |name: &str| places[name].0.clone();
    match what {
        "get /api/v1/search" => {
            vec![format!("q={WORD}"), "q=de-source".into(), "q=de-message".into(), "q=de-person".into()]
        }
        "get /api/v1/why" => vec!["sourceType=document&sourceId=de-source&date=2026-06-20".into()],
        "get /api/v1/forecast" => vec![
            "from=2026-05-20&to=2026-08-01".into(),
            "from=2026-05-20&to=2026-08-01&businessUnit=de".into(),
        ],
        "get /api/v1/operations/rules" => vec![String::new(), format!("subjectId={}", of("events/{id}"))],
        "get /api/v1/operations/events" | "get /api/v1/operations/tasks" => {
            vec![String::new(), "from=2026-06-01T00:00:00Z&to=2026-07-01T00:00:00Z".into()]
        }
        "get /api/v1/notifications" => vec![String::new(), "list=de-list".into(), format!("q={WORD}")],
        "get /api/v1/work" => vec![String::new(), "sourceType=document&sourceId=de-source".into()],
        "post /api/v1/operations/import" => vec!["creator=de-person&organisation=de-org".into()],
        _ => vec![String::new()],
    }
}

/// The path with the places of the other unit, or of nobody.
fn filled(path: &str, places: &Places, of_nobody: bool) -> String {
    let segments: Vec<&str> = path.split('/').collect();
    let mut filled = Vec::new();
    for (at, segment) in segments.iter().enumerate() {
        if !segment.starts_with('{') {
            filled.push((*segment).to_owned());
            continue;
        }
        let name = format!("{}/{segment}", segments[at - 1]);
        let place = places.get(name.as_str());
        let (one, nobody) =
            place.unwrap_or_else(|| panic!("the matrix knows no `{name}` for {path}: add one"));
        filled.push(if of_nobody { nobody.clone() } else { one.clone() });
    }
    filled.join("/")
}

struct Operation {
    method: String,
    path: String,
    reach: String,
    example: Option<Value>,
    media: Option<String>,
}

/// Every operation of the document.
fn operations() -> Vec<Operation> {
    let document = serde_json::to_value(punctual_api::document()).unwrap();
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let content = operation["requestBody"]["content"].as_object();
            let media = content.and_then(|content| content.keys().next_back().cloned());
            let example =
                content.and_then(|content| content.values().find_map(|one| one.get("example").cloned()));
            let reach = operation["x-reach"].as_str().unwrap().to_owned();
            found.push(Operation { method: method.clone(), path: path.clone(), reach, example, media });
        }
    }
    found
}

async fn sent(client: &Client, operation: &Operation, path: &str, body: Option<&Value>) -> Reply {
    let method: Method = operation.method.to_uppercase().parse().unwrap();
    if operation.media.as_deref() == Some("text/calendar") {
        let calendar = format!(
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:nz-1\r\nDTSTART:20260801T060000Z\r\nSUMMARY:T\r\nORGANIZER:mailto:{}\r\nATTENDEE:mailto:{}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
            address(),
            address()
        );
        return client.send(method, path, &[("content-type", "text/calendar")], calendar).await;
    }
    client.call(method, path, body.cloned()).await
}

/// An answer without what differs by nature.
fn comparable(reply: &Reply, places: &Places) -> (u16, String) {
    let mut body = reply.body.clone();
    if let Some(object) = body.as_object_mut() {
        object.remove("requestId");
    }
    let mut text = body.to_string();
    // Ids stand between backticks in messages; what is long enough may stand anywhere.
    text = text.replace("no-such", "ID").replace("business-unit/de`", "business-unit/ID`");
    for (one, nobody) in places.values() {
        for id in [one, nobody].map(|id| id.replace("%2F", "/")) {
            text = text.replace(&format!("`{id}`"), "`ID`");
            if id.len() > 6 {
                text = text.replace(&id, "ID");
            }
        }
    }
    (reply.status, text)
}

/// What is put under a name of one's own choice is there or not: a name that is taken cannot look as one that is free. Of a
/// type of sources there are one's own. The rest answers without looking at what its path names.
fn may_differ(operation: &Operation) -> bool {
    operation.method == "put" || operation.reach != "units" || operation.path == "/api/v1/sources/{type}"
}

/// Of the installation, and other than it was for reasons that are no fault: what units have is counted and listed in it, and who
/// called when.
const SEEN_OTHERWISE: &[&str] = &[
    "/api/v1/definitions",
    "/api/v1/keys",
    "/api/v1/nodes",
    "/api/v1/notifications/kpis",
    "/api/v1/sandbox/sent",
    "/api/v1/sites",
    "/api/v1/sites/{site}",
    "/api/v1/sites/{site}/events",
    "/api/v1/channels",
    "/api/v1/channels/{key}",
    "/api/v1/channels/{key}/health",
    "/api/v1/users",
    "/metrics",
];

/// What the other unit sees of itself, and somebody without a limit of the installation.
async fn everything_seen(
    theirs: &Client,
    client: &Client,
    operations: &[Operation],
    places: &Places,
) -> BTreeMap<String, String> {
    let mut seen = BTreeMap::new();
    for operation in operations.iter().filter(|one| one.method == "get") {
        let caller = match &*operation.reach {
            "units" => theirs,
            "installation" | "shared" => client,
            _ => continue,
        };
        if SEEN_OTHERWISE.contains(&operation.path.as_str()) {
            continue;
        }
        let segments: Vec<&str> = operation.path.split('/').collect();
        let known = |at: usize| {
            !segments[at].starts_with('{')
                || places.contains_key(format!("{}/{}", segments[at - 1], segments[at]).as_str())
        };
        // What the matrix has none of cannot be changed by name either.
        if !(0..segments.len()).all(known) {
            continue;
        }
        let what = format!("get {}", operation.path);
        for query in queries(&what, places) {
            let path = format!("{}?{query}", filled(&operation.path, places, false));
            let reply = caller.get(path.trim_end_matches('?')).await;
            seen.insert(format!("{what}?{query}"), comparable(&reply, places).1);
        }
    }
    assert!(seen.len() > 60, "{}", seen.len());
    seen
}

/// What is taken whatever it names: names are looked up when the time has come.
const ACCEPTED: &[&str] = &[
    "post /api/v1/notifications",
    "post /api/v1/messages",
    "post /api/v1/operations/events",
    "post /api/v1/operations/tasks",
    "post /api/v1/operations/import",
    "post /api/v1/reminder-settings",
    "post /api/v1/report-subscriptions",
];

/// The same body with names of nobody, where it names something and makes nothing under a name that is taken.
fn twin(what: &str, body: &Value, places: &Places) -> Option<Value> {
    let text = body.to_string();
    let is_taken = ["de-message", "de-schedule"].iter().any(|name| text.contains(name));
    if is_taken
        || what.contains('{')
        || matches!(what, "post /api/v1/sources" | "post /api/v1/events")
        || what.contains("/sites/")
    {
        return None;
    }
    let mut other = text.replace("nz-message", "nz-twin");
    for name in ["de-list", "de-person", "de-org", "de-source"] {
        other = other.replace(name, "no-such");
    }
    for place in ["events/{id}", "tasks/{id}", "blobs/{id}"] {
        let (one, nobody) = &places[place];
        other = other.replace(one.as_str(), nobody);
    }
    (other != text).then(|| serde_json::from_str(&other).unwrap())
}

/// The lines of ours that hold the word.
fn logged() -> Vec<String> {
    let text = punctual_testkit::log::text();
    assert!(text.lines().any(|line| line.contains("punctual")), "nothing was logged: {text}");
    // The sender's own line names the recipient: whoever moves from the old system reads it. Only operators see logs.
    let is_leak = |line: &&str| line.contains(WORD) && !line.contains("notifications.sender.");
    text.lines().filter(is_leak).map(|line| format!("log: {line}")).collect()
}

async fn t11_no_answer_shows_one_unit_another(bed: TestBed) {
    // The database's driver logs statements with their values at its lowest level, which nobody runs.
    punctual_testkit::log::widen("debug,punctual=trace");
    let client = Client::new(&bed).await;
    let places = everything_of_de(&bed, &client).await;
    // The invitation of the other unit's person among it, which is in no outbox.
    let sent_before = bed.sent().len();
    let bodies = bodies(&places);
    let mut callers = Vec::new();
    for scope in Scope::ALL.iter().filter(|scope| **scope != Scope::Site).map(|scope| scope.as_str()) {
        callers.push((scope, client.new_key(&[scope], Some(&["nz"])).await));
    }
    let all = client.new_key(&["read", "author", "operate", "ingest"], Some(&["nz"])).await;
    callers.push(("all", all.clone()));
    let plant = site(&client, "plant-nz").await;
    client.patch("/api/v1/sites/plant-nz", json!({ "businessUnit": "nz" })).await.expect(200);
    callers.push(("site", plant));
    // Sources of its own that point at the other unit's.
    let state = json!({ "kind": "first-aid", "expiresOn": "2026-07-20", "ownerId": "de-source" });
    put_source(&all, "document/nz-1", json!({ "state": state })).await;
    put_source(&all, "class/nz-1", json!({ "state": {} })).await;

    let operations = operations();
    let theirs = client.new_key(&["admin"], Some(&["de"])).await;
    let before = everything_seen(&theirs, &client, &operations, &places).await;
    let mut used = BTreeSet::new();
    let (mut leaks, mut accepted) = (Vec::new(), BTreeSet::new());
    // Routes that are for callers without a limit refuse all of these (`units.rs` has them one by one).
    let limited = |one: &&Operation| !matches!(&*one.reach, "public" | "installation");
    for operation in operations.iter().filter(limited) {
        let what = format!("{} {}", operation.method, operation.path);
        let has_body = operation.media.is_some();
        let sent_bodies = match bodies.get(&what) {
            Some(bodies) => bodies.iter().cloned().map(Some).collect(),
            None => vec![has_body.then(|| operation.example.clone().unwrap_or(json!({})))],
        };
        used.insert(what.clone());
        for (kind, caller) in &callers {
            for query in queries(&what, &places) {
                for (body, of_unit) in sent_bodies.iter().flat_map(|body| [(body, false), (body, true)]) {
                    if of_unit && !operation.path.contains("{scope}") {
                        continue;
                    }
                    let with = |path: String| if query.is_empty() { path } else { format!("{path}?{query}") };
                    let rolled = |path: String, unit: &str| match of_unit {
                        true => operation.path.replace("{scope}", "business-unit").replace("{id}", unit),
                        false => path,
                    };
                    let path = with(rolled(filled(&operation.path, &places, false), "de"));
                    let reply = sent(caller, operation, &path, body.as_ref()).await;
                    assert!(reply.status < 500, "{what} with {kind}: {}", reply.text);
                    if reply.text.contains(WORD) {
                        leaks.push(format!("{what} with {kind}: {}", reply.text));
                    }
                    if *kind == "all" && reply.status < 300 {
                        accepted.insert(what.clone());
                    }
                    if let Some(twin) = body.as_ref().and_then(|body| twin(&what, body, &places)) {
                        let other = sent(caller, operation, &path, Some(&twin)).await;
                        let same = match reply.status {
                            ..300 => other.status == reply.status,
                            _ => comparable(&reply, &places) == comparable(&other, &places),
                        };
                        if !same {
                            let (one, other) = (comparable(&reply, &places), comparable(&other, &places));
                            leaks.push(format!(
                                "{what} by {body:?} with {kind} differs: {one:?} and {other:?}"
                            ));
                        }
                    } else if operation.path.contains('{') && !may_differ(operation) {
                        let nobody = with(rolled(filled(&operation.path, &places, true), "no-such"));
                        let other = sent(caller, operation, &nobody, body.as_ref()).await;
                        let (one, other) = (comparable(&reply, &places), comparable(&other, &places));
                        if one != other {
                            leaks.push(format!("{what} with {kind} differs: {one:?} and {other:?}"));
                        }
                    }
                }
            }
        }
    }
    for what in ACCEPTED {
        assert!(accepted.contains(*what), "{what} was not taken, so that nothing came of its references");
    }
    let unused: Vec<&String> = bodies.keys().filter(|what| !used.contains(*what)).collect();
    assert!(unused.is_empty(), "these bodies are of no operation: {unused:?}");
    leaks.extend(console::leaks(&bed, &client, &all, &places).await);
    // Nothing of the other unit has changed, and nothing of the installation.
    for (what, (one, other)) in everything_seen(&theirs, &client, &operations, &places)
        .await
        .iter()
        .map(|(what, after)| (what, (&before[what], after)))
    {
        if one != other {
            leaks.push(format!("{what} has changed:\n  {one}\n  {other}"));
        }
    }
    // What was made of those references comes to nothing either.
    client.advance("70d").await;
    let read = |one: &&Operation| one.method == "get" && !matches!(&*one.reach, "public" | "installation");
    for operation in operations.iter().filter(read) {
        let what = format!("get {}", operation.path);
        for query in queries(&what, &places) {
            let path = format!("{}?{query}", filled(&operation.path, &places, false));
            let reply = all.get(path.trim_end_matches('?')).await;
            if reply.text.contains(WORD) {
                leaks.push(format!("{what} at the end: {}", reply.text));
            }
        }
    }
    let figures = client.get("/metrics").await;
    if figures.text.contains(WORD) {
        leaks.push(format!("metrics: {}", figures.text));
    }
    leaks.extend(logged());
    // What the other unit sends itself may hold it, and so may events for the installation's subscribers.
    for sent in
        bed.sent().into_iter().skip(sent_before).filter(|sent| !sent.channel.as_str().starts_with("event."))
    {
        let text = format!("{sent:?}");
        if !text.contains(WORD) {
            continue;
        }
        let row = client.get(&format!("/api/v1/notifications/{}", sent.notification)).await.expect(200);
        if row["businessUnit"] != "de" {
            leaks.push(format!("sent: {text}"));
        }
    }
    assert!(leaks.is_empty(), "{} answers tell of another unit:\n{}", leaks.len(), leaks.join("\n"));
}

//! Definitions leave one server as files and arrive at another.

use std::{path::Path, process::Command};

use punctual_wire::definitions::DefinitionKind;
use serde_json::{Value, json};

use crate::server::{KEY, Place, Server, binary};

/// Runs a command against a server; its exit code and what it printed.
fn punctual(server: &Server, args: &[&str]) -> (i32, String, String) {
    let done =
        Command::new(binary()).args(args).args(["--server", &server.address, "--key", KEY]).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (done.status.code().unwrap(), text(done.stdout), text(done.stderr))
}

/// Every file below a folder with what it says.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
        }
    }
    found.sort();
    found
}

fn below(folder: &Path) -> Vec<(String, String)> {
    let prefix = folder.display().to_string();
    files(folder).into_iter().map(|(path, text)| (path.replace(&prefix, ""), text)).collect()
}

/// One definition of each kind at least.
async fn define(server: &Server) {
    server.put("/api/v1/business-units/nz", &json!({ "name": "NZ", "timeZone": "Pacific/Auckland" })).await;
    server.put("/api/v1/lists/ops", &json!({ "type": "email", "targets": ["a@example.org"] })).await;
    let settings = json!({ "host": "127.0.0.1", "port": 25, "tls": "none", "from": "a@b.example", "username": "u",
        "password": "env:SMTP" });
    server.put("/api/v1/channels/email:default", &json!({ "adapter": "smtp", "settings": settings })).await;
    let variants = json!({ "en": { "subject": "Hi {{ name }}", "body": "Dear {{ name }},\n\nno.\n" } });
    server.put("/api/v1/templates/hello", &json!({ "defaultLocale": "en", "variants": variants })).await;
    server.put("/api/v1/reminder-settings/first-aid", &reminder()).await;
    let subscriber = json!({ "adapter": "memory", "events": ["response-completed", "operations.*"],
            "filter": { "questionId": "rate", "op": "<", "value": 3 } });
    server.put("/api/v1/subscribers/memory:bi", &subscriber).await;
    let settings = json!({ "url": "tls://nats.example.com", "stream": "ORDERS", "deadLetterSubject": "orders.refused",
        "username": "punctual", "password": "env:NATS" });
    let consumer = json!({ "adapter": "nats", "settings": settings, "active": false });
    server.put("/api/v1/consumers/nats:orders", &consumer).await;
    // A secret that is given itself is exported as a word that says that it is set.
    let hook =
        json!({ "url": "https://hooks.example.org/in", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" });
    server.put("/api/v1/channels/webhook:hook", &json!({ "adapter": "webhook", "settings": hook })).await;
    let policy = json!({ "dailyCap": 5, "topics": [{ "name": "offers", "title": "Offers" }] });
    server.put("/api/v1/delivery-policy", &policy).await;
    let rule =
        json!({ "rule": { "type": "relative", "anchor": "start", "offset": "-24h" }, "channels": ["email"] });
    let choir = json!({ "name": "Choir", "timeZone": "Europe/Berlin", "allDayAt": "09:00", "rules": [rule] });
    server.put("/api/v1/operations/organisations/choir", &choir).await;
    server.put("/api/v1/operations/people/ann", &json!({ "name": "Ann", "email": "ann@example.org" })).await;
    let report = json!({ "name": "Weekly", "cadence": { "cron": "0 8 * * MON", "timeZone": "Europe/Berlin" },
        "report": { "source": { "builtin": "delivery-kpis" }, "format": ["html", "csv"] },
        "recipients": { "list": "ops" }, "channel": "email:default" });
    let guid = "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071";
    server.put(&format!("/api/v1/report-subscriptions/{guid}"), &report).await;
    let question = json!({ "id": "rate", "type": "rating", "text": { "en": "Rate" }, "min": 0, "max": 10 });
    let schema = json!({ "title": { "en": "How was it?" }, "questions": [question],
        "triggers": [{ "id": "after-visit", "eventKind": "visit", "channel": "email:default" }] });
    let survey = json!({ "name": "Visit", "integrationId": "csi", "schema": schema });
    let (status, made) = server.post("/api/v1/surveys", &survey).await.unwrap();
    assert_eq!(status, 201, "{made}");
    let (status, made) = server.post("/api/v1/sites", &json!({ "id": "plant-7" })).await.unwrap();
    assert_eq!(status, 201, "{made}");
}

/// Reads every exported file as an editor does: with the schema that stands beside it.
const VALIDATE: &str = r#"
import json, pathlib, sys
import jsonschema, yaml

root, read = pathlib.Path(sys.argv[1]), {".yaml": yaml.safe_load, ".json": json.loads}
for file in sorted(root.rglob("*")):
    if file.suffix in read and ".schema" not in file.parts:
        schema = json.loads((root / ".schema" / f"{file.parent.name}.json").read_text())
        checker = jsonschema.validators.validator_for(schema)
        checker.check_schema(schema)
        for fault in checker(schema).iter_errors(read[file.suffix](file.read_text())):
            print(f"{file.relative_to(root)} {fault.json_path}: {fault.message}")
"#;

/// What a checker of JSON Schema finds wrong with exported files.
fn schema_faults(folder: &Path) -> Vec<String> {
    let python = std::env::var("PUNCTUAL_TEST_PYTHON").expect("`cargo xtask test` sets PUNCTUAL_TEST_PYTHON");
    let done = Command::new(python).args(["-c", VALIDATE]).arg(folder).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_schemas_for_editors_take_what_an_export_writes_and_nothing_misspelt() {
    let place = Place::sqlite();
    let server = place.start(&[]);
    define(&server).await;
    for format in ["yaml", "json"] {
        let folder = place.folder().join(format);
        punctual(&server, &["export", folder.to_str().unwrap(), "--format", format]);
        for kind in DefinitionKind::ALL {
            let files = std::fs::read_dir(folder.join(kind.name())).map_or(0, Iterator::count);
            assert!(files > 0, "no sample of {} was exported", kind.name());
        }
        assert_eq!(schema_faults(&folder), [""; 0]);
    }
    let folder = place.folder().join("json");
    let change = |file: &str, pointer: &str, name: &str| {
        let file = folder.join(file);
        let mut one: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        one.pointer_mut(pointer).unwrap()[name] = json!("x");
        std::fs::write(&file, one.to_string()).unwrap();
    };
    change("lists/ops.json", "", "target");
    // The settings of an adapter that is known are exactly its own.
    change("channels/email%3Adefault.json", "/settings", "hots");
    change("consumers/nats%3Aorders.json", "/settings", "streem");
    let found = schema_faults(&folder);
    assert_eq!(found.len(), 3, "{found:#?}");
    for (fault, word) in found.iter().zip(["hots", "streem", "target"]) {
        assert!(fault.contains(word), "{fault}");
    }
}

fn reminder() -> Value {
    json!({ "name": "First aid", "businessUnit": "nz", "sourceType": "document", "triggerKey": "expiry",
        "kind": "dateBased", "date": { "field": "/expiresOn", "offsetsDays": [30, 7] }, "recipients": { "list": "ops" },
        "delivery": { "template": "hello" }, "maxLateness": "2d" })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn definitions_are_exported_compared_and_imported() {
    let (here, there) = (Place::sqlite(), Place::sqlite());
    let first = here.start(&[]);
    define(&first).await;
    let folder = here.folder().join("definitions");
    let dir = folder.to_str().unwrap();
    let (code, reported, fault) = punctual(&first, &["export", dir]);
    assert_eq!(code, 0, "{fault}");
    assert!(reported.contains("1 lists") && reported.contains("1 reminder-settings"), "{reported}");
    let template = std::fs::read_to_string(folder.join("templates/hello.yaml")).unwrap();
    assert_eq!(
        template,
        "# yaml-language-server: $schema=../.schema/templates.json\ndefaultLocale: en\nvariants:\n  en:\n    body: |\n      \
         Dear {{ name }},\n\n      no.\n    subject: \"Hi {{ name }}\"\n"
    );
    let channel = std::fs::read_to_string(folder.join("channels/email%3Adefault.yaml")).unwrap();
    assert!(channel.contains("password: env:SMTP"), "{channel}");
    assert_eq!(punctual(&first, &["diff", dir]).0, 0);

    // A secret that was given itself does not leave its server: without it the channel cannot arrive elsewhere.
    let hook = folder.join("channels/webhook%3Ahook.yaml");
    let second = there.start(&[]);
    let (code, _, fault) = punctual(&second, &["import", dir, "--plan"]);
    assert!(code != 0 && fault.contains("channels/webhook%3Ahook.yaml: /settings/secret: "), "{fault}");
    std::fs::remove_file(hook).unwrap();
    let kept = files(&folder).iter().filter(|(path, _)| !path.contains(".schema")).count();
    for kind in DefinitionKind::ALL {
        assert!(folder.join(kind.name()).is_dir(), "no sample of {}", kind.name());
    }
    let (code, reported, _) = punctual(&second, &["diff", dir]);
    assert!(code == 1 && reported.contains("lists/ops: only in "), "{reported}");
    let (_, plan, _) = punctual(&second, &["import", dir, "--plan", "--json"]);
    let plan: Value = serde_json::from_str(&plan).unwrap();
    assert!(plan["applied"] == false && plan["changes"].as_array().unwrap().len() == kept, "{plan}");
    assert_eq!(second.get("/api/v1/lists/ops").await.0, 404, "a plan changes nothing");
    let (code, reported, fault) = punctual(&second, &["import", dir]);
    assert!(
        code == 0
            && reported.contains("create lists/ops")
            && reported.ends_with(&format!("{kept} changed, 0 unchanged\n")),
        "{reported}{fault}"
    );
    assert_eq!(punctual(&second, &["diff", dir]).0, 0);
    let again = there.folder().join("again");
    punctual(&second, &["export", again.to_str().unwrap()]);
    assert_eq!(below(&again), below(&folder), "byte for byte");
    // JSON says the same.
    let json = there.folder().join("json");
    punctual(&second, &["export", json.to_str().unwrap(), "--format", "json"]);
    assert_eq!(punctual(&second, &["diff", json.to_str().unwrap()]).0, 0);
    // It works there as it did here: a source that is put is planned.
    let state = json!({ "businessUnit": "nz", "state": { "expiresOn": "2030-05-14" } });
    second.put("/api/v1/sources/document/1", &state).await;
    let (_, planned) = second.get("/api/v1/work?kind=reminder").await;
    assert_eq!(planned["items"].as_array().unwrap().len(), 2, "{planned}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_difference_is_shown_by_field_and_a_fault_by_file() {
    let place = Place::sqlite();
    let server = place.start(&[]);
    define(&server).await;
    let folder = place.folder().join("definitions");
    let dir = folder.to_str().unwrap();
    punctual(&server, &["export", dir]);
    let list = folder.join("lists/ops.yaml");
    std::fs::write(&list, "type: email\ntargets: [b@example.org]\n").unwrap();
    let (code, reported, _) = punctual(&server, &["diff", dir]);
    assert!(
        code == 1 && reported.contains("/targets/0: \"a@example.org\" -> \"b@example.org\""),
        "{reported}"
    );
    assert_eq!(punctual(&server, &["import", dir]).0, 0);
    assert_eq!(punctual(&server, &["diff", dir]).0, 0, "defaults are no difference");

    std::fs::write(&list, "type: email\ntargets: [b@example.org, x]\n").unwrap();
    std::fs::write(folder.join("templates/new.json"), "{\"defaultLocale\": \"en\", \"variants\": {}}")
        .unwrap();
    for command in [&["import", dir, "--plan"][..], &["import", dir], &["diff", dir]] {
        let (code, _, fault) = punctual(&server, command);
        assert_ne!(code, 0);
        assert!(
            fault.contains("lists/ops.yaml: /targets/1: ")
                && fault.contains("templates/new.json: /variants: "),
            "{fault}"
        );
    }
    assert_eq!(punctual(&server, &["diff", dir]).0, 2);
    assert_eq!(server.get("/api/v1/templates/new").await.0, 404, "nothing was changed");
    std::fs::write(&list, "type: email\ntype: sms\n").unwrap();
    let (_, _, fault) = punctual(&server, &["import", dir]);
    assert!(fault.contains("lists/ops.yaml") && fault.contains("duplicate"), "{fault}");
    std::fs::remove_file(folder.join("templates/new.json")).unwrap();
    std::fs::remove_file(&list).unwrap();
    let (code, reported, _) = punctual(&server, &["import", dir]);
    assert!(code == 0 && reported.starts_with("0 changed"), "nothing is removed: {reported}");
    let (_, reported, _) = punctual(&server, &["import", dir, "--prune"]);
    assert!(reported.contains("delete lists/ops"), "{reported}");
    assert_eq!(server.get("/api/v1/lists/ops").await.0, 404);
}

#[test]
fn a_schema_is_printed_for_editors() {
    let done = Command::new(binary()).args(["schema", "lists"]).output().unwrap();
    let schema: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(schema["properties"]["targets"]["type"], "array", "{schema}");
    assert!(!Command::new(binary()).args(["schema", "none"]).output().unwrap().status.success());
}

//! Definitions leave one server as files and arrive at another.

use std::{path::Path, process::Command};

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

async fn define(server: &Server) {
    server.put("/api/v1/business-units/nz", &json!({ "name": "NZ", "timeZone": "Pacific/Auckland" })).await;
    server.put("/api/v1/lists/ops", &json!({ "type": "email", "targets": ["a@example.org"] })).await;
    let settings = json!({ "host": "127.0.0.1", "port": 25, "tls": "none", "from": "a@b.example", "username": "u",
        "password": "env:SMTP" });
    server.put("/api/v1/channels/email:default", &json!({ "adapter": "smtp", "settings": settings })).await;
    let variants = json!({ "en": { "subject": "Hi {{ name }}", "body": "Dear {{ name }},\n\nno.\n" } });
    server.put("/api/v1/templates/hello", &json!({ "defaultLocale": "en", "variants": variants })).await;
    server.put("/api/v1/reminder-settings/first-aid", &reminder()).await;
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
    let (code, told, fault) = punctual(&first, &["export", dir]);
    assert_eq!(code, 0, "{fault}");
    assert!(told.contains("1 lists") && told.contains("1 reminder-settings"), "{told}");
    let template = std::fs::read_to_string(folder.join("templates/hello.yaml")).unwrap();
    assert_eq!(
        template,
        "# yaml-language-server: $schema=../.schema/templates.json\ndefaultLocale: en\nvariants:\n  en:\n    body: |\n      \
         Dear {{ name }},\n\n      no.\n    subject: \"Hi {{ name }}\"\n"
    );
    let channel = std::fs::read_to_string(folder.join("channels/email%3Adefault.yaml")).unwrap();
    assert!(channel.contains("password: env:SMTP"), "{channel}");
    assert_eq!(punctual(&first, &["diff", dir]).0, 0);

    let second = there.start(&[]);
    let (code, told, _) = punctual(&second, &["diff", dir]);
    assert!(code == 1 && told.contains("lists/ops: only in "), "{told}");
    let (_, plan, _) = punctual(&second, &["import", dir, "--plan", "--json"]);
    let plan: Value = serde_json::from_str(&plan).unwrap();
    assert!(plan["applied"] == false && plan["changes"].as_array().unwrap().len() == 5, "{plan}");
    assert_eq!(second.get("/api/v1/lists/ops").await.0, 404, "a plan changes nothing");
    let (code, told, fault) = punctual(&second, &["import", dir]);
    assert!(
        code == 0 && told.contains("create lists/ops") && told.ends_with("5 changed, 0 unchanged\n"),
        "{told}{fault}"
    );
    assert_eq!(punctual(&second, &["diff", dir]).0, 0);
    let again = there.folder().join("again");
    punctual(&second, &["export", again.to_str().unwrap()]);
    assert_eq!(below(&again), below(&folder), "byte for byte");
    // JSON says the same.
    let json = there.folder().join("json");
    punctual(&second, &["export", json.to_str().unwrap(), "--format", "json"]);
    assert_eq!(punctual(&second, &["diff", json.to_str().unwrap()]).0, 0);
    // It works there as it did here: a source that is told is planned.
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
    let (code, told, _) = punctual(&server, &["diff", dir]);
    assert!(code == 1 && told.contains("/targets/0: \"a@example.org\" -> \"b@example.org\""), "{told}");
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
    let (code, told, _) = punctual(&server, &["import", dir]);
    assert!(code == 0 && told.starts_with("0 changed"), "nothing is removed: {told}");
    let (_, told, _) = punctual(&server, &["import", dir, "--prune"]);
    assert!(told.contains("delete lists/ops"), "{told}");
    assert_eq!(server.get("/api/v1/lists/ops").await.0, 404);
}

#[test]
fn a_schema_is_printed_for_editors() {
    let done = Command::new(binary()).args(["schema", "lists"]).output().unwrap();
    let schema: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(schema["properties"]["targets"]["type"], "array", "{schema}");
    assert!(!Command::new(binary()).args(["schema", "none"]).output().unwrap().status.success());
}

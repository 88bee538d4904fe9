//! Definitions leave one server as files and arrive at another.

use std::process::Command;

use serde_json::{Value, json};

use crate::server::{KEY, Place, Server, binary};

fn punctual(server: &Server, args: &[&str]) -> (bool, String, String) {
    let done =
        Command::new(binary()).args(args).args(["--server", &server.address, "--key", KEY]).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (done.status.success(), text(done.stdout), text(done.stderr))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn definitions_are_exported_planned_and_imported() {
    let (here, there) = (Place::sqlite(), Place::sqlite());
    let first = here.start(&[]);
    first.put("/api/v1/business-units/nz", &json!({ "name": "NZ", "timeZone": "Pacific/Auckland" })).await;
    first.put("/api/v1/lists/ops", &json!({ "type": "email", "targets": ["a@example.org"] })).await;
    let settings = json!({ "host": "127.0.0.1", "port": 25, "tls": "none", "from": "a@b.example", "username": "u", "password": "canary-1" });
    first.put("/api/v1/channels/email:default", &json!({ "adapter": "smtp", "settings": settings })).await;
    let variants = json!({ "en": { "subject": "Hi {{ name }}", "body": "B" } });
    first.put("/api/v1/templates/hello", &json!({ "defaultLocale": "en", "variants": variants })).await;
    let reminder = json!({ "name": "First aid", "businessUnit": "nz", "sourceType": "document", "triggerKey": "expiry",
        "kind": "dateBased", "date": { "field": "/expiresOn", "offsetsDays": [30, 7] }, "recipients": { "list": "ops" },
        "delivery": { "template": "hello" }, "maxLateness": "2d" });
    first.put("/api/v1/reminder-settings/first-aid", &reminder).await;

    let folder = here.folder().join("definitions");
    let folder = folder.to_str().unwrap();
    let (ok, told, fault) = punctual(&first, &["export", folder]);
    assert!(ok, "{fault}");
    assert!(
        told.contains("1 lists") && told.contains("1 templates") && told.contains("1 reminder-settings"),
        "{told}"
    );
    let channel = std::fs::read_to_string(format!("{folder}/channels/email%3Adefault.json")).unwrap();
    assert!(channel.contains("127.0.0.1") && !channel.contains("canary-1"), "{channel}");

    let second = there.start(&[]);
    let (ok, plan, _) = punctual(&second, &["import", folder, "--plan", "--json"]);
    let plan: Value = serde_json::from_str(&plan).unwrap();
    let created =
        |of: &Value| of["items"].as_array().unwrap().iter().filter(|i| i["outcome"] == "create").count();
    assert!(ok && created(&plan) >= 3, "{plan}");
    assert_eq!(second.get("/api/v1/lists/ops").await.0, 404, "a plan changes nothing");

    // The secret did not come along, and the server says which one is missing.
    let (ok, _, fault) = punctual(&second, &["import", folder]);
    assert!(
        !ok && fault.contains("channels/email:default was refused") && fault.contains("password"),
        "{fault}"
    );
    let with_secret =
        channel.replace("\"username\": \"u\"", "\"username\": \"u\", \"password\": \"canary-2\"");
    std::fs::write(format!("{folder}/channels/email%3Adefault.json"), with_secret).unwrap();
    let (ok, told, fault) = punctual(&second, &["import", folder]);
    assert!(ok, "{fault}");
    assert!(told.contains("create") && told.contains("lists/ops"), "{told}");
    assert_eq!(second.get("/api/v1/business-units/nz").await.1["timeZone"], "Pacific/Auckland");
    let (_, setting) = second.get("/api/v1/reminder-settings/first-aid").await;
    for (name, value) in reminder.as_object().unwrap() {
        assert_eq!(&setting[name], value, "{name}");
    }
    // It works there as it did here: a source that is told is planned.
    let state = json!({ "businessUnit": "nz", "state": { "expiresOn": "2030-05-14" } });
    second.put("/api/v1/sources/document/1", &state).await;
    let (_, planned) = second.get("/api/v1/work?kind=reminder").await;
    assert_eq!(planned["items"].as_array().unwrap().len(), 2, "{planned}");

    std::fs::write(format!("{folder}/channels/email%3Adefault.json"), channel).unwrap();
    let (ok, told, fault) = punctual(&second, &["import", folder]);
    assert!(ok && told.starts_with("0 changed"), "twice is once: {told} {fault}");
    std::fs::write(format!("{folder}/lists/ops.json"), "[1]").unwrap();
    let (ok, _, fault) = punctual(&second, &["import", folder]);
    assert!(!ok && fault.contains("ops.json is no JSON object"), "{fault}");
}

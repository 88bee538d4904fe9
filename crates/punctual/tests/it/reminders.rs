//! Reminders from the command line: sources from files, and a look at what reconciliation would do.

use std::process::Command;

use serde_json::json;

use crate::server::{KEY, Place, Server, binary};

fn run(server: &Server, args: &[&str]) -> (Option<i32>, String, String) {
    let done = Command::new(binary())
        .args(args)
        .env("PUNCTUAL_SERVER", &server.address)
        .env("PUNCTUAL_KEY", KEY)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (done.status.code(), text(&done.stdout), text(&done.stderr))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sources_come_from_files_and_become_reminders() {
    let place = Place::sqlite();
    let server = place.start(&["--sandbox"]);
    let setting = json!({ "name": "Expiry", "sourceType": "document", "triggerKey": "expiry", "kind": "dateBased",
        "date": { "field": "/expiresOn", "offsetsDays": [30, 7] }, "recipients": { "field": "/email" }, "delivery": {} });
    server.post("/api/v1/reminder-settings", &setting).await.unwrap();
    let file = |name: &str, text: &str| {
        let path = place.folder().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let csv = file("documents.csv", "id,expiresOn,email\n1,2096-05-14,a@b.example\n2,2096-05-14,\n");
    let (code, said, fault) = run(&server, &["sources", "import", &csv, "--type", "document", "--json"]);
    assert_eq!(code, Some(0), "{fault}");
    assert_eq!(said.trim(), json!({ "accepted": 2, "stale": 0, "rejected": 0 }).to_string());
    let lines = "{\"type\":\"document\",\"id\":\"3\",\"state\":{\"expiresOn\":\"2096-05-14\"}}\n\n{\"type\":\"document\"}\n";
    let (code, said, fault) = run(&server, &["sources", "import", &file("more.ndjson", lines)]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.starts_with("1 accepted") && fault.contains("line 3:"), "{said} {fault}");
    let (_, work) = server.get("/api/v1/work?kind=reminder").await;
    assert_eq!(work["items"].as_array().unwrap().len(), 6, "{work}");
    let (code, said, _) = run(&server, &["reconcile", "--provider", "dateBased", "--dry-run"]);
    assert_eq!(code, Some(0));
    assert!(
        said.contains("3 sources changed") && said.contains("create 0, move 0 and deactivate 0"),
        "{said}"
    );
    let (code, _, fault) = run(&server, &["reconcile", "--provider", "none", "--dry-run"]);
    assert!(code == Some(1) && fault.contains("not_found"), "{fault}");
    let (code, _, fault) = run(&server, &["sources", "import", "nothing.xml"]);
    assert!(code == Some(1) && fault.contains("nothing.xml"), "{fault}");
}

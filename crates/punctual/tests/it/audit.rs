//! `punctual audit`: what was written is verified, and what somebody did to the file is found.

use std::process::{Command, Output};

use punctual_testkit::run_on_sqlite;
use serde_json::{Value, json};

use crate::server::{Place, binary};

fn audit(place: &Place, args: &[&str]) -> Output {
    let folder = place.folder().to_str().unwrap().to_owned();
    Command::new(binary()).arg("audit").args(args).args(["--data-dir", &folder]).output().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_done_is_sealed_verified_erased_and_found_changed() {
    let place = Place::sqlite();
    let server = place.start(&[]);
    server.put("/api/v1/lists/ops", &json!({ "type": "memory", "targets": ["a@example.org"] })).await;
    server.put("/api/v1/suppressions/email/ann@example.org", &json!({})).await;
    let seq = server
        .until("the entries to be sealed", async |server| {
            let (_, page) = server.get("/api/v1/audit?subject=list/ops").await;
            let entry = &page["items"][0];
            entry["digest"].as_str().and(entry["seq"].as_i64())
        })
        .await;
    // One process owns a SQLite file.
    server.kill();
    let done = audit(&place, &["verify"]);
    assert!(done.status.success(), "{done:?}");
    let erased = audit(&place, &["erase", "address/email:ann@example.org", "--reason", "asked", "--json"]);
    assert_eq!(String::from_utf8_lossy(&erased.stdout).trim(), r#"{"erased":1}"#);
    let wrong = audit(&place, &["erase", "ann"]);
    assert!(!wrong.status.success() && String::from_utf8_lossy(&wrong.stderr).contains("a kind and an id"));
    let server = place.start(&[]);
    server
        .until("the erasure to be sealed", async |server| {
            let (_, page) = server.get("/api/v1/audit?action=erase").await;
            page["items"][0]["digest"].as_str().map(drop)
        })
        .await;
    server.kill();
    let done = audit(&place, &["verify", "--json"]);
    let said: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert!(done.status.success() && said["ok"] == true && said["erased"] == 1, "{said}");
    let file = place.folder().join("punctual.sqlite");
    // tidy-allow: what somebody does who has the file
    let change = "UPDATE audit SET actor = 'key:eve' WHERE id = :1".replace(":1", &seq.to_string());
    // tidy-allow: the same
    for statement in ["DROP TRIGGER audit_keeps", &change] {
        run_on_sqlite(file.to_str().unwrap(), statement).unwrap();
    }
    let done = audit(&place, &["verify"]);
    let said = String::from_utf8_lossy(&done.stdout);
    assert_eq!(done.status.code(), Some(1));
    assert!(said.contains(&format!("entry {seq} was changed")), "{said}");
}

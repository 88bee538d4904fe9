//! `punctual doctor` with the real program, beside a running server: what is well, what is not, and what it says to do.

use std::{os::unix::fs::MetadataExt as _, path::Path, process::Command};

use punctual_testkit::postgres::run_on;
use serde_json::{Value, json};

use crate::{
    receiver::Receiver,
    server::{Place, binary},
};

/// What it finds, and whether it ends well.
fn doctor(place: &Place, more: &[&str]) -> (bool, Vec<Value>) {
    doctor_of(place, &place.database_url(), more)
}

fn doctor_of(place: &Place, url: &str, more: &[&str]) -> (bool, Vec<Value>) {
    let mut command = Command::new(binary());
    command.args(["doctor", "--json", "--outgoing-allow", "127.0.0.0/8", "--data-dir"]).arg(place.folder());
    command.args(["--database-url", url]).args(more);
    let output = command.env_remove("PUNCTUAL_CONFIG").current_dir("/").output().unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(said["ok"], output.status.success(), "{said}");
    (output.status.success(), said["findings"].as_array().unwrap().clone())
}

fn about<'f>(findings: &'f [Value], subject: &str) -> &'f Value {
    findings.iter().find(|one| one["subject"] == subject).unwrap_or_else(|| panic!("{subject}: {findings:?}"))
}

fn folder_of_another_disk(place: &Place) -> &'static str {
    let disk = |folder: &Path| std::fs::metadata(folder).map(|about| about.dev()).ok();
    let folders = ["/dev/shm", env!("CARGO_MANIFEST_DIR")];
    let own = disk(place.folder());
    folders.into_iter().find(|folder| disk(Path::new(folder)) != own).expect("two disks")
}

async fn story(place: Place) {
    let receiver = Receiver::start().await;
    let server = place.start(&[]);
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let hook = json!({ "adapter": "webhook", "settings": { "url": receiver.url, "secret": secret } });
    server.put("/api/v1/channels/webhook:trial", &hook).await;
    let (ok, findings) = doctor(&place, &[]);
    assert!(ok, "{findings:?}");
    for subject in [
        "configuration",
        "database",
        "disk",
        "clock of this machine",
        "nodes",
        "master key",
        "queue",
        "retention",
        "channel webhook:trial",
    ] {
        assert_ne!(about(&findings, subject)["severity"], "error", "{findings:?}");
    }
    assert_eq!(about(&findings, "nodes")["severity"], "well", "{findings:?}");
    assert_eq!(receiver.count(), 0, "nothing was sent");

    // A relay that hangs up is no relay, and a port that nobody listens on is not reached.
    let port = receiver.url.rsplit(':').next().unwrap().trim_end_matches("/hook").parse::<u16>().unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for (key, port) in [("email:web", port), ("email:none", free)] {
        let settings = json!({ "host": "127.0.0.1", "port": port, "tls": "none", "from": "a@example.org" });
        server
            .put(&format!("/api/v1/channels/{key}"), &json!({ "adapter": "smtp", "settings": settings }))
            .await;
    }
    let (ok, findings) = doctor(&place, &[]);
    assert!(!ok);
    let none = about(&findings, "channel email:none");
    assert!(
        none["severity"] == "error" && none["what"].as_str().unwrap().contains("no connection to"),
        "{none}"
    );
    assert!(none["repair"].as_str().unwrap().contains("firewall"), "{none}");
    assert_eq!(about(&findings, "channel email:web")["severity"], "error");
    let subscriber = json!({ "adapter": "webhook", "settings": { "url": format!("http://127.0.0.1:{free}/"), "secret": secret },
        "events": ["message.sent"] });
    server.put("/api/v1/subscribers/webhook:gone", &subscriber).await;
    assert_eq!(about(&doctor(&place, &[]).1, "subscriber webhook:gone")["severity"], "error");
    let elsewhere = doctor(&place, &["--blobs", folder_of_another_disk(&place), "--without-channels"]).1;
    assert!(elsewhere.iter().any(|one| one["subject"] == "disk of files"), "another disk: {elsewhere:?}");
    assert!(doctor(&place, &["--without-channels"]).0);

    let key = place.folder().join("master.key");
    std::fs::rename(&key, place.folder().join("elsewhere")).unwrap();
    let (ok, findings) = doctor(&place, &["--without-channels"]);
    assert!(
        !ok && about(&findings, "master key")["what"].as_str().unwrap().contains("is needed"),
        "{findings:?}"
    );
    let (ok, findings) = doctor(&place, &["--lease", "soon"]);
    assert!(!ok && findings.len() == 1 && findings[0]["subject"] == "configuration", "{findings:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_is_found_with_its_repair_on_sqlite() {
    story(Place::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_is_found_with_its_repair_on_postgres() {
    let place = Place::postgres().await;
    let server = place.start(&[]);
    let (_, findings) = doctor(&place, &["--without-channels"]);
    let clock = about(&findings, "clock of this machine");
    assert_eq!(clock["severity"], "well", "{clock}");
    assert_eq!(about(&findings, "snapshots")["severity"], "well", "{findings:?}");
    server.kill();
    story(place).await;
}

/// What it says to do about a database that it cannot open.
fn repair(place: &Place, url: &str) -> String {
    let (ok, findings) = doctor_of(place, url, &["--without-channels"]);
    let finding = about(&findings, "database");
    assert!(!ok && finding["severity"] == "error", "{finding}");
    let what = finding["what"].as_str().unwrap();
    assert!(!what.contains("at line"), "{what}");
    finding["repair"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_reason_why_a_database_cannot_be_opened_has_its_own_repair() {
    let place = Place::postgres().await;
    let url = place.database_url();
    assert!(repair(&place, &url).contains("the first start makes the tables"));
    place.start(&[]).kill();
    let (address, _) = url.rsplit_once('/').unwrap();
    assert!(repair(&place, &format!("{address}/nowhere")).contains("Create the database"));
    let other_user = url.replacen("postgres@", "nobody_of_this_name@", 1);
    assert!(repair(&place, &other_user).contains("Correct user and password"));
    // tidy-allow: a schema of another version
    // tidy-allow: what another program leaves in the database
    run_on(&url, "DELETE FROM schema_steps WHERE version = (SELECT MAX(version) FROM schema_steps)").await;
    assert!(repair(&place, &url).contains("`punctual migrate`"));
    // tidy-allow: a schema of another version
    // tidy-allow: what another program leaves in the database
    run_on(&url, "INSERT INTO schema_steps (version, name, applied_at) VALUES (9999, '9999_later', 0)").await;
    // tidy-allow: a schema of another version
    // tidy-allow: what another program leaves in the database
    run_on(&url, "UPDATE facts SET value = '9999' WHERE name = 'schema.oldest-node'").await;
    assert!(repair(&place, &url).contains("Install the version of the other nodes"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_not_there_is_an_error_and_is_not_made() {
    let place = Place::sqlite();
    let (ok, findings) = doctor(&place, &[]);
    assert!(!ok && about(&findings, "database")["severity"] == "error", "{findings:?}");
    assert!(!place.folder().join("punctual.sqlite").exists());
}

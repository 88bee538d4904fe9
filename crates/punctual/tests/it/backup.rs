//! `punctual backup`, `restore` and `verify` with the real program: under load, killed, brought back, and nothing sent twice
//! without a person's word.

use std::{
    path::Path,
    process::{Command, Output, Stdio},
    time::Duration,
};

use punctual_testkit::{
    PgBouncer,
    postgres::{OpenTransaction, until_blocked},
    run_on_sqlite,
};
use serde_json::{Value, json};

use crate::{
    receiver::Receiver,
    server::{Place, Server, binary},
};

fn punctual(place: &Place, args: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command.args(args).arg("--data-dir").arg(place.folder()).args(["--database-url", &place.database_url()]);
    command.env_remove("PUNCTUAL_CONFIG").current_dir("/").output().unwrap()
}

fn done(place: &Place, args: &[&str]) -> String {
    let output = punctual(place, args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn refused(place: &Place, args: &[&str]) -> String {
    let output = punctual(place, args);
    assert!(!output.status.success(), "{args:?}: {output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

async fn queue_is_empty(server: &Server) {
    server
        .until("everything to settle", async |server| {
            let (_, kpis) = server.get("/api/v1/notifications/kpis").await;
            (kpis["queueDepth"] == 0).then_some(())
        })
        .await;
}

/// A server that sends to a slow receiver, with a queue that takes a while.
async fn busy(place: &Place, receiver: &Receiver) -> Server {
    let server = place.start(&[]);
    let settings = json!({ "url": receiver.url, "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" });
    let channel = json!({ "adapter": "webhook", "settings": settings, "concurrency": 2 });
    server.put("/api/v1/channels/webhook:trial", &channel).await;
    for batch in 0..4 {
        let items: Vec<Value> = (0..50)
            .map(|n| json!({ "channel": "webhook:trial", "targets": ["ops"], "subject": format!("{batch}-{n}"), "body": "b" }))
            .collect();
        assert_eq!(server.post("/api/v1/notifications", &json!(items)).await.unwrap().0, 200);
    }
    let file = server.client.post(format!("{}/api/v1/blobs", server.address)).bearer_auth(crate::server::KEY);
    let file = file.header("content-type", "text/plain").body("a file").send().await.unwrap();
    assert_eq!(file.status(), 201);
    let soon = json!({ "id": "soon", "sendAt": in_two_seconds(), "targets": ["ops"], "channel": "webhook:trial",
        "subject": "soon", "body": "b" });
    assert_eq!(server.post("/api/v1/messages", &soon).await.unwrap().0, 201);
    server
}

#[expect(clippy::disallowed_methods, reason = "a real process on real time")]
fn in_two_seconds() -> String {
    (jiff::Timestamp::now() + jiff::SignedDuration::from_secs(2)).to_string()
}

fn most_often(receiver: &Receiver) -> usize {
    receiver.accepted().values().map(Vec::len).max().unwrap_or(0)
}

async fn story(place: Place, other: Place) {
    let receiver = Receiver::slow(Duration::from_millis(40)).await;
    let server = busy(&place, &receiver).await;
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("backup");
    let to = target.to_str().unwrap().to_owned();
    let manifest = done(&place, &["backup", &to, "--with-master-key", "--json"]);
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    assert!(
        manifest["files"]
            .as_array()
            .unwrap()
            .iter()
            .any(|file| file["path"].as_str().unwrap().starts_with("blobs/uploads/"))
    );
    assert!(refused(&place, &["backup", &to]).contains("is there already"));
    // The one that is backed up goes on and sends everything.
    queue_is_empty(&server).await;
    server.until("the message of later", async |_| (receiver.count() == 201).then_some(())).await;
    let checked = punctual(&place, &["verify", "--json"]);
    assert!(checked.status.success(), "{checked:?}");
    server.kill();

    assert!(refused(&place, &["restore", &to]).contains("is not empty"));
    done(&other, &["restore", &to]);
    let server = other.start(&[]);
    let (_, restore) = server.get("/api/v1/restore").await;
    let waiting = &restore["last"]["waiting"];
    let (work, messages) = (waiting["work"].as_u64().unwrap(), waiting["notifications"].as_u64().unwrap());
    assert!(messages > 0 && work >= 1, "{restore}");
    queue_is_empty(&server).await;
    assert_eq!((receiver.count(), most_often(&receiver)), (201, 1), "nothing was sent by itself");
    let (_, attention) = server.get("/api/v1/attention").await;
    assert_eq!(attention["counts"]["restore"], 1, "{attention}");

    let (status, released) =
        server.post("/api/v1/restore/release", &json!({ "reason": "checked" })).await.unwrap();
    assert_eq!((status, &released["notifications"]), (200, &json!(messages)), "{released}");
    let expected = 201 + usize::try_from(messages).unwrap() + 1;
    server.until("what was released", async |_| (receiver.count() == expected).then_some(())).await;
    queue_is_empty(&server).await;
    let (_, restore) = server.get("/api/v1/restore").await;
    assert_eq!(restore["last"]["waiting"], json!({ "work": 0, "notifications": 0, "owed": 0 }));
    server.kill();
    // A second start finds nothing to hold.
    let server = other.start(&[]);
    queue_is_empty(&server).await;
    assert_eq!(receiver.count(), expected);
    server.kill();
    let checked = punctual(&other, &["verify", "--json"]);
    assert!(checked.status.success(), "{checked:?}");
    modes(&target);
}

/// Nobody else may read a backup.
fn modes(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(folder), 0o700);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r03_a_restored_sqlite_database_sends_nothing_again_without_a_persons_word() {
    story(Place::sqlite(), Place::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r03_a_restored_postgres_database_sends_nothing_again_without_a_persons_word() {
    story(Place::postgres().await, Place::postgres().await).await;
}

/// On PostgreSQL alone: what `pg_dump` sets for its session would stay on one of the pooler's, and nodes would find no table there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_goes_around_a_connection_pooler() {
    let place = Place::postgres().await;
    place.start(&[]).kill();
    let pooler = PgBouncer::start(2).await;
    let (direct, pooled) = (place.database_url(), pooler.url_of(&place.database_url()));
    let folder = tempfile::tempdir().unwrap();
    let backup = |name: &str, more: &[&str]| {
        let mut command = Command::new(binary());
        command.arg("backup").arg(folder.path().join(name)).arg("--data-dir").arg(place.folder());
        command.args(["--database-url", &pooled]).args(more).env_remove("PUNCTUAL_CONFIG");
        command.current_dir("/").output().unwrap()
    };
    let output = backup("refused", &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("--listen-url"), "{output:?}");
    let output = backup("done", &["--listen-url", &direct]);
    assert!(output.status.success(), "{output:?}");
    assert!(folder.path().join("done/punctual.dump").exists() && !folder.path().join("refused").exists());
}

/// On PostgreSQL alone, where another session can hold a backup up. A nightly backup that is stopped does not fill the disk.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_that_is_stopped_leaves_nothing() {
    let place = Place::postgres().await;
    place.start(&[]).kill();
    let url = place.database_url();
    let other = OpenTransaction::begin(&url, "psql", "LOCK TABLE work IN ACCESS EXCLUSIVE MODE").await;
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(binary());
    command.arg("backup").arg(folder.path().join("backup")).arg("--data-dir").arg(place.folder());
    command.args(["--database-url", &url]).env_remove("PUNCTUAL_CONFIG").stderr(Stdio::piped());
    let backup = command.spawn().unwrap();
    until_blocked(&url).await;
    assert_eq!(names(folder.path()).len(), 1, "it has begun");
    let stopped = Command::new("kill").arg(backup.id().to_string()).status().unwrap();
    assert!(stopped.success());
    let ended = backup.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(!ended.status.success() && said.contains("stopped by a signal"), "{said}");
    assert_eq!(names(folder.path()), [""; 0]);
    other.end().await;
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// As on a mounted volume: nothing can be made beside the folder, and the file system has put something into it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_is_restored_into_a_folder_that_is_there() {
    let place = Place::sqlite();
    let server = place.start(&[]);
    server.put("/api/v1/lists/ops", &json!({ "type": "memory", "targets": ["a@example.org"] })).await;
    let file = server.client.post(format!("{}/api/v1/blobs", server.address)).bearer_auth(crate::server::KEY);
    let file = file.header("content-type", "text/plain").body("a file").send().await.unwrap();
    assert_eq!(file.status(), 201);
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("backup");
    done(&place, &["backup", target.to_str().unwrap(), "--with-master-key"]);
    server.kill();

    let mut other = Place::sqlite();
    let volume = tempfile::tempdir().unwrap();
    let data = volume.path().join("data");
    std::fs::create_dir_all(data.join("lost+found")).unwrap();
    other.data = Some(data.clone());
    done(&other, &["restore", target.to_str().unwrap()]);
    let found = names(&data);
    let is_there = |name: &&str| found.iter().any(|one| one == name);
    assert!(["blobs", "lost+found", "master.key", "punctual.sqlite"].iter().all(is_there), "{found:?}");
    assert!(!found.iter().any(|name| name.starts_with(".restoring")), "{found:?}");
    assert_eq!(names(volume.path()), ["data"]);
    done(&other, &["verify"]);
    let server = other.start(&[]);
    assert_eq!(server.get("/api/v1/lists/ops").await.0, 200);
    server.kill();
}

/// On PostgreSQL alone, whose restore is made by other programs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restore_that_failed_can_be_repeated() {
    let place = Place::postgres().await;
    let server = place.start(&[]);
    let file = server.client.post(format!("{}/api/v1/blobs", server.address)).bearer_auth(crate::server::KEY);
    let file = file.header("content-type", "text/plain").body("a file").send().await.unwrap();
    assert_eq!(file.status(), 201);
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("backup");
    done(&place, &["backup", target.to_str().unwrap(), "--with-master-key"]);
    server.kill();

    let other = Place::postgres().await;
    let mut restore = Command::new(binary());
    restore.arg("restore").arg(&target).arg("--data-dir").arg(other.folder());
    restore.args(["--database-url", &other.database_url()]).env_remove("PUNCTUAL_CONFIG");
    let failed = restore.env("PATH", folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&failed.stderr);
    assert!(!failed.status.success() && said.contains("pg_restore cannot be started"), "{said}");
    assert_eq!(names(other.folder()), [""; 0]);
    done(&other, &["restore", target.to_str().unwrap()]);
    done(&other, &["verify"]);
}

/// On SQLite alone, whose file can be changed behind the program.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_is_found_and_a_changed_backup_is_not_restored() {
    let place = Place::sqlite();
    let server = place.start(&[]);
    server.put("/api/v1/lists/ops", &json!({ "type": "memory", "targets": ["a@example.org"] })).await;
    let sent = json!({ "list": "ops", "subject": "s", "body": "b" });
    server.post("/api/v1/notifications", &sent).await.unwrap();
    let file = server.client.post(format!("{}/api/v1/blobs", server.address)).bearer_auth(crate::server::KEY);
    let file = file.header("content-type", "text/plain").body("a file").send().await.unwrap();
    assert_eq!(file.status(), 201);
    queue_is_empty(&server).await;
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("backup");
    done(&place, &["backup", target.to_str().unwrap()]);
    assert!(!target.join("master.key").exists(), "not asked for");
    server.kill();
    done(&place, &["verify"]);

    let database = place.folder().join("punctual.sqlite");
    // tidy-allow: what somebody does who has the file
    for statement in ["DELETE FROM notifications", "UPDATE work SET open_notifications = 3"] {
        run_on_sqlite(database.to_str().unwrap(), statement).unwrap();
    }
    std::fs::remove_dir_all(place.folder().join("blobs/uploads")).unwrap();
    let found = refused(&place, &["verify"]);
    assert!(found.contains("attempts: 1 rows belong to no message"), "{found}");
    assert!(found.contains("files: 1 are missing: uploads/"), "{found}");

    let other = Place::sqlite();
    let copy = target.join("punctual.sqlite");
    let mut bytes = std::fs::read(&copy).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&copy, bytes).unwrap();
    assert!(refused(&other, &["restore", target.to_str().unwrap()]).contains("is not what was backed up"));
    assert_eq!(std::fs::read_dir(other.folder()).unwrap().count(), 0, "nothing was written");
}

//! What a newcomer meets: the first start, the demo, the first page of the guide, a second process on the same file, a configuration with a slip.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use crate::server::{Place, binary, client};

#[tokio::test]
async fn the_first_start_makes_a_key_that_works_and_the_second_keeps_quiet() {
    let folder = tempfile::tempdir().unwrap();
    let start = || {
        let mut child = Command::new(binary())
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(folder.path())
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines: Vec<String> = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok)
            .take_while(|l| !l.contains("/docs"))
            .collect();
        (child, lines)
    };
    let (mut child, lines) = start();
    let address = lines[0].strip_prefix("Punctual listens on ").unwrap();
    let key = lines[1].rsplit(' ').next().unwrap();
    assert!(key.starts_with("punctual_admin_live_"), "{lines:?}");
    let kept = std::fs::read_to_string(folder.path().join("admin.key")).unwrap();
    assert_eq!(kept.trim(), key);
    let answer =
        client().get(format!("{address}/api/v1/notifications/kpis")).bearer_auth(key).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    child.kill().unwrap();
    child.wait().unwrap();
    let (mut child, lines) = start();
    assert_eq!(lines.len(), 1, "the key is shown once: {lines:?}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test]
async fn the_demo_prints_an_address_a_key_and_the_api_page_and_has_samples() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(binary())
        .args(["demo", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(folder.path())
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let address = lines.next().unwrap().strip_prefix("Punctual listens on ").unwrap().to_owned();
    let key = lines.next().unwrap().strip_prefix("Key:").unwrap().trim().to_owned();
    assert_eq!(lines.next().unwrap(), format!("API page: {address}/docs"));
    let console = lines.next().unwrap().strip_prefix("Console:").unwrap().trim().to_owned();
    assert!(console.starts_with(&format!("{address}/sign-in?token=")), "{console}");
    let sign_in = client().get(&console).send().await.unwrap();
    assert!(sign_in.status() == 200 && sign_in.text().await.unwrap().contains("name=\"link\""));
    let page =
        client().get(format!("{address}/api/v1/notifications")).bearer_auth(&key).send().await.unwrap();
    let page: serde_json::Value = page.json().await.unwrap();
    assert!(page["items"].as_array().unwrap().len() >= 4, "{page}");
    let advanced = client()
        .put(format!("{address}/api/v1/sandbox/clock"))
        .bearer_auth(&key)
        .json(&serde_json::json!({ "advance": "7d" }))
        .send()
        .await
        .unwrap();
    assert_eq!(advanced.status(), 200);
    let sent = client().get(format!("{address}/api/v1/sandbox/sent")).bearer_auth(&key).send().await.unwrap();
    let sent: serde_json::Value = sent.json().await.unwrap();
    let subjects: Vec<&str> =
        sent["items"].as_array().unwrap().iter().filter_map(|s| s["subject"].as_str()).collect();
    assert!(subjects.iter().any(|s| s.starts_with("Staplerschein läuft am")), "{subjects:?}");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The guide's steps in the sandbox, as they are printed there; only address and key are put in.
#[tokio::test]
async fn the_first_steps_of_the_guide_work() {
    let guide = include_str!("../../../../docs/start.md");
    let blocks: Vec<&str> =
        guide.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let [_, calls, send, later, ..] = blocks[..] else { panic!("the guide has other steps: {blocks:?}") };
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(binary())
        .args(["demo", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(folder.path())
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let address = lines.next().unwrap().strip_prefix("Punctual listens on ").unwrap().to_owned();
    let key = lines.next().unwrap().strip_prefix("Key:").unwrap().trim().to_owned();
    let calls = calls.replace("http://127.0.0.1:8080", &address).replace("punctual_admin_demo_…", &key);
    let steps = format!("set -e\n{}\n{send}\n{later}", calls.replace("curl -s", "curl -s --fail-with-body"));
    let done = Command::new("bash").args(["-c", &steps]).output().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let shown = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{done:?}");
    let last = shown.rsplit("{\"items\"").next().unwrap();
    assert!(last.contains("\"Hello\"") && last.contains("\"Good morning\""), "{shown}");
}

#[test]
fn a_second_process_on_the_same_file_is_refused() {
    let place = Place::sqlite();
    let _first = place.start(&[]);
    let second = Command::new(binary())
        .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(place.folder())
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(1));
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(said.contains("in use by another process"), "{said}");
}

#[test]
fn slips_are_named_and_usage_errors_end_with_two() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("punctual.toml"), "lisen = \"127.0.0.1:0\"\n").unwrap();
    let run = |args: &[&str]| Command::new(binary()).args(args).current_dir(folder.path()).output().unwrap();
    let refused = run(&["serve"]);
    assert_eq!(refused.status.code(), Some(1));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("line 1: `lisen` is not known; did you mean `listen`?"), "{said}");
    assert_eq!(run(&["serve", "--listen", "nonsense"]).status.code(), Some(2));
    assert_eq!(run(&["no-such-command"]).status.code(), Some(2));
}

//! Requests that schemathesis makes from the document, right and wrong ones: no answer is a fault of the server, each has a status,
//! a type and a shape that the document has, and nothing wrong is accepted.

use serde_json::json;

use super::{python, root, sandbox, succeeds};
use crate::server::Place;

/// The seed, unless the trial was given another: each makes other requests, so that many can be made in pieces.
const SEED: u64 = 20_261_117;
/// Operations of the document, about: a number of requests is shared among them.
const OPERATIONS: u64 = 205;

/// Requests for each operation and database: about a thousand in every test run, many more in the trial, whose number counts for each
/// database.
fn cases() -> u64 {
    let is_trial = std::env::var("PUNCTUAL_RIG_SCALE").is_ok_and(|scale| scale == "release");
    match number("PUNCTUAL_RIG_COUNT").filter(|_| is_trial) {
        Some(requests) => requests.div_ceil(OPERATIONS),
        None if is_trial => 60,
        None => 5,
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

async fn holds_on(place: Place) {
    let server = sandbox(&place);
    // A key that an operator chose has to wait after some wrong ones; one that was made here cannot be guessed and has not.
    let wanted = json!({ "name": "requests made from the document", "scopes": ["admin"] });
    let (status, made) = server.post("/api/v1/keys", &wanted).await.unwrap();
    assert_eq!(status, 201, "{made}");
    let key = made["key"].as_str().unwrap();
    let mut run = python();
    run.args(["-m", "schemathesis.cli", "--config-file"]).arg(root().join("xtask/schemathesis.toml"));
    run.arg("run").arg(root().join("docs/openapi.json"));
    run.args(["--url", &server.address, "-H", &format!("Authorization: Bearer {key}")]);
    let (cases, seed) = (cases().to_string(), number("PUNCTUAL_RIG_SEED").unwrap_or(SEED).to_string());
    run.args(["--phases", "examples,fuzzing", "--max-examples", &cases, "--seed", &seed]);
    // A clock that leaps to any year takes all that is planned along, and the rest of the run waits for it.
    run.args(["--exclude-operation-id", "putSandboxClock", "--no-color", "--workers", "2"]);
    // It takes ids from earlier answers, and would delete its own key: all that follows would be answered 401.
    run.args(["--exclude-operation-id", "deleteKey"]);
    run.args(["--generation-with-security-parameters", "false", "--generation-database", "none"]);
    let said = tokio::task::block_in_place(|| succeeds(run.current_dir(place.folder())));
    let lists = server.client.get(format!("{}/api/v1/lists", server.address)).bearer_auth(key).send().await;
    assert_eq!(lists.unwrap().status(), 200, "the key was good to the end, or requests were refused unread");
    assert!(!said.contains("Rate limited"), "requests were refused unread:\n{said}");
    let summary = said.lines().skip_while(|line| !line.contains("SUMMARY")).collect::<Vec<_>>();
    println!("{}", summary.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_schemathesis_sqlite() {
    holds_on(Place::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_schemathesis_postgres() {
    holds_on(Place::postgres().await).await;
}

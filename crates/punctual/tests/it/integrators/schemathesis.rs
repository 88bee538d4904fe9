//! Requests that schemathesis makes from the document, right and wrong ones: no answer is a fault of the server, each has a status,
//! a type and a shape that the document has, and nothing wrong is accepted.

use serde_json::{Value, json};

use super::{python, root, rows::name_rows, sandbox, succeeds};
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

/// Which document is tried, and what it leaves out.
enum Rows {
    /// A server without rows, and the document as it is.
    None,
    /// The samples of the demo under a clock that flows, and the document with their ids. What deletes is left out, or all that
    /// follows would be 404.
    Samples,
}

async fn holds_on(place: Place, rows: Rows) {
    let (server, excluded) = match rows {
        Rows::None => (sandbox(&place), "^$"),
        Rows::Samples => (place.start_demo(), "^(delete|revoke)"),
    };
    // A key that an operator chose has to wait after some wrong ones; one that was made here cannot be guessed and has not.
    let wanted = json!({ "name": "requests made from the document", "scopes": ["admin"] });
    let (status, made) = server.post("/api/v1/keys", &wanted).await.unwrap();
    assert_eq!(status, 201, "{made}");
    let key = made["key"].as_str().unwrap();
    let document = place.folder().join("openapi.json");
    let mut text: Value =
        serde_json::from_slice(&std::fs::read(root().join("docs/openapi.json")).unwrap()).unwrap();
    let is_of_rows = matches!(rows, Rows::Samples);
    if is_of_rows {
        name_rows(&mut text, &server).await;
    }
    std::fs::write(&document, text.to_string()).unwrap();
    let mut run = python();
    run.args(["-m", "schemathesis.cli", "--config-file"]).arg(root().join("xtask/schemathesis.toml"));
    run.arg("run").arg(document);
    run.args(["--url", &server.address, "-H", &format!("Authorization: Bearer {key}")]);
    let (cases, seed) = (cases().to_string(), number("PUNCTUAL_RIG_SEED").unwrap_or(SEED).to_string());
    run.args(["--phases", "examples,fuzzing", "--max-examples", &cases, "--seed", &seed]);
    // A clock that leaps to any year takes all that is planned along, and the rest of the run waits for it.
    // One worker: Python 3.11 may fail to compile a check in two threads at once.
    run.args(["--exclude-operation-id", "putSandboxClock", "--no-color", "--workers", "1"]);
    // It takes ids from earlier answers, and would delete its own key: all that follows would be answered 401.
    run.args(["--exclude-operation-id", "deleteKey", "--exclude-operation-id-regex", excluded]);
    run.args(["--generation-with-security-parameters", "false", "--generation-database", "none"]);
    // How long a busy machine takes to make a request or to answer one is judged elsewhere.
    run.args(["--suppress-health-check", "all", "--request-timeout", "60"]);
    if is_of_rows {
        // An id that is not among those is no wrong one: the samples have more, and some routes make what they name.
        run.args(["--exclude-checks", "negative_data_rejection"]);
    }
    let said = tokio::task::block_in_place(|| succeeds(run.current_dir(place.folder())));
    let lists = server.client.get(format!("{}/api/v1/lists", server.address)).bearer_auth(key).send().await;
    assert_eq!(lists.unwrap().status(), 200, "the key was good to the end, or requests were refused unread");
    assert!(!said.contains("Rate limited"), "requests were refused unread:\n{said}");
    let summary = said.lines().skip_while(|line| !line.contains("SUMMARY")).collect::<Vec<_>>();
    println!("{}", summary.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_schemathesis_sqlite() {
    holds_on(Place::sqlite(), Rows::None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_schemathesis_postgres() {
    holds_on(Place::postgres().await, Rows::None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_schemathesis_of_rows_sqlite() {
    holds_on(Place::sqlite(), Rows::Samples).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_schemathesis_of_rows_postgres() {
    holds_on(Place::postgres().await, Rows::Samples).await;
}

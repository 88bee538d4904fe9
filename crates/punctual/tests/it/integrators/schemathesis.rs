//! Requests that schemathesis makes from the document, right and wrong ones: no answer is a fault of the server, each has a status,
//! a type and a shape that the document has, and nothing wrong is accepted.

use super::{python, root, sandbox, succeeds};
use crate::server::{KEY, Place};

/// Requests for each operation and database: about a thousand in every test run, many more in the trial.
fn cases() -> &'static str {
    if std::env::var("PUNCTUAL_RIG_SCALE").is_ok_and(|scale| scale == "release") { "60" } else { "5" }
}

fn holds_on(place: &Place) {
    let server = sandbox(place);
    let mut run = python();
    run.args(["-m", "schemathesis.cli", "--config-file"]).arg(root().join("xtask/schemathesis.toml"));
    run.arg("run").arg(root().join("docs/openapi.json"));
    run.args(["--url", &server.address, "-H", &format!("Authorization: Bearer {KEY}")]);
    run.args(["--phases", "examples,fuzzing", "--max-examples", cases(), "--seed", "20261117"]);
    // A clock that leaps to any year takes all that is planned along, and the rest of the run waits for it.
    run.args(["--exclude-operation-id", "putSandboxClock", "--no-color", "--workers", "2"]);
    run.args(["--generation-with-security-parameters", "false", "--generation-database", "none"]);
    let said = succeeds(run.current_dir(place.folder()));
    let summary = said.lines().skip_while(|line| !line.contains("SUMMARY")).collect::<Vec<_>>();
    println!("{}", summary.join("\n"));
}

#[test]
fn rig_schemathesis_sqlite() {
    holds_on(&Place::sqlite());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rig_schemathesis_postgres() {
    let place = Place::postgres().await;
    tokio::task::block_in_place(|| holds_on(&place));
}

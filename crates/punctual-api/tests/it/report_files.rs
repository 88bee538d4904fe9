//! Files of reports are kept for a while; then they go, and what is known about them says so.

use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::Client,
    reports::{REPORT, run, runs, subscribe, weekly},
};

on_both! {
    files_go_after_their_window_and_what_is_known_about_them_stays;
    a_purge_that_is_held_back_keeps_the_files_too with cautious;
}

const DAY: i64 = 86_400;

fn cautious(bed: punctual_testkit::TestBedBuilder) -> punctual_testkit::TestBedBuilder {
    bed.config(|config| config.purge_unasked = 0)
}

fn files(run: &Value) -> Vec<Value> {
    run["artefacts"].as_array().unwrap().clone()
}

async fn files_go_after_their_window_and_what_is_known_about_them_stays(bed: TestBed) {
    let client = Client::new(&bed).await;
    let guid = subscribe(&client, weekly(|_| {})).await;
    bed.run_to("2026-05-18T06:00:00Z").await;
    let key = runs(&client, &guid).await[1]["key"].as_str().unwrap().to_owned();
    client.post(&format!("{REPORT}/{guid}/pause"), json!({})).await.expect(200);
    bed.wait(364 * DAY);
    // A younger one, whose files stay.
    client.post(&format!("{REPORT}/{guid}/resume"), json!({})).await.expect(200);
    let young = client.post(&format!("{REPORT}/{guid}/automation-runs"), json!({})).await.expect(202);
    bed.tick().await;
    client.post(&format!("{REPORT}/{guid}/pause"), json!({})).await.expect(200);
    let early = client.post("/api/v1/retention/purge", json!({})).await.expect(200);
    assert_eq!(early["files"], 0);
    bed.wait(2 * DAY);
    let before = run(&client, &guid, &key).await;
    let count = files(&before).len();
    assert!(count > 0 && files(&before)[0].get("purgedAt").is_none(), "{before}");
    let purged = client.post("/api/v1/retention/purge", json!({})).await.expect(200);
    assert_eq!(purged["files"], count, "{purged}");

    let after = run(&client, &guid, &key).await;
    for (file, known) in files(&after).iter().zip(files(&before)) {
        assert_eq!((&file["name"], &file["bytes"]), (&known["name"], &known["bytes"]));
        assert_eq!(file["purgedAt"], json!(bed.now()));
        let refused = client.get(file["href"].as_str().unwrap()).await.refused(410, "gone");
        assert_eq!(refused["purgedAt"], json!(bed.now()));
        assert!(bed.engine.blobs.get(file["blob"].as_str().unwrap()).await.unwrap().is_none());
    }
    let young = run(&client, &guid, young["manualRunGuid"].as_str().unwrap()).await;
    assert_eq!(client.get(files(&young)[0]["href"].as_str().unwrap()).await.status, 200);
    let again = client.post("/api/v1/retention/purge", json!({})).await.expect(200);
    assert_eq!(again["files"], 0, "once");
    let retention = client.get("/api/v1/retention").await.expect(200);
    assert_eq!((&retention["keepFilesForDays"], &retention["lastRun"]["files"]), (&json!(365), &json!(0)));
}

async fn a_purge_that_is_held_back_keeps_the_files_too(bed: TestBed) {
    let client = Client::new(&bed).await;
    let guid = subscribe(&client, weekly(|_| {})).await;
    bed.run_to("2026-05-18T06:00:00Z").await;
    let key = runs(&client, &guid).await[1]["key"].as_str().unwrap().to_owned();
    client.post(&format!("{REPORT}/{guid}/pause"), json!({})).await.expect(200);
    bed.wait(400 * DAY);
    let held = client.post("/api/v1/retention/purge", json!({})).await.expect(200);
    assert_eq!((&held["files"], &held["heldBack"]), (&json!(0), &json!(1)));
    let href = files(&run(&client, &guid, &key).await)[0]["href"].as_str().unwrap().to_owned();
    assert_eq!(client.get(&href).await.status, 200);
    let confirmed = client.post("/api/v1/retention/purge", json!({ "confirm": true })).await.expect(200);
    assert_ne!(confirmed["files"], 0);
    client.get(&href).await.refused(410, "gone");
}

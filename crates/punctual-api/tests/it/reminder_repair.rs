//! Reconciliation as callers see it: how far each provider has looked, and a look that they ask for.

use punctual_testkit::{TestBed, on_both};
use serde_json::json;

use crate::{
    client::Client,
    reminders::{document, first_aid, put_source, setting, unit},
};

on_both! {
    a_look_is_asked_for_and_listed;
}

async fn a_look_is_asked_for_and_listed(bed: TestBed) {
    let client = Client::new(&bed).await;
    unit(&client, "nz", "Pacific/Auckland").await;
    setting(&client, first_aid(|_| {})).await;
    put_source(&client, "document/1", document("2026-07-20")).await;
    let path = "/api/v1/reconciliations/dateBased/run";
    let dry = client.post(path, json!({ "dryRun": true })).await.expect(200);
    assert_eq!(
        (&dry["sources"], &dry["create"], &dry["deactivate"], &dry["workId"]),
        (&json!(1), &json!(0), &json!(0), &json!(null)),
        "{dry}"
    );
    let never = client.get("/api/v1/reconciliations").await.expect(200)["items"][0].clone();
    assert_eq!((&never["provider"], &never["lookedUntil"]), (&json!("dateBased"), &json!(null)), "{never}");
    let asked = client.post(path, json!({ "dryRun": false })).await.expect(200);
    assert!(asked["workId"].is_i64(), "{asked}");
    client.advance("2m").await;
    let looked = client.get("/api/v1/reconciliations").await.expect(200)["items"][0].clone();
    assert_eq!((&looked["windowDays"], &looked["sources"]), (&json!(400), &json!(1)), "{looked}");
    assert!(looked["lookedUntil"].is_string(), "{looked}");
    client.post("/api/v1/reconciliations/none/run", json!({})).await.refused(404, "not_found");
    client.post("/api/v1/reconciliations/external:none/run", json!({})).await.refused(404, "not_found");
    bed.leaves_open("what is planned");
}

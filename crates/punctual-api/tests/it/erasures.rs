//! A person is planned for, erased with a certificate, and handed out: by administrators, within their business units.

use punctual_engine::Actor;
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::client::Client;

on_both! {
    a_person_is_erased_after_a_plan_and_the_certificate_stays;
    what_is_stored_about_a_person_is_one_document;
    requests_that_name_nobody_or_two_are_refused;
    t11_an_erasure_is_seen_by_its_own_units_and_none_is_pushed_out_by_others;
}

fn rows(found: &Value, kind: &str) -> i64 {
    let all = found.as_array().unwrap();
    all.iter().find(|count| count["kind"] == kind).map_or(0, |count| count["rows"].as_i64().unwrap())
}

async fn sent_to_ann(bed: &TestBed, client: &Client) {
    let message = json!({ "id": "0198f3a0-0000-7000-8000-000000000001", "targets": ["ann@example.org"],
        "channel": "email:default", "subject": "For Ann", "body": "B" });
    client.post("/api/v1/notifications", message).await.expect(201);
    bed.tick().await;
}

async fn a_person_is_erased_after_a_plan_and_the_certificate_stays(bed: TestBed) {
    let client = Client::new(&bed).await;
    sent_to_ann(&bed, &client).await;
    let ann = json!({ "address": "Ann@example.org" });
    let plan = client.post("/api/v1/erasures", ann).await.expect(201);
    assert_eq!((&plan["status"], &plan["certificate"]), (&json!("planned"), &Value::Null));
    assert_eq!((rows(&plan["found"], "notifications"), rows(&plan["found"], "attempts")), (1, 1));
    let confirmed = json!({ "address": "Ann@example.org", "confirm": true });
    let done = client.post("/api/v1/erasures", confirmed).await.expect(201);
    assert_eq!((&done["status"], &done["certificate"]["remaining"]), (&json!("done"), &json!([])));
    let id = done["id"].as_str().unwrap();
    assert_eq!(client.get(&format!("/api/v1/erasures/{id}")).await.expect(200), done);
    assert!(!done.to_string().to_lowercase().contains("ann@"), "it names nobody: {done}");
    let sent = client.get("/api/v1/notifications/0198f3a0-0000-7000-8000-000000000001").await.expect(200);
    assert_eq!(
        (&sent["status"], &sent["subject"], &sent["targets"]),
        (&json!("delivered"), &json!(""), &json!([]))
    );
    assert_eq!(sent["resolvedTargets"][0]["address"], "erased:1");
    let audit = client.get("/api/v1/audit?action=erase-person").await.expect(200);
    assert_eq!(audit["items"][0]["subject"], format!("erasure/{id}"));
    client.get("/api/v1/erasures/none").await.refused(404, "not_found");
    client
        .new_key(&["operate"], None)
        .await
        .post("/api/v1/erasures", json!({ "address": "a@x.example" }))
        .await
        .refused(403, "scope_missing");
}

async fn what_is_stored_about_a_person_is_one_document(bed: TestBed) {
    let client = Client::new(&bed).await;
    sent_to_ann(&bed, &client).await;
    let ann = json!({ "address": "ann@example.org" });
    let document = client.post("/api/v1/personal-data/export", ann).await.expect(200);
    assert_eq!(document["data"]["notifications"][0]["subject"], "For Ann");
    assert_eq!(document["data"]["notifications"][0]["attempts"][0]["target"], "ann@example.org");
    assert_eq!(document["cut"], json!([]));
    let nobody = client.post("/api/v1/personal-data/export", json!({ "person": "none" })).await.expect(200);
    assert_eq!(nobody["data"], json!({}));
}

async fn requests_that_name_nobody_or_two_are_refused(bed: TestBed) {
    let client = Client::new(&bed).await;
    for path in ["/api/v1/erasures", "/api/v1/personal-data/export"] {
        client.post(path, json!({})).await.refused(422, "missing_field");
        client
            .post(path, json!({ "address": "a@x.example", "person": "p" }))
            .await
            .refused(422, "field_conflict");
        client
            .post(path, json!({ "address": "a@x.example", "conform": true }))
            .await
            .refused(422, "unknown_field");
    }
}

async fn t11_an_erasure_is_seen_by_its_own_units_and_none_is_pushed_out_by_others(bed: TestBed) {
    let client = Client::new(&bed).await;
    let admin = async |units: Option<&[&str]>| client.new_key(&["admin"], units).await;
    let (nz, de, both) =
        (admin(Some(&["nz"])).await, admin(Some(&["de"])).await, admin(Some(&["de", "nz"])).await);
    let erase = async |by: &Client| {
        let done = by.post("/api/v1/erasures", json!({ "address": "a@x.example", "confirm": true })).await;
        done.expect(201)["id"].as_str().unwrap().to_owned()
    };
    let (of_nz, of_both, of_all) = (erase(&nz).await, erase(&both).await, erase(&client).await);
    for (id, readers) in
        [(&of_nz, [true, false, true]), (&of_both, [false, false, true]), (&of_all, [false; 3])]
    {
        let path = format!("/api/v1/erasures/{id}");
        for (key, may) in [&nz, &de, &both].into_iter().zip(readers) {
            assert_eq!(key.get(&path).await.status, if may { 200 } else { 404 }, "{id}");
        }
        client.get(&path).await.expect(200);
    }
    bed.wait(1);
    for _ in 0..30 {
        erase(&de).await;
    }
    let listed = async |units: Option<Vec<String>>| {
        let by = Actor::key("k", units);
        bed.engine.erasures(&by, 20).await.unwrap().into_iter().map(|one| one.id).collect::<Vec<_>>()
    };
    assert_eq!(listed(Some(vec!["nz".to_owned()])).await, [of_nz], "though others have made thirty since");
    assert_eq!(listed(None).await.len(), 20);
}

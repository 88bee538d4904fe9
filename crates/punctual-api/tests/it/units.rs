//! A key that is limited to business units sees and changes only what is theirs; anything else is not there.

use axum::http::Method;
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::client::Client;

on_both! {
    what_belongs_to_others_is_not_there;
    something_new_belongs_to_the_key_s_unit;
    nothing_of_others_can_be_taken_over;
    what_concerns_everybody_needs_a_key_without_limits;
    t11_every_route_keeps_to_its_reach;
    t11_subscribers_are_for_keys_without_limits;
    t11_definitions_of_everybody_are_read_by_all_and_changed_without_limits;
    t11_a_limited_key_does_not_see_how_a_channel_does;
}

const EVERYTHING: [&str; 5] = ["operate", "author", "ingest", "read", "admin"];

fn message(unit: Value) -> Value {
    json!({ "targets": ["x"], "channel": "pager:none", "subject": "S", "body": "B", "businessUnit": unit })
}

async fn what_belongs_to_others_is_not_there(bed: TestBed) {
    let client = Client::new(&bed).await;
    let ours = client.new_key(&EVERYTHING, Some(&["nz"])).await;
    let theirs = client.new_key(&EVERYTHING, Some(&["de"])).await;
    let id = ours.post("/api/v1/notifications", message(json!("nz"))).await.expect(201)["id"].clone();
    let common = client.post("/api/v1/notifications", message(Value::Null)).await.expect(201)["id"].clone();
    client.advance("1s").await;
    let schedule = json!({ "topic": "t", "runAt": "2026-05-14T06:00:00Z", "key": "k" });
    let schedule = ours.post("/api/v1/schedules", schedule).await.expect(201)["id"].clone();
    let later = json!({ "id": "m", "sendAt": "2026-05-14T06:00:00Z", "targets": ["x"], "subject": "S", "body": "B",
        "channel": "memory:default" });
    ours.post("/api/v1/messages", later).await.expect(201);
    ours.put("/api/v1/lists/ops", json!({ "type": "pager", "targets": [] })).await.expect(200);
    ours.put("/api/v1/sources/document/1", json!({})).await.expect(200);
    ours.put("/api/v1/business-units/nz", json!({ "name": "NZ", "timeZone": "Pacific/Auckland" }))
        .await
        .expect(200);

    let id = id.as_str().unwrap();
    let paths = [
        format!("/api/v1/notifications/{id}"),
        format!("/api/v1/notifications/{id}/timeline"),
        format!("/api/v1/work/{schedule}"),
        format!("/api/v1/work/{schedule}/trace"),
        format!("/api/v1/schedules/{schedule}"),
        "/api/v1/messages/m".to_owned(),
        "/api/v1/lists/ops".to_owned(),
        "/api/v1/sources/document/1".to_owned(),
        "/api/v1/business-units/nz".to_owned(),
    ];
    for path in &paths {
        ours.get(path).await.expect(200);
        theirs.get(path).await.refused(404, "not_found");
    }
    for list in ["work", "schedules", "messages", "lists", "sources/document"] {
        let path = format!("/api/v1/{list}");
        assert!(!ours.get(&path).await.expect(200)["items"].as_array().unwrap().is_empty(), "{list}");
        assert_eq!(theirs.get(&path).await.expect(200)["items"], json!([]), "{list}");
    }
    let units = theirs.get("/api/v1/business-units").await.expect(200)["items"].clone();
    assert_eq!((units.as_array().unwrap().len(), &units[0]["id"]), (1, &json!("de")));
    // What belongs to no unit is the installation's.
    assert_eq!(theirs.get("/api/v1/notifications").await.expect(200)["items"], json!([]));
    let common = common.as_str().unwrap();
    theirs.get(&format!("/api/v1/notifications/{common}")).await.refused(404, "not_found");
    client.get(&format!("/api/v1/notifications/{common}")).await.expect(200);

    for path in [
        format!("/api/v1/notifications/{id}/retry"),
        format!("/api/v1/notifications/{common}/discard"),
        format!("/api/v1/work/{schedule}/cancel"),
    ] {
        theirs.call(Method::POST, &path, None).await.refused(404, "not_found");
    }
    let change = json!({ "runAt": "2026-05-14T09:00:00Z" });
    theirs.patch(&format!("/api/v1/schedules/{schedule}"), change).await.refused(404, "not_found");
    for path in
        ["/api/v1/messages/m", "/api/v1/lists/ops", "/api/v1/sources/document/1", "/api/v1/business-units/nz"]
    {
        theirs.delete(path).await.refused(404, "not_found");
        ours.delete(path).await.expect(204);
    }
    ours.delete(&format!("/api/v1/schedules/{schedule}")).await.expect(204);
}

async fn something_new_belongs_to_the_key_s_unit(bed: TestBed) {
    let client = Client::new(&bed).await;
    let one = client.new_key(&["ingest"], Some(&["nz"])).await;
    let two = client.new_key(&["ingest"], Some(&["nz", "au"])).await;
    let id = one.post("/api/v1/notifications", message(Value::Null)).await.expect(201)["id"].clone();
    let shown = client.get(&format!("/api/v1/notifications/{}", id.as_str().unwrap())).await.expect(200);
    assert_eq!(shown["businessUnit"], "nz");
    one.post("/api/v1/notifications", message(json!("de"))).await.refused(422, "unit_unknown");
    let missing = two.post("/api/v1/notifications", message(Value::Null)).await.refused(422, "missing_field");
    assert_eq!(missing["errors"][0]["pointer"], "/businessUnit");
    two.post("/api/v1/notifications", message(json!("au"))).await.expect(201);
    let batch = one.post("/api/v1/notifications", json!([message(json!("de"))])).await.expect(200);
    assert_eq!(batch["items"][0]["error"]["code"], "unit_unknown");
    client.advance("1s").await;
}

async fn nothing_of_others_can_be_taken_over(bed: TestBed) {
    let client = Client::new(&bed).await;
    let ours = client.new_key(&EVERYTHING, Some(&["nz"])).await;
    let theirs = client.new_key(&EVERYTHING, Some(&["de"])).await;
    let schedule = |at: &str| json!({ "topic": "t", "runAt": at, "key": "k" });
    let first = ours.post("/api/v1/schedules", schedule("2026-05-14T06:00:00Z")).await.expect(201);
    theirs.post("/api/v1/schedules", schedule("2026-05-15T06:00:00Z")).await.refused(409, "id_reused");
    let own = json!({ "topic": "t", "runAt": "2026-05-14T06:30:00Z", "key": "own" });
    let batch = json!([schedule("2026-05-15T06:00:00Z"), own]);
    let batch = theirs.post("/api/v1/schedules", batch).await.expect(200);
    assert_eq!(batch["items"][0]["error"]["code"], "id_reused");
    assert_eq!(batch["items"][1]["outcome"], "created", "a name that is taken refuses its own item alone");
    let row = client.get(&format!("/api/v1/work/{}", first["id"])).await.expect(200);
    assert_eq!((&row["dueAt"], &row["onHold"]), (&json!("2026-05-14T06:00:00Z"), &json!(false)));
    ours.put("/api/v1/lists/ops", json!({ "type": "pager", "targets": ["1"] })).await.expect(200);
    theirs
        .put("/api/v1/lists/ops", json!({ "type": "pager", "targets": ["2"] }))
        .await
        .refused(409, "id_reused");
    ours.put("/api/v1/sources/document/1", json!({ "state": { "n": 1 } })).await.expect(200);
    theirs.put("/api/v1/sources/document/1", json!({ "state": { "n": 2 } })).await.refused(409, "id_reused");
    let bulk = json!({ "items": [{ "type": "document", "id": "1" }, { "type": "document", "id": "2" }] });
    let bulk = theirs.post("/api/v1/sources", bulk).await.expect(200);
    assert_eq!(
        (&bulk["items"][0]["error"]["code"], &bulk["items"][1]["outcome"]),
        (&json!("id_reused"), &json!("accepted"))
    );
    assert_eq!(ours.get("/api/v1/lists/ops").await.expect(200)["targets"], json!(["1"]));
    assert_eq!(ours.get("/api/v1/sources/document/1").await.expect(200)["state"], json!({ "n": 1 }));
    client.advance("2h").await;
}

async fn what_concerns_everybody_needs_a_key_without_limits(bed: TestBed) {
    let client = Client::new(&bed).await;
    let limited = client.new_key(&EVERYTHING, Some(&["nz"])).await;
    let template = json!({ "defaultLocale": "en", "variants": { "en": { "subject": "S", "body": "B" } } });
    let routes = [
        (Method::POST, "/api/v1/keys", json!({ "name": "k", "scopes": ["admin"] })),
        (Method::GET, "/api/v1/keys", json!({})),
        (Method::PUT, "/api/v1/channels/email:a", json!({ "adapter": "memory" })),
        (Method::PUT, "/api/v1/templates/t", template),
        (Method::POST, "/api/v1/scheduler/tick", json!({})),
        (Method::PUT, "/api/v1/sandbox/clock", json!({ "advance": "1h" })),
        (Method::GET, "/api/v1/sandbox/sent", json!({})),
        (Method::GET, "/api/v1/notifications/kpis", json!({})),
        (Method::GET, "/metrics", json!({})),
    ];
    for (method, path, body) in routes {
        limited.call(method, path, Some(body)).await.refused(403, "scope_missing");
    }
}

/// What is shared is only read, but for what shows a template filled in.
const READ_BY_POST: &[&str] = &["/api/v1/templates/{name}/preview"];

async fn t11_every_route_keeps_to_its_reach(bed: TestBed) {
    let client = Client::new(&bed).await;
    let limited =
        client.new_key(&["operate", "author", "ingest", "read", "site", "admin"], Some(&["nz"])).await;
    let document = serde_json::to_value(punctual_api::document()).unwrap();
    let mut counts = std::collections::BTreeMap::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let what = format!("{method} {path}");
            let reach = operation["x-reach"].as_str().unwrap_or_else(|| panic!("{what} has no reach"));
            *counts.entry(reach.to_owned()).or_insert(0) += 1;
            let takes_key = operation["security"]
                .as_array()
                .is_some_and(|all| all.iter().any(|one| one["key"].is_array()));
            assert_eq!(takes_key, reach != "public", "{what}");
            if reach == "shared" {
                assert!(
                    method == "get" || READ_BY_POST.contains(&path.as_str()),
                    "{what} changes what is shared"
                );
            }
            let method: Method = method.to_uppercase().parse().unwrap();
            let path = path.replace("{key}", "no:such").replace(['{', '}'], "");
            let has_body = matches!(method, Method::POST | Method::PUT | Method::PATCH);
            let body = has_body.then(|| json!("no object"));
            let reply = limited.call(method.clone(), &path, body.clone()).await;
            if reach == "installation" {
                let refused = reply.refused(403, "scope_missing");
                assert!(
                    refused["detail"].as_str().unwrap().contains("all business units"),
                    "{what}: {refused}"
                );
            } else {
                assert!(reply.status != 403 && reply.status < 500, "{what}: {}", reply.text);
            }
            let reply = client.call(method, &path, body).await;
            assert!(reply.status != 403 && reply.status < 500, "{what} without a limit: {}", reply.text);
        }
    }
    let known: Vec<&str> = counts.keys().map(String::as_str).collect();
    assert_eq!(known, ["installation", "public", "shared", "site", "units"]);
    assert!(counts["installation"] >= 40 && counts["units"] >= 80, "{counts:?}");
}

async fn t11_subscribers_are_for_keys_without_limits(bed: TestBed) {
    let client = Client::new(&bed).await;
    let limited = client.new_key(&EVERYTHING, Some(&["nz"])).await;
    let body = json!({ "adapter": "memory", "events": ["response-completed"] });
    let path = "/api/v1/subscribers/memory:bi";
    limited.put(path, body.clone()).await.refused(403, "scope_missing");
    client.get(path).await.refused(404, "not_found");
    client.put(path, body).await.expect(200);
    limited.delete(path).await.refused(403, "scope_missing");
    limited.get(path).await.refused(403, "scope_missing");
    limited.get("/api/v1/subscribers").await.refused(403, "scope_missing");
    assert_eq!(client.get(path).await.expect(200)["version"], 1, "nothing was changed");
}

async fn t11_definitions_of_everybody_are_read_by_all_and_changed_without_limits(bed: TestBed) {
    let client = Client::new(&bed).await;
    let limited = client.new_key(&EVERYTHING, Some(&["nz"])).await;
    let list = json!({ "type": "pager", "targets": ["1"] });
    client.put("/api/v1/lists/all", list.clone()).await.expect(200);
    client
        .put("/api/v1/business-units/de", json!({ "name": "DE", "timeZone": "Europe/Berlin" }))
        .await
        .expect(200);
    let theirs = json!({ "type": "pager", "targets": ["1"], "businessUnit": "de" });
    client.put("/api/v1/lists/theirs", theirs).await.expect(200);
    let template = json!({ "defaultLocale": "en", "variants": { "en": { "subject": "S", "body": "B" } } });
    client.put("/api/v1/templates/t", template.clone()).await.expect(200);
    for path in [
        "/api/v1/lists/all",
        "/api/v1/templates/t",
        "/api/v1/delivery-policy",
        "/api/v1/channels/memory:default",
    ] {
        limited.get(path).await.expect(200);
    }
    for (path, body) in [
        ("/api/v1/lists/all", list.clone()),
        ("/api/v1/templates/t", template),
        ("/api/v1/delivery-policy", json!({})),
        ("/api/v1/channels/memory:default", json!({ "adapter": "memory" })),
    ] {
        limited.put(path, body).await.refused(403, "scope_missing");
    }
    for path in ["/api/v1/lists/all", "/api/v1/templates/t"] {
        limited.delete(path).await.refused(403, "scope_missing");
        client.get(path).await.expect(200);
    }
    // Another unit's definition is not there, as one that never was; only its name cannot be had.
    limited.put("/api/v1/lists/theirs", list).await.refused(409, "id_reused");
    limited.delete("/api/v1/lists/theirs").await.refused(404, "not_found");
    limited.delete("/api/v1/lists/none").await.refused(404, "not_found");
}

async fn t11_a_limited_key_does_not_see_how_a_channel_does(bed: TestBed) {
    let client = Client::new(&bed).await;
    let limited = client.new_key(&["read"], Some(&["nz"])).await;
    let path = "/api/v1/channels/memory:default";
    assert_eq!(client.get(path).await.expect(200)["health"]["circuit"], "closed");
    assert_eq!(limited.get(path).await.expect(200)["health"], Value::Null);
}

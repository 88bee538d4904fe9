//! Sites: their tokens, the hand-over with an outcome for each item, and what they say about themselves.

use std::io::Write;

use axum::http::Method;
use flate2::{Compression, write::GzEncoder};
use jiff::SignedDuration;
use punctual_engine::keys::is_well_formed;
use punctual_model::Clock;
use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::{
    client::{Client, Reply},
    viewer::Viewer,
};

on_both! {
    a_site_gets_a_token_once_and_only_for_itself;
    a_token_is_rotated_with_or_without_a_gap_and_revoked;
    a_hand_over_keeps_the_good_and_names_the_bad;
    a_hand_over_may_be_compressed_within_bounds;
    an_oversized_hand_over_is_refused_whole;
    a_site_asks_for_its_own_notifications_only;
    what_a_site_says_about_itself_is_shown;
    s4_77_a_site_has_several_agents_and_each_is_shown;
    s4_78_a_status_after_the_purge_is_the_last_one;
    s4_79_the_backlog_is_what_waits_after_the_acknowledgement;
    a_site_s_event_log_is_bounded_and_newest_first;
    a_report_that_cannot_be_kept_costs_no_notification;
    the_figures_are_exact_for_each_site_and_show_the_last_purge;
    t13_what_a_site_hands_over_belongs_to_its_unit;
}

pub async fn site(client: &Client, id: &str) -> Client {
    let made = client.post("/api/v1/sites", json!({ "id": id })).await.expect(201);
    assert_eq!(made["id"], id);
    client.with_key(made["token"].as_str().unwrap())
}

fn id(number: usize) -> String {
    format!("0197a3c4-5d6e-7f80-9a1b-{number:012}")
}

fn item(number: usize) -> Value {
    json!({ "id": id(number), "list": "ops", "subject": "S", "body": "B", "enqueuedAt": "2026-05-14T05:00:00Z" })
}

fn outcomes(reply: &Value) -> Vec<&str> {
    reply["items"].as_array().unwrap().iter().map(|ack| ack["outcome"].as_str().unwrap()).collect()
}

const PLANT: &str = "/api/v1/sites/plant-7/notifications";

async fn a_site_gets_a_token_once_and_only_for_itself(bed: TestBed) {
    let client = Client::new(&bed).await;
    let made = client.post("/api/v1/sites", json!({ "id": "plant-7" })).await.expect(201);
    let token = made["token"].as_str().unwrap();
    assert!(is_well_formed(token) && token.starts_with("punctual_site_sandbox_"), "{token}");
    let again = client.post("/api/v1/sites", json!({ "id": "plant-7" })).await.refused(409, "id_reused");
    assert!(again["detail"].as_str().unwrap().contains("/rotate"), "{again}");
    for path in ["/api/v1/sites", "/api/v1/sites/plant-7", "/api/v1/keys"] {
        let reply = client.get(path).await;
        assert!(!reply.text.contains(token), "{path}");
        reply.expect(200);
    }
    let plant = client.with_key(token);
    assert_eq!(plant.get("/api/v1/site").await.expect(200), json!({ "id": "plant-7" }));
    site(&client, "plant-8").await;
    // Whether the other site exists makes no difference.
    for other in ["plant-8", "plant-9"] {
        let path = format!("/api/v1/sites/{other}/notifications");
        plant.post(&path, json!({ "items": [item(1)] })).await.refused(403, "site_mismatch");
        plant.get(&format!("{path}/{}", id(1))).await.refused(403, "site_mismatch");
    }
    plant.get("/api/v1/sites").await.refused(403, "scope_missing");
    plant.get("/api/v1/notifications").await.refused(403, "scope_missing");
    plant.post("/api/v1/notifications", json!({})).await.refused(403, "scope_missing");
    client.post(PLANT, json!({ "items": [] })).await.refused(404, "not_found");
    client.get("/api/v1/sites/nowhere").await.refused(404, "not_found");
    client.get("/api/v1/sites/nowhere/events").await.refused(404, "not_found");
    client.post("/api/v1/sites/nowhere/rotate", json!({})).await.refused(404, "not_found");
    client.post("/api/v1/sites/nowhere/revoke", json!({})).await.refused(404, "not_found");
    client.post("/api/v1/sites", json!({ "id": "../x" })).await.refused(422, "key_invalid");
    assert!(bed.notifications().await.is_empty());
}

async fn a_token_is_rotated_with_or_without_a_gap_and_revoked(bed: TestBed) {
    let client = Client::new(&bed).await;
    let first = site(&client, "plant-7").await;
    let rotate = async |body: Value| {
        let made = client.post("/api/v1/sites/plant-7/rotate", body).await.expect(200);
        client.with_key(made["token"].as_str().unwrap())
    };
    let second = rotate(json!({ "keepOldSeconds": 60 })).await;
    first.get("/api/v1/site").await.expect(200);
    second.get("/api/v1/site").await.expect(200);
    client.wall.set(client.wall.now() + SignedDuration::from_secs(60));
    first.get("/api/v1/site").await.refused(401, "auth_failed");
    second.get("/api/v1/site").await.expect(200);
    let third = rotate(json!({})).await;
    second.get("/api/v1/site").await.refused(401, "auth_failed");
    let site = client.post("/api/v1/sites/plant-7/revoke", json!({})).await.expect(200);
    assert_eq!(site["revokedAt"], client.wall.now().to_string());
    third.post(PLANT, json!({ "items": [item(1)] })).await.refused(401, "auth_failed");
    let fourth = rotate(json!({})).await;
    fourth.get("/api/v1/site").await.expect(200);
    assert_eq!(client.get("/api/v1/sites/plant-7").await.expect(200)["revokedAt"], Value::Null);
    client
        .post("/api/v1/sites/plant-7/rotate", json!({ "keepOldSeconds": -1 }))
        .await
        .refused(422, "out_of_range");
    assert_eq!(bed.audit("site", "plant-7").await, ["create", "rotate", "rotate", "revoke", "rotate"]);
}

async fn a_hand_over_keeps_the_good_and_names_the_bad(bed: TestBed) {
    let client = Client::new(&bed).await;
    let plant = site(&client, "plant-7").await;
    let mut other_body = item(1);
    other_body["body"] = "other".into();
    let bad = json!({ "id": id(9), "list": "ops", "subject": "a\nb", "body": "B" });
    let items = json!([item(2), item(1), other_body, item(1), bad, { "id": "x" }, 7, item(3)]);
    let reply = plant.post(PLANT, json!({ "items": items, "later": true })).await.expect(200);
    let expected =
        ["stored", "stored", "conflict", "duplicate", "rejected", "rejected", "rejected", "stored"];
    assert_eq!(outcomes(&reply), expected);
    let codes: Vec<_> = reply["items"].as_array().unwrap().iter().map(|ack| ack["code"].as_str()).collect();
    let refused = [Some("subject_invalid"), Some("key_invalid"), Some("wrong_type")];
    assert_eq!(codes, [&[None, None, Some("id_reused"), None], &refused[..], &[None]].concat());
    assert_eq!(reply["items"][4]["id"], id(9));
    assert_eq!(reply["items"][0]["digest"].as_str().map(str::len), Some(16));
    // In the site's order, not in that of the ids.
    let mut rows = bed.notifications().await;
    rows.reverse();
    let ids: Vec<String> = rows.iter().map(|row| row.id.to_string()).collect();
    assert_eq!(ids, [id(2), id(1), id(3)]);
    assert_eq!(rows[0].source_site.as_deref(), Some("plant-7"));
    // A replay changes nothing.
    let replay = plant.post(PLANT, json!({ "items": [item(2), item(1), item(3)] })).await.expect(200);
    assert_eq!(outcomes(&replay), ["duplicate"; 3]);
    assert_eq!(bed.notifications().await.len(), 3);
    bed.tick().await;
    // The list is not defined, so they are parked; a parked or purged id is as well known as a live one.
    assert_eq!(outcomes(&plant.post(PLANT, json!({ "items": [item(1)] })).await.expect(200)), ["duplicate"]);
    bed.wait(366 * 24 * 3_600);
    assert_eq!(bed.engine.purge(bed.now()).await.unwrap().removed, 3);
    assert_eq!(outcomes(&plant.post(PLANT, json!({ "items": [item(1)] })).await.expect(200)), ["duplicate"]);
}

async fn t13_what_a_site_hands_over_belongs_to_its_unit(bed: TestBed) {
    let client = Client::new(&bed).await;
    let nz = client.new_key(&["read"], Some(&["nz"])).await;
    let bad = json!({ "id": "plant-7", "businessUnit": "no-such" });
    client.post("/api/v1/sites", bad).await.refused(422, "unit_unknown");
    client.get("/api/v1/sites/plant-7").await.refused(404, "not_found");
    let list = json!({ "type": "memory", "targets": ["a"], "businessUnit": "nz" });
    client.put("/api/v1/lists/ops", list).await.expect(200);
    let plant = site(&client, "plant-7").await;
    plant.post(PLANT, json!({ "items": [item(1)] })).await.expect(200);
    let path = "/api/v1/sites/plant-7";
    client.patch(path, json!({ "businessUnit": "no-such" })).await.refused(422, "unit_unknown");
    let moved = client.patch(path, json!({ "businessUnit": "nz" })).await.expect(200);
    assert_eq!((&moved["businessUnit"], client.get(path).await.expect(200)), (&json!("nz"), moved.clone()));
    // A resend after the move is the same notification, and stays where it was.
    let again = plant.post(PLANT, json!({ "items": [item(1), item(2)] })).await.expect(200);
    assert_eq!(outcomes(&again), ["duplicate", "stored"]);
    bed.tick().await;
    let seen = nz.get("/api/v1/notifications").await.expect(200);
    let seen = seen["items"].as_array().unwrap();
    assert_eq!(seen.iter().map(|row| &row["id"]).collect::<Vec<_>>(), [&json!(id(2))]);
    assert_eq!((&seen[0]["businessUnit"], &seen[0]["status"]), (&json!("nz"), &json!("delivered")));
    assert_eq!(bed.notification(&id(1)).await.reason_code.as_deref(), Some("list-unknown"));
    // Nobody else hands in under a site's name.
    let forged = json!({ "list": "ops", "subject": "S", "body": "B", "source": { "site": "plant-7" } });
    let refused = client.post("/api/v1/notifications", forged).await.refused(422, "unknown_field");
    assert_eq!(refused["errors"][0]["pointer"], "/source/site");
    client.patch(path, json!({ "businessUnit": null })).await.expect(200);
    client.patch("/api/v1/sites/nowhere", json!({})).await.refused(404, "not_found");
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

async fn a_hand_over_may_be_compressed_within_bounds(bed: TestBed) {
    let client = Client::with(&bed, |state| state.options.bulk_body_limit = 20_000).await;
    let plant = site(&client, "plant-7").await;
    let headers = [("content-type", "application/json"), ("content-encoding", "gzip")];
    let send = async |path: &str, headers: &[(&str, &str)], body: Vec<u8>| -> Reply {
        plant.send(Method::POST, path, headers, body).await
    };
    let body = json!({ "items": [item(1)] }).to_string();
    assert_eq!(outcomes(&send(PLANT, &headers, gzip(&body)).await.expect(200)), ["stored"]);
    let (start, end) = body.split_at(20);
    let two_streams = [gzip(start), gzip(end)].concat();
    assert_eq!(outcomes(&send(PLANT, &headers, two_streams).await.expect(200)), ["duplicate"]);
    // A few bytes that become many are refused before they do.
    let bomb = gzip(&format!("{{\"items\":[],\"x\":\"{}\"}}", "x".repeat(1 << 20)));
    assert!(bomb.len() < 20_000);
    send(PLANT, &headers, bomb).await.refused(413, "body_too_large");
    send(PLANT, &headers, body.clone().into_bytes()).await.refused(415, "content_encoding");
    let cut = gzip(&body);
    send(PLANT, &headers, cut[..cut.len() - 9].to_vec()).await.refused(415, "content_encoding");
    let brotli = [("content-type", "application/json"), ("content-encoding", "br")];
    send(PLANT, &brotli, vec![1]).await.refused(415, "content_encoding");
    let elsewhere = client.send(Method::POST, "/api/v1/notifications", &headers, gzip(&body)).await;
    elsewhere.refused(415, "content_encoding");
    bed.leaves_open("nothing is delivered here");
}

async fn an_oversized_hand_over_is_refused_whole(bed: TestBed) {
    let client = Client::new(&bed).await;
    let plant = site(&client, "plant-7").await;
    let many: Vec<Value> = (0..10_001).map(|_| json!(0)).collect();
    let problem = plant.post(PLANT, json!({ "items": many })).await.refused(413, "batch_too_large");
    assert_eq!(problem["limit"], 10_000);
    plant.post(PLANT, json!({})).await.refused(422, "missing_field");
    plant.post(PLANT, json!({ "items": 7 })).await.refused(422, "wrong_type");
    let most: Vec<Value> = (0..10_000).map(item).collect();
    let reply = plant.post(PLANT, json!({ "items": most })).await.expect(200);
    assert!(outcomes(&reply).iter().all(|outcome| *outcome == "stored"));
    assert_eq!(client.get("/api/v1/notifications/kpis").await.expect(200)["queueDepth"], 10_000);
    bed.leaves_open("nothing is delivered here");
}

async fn a_site_asks_for_its_own_notifications_only(bed: TestBed) {
    let client = Client::new(&bed).await;
    let (plant, other) = (site(&client, "plant-7").await, site(&client, "plant-8").await);
    plant.post(PLANT, json!({ "items": [item(1)] })).await.expect(200);
    let found = plant.get(&format!("{PLANT}/{}", id(1).to_uppercase())).await.expect(200);
    let expected = json!({ "id": id(1), "status": "pending", "retryCount": 0, "lastError": null,
        "reasonCode": null, "enqueuedAt": "2026-05-14T05:00:00Z", "deliveredAt": null });
    assert_eq!(found, expected);
    other.get(&format!("/api/v1/sites/plant-8/notifications/{}", id(1))).await.refused(404, "not_found");
    plant.get(&format!("{PLANT}/{}", id(2))).await.refused(404, "not_found");
    bed.leaves_open("nothing is delivered here");
}

fn event(number: usize, count: i64, last_at: &str) -> Value {
    json!({ "id": id(number), "category": "notification", "kind": "forward-failed", "at": "2029-12-31T00:00:00Z",
            "lastAt": last_at, "count": count, "detail": "no answer" })
}

async fn what_a_site_says_about_itself_is_shown(bed: TestBed) {
    let client = Client::new(&bed).await;
    let plant = site(&client, "plant-7").await;
    let before = client.get("/api/v1/sites/plant-7").await.expect(200);
    assert_eq!((&before["lastContactAt"], &before["backlog"]), (&Value::Null, &Value::Null));
    let report = |sent_at: &str, events: Value| {
        json!({ "items": [], "report": { "version": "0.1.0", "sentAt": sent_at, "backlog": 7,
            "oldestBufferedAgeSeconds": 42, "refused": 1, "events": events } })
    };
    let events = json!([event(1, 2, "2029-12-31T00:10:00Z")]);
    plant.post(PLANT, report("2029-12-31T23:59:58Z", events)).await.expect(200);
    let site = client.get("/api/v1/sites/plant-7").await.expect(200);
    let shown: Vec<&Value> = [
        "version",
        "backlog",
        "oldestBufferedAgeSeconds",
        "refused",
        "clockOffsetMs",
        "clockSuspect",
        "lastContactAt",
    ]
    .map(|name| &site[name])
    .to_vec();
    assert_eq!(json!(shown), json!(["0.1.0", 7, 42, 1, 2_000, false, "2030-01-01T00:00:00Z"]));
    // What goes on moves on; what is late or doubled does not move it back.
    let later = json!([event(1, 5, "2029-12-31T01:00:00Z"), event(1, 9, "2029-12-31T02:00:00Z")]);
    plant.post(PLANT, report("2028-01-01T00:00:00Z", later)).await.expect(200);
    plant
        .post(PLANT, report("2030-01-01T00:00:00Z", json!([event(1, 2, "2029-12-31T00:10:00Z")])))
        .await
        .expect(200);
    let events = client.get("/api/v1/sites/plant-7/events").await.expect(200);
    assert_eq!(events["items"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&events["items"][0]["count"], &events["items"][0]["lastAt"]),
        (&5.into(), &"2029-12-31T01:00:00Z".into())
    );
    plant.post(PLANT, report("2028-01-01T00:00:00Z", json!([]))).await.expect(200);
    assert_eq!(client.get("/api/v1/sites/plant-7").await.expect(200)["clockSuspect"], true);
}

async fn a_site_s_event_log_is_bounded_and_newest_first(bed: TestBed) {
    let client = Client::new(&bed).await;
    let plant = site(&client, "plant-7").await;
    for start in (0..1_200).step_by(200) {
        let events: Vec<Value> = (start..start + 200).map(|n| event(n, 1, "2029-12-31T00:10:00Z")).collect();
        plant.post(PLANT, json!({ "items": [], "report": { "events": events } })).await.expect(200);
    }
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("/api/v1/sites/plant-7/events?limit=200{cursor}")).await.expect(200);
        let items = page["items"].as_array().unwrap();
        found.extend(items.iter().map(|event| event["id"].as_str().unwrap().to_owned()));
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(found.len(), 1_000);
    assert_eq!((found[0].as_str(), found[999].as_str()), (&*id(1_199), &*id(200)));
}

async fn a_report_that_cannot_be_kept_costs_no_notification(bed: TestBed) {
    let client = Client::new(&bed).await;
    let plant = site(&client, "plant-7").await;
    plant.post(PLANT, json!({ "items": [] })).await.expect(200);
    bed.faults.fail("sites.touch", false, 1);
    assert_eq!(outcomes(&plant.post(PLANT, json!({ "items": [item(1)] })).await.expect(200)), ["stored"]);
    bed.faults.fail("notifications.insert_absent", false, 1);
    plant.post(PLANT, json!({ "items": [item(2)] })).await.refused(503, "storage_unavailable");
    assert_eq!(bed.notifications().await.len(), 1);
    bed.leaves_open("nothing is delivered here");
}

async fn the_figures_are_exact_for_each_site_and_show_the_last_purge(bed: TestBed) {
    let client = Client::new(&bed).await;
    let (plant, other) = (site(&client, "plant-7").await, site(&client, "plant-8").await);
    bed.list("ops", "memory:default", &["someone"]).await;
    plant.post(PLANT, json!({ "items": [item(1), item(2)] })).await.expect(200);
    bed.tick().await;
    let mut nobody = item(3);
    nobody["list"] = "nobody".into();
    other.post("/api/v1/sites/plant-8/notifications", json!({ "items": [nobody] })).await.expect(200);
    bed.tick().await;
    plant.post(PLANT, json!({ "items": [item(4)] })).await.expect(200);
    let kpis = client.get("/api/v1/notifications/kpis").await.expect(200);
    assert_eq!(
        (&kpis["queueDepth"], &kpis["parkedCount"], &kpis["deliveredLastInterval"]),
        (&1.into(), &1.into(), &2.into())
    );
    let by_site: Vec<Value> = kpis["bySite"]
        .as_array()
        .unwrap()
        .iter()
        .map(|site| {
            json!([site["site"], site["queueDepth"], site["parkedCount"], site["deliveredLastInterval"]])
        })
        .collect();
    assert_eq!(json!(by_site), json!([["plant-7", 1, 0, 2], ["plant-8", 0, 1, 0]]));
    let one = client.get("/api/v1/notifications/kpis?site=plant-8").await.expect(200);
    assert_eq!((&one["queueDepth"], &one["parkedCount"]), (&0.into(), &1.into()));
    assert_eq!(one["bySite"].as_array().map(Vec::len), Some(1));
    assert_eq!(kpis["lastPurge"], Value::Null);
    let now = bed.now();
    bed.engine.purge(now).await.unwrap();
    let kpis = client.get("/api/v1/notifications/kpis").await.expect(200);
    assert_eq!(kpis["lastPurge"], json!({ "at": now.to_string(), "removed": 0, "keepForDays": 365 }));
    bed.tick().await;
}

async fn s4_78_a_status_after_the_purge_is_the_last_one(bed: TestBed) {
    let client = Client::new(&bed).await;
    let plant = site(&client, "plant-7").await;
    let other = site(&client, "plant-8").await;
    plant.post(PLANT, json!({ "items": [item(1)] })).await.expect(200);
    bed.tick().await;
    let path = format!("{PLANT}/{}", id(1));
    let before = plant.get(&path).await.expect(200);
    assert_eq!((&before["status"], &before["reasonCode"]), (&json!("parked"), &json!("list-unknown")));
    bed.wait(366 * 24 * 3_600);
    assert_eq!(bed.engine.purge(bed.now()).await.unwrap().removed, 1);
    let after = plant.get(&path).await.expect(200);
    assert_eq!((&after["id"], &after["status"]), (&json!(id(1)), &json!("parked")));
    other.get(&path.replace("plant-7", "plant-8")).await.refused(404, "not_found");
    plant.get(&format!("{PLANT}/{}", id(2))).await.refused(404, "not_found");
}

async fn s4_77_a_site_has_several_agents_and_each_is_shown(bed: TestBed) {
    let client = Client::new(&bed).await;
    let plant = site(&client, "plant-7").await;
    let report = |agent: Option<&str>, backlog: i64| {
        let mut report = json!({ "backlog": backlog, "refused": 1, "version": "2.0.0" });
        if let Some(agent) = agent {
            report["agent"] = json!(agent);
        }
        json!({ "items": [], "report": report })
    };
    plant.post(PLANT, report(Some("south"), 5)).await.expect(200);
    plant.post(PLANT, report(Some("north"), 3)).await.expect(200);
    plant.post(PLANT, report(Some("south"), 4)).await.expect(200);
    let shown = client.get("/api/v1/sites/plant-7").await.expect(200);
    let agents: Vec<(&str, i64)> = shown["agents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|agent| (agent["name"].as_str().unwrap(), agent["backlog"].as_i64().unwrap()))
        .collect();
    assert_eq!(agents, [("north", 3), ("south", 4)], "{shown}");
    assert_eq!((&shown["backlog"], &shown["refused"]), (&json!(7), &json!(2)), "what waits with all of them");
    // Both hand in the same message, because a script asked the second where the first did not answer.
    for _ in 0..2 {
        plant.post(PLANT, json!({ "items": [item(1)] })).await.expect(200);
    }
    assert_eq!(bed.notifications().await.len(), 1);
    // The only agent of a site needs no name.
    let other = site(&client, "plant-8").await;
    other.post("/api/v1/sites/plant-8/notifications", report(None, 2)).await.expect(200);
    let shown = client.get("/api/v1/sites").await.expect(200);
    assert_eq!(shown["items"][1]["agents"][0]["name"], Value::Null, "{shown}");
    bed.leaves_open("what the site handed over");
}

async fn s4_79_the_backlog_is_what_waits_after_the_acknowledgement(bed: TestBed) {
    let client = Client::new(&bed).await;
    let plant = site(&client, "plant-7").await;
    let hand_over = |items: Value, backlog: i64| {
        json!({ "items": items, "report": { "backlog": backlog, "oldestBufferedAgeSeconds": 42,
            "sentAt": "2030-01-01T00:00:05Z" } })
    };
    plant.post(PLANT, hand_over(json!([item(1), item(2)]), 5)).await.expect(200);
    let shown = client.get("/api/v1/sites/plant-7").await.expect(200);
    assert_eq!((&shown["backlog"], &shown["oldestBufferedAgeSeconds"]), (&json!(3), &json!(42)));
    // Its clock is five seconds ahead of ours.
    assert_eq!(shown["clockOffsetMs"], -5_000);
    let viewer = Viewer::signed_in(&bed, &client).await;
    for page in ["/sites", "/sites/plant-7"] {
        let page = viewer.page(page).await;
        assert!(page.contains("5 s ahead") && !page.contains("behind"), "{page}");
    }
    plant.post(PLANT, hand_over(json!([item(3), item(4), item(5)]), 3)).await.expect(200);
    let shown = client.get("/api/v1/sites/plant-7").await.expect(200);
    assert_eq!((&shown["backlog"], &shown["oldestBufferedAgeSeconds"]), (&json!(0), &Value::Null));
    bed.leaves_open("nothing is delivered here");
}

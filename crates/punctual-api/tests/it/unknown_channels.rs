//! A channel that does not exist is taken with a warning, wherever a message names one, and what it names is parked.

use punctual_testkit::{TestBed, on_both};
use serde_json::{Value, json};

use crate::client::Client;

on_both! {
    a_message_for_an_unknown_channel_is_taken_with_a_warning_and_parked;
    every_item_of_a_batch_has_its_own_warnings;
    a_channel_that_another_node_made_is_known;
    a_change_of_a_message_warns_too;
}

fn to(channel: Value) -> Value {
    let mut body = json!({ "targets": ["+4915112345678"], "subject": "S", "body": "B" });
    if !channel.is_null() {
        body["channel"] = channel;
    }
    body
}

fn later(mut body: Value, id: &str) -> Value {
    (body["id"], body["sendAt"]) = (json!(id), json!("2026-05-14T09:00:00Z"));
    body
}

/// Where each warning is, with its code; that it says what becomes of the message.
fn warned(answer: &Value) -> Vec<(&str, &str)> {
    let warnings = answer["warnings"].as_array().map_or(&[][..], Vec::as_slice);
    for one in warnings {
        assert!(one["detail"].as_str().unwrap().contains("are parked until there is"), "{one}");
    }
    warnings.iter().map(|one| (one["pointer"].as_str().unwrap(), one["code"].as_str().unwrap())).collect()
}

async fn a_message_for_an_unknown_channel_is_taken_with_a_warning_and_parked(bed: TestBed) {
    let client = Client::new(&bed).await;
    let unknown = ("/channel", "channel_unknown");
    let made = client.post("/api/v1/notifications", to(json!("sms:nowhere"))).await.expect(201);
    assert_eq!(warned(&made), [unknown]);
    let of_message =
        client.post("/api/v1/messages", later(to(json!("sms:nowhere")), "m-1")).await.expect(201);
    assert_eq!(warned(&of_message), [unknown]);
    // The same again is answered alike.
    let again = client.post("/api/v1/messages", later(to(json!("sms:nowhere")), "m-1")).await.expect(200);
    assert_eq!(warned(&again), [unknown]);
    // Without a channel it is the usual one of its kind, and those of the failover count as well.
    let usual = json!({ "type": "sms", "targets": ["+4915112345678"], "subject": "S", "body": "B",
        "failover": ["memory:default", "slack:none"] });
    let usual = client.post("/api/v1/notifications", usual).await.expect(201);
    assert_eq!(warned(&usual), [unknown, ("/failover/1", "channel_unknown")]);
    let known = client.post("/api/v1/notifications", to(json!("memory:default"))).await.expect(201);
    assert_eq!(known.get("warnings"), None);
    // That of a list is for the list to say, which may be another unit's.
    let listed = json!({ "list": "nobody", "subject": "S", "body": "B" });
    assert_eq!(client.post("/api/v1/notifications", listed).await.expect(201).get("warnings"), None);
    client.advance("4h").await;
    let parked = client.get("/api/v1/notifications?status=parked").await.expect(200);
    let mut reasons: Vec<&str> =
        parked["items"].as_array().unwrap().iter().map(|one| one["reasonCode"].as_str().unwrap()).collect();
    reasons.sort_unstable();
    assert_eq!(reasons, ["list-unknown", "no-channel", "no-channel"], "{parked}");
}

async fn every_item_of_a_batch_has_its_own_warnings(bed: TestBed) {
    let client = Client::new(&bed).await;
    let items = [to(json!("memory:default")), json!({}), to(json!("sms:nowhere"))];
    let later = items.clone().map(|item| later(item, "x"));
    for (path, items) in [("/api/v1/notifications", items), ("/api/v1/messages", later)] {
        let mut items = json!(items);
        if path.ends_with("messages") {
            (items[0]["id"], items[2]["id"]) = (json!("m-1"), json!("m-2"));
        }
        let done = client.post(path, items).await.expect(200);
        let items = done["items"].as_array().unwrap();
        assert_eq!(items[1]["outcome"], "rejected", "{done}");
        let places: Vec<_> = items.iter().map(warned).collect();
        assert_eq!(places, [vec![], vec![], vec![("/2/channel", "channel_unknown")]], "{done}");
    }
    client.advance("4h").await;
}

async fn a_channel_that_another_node_made_is_known(bed: TestBed) {
    let client = Client::new(&bed).await;
    // This node has read the table, and does not read it again by itself.
    client.post("/api/v1/notifications", to(json!("memory:default"))).await.expect(201);
    let other = bed.node("b").await;
    let elsewhere = Client::on_node(&other, client.wall.clone(), |_| {}).await;
    elsewhere.put("/api/v1/channels/sms:new", json!({ "adapter": "memory" })).await.expect(200);
    let made = client.post("/api/v1/notifications", to(json!("sms:new"))).await.expect(201);
    assert_eq!(made.get("warnings"), None, "{made}");
    client.advance("1m").await;
}

async fn a_change_of_a_message_warns_too(bed: TestBed) {
    let client = Client::new(&bed).await;
    client.post("/api/v1/messages", later(to(json!("memory:default")), "m-1")).await.expect(201);
    let changed = client.patch("/api/v1/messages/m-1", json!({ "channel": "sms:nowhere" })).await.expect(200);
    assert_eq!(warned(&changed), [("/channel", "channel_unknown")]);
    let read = client.get("/api/v1/messages/m-1").await.expect(200);
    assert_eq!(read.get("warnings"), None, "of what was asked just now");
    client.advance("4h").await;
}

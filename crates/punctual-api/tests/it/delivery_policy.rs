//! The delivery policy through the API: limits and hours of channels, their health, preferences, and why a message waits.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use axum::http::Method;
use punctual_model::SendOutcome;
use punctual_testkit::{Scripted, TestBed, on_both};
use serde_json::json;

use crate::{client::Client, viewer::Viewer};

on_both! {
    limits_and_hours_are_written_and_answered;
    a_channel_shows_how_much_of_its_limits_is_used;
    a_channel_with_an_open_circuit_says_so;
    a_circuit_ends_with_its_channel_when_it_goes_elsewhere_and_when_it_is_switched_off;
    s4_80_an_outage_is_seen_in_the_figures_the_badge_and_attention_while_it_lasts;
    a_message_has_a_priority_a_topic_and_an_order_of_channels;
    a_message_that_waits_says_why_and_until_when;
    other_hours_of_a_channel_hold_for_what_waits_already;
    other_limits_of_a_channel_hold_for_what_waits_already;
    what_waits_for_the_hours_of_one_channel_does_not_keep_them_on_the_next_one_of_its_list;
    lists_and_figures_distinguish_what_waits_from_what_is_stuck;
    what_a_person_wants_is_put_found_by_every_address_and_forgotten;
    what_holds_for_everybody_is_put_and_used;
    a_link_to_a_person_s_page_is_given_to_authors;
}

async fn limits_and_hours_are_written_and_answered(bed: TestBed) {
    let client = Client::new(&bed).await;
    let body = json!({ "adapter": "memory", "limits": { "rates": [{ "max": 30, "per": "1m" }], "provider": "acme",
            "providerRates": [{ "max": 5, "per": "1s" }] }, "quietHours": { "from": "22:00", "to": "07:00" },
        "sendWindow": { "days": ["mon"], "from": "08:00", "to": "18:00" }, "timeZone": "Europe/Berlin" });
    let put = client.put("/api/v1/channels/memory:slow", body.clone()).await.expect(200);
    for field in ["limits", "quietHours", "sendWindow", "timeZone"] {
        assert_eq!(put[field], body[field], "{field}");
    }
    let got = client.get("/api/v1/channels/memory:slow").await.expect(200);
    assert_eq!(got["limits"], body["limits"]);
    assert_eq!(got["health"]["circuit"], "closed");
    let listed = client.get("/api/v1/channels").await.expect(200);
    assert!(listed["items"].as_array().unwrap().iter().all(|channel| channel.get("health").is_none()));
    let plain = client.put("/api/v1/channels/memory:slow", json!({ "adapter": "memory" })).await.expect(200);
    assert!(plain.get("limits").is_none(), "{plain}");
    let odd = json!({ "adapter": "memory", "limits": { "rates": [{ "max": 0, "per": "1m" }] } });
    let refused = client.put("/api/v1/channels/memory:slow", odd).await.refused(422, "out_of_range");
    assert_eq!(refused["errors"][0]["pointer"], "/limits/rates/0/max");
}

async fn a_channel_shows_how_much_of_its_limits_is_used(bed: TestBed) {
    let client = Client::new(&bed).await;
    let body = json!({ "adapter": "memory", "limits": { "rates": [{ "max": 2, "per": "1h" }] } });
    client.put("/api/v1/channels/memory:slow", body).await.expect(200);
    bed.accept((0..5).map(|n| bed.message_over("memory:slow", &[&format!("{n}@x.example")])).collect()).await;
    bed.tick().await;
    let got = client.get("/api/v1/channels/memory:slow").await.expect(200);
    let rate = &got["health"]["rates"][0];
    assert_eq!(
        (&rate["limiter"], &rate["used"], &rate["per"]),
        (&json!("channel:memory:slow"), &json!(2), &json!("1h"))
    );
    assert!(rate["nextAt"].as_str().unwrap() >= "2026-05-14T06:00:00Z", "{rate}");
    bed.leaves_open("they wait for an hour");
}

async fn a_channel_with_an_open_circuit_says_so(bed: TestBed) {
    let bed = bed.with(|bed| {
        bed.adapter(Scripted::new("down", |_| SendOutcome::Transient {
            error: "503".into(),
            retry_after: None,
        }))
    });
    bed.channel("down:default", "down").await;
    let client = Client::new(&bed).await;
    bed.accept((0..30).map(|n| bed.message_over("down:default", &[&format!("{n}@x.example")])).collect())
        .await;
    bed.engine.delivery_tick(bed.now(), 10).await.unwrap();
    let health = &client.get("/api/v1/channels/down:default").await.expect(200)["health"];
    assert_eq!(
        (&health["circuit"], &health["openCount"], &health["lastError"]),
        (&json!("open"), &json!(1), &json!("503"))
    );
    assert_eq!(health["openUntil"], "2026-05-14T05:00:30Z");
    let healthy = client.get("/api/v1/channels/memory:default").await.expect(200);
    assert_eq!(healthy["health"]["circuit"], "closed");
    let waiting = bed.notifications().await.into_iter().find(|row| row.status.as_str() == "pending").unwrap();
    let last = waiting.id;
    let waits = client.get(&format!("/api/v1/notifications/{last}")).await.expect(200);
    assert_eq!(
        (&waits["reasonCode"], &waits["nextAttemptAt"]),
        (&json!("circuit-open"), &json!("2026-05-14T05:00:30Z"))
    );
    let metrics = client.get("/metrics").await;
    assert!(
        metrics.text.contains("punctual_channel_circuit_open{channel=\"down:default\"} 1"),
        "{}",
        metrics.text
    );
    bed.wait(30);
    let channel = client.get("/api/v1/channels/down:default").await.expect(200);
    assert_eq!(channel["health"]["circuit"], "halfOpen");
    bed.leaves_open("nothing leaves");
}

async fn s4_80_an_outage_is_seen_in_the_figures_the_badge_and_attention_while_it_lasts(bed: TestBed) {
    let is_down = Arc::new(AtomicBool::new(true));
    let down = is_down.clone();
    let bed = bed.with(|bed| {
        bed.adapter(Scripted::new("down", move |_| match down.load(Ordering::Relaxed) {
            true => SendOutcome::Transient { error: "503".into(), retry_after: None },
            false => SendOutcome::Delivered { provider_id: "1".into() },
        }))
    });
    bed.channel_with(
        "down:default",
        "down",
        json!({ "policy": "fixed", "max": 100, "intervalSeconds": 60 }),
        false,
    )
    .await;
    let client = Client::new(&bed).await;
    bed.accept((0..30).map(|n| bed.message_over("down:default", &[&format!("{n}@x.example")])).collect())
        .await;
    client.advance("80m").await;
    let kpis = client.get("/api/v1/notifications/kpis").await.expect(200);
    assert_eq!(
        (&kpis["stuckCount"], &kpis["queueDepth"], &kpis["parkedCount"]),
        (&json!(30), &json!(30), &json!(0))
    );
    let needs = client.get("/api/v1/attention").await.expect(200);
    let items = needs["items"].as_array().unwrap();
    let circuit = items.iter().find(|item| item["kind"] == "circuit").unwrap_or_else(|| panic!("{needs}"));
    assert_eq!((&circuit["title"], &needs["counts"]["circuit"]), (&json!("down:default"), &json!(1)));
    assert!(circuit["reason"].as_str().unwrap().contains("503"), "{circuit}");
    let viewer = Viewer::signed_in(&bed, &client).await;
    let overview = viewer.page("/").await;
    let badge = overview.split("href=\"/attention\"").nth(1).unwrap().split("</a>").next().unwrap();
    assert!(badge.contains(&format!(">{}<", needs["counts"]["total"])), "{badge}");
    assert!(viewer.page("/attention").await.contains("down:default"));
    assert_eq!(viewer.page("/outbox?stuck=1").await.matches("data-row=\"").count(), 30);
    // It is over: nothing is left of it.
    is_down.store(false, Ordering::Relaxed);
    client.advance("2h").await;
    let kpis = client.get("/api/v1/notifications/kpis").await.expect(200);
    assert_eq!((&kpis["stuckCount"], &kpis["queueDepth"]), (&json!(0), &json!(0)));
    assert_eq!(client.get("/api/v1/attention").await.expect(200)["items"], json!([]));
}

async fn a_message_has_a_priority_a_topic_and_an_order_of_channels(bed: TestBed) {
    let client = Client::new(&bed).await;
    let body = json!({ "targets": ["a@example.org"], "channel": "memory:default", "subject": "S", "body": "B",
        "priority": "alarm", "topic": "outages", "failover": ["email:default"] });
    let made = client.post("/api/v1/notifications", body.clone()).await.expect(201);
    let got =
        client.get(&format!("/api/v1/notifications/{}", made["id"].as_str().unwrap())).await.expect(200);
    for field in ["priority", "topic", "failover"] {
        assert_eq!(got[field], body[field], "{field}");
    }
    let odd = |field: &str, value: serde_json::Value| {
        let mut odd = body.clone();
        odd[field] = value;
        odd
    };
    client.post("/api/v1/notifications", odd("priority", json!("urgent"))).await.refused(422, "out_of_range");
    client.post("/api/v1/notifications", odd("failover", json!(["sms"]))).await.refused(422, "key_invalid");
    let again = json!({ "id": made["id"], "targets": ["a@example.org"], "channel": "memory:default", "subject": "S",
        "body": "B", "topic": "other" });
    client.post("/api/v1/notifications", again).await.refused(409, "id_reused");
    bed.tick().await;
}

async fn a_message_that_waits_says_why_and_until_when(bed: TestBed) {
    let client = Client::new(&bed).await;
    let body = json!({ "adapter": "memory", "quietHours": { "from": "04:00", "to": "06:00" } });
    client.put("/api/v1/channels/memory:night", body).await.expect(200);
    let id = bed.accept_one(bed.message_over("memory:night", &["a@example.org"])).await;
    bed.tick().await;
    let got = client.get(&format!("/api/v1/notifications/{id}")).await.expect(200);
    assert_eq!(
        (&got["reasonCode"], &got["nextAttemptAt"]),
        (&json!("quiet-hours"), &json!("2026-05-14T06:00:00Z"))
    );
    let story = client.get(&format!("/api/v1/notifications/{id}/timeline")).await.expect(200);
    let reported =
        story["items"].as_array().unwrap().iter().any(|item| item["data"]["reason"] == "quiet-hours");
    assert!(reported, "{story}");
    bed.run_for(3600).await;
}

async fn lists_and_figures_distinguish_what_waits_from_what_is_stuck(bed: TestBed) {
    let client = Client::new(&bed).await;
    let slow = json!({ "adapter": "memory", "limits": { "rates": [{ "max": 1, "per": "2h" }] } });
    client.put("/api/v1/channels/memory:slow", slow).await.expect(200);
    let night = json!({ "adapter": "memory", "quietHours": { "from": "04:00", "to": "07:00" } });
    client.put("/api/v1/channels/memory:night", night).await.expect(200);
    bed.accept((0..3).map(|n| bed.message_over("memory:slow", &[&format!("{n}@x.example")])).collect()).await;
    bed.accept_one(bed.message_over("memory:night", &["a@x.example"])).await;
    bed.run_for(1800).await;
    // Handed in, and nobody has taken it up: this one is stuck.
    bed.accept_one(bed.message_over("memory:default", &["b@x.example"])).await;
    bed.wait(1200);

    let listed = client.get("/api/v1/notifications").await.expect(200);
    let reported: Vec<(&str, &str, &str)> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| {
            let text = |name: &str| item[name].as_str().unwrap_or_default();
            (text("channel"), text("reasonCode"), text("status"))
        })
        .collect();
    let held = ("memory:slow", "rate-limited", "pending");
    let expected = [
        ("memory:default", "", "pending"),
        ("memory:night", "quiet-hours", "pending"),
        held,
        held,
        ("memory:slow", "", "delivered"),
    ];
    assert_eq!(reported, expected);
    for (item, until) in [(1, "2026-05-14T07:00:00Z"), (2, "2026-05-14T07:0")] {
        let found = listed["items"][item]["nextAttemptAt"].as_str().unwrap();
        assert!(found.starts_with(until), "{found}");
    }
    let stuck = client.get("/api/v1/notifications?stuck=true").await.expect(200);
    let channels: Vec<&str> =
        stuck["items"].as_array().unwrap().iter().map(|item| item["channel"].as_str().unwrap()).collect();
    assert_eq!(channels, ["memory:default"]);
    let kpis = client.get("/api/v1/notifications/kpis").await.expect(200);
    assert_eq!(
        (&kpis["queueDepth"], &kpis["stuckCount"], &kpis["waitingCount"]),
        (&json!(4), &json!(1), &json!(3)),
        "{kpis}"
    );
    let metrics = client.get("/metrics").await.text;
    for line in ["notifications_stuck\"} 1", "notifications_waiting\"} 3"] {
        assert!(metrics.contains(&format!("punctual_rows{{state=\"{line}")), "{line}: {metrics}");
    }
    bed.leaves_open("they wait");
}

async fn what_a_person_wants_is_put_found_by_every_address_and_forgotten(bed: TestBed) {
    let client = Client::new(&bed).await;
    let body = json!({ "timeZone": "Europe/Berlin", "addresses": { "email": "Ann@example.org", "sms": "+49 30 1234567" },
        "topics": { "offers": { "subscribed": false } } });
    let put = client.put("/api/v1/preferences/ann", body).await.expect(200);
    assert_eq!(
        (&put["person"], &put["version"], &put["addresses"]["sms"]),
        (&json!("ann"), &json!(1), &json!("+49301234567"))
    );
    for name in ["ann", "ann@example.org", "ANN@EXAMPLE.ORG", "+49301234567"] {
        let got = client.get(&format!("/api/v1/preferences/{name}")).await.expect(200);
        assert_eq!(got["person"], "ann", "{name}");
    }
    client.get("/api/v1/preferences/bob").await.refused(404, "not_found");
    client.put("/api/v1/preferences/ann", json!({ "colour": 1 })).await.refused(422, "unknown_field");
    let again =
        client.put("/api/v1/preferences/ann@example.org", json!({ "locale": "de" })).await.expect(200);
    assert_eq!((&again["person"], &again["version"]), (&json!("ann"), &json!(2)));
    client.get("/api/v1/preferences/+49301234567").await.refused(404, "not_found");
    let listed = client.get("/api/v1/preferences").await.expect(200);
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    client.call(Method::DELETE, "/api/v1/preferences/ann", None).await.expect(204);
    client.call(Method::DELETE, "/api/v1/preferences/ann", None).await.refused(404, "not_found");
    let limited = client.new_key(&["author"], Some(&["nz"])).await;
    limited.put("/api/v1/preferences/ann", json!({})).await.refused(403, "scope_missing");
}

async fn what_holds_for_everybody_is_put_and_used(bed: TestBed) {
    let client = Client::new(&bed).await;
    assert_eq!(client.get("/api/v1/delivery-policy").await.expect(200), json!({}));
    let body =
        json!({ "dailyCap": 1, "digestAt": "07:00", "topics": [{ "name": "offers", "title": "Offers" }] });
    assert_eq!(client.put("/api/v1/delivery-policy", body.clone()).await.expect(200), body);
    assert_eq!(client.get("/api/v1/delivery-policy").await.expect(200), body);
    bed.accept_to(&["ann@example.org", "ann@example.org"]).await;
    bed.tick().await;
    assert_eq!(bed.sent().len(), 1);
    bed.run_for(2 * 86_400).await;
    assert_eq!(bed.sent().len(), 2, "and the digest");
    client.put("/api/v1/delivery-policy", json!({ "dailyCap": 0 })).await.refused(422, "out_of_range");
}

async fn a_link_to_a_person_s_page_is_given_to_authors(bed: TestBed) {
    let client = Client::new(&bed).await;
    let made = client.call(Method::POST, "/api/v1/preferences/ann@example.org/link", None).await.expect(200);
    let token = made["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    assert_eq!(bed.engine.preference_holder(&token).unwrap().address, "ann@example.org");
}

/// A channel in its quiet hours: it is five in the morning.
async fn quiet(client: &Client, from: &str, to: &str) {
    let body = json!({ "adapter": "memory", "quietHours": { "from": from, "to": to }, "timeZone": "UTC" });
    client.put("/api/v1/channels/email:quiet", body).await.expect(200);
}

async fn waits(client: &Client, id: &str) -> (String, String) {
    let row = client.get(&format!("/api/v1/notifications/{id}")).await.expect(200);
    let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    (text("reasonCode"), text("nextAttemptAt"))
}

async fn other_hours_of_a_channel_hold_for_what_waits_already(bed: TestBed) {
    let client = Client::new(&bed).await;
    quiet(&client, "04:00", "09:00").await;
    let message =
        json!({ "targets": ["a@b.example"], "channel": "email:quiet", "subject": "s", "body": "b" });
    let made = client.post("/api/v1/notifications", message.clone()).await.expect(201);
    let id = made["id"].as_str().unwrap();
    // More than one batch.
    for _ in 0..3 {
        client.post("/api/v1/notifications", json!(vec![message.clone(); 500])).await.expect(200);
    }
    bed.run_for(1).await;
    assert_eq!(waits(&client, id).await, ("quiet-hours".into(), "2026-05-14T09:00:00Z".into()));
    // Longer hours, then none.
    quiet(&client, "04:00", "10:30").await;
    bed.run_for(3).await;
    assert_eq!(waits(&client, id).await, ("quiet-hours".into(), "2026-05-14T10:30:00Z".into()));
    assert_eq!(bed.sent().len(), 0);
    client.put("/api/v1/channels/email:quiet", json!({ "adapter": "memory" })).await.expect(200);
    bed.run_for(3).await;
    assert_eq!(bed.sent().len(), 1501);
    assert_eq!(client.get("/api/v1/notifications/kpis").await.expect(200)["waitingCount"], 0);
}

async fn what_waits_for_the_hours_of_one_channel_does_not_keep_them_on_the_next_one_of_its_list(
    bed: TestBed,
) {
    let client = Client::new(&bed).await;
    quiet(&client, "04:00", "09:00").await;
    let list = |channel: &str| json!({ "type": "email", "channel": channel, "targets": ["a@b.example"] });
    client.put("/api/v1/lists/ops", list("email:quiet")).await.expect(200);
    let message = json!({ "list": "ops", "subject": "s", "body": "b" });
    let made = client.post("/api/v1/notifications", message).await.expect(201);
    let id = made["id"].as_str().unwrap();
    bed.run_for(1).await;
    assert_eq!(waits(&client, id).await.0, "quiet-hours");
    client.put("/api/v1/lists/ops", list("memory:default")).await.expect(200);
    assert_eq!(waits(&client, id).await.0, "");
    bed.run_for(1).await;
    assert_eq!(bed.sent().len(), 1);
}

async fn other_limits_of_a_channel_hold_for_what_waits_already(bed: TestBed) {
    let client = Client::new(&bed).await;
    let limited =
        |max: i64| json!({ "adapter": "memory", "limits": { "rates": [{ "max": max, "per": "1d" }] } });
    client.put("/api/v1/channels/memory:slow", limited(1)).await.expect(200);
    bed.accept((0..5).map(|n| bed.message_over("memory:slow", &[&format!("{n}@x.example")])).collect()).await;
    bed.run_for(10).await;
    assert_eq!(bed.sent().len(), 1);
    client.put("/api/v1/channels/memory:slow", limited(3)).await.expect(200);
    bed.run_for(10).await;
    assert_eq!(bed.sent().len(), 3);
    client.put("/api/v1/channels/memory:slow", json!({ "adapter": "memory" })).await.expect(200);
    bed.run_for(10).await;
    assert_eq!(bed.sent().len(), 5);
}

async fn a_circuit_ends_with_its_channel_when_it_goes_elsewhere_and_when_it_is_switched_off(bed: TestBed) {
    let bed = bed.with(|bed| {
        bed.adapter(Scripted::new("down", |_| SendOutcome::Transient {
            error: "503".into(),
            retry_after: None,
        }))
    });
    let client = Client::new(&bed).await;
    let path = "/api/v1/channels/down:default";
    let open = async || client.get("/api/v1/attention").await.expect(200)["counts"]["circuit"].clone();
    let break_down = async || {
        client.put(path, json!({ "adapter": "down" })).await.expect(200);
        bed.accept((0..60).map(|n| bed.message_over("down:default", &[&format!("{n}@x.example")])).collect())
            .await;
        bed.run_for(1).await;
        assert_eq!(open().await, 1);
    };
    break_down().await;
    client.put(path, json!({ "adapter": "down" })).await.expect(200);
    assert_eq!(open().await, 1, "the same again is as broken");
    client.put(path, json!({ "adapter": "memory" })).await.expect(200);
    assert_eq!(open().await, 0);
    let before = bed.sent().len();
    bed.run_for(3).await;
    assert!(bed.sent().len() > before, "what waited for the circuit goes at once");
    bed.run_for(120).await;

    break_down().await;
    client.put(path, json!({ "adapter": "down", "circuit": false })).await.expect(200);
    assert_eq!(open().await, 0);
    assert_eq!(client.get(path).await.expect(200)["health"]["circuit"], "closed");

    break_down().await;
    client.call(Method::DELETE, path, None).await.expect(204);
    assert_eq!(open().await, 0);
    bed.leaves_open("some are retried");
}

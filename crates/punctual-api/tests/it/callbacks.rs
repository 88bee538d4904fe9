//! Calls of providers over HTTP: without a key, signed, in batches, again and again, and by strangers.

use axum::http::Method;
use punctual_channels::{
    AllowList, Dialog360Adapter, Guard, SendGridAdapter, SmsGatewayAdapter, Trust, TwilioAdapter,
    WhatsAppCloudAdapter,
};
use punctual_model::SendOutcome;
use punctual_store::receipts::{self, Expected};
use punctual_testkit::{Scripted, TestBed, TestBedBuilder, on_both};
use serde_json::{Value, json};

use crate::client::{Client, Reply};

on_both! {
    a_message_is_taken_confirmed_and_comes_back;
    each_provider_is_believed_by_its_own_signature with providers;
    meta_is_answered_when_it_asks with providers;
    a_stranger_changes_nothing with providers;
    what_is_too_large_or_too_odd_is_refused with providers;
}

fn providers(bed: TestBedBuilder) -> TestBedBuilder {
    let (guard, trust) = (Guard::new(AllowList::default()), Trust::platform());
    bed.adapter(TwilioAdapter::new(guard.clone(), trust.clone()))
        .adapter(SendGridAdapter::new(guard.clone(), trust.clone()))
        .adapter(SmsGatewayAdapter::new(guard.clone(), trust.clone()))
        .adapter(Dialog360Adapter::new(guard.clone(), trust.clone()))
        .adapter(WhatsAppCloudAdapter::new(guard, trust))
}

/// Signatures that Python's hmac and cryptography made.
fn vectors(of: &str) -> Value {
    let text = include_str!("../../../punctual-channels/tests/it/callback_vectors.json");
    serde_json::from_str::<Value>(text).unwrap()[of].clone()
}

/// A client that has no key, at the moment when the vectors were signed.
async fn provider(bed: &TestBed) -> (Client, Client) {
    let client = Client::new(bed).await;
    client.wall.set("2026-11-03T08:30:00Z".parse().unwrap());
    (client.clone(), Client { key: None, ..client })
}

async fn post(client: &Client, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    client.send(Method::POST, path, headers, body.to_owned()).await
}

/// As if this message had been taken by the provider.
async fn taken(bed: &TestBed, adapter: &str, channel: &str, provider_id: &str, target: &str) -> String {
    let id = bed.accept_one(bed.message(target)).await;
    bed.tick().await;
    let row = bed.notification(&id).await;
    let expected = Expected {
        provider_id: provider_id.to_owned(),
        channel: channel.to_owned(),
        seq: row.seq,
        target: target.to_owned(),
        attempt: 1,
    };
    let mut tx = bed.begin().await;
    receipts::expect(&mut tx.conn(), adapter, &[expected]).await.unwrap();
    tx.commit().await.unwrap();
    id
}

async fn target(client: &Client, id: &str) -> Value {
    client.get(&format!("/api/v1/notifications/{id}")).await.expect(200)["resolvedTargets"][0].clone()
}

async fn a_message_is_taken_confirmed_and_comes_back(bed: TestBed) {
    let script = Scripted::new("provider", |message| SendOutcome::Delivered {
        provider_id: format!("id-{}", message.address),
    });
    let bed = bed.with(|bed| bed.adapter(script.calls_back()));
    bed.channel("email:p", "provider").await;
    let (client, stranger) = provider(&bed).await;
    let id = bed.accept_one(bed.message_over("email:p", &["ann@example.org"])).await;
    bed.tick().await;
    let accepted = target(&client, &id).await;
    assert_eq!(
        (&accepted["outcome"], &accepted["receipt"], &accepted["confirmedAt"]),
        (&json!("delivered"), &json!({ "state": "accepted" }), &json!(null))
    );
    let report = async |state: &str, more: Value| {
        let mut item = json!({ "id": "id-ann@example.org", "state": state });
        item.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        post(&stranger, "/api/v1/callbacks/email:p", &[("x-signature", "good")], &json!([item]).to_string())
            .await
            .expect(200)
    };
    bed.wait(5);
    assert_eq!(report("delivered", json!({})).await, json!({ "receipts": 1, "new": 1, "unknown": 0 }));
    assert_eq!(report("delivered", json!({})).await["new"], 0);
    let confirmed = target(&client, &id).await;
    assert_eq!(
        (&confirmed["outcome"], &confirmed["confirmedAt"]),
        (&json!("delivered"), &json!("2026-05-14T05:00:05Z"))
    );
    assert_eq!(confirmed["receipt"], json!({ "state": "delivered", "receivedAt": "2026-05-14T05:00:05Z" }));
    report("sent", json!({})).await;
    assert_eq!(target(&client, &id).await, confirmed, "it does not go back");
    bed.wait(5);
    report("failed", json!({ "suppress": "hardBounce", "detail": "550 5.1.1 gone" })).await;
    let failed = target(&client, &id).await;
    assert_eq!(
        failed["receipt"],
        json!({ "state": "failed", "detail": "550 5.1.1 gone", "failedAt": "2026-05-14T05:00:10Z", "receivedAt": "2026-05-14T05:00:10Z" })
    );
    assert_eq!(failed["confirmedAt"], confirmed["confirmedAt"], "both facts stay");
    client.get("/api/v1/suppressions/email/ann@example.org").await.expect(200);
    let attention = client.get("/api/v1/attention").await.expect(200);
    assert_eq!(
        (&attention["counts"]["receipt"], &attention["items"][0]["word"]),
        (&json!(1), &json!("not delivered"))
    );
    let kpis = client.get("/api/v1/notifications/kpis").await.expect(200);
    assert_eq!((&kpis["confirmedLastInterval"], &kpis["notDeliveredLastInterval"]), (&json!(0), &json!(1)));
    let path = format!("/api/v1/notifications/{id}/acknowledge");
    stranger.post(&path, json!({})).await.refused(401, "auth_failed");
    client.post(&path, json!({ "reason": "called her" })).await.expect(200);
    assert_eq!(client.get("/api/v1/attention").await.expect(200)["counts"]["total"], 0);
    assert_eq!(bed.audit("notification", &id).await, ["acknowledge", "note:called her"]);
}

async fn each_provider_is_believed_by_its_own_signature(bed: TestBed) {
    let (client, stranger) = provider(&bed).await;
    let (twilio, meta, sendgrid, gateway) =
        (vectors("twilio"), vectors("meta"), vectors("sendgrid"), vectors("gateway"));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let sid = "AC0123456789abcdef0123456789abcdef";
    for (key, body) in [
        (
            "sms:default",
            json!({ "adapter": "twilio", "settings": { "accountSid": sid, "authToken": twilio["token"], "from": "+14155552671", "callbackUrl": twilio["url"] } }),
        ),
        (
            "whatsapp:a",
            json!({ "adapter": "whatsapp-cloud", "settings": { "phoneNumberId": "106540352242922", "accessToken": "t", "appSecret": meta["secret"] } }),
        ),
        (
            "whatsapp:b",
            json!({ "adapter": "whatsapp-360dialog", "settings": { "apiKey": "k", "callbackSecret": "a-secret-of-the-channel" } }),
        ),
        (
            "email:sg",
            json!({ "adapter": "sendgrid", "settings": { "apiKey": "k", "from": "a@b.example", "webhookPublicKey": sendgrid["publicKey"] } }),
        ),
        (
            "sms:gw",
            json!({ "adapter": "sms-gateway", "settings": { "url": "https://sms.example.com/send", "receiptSecret": gateway["secret"],
            "receiptItems": "/items", "receiptIdField": "/ref", "receiptStatusField": "/state", "receiptStates": { "DELIVRD": "delivered", "UNDELIV": "failed", "NOSUCH": "bounced" } } }),
        ),
    ] {
        let put = client.put(&format!("/api/v1/channels/{key}"), body).await;
        for secret in
            [&twilio["token"], &meta["secret"], &gateway["secret"], &json!("a-secret-of-the-channel")]
        {
            assert!(!put.text.contains(secret.as_str().unwrap()), "{}", put.text);
        }
        put.expect(200);
    }
    let sms =
        taken(&bed, "twilio", "sms:default", "SM0123456789abcdef0123456789abcdef", "+49301234567").await;
    // Sent over another channel of the same account: Meta knows one address for all of them.
    let wa = taken(&bed, "whatsapp-cloud", "whatsapp:other", "wamid.A", "+49301234567").await;
    let wa_out = taken(&bed, "whatsapp-cloud", "whatsapp:a", "wamid.C", "+49301234569").await;
    let wa_360 = taken(&bed, "whatsapp-360dialog", "whatsapp:b", "wamid.A", "+49301234567").await;
    let mail = taken(&bed, "sendgrid", "email:sg", "14c5d75ce93.dfd.64b469", "a@example.org").await;
    let bounced = taken(&bed, "sendgrid", "email:sg", "Abc_-9", "B@example.org").await;
    let gw = taken(&bed, "sms-gateway", "sms:gw", "m-1", "+49301234560").await;
    for (path, headers, body, answer) in [
        (
            "sms:default",
            vec![("x-twilio-signature", text(&twilio["signature"]))],
            text(&twilio["body"]),
            (1, 1, 0),
        ),
        (
            "whatsapp:a",
            vec![("x-hub-signature-256", text(&meta["signature"]))],
            text(&meta["body"]),
            (3, 2, 1),
        ),
        ("whatsapp:b/a-secret-of-the-channel", vec![], text(&meta["body"]), (3, 1, 2)),
        (
            "email:sg",
            vec![
                ("x-twilio-email-event-webhook-signature", text(&sendgrid["signature"])),
                ("x-twilio-email-event-webhook-timestamp", text(&sendgrid["timestamp"])),
            ],
            text(&sendgrid["body"]),
            (6, 2, 3),
        ),
        ("sms:gw", vec![("x-signature", text(&gateway["hex"]))], text(&gateway["body"]), (3, 1, 2)),
    ] {
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let path = format!("/api/v1/callbacks/{path}");
        let reported = post(&stranger, &path, &headers, &body).await.expect(200);
        assert_eq!(reported, json!({ "receipts": answer.0, "new": answer.1, "unknown": answer.2 }), "{path}");
        let again = post(&stranger, &path, &headers, &body).await.expect(200);
        assert_eq!((&again["new"], &again["unknown"]), (&json!(0), &json!(0)), "{path}");
    }
    for (id, state) in [
        (&sms, "delivered"),
        (&wa, "delivered"),
        (&wa_out, "failed"),
        (&wa_360, "delivered"),
        (&mail, "delivered"),
        (&bounced, "failed"),
        (&gw, "delivered"),
    ] {
        assert_eq!(target(&client, id).await["receipt"]["state"], state);
    }
    let listed = client.get("/api/v1/suppressions").await.expect(200);
    let listed: Vec<(&str, &str)> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["address"].as_str().unwrap(), row["reason"].as_str().unwrap()))
        .collect();
    assert_eq!(listed, [("b@example.org", "hardBounce"), ("+49301234569", "unsubscribed")]);
}

async fn meta_is_answered_when_it_asks(bed: TestBed) {
    let (client, stranger) = provider(&bed).await;
    let settings = json!({ "phoneNumberId": "106540352242922", "accessToken": "t", "appSecret": "s", "verifyToken": "open-sesame" });
    client
        .put("/api/v1/channels/whatsapp:a", json!({ "adapter": "whatsapp-cloud", "settings": settings }))
        .await
        .expect(200);
    let ask = async |token: &str| {
        let query = format!("hub.mode=subscribe&hub.verify_token={token}&hub.challenge=1158201444");
        stranger.get(&format!("/api/v1/callbacks/whatsapp:a?{query}")).await
    };
    let answer = ask("open-sesame").await;
    assert_eq!((answer.status, answer.text.as_str()), (200, "1158201444"));
    assert_eq!(answer.headers["content-type"], "text/plain; charset=utf-8");
    ask("sesame").await.refused(401, "signature_invalid");
}

async fn a_stranger_changes_nothing(bed: TestBed) {
    let (client, stranger) = provider(&bed).await;
    let v = vectors("gateway");
    let settings = json!({ "url": "https://sms.example.com/send", "receiptSecret": v["secret"], "receiptTimestampHeader": "x-time",
        "receiptItems": "/items", "receiptIdField": "/ref", "receiptStatusField": "/state", "receiptStates": { "DELIVRD": "delivered" } });
    client
        .put("/api/v1/channels/sms:gw", json!({ "adapter": "sms-gateway", "settings": settings }))
        .await
        .expect(200);
    let id = taken(&bed, "sms-gateway", "sms:gw", "m-1", "+49301234560").await;
    let (body, good) = (v["body"].as_str().unwrap(), v["stamped"].as_str().unwrap());
    let time = v["timestamp"].as_str().unwrap();
    let path = "/api/v1/callbacks/sms:gw";
    for headers in [
        vec![],
        vec![("x-signature", good)],
        vec![("x-signature", "00"), ("x-time", time)],
        vec![("x-signature", good), ("x-time", "1793694601")],
    ] {
        post(&stranger, path, &headers, body).await.refused(401, "signature_invalid");
    }
    // A good signature that is too old may be somebody's copy.
    client.wall.set("2026-11-03T08:40:01Z".parse().unwrap());
    post(&stranger, path, &[("x-signature", good), ("x-time", time)], body)
        .await
        .refused(401, "signature_invalid");
    client.wall.set("2026-11-03T08:39:59Z".parse().unwrap());
    for nowhere in [
        "/api/v1/callbacks/sms:none",
        "/api/v1/callbacks/memory:default",
        "/api/v1/callbacks/x%00",
        "/api/v1/callbacks/sms:gw/a/b",
    ] {
        post(&stranger, nowhere, &[], body).await.refused(404, "not_found");
    }
    assert_eq!(target(&client, &id).await["receipt"], json!({ "state": "accepted" }));
    post(&stranger, path, &[("x-signature", good), ("x-time", time)], body).await.expect(200);
    assert_eq!(target(&client, &id).await["receipt"]["state"], "delivered");
}

async fn what_is_too_large_or_too_odd_is_refused(bed: TestBed) {
    let (client, stranger) = provider(&bed).await;
    let settings = json!({ "apiKey": "k", "callbackSecret": "a-secret-of-the-channel" });
    client
        .put("/api/v1/channels/whatsapp:b", json!({ "adapter": "whatsapp-360dialog", "settings": settings }))
        .await
        .expect(200);
    let path = "/api/v1/callbacks/whatsapp:b/a-secret-of-the-channel";
    let large = format!("\"{}\"", "x".repeat(1 << 20));
    post(&stranger, path, &[], &large).await.refused(413, "body_too_large");
    for odd in ["<html>", "", "{", "\u{0}", &"[".repeat(100_000)] {
        let refused = post(&stranger, path, &[], odd).await.refused(400, "json_syntax");
        assert!(!refused.to_string().contains("a-secret-of-the-channel"));
    }
    for empty in ["{}", "[]", "7", r#"{"entry":[{"changes":[{"value":{"statuses":[{"id":7},{}]}}]}]}"#] {
        assert_eq!(post(&stranger, path, &[], empty).await.expect(200)["receipts"], 0, "{empty}");
    }
}

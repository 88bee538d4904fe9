//! Lists, channels, templates and business units: defined, read, used, removed.

use axum::http::Method;
use punctual_channels::{
    AllowList, Dialog360Adapter, Guard, InfobipAdapter, SendGridAdapter, SlackAdapter, SmsGatewayAdapter,
    SmtpAdapter, TeamsAdapter, Trust, TwilioAdapter, WebhookAdapter, WhatsAppCloudAdapter,
};
use punctual_store::channels;
use punctual_testkit::{TestBed, TestBedBuilder, on_both};
use serde_json::{Value, json};

use crate::client::{Client, Reply};

on_both! {
    a_list_uses_the_default_channel_of_its_type;
    a_secret_is_written_and_never_read with with_smtp;
    a_channel_can_be_tried_out;
    every_provider_can_be_set_up_and_tried_out with with_providers;
    t12_secrets_are_sealed_where_they_are_kept with with_providers;
    t12_secrets_are_sealed_anew_while_everything_runs with with_providers;
    a_channel_s_last_hour_is_shown;
    a_webhook_s_secret_is_rotated_and_the_old_one_kept_for_a_while with with_providers;
    the_memory_channel_stays;
    a_template_is_shown_as_its_reader_would_see_it;
    a_business_unit_has_a_zone;
    t11_a_page_is_full_or_the_last_whoever_else_has_definitions;
    t11_a_list_of_another_unit_is_as_unknown_as_one_that_is_not_there;
}

pub fn with_smtp(bed: TestBedBuilder) -> TestBedBuilder {
    let allow: AllowList = "127.0.0.0/8".parse().unwrap();
    bed.adapter(SmtpAdapter::new(Guard::new(allow), Trust::platform()))
}

pub fn with_providers(bed: TestBedBuilder) -> TestBedBuilder {
    let guard = Guard::new("127.0.0.0/8".parse().unwrap());
    let trust = Trust::platform();
    let (guard, trust) = (|| guard.clone(), || trust.clone());
    bed.adapter(SmtpAdapter::new(guard(), trust()))
        .adapter(WebhookAdapter::new(guard(), trust()))
        .adapter(TwilioAdapter::new(guard(), trust()))
        .adapter(SmsGatewayAdapter::new(guard(), trust()))
        .adapter(TeamsAdapter::new(guard(), trust()))
        .adapter(SlackAdapter::new(guard(), trust()))
        .adapter(SendGridAdapter::new(guard(), trust()))
        .adapter(WhatsAppCloudAdapter::new(guard(), trust()))
        .adapter(Dialog360Adapter::new(guard(), trust()))
        .adapter(InfobipAdapter::new(guard(), trust()))
}

/// A channel over each provider, to a port where nobody is: its key, its body, an address and one that is wrong, with
/// the code of the refusal.
pub fn every_provider() -> Vec<(&'static str, Value, &'static str, &'static str, &'static str)> {
    const NOBODY: &str = "http://127.0.0.1:1";
    let sid = "AC0123456789abcdef0123456789abcdef";
    let hook = format!("{NOBODY}/hook/canary-hidden");
    let settings = |adapter: &str, settings: Value| json!({ "adapter": adapter, "settings": settings });
    let phone = ("+49 30 1234567", "0301234567", "phone_invalid");
    let name = ("ops", "https://hooks.slack.com/services/x", "address_invalid");
    let mail = ("a@b.example", "a", "address_invalid");
    let with = |key, body, (good, bad, code)| (key, body, good, bad, code);
    vec![
        with(
            "sms:twilio",
            settings(
                "twilio",
                json!({ "accountSid": sid, "authToken": "canary-hidden", "from": "+14155552671", "baseUrl": NOBODY }),
            ),
            phone,
        ),
        with(
            "sms:gateway",
            settings("sms-gateway", json!({ "url": NOBODY, "token": "canary-hidden" })),
            phone,
        ),
        with(
            "whatsapp:meta",
            settings(
                "whatsapp-cloud",
                json!({ "phoneNumberId": "106540352242922", "accessToken": "canary-hidden", "baseUrl": NOBODY }),
            ),
            phone,
        ),
        with(
            "whatsapp:360",
            settings("whatsapp-360dialog", json!({ "apiKey": "canary-hidden", "baseUrl": NOBODY })),
            phone,
        ),
        with(
            "whatsapp:infobip",
            settings(
                "whatsapp-infobip",
                json!({ "apiKey": "canary-hidden", "baseUrl": NOBODY, "from": "+442071234567" }),
            ),
            phone,
        ),
        with("teams:ops", settings("teams", json!({ "url": hook })), name),
        with("slack:ops", settings("slack", json!({ "url": hook })), name),
        with(
            "email:sendgrid",
            settings(
                "sendgrid",
                json!({ "apiKey": "canary-hidden", "from": "a@b.example", "baseUrl": NOBODY }),
            ),
            mail,
        ),
        with(
            "email:smtp",
            settings(
                "smtp",
                json!({ "host": "127.0.0.1", "port": 1, "tls": "none", "from": "a@b.example", "username": "u", "password": "canary-hidden" }),
            ),
            mail,
        ),
    ]
}

async fn every_provider_can_be_set_up_and_tried_out(bed: TestBed) {
    let client = Client::new(&bed).await;
    for (key, body, good, bad, code) in every_provider() {
        let path = format!("/api/v1/channels/{key}");
        let shown = client.put(&path, body).await;
        assert!(!shown.text.contains("canary-hidden"), "{}", shown.text);
        assert_eq!(shown.expect(200)["secretsSet"].as_array().unwrap().len(), 1, "{key}");
        let tried = client.post(&format!("{path}/test"), json!({ "address": good })).await;
        assert!(!tried.text.contains("canary-hidden"), "{}", tried.text);
        assert_eq!(tried.expect(200)["outcome"], "transient", "{key}: nobody is there");
        let problem =
            client.post(&format!("{path}/test"), json!({ "address": bad })).await.refused(422, code);
        assert_eq!(Reply::pointers(&problem), ["/address"], "{key}");
        let kind = key.split(':').next().unwrap();
        let list = |target: &str| json!({ "type": kind, "channel": key, "targets": [target] });
        let kept = client.put("/api/v1/lists/ops", list(good)).await.expect(200);
        assert_eq!(kept["targets"][0], good.replace(' ', ""), "{key}: kept in one spelling");
        let problem = client.put("/api/v1/lists/ops", list(bad)).await.refused(422, code);
        assert_eq!(Reply::pointers(&problem), ["/targets/0"], "{key}");
    }
    let problem = client
        .put(
            "/api/v1/channels/slack:x",
            json!({ "adapter": "slack", "settings": { "url": "https://8.8.8.8/x" } }),
        )
        .await
        .refused(422, "url_host");
    assert_eq!(Reply::pointers(&problem), ["/settings/url"]);
}

async fn stored(bed: &TestBed, key: &str) -> String {
    channels::get(&mut bed.read().await.conn(), key).await.unwrap().unwrap().settings
}

async fn t12_secrets_are_sealed_where_they_are_kept(bed: TestBed) {
    let client = Client::new(&bed).await;
    for (key, body, ..) in every_provider() {
        client.put(&format!("/api/v1/channels/{key}"), body).await.expect(200);
        let settings = stored(&bed, key).await;
        assert!(settings.contains("sealed:1:") && !settings.contains("canary-hidden"), "{settings}");
    }
    // What is sealed for one channel opens for no other.
    let row = channels::get(&mut bed.read().await.conn(), "slack:ops").await.unwrap().unwrap();
    let mut tx = bed.begin().await;
    channels::put(&mut tx.conn(), bed.now(), &channels::ChannelRow { key: "slack:copy".into(), ..row })
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let tried = client.post("/api/v1/channels/slack:copy/test", json!({ "address": "x" })).await.expect(200);
    assert_eq!(tried["outcome"], "permanent");
    assert!(tried["detail"].as_str().unwrap().contains("the secret `url` cannot be opened"), "{tried}");
    // References stay what they are.
    let by_name = json!({ "adapter": "slack", "settings": { "url": "env:SLACK" } });
    client.put("/api/v1/channels/slack:env", by_name).await.expect(200);
    assert_eq!(stored(&bed, "slack:env").await, r#"{"url":"env:SLACK"}"#);
    // A secret that only looks sealed is sealed like any other.
    let odd =
        json!({ "adapter": "webhook", "settings": { "secret": "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX" } });
    client.put("/api/v1/channels/webhook:a", odd).await.expect(200);
    assert!(!stored(&bed, "webhook:a").await.contains("whsec_"));
}

async fn t12_secrets_are_sealed_anew_while_everything_runs(bed: TestBed) {
    let client = Client::new(&bed).await;
    let put = json!({ "adapter": "slack", "settings": { "url": "http://127.0.0.1:1/hook/canary" } });
    client.put("/api/v1/channels/slack:a", put.clone()).await.expect(200);
    let before = stored(&bed, "slack:a").await;
    let rekey = async |client: &Client| client.post("/api/v1/secrets/rekey", json!({})).await.expect(200);
    assert_eq!(rekey(&client).await["resealed"], 0, "the same key");

    // A node that was given a new key in front goes on with the old one until it is asked to change.
    let newer = bed.with(|bed| bed.master_keys(&[2, 1]));
    newer.engine.adopt_master_key(bed.now()).await.unwrap();
    let other = Client::on_node(&newer, client.wall.clone(), |_| {}).await;
    other.put("/api/v1/channels/slack:b", put.clone()).await.expect(200);
    let opens = async |client: &Client, key: &str| {
        let tried =
            client.post(&format!("/api/v1/channels/slack:{key}/test"), json!({ "address": "x" })).await;
        tried.expect(200)["detail"].as_str().unwrap().to_owned()
    };
    assert!(opens(&client, "b").await.contains("cannot be reached"), "sealed with the key that all have");
    let done = rekey(&other).await;
    assert_eq!(done["resealed"], 2);
    assert_ne!(stored(&bed, "slack:a").await, before);
    assert!(opens(&other, "a").await.contains("cannot be reached"));
    assert_eq!(bed.audit("master-key", done["keyId"].as_str().unwrap()).await, ["rekey"]);
    assert_eq!(rekey(&other).await["resealed"], 0, "twice is once");

    // What is open stays open on a node without the new key; it says what it lacks when it has to open something.
    assert!(opens(&client, "a").await.contains("cannot be reached"));
    other.put("/api/v1/channels/slack:c", put).await.expect(200);
    let missing = opens(&client, "c").await;
    assert!(
        missing.contains(&format!(
            "the master key `{}`, which this node does not have",
            done["keyId"].as_str().unwrap()
        )),
        "{missing}"
    );
    let refused = bed.engine.adopt_master_key(bed.now()).await.unwrap_err().to_string();
    assert!(refused.contains("every node needs the same key"), "{refused}");

    let problem = client
        .post("/api/v1/secrets/rekey", json!({ "newKey": true }))
        .await
        .refused(409, "state_not_allowed");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("put a new"), "{detail}");
    client.post("/api/v1/secrets/rekey", json!({ "new": true })).await.refused(422, "unknown_field");
}

async fn a_webhook_s_secret_is_rotated_and_the_old_one_kept_for_a_while(bed: TestBed) {
    let client = Client::new(&bed).await;
    let old = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";
    let put = json!({ "adapter": "webhook", "settings": { "secret": old } });
    client.put("/api/v1/channels/webhook:a", put).await.expect(200);
    let keyed = [("content-type", "application/json"), ("idempotency-key", "r1")];
    let rotate =
        async || client.send(Method::POST, "/api/v1/channels/webhook:a/rotate-secret", &keyed, "{}").await;
    let first = rotate().await.expect(200);
    let new = first["secret"].as_str().unwrap();
    assert!(new.starts_with("whsec_") && new.len() == "whsec_".len() + 44, "{new}");
    assert_eq!(first["channel"]["secretsSet"], json!(["secret", "previousSecret"]));
    let again = rotate().await;
    assert!(!again.text.contains(new), "a repetition does not show it again: {}", again.text);
    let row = channels::get(&mut bed.read().await.conn(), "webhook:a").await.unwrap().unwrap();
    assert!(!row.settings.contains("whsec_"), "{}", row.settings);
    let opened = bed.engine.channels.opened_settings(&row);
    assert_eq!((&opened["secret"], &opened["previousSecret"]), (&json!(new), &json!(old)));
    let over = json!({ "adapter": "webhook", "settings": { "previousSecret": null } });
    let shown = client.put("/api/v1/channels/webhook:a", over).await.expect(200);
    assert_eq!(shown["secretsSet"], json!(["secret"]));
    assert_eq!(bed.audit("channel", "webhook:a").await, ["put", "rotate-secret", "put"]);
    for (key, status, code) in
        [("email:default", 409, "state_not_allowed"), ("webhook:none", 404, "not_found")]
    {
        client.post(&format!("/api/v1/channels/{key}/rotate-secret"), json!({})).await.refused(status, code);
    }
}

async fn a_channel_s_last_hour_is_shown(bed: TestBed) {
    let client = Client::new(&bed).await;
    assert_eq!(client.get("/api/v1/channels/health").await.expect(200)["items"], json!([]));
    let misbehave = json!({ "outcome": "transient", "times": 1, "error": "451 later" });
    client.put("/api/v1/sandbox/channels/email:default", misbehave).await.expect(204);
    let send = json!({ "targets": ["a@b.example", "c@d.example"], "channel": "email:default", "subject": "S", "body": "B" });
    client.post("/api/v1/notifications", send).await.expect(201);
    client.advance("2m").await;
    let health = client.get("/api/v1/channels/health").await.expect(200);
    let row = &health["items"][0];
    assert_eq!(
        (&row["channel"], &row["tries"], &row["delivered"]),
        (&json!("email:default"), &json!(3), &json!(2))
    );
    assert_eq!(
        (&row["lastError"], &row["lastErrorAt"]),
        (&json!("451 later"), &json!("2026-05-14T05:00:00Z"))
    );
    assert!((0.66..0.67).contains(&row["successShare"].as_f64().unwrap()), "{row}");
    client.advance("2h").await;
    assert_eq!(
        client.get("/api/v1/channels/health").await.expect(200)["items"],
        json!([]),
        "an hour is over"
    );
    let limited = client.new_key(&["read"], Some(&["nz"])).await;
    limited.get("/api/v1/channels/health").await.refused(403, "scope_missing");
}

async fn a_list_uses_the_default_channel_of_its_type(bed: TestBed) {
    let client = Client::new(&bed).await;
    let targets = json!(["a@b.example", "c@d.example"]);
    let put =
        client.put("/api/v1/lists/ops", json!({ "type": "email", "targets": targets })).await.expect(200);
    assert_eq!(
        (&put["channel"], &put["targets"], &put["warnings"]),
        (&json!("email:default"), &targets, &json!(null))
    );
    let put = client.put("/api/v1/lists/ops", json!({ "type": "pager", "targets": ["1"] })).await.expect(200);
    assert_eq!(put["warnings"][0]["code"], "channel_unknown");
    let put = client
        .put("/api/v1/lists/ops", json!({ "type": "pager", "targets": ["1"], "channel": "memory:default" }));
    let put = put.await.expect(200);
    assert_eq!(put["warnings"], json!(null));
    assert_eq!(client.get("/api/v1/lists/ops").await.expect(200), put);
    client.delete("/api/v1/lists/ops").await.expect(204);
    client.get("/api/v1/lists/ops").await.refused(404, "not_found");
    client.delete("/api/v1/lists/ops").await.refused(404, "not_found");
    assert_eq!(bed.audit("list", "ops").await, ["put", "put", "put", "delete"]);
}

async fn a_secret_is_written_and_never_read(bed: TestBed) {
    let client = Client::new(&bed).await;
    let settings =
        json!({ "host": "mail.example", "from": "a@b.example", "username": "u", "password": "hunter2" });
    let put =
        json!({ "adapter": "smtp", "settings": settings, "retry": { "max": 5, "intervalSeconds": 30 } });
    let path = "/api/v1/channels/email:office";
    let stored = async || stored(&bed, "email:office").await;
    let opened = async || {
        let row = channels::get(&mut bed.read().await.conn(), "email:office").await.unwrap().unwrap();
        bed.engine.channels.opened_settings(&row)
    };
    let shown = client.put(path, put).await;
    assert!(!shown.text.contains("hunter2"), "{}", shown.text);
    let shown = shown.expect(200);
    assert_eq!(shown["secretsSet"], json!(["password"]));
    assert_eq!(shown["settings"], json!({ "host": "mail.example", "from": "a@b.example", "username": "u" }));
    assert_eq!(shown["retry"], json!({ "policy": "fixed", "max": 5, "intervalSeconds": 30 }));
    for path in [path, "/api/v1/channels"] {
        assert!(!client.get(path).await.text.contains("hunter2"));
    }
    let changed = json!({ "adapter": "smtp", "settings": { "host": "mail.example", "from": "c@d.example", "username": "u" } });
    assert_eq!(client.put(path, changed.clone()).await.expect(200)["version"], 2);
    assert!(!stored().await.contains("hunter2") && stored().await.contains("c@d.example"));
    assert_eq!(opened().await["password"], "hunter2", "it was kept");
    let mut removed = changed.clone();
    removed["settings"]["password"] = json!(null);
    removed["settings"]["username"] = json!(null);
    assert_eq!(client.put(path, removed).await.expect(200)["secretsSet"], json!([]));
    assert!(!opened().await.contains_key("password"));
    let problem = client.put(path, changed).await.refused(422, "missing_field");
    assert_eq!(Reply::pointers(&problem), ["/settings/password"]);
    client.delete(path).await.expect(204);
    client.get(path).await.refused(404, "not_found");
}

async fn a_channel_can_be_tried_out(bed: TestBed) {
    let client = Client::new(&bed).await;
    let tried = client
        .post("/api/v1/channels/email:default/test", json!({ "address": "x@y.example" }))
        .await
        .expect(200);
    assert_eq!((&tried["outcome"], &tried["messageId"]), (&json!("delivered"), &json!("mem-1")));
    let misbehave = json!({ "outcome": "permanent", "times": 1, "error": "550 no" });
    client.put("/api/v1/sandbox/channels/email:default", misbehave).await.expect(204);
    let tried = client
        .post("/api/v1/channels/email:default/test", json!({ "address": "x@y.example" }))
        .await
        .expect(200);
    assert_eq!((&tried["outcome"], &tried["detail"]), (&json!("permanent"), &json!("550 no")));
    client
        .post("/api/v1/channels/email:none/test", json!({ "address": "x@y.example" }))
        .await
        .refused(404, "not_found");
    client
        .post("/api/v1/channels/email:default/test", json!({ "address": "x" }))
        .await
        .refused(422, "address_invalid");
    assert_eq!(bed.sent_to(), ["x@y.example"]);
}

async fn the_memory_channel_stays(bed: TestBed) {
    let client = Client::new(&bed).await;
    let shown = client.get("/api/v1/channels/memory:default").await.expect(200);
    assert_eq!((&shown["adapter"], &shown["version"]), (&json!("memory"), &json!(0)));
    client.delete("/api/v1/channels/memory:default").await.refused(409, "state_not_allowed");
    let channels = client.get("/api/v1/channels").await.expect(200);
    let keys: Vec<_> =
        channels["items"].as_array().unwrap().iter().map(|row| row["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["email:default", "memory:default"]);
}

async fn a_template_is_shown_as_its_reader_would_see_it(bed: TestBed) {
    let client = Client::new(&bed).await;
    let template = json!({ "defaultLocale": "en", "variants": {
        "en": { "subject": "Hello {{ name }}", "body": "{{ count }} left", "html": "<p>{{ name }}</p>" },
        "ar": { "subject": "مرحبا {{ name }}", "body": "{{ count }}" },
    } });
    assert_eq!(client.put("/api/v1/templates/t", template.clone()).await.expect(200)["version"], 1);
    assert_eq!(client.put("/api/v1/templates/t", template).await.expect(200)["version"], 2);
    let preview = async |body| client.post("/api/v1/templates/t/preview", body).await;
    let context = json!({ "name": "<Ann>", "count": 2 });
    let shown = preview(json!({ "context": context, "locale": "de-DE" })).await.expect(200);
    let expected =
        json!({ "subject": "Hello <Ann>", "body": "2 left", "html": "<p>&lt;Ann&gt;</p>", "locale": "en" });
    assert_eq!(shown, expected);
    let shown = preview(json!({ "context": context, "locale": "ar-IQ" })).await.expect(200);
    assert_eq!((&shown["locale"], &shown["subject"]), (&json!("ar"), &json!("مرحبا <Ann>")));
    let problem =
        preview(json!({ "context": { "name": "Ann" } })).await.refused(422, "template_unknown_variable");
    assert!(problem["detail"].as_str().unwrap().contains("`count`"), "{problem}");
    preview(json!({ "context": { "name": "a\nb", "count": 1 } })).await.refused(422, "subject_invalid");
    let endless = "{% for a in range(900) %}{% for b in range(900) %}x{% endfor %}{% endfor %}";
    let endless = json!({ "defaultLocale": "en", "variants": { "en": { "subject": "S", "body": endless } } });
    client.put("/api/v1/templates/t", endless).await.expect(200);
    preview(json!({})).await.refused(422, "template_limit");
    client.delete("/api/v1/templates/t").await.expect(204);
    preview(json!({})).await.refused(404, "not_found");
}

async fn a_business_unit_has_a_zone(bed: TestBed) {
    let client = Client::new(&bed).await;
    let put = json!({ "name": "New Zealand", "timeZone": "pacific/auckland" });
    let shown = client.put("/api/v1/business-units/nz", put).await.expect(200);
    assert_eq!((&shown["id"], &shown["timeZone"]), (&json!("nz"), &json!("Pacific/Auckland")));
    assert_eq!(client.get("/api/v1/business-units/nz").await.expect(200), shown);
    client.delete("/api/v1/business-units/nz").await.expect(204);
    client.get("/api/v1/business-units/nz").await.refused(404, "not_found");
}

async fn t11_a_page_is_full_or_the_last_whoever_else_has_definitions(bed: TestBed) {
    let client = Client::new(&bed).await;
    for unit in ["de", "nz"] {
        let zone = json!({ "name": unit, "timeZone": "UTC" });
        client.put(&format!("/api/v1/business-units/{unit}"), zone).await.expect(200);
    }
    let list = |unit: &str| json!({ "type": "memory", "targets": ["a@example.org"], "businessUnit": unit });
    let person = |unit: &str| json!({ "name": "Ann", "businessUnit": unit });
    for n in 0..12 {
        client.put(&format!("/api/v1/lists/a-{n:02}"), list("nz")).await.expect(200);
        client.put(&format!("/api/v1/operations/people/a-{n:02}"), person("nz")).await.expect(200);
    }
    client.put("/api/v1/lists/z", list("de")).await.expect(200);
    client.put("/api/v1/operations/people/z", person("de")).await.expect(200);
    let de = client.new_key(&["read"], Some(&["de"])).await;
    for (path, key) in [("/api/v1/lists", "name"), ("/api/v1/operations/people", "id")] {
        let page = de.get(&format!("{path}?limit=5")).await.expect(200);
        assert_eq!(page["items"].as_array().unwrap().len(), 1, "{path}: {page}");
        assert_eq!(
            (&page["items"][0][key], &page["nextCursor"]),
            (&json!("z"), &Value::Null),
            "{path}: {page}"
        );
    }
    let units = de.get("/api/v1/business-units?limit=1").await.expect(200);
    assert_eq!((&units["items"][0]["id"], &units["nextCursor"]), (&json!("de"), &Value::Null));
}

async fn t11_a_list_of_another_unit_is_as_unknown_as_one_that_is_not_there(bed: TestBed) {
    let client = Client::new(&bed).await;
    for unit in ["de", "nz"] {
        let zone = json!({ "name": unit, "timeZone": "UTC" });
        client.put(&format!("/api/v1/business-units/{unit}"), zone).await.expect(200);
    }
    let list =
        |unit: Value| json!({ "type": "memory", "targets": ["secret@example.org"], "businessUnit": unit });
    client.put("/api/v1/lists/of-de", list(json!("de"))).await.expect(200);
    client.put("/api/v1/lists/shared", list(Value::Null)).await.expect(200);
    let nz = client.new_key(&["ingest", "read"], Some(&["nz"])).await;
    let sent = async |list: &str| {
        let body = json!({ "list": list, "subject": "s", "body": "b" });
        let id = nz.post("/api/v1/notifications", body).await.expect(201)["id"].as_str().unwrap().to_owned();
        bed.tick().await;
        let mut row = nz.get(&format!("/api/v1/notifications/{id}")).await.expect(200);
        let reported = row["lastError"].as_str().unwrap_or_default().replace(list, "LIST");
        (row["status"].take(), row["reasonCode"].take(), row["resolvedTargets"].take(), reported)
    };
    let foreign = sent("of-de").await;
    assert_eq!((&foreign.0, &foreign.1, &foreign.2), (&json!("parked"), &json!("list-unknown"), &json!([])));
    assert_eq!(foreign, sent("no-such-list").await, "the two are not distinguishable");
    assert_eq!(sent("shared").await.0, "delivered");
}

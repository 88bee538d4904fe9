//! Lists, channels, templates and business units: defined, looked at, used, removed.

use std::sync::Arc;

use punctual_channels::{AllowList, Guard, SmtpAdapter, Trust};
use punctual_store::channels;
use punctual_testkit::{Bed, BedBuilder, on_both};
use serde_json::json;

use crate::client::{Client, Reply};

on_both! {
    a_list_uses_the_default_channel_of_its_type;
    a_secret_is_written_and_never_read with with_smtp;
    a_secret_may_stand_elsewhere with with_smtp;
    a_channel_can_be_tried_out;
    the_memory_channel_stays;
    a_template_is_shown_as_its_reader_would_see_it;
    a_business_unit_has_a_zone;
}

fn with_smtp(bed: BedBuilder) -> BedBuilder {
    let allow: AllowList = "127.0.0.0/8".parse().unwrap();
    bed.adapter(SmtpAdapter::new(Guard::new(allow), Trust::platform()))
}

async fn a_list_uses_the_default_channel_of_its_type(bed: Bed) {
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

async fn a_secret_is_written_and_never_read(bed: Bed) {
    let client = Client::new(&bed).await;
    let settings =
        json!({ "host": "mail.example", "from": "a@b.example", "username": "u", "password": "hunter2" });
    let put =
        json!({ "adapter": "smtp", "settings": settings, "retry": { "max": 5, "intervalSeconds": 30 } });
    let path = "/api/v1/channels/email:office";
    let stored =
        async || channels::get(&mut bed.read().await.conn(), "email:office").await.unwrap().unwrap().settings;
    let shown = client.put(path, put).await;
    assert!(!shown.text.contains("hunter2"), "{}", shown.text);
    let shown = shown.expect(200);
    assert_eq!(shown["secretsSet"], json!(["password"]));
    assert_eq!(shown["settings"], json!({ "host": "mail.example", "from": "a@b.example", "username": "u" }));
    assert_eq!(shown["retry"], json!({ "policy": "fixed", "max": 5, "intervalSeconds": 30 }));
    for path in [path, "/api/v1/channels"] {
        assert!(!client.get(path).await.text.contains("hunter2"));
    }
    let changed = json!({ "adapter": "smtp", "settings": { "host": "mx.example", "from": "a@b.example", "username": "u" } });
    assert_eq!(client.put(path, changed.clone()).await.expect(200)["version"], 2);
    assert!(stored().await.contains("hunter2") && stored().await.contains("mx.example"));
    let mut removed = changed.clone();
    removed["settings"]["password"] = json!(null);
    removed["settings"]["username"] = json!(null);
    assert_eq!(client.put(path, removed).await.expect(200)["secretsSet"], json!([]));
    assert!(!stored().await.contains("hunter2"));
    let problem = client.put(path, changed).await.refused(422, "missing_field");
    assert_eq!(Reply::pointers(&problem), ["/settings/password"]);
    client.delete(path).await.expect(204);
    client.get(path).await.refused(404, "not_found");
}

async fn a_secret_may_stand_elsewhere(bed: Bed) {
    bed.engine.channels.resolve_secrets_with(Arc::new(|reference| {
        (reference == "env:SMTP_PASSWORD").then(|| "hunter2".to_owned())
    }));
    let client = Client::new(&bed).await;
    let channel = |password: &str| {
        json!({ "adapter": "smtp", "settings": { "host": "127.0.0.1", "port": 1, "tls": "none", "from": "a@b.example",
            "username": "u", "password": password, "timeoutSeconds": 1 } })
    };
    client.put("/api/v1/channels/email:a", channel("env:SMTP_PASSWORD")).await.expect(200);
    let tried =
        client.post("/api/v1/channels/email:a/test", json!({ "address": "x@y.example" })).await.expect(200);
    assert_eq!(tried["outcome"], "transient", "nobody is there, but the channel opened: {tried}");
    client.put("/api/v1/channels/email:a", channel("env:FORGOTTEN")).await.expect(200);
    let tried =
        client.post("/api/v1/channels/email:a/test", json!({ "address": "x@y.example" })).await.expect(200);
    assert_eq!(tried["outcome"], "permanent");
    assert!(tried["detail"].as_str().unwrap().contains("env:FORGOTTEN"), "{tried}");
}

async fn a_channel_can_be_tried_out(bed: Bed) {
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

async fn the_memory_channel_stays(bed: Bed) {
    let client = Client::new(&bed).await;
    let shown = client.get("/api/v1/channels/memory:default").await.expect(200);
    assert_eq!((&shown["adapter"], &shown["version"]), (&json!("memory"), &json!(0)));
    client.delete("/api/v1/channels/memory:default").await.refused(409, "state_not_allowed");
    let channels = client.get("/api/v1/channels").await.expect(200);
    let keys: Vec<_> =
        channels["items"].as_array().unwrap().iter().map(|row| row["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["email:default", "memory:default"]);
}

async fn a_template_is_shown_as_its_reader_would_see_it(bed: Bed) {
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

async fn a_business_unit_has_a_zone(bed: Bed) {
    let client = Client::new(&bed).await;
    let put = json!({ "name": "New Zealand", "timeZone": "pacific/auckland" });
    let shown = client.put("/api/v1/business-units/nz", put).await.expect(200);
    assert_eq!((&shown["id"], &shown["timeZone"]), (&json!("nz"), &json!("Pacific/Auckland")));
    assert_eq!(client.get("/api/v1/business-units/nz").await.expect(200), shown);
    client.delete("/api/v1/business-units/nz").await.expect(204);
    client.get("/api/v1/business-units/nz").await.refused(404, "not_found");
}

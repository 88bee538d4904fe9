//! Definitions of every kind, and some that are wrong.

use serde_json::{Value, json};

use crate::{client::Client, reminders::first_aid, reports::weekly, surveys::csi_gr};

pub const GUID: &str = "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071";

pub fn smtp(password: Value) -> Value {
    json!({ "adapter": "smtp", "retry": { "policy": "steps", "afterSeconds": [60, 300] }, "concurrency": 4,
        "settings": { "host": "127.0.0.1", "port": 1, "tls": "none", "from": "a@b.example", "username": "u",
            "password": password } })
}

/// One definition of each kind at least, through the routes of each kind.
pub async fn define_everything(client: &Client) {
    let put = async |path: &str, body: Value| drop(client.put(path, body).await.expect(200));
    put("/api/v1/business-units/nz", json!({ "name": "NZ", "timeZone": "Pacific/Auckland" })).await;
    let variants = json!({ "en": { "subject": "Hi {{ name }}", "body": "One\n\n  two\n" }, "de": { "subject": "S", "body": "", "html": "<p>" } });
    put("/api/v1/templates/hello", json!({ "defaultLocale": "en", "variants": variants })).await;
    put("/api/v1/channels/email:default", smtp(json!("env:SMTP"))).await;
    put("/api/v1/channels/memory:quiet", json!({ "adapter": "memory", "atMostOnce": true,
        "quietHours": { "from": "22:00", "to": "07:00" }, "limits": { "rates": [{ "max": 3, "per": "1m" }] }, "circuit": false }))
    .await;
    put("/api/v1/lists/ops", json!({ "type": "email", "targets": ["a@example.org"], "businessUnit": "nz" }))
        .await;
    put("/api/v1/lists/a%2Fb%20~%20c", json!({ "type": "memory", "targets": [], "channel": "memory:quiet" }))
        .await;
    put(
        "/api/v1/subscribers/memory:bi",
        json!({ "adapter": "memory", "events": ["response-completed", "operations.*"],
        "filter": { "questionId": "rate", "op": "<", "value": 3 } }),
    )
    .await;
    put(
        "/api/v1/consumers/nats:orders",
        json!({ "adapter": "nats", "settings": { "url": "tls://nats.example.com", "stream": "ORDERS",
        "deadLetterSubject": "orders.refused", "username": "punctual", "password": "env:NATS" },
        "businessUnit": "nz", "active": false }),
    )
    .await;
    put(
        "/api/v1/delivery-policy",
        json!({ "dailyCap": 5, "topics": [{ "name": "offers", "title": "Offers" }] }),
    )
    .await;
    put("/api/v1/operations/organisations/choir", json!({ "name": "Choir", "timeZone": "Europe/Berlin", "allDayAt": "09:00",
        "businessUnit": "nz", "rules": [{ "rule": { "type": "relative", "anchor": "start", "offset": "-24h" }, "channels": ["email"] }] }))
    .await;
    put(
        "/api/v1/operations/people/ann",
        json!({ "name": "Ann", "email": "ann@example.org", "addresses": { "sms": "+49301234567" } }),
    )
    .await;
    put("/api/v1/reminder-settings/first-aid", first_aid(|body| body["businessUnit"] = json!("nz"))).await;
    put(
        &format!("/api/v1/report-subscriptions/{GUID}"),
        weekly(|body| {
            body["businessUnit"] = json!("nz");
            body["owner"] = json!("ann");
            body["paused"] = json!(true);
        }),
    )
    .await;
    let survey = async |name: &str, publish: bool| {
        let body = json!({ "name": name, "integrationId": "csi", "schema": csi_gr() });
        let id = client.post("/api/v1/surveys", body).await.expect(201)["id"].to_string();
        if publish {
            client.post(&format!("/api/v1/surveys/{id}/publish"), json!({})).await.expect(200);
        }
        id
    };
    survey("Visit", true).await;
    survey("Draft", false).await;
    survey("Visit", false).await;
    let id = survey("Moved on", true).await;
    let mut next = csi_gr();
    next["title"]["en"] = json!("Next");
    put(&format!("/api/v1/surveys/{id}"), json!({ "name": "Moved on", "schema": next })).await;
    client.post("/api/v1/sites", json!({ "id": "plant-7", "businessUnit": "nz" })).await.expect(201);
}

/// Documents with one fault each, with its place and code.
pub fn bad() -> Vec<(Value, &'static str, &'static str)> {
    let mut untrue = csi_gr();
    untrue["questions"][0]["type"] = json!("guess");
    let mut report = weekly(|_| {});
    report["cadence"] = json!({ "cron": "61 8 * * MON" });
    vec![
        (
            json!({ "lists": { "bad": { "type": "email", "targets": ["a@example.org", "x"] } } }),
            "/lists/bad/targets/1",
            "address_invalid",
        ),
        (
            json!({ "lists": { "bad": { "type": "email", "targets": [], "target": [] } } }),
            "/lists/bad/target",
            "unknown_field",
        ),
        (
            json!({ "lists": { "bad": { "type": "email", "targets": [], "businessUnit": "mars" } } }),
            "/lists/bad/businessUnit",
            "unit_unknown",
        ),
        (
            json!({ "templates": { "a/b": { "defaultLocale": "en", "variants": { "en": { "subject": "S", "body": "{{" } } } } }),
            "/templates/a~1b/variants/en/body",
            "template_syntax",
        ),
        (json!({ "channels": { "memory": { "adapter": "memory" } } }), "/channels/memory", "key_invalid"),
        (
            json!({ "channels": { "email:x": { "adapter": "pigeon" } } }),
            "/channels/email:x/adapter",
            "out_of_range",
        ),
        (
            json!({ "channels": { "email:x": smtp(json!({ "set": true })) } }),
            "/channels/email:x/settings/password",
            "secret_required",
        ),
        (
            json!({ "channels": { "email:x": smtp(json!("env:a b")) } }),
            "/channels/email:x/settings/password",
            "secret_reference",
        ),
        (
            json!({ "subscribers": { "memory:x": { "adapter": "memory", "events": ["none"] } } }),
            "/subscribers/memory:x/events/0",
            "out_of_range",
        ),
        (
            json!({ "delivery-policy": { "other": { "dailyCap": 1 } } }),
            "/delivery-policy/other",
            "key_invalid",
        ),
        (
            json!({ "delivery-policy": { "default": { "dailyCap": 0 } } }),
            "/delivery-policy/default/dailyCap",
            "out_of_range",
        ),
        (
            json!({ "organisations": { "o": { "name": "O", "allDayAt": "25:00" } } }),
            "/organisations/o/allDayAt",
            "date_invalid",
        ),
        (json!({ "people": { "p": { "name": "P", "email": "p" } } }), "/people/p/email", "address_invalid"),
        (
            json!({ "reminder-settings": { "r": first_aid(|body| body["kind"] = json!("lunar")) } }),
            "/reminder-settings/r/date",
            "field_conflict",
        ),
        (
            json!({ "surveys": { "S": { "name": "S", "schema": untrue, "published": true } } }),
            "/surveys/S/schema/questions/0/type",
            "out_of_range",
        ),
        (json!({ "surveys": { "S": { "name": "T", "schema": {} } } }), "/surveys/S/name", "field_conflict"),
        (json!({ "surveys": { "S~7": { "name": "S", "schema": {} } } }), "/surveys/S~07", "key_invalid"),
        (
            json!({ "surveys": { "S": { "name": "S", "schema": {}, "published": false } } }),
            "/surveys/S/published",
            "out_of_range",
        ),
        (
            json!({ "report-subscriptions": { "weekly": weekly(|_| {}) } }),
            "/report-subscriptions/weekly",
            "key_invalid",
        ),
        (
            json!({ "report-subscriptions": { GUID: report } }),
            "/report-subscriptions/0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071/cadence/cron",
            "schedule_invalid",
        ),
        (json!({ "sites": { "-": {} } }), "/sites/-", "key_invalid"),
        (json!({ "sites": { "plant": { "token": "x" } } }), "/sites/plant/token", "unknown_field"),
    ]
}

//! Bad input gets a clear error that names the field, and nothing is stored.

use axum::http::Method;
use punctual_channels::{AllowList, Guard, SmtpAdapter, Trust, WebhookAdapter};
use punctual_store::{business_units, channels, lists, sources, templates};
use punctual_testkit::{TestBed, TestBedBuilder, on_both};
use serde_json::{Value, json};

use crate::client::{Client, Reply};

on_both! {
    a_body_that_is_not_plain_json_is_refused;
    an_address_with_nul_is_refused_on_every_route;
    a_field_that_is_wrong_is_named with with_adapters;
    a_batch_keeps_the_good_and_names_the_bad;
    an_address_that_leads_nowhere_says_so;
    the_storage_s_fault_is_not_the_client_s;
}

fn with_adapters(bed: TestBedBuilder) -> TestBedBuilder {
    let (guard, trust) = (Guard::new(AllowList::default()), Trust::platform());
    bed.adapter(SmtpAdapter::new(guard.clone(), trust.clone())).adapter(WebhookAdapter::new(guard, trust))
}

/// Nothing that a request could have written is there.
async fn nothing_is_stored(bed: &TestBed) {
    let mut reader = bed.read().await;
    let conn = &mut reader.conn();
    assert!(bed.notifications().await.is_empty());
    let filter = punctual_store::work::WorkFilter { limit: 1, ..Default::default() };
    assert!(
        punctual_store::work::list(conn, &punctual_model::Reach::Everything, &filter)
            .await
            .unwrap()
            .is_empty()
    );
    assert!(lists::page(conn, &punctual_model::Reach::Everything, "", 1).await.unwrap().is_empty());
    assert!(templates::page(conn, "", 1).await.unwrap().is_empty());
    // The two that every test has.
    let units = business_units::page(conn, &punctual_model::Reach::Everything, "", 9).await.unwrap();
    assert_eq!(units.len(), 2);
    assert!(
        sources::page(conn, &punctual_model::Reach::Everything, "document", "", 1).await.unwrap().is_empty()
    );
    let keys: Vec<String> = channels::all(conn).await.unwrap().into_iter().map(|row| row.key).collect();
    assert_eq!(keys, ["email:default"]);
}

const JSON: (&str, &str) = ("content-type", "application/json");

async fn a_body_that_is_not_plain_json_is_refused(bed: TestBed) {
    let client = Client::with(&bed, |state| {
        (state.options.body_limit, state.options.bulk_body_limit) = (4_096, 4_096);
    })
    .await;
    let deep = "[".repeat(65) + &"]".repeat(65);
    let long = format!("\"{}\"", "x".repeat(4_096));
    let many = Value::Array(vec![json!({}); 1_001]).to_string();
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [u8], u16, &'a str);
    let cases: [Case<'_>; 13] = [
        ("broken", &[JSON], b"{\"list\": }", 400, "json_syntax"),
        ("cut off", &[JSON], b"{\"list\":", 400, "json_syntax"),
        ("empty", &[JSON], b"", 400, "json_syntax"),
        ("two values", &[JSON], b"{} {}", 400, "json_syntax"),
        ("no content type", &[], b"{}", 415, "content_type"),
        ("another content type", &[("content-type", "text/plain")], b"{}", 415, "content_type"),
        ("a form", &[("content-type", "application/x-www-form-urlencoded")], b"a=b", 415, "content_type"),
        ("too deep", &[JSON], deep.as_bytes(), 400, "json_too_deep"),
        ("the same field twice", &[JSON], b"{\"list\":\"a\",\"list\":\"b\"}", 400, "json_duplicate_key"),
        ("not UTF-8", &[JSON], b"{\"list\":\"\xff\"}", 400, "text_invalid"),
        ("NUL", &[JSON], b"{\"list\":\"\\u0000\"}", 400, "text_invalid"),
        ("half a pair", &[JSON], b"{\"list\":\"\\ud800\"}", 400, "text_invalid"),
        ("too long", &[JSON], long.as_bytes(), 413, "body_too_large"),
    ];
    for (what, headers, body, status, code) in cases {
        let reply = client.send(Method::POST, "/api/v1/notifications", headers, body.to_vec()).await;
        println!("{what}: {}", reply.text);
        reply.refused(status, code);
    }
    let announced = [JSON, ("content-length", "5000")];
    let reply = client.send(Method::POST, "/api/v1/notifications", &announced, "").await;
    assert_eq!(reply.refused(413, "body_too_large")["limit"], 4_096);
    let charset = [("content-type", "Application/JSON; charset=utf-8")];
    client.send(Method::POST, "/api/v1/notifications", &charset, "{}").await.refused(422, "missing_field");
    let client = Client::new(&bed).await;
    client.send(Method::POST, "/api/v1/notifications", &[JSON], many).await.refused(413, "batch_too_large");
    nothing_is_stored(&bed).await;
}

/// PostgreSQL takes NUL in no text: what got through to a statement would be a fault of the server.
async fn an_address_with_nul_is_refused_on_every_route(bed: TestBed) {
    let client = Client::new(&bed).await;
    let document = serde_json::to_value(punctual_api::document()).unwrap();
    let mut checked = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        let mut named = String::new();
        for (at, part) in path.split('/').enumerate() {
            named += if at == 0 { "" } else { "/" };
            named += if part.starts_with('{') { "a%00b" } else { part };
        }
        for method in operations.as_object().unwrap().keys() {
            let method: Method = method.to_uppercase().parse().unwrap();
            if named != *path {
                let reply = client.send(method.clone(), &named, &[JSON], "{}").await;
                let is_put = method == Method::PUT;
                reply.refused(
                    if is_put { 422 } else { 404 },
                    if is_put { "key_invalid" } else { "not_found" },
                );
            }
            let plain = named.replace("%00", "");
            let reply = client.send(method, &format!("{plain}?site=%00"), &[JSON], "{}").await;
            reply.refused(400, "text_invalid");
            checked += 1;
        }
    }
    assert!(checked > 100);
    nothing_is_stored(&bed).await;
}

async fn a_field_that_is_wrong_is_named(bed: TestBed) {
    let client = Client::new(&bed).await;
    let (post, put, patch) = (Method::POST, Method::PUT, Method::PATCH);
    let message = |field: &str, value: Value| {
        let mut message =
            json!({ "targets": ["a@b.example"], "channel": "email:default", "subject": "S", "body": "B" });
        message[field] = value;
        message
    };
    let schedule = |field: &str, value: Value| {
        let mut schedule = json!({ "topic": "t", "runAt": "2026-05-14T06:00:00Z", "payload": {} });
        schedule[field] = value;
        schedule
    };
    let template =
        |body: &str| json!({ "defaultLocale": "en", "variants": { "en": { "subject": "S", "body": body } } });
    let smtp = |field: &str, value: Value| {
        let mut settings = json!({ "host": "mail.example", "from": "a@b.example" });
        settings[field] = value;
        json!({ "adapter": "smtp", "settings": settings })
    };
    let webhook = |url: &str| json!({ "adapter": "webhook", "settings": { "url": url, "secret": "env:X" } });
    let event = |field: &str, value: Value| {
        let mut event = json!({ "specversion": "1.0", "id": "1", "source": "/t", "type": "source.changed",
            "subject": "document/42", "data": {} });
        event[field] = value;
        event
    };
    let key = |scopes: Value| json!({ "name": "k", "scopes": scopes });
    const NOTIFICATIONS: &str = "/api/v1/notifications";
    const SCHEDULES: &str = "/api/v1/schedules";
    const CLOCK: &str = "/api/v1/sandbox/clock";
    let cases: Vec<(Method, &str, Value, &str, &str)> = vec![
        (post.clone(), NOTIFICATIONS, json!({}), "missing_field", "/list"),
        (post.clone(), NOTIFICATIONS, json!("text"), "wrong_type", ""),
        (post.clone(), NOTIFICATIONS, message("subject", json!(7)), "wrong_type", "/subject"),
        (post.clone(), NOTIFICATIONS, message("subject", json!("a\nb")), "subject_invalid", "/subject"),
        (post.clone(), NOTIFICATIONS, message("subject", json!("x".repeat(999))), "out_of_range", "/subject"),
        (post.clone(), NOTIFICATIONS, message("id", json!("7")), "key_invalid", "/id"),
        (post.clone(), NOTIFICATIONS, message("list", json!("ops")), "field_conflict", "/targets"),
        (
            post.clone(),
            NOTIFICATIONS,
            message("targets", json!(["a@b.example", "no"])),
            "address_invalid",
            "/targets/1",
        ),
        (
            post.clone(),
            NOTIFICATIONS,
            message("targets", json!(["a@b\r\nBcc: c@d"])),
            "address_invalid",
            "/targets/0",
        ),
        (post.clone(), NOTIFICATIONS, message("channel", json!("Email")), "key_invalid", "/channel"),
        (post.clone(), SCHEDULES, schedule("runAt", Value::Null), "missing_field", "/runAt"),
        (
            post.clone(),
            SCHEDULES,
            schedule("runAt", json!("2026-05-14T06:00:00")),
            "time_no_offset",
            "/runAt",
        ),
        (post.clone(), SCHEDULES, schedule("runAt", json!("2026-02-30T06:00:00Z")), "date_invalid", "/runAt"),
        (post.clone(), SCHEDULES, schedule("runAt", json!("2026-05-13T04:59:59Z")), "due_too_old", "/runAt"),
        (
            post.clone(),
            SCHEDULES,
            schedule("runAt", json!("2036-06-01T00:00:00Z")),
            "due_out_of_range",
            "/runAt",
        ),
        (post.clone(), SCHEDULES, schedule("key", json!("k".repeat(513))), "key_invalid", "/key"),
        (post.clone(), SCHEDULES, schedule("key", json!("k".repeat(512))), "key_invalid", "/key"),
        (post.clone(), SCHEDULES, schedule("key", json!("a\u{7}b")), "key_invalid", "/key"),
        (post.clone(), SCHEDULES, schedule("payload", json!([1])), "wrong_type", "/payload"),
        (
            post.clone(),
            SCHEDULES,
            schedule("payload", json!({ "a": "x".repeat(9_000) })),
            "out_of_range",
            "/payload",
        ),
        (
            patch,
            "/api/v1/schedules/1",
            json!({ "runAt": "2026-05-14T06:00:00Z", "topic": "u" }),
            "unknown_field",
            "/topic",
        ),
        (
            post.clone(),
            "/api/v1/messages",
            json!({ "targets": ["x@y.example"], "subject": "S", "body": "B",
            "sendAt": "2026-05-12T00:00:00Z" }),
            "due_too_old",
            "/sendAt",
        ),
        (
            put.clone(),
            "/api/v1/lists/ops",
            json!({ "type": "email", "target": [] }),
            "missing_field",
            "/targets",
        ),
        (
            put.clone(),
            "/api/v1/lists/ops",
            json!({ "type": "sms", "targets": [], "chanel": "x" }),
            "unknown_field",
            "/chanel",
        ),
        (put.clone(), "/api/v1/lists/a%0Ab", json!({ "type": "sms", "targets": [] }), "key_invalid", "/name"),
        (
            put.clone(),
            "/api/v1/business-units/nz",
            json!({ "name": "NZ", "timeZone": "Pacific/Aukland" }),
            "zone_unknown",
            "/timeZone",
        ),
        (put.clone(), "/api/v1/templates/t", template("{{ a"), "template_syntax", "/variants/en/body"),
        (
            put.clone(),
            "/api/v1/templates/t",
            template("{% include 'x' %}"),
            "template_syntax",
            "/variants/en/body",
        ),
        (put.clone(), "/api/v1/channels/email", json!({ "adapter": "smtp" }), "key_invalid", "/key"),
        (put.clone(), "/api/v1/channels/email:a", json!({ "adapter": "pigeon" }), "out_of_range", "/adapter"),
        (put.clone(), "/api/v1/channels/email:a", smtp("port", json!("25")), "wrong_type", "/settings/port"),
        (put.clone(), "/api/v1/channels/email:a", smtp("port", json!(0)), "out_of_range", "/settings/port"),
        (
            put.clone(),
            "/api/v1/channels/email:a",
            smtp("from", json!("nobody")),
            "address_invalid",
            "/settings/from",
        ),
        (
            put.clone(),
            "/api/v1/channels/email:a",
            smtp("hots", json!("x")),
            "unknown_field",
            "/settings/hots",
        ),
        (
            put.clone(),
            "/api/v1/channels/webhook:a",
            webhook("http://b.example/"),
            "url_scheme",
            "/settings/url",
        ),
        (
            put.clone(),
            "/api/v1/channels/webhook:a",
            webhook("https://u:p@b.example/"),
            "url_userinfo",
            "/settings/url",
        ),
        (
            put.clone(),
            "/api/v1/channels/webhook:a",
            webhook("https://127.0.0.1/"),
            "url_forbidden",
            "/settings/url",
        ),
        (
            put.clone(),
            "/api/v1/channels/webhook:a",
            webhook("https://b.example:22/"),
            "url_port",
            "/settings/url",
        ),
        (post.clone(), "/api/v1/events", event("specversion", json!("0.3")), "out_of_range", "/specversion"),
        (post.clone(), "/api/v1/events", event("id", Value::Null), "missing_field", "/id"),
        (post.clone(), "/api/v1/events", event("subject", json!("document")), "key_invalid", "/subject"),
        (post.clone(), "/api/v1/events", event("subject", Value::Null), "missing_field", "/subject"),
        (
            post.clone(),
            "/api/v1/events",
            event("data", json!({ "active": "yes" })),
            "wrong_type",
            "/data/active",
        ),
        (post.clone(), "/api/v1/events", event("sequence", json!("first")), "wrong_type", "/sequence"),
        (put.clone(), "/api/v1/sources/document/42", json!({ "state": [] }), "wrong_type", "/state"),
        (post.clone(), "/api/v1/sources", json!({}), "missing_field", "/items"),
        (post.clone(), "/api/v1/keys", key(json!(["root"])), "out_of_range", "/scopes/0"),
        (post.clone(), "/api/v1/keys", key(json!([])), "out_of_range", "/scopes"),
        (post, "/api/v1/scheduler/tick", json!({ "batchSize": 0 }), "out_of_range", "/batchSize"),
        (put.clone(), CLOCK, json!({ "advance": "1 month" }), "duration_invalid", "/advance"),
        (put.clone(), CLOCK, json!({ "advance": "-1h" }), "duration_invalid", "/advance"),
        (put.clone(), CLOCK, json!({ "now": "2026-05-14" }), "time_no_offset", "/now"),
        (put.clone(), CLOCK, json!({}), "missing_field", "/now"),
        (
            put,
            "/api/v1/sandbox/channels/email:a",
            json!({ "outcome": "explode" }),
            "out_of_range",
            "/outcome",
        ),
    ];
    for (method, path, body, code, pointer) in cases {
        let shown = body.to_string();
        let reply = client.call(method, path, Some(body)).await;
        println!("{path} {}: {}", &shown[..shown.len().min(120)], reply.text);
        let problem = reply.refused(422, code);
        assert_eq!(Reply::pointers(&problem).first(), Some(&pointer));
        assert_eq!(problem["errors"][0]["code"], code);
    }
    let batch = json!({ "items": vec![json!({}); 10_001] });
    client.post("/api/v1/sources", batch).await.refused(413, "batch_too_large");
    nothing_is_stored(&bed).await;
}

async fn a_batch_keeps_the_good_and_names_the_bad(bed: TestBed) {
    let client = Client::new(&bed).await;
    let good = json!({ "targets": ["x"], "channel": "memory:default", "subject": "S", "body": "B" });
    let reply =
        client.post("/api/v1/notifications", json!([good, { "subject": "S" }, good])).await.expect(200);
    let outcomes: Vec<_> =
        reply["items"].as_array().unwrap().iter().map(|item| item["outcome"].as_str()).collect();
    assert_eq!(outcomes, [Some("created"), Some("rejected"), Some("created")]);
    assert_eq!(reply["items"][1]["index"], 1);
    assert_eq!(reply["items"][1]["error"]["errors"][0]["pointer"], "/1/list");
    assert_eq!(bed.notifications().await.len(), 2);

    let good = json!({ "topic": "t", "runAt": "2026-05-14T06:00:00Z", "key": "k" });
    let late = json!({ "topic": "t", "runAt": "2026-05-01T06:00:00Z" });
    let reply = client.post("/api/v1/schedules", json!([late, good])).await.expect(200);
    assert_eq!(reply["items"][0]["error"]["code"], "due_too_old");
    assert_eq!(reply["items"][0]["error"]["errors"][0]["pointer"], "/0/runAt");
    assert_eq!(
        (&reply["items"][1]["outcome"], &reply["items"][1]["status"]),
        (&json!("created"), &json!("pending"))
    );

    let good = json!({ "id": "m", "sendAt": "2026-05-14T06:00:00Z", "targets": ["x"], "channel": "memory:default",
        "subject": "S", "body": "B" });
    let reply = client.post("/api/v1/messages", json!([good, {}])).await.expect(200);
    assert_eq!((&reply["items"][0]["id"], &reply["items"][0]["outcome"]), (&json!("m"), &json!("created")));
    assert_eq!(reply["items"][1]["outcome"], "rejected");
    client.advance("2h").await;
    assert_eq!(bed.sent().len(), 3);
}

async fn an_address_that_leads_nowhere_says_so(bed: TestBed) {
    let client = Client::with(&bed, |state| state.sandbox = None).await;
    client.get("/api/v1/nothing").await.refused(404, "not_found");
    client.get("/").await.refused(404, "not_found");
    client.delete("/api/v1/notifications").await.refused(405, "method_not_allowed");
    client.get("/api/v1/scheduler/tick").await.refused(405, "method_not_allowed");
    for path in ["/api/v1/sandbox/clock", "/api/v1/sandbox/sent"] {
        client.get(path).await.refused(404, "not_found");
        Client { key: None, ..client.clone() }.get(path).await.refused(404, "not_found");
    }
    for path in [
        "/api/v1/notifications/0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071",
        "/api/v1/notifications/nonsense",
        "/api/v1/notifications/nonsense/timeline",
        "/api/v1/work/1",
        "/api/v1/work/x",
        "/api/v1/work/1/trace",
        "/api/v1/schedules/1",
        "/api/v1/messages/m",
        "/api/v1/lists/none",
        "/api/v1/channels/email:none",
        "/api/v1/templates/none",
        "/api/v1/business-units/none",
        "/api/v1/sources/document/none",
    ] {
        client.get(path).await.refused(404, "not_found");
    }
    let reply = client.get("/api/v1/lists/%FF").await;
    assert_eq!(reply.status, 404, "{}", reply.text);
    for path in ["/api/v1/notifications/x/retry", "/api/v1/work/1/cancel", "/api/v1/work/1/release"] {
        client.call(Method::POST, path, None).await.refused(404, "not_found");
    }
}

async fn the_storage_s_fault_is_not_the_client_s(bed: TestBed) {
    let client = Client::new(&bed).await;
    let body = json!({ "targets": ["x"], "channel": "memory:default", "subject": "S", "body": "B" });
    client.get("/api/v1/lists").await.expect(200);
    bed.faults.fail("notifications.insert_absent", false, 2);
    let reply = client.post("/api/v1/notifications", body.clone()).await;
    assert_eq!(reply.headers["retry-after"], "1");
    let problem = reply.refused(503, "storage_unavailable");
    let reported = problem.to_string();
    assert!(!reported.contains("insert") && !reported.contains("inject"), "{reported}");
    assert!(bed.notifications().await.is_empty());
    bed.faults.fail("notifications.insert_absent", false, 0);
}

//! What keeps a browser safe: headers everywhere, nothing inline, no text of strangers taken for markup, forms of ours only.

use axum::http::Method;
use punctual_model::NotificationSource;
use punctual_testkit::{TestBed, console_routes, on_both};
use serde_json::json;

use crate::client::{Client, encoded};

on_both! {
    every_answer_has_the_headers_that_harden;
    texts_of_strangers_are_never_markup;
    t03_forms_of_other_sites_change_nothing;
    nul_reaches_no_statement;
}

const PAGES: [&str; 27] = [
    "/",
    "/audit",
    "/outbox",
    "/attention",
    "/work",
    "/work?list=held",
    "/work?list=all",
    "/channels",
    "/preferences",
    "/account",
    "/settings/users",
    "/settings/users/new",
    "/settings",
    "/channels/add",
    "/channels/new?adapter=memory",
    "/settings/lists",
    "/settings/lists/new",
    "/settings/templates/new",
    "/settings/units/new",
    "/settings/keys",
    "/settings/keys/new",
    "/settings/sites/new",
    "/settings/subscribers/add",
    "/settings/policy",
    "/settings/retention",
    "/settings/personal-data",
    "/sign-in?token=x",
];

async fn every_answer_has_the_headers_that_harden(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let others = [
        "/notifications/none",
        "/work/none",
        "/settings/users/none",
        "/invitation?token=x",
        "/assets/console.css",
        "/assets/console.js",
        "/assets/icon.svg",
    ];
    for path in PAGES.iter().chain(&others) {
        let reply = client.get(path).await;
        let policy = reply.headers["content-security-policy"].to_str().unwrap();
        assert!(
            policy.starts_with("default-src 'none'")
                && !policy.contains("unsafe")
                && !policy.contains("http"),
            "{policy}"
        );
        assert_eq!(reply.headers["x-content-type-options"], "nosniff", "{path}");
        assert_eq!(reply.headers["referrer-policy"], "no-referrer", "{path}");
        assert_eq!(reply.headers["cross-origin-opener-policy"], "same-origin", "{path}");
        if !path.starts_with("/assets") {
            assert_eq!(reply.headers["cache-control"], "no-store", "{path}");
        }
        let text = reply.text.replace("http://www.w3.org/2000/svg", "").replace("http://HOST/", "");
        for refused in
            ["style=\"", "onclick=", "<style", "http://", "https://", "@import", "innerHTML = ", "eval("]
        {
            assert!(!text.contains(refused), "{path} has {refused}");
        }
    }
}

async fn texts_of_strangers_are_never_markup(bed: TestBed) {
    const EVIL: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>";
    bed.list("ops", "no:such", &["a"]).await;
    let mut new = bed.message_to_list("ops");
    new.subject = EVIL.into();
    new.body = EVIL.into();
    new.html = Some(format!("<b>{EVIL}</b>"));
    new.context = Some(json!({ "x": EVIL }));
    new.source = NotificationSource {
        site: Some(EVIL.into()),
        instance: Some(EVIL.into()),
        script: Some(EVIL.into()),
    };
    let id = bed.accept_one(new).await;
    bed.tick().await;
    let client = Client::admin(&bed).await;
    let query = encoded(&[
        ("q", EVIL),
        ("site", EVIL),
        ("from", EVIL),
        ("list", EVIL),
        ("type", EVIL),
        ("done", EVIL),
    ]);
    let timeline = format!("/notifications/{id}?{query}");
    let (search, sign_in) = (format!("/outbox?{query}"), format!("/sign-in?next={}", &query[2..]));
    let stranger = client.nobody();
    for path in PAGES.into_iter().chain([timeline.as_str(), &search, &sign_in]) {
        let client = if path == sign_in { &stranger } else { &client };
        let page = client.page(path).await;
        assert!(!page.contains("<script>alert") && !page.contains("<img src=x"), "{path}: {page}");
    }
    assert!(client.page("/outbox").await.contains("&#60;script&#62;alert(1)"));
    let row = format!("{id}:{}", bed.notification(&id).await.version);
    let confirm = client.act("/outbox/confirm", &[("action", "retry"), ("row", &row), ("back", EVIL)]).await;
    assert!(confirm.status == 200 && !confirm.text.contains("<script>alert"), "{}", confirm.text);
    // The body itself is shown in a frame that may do nothing.
    let html = client.get(&format!("/notifications/{id}/html")).await;
    let policy = html.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("sandbox; default-src 'none'") && !policy.contains("script"), "{policy}");
    assert!(html.text.contains(EVIL));
}

async fn t03_forms_of_other_sites_change_nothing(bed: TestBed) {
    let client = Client::admin(&bed).await;
    let other = client.nobody();
    other.sign_in(crate::client::ADMIN).await.leads_to("/");
    let (own, foreign) = (client.token().await, other.token().await);
    assert_ne!(own, foreign);
    let forms = [
        "/sign-out",
        "/outbox/confirm",
        "/outbox/act",
        "/work/confirm",
        "/work/act",
        "/sandbox/clock",
        "/account/password",
        "/account/end-sessions",
        "/settings/users/save",
        "/settings/users/invite",
        "/settings/users/active",
        "/settings/users/delete",
        "/settings/users/end-sessions",
        "/channels/save",
        "/channels/delete",
        "/channels/test",
        "/settings/lists/save",
        "/settings/lists/delete",
        "/settings/templates/save",
        "/settings/templates/delete",
        "/settings/units/save",
        "/settings/units/delete",
        "/settings/keys/save",
        "/settings/keys/delete",
        "/settings/sites/save",
        "/settings/sites/delete",
        "/settings/subscribers/save",
        "/settings/subscribers/delete",
        "/settings/templates/preview",
        "/settings/templates/html",
        "/settings/sites/rotate",
        "/settings/policy/save",
        "/settings/retention/purge",
        "/settings/personal-data/plan",
        "/settings/personal-data/erase",
        "/settings/personal-data/export",
    ];
    let same = ("sec-fetch-site", "same-origin");
    for form in forms {
        let send = async |header: (&'static str, &'static str), token: &str| {
            client.send(Method::POST, form, &[header], encoded(&[("token", token), ("to", "day")])).await
        };
        send(same, "").await.refused(403, "csrf");
        send(same, &foreign).await.refused(403, "csrf");
        send(("sec-fetch-site", "cross-site"), &own).await.refused(403, "csrf");
        send(("origin", "https://evil.example"), &own).await.refused(403, "csrf");
        send(("accept", "*/*"), &own).await.refused(403, "csrf");
        assert_eq!(client.get(form).await.status, 405, "{form}: reading changes nothing");
    }
    let cross = [("sec-fetch-site", "cross-site")];
    client.send(Method::POST, "/sign-in", &cross, "key=x".into()).await.refused(403, "csrf");
    client.send(Method::POST, "/invitation", &cross, "link=x".into()).await.refused(403, "csrf");
    client.page("/").await;
}

/// PostgreSQL takes NUL in no text: one that got through to a statement would be a fault of the server.
async fn nul_reaches_no_statement(bed: TestBed) {
    let client = Client::admin(&bed).await;
    for (route, methods) in console_routes() {
        // Names in braces are segments of the path.
        let part = |part: &str| if part.starts_with('{') { "a%00b".to_owned() } else { part.to_owned() };
        let path = route.split('/').map(part).collect::<Vec<_>>().join("/");
        if methods.contains("get") && route != "/live" {
            let query = ["q", "list", "actor", "status", "token", "page", "kind", "from"];
            let query: Vec<String> = query.iter().map(|name| format!("{name}=%00")).collect();
            for path in [path.clone(), format!("{path}?{}", query.join("&"))] {
                let reply = client.get(&path).await;
                assert!(reply.status < 500, "{path}: {} {}", reply.status, reply.text);
                assert!(
                    reply.status == 404 || path.split('?').next() == Some(route.as_str()),
                    "{path}: {}",
                    reply.status
                );
            }
        }
    }
    // Forms that anybody may send.
    for (path, field) in [("/sign-in", "key"), ("/sign-in", "email"), ("/s/a%00b", "rate")] {
        let reply = client.nobody().post(path, &[(field, "0123456789abcdef\0"), ("password", "\0")]).await;
        assert!(reply.status < 500, "{path}: {}", reply.status);
    }
}

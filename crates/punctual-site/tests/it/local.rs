//! The local API, as scripts see it, and the client.

use axum::{
    body::{Body, to_bytes},
    http::Request,
};
use punctual_api::serve;
use punctual_client::{ClientError, Notify, SiteAgent};
use punctual_site::{Agent, SiteConfig, router};
use punctual_testkit::{TestBed, on_both, promtool};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::rig::{Rig, notify_many, tick};

on_both! {
    a_script_sends_and_asks;
    bad_requests_get_what_would_be_right;
    a_page_in_a_browser_cannot_notify;
    the_client_is_one_line;
}

async fn call(
    agent: &Agent,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (u16, Value, String) {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer =
        router(agent.clone()).oneshot(request.body(Body::from(body.to_owned())).unwrap()).await.unwrap();
    let status = answer.status().as_u16();
    let bytes = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null), text)
}

const JSON: (&str, &str) = ("content-type", "application/json");

async fn a_script_sends_and_asks(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let agent = rig.agent().await;
    let body = json!({ "list": "ops", "subject": "S", "body": "B" }).to_string();
    let (status, made, _) = call(&agent, "POST", "/notify", &[JSON], &body).await;
    assert_eq!(status, 201);
    let id = made["id"].as_str().unwrap();
    let (status, found, _) = call(&agent, "GET", &format!("/notify/{id}"), &[], "").await;
    let expected = json!({ "id": id, "status": "forwarding", "retryCount": 0, "lastError": null,
        "enqueuedAt": bed.now().to_string(), "deliveredAt": null, "reasonCode": null, "centralUnreachable": false });
    assert_eq!((status, found), (200, expected));
    let (_, health, _) = call(&agent, "GET", "/healthz", &[], "").await;
    assert_eq!((&health["backlog"], &health["accepting"]), (&1.into(), &true.into()));
    tick(&agent).await;
    let (_, _, metrics) = call(&agent, "GET", "/metrics", &[], "").await;
    for line in
        ["punctual_site_taken_in_total 1", "punctual_site_stored_total 1", "punctual_site_backlog_rows 0"]
    {
        assert!(metrics.contains(line), "{metrics}");
    }
    promtool::check(&["metrics"], &metrics);
    let open = [("accept", "application/openmetrics-text")];
    let (_, _, metrics) = call(&agent, "GET", "/metrics", &open, "").await;
    assert!(metrics.ends_with("# EOF\n"), "{metrics}");
    let (_, log, _) = call(&agent, "GET", "/log?limit=5", &[], "").await;
    assert_eq!(log["items"], json!([]), "success is not logged");
    bed.leaves_open("nothing ticks central");
}

async fn bad_requests_get_what_would_be_right(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let agent = rig.agent_with(SiteConfig { max_rows: 1, ..rig.config() }).await;
    let good = json!({ "list": "ops", "subject": "S", "body": "B" }).to_string();
    let long = json!({ "list": "ops", "subject": "S", "body": "x".repeat(256 * 1024 + 1) }).to_string();
    let huge = format!("\"{}\"", "x".repeat(3 << 20));
    type Case<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a str, u16, &'a str);
    let cases: [Case<'_>; 13] = [
        ("POST", "/notify", &[], &good, 415, "content_type"),
        ("POST", "/notify", &[("content-type", "text/plain")], &good, 415, "content_type"),
        ("POST", "/notify", &[JSON], "{", 400, "json_syntax"),
        ("POST", "/notify", &[JSON], "{\"list\":\"a\",\"list\":\"b\"}", 400, "json_duplicate_key"),
        ("POST", "/notify", &[JSON], "{\"list\":\"a\",\"subject\":\"S\"}", 422, "missing_field"),
        ("POST", "/notify", &[JSON], &long, 422, "out_of_range"),
        ("POST", "/notify", &[JSON], &huge, 413, "body_too_large"),
        ("GET", "/nowhere", &[], "", 404, "not_found"),
        ("GET", "/notify/%ff", &[], "", 404, "not_found"),
        ("GET", "/log?limit=x", &[], "", 422, "wrong_type"),
        ("GET", "/log?limit=0", &[], "", 422, "out_of_range"),
        ("GET", "/log?lines=5", &[], "", 422, "unknown_field"),
        ("DELETE", "/notify", &[], "", 405, "method_not_allowed"),
    ];
    for (method, path, headers, body, status, code) in cases {
        let (found, problem, _) = call(&agent, method, path, headers, body).await;
        assert_eq!((found, problem["code"].as_str()), (status, Some(code)), "{method} {path}: {problem}");
    }
    assert_eq!(call(&agent, "POST", "/notify", &[JSON], &good).await.0, 201);
    let (status, problem, _) = call(&agent, "POST", "/notify", &[JSON], &good).await;
    assert_eq!((status, problem["code"].as_str()), (507, Some("buffer_full")));
    assert_eq!(
        problem["detail"],
        "The buffer has 1 rows of at most 1; nothing was stored. Try again in 10 s."
    );
    assert_eq!(agent.health().await.unwrap().backlog, 1);
}

async fn a_page_in_a_browser_cannot_notify(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let agent = rig.agent().await;
    let body = json!({ "list": "ops", "subject": "S", "body": "B" }).to_string();
    // A name that an attacker's server lets lead to this machine.
    let (status, problem, _) =
        call(&agent, "POST", "/notify", &[JSON, ("host", "evil.example:8081")], &body).await;
    assert_eq!((status, problem["code"].as_str()), (403, Some("csrf")));
    for host in ["127.0.0.1:8081", "localhost", "[::1]:8081", "LOCALHOST:1"] {
        assert_eq!(call(&agent, "POST", "/notify", &[JSON, ("host", host)], &body).await.0, 201, "{host}");
    }
}

async fn the_client_is_one_line(bed: TestBed) {
    let rig = Rig::new(&bed).await;
    let agent = rig.agent().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let local = SiteAgent::at(format!("http://{}/", listener.local_addr().unwrap()));
    let stop = CancellationToken::new();
    let server = tokio::spawn(serve(listener, router(agent.clone()), stop.clone()));
    let id = Notify::to("ops").via(local.clone()).script("watch.sh").send("S", "B").await.unwrap();
    assert_eq!(local.status(&id).await.unwrap().status, "forwarding");
    assert_eq!(local.status("../healthz").await.unwrap().status, "unknown");
    let again = Notify::to("ops").via(local.clone()).script("watch.sh").id(&id).send("S", "B").await;
    assert_eq!(again.unwrap(), id);
    let refused = Notify::to("ops").via(local.clone()).send("two\nlines", "B").await.unwrap_err();
    assert!(refused.to_string().starts_with("subject_invalid: "), "{refused}");
    notify_many(&agent, "ops", 0..2).await;
    assert_eq!(local.health().await.unwrap().backlog, 3);
    assert!(local.log(5).await.unwrap().is_empty());
    stop.cancel();
    server.await.unwrap();
    let nobody = Notify::to("ops").via(local).send("S", "B").await.unwrap_err();
    assert!(matches!(nobody, ClientError::Unreachable { .. }), "{nobody}");
}

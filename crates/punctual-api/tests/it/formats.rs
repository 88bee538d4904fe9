//! The formats that other programs speak: CloudEvents in binary mode, and figures for Prometheus.

use axum::http::Method;
use punctual_testkit::{TestBed, on_both, promtool};
use serde_json::{Value, json};

use crate::client::{Client, Reply};

on_both! {
    an_event_in_binary_mode_is_the_same_event;
    figures_come_as_prometheus_text_unless_open_metrics_is_asked_for;
    promtool_is_content_with_every_figure_and_the_alert_rules;
}

async fn binary(client: &Client, more: &[(&str, &str)], body: &str) -> Reply {
    let mut headers = vec![("ce-specversion", "1.0"), ("ce-source", "/crm"), ("ce-id", "e-1")];
    headers.extend(more);
    client.send(Method::POST, "/api/v1/events", &headers, body.to_owned()).await
}

async fn an_event_in_binary_mode_is_the_same_event(bed: TestBed) {
    let client = Client::new(&bed).await;
    let changed = [("ce-type", "source.changed"), ("content-type", "application/json")];
    let state = json!({ "state": { "name": "x" } }).to_string();
    let about =
        |subject: &'static str| [changed[0], changed[1], ("ce-subject", subject), ("ce-sequence", "7")];
    let taken = binary(&client, &about("document/caf%C3%A9"), &state).await.expect(200);
    assert_eq!(taken["items"][0]["outcome"], "accepted");
    let source = client.get("/api/v1/sources/document/caf%C3%A9").await.expect(200);
    assert_eq!((&source["state"]["name"], &source["sequence"]), (&json!("x"), &json!(7)));
    // Older than what is known, in either mode.
    let older = json!({ "specversion": "1.0", "id": "e-2", "source": "/crm", "type": "source.changed",
        "subject": "document/café", "sequence": "6", "data": { "state": { "name": "y" } } });
    let structured = [("content-type", "application/cloudevents+json"), ("ce-specversion", "1.0")];
    let reply = client.send(Method::POST, "/api/v1/events", &structured, older.to_string()).await.expect(200);
    assert_eq!(reply["items"][0]["outcome"], "stale", "a structured body counts, whatever the headers say");
    let missing = binary(&client, &changed, &state).await.refused(422, "missing_field");
    assert_eq!(Reply::pointers(&missing), ["/subject"]);
    binary(&client, &[("content-type", "application/json")], "{}").await.refused(422, "missing_field");
    binary(&client, &[("ce-type", "x"), ("content-type", "application/json")], "{")
        .await
        .refused(400, "json_syntax");
    binary(&client, &[("ce-type", "x"), ("content-type", "image/png")], "x")
        .await
        .refused(415, "content_type");
    binary(&client, &[("ce-type", "%FF")], "").await.refused(400, "text_invalid");
    // Another event under one idempotency key is another request, although the body is the same.
    let once = |subject: &'static str| [&about(subject)[..], &[("idempotency-key", "k")]].concat();
    binary(&client, &once("document/1"), &state).await.expect(200);
    binary(&client, &once("document/1"), &state).await.expect(200);
    binary(&client, &once("document/2"), &state).await.refused(409, "idempotency_mismatch");
}

async fn figures_come_as_prometheus_text_unless_open_metrics_is_asked_for(bed: TestBed) {
    let client = Client::new(&bed).await;
    bed.accept_to(&["x"]).await;
    bed.tick().await;
    let scrape = async |accept: Option<&str>| {
        let headers: Vec<(&str, &str)> = accept.into_iter().map(|accept| ("accept", accept)).collect();
        client.send(Method::GET, "/metrics", &headers, "").await
    };
    let prometheus =
        "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
    for (accept, open) in [
        (None, false),
        (Some("*/*"), false),
        (Some("text/plain"), false),
        (Some("application/openmetrics-text;q=0, text/plain"), false),
        (Some("application/openmetrics-text"), true),
        (Some(prometheus), true),
    ] {
        let reply = scrape(accept).await;
        assert_eq!(reply.body, Value::Null);
        let kind = reply.headers["content-type"].to_str().unwrap().to_owned();
        assert_eq!(kind.starts_with("application/openmetrics-text"), open, "{accept:?}: {kind}");
        assert_eq!(reply.text.ends_with("# EOF\n"), open, "{accept:?}");
        // Every sample has a description, in the way of its format.
        for line in
            reply.text.lines().filter(|line| line.starts_with("# TYPE ") && line.ends_with(" counter"))
        {
            let name = line.split(' ').nth(2).unwrap();
            assert_eq!(name.ends_with("_total"), !open, "{accept:?}: {line}");
            let sample = if open { format!("{name}_total") } else { name.to_owned() };
            assert!(reply.text.contains(&sample), "{line}");
        }
    }
}

async fn promtool_is_content_with_every_figure_and_the_alert_rules(bed: TestBed) {
    let client = Client::new(&bed).await;
    bed.accept_to(&["x"]).await;
    bed.tick().await;
    let mut text = client.send(Method::GET, "/metrics", &[], "").await.text;
    // A family shows nothing before its first sample, and its name must be right all the same.
    for figure in bed.engine.metrics.figures() {
        let (name, kind) = (&figure.name, figure.kind);
        if !text.contains(&format!("# TYPE {name} {kind}\n")) {
            let labels: Vec<String> = figure.labels.iter().map(|label| format!("{label}=\"x\"")).collect();
            assert!(!labels.is_empty(), "{name} has no labels and is not shown");
            let sample = format!("{name}{{{}}} 1", labels.join(","));
            text += &format!("# HELP {name} {}.\n# TYPE {name} {kind}\n{sample}\n", figure.help);
        }
    }
    promtool::check(&["metrics"], &text);
    let monitoring = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/monitoring");
    promtool::check(&["rules", &format!("{monitoring}/alerts.yaml")], "");
    promtool::check(&["config", "--syntax-only", &format!("{monitoring}/prometheus.yaml")], "");
}

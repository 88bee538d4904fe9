//! Teams and Slack, against stand-ins.

use punctual_channels::{SlackAdapter, TeamsAdapter};
use punctual_model::{Adapter, Outgoing, SendOutcome};
use serde_json::{Value, json};

use crate::{
    open_guard, outgoing,
    receiver::Request,
    stand_in::{Reply, StandIn, check_failures, error, header, json_of, send, word},
    test_trust,
};

/// An incoming webhook of Slack's as its pages describe it; what the text asks for goes wrong.
fn slack(request: &Request) -> Reply {
    match request.path.as_str() {
        "/services/T0/B0/canary-slack-hook" => {}
        "/services/T0/B0/canary-archived" => return Reply::text(410, "channel_is_archived"),
        _ => return Reply::text(404, "no_service"),
    }
    if header(request, "content-type") != "application/json" {
        return Reply::text(400, "invalid_payload");
    }
    let body = json_of(request);
    match body["text"].as_str() {
        None => Reply::text(400, "no_text"),
        Some(text) if text.contains("forbidden") => Reply::text(403, "action_prohibited"),
        Some(text) if text.contains("token") => Reply::text(403, "invalid_token"),
        Some(text) if text.contains("rollup") => Reply::text(500, "rollup_error"),
        Some(text) if text.contains("often") => Reply::text(429, "rate_limited").with("retry-after", "9"),
        Some(text) if text.contains("lost") => Reply::text(404, "channel_not_found"),
        Some(text) if text.contains("odd") => Reply::text(400, "invalid_payload"),
        Some(_) => Reply::text(200, "ok"),
    }
}

fn slack_adapter() -> SlackAdapter {
    SlackAdapter::new(open_guard(), test_trust())
}

fn slack_settings(stand_in: &StandIn) -> Value {
    json!({"url": format!("{}/services/T0/B0/canary-slack-hook", stand_in.url())})
}

#[tokio::test]
async fn a_message_appears_in_slack_as_it_was_written() {
    let stand_in = StandIn::start(slack).await;
    let channel = slack_adapter().open(&slack_settings(&stand_in)).unwrap();
    let message = Outgoing { body: "<!channel> a & b".to_owned(), ..outgoing("slack:ops", "ops") };
    assert_eq!(channel.send(message).await, SendOutcome::Delivered { provider_id: "msg-7".to_owned() });
    let sent = json_of(&stand_in.requests()[0]);
    assert_eq!(sent, json!({"text": "*Subject*\n&lt;!channel&gt; a &amp; b"}));
    let long = Outgoing { body: "x".repeat(50_000), ..outgoing("slack:ops", "ops") };
    assert_eq!(word(&channel.send(long).await), "delivered");
    let sent = json_of(&stand_in.requests()[0]);
    assert_eq!(
        sent["text"].as_str().map(|text| (text.chars().count(), text.ends_with("(shortened)"))),
        Some((40_000, true))
    );
}

#[tokio::test]
async fn each_refusal_of_slack_has_its_reason() {
    let stand_in = StandIn::start(slack).await;
    let channel = slack_adapter().open(&slack_settings(&stand_in)).unwrap();
    for (body, expected) in [
        ("forbidden", "rejected-by-receiver"),
        ("token", "credentials-refused"),
        ("rollup", "transient"),
        ("often", "transient"),
        ("lost", "recipient-unreachable"),
        ("odd", "content-refused"),
    ] {
        let message = Outgoing { body: body.to_owned(), ..outgoing("slack:ops", "ops") };
        let outcome = channel.send(message).await;
        assert_eq!(word(&outcome), expected, "{outcome:?}");
        if let SendOutcome::Transient { retry_after, .. } = outcome {
            assert_eq!(retry_after.map(|wait| wait.as_secs()), (body == "often").then_some(9));
        }
    }
    for (hook, expected) in
        [("canary-archived", "recipient-unreachable"), ("canary-unknown", "credentials-refused")]
    {
        let settings = json!({"url": format!("{}/services/T0/B0/{hook}", stand_in.url())});
        assert_eq!(word(&send(&slack_adapter(), &settings, "ops").await), expected);
    }
}

#[tokio::test]
async fn slack_may_misbehave() {
    let stand_in = StandIn::start(slack).await;
    let settings = slack_settings(&stand_in);
    check_failures(&slack_adapter(), &stand_in, &settings, &["canary-slack-hook"], "ops", "uncertain").await;
}

/// A workflow with the trigger "when a Teams webhook request is received".
fn workflow(request: &Request) -> Reply {
    let fault = |status, code: &str, message: &str| {
        Reply::json(status, &json!({"error": {"code": code, "message": message}}))
    };
    if !request.path.contains("sig=canary-signature") {
        return fault(401, "DirectApiAuthorizationRequired", "The request must have a valid signature.");
    }
    if request.body.len() > 28 * 1024 {
        return Reply::text(413, "RequestEntityTooLarge");
    }
    if request.path.contains("/off/") {
        return fault(400, "WorkflowTriggerIsNotEnabled", "Could not execute workflow: it is not enabled.");
    }
    if request.path.contains("/gone/") {
        return fault(404, "WorkflowNotFound", "The workflow could not be found.");
    }
    let body = json_of(request);
    let card = &body["attachments"][0];
    let is_card = body["type"] == "message"
        && card["contentType"] == "application/vnd.microsoft.card.adaptive"
        && card["content"]["type"] == "AdaptiveCard";
    if !is_card {
        return fault(400, "TriggerInputSchemaMismatch", "The input body does not match the schema.");
    }
    match card["content"].to_string() {
        text if text.contains("often") => {
            fault(429, "WorkflowRunActionRepetitionQuotaExceeded", "Rate limit").with("retry-after", "11")
        }
        text if text.contains("tired") => fault(502, "NoResponse", "The server did not receive a response."),
        _ => Reply::text(202, ""),
    }
}

fn teams_adapter() -> TeamsAdapter {
    TeamsAdapter::new(open_guard(), test_trust())
}

fn teams_settings(stand_in: &StandIn, flow: &str) -> Value {
    json!({"url": format!("{}/workflows/{flow}/triggers/manual/paths/invoke?api-version=1&sig=canary-signature", stand_in.url())})
}

#[tokio::test]
async fn a_message_becomes_a_card_in_teams() {
    let stand_in = StandIn::start(workflow).await;
    let channel = teams_adapter().open(&teams_settings(&stand_in, "a")).unwrap();
    let message = Outgoing {
        body: "Line **one**\nsee https://x.example/s/1".to_owned(),
        ..outgoing("teams:ops", "ops")
    };
    assert_eq!(channel.send(message).await, SendOutcome::Delivered { provider_id: "msg-7".to_owned() });
    let sent = json_of(&stand_in.requests()[0]);
    let body = &sent["attachments"][0]["content"]["body"];
    let texts: Vec<&str> =
        body.as_array().unwrap().iter().map(|block| block["inlines"][0]["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["Subject", "Line **one**", "see "]);
    assert_eq!(
        body[2]["inlines"][1]["selectAction"],
        json!({"type": "Action.OpenUrl", "url": "https://x.example/s/1"})
    );

    let long = Outgoing { body: "Zeile mit Ümlauten\n".repeat(10_000), ..outgoing("teams:ops", "ops") };
    assert_eq!(word(&channel.send(long).await), "delivered", "28 KB is not passed");
}

#[tokio::test]
async fn each_refusal_of_a_workflow_has_its_reason() {
    let stand_in = StandIn::start(workflow).await;
    for (flow, body, expected) in [
        ("off", "x", "recipient-unreachable"),
        ("gone", "x", "recipient-unreachable"),
        ("a", "often", "transient"),
        ("a", "tired", "transient"),
    ] {
        let channel = teams_adapter().open(&teams_settings(&stand_in, flow)).unwrap();
        let message = Outgoing { body: body.to_owned(), ..outgoing("teams:ops", "ops") };
        let outcome = channel.send(message).await;
        assert_eq!(word(&outcome), expected, "{outcome:?}");
        if let SendOutcome::Transient { retry_after, .. } = outcome {
            assert_eq!(retry_after.map(|wait| wait.as_secs()), (body == "often").then_some(11));
        }
    }
    let unsigned = json!({"url": format!("{}/workflows/a/triggers/manual/paths/invoke", stand_in.url())});
    let outcome = send(&teams_adapter(), &unsigned, "ops").await;
    assert_eq!(word(&outcome), "credentials-refused");
    assert!(error(&outcome).contains("DirectApiAuthorizationRequired"), "{outcome:?}");
}

#[tokio::test]
async fn a_workflow_may_misbehave() {
    let stand_in = StandIn::start(workflow).await;
    let settings = teams_settings(&stand_in, "a");
    check_failures(&teams_adapter(), &stand_in, &settings, &["canary-signature"], "ops", "delivered").await;
}

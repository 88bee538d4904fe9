//! Mail through SendGrid, against a stand-in.

use std::time::Duration;

use punctual_channels::SendGridAdapter;
use punctual_model::{Adapter, Outgoing, SendOutcome, channel::Attachment};
use serde_json::{Value, json};

use crate::{
    open_guard, outgoing,
    receiver::Request,
    stand_in::{Reply, StandIn, check_failures, error, header, json_of, send, word},
    test_trust,
};

/// SendGrid's v3 mail API as its reference describes it.
fn sendgrid(request: &Request) -> Reply {
    let fault = |status, message: &str, field: Option<&str>| {
        Reply::json(status, &json!({"errors": [{"message": message, "field": field, "help": null}]}))
    };
    if request.path != "/v3/mail/send" {
        return fault(404, "not found", None);
    }
    if header(request, "authorization") != "Bearer SG.canary-key" {
        return fault(401, "The provided authorization grant is invalid, expired, or revoked", None);
    }
    if header(request, "content-type") != "application/json" {
        return fault(415, "The content-type is not supported", None);
    }
    let mail = json_of(request);
    if mail["content"].as_array().is_none_or(Vec::is_empty)
        || mail["subject"].as_str().is_none_or(str::is_empty)
    {
        return fault(
            400,
            "The content value must be a string at least one character in length.",
            Some("content.0.value"),
        );
    }
    if mail["from"]["email"] != "reminders@example.com" {
        return fault(403, "The from address does not match a verified Sender Identity.", Some("from"));
    }
    match mail["personalizations"][0]["to"][0]["email"].as_str().unwrap_or_default() {
        "refused@example.org" => {
            fault(400, "Does not contain a valid address.", Some("personalizations.0.to.0.email"))
        }
        "large@example.org" => {
            fault(413, "The JSON payload you have included in your request is too large", None)
        }
        "often@example.org" => fault(429, "too many requests", None).with("x-ratelimit-reset", "1793694642"),
        "tired@example.org" => fault(500, "Internal error", None),
        "down@example.org" => Reply::text(503, "Service Unavailable"),
        _ => Reply::text(202, "").with("x-message-id", "14c5d75ce93.dfd.64b469"),
    }
}

fn adapter() -> SendGridAdapter {
    SendGridAdapter::new(open_guard(), test_trust())
}

fn settings(stand_in: &StandIn) -> Value {
    json!({"apiKey": "SG.canary-key", "from": "Reminders <reminders@example.com>", "baseUrl": stand_in.url()})
}

#[tokio::test]
async fn a_mail_is_queued_at_sendgrid() {
    let stand_in = StandIn::start(sendgrid).await;
    let mut settings = settings(&stand_in);
    settings["replyTo"] = "office@example.com".into();
    let channel = adapter().open(&settings).unwrap();
    let file = Attachment {
        file_name: "a.csv".to_owned(),
        media_type: "text/csv".to_owned(),
        content: b"a,b".to_vec(),
        content_id: None,
    };
    let message = Outgoing {
        html: Some("<p>Body</p>".to_owned()),
        attachments: vec![file.clone()],
        ..outgoing("email:x", "ann@example.org")
    };
    let outcome = channel.send(message.clone()).await;
    assert_eq!(outcome, SendOutcome::Delivered { provider_id: "14c5d75ce93.dfd.64b469".to_owned() });
    let expected = json!({
        "personalizations": [{"to": [{"email": "ann@example.org"}], "custom_args": {"punctualMessageId": "msg-7"}}],
        "from": {"email": "reminders@example.com", "name": "Reminders"},
        "reply_to": {"email": "office@example.com"},
        "subject": "Subject",
        "content": [{"type": "text/plain", "value": "Body"}, {"type": "text/html", "value": "<p>Body</p>"}],
        "headers": {"Message-ID": "<msg-7@example.com>", "Auto-Submitted": "auto-generated"},
        "attachments": [{"content": "YSxi", "type": "text/csv", "filename": "a.csv", "disposition": "attachment"}],
    });
    assert_eq!(json_of(&stand_in.requests()[0]), expected);

    let link = "https://punctual.example/p/abc.def";
    channel.send(Outgoing { unsubscribe: Some(link.to_owned()), ..message.clone() }).await;
    let headers = json_of(&stand_in.requests()[0])["headers"].clone();
    assert_eq!(headers["List-Unsubscribe"], format!("<{link}>"));
    assert_eq!(headers["List-Unsubscribe-Post"], "List-Unsubscribe=One-Click");
    let picture = Attachment { content_id: Some("chart@report".to_owned()), ..file.clone() };
    channel.send(Outgoing { attachments: vec![picture], ..message.clone() }).await;
    let sent = json_of(&stand_in.requests()[0]);
    assert_eq!(sent["attachments"][0]["content_id"], "chart@report");
    assert_eq!(sent["attachments"][0]["disposition"], "inline");

    let program = Attachment { media_type: "application/x-msdownload".to_owned(), ..file };
    for (odd, reason) in [
        (Outgoing { attachments: vec![program], ..message.clone() }, "attachment-invalid"),
        (Outgoing { subject: "a\r\nBcc: x".to_owned(), ..message.clone() }, "subject-invalid"),
        (Outgoing { address: "ann".to_owned(), ..message.clone() }, "address-invalid"),
    ] {
        assert_eq!(word(&channel.send(odd).await), reason);
    }
    assert!(stand_in.requests().is_empty(), "nothing of that was sent");
    let empty = Outgoing { body: String::new(), html: None, attachments: Vec::new(), ..message };
    assert_eq!(word(&channel.send(empty).await), "delivered", "SendGrid takes no empty text");
}

#[tokio::test]
async fn each_refusal_of_sendgrid_has_its_reason() {
    let stand_in = StandIn::start(sendgrid).await;
    for (to, expected) in [
        ("refused@example.org", "address-invalid"),
        ("large@example.org", "message-too-large"),
        ("often@example.org", "transient"),
        ("tired@example.org", "transient"),
        ("down@example.org", "transient"),
    ] {
        let outcome = send(&adapter(), &settings(&stand_in), to).await;
        assert_eq!(word(&outcome), expected, "{to}: {outcome:?}");
        if let SendOutcome::Transient { retry_after, .. } = outcome {
            // The limit starts anew 42 s after the try.
            assert_eq!(retry_after, (to == "often@example.org").then(|| Duration::from_secs(42)));
        }
    }
    for (field, value, expected) in
        [("apiKey", "SG.other", "credentials-refused"), ("from", "someone@example.com", "sender-invalid")]
    {
        let mut settings = settings(&stand_in);
        settings[field] = value.into();
        let outcome = send(&adapter(), &settings, "ann@example.org").await;
        assert_eq!(word(&outcome), expected, "{outcome:?}");
        assert!(!error(&outcome).is_empty());
    }
}

#[tokio::test]
async fn sendgrid_may_misbehave() {
    let stand_in = StandIn::start(sendgrid).await;
    let settings = settings(&stand_in);
    check_failures(&adapter(), &stand_in, &settings, &["SG.canary-key"], "ann@example.org", "uncertain")
        .await;
}

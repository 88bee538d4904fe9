//! Webhooks against a receiver on loopback.

use std::{collections::HashMap, sync::Arc, time::Duration};

use punctual_channels::{
    AllowList, Guard, Trust, WebhookAdapter,
    webhook::signature::{SigningKey, verify},
};
use punctual_model::{Adapter, Channel, Outgoing, SendOutcome, channel::Attachment};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use serde_json::{Value, json};

use crate::{CA, open_guard, outgoing, receiver::Receiver, test_trust};

const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";
const OLD_SECRET: &str = "whsec_AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB";

fn adapter() -> WebhookAdapter {
    WebhookAdapter::new(open_guard(), test_trust())
}

fn channel(timeout: u64) -> Arc<dyn Channel> {
    adapter().open(&json!({"secret": SECRET, "timeoutSeconds": timeout})).unwrap()
}

async fn send(path: &str) -> SendOutcome {
    let receiver = Receiver::start().await;
    // Long enough for a busy machine, and short where it has to run out.
    let timeout = if matches!(path, "/hang" | "/slow-body") { 3 } else { 30 };
    channel(timeout).send(outgoing("webhook:a", &receiver.url(path))).await
}

#[tokio::test]
async fn a_message_arrives_signed_with_a_stable_id() {
    let receiver = Receiver::start().await;
    let channel = channel(30);
    assert_eq!(channel.timeout(), Duration::from_secs(30));
    for attempt in 1..=2 {
        let message = Outgoing {
            attempt,
            at: crate::at() + Duration::from_secs(60 * attempt as u64),
            html: Some("<p>Body</p>".to_owned()),
            type_data: Some(json!({"x": 1})),
            attachments: vec![Attachment {
                file_name: "a.csv".to_owned(),
                media_type: "text/csv".to_owned(),
                content: b"a,b".to_vec(),
                content_id: None,
            }],
            ..outgoing("webhook:a", &receiver.url("/ok"))
        };
        let outcome = channel.send(message).await;
        assert_eq!(outcome, SendOutcome::Delivered { provider_id: "msg-7".to_owned() });
    }
    let requests = receiver.requests();
    let times: Vec<&str> =
        requests.iter().map(|request| request.headers["webhook-timestamp"].as_str()).collect();
    assert_eq!(times, ["1793694660", "1793694720"]);
    for request in &requests {
        assert_eq!(request.headers["webhook-id"], "msg-7");
        assert_eq!(request.headers["content-type"], "application/json");
        let keys = [SigningKey::parse(SECRET).unwrap()];
        let timestamp = request.headers["webhook-timestamp"].parse().unwrap();
        assert!(verify(&keys, "msg-7", timestamp, &request.body, &request.headers["webhook-signature"]));
    }
    let body: Value = serde_json::from_slice(&requests[0].body).unwrap();
    assert_eq!(
        body,
        json!({
            "type": "message", "timestamp": "2026-11-03T08:31:00Z",
            "data": {
                "notificationId": "00000000-0000-0000-0000-000000000007", "channel": "webhook:a",
                "target": receiver.url("/ok"), "subject": "Subject", "body": "Body", "html": "<p>Body</p>",
                "typeData": {"x": 1},
                "attachments": [{"fileName": "a.csv", "mediaType": "text/csv", "contentBase64": "YSxi"}],
            },
        })
    );
}

#[tokio::test]
async fn an_event_goes_out_as_it_was_given() {
    let receiver = Receiver::start().await;
    let event = json!({"specversion": "1.0", "type": "response-completed", "data": {"a": [1, 2]}});
    let message = Outgoing {
        kind: "event".to_owned(),
        type_data: Some(event.clone()),
        ..outgoing("webhook:a", &receiver.url("/ok"))
    };
    channel(30).send(message).await;
    assert_eq!(serde_json::from_slice::<Value>(&receiver.requests()[0].body).unwrap(), event);
}

#[tokio::test]
async fn a_label_goes_to_the_channels_own_url_with_both_signatures_during_a_rotation() {
    let receiver = Receiver::start().await;
    let settings = json!({"url": receiver.url("/ok"), "secret": SECRET, "previousSecret": OLD_SECRET});
    let channel = adapter().open(&settings).unwrap();
    assert_eq!(channel.timeout(), Duration::from_secs(15));
    assert!(matches!(channel.send(outgoing("webhook:a", "team:ops")).await, SendOutcome::Delivered { .. }));
    let request = &receiver.requests()[0];
    let signatures = &request.headers["webhook-signature"];
    assert_eq!(signatures.split(' ').count(), 2);
    let timestamp = request.headers["webhook-timestamp"].parse().unwrap();
    for secret in [SECRET, OLD_SECRET] {
        let keys = [SigningKey::parse(secret).unwrap()];
        assert!(verify(&keys, "msg-7", timestamp, &request.body, signatures));
    }
}

#[tokio::test]
async fn every_answer_has_its_outcome() {
    let permanent = |reason: &str| format!("permanent {reason}");
    for (path, expected) in [
        ("/200", "delivered".to_owned()),
        ("/202", "delivered".to_owned()),
        ("/299", "delivered".to_owned()),
        ("/301", permanent("redirect-not-followed")),
        ("/400", permanent("rejected-by-receiver")),
        ("/401", permanent("rejected-by-receiver")),
        ("/404", permanent("rejected-by-receiver")),
        ("/410", permanent("gone")),
        ("/422", permanent("rejected-by-receiver")),
        ("/408", "transient".to_owned()),
        ("/429", "transient".to_owned()),
        ("/500", "transient".to_owned()),
        ("/502", "transient".to_owned()),
        ("/503", "transient".to_owned()),
        ("/504", "transient".to_owned()),
        ("/endless", "transient".to_owned()),
        ("/slow-body", "delivered".to_owned()),
        ("/hang", "uncertain".to_owned()),
        ("/close", "uncertain".to_owned()),
        ("/nonsense", "uncertain".to_owned()),
        ("/half", "uncertain".to_owned()),
    ] {
        let outcome = send(path).await;
        let (word, error) = match &outcome {
            SendOutcome::Delivered { .. } => ("delivered".to_owned(), None),
            SendOutcome::Transient { error, .. } => ("transient".to_owned(), Some(error)),
            SendOutcome::Permanent { reason, error } => (permanent(reason.as_str()), Some(error)),
            SendOutcome::Uncertain { error } => ("uncertain".to_owned(), Some(error)),
        };
        assert_eq!(word, expected, "{path}: {outcome:?}");
        if let Some(error) = error {
            assert!(!error.is_empty() && error.len() < 600 && !error.contains('\n'), "{path}: {error}");
            assert!(!error.contains("127.0.0.1:"), "{path} shows the URL: {error}");
        }
    }
}

#[tokio::test]
async fn the_answer_is_kept_as_one_line_of_text() {
    let SendOutcome::Permanent { error, .. } = send("/400").await else { panic!() };
    assert_eq!(error, "400 said <b>so</b> and more");
}

#[tokio::test]
async fn a_receiver_can_ask_for_a_pause() {
    for path in ["/wait-seconds", "/wait-date"] {
        let SendOutcome::Transient { retry_after, .. } = send(path).await else { panic!("{path}") };
        assert_eq!(retry_after, Some(Duration::from_secs(120)), "{path}");
    }
}

#[tokio::test]
async fn t07_a_redirect_to_the_metadata_address_is_not_followed() {
    let SendOutcome::Permanent { reason, error } = send("/redirect").await else { panic!() };
    assert_eq!(reason.as_str(), "redirect-not-followed");
    assert_eq!(error, "307 redirect to 169.254.169.254 is not followed");
}

#[tokio::test]
async fn a_receiver_that_is_not_there_is_transient() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://127.0.0.1:{}/", listener.local_addr().unwrap().port());
    drop(listener);
    let outcome = channel(2).send(outgoing("webhook:a", &url)).await;
    assert!(
        matches!(&outcome, SendOutcome::Transient { error, .. } if error.contains("cannot be reached")),
        "{outcome:?}"
    );
    let outcome = channel(2).send(outgoing("webhook:a", "https://no-such-name.invalid/")).await;
    assert!(matches!(&outcome, SendOutcome::Transient { .. }), "{outcome:?}");
}

#[tokio::test]
async fn a_handshake_that_hangs_is_transient_because_nothing_was_written() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://127.0.0.1:{}/", listener.local_addr().unwrap().port());
    let held = tokio::spawn(async move { listener.accept().await });
    let outcome = channel(3).send(outgoing("webhook:a", &url)).await;
    assert!(matches!(&outcome, SendOutcome::Transient { .. }), "{outcome:?}");
    drop(held);
}

pub fn acceptor(name: &str) -> tokio_rustls::TlsAcceptor {
    let folder = format!("{}/tests/it/tls", env!("CARGO_MANIFEST_DIR"));
    let certificate = CertificateDer::from_pem_file(format!("{folder}/{name}.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(format!("{folder}/{name}.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    tokio_rustls::TlsAcceptor::from(Arc::new(config))
}

#[tokio::test]
async fn https_needs_a_certificate_of_the_right_name_from_a_trusted_authority() {
    for (certificate, trust, works) in [
        ("server", test_trust(), true),
        ("server", Trust::platform(), false),
        ("elsewhere", test_trust(), false),
    ] {
        let receiver = Receiver::start_tls(acceptor(certificate)).await;
        let adapter = WebhookAdapter::new(open_guard(), trust);
        let channel = adapter.open(&json!({"secret": SECRET, "timeoutSeconds": 30})).unwrap();
        for host in ["127.0.0.1", "localhost"] {
            let url = format!("https://{host}:{}/ok", receiver.port);
            let outcome = channel.send(outgoing("webhook:a", &url)).await;
            match &outcome {
                SendOutcome::Delivered { .. } => assert!(works, "{certificate} {host}"),
                SendOutcome::Transient { error, .. } => {
                    assert!(!works && error.contains("certificate"), "{certificate} {host}: {error}");
                }
                _ => panic!("{certificate} {host}: {outcome:?}"),
            }
        }
    }
    assert!(Trust::platform().with_pem(b"nothing").is_err());
    assert!(Trust::platform().with_pem(CA).is_ok());
}

#[tokio::test]
async fn targets_that_cannot_be_called_are_permanent() {
    let strict = WebhookAdapter::new(Guard::new(AllowList::default()), Trust::platform());
    let channel = strict.open(&json!({"secret": SECRET})).unwrap();
    for (address, expected) in [
        ("http://127.0.0.1:9/", "url-forbidden"),
        ("https://10.0.0.1/", "url-forbidden"),
        ("http://hooks.example.com/", "url-invalid"),
        ("https://u:p@hooks.example.com/", "url-invalid"),
        ("https://hooks.example.com:25/", "url-invalid"),
        ("ops", "address-invalid"),
        ("", "address-invalid"),
    ] {
        let SendOutcome::Permanent { reason, .. } = channel.send(outgoing("webhook:a", address)).await else {
            panic!("{address}")
        };
        assert_eq!(reason.as_str(), expected, "{address}");
        if address.contains("://") {
            assert!(strict.check_address(address).is_err(), "{address}");
        }
    }
    let odd = Outgoing { message_id: "a\r\nb".to_owned(), ..outgoing("webhook:a", "https://8.8.8.8/") };
    assert!(matches!(channel.send(odd).await, SendOutcome::Permanent { .. }));
}

#[tokio::test]
async fn a_name_that_leads_to_this_machine_is_refused_when_it_is_called() {
    let strict = WebhookAdapter::new(Guard::new("10.0.0.0/8".parse().unwrap()), Trust::platform());
    let channel = strict.open(&json!({"secret": SECRET})).unwrap();
    for address in ["https://localhost./", "https://localhost:443/"] {
        let outcome = channel.send(outgoing("webhook:a", address)).await;
        assert!(
            matches!(&outcome, SendOutcome::Permanent { reason, .. } if reason.as_str() == "url-forbidden"),
            "{outcome:?}"
        );
    }
}

#[test]
fn every_fault_of_the_settings_is_named() {
    let adapter = WebhookAdapter::new(Guard::new(AllowList::default()), Trust::platform());
    let faults = |settings: Value| -> HashMap<String, &str> {
        adapter.check(&settings).into_iter().map(|fault| (fault.pointer, fault.code)).collect()
    };
    assert!(
        faults(json!({"url": "https://hooks.example.com/x", "secret": SECRET, "timeoutSeconds": 30}))
            .is_empty()
    );
    assert!(faults(json!({"secret": "env:HOOK_SECRET", "url": null})).is_empty());
    assert!(adapter.open(&json!({"secret": "env:HOOK_SECRET"})).is_err());
    let got = faults(
        json!({"url": "http://hooks.example.com", "secret": "abc", "timeoutSeconds": 31, "secrett": 1}),
    );
    let expected = [
        ("/url".to_owned(), "url_scheme"),
        ("/secret".to_owned(), "secret_invalid"),
        ("/timeoutSeconds".to_owned(), "out_of_range"),
        ("/secrett".to_owned(), "unknown_field"),
    ];
    assert_eq!(got, HashMap::from(expected));
    assert_eq!(faults(json!({})), HashMap::from([("/secret".to_owned(), "missing_field")]));
    assert_eq!(faults(json!([])), HashMap::from([(String::new(), "wrong_type")]));
    assert_eq!(
        faults(json!({"secret": 5, "timeoutSeconds": "x"})),
        HashMap::from([("/secret".to_owned(), "wrong_type"), ("/timeoutSeconds".to_owned(), "wrong_type")])
    );
    assert_eq!(adapter.secret_fields(), ["secret", "previousSecret"]);
}

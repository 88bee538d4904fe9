//! Signatures: the reference library accepts ours, and nothing changed is accepted by us.

use base64::{Engine, engine::general_purpose::STANDARD};
use proptest::prelude::*;
use punctual_channels::{
    WebhookAdapter,
    webhook::signature::{SigningKey, sign, verify},
};
use punctual_model::{Adapter, Outgoing, SendOutcome};
use serde_json::json;

use crate::{python, receiver::Receiver};

fn key(byte: u8, length: usize) -> (String, SigningKey) {
    let secret = format!("whsec_{}", STANDARD.encode(vec![byte; length]));
    let key = SigningKey::parse(&secret).unwrap();
    (secret, key)
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the reference library compares with the real clock")]
fn t06_the_reference_library_accepts_our_signatures() {
    let now = jiff::Timestamp::now().as_second();
    let (old_secret, old) = key(1, 24);
    let (new_secret, new) = key(2, 64);
    let mut cases = Vec::new();
    for body in ["{}", r#"{"type":"message","data":{"subject":"Grüße ✓"}}"#, ""] {
        let keys = [new.clone(), old.clone()];
        for (secret, signatures) in [
            (&old_secret, sign(std::slice::from_ref(&old), "msg_1", now, body.as_bytes())),
            (&old_secret, sign(&keys, "msg_1", now, body.as_bytes())),
            (&new_secret, sign(&keys, "msg_1", now, body.as_bytes())),
        ] {
            cases.push(json!({"secret": secret, "body": body, "good": true, "headers": {
                "webhook-id": "msg_1", "webhook-timestamp": now.to_string(), "webhook-signature": signatures}}));
        }
        let foreign = sign(&[key(3, 32).1], "msg_1", now, body.as_bytes());
        cases.push(json!({"secret": old_secret, "body": body, "good": false, "headers": {
            "webhook-id": "msg_1", "webhook-timestamp": now.to_string(), "webhook-signature": foreign}}));
    }
    let script = "
import json, sys
from standardwebhooks.webhooks import Webhook, WebhookVerificationError
for case in json.load(sys.stdin):
    hook = Webhook(case['secret'])
    try:
        # An empty body is no JSON: only the signature counts here.
        hook.verify(case['body'], case['headers'])
        good = True
    except WebhookVerificationError:
        good = False
    except ValueError:
        good = True
    assert good == case['good'], case
print('done')
";
    assert_eq!(python::run(script, &json!(cases).to_string()).trim(), "done");
}

/// The script asks the reference library about each case: whether the secret accepts the message.
const JUDGE: &str = "
import json, sys
from standardwebhooks.webhooks import Webhook, WebhookVerificationError
for case in json.load(sys.stdin):
    try:
        Webhook(case['secret']).verify(case['body'], case['headers'])
        good = True
    except WebhookVerificationError:
        good = False
    assert good == case['good'], case
print('done')
";

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the reference library compares with the real clock")]
async fn t06_during_a_rotation_the_reference_library_accepts_either_secret() {
    let receiver = Receiver::start().await;
    let [old, new, other] = [1, 2, 3].map(|byte| key(byte, 32).0);
    let adapter = WebhookAdapter::new(crate::open_guard(), crate::test_trust());
    let mut cases = Vec::new();
    // Before, during and after: who still has the old secret is served until it is taken away.
    for (settings, accepted) in [
        (json!({"secret": old}), vec![&old]),
        (json!({"secret": new, "previousSecret": old}), vec![&new, &old]),
        (json!({"secret": new}), vec![&new]),
    ] {
        let mut settings = settings;
        settings["url"] = receiver.url("/ok").into();
        let message = Outgoing { at: jiff::Timestamp::now(), ..crate::outgoing("webhook:a", "ops") };
        let outcome = adapter.open(&settings).unwrap().send(message).await;
        assert!(matches!(outcome, SendOutcome::Delivered { .. }), "{outcome:?}");
        let request = receiver.requests().pop().unwrap();
        let headers: serde_json::Map<_, _> = request
            .headers
            .iter()
            .filter(|(name, _)| name.starts_with("webhook-"))
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect();
        for secret in [&old, &new, &other] {
            let body = String::from_utf8(request.body.clone()).unwrap();
            cases.push(json!({"secret": secret, "body": body, "headers": headers, "good": accepted.contains(&secret)}));
        }
    }
    assert_eq!(python::run(JUDGE, &json!(cases).to_string()).trim(), "done");
}

#[test]
fn t06_every_changed_message_is_rejected() {
    let keys = [key(1, 32).1, key(2, 32).1];
    let body = br#"{"type":"message","timestamp":"2026-11-03T08:30:00Z","data":{"subject":"s"}}"#;
    let (id, timestamp) = ("msg_2KWPBgLlAfxdpx2AI54pPJ85f4W", 1_793_694_600);
    let signatures = sign(&keys, id, timestamp, body);
    let one = signatures.split(' ').next().unwrap();
    assert!(verify(&keys, id, timestamp, body, &signatures));
    assert!(verify(&keys[..1], id, timestamp, body, one));

    let mut tried = 0;
    for position in 0..body.len() {
        for change in 1..=255_u8 {
            let mut changed = body.to_vec();
            changed[position] ^= change;
            assert!(!verify(&keys[..1], id, timestamp, &changed, one));
            tried += 1;
        }
    }
    for position in 0..id.len() {
        for change in 1..=127_u8 {
            let mut changed = id.as_bytes().to_vec();
            changed[position] ^= change;
            let changed = String::from_utf8(changed).unwrap();
            assert!(!verify(&keys[..1], &changed, timestamp, body, one));
            tried += 1;
        }
    }
    for shift in (-40_000..=40_000).filter(|shift| *shift != 0) {
        assert!(!verify(&keys[..1], id, timestamp + shift, body, one));
        tried += 1;
    }
    for position in 0..one.len() {
        for change in 1..=127_u8 {
            let mut changed = one.as_bytes().to_vec();
            changed[position] ^= change;
            let changed = String::from_utf8(changed).unwrap();
            assert!(!verify(&keys[..1], id, timestamp, body, &changed), "{changed}");
            tried += 1;
        }
    }
    assert!(tried >= 100_000, "{tried}");
    for odd in ["", " ", "v1", "v1,", "v2,abc", "v1a,abc", "v1,====", &one[..20], &format!("{one}x")] {
        assert!(!verify(&keys, id, timestamp, body, odd), "{odd}");
    }
}

#[test]
fn a_secret_has_a_prefix_and_24_to_64_bytes() {
    for length in [24, 32, 64] {
        key(9, length);
    }
    let encoded = |length| STANDARD.encode(vec![1_u8; length]);
    for wrong in [
        String::new(),
        encoded(32),
        format!("whsec_{}", encoded(23)),
        format!("whsec_{}", encoded(65)),
        "whsec_".to_owned(),
        "whsec_!!!".to_owned(),
    ] {
        assert!(SigningKey::parse(&wrong).is_err(), "{wrong}");
    }
    assert_eq!(format!("{:?}", key(9, 32).1), "***");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_signed_is_verified(id in "[!-~]{1,40}", timestamp in any::<i64>(), body in any::<Vec<u8>>(), byte in any::<u8>()) {
        let keys = [key(byte, 32).1];
        prop_assert!(verify(&keys, &id, timestamp, &body, &sign(&keys, &id, timestamp, &body)));
        prop_assert!(!verify(&[key(byte ^ 1, 32).1], &id, timestamp, &body, &sign(&keys, &id, timestamp, &body)));
    }

    #[test]
    fn any_signature_text_is_judged_without_panic(text in any::<String>()) {
        prop_assert!(!verify(&[key(1, 32).1], "id", 0, b"", &text));
    }
}

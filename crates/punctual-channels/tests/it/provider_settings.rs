//! Settings of providers: every fault at once, by field; secrets written down nowhere; only the provider's own hosts.

use punctual_channels::{AllowList, Captured, Guard, Trust, adapters};
use punctual_model::{Adapter, SecretReference};
use serde_json::{Value, json};
use std::sync::Arc;

fn adapter(name: &str, allow: &str) -> Arc<dyn Adapter> {
    let guard = Guard::new(allow.parse::<AllowList>().unwrap());
    let all = adapters(&guard, &Trust::platform(), &Captured::new());
    all.into_iter().find(|adapter| adapter.name() == name).unwrap()
}

#[track_caller]
fn check(name: &str, settings: Value, expected: &[(&str, &str)]) {
    let mut found: Vec<(String, &str)> =
        adapter(name, "").check(&settings).into_iter().map(|fault| (fault.pointer, fault.code)).collect();
    found.sort();
    let mut expected: Vec<(String, &str)> =
        expected.iter().map(|(at, code)| ((*at).to_owned(), *code)).collect();
    expected.sort();
    assert_eq!(found, expected, "{name} {settings}");
}

const SID: &str = "AC0123456789abcdef0123456789abcdef";

/// Settings that are right, for every adapter of a provider, and its secrets.
fn good() -> Vec<(&'static str, Value)> {
    vec![
        ("twilio", json!({"accountSid": SID, "authToken": "canary-secret", "from": "+14155552671"})),
        (
            "twilio",
            json!({"accountSid": SID, "apiKeySid": SID.replace("AC", "SK"), "apiKeySecret": "canary-secret", "from": "Punctual"}),
        ),
        ("sms-gateway", json!({"url": "https://sms.example.com/send", "token": "canary-secret"})),
        (
            "sms-gateway",
            json!({"url": "https://sms.example.com/send", "username": "u", "password": "canary-secret"}),
        ),
        (
            "teams",
            json!({"url": "https://prod-23.westeurope.logic.azure.com:443/workflows/1/triggers/manual/paths/invoke?sig=canary-secret"}),
        ),
        (
            "teams",
            json!({"url": "https://default12.09.environment.api.powerplatform.com/powerautomate/x?sig=canary-secret"}),
        ),
        ("slack", json!({"url": "https://hooks.slack.com/services/T0/B0/canary-secret"})),
        (
            "sendgrid",
            json!({"apiKey": "canary-secret", "from": "a@b.example", "baseUrl": "https://api.eu.sendgrid.com"}),
        ),
        ("whatsapp-cloud", json!({"phoneNumberId": "106540352242922", "accessToken": "canary-secret"})),
        ("whatsapp-360dialog", json!({"apiKey": "canary-secret", "template": "due_soon"})),
        (
            "whatsapp-infobip",
            json!({"baseUrl": "https://xyz.api.infobip.com", "apiKey": "canary-secret", "from": "+442071234567"}),
        ),
    ]
}

#[test]
fn right_settings_have_no_fault_and_every_secret_is_declared() {
    for (name, settings) in good() {
        check(name, settings.clone(), &[]);
        let adapter = adapter(name, "");
        assert!(adapter.open(&settings).is_ok(), "{name}");
        for (field, value) in settings.as_object().unwrap() {
            let is_secret = value.to_string().contains("canary-secret");
            assert_eq!(is_secret, adapter.secret_fields().contains(&field.as_str()), "{name} {field}");
        }
    }
}

#[test]
fn a_secret_may_stand_elsewhere_until_the_channel_is_opened() {
    for (name, settings) in good() {
        let adapter = adapter(name, "");
        let mut settings = settings;
        let secret = adapter.secret_fields().into_iter().find(|field| settings.get(field).is_some()).unwrap();
        for reference in ["env:SECRET", "file:/run/secrets/with blanks"] {
            settings[secret] = reference.into();
            check(name, settings.clone(), &[]);
        }
        settings[secret] = Value::Null;
        let pointer = format!("/{secret}");
        let found = adapter.check(&settings);
        assert!(found.iter().all(|fault| fault.code == "missing_field"), "{name}: {found:?}");
        // A gateway may be open to whoever reaches it.
        assert!(
            found.iter().any(|fault| fault.pointer == pointer) || settings["url"].is_string(),
            "{name}: {found:?}"
        );
    }
}

#[test]
fn each_fault_names_its_field() {
    check(
        "twilio",
        json!({}),
        &[("/accountSid", "missing_field"), ("/authToken", "missing_field"), ("/from", "missing_field")],
    );
    check(
        "twilio",
        json!({"accountSid": "AC1", "authToken": "a b", "from": "Far too long a name", "frm": 1, "timeoutSeconds": 31, "text": "all"}),
        &[
            ("/accountSid", "out_of_range"),
            ("/authToken", "secret_invalid"),
            ("/from", "phone_invalid"),
            ("/frm", "unknown_field"),
            ("/text", "out_of_range"),
            ("/timeoutSeconds", "out_of_range"),
        ],
    );
    check(
        "twilio",
        json!({"accountSid": SID, "authToken": "x", "apiKeySid": "SK1", "from": "+14155552671", "messagingServiceSid": SID.replace("AC", "MG")}),
        &[
            ("/authToken", "field_conflict"),
            ("/apiKeySid", "out_of_range"),
            ("/apiKeySecret", "missing_field"),
            ("/from", "field_conflict"),
        ],
    );
    check(
        "sms-gateway",
        json!({"url": "https://sms.example.com/send?key=1", "fields": {"phone": "x"}, "tokenIn": "bearer", "successField": "status", "format": "xml"}),
        &[
            ("/url", "url_invalid"),
            ("/fields", "unknown_field"),
            ("/token", "missing_field"),
            ("/successField", "out_of_range"),
            ("/format", "out_of_range"),
        ],
    );
    check(
        "sms-gateway",
        json!({"url": "https://sms.example.com/send", "token": "x", "tokenIn": "query", "successField": "/status", "extra": {"a": 1}}),
        &[("/tokenIn", "out_of_range"), ("/successValues", "missing_field"), ("/extra", "wrong_type")],
    );
    check(
        "sms-gateway",
        json!({"url": "https://sms.example.com/", "username": "u"}),
        &[("/password", "missing_field")],
    );
    check("teams", json!({}), &[("/url", "missing_field")]);
    check("slack", json!({"url": 5, "chanel": "x"}), &[("/url", "wrong_type"), ("/chanel", "unknown_field")]);
    check(
        "sendgrid",
        json!({"apiKey": "x", "from": "ann", "replyTo": "a\nb"}),
        &[("/from", "address_invalid"), ("/replyTo", "address_invalid")],
    );
    check(
        "whatsapp-cloud",
        json!({"phoneNumberId": "+4930", "apiVersion": "23"}),
        &[
            ("/phoneNumberId", "out_of_range"),
            ("/apiVersion", "out_of_range"),
            ("/accessToken", "missing_field"),
        ],
    );
    check(
        "whatsapp-infobip",
        json!({"apiKey": "x", "from": "030 1"}),
        &[("/baseUrl", "missing_field"), ("/from", "phone_invalid")],
    );
    check("whatsapp-360dialog", json!([]), &[("", "wrong_type")]);
}

#[test]
fn t07_only_the_providers_own_hosts_are_called() {
    let slack = |url: &str| json!({"url": url});
    for (url, code) in [
        ("https://hooks.slack.com.evil.example/services/x", "url_host"),
        ("https://evil-hooks.slack.com/services/x", "url_host"),
        ("https://example.com/hooks.slack.com", "url_host"),
        ("http://hooks.slack.com/services/x", "url_scheme"),
        ("https://hooks.slack.com:25/services/x", "url_port"),
        ("https://user:pw@hooks.slack.com/services/x", "url_userinfo"),
        ("https://169.254.169.254/latest", "url_forbidden"),
        ("https://127.0.0.1/x", "url_forbidden"),
        ("https://8.8.8.8/x", "url_host"),
        ("hooks.slack.com", "url_invalid"),
    ] {
        check("slack", slack(url), &[("/url", code)]);
    }
    for (name, field, url) in [
        ("teams", "url", "https://logic.azure.com.evil.example/x"),
        ("teams", "url", "https://contoso.webhook.office.com/x"),
        ("twilio", "baseUrl", "https://nottwilio.com"),
        ("sendgrid", "baseUrl", "https://sendgrid.com.example"),
        ("whatsapp-cloud", "baseUrl", "https://facebook.com"),
        ("whatsapp-360dialog", "baseUrl", "https://dialog.io"),
        ("whatsapp-infobip", "baseUrl", "https://infobip.com"),
    ] {
        let found = adapter(name, "").check(&json!({field: url}));
        assert!(
            found.iter().any(|fault| fault.code == "url_host" && fault.pointer == format!("/{field}")),
            "{name}: {found:?}"
        );
    }
    // A stand-in is for those who have listed its network, and only that network is reached.
    let listed = adapter("slack", "10.1.0.0/16");
    assert!(listed.check(&slack("http://10.1.2.3/x")).is_empty());
    assert!(
        listed.check(&slack("https://slack.intern.example/x")).is_empty(),
        "its addresses must be listed ones"
    );
    assert_eq!(listed.check(&slack("https://8.8.8.8/x"))[0].code, "url_host");
    assert_eq!(listed.check(&slack("http://10.2.2.3/x"))[0].code, "url_forbidden");
}

#[tokio::test]
async fn a_stand_ins_name_must_lead_to_a_listed_address() {
    let channel = adapter("slack", "10.1.0.0/16").open(&json!({"url": "https://localhost.:443/x"}));
    assert!(channel.is_err(), "this machine is not listed");
    let other =
        adapter("slack", "127.0.0.0/8:1").open(&json!({"url": "https://one.one.one.one.invalid/x"})).unwrap();
    let outcome = other.send(crate::outgoing("slack:x", "ops")).await;
    assert!(!matches!(outcome, punctual_model::SendOutcome::Delivered { .. }), "{outcome:?}");
}

#[test]
fn an_address_is_a_number_a_name_or_a_mail_address() {
    for name in ["twilio", "sms-gateway", "whatsapp-cloud", "whatsapp-360dialog", "whatsapp-infobip"] {
        let adapter = adapter(name, "");
        assert!(adapter.check_address("+49 30 1234567").is_ok(), "{name}");
        for bad in ["", "0301234567", "ops", "a@b.example"] {
            assert!(adapter.check_address(bad).is_err(), "{name} {bad}");
        }
    }
    for name in ["teams", "slack"] {
        assert!(adapter(name, "").check_address("ops").is_ok(), "{name}");
        assert!(adapter(name, "").check_address("https://hooks.slack.com/services/x").is_err(), "{name}");
    }
    assert!(adapter("sendgrid", "").check_address("a@b.example").is_ok());
    assert!(adapter("sendgrid", "").check_address("a").is_err());
}

#[test]
fn t12_an_adapter_with_secrets_says_where_they_go() {
    let all = adapters(&Guard::new(AllowList::default()), &Trust::platform(), &Captured::new());
    let mut seen = 0;
    for adapter in all.iter().filter(|one| one.disabled_reason().is_none() && !one.secret_fields().is_empty())
    {
        let is_known = |field: &&&str| {
            let faults = adapter.check(&json!({ (**field): "x" }));
            faults.iter().all(|fault| fault.code != "unknown_field")
        };
        let found: Vec<_> = adapter.destination_fields().iter().filter(is_known).collect();
        assert!(!found.is_empty(), "{} has no setting for its destination", adapter.name());
        seen += 1;
    }
    assert!(seen >= 9, "{seen}");
}

#[test]
fn the_examples_of_the_handbook_are_right() {
    let handbook = include_str!("../../../../docs/channels.md");
    let mut seen = Vec::new();
    for block in handbook.split("```json\n").skip(1) {
        let text = block.split("```").next().unwrap();
        let example: Value = serde_json::from_str(text).unwrap_or_else(|fault| panic!("{fault}: {text}"));
        let Some(name) = example["adapter"].as_str() else { continue };
        let faults = adapter(name, "").check(&example["settings"]);
        assert!(faults.is_empty(), "{name}: {faults:?}");
        for field in adapter(name, "").secret_fields() {
            let reference = example["settings"][field].as_str().and_then(SecretReference::parse);
            assert!(!matches!(reference, Some(Err(_))), "{name} {field}");
        }
        seen.push(name.to_owned());
    }
    let all = adapters(&Guard::new(AllowList::default()), &Trust::platform(), &Captured::new());
    for name in all.iter().map(|adapter| adapter.name()) {
        assert!(handbook.contains(&format!("`{name}`")), "{name} is not in the handbook");
        let is_described_elsewhere = matches!(name, "memory" | "smtp" | "webhook");
        assert!(is_described_elsewhere || seen.contains(&name.to_owned()), "{name} has no example");
    }
}

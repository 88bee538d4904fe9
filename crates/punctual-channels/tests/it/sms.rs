//! SMS: Twilio and generic gateways, against stand-ins.

use punctual_channels::{SmsGatewayAdapter, TwilioAdapter};
use punctual_model::{Adapter, Outgoing, SendOutcome};
use serde_json::{Value, json};

use crate::{
    open_guard, outgoing,
    receiver::Request,
    stand_in::{Reply, StandIn, check_failures, error, form, header, json_of, send, word},
    test_trust,
};

const ACCOUNT: &str = "AC0123456789abcdef0123456789abcdef";
/// `ACCOUNT:canary-token` in base64.
const BASIC: &str = "Basic QUMwMTIzNDU2Nzg5YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZjpjYW5hcnktdG9rZW4=";

/// Twilio as its reference describes it; the numbers that fail are those of its test credentials.
fn twilio(request: &Request) -> Reply {
    let fault = |status: u16, code: u32, message: &str| {
        let more = format!("https://www.twilio.com/docs/errors/{code}");
        Reply::json(status, &json!({"code": code, "message": message, "more_info": more, "status": status}))
    };
    if request.path != format!("/2010-04-01/Accounts/{ACCOUNT}/Messages.json") {
        return fault(404, 20404, "The requested resource was not found");
    }
    if header(request, "authorization") != BASIC {
        return fault(401, 20003, "Authenticate");
    }
    if header(request, "content-type") != "application/x-www-form-urlencoded" {
        return fault(400, 21604, "A 'To' phone number is required.");
    }
    let form = form(request);
    if form.get("Body").is_none_or(String::is_empty) {
        return fault(400, 21602, "Message body is required.");
    }
    match (form["To"].as_str(), form.get("From").map_or("", String::as_str)) {
        (_, "+15005550007") => {
            fault(400, 21606, "The 'From' phone number is not a valid, SMS-capable number")
        }
        (_, "+15005550008") => {
            fault(429, 21611, "This 'From' number has exceeded the maximum number of queued messages")
        }
        ("+15005550001", _) => fault(400, 21211, "The 'To' number is not a valid phone number."),
        ("+15005550002", _) => fault(400, 21612, "The 'To' phone number is not currently reachable via SMS"),
        ("+15005550003", _) => {
            fault(400, 21408, "Permission to send an SMS has not been enabled for the region")
        }
        ("+15005550004", _) => fault(400, 21610, "Attempt to send to unsubscribed recipient"),
        ("+15005550009", _) => fault(400, 21614, "'To' number is not a valid mobile number"),
        ("+15005550010", _) => fault(429, 20429, "Too Many Requests").with("retry-after", "7"),
        ("+15005550011", _) => fault(429, 63038, "Account exceeded the daily messages limit"),
        ("+15005550012", _) => fault(403, 20005, "Account not active"),
        ("+15005550013", _) => fault(500, 20500, "Internal Server Error"),
        ("+15005550014", _) => fault(400, 99999, "Something new"),
        (to, _) => Reply::json(
            201,
            &json!({"account_sid": ACCOUNT, "sid": "SM00000000000000000000000000000001", "status": "queued",
                    "to": to, "body": form["Body"], "error_code": null, "error_message": null}),
        ),
    }
}

fn twilio_settings(stand_in: &StandIn) -> Value {
    json!({"accountSid": ACCOUNT, "authToken": "canary-token", "from": "+15005550006", "baseUrl": stand_in.url()})
}

fn twilio_adapter() -> TwilioAdapter {
    TwilioAdapter::new(open_guard(), test_trust())
}

#[tokio::test]
async fn a_text_is_queued_at_twilio() {
    let stand_in = StandIn::start(twilio).await;
    let outcome = send(&twilio_adapter(), &twilio_settings(&stand_in), "+49 30 123 4567").await;
    assert_eq!(
        outcome,
        SendOutcome::Delivered { provider_id: "SM00000000000000000000000000000001".to_owned() }
    );
    let sent = form(&stand_in.requests()[0]);
    assert_eq!(
        (sent["To"].as_str(), sent["From"].as_str(), sent["Body"].as_str()),
        ("+49301234567", "+15005550006", "Body")
    );

    let mut settings = twilio_settings(&stand_in);
    settings["from"] = Value::Null;
    settings["messagingServiceSid"] = "MG0123456789abcdef0123456789abcdef".into();
    settings["text"] = "both".into();
    assert_eq!(word(&send(&twilio_adapter(), &settings, "+49301234567").await), "delivered");
    let sent = form(&stand_in.requests()[0]);
    assert_eq!(
        (sent["MessagingServiceSid"].len(), sent.get("From"), sent["Body"].as_str()),
        (34, None, "Subject\nBody")
    );
}

#[tokio::test]
async fn each_refusal_of_twilio_has_its_reason() {
    let stand_in = StandIn::start(twilio).await;
    let adapter = twilio_adapter();
    for (to, expected) in [
        ("+15005550001", "address-invalid"),
        ("+15005550002", "recipient-unreachable"),
        ("+15005550003", "recipient-unreachable"),
        ("+15005550004", "recipient-opted-out"),
        ("+15005550009", "address-invalid"),
        ("+15005550010", "transient"),
        ("+15005550011", "transient"),
        ("+15005550012", "account-blocked"),
        ("+15005550013", "transient"),
        ("+15005550014", "rejected-by-receiver"),
        ("030 1234567", "phone-invalid"),
    ] {
        let outcome = send(&adapter, &twilio_settings(&stand_in), to).await;
        assert_eq!(word(&outcome), expected, "{to}: {outcome:?}");
        if let SendOutcome::Transient { retry_after, .. } = outcome {
            assert_eq!(retry_after.map(|wait| wait.as_secs()), (to == "+15005550010").then_some(7));
        }
    }
    for (field, value, expected) in [
        ("from", "+15005550007", "sender-invalid"),
        ("from", "+15005550008", "transient"),
        ("authToken", "another-token", "credentials-refused"),
        ("accountSid", "ACffffffffffffffffffffffffffffffff", "rejected-by-receiver"),
    ] {
        let mut settings = twilio_settings(&stand_in);
        settings[field] = value.into();
        let outcome = send(&adapter, &settings, "+49301234567").await;
        assert_eq!(word(&outcome), expected, "{field}: {outcome:?}");
    }
    let outcome = send(&adapter, &twilio_settings(&stand_in), "+15005550004").await;
    assert_eq!(error(&outcome), "400 21610 Attempt to send to unsubscribed recipient");
}

#[tokio::test]
async fn a_text_that_is_too_long_or_missing_is_not_sent() {
    let stand_in = StandIn::start(twilio).await;
    let channel = twilio_adapter().open(&twilio_settings(&stand_in)).unwrap();
    let message = |body: String| Outgoing { body, ..outgoing("sms:x", "+49301234567") };
    assert_eq!(word(&channel.send(message("é".repeat(1_601))).await), "message-too-large");
    let nothing = Outgoing { subject: " ".to_owned(), ..message(String::new()) };
    assert_eq!(word(&channel.send(nothing).await), "content-refused");
    assert!(stand_in.requests().is_empty());
    assert_eq!(word(&channel.send(message("é".repeat(1_600))).await), "delivered");
}

#[tokio::test]
async fn twilio_may_misbehave() {
    let stand_in = StandIn::start(twilio).await;
    let settings = twilio_settings(&stand_in);
    let secrets = ["canary-token", BASIC.trim_start_matches("Basic ")];
    check_failures(&twilio_adapter(), &stand_in, &settings, &secrets, "+49301234567", "uncertain").await;
}

/// A gateway of the plain sort: everything is 200, and a word says how it went.
fn gateway(request: &Request) -> Reply {
    if header(request, "x-api-key") != "canary-gateway" {
        return Reply::text(401, "who are you?");
    }
    let body = json_of(request);
    match body["msisdn"].as_str() {
        Some("49301234567") => Reply::json(200, &json!({"status": "OK", "messages": [{"id": 4711}]})),
        Some("49300000000") => Reply::json(200, &json!({"status": "ERR", "reason": "unknown subscriber"})),
        _ => Reply::json(400, &json!({"error": "no msisdn"})),
    }
}

fn gateway_settings(stand_in: &StandIn) -> Value {
    json!({
        "url": format!("{}/send", stand_in.url()), "numberFormat": "digits", "from": "Punctual",
        "fields": {"to": "msisdn", "text": "message", "from": "sender", "id": "reference"},
        "extra": {"type": "text"}, "token": "canary-gateway", "tokenIn": "header:X-Api-Key",
        "idField": "/messages/0/id", "successField": "/status", "successValues": ["OK", "QUEUED"],
    })
}

fn gateway_adapter() -> SmsGatewayAdapter {
    SmsGatewayAdapter::new(open_guard(), test_trust())
}

#[tokio::test]
async fn a_gateway_is_spoken_to_in_its_own_words() {
    let stand_in = StandIn::start(gateway).await;
    let settings = gateway_settings(&stand_in);
    let outcome = send(&gateway_adapter(), &settings, "+49 30 1234567").await;
    assert_eq!(outcome, SendOutcome::Delivered { provider_id: "4711".to_owned() });
    let request = &stand_in.requests()[0];
    assert_eq!(request.path, "/send");
    let expected = json!({"type": "text", "msisdn": "49301234567", "message": "Body", "sender": "Punctual", "reference": "msg-7"});
    assert_eq!(json_of(request), expected);

    let outcome = send(&gateway_adapter(), &settings, "+49300000000").await;
    assert_eq!(word(&outcome), "rejected-by-receiver");
    assert!(error(&outcome).contains("unknown subscriber"), "{outcome:?}");
    assert_eq!(word(&send(&gateway_adapter(), &settings, "+49301111111").await), "rejected-by-receiver");
    let mut wrong = settings.clone();
    wrong["token"] = "another".into();
    assert_eq!(word(&send(&gateway_adapter(), &wrong, "+49301234567").await), "credentials-refused");
}

#[tokio::test]
async fn a_gateway_may_want_a_form_and_its_key_elsewhere() {
    let stand_in = StandIn::start(|_| Reply::text(202, "thanks")).await;
    let url = format!("{}/send", stand_in.url());
    for (access, expected) in [
        (json!({"token": "secret-token", "tokenIn": "field:apikey"}), ""),
        (json!({"token": "secret-token"}), "Bearer secret-token"),
        (json!({"username": "u", "password": "p w"}), "Basic dTpwIHc="),
        (json!({}), ""),
    ] {
        let mut settings = json!({"url": url, "format": "form"});
        settings.as_object_mut().unwrap().extend(access.as_object().unwrap().clone());
        let outcome = send(&gateway_adapter(), &settings, "+49301234567").await;
        assert_eq!(outcome, SendOutcome::Delivered { provider_id: "msg-7".to_owned() }, "no id of its own");
        let request = &stand_in.requests()[0];
        assert_eq!(header(request, "authorization"), expected);
        let sent = form(request);
        assert_eq!((sent["to"].as_str(), sent["text"].as_str()), ("+49301234567", "Body"));
        assert_eq!(sent.contains_key("apikey"), access["tokenIn"] == "field:apikey");
    }
}

#[tokio::test]
async fn a_gateway_may_misbehave() {
    let stand_in = StandIn::start(gateway).await;
    let settings = gateway_settings(&stand_in);
    check_failures(
        &gateway_adapter(),
        &stand_in,
        &settings,
        &["canary-gateway"],
        "+49301234567",
        "uncertain",
    )
    .await;
}

#[tokio::test]
async fn a_secret_is_hidden_in_every_spelling() {
    let stand_in = StandIn::start(gateway).await;
    for format in ["form", "json"] {
        let token = "odd+/=&\"\\secret";
        let settings =
            json!({"url": stand_in.url(), "format": format, "token": token, "tokenIn": "field:key"});
        stand_in.next(Reply::Echo(400));
        let outcome = send(&gateway_adapter(), &settings, "+49301234567").await;
        assert!(error(&outcome).contains("***") && !error(&outcome).contains("secret"), "{outcome:?}");
        let sent = &stand_in.requests()[0];
        let sent = if format == "form" {
            form(sent)["key"].clone()
        } else {
            json_of(sent)["key"].as_str().unwrap().to_owned()
        };
        assert_eq!(sent, token, "and yet it arrived whole");
    }
}

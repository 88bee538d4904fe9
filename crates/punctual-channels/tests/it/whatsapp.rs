//! WhatsApp through Meta, 360dialog and Infobip, against stand-ins.

use punctual_channels::{Dialog360Adapter, InfobipAdapter, WhatsAppCloudAdapter};
use punctual_model::{Adapter, Outgoing, SendOutcome};
use serde_json::{Value, json};

use crate::{
    open_guard, outgoing,
    receiver::Request,
    stand_in::{Reply, StandIn, check_failures, error, header, json_of, send, word},
    test_trust,
};

/// The Cloud API behind its doors: what Meta answers to a message; numbers ending in a code get that error.
fn cloud(request: &Request) -> Reply {
    let fault = |status: u16, code: i64, message: &str| {
        Reply::json(
            status,
            &json!({"error": {"message": format!("(#{code}) {message}"), "type": "OAuthException", "code": code,
                "error_data": {"messaging_product": "whatsapp", "details": "more about it"}, "fbtrace_id": "Az8or2yhqkZfEZ-_4Qn_Bam"}}),
        )
    };
    let body = json_of(request);
    let to = body["to"].as_str().unwrap_or_default();
    if body["messaging_product"] != "whatsapp" || to.starts_with('+') {
        return fault(400, 100, "Invalid parameter");
    }
    let is_text =
        body["type"] == "text" && body["text"]["body"].as_str().is_some_and(|text| !text.is_empty());
    let template = &body["template"];
    let is_template = body["type"] == "template"
        && template["name"].is_string()
        && template["language"]["code"].is_string();
    if !is_text && !is_template {
        return fault(400, 131_008, "Required parameter is missing");
    }
    if is_template && template["name"] != "due_soon" {
        return fault(404, 132_001, "Template name does not exist in the translation");
    }
    match to.strip_prefix("4930").unwrap_or_default() {
        "130429" => fault(429, 130_429, "Rate limit hit").with("retry-after", "3"),
        "131056" => fault(400, 131_056, "Pair rate limit hit"),
        "131048" => fault(400, 131_048, "Spam rate limit hit"),
        "131047" => fault(400, 131_047, "Re-engagement message"),
        "131026" => fault(400, 131_026, "Message undeliverable"),
        "131021" => fault(400, 131_021, "Recipient cannot be sender"),
        "131031" => fault(403, 131_031, "Account has been locked"),
        "131016" => fault(500, 131_016, "Service unavailable"),
        "131000" => fault(500, 131_000, "Something went wrong"),
        "777777" => fault(400, 777_777, "Something new"),
        _ => Reply::json(
            200,
            &json!({"messaging_product": "whatsapp", "contacts": [{"input": to, "wa_id": to}],
                    "messages": [{"id": "wamid.HBgLMTY1MDM4Nzk0MzkVAgARGBI"}]}),
        ),
    }
}

fn meta(request: &Request) -> Reply {
    if request.path != "/v23.0/106540352242922/messages" {
        return Reply::json(
            400,
            &json!({"error": {"message": "Unsupported post request.", "type": "GraphMethodException", "code": 100, "error_subcode": 33}}),
        );
    }
    if header(request, "authorization") != "Bearer canary-meta-token" {
        return Reply::json(
            401,
            &json!({"error": {"message": "Error validating access token", "type": "OAuthException", "code": 190}}),
        );
    }
    cloud(request)
}

fn dialog360(request: &Request) -> Reply {
    if request.path != "/messages" {
        return Reply::text(404, "Not Found");
    }
    if header(request, "d360-api-key") != "canary-360-key" {
        return Reply::json(
            401,
            &json!({"meta": {"success": false, "http_code": 401, "developer_message": "Invalid api key"}}),
        );
    }
    cloud(request)
}

fn meta_adapter() -> WhatsAppCloudAdapter {
    WhatsAppCloudAdapter::new(open_guard(), test_trust())
}

fn dialog_adapter() -> Dialog360Adapter {
    Dialog360Adapter::new(open_guard(), test_trust())
}

fn meta_settings(stand_in: &StandIn) -> Value {
    json!({"phoneNumberId": "106540352242922", "accessToken": "canary-meta-token", "baseUrl": stand_in.url()})
}

fn dialog_settings(stand_in: &StandIn) -> Value {
    json!({"apiKey": "canary-360-key", "baseUrl": stand_in.url()})
}

#[tokio::test]
async fn meta_and_360dialog_take_the_same_message() {
    let (there, here) = (StandIn::start(meta).await, StandIn::start(dialog360).await);
    let both: [(&dyn Adapter, &StandIn, Value); 2] = [
        (&meta_adapter(), &there, meta_settings(&there)),
        (&dialog_adapter(), &here, dialog_settings(&here)),
    ];
    for (adapter, stand_in, settings) in both {
        let outcome = send(adapter, &settings, "+49 30 1234567").await;
        let id = "wamid.HBgLMTY1MDM4Nzk0MzkVAgARGBI".to_owned();
        assert_eq!(outcome, SendOutcome::Delivered { provider_id: id });
        let expected = json!({
            "messaging_product": "whatsapp", "recipient_type": "individual", "to": "49301234567", "type": "text",
            "text": {"preview_url": false, "body": "Body"}, "biz_opaque_callback_data": "msg-7",
        });
        assert_eq!(json_of(&stand_in.requests()[0]), expected);

        let mut with_template = settings.clone();
        with_template["template"] = "due_soon".into();
        with_template["language"] = "en_US".into();
        with_template["parameters"] = json!(["subject", "body"]);
        assert_eq!(word(&send(adapter, &with_template, "+49301234567").await), "delivered");
        let sent = json_of(&stand_in.requests()[0]);
        let parameters = json!([{"type": "text", "text": "Subject"}, {"type": "text", "text": "Body"}]);
        let expected = json!({"name": "due_soon", "language": {"code": "en_US"}, "components": [{"type": "body", "parameters": parameters}]});
        assert_eq!((&sent["type"], &sent["template"]), (&json!("template"), &expected));
        with_template["template"] = "unknown".into();
        assert_eq!(word(&send(adapter, &with_template, "+49301234567").await), "template-refused");
    }
}

#[tokio::test]
async fn s1_119_a_template_is_sent_in_the_reader_s_language_with_the_message_s_values() {
    let stand_in = StandIn::start(meta).await;
    let mut settings = meta_settings(&stand_in);
    settings["template"] = "due_soon".into();
    settings["language"] = "en_US".into();
    settings["languages"] = json!(["ar", "de"]);
    settings["parameters"] = json!(["/candidate/CustomerName", "/ordinal"]);
    let channel = meta_adapter().open(&settings).unwrap();
    for (locale, language) in
        [(Some("ar-IQ"), "ar"), (Some("de"), "de"), (Some("fr"), "en_US"), (None, "en_US")]
    {
        let message = Outgoing {
            locale: locale.map(str::to_owned),
            context: Some(json!({ "candidate": { "CustomerName": "Kadhem" }, "ordinal": 2 })),
            ..outgoing("whatsapp:default", "+49301234567")
        };
        assert_eq!(word(&channel.send(message).await), "delivered");
        let sent = json_of(&stand_in.requests()[0]);
        let parameters = json!([{ "type": "text", "text": "Kadhem" }, { "type": "text", "text": "2" }]);
        assert_eq!(sent["template"]["language"]["code"], language);
        assert_eq!(sent["template"]["components"][0]["parameters"], parameters);
    }
    // A value that the message does not have is no reason to send a template with a hole.
    let outcome = channel.send(outgoing("whatsapp:default", "+49301234567")).await;
    assert_eq!(word(&outcome), "template-unknown-variable");
}

#[tokio::test]
async fn each_refusal_of_the_cloud_api_has_its_reason() {
    let stand_in = StandIn::start(meta).await;
    for (code, expected) in [
        ("130429", "transient"),
        ("131056", "transient"),
        ("131048", "transient"),
        ("131016", "transient"),
        ("131000", "transient"),
        ("131047", "window-closed"),
        ("131026", "recipient-unreachable"),
        ("131021", "address-invalid"),
        ("131031", "account-blocked"),
        ("777777", "rejected-by-receiver"),
    ] {
        let outcome = send(&meta_adapter(), &meta_settings(&stand_in), &format!("+4930{code}")).await;
        assert_eq!(word(&outcome), expected, "{outcome:?}");
        assert!(error(&outcome).contains(code) && error(&outcome).contains("more about it"), "{outcome:?}");
        if let SendOutcome::Transient { retry_after, .. } = outcome {
            assert_eq!(retry_after.map(|wait| wait.as_secs()), (code == "130429").then_some(3));
        }
    }
    let mut settings = meta_settings(&stand_in);
    settings["accessToken"] = "expired".into();
    assert_eq!(word(&send(&meta_adapter(), &settings, "+49301234567").await), "credentials-refused");
    assert_eq!(word(&send(&meta_adapter(), &meta_settings(&stand_in), "0301234567").await), "phone-invalid");

    let stand_in = StandIn::start(dialog360).await;
    let mut settings = dialog_settings(&stand_in);
    assert_eq!(word(&send(&dialog_adapter(), &settings, "+4930131047").await), "window-closed");
    settings["apiKey"] = "wrong".into();
    let outcome = send(&dialog_adapter(), &settings, "+49301234567").await;
    assert_eq!((word(&outcome).as_str(), error(&outcome)), ("credentials-refused", "401 Invalid api key"));
}

#[tokio::test]
async fn meta_and_360dialog_may_misbehave() {
    let stand_in = StandIn::start(meta).await;
    let settings = meta_settings(&stand_in);
    check_failures(
        &meta_adapter(),
        &stand_in,
        &settings,
        &["canary-meta-token"],
        "+49301234567",
        "uncertain",
    )
    .await;
    let stand_in = StandIn::start(dialog360).await;
    let settings = dialog_settings(&stand_in);
    check_failures(&dialog_adapter(), &stand_in, &settings, &["canary-360-key"], "+49301234567", "uncertain")
        .await;
}

/// Infobip's WhatsApp API: some refusals are a 200.
fn infobip(request: &Request) -> Reply {
    let fault = |status: u16, word: &str, text: &str, wrong: Value| {
        Reply::json(
            status,
            &json!({"requestError": {"serviceException": {"messageId": word, "text": text, "validationErrors": wrong}}}),
        )
    };
    if header(request, "authorization") != "App canary-infobip-key" {
        return fault(401, "UNAUTHORIZED", "Invalid login details", Value::Null);
    }
    let body = json_of(request);
    let (message, is_right) = match request.path.as_str() {
        "/whatsapp/1/message/text" => (&body, body["content"]["text"].is_string()),
        "/whatsapp/1/message/template" => {
            let message = &body["messages"][0];
            (
                message,
                message["content"]["templateName"].is_string() && message["content"]["language"].is_string(),
            )
        }
        _ => return fault(404, "NOT_FOUND", "Requested URL not found", Value::Null),
    };
    if !is_right || message["from"] != "442071234567" || !message["messageId"].is_string() {
        return fault(400, "BAD_REQUEST", "Bad Request", json!({"content": ["must not be null"]}));
    }
    let status = |group: i64, group_name: &str, id: i64, name: &str| {
        let status = json!({"groupId": group, "groupName": group_name, "id": id, "name": name, "description": "what it means"});
        let one = json!({"to": message["to"], "messageCount": 1, "messageId": message["messageId"], "status": status});
        let many = request.path.ends_with("/template");
        Reply::json(200, &if many { json!({"messages": [one], "bulkId": "b"}) } else { one })
    };
    match message["to"].as_str().unwrap_or_default() {
        "4930000001" => {
            fault(400, "BAD_REQUEST", "Bad Request", json!({"to": ["size must be between 1 and 24"]}))
        }
        "4930000002" => {
            fault(429, "TOO_MANY_REQUESTS", "Too many requests", Value::Null).with("retry-after", "5")
        }
        "4930000003" => {
            fault(500, "GENERAL_ERROR", "Something went wrong. Please contact support.", Value::Null)
        }
        "4930000004" => fault(403, "FORBIDDEN", "Unauthorized access", Value::Null),
        "4930000005" => status(5, "REJECTED", 12, "REJECTED_NOT_ENOUGH_CREDITS"),
        "4930000006" => status(5, "REJECTED", 13, "REJECTED_SENDER"),
        "4930000007" => status(2, "UNDELIVERABLE", 4, "UNDELIVERABLE_REJECTED_OPERATOR"),
        "4930000008" => status(5, "REJECTED", 18, "REJECTED_FLOODING_FILTER"),
        "4930000009" => status(5, "REJECTED", 21, "REJECTED_DUPLICATE_MESSAGE_ID"),
        "4930000010" => status(5, "REJECTED", 51, "REJECTED_SOMETHING_NEW"),
        _ => status(1, "PENDING", 7, "PENDING_ENROUTE"),
    }
}

fn infobip_adapter() -> InfobipAdapter {
    InfobipAdapter::new(open_guard(), test_trust())
}

fn infobip_settings(stand_in: &StandIn) -> Value {
    json!({"baseUrl": stand_in.url(), "apiKey": "canary-infobip-key", "from": "+44 20 7123 4567"})
}

#[tokio::test]
async fn infobip_gets_our_id_and_each_refusal_has_its_reason() {
    let stand_in = StandIn::start(infobip).await;
    let settings = infobip_settings(&stand_in);
    let outcome = send(&infobip_adapter(), &settings, "+49301234567").await;
    assert_eq!(outcome, SendOutcome::Delivered { provider_id: "msg-7".to_owned() });
    let expected = json!({"from": "442071234567", "to": "49301234567", "messageId": "msg-7", "content": {"text": "Body", "previewUrl": false}});
    assert_eq!(json_of(&stand_in.requests()[0]), expected);
    let mut with_template = settings.clone();
    with_template["template"] = "due_soon".into();
    assert_eq!(word(&send(&infobip_adapter(), &with_template, "+49301234567").await), "delivered");
    let sent = json_of(&stand_in.requests()[0]);
    let expected = json!({"templateName": "due_soon", "templateData": {"body": {"placeholders": ["Body"]}}, "language": "en"});
    assert_eq!(sent["messages"][0]["content"], expected);

    for (to, expected) in [
        ("+4930000001", "address-invalid"),
        ("+4930000002", "transient"),
        ("+4930000003", "transient"),
        ("+4930000004", "credentials-refused"),
        ("+4930000005", "account-blocked"),
        ("+4930000006", "sender-invalid"),
        ("+4930000007", "recipient-unreachable"),
        ("+4930000008", "transient"),
        ("+4930000009", "delivered"),
        ("+4930000010", "rejected-by-receiver"),
        ("4930000010", "phone-invalid"),
    ] {
        for settings in [&settings, &with_template] {
            let outcome = send(&infobip_adapter(), settings, to).await;
            assert_eq!(word(&outcome), expected, "{to}: {outcome:?}");
        }
    }
    let mut wrong = settings.clone();
    wrong["apiKey"] = "other".into();
    let outcome = send(&infobip_adapter(), &wrong, "+49301234567").await;
    assert_eq!(
        (word(&outcome).as_str(), error(&outcome)),
        ("credentials-refused", "401 UNAUTHORIZED Invalid login details")
    );
}

#[tokio::test]
async fn infobip_may_misbehave() {
    let stand_in = StandIn::start(infobip).await;
    let settings = infobip_settings(&stand_in);
    check_failures(
        &infobip_adapter(),
        &stand_in,
        &settings,
        &["canary-infobip-key"],
        "+49301234567",
        "uncertain",
    )
    .await;
}

//! What each provider's answers mean, as tables: plain values in, an outcome out.

use proptest::prelude::*;
use punctual_channels::{
    http::Answer,
    sendgrid, slack, sms_gateway, teams, twilio,
    whatsapp::{classify_cloud, classify_infobip},
};
use punctual_model::SendOutcome;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use crate::{at, stand_in::word};

fn answer(status: u16, body: &str) -> Answer {
    Answer { status, headers: HeaderMap::new(), text: body.to_owned(), is_cut: false, at: at() }
}

#[track_caller]
fn check(classify: impl Fn(&Answer) -> SendOutcome, cases: &[(u16, Value, &str)]) {
    for (status, body, expected) in cases {
        let text = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
        let outcome = classify(&answer(*status, &text));
        assert_eq!(word(&outcome), *expected, "{status} {text}: {outcome:?}");
    }
    // Whatever is said under whatever status, it has a meaning, and only a 2xx can be a yes.
    for status in 100..=999_u16 {
        for text in [
            "",
            "ok",
            "null",
            "[]",
            "{}",
            "{\"error\":5}",
            "\u{0}",
            "{\"code\":\"x\",\"sid\":5,\"messages\":{}}",
        ] {
            let outcome = classify(&answer(status, text));
            let is_yes = matches!(outcome, SendOutcome::Delivered { .. });
            assert!(!is_yes || (200..=299).contains(&status), "{status} {text}: {outcome:?}");
            let is_redirect = word(&outcome) == "redirect-not-followed";
            assert_eq!(is_redirect, (300..=399).contains(&status), "{status} {text}: {outcome:?}");
        }
    }
}

#[test]
fn twilio_s_code_decides_before_the_status() {
    let code = |code: i64| json!({"code": code, "message": "m", "status": 400});
    let cases = [
        (201, json!({"sid": "SM1", "status": "queued"}), "delivered"),
        (201, json!({"sid": "SM1", "status": "accepted"}), "delivered"),
        (
            201,
            json!({"sid": "SM1", "status": "failed", "error_code": 30007, "error_message": "filtered"}),
            "rejected-by-receiver",
        ),
        (201, json!({"status": "queued"}), "uncertain"),
        (200, json!("<html>"), "uncertain"),
        (400, code(20429), "transient"),
        (400, code(14107), "transient"),
        (400, code(21611), "transient"),
        (429, code(63038), "transient"),
        (503, code(20503), "transient"),
        (401, code(20003), "credentials-refused"),
        (400, code(21211), "address-invalid"),
        (400, code(21614), "address-invalid"),
        (400, code(21408), "recipient-unreachable"),
        (400, code(21612), "recipient-unreachable"),
        (400, code(21610), "recipient-opted-out"),
        (400, code(21606), "sender-invalid"),
        (400, code(21659), "sender-invalid"),
        (400, code(21602), "content-refused"),
        (400, code(21617), "message-too-large"),
        (400, code(1), "rejected-by-receiver"),
        (500, code(1), "transient"),
        (401, json!("who?"), "credentials-refused"),
        (404, json!(""), "rejected-by-receiver"),
        (502, json!("Bad Gateway"), "transient"),
    ];
    check(twilio::classify, &cases);
}

#[test]
fn a_gateway_s_word_counts_where_it_has_one() {
    let values = ["OK".to_owned(), "0".to_owned(), "true".to_owned()];
    let with_word =
        |answer: &Answer| sms_gateway::classify(answer, Some("/id"), Some(("/status", &values)), "own");
    let cases = [
        (200, json!({"status": "OK", "id": "7"}), "delivered"),
        (200, json!({"status": 0}), "delivered"),
        (200, json!({"status": true}), "delivered"),
        (200, json!({"status": "FAIL"}), "rejected-by-receiver"),
        (200, json!({"status": null}), "uncertain"),
        (200, json!("OK"), "uncertain"),
        (400, json!({"status": "OK"}), "rejected-by-receiver"),
        (403, json!(""), "credentials-refused"),
        (413, json!(""), "message-too-large"),
        (429, json!(""), "transient"),
        (500, json!(""), "transient"),
    ];
    check(with_word, &cases);
    let id = |body: &str| match sms_gateway::classify(&answer(200, body), Some("/id"), None, "own") {
        SendOutcome::Delivered { provider_id } => provider_id,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        (id("{\"id\":7}").as_str(), id("{\"id\":\"x\"}").as_str(), id("thanks").as_str()),
        ("7", "x", "own")
    );
}

#[test]
fn slack_answers_with_one_word() {
    let cases = [
        (200, json!("ok"), "delivered"),
        (200, json!("ok\n"), "delivered"),
        (200, json!("<html>"), "uncertain"),
        (400, json!("invalid_payload"), "content-refused"),
        (400, json!("no_text"), "content-refused"),
        (400, json!("user_not_found"), "recipient-unreachable"),
        (403, json!("action_prohibited"), "rejected-by-receiver"),
        (403, json!("invalid_token"), "credentials-refused"),
        (404, json!("channel_not_found"), "recipient-unreachable"),
        (404, json!("no_service"), "credentials-refused"),
        (404, json!("no_team"), "credentials-refused"),
        (410, json!("channel_is_archived"), "recipient-unreachable"),
        (429, json!("rate_limited"), "transient"),
        (500, json!("rollup_error"), "transient"),
        (400, json!("something_new"), "rejected-by-receiver"),
    ];
    check(|answer| slack::classify(answer, "own"), &cases);
}

#[test]
fn a_workflow_takes_or_refuses() {
    let fault = |code: &str| json!({"error": {"code": code, "message": "m"}});
    let cases = [
        (202, json!(""), "delivered"),
        (200, json!("1"), "delivered"),
        (400, fault("WorkflowTriggerIsNotEnabled"), "recipient-unreachable"),
        (400, fault("TriggerInputSchemaMismatch"), "content-refused"),
        (401, fault("DirectApiAuthorizationRequired"), "credentials-refused"),
        (403, json!(""), "credentials-refused"),
        (404, fault("WorkflowNotFound"), "recipient-unreachable"),
        (410, json!(""), "recipient-unreachable"),
        (413, json!(""), "message-too-large"),
        (429, json!(""), "transient"),
        (502, fault("NoResponse"), "transient"),
        (504, json!(""), "transient"),
    ];
    check(|answer| teams::classify(answer, "own"), &cases);
}

#[test]
fn sendgrid_names_the_field() {
    let fault = |field: Value| json!({"errors": [{"message": "m", "field": field}]});
    let cases = [
        (202, json!(""), "delivered"),
        (200, json!(""), "uncertain"),
        (400, fault(json!("personalizations.0.to.0.email")), "address-invalid"),
        (400, fault(json!("from.email")), "sender-invalid"),
        (400, fault(json!("content.0.value")), "content-refused"),
        (400, fault(Value::Null), "rejected-by-receiver"),
        (401, fault(Value::Null), "credentials-refused"),
        (403, fault(json!("from")), "sender-invalid"),
        (403, fault(Value::Null), "credentials-refused"),
        (413, json!(""), "message-too-large"),
        (429, fault(Value::Null), "transient"),
        (500, json!(""), "transient"),
        (503, json!(""), "transient"),
    ];
    check(|answer| sendgrid::classify(answer, "own"), &cases);
}

#[test]
fn the_cloud_api_s_code_decides_before_the_status() {
    let code = |code: i64| json!({"error": {"code": code, "message": "m"}});
    let mut cases = vec![
        (200, json!({"messages": [{"id": "wamid.1"}]}), "delivered"),
        (200, json!({"messages": []}), "uncertain"),
        (401, json!({"meta": {"developer_message": "Invalid api key"}}), "credentials-refused"),
        (400, code(9_999_999), "rejected-by-receiver"),
        (500, code(9_999_999), "transient"),
    ];
    let groups: [(&[i64], &str); 9] = [
        (&[1, 2, 4, 80_007, 130_429, 131_000, 131_016, 131_048, 131_056, 131_057, 133_004], "transient"),
        (&[0, 3, 10, 190, 200, 299, 131_005], "credentials-refused"),
        (&[368, 130_497, 131_031, 131_042], "account-blocked"),
        (&[33, 131_037, 131_045, 133_010], "sender-invalid"),
        (&[130_472, 131_026, 131_030], "recipient-unreachable"),
        (&[131_047], "window-closed"),
        (&[131_050], "recipient-opted-out"),
        (&[100, 131_008, 131_009, 131_051], "content-refused"),
        (&[132_000, 132_001, 132_005, 132_007, 132_012, 132_015, 132_016, 132_068], "template-refused"),
    ];
    for (codes, expected) in groups {
        cases.extend(codes.iter().map(|one| (400, code(*one), expected)));
    }
    check(|answer| classify_cloud(answer, "WhatsApp"), &cases);
}

#[test]
fn infobip_s_refusal_may_be_a_200() {
    let status =
        |group: i64, name: &str| json!({"messageId": "m", "status": {"groupId": group, "name": name}});
    let fault = |wrong: Value| json!({"requestError": {"serviceException": {"messageId": "X", "text": "t", "validationErrors": wrong}}});
    let cases = [
        (200, status(1, "PENDING_ENROUTE"), "delivered"),
        (200, status(3, "DELIVERED_TO_HANDSET"), "delivered"),
        (200, json!({"messages": [status(1, "PENDING_ACCEPTED")]}), "delivered"),
        (200, status(5, "REJECTED_DUPLICATE_MESSAGE_ID"), "delivered"),
        (200, status(5, "REJECTED_FLOODING_FILTER"), "transient"),
        (200, status(5, "REJECTED_NOT_ENOUGH_CREDITS"), "account-blocked"),
        (200, status(5, "REJECTED_SENDER"), "sender-invalid"),
        (200, status(5, "REJECTED_DESTINATION"), "recipient-unreachable"),
        (200, status(2, "UNDELIVERABLE_NOT_DELIVERED"), "recipient-unreachable"),
        (200, status(5, "REJECTED_NEW"), "rejected-by-receiver"),
        (200, json!({}), "uncertain"),
        (400, fault(json!({"to": ["bad"]})), "address-invalid"),
        (400, fault(json!({"messages[0].to": ["bad"]})), "address-invalid"),
        (400, fault(json!({"from": ["bad"]})), "sender-invalid"),
        (400, fault(json!({"messages[0].content.templateName": ["bad"]})), "template-refused"),
        (400, fault(Value::Null), "content-refused"),
        (401, fault(Value::Null), "credentials-refused"),
        (429, fault(Value::Null), "transient"),
        (500, fault(Value::Null), "transient"),
    ];
    check(|answer| classify_infobip(answer, "own"), &cases);
}

/// Answers that are almost right: a real one with something else in one place.
fn almost() -> impl Strategy<Value = String> {
    let real = prop::sample::select(vec![
        r#"{"sid":@,"status":@,"code":@,"message":@}"#,
        r#"{"messages":[{"id":@,"messageId":@,"status":{"groupId":@,"name":@}}]}"#,
        r#"{"error":{"code":@,"message":@,"error_data":{"details":@}}}"#,
        r#"{"errors":[{"message":@,"field":@}]}"#,
        r#"{"requestError":{"serviceException":{"messageId":@,"text":@,"validationErrors":{"to":@}}}}"#,
        r#"{"messageId":@,"status":{"groupId":@,"name":@,"description":@}}"#,
    ]);
    let odd =
        prop::sample::select(vec!["null", "1", "-1.5", "\"x\"", "\"\"", "[]", "{}", "true", "20429", "9e99"]);
    (real, prop::collection::vec(odd, 8)).prop_map(|(real, odd)| {
        let mut odd = odd.into_iter().cycle();
        real.split('@').map(str::to_owned).reduce(|text, rest| text + odd.next().unwrap() + &rest).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_answer_of_any_provider_has_a_meaning(status in 100..1000_u16, text in prop_oneof![any::<String>(), almost()]) {
        let answer = answer(status, &text);
        for outcome in [
            twilio::classify(&answer),
            sms_gateway::classify(&answer, Some("/messages/0/id"), Some(("/status", &["x".to_owned()])), "own"),
            slack::classify(&answer, "own"),
            teams::classify(&answer, "own"),
            sendgrid::classify(&answer, "own"),
            classify_cloud(&answer, "WhatsApp"),
            classify_infobip(&answer, "own"),
        ] {
            let is_yes = matches!(&outcome, SendOutcome::Delivered { provider_id } if !provider_id.is_empty());
            prop_assert_eq!(is_yes, matches!(outcome, SendOutcome::Delivered { .. }), "a yes has an id");
            prop_assert!(!is_yes || (200..=299).contains(&status));
            prop_assert!(crate::stand_in::error(&outcome).len() < 600);
        }
    }
}

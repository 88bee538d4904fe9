//! Calls of providers: their signatures, against vectors that Python's hmac and cryptography made, and what they say.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use punctual_channels::{AllowList, Captured, Guard, Trust, adapters};
use punctual_model::{
    Callback, CallbackFault, CallbackTaken, Channel, Receipt, ReceiptState, SuppressionReason,
};
use serde_json::{Value, json};

use crate::at;

fn vectors(of: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("callback_vectors.json")).unwrap();
    all[of].clone()
}

fn text<'v>(vectors: &'v Value, name: &str) -> &'v str {
    vectors[name].as_str().unwrap()
}

fn open(adapter: &str, settings: Value) -> Arc<dyn Channel> {
    let guard = Guard::new(AllowList::default());
    let all = adapters(&guard, &Trust::platform(), &Captured::new());
    let adapter = all.into_iter().find(|one| one.name() == adapter).unwrap();
    assert_eq!(adapter.check(&settings), [], "{settings}");
    adapter.open(&settings).unwrap()
}

/// One call.
#[derive(Clone, Default)]
struct Call<'a> {
    headers: Vec<(&'a str, &'a str)>,
    query: &'a str,
    secret: Option<&'a str>,
    body: &'a str,
    late: i64,
    is_get: bool,
}

impl Call<'_> {
    fn to(&self, channel: &Arc<dyn Channel>) -> Result<CallbackTaken, CallbackFault> {
        let header = |name: &str| {
            self.headers.iter().find(|(found, _)| *found == name).map(|(_, text)| (*text).to_owned())
        };
        channel.callback(&Callback {
            is_get: self.is_get,
            query: self.query,
            path_secret: self.secret,
            header: &header,
            body: self.body.as_bytes(),
            at: at() + SignedDuration::from_secs(self.late),
        })
    }

    #[track_caller]
    fn receipts(&self, channel: &Arc<dyn Channel>) -> Vec<Receipt> {
        match self.to(channel) {
            Ok(CallbackTaken::Receipts(receipts)) => receipts,
            other => panic!("{other:?}"),
        }
    }
}

fn reported(receipts: &[Receipt]) -> Vec<(&str, ReceiptState, Option<SuppressionReason>)> {
    receipts.iter().map(|one| (one.message_id.as_str(), one.state, one.suppress)).collect()
}

const SID: &str = "AC0123456789abcdef0123456789abcdef";

fn twilio() -> Arc<dyn Channel> {
    let v = vectors("twilio");
    open(
        "twilio",
        json!({ "accountSid": SID, "authToken": v["token"], "from": "+14155552671", "callbackUrl": v["url"] }),
    )
}

#[test]
fn twilio_signs_the_address_and_the_sorted_fields() {
    let (channel, v) = (twilio(), vectors("twilio"));
    let good = Call {
        headers: vec![("x-twilio-signature", text(&v, "signature"))],
        body: text(&v, "body"),
        ..Call::default()
    };
    let receipts = good.receipts(&channel);
    assert_eq!(reported(&receipts), [("SM0123456789abcdef0123456789abcdef", ReceiptState::Delivered, None)]);
    let queried = Call {
        headers: vec![("x-twilio-signature", text(&v, "signatureWithQuery"))],
        query: "tenant=7",
        ..good.clone()
    };
    assert_eq!(queried.receipts(&channel).len(), 1);
    let changed = text(&v, "body").replace("delivered", "failed");
    for bad in [
        Call { headers: vec![], ..good.clone() },
        Call { headers: vec![("x-twilio-signature", "AAAA")], ..good.clone() },
        Call { headers: vec![("x-twilio-signature", "no base64 ä")], ..good.clone() },
        Call { query: "tenant=8", ..queried },
        Call { body: &changed, ..good.clone() },
        Call { body: "", ..good.clone() },
    ] {
        assert_eq!(bad.to(&channel), Err(CallbackFault::Signature), "{:?} {}", bad.headers, bad.body);
    }
    // Without an address for callbacks there are none, and no row is kept for them.
    let without =
        open("twilio", json!({ "accountSid": SID, "authToken": v["token"], "from": "+14155552671" }));
    assert!(!without.takes_receipts() && channel.takes_receipts());
    assert_eq!(good.to(&without), Err(CallbackFault::NotTaken));
}

#[test]
fn twilio_s_words_have_one_meaning_each() {
    let receipt = |status: &str, code: &str| {
        let fields = [("MessageSid", "SM1"), ("MessageStatus", status), ("ErrorCode", code)];
        punctual_channels::twilio::receipt(&fields.map(|(name, value)| (name.to_owned(), value.to_owned())))
    };
    for (status, code, state, suppress) in [
        ("queued", "", ReceiptState::Accepted, None),
        ("sending", "", ReceiptState::Accepted, None),
        ("sent", "", ReceiptState::Sent, None),
        ("delivered", "", ReceiptState::Delivered, None),
        ("read", "", ReceiptState::Read, None),
        ("undelivered", "30003", ReceiptState::Failed, None),
        ("undelivered", "30005", ReceiptState::Failed, Some(SuppressionReason::HardBounce)),
        ("failed", "30006", ReceiptState::Failed, Some(SuppressionReason::HardBounce)),
        ("failed", "21610", ReceiptState::Failed, Some(SuppressionReason::Unsubscribed)),
        ("failed", "", ReceiptState::Failed, None),
    ] {
        let found = receipt(status, code).unwrap();
        assert_eq!((found.state, found.suppress), (state, suppress), "{status} {code}");
        assert_eq!(found.code.as_deref().unwrap_or_default(), code, "{status}");
    }
    assert_eq!(receipt("dancing", ""), None);
    assert_eq!(punctual_channels::twilio::receipt(&[]), None);
}

#[test]
fn meta_signs_the_body_and_asks_before() {
    let v = vectors("meta");
    let channel = open(
        "whatsapp-cloud",
        json!({ "phoneNumberId": "106540352242922", "accessToken": "t", "appSecret": v["secret"], "verifyToken": "open-sesame" }),
    );
    let good = Call {
        headers: vec![("x-hub-signature-256", text(&v, "signature"))],
        body: text(&v, "body"),
        ..Call::default()
    };
    let receipts = good.receipts(&channel);
    assert_eq!(
        reported(&receipts),
        [
            ("wamid.A", ReceiptState::Delivered, None),
            ("wamid.B", ReceiptState::Failed, None),
            ("wamid.C", ReceiptState::Failed, Some(SuppressionReason::Unsubscribed)),
        ]
    );
    assert_eq!(receipts[0].at, Some(at()));
    assert_eq!(
        (receipts[1].code.as_deref(), receipts[1].detail.as_deref()),
        (Some("131026"), Some("not a WhatsApp number"))
    );
    let spaced = format!("{} ", text(&v, "body"));
    for bad in [
        Call { headers: vec![], ..good.clone() },
        Call { headers: vec![("x-hub-signature-256", "sha256=00")], ..good.clone() },
        Call { headers: vec![("x-hub-signature-256", "sha256=")], ..good.clone() },
        Call { body: &spaced, ..good.clone() },
    ] {
        assert_eq!(bad.to(&channel), Err(CallbackFault::Signature), "{:?}", bad.headers);
    }
    let asks = |query| Call { is_get: true, query, ..Call::default() }.to(&channel);
    assert_eq!(
        asks("hub.mode=subscribe&hub.verify_token=open-sesame&hub.challenge=1158201444"),
        Ok(CallbackTaken::Answer("1158201444".to_owned()))
    );
    for wrong in [
        "",
        "hub.mode=subscribe&hub.verify_token=open&hub.challenge=1",
        "hub.mode=unsubscribe&hub.verify_token=open-sesame&hub.challenge=1",
        "hub.mode=subscribe&hub.verify_token=open-sesame&hub.challenge=%3Cscript%3E",
    ] {
        assert_eq!(asks(wrong), Err(CallbackFault::Signature), "{wrong}");
    }
}

#[test]
fn sendgrid_signs_the_time_and_the_body_with_a_key_of_its_own() {
    let v = vectors("sendgrid");
    let settings = |key: &str| json!({ "apiKey": "k", "from": "a@b.example", "webhookPublicKey": key });
    let channel = open("sendgrid", settings(text(&v, "publicKey")));
    let headers = |signature: &'static str| {
        let signature = Box::leak(text(&v, signature).to_owned().into_boxed_str());
        vec![
            ("x-twilio-email-event-webhook-signature", &*signature),
            ("x-twilio-email-event-webhook-timestamp", "1793694600"),
        ]
    };
    let good = Call { headers: headers("signature"), body: text(&v, "body"), ..Call::default() };
    let receipts = good.receipts(&channel);
    assert_eq!(
        reported(&receipts),
        [
            ("14c5d75ce93.dfd.64b469", ReceiptState::Sent, None),
            ("14c5d75ce93.dfd.64b469", ReceiptState::Delivered, None),
            ("Abc_-9", ReceiptState::Failed, Some(SuppressionReason::HardBounce)),
            ("block", ReceiptState::Failed, None),
            ("spam", ReceiptState::Complained, Some(SuppressionReason::Complaint)),
            ("drop", ReceiptState::Failed, Some(SuppressionReason::Unsubscribed)),
        ]
    );
    assert_eq!(receipts[2].detail.as_deref(), Some("550 5.1.1 no such user"));
    assert_eq!(receipts[1].at, Some(Timestamp::from_second(1_793_694_595).unwrap()));
    // Ten minutes either way are the time that a call may take; older ones are somebody's copy.
    for (late, expected) in
        [(599, None), (-599, None), (601, Some(CallbackFault::Stale)), (-601, Some(CallbackFault::Stale))]
    {
        assert_eq!(Call { late, ..good.clone() }.to(&channel).err(), expected, "{late}");
    }
    let mut moved = good.clone();
    moved.headers[1].1 = "1793694601";
    for bad in [
        Call { headers: vec![], ..good.clone() },
        Call { headers: good.headers[..1].to_vec(), ..good.clone() },
        Call { headers: headers("signatureOfAnother"), ..good.clone() },
        Call { body: "[]", ..good.clone() },
        moved,
    ] {
        assert_eq!(bad.to(&channel), Err(CallbackFault::Signature), "{:?}", bad.headers);
    }
    let nonsense =
        Call { headers: headers("nonsenseSignature"), body: text(&v, "nonsense"), ..Call::default() };
    assert!(matches!(nonsense.to(&channel), Err(CallbackFault::Unreadable(_))));
    let guard = Guard::new(AllowList::default());
    let all = adapters(&guard, &Trust::platform(), &Captured::new());
    let adapter = all.into_iter().find(|one| one.name() == "sendgrid").unwrap();
    for key in [text(&v, "otherCurve"), "MFkw", "nonsense ä", ""] {
        let faults = adapter.check(&settings(key));
        assert_eq!(faults.len(), 1, "{key}");
        assert_eq!(faults[0].pointer, "/webhookPublicKey");
    }
}

fn gateway(more: Value) -> Arc<dyn Channel> {
    let mut settings =
        json!({ "url": "https://sms.example.com/send", "receiptSecret": vectors("gateway")["secret"] });
    for (name, value) in more.as_object().unwrap() {
        settings[name] = value.clone();
    }
    open("sms-gateway", settings)
}

#[test]
fn a_gateway_s_receipts_are_read_as_its_settings_say() {
    let v = vectors("gateway");
    let words = json!({ "DELIVRD": "delivered", "UNDELIV": "failed", "NOSUCH": "bounced" });
    let fields = json!({ "receiptItems": "/items", "receiptIdField": "/ref", "receiptStatusField": "/state",
                         "receiptStates": words });
    let channel = gateway(fields.clone());
    let expected = [
        ("m-1", ReceiptState::Delivered, None),
        ("m-2", ReceiptState::Failed, None),
        ("m-3", ReceiptState::Failed, Some(SuppressionReason::HardBounce)),
    ];
    let call = |name: &'static str, signature: &'static str| Call {
        headers: vec![(name, signature)],
        ..Call::default()
    };
    let body = text(&v, "body");
    for signature in ["hex", "base64"] {
        let signature = Box::leak(text(&v, signature).to_owned().into_boxed_str());
        let good = Call { body, ..call("x-signature", signature) };
        assert_eq!(reported(&good.receipts(&channel)), expected);
        let other = Call { body, ..call("x-other", signature) };
        assert_eq!(other.to(&channel), Err(CallbackFault::Signature));
    }
    let mut stamped = fields;
    stamped["receiptTimestampHeader"] = json!("X-Time");
    stamped["receiptSignatureHeader"] = json!("X-Sig");
    let channel = gateway(stamped);
    let good = Call {
        headers: vec![("x-sig", text(&v, "stamped")), ("x-time", text(&v, "timestamp"))],
        body,
        ..Call::default()
    };
    assert_eq!(reported(&good.receipts(&channel)), expected);
    assert_eq!(Call { late: 601, ..good.clone() }.to(&channel), Err(CallbackFault::Stale));
    let unstamped = Call { headers: good.headers[..1].to_vec(), ..good };
    assert_eq!(unstamped.to(&channel), Err(CallbackFault::Signature));
    let channel = gateway(json!({}));
    let form = Call {
        headers: vec![("x-signature", text(&v, "formHex"))],
        body: text(&v, "form"),
        ..Call::default()
    };
    assert_eq!(reported(&form.receipts(&channel)), [("m-9", ReceiptState::Delivered, None)]);
}

#[test]
fn where_nothing_is_signed_the_caller_must_know_the_secret() {
    let secret = "a-long-secret-of-the-channel";
    let meta = vectors("meta");
    let infobip = json!({ "results": [
        { "messageId": "i-1", "doneAt": "2026-11-03T08:29:59.000+0000", "status": { "groupName": "DELIVERED" } },
        { "messageId": "i-2", "status": { "groupName": "UNDELIVERABLE", "description": "no" },
          "error": { "name": "EC_UNKNOWN_SUBSCRIBER", "description": "Unknown subscriber", "permanent": true } },
        { "messageId": "i-3", "seenAt": "2026-11-03T08:29:58.000+00:00" },
        { "messageId": "i-4", "status": { "groupName": "PENDING" } },
    ] })
    .to_string();
    for (adapter, settings, body, count) in [
        ("whatsapp-360dialog", json!({ "apiKey": "k" }), text(&meta, "body"), 3),
        (
            "whatsapp-infobip",
            json!({ "baseUrl": "https://xyz.api.infobip.com", "apiKey": "k", "from": "+442071234567" }),
            infobip.as_str(),
            4,
        ),
    ] {
        let without = open(adapter, settings.clone());
        let mut settings = settings;
        settings["callbackSecret"] = json!(secret);
        let channel = open(adapter, settings);
        let in_path = Call { secret: Some(secret), body, ..Call::default() };
        let bearer = Call {
            headers: vec![("authorization", "Bearer a-long-secret-of-the-channel")],
            body,
            ..Call::default()
        };
        assert_eq!(in_path.receipts(&channel).len(), count, "{adapter}");
        assert_eq!(bearer.receipts(&channel).len(), count, "{adapter}");
        for wrong in
            [None, Some(""), Some("a-long-secret-of-the-channe"), Some("a-long-secret-of-the-channel2")]
        {
            let call = Call { secret: wrong, ..in_path.clone() };
            assert_eq!(call.to(&channel), Err(CallbackFault::Signature), "{adapter} {wrong:?}");
        }
        assert_eq!(in_path.to(&without), Err(CallbackFault::NotTaken));
        let nonsense = Call { body: "<html>", ..in_path.clone() };
        assert!(matches!(nonsense.to(&channel), Err(CallbackFault::Unreadable(_))), "{adapter}");
    }
    let channel = open(
        "whatsapp-infobip",
        json!({ "baseUrl": "https://xyz.api.infobip.com", "apiKey": "k", "from": "+442071234567", "callbackSecret": secret }),
    );
    let receipts = Call { secret: Some(secret), body: &infobip, ..Call::default() }.receipts(&channel);
    assert_eq!(
        reported(&receipts),
        [
            ("i-1", ReceiptState::Delivered, None),
            ("i-2", ReceiptState::Failed, Some(SuppressionReason::HardBounce)),
            ("i-3", ReceiptState::Read, None),
            ("i-4", ReceiptState::Sent, None),
        ]
    );
    assert_eq!(receipts[0].at, Some(at() - SignedDuration::from_secs(1)));
    assert_eq!(receipts[2].at, Some(at() - SignedDuration::from_secs(2)));
}

#[test]
fn settings_of_callbacks_are_checked_when_they_are_saved() {
    let guard = Guard::new(AllowList::default());
    let faults = |adapter: &str, settings: Value| -> Vec<(String, &'static str)> {
        let all = adapters(&guard, &Trust::platform(), &Captured::new());
        let adapter = all.into_iter().find(|one| one.name() == adapter).unwrap();
        adapter.check(&settings).into_iter().map(|fault| (fault.pointer, fault.code)).collect()
    };
    let twilio = |more: Value| {
        let mut settings = json!({ "accountSid": SID, "apiKeySid": SID.replace("AC", "SK"), "apiKeySecret": "s", "from": "Punctual" });
        for (name, value) in more.as_object().unwrap() {
            settings[name] = value.clone();
        }
        faults("twilio", settings)
    };
    let url = "https://punctual.example.org/api/v1/callbacks/sms:default";
    assert_eq!(twilio(json!({ "callbackUrl": url })), [("/callbackToken".to_owned(), "missing_field")]);
    assert_eq!(twilio(json!({ "callbackToken": "t" })), [("/callbackUrl".to_owned(), "missing_field")]);
    assert_eq!(twilio(json!({ "callbackUrl": url, "callbackToken": "env:TOKEN" })), []);
    for bad in ["ftp://x.example/", "/callbacks", "https://u:p@x.example/", "https://x.example/#a"] {
        assert_eq!(
            twilio(json!({ "callbackUrl": bad, "callbackToken": "t" })),
            [("/callbackUrl".to_owned(), "url_invalid")]
        );
    }
    let cloud = json!({ "phoneNumberId": "106540352242922", "accessToken": "t", "verifyToken": "v" });
    assert_eq!(faults("whatsapp-cloud", cloud), [("/appSecret".to_owned(), "missing_field")]);
    for bad in ["short", "long-enough-but/with-a-slash"] {
        let settings = json!({ "apiKey": "k", "callbackSecret": bad });
        assert_eq!(
            faults("whatsapp-360dialog", settings),
            [("/callbackSecret".to_owned(), "secret_invalid")]
        );
    }
    let states = json!({ "url": "https://sms.example.com/send", "receiptStates": { "OK": "happy" } });
    assert_eq!(faults("sms-gateway", states), [("/receiptStates".to_owned(), "out_of_range")]);
    let unsigned = json!({ "url": "https://sms.example.com/send", "receiptStates": { "OK": "delivered" } });
    assert_eq!(faults("sms-gateway", unsigned), [("/receiptSecret".to_owned(), "missing_field")]);
}

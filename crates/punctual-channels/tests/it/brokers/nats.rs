//! NATS JetStream, against a real server.

use std::sync::Arc;

use punctual_channels::Trust;
use punctual_model::{Channel, SendOutcome};
use punctual_testkit::Way;
use serde_json::{Value, json};

use super::{
    adapter, assert_delivered, assert_passing, assert_permanent, assert_transient, behind_proxy, check,
    event, guard_to_here, open, send, server, unique,
};
use crate::{open_guard, test_trust};

fn here() -> String {
    server("PUNCTUAL_TEST_NATS")
}

fn settings(url: &str, subject: &str) -> Value {
    json!({
        "url": url, "subject": subject, "username": "punctual", "password": "nats-secret", "timeoutSeconds": 5,
    })
}

/// One who looks after streams.
struct Admin(async_nats::Client);

impl Admin {
    async fn new() -> Self {
        let options =
            async_nats::ConnectOptions::with_user_and_password("punctual".into(), "nats-secret".into());
        Self(options.connect(here()).await.unwrap())
    }

    async fn ask(&self, what: &str, body: Value) -> Value {
        let answer = self.0.request(format!("$JS.API.{what}"), body.to_string().into()).await.unwrap();
        serde_json::from_slice(&answer.payload).unwrap()
    }

    /// A new stream for one subject; both have the same name.
    async fn stream(&self, name: &str, more: Value) -> String {
        let name = unique(name);
        let mut config = json!({ "name": name, "subjects": [name], "storage": "memory" });
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let made = self.ask(&format!("STREAM.CREATE.{name}"), config).await;
        assert!(made.get("error").is_none(), "{made}");
        name
    }

    async fn count(&self, stream: &str) -> u64 {
        let info = self.ask(&format!("STREAM.INFO.{stream}"), json!({})).await;
        info["state"]["messages"].as_u64().unwrap()
    }
}

async fn opened(name: &str, more: Value) -> (Admin, String, Arc<dyn Channel>) {
    let admin = Admin::new().await;
    let stream = admin.stream(name, more).await;
    let channel = open("nats", &settings(&here(), &stream));
    (admin, stream, channel)
}

#[tokio::test]
async fn a_message_is_delivered_when_the_stream_keeps_it_and_a_repeat_is_dropped() {
    let (admin, stream, channel) = opened("answers", json!({})).await;
    for _ in 0..2 {
        let outcome = send(&channel, event("instance-1")).await;
        assert_eq!(outcome, SendOutcome::Delivered { provider_id: format!("{stream}:1") });
    }
    let outcome = send(&channel, event("instance-2")).await;
    assert_eq!(outcome, SendOutcome::Delivered { provider_id: format!("{stream}:2") });
    assert_eq!(admin.count(&stream).await, 2);

    let kept = admin.ask(&format!("STREAM.MSG.GET.{stream}"), json!({ "seq": 1 })).await;
    let text = |name: &str| {
        use base64::Engine;
        let bytes = base64::engine::general_purpose::STANDARD.decode(kept["message"][name].as_str().unwrap());
        String::from_utf8(bytes.unwrap()).unwrap()
    };
    assert!(text("hdrs").contains("Nats-Msg-Id: instance-1\r\n"), "{}", text("hdrs"));
    let body: Value = serde_json::from_str(&text("data")).unwrap();
    assert_eq!(body, event("instance-1").type_data.unwrap(), "an event is sent just as it was given");
}

#[tokio::test]
async fn a_hundred_at_once_all_arrive_over_one_connection() {
    let (admin, stream, channel) = opened("many", json!({})).await;
    let sends = (0..100).map(|n| send(&channel, event(&format!("instance-{n}"))));
    for outcome in futures_util::future::join_all(sends).await {
        assert_delivered(&outcome);
    }
    assert_eq!(admin.count(&stream).await, 100);
}

#[tokio::test]
async fn a_subject_without_a_stream_is_no_silent_yes() {
    let channel = open("nats", &settings(&here(), &unique("nobody")));
    assert_transient(&send(&channel, event("x")).await, "no stream takes this subject");
}

#[tokio::test]
async fn what_a_stream_refuses_is_final_or_not() {
    let (admin, _, small) = opened("small", json!({ "max_msg_size": 10 })).await;
    assert_permanent(&send(&small, event("x")).await, "message-too-large");

    let full = admin.stream("full", json!({ "max_msgs": 1, "discard": "new" })).await;
    let channel = open("nats", &settings(&here(), &full));
    assert_delivered(&send(&channel, event("first")).await);
    assert_transient(&send(&channel, event("second")).await, "maximum messages exceeded");

    let mut other = settings(&here(), &full);
    other["stream"] = json!("another");
    assert_permanent(&send(&open("nats", &other), event("x")).await, "settings-invalid");
    other["stream"] = json!(full);
    assert_transient(&send(&open("nats", &other), event("x")).await, "maximum messages exceeded");
}

#[tokio::test]
async fn whoever_is_not_let_in_gets_a_reason() {
    let (admin, stream, _) = opened("login", json!({})).await;
    let with = |more: Value| {
        let mut settings = json!({ "url": here(), "subject": stream, "timeoutSeconds": 2 });
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        open("nats", &settings)
    };
    let seed = "SUAAWDOOO4WYDJSTEQSJ4Y44SA67F5QAPLUF5JLKLMOQSHXYE2Z3CIZ7WM";
    assert_delivered(&send(&with(json!({ "nkeySeed": seed })), event("with-a-key")).await);
    for wrong in [
        json!({}),
        json!({ "username": "punctual", "password": "wrong-secret" }),
        json!({ "token": "wrong-secret" }),
        json!({ "nkeySeed": seed.replace("SUAAW", "SUAAX") }),
    ] {
        assert_permanent(&send(&with(wrong), event("x")).await, "credentials-refused");
    }
    // May sign in, and may not publish here: the server says so beside the answer that never comes.
    let narrow = with(json!({ "username": "narrow", "password": "narrow-secret" }));
    assert_permanent(&send(&narrow, event("x")).await, "credentials-refused");
    assert_eq!(admin.count(&stream).await, 1);
}

#[tokio::test]
async fn a_connection_that_breaks_is_made_again() {
    let (admin, stream, _) = opened("cut", json!({})).await;
    let (url, proxy) = behind_proxy(&here()).await;
    let channel = open("nats", &settings(&url, &stream));
    assert_delivered(&send(&channel, event("before")).await);
    proxy.set(Way::Cut);
    for _ in 0..3 {
        assert_passing(&send(&channel, event("meanwhile")).await);
    }
    proxy.set(Way::Pass);
    assert_delivered(&send(&channel, event("after")).await);
    assert_eq!(admin.count(&stream).await, 2);
}

#[tokio::test]
async fn a_server_that_hangs_blocks_nobody_and_the_repeat_is_dropped() {
    let (admin, stream, _) = opened("hang", json!({})).await;
    let (url, proxy) = behind_proxy(&here()).await;
    let mut settings = settings(&url, &stream);
    settings["timeoutSeconds"] = json!(1);
    let channel = open("nats", &settings);
    assert_delivered(&send(&channel, event("before")).await);
    proxy.set(Way::HoldReplies);
    // It was handed over, and the stream has it: only the answer is missing.
    let outcome = send(&channel, event("held")).await;
    assert!(matches!(outcome, SendOutcome::Uncertain { .. }), "{outcome:?}");
    // A new connection does not come about.
    assert_transient(&send(&channel, event("later")).await, "");
    proxy.set(Way::Pass);
    assert_delivered(&send(&channel, event("held")).await);
    assert_eq!(admin.count(&stream).await, 2, "the repeat has the same id");
}

#[tokio::test]
async fn over_tls_the_certificate_must_carry_the_name_of_the_settings() {
    let url = server("PUNCTUAL_TEST_NATS_TLS");
    let port = url.rsplit_once(':').unwrap().1;
    let subject = unique("tls");
    // This server has no stream: that its JetStream says so shows that we were let in.
    let known = open("nats", &settings(&url, &subject));
    assert_transient(&send(&known, event("x")).await, "no stream takes this subject");
    // It asks for TLS also where the URL does not, and gets it.
    let plain = open("nats", &settings(&url.replace("tls://", "nats://"), &subject));
    assert_transient(&send(&plain, event("x")).await, "no stream takes this subject");

    let unknown = adapter("nats", &open_guard(), &Trust::platform()).open(&settings(&url, &subject)).unwrap();
    assert_transient(&send(&unknown, event("x")).await, "certificate is not accepted");
    let elsewhere = format!("tls://elsewhere.example:{port}");
    let other = adapter("nats", &guard_to_here("127.0.0.0/8"), &test_trust());
    let other = other.open(&settings(&elsewhere, &subject)).unwrap();
    assert_transient(&send(&other, event("x")).await, "certificate is not accepted");
}

#[tokio::test]
async fn t07_a_name_that_leads_inside_is_not_connected_to() {
    let inside = adapter("nats", &guard_to_here(""), &test_trust());
    let channel = inside.open(&settings("tls://nats.example", "surveys")).unwrap();
    assert_permanent(&send(&channel, event("x")).await, "url-forbidden");
}

#[test]
fn settings_are_checked_when_they_are_saved() {
    let good = json!({ "url": "tls://nats.example.com", "subject": "surveys.answers" });
    check("nats", &good, &[]);
    for (field, value, expected) in [
        ("url", json!("nats://nats.example.com"), ("/url", "url_scheme")),
        ("url", json!("https://nats.example.com"), ("/url", "url_scheme")),
        ("url", json!("tls://nats.example.com:22"), ("/url", "url_port")),
        ("url", json!("tls://user:secret@nats.example.com"), ("/url", "url_userinfo")),
        ("url", json!("tls://10.0.0.1"), ("/url", "url_forbidden")),
        ("url", json!("tls://0x7f.1"), ("/url", "url_forbidden")),
        ("url", json!("nats.example.com"), ("/url", "url_invalid")),
        ("subject", json!("surveys.*"), ("/subject", "out_of_range")),
        ("subject", json!("surveys..answers"), ("/subject", "out_of_range")),
        ("subject", json!("two words"), ("/subject", "out_of_range")),
        ("subject", json!("$JS.API.STREAM.DELETE.x"), ("/subject", "out_of_range")),
        ("subject", json!(""), ("/subject", "missing_field")),
        ("username", json!("ops"), ("/password", "missing_field")),
        ("nkeySeed", json!("UABC"), ("/nkeySeed", "secret_invalid")),
        ("credentials", json!("jwt"), ("/credentials", "secret_invalid")),
        ("timeoutSeconds", json!(31), ("/timeoutSeconds", "out_of_range")),
        ("queue", json!("q"), ("/queue", "unknown_field")),
    ] {
        let mut settings = good.clone();
        settings[field] = value;
        check("nats", &settings, &[expected]);
    }
    let mut both = good.clone();
    both["token"] = json!("canary-secret");
    check("nats", &both, &[]);
    both["nkeySeed"] = json!("env:NATS_SEED");
    check("nats", &both, &[("", "out_of_range")]);
    for reference in ["env:NATS_CREDS", "file:/run/secrets/nats.creds"] {
        let mut settings = good.clone();
        settings["credentials"] = json!(reference);
        check("nats", &settings, &[]);
    }
}

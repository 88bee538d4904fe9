//! Mail against a real SMTP server.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use punctual_channels::{AllowList, Guard, SmtpAdapter, Trust};
use punctual_model::{Adapter, Outgoing, SendOutcome, channel::Attachment};
use serde_json::{Value, json};

use crate::{
    open_guard, outgoing,
    smtp_peer::Server,
    smtp_sink::{Behaviour, Sink},
    test_trust,
};

fn mail(to: &str) -> Outgoing {
    outgoing("email:default", to)
}

fn header<'a>(mail: &'a Value, name: &str) -> Vec<&'a str> {
    let headers = mail["headers"].as_array().unwrap();
    headers.iter().filter(|header| header[0] == name).map(|header| header[1].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_text_mail_arrives_with_a_stable_message_id() {
    let server = Server::start("plain").await;
    let channel = server.channel(json!({}));
    for attempt in 1..=2 {
        let message = Outgoing {
            attempt,
            at: crate::at() + Duration::from_secs(60 * attempt as u64),
            subject: "Erinnerung: Prüfung ✓ “today”".to_owned(),
            body: "Grüße,\n.\n..dots\nFrom here\r\nend\n".to_owned(),
            ..mail("to@b.example")
        };
        let outcome = channel.send(message).await;
        assert_eq!(outcome, SendOutcome::Delivered { provider_id: format!("2.0.0 Ok: queued as {attempt}") });
    }
    let mails = server.mails();
    assert_eq!(mails.len(), 2);
    for mail in &mails {
        assert_eq!(mail["from"], "from@a.example");
        assert_eq!(mail["to"], json!(["to@b.example"]));
        assert_eq!(header(mail, "From"), ["Reminders <from@a.example>"]);
        assert_eq!(header(mail, "To"), ["to@b.example"]);
        assert_eq!(header(mail, "Subject"), ["Erinnerung: Prüfung ✓ “today”"]);
        assert_eq!(header(mail, "Message-ID"), ["<msg-7@a.example>"]);
        assert_eq!(header(mail, "Auto-Submitted"), ["auto-generated"]);
        let text = mail["parts"][0]["text"].as_str().unwrap();
        assert_eq!(text.trim_end(), "Grüße,\r\n.\r\n..dots\r\nFrom here\r\nend");
        assert_eq!(mail["defects"], json!([]));
    }
    assert_eq!(header(&mails[0], "Date"), ["Tue, 03 Nov 2026 08:31:00 +0000"]);
    assert_eq!(header(&mails[1], "Date"), ["Tue, 03 Nov 2026 08:32:00 +0000"]);
    assert_eq!(mails[1]["connections"], 1, "the connection is used again");
}

#[tokio::test]
async fn text_html_and_files_go_along() {
    let server = Server::start("plain").await;
    let channel = server.channel(json!({}));
    let file = |name: &str, media_type: &str, content: &[u8]| Attachment {
        file_name: name.to_owned(),
        media_type: media_type.to_owned(),
        content: content.to_vec(),
        content_id: None,
    };
    let html = Outgoing { html: Some("<p>Grüße</p>".to_owned()), ..mail("a@b.example") };
    let files = vec![
        file("bericht ü.csv", "text/csv", b"a,b\r\n1,2\r\n"),
        file("r.pdf", "application/pdf", &[0, 255, 13, 10, 46]),
    ];
    channel.send(html.clone()).await;
    channel.send(Outgoing { attachments: files.clone(), ..html }).await;
    channel.send(Outgoing { attachments: files.clone(), ..mail("a@b.example") }).await;
    let picture = Attachment {
        content_id: Some("chart@report".to_owned()),
        ..file("chart.png", "image/png", &[137, 80])
    };
    let with_picture = Outgoing {
        html: Some("<img src=\"cid:chart@report\">".to_owned()),
        attachments: vec![files[0].clone(), picture],
        ..mail("a@b.example")
    };
    channel.send(with_picture).await;

    let mails = server.mails();
    let types = |mail: &Value| -> Vec<String> {
        mail["parts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| part["type"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(mails[0]["type"], "multipart/alternative");
    assert_eq!(types(&mails[0]), ["text/plain", "text/html"]);
    assert_eq!(mails[0]["parts"][1]["text"], "<p>Grüße</p>");
    assert_eq!(mails[1]["type"], "multipart/mixed");
    assert_eq!(types(&mails[1]), ["text/plain", "text/html", "text/csv", "application/pdf"]);
    assert_eq!(mails[1]["parts"][2]["fileName"], "bericht ü.csv");
    assert_eq!(mails[1]["parts"][2]["disposition"], "attachment");
    assert_eq!(mails[1]["parts"][3]["hex"], "00ff0d0a2e");
    assert_eq!(types(&mails[2]), ["text/plain", "text/csv", "application/pdf"]);
    // The picture belongs to the HTML, the file to the mail.
    assert_eq!(types(&mails[3]), ["text/plain", "text/html", "image/png", "text/csv"]);
    assert_eq!(mails[3]["parts"][2]["disposition"], "inline");
    assert_eq!(mails[3]["parts"][2]["contentId"], "<chart@report>");
    assert_eq!(mails[3]["parts"][3]["disposition"], "attachment");
}

#[tokio::test]
async fn a_mail_of_a_topic_says_where_to_unsubscribe_with_one_click() {
    let server = Server::start("plain").await;
    let channel = server.channel(json!({}));
    let link = format!(
        "https://punctual.example/p/{}.{}",
        "eyJhIjoiYW5uQGV4YW1wbGUub3JnIn0".repeat(5),
        "x".repeat(43)
    );
    channel.send(mail("a@b.example")).await;
    channel.send(Outgoing { unsubscribe: Some(link.clone()), ..mail("a@b.example") }).await;
    let mails = server.mails();
    assert_eq!(header(&mails[0], "List-Unsubscribe"), [""; 0]);
    assert_eq!(header(&mails[1], "List-Unsubscribe"), [format!("<{link}>")]);
    assert_eq!(header(&mails[1], "List-Unsubscribe-Post"), ["List-Unsubscribe=One-Click"]);
    assert_eq!(mails[1]["defects"], json!([]));
    let odd = Outgoing { unsubscribe: Some("https://x.example/>\r\nBcc: y".into()), ..mail("a@b.example") };
    assert!(matches!(channel.send(odd).await, SendOutcome::Permanent { .. }));
}

#[tokio::test]
async fn t09_a_header_cannot_be_split() {
    let server = Server::start("plain").await;
    let channel = server.channel(json!({}));
    let attached = |name: &str, media_type: &str| {
        vec![Attachment {
            file_name: name.to_owned(),
            media_type: media_type.to_owned(),
            content: Vec::new(),
            content_id: None,
        }]
    };
    for (message, expected) in [
        (Outgoing { subject: "a\r\nBcc: x@y.example".to_owned(), ..mail("a@b.example") }, "subject-invalid"),
        (Outgoing { subject: "a\nb".to_owned(), ..mail("a@b.example") }, "subject-invalid"),
        (Outgoing { subject: "a\0b".to_owned(), ..mail("a@b.example") }, "subject-invalid"),
        (mail("a@b.example\r\nRCPT TO:<x@y.example>"), "address-invalid"),
        (mail("a@b.example>\nDATA"), "address-invalid"),
        (mail("a\0@b.example"), "address-invalid"),
        (mail("a b@b.example"), "address-invalid"),
        (mail("nobody"), "address-invalid"),
        (mail(""), "address-invalid"),
        (
            Outgoing { attachments: attached("a\r\nX: y", "text/csv"), ..mail("a@b.example") },
            "attachment-invalid",
        ),
        (
            Outgoing { attachments: attached("a.csv", "text/csv\r\nX: y"), ..mail("a@b.example") },
            "attachment-invalid",
        ),
        (
            Outgoing { attachments: attached("a.exe", "application/x-msdownload"), ..mail("a@b.example") },
            "attachment-invalid",
        ),
        (
            Outgoing { attachments: attached("../a.csv", "text/csv"), ..mail("a@b.example") },
            "attachment-invalid",
        ),
    ] {
        let outcome = channel.send(message.clone()).await;
        let SendOutcome::Permanent { reason, .. } = outcome else { panic!("{message:?} gave {outcome:?}") };
        assert_eq!(reason.as_str(), expected, "{message:?}");
    }
    let odd_id = Outgoing { message_id: "x>\r\nBcc: x@y.example".to_owned(), ..mail("a@b.example") };
    assert!(matches!(channel.send(odd_id).await, SendOutcome::Delivered { .. }));
    let mails = server.mails();
    assert_eq!(mails.len(), 1);
    assert_eq!(header(&mails[0], "Bcc"), Vec::<&str>::new());
}

#[tokio::test]
async fn replies_of_the_relay_decide_and_the_connection_survives_a_refusal() {
    let server = Server::start("plain").await;
    let channel = server.channel(json!({}));
    for (to, expected) in [
        ("rcpt-451@b.example", "transient"),
        ("rcpt-450@b.example", "transient"),
        ("rcpt-550@b.example", "mailbox-unavailable"),
        ("rcpt-552@b.example", "mailbox-full"),
        ("data-451@b.example", "transient"),
        ("data-452@b.example", "transient"),
        ("data-554@b.example", "rejected-by-relay"),
        ("rcpt-421@b.example", "transient"),
        ("fine@b.example", "delivered"),
    ] {
        let outcome = channel.send(mail(to)).await;
        let word = match &outcome {
            SendOutcome::Delivered { .. } => "delivered",
            SendOutcome::Transient { error, .. } => {
                assert!(error.ends_with("answered on request"), "{error}");
                "transient"
            }
            SendOutcome::Permanent { reason, .. } => reason.as_str(),
            SendOutcome::Uncertain { .. } => "uncertain",
        };
        assert_eq!(word, expected, "{to}: {outcome:?}");
    }
    assert_eq!(server.mails().len(), 1);
}

#[tokio::test]
async fn r11_a_loss_before_the_dot_is_transient_and_after_it_uncertain() {
    let server = Server::start("plain").await;
    let channel = server.channel(json!({}));
    let before = channel.send(mail("drop-at-rcpt@b.example")).await;
    assert!(matches!(before, SendOutcome::Transient { .. }), "{before:?}");
    let after = channel.send(mail("drop-after-dot@b.example")).await;
    assert!(matches!(after, SendOutcome::Uncertain { .. }), "{after:?}");
    let impatient = server.channel(json!({"timeoutSeconds": 3}));
    let hanging = impatient.send(mail("hang-after-dot@b.example")).await;
    assert_eq!(hanging, SendOutcome::Uncertain { error: "no answer within 3 s".to_owned() });
    assert!(matches!(channel.send(mail("fine@b.example")).await, SendOutcome::Delivered { .. }));
    assert_eq!(server.mails().len(), 3, "the server had taken both");
}

#[tokio::test]
async fn a_relay_that_is_not_there_or_says_nothing_is_transient() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let settings =
        json!({"host": "127.0.0.1", "port": port, "tls": "none", "from": "a@b.example", "timeoutSeconds": 1});
    let channel = SmtpAdapter::new(open_guard(), test_trust()).open(&settings).unwrap();
    let silent = channel.send(mail("a@b.example")).await;
    assert!(matches!(silent, SendOutcome::Transient { .. }), "{silent:?}");
    drop(listener);
    let gone = channel.send(mail("a@b.example")).await;
    assert!(matches!(gone, SendOutcome::Transient { .. }), "{gone:?}");
}

#[tokio::test]
async fn t09_tls_is_used_as_asked_and_certificates_are_checked() {
    for (mode, tls) in [("starttls", "starttls"), ("starttls", "required"), ("implicit", "implicit")] {
        let server = Server::start(mode).await;
        for host in ["127.0.0.1", "localhost"] {
            let outcome = server.channel(json!({"tls": tls, "host": host})).send(mail("a@b.example")).await;
            assert!(matches!(outcome, SendOutcome::Delivered { .. }), "{mode} {tls} {host}: {outcome:?}");
        }
        assert!(server.mails().iter().all(|mail| mail["tls"] == true));

        let strangers = SmtpAdapter::new(open_guard(), Trust::platform());
        let outcome = server.channel_of(&strangers, json!({"tls": tls})).send(mail("a@b.example")).await;
        let SendOutcome::Permanent { reason, error } = outcome else { panic!("{mode}: {outcome:?}") };
        assert_eq!(reason.as_str(), "certificate-invalid");
        assert!(error.contains("certificate is not accepted"), "{error}");
    }
    let elsewhere = Server::start("elsewhere").await;
    let outcome = elsewhere.channel(json!({"tls": "required"})).send(mail("a@b.example")).await;
    assert!(
        matches!(&outcome, SendOutcome::Permanent { reason, .. } if reason.as_str() == "certificate-invalid"),
        "{outcome:?}"
    );
    assert!(elsewhere.mails().is_empty());
}

#[tokio::test]
async fn t09_required_tls_never_falls_back_to_plain_text() {
    let server = Server::start("plain").await;
    for tls in ["required", "starttls"] {
        let outcome = server.channel(json!({"tls": tls})).send(mail("a@b.example")).await;
        assert!(
            matches!(&outcome, SendOutcome::Permanent { reason, .. } if reason.as_str() == "tls-not-offered"),
            "{outcome:?}"
        );
    }
    assert!(server.mails().is_empty());
}

#[tokio::test]
async fn a_password_signs_in_and_a_wrong_one_is_permanent() {
    let server = Server::start("auth").await;
    let good = json!({"tls": "starttls", "username": "ana", "password": "pass word"});
    let outcome = server.channel(good).send(mail("a@b.example")).await;
    assert!(matches!(outcome, SendOutcome::Delivered { .. }), "{outcome:?}");
    assert_eq!(server.mails()[0]["login"], "ana");
    for (settings, expected) in [
        (json!({"tls": "starttls", "username": "ana", "password": "wrong"}), "smtp-auth-failed"),
        (json!({"tls": "starttls"}), "smtp-auth-required"),
    ] {
        let outcome = server.channel(settings).send(mail("a@b.example")).await;
        let SendOutcome::Permanent { reason, error } = outcome else { panic!("{outcome:?}") };
        assert_eq!(reason.as_str(), expected);
        assert!(!error.contains("wrong"), "{error}");
    }
}

#[tokio::test]
async fn many_mails_at_once_each_arrive_once() {
    let server = Server::start("plain").await;
    let channel = server.channel(json!({}));
    let sends = (0..50).map(|n| channel.send(mail(&format!("to{n}@b.example"))));
    for outcome in futures_util::future::join_all(sends).await {
        assert!(matches!(outcome, SendOutcome::Delivered { .. }), "{outcome:?}");
    }
    let mut to: Vec<String> =
        server.mails().iter().map(|mail| mail["to"][0].as_str().unwrap().to_owned()).collect();
    to.sort();
    to.dedup();
    assert_eq!(to.len(), 50);
}

/// The final dot is a write of its own. Without `TCP_NODELAY` it waits for the acknowledgement of the write before it,
/// which the peer delays by 40 ms, every time. The option cannot be seen from outside, so a time is compared: that of
/// the fastest of the last ten mails, which a busy machine does not bring near those 40 ms.
#[tokio::test]
async fn no_mail_waits_for_an_acknowledgement_of_the_network() {
    let modes = [
        Behaviour::default(),
        Behaviour { starttls: true, ..Behaviour::default() },
        Behaviour { implicit: true, ..Behaviour::default() },
    ];
    for behaviour in modes {
        let sink = Sink::start(behaviour).await;
        let channel = sink.channel();
        let mut times = Vec::new();
        for n in 0..20 {
            let started = now();
            let outcome = channel.send(mail(&format!("to{n}@b.example"))).await;
            times.push(started.elapsed());
            assert!(matches!(outcome, SendOutcome::Delivered { .. }), "{outcome:?}");
        }
        let fastest = times[10..].iter().min().unwrap();
        assert!(*fastest < Duration::from_millis(25), "{times:?}");
        assert_eq!((sink.mails(), sink.connections()), (20, 1));
    }
}

#[expect(clippy::disallowed_methods, reason = "how long a real peer takes is measured")]
fn now() -> Instant {
    Instant::now()
}

#[tokio::test]
async fn a_connection_that_was_just_used_is_not_tested_and_an_older_one_is() {
    let sink = Sink::start(Behaviour::default()).await;
    let channel = sink.channel();
    let later = |seconds| Outgoing { at: crate::at() + Duration::from_secs(seconds), ..mail("a@b.example") };
    for (message, expected) in [
        (later(0), vec!["EHLO", "EHLO", "MAIL", "RCPT", "DATA"]),
        (later(1), vec!["MAIL", "RCPT", "DATA"]),
        (later(3), vec!["NOOP", "MAIL", "RCPT", "DATA"]),
    ] {
        assert!(matches!(channel.send(message).await, SendOutcome::Delivered { .. }));
        assert_eq!(sink.commands(), expected);
    }
}

#[tokio::test]
async fn a_kept_connection_that_the_relay_closed_costs_no_attempt() {
    let sink = Sink::start(Behaviour { closes_after: Some(1), ..Behaviour::default() }).await;
    let channel = sink.channel();
    for _ in 0..3 {
        let outcome = channel.send(mail("a@b.example")).await;
        assert!(matches!(outcome, SendOutcome::Delivered { .. }), "{outcome:?}");
    }
    assert_eq!((sink.mails(), sink.connections()), (3, 3));
}

/// This relay answers MAIL and RCPT only when DATA has come: who waits for each answer waits for ever.
#[tokio::test]
async fn sender_recipient_and_data_are_one_write_where_the_relay_pipelines() {
    for starttls in [false, true] {
        let sink = Sink::start(Behaviour { pipelines: true, starttls, ..Behaviour::default() }).await;
        let channel = sink.channel();
        for to in ["a@b.example", "refused@b.example", "c@b.example"] {
            let outcome = channel.send(mail(to)).await;
            match to {
                "refused@b.example" => assert!(
                    matches!(&outcome, SendOutcome::Permanent { reason, .. } if reason.as_str() == "mailbox-unavailable"),
                    "{outcome:?}"
                ),
                _ => assert!(matches!(outcome, SendOutcome::Delivered { .. }), "{outcome:?}"),
            }
        }
        assert_eq!((sink.mails(), sink.connections()), (2, 1), "a refusal leaves the connection in order");
    }
}

#[tokio::test]
async fn r11_no_content_follows_a_refused_recipient() {
    let sink =
        Sink::start(Behaviour { pipelines: true, takes_data_from_nobody: true, ..Behaviour::default() })
            .await;
    let channel = sink.channel();
    let outcome = channel.send(mail("refused@b.example")).await;
    assert!(matches!(outcome, SendOutcome::Permanent { .. }), "{outcome:?}");
    assert!(matches!(channel.send(mail("a@b.example")).await, SendOutcome::Delivered { .. }));
    // The relay waited for content on the first one.
    assert_eq!((sink.mails(), sink.connections()), (1, 2));
}

/// A relay that does not know the sender must not look like one that does not know the recipient: who is not there gets no
/// mail any more.
#[tokio::test]
async fn a_refused_sender_says_nothing_of_the_recipient() {
    for pipelines in [false, true] {
        for said in
            ["550 sender domain does not exist", "553 5.1.8 who are you", "552 no room", "521 not here"]
        {
            let sink =
                Sink::start(Behaviour { pipelines, refuses_senders: Some(said), ..Behaviour::default() })
                    .await;
            let outcome = sink.channel().send(mail("a@b.example")).await;
            assert!(
                matches!(&outcome, SendOutcome::Permanent { reason, error }
                    if reason.as_str() == "rejected-by-relay" && error == said),
                "{outcome:?}"
            );
        }
    }
}

/// What is not understood as a yes would be sent once more.
#[tokio::test]
async fn r11_a_yes_is_understood_in_every_form_that_relays_give_it() {
    for taken in [&b"250\r\n"[..], b"250-2.0.0\r\n250\r\n", b"250 \xfcbernommen\r\n", b"250 taken\n"] {
        for implicit in [false, true] {
            let sink = Sink::start(Behaviour { implicit, taken: Some(taken), ..Behaviour::default() }).await;
            let outcome = sink.channel().send(mail("a@b.example")).await;
            assert!(matches!(outcome, SendOutcome::Delivered { .. }), "{taken:?}: {outcome:?}");
            assert_eq!((sink.mails(), sink.connections()), (1, 1));
        }
    }
}

#[tokio::test]
async fn t07_the_guard_applies_to_relays_too() {
    let server = Server::start("plain").await;
    let strict = SmtpAdapter::new(Guard::new(AllowList::default()), Trust::platform());
    for host in ["127.0.0.1", "localhost", "2130706433"] {
        let outcome = server.channel_of(&strict, json!({"host": host})).send(mail("a@b.example")).await;
        assert!(
            matches!(&outcome, SendOutcome::Permanent { reason, .. } if reason.as_str() == "host-forbidden"),
            "{host}: {outcome:?}"
        );
    }
    assert!(server.mails().is_empty());
}

#[test]
fn every_fault_of_the_settings_is_named() {
    let adapter = SmtpAdapter::new(Guard::new(AllowList::default()), Trust::platform());
    let faults = |settings: Value| -> HashMap<String, &str> {
        adapter.check(&settings).into_iter().map(|fault| (fault.pointer, fault.code)).collect()
    };
    let one = |pointer: &str, code: &'static str| HashMap::from([(pointer.to_owned(), code)]);
    let good =
        json!({"host": "mail.example", "port": 25, "tls": "none", "username": null, "from": "a@b.example"});
    let with = |name: &str, value: Value| {
        let mut settings = good.clone();
        settings[name] = value;
        settings
    };
    assert!(faults(good.clone()).is_empty());
    assert!(faults(with("from", json!("Ana Ü <a@b.example>"))).is_empty());
    assert_eq!(
        faults(with("from", json!("a@b.example\r\nBcc: x@y.example"))),
        one("/from", "address_invalid")
    );
    assert_eq!(faults(with("from", json!("nobody"))), one("/from", "address_invalid"));
    assert_eq!(faults(with("port", json!(0))), one("/port", "out_of_range"));
    assert_eq!(faults(with("port", json!("25"))), one("/port", "wrong_type"));
    assert_eq!(faults(with("tls", json!("maybe"))), one("/tls", "out_of_range"));
    assert_eq!(faults(with("host", json!("mail.example/x"))), one("/host", "host_invalid"));
    assert_eq!(faults(with("host", json!("mail.example:25"))), one("/host", "host_invalid"));
    assert!(faults(with("host", json!("2001:4860::8888"))).is_empty());
    assert_eq!(faults(with("hosst", json!("x"))), one("/hosst", "unknown_field"));
    assert_eq!(faults(with("timeoutSeconds", json!(601))), one("/timeoutSeconds", "out_of_range"));
    assert_eq!(faults(with("password", json!("x"))), one("/username", "missing_field"));
    let mut password = with("password", json!("env:MAIL_PASSWORD"));
    password["username"] = json!("ana");
    assert_eq!(faults(password.clone()), one("/tls", "out_of_range"));
    password["tls"] = json!("required");
    assert!(faults(password).is_empty());
    let missing =
        HashMap::from([("/host".to_owned(), "missing_field"), ("/from".to_owned(), "missing_field")]);
    assert_eq!(faults(json!({})), missing);
    assert_eq!(faults(json!("x")), one("", "wrong_type"));
    assert_eq!(adapter.secret_fields(), ["password", "ca"]);
    assert_eq!(adapter.open(&json!({})).err().unwrap().code, "missing_field");
}

#[test]
fn an_address_is_checked_when_it_is_saved() {
    let adapter = SmtpAdapter::new(Guard::new(AllowList::default()), Trust::platform());
    for good in ["a@b.example", "first.last+tag@sub.b.example", "ü@bücher.example", "a@[127.0.0.1]"] {
        assert!(adapter.check_address(good).is_ok(), "{good}");
    }
    let long = format!("{}@b.example", "x".repeat(300));
    for bad in [
        "",
        "a",
        "@b.example",
        "a@",
        "a@b@c.example",
        "a b@c.example",
        "a@b.example\n",
        "Ana <a@b.example>",
        &long,
    ] {
        assert!(adapter.check_address(bad).is_err(), "{bad}");
    }
}

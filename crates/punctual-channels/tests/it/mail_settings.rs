//! What relays and their administrators look at: the greeting, the headers a message brings, a company's own authority, and
//! hosts that must not be called.

use std::{io, net::SocketAddr, sync::Arc};

use futures_util::future::BoxFuture;
use punctual_channels::{
    AllowList, Guard, NatsAdapter, SmtpAdapter, Trust, WebhookAdapter, consumer_adapters, guard::Lookup,
};
use punctual_model::{Adapter, Envelope, Outgoing, SendOutcome};
use serde_json::{Value, json};

use crate::{CA, open_guard, outgoing, smtp_peer::Server, test_trust};

fn mail(to: &str) -> Outgoing {
    outgoing("email:default", to)
}

fn header(mail: &Value, name: &str) -> Vec<String> {
    let headers = mail["headers"].as_array().unwrap();
    let values = headers.iter().filter(|header| header[0].as_str().unwrap().eq_ignore_ascii_case(name));
    values.map(|header| header[1].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn t09_headers_of_a_message_go_along_and_never_split() {
    let server = Server::start("plain").await;
    let channel = server.channel(json!({}));
    let with = |headers: &[(&str, &str)]| Outgoing {
        envelope: Envelope {
            reply_to: Some("desk@c.example".to_owned()),
            headers: headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
            ..Envelope::default()
        },
        ..mail("a@b.example")
    };
    let good = [("X-Ticket", "42"), ("In-Reply-To", "<1@b.example>"), ("Auto-Submitted", "no")];
    assert!(matches!(channel.send(with(&good)).await, SendOutcome::Delivered { .. }));
    let sent = &server.mails()[0];
    assert_eq!(header(sent, "X-Ticket"), ["42"]);
    assert_eq!(header(sent, "In-Reply-To"), ["<1@b.example>"]);
    assert_eq!(header(sent, "Auto-Submitted"), ["no"], "the message's own word replaces the usual one");
    assert_eq!(header(sent, "Reply-To"), ["desk@c.example"]);
    assert_eq!(sent["defects"], json!([]));
    // What was stored otherwise is not sent, whoever stored it.
    for bad in [("Bcc", "x@y.example"), ("X-A", "a\r\nBcc: x@y.example"), ("X-A\r\nBcc", "x")] {
        let outcome = channel.send(with(&[bad])).await;
        let SendOutcome::Permanent { reason, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!(reason.as_str(), "header-invalid");
    }
    assert_eq!(server.mails().len(), 1);
}

#[tokio::test]
async fn answers_go_where_the_message_or_else_the_channel_says() {
    let server = Server::start("plain").await;
    let with = |reply_to: Option<&str>| Outgoing {
        envelope: Envelope { reply_to: reply_to.map(str::to_owned), ..Envelope::default() },
        ..mail("a@b.example")
    };
    let named = server.channel(json!({"replyTo": "The desk <desk@a.example>"}));
    named.send(with(None)).await;
    named.send(with(Some("ann@a.example"))).await;
    server.channel(json!({})).send(with(None)).await;
    let replies: Vec<_> = server.mails().iter().map(|mail| header(mail, "Reply-To")).collect();
    assert_eq!(replies, [vec!["The desk <desk@a.example>"], vec!["ann@a.example"], vec![]]);
    let settings = json!({"host": "relay.example", "from": "a@b.example", "replyTo": "nobody"});
    let faults = SmtpAdapter::new(open_guard(), test_trust()).check(&settings);
    assert_eq!((faults[0].pointer.as_str(), faults[0].code), ("/replyTo", "address_invalid"));
}

#[tokio::test]
async fn a_relay_is_greeted_with_a_full_name() {
    let server = Server::start("plain").await;
    for (changes, expected) in [
        (json!({}), "a.example"),
        (json!({"helo": "mail.example.org"}), "mail.example.org"),
        (json!({"from": "a@bücher.example"}), "xn--bcher-kva.example"),
    ] {
        server.channel(changes).send(mail("a@b.example")).await;
        assert_eq!(server.mails().last().unwrap()["hello"], expected);
    }
    server.channel(json!({"from": "a@localhost"})).send(mail("a@b.example")).await;
    let hello = server.mails().last().unwrap()["hello"].as_str().unwrap().to_owned();
    assert!(hello.contains('.'), "never a bare host: {hello}");
    let adapter = SmtpAdapter::new(open_guard(), test_trust());
    let settings = json!({"host": "relay.example", "from": "a@b.example", "helo": "bare"});
    let faults = adapter.check(&settings);
    assert_eq!((faults[0].pointer.as_str(), faults[0].code), ("/helo", "host_invalid"));
}

#[tokio::test]
async fn a_companys_own_authority_is_trusted_by_its_channel_alone() {
    for (mode, tls) in [("starttls", "starttls"), ("implicit", "implicit")] {
        let server = Server::start(mode).await;
        let adapter = SmtpAdapter::new(open_guard(), Trust::platform());
        let ca = std::str::from_utf8(CA).unwrap();
        let trusting = server.channel_of(&adapter, json!({"tls": tls, "ca": ca}));
        let outcome = trusting.send(mail("a@b.example")).await;
        assert!(matches!(outcome, SendOutcome::Delivered { .. }), "{mode}: {outcome:?}");
        let outcome = server.channel_of(&adapter, json!({"tls": tls})).send(mail("a@b.example")).await;
        assert!(matches!(outcome, SendOutcome::Permanent { .. }), "{mode}: {outcome:?}");
    }
    let adapter = SmtpAdapter::new(open_guard(), Trust::platform());
    let settings = |ca: &str| json!({"host": "relay.example", "from": "a@b.example", "ca": ca});
    assert_eq!(adapter.check(&settings("file:company-ca")), []);
    assert_eq!(adapter.check(&settings("no certificate"))[0].pointer, "/ca");
    assert!(adapter.open(&settings("no certificate")).is_err());
}

struct Internal;

impl Lookup for Internal {
    fn lookup(&self, host: String, port: u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move {
            match host.as_str() {
                "mail.internal" | "bus.internal" => Ok(vec![SocketAddr::from(([10, 1, 2, 3], port))]),
                "both.example" => {
                    Ok(vec![SocketAddr::from(([10, 1, 2, 3], port)), SocketAddr::from(([8, 8, 8, 8], port))])
                }
                _ => Err(io::Error::other("no such name")),
            }
        })
    }
}

#[tokio::test]
async fn t07_a_relay_that_would_be_refused_is_refused_when_it_is_saved() {
    let faults = async |allow: &str, host: &str| {
        let guard = Guard::with_lookup(allow.parse::<AllowList>().unwrap(), Arc::new(Internal));
        let adapter = SmtpAdapter::new(guard, test_trust());
        adapter.check_destination(&json!({"host": host, "port": 25, "from": "a@b.example"})).await
    };
    for (host, address) in
        [("mail.internal", "10.1.2.3:25"), ("127.0.0.1", "127.0.0.1:25"), ("::1", "[::1]:25")]
    {
        let found = faults("", host).await;
        let [fault] = &found[..] else { panic!("{host}: {found:?}") };
        assert_eq!((fault.pointer.as_str(), fault.code), ("/host", "url_forbidden"));
        // What a name resolves to is in the log of the server alone.
        let is_named = host == "mail.internal";
        assert!(fault.detail.contains("--outgoing-allow"), "{}", fault.detail);
        assert_eq!(fault.detail.contains(address), !is_named, "{}", fault.detail);
        assert!(!fault.detail.contains("10.1."), "{}", fault.detail);
        assert_eq!(faults(address, host).await, [], "allowed, it is taken");
    }
    assert_eq!(faults("", "both.example").await, [], "one address that may be called is enough");
    assert_eq!(faults("", "later.example").await, [], "a name may be there later");
}

#[tokio::test]
async fn t07_a_webhook_or_broker_that_would_be_refused_is_refused_when_it_is_saved() {
    let guard = |allow: &str| Guard::with_lookup(allow.parse::<AllowList>().unwrap(), Arc::new(Internal));
    let webhook = json!({"url": "https://bus.internal/in", "secret": "env:HOOK"});
    let broker = json!({"url": "tls://bus.internal", "subject": "a.b"});
    let consumer = json!({"url": "tls://bus.internal", "stream": "A", "deadLetterSubject": "a.refused"});
    let faults = async |allow: &str| {
        let (guard, trust) = (guard(allow), test_trust());
        let consumers = consumer_adapters(&guard, &trust);
        let nats = consumers.iter().find(|one| one.name() == "nats").unwrap();
        [
            WebhookAdapter::new(guard.clone(), test_trust()).check_destination(&webhook).await,
            NatsAdapter::new(guard.clone(), test_trust()).check_destination(&broker).await,
            nats.check_destination(&consumer).await,
        ]
    };
    let [webhook_fault, broker_fault, consumer_fault] = faults("").await;
    let hides_the_address = |detail: &str| detail.contains("--outgoing-allow") && !detail.contains("10.1.");
    for found in [webhook_fault, broker_fault, consumer_fault] {
        let [fault] = &found[..] else { panic!("{found:?}") };
        assert_eq!((fault.pointer.as_str(), fault.code), ("/url", "url_forbidden"));
        assert!(hides_the_address(&fault.detail), "{}", fault.detail);
    }
    assert_eq!(faults("10.1.2.3").await, [vec![], vec![], vec![]], "allowed, it is taken");
    // What is not encrypted goes to listed networks alone, whatever its address is.
    let plain = json!({"url": "nats://both.example", "subject": "a.b"});
    let adapter = NatsAdapter::new(guard("10.9.9.9"), test_trust());
    let [fault] = &adapter.check_destination(&plain).await[..] else { panic!("it was accepted") };
    assert!(hides_the_address(&fault.detail), "{}", fault.detail);
    // An address in place of a name is refused before anything is looked up; the caller knows it.
    let written = adapter.check(&json!({"url": "tls://10.0.0.1", "subject": "a.b"}));
    assert_eq!((written[0].pointer.as_str(), written[0].code), ("/url", "url_forbidden"));
    assert!(written[0].detail.contains("--outgoing-allow 10.0.0.1:4222"), "{}", written[0].detail);
}

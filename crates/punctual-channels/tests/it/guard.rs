//! The guard: the table, the allow-list, and look-ups whose answer changes.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::{Arc, Mutex},
};

use futures_util::future::BoxFuture;
use proptest::prelude::*;
use punctual_channels::{
    AllowList, Guard, SmsGatewayAdapter, SmtpAdapter, Trust, WebhookAdapter,
    guard::{Lookup, ResolveFault, check_ip, check_url},
};
use punctual_model::{Adapter, SendOutcome};
use serde_json::json;

use crate::{guard_table::table, outgoing, receiver::Receiver};

#[test]
fn t07_every_url_of_the_table_gets_its_code() {
    let nothing = AllowList::default();
    let table = table();
    assert!(table.len() >= 300, "{}", table.len());
    let mut wrong = Vec::new();
    for (url, expected) in &table {
        let got = check_url(url, &nothing).err().map(|fault| fault.code);
        let fits = match *expected {
            Some("refused") => matches!(got, Some("url_forbidden" | "url_invalid")),
            expected => got == expected,
        };
        if !fits {
            wrong.push(format!("{url}: {got:?} instead of {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), table.len(), wrong.join("\n"));
}

#[test]
fn t07_every_forbidden_address_gets_the_same_text() {
    let texts: std::collections::BTreeSet<String> = table()
        .iter()
        .filter_map(|(url, _)| check_url(url, &AllowList::default()).err())
        .filter(|fault| fault.code == "url_forbidden")
        .map(|fault| fault.detail)
        .collect();
    assert_eq!(texts.len(), 1, "{texts:?}");
}

#[test]
fn t07_an_admin_opens_networks_and_ports() {
    let allow: AllowList = "127.0.0.0/8,10.1.0.0/16:8443,[::1]".parse().unwrap();
    for (url, expected) in [
        ("http://127.0.0.1:39999/x", None),
        ("https://127.0.0.1:1/x", None),
        ("http://localhost:39999/x", None),
        ("http://[::1]:39999/x", None),
        ("https://10.1.2.3:8443/x", None),
        ("https://10.1.2.3/x", Some("url_forbidden")),
        ("https://10.2.2.3:8443/x", Some("url_forbidden")),
        ("http://8.8.8.8/x", Some("url_scheme")),
        ("https://8.8.8.8:1234/x", Some("url_port")),
        ("http://user@127.0.0.1/x", Some("url_userinfo")),
        ("http://2130706433/x", Some("url_forbidden")),
        ("http://0x7f.1/x", Some("url_forbidden")),
        ("http://[::ffff:127.0.0.1]/x", Some("url_forbidden")),
        ("http://169.254.169.254/x", Some("url_forbidden")),
        // Whether these lead to a listed network shows when they are looked up.
        ("http://internal.example:8080/x", None),
    ] {
        assert_eq!(check_url(url, &allow).err().map(|fault| fault.code), expected, "{url}");
    }
    assert!(check_url("http://internal.example:8080/x", &allow).unwrap().listed_only);
    assert!(!check_url("https://public.example/x", &allow).unwrap().listed_only);
}

/// A name server that gives one answer after the other, and the last one for ever.
struct Changing(Mutex<Vec<Vec<IpAddr>>>);

impl Changing {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        let answers = answers.iter().rev().map(|ips| ips.iter().map(|ip| ip.parse().unwrap()).collect());
        Arc::new(Self(Mutex::new(answers.collect())))
    }
}

impl Lookup for Changing {
    fn lookup(&self, _host: String, port: u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        let mut answers = self.0.lock().unwrap();
        let answer = if answers.len() > 1 { answers.pop().unwrap() } else { answers[0].clone() };
        Box::pin(async move { Ok(answer.into_iter().map(|ip| SocketAddr::new(ip, port)).collect()) })
    }
}

#[tokio::test]
async fn t07_only_checked_addresses_are_handed_out() {
    let guard = Guard::with_lookup(
        AllowList::default(),
        Changing::new(&[&["10.0.0.1", "8.8.8.8", "::1"], &["127.0.0.1"], &[]]),
    );
    let addresses = guard.resolve("name.example", 443, false).await.unwrap();
    assert_eq!(addresses, ["8.8.8.8:443".parse().unwrap()]);
    let refused = guard.resolve("name.example", 443, false).await.unwrap_err();
    assert!(matches!(refused, ResolveFault::Refused(_)));
    assert!(!refused.to_string().contains("127.0.0.1"), "{refused}");
    let none = guard.resolve("name.example", 443, false).await.unwrap_err();
    assert!(matches!(none, ResolveFault::NoAnswer { .. }));
}

#[tokio::test]
async fn t07_a_listed_only_target_must_be_listed() {
    let allow: AllowList = "127.0.0.0/8".parse().unwrap();
    let guard = Guard::with_lookup(allow, Changing::new(&[&["8.8.8.8"], &["127.0.0.1", "8.8.8.8"]]));
    assert!(guard.resolve("name.example", 8080, true).await.is_err());
    assert_eq!(guard.resolve("name.example", 8080, true).await.unwrap(), ["127.0.0.1:8080".parse().unwrap()]);
}

/// The first answer is this machine and allowed, all later ones lead to the metadata address: one look-up per
/// connection, and none that could be answered otherwise between check and connect.
#[tokio::test]
async fn t07_an_answer_that_changes_between_look_ups_changes_nothing() {
    let receiver = Receiver::start().await;
    let allow: AllowList = format!("127.0.0.1:{}", receiver.port).parse().unwrap();
    let guard = Guard::with_lookup(allow, Changing::new(&[&["127.0.0.1"], &["169.254.169.254"]]));
    let adapter = WebhookAdapter::new(guard, Trust::platform());
    let settings = json!({"secret": "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX", "timeoutSeconds": 30});
    let url = |path: &str| format!("http://rebind.example:{}{path}", receiver.port);

    let first = adapter.open(&settings).unwrap();
    let outcome = first.send(outgoing("webhook:a", &url("/ok"))).await;
    assert!(matches!(outcome, SendOutcome::Delivered { .. }), "{outcome:?}");
    let second = adapter.open(&settings).unwrap();
    let outcome = second.send(outgoing("webhook:a", &url("/ok"))).await;
    let SendOutcome::Permanent { reason, error } = outcome else { panic!("{outcome:?}") };
    assert_eq!(reason.as_str(), "url-forbidden");
    assert!(!error.contains("169.254"), "{error}");
    assert_eq!(receiver.requests().len(), 1);
}

/// The same for a provider's adapter and for mail, which has a dialogue of its own.
#[tokio::test]
async fn t07_no_adapter_follows_a_name_that_changes_its_answer() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let connections = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = connections.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            drop(stream);
        }
    });
    let made = || connections.load(std::sync::atomic::Ordering::SeqCst);
    let allow: AllowList = format!("127.0.0.1:{port}").parse().unwrap();
    let changing = || {
        Guard::with_lookup(
            allow.clone(),
            Changing::new(&[&["127.0.0.1"], &["169.254.169.254"], &["10.0.0.1"]]),
        )
    };
    let mail = json!({"host": "rebind.example", "port": port, "tls": "none", "from": "a@b.example", "timeoutSeconds": 5});
    let gateway = json!({"url": format!("http://rebind.example:{port}/send"), "timeoutSeconds": 5});
    let adapters: [(Arc<dyn Adapter>, _, _); 2] = [
        (Arc::new(SmtpAdapter::new(changing(), Trust::platform())), mail, "a@b.example"),
        (Arc::new(SmsGatewayAdapter::new(changing(), Trust::platform())), gateway, "+49301234567"),
    ];
    for (adapter, settings, address) in adapters {
        let before = made();
        let first = adapter.open(&settings).unwrap().send(outgoing("email:a", address)).await;
        assert!(!matches!(first, SendOutcome::Delivered { .. } | SendOutcome::Permanent { .. }), "{first:?}");
        let reached = made();
        assert!(reached > before, "{}: the checked address was connected to", adapter.name());
        for _ in 0..2 {
            let outcome = adapter.open(&settings).unwrap().send(outgoing("email:a", address)).await;
            let SendOutcome::Permanent { reason, error } = outcome else { panic!("{outcome:?}") };
            assert!(["url-forbidden", "host-forbidden"].contains(&reason.as_str()), "{reason}");
            assert!(!error.contains("169.254") && !error.contains("10.0.0"), "{error}");
        }
        assert_eq!(made(), reached, "{}: and nothing else was", adapter.name());
    }
}

#[test]
fn t07_no_url_of_the_table_passes_for_a_provider_s() {
    let guard = Guard::new(AllowList::default());
    for (url, _) in table() {
        assert!(guard.check_provider_url(&url, &["twilio.com", "graph.facebook.com"]).is_err(), "{url}");
    }
    for url in [
        "https://twilio.com.example.org/",
        "https://eviltwilio.com/",
        "https://api.twilio.com@evil.example/",
        "https://evil.example/#api.twilio.com",
    ] {
        assert!(guard.check_provider_url(url, &["twilio.com"]).is_err(), "{url}");
    }
    assert!(guard.check_provider_url("https://api.twilio.com", &["twilio.com"]).is_ok());
}

/// A second opinion on what is public, from the standard library's own words.
fn plainly_internal(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => {
            ip.is_loopback()
                || ip.is_private()
                || ip.is_link_local()
                || ip.is_multicast()
                || ip.is_broadcast()
                || ip.is_documentation()
                || ip.is_unspecified()
        }
        IpAddr::V6(ip) => {
            ip.is_loopback()
                || ip.is_unspecified()
                || ip.is_multicast()
                || ip.is_unique_local()
                || ip.is_unicast_link_local()
                || ip.to_ipv4().is_some()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn t07_no_internal_address_passes(v4 in any::<u32>(), v6 in any::<u128>(), prefix in prop_oneof![Just(0_u128), Just(0xfe80), Just(0xfc00), Just(0xfd00), Just(0xff02), Just(0x2002)], port in any::<u16>()) {
        let nothing = AllowList::default();
        let v6 = (v6 >> 16) | (prefix << 112);
        for ip in [IpAddr::V4(Ipv4Addr::from_bits(v4)), IpAddr::V6(Ipv6Addr::from_bits(v6)), IpAddr::V6(Ipv4Addr::from_bits(v4).to_ipv6_mapped())] {
            if plainly_internal(ip) {
                prop_assert!(check_ip(ip, port, &nothing).is_err(), "{ip}");
                let host = match ip { IpAddr::V4(ip) => ip.to_string(), IpAddr::V6(ip) => format!("[{ip}]") };
                let url = format!("https://{host}/");
                prop_assert_eq!(check_url(&url, &nothing).unwrap_err().code, "url_forbidden");
            }
        }
    }

    #[test]
    fn t07_whatever_number_a_host_is_only_plain_public_addresses_pass(bits in any::<u32>(), style in 0..6) {
        let [a, b, c, d] = bits.to_be_bytes();
        let host = match style {
            0 => format!("{bits}"),
            1 => format!("0x{bits:08x}"),
            2 => format!("0{bits:o}"),
            3 => format!("{a}.{}", bits & 0xff_ffff),
            4 => format!("0x{a:x}.{b}.{c}.{d}"),
            _ => format!("{a}.{b}.{c}.{d}"),
        };
        let nothing = AllowList::default();
        if let Ok(checked) = check_url(&format!("https://{host}/"), &nothing) {
            let ip: IpAddr = checked.host.parse().unwrap();
            prop_assert_eq!(&checked.host, &host);
            prop_assert!(check_ip(ip, 443, &nothing).is_ok());
        }
    }

    #[test]
    fn t07_any_text_is_judged_without_panic(text in prop_oneof![any::<String>(), "https?://[\\PC]{0,40}", "https://[0-9a-fx.:@\\[\\]%/]{1,30}"]) {
        if let Ok(checked) = check_url(&text, &AllowList::default()) {
            prop_assert_eq!(checked.url.scheme(), "https");
            prop_assert!(checked.url.username().is_empty() && checked.url.password().is_none());
            prop_assert!([443, 8443].contains(&checked.port));
            if let Ok(ip) = checked.host.parse::<IpAddr>() {
                prop_assert!(!plainly_internal(ip));
            }
        }
    }

    #[test]
    fn t07_a_wrong_allow_list_is_refused_without_panic(text in "[0-9a-f.:,/\\[\\] ]{0,60}") {
        let _ = text.parse::<AllowList>();
    }
}

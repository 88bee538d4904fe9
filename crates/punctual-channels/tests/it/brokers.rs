//! What the tests of the brokers share. The servers are real ones, from `cargo xtask test` or `cargo xtask brokers`.

mod amqp;
mod amqp1;
mod nats;
mod tls_front;

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use punctual_channels::{AllowList, Captured, Guard, Trust, adapters, guard::Lookup};
use punctual_model::{Adapter, Channel, Outgoing, SendOutcome};
use punctual_testkit::Proxy;
use serde_json::{Value, json};

use crate::{open_guard, outgoing, test_trust};

/// Where a server is; nothing is skipped where there is none.
fn server(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| {
        panic!(
            "{variable} is not set: run the tests with `cargo xtask test`, or start the brokers with `cargo xtask \
             brokers` and export what it prints"
        )
    })
}

/// The same server through a proxy: the URL and the proxy.
async fn behind_proxy(url: &str) -> (String, Proxy) {
    let (scheme, address) = url.split_once("://").unwrap();
    let proxy = Proxy::start(address).await;
    (format!("{scheme}://{}", proxy.url.strip_prefix("http://").unwrap()), proxy)
}

/// A name that no other test has, in this run or an earlier one.
fn unique(name: &str) -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("{name}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

fn adapter(name: &str, guard: &Guard, trust: &Trust) -> Arc<dyn Adapter> {
    let all = adapters(guard, trust, &Captured::new());
    all.into_iter().find(|adapter| adapter.name() == name).unwrap()
}

fn open(name: &str, settings: &Value) -> Arc<dyn Channel> {
    adapter(name, &open_guard(), &test_trust()).open(settings).unwrap()
}

/// An answer of a survey as a subscriber gets it.
fn event(message_id: &str) -> Outgoing {
    Outgoing {
        message_id: message_id.to_owned(),
        kind: "event".to_owned(),
        type_data: Some(json!({ "eventType": "response-completed", "instancePublicId": message_id })),
        ..outgoing("event.bus:tickets", "bus:tickets")
    }
}

/// Sends, and never waits much longer than the channel says.
async fn send(channel: &Arc<dyn Channel>, message: Outgoing) -> SendOutcome {
    let limit = channel.timeout() + Duration::from_secs(10);
    let sent = tokio::time::timeout(limit, channel.send(message)).await;
    sent.unwrap_or_else(|_| panic!("nothing came of it within {limit:?}"))
}

#[track_caller]
fn assert_delivered(outcome: &SendOutcome) {
    assert!(matches!(outcome, SendOutcome::Delivered { .. }), "{outcome:?}");
}

/// The error of a failure that may pass, or of one after which nobody knows.
#[track_caller]
fn assert_passing(outcome: &SendOutcome) -> &str {
    match outcome {
        SendOutcome::Transient { error, .. } | SendOutcome::Uncertain { error } => error,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn assert_transient<'o>(outcome: &'o SendOutcome, said: &str) -> &'o str {
    match outcome {
        SendOutcome::Transient { error, .. } if error.contains(said) => error,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn assert_permanent(outcome: &SendOutcome, expected: &str) {
    match outcome {
        SendOutcome::Permanent { reason, error } if reason.as_str() == expected => {
            assert!(!error.contains("-secret"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}

/// A guard that finds every name on this machine, and lets it be reached or not.
fn guard_to_here(allow: &str) -> Guard {
    struct Here;
    impl Lookup for Here {
        fn lookup(&self, _host: String, port: u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
            Box::pin(async move { Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))]) })
        }
    }
    Guard::with_lookup(allow.parse::<AllowList>().unwrap(), Arc::new(Here))
}

/// Settings and the faults that they have, as pointer and code.
#[track_caller]
fn check(name: &str, settings: &Value, expected: &[(&str, &str)]) {
    let guard = Guard::new(AllowList::default());
    let faults = adapter(name, &guard, &test_trust()).check(settings);
    let found: Vec<(&str, &str)> = faults.iter().map(|fault| (fault.pointer.as_str(), fault.code)).collect();
    assert_eq!(found, expected, "{name} {settings}");
}

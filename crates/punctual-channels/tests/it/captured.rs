//! The memory channel and the sandbox's capture share one store.

use std::sync::Arc;

use punctual_channels::{Captured, CapturedChannel, MemoryAdapter, Misbehaviour};
use punctual_model::{Adapter, Channel, ChannelKey, SendOutcome};
use serde_json::json;

use crate::outgoing;

#[tokio::test]
async fn the_memory_channel_keeps_what_it_was_given_in_order() {
    let store = Captured::new();
    let channel = MemoryAdapter::new(Arc::clone(&store)).open(&json!({})).unwrap();
    assert!(channel.permits() >= 1024);
    for n in 1..=3 {
        let outcome = channel.send(outgoing("memory:default", &format!("a{n}"))).await;
        assert_eq!(outcome, SendOutcome::Delivered { provider_id: format!("mem-{n}") });
    }
    let sent = store.sent();
    let addresses: Vec<&str> = sent.iter().map(|sent| sent.address.as_str()).collect();
    assert_eq!(addresses, ["a1", "a2", "a3"]);
    assert_eq!((sent[0].subject.as_str(), sent[0].body.as_str(), sent[0].attempt), ("Subject", "Body", 1));
    assert_eq!(store.sent_since(2).len(), 1);
    store.clear();
    assert_eq!((store.sent().len(), store.count()), (0, 3));
}

#[tokio::test]
async fn a_channel_misbehaves_so_many_times_and_others_do_not() {
    let store = Captured::new();
    let channel = CapturedChannel::new(Arc::clone(&store));
    let email: ChannelKey = "email:default".parse().unwrap();
    for (outcome, kept) in [
        (Misbehaviour::Transient, false),
        (Misbehaviour::Permanent, false),
        (Misbehaviour::LostReply, true),
        (Misbehaviour::Delivered, true),
    ] {
        store.clear();
        store.misbehave(email.clone(), outcome, 2, "451 later");
        for _ in 0..2 {
            let got = channel.send(outgoing("email:default", "a")).await;
            match (outcome, got) {
                (Misbehaviour::Transient, SendOutcome::Transient { error, .. })
                | (Misbehaviour::Permanent, SendOutcome::Permanent { error, .. })
                | (Misbehaviour::LostReply, SendOutcome::Uncertain { error }) => {
                    assert_eq!(error, "451 later")
                }
                (Misbehaviour::Delivered, SendOutcome::Delivered { .. }) => {}
                (asked, got) => panic!("{asked:?} gave {got:?}"),
            }
            let other = channel.send(outgoing("sms:default", "b")).await;
            assert!(matches!(other, SendOutcome::Delivered { .. }));
        }
        assert_eq!(store.sent().len(), if kept { 4 } else { 2 });
        let after = channel.send(outgoing("email:default", "a")).await;
        assert!(matches!(after, SendOutcome::Delivered { .. }), "{outcome:?} did not end");
    }
}

#[test]
fn outcomes_have_the_names_of_the_api() {
    for (word, outcome) in [
        ("delivered", Misbehaviour::Delivered),
        ("transient", Misbehaviour::Transient),
        ("permanent", Misbehaviour::Permanent),
        ("lostReply", Misbehaviour::LostReply),
    ] {
        assert_eq!(word.parse(), Ok(outcome));
    }
    assert!("lost_reply".parse::<Misbehaviour>().is_err());
}

#[test]
fn memory_stays_flat_by_count_and_by_size() {
    let store = Captured::new();
    for _ in 0..60_000 {
        store.take(outgoing("memory:default", "a"));
    }
    assert_eq!((store.sent().len(), store.count()), (10_000, 60_000));
    assert_eq!(store.sent()[0].number, 50_001);
    for _ in 0..10 {
        store.take(punctual_model::Outgoing {
            body: "x".repeat(20_000_000),
            ..outgoing("memory:default", "a")
        });
    }
    assert_eq!(store.sent().len(), 3);
}

#[test]
fn the_memory_adapter_takes_no_settings() {
    let adapter = MemoryAdapter::new(Captured::new());
    assert!(adapter.check(&json!(null)).is_empty());
    assert_eq!(adapter.check(&json!({"x": 1}))[0].code, "unknown_field");
    assert!(adapter.open(&json!(3)).is_err());
    assert!(adapter.check_address("anything").is_ok());
    assert!(adapter.check_address("").is_err());
}

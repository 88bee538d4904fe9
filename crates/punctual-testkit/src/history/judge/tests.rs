//! Each rule catches what it is for, and a good history breaks none.

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + seconds).unwrap()
}

fn asked(key: &str) -> Asked {
    Asked { key: key.into(), targets: vec!["a".into(), "b".into()], not_before: Some(at(1)) }
}

fn call(target: &str, seconds: i64) -> Call {
    Call {
        key: "k".into(),
        target: target.into(),
        message_id: target.into(),
        started_at: at(seconds),
        arrived_at: at(seconds),
    }
}

fn intent(target: &str, seconds: i64) -> StoredAttempt {
    StoredAttempt { target: target.into(), node: "n".into(), started_at: at(seconds), outcome: None }
}

/// One message to two targets, delivered; the call to `a` was repeated after an uncertain one.
fn good() -> History {
    History {
        replies: Replies { acknowledged: vec![asked("k")], unanswered: vec![asked("never stored")] },
        stored: vec![StoredMessage {
            key: "k".into(),
            status: "delivered".into(),
            reason: None,
            uncertain: 1,
            attempts: vec![intent("a", 0), intent("b", 0), intent("a", 10)],
        }],
        received: vec![call("a", 1), call("b", 1), call("a", 11)],
        injected: BTreeMap::new(),
        unsettled: Vec::new(),
        call_within: Some(Duration::from_secs(3)),
    }
}

#[test]
fn a_good_history_holds() {
    let verdict = good().judge();
    assert!(verdict.holds(), "{:?}", verdict.broken());
    assert_eq!((verdict.acknowledged, verdict.repeated, verdict.marked), (1, 1, 1));
}

fn broken(change: impl FnOnce(&mut History), rule: &str) {
    let mut history = good();
    change(&mut history);
    let broken = history.judge().broken();
    assert!(broken.iter().any(|line| line.starts_with(rule)), "{rule}: {broken:?}");
}

#[test]
fn each_rule_catches_what_it_is_for() {
    broken(|history| history.stored.clear(), "lost");
    broken(|history| history.stored[0].status = "parked".into(), "lost");
    broken(|history| history.received.retain(|call| call.target == "a"), "lost");
    broken(
        |history| {
            history.replies.unanswered.append(&mut history.replies.acknowledged);
            history.received.retain(|call| call.target == "a");
        },
        "half there",
    );
    broken(|history| history.replies.acknowledged.clear(), "unknown");
    broken(|history| history.stored.push(history.stored[0].clone()), "stored twice");
    broken(|history| history.stored[0].uncertain = 0, "repeated without a mark");
    broken(|history| drop(history.stored[0].attempts.pop()), "called without an intent");
    broken(|history| history.received[2].message_id = "other".into(), "sent with another id");
    // The second call of `a` belongs to its second intent; a third one has only the first left.
    broken(|history| history.received[0].started_at = at(12), "called after the lease");
    broken(|history| history.received[0].arrived_at = at(0), "received before its time");
    broken(|history| history.unsettled.push("k".into()), "not at its end");
}

//! Retries follow the written policy, and the limits apply to any input.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

/// The seconds until each of the first attempts; none where the policy gives up.
fn waits(policy: RetryPolicy, failures: u32) -> Vec<Option<i64>> {
    (1..=failures)
        .map(|failure| match policy.next(failure, NOW, 0.0, None) {
            NextAttempt::At(at) => Some(at.as_second()),
            NextAttempt::GiveUp => None,
        })
        .collect()
}

#[test]
fn r12_the_ladder_is_5_minutes_15_minutes_1_hour_then_hold() {
    assert_eq!(waits(RetryPolicy::Ladder, 5), [Some(300), Some(900), Some(3600), None, None]);
    assert_eq!(waits(RetryPolicy::Daily, 5), [Some(300), Some(900), Some(3600), Some(86_400), Some(86_400)]);
    assert!(matches!(RetryPolicy::Daily.next(u32::MAX, NOW, 0.0, None), NextAttempt::At(_)));
}

#[test]
fn r12_max_counts_the_attempts_after_the_first() {
    assert_eq!(waits(RetryPolicy::default(), 4), [Some(60), Some(60), Some(60), None]);
    assert_eq!(waits(RetryPolicy::Fixed { interval: HOUR, max: 0 }, 1), [None]);
    let doubling =
        RetryPolicy::Exponential { first: MINUTE, factor: 2, cap: 5 * MINUTE, max: 5, jitter_percent: 0 };
    assert_eq!(waits(doubling, 6), [Some(60), Some(120), Some(240), Some(300), Some(300), None]);
    // Nothing has failed yet: as if the first had.
    assert_eq!(RetryPolicy::Ladder.next(0, NOW, 0.0, None), RetryPolicy::Ladder.next(1, NOW, 0.0, None));
}

#[test]
fn r12_mail_is_retried_longer_than_greylisting_lasts() {
    let mail = RetryPolicy::of_channel("email:default");
    assert_eq!(waits(mail, 6), [Some(60), Some(300), Some(900), Some(3_600), Some(14_400), None]);
    for other in ["sms:default", "webhook:email", "emails:x"] {
        assert_eq!(RetryPolicy::of_channel(other), RetryPolicy::default());
    }
}

#[test]
fn waits_are_named_one_by_one() {
    let written = json!({"policy": "steps", "afterSeconds": [60, 300]});
    let policy = RetryPolicy::from_json(&written).unwrap();
    assert_eq!((waits(policy.clone(), 3), policy.to_json()), (vec![Some(60), Some(300), None], written));
    for wrong in [json!([]), json!([0]), json!([60, "x"]), json!(60), json!(vec![1; 101]), json!([604_801])] {
        let faults = RetryPolicy::from_json(&json!({"policy": "steps", "afterSeconds": wrong})).unwrap_err();
        assert_eq!((faults.len(), faults[0].pointer.as_str()), (1, "/afterSeconds"), "{wrong}");
    }
    let faults = RetryPolicy::from_json(&json!({"policy": "steps", "max": 3})).unwrap_err();
    assert_eq!(faults.len(), 2, "{faults:?}");
}

#[test]
fn r12_retry_after_is_honoured_up_to_its_cap_and_never_hurries() {
    let next =
        |retry_after: u64| RetryPolicy::default().next(1, NOW, 0.0, Some(Duration::from_secs(retry_after)));
    assert_eq!(next(0), NextAttempt::At(Timestamp::from_second(60).unwrap()));
    assert_eq!(next(59), NextAttempt::At(Timestamp::from_second(60).unwrap()));
    assert_eq!(next(300), NextAttempt::At(Timestamp::from_second(300).unwrap()));
    assert_eq!(next(u64::MAX), NextAttempt::At(Timestamp::from_second(86_400).unwrap()));
    assert_eq!(RetryPolicy::Ladder.next(4, NOW, 0.0, Some(HOUR)), NextAttempt::GiveUp);
}

#[test]
fn r12_the_end_of_time_is_not_passed() {
    let next = RetryPolicy::Ladder.next(1, Timestamp::MAX, 0.0, None);
    assert_eq!(next, NextAttempt::At(Timestamp::MAX));
    let huge = RetryPolicy::Exponential {
        first: Duration::MAX,
        factor: u32::MAX,
        cap: Duration::MAX,
        max: 9,
        jitter_percent: 255,
    };
    for unit in [0.0, 0.5, 1.0, f64::NAN, f64::INFINITY, -1.0] {
        assert!(matches!(huge.next(9, NOW, unit, Some(Duration::MAX)), NextAttempt::At(_)));
    }
}

#[test]
fn a_policy_is_read_with_its_defaults() {
    let exponential = |first, cap| RetryPolicy::Exponential {
        first: Duration::from_secs(first),
        factor: 2,
        cap: Duration::from_secs(cap),
        max: 3,
        jitter_percent: 20,
    };
    for (value, policy) in [
        (json!({}), RetryPolicy::default()),
        (json!({"policy": "fixed", "max": 3, "intervalSeconds": 60}), RetryPolicy::default()),
        (
            json!({"max": 0, "intervalSeconds": 1}),
            RetryPolicy::Fixed { interval: Duration::from_secs(1), max: 0 },
        ),
        (json!({"policy": "exponential"}), exponential(60, 3600)),
        (json!({"policy": "exponential", "intervalSeconds": 7200}), exponential(7200, 7200)),
        (json!({"policy": "exponential", "intervalSeconds": 5, "capSeconds": 90}), exponential(5, 90)),
    ] {
        assert_eq!(RetryPolicy::from_json(&policy.to_json()), Ok(policy.clone()));
        assert_eq!(RetryPolicy::from_json(&value), Ok(policy), "{value}");
    }
    assert_eq!(RetryPolicy::Ladder.to_json(), json!({"policy": "ladder"}));
    assert_eq!(RetryPolicy::Daily.to_json(), json!({"policy": "daily"}));
}

#[test]
fn every_fault_of_a_policy_is_named() {
    let check = |value: Value, expected: &[(&str, &str)]| {
        let faults = RetryPolicy::from_json(&value).unwrap_err();
        let found: Vec<_> = faults.iter().map(|fault| (fault.pointer.as_str(), fault.code)).collect();
        assert_eq!(found, expected, "{value}");
    };
    check(json!(null), &[("", "wrong_type")]);
    check(json!([]), &[("", "wrong_type")]);
    check(json!({"policy": "ladder"}), &[("/policy", "out_of_range")]);
    check(json!({"policy": 1, "max": -1}), &[("/policy", "wrong_type"), ("/max", "out_of_range")]);
    check(json!({"max": 101}), &[("/max", "out_of_range")]);
    check(json!({"max": 1.5}), &[("/max", "out_of_range")]);
    check(json!({"max": "3"}), &[("/max", "wrong_type")]);
    check(json!({"intervalSeconds": 0}), &[("/intervalSeconds", "out_of_range")]);
    check(json!({"intervalSeconds": 604_801}), &[("/intervalSeconds", "out_of_range")]);
    check(json!({"a/b": 1}), &[("/a~1b", "unknown_field")]);
    check(json!({"factor": 2}), &[("/factor", "unknown_field")]);
    check(
        json!({"policy": "exponential", "factor": 11, "capSeconds": 1, "jitterPercent": 101}),
        &[("/capSeconds", "out_of_range"), ("/factor", "out_of_range"), ("/jitterPercent", "out_of_range")],
    );
    let faults = RetryPolicy::from_json(&json!({"policy": "exponental"})).unwrap_err();
    assert_eq!(faults[0].detail, "`exponental` is no retry policy: did you mean `exponential`?");
    let faults = RetryPolicy::from_json(&json!({"interval": 5, "intervalSecond": 5})).unwrap_err();
    assert!(faults.iter().any(|fault| fault.detail.contains("`intervalSeconds`")));
}

fn any_policy() -> impl Strategy<Value = RetryPolicy> {
    let seconds = || (1..=604_800u64).prop_map(Duration::from_secs);
    prop_oneof![
        Just(RetryPolicy::Ladder),
        Just(RetryPolicy::Daily),
        (seconds(), 0..=100u32).prop_map(|(interval, max)| RetryPolicy::Fixed { interval, max }),
        (seconds(), 1..=10u32, seconds(), 0..=100u32, 0..=100u8).prop_map(
            |(first, factor, cap, max, jitter_percent)| {
                RetryPolicy::Exponential { first, factor, cap: cap.max(first), max, jitter_percent }
            }
        ),
        prop::collection::vec(1..604_800u64, 1..=100)
            .prop_map(|waits| RetryPolicy::Steps(waits.into_iter().map(Duration::from_secs).collect())),
    ]
}

proptest! {
    #[test]
    fn r12_a_try_is_never_earlier_than_now_or_than_asked(
        policy in any_policy(),
        failures in 1..200u32,
        now in -1_000_000_000..4_000_000_000i64,
        unit in 0.0..1.0f64,
        retry_after in prop::option::of(any::<u64>()),
    ) {
        let now = Timestamp::from_second(now).unwrap();
        let retry_after = retry_after.map(Duration::from_secs);
        let own = policy.next(failures, now, unit, None);
        let next = policy.next(failures, now, unit, retry_after);
        match (own, next) {
            (NextAttempt::At(own), NextAttempt::At(at)) => {
                prop_assert!(at >= own && own >= now);
                let asked = retry_after.unwrap_or_default().min(RETRY_AFTER_CAP);
                prop_assert!(at >= now + asked);
                prop_assert!(at == own || at == now + asked);
            }
            (own, next) => prop_assert_eq!(own, next),
        }
    }

    #[test]
    fn r12_jitter_stays_in_its_band_and_the_cap_holds(
        first in 1..100_000u64,
        factor in 1..=10u32,
        cap in 1..604_800u64,
        jitter_percent in 0..=100u8,
        failure in 1..=100u32,
        unit: f64,
    ) {
        let cap = Duration::from_secs(cap);
        let policy = RetryPolicy::Exponential { first: Duration::from_secs(first), factor, cap, max: 100, jitter_percent };
        let full = (first as f64 * f64::from(factor).powi(failure as i32 - 1)).min(cap.as_secs_f64());
        let NextAttempt::At(at) = policy.next(failure, NOW, unit, None) else { panic!("not used up") };
        let waited = at.duration_since(NOW).as_secs_f64();
        let least = full * (1.0 - f64::from(jitter_percent) / 100.0);
        prop_assert!(waited <= full + 1e-6 && waited >= least - 1e-6, "{waited} is not in {least}..={full}");
    }

    #[test]
    fn r12_attempts_end_after_max(policy in any_policy(), unit in 0.0..1.0f64) {
        let attempts = (1..300).take_while(|failure| policy.next(*failure, NOW, unit, None) != NextAttempt::GiveUp).count();
        prop_assert_eq!(attempts, match policy {
            RetryPolicy::Ladder => 3,
            RetryPolicy::Daily => 299,
            RetryPolicy::Steps(waits) => waits.len(),
            RetryPolicy::Fixed { max, .. } | RetryPolicy::Exponential { max, .. } => max as usize,
        });
    }

    #[test]
    fn a_written_policy_reads_back(policy in any_policy()) {
        let written = RetryPolicy::from_json(&policy.to_json());
        match policy {
            RetryPolicy::Ladder | RetryPolicy::Daily => prop_assert!(written.is_err()),
            _ => prop_assert_eq!(written, Ok(policy)),
        }
    }
}

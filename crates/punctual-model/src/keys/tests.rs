//! The bytes of every key format, and the proof that escaping keeps keys apart.

use std::collections::HashMap;

use jiff::civil::date;
use proptest::prelude::*;

use super::{escape::parse_compact, *};

fn instant(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[test]
fn r01_every_format_is_frozen_byte_for_byte() {
    let guid = "8f14e45f-ceea-467f-a0e6-0242ac120002";
    let date_key = WorkKey::reminder_date("s1", "document", "d42", "first-aid-expiry", date(2026, 5, 14), 30);
    let cases = [
        (date_key.clone(), "reminder:s1:document:d42:first-aid-expiry:2026-05-14:30"),
        (
            WorkKey::reminder_date("s1", "document", "d42", "t", date(2026, 5, 14), -3),
            "reminder:s1:document:d42:t:2026-05-14:-3",
        ),
        (
            WorkKey::reminder_threshold(
                "s1",
                "vehicle",
                "v7",
                "km",
                "mileage",
                "15000",
                "OncePerDay",
                "all@2026-05-14",
            ),
            "reminder:s1:vehicle:v7:km:threshold:mileage:15000:OncePerDay:all@2026-05-14",
        ),
        (
            WorkKey::reminder_occurrence("s1", "class", "c3", "weekly", "recurring", date(2026, 5, 14)),
            "reminder:s1:class:c3:weekly:recurring:2026-05-14",
        ),
        (
            WorkKey::report_scheduled(guid, instant("2026-05-14T07:12:34+02:00")),
            "report-subscription:8f14e45f-ceea-467f-a0e6-0242ac120002:scheduled:20260514T051234Z",
        ),
        (
            WorkKey::report_manual(guid, "run-1"),
            "report-subscription:8f14e45f-ceea-467f-a0e6-0242ac120002:manual:run-1",
        ),
        (WorkKey::survey_send("AbC123", 2), "survey:AbC123:send:2"),
        (WorkKey::survey_expire("AbC123"), "survey:AbC123:expire"),
        (WorkKey::operations("r9", "start@20260514T051234Z"), "operations:r9:start@20260514T051234Z"),
        (WorkKey::message("m1"), "message:m1"),
        (WorkKey::schedule("tenant/1 nightly"), "schedule:tenant/1 nightly"),
        (
            WorkKey::support_retry(&date_key.unwrap(), 1),
            "reminder:s1:document:d42:first-aid-expiry:2026-05-14:30:support-retry:1",
        ),
        (WorkKey::message("a:b%c\u{1f}\u{85}é"), "message:a%3Ab%25c%1F%C2%85é"),
        (WorkKey::message(""), "message:"),
    ];
    for (key, text) in cases {
        let key = key.unwrap();
        assert_eq!(key.as_str(), text);
        assert_eq!(serde_json::to_value(&key).unwrap(), text);
        assert_eq!(WorkKey::parse(text).unwrap(), key);
        assert_ne!(key.parts(), KeyParts::Other, "{text}");
        assert_eq!(key.parts().to_key(), Some(Ok(key)));
    }
}

#[test]
fn instants_are_compact_and_never_look_alike() {
    for (at, text) in [
        ("2026-05-14T05:12:34Z", "20260514T051234Z"),
        ("2026-05-14T05:12:34.5Z", "20260514T051234.5Z"),
        ("0099-01-02T00:00:00Z", "00990102T000000Z"),
        ("-000044-03-15T12:00:00Z", "-00440315T120000Z"),
    ] {
        assert_eq!(compact(instant(at)), text);
        assert_eq!(parse_compact(text), Some(instant(at)));
    }
    for at in [Timestamp::MIN, Timestamp::MAX] {
        assert_eq!(parse_compact(&compact(at)), Some(at));
    }
    for text in [
        "",
        "Z",
        "TZ",
        "20260230T000000Z",
        "20260514T051234",
        "2026-05-14T05:12:34Z",
        "20260514T2512345Z",
        "+0260514T051234Z",
        "２0260514T051234Z",
    ] {
        assert_eq!(parse_compact(text), None, "{text}");
    }
}

#[test]
fn a_key_has_1_to_512_bytes_and_no_control_characters() {
    assert_eq!(WorkKey::parse(""), Err(KeyError::Empty));
    assert!(WorkKey::parse(&"k".repeat(512)).is_ok());
    let too_long = |key| match key {
        Err(KeyError::TooLong { bytes, digest }) => (bytes, digest.len()),
        other => panic!("{other:?} is not too long"),
    };
    assert_eq!(too_long(WorkKey::parse(&"k".repeat(513))), (513, 24));
    assert_eq!(too_long(WorkKey::message(&":".repeat(200))), (608, 24));
    for (text, message) in [
        ("a\nb", "a key has no control characters; there is '\\n' at byte 1, to be written as `%0A`"),
        (
            "\u{85}",
            "a key has no control characters; there is '\\u{85}' at byte 0, to be written as `%C2%85`",
        ),
    ] {
        let error = WorkKey::parse(text).unwrap_err();
        assert_eq!(error.code(), "key_invalid");
        assert_eq!(error.to_string(), message);
    }
    assert!(serde_json::from_str::<WorkKey>(r#""a\u0000b""#).is_err());
    assert_eq!(serde_json::from_str::<WorkKey>(r#""message:1""#).unwrap(), WorkKey::message("1").unwrap());
}

#[test]
fn a_text_that_no_constructor_writes_has_no_parts() {
    for text in [
        "x",
        "message",
        "message:%41",
        "message:%3a",
        "message:%",
        "message:%zz",
        "message:%FF",
        "message:a:b",
        "survey:a:send:01",
        "survey:a:send:+1",
        "reminder:a:b:c:d:20260514:1",
        "reminder:a:b:c:d:2026-02-30:1",
        "report-subscription:g:scheduled:2026-05-14T05:12:34Z",
        "report-subscription:g:scheduled:20260514T051234.50Z",
    ] {
        assert_eq!(WorkKey::parse(text).unwrap().parts(), KeyParts::Other, "{text}");
    }
}

#[test]
fn a_part_that_reads_like_another_format_stays_a_part() {
    let key = WorkKey::operations("support-retry", "1").unwrap();
    assert_eq!(key.parts(), KeyParts::Operations { rule_id: "support-retry".into(), occurrence: "1".into() });
    let first = WorkKey::support_retry(&key, 1).unwrap();
    let second = WorkKey::support_retry(&first, 2).unwrap();
    assert_eq!(second.parts(), KeyParts::SupportRetry { of: first.clone(), n: 2 });
    assert_eq!(first.parts(), KeyParts::SupportRetry { of: key, n: 1 });
}

/// A small generator of numbers, so that a hundred thousand cases stay quick and repeat exactly.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % sides
    }

    /// A short text out of what is most likely to be mixed up.
    fn part(&mut self) -> String {
        const PIECES: [&str; 14] = [
            "",
            "a",
            "b",
            ":",
            "%",
            "%3A",
            "\\",
            "\u{1f}",
            "=",
            "é",
            "threshold",
            "recurring",
            "support-retry",
            "1",
        ];
        (0..self.roll(3)).map(|_| PIECES[self.roll(PIECES.len())]).collect()
    }

    fn date(&mut self) -> Date {
        date(2026, 1, 1 + self.roll(3) as i8)
    }

    fn number(&mut self) -> i64 {
        self.roll(4) as i64 - 1
    }

    fn parts(&mut self) -> KeyParts {
        match self.roll(15) {
            0 => KeyParts::ReminderDate {
                setting: self.part(),
                source_type: self.part(),
                source: self.part(),
                trigger_key: self.part(),
                target_date: self.date(),
                offset_days: self.number(),
            },
            1 => KeyParts::ReminderThreshold {
                setting: self.part(),
                source_type: self.part(),
                source: self.part(),
                trigger_key: self.part(),
                metric_key: self.part(),
                threshold_value: self.part(),
                firing_policy: self.part(),
                scope_key: self.part(),
            },
            2 => KeyParts::ReminderOccurrence {
                setting: self.part(),
                source_type: self.part(),
                source: self.part(),
                trigger_key: self.part(),
                kind: if self.roll(2) == 0 { self.part() } else { self.date().to_string() },
                occurrence: self.date(),
            },
            3 => {
                let period_start = Timestamp::from_millisecond(self.roll(8) as i64 * 500).unwrap();
                KeyParts::ReportScheduled { guid: self.part(), period_start }
            }
            4 => KeyParts::ReportManual { guid: self.part(), manual_run: self.part() },
            5 => KeyParts::SurveySend { public_id: self.part(), ordinal: self.number() },
            6 => KeyParts::SurveyExpire { public_id: self.part() },
            7 => KeyParts::Operations { rule_id: self.part(), occurrence: self.part() },
            8 => KeyParts::Message { id: self.part() },
            9 => KeyParts::Schedule { key: self.part() },
            10 => KeyParts::ReminderTooLong { setting: self.part(), digest: self.part() },
            11 => KeyParts::ReminderChange { of: self.part(), id: self.part(), mark: self.part() },
            12 => {
                let at = Timestamp::from_millisecond(self.roll(8) as i64 * 500).unwrap();
                KeyParts::Reconcile { provider: self.part(), at }
            }
            13 => {
                let business_unit = (self.roll(2) == 1).then(|| self.part());
                KeyParts::Digest { person: self.part(), local_date: self.part(), business_unit }
            }
            _ => {
                let of = self.parts().to_key().unwrap().unwrap();
                KeyParts::SupportRetry { of, n: self.number() }
            }
        }
    }
}

#[test]
fn r01_a_hundred_thousand_keys_do_not_collide_and_give_their_parts_back() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut seen: HashMap<WorkKey, KeyParts> = HashMap::new();
    let mut met_again = 0;
    for _ in 0..100_000 {
        let parts = dice.parts();
        let Some(Ok(key)) = parts.to_key() else { panic!("{parts:?} makes no key") };
        assert_eq!(key.parts(), parts, "{key}");
        match seen.get(&key) {
            Some(before) => {
                assert_eq!(*before, parts, "two things share {key}");
                met_again += 1;
            }
            None => {
                seen.insert(key, parts);
            }
        }
    }
    // Both halves of the promise were put to the test.
    assert!(met_again > 10_000 && seen.len() > 10_000, "{met_again} repeats, {} keys", seen.len());
}

#[test]
fn r01_the_worked_example_has_its_golden_hash() {
    let pairs = [
        ("templateId", "4523"),
        ("recipient.address", "+964 770 000 0001"),
        ("candidate.dealerId", "1"),
        ("candidate.wip", "40956"),
    ];
    assert_eq!(
        dedup_text(&pairs),
        "templateId=4523\u{1f}recipient.address=+964 770 000 0001\u{1f}candidate.dealerId=1\u{1f}candidate.wip=40956"
    );
    let hex: String = dedup_hash(&pairs).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, "6383108901bdd1b187b55f88d5c3ddce0670dfe24a066f34655538f1d4564efa");
}

#[test]
fn r01_a_dedup_value_cannot_be_taken_for_another_slot() {
    assert_eq!(escape_part("a\\b\u{1f}c=d"), "a\\\\b\\\u{1f}c=d");
    let texts = [
        dedup_text(&[("a", "1\u{1f}b=2"), ("b", "")]),
        dedup_text(&[("a", "1"), ("b", "2\u{1f}b=")]),
        dedup_text(&[("a", "1"), ("b", "2"), ("b", "")]),
        dedup_text(&[("a", "")]),
        dedup_text(&[("b", "")]),
        dedup_text(&[("a=b", "")]),
        dedup_text(&[("a", "b=")]),
        dedup_text::<&str, &str>(&[]),
        dedup_text(&[("", "")]),
    ];
    let different: std::collections::HashSet<_> = texts.iter().collect();
    assert_eq!(different.len(), texts.len());
}

#[test]
fn r01_a_hundred_thousand_dedup_texts_do_not_collide() {
    let mut dice = Dice(0x0123_4567_89ab_cdef);
    let mut seen: HashMap<String, Vec<(String, String)>> = HashMap::new();
    for _ in 0..100_000 {
        let pairs: Vec<_> = (0..dice.roll(3)).map(|_| (dice.part(), dice.part())).collect();
        let text = dedup_text(&pairs);
        let first = seen.entry(text).or_insert_with(|| pairs.clone());
        assert_eq!(*first, pairs);
    }
    assert!(seen.len() > 10_000);
}

proptest! {
    #[test]
    fn r01_any_two_lists_of_parts_share_a_key_only_if_equal(a in any::<(String, String)>(), b in any::<(String, String)>()) {
        let make = |(rule, occurrence): &(String, String)| WorkKey::operations(rule, occurrence);
        if let (Ok(one), Ok(other)) = (make(&a), make(&b)) {
            prop_assert_eq!(one == other, a == b);
            prop_assert_eq!(one.parts(), KeyParts::Operations { rule_id: a.0, occurrence: a.1 });
        }
    }

    #[test]
    fn any_text_is_refused_or_read_without_loss(text in "\\PC{0,40}|(message|survey|reminder|schedule)(:[a-z%0-9A-F-]{0,6}){0,9}") {
        if let Ok(key) = WorkKey::parse(&text) {
            prop_assert_eq!(key.as_str(), &text);
            if let Some(made) = key.parts().to_key() {
                prop_assert_eq!(made, Ok(key));
            }
        }
    }

    #[test]
    fn instants_in_keys_read_back(nanoseconds in Timestamp::MIN.as_nanosecond()..=Timestamp::MAX.as_nanosecond()) {
        let at = Timestamp::from_nanosecond(nanoseconds).unwrap();
        prop_assert_eq!(parse_compact(&compact(at)), Some(at));
    }
}

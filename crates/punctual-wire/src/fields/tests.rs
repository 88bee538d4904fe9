use serde_json::json;

use super::*;

/// Reads with `read` and expects exactly these faults, as `pointer code: part of the detail`.
#[track_caller]
fn check<T>(value: Value, read: impl FnOnce(&mut Fields<'_>) -> T, expected: &[&str]) {
    let mut fields = Fields::new(&value, "/items/0");
    read(&mut fields);
    let faults = fields.finish().err().unwrap_or_default();
    assert_eq!(faults.len(), expected.len(), "{faults:?}");
    for (fault, expected) in faults.iter().zip(expected) {
        let (place, detail) = expected.split_once(": ").unwrap();
        let pointer = fault.pointer.strip_prefix("/items/0").unwrap();
        assert_eq!(format!("{pointer} {}", fault.code), place);
        assert!(fault.detail.contains(detail), "{:?} lacks {detail:?}", fault.detail);
    }
}

#[test]
fn a_missing_field_is_named_with_what_it_takes() {
    check(
        json!({}),
        |f| f.required_text("a", 1..=9),
        &["/a missing_field: `a` is missing; it takes text of 1 to 9 bytes."],
    );
    check(
        json!({"a": null}),
        |f| f.required_text("a", 0..=9),
        &["/a missing_field: text of at most 9 bytes"],
    );
    check(json!({}), |f| f.required_int("a", 1..=9), &["/a missing_field: a whole number from 1 to 9"]);
    check(
        json!({}),
        |f| f.instant("a"),
        &["/a missing_field: an instant such as `2026-05-14T09:00:00+02:00`"],
    );
    check(json!({}), |f| f.required_object("a", 10), &["/a missing_field: an object of at most 10 bytes"]);
    check(json!({}), |f| f.required_array("a", 1..=3).len(), &["/a missing_field: an array of 1 to 3 items"]);
    check(json!({}), |f| f.required_entries("a", 1..=3).is_some(), &["/a missing_field: 1 to 3 entries"]);
    check(
        json!({}),
        |f| f.required_texts("a", 1..=3, 1..=3),
        &["/a missing_field: an array of 1 to 3 texts"],
    );
    check(json!({}), |f| f.required_zone("a"), &["/a missing_field: `Europe/Berlin`"]);
    check(json!({}), |f| f.required_subject("a"), &["/a missing_field: text of 1 to 998"]);
    check(json!({}), |f| f.required_name("a"), &["/a missing_field: text of 1 to 128"]);
    check(
        json!({}),
        |f| f.required_choice("a", &[("x", 1), ("y", 2)]),
        &["/a missing_field: it takes `x`, `y`."],
    );
    check(
        json!({}),
        |f| f.one_of("a", "b"),
        &["/a missing_field: Give either `a` or `b`; neither was given."],
    );
}

#[test]
fn an_absent_optional_field_is_no_fault() {
    check(json!({"a": null}), |f| assert_eq!(f.optional_text("a", 1..=9), None), &[]);
    check(json!({}), |f| assert!(f.bool("a", true) && !f.bool("b", false)), &[]);
    check(
        json!({}),
        |f| assert_eq!((f.optional_int("a", 1..=2), f.optional_instant("b")), (None, None)),
        &[],
    );
    check(json!({}), |f| assert_eq!((f.object("a", 9), f.nested("b", |_| ())), (None, None)), &[]);
}

#[test]
fn a_wrong_type_is_named_with_what_was_found() {
    check(
        json!({"a": 1}),
        |f| f.required_text("a", 1..=9),
        &["/a wrong_type: `a` takes text; it is a number."],
    );
    check(json!({"a": []}), |f| f.optional_text("a", 1..=9), &["/a wrong_type: an array"]);
    check(
        json!({"a": "1"}),
        |f| f.optional_int("a", 1..=9),
        &["/a wrong_type: `a` takes a whole number; it is text."],
    );
    check(json!({"a": 1.5}), |f| f.optional_int("a", 1..=9), &["/a wrong_type: a whole number"]);
    check(json!({"a": "true"}), |f| f.optional_bool("a"), &["/a wrong_type: `true` or `false`; it is text."]);
    check(json!({"a": 17}), |f| f.instant("a"), &["/a wrong_type: an instant as text"]);
    check(json!({"a": []}), |f| f.object("a", 9), &["/a wrong_type: an object; it is an array."]);
    check(
        json!({"a": {}}),
        |f| f.array("a", 0..=9).is_some(),
        &["/a wrong_type: an array; it is an object."],
    );
    check(json!({"a": true}), |f| f.entries("a", 0..=9).is_some(), &["/a wrong_type: a boolean"]);
    check(
        json!({"a": 1}),
        |f| f.nested("a", |f| f.required_text("b", 1..=9)),
        &["/a wrong_type: Expected an object, found a number."],
    );
    check(
        json!({"a": ["x", 2]}),
        |f| f.optional_texts("a", 0..=9, 1..=9),
        &["/a/1 wrong_type: Expected text, found a number."],
    );
    check(
        json!([1]),
        |f| (f.required_text("a", 1..=9), f.one_of("b", "c")),
        &[" wrong_type: Expected an object, found an array."],
    );
}

#[test]
fn a_value_out_of_range_is_named_with_the_range() {
    check(
        json!({"a": ""}),
        |f| f.required_text("a", 1..=9),
        &["/a out_of_range: text of 1 to 9 bytes; it has 0."],
    );
    check(json!({"a": "ääääää"}), |f| f.optional_text("a", 1..=9), &["/a out_of_range: it has 12."]);
    check(
        json!({"a": 10}),
        |f| f.optional_int("a", 1..=9),
        &["/a out_of_range: a whole number from 1 to 9."],
    );
    check(json!({"a": u64::MAX}), |f| f.optional_int("a", 0..=i64::MAX), &["/a out_of_range: whole number"]);
    check(
        json!({"a": "z"}),
        |f| f.optional_choice("a", &[("x", 1), ("y", 2)]),
        &["/a out_of_range: `z` is not possible; `a` takes `x`, `y`."],
    );
    check(
        json!({"a": {"b": "0123456789"}}),
        |f| f.object("a", 17),
        &["/a out_of_range: at most 17 bytes of JSON; it has 18."],
    );
    check(
        json!({"a": [1, 2]}),
        |f| f.array("a", 1..=1).is_some(),
        &["/a out_of_range: 1 to 1 items; it has 2."],
    );
    check(
        json!({"a": ["", "x"]}),
        |f| f.optional_texts("a", 0..=9, 1..=9),
        &["/a/0 out_of_range: it has 0."],
    );
    check(json!({"a": 7.0}), |f| assert_eq!(f.optional_int("a", 1..=9), Some(7)), &[]);
}

#[test]
fn keys_names_and_subjects_have_their_own_codes() {
    check(json!({"a": "x\ny"}), |f| f.required_subject("a"), &["/a subject_invalid: one line"]);
    check(json!({"a": "x\u{2028}y"}), |f| f.optional_subject("a"), &["/a subject_invalid: one line"]);
    check(json!({"a": "x".repeat(999)}), |f| f.optional_subject("a"), &["/a out_of_range: it has 999."]);
    check(
        json!({"a": "k".repeat(513)}),
        |f| f.optional_key("a"),
        &["/a key_invalid: it has 513 bytes of at most 512."],
    );
    check(json!({"a": "k\u{1}"}), |f| f.optional_key("a"), &["/a key_invalid: control character"]);
    check(json!({"a": ""}), |f| f.optional_name("a"), &["/a key_invalid: it is empty"]);
    check(json!({"a": "Email"}), |f| f.optional_channel("a"), &["/a key_invalid: such as `email:default`"]);
    check(json!({"a": "a:b:c"}), |f| f.optional_channel("a"), &["/a key_invalid: `type:name`"]);
    check(json!({"a": "english!"}), |f| f.optional_locale("a"), &["/a key_invalid: such as `en` or `ar-IQ`"]);
    check(json!({"a": "123"}), |f| f.optional_guid("a"), &["/a key_invalid: an id is a GUID"]);
    check(
        json!({"a": "email:x", "b": "zh-Hant-TW"}),
        |f| (f.optional_channel("a"), f.optional_locale("b")),
        &[],
    );
}

#[test]
fn instants_dates_and_zones_have_their_own_codes() {
    check(
        json!({"a": "2026-05-14T09:00:00"}),
        |f| f.instant("a"),
        &["/a time_no_offset: write `2026-05-14T09:00:00+02:00`"],
    );
    check(
        json!({"a": "2026-02-30T09:00:00Z"}),
        |f| f.instant("a"),
        &["/a date_invalid: does not exist on the calendar"],
    );
    check(json!({"a": "soon"}), |f| f.optional_instant("a"), &["/a date_invalid: RFC 3339"]);
    check(json!({"a": "2026-02-30"}), |f| f.optional_date("a"), &["/a date_invalid: write `2026-05-14`"]);
    check(
        json!({"a": "Europe/Berlim"}),
        |f| f.required_zone("a"),
        &["/a zone_unknown: did you mean `Europe/Berlin`"],
    );
    check(json!({"a": "Auckland"}), |f| f.required_zone("a"), &["/a zone_unknown: `Pacific/Auckland`"]);
    check(json!({"a": "Middle-earth"}), |f| f.optional_zone("a"), &["/a zone_unknown: IANA"]);
    check(json!({"a": "pacific/auckland"}), |f| assert_eq!(f.required_zone("a"), "Pacific/Auckland"), &[]);
    check(json!({"a": "UTC"}), |f| assert_eq!(f.required_zone("a"), "UTC"), &[]);
}

#[test]
fn an_unknown_field_is_named_with_the_nearest_known() {
    let read = |f: &mut Fields<'_>| {
        f.required_text("topic", 1..=9);
        f.optional_instant("runAt");
        f.nested("retry", |f| {
            f.optional_int("intervalSeconds", 1..=9);
        });
    };
    check(json!({"topic": "t", "run_at": 1}), read, &["/run_at unknown_field: did you mean `runAt`?"]);
    check(
        json!({"topic": "t", "colour/s": 1}),
        read,
        &["/colour~1s unknown_field: known are `topic`, `runAt`, `retry`."],
    );
    check(
        json!({"topic": "t", "retry": {"interval_seconds": 1}}),
        read,
        &["/retry/interval_seconds unknown_field: `intervalSeconds`?"],
    );
    check(json!("x"), read, &[" wrong_type: Expected an object"]);
}

#[test]
fn two_fields_can_exclude_each_other() {
    check(json!({"a": 1, "b": 2}), |f| f.one_of("a", "b"), &["/b field_conflict: both were given"]);
    check(json!({"a": 1, "b": null}), |f| f.one_of("a", "b"), &[]);
}

#[test]
fn all_faults_of_an_object_are_collected_up_to_a_bound() {
    let read = |f: &mut Fields<'_>| {
        f.required_text("topic", 1..=9);
        f.instant("runAt");
        f.nested("retry", |f| f.required_int("max", 0..=9));
    };
    let expected = ["/topic missing_field: ", "/runAt date_invalid: ", "/retry/max out_of_range: "];
    check(json!({"runAt": "x", "retry": {"max": -1}}), read, &expected);

    let texts = json!({"a": vec![1; 1_000]});
    let mut fields = Fields::new(&texts, "");
    fields.optional_texts("a", 0..=1_000, 0..=1);
    assert_eq!(fields.finish().unwrap_err().len(), FAULTS_MAX);
}

#[test]
fn a_query_writes_numbers_and_booleans_as_text() {
    let parameters = [("limit", "20"), ("stuck", "true"), ("q", "a"), ("q", "b"), ("n", "x"), ("nul", "\0")];
    let query = query_object(parameters.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let mut fields = Fields::query(&query);
    assert_eq!(fields.optional_int("limit", 1..=200), Some(20));
    assert_eq!(fields.optional_bool("stuck"), Some(true));
    assert_eq!(fields.optional_text("q", 1..=9).as_deref(), Some("a"));
    fields.optional_int("n", 1..=2);
    fields.optional_text("nul", 1..=2);
    let faults = fields.finish().unwrap_err();
    let found: Vec<_> = faults.iter().map(|fault| (fault.pointer.as_str(), fault.code)).collect();
    assert_eq!(found, [("/n", Code::WrongType), ("/nul", Code::TextInvalid)]);
}

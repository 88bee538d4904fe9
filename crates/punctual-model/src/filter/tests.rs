//! The operators on each kind of value, the faults, and the laws that hold for every filter.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn filter(value: &Value) -> Filter {
    Filter::parse(value).unwrap_or_else(|faults| panic!("{value}: {faults:?}"))
}

fn matches(filter: &Filter, data: &Value) -> bool {
    filter.matches(&|path| data.get(path).map(Cow::Borrowed))
}

fn holds(op: &str, value: Value, data: Value) -> bool {
    let test = match op {
        "exists" | "notExists" => json!({"questionId": "q", "op": op}),
        _ => json!({"questionId": "q", "op": op, "value": value}),
    };
    matches(&filter(&test), &data)
}

#[test]
fn operators_compare_numbers_as_numbers_and_the_rest_as_texts() {
    for (found, op, value, expected) in [
        (json!("GR"), "==", json!("GR"), true),
        (json!("PM"), "==", json!("GR"), false),
        (json!("gr"), "==", json!("GR"), false),
        (json!(7), "==", json!("7"), true),
        (json!("7.0"), "==", json!(7), true),
        (json!("007"), "==", json!(7), false),
        (json!("+964"), "==", json!(964), false),
        (json!("10"), ">", json!("9"), true),
        (json!("10a"), ">", json!("9"), false),
        (json!(9007199254740993_u64), "==", json!("9007199254740992"), false),
        (json!(0.1), "<=", json!("0.10"), true),
        (json!(5), "<", json!(5), false),
        (json!(5), ">=", json!(5), true),
        (json!("2026-05-14"), "<", json!("2026-06-01"), true),
        (json!(true), "==", json!(true), true),
        (json!(true), "==", json!("true"), true),
        (json!(true), "==", json!(1), false),
        (json!("a"), "!=", json!("b"), true),
        (json!("b"), "in", json!(["a", "b"]), true),
        (json!(2), "in", json!(["1", "2"]), true),
        (json!("c"), "in", json!(["a", "b"]), false),
        (json!("c"), "in", json!([]), false),
        (json!("c"), "notIn", json!([]), true),
        (json!("b"), "notIn", json!(["a", "b"]), false),
        (json!("complaint"), "contains", json!("plain"), true),
        (json!(1234), "contains", json!(23), true),
        (json!(["a", "7"]), "contains", json!(7), true),
        (json!(["ab"]), "contains", json!("a"), false),
        (json!([null, ["a"]]), "contains", json!("a"), false),
        (json!("abc"), "startsWith", json!("ab"), true),
        (json!("abc"), "endsWith", json!("bc"), true),
        (json!("abc"), "endsWith", json!("ab"), false),
        (json!(["a"]), "==", json!("a"), false),
        (json!(["a"]), "!=", json!("a"), true),
        (json!({"a": 1}), "in", json!(["a"]), false),
        (json!({"a": 1}), "startsWith", json!("{"), false),
        (json!(""), "exists", json!(null), true),
        (json!([]), "notExists", json!(null), false),
    ] {
        assert_eq!(holds(op, value.clone(), json!({"q": found})), expected, "{found} {op} {value}");
    }
}

#[test]
fn a_missing_or_null_value_matches_only_the_negatives() {
    for (name, op) in Op::NAMES {
        let value = if matches!(op, Op::In | Op::NotIn) { json!(["a", ""]) } else { json!("") };
        let expected = matches!(op, Op::NotEqual | Op::NotIn | Op::NotExists);
        assert_eq!(holds(name, value.clone(), json!({})), expected, "missing {name}");
        assert_eq!(holds(name, value, json!({"q": null})), expected, "null {name}");
    }
}

#[test]
fn groups_combine_and_paths_are_listed() {
    let routing = filter(&json!({"all": [
        {"questionId": "complaint", "op": "==", "value": "Yes"},
        {"any": [{"questionId": "rate", "op": "<=", "value": 7}, {"not": {"questionId": "name", "op": "exists"}}]},
    ]}));
    assert_eq!(routing.paths(), ["complaint", "rate", "name"]);
    assert!(matches(&routing, &json!({"complaint": "Yes", "rate": 7, "name": "x"})));
    assert!(matches(&routing, &json!({"complaint": "Yes", "rate": 8})));
    assert!(!matches(&routing, &json!({"complaint": "Yes", "rate": 8, "name": "x"})));
    assert!(!matches(&routing, &json!({"complaint": "No", "rate": 7})));
    assert!(matches(&filter(&json!({"all": []})), &json!({})));
    assert!(!matches(&filter(&json!({"any": []})), &json!({})));
}

fn faults(value: &Value) -> Vec<(String, &'static str)> {
    Filter::parse(value).unwrap_err().into_iter().map(|fault| (fault.pointer, fault.code)).collect()
}

#[test]
fn every_fault_is_named_at_its_place() {
    for (value, expected) in [
        (json!(null), vec![("", "wrong_type")]),
        (json!({}), vec![("/questionId", "missing_field"), ("/op", "missing_field")]),
        (json!({"questionId": "", "op": "==", "value": 1}), vec![("/questionId", "out_of_range")]),
        (json!({"questionId": 1, "op": 1}), vec![("/questionId", "wrong_type"), ("/op", "wrong_type")]),
        (json!({"questionId": "q", "op": "=="}), vec![("/value", "missing_field")]),
        (json!({"questionId": "q", "op": "==", "value": null}), vec![("/value", "wrong_type")]),
        (json!({"questionId": "q", "op": "==", "value": ["a"]}), vec![("/value", "wrong_type")]),
        (json!({"questionId": "q", "op": "in", "value": "a"}), vec![("/value", "wrong_type")]),
        (
            json!({"questionId": "q", "op": "in", "value": ["a", null, {}]}),
            vec![("/value/1", "wrong_type"), ("/value/2", "wrong_type")],
        ),
        (json!({"questionId": "q", "op": "in", "value": vec![1; 1001]}), vec![("/value", "out_of_range")]),
        (json!({"questionId": "q", "op": "exists", "value": true}), vec![("/value", "unknown_field")]),
        (json!({"questionId": "q", "op": "==", "value": 1, "a/b": 2}), vec![("/a~1b", "unknown_field")]),
        (json!({"all": [], "any": []}), vec![("/any", "unknown_field")]),
        (json!({"all": {}}), vec![("/all", "wrong_type")]),
        (
            json!({"all": [{"not": 1}, {"op": "=="}]}),
            vec![
                ("/all/0/not", "wrong_type"),
                ("/all/1/questionId", "missing_field"),
                ("/all/1/value", "missing_field"),
            ],
        ),
    ] {
        let expected: Vec<_> = expected.into_iter().map(|(at, code)| (at.to_owned(), code)).collect();
        assert_eq!(faults(&value), expected, "{value}");
    }
}

#[test]
fn an_unknown_operator_gets_the_nearest() {
    for (op, meant) in
        [("startWith", "startsWith"), ("=", "=="), ("eq", "=="), ("lte", "<="), ("NotIn", "notIn")]
    {
        let fault = Filter::parse(&json!({"questionId": "q", "op": op, "value": "a"})).unwrap_err().remove(0);
        assert_eq!((fault.pointer.as_str(), fault.code), ("/op", "unknown_operator"));
        assert_eq!(fault.detail, format!("`{op}` is no operator: did you mean `{meant}`?"));
    }
    let fault = Filter::parse(&json!({"questionId": "q", "op": "matchesRegex"})).unwrap_err().remove(0);
    assert!(fault.detail.contains("known are `==`, `!=`"), "{fault}");
}

#[test]
fn depth_and_size_are_bounded() {
    let test = json!({"questionId": "q", "op": "exists"});
    let nested = |groups: usize| (0..groups).fold(test.clone(), |inner, _| json!({"not": inner}));
    assert!(Filter::parse(&nested(15)).is_ok());
    assert_eq!(faults(&nested(16))[0].1, "filter_too_deep");
    assert!(Filter::parse(&json!({"all": vec![test.clone(); 255]})).is_ok());
    assert_eq!(faults(&json!({"any": vec![test; 10_000]})), [("/any/255".to_owned(), "filter_too_large")]);
    let bad = json!({"questionId": "q", "op": "in", "value": vec![Value::Null; 1000]});
    assert_eq!(faults(&json!({"all": vec![bad; 200]})).len(), 100);
}

fn any_scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-3..12i64).prop_map(Value::from),
        (-2.0..2.0f64).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        "[a1-3.]{0,3}".prop_map(Value::from),
    ]
}

fn any_filter() -> impl Strategy<Value = Value> {
    let test = ("[abc]", 0..Op::NAMES.len(), prop::collection::vec(any_scalar(), 1..3)).prop_map(
        |(path, op, values)| {
            let (name, op) = Op::NAMES[op];
            match op {
                Op::Exists | Op::NotExists => json!({"questionId": path, "op": name}),
                Op::In | Op::NotIn => json!({"questionId": path, "op": name, "value": values}),
                _ => json!({"questionId": path, "op": name, "value": values[0]}),
            }
        },
    );
    test.prop_recursive(4, 20, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(|all| json!({"all": all})),
            prop::collection::vec(inner.clone(), 0..3).prop_map(|any| json!({"any": any})),
            inner.prop_map(|not| json!({"not": not})),
        ]
    })
}

fn any_data() -> impl Strategy<Value = Value> {
    let found = prop_oneof![
        4 => any_scalar(),
        1 => Just(Value::Null),
        1 => prop::collection::vec(any_scalar(), 0..3).prop_map(Value::from),
        1 => Just(json!({"a": 1})),
    ];
    prop::collection::btree_map("[abc]", found, 0..3)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

/// Anything at all, with words of filters in it so that it gets far.
fn any_junk() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "questionId",
        "op",
        "value",
        "all",
        "any",
        "not",
        "==",
        "in",
        "exists",
        "x",
    ]);
    let leaf = prop_oneof![any_scalar(), word.clone().prop_map(Value::from), Just(Value::Null)];
    leaf.prop_recursive(5, 40, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(word.clone().prop_map(str::to_owned), inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn not_inverts_and_de_morgan_holds(a in any_filter(), b in any_filter(), data in any_data()) {
        let is = |value: Value| matches(&filter(&value), &data);
        prop_assert_eq!(is(json!({"not": a})), !is(a.clone()));
        prop_assert_eq!(is(json!({"not": {"all": [a, b]}})), is(json!({"any": [{"not": a}, {"not": b}]})));
        prop_assert_eq!(is(json!({"not": {"any": [a, b]}})), is(json!({"all": [{"not": a}, {"not": b}]})));
    }

    #[test]
    fn opposite_operators_are_opposite(value in any_scalar(), data in any_data()) {
        let is = |op: &str, value: &Value| holds(op, value.clone(), json!({"q": data.get("a")}));
        prop_assert_ne!(is("==", &value), is("!=", &value));
        prop_assert_ne!(is("in", &json!([value])), is("notIn", &json!([value])));
        prop_assert_ne!(is("exists", &value), is("notExists", &value));
        prop_assert_eq!(is("<=", &value), is("<", &value) || is("==", &value));
        prop_assert!(!(is("<", &value) && is(">", &value)));
    }

    #[test]
    fn junk_is_refused_with_faults_and_never_panics(junk in any_junk(), data in any_data()) {
        match Filter::parse(&junk) {
            Ok(filter) => {
                matches(&filter, &data);
            }
            Err(faults) => {
                prop_assert!(!faults.is_empty());
                // The place of a missing field is not there, but its object is.
                for fault in faults {
                    let parent = fault.pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
                    prop_assert!(junk.pointer(parent).is_some(), "{} in {junk}", fault.pointer);
                }
            }
        }
    }
}

#[test]
fn the_reference_has_every_operator() {
    let reference = include_str!("../../../../docs/filters.md");
    let rows = reference.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let documented: Vec<&str> = rows.map(|(name, _)| name).filter(|name| *name != "op").collect();
    assert_eq!(documented, Op::NAMES.map(|(name, _)| name));
}

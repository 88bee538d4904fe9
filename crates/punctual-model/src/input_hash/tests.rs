//! What gives the same hash and what does not, and the bytes frozen permanently.

use std::collections::HashMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn r01_golden_hashes_are_frozen() {
    for (value, hex) in [
        (json!(null), "1b16b1df538ba12dc3f97edbb85caa7050d46c148134290feba80f8236c83db9"),
        (json!({}), "f1f49fcca2993600ec7495d399e2eee99be86cc5c4001520d56e65b4cd413b41"),
        (
            json!([1, -1, 0.5, true, false, "é", ""]),
            "14eeb8d1638e5c56624c2f2e42787ef447ef78cbb4a2b91c8b4f02ed14a06fbf",
        ),
        (
            json!({"businessUnit": "nz", "setting": "s1", "offsetDays": 30, "scope": null}),
            "e665805f085eb2adc00273f8cbcabd0aac28d618518e873d6342a08438e82470",
        ),
    ] {
        assert_eq!(InputHash::of(&value).to_string(), hex, "{value}");
    }
}

#[test]
fn r01_what_says_the_same_hashes_alike() {
    let same = |a: &str, b: &str| {
        let hash = |text: &str| InputHash::of(&serde_json::from_str(text).unwrap());
        assert_eq!(hash(a), hash(b), "{a} and {b}");
    };
    same(r#"{"a":1,"b":[2]}"#, r#" { "b" : [ 2 ], "a" : 1 } "#);
    same("1", "1.0");
    same("1", "1e0");
    same("0", "-0.0");
    same("-120", "-1.2e2");
    same("10000000000000000000", "1e19");
    same(r#""\u00e9""#, r#""e\u0301""#);
    same(r#"{"\u00e9":1,"f":2}"#, r#"{"e\u0301":1,"f":2}"#);
    same(r#"{"z":0,"e\u0301":1,"f":2}"#, r#"{"\u00e9":1,"f":2,"z":0}"#);
}

#[test]
fn r01_what_says_something_else_hashes_otherwise() {
    let values = [
        json!({}),
        json!({"a": null}),
        json!({"a": ""}),
        json!({"a": 1}),
        json!({"a": "1"}),
        json!({"a": 1.5}),
        json!({"a": true}),
        json!({"a": "true"}),
        json!({"a": []}),
        json!({"a": {}}),
        json!({"a": [null]}),
        json!({"a": 1, "b": 2}),
        json!({"a": 2, "b": 1}),
        json!({"ab": 1}),
        json!({"a": {"b": 1}}),
        json!(null),
        json!([]),
        json!([[]]),
        json!([[], []]),
        json!(["a", "b"]),
        json!(["b", "a"]),
        json!(["ab"]),
        json!(""),
        json!("n"),
        json!(0),
        json!(false),
        json!(u64::MAX),
        json!(-1),
        json!(1e19),
        json!(1.8446744073709552e19),
        json!(9007199254740993_u64),
        json!(9007199254740992_u64),
        json!("A"),
        json!("a"),
        json!("a "),
    ];
    let mut seen = HashMap::new();
    for value in values {
        if let Some(other) = seen.insert(InputHash::of(&value), value.clone()) {
            panic!("{value} and {other} share a hash");
        }
    }
}

#[test]
fn two_spellings_of_one_name_have_one_order() {
    let mut forward = Map::new();
    forward.insert("\u{e9}".into(), json!(1));
    forward.insert("e\u{301}".into(), json!(2));
    let fields = [("e\u{301}", json!(2)), ("\u{e9}", json!(1))];
    assert_eq!(InputHash::of(&Value::Object(forward)), InputHash::of_fields(&fields));
}

#[test]
fn a_hash_is_written_and_read_as_hex() {
    let hash = InputHash::of(&json!("x"));
    assert_eq!(InputHash::parse_hex(&hash.to_string()), Ok(hash));
    assert_eq!(InputHash::parse_hex(&hash.to_string().to_uppercase()), Ok(hash));
    assert_eq!(serde_json::to_value(hash).unwrap(), json!(hash.to_string()));
    assert_eq!(serde_json::from_value::<InputHash>(json!(hash.to_string())).unwrap(), hash);
    assert_eq!(InputHash::from_bytes(*hash.as_bytes()), hash);
    for text in ["", "ab", &"g".repeat(64), &"é".repeat(32), &"a".repeat(63), &"a".repeat(65)] {
        assert_eq!(InputHash::parse_hex(text), Err(InvalidInputHash), "{text}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..3i64).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ae1\u{301}\u{e9}]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[abe\u{301}\u{e9}]{0,2}", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// The same meaning rule, written as a text and not as bytes: normal form, sorted names, one spelling a number.
fn meaning(value: &Value) -> String {
    let text = |text: &str| format!("{:?}", text.nfc().collect::<String>());
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 => format!("{}", float + 0.0),
            _ => number.to_string(),
        },
        Value::String(string) => text(string),
        Value::Array(items) => format!("{:?}", items.iter().map(meaning).collect::<Vec<_>>()),
        Value::Object(fields) => {
            let mut fields: Vec<_> =
                fields.iter().map(|(name, value)| (text(name), name, meaning(value))).collect();
            fields.sort();
            format!("{{{:?}}}", fields.iter().map(|(name, _, value)| (name, value)).collect::<Vec<_>>())
        }
        other => other.to_string(),
    }
}

proptest! {
    #[test]
    fn r01_hashes_are_equal_exactly_when_the_meaning_is(a in any_json(), b in any_json()) {
        prop_assert_eq!(InputHash::of(&a) == InputHash::of(&b), meaning(&a) == meaning(&b));
    }

    #[test]
    fn the_order_of_fields_does_not_matter(
        fields in prop::collection::btree_map("\\PC{0,3}", any_json(), 0..6),
        turn in 0..6usize,
    ) {
        let object = Value::Object(fields.clone().into_iter().collect());
        let mut list: Vec<(&str, Value)> = fields.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        if !list.is_empty() {
            let turn = turn % list.len();
            list.rotate_left(turn);
        }
        prop_assert_eq!(InputHash::of_fields(&list), InputHash::of(&object));
    }

    #[test]
    fn no_text_is_read_as_a_hash_by_accident(text in "\\PC{0,70}") {
        if let Ok(hash) = InputHash::parse_hex(&text) {
            prop_assert_eq!(hash.to_string(), text.to_lowercase());
        }
    }
}

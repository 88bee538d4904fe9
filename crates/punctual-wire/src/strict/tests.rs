use proptest::prelude::*;
use serde_json::json;

use super::*;

#[track_caller]
fn refused(body: impl AsRef<[u8]>, code: &str, pointer: Option<&str>, detail: &str) {
    let problem = read(body.as_ref()).unwrap_err();
    assert_eq!(problem.code.as_str(), code, "{problem}");
    assert_eq!(problem.errors.first().map(|error| error.pointer.as_str()), pointer, "{problem}");
    assert!(problem.detail.contains(detail), "{:?} lacks {detail:?}", problem.detail);
}

#[test]
fn broken_json_is_named_by_line_column_and_what_was_expected() {
    #[track_caller]
    fn check(body: &str, detail: &str) {
        refused(body, "json_syntax", None, detail);
    }
    check("", "Line 1, column 1: expected a value, found the end of the body.");
    check("{\n  \"a\": 1,\n  b\n}", "Line 3, column 3: expected a field name in double quotes, found `b`.");
    check("{\"ä\" 1}", "Line 1, column 6: expected `:`, found `1`.");
    check("{\"a\":1 \"b\"", "column 8: expected `,` or `}`, found `\"`.");
    check("[1 2]", "expected `,` or `]`, found `2`.");
    check("[1,]", "expected a value, found `]`.");
    check("{\"a\":1,}", "expected a field name in double quotes, found `}`.");
    check("{} x", "expected the end of the body, found `x`.");
    check("nul", "expected `null`");
    check("True", "expected a value, found `T`.");
    check("[01]", "a number without leading zeros");
    check("[1.]", "expected a digit, found `]`.");
    check("[-]", "expected a digit");
    check("[1e+]", "expected a digit");
    check("\"a", "expected the closing double quote, found the end of the body.");
    check("\"a\nb\"", "write a line break as `\\n`), found the control character U+000A.");
    check(r#""\x""#, "expected an escape such as `\\n` or `\\u0041`, found `x`.");
    check(r#""\u12g4""#, "expected four hexadecimal digits after `\\u`, found `g`.");
    check("\u{feff}{}", "Line 1, column 1: expected a value");
    check("\0", "expected a value, found the control character U+0000.");
}

#[test]
fn deep_nesting_is_refused_beyond_64() {
    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert!(read(nested(64).as_bytes()).is_ok());
    refused(nested(65), "json_too_deep", Some(&"/0".repeat(64)), "nested deeper than 64");
    refused("[".repeat(1_000_000), "json_too_deep", Some(&"/0".repeat(64)), "column 65");
    let objects = format!("{}1{}", "{\"a\":".repeat(65), "}".repeat(65));
    refused(objects, "json_too_deep", Some(&"/a".repeat(64)), "64");
}

#[test]
fn a_doubled_field_is_named() {
    #[track_caller]
    fn check(body: &str, pointer: &str) {
        refused(body, "json_duplicate_key", Some(pointer), "appears twice in one object");
    }
    check(r#"{"a":1,"a":2}"#, "/a");
    check(r#"{"a":1,"b":2,"\u0061":3}"#, "/a");
    check(r#"{"items":[{},{"x":{"a/b~":1,"c":2,"a/b~":1}}]}"#, "/items/1/x/a~1b~0");
    let many: Vec<String> = (0..5_000).chain([77]).map(|n| format!("\"k{n}\":{n}")).collect();
    check(&format!("[{{{}}}]", many.join(",")), "/0/k77");
    assert!(read(br#"[{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}]"#).is_ok(), "other objects do not count");
}

#[test]
fn text_that_is_not_unicode_is_named_by_its_pointer() {
    #[track_caller]
    fn check(body: impl AsRef<[u8]>, pointer: &str, what: &str) {
        refused(body, "text_invalid", Some(pointer), what);
    }
    check(b"{\"a\":[1,\"x\xff\"]}", "/a/1", "Line 1, column 11: the text has a byte that is not UTF-8");
    check(b"{\"a\":{\"\xc3\x28\":1}}", "/a", "not UTF-8");
    check(b"\xff", "", "not UTF-8");
    check(b"{\"a\":\"\0\"}", "/a", "NUL");
    check(r#"{"a":"x","b":"\u0000"}"#, "/b", "NUL");
    check(r#"["\ud83d"]"#, "/0", "half of a surrogate pair");
    check(r#"["\ud83dx"]"#, "/0", "half of a surrogate pair");
    check(r#"["\ud83d\u0041"]"#, "/0", "half of a surrogate pair");
    check(r#"["ok",{"s":"\ude00"}]"#, "/1/s", "half of a surrogate pair");
    check(r#"{"a":1,"\udfff":1}"#, "", "half of a surrogate pair");
    assert_eq!(read(br#""\ud83d\ude00""#).unwrap(), "\u{1F600}");
}

#[test]
fn a_number_beyond_every_float_is_out_of_range() {
    refused("{\n\"a\":[0,1e999]}", "out_of_range", Some("/a/1"), "too large");
    refused(format!("[{}]", "9".repeat(400)), "out_of_range", Some("/0"), "too large");
    assert_eq!(read(b"1e-999").unwrap(), json!(0.0));
}

#[test]
fn an_absent_body_is_an_empty_object_where_the_route_says_so() {
    assert_eq!(read_or_empty(b" \t\r\n").unwrap(), json!({}));
    assert!(read_or_empty(b"\x0c").is_err(), "a form feed is no JSON");
    assert_eq!(read_or_empty(b"{\"batchSize\":1}").unwrap(), json!({"batchSize": 1}));
    assert!(read_or_empty(b"{").is_err());
}

/// Agrees with `serde_json` except for the refusals that this reader adds.
fn agrees(bytes: &[u8]) -> Result<(), TestCaseError> {
    let lenient = serde_json::from_slice::<Value>(bytes);
    match (read(bytes), lenient) {
        (Ok(ours), Ok(theirs)) => prop_assert_eq!(ours, theirs),
        (Ok(_), Err(error)) => {
            return Err(TestCaseError::fail(format!("accepted what serde_json refuses: {error}")));
        }
        (Err(problem), Ok(_)) => prop_assert!(
            matches!(problem.code, Code::JsonTooDeep | Code::JsonDuplicateKey | Code::TextInvalid),
            "refused what serde_json accepts: {}",
            problem
        ),
        (Err(problem), Err(_)) => {
            prop_assert_eq!(problem.errors.is_empty(), problem.code == Code::JsonSyntax)
        }
    }
    Ok(())
}

/// Bytes that look like JSON more often than random bytes do.
fn fragments() -> impl Strategy<Value = Vec<u8>> {
    let pieces: &[&[u8]] = &[
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\"",
        b"\"a\"",
        b"\"b\":",
        b"\"a\":1",
        b"\\",
        b"\\u",
        b"\\u0000",
        b"\\ud83d",
        b"\\ude00",
        b"\\n",
        b"0",
        b"-1",
        b"1.5e3",
        b"1e999",
        b"true",
        b"null",
        b" ",
        b"\n",
        b"\0",
        b"\xff",
        b"\xc3\xa4",
        b"x",
    ];
    prop::collection::vec(prop::sample::select(pieces), 0..24).prop_map(|parts| parts.concat())
}

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((".{0,4}", inner), 0..24)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic_and_agree_with_serde_json(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        agrees(&bytes)?;
    }

    #[test]
    fn fragments_of_json_agree_with_serde_json(bytes in fragments()) {
        agrees(&bytes)?;
    }

    #[test]
    fn damaged_documents_agree_with_serde_json(tree in tree(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = serde_json::to_vec_pretty(&tree).unwrap();
        agrees(&bytes)?;
        let at = at.index(bytes.len());
        bytes[at] = byte;
        agrees(&bytes)?;
        bytes.truncate(at);
        agrees(&bytes)?;
    }

    #[test]
    fn the_pointer_leads_to_the_text_at_fault(path in prop::collection::vec(step(), 0..12)) {
        let beside = || json!({"a": ["]", "\\\"", {"b": "}{,"}], "": 1});
        let document = path.iter().rev().fold(json!("NUL: \0"), |inner, step| match step {
            Ok(index) => (0..*index).map(|_| beside()).chain([inner, beside()]).collect(),
            Err(name) => json!({"": beside(), "m": beside(), name: inner, "\u{FFFF}": beside()}),
        });
        let expected = path.iter().fold(String::new(), |pointer, step| match step {
            Ok(index) => format!("{pointer}/{index}"),
            Err(name) => join(&pointer, name),
        });
        let problem = read(serde_json::to_string_pretty(&document).unwrap().as_bytes()).unwrap_err();
        prop_assert_eq!(problem.code, Code::TextInvalid);
        prop_assert_eq!(&problem.errors[0].pointer, &expected);
        prop_assert!(document.pointer(&expected).is_some());
    }
}

/// One step of a path: an index, or a field's name with the characters that pointers escape.
fn step() -> impl Strategy<Value = Result<usize, String>> {
    prop_oneof![(0..4_usize).prop_map(Ok), "[a-z/~\"\\\\ä]{1,4}".prop_map(Err)]
}

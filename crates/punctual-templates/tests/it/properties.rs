//! Whatever is thrown at it, a template renders or fails with a known code, and never panics.

use proptest::prelude::*;
use punctual_templates::{OUTPUT_LIMIT, Variant, compile_check, render};
use serde_json::{Value, json};

/// Pieces that make a random text look like a template more often than a random text does.
const PIECES: &[&str] = &[
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "{%-",
    "-%}",
    " if ",
    " for ",
    " in ",
    " else ",
    " endif ",
    " endfor ",
    " set ",
    " with ",
    " endwith ",
    " elif ",
    "x",
    "y.z",
    "rows",
    "loop.index",
    "range(9)",
    "|upper",
    "|join(',')",
    "|date",
    "|date('%Y')",
    "|number(2)",
    "|sort",
    "|length",
    "|map(attribute='n')",
    "|replace('a','b')",
    "|tojson",
    "|round",
    "|default(1)",
    "|groupby('n')",
    "|split",
    "|int",
    "~",
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "==",
    "<",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    ".",
    "=",
    "'a'",
    "\"é\"",
    "1",
    "2.5",
    "99999999999999999999",
    "true",
    "none",
    "not ",
    " is defined",
    " is in ",
    " and ",
    " or ",
    "\n",
    "é",
    "\u{0}",
    "'",
    "raw",
    "endraw",
    "[1:2]",
    "recursive",
];

fn template() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        proptest::collection::vec(proptest::sample::select(PIECES), 0..40).prop_map(|pieces| pieces.concat()),
        // Whole expressions reach the filters far more often.
        proptest::collection::vec(proptest::sample::select(PIECES), 1..8)
            .prop_map(|pieces| format!("{{{{ x{} }}}}", pieces.concat())),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(json!("2026-11-03T08:30:00Z")),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map("[a-z]{1,2}", inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_with_any_values_renders_or_fails_with_a_known_code(text in template(), x in value(), rows in value()) {
        let variant = Variant { subject: text.clone(), body: text.clone(), html: Some(text.clone()) };
        match render(&variant, &json!({"x": x, "y": {"z": 1}, "rows": rows})) {
            Ok(rendered) => {
                prop_assert!(rendered.body.len() <= OUTPUT_LIMIT);
                prop_assert!(!rendered.subject.chars().any(char::is_control));
            }
            Err(fault) => prop_assert!([
                "template_syntax", "template_unknown_variable", "template_limit", "template_failed", "subject_invalid",
            ].contains(&fault.code())),
        }
        if let Err(fault) = compile_check(&text) {
            prop_assert!(fault.line >= 1 && fault.column >= 1 && !fault.detail.is_empty());
        }
    }

    #[test]
    fn data_never_becomes_markup(x in any::<String>()) {
        let variant = Variant { html: Some("{{ x }}{{ x|upper }}{{ x|replace('a', '<') }}{{ [x]|join('>') }}{{ x ~ x }}".to_owned()), ..Variant::default() };
        let html = render(&variant, &json!({"x": x})).unwrap().html.unwrap();
        prop_assert!(!html.contains(['<', '>', '"']), "{html}");
    }
}

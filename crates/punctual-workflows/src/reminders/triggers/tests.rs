//! Golden vectors: the written identity of every kind of trigger. A text that changes here means that every setting of that
//! kind is applied again to all its sources after an upgrade.

use serde_json::{Value, json};

use crate::reminders::Providers;

#[track_caller]
fn check(kind: &str, part: &str, spec: Value, written: &str) {
    let providers = Providers::built_in();
    let provider = providers.triggers.get(kind).unwrap();
    let definition = json!({ "kind": kind, part: spec });
    // As a setting is read that was made before keys had a base.
    let Ok(rule) = provider.rule(&definition, definition.get(part)) else {
        panic!("{definition} is a setting")
    };
    assert_eq!(rule.identity(), written);
}

#[test]
fn the_identity_of_a_date_is_as_it_was_written() {
    let check = |spec, written| check("dateBased", "date", spec, written);
    check(
        json!({ "field": "/expiresOn", "offsetsDays": [30, 7, -1] }),
        r#"Dates { field: "/expiresOn", offsets: [30, 7, -1], send_time: 09:00:00 }"#,
    );
    check(
        json!({ "field": "/a \"b\"\\c\n'ä", "sendTime": "23:30" }),
        r#"Dates { field: "/a \"b\"\\c\n'ä", offsets: [], send_time: 23:30:00 }"#,
    );
}

#[test]
fn the_identity_of_an_anniversary_is_as_it_was_written() {
    let check = |spec, written| check("recurring", "recurring", spec, written);
    check(
        json!({ "field": "/hiredOn" }),
        r#"Anniversary { field: "/hiredOn", every: Year, offset: 0, send_time: 09:00:00 }"#,
    );
    check(
        json!({ "field": "/hiredOn", "every": "month", "offsetDays": -14, "sendTime": "06:05" }),
        r#"Anniversary { field: "/hiredOn", every: Month, offset: -14, send_time: 06:05:00 }"#,
    );
}

#[test]
fn the_identity_of_a_threshold_is_as_it_was_written() {
    let check = |spec, written: &str| check("threshold", "threshold", spec, written);
    let spec = |metric: Value, op: &str, value: f64, firing: &str| json!({ "metric": metric, "op": op, "value": value, "firingPolicy": firing, "scope": "all" });
    check(
        spec(json!({ "field": "/stock" }), "<", 10.0, "OncePerSource"),
        r#"Crossing { metric: One(Field("/stock")), metric_key: "/stock", op: Below, value: 10.0, firing: OncePerSource, scope: "all" }"#,
    );
    check(
        spec(json!({ "share": ["/booked", "/capacity"] }), ">=", 0.9, "FalseToTrue"),
        r#"Crossing { metric: Share(Field("/booked"), Field("/capacity")), metric_key: "share(/booked,/capacity)", op: AtLeast, value: 0.9, firing: FalseToTrue, scope: "all" }"#,
    );
    let count = json!({ "count": { "sourceType": "booking", "parentField": "/room" } });
    check(
        spec(count, ">", 1e21, "OncePerDay"),
        r#"Crossing { metric: One(Children(Counted { source_type: "booking", parent_field: "/room", filter: None, sum: None })), metric_key: "count(booking)", op: Above, value: 1e21, firing: OncePerDay, scope: "all" }"#,
    );
}

/// Every kind of node, operator and operand that a filter has.
#[test]
fn the_identity_of_what_is_counted_has_its_filter() {
    let filter = json!({ "all": [
        { "questionId": "state.kind", "op": "==", "value": "yes" },
        { "any": [
            { "questionId": "a", "op": "!=", "value": -12.5 }, { "questionId": "a", "op": "<", "value": 0 },
            { "questionId": "a", "op": "<=", "value": "1e3" }, { "questionId": "a", "op": ">", "value": 1 },
            { "questionId": "a", "op": ">=", "value": true }, { "questionId": "a", "op": "in", "value": ["x", 2] },
            { "questionId": "a", "op": "notIn", "value": ["x"] }, { "questionId": "a", "op": "contains", "value": "x" },
            { "questionId": "a", "op": "startsWith", "value": "x" }, { "questionId": "a", "op": "endsWith", "value": "x" },
        ] },
        { "not": { "questionId": "b", "op": "exists" } },
        { "questionId": "b", "op": "notExists" },
    ] });
    let sum = json!({ "sum": { "sourceType": "booking", "parentField": "/room", "field": "/seats", "where": filter } });
    let spec = json!({ "metric": sum, "op": "<=", "value": -0.5, "firingPolicy": "OncePerThreshold", "scope": "north" });
    let test = |op: &str, values: &str| format!(r#"Test {{ path: "a", op: {op}, values: [{values}] }}"#);
    let x = r#"Operand { text: "x", number: None }"#;
    let any = [
        test(
            "NotEqual",
            r#"Operand { text: "-12.5", number: Some(Decimal { negative: true, exponent: 2, digits: "125" }) }"#,
        ),
        test(
            "Less",
            r#"Operand { text: "0", number: Some(Decimal { negative: false, exponent: 0, digits: "" }) }"#,
        ),
        test(
            "LessOrEqual",
            r#"Operand { text: "1e3", number: Some(Decimal { negative: false, exponent: 4, digits: "1" }) }"#,
        ),
        test(
            "Greater",
            r#"Operand { text: "1", number: Some(Decimal { negative: false, exponent: 1, digits: "1" }) }"#,
        ),
        test("GreaterOrEqual", r#"Operand { text: "true", number: None }"#),
        test(
            "In",
            &format!(
                r#"{x}, Operand {{ text: "2", number: Some(Decimal {{ negative: false, exponent: 1, digits: "2" }}) }}"#
            ),
        ),
        test("NotIn", x),
        test("Contains", x),
        test("StartsWith", x),
        test("EndsWith", x),
    ];
    let filter = format!(
        r#"Filter(All([Test {{ path: "state.kind", op: Equal, values: [Operand {{ text: "yes", number: None }}] }}, Any([{}]), Not(Test {{ path: "b", op: Exists, values: [] }}), Test {{ path: "b", op: NotExists, values: [] }}]))"#,
        any.join(", ")
    );
    let written = format!(
        r#"Crossing {{ metric: One(Children(Counted {{ source_type: "booking", parent_field: "/room", filter: Some({filter}), sum: Some("/seats") }})), metric_key: "sum(booking/seats)", op: AtMost, value: -0.5, firing: OncePerThreshold, scope: "north" }}"#
    );
    check("threshold", "threshold", spec, &written);
}

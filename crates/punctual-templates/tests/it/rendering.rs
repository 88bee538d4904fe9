//! Ordinary use: values, escaping, filters, faults that help an author.

use punctual_templates::{Compiled, Field, RenderFailure, Variant, compile_check, render};
use serde_json::json;

use crate::body;

#[track_caller]
fn shows(template: &str, expected: &str) {
    let context = json!({
        "name": "Ana", "due": "2026-11-03T08:30:00Z", "day": "2026-11-03", "price": 1234567.891, "count": 1234567,
        "share": 0.93, "rows": [{"n": "a", "v": 2}, {"n": "b", "v": 1}], "empty": [], "none": null,
        "user": {"email": "a@b.example"},
    });
    assert_eq!(body(template, &context).unwrap(), expected, "{template}");
}

#[test]
fn values_conditions_and_loops_are_filled_in() {
    shows("Hello {{ name }}!", "Hello Ana!");
    shows("{{ user.email }}", "a@b.example");
    shows("{% if count > 3 %}many{% elif count %}few{% else %}none{% endif %}", "many");
    shows("{% for row in rows %}{{ loop.index }}:{{ row.n }} {% endfor %}", "1:a 2:b ");
    shows("{% for row in empty %}x{% else %}nothing{% endfor %}", "nothing");
    shows("{% for row in rows|sort(attribute='v') %}{{ row.n }}{% endfor %}", "ba");
    shows("{% set greeting = 'Hi ' ~ name %}{{ greeting }}", "Hi Ana");
    shows("{{ rows|map(attribute='n')|join(', ') }}", "a, b");
    shows("{{ 'yes' if name == 'Ana' else 'no' }}", "yes");
    shows("{{ missing|default('nobody') }}", "nobody");
    shows("{{ 'given' if missing is defined else 'not given' }}", "not given");
    shows("{{ (share|float * 100)|round|int }} %", "93 %");
    shows("{{ count + 1 }}", "1234568");
    shows("{% for i in range(3) %}{{ i }}{% endfor %}", "012");
    shows("{% with n = name|upper %}{{ n }}{% endwith %}", "ANA");
    shows("{{ name|replace('A', 'a') }}", "ana");
}

#[test]
fn dates_are_shown_in_a_zone_and_a_format() {
    shows("{{ due|date }}", "2026-11-03");
    shows("{{ due|time }}", "08:30");
    shows("{{ due|datetime }}", "2026-11-03 08:30");
    shows("{{ due|date('%d.%m.%Y', 'Europe/Berlin') }}", "03.11.2026");
    shows("{{ due|time('%H:%M', 'Pacific/Auckland') }}", "21:30");
    shows(
        "{{ due|date('%A, %-d %B %Y', zone) if zone is defined else due|date('%A, %-d %B %Y') }}",
        "Tuesday, 3 November 2026",
    );
    shows("{{ day|date('%d/%m/%Y', 'America/New_York') }}", "03/11/2026");
    for wrong in
        ["{{ name|date }}", "{{ due|date('%Y', 'Mars/Base') }}", "{{ due|date('%!') }}", "{{ count|date }}"]
    {
        let context = json!({"name": "Ana", "due": "2026-11-03T08:30:00Z", "count": 3});
        assert_eq!(body(wrong, &context).unwrap_err().code(), "template_failed", "{wrong}");
    }
}

#[test]
fn numbers_are_shown_with_separators() {
    shows("{{ price|number(2) }}", "1,234,567.89");
    shows("{{ price|number(2, '.', ',') }}", "1.234.567,89");
    shows("{{ count|number }}", "1,234,567");
    shows("{{ (0 - count)|number(1) }}", "-1,234,567.0");
    shows("{{ 999|number }}", "999");
    shows("{{ share|number(1) }}", "0.9");
}

#[test]
fn html_is_escaped_and_text_is_not() {
    let variant = Variant {
        subject: "{{ x }}".to_owned(),
        body: "{{ x }}".to_owned(),
        html: Some("<p>{{ x }}</p>{{ x|upper }}".to_owned()),
    };
    let rendered = render(&variant, &json!({"x": "<b>&\"'"})).unwrap();
    assert_eq!(rendered.subject, "<b>&\"'");
    assert_eq!(rendered.body, "<b>&\"'");
    let html = rendered.html.unwrap();
    assert!(html.starts_with("<p>&lt;b&gt;&amp;&quot;&#x27;</p>&lt;B"), "{html}");
}

#[test]
fn markup_cannot_be_made_from_data() {
    for text in ["{{ x|safe }}", "{% autoescape false %}{{ x }}{% endautoescape %}"] {
        assert_eq!(compile_check(text).unwrap_err().code, "template_syntax", "{text}");
    }
}

#[test]
fn a_subject_is_one_line() {
    let variant = |subject: &str| Variant { subject: subject.to_owned(), ..Variant::default() };
    assert_eq!(render(&variant("Hi {{ n }}\n"), &json!({"n": "Ana"})).unwrap().subject, "Hi Ana");
    for bad in ["a\nBcc: x@y.example", "a\rb", "a\0b", "a\u{85}b", "a\r\n b"] {
        let fault = render(&variant("Hi {{ n }}."), &json!({"n": bad})).unwrap_err();
        assert_eq!((fault.code(), fault.field), ("subject_invalid", Field::Subject), "{bad:?}");
    }
}

#[test]
fn an_unknown_variable_is_named() {
    for (text, name) in [
        ("{{ firstName }}", "firstName"),
        ("{{ user.phone }}", "user.phone"),
        ("{{ user.address.street }}", "user.address"),
        ("{% if vip %}x{% endif %}", "vip"),
        ("{% for r in orders %}{{ r }}{% endfor %}", "orders"),
        ("{{ 'Hi ' ~ firstName }}", "firstName"),
        ("{{ firstName|upper }}", "firstName"),
        ("{{ orders|join(', ') }}", "orders"),
        ("{{ due|date }}", "due"),
    ] {
        let fault = body(text, &json!({"user": {"email": "a@b.example"}})).unwrap_err();
        assert_eq!(fault.why, RenderFailure::UnknownVariable { name: name.to_owned() }, "{text}");
        assert_eq!((fault.code(), fault.field), ("template_unknown_variable", Field::Body));
    }
}

#[test]
fn a_syntax_fault_has_line_column_and_the_text_near_it() {
    for (text, line, column, words) in [
        ("Hello\n  {{ name", 2, 6, "near `name`"),
        ("a\nb {% if x %}", 2, 11, "unexpected end of input"),
        ("{{ name | nosuch }}", 1, 11, "there is no filter `nosuch`, near `nosuch }}`"),
        ("é {{ a * b }}", 1, 6, "`*` is for numbers"),
        ("{% frobnicate %}", 1, 4, "unknown statement"),
        ("{{ lookup('x') }}", 1, 4, "only `range(…)` can be called"),
    ] {
        let fault = compile_check(text).unwrap_err();
        assert_eq!(fault.code, "template_syntax");
        assert!(fault.detail.contains(words), "{text}: {fault}");
        assert_eq!((fault.line, fault.column), (line, column), "{text}: {fault}");
    }
}

#[test]
fn a_compiled_variant_says_which_text_is_at_fault_and_is_rendered_many_times() {
    let bad = Variant { html: Some("{{".to_owned()), ..Variant::default() };
    assert_eq!(Compiled::new(&bad).unwrap_err().0, Field::Html);
    let good = Compiled::new(&Variant { body: "{{ n }}".to_owned(), ..Variant::default() }).unwrap();
    for n in 0..100 {
        assert_eq!(good.render(&json!({"n": n})).unwrap().body, n.to_string());
    }
}

#[test]
fn a_long_digest_stays_within_the_budget() {
    let rows: Vec<_> =
        (0..1000).map(|n| json!({"name": format!("Person {n}"), "due": "2026-11-03T08:30:00Z"})).collect();
    let text = "{% for r in rows %}{{ loop.index }}. {{ r.name|upper }}: {{ r.due|date('%d.%m.%Y') }}{% if not loop.last %},{% endif %}\n{% endfor %}";
    assert!(body(text, &json!({"rows": rows})).unwrap().lines().count() == 1000);
}

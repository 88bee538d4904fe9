//! Templates that want too much: each one ends in a named limit or is refused when it is saved.

use punctual_templates::{SOURCE_LIMIT, compile_check};
use serde_json::json;

use crate::body;

fn context() -> serde_json::Value {
    json!({
        "a": "x".repeat(1000), "big": "y".repeat(200_000), "n": 5, "l": vec![1; 2000],
        "deep": {"deep": {"deep": {}}},
    })
}

/// What became of an attack: the code of the fault when it was saved or when it ran.
fn outcome(text: &str) -> String {
    match (compile_check(text), body(text, &context())) {
        (Err(fault), _) => fault.code.to_owned(),
        (Ok(()), Err(fault)) => fault.code().to_owned(),
        (Ok(()), Ok(text)) => format!("{} bytes", text.len()),
    }
}

#[test]
fn endless_loops_run_out_of_steps() {
    let loops = "{% for a in range(1000) %}".repeat(3);
    let ends = "{% endfor %}".repeat(3);
    assert_eq!(outcome(&format!("{loops}{{% set z = 1 %}}{ends}")), "template_limit");
    assert_eq!(
        outcome("{% for x in l %}{% for y in l %}{% if x > y %}{% endif %}{% endfor %}{% endfor %}"),
        "template_limit"
    );
}

#[test]
fn a_huge_output_is_cut_off() {
    assert_eq!(outcome("{% for i in range(1000) %}{{ a }}{% endfor %}"), "template_limit");
    assert_eq!(outcome("{{ big }}{{ big }}"), "template_limit");
    assert_eq!(outcome("{% for i in range(999) %}{{ l }}{% endfor %}"), "template_limit");
}

#[test]
fn values_cannot_be_grown() {
    let doubling =
        |name: &str| format!("{{% set z = {name} %}}{}{{{{ z|length }}}}", "{% set z = z ~ z %}".repeat(40));
    assert_eq!(outcome(&doubling("a")), "template_limit");
    assert_eq!(outcome(&doubling("'x'")), "template_limit");
    assert_eq!(
        outcome("{% set z = a %}{% for i in range(40) %}{% set z = z ~ z %}{% endfor %}"),
        "template_syntax"
    );
    assert_eq!(
        outcome("{% set z = a %}{% for i in range(40) %}{% set y = z %}{% set z = y + y %}{% endfor %}"),
        "template_syntax"
    );
    let lists = format!("{{% set z = [a] %}}{}{{{{ z|list|length }}}}", "{% set z = z + z %}".repeat(40));
    assert_eq!(outcome(&lists), "template_limit");
    let literals =
        format!("{{% set z = [a] %}}{}{{{{ z|string|length }}}}", "{% set z = [z, z] %}".repeat(40));
    assert_eq!(outcome(&literals), "template_limit");
    let nested: String =
        (0..6).map(|i| format!("{{% for b{} in [b{i} ~ b{i} ~ b{i} ~ b{i}] %}}", i + 1)).collect();
    assert_eq!(outcome(&format!("{{% set b0 = a %}}{nested}{}", "{% endfor %}".repeat(6))), "template_limit");
    let keys = format!("{{% set z = [] %}}{}{{{{ {{z: 1, z: 2}}[z] }}}}", "{% set z = [z, z] %}".repeat(40));
    assert_eq!(outcome(&keys), "template_limit");
    for text in [
        "{{ 'x' * 100000000 }}",
        "{{ a * n }}",
        "{{ [a] * n }}",
        "{{ a|replace('', a) }}",
        "{{ a|replace('x', big)|length }}",
        "{{ l|join(big)|length }}",
        "{{ l|join(d=big)|length }}",
        "{{ l|map('replace', '1', big)|list }}",
        "{{ l|map('string')|join }}",
        "{% set z %}{{ a }}{{ a }}{% endset %}{{ z }}",
        "{% filter upper %}{{ a }}{% endfilter %}",
        "{% set ns = namespace(z=a) %}",
        "{{ '%1000000000d'|format(n) }}",
        "{{ a|indent(1000000000) }}",
        "{{ l|batch(1000000000, a) }}",
        "{{ l|slice(1000000000) }}",
        "{{ a|center(1000000000) }}",
    ] {
        assert_eq!(outcome(text), "template_syntax", "{text}");
    }
    assert_eq!(outcome("{{ range(1000000)|list }}"), "template_failed");
    assert_eq!(outcome("{{ n ** 100000 }}"), "template_failed");
}

#[test]
fn much_work_in_few_steps_is_bounded() {
    let copies = vec!["big"; 15].join(" ~ ");
    let text = format!(
        "{{% for i in range(1000) %}}{{% for j in range(1000) %}}{{% if ({copies})|length %}}{{% endif %}}{{% endfor %}}{{% endfor %}}"
    );
    assert_eq!(outcome(&text), "template_limit");
    let sorts = "{% for i in range(1000) %}{% for j in range(1000) %}{% set z = l|sort|reverse|unique|list %}{% endfor %}{% endfor %}";
    assert_eq!(outcome(sorts), "template_limit");
}

#[test]
fn deep_nesting_is_refused_and_does_not_overflow_the_stack() {
    for (open, middle, close, count) in [
        ("{% if n %}", "", "{% endif %}", 3000),
        ("{% for x in l %}", "", "{% endfor %}", 2000),
        ("{% with x = 1 %}", "", "{% endwith %}", 2000),
        ("{% if n %}{# {% endif %} #}", "", "{% endif %}", 1500),
        ("{% if n %}x{% elif n %}", "", "", 2500),
        ("{% filter upper %}", "", "{% endfilter %}", 1500),
        ("{% set x %}", "", "{% endset %}", 2500),
    ] {
        let text = format!("{}{middle}{}", open.repeat(count), close.repeat(count));
        assert!(text.len() <= SOURCE_LIMIT);
        assert_eq!(outcome(&text), "template_syntax", "{open}");
    }
    for (head, part, tail) in [
        ("{{ n", " + n", " }}"),
        ("{{ n", "|abs", " }}"),
        ("{{ deep", ".deep", " }}"),
        ("{{ ", "-", "n }}"),
        ("{{ ", "not ", "n }}"),
        ("{{ ", "(", "n }}"),
        ("{{ ", "[", "n }}"),
        ("{{ l", "[0]", " }}"),
        ("{{ n", " if n else n", " }}"),
        ("{{ n", " and n", " }}"),
        ("{{ n", " == n", " }}"),
        ("{{ n", " is defined", " }}"),
        ("{% if n %}", "{% elif n %}", "{% endif %}"),
    ] {
        let text = format!("{head}{}{tail}", part.repeat((SOURCE_LIMIT - 100) / part.len()));
        assert_eq!(outcome(&text), "template_syntax", "{part}");
    }
}

#[test]
fn nothing_outside_the_template_is_reachable() {
    for text in [
        "{% include 'subject' %}",
        "{% include '/etc/passwd' %}",
        "{% import 'body' as b %}",
        "{% from 'body' import x %}",
        "{% extends 'html' %}",
        "{% block x %}{% endblock %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% call x() %}{% endcall %}",
        "{% for x in l recursive %}{{ loop(l) }}{% endfor %}",
        "{{ debug() }}",
        "{{ dict(a=1) }}",
        "{{ ''.__class__.__mro__() }}",
        "{{ a.upper() }}",
        "{{ self.x() }}",
        "{% do range(1) %}",
        "{{ a|attr('x') }}",
        "{{ a|pprint }}",
    ] {
        assert_eq!(outcome(text), "template_syntax", "{text}");
    }
}

#[test]
fn a_template_or_a_context_that_is_too_long_is_refused() {
    assert!(compile_check(&"x".repeat(SOURCE_LIMIT)).is_ok());
    assert!(compile_check(&"x".repeat(SOURCE_LIMIT + 1)).unwrap_err().detail.contains("at most 65536 bytes"));
    assert_eq!(body("x", &json!({"a": "x".repeat(2_000_000)})).unwrap_err().code(), "template_limit");
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!([deep]);
    }
    assert_eq!(body("x", &json!({"a": deep})).unwrap_err().code(), "template_limit");
}

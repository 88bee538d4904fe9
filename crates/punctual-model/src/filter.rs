//! Filters: the one evaluator for triggers, reminders, survey navigation and routing.
//!
//! A test is `{"questionId": "candidate.jobType", "op": "==", "value": "GR"}`; tests are combined with
//! `{"all": […]}`, `{"any": […]}` and `{"not": {…}}`. An empty `all` is true, an empty `any` is false.
//!
//! - When both sides are numbers, or texts that are whole JSON numbers, they are compared as
//!   numbers, exactly; else as texts, letter by letter. So `7`, `7.0` and `"7"` are equal, while
//!   `"007"` and `"+49"` are texts.
//! - A boolean is the text `true` or `false`, and no number.
//! - `null` is a missing value: it matches only `!=`, `notIn` and `notExists`. A filter cannot compare
//!   with `null`; it asks for `exists` or `notExists`.
//! - `contains` means membership in an array and a part of a text. Any other comparison with an array
//!   or object is false, and so `!=` and `notIn` are true.

mod identity;
mod parse;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, cmp::Ordering};

use serde_json::Value;

use crate::Decimal;

/// How deep groups may be nested.
pub const MAX_DEPTH: usize = 16;
/// How many groups and tests a filter may have.
pub const MAX_NODES: usize = 256;
/// How many values `in` and `notIn` may list.
pub const MAX_VALUES: usize = 1_000;
/// The longest path in bytes.
pub const MAX_PATH_BYTES: usize = 512;

/// One fault in a filter, by its pointer inside it.
pub type FilterFault = crate::fault::Fault;

/// A filter that was checked and can be asked any number of times.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter(Node);

#[derive(Clone, Debug, PartialEq)]
enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    Test { path: String, op: Op, values: Vec<Operand> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
    Contains,
    StartsWith,
    EndsWith,
    Exists,
    NotExists,
}

impl Op {
    const NAMES: [(&'static str, Self); 13] = [
        ("==", Self::Equal),
        ("!=", Self::NotEqual),
        ("<", Self::Less),
        ("<=", Self::LessOrEqual),
        (">", Self::Greater),
        (">=", Self::GreaterOrEqual),
        ("in", Self::In),
        ("notIn", Self::NotIn),
        ("contains", Self::Contains),
        ("startsWith", Self::StartsWith),
        ("endsWith", Self::EndsWith),
        ("exists", Self::Exists),
        ("notExists", Self::NotExists),
    ];
}

/// A value of the filter, with what comparing needs worked out beforehand.
#[derive(Clone, Debug, PartialEq)]
struct Operand {
    text: String,
    number: Option<Decimal>,
}

impl Operand {
    fn new(scalar: &Value) -> Option<Self> {
        let text = text_of(scalar)?;
        Some(Self { number: number_of(scalar, &text), text: text.into_owned() })
    }
}

impl Filter {
    /// Reads a filter and finds every fault in it.
    pub fn parse(value: &Value) -> Result<Self, Vec<FilterFault>> {
        parse::parse(value).map(Self)
    }

    /// Whether the filter is true of what `lookup` finds under each path.
    pub fn matches<'v>(&self, lookup: &dyn Fn(&str) -> Option<Cow<'v, Value>>) -> bool {
        self.0.matches(lookup)
    }

    /// Every path the filter asks for, in the order in which they are written.
    pub fn paths(&self) -> Vec<&str> {
        let mut paths = Vec::new();
        self.0.collect_paths(&mut paths);
        paths
    }
}

impl Node {
    fn matches<'v>(&self, lookup: &dyn Fn(&str) -> Option<Cow<'v, Value>>) -> bool {
        match self {
            Self::All(nodes) => nodes.iter().all(|node| node.matches(lookup)),
            Self::Any(nodes) => nodes.iter().any(|node| node.matches(lookup)),
            Self::Not(node) => !node.matches(lookup),
            Self::Test { path, op, values } => {
                let found = lookup(path);
                test(found.as_deref().filter(|value| !value.is_null()), *op, values)
            }
        }
    }

    fn collect_paths<'a>(&'a self, into: &mut Vec<&'a str>) {
        match self {
            Self::All(nodes) | Self::Any(nodes) => nodes.iter().for_each(|node| node.collect_paths(into)),
            Self::Not(node) => node.collect_paths(into),
            Self::Test { path, .. } => into.push(path),
        }
    }
}

/// One comparison; a list of values means any of them.
fn test(found: Option<&Value>, op: Op, values: &[Operand]) -> bool {
    let ordered = |wanted: fn(Ordering) -> bool| {
        found.is_some_and(|value| values.iter().any(|operand| order(value, operand).is_some_and(wanted)))
    };
    let written = |wanted: fn(&str, &str) -> bool| {
        found.and_then(text_of).is_some_and(|text| values.iter().any(|operand| wanted(&text, &operand.text)))
    };
    match op {
        Op::Equal | Op::In => ordered(Ordering::is_eq),
        Op::NotEqual | Op::NotIn => !ordered(Ordering::is_eq),
        Op::Less => ordered(Ordering::is_lt),
        Op::LessOrEqual => ordered(Ordering::is_le),
        Op::Greater => ordered(Ordering::is_gt),
        Op::GreaterOrEqual => ordered(Ordering::is_ge),
        Op::Contains => match found {
            Some(Value::Array(items)) => items.iter().any(|item| test(Some(item), Op::Equal, values)),
            _ => written(|text, part| text.contains(part)),
        },
        Op::StartsWith => written(|text, part| text.starts_with(part)),
        Op::EndsWith => written(|text, part| text.ends_with(part)),
        Op::Exists => found.is_some(),
        Op::NotExists => found.is_none(),
    }
}

/// How a found value compares with the filter's; none when it is no single value.
fn order(found: &Value, operand: &Operand) -> Option<Ordering> {
    let text = text_of(found)?;
    // The found side is read as a number only if the other one is.
    let numbers = operand.number.as_ref().and_then(|wanted| Some((number_of(found, &text)?, wanted)));
    Some(match numbers {
        Some((number, wanted)) => number.cmp(wanted),
        None => text.as_ref().cmp(operand.text.as_str()),
    })
}

fn text_of(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        Value::Bool(true) => Some(Cow::Borrowed("true")),
        Value::Bool(false) => Some(Cow::Borrowed("false")),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn number_of(value: &Value, text: &str) -> Option<Decimal> {
    if value.is_boolean() { None } else { Decimal::of_json(text) }
}

//! Parses a filter. Errors carry a JSON pointer; depth and size are bounded.

use serde_json::{Map, Value};

use super::{FilterFault, MAX_DEPTH, MAX_NODES, MAX_PATH_BYTES, MAX_VALUES, Node, Op, Operand};
use crate::{
    fault::{Fault, pointer_step, shown},
    nearest::suggestion,
};

/// How many faults are reported at once.
const MAX_FAULTS: usize = 100;

const GROUPS: [&str; 3] = ["all", "any", "not"];
const TEST_FIELDS: [&str; 3] = ["questionId", "op", "value"];
const FIELDS: [&str; 6] = ["questionId", "op", "value", "all", "any", "not"];

/// Reads a whole filter.
pub(super) fn parse(value: &Value) -> Result<Node, Vec<FilterFault>> {
    let mut reader = Reader { nodes: 0, faults: Vec::new() };
    match reader.node(value, "", 1) {
        Some(node) if reader.faults.is_empty() => Ok(node),
        _ => Err(reader.faults),
    }
}

struct Reader {
    nodes: usize,
    faults: Vec<FilterFault>,
}

impl Reader {
    fn fault(&mut self, pointer: impl Into<String>, code: &'static str, detail: impl Into<String>) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(Fault::new(pointer, code, detail));
        }
    }

    /// One group or test. None means that a fault was noted.
    fn node(&mut self, value: &Value, at: &str, depth: usize) -> Option<Node> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            // Said once: every further node would say the same.
            if self.nodes == MAX_NODES + 1 {
                self.fault(
                    at,
                    "filter_too_large",
                    format!("a filter has at most {MAX_NODES} groups and tests"),
                );
            }
            return None;
        }
        if depth > MAX_DEPTH {
            self.fault(at, "filter_too_deep", format!("groups are nested at most {MAX_DEPTH} deep"));
            return None;
        }
        let Value::Object(fields) = value else {
            let detail = r#"a filter is a test such as {"questionId":"a","op":"==","value":"b"}, or `all`, `any` or `not` of others"#;
            self.fault(at, "wrong_type", detail);
            return None;
        };
        match GROUPS.iter().find(|group| fields.contains_key(**group)) {
            Some(group) => self.group(group, fields, at, depth),
            None => self.test(fields, at),
        }
    }

    fn group(&mut self, group: &str, fields: &Map<String, Value>, at: &str, depth: usize) -> Option<Node> {
        for name in fields.keys().filter(|name| *name != group) {
            let detail = format!("`{group}` must be alone in its object, without `{}`", shown(name));
            self.fault(format!("{at}/{}", pointer_step(name)), "unknown_field", detail);
        }
        let inner = fields.get(group)?;
        let here = format!("{at}/{group}");
        if group == "not" {
            return self.node(inner, &here, depth + 1).map(|node| Node::Not(Box::new(node)));
        }
        let Value::Array(items) = inner else {
            self.fault(here, "wrong_type", format!("`{group}` is a list of filters"));
            return None;
        };
        let mut nodes = Vec::with_capacity(items.len().min(MAX_NODES));
        for (index, item) in items.iter().enumerate() {
            nodes.extend(self.node(item, &format!("{here}/{index}"), depth + 1));
            if self.nodes > MAX_NODES {
                break;
            }
        }
        Some(if group == "all" { Node::All(nodes) } else { Node::Any(nodes) })
    }

    fn test(&mut self, fields: &Map<String, Value>, at: &str) -> Option<Node> {
        for name in fields.keys().filter(|name| !TEST_FIELDS.contains(&name.as_str())) {
            let detail = format!("a filter has no field `{}`: {}", shown(name), suggestion(name, &FIELDS));
            self.fault(format!("{at}/{}", pointer_step(name)), "unknown_field", detail);
        }
        let path = self.path(fields.get("questionId"), at);
        let op = self.op(fields.get("op"), at);
        let values = op.and_then(|op| self.values(op, fields.get("value"), &format!("{at}/value")));
        Some(Node::Test { path: path?, op: op?, values: values? })
    }

    fn path(&mut self, value: Option<&Value>, at: &str) -> Option<String> {
        let here = format!("{at}/questionId");
        match value {
            Some(Value::String(path)) if (1..=MAX_PATH_BYTES).contains(&path.len()) => {
                return Some(path.clone());
            }
            Some(Value::String(_)) => {
                self.fault(here, "out_of_range", format!("`questionId` has 1 to {MAX_PATH_BYTES} bytes"));
            }
            Some(_) => {
                self.fault(here, "wrong_type", "`questionId` is a text, the path of the value to test")
            }
            None => {
                self.fault(here, "missing_field", "a test needs `questionId`, the path of the value to test")
            }
        }
        None
    }

    fn op(&mut self, value: Option<&Value>, at: &str) -> Option<Op> {
        let names = Op::NAMES.map(|(name, _)| name);
        let here = format!("{at}/op");
        match value {
            Some(Value::String(op)) => {
                if let Some((_, op)) = Op::NAMES.iter().find(|(name, _)| name == op) {
                    return Some(*op);
                }
                let detail = format!("`{}` is no operator: {}", shown(op), suggestion(spelled(op), &names));
                self.fault(here, "unknown_operator", detail);
            }
            Some(_) => self.fault(here, "wrong_type", "`op` is a text such as `==`"),
            None => self.fault(here, "missing_field", "a test needs `op`, such as `==`"),
        }
        None
    }

    fn values(&mut self, op: Op, value: Option<&Value>, here: &str) -> Option<Vec<Operand>> {
        match (op, value) {
            (Op::Exists | Op::NotExists, None) => Some(Vec::new()),
            (Op::Exists | Op::NotExists, Some(_)) => {
                self.fault(here, "unknown_field", "`exists` and `notExists` take no `value`");
                None
            }
            (_, None) => {
                self.fault(here, "missing_field", "this operator needs `value`");
                None
            }
            (Op::In | Op::NotIn, Some(Value::Array(items))) if items.len() <= MAX_VALUES => {
                let operands =
                    items.iter().enumerate().map(|(at, item)| self.operand(item, &format!("{here}/{at}")));
                // All of them first, so that every bad item is named.
                operands.collect::<Vec<_>>().into_iter().collect()
            }
            (Op::In | Op::NotIn, Some(Value::Array(_))) => {
                self.fault(
                    here,
                    "out_of_range",
                    format!("`in` and `notIn` list at most {MAX_VALUES} values"),
                );
                None
            }
            (Op::In | Op::NotIn, Some(_)) => {
                self.fault(here, "wrong_type", "`in` and `notIn` need a list of values");
                None
            }
            (_, Some(scalar)) => self.operand(scalar, here).map(|operand| vec![operand]),
        }
    }

    fn operand(&mut self, value: &Value, here: &str) -> Option<Operand> {
        let operand = Operand::new(value);
        if operand.is_none() {
            let detail = match value {
                Value::Null => "nothing is compared with `null`: ask with `exists` or `notExists`",
                _ => "a value is a text, a number or a boolean",
            };
            self.fault(here, "wrong_type", detail);
        }
        operand
    }
}

/// What people write for an operator out of habit from elsewhere.
fn spelled(op: &str) -> &str {
    match op {
        "=" | "===" | "eq" | "equals" => "==",
        "<>" | "!==" | "ne" | "neq" | "notEquals" => "!=",
        "lt" => "<",
        "lte" | "le" => "<=",
        "gt" => ">",
        "gte" | "ge" => ">=",
        "not in" | "nin" => "notIn",
        other => other,
    }
}

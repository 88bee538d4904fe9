//! The canonical text of a filter: equal texts mean equal filters, across releases. Strings are quoted as Rust quotes them. The
//! golden vectors are in the tests of reminder triggers, which are compared by this text.

use super::{Filter, Node, Op, Operand};

impl Filter {
    pub fn identity(&self) -> String {
        format!("Filter({})", self.0.identity())
    }
}

impl Node {
    fn identity(&self) -> String {
        match self {
            Self::All(nodes) => format!("All([{}])", joined(nodes, Self::identity)),
            Self::Any(nodes) => format!("Any([{}])", joined(nodes, Self::identity)),
            Self::Not(node) => format!("Not({})", node.identity()),
            Self::Test { path, op, values } => {
                let values = joined(values, Operand::identity);
                format!("Test {{ path: {path:?}, op: {}, values: [{values}] }}", op.word())
            }
        }
    }
}

impl Operand {
    fn identity(&self) -> String {
        let number =
            self.number.as_ref().map_or("None".to_owned(), |number| format!("Some({})", number.identity()));
        format!("Operand {{ text: {:?}, number: {number} }}", self.text)
    }
}

impl Op {
    fn word(self) -> &'static str {
        match self {
            Self::Equal => "Equal",
            Self::NotEqual => "NotEqual",
            Self::Less => "Less",
            Self::LessOrEqual => "LessOrEqual",
            Self::Greater => "Greater",
            Self::GreaterOrEqual => "GreaterOrEqual",
            Self::In => "In",
            Self::NotIn => "NotIn",
            Self::Contains => "Contains",
            Self::StartsWith => "StartsWith",
            Self::EndsWith => "EndsWith",
            Self::Exists => "Exists",
            Self::NotExists => "NotExists",
        }
    }
}

fn joined<T>(items: &[T], identity: impl Fn(&T) -> String) -> String {
    items.iter().map(identity).collect::<Vec<_>>().join(", ")
}

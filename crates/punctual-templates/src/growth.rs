//! How large a template's values may become, found out before it runs.
//!
//! The engine counts instructions and not bytes: forty times `{% set a = a ~ a %}` is a short program that asks for a
//! terabyte. So a template is walked when it is compiled, and every expression gets a [`Weight`]: so many copies of
//! the context plus so many bytes. The heaviest ones, together with the size of the context, say at render time how
//! much memory one step can need, and how many steps fit the work that a message is worth.
//!
//! The walk also keeps out what it cannot weigh (blocks that capture output, multiplication of texts) and what would
//! overflow the stack of the parser (nesting), each with a fault that says what to write instead.

mod walk;

use minijinja::{
    machinery::{Span, Token, parse, tokenize},
    syntax::SyntaxConfig,
};
use walk::Walk;

/// The most words and signs between `{{` and `}}`; a chain of operators nests as deep as it is long.
const TAG_LIMIT: usize = 400;
/// How deep blocks may nest; each `elif` counts, as the parser descends for it.
const BLOCK_LIMIT: usize = 64;

/// An upper bound of a value's size: copies of the whole context, and bytes besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weight {
    contexts: u64,
    bytes: u64,
}

impl Weight {
    /// The bound in bytes for a context of this size.
    pub(crate) fn of_context(self, size: u64) -> u64 {
        self.contexts.saturating_mul(size).saturating_add(self.bytes)
    }

    fn plus(self, other: Self) -> Self {
        Self {
            contexts: self.contexts.saturating_add(other.contexts),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    fn times(self, factor: u64) -> Self {
        Self { contexts: self.contexts.saturating_mul(factor), bytes: self.bytes.saturating_mul(factor) }
    }

    fn or(self, other: Self) -> Self {
        Self { contexts: self.contexts.max(other.contexts), bytes: self.bytes.max(other.bytes) }
    }
}

/// Why a template is refused, and where.
pub(crate) struct Refusal {
    pub span: Option<Span>,
    pub detail: String,
}

impl From<minijinja::Error> for Refusal {
    /// Faults of the parser itself are reported by the engine, which knows their place best.
    fn from(fault: minijinja::Error) -> Self {
        Self { span: None, detail: fault.to_string() }
    }
}

fn refuse<T>(span: Span, detail: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { span: Some(span), detail: detail.into() })
}

/// What a template can need at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Growth {
    /// The heaviest value that any step makes.
    pub largest: Weight,
    /// The most that one operator goes through. Filters count their own work while they run.
    pub step: Weight,
}

/// Finds out what a template can need.
pub(crate) fn measure(source: &str) -> Result<Growth, Refusal> {
    check_shape(source)?;
    let parsed = parse(source, "template", SyntaxConfig::default())?;
    let mut walk = Walk::default();
    walk.statement(&parsed)?;
    Ok(walk.growth)
}

/// Bounds the nesting with the flat list of tokens, because the parser and the tree it makes are recursive.
fn check_shape(source: &str) -> Result<(), Refusal> {
    // One entry for each open block: how many levels the parser is down because of it.
    let mut open: Vec<usize> = Vec::new();
    let (mut in_tag, mut first_word) = (0, false);
    for token in tokenize(source, false, SyntaxConfig::default()) {
        let (token, span) = token?;
        in_tag += 1;
        if in_tag > TAG_LIMIT {
            return refuse(
                span,
                format!("one `{{{{ }}}}` or `{{% %}}` has at most {TAG_LIMIT} words and signs"),
            );
        }
        match token {
            Token::BlockStart => (in_tag, first_word) = (0, true),
            Token::VariableStart | Token::TemplateData(_) => (in_tag, first_word) = (0, false),
            Token::Ident(word) if first_word => {
                first_word = false;
                match word {
                    "elif" => {
                        if let Some(levels) = open.last_mut() {
                            *levels += 1;
                        }
                    }
                    "if" | "for" | "with" | "filter" | "autoescape" | "block" | "macro" | "call" => {
                        open.push(1)
                    }
                    _ if word.starts_with("end") => drop(open.pop()),
                    _ => {}
                }
                if open.iter().sum::<usize>() > BLOCK_LIMIT {
                    return refuse(span, format!("blocks nest at most {BLOCK_LIMIT} deep"));
                }
            }
            _ => first_word = false,
        }
    }
    Ok(())
}

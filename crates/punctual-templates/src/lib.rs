//! Message templates: what a message says, for each language, filled in with the values of one source.
//!
//! A template is text with `{{ value }}`, `{% if %}`, `{% for %}` and `{% set %}`. It is compiled when it is saved and
//! rendered when a message is due, in a sandbox: no loader, no macros, no other templates, an instruction budget, a
//! limit on what values may grow to (`growth.rs`) and a limit on the output. A variable that was not given is an
//! error that names it. HTML is escaped always: data is only ever a value and never markup.
//!
//! Which variant a reader gets is [`pick`]; which filters an author may use is listed in [`filters`].

mod engine;
pub mod filters;
mod growth;
mod inline;
mod locale;

use std::fmt;

pub use engine::{Compiled, compile_check};
pub use inline::{InlineFault, InlineTemplate, Variables, has_marks, variables_of};
pub use locale::{normalise, pick};

/// The longest template text, in bytes. A long mail is 20 KiB.
pub const SOURCE_LIMIT: usize = 64 * 1024;
/// The longest rendered field, in bytes.
pub const OUTPUT_LIMIT: usize = 256 * 1024;
/// The largest context, counted as text plus a little for each value.
pub const CONTEXT_LIMIT: u64 = 1024 * 1024;

/// The texts of one template in one language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variant {
    pub subject: String,
    pub body: String,
    pub html: Option<String>,
}

/// What a template became.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    pub subject: String,
    pub body: String,
    pub html: Option<String>,
}

/// Which text of a template is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    Subject,
    Body,
    Html,
}

impl Field {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Field::Subject => "subject",
            Field::Body => "body",
            Field::Html => "html",
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {detail}")]
pub struct TemplateFault {
    /// Always `template_syntax`; the detail says what is wrong and shows the text near it.
    pub code: &'static str,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    pub detail: String,
}

/// Why a template could not be rendered with these values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {why}")]
pub struct RenderFault {
    pub field: Field,
    pub why: RenderFailure,
}

impl RenderFault {
    /// The stable code, such as `template_limit`.
    pub const fn code(&self) -> &'static str {
        match self.why {
            RenderFailure::UnknownVariable { .. } => "template_unknown_variable",
            RenderFailure::Limit => "template_limit",
            RenderFailure::SubjectInvalid => "subject_invalid",
            RenderFailure::Syntax(_) => "template_syntax",
            RenderFailure::Failed { .. } => "template_failed",
        }
    }
}

/// The ways in which rendering fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderFailure {
    #[error("the variable `{name}` is not given")]
    UnknownVariable { name: String },
    #[error("the template takes more steps, memory or output than it may")]
    Limit,
    #[error("the subject must be one line")]
    SubjectInvalid,
    #[error(transparent)]
    Syntax(TemplateFault),
    #[error("{detail}")]
    Failed { detail: String },
}

/// Renders a variant once; keep a [`Compiled`] where the same one is rendered again.
pub fn render(variant: &Variant, context: &serde_json::Value) -> Result<Rendered, RenderFault> {
    Compiled::new(variant)
        .map_err(|(field, fault)| RenderFault { field, why: RenderFailure::Syntax(fault) })?
        .render(context)
}

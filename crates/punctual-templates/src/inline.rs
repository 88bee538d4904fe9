//! Texts that an author writes into a definition instead of naming a template: templates too, with the same variables and
//! the same sandbox, checked when the definition is saved.

use std::{borrow::Cow, collections::BTreeSet};

use crate::{Field, TemplateFault, Variant, engine};

/// What begins something in a template. A text without any of these says what it says.
const MARKS: [&str; 3] = ["{{", "{%", "{#"];
/// Names that every template has.
const ALWAYS: [&str; 2] = ["loop", "range"];

/// Whether something in this text may be more than text.
pub fn has_marks(text: &str) -> bool {
    MARKS.iter().any(|mark| text.contains(mark))
}

/// The values that a variant asks for, as paths: `date`, `document.name`. A text that is no template asks for none.
pub fn variables_of(variant: &Variant) -> BTreeSet<String> {
    let texts = [Some(&variant.subject), Some(&variant.body), variant.html.as_ref()];
    let names =
        texts.into_iter().flatten().flat_map(|text| engine::names_in(Field::Body, text).unwrap_or_default());
    names.filter(|name| !ALWAYS.contains(&name.split('.').next().unwrap_or(name))).collect()
}

/// The variables that the texts of one kind of definition see, as paths: `title`, `recipient.address`; `candidate.*` where
/// anything may stand below, and `*` where any other name may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variables(pub &'static [&'static str]);

impl Variables {
    /// The paths that an author may be shown.
    pub fn paths(self) -> impl Iterator<Item = &'static str> {
        self.0.iter().copied().filter(|path| *path != "*")
    }

    /// One line for authors: ``Variables: `title`, `surveyUrl`.``
    pub fn hint(self) -> String {
        let paths: Vec<String> = self.paths().map(|path| format!("{{{{ {path} }}}}")).collect();
        let others = if self.0.contains(&"*") { ", and the fields of the source's state" } else { "" };
        format!("Variables: {}{others}.", paths.join(", "))
    }

    fn knows(self, name: &str) -> bool {
        let root = name.split('.').next().unwrap_or(name);
        let below =
            |path: &str, prefix: &str| path.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.'));
        let fits = |path: &str| match path.strip_suffix(".*") {
            Some(open) => name == open || below(name, open),
            None => name == path || below(path, name),
        };
        let mut own = self.paths().filter(|path| path.split('.').next() == Some(root)).peekable();
        match own.peek() {
            Some(_) => own.any(fits),
            None => ALWAYS.contains(&root) || self.0.contains(&"*"),
        }
    }
}

/// Why a text cannot be used in a definition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InlineFault {
    #[error("line {}, column {}: {}", .0.line, .0.column, .0.detail)]
    Syntax(TemplateFault),
    #[error("there is no variable `{}` here", .0.join("`, `"))]
    UnknownVariables(Vec<String>),
}

impl InlineFault {
    /// The stable code, such as `template_syntax`.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Syntax(_) => "template_syntax",
            Self::UnknownVariables(_) => "template_unknown_variable",
        }
    }
}

/// One text of a definition, read once. What it is rendered with is always a value and never becomes a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlineTemplate {
    text: String,
    is_template: bool,
}

impl InlineTemplate {
    /// Reads a text as an author gives it.
    pub fn parse(text: impl Into<String>, variables: Variables) -> Result<Self, InlineFault> {
        let text = text.into();
        if !has_marks(&text) {
            return Ok(Self::literal(text));
        }
        // The rules are the same for every field; only what is escaped differs.
        let names = engine::names_in(Field::Body, &text).map_err(InlineFault::Syntax)?;
        let unknown: BTreeSet<String> = names.into_iter().filter(|name| !variables.knows(name)).collect();
        if !unknown.is_empty() {
            return Err(InlineFault::UnknownVariables(unknown.into_iter().collect()));
        }
        Ok(Self { text, is_template: true })
    }

    /// Reads a text as it is stored. One that could not be saved today is from before texts were templates, and says what
    /// it said then.
    pub fn stored(text: &str, variables: Variables) -> Self {
        Self::parse(text, variables).unwrap_or_else(|_| Self::literal(text))
    }

    /// A text that says what it says.
    pub fn literal(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_template: false }
    }

    pub fn is_template(&self) -> bool {
        self.is_template
    }

    /// The text: to be rendered where it is a template, else to be sent as it is.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The same with a literal text after it.
    #[must_use]
    pub fn followed_by(&self, tail: &str) -> Self {
        let tail = if self.is_template { as_source(tail) } else { Cow::Borrowed(tail) };
        Self { text: format!("{}{tail}", self.text), is_template: self.is_template }
    }
}

/// A template that renders to this text.
fn as_source(text: &str) -> Cow<'_, str> {
    let mut source = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(one) = rest.next() {
        let begins = one == '{' && rest.peek().is_none_or(|next| matches!(next, '{' | '%' | '#'));
        match begins {
            true => source.push_str("{{ '{' }}"),
            false => source.push(one),
        }
    }
    // The last line break of a template is dropped, as Jinja does.
    if text.ends_with('\n') {
        source.push('\n');
    }
    Cow::Owned(source)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Compiled;

    const KNOWN: Variables = Variables(&["title", "recipient.address", "candidate.*"]);

    #[test]
    fn the_variables_of_a_variant_are_what_it_takes_from_its_values() {
        let of = |subject: &str, body: &str| {
            let variant = Variant { subject: subject.into(), body: body.into(), html: None };
            variables_of(&variant).into_iter().collect::<Vec<_>>()
        };
        let loops =
            "{% for item in items %}{{ loop.index }} {{ item.name }}{% endfor %}{% set n = 1 %}{{ n }}";
        assert_eq!(of("{{ owner.name|upper }}", loops), ["items", "owner.name"]);
        assert_eq!(of("{{ date", "{{ date }} {{ 'text' }}"), ["date"]);
    }

    fn rendered(text: &InlineTemplate, context: &serde_json::Value) -> String {
        let variant = Variant { body: text.as_str().to_owned(), ..Variant::default() };
        Compiled::new(&variant).unwrap().render(context).unwrap().body
    }

    #[test]
    fn a_text_without_marks_is_literal_and_any_other_is_a_template() {
        assert!(!InlineTemplate::parse("Costs {5} % # }}", KNOWN).unwrap().is_template());
        let text = InlineTemplate::parse("Dear {{ recipient.address }}", KNOWN).unwrap();
        assert!(text.is_template());
        let values = json!({ "recipient": { "address": "{{ 7*7 }}" } });
        assert_eq!(rendered(&text, &values), "Dear {{ 7*7 }}", "a value is never read as a template");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let fault = InlineTemplate::parse("Dear {{ name", KNOWN).unwrap_err();
        assert_eq!(fault.code(), "template_syntax");
        let text = "{{ recipient.adress }} {{ candidate.a.b }} {{ nmae }} {% for x in candidate.items %}{{ x }}{{ loop.index }}{% endfor %}";
        let fault = InlineTemplate::parse(text, KNOWN).unwrap_err();
        assert_eq!(fault.to_string(), "there is no variable `nmae`, `recipient.adress` here");
        let open = Variables(&["reminder.dueAt", "*"]);
        assert!(InlineTemplate::parse("{{ anything }} {{ reminder.dueAt }}", open).is_ok());
        assert!(InlineTemplate::parse("{{ reminder.due }}", open).is_err());
    }

    #[test]
    fn a_stored_text_that_is_no_template_stays_what_it_was() {
        for text in ["Dear {{ name", "Dear {{ nobody }}"] {
            let stored = InlineTemplate::stored(text, KNOWN);
            assert_eq!((stored.as_str(), stored.is_template()), (text, false));
        }
    }

    #[test]
    fn a_literal_tail_renders_to_itself() {
        let text = InlineTemplate::parse("{{ title }}", KNOWN).unwrap();
        for tail in ["\n\nhttps://a.example/s/{{ 7*7 }}\n", "{% raw %}{", "{{{", "{#x#}\n\n", ""] {
            let whole = text.followed_by(tail);
            assert_eq!(rendered(&whole, &json!({ "title": "T" })), format!("T{tail}"));
            let literal = InlineTemplate::literal("T").followed_by(tail);
            assert_eq!((literal.as_str(), literal.is_template()), (format!("T{tail}").as_str(), false));
        }
    }
}

//! Compiling and rendering inside the sandbox.

use std::io::{self, Write};

use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, Value, value::Serde};

use crate::{
    CONTEXT_LIMIT, Field, OUTPUT_LIMIT, RenderFailure, RenderFault, Rendered, SOURCE_LIMIT, TemplateFault,
    Variant, filters,
    growth::{self, Growth},
};

/// The most instructions of one render. A row of a table takes about twenty.
const FUEL: u64 = 200_000;
/// The largest value that one step may make.
const VALUE_LIMIT: u64 = 4 * 1024 * 1024;
/// The most bytes that the operators of one render may go through: one or two seconds of copying.
const WORK_LIMIT: u64 = 16 * 1024 * 1024 * 1024;
/// How deep the engine may descend. There are no macros, so that nothing should.
const RECURSION_LIMIT: usize = 32;
/// How deep a context may nest, as for any JSON that is received.
const DEPTH_LIMIT: usize = 64;

/// Checks that a text is a template, without rendering it.
pub fn compile_check(text: &str) -> Result<(), TemplateFault> {
    compile(&mut sandbox(), Field::Body, text).map(drop)
}

/// The names that a template takes from its values, with what is read of them: `state.number`.
pub(crate) fn names_in(field: Field, text: &str) -> Result<Vec<String>, TemplateFault> {
    let mut env = sandbox();
    compile(&mut env, field, text)?;
    let names = env.get_template(field.name()).map(|template| template.undeclared_variables(true));
    Ok(names.map_err(|fault| from_engine(text, &fault))?.into_iter().collect())
}

/// A variant that is ready to be rendered many times, from any thread.
#[derive(Clone, Debug)]
pub struct Compiled {
    env: Environment<'static>,
    fields: Vec<(Field, Growth)>,
}

impl Compiled {
    /// Compiles every text of a variant; the fault says in which one it is.
    pub fn new(variant: &Variant) -> Result<Self, (Field, TemplateFault)> {
        let mut env = sandbox();
        let mut fields = Vec::with_capacity(3);
        let texts = [
            (Field::Subject, Some(&variant.subject)),
            (Field::Body, Some(&variant.body)),
            (Field::Html, variant.html.as_ref()),
        ];
        for (field, text) in texts {
            if let Some(text) = text {
                let growth = compile(&mut env, field, text).map_err(|fault| (field, fault))?;
                fields.push((field, growth));
            }
        }
        Ok(Self { env, fields })
    }

    /// Fills in the values of a JSON object.
    pub fn render(&self, context: &serde_json::Value) -> Result<Rendered, RenderFault> {
        let size = size_of(context, 0);
        let values = if size <= CONTEXT_LIMIT { Value::from(Serde(context)) } else { Value::UNDEFINED };
        let mut rendered = Rendered { subject: String::new(), body: String::new(), html: None };
        for (field, growth) in &self.fields {
            let text = self
                .render_field(*field, *growth, size, &values)
                .map_err(|why| RenderFault { field: *field, why })?;
            match field {
                Field::Subject => rendered.subject = text,
                Field::Body => rendered.body = text,
                Field::Html => rendered.html = Some(text),
            }
        }
        Ok(rendered)
    }

    fn render_field(
        &self,
        field: Field,
        growth: Growth,
        context_size: u64,
        values: &Value,
    ) -> Result<String, RenderFailure> {
        if context_size > CONTEXT_LIMIT || growth.largest.of_context(context_size) > VALUE_LIMIT {
            return Err(RenderFailure::Limit);
        }
        let fuel = FUEL.min(WORK_LIMIT / growth.step.of_context(context_size).max(1));
        let narrowed;
        let env = if fuel < FUEL {
            narrowed = {
                let mut env = self.env.clone();
                env.set_fuel(Some(fuel));
                env
            };
            &narrowed
        } else {
            &self.env
        };
        let mut output = Capped(Vec::new());
        env.get_template(field.name())
            .and_then(|template| template.render_captured_to(values.clone(), &mut output).map(drop))
            .map_err(|fault| explain(&fault))?;
        let text = String::from_utf8(output.0).map_err(|_| RenderFailure::Limit)?;
        if field != Field::Subject {
            return Ok(text);
        }
        // A line break at the end of a subject is how people write templates, not an attack.
        let subject = text.trim();
        if subject.chars().any(char::is_control) {
            return Err(RenderFailure::SubjectInvalid);
        }
        Ok(subject.to_owned())
    }
}

fn sandbox() -> Environment<'static> {
    let mut env = Environment::empty();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_fuel(Some(FUEL));
    env.set_recursion_limit(RECURSION_LIMIT);
    // Without it the engine forgets which variable was not given.
    env.set_debug(true);
    env.set_auto_escape_callback(|name| {
        if name == Field::Html.name() { AutoEscape::Html } else { AutoEscape::None }
    });
    filters::install(&mut env);
    env
}

fn compile(env: &mut Environment<'static>, field: Field, text: &str) -> Result<Growth, TemplateFault> {
    if text.len() > SOURCE_LIMIT {
        let detail = format!("a template has at most {SOURCE_LIMIT} bytes, this one has {}", text.len());
        return Err(TemplateFault { code: "template_syntax", line: 1, column: 1, detail });
    }
    let growth = match growth::measure(text) {
        Ok(growth) => growth,
        Err(growth::Refusal { span: Some(span), detail }) => {
            return Err(fault_at(text, span.start_offset as usize, &detail));
        }
        // The parser's own fault, which the engine reports with its place; it never gets as far as running.
        Err(growth::Refusal { span: None, detail }) => {
            let fault = env.add_template_owned(field.name(), text.to_owned()).err();
            return Err(match fault {
                Some(fault) => from_engine(text, &fault),
                None => fault_at(text, 0, &detail),
            });
        }
    };
    env.add_template_owned(field.name(), text.to_owned()).map_err(|fault| from_engine(text, &fault))?;
    Ok(growth)
}

fn from_engine(text: &str, fault: &Error) -> TemplateFault {
    let start_of_line = || {
        let lines = fault.line().unwrap_or(1).saturating_sub(1);
        text.split_inclusive('\n').take(lines).map(str::len).sum()
    };
    let offset = fault.range().map_or_else(start_of_line, |range| range.start);
    fault_at(text, offset, fault.detail().unwrap_or("this is no template"))
}

/// A fault at a byte of the text, with what is there.
fn fault_at(text: &str, offset: usize, detail: &str) -> TemplateFault {
    let offset = text.floor_char_boundary(offset);
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let near: String = text[offset..].chars().take_while(|c| *c != '\n').take(40).collect();
    let near = if near.trim().is_empty() { "the end".to_owned() } else { format!("`{near}`") };
    TemplateFault {
        code: "template_syntax",
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        detail: format!("{detail}, near {near}"),
    }
}

fn explain(fault: &Error) -> RenderFailure {
    if matches!(fault.kind(), ErrorKind::OutOfFuel | ErrorKind::WriteFailure) {
        return RenderFailure::Limit;
    }
    let detail = fault.detail().unwrap_or_default();
    if detail.contains("recursion limit") {
        return RenderFailure::Limit;
    }
    // The engine puts the expression between backticks: "`user.name` is undefined".
    let named = detail.split_once("` is undefined").and_then(|(head, _)| head.rsplit_once('`'));
    if let Some((_, name)) = named {
        return RenderFailure::UnknownVariable { name: name.to_owned() };
    }
    if fault.kind() == ErrorKind::UndefinedError {
        return RenderFailure::UnknownVariable { name: "?".to_owned() };
    }
    let line = fault.line().map(|line| format!("line {line}: ")).unwrap_or_default();
    let text = if detail.is_empty() { fault.kind().to_string() } else { detail.to_owned() };
    RenderFailure::Failed { detail: format!("{line}{text}") }
}

/// How much text a context can become: its strings, and a little for each value.
fn size_of(context: &serde_json::Value, depth: usize) -> u64 {
    const PER_VALUE: u64 = 32;
    if depth > DEPTH_LIMIT {
        return u64::MAX;
    }
    let inside = match context {
        serde_json::Value::String(text) => text.len() as u64,
        serde_json::Value::Array(items) => {
            items.iter().map(|item| size_of(item, depth + 1)).fold(0, u64::saturating_add)
        }
        serde_json::Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| size_of(value, depth + 1).saturating_add(name.len() as u64))
            .fold(0, u64::saturating_add),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => 0,
    };
    inside.saturating_add(PER_VALUE)
}

/// Takes what a template writes until it is too much.
struct Capped(Vec<u8>);

impl Write for Capped {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if self.0.len() + piece.len() > OUTPUT_LIMIT {
            return Err(io::Error::other("the output is too long"));
        }
        self.0.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

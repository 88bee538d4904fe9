//! What a message says: its own text, or its template filled in. Templates are read when a message is sent, not
//! before, and each is compiled once for a batch.

use punctual_model::{ReasonCode, TextField};
use std::collections::{BTreeMap, HashMap};

use punctual_store::{
    Conn, StoreError,
    notifications::NotificationRow,
    templates::{self, TemplateVersion},
};
use punctual_templates::{Compiled, RenderFailure, Rendered, Variant, pick};

use super::ToSend;
use crate::Engine;

/// A text that cannot be made, and why.
pub(super) struct Unrenderable {
    pub(super) reason: ReasonCode,
    pub(super) error: String,
}

/// The templates of one batch, with what was compiled so far.
#[derive(Default)]
pub(super) struct Templates {
    stored: HashMap<String, (String, BTreeMap<String, Variant>)>,
    compiled: HashMap<(String, Option<String>), Result<Compiled, String>>,
    /// Those of messages with templates of their own, by their texts.
    inline: HashMap<(String, String, Option<String>), Result<Compiled, String>>,
}

impl Engine {
    pub(super) async fn templates_of(&self, items: &[ToSend]) -> Result<Templates, StoreError> {
        let names: Vec<String> = items.iter().filter_map(|item| item.row.template.clone()).collect();
        if names.is_empty() {
            return Ok(Templates::default());
        }
        let mut reader = self.store.read().await?;
        Templates::load(&mut reader.conn(), names).await
    }
}

impl Templates {
    pub(super) async fn load(conn: &mut Conn<'_>, mut names: Vec<String>) -> Result<Self, StoreError> {
        if names.is_empty() {
            return Ok(Self::default());
        }
        names.sort_unstable();
        names.dedup();
        let rows = templates::by_names(conn, names).await?;
        let stored =
            rows.into_iter().map(|row| (row.name, (row.default_locale, variants(&row.variants)))).collect();
        Ok(Self { stored, ..Self::default() })
    }

    /// One template as it was.
    pub(super) fn of_version(version: TemplateVersion) -> Self {
        let texts = (version.default_locale, variants(&version.variants));
        Self { stored: HashMap::from([(version.name, texts)]), ..Self::default() }
    }
}

/// The stored variants, by locale.
pub(crate) fn variants(json: &str) -> BTreeMap<String, Variant> {
    #[derive(serde::Deserialize)]
    struct Stored {
        subject: String,
        body: String,
        html: Option<String>,
    }
    let stored: BTreeMap<String, Stored> = serde_json::from_str(json).unwrap_or_default();
    stored
        .into_iter()
        .map(|(locale, text)| (locale, Variant { subject: text.subject, body: text.body, html: text.html }))
        .collect()
}

impl Templates {
    pub(super) fn render(&mut self, row: &NotificationRow) -> Result<Rendered, Unrenderable> {
        let Some(name) = &row.template else { return self.own_text(row) };
        let compiled = self
            .compiled
            .entry((name.clone(), row.locale.clone()))
            .or_insert_with(|| compile(&self.stored, name, row.locale.as_deref()));
        let compiled = compiled
            .as_ref()
            .map_err(|error| Unrenderable { reason: ReasonCode::TemplateUnusable, error: error.clone() })?;
        filled_in(compiled, row)
    }

    /// The text that a message brings itself: as it is stored, but for what its envelope calls a template.
    fn own_text(&mut self, row: &NotificationRow) -> Result<Rendered, Unrenderable> {
        let own = Rendered { subject: row.subject.clone(), body: row.body.clone(), html: row.html.clone() };
        let envelope = row.envelope.as_ref().and_then(|envelope| envelope.read().ok()).unwrap_or_default();
        if envelope.inline.is_empty() {
            return Ok(own);
        }
        let is_template = |field| envelope.inline.contains(&field);
        let source = |field, text: &str| if is_template(field) { text.to_owned() } else { String::new() };
        let variant = Variant {
            subject: source(TextField::Subject, &own.subject),
            body: source(TextField::Body, &own.body),
            html: own.html.clone().filter(|_| is_template(TextField::Html)),
        };
        let key = (variant.subject.clone(), variant.body.clone(), variant.html.clone());
        let compiled = self.inline.entry(key).or_insert_with(|| {
            Compiled::new(&variant).map_err(|(field, fault)| format!("its {field}: {fault}"))
        });
        let compiled = compiled
            .as_ref()
            .map_err(|error| Unrenderable { reason: ReasonCode::TemplateSyntax, error: error.clone() })?;
        let rendered = filled_in(compiled, row)?;
        Ok(Rendered {
            subject: if is_template(TextField::Subject) { rendered.subject } else { own.subject },
            body: if is_template(TextField::Body) { rendered.body } else { own.body },
            html: if is_template(TextField::Html) { rendered.html } else { own.html },
        })
    }
}

fn filled_in(compiled: &Compiled, row: &NotificationRow) -> Result<Rendered, Unrenderable> {
    let context = match &row.context {
        Some(context) => context.read().map_err(|_| Unrenderable {
            reason: ReasonCode::InputUnreadable,
            error: "the stored context of the message cannot be read".to_owned(),
        })?,
        None => serde_json::json!({}),
    };
    compiled
        .render(&context)
        .map_err(|fault| Unrenderable { reason: reason_of(&fault.why), error: fault.to_string() })
}

fn reason_of(failure: &RenderFailure) -> ReasonCode {
    match failure {
        RenderFailure::UnknownVariable { .. } => ReasonCode::TemplateUnknownVariable,
        RenderFailure::Limit => ReasonCode::TemplateLimit,
        RenderFailure::SubjectInvalid => ReasonCode::SubjectInvalid,
        RenderFailure::Syntax(_) => ReasonCode::TemplateSyntax,
        RenderFailure::Failed { .. } => ReasonCode::TemplateFailed,
    }
}

fn compile(
    stored: &HashMap<String, (String, BTreeMap<String, Variant>)>,
    name: &str,
    locale: Option<&str>,
) -> Result<Compiled, String> {
    let (default, variants) = stored.get(name).ok_or_else(|| format!("there is no template `{name}`"))?;
    let (_, variant) =
        pick(variants, default, locale).ok_or_else(|| format!("template `{name}` has no text"))?;
    Compiled::new(variant).map_err(|(field, fault)| format!("template `{name}`, {field}: {fault}"))
}

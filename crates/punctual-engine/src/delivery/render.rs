//! What a message says: its own text, or its template filled in. Templates are read when a message is sent, not
//! before, and each is compiled once for a batch.

use punctual_model::ReasonCode;
use std::collections::{BTreeMap, HashMap};

use punctual_store::{Conn, StoreError, notifications::ClaimedNotification, templates};
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
        Ok(Self { stored, compiled: HashMap::new() })
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
    pub(super) fn render(&mut self, row: &ClaimedNotification) -> Result<Rendered, Unrenderable> {
        let Some(name) = &row.template else {
            return Ok(Rendered {
                subject: row.subject.clone(),
                body: row.body.clone(),
                html: row.html.clone(),
            });
        };
        let compiled = self
            .compiled
            .entry((name.clone(), row.locale.clone()))
            .or_insert_with(|| compile(&self.stored, name, row.locale.as_deref()));
        let compiled = compiled
            .as_ref()
            .map_err(|error| Unrenderable { reason: ReasonCode::TemplateUnusable, error: error.clone() })?;
        let context = row.context.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let context = context.unwrap_or_else(|| serde_json::json!({}));
        compiled
            .render(&context)
            .map_err(|fault| Unrenderable { reason: reason_of(&fault.why), error: fault.to_string() })
    }
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

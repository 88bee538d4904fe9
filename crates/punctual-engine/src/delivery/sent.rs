//! What a message said, made again from what is stored: its own texts and values, or those and the version of its template
//! that was in force when it was sent. No rendered text is kept for it.

use punctual_boxed::boxed;
use punctual_model::AttemptOutcome;
use punctual_store::{attempts, notifications::NotificationRow, templates};
use punctual_templates::Rendered;

use super::render::Templates;
use crate::{Engine, EngineError};

/// The content of a message, and how sure it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentContent {
    /// Nothing where it cannot be made again.
    pub text: Option<Rendered>,
    pub basis: Basis,
    /// The version of the template.
    pub version: Option<i64>,
    /// What a reader should know about it.
    pub note: Option<String>,
}

/// What a shown text was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The message's own texts and values: it is exactly what is sent.
    Stored,
    /// The template as it was when the message was sent.
    Template,
    /// The template as it is now: no attempt was made yet.
    Now,
    /// What the template said then is not kept any more.
    Gone,
}

impl Basis {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Template => "template",
            Self::Now => "now",
            Self::Gone => "gone",
        }
    }
}

impl Engine {
    /// What a message said, or what it will say where no attempt was made yet.
    #[boxed]
    pub async fn content_of(&self, row: &NotificationRow) -> Result<SentContent, EngineError> {
        let Some(name) = row.template.clone() else {
            return made(Templates::default(), row, Basis::Stored, None).await;
        };
        let mut reader = self.store.read_for_people().await?;
        let tried = attempts::of(&mut reader.conn(), vec![row.seq]).await?;
        // The attempt that arrived says what people have read; else the last one.
        let arrived = tried.iter().filter(|one| one.outcome == Some(AttemptOutcome::Delivered));
        let shown =
            arrived.max_by_key(|one| one.started_at).or(tried.iter().max_by_key(|one| one.started_at));
        let (began, ended, basis) = match shown {
            Some(one) => (one.started_at, one.finished_at.unwrap_or(one.started_at), Basis::Template),
            None => (self.clock.now(), self.clock.now(), Basis::Now),
        };
        let Some(version) = templates::in_force(&mut reader.conn(), &name, began).await? else {
            let note = match basis {
                Basis::Now => format!("There is no template `{name}`."),
                _ => format!("What the template `{name}` said then is not kept any more."),
            };
            return Ok(SentContent { text: None, basis: Basis::Gone, version: None, note: Some(note) });
        };
        let after = templates::in_force(&mut reader.conn(), &name, ended).await?;
        drop(reader);
        let changed = after.is_some_and(|after| after.since != version.since);
        let number = version.version;
        let mut content = made(Templates::of_version(version), row, basis, Some(number)).await?;
        if changed && content.note.is_none() {
            let note = "The template was changed while the message was being sent: it may say what the next version says.";
            content.note = Some(note.to_owned());
        }
        Ok(content)
    }
}

/// Up to two seconds of work for the worst template there can be: not on a thread that serves others.
async fn made(
    mut templates: Templates,
    row: &NotificationRow,
    basis: Basis,
    version: Option<i64>,
) -> Result<SentContent, EngineError> {
    let row = row.clone();
    let rendered = tokio::task::spawn_blocking(move || {
        templates.render(&row).map_err(|why| format!("It cannot be filled in: {}.", why.error))
    });
    let rendered = rendered.await.map_err(|error| EngineError::Panicked(error.to_string()))?;
    Ok(match rendered {
        Ok(text) => SentContent { text: Some(text), basis, version, note: None },
        Err(note) => SentContent { text: None, basis, version, note: Some(note) },
    })
}

//! The duplicate rules (recipe) of a trigger, and the values they use.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::keys::dedup_hash;

/// One event as filters and recipes see it: `templateId`, `recipient.…` and `candidate.…`.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'c> {
    pub survey_id: i64,
    pub payload: &'c Map<String, Value>,
    pub address: &'c str,
    pub locale: Option<&'c str>,
    pub customer_ref: Option<&'c str>,
}

impl<'c> Candidate<'c> {
    /// What a path leads to.
    pub fn get(&self, path: &str) -> Option<Cow<'c, Value>> {
        if let Some(key) = path.strip_prefix("candidate.") {
            return self.payload.get(key).map(Cow::Borrowed);
        }
        let text = |text: &str| Cow::Owned(Value::from(text));
        match path {
            "templateId" => Some(Cow::Owned(Value::from(self.survey_id))),
            "recipient.address" => Some(text(self.address)),
            "recipient.locale" => self.locale.map(text),
            "recipient.customerRef" => self.customer_ref.map(text),
            _ => None,
        }
    }

    /// The value in the text that is hashed; a missing one is empty.
    fn written(&self, path: &str) -> Cow<'c, str> {
        match path {
            "recipient.address" => return Cow::Borrowed(self.address),
            "recipient.locale" => return Cow::Borrowed(self.locale.unwrap_or_default()),
            "recipient.customerRef" => return Cow::Borrowed(self.customer_ref.unwrap_or_default()),
            "templateId" => return Cow::Owned(self.survey_id.to_string()),
            _ => {}
        }
        match path.strip_prefix("candidate.").and_then(|key| self.payload.get(key)) {
            None | Some(Value::Null) => Cow::Borrowed(""),
            Some(Value::String(text)) => Cow::Borrowed(text),
            Some(other) => Cow::Owned(other.to_string()),
        }
    }
}

/// Whether a path is one that a candidate can have.
pub(super) fn is_candidate_path(path: &str) -> bool {
    matches!(path, "templateId" | "recipient.address" | "recipient.locale" | "recipient.customerRef")
        || path.strip_prefix("candidate.").is_some_and(|key| !key.is_empty())
}

/// The path of the survey itself.
const SURVEY: &str = "templateId";

/// The paths that make an event the same as another one, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe(pub(super) Vec<String>);

impl Recipe {
    pub fn paths(&self) -> &[String] {
        &self.0
    }

    /// The hash of an event under this recipe.
    pub fn hash(&self, candidate: &Candidate<'_>) -> [u8; 32] {
        dedup_hash(&self.pairs(candidate).collect::<Vec<_>>())
    }

    /// The hash of an event for a survey of this business unit alone.
    pub fn hash_within(&self, unit: &str, candidate: &Candidate<'_>) -> [u8; 32] {
        let own = std::iter::once(("businessUnit", Cow::Borrowed(unit)));
        dedup_hash(&own.chain(self.pairs(candidate)).collect::<Vec<_>>())
    }

    /// Whether events of other surveys are other events.
    pub fn names_survey(&self) -> bool {
        self.0.iter().any(|path| path == SURVEY)
    }

    fn pairs<'r>(&'r self, candidate: &'r Candidate<'_>) -> impl Iterator<Item = (&'r str, Cow<'r, str>)> {
        self.0.iter().map(|path| (path.as_str(), candidate.written(path)))
    }
}

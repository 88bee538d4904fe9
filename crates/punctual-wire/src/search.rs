//! `/api/v1/search`: one search over messages, work, sources, people and settings.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    fields::{Fields, query_object},
    problem::FieldError,
};

/// The longest text that is searched for, in bytes.
pub const SEARCH_MAX: usize = 200;

/// What is searched for.
#[derive(Clone, Debug, PartialEq, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SearchQuery {
    /// An id, a key, an address, or a part of a name, a subject or an error.
    #[param(example = "cold-chain", min_length = 1, max_length = 200)]
    pub q: String,
}

impl SearchQuery {
    pub fn read(parameters: Vec<(String, String)>) -> Result<Self, Vec<FieldError>> {
        let object = query_object(parameters);
        let mut fields = Fields::query(&object);
        let query = Self { q: fields.required_text("q", 1..=SEARCH_MAX) };
        fields.finish().map(|()| query)
    }
}

/// The best matches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SearchResults {
    /// At most twenty, the best first.
    pub items: Vec<SearchHit>,
    /// Kinds of which only the newest rows were searched for the text or the address, because there are more. Ids and keys are found
    /// all the same. For a caller who is limited to business units it is every kind, so that nothing is said of how much others have.
    #[schema(example = json!(["message"]))]
    pub cut: Vec<Cow<'static, str>>,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SearchHit {
    /// `message`, `work`, `source`, `person` or `setting`; others may be added.
    #[schema(value_type = String, example = "setting")]
    pub kind: Cow<'static, str>,
    pub id: String,
    #[schema(example = "cold-chain")]
    pub title: String,
    /// What it is, and what else it was found by.
    #[schema(example = "list · email:default")]
    pub note: String,
    /// Its page in the console.
    #[schema(example = "/outbox?list=cold-chain")]
    pub link: String,
}

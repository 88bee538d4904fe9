//! Extractors for path segments and the query, with Punctual's own error messages.

mod known;

use axum::{
    extract::{FromRequestParts, Path, Query},
    http::request::Parts,
};
use punctual_wire::{
    Code, FieldError, Problem,
    fields::{Fields, query_object},
    limits::NAME_MAX,
    names::name_fault,
    page::{NamePageQuery, PageQuery},
};
use serde::de::DeserializeOwned;

pub use self::known::KnownParameters;
use crate::answer::Failure;

/// The segments of a path. One that is no text is a path that does not exist.
pub struct Segments<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Segments<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let Path(segments) = Path::from_request_parts(parts, state)
            .await
            .map_err(|_| Failure::from(Problem::route_not_found()))?;
        Ok(Self(segments))
    }
}

/// The parameters after the `?`, in their order.
pub struct Parameters(pub Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Parameters {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Failure> {
        let Query(pairs) = Query::try_from_uri(&parts.uri).map_err(|_| {
            Failure::from(FieldError::new("", Code::TextInvalid, "The query of the address cannot be read."))
        })?;
        Ok(Self(pairs))
    }
}

impl Parameters {
    /// Only which page is wanted.
    pub fn page(self) -> Result<PageQuery, Failure> {
        self.read(PageQuery::read)
    }

    /// Only which page is wanted, of a list in order of name.
    pub fn name_page(self) -> Result<NamePageQuery, Failure> {
        self.read(NamePageQuery::read)
    }

    pub fn read<T>(self, read: impl FnOnce(&mut Fields<'_>) -> T) -> Result<T, Failure> {
        let object = query_object(self.0);
        let mut fields = Fields::query(&object);
        let query = read(&mut fields);
        fields.finish()?;
        Ok(query)
    }
}

/// A name that is in the path of a definition.
pub fn checked_name(name: &str, pointer: &'static str) -> Result<(), Failure> {
    match name_fault(name, NAME_MAX, &|| pointer.to_owned()) {
        Some(fault) => Err(fault.into()),
        None => Ok(()),
    }
}

/// The id of a row that the database numbers. A text that is no number is an id that does not exist.
pub fn row_id(text: &str, what: &str) -> Result<i64, Failure> {
    text.parse().map_err(|_| Problem::not_found(what, text).into())
}

//! Pages as answers, and refusals as pages: the same text and code as the API, with a way back.

use askama::Template;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use punctual_engine::EngineError;
use punctual_store::StoreError;
use punctual_wire::{Code, Problem};

use crate::assets;

/// What a page gives back.
pub type Page = Result<Response, Refusal>;

/// A page that was filled in.
pub fn page(template: &impl Template) -> Page {
    let text = template.render().map_err(|error| Refusal::internal(&error))?;
    Ok(Html(text).into_response())
}

/// Go on at another page of ours, with a GET.
pub fn see_other(path: &str) -> Page {
    let place = HeaderValue::try_from(path).map_err(|error| Refusal::internal(&error))?;
    Ok((StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response())
}

/// Why a page is not shown or an action was not done.
#[derive(Debug)]
pub struct Refusal(Box<Problem>);

impl Refusal {
    pub fn internal(cause: &dyn std::error::Error) -> Self {
        tracing::error!(error = %chain(cause), "a page failed");
        Self(Box::new(Problem::internal()))
    }
}

#[derive(Template)]
#[template(path = "refusal.html")]
struct RefusalPage<'p> {
    version: &'static str,
    problem: &'p Problem,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let page = RefusalPage { version: assets::version(), problem: &self.0 };
        let mut response = (status, Html(page.render().unwrap_or_default())).into_response();
        if let Some(seconds) = self.0.retry_after_seconds() {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self(Box::new(problem))
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        if error.is_unavailable() {
            tracing::error!(error = %chain(&error), "a page failed");
            return Problem::storage_unavailable(1).into();
        }
        Self::internal(&error)
    }
}

impl From<EngineError> for Refusal {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Stopping => Problem::storage_unavailable(1).into(),
            EngineError::Panicked(_) => Self::internal(&error),
            EngineError::NotFound => Problem::new(Code::NotFound, "No such id.").into(),
            EngineError::StateNotAllowed { .. } => {
                Problem::new(Code::StateNotAllowed, format!("{error}.")).into()
            }
        }
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

//! Pages as answers, and errors as refusals, with the text and the code that the API gives.

use askama::Template;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use punctual_engine::{CommandError, EngineError, QuotaReached};
use punctual_model::{Fault, chain};
use punctual_store::StoreError;
use punctual_wire::{Code, FieldError, Problem};

use crate::{compress::Plain, meanwhile::Opened, refusals};

/// What a page gives back.
pub type Page = Result<Response, Refusal>;

/// A page that was filled in.
pub fn page(template: &impl Template) -> Page {
    let text = template.render().map_err(|error| Refusal::internal(&error))?;
    Ok(Html(text).into_response())
}

/// Whether a form was refused, and for what.
#[derive(Clone, Copy)]
pub enum Refused {
    No,
    /// A field is not valid.
    Faulty,
    /// Somebody else has stored something meanwhile.
    Overtaken,
}

impl From<bool> for Refused {
    fn from(is_faulty: bool) -> Self {
        if is_faulty { Self::Faulty } else { Self::No }
    }
}

impl Refused {
    pub const fn of(is_faulty: bool, opened: &Opened) -> Self {
        match (is_faulty, opened.changes.is_some()) {
            (true, _) => Self::Faulty,
            (false, true) => Self::Overtaken,
            (false, false) => Self::No,
        }
    }
}

/// A page with a form: while what was sent is refused its status says so, to programs and to the page's own script.
pub fn form(template: &impl Template, refused: impl Into<Refused>) -> Page {
    let mut response = page(template)?;
    match refused.into() {
        Refused::No => {}
        Refused::Faulty => *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY,
        Refused::Overtaken => *response.status_mut() = StatusCode::CONFLICT,
    }
    Ok(response)
}

/// A page with a secret on it: it is sent as it is.
pub fn plain(mut response: Response) -> Page {
    response.extensions_mut().insert(Plain);
    Ok(response)
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

    /// What a page shows of it where it goes on.
    pub fn into_problem(self) -> Problem {
        *self.0
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = refusals::alone(&self.0);
        response.extensions_mut().insert(refusals::Refused(self.0));
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

impl From<CommandError> for Refusal {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Invalid(faults) => {
                let field = |fault: Fault| {
                    let code = Code::parse(fault.code).unwrap_or(Code::OutOfRange);
                    FieldError::new(fault.pointer, code, fault.detail)
                };
                Problem::of_fields(faults.into_iter().map(field).collect()).into()
            }
            CommandError::NotFound { what, id } => Problem::not_found(what, id).into(),
            CommandError::Shared => {
                let detail = "It belongs to all business units, and the key is limited to some.";
                Problem::new(Code::ScopeMissing, detail).into()
            }
            CommandError::IdReused { id, .. } => Problem::id_reused(&id).into(),
            CommandError::Stale => Problem::stale_version().into(),
            CommandError::NotAllowed { action, state, allowed } => {
                Problem::state_not_allowed(action, &state, allowed).into()
            }
            CommandError::Secrets(error) => Self::internal(&error),
            CommandError::Engine(error) => error.into(),
        }
    }
}

impl From<EngineError> for Refusal {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Stopping | EngineError::Clock(_) | EngineError::Outage(_) => {
                Problem::storage_unavailable(1).into()
            }
            EngineError::Panicked(_) | EngineError::AuditChain(_) => Self::internal(&error),
            EngineError::NotFound => Problem::new(Code::NotFound, "No such id.").into(),
            EngineError::StateNotAllowed { .. } => {
                Problem::new(Code::StateNotAllowed, format!("{error}.")).into()
            }
        }
    }
}

/// The problem of a form whose business unit has been given all rows of its day.
pub fn over_quota(reached: &QuotaReached) -> Problem {
    let QuotaReached { business_unit, rows_per_day, .. } = reached;
    Problem::quota_exceeded(business_unit, *rows_per_day, reached.retry_after_seconds())
}

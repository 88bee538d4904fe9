//! Responses: JSON with a status, or a failure that becomes problem+json in one place.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use punctual_engine::{CommandError, EngineError, QuotaReached, SecretsError};
use punctual_model::{
    Fault, NotificationStatus, WorkStatus, chain,
    status::{NotificationEvent, WorkEvent},
};
use punctual_store::StoreError;
use punctual_wire::{Code, FieldError, Problem};
use serde::Serialize;

/// What a handler gives back.
pub type Answer = Result<JsonResponse, Failure>;

/// Seconds after which a client may retry when the storage was not there.
const RETRY_AFTER: u64 = 1;

/// A JSON response, serialised.
#[derive(Debug)]
pub struct JsonResponse {
    pub status: StatusCode,
    pub body: Vec<u8>,
    /// What may be kept of it for a repeat of the request, where that is not all of it.
    pub kept: Option<Vec<u8>>,
}

impl JsonResponse {
    pub fn json(status: StatusCode, value: &impl Serialize) -> Answer {
        let body = serde_json::to_vec(value).map_err(|error| Failure::internal(&error))?;
        Ok(Self { status, body, kept: None })
    }

    pub fn ok(value: &impl Serialize) -> Answer {
        Self::json(StatusCode::OK, value)
    }

    pub fn created(value: &impl Serialize) -> Answer {
        Self::json(StatusCode::CREATED, value)
    }

    pub fn no_content() -> Answer {
        Ok(Self { status: StatusCode::NO_CONTENT, body: Vec::new(), kept: None })
    }
}

impl IntoResponse for JsonResponse {
    fn into_response(self) -> Response {
        let mut response = Response::new(self.body.into());
        *response.status_mut() = self.status;
        if self.status != StatusCode::NO_CONTENT {
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        response
    }
}

/// Why a request was refused or failed, and what only the log may know.
#[derive(Clone, Debug)]
pub struct Failure {
    pub problem: Box<Problem>,
    pub cause: Option<String>,
}

impl Failure {
    pub fn internal(cause: &dyn std::error::Error) -> Self {
        Self { problem: Box::new(Problem::internal()), cause: Some(chain(cause)) }
    }

    /// The node cannot do its work; the caller gets the reason, because that is the question.
    pub fn not_ready(why: &dyn std::error::Error) -> Self {
        Self { problem: Box::new(Problem::not_ready(&why.to_string(), RETRY_AFTER)), cause: Some(chain(why)) }
    }

    /// The storage failed while it committed.
    fn unconfirmed(cause: &dyn std::error::Error) -> Self {
        let detail = "The storage did not confirm; it may or may not be stored. Repeat the same request.";
        let problem = Problem::new(Code::StorageUnavailable, detail).with("retryAfterSeconds", RETRY_AFTER);
        Self { problem: Box::new(problem), cause: Some(chain(cause)) }
    }

    fn unavailable(cause: &dyn std::error::Error) -> Self {
        Self { problem: Box::new(Problem::storage_unavailable(RETRY_AFTER)), cause: Some(chain(cause)) }
    }
}

/// The envelope writes the body, because it knows the request's id; see `envelope::wrap`.
impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = Response::default();
        *response.status_mut() =
            StatusCode::from_u16(self.problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        response.extensions_mut().insert(self);
        response
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self { problem: Box::new(problem), cause: None }
    }
}

impl From<Vec<FieldError>> for Failure {
    fn from(faults: Vec<FieldError>) -> Self {
        Problem::of_fields(faults).into()
    }
}

impl From<FieldError> for Failure {
    fn from(fault: FieldError) -> Self {
        Problem::from(fault).into()
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Commit(_) => Self::unconfirmed(&error),
            error if error.is_unavailable() => Self::unavailable(error),
            error => Self::internal(error),
        }
    }
}

impl From<SecretsError> for Failure {
    fn from(error: SecretsError) -> Self {
        match error {
            SecretsError::Store(error) => error.into(),
            // What people can mend: where the keys are, and who has which.
            SecretsError::Vault(_) | SecretsError::OtherKey { .. } | SecretsError::SeveralNodes => {
                Problem::new(Code::StateNotAllowed, format!("{}.", capitalised(&error.to_string()))).into()
            }
        }
    }
}

impl From<CommandError> for Failure {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Invalid(faults) => faults.into_iter().map(field_error).collect::<Vec<_>>().into(),
            CommandError::NotFound { what, id } => Problem::not_found(what, id).into(),
            CommandError::Shared => {
                let detail = "It belongs to all business units, and the key is limited to some.";
                Problem::new(Code::ScopeMissing, detail).into()
            }
            CommandError::IdReused { id, detail } => {
                let problem = Problem::id_reused(&id);
                Problem { detail: detail.unwrap_or_else(|| problem.detail.clone()), ..problem }.into()
            }
            CommandError::Stale => Problem::stale_version().into(),
            CommandError::NotAllowed { action, state, allowed } => {
                Problem::state_not_allowed(action, &state, allowed).into()
            }
            CommandError::Secrets(error) => error.into(),
            CommandError::Engine(error) => error.into(),
        }
    }
}

/// The problem of a request whose business unit has been given all rows of its day.
pub(crate) fn over_quota(reached: &QuotaReached) -> Problem {
    let QuotaReached { business_unit, rows_per_day, .. } = reached;
    Problem::quota_exceeded(business_unit, *rows_per_day, reached.retry_after_seconds())
}

/// What a command found wrong, in the words of a problem.
pub(crate) fn field_error(fault: Fault) -> FieldError {
    FieldError::new(fault.pointer, Code::parse(fault.code).unwrap_or(Code::OutOfRange), fault.detail)
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Outage(outage) if outage.may_be_stored => Self::unconfirmed(&outage),
            EngineError::Stopping | EngineError::Clock(_) | EngineError::Outage(_) => {
                Self::unavailable(&error)
            }
            EngineError::Panicked(_) | EngineError::AuditChain(_) => Self::internal(&error),
            EngineError::NotFound => Problem::new(Code::NotFound, "No such id.").into(),
            EngineError::StateNotAllowed { subject, state, allowed } => {
                let detail = format!("{} is {state}; {allowed}.", capitalised(subject));
                let actions = actions_of(subject, &state);
                Problem::new(Code::StateNotAllowed, detail)
                    .with("state", state)
                    .with("allowed", actions)
                    .into()
            }
        }
    }
}

/// What can be done instead with a thing in this state.
fn actions_of(subject: &str, state: &str) -> Vec<&'static str> {
    let mut actions = Vec::new();
    if subject.contains("notification") {
        let status = NotificationStatus::parse(state);
        let can = |event| status.is_some_and(|status| status.after(event).is_ok());
        actions.extend(can(NotificationEvent::Retry).then_some("retry"));
        actions.extend(can(NotificationEvent::Discard).then_some("discard"));
    } else if let Some(status) = WorkStatus::parse(state) {
        let retried = status == WorkStatus::Completed || status.after(WorkEvent::Retry).is_ok();
        actions.extend(retried.then_some("retry"));
        let cancelled = matches!(status, WorkStatus::Pending | WorkStatus::Failed);
        actions.extend(cancelled.then_some("cancel"));
    }
    actions
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

//! The local HTTP API for scripts: `POST /notify`, `GET /notify/{id}`, `GET /log`, `/healthz`, `/metrics`.
//!
//! It listens on loopback and has no keys: everyone who can run scripts on the machine can send notifications. A page in a
//! browser may not: only JSON is taken, for which browsers ask first and get no yes, and only requests that name this machine
//! as their host.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{Path, Query, Request, State, rejection::PathRejection},
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    middleware::Next as Inner,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use http_body_util::{BodyExt, Limited};
use punctual_store::StoreError;
use punctual_wire::{
    Code, Page, Problem, fields,
    fields::Fields,
    figures, problem,
    site_agent::{Notified, NotifyRequest},
    strict,
};
use serde::Serialize;
use tokio::sync::Semaphore;

use crate::{Agent, NotifyError, chain};

/// Bytes of a request: the largest body of a message, with every character escaped.
const BODY_LIMIT: usize = 2 << 20;
/// Requests under way at once; more are refused for now.
const IN_FLIGHT: usize = 2_048;
/// Seconds after which a caller may retry when the buffer is full.
const RETRY_AFTER: u64 = 10;
/// Entries of the event log in one answer.
const LOG_DEFAULT: i64 = 100;
const LOG_MAX: i64 = 1_000;

struct Local {
    agent: Agent,
    in_flight: Semaphore,
}

type Shared = Arc<Local>;
type Answer = Result<Response, Refusal>;

/// Every route of the local API.
pub fn router(agent: Agent) -> Router {
    let local = Arc::new(Local { agent, in_flight: Semaphore::new(IN_FLIGHT) });
    Router::new()
        .route("/notify", post(notify))
        .route("/notify/{id}", get(status))
        .route("/log", get(log))
        .route("/healthz", get(health))
        .route("/metrics", get(metrics))
        .fallback(async || -> Answer {
            let detail = "There is nothing at this path; see `POST /notify` and `GET /notify/{id}`.";
            Err(Problem::new(Code::NotFound, detail).into())
        })
        .method_not_allowed_fallback(async || -> Answer {
            Err(Problem::new(Code::MethodNotAllowed, "The path exists, but not with this method.").into())
        })
        .layer(axum::middleware::from_fn_with_state(local.clone(), guard))
        .with_state(local)
}

/// What every request must be: meant for this machine, and one of not too many.
async fn guard(State(local): State<Shared>, request: Request, inner: Inner) -> Response {
    if !is_for_this_machine(request.headers()) {
        let detail = "The Host of the request must be `127.0.0.1`, `[::1]` or `localhost`.";
        return Refusal::from(Problem::new(Code::Csrf, detail)).into_response();
    }
    let Ok(_permit) = local.in_flight.try_acquire() else {
        return Refusal::from(Problem::rate_limited(1)).into_response();
    };
    inner.run(request).await
}

fn is_for_this_machine(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST) else { return true };
    let host = host.to_str().unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

async fn notify(State(local): State<Shared>, request: Request) -> Answer {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let essence = kind.map(|kind| kind.split(';').next().unwrap_or_default().trim());
    if !essence.is_some_and(|essence| essence.eq_ignore_ascii_case("application/json")) {
        return Err(Problem::content_type(kind, &["application/json"]).into());
    }
    let body = match Limited::new(request.into_body(), BODY_LIMIT).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => {
            return Err(Problem::body_too_large(BODY_LIMIT).into());
        }
        Err(_) => return Err(Problem::request_timeout().into()),
    };
    let request = NotifyRequest::read(&strict::read(&body)?, "").map_err(Problem::from)?;
    let id = local.agent.notify(request).await?;
    Ok(json(StatusCode::CREATED, &Notified { id }))
}

/// The segment or query of an address that is not UTF-8 is nobody's id, and no number.
async fn status(State(local): State<Shared>, id: Result<Path<String>, PathRejection>) -> Answer {
    let Ok(Path(id)) = id else {
        return Err(Problem::new(Code::NotFound, "The id in the path is not UTF-8.").into());
    };
    Ok(json(StatusCode::OK, &local.agent.status(&id).await?))
}

async fn log(State(local): State<Shared>, uri: Uri) -> Answer {
    let pairs = Query::<Vec<(String, String)>>::try_from_uri(&uri).map(|Query(pairs)| pairs);
    let pairs =
        pairs.map_err(|_| Problem::new(Code::TextInvalid, "The query of the address cannot be read."))?;
    if let Some((name, _)) = pairs.iter().find(|(name, _)| name != "limit") {
        return Err(Problem::from(vec![fields::unknown(format!("/{name}"), name, &["limit"])]).into());
    }
    let object = fields::query_object(pairs);
    let mut query = Fields::query(&object);
    let limit = query.optional_int("limit", 1..=LOG_MAX).unwrap_or(LOG_DEFAULT);
    query.finish().map_err(Problem::from)?;
    Ok(json(StatusCode::OK, &Page::whole(local.agent.log(limit).await?)))
}

async fn health(State(local): State<Shared>) -> Answer {
    Ok(json(StatusCode::OK, &local.agent.health().await?))
}

async fn metrics(State(local): State<Shared>, headers: HeaderMap) -> Answer {
    let text = local.agent.metrics.encode(&local.agent.health().await?);
    let accept = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let (kind, text) = figures::answer(text, accept);
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

fn json(status: StatusCode, value: &impl Serialize) -> Response {
    let body = serde_json::to_vec(value).unwrap_or_default();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Why a request was refused.
struct Refusal(Box<Problem>);

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self(Box::new(problem))
    }
}

impl From<NotifyError> for Refusal {
    fn from(error: NotifyError) -> Self {
        let problem = match error {
            NotifyError::Full(why) => Problem::buffer_full(why, RETRY_AFTER),
            NotifyError::IdReused(id) => Problem::id_reused(&id),
            NotifyError::Stopping => Problem::storage_unavailable(1),
            NotifyError::Store(error) => return Self::of_store(&error),
        };
        problem.into()
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::of_store(&error)
    }
}

impl Refusal {
    fn of_store(error: &StoreError) -> Self {
        tracing::error!(error = chain(error), "the buffer failed");
        match error {
            // It may be on disk or not: the same id again is safe, an id made here is not known to the caller.
            StoreError::Commit(_) => {
                let detail =
                    "The disk did not confirm; it may or may not be stored. Repeat the call with its id.";
                Problem::new(Code::StorageUnavailable, detail).with("retryAfterSeconds", RETRY_AFTER).into()
            }
            error if error.is_unavailable() => {
                Problem::buffer_full("The buffer cannot be written; its disk may be full", RETRY_AFTER).into()
            }
            _ => Problem::internal().into(),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = json(status, &self.0);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(problem::CONTENT_TYPE));
        if let Some(seconds) = self.0.retry_after_seconds() {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

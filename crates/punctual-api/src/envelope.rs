//! The shared parts of every request: its id, and the format of errors. The server limits concurrent requests.

use std::{
    panic::AssertUnwindSafe,
    sync::atomic::{AtomicU64, Ordering},
};

use axum::{
    body::Body,
    extract::{MatchedPath, Request, State},
    http::{HeaderName, HeaderValue, Method, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse, Redirect, Response},
};
use futures_util::FutureExt;
use punctual_model::Random;
use punctual_wire::{Code, FieldError, Problem, names, problem};

use crate::{Shared, answer::Failure, trace_context};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest id of a client's own that is taken over.
const REQUEST_ID_MAX: usize = 64;

/// Ids for requests: a random beginning for this process, and a number.
pub struct RequestIds {
    beginning: String,
    next: AtomicU64,
}

impl RequestIds {
    pub fn new(random: &dyn Random) -> Self {
        let mut bytes = [0; 6];
        random.bytes(&mut bytes);
        Self { beginning: punctual_engine::keys::hex(&bytes), next: AtomicU64::new(1) }
    }

    fn make(&self) -> HeaderValue {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        HeaderValue::try_from(format!("{}-{number}", self.beginning))
            .unwrap_or(HeaderValue::from_static("unknown"))
    }
}

/// Around every route: the request's id, panics, failures and common headers.
pub async fn wrap(State(app): State<Shared>, mut request: Request, next: Next) -> Response {
    let id = own_id(&request).unwrap_or_else(|| app.request_ids.make());
    let (method, route) = (request.method().clone(), request.extensions().get::<MatchedPath>().cloned());
    let span = trace_context::begin(&app, &mut request);
    let mut response = if let Some(refusal) = without_nul(&request) {
        refusal.into_response()
    } else if let Err(faults) = app.known_parameters.check(&request) {
        Failure::from(faults).into_response()
    } else {
        AssertUnwindSafe(next.run(request)).catch_unwind().await.unwrap_or_else(|_| {
            let problem = Box::new(Problem::internal());
            Failure { problem, cause: Some("a handler panicked".to_owned()) }.into_response()
        })
    };
    if let Some(failure) = response.extensions_mut().remove::<Failure>() {
        response = write_failure(failure, &id, &method, route.as_ref().map_or("none", MatchedPath::as_str));
    }
    trace_context::end(span, response.status());
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, id);
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// What an address with NUL is answered with, on every route alike: PostgreSQL takes it in no text, so nothing is named like
/// that, and nothing may be.
fn without_nul(request: &Request) -> Option<Failure> {
    let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
    if names::has_nul(path) {
        return Some(match *request.method() {
            Method::PUT => {
                FieldError::new("", Code::KeyInvalid, "A name in the address has the character NUL.").into()
            }
            _ => Problem::route_not_found().into(),
        });
    }
    names::has_nul(query).then(|| {
        FieldError::new("", Code::TextInvalid, "The query of the address has the character NUL.").into()
    })
}

/// The id that the client gave, if it is valid in a log line.
fn own_id(request: &Request) -> Option<HeaderValue> {
    let id = request.headers().get(REQUEST_ID)?;
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
    let fits = (1..=REQUEST_ID_MAX).contains(&id.len()) && id.as_bytes().iter().all(plain);
    fits.then(|| id.clone())
}

/// The one place where a failure becomes problem+json, and where a fault of ours is logged. The log has the route and not
/// the path: that of a calendar, a survey link or a callback is a secret.
fn write_failure(failure: Failure, id: &HeaderValue, method: &Method, route: &str) -> Response {
    let Failure { problem, cause } = failure;
    let id = id.to_str().unwrap_or_default();
    if let Some(cause) = cause {
        tracing::error!(request.id = id, %method, route, status = problem.status, error = cause, "a request failed");
    }
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let retry_after = problem.retry_after_seconds();
    let problem = problem.with_request_id(id);
    let body = serde_json::to_vec(&problem).unwrap_or_default();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(problem::CONTENT_TYPE));
    if let Some(seconds) = retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// An address that ends in a slash leads to the one without; nothing is there at any other.
pub async fn no_such_route(uri: Uri) -> Response {
    match without_slash(&uri) {
        Some(target) => Redirect::permanent(&target).into_response(),
        None => Failure::from(Problem::route_not_found()).into_response(),
    }
}

/// The same address without the slashes at its end. One that begins with two would lead to another host, and browsers read a
/// backslash as a slash.
fn without_slash(uri: &Uri) -> Option<String> {
    let path = uri.path().trim_end_matches('/');
    let is_other = path.len() < uri.path().len() && path.starts_with('/') && !path.starts_with("//");
    let is_other = is_other && !path.contains('\\');
    is_other.then(|| match uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    })
}

/// A node with the role `worker` serves nothing but its probes.
pub async fn only_works() -> Failure {
    Problem::only_works().into()
}

pub async fn no_such_method() -> Failure {
    Problem::method_not_allowed().into()
}

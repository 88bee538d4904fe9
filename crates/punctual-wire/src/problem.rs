//! Errors as clients see them: RFC 9457 `application/problem+json` with a stable code and the fields at fault.
//!
//! [`Code`] is the closed list of what can go wrong. A [`FieldError`] says it about one place in a
//! request, a [`Problem`] about the whole. How a problem becomes an HTTP answer is for `punctual-api`.

mod code;
mod field_error;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, fmt};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

pub use self::{code::Code, field_error::FieldError};

/// The media type of a problem.
pub const CONTENT_TYPE: &str = "application/problem+json";

/// An error answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The HTTP status, repeated.
    #[schema(example = 422)]
    pub status: u16,
    pub code: Code,
    /// The same for every problem with this code.
    pub title: Cow<'static, str>,
    /// One sentence with the error and the correct form.
    pub detail: String,
    /// The places at fault, where the request had them.
    #[serde(default)]
    pub errors: Vec<FieldError>,
    /// What the server's log calls this request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Box<str>>,
    /// Further members that some codes have, such as the seconds of `rate_limited`.
    #[serde(flatten)]
    #[schema(ignore)]
    pub more: Map<String, Value>,
}

impl Problem {
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            status: code.status(),
            code,
            title: Cow::Borrowed(code.title()),
            detail: detail.into(),
            errors: Vec::new(),
            request_id: None,
            more: Map::new(),
        }
    }

    /// A request whose fields are at fault. The first fault gives the code and the status.
    pub fn of_fields(errors: Vec<FieldError>) -> Self {
        let Some(first) = errors.first() else { return Self::internal() };
        let code = first.code;
        let detail = match errors.len() {
            1 => first.detail.clone(),
            n => format!("{} ({} more: see `errors`)", first.detail, n - 1),
        };
        Self { errors, ..Self::new(code, detail) }
    }

    /// Adds one place at fault.
    #[must_use]
    pub fn with_field(mut self, pointer: impl Into<String>, code: Code, detail: impl Into<String>) -> Self {
        self.errors.push(FieldError::new(pointer, code, detail));
        self
    }

    /// Adds a member beyond the standard ones.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.to_owned(), value.into());
        self
    }

    #[must_use]
    pub fn with_request_id(mut self, id: impl Into<Box<str>>) -> Self {
        self.request_id = Some(id.into());
        self
    }

    /// Seconds for the Retry-After header, where the problem has one.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        self.more.get(RETRY_AFTER)?.as_u64()
    }

    pub fn content_type(found: Option<&str>, accepted: &[&str]) -> Self {
        let found =
            found.map_or("none was given".to_owned(), |found| format!("this is `{}`", excerpt(found)));
        let detail = format!("The route takes `{}`; {found}.", accepted.join("` or `"));
        Self::new(Code::ContentType, detail)
    }

    pub fn content_encoding(found: &str, accepted: &str) -> Self {
        let detail = format!("The route takes {accepted}; this is `{}`.", excerpt(found));
        Self::new(Code::ContentEncoding, detail)
    }

    pub fn body_too_large(limit: usize) -> Self {
        let detail = format!("The body is larger than {limit} bytes; nothing was stored.");
        Self::new(Code::BodyTooLarge, detail).with("limit", limit)
    }

    pub fn batch_too_large(count: usize, limit: usize) -> Self {
        let detail = format!("The batch has {count} items, the route takes {limit}; nothing was stored.");
        Self::new(Code::BatchTooLarge, detail).with("limit", limit)
    }

    pub fn idempotency_mismatch() -> Self {
        let detail = "This Idempotency-Key was used with another body; use a new key for a new request.";
        Self::new(Code::IdempotencyMismatch, detail)
    }

    pub fn id_reused(id: &str) -> Self {
        let detail =
            format!("The id `{}` is known with other content; nothing was overwritten.", excerpt(id));
        Self::new(Code::IdReused, detail)
    }

    /// What a token of one site may not do for another. Whether that one exists is not said.
    pub fn site_mismatch(site: &str) -> Self {
        Self::new(Code::SiteMismatch, format!("The token is that of another site than `{}`.", excerpt(site)))
    }

    pub fn buffer_full(why: impl fmt::Display, retry_after_seconds: u64) -> Self {
        let detail = format!("{why}; nothing was stored. Try again in {retry_after_seconds} s.");
        Self::new(Code::BufferFull, detail).with(RETRY_AFTER, retry_after_seconds)
    }

    pub fn owned_by_other(owner: &str) -> Self {
        Self::new(Code::OwnedByOther, format!("The run is owned by `{}`.", excerpt(owner)))
            .with("owner", owner)
    }

    /// The same owner has the run, in a newer version than the one that asks.
    pub fn owned_by_newer(owner: &str, version: &str) -> Self {
        let detail = format!(
            "The run is owned by version `{}` of `{}`, which is newer.",
            excerpt(version),
            excerpt(owner)
        );
        Self::new(Code::OwnedByOther, detail).with("owner", owner).with("ownerVersion", version)
    }

    /// The same body for a missing, wrong and expired key.
    pub fn auth_failed() -> Self {
        Self::new(Code::AuthFailed, "Send a valid key as `Authorization: Bearer KEY`.")
    }

    pub fn scope_missing(scope: &str) -> Self {
        Self::any_scope_missing(&[scope])
    }

    /// A key that has none of these scopes, one of which a route needs.
    pub fn any_scope_missing(scopes: &[&str]) -> Self {
        let detail = format!("The route needs the scope `{}`.", scopes.join("` or `"));
        Self::new(Code::ScopeMissing, detail).with("scope", scopes.first().copied().unwrap_or_default())
    }

    /// Nothing with this id, as far as the caller may see. `what` is a noun without article: `work row`.
    pub fn not_found(what: &str, id: impl fmt::Display) -> Self {
        let id = id.to_string();
        Self::new(Code::NotFound, format!("There is no {what} `{}`.", excerpt(&id)))
    }

    pub fn route_not_found() -> Self {
        Self::new(Code::NotFound, "There is nothing at this path; `/openapi.json` lists every route.")
    }

    pub fn only_works() -> Self {
        let detail = "This node has the role `worker` and serves `/healthz`, `/readyz` and `/metrics` alone; ask one with \
                      the role `api` or `all`.";
        Self::new(Code::NotFound, detail)
    }

    pub fn method_not_allowed() -> Self {
        Self::new(Code::MethodNotAllowed, "The route exists but not with this method; see `/openapi.json`.")
    }

    pub fn request_timeout() -> Self {
        Self::new(Code::RequestTimeout, "The request did not arrive in time; nothing was stored.")
    }

    pub fn stale_version() -> Self {
        Self::new(Code::StaleVersion, "It was changed in the meantime; reload it and retry.")
    }

    /// `action` is a verb, `state` a status word, `allowed` the verbs that would work.
    pub fn state_not_allowed(action: &str, state: &str, allowed: &[&str]) -> Self {
        let allowed_text = match allowed {
            [] => "nothing".to_owned(),
            _ => format!("`{}`", allowed.join("`, `")),
        };
        let detail = format!("It is {state}, so `{action}` is not possible; possible: {allowed_text}.");
        Self::new(Code::StateNotAllowed, detail).with("state", state).with("allowed", allowed)
    }

    pub fn csrf() -> Self {
        Self::new(Code::Csrf, "The form's token is missing or belongs to another session; reload the page.")
    }

    pub fn framing_ambiguous() -> Self {
        let detail = "Give either `Content-Length`, once and in digits, or `Transfer-Encoding: chunked`.";
        Self::new(Code::FramingAmbiguous, detail)
    }

    pub fn rate_limited(retry_after_seconds: u64) -> Self {
        let detail = format!("Too many requests; retry in {retry_after_seconds} s.");
        Self::new(Code::RateLimited, detail).with(RETRY_AFTER, retry_after_seconds)
    }

    pub fn quota_exceeded(unit: &str, rows_per_day: i64, retry_after_seconds: u64) -> Self {
        let detail = format!(
            "The business unit `{unit}` may be given {rows_per_day} rows a day (`rowsPerDay`), and they are used up; nothing was stored. Its next day begins in {retry_after_seconds} s."
        );
        Self::new(Code::QuotaExceeded, detail).with(RETRY_AFTER, retry_after_seconds)
    }

    pub fn storage_unavailable(retry_after_seconds: u64) -> Self {
        let detail =
            format!("The storage does not answer; nothing was stored. Try again in {retry_after_seconds} s.");
        Self::new(Code::StorageUnavailable, detail).with(RETRY_AFTER, retry_after_seconds)
    }

    /// A node that cannot do its work, and why.
    pub fn not_ready(why: &str, retry_after_seconds: u64) -> Self {
        let detail = format!("Not ready: {why}.");
        Self::new(Code::StorageUnavailable, detail).with(RETRY_AFTER, retry_after_seconds)
    }

    pub fn signature_invalid() -> Self {
        Self::new(Code::SignatureInvalid, "The signature does not match or its time is too old.")
    }

    /// A fault of ours. It says nothing more on purpose: the cause is in the log, under the request id.
    /// A file that was removed after the time for which files are kept.
    pub fn file_gone(name: &str, at: Timestamp) -> Self {
        let day = at.strftime("%Y-%m-%d");
        let detail =
            format!("The file `{name}` was removed on {day}, after the time for which files are kept.");
        Self::new(Code::Gone, detail).with("purgedAt", at.to_string())
    }

    pub fn internal() -> Self {
        Self::new(Code::Internal, "The server failed; its log has more under the request id.")
    }
}

const RETRY_AFTER: &str = "retryAfterSeconds";

impl From<Vec<FieldError>> for Problem {
    fn from(errors: Vec<FieldError>) -> Self {
        Self::of_fields(errors)
    }
}

impl From<FieldError> for Problem {
    fn from(error: FieldError) -> Self {
        Self::of_fields(vec![error])
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.detail)
    }
}

impl std::error::Error for Problem {}

/// At most 80 characters of what the caller wrote, without control characters, for use inside a sentence.
pub(crate) fn excerpt(text: &str) -> Cow<'_, str> {
    const LONGEST: usize = 80;
    if text.len() <= LONGEST && !text.chars().any(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut short: String =
        text.chars().take(LONGEST).map(|c| if c.is_control() { '\u{FFFD}' } else { c }).collect();
    if text.chars().nth(LONGEST).is_some() {
        short.push('…');
    }
    Cow::Owned(short)
}

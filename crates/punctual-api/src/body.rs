//! Bodies: the right type, not too long, in time, and JSON without surprises.

mod gzip;

use std::{error::Error, marker::PhantomData, time::Duration};

use axum::{
    body::Body,
    extract::{FromRequest, Request},
    http::{HeaderMap, header},
};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use punctual_wire::{
    Code, Problem, events,
    limits::{RESPONSE_BODY_MAX, SURVEY_SCHEMA_MAX},
    strict,
};
use serde_json::Value;

use crate::{ApiOptions, Shared, answer::Failure};

/// What a route takes.
pub trait Kind: Send {
    const TYPES: &'static [&'static str] = &["application/json"];
    /// The body may come compressed with gzip; the limit counts for what it becomes.
    const MAY_BE_GZIP: bool = false;
    /// Nothing at all counts as `{}`.
    const MAY_BE_EMPTY: bool = false;
    fn limit(options: &ApiOptions) -> usize {
        options.body_limit
    }
}

/// JSON, as most routes take it.
pub struct Plain;
impl Kind for Plain {}

/// JSON or nothing.
pub struct Optional;
impl Kind for Optional {
    const MAY_BE_EMPTY: bool = true;
}

/// JSON of messages, which may bring files along.
pub struct WithFiles;
impl Kind for WithFiles {
    fn limit(options: &ApiOptions) -> usize {
        options.bulk_body_limit
    }
}

/// JSON of a bulk import.
pub struct Bulk;
impl Kind for Bulk {
    fn limit(options: &ApiOptions) -> usize {
        options.bulk_body_limit
    }
}

/// The JSON of a survey with its schema.
pub struct SurveyBody;
impl Kind for SurveyBody {
    fn limit(_options: &ApiOptions) -> usize {
        SURVEY_SCHEMA_MAX + (16 << 10)
    }
}

/// The JSON of an answer, which anybody may send.
pub struct ResponseBody;
impl Kind for ResponseBody {
    fn limit(_options: &ApiOptions) -> usize {
        RESPONSE_BODY_MAX
    }
}

/// JSON from a site agent, as large as a bulk import and compressed as a rule.
pub struct HandOver;
impl Kind for HandOver {
    const MAY_BE_GZIP: bool = true;
    fn limit(options: &ApiOptions) -> usize {
        options.bulk_body_limit
    }
}

/// CloudEvents, one or many.
pub struct Events;
impl Kind for Events {
    const TYPES: &'static [&'static str] = &events::CONTENT_TYPES;
}

/// A body that has arrived, and what it says.
pub struct Json<K = Plain> {
    pub bytes: Bytes,
    pub value: Value,
    kind: PhantomData<K>,
}

/// A calendar file.
pub struct Calendar;
impl Kind for Calendar {
    const TYPES: &'static [&'static str] = &["text/calendar"];
}

/// A body that has arrived and is no JSON.
pub struct Text<K> {
    pub bytes: Bytes,
    kind: PhantomData<K>,
}

impl<K> Text<K> {
    /// What it says, if it is UTF-8 without surprises.
    pub fn text(&self) -> Result<String, Problem> {
        let text = std::str::from_utf8(&self.bytes).ok().filter(|text| !text.contains('\0'));
        let detail = "The body is not UTF-8, or has the character NUL.";
        text.map(str::to_owned).ok_or_else(|| Problem::new(Code::TextInvalid, detail))
    }
}

impl<K: Kind> FromRequest<Shared> for Text<K> {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &Shared) -> Result<Self, Failure> {
        Ok(Self { bytes: arrived::<K>(request, app).await?, kind: PhantomData })
    }
}

impl<K: Kind> FromRequest<Shared> for Json<K> {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &Shared) -> Result<Self, Failure> {
        let bytes = arrived::<K>(request, app).await?;
        let value = if K::MAY_BE_EMPTY { strict::read_or_empty(&bytes)? } else { strict::read(&bytes)? };
        Ok(Self { bytes, value, kind: PhantomData })
    }
}

/// The bytes of a body of the right type, not too long, in time.
async fn arrived<K: Kind>(request: Request, app: &Shared) -> Result<Bytes, Failure> {
    let (parts, body) = request.into_parts();
    let typed = check_type(&parts.headers, K::TYPES);
    if !K::MAY_BE_EMPTY {
        typed.clone()?;
    }
    let is_gzip = gzip::is_gzip(&parts.headers, K::MAY_BE_GZIP)?;
    let limit = K::limit(&app.options);
    let bytes = bounded(&parts.headers, body, limit, app.options.body_time).await?;
    if !bytes.is_empty() {
        typed?;
    }
    if is_gzip { Ok(gzip::inflated(bytes, limit).await?) } else { Ok(bytes) }
}

/// The bytes of a body, not too long and in time.
pub async fn bounded(
    headers: &HeaderMap,
    body: Body,
    limit: usize,
    time: Duration,
) -> Result<Bytes, Failure> {
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: usize| length > limit) {
        return Err(Problem::body_too_large(limit).into());
    }
    match tokio::time::timeout(time, Limited::new(body, limit).collect()).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes()),
        Ok(Err(error)) if is_too_long(error.as_ref()) => Err(Problem::body_too_large(limit).into()),
        // Broken off, or too slow: whoever sent it is hardly there to read this.
        Ok(Err(_)) | Err(_) => Err(Problem::request_timeout().into()),
    }
}

fn check_type(headers: &HeaderMap, accepted: &[&str]) -> Result<(), Problem> {
    let found = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = found.map(|found| found.split(';').next().unwrap_or_default().trim());
    match essence {
        Some(essence) if accepted.iter().any(|known| known.eq_ignore_ascii_case(essence)) => Ok(()),
        _ => Err(Problem::content_type(found, accepted)),
    }
}

fn is_too_long(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<LengthLimitError>() {
            return true;
        }
        next = error.source();
    }
    false
}

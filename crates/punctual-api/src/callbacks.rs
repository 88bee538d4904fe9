//! `/api/v1/callbacks/{channel}`: delivery receipts of providers. No key is needed: each call is signed, or contains the
//! channel's secret.
//!
//! Providers repeat refused calls, some for days. Only calls that are not authentic are therefore refused; a receipt for an
//! unknown message gets 200 and is counted.

use axum::{
    extract::{FromRequestParts, Request, State},
    http::{Method, header},
    response::{IntoResponse, Response},
};
use punctual_engine::receipts::Called;
use punctual_model::{Callback, CallbackFault};
use punctual_wire::{Code, Problem};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    Shared,
    answer::{Failure, JsonResponse},
    body,
    parameters::Segments,
};

/// What a call may have: the largest batch of a provider is below this.
const BODY_LIMIT: usize = 1 << 20;

/// How much a call of a provider said.
#[derive(Serialize, ToSchema)]
pub struct ReceiptsTaken {
    pub receipts: usize,
    /// Receipts that said something new.
    pub new: usize,
    /// Receipts about messages that are not known.
    pub unknown: usize,
}

/// What a provider reports about messages
///
/// Called by providers. Twilio, Meta, SendGrid and gateways sign; others know the channel's secret, as the last part of
/// the address or as `Authorization: Bearer`.
#[utoipa::path(post, path = "/api/v1/callbacks/{channel}", tag = "Callbacks", params(("channel" = String, Path, example = "sms:default")),
    request_body(content = String, content_type = "*/*"), responses((status = 200, description = "Stored, also where nothing was new", body = ReceiptsTaken)))]
pub async fn post(State(app): State<Shared>, request: Request) -> Result<Response, Failure> {
    take(app, request).await
}

/// Whether the address is ours
///
/// Asked by Meta when a webhook is set up; answered with its challenge if the `verifyToken` is right.
#[utoipa::path(get, path = "/api/v1/callbacks/{channel}", tag = "Callbacks", params(("channel" = String, Path)),
    responses((status = 200, body = String, content_type = "text/plain")))]
pub async fn get(State(app): State<Shared>, request: Request) -> Result<Response, Failure> {
    take(app, request).await
}

/// The same, for providers that sign nothing: the address itself is the secret
#[utoipa::path(post, path = "/api/v1/callbacks/{channel}/{secret}", tag = "Callbacks",
    params(("channel" = String, Path), ("secret" = String, Path)),
    request_body(content = String, content_type = "*/*"), responses((status = 200, description = "Stored, also where nothing was new", body = ReceiptsTaken)))]
pub async fn post_secret(State(app): State<Shared>, request: Request) -> Result<Response, Failure> {
    take(app, request).await
}

async fn take(app: Shared, request: Request) -> Result<Response, Failure> {
    let Ok(_place) = app.callbacks.try_acquire() else { return Err(Problem::rate_limited(1).into()) };
    let (mut parts, body) = request.into_parts();
    let Segments(segments) = Segments::<Vec<(String, String)>>::from_request_parts(&mut parts, &app).await?;
    let segment =
        |name: &str| segments.iter().find(|(found, _)| found == name).map(|(_, text)| text.as_str());
    let bytes = body::bounded(&parts.headers, body, BODY_LIMIT, app.options.body_time).await?;
    let header = |name: &str| parts.headers.get(name).and_then(|text| text.to_str().ok()).map(str::to_owned);
    let call = Callback {
        is_get: parts.method == Method::GET,
        query: parts.uri.query().unwrap_or_default(),
        path_secret: segment("secret"),
        header: &header,
        body: &bytes,
        at: app.wall.now(),
    };
    let channel = segment("channel").unwrap_or_default();
    match app.engine.take_callback(channel, &call).await? {
        Ok(Called::Answer(text)) => {
            Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
        }
        Ok(Called::Receipts { count: receipts, new, unknown }) => {
            tracing::debug!(channel.key = channel, receipts, new, unknown, "a provider called back");
            Ok(JsonResponse::ok(&ReceiptsTaken { receipts, new, unknown })?.into_response())
        }
        Err(fault) => {
            tracing::info!(channel.key = channel, %fault, "a callback was refused");
            Err(refusal(&fault))
        }
    }
}

/// An unverified caller learns only which channels take callbacks, not which other channels exist.
fn refusal(fault: &CallbackFault) -> Failure {
    match fault {
        CallbackFault::NotTaken => Problem::route_not_found().into(),
        CallbackFault::Signature | CallbackFault::Stale => Problem::signature_invalid().into(),
        CallbackFault::Unreadable(_) => {
            Problem::new(Code::JsonSyntax, "The body is not in the format of this provider.").into()
        }
    }
}

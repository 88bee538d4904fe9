//! `/api/v1/sandbox`: a clock that the API moves, and channels that record messages.
//!
//! Moving the clock runs the ready work before the response is sent. The routes only exist with `--sandbox`.

use axum::{
    extract::{FromRequestParts, State},
    http::request::Parts,
};
use jiff::SignedDuration;
use punctual_channels::Misbehaviour;
use punctual_model::{AuditAction, ChannelKey, Clock, durations};
use punctual_wire::{
    FieldError, Problem,
    names::channel_fault,
    sandbox::{ClockRequest, MisbehaviourRequest, SandboxClock, SandboxOutcome, SentMessage, SentMessages},
};

use crate::{
    Sandbox, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Caller, Operate, Read},
    body::Json,
    parameters::Segments,
};

/// Stands before the key: without a sandbox there is no such route, whoever asks.
pub struct InSandbox;

impl FromRequestParts<Shared> for InSandbox {
    type Rejection = Failure;

    async fn from_request_parts(_parts: &mut Parts, app: &Shared) -> Result<Self, Failure> {
        sandbox(app).map(|_| Self)
    }
}

fn sandbox(app: &Shared) -> Result<&Sandbox, Failure> {
    app.sandbox.as_ref().ok_or_else(|| Problem::route_not_found().into())
}

/// The time of the clock
#[utoipa::path(get, path = "/api/v1/sandbox/clock", tag = "Sandbox", security(("key" = ["read"])),
    responses((status = 200, body = SandboxClock)))]
pub async fn clock(State(app): State<Shared>, _here: InSandbox, _caller: Caller<Read>) -> Answer {
    JsonResponse::ok(&SandboxClock { now: sandbox(&app)?.clock.now() })
}

/// Move the clock, and run what is ready
///
/// `now` jumps there and runs what is ready then; `advance` steps through every instant on the way at which something
/// is ready.
#[utoipa::path(put, path = "/api/v1/sandbox/clock", tag = "Sandbox", security(("key" = ["operate"])),
    request_body(content = ClockRequest, example = json!({"advance": "24h"})), responses((status = 200, body = SandboxClock)))]
pub async fn move_clock(
    State(app): State<Shared>,
    _here: InSandbox,
    caller: Caller<Operate>,
    body: Json,
) -> Answer {
    let clock = &sandbox(&app)?.clock;
    let request = ClockRequest::read(&body.value, "")?;
    let _alone = app.driver.lock().await;
    match request {
        ClockRequest::Now(now) => {
            app.engine.jump(clock, now).await?;
        }
        ClockRequest::Advance(text) => {
            let by = durations::parse(&text).map_err(|_| FieldError::duration_invalid("/advance", &text))?;
            let by =
                SignedDuration::try_from(by).map_err(|_| FieldError::duration_invalid("/advance", &text))?;
            let until =
                clock.now().checked_add(by).map_err(|_| FieldError::duration_invalid("/advance", &text))?;
            app.engine.advance(clock, until).await?;
        }
    }
    let now = clock.now();
    app.engine
        .record_act(&caller.by, AuditAction::MoveClock, "sandbox", "clock", Some(&now.to_string()))
        .await?;
    JsonResponse::ok(&SandboxClock { now })
}

/// What the channels were given, oldest first
#[utoipa::path(get, path = "/api/v1/sandbox/sent", tag = "Sandbox", security(("key" = ["read"])),
    responses((status = 200, body = SentMessages)))]
pub async fn sent(State(app): State<Shared>, _here: InSandbox, _caller: Caller<Read>) -> Answer {
    let items = sandbox(&app)?.captured.sent().into_iter().map(|sent| SentMessage {
        channel: sent.channel.to_string(),
        address: sent.address.clone(),
        subject: sent.subject.clone(),
        body: sent.body.clone(),
        html: sent.html.clone(),
        attempt: sent.attempt,
        at: sent.at,
        notification_id: sent.notification.to_string(),
    });
    JsonResponse::ok(&SentMessages { items: items.collect() })
}

/// Make a channel misbehave
#[utoipa::path(put, path = "/api/v1/sandbox/channels/{key}", tag = "Sandbox", security(("key" = ["operate"])),
    params(("key" = String, Path)), request_body = MisbehaviourRequest, responses((status = 204)))]
pub async fn misbehave(
    State(app): State<Shared>,
    _here: InSandbox,
    caller: Caller<Operate>,
    Segments(key): Segments<String>,
    body: Json,
) -> Answer {
    let request = MisbehaviourRequest::read(&body.value, "")?;
    let key: ChannelKey = match channel_fault(&key, &|| "/key".to_owned()) {
        Some(fault) => return Err(fault.into()),
        None => key.parse().map_err(|_| Failure::from(Problem::not_found("channel", &key)))?,
    };
    let outcome = match request.outcome {
        SandboxOutcome::Delivered => Misbehaviour::Delivered,
        SandboxOutcome::Transient => Misbehaviour::Transient,
        SandboxOutcome::Permanent => Misbehaviour::Permanent,
        SandboxOutcome::LostReply => Misbehaviour::LostReply,
    };
    let times = request.times.and_then(|times| u64::try_from(times).ok()).unwrap_or(u64::MAX);
    let error = request.error.unwrap_or_else(|| "made to fail".to_owned());
    let (name, to) = (key.to_string(), request.outcome.as_str());
    sandbox(&app)?.captured.misbehave(key, outcome, times, error);
    app.engine.record_act(&caller.by, AuditAction::Misbehave, "channel", &name, Some(to)).await?;
    JsonResponse::no_content()
}

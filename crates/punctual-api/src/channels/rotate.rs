//! A new signing secret for a webhook: the present one stays as the previous one, so that both signatures are sent.

use axum::extract::State;
use punctual_wire::channels::RotatedSecret;

use super::shape;
use crate::{
    App, Shared,
    answer::{Answer, JsonResponse},
    auth::{Admin, Caller, Principal},
    idempotency::IdempotencyKey,
    parameters::Segments,
};

/// Give a webhook a new signing secret
///
/// The new secret is shown once. The present one becomes `previousSecret`, and every message carries both signatures until you
/// remove it with `PUT` and null.
#[utoipa::path(post, path = "/api/v1/channels/{key}/rotate-secret", tag = "Channels", security(("key" = ["admin"])),
    params(("key" = String, Path, example = "webhook:bi")), responses((status = 200, body = RotatedSecret)))]
pub async fn rotate(
    State(app): State<Shared>,
    caller: Caller<Admin>,
    once: IdempotencyKey,
    Segments(key): Segments<String>,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    once.run(app, caller, &[], |_| give(app, caller, key)).await
}

async fn give(app: &App, caller: &Principal, key: String) -> Answer {
    let (stored, secret) = app.engine.rotate_channel_secret(&caller.by, &key).await?;
    let channel = shape(app, stored)?;
    let mut shown = JsonResponse::ok(&RotatedSecret { secret: Some(secret), channel: channel.clone() })?;
    // A repetition of the request returns all but the secret.
    shown.kept = Some(JsonResponse::ok(&RotatedSecret { secret: None, channel })?.body);
    Ok(shown)
}

//! A new signing secret for a webhook: the present one stays as the previous one, so that both signatures are sent.

use axum::extract::State;
use base64::{Engine, engine::general_purpose::STANDARD};
use punctual_engine::settings::NewSettings;
use punctual_store::{
    Lane,
    channels::{self, ChannelRow},
};
use punctual_wire::{Problem, channels::RotatedSecret};
use serde_json::{Map, Value};

use super::shape;
use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Admin, Caller, Principal},
    idempotency::IdempotencyKey,
    parameters::Segments,
    trail::audited,
};

/// What a signing secret has, in bytes.
const LENGTH: usize = 32;

/// Give a webhook a new signing secret
///
/// The new secret is shown once. The present one becomes `previousSecret`, and every message carries both signatures
/// until it is taken away with `PUT` and null.
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
    let now = app.engine.clock.now();
    let mut tx = app.engine.store.begin(Lane::Intake).await?;
    let row = channels::get(&mut tx.conn(), &key).await?;
    let row = row.ok_or_else(|| Failure::from(Problem::not_found("channel", &key)))?;
    let adapter = app.engine.channels.adapter(&row.adapter).filter(|adapter| adapter.name() == "webhook");
    let Some(adapter) = adapter else {
        return Err(Problem::state_not_allowed("rotate-secret", "not a webhook", &["put"]).into());
    };
    let mut bytes = [0; LENGTH];
    app.engine.random.bytes(&mut bytes);
    let secret = format!("whsec_{}", STANDARD.encode(bytes));
    let settings = rotated(app.engine.channels.opened_settings(&row), &secret);
    let settings = Value::Object(settings);
    let new = NewSettings { channel: &key, adapter: adapter.as_ref(), settings, before: Some(&row) };
    let settings = app.engine.settings_to_store(&mut tx.conn(), now, new).await?;
    let row = ChannelRow { settings, ..row };
    channels::put(&mut tx.conn(), now, &row).await?;
    audited(&mut tx, now, caller, "rotate-secret", "channel", &key).await?;
    let stored = channels::get(&mut tx.conn(), &key).await?.unwrap_or(row);
    tx.commit().await?;
    app.engine.channels.invalidate();
    let channel = shape(app, stored)?;
    let mut shown = JsonResponse::ok(&RotatedSecret { secret: Some(secret), channel: channel.clone() })?;
    // A repetition of the request returns all but the secret.
    shown.kept = Some(JsonResponse::ok(&RotatedSecret { secret: None, channel })?.body);
    Ok(shown)
}

fn rotated(mut settings: Map<String, Value>, secret: &str) -> Map<String, Value> {
    if let Some(present) = settings.insert("secret".to_owned(), secret.into()) {
        settings.insert("previousSecret".to_owned(), present);
    }
    settings
}

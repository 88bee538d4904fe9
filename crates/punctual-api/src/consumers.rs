//! `/api/v1/consumers`: consumers of message brokers, and their health.

use axum::extract::State;
use punctual_engine::{
    commands::NewConsumer,
    consumers::{ConsumerHealth, ConsumerState},
};
use punctual_store::{StoreError, consumers::ConsumerRow};
use punctual_wire::{
    Page, Problem,
    consumers::{self as wire, Consumer, ConsumerRequest},
    names::channel_fault,
};
use serde_json::Value;

use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Admin, Caller, Read},
    body::Json,
    parameters::Segments,
};

/// Define a consumer
///
/// It takes CloudEvents from a stream or queue of a message broker, as `POST /api/v1/events` takes them. A secret that is left out
/// keeps its present value; null removes it. When the URL changes, its secrets must be given again.
#[utoipa::path(put, path = "/api/v1/consumers/{key}", tag = "Consumers", security(("key" = ["admin"])),
    params(("key" = String, Path, example = "nats:orders")),
    request_body(content = ConsumerRequest, example = json!({"adapter": "nats", "settings": {
        "url": "tls://nats.example.com", "stream": "ORDERS", "deadLetterSubject": "orders-refused"}, "active": false})),
    responses((status = 200, body = Consumer)))]
pub async fn put(
    State(app): State<Shared>,
    caller: Caller<Admin>,
    Segments(key): Segments<String>,
    body: Json,
) -> Answer {
    if let Some(fault) = channel_fault(&key, &|| "/key".to_owned()) {
        return Err(fault.into());
    }
    let ConsumerRequest { adapter, settings, business_unit, active } =
        ConsumerRequest::read(&body.value, "")?;
    let new = NewConsumer { key, adapter, settings, business_unit, active };
    let saved = app.engine.save_consumer(&caller.by, new).await?;
    JsonResponse::ok(&find(&app, &saved.key).await?)
}

/// Look at a consumer
#[utoipa::path(get, path = "/api/v1/consumers/{key}", tag = "Consumers", security(("key" = ["read"])),
    params(("key" = String, Path)), responses((status = 200, body = Consumer)))]
pub async fn get(
    State(app): State<Shared>,
    _caller: Caller<Read>,
    Segments(key): Segments<String>,
) -> Answer {
    JsonResponse::ok(&find(&app, &key).await?)
}

/// All consumers, by key, with how each is
#[utoipa::path(get, path = "/api/v1/consumers", tag = "Consumers", security(("key" = ["read"])),
    responses((status = 200, body = Page<Consumer>)))]
pub async fn list(State(app): State<Shared>, _caller: Caller<Read>) -> Answer {
    let mut reader = app.engine.store.read_for_people().await?;
    let rows = app.engine.consumers_with_health(&mut reader.conn()).await?;
    let items: Vec<Consumer> = rows.into_iter().map(|row| shape(&app, row)).collect::<Result<_, _>>()?;
    JsonResponse::ok(&Page::whole(items))
}

/// Remove a consumer
///
/// What it has not taken stays at the broker.
#[utoipa::path(delete, path = "/api/v1/consumers/{key}", tag = "Consumers", security(("key" = ["admin"])),
    params(("key" = String, Path)), responses((status = 204)))]
pub async fn delete(
    State(app): State<Shared>,
    caller: Caller<Admin>,
    Segments(key): Segments<String>,
) -> Answer {
    app.engine.delete_consumer(&caller.by, &key).await?;
    JsonResponse::no_content()
}

async fn find(app: &App, key: &str) -> Result<Consumer, Failure> {
    let mut reader = app.engine.store.read_for_people().await?;
    let rows = app.engine.consumers_with_health(&mut reader.conn()).await?;
    let row = rows.into_iter().find(|(row, _)| row.key == key);
    let row = row.ok_or_else(|| Failure::from(Problem::not_found("consumer", key)))?;
    Ok(shape(app, row)?)
}

fn shape(app: &App, (row, health): (ConsumerRow, ConsumerHealth)) -> Result<Consumer, StoreError> {
    let mut settings: Value =
        serde_json::from_str(&row.settings).map_err(|_| StoreError::Stored("consumers.settings"))?;
    let secrets = app.engine.consumers.adapter(&row.adapter).map(|adapter| adapter.secret_fields());
    let mut secrets_set = Vec::new();
    if let (Some(object), Some(secrets)) = (settings.as_object_mut(), secrets) {
        secrets_set.extend(
            secrets.iter().filter(|name| object.remove(**name).is_some()).map(|name| (*name).to_owned()),
        );
    }
    let state: ConsumerState = health.state;
    Ok(Consumer {
        settings,
        secrets_set,
        business_unit: row.business_unit,
        active: row.active,
        version: row.version,
        updated_at: row.updated_at,
        adapter: row.adapter,
        key: row.key,
        health: wire::ConsumerHealth {
            state: state.as_str().into(),
            since: health.since,
            nodes: i64::try_from(health.nodes).unwrap_or(i64::MAX),
            last_message_at: health.last_message_at,
            lag: health.lag,
            last_error: health.last_error,
            last_error_at: health.last_error_at,
            accepted: health.accepted,
            duplicates: health.duplicates,
            refused: health.refused,
        },
    })
}

//! `/api/v1/subscribers` and `/api/v1/outbox-events`: subscribers, events and their deliveries.

use std::collections::HashMap;

use axum::extract::State;
use punctual_model::NotificationStatus;
use punctual_store::{
    StoreError,
    outbox::{self, DeliveryRow, EventRow},
    subscribers::{self, SubscriberRow},
};
use punctual_wire::{
    Page, PageQuery, Problem,
    names::channel_fault,
    subscribers::{OutboxDelivery, OutboxEvent, RetriedDeliveries, Subscriber, SubscriberRequest},
    work::ReasonRequest,
};
use punctual_workflows::{
    subscribers::{self as commands, NewSubscriber},
    surveys::fan_out::event_status,
};
use serde_json::Value;

use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Admin, Caller, Operate, Principal, Read},
    body::{Json, Optional},
    idempotency::IdempotencyKey,
    parameters::{Parameters, Segments, row_id},
};

/// Define a subscriber
///
/// A secret that is left out keeps its present value; null removes it. When its destination changes
/// (another host, port, URL or adapter), its secrets must be given again. `env:NAME` and `file:NAME` are as for channels.
#[utoipa::path(put, path = "/api/v1/subscribers/{key}", tag = "Subscribers", security(("key" = ["admin"])),
    params(("key" = String, Path, example = "webhook:bi-ingest")),
    request_body(content = SubscriberRequest, example = json!({"adapter": "memory", "events": ["response-completed"]})),
    responses((status = 200, body = Subscriber)))]
pub async fn put(
    State(app): State<Shared>,
    caller: Caller<Admin>,
    Segments(key): Segments<String>,
    body: Json,
) -> Answer {
    if let Some(fault) = channel_fault(&key, &|| "/key".to_owned()) {
        return Err(fault.into());
    }
    let SubscriberRequest { adapter, settings, events, filter, retry, active } =
        SubscriberRequest::read(&body.value, "")?;
    let retry = retry.map(serde_json::to_value).transpose().map_err(|error| Failure::internal(&error))?;
    let new = NewSubscriber { key, adapter, settings, events, filter, retry, active };
    JsonResponse::ok(&shape(&app, commands::save(&app.engine, &caller.by, new).await?)?)
}

/// Look at a subscriber
#[utoipa::path(get, path = "/api/v1/subscribers/{key}", tag = "Subscribers", security(("key" = ["read"])),
    params(("key" = String, Path)), responses((status = 200, body = Subscriber)))]
pub async fn get(
    State(app): State<Shared>,
    _caller: Caller<Read>,
    Segments(key): Segments<String>,
) -> Answer {
    let mut reader = app.engine.store.read_for_people().await?;
    let row = subscribers::get(&mut reader.conn(), &key).await?;
    let row = row.ok_or_else(|| Failure::from(Problem::not_found("subscriber", key)))?;
    JsonResponse::ok(&shape(&app, row)?)
}

/// All subscribers, by key
#[utoipa::path(get, path = "/api/v1/subscribers", tag = "Subscribers", security(("key" = ["read"])),
    responses((status = 200, body = Page<Subscriber>)))]
pub async fn list(State(app): State<Shared>, _caller: Caller<Read>) -> Answer {
    let mut reader = app.engine.store.read_for_people().await?;
    let rows = subscribers::all(&mut reader.conn()).await?;
    let items: Vec<Subscriber> = rows.into_iter().map(|row| shape(&app, row)).collect::<Result<_, _>>()?;
    JsonResponse::ok(&Page::whole(items))
}

/// Remove a subscriber
///
/// What is still queued for it is parked.
#[utoipa::path(delete, path = "/api/v1/subscribers/{key}", tag = "Subscribers", security(("key" = ["admin"])),
    params(("key" = String, Path)), responses((status = 204)))]
pub async fn delete(
    State(app): State<Shared>,
    caller: Caller<Admin>,
    Segments(key): Segments<String>,
) -> Answer {
    commands::remove(&app.engine, &caller.by, &key).await?;
    JsonResponse::no_content()
}

fn shape(app: &App, row: SubscriberRow) -> Result<Subscriber, StoreError> {
    let mut settings: Value =
        serde_json::from_str(&row.settings).map_err(|_| StoreError::Stored("subscribers.settings"))?;
    let secrets = app.engine.channels.adapter(&row.adapter).map(|adapter| adapter.secret_fields());
    let mut secrets_set = Vec::new();
    if let (Some(object), Some(secrets)) = (settings.as_object_mut(), secrets) {
        secrets_set.extend(
            secrets.iter().filter(|name| object.remove(**name).is_some()).map(|name| (*name).to_owned()),
        );
    }
    let json = |text: &str| serde_json::from_str(text).map_err(|_| StoreError::Stored("subscribers"));
    Ok(Subscriber {
        settings,
        secrets_set,
        events: serde_json::from_str(&row.events).unwrap_or_default(),
        filter: row.filter.as_deref().map(json).transpose()?,
        retry: json(&row.retry)?,
        updated_at: row.updated_at,
        active: row.active,
        version: row.version,
        adapter: row.adapter,
        key: row.key,
    })
}

/// What happened, newest first, with its deliveries
#[utoipa::path(get, path = "/api/v1/outbox-events", tag = "Subscribers", security(("key" = ["read"])),
    params(PageQuery), responses((status = 200, body = Page<OutboxEvent>)))]
pub async fn events(State(app): State<Shared>, caller: Caller<Read>, parameters: Parameters) -> Answer {
    let page = parameters.page()?;
    let mut reader = app.engine.store.read_for_people().await?;
    let limit = i64::from(page.limit);
    let found = outbox::stretch(&mut reader.conn(), page.cursor, &caller.by.reach(), limit).await?;
    let page = Page::stretch(found.rows, found.next);
    let ids = page.items.iter().map(|row| row.id).collect();
    let mut deliveries: HashMap<i64, Vec<DeliveryRow>> = HashMap::new();
    for row in outbox::deliveries(&mut reader.conn(), ids).await? {
        deliveries.entry(row.event_id).or_default().push(row);
    }
    let items: Vec<OutboxEvent> = page
        .items
        .into_iter()
        .map(|row| {
            let own = deliveries.remove(&row.id).unwrap_or_default();
            event(row, own)
        })
        .collect::<Result<_, _>>()?;
    JsonResponse::ok(&Page { items, next_cursor: page.next_cursor })
}

/// Retry the delivery to one subscriber
///
/// For a parked delivery; delivered ones are not repeated.
#[utoipa::path(post, path = "/api/v1/outbox-events/{id}/deliveries/{subscriber}/retry", tag = "Subscribers", security(("key" = ["operate"])),
    params(("id" = i64, Path), ("subscriber" = String, Path)), responses((status = 200, body = OutboxEvent)))]
pub async fn retry(
    State(app): State<Shared>,
    caller: Caller<Operate>,
    once: IdempotencyKey,
    Segments((id, subscriber)): Segments<(String, String)>,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let number = row_id(&id, "event")?;
    once.run(app, caller, b"", |_| async move {
        let missing = || Failure::from(Problem::not_found("event", &id));
        let (_, deliveries) = one_event(app, caller, number).await?.ok_or_else(missing)?;
        let delivery = deliveries.iter().find(|delivery| delivery.subscriber == subscriber);
        let delivery = delivery.ok_or_else(|| Failure::from(Problem::not_found("delivery", &subscriber)))?;
        app.engine.retry_notification(&caller.by, &delivery.notification_id, None).await?;
        let (row, deliveries) = one_event(app, caller, number).await?.ok_or_else(missing)?;
        JsonResponse::ok(&event(row, deliveries)?)
    })
    .await
}

/// Retry all failed deliveries of a subscriber
///
/// Queues all parked deliveries of the subscriber again, oldest first, up to 10,000 per request; delivered ones are not
/// repeated. The audit log records each delivery, and the reason for the subscriber.
#[utoipa::path(post, path = "/api/v1/subscribers/{key}/retry", tag = "Subscribers", security(("key" = ["operate"])),
    params(("key" = String, Path)), request_body = Option<ReasonRequest>, responses((status = 200, body = RetriedDeliveries)))]
pub async fn retry_all(
    State(app): State<Shared>,
    caller: Caller<Operate>,
    once: IdempotencyKey,
    Segments(key): Segments<String>,
    body: Json<Optional>,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let request = ReasonRequest::read(&body.value, "")?;
    once.run(app, caller, &body.bytes, |_| async move {
        let by = caller.by.because(request.reason.as_deref());
        let done = app.engine.retry_subscriber(&by, &key).await?;
        let retried = i64::try_from(done.retried).unwrap_or(i64::MAX);
        JsonResponse::ok(&RetriedDeliveries { retried, remaining: done.remaining })
    })
    .await
}

async fn one_event(
    app: &App,
    caller: &Principal,
    id: i64,
) -> Result<Option<(EventRow, Vec<DeliveryRow>)>, Failure> {
    let mut reader = app.engine.store.read_for_people().await?;
    let Some(row) = outbox::get(&mut reader.conn(), &caller.by.reach(), id).await? else { return Ok(None) };
    let deliveries = outbox::deliveries(&mut reader.conn(), vec![id]).await?;
    Ok(Some((row, deliveries)))
}

fn event(row: EventRow, deliveries: Vec<DeliveryRow>) -> Result<OutboxEvent, StoreError> {
    let status = event_status(deliveries.iter().map(|delivery| delivery.status));
    let deliveries = deliveries.into_iter().map(|delivery| {
        Ok(OutboxDelivery {
            subscriber: delivery.subscriber,
            status: delivery.status.map_or("unknown", NotificationStatus::as_str).to_owned(),
            attempts: delivery.attempts.unwrap_or(0),
            last_error: delivery.last_error,
            delivered_at: delivery.delivered_at,
            notification_id: delivery.notification_id,
        })
    });
    Ok(OutboxEvent {
        status: status.to_owned(),
        deliveries: deliveries.collect::<Result<_, StoreError>>()?,
        payload: serde_json::from_str(&row.payload)
            .map_err(|_| StoreError::Stored("outbox_events.payload"))?,
        created_at: row.created_at,
        id: row.id,
        event_type: row.event_type,
        instance_public_id: row.instance_public_id,
        survey_id: row.survey_id,
        work_key: row.work_key,
    })
}

//! `/api/v1/subscribers` and `/api/v1/outbox-events`: who gets the events, and what became of the deliveries.

use std::collections::HashMap;

use axum::extract::State;
use punctual_engine::{
    arrivals::names_topics,
    channels::{as_channel, subscriber_channel},
    settings::NewSettings,
};
use punctual_model::Filter;
use punctual_store::{
    Lane, StoreError,
    outbox::{self, DeliveryRow, EventRow},
    subscribers::{self, SubscriberRow},
    work::instant,
};
use punctual_wire::{
    Code, FieldError, Page, PageQuery, Problem,
    names::channel_fault,
    subscribers::{OutboxDelivery, OutboxEvent, Subscriber, SubscriberRequest},
};
use punctual_workflows::surveys::fan_out::{EVENT_TYPES, event_status};
use serde_json::{Value, json};

use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Admin, Caller, Operate, Read},
    body::Json,
    channels::adapter_of,
    idempotency::IdempotencyKey,
    parameters::{Parameters, Segments, row_id},
    surveys::fields,
    trail::audited,
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
    let request = SubscriberRequest::read(&body.value, "")?;
    check_events(&request.events)?;
    if let Some(Err(faults)) = request.filter.as_ref().map(Filter::parse) {
        return Err(Problem::of_fields(fields(faults, "/filter")).into());
    }
    let adapter = adapter_of(&app, &request.adapter)?;
    let now = app.engine.clock.now();
    let mut tx = app.engine.store.begin(Lane::Intake).await?;
    let before = subscribers::get(&mut tx.conn(), &key).await?.map(as_channel);
    let new = NewSettings {
        channel: &subscriber_channel(&key),
        adapter: adapter.as_ref(),
        settings: request.settings,
        before: before.as_ref(),
    };
    let settings = app.engine.settings_to_store(&mut tx.conn(), now, new).await?;
    let retry = match &request.retry {
        Some(retry) => serde_json::to_value(retry).map_err(|error| Failure::internal(&error))?,
        // A receiver that is away for a while gets what it missed when it is back.
        None => json!({ "policy": "exponential", "max": 10, "intervalSeconds": 30, "capSeconds": 3600 }),
    };
    let row = SubscriberRow {
        settings,
        events: Value::from(request.events).to_string(),
        filter: request.filter.map(|filter| filter.to_string()),
        retry: retry.to_string(),
        active: request.active,
        adapter: request.adapter,
        key,
        version: 0,
        updated_at: 0,
    };
    subscribers::put(&mut tx.conn(), now, &row).await?;
    audited(&mut tx, now, &caller, "put", "subscriber", &row.key).await?;
    let stored = subscribers::get(&mut tx.conn(), &row.key).await?.unwrap_or(row);
    tx.commit().await?;
    app.engine.channels.invalidate();
    JsonResponse::ok(&shape(&app, stored)?)
}

fn check_events(events: &[String]) -> Result<(), Failure> {
    for (index, event) in events.iter().enumerate() {
        if !EVENT_TYPES.contains(&event.as_str()) && !names_topics(event) {
            let known = EVENT_TYPES.join("`, `");
            let detail = format!(
                "There is no such event; there are `{known}` and topics, such as `operations.event.start` or `invoices.*`."
            );
            return Err(FieldError::new(format!("/events/{index}"), Code::OutOfRange, detail).into());
        }
    }
    Ok(())
}

/// Look at a subscriber
#[utoipa::path(get, path = "/api/v1/subscribers/{key}", tag = "Subscribers", security(("key" = ["read"])),
    params(("key" = String, Path)), responses((status = 200, body = Subscriber)))]
pub async fn get(
    State(app): State<Shared>,
    _caller: Caller<Read>,
    Segments(key): Segments<String>,
) -> Answer {
    let mut reader = app.engine.store.read().await?;
    let row = subscribers::get(&mut reader.conn(), &key).await?;
    let row = row.ok_or_else(|| Failure::from(Problem::not_found("subscriber", key)))?;
    JsonResponse::ok(&shape(&app, row)?)
}

/// All subscribers, by key
#[utoipa::path(get, path = "/api/v1/subscribers", tag = "Subscribers", security(("key" = ["read"])),
    responses((status = 200, body = Page<Subscriber>)))]
pub async fn list(State(app): State<Shared>, _caller: Caller<Read>) -> Answer {
    let mut reader = app.engine.store.read().await?;
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
    let now = app.engine.clock.now();
    let mut tx = app.engine.store.begin(Lane::Intake).await?;
    if !subscribers::delete(&mut tx.conn(), &key).await? {
        return Err(Problem::not_found("subscriber", key).into());
    }
    audited(&mut tx, now, &caller, "delete", "subscriber", &key).await?;
    tx.commit().await?;
    app.engine.channels.invalidate();
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
        updated_at: instant(row.updated_at)?,
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
    let mut reader = app.engine.store.read().await?;
    let limit = i64::from(page.limit) + 1;
    let rows = outbox::page(&mut reader.conn(), page.cursor, caller.units.as_deref(), limit).await?;
    let page = Page::cut(rows, page.limit, |row| row.id);
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

/// Tell one subscriber again
///
/// For a delivery that was given up; those that arrived are left alone.
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
        let (row, deliveries) = one_event(app, number).await?.ok_or_else(missing)?;
        if !caller.may_touch(row.business_unit.as_deref()) {
            return Err(missing());
        }
        let delivery = deliveries.iter().find(|delivery| delivery.subscriber == subscriber);
        let delivery = delivery.ok_or_else(|| Failure::from(Problem::not_found("delivery", &subscriber)))?;
        app.engine.retry_notification(&delivery.notification_id, &caller.actor()).await?;
        let (row, deliveries) = one_event(app, number).await?.ok_or_else(missing)?;
        JsonResponse::ok(&event(row, deliveries)?)
    })
    .await
}

async fn one_event(app: &App, id: i64) -> Result<Option<(EventRow, Vec<DeliveryRow>)>, Failure> {
    let mut reader = app.engine.store.read().await?;
    let Some(row) = outbox::get(&mut reader.conn(), id).await? else { return Ok(None) };
    let deliveries = outbox::deliveries(&mut reader.conn(), vec![id]).await?;
    Ok(Some((row, deliveries)))
}

fn event(row: EventRow, deliveries: Vec<DeliveryRow>) -> Result<OutboxEvent, StoreError> {
    let status = event_status(deliveries.iter().map(|delivery| delivery.status.as_deref()));
    let deliveries = deliveries.into_iter().map(|delivery| {
        Ok(OutboxDelivery {
            subscriber: delivery.subscriber,
            status: delivery.status.unwrap_or_else(|| "unknown".to_owned()),
            attempts: delivery.attempts.unwrap_or(0),
            last_error: delivery.last_error,
            delivered_at: delivery.delivered_at.map(instant).transpose()?,
            notification_id: delivery.notification_id,
        })
    });
    Ok(OutboxEvent {
        status: status.to_owned(),
        deliveries: deliveries.collect::<Result<_, StoreError>>()?,
        payload: serde_json::from_str(&row.payload)
            .map_err(|_| StoreError::Stored("outbox_events.payload"))?,
        created_at: instant(row.created_at)?,
        id: row.id,
        event_type: row.event_type,
        instance_public_id: row.instance_public_id,
        survey_id: row.survey_id,
        work_key: row.work_key,
    })
}

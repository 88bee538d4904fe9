//! `/api/v1/work`: what becomes due, and what a person can do about it.

use std::borrow::Cow;

use axum::extract::State;
use jiff::Timestamp;
use punctual_engine::{
    EnsureOutcome,
    operate::WorkAction,
    titles::{Step, Titled},
};
use punctual_model::WorkStatus;
use punctual_store::{
    StoreError, audit,
    work::{self, WorkFilter, WorkRow},
};
use punctual_wire::{
    Page, PageQuery, Problem,
    timeline::TimelineEntry,
    work::{ActionRequest, Work, WorkQuery, WorkTrace},
};
use serde_json::{Value, json};

use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Caller, Operate, Principal, Read},
    body::{Json, Optional},
    idempotency::IdempotencyKey,
    parameters::{Parameters, Segments, row_id},
};

/// List work, newest first
#[utoipa::path(get, path = "/api/v1/work", tag = "Work", security(("key" = ["read"])),
    params(WorkQuery, PageQuery), responses((status = 200, body = Page<Work>)))]
pub async fn list(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Parameters(parameters): Parameters,
) -> Answer {
    let query = WorkQuery::read(parameters)?;
    let filter = WorkFilter {
        status: query.status,
        kind: query.kind,
        on_hold: query.hold,
        source_type: query.source_type,
        source_id: query.source_id,
        due_from: query.from,
        due_to: query.to,
        before: query.page.cursor,
        limit: i64::from(query.page.limit),
    };
    let mut reader = app.engine.store.read_for_people().await?;
    let found = work::page(&mut reader.conn(), &caller.by.reach(), &filter).await?;
    drop(reader);
    let page = Page::stretch(found.rows, found.next);
    let titles = titles(&app, &caller, page.items.iter()).await?;
    let items = page.items.into_iter().zip(titles).map(|(row, title)| shape(row, title, None));
    let items: Vec<Work> = items.collect::<Result<_, _>>()?;
    JsonResponse::ok(&Page { items, next_cursor: page.next_cursor })
}

/// Look at a work row
#[utoipa::path(get, path = "/api/v1/work/{id}", tag = "Work", security(("key" = ["read"])),
    params(("id" = i64, Path)), responses((status = 200, body = Work)))]
pub async fn get(State(app): State<Shared>, caller: Caller<Read>, Segments(id): Segments<String>) -> Answer {
    let row = visible(&app, &caller, &id).await?;
    JsonResponse::ok(&titled(&app, &caller, row, None).await?)
}

/// How a work row came to where it is
#[utoipa::path(get, path = "/api/v1/work/{id}/trace", tag = "Work", security(("key" = ["read"])),
    params(("id" = i64, Path)), responses((status = 200, body = WorkTrace)))]
pub async fn trace(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Segments(id): Segments<String>,
) -> Answer {
    let row = visible(&app, &caller, &id).await?;
    let mut reader = app.engine.store.read_for_people().await?;
    let entries = audit::of(&mut reader.conn(), &caller.by.reach(), "work", &row.id.to_string()).await?;
    let retries = work::retries_of(&mut reader.conn(), &caller.by.reach(), row.id).await?;
    drop(reader);
    let trace = match &row.trace_blob {
        Some(blob) => app.engine.blobs.get(blob).await?.and_then(|bytes| serde_json::from_slice(&bytes).ok()),
        None => None,
    };
    let mut items = vec![entry(
        row.created_at,
        Step::Created { is_retry: row.retry_of.is_some() },
        format!("It was planned for {}.", row.due_at),
        json!({ "kind": row.kind, "inputHash": row.input_hash, "retryOf": row.retry_of }),
    )?];
    for one in entries {
        let because = one.reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})"));
        let detail = format!("{} by {}{because}", one.action, one.actor);
        let data =
            one.data.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Value::Null);
        let title = Step::Audited { action: &one.action, data: &data }.title();
        let data = json!({ "actor": one.actor, "from": one.from_status, "to": one.to_status, "version": one.version,
            "reason": one.reason, "data": data });
        items.push(TimelineEntry { at: one.at, what: one.action.into(), title, detail, data });
    }
    let repeated = titles(&app, &caller, retries.iter()).await?;
    for (again, title) in retries.into_iter().zip(repeated) {
        let detail = format!("It was repeated as work {}: {}.", again.id, title);
        items.push(entry(
            again.created_at,
            Step::Repeated,
            detail,
            json!({ "workId": again.id, "key": again.key }),
        )?);
    }
    let began_again = row.earlier_attempts > 0 || row.earlier_reason.is_some();
    if !row.is(&[WorkStatus::Pending]) || row.on_hold || began_again {
        let step = Step::Now { status: row.status, on_hold: row.on_hold };
        let data = json!({ "reasonCode": row.reason_code, "retryCount": row.retry_count,
            "earlierReasonCode": row.earlier_reason, "earlierAttempts": row.earlier_attempts, "result": result_of(&row) });
        items.push(entry(row.updated_at, step, format!("It is {} now.{}", row.status, before(&row)), data)?);
    }
    items.sort_by_key(|item| item.at);
    let title = titles(&app, &caller, std::iter::once(&row)).await?.pop().unwrap_or_default();
    JsonResponse::ok(&WorkTrace { id: row.id, title, key: row.key, items, trace })
}

/// Let a held row go on
#[utoipa::path(post, path = "/api/v1/work/{id}/release", tag = "Work", security(("key" = ["operate"])),
    params(("id" = i64, Path)), request_body = Option<ActionRequest>, responses((status = 200, body = Work)))]
pub async fn release(
    State(app): State<Shared>,
    caller: Caller<Operate>,
    once: IdempotencyKey,
    Segments(id): Segments<String>,
    body: Json<Optional>,
) -> Answer {
    act(&app, &caller, &once, &id, &body, WorkAction::Release).await
}

/// Try a row again
///
/// A completed row is sent again under a new key, and `retryOf` links the new row to this one.
#[utoipa::path(post, path = "/api/v1/work/{id}/retry", tag = "Work", security(("key" = ["operate"])),
    params(("id" = i64, Path)), request_body = Option<ActionRequest>, responses((status = 200, body = Work)))]
pub async fn retry(
    State(app): State<Shared>,
    caller: Caller<Operate>,
    once: IdempotencyKey,
    Segments(id): Segments<String>,
    body: Json<Optional>,
) -> Answer {
    act(&app, &caller, &once, &id, &body, WorkAction::Retry).await
}

/// Stop a row for good
#[utoipa::path(post, path = "/api/v1/work/{id}/cancel", tag = "Work", security(("key" = ["operate"])),
    params(("id" = i64, Path)), request_body = Option<ActionRequest>, responses((status = 200, body = Work)))]
pub async fn cancel(
    State(app): State<Shared>,
    caller: Caller<Operate>,
    once: IdempotencyKey,
    Segments(id): Segments<String>,
    body: Json<Optional>,
) -> Answer {
    act(&app, &caller, &once, &id, &body, WorkAction::Cancel).await
}

/// What an operator does to a row, once for each idempotency key.
async fn act(
    app: &App,
    caller: &Principal,
    once: &IdempotencyKey,
    id: &str,
    body: &Json<Optional>,
    action: WorkAction,
) -> Answer {
    let request = ActionRequest::read(&body.value, "")?;
    once.run(app, caller, &body.bytes, |_| async move {
        let number = row_id(id, "work row")?;
        let by = caller.by.because(request.reason.as_deref());
        let row = app.engine.act_on_work(&by, action, number, request.version).await?;
        JsonResponse::ok(&titled(app, caller, row, None).await?)
    })
    .await
}

async fn visible(app: &App, caller: &Principal, id: &str) -> Result<WorkRow, Failure> {
    let number = row_id(id, "work row")?;
    let mut reader = app.engine.store.read_for_people().await?;
    let row = work::by_id(&mut reader.conn(), &caller.by.reach(), number).await?;
    row.ok_or_else(|| Problem::not_found("work row", id).into())
}

/// The titles of these rows, in their order.
pub(crate) async fn titles(
    app: &App,
    caller: &Principal,
    rows: impl Iterator<Item = &WorkRow>,
) -> Result<Vec<String>, StoreError> {
    let rows: Vec<Titled<'_>> = rows.map(|row| Titled { kind: &row.kind, key: &row.key }).collect();
    let mut reader = app.engine.store.read_for_people().await?;
    app.engine.titles(&mut reader.conn(), &caller.by.reach(), &rows).await
}

/// One row as callers see it.
pub(crate) async fn titled(
    app: &App,
    caller: &Principal,
    row: WorkRow,
    outcome: Option<&'static str>,
) -> Result<Work, StoreError> {
    let title = titles(app, caller, std::iter::once(&row)).await?.pop().unwrap_or_else(|| row.key.clone());
    shape(row, title, outcome)
}

pub(crate) fn shape(row: WorkRow, title: String, outcome: Option<&'static str>) -> Result<Work, StoreError> {
    let trigger = serde_json::to_value(row.trigger()?).ok();
    Ok(Work {
        result: result_of(&row),
        trigger: trigger.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned().into(),
        due_at: row.due_at,
        next_retry_at: row.next_retry_at,
        created_at: row.created_at,
        updated_at: row.updated_at,
        id: row.id,
        title,
        key: row.key,
        kind: row.kind,
        business_unit: row.business_unit,
        source_type: row.source_type,
        source_id: row.source_id,
        local_date: row.local_date,
        time_zone: row.time_zone,
        status: row.status.into(),
        on_hold: row.on_hold,
        reason_code: row.reason_code,
        retry_count: row.retry_count,
        earlier_attempts: row.earlier_attempts,
        earlier_reason_code: row.earlier_reason,
        input_hash: row.input_hash,
        version: row.version,
        retry_of: row.retry_of,
        outcome: outcome.map(Cow::Borrowed),
    })
}

/// What came before a row was last released or brought back.
fn before(row: &WorkRow) -> String {
    let why = row.earlier_reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})"));
    match row.earlier_attempts {
        0 if why.is_empty() => String::new(),
        0 => format!(" It had stopped before{why}."),
        1 => format!(" It had stopped before{why}, after 1 failed attempt."),
        some => format!(" It had stopped before{why}, after {some} failed attempts."),
    }
}

fn result_of(row: &WorkRow) -> Option<Value> {
    row.coordinates()
}

/// The status of a row after it was ensured with this outcome.
pub(crate) fn status_after(outcome: &EnsureOutcome) -> WorkStatus {
    match outcome {
        EnsureOutcome::Created
        | EnsureOutcome::Updated
        | EnsureOutcome::Unchanged
        | EnsureOutcome::Reactivated
        | EnsureOutcome::Revived
        | EnsureOutcome::Reused
        | EnsureOutcome::OverQuota(_)
        | EnsureOutcome::Conflict { .. } => WorkStatus::Pending,
        EnsureOutcome::Completed => WorkStatus::Completed,
        EnsureOutcome::InProgress => WorkStatus::Processing,
        EnsureOutcome::LeftCancelled => WorkStatus::Cancelled,
    }
}

fn entry(at: Timestamp, step: Step<'_>, detail: String, data: Value) -> Result<TimelineEntry, StoreError> {
    Ok(TimelineEntry { at, what: step.what().into(), title: step.title(), detail, data })
}

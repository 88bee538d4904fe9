//! Runs for support: requested, listed, read, retried, with what was made for them.

use axum::{
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use jiff::Timestamp;
use punctual_model::WorkStatus;
use punctual_store::{
    StoreError, rollouts,
    work::{self, WorkRow},
};
use punctual_wire::{
    Page, PageQuery, Problem,
    reports::{
        Artefact, AutomationRun, Coordinates, Ownership, RunAttempt, RunDelivery, RunNowAnswer,
        RunNowRequest, RunSummary,
    },
    work::ActionRequest,
};
use punctual_workflows::reports::{
    KIND, RunKey, blob_name, commands,
    runs::{self, RunView},
};
use serde_json::Value;

use super::{not_run, ownership as owned, touchable, visible};
use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Caller, Operate, Principal, Read},
    body::{Json, Optional},
    idempotency::IdempotencyKey,
    parameters::{Parameters, Segments},
};

/// Run a report now
///
/// The same `manualRunGuid` again is the same run. Also at `/report-subscriptions/{guid}/automation-runs`.
#[utoipa::path(post, path = "/api/v1/report-subscriptions/{guid}/automation-runs", tag = "Report runs", security(("key" = ["operate"])),
    params(("guid" = String, Path)), request_body = Option<RunNowRequest>, responses((status = 202, body = RunNowAnswer)))]
pub async fn run_now(
    State(app): State<Shared>,
    caller: Caller<Operate>,
    once: IdempotencyKey,
    Segments(guid): Segments<String>,
    body: Json<Optional>,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let request = RunNowRequest::read(&body.value, "")?;
    once.run(app, caller, &body.bytes, |ids| async move {
        let row = touchable(app, caller, &guid).await?;
        let manual_run_guid = request.manual_run_guid.unwrap_or_else(|| ids.at(0).to_string());
        let asked = commands::run_now(&app.engine, &caller.by, &row.guid, &manual_run_guid).await;
        let (run, outcome) = asked.map_err(not_run)?;
        let answer = RunNowAnswer {
            key: run.key,
            manual_run_guid,
            status: run.status.as_str().to_owned(),
            outcome: outcome.as_str().to_owned(),
            work_id: run.id,
        };
        JsonResponse::json(StatusCode::ACCEPTED, &answer)
    })
    .await
}

/// The runs of a subscription, newest first
#[utoipa::path(get, path = "/api/v1/report-subscriptions/{guid}/automation-runs", tag = "Report runs", security(("key" = ["read"])),
    params(("guid" = String, Path), ("status" = Option<String>, Query), PageQuery), responses((status = 200, body = Page<RunSummary>)))]
pub async fn list(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Segments(guid): Segments<String>,
    parameters: Parameters,
) -> Answer {
    let subscription = visible(&app, &caller, &guid).await?;
    let (status, page) =
        parameters.read(|fields| (fields.optional_name("status"), PageQuery::read(fields)))?;
    let status = match status.as_deref().map(WorkStatus::parse) {
        // A word that is no status: no run has it.
        Some(None) => return summaries(&app, &caller, Page::stretch(Vec::new(), None)).await,
        known => known.flatten(),
    };
    let mut reader = app.engine.store.read_for_people().await?;
    let limit = i64::from(page.limit);
    let found =
        runs::of(&mut reader.conn(), &caller.by.reach(), &subscription.guid, status, page.cursor, limit)
            .await?;
    drop(reader);
    summaries(&app, &caller, Page::stretch(found.rows, found.next)).await
}

/// The latest runs of a subscription
#[utoipa::path(get, path = "/api/v1/report-subscriptions/{guid}/automation-runs/recent", tag = "Report runs", security(("key" = ["read"])),
    params(("guid" = String, Path), PageQuery), responses((status = 200, body = Page<RunSummary>)))]
pub async fn recent_of(
    state: State<Shared>,
    caller: Caller<Read>,
    guid: Segments<String>,
    parameters: Parameters,
) -> Answer {
    list(state, caller, guid, parameters).await
}

/// Runs of a subscription that have failed, are held or wait for a retry
#[utoipa::path(get, path = "/api/v1/report-subscriptions/{guid}/automation-runs/failed", tag = "Report runs", security(("key" = ["read"])),
    params(("guid" = String, Path), PageQuery), responses((status = 200, body = Page<RunSummary>)))]
pub async fn failed_of(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Segments(guid): Segments<String>,
    parameters: Parameters,
) -> Answer {
    let subscription = visible(&app, &caller, &guid).await?;
    let page = parameters.page()?;
    let mut reader = app.engine.store.read_for_people().await?;
    let limit = i64::from(page.limit) + 1;
    let rows = work::troubled(
        &mut reader.conn(),
        &caller.by.reach(),
        KIND,
        Some(&subscription.guid),
        page.cursor,
        limit,
    )
    .await?;
    drop(reader);
    summaries(&app, &caller, Page::cut(rows, page.limit, |row| row.id)).await
}

/// The failed queue over all subscriptions
#[utoipa::path(get, path = "/api/v1/report-runs/failed", tag = "Report runs", security(("key" = ["read"])),
    params(PageQuery), responses((status = 200, body = Page<RunSummary>)))]
pub async fn failed(State(app): State<Shared>, caller: Caller<Read>, parameters: Parameters) -> Answer {
    let page = parameters.page()?;
    let mut reader = app.engine.store.read_for_people().await?;
    let limit = i64::from(page.limit) + 1;
    let rows = work::troubled(&mut reader.conn(), &caller.by.reach(), KIND, None, page.cursor, limit).await?;
    drop(reader);
    summaries(&app, &caller, Page::cut(rows, page.limit, |row| row.id)).await
}

/// The latest runs over all subscriptions
#[utoipa::path(get, path = "/api/v1/report-runs/recent", tag = "Report runs", security(("key" = ["read"])),
    params(PageQuery), responses((status = 200, body = Page<RunSummary>)))]
pub async fn recent(State(app): State<Shared>, caller: Caller<Read>, parameters: Parameters) -> Answer {
    let page = parameters.page()?;
    let mut reader = app.engine.store.read_for_people().await?;
    let limit = i64::from(page.limit);
    let found = runs::of_all(&mut reader.conn(), &caller.by.reach(), page.cursor, limit).await?;
    drop(reader);
    summaries(&app, &caller, Page::stretch(found.rows, found.next)).await
}

/// Look at a run
///
/// By its key, or by the guid of a run that was asked for.
#[utoipa::path(get, path = "/api/v1/report-subscriptions/{guid}/automation-runs/{run}", tag = "Report runs", security(("key" = ["read"])),
    params(("guid" = String, Path), ("run" = String, Path)), responses((status = 200, body = AutomationRun)))]
pub async fn get(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Segments((guid, run)): Segments<(String, String)>,
) -> Answer {
    let (view, ownership) = found(&app, &caller, &guid, &run).await?;
    JsonResponse::ok(&shape(&app, &caller, view, ownership).await?)
}

/// Who owns a run
#[utoipa::path(get, path = "/api/v1/report-subscriptions/{guid}/automation-runs/{run}/ownership", tag = "Report runs", security(("key" = ["read"])),
    params(("guid" = String, Path), ("run" = String, Path)), responses((status = 200, body = Ownership)))]
pub async fn ownership(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Segments((guid, run)): Segments<(String, String)>,
) -> Answer {
    let (_, ownership) = found(&app, &caller, &guid, &run).await?;
    JsonResponse::ok(&ownership)
}

/// The coordinates of a run
#[utoipa::path(get, path = "/api/v1/report-subscriptions/{guid}/automation-runs/{run}/coordinates", tag = "Report runs", security(("key" = ["read"])),
    params(("guid" = String, Path), ("run" = String, Path)), responses((status = 200, body = Coordinates)))]
pub async fn coordinates(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Segments((guid, run)): Segments<(String, String)>,
) -> Answer {
    let (view, _) = found(&app, &caller, &guid, &run).await?;
    let (artefacts, notifications) = (artefacts(&view), deliveries(&view)?);
    JsonResponse::ok(&Coordinates {
        storage_run_key_hash: view.storage_hash(),
        coordinates: view.coordinates(),
        key: view.work.key,
        notifications,
        artefacts,
    })
}

/// A file of a run
#[utoipa::path(get, path = "/api/v1/report-subscriptions/{guid}/automation-runs/{run}/artefacts/{name}", tag = "Report runs", security(("key" = ["read"])),
    params(("guid" = String, Path), ("run" = String, Path), ("name" = String, Path)),
    responses((status = 200, description = "The file, of its own type", body = Vec<u8>, content_type = "*/*"),
        (status = 410, description = "It was removed after the time for which files are kept", body = Problem, content_type = "application/problem+json")))]
pub async fn artefact(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Segments((guid, run, name)): Segments<(String, String, String)>,
) -> Result<Response, Failure> {
    let (view, _) = found(&app, &caller, &guid, &run).await?;
    let missing = || Failure::from(Problem::not_found("artefact", &name));
    let file = view.artefacts().into_iter().find(|file| file.name == name).ok_or_else(missing)?;
    // The name is one that was written down when it was made, so it leads nowhere else.
    let blob = blob_name(&view.storage_hash(), &file.name);
    if let Some(at) = view.files_purged_at() {
        return Err(Problem::file_gone(&name, at).into());
    }
    let content = app.engine.blobs.get(&blob).await?.ok_or_else(missing)?;
    let kind = HeaderValue::try_from(&file.media_type).map_err(|error| Failure::internal(&error))?;
    let shown = HeaderValue::try_from(format!("attachment; filename=\"{}\"", file.name.replace('"', "")))
        .map_err(|error| Failure::internal(&error))?;
    Ok(([(header::CONTENT_TYPE, kind), (header::CONTENT_DISPOSITION, shown)], content).into_response())
}

/// Try a run again
///
/// The retry keeps the key and the ownership. For a delivered run, only parked messages are retried; the report is not
/// generated again.
#[utoipa::path(post, path = "/api/v1/report-subscriptions/{guid}/automation-runs/{run}/retry", tag = "Report runs", security(("key" = ["operate"])),
    params(("guid" = String, Path), ("run" = String, Path)), request_body = Option<ActionRequest>, responses((status = 200, body = AutomationRun)))]
pub async fn retry(
    State(app): State<Shared>,
    caller: Caller<Operate>,
    once: IdempotencyKey,
    Segments((guid, run)): Segments<(String, String)>,
    body: Json<Optional>,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let request = ActionRequest::read(&body.value, "")?;
    once.run(app, caller, &body.bytes, |_| async move {
        let subscription = touchable(app, caller, &guid).await?;
        let (view, _) = found(app, caller, &subscription.guid, &run).await?;
        let by = caller.by.because(request.reason.as_deref());
        commands::retry(&app.engine, &by, &view.work, request.version).await?;
        let (view, ownership) = found(app, caller, &subscription.guid, &run).await?;
        JsonResponse::ok(&shape(app, caller, view, ownership).await?)
    })
    .await
}

async fn found(
    app: &App,
    caller: &Principal,
    guid: &str,
    run: &str,
) -> Result<(RunView, Ownership), Failure> {
    let subscription = visible(app, caller, guid).await?;
    let mut reader = app.engine.store.read_for_people().await?;
    let view = runs::find(&mut reader.conn(), &caller.by.reach(), &subscription.guid, run).await?;
    let view = view.ok_or_else(|| Failure::from(Problem::not_found("run", run)))?;
    let unit = subscription.business_unit.as_deref();
    let rollout = rollouts::over(&mut reader.conn(), KIND, &subscription.guid, unit).await?;
    let ownership = owned::shape(&view.work.key, view.ownership.as_ref(), rollout.as_ref())?;
    Ok((view, ownership))
}

async fn summaries(app: &App, caller: &Principal, page: Page<WorkRow>) -> Answer {
    let items = shape_all(app, caller, page.items).await?;
    JsonResponse::ok(&Page { items, next_cursor: page.next_cursor })
}

async fn shape_all(app: &App, caller: &Principal, rows: Vec<WorkRow>) -> Result<Vec<RunSummary>, Failure> {
    let mut reader = app.engine.store.read_for_people().await?;
    let views = runs::view(&mut reader.conn(), &caller.by.reach(), rows).await?;
    drop(reader);
    let titles = crate::work::titles(app, caller, views.iter().map(|view| &view.work)).await?;
    let summaries = views.into_iter().zip(titles).map(|(view, title)| summary(view, title));
    Ok(summaries.collect::<Result<_, StoreError>>()?)
}

fn summary(view: RunView, title: String) -> Result<RunSummary, StoreError> {
    Ok(RunSummary {
        subscription_guid: RunKey::read(&view.work.key).map_or(String::new(), |run| run.guid),
        storage_run_key_hash: view.storage_hash(),
        run_outcome: view.record.as_ref().map(|record| record.outcome.as_str().to_owned()),
        owner: view.ownership.as_ref().map(|row| owned::owner_word(&row.owner)),
        work: crate::work::shape(view.work, title, None)?,
    })
}

async fn shape(
    app: &App,
    caller: &Principal,
    view: RunView,
    ownership: Ownership,
) -> Result<AutomationRun, Failure> {
    let title =
        crate::work::titles(app, caller, std::iter::once(&view.work)).await?.pop().unwrap_or_default();
    let details = view.details();
    let at = |name: &str| -> Option<Timestamp> { details.get(name)?.as_str()?.parse().ok() };
    Ok(AutomationRun {
        period_start: at("periodStart"),
        period_end: at("periodEnd"),
        ownership,
        coordinates: view.coordinates(),
        notifications: deliveries(&view)?,
        artefacts: artefacts(&view),
        rows: details.get("rows").and_then(Value::as_i64),
        truncated: details.get("truncated").and_then(Value::as_bool),
        fault: details.get("fault").or_else(|| details.get("conflict")).cloned(),
        attempt_count: view.record.as_ref().map_or(0, |record| record.attempts),
        attempts: attempts(&view)?,
        run: summary(view, title)?,
    })
}

fn attempts(view: &RunView) -> Result<Vec<RunAttempt>, StoreError> {
    let id_of = |seq: i64| {
        let row = view.notifications.iter().find(|row| row.seq == seq);
        row.map(|row| row.id.to_string()).unwrap_or_default()
    };
    let rows = view.attempts.iter();
    rows.map(|row| {
        Ok(RunAttempt {
            notification: id_of(row.notification_seq),
            target: row.target.clone(),
            attempt: row.n,
            channel: row.channel.clone(),
            started_at: row.started_at,
            finished_at: row.finished_at,
            outcome: row.outcome.map(|outcome| outcome.as_str().to_owned()),
            answer: row.answer.clone(),
        })
    })
    .collect()
}

fn deliveries(view: &RunView) -> Result<Vec<RunDelivery>, StoreError> {
    let rows = view.notifications.iter();
    rows.map(|row| {
        Ok(RunDelivery {
            id: row.id.to_string(),
            channel: row.channel.to_string(),
            status: row.status.as_str().to_owned(),
            attempt_count: row.attempts,
            delivered_at: row.delivered_at,
            last_error: row.last_error.clone(),
        })
    })
    .collect()
}

fn artefacts(view: &RunView) -> Vec<Artefact> {
    let guid = RunKey::read(&view.work.key).map_or(String::new(), |run| run.guid);
    let base = format!("/api/v1/report-subscriptions/{guid}/automation-runs/{}/artefacts", view.work.key);
    let purged_at = view.files_purged_at();
    let files = view.artefacts().into_iter();
    files
        .map(|file| Artefact {
            href: format!("{base}/{}", file.name),
            bytes: i64::try_from(file.bytes).unwrap_or(i64::MAX),
            name: file.name,
            media_type: file.media_type,
            blob: file.blob,
            locale: file.reading.as_ref().map(|reading| reading.locale.clone()),
            time_zone: file.reading.map(|reading| reading.time_zone),
            purged_at,
        })
        .collect()
}

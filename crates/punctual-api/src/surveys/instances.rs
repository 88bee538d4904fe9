//! Instances of a survey: every link that was offered, and how its messages went.

use axum::extract::State;
use punctual_store::{
    StoreError,
    survey_instances::{self, InstanceFilter, InstanceRow},
};
use punctual_wire::{
    Page, PageQuery, Problem,
    surveys::instances::{DeliveryLogEntry, Instance, InstanceQuery},
};
use punctual_workflows::surveys::instances::{self as path, LogEntry};

use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Caller, Operate, Principal, Read},
    parameters::{Parameters, Segments},
    surveys::with_rows,
};

/// List the instances of a survey, newest first
#[utoipa::path(get, path = "/api/v1/surveys/{id}/instances", tag = "Surveys", security(("key" = ["read"])),
    params(("id" = i64, Path), InstanceQuery, PageQuery), responses((status = 200, body = Page<Instance>)))]
pub async fn list(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Segments(id): Segments<String>,
    parameters: Parameters,
) -> Answer {
    let survey = with_rows(&app, &caller, &id).await?;
    let query = InstanceQuery::read(parameters.0)?;
    let filter = InstanceFilter {
        survey_id: survey.id,
        status: query.status,
        trigger: query.trigger_id,
        customer_ref: query.customer_ref,
        counted: false,
        before: query.page.cursor,
        limit: i64::from(query.page.limit),
        ..InstanceFilter::default()
    };
    let mut reader = app.engine.store.read_for_people().await?;
    let found = survey_instances::page(&mut reader.conn(), &caller.by.reach(), &filter).await?;
    let page = Page::stretch(found.rows, found.next);
    let mut logs = path::delivery_logs(&mut reader.conn(), &caller.by.reach(), &page.items).await?;
    let items: Vec<Instance> = page
        .items
        .into_iter()
        .map(|row| {
            let log = logs.remove(&row.public_id).unwrap_or_default();
            shape(row, log)
        })
        .collect::<Result<_, _>>()?;
    JsonResponse::ok(&Page { items, next_cursor: page.next_cursor })
}

/// Look at an instance
#[utoipa::path(get, path = "/api/v1/surveys/{id}/instances/{publicId}", tag = "Surveys", security(("key" = ["read"])),
    params(("id" = i64, Path), ("publicId" = String, Path)), responses((status = 200, body = Instance)))]
pub async fn get(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Segments((id, public_id)): Segments<(String, String)>,
) -> Answer {
    let survey = with_rows(&app, &caller, &id).await?;
    let row = instance(&app, &caller, survey.id, &public_id).await?;
    let mut reader = app.engine.store.read_for_people().await?;
    let rows = [row];
    let mut logs = path::delivery_logs(&mut reader.conn(), &caller.by.reach(), &rows).await?;
    let [row] = rows;
    let log = logs.remove(&row.public_id).unwrap_or_default();
    JsonResponse::ok(&shape(row, log)?)
}

/// Take a link back
///
/// Nothing more is sent and its page is gone. The row stays; the same event may make a new instance.
#[utoipa::path(delete, path = "/api/v1/surveys/{id}/instances/{publicId}", tag = "Surveys", security(("key" = ["operate"])),
    params(("id" = i64, Path), ("publicId" = String, Path)), responses((status = 204)))]
pub async fn delete(
    State(app): State<Shared>,
    caller: Caller<Operate>,
    Segments((id, public_id)): Segments<(String, String)>,
) -> Answer {
    let survey = with_rows(&app, &caller, &id).await?;
    let row = instance(&app, &caller, survey.id, &public_id).await?;
    path::delete(&app.engine, &app.surveys, &caller.by, &row.public_id).await?;
    JsonResponse::no_content()
}

async fn instance(
    app: &App,
    caller: &Principal,
    survey_id: i64,
    public_id: &str,
) -> Result<InstanceRow, Failure> {
    let mut reader = app.engine.store.read_for_people().await?;
    let row = survey_instances::by_public_id(&mut reader.conn(), &caller.by.reach(), public_id).await?;
    row.filter(|row| row.survey_id == survey_id && !row.deleted)
        .ok_or_else(|| Problem::not_found("instance", public_id).into())
}

fn shape(row: InstanceRow, log: Vec<LogEntry>) -> Result<Instance, StoreError> {
    Ok(Instance {
        triggered_at: row.triggered_at,
        next_send_at: row.next_send_at,
        last_sent_at: row.last_sent_at,
        opened_at: row.opened_at,
        finished_at: row.finished_at,
        metadata: serde_json::from_str(&row.metadata)
            .map_err(|_| StoreError::Stored("survey_instances.metadata"))?,
        id: row.id,
        public_id: row.public_id,
        survey_id: row.survey_id,
        survey_version_id: row.version_id,
        status: row.status.as_str().to_owned(),
        reason_code: row.reason_code,
        business_unit: row.business_unit,
        triggered_by: row.triggered_by,
        trigger_id: row.trigger_id,
        customer_ref: row.customer_ref,
        channel: row.channel,
        recipient_address: row.recipient_address,
        recipient_locale: row.recipient_locale,
        reminders_remaining: row.reminders_remaining,
        unique_hash: row.unique_hash,
        delivery_log: log
            .into_iter()
            .map(|entry| DeliveryLogEntry {
                attempt: entry.attempt,
                ordinal: entry.ordinal,
                sent_at: entry.sent_at,
                status: entry.status,
                message_id: entry.message_id,
                error: entry.error,
            })
            .collect(),
    })
}

//! `/api/v1/surveys`: what authors write, and publishing it.

pub mod ingest;
pub mod instances;
pub mod public;
pub mod results;

use axum::extract::State;
use punctual_engine::{CommandError, commands::Seen};
use punctual_model::{Fault, survey::Warning};
use punctual_store::{
    StoreError,
    surveys::{self, SurveyDraft, SurveyRow},
};
use punctual_wire::{
    Code, FieldError, Page, PageQuery, Problem,
    surveys::{Survey, SurveyPublished, SurveyRequest, SurveyWarning},
};
use punctual_workflows::surveys::author::{self, Publishing};
use serde_json::Value;

use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Author, Caller, Principal, Read},
    body::{Json, SurveyBody},
    idempotency::IdempotencyKey,
    parameters::{Parameters, Segments, row_id},
};

/// Write a survey
///
/// The schema is stored without checks; it is checked when you publish it.
#[utoipa::path(post, path = "/api/v1/surveys", tag = "Surveys", security(("key" = ["author"])),
    request_body(content = SurveyRequest, example = json!({"name": "CSI-GR", "schema": {"title": {"en": "How was your visit?"},
        "questions": [{"id": "rate", "type": "nps", "text": {"en": "How likely are you to recommend us?"}, "required": true}],
        "triggers": [{"id": "after-visit", "eventKind": "service-visit-closed", "dedupRecipe": ["templateId", "candidate.wip"],
            "schedule": {"initialDelay": "1h", "reminders": ["2d"]}, "channel": "whatsapp:default"}]}})),
    responses((status = 201, body = Survey)))]
pub async fn post(
    State(app): State<Shared>,
    caller: Caller<Author>,
    once: IdempotencyKey,
    body: Json<SurveyBody>,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let request = SurveyRequest::read(&body.value, "")?;
    once.run(app, caller, &body.bytes, |_| async move {
        let draft = draft(request);
        let row = author::create(&app.engine, &caller.by, &draft).await?;
        JsonResponse::created(&shape(row)?)
    })
    .await
}

/// Change a survey
///
/// The published version stays unchanged until you publish again.
#[utoipa::path(put, path = "/api/v1/surveys/{id}", tag = "Surveys", security(("key" = ["author"])),
    params(("id" = i64, Path)), request_body = SurveyRequest, responses((status = 200, body = Survey)))]
pub async fn put(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(id): Segments<String>,
    body: Json<SurveyBody>,
) -> Answer {
    let request = SurveyRequest::read(&body.value, "")?;
    let before = changeable(&app, &caller, &id).await?;
    let draft = draft(request);
    let row = author::change(&app.engine, &caller.by, before.id, Seen::Anything, &draft).await?;
    JsonResponse::ok(&shape(row)?)
}

fn draft(request: SurveyRequest) -> SurveyDraft {
    SurveyDraft {
        name: request.name,
        integration_id: request.integration_id,
        business_unit: request.business_unit,
        draft: request.schema.to_string(),
    }
}

/// Look at a survey
#[utoipa::path(get, path = "/api/v1/surveys/{id}", tag = "Surveys", security(("key" = ["read"])),
    params(("id" = i64, Path)), responses((status = 200, body = Survey)))]
pub async fn get(State(app): State<Shared>, caller: Caller<Read>, Segments(id): Segments<String>) -> Answer {
    let row = found(&app, &caller, &id).await?;
    JsonResponse::ok(&shape(row)?)
}

/// List surveys, newest first
#[utoipa::path(get, path = "/api/v1/surveys", tag = "Surveys", security(("key" = ["read"])),
    params(PageQuery), responses((status = 200, body = Page<Survey>)))]
pub async fn list(State(app): State<Shared>, caller: Caller<Read>, parameters: Parameters) -> Answer {
    let page = parameters.page()?;
    let mut reader = app.engine.store.read_for_people().await?;
    let limit = i64::from(page.limit) + 1;
    let rows = surveys::page(&mut reader.conn(), page.cursor, &caller.by.reach(), limit).await?;
    let page = Page::cut(rows, page.limit, |row| row.id);
    let items: Vec<Survey> = page.items.into_iter().map(shape).collect::<Result<_, _>>()?;
    JsonResponse::ok(&Page { items, next_cursor: page.next_cursor })
}

/// Publish a survey
///
/// The schema is checked whole and pinned under the next number. From then on events make instances of it, on every node.
/// What is probably a mistake comes back as a warning.
#[utoipa::path(post, path = "/api/v1/surveys/{id}/publish", tag = "Surveys", security(("key" = ["author"])),
    params(("id" = i64, Path)), responses((status = 200, body = SurveyPublished)))]
pub async fn publish(
    State(app): State<Shared>,
    caller: Caller<Author>,
    once: IdempotencyKey,
    Segments(id): Segments<String>,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let row = changeable(app, caller, &id).await?;
    once.run(app, caller, b"", |_| async move {
        match author::publish(&app.engine, &caller.by, row.id).await? {
            Publishing::Refused(faults) => Err(Problem::of_fields(fields(faults, "/schema")).into()),
            Publishing::Published { version, warnings } => {
                let warnings = warnings.into_iter().map(warning).collect();
                JsonResponse::ok(&SurveyPublished { version, warnings })
            }
        }
    })
    .await
}

fn warning(warning: Warning) -> SurveyWarning {
    SurveyWarning {
        pointer: format!("/schema{}", warning.pointer),
        code: warning.code.to_owned(),
        detail: warning.detail,
    }
}

/// Faults of a part of the document, as the API returns them.
pub(crate) fn fields(faults: Vec<Fault>, within: &str) -> Vec<FieldError> {
    faults
        .into_iter()
        .map(|fault| {
            let code = Code::parse(fault.code).unwrap_or(Code::OutOfRange);
            FieldError::new(fault.pointer, code, fault.detail).within(within)
        })
        .collect()
}

/// The survey, if the caller may see it.
async fn found(app: &App, caller: &Principal, id: &str) -> Result<SurveyRow, Failure> {
    let number = row_id(id, "survey")?;
    let mut reader = app.engine.store.read_for_people().await?;
    let row = surveys::get(&mut reader.conn(), &caller.by.reach(), number).await?;
    row.ok_or_else(|| missing(id).into())
}

/// The survey whose instances and answers the caller may have. Those of a shared one belong to the installation.
pub(crate) async fn with_rows(app: &App, caller: &Principal, id: &str) -> Result<SurveyRow, Failure> {
    let row = found(app, caller, id).await?;
    if caller.by.reach().includes(row.business_unit.as_deref()) { Ok(row) } else { Err(missing(id).into()) }
}

/// The survey, if the caller may change it.
async fn changeable(app: &App, caller: &Principal, id: &str) -> Result<SurveyRow, Failure> {
    let row = found(app, caller, id).await?;
    caller.by.may_change(row.business_unit.as_deref(), || missing(id))?;
    Ok(row)
}

fn missing(id: &str) -> CommandError {
    CommandError::not_found("survey", id)
}

fn shape(row: SurveyRow) -> Result<Survey, StoreError> {
    let schema: Value = serde_json::from_str(&row.draft).map_err(|_| StoreError::Stored("surveys.draft"))?;
    Ok(Survey {
        id: row.id,
        name: row.name,
        integration_id: row.integration_id,
        business_unit: row.business_unit,
        published_version_number: row.published_version,
        schema,
        version: row.version,
        created_at: row.created_at,
        updated_at: row.updated_at,
    })
}

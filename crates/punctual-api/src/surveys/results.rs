//! The results of a survey, as figures and as a table.

use axum::{
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use jiff::tz::TimeZone;
use punctual_model::table::Table;
use punctual_reports::{csv as csv_file, xlsx as xlsx_file};
use punctual_store::surveys::SurveyRow;
use punctual_wire::{Code, FieldError, Fields, fields::query_object, surveys::results::SurveyResults};
use punctual_workflows::surveys::results::{self as path, ResultsFilter};

use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Caller, Principal, Read},
    parameters::{Parameters, Segments},
    surveys::with_rows,
};

/// Filters of results: `triggerId`, `from`, `to`, and any field of the event as `candidate.NAME`.
fn filter(parameters: Vec<(String, String)>) -> Result<ResultsFilter, Failure> {
    let (candidate, others): (Vec<_>, Vec<_>) =
        parameters.into_iter().partition(|(name, _)| name.starts_with("candidate."));
    if candidate.len() > 10 {
        let detail = "At most ten fields of the event can be asked for at once.";
        return Err(FieldError::new("/candidate", Code::OutOfRange, detail).into());
    }
    let object = query_object(others);
    let mut fields = Fields::query(&object);
    let filter = ResultsFilter {
        trigger: fields.optional_name("triggerId"),
        from: fields.optional_instant("from"),
        to: fields.optional_instant("to"),
        candidate: candidate
            .into_iter()
            .map(|(name, value)| (name.trim_start_matches("candidate.").to_owned(), value))
            .collect(),
    };
    fields.finish()?;
    Ok(filter)
}

/// What the answers come to
///
/// Counts and shares of every answer, the NPS, the response rate and the median time to answer, by day and by trigger. Any
/// field of the event limits them: `?candidate.dealerId=1`. For a survey with more than 10,000 links, results are computed in
/// the background: the response has the latest result and its time, `countedAt`; before the first result it covers only the
/// newest links (`newest`).
#[utoipa::path(get, path = "/api/v1/surveys/{id}/results", tag = "Surveys", security(("key" = ["read"])),
    params(("id" = i64, Path), ("triggerId" = Option<String>, Query), ("from" = Option<String>, Query), ("to" = Option<String>, Query), ("candidate.{field}" = Option<String>, Query, description = "Only events with this value in this field")),
    responses((status = 200, body = SurveyResults)))]
pub async fn get(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Segments(id): Segments<String>,
    parameters: Parameters,
) -> Answer {
    let survey = with_rows(&app, &caller, &id).await?;
    let filter = filter(parameters.0)?;
    let versions = path::versions(&app.engine, &app.surveys, survey.id).await?;
    let reach = caller.by.reach();
    let results = path::results(&app.engine, &app.surveys, &reach, survey.id, &versions, &filter).await?;
    JsonResponse::ok(&results)
}

/// Every answer as CSV
///
/// One row for each answer and one column for each question. A cell that a spreadsheet would treat as a formula begins with an
/// apostrophe.
#[utoipa::path(get, path = "/api/v1/surveys/{id}/results.csv", tag = "Surveys", security(("key" = ["read"])),
    params(("id" = i64, Path), ("triggerId" = Option<String>, Query), ("from" = Option<String>, Query), ("to" = Option<String>, Query), ("candidate.{field}" = Option<String>, Query, description = "Only events with this value in this field")),
    responses((status = 200, body = String, content_type = "text/csv")))]
pub async fn csv(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Segments(id): Segments<String>,
    parameters: Parameters,
) -> Result<Response, Failure> {
    let (survey, table) = answers(&app, &caller, &id, parameters).await?;
    let text = csv_file::table(&table, &TimeZone::UTC);
    download(&survey, "csv", "text/csv; charset=utf-8", text.into_bytes())
}

/// Every answer as a spreadsheet
///
/// The same table with typed cells: numbers and times are such, and no text is a formula.
#[utoipa::path(get, path = "/api/v1/surveys/{id}/results.xlsx", tag = "Surveys", security(("key" = ["read"])),
    params(("id" = i64, Path), ("triggerId" = Option<String>, Query), ("from" = Option<String>, Query), ("to" = Option<String>, Query), ("candidate.{field}" = Option<String>, Query, description = "Only events with this value in this field")),
    responses((status = 200, body = [u8], content_type = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet")))]
pub async fn xlsx(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Segments(id): Segments<String>,
    parameters: Parameters,
) -> Result<Response, Failure> {
    let (survey, table) = answers(&app, &caller, &id, parameters).await?;
    let bytes = xlsx_file::table(&survey.name, &table, &TimeZone::UTC);
    download(&survey, "xlsx", xlsx_file::XLSX, bytes)
}

/// The answers that a caller asks for, as a table.
async fn answers(
    app: &App,
    caller: &Principal,
    id: &str,
    parameters: Parameters,
) -> Result<(SurveyRow, Table), Failure> {
    let survey = with_rows(app, caller, id).await?;
    let filter = filter(parameters.0)?;
    let versions = path::versions(&app.engine, &app.surveys, survey.id).await?;
    let table = path::table(&app.engine, &caller.by.reach(), survey.id, &versions, &filter).await?;
    Ok((survey, table))
}

fn download(
    survey: &SurveyRow,
    ending: &str,
    media_type: &'static str,
    bytes: Vec<u8>,
) -> Result<Response, Failure> {
    let name = HeaderValue::try_from(format!("attachment; filename=\"survey-{}.{ending}\"", survey.id))
        .map_err(|error| Failure::internal(&error))?;
    let kind = HeaderValue::from_static(media_type);
    Ok(([(header::CONTENT_TYPE, kind), (header::CONTENT_DISPOSITION, name)], bytes).into_response())
}

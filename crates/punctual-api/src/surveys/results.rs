//! What the answers of a survey come to, as figures and as a table.

use axum::{
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use punctual_paths::surveys::results::{self as path, ResultsFilter, csv_row};
use punctual_wire::{Code, FieldError, Fields, fields::query_object, surveys::results::SurveyResults};

use crate::{
    Shared,
    answer::{Answer, Failure, Shaped},
    auth::{Caller, Read},
    parameters::{Parameters, Segments},
    surveys::found,
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
/// Counts and shares of every answer, the NPS, the response rate and the median time to answer, by day and by trigger.
/// Any field of the event limits them: `?candidate.dealerId=1`.
#[utoipa::path(get, path = "/api/v1/surveys/{id}/results", tag = "Surveys", security(("key" = ["read"])),
    params(("id" = i64, Path), ("triggerId" = Option<String>, Query), ("from" = Option<String>, Query), ("to" = Option<String>, Query)),
    responses((status = 200, body = SurveyResults)))]
pub async fn get(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Segments(id): Segments<String>,
    parameters: Parameters,
) -> Answer {
    let survey = found(&app, &id, |unit| caller.may_see(unit)).await?;
    let filter = filter(parameters.0)?;
    let version = path::published(&app.engine, &app.surveys, survey.id, survey.published_version).await?;
    Shaped::ok(&path::results(&app.engine, survey.id, version.as_deref(), &filter).await?)
}

/// Every answer as CSV
///
/// One row for each answer and one column for each question. A cell that a spreadsheet would take for a formula begins
/// with an apostrophe.
#[utoipa::path(get, path = "/api/v1/surveys/{id}/results.csv", tag = "Surveys", security(("key" = ["read"])),
    params(("id" = i64, Path), ("triggerId" = Option<String>, Query), ("from" = Option<String>, Query), ("to" = Option<String>, Query)),
    responses((status = 200, body = String, content_type = "text/csv")))]
pub async fn csv(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Segments(id): Segments<String>,
    parameters: Parameters,
) -> Result<Response, Failure> {
    let survey = found(&app, &id, |unit| caller.may_see(unit)).await?;
    let filter = filter(parameters.0)?;
    let version = path::published(&app.engine, &app.surveys, survey.id, survey.published_version).await?;
    let table = path::table(&app.engine, survey.id, version.as_deref(), &filter).await?;
    let mut text = csv_row(&table.header);
    table.rows.iter().for_each(|row| text.push_str(&csv_row(row)));
    let name = HeaderValue::try_from(format!("attachment; filename=\"survey-{}.csv\"", survey.id))
        .map_err(|error| Failure::internal(&error))?;
    let kind = HeaderValue::from_static("text/csv; charset=utf-8");
    Ok(([(header::CONTENT_TYPE, kind), (header::CONTENT_DISPOSITION, name)], text).into_response())
}

//! `/api/v1/operations/organisations`: what the events and tasks of one organisation have in common.

use axum::extract::State;
use punctual_store::{
    StoreError,
    operations::organisations::{self, OrganisationRow},
    work::instant,
};
use punctual_wire::{
    Page, Problem,
    operations::organisations::{DefaultRuleShape, Organisation, OrganisationRequest},
    page::NamePageQuery,
};
use punctual_workflows::operations::{
    commands::DefaultRule,
    directory,
    written::{organisation_row, rule_shape},
};

use crate::{
    Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Author, Caller, Read},
    body::Json,
    parameters::{Parameters, Segments, checked_name},
};

/// Keep an organisation
///
/// A changed zone or hour moves what is scheduled by it, a little later. Changed rules count for what is created from now
/// on.
#[utoipa::path(put, path = "/api/v1/operations/organisations/{id}", tag = "Operations", security(("key" = ["author"])),
    params(("id" = String, Path)), request_body(content = OrganisationRequest, example = json!({"name": "Choir", "timeZone": "Europe/Berlin", "allDayAt": "09:00"})), responses((status = 200, body = Organisation)))]
pub async fn put(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(id): Segments<String>,
    body: Json,
) -> Answer {
    checked_name(&id, "/id")?;
    let mut request = OrganisationRequest::read(&body.value, "")?;
    request.business_unit = caller.unit_for(request.business_unit, "")?;
    let row = organisation_row(id, request, app.engine.clock.now())?;
    directory::put_organisation(&app.engine, &caller.by, &row).await?;
    JsonResponse::ok(&shape(row)?)
}

/// Look at an organisation
#[utoipa::path(get, path = "/api/v1/operations/organisations/{id}", tag = "Operations", security(("key" = ["read"])),
    params(("id" = String, Path)), responses((status = 200, body = Organisation)))]
pub async fn get(State(app): State<Shared>, caller: Caller<Read>, Segments(id): Segments<String>) -> Answer {
    let mut reader = app.engine.store.read().await?;
    let row = organisations::by_ids(&mut reader.conn(), vec![id.clone()]).await?.pop();
    let row = row.filter(|row| caller.by.may_see(row.business_unit.as_deref()));
    JsonResponse::ok(&shape(row.ok_or_else(|| Failure::from(Problem::not_found("organisation", id)))?)?)
}

/// All organisations, by id
#[utoipa::path(get, path = "/api/v1/operations/organisations", tag = "Operations", security(("key" = ["read"])),
    params(NamePageQuery), responses((status = 200, body = Page<Organisation>)))]
pub async fn list(State(app): State<Shared>, caller: Caller<Read>, parameters: Parameters) -> Answer {
    let page = parameters.name_page()?;
    let after = page.cursor.unwrap_or_default();
    let mut reader = app.engine.store.read().await?;
    let rows = organisations::page(&mut reader.conn(), &after, i64::from(page.limit) + 1).await?;
    let page = Page::cut_by_name(rows, page.limit, |row| &row.id);
    let seen = page.items.into_iter().filter(|row| caller.by.may_see(row.business_unit.as_deref()));
    let items: Vec<Organisation> = seen.map(shape).collect::<Result<_, _>>()?;
    JsonResponse::ok(&Page { items, next_cursor: page.next_cursor })
}

/// Remove an organisation
///
/// Its events and tasks stay; what hung on its zone or hour is planned without it.
#[utoipa::path(delete, path = "/api/v1/operations/organisations/{id}", tag = "Operations", security(("key" = ["author"])),
    params(("id" = String, Path)), responses((status = 204)))]
pub async fn delete(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(id): Segments<String>,
) -> Answer {
    directory::remove_organisation(&app.engine, &caller.by, &id).await?;
    JsonResponse::no_content()
}

fn shape(row: OrganisationRow) -> Result<Organisation, StoreError> {
    let rules: Option<Vec<DefaultRule>> = match &row.rules {
        Some(text) => Some(
            serde_json::from_str(text).map_err(|_| StoreError::Stored("operations_organisations.rules"))?,
        ),
        None => None,
    };
    let shaped = |one: DefaultRule| DefaultRuleShape {
        rule: rule_shape(&one.rule),
        channels: one.channels,
        handling: one.handling.into(),
    };
    Ok(Organisation {
        rules: rules.map(|rules| rules.into_iter().map(shaped).collect()),
        updated_at: instant(row.updated_at)?,
        id: row.id,
        name: row.name,
        time_zone: row.time_zone,
        all_day_at: row.all_day_at,
        business_unit: row.business_unit,
    })
}

//! `/api/v1/operations/organisations`: what the events and tasks of one organisation have in common.

use axum::extract::State;
use punctual_store::{
    StoreError,
    operations::organisations::{self, OrganisationRow},
};
use punctual_wire::{
    Page,
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
    answer::{Answer, JsonResponse},
    auth::{Author, Caller, Read},
    body::Json,
    definitions::{self, Definition},
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
    let request = OrganisationRequest::read(&body.value, "")?;
    let row = organisation_row(id, request, app.engine.clock.now())?;
    let stored = directory::put_organisation(&app.engine, &caller.by, &row).await?;
    JsonResponse::ok(&stored.shape()?)
}

/// Look at an organisation
#[utoipa::path(get, path = "/api/v1/operations/organisations/{id}", tag = "Operations", security(("key" = ["read"])),
    params(("id" = String, Path)), responses((status = 200, body = Organisation)))]
pub async fn get(State(app): State<Shared>, caller: Caller<Read>, Segments(id): Segments<String>) -> Answer {
    let mut reader = app.engine.store.read_for_people().await?;
    let row = organisations::get(&mut reader.conn(), &caller.by.reach(), &id).await?;
    definitions::one(&id, row)
}

/// All organisations, by id
#[utoipa::path(get, path = "/api/v1/operations/organisations", tag = "Operations", security(("key" = ["read"])),
    params(NamePageQuery), responses((status = 200, body = Page<Organisation>)))]
pub async fn list(State(app): State<Shared>, caller: Caller<Read>, parameters: Parameters) -> Answer {
    let query = parameters.name_page()?;
    let mut reader = app.engine.store.read_for_people().await?;
    let rows =
        organisations::page(&mut reader.conn(), &caller.by.reach(), query.after(), query.rows()).await?;
    definitions::page(&query, rows)
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

impl Definition for OrganisationRow {
    const WHAT: &'static str = "organisation";
    type Shape = Organisation;

    fn key(&self) -> &str {
        &self.id
    }

    fn shape(self) -> Result<Organisation, StoreError> {
        let rules: Option<Vec<DefaultRule>> = match &self.rules {
            Some(text) => Some(
                serde_json::from_str(text)
                    .map_err(|_| StoreError::Stored("operations_organisations.rules"))?,
            ),
            None => None,
        };
        let shaped = |one: DefaultRule| DefaultRuleShape {
            rule: rule_shape(&one.rule),
            channels: one.channels,
            handling: one.handling.into(),
            message: one.message,
        };
        Ok(Organisation {
            rules: rules.map(|rules| rules.into_iter().map(shaped).collect()),
            updated_at: self.updated_at,
            id: self.id,
            name: self.name,
            time_zone: self.time_zone,
            all_day_at: self.all_day_at,
            business_unit: self.business_unit,
        })
    }
}

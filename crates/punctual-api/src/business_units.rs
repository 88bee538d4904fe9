//! `/api/v1/business-units`: who owns data, and in which time zone they live.

use axum::extract::State;
use punctual_store::{
    StoreError,
    business_units::{self, BusinessUnitRow},
    quotas,
};
use punctual_wire::{
    Page,
    business_units::{BusinessUnit, BusinessUnitRequest, Quota, QuotaUsage},
    page::NamePageQuery,
};
use punctual_workflows::business_units::{self as commands, NewUnit};

use crate::{
    Shared,
    answer::{Answer, JsonResponse},
    auth::{Author, Caller, Read},
    body::Json,
    definitions::{self, Definition},
    parameters::{Parameters, Segments, checked_name},
};

/// Define a business unit
#[utoipa::path(put, path = "/api/v1/business-units/{id}", tag = "Business units", security(("key" = ["author"])),
    params(("id" = String, Path, example = "nz")), request_body = BusinessUnitRequest,
    responses((status = 200, body = BusinessUnit)))]
pub async fn put(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(id): Segments<String>,
    body: Json,
) -> Answer {
    checked_name(&id, "/id")?;
    let new = NewUnit::of(id, BusinessUnitRequest::read(&body.value, "")?);
    let row = commands::save(&app.engine, &app.reminders, &caller.by, new).await?;
    JsonResponse::ok(&row.shape()?)
}

/// Look at a business unit
#[utoipa::path(get, path = "/api/v1/business-units/{id}", tag = "Business units", security(("key" = ["read"])),
    params(("id" = String, Path)), responses((status = 200, body = BusinessUnit)))]
pub async fn get(State(app): State<Shared>, caller: Caller<Read>, Segments(id): Segments<String>) -> Answer {
    let mut reader = app.engine.store.read_for_people().await?;
    let row = business_units::get(&mut reader.conn(), &caller.by.reach(), &id).await?;
    let Some(row) = row else { return definitions::one::<BusinessUnitRow>(&id, None) };
    let usage = match row.rows_per_day {
        Some(_) => {
            let (local_date, until) = quotas::day_of(&row, app.engine.clock.now());
            let rows = quotas::accepted(&mut reader.conn(), &row.id, &local_date).await?;
            Some(QuotaUsage { local_date, rows, until })
        }
        None => None,
    };
    drop(reader);
    let waiting = match row.lane.filter(|_| row.channel_share.is_some()) {
        Some(lane) => Some(app.engine.waiting_in_lane(lane).await?),
        None => None,
    };
    JsonResponse::ok(&BusinessUnit { usage, waiting, ..row.shape()? })
}

/// All business units, by id
#[utoipa::path(get, path = "/api/v1/business-units", tag = "Business units", security(("key" = ["read"])),
    params(NamePageQuery), responses((status = 200, body = Page<BusinessUnit>)))]
pub async fn list(State(app): State<Shared>, caller: Caller<Read>, parameters: Parameters) -> Answer {
    let query = parameters.name_page()?;
    let mut reader = app.engine.store.read_for_people().await?;
    let rows =
        business_units::page(&mut reader.conn(), &caller.by.reach(), query.after(), query.rows()).await?;
    definitions::page(&query, rows)
}

/// Remove a business unit
#[utoipa::path(delete, path = "/api/v1/business-units/{id}", tag = "Business units", security(("key" = ["author"])),
    params(("id" = String, Path)), responses((status = 204)))]
pub async fn delete(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(id): Segments<String>,
) -> Answer {
    commands::remove(&app.engine, &app.reminders, &caller.by, &id).await?;
    JsonResponse::no_content()
}

impl Definition for BusinessUnitRow {
    const WHAT: &'static str = "business unit";
    type Shape = BusinessUnit;

    fn key(&self) -> &str {
        &self.id
    }

    fn shape(self) -> Result<BusinessUnit, StoreError> {
        Ok(BusinessUnit {
            updated_at: self.updated_at,
            id: self.id,
            name: self.name,
            time_zone: self.time_zone,
            quota: Quota::stored(self.rows_per_day, self.channel_share),
            usage: None,
            waiting: None,
        })
    }
}

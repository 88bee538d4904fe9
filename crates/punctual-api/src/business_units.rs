//! `/api/v1/business-units`: who owns data, and in which time zone they live.

use axum::extract::State;
use jiff::Timestamp;
use punctual_store::{
    Lane, StoreError, Tx,
    business_units::{self, BusinessUnitRow},
    work::instant,
};
use punctual_wire::{
    Page, Problem,
    business_units::{BusinessUnit, BusinessUnitRequest},
    page::NamePageQuery,
};
use punctual_workflows::reminders::changes::{self, Change};

use crate::{
    Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Author, Caller, Read},
    body::Json,
    parameters::{Parameters, Segments, checked_name},
    reminder_settings::apply,
    trail::audited,
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
    if !caller.may_touch(Some(&id)) {
        return Err(Problem::not_found("business unit", id).into());
    }
    let BusinessUnitRequest { name, time_zone } = BusinessUnitRequest::read(&body.value, "")?;
    let now = app.engine.clock.now();
    let row = BusinessUnitRow { id, name, time_zone, updated_at: now.as_microsecond() };
    let mut tx = app.engine.store.begin(Lane::Intake).await?;
    let before = business_units::by_ids(&mut tx.conn(), vec![row.id.clone()]).await?.pop();
    business_units::put(&mut tx.conn(), now, &row).await?;
    let moved = before.is_none_or(|before| before.time_zone != row.time_zone);
    let key = zone_changed(&mut tx, now, &row.id, moved).await?;
    audited(&mut tx, now, &caller, "put", "business-unit", &row.id).await?;
    tx.commit().await?;
    apply(&app.engine, &app.reminders, key).await;
    JsonResponse::ok(&shape(row)?)
}

/// Look at a business unit
#[utoipa::path(get, path = "/api/v1/business-units/{id}", tag = "Business units", security(("key" = ["read"])),
    params(("id" = String, Path)), responses((status = 200, body = BusinessUnit)))]
pub async fn get(State(app): State<Shared>, caller: Caller<Read>, Segments(id): Segments<String>) -> Answer {
    let mut reader = app.engine.store.read().await?;
    let row = business_units::by_ids(&mut reader.conn(), vec![id.clone()]).await?.pop();
    let row = row.filter(|row| caller.may_see(Some(&row.id)));
    let row = row.ok_or_else(|| Failure::from(Problem::not_found("business unit", id)))?;
    JsonResponse::ok(&shape(row)?)
}

/// All business units, by id
#[utoipa::path(get, path = "/api/v1/business-units", tag = "Business units", security(("key" = ["read"])),
    params(NamePageQuery), responses((status = 200, body = Page<BusinessUnit>)))]
pub async fn list(State(app): State<Shared>, caller: Caller<Read>, parameters: Parameters) -> Answer {
    let page = parameters.name_page()?;
    let after = page.cursor.unwrap_or_default();
    let mut reader = app.engine.store.read().await?;
    let rows = business_units::page(&mut reader.conn(), &after, i64::from(page.limit) + 1).await?;
    let page = Page::cut_by_name(rows, page.limit, |row| &row.id);
    let seen = page.items.into_iter().filter(|row| caller.may_see(Some(&row.id)));
    let items: Vec<BusinessUnit> = seen.map(shape).collect::<Result<_, _>>()?;
    JsonResponse::ok(&Page { items, next_cursor: page.next_cursor })
}

/// Remove a business unit
#[utoipa::path(delete, path = "/api/v1/business-units/{id}", tag = "Business units", security(("key" = ["author"])),
    params(("id" = String, Path)), responses((status = 204)))]
pub async fn delete(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(id): Segments<String>,
) -> Answer {
    let now = app.engine.clock.now();
    let mut tx = app.engine.store.begin(Lane::Intake).await?;
    if !caller.may_touch(Some(&id)) || !business_units::delete(&mut tx.conn(), &id).await? {
        return Err(Problem::not_found("business unit", id).into());
    }
    let key = zone_changed(&mut tx, now, &id, true).await?;
    audited(&mut tx, now, &caller, "delete", "business-unit", &id).await?;
    tx.commit().await?;
    apply(&app.engine, &app.reminders, key).await;
    JsonResponse::no_content()
}

/// What is planned in local time follows the zone.
async fn zone_changed(
    tx: &mut Tx,
    now: Timestamp,
    id: &str,
    moved: bool,
) -> Result<Option<String>, StoreError> {
    // Also where there is no source yet: the first may be on its way.
    if !moved {
        return Ok(None);
    }
    changes::announce(tx, now, &Change::Unit { id: id.to_owned(), at: now }).await
}

fn shape(row: BusinessUnitRow) -> Result<BusinessUnit, StoreError> {
    Ok(BusinessUnit {
        updated_at: instant(row.updated_at)?,
        id: row.id,
        name: row.name,
        time_zone: row.time_zone,
    })
}

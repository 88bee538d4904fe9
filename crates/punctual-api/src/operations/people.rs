//! `/api/v1/operations/people`: who may be notified, where, and how they like it.

use axum::extract::State;
use punctual_store::{
    StoreError,
    operations::people::{self, PersonRow},
    work::instant,
};
use punctual_wire::{
    Page, Problem,
    operations::people::{Person, PersonRequest},
    page::NamePageQuery,
};
use punctual_workflows::operations::{directory, written::person_row};

use crate::{
    Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Author, Caller, Read},
    body::Json,
    parameters::{Parameters, Segments, checked_name},
};

/// Keep a person
#[utoipa::path(put, path = "/api/v1/operations/people/{id}", tag = "Operations", security(("key" = ["author"])),
    params(("id" = String, Path)), request_body(content = PersonRequest, example = json!({"name": "Ann", "email": "ann@example.org", "timeZone": "Europe/Berlin", "channels": ["email"]})), responses((status = 200, body = Person)))]
pub async fn put(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(id): Segments<String>,
    body: Json,
) -> Answer {
    checked_name(&id, "/id")?;
    let mut request = PersonRequest::read(&body.value, "")?;
    request.business_unit = caller.unit_for(request.business_unit, "")?;
    let row = person_row(id, request, app.engine.clock.now());
    directory::put_person(&app.engine, &caller.by, &row).await?;
    JsonResponse::ok(&shape(row)?)
}

/// Look at a person
#[utoipa::path(get, path = "/api/v1/operations/people/{id}", tag = "Operations", security(("key" = ["read"])),
    params(("id" = String, Path)), responses((status = 200, body = Person)))]
pub async fn get(State(app): State<Shared>, caller: Caller<Read>, Segments(id): Segments<String>) -> Answer {
    let mut reader = app.engine.store.read().await?;
    let row = people::by_ids(&mut reader.conn(), vec![id.clone()]).await?.pop();
    let row = row.filter(|row| caller.by.may_see(row.business_unit.as_deref()));
    JsonResponse::ok(&shape(row.ok_or_else(|| Failure::from(Problem::not_found("person", id)))?)?)
}

/// All people, by id
#[utoipa::path(get, path = "/api/v1/operations/people", tag = "Operations", security(("key" = ["read"])),
    params(NamePageQuery), responses((status = 200, body = Page<Person>)))]
pub async fn list(State(app): State<Shared>, caller: Caller<Read>, parameters: Parameters) -> Answer {
    let page = parameters.name_page()?;
    let after = page.cursor.unwrap_or_default();
    let mut reader = app.engine.store.read().await?;
    let rows = people::page(&mut reader.conn(), &after, i64::from(page.limit) + 1).await?;
    let page = Page::cut_by_name(rows, page.limit, |row| &row.id);
    let seen = page.items.into_iter().filter(|row| caller.by.may_see(row.business_unit.as_deref()));
    let items: Vec<Person> = seen.map(shape).collect::<Result<_, _>>()?;
    JsonResponse::ok(&Page { items, next_cursor: page.next_cursor })
}

/// Remove a person
///
/// Events and tasks keep the id; whoever is behind it gets nothing any more.
#[utoipa::path(delete, path = "/api/v1/operations/people/{id}", tag = "Operations", security(("key" = ["author"])),
    params(("id" = String, Path)), responses((status = 204)))]
pub async fn delete(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(id): Segments<String>,
) -> Answer {
    directory::remove_person(&app.engine, &caller.by, &id).await?;
    JsonResponse::no_content()
}

fn shape(row: PersonRow) -> Result<Person, StoreError> {
    Ok(Person {
        channels: serde_json::from_str(&row.channels)
            .map_err(|_| StoreError::Stored("operations_people.channels"))?,
        addresses: serde_json::from_str(&row.addresses)
            .map_err(|_| StoreError::Stored("operations_people.addresses"))?,
        updated_at: instant(row.updated_at)?,
        id: row.id,
        name: row.name,
        email: row.email,
        time_zone: row.time_zone,
        locale: row.locale,
        business_unit: row.business_unit,
    })
}

//! `/api/v1/operations/people`: who may be notified, where, and how they like it.

use axum::extract::State;
use punctual_store::{
    StoreError,
    operations::people::{self, PersonRow},
};
use punctual_wire::{
    Page,
    operations::people::{Person, PersonRequest},
    page::NamePageQuery,
};
use punctual_workflows::operations::{directory, written::person_row};

use crate::{
    Shared,
    answer::{Answer, JsonResponse},
    auth::{Author, Caller, Read},
    body::Json,
    definitions::{self, Definition},
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
    let request = PersonRequest::read(&body.value, "")?;
    let row = person_row(id, request, app.engine.clock.now());
    let stored = directory::put_person(&app.engine, &caller.by, &row).await?;
    JsonResponse::ok(&stored.shape()?)
}

/// Look at a person
#[utoipa::path(get, path = "/api/v1/operations/people/{id}", tag = "Operations", security(("key" = ["read"])),
    params(("id" = String, Path)), responses((status = 200, body = Person)))]
pub async fn get(State(app): State<Shared>, caller: Caller<Read>, Segments(id): Segments<String>) -> Answer {
    let mut reader = app.engine.store.read_for_people().await?;
    let row = people::get(&mut reader.conn(), &caller.by.reach(), &id).await?;
    definitions::one(&id, row)
}

/// All people, by id
#[utoipa::path(get, path = "/api/v1/operations/people", tag = "Operations", security(("key" = ["read"])),
    params(NamePageQuery), responses((status = 200, body = Page<Person>)))]
pub async fn list(State(app): State<Shared>, caller: Caller<Read>, parameters: Parameters) -> Answer {
    let query = parameters.name_page()?;
    let mut reader = app.engine.store.read_for_people().await?;
    let rows = people::page(&mut reader.conn(), &caller.by.reach(), query.after(), query.rows()).await?;
    definitions::page(&query, rows)
}

/// Remove a person
///
/// Events and tasks keep the id; the person gets no further messages.
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

impl Definition for PersonRow {
    const WHAT: &'static str = "person";
    type Shape = Person;

    fn key(&self) -> &str {
        &self.id
    }

    fn shape(self) -> Result<Person, StoreError> {
        Ok(Person {
            channels: serde_json::from_str(&self.channels)
                .map_err(|_| StoreError::Stored("operations_people.channels"))?,
            addresses: serde_json::from_str(&self.addresses)
                .map_err(|_| StoreError::Stored("operations_people.addresses"))?,
            updated_at: self.updated_at,
            id: self.id,
            name: self.name,
            email: self.email,
            time_zone: self.time_zone,
            locale: self.locale,
            business_unit: self.business_unit,
        })
    }
}

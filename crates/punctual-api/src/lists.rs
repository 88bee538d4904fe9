//! `/api/v1/lists`: named sets of targets, resolved when a message is delivered.

use axum::extract::State;
use punctual_engine::commands::{NewList, SavedList};
use punctual_store::{
    StoreError,
    lists::{self, ListRow},
};
use punctual_wire::{
    FieldError, Page,
    lists::{List, ListRequest},
    page::NamePageQuery,
};

use crate::{
    Shared,
    answer::{Answer, JsonResponse},
    auth::{Author, Caller, Read},
    body::Json,
    definitions::{self, Definition},
    parameters::{Parameters, Segments, checked_name},
};

/// Define a list
///
/// A channel that does not exist is a warning, not a refusal: messages for it are parked until it does.
#[utoipa::path(put, path = "/api/v1/lists/{name}", tag = "Lists", security(("key" = ["author"])),
    params(("name" = String, Path)), request_body(content = ListRequest, example = json!({"type": "email", "targets": ["a@example.org"]})), responses((status = 200, body = List)))]
pub async fn put(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(name): Segments<String>,
    body: Json,
) -> Answer {
    checked_name(&name, "/name")?;
    let ListRequest { kind, channel, targets, business_unit } = ListRequest::read(&body.value, "")?;
    let new = NewList { name, kind, channel, targets, business_unit };
    let SavedList { row, channel_is_known } = app.engine.save_list(&caller.by, new).await?;
    let mut list = row.shape()?;
    if !channel_is_known {
        list.warnings.push(FieldError::channel_unknown("/channel", &list.channel));
    }
    JsonResponse::ok(&list)
}

/// Look at a list
#[utoipa::path(get, path = "/api/v1/lists/{name}", tag = "Lists", security(("key" = ["read"])),
    params(("name" = String, Path)), responses((status = 200, body = List)))]
pub async fn get(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Segments(name): Segments<String>,
) -> Answer {
    let mut reader = app.engine.store.read_for_people().await?;
    let row = lists::get(&mut reader.conn(), &caller.by.reach(), &name).await?;
    definitions::one(&name, row)
}

/// All lists, by name
#[utoipa::path(get, path = "/api/v1/lists", tag = "Lists", security(("key" = ["read"])),
    params(NamePageQuery), responses((status = 200, body = Page<List>)))]
pub async fn list(State(app): State<Shared>, caller: Caller<Read>, parameters: Parameters) -> Answer {
    let query = parameters.name_page()?;
    let mut reader = app.engine.store.read_for_people().await?;
    let rows = lists::page(&mut reader.conn(), &caller.by.reach(), query.after(), query.rows()).await?;
    definitions::page(&query, rows)
}

/// Remove a list
#[utoipa::path(delete, path = "/api/v1/lists/{name}", tag = "Lists", security(("key" = ["author"])),
    params(("name" = String, Path)), responses((status = 204)))]
pub async fn delete(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(name): Segments<String>,
) -> Answer {
    app.engine.delete_list(&caller.by, &name).await?;
    JsonResponse::no_content()
}

impl Definition for ListRow {
    const WHAT: &'static str = "list";
    type Shape = List;

    fn key(&self) -> &str {
        &self.name
    }

    fn shape(self) -> Result<List, StoreError> {
        Ok(List {
            targets: serde_json::from_str(&self.targets).map_err(|_| StoreError::Stored("lists.targets"))?,
            updated_at: self.updated_at,
            name: self.name,
            kind: self.kind,
            channel: self.channel,
            business_unit: self.business_unit,
            warnings: Vec::new(),
        })
    }
}

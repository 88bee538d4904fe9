//! `/api/v1/lists`: named sets of targets, resolved when a message is delivered.

use axum::extract::State;
use punctual_engine::commands::{NewList, SavedList};
use punctual_store::{
    StoreError,
    lists::{self, ListRow},
    work::instant,
};
use punctual_wire::{
    FieldError, Page, Problem,
    lists::{List, ListRequest},
    page::NamePageQuery,
};

use crate::{
    Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Author, Caller, Read},
    body::Json,
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
    let mut list = shape(row)?;
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
    let mut reader = app.engine.store.read().await?;
    let row = lists::by_names(&mut reader.conn(), vec![name.clone()]).await?.pop();
    let row = row.filter(|row| caller.by.may_see(row.business_unit.as_deref()));
    let row = row.ok_or_else(|| Failure::from(Problem::not_found("list", name)))?;
    JsonResponse::ok(&shape(row)?)
}

/// All lists, by name
#[utoipa::path(get, path = "/api/v1/lists", tag = "Lists", security(("key" = ["read"])),
    params(NamePageQuery), responses((status = 200, body = Page<List>)))]
pub async fn list(State(app): State<Shared>, caller: Caller<Read>, parameters: Parameters) -> Answer {
    let page = parameters.name_page()?;
    let after = page.cursor.unwrap_or_default();
    let mut reader = app.engine.store.read().await?;
    let rows = lists::page(&mut reader.conn(), &after, i64::from(page.limit) + 1).await?;
    let page = Page::cut_by_name(rows, page.limit, |row| &row.name);
    let seen = page.items.into_iter().filter(|row| caller.by.may_see(row.business_unit.as_deref()));
    let items: Vec<List> = seen.map(shape).collect::<Result<_, _>>()?;
    JsonResponse::ok(&Page { items, next_cursor: page.next_cursor })
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

fn shape(row: ListRow) -> Result<List, StoreError> {
    Ok(List {
        targets: serde_json::from_str(&row.targets).map_err(|_| StoreError::Stored("lists.targets"))?,
        updated_at: instant(row.updated_at)?,
        name: row.name,
        kind: row.kind,
        channel: row.channel,
        business_unit: row.business_unit,
        warnings: Vec::new(),
    })
}

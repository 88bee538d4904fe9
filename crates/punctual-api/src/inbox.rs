//! `/api/v1/inbox`: the inbox of the caller, by the name of the key.

use axum::extract::State;
use punctual_engine::inbox::person;
use punctual_store::{
    StoreError,
    inbox::{self, InboxRow},
};
use punctual_wire::{
    Page, PageQuery,
    inbox::{Inbox, InboxMessage, InboxQuery, InboxRead},
};

use crate::{
    Shared,
    answer::{Answer, JsonResponse},
    auth::{Caller, Read},
    body::Json,
    idempotency::IdempotencyKey,
    parameters::{Parameters, Segments},
};

/// Counting stops here.
const COUNTED: i64 = 1_000;

/// Messages to the holder of the key, newest first
#[utoipa::path(get, path = "/api/v1/inbox", tag = "Inbox", security(("key" = ["read"])),
    params(InboxQuery, PageQuery), responses((status = 200, body = Inbox)))]
pub async fn list(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Parameters(parameters): Parameters,
) -> Answer {
    let query = InboxQuery::read(parameters)?;
    let whose = person(&caller.name);
    let mut reader = app.engine.store.read_for_people().await?;
    let limit = i64::from(query.page.limit) + 1;
    let reach = caller.by.reach();
    let rows =
        inbox::page(&mut reader.conn(), &whose, &reach, query.page.cursor, query.unread, limit).await?;
    let unread = inbox::count_unread(&mut reader.conn(), &whose, &reach, COUNTED).await?;
    let page = Page::cut(rows, query.page.limit, |row| row.seq);
    let items: Vec<InboxMessage> = page.items.into_iter().map(shape).collect::<Result<_, _>>()?;
    JsonResponse::ok(&Inbox { items, next_cursor: page.next_cursor, unread })
}

/// Mark a message as read
#[utoipa::path(post, path = "/api/v1/inbox/{id}/read", tag = "Inbox", security(("key" = ["read"])),
    params(("id" = String, Path)), responses((status = 200, body = InboxMessage)))]
pub async fn read(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Segments(id): Segments<String>,
    once: IdempotencyKey,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    once.run(app, caller, &[], |_| async move {
        JsonResponse::ok(&shape(app.engine.read_message(&caller.by, &caller.name, &id).await?)?)
    })
    .await
}

/// Mark every message up to one as read
#[utoipa::path(post, path = "/api/v1/inbox/read", tag = "Inbox", security(("key" = ["read"])),
    request_body = InboxRead, responses((status = 204)))]
pub async fn read_all(
    State(app): State<Shared>,
    caller: Caller<Read>,
    once: IdempotencyKey,
    body: Json,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let bytes = body.bytes.clone();
    once.run(app, caller, &bytes, |_| async move {
        let request = InboxRead::read(&body.value, "")?;
        app.engine.read_messages_up_to(&caller.by, &caller.name, &request.up_to).await?;
        JsonResponse::no_content()
    })
    .await
}

fn shape(row: InboxRow) -> Result<InboxMessage, StoreError> {
    Ok(InboxMessage {
        created_at: row.created_at,
        read_at: row.read_at,
        id: row.id,
        notification_id: row.notification_id,
        channel: row.channel,
        kind: row.kind,
        subject: row.subject,
        body: row.body,
    })
}

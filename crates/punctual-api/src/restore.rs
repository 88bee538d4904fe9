//! `/api/v1/restore`: what waits for a person after the database was restored.

use axum::extract::State;
use punctual_engine::restored::AfterRestore;
use punctual_store::restored::Left;
use punctual_wire::{
    restore::{Restore, RestoreSettled, RestoredRows, Restores},
    work::ReasonRequest,
};

use crate::{
    App, Shared,
    answer::{Answer, JsonResponse},
    auth::{Admin, Caller, Principal, Read},
    body::{Json, Optional},
    idempotency::IdempotencyKey,
};

/// The last restore of the database, and what waits because of it
#[utoipa::path(get, path = "/api/v1/restore", tag = "Attention", security(("key" = ["read"])),
    responses((status = 200, body = Restores)))]
pub async fn get(State(app): State<Shared>, _caller: Caller<Read>) -> Answer {
    let last = app.engine.last_restore().await?.map(|(restore, left)| Restore {
        backup_at: restore.backup_at,
        restored_at: restore.restored_at,
        held_by: restore.held_by,
        waiting: rows(left),
    });
    JsonResponse::ok(&Restores { last })
}

/// Send what was due when the database was restored
///
/// Some of it may have been sent before. The oldest ten thousand rows of each kind; the answer says what remains.
#[utoipa::path(post, path = "/api/v1/restore/release", tag = "Attention", security(("key" = ["admin"])),
    request_body = Option<ReasonRequest>, responses((status = 200, body = RestoreSettled)))]
pub async fn release(
    State(app): State<Shared>,
    caller: Caller<Admin>,
    once: IdempotencyKey,
    body: Json<Optional>,
) -> Answer {
    settle(&app, &caller, &once, &body, AfterRestore::Release).await
}

/// Give up what was due when the database was restored
///
/// Some of it may never have been sent. The oldest ten thousand rows of each kind; the answer says what remains.
#[utoipa::path(post, path = "/api/v1/restore/discard", tag = "Attention", security(("key" = ["admin"])),
    request_body = Option<ReasonRequest>, responses((status = 200, body = RestoreSettled)))]
pub async fn discard(
    State(app): State<Shared>,
    caller: Caller<Admin>,
    once: IdempotencyKey,
    body: Json<Optional>,
) -> Answer {
    settle(&app, &caller, &once, &body, AfterRestore::Discard).await
}

async fn settle(
    app: &App,
    caller: &Principal,
    once: &IdempotencyKey,
    body: &Json<Optional>,
    choice: AfterRestore,
) -> Answer {
    let request = ReasonRequest::read(&body.value, "")?;
    once.run(app, caller, &body.bytes, |_| async move {
        let by = caller.by.because(request.reason.as_deref());
        let done = app.engine.settle_restored(&by, choice).await?;
        let left = app.engine.last_restore().await?.map(|(_, left)| left).unwrap_or_default();
        JsonResponse::ok(&RestoreSettled {
            work: done.work as u64,
            notifications: done.notifications as u64,
            owed: done.owed as u64,
            remaining: rows(left),
        })
    })
    .await
}

fn rows(left: Left) -> RestoredRows {
    let count = |rows: i64| u64::try_from(rows).unwrap_or(0);
    RestoredRows { work: count(left.work), notifications: count(left.notifications), owed: count(left.owed) }
}

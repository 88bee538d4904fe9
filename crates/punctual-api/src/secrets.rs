//! `/api/v1/secrets`: the master key that secrets are sealed with. No secret is ever in an answer.

use axum::extract::State;
use punctual_wire::secrets::{Rekey, RekeyRequest};

use crate::{
    Shared,
    answer::{Answer, JsonResponse},
    auth::{Admin, Caller},
    body::{Json, Optional},
    idempotency::IdempotencyKey,
};

/// Seal every secret again
///
/// Uses the first master key of this node, after reading its key file again. `newKey` first creates a new key, if the key is in
/// a file and no other node can use the database. The old key stays, for old backups.
#[utoipa::path(post, path = "/api/v1/secrets/rekey", tag = "Channels", security(("key" = ["admin"])),
    request_body(content = Option<RekeyRequest>, example = json!({"newKey": true})),
    responses((status = 200, body = Rekey)))]
pub async fn rekey(
    State(app): State<Shared>,
    caller: Caller<Admin>,
    once: IdempotencyKey,
    body: Json<Optional>,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let request = RekeyRequest::read(&body.value, "")?;
    once.run(app, caller, &body.bytes, |_| async move {
        let done = app.engine.rekey(&caller.by, request.new_key).await?;
        JsonResponse::ok(&Rekey { key_id: done.key_id, resealed: done.channels as u64 })
    })
    .await
}

//! `/api/v1/keys`: API keys and their scopes.

use axum::extract::State;
use punctual_engine::keys::{NewKey, mint_key};
use punctual_store::{StoreError, api_keys};
use punctual_wire::{
    Page,
    keys::{ApiKey, ApiKeyCreated, ApiKeyRequest, Scope},
};

use crate::{
    Shared,
    answer::{Answer, JsonResponse},
    auth::{Admin, Caller},
    body::Json,
    idempotency::IdempotencyKey,
    parameters::Segments,
};

/// Make a key
///
/// The answer has the key itself, for the only time: it is stored nowhere.
#[utoipa::path(post, path = "/api/v1/keys", tag = "Keys", security(("key" = ["admin"])),
    request_body(content = ApiKeyRequest, example = json!({"name": "billing, production", "scopes": ["ingest", "read"]})), responses((status = 201, body = ApiKeyCreated)))]
pub async fn post(
    State(app): State<Shared>,
    caller: Caller<Admin>,
    once: IdempotencyKey,
    body: Json,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let request = ApiKeyRequest::read(&body.value, "")?;
    once.run(app, caller, &body.bytes, |ids| async move {
        let kind = if request.scopes.contains(&Scope::Admin) { "admin" } else { "api" };
        let mut minted = mint_key(app.engine.random.as_ref(), kind, app.env());
        if let crate::idempotency::Ids::Derived { .. } = ids {
            // A repeat after a crash finds the key that was made, and makes no second one.
            minted.id = ids.at(0).simple().to_string();
        }
        let ApiKeyRequest { name, scopes, business_units, expires_at } = request;
        let new = NewKey { name, scopes, business_units, expires_at };
        let api_key = shape(app.engine.make_key(&caller.by, app.wall.now(), &minted, &new).await?)?;
        let kept = serde_json::to_vec(&api_key).unwrap_or_default();
        let answer = JsonResponse::created(&ApiKeyCreated { api_key, key: minted.text })?;
        // The secret is not kept, not even for a repeat of this request.
        Ok(JsonResponse { kept: Some(kept), ..answer })
    })
    .await
}

/// List keys
#[utoipa::path(get, path = "/api/v1/keys", tag = "Keys", security(("key" = ["admin"])),
    responses((status = 200, body = Page<ApiKey>)))]
pub async fn list(State(app): State<Shared>, _caller: Caller<Admin>) -> Answer {
    let mut reader = app.engine.store.read_for_people().await?;
    let rows = api_keys::all(&mut reader.conn()).await?;
    let keys: Vec<ApiKey> = rows.into_iter().map(shape).collect::<Result<_, _>>()?;
    JsonResponse::ok(&Page::whole(keys))
}

/// Revoke a key
///
/// It is refused on every node within five seconds.
#[utoipa::path(delete, path = "/api/v1/keys/{id}", tag = "Keys", security(("key" = ["admin"])),
    params(("id" = String, Path)), responses((status = 204)))]
pub async fn delete(
    State(app): State<Shared>,
    caller: Caller<Admin>,
    Segments(id): Segments<String>,
) -> Answer {
    app.engine.revoke_key(&caller.by, app.wall.now(), &id).await?;
    app.keys.forget();
    JsonResponse::no_content()
}

fn shape(row: api_keys::ApiKeyRow) -> Result<ApiKey, StoreError> {
    Ok(ApiKey {
        scopes: Scope::read_all(&row.scopes),
        business_units: row.business_units.as_deref().and_then(|text| serde_json::from_str(text).ok()),
        created_at: row.created_at,
        expires_at: row.expires_at,
        revoked_at: row.revoked_at,
        last_used_at: row.last_used_at,
        id: row.id,
        name: row.name,
        site: row.site,
    })
}

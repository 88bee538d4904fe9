//! `/api/v1/sites`: the sites that forward notifications, their tokens, and what they say about themselves.

pub(crate) mod hand_over;

use axum::extract::State;
use punctual_store::{
    StoreError,
    site_events::{self, SiteEventRow},
    sites::{self, SiteRow},
};
use punctual_wire::{
    Page, PageQuery, Problem,
    page::NamePageQuery,
    sites::{
        Site, SiteAgent, SiteChange, SiteEvent, SiteIdentity, SiteRequest, SiteRotateRequest, SiteToken,
    },
};

use crate::{
    App, Shared,
    answer::{Answer, JsonResponse},
    auth::{Admin, Caller, Principal, Read},
    body::{Json, Optional},
    definitions::{self, Definition},
    idempotency::IdempotencyKey,
    parameters::{Parameters, Segments},
};

/// A site's clock that is off by more is not to be trusted.
const CLOCK_SUSPECT_MS: i64 = 24 * 3_600 * 1_000;

/// Make a site
///
/// The answer has its token, for the only time: it is stored nowhere. Give it to the site's agent.
#[utoipa::path(post, path = "/api/v1/sites", tag = "Sites", security(("key" = ["admin"])),
    request_body(content = SiteRequest, example = json!({"id": "plant-7", "businessUnit": "nz"})), responses((status = 201, body = SiteToken)))]
pub async fn post(
    State(app): State<Shared>,
    caller: Caller<Admin>,
    once: IdempotencyKey,
    body: Json,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let request = SiteRequest::read(&body.value, "")?;
    once.run(app, caller, &body.bytes, |_| create(app, caller, request)).await
}

async fn create(app: &App, caller: &Principal, request: SiteRequest) -> Answer {
    let SiteRequest { id, business_unit } = request;
    let unit = business_unit.as_deref();
    let token = app.engine.create_site(&caller.by, app.wall.now(), &id, unit, app.env()).await?;
    without_token(&id, JsonResponse::created(&SiteToken { id: id.clone(), token })?)
}

/// The token is not kept, not even for a repeat of the request.
fn without_token(id: &str, answer: JsonResponse) -> Answer {
    let kept = serde_json::to_vec(&SiteIdentity { id: id.to_owned() }).ok();
    Ok(JsonResponse { kept, ..answer })
}

/// Give a site a new token
///
/// The old token ends at once, or after `keepOldSeconds`. A revoked site is accepted again.
#[utoipa::path(post, path = "/api/v1/sites/{site}/rotate", tag = "Sites", security(("key" = ["admin"])),
    params(("site" = String, Path)), request_body = Option<SiteRotateRequest>, responses((status = 200, body = SiteToken)))]
pub async fn rotate(
    State(app): State<Shared>,
    caller: Caller<Admin>,
    once: IdempotencyKey,
    Segments(id): Segments<String>,
    body: Json<Optional>,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let request = SiteRotateRequest::read(&body.value, "")?;
    once.run(app, caller, &body.bytes, |_| replace_token(app, caller, id, request)).await
}

async fn replace_token(app: &App, caller: &Principal, id: String, request: SiteRotateRequest) -> Answer {
    let keep = request.keep_old_seconds;
    let token = app.engine.rotate_site(&caller.by, app.wall.now(), &id, keep, app.env()).await?;
    app.keys.forget();
    without_token(&id, JsonResponse::ok(&SiteToken { id: id.clone(), token })?)
}

/// Revoke a site's token
///
/// It is refused on every node within five seconds. What the site has forwarded stays.
#[utoipa::path(post, path = "/api/v1/sites/{site}/revoke", tag = "Sites", security(("key" = ["admin"])),
    params(("site" = String, Path)), responses((status = 200, body = Site)))]
pub async fn revoke(
    State(app): State<Shared>,
    caller: Caller<Admin>,
    Segments(id): Segments<String>,
    once: IdempotencyKey,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    once.run(app, caller, &[], |_| async move {
        let row = app.engine.revoke_site(&caller.by, app.wall.now(), &id).await?;
        app.keys.forget();
        JsonResponse::ok(&row.shape()?)
    })
    .await
}

/// All sites, by id
#[utoipa::path(get, path = "/api/v1/sites", tag = "Sites", security(("key" = ["read"])),
    params(NamePageQuery), responses((status = 200, body = Page<Site>)))]
pub async fn list(State(app): State<Shared>, _: Caller<Read>, parameters: Parameters) -> Answer {
    let query = parameters.name_page()?;
    let mut reader = app.engine.store.read_for_people().await?;
    let rows = sites::page(&mut reader.conn(), query.after(), query.rows()).await?;
    definitions::page(&query, rows)
}

/// Look at a site
#[utoipa::path(get, path = "/api/v1/sites/{site}", tag = "Sites", security(("key" = ["read"])),
    params(("site" = String, Path)), responses((status = 200, body = Site)))]
pub async fn get(State(app): State<Shared>, _caller: Caller<Read>, Segments(id): Segments<String>) -> Answer {
    let mut reader = app.engine.store.read_for_people().await?;
    let row = sites::get(&mut reader.conn(), &id).await?;
    definitions::one(&id, row)
}

/// Change whose a site is
///
/// Everything that the site forwards from then on belongs to the business unit; what it forwarded before stays where it is.
#[utoipa::path(patch, path = "/api/v1/sites/{site}", tag = "Sites", security(("key" = ["admin"])),
    params(("site" = String, Path)), request_body(content = SiteChange, example = json!({"businessUnit": "nz"})),
    responses((status = 200, body = Site)))]
pub async fn patch(
    State(app): State<Shared>,
    caller: Caller<Admin>,
    Segments(id): Segments<String>,
    body: Json,
) -> Answer {
    let change = SiteChange::read(&body.value, "")?;
    let unit = change.business_unit.as_deref();
    let row = app.engine.move_site(&caller.by, app.wall.now(), &id, unit).await?;
    JsonResponse::ok(&row.shape()?)
}

/// A site's event log, newest first
///
/// Failures to forward and rows that waited long; the latest thousand.
#[utoipa::path(get, path = "/api/v1/sites/{site}/events", tag = "Sites", security(("key" = ["read"])),
    params(("site" = String, Path), PageQuery), responses((status = 200, body = Page<SiteEvent>)))]
pub async fn events(
    State(app): State<Shared>,
    _caller: Caller<Read>,
    Segments(id): Segments<String>,
    parameters: Parameters,
) -> Answer {
    let page = parameters.page()?;
    let mut reader = app.engine.store.read_for_people().await?;
    if sites::get(&mut reader.conn(), &id).await?.is_none() {
        return Err(Problem::not_found("site", id).into());
    }
    let rows = site_events::page(&mut reader.conn(), &id, page.cursor, i64::from(page.limit) + 1).await?;
    let page = Page::cut(rows, page.limit, |row| row.seq);
    let items: Vec<SiteEvent> = page.items.into_iter().map(shape_event).collect::<Result<_, _>>()?;
    JsonResponse::ok(&Page { items, next_cursor: page.next_cursor })
}

impl Definition for SiteRow {
    const WHAT: &'static str = "site";
    type Shape = Site;

    fn key(&self) -> &str {
        &self.id
    }

    fn shape(self) -> Result<Site, StoreError> {
        let agents = self.agents().into_iter().map(|one| {
            Ok(SiteAgent {
                name: Some(one.agent).filter(|name| !name.is_empty()),
                last_contact_at: one.last_contact_at,
                version: one.version,
                backlog: one.backlog,
                oldest_buffered_age_seconds: one.oldest_buffered_age_seconds,
                refused: one.refused,
                clock_offset_ms: one.clock_offset_ms,
            })
        });
        Ok(Site {
            agents: agents.collect::<Result<_, StoreError>>()?,
            created_at: self.created_at,
            revoked_at: self.revoked_at,
            last_contact_at: self.last_contact_at,
            clock_suspect: self.clock_offset_ms.is_some_and(|offset| offset.abs() > CLOCK_SUSPECT_MS),
            id: self.id,
            version: self.version,
            backlog: self.backlog,
            oldest_buffered_age_seconds: self.oldest_buffered_age_seconds,
            refused: self.refused,
            clock_offset_ms: self.clock_offset_ms,
            business_unit: self.business_unit,
        })
    }
}

fn shape_event(row: SiteEventRow) -> Result<SiteEvent, StoreError> {
    Ok(SiteEvent {
        at: row.began_at,
        last_at: row.last_at,
        id: row.id,
        category: row.category.into(),
        kind: row.kind,
        count: row.count,
        detail: row.detail,
    })
}

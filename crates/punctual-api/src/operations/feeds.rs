//! Calendars out and in: secret links to feeds, and the import of a calendar file.

use axum::{
    Router,
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
    routing::get,
};
use punctual_wire::{
    Code, Problem,
    operations::feeds::{Feed, FeedRequest, Imported, SkippedComponent},
};
use punctual_workflows::operations::{
    calendar::Skipped,
    feeds::{self, Owner},
    import::{self, Import},
};

use crate::{
    Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Author, Caller},
    body::{Calendar, Json, Text},
    idempotency::IdempotencyKey,
    parameters::{Parameters, Segments},
};

/// Make the secret link to the calendar of an organisation or a person
///
/// The link is shown once. Everyone with the link can read the calendar, without a key; creating a new link revokes the old
/// one.
#[utoipa::path(post, path = "/api/v1/operations/feeds", tag = "Operations", security(("key" = ["author"])),
    request_body(content = FeedRequest, example = json!({"organisation": "choir"})), responses((status = 201, body = Feed)))]
pub async fn post(
    State(app): State<Shared>,
    caller: Caller<Author>,
    once: IdempotencyKey,
    body: Json,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let request = FeedRequest::read(&body.value, "")?;
    once.run(app, caller, &body.bytes, |_| async move {
        let owner = match (request.organisation, request.person) {
            (Some(id), _) => Owner::Organisation(id),
            (None, id) => Owner::Person(id.unwrap_or_default()),
        };
        let (row, secret) = feeds::make(&app.engine, &caller.by, &owner).await?;
        let feed = Feed {
            path: format!("/calendars/{secret}.ics"),
            created_at: row.created_at,
            owner_type: row.owner_type,
            owner_id: row.owner_id,
        };
        // The secret is not kept, not even for a repeat of the request.
        let kept = serde_json::to_vec(&Feed { path: String::new(), ..feed.clone() }).ok();
        Ok(JsonResponse { kept, ..JsonResponse::created(&feed)? })
    })
    .await
}

/// End the link to a calendar
#[utoipa::path(delete, path = "/api/v1/operations/feeds/{ownerType}/{ownerId}", tag = "Operations", security(("key" = ["author"])),
    params(("ownerType" = String, Path), ("ownerId" = String, Path)), responses((status = 204)))]
pub async fn delete(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments((owner_type, owner_id)): Segments<(String, String)>,
) -> Answer {
    feeds::end(&app.engine, &caller.by, &owner_type, &owner_id).await?;
    JsonResponse::no_content()
}

/// The feeds themselves need no key: the link is the secret.
pub fn public() -> Router<Shared> {
    Router::new().route("/calendars/{file}", get(feed))
}

async fn feed(State(app): State<Shared>, Segments(file): Segments<String>) -> Result<Response, Failure> {
    // Unknown, ended and misspelt links look the same.
    let unknown = || Failure::from(Problem::route_not_found());
    let secret = file.strip_suffix(".ics").filter(|secret| secret.len() == 64).ok_or_else(unknown)?;
    let text = feeds::calendar_of(&app.engine, secret).await?.ok_or_else(unknown)?;
    let mut response = text.into_response();
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/calendar; charset=utf-8"));
    response.headers_mut().insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    Ok(response)
}

/// Import a calendar file
///
/// Imports events and to-dos with their rules; an event imported before is updated where the file differs. Attendees are
/// matched with people by e-mail address; `creator` replaces an unknown organiser. A recurring event becomes one event for each
/// date within a year; dates that are no longer in the file are removed. Skipped entries are listed with their line.
#[utoipa::path(post, path = "/api/v1/operations/import", tag = "Operations", security(("key" = ["author"])),
    params(("creator" = String, Query), ("organisation" = Option<String>, Query), ("businessUnit" = Option<String>, Query)),
    request_body(content = String, content_type = "text/calendar"), responses((status = 200, body = Imported)))]
pub async fn import(
    State(app): State<Shared>,
    caller: Caller<Author>,
    parameters: Parameters,
    once: IdempotencyKey,
    body: Text<Calendar>,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let bytes = body.bytes.clone();
    once.run(app, caller, &bytes, |_| async move {
        let (creator, organisation, unit) = parameters.read(|fields| {
            let creator = fields.required_name("creator");
            (creator, fields.optional_name("organisation"), fields.optional_name("businessUnit"))
        })?;
        let business_unit = app.engine.unit_for(&caller.by, unit, "").await?;
        let text = body.text()?;
        if !text.contains("BEGIN:VCALENDAR") {
            return Err(Problem::new(
                Code::ImportInvalid,
                "The body is no calendar; it begins with `BEGIN:VCALENDAR`.",
            )
            .into());
        }
        let wanted = Import { creator, organisation, business_unit };
        let done = import::import(&app.engine, &caller.by, &wanted, &text).await?;
        let skipped = |one: Skipped| SkippedComponent { line: one.line, reason: one.reason };
        JsonResponse::ok(&Imported {
            created: done.created,
            updated: done.updated,
            unchanged: done.unchanged,
            removed: done.removed,
            skipped: done.skipped.into_iter().map(skipped).collect(),
        })
    })
    .await
}

//! `/api/v1/sources`: the last known state of the things that reminders are about. A change is an event.

use std::slice;

use axum::extract::State;
use punctual_engine::{
    Units,
    events::{EventTaken, IncomingEvent, Touched},
};
use punctual_store::{
    StoreError,
    sources::{self, SourceRow},
    work::Asked,
};
use punctual_wire::{
    Batch, Page, Problem,
    batch::Item,
    page::NamePageQuery,
    sources::{NamedSourceRequest, Source, SourceOutcome, SourceRequest},
    work::WorkCounts,
};
use punctual_workflows::{
    event_intake::{not_in_future, not_yours},
    sources::{AT_ONCE, Reporter},
};

use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Caller, Ingest, Principal, Read, unit_for},
    body::{Bulk, Json},
    idempotency::IdempotencyKey,
    parameters::{Parameters, Segments, checked_name},
    trace_context::TraceContext,
};

/// Tell the state of a source
///
/// An older state than is known (by `sequence`, else by `occurredAt`) is left aside, and `outcome` says `stale`.
#[utoipa::path(put, path = "/api/v1/sources/{type}/{id}", tag = "Sources", security(("key" = ["ingest"])),
    params(("type" = String, Path, example = "document"), ("id" = String, Path, example = "42")),
    request_body(content = SourceRequest, example = json!({"businessUnit": "nz", "active": true, "state": {"kind": "first-aid", "expiresOn": "2030-05-14"}})), responses((status = 200, body = Source)))]
pub async fn put(
    State(app): State<Shared>,
    caller: Caller<Ingest>,
    Segments((kind, id)): Segments<(String, String)>,
    trace: TraceContext,
    body: Json,
) -> Answer {
    checked_name(&kind, "/type")?;
    checked_name(&id, "/id")?;
    let request = SourceRequest::read(&body.value, "")?;
    let units =
        app.engine.units_named(&caller.by, request.business_unit.as_deref().into_iter().collect()).await?;
    let named = NamedSourceRequest { kind: kind.clone(), id: id.clone(), source: request };
    let incoming = changed(&app, &caller, &units, named, "")?;
    let incoming = incoming.asked_in(trace.asked());
    let taken = app.engine.take_events(&app.sinks, slice::from_ref(&incoming)).await?.pop();
    if taken == Some(EventTaken::NotYours) {
        return Err(not_yours(incoming.event()).into());
    }
    let mut source = known(&app, &caller, &kind, &id, true).await?;
    match taken {
        Some(EventTaken::Accepted { touched, .. }) => {
            source.work = Some(counts(&touched));
            source.outcome = Some("accepted".into());
        }
        // Something newer is known; it may be that the source is gone, and then that is what is shown.
        Some(EventTaken::Stale) => source.outcome = Some("stale".into()),
        Some(EventTaken::NotYours) | None => return Err(missing(&kind, &id)),
    }
    JsonResponse::ok(&source)
}

/// Tell the states of at most 10,000 sources
#[utoipa::path(post, path = "/api/v1/sources", tag = "Sources", security(("key" = ["ingest"])),
    request_body(content = Batch<NamedSourceRequest>, example = json!({"items": [{"type": "document", "id": "43", "businessUnit": "nz", "state": {"kind": "first-aid", "expiresOn": "2030-06-14"}}]})), responses((status = 200, body = Batch<SourceOutcome>)))]
pub async fn bulk(
    State(app): State<Shared>,
    caller: Caller<Ingest>,
    once: IdempotencyKey,
    trace: TraceContext,
    body: Json<Bulk>,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let items = NamedSourceRequest::read_body(&body.value)?;
    once.run(app, caller, &body.bytes, |_| take_all(app, caller, trace.asked(), items)).await
}

async fn take_all(
    app: &App,
    caller: &Principal,
    asked: Option<Asked>,
    items: Vec<Item<NamedSourceRequest>>,
) -> Answer {
    let named = items.iter().flatten().filter_map(|one| one.source.business_unit.as_deref()).collect();
    let units = app.engine.units_named(&caller.by, named).await?;
    let (mut incoming, mut outcomes) = (Vec::new(), Vec::with_capacity(items.len()));
    for (index, item) in items.into_iter().enumerate() {
        let pointer = format!("/items/{index}");
        let item = item.map_err(Problem::from);
        match item.and_then(|one| changed(app, caller, &units, one, &pointer)) {
            Ok(one) => {
                outcomes.push(None);
                incoming.push(one.asked_in(asked));
            }
            Err(problem) => outcomes.push(Some(problem)),
        }
    }
    let mut taken = Vec::with_capacity(incoming.len());
    for chunk in incoming.chunks(AT_ONCE) {
        taken.extend(app.engine.take_events(&app.sinks, chunk).await?);
    }
    let mut taken = incoming.iter().map(IncomingEvent::event).zip(taken);
    let items = outcomes.into_iter().enumerate().map(|(index, refused)| match refused {
        Some(problem) => outcome(index, "rejected", None, Some(problem)),
        None => match taken.next() {
            Some((_, EventTaken::Accepted { touched, .. })) => {
                outcome(index, "accepted", Some(counts(&touched)), None)
            }
            Some((_, EventTaken::Stale)) => outcome(index, "stale", None, None),
            Some((event, EventTaken::NotYours)) => outcome(index, "rejected", None, Some(not_yours(event))),
            None => outcome(index, "rejected", None, Some(Problem::internal())),
        },
    });
    JsonResponse::ok(&Batch { items: items.collect::<Vec<_>>() })
}

fn outcome(
    index: usize,
    word: &'static str,
    work: Option<WorkCounts>,
    error: Option<Problem>,
) -> SourceOutcome {
    SourceOutcome { index, outcome: word.into(), work, error: error.map(Box::new) }
}

/// Look at a source
#[utoipa::path(get, path = "/api/v1/sources/{type}/{id}", tag = "Sources", security(("key" = ["read"])),
    params(("type" = String, Path), ("id" = String, Path)), responses((status = 200, body = Source)))]
pub async fn get(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Segments((kind, id)): Segments<(String, String)>,
) -> Answer {
    JsonResponse::ok(&found(&app, &caller, &kind, &id).await?)
}

/// The sources of one type, by id
#[utoipa::path(get, path = "/api/v1/sources/{type}", tag = "Sources", security(("key" = ["read"])),
    params(("type" = String, Path), NamePageQuery), responses((status = 200, body = Page<Source>)))]
pub async fn list(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Segments(kind): Segments<String>,
    parameters: Parameters,
) -> Answer {
    let page = parameters.name_page()?;
    let after = page.cursor.unwrap_or_default();
    let mut reader = app.engine.store.read_for_people().await?;
    let limit = i64::from(page.limit);
    let found = sources::stretch(&mut reader.conn(), &caller.by.reach(), &kind, &after, limit).await?;
    let page = Page::stretch_by_name(found.rows, found.next.as_deref());
    let items: Vec<Source> = page.items.into_iter().map(shape).collect::<Result<_, _>>()?;
    JsonResponse::ok(&Page { items, next_cursor: page.next_cursor })
}

/// Say that a source is gone
#[utoipa::path(delete, path = "/api/v1/sources/{type}/{id}", tag = "Sources", security(("key" = ["ingest"])),
    params(("type" = String, Path), ("id" = String, Path)), responses((status = 204)))]
pub async fn delete(
    State(app): State<Shared>,
    caller: Caller<Ingest>,
    Segments((kind, id)): Segments<(String, String)>,
) -> Answer {
    let mut reader = app.engine.store.read_for_people().await?;
    let row = sources::get(&mut reader.conn(), &caller.by.reach(), &kind, &id).await?;
    drop(reader);
    let row = row.filter(|row| !row.deleted).ok_or_else(|| missing(&kind, &id))?;
    let incoming = reporter(&app, &caller).deleted(row);
    match app.engine.take_events(&app.sinks, &[incoming]).await?.pop() {
        Some(EventTaken::NotYours) => Err(missing(&kind, &id)),
        _ => JsonResponse::no_content(),
    }
}

/// The event that a changed state is.
fn changed(
    app: &App,
    caller: &Principal,
    units: &Units,
    source: NamedSourceRequest,
    pointer: &str,
) -> Result<IncomingEvent, Problem> {
    let now = app.engine.clock.now();
    let occurred_at = source.source.occurred_at.unwrap_or(now);
    not_in_future(occurred_at, now, &format!("{pointer}/occurredAt"))?;
    let unit = unit_for(units, source.source.business_unit.clone(), pointer)?;
    Ok(reporter(app, caller).changed(unit, source, occurred_at))
}

fn reporter<'a>(app: &'a App, caller: &'a Principal) -> Reporter<'a> {
    Reporter { engine: &app.engine, by: &caller.by, from: "/api/v1/sources" }
}

async fn found(app: &App, caller: &Principal, kind: &str, id: &str) -> Result<Source, Failure> {
    known(app, caller, kind, id, false).await
}

/// A source that the caller may see; one that is gone only where that is asked for.
async fn known(
    app: &App,
    caller: &Principal,
    kind: &str,
    id: &str,
    or_gone: bool,
) -> Result<Source, Failure> {
    let mut reader = app.engine.store.read_for_people().await?;
    let row = sources::get(&mut reader.conn(), &caller.by.reach(), kind, id).await?;
    let row = row.filter(|row| or_gone || !row.deleted);
    Ok(shape(row.ok_or_else(|| missing(kind, id))?)?)
}

fn missing(kind: &str, id: &str) -> Failure {
    Problem::not_found("source", format!("{kind}/{id}")).into()
}

pub(crate) fn counts(touched: &Touched) -> WorkCounts {
    WorkCounts {
        created: touched.created,
        updated: touched.updated,
        deactivated: touched.deactivated,
        unchanged: touched.unchanged,
    }
}

fn shape(row: SourceRow) -> Result<Source, StoreError> {
    Ok(Source {
        state: serde_json::from_str(&row.state).map_err(|_| StoreError::Stored("sources.state"))?,
        occurred_at: row.occurred_at,
        updated_at: row.updated_at,
        kind: row.source_type,
        id: row.source_id,
        business_unit: row.business_unit,
        active: row.active,
        sequence: row.sequence,
        version: row.version,
        work: None,
        outcome: None,
    })
}

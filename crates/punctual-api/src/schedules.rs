//! `/api/v1/schedules`: a topic that is published at a given instant, with a small payload.

use axum::extract::State;
use punctual_engine::{Actor, CommandError, EngineError, EnsureOutcome, Ensured, Requested, Units};
use punctual_model::{ScheduleId, WorkKey, WorkStatus};
use punctual_store::work::{self, WorkFilter, WorkRow};
use punctual_wire::{
    Batch, BatchItem, Code, FieldError, Page, PageQuery, Problem,
    batch::{Item, OneOrMany},
    limits::BATCH_MAX,
    schedules::{Schedule, ScheduleChange, ScheduleRequest},
};
use punctual_workflows::{
    operations,
    schedules::{self, KIND, NewSchedule},
};

use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse, over_quota},
    auth::{Author, Caller, Principal, Read, unit_for},
    body::Json,
    idempotency::{IdempotencyKey, Ids},
    openapi::shapes,
    outcomes::{Good, read_each},
    parameters::{Parameters, Segments},
    window::{Window, check_moment},
    work::status_after,
};

/// Make a schedule, or an array of at most 1,000
///
/// The same key moves the same schedule; with another topic or payload it is refused, and nothing is changed. A cancelled
/// schedule is returned unchanged, unless `revive` reactivates it.
#[utoipa::path(post, path = "/api/v1/schedules", tag = "Schedules", security(("key" = ["author"])),
    request_body(content = inline(shapes::OneOrMany<ScheduleRequest>), example = json!({"topic": "invoices.close", "runAt": "2030-05-14T07:00:00Z", "payload": {"month": "2030-04"}, "key": "close-2030-04"})),
    responses((status = 201, body = Schedule),
        (status = 200, description = "The existing object in its current state; for an array, the outcome of each item", body = inline(shapes::KnownOrBatch<Schedule>))))]
pub async fn post(
    State(app): State<Shared>,
    caller: Caller<Author>,
    once: IdempotencyKey,
    body: Json,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let request = OneOrMany::read(&body.value, BATCH_MAX, ScheduleRequest::read)?;
    once.run(app, caller, &body.bytes, |ids| async move {
        let named = request.readable().filter_map(|one| one.business_unit.as_deref());
        let units = app.engine.units_named(&caller.by, named.collect()).await?;
        let keys = request.readable().filter_map(|one| {
            let key = WorkKey::schedule(one.key.as_deref()?).ok()?;
            Some((key.to_string(), one.run_at))
        });
        let window = Window::of(app, caller, keys).await?;
        match request {
            OneOrMany::One(one) => post_one(app, caller, wanted(&window, &units, one, &ids, 0, "")?).await,
            OneOrMany::Many(many) => post_many(app, caller, &window, &units, many, &ids).await,
        }
    })
    .await
}

async fn post_one(app: &App, caller: &Principal, wanted: Requested) -> Answer {
    let key = wanted.work.key.to_string();
    let ensured = app.engine.ensure_requested(&caller.by, vec![wanted]).await?;
    let Some(Ensured { id, outcome, .. }) = ensured.into_iter().next() else {
        return Err(Problem::internal().into());
    };
    match &outcome {
        EnsureOutcome::Reused => return Err(Problem::id_reused(&key).into()),
        EnsureOutcome::OverQuota(reached) => return Err(over_quota(reached).into()),
        _ => {}
    }
    let row = app.engine.work_row(&caller.by.reach(), id).await?;
    let schedule = titled(app, caller, row, Some(outcome.as_str())).await?;
    if outcome == EnsureOutcome::Created {
        JsonResponse::created(&schedule)
    } else {
        JsonResponse::ok(&schedule)
    }
}

async fn post_many(
    app: &App,
    caller: &Principal,
    window: &Window,
    units: &Units,
    many: Vec<Item<ScheduleRequest>>,
    ids: &Ids<'_>,
) -> Answer {
    let (outcomes, good) = read_each(
        many,
        |one: &Requested| one.work.key.to_string(),
        |one, index, pointer| wanted(window, units, one, ids, index, pointer),
    );
    let ensured =
        if good.is_empty() { Vec::new() } else { app.engine.ensure_requested(&caller.by, good).await? };
    let mut ensured = ensured.into_iter();
    let items = outcomes.into_iter().map(|outcome| match outcome {
        Err(rejected) => rejected,
        Ok(Good { index, id: key, .. }) => item(index, &key, ensured.next()),
    });
    JsonResponse::ok(&Batch { items: items.collect() })
}

fn item(index: usize, key: &str, ensured: Option<Ensured>) -> BatchItem {
    let Some(Ensured { id, outcome, .. }) = ensured else {
        return BatchItem::rejected(index, None, Problem::internal());
    };
    match &outcome {
        // Nothing of the row that has the key: it may be another unit's.
        EnsureOutcome::Reused => BatchItem::rejected(index, None, Problem::id_reused(key)),
        EnsureOutcome::OverQuota(reached) => BatchItem::rejected(index, None, over_quota(reached)),
        other => BatchItem::accepted(index, other.as_str(), id.to_string(), status_after(other)),
    }
}

fn wanted(
    window: &Window,
    units: &Units,
    request: ScheduleRequest,
    ids: &Ids<'_>,
    index: usize,
    pointer: &str,
) -> Result<Requested, Problem> {
    let ScheduleRequest { topic, run_at, time_zone, payload, key, business_unit, revive } = request;
    let business_unit = unit_for(units, business_unit, pointer)?;
    let key = key.unwrap_or_else(|| ids.at(index).to_string());
    let wanted = NewSchedule { key, topic, run_at, time_zone, payload, business_unit }.into_work();
    let work = wanted.map_err(|why| FieldError::key_invalid(format!("{pointer}/key"), why))?;
    window.check(work.key.as_str(), run_at, revive, &format!("{pointer}/runAt"))?;
    Ok(Requested { work, revive })
}

/// List schedules, newest first
#[utoipa::path(get, path = "/api/v1/schedules", tag = "Schedules", security(("key" = ["read"])),
    params(PageQuery), responses((status = 200, body = Page<Schedule>)))]
pub async fn list(State(app): State<Shared>, caller: Caller<Read>, parameters: Parameters) -> Answer {
    let page = parameters.page()?;
    let filter = WorkFilter {
        kind: Some(KIND.to_owned()),
        before: page.cursor,
        limit: i64::from(page.limit),
        ..WorkFilter::default()
    };
    let mut reader = app.engine.store.read_for_people().await?;
    let found = work::page(&mut reader.conn(), &caller.by.reach(), &filter).await?;
    drop(reader);
    let page = Page::stretch(found.rows, found.next);
    let titles = crate::work::titles(&app, &caller, page.items.iter()).await?;
    let items = page.items.into_iter().zip(titles).map(|(row, title)| shape(row, title, None));
    let items: Vec<Schedule> = items.collect::<Result<_, _>>()?;
    JsonResponse::ok(&Page { items, next_cursor: page.next_cursor })
}

/// Look at a schedule
///
/// Also that of a rule of operations, by its `scheduleId`.
#[utoipa::path(get, path = "/api/v1/schedules/{id}", tag = "Schedules", security(("key" = ["read"])),
    params(("id" = String, Path, description = "The number or the GUID")), responses((status = 200, body = Schedule)))]
pub async fn get(State(app): State<Shared>, caller: Caller<Read>, Segments(id): Segments<String>) -> Answer {
    let row = found(&app, &caller, &id).await?;
    JsonResponse::ok(&titled(&app, &caller, row, None).await?)
}

/// Move a schedule to another moment
#[utoipa::path(patch, path = "/api/v1/schedules/{id}", tag = "Schedules", security(("key" = ["author"])),
    params(("id" = String, Path, description = "The number or the GUID")), request_body = ScheduleChange, responses((status = 200, body = Schedule)))]
pub async fn patch(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(id): Segments<String>,
    body: Json,
) -> Answer {
    let change = ScheduleChange::read(&body.value, "")?;
    check_moment(app.engine.clock.now(), change.run_at, "/runAt")?;
    let row = own(&app, &caller, &id).await?;
    let moved = schedules::reschedule(&app.engine, &caller.by, row.id, change.run_at).await?;
    let moved = moved.ok_or_else(|| Problem::not_found("schedule", id))?;
    let row = app.engine.work_row(&caller.by.reach(), row.id).await?;
    JsonResponse::ok(&titled(&app, &caller, row, Some(moved.outcome.as_str())).await?)
}

/// Cancel a schedule
#[utoipa::path(delete, path = "/api/v1/schedules/{id}", tag = "Schedules", security(("key" = ["author"])),
    params(("id" = String, Path, description = "The number or the GUID")), responses((status = 204)))]
pub async fn delete(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(id): Segments<String>,
) -> Answer {
    let row = own(&app, &caller, &id).await?;
    cancel(&app, row.id, &caller.by).await
}

/// Cancels a row; one that is cancelled already stays so.
pub(crate) async fn cancel(app: &App, id: i64, by: &Actor) -> Answer {
    match app.engine.cancel_work(by, id, None).await {
        Ok(_) => JsonResponse::no_content(),
        Err(CommandError::Engine(EngineError::StateNotAllowed { state, .. }))
            if state == WorkStatus::Cancelled.as_str() =>
        {
            JsonResponse::no_content()
        }
        Err(error) => Err(error.into()),
    }
}

async fn found(app: &App, caller: &Principal, id: &str) -> Result<WorkRow, Failure> {
    let ScheduleId(number) = id.parse().map_err(|_| Problem::not_found("schedule", id))?;
    let mut reader = app.engine.store.read_for_people().await?;
    let row = work::by_id(&mut reader.conn(), &caller.by.reach(), number).await?;
    row.filter(|row| [KIND, operations::KIND].contains(&row.kind.as_str()))
        .ok_or_else(|| Problem::not_found("schedule", id).into())
}

/// A schedule that can be moved and cancelled. One that a rule has made would be put back by it.
async fn own(app: &App, caller: &Principal, id: &str) -> Result<WorkRow, Failure> {
    let row = found(app, caller, id).await?;
    if row.kind == KIND {
        return Ok(row);
    }
    let rule = row.setting_id.as_deref().unwrap_or_default();
    let detail = format!("It belongs to a rule; change that instead: `/api/v1/operations/rules/{rule}`.");
    Err(Problem::new(Code::StateNotAllowed, detail).into())
}

async fn titled(
    app: &App,
    caller: &Principal,
    row: WorkRow,
    outcome: Option<&'static str>,
) -> Result<Schedule, Failure> {
    let title = crate::work::titles(app, caller, std::iter::once(&row)).await?.pop().unwrap_or_default();
    shape(row, title, outcome)
}

fn shape(row: WorkRow, title: String, outcome: Option<&'static str>) -> Result<Schedule, Failure> {
    let (topic, payload) = schedules::read_input(&row).unwrap_or_default();
    let (run_at, schedule_id) = (row.due_at, ScheduleId(row.id).to_string());
    let mut work = crate::work::shape(row, title, outcome)?;
    work.time_zone.get_or_insert_with(|| "UTC".to_owned());
    Ok(Schedule { work, schedule_id, topic, run_at, payload })
}

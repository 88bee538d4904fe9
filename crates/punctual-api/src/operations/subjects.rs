//! `/api/v1/operations/events` and `/tasks`. Both go through the same functions, each with its own vocabulary.

use axum::extract::State;
use jiff::Timestamp;
use punctual_store::operations::{
    rules,
    subjects::{self, Between, SubjectRow},
};
use punctual_wire::{
    Code, FieldError, Page, Problem,
    operations::{
        rules::Rule,
        subjects::{
            EVENT, Event, EventChange, NewEvent, NewTask, SubjectChange, SubjectQuery, SubjectRequest, TASK,
            Task, TaskChange, Vocabulary, check_order, settle,
        },
    },
};
use punctual_workflows::{
    due_window,
    operations::{
        SubjectType,
        commands::{self, Changed, NewSubject},
        texts,
    },
};

use super::rules::shape as shape_rule;
use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Author, Caller, Principal, Read},
    body::Json,
    idempotency::IdempotencyKey,
    parameters::{Parameters, Segments},
};

/// Create an event
///
/// Its people are notified when it starts and when it ends, or as its organisation has it. Scheduling that fails does not fail
/// the event: its rules say so in `syncStatus` and are retried.
#[utoipa::path(post, path = "/api/v1/operations/events", tag = "Operations", security(("key" = ["author"])),
    request_body(content = NewEvent, example = json!({"title": "Stand-up", "startDate": "2030-05-14T07:00:00Z", "endDate": "2030-05-14T07:15:00Z", "creator": "ann", "participants": ["ben"]})),
    responses((status = 201, body = Event)))]
pub async fn post_event(
    State(app): State<Shared>,
    caller: Caller<Author>,
    once: IdempotencyKey,
    body: Json,
) -> Answer {
    post(&app, &caller, &once, body, SubjectType::Event).await
}

/// Create a task
#[utoipa::path(post, path = "/api/v1/operations/tasks", tag = "Operations", security(("key" = ["author"])),
    request_body(content = NewTask, example = json!({"title": "Inventory", "startedAt": "2030-05-14T07:00:00Z", "finishedAt": null, "creator": "ann", "relatedUsers": ["ben"]})),
    responses((status = 201, body = Task)))]
pub async fn post_task(
    State(app): State<Shared>,
    caller: Caller<Author>,
    once: IdempotencyKey,
    body: Json,
) -> Answer {
    post(&app, &caller, &once, body, SubjectType::Task).await
}

/// List events, in the order they were made, or those of a stretch of time by their end
#[utoipa::path(get, path = "/api/v1/operations/events", tag = "Operations", security(("key" = ["read"])),
    params(SubjectQuery), responses((status = 200, body = Page<Event>)))]
pub async fn list_events(State(app): State<Shared>, caller: Caller<Read>, parameters: Parameters) -> Answer {
    list(&app, &caller, parameters, SubjectType::Event).await
}

/// List tasks, in the order they were made, or those of a stretch of time by their end
#[utoipa::path(get, path = "/api/v1/operations/tasks", tag = "Operations", security(("key" = ["read"])),
    params(SubjectQuery), responses((status = 200, body = Page<Task>)))]
pub async fn list_tasks(State(app): State<Shared>, caller: Caller<Read>, parameters: Parameters) -> Answer {
    list(&app, &caller, parameters, SubjectType::Task).await
}

/// Look at an event
#[utoipa::path(get, path = "/api/v1/operations/events/{id}", tag = "Operations", security(("key" = ["read"])),
    params(("id" = String, Path)), responses((status = 200, body = Event)))]
pub async fn get_event(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Segments(id): Segments<String>,
) -> Answer {
    get(&app, &caller, &id, SubjectType::Event).await
}

/// Look at a task
#[utoipa::path(get, path = "/api/v1/operations/tasks/{id}", tag = "Operations", security(("key" = ["read"])),
    params(("id" = String, Path)), responses((status = 200, body = Task)))]
pub async fn get_task(
    State(app): State<Shared>,
    caller: Caller<Read>,
    Segments(id): Segments<String>,
) -> Answer {
    get(&app, &caller, &id, SubjectType::Task).await
}

/// Change an event; a changed date moves its messages
#[utoipa::path(patch, path = "/api/v1/operations/events/{id}", tag = "Operations", security(("key" = ["author"])),
    params(("id" = String, Path)), request_body = EventChange, responses((status = 200, body = Event)))]
pub async fn patch_event(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(id): Segments<String>,
    body: Json,
) -> Answer {
    patch(&app, &caller, &id, body, SubjectType::Event).await
}

/// Change a task; a changed date moves its messages
#[utoipa::path(patch, path = "/api/v1/operations/tasks/{id}", tag = "Operations", security(("key" = ["author"])),
    params(("id" = String, Path)), request_body = TaskChange, responses((status = 200, body = Task)))]
pub async fn patch_task(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(id): Segments<String>,
    body: Json,
) -> Answer {
    patch(&app, &caller, &id, body, SubjectType::Task).await
}

/// Delete an event; what was scheduled for it stops
#[utoipa::path(delete, path = "/api/v1/operations/events/{id}", tag = "Operations", security(("key" = ["author"])),
    params(("id" = String, Path)), responses((status = 204)))]
pub async fn delete_event(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(id): Segments<String>,
) -> Answer {
    delete(&app, &caller, &id, SubjectType::Event).await
}

/// Delete a task; what was scheduled for it stops
#[utoipa::path(delete, path = "/api/v1/operations/tasks/{id}", tag = "Operations", security(("key" = ["author"])),
    params(("id" = String, Path)), responses((status = 204)))]
pub async fn delete_task(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(id): Segments<String>,
) -> Answer {
    delete(&app, &caller, &id, SubjectType::Task).await
}

fn vocabulary(subject_type: SubjectType) -> Vocabulary {
    match subject_type {
        SubjectType::Event => EVENT,
        SubjectType::Task => TASK,
    }
}

async fn post(
    app: &App,
    caller: &Principal,
    once: &IdempotencyKey,
    body: Json,
    subject_type: SubjectType,
) -> Answer {
    let words = vocabulary(subject_type);
    let request = SubjectRequest::read(&body.value, "", words)?;
    let start_at = settle(request.start, request.is_all_day, words.start)?;
    let end_at = settle(request.end, request.is_all_day, words.end)?;
    check_order(start_at, end_at, words)?;
    check_window(app, start_at, words.start)?;
    check_window(app, end_at, words.end)?;
    let business_unit = app.engine.unit_for(&caller.by, request.business_unit, "").await?;
    once.run(app, caller, &body.bytes, |ids| async move {
        let new = NewSubject {
            id: ids.at(0).to_string(),
            subject_type,
            title: request.title,
            start_at,
            end_at,
            is_all_day: request.is_all_day,
            creator: request.creator,
            people: request.people,
            organisation: request.organisation,
            time_zone: request.time_zone,
            business_unit,
            ical_uid: None,
            ical_series: None,
            location: request.location,
            description: request.description,
        };
        commands::create(&app.engine, &caller.by, std::slice::from_ref(&new)).await?;
        let row = found(app, caller, &new.id, subject_type).await?;
        let made = answer(app, caller, row, subject_type).await?;
        JsonResponse::created(&made)
    })
    .await
}

/// Nobody plans further ahead than the pipeline does; what has passed may well be written down.
fn check_window(app: &App, at: Option<Timestamp>, name: &str) -> Result<(), FieldError> {
    let latest = app.engine.clock.now().checked_add(due_window::FURTHEST).unwrap_or(Timestamp::MAX);
    match at {
        Some(at) if at > latest => Err(FieldError::due_out_of_range(format!("/{name}"), latest)),
        _ => Ok(()),
    }
}

async fn list(app: &App, caller: &Principal, parameters: Parameters, subject_type: SubjectType) -> Answer {
    let query = parameters.read(SubjectQuery::read)?;
    let mut reader = app.engine.store.read_for_people().await?;
    let page = match query.from.zip(query.to) {
        Some((from, to)) => {
            let wanted = Between {
                from,
                to,
                subject_type: Some(subject_type.as_str().to_owned()),
                after: query.cursor.as_deref().map(place).transpose()?,
                limit: i64::from(query.limit),
                ..Between::default()
            };
            let found = subjects::between_stretch(&mut reader.conn(), &caller.by.reach(), &wanted).await?;
            let next = found.next.map(|(last_at, id)| format!("{last_at}:{id}"));
            Page::stretch_by_name(found.rows, next.as_deref())
        }
        None => {
            let after = query.cursor.unwrap_or_default();
            let (kind, limit) = (subject_type.as_str(), i64::from(query.limit));
            let found =
                subjects::stretch(&mut reader.conn(), &caller.by.reach(), kind, &after, limit).await?;
            Page::stretch_by_name(found.rows, found.next.as_deref())
        }
    };
    let seen = page.items;
    let mut own = rules::of_subjects(
        &mut reader.conn(),
        &caller.by.reach(),
        seen.iter().map(|row| row.id.clone()).collect(),
    )
    .await?;
    drop(reader);
    let now = app.engine.clock.now();
    let mut items = Vec::with_capacity(seen.len());
    for row in seen {
        let (of_row, rest) = own.into_iter().partition(|rule| rule.subject_id == row.id);
        own = rest;
        items.push(shape(row, of_row, subject_type, now)?);
    }
    JsonResponse::ok(&Page { items, next_cursor: page.next_cursor })
}

/// Where a page of a stretch of time ended: the later date of its last item, and its id.
fn place(cursor: &str) -> Result<(i64, String), FieldError> {
    let parts = cursor.split_once(':').and_then(|(at, id)| Some((at.parse().ok()?, id.to_owned())));
    parts
        .ok_or_else(|| FieldError::new("/cursor", Code::CursorInvalid, "The cursor is not one of this list."))
}

async fn get(app: &App, caller: &Principal, id: &str, subject_type: SubjectType) -> Answer {
    let row = found(app, caller, id, subject_type).await?;
    JsonResponse::ok(&answer(app, caller, row, subject_type).await?)
}

async fn patch(app: &App, caller: &Principal, id: &str, body: Json, subject_type: SubjectType) -> Answer {
    let words = vocabulary(subject_type);
    let change = SubjectChange::read(&body.value, "", words)?;
    let unknown = || Failure::from(Problem::not_found(subject_type.as_str(), id));
    let changed = commands::update(&app.engine, &caller.by, id, |before| {
        if before.subject_type != subject_type.as_str() {
            return Err(unknown());
        }
        let after = merged(before, change, words)?;
        check_window(app, after.start_at, words.start)?;
        check_window(app, after.end_at, words.end)?;
        Ok(after)
    });
    match changed.await? {
        Changed::Done(row) => {
            let row = found(app, caller, &row.id, subject_type).await?;
            JsonResponse::ok(&answer(app, caller, row, subject_type).await?)
        }
        Changed::Refused(failure) => Err(failure),
        Changed::NotFound => Err(unknown()),
    }
}

/// The present state with what is to be different about it.
fn merged(before: &SubjectRow, change: SubjectChange, words: Vocabulary) -> Result<SubjectRow, FieldError> {
    let mut after = before.clone();
    after.is_all_day = change.is_all_day.unwrap_or(before.is_all_day);
    if let Some(start) = change.start {
        after.start_at = settle(start, after.is_all_day, words.start)?;
    }
    if let Some(end) = change.end {
        after.end_at = settle(end, after.is_all_day, words.end)?;
    }
    check_order(after.start_at, after.end_at, words)?;
    if let Some(title) = change.title {
        after.title = title;
    }
    if let Some(creator) = change.creator {
        after.creator = creator;
    }
    if let Some(people) = change.people {
        after.people = serde_json::Value::from(people).to_string();
    }
    if let Some(organisation) = change.organisation {
        after.organisation = organisation;
    }
    if let Some(time_zone) = change.time_zone {
        after.time_zone = time_zone;
    }
    if let Some(location) = change.location {
        after.location = location;
    }
    if let Some(description) = change.description {
        after.description = description;
    }
    Ok(after)
}

async fn delete(app: &App, caller: &Principal, id: &str, subject_type: SubjectType) -> Answer {
    let may = |row: &SubjectRow| row.subject_type == subject_type.as_str();
    if !commands::delete(&app.engine, &caller.by, id, may).await? {
        return Err(Problem::not_found(subject_type.as_str(), id).into());
    }
    JsonResponse::no_content()
}

async fn found(
    app: &App,
    caller: &Principal,
    id: &str,
    subject_type: SubjectType,
) -> Result<SubjectRow, Failure> {
    let mut reader = app.engine.store.read_for_people().await?;
    let row = subjects::by_ids(&mut reader.conn(), &caller.by.reach(), vec![id.to_owned()]).await?.pop();
    row.filter(|row| row.subject_type == subject_type.as_str())
        .ok_or_else(|| Problem::not_found(subject_type.as_str(), id).into())
}

/// The whole answer about one, with its rules.
async fn answer(
    app: &App,
    caller: &Principal,
    row: SubjectRow,
    subject_type: SubjectType,
) -> Result<Subject, Failure> {
    let mut reader = app.engine.store.read_for_people().await?;
    let own = rules::of_subjects(&mut reader.conn(), &caller.by.reach(), vec![row.id.clone()]).await?;
    drop(reader);
    shape(row, own, subject_type, app.engine.clock.now())
}

/// Either, as its own shape.
#[derive(serde::Serialize)]
#[serde(untagged)]
pub enum Subject {
    Event(Event),
    Task(Task),
}

fn shape(
    row: SubjectRow,
    own: Vec<rules::RuleRow>,
    subject_type: SubjectType,
    now: Timestamp,
) -> Result<Subject, Failure> {
    let rules: Vec<Rule> = own.into_iter().map(|rule| shape_rule(rule, now)).collect::<Result<_, _>>()?;
    let (created_at, updated_at) = (row.created_at, row.updated_at);
    let (start, end) = (row.start_at, row.end_at);
    let people = texts(&row.people);
    Ok(match subject_type {
        SubjectType::Event => Subject::Event(Event {
            id: row.id,
            title: row.title,
            start_date: start,
            end_date: end,
            is_all_day: row.is_all_day,
            creator: row.creator,
            participants: people,
            organisation: row.organisation,
            time_zone: row.time_zone,
            location: row.location,
            description: row.description,
            business_unit: row.business_unit,
            rules,
            version: row.version,
            created_at,
            updated_at,
        }),
        SubjectType::Task => Subject::Task(Task {
            id: row.id,
            title: row.title,
            started_at: start,
            finished_at: end,
            creator: row.creator,
            related_users: people,
            organisation: row.organisation,
            time_zone: row.time_zone,
            location: row.location,
            description: row.description,
            business_unit: row.business_unit,
            rules,
            version: row.version,
            created_at,
            updated_at,
        }),
    })
}

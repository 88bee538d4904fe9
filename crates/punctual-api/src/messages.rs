//! `/api/v1/messages`: one message to given people at a given time.

use std::collections::HashMap;

use axum::extract::State;
use punctual_engine::{EnsureOutcome, Ensured};
use punctual_model::{NotificationId, WorkKey, delivery_policy::Handling};
use punctual_store::{
    messages::{self, MessageRow},
    work::{self, WorkFilter, WorkRow, instant},
};
use punctual_wire::{
    Batch, BatchItem, Page, PageQuery, Problem,
    batch::{Item, OneOrMany},
    content::Content,
    limits::BATCH_MAX,
    messages::{Message, MessageAccepted, MessageChange, MessageRequest},
};
use punctual_workflows::messages::{self as path, KIND, NewMessage};
use serde_json::Value;

use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Author, Caller, Principal, Read},
    body::Json,
    idempotency::{IdempotencyKey, Ids},
    notifications::intake::with_content,
    parameters::{Parameters, Segments},
    schedules::{cancel, check_window},
    work::{refuse_foreign, status_after},
};

/// Send a message later, or an array of at most 1,000
///
/// The same id with the same content again moves the message; with other content it is refused, and nothing is changed. One
/// that was cancelled is returned as it is, unless `revive` brings it back.
#[utoipa::path(post, path = "/api/v1/messages", tag = "Messages", security(("key" = ["author"])),
    request_body(content = MessageRequest, example = json!({"sendAt": "2030-05-14T07:00:00Z", "targets": ["someone"], "channel": "memory:default", "subject": "Hello", "body": "It is time."})),
    responses((status = 201, body = MessageAccepted), (status = 200, body = Batch<BatchItem>)))]
pub async fn post(
    State(app): State<Shared>,
    caller: Caller<Author>,
    once: IdempotencyKey,
    body: Json,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let request = OneOrMany::read(&body.value, BATCH_MAX, MessageRequest::read)?;
    once.run(app, caller, &body.bytes, |ids| async move {
        match request {
            OneOrMany::One(one) => post_one(app, caller, wanted(app, caller, one, &ids, 0, "")?).await,
            OneOrMany::Many(many) => post_many(app, caller, many, &ids).await,
        }
    })
    .await
}

async fn post_one(app: &App, caller: &Principal, wanted: NewMessage) -> Answer {
    let id = wanted.id.clone();
    let Some(Ensured { id: work_id, outcome, .. }) =
        ensure(app, caller, vec![wanted]).await?.into_iter().next()
    else {
        return Err(Problem::internal().into());
    };
    if outcome == EnsureOutcome::Reused {
        return Err(Problem::id_reused(&id).into());
    }
    let row = app.engine.work_row(work_id).await?;
    let accepted = MessageAccepted {
        id,
        work_id,
        status: row.status.into(),
        send_at: instant(row.due_at)?,
        outcome: outcome.as_str().into(),
    };
    if outcome == EnsureOutcome::Created {
        JsonResponse::created(&accepted)
    } else {
        JsonResponse::ok(&accepted)
    }
}

async fn post_many(app: &App, caller: &Principal, many: Vec<Item<MessageRequest>>, ids: &Ids<'_>) -> Answer {
    let (mut good, mut outcomes) = (Vec::new(), Vec::with_capacity(many.len()));
    for (index, item) in many.into_iter().enumerate() {
        let item = item.map_err(Problem::from);
        match item.and_then(|one| wanted(app, caller, one, ids, index, &format!("/{index}"))) {
            Ok(wanted) => {
                outcomes.push(Ok((index, wanted.id.clone())));
                good.push(wanted);
            }
            Err(problem) => outcomes.push(Err(BatchItem::rejected(index, None, problem))),
        }
    }
    let mut ensured = ensure(app, caller, good).await?.into_iter();
    let items = outcomes.into_iter().map(|outcome| match outcome {
        Err(rejected) => rejected,
        Ok((index, id)) => match ensured.next() {
            Some(Ensured { outcome: EnsureOutcome::Reused, .. }) => {
                let problem = Problem::id_reused(&id);
                BatchItem::rejected(index, Some(id), problem)
            }
            Some(Ensured { outcome, .. }) => {
                BatchItem::accepted(index, outcome.as_str(), id, status_after(&outcome))
            }
            None => BatchItem::rejected(index, Some(id), Problem::internal()),
        },
    });
    JsonResponse::ok(&Batch { items: items.collect() })
}

async fn ensure(app: &App, caller: &Principal, wanted: Vec<NewMessage>) -> Result<Vec<Ensured>, Failure> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let keys =
        wanted.iter().filter_map(|one| Some((WorkKey::message(&one.id).ok()?.to_string(), one.id.clone())));
    refuse_foreign(app, caller, "message", keys.collect()).await?;
    Ok(path::send_at(&app.engine, &caller.by, &wanted).await?)
}

fn wanted(
    app: &App,
    caller: &Principal,
    request: MessageRequest,
    ids: &Ids<'_>,
    index: usize,
    pointer: &str,
) -> Result<NewMessage, Problem> {
    let MessageRequest { id, send_at, revive, content, handling } = request;
    check_window(app.engine.clock.now(), send_at, &format!("{pointer}/sendAt"))?;
    let mut content = with_content(app, caller, NotificationId(Default::default()), content, "", pointer)?;
    Handling::from(handling).give(&mut content);
    let id = id.unwrap_or_else(|| ids.at(index).to_string());
    Ok(NewMessage { id, send_at, revive, content })
}

/// List messages, newest first
#[utoipa::path(get, path = "/api/v1/messages", tag = "Messages", security(("key" = ["read"])),
    params(PageQuery), responses((status = 200, body = Page<Message>)))]
pub async fn list(State(app): State<Shared>, caller: Caller<Read>, parameters: Parameters) -> Answer {
    let page = parameters.page()?;
    let filter = WorkFilter {
        kind: Some(KIND.to_owned()),
        before: page.cursor,
        limit: i64::from(page.limit) + 1,
        ..WorkFilter::default()
    };
    let mut reader = app.engine.store.read_for_people().await?;
    let rows = work::list(&mut reader.conn(), &caller.by.reach(), &filter).await?;
    let page = Page::cut(rows, page.limit, |row| row.id);
    let ids = page.items.iter().filter_map(|row| path::id_of_key(&row.key)).collect();
    let contents = messages::by_ids(&mut reader.conn(), ids).await?;
    let mut contents: HashMap<String, MessageRow> =
        contents.into_iter().map(|row| (row.id.clone(), row)).collect();
    let mut items = Vec::new();
    for row in page.items {
        if let Some(content) = path::id_of_key(&row.key).and_then(|id| contents.remove(&id)) {
            items.push(shape(row, content)?);
        }
    }
    JsonResponse::ok(&Page { items, next_cursor: page.next_cursor })
}

/// Look at a message
#[utoipa::path(get, path = "/api/v1/messages/{id}", tag = "Messages", security(("key" = ["read"])),
    params(("id" = String, Path)), responses((status = 200, body = Message)))]
pub async fn get(State(app): State<Shared>, caller: Caller<Read>, Segments(id): Segments<String>) -> Answer {
    let (row, content) = found(&app, &id, |unit| caller.by.may_touch(unit)).await?;
    JsonResponse::ok(&shape(row, content)?)
}

/// Change a message that is pending
///
/// Fields that are given replace those that are stored, and `null` takes one away. One that is no longer pending is left as
/// it is, with 409.
#[utoipa::path(patch, path = "/api/v1/messages/{id}", tag = "Messages", security(("key" = ["author"])),
    params(("id" = String, Path)),
    request_body(content = MessageChange, example = json!({"sendAt": "2030-05-15T07:00:00Z", "subject": "Hello again"})),
    responses((status = 200, body = Message)))]
pub async fn patch(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(id): Segments<String>,
    body: Json,
) -> Answer {
    let (row, content) = found(&app, &id, |unit| caller.by.may_touch(unit)).await?;
    let unit = content.business_unit.clone();
    let stored = as_requested(shape(row, content)?)?;
    let MessageRequest { send_at, content, handling, .. } = MessageChange::over(stored, &body.value)?;
    check_window(app.engine.clock.now(), send_at, "/sendAt")?;
    let content = Content { business_unit: unit, ..content };
    let mut content = with_content(&app, &caller, NotificationId(Default::default()), content, "", "")?;
    Handling::from(handling).give(&mut content);
    let changed = NewMessage { id: id.clone(), send_at, revive: false, content };
    path::change(&app.engine, &caller.by, &changed).await?;
    let (row, content) = found(&app, &id, |unit| caller.by.may_touch(unit)).await?;
    JsonResponse::ok(&shape(row, content)?)
}

/// A stored message in the shape in which it was asked for, without what cannot be changed.
fn as_requested(message: Message) -> Result<Value, Failure> {
    let Message {
        send_at, channel, list, targets, subject, body, html, template, context, type_data, ..
    } = message;
    let content = Content {
        list,
        targets: targets.unwrap_or_default(),
        channel,
        subject,
        body,
        html,
        template,
        context,
        type_data,
        locale: message.locale,
        business_unit: None,
    };
    let handling = message.handling;
    let request = MessageRequest { id: None, send_at, revive: false, content, handling };
    serde_json::to_value(request).map_err(|_| Problem::internal().into())
}

/// Cancel a message
#[utoipa::path(delete, path = "/api/v1/messages/{id}", tag = "Messages", security(("key" = ["author"])),
    params(("id" = String, Path)), responses((status = 204)))]
pub async fn delete(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(id): Segments<String>,
) -> Answer {
    let (row, _) = found(&app, &id, |unit| caller.by.may_touch(unit)).await?;
    cancel(&app, row.id, &caller.by).await
}

async fn found(
    app: &App,
    id: &str,
    allows: impl Fn(Option<&str>) -> bool,
) -> Result<(WorkRow, MessageRow), Failure> {
    let missing = || Failure::from(Problem::not_found("message", id));
    let key = WorkKey::message(id).map_err(|_| missing())?;
    let mut reader = app.engine.store.read_for_people().await?;
    let row = work::by_key(&mut reader.conn(), key.as_str()).await?;
    let row = row.filter(|row| allows(row.business_unit.as_deref())).ok_or_else(missing)?;
    let content =
        messages::by_ids(&mut reader.conn(), vec![id.to_owned()]).await?.pop().ok_or_else(missing)?;
    Ok((row, content))
}

fn shape(row: WorkRow, content: MessageRow) -> Result<Message, Failure> {
    Ok(Message {
        notifications: row.queued(),
        work_id: row.id,
        status: row.status.into(),
        on_hold: row.on_hold,
        reason_code: row.reason_code,
        send_at: instant(row.due_at)?,
        created_at: instant(content.created_at)?,
        targets: content.targets.and_then(|text| serde_json::from_str(&text).ok()),
        context: content.context.and_then(|text| serde_json::from_str(&text).ok()),
        type_data: content.type_data.and_then(|text| serde_json::from_str(&text).ok()),
        handling: Handling::read(content.handling.as_deref()).into(),
        id: content.id,
        channel: content.channel,
        list: content.list_name,
        subject: content.subject,
        body: content.body,
        html: content.html,
        template: content.template,
        locale: content.locale,
        business_unit: content.business_unit,
    })
}

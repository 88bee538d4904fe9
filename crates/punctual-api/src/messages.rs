//! `/api/v1/messages`: one message to given people at a given time.

use std::collections::HashMap;

use axum::extract::State;
use punctual_engine::{EnsureOutcome, Ensured, OwnUnit};
use punctual_model::{FileRef, NotificationId, WorkKey, delivery_policy::Handling};
use punctual_store::{
    messages::{self, MessageRow},
    work::{self, WorkFilter, WorkRow},
};
use punctual_wire::{
    Batch, BatchItem, FieldError, Page, PageQuery, Problem,
    attachments::{Attachment, AttachmentRequest},
    batch::{Item, OneOrMany},
    content::Content,
    limits::BATCH_MAX,
    messages::{Message, MessageAccepted, MessageChange, MessageRequest},
};
use punctual_workflows::messages::{self as path, KIND, NewMessage};
use serde_json::Value;

use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse, over_quota},
    auth::{Author, Caller, Principal, ReadSent, SendLater, unit_for},
    body::{Json, WithFiles},
    idempotency::{IdempotencyKey, Ids},
    notifications::{
        files::{self, Wanted},
        intake::{Sender, with_content},
    },
    openapi::shapes,
    outcomes::{Good, completed, read_each},
    parameters::{Parameters, Segments},
    schedules::cancel,
    trace_context::TraceContext,
    window::{Window, check_moment},
    work::status_after,
};

/// Send a message later, or an array of at most 1,000
///
/// The same id with the same content moves the message; with other content it is refused, and nothing is changed. A cancelled
/// message is returned unchanged, unless `revive` reactivates it.
#[utoipa::path(post, path = "/api/v1/messages", tag = "Messages", security(("key" = ["author"]), ("key" = ["send"])),
    request_body(content = inline(shapes::OneOrMany<MessageRequest>), example = json!({"sendAt": "2030-05-14T07:00:00Z", "targets": ["someone"], "channel": "memory:default", "subject": "Hello", "body": "It is time."})),
    responses((status = 201, body = MessageAccepted),
        (status = 200, description = "The existing object in its current state; for an array, the outcome of each item", body = inline(shapes::KnownOrBatch<MessageAccepted>))))]
pub async fn post(
    State(app): State<Shared>,
    caller: Caller<SendLater>,
    once: IdempotencyKey,
    trace: TraceContext,
    body: Json<WithFiles>,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let request = OneOrMany::read(&body.value, BATCH_MAX, MessageRequest::read)?;
    once.run(app, caller, &body.bytes, |ids| async move {
        let named = request.readable().filter_map(|one| one.content.business_unit.as_deref());
        let units = app.engine.units_named(&caller.by, named.collect()).await?;
        let from = Sender { app, caller, units: &units, trace: &trace };
        let keys = request.readable().filter_map(|one| Some((key_of(one.id.as_deref()?)?, one.send_at)));
        let window = Window::of(app, caller, keys).await?;
        match request {
            OneOrMany::One(one) => {
                let one = wanted(from, &window, one, &ids, 0, "")?;
                let mut made = files::complete(app, caller, vec![one], with_files).await?;
                let (new, warnings) = made.pop().ok_or_else(Problem::internal)??;
                post_one(app, caller, new, warnings).await
            }
            OneOrMany::Many(many) => post_many(from, &window, many, &ids).await,
        }
    })
    .await
}

/// The key of the row that a message of this id has, or would have.
fn key_of(id: &str) -> Option<String> {
    WorkKey::message(id).ok().map(|key| key.to_string())
}

async fn post_one(app: &App, caller: &Principal, wanted: NewMessage, warnings: Vec<FieldError>) -> Answer {
    let id = wanted.id.clone();
    let Some(Ensured { id: work_id, outcome, .. }) =
        ensure(app, caller, vec![wanted]).await?.into_iter().next()
    else {
        return Err(Problem::internal().into());
    };
    match &outcome {
        EnsureOutcome::Reused => return Err(Problem::id_reused(&id).into()),
        EnsureOutcome::OverQuota(reached) => return Err(over_quota(reached).into()),
        _ => {}
    }
    let row = app.engine.work_row(&caller.by.reach(), work_id).await?;
    let accepted = MessageAccepted {
        id,
        work_id,
        status: row.status.into(),
        send_at: row.due_at,
        outcome: outcome.as_str().into(),
        warnings,
    };
    if outcome == EnsureOutcome::Created {
        JsonResponse::created(&accepted)
    } else {
        JsonResponse::ok(&accepted)
    }
}

async fn post_many(
    from: Sender<'_>,
    window: &Window,
    many: Vec<Item<MessageRequest>>,
    ids: &Ids<'_>,
) -> Answer {
    let Sender { app, caller, .. } = from;
    let id_of = |(new, _): &(NewMessage, Wanted)| new.id.clone();
    let (mut outcomes, read) =
        read_each(many, id_of, |one, index, pointer| wanted(from, window, one, ids, index, pointer));
    let made = files::complete(app, caller, read, with_files).await?;
    let good = completed(&mut outcomes, made);
    let mut ensured = ensure(app, caller, good).await?.into_iter();
    let items = outcomes.into_iter().map(|outcome| match outcome {
        Err(rejected) => rejected,
        Ok(Good { index, id, warnings }) => match ensured.next() {
            Some(Ensured { outcome: EnsureOutcome::Reused, .. }) => {
                let problem = Problem::id_reused(&id);
                BatchItem::rejected(index, Some(id), problem)
            }
            Some(Ensured { outcome: EnsureOutcome::OverQuota(reached), .. }) => {
                BatchItem::rejected(index, Some(id), over_quota(&reached))
            }
            Some(Ensured { outcome, .. }) => {
                BatchItem::accepted(index, outcome.as_str(), id, status_after(&outcome)).warned(warnings)
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
    Ok(path::send_at(&app.engine, &caller.by, &wanted).await?)
}

fn with_files(new: NewMessage, files: Vec<FileRef>) -> NewMessage {
    NewMessage { content: new.content.with(|content| content.attachments = files), ..new }
}

fn wanted(
    Sender { app, caller, units, trace }: Sender<'_>,
    window: &Window,
    request: MessageRequest,
    ids: &Ids<'_>,
    index: usize,
    pointer: &str,
) -> Result<(NewMessage, Wanted), Problem> {
    let MessageRequest { id, send_at, revive, content, handling } = request;
    let key = id.as_deref().and_then(key_of).unwrap_or_default();
    window.check(&key, send_at, revive, &format!("{pointer}/sendAt"))?;
    let unit = unit_for(units, content.business_unit.clone(), pointer)?;
    let unnamed = NotificationId(Default::default());
    let (content, wanted) =
        with_content(app, caller, unit, trace, unnamed, content, handling.into(), "", index, pointer)?;
    let id = id.unwrap_or_else(|| ids.at(index).to_string());
    Ok((NewMessage { id, send_at, revive, content }, wanted))
}

/// List messages, newest first
///
/// A key that may only send gets those that keys of its name made.
#[utoipa::path(get, path = "/api/v1/messages", tag = "Messages", security(("key" = ["read"]), ("key" = ["send"])),
    params(PageQuery), responses((status = 200, body = Page<Message>)))]
pub async fn list(State(app): State<Shared>, caller: Caller<ReadSent>, parameters: Parameters) -> Answer {
    let page = parameters.page()?;
    let filter = WorkFilter {
        kind: Some(KIND.to_owned()),
        before: page.cursor,
        limit: i64::from(page.limit),
        ..WorkFilter::default()
    };
    let mut reader = app.engine.store.read_for_people().await?;
    let found = work::page(&mut reader.conn(), &caller.by.reach(), &filter).await?;
    let page = Page::stretch(found.rows, found.next);
    let ids = page.items.iter().filter_map(|row| path::id_of_key(&row.key)).collect();
    let contents = messages::by_ids(&mut reader.conn(), &caller.by.reach(), ids).await?;
    let mut contents: HashMap<String, MessageRow> =
        contents.into_iter().map(|row| (row.id.clone(), row)).collect();
    let mut items = Vec::new();
    for row in page.items {
        let content = path::id_of_key(&row.key).and_then(|id| contents.remove(&id));
        // A page of these may be short, as where few rows pass a filter.
        if let Some(content) = content.filter(|one| caller.may_see_sent(one.client.as_deref())) {
            items.push(shape(row, content)?);
        }
    }
    JsonResponse::ok(&Page { items, next_cursor: page.next_cursor })
}

/// Look at a message
#[utoipa::path(get, path = "/api/v1/messages/{id}", tag = "Messages", security(("key" = ["read"]), ("key" = ["send"])),
    params(("id" = String, Path)), responses((status = 200, body = Message)))]
pub async fn get(
    State(app): State<Shared>,
    caller: Caller<ReadSent>,
    Segments(id): Segments<String>,
) -> Answer {
    let (row, content) = found(&app, &caller, &id).await?;
    if !caller.may_see_sent(content.client.as_deref()) {
        return Err(Problem::not_found("message", id).into());
    }
    JsonResponse::ok(&shape(row, content)?)
}

/// Change a message that is pending
///
/// Given fields replace the stored ones, and `null` removes a field. If it is no longer pending, nothing changes and 409 is
/// returned.
#[utoipa::path(patch, path = "/api/v1/messages/{id}", tag = "Messages", security(("key" = ["author"])),
    params(("id" = String, Path)),
    request_body(content = MessageChange, example = json!({"sendAt": "2030-05-15T07:00:00Z", "subject": "Hello again"})),
    responses((status = 200, body = Message)))]
pub async fn patch(
    State(app): State<Shared>,
    caller: Caller<Author>,
    Segments(id): Segments<String>,
    trace: TraceContext,
    body: Json<WithFiles>,
) -> Answer {
    let (row, content) = found(&app, &caller, &id).await?;
    let (unit, client) = (OwnUnit::stored(content.business_unit.clone()), content.client.clone());
    let stored = as_requested(shape(row, content)?)?;
    let MessageRequest { send_at, content, handling, .. } = MessageChange::over(stored, &body.value)?;
    if body.value.get("sendAt").is_some() {
        check_moment(app.engine.clock.now(), send_at, "/sendAt")?;
    }
    let unnamed = NotificationId(Default::default());
    let (content, wanted) =
        with_content(&app, &caller, unit, &trace, unnamed, content, handling.into(), "", 0, "")?;
    let content = content.with(|content| content.client = client);
    let changed = NewMessage { id: id.clone(), send_at, revive: false, content };
    let mut changed = files::complete(&app, &caller, vec![(changed, wanted)], with_files).await?;
    let (changed, warnings) = changed.pop().ok_or_else(Problem::internal)??;
    path::change(&app.engine, &caller.by, &changed).await?;
    let (row, content) = found(&app, &caller, &id).await?;
    JsonResponse::ok(&Message { warnings, ..shape(row, content)? })
}

/// A stored message in the shape in which it was asked for, without what cannot be changed.
fn as_requested(message: Message) -> Result<Value, Failure> {
    let Message {
        send_at, channel, list, targets, subject, body, html, template, context, type_data, ..
    } = message;
    let file = |file: Attachment| AttachmentRequest {
        name: file.name,
        content_type: Some(file.content_type),
        content: None,
        blob: file.blob,
    };
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
        attachments: message.attachments.into_iter().map(file).collect(),
        reply_to: message.reply_to,
        headers: message.headers,
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
    let (row, _) = found(&app, &caller, &id).await?;
    cancel(&app, row.id, &caller.by).await
}

async fn found(app: &App, caller: &Principal, id: &str) -> Result<(WorkRow, MessageRow), Failure> {
    let missing = || Failure::from(Problem::not_found("message", id));
    let key = WorkKey::message(id).map_err(|_| missing())?;
    let mut reader = app.engine.store.read_for_people().await?;
    let row = work::by_key(&mut reader.conn(), &caller.by.reach(), key.as_str()).await?;
    let row = row.ok_or_else(missing)?;
    let content = messages::by_ids(&mut reader.conn(), &caller.by.reach(), vec![id.to_owned()])
        .await?
        .pop()
        .ok_or_else(missing)?;
    Ok((row, content))
}

fn shape(row: WorkRow, content: MessageRow) -> Result<Message, Failure> {
    let files = content.attachments.and_then(|files| files.read().ok());
    let envelope = content.envelope.and_then(|envelope| envelope.read().ok()).unwrap_or_default();
    Ok(Message {
        attachments: files.unwrap_or_default().into_iter().map(Attachment::from).collect(),
        reply_to: envelope.reply_to,
        headers: envelope.headers,
        notifications: row.queued(),
        work_id: row.id,
        status: row.status.into(),
        on_hold: row.on_hold,
        reason_code: row.reason_code,
        send_at: row.due_at,
        created_at: content.created_at,
        warnings: Vec::new(),
        targets: content.targets.and_then(|targets| targets.read().ok()),
        context: content.context.and_then(|context| context.read().ok()),
        type_data: content.type_data.and_then(|data| data.read().ok()),
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

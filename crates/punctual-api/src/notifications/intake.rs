//! Taking notifications in: one, or a batch with an outcome for each.

use std::borrow::Cow;

use axum::extract::State;
use punctual_engine::Accepted;
use punctual_model::{
    Audience, ChannelKey, NewNotification, NotificationId, NotificationSource, delivery_policy::Handling,
};
use punctual_wire::{
    Batch, BatchItem, FieldError, Problem,
    batch::{Item, OneOrMany},
    content::Content,
    notifications::{NotificationAccepted, NotificationRequest, SourceRequest},
};
use uuid::Uuid;

use crate::{
    App, Shared,
    answer::{Answer, JsonResponse},
    auth::{Caller, Ingest, Principal},
    body::Json,
    idempotency::{IdempotencyKey, Ids},
};

/// Send a notification, or an array of at most 1,000
///
/// The answer comes after it is on disk. The same id with the same content again gives 200 and its present state;
/// with other content 409. An array gives 200 with an outcome for each item.
#[utoipa::path(post, path = "/api/v1/notifications", tag = "Notifications", security(("key" = ["ingest"])),
    request_body(content = NotificationRequest, example = json!({"targets": ["someone"], "channel": "memory:default", "subject": "Hello", "body": "It works."})),
    responses((status = 201, body = NotificationAccepted), (status = 200, body = Batch<BatchItem>)))]
pub async fn post(
    State(app): State<Shared>,
    caller: Caller<Ingest>,
    once: IdempotencyKey,
    body: Json,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let request = NotificationRequest::read_body(&body.value)?;
    once.run(app, caller, &body.bytes, |ids| async move {
        match request {
            OneOrMany::One(one) => post_one(app, new(app, caller, one, &ids, 0, "")?).await,
            OneOrMany::Many(many) => post_many(app, caller, many, &ids).await,
        }
    })
    .await
}

async fn post_one(app: &App, new: NewNotification) -> Answer {
    let id = new.id;
    match app.engine.accept(vec![new]).await?.pop() {
        Some(Accepted::Created) => JsonResponse::created(&NotificationAccepted {
            id: id.to_string(),
            status: Cow::Borrowed("pending"),
        }),
        Some(Accepted::Duplicate { status }) => {
            JsonResponse::ok(&NotificationAccepted { id: id.to_string(), status: status.into() })
        }
        Some(Accepted::IdReused) => Err(Problem::id_reused(&id.to_string()).into()),
        None => Err(Problem::internal().into()),
    }
}

async fn post_many(
    app: &App,
    caller: &Principal,
    many: Vec<Item<NotificationRequest>>,
    ids: &Ids<'_>,
) -> Answer {
    let (mut good, mut outcomes) = (Vec::new(), Vec::with_capacity(many.len()));
    for (index, item) in many.into_iter().enumerate() {
        let item = item.map_err(Problem::from);
        match item.and_then(|one| new(app, caller, one, ids, index, &format!("/{index}"))) {
            Ok(new) => {
                outcomes.push(Ok((index, new.id.to_string())));
                good.push(new);
            }
            Err(problem) => outcomes.push(Err(BatchItem::rejected(index, None, problem))),
        }
    }
    let accepted = if good.is_empty() { Vec::new() } else { app.engine.accept(good).await? };
    let mut accepted = accepted.into_iter();
    let items = outcomes.into_iter().map(|outcome| match outcome {
        Err(rejected) => rejected,
        Ok((index, id)) => match accepted.next() {
            Some(Accepted::Created) => BatchItem::accepted(index, "created", id, "pending"),
            Some(Accepted::Duplicate { status }) => BatchItem::accepted(index, "unchanged", id, status),
            Some(Accepted::IdReused) => {
                let problem = Problem::id_reused(&id);
                BatchItem::rejected(index, Some(id), problem)
            }
            None => BatchItem::rejected(index, Some(id), Problem::internal()),
        },
    });
    JsonResponse::ok(&Batch { items: items.collect() })
}

fn new(
    app: &App,
    caller: &Principal,
    request: NotificationRequest,
    ids: &Ids<'_>,
    index: usize,
    pointer: &str,
) -> Result<NewNotification, Problem> {
    let NotificationRequest { id, kind, content, handling, source } = request;
    let given = id.as_deref().and_then(|id| Uuid::parse_str(id).ok());
    let id = NotificationId(given.unwrap_or_else(|| ids.at(index)));
    let kind = kind.unwrap_or_default();
    let mut new = with_content(app, caller, id, content, &kind, pointer)?;
    new.kind = kind;
    Handling::from(handling).give(&mut new);
    let SourceRequest { instance, script } = source;
    new.source = NotificationSource { site: None, instance, script };
    Ok(new)
}

/// What notifications and messages share: audience, channel and text.
pub(crate) fn with_content(
    app: &App,
    caller: &Principal,
    id: NotificationId,
    content: Content,
    kind: &str,
    pointer: &str,
) -> Result<NewNotification, Problem> {
    let channel: Option<ChannelKey> = content.channel.as_deref().and_then(|key| key.parse().ok());
    let used = channel.clone().unwrap_or_else(|| ChannelKey::for_targets(kind));
    check_addresses(app, &used, &content.targets, pointer)?;
    let audience = content.list.map_or(Audience::Targets(content.targets), Audience::List);
    let mut new = NewNotification::new(id, audience, content.subject, content.body);
    new.channel = channel;
    new.html = content.html;
    new.template = content.template;
    new.context = content.context;
    new.type_data = content.type_data;
    new.locale = content.locale;
    new.business_unit = caller.unit_for(content.business_unit, pointer)?;
    Ok(new)
}

/// The channel's own word on each address, where the channel is open here.
fn check_addresses(
    app: &App,
    channel: &ChannelKey,
    targets: &[String],
    pointer: &str,
) -> Result<(), Problem> {
    let faults = targets.iter().enumerate().filter_map(|(index, target)| {
        let why = app.engine.channels.check_address(channel.as_str(), target)?.err()?;
        Some(FieldError::address_invalid(format!("{pointer}/targets/{index}"), target, why))
    });
    let faults: Vec<FieldError> = faults.collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.into()) }
}

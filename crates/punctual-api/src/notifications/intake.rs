//! Taking notifications in: one, or a batch with an outcome for each.

use std::{borrow::Cow, collections::HashSet};

use axum::extract::State;
use punctual_engine::{Accepted, Handed, OwnUnit, Units};
use punctual_model::{
    Audience, ChannelKey, Envelope, NewNotification, NotificationId, NotificationSource, TextField,
    delivery_policy,
};
use punctual_templates::{compile_check, has_marks};
use punctual_wire::{
    Batch, BatchItem, Code, FieldError, Problem,
    batch::{Item, OneOrMany},
    content::Content,
    handling::Handling,
    notifications::{NotificationAccepted, NotificationRequest, SourceRequest},
};
use uuid::Uuid;

use super::files::{self, NamedChannel, Wanted};
use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Caller, Principal, SendNow, unit_for},
    body::{Json, WithFiles},
    idempotency::{IdempotencyKey, Ids},
    openapi::shapes,
    trace_context::TraceContext,
};

/// Send a notification, or an array of at most 1,000
///
/// The answer comes after it is on disk, with its files. The same id with the same content again gives 200 and its present
/// state; with other content 409. An array gives 200 with an outcome for each item. A channel that does not exist is a
/// warning: the message is parked until it does.
#[utoipa::path(post, path = "/api/v1/notifications", tag = "Notifications", security(("key" = ["ingest"]), ("key" = ["send"])),
    request_body(content = inline(shapes::OneOrMany<NotificationRequest>), example = json!({"targets": ["someone"], "channel": "memory:default", "subject": "Hello", "body": "It works."})),
    responses((status = 201, body = NotificationAccepted),
        (status = 200, description = "One that was known already, as it is now; or for an array what became of each", body = inline(shapes::KnownOrBatch<NotificationAccepted>))))]
pub async fn post(
    State(app): State<Shared>,
    caller: Caller<SendNow>,
    once: IdempotencyKey,
    trace: TraceContext,
    body: Json<WithFiles>,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let request = NotificationRequest::read_body(&body.value)?;
    once.run(app, caller, &body.bytes, |ids| async move {
        let named = request.readable().filter_map(|one| one.content.business_unit.as_deref());
        let units = app.engine.units_named(&caller.by, named.collect()).await?;
        let channels =
            request.readable().flat_map(|NotificationRequest { kind, content, handling, .. }| {
                NamedChannel::of(content, kind.as_deref().unwrap_or_default(), handling, "")
            });
        let unknown = unknown_channels(app, channels.collect()).await?;
        let from = Sender { app, caller, units: &units, unknown: &unknown, trace: &trace };
        match request {
            OneOrMany::One(one) => {
                let one = new(from, one, &ids, 0, "")?;
                let mut made = with_files(from, vec![one]).await?;
                post_one(app, made.pop().ok_or_else(Problem::internal)??).await
            }
            OneOrMany::Many(many) => post_many(from, many, &ids).await,
        }
    })
    .await
}

/// Keeps the files of new messages and names them in each.
async fn with_files(
    Sender { app, caller, unknown, .. }: Sender<'_>,
    many: Vec<(Handed, Wanted)>,
) -> Result<Vec<Result<(Handed, Vec<FieldError>), Problem>>, Failure> {
    let with = |new: Handed, files| new.with(|new| new.attachments = files);
    files::complete(app, caller, unknown, many, with).await
}

async fn post_one(app: &App, (new, warnings): (Handed, Vec<FieldError>)) -> Answer {
    let id = new.id.to_string();
    match app.engine.accept(vec![new]).await?.pop() {
        Some(Accepted::Created) => {
            JsonResponse::created(&NotificationAccepted { id, status: Cow::Borrowed("pending"), warnings })
        }
        Some(Accepted::Duplicate { status }) => {
            JsonResponse::ok(&NotificationAccepted { id, status: status.into(), warnings })
        }
        Some(Accepted::IdReused) => Err(Problem::id_reused(&id).into()),
        None => Err(Problem::internal().into()),
    }
}

async fn post_many(from: Sender<'_>, many: Vec<Item<NotificationRequest>>, ids: &Ids<'_>) -> Answer {
    let (mut read, mut outcomes) = (Vec::new(), Vec::with_capacity(many.len()));
    for (index, item) in many.into_iter().enumerate() {
        let item = item.map_err(Problem::from);
        match item.and_then(|one| new(from, one, ids, index, &format!("/{index}"))) {
            Ok(one) => {
                outcomes.push(Ok((index, one.0.id.to_string(), Vec::new())));
                read.push(one);
            }
            Err(problem) => outcomes.push(Err(BatchItem::rejected(index, None, problem))),
        }
    }
    let mut good = Vec::with_capacity(read.len());
    let mut made = with_files(from, read).await?.into_iter();
    for outcome in &mut outcomes {
        let Ok((index, id, warnings)) = outcome else { continue };
        match made.next() {
            Some(Ok((new, warned))) => {
                good.push(new);
                *warnings = warned;
            }
            Some(Err(problem)) => {
                *outcome = Err(BatchItem::rejected(*index, Some(std::mem::take(id)), problem));
            }
            None => {}
        }
    }
    let accepted = if good.is_empty() { Vec::new() } else { from.app.engine.accept(good).await? };
    let mut accepted = accepted.into_iter();
    let items = outcomes.into_iter().map(|outcome| match outcome {
        Err(rejected) => rejected,
        Ok((index, id, warnings)) => match accepted.next() {
            Some(Accepted::Created) => BatchItem::accepted(index, "created", id, "pending").warning(warnings),
            Some(Accepted::Duplicate { status }) => {
                BatchItem::accepted(index, "unchanged", id, status).warning(warnings)
            }
            Some(Accepted::IdReused) => {
                let problem = Problem::id_reused(&id);
                BatchItem::rejected(index, Some(id), problem)
            }
            None => BatchItem::rejected(index, Some(id), Problem::internal()),
        },
    });
    JsonResponse::ok(&Batch { items: items.collect() })
}

/// Where a request comes from: what everything that it makes shares.
#[derive(Clone, Copy)]
pub(crate) struct Sender<'r> {
    pub app: &'r App,
    pub caller: &'r Principal,
    pub units: &'r Units,
    /// The channels that it names and that do not exist.
    pub unknown: &'r HashSet<String>,
    pub trace: &'r TraceContext,
}

/// Those of these channels that do not exist.
pub(crate) async fn unknown_channels(
    app: &App,
    named: Vec<NamedChannel>,
) -> Result<HashSet<String>, Failure> {
    let keys = named.iter().map(|one| one.key.as_str()).collect();
    Ok(app.engine.unknown_channels(keys).await?)
}

fn new(
    from: Sender<'_>,
    request: NotificationRequest,
    ids: &Ids<'_>,
    index: usize,
    pointer: &str,
) -> Result<(Handed, Wanted), Problem> {
    let NotificationRequest { id, kind, content, handling, source } = request;
    let given = id.as_deref().and_then(|id| Uuid::parse_str(id).ok());
    let id = NotificationId(given.unwrap_or_else(|| ids.at(index)));
    let kind = kind.unwrap_or_default();
    let unit = unit_for(from.units, content.business_unit.clone(), pointer)?;
    let (new, wanted) = with_content(from, unit, id, content, handling, &kind, index, pointer)?;
    let SourceRequest { instance, script } = source;
    let new = new.with(|new| {
        new.kind = kind;
        new.source = NotificationSource { site: None, instance, script };
    });
    Ok((new, wanted))
}

/// What notifications and messages share: audience, channel, text and handling; and the files that they want to bring along.
#[expect(clippy::too_many_arguments, reason = "each is another part of the request")]
pub(crate) fn with_content(
    Sender { app, caller, trace, .. }: Sender<'_>,
    unit: OwnUnit,
    id: NotificationId,
    content: Content,
    handling: Handling,
    kind: &str,
    index: usize,
    pointer: &str,
) -> Result<(Handed, Wanted), Problem> {
    let channels = NamedChannel::of(&content, kind, &handling, pointer);
    let channel: Option<ChannelKey> = content.channel.as_deref().and_then(|key| key.parse().ok());
    let used = channel.clone().unwrap_or_else(|| ChannelKey::for_targets(kind));
    check_addresses(app, &used, &content.targets, pointer)?;
    // Values make templates of the texts, as a stored template would be.
    let inline = inline_of(&content, pointer)?;
    let audience = content.list.map_or(Audience::Targets(content.targets), Audience::List);
    let mut new = NewNotification::new(id, audience, content.subject, content.body);
    new.channel = channel;
    new.html = content.html;
    new.template = content.template;
    new.context = content.context;
    new.type_data = content.type_data;
    new.locale = content.locale;
    new.envelope =
        Envelope { reply_to: content.reply_to, headers: content.headers, inline, ..Envelope::default() };
    trace.give(&mut new.envelope, index);
    new.client = caller.client();
    delivery_policy::Handling::from(handling).give(&mut new);
    let wanted = Wanted {
        files: content.attachments,
        business_unit: unit.as_deref().map(str::to_owned),
        pointer: pointer.to_owned(),
        channels,
    };
    wanted.check_channels(app)?;
    Ok((Handed::new(unit, new), wanted))
}

/// The texts that are templates: those with something to fill in, where values are given and no stored template.
fn inline_of(content: &Content, pointer: &str) -> Result<Vec<TextField>, Problem> {
    if content.template.is_some() || content.context.is_none() {
        return Ok(Vec::new());
    }
    let texts = [
        (TextField::Subject, "subject", Some(content.subject.as_str())),
        (TextField::Body, "body", Some(content.body.as_str())),
        (TextField::Html, "html", content.html.as_deref()),
    ];
    let (mut inline, mut faults) = (Vec::new(), Vec::new());
    for (field, name, text) in texts {
        let Some(text) = text.filter(|text| has_marks(text)) else { continue };
        match compile_check(text) {
            Ok(()) => inline.push(field),
            Err(fault) => {
                let detail = format!(
                    "With `context` it is a template. Line {}, column {}: {}.",
                    fault.line, fault.column, fault.detail
                );
                faults.push(FieldError::new(format!("{pointer}/{name}"), Code::TemplateSyntax, detail));
            }
        }
    }
    if faults.is_empty() { Ok(inline) } else { Err(faults.into()) }
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

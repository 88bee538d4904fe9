//! Taking notifications in: one, or a batch with an outcome for each.

use std::borrow::Cow;

use axum::extract::State;
use punctual_engine::{Accepted, Handed, OwnUnit, Units};
use punctual_model::{
    Audience, ChannelKey, Envelope, FileRef, NewNotification, NotificationId, NotificationSource,
    NotificationStatus, TextField, delivery_policy::Handling,
};
use punctual_templates::{compile_check, has_marks};
use punctual_wire::{
    Batch, BatchItem, Code, FieldError, Problem,
    batch::{Item, OneOrMany},
    content::Content,
    limits::BATCH_MAX,
    notifications::{NotificationAccepted, NotificationRequest, SourceRequest},
};
use uuid::Uuid;

use super::files::{self, Wanted};
use crate::{
    App, Shared,
    answer::{Answer, JsonResponse, over_quota},
    auth::{Caller, Principal, SendNow, unit_for},
    body::{Json, WithFiles},
    idempotency::{IdempotencyKey, Ids},
    openapi::shapes,
    outcomes::{Good, completed, read_each},
    trace_context::TraceContext,
};

/// Send a notification, or an array of at most 1,000
///
/// The answer comes after it is on disk, with its files. The same id with the same content again gives 200 and its present
/// state; with other content 409. An array gives 200 with an outcome for each item.
#[utoipa::path(post, path = "/api/v1/notifications", tag = "Notifications", security(("key" = ["ingest"]), ("key" = ["send"])),
    request_body(content = inline(shapes::OneOrMany<NotificationRequest>), example = json!({"targets": ["someone"], "channel": "memory:default", "subject": "Hello", "body": "It works."})),
    responses((status = 201, body = NotificationAccepted),
        (status = 200, description = "The existing object in its current state; for an array, the outcome of each item", body = inline(shapes::KnownOrBatch<NotificationAccepted>))))]
pub async fn post(
    State(app): State<Shared>,
    caller: Caller<SendNow>,
    once: IdempotencyKey,
    trace: TraceContext,
    body: Json<WithFiles>,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let request = OneOrMany::read(&body.value, BATCH_MAX, NotificationRequest::read)?;
    once.run(app, caller, &body.bytes, |ids| async move {
        let named = request.readable().filter_map(|one| one.content.business_unit.as_deref());
        let units = app.engine.units_named(&caller.by, named.collect()).await?;
        let from = Sender { app, caller, units: &units, trace: &trace };
        match request {
            OneOrMany::One(one) => {
                let one = new(from, one, &ids, 0, "")?;
                let mut made = files::complete(app, caller, vec![one], with_files).await?;
                let (new, warnings) = made.pop().ok_or_else(Problem::internal)??;
                let id = new.id.to_string();
                let taken =
                    |status: Cow<'static, str>| NotificationAccepted { id: id.clone(), status, warnings };
                match app.engine.accept(vec![new]).await?.pop() {
                    Some(Accepted::Created) => JsonResponse::created(&taken(NEW.into())),
                    Some(Accepted::Duplicate { status }) => JsonResponse::ok(&taken(status.into())),
                    Some(Accepted::IdReused) => Err(Problem::id_reused(&id).into()),
                    Some(Accepted::OverQuota(reached)) => Err(over_quota(&reached).into()),
                    Some(Accepted::Unreadable) | None => Err(Problem::internal().into()),
                }
            }
            OneOrMany::Many(many) => post_many(from, many, &ids).await,
        }
    })
    .await
}

/// The status of a notification that was stored a moment ago.
const NEW: NotificationStatus = NotificationStatus::Pending;

fn with_files(new: Handed, files: Vec<FileRef>) -> Handed {
    new.with(|new| new.attachments = files)
}

async fn post_many(from: Sender<'_>, many: Vec<Item<NotificationRequest>>, ids: &Ids<'_>) -> Answer {
    let Sender { app, caller, .. } = from;
    let id_of = |(new, _): &(Handed, Wanted)| new.id.to_string();
    let (mut outcomes, read) =
        read_each(many, id_of, |one, index, pointer| new(from, one, ids, index, pointer));
    let made = files::complete(app, caller, read, with_files).await?;
    let good = completed(&mut outcomes, made);
    let accepted = if good.is_empty() { Vec::new() } else { app.engine.accept(good).await? };
    let mut accepted = accepted.into_iter();
    let items = outcomes.into_iter().map(|outcome| match outcome {
        Err(rejected) => rejected,
        Ok(Good { index, id, warnings }) => match accepted.next() {
            Some(Accepted::Created) => BatchItem::accepted(index, "created", id, NEW).warned(warnings),
            Some(Accepted::Duplicate { status }) => {
                BatchItem::accepted(index, "unchanged", id, status).warned(warnings)
            }
            Some(Accepted::OverQuota(reached)) => BatchItem::rejected(index, Some(id), over_quota(&reached)),
            Some(Accepted::IdReused) => {
                let problem = Problem::id_reused(&id);
                BatchItem::rejected(index, Some(id), problem)
            }
            Some(Accepted::Unreadable) | None => BatchItem::rejected(index, Some(id), Problem::internal()),
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
    pub trace: &'r TraceContext,
}

fn new(
    Sender { app, caller, units, trace }: Sender<'_>,
    request: NotificationRequest,
    ids: &Ids<'_>,
    index: usize,
    pointer: &str,
) -> Result<(Handed, Wanted), Problem> {
    let NotificationRequest { id, kind, content, handling, source } = request;
    let given = id.as_deref().and_then(|id| Uuid::parse_str(id).ok());
    let id = NotificationId(given.unwrap_or_else(|| ids.at(index)));
    let kind = kind.unwrap_or_default();
    let unit = unit_for(units, content.business_unit.clone(), pointer)?;
    let (new, wanted) =
        with_content(app, caller, unit, trace, id, content, handling.into(), &kind, index, pointer)?;
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
    app: &App,
    caller: &Principal,
    unit: OwnUnit,
    trace: &TraceContext,
    id: NotificationId,
    content: Content,
    handling: Handling,
    kind: &str,
    index: usize,
    pointer: &str,
) -> Result<(Handed, Wanted), Problem> {
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
    handling.give(&mut new);
    let by_list = new.channel.is_none() && matches!(new.audience, Audience::List(_));
    let first = (!by_list).then(|| (format!("{pointer}/channel"), used.to_string()));
    let next = new.failover.iter().enumerate();
    let next = next.map(|(place, key)| (format!("{pointer}/failover/{place}"), key.to_string()));
    let wanted = Wanted {
        files: content.attachments,
        business_unit: unit.as_deref().map(str::to_owned),
        pointer: pointer.to_owned(),
        channels: first.into_iter().chain(next).collect(),
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

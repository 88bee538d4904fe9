//! `/api/v1/notifications`: messages to send now, and their outcomes.

pub(crate) mod files;
pub(crate) mod intake;
mod targets;

use axum::extract::State;
use punctual_engine::{
    SentContent, delivery_policy::blocked_channels::BlockedChannels, kpis::INTERVAL,
    operate::NotificationAction,
};
use punctual_model::Priority;
use punctual_store::{
    StoreError,
    notifications::{self, NotificationFilter, NotificationRow},
    work,
};
use punctual_wire::{
    Page, PageQuery, Problem,
    attachments::Attachment,
    notifications::{
        KpiFigures, Kpis, LastPurge, Notification, NotificationContent, NotificationQuery,
        NotificationSource, SiteKpis,
    },
    timeline::{Timeline, TimelineEntry},
    work::ActionRequest,
};

use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Caller, Operate, Principal, Read, ReadSent},
    body::{Json, Optional},
    idempotency::IdempotencyKey,
    parameters::{Parameters, Segments},
};

use targets::Ends;

/// Look at a notification
#[utoipa::path(get, path = "/api/v1/notifications/{id}", tag = "Notifications", security(("key" = ["read"]), ("key" = ["send"])),
    params(("id" = String, Path)), responses((status = 200, body = Notification)))]
pub async fn get(
    State(app): State<Shared>,
    caller: Caller<ReadSent>,
    Segments(id): Segments<String>,
) -> Answer {
    let row = visible(&app, &caller, &id).await?;
    answer_with(&app, row).await
}

/// List notifications, newest first
#[utoipa::path(get, path = "/api/v1/notifications", tag = "Notifications", security(("key" = ["read"]), ("key" = ["send"])),
    params(NotificationQuery, PageQuery), responses((status = 200, body = Page<Notification>)))]
pub async fn list(
    State(app): State<Shared>,
    caller: Caller<ReadSent>,
    Parameters(parameters): Parameters,
) -> Answer {
    let query = NotificationQuery::read(parameters)?;
    let blocked = app.engine.blocked_channels().await?;
    let mut filter = NotificationFilter {
        status: query.status,
        kind: query.kind,
        site: query.site,
        list: query.list,
        created_from: query.from.map(|at| at.as_microsecond()),
        created_to: query.to.map(|at| at.as_microsecond()),
        stuck: query.stuck.then(|| blocked.stuck()),
        q: query.q,
        ids: None,
        client: caller.only_client().map(str::to_owned),
        before: query.page.cursor,
        limit: i64::from(query.page.limit),
    };
    let mut reader = app.engine.store.read_for_people().await?;
    if let Some(id) = query.work {
        // What the caller does not reach is as empty as what is not there.
        let row = work::by_id(&mut reader.conn(), &caller.by.reach(), id).await?;
        let queued = work::queued(&mut reader.conn(), row.as_slice()).await?;
        filter.ids = Some(queued.into_values().flatten().collect());
    }
    let found = notifications::page(&mut reader.conn(), &caller.by.reach(), &filter).await?;
    let page = Page::stretch(found.rows, found.next);
    let ends = Ends::of(&mut reader.conn(), page.items.iter().map(|row| row.seq).collect()).await?;
    let shaped: Vec<Notification> = page
        .items
        .into_iter()
        .map(|row| shape(with_reason(row, &blocked), &ends, false))
        .collect::<Result<_, _>>()?;
    JsonResponse::ok(&Page { items: shaped, next_cursor: page.next_cursor })
}

/// The timeline of a notification, from its cause to the provider's answer
#[utoipa::path(get, path = "/api/v1/notifications/{id}/timeline", tag = "Notifications", security(("key" = ["read"]), ("key" = ["send"])),
    params(("id" = String, Path)), responses((status = 200, body = Timeline)))]
pub async fn timeline(
    State(app): State<Shared>,
    caller: Caller<ReadSent>,
    Segments(id): Segments<String>,
) -> Answer {
    let row = visible(&app, &caller, &id).await?;
    let moments = app.engine.timeline(&caller.by.reach(), &row.id.to_string()).await?;
    let items = moments
        .into_iter()
        .map(|moment| TimelineEntry {
            at: moment.at,
            what: moment.what.into(),
            title: moment.title,
            detail: moment.detail,
            data: moment.data,
        })
        .collect();
    JsonResponse::ok(&Timeline { id: row.id.to_string(), items })
}

/// Try a parked notification again
#[utoipa::path(post, path = "/api/v1/notifications/{id}/retry", tag = "Notifications", security(("key" = ["operate"])),
    params(("id" = String, Path)), request_body = Option<ActionRequest>, responses((status = 200, body = Notification)))]
pub async fn retry(
    State(app): State<Shared>,
    caller: Caller<Operate>,
    once: IdempotencyKey,
    Segments(id): Segments<String>,
    body: Json<Optional>,
) -> Answer {
    act(&app, &caller, &once, &id, &body, NotificationAction::Retry).await
}

/// Give a parked notification up
#[utoipa::path(post, path = "/api/v1/notifications/{id}/discard", tag = "Notifications", security(("key" = ["operate"])),
    params(("id" = String, Path)), request_body = Option<ActionRequest>, responses((status = 200, body = Notification)))]
pub async fn discard(
    State(app): State<Shared>,
    caller: Caller<Operate>,
    once: IdempotencyKey,
    Segments(id): Segments<String>,
    body: Json<Optional>,
) -> Answer {
    act(&app, &caller, &once, &id, &body, NotificationAction::Discard).await
}

/// Say that a person has seen what did not arrive
///
/// For messages that a provider accepted and then failed to deliver: they are listed under attention until this.
#[utoipa::path(post, path = "/api/v1/notifications/{id}/acknowledge", tag = "Notifications", security(("key" = ["operate"])),
    params(("id" = String, Path)), request_body = Option<ActionRequest>, responses((status = 200, body = Notification)))]
pub async fn acknowledge(
    State(app): State<Shared>,
    caller: Caller<Operate>,
    once: IdempotencyKey,
    Segments(id): Segments<String>,
    body: Json<Optional>,
) -> Answer {
    act(&app, &caller, &once, &id, &body, NotificationAction::Acknowledge).await
}

/// The figures of the outbox, of all of it and of each site
#[utoipa::path(get, path = "/api/v1/notifications/kpis", tag = "Notifications", security(("key" = ["read"])),
    params(("site" = Option<String>, Query, description = "Only this site")), responses((status = 200, body = Kpis)))]
pub async fn kpis(
    State(app): State<Shared>,
    _caller: Caller<Read>,
    Parameters(parameters): Parameters,
) -> Answer {
    let site = parameters.into_iter().find(|(name, _)| name == "site").map(|(_, site)| site);
    let found = app.engine.outbox_kpis(site.as_deref()).await?;
    let age = |created: Option<i64>| created.map(|at| (found.at.as_microsecond() - at).max(0) / 1_000_000);
    let total = &found.total;
    JsonResponse::ok(&Kpis {
        at: found.at,
        stuck_after_seconds: i64::try_from(app.engine.config.stuck_after.as_secs()).unwrap_or(i64::MAX),
        interval_seconds: i64::try_from(INTERVAL.as_secs()).unwrap_or(i64::MAX),
        total: KpiFigures {
            queue_depth: total.queue_depth,
            stuck_count: total.stuck,
            waiting_count: total.waiting,
            parked_count: total.parked,
            delivered_last_interval: total.delivered,
            oldest_pending_age_seconds: age(total.oldest_created_at),
        },
        uncertain: total.uncertain,
        confirmed_last_interval: found.receipts.confirmed,
        not_delivered_last_interval: found.receipts.failed,
        by_site: found
            .by_site
            .iter()
            .map(|site| SiteKpis {
                site: site.site.clone(),
                figures: KpiFigures {
                    queue_depth: site.queue_depth,
                    stuck_count: site.stuck,
                    waiting_count: site.waiting,
                    parked_count: site.parked,
                    delivered_last_interval: site.delivered,
                    oldest_pending_age_seconds: age(site.oldest_created_at),
                },
            })
            .collect(),
        last_purge: found.last_purge.map(|purge| LastPurge {
            at: purge.at,
            removed: purge.removed as u64,
            keep_for_days: purge.keep_for_days,
        }),
    })
}

/// What an operator does to a notification, once for each idempotency key.
async fn act(
    app: &App,
    caller: &Principal,
    once: &IdempotencyKey,
    id: &str,
    body: &Json<Optional>,
    action: NotificationAction,
) -> Answer {
    let request = ActionRequest::read(&body.value, "")?;
    once.run(app, caller, &body.bytes, |_| async move {
        let id = punctual_wire::names::guid(id).unwrap_or_else(|| id.to_owned());
        let by = caller.by.because(request.reason.as_deref());
        let row = app.engine.act_on_notification(&by, action, &id, request.version).await?;
        answer_with(app, row).await
    })
    .await
}

/// The row of this id, if the caller may see it.
async fn visible(app: &App, caller: &Principal, id: &str) -> Result<NotificationRow, Failure> {
    let mut reader = app.engine.store.read_for_people().await?;
    let id = punctual_wire::names::guid(id).unwrap_or_else(|| id.to_owned());
    let row = notifications::by_id(&mut reader.conn(), &caller.by.reach(), &id).await?;
    row.filter(|row| caller.may_see_sent(row.client.as_deref()))
        .ok_or_else(|| Problem::not_found("notification", id).into())
}

/// The row with why it waits and until when, where its channel holds it back.
fn with_reason(mut row: NotificationRow, blocked: &BlockedChannels) -> NotificationRow {
    if let Some((reason, until)) = blocked.waits(&row) {
        row.reason_code = Some(reason.into());
        row.ready_at = row.ready_at.max(until);
    }
    row
}

async fn answer_with(app: &App, row: NotificationRow) -> Answer {
    let row = with_reason(row, &app.engine.blocked_channels().await?);
    let content = shape_content(app.engine.content_of(&row).await?);
    let mut reader = app.engine.store.read_for_people().await?;
    let ends = Ends::of(&mut reader.conn(), vec![row.seq]).await?;
    JsonResponse::ok(&Notification { content: Some(content), ..shape(row, &ends, true)? })
}

fn shape_content(content: SentContent) -> NotificationContent {
    let (subject, body, html) = match content.text {
        Some(text) => (Some(text.subject), Some(text.body), text.html),
        None => (None, None, None),
    };
    NotificationContent {
        basis: content.basis.as_str().into(),
        subject,
        body,
        html,
        template_version: content.version,
        note: content.note,
    }
}

fn shape(row: NotificationRow, ends: &Ends, with_text: bool) -> Result<Notification, StoreError> {
    let files = row.attachments.and_then(|files| files.read().ok()).unwrap_or_default();
    let envelope = row.envelope.and_then(|envelope| envelope.read().ok()).unwrap_or_default();
    Ok(Notification {
        attachments: files.into_iter().map(Attachment::from).collect(),
        reply_to: envelope.reply_to,
        headers: envelope.headers,
        resolved_targets: ends.targets(row.seq)?,
        enqueued_at: row.site_enqueued_at,
        created_at: row.created_at,
        last_attempt_at: ends.last_attempt_at(row.seq),
        next_attempt_at: row.status.is_live().then_some(row.ready_at),
        delivered_at: row.delivered_at,
        targets: row.targets.and_then(|targets| targets.read().ok()),
        context: row.context.filter(|_| with_text).and_then(|context| context.read().ok()),
        type_data: row.type_data.filter(|_| with_text).and_then(|data| data.read().ok()),
        body: Some(row.body).filter(|_| with_text),
        html: row.html.filter(|_| with_text),
        source: NotificationSource {
            site: row.source_site,
            instance: row.source_instance,
            script: row.source_script,
        },
        id: row.id.to_string(),
        kind: row.kind,
        status: row.status.into(),
        retry_count: row.retry_count,
        last_error: row.last_error,
        reason_code: row.reason_code,
        channel: row.channel.to_string(),
        list: row.list_name,
        subject: row.subject,
        template: row.template,
        locale: row.locale,
        business_unit: row.business_unit,
        priority: Priority::of(row.priority).as_str().into(),
        topic: row.topic,
        failover: row
            .failover
            .and_then(|order| order.read().ok())
            .unwrap_or_default()
            .iter()
            .map(ToString::to_string)
            .collect(),
        work_id: row.work_id.map(|work| work.0),
        uncertain: row.uncertain,
        content: None,
        version: row.version,
    })
}

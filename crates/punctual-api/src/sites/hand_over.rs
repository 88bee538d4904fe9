//! Forwarding from a site: many notifications in order, one acknowledgement for each, after the commit.

use std::{borrow::Cow, collections::HashSet};

use axum::extract::State;
use jiff::Timestamp;
use punctual_engine::Accepted;
use punctual_model::{Audience, NewNotification, NotificationId, NotificationSource};
use punctual_store::{notifications, site_events::SiteEventRow, sites::Contact};
use punctual_wire::{
    Batch, Code, Problem,
    sites::{SiteAck, SiteHandOver, SiteIdentity, SiteItem, SiteNotificationStatus, SiteReport},
};
use uuid::Uuid;

use crate::{
    Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::SiteCaller,
    body::{HandOver, Json},
    parameters::Segments,
};

/// Whose token this is
#[utoipa::path(get, path = "/api/v1/site", tag = "Sites", security(("key" = ["site"])),
    responses((status = 200, body = SiteIdentity)))]
pub async fn identity(SiteCaller(id): SiteCaller) -> Answer {
    JsonResponse::ok(&SiteIdentity { id })
}

/// Hand over at most 10,000 notifications
///
/// Each item is stored if its id is new, in the order of the request, and acknowledged with its own outcome after it is on
/// disk. Good items are kept when others are bad. The body may be compressed with gzip; `report` says how the site is
/// doing. The same request again changes nothing.
#[utoipa::path(post, path = "/api/v1/sites/{site}/notifications", tag = "Sites", security(("key" = ["site"])),
    params(("site" = String, Path)),
    request_body(content = SiteHandOver, example = json!({"items": [{"id": "0197a3c4-5d6e-7f80-9a1b-2c3d4e5f6071",
        "list": "ops", "subject": "Pump 7", "body": "1.8 bar", "script": "watch.sh", "enqueuedAt": "2026-05-14T05:12:34Z"}]})),
    responses((status = 200, body = Batch<SiteAck>)))]
pub async fn post(State(app): State<Shared>, SiteCaller(site): SiteCaller, body: Json<HandOver>) -> Answer {
    let read = SiteHandOver::read_body(&body.value)?;
    drop(body);
    let (mut good, mut acks) = (Vec::with_capacity(read.items.len()), Vec::with_capacity(read.items.len()));
    for (item, id) in read.items.into_iter().zip(read.ids) {
        match item.map_err(Problem::from).and_then(|item| new(&site, item)) {
            Ok((new, digest)) => {
                acks.push(ack(Some(new.id.to_string()), "stored", Some(digest), None));
                good.push(new);
            }
            Err(problem) => acks.push(ack(id, "rejected", None, Some(problem))),
        }
    }
    let taken = if good.is_empty() { Vec::new() } else { app.engine.take_from_site(&site, good).await? };
    let mut taken = taken.into_iter();
    // What was refused has no digest.
    for ack in acks.iter_mut().filter(|ack| ack.digest.is_some()) {
        match taken.next() {
            Some(Accepted::Created) => {}
            Some(Accepted::Duplicate { .. } | Accepted::Unreadable) => {
                ack.outcome = Cow::Borrowed("duplicate")
            }
            // What a site hands over is never refused for a quota.
            Some(Accepted::IdReused | Accepted::OverQuota(_)) | None => {
                ack.outcome = Cow::Borrowed("conflict");
                ack.code = Some(Code::IdReused);
                ack.detail = Some(Problem::id_reused(ack.id.as_deref().unwrap_or_default()).detail);
            }
        }
    }
    // What the site forwards is stored; a report that could not be comes again with the next contact.
    let (now, answered) = (app.wall.now(), acks.len());
    let contact = read.report.map(|report| contact_of(report, answered, now));
    if let Err(error) = app.engine.note_contact(now, &site, contact).await {
        tracing::warn!(site.id = site, %error, "the status report of a site could not be stored");
    }
    JsonResponse::ok(&Batch { items: acks })
}

/// The status of a notification of this site
#[utoipa::path(get, path = "/api/v1/sites/{site}/notifications/{id}", tag = "Sites", security(("key" = ["site"])),
    params(("site" = String, Path), ("id" = String, Path)), responses((status = 200, body = SiteNotificationStatus)))]
pub async fn status(
    State(app): State<Shared>,
    SiteCaller(site): SiteCaller,
    Segments((_site, id)): Segments<(String, String)>,
) -> Answer {
    let id = punctual_wire::names::guid(&id).unwrap_or(id);
    let mut reader = app.engine.store.read_for_people().await?;
    let missing = || Failure::from(Problem::not_found("notification", &id));
    let Some(row) = notifications::of_site(&mut reader.conn(), &site, &id).await? else {
        // What was purged is known by its tombstone: the last state, and nothing of what it said.
        let last =
            notifications::purged_of_site(&mut reader.conn(), &site, &id).await?.ok_or_else(missing)?;
        return JsonResponse::ok(&SiteNotificationStatus {
            enqueued_at: None,
            delivered_at: None,
            status: last.as_str().into(),
            retry_count: 0,
            last_error: None,
            reason_code: None,
            id,
        });
    };
    JsonResponse::ok(&SiteNotificationStatus {
        reason_code: row.reason_code,
        enqueued_at: row.site_enqueued_at,
        delivered_at: row.delivered_at,
        id: row.id.to_string(),
        status: row.status.into(),
        retry_count: row.retry_count,
        last_error: row.last_error,
    })
}

/// The notification that an item is, as coming from the site whose token was shown, and the item's digest.
fn new(site: &str, item: SiteItem) -> Result<(NewNotification, String), Problem> {
    let digest = item.digest();
    let id = Uuid::parse_str(&item.id).map_err(|_| Problem::internal())?;
    let mut new =
        NewNotification::new(NotificationId(id), Audience::List(item.list), item.subject, item.body);
    new.source =
        NotificationSource { site: Some(site.to_owned()), instance: item.instance, script: item.script };
    new.site_enqueued_at = item.enqueued_at;
    Ok((new, digest))
}

fn ack(
    id: Option<String>,
    outcome: &'static str,
    digest: Option<String>,
    problem: Option<Problem>,
) -> SiteAck {
    let (code, detail) = problem.map_or((None, None), |problem| (Some(problem.code), Some(problem.detail)));
    SiteAck { id, outcome: Cow::Borrowed(outcome), digest, code, detail }
}

/// What a site said, as it is kept. Its clock is data: the offset to ours is all that is drawn from it. What this request
/// brought waits there no longer once it is answered.
fn contact_of(report: SiteReport, answered: usize, now: Timestamp) -> (Contact, Vec<SiteEventRow>) {
    let backlog = report.backlog.saturating_sub(i64::try_from(answered).unwrap_or(i64::MAX)).max(0);
    let contact = Contact {
        agent: report.agent,
        version: report.version,
        backlog,
        oldest_buffered_age_seconds: report.oldest_buffered_age_seconds.filter(|_| backlog > 0),
        refused: report.refused,
        clock_offset_ms: report.sent_at.map(|sent| now.as_millisecond() - sent.as_millisecond()),
    };
    let mut seen = HashSet::new();
    let events = report.events.into_iter().filter(|event| seen.insert(event.id.clone()));
    let events = events.map(|event| SiteEventRow {
        seq: 0,
        site: String::new(),
        id: event.id,
        category: event.category.into_owned(),
        kind: event.kind,
        began_at: event.at,
        last_at: event.last_at,
        count: event.count,
        detail: event.detail,
    });
    (contact, events.collect())
}

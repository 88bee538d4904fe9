//! The page of one work row: where it is, how it came there, and what a person can do about it.

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    http::Uri,
    routing::get,
};
use jiff::Timestamp;
use punctual_engine::titles::{Step as Named, Titled};
use punctual_model::{KeyParts, Reach, WorkKey, WorkStatus};
use punctual_store::{
    Conn, audit,
    notifications::{self, NotificationRow},
    operations::{rules, subjects},
    reminders, report_subscriptions, sources, survey_instances, surveys,
    work::{self, WorkRow},
};
use punctual_wire::Problem;
use serde_json::{Value, json};

use super::{
    outbox::done,
    timeline::{Happened, Step, audited, in_order, pretty, pretty_text},
    work::act::Action,
};
use crate::{
    App, Shared,
    answer::{Page, Refusal, page},
    form::Fields,
    frame::{Frame, Visit},
    links,
    session::Viewer,
    times::{When, Zone},
    words::{self, Pill},
};

pub fn routes() -> Router<Shared> {
    Router::new().route("/work/{id}", get(show))
}

/// What is said about a message that was taken for a channel that does not exist.
pub const CHANNEL_UNKNOWN: &str = "channel-unknown";

#[derive(Template)]
#[template(path = "work_row.html")]
struct WorkRowPage {
    frame: Frame,
    done: Option<String>,
    channel_is_unknown: bool,
    title: String,
    row: WorkRow,
    pill: Pill,
    sentence: String,
    reason: String,
    earlier_reason: String,
    due: When,
    /// What it comes of: label, name and page.
    origins: Vec<(&'static str, String, String)>,
    source: Option<String>,
    /// What can be done: word, label, and whether it destroys something.
    actions: Vec<(&'static str, &'static str, bool)>,
    notifications: Vec<Sent>,
    timeline: Vec<Step>,
    input: String,
    trace: Option<String>,
}

struct Sent {
    id: String,
    subject: String,
    pill: Pill,
    channel: String,
}

pub(super) async fn visible(app: &App, viewer: &Viewer, id: &str) -> Result<WorkRow, Refusal> {
    let refused = || Refusal::from(Problem::not_found("work", id));
    let number: i64 = id.parse().map_err(|_| refused())?;
    let mut reader = app.engine.store.read_for_people().await?;
    let row = work::by_id(&mut reader.conn(), &viewer.by.reach(), number).await?;
    row.ok_or_else(refused)
}

async fn show(State(app): State<Shared>, visit: Visit, Path(id): Path<String>, uri: Uri) -> Page {
    let row = visible(&app, &visit.viewer, &id).await?;
    let now = Visit::now(&app);
    let mut reader = app.engine.store.read_for_people().await?;
    let entries =
        audit::of(&mut reader.conn(), &visit.viewer.by.reach(), "work", &row.id.to_string()).await?;
    let retries = work::retries_of(&mut reader.conn(), &visit.viewer.by.reach(), row.id).await?;
    let sent = notifications::by_ids(&mut reader.conn(), &visit.viewer.by.reach(), row.queued()).await?;
    let titled: Vec<Titled<'_>> =
        retries.iter().map(|row| Titled { kind: &row.kind, key: &row.key }).collect();
    let repeated = app.engine.titles(&mut reader.conn(), &visit.viewer.by.reach(), &titled).await?;
    let title = app.engine.title(&mut reader.conn(), &visit.viewer.by.reach(), &row.kind, &row.key).await?;
    let origins = origins(&mut reader.conn(), &visit.viewer.by.reach(), &row).await?;
    drop(reader);
    let trace = match &row.trace_blob {
        Some(blob) => app.engine.blobs.get(blob).await?,
        None => None,
    };
    let may_act = visit.viewer.may_act() && visit.viewer.by.may_touch(row.business_unit.as_deref());
    let due = row.due_at;
    let query = Fields::of_query(&uri);
    page(&WorkRowPage {
        frame: visit.frame(&app, &title, "/work").await?,
        title,
        done: done(&query),
        channel_is_unknown: query.text("done") == CHANNEL_UNKNOWN,
        pill: words::work(row.status, row.on_hold),
        sentence: in_one_sentence(&row, &visit, now),
        reason: words::reason(row.reason_code.as_deref()),
        earlier_reason: words::reason(row.earlier_reason.as_deref()),
        due: visit.zone.exact(due),
        source: row
            .source_type
            .as_ref()
            .zip(row.source_id.as_ref())
            .filter(|_| origins.is_empty())
            .map(|(kind, id)| words::source(kind, id)),
        origins,
        actions: Action::of(row.status, row.on_hold)
            .into_iter()
            .filter(|_| may_act)
            .map(|action| (action.as_str(), action.name(row.status), action.is_destructive()))
            .collect(),
        timeline: in_order(
            happened(&row, &entries, retries.iter().zip(repeated), &sent, &visit.zone),
            &visit.zone,
        ),
        notifications: sent
            .into_iter()
            .map(|one| Sent {
                pill: words::notification(one.status),
                id: one.id.to_string(),
                subject: words::called(&one.subject, one.template.as_deref()),
                channel: one.channel.to_string(),
            })
            .collect(),
        input: pretty_text(&row.input),
        trace: trace.map(|bytes| pretty_text(&String::from_utf8_lossy(&bytes))),
        row,
    })
}

/// What a row comes of, as far as it is still there: the setting first, where a fault is repaired.
async fn origins(
    conn: &mut Conn<'_>,
    reach: &Reach,
    row: &WorkRow,
) -> Result<Vec<(&'static str, String, String)>, Refusal> {
    let mut parts = WorkKey::stored(&row.key).parts();
    while let KeyParts::SupportRetry { of, .. } = parts {
        parts = of.parts();
    }
    let mut found = Vec::new();
    match parts {
        KeyParts::ReminderDate { setting, source_type, source, .. }
        | KeyParts::ReminderThreshold { setting, source_type, source, .. }
        | KeyParts::ReminderOccurrence { setting, source_type, source, .. } => {
            let known = reminders::settings::by_ids(conn, reach, vec![setting]).await?;
            let shown = known.into_iter().filter(|setting| !setting.deleted);
            found.extend(
                shown.map(|one| ("Reminder", one.name, format!("/reminders/{}", links::encoded(&one.id)))),
            );
            if sources::get(conn, reach, &source_type, &source).await?.is_some() {
                let link = super::sources::link(&source_type, &source);
                found.push(("Source", words::source(&source_type, &source), link));
            }
        }
        KeyParts::ReportScheduled { guid, .. } | KeyParts::ReportManual { guid, .. } => {
            let known = report_subscriptions::by_guids(conn, reach, vec![guid]).await?;
            for one in known {
                let report = format!("/reports/{}", links::encoded(&one.guid));
                let run = format!("{report}/runs/{}", links::encoded(&row.key));
                found.extend([("Report", one.name, report), ("Run", "Files and deliveries".to_owned(), run)]);
            }
        }
        KeyParts::SurveySend { public_id, .. } | KeyParts::SurveyExpire { public_id } => {
            if let Some(one) = survey_instances::by_public_id(conn, reach, &public_id).await? {
                let survey = format!("/surveys/{}", one.survey_id);
                let link = format!("{survey}/instances/{}", links::encoded(&public_id));
                if let Some(known) = surveys::get(conn, reach, one.survey_id).await? {
                    found.push(("Survey", known.name, survey));
                }
                found.push(("Link of", one.recipient_address, link));
            }
        }
        KeyParts::Operations { rule_id, .. } => {
            let rules = rules::by_ids(conn, reach, vec![rule_id]).await?;
            let about = rules.into_iter().map(|rule| rule.subject_id).collect();
            for one in
                subjects::by_ids(conn, reach, about).await?.into_iter().filter(|one| one.deleted_at.is_none())
            {
                let (kind, label) = match one.subject_type.as_str() {
                    "task" => ("tasks", "Task"),
                    _ => ("events", "Event"),
                };
                found.push((label, one.title, format!("/operations/{kind}/{}", links::encoded(&one.id))));
            }
        }
        _ => {}
    }
    Ok(found)
}

fn in_one_sentence(row: &WorkRow, visit: &Visit, now: Timestamp) -> String {
    let when = |at: Timestamp| visit.zone.when(at, now).text;
    match row.status {
        _ if row.on_hold => format!("Put on hold {}. Needs attention.", when(row.updated_at)),
        WorkStatus::Pending if row.ready_at > now => format!("Due {}.", when(row.ready_at)),
        WorkStatus::Pending => format!("Due {}, waiting to be claimed.", when(row.ready_at)),
        WorkStatus::Processing => "Processing.".to_owned(),
        WorkStatus::Completed => format!("Completed {}.", when(row.updated_at)),
        WorkStatus::Failed => format!("Failed {}.", when(row.updated_at)),
        WorkStatus::Deactivated => format!("Skipped {}: there was nothing to send.", when(row.updated_at)),
        WorkStatus::Cancelled => format!("Cancelled {}.", when(row.updated_at)),
    }
}

fn happened<'r>(
    row: &WorkRow,
    entries: &[audit::AuditRow],
    retries: impl Iterator<Item = (&'r WorkRow, String)>,
    sent: &[NotificationRow],
    zone: &Zone,
) -> Vec<Happened> {
    let created = Happened {
        detail: format!("for {}", zone.exact(row.due_at).text),
        link: row.retry_of.map(|id| format!("/work/{id}")),
        ..Happened::new(row.created_at, Named::Created { is_retry: row.retry_of.is_some() }.title())
    };
    let mut all = vec![created];
    for one in entries {
        let data =
            one.data.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Value::Null);
        let raw =
            json!({ "from": one.from_status, "to": one.to_status, "version": one.version, "data": data });
        all.push(audited(one.at, &one.action, &one.actor, one.reason.as_deref(), &raw, zone));
    }
    for one in sent {
        all.push(Happened {
            detail: words::called(&one.subject, one.template.as_deref()),
            link: Some(format!("/notifications/{}", one.id)),
            ..Happened::new(one.created_at, format!("Made a notification for {}", one.channel))
        });
    }
    for (again, title) in retries {
        all.push(Happened {
            detail: title,
            link: Some(format!("/work/{}", again.id)),
            ..Happened::new(again.created_at, Named::Repeated.title())
        });
    }
    let class = match row.status {
        WorkStatus::Completed => "good",
        WorkStatus::Failed => "bad",
        WorkStatus::Processing => "",
        WorkStatus::Pending | WorkStatus::Deactivated | WorkStatus::Cancelled => return all,
    };
    let title = Named::Now { status: row.status, on_hold: false }.title();
    let result = row.coordinates().unwrap_or_default();
    all.push(Happened { class, raw: pretty(&result), ..Happened::new(row.updated_at, title) });
    all
}

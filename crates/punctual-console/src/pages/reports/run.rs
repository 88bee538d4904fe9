//! One run: who owns it, what was made, what became of the messages, and another attempt.

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    http::{HeaderValue, Uri, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use jiff::Timestamp;
use punctual_model::{NotificationStatus, OwnershipStatus, WorkStatus};
use punctual_store::{attempts::AttemptRow, report_subscriptions::SubscriptionRow};
use punctual_wire::Problem;
use punctual_workflows::reports::{
    Subscription, commands,
    runs::{self, RunView},
};
use serde_json::Value;

use super::{found, one::owner_name};
use crate::{
    App, Shared,
    answer::{Page, Refusal, page, see_other},
    form::{Act, Fields},
    frame::{Frame, Visit},
    links,
    times::When,
    words::{self, Pill},
};

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/reports/{guid}/runs/{run}", get(show))
        .route("/reports/{guid}/runs/{run}/retry", post(retry))
        .route("/reports/{guid}/runs/{run}/files/{name}", get(file))
}

#[derive(Template)]
#[template(path = "report_run.html")]
struct RunPage {
    frame: Frame,
    guid: String,
    name: String,
    link: String,
    key: String,
    heading: String,
    sentence: String,
    done: Option<&'static str>,
    pill: Pill,
    reason: String,
    fault: Option<(String, String)>,
    ownership: Option<Owned>,
    coordinates: Option<String>,
    files: Vec<FileLine>,
    picture: Option<String>,
    purged: Option<When>,
    deliveries: Vec<Delivery>,
    attempts: Vec<AttemptLine>,
    /// There are more than are listed.
    has_more_attempts: bool,
    details: Vec<(&'static str, String)>,
    due: When,
    work: i64,
    can_retry: bool,
}

struct Owned {
    owner: &'static str,
    status: &'static str,
    version: String,
    taken: When,
    stage: Option<i64>,
}

struct FileLine {
    name: String,
    /// None where it is gone.
    link: Option<String>,
    about: String,
    size: String,
    place: &'static str,
}

struct Delivery {
    id: String,
    subject: String,
    channel: String,
    to: String,
    pill: Pill,
}

struct AttemptLine {
    id: String,
    target: String,
    number: i64,
    channel: String,
    at: When,
    pill: Pill,
    answer: String,
}

async fn show(
    State(app): State<Shared>,
    visit: Visit,
    Path((guid, run)): Path<(String, String)>,
    uri: Uri,
) -> Page {
    let (row, view) = look_up(&app, &visit, &guid, &run).await?;
    let now = Visit::now(&app);
    let due_at = view.work.due_at;
    let subscription = Subscription::read(&row).ok();
    let period =
        subscription.as_ref().and_then(|read| Some(read.label(read.period_of(&view.work.key, due_at)?)));
    let stored = view.details();
    let link = format!("/reports/{}/runs/{}", row.guid, links::encoded(&view.work.key));
    let purged = view.files_purged_at();
    let files: Vec<FileLine> = view
        .artefacts()
        .into_iter()
        .map(|file| FileLine {
            link: purged.is_none().then(|| format!("{link}/files/{}", links::encoded(&file.name))),
            about: match &file.reading {
                Some(reading) => format!("{}, {}, {}", file.media_type, reading.locale, reading.time_zone),
                None => file.media_type.clone(),
            },
            size: size(file.bytes),
            place: match (file.sent, file.content_id.is_some()) {
                (false, _) => "kept with the run",
                (true, true) => "inside the mail",
                (true, false) => "attached",
            },
            name: file.name,
        })
        .collect();
    let is_chart = |file: &&FileLine| file.name.starts_with("chart.") && file.name.ends_with(".svg");
    let picture = files.iter().find(is_chart).and_then(|file| file.link.clone());
    let ownership = view.ownership.as_ref().map(|owned| Owned {
        owner: owner_name(&owned.owner),
        status: match owned.status {
            OwnershipStatus::Owned => "taken, nothing delivered yet",
            OwnershipStatus::DeliveryCreated => "delivery created",
            OwnershipStatus::Cancelled => "given back",
        },
        version: owned.owner_version.clone(),
        taken: visit.zone.when(owned.taken_at, now),
        stage: view.record.as_ref().and_then(|record| record.stage),
    });
    let fault = stored.get("fault").map(|fault| {
        let text = |name: &str| fault.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        (text("code"), text("detail"))
    });
    let can_retry = view.work.on_hold
        || view.work.is(&[WorkStatus::Failed, WorkStatus::Deactivated, WorkStatus::Cancelled])
        || view.work.is(&[WorkStatus::Pending]) && view.work.retry_count > 0
        || view.notifications.iter().any(|one| one.status == NotificationStatus::Parked);
    let heading = period.clone().unwrap_or_else(|| "A run".to_owned());
    page(&RunPage {
        frame: visit.frame(&app, &row.name, "/reports").await?,
        sentence: sentence(&view, &stored),
        done: (Fields::of_query(&uri).text("done") == "retried")
            .then_some("Retrying under the same key and owner."),
        pill: words::work(view.work.status, view.work.on_hold),
        reason: words::reason(view.work.reason_code.as_deref()),
        fault,
        ownership,
        coordinates: view.coordinates().and_then(|value| serde_json::to_string_pretty(&value).ok()),
        deliveries: view.notifications.iter().map(delivery).collect(),
        attempts: view.attempts.iter().map(|row| attempt(&view, row, &visit, now)).collect(),
        has_more_attempts: view.attempts.len() >= runs::ATTEMPTS_SHOWN,
        details: details(&view, &stored, period),
        due: visit.zone.exact(due_at),
        work: view.work.id,
        can_retry: can_retry
            && visit.viewer.may_act()
            && visit.viewer.by.may_touch(row.business_unit.as_deref()),
        key: view.work.key,
        guid: row.guid,
        name: row.name,
        link,
        heading,
        files,
        picture,
        purged: purged.map(|at| visit.zone.when(at, now)),
    })
}

fn sentence(view: &RunView, stored: &Value) -> String {
    let rows = stored.get("rows").and_then(Value::as_i64);
    let made = rows.map(|rows| format!("{} reported", words::counted(rows, "row", "rows")));
    let arrived = view.notifications.iter().filter(|one| one.status == NotificationStatus::Delivered).count();
    let sent = match view.notifications.len() {
        0 => None,
        all => Some(format!("{arrived} of {all} messages delivered")),
    };
    let parts: Vec<String> = made.into_iter().chain(sent).collect();
    if parts.is_empty() {
        "No report was made for it yet.".to_owned()
    } else {
        format!("{}.", parts.join(", "))
    }
}

fn details(view: &RunView, stored: &Value, period: Option<String>) -> Vec<(&'static str, String)> {
    let mut details = Vec::new();
    details.extend(period.map(|period| ("Period", period)));
    details.push((
        "Cause",
        if view.work.trigger_type == "manual_run" { "somebody asked" } else { "it was planned" }.to_owned(),
    ));
    if stored.get("truncated").and_then(Value::as_bool) == Some(true) {
        details.push(("Rows", "more than the limit; the rest was left out".to_owned()));
    }
    if let Some(record) = &view.record {
        details.push(("Attempts", record.attempts.to_string()));
        if record.conflicts > 0 {
            details.push(("Conflicts", record.conflicts.to_string()));
        }
    }
    details.push(("Folder of the files", format!("runs/{}", view.storage_hash())));
    details
}

fn delivery(row: &punctual_store::notifications::NotificationRow) -> Delivery {
    Delivery {
        id: row.id.to_string(),
        subject: words::called(&row.subject, row.template.as_deref()),
        channel: row.channel.to_string(),
        to: row.list_name.clone().map(|list| format!("list {list}")).unwrap_or_default(),
        pill: words::notification(row.status),
    }
}

fn attempt(view: &RunView, row: &AttemptRow, visit: &Visit, now: Timestamp) -> AttemptLine {
    let message = view.notifications.iter().find(|one| one.seq == row.notification_seq);
    AttemptLine {
        id: message.map(|one| one.id.to_string()).unwrap_or_default(),
        target: row.target.clone(),
        number: row.n,
        channel: row.channel.clone(),
        at: visit.zone.when(row.started_at, now),
        pill: words::outcome(row.outcome),
        answer: row.answer.clone().unwrap_or_default(),
    }
}

/// `12 KB`.
fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} KB", bytes.div_ceil(1_000)),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

async fn retry(State(app): State<Shared>, Path((guid, run)): Path<(String, String)>, form: Act) -> Page {
    let (row, view) = look_up(&app, &form.visit, &guid, &run).await?;
    if !form.visit.viewer.by.may_touch(row.business_unit.as_deref()) {
        return Err(missing(&run));
    }
    commands::retry(&app.engine, &form.visit.viewer.by, &view.work, None).await?;
    see_other(&format!("/reports/{}/runs/{}?done=retried", row.guid, links::encoded(&view.work.key)))
}

/// A file of a run. Pictures are shown, everything else is a download, and nothing in it can run.
async fn file(
    State(app): State<Shared>,
    visit: Visit,
    Path((guid, run, name)): Path<(String, String, String)>,
) -> Result<Response, Refusal> {
    let (_, view) = look_up(&app, &visit, &guid, &run).await?;
    let gone = || Refusal::from(Problem::not_found("file", &name));
    let known = view.artefacts().into_iter().find(|file| file.name == name).ok_or_else(gone)?;
    if let Some(at) = view.files_purged_at() {
        return Err(Problem::file_gone(&known.name, at).into());
    }
    let bytes = app.engine.blobs.get(&known.blob).await?.ok_or_else(gone)?;
    let is_picture = known.media_type.starts_with("image/");
    let disposition =
        if is_picture { "inline".to_owned() } else { format!("attachment; filename=\"{}\"", known.name) };
    let value = |text: String| HeaderValue::try_from(text).map_err(|error| Refusal::internal(&error));
    let policy = HeaderValue::from_static(
        "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'self'",
    );
    let headers = [
        (header::CONTENT_TYPE, value(known.media_type)?),
        (header::CONTENT_DISPOSITION, value(disposition)?),
        (header::CONTENT_SECURITY_POLICY, policy),
    ];
    Ok((headers, bytes).into_response())
}

async fn look_up(
    app: &App,
    visit: &Visit,
    guid: &str,
    run: &str,
) -> Result<(SubscriptionRow, RunView), Refusal> {
    let row = found(app, visit, guid).await?;
    let mut reader = app.engine.store.read_for_people().await?;
    let view = runs::find(&mut reader.conn(), &visit.viewer.by.reach(), &row.guid, run).await?;
    Ok((row, view.ok_or_else(|| missing(run))?))
}

fn missing(run: &str) -> Refusal {
    Problem::not_found("run", run).into()
}

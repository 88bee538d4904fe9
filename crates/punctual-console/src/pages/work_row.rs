//! The page of one work row: where it is, how it came there, and what a person can do about it.

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    http::Uri,
    routing::{get, post},
};
use jiff::Timestamp;
use punctual_engine::{
    operate::WorkAction,
    titles::{Step as Named, Titled},
};
use punctual_model::WorkStatus;
use punctual_store::{
    audit,
    notifications::{self, NotificationRow},
    work::{self, WorkRow},
};
use punctual_wire::{Code, Problem};
use serde_json::{Value, json};

use super::{
    confirm::{Confirm, Item},
    outbox::done,
    timeline::{Happened, Step, audited, in_order, pretty, pretty_text},
};
use crate::{
    App, Shared,
    answer::{Page, Refusal, page, see_other},
    form::{Act, Fields},
    frame::{Frame, Visit},
    session::Viewer,
    times::{When, Zone},
    words::{self, Pill},
};

pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/work/{id}", get(show))
        .route("/work/confirm", post(confirm))
        .route("/work/act", post(act))
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
    source: Option<String>,
    actions: Vec<Action>,
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

/// What can be done with a work row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Release,
    Retry,
    Cancel,
}

impl Action {
    fn read(fields: &Fields) -> Result<Self, Problem> {
        match fields.text("action") {
            "release" => Ok(Self::Release),
            "retry" => Ok(Self::Retry),
            "cancel" => Ok(Self::Cancel),
            _ => Err(Problem::new(Code::OutOfRange, "`action` is `release`, `retry` or `cancel`.")),
        }
    }

    fn as_str(&self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Retry => "retry",
            Self::Cancel => "cancel",
        }
    }

    fn name(&self, row: &WorkRow) -> &'static str {
        match self {
            Self::Release => "Release…",
            Self::Retry if row.is(&[WorkStatus::Completed]) => "Repeat…",
            Self::Retry => "Retry…",
            Self::Cancel => "Cancel…",
        }
    }

    fn is_destructive(&self) -> bool {
        matches!(self, Self::Cancel)
    }

    /// What the state of a row allows.
    fn of(row: &WorkRow) -> Vec<Self> {
        let mut actions = Vec::new();
        if row.on_hold {
            actions.push(Self::Release);
        }
        if !row.is(&[WorkStatus::Pending, WorkStatus::Processing]) {
            actions.push(Self::Retry);
        }
        if row.is(&[WorkStatus::Pending, WorkStatus::Failed]) {
            actions.push(Self::Cancel);
        }
        actions
    }
}

async fn visible(app: &App, viewer: &Viewer, id: &str) -> Result<WorkRow, Refusal> {
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
            .map(|(kind, id)| words::source(kind, id)),
        actions: if may_act { Action::of(&row) } else { Vec::new() },
        timeline: in_order(
            happened(&row, &entries, retries.iter().zip(repeated), &sent, &visit.zone),
            &visit.zone,
        ),
        notifications: sent
            .into_iter()
            .map(|one| Sent {
                pill: words::notification(one.status),
                id: one.id.to_string(),
                subject: one.subject,
                channel: one.channel.to_string(),
            })
            .collect(),
        input: pretty_text(&row.input),
        trace: trace.map(|bytes| pretty_text(&String::from_utf8_lossy(&bytes))),
        row,
    })
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
            detail: one.subject.clone(),
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

async fn confirm(State(app): State<Shared>, act: Act) -> Page {
    let Act { visit, fields } = act;
    let action = Action::read(&fields)?;
    let row = visible(&app, &visit.viewer, fields.text("id")).await?;
    let (title, sentence, button) = match action {
        Action::Release => (
            "Release 1 work row?",
            "It continues at its due time, or at once if that has passed.",
            "Release work row",
        ),
        Action::Retry if row.is(&[WorkStatus::Completed]) => (
            "Repeat 1 work row?",
            "It is completed. A new row with a new key is created, and its messages are sent again.",
            "Repeat work row",
        ),
        Action::Retry => {
            ("Retry 1 work row?", "It is due at once and decided from the present state.", "Retry work row")
        }
        Action::Cancel => {
            ("Cancel 1 work row?", "It is not processed. Only a person can revive it.", "Cancel work row")
        }
    };
    let allowed =
        Action::of(&row).contains(&action) && visit.viewer.by.may_touch(row.business_unit.as_deref());
    let mut reader = app.engine.store.read_for_people().await?;
    let called = app.engine.title(&mut reader.conn(), &visit.viewer.by.reach(), &row.kind, &row.key).await?;
    drop(reader);
    let item = Item {
        link: format!("/work/{}", row.id),
        title: called,
        note: words::reason(row.reason_code.as_deref()),
        pill: words::work(row.status, row.on_hold),
    };
    let hidden = [
        ("action", action.as_str().to_owned()),
        ("id", row.id.to_string()),
        ("version", row.version.to_string()),
    ];
    page(&Confirm {
        frame: visit.frame(&app, title, "/work").await?,
        sentence: sentence.to_owned(),
        left_alone: (!allowed).then(|| "Its state does not allow that any more.".to_owned()),
        items: vec![item],
        action: "/work/act",
        hidden: hidden.into(),
        button: allowed.then(|| button.to_owned()),
        is_destructive: action.is_destructive(),
        back: format!("/work/{}", row.id),
    })
}

async fn act(State(app): State<Shared>, act: Act) -> Page {
    let Act { visit, fields } = act;
    let action = Action::read(&fields)?;
    let row = visible(&app, &visit.viewer, fields.text("id")).await?;
    let Ok(seen) = fields.text("version").parse() else { return Err(Problem::stale_version().into()) };
    let by = visit.viewer.by.because(Some(fields.text("reason")));
    let (on_row, word) = match action {
        Action::Release => (WorkAction::Release, "release"),
        Action::Retry => (WorkAction::Retry, "repeat"),
        Action::Cancel => (WorkAction::Cancel, "cancel"),
    };
    let changed = app.engine.act_on_work(&by, on_row, row.id, Some(seen)).await?;
    see_other(&format!("/work/{}?done={word}.1.0", changed.id))
}

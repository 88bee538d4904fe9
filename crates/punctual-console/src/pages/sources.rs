//! Sources: what the reminders are about, by type, and one source with what is planned for it.

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    http::Uri,
    routing::get,
};
use jiff::Timestamp;
use punctual_engine::titles::Titled;
use punctual_model::WorkStatus;
use punctual_store::{
    sources::{self, SourceRow},
    work::{self, WorkRow},
};
use punctual_wire::Problem;
use serde_json::Value;

use crate::{
    Shared,
    answer::{Page, Refusal, page},
    form::Fields,
    frame::{Frame, Visit},
    links,
    times::When,
    words::{self, Pill, counted},
};

const ROWS: i64 = 50;
/// Rows of work on the page of one source.
const WORK_SHOWN: i64 = 100;

pub fn routes() -> Router<Shared> {
    Router::new().route("/sources", get(show)).route("/sources/{kind}/{id}", get(show_one))
}

#[derive(Template)]
#[template(path = "sources.html")]
struct SourcesPage {
    frame: Frame,
    /// By name and address.
    types: Vec<(String, String)>,
    kind: String,
    rows: Vec<Row>,
    next: Option<String>,
}

struct Row {
    link: String,
    id: String,
    unit: Option<String>,
    pill: Pill,
    state: String,
    changed: When,
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let fields = Fields::of_query(&uri);
    let now = Visit::now(&app);
    let mut reader = app.engine.store.read_for_people().await?;
    let types = sources::types(&mut reader.conn(), &visit.viewer.by.reach()).await?;
    let asked = fields.text("type");
    let kind = types.iter().find(|kind| *kind == asked).or(types.first()).cloned().unwrap_or_default();
    let (reach, after) = (visit.viewer.by.reach(), fields.text("after"));
    let found = sources::stretch(&mut reader.conn(), &reach, &kind, after, ROWS).await?;
    drop(reader);
    let next = found
        .next
        .map(|next| format!("/sources{}", links::query([("type", kind.as_str()), ("after", next.as_str())])));
    page(&SourcesPage {
        frame: visit.frame(&app, "Sources", "/sources").await?,
        rows: found.rows.into_iter().map(|row| shaped(row, &visit, now)).collect(),
        types: types.into_iter().map(|kind| (kind.clone(), of_type(&kind))).collect(),
        kind,
        next,
    })
}

fn of_type(kind: &str) -> String {
    format!("/sources{}", links::query([("type", kind)]))
}

fn link(kind: &str, id: &str) -> String {
    format!("/sources/{}/{}", links::encoded(kind), links::encoded(id))
}

fn pill(row: &SourceRow) -> Pill {
    match (row.deleted, row.active) {
        (true, _) => Pill { word: "gone", class: "muted" },
        (_, true) => Pill { word: "active", class: "good" },
        _ => Pill { word: "inactive", class: "muted" },
    }
}

fn shaped(row: SourceRow, visit: &Visit, now: Timestamp) -> Row {
    let changed = Timestamp::from_microsecond(row.updated_at).unwrap_or_default();
    Row {
        link: link(&row.source_type, &row.source_id),
        pill: pill(&row),
        state: row.state.chars().take(120).collect(),
        changed: visit.zone.when(changed, now),
        id: row.source_id,
        unit: row.business_unit,
    }
}

#[derive(Template)]
#[template(path = "source.html")]
struct SourcePage {
    frame: Frame,
    kind: String,
    id: String,
    pill: Pill,
    unit: Option<String>,
    version: i64,
    state: String,
    sentence: String,
    work: Vec<Planned>,
    today: String,
    path: String,
    back: String,
}

struct Planned {
    id: i64,
    title: String,
    key: String,
    pill: Pill,
    reason: String,
    local: String,
    due: When,
}

async fn show_one(State(app): State<Shared>, visit: Visit, Path((kind, id)): Path<(String, String)>) -> Page {
    let now = Visit::now(&app);
    let mut reader = app.engine.store.read_for_people().await?;
    let row = sources::get(&mut reader.conn(), &visit.viewer.by.reach(), &kind, &id).await?;
    let row = row.ok_or_else(|| Refusal::from(Problem::not_found("source", format!("{kind}/{id}"))))?;
    let planned =
        work::of_source(&mut reader.conn(), &visit.viewer.by.reach(), &kind, &id, WORK_SHOWN).await?;
    let titled: Vec<Titled<'_>> =
        planned.iter().map(|row| Titled { kind: &row.kind, key: &row.key }).collect();
    let titles = app.engine.titles(&mut reader.conn(), &visit.viewer.by.reach(), &titled).await?;
    drop(reader);
    let waiting = planned.iter().filter(|row| row.is(&[WorkStatus::Pending])).count();
    let state: Value = serde_json::from_str(&row.state).unwrap_or_default();
    page(&SourcePage {
        frame: visit.frame(&app, &format!("{kind} {id}"), "/sources").await?,
        sentence: match waiting {
            0 => "Nothing is planned.".to_owned(),
            n => {
                format!("{} planned.", counted(i64::try_from(n).unwrap_or(0), "reminder is", "reminders are"))
            }
        },
        pill: pill(&row),
        state: serde_json::to_string_pretty(&state).unwrap_or_default(),
        work: planned
            .into_iter()
            .zip(titles)
            .map(|(row, title)| shaped_work(row, title, &visit, now))
            .collect(),
        today: now.strftime("%Y-%m-%d").to_string(),
        path: link(&kind, &id),
        back: of_type(&kind),
        unit: row.business_unit,
        version: row.version,
        kind,
        id,
    })
}

fn shaped_work(row: WorkRow, title: String, visit: &Visit, now: Timestamp) -> Planned {
    let due = Timestamp::from_microsecond(row.due_at).unwrap_or_default();
    Planned {
        id: row.id,
        pill: words::work(row.status, row.on_hold),
        reason: words::reason(row.reason_code.as_deref()),
        local: row.local_date.unwrap_or_default(),
        due: visit.zone.when(due, now),
        key: row.key,
        title,
    }
}

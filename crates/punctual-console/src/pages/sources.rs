//! Sources: what the reminders are about, by type, and one source with what is planned for it. Forms to enter one or many are beside.

mod edit;
mod import;

use std::sync::Arc;

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    http::Uri,
    routing::get,
};
use jiff::Timestamp;
use punctual_engine::{EventSinks, titles::Titled};
use punctual_model::WorkStatus;
use punctual_store::{
    sources::{self, SourceRow},
    work::{self, WorkRow},
};
use punctual_wire::Problem;
use punctual_workflows::reminders::ReminderSink;
use serde_json::Value;

use crate::{
    App, Shared,
    answer::{Page, Refusal, page},
    editor,
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
    Router::new()
        .route("/sources", get(show))
        .route("/sources/{kind}/{id}", get(show_one))
        .merge(editor::routes::<edit::Sources>())
        .merge(import::pages())
}

/// What follows from a changed source.
fn sinks(app: &App) -> EventSinks {
    let mut sinks = EventSinks::default();
    sinks.add(Arc::new(ReminderSink::new(app.reminders.clone())));
    sinks
}

#[derive(Template)]
#[template(path = "sources.html")]
struct SourcesPage {
    frame: Frame,
    /// By name and address.
    types: Vec<(String, String)>,
    kind: String,
    /// The beginning of an id that is looked for, and where everything is searched for it.
    q: String,
    everywhere: String,
    all: String,
    rows: Vec<Row>,
    next: Option<String>,
    sentence: String,
    /// Where one more is entered, for those who may.
    add: Option<String>,
    import: String,
    done: Option<&'static str>,
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
    let (reach, after, q) = (visit.viewer.by.reach(), fields.text("after"), fields.text("q").trim());
    // Ids that begin alike stand together, behind the one that is no longer than their beginning.
    let own = match (q, after) {
        (_, "") if !q.is_empty() => sources::get(&mut reader.conn(), &reach, &kind, q).await?,
        _ => None,
    };
    let start = if after.is_empty() { q } else { after };
    let mut found = sources::stretch(&mut reader.conn(), &reach, &kind, start, ROWS).await?;
    drop(reader);
    let read = found.rows.len();
    found.rows.retain(|row| row.source_id.starts_with(q));
    let next = found.next.filter(|_| found.rows.len() == read).map(|next| {
        let pairs = [("type", kind.as_str()), ("q", q), ("after", next.as_str())];
        format!("/sources{}", links::query(pairs))
    });
    let rows = own.filter(|row| !row.deleted).into_iter().chain(found.rows);
    let query = links::query([("type", kind.as_str())]);
    page(&SourcesPage {
        frame: visit.frame(&app, "Sources", "/sources").await?,
        sentence: sentence(&types),
        add: visit.viewer.may_author().then(|| format!("/sources/new{query}")),
        import: format!("/sources/import{query}"),
        done: (fields.text("done") == "removed").then_some("The source is removed."),
        rows: rows.map(|row| shaped(row, &visit, now)).collect(),
        everywhere: format!("/search{}", links::query([("q", q)])),
        all: of_type(&kind),
        q: q.to_owned(),
        types: types.into_iter().map(|kind| (kind.clone(), of_type(&kind))).collect(),
        kind,
        next,
    })
}

fn sentence(types: &[String]) -> String {
    match i64::try_from(types.len()).unwrap_or(i64::MAX) {
        0 => "What reminders are about: documents, invoices, classes.".to_owned(),
        n => format!("{} of sources, with the state that was reported last.", counted(n, "kind", "kinds")),
    }
}

fn of_type(kind: &str) -> String {
    format!("/sources{}", links::query([("type", kind)]))
}

/// The page of a source.
pub(super) fn link(kind: &str, id: &str) -> String {
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
    let changed = row.updated_at;
    Row {
        link: link(&row.source_type, &row.source_id),
        pill: pill(&row),
        state: in_words(&row.state),
        changed: visit.zone.when(changed, now),
        id: row.source_id,
        unit: row.business_unit,
    }
}

/// The single values of a state in one line.
fn in_words(state: &str) -> String {
    let fields = single_values(&serde_json::from_str(state).unwrap_or_default());
    let fields = fields.into_iter().map(|(name, value)| format!("{name}: {value}"));
    fields.collect::<Vec<_>>().join(" · ").chars().take(160).collect()
}

/// The fields of a state that have one value, in words.
fn single_values(state: &Value) -> Vec<(String, String)> {
    let fields = state.as_object().into_iter().flatten();
    let said = fields.filter_map(|(name, value)| {
        let said = match value {
            Value::String(text) => text.clone(),
            Value::Bool(is) => if *is { "yes" } else { "no" }.to_owned(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        Some((name.clone(), said))
    });
    said.collect()
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
    /// Its fields with one value, and all of it as it was reported.
    fields: Vec<(String, String)>,
    state: String,
    sentence: String,
    edit: Option<String>,
    done: Option<&'static str>,
    work: Vec<Planned>,
    today: String,
    path: String,
    back: String,
    kind_in_link: String,
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

async fn show_one(
    State(app): State<Shared>,
    visit: Visit,
    Path((kind, id)): Path<(String, String)>,
    uri: Uri,
) -> Page {
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
    let may_edit = visit.viewer.may_author() && !row.deleted && !kind.contains('/');
    page(&SourcePage {
        frame: visit.frame(&app, &format!("{kind} {id}"), "/sources").await?,
        sentence: match waiting {
            0 => "Nothing is planned.".to_owned(),
            n => {
                format!("{} planned.", counted(i64::try_from(n).unwrap_or(0), "reminder is", "reminders are"))
            }
        },
        pill: pill(&row),
        edit: may_edit
            .then(|| format!("/sources/edit{}", links::query([("key", edit::key_of(&kind, &id).as_str())]))),
        done: (Fields::of_query(&uri).text("done") == "saved").then_some("The source is saved."),
        fields: single_values(&state),
        state: serde_json::to_string_pretty(&state).unwrap_or_default(),
        work: planned
            .into_iter()
            .zip(titles)
            .map(|(row, title)| shaped_work(row, title, &visit, now))
            .collect(),
        today: now.strftime("%Y-%m-%d").to_string(),
        path: link(&kind, &id),
        back: of_type(&kind),
        kind_in_link: links::encoded(&kind),
        unit: row.business_unit,
        version: row.version,
        kind,
        id,
    })
}

fn shaped_work(row: WorkRow, title: String, visit: &Visit, now: Timestamp) -> Planned {
    let due = row.due_at;
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

//! Due work: what comes next, what is held, what failed, and everything.

mod schedule;

pub use self::schedule::out_of_window;

use askama::Template;
use axum::{Router, extract::State, http::Uri, routing::get};
use jiff::Timestamp;
use punctual_engine::titles::Titled;
use punctual_model::WorkStatus;
use punctual_store::work::{self, ListedWork, WorkList};

use crate::{
    Shared,
    answer::{Page, page},
    editor::routes as pages,
    form::Fields,
    frame::{Frame, Visit},
    links,
    times::{When, Zone},
    views::SavedViews,
    words::{self, Pill, counted, grouped},
};

const ROWS: usize = 50;
/// More than anybody reads as a figure; counting a million takes half a second.
const COUNTED_AT_MOST: i64 = 10_000;

pub fn routes() -> Router<Shared> {
    Router::new().route("/work", get(show)).merge(pages::<schedule::Schedules>())
}

#[derive(Template)]
#[template(path = "work.html")]
struct WorkPage {
    frame: Frame,
    views: SavedViews,
    may_author: bool,
    sentence: String,
    tabs: Vec<Tab>,
    list: &'static str,
    kind: String,
    kinds: Vec<String>,
    rows: Vec<Row>,
    next: Option<String>,
}

struct Tab {
    name: &'static str,
    link: &'static str,
    current: bool,
}

struct Row {
    id: i64,
    title: String,
    key: String,
    kind: String,
    pill: Pill,
    due: When,
    local: Option<String>,
    source: Option<String>,
    reason: String,
}

const LISTS: [(&str, &str, &str); 4] = [
    ("coming", "Coming up", "/work"),
    ("held", "On hold", "/work?list=held"),
    ("failed", "Failed", "/work?list=failed"),
    ("all", "All, newest first", "/work?list=all"),
];

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let fields = Fields::of_query(&uri);
    let now = Visit::now(&app);
    let list =
        LISTS.iter().map(|(list, ..)| *list).find(|list| *list == fields.text("list")).unwrap_or("coming");
    let kinds: Vec<String> = app.engine.workflows.keys().map(str::to_owned).collect();
    let kind = kinds.iter().find(|kind| *kind == fields.text("kind")).cloned().unwrap_or_default();
    let reach = visit.viewer.by.reach();
    let cursor = fields.text("cursor");
    let mut reader = app.engine.store.read_for_people().await?;
    let mut rows = if list == "coming" {
        let wanted = if kind.is_empty() { kinds.clone() } else { vec![kind.clone()] };
        let after = cursor.split_once('.').and_then(|(at, id)| Some((at.parse().ok()?, id.parse().ok()?)));
        work::coming(&mut reader.conn(), &wanted, &reach, after, ROWS + 1).await?
    } else {
        let which = match list {
            "held" => WorkList::Held,
            "failed" => WorkList::Failed,
            _ => WorkList::All,
        };
        work::browse(&mut reader.conn(), which, &reach, cursor.parse().ok(), ROWS + 1).await?
    };
    let sentence = if visit.viewer.sees_all() {
        let counts =
            work::counts(&mut reader.conn(), now.as_microsecond(), kinds.clone(), COUNTED_AT_MOST).await?;
        format!(
            "{} planned · {} due now · {} being worked on · {} on hold",
            at_least(counts.pending),
            at_least(counts.ready),
            at_least(counts.processing),
            at_least(counts.held)
        )
    } else {
        String::new()
    };
    let more = rows.len() > ROWS;
    rows.truncate(ROWS);
    let titled: Vec<Titled<'_>> = rows.iter().map(|row| Titled { kind: &row.kind, key: &row.key }).collect();
    let titles = app.engine.titles(&mut reader.conn(), &visit.viewer.by.reach(), &titled).await?;
    drop(reader);
    let next = rows.last().filter(|_| more).map(|last| {
        let cursor = if list == "coming" {
            format!("{}.{}", last.ready_at.as_microsecond(), last.id)
        } else {
            last.id.to_string()
        };
        format!("/work{}", links::query([("list", list), ("kind", &kind), ("cursor", &cursor)]))
    });
    page(&WorkPage {
        frame: visit.frame(&app, "Due work", "/work").await?,
        views: SavedViews::of(&app, &visit).await?,
        may_author: visit.viewer.may_author(),
        sentence,
        tabs: LISTS
            .iter()
            .map(|(name, title, link)| Tab { name: title, link, current: *name == list })
            .collect(),
        list,
        kind,
        kinds,
        rows: rows.into_iter().zip(titles).map(|(row, title)| shaped(row, title, &visit, now)).collect(),
        next,
    })
}

/// A figure that was counted so far and no further says so.
fn at_least(count: i64) -> String {
    let more = if count >= COUNTED_AT_MOST { "+" } else { "" };
    format!("{}{more}", grouped(count))
}

fn shaped(row: ListedWork, title: String, visit: &Visit, now: Timestamp) -> Row {
    let due = row.due_at;
    let mut reason = words::reason(row.reason_code.as_deref());
    if row.retry_count > 0 && row.status == WorkStatus::Pending {
        let failed = counted(row.retry_count, "attempt failed", "attempts failed");
        reason = if reason.is_empty() { failed } else { format!("{failed}: {reason}") };
    }
    Row {
        pill: words::work(row.status, row.on_hold),
        due: visit.zone.when(due, now),
        // What is due by the clock of another zone says so.
        local: row
            .time_zone
            .filter(|zone| row.local_date.is_some() && *zone != visit.zone.whole)
            .map(|zone| Zone::named(Some(&zone)).weekday(due)),
        source: row.source_type.zip(row.source_id).map(|(kind, id)| words::source(&kind, &id)),
        id: row.id,
        title,
        key: row.key,
        kind: row.kind,
        reason,
    }
}

//! Due work: what comes next, what is held, what failed, and everything.

pub mod act;
mod schedule;

pub use self::schedule::out_of_window;

use askama::Template;
use axum::{Router, extract::State, http::Uri, routing::get};
use jiff::Timestamp;
use punctual_engine::titles::Titled;
use punctual_model::WorkStatus;
use punctual_store::{
    attention::StoppedCount,
    work::{self, ListedWork, Stopped, WorkList},
};

use self::act::Action;
use super::outbox::done;
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
    Router::new().route("/work", get(show)).merge(act::routes()).merge(pages::<schedule::Schedules>())
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
    /// What an action that led here did.
    done: Option<String>,
    /// The address of the list, to come back to and to act on all of it.
    here: String,
    /// The one cause that is listed, in words.
    cause: Option<String>,
    /// What can be done with a selection: word and label.
    actions: Vec<(&'static str, &'static str)>,
}

/// What of the work is listed, as the address says.
pub struct Asked {
    list: &'static str,
    kind: String,
    /// The code of the reason; an empty one is that of rows without any.
    cause: Option<String>,
}

/// Stands in addresses for rows without a reason.
const NO_REASON: &str = "none";

impl Asked {
    pub fn read(fields: &Fields) -> Self {
        let list = LISTS.iter().map(|(list, ..)| *list).find(|list| *list == fields.text("list"));
        let cause = Some(fields.text("cause")).filter(|cause| !cause.is_empty());
        Self {
            list: list.unwrap_or("coming"),
            kind: fields.text("kind").to_owned(),
            cause: cause.map(|cause| if cause == NO_REASON { String::new() } else { cause.to_owned() }),
        }
    }

    /// Where work that is stopped for one cause is listed.
    pub fn of_cause(list: &'static str, cause: &StoppedCount) -> Self {
        Self { list, kind: cause.kind.clone(), cause: Some(cause.reason.clone()) }
    }

    /// The list, where it is one of rows that wait for a person.
    pub fn stopped(&self) -> Option<WorkList<'_>> {
        let of = Stopped {
            kind: Some(self.kind.as_str()).filter(|kind| !kind.is_empty()),
            reason: self.cause.as_deref(),
        };
        match self.list {
            "held" => Some(WorkList::Held(of)),
            "failed" => Some(WorkList::Failed(of)),
            _ => None,
        }
    }

    pub fn link(&self) -> String {
        self.link_from("")
    }

    fn link_from(&self, cursor: &str) -> String {
        let cause =
            self.cause.as_deref().map_or("", |cause| if cause.is_empty() { NO_REASON } else { cause });
        let pairs = [("list", self.list), ("kind", &self.kind), ("cause", cause), ("cursor", cursor)];
        format!("/work{}", links::query(pairs))
    }

    /// Why its rows are stopped, in words.
    pub fn said(&self) -> Option<String> {
        let reason = match self.cause.as_deref()? {
            "" => "No reason".to_owned(),
            code => Some(words::reason(Some(code)))
                .filter(|said| !said.is_empty())
                .unwrap_or_else(|| code.to_owned()),
        };
        let of_kind =
            if self.kind.is_empty() { String::new() } else { format!(" ({})", words::kind(&self.kind)) };
        Some(format!("{reason}{of_kind}"))
    }
}

struct Tab {
    name: &'static str,
    link: &'static str,
    current: bool,
}

struct Row {
    id: i64,
    version: i64,
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
    let kinds: Vec<String> = app.engine.workflows.keys().map(str::to_owned).collect();
    let mut asked = Asked::read(&fields);
    asked.kind = kinds.iter().find(|kind| **kind == asked.kind).cloned().unwrap_or_default();
    let reach = visit.viewer.by.reach();
    let cursor = fields.text("cursor");
    let mut reader = app.engine.store.read_for_people().await?;
    let mut rows = if asked.list == "coming" {
        let wanted = if asked.kind.is_empty() { kinds.clone() } else { vec![asked.kind.clone()] };
        let after = cursor.split_once('.').and_then(|(at, id)| Some((at.parse().ok()?, id.parse().ok()?)));
        work::coming(&mut reader.conn(), &wanted, &reach, after, ROWS + 1).await?
    } else {
        let which = asked.stopped().unwrap_or(WorkList::All);
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
        asked.link_from(&match asked.list {
            "coming" => format!("{}.{}", last.ready_at.as_microsecond(), last.id),
            _ => last.id.to_string(),
        })
    });
    page(&WorkPage {
        frame: visit.frame(&app, "Due work", "/work").await?,
        views: SavedViews::of(&app, &visit).await?,
        may_author: visit.viewer.may_author(),
        sentence,
        tabs: LISTS
            .iter()
            .map(|(name, title, link)| Tab { name: title, link, current: *name == asked.list })
            .collect(),
        done: done(&fields),
        here: asked.link(),
        cause: asked.said(),
        actions: if visit.viewer.may_act() && !rows.is_empty() { in_bulk(asked.list) } else { Vec::new() },
        list: asked.list,
        kind: asked.kind,
        kinds,
        rows: rows.into_iter().zip(titles).map(|(row, title)| shaped(row, title, &visit, now)).collect(),
        next,
    })
}

/// What can be done with several rows of a list at once.
fn in_bulk(list: &str) -> Vec<(&'static str, &'static str)> {
    let actions: &[Action] = match list {
        "held" => &[Action::Release, Action::Cancel],
        "failed" => &[Action::Retry, Action::Cancel],
        _ => &[],
    };
    let label = |action: &Action| match action {
        Action::Release => "Release selected…",
        Action::Retry => "Retry selected…",
        Action::Cancel => "Cancel selected…",
    };
    actions.iter().map(|action| (action.as_str(), label(action))).collect()
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
        version: row.version,
        title,
        key: row.key,
        kind: row.kind,
        reason,
    }
}

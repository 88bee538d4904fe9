//! Reminder settings: the list here, and beside it the editor.

mod editor;
mod fields;
mod plan;
mod sent;
mod shape;
mod triggers;

use askama::Template;
use axum::{Router, extract::State, http::Uri, routing::get};
use jiff::Timestamp;
use punctual_store::reminders::settings::{self, SettingRow};
use punctual_workflows::reminders::looks;
use serde_json::Value;

use crate::{
    Shared,
    answer::{Page, page},
    form::Fields,
    frame::{Frame, Visit},
    links,
    times::When,
    words::{self, Pill, counted},
};

const ROWS: usize = 200;

pub fn routes() -> Router<Shared> {
    Router::new().route("/reminders", get(show)).merge(editor::pages()).merge(sent::pages())
}

#[derive(Template)]
#[template(path = "reminders.html")]
struct RemindersPage {
    frame: Frame,
    sentence: String,
    rows: Vec<Row>,
    next: Option<String>,
    may_author: bool,
    looks: Vec<Look>,
    done: Option<&'static str>,
}

struct Row {
    id: String,
    name: String,
    kind: &'static str,
    source_type: String,
    sources: String,
    unit: Option<String>,
    pill: Pill,
    summary: String,
    changed: When,
}

/// How far reconciliation has looked, for one provider.
struct Look {
    provider: String,
    when: Option<When>,
    note: String,
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let now = Visit::now(&app);
    let fields = Fields::of_query(&uri);
    let (reach, after) = (visit.viewer.by.reach(), fields.text("after"));
    let mut reader = app.engine.store.read_for_people().await?;
    let mut stored = settings::page(&mut reader.conn(), &reach, after, ROWS as i64 + 1).await?;
    let looked = looks::all(&mut reader.conn(), &app.reminders).await?;
    drop(reader);
    let more = stored.len() > ROWS;
    stored.truncate(ROWS);
    let next = stored.last().filter(|_| more).map(|row| links::query([("after", row.id.as_str())]));
    let next = next.map(|query| format!("/reminders{query}"));
    let is_all = next.is_none() && after.is_empty();
    let active = i64::try_from(stored.iter().filter(|row| row.active).count()).unwrap_or(0);
    let mut rows: Vec<Row> = stored.into_iter().map(|row| shaped(row, &visit, now)).collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    let all = i64::try_from(rows.len()).unwrap_or(0);
    let sentence = match all {
        0 => String::new(),
        _ if is_all => {
            format!("{}, {} active.", counted(all, "reminder", "reminders"), words::grouped(active))
        }
        _ => format!(
            "{} on this page, {} active.",
            counted(all, "reminder", "reminders"),
            words::grouped(active)
        ),
    };
    let looks = looked.into_iter().map(|looks::Look { provider, last_run_at, report, .. }| {
        let note = last_run_at.map_or_else(String::new, |_| {
            format!(
                "{} sources checked, {} created, {} moved, {} deactivated",
                report.sources, report.created, report.moved, report.deactivated
            )
        });
        let provider = triggers::of(&provider).map_or(provider, |one| one.choice.to_owned());
        Look { provider, when: last_run_at.map(|at| visit.zone.when(at, now)), note }
    });
    let done = match (fields.text("saved"), fields.text("removed")) {
        ("yes", _) => Some("The reminder is saved, and its plan is being updated."),
        (_, "yes") => Some("The reminder is removed. Its planned messages are withdrawn."),
        _ => None,
    };
    page(&RemindersPage {
        frame: visit.frame(&app, "Reminders", "/reminders").await?,
        sentence,
        looks: looks.collect(),
        rows,
        next,
        may_author: visit.viewer.may_author(),
        done,
    })
}

fn shaped(row: SettingRow, visit: &Visit, now: Timestamp) -> Row {
    let definition: Value = serde_json::from_str(&row.definition).unwrap_or_default();
    let changed = row.updated_at;
    Row {
        summary: triggers::in_words(&row.kind, &definition),
        kind: triggers::of(&row.kind).map_or("its own", |one| one.name),
        pill: pill_of(&row),
        changed: visit.zone.when(changed, now),
        id: row.id,
        name: row.name,
        sources: format!("/sources{}", links::query([("type", row.source_type.as_str())])),
        source_type: row.source_type,
        unit: row.business_unit,
    }
}

fn pill_of(row: &SettingRow) -> Pill {
    match row.active {
        true => Pill { word: "active", class: "good" },
        false => Pill { word: "switched off", class: "muted" },
    }
}

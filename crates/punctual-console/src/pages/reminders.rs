//! Reminder settings: the list here, and beside it the editor.

mod editor;
mod fields;
mod sent;
mod shape;
mod triggers;

use askama::Template;
use axum::{Router, extract::State, http::Uri, routing::get};
use jiff::Timestamp;
use punctual_store::reminders::{
    reconciliations,
    settings::{self, SettingRow},
};
use punctual_workflows::reminders::reconcile::Report;
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
    more: bool,
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
    let mut reader = app.engine.store.read_for_people().await?;
    let stored = settings::page(&mut reader.conn(), &visit.viewer.by.reach(), "", ROWS as i64 + 1).await?;
    let looked = reconciliations::all(&mut reader.conn()).await?;
    drop(reader);
    let more = stored.len() > ROWS;
    let mut rows: Vec<Row> = stored.into_iter().take(ROWS).map(|row| shaped(row, &visit, now)).collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    let active = i64::try_from(rows.iter().filter(|row| row.pill.word == "active").count()).unwrap_or(0);
    let all = i64::try_from(rows.len()).unwrap_or(0);
    let sentence = match all {
        0 => String::new(),
        _ => format!("{}, {} active.", counted(all, "setting", "settings"), words::grouped(active)),
    };
    let externals = app.reminders.externals.iter().map(|external| external.provider());
    let providers = app.reminders.triggers.keys().map(str::to_owned).chain(externals);
    let looks = providers.map(|provider| {
        let row = looked.iter().find(|row| row.provider == provider);
        let report: Option<Report> = row.and_then(|row| serde_json::from_str(&row.report).ok());
        let note = report.map_or_else(String::new, |report| {
            format!(
                "{} sources checked, {} created, {} moved, {} deactivated",
                report.sources, report.created, report.moved, report.deactivated
            )
        });
        let at = row.and_then(|row| Timestamp::from_microsecond(row.last_run_at).ok());
        Look { provider, when: at.map(|at| visit.zone.when(at, now)), note }
    });
    let fields = Fields::of_query(&uri);
    let done = match (fields.text("saved"), fields.text("removed")) {
        ("yes", _) => Some("The setting is saved, and its plan is being updated."),
        (_, "yes") => Some("The setting is removed. Its planned reminders are deactivated."),
        _ => None,
    };
    page(&RemindersPage {
        frame: visit.frame(&app, "Reminders", "/reminders").await?,
        sentence,
        looks: looks.collect(),
        rows,
        more,
        may_author: visit.viewer.may_author(),
        done,
    })
}

fn shaped(row: SettingRow, visit: &Visit, now: Timestamp) -> Row {
    let definition: Value = serde_json::from_str(&row.definition).unwrap_or_default();
    let changed = Timestamp::from_microsecond(row.updated_at).unwrap_or_default();
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

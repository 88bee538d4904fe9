//! What a setting has sent: by name, when, and what became of it.

use std::collections::HashMap;

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    http::Uri,
    routing::get,
};
use jiff::Timestamp;
use punctual_engine::titles::Titled;
use punctual_model::NotificationStatus;
use punctual_store::{
    notifications,
    reminders::sends::{self, SentPlace, SentRow},
    work,
};

use super::editor::found;
use crate::{
    App, Shared,
    answer::{Page, Refusal, page},
    form::Fields,
    frame::{Frame, Visit},
    links,
    times::When,
    words::{self, Pill},
};

/// Rows of a page.
const ROWS: i64 = 50;
/// Rows below the editor.
const NEWEST: i64 = 5;

pub fn pages() -> Router<Shared> {
    Router::new().route("/reminders/{id}/sent", get(show))
}

/// One reminder that was sent.
struct Sent {
    link: String,
    title: String,
    when: When,
    /// The states of its messages, each with how many there are of it.
    outcome: Vec<(Pill, usize)>,
}

#[derive(Template)]
#[template(path = "reminder_sent.html")]
struct SentPage {
    frame: Frame,
    id: String,
    name: String,
    rows: Vec<Sent>,
    is_first: bool,
    next: Option<String>,
}

#[derive(Template)]
#[template(path = "reminder_sent_part.html")]
struct SentPart {
    id: String,
    rows: Vec<Sent>,
    more: bool,
}

/// The newest, as they stand below the editor.
pub async fn newest(app: &App, visit: &Visit, id: &str) -> Result<String, Refusal> {
    let (rows, next) = read(app, visit, id, None, NEWEST).await?;
    let part = SentPart { id: id.to_owned(), rows, more: next.is_some() };
    part.render().map_err(|error| Refusal::internal(&error))
}

async fn show(State(app): State<Shared>, visit: Visit, Path(id): Path<String>, uri: Uri) -> Page {
    let setting = found(&app, &visit, &id).await?;
    let fields = Fields::of_query(&uri);
    let before = fields.text("before").split_once('.').and_then(|(at, id)| {
        let sent_at = Timestamp::from_microsecond(at.parse().ok()?).ok()?;
        Some(SentPlace { sent_at, work_id: id.parse().ok()? })
    });
    let (rows, next) = read(&app, &visit, &id, before, ROWS).await?;
    let next = next.map(|place| {
        let before = format!("{}.{}", place.sent_at.as_microsecond(), place.work_id);
        format!("/reminders/{id}/sent{}", links::query([("before", before.as_str())]))
    });
    page(&SentPage {
        frame: visit.frame(&app, &format!("Sent by {}", setting.name), "/reminders").await?,
        name: setting.name,
        is_first: before.is_none(),
        id,
        rows,
        next,
    })
}

async fn read(
    app: &App,
    visit: &Visit,
    id: &str,
    before: Option<SentPlace>,
    limit: i64,
) -> Result<(Vec<Sent>, Option<SentPlace>), Refusal> {
    let (reach, now) = (visit.viewer.by.reach(), Visit::now(app));
    let mut reader = app.engine.store.read_for_people().await?;
    let found = sends::page(&mut reader.conn(), &reach, id, before, limit).await?;
    let titled: Vec<Titled<'_>> =
        found.rows.iter().map(|row| Titled { kind: &row.kind, key: &row.key }).collect();
    let titles = app.engine.titles(&mut reader.conn(), &reach, &titled).await?;
    let queued: Vec<Vec<String>> =
        found.rows.iter().map(|row| work::first_queued(row.result.as_deref())).collect();
    let messages = notifications::by_ids(&mut reader.conn(), &reach, queued.concat()).await?;
    drop(reader);
    let states: HashMap<String, NotificationStatus> =
        messages.into_iter().map(|row| (row.id.to_string(), row.status)).collect();
    let rows = found.rows.into_iter().zip(titles).zip(queued);
    let rows = rows.map(|((row, title), queued)| shaped(&row, title, &queued, &states, visit, now));
    Ok((rows.collect(), found.next))
}

fn shaped(
    row: &SentRow,
    title: String,
    queued: &[String],
    states: &HashMap<String, NotificationStatus>,
    visit: &Visit,
    now: Timestamp,
) -> Sent {
    let mut outcome: Vec<(Pill, usize)> = Vec::new();
    for status in queued.iter().filter_map(|id| states.get(id)) {
        let pill = words::notification(*status);
        match outcome.iter_mut().find(|(known, _)| *known == pill) {
            Some((_, count)) => *count += 1,
            None => outcome.push((pill, 1)),
        }
    }
    if outcome.is_empty() {
        // Held for a digest, or the message is past its time.
        let word = if queued.is_empty() { "no message of its own" } else { "no longer kept" };
        outcome.push((Pill { word, class: "muted" }, 1));
    }
    let link = match queued {
        [only] if states.contains_key(only) => format!("/notifications/{only}"),
        _ => format!("/work/{}", row.work_id),
    };
    let when = visit.zone.when(row.sent_at, now);
    Sent { link, title, when, outcome }
}

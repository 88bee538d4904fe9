//! The sites: which are in contact, what waits there, and one site's event log.

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    routing::get,
};
use jiff::Timestamp;
use punctual_store::{
    site_events,
    sites::{self, AgentRow, SiteRow},
};
use punctual_wire::Problem;

use crate::{
    Shared,
    answer::{Page, Refusal, page},
    frame::{Frame, Visit},
    times::{When, rough},
    words::{self, Pill},
};

/// Sites on the page; whoever has more looks one up by its id.
const SHOWN: i64 = 500;
/// Entries of the event log on a site's page.
const EVENTS_SHOWN: i64 = 100;

pub fn routes() -> Router<Shared> {
    Router::new().route("/sites", get(show)).route("/sites/{id}", get(show_one))
}

#[derive(Template)]
#[template(path = "sites.html")]
struct SitesPage {
    frame: Frame,
    sentence: String,
    rows: Vec<Site>,
}

#[derive(Template)]
#[template(path = "site.html")]
struct SitePage {
    frame: Frame,
    site: Site,
    agents: Vec<AgentLine>,
    events: Vec<Event>,
}

/// An agent of a site that has several, or one with a name.
struct AgentLine {
    name: String,
    pill: Pill,
    contact: When,
    about: String,
}

/// A site as a list shows it.
struct Site {
    id: String,
    pill: Pill,
    contact: Option<When>,
    backlog: String,
    oldest: Option<String>,
    refused: i64,
    clock: Option<String>,
    version: String,
}

struct Event {
    kind: String,
    detail: String,
    count: String,
    last: When,
}

async fn show(State(app): State<Shared>, visit: Visit) -> Page {
    let mut reader = app.engine.store.read_for_people().await?;
    let found = sites::page(&mut reader.conn(), "", SHOWN).await?;
    drop(reader);
    let rows: Vec<Site> = found.iter().map(|row| site(&app, &visit, row)).collect();
    let silent = rows.iter().filter(|row| row.pill.word == "silent").count();
    let waiting: i64 = found.iter().filter_map(|row| row.backlog).sum();
    let sentence = match (rows.len(), silent) {
        (0, _) => String::new(),
        (_, 0) => {
            format!("{}, all in contact, {} waiting there.", sites_in_words(&rows), words::grouped(waiting))
        }
        (_, n) => {
            format!("{}, {n} silent, {} waiting there.", sites_in_words(&rows), words::grouped(waiting))
        }
    };
    page(&SitesPage { frame: visit.frame(&app, "Sites", "/sites").await?, sentence, rows })
}

fn sites_in_words(rows: &[Site]) -> String {
    words::counted(i64::try_from(rows.len()).unwrap_or(i64::MAX), "site", "sites")
}

async fn show_one(State(app): State<Shared>, visit: Visit, Path(id): Path<String>) -> Page {
    let mut reader = app.engine.store.read_for_people().await?;
    let row = sites::get(&mut reader.conn(), &id).await?;
    let row = row.ok_or_else(|| Refusal::from(Problem::not_found("site", &id)))?;
    let events = site_events::page(&mut reader.conn(), &id, None, EVENTS_SHOWN).await?;
    drop(reader);
    let now = Visit::now(&app);
    let events = events
        .into_iter()
        .map(|event| Event {
            kind: event.kind,
            detail: event.detail,
            count: words::counted(event.count, "time", "times"),
            last: visit.zone.when(Timestamp::from_microsecond(event.last_at).unwrap_or_default(), now),
        })
        .collect();
    let agents = row.agents().into_iter().map(|one| agent_line(&app, &visit, one)).collect();
    let frame = visit.frame(&app, &id, "/sites").await?;
    page(&SitePage { frame, site: site(&app, &visit, &row), agents, events })
}

fn agent_line(app: &Shared, visit: &Visit, row: AgentRow) -> AgentLine {
    let received = Timestamp::from_microsecond(row.last_contact_at).unwrap_or_default();
    let pill = match received < app.engine.silent_since() {
        true => Pill { word: "silent", class: "bad" },
        false => Pill { word: "heard from", class: "good" },
    };
    let clock = row.clock_offset_ms.map(|ms| format!(", clock {}", offset(ms))).unwrap_or_default();
    let version = row.version.map(|version| format!(", version {version}")).unwrap_or_default();
    AgentLine {
        name: if row.agent.is_empty() { "without a name".to_owned() } else { row.agent },
        pill,
        contact: visit.zone.when(received, Visit::now(app)),
        about: format!("{} waiting there{clock}{version}", words::grouped(row.backlog)),
    }
}

fn site(app: &Shared, visit: &Visit, row: &SiteRow) -> Site {
    let received = row.last_contact_at.and_then(|at| Timestamp::from_microsecond(at).ok());
    let word = match received {
        _ if row.revoked_at.is_some() => Pill { word: "revoked", class: "muted" },
        None => Pill { word: "never called", class: "neutral" },
        Some(at) if at < app.engine.silent_since() => Pill { word: "silent", class: "bad" },
        Some(_) => Pill { word: "heard from", class: "good" },
    };
    Site {
        id: row.id.clone(),
        pill: word,
        contact: received.map(|at| visit.zone.when(at, Visit::now(app))),
        backlog: words::grouped(row.backlog.unwrap_or(0)),
        oldest: row
            .oldest_buffered_age_seconds
            .filter(|age| *age > 0)
            .map(|age| rough(age.saturating_mul(1_000_000))),
        refused: row.refused.unwrap_or(0),
        clock: row.clock_offset_ms.map(offset),
        version: row.version.clone().unwrap_or_else(|| "–".to_owned()),
    }
}

/// How another clock is, where `ms` is what ours shows more; less than a second is no difference.
pub(super) fn offset(ms: i64) -> String {
    match ms {
        -999..=999 => "in step".to_owned(),
        1_000.. => format!("{} behind", rough(ms.saturating_mul(1_000))),
        _ => format!("{} ahead", rough(ms.saturating_neg().saturating_mul(1_000))),
    }
}

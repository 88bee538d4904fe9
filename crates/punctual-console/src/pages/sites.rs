//! The sites: which are in contact, what waits there, and one site's event log.

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    http::Uri,
    routing::get,
};
use punctual_store::{
    site_events,
    sites::{self, AgentRow, SiteRow},
};
use punctual_wire::Problem;

use crate::{
    Shared,
    answer::{Page, Refusal, page},
    form::Fields,
    frame::{Frame, Visit},
    links,
    times::{When, rough},
    words::{self, Pill},
};

/// Sites on one page.
const SHOWN: usize = 200;
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
    next: Option<String>,
    may_define: bool,
}

#[derive(Template)]
#[template(path = "site.html")]
struct SitePage {
    frame: Frame,
    site: Site,
    agents: Vec<AgentLine>,
    events: Vec<Event>,
    may_define: bool,
    /// Its form.
    edit: String,
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
    title: String,
    detail: String,
    count: String,
    last: When,
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let fields = Fields::of_query(&uri);
    let after = fields.text("after");
    let mut reader = app.engine.store.read_for_people().await?;
    let mut found = sites::page(&mut reader.conn(), after, SHOWN as i64 + 1).await?;
    drop(reader);
    let more = found.len() > SHOWN;
    found.truncate(SHOWN);
    let next = found.last().filter(|_| more).map(|row| links::query([("after", row.id.as_str())]));
    let is_all = next.is_none() && after.is_empty();
    let rows: Vec<Site> = found.iter().map(|row| site(&app, &visit, row)).collect();
    let silent = rows.iter().filter(|row| row.pill.word == "silent").count();
    let new = rows.iter().filter(|row| row.contact.is_none()).count();
    let waiting: i64 = found.iter().filter_map(|row| row.backlog).sum();
    let contact = match (silent, new) {
        (0, 0) => "all in contact".to_owned(),
        (0, new) => format!("{new} not yet in contact"),
        (silent, 0) => format!("{silent} silent"),
        (silent, new) => format!("{silent} silent, {new} not yet in contact"),
    };
    let messages = words::counted(waiting, "message waits", "messages wait");
    let sentence = match rows.is_empty() {
        true => String::new(),
        false if is_all => format!("{}, {contact}; {messages} there.", sites_in_words(&rows)),
        false => format!("{} on this page, {contact}; {messages} there.", sites_in_words(&rows)),
    };
    let frame = visit.frame(&app, "Sites", "/sites").await?;
    let next = next.map(|query| format!("/sites{query}"));
    page(&SitesPage { frame, sentence, rows, next, may_define: visit.viewer.may_define() })
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
            title: happened(event.kind),
            detail: event.detail,
            count: words::counted(event.count, "time", "times"),
            last: visit.zone.when(event.last_at, now),
        })
        .collect();
    let agents = row.agents().into_iter().map(|one| agent_line(&app, &visit, one)).collect();
    let frame = visit.frame(&app, &id, "/sites").await?;
    let may_define = visit.viewer.may_define();
    let edit = format!("/settings/sites/edit{}", links::query([("key", id.as_str())]));
    page(&SitePage { frame, site: site(&app, &visit, &row), agents, events, may_define, edit })
}

/// What an agent reports, in words; a newer one may know more.
fn happened(kind: String) -> String {
    match kind.as_str() {
        "forward-failed" => "Forwarding failed".to_owned(),
        "long-buffered" => "Messages waited long".to_owned(),
        "refused" => "Messages were refused".to_owned(),
        _ => kind,
    }
}

fn agent_line(app: &Shared, visit: &Visit, row: AgentRow) -> AgentLine {
    let received = row.last_contact_at;
    let pill = match received < app.engine.silent_since() {
        true => Pill { word: "silent", class: "bad" },
        false => Pill { word: "in contact", class: "good" },
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
    let received = row.last_contact_at;
    let word = match received {
        _ if row.revoked_at.is_some() => Pill { word: "revoked", class: "muted" },
        None => Pill { word: "no contact yet", class: "neutral" },
        Some(at) if at < app.engine.silent_since() => Pill { word: "silent", class: "bad" },
        Some(_) => Pill { word: "in contact", class: "good" },
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
        -999..=999 => "correct".to_owned(),
        1_000.. => format!("{} behind", rough(ms.saturating_mul(1_000))),
        _ => format!("{} ahead", rough(ms.saturating_neg().saturating_mul(1_000))),
    }
}

//! One address: what went there and what did not, what its owner wants, whether it is suppressed, and what is coming. For whoever
//! is asked why somebody got a message, or got none.

use std::collections::BTreeSet;

use askama::Template;
use axum::{Router, extract::State, http::Uri, routing::get};
use jiff::Timestamp;
use punctual_engine::titles::Titled;
use punctual_model::{
    KeyParts, SuppressionReason, WorkKey, WorkStatus,
    delivery_policy::{Preference, hours::written},
};
use punctual_store::{
    Conn,
    messages::{self, MessageRow},
    notifications::{self, Browse, Next},
    search::{Match, Search},
    suppressions,
    work::{self, WorkRow},
};
use punctual_wire::{keys::Scope, suppressions::read_key};

use super::{
    operations::{Item, ahead_of},
    outbox::{self, Row},
    suppressions::TYPES,
};
use crate::{
    App, Shared,
    answer::{Page, Refusal, page},
    form::Fields,
    frame::{Frame, Visit},
    links,
    times::When,
    words::counted,
};

/// Messages that the page names.
const SHOWN: usize = 40;
/// Messages that are searched; the outbox goes on from there.
const WINDOW: i64 = 20_000;
/// Rows of one source, and those of each kind that are searched for the address: the soonest.
const SOURCE_WORK: i64 = 50;
const NEXT: i64 = 500;
/// Kinds of work whose rows are for addresses that they name.
const NAMING: [&str; 2] = ["message", "survey"];
/// As long as an address may be.
const LONGEST: usize = 2_048;

pub fn routes() -> Router<Shared> {
    Router::new().route("/recipients", get(show))
}

/// The page of an address.
pub fn link(address: &str) -> String {
    format!("/recipients{}", links::query([("address", address)]))
}

#[derive(Template)]
#[template(path = "recipients.html")]
struct RecipientPage {
    frame: Frame,
    address: String,
    sentence: String,
    people: Vec<(String, String)>,
    blocks: Vec<Block>,
    wants: Option<Wants>,
    rows: Vec<Row>,
    /// The list of all of them, where there are or may be more.
    more: Option<String>,
    ahead: Vec<Item>,
    /// Work that will send to the address, and the sources that have it.
    planned: Vec<Planned>,
    sources: Vec<(String, String)>,
    sees_all: bool,
    /// What can be done about it: link and words.
    acts: Vec<(String, String)>,
}

/// A work row that will send something to the address.
struct Planned {
    link: String,
    title: String,
    due: When,
}

/// Why the address gets nothing over channels of a type.
struct Block {
    kind: String,
    why: String,
    detail: String,
    since: When,
    until: Option<When>,
    link: String,
}

/// What its owner wants.
struct Wants {
    person: String,
    link: String,
    refused: String,
    channels: String,
    quiet: String,
    failover: String,
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let address: String = Fields::of_query(&uri).text("address").chars().take(LONGEST).collect();
    let mut shown = RecipientPage {
        frame: visit.frame(&app, "Recipient", "/outbox").await?,
        sentence: "Type a mail address, a phone number or a name of the inbox.".to_owned(),
        people: Vec::new(),
        blocks: Vec::new(),
        wants: None,
        rows: Vec::new(),
        more: None,
        ahead: Vec::new(),
        planned: Vec::new(),
        sources: Vec::new(),
        sees_all: visit.viewer.sees_all(),
        acts: Vec::new(),
        address,
    };
    if !shown.address.is_empty() {
        explain(&app, &visit, &mut shown).await?;
    }
    page(&shown)
}

async fn explain(app: &App, visit: &Visit, shown: &mut RecipientPage) -> Result<(), Refusal> {
    let now = Visit::now(app);
    let (address, reach) = (shown.address.clone(), visit.viewer.by.reach());
    shown.frame.title = address.clone();
    let blocked = app.engine.blocked_channels().await?;
    let browse = Browse { q: Some(address.clone()), limit: SHOWN, window: WINDOW, ..Browse::default() };
    let mut reader = app.engine.store.read_for_people().await?;
    let found = notifications::browse(&mut reader.conn(), &reach, &browse).await?;
    let search = Search { text: &address, reach: &reach, limit: 5 };
    let people = search.people_exactly(&mut reader.conn()).await?;
    if visit.viewer.sees_all() {
        for kind in TYPES {
            let Ok((kind, address)) = read_key(kind, &address) else { continue };
            let row = suppressions::get(&mut reader.conn(), &kind, &address).await?;
            shown.blocks.extend(row.map(|row| block(row, visit, now)));
        }
    }
    let having = search.sources(&mut reader.conn()).await?;
    shown.planned = planned(app, visit, &mut reader.conn(), &having, &address).await?;
    shown.sources =
        having.iter().map(|one| (super::sources::link(&one.kind, &one.id), one.title.clone())).collect();
    drop(reader);
    if visit.viewer.sees_all() {
        let row = app.engine.preference_of(&address).await?;
        shown.wants = row.map(|row| wants(&row.person, &Preference::read(&row.definition)));
    }
    for person in &people {
        shown.ahead.extend(ahead_of(app, visit, &person.id).await?);
    }
    shown.people = people
        .into_iter()
        .map(|person| (format!("/operations/people/{}", links::encoded(&person.id)), person.title))
        .collect();
    shown.acts = acts(app, visit, ("address", &address), &[]).await?;
    let all = || format!("/outbox{}", links::query([("q", address.as_str())]));
    shown.more = (found.next != Next::End).then(all);
    shown.rows = found.rows.into_iter().map(|row| outbox::shaped(row, visit, now, &blocked)).collect();
    shown.sentence = sentence(shown);
    Ok(())
}

/// What is planned for an address: reminders of the sources that have it, and of surveys and messages those of the next rows that
/// name it.
async fn planned(
    app: &App,
    visit: &Visit,
    conn: &mut Conn<'_>,
    sources: &[Match],
    address: &str,
) -> Result<Vec<Planned>, Refusal> {
    let (now, reach) = (Visit::now(app), visit.viewer.by.reach());
    let mut rows: Vec<WorkRow> = Vec::new();
    for one in sources {
        let of_source = work::of_source(conn, &reach, &one.kind, &one.id, SOURCE_WORK).await?;
        rows.extend(of_source.into_iter().filter(|row| row.is(&[WorkStatus::Pending])));
    }
    let of_sources = rows.len();
    for kind in NAMING {
        let span = (i64::MIN, i64::MAX);
        rows.extend(work::ahead(conn, &reach, kind, span.0, span.1, (i64::MIN, i64::MIN), NEXT).await?);
    }
    let titled: Vec<Titled<'_>> = rows.iter().map(|row| Titled { kind: &row.kind, key: &row.key }).collect();
    let titles = app.engine.titles(conn, &reach, &titled).await?;
    // A row of a message has its id alone; a title of a survey ends with whom it asks.
    let message = |row: &WorkRow| match WorkKey::stored(&row.key).parts() {
        KeyParts::Message { id } => Some(id),
        _ => None,
    };
    let messages = messages::by_ids(conn, &reach, rows.iter().filter_map(message).collect()).await?;
    let written = serde_json::Value::from(address).to_string();
    let is_to = |one: &MessageRow| one.targets.as_ref().is_some_and(|to| to.as_str().contains(&written));
    let to: BTreeSet<String> = messages.into_iter().filter(is_to).map(|one| one.id).collect();
    let names = |row: &WorkRow, title: &str| match message(row) {
        Some(id) => to.contains(&id),
        None => title.ends_with(&format!("to {address}")),
    };
    let mut found: Vec<(Timestamp, Planned)> = rows
        .iter()
        .zip(titles)
        .enumerate()
        .filter(|(at, (row, title))| *at < of_sources || names(row, title))
        .map(|(_, (row, title))| {
            let due = visit.zone.when(row.due_at, now);
            (row.due_at, Planned { link: format!("/work/{}", row.id), title, due })
        })
        .collect();
    found.sort_by_key(|(due_at, _)| *due_at);
    found.truncate(SHOWN);
    Ok(found.into_iter().map(|(_, one)| one).collect())
}

/// The newest messages to any of these addresses.
pub async fn newest(
    app: &App,
    visit: &Visit,
    addresses: &[String],
    most: usize,
) -> Result<Vec<Row>, Refusal> {
    let (now, reach) = (Visit::now(app), visit.viewer.by.reach());
    let blocked = app.engine.blocked_channels().await?;
    let mut reader = app.engine.store.read_for_people().await?;
    let mut found = Vec::new();
    for address in addresses.iter().take(most) {
        let browse = Browse { q: Some(address.clone()), limit: most, window: WINDOW, ..Browse::default() };
        found.extend(notifications::browse(&mut reader.conn(), &reach, &browse).await?.rows);
    }
    drop(reader);
    let mut rows: Vec<Row> = found.into_iter().map(|row| outbox::shaped(row, visit, now, &blocked)).collect();
    rows.sort_by(|one, other| other.when.iso.cmp(&one.when.iso));
    rows.dedup_by(|one, other| one.id == other.id);
    rows.truncate(most);
    Ok(rows)
}

/// What can be done about an address, or about a person with addresses: the preferences, and the data.
pub async fn acts(
    app: &App,
    visit: &Visit,
    who: (&str, &str),
    addresses: &[String],
) -> Result<Vec<(String, String)>, Refusal> {
    let mut acts = Vec::new();
    let (by, who) = who;
    if visit.viewer.sees_all() && visit.viewer.may_author() {
        let mut known = app.engine.preference_of(who).await?;
        for address in addresses {
            if known.is_none() {
                known = app.engine.preference_of(address).await?;
            }
        }
        acts.push(match known {
            Some(row) => {
                let key = links::query([("key", row.person.as_str())]);
                (format!("/preferences/edit{key}"), "Edit preferences".to_owned())
            }
            None => {
                let person = links::query([("person", who)]);
                (format!("/preferences/new{person}"), "Add preferences".to_owned())
            }
        });
    }
    if visit.viewer.has(Scope::Admin) {
        let who = links::query([("by", by), ("address", who)]);
        acts.push((format!("/settings/personal-data{who}"), "Export or erase data".to_owned()));
    }
    Ok(acts)
}

fn sentence(shown: &RecipientPage) -> String {
    let count = i64::try_from(shown.rows.len()).unwrap_or(i64::MAX);
    let mut reported = match (count, &shown.more) {
        (0, Some(_)) => "None of the newest 20,000 messages".to_owned(),
        (0, None) => "No message".to_owned(),
        (_, Some(_)) => format!("{} and perhaps older ones", counted(count, "message", "messages")),
        (_, None) => counted(count, "message", "messages"),
    };
    for block in &shown.blocks {
        reported.push_str(&format!("; gets no {} because {}", block.kind, block.why));
    }
    if shown.wants.is_some() {
        reported.push_str("; has preferences");
    }
    reported.push('.');
    reported
}

fn block(row: suppressions::SuppressionRow, visit: &Visit, now: Timestamp) -> Block {
    let at = |at: Timestamp| visit.zone.when(at, now);
    let why =
        SuppressionReason::parse(&row.reason).map_or("of an unknown reason", SuppressionReason::in_words);
    Block {
        why: why.to_owned(),
        detail: row.detail.unwrap_or_default(),
        since: at(row.since),
        until: row.expires_at.map(at),
        link: format!("/suppressions{}", links::query([("q", row.address.as_str())])),
        kind: row.channel_type,
    }
}

fn wants(person: &str, wants: &Preference) -> Wants {
    let refused = wants.topics.iter().filter(|(_, topic)| !topic.subscribed).map(|(name, _)| name.as_str());
    let zone = wants.time_zone.as_deref().unwrap_or("zone not known");
    Wants {
        person: person.to_owned(),
        link: format!("/preferences{}", links::query([("q", person)])),
        refused: refused.collect::<Vec<_>>().join(", "),
        channels: wants.channels.as_ref().map_or_else(|| "all".to_owned(), |channels| channels.join(", ")),
        quiet: wants
            .quiet_hours
            .map(|span| format!("{}–{}, {zone}", written(span.from), written(span.to)))
            .unwrap_or_default(),
        failover: wants.failover.join(" → "),
    }
}

//! Scans rows with addresses, part by part in order, to build the index and to find rows that are not indexed yet.

use std::collections::{BTreeSet, HashMap, HashSet};

use punctual_boxed::{Record, boxed};
use punctual_model::{Phone, address::comparable};
use serde_json::Value;

use crate::db::{Conn, Result, Sql, args, sql};

/// Notifications whose attempts are read together: a message to a list may have ten thousand.
const ATTEMPTS_OF: usize = 50;
/// Rows of one statement: each may name thousands.
const AT_ONCE: i64 = 500;
/// Addresses of attempts that are kept in memory before they are written.
const ENOUGH: usize = 100_000;
/// No longer text is taken for an address.
const LONGEST: usize = 320;

/// A part of the index: rows of one table by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Addresses that a notification names, by its number.
    Notifications,
    /// Other addresses that it was sent to, or left out, once it has ended: those of a list.
    Attempts,
    /// Inputs of work, and the recipients of messages that wait.
    Work,
    /// Recipients of surveys.
    Surveys,
    /// Addresses in the states of sources, by the moment of their last change.
    Sources,
    /// Addresses of people of operations, by the moment of their last change.
    People,
}

impl Part {
    pub const ALL: [Self; 6] =
        [Self::Notifications, Self::Attempts, Self::Work, Self::Surveys, Self::Sources, Self::People];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Notifications => "notifications",
            Self::Attempts => "attempts",
            Self::Work => "work",
            Self::Surveys => "survey_instances",
            Self::Sources => "sources",
            Self::People => "operations_people",
        }
    }

    /// Whether its rows are in the order of a moment, and not of a number that the database gives.
    pub const fn is_timed(self) -> bool {
        matches!(self, Self::Attempts | Self::Sources | Self::People)
    }
}

/// A place in a part; what its order does not need is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Place {
    pub at: i64,
    pub number: i64,
    pub text: String,
}

/// That a row names an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Occurrence {
    pub number: i64,
    /// In comparable form.
    pub address: String,
}

/// Some rows of a part.
#[derive(Clone, Debug, Default)]
pub struct WalkPage {
    pub occurrences: Vec<Occurrence>,
    /// How many rows were read.
    pub rows: usize,
    /// Where to continue; nothing where no row was read.
    pub next: Option<Place>,
    /// Whether it is as large as was asked for.
    pub is_full: bool,
}

impl WalkPage {
    fn name(&mut self, number: i64, address: &str) {
        self.occurrences.push(Occurrence { number, address: comparable(address) });
    }
}

#[derive(Record)]
struct Number {
    number: i64,
}

const LAST_NOTIFICATION: Sql =
    sql!("personal.last_notification", "SELECT seq AS number FROM notifications ORDER BY seq DESC LIMIT 1");
const LAST_WORK: Sql = sql!("personal.last_work", "SELECT id AS number FROM work ORDER BY id DESC LIMIT 1");
const LAST_INSTANCE: Sql =
    sql!("personal.last_instance", "SELECT id AS number FROM survey_instances ORDER BY id DESC LIMIT 1");

/// The greatest number of a part that can be seen; 0 where there is none, or it is in the order of a moment.
#[boxed]
pub async fn greatest(conn: &mut Conn<'_>, part: Part) -> Result<i64> {
    let statement = match part {
        Part::Notifications => &LAST_NOTIFICATION,
        Part::Work => &LAST_WORK,
        Part::Surveys => &LAST_INSTANCE,
        Part::Attempts | Part::Sources | Part::People => return Ok(0),
    };
    let last: Option<Number> = conn.fetch_optional(statement, args![]).await?;
    Ok(last.map_or(0, |last| last.number))
}

const FIRST_NOTIFICATION: Sql =
    sql!("personal.first_notification", "SELECT seq AS number FROM notifications ORDER BY seq LIMIT 1");
const FIRST_WORK: Sql = sql!("personal.first_work", "SELECT id AS number FROM work ORDER BY id LIMIT 1");
const FIRST_INSTANCE: Sql =
    sql!("personal.first_instance", "SELECT id AS number FROM survey_instances ORDER BY id LIMIT 1");
const FIRST_SOURCE: Sql = sql!(
    "personal.first_source",
    "SELECT updated_at AS number FROM sources ORDER BY updated_at, source_type, source_id LIMIT 1",
);
const FIRST_PERSON: Sql = sql!(
    "personal.first_person",
    "SELECT updated_at AS number FROM operations_people ORDER BY updated_at, id LIMIT 1",
);

/// The least number of a row of a part: entries of the index with smaller ones are of rows that are gone.
#[boxed]
pub async fn least(conn: &mut Conn<'_>, part: Part) -> Result<i64> {
    let statement = match part {
        Part::Notifications | Part::Attempts => &FIRST_NOTIFICATION,
        Part::Work => &FIRST_WORK,
        Part::Surveys => &FIRST_INSTANCE,
        Part::Sources => &FIRST_SOURCE,
        Part::People => &FIRST_PERSON,
    };
    let first: Option<Number> = conn.fetch_optional(statement, args![]).await?;
    Ok(first.map_or(i64::MAX, |first| first.number))
}

/// Reads so many rows after a place, up to a number or a moment; fewer where they are the last, or name very many.
#[boxed]
pub async fn walk(conn: &mut Conn<'_>, part: Part, after: &Place, up_to: i64, rows: i64) -> Result<WalkPage> {
    let wanted = usize::try_from(rows).unwrap_or(usize::MAX);
    let mut page = WalkPage::default();
    while page.rows < wanted {
        let place = page.next.as_ref().unwrap_or(after).clone();
        let some = some(conn, part, &place, up_to, rows.min(AT_ONCE)).await?;
        if some.rows == 0 {
            break;
        }
        page.rows += some.rows;
        page.next = some.next;
        page.occurrences.extend(some.occurrences);
        if page.occurrences.len() >= wanted.saturating_mul(2) {
            page.is_full = true;
            break;
        }
    }
    page.is_full |= page.rows >= wanted;
    Ok(page)
}

async fn some(conn: &mut Conn<'_>, part: Part, after: &Place, up_to: i64, rows: i64) -> Result<WalkPage> {
    match part {
        Part::Notifications => notifications(conn, after, up_to, rows).await,
        Part::Attempts => attempts(conn, after, up_to, rows).await,
        Part::Work => work(conn, after, up_to, rows).await,
        Part::Surveys => surveys(conn, after, up_to, rows).await,
        Part::Sources => sources(conn, after, up_to, rows).await,
        Part::People => people(conn, after, up_to, rows).await,
    }
}

#[derive(Record)]
struct Named {
    number: i64,
    text: Option<String>,
}

const NOTIFICATIONS: Sql = sql!(
    "personal.notifications",
    "SELECT seq AS number, targets AS text FROM notifications WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3",
);

async fn notifications(conn: &mut Conn<'_>, after: &Place, up_to: i64, rows: i64) -> Result<WalkPage> {
    let read: Vec<Named> = conn.fetch_all(&NOTIFICATIONS, args![after.number, up_to, rows]).await?;
    let mut page = WalkPage {
        rows: read.len(),
        next: read.last().map(|row| at_number(row.number)),
        ..WalkPage::default()
    };
    for row in &read {
        for target in texts(row.text.as_deref()) {
            page.name(row.number, &target);
        }
    }
    Ok(page)
}

fn at_number(number: i64) -> Place {
    Place { number, ..Place::default() }
}

/// The texts of a JSON array.
fn texts(json: Option<&str>) -> Vec<String> {
    json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
}

const SURVEYS: Sql = sql!(
    "personal.instances",
    "SELECT id AS number, recipient_address AS text FROM survey_instances
     WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3",
);

async fn surveys(conn: &mut Conn<'_>, after: &Place, up_to: i64, rows: i64) -> Result<WalkPage> {
    let read: Vec<Named> = conn.fetch_all(&SURVEYS, args![after.number, up_to, rows]).await?;
    let mut page = WalkPage {
        rows: read.len(),
        next: read.last().map(|row| at_number(row.number)),
        ..WalkPage::default()
    };
    for row in &read {
        if let Some(address) = row.text.as_deref().filter(|address| !address.is_empty()) {
            page.name(row.number, address);
        }
    }
    Ok(page)
}

#[derive(Record)]
struct Ended {
    at: i64,
    number: i64,
    text: Option<String>,
}

// Relies on notifications_finished. Rows of one moment are few: SQLite sorts them by number.
const ENDED: Sql = sql!(
    "personal.ended",
    "SELECT finished_at AS at, seq AS number, targets AS text FROM notifications
     WHERE finished_at IS NOT NULL AND finished_at >= $1 AND finished_at <= $3 AND (finished_at > $1 OR seq > $2)
     ORDER BY finished_at, seq LIMIT $4",
);
const SENT_TO: Sql = sql!(
    "personal.sent_to",
    "SELECT notification_seq AS number, target AS text FROM attempts WHERE notification_seq IN ({ints $1})
     UNION
     SELECT notification_seq, target FROM skipped_targets WHERE notification_seq IN ({ints $1})",
);

async fn attempts(conn: &mut Conn<'_>, after: &Place, up_to: i64, rows: i64) -> Result<WalkPage> {
    let ended: Vec<Ended> = conn.fetch_all(&ENDED, args![after.at, after.number, up_to, rows]).await?;
    let mut page = WalkPage::default();
    for some in ended.chunks(ATTEMPTS_OF) {
        let seqs: Vec<i64> = some.iter().map(|row| row.number).collect();
        let sent: Vec<Named> = conn.fetch_all(&SENT_TO, args![seqs]).await?;
        // What the message itself names is in its own part.
        let own: HashMap<i64, HashSet<String>> = some
            .iter()
            .map(|row| (row.number, texts(row.text.as_deref()).iter().map(|one| comparable(one)).collect()))
            .collect();
        for row in sent {
            let address = comparable(row.text.as_deref().unwrap_or_default());
            if !own.get(&row.number).is_some_and(|own| own.contains(&address)) {
                page.occurrences.push(Occurrence { number: row.number, address });
            }
        }
        page.rows += some.len();
        page.next = some.last().map(|row| Place { at: row.at, number: row.number, text: String::new() });
        // A message to a list may have thousands; the caller continues from here.
        if page.occurrences.len() >= ENOUGH {
            break;
        }
    }
    Ok(page)
}

#[derive(Record)]
struct Input {
    number: i64,
    kind: String,
    text: String,
}

const WORK: Sql = sql!(
    "personal.work",
    "SELECT id AS number, kind, input AS text FROM work WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3",
);

#[derive(Record)]
struct Recipients {
    id: String,
    targets: Option<String>,
}

const MESSAGES: Sql = sql!("personal.messages", "SELECT id, targets FROM messages WHERE id = {any $1}");

async fn work(conn: &mut Conn<'_>, after: &Place, up_to: i64, rows: i64) -> Result<WalkPage> {
    let read: Vec<Input> = conn.fetch_all(&WORK, args![after.number, up_to, rows]).await?;
    let mut page = WalkPage {
        rows: read.len(),
        next: read.last().map(|row| at_number(row.number)),
        ..WalkPage::default()
    };
    let mut messages: HashMap<String, i64> = HashMap::new();
    for row in &read {
        let input: Value = serde_json::from_str(&row.text).unwrap_or_default();
        if row.kind == "message"
            && let Some(id) = input["messageId"].as_str()
        {
            messages.insert(id.to_owned(), row.number);
            continue;
        }
        for address in addresses_in(&input) {
            page.occurrences.push(Occurrence { number: row.number, address });
        }
    }
    if !messages.is_empty() {
        let mut ids: Vec<String> = messages.keys().cloned().collect();
        ids.sort_unstable();
        for row in conn.fetch_all::<Recipients>(&MESSAGES, args![ids]).await? {
            let Some(&number) = messages.get(&row.id) else { continue };
            for target in texts(row.targets.as_deref()) {
                page.name(number, &target);
            }
        }
    }
    Ok(page)
}

#[derive(Record)]
struct State {
    updated_at: i64,
    source_type: String,
    source_id: String,
    state: String,
}

// Relies on sources_changed.
const SOURCES: Sql = sql!(
    "personal.sources", as State,
    "SELECT {columns} FROM sources
     WHERE (updated_at, source_type, source_id) > ($1, $2, $3) AND updated_at <= $4
     ORDER BY updated_at, source_type, source_id LIMIT $5",
);

async fn sources(conn: &mut Conn<'_>, after: &Place, up_to: i64, rows: i64) -> Result<WalkPage> {
    let (after_type, after_id) = after.text.split_once('\n').unwrap_or_default();
    let bound = args![after.at, after_type, after_id, up_to, rows];
    let read: Vec<State> = conn.fetch_all(&SOURCES, bound).await?;
    let next = read.last().map(|row| Place {
        at: row.updated_at,
        number: 0,
        text: format!("{}\n{}", row.source_type, row.source_id),
    });
    let mut page = WalkPage { rows: read.len(), next, ..WalkPage::default() };
    for row in &read {
        let state: Value = serde_json::from_str(&row.state).unwrap_or_default();
        for address in addresses_in(&state) {
            page.occurrences.push(Occurrence { number: row.updated_at, address });
        }
    }
    Ok(page)
}

#[derive(Record)]
struct Contact {
    updated_at: i64,
    id: String,
    email: Option<String>,
    addresses: String,
}

// Relies on operations_people_changed.
const PEOPLE: Sql = sql!(
    "personal.contacts", as Contact,
    "SELECT {columns} FROM operations_people
     WHERE (updated_at, id) > ($1, $2) AND updated_at <= $3 ORDER BY updated_at, id LIMIT $4",
);

async fn people(conn: &mut Conn<'_>, after: &Place, up_to: i64, rows: i64) -> Result<WalkPage> {
    let read: Vec<Contact> =
        conn.fetch_all(&PEOPLE, args![after.at, after.text.as_str(), up_to, rows]).await?;
    let next = read.last().map(|row| Place { at: row.updated_at, number: 0, text: row.id.clone() });
    let mut page = WalkPage { rows: read.len(), next, ..WalkPage::default() };
    for row in &read {
        for address in contacts(row.email.as_deref(), &row.addresses) {
            page.occurrences.push(Occurrence { number: row.updated_at, address });
        }
    }
    Ok(page)
}

/// The addresses of somebody among the people of operations, in comparable form.
pub(super) fn contacts(email: Option<&str>, addresses: &str) -> BTreeSet<String> {
    let others: HashMap<String, String> = serde_json::from_str(addresses).unwrap_or_default();
    email.into_iter().chain(others.values().map(String::as_str)).map(comparable).collect()
}

/// Every text of a JSON value that reads like an address, in comparable form.
pub fn addresses_in(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) if is_address(text) => found.push(comparable(text)),
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => open.extend(fields.values()),
            _ => {}
        }
    }
    found
}

fn is_address(text: &str) -> bool {
    text.len() <= LONGEST
        && (text.contains('@') || text.trim_start().starts_with('+') && Phone::parse(text).is_ok())
}

crate::db::statements![
    LAST_NOTIFICATION,
    LAST_WORK,
    LAST_INSTANCE,
    FIRST_NOTIFICATION,
    FIRST_WORK,
    FIRST_INSTANCE,
    FIRST_SOURCE,
    NOTIFICATIONS,
    SURVEYS,
    ENDED,
    SENT_TO,
    WORK,
    MESSAGES,
    SOURCES,
    FIRST_PERSON,
    PEOPLE
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn addresses_are_found_at_any_depth_and_other_texts_are_not() {
        let state = json!({
            "email": "Ann@Example.org",
            "contacts": [{ "phone": "+49 30 1234567" }, { "note": "call +49" }],
            "name": "Ann",
            "long": format!("{}@x", "a".repeat(400)),
        });
        let mut found = addresses_in(&state);
        found.sort_unstable();
        assert_eq!(found, ["+49301234567", "ann@example.org"]);
    }
}

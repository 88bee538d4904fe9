//! People: who may be notified, where, and how they like it. The list, and a form that the API's own checks are behind.

use std::collections::BTreeMap;

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    http::Uri,
    routing::{get, post},
};
use jiff::ToSpan;
use punctual_engine::CommandError;
use punctual_store::{
    StoreError,
    operations::{
        people::{self, PersonRow},
        subjects::{self, Between},
    },
};
use punctual_wire::{
    Code, FieldError, Problem, limits::NAME_MAX, names::name_fault, operations::people::PersonRequest,
};
use punctual_workflows::operations::{directory, texts, written::person_row};
use serde_json::{Map, Value, json};

use super::{Item, Tab, by_field, item, listed, tabs};
use crate::{
    App, Shared,
    answer::{self, Page, Refusal, Refused, page, see_other},
    form::{Fields, Signed},
    frame::{Frame, Visit},
    links,
    meanwhile::{Change, Labelled, Opened, labelled},
    pages::{entries, outbox, recipients},
    words::counted,
};

/// People on one page.
const SHOWN: usize = 100;
/// What lies ahead of somebody, on their page.
const AHEAD: i64 = 20;
/// Messages to somebody that their page names.
const MESSAGES: usize = 5;

pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/operations/people", get(list))
        .route("/operations/people/new", get(new))
        .route("/operations/people/{id}", get(show))
        .route("/operations/people/save", post(save))
        .route("/operations/people/delete", post(delete))
}

#[derive(Template)]
#[template(path = "people.html")]
struct PeoplePage {
    frame: Frame,
    sentence: String,
    tabs: Vec<Tab>,
    rows: Vec<Row>,
    next: Option<String>,
    may_author: bool,
    done: Option<&'static str>,
}

struct Row {
    id: String,
    link: String,
    name: String,
    channels: String,
    zone: Option<String>,
    locale: Option<String>,
    unit: Option<String>,
}

async fn list(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let fields = Fields::of_query(&uri);
    let mut reader = app.engine.store.read_for_people().await?;
    let mut found =
        people::page(&mut reader.conn(), &visit.viewer.by.reach(), fields.text("after"), SHOWN as i64 + 1)
            .await?;
    drop(reader);
    let more = found.len() > SHOWN;
    found.truncate(SHOWN);
    let next = found.last().filter(|_| more).map(|row| row.id.clone());
    let rows: Vec<Row> = found
        .into_iter()
        .map(|row| Row {
            link: format!("/operations/people/{}", links::encoded(&row.id)),
            channels: ways(&row),
            id: row.id,
            name: row.name,
            zone: row.time_zone,
            locale: row.locale,
            unit: row.business_unit,
        })
        .collect();
    let silent = rows.iter().filter(|row| row.channels.is_empty()).count();
    let mut sentence = counted(i64::try_from(rows.len()).unwrap_or(i64::MAX), "person", "people");
    match silent {
        0 => sentence.push_str(" on this page, all of whom can be reached."),
        silent => sentence.push_str(&format!(" on this page, {silent} without an address.")),
    }
    page(&PeoplePage {
        frame: visit.frame(&app, "People", "/operations").await?,
        sentence: if rows.is_empty() { String::new() } else { sentence },
        tabs: tabs(visit.zone.day(Visit::now(&app)), "People"),
        next: next.map(|after| format!("/operations/people{}", links::query([("after", after.as_str())]))),
        rows,
        may_author: visit.viewer.may_author(),
        done: match fields.text("done") {
            "saved" => Some("Saved. It applies from the next message on."),
            "removed" => Some("Removed. Events keep the name, but send no messages to it."),
            _ => None,
        },
    })
}

/// The channels over which somebody can be notified, in their order, each with its address.
fn ways(row: &PersonRow) -> String {
    let addresses: BTreeMap<String, String> = serde_json::from_str(&row.addresses).unwrap_or_default();
    let way = |word: &String| {
        let kind = word.split(':').next().unwrap_or(word);
        let address = if kind == "email" { row.email.as_ref() } else { addresses.get(kind) };
        address.map(|address| format!("{word} {address}"))
    };
    texts(&row.channels).iter().filter_map(way).collect::<Vec<_>>().join(", then ")
}

/// Every address of somebody.
fn addresses_of(row: &PersonRow) -> Vec<String> {
    let others: BTreeMap<String, String> = serde_json::from_str(&row.addresses).unwrap_or_default();
    row.email.iter().cloned().chain(others.into_values()).collect()
}

#[derive(Template)]
#[template(path = "person.html")]
struct PersonPage {
    frame: Frame,
    here: String,
    sentence: String,
    entered: Entered,
    base: String,
    changes: Option<Vec<Change>>,
    one: &'static str,
    faults: BTreeMap<String, String>,
    ahead: Vec<Item>,
    /// The newest messages to them, and where all are.
    messages: Vec<outbox::Row>,
    all: Option<String>,
    /// What else there is of them: link and words.
    about: Vec<(String, String)>,
    may_author: bool,
}

/// What is in the fields.
#[derive(Clone, Default)]
struct Entered {
    /// The id of somebody who is there already.
    known: String,
    id: String,
    name: String,
    email: String,
    zone: String,
    locale: String,
    channels: String,
    /// One a line: `sms: +49301234567`.
    addresses: String,
    unit: String,
}

impl Entered {
    fn read(fields: &Fields) -> Self {
        let text = |name: &str| fields.text(name).to_owned();
        let known = text("known");
        Self {
            id: if known.is_empty() { text("id") } else { known.clone() },
            known,
            name: text("name"),
            email: text("email"),
            zone: text("timeZone"),
            locale: text("locale"),
            channels: text("channels"),
            addresses: text("addresses"),
            unit: text("businessUnit"),
        }
    }

    fn of(row: &PersonRow) -> Self {
        let addresses: BTreeMap<String, String> = serde_json::from_str(&row.addresses).unwrap_or_default();
        let lines: Vec<String> =
            addresses.iter().map(|(kind, address)| format!("{kind}: {address}")).collect();
        Self {
            known: row.id.clone(),
            id: row.id.clone(),
            name: row.name.clone(),
            email: row.email.clone().unwrap_or_default(),
            zone: row.time_zone.clone().unwrap_or_default(),
            locale: row.locale.clone().unwrap_or_default(),
            channels: texts(&row.channels).join(", "),
            addresses: lines.join("\n"),
            unit: row.business_unit.clone().unwrap_or_default(),
        }
    }

    /// The fields as the form shows them.
    fn labelled(&self) -> Labelled {
        labelled([
            ("Name", &self.name),
            ("Email", &self.email),
            ("Time zone", &self.zone),
            ("Language", &self.locale),
            ("Channels", &self.channels),
            ("Other addresses", &self.addresses),
            ("Business unit", &self.unit),
        ])
    }

    /// The same request that the API takes, so that both refuse the same.
    fn request(&self) -> Value {
        let mut request = json!({ "channels": listed(&self.channels), "addresses": {} });
        let texts = [
            ("name", &self.name),
            ("email", &self.email),
            ("timeZone", &self.zone),
            ("locale", &self.locale),
        ];
        for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            request[name] = text.as_str().into();
        }
        if self.channels.is_empty() {
            request["channels"] = json!(["email"]);
        }
        let mut addresses = Map::new();
        for line in self.addresses.lines().map(str::trim).filter(|line| !line.is_empty()) {
            // A line without a colon has no address, and is refused for that.
            let (kind, address) = line.split_once(':').unwrap_or((line, ""));
            addresses.insert(kind.trim().to_lowercase(), address.trim().into());
        }
        request["addresses"] = addresses.into();
        request
    }

    fn checked(&self, visit: &Visit) -> Result<PersonRequest, Vec<FieldError>> {
        let unnamed = name_fault(&self.id, NAME_MAX, &|| "/id".to_owned());
        let request = PersonRequest::read(&self.request(), "");
        match (unnamed, request) {
            (None, Ok(request)) => {
                let business_unit = visit.viewer.unit_or_first(&self.unit);
                Ok(PersonRequest { business_unit, ..request })
            }
            (unnamed, request) => {
                Err(unnamed.into_iter().chain(request.err().into_iter().flatten()).collect())
            }
        }
    }
}

async fn new(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    visit.must_author()?;
    // An event that names somebody who is not known leads here with the name.
    let id = Fields::of_query(&uri).text("id").to_owned();
    let entered = Entered { id, channels: "email".into(), ..Entered::default() };
    form(&app, &visit, entered, Opened::default(), Vec::new()).await
}

async fn show(State(app): State<Shared>, visit: Visit, Path(id): Path<String>) -> Page {
    let row = found(&app, &visit, &id).await?;
    let entered = Entered::of(&row);
    let opened = Opened::on(&entered.labelled());
    form(&app, &visit, entered, opened, Vec::new()).await
}

async fn found(app: &App, visit: &Visit, id: &str) -> Result<PersonRow, Refusal> {
    let mut reader = app.engine.store.read_for_people().await?;
    let row = people::get(&mut reader.conn(), &visit.viewer.by.reach(), id).await?;
    row.ok_or_else(|| Problem::not_found("person", id).into())
}

/// What lies ahead that names this person.
pub(in crate::pages) async fn ahead_of(app: &App, visit: &Visit, id: &str) -> Result<Vec<Item>, StoreError> {
    let now = Visit::now(app);
    let to = now.checked_add((24 * 366).hours()).unwrap_or(now);
    let wanted = Between { from: now, to, person: Some(id.to_owned()), limit: AHEAD, ..Between::default() };
    let mut reader = app.engine.store.read_for_people().await?;
    // Among the next ten thousand of everybody's.
    let found = subjects::between_stretch(&mut reader.conn(), &visit.viewer.by.reach(), &wanted).await?.rows;
    Ok(found.iter().map(|row| item(row, &[], &visit.zone, now)).collect())
}

async fn form(app: &App, visit: &Visit, entered: Entered, opened: Opened, faults: Vec<FieldError>) -> Page {
    let (mut ahead, mut sentence) = (Vec::new(), "People who are notified of events and tasks.".to_owned());
    let (mut messages, mut about, mut all) = (Vec::new(), Vec::new(), None);
    if !entered.known.is_empty() {
        let row = found(app, visit, &entered.known).await?;
        let channels = ways(&row);
        sentence = match channels.as_str() {
            "" => format!("{} has no address and gets nothing.", row.name),
            channels => format!("{} is notified over {channels}.", row.name),
        };
        ahead = ahead_of(app, visit, &row.id).await?;
        let addresses = addresses_of(&row);
        messages = recipients::newest(app, visit, &addresses, MESSAGES).await?;
        all = addresses.first().map(|address| recipients::link(address));
        about = addresses
            .iter()
            .map(|address| (recipients::link(address), format!("Everything to {address}")))
            .chain(recipients::acts(app, visit, ("person", &row.id), &addresses).await?)
            .collect();
    }
    let title = if entered.known.is_empty() { "New person".to_owned() } else { entered.name.clone() };
    let refusal = Refused::of(!faults.is_empty(), &opened);
    answer::form(
        &PersonPage {
            frame: visit.frame(app, &title, "/operations").await?,
            here: match entered.known.as_str() {
                "" => "/operations/people".to_owned(),
                id => format!("/operations/people/{}", links::encoded(id)),
            },
            sentence,
            may_author: visit.viewer.may_author(),
            faults: by_field(faults),
            ahead,
            messages,
            all,
            about,
            entered,
            base: opened.base,
            changes: opened.changes,
            one: "person",
        },
        refusal,
    )
}

async fn save(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    visit.must_author()?;
    let entered = Entered::read(&fields);
    let request = match entered.checked(&visit) {
        Ok(request) => request,
        Err(faults) => return form(&app, &visit, entered, Opened::sent(&fields), faults).await,
    };
    if entered.known.is_empty() && found(&app, &visit, &entered.id).await.is_ok() {
        let fault = FieldError::new("/id", Code::OutOfRange, "There is already a person with this id.");
        return form(&app, &visit, entered, Opened::sent(&fields), vec![fault]).await;
    }
    if !entered.known.is_empty() {
        let stored = Entered::of(&found(&app, &visit, &entered.known).await?).labelled();
        if let Some(opened) = Opened::overtaken(&fields, &stored) {
            return form(&app, &visit, entered, opened, Vec::new()).await;
        }
    }
    let row = person_row(entered.id.clone(), request, Visit::now(&app));
    match directory::put_person(&app.engine, &visit.viewer.by, &row).await {
        Err(refused @ CommandError::Invalid(_)) => {
            return form(&app, &visit, entered, Opened::sent(&fields), entries::refused(refused)).await;
        }
        done => done?,
    };
    see_other("/operations/people?done=saved")
}

async fn delete(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    visit.must_author()?;
    let id = fields.text("id");
    directory::remove_person(&app.engine, &visit.viewer.by, id).await?;
    see_other("/operations/people?done=removed")
}

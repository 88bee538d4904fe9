//! Organisations: what the events and tasks of one have in common. The list, and the form with the messages that new ones
//! get.

use std::collections::BTreeMap;

use askama::Template;
use axum::{
    Router,
    extract::{DefaultBodyLimit, Path, State},
    http::Uri,
    routing::{get, post},
};
use punctual_engine::CommandError;
use punctual_store::operations::organisations::{self, OrganisationRow};
use punctual_wire::{
    Code, FieldError, Problem,
    limits::NAME_MAX,
    names::name_fault,
    operations::{organisations::OrganisationRequest, texts::RuleTexts},
};
use punctual_workflows::{
    inline,
    operations::{commands::DefaultRule, directory, written::organisation_row},
};
use serde_json::{Value, json};

use super::{Tab, by_field, listed, tabs, when};
use crate::{
    App, Shared,
    answer::{self, Page, Refusal, Refused, page, see_other},
    editor::LARGE_FORM,
    form::{Fields, Signed},
    frame::{Frame, Visit},
    links,
    meanwhile::{Change, Labelled, Opened, labelled},
    pages::entries,
    words::counted,
};

/// Organisations on one page.
const SHOWN: usize = 100;
/// The words for how urgent a message is, the ordinary one left out.
const PRIORITIES: [&str; 3] = ["alarm", "high", "campaign"];
/// Empty lines for more messages.
const BLANK: usize = 3;

pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/operations/organisations", get(list))
        .route("/operations/organisations/new", get(new))
        .route("/operations/organisations/{id}", get(show))
        .route("/operations/organisations/save", post(save))
        .route("/operations/organisations/delete", post(delete))
        // It holds its texts twice: as they are typed and as they were.
        .layer(DefaultBodyLimit::max(LARGE_FORM))
}

#[derive(Template)]
#[template(path = "organisations.html")]
struct OrganisationsPage {
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
    messages: String,
    zone: Option<String>,
    all_day_at: Option<String>,
    unit: Option<String>,
}

async fn list(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let fields = Fields::of_query(&uri);
    let mut reader = app.engine.store.read_for_people().await?;
    let mut found = organisations::page(
        &mut reader.conn(),
        &visit.viewer.by.reach(),
        fields.text("after"),
        SHOWN as i64 + 1,
    )
    .await?;
    drop(reader);
    let more = found.len() > SHOWN;
    found.truncate(SHOWN);
    let next = found.last().filter(|_| more).map(|row| row.id.clone());
    let rows: Vec<Row> = found
        .into_iter()
        .map(|row| Row {
            link: format!("/operations/organisations/{}", links::encoded(&row.id)),
            messages: messages(&row),
            id: row.id,
            name: row.name,
            zone: row.time_zone,
            all_day_at: row.all_day_at,
            unit: row.business_unit,
        })
        .collect();
    let count = i64::try_from(rows.len()).unwrap_or(i64::MAX);
    let next =
        next.map(|after| format!("/operations/organisations{}", links::query([("after", after.as_str())])));
    page(&OrganisationsPage {
        frame: visit.frame(&app, "Organisations", "/operations").await?,
        sentence: match count {
            0 => String::new(),
            count => format!("{} on this page.", counted(count, "organisation", "organisations")),
        },
        tabs: tabs(visit.zone.day(Visit::now(&app)), "Organisations"),
        rows,
        next,
        may_author: visit.viewer.may_author(),
        done: match fields.text("done") {
            "saved" => {
                Some("Saved. A new zone or hour moves planned messages; new messages apply to new events.")
            }
            "removed" => Some("Removed. Its events stay, and are planned without it."),
            _ => None,
        },
    })
}

fn rules_of(row: &OrganisationRow) -> Option<Vec<DefaultRule>> {
    serde_json::from_str(row.rules.as_deref()?).ok()
}

/// What new events get, in words.
fn messages(row: &OrganisationRow) -> String {
    match rules_of(row) {
        None => "At the start and at the end".to_owned(),
        Some(rules) if rules.is_empty() => "None".to_owned(),
        Some(rules) => rules.iter().map(|rule| when::in_words(&rule.rule)).collect::<Vec<_>>().join("; "),
    }
}

#[derive(Template)]
#[template(path = "organisation.html")]
struct OrganisationPage {
    frame: Frame,
    here: String,
    sentence: String,
    entered: Entered,
    base: String,
    changes: Option<Vec<Change>>,
    one: &'static str,
    faults: BTreeMap<String, String>,
    suggested: [(&'static str, &'static str); 6],
    variables: String,
    priorities: [&'static str; 3],
    may_author: bool,
}

/// What is in the fields.
#[derive(Clone, Default)]
struct Entered {
    /// The id of one that is there already.
    known: String,
    id: String,
    name: String,
    zone: String,
    all_day_at: String,
    /// Whether new events get the ordinary two messages.
    ordinary: bool,
    rules: Vec<Line>,
    unit: String,
}

/// One message that new events get.
#[derive(Clone, Default)]
struct Line {
    when: String,
    at_end: bool,
    channels: String,
    /// One of [`PRIORITIES`], or nothing.
    priority: String,
    topic: String,
    failover: String,
    /// What it says itself, where it does.
    message: RuleTexts,
}

/// The texts of one line of the form, or of the only message of one; what is empty is not said.
pub(super) fn own_words(fields: &Fields, index: usize) -> RuleTexts {
    // A browser sends the lines of a text with both ends.
    let text = |name: &str| fields.all(name).nth(index).map(|text| text.replace("\r\n", "\n"));
    let said = |name: &str| text(name).filter(|text| !text.trim().is_empty());
    RuleTexts { subject: said("subject"), body: said("text"), html: said("html") }
}

impl Entered {
    fn read(fields: &Fields) -> Self {
        let text = |name: &str| fields.text(name).to_owned();
        let known = text("known");
        let column = |name| -> Vec<String> { fields.all(name).map(|text| text.trim().to_owned()).collect() };
        let names = ["anchor", "channels", "priority", "topic", "failover"];
        let mut columns = names.map(column);
        let rules = fields.all("when").enumerate().map(|(index, when)| {
            let [anchor, channels, priority, topic, failover] = columns
                .each_mut()
                .map(|column| column.get_mut(index).map(std::mem::take).unwrap_or_default());
            let when = when.trim().to_owned();
            let message = own_words(fields, index);
            Line { when, at_end: anchor == "end", channels, priority, topic, failover, message }
        });
        Self {
            id: if known.is_empty() { text("id") } else { known.clone() },
            known,
            name: text("name"),
            zone: text("timeZone"),
            all_day_at: text("allDayAt"),
            ordinary: fields.text("messages") != "own",
            rules: rules.filter(|line| !line.when.is_empty()).collect(),
            unit: text("businessUnit"),
        }
    }

    fn of(row: &OrganisationRow) -> Self {
        let rules = rules_of(row);
        let line = |one: &DefaultRule| Line {
            when: when::written(&one.rule),
            at_end: one.rule.anchor().as_str() == "end",
            channels: one.channels.join(", "),
            priority: one.handling.priority.map(|priority| priority.as_str().to_owned()).unwrap_or_default(),
            topic: one.handling.topic.clone().unwrap_or_default(),
            failover: one.handling.failover.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            message: one.message.clone(),
        };
        Self {
            known: row.id.clone(),
            id: row.id.clone(),
            name: row.name.clone(),
            zone: row.time_zone.clone().unwrap_or_default(),
            all_day_at: row.all_day_at.clone().unwrap_or_default(),
            ordinary: rules.is_none(),
            rules: rules.unwrap_or_default().iter().map(line).collect(),
            unit: row.business_unit.clone().unwrap_or_default(),
        }
    }

    /// The fields as the form shows them.
    fn labelled(&self) -> Labelled {
        let mut fields = labelled([
            ("Name", &self.name),
            ("Time zone", &self.zone),
            ("Hour of whole days", &self.all_day_at),
            ("Business unit", &self.unit),
            ("Messages", if self.ordinary { "at its start and at its end" } else { "its own" }),
        ]);
        for (n, line) in self.rules.iter().enumerate().filter(|_| !self.ordinary) {
            let anchor = if line.at_end { "end" } else { "start" };
            let mut parts = vec![format!("{} of the {anchor}", line.when)];
            let more = [&line.channels, &line.priority, &line.topic, &line.failover];
            parts.extend(more.into_iter().filter(|part| !part.is_empty()).cloned());
            let texts = [&line.message.subject, &line.message.body, &line.message.html];
            parts.extend(texts.into_iter().flatten().cloned());
            fields.push((format!("Message {}", n + 1), parts.join(", ")));
        }
        fields
    }

    /// The same request that the API takes, so that both refuse the same.
    fn request(&self) -> Value {
        let mut request = json!({});
        let texts = [("name", &self.name), ("timeZone", &self.zone), ("allDayAt", &self.all_day_at)];
        for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            request[name] = text.as_str().into();
        }
        if !self.ordinary {
            let rules = self.rules.iter().map(|line| {
                let channels = listed(&line.channels);
                let channels = if channels.is_empty() { vec!["email".to_owned()] } else { channels };
                let anchor = if line.at_end { "end" } else { "start" };
                let mut rule = json!({ "rule": when::rule(&line.when, anchor), "channels": channels });
                for (name, text) in [("topic", &line.topic), ("priority", &line.priority)] {
                    if !text.is_empty() {
                        rule[name] = text.as_str().into();
                    }
                }
                if !line.failover.is_empty() {
                    rule["failover"] = listed(&line.failover).into();
                }
                if !line.message.is_empty() {
                    rule["message"] = json!(line.message);
                }
                rule
            });
            request["rules"] = rules.collect();
        }
        request
    }

    fn checked(&self, visit: &Visit) -> Result<OrganisationRow, Vec<FieldError>> {
        let unnamed = name_fault(&self.id, NAME_MAX, &|| "/id".to_owned());
        let request = OrganisationRequest::read(&self.request(), "");
        match (unnamed, request) {
            (None, Ok(request)) => {
                let business_unit = visit.viewer.unit_or_first(&self.unit);
                let request = OrganisationRequest { business_unit, ..request };
                organisation_row(self.id.clone(), request, Default::default()).map_err(|fault| vec![fault])
            }
            (unnamed, request) => {
                Err(unnamed.into_iter().chain(request.err().into_iter().flatten()).collect())
            }
        }
    }
}

async fn new(State(app): State<Shared>, visit: Visit) -> Page {
    visit.must_author()?;
    let entered = Entered { ordinary: true, ..Entered::default() };
    form(&app, &visit, entered, Opened::default(), Vec::new()).await
}

async fn show(State(app): State<Shared>, visit: Visit, Path(id): Path<String>) -> Page {
    let row = found(&app, &visit, &id).await?;
    let entered = Entered::of(&row);
    let opened = Opened::on(&entered.labelled());
    form(&app, &visit, entered, opened, Vec::new()).await
}

async fn found(app: &App, visit: &Visit, id: &str) -> Result<OrganisationRow, Refusal> {
    let mut reader = app.engine.store.read_for_people().await?;
    let row = organisations::get(&mut reader.conn(), &visit.viewer.by.reach(), id).await?;
    row.ok_or_else(|| Problem::not_found("organisation", id).into())
}

async fn form(
    app: &App,
    visit: &Visit,
    mut entered: Entered,
    opened: Opened,
    faults: Vec<FieldError>,
) -> Page {
    let title = if entered.known.is_empty() { "New organisation".to_owned() } else { entered.name.clone() };
    let blank = Line { channels: "email".into(), ..Line::default() };
    entered.rules.extend(std::iter::repeat_n(blank, BLANK));
    let refusal = Refused::of(!faults.is_empty(), &opened);
    answer::form(
        &OrganisationPage {
            frame: visit.frame(app, &title, "/operations").await?,
            here: match entered.known.as_str() {
                "" => "/operations/organisations".to_owned(),
                id => format!("/operations/organisations/{}", links::encoded(id)),
            },
            sentence: "The time zone, the hour of whole days and the messages of its events and tasks."
                .to_owned(),
            suggested: when::SUGGESTED,
            variables: inline::OPERATION.hint(),
            priorities: PRIORITIES,
            may_author: visit.viewer.may_author(),
            faults: by_field(faults),
            entered,
            base: opened.base,
            changes: opened.changes,
            one: "organisation",
        },
        refusal,
    )
}

async fn save(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    visit.must_author()?;
    let entered = Entered::read(&fields);
    let row = match entered.checked(&visit) {
        Ok(row) => row,
        Err(faults) => return form(&app, &visit, entered, Opened::sent(&fields), faults).await,
    };
    if entered.known.is_empty() && found(&app, &visit, &entered.id).await.is_ok() {
        let fault =
            FieldError::new("/id", Code::OutOfRange, "There is already an organisation with this id.");
        return form(&app, &visit, entered, Opened::sent(&fields), vec![fault]).await;
    }
    if !entered.known.is_empty() {
        let stored = Entered::of(&found(&app, &visit, &entered.known).await?).labelled();
        if let Some(opened) = Opened::overtaken(&fields, &stored) {
            return form(&app, &visit, entered, opened, Vec::new()).await;
        }
    }
    match directory::put_organisation(&app.engine, &visit.viewer.by, &row).await {
        Err(refused @ CommandError::Invalid(_)) => {
            return form(&app, &visit, entered, Opened::sent(&fields), entries::refused(refused)).await;
        }
        done => done?,
    };
    see_other("/operations/organisations?done=saved")
}

async fn delete(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    visit.must_author()?;
    let id = fields.text("id");
    directory::remove_organisation(&app.engine, &visit.viewer.by, id).await?;
    see_other("/operations/organisations?done=removed")
}

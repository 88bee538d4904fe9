//! The form for an event or task, and what it does. Faults are next to their fields, with the entered text kept.

use std::collections::BTreeMap;

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    http::Uri,
    routing::{get, post},
};
use jiff::Timestamp;
use punctual_store::operations::{organisations, people, subjects::SubjectRow};
use punctual_wire::{
    FieldError, Problem,
    operations::subjects::{EVENT, SubjectRequest, TASK, check_order, settle},
};
use punctual_workflows::operations::{
    SubjectType,
    commands::{self, Changed, NewSubject},
    texts,
};
use serde_json::{Value, json};

use super::visible;
use crate::{
    App, Shared,
    answer::{Page, Refusal, page, see_other},
    form::{Fields, Signed},
    frame::{Frame, Visit},
    times::Zone,
};

/// People and organisations to choose from; whoever has more uses the API.
const CHOICES: i64 = 500;

pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/operations/new", get(new))
        .route("/operations/{kind}/{id}/edit", get(edit))
        .route("/operations/save", post(save))
        .route("/operations/delete", post(delete))
}

#[derive(Template)]
#[template(path = "operations_form.html")]
struct FormPage {
    frame: Frame,
    here: String,
    title: String,
    entered: Entered,
    faults: BTreeMap<&'static str, String>,
    people: Vec<Choice>,
    creators: Vec<Choice>,
    organisations: Vec<Choice>,
}

struct Choice {
    value: String,
    name: String,
    chosen: bool,
}

/// What is in the fields.
#[derive(Clone, Default)]
struct Entered {
    id: String,
    is_task: bool,
    title: String,
    /// Local date and time, or a date for whole days.
    start: String,
    end: String,
    is_all_day: bool,
    creator: String,
    people: Vec<String>,
    organisation: String,
}

impl Entered {
    fn read(fields: &Fields) -> Self {
        Self {
            id: fields.text("id").to_owned(),
            is_task: fields.text("type") == "task",
            title: fields.text("title").to_owned(),
            start: fields.text("start").to_owned(),
            end: fields.text("end").to_owned(),
            is_all_day: fields.text("allDay") == "yes",
            creator: fields.text("creator").to_owned(),
            people: fields.all("people").map(str::to_owned).collect(),
            organisation: fields.text("organisation").to_owned(),
        }
    }

    fn of(row: &SubjectRow, zone: &Zone) -> Self {
        let at = |micros: Option<i64>| {
            let at = Timestamp::from_microsecond(micros?).ok()?;
            // Whole days are days of UTC; the field has a time that nobody reads.
            Some(if row.is_all_day { at.strftime("%Y-%m-%dT00:00").to_string() } else { zone.field(at) })
        };
        Self {
            id: row.id.clone(),
            is_task: row.subject_type == "task",
            title: row.title.clone(),
            start: at(row.start_at).unwrap_or_default(),
            end: at(row.end_at).unwrap_or_default(),
            is_all_day: row.is_all_day,
            creator: row.creator.clone(),
            people: texts(&row.people),
            organisation: row.organisation.clone().unwrap_or_default(),
        }
    }

    fn subject_type(&self) -> SubjectType {
        if self.is_task { SubjectType::Task } else { SubjectType::Event }
    }

    /// The same request that the API takes, so that both refuse the same.
    fn request(&self, zone: &Zone) -> Value {
        let words = if self.is_task { TASK } else { EVENT };
        let date = |text: &str| -> Value {
            match text {
                "" => Value::Null,
                text if self.is_all_day => text.get(..10).unwrap_or(text).into(),
                // What cannot be read goes on as it is, and is refused with its field.
                text => zone.read(text).map_or_else(|| text.into(), |at| at.to_string().into()),
            }
        };
        let filled = |text: &str| if text.is_empty() { Value::Null } else { text.into() };
        let mut request = json!({
            "title": filled(&self.title),
            "creator": filled(&self.creator),
            "organisation": filled(&self.organisation),
        });
        request[words.start] = date(&self.start);
        request[words.end] = date(&self.end);
        request[words.people] = self.people.clone().into();
        if words.may_be_all_day {
            request["isAllDay"] = self.is_all_day.into();
        }
        request
    }

    fn checked(&self, zone: &Zone) -> Result<Checked, Vec<FieldError>> {
        let words = if self.is_task { TASK } else { EVENT };
        let request = SubjectRequest::read(&self.request(zone), "", words)?;
        let one = |fault: FieldError| vec![fault];
        let start = settle(request.start, request.is_all_day, words.start).map_err(one)?;
        let end = settle(request.end, request.is_all_day, words.end).map_err(one)?;
        check_order(start, end, words).map_err(one)?;
        Ok(Checked { request, start, end })
    }
}

struct Checked {
    request: SubjectRequest,
    start: Option<Timestamp>,
    end: Option<Timestamp>,
}

async fn new(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    visit.must_author()?;
    let fields = Fields::of_query(&uri);
    let day = fields.text("on").parse().unwrap_or_else(|_| visit.zone.day(Visit::now(&app)));
    let entered = Entered {
        is_task: fields.text("type") == "task",
        start: format!("{day}T09:00"),
        end: format!("{day}T10:00"),
        ..Entered::default()
    };
    form(&app, &visit, entered, Vec::new()).await
}

async fn edit(State(app): State<Shared>, visit: Visit, Path((kind, id)): Path<(String, String)>) -> Page {
    visit.must_author()?;
    let row = visible(&app, &visit, kind.trim_end_matches('s'), &id).await?;
    let entered = Entered::of(&row, &visit.zone);
    form(&app, &visit, entered, Vec::new()).await
}

async fn form(app: &App, visit: &Visit, entered: Entered, faults: Vec<FieldError>) -> Page {
    let mut reader = app.engine.store.read_for_people().await?;
    let known = people::page(&mut reader.conn(), &visit.viewer.by.reach(), "", CHOICES).await?;
    let groups = organisations::page(&mut reader.conn(), &visit.viewer.by.reach(), "", CHOICES).await?;
    drop(reader);
    let mut names: Vec<(String, String)> = known
        .into_iter()
        .map(|row| {
            let name = format!("{} ({})", row.name, row.id);
            (row.id, name)
        })
        .collect();
    // Somebody who is named and not known stays named.
    for id in entered.people.iter().chain([&entered.creator]).filter(|id| !id.is_empty()) {
        if names.iter().all(|(known, _)| known != id) {
            names.push((id.clone(), format!("{id} (not known)")));
        }
    }
    let choices = |chosen: &dyn Fn(&str) -> bool| -> Vec<Choice> {
        let choice = |(value, name): &(String, String)| Choice {
            chosen: chosen(value),
            value: value.clone(),
            name: name.clone(),
        };
        names.iter().map(choice).collect()
    };
    let mut groups: Vec<Choice> = groups
        .into_iter()
        .map(|row| Choice { chosen: row.id == entered.organisation, value: row.id, name: row.name })
        .collect();
    if !entered.organisation.is_empty() && groups.iter().all(|one| !one.chosen) {
        let value = entered.organisation.clone();
        groups.push(Choice { name: value.clone(), value, chosen: true });
    }
    let what = if entered.is_task { "task" } else { "event" };
    let title = if entered.id.is_empty() { format!("New {what}") } else { format!("Edit {what}") };
    page(&FormPage {
        frame: visit.frame(app, &title, "/operations").await?,
        here: match entered.id.as_str() {
            "" => "/operations".to_owned(),
            id => format!("/operations/{what}s/{id}"),
        },
        title,
        faults: faults.into_iter().map(|fault| (field_of(&fault.pointer), fault.detail)).collect(),
        people: choices(&|id| entered.people.iter().any(|one| one == id)),
        creators: choices(&|id| entered.creator == id),
        organisations: groups,
        entered,
    })
}

/// The field of the form that a pointer of the request means.
fn field_of(pointer: &str) -> &'static str {
    match pointer.split('/').nth(1).unwrap_or_default() {
        "title" => "title",
        "startDate" | "startedAt" => "start",
        "endDate" | "finishedAt" => "end",
        "creator" => "creator",
        "participants" | "relatedUsers" => "people",
        "organisation" => "organisation",
        _ => "other",
    }
}

async fn save(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    visit.must_author()?;
    let entered = Entered::read(&fields);
    let checked = match entered.checked(&visit.zone) {
        Ok(checked) => checked,
        Err(faults) => return form(&app, &visit, entered, faults).await,
    };
    let subject_type = entered.subject_type();
    let (id, word) = if entered.id.is_empty() {
        (create(&app, &visit, checked, subject_type).await?, "created")
    } else {
        update(&app, &visit, &entered, checked).await?;
        (entered.id, "saved")
    };
    see_other(&format!("/operations/{}s/{id}?done={word}", subject_type.as_str()))
}

async fn create(
    app: &App,
    visit: &Visit,
    checked: Checked,
    subject_type: SubjectType,
) -> Result<String, Refusal> {
    let Checked { request, start, end } = checked;
    // Whoever is limited to business units makes things in the first of them.
    let unit = visit.viewer.unit_or_first("");
    let business_unit = app.engine.unit_for(&visit.viewer.by, unit, "").await?;
    let new = NewSubject {
        id: app.engine.random.ordered_uuid(app.engine.clock.now()).to_string(),
        subject_type,
        title: request.title,
        start_at: start,
        end_at: end,
        is_all_day: request.is_all_day,
        creator: request.creator,
        people: request.people,
        organisation: request.organisation,
        time_zone: None,
        business_unit,
        ical_uid: None,
        ical_series: None,
        location: request.location,
        description: request.description,
    };
    commands::create(&app.engine, &visit.viewer.by, std::slice::from_ref(&new)).await?;
    Ok(new.id)
}

async fn update(app: &App, visit: &Visit, entered: &Entered, checked: Checked) -> Result<(), Refusal> {
    let Checked { request, start, end } = checked;
    let what = entered.subject_type().as_str();
    let unknown = || Refusal::from(Problem::not_found(what, &entered.id));
    let changed = commands::update(&app.engine, &visit.viewer.by, &entered.id, |before| {
        if before.subject_type != what {
            return Err(unknown());
        }
        Ok(SubjectRow {
            title: request.title,
            start_at: start.map(Timestamp::as_microsecond),
            end_at: end.map(Timestamp::as_microsecond),
            is_all_day: request.is_all_day,
            creator: request.creator,
            people: Value::from(request.people).to_string(),
            organisation: request.organisation,
            ..before.clone()
        })
    });
    match changed.await? {
        Changed::Done(_) => Ok(()),
        Changed::Refused(refusal) => Err(refusal),
        Changed::NotFound => Err(unknown()),
    }
}

async fn delete(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    visit.must_author()?;
    let (id, what) = (fields.text("id"), if fields.text("type") == "task" { "task" } else { "event" });
    let may = |row: &SubjectRow| row.subject_type == what;
    if !commands::delete(&app.engine, &visit.viewer.by, id, may).await? {
        return Err(Problem::not_found(what, id).into());
    }
    see_other("/operations")
}

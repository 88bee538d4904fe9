//! Calendars out and in: secret links that calendar programs follow, and the import of a calendar file.

use askama::Template;
use axum::{
    Router,
    extract::{DefaultBodyLimit, State},
    http::Uri,
    routing::{get, post},
};
use punctual_store::operations::{organisations, people};
use punctual_wire::{Code, FieldError, limits::NAME_MAX, names::name_fault};
use punctual_workflows::operations::{
    feeds::{self, Owner},
    import::{self, Import, Imported},
};

use super::{Tab, edit::Subjects, tabs};
use crate::{
    App, Shared,
    answer::{self, Page, Refusal, page, see_other},
    editor::{Field, Form, Kind, LARGE_FORM, Once, Part, shown_once},
    form::{Fields, Signed},
    frame::{Frame, Visit},
    words::counted,
};

/// Names that a field offers; others can be written.
const OFFERED: i64 = 200;

pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/operations/calendars", get(show))
        .route("/operations/calendars/link", post(link))
        .route("/operations/calendars/import", post(take))
        .layer(DefaultBodyLimit::max(LARGE_FORM))
}

#[derive(Template)]
#[template(path = "operations_calendars.html")]
struct CalendarsPage {
    frame: Frame,
    tabs: Vec<Tab>,
    link: Form,
    taking: Form,
    done: Option<String>,
    /// What was not taken, with its line.
    skipped: Vec<(usize, String)>,
}

impl CalendarsPage {
    async fn new(app: &App, visit: &Visit) -> Result<Self, Refusal> {
        let reach = visit.viewer.by.reach();
        let mut reader = app.engine.store.read_for_people().await?;
        let known = people::page(&mut reader.conn(), &reach, "", OFFERED).await?;
        let groups = organisations::page(&mut reader.conn(), &reach, "", OFFERED).await?;
        drop(reader);
        let known: Vec<(String, String)> = known.into_iter().map(|row| (row.id, row.name)).collect();
        let groups: Vec<(String, String)> = groups.into_iter().map(|row| (row.id, row.name)).collect();
        let owners = Kind::choice(&[("organisation", "an organisation"), ("person", "a person")]);
        let link = vec![
            Field::new("/owner", "Calendar of", owners).wide(),
            Field::text("/link/organisation", "Organisation")
                .offering(groups.clone())
                .only("/owner=organisation"),
            Field::text("/link/person", "Person").offering(known.clone()).person().only("/owner=person"),
        ];
        let taking = vec![
            Field::text("/creator", "Creator")
                .offering(known)
                .person()
                .required()
                .hint("Used where the organiser is not known."),
            Field::text("/organisation", "Organisation")
                .offering(groups)
                .hint("Its zone and messages apply."),
            Field::new("/text", "Calendar file", Kind::Area)
                .required()
                .hint("The text of an .ics file. Events that were imported before are updated."),
        ];
        Ok(Self {
            frame: visit.frame(app, "Calendars", "/operations").await?,
            tabs: tabs(visit.zone.day(Visit::now(app)), "Calendars"),
            link: Form::of(vec![Part::new("Link", link)]),
            taking: Form::of(vec![Part::new("Import", taking)]),
            done: None,
            skipped: Vec::new(),
        })
    }
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    visit.must_author()?;
    let mut shown = CalendarsPage::new(&app, &visit).await?;
    let draft = serde_json::json!({ "owner": "organisation" });
    shown.link = shown.link.showing(&draft);
    if Fields::of_query(&uri).text("done") == "ended" {
        shown.done = Some("The link has ended; calendar programs cannot use it any more.".to_owned());
    }
    page(&shown)
}

/// Makes a link, which ends an older one, or ends it.
async fn link(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    visit.must_author()?;
    let kind = if fields.text("/owner") == "person" { "person" } else { "organisation" };
    let at = format!("/link/{kind}");
    let id = fields.text(&at);
    let owner = match kind {
        "person" => Owner::Person(id.to_owned()),
        _ => Owner::Organisation(id.to_owned()),
    };
    let by = &visit.viewer.by;
    let done = match (name_fault(id, NAME_MAX, &|| at.clone()), fields.text("do")) {
        (Some(fault), _) => Err(vec![fault]),
        (None, "end") => match feeds::end(&app.engine, by, kind, id).await {
            Ok(()) => return see_other("/operations/calendars?done=ended"),
            Err(error) => Err(missing(error.into(), &at, "There is no link to this calendar.")?),
        },
        (None, _) => match feeds::make(&app.engine, by, &owner).await {
            Ok(made) => Ok(made),
            Err(error) => Err(missing(error.into(), &at, &format!("There is no such {kind}."))?),
        },
    };
    match done {
        Ok((_, secret)) => {
            let once = Once {
                title: format!("Calendar of {id}"),
                label: "Path of the calendar",
                secret: format!("/calendars/{secret}.ics"),
                hint: "Put the address of this server before it, and subscribe to it in a calendar program. Anyone with the link can read the calendar.".to_owned(),
            };
            shown_once::<Subjects>(&app, &visit, once).await
        }
        Err(faults) => {
            let mut shown = CalendarsPage::new(&app, &visit).await?;
            shown.link = shown.link.typed(&fields).with_faults(&faults);
            answer::form(&shown, true)
        }
    }
}

/// What is not there, at its field; any other refusal stays one.
fn missing(refusal: Refusal, at: &str, detail: &str) -> Result<Vec<FieldError>, Refusal> {
    let problem = refusal.into_problem();
    match problem.code {
        Code::NotFound => Ok(vec![FieldError::new(at, Code::NotFound, detail)]),
        _ => Err(problem.into()),
    }
}

async fn take(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    visit.must_author()?;
    let (creator, text) = (fields.text("/creator"), fields.text("/text"));
    let mut faults: Vec<FieldError> =
        name_fault(creator, NAME_MAX, &|| "/creator".to_owned()).into_iter().collect();
    if !text.contains("BEGIN:VCALENDAR") {
        let detail = "This is not a calendar file; one begins with BEGIN:VCALENDAR.";
        faults.push(FieldError::new("/text", Code::ImportInvalid, detail));
    }
    let mut shown = CalendarsPage::new(&app, &visit).await?;
    if !faults.is_empty() {
        shown.taking = shown.taking.typed(&fields).with_faults(&faults);
        return answer::form(&shown, true);
    }
    // Whoever is limited to business units makes things in the first of them.
    let unit = visit.viewer.unit_or_first("");
    let wanted = Import {
        creator: creator.to_owned(),
        organisation: Some(fields.text("/organisation").to_owned()).filter(|id| !id.is_empty()),
        business_unit: app.engine.unit_for(&visit.viewer.by, unit, "").await?,
    };
    let done = import::import(&app.engine, &visit.viewer.by, &wanted, text).await?;
    shown.done = Some(said(&done));
    shown.skipped = done.skipped.into_iter().map(|one| (one.line, one.reason)).collect();
    page(&shown)
}

fn said(done: &Imported) -> String {
    let of = |count: usize, word: &str| {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        format!("{} {word}", counted(count, "event or task", "events and tasks"))
    };
    let parts = [
        of(done.created, "made"),
        of(done.updated, "changed"),
        of(done.unchanged, "as they were"),
        of(done.removed, "removed"),
    ];
    format!("{}.", parts.join(", "))
}

//! The editor of one setting: fields, or the definition as text; what saving would do is shown before it is done, and so is
//! what removing would.

use std::collections::BTreeMap;

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    http::Uri,
    routing::{get, post},
};
use punctual_store::reminders::settings::{self, SettingRow};
use punctual_wire::{Code, FieldError, Problem};
use punctual_workflows::reminders::{
    commands::{self, Draft},
    evaluate::Plan,
};
use serde_json::{Value, json};

use super::form::{Form, TESTS, by_field};
use crate::{
    App, Shared,
    answer::{Page, Refusal, page, see_other},
    form::{Fields, Signed},
    frame::{Frame, Visit},
    pages::{
        confirm::{Confirm, Item},
        entries::{self, faults},
    },
    words::{self, counted},
};

/// The longest definition that the editor takes; a form has to fit around it.
const DEFINITION_MAX: usize = 48 << 10;

pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/reminders/new", get(show_new))
        .route("/reminders/plan", post(plan))
        .route("/reminders/save", post(save))
        .route("/reminders/remove", post(remove))
        .route("/reminders/{id}", get(show_one))
        .route("/reminders/{id}/remove", get(ask_to_remove))
}

#[derive(Template)]
#[template(path = "reminder.html")]
struct EditorPage {
    frame: Frame,
    here: String,
    id: String,
    version: String,
    tabs: Vec<(String, &'static str, bool)>,
    what: Entered,
    /// By field of the form; the empty name has what belongs to none.
    by_field: BTreeMap<String, String>,
    faults: Vec<FieldError>,
    plan: Option<PlanView>,
    may_author: bool,
    is_new: bool,
    kept_as_text: bool,
}

/// What was entered, and how.
#[derive(Clone)]
enum Entered {
    Form(Form),
    Text(String),
}

impl Entered {
    fn read(fields: &Fields) -> Self {
        match fields.text("as") {
            "form" => Self::Form(Form::read(fields)),
            _ => Self::Text(fields.text("definition").to_owned()),
        }
    }

    fn definition(&self) -> Result<Value, Vec<FieldError>> {
        let text = match self {
            Self::Form(form) => return Ok(form.definition()),
            Self::Text(text) => text,
        };
        if text.len() > DEFINITION_MAX {
            return Err(vec![FieldError::new("", Code::OutOfRange, "The definition is too long.")]);
        }
        punctual_wire::strict::read(text.as_bytes()).map_err(faults)
    }
}

impl EditorPage {
    /// What the texts of a message see, in one line.
    fn variables(&self) -> String {
        punctual_workflows::inline::REMINDER.hint()
    }

    fn text(&self) -> Option<&str> {
        match &self.what {
            Entered::Text(text) => Some(text),
            Entered::Form(_) => None,
        }
    }

    /// The value of a field.
    fn v(&self, name: &str) -> &str {
        match &self.what {
            Entered::Form(form) => form.get(name),
            Entered::Text(_) => "",
        }
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.v(name) == value
    }

    fn fault(&self, name: &str) -> Option<&String> {
        self.by_field.get(name)
    }

    /// The tests of the filter, each with the names of its fields and what is in them.
    fn tests(&self) -> Vec<TestView> {
        (0..TESTS).map(|n| self.test("test", n)).collect()
    }

    fn child_test(&self) -> TestView {
        self.test("child", 0)
    }

    fn test(&self, prefix: &str, n: usize) -> TestView {
        let name = |part: &str| format!("{prefix}{n}{part}");
        let op = self.v(&name("Op"));
        TestView {
            field: (name("Field"), self.v(&name("Field")).to_owned()),
            ops: OPS.map(|word| (word, word == op || (op.is_empty() && word == "=="))).into(),
            op: name("Op"),
            value: (name("Value"), self.v(&name("Value")).to_owned()),
            fault: self.fault(&name("Field")).cloned(),
        }
    }
}

struct TestView {
    field: (String, String),
    op: String,
    ops: Vec<(&'static str, bool)>,
    value: (String, String),
    fault: Option<String>,
}

const OPS: [&str; 13] = [
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "in",
    "notIn",
    "contains",
    "startsWith",
    "endsWith",
    "exists",
    "notExists",
];

/// What a change comes to, in figures.
struct PlanView {
    sentence: String,
    tiles: [(&'static str, String); 5],
}

impl PlanView {
    fn new(plan: &Plan) -> Self {
        let number = |count: u64| words::grouped(i64::try_from(count).unwrap_or(i64::MAX));
        let sentence = match (plan.create, plan.deactivate, plan.moved) {
            (0, 0, 0) => "Every planned reminder stays as it is.".to_owned(),
            _ => "Saving does exactly this; what was sent stays on record.".to_owned(),
        };
        Self {
            sentence,
            tiles: [
                ("created", number(plan.create)),
                ("taken back", number(plan.deactivate)),
                ("moved", number(plan.moved)),
                ("in a gap of the clock", number(plan.gap)),
                ("in a doubled hour", number(plan.overlap)),
            ],
        }
    }
}

/// What the editor of texts starts with.
const SAMPLE: &str = r#"{
  "name": "First aid",
  "sourceType": "document",
  "triggerKey": "first-aid-expiry",
  "kind": "dateBased",
  "date": { "field": "/expiresOn", "offsetsDays": [30, 7, 1], "sendTime": "09:00" },
  "filter": { "questionId": "state.kind", "op": "==", "value": "first-aid" },
  "recipients": { "field": "/email" },
  "delivery": { "channel": "email:default" },
  "active": true
}"#;

const KINDS: [(&str, &str); 4] = [
    ("dateBased", "Before a date"),
    ("recurring", "Every year or month"),
    ("threshold", "At a threshold"),
    ("json", "As JSON"),
];

async fn show_new(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    visit.must_author()?;
    let asked = Fields::of_query(&uri).text("kind").to_owned();
    let what = match asked.as_str() {
        "json" => Entered::Text(SAMPLE.to_owned()),
        kind @ ("recurring" | "threshold") => Entered::Form(Form::new(kind)),
        _ => Entered::Form(Form::new("dateBased")),
    };
    editor(&app, &visit, Editing { what, ..Editing::default() }).await
}

async fn show_one(State(app): State<Shared>, visit: Visit, Path(id): Path<String>, uri: Uri) -> Page {
    let row = found(&app, &visit, &id).await?;
    let definition: Value = serde_json::from_str(&row.definition).unwrap_or_default();
    let form = Form::of(&definition).filter(|_| Fields::of_query(&uri).text("as") != "json");
    let what = form.map_or_else(
        || Entered::Text(serde_json::to_string_pretty(&definition).unwrap_or_default()),
        Entered::Form,
    );
    editor(&app, &visit, Editing { id, version: row.version.to_string(), what, ..Editing::default() }).await
}

/// Shows what saving would do. It changes nothing.
async fn plan(State(app): State<Shared>, form: Signed) -> Page {
    let Signed { visit, fields } = form;
    visit.must_author()?;
    let mut editing = Editing::read(&fields);
    match draft(&app, &visit, &editing).await? {
        Ok(draft) => {
            let plan = draft.plan(&app.engine, &app.reminders).await?;
            editing.plan = Some(PlanView::new(&plan));
        }
        Err(faults) => editing.faults = faults,
    }
    editor(&app, &visit, editing).await
}

async fn save(State(app): State<Shared>, form: Signed) -> Page {
    let Signed { visit, fields } = form;
    visit.must_author()?;
    let editing = Editing::read(&fields);
    match draft(&app, &visit, &editing).await? {
        Ok(draft) => {
            draft.save(&app.engine, &app.reminders, &visit.viewer.by).await?;
            see_other("/reminders?saved=yes")
        }
        Err(faults) => editor(&app, &visit, Editing { faults, ..editing }).await,
    }
}

/// Says what removing a setting takes back, before it is done.
async fn ask_to_remove(State(app): State<Shared>, visit: Visit, Path(id): Path<String>) -> Page {
    visit.must_author()?;
    let row = touchable(&app, &visit, &id).await?;
    let mut definition: Value = serde_json::from_str(&row.definition).unwrap_or_default();
    definition["active"] = json!(false);
    let version = row.version.to_string();
    let (name, pill) = (row.name.clone(), super::pill_of(&row));
    let by = &visit.viewer.by;
    let off = Draft::read(&app.engine, &app.reminders, by, id.clone(), Some(row), &definition).await.ok();
    let taken = match off {
        Some(off) => off.plan(&app.engine, &app.reminders).await?.deactivate,
        None => 0,
    };
    let taken = i64::try_from(taken).unwrap_or(i64::MAX);
    page(&Confirm {
        frame: visit.frame(&app, &format!("Remove {name}?"), "/reminders").await?,
        sentence: format!(
            "{} will be taken back. What was sent stays on record.",
            counted(taken, "planned reminder", "planned reminders")
        ),
        left_alone: None,
        items: vec![Item {
            link: format!("/reminders/{id}"),
            note: format!("version {version}"),
            title: name,
            pill,
        }],
        action: "/reminders/remove",
        hidden: vec![("id", id.clone()), ("version", version.clone())],
        button: Some("Remove the setting".to_owned()),
        is_destructive: true,
        back: format!("/reminders/{id}"),
    })
}

async fn remove(State(app): State<Shared>, form: Signed) -> Page {
    let Signed { visit, fields } = form;
    visit.must_author()?;
    let id = fields.text("id");
    let row = touchable(&app, &visit, id).await?;
    if row.version.to_string() != fields.text("version") {
        return Err(Problem::stale_version().into());
    }
    let by = visit.viewer.by.because(Some(fields.text("reason")));
    commands::remove(&app.engine, &app.reminders, &by, row).await?;
    see_other("/reminders?removed=yes")
}

/// What is being edited.
struct Editing {
    id: String,
    version: String,
    what: Entered,
    faults: Vec<FieldError>,
    plan: Option<PlanView>,
}

impl Default for Editing {
    fn default() -> Self {
        let (id, version, faults) = (String::new(), String::new(), Vec::new());
        Self { id, version, what: Entered::Text(String::new()), faults, plan: None }
    }
}

impl Editing {
    fn read(fields: &Fields) -> Self {
        Self {
            id: fields.text("id").to_owned(),
            version: fields.text("version").to_owned(),
            what: Entered::read(fields),
            ..Self::default()
        }
    }
}

/// The setting as it was entered, or what is wrong with it.
async fn draft(
    app: &App,
    visit: &Visit,
    editing: &Editing,
) -> Result<Result<Draft, Vec<FieldError>>, Refusal> {
    let before = match editing.id.as_str() {
        "" => None,
        id => Some(found(app, visit, id).await?),
    };
    if before.as_ref().is_some_and(|row| row.version.to_string() != editing.version) {
        return Err(Problem::stale_version().into());
    }
    let value = match editing.what.definition() {
        Ok(value) => value,
        Err(faults) => return Ok(Err(faults)),
    };
    let id = match editing.id.as_str() {
        "" => app.engine.random.ordered_uuid(app.engine.clock.now()).to_string(),
        id => id.to_owned(),
    };
    let read = Draft::read(&app.engine, &app.reminders, &visit.viewer.by, id, before, &value).await;
    Ok(read.map_err(entries::refused))
}

async fn found(app: &App, visit: &Visit, id: &str) -> Result<SettingRow, Refusal> {
    let mut reader = app.engine.store.read_for_people().await?;
    let row =
        settings::by_ids(&mut reader.conn(), &visit.viewer.by.reach(), vec![id.to_owned()]).await?.pop();
    let row = row.filter(|row| !row.deleted);
    row.ok_or_else(|| Problem::not_found("reminder setting", id).into())
}

async fn touchable(app: &App, visit: &Visit, id: &str) -> Result<SettingRow, Refusal> {
    let row = found(app, visit, id).await?;
    if visit.viewer.by.may_touch(row.business_unit.as_deref()) {
        return Ok(row);
    }
    Err(Problem::not_found("reminder setting", id).into())
}

async fn editor(app: &App, visit: &Visit, editing: Editing) -> Page {
    let Editing { id, version, what, faults, plan } = editing;
    let is_new = id.is_empty();
    let title = if is_new { "New reminder" } else { "Reminder setting" };
    let form = match &what {
        Entered::Form(form) => Some(form.get("kind").to_owned()),
        Entered::Text(_) => None,
    };
    let mut tabs: Vec<(String, &'static str, bool)> = Vec::new();
    let mut kept_as_text = false;
    if is_new {
        let current = form.as_deref().unwrap_or("json").to_owned();
        tabs.extend(KINDS.map(|(kind, name)| (format!("/reminders/new?kind={kind}"), name, kind == current)));
    } else {
        tabs.push((format!("/reminders/{id}"), "Fields", form.is_some()));
        tabs.push((format!("/reminders/{id}?as=json"), "As JSON", form.is_none()));
        // Somebody who did not ask for the text should know why there are no fields.
        kept_as_text = matches!(&what, Entered::Text(text) if serde_json::from_str::<Value>(text)
            .is_ok_and(|definition| Form::of(&definition).is_none()));
    }
    page(&EditorPage {
        frame: visit.frame(app, title, "/reminders").await?,
        here: if is_new { "/reminders/new".to_owned() } else { format!("/reminders/{id}") },
        by_field: if form.is_some() { by_field(&faults) } else { BTreeMap::new() },
        faults: if form.is_some() { Vec::new() } else { faults },
        id,
        version,
        tabs,
        what,
        plan,
        may_author: visit.viewer.may_author(),
        is_new,
        kept_as_text,
    })
}

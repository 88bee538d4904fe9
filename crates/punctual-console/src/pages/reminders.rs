//! Reminder settings: the list, and the editor that shows what a change would do before it is saved.

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    http::Uri,
    routing::{get, post},
};
use jiff::Timestamp;
use punctual_api::ReminderDraft;
use punctual_paths::reminders::{evaluate::Plan, reconcile::Report};
use punctual_store::reminders::{
    reconciliations,
    settings::{self, SettingRow},
};
use punctual_wire::{FieldError, Problem, keys::Scope};
use serde_json::Value;

use crate::{
    App, Shared,
    answer::{Page, Refusal, page, see_other},
    form::{Fields, Signed},
    frame::{Frame, Visit},
    links,
    times::When,
    words::{self, Pill, counted},
};

const ROWS: usize = 200;
/// The longest definition that the editor takes; a form has to fit around it.
const DEFINITION_MAX: usize = 48 << 10;

pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/reminders", get(show))
        .route("/reminders/new", get(show_new))
        .route("/reminders/plan", post(plan))
        .route("/reminders/save", post(save))
        .route("/reminders/{id}", get(show_one))
}

#[derive(Template)]
#[template(path = "reminders.html")]
struct RemindersPage {
    frame: Frame,
    sentence: String,
    rows: Vec<Row>,
    more: bool,
    may_author: bool,
    looks: Vec<Look>,
    done: Option<&'static str>,
}

struct Row {
    id: String,
    name: String,
    kind: &'static str,
    source_type: String,
    sources: String,
    unit: Option<String>,
    pill: Pill,
    summary: String,
    changed: When,
}

/// How far reconciliation has looked, for one provider.
struct Look {
    provider: String,
    when: Option<When>,
    note: String,
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let now = Visit::now(&app);
    let mut reader = app.engine.store.read().await?;
    let stored = settings::page(&mut reader.conn(), "", ROWS as i64 + 1).await?;
    let looked = reconciliations::all(&mut reader.conn()).await?;
    drop(reader);
    let more = stored.len() > ROWS;
    let seen = stored.into_iter().take(ROWS).filter(|row| visit.viewer.may_see(row.business_unit.as_deref()));
    let mut rows: Vec<Row> = seen.map(|row| shaped(row, &visit, now)).collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    let active = i64::try_from(rows.iter().filter(|row| row.pill.word == "active").count()).unwrap_or(0);
    let all = i64::try_from(rows.len()).unwrap_or(0);
    let sentence = match all {
        0 => String::new(),
        _ => format!("{}, {} active.", counted(all, "setting", "settings"), words::grouped(active)),
    };
    let looks = app.reminders.triggers.keys().map(|provider| {
        let row = looked.iter().find(|row| row.provider == provider);
        let report: Option<Report> = row.and_then(|row| serde_json::from_str(&row.report).ok());
        let note = report.map_or_else(String::new, |report| {
            format!(
                "{} sources looked at, {} created, {} moved, {} taken back",
                report.sources, report.created, report.moved, report.deactivated
            )
        });
        let at = row.and_then(|row| Timestamp::from_microsecond(row.last_run_at).ok());
        Look { provider: provider.to_owned(), when: at.map(|at| visit.zone.when(at, now)), note }
    });
    let saved = Fields::of_query(&uri).text("saved") == "yes";
    page(&RemindersPage {
        frame: visit.frame(&app, "Reminders", "/reminders").await?,
        sentence,
        looks: looks.collect(),
        rows,
        more,
        may_author: visit.viewer.may_author(),
        done: saved.then_some("The setting is saved, and what it plans is being brought in line."),
    })
}

fn shaped(row: SettingRow, visit: &Visit, now: Timestamp) -> Row {
    let definition: Value = serde_json::from_str(&row.definition).unwrap_or_default();
    let changed = Timestamp::from_microsecond(row.updated_at).unwrap_or_default();
    Row {
        summary: in_words(&row.kind, &definition),
        kind: match row.kind.as_str() {
            "dateBased" => "by date",
            "recurring" => "recurring",
            "threshold" => "by threshold",
            _ => "its own",
        },
        pill: if row.active {
            Pill { word: "active", class: "good" }
        } else {
            Pill { word: "switched off", class: "muted" }
        },
        changed: visit.zone.when(changed, now),
        id: row.id,
        name: row.name,
        sources: format!("/sources{}", links::query([("type", row.source_type.as_str())])),
        source_type: row.source_type,
        unit: row.business_unit,
    }
}

/// What a setting does, in one line.
fn in_words(kind: &str, definition: &Value) -> String {
    let text =
        |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    match kind {
        "dateBased" => {
            let offsets = definition.pointer("/date/offsetsDays").and_then(Value::as_array);
            let days: Vec<String> = offsets
                .into_iter()
                .flatten()
                .filter_map(Value::as_i64)
                .map(|days| match days {
                    0 => "on the day".to_owned(),
                    1.. => format!("{} before", counted(days, "day", "days")),
                    _ => format!("{} after", counted(-days, "day", "days")),
                })
                .collect();
            format!("{} {}", days.join(", "), text("/date/field"))
        }
        "recurring" => format!(
            "every {} after {}",
            definition.pointer("/recurring/every").and_then(Value::as_str).unwrap_or("year"),
            text("/recurring/field")
        ),
        "threshold" => {
            let value = definition.pointer("/threshold/value").cloned().unwrap_or_default();
            format!("{} {value}, {}", text("/threshold/op"), text("/threshold/firingPolicy"))
        }
        _ => String::new(),
    }
}

#[derive(Template)]
#[template(path = "reminder.html")]
struct EditorPage {
    frame: Frame,
    id: String,
    version: String,
    definition: String,
    faults: Vec<FieldError>,
    plan: Option<PlanView>,
    may_author: bool,
    is_new: bool,
}

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

/// What the editor starts with.
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

async fn show_new(State(app): State<Shared>, visit: Visit) -> Page {
    must_author(&visit)?;
    editor(&app, &visit, String::new(), String::new(), SAMPLE.to_owned(), Vec::new(), None).await
}

async fn show_one(State(app): State<Shared>, visit: Visit, Path(id): Path<String>) -> Page {
    let row = found(&app, &visit, &id).await?;
    let definition: Value = serde_json::from_str(&row.definition).unwrap_or_default();
    let text = serde_json::to_string_pretty(&definition).unwrap_or_default();
    editor(&app, &visit, id, row.version.to_string(), text, Vec::new(), None).await
}

/// Shows what saving would do. It changes nothing.
async fn plan(State(app): State<Shared>, form: Signed) -> Page {
    let Signed { visit, fields } = form;
    must_author(&visit)?;
    let (id, version, text) = entered(&fields);
    match draft(&app, &visit, &id, &version, &text).await? {
        Ok(draft) => {
            let plan = draft.plan(&app.engine, &app.reminders).await?;
            editor(&app, &visit, id, version, text, Vec::new(), Some(PlanView::new(&plan))).await
        }
        Err(faults) => editor(&app, &visit, id, version, text, faults, None).await,
    }
}

async fn save(State(app): State<Shared>, form: Signed) -> Page {
    let Signed { visit, fields } = form;
    must_author(&visit)?;
    let (id, version, text) = entered(&fields);
    match draft(&app, &visit, &id, &version, &text).await? {
        Ok(draft) => match draft.save(&app.engine, &app.reminders, visit.viewer.actor()).await? {
            Some(_) => see_other("/reminders?saved=yes"),
            None => Err(Problem::stale_version().into()),
        },
        Err(faults) => editor(&app, &visit, id, version, text, faults, None).await,
    }
}

fn entered(fields: &Fields) -> (String, String, String) {
    (fields.text("id").to_owned(), fields.text("version").to_owned(), fields.text("definition").to_owned())
}

/// The setting as it was entered, or what is wrong with it.
async fn draft(
    app: &App,
    visit: &Visit,
    id: &str,
    version: &str,
    text: &str,
) -> Result<Result<ReminderDraft, Vec<FieldError>>, Refusal> {
    if text.len() > DEFINITION_MAX {
        return Ok(Err(vec![FieldError::new(
            "",
            punctual_wire::Code::OutOfRange,
            "The definition is too long.",
        )]));
    }
    let before = if id.is_empty() { None } else { Some(found(app, visit, id).await?) };
    let is_stale = before.as_ref().is_some_and(|row| row.version.to_string() != version);
    if is_stale {
        return Err(Problem::stale_version().into());
    }
    let value = match punctual_wire::strict::read(text.as_bytes()) {
        Ok(value) => value,
        Err(problem) => return Ok(Err(faults(problem))),
    };
    let id = match id {
        "" => app.engine.random.ordered_uuid(app.engine.clock.now()).to_string(),
        id => id.to_owned(),
    };
    let unit_for = |unit: Option<String>| {
        if visit.viewer.may_touch(unit.as_deref()) {
            return Ok(unit);
        }
        let detail = "`businessUnit` must be one that the key is for.";
        Err(FieldError::new("/businessUnit", punctual_wire::Code::OutOfRange, detail).into())
    };
    Ok(ReminderDraft::read(&app.reminders, id, before, &value, unit_for).map_err(faults))
}

/// The fields at fault; the problem itself where it names none.
fn faults(problem: Problem) -> Vec<FieldError> {
    if problem.errors.is_empty() {
        return vec![FieldError::new("", problem.code, problem.detail)];
    }
    problem.errors
}

async fn found(app: &App, visit: &Visit, id: &str) -> Result<SettingRow, Refusal> {
    let mut reader = app.engine.store.read().await?;
    let row = settings::by_ids(&mut reader.conn(), vec![id.to_owned()]).await?.pop();
    let row = row.filter(|row| !row.deleted && visit.viewer.may_see(row.business_unit.as_deref()));
    row.ok_or_else(|| Problem::not_found("reminder setting", id).into())
}

fn must_author(visit: &Visit) -> Result<(), Refusal> {
    if visit.viewer.may_author() {
        Ok(())
    } else {
        Err(Problem::scope_missing(Scope::Author.as_str()).into())
    }
}

async fn editor(
    app: &App,
    visit: &Visit,
    id: String,
    version: String,
    definition: String,
    faults: Vec<FieldError>,
    plan: Option<PlanView>,
) -> Page {
    let is_new = id.is_empty();
    let title = if is_new { "New reminder" } else { "Reminder setting" };
    page(&EditorPage {
        frame: visit.frame(app, title, "/reminders").await?,
        id,
        version,
        definition,
        faults,
        plan,
        may_author: visit.viewer.may_author(),
        is_new,
    })
}

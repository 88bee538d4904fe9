//! Retention: how long is kept, what the purge did last, and a purge by hand.
//!
//! A change is planned first: it says how many rows the next purge would take. What the configuration of the server sets is shown and
//! not changed here.

use askama::Template;
use axum::{
    Router,
    extract::State,
    http::Uri,
    routing::{get, post},
};
use punctual_engine::{CommandError, EngineError, RetentionSettings, WindowChange, commands::Seen};
use punctual_store::retention::{TABLES, Window};
use punctual_wire::{FieldError, Problem};
use serde_json::{Map, Value};

use crate::{
    App, Shared,
    answer::{Page, Refusal, see_other},
    editor::{Done, Field, Form, Kind, Listing, Notice, Part, Refused, Resource, Stored, shown, version_of},
    form::{Fields, Signed},
    frame::Visit,
    times::When,
    words::{counted, grouped},
};

/// There is one.
const KEY: &str = "Retention";

pub struct Retention;

pub fn pages() -> Router<Shared> {
    Router::new().route("/settings/retention", get(show)).route("/settings/retention/purge", post(purge))
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let text = match Fields::of_query(&uri).text("done") {
        "purged" => Some("The purge has run."),
        "saved" => Some("Saved. It applies from the next purge on."),
        _ => None,
    };
    let notice = text.map(|text| Notice { text: text.to_owned(), warn: false });
    shown::<Retention>(&app, &visit, KEY, notice).await
}

async fn purge(State(app): State<Shared>, signed: Signed) -> Page {
    let Signed { visit, fields } = signed;
    visit.must_admin()?;
    app.engine.purge_by(&visit.viewer.by, fields.text("confirm") == "yes").await?;
    see_other("/settings/retention?done=purged")
}

#[derive(Template)]
#[template(path = "settings_retention.html")]
struct Below {
    token: String,
    /// What the configuration sets: title, time and setting.
    fixed: Vec<(&'static str, String, &'static str)>,
    /// Table, rule and why.
    tables: Vec<(&'static str, String, &'static str)>,
    last: Option<Last>,
    may_purge: bool,
}

struct Last {
    at: When,
    removed: String,
    files: String,
    held_back: Option<String>,
}

#[derive(Template)]
#[template(path = "settings_retention_plan.html")]
struct Plan {
    changes: Vec<PlannedChange>,
}

struct PlannedChange {
    title: &'static str,
    from: String,
    to: String,
    rows: String,
}

fn in_days(days: Option<u64>) -> String {
    days.map_or_else(
        || "for good".to_owned(),
        |days| counted(i64::try_from(days).unwrap_or(i64::MAX), "day", "days"),
    )
}

fn planned(change: WindowChange) -> PlannedChange {
    let rows = match (change.rows, change.is_more) {
        (None, _) => "counted when the purge runs".to_owned(),
        (Some(0), false) => "nothing".to_owned(),
        (Some(rows), false) => counted(rows, "row", "rows"),
        (Some(rows), true) => format!("{} rows or more", grouped(rows)),
    };
    PlannedChange { title: change.window.title(), from: in_days(change.from), to: in_days(change.to), rows }
}

/// The settings of a request.
fn read(draft: &Value) -> Result<RetentionSettings, Vec<FieldError>> {
    let wanted = punctual_wire::retention::RetentionSettings::read(draft, "")?;
    let wanted = serde_json::to_value(wanted).unwrap_or_default();
    let days = |window: Window| wanted[window.field()].as_u64();
    Ok(Window::ALL
        .into_iter()
        .fold(RetentionSettings::default(), |settings, window| settings.with(window, days(window))))
}

/// What is stored, without what the configuration sets.
fn request(app: &App, settings: &RetentionSettings) -> Value {
    let own = Window::ALL.into_iter().filter(|window| !app.engine.is_window_fixed(*window));
    let pairs = own.filter_map(|window| Some((window.field().to_owned(), settings.of(window)?.into())));
    Value::Object(pairs.collect::<Map<String, Value>>())
}

impl Resource for Retention {
    const HOME: &'static str = "/settings/retention";
    const ABOVE: &'static str = "/settings";
    const ONE: &'static str = "retention";
    const MANY: &'static str = "Settings";
    const KEY: &'static str = "";
    const PLANNED: bool = true;

    fn at(_: &str) -> String {
        Self::HOME.to_owned()
    }

    fn may_change(visit: &Visit) -> Result<(), Refusal> {
        visit.must_admin()
    }

    async fn list(_: &App, _: &Visit, _: &Fields) -> Result<Listing, Refusal> {
        Ok(Listing::default())
    }

    async fn stored(app: &App, _: &Visit, _: &str) -> Result<Option<Stored>, Refusal> {
        let draft = request(app, &app.engine.retention_settings().await?);
        let sentence = match app.engine.last_purge().await? {
            Some(run) => {
                let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
                let (rows, files) = (number(run.removed), number(run.files));
                let (rows, files) = (counted(rows, "row", "rows"), counted(files, "file", "files"));
                format!("The last purge removed {rows} and {files}.")
            }
            None => "Nothing has been purged yet.".to_owned(),
        };
        let version = version_of(&draft);
        Ok(Some(Stored { version, draft, key: KEY.to_owned(), secrets: Vec::new(), sentence }))
    }

    async fn form(app: &App, _: &Visit, _: &Value, _: Option<&Stored>) -> Result<Form, Refusal> {
        let defaults = app.engine.windows_with(&RetentionSettings::default());
        let field = |window: Window| {
            let kept = in_days(defaults.days(window));
            let hint = format!("Days after the end; {kept} if empty.");
            let field = Field::new(format!("/{}", window.field()), window.title(), Kind::Number);
            field.hint(hint).placeholder(kept)
        };
        let own = Window::ALL.into_iter().filter(|window| !app.engine.is_window_fixed(*window));
        let fields: Vec<Field> = own.map(field).collect();
        let parts =
            if fields.is_empty() { Vec::new() } else { vec![Part::new("How long data is kept", fields)] };
        Ok(Form::of(parts))
    }

    async fn check(app: &App, _: &Visit, seen: Seen, draft: &Value) -> Result<(), Refused> {
        let wanted = read(draft)?;
        app.engine.check_retention(&wanted)?;
        unchanged(app, seen).await.map(drop)
    }

    async fn save(app: &App, visit: &Visit, seen: Seen, draft: Value) -> Result<Done, Refused> {
        let wanted = read(&draft)?;
        let stored = unchanged(app, seen).await?;
        app.engine.save_retention(&visit.viewer.by, Some(&stored), &wanted).await?;
        Ok(Done::Saved { key: KEY.to_owned(), note: "saved" })
    }

    async fn remove(_: &App, _: &Visit, _: &str) -> Result<(), CommandError> {
        Err(CommandError::Engine(EngineError::NotFound))
    }

    async fn plan(app: &App, _: &Visit, _: Option<&Stored>, draft: &Value) -> Result<String, Refusal> {
        let wanted = read(draft).map_err(|faults| Refusal::from(Problem::of_fields(faults)))?;
        let changes = app.engine.plan_retention(&wanted).await?;
        let plan = Plan { changes: changes.into_iter().map(planned).collect() };
        plan.render().map_err(|error| Refusal::internal(&error))
    }

    async fn below(
        app: &App,
        visit: &Visit,
        _: Option<&Stored>,
        _: &Value,
        _: Option<&Fields>,
    ) -> Result<String, Refusal> {
        let windows = app.engine.windows().await?;
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let last = app.engine.last_purge().await?.map(|run| Last {
            at: visit.zone.when(run.at, Visit::now(app)),
            removed: counted(number(run.removed), "row", "rows"),
            files: counted(number(run.files), "file", "files"),
            held_back: run.held_back.map(grouped),
        });
        let below = Below {
            fixed: Window::ALL
                .into_iter()
                .filter(|window| app.engine.is_window_fixed(*window))
                .map(|window| (window.title(), in_days(windows.days(window)), window.setting()))
                .collect(),
            token: visit.viewer.form_token(app.engine.random.as_ref()),
            tables: TABLES.iter().map(|one| (one.table, windows.rule_sentence(one), one.why)).collect(),
            last,
            may_purge: visit.viewer.may_define(),
        };
        below.render().map_err(|error| Refusal::internal(&error))
    }
}

/// What is stored, if it is what the form was opened on.
async fn unchanged(app: &App, seen: Seen) -> Result<RetentionSettings, Refused> {
    let stored = app.engine.retention_settings().await?;
    if seen != Seen::Version(version_of(&request(app, &stored))) {
        return Err(Refused::Stale);
    }
    Ok(stored)
}

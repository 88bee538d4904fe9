//! The editor of one setting: fields picked from a real source, the message beside it as that source would get it, and what
//! saving would do before it is done; and so is what removing would.

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    routing::{get, post},
};
use punctual_engine::{CommandError, commands::Seen};
use punctual_model::{Audience, ReasonCode};
use punctual_store::{
    business_units, channels, lists,
    reminders::settings::{self, SettingRow},
    sources, templates,
};
use punctual_wire::{Code, Problem};
use punctual_workflows::reminders::{
    commands::{self, Draft},
    sample::{Sample, sample},
};
use serde_json::{Map, Value, json};

use super::{
    fields::{self, Offered},
    plan::PlanPart,
    sent, shape,
    triggers::{self, TRIGGERS},
};
use crate::{
    App, Shared,
    answer::{Page, Refusal, page, see_other},
    editor::{Done, Form, Listing, Refused, Resource, Stored, again, routes, shown, take_text},
    form::{Fields, Signed},
    frame::Visit,
    pages::confirm::{Confirm, Item},
    times::When,
    words::{self, counted},
};

/// Names that a field offers of each kind; others can be written.
const OFFERED: i64 = 200;
/// Sources that can be shown.
const SOURCES: i64 = 50;

pub struct Reminders;

pub fn pages() -> Router<Shared> {
    Router::new()
        .route("/reminders/preview", post(preview))
        .route("/reminders/remove", post(remove))
        .route("/reminders/{id}", get(show_one))
        .route("/reminders/{id}/remove", get(ask_to_remove))
        .merge(routes::<Reminders>())
}

impl Resource for Reminders {
    const HOME: &'static str = "/reminders";
    const ONE: &'static str = "reminder";
    const MANY: &'static str = "Reminders";
    const NAV: &'static str = "/reminders";
    const KEY: &'static str = "/id";
    const PLANNED: bool = true;

    fn at(key: &str) -> String {
        format!("/reminders/{key}")
    }

    fn after(_: &str, _: &str, _: &str) -> String {
        "/reminders?saved=yes".to_owned()
    }

    fn name(stored: &Stored) -> String {
        stored.draft["name"].as_str().unwrap_or_default().to_owned()
    }

    fn to_form(request: &Value) -> Value {
        shape::to_form(request)
    }

    fn of_form(draft: Value) -> Value {
        shape::of_form(draft)
    }

    fn place(pointer: &str) -> String {
        shape::place(pointer)
    }

    fn may_change(visit: &Visit) -> Result<(), Refusal> {
        visit.must_author()
    }

    async fn fresh(_: &App, _: &Visit, draft: &mut Map<String, Value>) {
        let usual = json!({ "kind": TRIGGERS[0].kind, "active": true,
            "recipients": { "field": "" }, "delivery": { "channel": "email:default" } });
        draft.extend(usual.as_object().cloned().unwrap_or_default());
        draft.extend(TRIGGERS.iter().map(|one| (one.part.to_owned(), (one.fresh)())));
    }

    async fn list(_: &App, _: &Visit, _: &Fields) -> Result<Listing, Refusal> {
        Ok(Listing::default())
    }

    async fn stored(app: &App, visit: &Visit, key: &str) -> Result<Option<Stored>, Refusal> {
        let Some(row) = find(app, visit, key).await? else { return Ok(None) };
        let mut draft: Value = serde_json::from_str(&row.definition).unwrap_or_default();
        draft["id"] = row.id.as_str().into();
        Ok(Some(Stored {
            draft,
            version: row.version,
            secrets: Vec::new(),
            sentence: words::sentence(&triggers::in_words(
                &row.kind,
                &serde_json::from_str(&row.definition).unwrap_or_default(),
            )),
            key: row.id,
        }))
    }

    async fn form(app: &App, visit: &Visit, draft: &Value, stored: Option<&Stored>) -> Result<Form, Refusal> {
        let offered = offered(app, visit, draft).await?;
        Ok(fields::form(draft, &offered, stored.is_some()))
    }

    async fn check(app: &App, visit: &Visit, seen: Seen, draft: &Value) -> Result<(), Refused> {
        read(app, visit, seen, draft).await.map(|_| ())
    }

    async fn save(app: &App, visit: &Visit, seen: Seen, draft: Value) -> Result<Done, Refused> {
        let draft = read(app, visit, seen, &draft).await?;
        let key = draft.save(&app.engine, &app.reminders, &visit.viewer.by).await?;
        Ok(Done::Saved { key, note: "saved" })
    }

    async fn remove(_: &App, _: &Visit, key: &str) -> Result<(), CommandError> {
        Err(CommandError::not_found("reminder setting", key.to_owned()))
    }

    async fn plan(app: &App, visit: &Visit, _: Option<&Stored>, draft: &Value) -> Result<String, Refusal> {
        let draft = match read(app, visit, Seen::Anything, draft).await {
            Ok(draft) => draft,
            Err(Refused::Other(refusal)) => return Err(refusal),
            Err(_) => return Ok(String::new()),
        };
        let plan = draft.plan(&app.engine, &app.reminders).await?;
        let outlook = draft.outlook(&app.engine, &app.reminders).await?;
        let part = PlanPart::new(&plan, outlook, visit, app);
        part.render().map_err(|error| Refusal::internal(&error))
    }

    async fn beside(
        app: &App,
        visit: &Visit,
        _: Option<&Stored>,
        draft: &Value,
        typed: Option<&Fields>,
    ) -> Result<String, Refusal> {
        let chosen = typed.map(|fields| fields.text("/sample").to_owned()).unwrap_or_default();
        let part = MessagePart::of(app, visit, draft, &chosen).await?;
        part.render().map_err(|error| Refusal::internal(&error))
    }

    async fn below(
        app: &App,
        visit: &Visit,
        stored: Option<&Stored>,
        _: &Value,
        _: Option<&Fields>,
    ) -> Result<String, Refusal> {
        let Some(stored) = stored else { return Ok(String::new()) };
        let sent = sent::newest(app, visit, &stored.key).await?;
        let remove = match visit.viewer.may_author() {
            true => RemovePart { id: stored.key.clone() }.render(),
            false => Ok(String::new()),
        };
        Ok(sent + &remove.map_err(|error| Refusal::internal(&error))?)
    }
}

#[derive(Template)]
#[template(
    source = r#"<p class="acts row-acts"><a class="button" href="/reminders/{{ id }}/remove">Remove…</a></p>"#,
    ext = "html"
)]
struct RemovePart {
    id: String,
}

/// The setting that a request asks for.
async fn read(app: &App, visit: &Visit, seen: Seen, draft: &Value) -> Result<Draft, Refused> {
    let mut value = draft.clone();
    let id = take_text(&mut value, "id");
    let by = &visit.viewer.by;
    let before = match id.as_str() {
        "" => None,
        id => Some(found(app, visit, id).await.map_err(Refused::Other)?),
    };
    if let Some(row) = &before {
        seen.check(Some(row.version), &row.id)?;
    }
    // Whoever is limited to business units makes things in the first of them.
    if before.is_none() && value.get("businessUnit").is_none() && value.is_object() {
        let unit = visit.viewer.unit_or_first("");
        if let Some(unit) = unit {
            value["businessUnit"] = unit.into();
        }
    }
    let id = match before {
        Some(_) => id,
        None => app.engine.random.ordered_uuid(app.engine.clock.now()).to_string(),
    };
    Ok(Draft::read(&app.engine, &app.reminders, by, id, before, &value).await?)
}

async fn offered(app: &App, visit: &Visit, draft: &Value) -> Result<Offered, Refusal> {
    let reach = visit.viewer.by.reach();
    let mut reader = app.engine.store.read_for_people().await?;
    let pair = |key: String| (key, String::new());
    let source_type = draft["sourceType"].as_str().unwrap_or_default();
    let rows = match source_type {
        "" | shape::OTHER => Vec::new(),
        kind => sources::page(&mut reader.conn(), &reach, kind, "", SOURCES).await?,
    };
    let chosen = draft["sample"].as_str().unwrap_or_default();
    let row = rows.iter().find(|row| row.source_id == chosen).or(rows.first());
    let state: Value = row.and_then(|row| serde_json::from_str(&row.state).ok()).unwrap_or_default();
    let named = |row: &sources::SourceRow| {
        let state: Value = serde_json::from_str(&row.state).unwrap_or_default();
        let name =
            ["name", "title", "number"].iter().find_map(|name| state[*name].as_str().map(str::to_owned));
        let shown = match name {
            Some(name) => format!("{source_type} {}: {name}", row.source_id),
            None => format!("{source_type} {}", row.source_id),
        };
        (row.source_id.clone(), shown)
    };
    Ok(Offered {
        types: sources::types(&mut reader.conn(), &reach).await?,
        units: business_units::page(&mut reader.conn(), &reach, "", OFFERED)
            .await?
            .into_iter()
            .map(|row| (row.id, row.name))
            .collect(),
        channels: channels::all(&mut reader.conn()).await?.into_iter().map(|row| pair(row.key)).collect(),
        lists: lists::page(&mut reader.conn(), &reach, "", OFFERED)
            .await?
            .into_iter()
            .map(|row| pair(row.name))
            .collect(),
        templates: templates::page(&mut reader.conn(), "", OFFERED)
            .await?
            .into_iter()
            .map(|row| row.name)
            .collect(),
        sources: rows.iter().map(named).collect(),
        state,
        variables: punctual_workflows::inline::REMINDER.hint(),
    })
}

/// The message as one source would get it.
#[derive(Template)]
#[template(path = "reminder_message.html")]
struct MessagePart {
    /// Why there is nothing to see.
    nothing: String,
    /// No source is known at all.
    is_first: bool,
    source: String,
    to: String,
    when: Option<When>,
    not: String,
    subject: String,
    body: String,
    fault: String,
    variables: Vec<(String, String)>,
}

impl MessagePart {
    async fn of(app: &App, visit: &Visit, draft: &Value, chosen: &str) -> Result<Self, Refusal> {
        let kind = draft["sourceType"].as_str().unwrap_or_default();
        let mut part = Self {
            nothing: String::new(),
            is_first: false,
            source: String::new(),
            to: String::new(),
            when: None,
            not: String::new(),
            subject: String::new(),
            body: String::new(),
            fault: String::new(),
            variables: Vec::new(),
        };
        let mut reader = app.engine.store.read_for_people().await?;
        let reach = visit.viewer.by.reach();
        let row = match (kind, chosen) {
            ("", _) => None,
            (kind, "") => sources::page(&mut reader.conn(), &reach, kind, "", 1).await?.pop(),
            (kind, id) => match sources::get(&mut reader.conn(), &reach, kind, id).await? {
                Some(row) => Some(row),
                None => sources::page(&mut reader.conn(), &reach, kind, "", 1).await?.pop(),
            },
        };
        let is_first = row.is_none() && sources::types(&mut reader.conn(), &reach).await?.is_empty();
        drop(reader);
        let Some(row) = row else {
            part.is_first = is_first;
            part.nothing = match kind {
                _ if is_first => {
                    "No source is known yet. With one, its fields can be picked and the message is shown here.".to_owned()
                }
                "" => "Choose a kind of source to see the message for one of them.".to_owned(),
                kind => format!("No {kind} was reported yet; the message appears here for the first one."),
            };
            return Ok(part);
        };
        part.source = format!("{kind} {}", row.source_id);
        let state: Value = serde_json::from_str(&row.state).unwrap_or_default();
        part.variables = punctual_workflows::reminders::sample::variables(&json!({ "state": state,
            "source": { "type": kind, "id": row.source_id } }));
        let setting = match read(app, visit, Seen::Anything, draft).await {
            Ok(draft) => draft.setting,
            Err(Refused::Faults(faults)) => {
                // What is still to be filled in is said when somebody sends the form.
                let wrong = faults.iter().find(|fault| fault.code != Code::MissingField);
                let wrong = wrong.map(|fault| words::said(&fault.pointer, &fault.detail)).unwrap_or_default();
                part.nothing = format!("The message appears here once the form is complete. {wrong}");
                return Ok(part);
            }
            Err(_) => return Ok(part),
        };
        let Sample { not, due_at, audience, channel, shown, variables } =
            sample(&app.engine, &reach, &app.reminders, &setting, row).await?;
        part.variables = variables;
        let channel = channel.unwrap_or_else(|| "the list's channel".to_owned());
        part.to = match audience {
            Ok(Audience::Targets(targets)) => format!("{} over {channel}", targets.join(", ")),
            Ok(Audience::List(list)) => format!("the list {list} over {channel}"),
            Err(reason) => format!("nobody: {}", said(reason)),
        };
        part.not = not.map(said).unwrap_or_default();
        part.when = due_at.map(|at| visit.zone.when(at, Visit::now(app)));
        match shown {
            Ok(shown) => (part.subject, part.body) = (shown.subject, shown.body),
            Err(why) => {
                let known: Vec<&str> = part.variables.iter().map(|(path, _)| path.as_str()).collect();
                part.fault = format!("{why}. There are {}.", known.join(", "));
            }
        }
        Ok(part)
    }
}

fn said(reason: ReasonCode) -> String {
    words::reason(Some(reason.as_str()))
}

async fn show_one(State(app): State<Shared>, visit: Visit, Path(id): Path<String>) -> Page {
    shown::<Reminders>(&app, &visit, &id, None).await
}

/// The form again, with the message for what is typed.
async fn preview(State(app): State<Shared>, form: Signed) -> Page {
    let Signed { visit, fields } = form;
    visit.must_author()?;
    again::<Reminders>(&app, &visit, &fields).await
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
            "{} will be withdrawn. What was sent stays on record.",
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
        button: Some("Remove the reminder".to_owned()),
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

async fn find(app: &App, visit: &Visit, id: &str) -> Result<Option<SettingRow>, Refusal> {
    let mut reader = app.engine.store.read_for_people().await?;
    let row =
        settings::by_ids(&mut reader.conn(), &visit.viewer.by.reach(), vec![id.to_owned()]).await?.pop();
    Ok(row.filter(|row| !row.deleted))
}

pub(super) async fn found(app: &App, visit: &Visit, id: &str) -> Result<SettingRow, Refusal> {
    find(app, visit, id).await?.ok_or_else(|| Problem::not_found("reminder setting", id).into())
}

async fn touchable(app: &App, visit: &Visit, id: &str) -> Result<SettingRow, Refusal> {
    let row = found(app, visit, id).await?;
    if visit.viewer.by.may_touch(row.business_unit.as_deref()) {
        return Ok(row);
    }
    Err(Problem::not_found("reminder setting", id).into())
}

//! The editor of a subscription: fields, or the definition as text, with the next runs and the mail beside it as it will
//! look.

use std::collections::BTreeMap;

use askama::Template;
use axum::{
    Router,
    extract::{DefaultBodyLimit, Path, State},
    http::{HeaderValue, Uri, header},
    response::{Html, IntoResponse, Response},
    routing::{get, post},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use punctual_model::{local_time, table::Kind};
use punctual_reports::Presented;
use punctual_store::{StoreError, channels, lists, report_subscriptions::SubscriptionRow};
use punctual_wire::{Code, FieldError, Problem, strict};
use punctual_workflows::reports::{Draft, draft as definitions, prepare};
use serde_json::Value;

use super::{
    Ahead, ahead,
    form::{self, Form, WEEKDAYS},
    found, people,
};
use crate::{
    App, Shared,
    answer::{self, Page, Refusal, Refused, see_other},
    form::{Fields, Signed},
    frame::{Frame, Visit},
    meanwhile::{Change, Opened},
    pages::entries,
    words,
};

/// A definition with a long query, every byte of it escaped.
const BODY_LIMIT: usize = 256 << 10;
const DEFINITION_MAX: usize = 80 << 10;
/// Names that are offered of each kind; others can be written.
const OFFERED: i64 = 200;

/// What a new subscription begins with.
const SAMPLE: &str = r#"{
  "name": "Weekly deliveries",
  "cadence": { "cron": "0 8 * * MON", "timeZone": "Europe/Berlin" },
  "period": "week",
  "report": {
    "source": { "builtin": "delivery-kpis" },
    "format": ["html", "csv", "xlsx"],
    "chart": { "kind": "bar", "x": "site", "y": ["delivered"] },
    "totals": ["delivered"]
  },
  "recipients": { "addresses": ["ops@example.org"] },
  "channel": "email:default",
  "locale": "en",
  "catchUp": "last"
}"#;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/reports/new", get(new).post(create))
        .route("/reports/{guid}/edit", get(edit).post(save))
        .route("/reports/check", post(check))
        .route("/reports/preview", post(preview))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
}

#[derive(Template)]
#[template(path = "report_edit.html")]
struct EditPage {
    frame: Frame,
    action: String,
    back: String,
    guid: String,
    version: String,
    what: Entered,
    /// By field of the form.
    by_field: BTreeMap<String, String>,
    /// What is beside no field.
    faults: Vec<FieldError>,
    ahead: Vec<Ahead>,
    offered: Offered,
    is_new: bool,
    /// It says more than the fields can show.
    only_text: bool,
    base: String,
    changes: Option<Vec<Change>>,
    one: &'static str,
    here: String,
}

impl EditPage {
    /// What the subject sees, in one line.
    fn variables(&self) -> String {
        punctual_workflows::inline::REPORT.hint()
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

    /// The lines of columns, each with what its fields are called, hold and lack.
    fn columns(&self) -> Vec<ColumnLine> {
        let Entered::Form(form) = &self.what else { return Vec::new() };
        let line = |n: usize| {
            let field = |part: &str| {
                let name = format!("column{n}{part}");
                (name.clone(), form.get(&name).to_owned())
            };
            let kind = field("Kind");
            ColumnLine {
                kinds: Kind::NAMES.iter().map(|(name, _)| (*name, *name == kind.1)).collect(),
                fault: self.fault(&format!("column{n}Name")).cloned(),
                name: field("Name"),
                title: field("Title"),
                decimals: field("Decimals"),
                kind: kind.0,
            }
        };
        (0..form.lines()).map(line).collect()
    }
}

struct ColumnLine {
    name: (String, String),
    title: (String, String),
    kind: String,
    kinds: Vec<(&'static str, bool)>,
    decimals: (String, String),
    fault: Option<String>,
}

/// What an author can choose from.
struct Offered {
    builtins: Vec<&'static str>,
    connections: Vec<String>,
    lists: Vec<String>,
    channels: Vec<String>,
    /// Id and name.
    people: Vec<(String, String)>,
    zones: Vec<String>,
    weekdays: [(&'static str, &'static str); 7],
    month_days: Vec<(String, String)>,
}

impl Offered {
    async fn read(app: &App, visit: &Visit) -> Result<Self, StoreError> {
        let mut reader = app.engine.store.read_for_people().await?;
        let lists = lists::page(&mut reader.conn(), &visit.viewer.by.reach(), "", OFFERED).await?;
        let channels = channels::all(&mut reader.conn()).await?;
        drop(reader);
        let days = (1..=30).map(|day| match day {
            1..=28 => (day.to_string(), format!("day {day}")),
            _ => (day.to_string(), format!("day {day}, or the last day")),
        });
        Ok(Self {
            builtins: app.reports.builtins(),
            connections: app
                .reports
                .connections()
                .names(visit.viewer.by.units.as_deref())
                .into_iter()
                .map(str::to_owned)
                .collect(),
            lists: lists.into_iter().map(|list| list.name).collect(),
            channels: channels.into_iter().map(|channel| channel.key).collect(),
            people: people(app, visit).await?,
            zones: local_time::names(),
            weekdays: WEEKDAYS,
            month_days: days.chain([("L".to_owned(), "day 31, or the last day".to_owned())]).collect(),
        })
    }
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
            _ => Self::Text(fields.text("definition").replace("\r\n", "\n")),
        }
    }

    /// As fields where they can say all of it, unless the text is asked for.
    fn of(definition: &Value, as_text: bool) -> Self {
        let form = Form::of(definition).filter(|_| !as_text);
        form.map_or_else(
            || Self::Text(serde_json::to_string_pretty(definition).unwrap_or_default()),
            Self::Form,
        )
    }

    fn definition(&self) -> Result<Value, Vec<FieldError>> {
        match self {
            Self::Form(form) => match form.faults() {
                faults if faults.is_empty() => Ok(form.definition()),
                faults => Err(faults),
            },
            Self::Text(text) if text.len() > DEFINITION_MAX => {
                Err(vec![FieldError::new("", Code::OutOfRange, "The definition is too long.")])
            }
            Self::Text(text) => strict::read(text.as_bytes()).map_err(entries::faults),
        }
    }
}

/// What an author has before them.
struct Written {
    guid: String,
    version: String,
    what: Entered,
    opened: Opened,
}

impl Written {
    fn read(fields: &Fields, guid: String) -> Self {
        let version = fields.text("version").to_owned();
        Self { guid, version, what: Entered::read(fields), opened: Opened::sent(fields) }
    }
}

async fn new(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    visit.must_author()?;
    let mut sample: Value = serde_json::from_str(SAMPLE).unwrap_or_default();
    // Whoever is limited to some business units begins with one of theirs.
    if let Some(unit) = visit.viewer.by.units.as_ref().and_then(|units| units.first()) {
        sample["businessUnit"] = unit.as_str().into();
    }
    let what = Entered::of(&sample, wants_text(&uri));
    let written = Written { guid: String::new(), version: String::new(), what, opened: Opened::default() };
    show(&app, &visit, written, Vec::new()).await
}

async fn edit(State(app): State<Shared>, visit: Visit, Path(guid): Path<String>, uri: Uri) -> Page {
    visit.must_author()?;
    let row = found(&app, &visit, &guid).await?;
    if row.deleted {
        return Err(Problem::not_found("report subscription", &guid).into());
    }
    let definition = definition(&row);
    let opened = Opened::on(&form::labelled(&definition));
    let what = Entered::of(&definition, wants_text(&uri));
    let written = Written { version: row.version.to_string(), what, guid: row.guid, opened };
    show(&app, &visit, written, Vec::new()).await
}

/// What is stored, as an author writes it.
fn definition(row: &SubscriptionRow) -> Value {
    let mut definition = definitions::whole(row);
    definition.retain(|_, value| !value.is_null());
    Value::Object(definition)
}

fn wants_text(uri: &Uri) -> bool {
    Fields::of_query(uri).text("as") == "json"
}

async fn create(State(app): State<Shared>, form: Signed) -> Page {
    keep(&app, form, String::new()).await
}

async fn save(State(app): State<Shared>, Path(guid): Path<String>, form: Signed) -> Page {
    keep(&app, form, guid).await
}

async fn keep(app: &Shared, signed: Signed, guid: String) -> Page {
    let Signed { visit, fields } = signed;
    visit.must_author()?;
    let mut written = Written::read(&fields, guid);
    match draft(app, &visit, &written).await? {
        Ok(draft) => {
            let stored =
                if written.guid.is_empty() { None } else { Some(found(app, &visit, &written.guid).await?) };
            if let Some(now) = stored.filter(|row| row.version.to_string() != written.version) {
                let stored = form::labelled(&definition(&now));
                let changed = Opened { changes: Some(Vec::new()), ..Opened::on(&stored) };
                written.opened = Opened::overtaken(&fields, &stored).unwrap_or(changed);
                written.version = now.version.to_string();
                return show(app, &visit, written, Vec::new()).await;
            }
            let row = draft.save(&app.engine, &visit.viewer.by).await?;
            see_other(&format!("/reports/{}?done=saved", row.guid))
        }
        Err(faults) => show(app, &visit, written, faults).await,
    }
}

/// The editor with what is in it, looked over: what is wrong, what it would plan, and the other way to edit it where that
/// is asked for. Nothing is kept.
async fn check(State(app): State<Shared>, form: Signed) -> Page {
    let Signed { visit, fields } = form;
    visit.must_author()?;
    let mut written = Written::read(&fields, fields.text("guid").to_owned());
    let definition = written.what.definition();
    match (fields.text("show"), &definition) {
        ("json", Ok(definition)) => written.what = Entered::of(definition, true),
        ("form", Ok(definition)) => written.what = Entered::of(definition, false),
        _ => {}
    }
    let faults = draft(&app, &visit, &written).await?.err().unwrap_or_default();
    show(&app, &visit, written, faults).await
}

async fn show(app: &App, visit: &Visit, written: Written, faults: Vec<FieldError>) -> Page {
    let is_new = written.guid.is_empty();
    let title = match is_new {
        true => "New report".to_owned(),
        false => found(app, visit, &written.guid).await?.name,
    };
    // What is planned by it, if it can be read as it is stored.
    let ahead = match draft(app, visit, &written).await {
        Ok(Ok(draft)) => ahead(&draft.subscription, Visit::now(app)),
        _ => Vec::new(),
    };
    let mut by_field = BTreeMap::new();
    let mut loose = faults;
    if let Entered::Form(form) = &written.what {
        by_field = form.by_field(&loose);
        loose.retain(|fault| form.field_of(&fault.pointer).is_empty());
    }
    let only_text = match &written.what {
        Entered::Text(text) => serde_json::from_str(text).is_ok_and(|value| Form::of(&value).is_none()),
        Entered::Form(_) => false,
    };
    let refusal = Refused::of(!by_field.is_empty() || !loose.is_empty(), &written.opened);
    answer::form(
        &EditPage {
            frame: visit.frame(app, &title, "/reports").await?,
            action: if is_new {
                "/reports/new".to_owned()
            } else {
                format!("/reports/{}/edit", written.guid)
            },
            back: if is_new { "/reports".to_owned() } else { format!("/reports/{}", written.guid) },
            here: format!("/reports/{}/edit", written.guid),
            guid: written.guid,
            version: written.version,
            what: written.what,
            by_field,
            faults: loose,
            ahead,
            offered: Offered::read(app, visit).await?,
            is_new,
            only_text,
            base: written.opened.base,
            changes: written.opened.changes,
            one: "report",
        },
        refusal,
    )
}

/// The subscription as it was entered, or what is wrong with it.
async fn draft(
    app: &App,
    visit: &Visit,
    written: &Written,
) -> Result<Result<Draft, Vec<FieldError>>, Refusal> {
    let before = if written.guid.is_empty() { None } else { Some(found(app, visit, &written.guid).await?) };
    if before
        .as_ref()
        .is_some_and(|row| row.deleted || !visit.viewer.by.may_touch(row.business_unit.as_deref()))
    {
        return Err(Problem::not_found("report subscription", &written.guid).into());
    }
    let value = match written.what.definition() {
        Ok(value) => value,
        Err(faults) => return Ok(Err(faults)),
    };
    let guid = match &before {
        Some(row) => row.guid.clone(),
        None => app.engine.random.ordered_uuid(app.engine.clock.now()).to_string(),
    };
    let by = &visit.viewer.by;
    let read = Draft::read(&app.engine, &app.reports, by, guid, before, &value).await;
    Ok(read.map_err(entries::refused))
}

/// The mail about the last complete period, for the frame beside the editor. Nothing is sent, and nothing kept.
async fn preview(State(app): State<Shared>, form: Signed) -> Result<Response, Refusal> {
    let Signed { visit, fields } = form;
    visit.must_author()?;
    let written = Written::read(&fields, fields.text("guid").to_owned());
    let html = match draft(&app, &visit, &written).await? {
        Ok(draft) => {
            let subscription = draft.subscription;
            let period = subscription.period.of_now(&subscription.cadence, app.engine.clock.now());
            match prepare::report(&app.engine, &app.reports, &subscription, period).await {
                Ok(presented) => with_pictures(&presented),
                Err(fault) => said(&[format!("{} ({})", fault.detail, fault.code)]),
            }
        }
        Err(faults) => said(
            &faults
                .iter()
                .map(|fault| format!("{}: {}", fault.pointer, words::said("", &fault.detail)))
                .collect::<Vec<_>>(),
        ),
    };
    // What a mail may do in a mail program, and less: nothing is loaded, nothing runs, nothing is sent.
    let policy = HeaderValue::from_static(
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; sandbox; \
         frame-ancestors 'self'",
    );
    Ok(([(header::CONTENT_SECURITY_POLICY, policy)], Html(html)).into_response())
}

/// Pictures that a mail carries beside its text are in it here.
fn with_pictures(presented: &Presented) -> String {
    let mut html = presented.html.clone();
    for file in &presented.files {
        if let Some(id) = &file.content_id {
            let data = format!("data:{};base64,{}", file.media_type, STANDARD.encode(&file.bytes));
            html = html.replace(&format!("cid:{id}"), &data);
        }
    }
    html
}

#[derive(Template)]
#[template(
    source = "<!doctype html><meta charset=utf-8><title>Preview</title><body style=\"font:14px system-ui;padding:16px;color:#444\">{% for line in lines %}<p>{{ line }}</p>{% endfor %}</body>",
    ext = "html"
)]
struct Said<'l> {
    lines: &'l [String],
}

/// Why there is no mail to show.
fn said(lines: &[String]) -> String {
    Said { lines }.render().unwrap_or_default()
}

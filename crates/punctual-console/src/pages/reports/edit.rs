//! The editor of a subscription, with the mail beside it as it will look.

use askama::Template;
use axum::{
    Router,
    extract::{DefaultBodyLimit, Path, State},
    http::{HeaderValue, header},
    response::{Html, IntoResponse, Response},
    routing::{get, post},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use punctual_api::{ReportDraft, report_definition};
use punctual_paths::reports::prepare;
use punctual_reports::Presented;
use punctual_wire::{Code, FieldError, Problem, keys::Scope, strict};

use super::{Ahead, ahead, found};
use crate::{
    App, Shared,
    answer::{Page, Refusal, page, see_other},
    form::{Fields, Signed},
    frame::{Frame, Visit},
};

/// A definition with a long query, every byte of it escaped.
const BODY_LIMIT: usize = 256 << 10;
const DEFINITION_MAX: usize = 80 << 10;

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
        .route("/reports/preview", post(preview))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
}

#[derive(Template)]
#[template(path = "report_edit.html")]
struct EditPage {
    frame: Frame,
    heading: String,
    action: String,
    back: String,
    guid: String,
    version: String,
    definition: String,
    faults: Vec<FieldError>,
    ahead: Vec<Ahead>,
    builtins: String,
    is_new: bool,
}

/// What an author has in the form.
struct Written {
    guid: String,
    version: String,
    definition: String,
}

async fn new(State(app): State<Shared>, visit: Visit) -> Page {
    must_author(&visit)?;
    let written = Written { guid: String::new(), version: String::new(), definition: SAMPLE.to_owned() };
    show(&app, &visit, written, Vec::new()).await
}

async fn edit(State(app): State<Shared>, visit: Visit, Path(guid): Path<String>) -> Page {
    must_author(&visit)?;
    let row = found(&app, &visit, &guid).await?;
    if row.deleted {
        return Err(Problem::not_found("report subscription", &guid).into());
    }
    let mut definition = report_definition(&row);
    definition.retain(|_, value| !value.is_null());
    let definition = serde_json::Value::Object(definition);
    let written = Written {
        version: row.version.to_string(),
        definition: serde_json::to_string_pretty(&definition).unwrap_or_default(),
        guid: row.guid,
    };
    show(&app, &visit, written, Vec::new()).await
}

async fn create(State(app): State<Shared>, form: Signed) -> Page {
    keep(&app, form, String::new()).await
}

async fn save(State(app): State<Shared>, Path(guid): Path<String>, form: Signed) -> Page {
    keep(&app, form, guid).await
}

async fn keep(app: &Shared, form: Signed, guid: String) -> Page {
    let Signed { visit, fields } = form;
    must_author(&visit)?;
    let written = entered(&fields, guid);
    match draft(app, &visit, &written).await? {
        Ok(draft) => {
            let row = draft.save(&app.engine, &visit.viewer.actor()).await?;
            see_other(&format!("/reports/{}?done=saved", row.guid))
        }
        Err(faults) => show(app, &visit, written, faults).await,
    }
}

fn entered(fields: &Fields, guid: String) -> Written {
    Written {
        guid,
        version: fields.text("version").to_owned(),
        definition: fields.text("definition").replace("\r\n", "\n"),
    }
}

async fn show(app: &App, visit: &Visit, written: Written, faults: Vec<FieldError>) -> Page {
    let is_new = written.guid.is_empty();
    // What is planned by it, if it can be read as it stands.
    let ahead = match draft(app, visit, &written).await {
        Ok(Ok(draft)) => ahead(&draft.subscription, Visit::now(app)),
        _ => Vec::new(),
    };
    let heading = if is_new { "New subscription" } else { "Edit" };
    page(&EditPage {
        frame: visit.frame(app, heading, "/reports").await?,
        heading: heading.to_owned(),
        action: if is_new { "/reports/new".to_owned() } else { format!("/reports/{}/edit", written.guid) },
        back: if is_new { "/reports".to_owned() } else { format!("/reports/{}", written.guid) },
        guid: written.guid,
        version: written.version,
        definition: written.definition,
        faults,
        ahead,
        builtins: app.reports.builtins().join(", "),
        is_new,
    })
}

/// The subscription as it was entered, or what is wrong with it.
async fn draft(
    app: &App,
    visit: &Visit,
    written: &Written,
) -> Result<Result<ReportDraft, Vec<FieldError>>, Refusal> {
    if written.definition.len() > DEFINITION_MAX {
        return Ok(Err(vec![FieldError::new("", Code::OutOfRange, "The definition is too long.")]));
    }
    let before = if written.guid.is_empty() { None } else { Some(found(app, visit, &written.guid).await?) };
    if before.as_ref().is_some_and(|row| row.version.to_string() != written.version) {
        return Err(Problem::stale_version().into());
    }
    if before.as_ref().is_some_and(|row| row.deleted || !visit.viewer.may_touch(row.business_unit.as_deref()))
    {
        return Err(Problem::not_found("report subscription", &written.guid).into());
    }
    let value = match strict::read(written.definition.as_bytes()) {
        Ok(value) => value,
        Err(problem) => return Ok(Err(faults(problem))),
    };
    let guid = match &before {
        Some(row) => row.guid.clone(),
        None => app.engine.random.ordered_uuid(app.engine.clock.now()).to_string(),
    };
    let unit_for = |unit: Option<String>| {
        if visit.viewer.may_touch(unit.as_deref()) {
            return Ok(unit);
        }
        let detail = "`businessUnit` must be one that the key is for.";
        Err(FieldError::new("/businessUnit", Code::OutOfRange, detail).into())
    };
    Ok(ReportDraft::read(&app.engine, &app.reports, guid, before, &value, unit_for).await.map_err(faults))
}

/// The fields at fault; the problem itself where it names none.
fn faults(problem: Problem) -> Vec<FieldError> {
    if problem.errors.is_empty() {
        return vec![FieldError::new("", problem.code, problem.detail)];
    }
    problem.errors
}

fn must_author(visit: &Visit) -> Result<(), Refusal> {
    if visit.viewer.may_author() {
        Ok(())
    } else {
        Err(Problem::scope_missing(Scope::Author.as_str()).into())
    }
}

/// The mail about the last complete period, for the frame beside the editor. Nothing is sent, and nothing kept.
async fn preview(State(app): State<Shared>, form: Signed) -> Result<Response, Refusal> {
    let Signed { visit, fields } = form;
    must_author(&visit)?;
    let written = entered(&fields, fields.text("guid").to_owned());
    let html = match draft(&app, &visit, &written).await? {
        Ok(draft) => {
            let subscription = draft.subscription;
            let period = subscription.period.of_now(&subscription.cadence, app.engine.clock.now());
            match prepare::report(&app.engine, &app.reports, &subscription, period).await {
                Ok((presented, _)) => with_pictures(&presented),
                Err(fault) => said(&[format!("{} ({})", fault.detail, fault.code)]),
            }
        }
        Err(faults) => said(
            &faults.iter().map(|fault| format!("{}: {}", fault.pointer, fault.detail)).collect::<Vec<_>>(),
        ),
    };
    // What a mail may do in a mail program, and less: nothing is loaded, nothing runs, nothing is sent.
    let policy = HeaderValue::from_static(
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; sandbox; \
         frame-ancestors 'self'",
    );
    Ok(([(header::CONTENT_SECURITY_POLICY, policy)], Html(html)).into_response())
}

/// Pictures that a mail carries beside its text stand in it here.
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

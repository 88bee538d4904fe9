//! What authors do: write the schema, see the page it makes, have it checked, publish it.

use askama::Template;
use axum::{
    Router,
    extract::{DefaultBodyLimit, Path, State},
    http::{HeaderValue, header},
    response::Response,
    routing::{get, post},
};
use punctual_engine::CommandError;
use punctual_model::{
    Fault,
    survey::{Schema, lint},
};
use punctual_store::surveys::{SurveyDraft, SurveyRow};
use punctual_wire::{Problem, keys::Scope, limits::SURVEY_SCHEMA_MAX};
use punctual_workflows::{
    inline,
    surveys::author::{self, Publishing},
};
use serde_json::Value;

use super::found;
use crate::{
    Shared,
    answer::{Page, Refusal, page, see_other},
    form::{Fields, Signed},
    frame::{Frame, Visit},
    survey_page,
};

/// A form with a whole schema, every byte of it escaped.
const BODY_LIMIT: usize = 3 * SURVEY_SCHEMA_MAX + (16 << 10);

/// What a new survey begins with.
const SAMPLE: &str = include_str!("../../../assets/survey-sample.json");

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/surveys/new", get(new).post(create))
        .route("/surveys/{id}/edit", get(edit).post(save))
        .route("/surveys/preview", post(preview))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
}

#[derive(Template)]
#[template(path = "survey_edit.html")]
struct EditPage {
    frame: Frame,
    heading: String,
    action: String,
    back: String,
    name: String,
    integration: String,
    unit: String,
    schema: String,
    is_new: bool,
    done: Option<String>,
    faults: Vec<Finding>,
    warnings: Vec<Finding>,
    /// What invitations and reminders see, in one line.
    variables: String,
}

/// Something about one place of the schema.
struct Finding {
    pointer: String,
    code: String,
    detail: String,
}

fn must_write(visit: &Visit) -> Result<(), Refusal> {
    if visit.viewer.has(Scope::Author) {
        Ok(())
    } else {
        Err(Problem::scope_missing(Scope::Author.as_str()).into())
    }
}

async fn new(State(app): State<Shared>, visit: Visit) -> Page {
    must_write(&visit)?;
    let written = Written {
        name: String::new(),
        integration: String::new(),
        unit: visit.viewer.by.units.as_ref().and_then(|units| units.first().cloned()).unwrap_or_default(),
        schema: SAMPLE.to_owned(),
    };
    show(&app, &visit, None, written, Vec::new(), Vec::new(), None).await
}

async fn edit(State(app): State<Shared>, visit: Visit, Path(id): Path<String>, uri: axum::http::Uri) -> Page {
    must_write(&visit)?;
    let survey = found(&app, &visit, &id).await?;
    let query = Fields::of_query(&uri);
    let done = match query.text("done") {
        "saved" => Some("Saved. It counts once it is published.".to_owned()),
        "published" => survey.published_version.map(|number| format!("Published as version {number}.")),
        _ => None,
    };
    let draft: Value = serde_json::from_str(&survey.draft).unwrap_or_default();
    let (faults, warnings) = checked(&draft);
    let written = Written {
        name: survey.name.clone(),
        integration: survey.integration_id.clone().unwrap_or_default(),
        unit: survey.business_unit.clone().unwrap_or_default(),
        schema: if survey.draft.contains('\n') {
            survey.draft.clone()
        } else {
            serde_json::to_string_pretty(&draft).unwrap_or_default()
        },
    };
    show(&app, &visit, Some(&survey), written, faults, warnings, done).await
}

/// What an author has in the form.
struct Written {
    name: String,
    integration: String,
    unit: String,
    schema: String,
}

impl Written {
    fn of(fields: &Fields) -> Self {
        let text = |name: &str| fields.text(name).to_owned();
        Self {
            name: text("name"),
            integration: text("integration"),
            unit: text("unit"),
            schema: text("schema").replace("\r\n", "\n"),
        }
    }
}

async fn show(
    app: &Shared,
    visit: &Visit,
    survey: Option<&SurveyRow>,
    written: Written,
    faults: Vec<Finding>,
    warnings: Vec<Finding>,
    done: Option<String>,
) -> Page {
    let heading = survey.map_or_else(|| "New survey".to_owned(), |survey| survey.name.clone());
    page(&EditPage {
        frame: visit.frame(app, &heading, "/surveys").await?,
        action: survey
            .map_or_else(|| "/surveys/new".to_owned(), |survey| format!("/surveys/{}/edit", survey.id)),
        back: survey.map_or_else(|| "/surveys".to_owned(), |survey| format!("/surveys/{}", survey.id)),
        is_new: survey.is_none(),
        heading,
        name: written.name,
        integration: written.integration,
        unit: written.unit,
        schema: written.schema,
        done,
        faults,
        warnings,
        variables: inline::SURVEY.hint(),
    })
}

/// What is wrong with a schema and what is probably a mistake.
fn checked(schema: &Value) -> (Vec<Finding>, Vec<Finding>) {
    match Schema::read(schema) {
        Err(faults) => (faults.into_iter().map(fault).collect(), Vec::new()),
        Ok(schema) => {
            let warnings = lint(&schema).into_iter().map(|one| Finding {
                pointer: one.pointer,
                code: one.code.to_owned(),
                detail: one.detail,
            });
            (Vec::new(), warnings.collect())
        }
    }
}

fn fault(fault: Fault) -> Finding {
    Finding { pointer: fault.pointer, code: fault.code.to_owned(), detail: fault.detail }
}

/// The draft that a form asks for, or what is wrong with it.
fn draft(written: &Written) -> Result<SurveyDraft, Vec<Finding>> {
    let mut faults = Vec::new();
    let mut refuse = |pointer: &str, code: &str, detail: String| {
        faults.push(Finding { pointer: pointer.to_owned(), code: code.to_owned(), detail });
    };
    if written.name.is_empty() || written.name.len() > 128 {
        refuse("/name", "missing_field", "A survey needs a name of at most 128 bytes.".to_owned());
    }
    let schema = serde_json::from_str::<Value>(&written.schema);
    match &schema {
        Err(error) => refuse("/schema", "json_syntax", format!("The schema is not JSON: {error}.")),
        Ok(schema) if !schema.is_object() => {
            refuse("/schema", "wrong_type", "The schema is an object.".to_owned())
        }
        Ok(_) if written.schema.len() > SURVEY_SCHEMA_MAX => {
            refuse("/schema", "out_of_range", "The schema is too large.".to_owned());
        }
        Ok(_) => {}
    }
    match schema {
        Ok(_) if faults.is_empty() => Ok(SurveyDraft {
            name: written.name.clone(),
            integration_id: Some(written.integration.clone()).filter(|text| !text.is_empty()),
            business_unit: Some(written.unit.clone()).filter(|text| !text.is_empty()),
            // As its author wrote it, with their own order and lines.
            draft: written.schema.clone(),
        }),
        _ => Err(faults),
    }
}

async fn create(State(app): State<Shared>, form: Signed) -> Page {
    keep(&app, form, None).await
}

async fn save(State(app): State<Shared>, Path(id): Path<String>, form: Signed) -> Page {
    let survey = found(&app, &form.visit, &id).await?;
    keep(&app, form, Some(survey)).await
}

async fn keep(app: &Shared, form: Signed, survey: Option<SurveyRow>) -> Page {
    let Signed { visit, fields } = form;
    must_write(&visit)?;
    let written = Written::of(&fields);
    let draft = match draft(&written) {
        Ok(draft) => draft,
        Err(faults) => return show(app, &visit, survey.as_ref(), written, faults, Vec::new(), None).await,
    };
    let by = &visit.viewer.by;
    if let Some(survey) = survey.as_ref().filter(|survey| !by.may_touch(survey.business_unit.as_deref())) {
        return Err(Problem::not_found("survey", survey.id.to_string()).into());
    }
    let kept = match &survey {
        Some(survey) => author::change(&app.engine, by, survey.id, &draft).await,
        None => author::create(&app.engine, by, &draft).await,
    };
    let row = match kept {
        Err(CommandError::Invalid(faults)) => {
            let faults = faults.into_iter().map(fault).collect();
            return show(app, &visit, survey.as_ref(), written, faults, Vec::new(), None).await;
        }
        kept => kept?,
    };
    if fields.text("then") != "publish" {
        return see_other(&format!("/surveys/{}/edit?done=saved", row.id));
    }
    match author::publish(&app.engine, by, row.id).await? {
        Publishing::Published { .. } => see_other(&format!("/surveys/{}/edit?done=published", row.id)),
        Publishing::Refused(faults) => {
            let faults = faults.into_iter().map(fault).collect();
            show(app, &visit, Some(&row), written, faults, Vec::new(), None).await
        }
    }
}

/// The page that a schema makes, for the frame beside the editor. It cannot be answered.
async fn preview(State(_app): State<Shared>, form: Signed) -> Result<Response, Refusal> {
    must_write(&form.visit)?;
    let schema = serde_json::from_str::<Value>(form.fields.text("schema"));
    let shown = match schema.map(|schema| Schema::read(&schema)) {
        Ok(Ok(schema)) => Ok(schema),
        Ok(Err(faults)) => {
            Err(faults.into_iter().map(|fault| format!("{}: {}", fault.pointer, fault.detail)).collect())
        }
        Err(error) => Err(vec![format!("The schema is not JSON: {error}.")]),
    };
    let language = Some(form.fields.text("language")).filter(|language| !language.is_empty());
    let mut response = survey_page::preview(shown, language);
    // Shown inside the editor, and nowhere else.
    let policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; form-action 'none'; \
                  base-uri 'none'; frame-ancestors 'self'";
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    Ok(response)
}

//! What authors do: build a survey, see the page it makes, and try an event on it. A draft is stored as it is; publishing it is
//! another step.

use askama::Template;
use axum::{
    Router,
    extract::{DefaultBodyLimit, Path, State},
    http::{HeaderValue, Uri, header},
    response::Response,
    routing::{get, post},
};
use punctual_engine::{CommandError, commands::Seen};
use punctual_model::{Fault, survey::Schema};
use punctual_store::{
    business_units, channels, subscribers,
    survey_instances::{self, InstanceFilter},
    surveys::{self, SurveyDraft},
    templates,
};
use punctual_wire::{Code, FieldError, Problem, surveys::SurveyRequest};
use punctual_workflows::{
    inline,
    surveys::{author, review::review},
};
use serde_json::{Map, Value, json};

use super::{
    builder::{self, Offered},
    found, shape,
    trial::TrialPart,
};
use crate::{
    App, Shared,
    answer::{Page, Refusal},
    editor::{
        Act, Done, Form, LARGE_FORM, Listing, Notice, Refused, Resource, Stored, again, routes, shown,
        take_text, typed_draft,
    },
    form::{Fields, Signed},
    frame::Visit,
    survey_page,
};

/// What a new survey begins with.
const SAMPLE: &str = include_str!("../../../assets/survey-sample.json");
/// Names that a field offers of each kind; others can be written.
const OFFERED: i64 = 200;
/// Events that are read for the names of their fields.
const EVENTS: i64 = 50;

pub struct Surveys;

pub(super) fn pages() -> Router<Shared> {
    Router::new()
        .route("/surveys/{id}/edit", get(edit))
        .route("/surveys/preview", post(preview))
        .route("/surveys/try", post(try_event))
        .layer(DefaultBodyLimit::max(LARGE_FORM))
        .merge(routes::<Surveys>())
}

impl Resource for Surveys {
    const HOME: &'static str = "/surveys";
    const ONE: &'static str = "survey";
    const MANY: &'static str = "Surveys";
    const NAV: &'static str = "/surveys";
    const KEY: &'static str = "/id";
    const SAVE: &'static str = "Save draft";
    const ACTS: &'static [(&'static str, &'static str)] = &[("publish", "Save and publish…")];

    fn at(key: &str) -> String {
        format!("/surveys/{key}/edit")
    }

    fn after(key: &str, note: &str, then: &str) -> String {
        match then {
            "publish" => format!("/surveys/{key}/publish"),
            _ => format!("/surveys/{key}/edit?done={note}"),
        }
    }

    fn back(stored: Option<&Stored>) -> String {
        stored.map_or_else(|| Self::HOME.to_owned(), |stored| format!("/surveys/{}", stored.key))
    }

    fn name(stored: &Stored) -> String {
        stored.draft["name"].as_str().unwrap_or_default().to_owned()
    }

    fn to_form(request: &Value) -> Value {
        shape::to_form(request)
    }

    fn of_form(draft: Value) -> Value {
        let mut request = shape::of_form(draft);
        take_text(&mut request, "addLocale");
        request
    }

    fn place(pointer: &str) -> String {
        shape::place(pointer)
    }

    fn act(act: &Act, tree: &mut Value) -> Option<String> {
        shape::name_all(tree);
        if act.word == "language" {
            return shape::add_language(tree);
        }
        let place = act.apply(tree)?;
        if act.word == "add" {
            shape::begin(tree, &place);
        }
        Some(place)
    }

    fn may_change(visit: &Visit) -> Result<(), Refusal> {
        visit.must_author()
    }

    async fn fresh(_: &App, _: &Visit, draft: &mut Map<String, Value>) {
        draft.insert("schema".to_owned(), serde_json::from_str(SAMPLE).unwrap_or_default());
    }

    async fn list(_: &App, _: &Visit, _: &Fields) -> Result<Listing, Refusal> {
        Ok(Listing::default())
    }

    async fn stored(app: &App, visit: &Visit, key: &str) -> Result<Option<Stored>, Refusal> {
        let Ok(id) = key.parse::<i64>() else { return Ok(None) };
        let mut reader = app.engine.store.read_for_people().await?;
        let row = surveys::get(&mut reader.conn(), &visit.viewer.by.reach(), id).await?;
        Ok(row.map(|row| {
            let schema: Value = serde_json::from_str(&row.draft).unwrap_or_default();
            let mut draft = json!({ "id": row.id.to_string(), "name": row.name, "schema": schema });
            for (name, value) in [("integrationId", row.integration_id), ("businessUnit", row.business_unit)]
            {
                if let Some(value) = value {
                    draft[name] = value.into();
                }
            }
            Stored {
                key: row.id.to_string(),
                draft,
                version: row.version,
                secrets: Vec::new(),
                sentence: match row.published_version {
                    Some(number) => {
                        format!("Version {number} is published. Changes apply once they are published.")
                    }
                    None => "A draft: nobody is asked until it is published.".to_owned(),
                },
            }
        }))
    }

    async fn form(app: &App, visit: &Visit, draft: &Value, stored: Option<&Stored>) -> Result<Form, Refusal> {
        let offered = offered(app, visit, stored).await?;
        Ok(builder::form(draft, &offered, stored.is_some()))
    }

    async fn save(app: &App, visit: &Visit, seen: Seen, mut draft: Value) -> Result<Done, Refused> {
        let id = take_text(&mut draft, "id");
        let request = SurveyRequest::read(&draft, "")?;
        let by = &visit.viewer.by;
        let mut new = SurveyDraft {
            name: request.name,
            integration_id: request.integration_id,
            business_unit: request.business_unit,
            draft: serde_json::to_string_pretty(&request.schema).unwrap_or_default(),
        };
        let row = match id.parse::<i64>() {
            Ok(id) => {
                let mut reader = app.engine.store.read_for_people().await?;
                let before = surveys::get(&mut reader.conn(), &by.reach(), id).await?;
                drop(reader);
                // The same schema stays as its author wrote it, so that publishing it again is no new version.
                let same = before.filter(|row| {
                    serde_json::from_str::<Value>(&row.draft).is_ok_and(|was| was == request.schema)
                });
                if let Some(row) = same {
                    new.draft = row.draft;
                }
                author::change(&app.engine, by, id, seen, &new).await?
            }
            Err(_) => {
                // Whoever is limited to business units makes things in the first of them.
                new.business_unit =
                    visit.viewer.unit_or_first(new.business_unit.as_deref().unwrap_or_default());
                author::create(&app.engine, by, &new).await?
            }
        };
        Ok(Done::Saved { key: row.id.to_string(), note: "saved" })
    }

    async fn remove(_: &App, _: &Visit, key: &str) -> Result<(), CommandError> {
        Err(CommandError::not_found("survey", key.to_owned()))
    }

    async fn review(
        app: &App,
        visit: &Visit,
        stored: &Stored,
    ) -> Result<Option<(&'static str, Vec<FieldError>)>, Refusal> {
        let survey = found(app, visit, &stored.key).await?;
        let faults = review(&app.engine, &survey).await?.faults;
        Ok(Some(("It cannot be published yet", faults.into_iter().map(in_request).collect())))
    }

    async fn beside(
        _: &App,
        _: &Visit,
        _: Option<&Stored>,
        _: &Value,
        typed: Option<&Fields>,
    ) -> Result<String, Refusal> {
        let language = typed.map(|fields| fields.text("language").to_owned()).unwrap_or_default();
        PreviewPart { language }.render().map_err(|error| Refusal::internal(&error))
    }

    async fn below(
        app: &App,
        visit: &Visit,
        stored: Option<&Stored>,
        draft: &Value,
        typed: Option<&Fields>,
    ) -> Result<String, Refusal> {
        let part = TrialPart::of(app, visit, stored, draft, typed);
        part.render().map_err(|error| Refusal::internal(&error))
    }
}

/// A fault of the schema, at its place in the request.
pub(super) fn in_request(fault: Fault) -> FieldError {
    let code = Code::parse(fault.code).unwrap_or(Code::OutOfRange);
    FieldError::new(format!("/schema{}", fault.pointer), code, fault.detail)
}

#[derive(Template)]
#[template(
    source = r#"<section class="panel" aria-labelledby="preview-title"><div class="panel-head"><h2 id="preview-title">On a phone</h2><span class="acts"><label class="field"><span class="visually-hidden">Language</span><input form="edit" name="language" value="{{ language }}" size="6" autocomplete="off" placeholder="language"></label><button form="edit" formaction="/surveys/preview" formtarget="survey-preview" formnovalidate data-follows>Preview</button></span></div>
<iframe class="phone" name="survey-preview" title="The survey as a phone shows it"></iframe></section>"#,
    ext = "html"
)]
struct PreviewPart {
    language: String,
}

async fn offered(app: &App, visit: &Visit, stored: Option<&Stored>) -> Result<Offered, Refusal> {
    let reach = visit.viewer.by.reach();
    let mut reader = app.engine.store.read_for_people().await?;
    let pair = |key: String| (key, String::new());
    let units = business_units::page(&mut reader.conn(), &reach, "", OFFERED).await?;
    let known = channels::all(&mut reader.conn()).await?;
    let templates = templates::page(&mut reader.conn(), "", OFFERED).await?;
    let subscribers = subscribers::all(&mut reader.conn()).await?;
    let others = surveys::page(&mut reader.conn(), None, &reach, OFFERED).await?;
    let mut kinds: Vec<String> = Vec::new();
    for row in &others {
        let draft: Value = serde_json::from_str(&row.draft).unwrap_or_default();
        let named = shape::items(&draft["triggers"]).iter().filter_map(|one| one["eventKind"].as_str());
        kinds.extend(named.map(str::to_owned));
    }
    kinds.sort_unstable();
    kinds.dedup();
    let mut paths: Vec<(String, String)> = [
        ("templateId", "this survey"),
        ("recipient.address", "whom"),
        ("recipient.locale", "their language"),
        ("recipient.customerRef", "their number"),
    ]
    .map(|(path, name)| (path.to_owned(), name.to_owned()))
    .into();
    // Fields of events that were received, each with a value that was seen.
    if let Some(id) = stored.and_then(|stored| stored.key.parse::<i64>().ok())
        && visit.viewer.by.may_touch(stored.and_then(|stored| stored.draft["businessUnit"].as_str()))
    {
        let filter = InstanceFilter { survey_id: id, limit: EVENTS, ..InstanceFilter::default() };
        for row in survey_instances::list(&mut reader.conn(), &reach, &filter).await? {
            let payload: Map<String, Value> = serde_json::from_str(&row.metadata).unwrap_or_default();
            for (name, value) in payload {
                let path = format!("candidate.{name}");
                if paths.iter().all(|(known, _)| *known != path) {
                    paths.push((path, value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
                }
            }
        }
    }
    Ok(Offered {
        units: units.into_iter().map(|row| (row.id, row.name)).collect(),
        channels: known.into_iter().map(|row| pair(row.key)).collect(),
        templates: templates.into_iter().map(|row| pair(row.name)).collect(),
        subscribers: subscribers.into_iter().map(|row| pair(row.key)).collect(),
        kinds: kinds.into_iter().map(pair).collect(),
        paths,
        variables: inline::SURVEY.hint(),
    })
}

async fn edit(State(app): State<Shared>, visit: Visit, Path(id): Path<String>, uri: Uri) -> Page {
    visit.must_author()?;
    let survey = found(&app, &visit, &id).await?;
    let text = match Fields::of_query(&uri).text("done") {
        "saved" => Some("Saved. Changes apply once they are published.".to_owned()),
        "published" => survey.published_version.map(|number| format!("Published as version {number}.")),
        _ => None,
    };
    let notice = text.map(|text| Notice { text, warn: false });
    shown::<Surveys>(&app, &visit, &id, notice).await
}

/// The form again, with what an event would do.
async fn try_event(State(app): State<Shared>, form: Signed) -> Page {
    let Signed { visit, fields } = form;
    visit.must_author()?;
    again::<Surveys>(&app, &visit, &fields).await
}

/// The page that a schema makes, for the frame beside the editor. It cannot be answered.
async fn preview(State(app): State<Shared>, form: Signed) -> Result<Response, Refusal> {
    form.visit.must_author()?;
    let request = typed_draft::<Surveys>(&app, &form.visit, &form.fields).await?;
    let shown = Schema::read(&request["schema"]).map_err(|faults| {
        faults.into_iter().map(|fault| format!("{}: {}", fault.pointer, fault.detail)).collect()
    });
    let language = Some(form.fields.text("language")).filter(|language| !language.is_empty());
    let mut response = survey_page::preview(shown, language);
    // Shown inside the editor, and nowhere else.
    let policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; form-action 'none'; \
                  base-uri 'none'; frame-ancestors 'self'";
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    Ok(response)
}

/// That there is such a survey and they may change it.
pub(super) fn must_touch(visit: &Visit, unit: Option<&str>, id: i64) -> Result<(), Refusal> {
    match visit.viewer.by.may_touch(unit) {
        true => Ok(()),
        false => Err(Problem::not_found("survey", id.to_string()).into()),
    }
}

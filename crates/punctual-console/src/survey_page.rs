//! The public page of a survey: whoever has the link reads the questions and answers. No session, no cookie, nothing from
//! elsewhere; it works without script, and the server alone decides what is asked and what is taken.

mod form;
mod view;

pub(crate) use view::direction;

use askama::Template;
use axum::{
    Router,
    extract::{Path, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{Html, IntoResponse, Response},
    routing::{get, post},
};
use punctual_engine::Peer;
use punctual_model::survey::{Localised, Schema, visible};
use punctual_wire::names;
use punctual_workflows::surveys::{
    answer::{Link, Open, Submission, Submitted, look, opened, submit},
    words,
};
use serde_json::{Map, Value};

use crate::{
    Shared,
    answer::Refusal,
    assets,
    form::{Fields, Sent},
};
use view::{Language, QuestionView, questions};

pub fn routes(app: Shared) -> Router<Shared> {
    Router::new()
        .route("/s/{publicId}", get(show).post(answer))
        .route("/s/{publicId}/opened", post(seen))
        .route("/s/{publicId}/colours.css", get(colours))
        .layer(axum::middleware::from_fn_with_state(app, limited))
}

/// Languages of a browser that are checked.
const LANGUAGES_MAX: usize = 20;

#[derive(Template)]
#[template(path = "survey.html")]
struct SurveyPage<'p> {
    version: &'static str,
    words: &'static words::Words,
    locale: &'p str,
    direction: &'static str,
    public_id: &'p str,
    title: &'p str,
    intro: Option<&'p str>,
    organisation: Option<&'p str>,
    has_colour: bool,
    languages: Vec<Language>,
    submission_id: &'p str,
    shown: String,
    notice: Option<&'static str>,
    is_fault: bool,
    questions: Vec<QuestionView>,
}

#[derive(Template)]
#[template(path = "survey_end.html")]
pub(crate) struct EndPage<'p> {
    version: &'static str,
    locale: &'p str,
    direction: &'static str,
    title: &'p str,
    text: &'p str,
    organisation: Option<&'p str>,
    good: bool,
    colours: Option<&'p str>,
}

/// A page with a bound of its own, counted by link and address, and kept out of search engines.
pub(crate) async fn limited(State(app): State<Shared>, request: Request, next: Next) -> Response {
    let address = request.extensions().get::<Peer>().map(|Peer(peer)| peer.ip().to_canonical());
    let link = request.uri().path().split('/').nth(2).unwrap_or_default().to_owned();
    let wait = app.public.wait(&link, address, app.wall.now());
    let mut response = match wait {
        // No link has NUL, and PostgreSQL takes it in no text.
        None if names::has_nul(&link) => gone(request.headers()),
        None => next.run(request).await,
        Some(seconds) => busy(request.headers(), seconds),
    };
    response.headers_mut().insert("x-robots-tag", HeaderValue::from_static("noindex, nofollow"));
    response
}

/// The reader's languages as their browser says them, the most wanted first, where no link says more.
pub(crate) fn accepted(headers: &HeaderMap) -> Vec<&str> {
    let text = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut wanted: Vec<(&str, f32)> = text
        .split(',')
        .take(LANGUAGES_MAX)
        .map(|one| {
            let (language, weight) = one.split_once(';').unwrap_or((one, ""));
            let weight = weight.trim().strip_prefix("q=").and_then(|weight| weight.parse().ok());
            (language.trim(), weight.unwrap_or(1.0))
        })
        .filter(|(language, weight)| !language.is_empty() && *weight > 0.0)
        .collect();
    wanted.sort_by(|a, b| b.1.total_cmp(&a.1));
    wanted.into_iter().map(|(language, _)| language).collect()
}

fn busy(headers: &HeaderMap, seconds: u64) -> Response {
    let words = words::of_first(accepted(headers));
    let page = EndPage { good: false, ..end(words.locale, words.slow_down, "") };
    let mut response = rendered(StatusCode::TOO_MANY_REQUESTS, &page);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}

pub(crate) fn end<'p>(locale: &'p str, title: &'p str, text: &'p str) -> EndPage<'p> {
    EndPage {
        version: assets::version(),
        locale,
        direction: view::direction(locale),
        title,
        text,
        organisation: None,
        good: true,
        colours: None,
    }
}

impl EndPage<'_> {
    /// The page of something that did not work.
    pub(crate) fn bad(self) -> Self {
        Self { good: false, ..self }
    }
}

/// One and the same page for links that never were, that are over and that were taken back.
fn gone(headers: &HeaderMap) -> Response {
    let words = words::of_first(accepted(headers));
    rendered(
        StatusCode::NOT_FOUND,
        &EndPage { good: false, ..end(words.locale, words.gone, words.gone_more) },
    )
}

pub(crate) fn rendered(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(text) => (status, Html(text)).into_response(),
        Err(error) => Refusal::internal(&error).into_response(),
    }
}

async fn show(
    State(app): State<Shared>,
    Path(id): Path<String>,
    headers: HeaderMap,
    uri: axum::http::Uri,
) -> Result<Response, Refusal> {
    let query = Fields::of_query(&uri);
    let wanted = Some(query.text("lang")).filter(|lang| !lang.is_empty());
    Ok(match look(&app.engine, &app.surveys, &id).await? {
        Link::Gone => gone(&headers),
        Link::Answered(open) => answered(&open, wanted, StatusCode::OK),
        Link::Open(open) => {
            let submission = app.engine.random.uuid().to_string();
            let asked = Asked { wanted, submission: &submission, ..Asked::default() };
            page(StatusCode::OK, &open, &asked)
        }
    })
}

/// What a page is made with, besides the survey.
#[derive(Default)]
struct Asked<'a> {
    wanted: Option<&'a str>,
    submission: &'a str,
    answers: Map<String, Value>,
    faults: Vec<punctual_model::Fault>,
    notice: Option<fn(&'static words::Words) -> &'static str>,
}

fn language(open: &Open, wanted: Option<&str>) -> String {
    open.version.schema.locale(wanted.or(open.instance.recipient_locale.as_deref()))
}

fn page(status: StatusCode, open: &Open, asked: &Asked<'_>) -> Response {
    let locale = language(open, asked.wanted);
    shown(status, &open.version.schema, &open.instance.public_id, &locale, asked)
}

fn shown(status: StatusCode, schema: &Schema, public_id: &str, locale: &str, asked: &Asked<'_>) -> Response {
    let words = words::of(locale);
    let shown: Vec<&str> = visible(schema, &asked.answers).into_iter().map(|one| one.id.as_str()).collect();
    let text = |text: Option<&'_ Localised>| text.map(|text| schema.text(text, Some(locale)).to_owned());
    let (intro, organisation) = (text(schema.intro.as_ref()), text(schema.organisation.as_ref()));
    rendered(
        status,
        &SurveyPage {
            version: assets::version(),
            words,
            direction: view::direction(locale),
            public_id,
            title: schema.text(&schema.title, Some(locale)),
            intro: intro.as_deref(),
            organisation: organisation.as_deref(),
            // A preview has no link of its own, and so nothing that hangs on it.
            has_colour: schema.colour.is_some() && !public_id.is_empty(),
            languages: if public_id.is_empty() { Vec::new() } else { view::languages(schema, locale) },
            submission_id: asked.submission,
            questions: questions(schema, locale, words, &shown, &asked.answers, &asked.faults),
            shown: shown.join(","),
            notice: asked.notice.map(|notice| notice(words)),
            is_fault: !asked.faults.is_empty(),
            locale,
        },
    )
}

/// The page that a schema makes, or what is wrong with it; nobody can answer it.
pub(crate) fn preview(schema: Result<Schema, Vec<String>>, wanted: Option<&str>) -> Response {
    let schema = match schema {
        Ok(schema) => schema,
        Err(faults) => {
            let text = faults.join("\n");
            return rendered(
                StatusCode::OK,
                &EndPage { good: false, ..end("en", "Not yet a survey", &text) },
            );
        }
    };
    let locale = schema.locale(wanted);
    shown(StatusCode::OK, &schema, "", &locale, &Asked::default())
}

fn answered(open: &Open, wanted: Option<&str>, status: StatusCode) -> Response {
    let locale = language(open, wanted);
    let words = words::of(&locale);
    let page = end(&locale, words.already, words.already_more);
    rendered(status, &with_colours(page, open, &locale))
}

fn with_colours<'p>(page: EndPage<'p>, open: &'p Open, locale: &'p str) -> EndPage<'p> {
    let schema = &open.version.schema;
    let organisation = schema.organisation.as_ref().map(|text| schema.text(text, Some(locale)));
    let colours = schema.colour.as_ref().map(|_| open.instance.public_id.as_str());
    EndPage { organisation, colours, ..page }
}

async fn answer(
    State(app): State<Shared>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Sent(fields): Sent,
) -> Result<Response, Refusal> {
    let wanted = Some(fields.text("lang")).filter(|lang| !lang.is_empty());
    let open = match look(&app.engine, &app.surveys, &id).await? {
        Link::Gone => return Ok(gone(&headers)),
        Link::Open(open) | Link::Answered(open) => open,
    };
    let schema = &open.version.schema;
    let mut answers = form::answers(schema, &fields);
    let shown: Vec<&str> = fields.text("shown").split(',').collect();
    let now_shown = visible(schema, &answers);
    // What is no longer asked is left out; what is asked only now has not been seen without script.
    answers.retain(|id, _| now_shown.iter().any(|question| question.id == *id));
    let is_more = now_shown.iter().any(|question| !shown.contains(&question.id.as_str()));
    let submission_id = Some(fields.text("submissionId")).filter(|id| (1..=128).contains(&id.len()));
    let asked = Asked { wanted, submission: submission_id.unwrap_or_default(), answers, ..Asked::default() };
    if is_more {
        let asked = Asked { notice: Some(|words| words.more_questions), ..asked };
        return Ok(page(StatusCode::OK, &open, &asked));
    }
    let submission = Submission {
        submission_id: submission_id.map(str::to_owned),
        answers: asked.answers.clone(),
        agent_id: None,
        locale: Some(language(&open, wanted)),
        completed_at: None,
    };
    Ok(match submit(&app.engine, &app.surveys, &id, &submission).await? {
        Submitted::Gone => gone(&headers),
        Submitted::AlreadyAnswered => answered(&open, wanted, StatusCode::CONFLICT),
        Submitted::Invalid(faults) => {
            let asked = Asked { faults, notice: Some(|words| words.look_again), ..asked };
            page(StatusCode::UNPROCESSABLE_ENTITY, &open, &asked)
        }
        Submitted::Taken(_) => {
            let locale = language(&open, wanted);
            let words = words::of(&locale);
            let own = schema.thanks.as_ref().map(|text| schema.text(text, Some(&locale)));
            let page = end(&locale, words.thanks, own.unwrap_or(words.thanks_more));
            rendered(StatusCode::OK, &with_colours(page, &open, &locale))
        }
    })
}

/// The page's script says that somebody sees it.
async fn seen(State(app): State<Shared>, Path(id): Path<String>) -> Result<Response, Refusal> {
    opened(&app.engine, &app.surveys, &id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// The organisation's colour, as a style sheet of its own: pages have no style inside them.
async fn colours(
    State(app): State<Shared>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let colour = match look(&app.engine, &app.surveys, &id).await? {
        Link::Open(open) | Link::Answered(open) => open.version.schema.colour.clone(),
        Link::Gone => return Ok(gone(&headers)),
    };
    Ok(own_colour(colour.as_deref()))
}

/// A style sheet that gives a public page this colour.
pub(crate) fn own_colour(colour: Option<&str>) -> Response {
    let text = colour.map(|colour| format!(":root {{ --own: {colour}; }}\n")).unwrap_or_default();
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], text).into_response()
}

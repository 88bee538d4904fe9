//! What the answers of one survey come to, as bars with the figures beside them.

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    http::{HeaderValue, header},
    response::IntoResponse,
    routing::get,
};
use jiff::tz::TimeZone;
use punctual_model::{survey::InstanceStatus, table::Table};
use punctual_store::surveys::SurveyRow;
use punctual_wire::keys::Scope;
use punctual_workflows::surveys::results::{self as path, QuestionResults, Results, ResultsFilter};

use super::{found_with_rows, percent};
use crate::{
    App, Shared,
    answer::{Page, Refusal, page},
    chart::sparkline,
    form::Fields,
    frame::{Frame, Visit},
    links,
    times::rough,
    words,
};

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/surveys/{id}", get(show))
        .route("/surveys/{id}/results.csv", get(csv))
        .route("/surveys/{id}/results.xlsx", get(xlsx))
}

#[derive(Template)]
#[template(path = "survey_results.html")]
struct ResultsPage {
    frame: Frame,
    survey: SurveyRow,
    sentence: String,
    may_write: bool,
    may_send: bool,
    tiles: Vec<SurveyTile>,
    days: String,
    has_answers: bool,
    day_rows: Vec<DayRow>,
    triggers: Vec<TriggerRow>,
    questions: Vec<Question>,
    field: String,
    value: String,
    /// The same limits for the files.
    query: String,
}

struct SurveyTile {
    name: &'static str,
    value: String,
    count: i64,
    note: String,
    /// The rows that it counts; none for what is no count, or while the figures are limited to some events.
    link: Option<String>,
}

/// A count with the rows that it opens; none for nothing, or while the figures are limited to some events.
struct Figure {
    count: i64,
    link: Option<String>,
}

impl Figure {
    fn shown(&self) -> String {
        words::grouped(self.count)
    }
}

struct DayRow {
    day: String,
    events: Figure,
    answers: Figure,
}

struct TriggerRow {
    name: String,
    asked: Figure,
    answered: Figure,
    rate: String,
}

/// The links that figures of one survey have.
struct Links {
    survey: i64,
    /// Whether nothing but the survey limits the figures.
    is_whole: bool,
}

impl Links {
    fn of(&self, count: i64, pairs: &[(&str, &str)]) -> Figure {
        let link = || format!("/surveys/{}/instances{}", self.survey, links::query(pairs.iter().copied()));
        Figure { count, link: (self.is_whole && count > 0).then(link) }
    }
}

struct Question {
    text: String,
    id: String,
    answered: Figure,
    answers: &'static str,
    note: Option<String>,
    bars: Vec<Bar>,
    texts: Vec<String>,
}

/// One answer: its bar is drawn, its figures are written.
struct Bar {
    text: String,
    count: Figure,
    share: String,
    svg: String,
}

/// Which answers are asked for: all, or those to events with this in a field.
fn limits(uri: &axum::http::Uri) -> (String, String, ResultsFilter) {
    let query = Fields::of_query(uri);
    let (field, value) = (query.text("field").to_owned(), query.text("value").to_owned());
    let candidate = if field.is_empty() { Vec::new() } else { vec![(field.clone(), value.clone())] };
    (field, value, ResultsFilter { candidate, ..ResultsFilter::default() })
}

async fn csv(State(app): State<Shared>, visit: Visit, Path(id): Path<String>, uri: axum::http::Uri) -> Page {
    let (survey, table) = answers(&app, &visit, &id, &uri).await?;
    let text = punctual_reports::csv::table(&table, &TimeZone::UTC);
    download(&survey, "csv", "text/csv; charset=utf-8", text.into_bytes())
}

async fn xlsx(State(app): State<Shared>, visit: Visit, Path(id): Path<String>, uri: axum::http::Uri) -> Page {
    let (survey, table) = answers(&app, &visit, &id, &uri).await?;
    let bytes = punctual_reports::xlsx::table(&survey.name, &table, &TimeZone::UTC);
    download(&survey, "xlsx", punctual_reports::xlsx::XLSX, bytes)
}

async fn answers(
    app: &App,
    visit: &Visit,
    id: &str,
    uri: &axum::http::Uri,
) -> Result<(SurveyRow, Table), Refusal> {
    let survey = found_with_rows(app, visit, id).await?;
    let (_, _, filter) = limits(uri);
    let versions = path::versions(&app.engine, &app.surveys, survey.id).await?;
    let table = path::table(&app.engine, &visit.viewer.by.reach(), survey.id, &versions, &filter).await?;
    Ok((survey, table))
}

fn download(survey: &SurveyRow, ending: &str, media_type: &'static str, bytes: Vec<u8>) -> Page {
    let name = HeaderValue::try_from(format!("attachment; filename=\"survey-{}.{ending}\"", survey.id))
        .map_err(|error| Refusal::internal(&error))?;
    let kind = HeaderValue::from_static(media_type);
    Ok(([(header::CONTENT_TYPE, kind), (header::CONTENT_DISPOSITION, name)], bytes).into_response())
}

async fn show(State(app): State<Shared>, visit: Visit, Path(id): Path<String>, uri: axum::http::Uri) -> Page {
    let survey = found_with_rows(&app, &visit, &id).await?;
    let (field, value, filter) = limits(&uri);
    let versions = path::versions(&app.engine, &app.surveys, survey.id).await?;
    let reach = visit.viewer.by.reach();
    let results = path::results(&app.engine, &app.surveys, &reach, survey.id, &versions, &filter).await?;
    let title = survey.name.clone();
    // What was counted a while ago, or only of the newest, is not what its rows are now.
    let now = Visit::now(&app);
    let is_now = results.newest.is_none() && now.duration_since(results.counted_at).as_secs() < 1;
    let is_whole = field.is_empty() && is_now;
    let to = Links { survey: survey.id, is_whole };
    page(&ResultsPage {
        frame: visit.frame(&app, &title, "/surveys").await?,
        sentence: format!("{}{}", sentence(&results), how_counted(&results, is_now, &visit)),
        may_write: visit.viewer.has(Scope::Author),
        may_send: visit.viewer.may_act(),
        tiles: tiles(&results, &survey, is_whole),
        has_answers: results.answered > 0,
        days: sparkline(&results.by_day.iter().map(|day| day.answered).collect::<Vec<_>>()),
        day_rows: results
            .by_day
            .iter()
            .rev()
            .take(60)
            .map(|day| DayRow {
                events: to.of(day.triggered, &[("day", &day.day)]),
                answers: to.of(day.answered, &[("answered", &day.day)]),
                day: day.day.clone(),
            })
            .collect(),
        triggers: results
            .by_trigger
            .iter()
            .map(|one| TriggerRow {
                asked: to.of(one.instances, &[("trigger", &one.trigger_id)]),
                answered: to.of(one.answered, &[("trigger", &one.trigger_id), ("answered", "yes")]),
                rate: percent(one.answered, one.sent),
                name: one.trigger_id.clone(),
            })
            .collect(),
        questions: results.questions.into_iter().map(|one| question(one, &to)).collect(),
        survey,
        query: links::query([("field", field.as_str()), ("value", value.as_str())]),
        field,
        value,
    })
}

fn sentence(results: &Results) -> String {
    if results.instances == 0 {
        return "Nobody has been asked yet.".to_owned();
    }
    let asked = words::grouped(results.instances);
    match (results.sent, results.answered) {
        (0, 0) => format!("{asked} asked; the first message is still to be sent."),
        (_, 0) => format!("{asked} asked, nobody has answered yet."),
        (_, answered) => {
            let rate = percent(answered, results.sent);
            format!("{asked} asked, {} answered: {rate}.", words::grouped(answered))
        }
    }
}

/// Of a survey with very many links: which of them are counted, and when that was.
pub(super) fn how_counted(results: &Results, is_now: bool, visit: &Visit) -> String {
    match results.newest {
        Some(newest) => format!(
            " These are its newest {} links: all of them are being counted. Look again in a minute.",
            words::grouped(newest)
        ),
        None if !is_now => format!(" Counted at {}.", visit.zone.clock(results.counted_at)),
        None => String::new(),
    }
}

fn tiles(results: &Results, survey: &SurveyRow, is_whole: bool) -> Vec<SurveyTile> {
    let nps = results.questions.iter().find_map(|question| question.nps.as_ref());
    let seconds = results.median_seconds_to_answer.map(|seconds| rough(seconds.saturating_mul(1_000_000)));
    let of = |status: InstanceStatus| results.by_status.get(&status).copied().unwrap_or(0);
    let tile =
        |name, count: i64, note, link| SurveyTile { name, value: words::grouped(count), count, note, link };
    let measure = |name, value, note| SurveyTile { name, value, count: 0, note, link: None };
    let rows = |count: i64, status: Option<InstanceStatus>| {
        let status = status.map_or("", InstanceStatus::as_str);
        let link = format!("/surveys/{}/instances{}", survey.id, links::query([("status", status)]));
        (is_whole && count > 0).then_some(link)
    };
    let expired = of(InstanceStatus::Expired);
    let open: i64 = InstanceStatus::ACTIVE.into_iter().map(of).sum();
    vec![
        tile(
            "Asked",
            results.instances,
            format!("{} reached", words::grouped(results.sent)),
            rows(results.instances, None),
        ),
        tile(
            "Answered",
            results.answered,
            percent(results.answered, results.sent),
            rows(results.answered, Some(InstanceStatus::Completed)),
        ),
        tile(
            "Expired",
            expired,
            format!("{} still open", words::grouped(open)),
            rows(expired, Some(InstanceStatus::Expired)),
        ),
        measure("Time to answer", seconds.unwrap_or_else(|| "–".to_owned()), "median".to_owned()),
        measure(
            "NPS",
            nps.map_or_else(|| "–".to_owned(), |nps| signed(nps.score)),
            nps.map_or_else(String::new, |nps| {
                format!("{} promote, {} detract", nps.promoters, nps.detractors)
            }),
        ),
    ]
}

fn question(results: QuestionResults, to: &Links) -> Question {
    let asked = results.id.as_str();
    let bars = results.counts.iter().map(|one| Bar {
        text: one.text.clone(),
        count: to.of(one.count, &[("question", asked), ("answer", &one.value.to_string())]),
        share: format!("{} %", (one.share * 100.0).round()),
        svg: bar(one.share),
    });
    let satisfied = results.csat.as_ref().map(|csat| format!("; {} % satisfied", csat.score.round()));
    let note = match (&results.nps, results.average) {
        (Some(nps), _) => Some(format!(
            "NPS {}: {} promoters, {} passives, {} detractors",
            signed(nps.score),
            nps.promoters,
            nps.passives,
            nps.detractors
        )),
        (None, Some(average)) => Some(format!("on average {average}{}", satisfied.unwrap_or_default())),
        (None, None) => None,
    };
    Question {
        bars: bars.collect(),
        answered: to.of(results.answered, &[("question", asked)]),
        answers: if results.answered == 1 { "answer" } else { "answers" },
        note,
        texts: results.texts,
        text: results.text,
        id: results.id,
    }
}

/// With its sign, but for nothing.
fn signed(score: f64) -> String {
    let score = score.round();
    if score == 0.0 { "0".to_owned() } else { format!("{score:+}") }
}

/// A bar of this share of the whole width.
fn bar(share: f64) -> String {
    let width = (share.clamp(0.0, 1.0) * 100.0).max(if share > 0.0 { 1.0 } else { 0.0 });
    format!(
        "<svg class=\"share\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"ground\" width=\"100\" height=\"8\"/><rect class=\"seg good\" width=\"{width:.1}\" height=\"8\"/></svg>"
    )
}

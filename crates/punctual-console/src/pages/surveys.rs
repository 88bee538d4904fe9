//! Surveys: which there are, what their answers come to, every link with its timeline, and what authors do with them.

mod builder;
mod campaign;
mod edit;
mod instances;
mod lab;
mod publish;
mod results;
mod shape;
pub mod subscribers;
mod trial;

use askama::Template;
use axum::{Router, extract::State, http::Uri, routing::get};
use punctual_model::survey::InstanceStatus;
use punctual_store::surveys::{self, SurveyRow};
use punctual_wire::{Problem, keys::Scope};
use punctual_workflows::surveys::results::{Counts, counts};

use crate::{
    App, Shared,
    answer::{Page, Refusal, page},
    form::Fields,
    frame::{Frame, Visit},
    links,
    times::When,
    words::{self, Pill},
};

/// Surveys on the page; whoever has more looks one up by its number.
const SHOWN: i64 = 200;

pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/surveys", get(show))
        .merge(edit::pages())
        .merge(publish::routes())
        .merge(campaign::routes())
        .merge(results::routes())
        .merge(instances::routes())
        .merge(lab::routes())
}

#[derive(Template)]
#[template(path = "surveys.html")]
struct SurveysPage {
    frame: Frame,
    sentence: String,
    may_write: bool,
    rows: Vec<Survey>,
    subscribers: Vec<subscribers::Subscriber>,
    done: Option<String>,
}

/// Who gets answers.
struct Survey {
    id: i64,
    name: String,
    integration: Option<String>,
    pill: Pill,
    version: String,
    /// The figure, with the links that it counts where they may be seen.
    asked: Figure,
    answered: Figure,
    rate: Option<String>,
    changed: When,
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let mut reader = app.engine.store.read_for_people().await?;
    let found = surveys::page(&mut reader.conn(), None, &visit.viewer.by.reach(), SHOWN).await?;
    drop(reader);
    let mut rows = Vec::with_capacity(found.len());
    let (mut asked_in_all, mut answered_in_all) = (0, 0);
    for row in found {
        let may_see = visit.viewer.by.may_touch(row.business_unit.as_deref());
        let reach = visit.viewer.by.reach();
        let Counts { asked, answered, reached, is_all } = if may_see {
            counts(&app.engine, &app.surveys, &reach, row.id).await?
        } else {
            Counts::default()
        };
        asked_in_all += asked;
        answered_in_all += answered;
        rows.push(Survey {
            rate: (reached > 0).then(|| percent(answered, reached)),
            asked: figure(row.id, asked, "", is_all),
            answered: figure(row.id, answered, InstanceStatus::Completed.as_str(), is_all),
            pill: state(&row),
            version: row.published_version.map_or_else(|| "–".to_owned(), |number| number.to_string()),
            changed: visit.zone.when(row.updated_at, Visit::now(&app)),
            id: row.id,
            name: row.name,
            integration: row.integration_id,
        });
    }
    let mut reader = app.engine.store.read_for_people().await?;
    // Subscribers get events of all business units.
    app.engine.channels.refresh(&mut reader.conn(), Visit::now(&app)).await?;
    let subscribers = match visit.viewer.sees_all() {
        true => subscribers::list(&mut reader.conn(), &app, visit.viewer.may_act()).await?,
        false => Vec::new(),
    };
    drop(reader);
    let sentence = if rows.is_empty() {
        String::new()
    } else {
        let count = i64::try_from(rows.len()).unwrap_or(i64::MAX);
        format!(
            "{}, {} asked, {} answered.",
            words::counted(count, "survey", "surveys"),
            words::grouped(asked_in_all),
            words::grouped(answered_in_all)
        )
    };
    let may_write = visit.viewer.has(Scope::Author);
    page(&SurveysPage {
        frame: visit.frame(&app, "Surveys", "/surveys").await?,
        sentence,
        may_write,
        rows,
        subscribers,
        done: subscribers::done(&Fields::of_query(&uri)),
    })
}

/// A figure, and where its rows are.
pub struct Figure {
    pub count: i64,
    pub link: Option<String>,
}

impl Figure {
    fn shown(&self) -> String {
        words::grouped(self.count)
    }
}

/// How many people were asked, or are in this state, with their links.
/// A figure with its rows; where it is not all of them, or of a while ago, without.
fn figure(survey: i64, count: i64, status: &str, is_all: bool) -> Figure {
    let link = format!("/surveys/{survey}/instances{}", links::query([("status", status)]));
    Figure { count, link: (is_all && count > 0).then_some(link) }
}

fn state(row: &SurveyRow) -> Pill {
    match row.published_version {
        Some(_) => Pill { word: "published", class: "good" },
        None => Pill { word: "draft", class: "neutral" },
    }
}

/// `37 %`.
fn percent(part: i64, whole: i64) -> String {
    if whole == 0 { "–".to_owned() } else { format!("{} %", (part * 100 + whole / 2) / whole) }
}

/// The survey of a page, if the viewer may have it.
async fn found(app: &App, visit: &Visit, id: &str) -> Result<SurveyRow, Refusal> {
    let missing = || Refusal::from(Problem::not_found("survey", id));
    let number: i64 = id.parse().map_err(|_| missing())?;
    let mut reader = app.engine.store.read_for_people().await?;
    let row = surveys::get(&mut reader.conn(), &visit.viewer.by.reach(), number).await?;
    row.ok_or_else(missing)
}

/// The survey of a page about whom it asked and what they answered. Rows of a shared survey belong to the installation.
async fn found_with_rows(app: &App, visit: &Visit, id: &str) -> Result<SurveyRow, Refusal> {
    let row = found(app, visit, id).await?;
    if visit.viewer.by.may_touch(row.business_unit.as_deref()) {
        return Ok(row);
    }
    Err(Problem::not_found("survey", id).into())
}

/// How an instance is, as a pill.
fn instance_pill(status: InstanceStatus) -> Pill {
    match status {
        InstanceStatus::Pending => Pill { word: "waiting", class: "neutral" },
        InstanceStatus::Sent => Pill { word: "sent", class: "good outline" },
        InstanceStatus::Opened => Pill { word: "opened", class: "warn outline" },
        InstanceStatus::Completed => Pill { word: "answered", class: "good" },
        InstanceStatus::Expired => Pill { word: "expired", class: "muted" },
    }
}

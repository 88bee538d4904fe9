//! Publishing: what it changes is shown first, with what is worth a second look.

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    routing::get,
};
use punctual_engine::commands::Seen;
use punctual_store::surveys::SurveyRow;
use punctual_workflows::surveys::{
    author::{self, Publishing},
    review::{Review, review},
};

use super::{edit::must_touch, found};
use crate::{
    App, Shared,
    answer::{Page, page, see_other},
    form::Signed,
    frame::{Frame, Visit},
    words::counted,
};

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/surveys/{id}/publish", get(show).post(publish))
}

#[derive(Template)]
#[template(path = "survey_publish.html")]
struct PublishPage {
    frame: Frame,
    survey: SurveyRow,
    sentence: String,
    review: Review,
    /// The draft was changed while this was shown.
    is_stale: bool,
}

async fn show(State(app): State<Shared>, visit: Visit, Path(id): Path<String>) -> Page {
    visit.must_author()?;
    let survey = found(&app, &visit, &id).await?;
    looked_over(&app, &visit, survey, false).await
}

async fn looked_over(app: &App, visit: &Visit, survey: SurveyRow, is_stale: bool) -> Page {
    let review = review(&app.engine, &survey).await?;
    if !review.faults.is_empty() {
        // The editor has them at their fields.
        return see_other(&format!("/surveys/{}/edit?done=saved", survey.id));
    }
    let count = i64::try_from(review.changes.len()).unwrap_or(i64::MAX);
    let sentence = match (survey.published_version, count) {
        (None, _) => "This is the first version. From then on, events send it.".to_owned(),
        (Some(number), 0) => format!("Version {number} is published and has no changes."),
        (Some(number), _) => format!(
            "{} to version {number}. Links that were sent keep their version.",
            counted(count, "change", "changes")
        ),
    };
    page(&PublishPage {
        frame: visit.frame(app, &format!("Publish {}?", survey.name), "/surveys").await?,
        survey,
        sentence,
        review,
        is_stale,
    })
}

async fn publish(State(app): State<Shared>, Path(id): Path<String>, form: Signed) -> Page {
    let Signed { visit, fields } = form;
    visit.must_author()?;
    let survey = found(&app, &visit, &id).await?;
    must_touch(&visit, survey.business_unit.as_deref(), survey.id)?;
    let seen = fields.text("version").parse().map_or(Seen::Nothing, Seen::Version);
    if fields.text("version") != survey.version.to_string() {
        return looked_over(&app, &visit, survey, true).await;
    }
    match author::publish_seen(&app.engine, &visit.viewer.by, survey.id, seen).await? {
        Publishing::Published { .. } => see_other(&format!("/surveys/{}/edit?done=published", survey.id)),
        Publishing::Refused(_) => see_other(&format!("/surveys/{}/edit", survey.id)),
    }
}

//! Why, and why not: one source on one local day, with every decision about it.

use askama::Template;
use axum::{Router, extract::State, http::Uri, routing::get};
use jiff::civil::Date;
use punctual_model::WorkStatus;
use punctual_wire::{Code, FieldError, Problem};
use punctual_workflows::reminders::why;

use crate::{
    Shared,
    answer::{Page, Refusal, page},
    form::Fields,
    frame::{Frame, Visit},
    links,
    times::When,
    words,
};

pub fn routes() -> Router<Shared> {
    Router::new().route("/why", get(show))
}

#[derive(Template)]
#[template(path = "why.html")]
struct WhyPage {
    frame: Frame,
    kind: String,
    id: String,
    date: String,
    back: String,
    sentence: String,
    steps: Vec<Step>,
}

struct Step {
    at: When,
    setting: Option<(String, String)>,
    outcome: &'static str,
    reason: String,
    values: String,
    work_id: Option<i64>,
}

async fn show(State(app): State<Shared>, visit: Visit, uri: Uri) -> Page {
    let fields = Fields::of_query(&uri);
    let (kind, id) = (fields.text("type").to_owned(), fields.text("id").to_owned());
    let date: Date = fields.text("date").parse().map_err(|_| {
        let detail = "`date` takes a day such as `2026-05-14`.";
        Refusal::from(Problem::from(FieldError::new("/date", Code::DateInvalid, detail)))
    })?;
    let now = Visit::now(&app);
    let missing = || Refusal::from(Problem::not_found("source", format!("{kind}/{id}")));
    let mut reader = app.engine.store.read_for_people().await?;
    let steps =
        why::why(&mut reader.conn(), &visit.viewer.by.reach(), &app.reminders, &kind, &id, date, now).await?;
    drop(reader);
    let steps = steps.ok_or_else(missing)?;
    let sent = steps.iter().filter(|step| step.outcome == WorkStatus::Completed.as_str()).count();
    let sentence = match (sent, steps.is_empty()) {
        (0, true) => "No setting is for sources of this type.".to_owned(),
        (0, false) => "Nothing was sent for that day; this is why.".to_owned(),
        (1, _) => "One reminder was queued, for these reasons.".to_owned(),
        (n, _) => format!("{n} reminders were queued; this is how they came about."),
    };
    let steps = steps.into_iter().map(|step| Step {
        at: visit.zone.exact(step.at),
        setting: step.setting,
        outcome: in_words(&step.outcome),
        reason: words::reason(step.reason.as_deref()),
        values: step.values.to_string(),
        work_id: step.work_id,
    });
    page(&WhyPage {
        frame: visit.frame(&app, "Why, or why not?", "/sources").await?,
        date: date.to_string(),
        back: format!("/sources/{}/{}", links::encoded(&kind), links::encoded(&id)),
        sentence,
        steps: steps.collect(),
        kind,
        id,
    })
}

fn in_words(outcome: &str) -> &'static str {
    // tidy-allow: a status or an action of the audit
    match outcome {
        "planned" => "Planned",
        "completed" => "Queued for delivery",
        "pending" => "Waits for its due time",
        "deactivated" | "deactivate" => "Taken back",
        "failed" | "fail" => "Failed",
        "cancelled" | "cancel" => "Cancelled",
        "onHold" | "hold" => "Put on hold",
        "release" => "Released",
        "retry" => "Retried",
        "conflict" => "On hold: two inputs with one key",
        "notWanted" => "Not wanted",
        "otherDay" => "Planned for other days",
        "notPlanned" => "Not planned",
        _ => "Noted",
    }
}

//! The links of a survey, and the timeline of one: event, messages, answer, deliveries to subscribers.

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    routing::get,
};
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use punctual_model::{WorkStatus, survey::InstanceStatus};
use punctual_store::{
    audit, outbox,
    survey_instances::{self, Answered, InstanceFilter, InstanceRow},
    survey_responses,
    surveys::SurveyRow,
    work,
};
use punctual_wire::Problem;
use punctual_workflows::surveys::{fan_out::event_status, instances as path, results};
use serde_json::Value;

use super::{found_with_rows, instance_pill};
use crate::{
    App, Shared,
    answer::{Page, Refusal, page},
    form::Fields,
    frame::{Frame, Visit},
    links,
    pages::timeline::{Happened, Step, audited, in_order, pretty_text},
    times::When,
    views::SavedViews,
    words::{self, Pill},
};

const SHOWN: i64 = 50;

/// The parameters of links from figures, besides the state.
const FIGURES: [&str; 5] = ["trigger", "day", "answered", "question", "answer"];

/// What a figure limits the list to.
struct Limits {
    trigger: Option<String>,
    /// The day of the event in UTC.
    day: Option<(Date, (i64, i64))>,
    /// `yes`, or the day of the answer in UTC.
    answered: Option<String>,
    question: Option<String>,
    /// As JSON.
    answer: Option<String>,
}

/// A day in UTC, and from when until when it is.
fn day(text: &str) -> Option<(Date, (i64, i64))> {
    let date: Date = text.parse().ok()?;
    let start = |date: Date| date.to_zoned(TimeZone::UTC).map(|start| start.timestamp().as_microsecond());
    Some((date, (start(date).ok()?, start(date.tomorrow().ok()?).ok()?)))
}

impl Limits {
    fn answered(&self) -> Option<Answered> {
        if self.answered.is_none() && self.question.is_none() {
            return None;
        }
        let within = self.answered.as_deref().and_then(day).map(|(_, span)| span);
        Some(Answered { within, question: self.question.clone(), value: self.answer.clone() })
    }

    async fn in_words(&self, app: &App, survey: &SurveyRow) -> Result<Vec<String>, Refusal> {
        let mut said = Vec::new();
        said.extend(self.trigger.as_ref().map(|trigger| format!("Trigger {trigger}")));
        said.extend(self.day.as_ref().map(|(date, _)| format!("Events of {date}, UTC")));
        said.extend(self.answered.as_deref().map(|answered| match day(answered) {
            Some((date, _)) => format!("Answered on {date}, UTC"),
            None => "Answered".to_owned(),
        }));
        if let Some(id) = &self.question {
            let versions = results::versions(&app.engine, &app.surveys, survey.id).await?;
            let text = versions.iter().find_map(|version| {
                let question = version.schema.questions.iter().find(|question| question.id == *id)?;
                Some(version.schema.text(&question.text, None).to_owned())
            });
            let question = text.unwrap_or_else(|| id.clone());
            let answer = self.answer.as_deref().map(|json| {
                let value: Value = serde_json::from_str(json).unwrap_or_default();
                value.as_str().map_or_else(|| json.to_owned(), str::to_owned)
            });
            said.push(match answer {
                Some(answer) => format!("{question} {answer}"),
                None => format!("Answered: {question}"),
            });
        }
        Ok(said)
    }
}

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/surveys/{id}/instances", get(list))
        .route("/surveys/{id}/instances/{publicId}", get(show))
}

#[derive(Template)]
#[template(path = "survey_instances.html")]
struct ListPage {
    frame: Frame,
    views: SavedViews,
    survey: SurveyRow,
    status: String,
    states: [&'static str; 5],
    /// What a figure that led here limits them to, in words.
    about: Vec<String>,
    rows: Vec<Row>,
    next: Option<String>,
    /// What a send by hand came to.
    done: Option<String>,
}

struct Row {
    public_id: String,
    address: String,
    pill: Pill,
    taken_back: bool,
    trigger: String,
    triggered: When,
    next: Option<When>,
}

async fn list(State(app): State<Shared>, visit: Visit, Path(id): Path<String>, uri: axum::http::Uri) -> Page {
    let survey = found_with_rows(&app, &visit, &id).await?;
    let query = Fields::of_query(&uri);
    let status = query.text("status").to_owned();
    let given = |name: &str| Some(query.text(name).to_owned()).filter(|text| !text.is_empty());
    let limits = Limits {
        trigger: given("trigger"),
        day: day(query.text("day")),
        answered: given("answered"),
        question: given("question"),
        answer: given("answer"),
    };
    let filter = InstanceFilter {
        trigger: limits.trigger.clone(),
        triggered: limits.day.as_ref().map(|(_, span)| *span),
        answered: limits.answered(),
        survey_id: survey.id,
        status: InstanceStatus::parse(&status),
        // As the figures count them that lead here.
        counted: true,
        before: query.text("before").parse().ok(),
        limit: SHOWN,
        ..InstanceFilter::default()
    };
    let mut reader = app.engine.store.read_for_people().await?;
    let found = survey_instances::page(&mut reader.conn(), &visit.viewer.by.reach(), &filter).await?;
    drop(reader);
    let next = found.next.map(|next| {
        let next = next.to_string();
        let kept = FIGURES.iter().map(|name| (*name, query.text(name)));
        let all = [("status", status.as_str())].into_iter().chain(kept).chain([("before", next.as_str())]);
        format!("/surveys/{}/instances{}", survey.id, links::query(all))
    });
    let about = limits.in_words(&app, &survey).await?;
    let now = Visit::now(&app);
    let rows = found
        .rows
        .into_iter()
        .map(|row| Row {
            pill: instance_pill(row.status),
            taken_back: row.deleted,
            triggered: visit.zone.when(row.triggered_at, now),
            next: row.next_send_at.map(|at| visit.zone.when(at, now)),
            public_id: row.public_id,
            address: row.recipient_address,
            trigger: row.trigger_id,
        })
        .collect();
    let title = format!("{}: links", survey.name);
    let done = query.text("sent").parse().ok().map(|count: i64| match count {
        1 => "The survey goes to 1 person.".to_owned(),
        _ => format!("The survey goes to {} people.", words::grouped(count)),
    });
    page(&ListPage {
        frame: visit.frame(&app, &title, "/surveys").await?,
        views: SavedViews::of(&app, &visit).await?,
        survey,
        status,
        states: InstanceStatus::ALL.map(InstanceStatus::as_str),
        about,
        rows,
        next,
        done,
    })
}

#[derive(Template)]
#[template(path = "survey_instance.html")]
struct InstancePage {
    frame: Frame,
    survey: SurveyRow,
    row: InstanceRow,
    pill: Pill,
    sentence: String,
    metadata: String,
    answers: Option<String>,
    deliveries: Vec<(String, Pill, String, String)>,
    timeline: Vec<Step>,
}

async fn show(
    State(app): State<Shared>,
    visit: Visit,
    Path((id, public_id)): Path<(String, String)>,
) -> Page {
    let survey = found_with_rows(&app, &visit, &id).await?;
    let mut reader = app.engine.store.read_for_people().await?;
    let row =
        survey_instances::by_public_id(&mut reader.conn(), &visit.viewer.by.reach(), &public_id).await?;
    let row = row.filter(|row| row.survey_id == survey.id);
    let row = row.ok_or_else(|| Refusal::from(Problem::not_found("instance", &public_id)))?;
    let mut logs =
        path::delivery_logs(&mut reader.conn(), &visit.viewer.by.reach(), std::slice::from_ref(&row)).await?;
    let response = survey_responses::by_instance(&mut reader.conn(), row.id).await?;
    let events = outbox::of_instance(&mut reader.conn(), &visit.viewer.by.reach(), &public_id).await?;
    let deliveries =
        outbox::deliveries(&mut reader.conn(), events.iter().map(|one| one.id).collect()).await?;
    let acts = audit::of(&mut reader.conn(), &visit.viewer.by.reach(), "survey-instance", &public_id).await?;
    let next = format!("survey:{public_id}:send:{}", row.sends + 1);
    let planned = work::by_key(&mut reader.conn(), &visit.viewer.by.reach(), &next)
        .await?
        .filter(|work| work.is(&[WorkStatus::Pending]));
    drop(reader);

    let mut happened = vec![Happened {
        detail: format!("{} for trigger {}", row.triggered_by, row.trigger_id),
        raw: Some(pretty_text(&row.metadata)),
        ..Happened::new(row.triggered_at, "The event happened")
    }];
    for entry in logs.remove(&public_id).unwrap_or_default() {
        let which = if entry.ordinal == 1 {
            "First message".to_owned()
        } else {
            format!("Reminder {}", entry.ordinal - 1)
        };
        // tidy-allow: a word of the log, which may be a reason code too
        let (said, class) = match entry.status.as_str() {
            "delivered" => ("arrived", "good"),
            "underway" => ("on its way", ""),
            "uncertain" => ("may or may not have arrived", "warn"),
            _ => ("was not sent", "bad"),
        };
        let reason = words::reason(Some(&entry.status));
        happened.push(Happened {
            detail: entry.error.or(entry.message_id).unwrap_or(if class == "bad" {
                reason
            } else {
                String::new()
            }),
            link: Some(format!("/notifications/{}", entry.notification_id)),
            class,
            ..Happened::new(entry.sent_at, format!("{which}, attempt {}: {said}", entry.attempt))
        });
    }
    if let Some(work) = planned.filter(|_| row.next_send_at.is_some()) {
        happened.push(Happened {
            link: Some(format!("/work/{}", work.id)),
            ..Happened::new(work.due_at, "The next message is planned")
        });
    }
    happened.extend(row.opened_at.map(|at| Happened::new(at, "The page was shown to a person")));
    if let Some(response) = &response {
        happened.push(Happened {
            class: "good",
            detail: response.agent_id.as_ref().map(|agent| format!("by {agent}")).unwrap_or_default(),
            raw: Some(pretty_text(&response.answers)),
            ..Happened::new(response.completed_at, "Answered")
        });
    }
    for event in &events {
        let own: Vec<_> =
            deliveries.iter().filter(|one| one.event_id == event.id).map(|one| one.status).collect();
        let receivers = words::counted(i64::try_from(own.len()).unwrap_or(0), "subscriber", "subscribers");
        happened.push(Happened {
            detail: format!("{receivers}, {}", event_status(own.into_iter())),
            raw: Some(pretty_text(&event.payload)),
            ..Happened::new(event.created_at, format!("Event {}", event.event_type))
        });
    }
    if row.status == InstanceStatus::Expired {
        happened.push(Happened {
            class: "bad",
            detail: words::reason(row.reason_code.as_deref()),
            ..Happened::new(row.finished_at.unwrap_or(row.triggered_at), "Expired")
        });
    }
    happened.extend(acts.iter().map(|act| {
        audited(act.at, &act.action, &act.actor, act.reason.as_deref(), &Value::Null, &visit.zone)
    }));
    let pill =
        if row.deleted { Pill { word: "taken back", class: "muted" } } else { instance_pill(row.status) };
    let title = format!("{}: {}", survey.name, row.recipient_address);
    page(&InstancePage {
        frame: visit.frame(&app, &title, "/surveys").await?,
        sentence: sentence(&row, &visit, Visit::now(&app)),
        metadata: pretty_text(&row.metadata),
        answers: response.map(|response| pretty_text(&response.answers)),
        deliveries: deliveries
            .into_iter()
            .map(|one| {
                let pill = one.status.map_or(Pill { word: "unknown", class: "muted" }, words::notification);
                (one.subscriber, pill, one.last_error.unwrap_or_default(), one.notification_id)
            })
            .collect(),
        timeline: in_order(happened, &visit.zone),
        survey,
        row,
        pill,
    })
}

fn sentence(row: &InstanceRow, visit: &Visit, now: Timestamp) -> String {
    let when = |at: Option<Timestamp>| at.map(|at| visit.zone.when(at, now).text);
    match row.status {
        InstanceStatus::Completed => format!("Answered {}.", when(row.finished_at).unwrap_or_default()),
        InstanceStatus::Expired => format!("Expired {}.", when(row.finished_at).unwrap_or_default()),
        InstanceStatus::Pending | InstanceStatus::Sent | InstanceStatus::Opened => {
            match (when(row.last_sent_at), when(row.next_send_at)) {
                (None, Some(next)) => format!("The first message will be sent {next}."),
                (Some(last), Some(next)) => format!("Last message {last}, the next one {next}."),
                (Some(last), None) => format!("Last message {last}; nothing more is planned."),
                (None, None) => "The first message is parked and needs attention.".to_owned(),
            }
        }
    }
}

//! The links of a survey, and the timeline of one: event, messages, answer, deliveries to subscribers.

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    routing::get,
};
use jiff::Timestamp;
use punctual_model::{WorkStatus, survey::InstanceStatus};
use punctual_store::{
    audit, outbox,
    survey_instances::{self, InstanceFilter, InstanceRow},
    survey_responses,
    surveys::SurveyRow,
    work,
};
use punctual_wire::Problem;
use punctual_workflows::surveys::{fan_out::event_status, instances as path};

use super::{found_with_rows, instance_pill};
use crate::{
    Shared,
    answer::{Page, Refusal, page},
    form::Fields,
    frame::{Frame, Visit},
    pages::timeline::{Happened, Step, in_order, pretty_text},
    times::When,
    views::SavedViews,
    words::{self, Pill},
};

const SHOWN: i64 = 50;

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

fn instant(micros: i64) -> Timestamp {
    Timestamp::from_microsecond(micros).unwrap_or_default()
}

async fn list(State(app): State<Shared>, visit: Visit, Path(id): Path<String>, uri: axum::http::Uri) -> Page {
    let survey = found_with_rows(&app, &visit, &id).await?;
    let query = Fields::of_query(&uri);
    let status = query.text("status").to_owned();
    let filter = InstanceFilter {
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
    let next =
        found.next.map(|next| format!("/surveys/{}/instances?status={status}&before={next}", survey.id));
    let now = Visit::now(&app);
    let rows = found
        .rows
        .into_iter()
        .map(|row| Row {
            pill: instance_pill(row.status),
            taken_back: row.deleted,
            triggered: visit.zone.when(instant(row.triggered_at), now),
            next: row.next_send_at.map(|at| visit.zone.when(instant(at), now)),
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
        ..Happened::new(instant(row.triggered_at), "The event happened")
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
            ..Happened::new(instant(work.due_at), "The next message is planned")
        });
    }
    happened.extend(row.opened_at.map(|at| Happened::new(instant(at), "The page was shown to a person")));
    if let Some(response) = &response {
        happened.push(Happened {
            class: "good",
            detail: response.agent_id.as_ref().map(|agent| format!("by {agent}")).unwrap_or_default(),
            raw: Some(pretty_text(&response.answers)),
            ..Happened::new(instant(response.completed_at), "Answered")
        });
    }
    for event in &events {
        let own: Vec<_> =
            deliveries.iter().filter(|one| one.event_id == event.id).map(|one| one.status).collect();
        let receivers = words::counted(i64::try_from(own.len()).unwrap_or(0), "subscriber", "subscribers");
        happened.push(Happened {
            detail: format!("{receivers}, {}", event_status(own.into_iter())),
            raw: Some(pretty_text(&event.payload)),
            ..Happened::new(instant(event.created_at), format!("Event {}", event.event_type))
        });
    }
    if row.status == InstanceStatus::Expired {
        happened.push(Happened {
            class: "bad",
            detail: words::reason(row.reason_code.as_deref()),
            ..Happened::new(instant(row.finished_at.unwrap_or(row.triggered_at)), "Expired")
        });
    }
    happened.extend(acts.into_iter().map(|act| Happened {
        detail: format!("by {}", act.actor),
        ..Happened::new(instant(act.at), act.action)
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
    let when = |at: Option<i64>| at.map(|at| visit.zone.when(instant(at), now).text);
    match row.status {
        InstanceStatus::Completed => format!("Answered {}.", when(row.finished_at).unwrap_or_default()),
        InstanceStatus::Expired => format!("Expired {}.", when(row.finished_at).unwrap_or_default()),
        InstanceStatus::Pending | InstanceStatus::Sent | InstanceStatus::Opened => {
            match (when(row.last_sent_at), when(row.next_send_at)) {
                (None, Some(next)) => format!("The first message is sent {next}."),
                (Some(last), Some(next)) => format!("Last message {last}, the next one {next}."),
                (Some(last), None) => format!("Last message {last}; nothing more is planned."),
                (None, None) => "The first message is parked and needs attention.".to_owned(),
            }
        }
    }
}

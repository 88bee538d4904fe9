//! What anybody with a link may do: read the questions, say that the page is shown, answer. No key, and limits.

use axum::{
    Extension,
    extract::{FromRequestParts, State},
    http::request::Parts,
};
use punctual_engine::Peer;
use punctual_model::survey::{InstanceStatus, is_right_to_left};
use punctual_wire::{
    Code, Problem,
    surveys::public::{PublicSurvey, ResponseRequest, ResponseTaken},
};
use punctual_workflows::surveys::answer::{self as path, Link, Submission, Submitted};
use serde_json::json;

use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    body::{Json, ResponseBody},
    parameters::Segments,
    surveys::fields,
};

/// A visitor within their limits; what they ask for is the last segment but those that name an action.
pub struct Visitor;

impl FromRequestParts<Shared> for Visitor {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Self, Failure> {
        let peer: Option<Extension<Peer>> = Option::from_request_parts(parts, app).await.unwrap_or(None);
        let address = peer.map(|Extension(Peer(peer))| peer.ip().to_canonical());
        let link = parts.uri.path().split('/').find(|part| part.len() == 36).unwrap_or_default();
        match app.public.wait(link, address, app.wall.now()) {
            None => Ok(Self),
            Some(seconds) => Err(Problem::rate_limited(seconds).into()),
        }
    }
}

/// One and the same for links that never were, that are over and that were taken back.
fn gone() -> Failure {
    Problem::new(Code::NotFound, "There is no such survey, or no longer.").into()
}

/// Read what a link asks
#[utoipa::path(get, path = "/api/v1/public/surveys/{publicId}", tag = "Survey links",
    params(("publicId" = String, Path)), responses((status = 200, body = PublicSurvey)))]
pub async fn get(State(app): State<Shared>, _visitor: Visitor, Segments(id): Segments<String>) -> Answer {
    let (open, is_open) = match path::look(&app.engine, &app.surveys, &id).await? {
        Link::Gone => return Err(gone()),
        Link::Open(open) => (open, true),
        Link::Answered(open) => (open, false),
    };
    let locale = open.version.schema.locale(open.instance.recipient_locale.as_deref());
    JsonResponse::ok(&PublicSurvey {
        right_to_left: is_right_to_left(&locale),
        survey: if is_open { open.version.asked.clone() } else { json!({}) },
        public_id: open.instance.public_id,
        status: if is_open { "open" } else { InstanceStatus::Completed.as_str() }.to_owned(),
        locale,
    })
}

/// Say that the page is shown to a person
///
/// Sent by the page's script, because programs that look at links in mail open them too.
#[utoipa::path(post, path = "/api/v1/public/surveys/{publicId}/opened", tag = "Survey links",
    params(("publicId" = String, Path)), responses((status = 204)))]
pub async fn opened(State(app): State<Shared>, _visitor: Visitor, Segments(id): Segments<String>) -> Answer {
    match path::look(&app.engine, &app.surveys, &id).await? {
        Link::Gone => return Err(gone()),
        Link::Answered(_) => {}
        Link::Open(_) => drop(path::opened(&app.engine, &app.surveys, &id).await?),
    }
    JsonResponse::no_content()
}

/// Answer
///
/// The first valid answer counts. The same `submissionId` again returns the same result; another one is refused.
#[utoipa::path(post, path = "/api/v1/public/surveys/{publicId}/responses", tag = "Survey links",
    params(("publicId" = String, Path)),
    request_body(content = ResponseRequest, example = json!({"submissionId": "a-1", "answers": {"rate": 9}, "meta": {"agentId": "agent-7"}})),
    responses((status = 200, body = ResponseTaken)))]
pub async fn respond(
    State(app): State<Shared>,
    _visitor: Visitor,
    Segments(id): Segments<String>,
    body: Json<ResponseBody>,
) -> Answer {
    take(&app, id, &body).await
}

/// The same, at the address that other systems know
#[utoipa::path(post, path = "/SurveyInstances/{publicId}/responses", tag = "Survey links",
    params(("publicId" = String, Path)),
    request_body(content = ResponseRequest, example = json!({"submissionId": "a-1", "answers": {"rate": 9}, "meta": {"agentId": "agent-7"}})),
    responses((status = 200, body = ResponseTaken)))]
pub async fn respond_as_known(
    State(app): State<Shared>,
    _visitor: Visitor,
    Segments(id): Segments<String>,
    body: Json<ResponseBody>,
) -> Answer {
    take(&app, id, &body).await
}

async fn take(app: &App, public_id: String, body: &Json<ResponseBody>) -> Answer {
    let request = ResponseRequest::read(&body.value, "")?;
    let meta = request.meta.unwrap_or_default();
    let submission = Submission {
        submission_id: request.submission_id,
        answers: request.answers,
        agent_id: request.agent_id.or(meta.agent_id),
        locale: request.locale,
        completed_at: request.completed_at.or(meta.completed_at),
    };
    match path::submit(&app.engine, &app.surveys, &public_id, &submission).await? {
        Submitted::Gone => Err(gone()),
        Submitted::Invalid(faults) => Err(Problem::of_fields(fields(faults, "/answers")).into()),
        Submitted::AlreadyAnswered => {
            let problem = Problem::new(Code::StateNotAllowed, "The survey has been answered before.");
            Err(problem.with("state", InstanceStatus::Completed.as_str()).into())
        }
        Submitted::Taken(taken) => JsonResponse::ok(&ResponseTaken {
            public_id,
            status: InstanceStatus::Completed.as_str().to_owned(),
            completed_at: taken.completed_at,
            submission_id: taken.submission_id,
        }),
    }
}

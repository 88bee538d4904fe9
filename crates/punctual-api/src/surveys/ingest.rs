//! Events that make instances: from upstream systems, and from an operator's campaign.

use axum::extract::State;
use punctual_wire::{
    Problem, batch,
    surveys::{CampaignRequest, IngestItem, IngestRequest, Ingested, IngestedInstance, IngestedItem},
};
use punctual_workflows::{
    event_intake::not_in_future,
    surveys::ingest::{self as path, Asked, Item, Outcome},
};

use crate::{
    App, Shared,
    answer::{Answer, Failure, JsonResponse},
    auth::{Caller, Ingest, Operate, Principal},
    body::{Bulk, Json},
    idempotency::IdempotencyKey,
    parameters::Segments,
    surveys::with_rows,
    trace_context::TraceContext,
};

/// Tell events that surveys may ask about, at most 10,000
///
/// Each event creates one instance for every matching trigger; a repeated event returns its first instance.
#[utoipa::path(post, path = "/api/v1/surveys/triggers/ingest", tag = "Surveys", security(("key" = ["ingest"])),
    request_body(content = IngestRequest, example = json!({"eventKind": "service-visit-closed", "items": [{"payload": {"wip": "40956", "dealerId": "1", "jobType": "GR"},
        "recipient": {"address": "+964 770 000 0001", "locale": "ar", "customerRef": "cust-123"}}]})),
    responses((status = 200, body = Ingested)))]
pub async fn post(
    State(app): State<Shared>,
    caller: Caller<Ingest>,
    once: IdempotencyKey,
    trace: TraceContext,
    body: Json<Bulk>,
) -> Answer {
    ingest(&app, &caller, &once, &trace, body).await
}

/// The same, at the address that other systems know
#[utoipa::path(post, path = "/api/Surveys/Triggers/ingest", tag = "Surveys", security(("key" = ["ingest"])),
    request_body(content = IngestRequest, example = json!({"eventKind": "service-visit-closed", "items": [{"payload": {"wip": "40957", "dealerId": "1", "jobType": "GR"},
        "recipient": {"address": "+964 770 000 0002", "locale": "ar", "customerRef": "cust-124"}}]})), responses((status = 200, body = Ingested)))]
pub async fn post_as_known(
    State(app): State<Shared>,
    caller: Caller<Ingest>,
    once: IdempotencyKey,
    trace: TraceContext,
    body: Json<Bulk>,
) -> Answer {
    ingest(&app, &caller, &once, &trace, body).await
}

async fn ingest(
    app: &App,
    caller: &Principal,
    once: &IdempotencyKey,
    trace: &TraceContext,
    body: Json<Bulk>,
) -> Answer {
    let (kind, items) = IngestRequest::read(&body.value)?;
    once.run(app, caller, &body.bytes, |_| async move {
        JsonResponse::ok(&take(app, caller, &Asked::Kind(&kind), trace, items).await?)
    })
    .await
}

/// Send a survey by hand, to at most 10,000 people
///
/// The trigger's filter, recipe, schedule and channel count as for events.
#[utoipa::path(post, path = "/api/v1/surveys/{id}/campaigns", tag = "Surveys", security(("key" = ["operate"])),
    params(("id" = i64, Path)), request_body(content = CampaignRequest, example = json!({"triggerId": "after-visit", "items": [{"payload": {"wip": "40958", "dealerId": "1"},
        "recipient": {"address": "+964 770 000 0003", "locale": "en", "customerRef": "cust-125"}}]})), responses((status = 200, body = Ingested)))]
pub async fn campaign(
    State(app): State<Shared>,
    caller: Caller<Operate>,
    once: IdempotencyKey,
    Segments(id): Segments<String>,
    trace: TraceContext,
    body: Json<Bulk>,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let survey = with_rows(app, caller, &id).await?;
    let (trigger_id, items) = CampaignRequest::read(&body.value)?;
    once.run(app, caller, &body.bytes, |_| async move {
        let asked = Asked::Campaign { survey_id: survey.id, trigger_id: &trigger_id, by: &caller.by };
        JsonResponse::ok(&take(app, caller, &asked, &trace, items).await?)
    })
    .await
}

/// Takes those that could be read; an answer for each, in their order.
async fn take(
    app: &App,
    caller: &Principal,
    asked: &Asked<'_>,
    trace: &TraceContext,
    items: Vec<batch::Item<IngestItem>>,
) -> Result<Ingested, Failure> {
    let now = app.engine.clock.now();
    let mut faults = Vec::new();
    let mut good: Vec<Item> = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        let item = item.map_err(Problem::from).and_then(|item| {
            let at = item.occurred_at.unwrap_or(now);
            not_in_future(at, now, &format!("/items/{index}/occurredAt")).map(|()| item)
        });
        match item {
            Ok(item) => good.push(Item {
                payload: item.payload,
                address: item.recipient.address,
                locale: item.recipient.locale,
                customer_ref: item.recipient.customer_ref,
                occurred_at: item.occurred_at,
            }),
            Err(problem) => faults.push((index, problem)),
        }
    }
    let outcomes =
        path::ingest(&app.engine, &app.surveys, asked, trace.asked(), caller.by.units.as_deref(), &good)
            .await?;
    let mut answer = Ingested { failed: faults.len() as u64, ..Ingested::default() };
    answer.items = outcomes.into_iter().map(|outcome| shape(outcome, &mut answer)).collect();
    for (index, problem) in faults {
        let failed = IngestedItem {
            outcome: "Failed".into(),
            instances: Vec::new(),
            why: None,
            error: Some(Box::new(problem)),
        };
        answer.items.insert(index, failed);
    }
    Ok(answer)
}

fn shape(outcome: Outcome, counts: &mut Ingested) -> IngestedItem {
    match outcome {
        Outcome::NoMatch(why) => {
            counts.unmatched += 1;
            let why = Some(why.as_str().to_owned());
            IngestedItem { outcome: "NoMatch".into(), instances: Vec::new(), why, error: None }
        }
        Outcome::Matched(made) => {
            let created = made.iter().filter(|made| made.created).count();
            counts.created += created as u64;
            counts.skipped += (made.len() - created) as u64;
            let outcome = if created > 0 { "Created" } else { "Skipped" };
            let instances = made.into_iter().map(|made| IngestedInstance {
                survey_id: made.survey_id,
                trigger_id: made.trigger_id,
                public_id: made.public_id,
                outcome: if made.created { "Created" } else { "Skipped" }.to_owned(),
            });
            IngestedItem { outcome: outcome.into(), instances: instances.collect(), why: None, error: None }
        }
    }
}

//! `/api/v1/events`: CloudEvents from other systems, one or a batch.

mod body;

use axum::extract::State;
use punctual_engine::events::{Event, EventTaken, IncomingEvent};
use punctual_wire::{
    Batch, Problem,
    batch::OneOrMany,
    events::{EventOutcome, EventRequest},
};
use punctual_workflows::event_intake::{Sender, not_yours, units_in};

use crate::{
    Shared,
    answer::{Answer, JsonResponse},
    auth::{Caller, Ingest},
    idempotency::IdempotencyKey,
    openapi::shapes,
    sources::counts,
    trace_context::TraceContext,
};

use body::EventBody;

/// Report an event, or an array of at most 1,000
///
/// `source.changed` and `source.deleted` with a subject `type/id` report the state of a source; any other type goes to its
/// listeners. Each event has its own outcome; an event without a listener is not an error. In binary mode the attributes are
/// headers (`ce-specversion`, `ce-id`, `ce-source`, `ce-type`, …) and the body is the data: JSON or text.
#[utoipa::path(post, path = "/api/v1/events", tag = "Events", security(("key" = ["ingest"])),
    request_body(content((EventRequest = "application/cloudevents+json"), (Vec<EventRequest> = "application/cloudevents-batch+json"),
        (inline(shapes::OneOrMany<EventRequest>) = "application/json"))),
    responses((status = 200, body = Batch<EventOutcome>)))]
pub async fn post(
    State(app): State<Shared>,
    caller: Caller<Ingest>,
    once: IdempotencyKey,
    trace: TraceContext,
    body: EventBody,
) -> Answer {
    let (app, caller) = (&*app, &*caller);
    let (requests, is_batch) = match EventRequest::read_body(&body.value)? {
        OneOrMany::One(one) => (vec![Ok(one)], false),
        OneOrMany::Many(many) => (many, true),
    };
    once.run(app, caller, &body.bytes, |_| async move {
        // Whether a survey listens to an event is decided by what is published now.
        let mut reader = app.engine.store.read_for_people().await?;
        app.surveys.current(&mut reader.conn()).await?;
        drop(reader);
        let units = app.engine.units_named(&caller.by, units_in(requests.iter().flatten())).await?;
        let now = app.engine.clock.now();
        let sender = Sender { by: &caller.by, units: &units, surveys: &app.surveys, now };
        let (mut accepted, mut refused) = (Vec::new(), Vec::with_capacity(requests.len()));
        for (index, request) in requests.into_iter().enumerate() {
            let pointer = if is_batch { format!("/{index}") } else { String::new() };
            match request.map_err(Problem::from).and_then(|one| sender.incoming(one, None, &pointer)) {
                Ok(one) => {
                    accepted.push(one.asked_in(trace.asked()));
                    refused.push(None);
                }
                // One event on its own is a request like any other: what is wrong with it is the answer.
                Err(problem) if !is_batch => return Err(problem.into()),
                Err(problem) => refused.push(Some(problem)),
            }
        }
        let taken = if accepted.is_empty() {
            Vec::new()
        } else {
            app.engine.take_events(&app.sinks, &accepted).await?
        };
        let mut taken = accepted.iter().map(IncomingEvent::event).zip(taken);
        let items = refused.into_iter().enumerate().map(|(index, refused)| match refused {
            Some(problem) => rejected(index, problem),
            None => outcome(index, taken.next()),
        });
        JsonResponse::ok(&Batch { items: items.collect() })
    })
    .await
}

fn outcome(index: usize, taken: Option<(&Event, EventTaken)>) -> EventOutcome {
    match taken {
        Some((_, EventTaken::Accepted { touched, unmatched })) => EventOutcome {
            index,
            outcome: "accepted".into(),
            work: Some(counts(&touched)),
            unmatched: u64::from(unmatched),
            error: None,
        },
        Some((_, EventTaken::Stale)) => {
            EventOutcome { index, outcome: "stale".into(), work: None, unmatched: 0, error: None }
        }
        Some((event, EventTaken::NotYours)) => rejected(index, not_yours(event)),
        None => rejected(index, Problem::internal()),
    }
}

fn rejected(index: usize, problem: Problem) -> EventOutcome {
    let error = Some(Box::new(problem));
    EventOutcome { index, outcome: "rejected".into(), work: None, unmatched: 0, error }
}

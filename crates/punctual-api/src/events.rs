//! `/api/v1/events`: what happened elsewhere, as CloudEvents, one or a batch.

mod body;

use axum::extract::State;
use punctual_engine::{
    OwnUnit, Units,
    events::{Event, EventTaken, IncomingEvent, SOURCE_CHANGED, SOURCE_DELETED},
};
use punctual_store::sources::SourceChange;
use punctual_wire::{
    Batch, Code, FieldError, Problem,
    batch::OneOrMany,
    events::{EventOutcome, EventRequest},
    limits::NAME_MAX,
    names::name_fault,
    sources::SourceRequest,
    surveys::IngestItem,
};
use serde_json::{Value, json};

use crate::{
    App, Shared,
    answer::{Answer, JsonResponse},
    auth::{Caller, Ingest, Principal, unit_for},
    idempotency::IdempotencyKey,
    openapi::shapes,
    parameters::not_in_future,
    sources::counts,
};

use body::EventBody;

/// Report an event, or an array of at most 1,000
///
/// `source.changed` and `source.deleted` with a subject `type/id` report the state of a source; any other type goes to
/// whoever listens to it. Each event has its own outcome; one that nobody listens to is no error. In binary mode the attributes
/// are headers (`ce-specversion`, `ce-id`, `ce-source`, `ce-type`, …) and the body is the data: JSON or text.
#[utoipa::path(post, path = "/api/v1/events", tag = "Events", security(("key" = ["ingest"])),
    request_body(content((EventRequest = "application/cloudevents+json"), (Vec<EventRequest> = "application/cloudevents-batch+json"),
        (inline(shapes::OneOrMany<EventRequest>) = "application/json"))),
    responses((status = 200, body = Batch<EventOutcome>)))]
pub async fn post(
    State(app): State<Shared>,
    caller: Caller<Ingest>,
    once: IdempotencyKey,
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
        let named =
            requests.iter().flatten().filter_map(|one| one.data.as_ref()?.get("businessUnit")?.as_str());
        let units = app.engine.units_named(&caller.by, named.collect()).await?;
        let (mut accepted, mut refused) = (Vec::new(), Vec::with_capacity(requests.len()));
        for (index, request) in requests.into_iter().enumerate() {
            let pointer = if is_batch { format!("/{index}") } else { String::new() };
            match request.map_err(Problem::from).and_then(|one| incoming(app, caller, &units, one, &pointer))
            {
                Ok(one) => {
                    accepted.push(one);
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
        let mut taken = taken.into_iter();
        let items = refused.into_iter().enumerate().map(|(index, refused)| match refused {
            Some(problem) => rejected(index, problem),
            None => outcome(index, taken.next()),
        });
        JsonResponse::ok(&Batch { items: items.collect() })
    })
    .await
}

fn outcome(index: usize, taken: Option<EventTaken>) -> EventOutcome {
    match taken {
        Some(EventTaken::Accepted { touched, unmatched }) => EventOutcome {
            index,
            outcome: "accepted".into(),
            work: Some(counts(&touched)),
            unmatched: u64::from(unmatched),
            error: None,
        },
        Some(EventTaken::Stale) => {
            EventOutcome { index, outcome: "stale".into(), work: None, unmatched: 0, error: None }
        }
        Some(EventTaken::NotYours) => {
            rejected(index, Problem::new(Code::NotFound, "There is no such source."))
        }
        None => rejected(index, Problem::internal()),
    }
}

fn rejected(index: usize, problem: Problem) -> EventOutcome {
    let error = Some(Box::new(problem));
    EventOutcome { index, outcome: "rejected".into(), work: None, unmatched: 0, error }
}

fn incoming(
    app: &App,
    caller: &Principal,
    units: &Units,
    request: EventRequest,
    pointer: &str,
) -> Result<IncomingEvent, Problem> {
    let EventRequest { id, source, kind, subject, sequence, time, data, .. } = request;
    let now = app.engine.clock.now();
    let time = time.unwrap_or(now);
    not_in_future(time, now, &format!("{pointer}/time"))?;
    let business_units = caller.by.units.clone();
    let mut event = Event {
        id,
        source,
        kind,
        subject,
        sequence,
        time,
        data: data.unwrap_or(Value::Null),
        business_units,
    };
    match event.kind.as_str() {
        SOURCE_CHANGED | SOURCE_DELETED => {
            let (unit, change) = change(units, &mut event, pointer)?;
            return Ok(IncomingEvent::of_source(event, unit, change));
        }
        kind if app.surveys.last_seen().subscribes_to(kind) => {
            IngestItem::read(&event.data, &format!("{pointer}/data"))?;
        }
        _ => {}
    }
    Ok(IncomingEvent::new(event))
}

/// The state of a source that an event carries, and whose it is.
fn change(units: &Units, event: &mut Event, pointer: &str) -> Result<(OwnUnit, SourceChange), Problem> {
    let (source_type, source_id) = subject(event.subject.as_deref(), &format!("{pointer}/subject"))?;
    let deleted = event.kind == SOURCE_DELETED;
    if deleted && event.data.is_null() {
        event.data = json!({});
    }
    let request = SourceRequest::read(&event.data, &format!("{pointer}/data"))?;
    let unit = unit_for(units, request.business_unit, &format!("{pointer}/data"))?;
    let change = SourceChange {
        source_type,
        source_id,
        business_unit: None,
        active: request.active && !deleted,
        deleted,
        state: if deleted { "{}".to_owned() } else { request.state.to_string() },
        sequence: event.sequence.or(request.sequence),
        occurred_at: event.time,
    };
    Ok((unit, change))
}

fn subject(subject: Option<&str>, pointer: &str) -> Result<(String, String), Problem> {
    let detail = "`subject` names the source as `type/id`, such as `document/42`.";
    let Some(subject) = subject else {
        return Err(FieldError::new(pointer, Code::MissingField, detail).into());
    };
    let Some((kind, id)) = subject.split_once('/') else {
        return Err(FieldError::new(pointer, Code::KeyInvalid, detail).into());
    };
    for part in [kind, id] {
        if let Some(fault) = name_fault(part, NAME_MAX, &|| pointer.to_owned()) {
            return Err(fault.into());
        }
    }
    Ok((kind.to_owned(), id.to_owned()))
}

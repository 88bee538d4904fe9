//! Reads and validates events from HTTP or a broker and passes them to the engine.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use punctual_engine::{
    Actor, CommandError, Engine, EngineError, EventSinks, OwnUnit, Units,
    consumers::{EventIntake, MessageTaken, TakenOnce},
    events::{Event, EventTaken, IncomingEvent, SOURCE_CHANGED, SOURCE_DELETED},
};
use punctual_model::{DeadLetter, Fault, Received, Span, SpanKind, TraceParent};
use punctual_store::{sources::SourceChange, work::Asked};
use punctual_wire::{
    Code, FieldError, Problem,
    batch::{Item, OneOrMany},
    events::{EventRequest, modes},
    limits::{BATCH_MAX, NAME_MAX},
    names::name_fault,
    sources::SourceRequest,
    surveys::IngestItem,
};
use serde_json::{Value, json};

use crate::{
    reminders::{Providers, ReminderSink},
    surveys::{Catalogue, SurveySink},
};

/// How far the clock of a producer may be ahead of ours.
const AHEAD: SignedDuration = SignedDuration::from_hours(24);
/// The largest message of a broker: as much as one request with events.
const MESSAGE_MAX: usize = 2 << 20;

/// Refuses a moment at which something is said to have happened and that lies more than a day ahead: what is reported about it
/// later would count as older.
pub fn not_in_future(at: Timestamp, now: Timestamp, pointer: &str) -> Result<(), Problem> {
    if at.duration_since(now) <= AHEAD {
        return Ok(());
    }
    let detail = format!("{at} lies more than a day ahead; it is {now}.");
    Err(Problem::of_fields(vec![FieldError::new(pointer, Code::TimeInFuture, detail)]))
}

/// The unit names that events carry.
pub fn units_in<'r>(requests: impl IntoIterator<Item = &'r EventRequest>) -> Vec<&'r str> {
    let unit = |one: &'r EventRequest| one.data.as_ref()?.get("businessUnit")?.as_str();
    requests.into_iter().filter_map(unit).collect()
}

/// Who sends events, and what is known when they arrive.
pub struct Sender<'a> {
    pub by: &'a Actor,
    /// The units that the events name.
    pub units: &'a Units,
    /// What is published.
    pub surveys: &'a Catalogue,
    pub now: Timestamp,
}

impl Sender<'_> {
    /// A checked event; `pointer` is where it is in the request, and `sent_at` its time where it has none of its own.
    pub fn incoming(
        &self,
        request: EventRequest,
        sent_at: Option<Timestamp>,
        pointer: &str,
    ) -> Result<IncomingEvent, Problem> {
        let EventRequest { id, source, kind, subject, sequence, time, data, .. } = request;
        let time = time.or(sent_at).unwrap_or(self.now);
        not_in_future(time, self.now, &format!("{pointer}/time"))?;
        let business_units = self.by.units.clone();
        let data = data.unwrap_or(Value::Null);
        let mut event = Event { id, source, kind, subject, sequence, time, data, business_units };
        match event.kind.as_str() {
            SOURCE_CHANGED | SOURCE_DELETED => {
                let (unit, change) = change(self.units, &mut event, pointer)?;
                return Ok(IncomingEvent::of_source(event, unit, change));
            }
            kind if self.surveys.last_seen().subscribes_to(kind) => {
                IngestItem::read_data(&event.data, &format!("{pointer}/data"))?;
            }
            _ => {}
        }
        Ok(IncomingEvent::new(event))
    }
}

/// The state of a source that an event carries, and whose it is.
fn change(units: &Units, event: &mut Event, pointer: &str) -> Result<(OwnUnit, SourceChange), Problem> {
    let (source_type, source_id) = subject(event.subject.as_deref(), &format!("{pointer}/subject"))?;
    let deleted = event.kind == SOURCE_DELETED;
    if deleted && event.data.is_null() {
        event.data = json!({});
    }
    let request = SourceRequest::read_data(&event.data, &format!("{pointer}/data"))?;
    let unit = units.unit_for(request.business_unit, &format!("{pointer}/data")).map_err(refused)?;
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

/// What is wrong with the unit that an event names.
fn refused(error: CommandError) -> Problem {
    let CommandError::Invalid(faults) = error else { return Problem::internal() };
    let field = |Fault { pointer, code, detail }: Fault| {
        FieldError::new(pointer, Code::parse(code).unwrap_or(Code::OutOfRange), detail)
    };
    Problem::of_fields(faults.into_iter().map(field).collect())
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

/// The problem of an event whose source is another unit's: its name is taken, as any other name out of reach.
pub fn not_yours(event: &Event) -> Problem {
    Problem::id_reused(event.subject.as_deref().unwrap_or_default())
}

/// The intake of messages from brokers.
pub struct BrokerIntake {
    engine: Engine,
    sinks: EventSinks,
    surveys: Arc<Catalogue>,
}

impl BrokerIntake {
    pub fn new(engine: Engine, reminders: Arc<Providers>, surveys: Arc<Catalogue>) -> Self {
        let mut sinks = EventSinks::default();
        sinks.add(Arc::new(ReminderSink::new(reminders)));
        sinks.add(Arc::new(SurveySink::new(engine.clone(), surveys.clone())));
        Self { engine, sinks, surveys }
    }

    async fn take_all(&self, by: &Actor, messages: &[Received]) -> Result<Vec<MessageTaken>, EngineError> {
        // Whether a survey listens to an event is decided by what is published now.
        let mut reader = self.engine.store.read().await?;
        self.surveys.current(&mut reader.conn()).await?;
        drop(reader);
        let mut taken = vec![MessageTaken::default(); messages.len()];
        let mut found: Vec<Found> = Vec::new();
        for (message, received) in messages.iter().enumerate() {
            match read(received) {
                Ok(events) => found.extend(events.into_iter().map(|one| Found { message, ..one })),
                Err(problem) => taken[message].refused.push(dead_letter(None, &problem)),
            }
        }
        let spans = self.begin_spans(messages, &found);
        let named = units_in(found.iter().filter_map(|one| one.request.as_ref().ok()));
        let units = self.engine.units_named(by, named).await?;
        let sender = Sender { by, units: &units, surveys: &self.surveys, now: self.engine.clock.now() };
        // What is checked, and which message and event it is of.
        let (mut incoming, mut of) = (Vec::new(), Vec::new());
        for one in found {
            let Found { message, request, event, pointer, .. } = one;
            let sent_at = messages[message].sent_at;
            let checked = request.map_err(Problem::from);
            match checked.and_then(|request| sender.incoming(request, sent_at, &pointer)) {
                Ok(checked) => {
                    let by = spans.get(message).and_then(Span::context);
                    incoming.push(checked.asked_in(by.map(|by| Asked { by, at: sender.now })));
                    of.push((message, event));
                }
                Err(problem) => taken[message].refused.push(dead_letter(event, &problem)),
            }
        }
        let mut outcomes = Vec::with_capacity(incoming.len());
        for set in incoming.chunks(BATCH_MAX) {
            outcomes.extend(self.engine.take_events_once_each(by, &self.sinks, set).await?);
        }
        for (((message, event), incoming), outcome) in of.into_iter().zip(&incoming).zip(outcomes) {
            let taken = &mut taken[message];
            match outcome {
                TakenOnce::Now(EventTaken::Accepted { .. } | EventTaken::Stale) => taken.accepted += 1,
                TakenOnce::Before => taken.duplicates += 1,
                TakenOnce::Now(EventTaken::NotYours) => {
                    taken.refused.push(dead_letter(event, &not_yours(incoming.event())));
                }
                TakenOnce::Failed => taken.refused.push(dead_letter(event, &Problem::internal())),
            }
        }
        Ok(taken)
    }

    /// A span for each message, which ends when its events are stored: a part of the trace that the message or its event names, else
    /// the beginning of one.
    fn begin_spans(&self, messages: &[Received], found: &[Found]) -> Vec<Span> {
        let traces = &self.engine.traces;
        if !traces.is_on() {
            return Vec::new();
        }
        // How many events each message has, and the first that names a trace.
        let mut sent: Vec<(usize, Option<TraceParent>)> = vec![(0, None); messages.len()];
        for one in found {
            let (count, sender) = &mut sent[one.message];
            *count += 1;
            *sender = sender.or(one.trace);
        }
        let begin = |(count, sender): (usize, Option<TraceParent>)| {
            let mut span = match sender {
                Some(sender) => traces.child("take events", SpanKind::Consumer, sender),
                None => traces.root("take events", SpanKind::Consumer),
            };
            span.set("event.count", count);
            span
        };
        sent.into_iter().map(begin).collect()
    }
}

impl EventIntake for BrokerIntake {
    fn take<'a>(
        &'a self,
        by: &'a Actor,
        messages: &'a [Received],
    ) -> BoxFuture<'a, Result<Vec<MessageTaken>, EngineError>> {
        Box::pin(self.take_all(by, messages))
    }
}

/// An event of a message, read or not.
struct Found {
    message: usize,
    request: Item<EventRequest>,
    /// The event itself, where it is one of a batch.
    event: Option<String>,
    pointer: String,
    /// The span that it was sent in, as the extension of CloudEvents for traces says it.
    trace: Option<TraceParent>,
}

/// The attribute `traceparent` of an event.
fn trace_of(event: &Value) -> Option<TraceParent> {
    TraceParent::parse(event.get("traceparent")?.as_str()?)
}

/// The events of one message.
fn read(message: &Received) -> Result<Vec<Found>, Problem> {
    let unreadable = |detail: &String| Problem::new(Code::TextInvalid, detail.clone());
    let attributes = message.attributes.as_ref().map_err(unreadable)?.clone();
    if message.body.len() > MESSAGE_MAX {
        return Err(Problem::body_too_large(MESSAGE_MAX));
    }
    let value = modes::read(attributes, message.content_type.as_deref(), &message.body)?;
    let found = |request, event, pointer, trace| Found { message: 0, request, event, pointer, trace };
    Ok(match EventRequest::read_body(&value)? {
        OneOrMany::One(one) => vec![found(Ok(one), None, String::new(), trace_of(&value))],
        OneOrMany::Many(many) => {
            let events = value.as_array().into_iter().flatten();
            let numbered = many.into_iter().zip(events).enumerate();
            let each = |(i, (one, event)): (usize, (_, &Value))| {
                found(one, Some(event.to_string()), format!("/{i}"), trace_of(event))
            };
            numbered.map(each).collect()
        }
    })
}

fn dead_letter(event: Option<String>, problem: &Problem) -> DeadLetter {
    let place = problem.errors.first().map(|fault| fault.pointer.as_str()).filter(|place| !place.is_empty());
    let detail = match place {
        Some(place) => format!("{place}: {}", problem.detail),
        None => problem.detail.clone(),
    };
    DeadLetter { event, code: problem.code.as_str().to_owned(), detail }
}

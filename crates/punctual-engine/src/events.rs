//! Incoming events: sinks get the types that they subscribe to, and two types carry the state of a source.
//!
//! `source.changed` and `source.deleted` are written to the sources first, so that a sink decides on what is stored. All
//! of it is one transaction: a batch of events is taken whole or not at all.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use punctual_boxed::boxed;
use punctual_model::{Reach, local_time::as_stored};
use punctual_store::{
    Lane, StoreError, Tx,
    known_events::EventName,
    sources::{self, SourceChange, SourceRow},
    work::{Asked, AskedFor},
};
use serde_json::Value;

use crate::{Engine, EngineError, OwnUnit};

/// The type of an event that carries the state of a source.
pub const SOURCE_CHANGED: &str = "source.changed";
/// How many attempts are made for events that collide with others.
pub(crate) const ATTEMPTS: usize = 5;
/// The type of an event that says a source is gone.
pub const SOURCE_DELETED: &str = "source.deleted";

/// One thing that happened elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Unique for its `source`.
    pub id: String,
    pub source: String,
    pub kind: String,
    pub subject: Option<String>,
    pub sequence: Option<i64>,
    pub time: Timestamp,
    pub data: Value,
    /// The business units its sender is limited to.
    pub business_units: Option<Vec<String>>,
}

/// How many work rows an event touched, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    pub created: u64,
    pub updated: u64,
    pub deactivated: u64,
    pub unchanged: u64,
}

impl Touched {
    pub fn add(&mut self, other: &Self) {
        self.created += other.created;
        self.updated += other.updated;
        self.deactivated += other.deactivated;
        self.unchanged += other.unchanged;
    }
}

/// A workflow that subscribes to events. It writes through the transaction it is given, which the engine commits.
pub trait EventSink: Send + Sync {
    /// Whether events of this type concern it.
    fn subscribes_to(&self, kind: &str) -> bool;

    /// Takes the events it subscribes to, in their order; returns what each did, in the same order.
    fn take<'a>(
        &'a self,
        tx: &'a mut Tx,
        now: Timestamp,
        events: &'a [StoredEvent<'a>],
    ) -> BoxFuture<'a, Result<Vec<Touched>, StoreError>>;
}

/// An event as sinks get it: what it says about a source is stored already.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoredEvent<'e> {
    pub event: &'e Event,
    /// The source whose state it reports, as the batch of events leaves it. Its row is held by this transaction.
    pub source: Option<&'e SourceRow>,
}

/// All sinks.
#[derive(Clone, Default)]
pub struct EventSinks(Vec<Arc<dyn EventSink>>);

impl EventSinks {
    pub fn add(&mut self, sink: Arc<dyn EventSink>) {
        self.0.push(sink);
    }

    pub fn subscribes_to(&self, kind: &str) -> bool {
        self.0.iter().any(|sink| sink.subscribes_to(kind))
    }

    /// Gives each sink the events it subscribes to; returns what all of them did, by event.
    async fn take(
        &self,
        tx: &mut Tx,
        now: Timestamp,
        events: &[StoredEvent<'_>],
    ) -> Result<Vec<Touched>, StoreError> {
        let mut touched = vec![Touched::default(); events.len()];
        for sink in &self.0 {
            let matching: Vec<usize> =
                (0..events.len()).filter(|index| sink.subscribes_to(&events[*index].event.kind)).collect();
            if matching.is_empty() {
                continue;
            }
            let own: Vec<StoredEvent<'_>> = matching.iter().map(|index| events[*index]).collect();
            for (index, did) in matching.into_iter().zip(sink.take(tx, now, &own).await?) {
                touched[index].add(&did);
            }
        }
        Ok(touched)
    }
}

/// The outcome of one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventTaken {
    Accepted {
        touched: Touched,
        unmatched: bool,
    },
    /// Something newer is known about its source.
    Stale,
    /// Its source belongs to somebody else.
    NotYours,
}

/// An event, with the state of a source where it carries one.
#[derive(Clone, Debug, PartialEq)]
pub struct IncomingEvent {
    event: Event,
    change: Option<SourceChange>,
    /// The recorded span of the sender.
    asked: Option<Asked>,
}

impl IncomingEvent {
    /// What happened.
    pub fn event(&self) -> &Event {
        &self.event
    }

    pub fn new(event: Event) -> Self {
        Self { event, change: None, asked: None }
    }

    /// What it leads to continues with this trace.
    #[must_use]
    pub fn asked_in(self, asked: Option<Asked>) -> Self {
        Self { asked, ..self }
    }

    /// One that carries the state of a source, which is this unit's.
    pub fn of_source(event: Event, unit: OwnUnit, change: SourceChange) -> Self {
        let change = SourceChange { business_unit: unit.into_name(), ..change };
        Self { event, change: Some(change), asked: None }
    }

    /// The state of a source that it carries.
    pub(crate) fn change(&self) -> Option<&SourceChange> {
        self.change.as_ref()
    }

    /// What distinguishes it from others.
    pub(crate) fn name(&self) -> EventName {
        EventName { source: self.event.source.clone(), event_id: self.event.id.clone() }
    }
}

impl Engine {
    /// Takes events in their order, in one transaction; returns an outcome for each. Deadlocks and serialization failures
    /// are retried: events of a source and of what is counted under it may be taken at once by two nodes.
    #[boxed]
    pub async fn take_events(
        &self,
        sinks: &EventSinks,
        incoming: &[IncomingEvent],
    ) -> Result<Vec<EventTaken>, EngineError> {
        let mut attempts = 1;
        loop {
            match self.take_events_once(sinks, incoming).await {
                Err(EngineError::Store(error)) if error.is_collision() && attempts < ATTEMPTS => {
                    attempts += 1
                }
                done => return done,
            }
        }
    }

    async fn take_events_once(
        &self,
        sinks: &EventSinks,
        incoming: &[IncomingEvent],
    ) -> Result<Vec<EventTaken>, EngineError> {
        let now = self.clock.now();
        let mut tx = self.store.begin(Lane::Intake).await?;
        let taken = take_in(&mut tx, now, sinks, incoming).await?;
        tx.commit().await?;
        self.count_planned(&taken);
        Ok(taken)
    }

    pub(crate) fn count_planned<'t>(&self, taken: impl IntoIterator<Item = &'t EventTaken>) {
        let mut planned = Touched::default();
        for one in taken {
            if let EventTaken::Accepted { touched, .. } = one {
                planned.add(touched);
            }
        }
        self.metrics.planned("event", &planned);
    }
}

/// Takes events in their order, in a transaction that the caller commits; returns an outcome for each.
#[boxed]
pub async fn take_in(
    tx: &mut Tx,
    now: Timestamp,
    sinks: &EventSinks,
    incoming: &[IncomingEvent],
) -> Result<Vec<EventTaken>, StoreError> {
    tx.asked_for(asked_for(incoming));
    let (verdicts, written) = write_sources(tx, now, incoming).await?;
    let written: HashMap<(&str, &str), &SourceRow> =
        written.iter().map(|row| ((row.source_type.as_str(), row.source_id.as_str()), row)).collect();
    let passed: Vec<StoredEvent<'_>> = incoming
        .iter()
        .zip(&verdicts)
        .filter(|(_, verdict)| verdict.is_none())
        .map(|(one, _)| StoredEvent {
            event: &one.event,
            source: one.change.as_ref().and_then(|change| written.get(&key_of(change)).copied()),
        })
        .collect();
    let mut touched = sinks.take(tx, now, &passed).await?.into_iter();
    let answer = |(one, verdict): (&IncomingEvent, Option<EventTaken>)| {
        verdict.unwrap_or_else(|| EventTaken::Accepted {
            touched: touched.next().unwrap_or_default(),
            unmatched: one.change.is_none() && !sinks.subscribes_to(&one.event.kind),
        })
    };
    Ok(incoming.iter().zip(verdicts).map(answer).collect())
}

/// Who asks for what events lead to: by source, and for what is about no source only where all have one trace.
fn asked_for(incoming: &[IncomingEvent]) -> AskedFor {
    let Some(first) = incoming.iter().find_map(|one| one.asked) else { return AskedFor::default() };
    let is_one = incoming.iter().all(|one| one.asked == Some(first));
    let mut asked_for = if is_one { AskedFor::everything(first) } else { AskedFor::default() };
    if !is_one {
        for one in incoming {
            if let (Some(change), Some(asked)) = (&one.change, one.asked) {
                asked_for.about((change.source_type.clone(), change.source_id.clone()), asked);
            }
        }
    }
    asked_for
}

/// Writes the newest state of each source; returns which events stop here, and why, and the sources that were written.
async fn write_sources(
    tx: &mut Tx,
    now: Timestamp,
    incoming: &[IncomingEvent],
) -> Result<(Vec<Option<EventTaken>>, Vec<SourceRow>), StoreError> {
    let mut keys: Vec<(&str, &str)> =
        incoming.iter().filter_map(|one| one.change.as_ref()).map(key_of).collect();
    keys.sort_unstable();
    keys.dedup();
    if keys.is_empty() {
        return Ok((vec![None; incoming.len()], Vec::new()));
    }
    sources::join_writers(&mut tx.conn()).await?;
    let stored = sources::lock(&mut tx.conn(), &keys).await?;
    let mut known: HashMap<(&str, &str), Known> = stored
        .iter()
        .map(|row| ((row.source_type.as_str(), row.source_id.as_str()), Known::of(row)))
        .collect();
    let mut newest: BTreeMap<(&str, &str), SourceChange> = BTreeMap::new();
    let mut verdicts = Vec::with_capacity(incoming.len());
    for one in incoming {
        let Some(change) = &one.change else {
            verdicts.push(None);
            continue;
        };
        let before = known.get(&key_of(change));
        let units = one.event.business_units.as_deref();
        verdicts.push(match before {
            Some(before) if !before.is_within(units) => Some(EventTaken::NotYours),
            Some(before) if !before.is_followed_by(change, now) => Some(EventTaken::Stale),
            _ => {
                let after = Known {
                    business_unit: change.business_unit.clone(),
                    sequence: change.sequence.or(before.and_then(|before| before.sequence)),
                    occurred_at: change.occurred_at,
                };
                known.insert(key_of(change), after);
                // Only a sequence that came with this batch: the statement compares it with the stored one.
                let sequence_before = newest.get(&key_of(change)).and_then(|earlier| earlier.sequence);
                let sequence = change.sequence.or(sequence_before);
                newest.insert(key_of(change), SourceChange { sequence, ..change.clone() });
                None
            }
        });
    }
    let newest: Vec<SourceChange> = newest.into_values().collect();
    if newest.is_empty() {
        return Ok((verdicts, Vec::new()));
    }
    // Events that are taken together are one caller's.
    let units = incoming.iter().find_map(|one| one.event.business_units.clone());
    let reach = Reach::limited_to(units.clone());
    let written = sources::put(&mut tx.conn(), now, &reach, &newest).await?;
    if written.len() < newest.len() {
        // Another writer brought a source to life in between: with something newer, or as another unit's.
        let taken: HashSet<(&str, &str)> =
            written.iter().map(|row| (row.source_type.as_str(), row.source_id.as_str())).collect();
        let missed: Vec<(&str, &str)> =
            newest.iter().map(key_of).filter(|key| !taken.contains(key)).collect();
        let there = sources::lock(&mut tx.conn(), &missed).await?;
        let is_ours = |change: &SourceChange| {
            let is_it =
                |row: &&SourceRow| (row.source_type.as_str(), row.source_id.as_str()) == key_of(change);
            there.iter().find(is_it).is_none_or(|row| Known::of(row).is_within(units.as_deref()))
        };
        for (one, verdict) in incoming.iter().zip(&mut verdicts) {
            if let Some(change) = one.change.as_ref().filter(|change| !taken.contains(&key_of(change))) {
                let why = if is_ours(change) { EventTaken::Stale } else { EventTaken::NotYours };
                verdict.get_or_insert(why);
            }
        }
    }
    Ok((verdicts, written))
}

fn key_of(change: &SourceChange) -> (&str, &str) {
    (&change.source_type, &change.source_id)
}

/// What decides whether a state is newer, and whose it is.
struct Known {
    business_unit: Option<String>,
    sequence: Option<i64>,
    occurred_at: Timestamp,
}

impl Known {
    fn of(row: &SourceRow) -> Self {
        Self {
            business_unit: row.business_unit.clone(),
            sequence: row.sequence,
            occurred_at: row.occurred_at,
        }
    }

    /// The order of states, as `sources.put` has it: the producer's sequence where both have one, else the time. A state without
    /// a sequence keeps the one that was known. A stored time of more than a day ahead came from a broken clock, and orders nothing.
    fn is_followed_by(&self, change: &SourceChange, now: Timestamp) -> bool {
        let tomorrow = now.checked_add(SignedDuration::from_hours(24)).unwrap_or(Timestamp::MAX);
        match (change.sequence, self.sequence) {
            (Some(new), Some(old)) => new > old,
            _ => {
                let is_broken = self.occurred_at > tomorrow;
                is_broken || as_stored(change.occurred_at) >= as_stored(self.occurred_at)
            }
        }
    }

    fn is_within(&self, units: Option<&[String]>) -> bool {
        units.is_none_or(|units| self.business_unit.as_ref().is_some_and(|unit| units.contains(unit)))
    }
}

//! Turns reported source states into events, from programs and from people. People enter one source, or a table of many, which
//! is planned first.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use punctual_boxed::boxed;
use punctual_engine::{
    Actor, CommandError, Engine, EventSinks, OwnUnit, Units,
    commands::Seen,
    events::{Event, EventTaken, IncomingEvent, SOURCE_CHANGED, SOURCE_DELETED},
};
use punctual_store::{
    StoreError,
    sources::{self, SourceChange, SourceRow},
};
use punctual_wire::{
    limits::SOURCES_BATCH_MAX,
    sources::{NamedSourceRequest, SourceRequest, table},
};
use serde_json::{Value, json};

use crate::event_intake::not_in_future;

/// Where the events come from that people cause.
const BY_HAND: &str = "/sources";
/// Sources written in one transaction: about 5 ms of SQLite's writer.
pub const AT_ONCE: usize = 500;
/// A stored time that is further ahead came from a broken clock, and orders nothing.
const AHEAD: SignedDuration = SignedDuration::from_hours(24);

/// Who reports sources, and where their events say that they come from.
pub struct Reporter<'a> {
    pub engine: &'a Engine,
    pub by: &'a Actor,
    pub from: &'static str,
}

impl Reporter<'_> {
    /// The event that a changed state is; it became so at this time.
    pub fn changed(
        &self,
        unit: OwnUnit,
        source: NamedSourceRequest,
        occurred_at: Timestamp,
    ) -> IncomingEvent {
        let NamedSourceRequest { kind, id, source } = source;
        let SourceRequest { active, state, sequence, .. } = source;
        let change = SourceChange {
            source_type: kind,
            source_id: id,
            business_unit: None,
            active,
            deleted: false,
            state: state.to_string(),
            sequence,
            occurred_at,
        };
        let data = json!({ "businessUnit": unit.as_deref(), "active": active, "state": state });
        IncomingEvent::of_source(self.event(SOURCE_CHANGED, &change, data), unit, change)
    }

    /// The event that a source is gone.
    pub fn deleted(&self, row: SourceRow) -> IncomingEvent {
        let change = SourceChange {
            // A delete applies to the present source, even if its producer's clock is ahead of ours.
            occurred_at: self.engine.clock.now().max(row.occurred_at),
            source_type: row.source_type,
            source_id: row.source_id,
            business_unit: None,
            active: false,
            deleted: true,
            state: "{}".to_owned(),
            sequence: None,
        };
        let event = self.event(SOURCE_DELETED, &change, Value::Null);
        IncomingEvent::of_source(event, OwnUnit::stored(row.business_unit), change)
    }

    fn event(&self, kind: &str, change: &SourceChange, data: Value) -> Event {
        Event {
            id: self.engine.random.ordered_uuid(self.engine.clock.now()).to_string(),
            source: self.from.to_owned(),
            kind: kind.to_owned(),
            subject: Some(format!("{}/{}", change.source_type, change.source_id)),
            sequence: change.sequence,
            time: change.occurred_at,
            data,
            business_units: self.by.units.clone(),
        }
    }
}

/// When a person changes a source: now, or with its state of today where the clock of its producer runs ahead.
fn entered_at(now: Timestamp, stored: Option<&SourceRow>) -> Timestamp {
    let at = stored.map_or(now, |row| row.occurred_at);
    if at.duration_since(now) > AHEAD { now } else { at.max(now) }
}

/// Stores the state of one source that a person entered, and what follows from it.
#[boxed]
pub async fn enter(
    engine: &Engine,
    sinks: &EventSinks,
    by: &Actor,
    seen: Seen,
    mut source: NamedSourceRequest,
) -> Result<(), CommandError> {
    let name = format!("{}/{}", source.kind, source.id);
    let unit = engine.unit_for(by, source.source.business_unit.take(), "").await?;
    let stored = stored(engine, by, &[(&source.kind, &source.id)]).await?.pop();
    let at = entered_at(engine.clock.now(), stored.as_ref());
    let incoming = Reporter { engine, by, from: BY_HAND }.changed(unit, source, at);
    match engine.enter_sources(by, sinks, seen, &[incoming]).await?.pop() {
        Some(EventTaken::Accepted { .. }) => Ok(()),
        Some(EventTaken::Stale) => Err(CommandError::Stale),
        Some(EventTaken::NotYours) | None => Err(CommandError::taken(name)),
    }
}

/// Removes one source: its planned messages are withdrawn.
#[boxed]
pub async fn remove(
    engine: &Engine,
    sinks: &EventSinks,
    by: &Actor,
    kind: &str,
    id: &str,
) -> Result<(), CommandError> {
    let missing = || CommandError::not_found("source", format!("{kind}/{id}"));
    let stored = stored(engine, by, &[(kind, id)]).await?.pop().filter(|row| !row.deleted);
    let gone = Reporter { engine, by, from: BY_HAND }.deleted(stored.ok_or_else(missing)?);
    match engine.enter_sources(by, sinks, Seen::Anything, &[gone]).await?.pop() {
        Some(EventTaken::Accepted { .. }) => Ok(()),
        _ => Err(missing()),
    }
}

async fn stored(engine: &Engine, by: &Actor, keys: &[(&str, &str)]) -> Result<Vec<SourceRow>, StoreError> {
    let mut reader = engine.store.read_for_people().await?;
    sources::within(&mut reader.conn(), &by.reach(), keys).await
}

/// What one line of a table does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    New,
    Changed,
    Unchanged,
}

/// A table of sources, and what it would do.
pub struct Plan {
    lines: Vec<(u64, Effect, NamedSourceRequest, OwnUnit, Timestamp)>,
    /// Lines that are not taken, with why.
    pub refused: Vec<(u64, String)>,
}

/// The outcome of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    pub created: usize,
    pub changed: usize,
    pub unchanged: usize,
}

impl Plan {
    /// Reads a CSV text; lines without a type or a business unit have these. A text that is no table at all says why.
    #[boxed]
    pub async fn read(
        engine: &Engine,
        by: &Actor,
        text: &str,
        kind: &str,
        unit: Option<&str>,
    ) -> Result<Result<Self, String>, StoreError> {
        let rows = match table::sources(text.as_bytes()) {
            Ok(rows) => rows,
            Err(fault) => return Ok(Err(fault.to_string())),
        };
        let (mut read, mut refused) = (Vec::new(), Vec::new());
        for row in rows {
            let (line, _, mut item) = match row {
                Ok(row) => row,
                Err(fault) => return Ok(Err(fault.to_string())),
            };
            if read.len() + refused.len() == SOURCES_BATCH_MAX {
                return Ok(Err(format!("it has more than {SOURCES_BATCH_MAX} lines")));
            }
            if !kind.is_empty() {
                item.entry("type").or_insert_with(|| kind.into());
            }
            if let Some(unit) = unit {
                item.entry("businessUnit").or_insert_with(|| unit.into());
            }
            match NamedSourceRequest::read(&Value::Object(item), "") {
                Ok(source) => read.push((line, source)),
                Err(faults) => refused.push((line, said(faults.iter().map(|fault| fault.detail.as_str())))),
            }
        }
        let named = read.iter().filter_map(|(_, source)| source.source.business_unit.as_deref()).collect();
        let units = engine.units_named(by, named).await?;
        Self::of(engine, by, &units, read, refused).await.map(Ok)
    }

    async fn of(
        engine: &Engine,
        by: &Actor,
        units: &Units,
        read: Vec<(u64, NamedSourceRequest)>,
        mut refused: Vec<(u64, String)>,
    ) -> Result<Self, StoreError> {
        let keys: Vec<(&str, &str)> =
            read.iter().map(|(_, source)| (source.kind.as_str(), source.id.as_str())).collect();
        let mut known: HashMap<(String, String), SourceRow> = HashMap::new();
        for keys in keys.chunks(AT_ONCE) {
            let rows = stored(engine, by, keys).await?;
            known.extend(rows.into_iter().map(|row| ((row.source_type.clone(), row.source_id.clone()), row)));
        }
        let now = engine.clock.now();
        let (mut lines, mut first) = (Vec::new(), HashMap::new());
        for (line, mut source) in read {
            let key = (source.kind.clone(), source.id.clone());
            if let Some(before) = first.get(&key) {
                refused.push((line, format!("The same source is on line {before}.")));
                continue;
            }
            let unit = match units.unit_for(source.source.business_unit.take(), "") {
                Ok(unit) => unit,
                Err(CommandError::Invalid(faults)) => {
                    refused.push((line, said(faults.iter().map(|fault| fault.detail.as_str()))));
                    continue;
                }
                Err(other) => {
                    refused.push((line, other.to_string()));
                    continue;
                }
            };
            let stored = known.get(&key);
            let effect = match stored.filter(|row| !row.deleted) {
                None => Effect::New,
                Some(row) if is_same(row, &source, &unit) => Effect::Unchanged,
                Some(_) => Effect::Changed,
            };
            let at = source.source.occurred_at.unwrap_or_else(|| entered_at(now, stored));
            if let Err(problem) = not_in_future(at, now, "") {
                refused.push((line, said(problem.errors.iter().map(|fault| fault.detail.as_str()))));
                continue;
            }
            first.insert(key, line);
            lines.push((line, effect, source, unit, at));
        }
        refused.sort();
        Ok(Self { lines, refused })
    }

    /// Each line that is taken, with the type and id of its source.
    pub fn lines(&self) -> impl Iterator<Item = (u64, Effect, &str, &str)> {
        self.lines
            .iter()
            .map(|(line, effect, source, ..)| (*line, *effect, source.kind.as_str(), source.id.as_str()))
    }

    /// Stores what is new or changed; returns what was done, and the lines that were refused only then.
    #[boxed]
    pub async fn import(
        self,
        engine: &Engine,
        sinks: &EventSinks,
        by: &Actor,
    ) -> Result<(Imported, Vec<(u64, String)>), CommandError> {
        let reporter = Reporter { engine, by, from: BY_HAND };
        let (mut done, mut refused) = (Imported::default(), self.refused);
        let (mut incoming, mut of) = (Vec::new(), Vec::new());
        for (line, effect, source, unit, at) in self.lines {
            if effect == Effect::Unchanged {
                done.unchanged += 1;
                continue;
            }
            incoming.push(reporter.changed(unit, source, at));
            of.push((line, effect));
        }
        for (incoming, of) in incoming.chunks(AT_ONCE).zip(of.chunks(AT_ONCE)) {
            let taken = engine.enter_sources(by, sinks, Seen::Anything, incoming).await?;
            for ((line, effect), taken) in of.iter().zip(taken) {
                match (taken, effect) {
                    (EventTaken::Accepted { .. }, Effect::New) => done.created += 1,
                    (EventTaken::Accepted { .. }, _) => done.changed += 1,
                    (EventTaken::Stale, _) => {
                        refused.push((*line, "Something newer is known about it.".to_owned()));
                    }
                    (EventTaken::NotYours, _) => refused.push((*line, "Its id is taken.".to_owned())),
                }
            }
        }
        refused.sort();
        Ok((done, refused))
    }
}

fn is_same(row: &SourceRow, source: &NamedSourceRequest, unit: &OwnUnit) -> bool {
    let state: Option<Value> = serde_json::from_str(&row.state).ok();
    state.as_ref() == Some(&source.source.state)
        && row.active == source.source.active
        && row.business_unit.as_deref() == unit.as_deref()
}

fn said<'f>(details: impl Iterator<Item = &'f str>) -> String {
    details.collect::<Vec<_>>().join(" ")
}

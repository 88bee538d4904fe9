//! Reconciliation with an external database: rows changed there since the last pass are handled like events, so missed events
//! are repaired from the system of record.
//!
//! A pass is a long-running row of one batch: a read-only query with a watermark and a cursor, run without an open transaction.
//! The found states, the planned rows, the new watermark and the end of the row are committed together.

mod cells;

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Span, Timestamp, civil::Date, tz::TimeZone};
use punctual_boxed::boxed;
use punctual_engine::OwnUnit;
use punctual_engine::{
    Claimed, Decide, Engine, Event, EventSinks, Prepares, Workflow,
    events::{EventTaken, IncomingEvent, SOURCE_CHANGED, take_in},
};
use punctual_model::{
    Decided, Decision, Effect, InputHash, NewWork, ReasonCode, Trigger, WorkKey,
    table::{Cell, Table},
};
use punctual_reports::FetchFault;
use punctual_store::{
    Conn, StoreError, Tx,
    foreign::{ForeignDatabase, ForeignFault, ForeignQuery},
    reminders::reconciliations,
    sources::{SourceChange, SourceRow},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    Providers, ReminderSink,
    evaluate::{Inputs, Plan, Scope, evaluate},
    load,
    reconcile::{Report, next_moment},
};
pub use cells::Mark;
use cells::{is_true, json_of, text};

/// The kind of a look's work row.
pub const KIND: &str = "reconcile-external";

/// The longest window, in days: nothing is planned further ahead.
pub const WINDOW_MAX: u32 = 3_650;

/// Between one batch of a look and the next.
const PAUSE: SignedDuration = SignedDuration::from_secs(1);

/// Another system's database, and what of it is ours to know.
#[derive(Clone, Debug)]
pub struct External {
    pub name: String,
    pub source_type: String,
    pub database: ForeignDatabase,
    /// One statement that reads, with `:since`, `:after`, `:until` and `:limit` in it.
    pub query: String,
    /// The column by which changes are in order.
    pub watermark: String,
    /// Where the first look begins.
    pub begins: Mark,
    /// The column that says whether a source counts.
    pub active: Option<String>,
    /// Only what becomes due within so many days: `:until` is the last of them.
    pub window_days: Option<u32>,
    /// Only rows of these business units; an empty list means all, and must be given.
    pub business_units: Option<Vec<String>>,
    pub batch: Option<u32>,
    pub timeout: Duration,
}

/// Behind which row a look continues.
#[derive(Clone, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Cursor {
    since: Mark,
    after: String,
}

/// One batch, read.
#[derive(Clone, Debug, Default)]
pub struct Found {
    rows: Vec<FoundRow>,
    /// Where the next batch begins.
    cursor: Option<Cursor>,
    is_last: bool,
    /// Rows of other business units, or without an id.
    left_out: u64,
}

#[derive(Clone, Debug)]
struct FoundRow {
    id: String,
    business_unit: Option<String>,
    active: bool,
    deleted: bool,
    state: Map<String, Value>,
    changed_at: Option<Timestamp>,
}

/// Why a look cannot be bounded: everything that it lacks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` would look at too much; it lacks {}", .missing.join(", and "))]
pub struct Unbounded {
    pub name: String,
    pub missing: Vec<&'static str>,
}

impl External {
    /// The name under which it is listed beside the trigger providers.
    pub fn provider(&self) -> String {
        format!("external:{}", self.name)
    }

    /// Refuses a look that is not bounded in all six ways.
    pub fn check(&self) -> Result<(), Unbounded> {
        let asks = |name: &str| !name.is_empty() && self.query.contains(name);
        let bounds = [
            (
                self.active.as_deref().is_some_and(asks),
                "a source filter (`active` names the column that says whether a row counts, and the query gives it)",
            ),
            (
                asks(&self.watermark) && asks(":since"),
                "a changed-since watermark (`watermark` names its column, and the query compares it with `:since`)",
            ),
            (
                self.window_days.is_some_and(|days| days > 0) && asks(":until"),
                "a due window (`window_days`, and the query compares what is due with `:until`)",
            ),
            (
                self.business_units.is_some(),
                "an allowlist of business units (`business_units`; an empty list means all)",
            ),
            (
                self.batch.is_some_and(|rows| rows > 0) && asks(":limit"),
                "a batch size (`batch`, and the query ends with `LIMIT :limit`)",
            ),
            (asks(":after"), "a cursor (the query goes on behind the id `:after`)"),
        ];
        let missing: Vec<&'static str> =
            bounds.into_iter().filter(|(given, _)| !given).map(|(_, what)| what).collect();
        if missing.is_empty() { Ok(()) } else { Err(Unbounded { name: self.name.clone(), missing }) }
    }

    fn rows_at_once(&self) -> u32 {
        self.batch.unwrap_or(1)
    }

    /// The last day of the window.
    fn until(&self, now: Timestamp) -> Date {
        let today = now.to_zoned(TimeZone::UTC).date();
        let days = Span::new().days(self.window_days.unwrap_or(1).min(WINDOW_MAX));
        today.checked_add(days).unwrap_or(Date::MAX)
    }

    /// The row of one look, or of one batch of it. Where it begins is no part of what it is.
    pub fn at(&self, at: Timestamp, cursor: &Cursor) -> Option<NewWork> {
        let provider = self.provider();
        let input = json!({ "external": self.name, "cursor": cursor });
        Some(NewWork {
            key: WorkKey::reconcile(&provider, at).ok()?,
            kind: KIND,
            trigger: Trigger::At,
            business_unit: None,
            source: None,
            setting_id: None,
            due_at: at,
            local: None,
            input_hash: InputHash::of(&json!({ "provider": provider })),
            input: input.to_string(),
        })
    }

    /// How far it has looked.
    #[boxed]
    pub async fn cursor(&self, conn: &mut Conn<'_>) -> Result<Cursor, StoreError> {
        let rows = reconciliations::all(conn).await?;
        let own = rows.into_iter().find(|row| row.provider == self.provider());
        let kept = own.and_then(|row| serde_json::from_str::<Value>(&row.report).ok());
        let kept = kept.and_then(|report| serde_json::from_value(report["cursor"].clone()).ok());
        Ok(kept.unwrap_or_else(|| Cursor { since: self.begins.clone(), after: String::new() }))
    }

    /// Asks the other database for the next batch.
    #[boxed]
    pub async fn fetch(&self, now: Timestamp, cursor: &Cursor) -> Result<Found, ForeignFault> {
        let query = ForeignQuery {
            database: &self.database,
            sql: &self.query,
            params: vec![
                ("since", cursor.since.cell()),
                ("after", Cell::Text(cursor.after.clone())),
                ("until", Cell::Date(self.until(now))),
                ("limit", Cell::Integer(i64::from(self.rows_at_once()))),
            ],
            timeout: self.timeout,
            max_rows: self.rows_at_once() as usize,
        };
        // As stored: a watermark that was read as an instant and written again would be another text there.
        self.found(query.run_as_stored().await?, cursor)
    }

    /// What a table says about sources.
    fn found(&self, table: Table, cursor: &Cursor) -> Result<Found, ForeignFault> {
        let place =
            |name: &str| table.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
        let missing = |name: &str| ForeignFault {
            may_pass: false,
            code: "query_failed",
            detail: format!("the query gives no column `{name}`"),
        };
        let id = place("id").ok_or_else(|| missing("id"))?;
        let watermark = place(&self.watermark).ok_or_else(|| missing(&self.watermark))?;
        let active = place(self.active.as_deref().unwrap_or("active"));
        let (unit, deleted) = (place("business_unit"), place("deleted"));
        let own = [Some(id), unit, active, deleted];
        let mut found = Found { cursor: Some(cursor.clone()), ..Found::default() };
        found.is_last = table.rows.len() < self.rows_at_once() as usize;
        for row in &table.rows {
            let cell = |place: Option<usize>| place.and_then(|place| row.get(place)).unwrap_or(&Cell::Null);
            let Some(mark) = Mark::of(cell(Some(watermark))) else {
                return Err(ForeignFault {
                    may_pass: false,
                    code: "query_failed",
                    detail: format!("`{}` is empty or no time, number or text in a row", self.watermark),
                });
            };
            let name = text(cell(Some(id)));
            found.cursor = Some(Cursor { since: mark.clone(), after: name.clone().unwrap_or_default() });
            let business_unit = text(cell(unit));
            let units = self.business_units.as_deref().unwrap_or_default();
            let allowed = units.is_empty() || business_unit.as_ref().is_some_and(|unit| units.contains(unit));
            let (Some(name), true) = (name, allowed) else {
                found.left_out += 1;
                continue;
            };
            let state = table.columns.iter().enumerate().filter(|(place, _)| !own.contains(&Some(*place)));
            found.rows.push(FoundRow {
                id: name,
                business_unit,
                active: is_true(cell(active), true),
                deleted: is_true(cell(deleted), false),
                state: state
                    .map(|(place, column)| (column.name.clone(), json_of(cell(Some(place)))))
                    .collect(),
                changed_at: match mark {
                    Mark::Instant(at) => Some(at),
                    Mark::Text(text) => text.parse().ok(),
                    Mark::Integer(_) => None,
                },
            });
        }
        Ok(found)
    }

    fn changes(&self, found: &Found, now: Timestamp) -> Vec<SourceChange> {
        let change = |row: &FoundRow| SourceChange {
            source_type: self.source_type.clone(),
            source_id: row.id.clone(),
            business_unit: row.business_unit.clone(),
            active: row.active,
            deleted: row.deleted,
            state: Value::Object(row.state.clone()).to_string(),
            sequence: None,
            // Something newer from an event stays.
            occurred_at: row.changed_at.unwrap_or(now).min(now),
        };
        found.rows.iter().map(change).collect()
    }
}

/// The workflow that polls external databases.
pub struct Externals {
    providers: Arc<Providers>,
    sinks: EventSinks,
}

impl Externals {
    pub fn new(providers: Arc<Providers>) -> Self {
        let mut sinks = EventSinks::default();
        sinks.add(Arc::new(ReminderSink::new(providers.clone())));
        Self { providers, sinks }
    }

    fn read(&self, row: &Claimed) -> Option<(&External, Cursor)> {
        let input: Value = serde_json::from_str(&row.input).ok()?;
        let external = self.providers.external(input["external"].as_str()?)?;
        Some((external, serde_json::from_value(input["cursor"].clone()).ok()?))
    }
}

impl Workflow for Externals {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn is_housekeeping(&self) -> bool {
        true
    }
}

/// What came of a look.
pub enum Looked {
    /// The row names no database that there is.
    Unknown,
    Found(Found),
    /// Nothing that passes by itself.
    Fault(FetchFault),
}

impl Prepares for Externals {
    type Prepared = Looked;
    type Loaded = Loaded;

    async fn prepare(&self, engine: &Engine, row: &Claimed) -> Result<Looked, ReasonCode> {
        let Some((external, cursor)) = self.read(row) else { return Ok(Looked::Unknown) };
        match external.fetch(engine.clock.now(), &cursor).await {
            Ok(found) => Ok(Looked::Found(found)),
            Err(fault) => {
                let fault = FetchFault::from(fault);
                tracing::warn!(
                    external = external.name,
                    code = fault.code,
                    detail = fault.detail,
                    "a query on another database failed"
                );
                if fault.may_pass {
                    return Err(fault.reason());
                }
                Ok(Looked::Fault(fault))
            }
        }
    }

    /// Takes in what was found, with how far the look has come.
    async fn load(
        &self,
        tx: &mut Tx,
        now: Timestamp,
        row: &Claimed,
        looked: Looked,
    ) -> Result<Loaded, StoreError> {
        let own = self.read(row);
        if let (Some((external, _)), Looked::Found(found)) = (&own, &looked) {
            self.take(tx, now, external, found).await?;
        }
        let own = own.map(|(external, cursor)| (external.clone(), cursor));
        Ok(Loaded { own, looked, every: self.providers.reconcile_every })
    }
}

impl Externals {
    async fn take(
        &self,
        tx: &mut Tx,
        now: Timestamp,
        external: &External,
        found: &Found,
    ) -> Result<(), StoreError> {
        let incoming: Vec<IncomingEvent> = external
            .changes(found, now)
            .into_iter()
            .map(|change| incoming_event(&external.name, change))
            .collect();
        let mut report = Report { sources: found.rows.len() as u64, ..Report::default() };
        for taken in take_in(tx, now, &self.sinks, &incoming).await? {
            if let EventTaken::Accepted { touched, .. } = taken {
                report.created += touched.created;
                report.moved += touched.updated;
                report.deactivated += touched.deactivated;
            }
        }
        // A look that began earlier and ended later takes nothing back.
        let stored = external.cursor(&mut tx.conn()).await?;
        let cursor = found.cursor.clone().filter(|cursor| *cursor >= stored).unwrap_or(stored);
        let mut kept = json!(report);
        kept["cursor"] = json!(cursor);
        kept["leftOut"] = found.left_out.into();
        let watermark = cursor.since.as_instant();
        reconciliations::put(&mut tx.conn(), now, &external.provider(), watermark, &kept.to_string()).await
    }
}

fn incoming_event(name: &str, change: SourceChange) -> IncomingEvent {
    let event = Event {
        id: format!("{}/{}", change.source_type, change.source_id),
        source: format!("/reconcile/{name}"),
        kind: SOURCE_CHANGED.to_owned(),
        subject: Some(format!("{}/{}", change.source_type, change.source_id)),
        sequence: None,
        time: change.occurred_at,
        data: Value::Null,
        business_units: None,
    };
    let unit = OwnUnit::stored(change.business_unit.clone());
    IncomingEvent::of_source(event, unit, change)
}

/// What the end of a look is decided on.
pub struct Loaded {
    own: Option<(External, Cursor)>,
    looked: Looked,
    every: SignedDuration,
}

impl Decide for Loaded {
    fn decide(&self, _row: &Claimed, now: Timestamp) -> Decided {
        let Some((external, cursor)) = &self.own else {
            return Decision::Skip(ReasonCode::Superseded).into();
        };
        let ensure =
            |at: Timestamp, from: &Cursor| external.at(at, from).map(|row| Effect::Ensure(Box::new(row)));
        let done = Decided::from(Decision::Deliver(Vec::new()));
        let next_look = next_moment(now, self.every);
        match &self.looked {
            Looked::Found(Found { cursor: Some(next), is_last: false, .. }) if next != cursor => {
                done.with_effects(ensure(now.checked_add(PAUSE).unwrap_or(now), next))
            }
            Looked::Found(found) => {
                done.with_effects(ensure(next_look, found.cursor.as_ref().unwrap_or(cursor)))
            }
            Looked::Fault(fault) => {
                let failed = Decided::from(Decision::Fail(fault.reason()));
                let failed = failed.with_effects(ensure(next_look, cursor));
                failed.with_trace(json!({ "detail": fault.detail }))
            }
            Looked::Unknown => done.with_effects(ensure(next_look, cursor)),
        }
    }
}

/// What one look would do, without doing it: at most so many batches are asked for.
#[boxed]
pub async fn dry_run(
    conn: &mut Conn<'_>,
    providers: &Providers,
    external: &External,
    now: Timestamp,
) -> Result<Result<(u64, Plan), ForeignFault>, StoreError> {
    const BATCHES: usize = 20;
    let mut cursor = external.cursor(conn).await?;
    let (mut looked, mut total) = (0, Plan::default());
    for _ in 0..BATCHES {
        let found = match external.fetch(now, &cursor).await {
            Ok(found) => found,
            Err(fault) => return Ok(Err(fault)),
        };
        looked += found.rows.len() as u64;
        let rows: Vec<SourceRow> = external.changes(&found, now).into_iter().map(as_row).collect();
        let settings = load::of_types(conn, providers, std::slice::from_ref(&external.source_type)).await?;
        let inputs = Inputs::load(conn, settings, rows, false).await?;
        total.add(&evaluate(providers, &inputs, now, Scope::All).plan);
        match found.cursor {
            Some(next) if !found.is_last && next != cursor => cursor = next,
            _ => break,
        }
    }
    Ok(Ok((looked, total)))
}

fn as_row(change: SourceChange) -> SourceRow {
    SourceRow {
        source_type: change.source_type,
        source_id: change.source_id,
        business_unit: change.business_unit,
        active: change.active,
        deleted: change.deleted,
        state: change.state,
        sequence: change.sequence,
        occurred_at: change.occurred_at,
        version: 2,
        updated_at: Timestamp::UNIX_EPOCH,
    }
}

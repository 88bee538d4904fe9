//! Changes that affect many sources: a new, changed or disabled setting, or a business unit with a new time zone.
//!
//! The change is written with its own work row, which applies it in cursor batches, each in one transaction; after a crash it
//! continues at the cursor. Applying a change evaluates the sources again, so doing it twice has no further effect.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_boxed::boxed;
use punctual_engine::{
    Claimed, Decide, Engine, EngineError, Loads, Workflow, WritesRows, ensure_in, events::Touched,
};
use punctual_model::{
    Cause, Decided, Decision, Effect, InputHash, NewWork, Reach, ReasonCode, Trigger, WorkEvent, WorkKey,
    WorkStatus,
};
use punctual_store::{
    Conn, Lane, Reader, StoreError, Tx,
    reminders::{
        changes::{self, ChangeRow},
        settings,
        states::{self, StateRow},
    },
    sources::{self, SourceRow},
    work::{self, Settlement, Transfer},
};
use serde_json::{Value, json};

use super::{
    Providers, Setting,
    children::{self, Diff, Tally},
    evaluate::{Inputs, Outcome, Plan, Scope, evaluate},
    load,
    providers::Source,
    sink,
};

/// The kind of a change's work row.
pub const KIND: &str = "reminder-change";

/// Sources in one batch: one transaction of a few milliseconds on SQLite.
pub const BATCH: i64 = 500;

/// What has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Setting {
        id: String,
        version: i64,
    },
    Unit {
        id: String,
        at: Timestamp,
    },
    /// A person cancelled a row of a source: what follows it is planned.
    Cancelled {
        work: i64,
        version: i64,
        source_type: String,
        source_id: String,
    },
}

impl Change {
    pub(super) fn work(&self, now: Timestamp, again: u32) -> Option<NewWork> {
        let (key, input) = match self {
            Self::Setting { id, version } => (
                WorkKey::reminder_change("setting", id, &version.to_string()),
                json!({ "setting": id, "version": version }),
            ),
            Self::Unit { id, at } => {
                let mark = match again {
                    0 => at.as_microsecond().to_string(),
                    again => format!("{}.{again}", at.as_microsecond()),
                };
                (WorkKey::reminder_change("unit", id, &mark), json!({ "unit": id }))
            }
            Self::Cancelled { work, version, source_type, source_id } => (
                WorkKey::reminder_change("cancelled", &work.to_string(), &version.to_string()),
                json!({ "source": [source_type, source_id] }),
            ),
        };
        Some(NewWork {
            key: key.ok()?,
            kind: KIND,
            trigger: Trigger::At,
            business_unit: None,
            source: None,
            setting_id: None,
            due_at: now,
            local: None,
            input_hash: InputHash::of(&input),
            input: input.to_string(),
        })
    }
}

/// Writes down that a change is to be applied, in the transaction that makes it.
#[boxed]
pub async fn announce(tx: &mut Tx, now: Timestamp, change: &Change) -> Result<Option<String>, StoreError> {
    let mut again = 0;
    let work = loop {
        let Some(work) = change.work(now, again) else { return Ok(None) };
        let before = work::by_key(&mut tx.conn(), &Reach::Everything, work.key.as_str()).await?;
        // In the sandbox the clock may be stopped: the same zone twice at one instant is two changes.
        match (change, before) {
            (Change::Unit { .. }, Some(_)) => again += 1,
            _ => break work,
        }
    };
    ensure_in(tx, now, std::slice::from_ref(&work), Cause::Machine).await?;
    Ok(Some(work.key.as_str().to_owned()))
}

/// Batches that the request itself applies, so that the caller sees the effect at once; the work row does the rest.
const FIRST_BATCHES: usize = 3;

/// Applies the first of a change that was just committed. A failure here does not fail the request: the change is on disk, and
/// its row applies it.
pub(crate) async fn apply_announced(engine: &Engine, providers: &Providers, key: Option<String>) {
    let Some(key) = key else { return };
    if let Err(error) = apply_first(engine, providers, &key).await {
        tracing::warn!(work.key = key, %error, "a change of reminders could not be applied at once; its work row applies it");
    }
}

/// Applies the first batches of a change that was just committed. What fails here is done by the work row.
#[boxed]
pub async fn apply_first(engine: &Engine, providers: &Providers, key: &str) -> Result<(), EngineError> {
    // On its own, so that nobody waits for what is applied.
    let mut tx = engine.store.begin(Lane::Intake).await?;
    sources::await_writers(&mut tx.conn()).await?;
    tx.commit().await?;
    for _ in 0..FIRST_BATCHES {
        let now = engine.clock.now();
        let mut tx = engine.store.begin(Lane::Intake).await?;
        let row = work::by_key(&mut tx.conn(), &Reach::Everything, key).await?;
        let Some(row) = row.filter(|row| row.is(&[WorkStatus::Pending])) else { break };
        let Some(next) = Next::read(&mut tx.conn(), providers, key, &row.input, true).await? else { break };
        let outcome = next.outcome(providers, now);
        let progress = next.progress_after(&outcome.plan);
        next.counted.write(&mut tx.conn()).await?;
        // What was over long ago is nothing that the change did.
        let touched = sink::write(&mut tx, now, Outcome { over: Vec::new(), ..outcome }).await?;
        changes::put(&mut tx.conn(), now, &progress).await?;
        if next.is_last {
            let settlement = Settlement::after(WorkEvent::Complete, row.id, row.version, row.retry_count);
            work::settle(&mut tx.conn(), now, &[settlement]).await?;
        }
        tx.commit().await?;
        let mut planned = Touched::default();
        touched.values().for_each(|one| planned.add(one));
        engine.metrics.planned(KIND, &planned);
        if next.is_last {
            break;
        }
    }
    Ok(())
}

/// The next batch of a change, read.
struct Next {
    inputs: Inputs,
    /// The setting that it is limited to.
    setting: Option<String>,
    counted: Diff,
    progress: ChangeRow,
    is_last: bool,
}

impl Next {
    /// Nothing where a later change took its place. Unless it has `awaited` them already, a change that begins waits for
    /// those who are writing sources.
    async fn read(
        conn: &mut Conn<'_>,
        providers: &Providers,
        key: &str,
        input: &str,
        awaited: bool,
    ) -> Result<Option<Self>, StoreError> {
        let input: Value = serde_json::from_str(input).unwrap_or(Value::Null);
        let progress = changes::get(conn, key).await?;
        if progress.is_none() && !awaited {
            sources::await_writers(conn).await?;
        }
        let progress = progress.unwrap_or_else(|| ChangeRow { key: key.to_owned(), ..ChangeRow::default() });
        if let Some(unit) = input["unit"].as_str() {
            return Self::of_unit(conn, providers, unit, progress).await.map(Some);
        }
        if let (Some(kind), Some(id)) = (input["source"][0].as_str(), input["source"][1].as_str()) {
            return Self::of_source(conn, providers, (kind, id), progress).await.map(Some);
        }
        let id = input["setting"].as_str().unwrap_or_default();
        let row = settings::by_ids(conn, &Reach::Everything, vec![id.to_owned()]).await?.pop();
        let Some(row) = row.filter(|row| Some(row.version) == input["version"].as_i64()) else {
            return Ok(None);
        };
        let Ok(setting) = Setting::read(providers, &row) else { return Ok(None) };
        // What is counted comes first, so that the parents find it counted.
        match setting.rule.counted().map(|counted| counted.source_type.clone()) {
            Some(child) if progress.after_type != setting.source_type => {
                Self::of_children(conn, setting, &child, progress).await.map(Some)
            }
            _ => Self::of_setting(conn, providers, setting, progress).await.map(Some),
        }
    }

    async fn of_children(
        conn: &mut Conn<'_>,
        setting: Setting,
        child_type: &str,
        mut progress: ChangeRow,
    ) -> Result<Self, StoreError> {
        let rows = sources::walk(conn, child_type, &progress.after_id, None, BATCH, true).await?;
        let counted = children::diff(conn, std::slice::from_ref(&setting), &rows).await?;
        match rows.last() {
            Some(last) if is_full(&rows) => progress.after_id.clone_from(&last.source_id),
            _ => {
                progress.after_type.clone_from(&setting.source_type);
                progress.after_id = String::new();
            }
        }
        Ok(Self { inputs: Inputs::default(), setting: Some(setting.id), counted, progress, is_last: false })
    }

    async fn of_setting(
        conn: &mut Conn<'_>,
        providers: &Providers,
        setting: Setting,
        mut progress: ChangeRow,
    ) -> Result<Self, StoreError> {
        let (id, kind) = (setting.id.clone(), setting.source_type.clone());
        let rows = sources::walk(conn, &kind, &progress.after_id, None, BATCH, true).await?;
        // Read again under the lock of the sources: an event and this change cannot miss each other.
        let held = settings::of_types(conn, vec![kind.clone()]).await?;
        let settings = match held.iter().find(|row| row.id == id) {
            Some(row) => load::read_settings(providers, std::slice::from_ref(row)),
            None => vec![setting],
        };
        let is_last = !is_full(&rows);
        if let Some(last) = rows.last() {
            progress.after_id.clone_from(&last.source_id);
        }
        progress.after_type = kind;
        let inputs = Inputs::load(conn, settings, rows, false).await?;
        Ok(Self { inputs, setting: Some(id), counted: Diff::default(), progress, is_last })
    }

    /// All settings for one source.
    async fn of_source(
        conn: &mut Conn<'_>,
        providers: &Providers,
        place: (&str, &str),
        progress: ChangeRow,
    ) -> Result<Self, StoreError> {
        let rows = sources::lock(conn, &[place]).await?;
        let settings = load::of_types(conn, providers, &[place.0.to_owned()]).await?;
        let inputs = Inputs::load(conn, settings, rows, false).await?;
        Ok(Self { inputs, setting: None, counted: Diff::default(), progress, is_last: true })
    }

    /// All settings for the sources of a business unit, one type after the other.
    async fn of_unit(
        conn: &mut Conn<'_>,
        providers: &Providers,
        unit: &str,
        mut progress: ChangeRow,
    ) -> Result<Self, StoreError> {
        let types = sources::types(conn, &Reach::Everything).await?;
        let Some(kind) = types.iter().find(|kind| **kind >= progress.after_type) else {
            let (inputs, counted) = (Inputs::default(), Diff::default());
            return Ok(Self { inputs, setting: None, counted, progress, is_last: true });
        };
        if *kind != progress.after_type {
            progress.after_type.clone_from(kind);
            progress.after_id = String::new();
        }
        let rows = sources::walk(conn, kind, &progress.after_id, Some(unit), BATCH, true).await?;
        let is_last = !is_full(&rows) && types.last() == Some(kind);
        match rows.last() {
            Some(last) if is_full(&rows) => progress.after_id.clone_from(&last.source_id),
            // A text that follows this type and precedes whatever comes after it: names have no control characters.
            _ => {
                progress.after_type = format!("{kind}\u{1}");
                progress.after_id = String::new();
            }
        }
        let settings = load::of_types(conn, providers, std::slice::from_ref(kind)).await?;
        let inputs = Inputs::load(conn, settings, rows, false).await?;
        Ok(Self { inputs, setting: None, counted: Diff::default(), progress, is_last })
    }

    fn outcome(&self, providers: &Providers, now: Timestamp) -> Outcome {
        let scope = self.setting.as_deref().map_or(Scope::All, Scope::Setting);
        evaluate(providers, &self.inputs, now, scope)
    }

    fn progress_after(&self, plan: &Plan) -> ChangeRow {
        let add = |sum: i64, count: u64| sum.saturating_add(i64::try_from(count).unwrap_or(i64::MAX));
        let before = &self.progress;
        ChangeRow {
            created: add(before.created, plan.create),
            updated: add(before.updated, plan.moved),
            deactivated: add(before.deactivated, plan.deactivate),
            ..before.clone()
        }
    }
}

fn is_full(rows: &[SourceRow]) -> bool {
    i64::try_from(rows.len()).is_ok_and(|rows| rows >= BATCH)
}

/// The workflow that applies changed settings and zones to sources.
pub struct Changes {
    providers: Arc<Providers>,
}

impl Changes {
    pub fn new(providers: Arc<Providers>) -> Self {
        Self { providers }
    }
}

impl Workflow for Changes {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn is_housekeeping(&self) -> bool {
        true
    }
}

impl Loads for Changes {
    type Loaded = Loaded;

    async fn load(&self, conn: &mut Conn<'_>, batch: &[Claimed]) -> Result<Loaded, StoreError> {
        // One change at a time: a batch of sources is as much as a transaction should hold.
        let mut loaded = Loaded { providers: self.providers.clone(), id: 0, next: None };
        if let Some(first) = batch.first() {
            loaded.id = first.id;
            loaded.next = Next::read(conn, &self.providers, &first.key, &first.input, false).await?;
        }
        Ok(loaded)
    }
}

impl WritesRows for Changes {
    type Row = Put;

    async fn put(&self, conn: &mut Conn<'_>, now: Timestamp, rows: &[Put]) -> Result<(), StoreError> {
        for row in rows {
            row.counted.write(conn).await?;
            states::put(conn, now, &row.states).await?;
            sink::transfer(conn, now, &row.transfers).await?;
            sink::write_failed(conn, now, &row.failed).await?;
            changes::put(conn, now, &row.progress).await?;
        }
        Ok(())
    }
}

/// What a batch writes to the tables of reminders.
pub struct Put {
    progress: ChangeRow,
    states: Vec<StateRow>,
    transfers: Vec<Transfer>,
    failed: Vec<(ReasonCode, NewWork)>,
    counted: Diff,
}

/// The next batch of the change that comes first.
pub struct Loaded {
    providers: Arc<Providers>,
    id: i64,
    next: Option<Next>,
}

impl Decide<Put> for Loaded {
    fn decide(&self, row: &Claimed, now: Timestamp) -> Decided<Put> {
        let again = Decision::Defer(now, ReasonCode::Applying);
        if row.id != self.id {
            return again.into();
        }
        let Some(next) = &self.next else {
            return Decision::Skip(ReasonCode::Superseded).into();
        };
        let outcome = next.outcome(&self.providers, now);
        let put = Put {
            progress: next.progress_after(&outcome.plan),
            states: outcome.states,
            transfers: outcome.transfers,
            failed: outcome.failed,
            counted: next.counted.clone(),
        };
        let mut effects = Vec::new();
        for (reason, keys) in outcome.gone {
            let keys = keys.into_iter().map(WorkKey::stored).collect();
            effects.push(Effect::Deactivate { keys, reason });
        }
        effects.extend(outcome.wanted.into_iter().map(|row| Effect::Ensure(Box::new(row))));
        let decision = if next.is_last { Decision::Deliver(Vec::new()) } else { again };
        Decided::from(decision).with_effects(effects).with_rows([put])
    }
}

/// What a changed setting would do to the rows there are, without doing it.
#[boxed]
pub async fn plan(
    reader: &mut Reader,
    providers: &Providers,
    setting: &Setting,
    now: Timestamp,
) -> Result<Plan, StoreError> {
    let mut conn = reader.conn();
    let tally = Tally::of(&mut conn, setting).await?;
    let mut total = Plan::default();
    let mut after = String::new();
    loop {
        let rows = sources::walk(&mut conn, &setting.source_type, &after, None, BATCH, false).await?;
        let Some(last) = rows.last() else { return Ok(total) };
        after.clone_from(&last.source_id);
        let mut inputs = Inputs::load(&mut conn, vec![setting.clone()], rows, false).await?;
        let sum = |source: &Source| {
            Some(((setting.id.clone(), source.row.source_id.clone()), tally.sum(&source.row)?))
        };
        inputs.sums = inputs.sources.iter().filter_map(sum).collect();
        total.add(&evaluate(providers, &inputs, now, Scope::Setting(&setting.id)).plan);
    }
}

//! Reconciliation: bounded repair after missed events and days without events.
//!
//! At low frequency, each trigger provider reads the sources that changed since its last pass, in batches, and evaluates them
//! with the same function as events, so it creates the same keys. The watermark advances in the transaction of each batch.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use punctual_boxed::boxed;
use punctual_engine::{Claimed, Decide, Engine, EngineError, Loads, Workflow, WritesRows};
use punctual_model::{
    Cause, Decided, Decision, Effect, InputHash, NewWork, Reach, ReasonCode, Trigger, WorkKey,
};
use punctual_store::{
    Conn, StoreError,
    reminders::{
        reconciliations::{self, ReconciliationRow},
        settings::{self, SettingRow},
        states::{self, StateRow},
    },
    sources::{self, SourceRow},
    work::Transfer,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Providers,
    evaluate::{Inputs, Outcome, Plan, Scope, evaluate},
    external::{External, Unbounded},
    load,
    providers::{ScanBounds, UnboundedScan},
    sink,
};

/// The kind of a reconciliation's work row.
pub const KIND: &str = "reconcile";

/// How often a provider looks, unless the configuration says otherwise.
pub const EVERY: SignedDuration = SignedDuration::from_hours(6);

/// How far a provider has looked, and what its present or last run did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Report {
    /// Sources that were checked.
    pub sources: u64,
    pub created: u64,
    pub moved: u64,
    pub deactivated: u64,
    /// The place after which a run that is under way continues.
    pub after: Option<(i64, String, String)>,
    /// Until when the run that is under way looks.
    pub until: Option<i64>,
    /// The setting and source after which days without events continue.
    pub daily_after: Option<(String, String)>,
}

/// The row of one look.
pub fn at(provider: &str, at: Timestamp) -> Option<NewWork> {
    let input = json!({ "provider": provider });
    Some(NewWork {
        key: WorkKey::reconcile(provider, at).ok()?,
        kind: KIND,
        trigger: Trigger::At,
        business_unit: None,
        source: None,
        setting_id: None,
        due_at: at,
        local: None,
        input_hash: InputHash::of(&input),
        input: input.to_string(),
    })
}

/// The next moment on the grid of `every`, so that all nodes mean the same row.
pub(super) fn next_moment(now: Timestamp, every: SignedDuration) -> Timestamp {
    let step = every.as_secs().max(60);
    let next = (now.as_second().div_euclid(step) + 1) * step;
    Timestamp::from_second(next).unwrap_or(Timestamp::MAX)
}

/// Plans the next look of every provider; refuses to start with one that is not bounded.
#[boxed]
pub async fn start(engine: &Engine, providers: &Providers) -> Result<(), StartError> {
    providers.check_bounds()?;
    providers.externals.iter().try_for_each(External::check)?;
    let at = next_moment(engine.clock.now(), providers.reconcile_every);
    let mut rows: Vec<NewWork> =
        providers.triggers.keys().filter_map(|provider| self::at(provider, at)).collect();
    let mut reader = engine.store.read().await.map_err(EngineError::from)?;
    for external in &providers.externals {
        let cursor = external.cursor(&mut reader.conn()).await.map_err(EngineError::from)?;
        rows.extend(external.at(at, &cursor));
    }
    drop(reader);
    engine.ensure(&rows, Cause::Machine).await?;
    Ok(())
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Unbounded(#[from] UnboundedScan),
    #[error(transparent)]
    UnboundedQuery(#[from] Unbounded),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// One batch, read.
pub struct Batch {
    provider: String,
    inputs: Inputs,
    bounds: ScanBounds,
    watermark: i64,
    report: Report,
    is_last: bool,
}

impl Batch {
    /// Reads the next batch of a provider: what changed since it last looked, and then what is met on days without
    /// events.
    #[boxed]
    pub async fn read(
        conn: &mut Conn<'_>,
        providers: &Providers,
        provider: &str,
        now: Timestamp,
    ) -> Result<Option<Self>, StoreError> {
        let stored = reconciliations::all(conn).await?.into_iter().find(|row| row.provider == provider);
        let report = stored.as_ref().and_then(|row| serde_json::from_str::<Report>(&row.report).ok());
        let watermark = stored.map_or(0, |row| row.watermark.as_microsecond());
        // A run that is under way continues; a new one begins at the watermark.
        let report = report.filter(|report| report.until.is_some()).unwrap_or_default();
        Self::after(conn, providers, provider, watermark, report, now).await
    }

    async fn after(
        conn: &mut Conn<'_>,
        providers: &Providers,
        provider: &str,
        watermark: i64,
        mut report: Report,
        now: Timestamp,
    ) -> Result<Option<Self>, StoreError> {
        let Some(bounds) = providers.bounds_of(provider) else { return Ok(None) };
        let limit = i64::from(bounds.batch.unwrap_or(500));
        let until = *report.until.get_or_insert(now.as_microsecond());
        if report.daily_after.is_none() {
            let (at, kind, id) = report.after.clone().unwrap_or((watermark, String::new(), String::new()));
            let rows = sources::changed(conn, (at, &kind, &id), until, limit).await?;
            let read = i64::try_from(rows.len()).unwrap_or(i64::MAX);
            report.sources += rows.len() as u64;
            if let Some(last) = rows.last() {
                report.after = Some((
                    last.updated_at.as_microsecond(),
                    last.source_type.clone(),
                    last.source_id.clone(),
                ));
            }
            if read < limit {
                report.daily_after = Some((String::new(), String::new()));
            }
            let rows: Vec<SourceRow> = rows.into_iter().filter(|row| may_look(&bounds, row)).collect();
            let inputs = Self::inputs(conn, providers, provider, rows).await?;
            let provider = provider.to_owned();
            return Ok(Some(Self { provider, inputs, bounds, watermark, report, is_last: false }));
        }
        Self::daily(conn, providers, provider, watermark, report, bounds).await.map(Some)
    }

    /// Days without events: the sources that meet a threshold which fires once a day.
    async fn daily(
        conn: &mut Conn<'_>,
        providers: &Providers,
        provider: &str,
        watermark: i64,
        mut report: Report,
        bounds: ScanBounds,
    ) -> Result<Self, StoreError> {
        let limit = i64::from(bounds.batch.unwrap_or(500));
        let (setting, source) = report.daily_after.clone().unwrap_or_default();
        let rows = settings_of(conn, provider).await?;
        let settings = load::read_settings(providers, &rows);
        let next = settings.iter().find(|one| one.rule.is_daily() && one.is_on() && one.id >= setting);
        let mut batch = Self {
            provider: provider.to_owned(),
            inputs: Inputs::default(),
            bounds,
            watermark,
            report: Report::default(),
            is_last: next.is_none(),
        };
        if let Some(one) = next {
            let after = if one.id == setting { source.as_str() } else { "" };
            let met = states::met(conn, &one.id, after, limit).await?;
            let full = i64::try_from(met.len()).unwrap_or(i64::MAX) >= limit;
            report.daily_after = Some(match met.last() {
                Some(last) if full => (one.id.clone(), last.source_id.clone()),
                // The least text that follows this id.
                _ => (format!("{}\u{1}", one.id), String::new()),
            });
            report.sources += met.len() as u64;
            let places: Vec<(&str, &str)> =
                met.iter().map(|row| (one.source_type.as_str(), row.source_id.as_str())).collect();
            let rows = sources::within(conn, &Reach::Everything, &places).await?;
            let rows = rows.into_iter().filter(|row| may_look(&batch.bounds, row)).collect();
            batch.inputs = Self::inputs(conn, providers, provider, rows).await?;
        }
        batch.report = report;
        Ok(batch)
    }

    async fn inputs(
        conn: &mut Conn<'_>,
        providers: &Providers,
        provider: &str,
        rows: Vec<SourceRow>,
    ) -> Result<Inputs, StoreError> {
        let mut types: Vec<String> = rows.iter().map(|row| row.source_type.clone()).collect();
        types.sort_unstable();
        types.dedup();
        let held = load::of_types(conn, providers, &types).await?;
        let own = held.into_iter().filter(|setting| setting.kind == provider).collect();
        let mut inputs = Inputs::load(conn, own, rows, false).await?;
        // Rows of other providers are not this one's to judge.
        let ids: Vec<String> = inputs.settings.iter().map(|setting| setting.id.clone()).collect();
        for rows in inputs.existing.values_mut() {
            rows.retain(|row| row.setting_id.as_ref().is_some_and(|id| ids.contains(id)));
        }
        Ok(inputs)
    }

    /// What this batch would write.
    pub fn outcome(&self, providers: &Providers, now: Timestamp) -> Outcome {
        let days = i64::from(self.bounds.window_days.unwrap_or(1));
        let day = SignedDuration::from_hours(24);
        let from = now.checked_sub(day).unwrap_or(Timestamp::MIN);
        let to = now.checked_add(SignedDuration::from_hours(24 * days)).unwrap_or(Timestamp::MAX);
        evaluate(providers, &self.inputs, now, Scope::Window(from, to))
    }

    fn row(&self, plan: &Plan) -> ReconciliationRow {
        let mut report = self.report.clone();
        report.created += plan.create;
        report.moved += plan.moved;
        report.deactivated += plan.deactivate;
        let mut watermark = self.watermark;
        if self.is_last {
            // Read again next time: a transaction that was slow to commit may have written a little earlier.
            const SLACK_MICROS: i64 = 60 * 1_000_000;
            watermark = report.until.map_or(watermark, |until| (until - SLACK_MICROS).max(watermark));
            (report.until, report.after, report.daily_after) = (None, None, None);
        }
        ReconciliationRow {
            provider: self.provider.clone(),
            watermark: Timestamp::from_microsecond(watermark).unwrap_or_default(),
            last_run_at: Timestamp::UNIX_EPOCH,
            report: serde_json::to_string(&report).unwrap_or_default(),
        }
    }
}

fn may_look(bounds: &ScanBounds, row: &SourceRow) -> bool {
    let allowed = bounds.business_units.as_deref().unwrap_or_default();
    let within = allowed.is_empty() || row.business_unit.as_ref().is_some_and(|unit| allowed.contains(unit));
    within && row.active && !row.deleted
}

async fn settings_of(conn: &mut Conn<'_>, kind: &str) -> Result<Vec<SettingRow>, StoreError> {
    let (mut all, mut after) = (Vec::new(), String::new());
    loop {
        let rows = settings::page(conn, &Reach::Everything, &after, 500).await?;
        let Some(last) = rows.last() else { return Ok(all) };
        after.clone_from(&last.id);
        all.extend(rows.into_iter().filter(|row| row.kind == kind));
    }
}

/// What one whole run would do, without doing it.
#[boxed]
pub async fn dry_run(
    conn: &mut Conn<'_>,
    providers: &Providers,
    provider: &str,
    now: Timestamp,
) -> Result<Option<(Report, Plan)>, StoreError> {
    let mut total = Plan::default();
    let Some(mut batch) = Batch::read(conn, providers, provider, now).await? else { return Ok(None) };
    loop {
        total.add(&batch.outcome(providers, now).plan);
        if batch.is_last {
            return Ok(Some((batch.report, total)));
        }
        let next = Batch::after(conn, providers, provider, batch.watermark, batch.report, now).await?;
        match next {
            Some(next) => batch = next,
            None => return Ok(None),
        }
    }
}

/// The workflow of reconciliation.
pub struct Reconcile {
    providers: Arc<Providers>,
}

impl Reconcile {
    pub fn new(providers: Arc<Providers>) -> Self {
        Self { providers }
    }
}

impl Workflow for Reconcile {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn is_housekeeping(&self) -> bool {
        true
    }
}

impl Loads for Reconcile {
    type Loaded = Loaded;

    async fn load(&self, conn: &mut Conn<'_>, batch: &[Claimed]) -> Result<Loaded, StoreError> {
        let mut loaded = Loaded { providers: self.providers.clone(), id: 0, batch: None };
        if let Some(first) = batch.first() {
            loaded.id = first.id;
            let input: Value = serde_json::from_str(&first.input).unwrap_or(Value::Null);
            let provider = input["provider"].as_str().unwrap_or_default();
            // How far it looks is when it was ready; a later batch of the same run keeps to it.
            let ready = first.ready_at;
            loaded.batch = Batch::read(conn, &self.providers, provider, ready).await?;
        }
        Ok(loaded)
    }
}

impl WritesRows for Reconcile {
    type Row = Put;

    async fn put(&self, conn: &mut Conn<'_>, now: Timestamp, rows: &[Put]) -> Result<(), StoreError> {
        for row in rows {
            states::put(conn, now, &row.states).await?;
            sink::transfer(conn, now, &row.transfers).await?;
            sink::write_failed(conn, now, &row.failed).await?;
            reconciliations::put(conn, now, &row.provider, row.watermark, &row.report).await?;
        }
        Ok(())
    }
}

/// What a batch writes to the tables of reminders.
pub struct Put {
    provider: String,
    watermark: Timestamp,
    report: String,
    states: Vec<StateRow>,
    transfers: Vec<Transfer>,
    failed: Vec<(ReasonCode, NewWork)>,
}

/// The next batch of the look that comes first.
pub struct Loaded {
    providers: Arc<Providers>,
    id: i64,
    batch: Option<Batch>,
}

impl Decide<Put> for Loaded {
    fn decide(&self, row: &Claimed, now: Timestamp) -> Decided<Put> {
        let again = Decision::Defer(now, ReasonCode::Applying);
        if row.id != self.id {
            return again.into();
        }
        let Some(batch) = &self.batch else {
            return Decision::Skip(ReasonCode::Superseded).into();
        };
        let outcome = batch.outcome(&self.providers, now);
        let stored = batch.row(&outcome.plan);
        let put = Put {
            provider: stored.provider,
            watermark: stored.watermark,
            report: stored.report,
            states: outcome.states,
            transfers: outcome.transfers,
            failed: outcome.failed,
        };
        let mut effects = Vec::new();
        for (reason, keys) in outcome.gone {
            let keys = keys.into_iter().map(WorkKey::stored).collect();
            effects.push(Effect::Deactivate { keys, reason });
        }
        effects.extend(outcome.wanted.into_iter().map(|row| Effect::Ensure(Box::new(row))));
        if !batch.is_last {
            return Decided::from(again).with_effects(effects).with_rows([put]);
        }
        // A look that a person asked for, beside the regular ones, is followed by none.
        let due = row.due_at;
        let before = due.checked_sub(SignedDuration::from_micros(1)).unwrap_or(due);
        let every = self.providers.reconcile_every;
        let is_regular = next_moment(before, every) == due;
        let next = is_regular.then(|| at(&batch.provider, next_moment(now, every))).flatten();
        effects.extend(next.map(|row| Effect::Ensure(Box::new(row))));
        Decided::from(Decision::Deliver(Vec::new())).with_effects(effects).with_rows([put])
    }
}

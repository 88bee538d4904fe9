//! Due schedules claimed, handled by a listener that counts, and completed; over when the table has none left.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::{Result, ensure};
use jiff::{SignedDuration, Timestamp};
use punctual_engine::{Engine, EngineConfig, Listeners};
use punctual_model::{Arrival, Clock};
use punctual_store::{maintenance::HeldSnapshot, work};
use serde_json::json;

use super::{
    Bench, Measured, Rig, audit, config, deliver, http,
    ingest::{Keys, ensure_all, schedules},
};

/// Rows of the future beside which a drain is measured.
const FUTURE: usize = 1_000_000;
/// A drain of 20,000 rows takes a quarter of a second, in which a small machine has its moods: the middle one of these
/// counts.
const ROUNDS: usize = 9;

pub(super) async fn measure(bench: &Bench, jobs: usize) -> Result<Measured> {
    measure_on(bench, "drain", jobs, config("bench"), 0).await
}

/// The same on an engine with this configuration, with so many entries in its audit that are not sealed yet.
pub(super) async fn measure_on(
    bench: &Bench,
    test: &'static str,
    jobs: usize,
    config: EngineConfig,
    entries: usize,
) -> Result<Measured> {
    let mut table = Table::of(bench, test, Keys::Rising, config).await?;
    audit::write(bench, &table.rig, entries).await?;
    let drained = table.drain(bench, jobs).await?;
    table.rig.remove().await?;
    Ok(drained.measured(test, jobs))
}

/// The drain alone, beside rows of the future, and beside rows of the future among whose keys those of the due ones lie;
/// the three take turns.
pub(super) async fn measure_backlog(bench: &Bench, jobs: usize) -> Result<Vec<Measured>> {
    let mut tables = vec![
        ("drain20", Table::new(bench, "drain20", Keys::Rising).await?),
        ("backlog", Table::new(bench, "backlog", Keys::Rising).await?),
        ("backlog-spread", Table::new(bench, "spread", Keys::Spread).await?),
    ];
    for (_, table) in &mut tables[1..] {
        table.fill(bench, FUTURE).await?;
    }
    let mut took = vec![Vec::new(); tables.len()];
    for _ in 0..ROUNDS {
        for ((_, table), took) in tables.iter_mut().zip(&mut took) {
            took.push(table.drain(bench, jobs).await?.took);
        }
    }
    let mut measured = Vec::new();
    for ((test, table), mut took) in tables.into_iter().zip(took) {
        took.sort_unstable();
        measured.push(Measured::rate(test, jobs, took[ROUNDS / 2]));
        table.rig.remove().await?;
    }
    Ok(measured)
}

/// A long drain, long delivery and many requests, each alone and while a snapshot is held, which keeps PostgreSQL from removing the entries of settled rows.
pub(super) async fn measure_snapshot(bench: &Bench, jobs: usize) -> Result<Vec<Measured>> {
    let mut measured = Vec::new();
    for (test, is_held) in [("drain-long", false), ("drain-snapshot", true)] {
        let mut table = Table::new(bench, "snapshot", Keys::Rising).await?;
        table.is_held = is_held;
        let drained = table.drain(bench, jobs).await?;
        table.rig.remove().await?;
        measured.push(drained.measured(test, jobs));
    }
    // A delivery and a request cost several times what a drained row does.
    for (test, is_held) in [("deliver-long", false), ("deliver-snapshot", true)] {
        measured.push(deliver::measure_with(bench, test, jobs / 3, is_held).await?);
    }
    for (test, is_held) in [("http-long", false), ("http-snapshot", true)] {
        measured.push(http::measure_with(bench, test, jobs / 6, is_held).await?);
    }
    Ok(measured)
}

/// How long a drain took, and whether it was as fast at its end as at its beginning.
struct Drained {
    took: Duration,
    /// The rate of the last tenth, by that of the first.
    last_to_first: f64,
}

impl Drained {
    fn measured(&self, test: &'static str, jobs: usize) -> Measured {
        let mut measured = Measured::rate(test, jobs, self.took);
        if let Some(figures) = measured.figures.as_object_mut() {
            figures.insert("last_to_first_tenth".into(), json!((self.last_to_first * 100.0).round() / 100.0));
        }
        measured
    }
}

/// A database that is filled and drained.
struct Table {
    rig: Rig,
    keys: Keys,
    handled: Arc<AtomicUsize>,
    /// How many keys were used.
    used: usize,
    /// Whether a snapshot is held while it is drained.
    is_held: bool,
}

impl Table {
    async fn new(bench: &Bench, name: &str, keys: Keys) -> Result<Self> {
        Self::of(bench, name, keys, config("bench")).await
    }

    async fn of(bench: &Bench, name: &str, keys: Keys, config: EngineConfig) -> Result<Self> {
        let handled = Arc::new(AtomicUsize::new(0));
        let mut listeners = Listeners::default();
        let counter = handled.clone();
        listeners.add(
            "bench",
            Arc::new(move |_: &Arrival| {
                counter.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }),
        )?;
        let rig = bench.rig_of(name, listeners, Vec::new(), config).await?;
        Ok(Self { rig, keys, handled, used: 0, is_held: false })
    }

    /// Puts rows of the future in.
    async fn fill(&mut self, bench: &Bench, rows: usize) -> Result<()> {
        self.ensure_due(rows, bench.clock.now() + SignedDuration::from_hours(24 * 30)).await
    }

    /// In pieces, so that memory stays flat.
    async fn ensure_due(&mut self, rows: usize, due: Timestamp) -> Result<()> {
        for start in (0..rows).step_by(100_000) {
            let numbers = self.next((rows - start).min(100_000));
            ensure_all(&self.rig.engine, schedules(numbers, self.keys, |_| due)?).await?;
        }
        Ok(())
    }

    fn next(&mut self, rows: usize) -> std::ops::Range<usize> {
        let first = self.used;
        self.used += rows;
        first..self.used
    }

    /// Puts due rows in and says how long it took until none was left.
    async fn drain(&mut self, bench: &Bench, jobs: usize) -> Result<Drained> {
        self.ensure_due(jobs, bench.clock.now()).await?;
        self.rig.settle_down().await?;
        let held = if self.is_held { Some(HeldSnapshot::take(&self.rig.url).await?) } else { None };
        self.handled.store(0, Ordering::Relaxed);
        let started = bench.clock.now();
        let running = self.rig.engine.run();
        // The counter costs nothing to look at; the table has the last word.
        let since = || bench.clock.now().duration_since(started).unsigned_abs();
        let (mut first_tenth, mut before_last, mut all) = (None, None, None);
        loop {
            let handled = self.handled.load(Ordering::Relaxed);
            for (mark, reached) in
                [(jobs / 10, &mut first_tenth), (jobs - jobs / 10, &mut before_last), (jobs, &mut all)]
            {
                if handled >= mark && reached.is_none() {
                    *reached = Some((since(), handled));
                }
            }
            if handled >= jobs && !is_busy(&self.rig.engine, bench).await? {
                break;
            }
            bench.clock.sleep_until(bench.clock.now() + SignedDuration::from_millis(2)).await;
        }
        let took = since();
        running.stop().await;
        drop(held);
        let handled = self.handled.load(Ordering::Relaxed);
        ensure!(handled == jobs, "handled {handled} of {jobs}");
        let rate = |from: (Duration, usize), to: (Duration, usize)| {
            (to.1 - from.1) as f64 / to.0.saturating_sub(from.0).as_secs_f64().max(1e-9)
        };
        let last_to_first = match (first_tenth, before_last, all) {
            (Some(first), Some(before), Some(all)) => rate(before, all) / rate((Duration::ZERO, 0), first),
            _ => 0.0,
        };
        Ok(Drained { took, last_to_first })
    }
}

/// Whether the table still has due rows that are not finished.
pub(super) async fn is_busy(engine: &Engine, bench: &Bench) -> Result<bool> {
    let kinds = engine.workflows.keys().map(str::to_owned).collect();
    let mut reader = engine.store.read().await?;
    Ok(work::is_busy(&mut reader.conn(), bench.clock.now().as_microsecond(), kinds).await?)
}

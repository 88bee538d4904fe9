//! Due schedules claimed, handled by a listener that counts, and completed; over when the table has none left.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::{Result, ensure};
use jiff::SignedDuration;
use punctual_engine::{Engine, EngineConfig, Listeners};
use punctual_model::{Arrival, Clock};
use punctual_store::{maintenance::HeldSnapshot, work};

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
    let took = table.drain(bench, jobs).await?;
    table.rig.remove().await?;
    Ok(Measured::rate(test, jobs, took))
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
            took.push(table.drain(bench, jobs).await?);
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
        let took = table.drain(bench, jobs).await?;
        table.rig.remove().await?;
        measured.push(Measured::rate(test, jobs, took));
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

    async fn fill(&mut self, bench: &Bench, rows: usize) -> Result<()> {
        let far = bench.clock.now() + SignedDuration::from_hours(24 * 30);
        // In pieces, so that memory stays flat.
        for start in (0..rows).step_by(100_000) {
            let numbers = self.next((rows - start).min(100_000));
            ensure_all(&self.rig.engine, schedules(numbers, self.keys, |_| far)?).await?;
        }
        Ok(())
    }

    fn next(&mut self, rows: usize) -> std::ops::Range<usize> {
        let first = self.used;
        self.used += rows;
        first..self.used
    }

    /// Puts due rows in and says how long it took until none was left.
    async fn drain(&mut self, bench: &Bench, jobs: usize) -> Result<Duration> {
        let now = bench.clock.now();
        let numbers = self.next(jobs);
        ensure_all(&self.rig.engine, schedules(numbers, self.keys, |_| now)?).await?;
        self.rig.settle_down().await?;
        let held = if self.is_held { Some(HeldSnapshot::take(&self.rig.url).await?) } else { None };
        self.handled.store(0, Ordering::Relaxed);
        let started = bench.clock.now();
        let running = self.rig.engine.run();
        // The counter costs nothing to look at; the table has the last word.
        while self.handled.load(Ordering::Relaxed) < jobs || is_busy(&self.rig.engine, bench).await? {
            bench.clock.sleep_until(bench.clock.now() + SignedDuration::from_millis(2)).await;
        }
        let took = bench.clock.now().duration_since(started);
        running.stop().await;
        drop(held);
        let handled = self.handled.load(Ordering::Relaxed);
        ensure!(handled == jobs, "handled {handled} of {jobs}");
        Ok(took.unsigned_abs())
    }
}

/// Whether the table still has due rows that are not finished.
pub(super) async fn is_busy(engine: &Engine, bench: &Bench) -> Result<bool> {
    let kinds = engine.workflows.keys().map(str::to_owned).collect();
    let mut reader = engine.store.read().await?;
    Ok(work::is_busy(&mut reader.conn(), bench.clock.now().as_microsecond(), kinds).await?)
}

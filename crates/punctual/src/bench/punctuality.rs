//! Schedules at random instants over 20 s: lateness is handler start − requested instant.

use std::sync::{Arc, Mutex};

use anyhow::{Result, ensure};
use jiff::{SignedDuration, Timestamp};
use punctual_engine::{Engine, Listeners};
use punctual_model::{Arrival, Clock};
use serde_json::json;

use super::{
    Bench, Measured,
    ingest::{Keys, ensure_all, schedules},
    server::at,
};
use crate::clock::SystemClock;

/// The first instant is this far ahead, and the last this much later.
const LEAD: SignedDuration = SignedDuration::from_secs(5);
const WINDOW_MS: u64 = 20_000;

pub(super) async fn measure(bench: &Bench, jobs: usize) -> Result<Measured> {
    let (mut listeners, lateness) = (Listeners::default(), Lateness::new(bench));
    lateness.listen(&mut listeners)?;
    let rig = bench.rig("punctual", listeners).await?;
    let running = rig.engine.run();
    let instants = spread(jobs, bench.clock.now() + LEAD, WINDOW_MS);
    ensure_all(&rig.engine, schedules(0..jobs, Keys::Rising, |number| instants[number])?).await?;
    let end = bench.clock.now() + LEAD + SignedDuration::from_millis(i64::try_from(WINDOW_MS)? + 2_000);
    bench.clock.sleep_until(end).await;
    running.stop().await;
    rig.remove().await?;
    let mut late = lateness.taken(jobs)?;
    let figures = json!({ "variant": "default", "p50": at(&mut late, 0.5), "p99": at(&mut late, 0.99),
        "max": at(&mut late, 1.0), "min": at(&mut late, 0.0) });
    Ok(Measured { test: "punctual", jobs, figures })
}

/// How late schedules of the topic of measurements are handled, beside whatever else continues.
pub(super) struct Lateness {
    clock: Arc<SystemClock>,
    micros: Arc<Mutex<Vec<i64>>>,
}

impl Lateness {
    pub(super) fn new(bench: &Bench) -> Self {
        Self { clock: bench.clock.clone(), micros: Arc::default() }
    }

    pub(super) fn listen(&self, listeners: &mut Listeners) -> Result<()> {
        let (kept, clock) = (self.micros.clone(), self.clock.clone());
        let listener = move |arrival: &Arrival| {
            let late = clock.now().as_microsecond() - arrival.due_at.as_microsecond();
            kept.lock().map_err(|_| "poisoned".to_owned())?.push(late);
            Ok(())
        };
        Ok(listeners.add("bench", Arc::new(listener))?)
    }

    /// Makes schedules at random instants from a second ahead until then; returns how many.
    pub(super) async fn schedule(
        &self,
        engine: &Engine,
        turn: usize,
        count: usize,
        until: Timestamp,
    ) -> Result<usize> {
        let start = self.clock.now() + SignedDuration::from_secs(1);
        let window = u64::try_from(until.duration_since(start).as_millis()).unwrap_or(1);
        let instants = spread(count, start, window);
        // Far from the numbers of a backlog, and apart from those of another turn.
        let first = 3_000_000_000 + turn * count;
        let work = schedules(first..first + count, Keys::Rising, |number| instants[number - first])?;
        ensure_all(engine, work).await?;
        Ok(count)
    }

    /// How late each was, in milliseconds, since this was asked last. All of them must have come.
    pub(super) fn taken(&self, count: usize) -> Result<Vec<f64>> {
        let mut micros = self.micros.lock().map_err(|_| anyhow::anyhow!("a listener panicked"))?;
        ensure!(micros.len() == count, "{} of {count} arrived", micros.len());
        Ok(std::mem::take(&mut *micros).into_iter().map(|late| late as f64 / 1_000.0).collect())
    }
}

/// The same pseudo-random instants as the comparison harness uses.
fn spread(count: usize, start: Timestamp, window_ms: u64) -> Vec<Timestamp> {
    let mut x: u32 = 12_345;
    (0..count)
        .map(|_| {
            x = x.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            let offset = f64::from(x) / 4_294_967_296.0 * window_ms as f64;
            start + SignedDuration::from_millis(offset as i64)
        })
        .collect()
}

//! Due schedules claimed, handled by a listener that counts, and completed; over when the table has none left.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use anyhow::{Result, ensure};
use jiff::SignedDuration;
use punctual_engine::{Engine, Listeners};
use punctual_model::{Arrival, Clock};
use punctual_store::work;

use super::{
    Bench, Measured,
    ingest::{ensure_all, schedules},
};

pub(super) async fn measure(
    bench: &Bench,
    test: &'static str,
    jobs: usize,
    future: usize,
) -> Result<Measured> {
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
    let rig = bench.rig(test, listeners).await?;
    let now = bench.clock.now();
    // The future rows come first, so that they have the lower ids; in pieces, so that memory stays flat.
    for start in (0..future).step_by(100_000) {
        let end = (start + 100_000).min(future);
        let far = now + SignedDuration::from_hours(24 * 30);
        ensure_all(&rig.engine, schedules(jobs + start..jobs + end, |_| far)?).await?;
    }
    ensure_all(&rig.engine, schedules(0..jobs, |_| now)?).await?;
    rig.settle_down().await?;
    let started = bench.clock.now();
    let running = rig.engine.run();
    // The counter costs nothing to look at; the table has the last word.
    while handled.load(Ordering::Relaxed) < jobs || is_busy(&rig.engine, bench).await? {
        bench.clock.sleep_until(bench.clock.now() + SignedDuration::from_millis(2)).await;
    }
    let took = bench.clock.now().duration_since(started);
    running.stop().await;
    ensure!(handled.load(Ordering::Relaxed) == jobs, "handled {} of {jobs}", handled.load(Ordering::Relaxed));
    rig.remove().await?;
    Ok(Measured::rate(test, jobs, took.unsigned_abs()))
}

/// Whether the table still has due rows that are not finished.
pub(super) async fn is_busy(engine: &Engine, bench: &Bench) -> Result<bool> {
    let kinds = engine.paths.keys().map(str::to_owned).collect();
    let mut reader = engine.store.read().await?;
    Ok(work::is_busy(&mut reader.conn(), bench.clock.now().as_microsecond(), kinds).await?)
}

//! Schedules at random instants over 20 s: lateness is handler start − requested instant.

use std::sync::{Arc, Mutex};

use anyhow::{Result, ensure};
use jiff::{SignedDuration, Timestamp};
use punctual_engine::Listeners;
use punctual_model::{Arrival, Clock};
use serde_json::json;

use super::{
    Bench, Measured,
    ingest::{Keys, ensure_all, schedules},
};

/// The first instant is this far ahead, and the last this much later.
const LEAD: SignedDuration = SignedDuration::from_secs(5);
const WINDOW_MS: u64 = 20_000;

pub(super) async fn measure(bench: &Bench, jobs: usize) -> Result<Measured> {
    let lateness: Arc<Mutex<Vec<i64>>> = Arc::default();
    let (kept, clock) = (lateness.clone(), bench.clock.clone());
    let mut listeners = Listeners::default();
    listeners.add(
        "bench",
        Arc::new(move |arrival: &Arrival| {
            let late = clock.now().as_microsecond() - arrival.due_at.as_microsecond();
            kept.lock().map_err(|_| "poisoned".to_owned())?.push(late);
            Ok(())
        }),
    )?;
    let rig = bench.rig("punctual", listeners).await?;
    let running = rig.engine.run();
    let instants = spread(jobs, bench.clock.now() + LEAD);
    ensure_all(&rig.engine, schedules(0..jobs, Keys::Rising, |number| instants[number])?).await?;
    let end = bench.clock.now() + LEAD + SignedDuration::from_millis(i64::try_from(WINDOW_MS)? + 2_000);
    bench.clock.sleep_until(end).await;
    running.stop().await;
    rig.remove().await?;
    let mut late = lateness.lock().map_err(|_| anyhow::anyhow!("a listener panicked"))?.clone();
    ensure!(late.len() == jobs, "{} of {jobs} arrived", late.len());
    late.sort_unstable();
    let at = |share: f64| ms(late[((late.len() - 1) as f64 * share) as usize]);
    let figures =
        json!({ "variant": "default", "p50": at(0.5), "p99": at(0.99), "max": at(1.0), "min": at(0.0) });
    Ok(Measured { test: "punctual", jobs, figures })
}

fn ms(micros: i64) -> f64 {
    (micros as f64 / 10.0).round() / 100.0
}

/// The same pseudo-random instants as the comparison harness uses.
fn spread(count: usize, start: Timestamp) -> Vec<Timestamp> {
    let mut x: u32 = 12_345;
    (0..count)
        .map(|_| {
            x = x.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            let offset = f64::from(x) / 4_294_967_296.0 * WINDOW_MS as f64;
            start + SignedDuration::from_millis(offset as i64)
        })
        .collect()
}

//! Punctuality beside a large backlog: alone, and while old rows are purged, sources are imported and a report's figures are read.

use anyhow::Result;
use jiff::SignedDuration;
use punctual_engine::Listeners;
use punctual_model::Clock;
use punctual_store::maintenance::fill_outbox;
use serde_json::json;

use super::{
    Bench, Measured,
    ingest::{Keys, ensure_all, schedules},
    punctuality::Lateness,
    reminders,
    server::at,
};

/// Schedules whose lateness is measured in each half, and over how long.
const MEASURED: usize = 2_000;
const HALF: SignedDuration = SignedDuration::from_secs(20);
/// What is purged and imported meanwhile.
const OLD: i64 = 200_000;
const SOURCES: usize = 20_000;
/// Longer ago than anything is kept.
const LONG_AGO: SignedDuration = SignedDuration::from_hours(24 * 700);

pub(super) async fn measure(bench: &Bench, pending: usize) -> Result<Measured> {
    let (mut listeners, lateness) = (Listeners::default(), Lateness::new(bench));
    lateness.listen(&mut listeners)?;
    let rig = bench.rig("busy", listeners).await?;
    let (now, far) = (bench.clock.now(), bench.clock.now() + SignedDuration::from_hours(24 * 30));
    for first in (0..pending).step_by(100_000) {
        let numbers = first..pending.min(first + 100_000);
        ensure_all(&rig.engine, schedules(numbers, Keys::Spread, |_| far)?).await?;
    }
    fill_outbox(&rig.url, now - LONG_AGO, OLD).await?;
    rig.settle_down().await?;
    let running = rig.engine.run();

    let until = bench.clock.now() + HALF;
    let scheduled = lateness.schedule(&rig.engine, 0, MEASURED, until).await?;
    bench.clock.sleep_until(until + SignedDuration::from_secs(2)).await;
    let mut quiet = lateness.taken(scheduled)?;

    let until = bench.clock.now() + HALF;
    let scheduled = lateness.schedule(&rig.engine, 1, MEASURED, until).await?;
    let (purged, imported, read, ()) = tokio::join!(
        rig.engine.purge_confirmed(now),
        reminders::import(&rig.engine, SOURCES),
        async {
            let mut read = 0_usize;
            while bench.clock.now() < until {
                rig.engine.outbox_kpis(None).await?;
                read += 1;
                bench.clock.sleep_until(bench.clock.now() + SignedDuration::from_millis(100)).await;
            }
            anyhow::Ok(read)
        },
        bench.clock.sleep_until(until + SignedDuration::from_secs(2))
    );
    let mut busy = lateness.taken(scheduled)?;
    running.stop().await;
    rig.remove().await?;
    let figures = json!({ "p50": at(&mut quiet, 0.5), "p99": at(&mut quiet, 0.99), "max": at(&mut quiet, 1.0),
        "busy_p50": at(&mut busy, 0.5), "busy_p99": at(&mut busy, 0.99), "busy_max": at(&mut busy, 1.0),
        "purged": purged?.removed, "imported": imported?, "figures_read": read? });
    Ok(Measured { test: "busy", jobs: pending, figures })
}

//! The purge of notifications that ended long ago, with their attempts, beside intake: how fast it is, and what intake feels of it.

use anyhow::{Result, ensure};
use jiff::SignedDuration;
use punctual_engine::Listeners;
use punctual_model::Clock;
use punctual_store::maintenance::fill_outbox;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    Bench, Measured,
    server::{Server, at, post_paced},
};

/// Notifications a second that come in meanwhile.
const INTAKE: i64 = 200;
/// How long intake is measured alone.
const ALONE: SignedDuration = SignedDuration::from_secs(5);
/// Longer ago than anything is kept.
const LONG_AGO: SignedDuration = SignedDuration::from_hours(24 * 700);

pub(super) async fn measure(bench: &Bench, rows: usize) -> Result<Measured> {
    let rig = bench.rig("purge", Listeners::default()).await?;
    let now = bench.clock.now();
    fill_outbox(&rig.url, now - LONG_AGO, i64::try_from(rows)?).await?;
    rig.settle_down().await?;
    let server = Server::start(bench, &rig).await?;
    let running = rig.engine.run();
    let stop = CancellationToken::new();
    let (alone, ()) = tokio::join!(post_paced(bench, server.address, INTAKE, stop.clone()), async {
        bench.clock.sleep_until(bench.clock.now() + ALONE).await;
        stop.cancel();
    });
    let mut alone = alone?;
    let stop = CancellationToken::new();
    let (beside, purged) = tokio::join!(post_paced(bench, server.address, INTAKE, stop.clone()), async {
        let started = bench.clock.now();
        let purged = rig.engine.purge_confirmed(now).await;
        let took = bench.clock.now().duration_since(started);
        stop.cancel();
        (purged, took.unsigned_abs())
    });
    let mut beside = beside?;
    let (report, took) = (purged.0?, purged.1);
    running.stop().await;
    server.stop().await?;
    rig.remove().await?;
    ensure!(report.removed * 10 > rows * 9, "{} of {rows} were removed", report.removed);
    let mut measured = Measured::rate("purge", report.removed, took);
    if let Some(figures) = measured.figures.as_object_mut() {
        let (idle, purging) = (at(&mut alone, 0.99), at(&mut beside, 0.99));
        figures.insert("intake_p50_idle".into(), json!(at(&mut alone, 0.5)));
        figures.insert("intake_p50".into(), json!(at(&mut beside, 0.5)));
        figures.insert("intake_p99_idle".into(), json!(idle));
        figures.insert("intake_p99".into(), json!(purging));
        figures.insert("intake_max".into(), json!(at(&mut beside, 1.0)));
        figures.insert("intake_requests".into(), json!(beside.len()));
    }
    Ok(measured)
}

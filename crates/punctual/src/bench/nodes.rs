//! One, two and four nodes on one PostgreSQL: what a message costs in processor time, and how many go a second.
//!
//! The nodes are engines of one process, each with connections of its own, so that its processor time is that of all of them
//! together. The database's own is not in it.

use std::time::Duration;

use anyhow::{Result, bail};
use punctual_engine::Listeners;
use punctual_model::Clock;
use serde_json::json;

use super::{Bench, Measured, deliver};

pub(super) async fn measure(bench: &Bench, jobs: usize) -> Result<Vec<Measured>> {
    if bench.url.starts_with("sqlite:") {
        bail!("several nodes need PostgreSQL: --database-url postgres://…");
    }
    let mut measured = Vec::new();
    for (test, nodes) in [("nodes1", 1), ("nodes2", 2), ("nodes4", 4)] {
        let rig = bench.rig(test, Listeners::default()).await?;
        deliver::make_due(bench, &rig, jobs).await?;
        rig.settle_down().await?;
        let mut engines = vec![rig.engine.clone()];
        for number in 1..nodes {
            engines.push(bench.engine_on(&rig.url, &format!("bench-{number}")).await?);
        }
        let (started, used) = (bench.clock.now(), processor_time());
        let running: Vec<_> = engines.iter().map(|engine| engine.run()).collect();
        deliver::until_delivered(bench, &rig, jobs).await?;
        let took = bench.clock.now().duration_since(started).unsigned_abs();
        let used = processor_time().saturating_sub(used);
        for one in running {
            one.stop().await;
        }
        for other in &engines[1..] {
            other.store.close().await;
        }
        drop(engines);
        rig.remove().await?;
        let mut one = Measured::rate(test, jobs, took);
        if let Some(figures) = one.figures.as_object_mut() {
            let each = used.as_secs_f64() * 1_000_000.0 / jobs as f64;
            figures.insert("processor_us_each".into(), json!((each * 10.0).round() / 10.0));
        }
        measured.push(one);
    }
    Ok(measured)
}

/// What this process has used of the processors; nothing where the system does not say.
#[cfg(target_os = "linux")]
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(not(target_os = "linux"))]
fn processor_time() -> Duration {
    Duration::ZERO
}

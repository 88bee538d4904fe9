//! Minutes of intake and delivery with a purge every few seconds: whether the rate at the end is that of the beginning, and
//! whether memory stays flat.

use std::time::Duration;

use anyhow::Result;
use jiff::SignedDuration;
use punctual_engine::{EngineConfig, Listeners};
use punctual_model::Clock;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    Bench, Measured,
    server::{Client, KEY, Server, at, get, notification, with_body},
};

/// Requests under way at once: as many as the node takes.
const CONNECTIONS: usize = 16;
/// How long what has ended is kept here, and how often what is older is removed.
const KEEP: Duration = Duration::from_secs(20);
const PURGE_EVERY: SignedDuration = SignedDuration::from_secs(5);
/// The run is cut into so many parts; the first is for warming up.
const PARTS: i64 = 10;

pub(super) async fn measure(bench: &Bench, minutes: u64) -> Result<Measured> {
    let config = EngineConfig { node: "bench".into(), keep_for: KEEP, ..EngineConfig::default() };
    let rig = bench.rig_of("soak", Listeners::default(), Vec::new(), config).await?;
    let server = Server::start(bench, &rig).await?;
    let running = rig.engine.run();
    let stop = CancellationToken::new();
    let (address, started) = (server.address, bench.clock.now());
    let whole = SignedDuration::from_secs(i64::try_from(minutes)?.saturating_mul(60));
    let clients: Vec<_> = (0..CONNECTIONS)
        .map(|connection| {
            let (stop, clock) = (stop.clone(), bench.clock.clone());
            tokio::spawn(async move {
                let mut client = Client::connect(address).await?;
                let mut parts = vec![0_u64; usize::try_from(PARTS)? + 1];
                for turn in 0_usize.. {
                    if stop.is_cancelled() {
                        break;
                    }
                    let body = notification(turn * CONNECTIONS + connection);
                    client.expect(&with_body("POST", "/api/v1/notifications", &body)).await?;
                    let part = clock.now().duration_since(started).as_micros() * i128::from(PARTS)
                        / whole.as_micros().max(1);
                    if let Some(count) = parts.get_mut(usize::try_from(part)?) {
                        *count += 1;
                    }
                }
                anyhow::Ok(parts)
            })
        })
        .collect();
    let (mut memory, mut removed) = (Vec::new(), 0);
    while bench.clock.now().duration_since(started) < whole {
        bench.clock.sleep_until(bench.clock.now() + PURGE_EVERY).await;
        removed += rig.engine.purge_confirmed(bench.clock.now()).await?.removed;
        memory.push(resident_mb());
    }
    stop.cancel();
    let mut parts = vec![0_u64; usize::try_from(PARTS)? + 1];
    for client in clients {
        for (sum, count) in parts.iter_mut().zip(client.await??) {
            *sum += count;
        }
    }
    let mut client = Client::connect(address).await?;
    client.expect(&get("/api/v1/notifications/kpis", KEY)).await?;
    running.stop().await;
    server.stop().await?;
    rig.remove().await?;
    let part = whole.as_secs_f64() / PARTS as f64;
    let rates: Vec<f64> =
        parts[..usize::try_from(PARTS)?].iter().map(|count| (*count as f64 / part).round()).collect();
    let (first, last) = (rates[1], rates[rates.len() - 1]);
    let jobs = usize::try_from(parts.iter().sum::<u64>())?;
    let mut beginning = memory.get(1..3).map(<[f64]>::to_vec).unwrap_or_default();
    let figures = json!({ "jobs_per_s": (jobs as f64 / whole.as_secs_f64()).round(), "first_per_s": first, "last_per_s": last,
        "last_to_first": (last / first.max(1.0) * 100.0).round() / 100.0, "parts_per_s": rates, "removed": removed,
        "memory_mb_at_start": at(&mut beginning, 1.0), "memory_mb_at_end": memory.last() });
    Ok(Measured { test: "soak", jobs, figures })
}

/// Memory that this process holds, in megabytes; nothing where the system does not say.
fn resident_mb() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: f64 = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0.0);
    (pages * 4_096.0 / 1_000_000.0).round()
}

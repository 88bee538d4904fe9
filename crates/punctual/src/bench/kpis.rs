//! The figures of the outbox, asked for ten times a second while messages are decided, sent over the memory channel and settled.

use std::time::Duration;

use anyhow::Result;
use jiff::SignedDuration;
use punctual_engine::Listeners;
use punctual_model::Clock;
use serde_json::json;

use super::{
    Bench, Measured, deliver,
    server::{Client, KEY, Server, at, get},
};

const PAUSE: SignedDuration = SignedDuration::from_millis(100);

pub(super) async fn measure(bench: &Bench, jobs: usize) -> Result<Measured> {
    let rig = bench.rig("kpis", Listeners::default()).await?;
    let server = Server::start(bench, &rig).await?;
    deliver::make_due(bench, &rig, jobs).await?;
    rig.settle_down().await?;
    let mut client = Client::connect(server.address).await?;
    let request = get("/api/v1/notifications/kpis", KEY);
    let mut times = Vec::new();
    let started = bench.clock.now();
    let running = rig.engine.run();
    while deliver::is_busy_at_all(bench, &rig).await? {
        let asked = bench.clock.now();
        client.expect(&request).await?;
        times.push(bench.clock.now().duration_since(asked).as_secs_f64() * 1_000.0);
        bench.clock.sleep_until(asked + PAUSE).await;
    }
    let took: Duration = bench.clock.now().duration_since(started).unsigned_abs();
    deliver::until_delivered(bench, &rig, jobs).await?;
    running.stop().await;
    server.stop().await?;
    rig.remove().await?;
    let figures = json!({ "p50": at(&mut times, 0.5), "p99": at(&mut times, 0.99), "max": at(&mut times, 1.0),
        "calls": times.len(), "delivered_per_s": (jobs as f64 / took.as_secs_f64()).round() });
    Ok(Measured { test: "kpis", jobs, figures })
}

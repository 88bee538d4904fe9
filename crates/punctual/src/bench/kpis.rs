//! The figures of the outbox, asked for ten times a second while 3,300 messages a second become due and are decided, sent over the
//! memory channel and settled.

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
/// Messages that become due each second.
const A_SECOND: i64 = 3_300;
/// Enough for making them before the first is due.
const AHEAD: SignedDuration = SignedDuration::from_secs(15);

pub(super) async fn measure(bench: &Bench, jobs: usize) -> Result<Measured> {
    let rig = bench.rig("kpis", Listeners::default()).await?;
    let server = Server::start(bench, &rig).await?;
    let first = bench.clock.now() + AHEAD;
    deliver::make_due_from(&rig, jobs, first, A_SECOND).await?;
    rig.settle_down().await?;
    let last = first + SignedDuration::from_secs(i64::try_from(jobs)? / A_SECOND + 1);
    let mut client = Client::connect(server.address).await?;
    let request = get("/api/v1/notifications/kpis", KEY);
    let mut times = Vec::new();
    let running = rig.engine.run();
    bench.clock.sleep_until(first).await;
    while bench.clock.now() < last {
        let asked = bench.clock.now();
        client.expect(&request).await?;
        times.push(bench.clock.now().duration_since(asked).as_secs_f64() * 1_000.0);
        bench.clock.sleep_until(asked + PAUSE).await;
    }
    deliver::until_delivered(bench, &rig, jobs).await?;
    running.stop().await;
    server.stop().await?;
    rig.remove().await?;
    let figures = json!({ "p50": at(&mut times, 0.5), "p99": at(&mut times, 0.99), "max": at(&mut times, 1.0),
        "calls": times.len(), "delivered_per_s": A_SECOND });
    Ok(Measured { test: "kpis", jobs, figures })
}

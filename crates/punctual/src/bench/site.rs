//! Notifications forwarded by one site agent to a central server over loopback HTTP: read from the agent's buffer,
//! compressed, sent in order, stored by central, acknowledged and cleared at the agent. Both ends are durable; the
//! central node's workers rest, so that nothing but the hand-over is measured.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use jiff::SignedDuration;
use punctual_api::{ApiState, router, serve};
use punctual_engine::Listeners;
use punctual_engine::keys::ensure_admin_key;
use punctual_model::{Clock, Secret};
use punctual_site::{Agent, Next, SiteConfig};
use punctual_store::notifications;
use punctual_wire::site_agent::NotifyRequest;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{Bench, Measured};
use crate::random::SystemRandom;

const KEY: &str = "bench-key-of-this-run-only";
/// Scripts that hand in at once while the buffer is filled.
const SCRIPTS: usize = 1_000;

pub(super) async fn measure(bench: &Bench, jobs: usize) -> Result<Measured> {
    let rig = bench.rig("site", Listeners::default()).await?;
    ensure_admin_key(&rig.engine.store, bench.clock.now(), KEY).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let stop = CancellationToken::new();
    let api = router(ApiState::new(rig.engine.clone(), bench.clock.clone()));
    let server = tokio::spawn(serve(listener, api, stop.clone()));
    let token = make_site(&url).await?;
    let folder = tempfile::tempdir().context("no temporary folder")?;
    let config = SiteConfig::new(url, Secret::new(token), folder.path());
    let agent = Agent::open(config, bench.clock.clone(), Arc::new(SystemRandom)).await?;
    fill(&agent, jobs).await?;
    agent.store.checkpoint().await?;
    rig.settle_down().await?;
    let started = bench.clock.now();
    let mut stored = 0;
    while stored < jobs {
        let report = agent.forward_tick(bench.clock.now()).await;
        ensure!(report.failure.is_none(), "forwarding failed: {report:?}");
        ensure!(report.next == Next::Now, "nothing waits after {stored} of {jobs}");
        stored += report.stored;
    }
    let took = bench.clock.now().duration_since(started);
    stop.cancel();
    server.await?;
    let mut reader = rig.engine.store.read().await?;
    let kpis = notifications::kpis(&mut reader.conn(), Default::default(), Some("bench")).await?;
    drop(reader);
    ensure!(usize::try_from(kpis.queue_depth)? == jobs, "central has {} of {jobs}", kpis.queue_depth);
    agent.store.close().await;
    rig.remove().await?;
    Ok(Measured::rate("site", jobs, took.unsigned_abs().max(SignedDuration::from_micros(1).unsigned_abs())))
}

async fn make_site(url: &str) -> Result<String> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let request = client.post(format!("{url}/api/v1/sites")).bearer_auth(KEY).json(&json!({ "id": "bench" }));
    let answer: Value = request.send().await?.error_for_status()?.json().await?;
    let token = answer.get("token").and_then(Value::as_str).context("no token")?;
    Ok(token.to_owned())
}

async fn fill(agent: &Agent, jobs: usize) -> Result<()> {
    for start in (0..jobs).step_by(SCRIPTS) {
        let calls = (start..(start + SCRIPTS).min(jobs)).map(|number| agent.notify(request(number)));
        for taken in futures_util::future::join_all(calls).await {
            taken?;
        }
    }
    Ok(())
}

fn request(number: usize) -> NotifyRequest {
    NotifyRequest {
        id: None,
        list: "ops".into(),
        subject: format!("Pump {}: pressure low", number % 500),
        body: format!(
            "Reading {number}: 1.8 bar at the inlet, 2.4 bar expected. Check the filter and the valve upstream."
        ),
        instance: Some(format!("pump-{}", number % 500)),
        script: Some("watch.sh".into()),
    }
}

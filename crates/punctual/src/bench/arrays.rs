//! Notifications posted in arrays of 1,000 over two connections, each answered after all of it is on disk, while the same node
//! delivers them.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use anyhow::{Result, ensure};
use punctual_engine::Listeners;
use punctual_model::Clock;

use super::{
    Bench, Measured, deliver,
    server::{Client, Server, notification, with_body},
};

const BATCH: usize = 1_000;
const CONNECTIONS: usize = 2;

pub(super) async fn measure(bench: &Bench, jobs: usize) -> Result<Measured> {
    let rig = bench.rig("arrays", Listeners::default()).await?;
    let server = Server::start(bench, &rig).await?;
    let running = rig.engine.run();
    // Made before the clock starts: a caller brings its own.
    let requests: Vec<Vec<u8>> = (0..jobs.div_ceil(BATCH))
        .map(|batch| {
            let items: Vec<String> =
                (batch * BATCH..jobs.min((batch + 1) * BATCH)).map(notification).collect();
            with_body("POST", "/api/v1/notifications", &format!("[{}]", items.join(",")))
        })
        .collect();
    let (requests, next) = (Arc::new(requests), Arc::new(AtomicUsize::new(0)));
    let address = server.address;
    let started = bench.clock.now();
    let clients: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let (requests, next) = (requests.clone(), next.clone());
            tokio::spawn(async move {
                let mut client = Client::connect(address).await?;
                while let Some(request) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let answer = client.expect(request).await?;
                    let text = std::str::from_utf8(answer)?;
                    ensure!(!text.contains("\"rejected\""), "the server answered {text}");
                }
                anyhow::Ok(())
            })
        })
        .collect();
    for client in clients {
        client.await??;
    }
    let took = bench.clock.now().duration_since(started);
    deliver::until_delivered(bench, &rig, jobs).await?;
    running.stop().await;
    server.stop().await?;
    rig.remove().await?;
    Ok(Measured::rate("arrays", jobs, took.unsigned_abs()))
}

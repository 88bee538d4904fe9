//! Notifications posted one a request over 64 connections, each answered after it is on disk, while the same node
//! delivers them.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use anyhow::{Result, ensure};
use punctual_engine::Listeners;
use punctual_model::Clock;
use punctual_store::{
    maintenance::HeldSnapshot,
    notifications::{self, NotificationFilter},
};

use super::{
    Bench, Measured,
    server::{Client, Server, notification, with_body},
};

const CONNECTIONS: usize = 64;

pub(super) async fn measure(bench: &Bench, jobs: usize) -> Result<Measured> {
    measure_with(bench, "http", jobs, false).await
}

/// The same, while a snapshot of the database is held or not.
pub(super) async fn measure_with(
    bench: &Bench,
    test: &'static str,
    jobs: usize,
    is_held: bool,
) -> Result<Measured> {
    let rig = bench.rig("http", Listeners::default()).await?;
    let server = Server::start(bench, &rig).await?;
    let address = server.address;
    let held = if is_held { Some(HeldSnapshot::take(&rig.url).await?) } else { None };
    let running = rig.engine.run();
    let next = Arc::new(AtomicUsize::new(0));
    let started = bench.clock.now();
    let clients: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let next = next.clone();
            tokio::spawn(async move {
                let mut client = Client::connect(address).await?;
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= jobs {
                        return anyhow::Ok(());
                    }
                    client.expect(&with_body("POST", "/api/v1/notifications", &notification(number))).await?;
                }
            })
        })
        .collect();
    for client in clients {
        client.await??;
    }
    let took = bench.clock.now().duration_since(started);
    running.stop().await;
    server.stop().await?;
    drop(held);
    let mut reader = rig.engine.store.read().await?;
    let newest = NotificationFilter { limit: 1, ..Default::default() };
    let stored = notifications::page(&mut reader.conn(), &punctual_model::Reach::Everything, &newest).await?;
    drop(reader);
    ensure!(
        stored.rows.first().is_some_and(|row| row.seq >= i64::try_from(jobs).unwrap_or(0)),
        "not everything was stored"
    );
    rig.remove().await?;
    Ok(Measured::rate(test, jobs, took.unsigned_abs()))
}

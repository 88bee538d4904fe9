//! What messages take on the disk once they are delivered: posted over the API's own intake, and with the work and the message
//! that asked for them.

use anyhow::Result;
use punctual_engine::Listeners;
use punctual_store::maintenance::{largest_parts, size_of};
use serde_json::{Map, Value, json};

use super::{
    Bench, Measured, Rig, deliver,
    server::{Client, Server, notification, with_body},
};

/// Notifications a request.
const ARRAY: usize = 1_000;
/// How many tables and indexes are named with their bytes.
const PARTS: i64 = 16;

pub(super) async fn measure(bench: &Bench, jobs: usize) -> Result<Vec<Measured>> {
    Ok(vec![alone(bench, jobs).await?, with_work(bench, jobs).await?])
}

/// Notifications with one attempt each.
async fn alone(bench: &Bench, jobs: usize) -> Result<Measured> {
    let rig = bench.rig("size", Listeners::default()).await?;
    let empty = size_of(&rig.engine.store, &rig.url).await?;
    let server = Server::start(bench, &rig).await?;
    let running = rig.engine.run();
    let mut client = Client::connect(server.address).await?;
    for first in (0..jobs).step_by(ARRAY) {
        let items: Vec<String> = (first..jobs.min(first + ARRAY)).map(notification).collect();
        let array = format!("[{}]", items.join(","));
        client.expect(&with_body("POST", "/api/v1/notifications", &array)).await?;
    }
    deliver::until_delivered(bench, &rig, jobs).await?;
    running.stop().await;
    server.stop().await?;
    let measured = measured("size", jobs, empty, &rig).await?;
    rig.remove().await?;
    Ok(measured)
}

/// The same where each was a message for later: its work row, its key and its own row as well.
async fn with_work(bench: &Bench, jobs: usize) -> Result<Measured> {
    let rig = bench.rig("size", Listeners::default()).await?;
    let empty = size_of(&rig.engine.store, &rig.url).await?;
    deliver::make_due(bench, &rig, jobs).await?;
    let running = rig.engine.run();
    deliver::until_delivered(bench, &rig, jobs).await?;
    running.stop().await;
    let measured = measured("size-work", jobs, empty, &rig).await?;
    rig.remove().await?;
    Ok(measured)
}

async fn measured(test: &'static str, jobs: usize, empty: i64, rig: &Rig) -> Result<Measured> {
    let bytes = size_of(&rig.engine.store, &rig.url).await? - empty;
    let each = |bytes: i64| (bytes as f64 / jobs as f64).round();
    let parts = largest_parts(&rig.url, PARTS).await?;
    let parts: Map<String, Value> =
        parts.into_iter().map(|(name, bytes)| (name, json!(each(bytes)))).collect();
    let figures = json!({ "bytes_each": each(bytes), "gb_per_million": (each(bytes) / 10.0).round() / 100.0, "parts": parts });
    Ok(Measured { test, jobs, figures })
}

//! A backup of many rows while requests come in: how long it takes, and what intake is meanwhile beside what it is alone.

use std::path::PathBuf;

use anyhow::Result;
use jiff::SignedDuration;
use punctual_engine::Listeners;
use punctual_model::Clock;
use punctual_store::maintenance::fill_all;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    Bench, Measured,
    server::{Client, Server, notification, with_body},
    surveys,
};
use crate::backup;

/// Requests under way at once.
const CONNECTIONS: usize = 16;
/// How long intake is measured alone, before the backup and after it.
const ALONE: SignedDuration = SignedDuration::from_secs(15);

pub(super) async fn measure(bench: &Bench, rows: usize) -> Result<Measured> {
    let rig = bench.rig("backup", Listeners::default()).await?;
    surveys::publish(&rig.engine, 1).await?;
    let written = fill_all(&rig.url, bench.clock.now(), i64::try_from(rows)?).await?;
    rig.settle_down().await?;
    let server = Server::start(bench, &rig).await?;
    let running = rig.engine.run();
    let folder = tempfile::tempdir()?;
    let target = folder.path().join("copy");
    let alone = |_| async {
        bench.clock.sleep_until(bench.clock.now() + ALONE).await;
        anyhow::Ok(())
    };
    // Alone on both sides of it: the tables grow, and a machine is not the same all the time.
    let (before, _) = beside(bench, &server, alone(())).await?;
    let (during, took) =
        beside(bench, &server, backup::copy_database(bench.clock.as_ref(), &rig.url, &target)).await?;
    let (after, _) = beside(bench, &server, alone(())).await?;
    running.stop().await;
    server.stop().await?;
    rig.remove().await?;
    let bytes = size_of(vec![target])?;
    let alone = (before + after) / 2.0;
    let figures = json!({ "rows_per_s": (written as f64 / took).round(), "seconds": (took * 100.0).round() / 100.0, "rows": written,
        "megabytes": bytes / 1_000_000, "intake_before_per_s": before.round(), "intake_per_s": during.round(),
        "intake_after_per_s": after.round(), "intake_to_alone": (during / alone.max(1.0) * 100.0).round() / 100.0 });
    Ok(Measured { test: "backup", jobs: rows, figures })
}

/// Requests a second while something else is done, and how many seconds that took.
async fn beside(
    bench: &Bench,
    server: &Server,
    other: impl Future<Output = Result<()>>,
) -> Result<(f64, f64)> {
    let stop = CancellationToken::new();
    let address = server.address;
    let clients: Vec<_> = (0..CONNECTIONS)
        .map(|connection| {
            let stop = stop.clone();
            tokio::spawn(async move {
                let mut client = Client::connect(address).await?;
                let mut count = 0_usize;
                while !stop.is_cancelled() {
                    let body = notification(count * CONNECTIONS + connection);
                    client.expect(&with_body("POST", "/api/v1/notifications", &body)).await?;
                    count += 1;
                }
                anyhow::Ok(count)
            })
        })
        .collect();
    let started = bench.clock.now();
    let done = other.await;
    let took = bench.clock.now().duration_since(started).as_secs_f64();
    stop.cancel();
    let mut count = 0;
    for client in clients {
        count += client.await??;
    }
    done?;
    Ok((count as f64 / took, took))
}

fn size_of(mut folders: Vec<PathBuf>) -> Result<u64> {
    let mut bytes = 0;
    while let Some(path) = folders.pop() {
        let about = std::fs::metadata(&path)?;
        if about.is_dir() {
            for entry in std::fs::read_dir(&path)? {
                folders.push(entry?.path());
            }
        } else {
            bytes += about.len();
        }
    }
    Ok(bytes)
}

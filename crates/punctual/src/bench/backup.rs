//! A backup of many rows while requests come in: how long it takes, and what intake is meanwhile beside what it is alone. The two are
//! measured in turns, because a machine is not the same all the time and tables grow.

use std::{path::PathBuf, sync::Arc};

use anyhow::Result;
use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use punctual_engine::Listeners;
use punctual_model::Clock;
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    Bench, Filled, Measured,
    server::{Client, Server, notification, with_body},
};
use crate::{backup, clock::SystemClock};

/// Requests under way at once.
const CONNECTIONS: usize = 16;
/// How long intake is measured alone, before the backup, after it and while it is held, and with it.
const ALONE: SignedDuration = SignedDuration::from_secs(15);
const WITH: SignedDuration = SignedDuration::from_secs(30);

pub(super) async fn measure(bench: &Bench, rows: usize, at_most: Option<u64>) -> Result<Measured> {
    let Filled { rig, rows: written, .. } = bench.filled("backup", Listeners::default(), rows).await?;
    let server = Server::start(bench, &rig).await?;
    let running = rig.engine.run();
    let folder = tempfile::tempdir()?;
    let target = folder.path().join("copy");
    let rest = |time: SignedDuration| async move {
        bench.clock.sleep_until(bench.clock.now() + time).await;
        anyhow::Ok(())
    };
    let (before, _) = beside(bench, &server, rest(ALONE)).await?;
    let (hold, held) = watch::channel(false);
    let (mut alone, mut during) = (vec![before], Vec::new());
    let started = bench.clock.now();
    let until = at_most.map(|minutes| started + SignedDuration::from_mins(minutes.cast_signed()));
    let copying = {
        let (clock, url, target) =
            (Turns { clock: bench.clock.clone(), held }, rig.url.clone(), target.clone());
        tokio::spawn(async move { backup::copy_database(&clock, &url, &target).await })
    };
    let mut held_for = SignedDuration::ZERO;
    let mut copying = Box::pin(copying);
    let mut is_whole = false;
    while !is_whole && until.is_none_or(|until| bench.clock.now() < until) {
        let (rate, _) = beside(bench, &server, async {
            tokio::select! {
                done = &mut copying => {
                    is_whole = true;
                    done??;
                }
                _ = rest(WITH) => {}
            }
            Ok(())
        })
        .await?;
        during.push(rate);
        if !is_whole {
            hold.send_replace(true);
            let (rate, took) = beside(bench, &server, rest(ALONE)).await?;
            alone.push(rate);
            held_for += SignedDuration::try_from_secs_f64(took)?;
            hold.send_replace(false);
        }
    }
    let took = (bench.clock.now().duration_since(started) - held_for).as_secs_f64();
    copying.abort();
    let (after, _) = beside(bench, &server, rest(ALONE)).await?;
    alone.push(after);
    running.stop().await;
    server.stop().await?;
    rig.remove().await?;
    let bytes = size_of(vec![target])?;
    let mean = |rates: &[f64]| rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    let (alone, during) = (mean(&alone), mean(&during));
    let figures = json!({ "rows_per_s": (written as f64 / took).round(), "seconds": (took * 100.0).round() / 100.0, "rows": written,
        "megabytes": bytes / 1_000_000, "is_whole": is_whole, "intake_alone_per_s": alone.round(), "intake_per_s": during.round(),
        "intake_to_alone": (during / alone.max(1.0) * 100.0).round() / 100.0 });
    Ok(Measured { test: "backup", jobs: rows, figures })
}

/// A clock whose rests last for as long as the copy is held.
struct Turns {
    clock: Arc<SystemClock>,
    held: watch::Receiver<bool>,
}

impl Clock for Turns {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn sleep_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
        let (slept, mut held) = (self.clock.sleep_until(at), self.held.clone());
        Box::pin(async move {
            slept.await;
            let _ = held.wait_for(|held| !held).await;
        })
    }
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

//! Due messages over webhooks: decided, queued, signed, posted to a receiver on kept-open connections and settled, with their
//! attempts written.
//!
//! The receiver is a part of this process and responds at once, so that what is measured is our side of it.

use jiff::Timestamp;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use anyhow::{Context, Result, ensure};
use punctual_channels::{Guard, Trust, WebhookAdapter};
use punctual_engine::Listeners;
use punctual_model::Clock;
use punctual_store::{
    Lane,
    channels::{self, ChannelRow},
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::{Bench, Measured, deliver};

const CHANNEL: &str = "webhook:bench";
/// Of this run alone.
const SECRET: &str = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

#[derive(Default)]
struct Counts {
    taken: AtomicUsize,
    signed: AtomicUsize,
    connections: AtomicUsize,
}

pub(super) async fn measure(bench: &Bench, jobs: usize) -> Result<Measured> {
    let (port, counts) = receiver().await?;
    let adapter = Arc::new(WebhookAdapter::new(Guard::new("127.0.0.0/8".parse()?), Trust::platform()));
    let rig = bench.rig_with("webhook", Listeners::default(), vec![adapter]).await?;
    let row = ChannelRow {
        key: CHANNEL.to_owned(),
        adapter: "webhook".to_owned(),
        settings: json!({ "url": format!("http://127.0.0.1:{port}/in"), "secret": SECRET }).to_string(),
        retry: "{}".to_owned(),
        at_most_once: false,
        policy: "{}".to_owned(),
        version: 0,
        updated_at: Timestamp::UNIX_EPOCH,
    };
    let mut tx = rig.engine.store.begin(Lane::Intake).await?;
    channels::put(&mut tx.conn(), bench.clock.now(), &row).await?;
    tx.commit().await?;
    deliver::make_due_over(bench, &rig, jobs, &CHANNEL.parse()?).await?;
    rig.settle_down().await?;
    let started = bench.clock.now();
    let running = rig.engine.run();
    deliver::until_delivered(bench, &rig, jobs).await?;
    let took = bench.clock.now().duration_since(started);
    running.stop().await;
    rig.remove().await?;
    let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    let (taken, signed) = (count(&counts.taken), count(&counts.signed));
    ensure!(taken == jobs && signed == jobs, "the receiver took {taken}, {signed} of them signed, of {jobs}");
    let mut measured = Measured::rate("webhook", jobs, took.unsigned_abs());
    if let Some(figures) = measured.figures.as_object_mut() {
        figures.insert("connections".into(), json!(count(&counts.connections)));
    }
    Ok(measured)
}

async fn receiver() -> Result<(u16, Arc<Counts>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await.context("no port for the receiver")?;
    let port = listener.local_addr()?.port();
    let counts = Arc::<Counts>::default();
    let counted = counts.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counted.connections.fetch_add(1, Ordering::Relaxed);
            let counted = counted.clone();
            tokio::spawn(async move { drop(take(stream, &counted).await) });
        }
    });
    Ok((port, counts))
}

/// Answers every request of one connection with 204.
async fn take(mut stream: TcpStream, counts: &Counts) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut input = Vec::with_capacity(16 << 10);
    loop {
        while let Some(end) = input.windows(4).position(|bytes: &[u8]| bytes == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&input[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            let whole = end + 4 + length.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
            if input.len() < whole {
                break;
            }
            counts.taken.fetch_add(1, Ordering::Relaxed);
            if head.contains("webhook-signature:") {
                counts.signed.fetch_add(1, Ordering::Relaxed);
            }
            input.drain(..whole);
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await?;
        }
        if stream.read_buf(&mut input).await? == 0 {
            return Ok(());
        }
    }
}

//! Due messages over real SMTP: decided, queued, composed, sent to a relay and settled, with their attempts written;
//! and one mail after the other over one connection, without the pipeline.
//!
//! The relay is a part of this process and responds at once, so that what is measured is our side of it.

use jiff::Timestamp;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use anyhow::{Context, Result, ensure};
use punctual_channels::{Guard, SmtpAdapter, Trust};
use punctual_engine::Listeners;
use punctual_model::{Adapter, ChannelKey, Clock, NotificationId, Outgoing, SendOutcome};
use punctual_store::{
    Lane,
    channels::{self, ChannelRow},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::{Bench, Measured, deliver};

const CHANNEL: &str = "email:bench";
/// Mails that are sent alone, one after the other.
const ALONE: usize = 1_000;

pub(super) async fn measure(bench: &Bench, jobs: usize) -> Result<Vec<Measured>> {
    let sink = Sink::start().await?;
    let adapter = Arc::new(SmtpAdapter::new(Guard::new("127.0.0.0/8".parse()?), Trust::platform()));
    let alone = alone(bench, &sink, adapter.as_ref()).await?;
    let taken = sink.taken.swap(0, Ordering::Relaxed);
    ensure!(taken == ALONE, "the relay took {taken} of {ALONE} mails");

    let rig = bench.rig_with("smtp", Listeners::default(), vec![adapter]).await?;
    let now = bench.clock.now();
    let row = ChannelRow {
        key: CHANNEL.to_owned(),
        adapter: "smtp".to_owned(),
        settings: sink.settings().to_string(),
        retry: "{}".to_owned(),
        at_most_once: false,
        policy: "{}".to_owned(),
        version: 0,
        updated_at: Timestamp::UNIX_EPOCH,
    };
    let mut tx = rig.engine.store.begin(Lane::Intake).await?;
    channels::put(&mut tx.conn(), now, &row).await?;
    tx.commit().await?;
    deliver::make_due_over(bench, &rig, jobs, &CHANNEL.parse()?).await?;
    rig.settle_down().await?;
    let started = bench.clock.now();
    let running = rig.engine.run();
    deliver::until_delivered(bench, &rig, jobs).await?;
    let took = bench.clock.now().duration_since(started);
    running.stop().await;
    let taken = sink.taken.load(Ordering::Relaxed);
    ensure!(taken == jobs, "the relay took {taken} of {jobs}");
    rig.remove().await?;
    Ok(vec![Measured::rate("smtp", jobs, took.unsigned_abs()), alone])
}

/// How long one mail takes over a kept connection, in milliseconds.
async fn alone(bench: &Bench, sink: &Sink, adapter: &SmtpAdapter) -> Result<Measured> {
    let channel = adapter.open(&sink.settings()).map_err(|fault| anyhow::anyhow!("{fault}"))?;
    let key: ChannelKey = CHANNEL.parse()?;
    let mut times = Vec::with_capacity(ALONE);
    for number in 0..ALONE {
        let started = bench.clock.now();
        let outcome = channel.send(mail(number, key.clone(), started)).await;
        let took = bench.clock.now().duration_since(started);
        ensure!(matches!(outcome, SendOutcome::Delivered { .. }), "a mail was not taken: {outcome:?}");
        times.push(took.as_secs_f64() * 1_000.0);
    }
    times.sort_by(f64::total_cmp);
    let at = |share: f64| (times[((times.len() - 1) as f64 * share) as usize] * 100.0).round() / 100.0;
    let figures = json!({ "p50": at(0.5), "p99": at(0.99), "max": at(1.0) });
    Ok(Measured { test: "smtp-alone", jobs: ALONE, figures })
}

fn mail(number: usize, channel: ChannelKey, at: jiff::Timestamp) -> Outgoing {
    Outgoing {
        notification: NotificationId(Default::default()),
        channel,
        address: format!("user-{number}@example.org"),
        attempt: 1,
        message_id: format!("bench-{number}"),
        kind: "message".to_owned(),
        subject: "Your order has an update".to_owned(),
        body: deliver::body(number),
        html: None,
        type_data: None,
        locale: None,
        context: None,
        attachments: Vec::new(),
        envelope: Default::default(),
        unsubscribe: None,
        at,
    }
}

/// A relay that takes everything.
struct Sink {
    port: u16,
    taken: Arc<AtomicUsize>,
}

impl Sink {
    async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no port for the relay")?;
        let port = listener.local_addr()?.port();
        let taken = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&taken);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let counted = Arc::clone(&counted);
                tokio::spawn(async move { drop(take(stream, &counted).await) });
            }
        });
        Ok(Self { port, taken })
    }

    fn settings(&self) -> Value {
        json!({ "host": "127.0.0.1", "port": self.port, "tls": "none", "from": "bench@example.org" })
    }
}

/// Serves one client until it goes: every command that has arrived whole in one write.
async fn take(mut stream: TcpStream, taken: &AtomicUsize) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    stream.write_all(b"220 bench\r\n").await?;
    let (mut input, mut answers, mut in_content) = (Vec::new(), Vec::new(), false);
    loop {
        loop {
            let end: &[u8] = if in_content { b"\r\n.\r\n" } else { b"\r\n" };
            let Some(at) = input.windows(end.len()).position(|window| window == end) else { break };
            let answer: &[u8] = if in_content {
                in_content = false;
                taken.fetch_add(1, Ordering::Relaxed);
                b"250 2.0.0 Ok: queued as bench\r\n"
            } else if input.starts_with(b"EHLO") {
                b"250-bench\r\n250-PIPELINING\r\n250 8BITMIME\r\n"
            } else if input.starts_with(b"DATA") {
                in_content = true;
                b"354 go on\r\n"
            } else {
                b"250 Ok\r\n"
            };
            answers.extend_from_slice(answer);
            input.drain(..at + end.len());
        }
        stream.write_all(&answers).await?;
        answers.clear();
        if stream.read_buf(&mut input).await? == 0 {
            return Ok(());
        }
    }
}

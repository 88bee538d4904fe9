//! Fifty of the slowest lists at once beside large tables: what intake, punctuality and the probe of readiness feel of it.

use anyhow::{Result, ensure};
use jiff::SignedDuration;
use punctual_engine::Listeners;
use punctual_model::Clock;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    Bench, Filled, Measured, lists,
    punctuality::Lateness,
    server::{Client, KEY, Server, at, get, post_paced},
};

/// Readers at once, each with its own connection.
const READERS: usize = 50;
/// Notifications a second that come in meanwhile.
const INTAKE: i64 = 200;
/// How long each half is measured.
const HALF: SignedDuration = SignedDuration::from_secs(15);

/// What was felt in one half.
struct Felt {
    intake: Vec<f64>,
    probes: Vec<f64>,
    refused: usize,
    late: Vec<f64>,
}

pub(super) async fn measure(bench: &Bench, rows: usize) -> Result<Measured> {
    let (mut listeners, lateness) = (Listeners::default(), Lateness::new(bench));
    lateness.listen(&mut listeners)?;
    let Filled { rig, .. } = bench.filled("crowd", listeners, rows).await?;
    let server = Server::start(bench, &rig).await?;
    let slowest = slowest(bench, &server, i64::try_from(rows)?).await?;
    let running = rig.engine.run();
    let mut halves = Vec::new();
    for (turn, readers) in [0, READERS].into_iter().enumerate() {
        let stop = CancellationToken::new();
        let reading: Vec<_> = (0..readers)
            .map(|reader| {
                let (address, stop) = (server.address, stop.clone());
                let wire = get(&slowest[reader % slowest.len()], KEY);
                tokio::spawn(async move {
                    let mut client = Client::connect(address).await?;
                    let mut answered = 0_usize;
                    while !stop.is_cancelled() {
                        client.call(&wire).await?;
                        answered += 1;
                    }
                    anyhow::Ok(answered)
                })
            })
            .collect();
        let until = bench.clock.now() + HALF;
        let scheduled = lateness.schedule(&rig.engine, turn, 500, until).await?;
        let (intake, probes, ()) = tokio::join!(
            post_paced(bench, server.address, INTAKE, stop.clone()),
            probe(bench, server.address, stop.clone()),
            async {
                bench.clock.sleep_until(until + SignedDuration::from_secs(2)).await;
                stop.cancel();
            }
        );
        for one in reading {
            ensure!(one.await?? > 0, "a reader was never answered");
        }
        let (probes, refused) = probes?;
        halves.push(Felt { intake: intake?, probes, refused, late: lateness.taken(scheduled)? });
    }
    running.stop().await;
    server.stop().await?;
    rig.remove().await?;
    let [alone, crowded] = &mut halves[..] else { anyhow::bail!("two halves") };
    let ratio = crowded.intake.len() as f64 / alone.intake.len().max(1) as f64;
    let figures = json!({
        "intake_ratio": (ratio * 100.0).round() / 100.0,
        "intake_p99_idle": at(&mut alone.intake, 0.99), "intake_p50": at(&mut crowded.intake, 0.5),
        "intake_p99": at(&mut crowded.intake, 0.99), "intake_max": at(&mut crowded.intake, 1.0),
        "readyz_p50": at(&mut crowded.probes, 0.5), "readyz_max": at(&mut crowded.probes, 1.0),
        "readyz_refused": crowded.refused,
        "late_p99_idle": at(&mut alone.late, 0.99), "late_p99": at(&mut crowded.late, 0.99),
        "late_max": at(&mut crowded.late, 1.0), "lists": slowest.iter().take(3).collect::<Vec<_>>(),
    });
    Ok(Measured { test: "crowd", jobs: rows, figures })
}

/// The slowest tenth of all lists, each called twice alone.
async fn slowest(bench: &Bench, server: &Server, rows: i64) -> Result<Vec<String>> {
    let mut timed = Vec::new();
    let mut client = Client::connect(server.address).await?;
    for request in lists::requests(&punctual_api::document(), bench.clock.now(), rows) {
        let wire = get(&request, KEY);
        if client.call(&wire).await?.0 != 200 {
            continue;
        }
        let started = bench.clock.now();
        client.expect(&wire).await?;
        timed.push((bench.clock.now().duration_since(started), request));
    }
    timed.sort_by_key(|(took, _)| std::cmp::Reverse(*took));
    let tenth = (timed.len() / 10).max(1);
    Ok(timed.into_iter().take(tenth).map(|(_, request)| request).collect())
}

/// Asks ten times a second whether the node is ready: how long each answer took, and how many said no.
async fn probe(
    bench: &Bench,
    address: std::net::SocketAddr,
    stop: CancellationToken,
) -> Result<(Vec<f64>, usize)> {
    let mut client = Client::connect(address).await?;
    let (wire, mut times, mut refused) = (get("/readyz", KEY), Vec::new(), 0);
    while !stop.is_cancelled() {
        let asked = bench.clock.now();
        refused += usize::from(client.call(&wire).await?.0 != 200);
        times.push(bench.clock.now().duration_since(asked).as_secs_f64() * 1_000.0);
        bench.clock.sleep_until(asked + SignedDuration::from_millis(100)).await;
    }
    Ok((times, refused))
}

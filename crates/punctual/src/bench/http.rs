//! Notifications posted one a request over 64 connections, each answered after it is on disk, while the same node
//! delivers them.
//!
//! The client writes plain HTTP/1.1 on kept-open connections, so that it takes as little as possible of the two cores
//! it shares with what is measured.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use anyhow::{Context, Result, ensure};
use punctual_api::{ApiState, router, serve};
use punctual_engine::Listeners;
use punctual_engine::keys::ensure_admin_key;
use punctual_model::Clock;
use punctual_store::notifications::{self, NotificationFilter};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_util::sync::CancellationToken;

use super::{Bench, Measured};

const CONNECTIONS: usize = 64;
const KEY: &str = "bench-key-of-this-run-only";

pub(super) async fn measure(bench: &Bench, jobs: usize) -> Result<Measured> {
    let rig = bench.rig("http", Listeners::default()).await?;
    ensure_admin_key(&rig.engine.store, bench.clock.now(), KEY).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let stop = CancellationToken::new();
    let api = router(ApiState::new(rig.engine.clone(), bench.clock.clone()));
    let server = tokio::spawn(serve(listener, api, stop.clone()));
    let running = rig.engine.run();
    let next = Arc::new(AtomicUsize::new(0));
    let started = bench.clock.now();
    let clients: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let next = next.clone();
            tokio::spawn(async move {
                let mut connection = TcpStream::connect(address).await?;
                connection.set_nodelay(true)?;
                let mut answer = vec![0; 16 << 10];
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= jobs {
                        return anyhow::Ok(());
                    }
                    connection.write_all(&request(number)).await?;
                    read_answer(&mut connection, &mut answer).await?;
                }
            })
        })
        .collect();
    for client in clients {
        client.await??;
    }
    let took = bench.clock.now().duration_since(started);
    stop.cancel();
    server.await?;
    running.stop().await;
    let mut reader = rig.engine.store.read().await?;
    let newest = NotificationFilter { limit: 1, ..Default::default() };
    let stored = notifications::list(&mut reader.conn(), &punctual_model::Reach::Everything, &newest).await?;
    drop(reader);
    ensure!(
        stored.first().is_some_and(|row| row.seq >= i64::try_from(jobs).unwrap_or(0)),
        "not everything was stored"
    );
    rig.remove().await?;
    Ok(Measured::rate("http", jobs, took.unsigned_abs()))
}

fn request(number: usize) -> Vec<u8> {
    let body = format!(
        "{{\"targets\":[\"user-{number}@example.org\"],\"channel\":\"memory:default\",\"subject\":\"Your order has an \
         update\",\"body\":\"Parcel {number} arrives today, open the app to see where it is and when it will be there.\"}}"
    );
    format!(
        "POST /api/v1/notifications HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {KEY}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Reads one answer with a known length; anything but 201 ends the measurement.
async fn read_answer(connection: &mut TcpStream, buffer: &mut [u8]) -> Result<()> {
    let mut filled = 0;
    loop {
        let read = connection.read(&mut buffer[filled..]).await?;
        ensure!(read > 0, "the server closed the connection");
        filled += read;
        let text = std::str::from_utf8(&buffer[..filled])?;
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        ensure!(head.starts_with("HTTP/1.1 201"), "the server answered {text}");
        let length = head
            .lines()
            .find_map(|line| {
                line.to_ascii_lowercase().strip_prefix("content-length:").map(|n| n.trim().to_owned())
            })
            .context("no content-length")?;
        if body.len() >= length.parse::<usize>()? {
            return Ok(());
        }
    }
}
